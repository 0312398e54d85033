"""Columns that no name or value explains, in a table whose other columns are known: what repeats in many rows may be known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from shoal.find import ColumnFacts
from shoal.find.columns import find_columns
from shoal.find.safe_harbor.classes import identifier_class, refusal
from shoal.find.safe_harbor.harmless import harmless, known_text
from shoal.model.roles import Role

BESIDE = ("surname", "town", "occupation", "hobby")
"""Names that tell what the columns hold; none says health, money or crime."""


def column(name: str, values: Sequence[object], each: int | Sequence[int] = 10) -> ColumnFacts:
    counts = np.full(len(values), each) if isinstance(each, int) else np.array(list(each)[: len(values)])
    kind = "text" if isinstance(values[0], str) else "float" if isinstance(values[0], float) else "integer"
    return ColumnFacts(name, kind, [str(v) for v in values], counts, int(counts.sum()))


def role(unknown: ColumnFacts, *, known: Sequence[str] = BESIDE, others: int = 0) -> Role:
    """The role of a column beside known ones, and beside others that nothing explains."""
    beside = [column(name, ["Ee", "Oo", "Uu"], unknown.filled // 3 + 1) for name in known]
    more = [column(f"zork{c}ness", ["p", "q"], unknown.filled // 2 + 1) for c in "abcdefghij"[:others]]
    return find_columns([*beside, *more, unknown])[-1].role


FLAG = column("gizmoness", [0, 1], 30)


def test_a_value_that_many_rows_share_is_known_to_others_in_a_table_that_is_understood() -> None:
    assert role(FLAG) is Role.QUASI
    assert role(column("gizmoness", ["ax", "bo", "cu"])) is Role.QUASI


@pytest.mark.parametrize(
    ("known", "others", "expected"),
    [(3, 6, Role.QUASI), (3, 7, Role.UNDECIDED), (2, 2, Role.UNDECIDED), (2, 1, Role.QUASI), (1, 1, Role.UNDECIDED)],
)
def test_three_names_and_three_of_ten_must_tell_what_they_hold(known: int, others: int, expected: Role) -> None:
    """Two are enough in a table of four columns."""
    twice = column("gizmoness", [f"w{a}{b}e" for a in "aeiou" for b in "bcdfg"], 2)
    assert role(twice, known=("surname", "hobby", "created_at")[:known], others=others) is expected


@pytest.mark.parametrize(("known", "others", "expected"), [(3, 8, Role.QUASI), (3, 9, Role.UNDECIDED), (1, 2, Role.QUASI)])
def test_a_quarter_of_the_names_is_enough_for_values_that_many_rows_share(known: int, others: int, expected: Role) -> None:
    assert role(FLAG, known=("surname", "hobby", "created_at")[:known], others=others) is expected


@pytest.mark.parametrize(("each", "expected"), [(5, Role.QUASI), (4, Role.UNDECIDED)])
def test_many_rows_are_five_for_each_value(each: int, expected: Role) -> None:
    values = ["ax", "bo", "cu", "de", "ef"]
    assert role(column("gizmoness", values, each), known=("hobby",), others=2) is expected


@pytest.mark.parametrize("money", ["salary", "religion"])
def test_beside_money_or_opinions_a_quarter_of_the_names_is_not_enough(money: str) -> None:
    assert role(FLAG, known=("hobby", money), others=1) is Role.UNDECIDED
    assert role(FLAG, known=("surname", money), others=0) is Role.UNDECIDED


@pytest.mark.parametrize("secret", ["diagnosis", "arrest_date"])
def test_beside_health_or_crime_nothing_is_taken_for_known(secret: str) -> None:
    assert role(FLAG, known=("surname", "hobby", "created_at", secret)) is Role.UNDECIDED


@pytest.mark.parametrize(("first", "expected"), [(2, Role.QUASI), (1, Role.UNDECIDED)])
def test_values_repeat_with_two_rows_each(first: int, expected: Role) -> None:
    values = [f"w{a}{b}e" for a in "aeiou" for b in "bcdfg"][:20]
    assert role(column("gizmoness", values, [first, *([2] * 19)])) is expected


@pytest.mark.parametrize(
    "values",
    [
        ["Anna Smith", "John Miller", "Mary Jones"],
        ["K-17", "K-22", "K-40"],
        ["7QX2LM9A", "BT40ZR1K", "M3PP8W2C", "XKCDABLE"],
        ["1.2x", "11.30y", "4.5z"],
        ["\u13a0\u13b5", "\u13e3\u13b3", "\u13ac\u13b5"],
        [101, 117, 140, 188],
        list(range(1, 60)),
    ],
)
def test_names_codes_and_numbers_that_may_be_those_of_people_are_asked_about(values: list[object]) -> None:
    assert role(column("gizmoness", values)) is not Role.QUASI


@pytest.mark.parametrize(
    ("values", "expected"),
    [([-1, *range(60)], Role.QUASI), ([n**3 for n in range(1, 60)], Role.QUASI), ([n**3 for n in range(1, 19)], Role.UNDECIDED)],
)
def test_numbers_below_zero_and_those_that_get_rarer_upwards_number_nobody(values: list[object], expected: Role) -> None:
    assert role(column("gizmoness", values, [10, 11, 12] * 20 if len(values) == 60 else range(9, 9 + len(values)))) is expected


@pytest.mark.parametrize(("high", "expected"), [(30, Role.QUASI), (31, Role.UNDECIDED)])
def test_three_quarters_of_the_numbers_are_low(high: int, expected: Role) -> None:
    numbers = [*range(1, 496, 5)][:90], [1001 - 15 * i for i in range(high)]
    assert role(column("gizmoness", [*numbers[0], *numbers[1]], range(9, 99 + high))) is expected


@pytest.mark.parametrize(("high", "expected"), [(100, Role.QUASI), (101, Role.UNDECIDED)])
def test_counts_begin_at_zero_and_high_ones_are_rare(high: int, expected: Role) -> None:
    """A quarter of the rows at most has a number of the upper half."""
    low = [10] * 30
    counts = [*low, *([3] * 29), high - 29 * 3]
    assert role(column("gizmoness", list(range(60)), counts)) is expected


@pytest.mark.parametrize(("largest", "expected"), [(25, Role.QUASI), (26, Role.UNDECIDED)])
def test_a_short_range_of_codes_numbers_nobody(largest: int, expected: Role) -> None:
    assert role(column("gizmoness", list(range(1, largest + 1)))) is expected


@pytest.mark.parametrize(("rows", "expected"), [(4, False), (5, True), (19, True)])
def test_texts_of_their_own_in_a_few_rows_without_names_are_direct(rows: int, expected: bool) -> None:
    values = [f"{a}{b}rot" for a in "bdfgk" for b in "aeio"][:rows]
    (found,) = find_columns([column("column1", values, 1)])
    assert (found.role is Role.DIRECT) is expected


@pytest.mark.parametrize(("distinct", "expected"), [(12, Role.INSENSITIVE), (13, Role.QUASI)])
def test_many_clubs_are_not_harmless(distinct: int, expected: Role) -> None:
    values = [f"{a}{b}rot" for a in "bdfgk" for b in "aeio"][:distinct]
    (found,) = find_columns([column("hobby", values)])
    assert found.role is expected


@pytest.mark.parametrize(("others", "expected"), [(6, Role.QUASI), (5, Role.UNDECIDED)])
def test_six_columns_for_one_about_health(others: int, expected: Role) -> None:
    known = ("surname", "town", "occupation", "hobby", "created_at", "street")[:others]
    assert role(FLAG, known=(*known, "diagnosis")) is expected


@pytest.mark.parametrize(
    ("alike", "highest", "expected"), [(4, 100, Role.QUASI), (3, 100, Role.UNDECIDED), (4, 101, Role.UNDECIDED)]
)
def test_several_columns_of_numbers_to_a_hundred_number_nobody(alike: int, highest: int, expected: Role) -> None:
    marks = [column(f"zork{c}ness", [41, 67, 80, highest], 30) for c in "abcd"[:alike]]
    beside = [column(name, ["Ee", "Oo", "Uu"], 40) for name in BESIDE]
    assert {f.role for f in find_columns([*beside, *marks])[len(BESIDE) :]} == {expected}


def test_fractions_number_nobody() -> None:
    (found,) = find_columns([column("column7", [i / 7 for i in range(1, 60)], 3)])
    assert found.role is Role.QUASI


@pytest.mark.parametrize(
    "text",
    [
        "ann@example.org",
        "card 4111111111111111",
        "DE89370400440532013000",
        "John Smith",
        "王秀英",
        "617-555-1234",
        "site.org/ann",
    ],
)
def test_one_cell_that_names_somebody_is_not_published(text: str) -> None:
    """One row of more than a hundred; the reason does not repeat the value."""
    beside = [column(name, ["Ee", "Oo", "Uu"], 70) for name in BESIDE]
    found = find_columns([*beside, column("gizmoness", ["ax", "bo", text], [100, 100, 1])])[-1]
    assert found.role in (Role.UNDECIDED, Role.DIRECT)
    assert text not in found.reason


@pytest.mark.parametrize("name", ["hobby", "score", "smoker", "satisfaction"])
def test_one_address_of_a_page_keeps_a_column_open(name: str) -> None:
    (found,) = find_columns([column(name, ["low", "high", "social.example/ann.smith"], [100, 100, 1])])
    assert found.role is Role.UNDECIDED


@pytest.mark.parametrize(("values", "expected"), [(["1st", "2nd", "3rd"], Role.QUASI), ([2019, 2020, 2021], Role.INSENSITIVE)])
def test_a_year_in_words_is_a_year_of_study(values: list[object], expected: Role) -> None:
    (found,) = find_columns([column("year", values, 40)])
    assert found.role is expected


@pytest.mark.parametrize(("shared", "expected"), [(2, Role.DIRECT), (3, Role.QUASI)])
def test_numbers_given_out_may_stand_in_two_rows_by_a_slip(shared: int, expected: Role) -> None:
    """98 different numbers in 100 rows are those of people."""
    numbers = [1000 + 3 * i for i in range(100 - shared)]
    (found,) = find_columns([column("gizmoness", numbers, [2] * shared + [1] * (100 - 2 * shared))])
    assert found.role is expected


@pytest.mark.parametrize(
    ("values", "refused"), [(["forty", "ninety-three"], True), (["34", "unknown"], False), (["34", "93"], True)]
)
def test_ages_in_words_do_not_pass_the_safe_harbor(values: list[str], refused: bool) -> None:
    facts = column("age", values)
    classed = identifier_class(facts, find_columns([facts])[0])
    assert classed is not None
    assert bool(refusal(facts, classed, 2026)) is refused


def test_initials_are_no_small_vocabulary() -> None:
    assert not harmless(column("colour", ["J.S.", "M.B.", "K. L.", "A.D."]), ["J.S.", "M.B.", "K. L.", "A.D."])
    assert known_text("n.a.")


@pytest.mark.parametrize(("last", "expected"), [("março", Role.QUASI), ("zorg", Role.UNDECIDED)])
def test_months_are_known_by_their_words(last: str, expected: Role) -> None:
    (found,) = find_columns([column("gizmoness", ["janeiro", "fevereiro", last])])
    assert found.role is expected


@pytest.mark.parametrize(("people", "each", "expected"), [(24, 5, Role.QUASI), (23, 5, Role.UNDECIDED), (24, 4, Role.UNDECIDED)])
def test_a_number_that_two_of_the_people_share_is_that_of_a_group(people: int, each: int, expected: Role) -> None:
    """12 numbers, each in five rows at least."""
    names = [f"{a}{b}rotsen" for a in "bdfgk" for b in "aeiou"][:people]
    numbers = column("zork_id", list(range(11, 107, 8)), each)
    (_, found) = find_columns([column("surname", names, 6), numbers])
    assert found.role is expected


def test_a_number_with_few_values_is_asked_about_where_no_column_names_people() -> None:
    (_, found) = find_columns([column("colour", ["red", "blue"], 90), column("zork_id", [11, 25, 31], 60)])
    assert found.role is Role.UNDECIDED


@pytest.mark.parametrize(("rows", "first", "expected"), [(5, 1, True), (4, 1, False), (5, 0, True), (5, 2, False)])
def test_numbers_from_one_count_a_few_rows(rows: int, first: int, expected: bool) -> None:
    (found,) = find_columns([column("gizmoness", list(range(first, first + rows)), 1)])
    assert (found.role is Role.DIRECT) is expected


@pytest.mark.parametrize(("results", "expected"), [(95, Role.QUASI), (94, Role.DIRECT)])
def test_results_of_games_are_no_codes_of_people(results: int, expected: Role) -> None:
    values = [f"{n} : {199 - n}" for n in range(results)] + [f"{n}x{n}" for n in range(100 - results)]
    (found,) = find_columns([column("gizmoness", values, 1)])
    assert found.role is expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["active", "closed"], Role.QUASI),
        (["AB 12", "AB 13"], Role.UNDECIDED),
        (["Anna", "Peter", "Maria"], Role.UNDECIDED),
        (["Wanjiru", "Zsófi"], Role.UNDECIDED),
        (["诗涵", "子轩"], Role.UNDECIDED),
    ],
)
def test_a_few_words_are_no_number_plates(values: list[object], expected: Role) -> None:
    (found,) = find_columns([column("plate", values, 30)])
    assert found.role is expected


@pytest.mark.parametrize(("people", "expected"), [(7, False), (8, True)])
def test_schools_that_are_called_after_people_are_no_people(people: int, expected: bool) -> None:
    """Three of ten texts that are names without a word for a school make a column of names."""
    given = ["Anna", "Maria", "Diego", "Peter", "Laura", "David", "Julia", "Thomas", "Sofia", "Carlos"]
    schools = [f"{word} {g}" for word in ("Universidad", "Instituto") for g in given][:18]
    (found,) = find_columns([column("gizmoness", [*schools, *given[:people]], 3)])
    assert (found.role is Role.DIRECT) is expected


@pytest.mark.parametrize("name", ["Codigo", "kod", "Kode", "codice", "コード", "번호", "номер"])
def test_a_code_of_which_nearly_every_row_has_its_own_is_direct_in_other_languages(name: str) -> None:
    values = [10 + 17 * n * n for n in range(1, 98)]
    (found,) = find_columns([column(name, values, [2, 2, *([1] * 95)])])
    assert found.role is Role.DIRECT


def own_codes(name: str, own: int) -> ColumnFacts:
    """20 rows, some of them the only ones with their document number; a third of the numbers have no digit."""
    letters = "QLGZUIBNMSCVXTWRDFHJ"
    codes = [f"{letters[i]}{letters[-i]}{i if i % 3 else 'K'}{letters[i // 2]}" for i in range(own + 5)]
    return column(name, codes, [*([1] * own), 2, 2, 2, 2, 12 - own])


@pytest.mark.parametrize("name", ["satisfaction", "hobby", "opinion_entered", "religion", "salary", "treatment"])
def test_codes_that_most_rows_have_for_themselves_are_not_published(name: str) -> None:
    (found,) = find_columns([own_codes(name, 10)])
    assert found.role not in (Role.SENSITIVE, Role.INSENSITIVE)


@pytest.mark.parametrize(("own", "expected"), [(10, Role.UNDECIDED), (9, Role.SENSITIVE)])
def test_most_rows_are_half_of_them(own: int, expected: Role) -> None:
    (found,) = find_columns([own_codes("satisfaction", own)])
    assert found.role is expected


@pytest.mark.parametrize(("codes", "expected"), [(10, Role.UNDECIDED), (9, Role.SENSITIVE)])
def test_half_of_the_codes_have_a_digit(codes: int, expected: Role) -> None:
    words = [
        f"{a}{b}r{n % 10 if n < codes else 'k'}t"
        for n, (a, b) in enumerate(zip("bdfgklmnprbdfgklmnpr", "aeiouaeiouaeioaueiua", strict=True))
    ]
    (found,) = find_columns([column("satisfaction", words, 1)])
    assert len(set(words)) == 20
    assert found.role is expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [(["2020/08-2020/10", "2021/01-2021/12", "2020/09-2023/08"], True), (["3020/08-2020/10", "2021/13-2021/12", "2-3"], False)],
)
def test_periods_are_dates(values: list[object], expected: bool) -> None:
    (found,) = find_columns([column("gizmoness", values)])
    assert (found.topic == "event_date") is expected


@pytest.mark.parametrize(
    ("values", "expected"), [(["yes", "no"], Role.QUASI), (["TRUE", "FALSE"], Role.QUASI), (["p", "q"], Role.UNDECIDED)]
)
def test_whether_somebody_has_an_account_is_not_its_number(values: list[object], expected: Role) -> None:
    (found,) = find_columns([column("account_number", values, 50)])
    assert found.role is expected


@pytest.mark.parametrize(("rows", "expected"), [(5, Role.QUASI), (4, Role.UNDECIDED)])
def test_a_flag_of_ten_rows_repeats(rows: int, expected: Role) -> None:
    assert role(column("gizmoness", ["ax", "bo"], rows)) is expected


@pytest.mark.parametrize(("digits", "expected"), [(7, Role.DIRECT), (6, Role.UNDECIDED)])
def test_long_numbers_in_a_few_rows_are_direct(digits: int, expected: Role) -> None:
    """Telephone numbers of seven people, one of them twice; the name says nothing."""
    numbers = [10 ** (digits - 1) + 7919 * i for i in range(7)]
    (found,) = find_columns([column("SODT", numbers, [2, *([1] * 6)])])
    assert found.role is expected


def test_codes_of_a_few_rows_are_those_of_groups_if_another_column_names_more_people() -> None:
    names = column("surname", [f"{a}{b}rotsen" for a in "bdfgkl" for b in "aeiou"], 6)
    assert find_columns([names, column("gizmoness", ["E1", "E2", "E3"], 60)])[-1].role is Role.QUASI
    assert (
        find_columns([column("colour", ["red", "blue"], 90), column("gizmoness", ["E1", "E2", "E3"], 60)])[-1].role
        is Role.UNDECIDED
    )
