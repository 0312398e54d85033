"""Evidence for a role is explicit: its kind, its share of the values, its strength; no evidence is an empty tuple."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.find import ColumnFacts, find_column, find_columns
from shoal.find.bands import lower_end
from shoal.find.roles.by_name import CHECKS, LONGEST_TITLE, MOST_ANSWERS, SHORTEST_WORD
from shoal.find.roles.keys import BLOCK_FROM, LONG, MANY, PANEL, equally_often, in_a_block, long_key
from shoal.find.topics import BY_KEY
from shoal.find.whole_numbers import FEW_CODES, RARE_LAST, begun_late, dense, rarer_upwards, two_digit_years
from shoal.model.roles import Role


def column(name: str, values: list[str], kind: str = "text", *, each: int = 30) -> ColumnFacts:
    return ColumnFacts(name, kind, values, np.full(len(values), each, dtype=np.int64), each * len(values))


@pytest.mark.parametrize(
    ("facts", "kind", "role"),
    [
        (column("contact", [f"p{n}@example.org" for n in range(9)]), "values", Role.DIRECT),
        (column("geburtsdatum", [f"19{n}-01-01" for n in range(50, 70)]), "name", Role.QUASI),
        (column("w", [str(7 * n + 1) for n in range(40)], "integer", each=1), "shape", Role.DIRECT),
        (column("w", ["agree", "disagree", "neutral"]), "table", Role.SENSITIVE),
        (column("w", ["only"]), "shape", Role.INSENSITIVE),
    ],
)
def test_a_role_has_evidence_of_its_kind(facts: ColumnFacts, kind: str, role: Role) -> None:
    finding = find_column(facts)
    assert finding.role is role
    assert [e.kind for e in finding.evidence] == [kind]
    assert all(0 < e.share <= 1 and 0 < e.confidence <= 1 for e in finding.evidence)


def test_the_fallback_has_no_evidence() -> None:
    finding = find_column(column("gizmo", ["flux", "blip", "zork"]))
    assert finding.role is Role.UNDECIDED
    assert finding.evidence == ()


def test_evidence_contains_no_value() -> None:
    facts = [column("contact", [f"canary{n}@example.org" for n in range(9)]), column("gizmo", ["canary", "blip"])]
    assert not any("canary" in e.what for f in find_columns(facts) for e in f.evidence)


def test_the_checks_name_topics_that_exist() -> None:
    assert {key for check in CHECKS for key in check.topics} <= set(BY_KEY)
    assert {check.decision.topic for check in CHECKS if check.decision} <= set(BY_KEY)


def test_a_block_of_numbers_begins_at_its_limit() -> None:
    at, below = ([str(low + 3 * n) for n in range(MANY)] for low in (BLOCK_FROM, BLOCK_FROM - 1))
    assert in_a_block(column("x", at, "integer", each=2))
    assert not in_a_block(column("x", below, "integer", each=2))
    assert not in_a_block(column("x", at[:-1], "integer", each=2))


@pytest.mark.parametrize(("people", "is_panel"), [(PANEL, True), (PANEL - 1, False)])
def test_a_panel_has_enough_people(people: int, is_panel: bool) -> None:
    assert equally_often(column("nr", [str(13 + 4 * n) for n in range(people)], "integer", each=8)) is is_panel


@pytest.mark.parametrize(("signs", "is_key"), [(LONG, True), (LONG - 1, False)])
def test_long_keys_have_enough_signs(signs: int, is_key: bool) -> None:
    values = [f"{7919 * (n + 1) % 10**7 + 1:0{signs}d}"[-signs:] for n in range(MANY + 10)]
    assert long_key(column("x", values, each=50)) is is_key


def test_few_codes_of_postcodes_and_answers() -> None:
    assert find_column(column("zip", [str(n) for n in range(10, 22)], "integer")).topic != "postcode"
    assert find_column(column("zip", [str(n) for n in range(10, 23)], "integer")).topic == "postcode"
    answers = ["yes", "no", "a", "b", "c", "d"]
    assert find_column(column("hospital", answers[:MOST_ANSWERS])).topic != "facility"
    assert find_column(column("hospital", answers[: MOST_ANSWERS + 1])).topic == "facility"


def test_titles_are_short() -> None:
    long = ["x" * LONGEST_TITLE, "y" * LONGEST_TITLE, "mr"]
    assert find_column(column("title", long)).topic == "title"
    assert find_column(column("title", [v + "z" * (len(v) > SHORTEST_WORD) for v in long])).topic != "title"


def test_numbers_at_their_limits() -> None:
    assert two_digit_years(column("year", ["30", "99"], "integer"))
    assert not two_digit_years(column("year", ["29", "99"], "integer"))
    assert not two_digit_years(column("year", ["30", "100"], "integer"))
    ages = [str(n) for n in range(5, 5 + FEW_CODES + 1)]
    assert begun_late(column("x", ages, "integer"))
    assert not begun_late(column("x", ["4", *ages], "integer"))
    assert not begun_late(column("x", ages[:-1], "integer"))
    assert dense(column("x", ["-3", "1", "5"], "integer")) is False
    assert dense(column("x", ["-3", "0", "3"], "integer"))


@pytest.mark.parametrize(("last", "counts"), [(9, True), (10, False)])
def test_counts_end_with_a_rare_number(last: int, counts: bool) -> None:
    times = np.array([700, 150, 80, 40, 20, 15, last])
    times[0] += 1000 - int(times.sum())
    facts = ColumnFacts("visits", "integer", list("0123456"), times, 1000)
    assert RARE_LAST == 0.01
    assert rarer_upwards(facts) is counts


@pytest.mark.parametrize(
    ("text", "end"),
    [("up to 5 km per week", (5.0, 0)), ("5 oder mehr", (5.0, 1)), ("mas de 5", (5.0, 2)), ("5 bis unter 9", (5.0, 1))],
)
def test_bands_in_several_languages(text: str, end: tuple[float, int]) -> None:
    assert lower_end(text) == end
