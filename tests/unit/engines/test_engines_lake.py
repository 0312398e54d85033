"""Lake tables: removed rows never come back, versions are named, and plain reading is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
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


def test_what_is_no_lake_table_is_said_so(tmp_path: Path, delta: Path) -> None:
    with pytest.raises(UnreadableError, match="is no Delta table"):
        shoal.open(f"delta::{tmp_path}")
    with pytest.raises(UnreadableError, match="is no Iceberg table"):
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
    with pytest.raises(DependencyError, match=r"shoal\[lake\]"):
        shoal.open(tmp_path)


def test_the_version_stands_in_the_certificate(delta: Path, tmp_path: Path) -> None:
    with shoal.open(delta) as table:
        release = shoal.anonymize(table, quasi=["age", "sex"], k=3, allow={"loss": 1}).write(tmp_path / "release")
    found = json.loads((release / "certificate.json").read_text())["input"]
    assert (found["snapshot"], found["records"]) == ("delta version 1", 20)
    assert len(found["keyed_hash"]) == 64
