"""Counts of sensitive values with the order of their categories, so that closeness ranks them as people do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shoal.errors import UsageError
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import ClassCounts


def in_order(counts: ClassCounts, orders: Mapping[str, Sequence[str]]) -> ClassCounts:
    """The counts, with the order of their sensitive values; an order that lacks a value of its column is refused."""
    found = {}
    for name, sensitive in counts.sensitive.items():
        if name not in orders:
            continue
        order = tuple(str(v) for v in orders[name])
        lacking = set(canonical_text(sensitive.categories).to_pylist()) - set(order)
        if lacking or len(set(order)) < len(order):
            what = f"lacks {len(lacking)} of its values" if lacking else "names a value twice"
            raise UsageError(f"the order of '{name}' {what}.", hint="List every value once, from low to high.", column=name)
        found[name] = replace(sensitive, order=order)
    return replace(counts, sensitive={**counts.sensitive, **found}) if found else counts
