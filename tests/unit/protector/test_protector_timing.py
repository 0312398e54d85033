"""V11: a look-up takes the same time for somebody who is there and somebody who is not."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from protector_support import House
from shoal.protector.crypto import base32
from shoal.protector.pseudonyms.domains import Context
from shoal.protector.store import entries

N = 6_000
TRIES = 3
NEGLIGIBLE = 0.02


def compare(call: Callable[[str], object], hits: list[str], misses: list[str], n: int) -> tuple[float, float]:
    """Rank-sum p-value, and by how much the chance that a hit takes longer than a miss differs from one half.

    Hits and misses come in pairs in random order, so that whatever else the machine does meets both alike: the p-value holds
    on a busy machine too.
    """
    rng = np.random.default_rng(8)
    seconds: tuple[list[int], list[int]] = ([], [])
    gc.disable()
    try:
        for i in range(n):
            for which in rng.permutation(2):
                text = (hits, misses)[which][i % len(hits)]
                start = time.perf_counter_ns()
                call(text)
                seconds[which].append(time.perf_counter_ns() - start)
    finally:
        gc.enable()
    found = mannwhitneyu(*seconds)
    return float(found.pvalue), float(found.statistic) / n**2 - 0.5


def leaks(call: Callable[[str], object], hits: list[str], misses: list[str], n: int) -> bool:
    """Whether hits and misses differ each time they are compared: significantly (1 %), by more than a trifle, and the same way.

    A false alarm needs three in a row beyond four standard errors (chance below 1e-12).
    """
    signs = set()
    for _ in range(TRIES):
        p, difference = compare(call, hits, misses, n)
        if p > 0.01 or abs(difference) < max(NEGLIGIBLE, 4 / (6 * n) ** 0.5):
            return False
        signs.add(difference > 0)
    return len(signs) == 1


@pytest.fixture(params=[300, 1024])
def asked(house: House, request: pytest.FixtureRequest) -> tuple[House, list[str], list[str]]:
    """A vault whose size class is full, and one where it is not; who is there, and their pseudonyms."""
    house.owner.create_domain("d")
    known = [f"{i:06d}" for i in range(request.param)]
    return house, known, house.operator.pseudonymize("d", known)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["identity", "pseudonym"])
def test_hit_and_miss_take_the_same_time(asked: tuple[House, list[str], list[str]], direction: str) -> None:
    house, known, made = asked
    n = N if house.vault.store.dialect == "sqlite" else N // 5  # the same steps, with a server between them
    with house.vault.store.read() as tx:
        opened = house.vault.keyring.opened(tx, house.vault.keyring.domain(tx, "d"))
        if direction == "identity":
            hits, misses = known, [f"{i:06d}" for i in range(500_000, 500_000 + len(known))]
            assert opened.find(tx, hits[:1], Context(), 0.0) == made[:1]
            assert opened.find(tx, misses[:1], Context(), 0.0) == [None]
            assert not leaks(lambda text: opened.find(tx, [text], Context(), 0.0), hits, misses, n)
        else:
            hits, misses = made, ["P-" + base32.encode(os.urandom(16)) for _ in range(len(known))]
            assert opened.resolve(tx, [hits[0]]) == [known[0].encode()]
            assert opened.resolve(tx, [misses[0]]) == [None]
            assert not leaks(lambda text: opened.resolve(tx, [text]), hits, misses, n)


def test_a_look_up_that_stops_early_would_be_found(
    asked: tuple[House, list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison can fail: a look-up that is content when the index does not know the tag gives itself away."""
    house, known, _ = asked
    careful = entries.find_each

    def hasty(tx: Any, keys: Any, version: int, lookups: list[bytes]) -> list[tuple[bytes, bool]]:
        ((_, indexed),) = entries.index_of(tx, keys, version).find_each([int.from_bytes(lookups[0][:8], "big")])
        return careful(tx, keys, version, lookups) if indexed else [(bytes(16), False)]

    monkeypatch.setattr(entries, "find_each", hasty)
    with house.vault.store.read() as tx:
        opened = house.vault.keyring.opened(tx, house.vault.keyring.domain(tx, "d"))
        misses = [f"{i:06d}" for i in range(500_000, 500_000 + len(known))]
        assert leaks(lambda text: opened.find(tx, [text], Context(), 0.0), known, misses, 300)


def test_misses_are_looked_for_among_the_people_who_are_there(house: House) -> None:
    """What the timing rests on: a pseudonym or tag that is not there leads to a slot in use, never to an empty one."""
    house.owner.create_domain("d")
    house.operator.pseudonymize("d", ["a", "b", "c"])
    with house.vault.store.read() as tx:
        keys = house.vault.keyring.opened(tx, house.vault.keyring.domain(tx, "d")).keys
        assert (tx.rows(keys.number).used, tx.rows(keys.number).slots) == (3, 1024)
        slots = entries.slots_of(tx, keys, entries.pairs(os.urandom(16 * 500)))
        assert set(slots.tolist()) == {1, 2, 3}
        blocks = entries.find_each(tx, keys, 1, [os.urandom(16) for _ in range(100)])
        assert {int.from_bytes(block[:8], "big") - (keys.number << 40) for block, there in blocks if not there} == {1, 2, 3}
