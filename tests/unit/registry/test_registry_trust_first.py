"""Whose word counts is settled before how well it fits: a stranger's exact record never overrides a trusted one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from registry_support import AGES, UTRECHT, make
from shoal.kernels.signatures import signer
from shoal.registry.answer.answer import analysed
from shoal.registry.answer.decide import decide
from shoal.registry.answer.query import Registry
from shoal.registry.records.population import Population
from shoal.registry.records.trust import ROOM, Statement, contradictions
from shoal.registry.records.vocabulary import most_merged

BOTH = [half for c in AGES for half in (c // 2, c - c // 2)]
HIDDEN = [sum(AGES) - 94 * 50, *[50] * 94]
"""A lie: nearly everybody has one age, so hardly anybody is alone."""
GROUP = 50


@pytest.fixture
def keys():
    return {"honest": signer(), "stranger": signer()}


@pytest.fixture
def attacked(store, keys):
    """An honest holder publishes age and sex together; a stranger, under the same name, a false record of age alone."""
    store.submit(make(BOTH, codes=("age/years", "sex"), cells=190, key=keys["honest"]))
    store.submit(make(HIDDEN, codes=("age/years",), cells=95, key=keys["stranger"]))
    return store


def true_share(counts, group):
    total = sum(counts)
    return sum(c / total * (1 - c / total) ** (group - 1) for c in counts)


def test_with_anchors_the_trusted_record_answers_though_a_strangers_fits_better(attacked, keys):
    answer = Registry(attacked, anchors=[keys["honest"].public]).query(["age/years"], UTRECHT)
    assert answer.fit == "finer coding"
    assert {r.key for r in answer.records} == {keys["honest"].public}
    assert any("Set aside" in note for note in answer.notes)
    share = answer.unique_share(GROUP)
    assert share.low <= true_share(AGES, GROUP) <= share.high
    assert share.grade == "C"


def test_without_anchors_the_contradiction_makes_the_answer_cautious(attacked):
    answer = Registry(attacked).query(["age/years"], UTRECHT)
    assert any("cannot make people so alike" in note for note in answer.notes)
    share = answer.unique_share(GROUP)
    assert share.grade == "C"
    assert share.low <= true_share(AGES, GROUP) <= share.high
    assert share.value >= true_share(AGES, GROUP)
    assert "smallest_group" not in analysed(answer, GROUP)


def test_nothing_is_decided_on_the_lie(attacked, keys):
    for anchors in ((), (keys["honest"].public,)):
        made = decide(Registry(attacked, anchors=anchors), ["age/years"], UTRECHT, group_size=GROUP, target=0.05)
        assert not made.reached or made.after is None or made.after.high <= 0.05
        assert not any(line.asked == "age/years" and line.advice == "collect" for line in made.lines)


def test_strangers_alone_prove_nothing_to_somebody_who_named_whom_to_trust(store, keys):
    store.submit(make(HIDDEN, cells=95, key=keys["stranger"]))
    trusting = Registry(store, anchors=[keys["honest"].public]).query(["age/years"], UTRECHT)
    share = trusting.unique_share(GROUP)
    assert (share.low, share.high, share.grade) == (0.0, 1.0, "C")
    assert trusting.strangers
    assert any("endorsed" in note for note in trusting.notes)
    open_ = Registry(store).query(["age/years"], UTRECHT).unique_share(GROUP)
    assert open_.grade == "C", "an unknown key's word alone"
    assert "--trust" in open_.notes[-1]
    assert open_.high < 1
    assert Registry(store, anchors=[keys["stranger"].public]).query(["age/years"], UTRECHT).unique_share(GROUP).grade == "B"


def test_a_trusted_wider_population_comes_before_a_strangers_own(store, keys):
    store.submit(make([20 * c for c in AGES], population=Population.parse("NL@2021"), cells=95, key=keys["honest"]))
    store.submit(make(HIDDEN, cells=95, key=keys["stranger"]))
    answer = Registry(store, anchors=[keys["honest"].public]).query(["age/years"], UTRECHT)
    assert answer.fit == "parent population"
    assert answer.elsewhere


@pytest.mark.parametrize("depth", range(1, 6))
def test_endorsements_of_strangers_by_strangers_lead_nowhere(attacked, keys, depth):
    """A chain of made-up keys that endorse each other up to the liar reaches nobody's anchors."""
    chain = [signer() for _ in range(depth)]
    for one, next_ in zip(chain, [*chain[1:], keys["stranger"]], strict=True):
        attacked.state(Statement("endorse", next_.public, "", "2025-01-01", 1).signed(one))
    attacked.state(Statement("endorse", chain[0].public, "", "2025-01-01", 1).signed(keys["stranger"]))
    answer = Registry(attacked, anchors=[keys["honest"].public]).query(["age/years"], UTRECHT)
    assert {r.key for r in answer.records} == {keys["honest"].public}


def test_an_endorsed_stranger_is_one_no_more(attacked, keys):
    attacked.state(Statement("endorse", keys["stranger"].public, "", "2025-01-01", 1).signed(keys["honest"]))
    answer = Registry(attacked, anchors=[keys["honest"].public]).query(["age/years"], UTRECHT)
    assert answer.fit == "exact"
    assert answer.unique_share(GROUP).grade == "C"  # and still contradicts the other


def test_honest_records_do_not_contradict_each_other():
    fine = make(BOTH, codes=("age/years", "sex"), cells=190)
    coarse = [make(AGES, cells=95), make([sum(BOTH[::2]), sum(BOTH[1::2])], codes=("sex",), cells=2)]
    assert contradictions(fine, coarse) == []
    assert all(contradictions(r, [fine]) == [] for r in coarse)


def test_the_bound_holds_to_its_edge():
    fine, coarse = make(BOTH, codes=("age/years", "sex"), cells=190), make(AGES, cells=95)
    most = most_merged(coarse.codes, fine.codes)
    edge = fine.summary.statistics["h2"].low - math.log(ROOM * most)

    def at(value):
        entry = coarse.summary.statistics["h2"]
        half = (entry.high - entry.low) / 2
        moved = replace(entry, value=value - half)
        statistics = {**coarse.summary.statistics, "h2": moved}
        return replace(coarse, summary=replace(coarse.summary, statistics=statistics))

    above, below = at(edge + 1e-6), at(edge - 0.02)
    assert contradictions(above, [fine]) == []
    assert "cannot make people so alike" in contradictions(below, [fine])[0][1]
