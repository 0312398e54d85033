"""COUNT gives the same classes on every engine as the definition gives in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shoal
from engines import awkward, oracle
from engines.comparing import as_dict
from engines.targets import DECIMALS, Target
from shoal.errors import DataError, EmptyTableError, HierarchyGapError, MemoryBudgetError, UsageError
from shoal.model.plan import Step
from shoal.steps import Clamp, Constant, Cut, MapValues, Prefix, Round

ROWS = awkward.rows()


@pytest.fixture(scope="session")
def loaded(target: Target) -> str:
    """The awkward rows, once per engine."""
    return target.load(ROWS, awkward.TYPES)


def check(
    source: str, rows: list[dict[str, Any]], columns: list[str], numeric: frozenset[str] = frozenset(), **options: Any
) -> None:
    with shoal.open(source) as table:
        counts = table.count(columns, **options)
    assert counts.sizes.dtype == np.int64
    found = as_dict(counts, numeric)
    expected = oracle.count(rows, columns, **options)
    for part in ("sizes", "records", "weights", "sensitive", "people", "once"):
        assert found[part] == expected[part], part


@pytest.mark.parametrize("column", list(awkward.COLUMNS))
def test_one_column_of_awkward_values(loaded: str, column: str) -> None:
    check(loaded, ROWS, [column])


def test_all_columns_together(loaded: str) -> None:
    check(loaded, ROWS, list(awkward.COLUMNS))


def test_kinds_are_the_same_everywhere(target: Target, loaded: str) -> None:
    with shoal.open(loaded) as table:
        kinds = {c.name: c.kind for c in table.schema.columns}
        rows = table.n_rows()
    decimal = "text" if target.name == "sqlite" else "decimal"  # SQLite has none
    assert kinds == {n: decimal if k in DECIMALS else k for n, k in awkward.TYPES.items()}
    assert rows == len(ROWS)


def test_sensitive_values_inside_classes(loaded: str) -> None:
    check(loaded, ROWS, ["boolean", "date"], sensitive=["text", "float"])


def test_people_and_their_sensitive_values(loaded: str) -> None:
    check(loaded, ROWS, ["boolean"], sensitive=["decimal"], unit="person")


@pytest.mark.parametrize("column", list(awkward.COLUMNS))
def test_people_by_their_smallest_class_and_whole_set(loaded: str, column: str) -> None:
    check(loaded, ROWS, [column], unit="person")


def test_people_with_many_records(target: Target) -> None:
    """Sets of up to sixty classes, texts that differ only after two thousand letters, persons without an id."""
    rng = np.random.default_rng(11)
    long = ["x" * 2000 + end for end in ("a", "A", "a ", "b")]
    rows: list[dict[str, Any]] = []
    for person in range(40):
        places = rng.choice(60, int(rng.integers(1, 4)) if person % 3 else 60, replace=False)
        name = None if person == 7 else f"P{person}"
        rows += [{"id": name, "place": int(p), "note": long[int(p) % 4] if p % 5 else None} for p in places]
    rows += [{"id": "twin", **{k: r[k] for k in ("place", "note")}} for r in rows if r["id"] == "P3"]
    source = target.load(rows, {"id": "text", "place": "integer", "note": "text"})
    for columns in (["place"], ["note"], ["note", "place"]):
        check(source, rows, columns, unit="id")


def test_weights_are_summed(loaded: str) -> None:
    check(loaded, ROWS, ["boolean", "text"], weight="weight")


TEXT_KEYS = tuple(t for t in awkward.TEXTS if t is not None)
THROUGH: dict[str, Step] = {
    "map text": MapValues("text", TEXT_KEYS, tuple(range(len(TEXT_KEYS))), tuple(f"g{i}" for i in range(len(TEXT_KEYS)))),
    "map text, gaps to the top": MapValues("text", ("a", "ä", "\\", "'"), (0, 0, 1, 1), ("x", "y'\\"), "top", "all", "none"),
    "map text, gaps suppressed": MapValues("text", ("A",), (0,), ("A",), "suppress"),
    "map integer": MapValues("integer", ("0", "1", str(2**53)), (0, 0, 1), ("few", "many"), "top", "other"),
    "map float": MapValues("float", ("0.0", "0.1", "1e+300", "no number"), (0, 1, 0, 0), ("a", "b"), "top", "other", "missing"),
    "map decimal": MapValues("decimal", ("0.0000", "0.0001"), (0, 0), ("small",), "suppress"),
    "map date": MapValues("date", ("2024-02-29",), (0,), ("leap",), "top", "other"),
    "map timestamp": MapValues(
        "timestamp", ("2024-02-29 23:59:59", "2024-02-29 23:59:59.999999"), (0, 1), ("x", "y"), "top", "other"
    ),
    "map boolean": MapValues("boolean", ("true",), (0,), ("yes",), "top", "no"),
    "cut integer": Cut("integer", (0.0, 1.0, float(2**31)), ("neg", "0", "1..", "big")),
    "cut integer, closed right": Cut("integer", (0.0, 1.0), ("≤0", "1", "more"), "right", "none"),
    "cut float": Cut("float", (0.0, 0.1, 0.3), ("a", "b", "c", "d")),
    "cut float, closed right": Cut("float", (-1e-300, 0.0, 0.3), ("a", "b", "c", "d"), "right"),
    "cut decimal": Cut("decimal", (0.0, 2.0), ("a", "b", "c")),
    "cut date": Cut("date", ("1900-02-28", "2024-02-29"), ("old", "last", "new")),
    "cut timestamp": Cut("timestamp", ("1970-01-01", "2024-02-29 23:59:59.5"), ("old", "last", "new"), "right", "?"),
    "prefix text": Prefix("text", 1),
    "prefix text, none": Prefix("text", 0),
    "prefix text, cut off": Prefix("text", 2, ""),
    "prefix text, from the end": Prefix("text", 1, "#", True),
    "prefix text, from the end, cut off": Prefix("text", 2, "", True),
    "prefix integer": Prefix("integer", 3),
    "prefix decimal": Prefix("fine", 4, ""),
    "prefix date": Prefix("date", 4, ""),
    "prefix timestamp": Prefix("timestamp", 10, ""),
    "constant": Constant("text", "all' \\"),
}
NUMERIC: dict[str, Step] = {
    "round integer": Round("small", 10.0),
    "round float": Round("x", 0.25),
    "round float by a tenth": Round("x", 0.1),
    "round decimal": Round("d", 5.0),
    "clamp integer": Clamp("small", -5.0, 7.0),
    "clamp float": Clamp("x", None, 1.5),
    "clamp decimal": Clamp("d", 0.0, None),
}


@pytest.mark.parametrize("name", list(THROUGH))
def test_through_a_step(target: Target, loaded: str, name: str) -> None:
    step = THROUGH[name]
    if target.name == "sqlite" and name == "cut decimal":
        pytest.skip("SQLite has no decimals: these are texts there")
    check(loaded, ROWS, [step.column, "wide"], through={step.column: step})


def small_numbers() -> list[dict[str, Any]]:
    from decimal import Decimal

    whole = [None, *range(-26, 27)]
    return [
        {"small": i, "x": None if i is None else i / 8, "d": None if i is None else Decimal(i * 5) / 2 + Decimal("0.0000")}
        for i in whole
        for _ in range(2)
    ]


@pytest.fixture(scope="session")
def numbers(target: Target) -> str:
    return target.load(small_numbers(), {"small": "small", "x": "float", "d": "decimal"})


@pytest.mark.parametrize("name", list(NUMERIC))
def test_through_a_numeric_step(numbers: str, name: str) -> None:
    """Halves go away from zero, and no engine's own rounding is asked."""
    step = NUMERIC[name]
    if isinstance(step, Round) and step.base == 0.1:
        with shoal.open(numbers) as table:
            found = table.count(["x"], through={"x": step})
        expected = sorted({_tenths(r["x"]) for r in small_numbers() if r["x"] is not None})
        assert found.categories[0].to_pylist() == expected
        return
    check(numbers, small_numbers(), [step.column], frozenset([step.column]), through={step.column: step})


