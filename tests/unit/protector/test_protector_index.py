"""The index of buckets: agrees with a dictionary at every size, hides the count, notices what was put back."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from protector_support import House, parameter_mark, raw_database
from shoal.errors import TamperError
from shoal.protector import care
from shoal.protector.crypto.primitives import Box, Secret
from shoal.protector.store import entries, index
from shoal.protector.store.index import Index


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A young tier of few entries, so that little data takes every path."""
    monkeypatch.setattr(index, "_SMALLEST_YOUNG", 512)


def tags_of(rng: np.random.Generator, count: int) -> list[int]:
    return rng.integers(0, 2**64, count, dtype=np.uint64).tolist()


def array(tags: Iterable[int]) -> Any:
    return np.fromiter(tags, dtype=np.uint64)


def test_agrees_with_a_dictionary(house: House, small: None) -> None:
    """Batches of all sizes, growing slots, merges: every tag leads to its slot, and no other tag to any."""
    rng = np.random.default_rng(8)
    box = Box(Secret(os.urandom(32)))
    known: dict[int, int] = {}
    merges = 0
    with house.vault.store.write() as tx:
        for count in (0, 1, 5, 300, 2, 900, 1, 1, 4000, 40, 700, 9):
            fresh = tags_of(rng, count)
            slots = range(len(known) + 1, len(known) + count + 1)
            tx.rows(99).slots = entries.size_class(len(known) + count)
            made = Index(tx, 99, 1, box)
            young = tx.rows(99).index["1"].counts[index.YOUNG]
            made.add(array(fresh), np.array(slots, dtype=np.int64))
            merges += tx.rows(99).index["1"].counts[index.YOUNG] < young
            known |= dict(zip(fresh, slots, strict=True))
            asked = [*tags_of(rng, 50), *reversed(known)]
            which, found = made.find(array(asked))
            assert {asked[i]: slot for i, slot in zip(which.tolist(), found.tolist(), strict=True)} == known
            few = asked[:2] + asked[-2:]
            which, found = made.find(array(few))
            assert {few[i]: slot for i, slot in zip(which, found, strict=True)} == {t: known[t] for t in few if t in known}
            for tag in asked[:3] + asked[-3:]:
                ((slot, there),) = made.find_each([tag])
                assert (slot if there else None) == known.get(tag)
        stored = made.entries()
        assert dict(zip(stored["tag"].tolist(), stored["slot"].tolist(), strict=True)) == known
        assert sum(tx.rows(99).index["1"].counts) == len(known)
        tx.rows(99).index.clear()
        tx.run("DELETE FROM vault_index WHERE id >= ?", index.first_key(99, 0))
    assert merges >= 2


def test_crowded_buckets_grow(sqlite_house: House) -> None:
    """Tags in a corner of their range (never seen in practice) still find room."""
    rng = np.random.default_rng(9)
    crowded = array(tag >> 8 for tag in tags_of(rng, 600))
    box = Box(Secret(os.urandom(32)))
    with sqlite_house.vault.store.write() as tx:
        tx.rows(99).slots = 1024
        made = Index(tx, 99, 1, box)
        for start in (0, 300):
            made.add(crowded[start : start + 300], np.arange(start + 1, start + 301))
        which, found = made.find(crowded)
        assert dict(zip(which.tolist(), found.tolist(), strict=True)) == {i: i + 1 for i in range(600)}
        tx.rows(99).index.clear()
        tx.run("DELETE FROM vault_index WHERE id >= ?", index.first_key(99, 0))


def test_tags_that_begin_alike(house: House) -> None:
    """Two lookup tags with the same first 8 bytes lead each to its own row."""
    house.owner.create_domain("d")
    with house.vault.store.write() as tx:
        keys = house.vault.keyring.opened(tx, house.vault.keyring.domain(tx, "d")).keys
        start = os.urandom(8)
        lookups = [start + bytes(8), start + b"\1" * 8]
        nonces = np.array([7, 9], dtype=">u8")
        made = entries.append(tx, keys, entries.pairs(b"".join(lookups)), nonces, b"", [b"one", b"two"])
        for lookup, block in zip(lookups, made, strict=True):
            assert entries.find_each(tx, keys, 1, [lookup]) == [(block.tobytes(), True)]
        assert entries.find_each(tx, keys, 1, [start + b"\2" * 8])[0][1] is False
        which, found = entries.find_many(tx, keys, 1, entries.pairs(start + b"\2" * 8 + lookups[1] + lookups[0]))
        assert dict(zip(which.tolist(), found[:, 1].tolist(), strict=True)) == {1: 9, 2: 7}


def shape(house: House) -> list[Any]:
    """What a thief sees of the index: how many buckets, how long."""
    with contextlib.closing(raw_database(house)) as database:
        query = "SELECT id, length(sealed) FROM vault_index ORDER BY id"
        return [tuple(row) for row in database.execute(query).fetchall()]


