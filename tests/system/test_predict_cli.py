"""``shoal predict`` and ``shoal design`` end to end: JSON keys, exit codes, plots, watching."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from shoal import predict
from shoal.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code, out, _ = run(capsys, *words, "--json")
    assert code == 0, out
    found: dict[str, Any] = json.loads(out)
    assert {"value", "low", "high", "grade", "method"} <= set(found)
    return found


def test_uniqueness(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert answer(capsys, "predict", "uniqueness", "--uniform", "365", "--group-size", "23")["value"] == pytest.approx(0.4927028)
    assert answer(capsys, "predict", "uniqueness", "--p", "0.4,0.3,0.15,0.1,0.05", "--group-size", "3")["value"] == pytest.approx(
        0.336
    )
    file = tmp_path / "ages.csv"
    file.write_text("age,people\n0,8\n1,6\n2,3\n3,2\n4,1\n", encoding="utf-8")
    got = answer(capsys, "predict", "uniqueness", "--counts", f"{file}:people", "--group-size", "3")
    assert (got["value"], got["grade"]) == (pytest.approx(0.336), "A")
    got = answer(capsys, "predict", "uniqueness", "--kappa", "0.4011", "--cells", "95", "--group-size", "10")
    assert (got["value"], got["grade"]) == (pytest.approx(0.40151037), "C")
    assert any("kappa" in n for n in got["notes"])
    sums = ",".join(str(95.0 ** (1 - r)) for r in range(2, 7))
    assert answer(capsys, "predict", "uniqueness", "--power-sums", sums, "--group-size", "15")["grade"] == "B"
    tiny = answer(capsys, "predict", "uniqueness", "--uniform", "1000", "--group-size", "999")
    assert tiny["log_value"] < -900


def test_singletons(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plot = tmp_path / "curve.svg"
    got = answer(
        capsys,
        "predict",
        "singletons",
        "--p",
        "0.4,0.3,0.2,0.1",
        "--group-size",
        "5",
        "--sizes",
        "5",
        "--law",
        "--best",
        "--plot",
        str(plot),
    )
    assert got["value"] == pytest.approx(1.357)
    assert got["p_none"]["value"] == pytest.approx(0.183)
    assert got["pmf"] == pytest.approx([0.183, 0.421, 0.252, 0.144, 0])
    assert sum(got["in_groups_of"].values()) == pytest.approx(1)
    assert plot.read_text(encoding="utf-8").lstrip().startswith("<?xml")
    got = answer(capsys, "predict", "singletons", "--kappa", "0.01", "--cells", "95", "--group-size", "95")
    assert got["grade"] == "B"


def test_interval_quasi_population_zipf(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    got = answer(
        capsys,
        "predict",
        "interval",
        "--normal",
        "5.289",
        "--width",
        "1",
        "--group-size",
        "10",
        "--plot",
        str(tmp_path / "i.png"),
    )
    assert got["value"] == pytest.approx(6.2234099, abs=1e-6)
    assert (tmp_path / "i.png").read_bytes().startswith(b"\x89PNG")
    got = answer(
        capsys, "predict", "interval", "--normal", "5.289", "--width", "1", "--second", "4.83,1,0.5028", "--group-size", "10"
    )
    assert got["value"] == pytest.approx(9.68318, abs=1e-5)
    got = answer(capsys, "predict", "interval", "--length", "100", "--target", "0.1", "--group-size", "20")
    assert got["details"]["share"] <= 0.1
    got = answer(
        capsys,
        "predict",
        "quasi",
        "--values",
        "sex=2,birth=21900,zip=100000",
        "--people",
        "300000000",
        "--k",
        "100",
        "--subsets",
        "3",
    )
    assert got["possible"] is True
    assert got["value"] == pytest.approx(0.9338, abs=1e-4)
    assert got["allowed"]["cells"] == 2654620
    got = answer(
        capsys, "predict", "population", "--population", "5000", "--frequencies", "1=120,2=25,3=10,4=6,5=3,8=2,15=1,30=1"
    )
    assert got["value"] == pytest.approx(0.1328413, abs=1e-6)
    assert got["models"]["pitman"]["uniques"] == pytest.approx(679.952, rel=1e-3)
    assert got["models"]["poisson-gamma"]["failed"]
    got = answer(
        capsys, "predict", "zipf", "--exponent", "0.632", "--places", "2497", "--people", "42598300", "--records", "2",
        "--limit", "0.05", "--plot", str(tmp_path / "z.html"),
    )  # fmt: skip
    assert got["value"] == pytest.approx(0.0237118, abs=1e-6)
    assert got["records_allowed"] == 2
    assert "<svg" in (tmp_path / "z.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [
        ("uniqueness", "--p", "0.5,0.6", "--group-size", "2"),
        ("uniqueness", "--group-size", "2"),
        ("uniqueness", "--uniform", "5", "--p", "1", "--group-size", "2"),
        ("uniqueness", "--uniform", "5", "--group-size", "-2"),
        ("uniqueness", "--kappa", "0.1", "--group-size", "2"),
        ("singletons", "--p", "a,b", "--group-size", "2"),
        ("interval", "--normal", "0", "--width", "1", "--group-size", "2"),
        ("interval", "--normal", "1", "--group-size", "2"),
        ("quasi", "--values", "x", "--people", "5"),
        ("population", "--population", "lots", "--frequencies", "1=2"),
        ("population", "--population", "10"),
        ("zipf", "--people", "10"),
    ],
)
def test_wrong_usage_ends_with_code_two_and_one_object(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    code, out, err = run(capsys, "predict", *words, "--json")
    assert code == 2
    assert json.loads(out)["error"]["exit_code"] == 2
    assert err.strip()


QUESTIONS = """
population: 1000000
respondents: 200
target: 6%
questions:
  age: {range: [18, 97], unit: year}
  sex: {shares: [0.51, 0.49]}
  education: {shares: [0.2, 0.3, 0.3, 0.2], keep: true}
