"""Columns that follow from others get one role with them, and a draft leaves them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.cli._drafts import write_draft
from shoal.find.dependencies import follows
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
