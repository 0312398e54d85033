"""Answers of Spark that are too large for its driver, and rows brought to it, on a real session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.engines.spark import answers
from shoal.engines.spark import engine as spark_engine
from shoal.errors import MemoryBudgetError
from shoal.steps import MapValues

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("spark")]


@pytest.fixture(scope="module")
def people(spark_session: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    import pyarrow.parquet as pq

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
