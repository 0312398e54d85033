r"""Risk of households: the chance that at least one member is named, since one named member names the others.

With members at risk :math:`r_i`, named independently of each other, the household's is :math:`1-\prod_i(1-r_i)`, and every member
has it. A household without an identifier (a missing value) is one person.

Source   Templ, Kowarik & Meindl 2015 (sdcMicro, hierarchical risk); Hundepool et al. 2012 §3.3
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError
from shoal.model.counts.classes import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class HouseholdRisk:
    """``risk`` of each household, its number of ``members``, and ``of_record``: the household of each record."""

    risk: FloatArray
    members: IntArray
    of_record: IntArray

    def __repr__(self) -> str:
        return f"<HouseholdRisk of {self.risk.size:,} households: mean {self.mean:.4g}, largest {self.max:.4g}>"

    @property
    def mean(self) -> float:
        """Mean over households."""
        return float(self.risk.mean())

    @property
    def max(self) -> float:
        return float(self.risk.max())

    @property
    def expected(self) -> float:
        """Expected number of people who live with somebody who is named, or are named."""
        return float((self.risk * self.members).sum())

    @property
    def per_record(self) -> FloatArray:
        """The household's risk for each record."""
        out: FloatArray = self.risk[self.of_record]
        return out

    def to_json(self) -> dict[str, Any]:
        return {
            "households": int(self.risk.size),
            "largest": int(self.members.max()),
            "mean": self.mean,
            "max": self.max,
            "expected_people": self.expected,
        }


def household_risk(risk: npt.ArrayLike, households: Sequence[Any]) -> HouseholdRisk:
    """Risk of each household from the risk of each record.

    Parameters
    ----------
    risk
        Of each record, 0 to 1.
    households
        The household of each record: values, None for a person alone; or batches of Arrow arrays.

    Examples
    --------
    >>> h = household_risk([0.5, 0.5, 0.1], ["a", "a", None])
    >>> h.per_record.tolist(), round(h.expected, 6)
    ([0.75, 0.75, 0.1], 1.6)
    """
    r = np.asarray(risk, dtype=np.float64)
    ids = _codes(households)
    if ids.size != r.size or r.size == 0:
        raise DataError("every record needs a risk and a household.", hint="A missing household is a person alone.")
    if not bool(np.all((r >= 0) & (r <= 1))):
        raise DataError("risks lie between 0 and 1.", hint="Pass one chance per record.")
    alone = ids < 0
    ids = ids.copy()
    ids[alone] = (int(ids.max()) if ids.size else -1) + 1 + np.arange(int(alone.sum()))
    home = np.unique(ids, return_inverse=True)[1].ravel().astype(np.int64)
    with np.errstate(divide="ignore"):
        logs = np.log1p(-r)
    joined = np.zeros(int(home.max()) + 1)
    np.add.at(joined, home, logs)
    return HouseholdRisk(-np.expm1(joined), np.bincount(home).astype(np.int64), home)


def _codes(households: Sequence[Any]) -> IntArray:
    """A number per household, -1 for none."""
    import pyarrow as pa

    arrow = (pa.Array, pa.ChunkedArray)
    if len(households) and isinstance(households[0], arrow):
        pieces = [c for h in households for c in (h.chunks if isinstance(h, pa.ChunkedArray) else [h])]
        values = pa.chunked_array(pieces).combine_chunks()
    else:
        values = pa.array(list(households))
    encoded = values.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    out: IntArray = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return out
