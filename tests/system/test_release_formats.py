"""Every format, read back by a program that is not Shoal's: the file has the k and the l that the certificate states."""

from __future__ import annotations

import csv
import datetime
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import ShoalError
from shoal.release.verification import verify

LONG = "x" * 300
LONGER = "y" * 2100
TRICKY = [
    "007",
    "7",
    "07",
    "7.0",
    "A",
    "a",
    " a",
    "a ",
    "é",
    "e\u0301",
    LONG + "1",
    LONG + "2",
    LONGER + "1",
    LONGER + "2",
    "true",
    "*",
    "'",
    "NA",
]
FORMATS = ["csv", "parquet", "arrow", "excel", "spss", "stata"]


def tricky_table(seed, n=180):
    rng = np.random.default_rng(seed)
    some = [TRICKY[i] for i in rng.choice(len(TRICKY), 9, replace=False)]
    return pa.table(
        {
            "text": [None if v == 8 else some[v] for v in rng.integers(0, 9, n)],
            "number": pa.array(rng.choice([0.1 + 0.2, 0.3, -0.0, 0.0, 1e-300, 12345678901234.5], n)),
            "whole": pa.array(rng.choice([0, 7, 2**40, -(2**33)], n)),
            "day": pa.array([datetime.date(1899, 12, 31 - int(d)) for d in rng.integers(0, 2, n)]),
            "flag": rng.choice([True, False], n),
            "ill": [f"{some[v]}{v}" for v in rng.integers(0, 9, n)],  # spellings of one value would be one for diversity
        }
    )


def read_elsewhere(folder):
    """Rows by the standard library, pandas, openpyxl; never by the reader of the second opinion where another exists."""
    file = next(folder.glob("data.*"))
    if file.suffix == ".csv":
        with file.open(newline="", encoding="utf-8") as source:
            return list(csv.DictReader(source))
    pandas = pytest.importorskip("pandas")
    if file.suffix == ".xlsx":
        sheet = pytest.importorskip("openpyxl").load_workbook(file).active
        rows = list(sheet.iter_rows(values_only=True))
        return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    if file.suffix == ".parquet":
        duckdb = pytest.importorskip("duckdb")
        cursor = duckdb.connect().execute("SELECT * FROM read_parquet(?)", [str(file)])
        return [dict(zip([d[0] for d in cursor.description], row, strict=True)) for row in cursor.fetchall()]
    if file.suffix == ".arrow":
        frame = pandas.read_feather(file)
    elif file.suffix == ".dta":
        frame = pandas.read_stata(file, convert_categoricals=False, preserve_dtypes=False)
    else:
        frame = pytest.importorskip("pyreadstat").read_sav(str(file), apply_value_formats=False)[0]
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def numbers(rows, quasi):
    classes = defaultdict(list)
    for row in rows:
        classes[tuple(str(row[q]) for q in quasi)].append(row["ill"])
    return min(map(len, classes.values())), len(classes), min(len({str(v) for v in c}) for c in classes.values())


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_another_reader_finds_what_is_certified(tmp_path, form, seed):
    if form in ("spss", "stata"):
        pytest.importorskip("pyreadstat")
    if form == "excel":
        pytest.importorskip("xlsxwriter")
    table = tricky_table(seed)
    quasi = ["text", "flag"] if seed == 0 else ["number", "whole"] if seed == 1 else ["text", "day"]
    asked = {
        "roles": {
            "quasi": {q: {"max_level": 0} for q in quasi},
            "sensitive": ["ill"],
            "insensitive": [c for c in table.column_names if c not in (*quasi, "ill")],
        },
        "require": {"k": 3, "diversity": {"ill": {"distinct": 2}}},
        "allow": {"suppress": 0.9, "identifying": ["text", "ill"]},
    }
    try:
        folder = shoal.anonymize(table, asked, format=form).write(tmp_path / "out")
    except ShoalError:
        if form not in ("spss", "stata", "excel"):
            raise
        assert not (tmp_path / "out").exists()
        return
    made = verify(folder).require().certificate.to_json()
    rows = read_elsewhere(folder)
    k, classes, distinct = numbers(rows, quasi)
    assert len(rows) == made["after"]["records"]
    assert k >= made["k"] >= 3
    assert distinct >= made["after"]["sensitive"]["ill"]["distinct"] >= 2
    assert classes <= made["after"]["classes"]
    if form in ("parquet", "arrow"):
        assert (k, classes) == (made["k"], made["after"]["classes"])


