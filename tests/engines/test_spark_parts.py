"""Folders of Parquet files that Spark's executors write: same rows, same files; whole or not at all; counted where they are."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from engines.comparing import multiset, read_parquet
from shoal.attacks.leftovers import SPARK_SCHEMA, metadata_of
from shoal.engines.spark import engine as spark_engine
from shoal.engines.spark import files as parts
from shoal.errors import EngineError
from shoal.kernels.text import canonical_text
from shoal.model.plan import Plan, Suppression
from shoal.steps import Cut

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("spark")]

TEXTS = ["A", "a", "", "Ä\x1fn", "0", None, "𝄞 'x'"]
PLAN = Plan((Cut("age", (30.0, 60.0), ("young", "middle", "old")),), Suppression(4, ("age", "town.`of")))


def _rows(n: int = 260) -> list[dict[str, Any]]:
    return [
        {
            "age": i * 7 % 90,
            "town.`of": TEXTS[i * i % 7],
            "shoal_part": None if i % 9 == 0 else i % 4,
            "ill": i % 2 == 0,
            "day": dt.date(1960, 1, 1) + dt.timedelta(days=i % 40),
        }
        for i in range(n)
    ]


SCHEMA = pa.schema({"age": pa.int16(), "town.`of": pa.string(), "shoal_part": pa.int32(), "ill": pa.bool_(), "day": pa.date32()})
TYPES = {"age": "short", "town.`of": "string", "shoal_part": "integer", "ill": "boolean", "day": "date"}
NOTED = {"fields": [{"name": n, "type": t, "nullable": True, "metadata": {"comment": "of Bo"}} for n, t in TYPES.items()]}
"""Notes about columns, as Spark stores them."""


def _store(rows: list[dict[str, Any]], folder: Path, files: int) -> Path:
    folder.mkdir()
    schema = SCHEMA.with_metadata({SPARK_SCHEMA: json.dumps({"type": "struct", **NOTED})})
    for i in range(files):
        pq.write_table(pa.Table.from_pylist(rows[i::files], schema), folder / f"{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def people(spark_session: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _store(_rows(), tmp_path_factory.mktemp("parts") / "people", 2)


def _hashes(table: Any) -> list[str]:
    """The order by its definition: MD5 of the texts of a row, of the seed and of marks between them."""
    texts = [canonical_text(c).to_pylist() for c in table.columns]
    lines = ["0:" + "".join("\x1fn" if t is None else f"\x1fv{t}" for t in row) for row in zip(*texts, strict=True)]
    return [hashlib.md5(line.encode(), usedforsecurity=False).hexdigest() for line in lines]


def test_the_same_rows_give_the_same_files(people: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However the source is ordered and cut; with the rows, types and report of one file that this process writes."""
    monkeypatch.setattr(parts, "PART_ROWS", 60)
    rows = _rows()
    random.Random(5).shuffle(rows)
    other = _store(rows, tmp_path / "other", 3)
    done = {}
    for name, source in (("one", people), ("two", other)):
        with shoal.open(f"spark::{source}") as table:
            done[name] = table.recode(PLAN, tmp_path / f"{name}.parquet", parts=True)
    with shoal.open(people) as table:
        plain = table.recode(PLAN, tmp_path / "plain.parquet", parts=True)
    first, second = ({f.name: f.read_bytes() for f in (tmp_path / f"{n}.parquet").iterdir()} for n in ("one", "two"))
    assert first == second
    written = done["one"].records_out
    assert sorted(first) == [f"part-{i:05d}.parquet" for i in range(-(-written // 60))]
    assert (tmp_path / "plain.parquet").is_file()
    assert plain.parts_at == ""
    assert done["one"].parts_at == str(tmp_path / "one.parquet")
    assert (done["one"].records_in, written, done["one"].suppressed, done["one"].changed) == (
        plain.records_in,
        plain.records_out,
        plain.suppressed,
        plain.changed,
    )
    found, file = (pq.read_table(tmp_path / f"{n}.parquet") for n in ("one", "plain"))
    assert multiset(found.to_pylist()) == multiset(file.to_pylist())
    assert found.schema.types == [pa.string(), pa.string(), pa.int64(), pa.bool_(), pa.date32()]
    hashes = [_hashes(pq.read_table(tmp_path / "one.parquet" / name)) for name in sorted(first)]
    together = [h for part in hashes for h in part]
    assert together == sorted(together)
    assert all(int(h[:8], 16) * len(hashes) >> 32 == i for i, part in enumerate(hashes) for h in part)
    assert b"of Bo" not in b"".join(first.values())
    assert b"of Bo" in (people / "0.parquet").read_bytes()
    assert metadata_of(tmp_path / "one.parquet" / "part-00000.parquet") == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.parquet", "other", "plain.parquet", "two.parquet"]


def test_whole_or_not_at_all(people: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file of the source goes away when the executors begin to write: nothing is left, also not in the shared folder."""
    source, shared, out = _store(_rows(), tmp_path / "source", 2), tmp_path / "shared", tmp_path / "out"
    shared.mkdir()
    out.mkdir()
    monkeypatch.setenv("SHOAL_SPARK_STAGING", str(shared))

    def without_a_file(*given: Any) -> None:
        (source / "1.parquet").unlink()
        parts.write_parts(*given)

    monkeypatch.setattr(spark_engine, "write_parts", without_a_file)
    with shoal.open(f"spark::{source}") as table:
        with pytest.raises(EngineError):
            table.recode(PLAN, out / "data.parquet", parts=True)
        assert list(out.iterdir()) == []
    assert list(shared.iterdir()) == []


def test_a_place_that_the_executors_do_not_see(people: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Files are brought from the shared folder, where Spark counts them until the table is closed."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (tmp_path / "[a]*").mkdir()
    monkeypatch.setenv("SHOAL_SPARK_STAGING", str(shared))
    with shoal.open(f"spark::{people}") as table:
        spark = table._engine._spark
        assert parts.place_of_parts(spark, "spark", shared / "below" / "data.parquet") == shared / "below"
        assert parts.place_of_parts(spark, "spark", shared / "[a]" / "data.parquet") == shared, "Spark would read a pattern"
        assert parts.place_of_parts(spark, "sc://nobody", tmp_path / "data.parquet") == shared
        done = table.recode(PLAN, tmp_path / "[a]*" / "data.parquet", parts=True)
        assert Path(done.parts_at).parent.parent == shared
        spark.conf.set("spark.sql.files.maxRecordsPerFile", 7)
        try:
            none = table.recode(Plan((), Suppression(500, ("age",))), tmp_path / "none.parquet", parts=True)
            table.recode(PLAN, tmp_path / "all.parquet", parts=True)
        finally:
            spark.conf.unset("spark.sql.files.maxRecordsPerFile")
        assert (none.records_out, none.suppressed) == (0, 260)
        assert [f.name for f in (tmp_path / "none.parquet").iterdir()] == ["part-00000.parquet"]
        types = pq.read_schema(tmp_path / "none.parquet" / "part-00000.parquet").types
        assert types == [pa.int64(), pa.string(), pa.int64(), pa.bool_(), pa.date32()]
        again = table._engine.relation(done.parts_at)
        assert table._engine.count_rows(again) == done.records_out == len(read_parquet(tmp_path / "[a]*" / "data.parquet"))
    assert list(shared.iterdir()) == []
    monkeypatch.delenv("SHOAL_SPARK_STAGING")
    assert parts.place_of_parts(spark, "sc://nobody", tmp_path / "data.parquet") is None
    assert parts.place_of_parts(spark, "spark", tmp_path / "data.parquet") == tmp_path


def test_the_digest_of_the_source_is_added_up_by_spark(people: Path) -> None:
    secret = b"s" * 32
    with shoal.open(f"spark::{people}") as table:
        found = table.sum_of_macs(secret)
        names = table.schema.names
        columns = pq.read_table(people).select(names).columns
    texts = [canonical_text(c).to_pylist() for c in columns]
    lines = ["\x1f".join("n" if t is None else f"v{len(t)}:{t}" for t in row) for row in zip(*texts, strict=True)]
    macs = [int.from_bytes(hmac.digest(secret, line.encode(), "sha256"), "big") for line in lines]
    assert found == (260, sum(macs) % 2**256)
