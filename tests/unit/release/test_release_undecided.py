"""A column that nobody has judged is never published as it is: undecided columns, in drafts, releases, gate and studio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.cli._releases import write_draft
from shoal.errors import PolicyError, RoleError, ShoalWarning
from shoal.find import ColumnFacts, find_column
from shoal.model.roles import Role
from shoal.release.policy.policy import Policy
from shoal.studio.workspace.edits import first_policy, with_role

ROWS = 300
DRAW = np.random.default_rng(1)
PEOPLE = {
    "age": DRAW.integers(20, 70, ROWS).tolist(),
    "gizmo": DRAW.choice(["flux", "blip", "zork"], ROWS).tolist(),
    "diagnosis": DRAW.choice(["flu", "cold"], ROWS).tolist(),
}
MORE = {f"gizmo{letter}": DRAW.choice(["flux", "blip", "zork"], ROWS).tolist() for letter in "abcdefghij"}


@pytest.fixture
def people() -> pa.Table:
    return pa.table(PEOPLE)


def test_what_no_rule_recognizes_is_undecided() -> None:
    found = shoal.inspect(PEOPLE)
    assert found.undecided == ("gizmo",)
    gizmo = found.columns[1]
    assert gizmo.evidence == ()
    assert gizmo.reason == "not recognized by name or values: text, 3 different values"
    assert found.to_json()["suggested"]["undecided"] == ["gizmo"]


def test_numbers_without_a_meaning_are_not_called_sensitive() -> None:
    values, counts = [str(1 + 3 * i * i) for i in range(60)], np.array([5 + i % 3 for i in range(60)])
    assert find_column(ColumnFacts("zorkness", "integer", values, counts, int(counts.sum()))).role is Role.UNDECIDED


@pytest.mark.parametrize("values", [["only"], []])
def test_insensitive_needs_evidence(values: list[str]) -> None:
    found = find_column(ColumnFacts("gizmo", "text", values, np.full(len(values), 9), 9))
    assert found.role is Role.INSENSITIVE
    assert found.evidence


def test_a_release_refuses_undecided_columns_with_evidence_and_ways_on(people: pa.Table) -> None:
    with pytest.raises(RoleError) as caught:
        shoal.anonymize(people, quasi=["age"], sensitive=["diagnosis"], k=5)
    text = str(caught.value)
    assert "1 of 3 columns" in text
    assert "gizmo (not recognized by name or values: text, 3 different values)" in text
    assert "roles" in text
    assert "rest: quasi" in text
    assert "rest: drop" in text
    assert "flux" not in text


def test_the_rest_is_treated_as_known_or_left_out(people: pa.Table) -> None:
    known = shoal.anonymize(people, quasi=["age"], sensitive=["diagnosis"], k=5, rest="quasi")
    assert known.certificate.data.quasi == ("age", "gizmo")
    gone = shoal.anonymize(people, quasi=["age"], sensitive=["diagnosis"], k=5, rest="drop")
    assert "gizmo" not in gone.certificate.data.columns
    assert {c.name: c.decided for c in known.certificate.columns} == {
        "age": "by hand",
        "gizmo": "rest: quasi",
        "diagnosis": "by hand",
    }


def test_a_rest_that_publishes_unjudged_columns_is_refused(people: pa.Table) -> None:
    with pytest.raises(PolicyError, match="nobody has judged"):
        shoal.anonymize(people, quasi=["age"], sensitive=["diagnosis"], k=5, rest="insensitive")


def test_protect_refuses_undecided_columns(people: pa.Table) -> None:
    with pytest.raises(RoleError, match=r"are undecided: gizmo \(not recognized"):
        shoal.protect(people, quasi=["age"])
    release = shoal.protect(people, quasi=["age"], rest="quasi")
    assert set(release.certificate.data.quasi) == {"age", "gizmo", "diagnosis"}


@pytest.mark.parametrize(("rest", "quasi"), [("drop", ("age",)), ("quasi", ("age", "gizmo"))])
def test_protect_keeps_the_roles_it_recognized_if_the_rest_is_said(people: pa.Table, rest: str, quasi: tuple[str, ...]) -> None:
    """The error about an undecided column names this way out; the other roles are guessed as before."""
    with pytest.raises(RoleError, match="are undecided: gizmo"):
        shoal.protect(people)
    with pytest.warns(ShoalWarning, match="roles were guessed, check them: quasi: age; sensitive: diagnosis"):
        made = shoal.protect(people, rest=rest)
    assert made.certificate.data.quasi == quasi
    assert [c.name for c in made.certificate.columns if c.role == "sensitive"] == ["diagnosis"]


def test_the_gate_fails_on_undecided_columns(people: pa.Table) -> None:
    coarse = people.set_column(0, "age", pa.array(["20-70"] * ROWS))
    result = shoal.check(coarse, quasi=["age"], k=5)
    assert [f.requirement.name for f in result.failed] == ["undecided.gizmo"]
    assert "not recognized" in result.render("text")
    assert shoal.check(coarse, quasi=["age"], insensitive=["gizmo"], k=5).met


def test_an_unchanged_draft_runs_and_never_publishes_an_undecided_column(people: pa.Table, tmp_path: Path) -> None:
    table, policy = tmp_path / "people.csv", tmp_path / "policy.yml"
    people.to_pandas().to_csv(table, index=False)
    write_draft(str(table), policy, {}, {}, as_json=True)
    text = policy.read_text(encoding="utf-8")
    assert "gizmo: not recognized by name or values" in text
    release = shoal.anonymize(table, policy)
    decided = {c.name: (c.role, c.decided) for c in release.certificate.columns}
    assert decided == {"age": ("quasi", "found"), "gizmo": ("quasi", "rest: quasi"), "diagnosis": ("sensitive", "found")}
    changed = Policy.parse(text.replace("    diagnosis: {}", "    gizmo: {}", 1).replace("rest: quasi", "rest: drop"))
    assert shoal.anonymize(table, changed).certificate.columns[1].decided == "by hand"


def test_many_undecided_columns_are_left_out_of_an_unchanged_draft(tmp_path: Path) -> None:
    table, policy = tmp_path / "people.csv", tmp_path / "policy.yml"
    pa.table({**PEOPLE, **MORE}).to_pandas().to_csv(table, index=False)
    write_draft(str(table), policy, {}, {}, as_json=True)
    assert "rest: drop" in policy.read_text(encoding="utf-8")
    assert shoal.anonymize(table, policy).certificate.data.columns == ("age", "diagnosis")


def test_the_report_lists_who_decided(people: pa.Table, tmp_path: Path) -> None:
    shoal.anonymize(people, quasi=["age"], sensitive=["diagnosis"], k=5, rest="quasi").write(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Undecided columns" in page
    assert "by hand" in page
    assert shoal.verify(tmp_path / "out").ok


def test_the_studio_leaves_undecided_columns_open_until_somebody_answers() -> None:
    text = first_policy(shoal.inspect(PEOPLE))
    with pytest.raises(RoleError, match="gizmo"):
        shoal.anonymize(PEOPLE, Policy.parse(text))
    answered = with_role(text, ["gizmo"], Role.INSENSITIVE)
    release = shoal.anonymize(PEOPLE, Policy.parse(answered))
    assert {c.name: c.decided for c in release.certificate.columns}["gizmo"] == "by hand"
