"""Answers of Spark that are too large for its driver, rows brought to it, and classes that are too many, on a real session."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from engines.comparing import multiset, read_parquet
from shoal.engines.spark import answers
from shoal.engines.spark import engine as spark_engine
from shoal.engines.spark import files as parts
from shoal.errors import DataError, EngineError, MemoryBudgetError, UsageError
from shoal.model.certificate.certificate import Certificate
from shoal.release.proof.read import LOG
from shoal.steps import MapValues

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("spark")]


@pytest.fixture(scope="module")
def people(spark_session: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("answers") / "people.parquet"
    rows = [{"town": f"t{i % 37}" if i % 7 else None, "age": i % 11} for i in range(900)]
    pq.write_table(pa.Table.from_pylist(rows), file)
    return f"spark::{file}"


def _classes(source: str) -> list[tuple[Any, ...]]:
    with shoal.open(source, quasi=["town", "age"]) as table:
        found = table.count()
    town, age = (k.to_pylist() for k in found.categories)
    places = zip(*found.codes, found.sizes, strict=True)
    return sorted((town[t] if t >= 0 else "", age[a], int(n)) for t, a, n in places)


def test_the_same_classes_straight_and_through_a_folder(people: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    straight = _classes(people)
    assert sum(n for *_, n in straight) == 900
    monkeypatch.setenv("SHOAL_SPARK_STAGING", str(tmp_path))
    seen = []
    monkeypatch.setattr(spark_engine, "read_parts", lambda folder, n: seen.append(folder) or answers.read_parts(folder, n))
    monkeypatch.setattr(spark_engine, "SMALL", 0)
    assert _classes(people) == straight
    assert [f.parent.parent for f in seen] == [tmp_path]
    assert list(tmp_path.iterdir()) == []


def test_a_statement_that_takes_too_long_is_cancelled_on_the_executors(spark_session: Any, people: str) -> None:
    spark_session.sql("SELECT id * 7 % 1000003 AS age FROM range(1000000000000000)").createOrReplaceTempView("endless")
    with (
        shoal.open("spark::endless", statement_timeout="1s", quasi=["age"]) as table,
        pytest.raises(EngineError, match=r"Spark \(spark\) stopped the query: (?s:.)*--statement-timeout"),
    ):
        table.count()
    threads = spark_session._jvm.java.lang.Thread
    until = time.monotonic() + 300  # Spark's list of jobs comes a moment later, its tasks end at their next look
    while spark_session.sparkContext.statusTracker().getActiveJobsIds() or any(
        "Executor task launch" in t.getName() and "in stage" in t.getName() and t.getState().name() == "RUNNABLE"
        for t in threads.getAllStackTraces().keySet()
    ):
        assert time.monotonic() < until
        time.sleep(0.05)
    with shoal.open(people, statement_timeout="1h", quasi=["age"]) as table:
        assert table.count().n_records == 900
    assert len(spark_session.sparkContext.getJobTags()) == 0
    spark_session.catalog.dropTempView("endless")


def test_without_a_folder_that_both_see_a_large_answer_is_refused(people: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_engine, "SMALL", 0)
    monkeypatch.setattr(spark_engine, "shared_folder", lambda *_: None)
    classes = _classes(people)
    size = len(classes) * 3 * answers.WIDTH
    monkeypatch.setattr(answers, "MOST_COLLECTED", size)
    assert _classes(people) == classes
    monkeypatch.setattr(answers, "MOST_COLLECTED", size - 1)
    monkeypatch.setattr(spark_engine, "expected_bytes", lambda _: size)
    with pytest.raises(MemoryBudgetError, match="SHOAL_SPARK_STAGING"):
        _classes(people)


@pytest.mark.parametrize("small", [0, answers.SMALL])
def test_a_map_without_keys_and_one_with_keys_from_a_folder(people: str, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_engine, "SMALL", small)
    keys = tuple(f"t{i}" for i in range(37))
    halves = MapValues("town", keys, tuple(i % 2 for i in range(37)), ("even", "odd"))
    with shoal.open(people, quasi=["town", "age"]) as table:
        whole = table.count(["town"], through={"town": MapValues("town", on_gap="top", missing_label="*")})
        two = table.count(["town"], through={"town": halves})
    assert whole.sizes.tolist() == [900]
    assert sorted(zip([None, "even", "odd"], two.sizes.tolist(), strict=True), key=str) == sorted(
        [
            (None, sum(i % 7 == 0 for i in range(900))),
            ("even", sum(i % 7 != 0 and i % 37 % 2 == 0 for i in range(900))),
            ("odd", sum(i % 7 != 0 and i % 37 % 2 == 1 for i in range(900))),
        ],
        key=str,
    )


def test_a_lake_table_is_never_read_as_plain_files(people: str, tmp_path: Path) -> None:
    """Its removed rows would come back: the folder, a file in it, and a pattern that only Spark follows."""
    for log in ("delta/_delta_log/00000000000000000000.json", "iceberg/metadata/v1.metadata.json"):
        table = tmp_path / log.partition("/")[0]
        (tmp_path / log).parent.mkdir(parents=True)
        (tmp_path / log).write_text("{}")
        shutil.copy(people.removeprefix("spark::"), table / "a.parquet")
        for path in (f"{table}/", table / "a.parquet", f"file://{table}", f"{tmp_path}/{table.name[:-1]}?"):
            with pytest.raises(UsageError, match=f"(?i){table.name}.* (?:some of its rows|may be removed)"):
                shoal.open(f"spark::{path}")


QUASI = {"age": {"hierarchy": {"intervals": [2, 4]}}, "town": {"hierarchy": {"prefix": [2]}}}


def test_too_many_classes_are_counted_at_higher_levels(people: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Estimates near the truth, sizes exactly, and the release that a file gives with the same lowest levels."""
    with shoal.open(people) as table:
        sizes = [n for *_, n in _classes(people)]
        assert table.about_classes(["town", "age"]) == pytest.approx(len(sizes), rel=0.1)
        assert table.about_classes([], beside=["town", "age"]) == pytest.approx(38, abs=3), "the most that one of them makes"
        assert table.class_sizes(["town", "age"]) == {n: sizes.count(n) for n in sorted(set(sizes))}
    monkeypatch.setattr(spark_engine, "MOST_CLASSES", 150)
    monkeypatch.setattr(parts, "PART_ROWS", 300)
    words: dict[str, Any] = {"k": 3, "method": "lattice", "allow": {"suppress": 0.05, "loss": 1}, "format": "parquet"}
    passes = _passes(monkeypatch)
    release = shoal.anonymize(people, quasi=QUASI, **words | {"format": "delta"})
    began = release.prepared.coarser
    assert began is not None
    file = Path(people.removeprefix("spark::"))
    for change in (_later, _put_in_its_place, _gone):
        with change(file), pytest.raises(DataError, match="the table changed"):
            release.write(tmp_path / "spark")
        assert not (tmp_path / "spark").exists()
    release.write(tmp_path / "spark")
    assert (passes["source"], passes["written"]) == (PASSES, 1)
    assert re.fullmatch("spark files [0-9a-f]{32}", release.certificate.input.snapshot or "")
    assert began.sentence in release.plan.notes
    bounded = {c: {**QUASI[c], "min_level": n} for c, n in began.levels.items()}
    plain = shoal.anonymize(people.removeprefix("spark::"), quasi=bounded, **words)
    plain.write(tmp_path / "file")
    assert release.certificate.before == plain.certificate.before
    assert release.decision.levels == plain.decision.levels
    assert multiset(read_parquet(tmp_path / "spark" / "data.parquet")) == multiset(
        read_parquet(tmp_path / "file" / "data.parquet")
    )
    assert release.certificate.after == plain.certificate.after
    assert sorted(release.certificate.attacks, key=str) == sorted(plain.certificate.attacks, key=str)
    _proven_part_by_part(tmp_path / "spark", release.certificate)