@pytest.mark.parametrize("form", FORMATS)
def test_texts_that_a_format_would_cut_or_join_do_not_raise_l(tmp_path, form):
    """Two sensitive texts that differ only at their end: where a format cuts them, l = 2 is not certified."""
    if form in ("spss", "stata"):
        pytest.importorskip("pyreadstat")
    if form == "excel":
        pytest.importorskip("xlsxwriter")
    for end in (260, 2050) if form == "excel" else (260, 2050, 33_000):
        table = pa.table({"a": ["p"] * 10 + ["q"] * 10, "ill": ["z" * end + "1", "z" * end + "2"] * 10})
        asked = {
            "roles": {"quasi": ["a"], "sensitive": ["ill"]},
            "require": {"k": 3, "diversity": {"ill": {"distinct": 2}}},
            "allow": {"identifying": ["ill"]},
        }
        try:
            folder = shoal.anonymize(table, asked, format=form).write(tmp_path / f"out{end}")
        except ShoalError:
            continue
        assert numbers(read_elsewhere(folder), ["a"])[2] >= 2, end


def test_the_weight_and_every_other_number_are_the_file_s(tmp_path):
    """Weights never raise k: ten records of weight 1,000 are ten records."""
    table = pa.table({"a": ["p"] * 4 + ["q"] * 30, "w": [1000.0] * 34})
    with pytest.raises(ShoalError):
        shoal.anonymize(table, {"roles": {"quasi": {"a": {"max_level": 0}}}, "weight": "w", "require": {"k": 5}}).write(
            tmp_path / "x"
        )
    asked = {"roles": {"quasi": {"a": {"max_level": 0}}}, "weight": "w", "require": {"k": 5}, "allow": {"suppress": 0.2}}
    folder = shoal.anonymize(table, asked).write(tmp_path / "out")
    rows = read_elsewhere(folder)
    assert min(Counter(r["a"] for r in rows).values()) == verify(folder).certificate.k == 30


@pytest.mark.parametrize(
    "step",
    [
        {"noise": {"scale": 3.0}},
        {"round": {"base": 10}},
        {"clamp": {"low": 10, "high": 50}},
        {"microaggregate": {"k": 5}},
        {"rank_swap": {"percent": 10}},
        {"permute": {}},
    ],
    ids=lambda s: next(iter(s)),
)
@pytest.mark.parametrize("form", ["csv", "parquet", "stata"])
def test_changed_columns_leave_k_as_counted(tmp_path, step, form):
    if form == "stata":
        pytest.importorskip("pyreadstat")
    rng = np.random.default_rng(5)
    table = pa.table({"a": rng.integers(0, 9, 200), "ill": rng.choice(["x", "y"], 200), "pay": rng.integers(0, 90, 200)})
    asked = {
        "roles": {"quasi": ["a"], "sensitive": ["ill"], "insensitive": ["pay"]},
        "transform": {"pay": step},
        "require": {"k": 5},
        "allow": {"suppress": 0.1},
    }
    folder = shoal.anonymize(table, asked, format=form).write(tmp_path / "out")
    made = verify(folder).require().certificate.to_json()
    k, classes, _ = numbers(read_elsewhere(folder), ["a"])
    assert (k, classes) == (made["k"], made["after"]["classes"])


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "spss", "stata"])
def test_columns_without_any_value(tmp_path, form):
    """A quasi-identifier and a sensitive column that are never filled: one class, in which nothing is told."""
    if form in ("spss", "stata"):
        pytest.importorskip("pyreadstat")
    table = pa.table({"a": pa.nulls(40, pa.int64()), "ill": pa.nulls(40, pa.string())})
    asked = {"roles": {"quasi": ["a"], "sensitive": ["ill"]}, "require": {"k": 2}}
    folder = shoal.anonymize(table, asked, format=form).write(tmp_path / "out")
    made = verify(folder).require().certificate.to_json()
    assert (made["k"], made["after"]["classes"], made["after"]["sensitive"]["ill"]["distinct"]) == (40, 1, 1)