def test_whole_numbers_are_rounded_exactly(loaded: str) -> None:
    """Up to both ends of int64: 2⁶³ − 1 is a multiple of 7."""
    check(loaded, ROWS, ["integer"], frozenset(["integer"]), through={"integer": Round("integer", 7.0)})


def _tenths(x: float) -> float:
    """The float nearest to the multiple of a tenth nearest to x, halves away from zero."""
    from decimal import ROUND_HALF_UP, Decimal

    return float(Decimal(x).quantize(Decimal("0.1"), ROUND_HALF_UP)) + 0.0


def test_a_value_that_the_map_lacks_stops_without_naming_it(loaded: str) -> None:
    step = MapValues("text", ("a",), (0,), ("x",))
    with (
        shoal.open(loaded) as table,
        pytest.raises(HierarchyGapError, match=r"57 distinct value\(s\) in 386 record\(s\)") as caught,
    ):
        table.count(["text"], through={"text": step})
    assert "DROP TABLE" not in str(caught.value)


def test_a_numeric_step_on_text_is_refused(loaded: str) -> None:
    with shoal.open(loaded) as table, pytest.raises(UsageError, match="needs a column of kind integer"):
        table.count(["text"], through={"text": Round("text", 5.0)})


def test_a_missing_weight_is_an_error(target: Target) -> None:
    source = target.load([{"a": "x", "w": 1.0}, {"a": "x", "w": None}], {"a": "text", "w": "float"})
    with shoal.open(source) as table, pytest.raises(DataError, match="weight column 'w' is missing in 1 record"):
        table.count(["a"], weight="w")


