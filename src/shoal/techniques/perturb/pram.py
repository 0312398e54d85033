"""PRAM: categories change by a known matrix of chances, which stays in the plan so that analysts can correct for it.

Takes    categories and the chance to keep one's own
Returns  a step on batches with the matrix R: R[i][j] = P(published j | true i)
Keeps    an *invariant* matrix keeps expected frequencies (λR = λ); otherwise :func:`estimate_counts` undoes the change
Source   Gouweleeuw et al. 1998; the invariant matrix is R = P·Q with Q the Bayes inverse of P under the frequencies
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, HierarchyGapError, PolicyError
from shoal.hierarchies.values import counts_of, texts_of
from shoal.kernels.text import canonical_text
from shoal.model.plan import SUPPRESSED, OnGap, Publishes, StreamStep, register_step
from shoal.techniques.columns import with_column
from shoal.techniques.kernels import draws as random
from shoal.techniques.kernels.draws import RowNumbers

FloatArray = npt.NDArray[np.float64]

MOST_CATEGORIES = 2_000
"""Categories of a matrix that is made here: it stands in the plan, number by number."""


@register_step
@dataclass(frozen=True)
class Pram(StreamStep):
    """Replace category i by category j with chance ``matrix[i][j]``. Missing stays missing; other values follow ``on_gap``.

    The column keeps its type where every value has a category; a suppressed one makes it text.
    """

    categories: tuple[str, ...] = ()
    matrix: tuple[tuple[float, ...], ...] = ()
    invariant: bool = False
    on_gap: OnGap = "error"
    kind: ClassVar[str] = "pram"
    publishes: ClassVar[Publishes] = "own"
    truthful: ClassVar[bool] = False

    def __post_init__(self) -> None:
        m = np.asarray(self.matrix, dtype=np.float64)
        size = len(self.categories)
        if m.shape != (size, size) or size == 0:
            raise PolicyError(f"the matrix of '{self.column}' must have one row and one column per category ({size}).")
        if (m < 0).any() or not np.allclose(m.sum(axis=1), 1, atol=1e-9):
            raise PolicyError(f"the rows of the matrix of '{self.column}' must be chances that add up to 1.")

    @property
    def least_change(self) -> float:
        """The smallest chance, over the true categories, that a record is published as another one."""
        return float(1 - np.asarray(self.matrix).diagonal().max())

    def deniability(self, counts: Any) -> float:
        r"""How deniable a published category is at least, to someone who knows the matrix R and the true ``counts`` n.

        .. math:: 1 - \max_j \frac{n_j R_{jj}}{\sum_i n_i R_{ij}}

        Between 0 (a published category is certainly true) and 1; often far below :attr:`least_change`.

        >>> step = Pram("colour", ("blue", "red"), ((0.7, 0.3), (0.3, 0.7)))
        >>> round(step.least_change, 3), round(step.deniability([100, 900]), 3)
        (0.3, 0.045)
        """
        n, matrix = counts_of(self.categories, counts).astype(np.float64), np.asarray(self.matrix)
        published = n @ matrix
        return float(1 - np.max(n * matrix.diagonal() / np.where(published > 0, published, 1.0)))

    def start(self, seed: int) -> Callable[[pa.Table, RowNumbers], pa.Table]:
        settings = [f"{v:.6f}" for v in np.asarray(self.matrix).diagonal()]
        key = random.derive(seed, self.kind, self.column, *self.categories, *settings)
        position = {c: i for i, c in enumerate(self.categories)}
        bounds = np.cumsum(np.asarray(self.matrix), axis=1)
        bounds[:, -1] = 1.0
        labels = (*self.categories, SUPPRESSED)

        def run(table: pa.Table, rows: RowNumbers) -> pa.Table:
            encoded = canonical_text(table.column(self.column)).dictionary_encode()
            texts = encoded.dictionary.to_pylist()
            lost = [t for t in texts if t not in position]
            if lost and self.on_gap == "error":
                what = f"the matrix of '{self.column}' does not cover {len(lost)} values."
                hint = 'Add them to the categories, or pass on_gap="suppress". See error.values.'
                raise HierarchyGapError(what, hint=hint, column=self.column, values=tuple(lost))
            codes = np.array([position.get(t, len(position)) for t in texts] + [-1])[
                encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
            ]
            u = random.uniforms(key, rows)
            known = (codes >= 0) & (codes < len(position))
            out = codes.copy()
            for i in np.unique(codes[known]):
                mine = codes == i
                out[mine] = np.searchsorted(bounds[i], u[mine], side="right")
            published = self._typed(labels, table.schema.field(self.column).type)
            return with_column(table, self.column, published.take(pa.array(out, mask=codes < 0)))

        return run

    def _typed(self, labels: Sequence[str], kind: pa.DataType) -> Any:
        """The categories in the column's own type, where all that is published is one of them; else as texts."""
        texts = pa.array(labels, pa.string())
        if self.on_gap != "error" or pa.types.is_dictionary(kind):
            return texts
        own = texts.slice(0, len(self.categories))
        try:
            typed = _clock(own, kind) if pa.types.is_time(kind) else _bytes(own) if pa.types.is_binary(kind) else own.cast(kind)
        except (pa.ArrowException, ValueError):
            return texts
        return typed if canonical_text(typed).equals(own) else texts


