"""CSV: dialects, encodings, deliberate types, the missing rule, and errors that never tell a value."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from shoal.engines.open import open as open_table
from shoal.errors import AmbiguousColumnError, MissingColumnError, UnreadableError, UsageError

CANARY = "Zebedee-7781"


def write(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(path: Path, **options: Any) -> list[dict[str, Any]]:
    with open_table(path, **options) as table:
        return [row for batch in table.scan() for row in batch.to_pylist()]


def kinds(path: Path, **options: Any) -> dict[str, str]:
    with open_table(path, **options) as table:
        return {c.name: c.kind for c in table.schema.columns}


def test_values_stay_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path, "zip,long,yes,id\n01234,12345678901234567890,yes,7\n99999,1,no,-12\n")
    assert kinds(path) == {"zip": "text", "long": "text", "yes": "text", "id": "integer"}
    assert rows(path)[0] == {"zip": "01234", "long": "12345678901234567890", "yes": "yes", "id": 7}


def test_types_that_spell_their_values_exactly(tmp_path: Path) -> None:
    path = write(
        tmp_path, "i,price,x,day,moment\n0,1.50,1,2020-02-29,2020-01-01 10:00:00\n-5,22.05,2.25,1999-12-31,2020-01-01 10:00:01\n"
    )
    assert kinds(path) == {"i": "integer", "price": "decimal", "x": "float", "day": "date", "moment": "timestamp"}
    assert str(rows(path)[1]["price"]) == "22.05"


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1e+05", "99999", "12.5"], "float"),  # as R writes 100000
        (["1e-05", "0.25"], "float"),
        (["2.5E-07", "1.0E7"], "float"),
        (["1.234567890123456e-05", "0.25"], "float"),  # the shortest text of its number
        (["0.00005768648854043157", "6.369616873214543"], "float"),  # the same digits without an exponent
        (["0.000057686488540431571", "6.369616873214543"], "text"),  # another text of that number
        (["1.2345678901234567890e-05", "0.25"], "text"),  # a float would lose digits
        (["1e-400", "0.25"], "text"),
        (["1e+309", "0.25"], "text"),
        (["12E4", "13E7"], "text"),  # may be codes
        (["1e5", "2e6"], "text"),
        (["123.45678901234567890", "999.00000000000000001"], "decimal"),  # 20 digits, all kept
        (["1." + "0" * 36 + "1", "2." + "0" * 36 + "3"], "decimal"),  # 38 digits
        (["1." + "0" * 37 + "1", "2." + "0" * 37 + "3"], "text"),
        (["123.45678901234567890", "999.1"], "text"),
    ],
)
@pytest.mark.parametrize("plain", [True, False], ids=["short way", "long way"])
def test_numbers_of_programs_are_numbers_where_no_digit_is_lost(tmp_path: Path, texts: list[str], kind: str, plain: bool) -> None:
    cells = texts if plain else [f'{texts[0]},"a\nb"', *texts[1:]]
    path = write(tmp_path, "x,y\n" + "".join(f"{v}{'' if ',' in v else ',z'}\n" for v in cells))
    assert kinds(path)["x"] == kind
    if kind != "text":
        assert [float(r["x"]) for r in rows(path)] == [float(t) for t in texts]
    if kind == "decimal":
        assert [str(r["x"]) for r in rows(path)] == texts


@pytest.mark.parametrize(
    ("texts", "kind", "classes"),
    [
        (["1e+05", "12,5"], "float", 2),
        (["12,50", "7,25"], "decimal", 2),
        (["0,12345678901234567890", "0,12345678901234567891"], "decimal", 2),
        (["0,12345678901234567890", "0,12345678901234567891", "0,5"], "text", 3),  # as floats the first two would be one
        (["0,1234567890123456", "0,5"], "float", 2),
    ],
)
def test_decimal_commas_lose_no_digit(tmp_path: Path, texts: list[str], kind: str, classes: int) -> None:
    path = write(tmp_path, "x;y\n" + "".join(f"{v};z\n" for v in texts))
    assert kinds(path)["x"] == kind
    with open_table(path) as table:
        assert table.count(["x"]).n_classes == classes


@pytest.mark.parametrize("text", ["2020-02-30", "20-01-01", "2020-1-1"], ids=["no such day", "short year", "short month"])
def test_what_is_not_a_date_stays_text(tmp_path: Path, text: str) -> None:
    assert kinds(write(tmp_path, f"d,e\n{text},1\n")) == {"d": "text", "e": "integer"}


def test_missing_is_the_empty_unquoted_field(tmp_path: Path) -> None:
    path = write(tmp_path, 'a,b\n,""\n?,NA\nNULL,"x"\n')
    assert rows(path) == [{"a": None, "b": ""}, {"a": "?", "b": "NA"}, {"a": "NULL", "b": "x"}]
    assert [r["a"] for r in rows(path, null=["?", "NULL"])] == [None, None, None]
    assert rows(path, null="NA")[1]["b"] is None


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_guessed_and_shown(tmp_path: Path, delimiter: str) -> None:
    path = write(tmp_path, f'a{delimiter}b\n"x{delimiter}y"{delimiter}1\n')
    with open_table(path) as table:
        assert table.source["delimiter"] == delimiter
    assert rows(path) == [{"a": f"x{delimiter}y", "b": 1}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_encodings_are_guessed(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, "name,n\nZoë,1\nJosé,2\n".encode(encoding))
    assert [r["name"] for r in rows(path)] == ["Zoë", "José"]


def test_encoding_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path, "name,n\n€uro,1\n".encode("cp1252"))
    assert rows(path, encoding="cp1252")[0]["name"] == "€uro"
    with pytest.raises(UsageError, match="encoding 'nonsense' is not known"):
        open_table(path, encoding="nonsense")


def test_quotes_and_newlines_inside_fields(tmp_path: Path) -> None:
    path = write(tmp_path, 'a,b\r\n"say ""hi""","x\ny"\r\n')
    assert rows(path) == [{"a": 'say "hi"', "b": "x\ny"}]


