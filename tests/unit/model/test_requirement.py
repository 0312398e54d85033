"""The language of requirements: text, policy form and JSON say the same; each limit is decided at the limit and beside it."""

from __future__ import annotations

import json
import math
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from shoal.errors import PolicyError, RequirementError, UsageError
from shoal.model import requirement as req
from shoal.model.compare import TOLERANCE, at_least, at_most, below, class_for, equal, most_of, slack
from shoal.model.requirement import Reading, Requirement, require_of, requirements_of

# requirement, its text, its place in a policy with the value there, numbers found that just meet it and just do not
ALL = [
    (req.K(5), "k>=5", {"k": 5}, 5, 4),
    (req.KMap(20), "k_map>=20", {"k_map": 20}, 20, 19),
    (req.MaxRisk(0.09), "risk.prosecutor<=0.09", {"risk": {"prosecutor": 0.09}}, 1 / 12, 1 / 11),
    (req.MaxRisk(0.2, "journalist"), "risk.journalist<=0.2", {"risk": {"journalist": 0.2}}, 1 / 5, 1 / 4),
    (req.DistinctDiversity("ill", 3), "distinct[ill]>=3", {"diversity": {"ill": {"distinct": 3}}}, 3, 2),
    (req.PSensitive("ill", 3), "p[ill]>=3", {"diversity": {"ill": {"p_sensitive": 3}}}, 3, 2),
    (req.EntropyDiversity("ill", 2.5), "entropy[ill]>=2.5", {"diversity": {"ill": {"entropy": 2.5}}}, 2.5, 2.49999),
    (
        req.RecursiveDiversity("ill", 3.0, 2),
        "recursive[ill, l=2]<3",
        {"diversity": {"ill": {"recursive": {"c": 3.0, "l": 2}}}},
        2.99999,
        3.0,
    ),
    (req.AlphaK("ill", 0.5), "alpha[ill]<=0.5", {"diversity": {"ill": {"alpha": 0.5}}}, 0.5, 0.50001),
    (req.TCloseness("ill", 0.2), "t[ill, equal]<=0.2", {"closeness": {"ill": {"t": 0.2, "distance": "equal"}}}, 0.2, 0.20001),
    (
        req.TCloseness("ill", 0.2, "ordered"),
        "t[ill, ordered]<=0.2",
        {"closeness": {"ill": {"t": 0.2, "distance": "ordered"}}},
        0.2,
        0.20001,
    ),
    (
        req.TCloseness("ill", 0.2, "hierarchical"),
        "t[ill, hierarchical]<=0.2",
        {"closeness": {"ill": {"t": 0.2, "distance": "hierarchical"}}},
        0.2,
        0.20001,
    ),
    (req.DeltaDisclosure("ill", 1.5), "delta[ill]<1.5", {"closeness": {"ill": {"delta": 1.5}}}, 1.49999, 1.5),
    (req.BasicBeta("ill", 1.0), "beta[ill]<=1", {"closeness": {"ill": {"beta": 1.0}}}, 1.0, 1.00001),
    (req.EnhancedBeta("ill", 1.0), "enhanced_beta[ill]<=1", {"closeness": {"ill": {"enhanced_beta": 1.0}}}, 1.0, 1.00001),
    (req.AverageRisk(0.2), "risk.average<=0.2", {"risk": {"average": 0.2}}, 0.2, 0.20001),
    (req.AverageRisk(0.2, "marketer"), "risk.marketer<=0.2", {"risk": {"marketer": 0.2}}, 0.2, 0.20001),
    (req.SampleUniqueness(0.1), "unique_share<=0.1", {"uniqueness": {"sample": 0.1}}, 0.1, 0.10001),
    (
        req.PopulationK(100, 17_500_000, 0.01),
        "population_k[17500000, beta=0.01]>=100",
        {"population_k": {"k": 100, "of": 17_500_000, "beta": 0.01}},
        100,
        99,
    ),
    (
        req.PopulationUniqueness(0.01, 17_500_000),
        "population_unique_share[17500000]<=0.01",
        {"uniqueness": {"population": {"share": 0.01, "of": 17_500_000, "method": "dankar"}}},
        0.01,
        0.01001,
    ),
    (req.Linkage(0.05), "linkage<=0.05", {"linkage": 0.05}, 0.05, 0.05001),
    (req.KnownColumns(0.05), "known_columns<=0.05", {"known_columns": 0.05}, 0.05, 0.05001),
    (req.KnownRecords(2, 5), "known[2]>=5", {"known": {"records": 2, "k": 5}}, 5, 4),
    (req.KnownAbsence(2, 5), "absent[2]>=5", {"absent": {"records": 2, "k": 5}}, 5, 4),
    (req.KnownLength(2, 5), "length[2]>=5", {"length": {"records": 2, "k": 5}}, 5, 4),
    (req.NearRecords(2, 5, "1h"), "near[2, 1h]>=5", {"near": {"records": 2, "k": 5, "time": "1h"}}, 5, 4),
    (req.Unicity(4, 0.05), "unicity[4]<=0.05", {"unicity": {"records": 4, "share": 0.05}}, 0.05, 0.05001),
    (req.InferredHome(2, 0.5), "home[2]<=0.5", {"home": {"records": 2, "share": 0.5}}, 0.5, 0.50001),
    (req.InferredWork(2, 0.5), "work[2]<=0.5", {"work": {"records": 2, "share": 0.5}}, 0.5, 0.50001),
    (req.InferredNext(1, 0.5), "next[1]<=0.5", {"next": {"records": 1, "share": 0.5}}, 0.5, 0.50001),
]
IDS = [text for _, text, _, _, _ in ALL]


