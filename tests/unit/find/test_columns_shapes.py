"""Rules that tell amounts from keys, codes from numbers and values from spellings of "missing", at their limits."""

from __future__ import annotations

import random

import numpy as np
import pytest

import shoal
from shoal.find import ColumnFacts, Scale, find_column, find_columns
from shoal.find.bands import band_order
from shoal.find.dates import compact_date, written_as_date
from shoal.find.missing_values import missing_spellings, number_codes
from shoal.find.orders import ladder_order
from shoal.find.people import full_names_share
from shoal.find.roles.keys import drawn_key
from shoal.find.topics import topic_of
from shoal.find.value_topics import spoken_of
from shoal.model.roles import Role


def facts(name: str, counts: dict[str, int] | list[str], kind: str = "integer") -> ColumnFacts:
    held = counts if isinstance(counts, dict) else dict.fromkeys(counts, 1)
    return ColumnFacts(name, kind, list(held), np.array(list(held.values()), dtype=np.int64), sum(held.values()))


def codes(*values: int, rows: int = 30) -> dict[str, int]:
    return {str(v): rows for v in values}


def missing(name: str, counts: dict[str, int] | list[str], kind: str = "integer") -> set[str]:
    return set(missing_spellings(facts(name, counts, kind)))


class TestMissingCodes:
    def test_one_digit_repeated_far_above_the_rest(self) -> None:
        assert missing("trust", codes(*range(11)) | {"88": 3}) == {"88"}
        assert missing("trust", codes(*range(11)) | {"88": 2}) == set()  # two large values are values
        assert missing("isced", codes(1, 2, 3, 4, 5, 6, 7) | {"55": 3, "77": 1}) == {"55", "77"}

    def test_three_times_the_rest_or_twice_where_it_is_frequent(self) -> None:
        rest = codes(*range(1, 27), rows=10)
        assert missing("days", rest | {"77": 5}) == set()  # 2.96 times 26
        assert missing("days", rest | {"88": 5}) == {"88"}
        assert missing("days", codes(*range(1, 31), rows=10) | {"88": 100}) == {"88"}
        assert missing("days", codes(*range(1, 46), rows=10) | {"88": 100}) == set()  # less than twice 45

    def test_among_many_values_a_code_stands_in_one_row_of_a_hundred(self) -> None:
        rest = codes(*range(1, 21), rows=10)
        assert missing("visits", rest | {"88": 3}) == {"88"}
        assert missing("visits", codes(*range(1, 21), rows=20) | {"88": 3}) == set()

    def test_seven_or_eight_above_two_to_four_codes(self) -> None:
        assert missing("vote", codes(1, 2, 3) | {"8": 5}) == {"8"}
        assert missing("vote", codes(1, 2, 3, 4) | {"7": 5}) == set()  # a gap of three
        assert missing("vote", codes(1, 2, 3) | {"6": 5}) == set()

    def test_codes_that_touch_the_rest_count_only_where_they_are_rare(self) -> None:
        assert missing("work", codes(1, 2, 3, 4, 5, 6, 7, 8) | {"9": 3}) == set()
        assert missing("q", codes(1, 2, 3, 4, 5, 6, 7) | {"8": 3, "9": 2}) == {"8", "9"}
        assert missing("q", codes(1, 2, 3, 4, 5, 6, 7) | {"8": 15, "9": 2}) == set()  # half as many as others

    def test_a_word_among_many_numbers(self) -> None:
        numbers = [f"{40 + i / 8:.3f}" for i in range(20)]
        assert missing("ratio", [*numbers, "Exempt"], "text") == {"Exempt"}
        assert missing("ratio", [*numbers[:-1], "Exempt"], "text") == set()
        assert missing("ratio", [*numbers, "Exempt", "Varies"], "text") == {"Exempt", "Varies"}
        assert missing("ratio", [*numbers, "a", "b", "c"], "text") == set()
        assert missing("age", [*numbers, "90+"], "text") == set()

    def test_a_code_among_bands(self) -> None:
        assert missing("age", ["<25", "25-34", "35-44", ">74", "8888"], "text") == {"8888"}
        assert missing("ratio", ["<20%", "20%-<30%", "36", "41", ">60%"], "text") == set()
        assert missing("age", ["<25", "25-34", "35-44", "45", "8888"], "text") == set()  # 45 is an age


