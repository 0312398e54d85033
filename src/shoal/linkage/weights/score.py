"""The weight of pairs under a model, where agreeing on a rare value counts for more than on a common one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from shoal.linkage.compare.levels import LEVELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.fields.records import Records
    from shoal.linkage.weights.model import Model

STEADY = 100.0
"""Records that the average share counts as, beside the values found: a small table does not tell which names are rare."""

OWN = {"number": 10, "email": 10, "phone": 10}
"""Records that may be of the two who are compared: so many of one number or address say nothing about others who have it."""

BY_VALUE = frozenset({"given", "family", "postcode", "text", "email", "phone", "number", "birth"})


def weigh(
    model: Model,
    records: Records,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    levels: NDArray[np.int8],
    *,
    seen: Mapping[str, Counter[str]] | None = None,
) -> NDArray[np.float64]:
    """The sum of the weights of all fields of each pair.

    Exact agreement on a value has weight log2(m/f) with the value's own share f of the records in place of u, drawn towards u
    where records are few. ``seen`` counts the values by field, where the records are only some of those that are known.
    """
    total = np.zeros(len(left))
    for place, field in enumerate(model.fields):
        weights = model.weights(place)[levels[:, place]]
        if field.kind in BY_VALUE:
            exact = levels[:, place] == len(LEVELS[field.kind]) - 1
            values = records.values[field.name]
            counts = Counter(v for v in values if v is not None) if seen is None else seen[field.name]
            shares = _shares(values, counts, float(model.u[place][-1]), OWN.get(field.kind, 2))
            weights[exact] = np.log2(model.m[place][-1] / shares[left[exact]])
        total += weights
    return total


def _shares(values: NDArray[np.object_], seen: Counter[str], usual: float, own: int) -> NDArray[np.float64]:
    """For each record, the share of other people's records with its value (``own`` of them set aside).

    :data:`STEADY` records count as having the usual share.
    """
    known = sum(seen.values())
    return np.array([1.0 if v is None else (max(seen[v] - own, 0) + STEADY * usual) / (known + STEADY) for v in values])
