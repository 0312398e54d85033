"""Numbers changed a little: do released values still stand near the person's own, and do they find the person?

Each released record is held against its own original: *interval disclosure* (every column within a share of its standard
deviation, SDID), *distance linkage* (the person's own record is the nearest released one), and *robust intervals* (as wide as the
person is outlying, by robust Mahalanobis distances, and nobody else near: RMDID2). Each is also held against the released
record of somebody else, so that what happens to everybody by chance does not count.

Takes    original and released numbers of the same people, row by row, without missing values
Returns  :class:`AttackResult`, the rate beyond chance
Differs  from sdcMicro 5: ``dRisk`` also counts records with one column outside, ``dRiskRMD`` those with one column inside; here
         all columns must be inside. Widths are shares of the original's standard deviation, alike at a typical distance
Source   Mateo-Sanz, Sebé & Domingo-Ferrer 2004 (SDID); Pagliuca & Seri 1999 (distance linkage); Templ & Meindl 2008 (RMDID)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.attacks._common import wilson
from shoal.attacks.tables.exposed import most_unusual
from shoal.attacks.tables.rows import Excess, Rows, nearest, result_of, verdict_of
from shoal.errors import DataError
from shoal.kernels.quantiles import chi_squared_chance, chi_squared_quantile
from shoal.model.attack import AttackResult
from shoal.model.counts.classes import FloatArray, IntArray

WIDTH = 0.05
"""Half the width of an interval, as a share of the standard deviation."""
ALONE = 0.05
"""A released record is alone if nobody's is this near, in standard deviations (Euclidean)."""
BLOCK = 4_000_000
INTERVAL = "Does a released number stand so near the person's own that the own is known?"
LINK = "Does anyone who knows a person's numbers find the released record by the nearest one?"
ROBUST = "Are people with unusual numbers still recognised, where a wider interval is enough and nobody is near?"


def interval_disclosure(x: FloatArray, y: FloatArray, columns: Sequence[str], rng: np.random.Generator) -> AttackResult:
    """Records with every released value within :data:`WIDTH` standard deviations of the person's own."""
    reach = WIDTH * np.std(x, axis=0, ddof=1)
    excess = _excess(within(x, y, reach), within(x, y[_another(len(x), rng)], reach))
    each = [f"{name} {100 * within(x[:, [j]], y[:, [j]], reach[[j]]).mean():.3g} %" for j, name in enumerate(columns)]
    sentence = f"of {len(x):,} records have every number within {100 * WIDTH:g} % of a standard deviation of the own"
    return _result("interval disclosure", INTERVAL, excess, sentence, f" By column: {', '.join(each)}.")


def within(x: FloatArray, y: FloatArray, reach: FloatArray) -> np.ndarray:
    """Whether every value of a row of ``y`` is at most ``reach`` from that of ``x``; the ends count.

    >>> within(np.array([[0.0, 0.0]] * 3), np.array([[0.5, 0.5], [0.5, 0.6], [-0.5, 0.0]]), np.array([0.5, 0.5])).tolist()
    [True, False, True]
    """
    return np.asarray((np.abs(x - y) <= reach * (1 + 1e-12)).all(axis=1))


def distance_linkage(x: FloatArray, y: FloatArray) -> AttackResult:
    """People whose own released record is the nearest to what is known of them; equally near ones share the find."""
    scale = np.std(x, axis=0, ddof=1)
    linked = float(nearest_is_own(x / scale, y / scale).sum())
    n = len(x)
    low, high = wilson(linked, n)
    chance = 1 / n
    ends = [max(0.0, (e - chance) / (1 - chance)) for e in (low, high)]
    over = (low - chance) / (1 - chance)
    sentence = f"{linked:,.6g} of {n:,} people are found by the nearest released record; one would be by chance."
    rate = max(0.0, (linked / n - chance) / (1 - chance))
    return AttackResult("distance linkage", LINK, rate, ends[0], ends[1], None, "", verdict_of(over), sentence)


