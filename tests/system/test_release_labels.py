"""Labels through every way of recoding and between both packages, read by pyreadstat and compared cell by cell."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

import shoal
from shoal.errors import TamperError
from shoal.model.certificate.file import read_certificate
from shoal.release.certificate import codebook
from shoal.release.earlier.same_labels import read_texts
from shoal.systems import ddi, to_ddi

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


def policy_of(way: str) -> dict[str, Any]:
    quasi = {c: r for c, r in WAYS[way]["quasi"].items() if c != "age"}
    roles = {"quasi": quasi, "sensitive": ["pay"], "direct": ["row", "age"]}
    return {"roles": roles, "require": {"k": 5}, "allow": {"suppress": 0.5, "loss": 1, "blank": 1}, "method": WAYS[way]["method"]}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_a_codebook_beside_data_without_labels(survey: dict[str, Path], tmp_path: Path, way: str, form: str) -> None:
    out = tmp_path / "out"
    release = shoal.anonymize(survey["sav"], policy_of(way), format=form)
    release.write(out)
    assert sum(s.endswith("are in codebook.json.") for s in release.not_kept) == 3, "labels of values and columns, levels"
    book = json.loads((out / "codebook.json").read_text(encoding="utf-8"))["columns"]
    assert "codebook" in {c.name for c in shoal.verify(out).checks if c.ok}
    assert "codebook.json" in {f.name for f in read_certificate(out / "certificate.json").files}
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lambda f, **_: pd.read_json(f, lines=True, dtype=False)}
    data = read[form](out / f"data.{form}", **({"dtype": str} if form == "csv" else {}))
    assert set(book) == {"edu", "region", "pay"}, "columns that are left out are not described"
    for column, labels in (("edu", EDU), ("region", REGION), ("pay", PAY)):
        assert book[column]["label"] == NOTES[column]
        shown = {re.sub(r"\.0$", "", str(v)) for v in data[column].dropna()}
        assert {re.sub(r"\.0$", "", v) for v in book[column]["values"]} == shown, "each published value, and no other"
        for value, meaning in book[column]["values"].items():
            ends = re.fullmatch(r"(\d+)(?:-(\d+))?", value)
            named = " to ".join(labels[int(code)] for code in ends.groups() if code) if ends else value
            assert meaning == ("suppressed" if value == "*" else named)


def test_a_codebook_that_lists_more_than_is_published_is_refused(survey: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    shoal.anonymize(survey["sav"], policy_of("levels")).write(out)
    with (out / "data.csv").open(encoding="utf-8") as data:
        names = next(csv.reader(data))
    whole = json.loads((out / "codebook.json").read_text(encoding="utf-8"))
    for column, entry in (("pay", {"values": {"4": "a rare answer"}}), ("pay", {"missing": ["9"]}), ("row", {"label": "Row"})):
        forged = {**whole, "columns": {**whole["columns"], column: entry}}
        (out / "codebook.json").write_text(json.dumps(forged), encoding="utf-8")
        with pytest.raises(TamperError):
            codebook.check(out, "data.csv", names)
        assert not shoal.verify(out).ok
    (out / "codebook.json").write_text('{"format": "shoal-codebook/1", "columns": {"pay": {"values": {"1": 2}}}}')
    with pytest.raises(TamperError):
        codebook.read(out)


@pytest.mark.parametrize("cells", ["hierarchy", "sets"])
def test_one_list_of_codes_for_each_column(survey: dict[str, Path], tmp_path: Path, cells: str) -> None:
    policy = {**policy_of("local recoding"), "cells": {"edu": cells, "age": "sets"}}
    policy["roles"] = {"quasi": {"edu": {}, "region": {}, "age": {}}, "sensitive": ["pay"], "direct": ["row"]}
    for form in ("csv", "spss"):
        shoal.anonymize(survey["sav"], policy, format=form).write(tmp_path / form)
        assert shoal.verify(tmp_path / form).ok
    data = pd.read_csv(tmp_path / "csv" / "data.csv", dtype=str)
    groups = [v for v in set(data["edu"]) | set(data["region"]) if v not in ("*", "(other)")]
    assert all(re.fullmatch(r"\d(-\d)?|\{\d(, \d)+\}", v) for v in groups), "codes and groups of codes, no label"
    assert any(len(v) > 1 for v in groups)
    assert not any(".0" in v for v in data["age"]), "whole numbers of the format F8.2 are whole"
    book = codebook.read(tmp_path / "csv")["edu"]["values"]
    labelled = pyreadstat.read_sav(str(tmp_path / "spss" / "data.sav"), user_missing=True)[1].variable_value_labels["edu"]
    assert set(labelled.values()) == {"*" if label == "suppressed" else label for label in book.values()}
    codes = codebook.read(tmp_path / "spss")["edu"]["codes"]
    assert set(codes.values()) <= set(data["edu"])
    texts = [
        read_texts(tmp_path / form / file, ["edu", "region", "age"]) for form, file in (("csv", "data.csv"), ("spss", "data.sav"))
    ]
    assert {c: sorted(v.to_pylist()) for c, v in texts[0].items()} == {c: sorted(v.to_pylist()) for c, v in texts[1].items()}
    people = tmp_path / "people.csv"
    pyreadstat.read_sav(str(survey["sav"]))[0].drop(columns="row").astype(int).to_csv(people, index=False)
    found = [{a.name: a.sentence for a in shoal.attack(tmp_path / form, with_=people).results} for form in ("csv", "spss")]
    assert found[0] == found[1], "the attacks read the groups of both formats"


def test_no_codebook_without_labels_or_beside_them(survey: dict[str, Path], tmp_path: Path) -> None:
    shoal.anonymize(survey["sav"], policy_of("levels"), format="spss").write(tmp_path / "labelled")
    plain = pd.DataFrame({"edu": [str(i % 4) for i in range(80)], "region": ["a", "b"] * 40, "pay": ["1", "2"] * 40})
    policy = policy_of("suppression")
    shoal.anonymize(plain, {**policy, "roles": {**policy["roles"], "direct": []}}).write(tmp_path / "plain")
    assert not (tmp_path / "plain" / "codebook.json").exists()
    assert {k for e in codebook.read(tmp_path / "labelled").values() for k in e} == {"codes"}


def test_export_ddi_reads_the_codebook_of_a_csv(tmp_path: Path) -> None:
    frame = pd.DataFrame({"edu": [float(9 if i % 10 == 0 else 1 + i % 2) for i in range(120)], "pay": [1.0, 2.0, 3.0] * 40})
    labels = {"edu": {1: "none", 2: "school", 9: "refused"}, "pay": PAY}
    pyreadstat.write_sav(
        *(frame, str(tmp_path / "in.sav")),
        column_labels=["Education", "Pay"],
        variable_value_labels=labels,
        missing_ranges={"edu": [9]},
        variable_measure={"edu": "ordinal", "pay": "nominal"},
    )
    roles = {"quasi": {"edu": {"max_level": 0}}, "sensitive": ["pay"]}
    shoal.anonymize(tmp_path / "in.sav", {"roles": roles, "require": {"k": 5}}).write(tmp_path / "out")
    to_ddi(tmp_path / "out", tmp_path / "book.xml")
    edu, pay = ddi.variables((tmp_path / "book.xml").read_bytes())
    assert (edu.label, edu.measure, dict(edu.values), edu.missing) == (
        *("Education", "ordinal"),
        {"1": "none", "2": "school", "9": "refused"},
        ["9"],
    )
    assert (pay.label, pay.measure, dict(pay.values)) == ("Pay", "nominal", {str(k): v for k, v in PAY.items()})
