"""Lists of people who asked not to be in it: how they are read, and files without these people."""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.exclusion import column_of, ids_of, leave_out, spellings, without
from shoal.errors import MissingColumnError, UnreadableError, UsageError
from shoal.model.exclusion import Excluded, commitment
from shoal.model.plan import Plan


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        ("no.txt", "0012\n  7 \n\n0012\n", ("0012", "7")),
        ("no.txt", "\ufeffid\n5\n", ("5",)),
        ("no", "a b\nc\n", ("a b", "c")),
        ("no.csv", "id\n5\n6\n", ("5", "6")),
        ("no.csv", "5\n6\n", ("5", "6")),
        ("no.csv", "name;id\nAnna;5\nBert\nCarl; 6\n", ("5", "6")),
        ("no.csv", '"a,b"\nc\n', ("a,b", "c")),
        ("no.txt", 'Anna\n"Bert"\nCarl "C"\n', ("Anna", "Bert", 'Carl "C"')),
        ("no.tsv", "x\tid\ty\n1\t5\t2\n", ("5",)),
    ],
)
def test_one_id_per_line_or_a_column(tmp_path: Path, name: str, text: str, ids: tuple[str, ...]) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert ids_of(tmp_path / name, "id") == ids


def test_a_list_in_a_table_has_the_person_column_or_one_column(tmp_path: Path) -> None:
    file = tmp_path / "no.parquet"
    pq.write_table(pa.table({"who": ["5", "6"]}), file)
    assert ids_of(file, "id") == ("5", "6")
    pq.write_table(pa.table({"old": ["8", "9"], "id": ["5", "6"]}), file)
    assert ids_of(file, "id") == ("5", "6")
    with pytest.raises(UsageError, match="several columns"):
        ids_of(file, "person")


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((1, 1, 1, 0), "1 person who asked not to be in it was left out first, with 1 record."),
        (
            (3, 2, 5, 1),
            "2 people who asked not to be in it were left out first, with 5 records. 1 id of the list is not in the table. "
            "1 record has no id and could not be compared.",
        ),
        (
            (4, 2, 5, 2),
            "2 people who asked not to be in it were left out first, with 5 records. 2 ids of the list are not in the table. "
            "2 records have no id and could not be compared.",
        ),
    ],
)
def test_what_a_list_did_in_words(numbers: tuple[int, int, int, int], expected: str) -> None:
    assert Excluded("id", *numbers).sentence == expected


def test_a_column_is_named_after_a_colon(tmp_path: Path) -> None:
    file = tmp_path / "no.csv"
    file.write_text("id,old\n5,8\n6,9\n", encoding="utf-8")
    assert ids_of(f"{file}:old", "id") == ("8", "9")
    assert column_of(f"{file}:old", ["old", "id"]) == "old"
    assert column_of(file, ["id", "age"]) == "id"
    assert column_of(file, ["old", "id"]) is None, "two columns could be meant"
    with pytest.raises(UsageError, match="no column of that name"):
        ids_of(f"{file}:other", "id")
    with pytest.raises(UsageError, match="several columns"):
        ids_of(file, "person")


def test_ids_from_other_files_and_from_python(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [5, 6, None], "x": [1, 2, 3]}), tmp_path / "no.parquet")
    assert sorted(ids_of(tmp_path / "no.parquet", "id")) == ["5", "6"]
    assert ids_of([0, 5]) == ("0", "5"), "an opt-out with id 0 is in the list"
    assert column_of(tmp_path / "no.parquet", ["id"]) == "id"
    assert ids_of([5, None, "6 "]) == ("5", "6")