class TestWholeNumbers:
    def test_marks_from_0_to_10_are_ordered_and_counts_are_not(self) -> None:
        even = facts("ppltrst", codes(*range(11)))
        assert find_column(even).scale is Scale.ORDERED
        falling = facts("ppltrst", {str(v): 2 ** (12 - v) for v in range(11)})
        assert find_column(falling).scale is not Scale.ORDERED

    def test_share_above_the_middle_at_its_limit(self) -> None:
        low = {str(v): 35 for v in range(6)}  # 210 rows up to 5
        at = low | {str(v): 18 for v in range(6, 11)}  # 90 of 300 rows
        below = low | {str(v): 18 for v in range(6, 10)} | {"10": 17}
        assert find_column(facts("ppltrst", at)).scale is Scale.ORDERED
        assert find_column(facts("ppltrst", below)).scale is not Scale.ORDERED

    def test_few_numbers_with_gaps_are_codes_in_many_rows(self) -> None:
        assert find_column(facts("purpose_loan", codes(1, 2, 31, 32, 4, rows=40))).scale is Scale.NOMINAL
        assert find_column(facts("purpose_loan", codes(1, 2, 31, 32, 4, rows=39))).scale is Scale.NUMBER
        assert find_column(facts("bond", codes(1000, 5000, 10000, 25000, rows=400))).scale is Scale.NUMBER

    def test_a_plural_from_0_counts(self) -> None:
        assert find_column(facts("PriorConvictions", codes(*range(15)))).scale is Scale.NUMBER
        assert find_column(facts("PriorConviction", codes(*range(15)))).scale is Scale.NOMINAL
        assert find_column(facts("PriorConvictions", codes(*range(1, 16)))).scale is Scale.NOMINAL

    def test_money_in_a_few_small_numbers_is_bands(self) -> None:
        assert find_column(facts("INCOME2", codes(*range(1, 9)))).order == tuple("12345678")
        assert find_column(facts("INCOME2", codes(*range(20, 28)))).scale is Scale.NUMBER

    def test_a_level_is_ordered_whatever_it_is_about(self) -> None:
        assert find_column(facts("StockOptionLevel", codes(0, 1, 2, 3))).scale is Scale.ORDERED


def lognormal(n: int, seed: int = 3) -> list[str]:
    r = random.Random(seed)
    return list(dict.fromkeys(str(int(r.lognormvariate(10.4, 0.45))) for _ in range(2 * n)))[:n]


class TestKeysAndAmounts:
    def test_whole_numbers_that_all_differ_are_a_key_unless_they_are_called_amounts(self) -> None:
        assert find_column(facts("EMPVAL", lognormal(400))).role is Role.DIRECT
        found = find_column(facts("income", lognormal(400)))
        assert (found.role, found.scale) == (Role.SENSITIVE, Scale.NUMBER)

    @pytest.mark.parametrize("seed", range(6))
    def test_numbers_given_out_in_turn_are_a_key(self, seed: int) -> None:
        r = random.Random(seed)
        drawn = [str(v) for v in r.sample(range(10_000, 100_000), 300)]
        blocks = [str(v) for v in (*r.sample(range(10_000, 16_000), 150), *r.sample(range(70_000, 76_000), 150))]
        for values in (drawn, blocks):
            assert find_column(facts("KAPPA", values)).role is Role.DIRECT

    def test_several_columns_that_differ_in_every_row_are_amounts_where_chance_cannot_spread_them_so(self) -> None:
        r = random.Random(8)
        humped = [sorted({str(int(r.triangular(10_000, 99_000, 45_000))) for _ in range(1_000)}) for _ in range(3)]
        n = min(map(len, humped))
        table = [facts(name, values[:n]) for name, values in zip(("AGX", "PTV", "FTX"), humped, strict=True)]
        assert Role.DIRECT not in {f.role for f in find_columns(table)}
        assert find_columns(table[:1])[0].role is Role.DIRECT  # alone it may be a key: on the safe side


