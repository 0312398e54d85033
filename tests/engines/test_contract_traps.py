"""One test for each known way in which an engine would count or spell values differently from the others."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

import shoal
from engines.comparing import as_dict
from engines.targets import MariaDBTarget, PostgresTarget, SparkTarget, Target
from shoal.engines.open import open as open_table
from shoal.errors import DataError, EngineError, UsageError
from shoal.steps import Cut, MapValues, Prefix

pytestmark = pytest.mark.engine


@pytest.fixture(scope="session")
def postgres(postgres_server: Any) -> PostgresTarget:
    return PostgresTarget("postgres", postgres_server)


@pytest.fixture(scope="session")
def mariadb(mariadb_server: Any) -> MariaDBTarget:
    return MariaDBTarget("mariadb", mariadb_server)


@pytest.fixture(scope="session")
def spark(spark_session: Any) -> SparkTarget:
    return SparkTarget("spark", spark_session)


def counted(source: str, column: str, **options: Any) -> dict[Any, int]:
    """Sizes by canonical text of one column."""
    with shoal.open(source, **options) as table:
        return {k[0]: n for k, n in as_dict(table.count([column]))["sizes"].items()}


def kinds(source: str) -> dict[str, str]:
    with shoal.open(source) as table:
        return {c.name: c.kind for c in table.schema.columns}


def test_moments_with_a_zone_are_read_in_utc(target: Target) -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    rows = [
        {"t": dt.datetime(2024, 3, 31, 3, 30, tzinfo=zone)},
        {"t": dt.datetime(2024, 3, 31, 1, 30, tzinfo=dt.UTC)},
        {"t": dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC)},  # 02:30 in Berlin, twice that night
        {"t": dt.datetime(2024, 10, 27, 1, 30, tzinfo=dt.UTC)},
        {"t": None},
    ]
    source = target.load(rows, {"t": "zoned"})
    expected = {None: 1, "2024-03-31 01:30:00": 2, "2024-10-27 00:30:00": 1, "2024-10-27 01:30:00": 1}
    assert counted(source, "t") == expected
    step = MapValues("t", ("2024-03-31 01:30:00",), (0,), ("x",), "top", "y")
    with shoal.open(source) as table:
        assert as_dict(table.count(["t"], through={"t": step}))["sizes"] == {(None,): 1, ("x",): 2, ("y",): 2}
        cut = Cut("t", ("2024-10-27 01:00:00",), ("before", "after"))
        assert as_dict(table.count(["t"], through={"t": cut}))["sizes"] == {(None,): 1, ("before",): 3, ("after",): 1}


def test_single_precision_floats(target: Target) -> None:
    source = target.load([{"x": 0.5}, {"x": 0.5}, {"x": -0.0}, {"x": 0.0}, {"x": None}], {"x": "single"})
    assert counted(source, "x") == {None: 1, "0.0": 2, "0.5": 2}


def test_types_can_be_asked_for(target: Target) -> None:
    if target.name == "duckdb":
        pytest.skip("of files; a DuckDB table keeps its types")
    source = target.load([{"a": "1"}, {"a": "01"}, {"a": None}], {"a": "text"})
    assert counted(source, "a", types={"a": "integer"}) == {None: 1, "1": 2}
    with pytest.raises(UsageError, match="cannot be read as 'colour'"):
        shoal.open(source, types={"a": "colour"})
    with pytest.raises(UsageError, match="option 'delimiterr'"):
        open_table(source, delimiterr=1)


# --- PostgreSQL --------------------------------------------------------------------------------------------------------------


def test_postgres_char_n_is_read_without_padding(postgres: PostgresTarget) -> None:
    postgres.execute("CREATE TABLE padded (a CHAR(5), b VARCHAR(5))")
    postgres.execute("INSERT INTO padded VALUES ('x', 'x'), ('x  ', 'x  '), ('y', NULL)")
    assert counted(postgres.source("padded"), "a") == {"x": 2, "y": 1}
    assert counted(postgres.source("padded"), "b") == {"x": 1, "x  ": 1, None: 1}


def test_postgres_numeric_without_scale(postgres: PostgresTarget) -> None:
    postgres.execute("CREATE TABLE loose (n NUMERIC, m NUMERIC)")
    postgres.execute("INSERT INTO loose VALUES (1.0, 1), (1.00, 2.0), (2.125, 2), ('NaN', 'NaN'), (NULL, NULL)")
    assert counted(postgres.source("loose"), "n") == {None: 2, "1.000": 2, "2.125": 1}
    assert counted(postgres.source("loose"), "m") == {None: 2, "1": 1, "2": 2}
    step = MapValues("n", ("1.000",), (0,), ("one",), "top", "other")
    with shoal.open(postgres.source("loose")) as table:
        assert as_dict(table.count(["n"], through={"n": step}))["sizes"] == {(None,): 2, ("one",): 2, ("other",): 1}
        rows = [r["n"] for b in table.scan(["n"]) for r in b.to_pylist()]
    assert sorted(str(r) for r in rows) == ["1.000", "1.000", "2.125", "None", "None"]


def test_postgres_infinite_dates_are_refused(postgres: PostgresTarget) -> None:
    postgres.execute("CREATE TABLE endless (d DATE, t TIMESTAMPTZ)", "INSERT INTO endless VALUES ('infinity', '-infinity')")
    for column in ("d", "t"):
        with pytest.raises(DataError, match="infinite dates"):
            counted(postgres.source("endless"), column)
    assert counted(postgres.source("endless"), "d", types={"d": "text"}) == {"infinity": 1}


def test_postgres_types_of_its_own_become_text(postgres: PostgresTarget) -> None:
    postgres.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN zip AS CHAR(5)",
        "CREATE TABLE own (e mood, u UUID, j JSONB, a INT[], z zip, i INTERVAL, n INET, b BYTEA, o OID, t TIME)",
        "INSERT INTO own VALUES ('ok', '00000000-0000-0000-0000-000000000001', '{\"a\": 1}', '{1,2}', '123', '1 day 2 hours', "
        "'10.0.0.1', '\\x00ff', 7, '10:00:00.5')",
    )
    source = postgres.source("own")
    found = kinds(source)
    assert {c for c, k in found.items() if k == "text"} == set("eujazin")
    expected = {
        "e": "ok", "u": "00000000-0000-0000-0000-000000000001", "j": '{"a": 1}', "a": "{1,2}", "z": "123", "i": "P1DT2H",
        "n": "10.0.0.1/32", "b": "00ff", "o": "7", "t": "10:00:00.500000",
    }  # fmt: skip
    assert {c: next(iter(counted(source, c))) for c in expected} == expected


def test_postgres_views_and_columns_without_the_right_to_read(postgres: PostgresTarget) -> None:
    postgres.execute(
        "CREATE TABLE partly (a TEXT, secret TEXT)",
        "INSERT INTO partly VALUES ('x', 's')",
        "CREATE VIEW partly_view AS SELECT a FROM partly",
        "CREATE USER half PASSWORD 'half-pw'",
        "GRANT USAGE ON SCHEMA public TO half",
        "GRANT SELECT (a) ON partly TO half",
    )
    assert counted(postgres.source("partly_view"), "a") == {"x": 1}
    url = postgres.handle.url_for("half", "half-pw")
    assert kinds(f"{url}::partly") == {"a": "text"}
    assert counted(f"{url}::partly", "a") == {"x": 1}


# --- MySQL and MariaDB -------------------------------------------------------------------------------------------------------

FOLDED = ["a", "A", "a ", "á", "à", "ß", "ss", "", None]


@pytest.mark.parametrize(
    "declared",
    [
        "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
        "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german2_ci",
        "TEXT CHARACTER SET latin1",
    ],
)
def test_mariadb_collations_fold_nothing(mariadb: MariaDBTarget, declared: str) -> None:
    rows = [{"a": v} for v in FOLDED] + [{"a": "A"}]
    source = mariadb.load(rows, {"a": declared})
    assert counted(source, "a") == {v: 2 if v == "A" else 1 for v in FOLDED}
    step = MapValues("a", ("a", "á"), (0, 1), ("small", "acute"), "top", "other")
    with shoal.open(source) as table:
        sizes = as_dict(table.count(["a"], through={"a": step}))["sizes"]
        people = table.count(["a"], sensitive=["a"], unit="a")
    assert sizes == {(None,): 1, ("small",): 1, ("acute",): 1, ("other",): 7}
    assert people.n_people == len(FOLDED)


def test_mariadb_tinyint_one_is_a_boolean_until_it_is_not(mariadb: MariaDBTarget) -> None:
    mariadb.execute("CREATE TABLE tiny (ok BOOLEAN, odd BOOLEAN)", "INSERT INTO tiny VALUES (TRUE, 0), (FALSE, 7), (NULL, 1)")
    source = mariadb.source("tiny")
    assert counted(source, "ok") == {None: 1, "false": 1, "true": 1}
    with pytest.raises(DataError, match="booleans=False"):
        counted(source, "odd")
    assert counted(source, "odd", booleans=False) == {"0": 1, "1": 1, "7": 1}


def test_mariadb_types_of_its_own(mariadb: MariaDBTarget) -> None:
    mariadb.execute(
        "CREATE TABLE own (c CHAR(5), e ENUM('x','Y'), s SET('p','q'), b BIT(3), y YEAR, u BIGINT UNSIGNED, j JSON, "
        "v VARBINARY(4), d DECIMAL(50,10), t TIME(6), m MEDIUMTEXT, dt DATETIME)",
        "INSERT INTO own VALUES ('x', 'Y', 'p,q', 5, 2024, 18446744073709551615, '[1]', 0x00FF, 1.5, '10:00:00.5', 'm', "
        "'2024-01-01 00:00:00')",
    )
    expected = {
        "c": "x", "e": "Y", "s": "p,q", "b": "5", "y": "2024", "u": "18446744073709551615", "j": "[1]", "v": "00ff",
        "d": "1.5000000000", "t": "10:00:00.500000", "m": "m", "dt": "2024-01-01 00:00:00",
    }  # fmt: skip
    assert {c: next(iter(counted(mariadb.source("own"), c))) for c in expected} == expected


def test_mariadb_dates_that_are_none_are_refused(mariadb: MariaDBTarget) -> None:
    mariadb.execute("CREATE TABLE zero (d DATE)", "SET sql_mode = ''", "INSERT INTO zero VALUES ('0000-00-00')")
    with pytest.raises(DataError, match="0000-00-00"):
        counted(mariadb.source("zero"), "d")
    assert counted(mariadb.source("zero"), "d", types={"d": "text"}) == {"0000-00-00": 1}


def test_mariadb_long_maps_travel_in_parts(mariadb: MariaDBTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.servers.mysql.engine.LARGEST_JSON", 2000)
    source = mariadb.load([{"a": f"v{i}"} for i in range(300)], {"a": "text"})
    step = MapValues("a", tuple(f"v{i}" for i in range(300)), tuple(i % 3 for i in range(300)), ("x", "y", "z"))
    with shoal.open(source) as table:
        table.hold()  # read-only: nothing may be created, and nothing is
        assert table.count(["a"], through={"a": step}).sizes.tolist() == [100, 100, 100]


def test_mariadb_old_servers_get_inline_rows(mariadb: MariaDBTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.servers.mysql.engine.MySQL._has_json_table", lambda self: False)
    source = mariadb.load([{"a": "x"}, {"a": "X"}, {"a": None}], {"a": "text"})
    step = MapValues("a", ("x",), (0,), ("small",), "top", "other")
    with shoal.open(source) as table:
        assert as_dict(table.count(["a"], through={"a": step}))["sizes"] == {(None,): 1, ("small",): 1, ("other",): 1}


def test_mariadb_a_stream_left_unfinished_does_not_block(mariadb: MariaDBTarget) -> None:
    source = mariadb.load([{"a": str(i)} for i in range(1000)], {"a": "text"})
    with shoal.open(source) as table:
        batches = table.scan(batch_size=10)
        next(batches)
        assert table.n_rows() == 1000
        next(batches)
        del batches
        assert table.n_rows() == 1000


# --- Spark -------------------------------------------------------------------------------------------------------------------


@pytest.mark.xdist_group("spark")
def test_spark_collations_and_padding(spark: SparkTarget) -> None:
    spark.execute(
        "CREATE TABLE folding (a STRING COLLATE UTF8_LCASE, c CHAR(5), s STRUCT<x: INT>) USING parquet",
        "INSERT INTO folding VALUES ('a', 'x', named_struct('x', 1)), ('A', 'x  ', named_struct('x', 1)), ('A ', 'y', NULL)",
    )
    source = spark.source("folding")
    assert counted(source, "a") == {"a": 1, "A": 1, "A ": 1}
    assert counted(source, "c") == {"x": 2, "y": 1}
    assert counted(source, "s") == {'{"x":1}': 2, None: 1}


@pytest.mark.xdist_group("spark")
def test_spark_sessions_in_another_zone_get_it_back(spark: SparkTarget) -> None:
    session = spark.handle
    source = spark.load([{"t": dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC)}], {"t": "zoned"})
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        assert counted(source, "t") == {"2024-10-27 00:30:00": 1}
        assert session.conf.get("spark.sql.session.timeZone") == "Europe/Berlin"
    finally:
        session.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_spark_reads_paths(spark: SparkTarget, tmp_path: Any, ending: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / f"odd name.{ending}"
    write: dict[str, Callable[[], Any]] = {
        "parquet": lambda: pq.write_table(pa.table({"a": ["x", None, "x,y"]}), path),
        "csv": lambda: path.write_text('a,b\nx,1\n,2\n"x,y",3\n'),
        "jsonl": lambda: path.write_text('{"a": "x"}\n{"a": null}\n{"a": "x,y"}\n'),
    }
    write[ending]()
    assert counted(f"spark::{path}", "a") == {"x": 1, None: 1, "x,y": 1}


# --- what strangers bring ----------------------------------------------------------------------------------------------------


def through_map(source: str, column: str, key: str) -> dict[Any, int]:
    """Sizes after a value map that knows one key."""
    with shoal.open(source) as table:
        step = MapValues(column, (key,), (0,), ("known",), "top", "other")
        return {k[0]: n for k, n in as_dict(table.count([column], through={column: step}))["sizes"].items()}


def test_postgres_partitions_domains_and_materialized_views(postgres: PostgresTarget) -> None:
    postgres.execute(
        "CREATE SCHEMA clinic",
        "CREATE DOMAIN clinic.years AS INT CHECK (VALUE >= 0)",
        "CREATE TABLE clinic.visits (y clinic.years, sex TEXT, n NUMERIC) PARTITION BY LIST (sex)",
        "CREATE TABLE clinic.visits_f PARTITION OF clinic.visits FOR VALUES IN ('f')",
        "CREATE TABLE clinic.visits_other PARTITION OF clinic.visits DEFAULT",
        "INSERT INTO clinic.visits VALUES (7, 'f', 1.50), (7, 'F', 1.5), (NULL, 'f ', 1e30), (8, NULL, 'NaN')",
        "CREATE MATERIALIZED VIEW clinic.visits_seen AS SELECT * FROM clinic.visits",
    )
    for name in ("clinic.visits", "clinic.visits_seen"):
        source = postgres.source(name)
        assert counted(source, "y") == {"7": 2, "8": 1, None: 1}
        assert counted(source, "sex") == {"f": 1, "F": 1, "f ": 1, None: 1}
        assert through_map(source, "sex", "f") == {"known": 1, "other": 2, None: 1}
        assert sum(counted(source, "n").values()) == 4
        assert counted(source, "n")[None] == 1
        assert through_map(source, "y", "7") == {"known": 2, "other": 1, None: 1}


def test_postgres_infinite_numbers_and_moments_are_refused(postgres: PostgresTarget) -> None:
    postgres.execute(
        "CREATE TABLE endless_numbers (n NUMERIC, t TIMESTAMPTZ, d DATE)",
        "INSERT INTO endless_numbers VALUES ('Infinity', '-infinity', 'infinity'), (1, 'now', 'today')",
    )
    for column in "ntd":
        with pytest.raises((DataError, EngineError)):
            counted(postgres.source("endless_numbers"), column)


def test_mariadb_zeros_in_front_are_no_other_number(mariadb: MariaDBTarget) -> None:
    mariadb.execute(
        "CREATE TABLE zeros (i INT(5) ZEROFILL, d DECIMAL(6,2) ZEROFILL, f FLOAT ZEROFILL, y YEAR)",
        "INSERT INTO zeros VALUES (42, 1.5, 2.5, 2024), (42, 1.50, 2.5, 2024), (7, 0, 1, 0)",
    )
    source = mariadb.source("zeros")
    assert counted(source, "i") == {"42": 2, "7": 1}
    assert counted(source, "d") == {"1.50": 2, "0.00": 1}
    assert counted(source, "f") == {"2.5": 2, "1.0": 1}
    assert through_map(source, "i", "42") == {"known": 2, "other": 1}
    assert through_map(source, "d", "1.50") == {"known": 2, "other": 1}
    assert through_map(source, "f", "2.5") == {"known": 2, "other": 1}
    assert through_map(source, "y", "0") == {"known": 1, "other": 2}
    with shoal.open(source) as table:
        assert as_dict(table.count(["i"], through={"i": Prefix("i", 1)}))["sizes"] == {("4*",): 2, ("7",): 1}


def test_spark_text_files_that_do_not_hold_together_are_refused(spark: SparkTarget, tmp_path: Any) -> None:
    """Spark would fill short rows with missing values, cut long ones and make a line that is no JSON a row of missing values."""
    files = {
        "short.csv": "a,b\nx,1\ny\n",
        "long.csv": "a,b\nx,1\ny,2,3\n",
        "broken.jsonl": '{"a": "x", "b": 1}\n{"a": \n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(EngineError, match="more or fewer fields"):
            counted(f"spark::{tmp_path / name}", "a")


def test_spark_empty_text_is_not_missing(spark: SparkTarget, tmp_path: Any) -> None:
    (tmp_path / "t.csv").write_text('a,b\n"",1\n,2\n x ,3\n')
    assert counted(f"spark::{tmp_path / 't.csv'}", "a") == {"": 1, None: 1, " x ": 1}


def test_spark_nested_columns_are_json(spark: SparkTarget) -> None:
    spark.execute(
        "CREATE OR REPLACE TEMP VIEW nested AS SELECT * FROM VALUES (array(1, 2), named_struct('a', 'x'), map('k', 1)), "
        "(array(1, 2), named_struct('a', 'x'), map('k', 2)), (NULL, NULL, NULL) AS t(l, s, m)"
    )
    assert counted("spark::nested", "l") == {"[1,2]": 2, None: 1}
    assert counted("spark::nested", "s") == {'{"a":"x"}': 2, None: 1}
    assert counted("spark::nested", "m") == {'{"k":1}': 1, '{"k":2}': 1, None: 1}
