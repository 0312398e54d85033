"""The order of sensitive amounts that are written with a sign or unit: $980.50 before $1,250.00.

Takes    ClassCounts with counts of sensitive columns
Returns  the same counts, with the order of each column of texts that are all numbers in one spelling and has no order yet
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow.types as kinds

from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import ClassCounts, SensitiveCounts

FEWEST, MOST = 3, 100_000
"""Different texts among which amounts are looked for; two are as far apart in either order."""


def in_written_order(counts: ClassCounts) -> ClassCounts:
    """The counts, with the orders of written amounts."""
    found = {name: order for name, s in counts.sensitive.items() if not s.order and (order := written_order(s))}
    if not found:
        return counts
    return replace(counts, sensitive={n: replace(s, order=found.get(n, s.order)) for n, s in counts.sensitive.items()})


def written_order(sensitive: SensitiveCounts) -> tuple[str, ...]:
    """The texts from the smallest number to the largest; empty where one is no number in the spelling of the others.

    >>> import pyarrow as pa
    >>> pay = pa.array(["$1,250.00", "$12,000.00", "$980.50"])
    >>> written_order(SensitiveCounts.from_dense("pay", [[1, 2, 3]], pay))
    ('$980.50', '$1,250.00', '$12,000.00')
    """
    values = sensitive.categories
    if values is None or not FEWEST <= len(values) <= MOST:
        return ()
    if not (kinds.is_string(values.type) or kinds.is_large_string(values.type)):
        return ()
    texts = canonical_text(values).to_pylist()
    if not all(any(map(str.isdigit, t)) for t in texts):
        return ()
    from shoal.hierarchies.builders.number_texts import Spelling  # loads every hierarchy builder

    spelling = Spelling.of(texts)
    numbers = {t: number for t in texts if (number := spelling.number(t)) is not None} if spelling else {}
    return tuple(sorted(texts, key=lambda t: float(numbers[t]))) if len(numbers) == len(texts) else ()
