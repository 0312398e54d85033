"""An order that is given, or that a frame has, decides the distance of t-closeness."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import shoal
from shoal.cli import main
from shoal.errors import UsageError

TABLE = {"group": ["a"] * 4 + ["b"] * 4, "pain": ["low", "low", "low", "medium", "high", "high", "high", "medium"]}
ORDER = ["low", "medium", "high"]


def t_of(found: shoal.Measurement) -> tuple[str, float]:
    return found.closeness["pain"].distance, found.closeness["pain"].t


def test_an_order_that_is_given() -> None:
    found = shoal.measure(TABLE, quasi=["group"], sensitive=["pain"], order={"pain": ORDER})
    assert t_of(found) == ("ordered", 0.375)
    backwards = shoal.measure(TABLE, quasi=["group"], sensitive=["pain"], order={"pain": ORDER[::-1]})
    assert t_of(backwards) == ("ordered", 0.375)


def test_the_order_of_a_categorical() -> None:
    frame = pd.DataFrame(TABLE)
    frame["pain"] = pd.Categorical(frame["pain"], ORDER, ordered=True)
    assert t_of(shoal.measure(frame, quasi=["group"], sensitive=["pain"])) == ("ordered", 0.375)
    frame["pain"] = pd.Categorical(frame["pain"], ORDER[::-1], ordered=False)  # its words have an order all the same
    assert t_of(shoal.measure(frame, quasi=["group"], sensitive=["pain"])) == ("ordered", 0.375)


@pytest.mark.parametrize("order", [["low", "high"], ["low", "medium", "high", "low"]])
def test_an_order_lists_every_value_once(order: list[str]) -> None:
    with pytest.raises(UsageError, match="the order of 'pain'") as raised:
        shoal.measure(TABLE, quasi=["group"], sensitive=["pain"], order={"pain": order})
    assert "medium" not in str(raised.value)


def test_an_order_of_another_column_is_refused() -> None:
    with pytest.raises(UsageError, match="'group', which is not sensitive"):
        shoal.measure(TABLE, quasi=["group"], sensitive=["pain"], order={"group": ["a", "b"]})


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.csv"
    pd.DataFrame(TABLE).to_csv(file, index=False)
    asked = ["measure", str(file), "--quasi", "group", "--sensitive", "pain", "--json"]
    with pytest.raises(SystemExit) as fine:
        main([*asked, "--order", "pain=low,medium,high"])
    assert not fine.value.code
    assert json.loads(capsys.readouterr().out)["closeness"]["pain"]["t"] == 0.375
    with pytest.raises(SystemExit) as wrong:
        main([*asked, "--order", "pain"])
    assert wrong.value.code == 2
