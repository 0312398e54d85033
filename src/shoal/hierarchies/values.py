"""The values that a rule looks at: their texts and counts, and the error for values that it does not cover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import HierarchyError, HierarchyGapError, PolicyError, UsageError
from shoal.kernels.text import canonical_text
from shoal.model.plan import OnGap


def is_text(values: Any) -> bool:
    """Whether typed values are text: then numbers and dates must be read from it."""
    return hasattr(values, "null_count") and str(values.type) in ("string", "large_string", "string_view")


def texts_of(column: str, values: Any) -> tuple[str, ...]:
    """Canonical texts of distinct values; missing values are refused (they have no place in a hierarchy)."""
    if hasattr(values, "type") and hasattr(values, "null_count"):
        values = canonical_text(values).to_pylist()
    texts = tuple(values)
    missing = sum(1 for t in texts if t is None)
    if missing:
        raise HierarchyError(
            f"the values of '{column}' hold {missing} missing ones.",
            hint="Leave missing values out: they stay missing at every level, or get their own label.",
        )
    if not all(isinstance(t, str) for t in texts):
        raise UsageError(f"the values of '{column}' must be texts or a pyarrow array.")
    return texts


def counts_of(values: Sequence[Any] | npt.NDArray[Any], counts: Any) -> npt.NDArray[np.int64]:
    """Records per value; one each where no counts are given."""
    if counts is None:
        return np.ones(len(values), dtype=np.int64)
    given = np.asarray(counts)
    if given.dtype.kind not in "iu" and not (given.dtype.kind == "f" and bool((given == np.floor(given)).all())) and given.size:
        raise UsageError("counts and weights must be whole numbers of records.", hint="Round them, or repeat the records.")
    if given.ndim != 1 or len(given) != len(values):
        raise UsageError(f"there are {len(values)} values and {given.size} counts.")
    return given.astype(np.int64)


def gap_error(column: str, gaps: Sequence[str], records: int | None) -> HierarchyGapError:
    """The error for values that a hierarchy does not cover: counts in the message, values only in ``.values``."""
    of = f" ({records} records)" if records is not None else ""
    return HierarchyGapError(
        f"hierarchy '{column}' does not cover {len(gaps)} values{of}.",
        hint='Extend the hierarchy, or pass on_gap="suppress" or on_gap="top". See error.values.',
        column=column,
        values=tuple(gaps),
    )


def check_gap_choice(on_gap: OnGap) -> None:
    """Refuse an unknown ``on_gap``."""
    if on_gap not in ("error", "suppress", "top"):
        raise PolicyError(f"on_gap is '{on_gap}'.", hint="Choose error, suppress or top.")


def covered(column: str, texts: Sequence[str], counts: Any, covers: Callable[[str], bool], on_gap: OnGap) -> None:
    """Raise :func:`gap_error` for the texts that are not covered, unless ``on_gap`` takes care of them."""
    if on_gap != "error":
        return
    lost = [i for i, t in enumerate(texts) if not covers(t)]
    if lost:
        records = None if counts is None else int(np.asarray(counts)[lost].sum())
        raise gap_error(column, [texts[i] for i in lost], records)


def unlike(label: str, texts: Sequence[str]) -> str:
    """``label``, or a variant that is no value of the data."""
    taken, number, found = set(texts), 2, label
    while found in taken:
        found = f"{label} {number}"
        number += 1
    return found
