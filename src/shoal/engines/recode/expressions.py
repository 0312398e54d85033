"""Expression steps of a plan as SQL: value maps (a join), cut points, prefix, rounding, clamping, constants.

Each function takes the cleaned value of a column (NaN already NULL) and gives a :class:`Shaped` column: its new value and kind
and, for a value map, the join that brings the labels. The same steps for values in memory: :mod:`shoal.engines.recode.in_memory`.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

from sqlglot import exp

from shoal.engines.core.base import Engine, cast, column, string
from shoal.engines.core.kinds import MOMENTS, NUMBERS
from shoal.errors import PolicyError, UsageError
from shoal.kernels.rounding import FINE, NUDGE, WHOLE, rounding_parts
from shoal.model.plan import SUPPRESSED, Clamp, Constant, Cut, Drop, Keep, MapValues, Prefix, Round, Step
from shoal.model.roles import Column


@dataclass(frozen=True)
class Shaped:
    """A column after its step; ``join`` (with its ON) must be added to FROM; ``gap`` is true where a value is not covered."""

    column: Column
    value: exp.Expr
    join: exp.Join | None = None
    gap: exp.Expr | None = None


def shape(engine: Engine, source: Column, value: exp.Expr, step: Step | None, alias: str, stack: ExitStack) -> Shaped:
    """The column after ``step``; ``alias`` names the joined table of a value map."""
    if step is None or isinstance(step, (Keep, Drop)):
        return Shaped(source, value)
    check_step(step, source)
    text = replace(source, kind="text", labels={}, user_missing=())
    if isinstance(step, Constant):
        return Shaped(replace(text, nullable=False), string(step.value))
    if isinstance(step, MapValues):
        return _map(engine, source, value, step, alias, stack)
    if isinstance(step, Cut):
        return Shaped(text, _cut(engine, source, value, step))
    if isinstance(step, Prefix):
        return Shaped(text, _prefix(engine, engine.text(value, source), step))
    if isinstance(step, Round):
        return Shaped(replace(text, kind=result_kind(step, source)), _round(value, step, source))
    if isinstance(step, Clamp):
        return Shaped(replace(text, kind=result_kind(step, source)), _clamp(value, step, source))
    raise UsageError(
        f"step '{step.kind}' of column '{source.name}' cannot be an SQL expression.", hint="It belongs to RECODE only."
    )


def check_step(step: Step, source: Column) -> None:
    """Refuse a numeric step on a column that holds no numbers, with the next thing to do."""
    allowed: tuple[str, ...] = NUMBERS
    if isinstance(step, Cut):
        dates = any(isinstance(p, str) for p in step.points)
        allowed = MOMENTS if dates else (NUMBERS if step.points else (*NUMBERS, *MOMENTS))
    elif isinstance(step, Prefix):
        allowed = ("text", "integer", "decimal", "boolean", "date", "timestamp", "time", "binary")
    elif not isinstance(step, (Round, Clamp)):
        return
    if source.kind not in allowed:
        raise UsageError(
            f"step '{step.kind}' of column '{source.name}' needs a column of kind {' or '.join(allowed)}; found {source.kind}.",
            hint=f"Open the table with types={{'{source.name}': '{allowed[0]}'}}, or use another step.",
            column=source.name,
        )


def result_kind(step: Round | Clamp, source: Column) -> str:
    """Whole numbers stay whole where the step's numbers are whole; otherwise the result is a float."""
    numbers = [step.base] if isinstance(step, Round) else [b for b in (step.low, step.high) if b is not None]
    return "integer" if source.kind == "integer" and all(float(x).is_integer() for x in numbers) else "float"


def _map(engine: Engine, source: Column, value: exp.Expr, step: MapValues, alias: str, stack: ExitStack) -> Shaped:
    import pyarrow as pa

    if source.kind == "float":
        pairs = [(repr(k), label) for k, label in number_labels(step).items()]
    else:
        pairs = [(k, step.labels[t]) for k, t in zip(step.keys, step.targets, strict=True)]
    table = pa.table({"k": pa.array([k for k, _ in pairs], pa.string()), "l": pa.array([x for _, x in pairs], pa.string())})
    text = Column(source.name, "text")
    key = column("k", alias)
    if source.kind == "float":
        on = exp.EQ(this=value.copy(), expression=cast(key, "DOUBLE"))
    else:
        on = exp.EQ(this=engine.key(engine.text(value.copy(), source), text), expression=engine.mapped(key, text))
    relation = stack.enter_context(engine.mapping(table))
    join = exp.Join(this=aliased(relation, alias), on=on, kind="LEFT")
    missing = exp.Is(this=value.copy(), expression=exp.Null())
    uncovered = exp.Is(this=key.copy(), expression=exp.Null())
    published = exp.Case(
        ifs=[
            exp.If(this=missing, true=exp.Null() if step.missing_label is None else string(step.missing_label)),
            exp.If(this=uncovered.copy(), true=string(step.top if step.on_gap == "top" else SUPPRESSED)),
        ],
        default=column("l", alias),
    )
    gap = exp.and_(exp.Not(this=missing.copy()), uncovered) if step.on_gap == "error" else None
    return Shaped(text, published, join, gap)


