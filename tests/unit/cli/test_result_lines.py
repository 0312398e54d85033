"""The lines of a result: one attack on many columns does not bury the others; people are counted as people."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.cli._releases import show_release
from shoal.cli.check import attack_lines
from shoal.model.attack import AttackResult, Verdict


def results(verdict: Verdict, n: int) -> list[AttackResult]:
    return [AttackResult(f"skewness: c{i}", "", 0.5 - i / 100, None, None, None, "", verdict, "Told.") for i in range(n)]


@pytest.mark.parametrize(("verdict", "listed"), [("holds", 1), ("warning", 3)])
def test_an_attack_on_many_columns_is_listed_where_it_succeeds_most(verdict: Verdict, listed: int) -> None:
    lines = attack_lines(results(verdict, listed + 2))
    assert len(lines) == listed + 1
    assert lines[0] == f"{verdict:<8}skewness: c0: 50.0% Told."
    assert lines[-1] == f"{verdict:<8}skewness: 2 more columns, at most {50 - listed:.1f}%. shoal -v attack lists each."
    assert len(attack_lines(results(verdict, listed + 1))) == listed + 1  # one more column takes a line anyway
    assert "more columns" not in attack_lines(results(verdict, listed + 1))[-1]


def test_every_column_where_a_claim_is_broken_is_listed() -> None:
    assert len(attack_lines(results("broken", 9))) == 9


def test_every_line_is_listed_if_asked_for() -> None:
    assert len(attack_lines([*results("holds", 9), *results("warning", 9)], every=True)) == 18


def test_verdicts_and_attacks_are_not_mixed() -> None:
    other = AttackResult("leftovers", "", None, None, None, None, "", "holds", "Nothing.")
    lines = attack_lines([*results("warning", 6), other, *results("holds", 6)])
    assert [line.split(":")[0] for line in lines] == ["warning skewness"] * 4 + ["holds   leftovers"] + ["holds   skewness"] * 2


def test_a_release_says_how_many_people_were_found_and_not_how_many_records(capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"id": [i // 2 for i in range(20)], "sex": ["f", "f", "m", "m"] * 5, "ill": ["a", "b", "c", "d"] * 5})
    made = shoal.anonymize(table, quasi=["sex"], sensitive=["ill"], unit="id", rest="drop", k=5)
    show_release(made, Path("out"))
    out = capsys.readouterr().out
    people = made.certificate.requirements_people
    assert people is not None
    assert (people[0].found, made.certificate.requirements[0].found) == (5, 10)
    assert f"(found {people[0].found:g}, counting people)" in " ".join(out.split())
