"""presets, explain and doctor: what Shoal knows, says and has."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.cli import build
from shoal.errors import UsageError
from shoal.measures.metrics import GLOSSARY, explain_term, words
from shoal.release.policy.presets import PRESETS

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments):
    return CliRunner().invoke(build(arguments[0]), list(arguments))


def test_every_preset_is_listed_with_its_rule():
    text = run("presets").stdout
    assert all(p.name in text and p.rule in text for p in PRESETS.values())
    listed = json.loads(run("presets", "--json").stdout)["presets"]
    assert [p["name"] for p in listed] == list(PRESETS)
    assert PRESETS["ema-public"].source in run("presets", "ema-public").stdout


def test_a_preset_that_does_not_exist_is_refused():
    assert run("presets", "ema-publik").exit_code != 0


@pytest.mark.parametrize("spelling", ["quasi-identifier", "Quasi Identifier", "qi", "quasi_identifier"])
def test_a_word_is_found_in_any_spelling(spelling):
    assert "postcode" in explain_term(spelling)


def test_every_word_of_the_list_is_explained():
    assert all(explain_term(word) for word in words())
    assert set(run("explain").stdout.split("\n")) >= {"k-anonymity", "unit"}
    assert "Formula" in run("explain", "k").stdout


def test_no_word_has_two_meanings():
    spelled = [re.sub(r"[-_ ]+", " ", w.lower()) for e in GLOSSARY for w in (e.term, *e.also)]
    assert len(spelled) == len(set(spelled))
    assert [e.term for e in GLOSSARY] == sorted(e.term for e in GLOSSARY)


def test_every_page_that_is_named_exists():
    assert all((ROOT / e.see).is_file() for e in GLOSSARY)


def test_an_unknown_word_gets_the_nearest():
    with pytest.raises(UsageError, match="quasi identifier"):
        explain_term("quasi-identifer")


def test_the_glossary_page_holds_every_entry():
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    for entry in GLOSSARY:
        assert f"**{entry.term}**" in page
        assert entry.meaning in page


def test_the_doctor_names_what_is_there_and_tries_tables(tmp_path):
    (tmp_path / "people.csv").write_text("age\n30\n31\n", encoding="utf-8")
    done = run("doctor", str(tmp_path / "people.csv"), "--json")
    found = {f["name"]: f for f in json.loads(done.stdout)["findings"]}
    assert done.exit_code == 0
    assert found["duckdb"]["state"] == "ok"
    assert "2 rows, 1 columns" in found["table"]["sentence"]
    broken = run("doctor", str(tmp_path / "none.csv"))
    assert broken.exit_code == 1
    assert "BROKEN" in broken.stdout


def test_the_doctor_says_how_to_get_what_is_missing(monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pymysql" else real(name))
    assert "pip install 'pymysql>=1.1'" in run("doctor").stdout


def test_the_doctor_knows_every_extra():
    import tomllib

    from shoal.cli.about import EXTRAS

    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(known) - {"all"}


def test_the_shell_completes_commands_and_options():
    import os
    import shutil
    import subprocess
    import sys

    shoal = shutil.which("shoal", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    asked = {**os.environ, "_SHOAL_COMPLETE": "complete_bash", "COMP_WORDS": "shoal measure --qu", "COMP_CWORD": "2"}
    done = subprocess.run([shoal], env=asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["--quasi"]
