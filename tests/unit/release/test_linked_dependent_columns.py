"""Published columns of linked tables that follow from quasi-identifiers of the same or another table: the release is refused."""

from __future__ import annotations

import importlib
from types import SimpleNamespace as Some

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.errors import VerificationError
from shoal.steps import Drop, Keep

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


# --- part by part, without a release ------------------------------------------------------------------------------------------

dependent = importlib.import_module("shoal.release.linked.dependent")
AGE_TELLS = ("person.age", ("visits.v",), True)


@pytest.fixture
def checked(monkeypatch):
    """Check two tables of three people in which an age tells a column of the visits; these are the sizes of their groups."""

    def check(sizes, staying=(True, True, True), *, k=5):
        seen = {"joined": [], "further": []}
        parts = tuple(Some(linked=Some(name=n), prepared=Some(quasi=q)) for n, q in (("person", ("age",)), ("visits", ("ward",))))
        made = Some(parts=parts, policy=Some(k=k, known=2))
        table = Some(column_names=["person.age", "visits.v", "visits.ward"])

        def fewest(whole, levels, staying, known):
            seen.update(further=[p.further for p in whole.parts], asked=(levels, staying.tolist(), known))
            return np.array(sizes)

        def joined(family, kept, i):
            seen["joined"].append(i)
            return table, ({"person.age": "integer", "visits.ward": "text"}, {"visits.v": "integer"})

        def dependences(table, quasi, others, kinds):
            assert (quasi, others, set(kinds)) == (["person.age", "visits.ward"], ["visits.v"], set(table.column_names))
            return [AGE_TELLS]

        monkeypatch.setattr(dependent, "replace", lambda old, **new: Some(**vars(old) | new))
        monkeypatch.setattr(dependent, "_kept", lambda part: ["v"] if part.linked.name == "visits" else [])
        monkeypatch.setattr(dependent, "_joined", joined)
        monkeypatch.setattr(dependent, "dependences", dependences)
        monkeypatch.setattr(dependent, "_values_told", lambda table, f: {"20": 0})
        monkeypatch.setattr(dependent, "_codes", lambda part, f, told: (f, told))
        monkeypatch.setattr(dependent, "fewest", fewest)
        dependent.check_dependent(made, Some(levels="levels", staying=np.array(staying)))
        return seen

    return check


def test_every_table_is_looked_at_and_what_is_told_is_added_where_it_belongs(checked):
    seen = checked([5, 5, 9])
    assert seen["joined"] == [0, 1]
    assert seen["further"] == [((AGE_TELLS, {"20": 0}),), ()]
    assert seen["asked"] == ("levels", [True] * 3, 2)


def test_one_person_who_stays_among_fewer_than_k_stops_the_release(checked):
    with pytest.raises(VerificationError, match="1 of 3 people are among fewer than 5; the smallest group has 4"):
        checked([4, 5, 9])
    assert checked([0, 5, 5], (False, True, True))["asked"][1] == [False, True, True]


def test_what_is_told_is_what_mostly_goes_with_a_value():
    table = pa.table({"person.age": [20, 20, 20, 30, None, 40], "visits.v": ["b", "a", "b", "a", "b", None]})
    assert dependent._values_told(table, AGE_TELLS) == {"20": 0, "30": 1}
    assert dependent._values_told(table, ("person.age", ("visits.v",), False)) is None


def test_values_that_tell_the_same_are_alike_and_those_that_were_not_seen_are_not():
    pairs = Some(
        columns=("id", "age"), categories=[None, pa.array([20, 30, 50, 60])], codes=[None, np.array([0, 1, 2, 3, -1, 0])]
    )
    part = Some(pairs=pairs, linked=Some(name="person"))
    for number in range(12):  # also those that are as large as there are values
        codes = dependent._codes(part, AGE_TELLS, {"20": number, "30": number}).tolist()
        assert codes[0] == codes[1] == codes[5]
        assert len(set(codes)) == 4, "the two others and the missing one"
    assert dependent._codes(part, AGE_TELLS, None).tolist() == [0, 1, 2, 3, -1, 0]


def test_which_columns_are_looked_at(monkeypatch):
    """Of sensitive columns those with more values than can be learnt; none that is changed or that a person decided about."""
    many = dict.fromkeys(("s64", "s65", "i", "noisy", "decided"), 9) | {"s64": 64, "s65": 65}
    policy = Some(sensitive=("s64", "s65"), insensitive=("i", "noisy", "decided"), identifying=("decided",))
    monkeypatch.setattr(dependent, "other_steps", lambda _: [Keep("i"), Drop("noisy"), Keep("s65")])
    reader = {name: Some(distinct=n) for name, n in many.items()}
    assert dependent._kept(Some(prepared=Some(policy=policy, reader=reader))) == ["s65", "i"]


def test_the_first_row_of_a_person_in_the_other_table_is_compared():
    def part(name, key, quasi, rows):
        schema = {c: Some(kind="integer") for c in rows}
        return Some(
            linked=Some(name=name, key=key), prepared=Some(quasi=quasi, schema=schema),
            table=Some(first_rows=lambda names, most: [pa.array(rows[c]) for c in names]),
        )  # fmt: skip

    person = part("person", "id", ("age",), {"id": [1, 2, 3], "age": [20, 30, 40]})
    visits = part("visits", "who", ("ward",), {"who": [2, 1, 2], "ward": [7, 8, 9], "v": [70, 80, 90]})
    made = Some(parts=(person, visits))
    table, kinds = dependent._joined(made, [[], ["v"]], 0)
    assert table.to_pydict() == {"person.age": [20, 30, 40], "visits.ward": [8, 7, None], "visits.v": [80, 70, None]}
    assert kinds == ({"person.age": "integer", "visits.ward": "integer"}, {"visits.v": "integer"})
    assert dependent._joined(made, [[], ["v"]], 1)[0].to_pydict()["person.age"] == [30, 20, 30]
