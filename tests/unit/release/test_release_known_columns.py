"""What a few published columns find together stands in the headline, is limited by the policy, and is counted again by verify."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.cli._releases import write_draft
from shoal.errors import VerificationError
from shoal.model.certificate.file import read_certificate
from shoal.release.make import known_columns

ROWS = 400
ROLES: dict[str, Any] = {"quasi": ["team"], "sensitive": ["hours", "score"], "insensitive": ["left"]}


@pytest.fixture(scope="module")
def staff() -> pa.Table:
    """Like a workbook of a personnel office: one column that is called known, and measurements that colleagues know."""
    draw = np.random.default_rng(5)
    return pa.table(
        {
            "team": draw.choice(["sales", "support", "research"], ROWS).tolist(),
            "hours": draw.integers(120, 300, ROWS).tolist(),
            "score": draw.integers(0, 60, ROWS).tolist(),
            "left": draw.integers(0, 2, ROWS).tolist(),
        }
    )


@pytest.fixture(scope="module")
def folder(staff: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shoal.anonymize(staff, **ROLES, k=5).write(tmp_path_factory.mktemp("known") / "out")


def unique(staff: pa.Table, *names: str) -> int:
    return int((staff.group_by(list(names)).aggregate([([], "count_all")])["count_all"].to_numpy() == 1).sum())


def test_the_headline_says_whom_three_published_columns_find(staff: pa.Table, folder: Path) -> None:
    made = read_certificate(folder / "certificate.json")
    assert made.known is not None
    found = made.known.found
    assert found == unique(staff, *made.known.columns) >= unique(staff, "team", "hours", "score")
    assert made.known.all_columns == unique(staff, *staff.column_names)
    assert f"finds {found} of 400 records" in made.verdict
    assert made.verdict in (folder / "report.html").read_text(encoding="utf-8").replace("&#39;", "'")


def test_verify_counts_it_again(folder: Path) -> None:
    assert shoal.verify(folder).ok


def test_a_limit_stops_a_release_that_finds_more(staff: pa.Table) -> None:
    with pytest.raises(VerificationError, match=r"any three published columns find at most 0\.05"):
        shoal.anonymize(staff, **ROLES, require={"k": 5, "known_columns": 0.05}).certificate  # noqa: B018


def test_a_limit_that_holds_is_stated_and_verified(staff: pa.Table, tmp_path: Path) -> None:
    asked = {"quasi": ["team"], "insensitive": ["left"], "direct": ["hours", "score"]}
    made = shoal.anonymize(staff, **asked, require={"k": 5, "known_columns": 0})
    assert "No three published columns single out a record." in made.certificate.verdict
    assert [r.requirement for r in made.certificate.requirements] == ["k", "known_columns"]
    assert shoal.verify(made.write(tmp_path / "out")).ok


def test_the_gate_counts_the_table_as_it_is(staff: pa.Table) -> None:
    failed = shoal.check(staff, **ROLES, require={"k": 5, "known_columns": 0.05}).failed
    assert [(f.requirement.name, f.found) for f in failed] == [
        ("known_columns", max(unique(staff, "team", "hours", "score"), unique(staff, "hours", "score", "left")) / ROWS)
    ]


def test_the_release_of_an_unchanged_draft_finds_few(staff: pa.Table, tmp_path: Path) -> None:
    table, policy = tmp_path / "staff.csv", tmp_path / "policy.yml"
    draw = np.random.default_rng(6)
    named = staff.append_column("diagnosis", pa.array(draw.choice(["flu", "cold"], ROWS)))
    named = named.append_column("income", pa.array((np.exp(draw.normal(10, 1, ROWS))).astype(int)))
    named.to_pandas().to_csv(table, index=False)
    write_draft(str(table), policy, {}, {}, as_json=True)
    text = policy.read_text(encoding="utf-8")
    assert "known_columns: 0.05" in text
    assert re.search(r"income: .*it finds \d+ % of the records", text)
    made = shoal.anonymize(table, policy).certificate
    assert made.known is not None
    assert made.known.share <= 0.05
    assert {"diagnosis", "team"} <= set(made.data.columns)
    assert "income" not in made.data.columns


def test_a_limit_holds_beside_a_person_column(tmp_path: Path) -> None:
    visits = {"patient": [i // 2 for i in range(120)], "sex": ["f", "f", "m", "m"] * 30, "ill": ["flu", "cold", "flu"] * 40}
    made = shoal.anonymize(visits, quasi=["sex"], sensitive=["ill"], unit="patient", require={"k": 5, "known_columns": 0.05})
    assert shoal.verify(made.write(tmp_path / "out")).ok


PAIRS = {
    "patient": [i // 2 for i in range(120)],
    "sex": ["f", "f", "m", "m"] * 30,
    "ill": ["flu", "flu", "cold", "cold"] * 30,
    "score": [i // 2 if i < 24 else -1 for i in range(120)],
}
"""Sixty people with two equal records each; by their score twelve of them are found."""
TWICE: dict[str, Any] = {"quasi": ["sex"], "sensitive": ["ill"], "insensitive": ["score"]}


def test_somebody_with_two_equal_records_is_found(tmp_path: Path) -> None:
    made = shoal.anonymize(PAIRS, **TWICE, unit={"column": "patient", "publish": "keep"}, k=5)
    assert made.certificate.known is not None
    assert (made.certificate.known.found, made.certificate.known.records) == (12, 60)
    assert "finds 12 of 60 people (20 %)" in made.certificate.verdict
    assert shoal.verify(made.write(tmp_path / "out")).ok


@pytest.mark.parametrize("unit", ["drop", "keep"])
@pytest.mark.parametrize(("limit", "holds"), [(0.2, True), (0.19, False)])
def test_a_limit_is_one_of_people_whether_or_not_they_are_published(tmp_path, unit: str, limit: float, holds: bool) -> None:
    asked = {**TWICE, "unit": {"column": "patient", "publish": unit}, "require": {"k": 5, "known_columns": limit}}
    assert bool(shoal.check(PAIRS, **asked).failed) is not holds
    if holds:
        assert shoal.verify(shoal.anonymize(PAIRS, **asked).write(tmp_path / "out")).ok
    else:
        with pytest.raises(VerificationError, match=r"any three published columns find at most 0\.19"):
            shoal.anonymize(PAIRS, **asked).certificate  # noqa: B018


def test_a_draft_leaves_out_what_finds_people_with_several_records(tmp_path: Path) -> None:
    """Twelve of sixty people would be found by their score, though no record is the only one with its values."""
    asked = {**TWICE, "unit": "patient", "require": {"k": 5, "known_columns": 0.5}}
    release = shoal.anonymize(PAIRS, **asked)
    out, known = known_columns.finding_columns(release.prepared, release.decision, 0.05)
    assert (out, known) == ({"score": "it finds 20 % of the people"}, True)


@pytest.mark.parametrize(("share", "few"), [(0.05, True), (0.0501, False)])
def test_a_plan_that_finds_just_the_limit_is_taken(monkeypatch, share, few):
    counted = SimpleNamespace(at_most=1, share=lambda found: share)
    monkeypatch.setattr(known_columns, "_counted_before", lambda prepared, decision: {"records": counted})
    limits = [SimpleNamespace(name="known_columns", limit=x) for x in (0.05, 0.2)]
    prepared = SimpleNamespace(policy=SimpleNamespace(requirements=limits))
    assert known_columns.finds_few(prepared, None) is few
    monkeypatch.setattr(known_columns, "_counted_before", lambda prepared, decision: {})
    assert known_columns.finds_few(prepared, None), "what was not counted is left to the count of the written file"


@pytest.mark.parametrize(("most", "counted"), [(ROWS, True), (ROWS - 1, False)])
def test_what_was_not_counted_is_not_called_safe(staff, tmp_path, monkeypatch, most: int, counted: bool) -> None:
    """A table without a warning of its own: teams alone, every one of them large."""
    monkeypatch.setattr(known_columns, "MOST_KNOWN", most)
    made = shoal.anonymize(staff.select(["team", "left"]), quasi=["team"], insensitive=["left"], k=5, method="lattice")
    out = made.write(tmp_path / "out")
    head = (out / "report.html").read_text(encoding="utf-8").partition("</h1>")[0]
    assert ("was not counted: the table is too large" in made.certificate.verdict) is not counted
    assert ('<em class="met">' in head) is counted
    assert ("finds was not counted" in head) is not counted
    assert shoal.verify(out).ok
