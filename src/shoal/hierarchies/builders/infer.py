"""A sensible hierarchy for a column without settings, and a sentence that explains it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from shoal.hierarchies.builders.categories import FrequencyMerge, Ordered, by_width
from shoal.hierarchies.builders.codes import Diagnosis, Flat, Mask, PrefixCode, edition_of, scheme_of
from shoal.hierarchies.builders.dates import Dates, form_of
from shoal.hierarchies.builders.number_texts import Written, bands_in_order
from shoal.hierarchies.builders.numbers import Intervals, in_words, number_bands
from shoal.hierarchies.builders.postcodes import Postcode, country_of
from shoal.hierarchies.rule import Generalize, Rule, register_rule, rule_from_json
from shoal.hierarchies.values import counts_of, texts_of
from shoal.kernels.arrow import kind_of
from shoal.kernels.codes import is_declared, label_texts
from shoal.model.plan import Step
from shoal.model.roles import NUMBERS, Column
from shoal.steps import Cut, Prefix


@register_rule
@dataclass(frozen=True)
class Apart(Rule):
    """The levels of ``rule`` (as JSON text) for all values but ``codes``, which keep their own names below the top.

    >>> from shoal.hierarchies import Intervals
    >>> rule = Apart.of(Intervals((10,)).fit("age", ["17", "34"]), ["-9"])
    >>> rule.over("age", ["17", "34", "-9"]).levels[1].labels
    ('10-19', '30-39', '-9')
    """

    rule: str = ""
    codes: tuple[str, ...] = ()
    kind: ClassVar[str] = "apart"

    @classmethod
    def of(cls, rule: Rule, codes: Sequence[str]) -> Apart:
        text = json.dumps(rule.to_json(), ensure_ascii=False, sort_keys=True)
        note = "1 code for missing values stays apart" if len(codes) == 1 else f"{len(codes)} codes for missing values stay apart"
        why = f"{rule.why}; {note}".removeprefix("; ")
        return cls(text, tuple(codes), why=why)

    @classmethod
    def fitted(cls, rule: Rule, column: str, values: Any, counts: Any, declared: Sequence[object]) -> Rule:
        """``rule`` fitted to the values that are not declared missing, which stay apart where it cuts numbers or texts.

        A rule that lists its values says itself what becomes of such codes.

        >>> from shoal.hierarchies import Intervals
        >>> rule = Apart.fitted(Intervals((10,)), "age", ["17", "34", "-9"], [5, 5, 5], (-9,))
        >>> rule.over("age", ["17", "34", "-9"]).levels[1].labels
        ('10-19', '30-39', '-9')
        """
        texts = texts_of(column, values)
        codes = [t for t in texts if is_declared(t, declared)]
        rest = [t for t in texts if t not in codes]
        if not codes or not rest:
            return rule.fit(column, values, counts)
        sizes = dict(zip(texts, counts_of(texts, counts).tolist(), strict=True))
        own = rule.fit(column, rest, [sizes[t] for t in rest])
        cuts = own.inner and isinstance(own._inner_step(column, 1, None), Cut | Prefix)
        return cls.of(own, codes) if cuts else rule.fit(column, values, counts)

    @cached_property
    def _rule(self) -> Rule:
        data: dict[str, Any] = json.loads(self.rule)
        return rule_from_json(data)

    @property
    def inner(self) -> int:
        return self._rule.inner

    def labels(self, column: str, texts: Sequence[str], level: int) -> list[str | None]:
        others = iter(self._rule.labels(column, [t for t in texts if t not in self.codes], level))
        return [t if t in self.codes else next(others) for t in texts]

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Step:
        return Generalize.of(column, self, level, missing_label=missing_label)


MOST_OTHER = 0.5
"""Share of the records that ``(other)`` may hold at a guessed level: above it the level would say little."""
LEAST_MONTHS = 7
"""Different whole numbers from 1 to 12 in a column of dates that are months of the year."""
_MONTH = re.compile(r"[1-9]|1[0-2]")
_GRID = re.compile(r"grid|tile|hex|cell", re.IGNORECASE)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)


def infer(
    column: Column | str,
    values: Any,
    counts: Any = None,
    *,
    k: int = 5,
    scale: str = "",
    order: Sequence[str] = (),
    topic: str = "",
) -> Rule:
    """A rule for a column, from what its distinct ``values`` (without missing ones) are, and the records of each (``counts``).

    Numbers get nested bands of round widths with open ends; dates month, year, five years, decade; ordered categories and bands
    are joined with their neighbours; codes are cut to their meaningful parts (diagnoses, postcodes, codes of digits); categories
    without an order merge by frequency; what is left can only be kept or suppressed. The answer is fitted and its ``why`` says
    what was seen, without any rare value.

    Groups at the open ends, and named categories, have at least ``k`` records. ``scale`` says what the values are, where it is
    known: ``number, date, place, ordered, nominal, id, text``; numbers that are codes (``nominal``) never become bands. ``order``
    has the categories of an ordered column from low to high. ``topic`` is what the column is about (``industry``, ``occupation``,
    ``place``, ``diagnosis``): the same codes mean different things.

    >>> rule = infer("age", [str(a) for a in range(18, 91)], [100] * 73)
    >>> rule.widths, rule.bottom, rule.top
    ((5, 10, 20), 20.0, 90.0)
    >>> rule.why
    'numbers: bands of 5, 10 and 20; one group below 20; one group from 90'
    >>> infer("ward", ["1", "2", "7", "9"], [40, 30, 20, 10], scale="nominal").why
    '4 categories: those below 15 records joined as (other)'
    """
    known = Column(column, "") if isinstance(column, str) else column
    texts = texts_of(known.name, values)
    sizes = counts_of(texts, counts)
    if not texts:
        return Flat(why="no value at all: kept or suppressed")
    if scale in ("id", "text"):
        return Flat(why=f"{'names or numbers of somebody' if scale == 'id' else 'free text'}: kept or suppressed")
    if known.user_missing:
        return _with_codes(known, texts, sizes, k, scale, order)
    seen = _Seen(known, values, texts, sizes, k, topic)
    return seen.ordered(scale, order) or seen.typed(scale) or seen.coded(scale) or seen.categories()


@register_rule
@dataclass(frozen=True)
class Infer(Rule):
    """The rule of a policy's ``{}``: decided by :func:`infer` when the values are seen."""

    column_kind: str = ""
    k: int = 5
    kind: ClassVar[str] = "infer"

    @property
    def inner(self) -> int:
        return 0

    def fit(self, column: str, values: Any, counts: Any = None) -> Rule:
        return infer(Column(column, self.column_kind or _kind_of(values)), values, counts, k=self.k)


