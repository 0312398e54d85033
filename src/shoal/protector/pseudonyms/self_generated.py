"""Self-generated pseudonyms: made by the data subject, checked by the vault.

The holder keeps one secret and derives from it an Ed25519 key per domain. The pseudonym is a commitment to the public key:
the first 128 bits of SHA-256 over the domain and the key. The vault checks the commitment and a signature when the pseudonym
is registered, and later lets the holder prove ownership by signing a fresh challenge, once. Pseudonyms of one holder in two
domains have nothing in common.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from shoal.errors import AccessError, UsageError
from shoal.kernels.signatures import is_weak
from shoal.protector.crypto import base32
from shoal.protector.crypto import primitives as crypto
from shoal.protector.crypto.primitives import Secret
from shoal.protector.store.database import Tx
from shoal.protector.store.state import CHALLENGE

_REGISTER = b"shoal-holder/1 register\0"
_OWNERSHIP = b"shoal-holder/1 ownership\0"
CHALLENGE_SECONDS = 300.0


class Holder:
    """A data subject's side: one secret, unlinkable pseudonyms.

    >>> me = Holder.generate()
    >>> me.pseudonym("00" * 8) != me.pseudonym("11" * 8)
    True
    >>> Holder.from_text(me.to_text()).pseudonym("00" * 8) == me.pseudonym("00" * 8)
    True
    """

    def __init__(self, secret: Secret) -> None:
        self._secret = secret

    @classmethod
    def generate(cls) -> Holder:
        return cls(Secret(os.urandom(32)))

    @classmethod
    def from_text(cls, text: str) -> Holder:
        value = base32.decode(text.strip().removeprefix("holder-"))
        if value is None or len(value) != 32:
            raise UsageError("this is not a holder's secret.")
        return cls(Secret(value))

    def to_text(self) -> str:
        """The secret as text, for the holder's own keeping."""
        return "holder-" + base32.encode(self._secret.expose())

    def public_key(self, domain_id: str) -> str:
        """The public key for a domain (hexadecimal)."""
        raw: bytes = self._private(domain_id).public_key().public_bytes_raw()
        return raw.hex()

    def pseudonym(self, domain_id: str) -> str:
        return commitment(domain_id, self.public_key(domain_id))

    def registration(self, vault_id: str, domain_id: str) -> dict[str, str]:
        """What the holder hands in: pseudonym, public key, signature."""
        name = self.pseudonym(domain_id)
        signature = self._private(domain_id).sign(_REGISTER + _message(vault_id, domain_id, name, ""))
        return {"pseudonym": name, "public_key": self.public_key(domain_id), "signature": signature.hex()}

    def prove(self, vault_id: str, domain_id: str, challenge: str) -> str:
        """The answer to a challenge: a signature only this holder can make."""
        message = _OWNERSHIP + _message(vault_id, domain_id, self.pseudonym(domain_id), challenge)
        signature: bytes = self._private(domain_id).sign(message)
        return signature.hex()

    def _private(self, domain_id: str) -> Any:
        seed = crypto.derive(self._secret, "holder", context=bytes.fromhex(domain_id))
        return Ed25519PrivateKey.from_private_bytes(seed.expose())

    def __repr__(self) -> str:
        return "<Holder>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a holder's secret cannot be pickled or copied")


def commitment(domain_id: str, public_key: str) -> str:
    """The pseudonym that commits to a public key in a domain."""
    digest = hashlib.sha256(b"shoal-holder/1\0" + bytes.fromhex(domain_id) + bytes.fromhex(public_key)).digest()
    return "H-" + base32.encode(digest[:16])


def check_registration(vault_id: str, domain_id: str, given: dict[str, str]) -> None:
    """Refuse a registration whose commitment or signature does not hold."""
    try:
        name, key = given["pseudonym"], given["public_key"]
        good = commitment(domain_id, key) == name
        good &= _signed(key, given["signature"], _REGISTER + _message(vault_id, domain_id, name, ""))
    except (KeyError, ValueError, TypeError):
        good = False
    if not good:
        raise AccessError("the registration does not prove that its sender made this pseudonym.", reason="commitment")


def new_challenge(tx: Tx, domain_id: str, pseudonym: str, time: float) -> str:
    """A fresh challenge, good for five minutes and one answer."""
    text = base32.encode(os.urandom(20))
    tx.put(CHALLENGE, text, {"domain": domain_id, "pseudonym": pseudonym, "expires": time + CHALLENGE_SECONDS})
    return text


def check_proof(tx: Tx, domain_id: str, pseudonym: str, public_key: str, challenge: str, proof: str, time: float) -> bool:
    """Whether the answer to the challenge is the holder's; the challenge is used up either way."""
    stored = tx.get(CHALLENGE, challenge)
    if stored is None or stored["domain"] != domain_id or stored["pseudonym"] != pseudonym:
        return False
    tx.remove(CHALLENGE, challenge)
    if time >= stored["expires"]:
        return False
    return _signed(public_key, proof, _OWNERSHIP + _message(tx.store.vault_id, domain_id, pseudonym, challenge))


def _message(vault_id: str, domain_id: str, pseudonym: str, challenge: str) -> bytes:
    return "\0".join((vault_id, domain_id, pseudonym, challenge)).encode()


def _signed(public_key: str, signature: str, message: bytes) -> bool:
    try:
        key = bytes.fromhex(public_key)
        Ed25519PublicKey.from_public_bytes(key).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return not is_weak(key)
