"""What a format cannot hold of a table, in words, from its columns alone: known before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from shoal.engines.core.kinds import is_nested
from shoal.model.plan import Step
from shoal.model.roles import MOMENTS, NUMBERS, Column

NAMES = {
    "csv": "CSV",
    "parquet": "Parquet",
    "jsonl": "JSON lines",
    "arrow": "Arrow",
    "excel": "Excel",
    "spss": "SPSS",
    "stata": "Stata",
    "sas": "SAS transport",
}
TEXT = ("csv", "jsonl")
PACKAGES = ("excel", "spss", "stata", "sas")
LABELLED = ("spss", "stata")
MOST_NAMES = 5

Test = Callable[[Column], bool]


def not_kept(columns: Sequence[Column], format: str, *, notes: int = 0) -> tuple[str, ...]:
    """A sentence for each thing that is lost when these columns are written in ``format``; empty where nothing is.

    ``notes`` of the file itself are never carried over.

    >>> not_kept([Column("region", "float", labels={1: "North"})], "csv")
    ('CSV has no value labels: those of region are left out.',)
    >>> not_kept([Column("region", "float", labels={1: "North"})], "spss")
    ()
    """
    out = []
    for formats, test, words in RULES:
        names = [c.name for c in columns if test(c)] if format in formats else []
        if names:
            out.append(words.format(format=NAMES[format], columns=listed(names)))
    if notes:
        out.append(f"{notes} note{'s' if notes > 1 else ''} of the file itself: they may name people or places.")
    return tuple(out)


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more."""
    more = len(names) - MOST_NAMES
    shown = ", ".join(names[:MOST_NAMES])
    return f"{shown} and {more} more columns" if more > 0 else shown


def read_as_text(columns: Sequence[Column], steps: Sequence[Step]) -> tuple[str, ...]:
    """What a step takes as text although the source keeps it in a type of its own: durations and nested values."""
    moved = {name for s in steps if s.publishes in ("own", "groups") for name in s.columns}
    odd = [c.name for c in columns if c.name in moved and (pa_type(c, pa.types.is_duration) or pa_type(c, is_nested))]
    return (f"Steps take durations and nested values as text: {', '.join(odd)} is published as text.",) if odd else ()


def pa_type(column: Column, test: Callable[[Any], bool]) -> bool:
    """Whether the source keeps the column in an Arrow type of this sort."""
    return column.stored is not None and bool(test(column.stored))


def _stored(*tests: Callable[[Any], bool]) -> Test:
    return lambda c: any(pa_type(c, test) for test in tests)


def _zoned(kind: Any) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


def _fine_clock(kind: Any) -> bool:
    return bool(pa.types.is_time(kind) and kind.unit == "ns")


def _finer_than(*units: str) -> Test:
    """Moments that may be finer than these units; where the source does not tell its unit, they are microseconds."""
    return lambda c: c.kind == "timestamp" and getattr(c.stored, "unit", "us") not in units


def _sixty_four_bits(column: Column) -> bool:
    own: Any = column.stored or column.former
    return column.kind == "integer" and (own is None or own.bit_width == 64)


def _whole_seconds(kind: Any) -> bool:
    return bool((pa.types.is_timestamp(kind) or pa.types.is_time(kind)) and kind.unit == "s")


def _not_of_stata(kind: Any) -> bool:
    """Widths that are written as another one: all of whole numbers but long, and floats."""
    return bool(pa.types.is_float32(kind) or pa.types.is_float16(kind) or (pa.types.is_integer(kind) and kind != pa.int32()))


def _numbered(column: Column) -> bool:
    return any(not isinstance(m, str) for m in column.user_missing) and not _plain_text(column)


def _plain_text(column: Column) -> bool:
    """Whether a column stays text; new groups and hidden numbers become codes."""
    return column.kind == "text" and not (column.coded or column.grouped)


def _foreign_form(percent: bool) -> Test:
    return lambda c: bool(c.form) and c.form.startswith("%") != percent and c.kind in NUMBERS and not c.grouped


