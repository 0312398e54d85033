"""The use that a plan should serve best, if the policy states one: a table of counts, or predictions of a column.

Takes    a prepared table and the plans that the methods gave
Returns  the plans in order of the share of records that a reader of the release would get wrong, and a sentence with its scope
Method   ``counts``: each published record is spread evenly over the values that share its labels; counted are the records outside
         their own cell of the original table. ``predict``: the models of ``compare`` learn from published records and are
         tested on original ones; counted are the wrong predictions, the mean over the models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow.types as kinds

from shoal.errors import PolicyError
from shoal.kernels.group import group_codes
from shoal.measures.utility.analyses import MOST_CLASSES, Learned, model_scores
from shoal.model.counts.classes import ClassCounts, CodeArray, FloatArray, SensitiveCounts
from shoal.model.display import written
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision

Plans = Sequence[tuple[str, Decision]]

MOST_CELLS = 1_000_000
"""Cells of a table of counts that an objective may name."""
MOST_MODELS, MODEL_ROWS = 8, 2_000
"""Plans, those that lose least, whose predictions are tried; original records that models see."""
SEED, QUANTILES = 1, 10
"""Seed of the records drawn for models; groups that the numbers of a target with many values are predicted by."""


def ranked(prepared: Prepared, plans: Plans) -> tuple[Plans, list[float]]:
    """The plans, given in order of loss, in order of the objective, and the share of records that each gets wrong.

    Predictions that are worse than the best by at most its standard error are equal: the plan that loses less comes first.
    """
    objective = prepared.policy.objective
    if "counts" in objective:
        wrong = [count_error(prepared.base, d, objective["counts"]) for _, d in plans]
    else:
        wrong = [prediction_error(prepared.base, d, objective["predict"]) for _, d in plans[:MOST_MODELS]]
    equal = min(wrong) + _noise(prepared, min(wrong))
    order = sorted(range(len(wrong)), key=lambda i: (max(wrong[i], equal), i))
    return [plans[i] for i in order], [wrong[i] for i in order]


def _noise(prepared: Prepared, wrong: float) -> float:
    """Standard error of a share of wrong predictions; counts have none."""
    tested = min(prepared.base.n_records, MODEL_ROWS)
    return 0.0005 if "counts" in prepared.policy.objective else math.sqrt(wrong * (1.0 - wrong) / tested)


def stated(prepared: Prepared, decision: Decision, plans: Plans, wrong: Sequence[float]) -> Decision:
    """The decision, one of these plans, with what it does for the objective in its plan and in its certificate."""
    objective, tried = prepared.policy.objective, [d for _, d in plans]
    at, least = tried.index(decision), min(range(len(tried)), key=lambda i: tried[i].loss)
    share, others = f"{written(100 * wrong[at], 3)} % of the records", f"the {len(tried)} plans tried"
    if "counts" in objective:
        sentence = f"Objective: the table of counts of {', '.join(objective['counts'])}. The best of {others}: "
        sentence += f"{share} would be counted in another cell"
    else:
        noise = written(100 * _noise(prepared, min(wrong)), 2)
        sentence = f"Objective: predictions of {objective['predict']}. Of {others}, the one that loses least of those within "
        sentence += f"{noise} percentage points (a standard error) of the best: {share} tested are predicted wrong"
    sentence += "; it also loses least of all" * (at == least)
    sentence += f"; {written(100 * wrong[least], 3)} % in the plan that loses least" * (at != least)
    sentence += f"; {at} were passed over because known columns find more records than allowed" * (at > 0)
    plan = replace(decision.plan, notes=(*decision.plan.notes, f"{sentence}."))
    return replace(decision, plan=plan, notes=(*decision.notes, f"{sentence}."))


def count_error(base: ClassCounts, decision: Decision, columns: Sequence[str]) -> float:
    """Share of the records outside their cell of the table of counts, estimated from what is published."""
    places = [base.columns.index(c) for c in columns]
    own = [np.asarray(base.codes[j]) + 1 for j in places]  # 0 is a missing value
    shape = tuple(int(codes.max()) + 1 for codes in own)
    if math.prod(shape) > MOST_CELLS:
        what = f"the table of counts of 'objective' has {math.prod(shape):,} cells; at most {MOST_CELLS:,} are possible."
        raise PolicyError(what, hint="Name fewer columns.", path="objective.counts")
    original, shown = np.zeros(shape), np.zeros(shape)
    np.add.at(original, tuple(own), base.records_by_class)
    stays = decision.stays
    labels = [decision.codes[j][stays] for j in places]
    values = [_values_by_label(codes[stays], label) for codes, label in zip(own, labels, strict=True)]
    cells = group_codes(labels)
    mass = np.bincount(cells.ids, weights=base.records_by_class[stays], minlength=cells.n)
    for first, records in zip(cells.first.tolist(), mass.tolist(), strict=True):
        inside = [some[int(label[first])] for some, label in zip(values, labels, strict=True)]
        shown[np.ix_(*inside)] += records / math.prod(map(len, inside))
    return float(1.0 - np.minimum(original, shown).sum() / original.sum())


def _values_by_label(codes: CodeArray, labels: CodeArray) -> dict[int, CodeArray]:
    """The original codes that each label was published for."""
    return {int(label): np.unique(codes[labels == label]) for label in np.unique(labels)}


def prediction_error(base: ClassCounts, decision: Decision, target: str) -> float:
    """Share of original records that models of the published ones predict wrong; the mean over the models."""
    held = base.sensitive[target]
    rng = np.random.default_rng(SEED)
    entries = np.repeat(np.arange(len(held.counts)), held.counts)
    entries = np.sort(rng.choice(entries, MODEL_ROWS, replace=False)) if len(entries) > MODEL_ROWS else entries
    rows, y = held.classes[entries], _classes(held)[entries]
    published = [np.asarray(codes)[rows] for codes in decision.codes]
    own = _features([np.asarray(codes)[rows] for codes in base.codes])
    level, stays = _features(published), decision.stays[rows]
    keys = [*(c.astype(np.int64) for c in published), y.astype(np.int64)]
    data = Learned(own, level, level[stays], y, y[stays], (keys, [c[stays] for c in keys]), numeric=False)
    scores = [s.after for s in model_scores(target, data, seed=SEED) if s.score == "accuracy" and np.isfinite(s.after)]
    return 1.0 - float(np.mean(scores)) if scores else 1.0


def _classes(held: SensitiveCounts) -> FloatArray:
    """What is predicted of each entry: its value; of many values a tenth of the numbers, or one of the most frequent."""
    codes = held.values.astype(np.int64) + 1
    often = np.bincount(codes, weights=held.counts, minlength=1 + (0 if held.categories is None else len(held.categories)))
    if np.count_nonzero(often) > MOST_CLASSES and held.categories is not None and _is_number(held.categories.type):
        numbers = np.append(np.nan, held.categories.to_numpy(zero_copy_only=False).astype(np.float64))
        order = np.argsort(numbers, kind="stable")
        below = np.empty(len(often))
        below[order] = np.cumsum(often[order]) - often[order]
        return np.asarray(below * QUANTILES // often.sum(), dtype=np.float64)[codes]
    rank = np.empty(len(often))
    rank[np.argsort(-often, kind="stable")] = np.arange(len(often))
    return np.asarray(np.minimum(rank, MOST_CLASSES - 1))[codes]


def _is_number(kind: object) -> bool:
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind))


def _features(columns: Sequence[CodeArray], most: int = 20) -> FloatArray:
    """A column of 0 and 1 for each of the most frequent codes of each column."""
    out = []
    for codes in columns:
        values, often = np.unique(codes, return_counts=True)
        out.append(codes[:, None] == values[np.argsort(-often, kind="stable")[:most]])
    return np.hstack(out).astype(np.float64)
