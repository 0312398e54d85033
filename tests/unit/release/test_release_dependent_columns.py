"""Columns that follow from quasi-identifiers: who knows only these must still find k records, or nothing is released."""

from __future__ import annotations

import datetime as dt
import decimal
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import VerificationError
from shoal.find.dependencies import LEAST_ROWS
from shoal.release.make import dependent_columns

RNG = np.random.default_rng(5)
AGE, REST, SEX = RNG.integers(18, 90, 400), RNG.integers(1, 50, 400) * 7, RNG.choice(["f", "m"], 400)
DAYS = np.arange(400) * 7919 % 20_000
HEIGHT = np.round(RNG.normal(1.7, 0.1, 400), 2)
BASE = {"age": AGE.tolist(), "sex": SEX.tolist()}
NAME = "linkage: dependent columns"
DEPENDENT = {
    "twin": {"v": [f"y{2026 - a}" for a in AGE]},
    "band": {"v": [f"from {a // 5 * 5}" for a in AGE]},
    "finer": {"v": (AGE * 12 + RNG.integers(0, 12, 400)).tolist()},
    "label and number": {"v": [f"{s}{a}-{i % 7}" for i, (s, a) in enumerate(zip(SEX, AGE, strict=True))]},
    "age at a visit, before or after the birthday": {"v": (2026 - AGE - np.arange(400) % 2).tolist()},
    "sum": {"v": (AGE + REST).tolist(), "w": REST.tolist()},
    "product": {"v": (AGE * REST).tolist(), "w": REST.tolist()},
    "quotient": {"v": np.round(REST / AGE, 4).tolist(), "w": REST.tolist()},
    "mass index": {"v": np.round(AGE / HEIGHT**2, 1).tolist(), "w": HEIGHT.tolist()},
}


def anonymized(extra, **options):
    made = shoal.anonymize({**BASE, **extra}, quasi=["age", "sex"], k=5, allow={"loss": 1, **options.pop("allow", {})}, **options)
    assert made.k >= 5  # the release is made when it is asked for something
    return made


@pytest.mark.parametrize(
    ("role", "kind"), [("insensitive", k) for k in DEPENDENT] + [("sensitive", k) for k in DEPENDENT if k != "band"]
)
def test_a_column_that_quasi_identifiers_tell_stops_the_release(kind, role):
    with pytest.raises(VerificationError, match="dependent columns") as stopped:
        anonymized(DEPENDENT[kind], **{role: list(DEPENDENT[kind])})
    assert "the smallest group has" in str(stopped.value)
    assert "roles.quasi" in stopped.value.hint


def test_sampling_weights_are_published_columns_too():
    from_age = {"w": (100 + AGE * 1.5).tolist(), "ill": RNG.choice(["a", "b"], 400).tolist()}
    with pytest.raises(VerificationError, match="'w' follows from 'age'"):
        anonymized(from_age, weight="w", insensitive=["ill"])
    own = {**from_age, "w": (100 + np.arange(400) * 7919 % 400 / 8).tolist()}
    further = next(
        a for a in anonymized(own, weight="w", insensitive=["ill"]).certificate.attacks if a.name == "further knowledge"
    )
    assert further.rate == 1


def test_dates_and_the_days_between_them_stop_it(tmp_path):
    start = [dt.date(2020, 1, 1) + dt.timedelta(days=int(a) * 4) for a in AGE]
    end = [s + dt.timedelta(days=int(r)) for s, r in zip(start, REST, strict=True)]
    table = {"start": start, "end": end, "stay": REST.tolist()}
    with pytest.raises(VerificationError, match="'start' follows from 'end' and 'stay'"):
        shoal.anonymize(table, quasi=["start"], insensitive=["end", "stay"], k=5, allow={"loss": 1}).write(tmp_path / "out")