@dataclass(frozen=True, eq=False)
class _Seen:
    """A column as it was counted; each question about it gives a rule or nothing."""

    column: Column
    values: Any
    texts: tuple[str, ...]
    sizes: Any
    k: int
    topic: str = ""

    @property
    def kind(self) -> str:
        return self.column.kind

    @property
    def numeric(self) -> bool:
        return self.kind in NUMBERS or (self.kind in ("", "text") and all(_NUMBER.fullmatch(t) for t in self.texts))

    @property
    def names(self) -> dict[str, str]:
        """Value labels by the text of their code, where at least half of the values have one."""
        labels = {text: str(label).strip() for text, label in label_texts(self.column).items()}
        named = sum(1 for t in self.texts if labels.get(t))
        return labels if 2 * named >= len(self.texts) and len(set(labels.values())) == len(labels) else {}

    def ordered(self, scale: str, order: Sequence[str]) -> Rule | None:
        there = set(self.texts)
        placed = tuple(t for t in order if t in there)
        if not placed and scale == "ordered" and self.numeric:
            placed = tuple(sorted(self.texts, key=float))
        if not placed and self.kind in ("", "text"):
            placed = bands_in_order(self.texts)
        if len(placed) < 2 or scale in ("nominal", "number", "place", "date"):
            return None
        if len(self.texts) <= 2:
            return Flat(why="2 categories: kept or suppressed")
        rule = Ordered(placed, least=2 * self.k).fit(self.column.name, self.texts, self.sizes)
        bands = by_width([self.names.get(t) or t for t in placed])  # labels of codes may be bands of one width
        return replace(rule, starts=bands or rule.starts, why=f"{len(placed)} categories in order: neighbours joined")

    def typed(self, scale: str) -> Rule | None:
        """Dates, times and numbers."""
        form = form_of(self.texts) if self.kind in ("", "text") or scale == "date" else ""
        if self.kind in ("date", "timestamp") or (form and scale in ("", "date")):
            return replace(_dates(self.texts, form), on_text=self.kind == "text").fit(self.column.name, self.texts)
        if scale == "date" and all(re.fullmatch(r"\d{8}", t) for t in self.texts):
            return Mask((6, 4, 3), why="dates of eight digits, some of no calendar: month, year, decade")
        if self.kind == "time":
            return PrefixCode((5, 2), why="times of day: to the minute, then the hour")
        if scale == "date" and all(_MONTH.fullmatch(t) for t in self.texts) and len(self.texts) >= LEAST_MONTHS:
            rule = Intervals((3, 6), origin=1.0, on_text=self.kind == "text", why="months: quarters and halves of the year")
            return rule.fit(self.column.name, self.values)
        if scale == "number" and self.kind in ("", "text") and not self.numeric:
            return Written.of(self.column.name, self.texts, self.sizes, self.k)
        if scale in ("nominal", "place") or not self.numeric or (not scale and self.names):
            return None
        return replace(number_bands(self.column.name, self.values, self.sizes, self.k), on_text=self.kind == "text")

    def coded(self, scale: str) -> Rule | None:
        """Codes whose first characters mean something."""
        if self.kind == "boolean" or len(self.texts) <= 2 or self.names:
            return None
        scheme, name = scheme_of(self.texts, self.topic)
        if scheme:
            return replace(PrefixCode.of(scheme), why=f"codes of {name}: cut where they mean something")
        dotted = any("." in t for t in self.texts) or self.topic == "diagnosis"
        if scale != "place" and dotted and (edition := edition_of(self.texts)):
            return Diagnosis(
                edition, why=f"diagnoses ({edition.upper().replace('ICD', 'ICD-')}): three characters, block, chapter"
            )
        country = country_of(self.texts, digits=scale == "place")
        if country and len(self.texts) >= 6:
            if _GRID.search(self.column.name):
                why = "numbers of a grid: by their first digits, which are areas only if the grid is numbered row by row"
                return Postcode(country, why=why)
            return Postcode(country, why=f"postcodes ({country}): areas by their first characters")
        if _same_shape(self.texts):
            return Mask(why=f"codes of {len(self.texts[0])} characters: hidden from the right").fit(self.column.name, self.texts)
        return None

    def categories(self) -> Rule:
        """The frequent ones by name, the others as ``(other)``, which never holds most records."""
        n, total = len(self.texts), int(self.sizes.sum())
        if self.kind == "boolean" or n <= 2:
            return Flat(why=f"{n} values: kept or suppressed")
        if n > 50 and n > total / 2:
            return Flat(why=f"{n} different values in {total} records: kept or suppressed")
        levels: list[int] = []
        before = n
        for share in (0.0, 0.01, 0.05, 0.15):
            need = max(2 * self.k, math.ceil(share * total))
            named = self.sizes >= need
            if 0 < int(named.sum()) < before and int(self.sizes[~named].sum()) <= MOST_OTHER * total:
                levels.append(need)
                before = int(named.sum())
        kept = FrequencyMerge(tuple(levels)).fit(self.column.name, self.texts, self.sizes).kept or () if levels else ()
        useful = [need for i, need in enumerate(levels) if kept[i] and (i == 0 or kept[i] != kept[i - 1])]
        if not useful:
            return Flat(why=f"{n} categories: kept or suppressed")
        why = f"{n} categories: those below {in_words(useful)} records joined as (other)"
        rule = FrequencyMerge(tuple(useful), why=why + (", level by level" if len(useful) > 1 else ""))
        return rule.fit(self.column.name, self.texts, self.sizes)