def test_every_kind_is_in_the_table():
    assert {type(r) for r, *_ in ALL} == set(req.requirement_kinds().values())


@pytest.mark.parametrize(("asked", "text", "said", "enough", "short"), ALL, ids=IDS)
def test_one_requirement_in_all_its_forms(asked, text, said, enough, short):
    assert Requirement.parse(text) == asked
    assert str(asked) == text
    assert requirements_of(said) == requirements_of([text]) == (asked,)
    assert require_of([asked]) == said
    assert asked.name == ".".join(asked.place)
    assert asked.sentence()


@pytest.mark.parametrize(("asked", "text", "said", "enough", "short"), ALL, ids=IDS)
def test_a_limit_is_decided_at_the_limit_and_one_step_beside_it(asked, text, said, enough, short):
    assert asked.judged(enough).met
    assert asked.holds(enough)
    assert not asked.judged(short).met
    assert not asked.holds(short)
    for nothing in (None, math.inf, math.nan):
        assert not asked.judged(nothing).met
        assert asked.judged(nothing).found is None
    shown = asked.judged(enough).to_json()
    assert shown == {"requirement": asked.name, "sentence": asked.sentence(), "asked": asked.limit, "found": enough, "met": True}


COUNTS = req.K | req.KMap | req.MaxRisk | req.DistinctDiversity | req.PSensitive | req.KnownRecords | req.NearRecords
REALS = [r for r, *_ in ALL if not isinstance(r, COUNTS)]


@pytest.mark.parametrize("asked", REALS, ids=str)
def test_real_numbers_have_one_tolerance(asked):
    """Missed by half the tolerance: met where the limit may be reached. A limit that may not be reached must be clear of it."""
    way = {"<=": 1, ">=": -1, "<": -1}[asked.sign]
    half, double = way * 0.5 * slack(asked.limit), way * 2 * slack(asked.limit)
    assert asked.judged(asked.limit + half).met is (asked.sign != "<")
    assert asked.judged(asked.limit + double).met is (asked.sign == "<")


@pytest.mark.parametrize("attacker", ["prosecutor", "journalist"])
@pytest.mark.parametrize(
    ("risk", "k"), [(1 / 3, 3), (0.33333333333, 3), (0.3333, 4), (0.09, 12), (0.1, 10), (1e-6, 10**6), (1.0, 1)]
)
def test_a_risk_is_decided_by_the_size_of_the_class(attacker, risk, k):
    asked = req.MaxRisk(risk, attacker)
    assert asked.k == class_for(risk) == k
    assert asked.judged(1 / k).met
    assert k == 1 or not asked.judged(1 / (k - 1)).met


def test_the_comparison_rule():
    assert (TOLERANCE, slack(0.5), slack(-250.0)) == (1e-9, 1e-9, 250 * 1e-9)
    assert not at_least(4, 5)
    assert at_least(5, 5)
    assert not at_most(6, 5)
    assert at_most(5, 5)
    assert below(4, 5)
    assert not below(5, 5)
    big = 10**15
    assert not at_least(big - 1, big)
    assert at_least(float(big - 1), big)
    assert not at_least(np.int64(4), 5)
    assert at_least(np.int64(5), 5)
    assert equal(0.1 + 0.2, 0.3)
    assert not equal(0.3 + 2e-9, 0.3)