def test_an_age_at_a_visit_beside_a_date_of_birth_stops_it():
    born = [dt.date(1940, 1, 1) + dt.timedelta(days=int(d)) for d in DAYS]
    table = {"born": born, "v": [(dt.date(2026, 1, 1) - b).days * 4 // 1461 - i % 2 for i, b in enumerate(born)]}
    with pytest.raises(VerificationError, match="'v' follows from 'born'"):
        assert shoal.anonymize(table, quasi=["born"], insensitive=["v"], k=5, allow={"loss": 1}).k


@pytest.mark.parametrize(
    ("known", "other", "narrow"),
    [
        (np.arange(200.0) % 40, 7 - np.arange(200.0) % 40 + np.arange(200) % 2, True),
        (np.arange(200.0) % 40, 7 + np.arange(200.0) % 40 + np.arange(200) % 3, False),  # one of three whole numbers of forty
        (np.arange(200.0) % 5, np.arange(200.0) % 5 + np.arange(200) // 5 % 2, True),
        (np.arange(200.0) % 4, np.arange(200.0) % 4 + np.arange(200) // 4 % 2, False),  # two of four values say little
        (np.arange(1000.0) % 500, np.arange(1000.0) % 500 + np.arange(1000) // 500 * 4.8, True),  # 1 % of what they span
        (np.arange(1000.0) % 500, np.arange(1000.0) % 500 + np.arange(1000) // 500 * 5.0, False),
        (np.arange(40.0), np.arange(40.0), False),  # too few rows
        (np.arange(200.0) * 365.25 % 20_000, np.arange(200.0) * 365.25 % 20_000 // 365.25, True),  # days and years
    ],
)
def test_what_narrows_a_number(known, other, narrow):
    assert dependent_columns._narrows(known, other) is narrow


def test_a_person_may_decide_and_the_release_says_it(tmp_path):
    made = anonymized(
        DEPENDENT["twin"], sensitive=["v"], allow={"identifying": {"v": "nobody has the table that links the two columns"}}
    )
    folder = made.write(tmp_path / "out")
    result = next(a for a in made.certificate.attacks if a.name == NAME)
    published = made.to_pandas()
    # whoever knows the age of a person knows v: groups by the published columns, counted apart
    groups = Counter(published[["age", "sex", "v"]].astype(str).itertuples(index=False, name=None))
    few = sum(n for n in groups.values() if n < 5)
    assert result.verdict == "warning"
    assert result.worst == f"{few:,} of 400 records"
    assert result.rate == pytest.approx(len(groups) / 400)
    assert shoal.verify(folder).ok


def test_columns_that_do_not_depend_or_add_nothing_pass():
    made = anonymized({"v": REST.tolist(), "w": RNG.choice(["x", "y"], 400).tolist()}, insensitive=["v", "w"])
    assert NAME not in [a.name for a in made.certificate.attacks]


@pytest.mark.parametrize(
    "known",
    [RNG.integers(2019, 2024, 400), np.where(np.arange(400) < 395, 1, 1 + np.arange(400) % 3), RNG.integers(150, 200, 400)],
)
def test_a_ratio_that_never_changes_gives_no_number_away(known):
    """Years differ by a thousandth, and most people have one child: 1, always, is near them and tells nothing."""
    once = RNG.integers(1, 90, 400)
    table = {"known": known.tolist(), "sex": SEX.tolist(), "v": once.tolist(), "w": once.tolist()}
    made = shoal.anonymize(table, quasi=["known", "sex"], insensitive=["v", "w"], k=5, allow={"loss": 1})
    assert (made.k >= 5, NAME in [a.name for a in made.certificate.attacks]) == (True, False)


def test_a_sensitive_column_with_few_values_is_a_warning():
    """Whoever knows which value goes with which age has learnt them already."""
    made = anonymized(DEPENDENT["band"], sensitive=["v"])
    result = next(a for a in made.certificate.attacks if a.name == NAME)
    assert (result.verdict, result.claimed) == ("warning", None)
    assert "'v' follows from 'age'" in result.sentence


def test_a_sample_is_looked_at_too():
    with pytest.raises(VerificationError, match="dependent columns"):
        anonymized(DEPENDENT["finer"], insensitive=["v"], sample={"share": 0.9}, method="lattice")


def test_people_are_counted_not_their_records():
    """Each person has six records: groups by the true age and sex have six records or more, and one person or few."""
    six = {n: np.repeat(v, 6).tolist() for n, v in {**BASE, **DEPENDENT["twin"], "id": np.arange(400)}.items()}
    with pytest.raises(VerificationError, match=r"of 5 people, and [0-9]+ of 400 people are in groups of fewer than 5"):
        _ = shoal.anonymize(
            six, quasi=["age", "sex"], insensitive=["v"], unit="id", direct=["id"], k=5, allow={"loss": 1}
        ).certificate


@pytest.mark.parametrize(("k", "stops"), [(5, False), (6, True)])
def test_groups_of_exactly_k_are_large_enough(k, stops):
    """Five records of each age, and a published column that tells the age."""
    ages = np.repeat(np.arange(20, 60), 5)
    made = shoal.anonymize(
        {"age": ages.tolist(), "v": [f"y{a}" for a in ages]}, quasi=["age"], insensitive=["v"], k=k, allow={"loss": 1}
    )
    if stops:
        with pytest.raises(VerificationError, match="the smallest group has 5 of 6 records, and 200 of 200 records"):
            _ = made.certificate
    else:
        assert NAME not in [a.name for a in made.certificate.attacks]


@pytest.mark.parametrize(("most", "verdict"), [(2, []), (1, ["not run"])])
def test_too_many_pairs_are_said_not_to_be_compared(most, verdict, monkeypatch, tmp_path):
    monkeypatch.setattr(dependent_columns, "MOST_COMPARED", most)
    made = anonymized({"rest": REST.tolist()}, insensitive=["rest"], allow={"identifying": {"rest": "drawn at random"}})
    made.write(tmp_path / "out")
    assert [a.verdict for a in made.certificate.attacks if a.name == NAME] == verdict


# --- what counts as following, at the limits ------------------------------------------------------------------------------------

ROWS = 100
KNOWN = np.arange(ROWS) % 10 + 20.0  # ten values, each ten times


def told(extra, *, known=KNOWN, rows=ROWS):
    """The dependences of the columns ``extra`` beside the quasi-identifier "x", in so many rows."""
    columns = {"x": known, **extra}
    table = pa.table({n: np.asarray(v)[:rows] for n, v in columns.items()})
    kinds = {n: table.schema.field(n).type for n in columns}
    names = {n: "text" if pa.types.is_string(kind) else "float" for n, kind in kinds.items()}
    return list(dependent_columns.dependences(table, ["x"], list(extra), names))


def test_fifty_rows_say_something_and_fewer_do_not():
    twin = {"v": 3 * KNOWN + 1}
    assert told(twin, rows=LEAST_ROWS) == [("x", ("v",), True)]
    assert told(twin, rows=LEAST_ROWS - 1) == []


def test_both_directions_are_named():
    coarser = {"v": [f"band {int(x) // 4}" for x in KNOWN]}
    finer = {"v": [f"{int(x)}-{i % 7}" for i, x in enumerate(KNOWN)]}
    assert told(coarser) == [("x", ("v",), True)]
    assert told(finer) == [("x", ("v",), False)]


REST2 = np.random.default_rng(8).integers(1, 60, ROWS) * 7.0


@pytest.mark.parametrize(
    "of",
    [
        lambda x, r: x + r,
        lambda x, r: x - r,
        lambda x, r: r - x,
        lambda x, r: x + r + 1000,  # up to a constant
        lambda x, r: x * r,
        lambda x, r: x / r,
        lambda x, r: r / x,
        lambda x, r: 2.5 * x * r,  # up to a factor
        lambda x, r: x * r**2,
        lambda x, r: x / r**2,
        lambda x, r: r / x**2,
        lambda x, r: x**2 / r,
        lambda x, r: np.sqrt(x / r),
        lambda x, r: np.sqrt(x * r),  # the surface of a body, by height and weight (Mosteller 1987)
    ],
)
def test_what_two_columns_give_together_is_known(of):
    """Either alone says little; both give the quasi-identifier back by one operation."""
    assert ("x", ("v", "w"), False) in told({"v": of(KNOWN, REST2), "w": REST2})


def test_numbers_without_a_relation_give_nothing():
    rng = np.random.default_rng(9)
    assert told({"v": rng.integers(1, 60, ROWS) * 7.0, "w": REST2}) == []


@pytest.mark.parametrize(("frequent", "others", "follows"), [(2, 0, True), (3, 0, False), (0, 1, True), (0, 2, False)])
def test_a_sum_or_product_must_come_out_in_98_of_100_rows(frequent, others, follows):
    """Of all rows, and of those besides the most frequent value: here 50 each."""
    known = np.concatenate([np.full(50, 7.0), 10.0 + np.arange(50) % 25])

    def wrong(values):
        out = np.array(values)
        out[:frequent], out[ROWS - others :] = 1e6, 1e-3  # the largest number is nearest to the one, the smallest to the other
        return out

    assert dependent_columns._comes_out(known, wrong(known + 5)) is follows
    assert dependent_columns._comes_out(known, wrong(5 - known)) is follows
    assert dependent_columns._in_proportion(known, wrong(3 * known)) is follows


def test_who_always_names_the_most_frequent_value_knows_nothing():
    """99 of 100 rows come out, but only one of the two that are not the most frequent."""
    known = np.full(ROWS, 7.0)
    known[-2:] = 8.0, 9.0
    guess = known.copy()
    guess[-1] = 7.0
    assert not dependent_columns._comes_out(known, guess)
    assert dependent_columns._comes_out(known, known)
    assert not dependent_columns._in_proportion(known, guess)
    assert dependent_columns._in_proportion(known, known)


def test_two_values_or_few_rows_say_too_little():
    two = np.arange(ROWS) % 2 + 1.0
    three = np.arange(ROWS) % 3 + 1.0
    for rule in (dependent_columns._comes_out, dependent_columns._in_proportion):
        assert not rule(two, two)
        assert rule(three, three)
        short = np.where(np.arange(ROWS) < LEAST_ROWS, three, np.nan)
        assert rule(short[:LEAST_ROWS], three[:LEAST_ROWS])
        assert not rule(short[: LEAST_ROWS - 1], three[: LEAST_ROWS - 1])
    assert dependent_columns._comes_out(short, three), "half of the rows have the number"
    assert not dependent_columns._in_proportion(short, three), "a proportion must hold nearly everywhere"
    assert not dependent_columns._in_proportion(-three, -three), "of positive numbers only"


def test_a_guess_gives_a_number_if_it_is_nearest_or_much_nearer_than_they_are_spread():
    values = np.array([10.0, 20.0, 30.0])
    true = np.array([20.0, 20.0, 20.0, 20.0, 20.0])
    guess = np.array([20.0, 15.1, 24.9, 14.9, 25.1])
    assert dependent_columns._gives(true, guess, values).tolist() == [True, True, True, False, False]
    assert dependent_columns._gives(true, guess, values[:1]).tolist() == [False] * 5, "one value is no news"
    many = np.arange(0, 1000.0, 0.01)  # median 500: 2.5 by it, 5 % of the deviation are 14
    assert dependent_columns._gives(np.array([500.0, 500.0]), np.array([502.4, 502.6]), many).tolist() == [True, False]


def test_most_of_what_is_there_is_hit_or_too_little_is_there():
    there = np.zeros((4, 64), dtype=bool)
    hit = np.zeros((4, 64), dtype=bool)
    there[0, :10], there[1, :20], there[2, :20], there[3, :12] = True, True, True, True
    hit[1, :16], hit[2, :15], hit[2, 40:] = True, True, True
    assert LEAST_ROWS // 4 == 12
    assert dependent_columns._mostly(hit, there).tolist() == [True, True, False, False]


def test_the_median_is_the_lower_one_of_those_there():
    rows = np.array([[3.0, np.nan, 1.0, 2.0], [4.0, 1.0, 2.0, 3.0], [np.nan, np.inf, np.nan, 5.0]])
    assert dependent_columns._medians(rows).tolist() == [[2.0], [2.0], [5.0]]


def test_numbers_are_those_of_numbers_and_days():
    day = dt.date(1970, 1, 11)
    for values, expected in (
        (pa.array([1, None, 3]), [1.0, np.nan, 3.0]),
        (pa.array([day, None]), [10.0, np.nan]),
        (pa.array([dt.datetime(1970, 1, 11, 12), None]), [10.5, np.nan]),
        (pa.array([day, None], pa.date64()), [10.0, np.nan]),
        (pa.array(["1", "2"]), [np.nan, np.nan]),
        (pa.array([True, False]), [np.nan, np.nan]),
        (pa.array([decimal.Decimal("1.50")]), [1.5]),
    ):
        np.testing.assert_array_equal(dependent_columns._numbers(values), expected)


def attack(sizes, *, k=5, unit=None, verdict="broken"):
    """The attack on groups of these sizes by a published column; with ``unit`` every person has two records in a group."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    group = np.repeat(group, 2) if unit else group
    policy = SimpleNamespace(smallest_class=k, unit=unit)
    prepared = SimpleNamespace(policy=policy, quasi=("age",), schema=SimpleNamespace(names=["age", "v"]))
    mark = dependent_columns.true_name(prepared)
    table = pa.table({"age": ["*"] * len(group), "v": group, f"{mark}id": np.arange(len(group)) // 2})
    return dependent_columns._count(prepared, table, [("age", ("v",), True)], verdict)


@pytest.mark.parametrize("unit", [None, "id"])
def test_people_in_groups_of_fewer_than_k_are_counted(unit):
    noun = "people" if unit else "records"
    assert attack([5, 6], unit=unit) is None
    found = attack([4, 6], unit=unit)
    assert found.worst == f"4 of 10 {noun}"
    assert f"the smallest group has 4 of 5 {noun}" in found.sentence
    assert (found.verdict, found.claimed, found.rate) == ("broken", 1 / 5, 2 / 10)
    assert attack([4, 6], unit=unit, verdict="warning").claimed is None
