"""Sampling: publish some of the records, so that nobody knows who is in the table.

A record (or, with ``unit``, a person) is in the sample when a random number by position (or a keyed number of the person) is
below the share. The same seed gives the same sample. Sampling changes which rows exist, so it comes before a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.kernels import transform_random as random


def sample(batches: Iterable[Any], share: float, *, seed: int, unit: str | None = None) -> Iterator[Any]:
    """The sampled rows of pyarrow batches (or tables), in order.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch or Table
        As ``table.scan()`` gives them, or ``[table]``.
    share : float
        Chance of each record, or person, between 0 and 1.
    seed : int
        Decides the sample; whoever knows it, and the table, knows who is in the sample.
    unit : str, optional
        Column that names the person: all records of a person are in, or none. Rows without a person are left out.

    Examples
    --------
    >>> import pyarrow as pa
    >>> t = pa.table({"x": range(1000)})
    >>> [b.num_rows for b in sample([t], 0.1, seed=4)]
    [95]
    """
    if not 0 < share <= 1:
        raise UsageError(f"the share of a sample must lie between 0 and 1; found {share:g}.")
    key = random.derive(seed, "sample", unit or "")
    before = 0
    for batch in batches:
        chosen = _by_unit(batch, unit, key, share) if unit is not None else random.uniforms(key, before, batch.num_rows) < share
        before += batch.num_rows
        import pyarrow as pa

        yield batch.filter(pa.array(chosen))


def _by_unit(batch: Any, unit: str, key: int, share: float) -> npt.NDArray[np.bool_]:
    import pyarrow as pa

    from shoal.kernels.text import canonical_text

    column = batch.column(unit) if isinstance(batch, pa.Table) else batch.column(batch.schema.get_field_index(unit))
    encoded = canonical_text(column).dictionary_encode()
    people = [random.derive(key, text) / 2**64 < share for text in encoded.dictionary.to_pylist()]
    codes = encoded.indices.fill_null(len(people)).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*people, False], dtype=np.bool_)[codes])