def test_an_empty_table_has_no_number(target: Target) -> None:
    source = target.load([], {"a": "text", "b": "integer", "c": "decimal", "d": "date"})
    with shoal.open(source) as table:
        assert table.n_rows() == 0
        assert [b.num_rows for b in table.scan()] in ([], [0])
        for columns in (["a", "b", "c", "d"], ["a"]):
            with pytest.raises(EmptyTableError):
                table.count(columns, sensitive=["b"], unit="b")


def test_only_missing_values(target: Target) -> None:
    rows = [{"a": None, "b": None, "c": None}] * 3
    source = target.load(rows, {"a": "text", "b": "float", "c": "date"})
    check(source, rows, ["a", "b", "c"], sensitive=["a"], unit="b")


def test_numbers_beyond_two_to_the_thirty_first(target: Target) -> None:
    """Weights of 2^40 add up exactly; sums of big integers do not wrap."""
    rows = [{"a": "x" if i % 2 else "y", "w": 2**40 + i} for i in range(4096)]
    source = target.load(rows, {"a": "text", "w": "integer"})
    check(source, rows, ["a"], weight="w")


def test_counts_travel_as_long_numbers(target: Target) -> None:
    """A real class of 2^31 rows takes minutes to count; the number of its members must not be cut on the way."""
    from sqlglot import exp

    source = target.load([{"a": "x"}] * 3, {"a": "text"})
    with shoal.open(source) as table:
        many = exp.Mul(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(2**60))
        query = exp.select(exp.alias_(many, "n", quoted=True)).from_(exp.alias_(table._relation.sql, "t", table=True))
        assert int(table._engine.fetch(query)["n"][0].as_py()) == 3 * 2**60


MANY = {"duckdb": 10**6, "postgres": 10**6, "mariadb": 2 * 10**5, "sqlite": 5 * 10**4, "spark": 10**5}
SERIES = {
    "duckdb": "CREATE TABLE {t} AS SELECT 'v' || range AS v FROM range({n})",
    "postgres": "CREATE TABLE {t} AS SELECT 'v' || i AS v FROM generate_series(0, {n} - 1) AS g(i)",
    "mariadb": "CREATE TABLE {t} AS SELECT CONCAT('v', seq - 1) AS v FROM seq_1_to_{n}",
    "sqlite": "CREATE TABLE {t} AS WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i + 1 < {n}) "
    "SELECT 'v' || i AS v FROM g",
    "spark": "CREATE OR REPLACE TEMP VIEW {t} AS SELECT CONCAT('v', id) AS v FROM range({n})",
}


