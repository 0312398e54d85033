"""Where a master key is: a file, or a key of a hardware security module."""

from __future__ import annotations

from pathlib import Path

from shoal.protector.crypto import hsm_keys
from shoal.protector.crypto.master_keys import KeyProvider, from_file, write_file


def key_at(place: str | Path) -> KeyProvider:
    """The master key at a place: a path, or an address ``pkcs11:…`` (:mod:`.hsm_keys`)."""
    return hsm_keys.HsmKey(str(place)) if is_hsm(place) else from_file(place)


def new_key_at(place: str | Path) -> KeyProvider:
    """A new master key at a place; what is there is kept."""
    return hsm_keys.HsmKey(str(place), create=True) if is_hsm(place) else from_file(write_file(place))


def is_hsm(place: str | Path) -> bool:
    """Whether a place is the address of a key in a module."""
    return str(place).startswith(hsm_keys.SCHEME)