def number_labels(step: MapValues) -> dict[float, str]:
    """The label of each number that a value map lists, for a column of floats: ``1`` and ``1.0`` are one number.

    >>> number_labels(MapValues("x", keys=("1", "1.0", "n/a"), targets=(0, 0, 0), labels=("a",)))
    {1.0: 'a'}
    """
    out: dict[float, str] = {}
    for key, target in zip(step.keys, step.targets, strict=True):
        try:
            value = float(key) + 0.0  # −0.0 is 0.0
        except ValueError:
            continue
        if value == value and out.setdefault(value, step.labels[target]) != step.labels[target]:
            raise PolicyError(
                f"the value map of '{step.column}' lists a number in two spellings, with different labels.",
                hint="Keep one of them.",
                column=step.column,
            )
    return out


def aliased(relation: exp.Expr, alias: str) -> exp.Expr:
    """``relation AS alias``."""
    return exp.alias_(relation.copy(), exp.to_identifier(alias, quoted=True), table=True)


def _cut(engine: Engine, source: Column, value: exp.Expr, step: Cut) -> exp.Expr:
    """A balanced tree of comparisons; neighbouring intervals of equal label are joined first."""
    points, labels = joined_intervals(step)
    smaller = exp.LT if step.closed == "left" else exp.LTE

    def tree(low: int, high: int) -> exp.Expr:
        if low == high:
            return string(labels[low])
        middle = (low + high) // 2
        test = smaller(this=value.copy(), expression=_point(points[middle], source))
        return exp.Case(ifs=[exp.If(this=test, true=tree(low, middle))], default=tree(middle + 1, high))

    missing = exp.Null() if step.missing_label is None else string(step.missing_label)
    return exp.Case(
        ifs=[exp.If(this=exp.Is(this=value.copy(), expression=exp.Null()), true=missing)], default=tree(0, len(labels) - 1)
    )


def joined_intervals(step: Cut) -> tuple[list[float | str], list[str]]:
    """Cut points and labels without the points between intervals of equal label.

    >>> joined_intervals(Cut("age", points=(10.0, 20.0), labels=("a", "a", "b")))
    ([20.0], ['a', 'b'])
    """
    points: list[float | str] = []
    labels = [step.labels[0]]
    for point, label in zip(step.points, step.labels[1:], strict=True):
        if label != labels[-1]:
            points.append(point)
            labels.append(label)
    return points, labels


def _point(point: float | str, source: Column) -> exp.Expr:
    if isinstance(point, str):
        return cast(string(point), "DATE" if source.kind == "date" else "TIMESTAMP")
    return number(point, whole=source.kind == "integer")


def number(value: float, *, whole: bool = False) -> exp.Expr:
    """A number in double precision; with ``whole``, 30.0 is the integer 30."""
    if whole and float(value).is_integer():
        return exp.convert(int(value))
    return cast(string(repr(float(value))), "DOUBLE")  # from text: the nearest double on every engine


def _prefix(engine: Engine, text: exp.Expr, step: Prefix) -> exp.Expr:
    size = engine.char_length(text.copy())
    length = exp.convert(step.length)
    take = exp.Right if step.from_end else exp.Left
    kept: exp.Expr = string("") if step.length == 0 else take(this=text.copy(), expression=length)
    if step.fill:
        more = exp.Greatest(this=exp.Sub(this=size, expression=length.copy()), expressions=[exp.convert(0)])
        filler = exp.Repeat(this=string(step.fill), times=more)
        kept = exp.DPipe(this=filler, expression=kept) if step.from_end else exp.DPipe(this=kept, expression=filler)
    missing = exp.If(this=exp.Is(this=text.copy(), expression=exp.Null()), true=exp.Null())
    return exp.Case(ifs=[missing], default=kept)


def _round(value: exp.Expr, step: Round, source: Column) -> exp.Expr:
    """:func:`shoal.kernels.rounding.to_multiple` in SQL, all in double precision, so that every engine gives the same number."""
    p, q = (number(x) for x in rounding_parts(step.base))
    x = cast(value, "DOUBLE")
    scaled = exp.Paren(this=exp.Div(this=exp.Paren(this=exp.Mul(this=exp.Abs(this=x), expression=q)), expression=p))
    nudged = exp.Mul(this=scaled.copy(), expression=number(NUDGE))
    steps = exp.Case(
        ifs=[
            exp.If(
                this=exp.LT(this=scaled.copy(), expression=number(FINE)),
                true=exp.Floor(this=exp.Add(this=nudged, expression=number(0.5))),
            ),
            exp.If(
                this=exp.LT(this=scaled.copy(), expression=number(WHOLE)),
                true=exp.Floor(this=exp.Add(this=scaled.copy(), expression=number(0.5))),
            ),
        ],
        default=scaled,
    )
    size = exp.Div(this=exp.Paren(this=exp.Mul(this=cast(steps, "DOUBLE"), expression=p.copy())), expression=q.copy())
    negative = exp.LT(this=x.copy(), expression=number(0.0))
    signed = exp.Case(
        ifs=[exp.If(this=negative, true=exp.Sub(this=number(0.0), expression=exp.Paren(this=size)))], default=size.copy()
    )
    kind = result_kind(step, source)
    return cast(signed, "BIGINT") if kind == "integer" else signed


def _clamp(value: exp.Expr, step: Clamp, source: Column) -> exp.Expr:
    whole = result_kind(step, source) == "integer"
    x = value.copy() if whole else cast(value, "DOUBLE")
    ifs = []
    for bound, worse in ((step.low, exp.LT), (step.high, exp.GT)):
        if bound is not None:
            limit = number(bound, whole=whole)
            ifs.append(exp.If(this=worse(this=x.copy(), expression=limit), true=limit.copy()))
    return exp.Case(ifs=ifs, default=x) if ifs else x
