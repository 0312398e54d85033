"""Columns named like formulas: a CSV writes a mark before such a name, which must not hide the column from any check."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.api.attack import attack
from shoal.errors import InfeasibleError, UsageError, VerificationError
from shoal.release.verification import verify

FORMATS = ["csv", "excel", "parquet"]


def people(n=200):
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "-age": rng.integers(0, 8, n),
            "=sex": rng.choice(["f", "m"], n),
            "+ill": rng.choice(["p", "q", "r"], n),
            "@cost": rng.integers(0, 50, n),
        }
    )


def asked(**change):
    quasi = {"-age": {"hierarchy": {"intervals": [2, 4]}}, "=sex": {}}
    return {"roles": {"quasi": quasi, "sensitive": ["+ill"], "insensitive": ["@cost"]}, "require": {"k": 5}, **change}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("publish", ["keep", "pseudonym"])
def test_a_published_person_column_is_seen(tmp_path, monkeypatch, form, publish):
    """Each person's two records are in two classes that nobody else has: they stay linked, under any column name."""
    monkeypatch.setenv("SHOAL_KEY", "a key of at least sixteen characters 1234567890")
    rows = pa.table({"town": [f"t{i}" for i in range(6)] * 2, "=who": [f"p{i}" for i in range(6)] * 2})
    spread = pa.concat_tables([rows, rows.set_column(0, "town", pa.array([f"t{(7 * i + i // 6) % 6}" for i in range(12)]))])
    policy = {
        "roles": {"quasi": {"town": {"max_level": 0}}},
        "unit": {"column": "=who", "publish": publish},
        "require": {"k": 2},
        "allow": {"identifying": ["=who"]},
    }
    with pytest.raises(InfeasibleError, match="stay linked"):
        shoal.anonymize(spread, policy, format=form).write(tmp_path / "out")


@pytest.mark.parametrize("form", FORMATS)
def test_certificate_verify_attack_and_analyses_know_the_columns(tmp_path, form):
    release = shoal.anonymize(people(), asked(analyses=[{"mean": "@cost"}]), format=form)
    folder = release.write(tmp_path / "out")
    assert release.certificate.data.columns == ("-age", "=sex", "+ill", "@cost")
    assert "not published" not in release.certificate.utility.analyses[0].change
    assert verify(folder).ok
    found = attack(folder, with_=people(), previous=[folder])
    assert {"linkage: known person", "intersection: joined records"} <= {r.name for r in found.results}
    assert found.holds


@pytest.mark.parametrize("form", FORMATS)
def test_an_earlier_release_is_compared_on_all_its_columns(tmp_path, form):
    table = people()
    levels = {"-age": {"hierarchy": "flat", "min_level": 1, "max_level": 1}, "=sex": {"hierarchy": "flat"}}
    coarse = asked()
    coarse["roles"] = {**coarse["roles"], "quasi": levels}
    shoal.anonymize(table, coarse, format=form).write(tmp_path / "one")
    finer = asked()
    finer["roles"] = {**finer["roles"], "quasi": {"-age": {"hierarchy": {"intervals": [2, 4, 8]}}, "=sex": levels["-age"]}}
    alone = table.append_column("n", pa.array(range(len(table)))).filter(pa.array([i > 180 for i in range(len(table))])).drop("n")
    with pytest.raises(VerificationError, match=r"intersection|differencing"):
        shoal.anonymize(alone, finer, format=form, previous=[tmp_path / "one"]).write(tmp_path / "two")


def test_names_that_a_csv_would_join_are_refused(tmp_path):
    table = pa.table({"=a": [1, 2] * 9, "'=a": ["x", "y"] * 9})
    policy = {"roles": {"quasi": ["=a", "'=a"]}, "require": {"k": 2}}
    with pytest.raises(UsageError, match="distinguished"):
        shoal.anonymize(table, policy)
    assert shoal.anonymize(table, policy, format="parquet").k == 9


def test_a_plan_given_on_a_column_without_values_leaves_it_missing(tmp_path):
    """The column's only label would be '*', yet the plan publishes missing values as missing."""
    table = pa.table({"a": pa.array([None] * 20, pa.string()), "s": ["x", "y"] * 10})
    policy = {"roles": {"quasi": ["a"], "sensitive": ["s"]}, "require": {"k": 2, "closeness": {"s": {"t": 0.5}}}}
    first = shoal.anonymize(table, policy).write(tmp_path / "one")
    again = shoal.anonymize(table, policy, plan=first / "plan.json")
    assert again.k == 20
    assert again.certificate.after.records == 20


@pytest.mark.parametrize("form", ["spss", "stata"])
def test_closeness_by_a_hierarchy_where_a_text_is_missing(tmp_path, form):
    (tmp_path / "h.csv").write_text("flu;lung;*\ncold;lung;*\nhiv;blood;*\n")
    table = pa.table({"a": ["x", "y"] * 12, "s": ["flu", "cold", "hiv", None] * 6})
    sensitive = {"s": {"hierarchy": str(tmp_path / "h.csv")}}
    require = {"k": 2, "closeness": {"s": {"t": 0.9, "distance": "hierarchical"}}}
    release = shoal.anonymize(table, {"roles": {"quasi": ["a"], "sensitive": sensitive}, "require": require}, format=form)
    assert verify(release.write(tmp_path / "out")).ok
