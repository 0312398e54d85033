"""Widths of time and levels of place: each value in the bucket it belongs to, and words for what cannot be done."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, UsageError
from shoal.measures.events.traces import Traces, place_codes, time_buckets
from shoal.measures.events.unicity import FEW, rare_places, seasons, top_places
from shoal.model.hierarchy import Hierarchy

moments = st.lists(st.datetimes(dt.datetime(1890, 1, 1), dt.datetime(2090, 1, 1)), min_size=1, max_size=20, unique=True)
SLOW = {
    "hour": lambda t: (t.date(), t.hour),
    "6h": lambda t: (t.date(), t.hour // 6),
    "15min": lambda t: (t.date(), t.hour, t.minute // 15),
    "day": lambda t: t.date(),
    "week": lambda t: tuple(t.isocalendar())[:2],
    "month": lambda t: (t.year, t.month),
    "quarter": lambda t: (t.year, (t.month - 1) // 3),
    "year": lambda t: t.year,
    "exact": lambda t: t,
    "hour of day": lambda t: t.hour,
    "part of day": lambda t: t.hour // 6,
    "weekday": lambda t: t.weekday(),
    "weekend": lambda t: t.weekday() >= 5,
    "weekday and hour": lambda t: (t.weekday(), t.hour),
    "weekday and part of day": lambda t: (t.weekday(), t.hour // 6),
    "month of year": lambda t: t.month,
}


@pytest.mark.parametrize("width", SLOW)
@given(values=moments)
def test_buckets_are_those_of_the_calendar(width, values):
    found = time_buckets("t", "timestamp", pa.array(values, pa.timestamp("us")), width).tolist()
    said = [SLOW[width](t) for t in values]
    assert [[a == b for b in found] for a in found] == [[a == b for b in said] for a in said]


def near(moment, *seconds):
    return pa.array([moment + dt.timedelta(seconds=s) for s in seconds], pa.timestamp("us"))


@pytest.mark.parametrize(
    ("width", "first"),
    [
        ("minute", dt.datetime(2024, 3, 6, 10, 30)),
        ("15min", dt.datetime(2024, 3, 6, 10, 45)),
        ("6h", dt.datetime(2024, 3, 6, 12)),
        ("day", dt.datetime(2024, 3, 6)),
        ("week", dt.datetime(2024, 3, 4)),  # a Monday
        ("week", dt.datetime(1969, 12, 29)),
        ("month", dt.datetime(2024, 3, 1)),
        ("quarter", dt.datetime(2024, 4, 1)),
        ("year", dt.datetime(2024, 1, 1)),
        ("part of day", dt.datetime(2024, 3, 6, 6)),
        ("part of day", dt.datetime(2024, 3, 6, 18)),
        ("weekend", dt.datetime(2024, 3, 9)),  # a Saturday
    ],
)
def test_a_bucket_begins_at_its_first_second(width, first):
    assert time_buckets("t", "timestamp", near(first, -1, 0, 1), width).tolist() == [0, 1, 1]


def test_a_cycle_is_refused_for_times_that_do_not_tell_it():
    days = pa.array([dt.date(2024, 3, 6)])
    assert time_buckets("t", "date", days, "weekday").tolist() == [0]
    with pytest.raises(UsageError, match="not a width of time") as stop:
        time_buckets("t", "date", days, "part of day")
    assert "weekday" in stop.value.hint
    assert "part of day" not in stop.value.hint
    with pytest.raises(UsageError, match="not a width of time"):
        time_buckets("t", "time", pa.array([dt.time(6)], pa.time64("us")), "weekday")


def test_times_with_a_zone_are_told_by_its_clock():
    """23:30 in Greenwich is 8:30 of the next morning in Tokyo."""
    utc = [dt.datetime(2026, 2, 28, 23, 30, tzinfo=dt.UTC), dt.datetime(2026, 3, 1, 0, 30, tzinfo=dt.UTC)]
    there = pa.array(utc, pa.timestamp("us", "Asia/Tokyo"))
    for width in ("day", "month", "part of day", "weekday"):
        assert time_buckets("t", "timestamp", there, width).tolist() == [0, 0], width
    assert time_buckets("t", "timestamp", pa.array(utc, pa.timestamp("us", "UTC")), "month").tolist() == [0, 1]
    assert time_buckets("t", "timestamp", there, "exact").tolist() == [0, 1]


def test_a_week_has_seven_days_and_other_lengths_count_from_the_epoch():
    monday = dt.datetime(2024, 3, 4)
    days = near(monday, *(86_400 * d for d in range(-7, 14)))
    assert time_buckets("t", "timestamp", days, "week").tolist() == [0] * 7 + [1] * 7 + [2] * 7
    start = near(dt.datetime(1970, 1, 1), -1, 0, 3 * 86_400 - 1, 3 * 86_400)
    assert time_buckets("t", "timestamp", start, "3d").tolist() == [0, 1, 1, 2]


def test_equal_moments_fall_together_as_they_are():
    twice = pa.array([dt.datetime(2024, 3, 4)] * 2 + [dt.datetime(2024, 3, 5)], pa.timestamp("us"))
    assert time_buckets("t", "timestamp", twice, "exact").tolist() == [0, 0, 1]
    assert time_buckets("t", "integer", pa.array([5, 3]), "exact").tolist() == [0, 1]


def test_a_second_before_the_hour_and_at_it():
    times = pa.array([dt.datetime(2024, 1, 1, 9, 59, 59), dt.datetime(2024, 1, 1, 10), dt.datetime(2024, 1, 1, 10, 59, 59)])
    assert time_buckets("t", "timestamp", times, "hour").tolist() == [0, 1, 1]
    assert time_buckets("t", "timestamp", times, "none") is None


def test_times_of_day_and_numbers():
    day = pa.array([dt.time(9, 59), dt.time(10, 0)])
    assert time_buckets("t", "time", day, "hour").tolist() == [0, 1]
    with pytest.raises(UsageError, match="not a width of time"):
        time_buckets("t", "time", day, "month")
    assert time_buckets("t", "integer", pa.array([6, 7, 13, 14]), "7").tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("kind", "width"), [("timestamp", "often"), ("timestamp", "0h"), ("integer", "day"), ("integer", "0"), ("float", "inf")]
)
def test_widths_that_are_none(kind, width):
    values = pa.array([dt.datetime(2024, 1, 1)]) if kind == "timestamp" else pa.array([1])
    with pytest.raises(UsageError, match="width"):
        time_buckets("t", kind, values, width)


def test_levels_of_places():
    assert place_codes("lat", "float", pa.array([0.29, 0.3, 0.39, -0.05]), "0.1").tolist() == [1, 2, 2, 0]
    assert place_codes("cell", "integer", pa.array([9, 10, 19]), "grid:10").tolist() == [0, 1, 1]
    assert place_codes("cell", "integer", pa.array([91, 92, 101]), "prefix:1").tolist() == [1, 1, 0]
    assert place_codes("zip", "text", pa.array(["12", "13"]), "none") is None
    tree = Hierarchy.from_rows("zip", [["12", "1*"], ["13", "1*"], ["20", "2*"]])
    assert place_codes("zip", "text", pa.array(["13", "12", "20"]), "level:1", {"zip": tree}).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("kind", "level"),
    [("integer", "3"), ("float", "prefix:2"), ("text", "grid:1"), ("text", "half"), ("float", "-1"), ("text", "map:2")],
)
def test_levels_that_are_none(kind, level):
    values = pa.array(["a"]) if kind == "text" else pa.array([1])
    with pytest.raises(UsageError):
        place_codes("p", kind, values, level)


def test_a_hierarchy_that_is_missing_too_low_or_has_gaps_names_no_value():
    tree = Hierarchy.from_rows("zip", [["12", "1*"]])
    with pytest.raises(UsageError, match="has no hierarchy"):
        place_codes("zip", "text", pa.array(["12"]), "level:1")
    assert place_codes("zip", "text", pa.array(["12"]), "level:1", {"zip": tree}).tolist() == [0]
    with pytest.raises(UsageError, match="levels 0 to 1"):
        place_codes("zip", "text", pa.array(["12"]), "level:2", {"zip": tree})
    with pytest.raises(DataError, match="lacks 1 of its 2 values") as error:
        place_codes("zip", "text", pa.array(["12", "98765"]), "level:1", {"zip": tree})
    assert "98765" not in str(error.value)


events = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=40)


@given(events)
def test_top_places_by_the_definition(rows):
    people = sorted({u for u, _ in rows})
    top = {}
    for u in people:
        often = {}
        for v, q in rows:
            if v == u:
                often[q] = often.get(q, 0) + 1
        top[u] = [q for q, _ in sorted(often.items(), key=lambda x: (-x[1], x[0]))]
    pairs = sorted(set(rows))
    person = np.array([people.index(u) for u, _ in pairs])
    found = top_places(person, np.array([q for _, q in pairs]), np.array([rows.count(p) for p in pairs]))
    for m, one in enumerate(found, start=1):
        sets = [frozenset(top[u][:m]) for u in people]
        assert one.unique == pytest.approx(sum(sets.count(s) == 1 for s in sets) / len(people))
        assert one.sets.min == min(sets.count(s) for s in sets)
        assert one.fewer == sum(len(top[u]) < m for u in people)


def test_ties_are_counted():
    found = top_places(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([2, 2, 3, 2]), 2)
    assert [t.tied for t in found] == [1, 0]


def test_rare_places_at_and_below_the_threshold():
    traces = Traces.of([0, 1, 2, 2], [0, 0, 0, 1])
    two, three, four = rare_places(traces, np.array([6, 2]), (2, 3, 4))
    assert (two.places, two.people, two.records) == (1, pytest.approx(1 / 3), 0.25)
    assert (three.places, four.places, four.people, four.records) == (1, 2, 1, 1)


def test_a_season_of_too_few_people_is_not_told():
    person = list(range(FEW)) + list(range(FEW - 1))
    point = [0] * FEW + list(range(1, FEW))
    of_point = np.array([0] + [1] * (FEW - 1))
    found = seasons(Traces.of(person, point), of_point, ("day", "night"))
    assert [(s.name, s.people, s.alone) for s in found] == [("day", FEW, 0.0)]
    night = Traces.of([*person, FEW - 1], [*point, FEW])
    assert [s.name for s in seasons(night, np.array([0] + [1] * FEW), ("day", "night"))] == ["night", "day"]
