"""Rule: how a hierarchy is made, apart from the values it is made for.

A rule holds public things only (widths, lengths, labels, lists that a person wrote) and goes to JSON and back. Rules that
must look at the data (a range for cut points, the frequent categories) do so in :meth:`Rule.fit`, and what they keep is again
public: rounded bounds, frequent labels, never a rare value.

    rule = rule.fit("age", values, counts)       # once; the rule itself where nothing needs the data
    hierarchy = rule.over("age", values)         # levels of exactly these values, for the search
    step = rule.step("age", level)               # the same level as a step of a plan, for RECODE

Levels 1, 2, … of a hierarchy are the steps, applied to the values: there is one definition of a label, not two.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import pyarrow as pa

from shoal.errors import PolicyError, UsageError
from shoal.hierarchies.values import CodedRows, covered, gap_error, texts_of
from shoal.kernels.numbers import numbers_of
from shoal.kernels.text import canonical_text
from shoal.model.hierarchy import Hierarchy, Level
from shoal.model.plan import SUPPRESSED, OnGap, Publishes, Step, StreamStep, register_step, to_tuples
from shoal.steps import Cut, Keep, Labelled, MapValues, Prefix, evaluate

TOP = SUPPRESSED
"""Label of the highest level: everything together."""

_RULES: dict[str, type[Rule]] = {}
R = TypeVar("R", bound="type[Rule]")


def register_rule(cls: R) -> R:
    """Class decorator: make a rule known by its ``kind``, so that it can be read back from JSON."""
    _RULES[cls.kind] = cls
    return cls


@dataclass(frozen=True)
class Rule:
    """Levels above the value itself; the last level joins everything under ``*``.

    Subclasses say how many levels lie between the value and ``*`` (:attr:`inner`) and give the step of each
    (:meth:`_inner_step`). ``why`` is a sentence for people: why this rule was chosen. It holds no data value.
    """

    why: str = dataclasses.field(default="", kw_only=True, compare=False)
    on_text: bool = dataclasses.field(default=False, kw_only=True)  # the column is text: engines cut numbers and dates only
    kind: ClassVar[str] = ""

    @property
    def inner(self) -> int:
        """Levels between the value itself and the top."""
        raise NotImplementedError

    @property
    def height(self) -> int:
        return self.inner + 1

    def fit(self, column: str, values: Any, counts: Any = None) -> Rule:
        """The rule with everything it needs to know of the data; the rule itself where it needs nothing."""
        return self

    def enough(self, column: str, values: Any) -> Any:
        """The few of the values (a pyarrow array) that :meth:`fit` gives the same rule for; None where it must see them all."""
        return None

    def over(self, column: str, values: Any, counts: Any = None) -> Hierarchy:
        """A concrete hierarchy whose first leaves are ``values``, in their order; ``column`` is a name for messages.

        Values are distinct and not missing; typed arrays are turned into canonical text. ``counts`` are the records per value.
        """
        texts = texts_of(column, values)
        rule = self.fit(column, values, counts)
        rule._check_gaps(column, texts, counts)
        levels = [Level(np.arange(len(texts), dtype=np.int32), texts)]
        numbers = None
        for number in range(1, rule.height + 1):
            step = rule._inner_step(column, number, None) if number <= rule.inner else rule.step(column, number)
            if numbers is None and isinstance(step, Cut) and not any(isinstance(p, str) for p in step.points[:1]):
                numbers = numbers_of(column, values)
            levels.append(compact(evaluate(step, texts, numbers)))
        return Hierarchy(column, texts, tuple(levels))

    def check_one_root(self, column: str) -> None:
        """Refuse a file whose last level has several groups: distances in a tree are measured against its one root.

        Rules that are not files have the root ``*``.
        """

    def step(self, column: str, level: int, *, missing_label: str | None = None) -> Step:
        """The step of a plan that publishes ``column`` at ``level``.

        A missing value stays missing unless ``missing_label`` is given. Level 0 keeps the column; the top publishes ``*``.
        """
        if not 0 <= level <= self.height:
            raise UsageError(f"the hierarchy of '{column}' has levels 0 to {self.height}; asked for {level}.")
        if level == 0:
            return Keep(column)
        if level > self.inner:
            return MapValues(column, on_gap="top", top=self.top_label, missing_label=missing_label)
        step = self._inner_step(column, level, missing_label)
        if self.on_text and isinstance(step, (Cut, Prefix)):
            return Generalize.of(column, self, level, missing_label=missing_label)
        return step

    @property
    def top_label(self) -> str:
        return TOP

    def labels(self, column: str, texts: Sequence[str], level: int) -> list[str | None]:
        """The label of each value at an inner level; None where a value is not covered."""
        return list(evaluate(self._inner_step(column, level, None), texts).texts())

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Step:
        raise NotImplementedError

    def _check_gaps(self, column: str, texts: Sequence[str], counts: Any) -> None:
        """Refuse values that the rule does not cover, unless the rule says what becomes of them."""

    def to_json(self) -> dict[str, Any]:
        """Plain data with the rule's ``kind``."""
        fields = {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}
        return {"kind": self.kind, **fields}

    @classmethod
    def _from_fields(cls, data: Mapping[str, Any]) -> Self:
        known = {f.name for f in dataclasses.fields(cls)}
        unknown = sorted(set(data) - known - {"kind"})
        if unknown:
            takes = ", ".join(sorted(known)) or "nothing more"
            hint = f"It takes: {takes}."
            raise PolicyError(f"hierarchy rule '{cls.kind}' has unknown fields: {', '.join(unknown)}.", hint=hint)
        return cls(**{k: to_tuples(v) for k, v in data.items() if k != "kind"})


