"""The order that sensitive texts say themselves: low, medium, high; 18-29, 30-44, 45+.

Takes    ClassCounts with counts of sensitive columns
Returns  the same counts, with the order of each column of texts that has none yet and says one
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow.types as kinds

from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import ClassCounts, SensitiveCounts

FEWEST, MOST = 3, 60
"""Different texts among which an order is looked for; two are as far apart in either order."""


def in_spoken_order(counts: ClassCounts) -> ClassCounts:
    """The counts, with the orders that words and bands say."""
    found = {name: order for name, s in counts.sensitive.items() if not s.order and (order := spoken_order(s))}
    if not found:
        return counts
    return replace(counts, sensitive={n: replace(s, order=found.get(n, s.order)) for n, s in counts.sensitive.items()})


def spoken_order(sensitive: SensitiveCounts) -> tuple[str, ...]:
    """The texts from low to high; empty where they are no texts, too many, or say no order.

    >>> import pyarrow as pa
    >>> spoken_order(SensitiveCounts.from_dense("pain", [[1, 2, 3]], pa.array(["high", "low", "medium"])))
    ('low', 'medium', 'high')
    """
    values = sensitive.categories
    if (
        values is None
        or not FEWEST <= len(values) <= MOST
        or not (kinds.is_string(values.type) or kinds.is_large_string(values.type))
    ):
        return ()
    from shoal.find.bands import band_order
    from shoal.find.orders import ladder_order

    texts = canonical_text(values).to_pylist()
    return ladder_order(texts)[1] or band_order(texts)
