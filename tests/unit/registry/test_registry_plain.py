"""Plain words: places by their name, attributes without a coding, answers as people give them; and what is there instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from registry_support import AGES, make
from shoal.cli import main
from shoal.errors import UsageError
from shoal.kernels.signatures import signer
from shoal.registry.answer.decide import decide
from shoal.registry.answer.exposure import exposure
from shoal.registry.answer.plain import codes_of, population_of
from shoal.registry.answer.query import Registry, populations
from shoal.registry.keep.builtin import BuiltIn
from shoal.registry.keep.store import Store
from shoal.registry.records.population import Population


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main(["registry", *words])
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out + out.err


def test_plain_answers_are_those_that_the_record_lists() -> None:
    coded = exposure(BuiltIn(), "NL/Amsterdam@2021", [("sex", "F"), ("age/5y", "30-34"), ("postcode/NL/pc4", "1012")])
    for answers in (
        [("sex", "female"), ("age", "34"), ("postcode", "1012 AB")],
        [("sex", "vrouw"), ("age", "30"), ("postcode", "1012ab")],
    ):
        assert exposure(BuiltIn(), "amsterdam", answers).to_json() == coded.to_json()
    oldest = exposure(BuiltIn(), "UK/Leeds@2019", [("age", "104")])
    assert oldest.steps[0].answer == "90+"
    for answer in ("perhaps", "", "-3", "34 years"):
        with pytest.raises(UsageError, match="not listed"):
            exposure(BuiltIn(), "Leeds", [("age", answer)])


def test_a_place_by_its_name_the_latest_period_and_never_a_guess(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'r.db'}")
    key = signer()
    for people in ("DE/Ulm@2019", "DE/Ulm@2021", "FR/Roth@2020", "DE/Roth@2020"):
        store.submit(make(AGES, cells=95, population=Population.parse(people), key=key))
    assert str(population_of(store, "ulm")) == "DE/Ulm@2021"
    assert str(population_of(store, "DE/Roth")) == "DE/Roth@2020"
    with pytest.raises(UsageError, match="2 places") as two:
        population_of(store, "Roth")
    assert "DE/Roth, FR/Roth" in str(two.value.hint)
    with pytest.raises(UsageError, match="nothing is known about a place called 'Kenya'") as none:
        population_of(store, "Kenya")
    assert "records of DE (2 places), FR (1 place)" in str(none.value.hint)
    assert codes_of(store, ["age", "sex"], Population.parse("DE/Ulm@2021")) == ["age/years", "sex"]
    with pytest.raises(UsageError, match="vocabulary"):
        Registry(store).query(["shoes"], "Ulm")
    store.close()


def test_the_first_page_shows_every_country_and_a_search_says_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    listed = populations(BuiltIn(), limit=50)
    assert len(listed) == 50
    assert len({x.population[:2] for x in listed}) == 50
    code, out = said(capsys, "list")
    assert code == 0
    assert out.startswith("200 countries, 1,093 places.")
    assert [line.partition(":")[0] for line in out.splitlines()[1:5]] == [
        "Netherlands (NL)", "United Kingdom (UK)", "United States (US)", "Kenya (KE)",
    ]  # fmt: skip
    assert "There are records of 200 countries: name the country" in said(capsys, "search", "Atlantis")[1]
    assert "Did you mean" not in said(capsys, "search", "Cologne")[1], "Bolton is no guess for Cologne"
    code, out = said(capsys, "exposed", "--population", "Atlantis", "--answers", "sex=female")
    assert code == 2
    assert "There are records of 200 countries: name" in out
    assert json.loads(said(capsys, "query", "--attributes", "age,sex", "--population", "Leeds", "--json")[1])["fit"] == "exact"


def test_an_unknown_key_is_grade_c_in_exposed_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.db"
    store = Store(f"sqlite:///{path}")
    record = make([33_000, 32_000], codes=("sex",), cells=2, population=Population.parse("DE/Ulm@2019"), key=signer())
    store.submit(record)
    alone = exposure(store, "Ulm", [("sex", "")])
    trusted = exposure(store, "Ulm", [("sex", "")], anchors=[record.key])
    store.close()
    assert (alone.grade, alone.unknown) == ("C", True)
    assert not trusted.unknown
    assert exposure(BuiltIn(), "Leeds", [("sex", "F")]).grade == "B", "Shoal's own records"
    assert (
        "You named no key that you trust"
        in said(capsys, "exposed", "--population", "Ulm", "--answers", "sex=", "--registry", str(path))[1]
    )


def test_the_address_itself_answers_with_a_page(tmp_path: Path) -> None:
    client = pytest.importorskip("fastapi.testclient")
    from shoal.server.app import create_app

    with client.TestClient(create_app(Store(f"sqlite:///{tmp_path / 'r.db'}")), base_url="http://127.0.0.1") as web:
        page = web.get("/")
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")
        assert 'href="/registry/v1/exposed"' in page.text
        assert web.get("/nothing").status_code == 404


@pytest.mark.parametrize(
    ("population", "codes"),
    [
        ("NL/Schiermonnikoog@2021", ["age/5y", "sex"]),  # no record of it, but of the Netherlands
        ("UK/Leeds@2019", ["age/years", "sex"]),
        ("XX/Nowhere@2021", ["age/years", "sex"]),  # nothing is known at all: the finest coding
    ],
)
def test_a_bare_attribute_is_understood_of_any_place(population: str, codes: list[str]) -> None:
    assert codes_of(BuiltIn(), ["age", "sex"], Population.parse(population)) == codes


def test_a_place_without_records_in_a_known_country_leads_on() -> None:
    with pytest.raises(UsageError) as told:
        population_of(BuiltIn(), "NL/Schiermonnikoog")
    assert "NL/Schiermonnikoog@2021" in str(told.value.hint)
    assert "shoal registry search NL" in str(told.value.hint)


def test_one_person_alone_is_certainly_unique() -> None:
    share = Registry().query(["age/5y", "sex"], "NL/Amsterdam@2021").unique_share(1)
    assert min(share.low, share.value) == pytest.approx(1, abs=1e-5), "not 98.6 %, as the rounded counts alone would allow"


def test_an_answer_stands_for_its_question_at_every_door(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, plain = Population.parse("UK/Leeds@2019"), ["sex=female", "age=34"]
    assert codes_of(BuiltIn(), plain, people) == ["sex", "age/years"]
    assert codes_of(BuiltIn(), ["age=30-34", "age=30-39", "age=old", "age=34-30"], people) == [
        "age/5y", "age/10y", "age/years", "age/years",
    ]  # fmt: skip
    coded = decide(Registry(), ["age/years", "sex"], people, group_size=100)
    assert decide(Registry(), plain, "leeds", group_size=100) == coded
    for door in ("decide", "analyse"):
        asked = ["--population", "Leeds", "--group", "100", "--json"]
        assert said(capsys, door, "--attributes", "sex=female,age=34", *asked) == said(
            capsys, door, "--attributes", "age/years,sex", *asked
        )
    client = pytest.importorskip("fastapi.testclient")
    from shoal.server.app import create_app

    store = Store(f"sqlite:///{tmp_path / 'r.db'}")
    store.submit(make(AGES, cells=95, population=Population.parse("DE/Ulm@2021"), key=signer()))
    with client.TestClient(create_app(store), base_url="http://127.0.0.1") as web:
        for door in ("decide", "analyse"):
            answers = [
                web.get(f"/registry/v1/{door}", params={"attributes": a, "population": p, "group_size": 50})
                for a, p in (("age/years", "DE/Ulm@2021"), ("age=34", "Ulm"))
            ]
            assert [a.status_code for a in answers] == [200, 200], answers[1].text
            assert answers[0].json() == answers[1].json()


@pytest.mark.parametrize(
    ("attribute", "place", "says", "hint"),
    [
        ("postcode", "UK/Leeds@2019", "several codings", "Name one of them: postcode/UK/unit, postcode/UK/sector"),
        ("postcode", "KE@2019", "codings of other countries only", "Write your own: x/postcode."),
        ("education", "KE@2019", "several codings", "education/detailed, education/level"),
        ("blood", "KE@2019", "not in the vocabulary", "An attribute of your own"),
    ],
)
def test_an_attribute_of_several_codings_is_asked_about(attribute: str, place: str, says: str, hint: str) -> None:
    with pytest.raises(UsageError, match=says) as told:
        codes_of(BuiltIn(), [attribute], Population.parse(place))
    assert hint in str(told.value.hint)
    assert "SE" not in str(told.value.hint)


def test_an_attribute_that_is_known_elsewhere_is_taken_as_its_finest_coding() -> None:
    assert codes_of(BuiltIn(), ["birth", "postcode"], Population.parse("NL/Amsterdam@2021")) == ["birth/date", "postcode/NL/pc4"]


def test_a_list_is_narrowed_by_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "list", "Leeds") == said(capsys, "search", "Leeds")
    assert "UK/Leeds@2019" in said(capsys, "list", "Leeds")[1]


def test_a_share_is_said_as_exactly_as_it_is_known() -> None:
    counted = decide(Registry(), ["age/years", "sex"], "Leeds", group_size=100)
    assert "make about 55 % of 100 people of Leeds unique" in counted.sentence
    lower = decide(Registry(), ["age/years", "sex", "x/shoe-size"], "Leeds", group_size=100)
    assert "make at least 55 % of 100 people of Leeds unique" in lower.sentence
    bands = decide(Registry(), ["age/years", "sex"], "Amsterdam", group_size=100)
    assert "make between 6.8 % and 53 % of 100 people of Amsterdam unique" in bands.sentence


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (["Age", "gender"], ["age/years", "sex"]),
        (["Alter", "Geschlecht"], ["age/years", "sex"]),
        (["leeftijd=34", "sexe"], ["age/years", "sex"]),
        (["date of birth"], ["birth/date"]),
        (["x/blood", "age/5y=34"], ["x/blood", "age/5y"]),
    ],
)
def test_attributes_are_called_by_their_words(words: list[str], codes: list[str]) -> None:
    assert codes_of(BuiltIn(), words, Population.parse("UK/Leeds@2019")) == codes


def test_a_word_that_is_no_attribute_is_refused() -> None:
    for word in ("blood", "", "municipality", "household size"):
        with pytest.raises(UsageError, match="vocabulary"):
            codes_of(BuiltIn(), [word], Population.parse("UK/Leeds@2019"))


def test_hardly_anybody_is_not_at_most_under() -> None:
    assert "by sex, under 0.01 % of 100 people" in decide(Registry(), ["sex"], "Leeds", group_size=100).sentence
    offered = decide(Registry(), ["sex", "x/blood"], "Leeds", group_size=100).sentence
    assert offered.endswith("Ask for sex: under 0.01 %.")