def unusual_linkage(x: FloatArray, y: FloatArray, rng: np.random.Generator) -> tuple[AttackResult, list[int], list[float]]:
    """The same for the hundredth part of the people who are furthest from the middle of all; with their rows, and how far their
    own record is beside the nearest of somebody else."""
    few = most_unusual(robust_distances(x, *minimum_covariance(x, rng)))
    scale = np.std(x, axis=0, ddof=1)
    far = _squared_distances(x[few] / scale, y / scale)
    own = far[np.arange(len(few)), few].copy()
    far[np.arange(len(few)), few] = np.inf
    other = far.min(axis=1)
    share = 1 / (1 + (far <= (own * (1 + 1e-9))[:, None]).sum(axis=1))
    linked = float(share[own <= other * (1 + 1e-9)].sum())
    low, high = wilson(linked, len(few))
    sentence = f"Of the {len(few):,} most unusual people {linked:,.6g} are found by the nearest of {len(y):,} released records."
    rate = linked / len(few)
    ratio = np.sqrt(np.divide(own, other, out=np.ones_like(own), where=other > 0))
    name = "distance linkage: most unusual people"
    return (
        AttackResult(name, LINK, rate, low, high, None, "", verdict_of(low - 1 / len(y)), sentence),
        few.tolist(),
        ratio.tolist(),
    )


