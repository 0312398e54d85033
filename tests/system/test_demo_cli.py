"""The demonstration, the attack and the registry through the command line, as a newcomer would use them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nursery
from release_forging import plain_certificate
from shoal.measures.metrics import explain_term

SHOAL = [sys.executable, "-m", "shoal.cli"]


def shoal(*words: str, cwd: Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    done = nursery.shoal(*words, folder=cwd)
    assert done.returncode == expect, done.stderr[-2000:]
    return done


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    done = shoal("demo", "--people", "4000", "--json", cwd=folder)
    (folder / "demo.json").write_text(done.stdout)
    return folder


def test_the_demo_tells_numbers_and_leaves_a_verified_release(demo: Path) -> None:
    told = json.loads((demo / "demo.json").read_text())
    assert told["release"]["verified"] is True
    assert told["release"]["k"] >= 5
    assert told["measure"]["unique"] > 3900
    assert {p.name for p in (demo / "shoal-demo").iterdir()} == {"README.txt", "people.parquet", "policy.yml", "release"}
    assert json.loads(shoal("verify", "shoal-demo/release", "--json", cwd=demo).stdout)["verified"] is True


def test_the_demo_is_the_same_twice_and_replaces_itself(demo: Path, tmp_path: Path) -> None:
    shoal("demo", "--people", "4000", cwd=tmp_path)
    first, again = demo / "shoal-demo" / "release", tmp_path / "shoal-demo" / "release"
    assert (first / "data.csv").read_bytes() == (again / "data.csv").read_bytes()
    assert (first / "plan.json").read_bytes() == (again / "plan.json").read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["shoal-demo"]


def test_a_folder_of_the_user_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "shoal-demo").mkdir()
    (tmp_path / "shoal-demo" / "mine.txt").write_text("keep me")
    done = shoal("demo", "--people", "1000", cwd=tmp_path, expect=3)
    assert "was not made by the demonstration" in done.stderr
    assert (tmp_path / "shoal-demo" / "mine.txt").read_text() == "keep me"


def test_an_interrupted_demo_leaves_nothing(tmp_path: Path) -> None:
    running = subprocess.Popen(
        [*SHOAL, "demo", "--people", "100000"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while running.poll() is None and not any(tmp_path.iterdir()):
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)
    _, told = running.communicate(timeout=120)
    # Where Ctrl-C falls into an exec() of some import, Python ends itself by the signal after we said so: to a shell 130 as well.
    assert running.returncode in (130, -signal.SIGINT), told
    assert told.endswith(b"Stopped. Nothing was left half-written.\n"), told
    assert list(tmp_path.iterdir()) == []


def test_attack_with_the_original_table_finds_at_most_one_in_k(demo: Path) -> None:
    done = shoal("attack", "shoal-demo/release", "--with", "shoal-demo/people.parquet", "--json", cwd=demo)
    results = {r["name"]: r for r in json.loads(done.stdout)["attacks"]}
    known = results["linkage: known person"]
    assert known["verdict"] == "holds"
    assert 0 < known["rate"] <= 0.2
    assert results["leftovers"]["verdict"] == "holds"


def test_attack_says_which_column_is_missing(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "voters.csv").write_text("name,sexe\nx,F\n")
    done = shoal("attack", "shoal-demo/release", "--with", str(tmp_path / "voters.csv"), cwd=demo, expect=2)
    assert "quasi-identifier" in done.stderr
    assert "Did you mean" in done.stderr or "Columns:" in done.stderr


def test_every_attack_of_the_report_is_explained(demo: Path) -> None:
    attacks = plain_certificate(demo / "shoal-demo" / "release")["attacks"]
    assert attacks
    assert all(explain_term(attack["name"]) for attack in attacks)


def test_help_names_every_command() -> None:
    done = subprocess.run([*SHOAL, "--help"], capture_output=True, text=True)
    for word in (
        "demo",
        "inspect",
        "measure",
        "predict",
        "design",
        "anonymize",
        "check",
        "verify",
        "attack",
        "vault",
        "registry",
        "serve",
    ):
        assert f"  {word} " in done.stdout
