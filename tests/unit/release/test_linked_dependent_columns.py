"""Published columns of linked tables that follow from quasi-identifiers of the same or another table: the release is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.errors import VerificationError

RNG = np.random.default_rng(1)
N = 300
AGE, SEX = RNG.integers(20, 80, N), RNG.choice(["f", "m"], N)
WHO = np.repeat(np.arange(N), 2)
ROWS = RNG.permutation(len(WHO))  # rows of the tables come in different orders
PERSON = {"id": np.arange(N), "age": AGE, "sex": SEX}
VISITS = {"who": WHO, "ward": np.repeat(RNG.choice(["a", "b"], N), 2)}
NOISE = RNG.integers(0, 1000, len(WHO))
PERSONAL = {
    "twin": 2026 - AGE,
    "finer": 12 * AGE + RNG.integers(0, 12, N),
    "label": [f"n{a}-{s}" for a, s in zip(AGE, SEX, strict=True)],
}


def released(person=None, visits=None, *, role="insensitive", known=None, more=None):
    """The tables with further columns in the named role."""
    extra = {"person": person or {}, "visits": visits or {}}
    own = {"person": ({**PERSON, **extra["person"]}, ["age", "sex"]), "visits": ({**VISITS, **extra["visits"]}, ["ward"])}
    tables = {}
    for name, (columns, quasi) in own.items():
        frame = pd.DataFrame(columns)
        roles = {"quasi": quasi, **({role: list(extra[name])} if extra[name] else {})}
        tables[name] = {"table": frame.iloc[ROWS] if name == "visits" else frame, "roles": roles, **(more or {}).get(name, {})}
    require = {"k": 5} if known is None else {"k": 5, "known": known}
    policy = {"tables": tables, "links": {"visits.who": "person.id"}, "require": require, "allow": {"loss": 1, "suppress": 0.1}}
    return shoal.anonymize_tables(policy)


@pytest.mark.parametrize(
    ("where", "kind", "role", "known"),
    [
        ("person", "twin", "insensitive", None),
        ("visits", "twin", "insensitive", None),
        ("visits", "twin", "insensitive", 1),
        ("visits", "finer", "sensitive", None),
        ("visits", "label", "insensitive", 1),
        ("person", "label", "sensitive", 1),
    ],
)
def test_a_column_that_an_age_tells_is_refused_in_any_table(where, kind, role, known, tmp_path):
    values = np.asarray(PERSONAL[kind])
    made = released(**{where: {"v": values if where == "person" else values[WHO]}}, role=role, known=known)
    with pytest.raises(VerificationError, match="dependent columns") as stopped:
        made.write(tmp_path / "out")
    assert f"'{where}.v'" in str(stopped.value)
    assert "people are among fewer than 5" in str(stopped.value)
    assert not (tmp_path / "out").exists()


def test_a_sum_is_refused(tmp_path):
    made = released({"v": AGE + NOISE[:N], "w": NOISE[:N]})
    with pytest.raises(VerificationError, match=r"'person.age' follows from 'person.v' and 'person.w'"):
        made.write(tmp_path / "out")


@pytest.mark.parametrize("extra", [{"v": NOISE}, {"v": np.where(AGE[WHO] < 50, "young", "old")}, {}])
def test_other_columns_are_published(extra, tmp_path):
    made = released(visits=extra)
    made.write(tmp_path / "out")
    person, visits = (pd.read_csv(tmp_path / "out" / f"{n}.csv") for n in ("person", "visits"))
    known = ["age", "sex", *(["v"] if "v" in extra and extra["v"] is not NOISE else [])]
    both = person.merge(visits.drop_duplicates("who"), left_on="id", right_on="who")
    assert both.groupby([*known, "ward"]).size().min() >= 5  # what somebody who knows the age sees, counted apart


def test_a_person_may_decide(tmp_path):
    made = released(visits={"v": PERSONAL["twin"][WHO]}, more={"visits": {"identifying": ["v"]}})
    made.write(tmp_path / "out")
    assert shoal.verify(tmp_path / "out").ok


@pytest.mark.parametrize(("k", "stops"), [(5, False), (6, True)])
def test_groups_of_exactly_k_people_are_large_enough(k, stops, tmp_path):
    """Five people of each age, one visit each, and a column beside the visits that tells the age."""
    ages = np.repeat(np.arange(20, 60), 5)
    person = pd.DataFrame({"id": np.arange(200), "age": ages})
    visits = pd.DataFrame({"who": np.arange(200), "ward": "a", "v": [f"y{a}" for a in ages]})
    tables = {
        "person": {"table": person, "roles": {"quasi": ["age"]}},
        "visits": {"table": visits, "roles": {"quasi": ["ward"], "insensitive": ["v"]}},
    }
    policy = {"tables": tables, "links": {"visits.who": "person.id"}, "require": {"k": k}, "allow": {"loss": 1}}
    made = shoal.anonymize_tables(policy)
    if stops:
        with pytest.raises(VerificationError, match="the smallest group has 5"):
            made.write(tmp_path / "out")
    else:
        made.write(tmp_path / "out")
