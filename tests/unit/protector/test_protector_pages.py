"""Identity records in pages: every length goes in and comes out, nothing shows outside, an older page is noticed."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protector_support import House, parameter_mark, raw_database
from shoal.errors import TamperError
from shoal.protector import care
from shoal.protector.pseudonyms.domains import Renewal
from shoal.protector.store import entries, pages

EDGES = (0, 1, 80, 81, 82, 86, 87, 88, 203, 204, 205, 209, 210, 211, 4095, 4096)


@given(st.lists(st.tuples(st.binary(max_size=300), st.binary(max_size=700)), max_size=20), st.integers(1, 250))
@settings(max_examples=50, deadline=None)
def test_records_hold_what_was_packed(texts: list[tuple[bytes, bytes]], version: int) -> None:
    """A slow reading of the packed bytes, by the layout alone: heads first, each text goes on where ``more`` says."""
    rng = np.random.default_rng(8)
    lookups = entries.pairs(rng.bytes(16 * len(texts)))
    nonces = np.frombuffer(rng.bytes(8 * len(texts)), dtype=">u8")
    first = 1000
    packed = pages.pack(version, first, lookups, nonces, [c for c, _ in texts], [i for _, i in texts])
    slots = [packed[i : i + 1].tobytes() for i in range(len(packed))]
    assert {len(slot) for slot in slots} <= {124}
    assert [slot[0] for slot in slots] == [version] * len(texts) + [255] * (len(slots) - len(texts))
    for i, (context, identity) in enumerate(texts):
        assert slots[i][1:17] == lookups[i].tobytes()
        assert slots[i][17:25] == nonces[i : i + 1].tobytes()
        text = slots[i][37:]
        more = int.from_bytes(slots[i][33:37], "little")
        while len(text) < len(context) + len(identity):
            text += slots[more - first][1:]
            more += 1
        sizes = int.from_bytes(slots[i][29:31], "little"), int.from_bytes(slots[i][31:33], "little")
        assert sizes == (len(context), len(identity))
        assert text[: sum(sizes)] == context + identity


def page_lengths(house: House) -> list[Any]:
    with contextlib.closing(raw_database(house)) as database:
        return [
            tuple(r) for r in database.execute("SELECT count(*), min(length(sealed)), max(length(sealed)) FROM vault_entries")
        ]


def test_texts_of_every_length_there_and_back(house: House) -> None:
    """Also NUL bytes at the ends, and after a rotation; pages of long texts look like all others."""
    house.owner.create_domain("d")
    house.owner.create_domain("r", scope="role-relationship")
    plain = page_lengths(house)
    ids = [f"{n:05d}".ljust(n, "x")[:n] if n else "\0" for n in EDGES] + ["\0a\0", "a\0\0", "é" * 50, "日" * 200]
    made = house.operator.pseudonymize("d", ids)
    scoped = house.operator.pseudonymize("r", ids, role="r" * 255, relation="q" * 250)
    assert page_lengths(house) == plain  # V4: neither the number of people nor the length of their names
    for _ in range(2):
        assert house.operator.pseudonymize("d", [*ids, "another"])[:-1] == made
        assert house.operator.pseudonymize("r", ids, role="r" * 255, relation="q" * 250) == scoped
        with house.vault.store.read() as tx:
            for name, pseudonyms in (("d", made), ("r", scoped)):
                opened = house.vault.keyring.opened(tx, house.vault.keyring.domain(tx, name))
                assert opened.resolve(tx, pseudonyms) == [i.encode() for i in ids]
        assert care.verify(house.owner).ok
        house.agree(care.rotate_domain, "d")
        house.agree(care.rotate_domain, "r")
    with house.vault.store.read() as tx:
        assert [r.used for r in tx.state.domains.values()] > [len(ids)]


def test_uses_are_counted_across_pages(house: House) -> None:
    house.owner.create_domain("d", renewal=Renewal(uses=2))
    ids = [f"{i}" for i in range(100)]
    first = house.operator.pseudonymize("d", ids)
    assert house.operator.pseudonymize("d", ids[::-1])[::-1] == first
    assert not set(house.operator.pseudonymize("d", ids)) & set(first)
    assert care.verify(house.owner).ok


def put_back(house: House, before: Any) -> None:
    with contextlib.closing(raw_database(house)) as database:
        mark = parameter_mark(house)
        database.execute(f"UPDATE vault_entries SET sealed = {mark} WHERE id = {mark}", (before[1], before[0]))


def test_a_page_put_back_doubles_nobody(house: House) -> None:
    """V5: anyone who is missing from an older page gets no second pseudonym, by any way in, and nothing is written over."""
    house.owner.create_domain("d")
    made = house.operator.pseudonymize("d", [f"a{i}" for i in range(10)])
    with contextlib.closing(raw_database(house)) as database:
        before = database.execute("SELECT id, sealed FROM vault_entries ORDER BY id LIMIT 1").fetchone()
        made += house.operator.pseudonymize("d", [f"b{i}" for i in range(10)])
        asked = house.request("d", [made[0], made[13]])
        house["Aldo"].approve(asked.id)
        now = database.execute("SELECT id, sealed FROM vault_entries ORDER BY id LIMIT 1").fetchone()
    put_back(house, before)
    for ids in (["b3"], [f"b{i}" for i in range(10)], ["somebody new"]):
        with pytest.raises(TamperError, match="page"):
            house.operator.pseudonymize("d", ids)
    with pytest.raises(TamperError, match="page"):
        house["Rita"].reveal(asked.id)
    with pytest.raises(TamperError, match="page"):
        house.operator.find("d", "b3")
    assert not care.verify(house.owner).ok
    put_back(house, now)
    assert care.verify(house.owner).ok
    assert list(house["Rita"].reveal(asked.id).identities.values()) == ["a0", "b3"]  # not used up by the refusal
