"""COUNT: by codes where the rows can be had as Arrow chunks and fit in memory, by SQL in the engine otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.request import CountRequest
from shoal.engines.count.by_codes import KeptCodes, can_count, count_by_codes
from shoal.engines.count.sql import count_by_sql
from shoal.errors import UsageError
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import Progress


def count(
    engine: Engine,
    relation: Relation,
    requests: Sequence[CountRequest],
    progress: Progress | None = None,
    kept: KeptCodes | None = None,
) -> list[ClassCounts]:
    """The classes of each request, all of one state of the table where the engine can promise it; ``kept`` as in
    :func:`shoal.engines.count.by_codes.read_codes`."""
    engine.give_back()
    if requests and all(can_count(relation, r) for r in requests):
        return count_by_codes(relation, requests, progress, kept)
    with engine.snapshot():
        return [_one(engine, relation, request, progress) for request in requests]


def _one(engine: Engine, relation: Relation, request: CountRequest, progress: Progress | None) -> ClassCounts:
    if can_count(relation, request):
        return count_by_codes(relation, [request], progress)[0]
    return count_by_sql(engine, relation, request)


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
