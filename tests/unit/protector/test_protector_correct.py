"""Corrections: identities of one person merged, a wrong merge split; everything else stays as it was."""

from __future__ import annotations

import contextlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protector_support import House, raw_database
from shoal.errors import AccessError, UsageError
from shoal.protector import care
from shoal.protector.people.changes import SecondPersonNeeded


def resolved(house: House, pseudonyms: list[str]) -> list[str | None]:
    with house.vault.store.read() as tx:
        opened = house.vault.keyring.opened(tx, house.vault.keyring.domain(tx, "d"))
        return [None if p is None else p.decode() for p in opened.resolve(tx, pseudonyms)]


def test_merge_and_split(house: House) -> None:
    house.owner.create_domain("d")
    house.owner.create_domain("e")
    house.connect("d", "e")
    one, other, third = before = house.operator.pseudonymize("d", ["0012-aria", "0021-cleo", "0030"])
    with pytest.raises(SecondPersonNeeded) as needed:
        care.merge(house.owner, "d", "0021-cleo", "0012-aria")
    assert "0021-cleo" not in str(needed.value.change.what) + str(needed.value)
    with pytest.raises(AccessError, match="nobody confirms their own"):
        house.owner.confirm(needed.value.change.id)
    assert house.operator.pseudonymize("d", ["0021-cleo"]) == [other]  # nothing happened yet
    house.auditor.confirm(needed.value.change.id)
    done = care.merge(house.owner, "d", "0021-cleo", "0012-aria")
    assert house.operator.pseudonymize("d", ["0012-aria", " 0021-cleo", "0030"]) == [one, one, third]
    assert house.operator.find_many("d", ["0021-cleo ", "0030"]) == [one, third]
    assert resolved(house, before) == ["0012-aria", "0012-aria", "0030"]
    assert house.reveal("d", [other]) == {other: "0012-aria"}
    moved = house.operator.translate([one, other, third], source="d", target="e", purpose="study")
    assert moved[0] == moved[1] != moved[2]
    assert care.verify(house.owner).ok
    back = house.agree(care.split, "d", "0021-cleo")
    assert (back["split"], back["from"]) == (done["merged"], done["into"])
    assert house.operator.pseudonymize("d", ["0012-aria", "0021-cleo", "0030"]) == before
    assert resolved(house, before) == ["0012-aria", "0021-cleo", "0030"]
    events = [e for e in care.read_log(house.auditor, actions=["correct"]) if e["outcome"] == "done"]
    assert [(e["detail"], e["subjects"]) for e in events] == [
        ("merged", [done["merged"], done["into"]]),
        ("split", [done["merged"], done["into"]]),
    ]
    assert "0021-cleo" not in json.dumps(care.read_log(house.auditor, last=1000))
    assert care.verify(house.owner).ok


@pytest.mark.parametrize("who", ["Olga", "Rita", "Aldo"])
def test_only_an_owner_corrects(sqlite_house: House, who: str) -> None:
    sqlite_house.owner.create_domain("d")
    for call in (lambda s: care.merge(s, "d", "a", "b"), lambda s: care.split(s, "d", "a")):
        with pytest.raises(AccessError, match="needs the role owner"):
            call(sqlite_house[who])


