"""The second opinion: both ways agree, on every format, and with the definitions."""

from __future__ import annotations

import csv
import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from recount_oracle import recount
from shoal.errors import EmptyTableError, InfeasibleError, TamperError
from shoal.release.proof import formats
from shoal.release.proof import read as recount_read
from shoal.release.proof import recount as recount_module
from shoal.release.proof.facts import alike, value_order
from shoal.release.proof.formats import _first_record

TOY = [("a", s) for s in ("flu", "flu", "hiv", "cancer")] + [("b", s) for s in ("flu", "flu", "flu", "hiv")]
TOY += [("c", s) for s in ("cancer", "cancer", "hiv", "flu")]


def write_csv(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(header)
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("way", ["dictionary", "sorted"])
def test_the_toy_table_of_the_methods_sheet(tmp_path, way):
    facts = recount(write_csv(tmp_path / "t.csv", ["q", "s"], TOY), ["q"], ["s"], way=way, recursive={"s": [2, 3]})
    assert (facts.k, facts.classes, facts.records, facts.unique) == (4, 3, 12, 0)
    inside = facts.sensitive["s"]
    assert inside.distinct == 2
    assert inside.entropy == pytest.approx(1.7547654, abs=1e-7)
    assert inside.equal == pytest.approx(0.25)
    assert inside.recursive == {2: 3.0, 3: None}


CELL = st.one_of(st.none(), st.sampled_from(["", "a", "b", "*", "x,y", 'q"q', "1", "10", "9", "é"]))


@settings(max_examples=120, deadline=None)
@given(
    rows=st.lists(st.tuples(CELL, CELL, CELL, st.integers(0, 4)), min_size=1, max_size=40),
    unit=st.booleans(),
    form=st.sampled_from(["parquet", "csv"]),
)
def test_both_ways_give_the_same_facts(rows, unit, form, tmp_path_factory):
    path = tmp_path_factory.mktemp("t") / f"t.{form}"
    table = pa.table({n: pa.array([r[i] for r in rows], pa.string() if i < 3 else pa.int64()) for i, n in enumerate("abcu")})
    if form == "parquet":
        pq.write_table(table, path)
    else:
        _write(table, path)
    options = {"unit": "u" if unit else None, "recursive": {"c": [1, 2, 3]}}
    slow = recount(path, ["a", "b"], ["c"], way="dictionary", **options)
    fast = recount(path, ["a", "b"], ["c"], way="sorted", **options)
    assert alike(slow.to_json(), fast.to_json())
    if form == "parquet":
        expect = {}
        for a, b, _, u in rows:
            expect.setdefault((a, b), []).append(u)
        members = [len(set(us)) if unit else len(us) for us in expect.values()]
        assert slow.k == min(members)
        assert slow.classes == len(expect)


def _write(table, path):
    from pyarrow import csv as pacsv

    pacsv.write_csv(table, path)  # writes missing as a bare empty cell and text in quotes


def test_csv_tells_missing_from_empty(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('q,s\n,x\n"",x\n"",y\n')
    for way in ("dictionary", "sorted"):
        facts = recount(path, ["q"], ["s"], way=way)
        assert facts.classes == 2
        assert facts.k == 1


def test_one_column_of_missing_values(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("q\n\n\na\n")
    for way in ("dictionary", "sorted"):
        facts = recount(path, ["q"], way=way)
        assert (facts.records, facts.classes) == (3, 2)


def test_numbers_missing_nan_and_zeros(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"q": pa.array([0.0, -0.0, float("nan"), None]), "s": [1, 2, 10, 9]}), path)
    for way in ("dictionary", "sorted"):
        facts = recount(path, ["q"], ["s"], way=way)
        assert (facts.k, facts.classes) == (2, 2)
        assert facts.sensitive["s"].ordered == pytest.approx((0.25 + 0.5 + 0.25) / 3)


def test_linked_people(tmp_path):
    """Two people share class a; one of them is also in class b: linked rows single her out."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"q": ["a", "a", "b", "b"], "u": [1, 2, 1, 3]}), path)
    for way in ("dictionary", "sorted"):
        facts = recount(path, ["q"], unit="u", way=way)
        assert (facts.k, facts.people, facts.linked_k) == (2, 3, 1)


def test_value_order_is_total_and_numeric_where_all_are_numbers():
    assert value_order(["10", "9", "-1"]) == ["-1", "9", "10"]
    assert value_order(["1_0", "9"]) == ["1_0", "9"]
    assert value_order(["nan", "9"]) == ["9", "nan"]
    assert value_order(["high", "low"], ["low", "high"]) == ["low", "high"]
    assert value_order(["high", "other"], ["low", "high"]) == ["high", "other"], "an order that lacks a value orders none"
    assert value_order(["a", "'a"], ["a"]) == ["'a", "a"], "nor does one in which two values have one place"


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    for text in ("q,s\na\n", 'q,s\n"a,b\n', 'q,s\na"b,c\n', "q\na\n"):
        path.write_text(text)
        with pytest.raises(TamperError):
            recount(path, ["q"], ["s"])
    path.write_text("q,s\n")
    for way in ("dictionary", "sorted"):
        with pytest.raises(EmptyTableError):
            recount(path, ["q"], ["s"], way=way)


def test_large_random_table_against_the_dictionary(tmp_path):
    rng = np.random.default_rng(7)
    n = 20_000
    table = pa.table(
        {f"q{i}": rng.integers(0, 9, n) for i in range(4)} | {"s": rng.integers(0, 50, n), "u": rng.integers(0, 9000, n)}
    )
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, row_group_size=3000)
    before, formats.BATCH = formats.BATCH, 3000
    try:
        fast = recount(path, [f"q{i}" for i in range(4)], ["s"], unit="u", way="sorted", recursive={"s": [2]})
    finally:
        formats.BATCH = before
    slow = recount(path, [f"q{i}" for i in range(4)], ["s"], unit="u", way="dictionary", recursive={"s": [2]})
    assert alike(fast.to_json(), slow.to_json())
    assert math.isclose(fast.to_json()["risk"]["largest"], 1 / fast.k)


@pytest.mark.parametrize("ending", ["arrow", "xlsx", "sav", "dta"])
def test_other_formats(tmp_path, ending):
    table = pa.table({"q": ["a", "a", "b", "b"], "s": ["x", "y", "x", "x"]})
    path = tmp_path / f"t.{ending}"
    if ending == "arrow":
        with pa.ipc.new_file(str(path), table.schema) as out:
            out.write_table(table)
    elif ending == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        book.active.append(["q", "s"])
        for row in zip(*table.to_pydict().values(), strict=True):
            book.active.append(row)
        book.save(path)
    else:
        pyreadstat = pytest.importorskip("pyreadstat")
        write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
        write(table.to_pandas(), str(path))
    for way in ("dictionary", "sorted"):
        facts = recount(path, ["q"], ["s"], way=way)
        assert (facts.k, facts.classes, facts.sensitive["s"].distinct) == (2, 2, 1)
    assert recount_read.header(path) == ["q", "s"]


def test_the_header_is_the_first_record_and_no_more(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text('"a\nb","c""d",e\r\n' + '"' + "z" * 200_000 + '\n",2,3\n')
    assert recount_read.header(file) == ["a\nb", 'c"d', "e"]
    assert _first_record(file) == '"a\nb","c""d",e\r\n'
    file.write_text("a,b")
    assert recount_read.header(file) == ["a", "b"]


def test_values_of_a_dictionary_that_no_record_has_count_for_nothing(tmp_path):
    """A Parquet dictionary may list more than a piece of the file uses; and pieces may list different values."""
    some = pa.DictionaryArray.from_arrays(pa.array([0, 0, None, 2]), pa.array(["a", "unused", "b"]))
    more = pa.DictionaryArray.from_arrays(pa.array([1, 1, 0, 0]), pa.array(["b", "a"]))
    table = pa.table({"q": pa.chunked_array([some.cast(pa.string()), more.cast(pa.string())]), "s": ["x", "x", "y", "y"] * 2})
    for name, written in (("plain.parquet", table), ("coded.parquet", table.set_column(0, "q", table["q"].dictionary_encode()))):
        pq.write_table(written, tmp_path / name, row_group_size=3)
        facts = recount(tmp_path / name, ["q"], ["s"], way="sorted", recursive={"s": [2]})
        assert (facts.records, facts.classes, facts.k, facts.unique) == (8, 3, 1, 1)
        assert alike(facts.to_json(), recount(tmp_path / name, ["q"], ["s"], way="dictionary", recursive={"s": [2]}).to_json())


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), min_size=1, max_size=60))
def test_the_ordered_distance_of_numbers_is_that_of_the_definition(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    pq.write_table(pa.table({"q": [r[0] for r in rows], "s": [r[1] for r in rows]}), path)
    by_sorting, slow = (recount(path, ["q"], ["s"], way=w).sensitive["s"].ordered for w in ("sorted", "dictionary"))
    assert by_sorting == pytest.approx(slow, rel=1e-12, abs=1e-15)


def test_the_ordered_distance_adds_no_table_of_classes_by_values(tmp_path, monkeypatch):
    """A salary that all differ in 400 classes: sums go over the pairs that are there, 2,000, not over 400 × 2,000."""
    from shoal.release.proof import recount as module

    n, added = 2_000, []
    pq.write_table(pa.table({"q": [i % 400 for i in range(n)], "s": [i * 1.5 for i in range(n)]}), tmp_path / "t.parquet")
    whole = np.cumsum
    monkeypatch.setattr(module.np, "cumsum", lambda a, **how: added.append(np.size(a)) or whole(a, **how))
    found = recount(tmp_path / "t.parquet", ["q"], ["s"], way="sorted").sensitive["s"].ordered
    assert sum(added) < 10 * n
    monkeypatch.undo()
    places = np.arange(1, n + 1) / n
    assert found == pytest.approx(max(np.abs(np.searchsorted(np.arange(5) * 400 + c, np.arange(n), "right") / 5 - places).sum()
                                      for c in range(400)) / (n - 1), rel=1e-12)  # fmt: skip


def test_a_csv_is_counted_alike_by_the_strict_parser_and_by_arrow(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text('q,s\na,"x ""y"" z"\na,\nb,""\n"b\nc",1\n,2\n')
    strict = recount(path, ["q"], ["s"])
    monkeypatch.setattr(formats, "STRICT", 0)
    assert alike(recount(path, ["q"], ["s"]).to_json(), strict.to_json())


def test_columns_of_a_file_are_read_once_and_agree_with_its_cells(tmp_path, monkeypatch):
    """Codes, texts and the Arrow table of a file against its cells; a second question reads nothing."""
    file = tmp_path / "data.csv"
    cells = [(f"a{i % 3}" if i % 7 else None, f"{i % 5}") for i in range(200)]
    file.write_text("x,y\n" + "".join(f"{x or ''},{y}\n" for x, y in cells))
    columns, passes = recount_module.FileColumns(file), []
    once = recount_module.read.batches
    monkeypatch.setattr(recount_module.read, "batches", lambda *a: passes.append(a) or once(*a))
    for _ in range(2):
        assert list(columns.of(["y", "x"])) == ["y", "x"]
        assert columns.texts("x") == Counter(x for x, _ in cells)
        assert columns.table(["x", "y"]).to_pylist() == [{"x": x, "y": y} for x, y in cells]
    assert len(passes) == 1
    (codes,) = columns.of(["x"]).values()
    assert len({(c, x) for c, (x, _) in zip(codes.tolist(), cells, strict=True)}) == 4
    assert {c for c, (x, _) in zip(codes.tolist(), cells, strict=True) if x is None} == {0}


def test_batches_of_few_rows_are_encoded_together(monkeypatch):
    batches = [pa.record_batch({"x": [f"{i % 4}", None, "z"]}) for i in range(10)]
    calls = []
    encode = recount_module._Column.encode
    monkeypatch.setattr(recount_module._Column, "encode", lambda self, a: calls.append(len(a)) or encode(self, a))
    (together,) = recount_module.whole_codes(batches, 1)
    monkeypatch.setattr(recount_module, "LONG", 1)
    (apart,) = recount_module.whole_codes(batches, 1)
    assert calls == [30, *[3] * 10]
    assert together.tolist() == apart.tolist()


@pytest.mark.parametrize(
    "values",
    [
        ["Flu", "flu"],
        ["HIV", "HIV "],
        ["caf\u00e9", "cafe\u0301"],
        ["", None],
        ["1", "1.0"],
        ["two  words", "Two words"],
    ],
)
@pytest.mark.parametrize("form", ["csv", "parquet", "excel"])
def test_values_that_are_only_spelled_differently_are_no_diversity(values, form, tmp_path):
    table = pa.table(
        {"age": [30] * 6 + [40] * 6, "ill": [*values * 3, *["x", "y"] * 3] if values != ["1", "1.0"] else values * 6}
    )
    words = {"quasi": {"age": {"max_level": 0}}, "sensitive": ["ill"], "format": form, "allow": {"loss": 1}}
    made = shoal.anonymize(table, k=3, **words)
    inside = made.certificate.after.sensitive["ill"]
    assert (inside.distinct, inside.entropy, inside.alpha) == (1, 1.0, 1.0)
    assert shoal.verify(made.write(tmp_path / "out")).ok
    with pytest.raises(InfeasibleError, match=r"no plan meets|has 1 values, but 2 are asked") as refused:
        shoal.anonymize(table, require={"k": 3, "diversity": {"ill": {"distinct": 2}}}, **words).write(tmp_path / "two")
    assert "case, spaces" in refused.value.hint
    assert not (tmp_path / "two").exists()


def test_a_person_with_two_spellings_of_a_value_has_one_value(tmp_path):
    (tmp_path / "t.csv").write_text("who,age,ill\n1,30,Flu\n1,30,flu\n2,30,FLU\n2,30,cold\n")
    facts = recount_module.recount(tmp_path / "t.csv", ["age"], ["ill"], unit="who")
    assert (facts.sensitive["ill"].distinct, round(facts.sensitive["ill"].alpha, 6)) == (2, round(2 / 3, 6))
