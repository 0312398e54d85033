"""Files and frames as strangers bring them: the right counts, or a clear error; nothing dropped or merged in silence."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.open import open as open_table
from shoal.errors import AmbiguousColumnError, DataError, ShoalError, ShoalWarning, UnreadableError, UsageError
from shoal.model.plan import Plan

SECRET = "Zoë-7731"


def counted(source: Any, column: str, **options: Any) -> Counter[Any]:
    """Each value of a column with its records."""
    with open_table(source, **options) as table:
        values, sizes = table.values(column)
        return Counter(dict(zip(values.to_pylist(), sizes.tolist(), strict=True)))


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def lines(path: Path, *rows: Any) -> Path:
    return written(path, "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows).encode())


# -- CSV ------------------------------------------------------------------------------------------------------------------

GERMAN = "Name;Gehalt;Gewicht\r\nMüller;1.234,56;70,5\r\n5 €;;\r\n"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8-sig", "utf-16", "utf-32", "utf-16-le"])
def test_a_spreadsheet_saved_in_german(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path / "t.csv", GERMAN.encode(encoding))
    assert counted(path, "Name") == {"Müller": 1, "5 €": 1}
    assert counted(path, "Gewicht") == {70.5: 1, None: 1}
    assert counted(path, "Gehalt") == {"1.234,56": 1, None: 1}  # points between thousands: not guessed at


def test_the_separator_line_of_excel_is_no_data(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", b"sep=|\r\na|b\r\n1,5|x\r\n")
    assert counted(path, "a") == {1.5: 1}
    assert open_table(path).source["delimiter"] == "|"


def test_packed_files_are_known_by_their_content(tmp_path: Path) -> None:
    assert counted(written(tmp_path / "t.csv", gzip.compress(b"a,b\n1,x\n1,y\n")), "a") == {1: 2}
    assert counted(written(tmp_path / "u.csv", gzip.compress("a;b\nä;x\n".encode("utf-16"))), "a") == {"ä": 1}
    assert counted(written(tmp_path / "t.jsonl", gzip.compress(b'{"a": 1}\n')), "a") == {1: 1}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"a,b\n" + b"x,y\n" * 90_000 + b"\xe9,z\n", "'t.csv' is not valid", id="an accent after the sample"),
        pytest.param(gzip.compress(b"a,b\n" + b"x,y\n" * 90_000)[:-50], "", id="packed and cut off"),
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path: Path, content: bytes, says: str) -> None:
    path = written(tmp_path / "t.csv", content)
    with pytest.raises(ShoalError) as caught:
        open_table(path).count(open_table(path).schema.names)
    assert says in str(caught.value)
    assert "(InvalidInput" not in str(caught.value)


def test_a_number_beyond_all_doubles_is_no_infinity(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", b"a\n1e400\n2\n")
    assert counted(path, "a") == {"1e400": 1, "2": 1}
    with pytest.raises(UnreadableError, match="1 record"):
        counted(path, "a", types={"a": "float"})


# -- JSON lines -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([1, 1.5, 1.0], {1.0: 2, 1.5: 1}, id="whole numbers and fractions"),
        pytest.param(["2020-01-01", "2020-1-1"], {"2020-01-01": 1, "2020-1-1": 1}, id="two spellings of a day"),
        pytest.param(["2020-01-01", "2020-01-02"], {dt.date(2020, 1, 1): 1, dt.date(2020, 1, 2): 1}, id="days"),
        pytest.param(["10:00", "10:00:00"], {"10:00": 1, "10:00:00": 1}, id="times"),
        pytest.param([2**64, 2**64 + 1], {str(2**64): 1, str(2**64 + 1): 1}, id="beyond 64 bits"),
        pytest.param([2**53 + 1, 0.5], {str(2**53 + 1): 1, "0.5": 1}, id="beyond doubles"),
        pytest.param(["007", "7"], {"007": 1, "7": 1}, id="numbers in text"),
        pytest.param([True, None], {True: 1, None: 1}, id="booleans"),
        pytest.param(["x\x00y", "x"], {"x\x00y": 1, "x": 1}, id="zero bytes"),
        pytest.param(["aa-0A", "aa-0a"], {"aa-0A": 1, "aa-0a": 1}, id="case"),
    ],
)
def test_json_values_are_what_they_spell(tmp_path: Path, values: list[Any], expected: dict[Any, int]) -> None:
    path = lines(tmp_path / "t.jsonl", *[{"a~/'\"b": v, "other": 1} for v in values])
    assert counted(path, "a~/'\"b") == expected


def test_json_fields_that_some_lines_lack_are_missing(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", {"a": 1}, {"b": "x"}, {"a": None, "c": None})
    assert counted(path, "a") == {1: 1, None: 2}
    assert counted(path, "b") == {"x": 1, None: 2}
    assert counted(path, "c") == {None: 3}


@pytest.mark.parametrize("late", [{"a": 1.5}, {"a": SECRET}, {"a": 1, SECRET: 2}, {"a": 2**70}, {"a": [1]}, {"a": "1"}])
def test_json_that_changes_after_the_sample_stops(tmp_path: Path, late: dict[str, Any]) -> None:
    path = lines(tmp_path / "t.jsonl", *[{"a": 1}] * 20_500, late)
    with pytest.raises(UnreadableError, match="record 20501") as caught:
        counted(path, "a")
    assert SECRET not in str(caught.value)


def test_json_late_days_must_be_spelled_alike(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", *[{"a": "2020-01-01"}] * 20_500, {"a": "2020-1-1"})
    with pytest.raises(UnreadableError, match="record 20501"):
        counted(path, "a")


@pytest.mark.parametrize(
    ("rows", "error", "says"),
    [
        pytest.param(['{"a": 1}', "x", '{"a": 2}'], UnreadableError, "line 2", id="no JSON"),
        pytest.param(['{"a": 1, "a": 2}'], UnreadableError, "field twice", id="a field twice"),
        pytest.param(['{"a": 1, "A": 2}'], AmbiguousColumnError, "confused", id="fields that differ in case"),
        pytest.param(["[1]"], UnreadableError, "not objects", id="a list"),
        pytest.param(["{}"], UnreadableError, "no line with a field", id="no field"),
        pytest.param([""], UnreadableError, "empty", id="nothing"),
    ],
)
def test_json_that_is_no_table(tmp_path: Path, rows: list[str], error: type[ShoalError], says: str) -> None:
    with pytest.raises(error, match=says):
        counted(lines(tmp_path / "t.jsonl", *rows), "a")


def test_json_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert counted(written(tmp_path / "t.jsonl", b'\xef\xbb\xbf{"a": 1}\n'), "a") == {1: 1}
    assert counted(written(tmp_path / "u.jsonl", '{"a": "ä"}\n'.encode("utf-16")), "a") == {"ä": 1}


# -- Parquet and Arrow ------------------------------------------------------------------------------------------------------


def test_columns_that_stand_in_the_names_of_folders(tmp_path: Path) -> None:
    rows = {"sex": ["f", "f", "m/x y", None], "year": ["2020", "2021", "2020", "007"], "age": [1, 2, 3, 3]}
    pq.write_to_dataset(pa.table(rows), str(tmp_path / "hive=no"), partition_cols=["sex", "year"])
    for source in (tmp_path / "hive=no", tmp_path / "hive=no" / "*" / "*" / "*.parquet"):
        with open_table(source) as table:
            assert table.schema.names == ("age", "sex", "year")
            by_codes = table.count(["sex", "year", "age"])
            by_sql = table.count(["sex", "year", "age"], weight="age")
            assert by_codes.sizes.tolist() == by_sql.sizes.tolist() == [1, 1, 1, 1]
            assert [c.to_pylist() for c in by_codes.categories] == [c.to_pylist() for c in by_sql.categories]
        assert counted(source, "sex") == {"f": 2, "m/x y": 1, None: 1}
        assert counted(source, "year") == {"2020": 2, "2021": 1, "007": 1}
    with open_table(tmp_path / "hive=no") as table:
        table.recode(Plan(), tmp_path / "out.parquet")
    assert Counter(pq.read_table(tmp_path / "out.parquet")["sex"].to_pylist()) == {"f": 2, "m/x y": 1, None: 1}


def test_folders_that_name_different_columns(tmp_path: Path) -> None:
    for folder in ("sex=f", "year=2020"):
        (tmp_path / "t" / folder).mkdir(parents=True)
        pq.write_table(pa.table({"age": [1]}), tmp_path / "t" / folder / "p.parquet")
    with pytest.raises(UnreadableError, match="different columns"):
        open_table(tmp_path / "t")


def test_a_pattern_of_other_files_says_what_it_opens(tmp_path: Path) -> None:
    written(tmp_path / "a.doc", b"a\n1\n")
    with pytest.raises(UnreadableError, match="not a whole Parquet file"):
        open_table(tmp_path / "*.doc")
    with pytest.raises(UnreadableError, match="opens Parquet or CSV files"):
        open_table(tmp_path)


ODD = {
    "unsigned": pa.array([2**64 - 1, 1, 1], pa.uint64()),
    "nanoseconds": pa.array([1_001, 1_002, None], pa.time64("ns")),
    "half": pa.array([0.5, 0.5, None], pa.float16()),
    "fixed": pa.array([b"ab", b"ab", None], pa.binary(2)),
    "view": pa.array(["x", "x", None], pa.string_view()),
    "dates": pa.array([dt.date(2020, 1, 1), dt.date(2020, 1, 1), None], pa.date64()),
    "codes": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["x", "x", None])),
    "numbers": pa.array([7, 7, None]).dictionary_encode(),
    "list": pa.array([[1, 2], [1, 2], None]),
    "structure": pa.array([{"a": "x"}, {"a": "x"}, None]),
    "uuid": pa.array([b"0" * 16, b"0" * 16, None], pa.uuid()),
    "duration": pa.array([5, 5, None], pa.duration("s")),
    "runs": pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["x", None])),
}


@pytest.mark.parametrize("name", ODD)
def test_types_that_tables_seldom_have(tmp_path: Path, name: str) -> None:
    """Two rows alike and one apart, in memory and (where Parquet has the type) in a file; and published without a crash."""
    table = pa.table({name: ODD[name], "n": [1, 2, 3]})
    sources: list[Any] = [table]
    if name not in ("runs", "view", "codes"):
        pq.write_table(table, tmp_path / "t.parquet")
        sources.append(tmp_path / "t.parquet")
    for source in sources:
        with open_table(source) as opened:
            assert sorted(opened.count([name]).sizes.tolist()) == [1, 2]
            for ending in ("csv", "parquet", "xlsx"):
                assert opened.recode(Plan(), tmp_path / f"out.{ending}").records_out == 3


def test_unsigned_numbers_chunk_by_chunk() -> None:
    large, small = pa.array([2**64 - 1, 5], pa.uint64()), pa.array([5, 6], pa.uint64())
    for chunks in ([large, small], [small, large]):
        table = pa.table({"u": pa.chunked_array(chunks)})
        assert counted(table, "u") == {5: 2, 6: 1, 2**64 - 1: 1}


def test_decimals_of_too_many_digits_are_refused(tmp_path: Path) -> None:
    table = pa.table({"d": pa.array([decimal.Decimal(10) ** 50], pa.decimal256(60, 2))})
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        with pytest.raises(DataError, match="60 digits"):
            open_table(source)


def test_nothing_to_open(tmp_path: Path) -> None:
    pq.write_table(pa.table({}), tmp_path / "t.parquet")
    with pytest.raises(UnreadableError, match="no columns"):
        open_table(tmp_path / "t.parquet")


# -- frames -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([1, SECRET], id="numbers and text"),
        pytest.param([SECRET.encode(), SECRET], id="bytes and text"),
        pytest.param([dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)], id="days and moments"),
        pytest.param([2**70, 1], id="huge numbers"),
        pytest.param([1j, 2j], id="complex numbers"),
    ],
)
def test_pandas_columns_that_would_be_merged_or_fail(values: list[Any]) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(UsageError, match="column 'a'") as caught:
        open_table(pandas.DataFrame({"a": pandas.Series(values, dtype=object)}))
    assert SECRET not in str(caught.value)


def test_a_pandas_index_with_a_name_is_not_dropped_in_silence() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1, 2]}, index=pandas.Index(["a", "b"], name="patient"))
    with pytest.warns(ShoalWarning, match="patient"):
        open_table(frame)
    assert counted(frame.reset_index(), "patient") == {"a": 1, "b": 1}
    assert counted(pandas.Series([1, 1, 2], name="x"), "x") == {1: 2, 2: 1}


def test_polars_columns_without_a_form_are_refused() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(UsageError, match="column 'o'"):
        open_table(polars.DataFrame({"o": polars.Series([object(), object()], dtype=polars.Object)}))
    assert counted(polars.Series("x", [1, 1, 2]), "x") == {1: 2, 2: 1}
    assert counted(polars.DataFrame({"d": [dt.timedelta(days=1), dt.timedelta(days=1), None]}), "d") == {"24:00:00": 2, None: 1}


@pytest.mark.parametrize("frame", [{"a": [1, SECRET]}, {"a": [1], "b": [1, 2]}, {"a": 1}])
def test_dictionaries_that_are_no_table(frame: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        open_table(frame)
    assert SECRET not in str(caught.value)


# -- Excel and statistical files --------------------------------------------------------------------------------------------


def book(path: Path, rows: list[list[Any]], **more: Any) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    if "merge" in more:
        made.active.merge_cells(more["merge"])
    if more.get("hidden"):
        made.active.sheet_state = "hidden"
        made.create_sheet("shown").append(["s"])
        made["shown"].append([5])
    made.save(path)
    return path


def test_excel_reads_the_sheet_that_people_see(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", [["h"], [1]], hidden=True)
    assert counted(path, "s") == {5: 1}
    assert counted(path, "h", sheet="Sheet") == {1: 1}
    assert counted(book(tmp_path / "u.xlsx", [[None], ["a", "b"], [1, 2]]), "b") == {2: 1}


def test_excel_cells_that_only_look_filled_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="1 formulas that were never computed"):
        counted(book(tmp_path / "t.xlsx", [["a", "b"], [1, "=A2+1"]]), "a")
    with pytest.raises(UnreadableError, match="1 groups of merged cells"):
        counted(book(tmp_path / "t.xlsx", [["a", "b"], [1, 2], [3, 4]], merge="A2:A3"), "b")
    assert counted(book(tmp_path / "t.xlsx", [["title", None], [1, 2]], merge="A1:B1"), "title") == {1: 1}


def test_a_last_row_of_one_merged_cell_is_a_note_below_the_table(tmp_path: Path) -> None:
    rows = [["a", "b", "c"], *([i, i, i] for i in range(5)), ["Source: the register of the town.", None, None]]
    assert counted(book(tmp_path / "t.xlsx", rows, merge="A7:C7"), "a") == dict.fromkeys(range(5), 1)
    with pytest.raises(UnreadableError, match="1 groups of merged cells"):
        counted(book(tmp_path / "u.xlsx", rows, merge="B6:C6"), "a")


def test_excel_columns_of_two_types(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", [["a", "b"], *[[i, 1] for i in range(1_100)], [SECRET, 1.5]])
    with open_table(path) as table:
        assert [c.kind for c in table.schema.columns] == ["text", "float"]
        assert table.distinct("a") == 1_101
        assert table.distinct("b") == 2


def test_spss_numbers_declared_whole_that_are_not(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0] * 1_100 + [1.5]})
    pyreadstat.write_sav(frame, tmp_path / "t.sav", variable_format={"x": "F8.0"})
    assert counted(tmp_path / "t.sav", "x") == {1.0: 1_100, 1.5: 1}


def test_lettered_missing_values_of_stata_stay_apart(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": pandas.Series([1.0, 2.5, "a", "b", "a", None], dtype=object), "n": range(6)})
    pyreadstat.write_dta(
        frame,
        str(tmp_path / "t.dta"),
        missing_user_values={"x": ["a", "b"]},
        variable_value_labels={"x": {1: "yes", "a": "refused"}},
    )
    assert counted(tmp_path / "t.dta", "x") == {"1": 1, "2.5": 1, ".a": 2, ".b": 1, None: 1}
    assert counted(tmp_path / "t.dta", "x", user_missing="missing") == {1.0: 1, 2.5: 1, None: 4}
    with open_table(tmp_path / "t.dta") as table:
        assert table.schema["x"].labels == {"1": "yes", ".a": "refused"}
        assert table.schema["x"].user_missing == (".a", ".b")
        for ending in ("dta", "sav", "csv"):
            assert table.recode(Plan(), tmp_path / f"out.{ending}").records_out == 6
    assert counted(tmp_path / "out.dta", "x") == {"1": 1, "2.5": 1, ".a": 2, ".b": 1, None: 1}


@pytest.mark.parametrize("ending", ["zsav", "por", "xpt", "dta"])
def test_other_statistical_files(tmp_path: Path, ending: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"SEX": [1.0, 2.0, 1.0, None], "TXT": ["a", "b", "a", ""]})
    path = str(tmp_path / f"t.{ending}")
    write = {"zsav": "write_sav", "por": "write_por", "xpt": "write_xport", "dta": "write_dta"}[ending]
    getattr(pyreadstat, write)(frame, path, **({"compress": True} if ending == "zsav" else {}))
    assert counted(path, "SEX") == {1.0: 2, 2.0: 1, None: 1}
    assert counted(path, "TXT") == {"a": 2, "b": 1, None: 1}


def test_the_public_name_opens_them_too(tmp_path: Path) -> None:
    assert shoal.open(lines(tmp_path / "t.jsonl", {"a": 1})).n_rows() == 1


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("inner", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("sep", ["", "sep=,\r\n"])
def test_a_heading_of_two_lines(tmp_path: Path, end: str, inner: str, sep: str) -> None:
    """What Excel writes where somebody pressed Alt and Enter in a heading."""
    text = sep + end.join([f'a,"two{inner}lines"', '1,"x\ny"', "3,4", ""])
    path = written(tmp_path / "t.csv", text.encode())
    assert counted(path, "a") == {1: 1, 3: 1}
    assert counted(path, f"two{inner}lines") == {"x\ny": 1, "4": 1}


def workbook_with(path: Path, sheet: bytes, source: Path) -> Path:
    """A workbook whose first sheet has other content."""
    import zipfile

    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, sheet if name.endswith("sheet1.xml") else old.read(name))
    return path


SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">%b</worksheet>'


def test_workbooks_that_are_not_what_they_seem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = book(tmp_path / "good.xlsx", [["a"], [1]])
    cell = b'<c r="%b"><v>1</v></c>'
    far = b'<dimension ref="A1:XFD1048576"/><sheetData><row r="1">%b</row><row r="1048576">%b</row></sheetData>' % (
        cell % b"A1",
        cell % b"XFD1048576",
    )
    with pytest.raises(UnreadableError, match="16,384"):
        open_table(workbook_with(tmp_path / "far.xlsx", SHEET % far, good))
    bomb = SHEET % (
        b'<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>' + b"x" * (300 << 20) + b"</t></is></c></row></sheetData>"
    )
    with pytest.raises(UnreadableError, match="unpacks to"):
        open_table(workbook_with(tmp_path / "bomb.xlsx", bomb, good))
    laugh = b'<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b SYSTEM "file:///etc/hostname">]>' + SHEET % b"<sheetData>&b;</sheetData"
    for content in (laugh, b"<broken"):
        with pytest.raises(UnreadableError, match="not a readable"):
            open_table(workbook_with(tmp_path / "broken.xlsx", content, good)).n_rows()


def test_an_old_stata_file_in_another_code_page_is_asked_about(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    file = tmp_path / "t.dta"
    for word, page, asked in (("Łódź", "cp1250", True), ("Köln", "cp1252", False)):
        frame = pandas.DataFrame({"town": ["QxYz", "Ede"] * 20, "s": [1.0, 2.0] * 20})
        pyreadstat.write_dta(frame, str(file), version=10, variable_value_labels={"s": {1: "kobieta QxYz", 2: "man"}})
        file.write_bytes(file.read_bytes().replace(b"QxYz", word.encode(page)))
        if asked:
            with pytest.raises(UnreadableError, match="encoding=cp1250"):
                counted(file, "town")
        assert counted(file, "town", **({"encoding": page} if asked else {})) == {word: 20, "Ede": 20}


@pytest.mark.parametrize(("first", "names"), [("6.2.2003", "column1"), ("born", "Anna")])
def test_a_first_record_with_a_day_above_days_is_not_taken_for_names(tmp_path: Path, first: str, names: str) -> None:
    file = tmp_path / "people.csv"
    file.write_text(
        f"Anna,{first},2\n" + "".join(f"Ben{'abc'[i % 3]},{i + 1}.9.2000,{i % 2}\n" for i in range(28)), encoding="utf-8"
    )
    assert shoal.open(file).schema.names[0] == names


def test_days_above_counts_are_names(tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    file.write_text("place,1/22/20,1/23/20\n" + "".join(f"P{'abc'[i % 3]},{i},{i * 2}\n" for i in range(28)), encoding="utf-8")
    assert shoal.open(file).schema.names == ("place", "1/22/20", "1/23/20")