PASSES = 18
"""Times that the rows of the source are read for this release; a statement that counts and joins them reads them twice."""


def _passes(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the rows of the source, and those of the written files, are read from now on, by the statements that are run."""
    known: dict[str, str] = {}
    found: Counter[str] = Counter()
    stream, write = spark_engine.Spark.stream, spark_engine.Spark.write_parts

    def noted(engine: Any, query: Any) -> None:
        for name in re.findall("shoal_[0-9a-f]{16}", engine.render(query)):
            if name in engine._views:
                found[known.setdefault(name, "written" if known else "source")] += 1

    def streamed(engine: Any, query: Any, **words: Any) -> Any:
        noted(engine, query)
        return stream(engine, query, **words)

    def written(engine: Any, query: Any, *given: Any) -> str:
        noted(engine, query)
        return write(engine, query, *given)

    monkeypatch.setattr(spark_engine.Spark, "stream", streamed)
    monkeypatch.setattr(spark_engine.Spark, "write_parts", written)
    return found


@contextmanager
def _later(file: Path) -> Iterator[None]:
    """As it was, a thousandth of a second later."""
    before = file.stat()
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
    yield
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@contextmanager
def _put_in_its_place(file: Path) -> Iterator[None]:
    """Another file of the same size and time."""
    away = file.rename(file.with_name("away"))
    shutil.copy2(away, file)
    yield
    away.replace(file)


@contextmanager
def _gone(file: Path) -> Iterator[None]:
    away = file.rename(file.with_name("away"))
    yield
    away.rename(file)


def _proven_part_by_part(folder: Path, certificate: Certificate) -> None:
    """The executors wrote three files of a Delta table; each is in the certificate, and whatever is done to one is found."""
    names = [f"data.parquet/part-{i:05d}.parquet" for i in range(3)]
    assert [f.name for f in certificate.files] == [f"data.parquet/{LOG}", *names, "plan.json", "report.html"]
    rows = sum(pq.read_metadata(folder / name).num_rows for name in names)
    with shoal.open(f"delta::{folder / 'data.parquet'}@0") as table:
        assert table.n_rows() == rows == certificate.after.records
    assert all(hashlib.sha256((folder / f.name).read_bytes()).hexdigest() == f.sha256 for f in certificate.files)
    assert shoal.verify(folder).ok
    assert shoal.attack(folder).holds
    first, second = folder / names[0], folder / names[1]
    for spoil, undo in (
        (lambda: first.rename(folder / "away"), lambda: (folder / "away").rename(first)),
        (lambda: shutil.copy(first, folder / "data.parquet" / "part-00003.parquet"), None),
        (lambda: _exchange(first, second), lambda: _exchange(first, second)),
        (lambda: (folder / "data.parquet").rename(folder.parent / "moved") and _link(folder), None),
    ):
        spoil()
        assert not shoal.verify(folder).ok
        undo() if undo else _mended(folder)
    assert shoal.verify(folder).ok


def _exchange(one: Path, other: Path) -> None:
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)


def _link(folder: Path) -> None:
    (folder / "data.parquet").symlink_to(folder.parent / "moved")


def _mended(folder: Path) -> None:
    data = folder / "data.parquet"
    if data.is_symlink():
        data.unlink()
        (folder.parent / "moved").rename(data)
    (data / "part-00003.parquet").unlink(missing_ok=True)
