"""Files with very many columns are read into memory once; what is found is the same."""

from __future__ import annotations

import pytest

import shoal
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.csv import read
from shoal.engines.files.csv.read import WIDE
from shoal.errors import ShoalError


def wide(path, n):
    rows = [[str((i * r) % 7) if i % 2 else f"v{(i + r) % 3}" for i in range(n)] for r in range(6)]
    path.write_text("\n".join([",".join(f"c{i}" for i in range(n)), *(",".join(row) for row in rows)]) + "\n")
    return rows


@pytest.mark.parametrize("n", [WIDE, WIDE + 1])
def test_kinds_values_and_order_of_rows(tmp_path, n):
    rows = wide(tmp_path / "w.csv", n)
    table = shoal.open(tmp_path / "w.csv")
    assert [c.kind for c in table.schema.columns[:4]] == ["text", "integer", "text", "integer"]
    last = table.schema.names[-1]
    got = [v for batch in table.scan(["c1", last]) for v in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
    assert [tuple(map(str, pair)) for pair in got] == [(row[1], row[-1]) for row in rows]
    assert table.count(["c0", "c1"]).n_records == 6


@pytest.mark.parametrize(("spare", "memory", "held"), [(0, None, True), (-1, None, False), (0, "1G", False)])
def test_a_wide_file_is_held_up_to_a_size_and_without_a_budget_only(tmp_path, monkeypatch, spare, memory, held):
    path, asked = tmp_path / "w.csv", []
    line = ",".join("7" for _ in range(WIDE + 1)) + "\n"
    path.write_text(",".join(f"c{i}" for i in range(WIDE + 1)) + "\n" + line * 140)
    monkeypatch.setattr(read, "WIDE_BYTES", path.stat().st_size + spare)
    monkeypatch.setattr(read, "read_plain", lambda *given: asked.append(given))
    with shoal.open(path, memory=memory) as table:
        assert table.n_rows() == 140
    assert bool(asked) is held


def test_a_field_too_many_is_still_told(tmp_path):
    wide(tmp_path / "w.csv", WIDE + 1)
    with (tmp_path / "w.csv").open("a") as file:
        file.write(",".join("1" for _ in range(WIDE + 2)) + "\n")
    with pytest.raises(ShoalError):
        list(shoal.open(tmp_path / "w.csv").scan())


def test_duckdb_draws_no_bar_of_its_own():
    engine = DuckDB()
    asked = "SELECT current_setting('enable_progress_bar')"
    assert engine._connection.sql(asked).fetchall() == [(False,)]
    cursor = engine._cursor()
    assert cursor.sql(asked).fetchall() == [(False,)]
    cursor.close()
    engine.close()
