"""COUNT: by codes where the rows can be had as Arrow chunks and fit in memory, by SQL in the engine otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.request import CountRequest
from shoal.engines.count.by_codes import KeptCodes, can_count, count_by_codes
from shoal.engines.count.sql import count_by_sql
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
