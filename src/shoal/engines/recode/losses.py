"""Warnings of a recoding: what a written table does not keep of its source.

:func:`expected_losses` predicts them from the plan alone, before anything is written; :func:`written_losses` states them from the
columns that were written. Both take one pass over the steps and one over the columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from shoal.engines.core.base import Relation
from shoal.engines.core.stored_types import fine_durations
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
