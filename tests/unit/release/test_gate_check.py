"""The gate (``shoal check``): each finding fails by itself, at its boundary, and names what it is about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import shoal
from shoal.errors import HierarchyError, PolicyError, RoleError, ShoalError
from shoal.model.requirement import requirements_of
from shoal.release.gate.count_facts import as_read, facts_of_counts

BANDS = ["20-39"] * 5 + ["40-59"] * 5
ILL = ["flu", "cold", "gout", "mumps", "rash"] * 2
BASE: dict[str, Any] = {"quasi": ["age"], "sensitive": ["ill"], "k": 5}


def table(**more: list[Any]) -> pa.Table:
    return pa.table({"age": BANDS, "ill": ILL, **more})


def failed(data: pa.Table | shoal.Table, **policy: Any) -> list[str]:
    return [v.requirement.name for v in shoal.check(data, **{**BASE, **policy}).failed]


def test_classes_of_exactly_k_open_the_gate_and_one_more_closes_it() -> None:
    opened, closed = shoal.check(table(), **BASE), shoal.check(table(), **{**BASE, "k": 6})
    assert (opened.met, opened.below, closed.met, closed.below) == (True, (0, 0), False, (2, 10))
    assert opened.render("text").rstrip().endswith("The gate is open.")
    assert "2 classes with 10 members are too small." in closed.render("text")
    assert (closed.to_json()["classes_below"], closed.to_json()["members_below"]) == (2, 10)


def test_direct_identifiers_that_are_still_there_fail_and_missing_ones_do_not() -> None:
    named = table(name=[f"n{i}" for i in range(10)])
    assert failed(named, direct=["name"]) == ["direct"]
    assert failed(table(), direct=["name"]) == []
    judged = [(v.requirement.name, v.found) for v in shoal.check(table(), **BASE, direct=["name"]).findings]
    assert ("direct", 0) in judged, "it is said that none is left"
    assert failed(shoal.open(named, direct=["name"])) == ["direct"], "named by the table, not by the policy"


def test_columns_that_the_policy_drops_are_counted_apart_from_those_it_names() -> None:
    data = table(name=[f"n{i}" for i in range(10)], colour=["red", "blue"] * 5, size=["s", "l"] * 5)
    values = {v.requirement.name: v.found for v in shoal.check(data, **BASE, direct=["name"], rest="drop").findings}
    assert (values["direct"], values["rest"]) == (1, 2)
    assert failed(table(), rest="drop") == []


def test_people_count_and_not_their_rows() -> None:
    data = table(who=["a", "a", "b", "c", "d", "e", "f", "g", "h", "i"])
    assert failed(data, unit="who") == ["k"]
    assert failed(data, unit="who", k=4) == []


def test_the_columns_of_people_and_weights_need_no_role() -> None:
    data = table(who=[f"p{i}x{i * i}" for i in range(10)], gizmo=[1.25, 7.5] * 5)
    assert failed(data, unit="who") == ["undecided.gizmo"]
    assert failed(data, unit="who", weight="gizmo") == []


def test_weights_are_a_column_that_somebody_may_know() -> None:
    asked = {"sensitive": [], "weight": "gizmo", "k": None, "require": {"k": 5, "known_columns": 0.9, "linkage": 0.9}}
    own, alike = (pa.table({"age": BANDS, "gizmo": weights}) for weights in ([i * 1.25 for i in range(10)], [1.25] * 10))
    assert set(failed(own, **asked)) == {"linkage", "known_columns"}
    assert failed(alike, **asked) == []


def test_a_column_that_looks_like_a_quasi_identifier_is_undecided() -> None:
    assert failed(table(birth_year=[1980, 1990] * 5)) == ["undecided.birth_year"]


def test_a_table_of_a_sample_cannot_have_more_members_than_the_population() -> None:
    asked = {"require": {"population_k": {"k": 2, "of": 9, "beta": 0.5}}}
    data = table(who=["a", "b", "c", "d", "e"] * 2)
    with pytest.raises(PolicyError, match="the table has 10 members"):
        shoal.check(data, quasi=["age"], sensitive=["ill"], insensitive=["who"], **asked)
    shoal.check(data, quasi=["age"], sensitive=["ill"], unit="who", **asked)  # five people


@pytest.mark.parametrize(("asked", "met"), [(7, True), (8, False)])
def test_the_smallest_class_of_the_population_that_is_in_the_table_decides(tmp_path: Path, asked: int, met: bool) -> None:
    """Classes of the population that no record of the table is in do not count, nor how many records a person has."""
    everybody = pa.table({"age": ["20-39"] * 7 + ["40-59"] * 9 + ["60-79"]})
    pa_csv.write_csv(everybody, tmp_path / "everybody.csv")
    policy = {
        "roles": {"quasi": ["age"], "sensitive": ["ill"]},
        "require": {"k_map": asked},
        "population": {"table": str(tmp_path / "everybody.csv")},
    }
    assert shoal.check(table(), policy).met == met
    assert shoal.check(table(who=["a", *"abcdefghi"]), {**policy, "unit": "who"}).met == met


def test_what_a_few_known_columns_find_is_judged() -> None:
    data = table(gizmo=[*range(10)])
    asked = {"quasi": ["age"], "sensitive": ["ill"], "insensitive": ["gizmo"]}
    assert [v.requirement.name for v in shoal.check(data, **asked, require={"k": 5, "known_columns": 0.9}).failed] == [
        "known_columns"
    ]
    assert shoal.check(data, **asked, require={"k": 5, "known_columns": 1.0}).met


def test_a_table_that_is_published_as_it_is_is_linked_by_all_columns() -> None:
    asked = {"quasi": ["age"], "sensitive": ["ill"], "insensitive": ["gizmo"]}
    data = table(gizmo=[*range(10)])
    assert [v.requirement.name for v in shoal.check(data, **asked, require={"k": 5, "linkage": 0.9}).failed] == ["linkage"]
    assert shoal.check(table(gizmo=[1] * 10), **asked, require={"k": 5, "linkage": 0.9}).met


def test_an_insensitive_column_that_looks_sensitive_beside_a_preset_that_asks_more() -> None:
    data, roles = table(diagnosis=ILL), {"quasi": ["age"], "sensitive": ["ill"], "insensitive": ["diagnosis"]}
    with pytest.raises(RoleError, match="column 'diagnosis' is called insensitive"):
        shoal.check(data, {"roles": roles, "preset": "strict-public"})
    assert shoal.check(data, {"roles": roles, "preset": "internal"}).met, "a preset that asks nothing of sensitive columns"


@pytest.mark.parametrize(("ages", "met"), [(BANDS, True), (["20-39"] * 6 + ["40-59"] * 4, False)])
def test_a_preset_holds_if_none_of_its_parts_is_missed(ages: list[str], met: bool) -> None:
    data = pa.table({"age": ages, "ill": ILL})
    result = shoal.check(data, {"roles": {"quasi": ["age"], "sensitive": ["ill"]}, "preset": "internal"})
    (preset,) = [v for v in result.findings if v.requirement.name.startswith("preset")]
    assert (preset.met, preset.found == 0) == (met, met)


def test_the_list_of_a_preset_names_columns_that_must_not_stay_and_the_preset_is_missed() -> None:
    """A column on the list fails by itself and makes the preset fail; one that the policy calls direct is named once."""
    data = table(phone=[f"06-1234567{i}" for i in range(10)])
    policy = {"roles": {"quasi": ["age"], "sensitive": ["ill"], "insensitive": ["phone"]}, "preset": "hipaa-safe-harbor"}
    missed = [v.requirement.name for v in shoal.check(data, policy).failed]
    assert "identifiers.phone" in missed
    assert missed[-1] == "preset.hipaa-safe-harbor"
    policy["roles"] = {"quasi": ["age"], "sensitive": ["ill"], "direct": ["phone"]}
    missed = [v.requirement.name for v in shoal.check(data, policy).failed]
    assert "direct" in missed
    assert "identifiers.phone" not in missed


def test_a_preset_is_about_the_whole_table_so_every_column_needs_a_role() -> None:
    policy = {"roles": {"quasi": ["age"], "sensitive": ["ill"]}, "preset": "internal"}
    with pytest.raises(RoleError, match="gizmo"):
        shoal.check(table(gizmo=["s", "l"] * 5), policy)


def test_where_only_aggregates_are_read_a_column_without_a_role_is_not_looked_at(tmp_path: Path) -> None:
    """Its values are not read to decide about it: it stays undecided whatever it holds."""
    data = table(visit_cost=[12.5, 17.25] * 5)
    with duckdb.connect(tmp_path / "file.db") as place:
        place.register("given", data)
        place.execute("CREATE TABLE people AS SELECT * FROM given")
    name = f"duckdb://{tmp_path / 'file.db'}::people"
    with shoal.open(name) as whole:
        assert failed(whole) == []
    with shoal.open(name, only_aggregates=True) as counted:
        assert failed(counted) == ["undecided.visit_cost"]


def test_a_hierarchical_distance_needs_a_file_with_one_root(tmp_path: Path) -> None:
    """Distances in a tree are measured against its root; two groups at the end have none."""
    for last, met in (("", False), (";*", True)):
        (tmp_path / "h.csv").write_text("".join(f"{ill};{'a' if ill < 'g' else 'b'}{last}\n" for ill in sorted(set(ILL))))
        policy = {
            "roles": {"quasi": ["age"], "sensitive": {"ill": {"hierarchy": str(tmp_path / "h.csv")}}},
            "require": {"k": 5, "closeness": {"ill": {"t": 1, "distance": "hierarchical"}}},
        }
        if met:
            assert shoal.check(table(), policy).met
        else:
            with pytest.raises(HierarchyError, match="2 groups in its last level"):
                shoal.check(table(), policy)


def test_what_the_list_of_a_preset_lets_stay_is_not_named() -> None:
    data = pa.table({"birth_year": [1980] * 5 + [1990] * 5, "ill": ILL})
    policy = {"roles": {"quasi": ["birth_year"], "sensitive": ["ill"]}, "preset": "hipaa-safe-harbor"}
    assert "identifiers.birth_year" not in [v.requirement.name for v in shoal.check(data, policy).findings]
    exact = data.append_column("birth_date", pa.array(["1980-05-17"] * 5 + ["1990-05-17"] * 5))
    policy["roles"] = {"quasi": ["birth_year", "birth_date"], "sensitive": ["ill"]}
    assert "identifiers.birth_date" in [v.requirement.name for v in shoal.check(exact, policy).failed]


def test_weights_are_numbers() -> None:
    with pytest.raises(ShoalError):
        shoal.check(table(w=["much"] * 10), **BASE, weight="w")


AGES = ["20s"] * 5 + ["40s"] * 6 + ["60s"] * 4
SPELLED = ["Flu", "flu ", "flu", "cold", "Cold", "gout", "GOUT", "gout", "", None, "flu", "cold", "cold", "flu", "gout"]
ONE_WORD = ["flu", "flu", "flu", "cold", "cold", "gout", "gout", "gout", None, None, "flu", "cold", "cold", "flu", "gout"]


def facts(ill: Any, *, labels: Any = None, unit: bool = False) -> Any:
    data = pa.table({"age": AGES, "ill": ill, "who": [f"p{i}" for i in range(len(AGES))]})
    counts = shoal.open(data).count(("age",), sensitive=("ill",), **({"unit": "who"} if unit else {}))
    return facts_of_counts(counts, {"ill": [2, 3]}, labels={"ill": labels} if labels else None).sensitive["ill"]


def test_values_that_differ_in_spelling_only_are_counted_together() -> None:
    """Diversity is that of the table with one spelling each; how far classes are from the table takes the values as they are."""
    spelled, plain = facts(SPELLED), facts(ONE_WORD)
    assert (spelled.distinct, spelled.alpha, spelled.recursive) == (2, 0.6, {2: 1.5, 3: None})  # 3 flu, 2 cold
    for name in ("distinct", "entropy", "alpha", "recursive"):
        assert getattr(spelled, name) == getattr(plain, name), name
    assert (spelled.beta > plain.beta, spelled.ordered < plain.ordered) == (True, True)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_spellings_are_read_in_both_kinds_of_text(kind: Any) -> None:
    assert facts(pa.array(SPELLED, kind)).distinct == 2


def test_codes_with_one_label_are_one_value() -> None:
    codes = [["flu", "cold", "gout", None].index(v) + 1 for v in ONE_WORD]
    labels = {1: "flu", 2: "cold", 3: "gout", 4: ""}
    assert facts(codes, labels=labels).to_json() == facts(codes).to_json(), "a label for each code changes nothing"
    one = facts([code if code != 2 or i % 2 else 9 for i, code in enumerate(codes)], labels={**labels, 9: "Cold"})
    assert (one.distinct, one.alpha) == (2, 0.6)
    texts = facts(["x" if v == "cold" and i % 2 else v for i, v in enumerate(ONE_WORD)], labels={"x": "cold"})
    assert (texts.distinct, texts.alpha) == (2, 0.6)


def test_how_many_people_have_one_of_several_spellings_is_not_known() -> None:
    people, plain = facts(SPELLED, unit=True), facts(ONE_WORD, unit=True)
    assert (people.distinct, people.entropy, people.alpha, people.recursive) == (2, 1.0, 1.0, {2: None, 3: None})
    assert (plain.alpha, plain.recursive[2]) == (0.6, 1.5)


def test_a_search_counts_spellings_as_the_proof_where_nothing_but_diversity_is_asked() -> None:
    data = pa.table({"age": AGES, "ill": SPELLED, "who": list(range(15))})
    counts = shoal.open(data).count(("age",), sensitive=("ill",))
    plain = shoal.open(data.set_column(1, "ill", [ONE_WORD])).count(("age",), sensitive=("ill",))
    only, both = requirements_of(["distinct[ill]>=2"]), requirements_of(["distinct[ill]>=2", "t[ill, equal]<=0.5"])
    for name, asked in (("one", only), ("several", both)):
        held = as_read(counts, asked, {}).sensitive["ill"]
        assert (len(held.values) == len(plain.sensitive["ill"].values)) == (name == "one")
    people = shoal.open(data, unit="who").count(("age",), sensitive=("ill",), unit="who")
    assert as_read(people, only, {}) is people


@pytest.mark.parametrize("method", ["lattice", "local"])
def test_a_plan_that_the_search_takes_for_diverse_is_not_refused_for_a_spelling(method: str) -> None:
    rng = np.random.default_rng(3)
    ill = rng.choice(["Flu", "flu", "FLU", "HIV", "Asthma"], 200, p=[0.3, 0.3, 0.2, 0.1, 0.1]).tolist()
    data = pa.table({"age": rng.integers(20, 60, 200), "sex": rng.choice(["f", "m"], 200).tolist(), "ill": ill})
    asked = {"require": {"k": 3, "diversity": {"ill": {"distinct": 2}}}, "allow": {"suppress": 0.05}, "method": method}
    assert shoal.anonymize(data, quasi=["age", "sex"], sensitive=["ill"], **asked).k >= 3


def test_only_columns_that_a_requirement_limits_are_judged() -> None:
    data = pa.table({"age": AGES, "ill": ONE_WORD, "pay": list(range(15))})
    counts = shoal.open(data).count(("age",), sensitive=("ill", "pay"))
    asked = requirements_of(["distinct[pay]>=2", "k>=2"])
    assert [list(facts_of_counts(counts, asked=x).sensitive) for x in (asked, (), None)] == [["pay"], [], ["ill", "pay"]]
