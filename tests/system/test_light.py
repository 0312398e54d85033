"""Shoal as ``pip install shoal`` brings it, without numba and scipy: the same numbers, the same bytes, and words for the rest."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from walking import walked

BLOCKED = """
import importlib.abc, importlib.util, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numba", "llvmlite", "scipy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in ("numba", "scipy") else found(name, package)
sys.dont_write_bytecode = True
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [
        f"{20 + i * 7 % 50},{'fm'[i % 2]},{1000 + i * 37 % 90},{'abcd'[(i * i) % 7 % 4]},{i * 31 % 977 / 10}" for i in range(1500)
    ]
    (tmp_path / "t.csv").write_text("age,sex,zip,illness,income\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "policy.yml").write_text(
        "roles: {quasi: [age, sex, zip], sensitive: [illness], insensitive: [income]}\n"
        "require: {k: 5, diversity: {illness: {entropy: 1.5}}, closeness: {illness: {t: 0.4}}}\n"
        "allow: {suppress: 0.1}\nseed: 71829364550192837\n",
        encoding="utf-8",
    )
    (tmp_path / "plan.yml").write_text(
        "steps:\n  - {column: age, microaggregate: {others: [income], k: 5}}\n"
        "  - {column: zip, noise: {scale: 3}}\nseed: 71829364550192837\n",
        encoding="utf-8",
    )
    return tmp_path


def test_the_same_numbers_and_bytes_without_numba_and_scipy(table: Path) -> None:
    def walk(mark: str) -> list[list[str]]:
        return [
            ["measure", "t.csv", "--quasi", "age,sex,zip", "--sensitive", "illness", "--json"],
            ["anonymize", "t.csv", "--policy", "policy.yml", "--out", f"r{mark}", "--json"],
            ["verify", f"r{mark}"],
            ["transform", "t.csv", "--plan", "plan.yml", "--out", f"o{mark}.csv"],
            ["predict", "singletons", "--uniform", "190", "--group-size", "100", "--json"],
        ]

    light = walked(sys.executable, walk("1"), table, os.environ, before=BLOCKED)
    whole = walked(sys.executable, walk("2"), table, os.environ)
    assert [code for code, _, _ in light] == [code for code, _, _ in whole] == [0] * 5, [said for _, _, said in light]
    assert json.loads(light[0][1]) == json.loads(whole[0][1])
    assert (table / "r1" / "data.csv").read_bytes() == (table / "r2" / "data.csv").read_bytes()
    assert (table / "o1.csv").read_bytes() == (table / "o2.csv").read_bytes()
    assert json.loads(light[4][1]) == json.loads(whole[4][1])


def test_what_is_missing_is_told_with_the_way_to_get_it(table: Path) -> None:
    commands = [["doctor", "--json"], ["predict", "population", "--table", "t.csv", "--quasi", "age", "--population", "9000"]]
    doctor, fitted = walked(sys.executable, commands, table, os.environ, before=BLOCKED)
    states = {f["name"]: f for f in json.loads(doctor[1])["findings"]}
    assert doctor[0] == 0
    assert {states[name]["state"] for name in ("fast", "predict")} == {"missing"}
    assert "pip install 'numba>=0.61'" in states["fast"]["sentence"]
    assert fitted[0] == 2
    assert "pip install 'scipy>=1.14'" in fitted[2]
