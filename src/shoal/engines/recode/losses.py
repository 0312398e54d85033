"""What a written table does not keep of its source: told before, from the plan alone, and after, from what was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from shoal.engines.core.base import Relation
from shoal.engines.core.stored_types import fine_durations, returns_from_text
from shoal.engines.files.losses import listed, not_kept, read_as_text
from shoal.engines.files.statistical.coding import room_left
from shoal.kernels.codes import is_numeric
from shoal.model.plan import Plan, Step
from shoal.model.roles import MOMENTS, NUMBERS, Column
from shoal.steps import Drop, Keep, MapValues, Prefix

TYPED = ("parquet", "arrow")
"""Formats that keep the width of numbers."""

MEANS = ("microaggregate", "centres", "represent")
"""Steps whose numbers are rarely whole."""


def told_before(relation: Relation, columns: Sequence[Column], plan: Plan, format: str) -> tuple[str, ...]:
    """What will not be kept by a file of ``format``; numbers that a step makes are supposed to fit in the column's type."""
    dropped = {s.column for s in plan.steps if isinstance(s, Drop)}
    expected = [_expected(c, plan) for c in columns if c.name not in dropped]
    out = _by_format(relation, expected, plan, format)
    made = _with(columns, [s for s in plan.steps if s.publishes == "numbers"])
    narrow = [c.name for c in made if _may_widen(c, plan)] if format in TYPED else []
    if narrow:
        out += (f"Numbers that a step makes of {listed(narrow)} get a wider type where that of the source cannot hold them.",)
    return out


def told_after(relation: Relation, columns: Sequence[Column], plan: Plan, format: str) -> tuple[str, ...]:
    """What was not kept; ``columns`` are the published ones."""
    source = {c.name: c for c in relation.columns}
    same = [replace(c, measure=c.measure if source[c.name].measure else "") for c in columns]  # levels that only steps gave
    out = _by_format(relation, same, plan, format)
    wide = [c.name for c in columns if c.former is not None and c.stored is None and c.kind in (*NUMBERS, *MOMENTS)]
    wide = [n for n in wide if source[n].kind in NUMBERS] if format in TYPED else []
    if wide:
        out += (f"The type of {listed(wide)} in the source cannot hold every number that a step made: a wider one is written.",)
    return out


def _by_format(relation: Relation, columns: Sequence[Column], plan: Plan, format: str) -> tuple[str, ...]:
    out = not_kept(columns, format, notes=int(relation.details.get("notes") or 0))
    again = {c.name for c in columns if c.stored is not None}
    out += read_as_text([c for c in relation.columns if c.name not in again], plan.steps)
    rule = plan.suppression
    formed = {*rule.columns, rule.unit} if rule.scope != "none" else set()
    changing = [s for s in plan.steps if not isinstance(s, Keep | Drop)]
    there = {c.name for c in columns}
    touched = [c for c in _with(relation.columns, changing, formed) if c.name in there]
    fine = [c.name for c in touched if fine_durations(c.stored) and c.name in relation.reads_as_text]
    if fine:
        out += (f"Steps and classes take durations to the microsecond: the nanoseconds of {listed(fine)} are left out.",)
    fine = [c.name for c in touched if _fine(c.stored)]
    if fine:
        out += (f"Steps and classes take moments to the microsecond: the nanoseconds of {listed(fine)} are left out.",)
    zoned = [c.name for c in columns if c.kind == "timestamp" and _has_zone(relation, c.name)]
    if zoned:
        out += (f"In the database {listed(zoned)} are moments of a time zone: they are written in UTC, without a zone.",)
    blanked = _blanked(plan)
    spoken = {c.name for c in columns if c.kind == "text"}
    shown = _with(relation.columns, [s for s in changing if s.publishes != "else" or isinstance(s, Prefix)], blanked)
    utc = [c.name for c in shown if c.name in spoken and (_in_a_zone(c) or _has_zone(relation, c.name))]
    if utc:
        out += (f"Texts are made of moments in UTC: days and hours of {listed(utc)} are not those of the time zone.",)
    hiding = _with(relation.columns, [s for s in plan.steps if _hides(s)], blanked)
    hidden = [c.name for c in hiding if c.kind not in ("text", "other") and c.name in there]
    if hidden and format in TYPED:
        out += (f"Values that may be hidden (*) make {listed(hidden)} text.",)
    full = [c.name for c in hiding if c.user_missing and not room_left(_numbers_declared(c)) and c.name in there]
    if full and format == "spss":
        out += (f"SPSS declares no more than three codes missing: hidden values (*) of {listed(full)} are a code like others.",)
    numbers = [s for s in plan.steps if s.publishes == "numbers" and s.kind != "date_shift"]
    spelled = [c.name for c in _with(relation.columns, numbers) if c.kind == "text" and c.name in there]
    if spelled and format != "csv":
        out += (f"Steps take texts of {listed(spelled)} as the numbers that they spell: numbers are published.",)
    return out


def _blanked(plan: Plan) -> set[str | None]:
    """The columns whose cells suppression may hide."""
    rule = plan.suppression
    return set(rule.columns) if rule.scope == "cells" and rule.k >= 2 else set()


def _in_a_zone(column: Column) -> bool:
    kind: Any = column.stored
    return kind is not None and pa.types.is_timestamp(kind) and kind.tz not in (None, "UTC", "Etc/UTC", "+00:00")


def _expected(column: Column, plan: Plan) -> Column:
    """A column as it will be, if the numbers that steps make of it fit in its type."""
    steps = [s for s in plan.steps if column.name in s.columns and not isinstance(s, Keep)]
    if column.name in _blanked(plan):
        return replace(column, kind="text", coded=is_numeric(column), stored=None, form="")
    moved = all(s.publishes in ("own", "numbers") and not _hides(s) for s in steps)
    if moved and (column.kind not in ("text", "other") or (steps and returns_from_text(column.stored))):
        return column
    coded = is_numeric(column) and any(s.publishes != "else" for s in steps)
    return replace(column, kind="text", coded=coded, stored=None, form="") if steps else column


def _with(columns: Sequence[Column], steps: Sequence[Step], more: set[str | None] | None = None) -> list[Column]:
    named = {c for s in steps for c in s.columns} | (more or set())
    return [c for c in columns if c.name in named]


def _may_widen(column: Column, plan: Plan) -> bool:
    if column.kind not in NUMBERS or column.stored is None or column.stored == pa.float64():
        return False
    means = any(s.kind in MEANS for s in plan.steps if column.name in s.columns)
    return means or column.stored != pa.int64()


def _numbers_declared(column: Column) -> list[object]:
    return [d for d in column.user_missing if not isinstance(d, str)]


def _has_zone(relation: Relation, name: str) -> bool:
    """Whether a server keeps the column as moments of a zone; MySQL and Spark call them timestamp, and those without one
    datetime and timestamp_ntz."""
    native = relation.native.get(name, "").lower().partition("(")[0]
    plain = relation.source.startswith(("mysql", "mariadb", "spark"))
    return native in ("timestamptz", "datetimeoffset") or (plain and native == "timestamp")


def _fine(kind: Any) -> bool:
    return isinstance(kind, pa.DataType) and (pa.types.is_timestamp(kind) or pa.types.is_time64(kind)) and kind.unit == "ns"


def _hides(step: Step) -> bool:
    """Whether values may become ``*`` beside others that stay as they are."""
    if isinstance(step, MapValues):
        return step.on_gap == "suppress" and (step.renames_nothing or not step.keys)
    return step.publishes == "own" and getattr(step, "on_gap", "error") != "error"
