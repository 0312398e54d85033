"""Both errors of the safe-harbor list, counted: columns that it misses, and columns that it refuses wrongly.

The columns and the references are in ``tricky_columns``. Boundaries of the rule are tested beside it, one step to each side.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import numpy as np
import pytest

from shoal.find import ColumnFacts, find_column
from shoal.find.safe_harbor.classes import class_of, refusal
from shoal.find.safe_harbor.coarse import fine_zip, reach, reveals_age, too_long_ago, too_old, triples
from shoal.model.roles import Role
from shoal.release.gate.safe_harbor import _kind
from tricky_columns import ACCEPTED, FRESH, HIDDEN, REFUSED, YEAR, column

SIZES = ((60, 0), (300, 1), (800, 3))
"""Rows and seeds: nothing hangs on one table."""


def facts(name, values):
    counted = Counter(map(str, values))
    texts = sorted(counted)
    kind, texts = _kind(texts)
    return ColumnFacts(name, kind, texts, np.array([counted[t] for t in sorted(counted)]), len(values))


@cache
def judged(tricky, rows, seed):
    found = facts(tricky.name, column(tricky, rows=rows, seed=seed))
    classed = class_of(found)
    return classed, refusal(found, classed, YEAR)


@pytest.mark.parametrize(("rows", "seed"), SIZES)
def test_no_column_is_missed_and_each_has_its_class(rows, seed):
    missed = [t.name for t in REFUSED if not judged(t, rows, seed)[1]]
    assert missed == [], f"{len(missed)} of {len(REFUSED)} missed"
    wrong = [(t.name, c.title) for t in REFUSED if (c := judged(t, rows, seed)[0]).title[0] not in t.letter]
    assert len(wrong) <= 2, wrong


@pytest.mark.parametrize(("rows", "seed"), SIZES)
def test_no_hidden_identifier_is_let_through(rows, seed):
    missed = [t.name for t in (*HIDDEN, *FRESH) if not judged(t, rows, seed)[1]]
    assert missed == [], f"{len(missed)} of {len(HIDDEN) + len(FRESH)} missed"


@pytest.mark.parametrize(("rows", "seed"), SIZES)
def test_without_a_preset_none_of_them_is_published_for_the_name_of_its_column(rows, seed):
    found = [(t.name, find_column(facts(t.name, column(t, rows=rows, seed=seed)))) for t in (*REFUSED, *HIDDEN, *FRESH)]
    published = [(name, f.role.value) for name, f in found if f.role in (Role.SENSITIVE, Role.INSENSITIVE)]
    assert published == [], f"{len(published)} of {len(found)} published"


MOST_ASKED = 0
"""Harmless columns of the table that may be asked about; none may be called an identifier."""


@pytest.mark.parametrize(("rows", "seed"), SIZES)
def test_harmless_columns_pass_and_few_are_asked_about(rows, seed):
    found = [(t.name, *judged(t, rows, seed)) for t in ACCEPTED]
    wrong = [(name, why) for name, classed, why in found if why and classed.kind != "unknown"]
    assert wrong == [], f"{len(wrong)} of {len(ACCEPTED)} wrongly refused"
    asked = [name for name, classed, why in found if why and classed.kind == "unknown"]
    assert len(asked) <= MOST_ASKED, asked


def test_the_evidence_holds_no_value():
    for tricky in (*REFUSED, *HIDDEN, *FRESH, *ACCEPTED):
        values = column(tricky, rows=60)
        classed, why = judged(tricky, 60, 0)
        said = f"{classed.evidence} {why}"
        assert not [v for v in map(str, values) if len(v) > 4 and v in said], tricky.name


@pytest.mark.parametrize(
    ("labels", "old"),
    [
        (["89"], False),
        (["90"], True),
        (["89.99"], False),
        (["90+"], False),
        (["91+"], True),
        ([">89"], False),
        ([">90"], True),
        (["85+"], False),
        (["80-89"], False),
        (["80-90"], True),
        (["[80, 90)"], False),
        (["[80, 91)"], True),
        (["90-120"], False),
        (["90-119"], True),
        (["90+", "89"], False),
        (["90+", "90 or older"], True),
        (["*"], False),
        ([], False),
    ],
)
def test_ages_at_the_limit(labels, old):
    assert too_old(labels) is old


@pytest.mark.parametrize(
    ("labels", "long_ago"),
    [
        (["1937"], False),
        (["1936"], True),
        (["1936 or earlier"], False),
        (["1937 or earlier"], False),
        (["1935 or earlier"], True),
        (["before 1937"], False),
        (["before 1936"], True),
        (["1937-1946"], False),
        (["1936-1945"], True),
        (["1930s", "1940s"], True),
        (["1940s"], False),
        (["*", "2020"], False),
    ],
)
def test_years_at_the_limit(labels, long_ago):
    assert too_long_ago(labels, 2026) is long_ago


@pytest.mark.parametrize(
    ("labels", "fine"),
    [
        (["021"], False),
        (["0213"], True),
        (["02139"], True),
        (["021-39"], True),
        (["021**"], False),
        (["036"], True),
        (["037"], False),
        (["36", "100"], True),
        (["37", "100"], False),
        (["000"], False),
        (["1"], False),
    ],
)
def test_zip_codes_at_the_limit(labels, fine):
    assert bool(fine_zip(labels)) is fine


def test_reach_of_labels():
    assert reach("none") is None
    assert reach("> 65") == (66, float("inf"))
    assert reach("≤ 17") == (float("-inf"), 17)
    assert reach("< 18") == (float("-inf"), 17)
    assert reach("1930s") == (1930, 1939)


def test_an_age_a_year_and_a_year_of_death_together():
    age, year = (class_of(facts(*one)).kind for one in (("age", [40, 50]), ("year", [2010, 2011])))
    assert triples({"age": age, "year_seen": year, "yod": year}) == [], "nothing says that the second is a death"
    assert triples({"age": age, "year_seen": year, "year_of_death": year}) == [("age", "year_seen", "year_of_death")]
    assert not reveals_age([("80", "2010", "2019")])
    assert reveals_age([("80", "2010", "2020")])


def test_blanked_columns_and_empty_ones_say_nothing():
    assert class_of(facts("ssn", ["*"] * 30)).item is None
    assert class_of(facts("name", [])).item is None


@pytest.mark.parametrize(
    ("name", "named", "item"), [("mother", 3, 1), ("mother", 2, None), ("col7", 4, 1), ("col7", 3, None), ("seen_by", 5, 1)]
)
def test_few_full_names_are_names_too(name, named, item):
    """A column of ten people seen again and again still names them: at 0.3 where its name says people, at 0.4 elsewhere."""
    people = ["Mary Jones", "Ruth King", "John Hall", "Susan Ward", "Paul Lee"][:named]
    values = [*people, *[f"Qix{c} Zuv" for c in "abcdefgh"]][:10]
    facts = ColumnFacts(name, "text", sorted(values), np.full(10, 20), 200, 0)
    assert class_of(facts).item == item


def test_regions_and_positions_are_not_let_through_by_their_names():
    rng = random.Random(1)
    north = facts("LON", [f"{rng.uniform(-7, 1.5):.12f}" for _ in range(300)])
    assert refusal(north, class_of(north), YEAR), "longitudes near Greenwich; 'lön' is a wage in Swedish"
    region = facts("REGION", [rng.choice([1, 40, 41, 42, 43, 44]) for _ in range(300)])
    assert class_of(region).kind == "unknown"
    school = facts("school", [rng.choice(["GP", "MS"]) for _ in range(300)])
    assert class_of(school).kind == "unknown"
