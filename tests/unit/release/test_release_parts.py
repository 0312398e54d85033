"""Data in parts, without Spark: their names and digests, their columns, and numbers that the engine counts in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacks.leftovers import SPARK_SCHEMA, leftovers
from shoal.engines.recode.write import Recoded
from shoal.engines.spark.files import PART_ROWS, _gather, number_of_parts, publish_parts
from shoal.errors import DataError, InternalError, TamperError, VerificationError
from shoal.model.certificate.parts import FileEntry
from shoal.release.certificate.signing import check_bytes, check_files, digest_of_data, file_entry, listed_parts, signed_digest
from shoal.release.make.recode import ByEngine, remove_passing
from shoal.release.proof.facts import Facts
from shoal.release.proof.read import header, rows

DATA = "data.parquet"


def _part(i: int) -> str:
    return f"{DATA}/part-{i:05d}.parquet"


@pytest.mark.parametrize(
    "names",
    [
        [_part(1)],
        [_part(0), _part(2)],
        [_part(0), f"{DATA}/part-1.parquet"],
        [_part(0), f"{DATA}/more.csv"],
        [_part(0), f"{DATA}/a/part-00001.parquet"],
        [f"{DATA}/part-00000.parquet.gz"],
    ],
)
def test_parts_are_numbered_without_a_gap(names: list[str]) -> None:
    with pytest.raises(TamperError):
        listed_parts(names, DATA)


def test_only_parquet_has_parts() -> None:
    assert listed_parts([_part(1), "plan.json", _part(0)], DATA) == [_part(0), _part(1)]
    assert listed_parts(["data.csv", "plan.json"], "data.csv") == []
    with pytest.raises(TamperError, match="one file"):
        listed_parts(["data.csv/part-00000.parquet"], "data.csv")


def _folder(place: Path, *tables: Any) -> Path:
    folder = place / DATA
    folder.mkdir()
    for i, table in enumerate(tables):
        pq.write_table(table, folder / f"part-{i:05d}.parquet")
    return folder


def test_one_digest_of_all_parts(tmp_path: Path) -> None:
    one, two = pa.table({"a": [1, 2]}), pa.table({"a": [3]})
    folder = _folder(tmp_path, one, two)
    entries = [file_entry(f, tmp_path) for f in folder.iterdir()]
    assert sorted(e.name for e in entries) == [_part(0), _part(1)]
    before = digest_of_data(folder)
    assert signed_digest(entries, DATA) == before
    assert signed_digest([FileEntry(DATA, 1, "x")], DATA) == "x"
    assert signed_digest([], DATA) is None
    pq.write_table(two, folder / "part-00000.parquet")
    pq.write_table(one, folder / "part-00001.parquet")
    assert digest_of_data(folder) != before, "the same files under other names"
    assert digest_of_data(folder / "part-00000.parquet") == file_entry(folder / "part-00000.parquet").sha256


@pytest.mark.parametrize("other", [{"a": [3], "name": ["Bo"]}, {"a": ["3"]}, {"b": [3]}])
def test_all_parts_have_the_same_columns(tmp_path: Path, other: dict[str, list[Any]]) -> None:
    """A column that only a later part has would be published and never counted."""
    folder = _folder(tmp_path, pa.table({"a": [1]}), pa.table({"a": [2]}))
    assert header(folder) == ["a"]
    assert list(rows(folder, ["a"])) == [(1,), (2,)]
    pq.write_table(pa.table(other), folder / "part-00001.parquet")
    with pytest.raises(TamperError, match="different columns"):
        header(folder)


def test_leftovers_of_every_part(tmp_path: Path) -> None:
    plain = b'{"fields": [{"name": "a", "type": "long", "nullable": true, "metadata": {}}]}'
    table = pa.table({"a": [1]})
    spark = table.replace_schema_metadata({SPARK_SCHEMA: plain, b"org.apache.spark.version": b"4"})
    folder = _folder(tmp_path, spark, spark)
    assert leftovers(table, (folder,)).verdict == "holds"
    noted = spark.replace_schema_metadata({SPARK_SCHEMA: plain.replace(b"{}", b'{"comment": "Bo"}')})
    pq.write_table(noted, folder / "part-00001.parquet")
    assert leftovers(table, (folder,)).sentence.count(SPARK_SCHEMA.decode()) == 1


def test_how_many_files() -> None:
    assert [number_of_parts(n) for n in (0, 1, PART_ROWS, PART_ROWS + 1, 2 * PART_ROWS)] == [1, 1, 1, 2, 2]


@pytest.mark.parametrize("expected", [2, 3, 4])
def test_files_with_other_rows_than_were_counted(tmp_path: Path, expected: int) -> None:
    (tmp_path / "made").mkdir()
    made, out = _folder(tmp_path / "made", pa.table({"a": [1, 2]}), pa.table({"a": [3]})), tmp_path / "out"
    out.mkdir()
    if expected == 3:
        publish_parts(made, out / DATA, expected)
        assert sorted(p.name for p in (out / DATA).iterdir()) == ["part-00000.parquet", "part-00001.parquet"]
    else:
        with pytest.raises(DataError, match="changed"):
            publish_parts(made, out / DATA, expected)
        assert list(out.iterdir()) == []


def test_a_range_is_written_once(tmp_path: Path) -> None:
    """A range without rows has no file; the others keep their order."""
    written = tmp_path / "rows"
    for cut, names in {0: ["part-7-a.parquet"], 2: ["part-1-a.parquet"]}.items():
        (written / f"c={cut}").mkdir(parents=True)
        for name in names:
            (written / f"c={cut}" / name).write_text(name)
    _gather(written, "c", 3, tmp_path)
    assert [(tmp_path / f"part-0000{i}.parquet").read_text() for i in range(2)] == ["part-7-a.parquet", "part-1-a.parquet"]
    for name in ("part-1-a.parquet", "part-2-b.parquet"):
        (written / "c=1").mkdir(exist_ok=True)
        (written / "c=1" / name).write_text(name)
    with pytest.raises(InternalError, match="twice"):
        _gather(written, "c", 3, tmp_path)


CELLS = st.sampled_from([None, "a", "b", "c"])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12))
def test_numbers_that_the_engine_counts(pairs: list[tuple[str | None, str | None]]) -> None:
    """Against their definition, record by record."""
    with shoal.open(
        pa.table({"q": pa.array([q for q, _ in pairs], "string"), "v": pa.array([v for _, v in pairs], "string")})
    ) as t:
        found = ByEngine(t, ["q"]).sizes("v")
        sizes = t.class_sizes(["q"])
    assert found == dict(sorted(Counter(Counter(pairs).values()).items()))
    assert sizes == dict(sorted(Counter(Counter(q for q, _ in pairs).values()).items()))


def test_a_passing_copy_is_removed(tmp_path: Path) -> None:
    """The copy in a shared folder, not the data themselves."""
    data, shared = tmp_path / "data", tmp_path / "shared"
    for folder in (data, shared):
        folder.mkdir()
        (folder / "part").write_text("x")
    for at in ("", str(data)):
        remove_passing(Recoded(1, 1, 0, parts_at=at), data)
    assert (data / "part").exists()
    remove_passing(Recoded(1, 1, 0, parts_at=str(shared)), data)
    assert (data / "part").exists()
    assert not shared.exists()


def _facts(**changed: Any) -> Facts:
    same: dict[str, Any] = {"records": 5, "classes": 2, "k": 2, "unique": 0, "sizes": {2: 1, 3: 1}}
    return Facts(**{**same, **changed})


def test_the_engine_must_find_the_same_classes() -> None:
    with shoal.open(pa.table({"q": ["a", "a", "b", "b", "b"]})) as table:
        seen = ByEngine(table, ["q"])
        seen.require_same(_facts())
        seen.require_same(_facts(people=4, sizes={1: 1, 3: 1}))
        for wrong in ({"records": 6}, {"sizes": {1: 1, 4: 1}}, {"people": 4, "classes": 3}, {"people": 4, "records": 4}):
            with pytest.raises(VerificationError, match="disagree"):
                seen.require_same(_facts(**wrong))


def test_every_listed_file_is_an_ordinary_one_with_the_bytes_that_were_signed(tmp_path):
    (tmp_path / "data.csv").write_text("a\n1\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "data.csv")
    (tmp_path / "folder.csv").mkdir()
    entry = file_entry(tmp_path / "data.csv")
    assert check_bytes(tmp_path, (entry,)) == "all 1 files have the bytes that were signed"
    lies = {
        "was changed": [replace(entry, bytes=entry.bytes + 1), replace(entry, sha256="0" * 64)],
        "is a link": [replace(entry, name="link.csv")],
        "not an ordinary file": [replace(entry, name="folder.csv")],
    }
    for words, entries in lies.items():
        for one in entries:
            with pytest.raises(TamperError, match=words):
                check_bytes(tmp_path, (entry, one))


@pytest.mark.parametrize("name", ["/data.csv", "../data.csv", "data/../../data.csv", "certificate.json"])
def test_no_listed_file_is_outside_the_folder_or_the_certificate_itself(tmp_path, name):
    entry = FileEntry(name, 1, "0" * 64)
    with pytest.raises(TamperError, match="outside the folder"):
        check_files(tmp_path, (entry,), "data.csv")
    with pytest.raises(TamperError, match="twice"):
        check_files(tmp_path, (entry, entry), "data.csv")