class TestDrawnCodes:
    @staticmethod
    def drawn(n: int, length: int = 17) -> dict[str, int]:
        r = random.Random(5)
        return {"".join(r.choices("0123456789abcdef", k=length)): 4 for _ in range(n)}

    def test_codes_drawn_for_people_are_keys_though_they_repeat(self) -> None:
        found = find_column(facts("ANO_PATIENT", self.drawn(20), "text"))
        assert (found.role, found.mark) == (Role.DIRECT, "unit")

    def test_few_or_short_ones_and_codes_of_one_shape_are_not(self) -> None:
        assert not drawn_key(facts("x", self.drawn(19), "text"))
        assert drawn_key(facts("x", self.drawn(20, 10), "text"))
        assert not drawn_key(facts("x", self.drawn(20, 9), "text"))
        assert not drawn_key(facts("x", [f"ab{i:010d}" for i in range(40)], "text"))

    def test_clusters_of_a_few_records_are_people_and_clusters_of_villages_are_not(self) -> None:
        assert find_column(facts("cluster", codes(*range(0, 400, 2), rows=10))).role is Role.DIRECT
        assert find_column(facts("cluster", codes(*range(0, 400, 2), rows=11))).role is Role.INSENSITIVE


class TestWords:
    def test_how_often_in_words(self) -> None:
        rising = ("never", "lt once a year", "once a year", "sevrl times a yr", "once a month", "every week")
        assert ladder_order(rising[::-1])[1] == rising
        schools = ("lt high school", "high school", "junior college", "bachelor", "graduate")
        assert find_column(facts("degree", list(schools[::-1]), "text")).order == schools

    def test_ordinals_are_in_order(self) -> None:
        values = ["2º ESO", "1º ESO", "3º ESO"]
        assert find_column(facts("curso", values, "text")).order == ("1º ESO", "2º ESO", "3º ESO")
        assert find_column(facts("ruta", ["Ruta 1", "Ruta 2", "Ruta 3"], "text")).order == ()

    @pytest.mark.parametrize(
        "rising",
        [
            "mangelhaft|ausreichend|befriedigend|gut|sehr gut",
            "onvoldoende|matig|voldoende|ruim voldoende|goed|uitstekend",
            "insuficiente|suficiente|bien|notable|sobresaliente",
            "insufficiente|sufficiente|discreto|buono|distinto|ottimo",
            "passable|assez bien|bien|très bien",
        ],
    )
    def test_marks_of_schools(self, rising: str) -> None:
        words = rising.split("|")
        assert ladder_order(words[::-1])[1] == tuple(words)

    def test_a_word_that_most_values_share_is_left_out(self) -> None:
        assert ladder_order(["high risk", "low risk", "medium risk"])[1] == ("low risk", "medium risk", "high risk")
        assert ladder_order(["Total Loss", "Minor Damage", "Trivial Damage", "Major Damage"])[1][-1] == "Total Loss"
        assert ladder_order(["low risk", "red door", "high sea"])[1] == ()

    def test_a_band_does_not_fall(self) -> None:
        assert band_order(["2345-7", "718-7", "4548-4"]) == ()
        assert band_order(["1998-99", "1999-00", "2000-01"]) == ("1998-99", "1999-00", "2000-01")
        assert band_order(["70-99", "12-16"]) == ("12-16", "70-99")

    def test_days_with_the_year_last(self) -> None:
        assert [compact_date(d) for d in ("12312019", "31122019", "32132019")] == [True, True, False]
        assert written_as_date("2016-04-29T18:38:08Z")

    def test_running_numbers_are_no_diagnoses(self) -> None:
        assert spoken_of([f"E{i:02d}" for i in range(1, 20)], "text") is None
        assert spoken_of(["E11", "I10", "J44", "E78", "I21"], "text") is not None
        assert spoken_of([f"{i:03d}" for i in range(100, 150)], "text") is None
        some = [f"{i:03d}" for i in range(100, 145)] + ["250.1", "V27", "E909", "401.9", "414.0"]
        found = spoken_of(some, "text")
        assert found is not None
        assert found[0] == "diagnosis"
        assert spoken_of([*(f"{i:03d}" for i in range(100, 146)), *some[-4:]], "text") is None  # 4 of 50 are less than a tenth

    def test_schools_and_practices_are_no_people(self) -> None:
        assert full_names_share(["EMEF Paulo Freire", "Cabinet Dr Morel", "CH Annecy", "Pharmacie du Lac"]) == 0
        assert full_names_share(["Dr Morel", "Ascensión Maite Ferrer Pizarro", "ANA SILVA"]) == 1

    @pytest.mark.parametrize(
        ("name", "key"),
        [
            ("code_insee_residence", "place"),
            ("Burg. staat", "marital"),
            ("COD_FAM", "person_number"),
            ("_AGEG5YR", "age"),
            ("Deeltijd %", "employment"),
            ("NATO A", "birth_place"),
            ("VIA", "street"),
            ("TestName", "lab"),
            ("CODE_GEO", "place"),
            ("DMDHHSIZ", "family"),
            ("DMDCITZN", "nationality"),
            ("escalao_etario", "age"),
            ("PerformingLab", "facility"),
        ],
    )
    def test_names(self, name: str, key: str) -> None:
        topic = topic_of(name)
        assert topic is not None
        assert topic.key == key


