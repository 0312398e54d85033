"""Keys that anybody can sign for: the list against the curve itself, and what OpenSSL would accept."""

from __future__ import annotations

import base64
import secrets

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from shoal.errors import TamperError
from shoal.kernels.signatures import PRIME, SMALL_ORDER, check_signature, is_weak
from shoal.protector.pseudonyms.self_generated import _signed

D = -121665 * pow(121666, -1, PRIME) % PRIME
Point = tuple[int, int]


def add(a: Point, b: Point) -> Point:
    """The addition law of the twisted Edwards curve −x² + y² = 1 + d x² y²."""
    t = D * a[0] * b[0] * a[1] * b[1] % PRIME
    x = (a[0] * b[1] + b[0] * a[1]) * pow(1 + t, -1, PRIME)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - t, -1, PRIME)
    return x % PRIME, y % PRIME


def x_of(y: int) -> int | None:
    square = (y * y - 1) * pow(D * y * y + 1, -1, PRIME) % PRIME
    root = pow(square, (PRIME + 3) // 8, PRIME)
    if (root * root - square) % PRIME:
        root = root * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    return root if (root * root - square) % PRIME == 0 else None


def times(n: int, point: Point) -> Point:
    out = (0, 1)
    for _ in range(n):
        out = add(out, point)
    return out


def test_the_list_is_the_subgroup_of_order_eight() -> None:
    points = set()
    for y in SMALL_ORDER:
        x = x_of(y)
        assert x is not None
        points |= {(x, y), (-x % PRIME, y)}
        assert times(8, (x, y)) == (0, 1)
    assert len(points) == 8, "there are eight, so none is missing"


@pytest.mark.parametrize("sign", [0, 1 << 255])
@pytest.mark.parametrize("y", [*sorted(SMALL_ORDER), 0, 1, PRIME - 1, PRIME, PRIME + 1, 2**255 - 1])
def test_weak_keys_are_refused(y: int, sign: int) -> None:
    assert is_weak((y | sign).to_bytes(32, "little"))


def test_a_signature_that_fits_everything_is_refused() -> None:
    neutral = (1).to_bytes(32, "little")
    forged = neutral + bytes(32)
    Ed25519PublicKey.from_public_bytes(neutral).verify(forged, b"anything at all")  # the library takes it
    with pytest.raises(TamperError, match="anybody can sign"):
        check_signature({"k": 1000}, base64.b64encode(forged).decode(), base64.b64encode(neutral).decode())
    assert not _signed(neutral.hex(), forged.hex(), b"anything at all")


def test_real_keys_are_not_weak() -> None:
    for _ in range(200):
        key = Ed25519PrivateKey.from_private_bytes(secrets.token_bytes(32))
        assert not is_weak(key.public_key().public_bytes_raw())
