"""Questionnaires: answers of yes and no, ticked lists, marks beside marks, statistics of codes; the tables are generated."""

from __future__ import annotations

import random

import numpy as np
import pytest

import shoal
from shoal.find import ColumnFacts, ColumnFinding, dependencies, find_column, find_columns, missing_values
from shoal.find.orders import answers_of_opinion
from shoal.find.questions import LEAST_MARKS, marks_beside, rated_to_ten, ticked, yes_or_no
from shoal.model.roles import Role

N = 240
NAMES = [
    f"Cu ili {word} en via lando nun" for word in "kantas dancas ridas ploras kuras nagas legas skribas pensas dormas".split()
]


def roles(table: dict[str, list]) -> dict[str, str]:
    return {c.name: c.role.value for c in shoal.inspect(table).columns}


def pick(*values: object, seed: int = 3) -> list:
    r = random.Random(repr((values, seed)))
    return [r.choice(values) for _ in range(N)]


def text(*values: str, times: int = 9) -> ColumnFacts:
    return ColumnFacts("q", "text", values, np.full(len(values), times), times * len(values))


def whole(name: str, low: int, high: int, kind: str = "integer") -> ColumnFacts:
    values = [str(n) for n in range(low, high + 1)]
    return ColumnFacts(name, kind, values, np.full(len(values), 9), 9 * len(values))


@pytest.mark.parametrize(("n", "role"), [(10, "sensitive"), (9, "undecided")])
def test_questions_that_begin_with_yes_or_no_are_opinions_if_there_are_many(n: int, role: str) -> None:
    said = ["Да, часто", "Нет", "Лишь изредка"]
    table = {name: pick(*said, seed=i) for i, name in enumerate(NAMES[:n])}
    assert set(roles(table).values()) == {role}


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        (("yes", "no", "a", "b", "c", "d", "e"), True),
        (("yes", "no", "a", "b", "c", "d", "e", "f"), False),
        (("yes", "yes, often"), False),
    ],
)
def test_few_answers_are_yes_and_no(values: tuple[str, ...], holds: bool) -> None:
    assert yes_or_no(text(*values)) is holds


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        (("a, b, c", "a, b", "c"), True),
        (("a, b", "b, c", "a, c"), False),
        (("Ann, Lee, Ray", "Bob, Fox", "Cy"), False),
    ],
    ids=["lists", "pairs", "names"],
)
def test_lists_repeat_their_items_and_differ_in_length(values: tuple[str, ...], holds: bool) -> None:
    assert ticked(text(*values)) is holds


def test_a_fifth_of_the_rows_must_have_several_ticks() -> None:
    def column(rows: int) -> ColumnFacts:
        return ColumnFacts("q", "text", ["a, b, c", "a, b", "c", "b", "a"], np.array([rows, rows, 80, 80, 0]), 160 + 2 * rows)

    assert (ticked(column(20)), ticked(column(19))) == (True, False)


def test_a_ticked_list_is_not_a_text_that_names_people() -> None:
    media = ["television at home", "radio in the car", "newspapers of the week", "the pages of friends"]
    r = random.Random(5)
    table = {name: pick("yes", "no", seed=i) for i, name in enumerate(NAMES)}
    table["Kie vi trovas viajn novajojn"] = ["; ".join(sorted(r.sample(media, r.randint(1, 4)))) for _ in range(N)]
    assert roles(table)["Kie vi trovas viajn novajojn"] == "sensitive"


def test_numbers_between_marks_in_their_range_are_marks() -> None:
    table = [whole("matematica", 40, 100), whole("zelb", 45, 100), whole("historia nota", 42, 98), whole("age", 18, 25)]
    named = ["marks", "", "marks", ""]
    assert marks_beside(table, named) == {"zelb"}
    assert marks_beside(table, ["marks", "", "", ""]) == set()
    assert LEAST_MARKS == 2
    assert marks_beside([table[0], whole("zelb", 18, 25), table[2]], named[:3]) == set()
    assert marks_beside([table[0], table[2], whole("age", 0, 9), whole("far", 45, 100)], ["marks", "marks", "age", ""]) == set()


@pytest.mark.parametrize(("best", "found"), [(100, {"zelb"}), (101, set())])
def test_the_best_mark_is_a_hundred(best: int, found: set[str]) -> None:
    assert marks_beside([whole("a", 40, 100), whole("zelb", 40, best), whole("b", 40, 100)], ["marks", "", "marks"]) == found