def _decimal(column: Column) -> bool:
    return column.kind == "decimal"


def _except(*formats: str) -> Iterable[str]:
    return [f for f in NAMES if f not in formats]


RULES: tuple[tuple[Iterable[str], Test, str], ...] = (
    (_except(*LABELLED), lambda c: bool(c.labels), "{format} has no value labels: those of {columns} are left out."),
    (_except(*LABELLED, "sas"), lambda c: bool(c.note), "{format} has no variable labels: those of {columns} are left out."),
    (
        _except(*LABELLED),
        lambda c: bool(c.user_missing),
        "{format} cannot declare values missing: codes of {columns} are plain values there.",
    ),
    (("stata",), _numbered, "Stata declares no numbers missing: codes of {columns} become letters (.a, .b …) with their labels."),
    (
        ("spss",),
        lambda c: any(isinstance(m, str) and m.startswith(".") for m in c.user_missing),
        "SPSS has no lettered missing values: those of {columns} become numbers that are declared missing.",
    ),
    (
        ("stata",),
        lambda c: _plain_text(c) and bool(c.labels or c.user_missing),
        "Stata labels and declares no texts: those of {columns} are plain values there.",
    ),
    (_except("spss"), lambda c: bool(c.measure), "{format} has no measurement levels: those of {columns} are left out."),
    (("spss", "sas"), _foreign_form(percent=False), "Display formats of Stata are left out for {columns}."),
    (("stata",), _foreign_form(percent=True), "Display formats of SPSS and SAS are left out for {columns}."),
    (("stata",), _stored(_not_of_stata), "Stata gets {columns} as long or double, not in the width of the source."),
    (TEXT, _stored(_zoned), "{format} has no time zones: {columns} get the distance from UTC behind them (+02:00)."),
    (PACKAGES, _stored(_zoned), "{format} has no time zones: {columns} are written as the clock there showed."),
    (("parquet",), _stored(_whole_seconds), "Parquet counts no whole seconds: {columns} are written in milliseconds."),
    (("excel",), _finer_than("s", "ms"), "Excel keeps moments to the millisecond: finer parts of {columns} are left out."),
    (("spss", "stata"), _finer_than("s", "ms"), "{format} keeps moments in doubles: {columns} may be off by two microseconds."),
    (("sas",), _finer_than("s", "ms", "us"), "{format} has no nanoseconds: {columns} are cut to microseconds."),
    (
        (*TEXT, *PACKAGES),
        _stored(_fine_clock),
        "Times of day of {columns} are written to the microsecond: finer parts are left out.",
    ),
    (("excel",), lambda c: c.kind in MOMENTS, "Excel has no dates before 1900: such ones of {columns} are written as text."),
    ((*TEXT, *PACKAGES), _stored(pa.types.is_duration), "{format} has no durations: {columns} are written in seconds."),
    (
        _except("parquet", "arrow", "jsonl"),
        _stored(is_nested),
        "{format} has no nested values: {columns} are written as JSON text.",
    ),
    ((*TEXT, *PACKAGES), lambda c: c.kind == "binary", "{format} has no bytes: {columns} are written as hexadecimal digits."),
    (("spss", "stata", "sas"), _decimal, "{format} has doubles only: numbers of {columns} with more than 15 digits are rounded."),
    (("excel",), _decimal, "Excel has no decimals of fixed precision: {columns} are written as text."),
    (
        PACKAGES,
        _sixty_four_bits,
        "{format} has doubles only: whole numbers of {columns} beyond 15 digits may become text.",
    ),
    (("spss", "stata", "sas"), lambda c: c.kind == "boolean", "{format} has no truth values: {columns} are written as 1 and 0."),
    (("excel",), lambda c: c.kind == "time", "Excel has no times of day: {columns} are written as text."),
    (("stata",), lambda c: c.kind == "time", "Stata has no times of day: {columns} are milliseconds, shown as a clock."),
)
"""Formats, which columns lose something, and the messages about them."""