"""


def test_design(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "questions.yml"
    file.write_text(QUESTIONS, encoding="utf-8")
    got = answer(capsys, "design", str(file), "--letter")
    assert got["suggestion"]["text"] == "ask age in 10-year bands: 72 % → 4.7 %"
    assert got["light"] == "red"
    assert "We ask 3 questions of 200 people" in got["letter"]
    code, out, _ = run(
        capsys, "design", str(file), "--plot", str(tmp_path / "w.svg"), "--heat-map", str(tmp_path / "h.png"), "--require"
    )
    assert code == 1
    assert "Cheapest change: ask age in 10-year bands" in out
    assert (tmp_path / "w.svg").is_file()
    assert (tmp_path / "h.png").is_file()
    person = answer(capsys, "design", str(file), "--answers", "age=21,sex=0,education=1", "--curve", str(tmp_path / "c.svg"))[
        "person"
    ]
    assert person["chain"] == pytest.approx([12500, 6375, 1912.5])
    assert person["crowd"]["high"] == pytest.approx(12500)
    assert (tmp_path / "c.svg").is_file()
    code, _, _ = run(capsys, "design", str(file), "--answers", "age")
    assert code == 2
    more = ["--respondents", "150", "--population", "17.5M", "--require"]
    code, out, _ = run(capsys, "design", str(file), "--target", "unique<=60%", *more)
    assert code == 1, "not known is not met"
    assert out.startswith("Not known whether the target of 60 % is met: ")
    code, out, _ = run(capsys, "design", str(file), "--target", "unique<=90%", *more)
    assert code == 0
    assert out.startswith("Within the target of ")
    code, _, err = run(capsys, "design", str(tmp_path / "none.yml"))
    assert code == 3
    code, _, err = run(capsys, "design", str(file), "--watch", "--json")
    assert code == 2
    code, _, err = run(capsys, "design", str(file), "--plot", str(tmp_path / "no" / "w.svg"))
    assert code == 3
    assert "nothing can be written in folder" in err


def test_design_watches_the_file_and_survives_a_broken_edit(tmp_path: Path) -> None:
    """Each edit waits for the answer to the one before, however slow the machine."""
    file, said = tmp_path / "questions.yml", tmp_path / "said"
    file.write_text(QUESTIONS, encoding="utf-8")

    def edit(text: str) -> None:
        """At once, so that no half of it is read."""
        (tmp_path / "next").write_text(text, encoding="utf-8")
        (tmp_path / "next").replace(file)

    def wait_for(text: str, times: int) -> None:
        for _ in range(3000):
            if said.read_text(encoding="utf-8").count(text) >= times:
                return
            assert watching.poll() is None, said.read_text(encoding="utf-8")
            time.sleep(0.1)
        raise AssertionError(said.read_text(encoding="utf-8"))

    words = [sys.executable, "-u", "-m", "shoal", "design", str(file), "--watch", "--every", "0.05", "--rounds", "3"]
    with said.open("w") as out, subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT) as watching:
        wait_for("respondents would be one of a kind", 1)
        edit("population: [")
        wait_for("PolicyError", 1)
        edit(QUESTIONS.replace("[18, 97]", "[18, 27]"))
        assert watching.wait(timeout=300) == 0
    assert said.read_text(encoding="utf-8").count("respondents would be one of a kind") == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("quasi", "--values", "a=2,a=3", "--people", "10"), "name=number"),
        (("population", "--population", "17M", "--frequencies", "x=1"), "size=number"),
        (("uniqueness", "--kappa", "0.1", "--cells", "95", "--uniform", "95", "--group-size", "3"), "uniform cannot be used"),
        (("uniqueness", "--power-sums", "0.1,0.01", "--p", "1", "--group-size", "3"), "p cannot be used"),
        (("singletons", "--kappa", "0.1", "--cells", "95", "--law", "--group-size", "3"), "law cannot be used"),
        (
            ("interval", "--normal", "9", "--width", "5", "--second", "8,5,0.5", "--target", "0.1", "--group-size", "4"),
            "target cannot",
        ),
        (("interval", "--normal", "9", "--group-size", "4"), "Or target"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    code, out, err = run(capsys, "predict", *arguments)
    assert (code, out) == (2, "")
    assert says in err


def test_power_sums_are_as_good_as_their_last_digit(capsys: pytest.CaptureFixture[str]) -> None:
    """0.01 may be 0.0095 or 0.0105: the range must hold both, unless the caller knows better."""
    rough = answer(capsys, "predict", "uniqueness", "--power-sums", "0.01,0.0001", "--group-size", "30")
    known = answer(capsys, "predict", "uniqueness", "--power-sums", "0.01,0.0001", "--sums-error", "0", "--group-size", "30")
    for cells in (95, 100, 105):
        value = predict.uniqueness(cells, 30).value
        assert rough["low"] <= value <= rough["high"]
    assert (rough["grade"], known["grade"]) == ("C", "B")


def test_people_read_words_not_keys(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "predict", "quasi", "--values", "sex=2,age=100", "--people", "1000", "--subsets", "2", "--k", "5")
    assert code == 0
    assert "can make that share unique: no" in out
    assert "sex + age" in out
    code, out, _ = run(capsys, "predict", "singletons", "--uniform", "365", "--group-size", "23")
    assert "chance that nobody is unique" in out