@pytest.mark.parametrize(
    ("name", "role"), [("a_sum_1", Role.SENSITIVE), ("TT_mean", Role.SENSITIVE), ("zelb_sum", Role.UNDECIDED)]
)
def test_a_statistic_of_codes_is_a_score(name: str, role: Role) -> None:
    assert find_column(whole(name, 11, 60)).role is role


def test_a_code_that_tells_the_same_as_an_opinion_has_its_role() -> None:
    said = "I am content with my life as it is today"
    rated = pick(1, 2, 3, 4, 5, seed=77)
    table = {f"{said} {c}": pick(1, 2, 3, 4, 5, seed=i) for i, c in enumerate("abcdefghij")} | {said: rated}
    table["S5"] = ["abcde"[5 - v] for v in rated]
    assert roles(table)[said] == roles(table)["S5"] == "sensitive"
    table["S5"] = ["abcde"[min(v, 4)] for v in rated]  # it does not tell the highest two apart
    assert roles(table)["S5"] == "quasi"


def test_whole_numbers_with_gaps_are_still_numbers_of_people() -> None:
    values = [f"527000000000{n:04d}.0" for n in range(40)]
    assert find_column(ColumnFacts("No KTP", "float", values, np.ones(40, dtype=np.int64), 50, 10)).role is Role.DIRECT


@pytest.mark.parametrize(("values", "role"), [(("Outlook", "Thunderbird"), Role.QUASI), (("a", "b"), Role.UNDECIDED)])
def test_few_words_under_a_contact_are_a_provider(values: tuple[str, str], role: Role) -> None:
    assert find_column(ColumnFacts("email", "text", values, np.full(2, 50), 100)).role is role


@pytest.mark.parametrize(("high", "holds"), [(20, True), (19, False)])
def test_a_fifth_of_high_marks_is_enough(high: int, holds: bool) -> None:
    counts = np.array([100 - high, 0, 0, 0, 0, 0, 0, 0, high, 0, 0])
    column = ColumnFacts("How useful are these courses to you?", "integer", [str(i) for i in range(11)], counts, 100)
    assert rated_to_ten(column) is holds


def labelled(name: str, *labels: str) -> ColumnFacts:
    values = [str(i) for i in range(len(labels))]
    return ColumnFacts(
        name, "integer", values, np.full(len(values), 40), 40 * len(values), labels=dict(zip(values, labels, strict=True))
    )


@pytest.mark.parametrize(("n", "role"), [(10, Role.SENSITIVE), (9, Role.UNDECIDED)])
def test_many_columns_with_the_same_labels_are_rated(n: int, role: Role) -> None:
    table = [labelled(f"zelb{c}", "tute ne", "iomete", "kvazau tre") for c in "abcdefghij"[:n]]
    assert {f.role for f in find_columns(table)} == {role}


def test_labels_of_one_ladder_are_opinions() -> None:
    assert find_column(labelled("zelba", "falsch", "eher falsch", "eher richtig", "richtig")).role is Role.SENSITIVE
    assert find_column(labelled("zelba", "tute ne", "iomete", "kvazau tre", "tre")).role is Role.UNDECIDED


@pytest.mark.parametrize(("n", "role"), [(4, Role.SENSITIVE), (3, Role.UNDECIDED)])
def test_numbered_questions_with_the_same_answers_are_opinions(n: int, role: Role) -> None:
    one = np.full(3, 40)
    table = [ColumnFacts(f"domanda{i}", "text", ["tiel", "kvazau", "neniam ree"], one, 120) for i in range(1, n + 1)]
    assert {f.role for f in find_columns(table)} == {role}


@pytest.mark.parametrize(("n", "role"), [(5, Role.SENSITIVE), (4, Role.UNDECIDED)])
def test_the_sum_of_a_scale_has_the_name_of_its_answers(n: int, role: Role) -> None:
    table = [whole(f"Zelb_{i}_abcde", 1, 4) for i in range(n)]
    assert find_columns([*table, whole("Zelb_sum", 11, 60)])[-1].role is role


@pytest.mark.parametrize(("rated", "role"), [(2, "sensitive"), (1, "undecided")])
def test_yes_and_no_count_in_a_questionnaire_whose_answers_shoal_knows(rated: int, role: str) -> None:
    table = {name: pick("Nunca", "A veces", "Siempre", seed=i) for i, name in enumerate(NAMES[:rated])}
    table |= {name: pick("Si", "No", "Parcialmente", seed=i) for i, name in enumerate(NAMES[rated:5])}
    assert roles(table)[NAMES[4]] == role


