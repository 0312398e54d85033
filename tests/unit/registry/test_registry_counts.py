"""Counts as input, one record per place, the records of real places that come with Shoal, and how to find them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from registry_support import AGES, UTRECHT, make
from shoal.cli import main
from shoal.errors import AccessError, DataError, UsageError
from shoal.kernels.signatures import signer
from shoal.registry.answer.query import populations
from shoal.registry.keep import builtin
from shoal.registry.keep.mirror import Mirror, write_mirror
from shoal.registry.keep.store import Store
from shoal.registry.publish.bulk import DIFFERENCED, SMALL, UNNAMED, propose_each, publish_each, whole_numbers
from shoal.registry.publish.proposals import Ledger, propose
from shoal.registry.records.population import Population
from shoal.registry.records.record import MOST_SHARES, Record
from shoal.registry.records.summary import summarize


@pytest.fixture
def shoal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("SHOAL_SIGNING_KEY", "SHOAL_SIGNING_KEY_FILE", "SHOAL_REGISTRY_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str, expect: int = 0):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main(["registry", *words, "--json"])
        told = capsys.readouterr()
        assert stop.value.code == expect, told.err
        return json.loads(told.out)

    return run


PLACES = {"Tromsø": [900, 600], "Bodø": [700, 800], "Village": [499, 500], "Town": [1000, 0]}


def table(tmp_path) -> None:
    counts = [f"{place},{sex},{n}" for place, both in PLACES.items() for sex, n in zip("FM", both, strict=True)]
    (tmp_path / "counts.csv").write_text("place,sex,n\n" + "\n".join(counts) + "\n", encoding="utf-8")
    people = [f"{place},{sex}" for place, both in PLACES.items() for sex, n in zip("FM", both, strict=True) for _ in range(n)]
    (tmp_path / "people.csv").write_text("place,sex\n" + "\n".join(people) + "\n", encoding="utf-8")


def test_counts_give_the_record_that_the_people_give(shoal, tmp_path):
    table(tmp_path)
    common = ("--population", "NO@2020", "--cells", "2", "--dry-run")
    counts = shoal("publish", "counts.csv", "--quasi", "sex=sex", "--count", "n", *common)["leaves"]
    assert counts == shoal("publish", "people.csv", "--qi", "sex=sex", *common)["leaves"]
    assert counts["size"] == 5000


def test_one_record_for_each_place_one_preview_and_one_ledger(shoal, tmp_path):
    table(tmp_path)
    ask = (
        "publish",
        "counts.csv",
        "--quasi",
        "sex=sex",
        "--count",
        "n",
        "--by",
        "place",
        "--population",
        "NO@2020",
        "--cells",
        "2",
    )
    seen = shoal(*ask, "--dry-run")
    assert (seen["records"], seen["left_out"]) == (3, {SMALL: 1})  # 999 people are too few, 1,000 are not
    assert {r["population"] for r in seen["leaves"]} == {"NO/Tromsø@2020", "NO/Bodø@2020", "NO/Town@2020"}
    assert not (tmp_path / "registry-ledger.json").exists()
    done = shoal(*ask, "--holder", "SSB", "--registry", "r.db", "--out", "all.json")
    assert (done["new"], done["submitted"]) == (3, True)
    assert len(json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))) == 3
    found = shoal("query", "--attributes", "sex", "--population", "no/tromsø@2020", "--registry", "r.db")
    assert found["fit"] == "exact"
    h2 = summarize([900, 600], 2).statistics["h2"]
    assert found["records"][0]["statistics"]["h2"] == [h2.value, h2.step]
    assert shoal(*ask, "--holder", "SSB", "--registry", "r.db")["new"] == 0
    whole = ("publish", "counts.csv", "--quasi", "sex=sex", "--count", "n", "--population", "NO@2020", "--holder", "SSB")
    assert "leave fewer than 1,000" in shoal(*whole, expect=1)["error"]["message"]  # the village is what is left


@pytest.mark.parametrize("words", [("--count", "n", "--unit", "place"), ("--count", "n", "--by", "sex")])
def test_contradictory_wishes_are_refused(shoal, tmp_path, words):
    table(tmp_path)
    shoal("publish", "counts.csv", "--quasi", "sex=sex", "--population", "NO@2020", "--dry-run", *words, expect=2)


@pytest.mark.parametrize("wrong", [[-1.0, 5000.0], [0.5, 5000.0], [np.nan, 1.0], [np.inf, 1.0], [2.0**53, 1.0]])
def test_what_is_no_number_of_people_is_refused(wrong):
    with pytest.raises(DataError, match="numbers of people"):
        whole_numbers(np.array(wrong), "n")


def test_places_see_each_other_and_the_ledger_and_are_counted_when_left_out():
    ledger, key = Ledger(), signer()
    make([30_000, 31_000], codes=("sex",), population=Population.parse("NO@2020"), ledger=ledger, key=key)
    places = {"A": np.array([30_000, 30_001]), "B": np.array([5000, 4000]), "b.": np.array([5000, 3901]), "<b>": np.array([2000])}
    options = {"holder": "H", "date": "2025-01-15", "cells": 2}
    bulk = propose_each(places, ["sex"], Population.parse("NO@2021"), ledger=ledger, **options)
    # A lies within 1,000 people of the whole, b. is B with 99 people less, the last has no name
    assert bulk.left_out == {DIFFERENCED: 2, UNNAMED: 1}
    assert [str(p.record.population) for p in bulk.proposals] == ["NO/B@2021"]
    with pytest.raises(DataError, match="no place"):
        propose_each({"A": np.array([999])}, ["sex"], Population.parse("NO@2021"), ledger=Ledger(), **options)
    two = propose_each({"A": places["A"], "B": places["A"]}, ["sex"], Population.parse("NO@2021"), ledger=Ledger(), **options)
    book = Ledger()
    assert [r.version for r in publish_each(two, key, book)] == [1, 1]
    assert len(book.entries) == 2


@pytest.mark.data
def test_the_built_in_records_are_signed_and_are_what_the_public_tables_give(shared_data):
    from public_tables import public_topics

    source = builtin.BuiltIn()
    rows = builtin._rows()
    assert len(rows) > 3500
    topics = {
        (codes, Population.parse(people).key): (counts, cells) for codes, people, counts, cells in public_topics(shared_data)
    }
    shared = sorted(set(topics) & set(rows))
    assert len(shared) > 3000
    for codes, people in shared[::97]:
        (record,) = source.topic(codes, people)
        counts, cells = topics[codes, people]
        assert record.summary == summarize(counts, cells)
        assert record.source
        assert record.key == builtin.KEY
        if record.shares is not None:
            total = sum(counts)
            told = sorted(round(c / total, 4) for c in counts if c)
            assert sorted(s for s in record.shares.values() if s) == [s for s in told if s]


def test_a_fresh_machine_answers_about_real_places(shoal):
    for attributes, population in (
        ("age/5y,sex", "NL/Utrecht@2021"),
        ("age/years", "LAU:E08000035@2019"),
        ("postcode/US/zip3", "FIPS:06@2010"),
    ):
        found = shoal("query", "--attributes", attributes, "--population", population)
        assert found["fit"] in ("exact", "joint counts")
        assert found["records"][0]["source"]
        assert (
            shoal("analyse", "--attributes", attributes, "--population", population, "--group", "100")["unique_share"]["grade"]
            == "B"
        )
    assert [x["population"] for x in shoal("search", "LEEDS")["populations"]] == ["UK/Leeds@2019"]
    assert shoal("search", "nowhere at all") == {"populations": [], "more": False}
    listed = shoal("list", "--most", "3")
    assert (len(listed["populations"]), listed["more"]) == (3, True)
    assert shoal("list", "--most", "10000")["more"] is False


def test_where_nothing_is_known_the_next_step_is_told(shoal):
    later = shoal("query", "--attributes", "age/5y", "--population", "NL/Utrecht@2022")
    assert later["fit"] == "nothing"
    assert any("NL/Utrecht@2021" in note for note in later["notes"])
    other = shoal("query", "--attributes", "income/1k", "--population", "UK/Leeds@2019")
    assert any("age/years" in note for note in other["notes"])
    typo = shoal("query", "--attributes", "income/1k", "--population", "UK/Leedz@2019")
    assert any("UK/Leeds@2019" in note for note in typo["notes"])
    assert any("registry list" in note for note in shoal("query", "--attributes", "sex", "--population", "ZZ@2020")["notes"])
    assert (
        "UK/Leeds@2019"
        in shoal("decide", "--attributes", "income/1k", "--population", "UK/Leeds@2019", "--group", "9", expect=2)["error"][
            "hint"
        ]
    )


def test_every_shelf_lists_the_same(store, tmp_path):
    for place in ("NL/A_b", "NL/Axb", "NO/Tromsø"):
        store.submit(make(AGES, population=Population.parse(f"{place}@2021")))
    store.submit(make([40_000, 41_000], codes=("sex",), population=Population.parse("NL/A_b@2021")))
    mirror = Mirror(write_mirror(store, tmp_path / "m"))
    everybody = ["NL/A_b@2021", "NL/Axb@2021", "NO/Tromsø@2021"]
    for text, names in (("a_b", ["NL/A_b@2021"]), ("TROMSØ", ["NO/Tromsø@2021"]), ("", everybody), ("%", []), ("!", [])):
        assert [x.population for x in populations(store, text)] == [x.population for x in populations(mirror, text)] == names
    assert populations(store, "a_b")[0].codings == (("age/years",), ("sex",))


def test_tokens_and_names_in_every_store(store):
    first, second = signer(), signer()
    record = store.submit(make(AGES, holder="Statistics Office", key=first))
    store.check_name("statistics office", first.public)
    with pytest.raises(AccessError, match="another key"):
        store.check_name("Statistics Office", second.public)
    token = store.tokens.add("A hospital", holder="Statistics Office")
    store.tokens.admit_record(token, record)
    with pytest.raises(AccessError, match="another holder"):
        store.tokens.admit_record(token, make(AGES, holder="B", key=first))
    with pytest.raises(AccessError, match="another key"):
        store.tokens.admit_record(token, make(AGES, holder="Statistics Office", key=second))
    assert store.tokens.knows(token)
    assert not store.tokens.knows(token[:-1])


SHARES = {"F": 0.5062, "M": 0.4938}


def public(**changes) -> Record:
    given = {"source": "A public table", "shares": SHARES, **changes}
    codes = given.pop("codes", ["sex"])
    return propose([40_500, 39_500], codes, UTRECHT, holder="H", date="2025-01-15", cells=2, **given).record.signed(signer())


def test_shares_of_a_public_table_are_part_of_the_signed_record(tmp_path):
    record = public()
    assert Record.from_json(json.loads(json.dumps(record.to_json()))).verify() == record
    forged = {**record.to_json(), "shares": {"F": 0.4938, "M": 0.5062}}
    with pytest.raises(Exception, match="id does not fit"):
        Record.from_json(forged)
    store = Store(f"sqlite:///{tmp_path / 'r.db'}")
    store.submit(record)
    assert store.topic(["sex"], str(UTRECHT))[0].shares == SHARES
    store.close()


@pytest.mark.parametrize(
    "changes",
    [
        {"source": ""}, {"codes": ["sex", "x/a"]}, {"shares": {}}, {"shares": {"F": 0.5, "M": 0.4}},
        {"shares": {"F": 1.5, "M": -0.5}},
        {"shares": {"F": 1}}, {"shares": {"": 0.5, "M": 0.5}}, {"shares": {"a\nb": 0.5, "M": 0.5}}, {"source": "x" * 201},
        {"shares": {str(i): 1 / (MOST_SHARES + 1) for i in range(MOST_SHARES + 1)}},
    ],
)  # fmt: skip
def test_shares_that_no_public_table_has_are_refused(changes):
    with pytest.raises((UsageError, DataError)):
        public(**changes)


def test_as_many_shares_as_may_be_and_a_sum_at_its_edge():
    assert public(shares={str(i): 1 / MOST_SHARES for i in range(MOST_SHARES)}).shares
    assert public(shares={"F": 0.5, "M": 0.50014}).shares
    with pytest.raises(DataError, match="add up"):
        public(shares={"F": 0.5, "M": 0.50016})
