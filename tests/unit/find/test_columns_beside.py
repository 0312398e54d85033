"""Names read beside the other names of their table, and the column of a person among keys of events."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.find import ColumnFacts, Scale, find_column, find_columns
from shoal.find.bands import band_order
from shoal.find.orders import schooling_order
from shoal.find.topics import topics_beside
from shoal.model.roles import Role


def facts(name: str, values: list[str], kind: str = "integer", each: int = 20) -> ColumnFacts:
    return ColumnFacts(name, kind, values, np.full(len(values), each, dtype=np.int64), each * len(values))


def topics(*names: str) -> list[str]:
    return [t.key if t else "" for t in topics_beside([(n, "") for n in names])]


def test_a_relative_is_known_as_the_person_is() -> None:
    assert topics("age", "ht", "dage", "dht") == ["age", "body", "age", "body"]
    assert topics("dage", "dht") == ["", ""]  # no such column beside them
    assert topics("age", "husage", "agew", "hus_age") == ["age", "age", "age", "age"]
    assert topics("age", "xage", "agex") == ["age", "", ""]  # no letter of a relative
    assert topics("age", "wage") == ["age", "income"]  # a word of its own
    assert topics("salary", "dsalary")[1] != "age"


def test_only_what_others_know_is_taken_over() -> None:
    assert topics("glucose", "dglucose")[1] == ""


def key(name: str, each: int = 2) -> ColumnFacts:
    return facts(name, [f"2022{n * 7919 % 10**8:08d}" for n in range(1, 61)], "text", each)


@pytest.mark.parametrize(
    ("name", "unit"), [("Num_Acc", None), ("accident_id", None), ("patient_id", "unit"), ("case_id", "unit")]
)
def test_the_number_of_an_accident_is_no_person(name: str, unit: str | None) -> None:
    sex = facts("sexe", ["1", "2"], each=60)
    seen = find_columns([key(name), sex])
    assert seen[0].role is Role.DIRECT
    assert seen[0].mark == (unit or "")


def test_years_are_dates_however_few() -> None:
    assert find_column(facts("Year", ["2009", "2010", "2011"])).scale is Scale.DATE
    assert find_column(facts("yearVeh", [str(y) for y in range(1980, 1999)])).scale is Scale.DATE
    assert find_column(facts("Level", ["2009", "2010", "2011"])).scale is not Scale.DATE
    assert find_column(facts("years", ["9", "10", "11"])).scale is not Scale.DATE
    assert find_column(facts("birth_mo", [str(m) for m in range(1, 13)])).scale is Scale.DATE


def test_scores_are_no_occupations() -> None:
    scores = [f"{20 + n}.{(n * 7919) % 1000 + 1001:04d}"[:7] for n in range(50)]
    assert find_column(facts("pcs", scores, "float")).role is Role.UNDECIDED
    assert find_column(facts("pcs", [str(n) for n in range(10, 70)])).role is Role.QUASI
    assert find_column(facts("occupation", [f"{n}.25" for n in range(10, 60)], "float")).role is Role.QUASI  # two decimals


def test_bands_with_a_rate_and_schooling_in_short() -> None:
    rates = ["20-29 per day", "never", "1-4 per day", "60+ per day"]
    assert band_order(rates) == ("never", "1-4 per day", "20-29 per day", "60+ per day")
    assert band_order(["55+", "1-9km/h", "25-39", "10-24"]) == ("1-9km/h", "10-24", "25-39", "55+")
    assert schooling_order(["Univ", "<HS", "Grad", "HS"]) == ("<HS", "HS", "Univ", "Grad")


@pytest.mark.parametrize(
    ("name", "role"), [("vehicleSearch", Role.SENSITIVE), ("TRTA", Role.INSENSITIVE), ("vehicle", Role.QUASI)]
)
def test_what_a_search_and_a_trial_arm_are(name: str, role: Role) -> None:
    assert find_column(facts(name, ["A", "B", "C"], "text")).role is role


@pytest.mark.parametrize(("n", "role"), [(100, Role.DIRECT), (99, Role.QUASI)])
def test_many_numbers_of_somebody_are_keys(n: int, role: Role) -> None:
    assert find_column(facts("kid", [str(3 * i) for i in range(n)], each=1)).role is role


def test_numbers_of_somebody_that_repeat_often_count() -> None:
    many = [str(3 * i) for i in range(100)]
    assert find_column(facts("kid", many, each=10)).role is Role.DIRECT  # a tenth of the rows
    assert find_column(facts("kid", many, each=11)).role is Role.QUASI
    assert find_column(facts("kids", many, each=10)).role is Role.QUASI  # the plural counts


def unit(*table: ColumnFacts) -> str | None:
    return next((f.name for f in find_columns(table) if f.mark == "unit"), None)


def test_beside_an_id_of_its_own_another_number_is_no_person() -> None:
    own = [f"{i * 7919 % 10**6 + 10**6}" for i in range(120)]
    twice = facts("case_id", [str(5 * i) for i in range(60)], each=2)
    assert unit(facts("id", own, each=1), twice) is None
    assert unit(facts("visit_id", own, each=1), twice) == "case_id"
    assert unit(facts("id", own, each=1), facts("patient_id", [str(5 * i) for i in range(60)], each=2)) == "patient_id"


def test_money_and_marks_are_not_the_thing_they_are_for() -> None:
    money = [str(500 * i) for i in range(1, 40)]
    assert find_column(facts("housing_exp", money)).role is Role.SENSITIVE
    assert find_column(facts("housing_exp", [str(i) for i in range(1, 10)])).role is Role.QUASI
    assert find_column(facts("degree_perc", [f"{i}.5" for i in range(40, 99)], "float")).role is Role.SENSITIVE
    assert find_column(facts("degree_type", [f"{i}.5" for i in range(40, 99)], "float")).role is Role.QUASI


def test_a_date_that_changed_is_no_date() -> None:
    assert find_column(facts("ret_date_chg", ["No change", "Sooner", "Later"], "text")).role is not Role.QUASI
    assert find_column(facts("date_month", ["January", "February", "March", "April"], "text")).role is Role.QUASI


@pytest.mark.parametrize(("step", "scale"), [(3, Scale.NUMBER), (2, Scale.NOMINAL)])
def test_numbers_in_steps_are_no_codes(step: int, scale: Scale) -> None:
    values = [str(step * n) for n in (1, 2, 7, 9, 11, 13, 17, 19, 23, 29, 31)]
    assert find_column(facts("lapse", values, each=60)).scale is scale


def test_salaries_with_a_point_are_numbers() -> None:
    pay = [f"{20000 + 500 * i}.0" for i in range(45)]
    assert find_column(facts("salary", pay, "float", each=4)).scale is Scale.NUMBER


def test_a_number_reckoned_from_another_is_known_as_it_is() -> None:
    assert topics("age", "agesq", "lage", "age_sq") == ["age"] * 4
    assert topics("agesq", "lage") == ["", ""]
    assert topics("age", "sqage") == ["age", ""]


@pytest.mark.parametrize("name", ["idcode", "idnum", "codeid"])
def test_an_id_in_one_word_is_an_id(name: str) -> None:
    seen = find_column(ColumnFacts(name, "integer", [str(i) for i in range(1, 90)], np.arange(1, 90), 4005))
    assert seen.role is Role.DIRECT
    assert seen.mark == "unit"


@pytest.mark.parametrize(("low", "scale"), [(30, Scale.DATE), (29, Scale.NUMBER)])
def test_years_of_two_digits(low: int, scale: Scale) -> None:
    assert find_column(facts("birth_yr", [str(y) for y in range(low, 55)])).scale is scale


@pytest.mark.parametrize(("n", "scale"), [(5, Scale.ORDERED), (4, Scale.NOMINAL)])
def test_questions_that_begin_alike_are_a_battery(n: int, scale: Scale) -> None:
    names = ["natroad", "natpark", "natsci", "natmass", "nataid"][:n]
    seen = find_columns([facts(name, ["0", "1", "2"]) for name in names])
    assert {f.scale for f in seen} == {scale}
    assert {f.role for f in seen} == {Role.SENSITIVE if n == 5 else Role.UNDECIDED}


def test_yes_and_no_are_no_battery() -> None:
    names = ["natroad", "natpark", "natsci", "natmass", "nataid"]
    assert {f.scale for f in find_columns([facts(n, ["0", "1"]) for n in names])} == {Scale.NOMINAL}
    assert {f.scale for f in find_columns([facts(n, ["0", "1", "11"]) for n in names])} != {Scale.ORDERED}


@pytest.mark.parametrize(("empty", "missing"), [(5, 5), (0, 60)])
def test_minus_one_beside_empty_cells_is_an_answer(empty: int, missing: int) -> None:
    """Less, as much, more; where no cell is empty, -1 that several columns share is asked about."""
    times = np.array([60, 60, 60])
    table = [ColumnFacts(n, "integer", ["-1", "0", "1"], times, 180 + empty, missing=empty) for n in ("a1", "b1", "c1")]
    assert {f.missing for f in find_columns(table)} == {missing}


def test_grades_of_schools_are_no_marks() -> None:
    years = [str(y) for y in range(19)]
    times = np.array([1, 1, 1, 1, 2, 3, 5, 9, 20, 12, 20, 15, 90, 20, 20, 15, 40, 9, 9])
    assert find_column(ColumnFacts("grade", "integer", years, times, int(times.sum()))).topic == "education"
    assert find_column(ColumnFacts("grade", "integer", years, times[::-1], int(times.sum()))).role is not Role.DIRECT
    marks = np.roll(times, 2)  # the most frequent is 14
    assert find_column(ColumnFacts("grade", "integer", years, marks, int(times.sum()))).topic == "marks"


@pytest.mark.parametrize("name", ["bic", "iban", "telephone", "heb je een rijbewijs"])
def test_few_values_under_the_name_of_a_number_are_asked_about(name: str) -> None:
    """BIC is bicarbonate in a table about health, and whether somebody has a telephone is not its number."""
    table = [facts(n, ["1", "2"]) for n in ("diagnosis", "cancer", "sepsis")]
    assert find_columns([*table, facts(name, ["a", "b"], "text")])[-1].role is Role.UNDECIDED


@pytest.mark.filterwarnings("error")
def test_infinite_amounts_are_no_warning() -> None:
    money = [str(500 * i) for i in range(1, 40)]
    assert find_column(facts("hhspend", [*money, "inf"], "float")).role is Role.SENSITIVE


@pytest.mark.parametrize(
    ("name", "topic"), [("finc25", "income"), ("faminc", "income"), ("Premie", "pregnancy"), ("fincher", "")]
)
def test_family_incomes_and_early_births(name: str, topic: str) -> None:
    assert topics(name) == [topic]


@pytest.mark.parametrize(("n", "role"), [(10, Role.SENSITIVE), (9, Role.QUASI)])
def test_statements_that_are_rated_alike_in_a_census_are_opinions(n: int, role: Role) -> None:
    """Few such questions may ask for children and rooms; many are a questionnaire."""
    census = [facts(name, ["1", "2", "3"]) for name in ("sex", "education", "marital_status", "occupation", "nationality")]
    rated = [facts(f"{c}esodu ula ka rabeti den", ["1", "2", "3", "4", "5"]) for c in "abcdefghij"[:n]]
    assert {f.role for f in find_columns([*census, *rated])[5:]} == {role}


@pytest.mark.parametrize(("low", "role"), [("2", Role.SENSITIVE), ("0", Role.QUASI)])
def test_a_question_whose_lowest_answer_nobody_gave_is_of_the_series(low: str, role: Role) -> None:
    series = [facts(f"Q{i}", ["1", "2", "3", "4", "5"]) for i in range(1, 6)]
    assert find_columns([*series, facts("Q6", [low, "3", "4", "5"])])[5].role is role


def test_a_household_identification_number_is_a_number_of_people() -> None:
    assert topics("household_identification_number", "household_size") == ["person_number", "family"]


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("Falls Du dort ein Projekt entwickelt hast", None),  # hast is not AST
        ("Je dispose de temps pour organiser mes tâches", None),  # mes is not a month
        ("What is your age at the moment, please", "age"),  # three letters that ask for the person
        ("age.of.victim.at.registration", "age"),
        ("Victim age", "age"),
        ("Anno_Parto", "pregnancy"),
        ("TrainingTimesLastYear", "event_date"),
        ("year", "technical"),
    ],
)
def test_one_short_word_of_a_question_does_not_decide(name: str, topic: str | None) -> None:
    (found,) = topics_beside([(name, "")])
    assert (found.key if found else None) == topic


@pytest.mark.parametrize(("answers", "role"), [(5, Role.SENSITIVE), (2, Role.QUASI)])
def test_a_statement_about_oneself_is_not_an_occupation(answers: int, role: Role) -> None:
    """Rated statements of a battery are opinions; yes and no may tell what somebody does."""
    said = [f"I am content with part {c} of my life" for c in "abcdefghi"] + ["I am content with my occupation here"]
    found = find_columns([facts(name, [str(i) for i in range(1, answers + 1)]) for name in said])
    assert found[-1].role is role
    asked = find_columns([facts(name, ["1", "2", "3", "4", "5"]) for name in [*said[:9], "What is my occupation, as you know?"]])
    assert asked[-1].role is Role.QUASI


@pytest.mark.parametrize(("n", "role"), [(10, Role.SENSITIVE), (9, Role.UNDECIDED)])
def test_statements_with_yes_and_no_are_opinions_if_there_are_many(n: int, role: Role) -> None:
    said = [facts(f"I rabeti ula den esodu {c}", ["da", "nej"], "text") for c in "abcdefghij"[:n]]
    assert {f.role for f in find_columns(said)} == {role}


def test_words_of_questions_do_not_make_a_census() -> None:
    asked = [facts(f"How would {c} support you in your occupation and education", ["1", "2"]) for c in "abcdef"]
    unknown = facts("zelb", ["1", "2", "3"])
    assert find_columns([*asked, unknown])[-1].role is Role.UNDECIDED
    census = [facts(name, ["1", "2", "3"]) for name in ("occupation", "education", "industry", "sex")]
    assert find_columns([*census, unknown])[-1].role is Role.QUASI


@pytest.mark.parametrize("filled", [1, 40])
def test_typed_texts_under_a_sensitive_name_are_not_published(filled: int) -> None:
    texts = [f"was at home with number {i} and could not leave" for i in range(filled)]
    column = ColumnFacts("problems", "text", texts, np.ones(filled, dtype=np.int64), 60, missing=60 - filled)
    assert find_column(column).role is Role.DIRECT
    often = ColumnFacts("problems", "text", texts, np.full(filled, 5), 5 * filled + 20, missing=20)
    assert find_column(often).role is Role.SENSITIVE


@pytest.mark.parametrize(("n", "role"), [(100, Role.DIRECT), (99, Role.SENSITIVE)])
def test_an_id_is_not_published_as_what_it_numbers(n: int, role: Role) -> None:
    column = ColumnFacts("ID_Parto", "integer", [str(3 * i) for i in range(n)], np.full(n, 2), 2 * n)
    assert find_column(column).role is role


def test_few_family_names_beside_given_names_are_names() -> None:
    nom = facts("nom", ["Yao", "Bamba", "Ouattara"], "text", 50)
    prenom = facts("prenom", ["Issa", "Fatou", "Adama"], "text", 50)
    assert find_columns([nom, prenom])[0].role is Role.DIRECT
    assert find_column(nom).role is not Role.DIRECT


def test_heights_in_metres_are_not_a_liver_test() -> None:
    metres = [f"1.{n}" for n in range(50, 91)]
    assert find_column(facts("Alt", metres, "float", 2)).topic == "body"
    assert find_column(facts("Alt", [str(n / 2) for n in range(20, 90)], "float", 2)).topic == "lab"


@pytest.mark.parametrize(("low", "role"), [("-2", Role.SENSITIVE), ("-1", Role.QUASI)])
def test_answers_around_zero_are_opinions_in_a_census(low: str, role: Role) -> None:
    census = [facts(name, ["1", "2", "3"]) for name in ("sex", "education", "marital_status", "occupation", "nationality")]
    asked = facts("pyt", sorted({low, "-1", "0", "1", "2"}, key=int))
    assert find_columns([*census, asked])[-1].role is role


def test_terms_of_years_are_not_diagnoses() -> None:
    assert find_column(facts("start", ["A13", "A14", "A15", "H13", "H14", "H15", "H16"], "text")).topic != "diagnosis"


@pytest.mark.parametrize(("labels", "noted"), [(["unknown band"], True), ([], False)])
def test_a_label_that_takes_the_order_from_bands_is_noted(labels: list[str], noted: bool) -> None:
    found = find_column(facts("HHIncome", ["0-4999", "5000-9999", "10000-14999", "15000-19999", *labels], "text"))
    assert (found.order == ()) is noted is ("one label is not a band" in found.reason)


@pytest.mark.parametrize("name", ["time_spend_company", "time_spent_at_company"])
def test_time_with_a_company_is_not_spending(name: str) -> None:
    assert topics(name, "time_spend_shopping") == ["tenure", "spending"]
