"""Blind RSA signatures: RSABSSA-SHA384-PSS-Randomized of RFC 9474.

Takes    a message that only the client knows, and the signer's RSA key
Returns  an ordinary RSASSA-PSS signature (SHA-384, MGF1, salt of 48 bytes), which the package ``cryptography`` verifies
Keeps    the signer sees a uniformly random number: no signature can be connected with the moment it was made
Differs  the client's arithmetic is Python's, so not in constant time; the signer's as well, but always on a number that it
         blinded itself first, so that its time tells nothing about the key

Written out here because neither ``cryptography`` nor another maintained library blinds: only the blinding, the encoding and the
bare RSA power are ours; keys, hashes and the verification of the result are the library's.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import load_der_private_key

from shoal.errors import DataError, TamperError
from shoal.protector.crypto.primitives import Secret

BITS = 3072
SALT = 48
PREFIX = 32
_HASH = 48


def generate(bits: int = BITS) -> Secret:
    """A new private key (PKCS #8, DER)."""
    key = rsa.generate_private_key(65537, bits)
    form = serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return Secret(key.private_bytes(*form))


def public_of(private: Secret) -> dict[str, str]:
    """The public key: modulus and exponent (hexadecimal), and an id, the start of the hash of both."""
    n, e = _private(private)[:2]
    return {"n": f"{n:x}", "e": f"{e:x}", "id": key_id(n, e)}


def key_id(n: int, e: int) -> str:
    """What a public key is called: everybody must see the same one."""
    return hashlib.sha256(f"shoal-blind-rsa/1 {n:x} {e:x}".encode()).hexdigest()[:32]


def prepare(message: bytes, prefix: bytes | None = None) -> bytes:
    """The message with a random prefix of 32 bytes."""
    return (os.urandom(PREFIX) if prefix is None else prefix) + message


def blind(n: int, e: int, prepared: bytes, *, salt: bytes | None = None, r: int | None = None) -> tuple[bytes, int]:
    """The blinded message for the signer, and the secret that unblinds the answer; ``salt`` and ``r`` are for tests."""
    m = int.from_bytes(_encode(prepared, n.bit_length() - 1, os.urandom(SALT) if salt is None else salt), "big")
    if math.gcd(m, n) != 1:
        raise DataError("the message cannot be blinded under this key.", hint="Try again.")
    chosen = _unit(n) if r is None else r
    return (m * pow(chosen, e, n) % n).to_bytes(size(n), "big"), pow(chosen, -1, n)


def blind_sign(private: Secret, blinded: bytes) -> bytes:
    """The signer's part: a signature of a number it cannot read. The result is checked before it leaves."""
    n, e, d, p, q = _private(private)
    z = int.from_bytes(require_blinded(n, blinded), "big")
    own = _unit(n)
    hidden = z * pow(own, e, n) % n
    one, two = pow(hidden % p, d % (p - 1), p), pow(hidden % q, d % (q - 1), q)
    s = (two + q * ((one - two) * pow(q, -1, p) % p)) * pow(own, -1, n) % n
    if pow(s, e, n) != z:
        raise TamperError("the signing key made a wrong signature.", hint="Nothing was issued; check the machine.")
    return s.to_bytes(size(n), "big")


def require_blinded(n: int, blinded: bytes) -> bytes:
    """A blinded message as it came, if it is one for this modulus."""
    z = int.from_bytes(blinded, "big")
    if len(blinded) != size(n) or not 0 < z < n or math.gcd(z, n) != 1:
        raise DataError("this is not a blinded message for this key.")
    return blinded


def finalize(n: int, e: int, prepared: bytes, signed: bytes, inverse: int) -> bytes:
    """The client's last part: the signature of her message, checked."""
    z = int.from_bytes(signed, "big")
    signature = (z * inverse % n).to_bytes(size(n), "big")
    if len(signed) != size(n) or not z < n or not verify(n, e, prepared, signature):
        raise DataError("the issuer's answer is not a signature of this request.", hint="Give the answer to this very request.")
    return signature


def verify(n: int, e: int, prepared: bytes, signature: bytes) -> bool:
    try:
        rsa.RSAPublicNumbers(e, n).public_key().verify(
            signature, prepared, padding.PSS(padding.MGF1(SHA384()), SALT), SHA384()
        )  # fmt: skip
    except (InvalidSignature, ValueError):
        return False
    return True


def size(n: int) -> int:
    """Bytes of a number below the modulus."""
    return (n.bit_length() + 7) // 8


def _unit(n: int) -> int:
    """A random number below n that has an inverse."""
    while True:
        number = secrets.randbelow(n)
        if math.gcd(number, n) == 1 and number > 1:
            return number


def _private(private: Secret) -> tuple[int, int, int, int, int]:
    key: Any = load_der_private_key(private.expose(), None, unsafe_skip_rsa_key_validation=True)  # from the sealed store
    held = key.private_numbers()
    return held.public_numbers.n, held.public_numbers.e, held.d, held.p, held.q


def _encode(message: bytes, bits: int, salt: bytes) -> bytes:
    """EMSA-PSS-ENCODE of RFC 8017 with SHA-384."""
    length = (bits + 7) // 8
    digest = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    block = bytes(length - len(salt) - _HASH - 2) + b"\x01" + salt
    mask = b"".join(hashlib.sha384(digest + i.to_bytes(4, "big")).digest() for i in range(-(-len(block) // _HASH)))
    masked = bytearray(a ^ b for a, b in zip(block, mask, strict=False))
    masked[0] &= 0xFF >> (8 * length - bits)
    return bytes(masked) + digest + b"\xbc"
