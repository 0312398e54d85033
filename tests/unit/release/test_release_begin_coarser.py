"""Counting that begins at higher levels, where an engine lets only so many classes out: the same release as with these bounds.

DuckDB stands for the engine here, with a limit put on it and an exact count in the place of the estimate; the limit of Spark
itself is tested on Spark.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.core.memory import bytes_of_class, bytes_to_search, left_for_data
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.table import Table
from shoal.errors import MemoryBudgetError
from shoal.model.hierarchy import Hierarchy
from shoal.release.plan.coarser_start import _prices
from shoal.steps.sql import exp

QUASI = {
    "age": {"hierarchy": {"intervals": [5, 20]}},
    "zip": {"hierarchy": {"prefix": [3, 1]}},
    "sex": {},
}
WORDS: dict[str, Any] = {"sensitive": ["ill"], "insensitive": ["pay"], "k": 4, "allow": {"suppress": 0.05, "loss": 1}}


def _rows() -> list[dict[str, Any]]:
    draw = random.Random(5)
    return [
        {
            "age": draw.choice([None, *range(20, 80)]),
            "zip": f"{draw.randrange(3)}{draw.randrange(3)}{draw.randrange(2)}{draw.randrange(10)}",
            "sex": draw.choice("fm"),
            "ill": draw.choice(["flu", "cold", "none"]),
            "pay": draw.choice([1, 2]),
        }
        for _ in range(3000)
    ]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("coarser") / "people.jsonl"
    file.write_text("\n".join(json.dumps(r) for r in _rows()) + "\n")
    return file


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("coarser") / "people.parquet"
    pq.write_table(pa.Table.from_pylist(_rows()), file)
    return file


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A limit on classes, and exact counts of them in the place of estimates."""

    def about(self: Table, columns: Any, *, through: Any = None, beside: Any = ()) -> int:
        return max(self.count((*columns, *more), through=through).n_classes for more in ([[b] for b in beside] or [[]]))

    def put(classes: int) -> None:
        monkeypatch.setattr(Table, "most_classes", lambda *_: classes)
        monkeypatch.setattr(Table, "about_classes", about)

    return put


def _pairs() -> int:
    return len({(r["age"], r["zip"], r["sex"], r["ill"]) for r in _rows()})


def _levels(notes: tuple[str, ...]) -> dict[str, int]:
    return {n.split(":")[0]: int(n.split("level ")[1].split()[0]) for n in notes if ": level" in n}


def test_at_the_limit_nothing_changes_and_one_below_counting_begins_coarser(source: Path, limit: Any) -> None:
    limit(_pairs())
    whole = shoal.anonymize(source, quasi=QUASI, **WORDS)
    assert whole.prepared.coarser is None
    limit(_pairs() - 1)
    less = shoal.anonymize(source, quasi=QUASI, **WORDS)
    assert less.prepared.coarser is not None
    assert sum(less.prepared.coarser.levels.values()) == 1, "one column, one level"
    assert less.prepared.coarser.levels["age"] + less.prepared.coarser.levels["zip"] == 1, "of the columns with many values"


@pytest.mark.parametrize("classes", [1500, 300, 190])
def test_the_release_is_that_of_the_same_lowest_levels(source: Path, limit: Any, classes: int, tmp_path: Path) -> None:
    limit(classes)
    coarse = shoal.anonymize(source, quasi=QUASI, **WORDS, format="parquet")
    began = coarse.prepared.coarser
    assert began is not None
    assert len({(*key, ill) for key, ill in _at(coarse.prepared, began.levels)}) <= classes
    coarse.write(tmp_path / "coarse")
    limit(10**9)
    bounded = {c: {**QUASI[c], "min_level": n} for c, n in began.levels.items()}
    plain = shoal.anonymize(source, quasi=bounded, method="lattice", **WORDS, format="parquet")
    plain.write(tmp_path / "plain")
    assert _levels(coarse.plan.notes) == _levels(plain.plan.notes)
    assert coarse.decision.loss == pytest.approx(plain.decision.loss, abs=1e-12)
    ours, theirs = coarse.certificate, plain.certificate
    assert ours.before == theirs.before, "of all classes, not of those that were counted"
    assert (ours.after, ours.k, ours.utility.suppressed) == (theirs.after, theirs.k, theirs.utility.suppressed)
    assert [(c.name, c.values_before, c.values_after) for c in ours.columns] == [
        (c.name, c.values_before, c.values_after) for c in theirs.columns
    ]
    assert (tmp_path / "coarse" / "data.parquet").read_bytes() == (tmp_path / "plain" / "data.parquet").read_bytes()
    assert began.sentence in coarse.plan.notes
    assert began.sentence in ours.limits
    assert shoal.verify(tmp_path / "coarse").ok


def _at(prepared: Any, levels: dict[str, int]) -> set[tuple[tuple[int, ...], str]]:
    """The groups of every row at some levels, by looking each value up in its hierarchy."""
    found = set()
    for row in _rows():
        key = []
        for name, level in levels.items():
            h = prepared.hierarchies[name]
            key.append(-1 if row[name] is None else int(h.levels[level].groups[h.position[str(row[name])]]))
        found.add((tuple(key), row["ill"]))
    return found


def test_the_sizes_of_all_classes_stay_in_the_engine(source: Path) -> None:
    with shoal.open(source) as table:
        found = table.class_sizes(["age", "zip", "sex"])
    assert found == Counter(Counter((r["age"], r["zip"], r["sex"]) for r in _rows()).values())