def _clock(texts: Any, kind: pa.DataType) -> Any:
    """Times of day from their texts, which Arrow has no cast for."""
    moments = pc.binary_join_element_wise("1970-01-01 ", texts, "").cast(pa.timestamp("us"))
    return moments.cast(pa.time64("us")).cast(kind)


def _bytes(texts: Any) -> Any:
    """Bytes from their hexadecimal digits."""
    return pa.array([bytes.fromhex(t) for t in texts.to_pylist()], pa.binary())


def pram(
    column: str,
    values: Any,
    counts: Any = None,
    *,
    keep: float = 0.8,
    invariant: bool = True,
    categories: Sequence[str] | None = None,
    min_count: int = 1,
) -> Pram:
    """A PRAM step from the column's categories.

    Parameters
    ----------
    values, counts
        Distinct values and records per value.
    keep : float
        Chance to keep one's category (before the invariant correction), above 0 and below 1.
    invariant : bool
        Whether expected frequencies stay as they are.
    categories : sequence of str, optional
        The public list of categories; without it, those of at least ``min_count`` records. Others are suppressed, so that
        no rare category stands in the plan.

    Examples
    --------
    >>> step = pram("colour", ["red", "blue"], [30, 10], keep=0.7)
    >>> bool(np.allclose([10, 30] @ np.array(step.matrix), [10, 30]))
    True
    """
    if not 0 < keep < 1:
        hint = "With 1 nothing changes; 0 would tell what a category is not."
        raise PolicyError(f"the chance to keep a category must lie between 0 and 1; found {keep:g}.", hint=hint)
    texts = texts_of(column, values)
    sizes = counts_of(texts, counts)
    have = dict(zip(texts, sizes.tolist(), strict=True))
    names = tuple(categories) if categories is not None else tuple(sorted(t for t in texts if have[t] >= min_count))
    if len(names) > MOST_CATEGORIES:
        what = f"column '{column}' has {len(names):,} categories; PRAM's matrix has room for {MOST_CATEGORIES:,}."
        raise DataError(what, hint="Generalize the column first, name fewer categories=, or raise min_count.", column=column)
    if len(names) < 2:
        raise DataError(f"column '{column}' has {len(names)} categories to exchange; two are needed.", column=column)
    share = np.array([have.get(n, 0) for n in names], dtype=np.float64)
    size = len(names)
    p = np.full((size, size), (1 - keep) / (size - 1))
    np.fill_diagonal(p, keep)
    if invariant:
        p = invariant_matrix(p, share)
    gap: OnGap = "error" if set(texts) <= set(names) else "suppress"
    return Pram(column, names, tuple(tuple(float(v) for v in row) for row in p), invariant, gap)


def invariant_matrix(p: FloatArray, counts: Any) -> FloatArray:
    """P·Q with Q[j][i] = P[i][j]·λ_i / Σ P[i][j]·λ_i: a matrix that keeps the frequencies λ in expectation."""
    share = np.asarray(counts, dtype=np.float64)
    if share.sum() <= 0:
        raise DataError("no category has any record.")
    joint = p * (share / share.sum())[:, None]
    reached = joint.sum(axis=0)
    back = np.divide(joint.T, reached[:, None], out=np.eye(len(p)), where=reached[:, None] > 0)
    out = p @ back
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def estimate_counts(published: Any, step: Pram) -> FloatArray:
    """Unbiased estimate of the true counts from the published ones: t·R⁻¹.

    >>> step = Pram("c", ("a", "b"), ((0.9, 0.1), (0.2, 0.8)))
    >>> estimate_counts([100 * 0.9 + 50 * 0.2, 100 * 0.1 + 50 * 0.8], step).round(6).tolist()
    [100.0, 50.0]
    """
    matrix = np.asarray(step.matrix)
    if abs(np.linalg.det(matrix)) < 1e-12:
        raise DataError(f"the matrix of '{step.column}' cannot be inverted.", hint="Keep categories with a larger chance.")
    return np.asarray(np.linalg.solve(matrix.T, np.asarray(published, dtype=np.float64)))