def test_answers_of_a_battery_are_opinions_and_lone_codes_are_not() -> None:
    r = random.Random(2)

    def answers() -> list[int]:
        return [r.randint(1, 5) for _ in range(120)]

    battery = {f"q1_{i}": answers() for i in range(1, 6)} | {"v_9": answers()}
    found = {c.name: c.role for c in shoal.inspect(battery).columns}
    assert {found[f"q1_{i}"] for i in range(1, 6)} == {Role.SENSITIVE}
    assert found["v_9"] is Role.QUASI


def test_a_table_of_health_whose_other_names_say_nothing() -> None:
    r = random.Random(2)
    known = {"age": [r.randint(20, 80) for _ in range(60)], "outcome": [r.choice("ab") for _ in range(60)]}
    known |= {"rx": [r.choice(("placebo", "drug")) for _ in range(60)], "site": [r.choice("xyz") for _ in range(60)]}
    marks = {name: [r.choice(("0_no", "1_yes")) for _ in range(60)] for name in ("sod", "pep", "psph", "recpanc", "amp")}
    two = {c.name: c.role for c in shoal.inspect(known | marks | {"bleed": marks["sod"]}).columns}
    assert two["pep"] is Role.UNDECIDED
    three = {c.name: c.role for c in shoal.inspect(known | marks | {"diagnosis": marks["sod"]}).columns}
    assert three["pep"] is Role.UNDECIDED


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([*(f"{i / 2}" for i in range(9)), "99.0"], ["99.0"]),  # nines beyond a gap
        ([*(f"{i / 2}" for i in range(9)), "98.5"], []),
        ([*(f"{i / 2}" for i in range(41)), "80.0"], ["80.0"]),  # three ranges from all others
        ([*(f"{i / 2}" for i in range(41)), "79.5"], []),
        (["-9.0", *(f"{i / 2}" for i in range(9))], ["-9.0"]),
        (["-0.5", "1.5", "2.5"], []),
    ],
)
def test_codes_among_numbers_that_are_not_whole(values: list[str], codes: list[str]) -> None:
    facts = ColumnFacts("x", "float", values, np.full(len(values), 5), 5 * len(values))
    assert number_codes(facts) == codes


def test_a_count_from_0_to_9_has_no_codes() -> None:
    jobs = {"1": 521, "0": 197, "3": 159, "2": 146, "4": 139, "7": 74, "6": 70, "5": 63, "9": 52, "8": 49}
    assert number_codes(facts("jobs", jobs)) == []
    answers = {value: n for value, n in jobs.items() if value != "0"}
    assert number_codes(facts("agreement", answers)) == ["9", "8"], "seven answers from 1, then two codes"


@pytest.mark.parametrize("name", ["year", "jahr", "yr", "annee"])
@pytest.mark.parametrize(("last", "role"), [(1970, Role.QUASI), (1969, Role.INSENSITIVE)])
def test_years_as_far_apart_as_those_of_birth_are_not_a_technical_field(name: str, last: int, role: Role) -> None:
    """Years from 1930 to 2005 under the name 'year' were published as they are."""
    years = [1930 + i % (last - 1929) for i in range(410)]
    found = shoal.inspect({name: years, "sex": ["f" if i * i % 11 < 5 else "m" for i in range(410)]})
    assert found.columns[0].role is role


@pytest.mark.parametrize(
    ("letters", "more", "role"),
    [
        ("ABC", "", Role.UNDECIDED),
        ("ABCDEFGHI", "", Role.QUASI),
        ("ABCDEFGHIJ", "", Role.SENSITIVE),
        ("ACD", "", Role.SENSITIVE),
        ("AB", ".1", Role.SENSITIVE),
    ],
)
def test_codes_with_the_first_letters_may_be_rooms(letters: str, more: str, role: Role) -> None:
    """A10 to C29 under a name that says nothing were published as codes of diseases."""
    codes = [f"{letters[i % len(letters)]}{10 + i % 19}{more}" for i in range(600)]
    assert shoal.inspect({"xkqz": codes, "sex": ["f" if i * i % 11 < 5 else "m" for i in range(600)]}).columns[0].role is role


