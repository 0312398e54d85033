"""The command ``compare`` on the folder of a release and on files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shoal
from release_forging import plain_certificate
from shoal.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(w) for w in words])
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table and its release: a step of the plan calls several values '(other)', which only the plan explains."""
    folder = tmp_path_factory.mktemp("compared")
    rows = [(20 + i % 30, "fm"[i % 2], "abcdefgh"[i * i % 8], "canary" + "xyz"[i % 3]) for i in range(300)]
    text = "age,sex,town,ill\n" + "".join(f"{a},{s},{t},{d}\n" for a, s, t, d in rows)
    (folder / "people.csv").write_text(text, encoding="utf-8")
    policy = {
        "roles": {"quasi": {"age": {"hierarchy": {"intervals": [10]}}, "sex": {}, "town": {}}, "sensitive": ["ill"]},
        "require": {"k": 5},
        "allow": {"suppress": 0.1, "loss": 1, "blank": 1},
    }
    shoal.anonymize(shoal.open(folder / "people.csv"), policy).write(folder / "release")
    return folder


def test_a_release_folder_is_read_by_its_plan(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "compare", place / "people.csv", place / "release", "--json", "--analysis", "table:sex")
    assert code == 0
    found = json.loads(out)
    certificate = plain_certificate(place / "release")
    assert found["classes"]["quasi"] == ["age", "sex", "town"]
    assert found["classes"]["k"]["after"] == certificate["k"]
    assert found["classes"]["loss"] == pytest.approx(certificate["utility"]["loss"]), "the loss that the search made small"
    assert all(c["kind"] in ("unchanged", "recoded", "blank") for c in found["columns"])
    assert {m["target"] for m in found["models"]} == {"ill"}
    assert found["frontier"]["points"]
    assert "canary" not in out


def test_page_and_words(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "c.html"
    words = ("compare", place / "people.csv", place / "release", "--no-models", "--report", page)
    code, out, err = run(capsys, *words)
    assert code == 0
    assert "detail kept" in out
    assert "Page written" in err
    text = page.read_text(encoding="utf-8")
    assert "Safety against detail" in text
    assert "canary" not in text + out
    code, again, _ = run(capsys, *words[:4])
    assert code == 0
    assert "Next: shoal compare" in again


def test_wrong_words(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "compare", place / "people.csv", place / "release", "--hierarchy", "town")
    assert code == 2
    assert "COLUMN=FILE" in err
    code, _, err = run(capsys, "compare", place / "people.csv", place / "release", "--target", "twon", "--no-frontier")
    assert code == 2
    assert "Did you mean 'town'?" in err
    assert run(capsys, "compare", place / "people.csv", place / "no.csv")[0] == 3