def test_no_rare_value_enters_the_published_plan(limit: Any, tmp_path: Path) -> None:
    """A group of many people holds a value that one person has: the group's first value stands for it, and must not be shown."""
    towns = [f"t{i:02d}" for i in range(40)]
    rows = [{"town": towns[0], "year": 1}] + [{"town": t, "year": y % 50} for t in towns[1:] for y in range(60)]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps(r) for r in rows) + "\n")
    levels = tmp_path / "towns.csv"
    levels.write_text("".join(f"{t};{'north' if i < 20 else 'south'};*\n" for i, t in enumerate(towns)))
    limit(120)
    release = shoal.anonymize(file, quasi={"town": {"hierarchy": str(levels)}, "year": {}}, k=3)
    assert release.prepared.coarser is not None
    assert release.prepared.coarser.levels["town"] == 1
    release.write(tmp_path / "out")
    shown = (tmp_path / "out" / "plan.json").read_text()
    assert towns[0] not in shown


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"method": "local"}, "method: local needs them all"),
        ({"quasi": {**QUASI, **{c: {**QUASI[c], "max_level": 0} for c in ("age", "zip")}}}, "even at the highest"),
    ],
)
def test_what_needs_all_classes_is_refused(source: Path, limit: Any, more: dict[str, Any], words: str) -> None:
    limit(200)
    with pytest.raises(MemoryBudgetError, match=words) as caught:
        shoal.anonymize(source, **{"quasi": QUASI, **WORDS, **more})
    assert "--memory" in str(caught.value.hint)


def test_people_earlier_plans_and_columns_of_their_own_are_refused(source: Path, limit: Any) -> None:
    plan = shoal.anonymize(source, quasi=QUASI, **WORDS).plan
    limit(40)
    with pytest.raises(MemoryBudgetError, match="an earlier plan"):
        shoal.anonymize(source, quasi=QUASI, **WORDS, plan=plan)
    with pytest.raises(MemoryBudgetError, match="several records"):
        shoal.anonymize(source, quasi={"age": {}, "sex": {}, "ill": {}}, unit="zip", insensitive=["pay"], k=4)
    limit(17)
    with pytest.raises(MemoryBudgetError, match="column 'zip' alone has about 180 different values"):
        shoal.anonymize(source, quasi={"sex": {}, "zip": QUASI["zip"]}, insensitive=["pay", "age"], sensitive=["ill"], k=4)


def test_a_memory_budget_lets_counting_begin_coarser(parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the bytes that all classes would take nothing changes; at one byte fewer levels are left out, and it is said."""
    monkeypatch.setattr(DuckDB, "about_distinct", lambda self, mark: exp.Count(this=exp.Distinct(expressions=[mark])))
    needed = _pairs() * bytes_to_search(1, 4, 0)
    for room, began in ((needed, False), (needed - 1, True)):
        monkeypatch.setattr("shoal.engines.table.left_for_data", lambda budget, room=room: room)
        monkeypatch.setattr("shoal.engines.table.bytes_to_count", lambda rows, columns: 0)
        monkeypatch.setattr("shoal.engines.table.Table.check_written", lambda *_: None)  # it asks for room to write as well
        with shoal.open(parquet, memory="1GB") as table:
            found = shoal.anonymize(table, quasi=QUASI, **WORDS, method="lattice")
            assert (found.prepared.coarser is not None) is began
            assert found.decision.proven is not began
            assert (found.decision.gap is None) is began
            assert any("were not looked at" in note for note in found.plan.notes) is began


def test_a_table_too_long_for_codes_has_room_for_fewer_classes(parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shoal.open(parquet) as table:
        assert table.most_classes(4) is None
    with shoal.open(parquet, memory="1GB") as table:
        left, rows = left_for_data(1 << 30), table.most_rows()
        monkeypatch.setattr("shoal.engines.table.bytes_to_count", lambda n, columns: left if n == rows else 0)
        assert table.most_classes(4) == left // bytes_to_search(1, 4, 0)
        monkeypatch.setattr("shoal.engines.table.bytes_to_count", lambda n, columns: left + 1)
        assert table.most_classes(4) == left // bytes_of_class(4)


def test_without_a_budget_half_of_the_machine_is_the_limit(parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    all_of_them = 3000 * bytes_to_search(1, 4, 0)
    with shoal.open(parquet) as table:
        monkeypatch.setattr("shoal.engines.table.half_of_memory", lambda: all_of_them)
        assert table.most_classes(4) is None
        monkeypatch.setattr("shoal.engines.table.half_of_memory", lambda: all_of_them - 1)
        assert table.most_classes(4) == 2999


def test_the_number_of_classes_is_estimated_from_some_of_them(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One mark in 32, the same ones in every run; of all of them the number is exact."""
    columns = ("age", "zip", "sex")
    true = len({tuple(r[c] for c in columns) for r in _rows()})
    with shoal.open(source) as table:
        assert table.about_classes(columns) == table.about_classes(columns)
        assert abs(table.about_classes(columns) - true) < true / 2
        monkeypatch.setattr("shoal.engines.duckdb.engine.LOOKED_AT", 1)
        assert table.about_classes(columns) == true
        assert table.about_classes(columns, beside=("ill",)) == _pairs()


def test_the_column_goes_up_that_loses_least_for_what_it_joins() -> None:
    """Days to months before a column of few values is given up: by hand, and the price of each step."""
    days = Hierarchy.from_rows("day", [[f"{d:02d}", f"m{d // 8}", "*"] for d in range(32)])
    sex = Hierarchy.from_rows("sex", [["f", "*"], ["m", "*"]])
    records = np.ones(32, dtype=np.int64)
    assert _prices(days, records, 1.0) == pytest.approx([7 / 31 / 3, 24 / 31 / 2])
    assert _prices(sex, np.array([3, 1]), 2.0) == pytest.approx([2.0])
    same = Hierarchy.from_rows("same", [["a", "x"], ["b", "y"]])
    assert _prices(same, np.array([1, 1]), 1.0) == [float("inf")]
