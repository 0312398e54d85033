"""Columns that are published as they are although quasi-identifiers tell them: who knows the one has the other.

Takes    a plan that is decided and the original
Returns  an attack: by the classes and what such columns add to them, how small are the groups? Nothing if no column depends
Keeps    the attacker knows the true quasi-identifiers and nothing else; the error names columns, never a value. Sensitive columns
         with few values are a warning: anyone who knows which value goes with which has learnt them already
Cost     a few thousand rows are compared; the plan is applied once more, in private, only if some column depends
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.attacks.joint import MOST_VALUES
from shoal.find.dependencies import LEAST_ROWS, SomeRows, follows
from shoal.kernels.arrow import as_doubles, is_missing, to_numpy
from shoal.model.attack import AttackResult, Verdict
from shoal.model.roles import MOMENTS, NUMBERS
from shoal.release.make.value_links import MOST_PAIRED, pairs, true_name
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision
from shoal.release.proof.recount import number_groups, whole_codes
from shoal.steps import Keep

Floats: TypeAlias = npt.NDArray[np.float64]
NAME = "linkage: dependent columns"
QUESTION = "Somebody knows the quasi-identifiers of a person and works out published columns from them: is the record found?"
MOST_COMPARED = 10_000
"""Pairs of a quasi-identifier and a published column that are compared, at most."""
READ, MOST_CELLS = 50_000, 20_000_000
"""Rows of the original in which dependences are looked for, and their cells, at most."""
MOST_SUMMED, COMPARED, NEARLY = 40, 2_000, 0.98
"""Columns of numbers that are added and multiplied, rows in which they are, and the share of rows in which it must come out."""
FEW, MOSTLY = 64, 0.8
"""Rows in which all pairs are tried first, and the share in which it must come out there."""
CLOSE, FEWEST, YEAR = 0.01, 4.0, 365.25
"""How far a number may be from another one that it narrows, in parts of their span; units that both span; days of a year."""
ROUNDED, NARROW = 5e-3, 0.05
"""How far a rounded product may be from a number: in parts of the median of its values, and of their standard deviation."""


def dependent_columns(prepared: Prepared, decision: Decision, stage: Path) -> list[AttackResult]:
    """The attack by columns that follow from quasi-identifiers, or from which these follow; none if there are no such columns."""
    import pyarrow as pa

    policy, k = prepared.policy, prepared.policy.smallest_class
    kept = [n for n in policy.beside if all(isinstance(s, Keep) for s in decision.plan.for_column(n))]
    if not kept or not prepared.quasi or k < 2:
        return []
    if len(kept) * len(prepared.quasi) > MOST_COMPARED or decision.released.n_records > MOST_PAIRED:
        return [AttackResult.not_run(NAME, "there are too many columns or records to compare them", QUESTION)]
    names = [*prepared.quasi, *kept]
    some = pa.Table.from_arrays(prepared.table.first_rows(names, min(READ, MOST_CELLS // len(names))), names=names)
    found = list(dependences(some, prepared.quasi, kept, {n: prepared.schema[n].kind for n in names}))
    if not found:
        return []
    used = list(dict.fromkeys(n for _, names, _ in found for n in names))
    unit = [] if policy.unit is None or policy.unit in prepared.quasi else [policy.unit]
    table = pairs(prepared, decision, used, [*prepared.quasi, *unit], stage)
    reader = prepared.reader  # a sensitive column with few values is what an attacker wants to learn, not what he works out
    learnt = {n for n in policy.sensitive if n in used and reader[n].distinct <= MOST_VALUES}
    open_ = [f for f in found if not set(f[1]) <= {*policy.identifying, *learnt}]
    result = _count(prepared, table, open_, "broken") if open_ else None
    if result is None:
        result = _count(prepared, table, found, "warning")
    return [result] if result else []


Dependence = tuple[str, tuple[str, ...], bool]
"""A quasi-identifier, the published columns, and whether their values follow from it (else it follows from them)."""


def dependences(table: Any, quasi: Sequence[str], kept: Sequence[str], kinds: Mapping[str, str]) -> Iterator[Dependence]:
    """Which of the columns that are published as they are follow from quasi-identifiers, or tell them, in some rows (pyarrow)."""
    if table.num_rows < LEAST_ROWS:
        return
    some, ordered = SomeRows(table), {n: kinds[n] in (*NUMBERS, *MOMENTS) for n in table.column_names}
    numbers = [n for n in kept if ordered[n]][:MOST_SUMMED]
    values = {n: _numbers(some.values(n, COMPARED)) for n in (*numbers, *(q for q in quasi if ordered[q]))}
    for x, y in itertools.product(quasi, kept):
        if follows(some.codes(x), some.codes(y), ordered=ordered[x]):
            yield x, (y,), True
        elif follows(some.codes(y), some.codes(x), ordered=ordered[y]):
            yield x, (y,), False
        elif x in values and y in values and _narrows(values[x], values[y]):
            yield x, (y,), True
    for x in (q for q in quasi if ordered[q]):
        for b, c in _likely_pairs(values[x], {n: values[n] for n in numbers}):
            sums, products = _of_two(values[b], values[c])
            if any(_comes_out(values[x], total) for total in sums) or any(_in_proportion(values[x], p) for p in products):
                yield x, (b, c), False


def _of_two(u: Floats, v: Floats) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Sums and differences, products and quotients of two numbers; a body mass index and a body surface have squares."""
    with np.errstate(all="ignore"):
        squares = (u * v * v, u * u * v, u / v**2, v / u**2, u**2 / v, v**2 / u)
        products = (u * v, u / v, v / u, *squares, np.sqrt(u * v), np.sqrt(u / v), np.sqrt(v / u))
        return (u + v, u - v), products


