"""Names from outside are inert: quotes, newlines, SQL and every script in column and table names."""

from __future__ import annotations

import random

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

import shoal
from engines.targets import Target
from shoal.engines.servers.tables import table_expression
from shoal.errors import EngineError
from shoal.steps.sql import column

DIALECTS = ("duckdb", "postgres", "mysql", "spark")

PIECES = [
    "'", '"', "`", "[", "]", "]]", "\\", "\\'", '\\"', "''", '""', "``", ";", "--", "/*", "*/", "#", "\n", "\r", "\t", " ", ".",
    ",", "(", ")", "%", "%s", "%%", "{}", "{0}", "$1", "$$", "?", ":x", "@a", "=", "*", "SELECT", "DROP TABLE t", "NULL", "count",
    "é", "ß", "İ", "日本", "ﷺ", "\u202e", "\u200b", "\u00a0", "x", "Y", "0", "1e5", "~", "|", "&", "<b>",
]  # fmt: skip


def hostile(rng: random.Random, number: int) -> str:
    """A name of awkward pieces; the number in it keeps names apart for people too."""
    pieces = [rng.choice(PIECES) for _ in range(rng.randint(1, 6))]
    pieces.insert(rng.randint(0, len(pieces) - 1), f"n{number}")
    return "".join(pieces)


def round_trip(names: list[str], dialect: str) -> list[str]:
    """Names written into a query and read back by a parser of the dialect."""
    query = exp.select(*[exp.alias_(column(n, "t"), n, quoted=True) for n in names]).from_(table_expression(None, "t"))
    parsed = sqlglot.parse(query.sql(dialect=dialect, identify=True), dialect=dialect)
    assert len(parsed) == 1, "a name ended the statement"
    terms = parsed[0].expressions
    assert [t.this.name for t in terms] == [t.alias for t in terms]
    return [t.alias for t in terms]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_ten_thousand_hostile_names_are_read_back_as_written(dialect: str) -> None:
    """2,500 for each of the four dialects, all different."""
    rng = random.Random(f"names {dialect}")
    for start in range(0, 2_500, 250):
        names = [hostile(rng, start + i) for i in range(250)]
        assert round_trip(names, dialect) == names


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1), min_size=1, max_size=20
    )
)
def test_any_text_is_a_name(dialect: str, names: list[str]) -> None:
    assert round_trip(names, dialect) == names


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=60, deadline=None)
@given(value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_any_text_is_a_literal(dialect: str, value: str) -> None:
    parsed = sqlglot.parse_one(exp.select(exp.Literal.string(value)).sql(dialect=dialect), dialect=dialect)
    assert parsed.expressions[0].this == value


def allowed(name: str, target: Target) -> bool:
    """What the server itself allows as a name: at most 63 bytes in PostgreSQL; no blank at the end and no NUL in MySQL."""
    if target.name == "postgres":
        return len(name.encode()) <= 63
    if target.name == "mariadb":
        return len(name) <= 64 and not name[-1].isspace() and all(ord(c) < 0x10000 for c in name)
    return True


def some_names(target: Target, n: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    names = (hostile(rng, i) for i in range(10 * n))
    return [x for x in names if allowed(x, target)][:n]


def test_three_hundred_hostile_columns_really_counted(target: Target) -> None:
    names = some_names(target, 300 if target.name != "spark" else 120, 11)
    rows = [dict.fromkeys(names, "a"), dict.fromkeys(names, "b"), dict.fromkeys(names, "b")]
    source = target.load(rows, dict.fromkeys(names, "text"))
    with shoal.open(source, quasi=names) as table:
        assert list(table.schema.names) == names
        counts = table.count()
    assert counts.sizes.tolist() == [1, 2]
    assert counts.columns == tuple(names)


TABLES = [
    "quote'd", 'double"d', "back`tick", "back\\slash", "new\nline", "semi; DROP TABLE x; --", "per%cent %s", "dot.ted.name",
    "ünï 日本", "br]ack[et", "SELECT", "a::b", "$1 {0} ?",
]  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_hostile_table_names_are_opened_counted_and_written(target: Target, name: str) -> None:
    source = target.load([{"a": "x"}, {"a": "x"}], {"a": "text"}, table=name)
    with shoal.open(source) as table:
        assert table.count(["a"]).sizes.tolist() == [2]


def test_a_name_of_another_case_is_another_table(target: Target) -> None:
    if target.name in ("duckdb", "spark", "sqlite"):
        pytest.skip("this engine folds the case of table names by design")
    target.load([{"a": "x"}], {"a": "text"}, table="CaseTable")
    with pytest.raises(EngineError, match="'casetable'"):
        shoal.open(target.source("casetable"))


def test_a_table_in_a_schema(target: Target) -> None:
    if target.name == "sqlite":
        pytest.skip("an SQLite file has no schemas")
    if target.name == "spark":
        target.execute("CREATE DATABASE IF NOT EXISTS odd", "CREATE TABLE odd.tab USING parquet AS SELECT 'x' AS a")
    elif target.name == "mariadb":
        target.execute("CREATE DATABASE `odd`", "CREATE TABLE `odd`.`tab` AS SELECT 'x' AS a")
    else:
        target.execute('CREATE SCHEMA "odd"', """CREATE TABLE "odd"."tab" AS SELECT 'x' AS a""")
    with shoal.open(target.source("odd.tab")) as table:
        assert table.count(["a"]).sizes.tolist() == [1]
