"""Releases that 0.3.0 wrote stay verifiable (``shoal-0.3.0/make.py`` made them)."""

import json
import shutil
from pathlib import Path

import pytest

import shoal

WRITTEN = Path(__file__).parent / "shoal-0.3.0"


@pytest.mark.parametrize("kind", ["table", "no-sensitive", "linked", "events"])
def test_a_release_of_0_3_0_verifies(kind: str) -> None:
    verification = shoal.verify(WRITTEN / kind)
    assert verification.ok, verification.failed


@pytest.mark.parametrize("kind", ["table", "no-sensitive", "linked", "events"])
def test_a_changed_number_in_a_certificate_of_0_3_0_does_not(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / kind
    shutil.copytree(WRITTEN / kind, folder)
    path = folder / "certificate.json"
    certificate = json.loads(path.read_text())
    certificate["k" if "k" in certificate else "date"] = 1000 if "k" in certificate else "2001-01-01"
    path.write_text(json.dumps(certificate))
    assert not shoal.verify(folder).ok
