"""Columns that follow from quasi-identifiers: who knows only these must still find k records, or nothing is released."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import numpy as np
import pytest

import shoal
from shoal.errors import VerificationError

RNG = np.random.default_rng(5)
AGE, REST, SEX = RNG.integers(18, 90, 400), RNG.integers(1, 50, 400) * 7, RNG.choice(["f", "m"], 400)
HEIGHT = np.round(RNG.normal(1.7, 0.1, 400), 2)
BASE = {"age": AGE.tolist(), "sex": SEX.tolist()}
NAME = "linkage: dependent columns"
DEPENDENT = {
    "twin": {"v": [f"y{2026 - a}" for a in AGE]},
    "band": {"v": [f"from {a // 5 * 5}" for a in AGE]},
    "finer": {"v": (AGE * 12 + RNG.integers(0, 12, 400)).tolist()},
    "label and number": {"v": [f"{s}{a}-{i % 7}" for i, (s, a) in enumerate(zip(SEX, AGE, strict=True))]},
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


def test_dates_and_the_days_between_them_stop_it(tmp_path):
    start = [dt.date(2020, 1, 1) + dt.timedelta(days=int(a) * 4) for a in AGE]
    end = [s + dt.timedelta(days=int(r)) for s, r in zip(start, REST, strict=True)]
    table = {"start": start, "end": end, "stay": REST.tolist()}
    with pytest.raises(VerificationError, match="'start' follows from 'end' and 'stay'"):
        shoal.anonymize(table, quasi=["start"], insensitive=["end", "stay"], k=5, allow={"loss": 1}).write(tmp_path / "out")


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
    import shoal.release.make.dependent_columns as dependent_columns

    monkeypatch.setattr(dependent_columns, "MOST_COMPARED", most)
    made = anonymized({"rest": REST.tolist()}, insensitive=["rest"], allow={"identifying": {"rest": "drawn at random"}})
    made.write(tmp_path / "out")
    assert [a.verdict for a in made.certificate.attacks if a.name == NAME] == verdict
