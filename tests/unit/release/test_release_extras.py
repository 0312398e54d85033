"""Pseudonyms, the safe-harbor list, earlier releases: what a policy can ask for besides k."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from release_forging import plain_certificate
from shoal.errors import InfeasibleError, PolicyError, TamperError, UsageError, VerificationError
from shoal.release.verification import verify


def visits(n=80, rows=3, varying=False):
    rng = np.random.default_rng(1)
    out = {"person": [], "region": [], "ill": []}
    for i in range(n):
        for _ in range(rows):
            out["person"].append(f"P-{i:05d}")
            out["region"].append(f"r{rng.integers(0, 4) if varying else i % 4}")
            out["ill"].append(str(rng.choice(["a", "b", "c"])))
    return pa.table(out)


def test_pseudonyms_keep_people_countable(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", "correct horse battery staple 42!")
    asked = {
        "roles": {"quasi": ["region"], "sensitive": ["ill"]},
        "unit": {"column": "person", "publish": "pseudonym"},
        "require": {"k": 5},
    }
    release = shoal.anonymize(visits(), asked, format="parquet")
    folder = release.write(tmp_path / "out")
    rows = pq.read_table(folder / "data.parquet").to_pylist()
    assert len({r["person"] for r in rows}) == 80
    assert not any(r["person"].startswith("P-") for r in rows)
    assert release.certificate.after.people == 80
    assert release.certificate.k == 20
    assert verify(folder).ok
    assert "horse" not in (folder / "plan.json").read_text()


def test_linked_rows_that_single_people_out_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", "correct horse battery staple 42!")
    asked = {"roles": {"quasi": {"region": {"max_level": 0}}, "sensitive": ["ill"]}, "require": {"k": 5}}
    linked = {**asked, "unit": {"column": "person", "publish": "pseudonym"}}
    with pytest.raises(InfeasibleError, match="stay linked"):
        shoal.anonymize(visits(n=40, rows=3, varying=True), linked).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert shoal.anonymize(visits(n=40, rows=3, varying=True), {**asked, "unit": "person"}).write(tmp_path / "out").is_dir()


def test_pseudonyms_need_a_key(monkeypatch, tmp_path):
    monkeypatch.delenv("SHOAL_KEY", raising=False)
    asked = {
        "roles": {"quasi": ["region"], "direct": {"person": {"mask": "pseudonym"}}, "sensitive": ["ill"]},
        "require": {"k": 5},
    }
    with pytest.raises(UsageError):
        shoal.anonymize(visits(), asked).write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def clinic(n=300):
    rng = np.random.default_rng(2)
    return pa.table(
        {
            "patient_name": [f"n{i}" for i in range(n)],
            "age": rng.integers(20, 99, n),
            "sex": rng.choice(["f", "m"], n),
            "admission_date": pa.array(
                [f"2024-{m:02d}-{d:02d}" for m, d in zip(rng.integers(1, 13, n), rng.integers(1, 28, n), strict=True)]
            ).cast(pa.date32()),
            "diagnosis": rng.choice(["x", "y", "z"], n),
        }
    )


def test_the_safe_harbor_list_is_enforced(tmp_path):
    roles = {
        "direct": ["patient_name"],
        "quasi": {"age": {"hierarchy": {"intervals": [5, 10], "top": 90}, "min_level": 1}, "sex": {}},
    }
    roles |= {"sensitive": ["diagnosis"], "insensitive": ["admission_date"]}
    asked = {"roles": roles, "preset": "hipaa-safe-harbor", "allow": {"suppress": 0.2}, "date": "2026-01-01"}
    release = shoal.anonymize(clinic(), asked)
    folder = release.write(tmp_path / "out")
    text = (folder / "data.csv").read_text()
    assert "2024-0" not in text, "dates are published as years"
    assert "2024" in text
    named = {**asked, "roles": {**roles, "direct": [], "insensitive": ["admission_date", "patient_name"]}}
    named["allow"] = {"suppress": 0.2, "identifying": ["patient_name"]}
    with pytest.raises(PolicyError, match="safe-harbor list removes"):
        shoal.anonymize(clinic(), named)
    fine = {
        **asked,
        "roles": {**roles, "quasi": {"age": {"hierarchy": {"intervals": [5]}, "max_level": 1}, "sex": {}}},
        "require": {"k": 5},
    }
    with pytest.raises(PolicyError, match="finer than the safe-harbor list"):
        shoal.anonymize(clinic(), {**fine, "allow": {"suppress": 1.0}})


def test_earlier_releases_of_the_same_people(tmp_path):
    """Two releases, each 2-anonymous, that together single people out: the second is refused; the same plan is not."""
    table = pa.table({"a": [1, 1, 2, 2] * 5, "b": [1, 2, 1, 2] * 5, "s": ["x", "y"] * 10})
    steps = {"a": {"hierarchy": "flat"}, "b": {"hierarchy": "flat"}}
    first = {
        "roles": {"quasi": {"a": {**steps["a"], "max_level": 0}, "b": {**steps["b"], "min_level": 1}}, "sensitive": ["s"]},
        "require": {"k": 10},
    }
    second = {
        "roles": {"quasi": {"a": {**steps["a"], "min_level": 1}, "b": {**steps["b"], "max_level": 0}}, "sensitive": ["s"]},
        "require": {"k": 10},
    }
    shoal.anonymize(table, first).write(tmp_path / "first")
    with pytest.raises(VerificationError, match="intersection"):
        shoal.anonymize(table, second, previous=[tmp_path / "first"]).write(tmp_path / "second")
    assert not (tmp_path / "second").exists()
    again = shoal.anonymize(table, first, previous=[tmp_path / "first"]).write(tmp_path / "again")
    attacks = plain_certificate(again)["attacks"]
    assert next(a for a in attacks if a["name"] == "intersection")["verdict"] == "holds"
    data = tmp_path / "first" / "data.csv"
    data.write_text(data.read_text().replace("x", "y", 1))
    with pytest.raises(TamperError, match="does not verify"):
        shoal.anonymize(table, first, previous=[tmp_path / "first"]).write(tmp_path / "third")


def test_the_report_escapes_hostile_names(tmp_path):
    name = "<script>alert(1)</script>"
    table = pa.table({name: ["a", "b"] * 10, "x' onload='y": ["p", "q"] * 10})
    release = shoal.anonymize(
        table, {"title": "<b>&", "roles": {"quasi": [name], "sensitive": ["x' onload='y"]}, "require": {"k": 2}}
    )
    page = release.report()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<b>&amp;" not in page
    assert "default-src 'none'" in page


def test_small_counts_are_not_shown(tmp_path):
    """Three people of a rare group are suppressed: the report names neither the group nor the count."""
    values = ["common"] * 40 + ["other"] * 30 + ["raregroup"] * 3
    table = pa.table({"g": values, "s": ["x", "y", "z"] * 24 + ["x"]})
    release = shoal.anonymize(
        table, {"roles": {"quasi": {"g": {"max_level": 0}}, "sensitive": ["s"]}, "require": {"k": 5}, "allow": {"suppress": 0.1}}
    )
    assert release.certificate.utility.suppressed == 3
    assert "raregroup" not in json.dumps(release.certificate.to_json()) + release.report() + release.plan.to_json()


def test_local_recoding_is_released_and_proven_like_any_other(tmp_path):
    rng = np.random.default_rng(3)
    n = 300
    table = pa.table({"age": rng.integers(18, 80, n), "sex": rng.choice(["f", "m"], n), "ill": rng.choice(["a", "b", "c"], n)})
    asked = {"roles": {"quasi": ["age", "sex"], "sensitive": ["ill"]}, "require": {"k": 5, "closeness": {"ill": {"t": 0.5}}}}
    whole, best = (shoal.anonymize(table, {**asked, "allow": {"suppress": 0.0}, "method": m}) for m in ("lattice", "best"))
    local = shoal.anonymize(table, {**asked, "method": "local"})
    folder = local.write(tmp_path / "local")
    assert verify(folder).ok
    assert local.k >= 5
    assert local.to_json()["method"] == "local"
    assert local.certificate.utility.suppressed == 0
    assert best.certificate.utility.loss <= local.certificate.utility.loss <= whole.certificate.utility.loss
    with pytest.raises(PolicyError, match="no step for any quasi-identifier"):
        shoal.anonymize(table, asked, plan=folder / "plan.json")
    age = {"roles": {"quasi": ["age"], "sensitive": ["ill"]}, "require": {"k": 5}, "method": "lattice"}
    other = shoal.anonymize(table.select(["age", "ill"]), age).write(tmp_path / "other")
    with pytest.raises(PolicyError, match=r"0 steps that publish quasi-identifier 'sex'; one is needed"):
        shoal.anonymize(table, asked, plan=other / "plan.json")


def test_probabilistic_allocation_is_counted_too(tmp_path):
    rng = np.random.default_rng(5)
    n = 2000
    table = pa.table(
        {"age": rng.integers(18, 80, n), "income": rng.integers(0, 90, n) * 1000, "ill": rng.choice(["a", "b", "c"], n)}
    )
    asked = {"roles": {"quasi": ["age", "income"], "sensitive": ["ill"]}, "require": {"k": 4}, "method": "probabilistic"}
    with pytest.raises(PolicyError, match="population"):
        shoal.anonymize(table, asked)
    release = shoal.anonymize(table, {**asked, "population": 4000, "allow": {"suppress": 0.5}})
    folder = release.write(tmp_path / "out")
    assert verify(folder).ok
    assert release.k >= 4
    assert release.to_json()["method"] == "probabilistic"


def test_the_frontier_marks_the_chosen_plan(tmp_path):
    rng = np.random.default_rng(6)
    n = 300
    table = pa.table({"age": rng.integers(18, 80, n), "sex": rng.choice(["f", "m"], n), "ill": rng.choice(["a", "b", "c"], n)})
    release = shoal.anonymize(table, quasi=["age", "sex"], sensitive=["ill"], k=7, allow={"suppress": 0.05})
    points = release.certificate.utility.frontier
    assert [p.k for p in points] == sorted(p.k for p in points)
    chosen = [p for p in points if p.chosen]
    assert len(chosen) == 1
    assert chosen[0].k == 7
    assert chosen[0].loss == pytest.approx(release.certificate.utility.loss, abs=1e-12)
    losses = [p.loss for p in points]
    assert losses == sorted(losses)
    assert "Safety against detail" in release.report()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_named_analyses_are_shown_before_and_after(form):
    rng = np.random.default_rng(7)
    n = 200
    age = rng.integers(18, 80, n)
    table = pa.table(
        {"age": age, "sex": rng.choice(["f", "m"], n), "cost": age * 3.0 + rng.normal(0, 30, n), "visits": rng.integers(0, 9, n)}
    )
    asked = {
        "roles": {"quasi": {"age": {"min_level": 1}, "sex": {}}, "sensitive": ["cost"], "insensitive": ["visits"]},
        "require": {"k": 5},
        "allow": {"suppress": 0.0},
        "analyses": [
            {"mean": "cost"},
            {"table": ["sex"]},
            {"regression": {"outcome": "cost", "on": ["visits"]}},
            {"mean": "age"},
        ],
    }
    release = shoal.anonymize(table, asked, format=form)
    found = release.certificate.utility.analyses
    assert [a.analysis for a in found] == ["mean of cost", "table of sex", "regression of cost on visits", "mean of age"]
    assert float(found[0].before) == pytest.approx(float(np.mean(table["cost"])), rel=0.01)
    assert "published values" in found[3].change, "bands have no mean"
    assert "Results that should survive" in release.report()
    with pytest.raises(shoal.errors.MissingColumnError):
        _ = shoal.anonymize(table, {**asked, "analyses": [{"mean": "nothing"}]}).certificate


def test_a_person_in_joined_classes_is_counted_once(tmp_path):
    """Each person has rows in several fine classes: adding class sizes would count her several times."""
    rng = np.random.default_rng(12)
    rows = {"person": [], "place": [], "ill": []}
    for i in range(60):
        for _ in range(6):
            rows["person"].append(f"p{i}")
            rows["place"].append(f"{i % 6}{rng.integers(0, 9)}{rng.integers(0, 9)}")
            rows["ill"].append(str(rng.choice(["a", "b", "c"])))
    asked = {
        "roles": {"quasi": {"place": {"hierarchy": {"mask": "right"}}}, "sensitive": ["ill"]},
        "unit": "person",
        "require": {"k": 8},
    }
    release = shoal.anonymize(pa.table(rows), {**asked, "allow": {"suppress": 0.2}})
    folder = release.write(tmp_path / "out")
    assert verify(folder).ok
    assert release.certificate.after_people.k == release.k >= 8
    assert release.certificate.after.k >= release.k


def test_an_earlier_class_of_whom_few_are_left_is_not_overlooked(tmp_path):
    """First zip, then age is published; of one earlier class three people are left, who together are fewer than k."""
    age = {"age": {"hierarchy": "flat"}, "zip": {"hierarchy": "flat"}}

    def asked(column):
        other = "zip" if column == "age" else "age"
        quasi = {column: {**age[column], "max_level": 0}, other: {**age[other], "min_level": 1}}
        return {"roles": {"quasi": quasi}, "require": {"k": 5}}

    first = pa.table({"age": ["x", "y"] * 50, "zip": ["1"] * 50 + ["2"] * 50})
    shoal.anonymize(first, asked("zip")).write(tmp_path / "one")
    later = pa.table({"age": ["y"] * 3 + ["x", "y"] * 25, "zip": ["1"] * 3 + ["2"] * 50})
    with pytest.raises(VerificationError, match="intersection"):
        shoal.anonymize(later, asked("age"), previous=[tmp_path / "one"]).write(tmp_path / "two")


def test_local_recoding_is_not_compared_in_silence(tmp_path):
    rng = np.random.default_rng(3)
    table = pa.table({"a": rng.integers(0, 20, 100), "b": rng.integers(0, 5, 100)})
    plain = {"roles": {"quasi": ["a", "b"]}, "require": {"k": 4}}
    shoal.anonymize(table, {**plain, "method": "local"}).write(tmp_path / "local")
    shoal.anonymize(table, {**plain, "method": "lattice"}).write(tmp_path / "lattice")
    with pytest.raises(VerificationError, match="recoded locally"):
        shoal.anonymize(table, plain, previous=[tmp_path / "local"]).write(tmp_path / "x")
    with pytest.raises(VerificationError, match="intersection"):
        shoal.anonymize(table, {**plain, "method": "local"}, previous=[tmp_path / "lattice"]).write(tmp_path / "y")


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"noise": {"scale": 50.0}}, "noise with standard deviation 50, 5 % of the column's own, which hides little"),
        ({"noise": {"scale": 500.0, "distribution": "laplace"}}, "noise with standard deviation 707, 71 % of the column's own"),
        ({"noise": {"scale": 0.1, "mode": "multiplicative"}}, "each value changed by 10 % of itself"),
        ({"rank_swap": {"percent": 7}}, "within 7 % of the ranks"),
        ({"permute": {}}, "exchanged at random"),
        ({"permute": {"within": ["sex"]}}, "with the same sex"),
        ({"microaggregate": {"k": 4}}, "mean of groups of at least 4"),
        ({"round": {"base": 250}}, "multiples of 250"),
        ({"clamp": {"high": 4000}}, ""),
    ],
)
def test_the_report_says_how_much_a_transformation_changes(step, said):
    values = [2000.0, 4000.0] * 40  # deviation 1,000
    table = pa.table({"sex": ["f", "m", "m", "f"] * 20, "pay": pa.array([*values[:-1], None])})
    release = shoal.anonymize(table, quasi=["sex"], insensitive=["pay"], k=4, transform={"pay": step})
    column = next(c for c in release.certificate.columns if c.name == "pay")
    assert column.treatment == next(iter(step))
    assert said in column.why
    assert not said or said.split()[-1] in release.report()


def test_a_local_recoding_says_which_losses_it_knows():
    table = pa.table({"age": list(range(40)), "sex": ["f", "m"] * 20})
    asked = {"roles": {"quasi": ["age", "sex"]}, "require": {"k": 4}, "method": "local"}
    for loss in ("discernibility", "average_class_size", "entropy", "precision"):
        with pytest.raises(PolicyError, match=f"cannot optimize '{loss}'"):
            shoal.anonymize(table, {**asked, "optimize": loss})
    for loss in ("loss", "ncp"):
        assert shoal.anonymize(table, {**asked, "optimize": loss}).certificate.utility.optimize == loss


def test_an_allotment_that_is_too_fine_for_the_table_gets_coarser():
    rng = np.random.default_rng(2)
    columns = {"age": rng.integers(18, 80, 600), "area": [f"A{v:03d}" for v in rng.integers(0, 200, 600)]}
    asked = {"roles": {"quasi": ["age", "area"]}, "require": {"k": 5}, "method": "probabilistic", "allow": {"suppress": 0.1}}
    found = shoal.anonymize(pa.table(columns), {**asked, "population": 1_000_000})
    assert found.k >= 5
    assert any(" in a cell: " in note and " 5 in a cell" not in note for note in found.certificate.limits)
