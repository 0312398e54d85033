"""What a format cannot hold of a table, in words, from its columns alone: known before anything is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import is_nested
from shoal.engines.core.stored_types import fine_durations
from shoal.engines.files.statistical.coding import room_left
from shoal.kernels.codes import is_numeric
from shoal.model.plan import Plan, Step
from shoal.model.roles import MOMENTS, NUMBERS, Column
from shoal.steps import Drop, Keep, MapValues, Prefix

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


def _is_stored_as(*tests: Callable[[Any], bool]) -> Test:
    return lambda c: any(pa_type(c, test) for test in tests)


def _has_zone(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


def _fine_clock(kind: pa.DataType) -> bool:
    return bool(pa.types.is_time(kind) and kind.unit == "ns")


def _finer_than(*units: str) -> Test:
    """Moments that may be finer than these units; where the source does not tell its unit, they are microseconds."""
    return lambda c: c.kind == "timestamp" and getattr(c.stored, "unit", "us") not in units


def _sixty_four_bits(column: Column) -> bool:
    own: Any = column.stored or column.former
    return column.kind == "integer" and (own is None or own.bit_width == 64)


def _whole_seconds(kind: pa.DataType) -> bool:
    return bool((pa.types.is_timestamp(kind) or pa.types.is_time(kind)) and kind.unit == "s")


def _not_of_stata(kind: pa.DataType) -> bool:
    """Widths that are written as another one: all of whole numbers but long, and floats."""
    return bool(pa.types.is_float32(kind) or pa.types.is_float16(kind) or (pa.types.is_integer(kind) and kind != pa.int32()))


def _has_number_codes(column: Column) -> bool:
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
    (
        ("stata",),
        _has_number_codes,
        "Stata declares no numbers missing: codes of {columns} become letters (.a, .b …) with their labels.",
    ),
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
    (("stata",), _is_stored_as(_not_of_stata), "Stata gets {columns} as long or double, not in the width of the source."),
    (TEXT, _is_stored_as(_has_zone), "{format} has no time zones: {columns} get the distance from UTC behind them (+02:00)."),
    (PACKAGES, _is_stored_as(_has_zone), "{format} has no time zones: {columns} are written as the clock there showed."),
    (("parquet",), _is_stored_as(_whole_seconds), "Parquet counts no whole seconds: {columns} are written in milliseconds."),
    (("excel",), _finer_than("s", "ms"), "Excel keeps moments to the millisecond: finer parts of {columns} are left out."),
    (("spss", "stata"), _finer_than("s", "ms"), "{format} keeps moments in doubles: {columns} may be off by two microseconds."),
    (("sas",), _finer_than("s", "ms", "us"), "{format} has no nanoseconds: {columns} are cut to microseconds."),
    (
        (*TEXT, *PACKAGES),
        _is_stored_as(_fine_clock),
        "Times of day of {columns} are written to the microsecond: finer parts are left out.",
    ),
    (("excel",), lambda c: c.kind in MOMENTS, "Excel has no dates before 1900: such ones of {columns} are written as text."),
    ((*TEXT, *PACKAGES), _is_stored_as(pa.types.is_duration), "{format} has no durations: {columns} are written in seconds."),
    (
        _except("parquet", "arrow", "jsonl"),
        _is_stored_as(is_nested),
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


TYPED = ("parquet", "arrow")
"""Formats that keep the width of numbers."""

MEANS = ("microaggregate", "centres", "represent")
"""Steps whose numbers are rarely whole."""


def expected_losses(relation: Relation, columns: Sequence[Column], plan: Plan, format: str) -> tuple[str, ...]:
    """What a file of ``format`` will not keep; numbers that a step makes are assumed to fit in the type of their column."""
    review = _Review(relation, plan)
    expected = [review.expected(c) for c in columns if not any(isinstance(s, Drop) for s in review.steps[c.name])]
    narrow = [c.name for c in columns if review.may_widen(c)] if format in TYPED else []
    sentence = "Numbers that a step makes of {} get a wider type if the type of the source cannot represent them."
    return review.losses(expected, format) + ((sentence.format(listed(narrow)),) if narrow else ())


def written_losses(relation: Relation, columns: Sequence[Column], plan: Plan, format: str) -> tuple[str, ...]:
    """What was not kept; ``columns`` are the published ones."""
    source = relation.by_name
    same = [replace(c, measure=c.measure if source[c.name].measure else "") for c in columns]  # levels that only steps gave
    new = [c for c in columns if c.former is not None and c.stored is None and c.kind in (*NUMBERS, *MOMENTS)]
    wide = [c.name for c in new if source[c.name].kind in NUMBERS] if format in TYPED else []
    sentence = "The type of {} in the source cannot represent every number that a step made: a wider type is written."
    return _Review(relation, plan).losses(same, format) + ((sentence.format(listed(wide)),) if wide else ())


class _Review:
    """A plan beside the columns of its source: which steps each column passes, and whether suppression may blank it."""

    def __init__(self, relation: Relation, plan: Plan) -> None:
        rule = plan.suppression
        self.relation, self.plan = relation, plan
        self.steps: defaultdict[str, list[Step]] = defaultdict(list)
        for step in plan.steps:
            for name in step.columns:
                self.steps[name].append(step)
        self.blanked = set(rule.columns) if rule.scope == "cells" and rule.k >= 2 else set()
        self.compared = {*rule.columns, rule.unit} if rule.scope != "none" else set()

    def losses(self, columns: Sequence[Column], format: str) -> tuple[str, ...]:
        """A sentence for each loss when ``columns`` are written in ``format``."""
        stored = {c.name for c in columns if c.stored is not None}
        sentences = not_kept(columns, format, notes=int(self.relation.details.get("notes") or 0))
        sentences += read_as_text([c for c in self.relation.columns if c.name not in stored], self.plan.steps)
        published = {c.name: c for c in columns}
        for test, formats, sentence in _RULES:
            if formats is None or format in formats:
                names = [c.name for c in self.relation.columns if c.name in published and test(self, c, published[c.name])]
                sentences += (sentence.format(listed(names)),) if names else ()
        return sentences

    def expected(self, column: Column) -> Column:
        """A column as it will be, if the numbers that steps make of it fit in its type."""
        steps = [s for s in self.steps[column.name] if not isinstance(s, Keep)]
        if column.name in self.blanked:
            return replace(column, kind="text", coded=is_numeric(column), stored=None, form="")
        moved = all(s.publishes in ("own", "numbers") and not _hides(s) for s in steps)
        if not steps or (moved and column.kind not in ("text", "other")):
            return column
        coded = is_numeric(column) and any(s.publishes != "else" for s in steps)
        return replace(column, kind="text", coded=coded, stored=None, form="")

    def may_widen(self, column: Column) -> bool:
        """Whether numbers that a step makes may need a wider type than that of the source."""
        steps = self.steps[column.name]
        plain = column.kind not in NUMBERS or column.stored is None or column.stored == pa.float64()
        if plain or not any(s.publishes == "numbers" for s in steps):
            return False
        return column.stored != pa.int64() or any(s.kind in MEANS for s in steps)

    # -- the conditions of _RULES: a column of the source, and as it is published ---------------------------------------

    def touched(self, source: Column) -> bool:
        """Whether values are changed or compared, so read in the precision that all engines share."""
        return source.name in self.compared or any(not isinstance(s, Keep | Drop) for s in self.steps[source.name])

    def fine_duration(self, source: Column, _: Column) -> bool:
        return fine_durations(source.stored) and source.name in self.relation.reads_as_text and self.touched(source)

    def fine_moment(self, source: Column, _: Column) -> bool:
        kind: Any = source.stored
        moment = isinstance(kind, pa.DataType) and (pa.types.is_timestamp(kind) or pa.types.is_time64(kind))
        return moment and kind.unit == "ns" and self.touched(source)

    def zoned_in_database(self, source: Column, published: Column) -> bool:
        return published.kind == "timestamp" and self.has_zone(source.name)

    def text_of_zoned(self, source: Column, published: Column) -> bool:
        if published.kind != "text" or not (_in_a_zone(source) or self.has_zone(source.name)):
            return False
        changing = (s for s in self.steps[source.name] if not isinstance(s, Keep | Drop))
        return source.name in self.blanked or any(s.publishes != "else" or isinstance(s, Prefix) for s in changing)

    def hides(self, source: Column) -> bool:
        return source.name in self.blanked or any(_hides(s) for s in self.steps[source.name])

    def hidden_as_text(self, source: Column, _: Column) -> bool:
        return source.kind not in ("text", "other") and self.hides(source)

    def no_missing_code_left(self, source: Column, _: Column) -> bool:
        numbers = [d for d in source.user_missing if not isinstance(d, str)]
        return bool(source.user_missing) and not room_left(numbers) and self.hides(source)

    def numbers_of_text(self, source: Column, _: Column) -> bool:
        steps = self.steps[source.name]
        return source.kind == "text" and any(s.publishes == "numbers" and s.kind != "date_shift" for s in steps)

    def has_zone(self, name: str) -> bool:
        """Whether a server stores the column as moments of a zone; MySQL and Spark call them timestamp, and those without one
        datetime and timestamp_ntz."""
        native = self.relation.native.get(name, "").lower().partition("(")[0]
        plain = self.relation.source.startswith(("mysql", "mariadb", "spark"))
        return native == "timestamptz" or (plain and native == "timestamp")


_NOT_CSV = ("parquet", "jsonl", "arrow", "excel", "spss", "stata", "sas")
_RULES: tuple[tuple[Callable[[_Review, Column, Column], bool], tuple[str, ...] | None, str], ...] = (
    (_Review.fine_duration, None, "Steps and classes use durations in microseconds: the nanoseconds of {} are removed."),
    (_Review.fine_moment, None, "Steps and classes use moments in microseconds: the nanoseconds of {} are removed."),
    (_Review.zoned_in_database, None, "In the database {} are moments of a time zone: they are written in UTC, without a zone."),
    (_Review.text_of_zoned, None, "Texts are made of moments in UTC: days and hours of {} are not those of the time zone."),
    (_Review.hidden_as_text, TYPED, "Values that may be hidden (*) make {} text."),
    (
        _Review.no_missing_code_left,
        ("spss",),
        "SPSS declares at most three codes missing: hidden values (*) of {} are a code like others.",
    ),
    (_Review.numbers_of_text, _NOT_CSV, "Steps read texts of {} as the numbers that they spell: numbers are published."),
)
"""Condition, formats (None: all), sentence."""


def _in_a_zone(column: Column) -> bool:
    kind: Any = column.stored
    return kind is not None and pa.types.is_timestamp(kind) and kind.tz not in (None, "UTC", "Etc/UTC", "+00:00")


def _hides(step: Step) -> bool:
    """Whether values may become ``*`` beside others that stay as they are."""
    if isinstance(step, MapValues):
        return step.on_gap == "suppress" and (step.renames_nothing or not step.keys)
    return step.publishes == "own" and getattr(step, "on_gap", "error") != "error"
