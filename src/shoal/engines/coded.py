"""COUNT by dictionary codes and kernels (to come): until then every count goes through SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.engines.base import Engine, Progress, Relation

if TYPE_CHECKING:
    from shoal.engines.sql import CountRequest
    from shoal.model.counts import ClassCounts


def can_count(relation: Relation, request: CountRequest) -> bool:
    return False


def count_by_codes(
    engine: Engine, relation: Relation, requests: Sequence[CountRequest], progress: Progress | None
) -> list[ClassCounts]:
    raise NotImplementedError