def test_names_in_single_quotes(tmp_path: Path) -> None:
    assert rows(write(tmp_path, "'age','of'\n30,'t Hart\n31,b\n")) == [{"age": 30, "of": "'t Hart"}, {"age": 31, "of": "b"}]
    assert rows(write(tmp_path, "'age','of'\n30,'a, b'\n31,c\n")) == [{"age": 30, "of": "a, b"}, {"age": 31, "of": "c"}]
    assert list(rows(write(tmp_path, "'age',of\n30,b\n"))[0]) == ["'age'", "of"]  # not all of them
    assert list(rows(write(tmp_path, "'age','of'\n30,b\n"), quote='"')[0]) == ["'age'", "'of'"]  # told how to read it


def test_decimal_comma(tmp_path: Path) -> None:
    path = write(tmp_path, "x;y\n1,5;a\n-2;b\n0,25;c\n")
    with open_table(path) as table:
        assert table.source["decimal"] == ","
    assert [r["x"] for r in rows(path)] == [1.5, -2.0, 0.25]
    assert [r["x"] for r in rows(path, decimal=".")] == ["1,5", "-2", "0,25"]


def test_header_is_guessed_and_can_be_given(tmp_path: Path) -> None:
    bare = write(tmp_path, "39,State-gov,77516\n50,Private,83311\n")
    assert list(kinds(bare)) == ["column1", "column2", "column3"]
    assert list(kinds(bare, header=True)) == ["39", "State-gov", "77516"]
    years = write(tmp_path, "country,2019,2020\nNL,1,2\n", "y.csv")
    assert list(kinds(years, header=True)) == ["country", "2019", "2020"]


def test_types_and_dates_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path, "age,born\n007,31/12/1999\n8,01/02/2000\n")
    assert kinds(path) == {"age": "text", "born": "text"}
    found = rows(path, types={"age": "integer"}, dates={"born": "%d/%m/%Y"})
    assert [r["age"] for r in found] == [7, 8]
    assert str(found[0]["born"]) == "1999-12-31"
    with pytest.raises(UsageError, match="type 'number'"):
        open_table(path, types={"age": "number"})
    with pytest.raises(MissingColumnError, match="Did you mean 'age'"):
        open_table(path, types={"agee": "integer"})


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,x\n"))
    assert rows(path) == [{"a": 1, "b": "x"}]


def test_a_name_with_wildcards_is_one_file(tmp_path: Path) -> None:
    write(tmp_path, "a,b\n2,y\n", "t1.csv")
    assert rows(write(tmp_path, "a,b\n1,x\n", "t[1].csv")) == [{"a": 1, "b": "x"}]


# -- bad input: a clear error, and never a value ---------------------------------------------------------------------


def fails(call: Any) -> str:
    with pytest.raises(UnreadableError) as caught:
        call()
    message = str(caught.value)
    assert CANARY not in message
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return message