def test_a_million_categories(target: Target) -> None:
    n = MANY[target.name]
    target.execute(SERIES[target.name].format(t="many", n=n))
    with shoal.open(target.source("many")) as table:
        counts = table.count(["v"])
        assert (counts.n_classes, counts.n_records) == (n, n)
        assert len(counts.categories[0]) == n
        with pytest.raises(MemoryBudgetError):
            table.count(["v"], memory_budget=1000)


def test_numbers_that_mean_no_value_are_compared_as_numbers(target: Target) -> None:
    rows = [{"whole": w, "part": p} for w, p in ((1, 1.25), (9, 9.0), (2, -0.5), (9, 9.0), (-9, 9.25))]
    source = target.load(rows, {"whole": "integer", "part": "float"})
    gone = {"9": (2, 2), "9.0": (2, 2), 9: (2, 2), "-.5": (0, 1), "8.9": (0, 0), "nine": (0, 0), "1e99": (0, 0)}
    with shoal.open(source) as table:
        for spelled, expected in gone.items():
            told = table.described(missing_values={"whole": [spelled], "part": [spelled]})
            batches = list(told.scan(["whole", "part"]))
            assert tuple(sum(batch.column(i).null_count for batch in batches) for i in (0, 1)) == expected


def test_a_value_map_of_many_thousand_keys(target: Target) -> None:
    n = 20_000
    target.execute(SERIES[target.name].format(t="mapped", n=n))
    step = MapValues("v", tuple(f"v{i}" for i in range(n)), tuple(i % 7 for i in range(n)), tuple("abcdefg"))
    with shoal.open(target.source("mapped")) as table:
        counts = table.count(["v"], through={"v": step})
    assert counts.categories[0].to_pylist() == list("abcdefg")
    assert counts.sizes.tolist() == [sum(1 for i in range(n) if i % 7 == j) for j in range(7)]


def test_a_table_of_five_hundred_columns(target: Target) -> None:
    types = {f"c{i}": "text" if i % 2 else "integer" for i in range(500)}
    rows = [{c: (f"t{j}" if t == "text" else j) for c, t in types.items()} for j in (0, 1, 1, None)]
    rows[3] = dict.fromkeys(types)
    source = target.load(rows, types)
    columns = list(types) if target.name != "spark" else list(types)[:100]  # Spark compiles for a minute beyond
    check(source, rows, columns)


def test_count_twice_gives_the_same_arrays(loaded: str) -> None:
    with shoal.open(loaded) as table:
        first, second = (table.count(["text", "integer"], sensitive=["boolean"]) for _ in range(2))
    assert first.sizes.tolist() == second.sizes.tolist()
    assert all((a == b).all() for a, b in zip(first.codes, second.codes, strict=True))
    assert first.categories[0].equals(second.categories[0])


def test_scan_gives_every_row_in_the_common_types(target: Target, loaded: str) -> None:
    from engines.comparing import multiset

    with shoal.open(loaded) as table:
        batches = list(table.scan(["text", "float", "timestamp", "boolean", "decimal"], batch_size=150))
    names = batches[0].schema.names
    assert [str(t) for t in batches[0].schema.types[:4]] == ["string", "double", "timestamp[us]", "bool"]
    assert max(b.num_rows for b in batches) <= 150
    found = multiset([r for b in batches for r in b.to_pylist()])
    expected = [{n: r[n] for n in names} for r in ROWS]
    if target.name == "sqlite":  # which keeps these decimals as texts
        expected = [r | {"decimal": oracle.text(r["decimal"])} for r in expected]
    assert found == multiset(expected)
