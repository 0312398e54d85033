"""Findings that a person accepted: their reasons stand in the certificate, under its signature."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.errors import TamperError
from shoal.model.certificate.certificate import ACCEPTED
from shoal.report.release_report import render_signing_page

PEOPLE = pa.table({"age": [31, 32, 33, 45, 46, 47] * 2, "ill": ["flu", "flu", "flu", "cold", "flu", "cold"] * 2})
POLICY: dict[str, Any] = {
    "quasi": {"age": {"hierarchy": {"intervals": [10]}}}, "sensitive": ["ill"], "k": 3, "method": "lattice",
}  # fmt: skip


@pytest.fixture(scope="module")
def finding() -> tuple[str, str]:
    found = [a for a in shoal.anonymize(PEOPLE, **POLICY).certificate.attacks if a.verdict == "warning"]
    return found[0].name, found[0].sentence


def test_the_reason_is_signed_and_shown(finding: tuple[str, str], tmp_path: Path) -> None:
    name, sentence = finding
    given = {name: {"sentence": sentence, "reason": "A contract binds the recipient", "by": "Anna", "when": 1.0}}
    made = shoal.anonymize(PEOPLE, **POLICY, accepted=given)
    made.write(tmp_path / "one")
    note = f"{ACCEPTED}{name} (Anna). Reason: A contract binds the recipient"
    assert note in (made.certificate.notes or ())
    assert note in made.certificate.limits
    for text in (made.report(), render_signing_page(made.certificate)):
        assert "Reason: A contract binds the recipient" in text
    assert shoal.verify(tmp_path / "one").ok
    file = tmp_path / "one" / "certificate.json"
    file.write_text(file.read_text().replace("A contract binds", "No contract binds"))
    with pytest.raises(TamperError):
        shoal.verify(tmp_path / "one").require()


@pytest.mark.parametrize("change", [{"sentence": "Another number."}, {"name": "homogeneity: other"}])
def test_a_finding_that_was_not_read_is_not_accepted(finding: tuple[str, str], change: dict[str, str]) -> None:
    name, sentence = finding
    given = {change.get("name", name): {"sentence": change.get("sentence", sentence), "reason": "r", "by": ""}}
    made = shoal.anonymize(PEOPLE, **POLICY, accepted=given)
    assert ACCEPTED not in json.dumps(list(made.certificate.limits))


def test_an_attack_that_holds_needs_no_reason() -> None:
    held = [a for a in shoal.anonymize(PEOPLE, **POLICY).certificate.attacks if a.verdict == "holds"]
    given = {a.name: {"sentence": a.sentence, "reason": "r"} for a in held}
    assert held
    assert ACCEPTED not in json.dumps(list(shoal.anonymize(PEOPLE, **POLICY, accepted=given).certificate.limits))
