"""Link records: normal forms, candidate pairs, levels of agreement, a fitted model, and a decision for every pair.

Takes    records of one table, or of two (``split`` is where the second begins)
Returns  a :class:`Linked`: pairs that match, possible matches for a person to decide, the model
Keeps    the answer does not depend on the order of the records
Source   Fellegi and Sunter 1969; Winkler 1988; term frequencies as in Splink's documentation
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, UsageError
from shoal.linkage import model as em
from shoal.linkage.blocking import candidate_pairs
from shoal.linkage.model import weigh
from shoal.linkage.pairs import Linked
from shoal.linkage.pairs import one_to_one as one_to_one_decisions
from shoal.linkage.similarity import levels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.model import Model
    from shoal.linkage.records import Records

SAMPLE = 50_000
"""Pairs drawn beside the candidates, to see how people who are not the same agree."""

MATCH, POSSIBLE = 0.95, 0.05
"""Probabilities from which a pair is a match, or a possible one."""


def link_records(
    records: Records,
    *,
    split: int | None = None,
    model: Model | None = None,
    match: float = MATCH,
    possible: float = POSSIBLE,
    one_to_one: bool = False,
    seed: int = 0,
) -> Linked:
    """Decide which pairs are one person; ``one_to_one`` where nobody is twice in the same table."""
    if not 0 < possible <= match < 1:
        raise UsageError("the two limits are probabilities, the possible one not above the other.", hint="Say 0.05 and 0.95.")
    if one_to_one and split is None:
        raise UsageError("one to one is for two tables.", hint="Name a second table.")
    n = len(records)
    total = n * (n - 1) // 2 if split is None else split * (n - split)
    if total == 0:
        raise DataError("at least two records are needed.")
    left, right, left_out = candidate_pairs(records, split)
    seen = levels(records, left, right)
    if model is None:
        model = _fit_model(records, split, (left, right, seen), total, seed)
    else:
        model = model.for_fields(records.fields)
    weight = weigh(model, records, left, right, seen)
    chance = em.chance(weight, model.prior)
    kept = chance >= possible
    decision = np.where(chance >= match, "match", "possible")[kept]
    if one_to_one:
        decision = one_to_one_decisions(left[kept], right[kept], weight[kept], decision)
    return Linked(
        records=records, split=split, model=model, pairs=total, compared=len(left), blocks_left_out=left_out,
        left=left[kept], right=right[kept], weight=weight[kept], probability=chance[kept], levels=seen[kept], decision=decision,
    )  # fmt: skip


def _fit_model(records: Records, split: int | None, candidates: Any, total: int, seed: int) -> Model:
    """The model of all pairs: every candidate counts once, the others through a sample."""
    left, right, agreement = candidates
    others = _sample(records, split, left * len(records) + right, seed)
    patterns = np.concatenate([agreement, levels(records, others // len(records), others % len(records))])
    each = (total - len(left)) / max(len(others), 1)
    counts = np.concatenate([np.ones(len(left)), np.full(len(others), each)])
    distinct, place = np.unique(patterns, axis=0, return_inverse=True)
    pairs = np.bincount(place.ravel(), counts, minlength=len(distinct)).astype(np.float64)
    return em.fit(distinct, pairs, records.fields, seen=len(patterns))


def _sample(records: Records, split: int | None, known: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Pairs drawn at random that are not candidates, each once. Drawn in the order of content, not of rows."""
    n = len(records)
    border = n if split is None else split
    columns = [records.values[f.name] for f in records.fields]
    order = np.array(sorted(range(n), key=lambda i: tuple((c[i] is None, c[i] or "") for c in columns)), dtype=np.int64)
    firsts, seconds = order[order < border], order if split is None else order[order >= border]
    rng = np.random.default_rng(seed)
    if len(firsts) * len(seconds) <= 4 * SAMPLE:
        one, two = np.repeat(firsts, len(seconds)), np.tile(seconds, len(firsts))
    else:
        one, two = firsts[rng.integers(0, len(firsts), SAMPLE)], seconds[rng.integers(0, len(seconds), SAMPLE)]
    apart = one != two
    ids = np.minimum(one, two)[apart] * n + np.maximum(one, two)[apart]
    return np.setdiff1d(ids, known)
