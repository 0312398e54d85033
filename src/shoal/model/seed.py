"""One rule for the seed of random steps, wherever they are applied: drawn unless stated, never one that could be guessed.

Anyone who has the seed can take noise off and swap values back. Where none is stated, 127 secret bits are drawn; a stated one
that is short enough to be tried out is refused. What is drawn is kept beside the output, never inside it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence

from shoal.errors import PolicyError

LEAST_SEED = 10**15
"""A stated seed below this could be found by trying."""

PRIVATE_FORMAT = "shoal-private/1"
"""The file that keeps a seed says so; its name ends in :data:`PRIVATE_ENDING`."""

PRIVATE_ENDING = ".private.json"


def safe_seed(seed: int) -> int:
    """The stated seed, or a drawn one where none (0) is; one that is short enough to be found by trying is refused."""
    if seed == 0:
        return LEAST_SEED + secrets.randbelow(2**127)
    if seed < LEAST_SEED:
        raise PolicyError(
            "the seed is short enough to be guessed, and with it anyone can undo the random changes or know the sample.",
            hint="Leave the seed out, so that one is drawn and kept beside the output, or state one of at least 16 digits.",
        )
    return seed


def after(seed: int, earlier: Sequence[str]) -> int:
    """The seed of a step that follows others on its columns, which ``earlier`` spells out; the seed itself where none do.

    From the same draws two plans would give the values together: (x + e) − (limited x + e) is what the limit took off.

    >>> after(10**16, ()) == 10**16, after(10**16, ["a"]) != after(10**16, ["a", "a"]), after(10**16, ["a"]) > LEAST_SEED
    (True, True, True)
    """
    if not earlier:
        return seed
    parts = [p.encode("utf-8", "surrogatepass") for p in (str(seed), *earlier)]
    text = b"".join(len(p).to_bytes(8, "little") + p for p in parts)
    return LEAST_SEED + int.from_bytes(hashlib.blake2b(text, digest_size=16, person=b"shoal seeds").digest(), "big")