@pytest.mark.parametrize(("share", "total", "most"), [(0.1, 30, 3), (0.1, 29, 2), (0.0, 10**9, 0), (1.0, 7, 7), (0.29, 100, 29)])
def test_a_share_of_a_count(share, total, most):
    assert most_of(share, total) == most


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("k > 4", req.K(5)),
        ("t[ill]<=0.2", req.TCloseness("ill", 0.2)),
        (" k ≥ 5.0 ", req.K(5)),
        ("l[ill]>=2", req.DistinctDiversity("ill", 2)),
        ("risk<=9%", req.MaxRisk(0.09)),
        ("risk.max<=0.2", req.MaxRisk(0.2)),
        ("journalist.max ≤ 0.2", req.MaxRisk(0.2, "journalist")),
        ("prosecutor.mean<=0.2", req.AverageRisk(0.2)),
        ("marketer<=0.2", req.AverageRisk(0.2, "marketer")),
        ("recursive[ill]>=2", req.RecursiveDiversity("ill", 3.0, 2)),
        ("recursive[ill]>1", req.RecursiveDiversity("ill", 3.0, 2)),
        ("recursive[ill, c=4.5]>=2", req.RecursiveDiversity("ill", 4.5, 2)),
        ("t[a, b]<=0.2", req.TCloseness("a, b", 0.2)),
        ('t["a, ordered"]<=0.2', req.TCloseness("a, ordered", 0.2)),
        ('t["x]y", ordered]<=0.2', req.TCloseness("x]y", 0.2, "ordered")),
        ("population_k[17_500_000]>=20", req.PopulationK(20, 17_500_000, 0.05)),
        ("population_k[1000, 1e-05]>19", req.PopulationK(20, 1000, 0.00001)),
        ("population_unique_share[1_000, pitman]<=1%", req.PopulationUniqueness(0.01, 1000, "pitman")),
    ],
)
def test_other_spellings(text, means):
    assert Requirement.parse(text) == means
    assert Requirement.parse(str(means)) == means


def test_what_a_text_leaves_unsaid():
    one = Reading(sensitive=("ill",), distances={"ill": "ordered"}, c=4.0)
    assert Requirement.parse("t<=0.2", one) == req.TCloseness("ill", 0.2, "ordered")
    assert Requirement.parse("t[ill, equal]<=0.2", one) == req.TCloseness("ill", 0.2)
    assert Requirement.parse("recursive>=2", one) == req.RecursiveDiversity("ill", 4.0, 2)
    with pytest.raises(UsageError, match="needs a sensitive column"):
        Requirement.parse("t<=0.2", Reading(sensitive=("a", "b")))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k>=-5", "at least 2"),
        ("k>=0", "at least 2"),
        ("k>=1", "at least 2"),
        ("k>=2.5", "whole number"),
        ("k<=5", "asked for with '>='"),
        ("k[ill]>=5", "nothing in brackets"),
        ("distinct[ill]>=0", "at least 1"),
        ("entropy[ill]>=0.5", "above 1"),
        ("t[ill]<=1.5", "between 0 and 1"),
        ("t[ill]<=-0.1", "between 0 and 1"),
        ("delta[ill]<=2", "asked for with '<'"),
        ("alpha[ill]<=0", "between 0 and 1"),
        ("beta[ill]<=0", "above 0"),
        ("risk.prosecutor<=0", "between 0 and 1"),
        ("recursive[ill, l=2]<0", "above 0"),
        ("recursive[ill]<3", "needs both c and l"),
        ("recursive[ill, l=1.5]<3", "whole number"),
        ("unique_share<=2", "between 0 and 1"),
        ("population_k>=5", "number of people"),
        ("population_k[many]>=5", "number of people"),
        ("population_k[100, beta=often]>=5", "number of people"),
        ("population_k[100, 0.1, 0.2]>=5", "number of people"),
        ("population_k[100, beta=0.6]>=5", "at most 0.5"),
        ("population_k[100, beta=0]>=5", "between 0 and 1"),
        ("population_k[4]>=5", "at most the 4 people"),
        ("population_k[100]>=1", "at least 2"),
        ("population_unique_share<=0.1", "number of people"),
        ("population_unique_share[0]<=0.1", "at least 1"),
        ("entropi[ill]>=2", "is not a requirement"),
        ("k>=", "is not understood"),
        ("k>=1e999", "is not a number"),
    ],
)
def test_nonsense_is_refused_in_words(text, words):
    with pytest.raises(UsageError, match=words) as error:
        Requirement.parse(text)
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"kk": 5}, "'require.kk' is not known"),
        ({"risk": {"prosecuter": 0.1}}, "'require.risk.prosecuter' is not known"),
        ({"diversity": {"ill": {"entropie": 2}}}, "'require.diversity.ill.entropie' is not known"),
        ({"closeness": {"ill": {"distance": "equal"}}}, "lacks 't'"),
        ({"diversity": {"ill": {"recursive": {"c": 3}}}}, "lacks 'l'"),
        ({"uniqueness": {"population": {"share": 0.1}}}, "lacks 'of'"),
        ({"risk": 0.1}, "is not a group"),
        (["k>=5", "k>=6"], "'require.k' is stated twice"),
    ],
)
def test_a_policy_form_that_does_not_fit_is_refused(said, words):
    with pytest.raises(PolicyError, match=words):
        requirements_of(said)


