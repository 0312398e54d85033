"""Lake tables: removed rows never come back, versions are named, and plain reading is refused."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from release_forging import plain_certificate
from shoal.errors import DependencyError, UnreadableError, UsageError

PEOPLE = pa.table({"age": [20 + i % 4 for i in range(40)], "sex": ["f", "m", None, "f"] * 10})


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = pytest.importorskip("deltalake")
    folder = tmp_path_factory.mktemp("delta") / "people"
    lake.write_deltalake(str(folder), PEOPLE)
    lake.DeltaTable(str(folder)).delete("age >= 22")
    return Path(folder)


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    memory = pytest.importorskip("pyiceberg.catalog.memory")
    place = tmp_path_factory.mktemp("iceberg")
    catalog = memory.InMemoryCatalog("c", warehouse=place.as_uri())
    catalog.create_namespace("n")
    table = catalog.create_table("n.people", schema=PEOPLE.schema)
    table.append(PEOPLE)
    first = table.current_snapshot().snapshot_id
    table.delete("age >= 22")
    catalog.close()
    return place / "n" / "people", first


def counted(source: str | Path) -> tuple[int, list[int]]:
    with shoal.open(source) as table:
        return table.n_rows(), sorted(table.count(["age", "sex"]).sizes.tolist())


LIVE, ALL = (20, [10, 10]), (40, [10, 10, 10, 10])


def test_a_delta_folder_is_read_by_its_log(delta: Path) -> None:
    assert counted(delta) == counted(str(delta)) == counted(f"delta::{delta}") == counted(f"delta::{delta}@1") == LIVE
    assert counted(f"delta::{delta}@0") == ALL
    with pytest.raises(UnreadableError, match="at version 2 cannot be read"):
        shoal.open(f"delta::{delta}@2")


def test_an_iceberg_folder_is_read_by_its_metadata(iceberg: tuple[Path, int]) -> None:
    folder, first = iceberg
    assert counted(folder) == counted(f"iceberg::{folder}") == LIVE
    assert counted(f"iceberg::{folder}@{first}") == ALL
    with pytest.raises(UnreadableError, match="no snapshot 7"):
        shoal.open(f"iceberg::{folder}@7")


def test_parquet_files_of_a_lake_table_are_not_read_as_plain_ones(delta: Path, iceberg: tuple[Path, int]) -> None:
    for folder, kind in ((delta, "Delta"), (iceberg[0], "Iceberg")):
        file = next(folder.rglob("*.parquet"))
        for source in (file, f"{file.parent}/*.parquet", folder.parent):
            with pytest.raises(UsageError, match=f"belongs to the {kind} table"):
                shoal.open(source)
    with pytest.raises(UsageError, match="belongs to the Delta table"):
        shoal.open(delta, format="parquet")


def test_lake_tables_are_read_by_no_statements(delta: Path, iceberg: tuple[Path, int]) -> None:
    for source in (f"delta::{delta}", f"iceberg::{iceberg[0]}"):
        with pytest.raises(UsageError, match="only tables in databases can be read by aggregates"):
            shoal.open(source, only_aggregates=True)
        with pytest.raises(UsageError, match="only tables in databases are read by statements"):
            shoal.preview("inspect", source)


def test_what_is_no_lake_table_is_said_so(tmp_path: Path, delta: Path) -> None:
    with pytest.raises(UnreadableError, match="is not a Delta table"):
        shoal.open(f"delta::{tmp_path}")
    with pytest.raises(UnreadableError, match="is not an Iceberg table"):
        shoal.open(f"iceberg::{delta}")
    with pytest.raises(UnreadableError, match="does not exist"):
        shoal.open("delta::nowhere")
    with pytest.raises(UsageError, match="names no lake table"):
        shoal.open("delta::")


@pytest.mark.parametrize("package", ["deltalake", "pyiceberg"])
def test_a_missing_library_is_named(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [m for m in sys.modules if m == package or m.startswith(package + ".")]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    if package == "deltalake":
        (tmp_path / "_delta_log").mkdir()
    else:
        (tmp_path / "metadata").mkdir()
        (tmp_path / "metadata" / "v1.metadata.json").write_text("{}")
    with pytest.raises(DependencyError, match=f"pip install .*{package}"):
        shoal.open(tmp_path)


def test_the_version_stands_in_the_certificate(delta: Path, tmp_path: Path) -> None:
    with shoal.open(delta) as table:
        release = shoal.anonymize(table, quasi=["age", "sex"], k=3, allow={"loss": 1}).write(tmp_path / "release")
    found = plain_certificate(release)["input"]
    assert (found["snapshot"], found["records"]) == ("delta version 1", 20)
    assert len(found["keyed_hash"]) == 64


# -- deletion vectors ----------------------------------------------------------------------------------------------------

Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def inline_vector(removed: list[int]) -> dict[str, object]:
    """A deletion vector in the log itself, by the protocol's words: a Roaring bitmap of row numbers, spelled in Z85."""
    bitmap = struct.pack("<II", 12346, 1) + struct.pack("<HH", 0, len(removed) - 1) + struct.pack("<I", 16)
    bitmap += b"".join(struct.pack("<H", row) for row in removed)
    raw = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    raw += bytes(-len(raw) % 4)
    words = [int.from_bytes(raw[i : i + 4], "big") for i in range(0, len(raw), 4)]
    text = "".join(Z85[word // 85**power % 85] for word in words for power in (4, 3, 2, 1, 0))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(raw), "cardinality": len(removed)}


def with_vectors(folder: Path, *features: str) -> Path:
    """A Delta table of PEOPLE whose log marks everybody from 22 on as removed; their rows stay in the file."""
    (folder / "_delta_log").mkdir(parents=True)
    pq.write_table(PEOPLE, folder / "part.parquet")
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in (("age", "long"), ("sex", "string"))]
    removed = [i for i, age in enumerate(PEOPLE["age"].to_pylist()) if age >= 22]
    said = ["deletionVectors", *features]
    actions = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": said, "writerFeatures": said}},
        {"metaData": {"id": "5f0e1a2b-0000-4000-8000-000000000000", "format": {"provider": "parquet", "options": {}},
                      "schemaString": json.dumps({"type": "struct", "fields": fields}), "partitionColumns": [],
                      "configuration": {"delta.enableDeletionVectors": "true"}, "createdTime": 0}},
        {"add": {"path": "part.parquet", "partitionValues": {}, "size": (folder / "part.parquet").stat().st_size,
                 "modificationTime": 0, "dataChange": True, "stats": json.dumps({"numRecords": 40}),
                 "deletionVector": inline_vector(removed)}},
    ]  # fmt: skip
    (folder / "_delta_log" / f"{0:020}.json").write_text("".join(json.dumps(a) + "\n" for a in actions))
    return folder


def test_rows_that_a_deletion_vector_marks_do_not_come_back(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    folder = with_vectors(tmp_path / "people")
    assert counted(folder) == counted(f"delta::{folder}@0") == LIVE
    with shoal.open(folder) as table:
        assert sorted({a for b in table.scan(["age"]) for a in b.column(0).to_pylist()}) == [20, 21]
        release = shoal.anonymize(table, quasi=["age", "sex"], k=3, allow={"loss": 1}).write(tmp_path / "release")
    found = plain_certificate(release)["input"]
    assert (found["snapshot"], found["records"]) == ("delta version 0", 20)


def test_deletion_vectors_beside_a_feature_that_nobody_tried_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    with pytest.raises(UnreadableError, match="a feature that this reader does not know"):
        shoal.open(with_vectors(tmp_path / "people", "columnMapping"))
