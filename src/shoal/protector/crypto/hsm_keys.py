"""A master key inside a hardware security module, reached through PKCS #11 (package ``python-pkcs11``).

The key never leaves the module: it wraps and unwraps the vault's root key there (AES-256-GCM). A key is named by an address
after RFC 7512: ``pkcs11:token=vault;object=master?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=/etc/pin``. The PIN
comes from that file, which others cannot read, or from the environment (``SHOAL_VAULT_PIN``), never from the address.
"""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from shoal.errors import EngineError, need
from shoal.protector.crypto.master_keys import KeyProvider, KeyRefusedError, from_file, read_private, write_file, wrong_key

SCHEME = "pkcs11:"
PIN = "SHOAL_VAULT_PIN"
_NONCE = 12


class HsmKey:
    """A master key of a module, as a provider for a vault."""

    def __init__(self, address: str, *, create: bool = False) -> None:
        parts = parsed(address)
        self._lock = threading.Lock()
        self._key, serial = _open_key(parts, _pin(parts), create=create)
        name = f"{serial} {parts['token']} {parts['object']}"
        self._key_id = "hsm-" + hashlib.sha256(name.encode()).hexdigest()[:12]

    @property
    def key_id(self) -> str:
        return self._key_id

    @property
    def location(self) -> str:
        return "hardware security module"

    def wrap(self, data: bytes, context: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + bytes(self._run("encrypt", data, nonce, context))

    def unwrap(self, data: bytes, context: bytes) -> bytes:
        import pkcs11

        try:
            return bytes(self._run("decrypt", data[_NONCE:], data[:_NONCE], context))
        except (pkcs11.PKCS11Error, ValueError):
            raise wrong_key(self._key_id) from None

    def _run(self, what: str, data: bytes, nonce: bytes, context: bytes) -> Any:
        from pkcs11 import GCMParams, Mechanism

        with self._lock:  # a session of the module serves one thread at a time
            how = {"mechanism": Mechanism.AES_GCM, "mechanism_param": GCMParams(nonce, context, 128)}
            return getattr(self._key, what)(data, **how)

    def __repr__(self) -> str:
        return f"<master key {self._key_id}>"


def parsed(address: str) -> dict[str, str]:
    """The parts of an address; one that names no token, key or module is refused.

    >>> parsed("pkcs11:token=vault;object=the%20key?module-path=/lib/hsm.so")["object"]
    'the key'
    """
    path, _, query = address.removeprefix(SCHEME).partition("?")
    pairs = [part.partition("=") for part in [*path.split(";"), *query.split("&")] if part]
    parts = {name: unquote(value) for name, _, value in pairs}
    if "pin-value" in parts:
        raise KeyRefusedError("a PIN in an address is refused.", hint=f"Use pin-source=FILE, or set {PIN}.")
    if not address.startswith(SCHEME) or not all(parts.get(name) for name in ("token", "object", "module-path")):
        hint = "pkcs11:token=NAME;object=KEY?module-path=/path/to/module.so"
        raise KeyRefusedError("this address names no key of a module.", hint=hint)
    return parts


def _pin(parts: dict[str, str]) -> str:
    if "pin-source" in parts:
        return read_private(parts["pin-source"])
    text = os.environ.pop(PIN, "")
    if not text:
        raise KeyRefusedError("no PIN was given for the module.", hint=f"Add &pin-source=FILE to the address, or set {PIN}.")
    return text


def _open_key(parts: dict[str, str], pin: str, *, create: bool) -> tuple[Any, str]:
    """The key and the serial number of its token; ``create`` makes it there, never to be taken out."""
    try:
        import pkcs11
    except ImportError:
        raise need("hsm", "python-pkcs11") from None
    from pkcs11 import Attribute, KeyType, ObjectClass

    try:
        token = pkcs11.lib(parts["module-path"]).get_token(token_label=parts["token"])
        try:
            session = token.open(user_pin=pin, rw=create)
        except pkcs11.UserAlreadyLoggedIn:  # a log-in counts for the whole process
            session = token.open(rw=create)
        held: list[Any] = list(session.get_objects({Attribute.CLASS: ObjectClass.SECRET_KEY, Attribute.LABEL: parts["object"]}))
        if create and held:
            raise KeyRefusedError("the token has a key of that name already.", hint="Use it, or choose another name.")
        if create:
            kept = {Attribute.SENSITIVE: True, Attribute.EXTRACTABLE: False}
            held = [session.generate_key(KeyType.AES, 256, label=parts["object"], store=True, template=kept)]
        if len(held) != 1 or held[0].key_type != KeyType.AES or held[0].key_length != 256:
            hint = "`shoal vault key --out pkcs11:…` makes one."
            raise KeyRefusedError(f"the token has {len(held)} keys of that name; one of 256 bits for AES is needed.", hint=hint)
        if held[0][Attribute.EXTRACTABLE]:
            raise KeyRefusedError("the key can be taken out of the module.", hint="Make one that cannot be.")
        return held[0], token.serial.decode("utf-8", "replace").strip()
    except pkcs11.PinIncorrect:
        raise KeyRefusedError("the PIN of the module is wrong.", hint="Modules lock themselves after a few wrong ones.") from None
    except (pkcs11.PKCS11Error, RuntimeError, OSError) as error:
        raise EngineError(f"the hardware security module cannot be used ({type(error).__name__}).", hint="Is it there?") from None


def key_at(place: str | Path) -> KeyProvider:
    """The master key at a place: a path, or an address ``pkcs11:…`` (:mod:`.hsm_keys`)."""
    return HsmKey(str(place)) if is_hsm(place) else from_file(place)


def new_key_at(place: str | Path) -> KeyProvider:
    """A new master key at a place; what is there is kept."""
    return HsmKey(str(place), create=True) if is_hsm(place) else from_file(write_file(place))


def is_hsm(place: str | Path) -> bool:
    """Whether a place is the address of a key in a module."""
    return str(place).startswith(SCHEME)