def test_the_index_hides_the_count(house: House, small: None) -> None:
    """V4: number and size of the buckets depend on the size class only, also when tiers are merged in between."""
    house.owner.create_domain("d")
    for start, stop in ((0, 1024), (1024, 1280), (1280, 1536), (1536, 1792), (1792, 2048), (2048, 2560)):
        seen = []
        for first, last in ((start, start + 1), (start + 1, (start + stop) // 2), ((start + stop) // 2, stop)):
            house.operator.pseudonymize("d", [f"{i}" for i in range(first, last)])
            seen.append(shape(house))
        assert seen[0] == seen[1] == seen[2]


def test_a_bucket_put_back_is_noticed(house: House, small: None) -> None:
    """V5: an older bucket in place of the newer one, by the check and by the next merge."""
    house.owner.create_domain("d")
    house.operator.pseudonymize("d", [f"a{i}" for i in range(200)])
    database, mark = raw_database(house), parameter_mark(house)
    old = database.execute("SELECT id, sealed FROM vault_index ORDER BY id DESC LIMIT 1").fetchone()
    house.operator.pseudonymize("d", [f"b{i}" for i in range(200)])
    database.execute(f"UPDATE vault_index SET sealed = {mark} WHERE id = {mark}", (old[1], old[0]))
    found = care.verify(house.owner)
    assert not found.ok
    assert "index" in found.problems[0]
    with pytest.raises(TamperError, match="index"):
        house.operator.pseudonymize("d", [f"c{i}" for i in range(1000)])
    database.execute("DELETE FROM vault_index")
    database.close()
    with pytest.raises(TamperError, match="index"):
        house.operator.find("d", "a1")


def test_the_old_tier_in_memory_is_the_one_of_the_sealed_state(house: House, small: None) -> None:
    """Two programs write in turn: each reads the old tier again when the other one has merged it."""
    house.owner.create_domain("d")
    other = house.reopen()
    first, second = house.operator, other.login(house.tokens["Olga"])
    ids = [f"{i}" for i in range(4000)]
    made: list[str] = []
    for turn, start in enumerate(range(0, 4000, 500)):
        session = (first, second)[turn % 2]
        assert session.pseudonymize("d", ids[:start]) == made
        made += session.pseudonymize("d", ids[start : start + 500])
    marks = [vault.store.kept_index[0] for vault in (house.vault, other)]
    assert marks[0] != marks[1]
    assert first.pseudonymize("d", ids) == second.pseudonymize("d", ids) == made
    assert house.vault.store.kept_index[0] == other.store.kept_index[0]
    other.close()
    assert care.verify(house.owner).ok


def test_an_old_bucket_put_back_doubles_nobody(house: House, small: None) -> None:
    """V5: a running program goes on with what it knows; a new one, and the check, refuse."""
    house.owner.create_domain("d")
    ids = [f"{i}" for i in range(1000)]
    house.operator.pseudonymize("d", ids[:600])
    query = "SELECT id, sealed FROM vault_index ORDER BY id LIMIT 1"
    with contextlib.closing(raw_database(house)) as database:
        key, before = database.execute(query).fetchone()
        made = house.operator.pseudonymize("d", ids)
        house.operator.pseudonymize("d", [f"more {i}" for i in range(600)])
        assert house.operator.pseudonymize("d", ids) == made
        assert bytes(database.execute(query).fetchone()[1]) != bytes(before)
        mark = parameter_mark(house)
        database.execute(f"UPDATE vault_index SET sealed = {mark} WHERE id = {mark}", (before, key))
    assert house.operator.pseudonymize("d", ids) == made
    assert not care.verify(house.owner).ok
    with contextlib.closing(house.reopen()) as other, pytest.raises(TamperError, match="index"):
        other.login(house.tokens["Olga"]).pseudonymize("d", ids)


@pytest.mark.parametrize("slots", [1000, 3000])
def test_any_bucket_put_back_doubles_nobody(house: House, small: None, slots: int) -> None:
    """V5: each bucket of an older time, one by one, in a program that has just started and asks for one person only."""
    house.owner.create_domain("d")
    house.operator.pseudonymize("d", [f"a{i}" for i in range(slots // 2)])
    database, mark = raw_database(house), parameter_mark(house)
    before = dict(database.execute("SELECT id, sealed FROM vault_index").fetchall())
    ids = [f"b{i}" for i in range(slots // 2)]
    made = dict(zip(ids, house.operator.pseudonymize("d", ids), strict=True))
    after = dict(database.execute("SELECT id, sealed FROM vault_index").fetchall())
    changed = [key for key in before if bytes(before[key]) != bytes(after[key])]
    assert len(changed) >= 3
    refused = 0
    for key in changed[:: max(1, len(changed) // 6)]:
        update = f"UPDATE vault_index SET sealed = {mark} WHERE id = {mark}"
        database.execute(update, (before[key], key))
        with contextlib.closing(house.reopen()) as vault:
            session = vault.login(house.tokens["Olga"])
            for identity in ids[:40]:
                for call in (session.find, lambda d, i, s=session: s.pseudonymize(d, [i])[0]):
                    try:
                        assert call("d", identity) == made[identity]
                    except TamperError:
                        refused += 1
        database.execute(update, (after[key], key))
    database.close()
    assert refused
    assert care.verify(house.owner).ok


def test_rotation_leaves_one_index(house: House) -> None:
    house.owner.create_domain("d")
    made = house.operator.pseudonymize("d", [f"{i}" for i in range(100)])
    before = shape(house)
    house.agree(care.rotate_domain, "d")
    after = shape(house)
    assert [length for _, length in after] == [length for _, length in before]
    assert after[0][0] - before[0][0] == 1 << 32
    assert house.operator.pseudonymize("d", [f"{i}" for i in range(100)]) == made
    assert care.verify(house.owner).ok
