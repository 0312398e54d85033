"""The sources' printed numbers in one command: all reproduced, misprints only with a correction, exit code 1 if one differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoal import prediction
from shoal.cli import main
from shoal.errors import UnreadableError, UsageError
from shoal.studies.reproduce import reproduce, verdict


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main(["study", *words])
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out + out.err


def test_every_number_that_needs_no_data_is_reproduced() -> None:
    found = reproduce()
    assert {x["source"] for x in found} == {"000", "001", "003", "004"}
    assert [x for x in found if x["verdict"] == "differs"] == []
    assert sum(x["verdict"] == "same" for x in found) >= 28
    for x in found:
        if x["verdict"] == "corrected":
            assert verdict({"printed": x["printed"]}, x["ours"]) == "differs", "a correction of nothing"


def test_the_numbers_of_public_tables_are_reproduced(shared_data: Path) -> None:
    found = [x for x in reproduce(data=shared_data) if x["where"] in ("figure 3", "§6.3.2", "§3.2")]
    assert len(found) == 15
    assert {x["verdict"] for x in found} == {"same"}


@pytest.mark.parametrize(
    ("ours", "expected"), [(0.00835, "same"), (0.00845, "same"), (0.008349, "differs"), (0.008451, "differs"), (None, "no data")]
)
def test_half_a_unit_of_the_last_digit_decides(ours: float | None, expected: str) -> None:
    assert verdict({"printed": "0.0084"}, ours) == expected


def test_the_command_says_what_differs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out = run(capsys, "all", "--reproduce")
    assert code == 0
    assert "0 differ." in out
    assert "15 more need public tables: add --data FOLDER." in out
    monkeypatch.setattr(prediction, "uniqueness", lambda cells, k: 0.0086)
    code, out = run(capsys, "000", "--reproduce", "--json")
    assert code == 1
    numbers = json.loads(out)
    assert numbers["differs"] == 2
    assert [x["printed"] for x in numbers["numbers"] if x["verdict"] == "differs"] == ["0.0084", "0.0095"]


def test_what_cannot_be_reproduced_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'002'"):
        reproduce("002")
    with pytest.raises(UnreadableError, match=r"hw_25000\.csv"):
        reproduce("000", tmp_path)
    assert run(capsys, "000", "--data", str(tmp_path))[0] == 2