def _with_codes(column: Column, texts: Sequence[str], sizes: Any, k: int, scale: str, order: Sequence[str]) -> Rule:
    """The rule of the values, with the codes declared missing kept apart: they are neither neighbours nor a rare category."""
    rest = np.array([not is_declared(t, column.user_missing) for t in texts])
    kept = [t for t, keep in zip(texts, rest, strict=True) if keep]
    labels = {v: label for v, label in column.labels.items() if not is_declared(v, column.user_missing)}
    plain = replace(column, user_missing=(), labels=labels)
    codes = [t for t in texts if is_declared(t, column.user_missing)]
    if not codes or not kept:
        return infer(plain, texts, sizes, k=k, scale=scale, order=order)
    rule = infer(plain, kept, sizes[rest], k=k, scale=scale, order=[t for t in order if t not in codes])
    return Apart.of(rule, codes) if rule.inner else rule


def _kind_of(values: Any) -> str:
    kind = kind_of(values.type) if hasattr(values, "null_count") else ""
    return kind if kind not in ("binary", "other") else ""


def _dates(texts: Sequence[str], form: str) -> Dates:
    """Five, ten and twenty years where the dates span people's lives, quarters where they span a few years."""
    years = [int(t[:4]) if form in ("", "iso", "ymd") else int(t.split()[0][-4:]) for t in texts]
    periods: tuple[str, ...] = ("month", "year", "5 years", "decade")
    if max(years) - min(years) >= 40:
        periods = (*periods, "20 years")
    elif max(years) - min(years) < 10:
        periods = ("month", "quarter", "year")
    if form == "year last":
        periods = tuple(p for p in periods if p not in ("month", "quarter"))
    exact = form in ("", "iso") and any(len(t) > 10 for t in texts)
    words = ", ".join(("day", *periods) if exact else periods)
    shape = "" if form in ("", "iso") else form
    return Dates(("day", *periods) if exact else periods, form=shape, why=f"{'points in time' if exact else 'dates'}: {words}")


def _same_shape(texts: Sequence[str]) -> bool:
    """Codes: many values of one length, between 3 and 12 characters, alike in where digits and letters stand."""
    length = len(texts[0])
    if len(texts) < 12 or not 3 <= length <= 12 or any(len(t) != length for t in texts):
        return False
    shapes = {re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "0", t)) for t in texts}
    return len(shapes) == 1 and "0" in next(iter(shapes))
