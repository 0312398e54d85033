"""Policies: what is understood, what is refused, and that the published schema says the same as the loader."""

from __future__ import annotations

import contextlib
import copy
import json
import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import PolicyError, RoleError, UnreadableError
from shoal.model.requirement import DistinctDiversity, EntropyDiversity, TCloseness
from shoal.model.roles import Column, Schema
from shoal.model.seed import LEAST_SEED
from shoal.release.plan.decide import decide
from shoal.release.plan.prepare import prepare
from shoal.release.policy import file as policy_file
from shoal.release.policy.build import transforms_of
from shoal.release.policy.policy import Policy
from shoal.release.policy.presets import PRESETS, preset

FULL = """\
# who sees it decides everything
title: Visits 2025
roles:
  direct: [name]
  quasi:                       # known to neighbours
    age: {hierarchy: {intervals: [5, 10, 20], top: 90}, weight: 2}
    zip: {hierarchy: zip_hierarchy.csv}
    sex: {}
  sensitive: [diagnosis]
  insensitive: [visit_cost]
require: {k: 5, diversity: {diagnosis: {entropy: 3}}, closeness: {diagnosis: {t: 0.2, distance: equal}}, risk: {journalist: 0.09}}
allow: {suppress: 0.02}
optimize: loss
method: lattice                # the optimum
preset: ema-public
"""


def test_the_policy_of_the_architecture_is_understood():
    p = Policy.parse(FULL)
    assert list(p.quasi) == ["age", "zip", "sex"]
    assert p.quasi["age"].weight == 2
    assert p.quasi["age"].hierarchy == {"intervals": [5, 10, 20], "top": 90}
    assert p.asked_of("diagnosis", EntropyDiversity) == EntropyDiversity("diagnosis", 3)
    assert p.asked_of("diagnosis", TCloseness).t == 0.2
    assert {str(r) for r in p.requirements} > {"risk.journalist<=0.09", "risk.prosecutor<=0.09"}
    assert p.smallest_class == 12, "1/11 is 0.0909, more than 0.09"
    assert p.suppress == 0.02


def test_comments_survive_a_round_trip_and_an_edit():
    p = Policy.parse(FULL)
    assert p.to_yaml().count("#") == FULL.count("#")
    changed = p.edited("require.k", 25)
    assert changed.k == 25
    assert "# known to neighbours" in changed.to_yaml()
    assert "# the optimum" in changed.to_yaml()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("require: {k: 0}", "require.k"),
        ("require: {k: 1}", "require.k"),
        ("require: {k: -5}", "require.k"),
        ("require: {k: .nan}", "require.k"),
        ("require: {k: .inf}", "require.k"),
        ("require: {k: 5.5}", "require.k"),
        ("require: {k: true}", "require.k"),
        ("require: {k: '5'}", "require.k"),
        ("require: {k: }", "require.k"),
        ("require: {risk: {prosecutor: 0}}", "require.risk.prosecutor"),
        ("require: {risk: {prosecutor: .nan}}", "require.risk.prosecutor"),
        ("require: {risk: {prosecutor: 1.5}}", "require.risk.prosecutor"),
        ("require: {k: 5}\nallow: {suppress: 5}", "allow.suppress"),
        ("require: {k: 5}\nallow: {suppress: -0.1}", "allow.suppress"),
        ("require: {k: 5}\nallow: {suppress: .nan}", "allow.suppress"),
        ("require: {k: 5}\nmissing: wildcard", "missing"),
        ("require: {k: 5}\nmethod: latice", "method"),
        ("require: {k: 5}\nseed: -1", "seed"),
        (f"require: {{k: 5}}\nseed: {LEAST_SEED + 2**127}", "seed"),
        ("roles: {sensitive: [d]}\nrequire: {closeness: {d: {t: 0}}}", "require.closeness.d.t"),
        ("roles: {sensitive: [d]}\nrequire: {closeness: {d: {distance: equal}}}", "require.closeness.d"),
        ("roles: {sensitive: [d]}\nrequire: {diversity: {d: {distinct: 2.5}}}", "require.diversity.d.distinct"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_by_place(text, place):
    with pytest.raises(PolicyError) as caught:
        Policy.parse(text)
    assert caught.value.path == place
    assert caught.value.exit_code == 2


def test_every_seed_that_is_drawn_can_be_stated_to_repeat_a_run():
    """One above 2**63 was refused, so that no run with a drawn seed could be repeated."""
    for seed in (LEAST_SEED, 2**63, LEAST_SEED + 2**127 - 1):
        assert Policy.parse(f"require: {{k: 5}}\nseed: {seed}").seed == seed


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("requires: {k: 5}", "require"),
        ("require: {K: 5}", "k"),
        ("require: {k: 5}\nallow: {supress: 0.1}", "suppress"),
        ("roles: {quasy: [a]}\nrequire: {k: 5}", "quasi"),
        ("require: {k: 5}\npreset: strict-publik", "strict-public"),
        ("roles: {quasi: {a: {hierachy: x.csv}}}\nrequire: {k: 5}", "hierarchy"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(text, nearest):
    with pytest.raises(PolicyError, match=re.escape(f"'{nearest}'")):
        Policy.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "roles: !!python/object/apply:os.system ['true']",
        "roles: !thing {quasi: [a]}",
        "a: &x [1]\nb: *x",
        "a: &a [z,z]\nb: &b [*a,*a]\nc: &c [*b,*b]",
        "[" * 2000 + "]" * 2000,
        "a: " * 1 + "{" * 30 + "}" * 30,
        "k: 1\n---\nk: 2",
        "require: {k: 5, k: 2}",
        "require: {k: 5",
        "just words",
        "",
        "# only a comment",
        "- a\n- b",
        "1: {k: 5}",
        "\x00",
        "x: " + "a" * 1_000_001,
    ],
)
def test_hostile_or_broken_yaml_is_refused_quickly(text):
    with pytest.raises(PolicyError):
        Policy.parse(text)