def nearest_is_own(x: FloatArray, y: FloatArray) -> FloatArray:
    """For each row of ``x``: one over the rows of ``y`` that are nearest, if its own is among them, else 0.

    >>> nearest_is_own(np.array([[0.0], [1.0], [5.0]]), np.array([[0.4], [0.4], [5.0]])).tolist()
    [0.5, 0.5, 1.0]
    """
    out = np.zeros(len(x))
    step = max(1, BLOCK // max(1, len(y)))
    for start in range(0, len(x), step):
        part = x[start : start + step]
        far = _squared_distances(part, y)
        own = far[np.arange(len(part)), np.arange(start, start + len(part))]
        least = far.min(axis=1)
        slack = least * (1 + 1e-9)
        ties = (far <= slack[:, None]).sum(axis=1)
        out[start : start + len(part)] = np.where(own <= slack, 1 / ties, 0.0)
    return out


def robust_intervals(x: FloatArray, y: FloatArray, rng: np.random.Generator) -> AttackResult:
    """Records inside intervals that widen with the person's robust distance, and near no other released record."""
    centre, covariance = minimum_covariance(x, rng)
    scale = np.sqrt(np.diag(covariance))
    outlying = robust_distances(x, centre, covariance) / math.sqrt(chi_squared_quantile(0.5, x.shape[1]))
    reach = WIDTH * np.multiply.outer(outlying, scale)
    apart = others_within(y / scale, ALONE) == 0
    other = _another(len(x), rng)
    inside = within(x, y, reach)
    excess = _excess(inside & apart, within(x, y[other], reach) & apart[other])
    sentence = f"of {len(x):,} records lie in an interval as wide as the person is unusual, with nobody else's near"
    more = f" {int(inside.sum()):,} lie in it if others near do not count."
    return _result("robust intervals", ROBUST, excess, sentence, more)


def others_within(y: FloatArray, reach: float) -> IntArray:
    """How many other rows lie at most ``reach`` away.

    >>> others_within(np.array([[0.0], [0.1], [3.0]]), 0.1).tolist()
    [1, 1, 0]
    """
    order = np.argsort(y[:, 0], kind="stable")
    rows, far = y[order], reach * (1 + 1e-12)
    wide = far * 1.001  # no neighbour is lost to rounding
    low, high = np.searchsorted(rows[:, 0], rows[:, 0] - wide), np.searchsorted(rows[:, 0], rows[:, 0] + wide, "right")
    numbers = np.zeros(len(y), dtype=np.int64)
    for i in range(len(rows)):
        near = rows[low[i] : high[i]] - rows[i]
        numbers[order[i]] = np.count_nonzero((near * near).sum(axis=1) <= far * far) - 1
    return numbers


def _squared_distances(x: FloatArray, y: FloatArray) -> FloatArray:
    out = np.zeros((len(x), len(y)))
    for j in range(x.shape[1]):
        out += (x[:, j, None] - y[None, :, j]) ** 2
    return out


def _another(n: int, rng: np.random.Generator) -> IntArray:
    """Somebody else for everybody: a random circle."""
    order = rng.permutation(n)
    out = np.empty(n, dtype=np.int64)
    out[order] = np.roll(order, 1)
    return out


def _excess(own: np.ndarray, other: np.ndarray) -> Excess:
    return Excess(int(own.sum()), len(own), int(other.sum()), len(other))


def _result(name: str, question: str, excess: Excess, what: str, more: str) -> AttackResult:
    low, high = excess.interval
    sentence = f"{excess.successes:,} {what}; {excess.control:,} would with somebody else's record.{more}"
    ends = [max(0.0, min(1.0, e)) for e in (low, high)]
    return AttackResult(name, question, min(1.0, max(0.0, excess.risk)), ends[0], ends[1], None, "", verdict_of(low), sentence)


STARTS, KEPT, FIRST, MOST_STEPS = 60, 6, 2, 100
OUTLYING = 0.975


def minimum_covariance(x: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Robust centre and covariance of the rows of ``x``.

    >>> rng = np.random.default_rng(1)
    >>> rows = np.concatenate([rng.normal(size=(80, 2)), np.full((20, 2), 50.0)])
    >>> centre, covariance = minimum_covariance(rows, rng)
    >>> bool(np.abs(centre).max() < 0.5 and covariance[0, 0] < 2 < np.cov(rows.T)[0, 0])
    True
    """
    n, d = x.shape
    if n <= 2 * d:
        raise DataError(f"{n} records are too few for {d} columns.", hint="Name fewer columns.")
    scale = x.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    z = (x - x.mean(axis=0)) / scale
    half = (n + d + 1) // 2
    tried = [_concentrate(z, rng.choice(n, d + 1, replace=False), half, FIRST) for _ in range(STARTS)]
    tried.sort(key=lambda t: t[0])
    _, inside = min((_concentrate(z, rows, half, MOST_STEPS) for _, rows in tried[:KEPT]), key=lambda t: t[0])
    flat = float(np.linalg.eigvalsh(np.atleast_2d(np.cov(z[inside].T))).min()) < 1e-10
    centre, covariance = (z.mean(axis=0), np.atleast_2d(np.cov(z.T))) if flat else _reweight(z, inside)
    return x.mean(axis=0) + centre * scale, covariance * np.multiply.outer(scale, scale)


def robust_distances(x: FloatArray, centre: FloatArray, covariance: FloatArray) -> FloatArray:
    """Mahalanobis distance of each row; off the plane of a covariance without an inverse everything is very far.

    >>> robust_distances(np.array([[3.0, 4.0]]), np.zeros(2), np.eye(2)).tolist()
    [5.0]
    """
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.multiply.outer(scale, scale))
    along = ((x - centre) / scale) @ vectors
    return np.asarray(np.sqrt((along**2 / np.maximum(values, 1e-12)).sum(axis=1)))


def _concentrate(z: FloatArray, rows: np.ndarray, half: int, steps: int) -> tuple[float, np.ndarray]:
    """The rows after some concentration steps, and the logarithm of the determinant of their covariance."""
    value = np.inf
    for _ in range(steps):
        far = robust_distances(z, z[rows].mean(axis=0), np.atleast_2d(np.cov(z[rows].T)))
        rows = np.argsort(far, kind="stable")[:half]
        sign, logarithm = np.linalg.slogdet(np.atleast_2d(np.cov(z[rows].T)))
        now = float(logarithm) if sign > 0 else -np.inf
        if now >= value - 1e-12:
            break
        value = now
    return value, rows


def _reweight(z: FloatArray, inside: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Centre and covariance of all rows that are not outlying by those of the best half."""
    n, d = z.shape
    share = len(inside) / n
    centre, covariance = z[inside].mean(axis=0), np.atleast_2d(np.cov(z[inside].T))
    covariance = covariance * share / _consistent(share, d)
    near = robust_distances(z, centre, covariance) ** 2 <= chi_squared_quantile(OUTLYING, d)
    if int(near.sum()) <= 2 * d:
        return centre, covariance
    wide = np.atleast_2d(np.cov(z[near].T)) * OUTLYING / _consistent(OUTLYING, d)
    return z[near].mean(axis=0), wide


def _consistent(share: float, d: int) -> float:
    """What the covariance of the nearest share of normal rows is short of, times that share."""
    return chi_squared_chance(chi_squared_quantile(share, d), d + 2)


LINKING = "Can two tables about the same person, with different columns, be joined through the published one?"
INFER = "Can a hidden value of a person be inferred from the most similar published record?"
NEIGHBOURS = 5
TOLERANCE = 0.05
"""A number counts as inferred if it is this close, as a share of the range."""


def linkability(table: Rows, original: Rows, control: Rows) -> AttackResult | None:
    """A person is joined if one published record is among the nearest by either half of the columns; None with one column."""
    if table.width < 2:
        return None
    halves = (list(range(0, table.width, 2)), list(range(1, table.width, 2)))

    def joined(people: Rows) -> int:
        one, two = (nearest(people, table, half, NEIGHBOURS)[0] for half in halves)
        return int((one[:, :, None] == two[:, None, :]).any(axis=(1, 2)).sum())

    excess = Excess(joined(original), original.n, joined(control), control.n)
    sentence = f"Joined by one of the {NEIGHBOURS} most similar records on both halves of the columns"
    return result_of("linkability", LINKING, excess, "", sentence)


def inference(table: Rows, original: Rows, control: Rows, names: Sequence[str], secrets: Sequence[int]) -> AttackResult | None:
    """Each secret is guessed from all other columns; the column where it works best counts."""
    if table.width < 2 or not secrets:
        return None
    best: tuple[float, Excess, int] | None = None
    for j in secrets:
        known = [i for i in range(table.width) if i != j]
        excess = Excess(_count_told(table, original, known, j), original.n, _count_told(table, control, known, j), control.n)
        low = excess.interval[0]
        if best is None or low > best[0]:
            best = low, excess, j
    assert best is not None
    worst = f"column '{names[best[2]]}'"
    return result_of("inference", INFER, best[1], worst, f"The value of {worst} is inferred from the other columns")


def _count_told(table: Rows, people: Rows, known: list[int], j: int) -> int:
    at = nearest(people, table, known)[0][:, 0]
    guess, truth = table.columns[j][at], people.columns[j]
    if table.is_number(j):
        both = np.isnan(guess) & np.isnan(truth)
        return int((both | (np.abs(guess - truth) <= TOLERANCE)).sum())
    return int((guess == truth).sum())


QUESTION = "Does a description that fits one record of the table fit exactly one person of the original?"
COLUMNS = 4
"""Columns in a description; all, where the table has fewer."""
TRIED = 20
"""Descriptions tried at most for each one that is wanted."""


def singling_out(table: Rows, original: Rows, control: Rows, *, tries: int, rng: np.random.Generator) -> AttackResult:
    """Descriptions of random published records (a number as at least or at most), kept if they fit one record; one of each
    record, because several of one record would not be independent tries."""
    width = min(COLUMNS, table.width)
    middle = [float(np.nanmedian(c)) if table.is_number(j) and np.isfinite(c).any() else 0.0 for j, c in enumerate(table.columns)]
    seen = hits = others = 0
    left = np.ones(table.n, dtype=np.bool_)
    for _ in range(TRIED * tries):
        if seen >= min(tries, table.n):
            break
        row = int(rng.integers(table.n))
        if not left[row]:
            continue
        use = rng.choice(table.width, size=width, replace=False).tolist()
        if int(_fits(table, table, row, use, middle).sum()) != 1:
            continue
        seen, left[row] = seen + 1, False
        hits += int(_fits(original, table, row, use, middle).sum()) == 1
        others += int(_fits(control, table, row, use, middle).sum()) == 1
    if not seen:
        sentence = "No description of a few columns fits one published record only."
        return AttackResult.exact("singling out", QUESTION, 0.0, None, "", "holds", sentence)
    return result_of("singling out", QUESTION, Excess(hits, seen, others, seen), "", f"Descriptions by {width} columns")


def _fits(rows: Rows, table: Rows, row: int, use: list[int], middle: list[float]) -> npt.NDArray[np.bool_]:
    out = np.ones(rows.n, dtype=np.bool_)
    for j in use:
        value, column = table.columns[j][row], rows.columns[j]
        if not rows.is_number(j):
            out &= column == value
        elif np.isnan(value):
            out &= np.isnan(column)
        else:
            out &= column >= value if value > middle[j] else column <= value
    return out