def test_who_prefers_not_to_answer_does_not_make_an_opinion_of_a_field_of_work() -> None:
    table = {"Zelb of abcde": pick("brk", "ekk", "umm", "Prefer not to say")}
    assert roles(table)["Zelb of abcde"] == "undecided"
    assert roles({NAMES[0]: table["Zelb of abcde"]})[NAMES[0]] == "sensitive"


def test_numbers_that_cannot_be_codes_are_not_looked_at_one_by_one_and_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    r = random.Random(9)
    some = (range(120), (5, 55, 66, 7, 77, 8, 88, 9, 95, 96, 99, 666, 888, 999, 9999), range(1, 6), range(0, 2_000, 7))
    columns = []
    for _ in range(3_000):
        drawn = {r.choice(r.choice(some)) for _ in range(r.randint(3, 12))}
        numbers = sorted(drawn | set(range(r.choice((0, 30)))))
        counts = np.array([r.choice((1, 3, 300)) for _ in numbers])
        columns.append(ColumnFacts("x", "integer", [str(n) for n in numbers], counts, int(counts.sum())))
    quick = [c for c in columns if missing_values._only_amounts(c)]
    assert len(quick) > 300
    monkeypatch.setattr(missing_values, "_only_amounts", lambda facts: False)
    assert not any(missing_values.number_codes(c) for c in quick)


@pytest.mark.parametrize(
    ("answers", "holds"),
    [
        (("agree", "disagree", "strongly agree", "zelb", "brk"), True),
        (("agree", "disagree", "strongly agree", "zelb", "brk", "umm"), False),
        (("agree", "disagree", "zelb"), False),
        (("agree", "disagree"), True),
        (("Often, but not daily", "Never (so far)", "Sometimes - at work"), True),
        ((), False),
    ],
    ids=["three of five", "three of six", "two of three", "two of two", "begun", "none"],
)
def test_three_answers_on_a_ladder_and_six_tenths_of_all_are_opinions(answers: tuple[str, ...], holds: bool) -> None:
    assert answers_of_opinion(answers) is holds


@pytest.mark.parametrize(("topic", "confidence", "holds"), [("", 0.49, True), ("", 0.5, False), ("age", 0.35, False)])
def test_only_a_column_that_nothing_explains_takes_the_role_of_its_twin(topic: str, confidence: float, holds: bool) -> None:
    found = ColumnFinding("x", "integer", 5, 0, Role.QUASI, "", confidence, topic=topic)
    assert dependencies._unexplained(found) is holds


@pytest.mark.parametrize(("n", "answers", "rated"), [(4, 3, True), (3, 3, False), (4, 2, False)])
def test_four_rated_statements_about_oneself_are_opinions(n: int, answers: int, rated: bool) -> None:
    said = ("Jag zelb mig något nytt", "Jag brk en ny idé nu", "Jag umm någonting här", "Jag ekk till nästa gång")
    found = find_columns([whole(name, 2, 1 + answers) for name in said[:n]])
    assert all((f.role is Role.SENSITIVE) is rated for f in found)


def test_the_other_part_of_names_stands_beside_words_of_their_own_too() -> None:
    letters = "abcdefghijklmnopqrst"
    own = [f"Z{a}{b}kko" for a in letters for b in letters]
    other = [f"X{a}{b}mmu" for a in letters for b in letters[:6]]
    once = np.ones(400, dtype=np.int64)
    last = ColumnFacts("column1", "text", own, once, 400)
    first = ColumnFacts("column2", "text", other, np.array([4] * 93 + [1] * 27), 399)
    assert [f.role for f in find_columns([last, first])] == [Role.DIRECT, Role.DIRECT]
    codes = ColumnFacts("column1", "text", [v.lower() for v in own], once, 400)
    assert find_columns([codes, first])[1].role is not Role.DIRECT


def test_a_number_word_before_a_joined_word_is_read() -> None:
    values = [f"{i * 7919 % 1000:03d}{'abcdefg'[i % 7]}q" for i in range(300)]
    assert find_column(ColumnFacts("IDkoda", "text", values, np.ones(300, dtype=np.int64), 300)).role is Role.DIRECT
