"""COUNT where the columns together have more combinations than one 64-bit word can name: the same answer at every width."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.engines.core.step_sql import CountRequest
from shoal.engines.count import codes
from shoal.engines.count.by_codes import count_by_codes
from shoal.engines.count.sql import count_by_sql, sorted_categories
from shoal.model.plan import Plan, Suppression
from shoal.steps import Drop

DIGIT = 2**15  # the width of a column of numbers from 0 to DIGIT − 2, missing included


def table(widths: list[int], rows: int, distinct: int, seed: int = 1) -> pa.Table:
    """Columns of whole numbers, each with exactly ``width`` − 1 possible values in its range, and missing ones."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, distinct, rows)
    columns = {}
    for j, width in enumerate(widths):
        values = rng.integers(0, width - 1, distinct)[which]
        gone = (rng.random(distinct) < 0.05)[which]
        values[:2], gone[:2] = (0, width - 2), False  # so that the range is full
        columns[f"c{j}"] = pa.array(values, mask=gone)
    columns["s"] = pa.array([f"v{x}" for x in rng.integers(0, 3, rows)])
    columns["person"] = pa.array(rng.integers(0, max(1, rows // 2), rows))
    return pa.table(columns)


def classes(found: shoal.model.counts.classes.ClassCounts) -> list[tuple[tuple[int | None, ...], int]]:
    values = [[*c.to_pylist(), None] for c in found.categories]
    keys = zip(*[[v[c] for c in codes.tolist()] for v, codes in zip(values, found.codes, strict=True)], strict=True)
    return list(zip(keys, found.sizes.tolist(), strict=True))


def in_order(key: tuple[int | None, ...]) -> tuple[tuple[bool, int], ...]:
    return tuple((v is not None, v or 0) for v in key)


WIDTHS = {
    "below 2⁶³": [DIGIT] * 4 + [7],
    "at 2⁶³": [DIGIT] * 4 + [8],
    "above 2⁶³": [DIGIT] * 4 + [9],
    "at 2⁶⁴": [DIGIT] * 4 + [16],
    "above 2⁶⁴": [DIGIT] * 4 + [17],
    "below 2¹²⁶": [DIGIT] * 8 + [63],
    "at 2¹²⁶": [DIGIT] * 8 + [64],
    "above 2¹²⁶": [DIGIT] * 8 + [65],
    "at 2¹²⁸": [DIGIT] * 8 + [256],
    "above 2¹²⁸": [DIGIT] * 8 + [257],
    "2³⁰⁰": [DIGIT] * 20,
}


@pytest.mark.parametrize("widths", WIDTHS.values(), ids=WIDTHS.keys())
@pytest.mark.parametrize("distinct", [40, 900], ids=["many alike", "few alike"])
def test_classes_are_those_of_the_rows(widths: list[int], distinct: int) -> None:
    data = table(widths, 600, distinct)
    names = [f"c{j}" for j in range(len(widths))]
    rows = Counter(zip(*(data[n].to_pylist() for n in names), strict=True))
    assert classes(shoal.open(data).count(names)) == [(k, rows[k]) for k in sorted(rows, key=in_order)]


@pytest.mark.parametrize("distinct", [2_000, 90_000], ids=["by hash", "by sorting"])
@pytest.mark.parametrize("width", ["above 2⁶³", "above 2¹²⁸"])
def test_compiled_loops_count_the_same(width: str, distinct: int) -> None:
    data = table(WIDTHS[width], 70_000, distinct)
    names = data.column_names[:-2]
    rows = Counter(zip(*(data[n].to_pylist() for n in names), strict=True))
    assert classes(shoal.open(data).count(names)) == [(k, rows[k]) for k in sorted(rows, key=in_order)]


@pytest.mark.parametrize("width", ["below 2⁶³", "at 2⁶³", "above 2¹²⁸"])
def test_people_and_sensitive_values_as_sql_counts_them(width: str) -> None:
    rows = table(WIDTHS[width], 500, 150)
    data, names = shoal.open(rows), tuple(rows.column_names[:-2])
    request = CountRequest(names, sensitive=("s",), unit="person")
    mine = count_by_codes(data._relation, [request], None)[0]
    theirs = count_by_sql(data._engine, data._relation, request)
    assert classes(mine) == classes(theirs)
    assert mine.n_people == theirs.n_people
    for field in ("classes", "values", "counts"):
        assert getattr(mine.sensitive["s"], field).tolist() == getattr(theirs.sensitive["s"], field).tolist()


def test_every_tally_of_a_run_comes_from_the_finest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide or not, the rows are counted once: coarser tallies follow from the kept one."""
    from shoal.engines.count import by_codes as tally

    passes = []
    kept = tally._keys
    monkeypatch.setattr(tally, "_keys", lambda *a, **k: passes.append(1) or kept(*a, **k))
    rows = table(WIDTHS["above 2¹²⁸"], 4000, 60)
    data, names = shoal.open(rows), tuple(rows.column_names[:-2])
    wanted = [names, names[1:], (names[3], names[0]), names[:2]]
    found = count_by_codes(data._relation, [CountRequest(n, sensitive=("s",) if n == names else ()) for n in wanted], None)
    assert len(passes) == 1
    for over, counts in zip(wanted, found, strict=True):
        by_hand = Counter(zip(*(rows[n].to_pylist() for n in over), strict=True))
        assert classes(counts) == [(k, by_hand[k]) for k in sorted(by_hand, key=in_order)]


def test_people_are_compared_not_sorted(tmp_path, monkeypatch):
    """Seven people with two rows each: no list of seven is put in order to count them, or to leave rows out by them."""
    sorted_lists = []
    monkeypatch.setattr(
        codes, "sorted_categories", lambda values: (sorted_lists.append(len(values)), sorted_categories(values))[1]
    )
    rows = [(f"p{i % 7 * 5 % 7}", "f" if i < 4 else "m") for i in range(14)]
    with shoal.open(pa.table({"person": [p for p, _ in rows], "sex": [s for _, s in rows]})) as source:
        found = source.count(["sex"], unit="person")
        plan = Plan((Drop("person"),), Suppression(7, ("sex",), unit="person"), seed=1)
        done = source.recode(plan, tmp_path / "out.parquet")
    assert found.sizes.tolist() == [len({p for p, s in rows if s == sex}) for sex in "fm"] == [4, 7]
    assert (found.n_people, done.records_out) == (7, 10)
    assert sorted_lists
    assert set(sorted_lists) == {2}
