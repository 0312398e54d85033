"""Releases as Delta tables: the log names just the parts that were signed, and readers of version 0 see just their rows."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import DependencyError, OutputError, TamperError, UsageError
from shoal.release.proof.read import LOG, check_log

pytest.importorskip("deltalake", reason="deltalake is not installed")

WORDS: dict[str, Any] = {"quasi": {"age": {"hierarchy": {"intervals": [10, 20]}}}, "sensitive": ["ill"], "k": 4}
PEOPLE = pa.table({"age": [20 + i % 17 for i in range(80)], "ill": [f"d{i % 3}" for i in range(80)]})


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = shoal.anonymize(PEOPLE, **WORDS, format="delta").write(tmp_path_factory.mktemp("delta") / "release")
    return Path(made)


def _rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted(zip(*(table[c].to_pylist() for c in ("age", "ill")), strict=True))


def test_two_readers_of_version_0_see_the_rows_of_a_plain_release(release: Path, tmp_path: Path) -> None:
    from deltalake import DeltaTable, QueryBuilder

    plain = shoal.anonymize(PEOPLE, **WORDS, format="parquet").write(tmp_path / "plain")
    expected = _rows(pq.read_table(plain / "data.parquet"))
    table = DeltaTable(str(release / "data.parquet"), version=0)
    assert table.version() == 0
    assert _rows(table.to_pyarrow_table()) == expected
    assert _rows(pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t"))) == expected
    with shoal.open(f"delta::{release / 'data.parquet'}@0") as opened:
        assert opened.n_rows() == len(expected) == 80
    signed = shoal.verify(release).certificate
    assert [f.name for f in signed.files] == [
        f"data.parquet/{LOG}",
        "data.parquet/part-00000.parquet",
        "plan.json",
        "report.html",
    ]
    assert signed.data.format == "delta"
    assert shoal.attack(release).holds


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: (data / LOG).with_name("00000000000000000001.json").write_text('{"remove":{"path":"part-00000.parquet"}}'),
        lambda data: (data / LOG).write_text((data / LOG).read_text() + "\n"),
        lambda data: (data / LOG).unlink(),
        lambda data: (data / LOG).parent.rename(data.parent / "log") and (data / "_delta_log").symlink_to(data.parent / "log"),
    ],
    ids=["a later version", "a changed log", "no log", "a link"],
)
def test_whatever_is_done_to_the_log_is_found(spoil: Callable[[Path], Any], release: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(release, tmp_path / "copy"))
    assert shoal.verify(copy).ok
    spoil(copy / "data.parquet")
    assert not shoal.verify(copy).ok


def _edited(release: Path, edit: Callable[[list[dict[str, Any]]], Any]) -> str:
    actions = [json.loads(line) for line in (release / "data.parquet" / LOG).read_text().splitlines()]
    edit(actions)
    return "\n".join(map(json.dumps, actions))


def _of(actions: list[dict[str, Any]], name: str) -> Any:
    return next(a[name] for a in actions if name in a)


def _renamed(actions: list[dict[str, Any]]) -> None:
    table = _of(actions, "metaData")
    table["schemaString"] = table["schemaString"].replace('"ill"', '"well"')


@pytest.mark.parametrize(
    "edit",
    [
        lambda a: _of(a, "add").update(path="part-00001.parquet"),
        lambda a: _of(a, "add").update(size=1),
        lambda a: _of(a, "add").update(deletionVector={"storageType": "u"}),
        lambda a: _of(a, "add").update(stats='{"numRecords":0}'),
        lambda a: _of(a, "add").update(partitionValues={"ill": "d0"}),
        lambda a: a.append({"add": _of(a, "add")}),
        lambda a: a.append({"remove": {"path": "part-00000.parquet"}}),
        lambda a: a.append({"protocol": _of(a, "protocol")}),
        lambda a: a.append({"add": _of(a, "add"), "commitInfo": {}}),
        lambda a: a.remove(next(x for x in a if "add" in x)),
        lambda a: a.remove(next(x for x in a if "metaData" in x)),
        lambda a: _of(a, "metaData").update(configuration={"delta.columnMapping.mode": "name"}),
        lambda a: _of(a, "metaData").update(partitionColumns=["ill"]),
        lambda a: _of(a, "metaData")["format"].update(provider="csv"),
        lambda a: a.insert(0, 7),
        _renamed,
    ],
)
def test_a_log_that_shows_readers_something_else_is_refused(edit: Any, release: Path, tmp_path: Path) -> None:
    part = release / "data.parquet" / "part-00000.parquet"
    parts, columns = {part.name: part.stat().st_size}, ["age", "ill"]
    log = tmp_path / "log.json"
    log.write_text(_edited(release, lambda a: None))
    check_log(log, parts, columns)
    log.write_text(_edited(release, edit))
    with pytest.raises(TamperError, match="the log of the Delta table"):
        check_log(log, parts, columns)


def test_the_log_holds_no_value_of_the_data(release: Path) -> None:
    assert "stats" not in {k for a in (release / "data.parquet" / LOG).read_text().splitlines() for k in _given(json.loads(a))}


def _given(action: dict[str, Any]) -> set[str]:
    return {k for said in action.values() for k, v in said.items() if v is not None}


def test_what_delta_cannot_hold_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    people = PEOPLE.append_column("at", pa.array([dt.time(i % 24) for i in range(80)]))
    with pytest.raises(OutputError, match=r"no type for column 'at' \(time64\[us\]\)"):
        shoal.anonymize(people, **WORDS, insensitive=["at"], format="delta").write(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_without_the_library_and_where_it_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="is not known") as caught:
        shoal.anonymize(PEOPLE, **WORDS, format="iceberg")
    assert "delta" in str(caught.value.hint)
    events = {"events": {"unit": "ill", "place": "age"}, "require": {"known": {"records": 1, "k": 2}}}
    with pytest.raises(UsageError, match="'delta' is not known"):
        shoal.anonymize(PEOPLE, events, format="delta")
    monkeypatch.setattr("shoal.release.make.recode.find_spec", lambda name: None)
    with pytest.raises(DependencyError, match="deltalake"):
        shoal.anonymize(PEOPLE, **WORDS, format="delta")


@pytest.mark.parametrize("one", [{}, {"deletionVector": {"storageType": "u"}}, {"partitionValues": {"a": "1"}}, {"stats": "{}"}])
def test_one_part_of_several_that_hides_rows_is_found(one: dict[str, object], tmp_path: Path) -> None:
    parts = {"part-00000.parquet": 10, "part-00001.parquet": 20}
    added = [{"path": name, "size": size, "partitionValues": {}} for name, size in parts.items()]
    table = {
        "schemaString": '{"fields": [{"name": "a"}]}',
        "partitionColumns": [],
        "configuration": {},
        "format": {"provider": "parquet"},
    }
    lines = [{"protocol": {}}, {"metaData": table}, {"add": added[0]}, {"add": added[1] | one}]
    log = tmp_path / "log.json"
    log.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    if not one:
        check_log(log, parts, ["a"])
        return
    with pytest.raises(TamperError, match="changes what a reader sees"):
        check_log(log, parts, ["a"])