def _likely_pairs(known: Floats, numbers: Mapping[str, Floats]) -> list[tuple[str, str]]:
    """The pairs that come out in most of a few rows, all pairs at once: the others need no closer look."""
    some = np.linspace(0, len(known) - 1, min(FEW, len(known))).astype(int)
    pairs_of_names = list(itertools.combinations(numbers, 2))
    if not pairs_of_names:
        return []
    u, v = (np.array([numbers[pair[i]][some] for pair in pairs_of_names]) for i in (0, 1))
    true, values = known[some], np.unique(known[np.isfinite(known)])
    likely = np.zeros(len(pairs_of_names), dtype=bool)
    sums, products = _of_two(u, v)
    with np.errstate(all="ignore"):
        for rest, total in ((r, t) for t in sums for r in (true - t, true + t)):
            likely |= _mostly(np.abs(rest - _medians(rest)) <= _exact(total), np.isfinite(rest))
        for product in products:
            ratio = np.where((true > 0) & (product > 0), true / product, np.nan)
            likely |= _mostly(_gives(true, product * _medians(ratio), values), np.isfinite(ratio))
    return list(itertools.compress(pairs_of_names, likely))


def _medians(rows: Floats) -> Floats:
    """The lower median of the numbers of each row, as a column; missing ones stand last when sorted."""
    there = np.isfinite(rows).sum(axis=1)
    in_order = np.sort(np.where(np.isfinite(rows), rows, np.nan), axis=1)
    return np.asarray(in_order[np.arange(len(rows)), np.maximum(there - 1, 0) // 2][:, None])


def _mostly(hit: npt.NDArray[np.bool_], there: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """For each row, whether most of what is there is hit, or too little is there to tell."""
    count = there.sum(axis=1)
    return np.asarray((count < LEAST_ROWS // 4) | ((hit & there).sum(axis=1) >= MOSTLY * count))


def _exact(total: Floats) -> Floats:
    """How far doubles of a sum may be from it."""
    return np.asarray(1e-9 * (1 + np.abs(total)))


def _gives(true: Floats, guess: Floats, values: Floats) -> npt.NDArray[np.bool_]:
    """Whether a guess gives a number: it is nearest to it of all ``values``, or much nearer to it than they are spread."""
    if len(values) < 2:
        return np.zeros(guess.shape, dtype=bool)
    near = min(ROUNDED * float(np.median(values)), NARROW * float(values.std()))
    return np.asarray((values[np.searchsorted((values[1:] + values[:-1]) / 2, guess)] == true) | (np.abs(guess - true) <= near))


def _numbers(values: Any) -> Floats:
    """Numbers, and moments as days; what has none is missing."""
    import pyarrow as pa

    if pa.types.is_date(values.type):
        values = values.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_timestamp(values.type):
        return _numbers(values.cast(pa.timestamp("us"), safe=False).cast(pa.int64())) / 86_400e6
    elif not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)):
        return np.full(len(values), np.nan)
    return np.where(is_missing(values), np.nan, to_numpy(as_doubles(values)))


def _comes_out(known: Floats, total: Floats) -> bool:
    """Whether a number is a sum or difference, up to a constant, nearly everywhere.

    >>> age = np.arange(60.0) % 7
    >>> _comes_out(age, 100 - age), _comes_out(age, age * 2)
    (True, False)
    """
    there = np.isfinite(known) & np.isfinite(total)
    if there.sum() < LEAST_ROWS or len(np.unique(known[there])) < 3:
        return False
    true, total = known[there], total[there]
    return any(_nearly_all(np.abs(rest - np.median(rest)) <= _exact(total), true) for rest in (true - total, true + total))


def _nearly_all(hit: npt.NDArray[np.bool_], true: Floats) -> bool:
    """Whether nearly all values are hit, those besides the most frequent one too: who always names that one knows nothing."""
    values, counts = np.unique(true, return_counts=True)
    return bool(hit.mean() >= NEARLY and hit[true != values[counts.argmax()]].mean() >= NEARLY)


def _narrows(known: Floats, other: Floats) -> bool:
    """Whether a number, or the years of a moment, leaves of another one, up to a constant, one unit or 1 % of what they span: an
    age beside a year of birth is one of two.

    >>> born, late = 1940 + np.arange(300) * 7 % 50, np.arange(300) % 2
    >>> _narrows(born, 2020.0 - born + late), _narrows(born, 2020.0 - born + 2 * late)
    (True, False)
    """
    there = np.isfinite(known) & np.isfinite(other)
    if there.sum() < LEAST_ROWS:
        return False
    known, other = known[there], other[there]
    for true, units in ((known, 1.0), (known / YEAR, 2.0)):  # a part of a year before and one after the birthday
        whole = bool((other == np.round(other)).all())
        span = min(_spread(true), _spread(other))
        for rest in (other - true, other + true):
            if _spread(rest) <= (max(units, CLOSE * span) if whole and span >= FEWEST else CLOSE * span):
                return True
    return False


def _spread(values: Floats) -> float:
    """How far nearly all values are apart."""
    low, high = np.quantile(values, ((1 - NEARLY) / 2, (1 + NEARLY) / 2))
    return float(high - low)


def _in_proportion(known: Floats, product: Floats) -> bool:
    """Whether a product or quotient, times a factor, gives a number nearly everywhere: its value itself, or one much nearer to it
    than its values are spread.

    >>> height, weight = 1.5 + np.arange(60.0) % 7 / 20, 50.0 + np.arange(60) % 11
    >>> _in_proportion(weight, np.round(weight / height**2, 1) * height**2), _in_proportion(weight, height)
    (True, False)
    """
    there = np.isfinite(known) & np.isfinite(product) & (known > 0) & (product > 0)
    values = np.unique(known[there])
    if there.sum() < max(LEAST_ROWS, NEARLY * len(known)) or len(values) < 3:
        return False
    true = known[there]
    return _nearly_all(_gives(true, product[there] * np.median(true / product[there]), values), true)


def _count(prepared: Prepared, table: Any, found: list[Dependence], verdict: Verdict) -> AttackResult | None:
    """The attack by some dependences; None if every group by them has k records."""
    k, mark = prepared.policy.smallest_class, true_name(prepared)
    known = list(dict.fromkeys(name for x, names, told in found for name in (names if told else (f"{mark}{x}",))))
    wanted = [*prepared.quasi, *known]
    codes = whole_codes(table.select(wanted).to_batches(), len(wanted))
    group, first = number_groups(codes)
    unit, noun = prepared.policy.unit, "records"
    person = np.arange(len(group))
    if unit is not None:
        noun, person = "people", number_groups(whole_codes(table.select([f"{mark}{unit}"]).to_batches(), 1))[0]
        group, person = np.unique(np.stack((group, person)), axis=1)  # each person once in a group
    sizes = np.bincount(group)
    few, total = len(np.unique(person[(sizes < k)[group]])), len(np.unique(person))
    if not few:
        return None
    told = "; ".join(dict.fromkeys(words(x, names, forward) for x, names, forward in found))
    sentence = (
        f"{told}. By the quasi-identifiers and what they tell of published columns, the smallest group has {int(sizes.min()):,} "
        f"of {k:,} {noun}, and {few:,} of {total:,} {noun} are in groups of fewer than {k:,}."
    )
    rate, claimed = len(first) / len(group), 1 / k if verdict == "broken" else None
    return AttackResult(NAME, QUESTION, rate, rate, rate, claimed, f"{few:,} of {total:,} {noun}", verdict, sentence)


def words(x: str, names: tuple[str, ...], told: bool) -> str:
    """A dependence in words.

    >>> words("age", ("born",), True), words("age", ("total", "rest"), False)
    ("'born' follows from 'age'", "'age' follows from 'total' and 'rest'")
    """
    listed = " and ".join(f"'{n}'" for n in names)
    return f"{listed} follows from '{x}'" if told else f"'{x}' follows from {listed}"
