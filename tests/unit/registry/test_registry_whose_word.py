"""Nobody's word over another's: names belong to keys, and without anchors a holder's record never narrows what others say."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from registry_support import AGES, UTRECHT, five_years
from registry_support import make as made_by
from shoal.errors import AccessError, UsageError
from shoal.kernels.signatures import signer
from shoal.registry.answer.answer import analysed, shown
from shoal.registry.answer.decide import decide
from shoal.registry.answer.exposure import exposure, places_of
from shoal.registry.answer.query import MOST_RIVALS, SET_ASIDE, Registry
from shoal.registry.keep.builtin import KEY, BuiltIn
from shoal.registry.keep.mirror import Mirror, write_mirror
from shoal.registry.keep.store import Store
from shoal.registry.publish.proposals import Ledger, propose, publish
from shoal.registry.records.population import Population
from shoal.registry.records.summary import Rounded
from shoal.registry.records.trust import Statement

BOTH = [half for c in AGES for half in (c // 2, c - c // 2)]
LIE = [3000] * 22 + [50] * 73
"""Possible beside the honest records, and false: far fewer people would be alone."""
GROUP = 100
TRUE = sum(c / sum(AGES) * (1 - c / sum(AGES)) ** (GROUP - 1) for c in AGES)


@pytest.fixture
def shelf():
    made = Store()
    yield made
    made.close()


def make(*given, key=None, **more):
    """A record of a holder of its own, unless a key is given."""
    return made_by(*given, key=key or signer(), **more)


def endorse(store, by, whom, number=1, kind="endorse"):
    store.state(Statement(kind, whom.public, "", "2025-01-01", number).signed(by))


def test_a_store_takes_no_record_under_the_name_of_another_key(shelf):
    first, second, third = signer(), signer(), signer()
    shelf.submit(make(AGES, key=first, holder="A hospital"))
    for name in ("A hospital", "a  HOSPITAL".replace("  ", " "), "A-hospital"):
        with pytest.raises(AccessError, match="belongs to another key"):
            shelf.submit(make(AGES, key=second, holder=name))
    assert shelf.head()[0] == 1
    endorse(shelf, first, second)
    shelf.submit(make(AGES, key=second, holder="A hospital"))
    with pytest.raises(AccessError, match="belongs to another key"):
        shelf.submit(make(AGES, key=third, holder="A hospital"))


def test_a_name_that_looks_like_another_holders_belongs_to_that_key(shelf):
    first, second = signer(), signer()
    shelf.submit(make(AGES, key=first, holder="Statistics Office"))
    for name in (
        "Statistics 0ffice",
        "Stat1stics Office",
        "Statist\u0131cs Office",
        "St\u0251tistics Office",
        "StatIstics OffIce",
    ):
        with pytest.raises(AccessError, match="belongs to another key"):
            shelf.submit(make(AGES, key=second, holder=name))
    for name in ("Stat\ufb01 B", "Bureau\u034f", "Bureau\u3164 B"):
        with pytest.raises(UsageError):
            shelf.submit(make(AGES, key=second, holder=name))
    shelf.submit(make(AGES, key=second, holder="Statistics Bureau"))


def test_a_name_that_became_free_belongs_to_the_next_key(shelf):
    first, second, third = signer(), signer(), signer()
    shelf.submit(make(AGES, key=first, holder="A hospital"))
    endorse(shelf, first, first, kind="revoke-key")
    shelf.submit(make(AGES, key=second, holder="A hospital"))
    with pytest.raises(AccessError, match="belongs to another key"):
        shelf.submit(make(AGES, key=third, holder="A hospital"))


@pytest.mark.parametrize(
    "honest",
    [
        [(BOTH, ("age/years", "sex"), 190)],
        [(five_years(AGES), ("age/5y",), 19)],
        [(BOTH, ("age/years", "sex"), 190), (five_years(AGES), ("age/5y",), 19)],
    ],
    ids=["finer", "coarser", "both"],
)
def test_a_record_that_fits_better_narrows_nothing_that_others_say(shelf, honest, tmp_path):
    key, stranger = signer(), signer()
    for counts, codes, cells in honest:
        shelf.submit(make(counts, codes, key=key, cells=cells))
    alone = Registry(shelf).query(["age/years"], UTRECHT).unique_share(GROUP)
    assert alone.low <= TRUE <= alone.high
    lie = shelf.submit(make(LIE, ("age/years",), key=stranger, cells=95))
    said = Registry(shelf).query(["age/years"], UTRECHT)
    share = said.unique_share(GROUP)
    assert (share.low, share.high) == (0.0 if alone.low == 0 else pytest.approx(min(alone.low, 0.05), abs=0.02), alone.high)
    assert share.value >= alone.value
    assert share.grade == "C"
    assert shown(said)["best"] == lie.id
    assert shown(said)["others"]
    assert "smallest_group" not in analysed(said, GROUP)
    assert any("--trust" in note for note in said.notes)
    copy = Mirror(write_mirror(shelf, tmp_path / "m"))
    assert Registry(copy).query(["age/years"], UTRECHT).unique_share(GROUP) == share
    trusting = Registry(shelf, anchors=[key.public]).query(["age/years"], UTRECHT)
    assert {r.key for r in trusting.records} == {key.public}
    assert trusting.unique_share(GROUP).low <= TRUE <= trusting.unique_share(GROUP).high


def test_margins_and_a_lie_about_both_together(shelf):
    key = signer()
    shelf.submit(make(AGES, key=key, cells=95))
    shelf.submit(make([sum(BOTH[::2]), sum(BOTH[1::2])], ("sex",), key=key, cells=2))
    alone = Registry(shelf).query(["age/years", "sex"], UTRECHT).unique_share(GROUP)
    shelf.submit(make([c // 2 for c in LIE for _ in (0, 1)], ("age/years", "sex"), cells=190))
    share = Registry(shelf).query(["age/years", "sex"], UTRECHT).unique_share(GROUP)
    assert share.low <= alone.low <= alone.high <= share.high
    assert share.grade == "C"


def test_whoever_vouches_for_a_record_is_no_rival_and_vouching_for_oneself_does_not_help(shelf):
    key, other = signer(), signer()
    shelf.submit(make(BOTH, ("age/years", "sex"), key=key, cells=190))
    shelf.submit(make(AGES, key=other, cells=95))
    assert Registry(shelf).query(["age/years"], UTRECHT).rivals
    endorse(shelf, other, key)  # the newcomer says that it trusts the first
    assert Registry(shelf).query(["age/years"], UTRECHT).rivals
    endorse(shelf, key, other)
    assert not Registry(shelf).query(["age/years"], UTRECHT).rivals
    assert shown(Registry(shelf).query(["age/years"], UTRECHT))["others"] == []


def test_holders_who_publish_the_same_topic_and_agree_stay_grade_b(shelf):
    key, other = signer(), signer()
    shelf.submit(make(AGES, cells=95, key=key))
    shelf.submit(make(AGES, cells=95, key=other))
    assert Registry(shelf, anchors=[key.public, other.public]).query(["age/years"], UTRECHT).unique_share(GROUP).grade == "B"


def test_a_vague_newer_record_does_not_replace_an_exact_one(shelf):
    first = shelf.submit(make(AGES, cells=95))
    liar = signer()
    vague = replace(
        first, holder="Vague", date="2025-02-01",
        summary=replace(first.summary, statistics={n: Rounded(r.value, 0.5) for n, r in first.summary.statistics.items()}),
    ).signed(liar)  # fmt: skip
    shelf.submit(vague)
    answer = Registry(shelf).query(["age/years"], UTRECHT)
    assert answer.dispute is None
    assert answer.best.id == first.id
    newer = shelf.submit(make(AGES, cells=95, date="2025-03-01"))
    assert Registry(shelf).query(["age/years"], UTRECHT).best.id == newer.id


@pytest.mark.parametrize(("others", "known"), [(MOST_RIVALS - 1, True), (MOST_RIVALS, False)])
def test_so_many_holders_are_heard_and_beyond_that_anything_is_possible(shelf, others, known):
    shelf.submit(make(AGES, cells=95))
    shelf.submit_many([make([30_000, 31_000], ("sex",), cells=2) for _ in range(others)])
    share = Registry(shelf).query(["age/years"], UTRECHT).unique_share(GROUP)
    assert ((share.low, share.high) != (0.0, 1.0)) is known


def neighbours(store, key, counts, names):
    store.submit_many(
        [
            make(counts, ("age/years", "sex"), key=key, cells=190, population=Population.parse(f"Shoalland/{n}@2021"))
            for n in names
        ]
    )


@pytest.mark.parametrize("trusting", [True, False])
def test_made_up_neighbours_do_not_move_the_estimate(shelf, trusting):
    key, stranger = signer(), signer()
    neighbours(shelf, key, BOTH, [f"P{i}" for i in range(5)])
    shelf.submit(make(BOTH, ("age/years", "sex"), key=key, cells=190, population=Population.parse("Shoalland@2021")))
    anchors = [key.public] if trusting else []
    ask = (["age/years", "sex"], "Shoalland/Q@2021")
    before = Registry(shelf, anchors=anchors).query(*ask).unique_share(GROUP)
    assert before.details["neighbours"]["populations"] == 5
    neighbours(shelf, stranger, [c // 2 for c in LIE for _ in (0, 1)], [f"A{i}" for i in range(45)])
    after = Registry(shelf, anchors=anchors).query(*ask).unique_share(GROUP)
    assert (after.value, after.low, after.high) == (before.value, before.low, before.high)


def test_neighbours_of_other_holders_are_said_to_be_so(shelf):
    shelf.submit(make(BOTH, ("age/years", "sex"), cells=190, population=Population.parse("Shoalland@2021")))
    neighbours(shelf, signer(), BOTH, [f"P{i}" for i in range(5)])
    share = Registry(shelf).query(["age/years", "sex"], "Shoalland/Q@2021").unique_share(GROUP)
    assert any("other holders" in n for n in share.notes)


def test_no_advice_rests_on_the_lie(shelf):
    shelf.submit(make(BOTH, ("age/years", "sex"), cells=190))
    shelf.submit(make([6000] * 11 + [1] * 84, ("age/years",), cells=95))
    made = decide(Registry(shelf), ["age/years"], UTRECHT, group_size=GROUP, target=0.05)
    assert made.before.high >= TRUE
    assert not any(line.advice == "collect" for line in made.lines)


def public(counts, key, **more):
    """A record of a public table with the shares of its answers."""
    total = sum(counts.values())
    shares = {a: round(c / total, 4) for a, c in counts.items()}
    name = f"Office {key.fingerprint}"
    ledger = Ledger()
    given = {"holder": name, "date": "2025-01-15", "ledger": ledger, "cells": len(counts), "source": "A table", **more}
    return publish(propose(list(counts.values()), ("sex",), UTRECHT, shares=shares, **given), key, ledger)


def test_a_person_is_not_hidden_by_a_strangers_shares_or_size(shelf, tmp_path):
    key, stranger = signer(), signer()
    shelf.submit(public({"F": 200, "M": 9800}, key))
    honest = exposure(shelf, "NL/Utrecht@2021", [("sex", "F")])
    assert (honest.grade, round(honest.crowd[0])) == ("C", 200), "nobody was named to trust"
    shelf.submit(public({"F": 9_800_000, "M": 200_000}, stranger, date="2025-02-01"))
    doubted = exposure(shelf, "NL/Utrecht@2021", [("sex", "F")])
    assert (doubted.grade, round(doubted.crowd[0])) == ("C", 200)
    assert doubted.crowd[2] >= honest.crowd[2]
    trusting = exposure(shelf, "NL/Utrecht@2021", [("sex", "F")], anchors=[key.public])
    assert trusting.to_json() == {**honest.to_json(), "grade": "B"}
    page = places_of(shelf)["NL/Utrecht@2021"]["attributes"]["sex"]
    assert page["doubt"] is True
    assert page["shares"] == {"F": 0.02, "M": 0.02}
    assert places_of(shelf, anchors=[key.public])["NL/Utrecht@2021"]["attributes"]["sex"]["doubt"] is False
    json.dumps(places_of(shelf))


@pytest.mark.parametrize("place", ["RU/МОСКВА", "RU/ТОМСК", "RU/Оса", "GR/ΑΤΤΙΚΗ", "EL/ΑΤΤΙΚΗ", "BG/СОФИЯ"])
def test_capitals_of_a_countrys_own_letters_are_names(place):
    found = Population.parse(f"{place}@2021")
    assert found.key == Population.parse(f"{place.lower()}@2021").key == Population.parse(found.key).key


@pytest.mark.parametrize("place", ["NL/МОСКВА", "UK/Тор", "UK/ТОР", "GR/МОСКВА", "RU/ΑΤΤΙΚΗ", "RU/MОСКВА", "GR/ΑΒ", "RU/ОС"])
def test_elsewhere_in_two_scripts_or_as_short_as_a_code_they_pass_for_others(place):
    with pytest.raises(Exception, match="pass for others"):
        Population.parse(f"{place}@2021")


def test_shoals_own_counts_stand_beside_a_strangers_record_of_the_same_place(shelf):
    """The key comes with the package: a key that nobody named neither replaces its counts nor takes their proof away."""
    counted = BuiltIn().topic(("age/5y", "sex"), str(UTRECHT))[0]
    plain = Registry().query(["age/10y", "sex"], UTRECHT).unique_share(GROUP)
    shelf.submit(counted)
    shelf.submit(make(LIE, ("age/years",), cells=95))
    for codes in (["age/10y", "sex"], ["age/5y", "sex"]):
        said = Registry(shelf).query(codes, UTRECHT)
        assert {r.key for r in said.records} == {KEY}
        assert said.notes[-1] == SET_ASIDE
        assert said.unique_share(GROUP).to_json() == Registry().query(codes, UTRECHT).unique_share(GROUP).to_json()
    assert plain.grade == "B"


def test_an_unknown_keys_answer_says_what_it_would_be_without_it(shelf):
    shelf.submit(make([c // 2 for c in five_years(LIE) for _ in (0, 1)], ("age/5y", "sex"), cells=38))
    said = Registry(shelf).query(["age/5y", "sex"], UTRECHT).unique_share(GROUP)
    own = Registry().query(["age/5y", "sex"], UTRECHT).unique_share(GROUP)
    assert said.grade == "C"
    assert (said.value, said.low) == (own.value, own.low), "the lie of an unknown key lowers nothing that is proven"
    assert said.high >= own.high
    assert "expected_crowd" not in analysed(Registry(shelf).query(["age/5y", "sex"], UTRECHT), GROUP)
    decision = decide(Registry(shelf), ["age/5y", "sex"], UTRECHT, group_size=100, target=0.05)
    assert decision.verdict == "beyond", "as Shoal's own counts prove"
    trusted = Registry(shelf).query(["age/5y", "sex"], UTRECHT, anchors=[shelf.topic(("age/5y", "sex"), str(UTRECHT))[0].key])
    assert trusted.unique_share(GROUP).value < own.low, "whoever names the key takes its word"
    assert f"By Shoal's own records alone: {own.value:.1%}, between {own.low:.1%} and {own.high:.1%}." in said.notes
    nowhere = Registry(shelf).query(["x/blood"], UTRECHT)
    assert nowhere.own is None


SAME = [20_000] + [1] * 94
"""A lie about any place: nearly everybody gives the same answers."""
LEEDS = "LAU:E08000035"


@pytest.mark.parametrize(
    ("codes", "population", "met"),
    [
        (("age/years", "sex", "x/job"), f"{LEEDS}@2019", "beyond"),  # age and sex alone are proven to miss it
        (("age/years", "sex"), f"{LEEDS}@2020", "not known"),  # proven of another year only
        (("age/5y", "sex"), "NL/Schiermonnikoog@2021", "not known"),  # known of its neighbours
        (("age/years", "sex"), "NL/Schiermonnikoog@2021", "not known"),  # known of them in a coarser coding
        (("age/years", "sex", "x/job"), "NL/Schiermonnikoog@2024", "not known"),  # and in another year
    ],
)
def test_an_unknown_key_is_bounded_by_what_shoal_knows_nearby(shelf, codes, population, met):
    lie = make(SAME, codes, cells=1000, population=Population.parse(population))
    shelf.submit(lie)
    made = decide(Registry(shelf), codes, population, group_size=GROUP, target=0.05)
    assert (made.verdict, made.before.grade) == (met, "C")
    assert any(note.startswith("By Shoal's own records") for note in made.before.notes)
    trusting = decide(Registry(shelf, anchors=[lie.key]), codes, population, group_size=GROUP, target=0.05)
    assert trusting.verdict == "within", "the asker's own trust is not overruled"


@pytest.mark.parametrize("place", [f"{LEEDS}@2019", "Shoalland/A@2021"])
def test_the_word_of_an_unknown_key_puts_nothing_within_a_target(shelf, place):
    codes, people = ("age/10y", "sex", "x/job"), Population.parse(place)
    lie = make(SAME, codes, cells=1000, population=people)
    shelf.submit(lie)
    made = decide(Registry(shelf), codes, people, group_size=GROUP, target=0.05)
    assert decide(Registry(shelf), ["x/job"], people, group_size=GROUP, target=0.05).sets == ()
    assert (made.verdict, made.before.high, made.enough) == ("not known", 1.0, None)
    offered = {code for codes, _ in made.sets for code in codes}
    assert offered == ({"age/10y", "sex"} if place != "Shoalland/A@2021" else set()), "what Shoal's own counts prove"
    assert any(note.startswith("By the word of a key that you did not name at most") for note in made.before.notes)
    assert made.before.low == (Registry().query(codes[:2], people).unique_share(GROUP).low if offered else 0)
    trusting = decide(Registry(shelf, anchors=[lie.key]), codes, people, group_size=GROUP, target=0.05)
    assert trusting.verdict == "within", "the asker's own trust is not overruled"
    told = Registry(shelf).query(codes, people).unique_share(GROUP)
    assert told.high < 1, "without a target its number is shown"


def test_of_a_place_without_records_only_the_word_of_the_key_is_there(shelf):
    shelf.submit(make(SAME, ("age/years", "sex"), cells=190, population=Population.parse("Shoalland/A@2021")))
    share = Registry(shelf).query(["age/years", "sex"], "Shoalland/A@2021").unique_share(GROUP)
    assert not any(note.startswith("By Shoal's own records") for note in share.notes)
