"""Choices of an event release: times without their date, and what the published records still tell."""

from __future__ import annotations

import csv
import datetime as dt
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.engines.core.memory import left_for_data
from shoal.errors import PolicyError

SEED = 10**18 + 9


@pytest.fixture(scope="module")
def visits() -> pa.Table:
    """Visits of 40 people at 5 places over 8 weeks."""
    rng = np.random.default_rng(5)
    n = 800
    at = np.datetime64("2026-03-02T00:00") + rng.integers(0, 56 * 1440, n).astype("timedelta64[m]")
    who = [f"canary{i}" for i in rng.integers(0, 40, n)]
    return pa.table({"who": who, "at": at.astype("datetime64[us]"), "where": [f"W{i}" for i in rng.integers(0, 5, n)]})


def asked(require: list[str], suppress: float = 0.3, **events: Any) -> dict[str, Any]:
    rules = {"unit": "who", "time": "at", "place": "where", "renew": "never", **events}
    return {"events": rules, "require": require, "allow": {"suppress": suppress, "loss": 1}, "seed": SEED}


def written(folder: Path) -> list[dict[str, str]]:
    with (folder / "data.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


PARTS = ["night", "morning", "afternoon", "evening"]
LABELS = {
    "part of day": lambda t: PARTS[t.hour // 6],
    "hour of day": lambda t: f"{t.hour:02d}:00",
    "weekday": lambda t: f"{t:%A}",
    "weekend": lambda t: "weekend" if t.isoweekday() > 5 else "workday",
    "weekday and part of day": lambda t: f"{t:%A} {PARTS[t.hour // 6]}",
    "month of year": lambda t: f"{t:%B}",
}


@pytest.mark.parametrize("width", LABELS)
def test_times_without_their_date(visits: pa.Table, tmp_path: Path, width: str) -> None:
    release = shoal.anonymize(visits, asked(["known[1]>=3"], time_widths=[width], place_levels=["exact"]))
    folder = release.write(tmp_path / "out")
    rows = written(folder)
    true = Counter((LABELS[width](t), w) for t, w in zip(visits["at"].to_pylist(), visits["where"].to_pylist(), strict=True))
    people = defaultdict(set)
    for row in rows:
        people[row["at"], row["where"]].add(row["who"])
    assert {p for p in people if p not in true} == set()
    assert len({row["at"] for row in rows}) > 1
    assert min(len(own) for own in people.values()) == release.certificate.after.smallest["1"] >= 3
    assert release.plan.time_width == width
    assert shoal.verify(folder).ok
    uses = {u.name for u in release.certificate.uses}
    assert "trips" not in uses  # nothing tells which visit came first
    assert ("hour of the day" in uses) is (width == "hour of day")
    assert ("weekday" in uses) is (width in ("weekday", "weekday and part of day"))
    assert any(a.name == "trail matching" and a.rate is not None for a in shoal.attack(folder, with_=visits).results)


def test_times_of_day_become_parts_of_the_day_by_themselves(tmp_path: Path) -> None:
    times = [dt.time(h, m) for h in (7, 8, 9, 20) for m in range(6)]
    table = pa.table({"who": list(range(24)), "at": pa.array(times, pa.time64("us"))})
    policy = {"events": {"unit": "who", "time": "at"}, "require": ["known[1]>=6"], "allow": {"loss": 1, "suppress": 0}}
    release = shoal.anonymize(table, policy)
    assert release.plan.time_width == "hour"
    release = shoal.anonymize(table.slice(5), policy)  # only one of the people at seven is left
    assert release.plan.time_width == "part of day"
    assert {r["at"] for r in written(release.write(tmp_path / "out"))} == {"morning", "evening"}


def test_a_cycle_is_not_shifted(visits: pa.Table) -> None:
    with pytest.raises(PolicyError, match="cannot be shifted"):
        shoal.anonymize(visits, asked(["known[1]>=3"], time_widths=["weekday"], shift=7))


def trips(rows: list[tuple[str, str, str]]) -> Counter[tuple[str, str]]:
    """Consecutive records of one pseudonym at two places, in the order of the times; records at the same time have no order."""
    at = Counter((who, time) for who, time, _ in rows)
    ordered = pairwise(sorted(rows))
    return Counter((a[2], b[2]) for a, b in ordered if a[0] == b[0] and a[2] != b[2] and at[a[:2]] == at[b[:2]] == 1)


def test_trips_are_those_that_the_published_file_tells(visits: pa.Table, tmp_path: Path) -> None:
    """At the granularity of days nobody can tell which of two visits of a day came first: the source lends no order."""
    release = shoal.anonymize(visits, asked(["known[1]>=2"], time_widths=["day"], place_levels=["exact"]))
    after = trips([(r["who"], r["at"], r["where"]) for r in written(release.write(tmp_path / "out"))])
    columns = zip(visits["who"].to_pylist(), visits["at"].to_pylist(), visits["where"].to_pylist(), strict=True)
    before = trips([(who, at.isoformat(), where) for who, at, where in columns])
    told = next(u for u in release.certificate.uses if u.name == "trips")
    assert (told.before, told.after) == (before.total(), after.total())
    assert told.kept == pytest.approx((before & after).total() / before.total())
    assert told.error == pytest.approx(sum(abs(before[f] - after[f]) for f in before | after) / before.total())
    without = shoal.anonymize(visits, asked(["known[1]>=2"], time_widths=["none"]))
    assert "trips" not in {u.name for u in without.certificate.uses}


def test_an_id_with_one_record_each_and_records_that_lack_something_are_told(tmp_path: Path) -> None:
    table = {"who": [1, 2, 3, 4, None, 5], "where": ["a", "a", "b", "b", "a", None]}
    policy = {"events": {"unit": "who", "place": "where"}, "require": ["known[1]>=2"], "allow": {"loss": 1}}
    made = shoal.anonymize(table, policy).certificate
    assert any("Every person has one record" in text for text in made.limits)
    assert "2 more lack person, time or place" in made.cost.sentence
    several = shoal.anonymize({"who": [1, 1, 2, 2], "where": ["a", "b", "a", "b"]}, policy).certificate
    assert not any("Every person has one record" in text for text in several.limits)
    assert "lack person" not in several.cost.sentence
    one = shoal.measure({"who": [1, 2], "where": ["a", "a"]}, unit="who", place="where")
    assert one.sentence.startswith("1 known record singles out 0 %")
    page = one.report(tmp_path / "r.html").read_text()
    assert "singles out" in page
    assert "how long a pseudonym may live" not in page  # one place has no law


def test_the_report_draws_the_law_of_the_places_and_the_life_of_a_pseudonym(visits: pa.Table, tmp_path: Path) -> None:
    m = shoal.measure(visits, unit="who", time="at", place="where", time_widths=["none", "week"])
    true = sorted(Counter(visits["where"].to_pylist()).values(), reverse=True)
    assert list(m.ranks) == true
    page = m.report(tmp_path / "r.html").read_text()
    for words in ("how long a pseudonym may live", "most frequent first", "records of a pseudonym", "measured, known places"):
        assert words in page
    fitted = shoal.predict.fit_zipf(true)
    assert f"Exponent {fitted.c:.3f}; R² {fitted.r2:.3f}" in page
    assert "canary" not in page
    two = shoal.measure({"who": [1, 1, 2], "where": ["a", "b", "a"]}, unit="who", place="where")
    assert "how long a pseudonym may live" not in two.report(tmp_path / "two.html").read_text()
    three = shoal.measure({"who": [1, 1, 2, 2], "where": ["a", "b", "a", "c"]}, unit="who", place="where")
    assert "how long a pseudonym may live" in three.report(tmp_path / "three.html").read_text()


def test_habits_are_inferred_and_compared_with_what_everybody_knows() -> None:
    """Two lines, A to B and C to D, twenty people each, twice: who is known at A went to B, which most people did not."""
    rows = [(f"{line}{i}", f"2026-03-0{2 + d} {h:02d}:00", p) for line, ends in (("x", "AB"), ("y", "CD")) for i in range(20)
            for d in (0, 1) for h, p in ((8, ends[0]), (17, ends[1]))]  # fmt: skip
    table = {n: [r[i] for r in rows] for i, n in enumerate(("card", "at", "station"))}
    made = shoal.anonymize(table, {
        "events": {"unit": "card", "time": "at", "place": "station", "time_widths": ["exact"], "renew": ["never"]},
        "require": ["known[1]>=5"], "seed": 10**18 + 1,
    })  # fmt: skip
    found = {a.name: a for a in made.certificate.attacks}
    assert found["inference: next place"].rate == 1.0
    assert (
        "without the release, by the most common places and the known ones, for 100.0%" in found["inference: next place"].sentence
    )
    assert {"inference: home", "inference: work"} <= set(found)
    assert found["chosen records: 1"].verdict == "holds"
    assert found["chosen records: 1"].claimed == 1 / 5


@pytest.mark.parametrize("many", [0, 10**9])
@pytest.mark.parametrize("require", [["known[2]>=3"], ["known[1]>=5"], ["known[1]>=2", "unicity[2]<=0.3"]])
def test_no_plan_that_is_given_up_early_loses_less(
    visits: pa.Table, require: list[str], many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans are put in order by bounds, and given up by others; each of them, tried in full, loses as much as the best."""
    from shoal.release.events.records import read_events
    from shoal.release.policy.policy import Policy
    from shoal.search.events import event_search as search

    rules = asked(require, time_widths=["exact", "6h", "day", "week", "none"], renew=["never", "as needed", "8h gap", "3 days"])
    monkeypatch.setattr(search, "MANY", many)
    problem = read_events(shoal.open(visits), Policy.of(rules)).problem
    every = [search.tried_plan(problem, s, problem.allow) for s in problem.shapes]
    best = min(f.loss for f in every if f is not None)
    found = search.best_plan(problem)
    assert found.loss == best
    assert 1 <= found.tried <= len(problem.shapes)
    finest: dict[Any, Any] = {}
    for shape, tried in zip(problem.shapes, every, strict=True):
        base = problem.weights.mean(search.base_losses(problem, shape))
        assert search._least_loss(problem, shape, finest) <= base
        assert tried is None or base <= tried.loss + 1e-12


@pytest.mark.parametrize(("minutes", "pieces"), [(479, 1), (480, 2)])
def test_a_pseudonym_ends_at_a_gap(minutes: int, pieces: int) -> None:
    """Eight hours without a record, not a minute less."""
    start = dt.datetime(2026, 3, 2, 8)
    rows = [(f"p{i}", start + dt.timedelta(minutes=m), w) for i in range(6) for m, w in ((0, "a"), (minutes, "b"))]
    table = pa.table({"who": [r[0] for r in rows], "at": [r[1] for r in rows], "where": [r[2] for r in rows]})
    made = shoal.anonymize(table, asked(["known[2]>=3"], time_widths=["exact"], renew="8h gap"))
    assert made.certificate.after.traces == 6 * pieces
    with pytest.raises(shoal.errors.UsageError, match="not a renewal"):
        shoal.anonymize(table, asked(["known[2]>=3"], renew="8 gap"))


def test_trips_by_hour_dwell_times_and_sequences_are_compared() -> None:
    """60 people go a, b, c on one day, 30 of them d first; everybody is counted by hand."""
    start = dt.datetime(2026, 3, 2, 6)
    rows = [
        (f"p{i}", start + dt.timedelta(hours=h), w)
        for i in range(60)
        for h, w in ((0, "d"), (2, "a"), (5, "b"), (14, "c"))
        if h or i < 30
    ]
    table = pa.table({"who": [r[0] for r in rows], "at": [r[1] for r in rows], "where": [r[2] for r in rows]})
    for renew, kept in (("never", 1.0), ("9h gap", 90 / 150)):
        made = shoal.anonymize(table, asked(["known[2]>=5"], time_widths=["hour"], place_levels=["exact"], renew=renew))
        uses = {u.name: u for u in made.certificate.uses}
        assert (uses["trips per hour"].before, uses["trips per hour"].kept) == (150, kept)
        assert (uses["dwell times"].before, uses["dwell times"].kept) == (150, kept)  # 9 hours are the gap
        sequences = uses["common sequences"]
        assert (sequences.before, sequences.after) == (60, 60.0 if renew == "never" else 0.0)


@pytest.mark.parametrize("most", [799, 800])
def test_a_table_that_is_too_large_is_refused_beforehand(visits: pa.Table, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """800 records: one more than may be is refused, before a plan is tried."""
    from shoal.release.events import records, release

    tried = []
    monkeypatch.setattr(records, "MOST_RECORDS", most)
    monkeypatch.setattr(release, "best_plan", lambda *_: tried.append(1) or 1 / 0)
    with pytest.raises(shoal.errors.UsageError if most < 800 else ZeroDivisionError, match=r"and 799 at most|division"):
        shoal.anonymize(visits, asked(["known[1]>=2"]))
    assert len(tried) == (most == 800)


@pytest.mark.parametrize("budget", [799, 800])
def test_a_table_that_does_not_fit_in_the_memory_is_refused_beforehand(
    visits: pa.Table, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """800 records in a memory for one record fewer: refused with the memory that it takes, before a plan is tried."""
    from shoal.release.events import records, release

    table = shoal.open(visits, memory="256MB")
    monkeypatch.setattr(records, "bytes_to_release_events", lambda n: n * (left_for_data(256 << 20) // budget))
    monkeypatch.setattr(release, "best_plan", lambda *_: 1 / 0)
    with pytest.raises(shoal.errors.MemoryBudgetError if budget < 800 else ZeroDivisionError, match=r"800 events of|division"):
        shoal.anonymize(table, asked(["known[1]>=2"]))


@pytest.mark.parametrize("share", [3.999 / 44, 4 / 44])
def test_people_are_left_out_whole_as_far_as_the_policy_allows(tmp_path: Path, share: float) -> None:
    """40 people at A and B, four with six records at places of their own beside theirs: with three of these gone nothing would
    do, and no record may go for itself. Their trips are in no flow."""
    day = dt.datetime(2026, 3, 2)
    rows = [(f"p{i}", day + dt.timedelta(hours=h), w) for i in range(40) for h, w in ((8, "A"), (17, "B"))]
    rows += [(f"odd{i}", day + dt.timedelta(hours=h), f"own {i}" if h < 8 else "B") for i in range(4) for h in (*range(6), 8, 17)]
    table = {n: [r[i] for r in rows] for i, n in enumerate(("card", "at", "station"))}
    rules = {
        "unit": "card",
        "time": "at",
        "place": "station",
        "time_widths": ["exact"],
        "place_levels": ["exact"],
        "renew": "never",
    }
    asked = {"events": rules, "require": ["known[2]>=5"], "allow": {"suppress": 0, "people": share}, "seed": 10**18 + 1}
    if share < 4 / 44:
        with pytest.raises(shoal.errors.InfeasibleError):
            shoal.anonymize(table, asked)
        return
    release = shoal.anonymize(table, asked)
    folder = release.write(tmp_path / "out")
    cost = release.certificate.cost
    assert (cost.people_away, cost.records_away, cost.suppressed, cost.people_left) == (4, 32, 32, 40)
    assert "4 people were left out whole (9.09 %), with 32 of these records." in cost.sentence
    assert cost.left_out_share == 32 / 112
    assert "all records of 4 people" in (folder / "report.html").read_text(encoding="utf-8")
    assert (folder / "flows.csv").read_text().splitlines()[1:] == ['"A","B",40']
    assert shoal.verify(folder).ok


def test_people_are_left_out_whole_of_event_tables_only() -> None:
    with pytest.raises(shoal.errors.PolicyError, match=r"'allow\.people' is about event tables"):
        shoal.anonymize({"age": [1, 2, 3, 4]}, {"roles": {"quasi": ["age"]}, "require": {"k": 2}, "allow": {"people": 0.1}})