def test_ragged_line(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b,c\n" + "1,2,3\n" * 5 + f"4,{CANARY}\n" + "1,2,3\n")
    message = fails(lambda: open_table(path).n_rows())
    assert "line 7" in message
    assert "2 fields; 3 were expected" in message


def test_ragged_line_beyond_the_sample(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b,c\n" + "1,2,3\n" * 60_000 + f"4,{CANARY},5,6\n" + "1,2,3\n" * 60_000)
    table = open_table(path)
    message = fails(lambda: table.count(["a"]))
    assert "line 60002" in message
    assert "4 fields; 3 were expected" in message
    table.close()


def test_quote_that_is_never_closed(tmp_path: Path) -> None:
    path = write(tmp_path, f'a,b\n1,2\n3,"{CANARY}\n')
    fails(lambda: open_table(path).n_rows())


def test_late_value_of_another_type_names_the_record(tmp_path: Path) -> None:
    path = write(tmp_path, "age,b\n" + "30,x\n" * 25_000 + f"{CANARY},x\n" + "007,y\n")
    table = open_table(path)
    assert table.schema["age"].kind == "integer"
    message = fails(lambda: table.count(["age"]))
    assert "column 'age'" in message
    assert "2 record(s)" in message
    assert "record 25001" in message
    assert "types={'age': 'text'}" in message
    table.close()
    assert open_table(path, types={"age": "text"}).count(["age"]).n_classes == 3


def test_late_byte_that_is_not_utf8(tmp_path: Path) -> None:
    path = write(tmp_path, b"a,b\n" + b"x,y\n" * 100_000 + "é,y\n".encode("latin-1"))
    assert "encoding" in fails(lambda: open_table(path).count(["a"]))


def test_empty_file(tmp_path: Path) -> None:
    assert "is empty" in fails(lambda: open_table(write(tmp_path, "\n\n")))


def test_missing_file_names_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n", "patients.csv")
    assert "Did you mean 'patients.csv'?" in fails(lambda: open_table(tmp_path / "patient.csv"))


def test_vanished_file(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n1,2\n")
    table = open_table(path)
    path.unlink()
    assert "not there" in fails(lambda: table.count(["a"]))
    table.close()


def test_duplicate_and_confusable_names(tmp_path: Path) -> None:
    with pytest.raises(AmbiguousColumnError, match="same name 'a'"):
        open_table(write(tmp_path, "a,a\n1,2\n"), rename_duplicates=False)
    with pytest.raises(AmbiguousColumnError, match="easily confused"):
        open_table(write(tmp_path, "Age,ａｇｅ\n1,2\n"))
    with pytest.raises(AmbiguousColumnError, match=r"'sex' and 's\\u0435x'"):  # a Cyrillic letter
        open_table(write(tmp_path, "sex,s\u0435x\n1,2\n"))
    with pytest.raises(AmbiguousColumnError, match="easily confused"):
        open_table(write(tmp_path, "\u0412,\u0432\n1,2\n"), rename_duplicates=False)
    with open_table(write(tmp_path, "вес,рост,возраст,пол,sex\n1,2,3,4,5\n")) as table:
        assert len(table.schema.names) == 5


def test_unknown_column_names_the_nearest(tmp_path: Path) -> None:
    path = write(tmp_path, "zip_code,b\n1,2\n")
    with pytest.raises(MissingColumnError, match="Did you mean 'zip_code'"):
        open_table(path, quasi=["zipcode"])
    with pytest.raises(MissingColumnError, match="Did you mean 'zip_code'"):
        open_table(path).count(["zip_cod"])


def test_unknown_option_and_format(tmp_path: Path) -> None:
    path = write(tmp_path, "a\n1\n")
    with pytest.raises(UsageError, match="Did you mean 'delimiter'"):
        open_table(path, delimeter=";")
    with pytest.raises(UsageError, match=r"format of 'x\.abc'"):
        open_table(write(tmp_path, "a", "x.abc"))
    with pytest.raises(UsageError, match="one character"):
        open_table(path, delimiter="::")


@pytest.mark.parametrize(
    ("name", "advice"),
    [("p.dbf", "save it as .xlsx or .csv"), ("p.RDS", "write.csv"), ("p.accdb", "Export the table"), ("p.tar.gz", "Unpack it"),
     ("p.sas7bcat", "sas7bdat"), ("p.docx", "spreadsheet")],
)  # fmt: skip
def test_files_of_other_programs_are_refused_with_advice(tmp_path: Path, name: str, advice: str) -> None:
    with pytest.raises(UnreadableError, match=advice):
        open_table(write(tmp_path, "a,b\n1,2\n", name))
    assert open_table(write(tmp_path, "a,b\n1,2\n", name), format="csv").n_rows() == 1


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ((" 65.78", "71.5", "  -2.25 "), "float"),
        ((" 65.78", "71.50"), "decimal"),
        ((" 1", "2", " 3"), "integer"),
        ((" 1", "2", " x"), "text"),
        ((" 1", "2", " "), "integer"),
        ((" 01", "2"), "text"),
    ],
)
def test_blanks_around_numbers_are_no_part_of_them(tmp_path, cells, kind):
    path = tmp_path / "padded.csv"
    path.write_text("a,b\n" + "".join(f"x,{cell}\n" for cell in cells))
    with open_table(path) as table:
        assert table.schema["b"].kind == kind
        values = [v for batch in table.scan() for v in batch.column("b").to_pylist()]
    if kind == "text":
        assert values == list(cells)
    else:  # a blank is a missing number
        assert [v if v is None else float(v) for v in values] == [float(c) if c.strip() else None for c in cells]