SECRET = "hunter2-correct-horse"


@pytest.mark.parametrize(
    "text",
    [
        f"require: {{k: 5}}\npassword: {SECRET}",
        f"require: {{k: 5}}\nsigning_key: {SECRET}",
        f"title: 'postgresql://me:{SECRET}@db/x'\nrequire: {{k: 5}}",
        f"title: '-----BEGIN PRIVATE KEY----- {SECRET}'\nrequire: {{k: 5}}",
        f"roles: {{quasi: {{a: {{hierarchy: {{token: {SECRET}}}}}}}}}\nrequire: {{k: 5}}",
    ],
)
def test_secrets_are_refused_and_not_repeated(text):
    with pytest.raises(PolicyError, match="secret") as caught:
        Policy.parse(text)
    assert SECRET not in str(caught.value)


def test_a_column_may_be_called_password():
    p = Policy.parse("roles: {direct: {password: {}}, quasi: [key, token]}\nrequire: {k: 5}")
    assert list(p.direct) == ["password"]
    assert list(p.quasi) == ["key", "token"]


def test_a_policy_that_requires_nothing_is_refused():
    for text in ("roles: {quasi: [a]}", "roles: {quasi: [a]}\npreset: hipaa-expert", "require: {}"):
        with pytest.raises(PolicyError, match="requires nothing"):
            Policy.parse(text)


def test_a_preset_fills_what_is_not_said_and_never_weakens():
    p = Policy.parse("roles: {quasi: [a], sensitive: [d, e]}\npreset: strict-public")
    assert p.smallest_class == 20
    assert p.asked_of("d", DistinctDiversity).l == p.asked_of("e", DistinctDiversity).l == 2
    assert p.asked_of("e", TCloseness).t == 0.3
    assert Policy.parse("preset: cms-11\nrequire: {k: 30}").k == 30
    with pytest.raises(PolicyError, match="weaker"):
        Policy.parse("preset: cms-11\nrequire: {k: 5}")
    with pytest.raises(PolicyError, match="weaker"):
        Policy.parse("preset: ema-public\nrequire: {risk: {prosecutor: 0.2}}")


def test_diversity_of_a_column_that_is_not_sensitive_is_refused():
    with pytest.raises(PolicyError, match="not sensitive"):
        Policy.parse("roles: {quasi: [a]}\nrequire: {k: 5, diversity: {b: {distinct: 2}}}")


def test_two_roles_and_two_levels_are_refused():
    with pytest.raises(RoleError, match="two roles"):
        Policy.parse("roles: {quasi: [a], direct: [a]}\nrequire: {k: 5}")
    with pytest.raises(PolicyError, match="min_level"):
        Policy.parse("roles: {quasi: {a: {min_level: 3, max_level: 1}}}\nrequire: {k: 5}")


def test_keep_says_in_words_how_detailed_a_column_has_to_stay():
    p = Policy.of(quasi=["age", "zip", "sex"], k=5, keep={"age": "high", "zip": "low", "sex": "normal"})
    assert {c: r.weight for c, r in p.quasi.items()} == {"age": 4.0, "zip": 0.25, "sex": 1.0}
    assert Policy.of(p.to_json()).quasi == p.quasi
    for words, why in (
        ({"quasi": ["age"], "keep": {"town": "high"}}, "'town', which is not named as a quasi-identifier"),
        ({"quasi": {"age": {"weight": 2}}, "keep": {"age": "high"}}, "'age', which has a weight already"),
        ({"quasi": ["age"], "keep": {"age": "much"}}, "high, normal, low"),
    ):
        with pytest.raises(PolicyError, match=why):
            Policy.of(k=5, **words)


def test_a_column_that_has_to_stay_detailed_loses_least():
    rows = [(i % 40, (7 * i) % 30, "fm"[i % 2]) for i in range(400)]
    table = shoal.open(pa.table({"age": [r[0] for r in rows], "zip": [str(r[1]) for r in rows], "sex": [r[2] for r in rows]}))
    made = {}
    for column in ("age", "zip"):
        asked = Policy.of(
            quasi=["age", "zip", "sex"], k=5, method="lattice", keep={column: "high"}, allow={"loss": 1, "blank": 1}
        )
        made[column] = decide(prepare(table, asked)).levels
    assert made["age"]["age"] < made["zip"]["age"]
    assert made["zip"]["zip"] < made["age"]["zip"]


