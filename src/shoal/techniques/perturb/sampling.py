"""Sampling: publish some of the records, so that nobody knows who is in the table.

A record (or, with ``unit``, a person) is in the sample when a keyed number of its content (or of the person) is below the share.
The same seed gives the same sample; with it and the table, anyone knows who is in the sample. RECODE draws the sample before
any other step and counts k afterwards, on the records that are published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import PolicyError
from shoal.kernels.text import canonical_text
from shoal.model.plan import RowStep, register_step
from shoal.techniques.kernels import draws as random
from shoal.techniques.kernels.draws import RowNumbers

if TYPE_CHECKING:
    import pyarrow as pa


@register_step
@dataclass(frozen=True)
class Sample(RowStep):
    """Publish each record, or each person of column ``unit`` with all their records, with the chance ``share``.

    Rows without a person are left out when there is a ``unit``.

    >>> import pyarrow as pa
    >>> from shoal.techniques import apply
    >>> 30 < apply(Sample(share=0.1), pa.table({"x": range(1000)})).table.num_rows < 200
    True
    """

    share: float = 1.0
    unit: str | None = None
    kind: ClassVar[str] = "sample"

    def __post_init__(self) -> None:
        if isinstance(self.share, bool) or not isinstance(self.share, (int, float)) or not 0 < self.share <= 1:
            raise PolicyError("the share of a sample must lie between 0 and 1.", hint="For example: Sample(share=0.1).")

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.unit,) if self.unit is not None else ()

    def start(self, seed: int) -> Callable[[pa.Table, RowNumbers], pa.Table]:
        key = random.derive(seed, "sample", self.unit or "")

        def chosen(table: pa.Table, rows: RowNumbers) -> npt.NDArray[np.bool_]:
            if self.unit is None:
                return np.asarray(random.uniforms(key, rows) < self.share)
            return _people(table.column(self.unit), key, self.share)

        return chosen


def _people(column: Any, key: bytes, share: float) -> npt.NDArray[np.bool_]:
    """Whether each row's person is in the sample; each person of a batch is looked at once."""
    encoded = canonical_text(column).dictionary_encode()
    people = encoded.dictionary.to_pylist()
    codes = encoded.indices.fill_null(len(people)).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*(random.share_of(key, p) < share for p in people), False], dtype=np.bool_)[codes])
