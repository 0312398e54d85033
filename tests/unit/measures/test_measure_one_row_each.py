"""A table where an id repeats: is this one row per person? Asked at a terminal, said elsewhere."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.cli import main

VISITS = "patient_id,age,ward\n" + "".join(f"{1000 + i % 40},{20 + i % 7},{'ABC'[i % 3]}\n" for i in range(100))


def test_a_repeating_id_is_said_in_notes_and_json() -> None:
    found = shoal.measure({"patient_id": [1000 + i % 40 for i in range(100)], "age": [i % 7 for i in range(100)]}, quasi=["age"])
    assert found.notes[0].startswith("Is this one row per person? Column 'patient_id' repeats: 40 ids in 100 rows.")
    assert found.to_json()["repeating_id"] == {"column": "patient_id", "ids": 40, "rows": 100}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"patient_id": range(1000, 1100)}, {}),
        ({"patient_id": [1000 + i % 40 for i in range(100)]}, {"unit": "patient_id"}),
        ({"patient_id": [1000 + i % 40 for i in range(100)]}, {"insensitive": ["patient_id"]}),
        ({"colour": ["red", "blue"] * 50}, {}),
    ],
)
def test_nothing_is_said_where_there_is_nothing_to_ask(data: dict[str, Any], words: dict[str, Any]) -> None:
    table = {n: list(v) for n, v in data.items()} | {"age": [i % 7 for i in range(100)]}
    found = shoal.measure(table, quasi=["age"], **words)
    assert found.repeating is None
    assert not any("one row per person" in n for n in found.notes)


@pytest.mark.parametrize(("ids", "known"), [(60, None), (59, 59), (58, 58)])
def test_one_repetition_among_many_is_enough(ids: int, known: int | None) -> None:
    """Two rows have no id: missing ids repeat nothing."""
    numbers = [None if i >= 60 else 100_000 + i % ids for i in range(62)]
    found = shoal.measure({"patient_id": numbers, "age": [i % 7 for i in range(62)]}, quasi=["age"])
    assert (found.repeating and found.repeating.ids) == known


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "people"), [("n\n", 40), ("\n", 40), ("y\n", None)])
def test_at_a_terminal_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, people: int | None
) -> None:
    (tmp_path / "visits.csv").write_text(VISITS, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    with pytest.raises(SystemExit) as ended:
        main(["measure", str(tmp_path / "visits.csv"), "--quasi", "age,ward"])
    said = capsys.readouterr()
    assert not ended.value.code
    assert "40 ids in 100 rows" in said.err
    assert ("40 people" in said.out) == (people is not None)


def test_the_command_says_it_without_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "visits.csv").write_text(VISITS, encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["measure", str(tmp_path / "visits.csv"), "--quasi", "age,ward", "--json"])
    assert json.loads(capsys.readouterr().out)["repeating_id"]["ids"] == 40
    with pytest.raises(SystemExit):
        main(["measure", str(tmp_path / "visits.csv"), "--quasi", "age,ward"])
    assert "Is this one row per person?" in capsys.readouterr().out