def test_what_cannot_be_merged(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    ghost = house.owner.plant_honeytoken("d").identity
    house.agree(care.merge, "d", "b", "a")
    house.agree(care.merge, "d", "c", "b")
    wrong = [
        ("b", "x", "merged already"),
        ("a", "c", "are one already"),
        ("a", "a", "are one already"),
        ("", "a", "one character"),
    ]
    for identity, into, why in [*wrong, ("a", " ", "one character"), (ghost, "a", "planted"), ("z", ghost, "planted")]:
        with pytest.raises(UsageError, match=why):
            house.agree(care.merge, "d", identity, into)
    with pytest.raises(UsageError, match="not merged"):
        house.agree(care.split, "d", "a")
    for kind in ("keyed", "reversible", "format-preserving", "self-generated"):
        house.owner.create_domain(kind, kind=kind)
        with pytest.raises(UsageError, match="keeps no table"):
            care.merge(house.owner, kind, "a", "b")


def test_a_merged_person_is_exported_and_forgotten_whole(house: House) -> None:
    house.owner.create_domain("d")
    made = house.operator.pseudonymize("d", ["0012-aria", "0021-cleo", "0022", "0030"])
    house.reveal("d", made[1:2])
    house.agree(care.merge, "d", "0021-cleo", "0012-aria")
    house.agree(care.merge, "d", "0022", "0021-cleo")
    for identity in ("0012-aria", "0021-cleo"):
        held = house.agree(care.export, "d", identity)
        assert sorted(held["pseudonyms"]) == sorted(made[:3])
        assert (len(held["merged"]), len(held["told"])) == (2, 1)  # told before the merge, under the other number
    with contextlib.closing(raw_database(house)) as database:
        before = {bytes(row[0]) for row in database.execute("SELECT sealed FROM vault_objects")}
    assert house.agree(care.forget, "d", "0021-cleo")["records"] == 3
    assert resolved(house, made) == [None, None, None, "0030"]
    assert house.operator.find_many("d", ["0012-aria", "0021-cleo", "0022", "0030"]) == [None, None, None, made[3]]
    with pytest.raises(UsageError, match="not merged"):
        house.agree(care.split, "d", "0022")
    assert care.verify(house.owner).ok
    if house.vault.store.dialect == "sqlite":
        with contextlib.closing(raw_database(house)) as database:
            gone = before - {bytes(row[0]) for row in database.execute("SELECT sealed FROM vault_objects")}
        content = b"".join(f.read_bytes() for f in Path(house.place).parent.glob("data.vault*"))
        assert gone
        assert not any(sealed in content for sealed in gone)


def test_merges_survive_rotation_and_die_with_the_domain(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d", matching="nfc", clean=("blanks", "case"))
    one, other = house.operator.pseudonymize("d", ["Zoé", "Zara"])
    house.agree(care.merge, "d", "zara", "Zoe\u0301")
    house.agree(care.rotate_domain, "d")
    assert house.operator.pseudonymize("d", ["ZARA", "zoé"]) == [one, one]
    assert care.verify(house.owner).ok
    house.reopen().close()
    house.agree(care.shred, "d", confirm="d")
    with pytest.raises(AccessError, match="shredded"):
        resolved(house, [other])
    assert care.verify(house.owner).ok


NAMES = ["a", "b", "c", "d", "e"]
STEPS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from([*NAMES, ""])), max_size=8)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_against_the_slow_definition(sqlite_house: House, steps: list[tuple[str, str]]) -> None:
    """A dictionary followed by hand: same person, same pseudonym; every old pseudonym leads to the one that stands."""
    house = sqlite_house
    name = f"d{next(_NUMBERS)}"
    house.owner.create_domain(name)
    own = dict(zip(NAMES, house.operator.pseudonymize(name, NAMES), strict=True))
    merged: dict[str, str] = {}

    def standing(one: str) -> str:
        return standing(merged[one]) if one in merged else one

    for one, into in steps:
        good = one in merged if not into else one not in merged and standing(into) != one
        call: tuple[Any, ...] = (care.merge, name, one, into) if into else (care.split, name, one)
        if not good:
            with pytest.raises(UsageError):
                house.agree(*call)
            continue
        house.agree(*call)
        merged.update({one: into}) if into else merged.pop(one)
    assert house.operator.pseudonymize(name, NAMES) == [own[standing(one)] for one in NAMES]
    with house.vault.store.read() as tx:
        opened = house.vault.keyring.opened(tx, house.vault.keyring.domain(tx, name))
        assert opened.resolve(tx, list(own.values())) == [standing(one).encode() for one in NAMES]


_NUMBERS = itertools.count()
