"""The oracle: COUNT and RECODE by definition, on lists of dictionaries, in plain Python.

No numpy, no Arrow, no SQL: every line can be read against the contract. Values are compared by their canonical text, and a
missing value (None or NaN) is a value of its own.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from shoal.model.plan import SUPPRESSED, Plan, Step
from shoal.steps import Clamp, Constant, Cut, Drop, Keep, MapValues, Prefix, Round

Row = dict[str, Any]
Key = tuple[str | None, ...]


def text(value: Any) -> str | None:
    """Canonical text of one value; None for a missing one.

    >>> [text(v) for v in (None, float("nan"), -0.0, 7, True, Decimal("1.50"), dt.date(2024, 2, 29), "x ")]
    [None, None, '0.0', '7', 'true', '1.50', '2024-02-29', 'x ']
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value + 0.0)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        moment = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
        return moment.isoformat(sep=" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    return str(value)


class Gap(Exception):
    """A value map met a value that it does not list."""


def apply(step: Step | None, value: Any) -> Any:
    """What one expression step makes of one value."""
    spelled = text(value)
    if step is None or isinstance(step, Keep):
        return value
    if isinstance(step, Constant):
        return step.value
    if isinstance(step, MapValues):
        if spelled is None:
            return step.missing_label
        groups = dict(zip(step.keys, step.targets, strict=True))
        if spelled in groups:
            return step.labels[groups[spelled]]
        if step.on_gap == "error":
            raise Gap
        return SUPPRESSED if step.on_gap == "suppress" else step.top
    if isinstance(step, Cut):
        if spelled is None:
            return step.missing_label
        return step.labels[sum(_above(value, point, step.closed) for point in step.points)]
    if spelled is None:
        return None
    if isinstance(step, Prefix):
        return _prefix(spelled, step)
    if isinstance(step, Round):
        return _round(value, step.base)
    if isinstance(step, Clamp):
        return _clamp(value, step)
    raise NotImplementedError(step.kind)


def _above(value: Any, point: float | str, closed: str) -> bool:
    if isinstance(point, str):
        limit: Any = dt.datetime.fromisoformat(point)
        moment = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
        return moment >= limit if closed == "left" else moment > limit
    number = Fraction(value)
    return number >= Fraction(point) if closed == "left" else number > Fraction(point)


def _prefix(spelled: str, step: Prefix) -> str:
    if step.from_end:
        kept = spelled[len(spelled) - step.length :] if step.length < len(spelled) else spelled
        return step.fill * (len(spelled) - len(kept)) + kept
    return spelled[: step.length] + step.fill * max(0, len(spelled) - step.length)


def _round(value: Any, base: float) -> Fraction:
    """The nearest multiple of ``base``, halves away from zero, exactly."""
    ratio = Fraction(value) / Fraction(base)
    whole = math.floor(abs(ratio) + Fraction(1, 2))
    return (whole if ratio >= 0 else -whole) * Fraction(base)


def _clamp(value: Any, step: Clamp) -> Fraction:
    number = Fraction(value)
    if step.low is not None:
        number = max(number, Fraction(step.low))
    if step.high is not None:
        number = min(number, Fraction(step.high))
    return number


def number(value: Any) -> Any:
    """Numbers in a form in which 5, 5.0 and Decimal('5.00') are equal; everything else as canonical text."""
    if isinstance(value, bool) or value is None:
        return text(value)
    if isinstance(value, int | float | Decimal | Fraction):
        return None if value != value else Fraction(value)
    return text(value)


def _key(row: Row, columns: Sequence[str], through: Mapping[str, Step]) -> tuple[Any, ...]:
    return tuple(
        number(apply(through[c], row[c])) if c in through else text(row[c])
        for c in columns
    )  # fmt: skip


def count(
    rows: Sequence[Row],
    columns: Sequence[str],
    *,
    through: Mapping[str, Step] | None = None,
    sensitive: Sequence[str] = (),
    unit: str | None = None,
    weight: str | None = None,
) -> dict[str, Any]:
    """Sizes, records, weights and sensitive values of each class, as plain dictionaries keyed by the class."""
    through = through or {}
    members: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        members[_key(row, columns, through)].append(row)
    out: dict[str, Any] = {"sizes": {}, "records": {}, "weights": {}, "sensitive": {s: {} for s in sensitive}}
    for key, group in members.items():
        out["sizes"][key] = len(_people(group, unit))
        out["records"][key] = len(group)
        if weight is not None:
            out["weights"][key] = math.fsum(float(r[weight]) for r in group)
        for s in sensitive:
            values = {text(r[s]) for r in group}
            out["sensitive"][s][key] = {v: len(_people([r for r in group if text(r[s]) == v], unit)) for v in values}
    out["people"] = len(_people(rows, unit)) if unit else None
    out["once"] = _once(rows, columns, through, unit) if unit else None
    return out


def _once(rows: Sequence[Row], columns: Sequence[str], through: Mapping[str, Step], unit: str) -> Counter[tuple[int, int]]:
    """Everybody once: people by the size of their smallest class and by how many have exactly their set of classes."""
    members: dict[Any, set[Any]] = defaultdict(set)
    classes: dict[Any, set[Any]] = defaultdict(set)
    for row in rows:
        key = _key(row, columns, through)
        members[key].add(text(row[unit]))
        classes[text(row[unit])].add(key)
    sets = [frozenset(c) for c in classes.values()]
    return Counter((min(len(members[key]) for key in c), sets.count(c)) for c in sets)


def _people(rows: Sequence[Row], unit: str | None) -> set[Any]:
    """Persons among the rows: distinct units; without a unit every row is one."""
    return set(range(len(rows))) if unit is None else {text(r[unit]) for r in rows}


def recode(rows: Sequence[Row], plan: Plan) -> Counter[tuple[tuple[str, Any], ...]]:
    """The published rows as a multiset; each row is its sorted (column, value) pairs."""
    steps = {s.column: s for s in plan.steps}
    published: list[Row] = []
    for row in rows:
        kept = {c: v for c, v in row.items() if not isinstance(steps.get(c), Drop)}
        published.append({c: apply(steps.get(c), v) for c, v in kept.items()})
    rule = plan.suppression
    out: list[Row] = []
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row, new in zip(rows, published, strict=True):
        groups[tuple(number(new[c]) for c in rule.columns)].append(row)
    for row, new in zip(rows, published, strict=True):
        size = len(_people(groups[tuple(number(new[c]) for c in rule.columns)], rule.unit))
        if rule.scope == "none" or size >= rule.k:
            out.append(new)
        elif rule.scope == "cells":
            out.append(new | dict.fromkeys(rule.columns, SUPPRESSED))
        assert row is not None
    return Counter(tuple(sorted((c, number(v)) for c, v in r.items())) for r in out)