def test_an_unclassified_column_stops_the_run():
    schema = Schema((Column("a"), Column("b"), Column("id"), Column("w")), table="people")
    p = Policy.parse("roles: {quasi: [a]}\nunit: id\nweight: w\nrequire: {k: 5}")
    with pytest.raises(RoleError, match=r"1 of 4 columns .* undecided: b\."):
        p.apply(schema)
    full = Policy.parse("roles: {quasi: [a], insensitive: [b]}\nunit: id\nweight: w\nrequire: {k: 5}").apply(schema)
    assert full.quasi == ("a",)
    assert full.unit == "id"


def test_every_preset_names_rule_source_and_date_and_never_oversells():
    for p in PRESETS.values():
        assert p.rule
        assert p.source
        assert re.fullmatch(r"\d{4}-\d{2}", p.date)
        text = json.dumps(p.to_json()).lower()
        assert "compliant" not in text
        assert not re.search(r"\banonymous\b", text)
    for needed in "hipaa-safe-harbor hipaa-expert ema-public hc-prci cms-11 ons-srs pdpc hdx strict-public internal".split():
        assert preset(needed).name == needed


def test_files_that_are_missing_or_not_text(tmp_path):
    with pytest.raises(UnreadableError):
        Policy.load(tmp_path / "no.yml")
    (tmp_path / "bytes.yml").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(UnreadableError):
        Policy.load(tmp_path / "bytes.yml")


COLUMN = st.sampled_from(["age", "sex", "zip", "d"])
WILD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 30),
    st.floats(-1, 2, allow_nan=False),
    st.sampled_from(["equal", "x", ""]),
    st.lists(COLUMN, max_size=2),
)
GOOD = {
    "roles": {"quasi": {"age": {"weight": 2, "min_level": 0}, "sex": None}, "direct": ["zip"], "sensitive": {"d": {}}},
    "unit": {"column": "id", "publish": "drop"},
    "require": {
        "k": 5,
        "risk": {"average": 0.1},
        "diversity": {"d": {"recursive": {"c": 2, "l": 2}}},
        "closeness": {"d": {"t": 0.2, "distance": "equal"}},
    },
    "allow": {"suppress": 0.1, "scope": "rows"},
    "method": "lattice",
    "date": "2026-01-31",
    "analyses": [{"mean": "d"}, {"regression": {"outcome": "d", "on": ["age"]}}],
}


def _places(value, path=()):
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from _places(value[key], (*path, key))


@settings(max_examples=400, deadline=None)
@given(place=st.sampled_from([p for p in _places(GOOD) if p]), value=WILD, extra=st.booleans())
def test_schema_and_loader_agree_on_mutated_policies(place, value, extra):
    jsonschema = pytest.importorskip("jsonschema")
    mutated = copy.deepcopy(GOOD)
    node = mutated
    for key in place[:-1]:
        node = node[key]
    if extra and isinstance(node, dict):
        node["surprise"] = value
    else:
        node[place[-1]] = value
    rules = policy_file.schema()
    try:
        policy_file.check(mutated, rules, rules)
        ours = True
    except PolicyError:
        ours = False
    theirs = jsonschema.Draft202012Validator(rules).is_valid(mutated)
    whole_float = any(isinstance(v, float) and v == int(v) for v in [value])
    assert ours == theirs or (whole_float and not ours), "a whole float is an integer to JSON Schema, not to us"


def test_the_schema_is_itself_valid():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(policy_file.schema())
    plain = policy_file.plain(policy_file.read_yaml(FULL))
    jsonschema.validate(plain, policy_file.schema())


@given(st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text_is_a_policy_or_a_policy_error(text):
    with contextlib.suppress(PolicyError, RoleError):
        Policy.parse(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("hierarchies: {age: ages.csv}\nroles: {quasi: [age]}", r"roles: \{quasi: \{COLUMN: \{hierarchy: FILE\}\}\}"),
        ("roles: {age: quasi}", r"roles: \{quasi: \[COLUMN\]\}"),
        ("quasi: [age]", r"roles: \{quasi: \[COLUMN\]\}"),
        ("k: 5\nroles: {quasi: [age]}", r"require: \{k: 5\}"),
        ("suppression: 0.05\nroles: {quasi: [age]}", r"allow: \{suppress: SHARE\}"),
    ],
)
def test_a_word_in_the_wrong_place_is_told_where_it_belongs(text: str, hint: str) -> None:
    with pytest.raises(PolicyError, match=f"Did you mean '{hint}'"):
        Policy.parse(text)


def test_a_hierarchy_among_the_transformations_is_told_where_it_belongs() -> None:
    with pytest.raises(PolicyError, match=r"Did you mean 'roles: \{quasi: \{COLUMN: \{hierarchy: FILE\}\}\}'"):
        transforms_of({"age": {"hierarchy": {"file": "ages.csv"}}})
