"""What a release is called holds: a preset is a floor, and a re-signed lie about any derivable label is refused."""

from __future__ import annotations

import shutil

import numpy as np
import pyarrow as pa
import pytest

import shoal
from release_forging import forge, plain_certificate
from shoal.errors import PolicyError, RoleError
from shoal.model.certificate.certificate import Certificate
from shoal.model.certificate.form import plain, typed
from shoal.release.certificate.verify import verify
from shoal.release.policy.policy import Policy
from shoal.release.policy.presets import PRESETS


def patients(n=600, seed=3):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "who": [f"p{i // 2}" for i in range(n)],
            "age": np.repeat(rng.integers(20, 60, n // 2), 2),
            "sex": np.repeat(rng.choice(["f", "m"], n // 2), 2),
            "ill": rng.choice(["flu", "cold", "hiv"], n),
            "ward": rng.choice(["a", "b"], n),
        }
    )


ROLES = {"quasi": ["age", "sex"], "sensitive": ["ill"], "insensitive": ["ward"]}
PLAIN = {"roles": {**ROLES, "direct": ["who"]}, "preset": "strict-public", "allow": {"suppress": 0.05}}
PEOPLE = {"roles": ROLES, "unit": {"column": "who"}, "preset": "internal", "allow": {"suppress": 0.05}}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("labels")
    return {
        name: shoal.anonymize(patients(), asked).write(place / name) for name, asked in (("plain", PLAIN), ("people", PEOPLE))
    }


# ---------------------------------------------------------------- a preset is a floor

WEAKER = [
    {"closeness": {"ill": {"t": 0.9}}},
    {"closeness": {"ill": {"t": 0.31}}},
    {"closeness": {"ill": {"t": 0.1, "distance": "ordered"}}},
    {"closeness": {"ill": {"t": 0.1, "distance": "hierarchical"}}},
    {"diversity": {"ill": {"distinct": 1}}},
    {"k": 19},
    {"risk": {"prosecutor": 0.051}},
]


@pytest.mark.parametrize("require", WEAKER, ids=str)
def test_a_part_that_is_weaker_than_the_preset_is_refused(require):
    with pytest.raises(PolicyError, match="weaker than"):
        Policy.of({**PLAIN, "require": require})


@pytest.mark.parametrize(
    "require", [{"closeness": {"ill": {"t": 0.3}}}, {"diversity": {"ill": {"distinct": 2}}}, {"k": 20}], ids=str
)
def test_exactly_the_preset_is_enough(require):
    assert Policy.of({**PLAIN, "require": require}).preset.name == "strict-public"


@pytest.mark.parametrize(
    ("require", "more"),
    [
        ({"closeness": {"ill": {"beta": 5}}}, "closeness.ill.t"),
        ({"diversity": {"ill": {"entropy": 1.1}}}, "diversity.ill.distinct"),
    ],
    ids=["closeness", "diversity"],
)
def test_another_requirement_on_the_column_does_not_take_the_place_of_the_preset(require, more):
    asked = Policy.of({**PLAIN, "require": require}).requirements
    assert more in {r.name for r in asked}


def test_every_preset_is_its_own_floor():
    for rule in PRESETS.values():
        if rule.require:
            asked = Policy.of(quasi=["a"], sensitive=["b"], preset=rule.name)
            assert asked.preset is rule


def test_a_preset_about_sensitive_columns_needs_one(tmp_path):
    roles = {"quasi": ["age", "sex"], "insensitive": ["ill", "ward"], "direct": ["who"]}
    for verb in (shoal.anonymize, shoal.check):
        with pytest.raises(PolicyError, match="each sensitive column, and none is named"):
            verb(patients(), {**PLAIN, "roles": roles})


def test_a_sensitive_column_may_not_be_called_insensitive_under_such_a_preset():
    table = patients().rename_columns(["who", "age", "sex", "ward", "diagnosis"])
    roles = {"quasi": ["age", "sex"], "sensitive": ["ward"], "insensitive": ["diagnosis"], "direct": ["who"]}
    for verb in (shoal.anonymize, shoal.check):
        with pytest.raises(RoleError, match="'diagnosis' is called insensitive, but its name says"):
            verb(table, {**PLAIN, "roles": roles})
    shoal.anonymize(table, {**PLAIN, "roles": roles, "preset": "internal"})


def test_sensitive_columns_of_the_opened_table_count_for_the_preset():
    table = shoal.open(patients(), quasi=["age", "sex"], sensitive=["ill"], insensitive=["ward"], direct=["who"])
    made = shoal.anonymize(table, {"preset": "strict-public", "allow": {"suppress": 0.05}}).certificate
    assert {"closeness.ill.t", "diversity.ill.distinct"} <= {r.requirement for r in made.requirements}


def test_the_gate_says_whether_the_name_may_stand():
    table = patients().drop_columns(["who"])
    result = shoal.check(table, PLAIN)
    last = result.findings[-1]
    assert (last.requirement.name, last.met, result.met) == ("preset.strict-public", False, False)
    flat = table.set_column(0, "age", pa.array([30] * 600)).set_column(1, "sex", pa.array(["f"] * 600))
    assert shoal.check(flat, PLAIN).findings[-1].met


# ---------------------------------------------------------------- lies that were signed again


def claim(name):
    return lambda c: c["threshold"].update(preset=PRESETS[name].to_json())


def first(c, role):
    return next(x for x in c["columns"] if x["role"] == role)


LIES = {
    "preset that was not asked for": claim("hdx"),
    "preset that asks for more": claim("strict-public"),
    "preset that is not there": lambda c: c["threshold"].update(preset={**PRESETS["internal"].to_json(), "name": "gdpr-proof"}),
    "preset with other words": lambda c: c["threshold"].update(preset={**PRESETS["internal"].to_json(), "rule": "anonymous"}),
    "preset under its alias": lambda c: c["threshold"].update(preset={**PRESETS["internal"].to_json(), "name": "named"}),
    "singling out": lambda c: c["wp216"][0].update(found="nobody can ever be singled out"),
    "linking": lambda c: c["wp216"][1].update(tested="everything"),
    "inference": lambda c: c["wp216"][2].update(found="nothing can be inferred"),
    "question left out": lambda c: c["wp216"].pop(),
    "attacker's chance": lambda c: c["attackers"][2].update(after=1e-6),
    "attacker's chance before": lambda c: c["attackers"][0].update(before=1e-6),
    "attacker's words": lambda c: c["attackers"][0].update(sentence="can do nothing"),
    "population": lambda c: c["population"].update(sentence="everybody on earth"),
    "missing rule": lambda c: c["missing"].update(rule="wildcard"),
    "missing k": lambda c: c["missing"]["k"].update(own=c["k"] + 1),
    "trigger": lambda c: c.update(triggers="Never look again."),
    "how to verify": lambda c: c.update(verify="trust me"),
    "note on the input": lambda c: c["input"].update(note="public"),
    "limit left out": lambda c: c["limits"].pop(4),
    "limits contradicted": lambda c: c["limits"].append(
        "No column is named as sensitive, so nothing is said about what a class reveals."
    ),
    "proven": lambda c: c["utility"].update(proven=not c["utility"]["proven"]),
    "treatment of a quasi-identifier": lambda c: first(c, "quasi").update(treatment="suppressed everywhere"),
    "treatment of another column": lambda c: first(c, "insensitive").update(treatment="noise"),
    "levels": lambda c: c["utility"].update(levels=dict.fromkeys(c["utility"]["levels"], 9)),
    "sentence of the suppressed": lambda c: c["utility"].update(suppressed_sentence="nobody was left out"),
    "small-cell rule": lambda c: c["utility"].update(who_note="Groups are named."),
    "a small group that is named": lambda c: c["utility"].update(
        who=[{"column": "age", "group": "x", "records": 1, "suppressed": 1, "share": "50 %"}]
    ),
    "k before": lambda c: c["before"].update(k=c["before"]["k"] + 1),
    "records before": lambda c: c["before"].update(records=c["before"]["records"] + 1),
    "risk before": lambda c: c["before"]["risk"].update(average=0.5),
}

PEOPLE_LIES = {
    "requirement over people": lambda c: c["requirements_people"][0].update(found=c["requirements_people"][0]["found"] + 1),
    "sizes of people": lambda c: c["after_people"].update(unique=1),
    "requirements over people left out": lambda c: c.update(requirements_people=[]),
    "preset over people": claim("strict-public"),
}


def refused(folder, tmp_path, change):
    place = tmp_path / "r"
    shutil.copytree(folder, place)
    forge(place, change)
    result = verify(place)
    assert next(c for c in result.checks if c.name == "signature").ok
    return [c.name for c in result.failed]


def test_the_labels_of_an_honest_release_follow(made):
    for folder in made.values():
        result = verify(folder)
        assert result.ok, result.failed
        said = next(c.sentence for c in result.checks if c.name == "labels")
        assert "holds in every part" in said
        assert "Signed only: " in said


@pytest.mark.parametrize("name", LIES)
def test_a_lie_about_a_label_is_refused_though_it_is_signed_again(tmp_path, made, name):
    folder = made["people" if name == "preset that asks for more" else "plain"]
    assert "labels" in refused(folder, tmp_path, LIES[name])


@pytest.mark.parametrize("name", PEOPLE_LIES)
def test_a_lie_about_people_is_refused_though_it_is_signed_again(tmp_path, made, name):
    assert "labels" in refused(made["people"], tmp_path, PEOPLE_LIES[name])


WALKED = {"verdict", "k", "require", "requirements", "threshold", "proof", "data", "files", "plan", "columns", "unit", "missing",
          "population", "before", "after", "attackers", "wp216", "utility", "limits", "triggers", "verify", "input",
          "after_people", "requirements_people", "identifiers", "key", "signature", "format"}  # fmt: skip
"""Parts of a certificate that verify works out again, at least in part."""
SIGNED = {"title", "date", "tool", "release", "weight", "attacks"}


def test_every_part_of_a_certificate_is_either_derived_or_listed_as_signed():
    """A new part must be put on one of the two lists."""
    names = set(Certificate.__dataclass_fields__)
    assert names == WALKED | SIGNED
    assert not WALKED & SIGNED


def test_a_floor_is_judged_by_the_numbers_even_where_it_is_asked_for(tmp_path, made):
    """The forger also rewrites what was asked: the counted numbers do not meet the preset."""

    def lie(c):
        claim("ferpa-de")(c)
        c["require"]["k"] = 10**6
        c["threshold"]["smallest_class"] = 10**6

    assert "labels" in refused(made["people"], tmp_path, lie)
    assert plain(typed(Certificate, plain_certificate(made["people"])))["threshold"]["preset"]["name"] == "internal"
