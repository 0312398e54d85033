"""Labels through every way of recoding and between both packages, read by pyreadstat and compared cell by cell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

import shoal

EDU = {1: "none", 2: "primary", 3: "lower", 4: "upper", 5: "tertiary"}
REGION = {1: "North", 2: "South", 3: "East", 4: "West", 5: "Islands"}
PAY = {1: "under 1000", 2: "1000 to 1999", 3: "2000 or more"}
NOTES = {"edu": "Highest education", "region": "Region of birth", "age": "Age in years", "pay": "Monthly pay", "row": "Row"}
WAYS: dict[str, dict[str, Any]] = {
    "levels": {"method": "lattice", "quasi": {"edu": {"min_level": 1}, "region": {"min_level": 1}, "age": {"min_level": 1}}},
    "local recoding": {"method": "local", "quasi": {"edu": {}, "region": {}, "age": {}}},
    "suppression": {"method": "lattice", "quasi": {"edu": {"max_level": 0}, "region": {"max_level": 0}}},
    "one column": {"method": "lattice", "quasi": {"edu": {"min_level": 1}, "region": {"max_level": 0}}},
}
READERS = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    rows = range(260)
    frame = pd.DataFrame(
        {
            "edu": [float(1 + i * 7 % 11 % 5) for i in rows],
            "region": [5.0 if i % 37 == 0 else float(1 + i % 4) for i in rows],
            "age": [float(18 + i * 13 % 60) for i in rows],
            "pay": [float(1 + i % 3) for i in rows],
            "row": [float(i) for i in rows],
        }
    )
    folder, labels = tmp_path_factory.mktemp("survey"), {"edu": EDU, "region": REGION, "pay": PAY}
    named = [NOTES[c] for c in frame.columns]
    measure = {"edu": "ordinal", "region": "nominal", "pay": "ordinal", "age": "scale"}
    pyreadstat.write_sav(
        frame, str(folder / "in.sav"), column_labels=named, variable_value_labels=labels, variable_measure=measure
    )
    pyreadstat.write_dta(frame, str(folder / "in.dta"), column_labels=named, variable_value_labels=labels)
    return {ending: folder / f"in.{ending}" for ending in READERS}


def covers(label: str, original: str, order: list[str]) -> bool:
    """Whether a published label stands for the original one: the same, all, the others, or a run of neighbours."""
    if label in (original, "*", "(other)"):
        return True
    first, between, last = label.partition(" to ")
    return bool(between) and order.index(first) <= order.index(original) <= order.index(last)


def holds(label: str, age: float) -> bool:
    """Whether a published band holds an age."""
    numbers = [int(n) for n in re.findall(r"\d+", label)]
    if label == "*":
        return True
    if label.startswith("<"):
        return age < numbers[0]
    if label.endswith("+"):
        return age >= numbers[0]
    return numbers[0] <= age <= numbers[-1]


def shown(frame: pd.DataFrame, meta: Any, column: str) -> list[str]:
    """The cells of a column as a person sees them in the package; a suppressed cell is ``*``."""
    labels = meta.variable_value_labels.get(column, {})
    plain = [None if pd.isna(v) else labels.get(v, f"{v:g}" if isinstance(v, float) else str(v)) for v in frame[column]]
    return ["*" if v is None else v for v in plain]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("source", "target"), [("sav", "sav"), ("sav", "dta"), ("dta", "dta"), ("dta", "sav")])
def test_labels_follow_every_recoding(survey: dict[str, Path], tmp_path: Path, way: str, source: str, target: str) -> None:
    asked = WAYS[way]
    quasi = asked["quasi"]
    policy = {
        "roles": {"quasi": quasi, "sensitive": ["pay"], "insensitive": ["row", *(["age"] if "age" not in quasi else [])]},
        "require": {"k": 5},
        "allow": {"suppress": 0.5, "identifying": ["row", "age"], "loss": 1, "blank": 1},
        "method": asked["method"],
    }
    form = {"sav": "spss", "dta": "stata"}[target]
    shoal.anonymize(survey[source], policy, format=form).write(tmp_path / "out")
    assert shoal.verify(tmp_path / "out").ok
    before, _ = READERS[source](str(survey[source]))
    after, meta = READERS[target](str(tmp_path / "out" / f"data.{target}"))
    original = before.set_index("row").loc[after["row"]]
    assert {c: meta.column_names_to_labels[c] for c in after.columns} == {c: NOTES[c] for c in after.columns}
    assert meta.variable_value_labels["pay"] == PAY
    assert list(after["pay"]) == list(original["pay"])
    for column, labels in (("edu", EDU), ("region", REGION)):
        cells, order = shown(after, meta, column), list(labels.values())
        assert all(covers(cell, labels[int(v)], order) for cell, v in zip(cells, original[column], strict=True))
        assert set(cells) - {"*", *(f"{v:g}" for v in labels)}, "no label at all"
    if "age" in quasi:
        assert all(holds(cell, v) for cell, v in zip(shown(after, meta, "age"), original["age"], strict=True))
    codes = sorted(v for v in set(after["edu"].dropna()) if meta.variable_value_labels["edu"].get(v) not in ("*", "(other)"))
    named = [meta.variable_value_labels["edu"][v] for v in codes]
    order = list(EDU.values())
    ends = [(order.index(n.split(" to ")[0]), order.index(n.split(" to ")[-1])) for n in named]
    assert ends == sorted(ends), "codes in the order of their labels, groups and what stayed as it was"
    if source == target == "sav":
        assert meta.variable_measure["edu"] == "ordinal"
        assert meta.variable_measure["region"] == "nominal"