SHAPES = {
    "two numbers": lambda i: i * i % 7 % 2,
    "true or false": lambda i: i * i % 7 < 3,
    "five letters": lambda i: "abcde"[i * i % 11 % 5],
    "small counts": lambda i: i * i % 10,
    "large numbers": lambda i: i * i * 7919 % 1000,
    "fractions": lambda i: i * i * 31 % 97 / 8,
    "shares": lambda i: i * i * 7919 % 10_007 / 10_007,
    "yes or no": lambda i: ("yes", "no")[i * i % 7 % 2],
    "a rare mark": lambda i: int(i % 50 == 3),
    "codes": lambda i: f"{'QRS'[i * i % 3]}-{i * i % 17}",
    "words": lambda i: ("lorem ipsum", "dolor", "sit amet")[i * i % 3],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("filled", [1, 2, 20])
@pytest.mark.parametrize("beside", [True, False])
def test_a_column_under_a_name_that_says_nothing_is_never_published(shape: str, filled: int, beside: bool) -> None:
    """Whatever its values are and however many rows have none."""
    values = [SHAPES[shape](i) if i % filled == 0 else None for i in range(500)]
    table = {"xkqz": values}
    if beside:
        table |= {"age": [18 + i * i * 31 % 71 for i in range(500)], "sex": ["fm"[i * i % 13 % 2] for i in range(500)]}
    role = shoal.inspect(table).columns[0].role
    assert role not in (Role.INSENSITIVE, Role.SENSITIVE) or len({*values}) == 1


def test_a_code_beside_names_that_repeats_as_they_do_is_a_number_of_the_same_people() -> None:
    times = np.arange(2, 32)
    names = [f"{given} {family}" for given in ("Anna", "Peter", "Maria", "David", "Laura") for family in
             ("Miller", "Novak", "Rossi", "Silva", "Kowalski", "Jensen")]  # fmt: skip
    people = ColumnFacts("nama", "text", names, times, int(times.sum()))
    codes = ColumnFacts("kode", "text", [f"{n % 7}.{n}{'xyz'[n % 3]}" for n in range(30)], times[::-1], int(times.sum()))
    other = ColumnFacts(
        "thing", "text", [f"{n}.{'xyz'[n % 3]}{n % 5}" for n in range(30)], times + (times == 9), int(times.sum()) + 1
    )
    assert [f.role for f in find_columns([people, codes, other])] == [Role.DIRECT, Role.DIRECT, Role.UNDECIDED]


@pytest.mark.parametrize(("first", "role"), [(18, Role.QUASI), (19, Role.UNDECIDED)])
def test_bands_that_begin_where_those_of_ages_do_are_ages_under_any_name(first: int, role: Role) -> None:
    bands = [f"{first}–24", "25–34", "35–44"]
    found = find_columns([ColumnFacts("Pregunta_2", "text", bands, np.array([30, 40, 30]), 100)])[0]
    assert found.role is role


def test_times_with_dots_and_numbers_filled_with_zeros() -> None:
    times = [f"{i % 24:02}.{i % 60:02}.{i * 7 % 60:02}" for i in range(100)]
    filled = [f"{i * 31:09}" for i in range(1, 101)]
    one = np.ones(100, dtype=np.int64)
    found = find_columns([ColumnFacts("Waktu", "text", times, one, 100), ColumnFacts("Elever", "text", filled, one * 3, 300)])
    assert (found[0].role, found[0].scale) == (Role.QUASI, Scale.DATE)
    assert found[1].topic != "phone"


@pytest.mark.parametrize(
    ("name", "topic"), [("Nume_Sector", "industry"), ("nome da cidade", "place"), ("nume_mama", "person_name")]
)
def test_the_name_of_a_thing_names_no_person(name: str, topic: str) -> None:
    found = topic_of(name)
    assert found is not None
    assert found.key == topic


@pytest.mark.parametrize(("numbers", "role"), [(9, Role.UNDECIDED), (10, Role.DIRECT)])
def test_words_under_the_name_of_a_telephone_are_no_numbers(numbers: int, role: Role) -> None:
    values = [f"{6 + i % 3}-{i}" for i in range(numbers)] + [f"facil {'abcdefghijk'[i]}" for i in range(20 - numbers)]
    column = ColumnFacts("SO celular", "text", values, np.full(20, 5, dtype=np.int64), 100)
    assert find_column(column).role is role
