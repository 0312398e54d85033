"""The index of buckets: agrees with a dictionary at every size, hides the count, notices what was put back; its migration."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np
import pytest

from protector_support import House, parameter_mark, raw_database
from shoal.errors import DataError, TamperError
from shoal.protector import Vault, entries, index, migrate, upkeep
from shoal.protector.crypto import Box
from shoal.protector.index import Index
from shoal.protector.keys import Secret


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A young tier of few entries, so that little data takes every path."""
    monkeypatch.setattr(index, "_SMALLEST_YOUNG", 512)


def lookups_of(rng: np.random.Generator, count: int) -> list[bytes]:
    return [rng.bytes(16) for _ in range(count)]


def test_agrees_with_a_dictionary(house: House, small: None) -> None:
    """Batches of all sizes, growing slots, merges: every tag leads to its slot, and no other tag to any."""
    rng = np.random.default_rng(8)
    box = Box(Secret(os.urandom(32)))
    known: dict[bytes, int] = {}
    merges = 0
    with house.vault.store.write() as tx:
        for count in (0, 1, 5, 300, 2, 900, 1, 1, 4000, 40, 700, 9):
            fresh = lookups_of(rng, count)
            slots = range(len(known) + 1, len(known) + count + 1)
            tx.rows(99).slots = entries.size_class(len(known) + count)
            made = Index(tx, 99, 1, box)
            young = tx.rows(99).index["1"].counts[index.YOUNG]
            made.add(fresh, slots)
            merges += tx.rows(99).index["1"].counts[index.YOUNG] < young
            known |= dict(zip(fresh, slots, strict=True))
            asked = [*known, *lookups_of(rng, 50)]
            assert sorted(made.find(index.tags_of(asked)).tolist()) == list(range(1, len(known) + 1))
            for lookup in asked[:3] + asked[-3:]:
                slot, there = made.find_one(int.from_bytes(lookup[:8], "big"))
                assert (slot if there else None) == known.get(lookup)
        stored = made.entries()
        assert dict(zip(stored["slot"].tolist(), stored["tag"].tolist(), strict=True)) == {
            slot: int.from_bytes(lookup[:8], "big") for lookup, slot in known.items()
        }
        assert sum(tx.rows(99).index["1"].counts) == len(known)
        tx.rows(99).index.clear()
        tx.run("DELETE FROM vault_index WHERE id >= ?", index.first_key(99, 0))
    assert merges >= 2


def test_crowded_buckets_grow(sqlite_house: House) -> None:
    """Tags in a corner of their range (never seen in practice) still find room."""
    rng = np.random.default_rng(9)
    crowded = [bytes([0, *rng.bytes(15)]) for _ in range(600)]
    box = Box(Secret(os.urandom(32)))
    with sqlite_house.vault.store.write() as tx:
        tx.rows(99).slots = 1024
        made = Index(tx, 99, 1, box)
        for start in (0, 300):
            made.add(crowded[start : start + 300], range(start + 1, start + 301))
        assert sorted(made.find(index.tags_of(crowded)).tolist()) == list(range(1, 601))
        tx.rows(99).index.clear()
        tx.run("DELETE FROM vault_index WHERE id >= ?", index.first_key(99, 0))


def test_tags_that_begin_alike(house: House) -> None:
    """Two lookup tags with the same first 8 bytes lead each to its own row."""
    house.owner.create_domain("d")
    with house.vault.store.write() as tx:
        keys = house.vault.opened(tx, house.vault.domain(tx, "d")).keys
        start = os.urandom(8)
        lookups = [start + bytes(8), start + b"\1" * 8]
        plains = [entries.payload(bytes(8), bytes(6), text) for text in (b"one", b"two")]
        entries.append(tx, keys, lookups, plains)
        for lookup, text in zip(lookups, (b"one", b"two"), strict=True):
            entry, there = entries.find_one(tx, keys, 1, lookup)
            assert (entry.identity, there) == (text, True)
        assert entries.find_one(tx, keys, 1, start + b"\2" * 8)[1] is False
        assert {row[1] for row in entries.find_many(tx, keys, 1, lookups)} == set(lookups)


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
    found = upkeep.verify(house.owner)
    assert not found.ok
    assert "index" in found.problems[0]
    with pytest.raises(TamperError, match="index"):
        house.operator.pseudonymize("d", [f"c{i}" for i in range(1000)])
    database.execute("DELETE FROM vault_index")
    database.close()
    with pytest.raises(TamperError, match="index"):
        house.operator.find("d", "a1")


def test_rotation_leaves_one_index(house: House) -> None:
    house.owner.create_domain("d")
    made = house.operator.pseudonymize("d", [f"{i}" for i in range(100)])
    before = shape(house)
    upkeep.rotate_domain(house.owner, "d")
    after = shape(house)
    assert [length for _, length in after] == [length for _, length in before]
    assert after[0][0] - before[0][0] == 1 << 32
    assert house.operator.pseudonymize("d", [f"{i}" for i in range(100)]) == made
    assert upkeep.verify(house.owner).ok


def test_an_older_vault_is_migrated(house: House) -> None:
    """Tables of version 0001 (no buckets): refused with the way out, then brought up to date with every pseudonym kept."""
    house.owner.create_domain("d")
    house.owner.create_domain("empty")
    house.owner.create_domain("other", kind="keyed")
    ids = [f"{i}" for i in range(3000)]
    made = house.operator.pseudonymize("d", ids)
    token = house.owner.issue_token("Otto")
    with house.vault.store.write() as tx:
        for rows in tx.state.domains.values():
            rows.index.clear()
        migrate.downgrade(tx.connection, "0001")
    house.vault.close()
    with pytest.raises(DataError, match="vault migrate"):
        house.reopen()
    for _ in range(2):
        Vault.migrate(house.place, key=house.key, anchor=house.folder / "anchor", clock=house.clock)
    house.vault = house.reopen()
    assert house.operator.pseudonymize("d", ids) == made
    assert upkeep.verify(house.vault.login(token)).ok


def test_newer_tables_are_refused(sqlite_house: House) -> None:
    """A vault of a later version is not migrated backwards."""
    with contextlib.closing(raw_database(sqlite_house)) as database:
        database.execute("UPDATE vault_version SET version_num = '9999'")
    with pytest.raises(DataError, match="newer Shoal"):
        sqlite_house.reopen()
    with pytest.raises(DataError, match="newer Shoal"):
        Vault.migrate(sqlite_house.place, key=sqlite_house.key, anchor=sqlite_house.folder / "anchor")
