"""The participant's side of blind issuing: needs no vault, only the issuer's public key.

She draws a random message, blinds it, and takes the answer off again. What she then holds is signed by the issuer, and the issuer
has never seen it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from shoal.errors import DataError
from shoal.protector.crypto import base32, blind_rsa

MESSAGE_BYTES = 32


def begin(issuer: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """A request for the issuer, and the secret that turns its answer into a credential.

    ``issuer`` is its public key, as :meth:`Session.issuers` tells it; compare its ``key`` with what others received.
    """
    n, e = numbers(issuer)
    prepared = blind_rsa.prepare(os.urandom(MESSAGE_BYTES))
    blinded, inverse = blind_rsa.blind(n, e, prepared)
    name = str(issuer["name"])
    secret = {"issuer": name, "n": f"{n:x}", "e": f"{e:x}", "message": prepared.hex(), "inverse": f"{inverse:x}"}
    return {"issuer": name, "key": blind_rsa.key_id(n, e), "blinded": blinded.hex()}, secret


def finish(secret: Mapping[str, str], answer: str) -> dict[str, str]:
    """The credential, from the secret and the issuer's answer; an answer to another request is refused."""
    try:
        n, e = int(secret["n"], 16), int(secret["e"], 16)
        message, inverse, signed = bytes.fromhex(secret["message"]), int(secret["inverse"], 16), bytes.fromhex(answer)
        name = str(secret["issuer"])
    except (KeyError, TypeError, ValueError):
        raise DataError("this is not the secret of a request, or no answer to one.") from None
    signature = blind_rsa.finalize(n, e, message, signed, inverse)
    return {"issuer": name, "key": blind_rsa.key_id(n, e), "message": message.hex(), "signature": signature.hex()}


def numbers(issuer: Mapping[str, Any]) -> tuple[int, int]:
    """Modulus and exponent of a public key, which must carry its own id."""
    try:
        n, e = int(issuer["n"], 16), int(issuer["e"], 16)
        good = issuer["key"] == blind_rsa.key_id(n, e) and n.bit_length() >= 2048 and e == 65537 and str(issuer["name"])
    except (KeyError, TypeError, ValueError):
        good = ""
    if not good:
        raise DataError("this is not an issuer's public key.", hint="`shoal vault issuer list --json` tells it.")
    return n, e


def serial(message: bytes) -> str:
    """The one-time pseudonym of a credential: it follows from the message alone."""
    return "C-" + base32.encode(hashlib.sha256(b"shoal-credential/1\0" + message).digest()[:16])