def test_all_at_once_come_back_in_order():
    asked = [r for r, *_ in ALL if r.name != "closeness.ill.t"] + [req.TCloseness("ill", 0.2)]
    said = require_of(asked)
    assert list(said) == [
        "k",
        "k_map",
        "population_k",
        "risk",
        "uniqueness",
        "diversity",
        "closeness",
        "linkage",
        "known_columns",
        "known",
        "absent",
        "length",
        "near",
        "unicity",
        "home",
        "work",
        "next",
    ]
    assert require_of(requirements_of(said)) == said
    assert set(requirements_of(said)) == set(asked)


def test_the_page_on_requirements_lists_every_kind_as_it_is_read():
    page = (Path(__file__).parents[3] / "docs/requirements.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .*\| `([^`]+)` \| `([^`]+)` \|$", page, flags=re.M)
    seen = set()
    for text, said in rows:
        asked = Requirement.parse(text)
        assert requirements_of(YAML(typ="safe").load(said)) == (asked,)
        assert str(asked) == text
        seen.add(type(asked))
    assert seen == set(req.requirement_kinds().values())


def test_the_published_schema_of_a_policy_is_that_of_the_classes() -> None:
    published = json.loads(files("shoal.release.policy").joinpath("policy.schema.json").read_text(encoding="utf-8"))

    def resolved(node: Any) -> Any:
        if isinstance(node, list):
            return [resolved(part) for part in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = published["$defs"][node["$ref"].removeprefix("#/$defs/")]
            return resolved({**target, **{name: part for name, part in node.items() if name != "$ref"}})
        return {name: resolved(part) for name, part in node.items()}

    assert resolved(published["$defs"]["require"]) == req.require_schema()


@pytest.mark.parametrize("kind", req.requirement_kinds().values(), ids=lambda kind: kind.kind)
def test_every_kind_states_its_policy_form_and_its_names(kind: type[Requirement]) -> None:
    assert kind.policy_keys()
    assert kind.spellings
    assert kind.bound in kind.__dataclass_fields__
    assert all(kind.renamed.get(name, name) in kind.__dataclass_fields__ for name in kind.option_fields)
    assert kind.figure or kind.scope == "trace" or kind.on_file or kind.table_limit


def test_a_verdict_that_is_not_met_can_be_required_only_to_raise() -> None:
    met, missed = req.K(5).judged(5), req.K(5).judged(4)
    assert met.require() is met
    with pytest.raises(RequirementError, match="not met: "):
        missed.require()


def test_limits_of_the_k_of_a_population() -> None:
    assert (
        req.PopulationK(20, 20, 0.5).sentence()
        == "every record matches at least 20 of 20 people with a probability of at least 0.5"
    )
    for k, people, beta in ((21, 20, 0.5), (20, 20, 0.5001)):
        with pytest.raises(UsageError, match="k of at most the 20 people"):
            req.PopulationK(k, people, beta)


def test_a_largest_risk_of_nothing_is_no_risk_that_was_found() -> None:
    assert not req.MaxRisk(0.2).judged(0.0).met


@pytest.mark.parametrize("wrong", [0, 0.999, True, False])
def test_entropy_below_one_value_or_of_a_truth_value_is_refused(wrong: float) -> None:
    assert req.EntropyDiversity("ill", 1).l == 1
    with pytest.raises(UsageError):
        req.EntropyDiversity("ill", wrong)


def test_recursive_diversity_of_one_value_limits_nothing() -> None:
    """The first value of a class is compared with all of them: 3 times the whole is always more."""
    share = np.array([0.5, 0.3, 0.2])
    assert req.RecursiveDiversity("ill", 3.0, 1).value_limit(share) is None
    limit = req.RecursiveDiversity("ill", 3.0, 2).value_limit(share)
    assert limit.first < 3.0 == pytest.approx(limit.first, rel=1e-6), "below c, not at it"


@pytest.mark.parametrize(("delta", "factor"), [(1.5, math.exp(1.5)), (700.0, math.exp(700.0)), (800.0, math.exp(700.0))])
def test_delta_disclosure_bounds_each_value_by_its_share(delta: float, factor: float) -> None:
    """Beyond e to the 700 a number has no room; no share of a class can reach that."""
    share = np.array([0.5, 0.3, 0.2])
    limit = req.DeltaDisclosure("ill", delta).value_limit(share)
    assert limit.first < delta == pytest.approx(limit.first, rel=1e-6), "below delta, not at it"
    assert limit.limits.tolist() == pytest.approx((factor * share).tolist(), rel=1e-12)