def rule_from_json(data: Mapping[str, Any]) -> Rule:
    """A rule from its JSON form.

    >>> from shoal.hierarchies import Intervals
    >>> rule_from_json(Intervals((5, 10)).to_json()) == Intervals((5, 10))
    True
    """
    kind = data.get("kind", "")
    if kind not in _RULES:
        raise PolicyError(f"hierarchy rule '{kind}' is not known.", hint=f"Known rules: {', '.join(sorted(_RULES))}.")
    return _RULES[kind]._from_fields(data)


@register_step
@dataclass(frozen=True)
class Generalize(StreamStep):
    """Replace each value by its label at ``level`` of ``rule`` (the rule as JSON text).

    A missing value stays missing unless ``missing_label`` is given; a value that the rule does not cover follows ``on_gap``.
    """

    rule: str = ""
    level: int = 1
    on_gap: OnGap = "error"
    missing_label: str | None = None
    kind: ClassVar[str] = "generalize"
    publishes: ClassVar[Publishes] = "groups"
    codes_apart: ClassVar[bool] = False
    by_row: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    @classmethod
    def of(cls, column: str, rule: Rule, level: int, *, on_gap: OnGap = "error", missing_label: str | None = None) -> Self:
        text = json.dumps(rule.to_json(), ensure_ascii=False, sort_keys=True)
        return cls(column, text, level, on_gap, missing_label)

    @cached_property
    def _rule(self) -> Rule:
        data: Mapping[str, Any] = json.loads(self.rule)
        return rule_from_json(data)

    def labels(self, texts: Sequence[str]) -> list[str]:
        made = self._rule.labels(self.column, texts, self.level)
        lost = [text for text, label in zip(texts, made, strict=True) if label is None]
        if lost and self.on_gap == "error":
            raise gap_error(self.column, lost, None)
        return [SUPPRESSED if label is None else label for label in made]

    def label(self, text: str) -> str:
        return self.labels([text])[0]

    def start(self, seed: int) -> Callable[[Any, Any], Any]:
        known: dict[str, str] = {}

        def run(table: Any, rows: Any) -> Any:
            encoded = canonical_text(table.column(self.column)).dictionary_encode()
            texts = encoded.dictionary.to_pylist()
            new = [text for text in texts if text not in known]
            known.update(zip(new, self.labels(new), strict=True))
            out = pa.array([known[text] for text in texts], pa.string()).take(encoded.indices)
            if self.missing_label is not None:
                out = out.fill_null(self.missing_label)
            return table.set_column(table.schema.get_field_index(self.column), self.column, out)

        return run


class CodeRule(Rule):
    """Levels of codes of one system; what is not a code of it follows ``on_gap``. Subclasses give the :meth:`label` of a code."""

    on_gap: OnGap  # a field of the subclasses

    def label(self, text: str, level: int) -> str | None:
        """The group of one code; None if it is not a code of the system."""
        raise NotImplementedError

    def labels(self, column: str, texts: Sequence[str], level: int) -> list[str | None]:
        return [self.label(t, level) for t in texts]

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Step:
        return Generalize.of(column, self, level, on_gap=self.on_gap, missing_label=missing_label)

    def _check_gaps(self, column: str, texts: Sequence[str], counts: Any) -> None:
        covered(column, texts, counts, lambda t: self.label(t, 1) is not None, self.on_gap)


def compact(labelled: Labelled) -> Level:
    """A level without unused labels, groups in the order of the labels, equal labels joined."""
    used = np.flatnonzero(np.bincount(labelled.index, minlength=len(labelled.labels))).tolist()
    joined: dict[str, int] = {}
    renumber = np.zeros(len(labelled.labels), dtype=np.int32)
    for i in used:
        renumber[i] = joined.setdefault(labelled.labels[i], len(joined))
    return Level(renumber[labelled.index], tuple(joined))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | CodedRows):
        return [_plain(v) for v in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value