def test_a_list_that_is_not_there_or_empty_is_told(tmp_path: Path) -> None:
    table = shoal.open({"id": [1], "age": [2]})
    with pytest.raises(UnreadableError, match="not there"):
        leave_out(table, tmp_path / "none.txt", "id")
    (tmp_path / "empty.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(UsageError, match="empty"):
        leave_out(table, tmp_path / "empty.txt", "id")
    with pytest.raises(UsageError, match="which column"):
        leave_out(table, ["1"])
    with pytest.raises(MissingColumnError):
        leave_out(table, ["1"], "person")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_by_codes_and_by_sql_leave_out_the_same_people(tmp_path: Path, form: str) -> None:
    rows = pa.table({"id": [f"{i % 50:03d}" for i in range(500)], "age": [i % 9 for i in range(500)], "w": [1.5] * 500})
    file = tmp_path / f"people.{form}"
    with shoal.open(rows) as frame:
        frame.recode(Plan((), shuffle=False), file)
    with shoal.open(file, quasi=["age"], unit="id") as table:
        left = leave_out(table, ["007", "7", "049"]).table
        assert left.n_rows() == 480
        assert left.count().n_people == 48
        assert left.count(weight="w").sizes.tolist() == left.count().sizes.tolist()  # by SQL, by codes
        ids = [i for b in left.scan(["id"]) for i in b.column("id").to_pylist()]
        kept = [i for i in rows["id"].to_pylist() if i not in ("007", "049")]
        assert ids == kept, "rows of a file stay in their order"


def test_numbers_are_the_same_however_they_are_written() -> None:
    whole = leave_out(shoal.open({"id": [7, 8], "a": [1, 2]}), ["007"], "id")
    assert whole.told.found == 1
    text = leave_out(shoal.open({"id": ["7", "8"], "a": [1, 2]}), ["007"], "id")
    assert text.told.found == 0, "in a column of texts 007 is another id than 7"
    fraction = leave_out(shoal.open({"id": [7.0, 8.5], "a": [1, 2]}), ["7", "8.50"], "id")
    assert fraction.told.found == 2


@pytest.mark.parametrize(
    ("text", "spelled"),
    [("7.0", "7"), ("7e0", "7"), ("-07.", "-7"), ("1E+3", "1000"), ("7.5", "7.5"), ("x", "x"), ("nan", "nan"), ("sNaN", "sNaN"),
     ("inf", "inf"), ("9" * 40, "9" * 40), ("0" * 5000, "0"), ("1e39", "1" + "0" * 39), ("1e40", "1e40"), ("1e999999999",) * 2],
)  # fmt: skip
def test_a_whole_number_in_any_spelling(text: str, spelled: str) -> None:
    assert list(spellings([text], "integer")) == [spelled]


def test_whole_numbers_that_became_fractions_are_removed() -> None:
    """A program that reads ids beside a missing value makes fractions of them: 7.0 must still find 7."""
    left = leave_out(shoal.open({"id": [7, 8], "a": [1, 2]}), [7.0, None], "id")
    assert (left.told.listed, left.told.found, left.table.n_rows()) == (1, 1, 1)


def test_a_list_with_a_second_column_in_any_line_needs_names(tmp_path: Path) -> None:
    for text in ("5,x\n6\n", "5,\n6,y\n"):
        (tmp_path / "no.csv").write_text(text)
        with pytest.raises(UsageError, match="several columns"):
            ids_of(tmp_path / "no.csv", "id")


def test_a_commitment_binds_to_the_list_and_to_the_salt() -> None:
    bound = commitment(["b", "a", "a"], "salt")
    assert bound == commitment(["a", "b"], "salt")
    assert len({bound, commitment(["ab"], "salt"), commitment(["a", "b"], "other"), commitment(["a", "b", ""], "salt")}) == 4
    assert commitment([], "salt") == hmac.new(b"salt", b"shoal objections|", "sha256").hexdigest()


def test_nothing_of_the_list_is_shown() -> None:
    left = leave_out(shoal.open({"id": ["Anna", "Bert"], "a": [1, 2]}), ["Anna", "Carl"], "id")
    assert "Anna" not in repr(left)
    assert "Carl" not in repr(left) + left.told.sentence + str(left.told.to_json())


@pytest.mark.parametrize("ids", [[0], ["0"], (0, 7)], ids=str)
def test_an_opt_out_with_id_0_is_removed(ids: Any, tmp_path: Path) -> None:
    """In memory (the Arrow reader) and in a database (SQL); 0 is false in Python but is an id."""
    rows = pa.table({"id": [0, 0, 1, None], "age": [1, 2, 3, 4]})
    with duckdb.connect(str(tmp_path / "p.duckdb")) as con:
        con.execute("CREATE TABLE t AS FROM rows")
    for source in (rows, f"duckdb://{tmp_path / 'p.duckdb'}::t"):
        with shoal.open(source) as table:
            removed = leave_out(table, ids, "id")
            assert sorted(removed.table.values("age")[0].to_pylist()) == [3, 4]
            assert sorted(a for b in removed.table.scan() for a in b["age"].to_pylist()) == [3, 4]
            assert (removed.told.found, removed.told.records, removed.told.unnamed) == (1, 2, 1)


def test_rows_without_a_person_are_removed_if_they_may_not_stay(tmp_path: Path) -> None:
    rows = pa.table({"id": [0, 1, None], "age": [1, 2, 3]})
    with duckdb.connect(str(tmp_path / "p.duckdb")) as con:
        con.execute("CREATE TABLE t AS FROM rows")
    for source in (rows, f"duckdb://{tmp_path / 'p.duckdb'}::t"):
        with shoal.open(source) as table:
            for unnamed, ages in ((True, [2, 3]), (False, [2])):
                left, _ = without(table, ["0"], "id", unnamed=unnamed)
                assert sorted(left.values("age")[0].to_pylist()) == ages
                assert sorted(a for b in left.scan() for a in b["age"].to_pylist()) == ages
