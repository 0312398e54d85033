"""Columns that follow from others get one role with them, and a draft leaves them out."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.cli._releases import write_draft
from shoal.find.dependencies import _date_parts, _same_order, follows
from shoal.model.roles import Role

ROWS = 600


@pytest.fixture(scope="module")
def survey() -> dict[str, Any]:
    """Like a health survey: household size with dummies, age with bands, race as code and label, pay and its logarithm."""
    draw = np.random.default_rng(3)
    size = draw.choice(6, ROWS, p=[0.3, 0.3, 0.15, 0.15, 0.06, 0.04]) + 1
    age, race = draw.integers(20, 75, ROWS), draw.integers(1, 4, ROWS)
    pay = np.exp(draw.normal(10, 1, ROWS)).round(2)
    dummies = {f"hsiz{n}": (size == n).astype(int).tolist() for n in range(1, 6)}
    return {
        "age": age.tolist(),
        "agegrp": [f"band {a // 10}" for a in age],
        "household_size": size.tolist(),
        **dummies,
        "race": race.tolist(),
        "zork": [("", "w", "b", "o")[r] for r in race],
        "income": pay.tolist(),
        "lnpy": np.log(pay).round(6).tolist(),
        "noise": draw.choice(["p", "q", "r"], ROWS).tolist(),
    }


def test_dummies_bands_and_labels_follow_and_have_one_role(survey: dict[str, Any]) -> None:
    found = {c.name: c for c in shoal.inspect(survey).columns}
    assert {n: found[n].follows for n in ("hsiz1", "hsiz2", "hsiz3", "hsiz4", "hsiz5")} == dict.fromkeys(
        ("hsiz1", "hsiz2", "hsiz3", "hsiz4", "hsiz5"), "household_size"
    )
    assert found["zork"].follows == "race"
    assert found["agegrp"].follows == "age"
    assert {found[n].role for n in ("hsiz1", "hsiz5", "zork", "agegrp", "household_size")} == {Role.QUASI}
    assert found["noise"].follows == ""
    assert "follows from 'race'" in found["zork"].reason


def test_what_a_person_said_stays(survey: dict[str, Any]) -> None:
    found = {c.name: c for c in shoal.inspect(survey, insensitive=["zork"], quasi=["noise"]).columns}
    assert found["zork"].role is Role.INSENSITIVE
    assert found["noise"].role is Role.QUASI


def test_an_unchanged_draft_does_not_publish_what_follows(survey: dict[str, Any], tmp_path: Path) -> None:
    table, policy = tmp_path / "survey.csv", tmp_path / "policy.yml"
    pa.table(survey).to_pandas().to_csv(table, index=False)
    write_draft(str(table), policy, {}, {}, as_json=True)
    assert "hsiz1: it follows from 'household_size'" in policy.read_text(encoding="utf-8").replace("{}   # ", "")
    made = shoal.anonymize(table, policy).certificate
    assert not {n for n in made.data.columns if n.startswith("hsiz")}
    assert made.known is not None
    assert made.known.share <= 0.05


DRAW = np.random.default_rng(9)
UNIQUE = DRAW.permutation(400)
FEW = DRAW.integers(0, 8, 400)


@pytest.mark.parametrize(
    ("a", "b", "ordered", "answer"),
    [
        (FEW, FEW // 2, False, True),
        (FEW // 2, FEW, False, False),
        (FEW, np.where(np.arange(400) < 2, 0, FEW // 2), False, True),  # nearly
        (FEW, np.where(np.arange(400) < 60, 0, FEW // 2), False, False),
        (UNIQUE, UNIQUE // 100, True, True),  # bands of values that never repeat
        (UNIQUE, UNIQUE // 100, False, False),  # texts that never repeat have no bands
        (UNIQUE, 399 - UNIQUE, True, True),  # runs against it
        (UNIQUE, DRAW.permutation(400), True, False),
        (UNIQUE, FEW, True, False),
        (FEW, np.zeros(400, dtype=int), False, False),
        (FEW[:40], FEW[:40] // 2, False, False),  # too few rows
    ],
)
def test_one_column_follows_from_another(a: Any, b: Any, ordered: bool, answer: bool) -> None:
    assert follows(a, b, ordered=ordered) is answer


def _roles(table: dict[str, Any], **said: Any) -> dict[str, Role]:
    return {c.name: c.role for c in shoal.inspect(table, **said).columns}


def test_parts_of_a_known_sum_are_known() -> None:
    draw = np.random.default_rng(5)
    grown, small = draw.integers(1, 5, 300), draw.integers(0, 4, 300)
    zork, gnu = draw.integers(0, 9, 300), draw.integers(0, 9, 300)
    table = {"zork": grown, "household_size": grown + small, "frob": small, "gnu": gnu, "total_gnu": gnu + zork}
    found = _roles(table)
    assert {found["zork"], found["frob"], found["household_size"]} == {Role.QUASI}
    other = _roles({**table, "frob": draw.permutation(small)})
    assert Role.QUASI not in {other["zork"], other["frob"]}


def test_a_mean_of_neighbours_is_in_their_sum() -> None:
    draw = np.random.default_rng(6)
    a, b, c = (draw.integers(0, 8, 200) for _ in range(3))
    found = _roles({"zork": a, "frob": b, "children": c, "gnu": (a + b + c) / 3})
    assert {found[n] for n in ("zork", "frob", "gnu")} == {Role.QUASI}
    assert _roles({"zork": a, "frob": b, "gnu": a + b})["gnu"] is not Role.QUASI  # nothing known is in it


@pytest.mark.parametrize("written", [False, True])
def test_a_weekday_is_known_with_its_date(written: bool) -> None:
    days = [np.datetime64("1950-01-01", "D") + int(d) for d in np.random.default_rng(7).permutation(20_000)[:300]]
    weekday = [int(d.astype(np.int64) % 7) for d in days]
    table: dict[str, Any] = {"birth_date": [str(d) for d in days] if written else [d.astype(object) for d in days]}
    made = {c.name: c for c in shoal.inspect({**table, "zork": weekday, "frob": weekday[::-1]}).columns}
    assert made["zork"].role is Role.QUASI
    assert made["zork"].follows == "birth_date"
    assert made["frob"].follows == ""


def test_the_parts_of_a_date_are_those_of_the_calendar() -> None:
    """Weekday, day, month and quarter by Python's calendar: each is one code per value, before 1970 too."""
    dates = [date(1931, 1, 1) + timedelta(17 * i) for i in range(2_000)]
    days = np.array([float((d - date(1970, 1, 1)).days) for d in dates])
    expected = [
        [d.weekday() for d in dates],
        [d.day for d in dates],
        [d.month for d in dates],
        [(d.month - 1) // 3 for d in dates],
    ]
    for part, named in zip(_date_parts(days), expected, strict=True):
        assert len(set(zip(part.tolist(), named, strict=True))) == len(set(named)) == len(set(part.tolist()))
    assert all(part.tolist() == [-1] for part in _date_parts(np.array([np.nan])))


@pytest.mark.parametrize(
    ("values", "same"), [([1, 2, 2, 9], True), ([9, 2, 2, 1], True), ([5, 5, 5, 5], True), ([1, 3, 2, 9], False)]
)
def test_the_same_order_allows_equal_steps(values: list[int], same: bool) -> None:
    assert _same_order(np.array([10, 20, 30, 40]), np.array(values)) is same


def test_a_code_that_contains_a_key_is_one() -> None:
    person, ward = [str(1000 + 7 * (i // 3)) for i in range(300)], [f"W{i % 7}" for i in range(300)]
    table = {"patient_id": person, "zork": [f"{p}-{i % 3}" for i, p in enumerate(person)]}
    assert _roles(table)["zork"] is Role.DIRECT
    beds = [f"{w}b{i % 3}" for i, w in enumerate(ward)]
    assert _roles({"district": ward, "zork": beds})["zork"] is Role.QUASI
    assert _roles({"district": ward, "zork": [*beds[5:], *beds[:5]]})["zork"] is Role.UNDECIDED


def test_a_group_that_tells_a_sensitive_mean_is_asked_about() -> None:
    group = np.random.default_rng(8).integers(0, 12, 300)
    pay = np.array([310, 120, 480, 90, 220, 400, 150, 350, 60, 270, 520, 180])[group] * 101
    found = _roles({"zork": group, "income": pay, "frob": np.searchsorted([20_000, 40_000], pay)})
    assert found["zork"] is Role.UNDECIDED
    assert found["frob"] is Role.SENSITIVE
