"""Small mistakes on the command line are answered in words; Ctrl-C too, whenever it comes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

import nursery

COMMAND = [sys.executable, "-m", "shoal"]


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,name\n30,anna\n30,bea\n41,carl\n")
    return path


def run(*words: str, folder) -> subprocess.CompletedProcess[str]:
    return nursery.shoal(*words, folder=folder)


def test_a_weight_of_words_is_named(people):
    done = run("measure", str(people), "--qi", "age", "--weight", "name", folder=people.parent)
    assert done.returncode == 2
    assert "weight 'name' must hold numbers" in done.stderr
    assert "DuckDB" not in done.stderr


def test_a_negative_population_is_a_number(people):
    done = run("measure", str(people), "--qi", "age", "--population", "-5", folder=people.parent)
    assert done.returncode == 2
    assert "cannot be negative" in done.stderr


def test_a_folder_without_certificate_is_told(tmp_path):
    done = run("verify", ".", folder=tmp_path)
    assert done.returncode == 1
    assert "there is no 'certificate.json'" in done.stdout + done.stderr
    assert "Error" not in done.stdout + done.stderr


def test_ctrl_c_is_answered_in_words(tmp_path):
    questions = tmp_path / "questions.yml"
    questions.write_text("population: 1000\nrespondents: 20\nquestions: {a: {values: 4}, b: {values: 6}}\n")
    words = [*COMMAND, "design", str(questions), "--watch"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()  # the first answer is there; it now waits for a change of the file
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=300)[1]
    assert process.returncode == 130
    assert said.endswith("Stopped. Nothing was left half-written.\n")


def test_names_cannot_drive_the_terminal_or_a_pipeline(tmp_path):
    """Escape sequences and line ends in names of columns and files stay inert, also in the hint of an error."""
    table = tmp_path / "p\n::error::x.csv"
    table.write_text("age,\x1b]0;PWN\x07red\n1,2\n3,4\n", encoding="utf-8")
    for words in (("--qi", "age", "--sensitive", "b"), ("--qi", "zz")):
        done = run("measure", table.name, *words, folder=tmp_path)
        assert done.returncode == 2
        assert "Columns:" in done.stderr or "Did you mean" in done.stderr, done.stderr
        assert not {"\x1b", "\x07"} & set(done.stderr + done.stdout)
        assert not any(line.lstrip().startswith("::") for line in (done.stderr + done.stdout).splitlines())
    missing = run("measure", "q\n::error::x.csv", "--qi", "a", folder=tmp_path)
    assert missing.returncode == 3
    assert not any(line.lstrip().startswith("::") for line in missing.stderr.splitlines())
