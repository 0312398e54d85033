"""Rare values of a column whose other values are too many to stand in a plan: counted where the rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import PolicyError
from shoal.kernels.text import canonical_text
from shoal.model.plan import SUPPRESSED, ColumnStep, OnGap, Publishes, register_step
from shoal.techniques.columns import with_column


@register_step
@dataclass(frozen=True)
class Rare(ColumnStep):
    """Publish ``*`` for values of fewer than ``min_count`` records; missing ones stay missing.

    The plan names no value: it is what ``rare`` becomes where more values stay than a plan can hold.

    >>> import pyarrow as pa
    >>> Rare("job", min_count=2).run(pa.table({"job": ["nurse", "nurse", "astronaut", None]}), 0)["job"].to_pylist()
    ['nurse', 'nurse', '*', None]
    """

    min_count: int = 2
    on_gap: ClassVar[OnGap] = "suppress"
    kind: ClassVar[str] = "rare"
    publishes: ClassVar[Publishes] = "own"
    draws: ClassVar[bool] = False
    codes_apart: ClassVar[bool] = False
    by_place: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.min_count, bool) or not isinstance(self.min_count, int) or self.min_count < 1:
            raise PolicyError(f"min_count of '{self.column}' must be a whole number of at least 1.")

    def run(self, table: Any, seed: int) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = canonical_text(table.column(self.column))
        encoded = texts.dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        times = np.bincount(codes, minlength=len(encoded.dictionary) + 1)
        stays = pc.or_(pa.array(times[codes] >= self.min_count), texts.is_null())
        return with_column(table, self.column, pc.if_else(stays, texts, SUPPRESSED))
