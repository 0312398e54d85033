"""A check for pandera data frame schemas: k-anonymity, with a failure text of counts only.

import pandera.pandas as pa
from shoal.release.gate.pandera_check import k_anonymous

schema = pa.DataFrameSchema(checks=k_anonymous(["age", "sex", "zip"], k=5))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.engines.open import open as open_table
from shoal.errors import UsageError, need


def smallest_class(frame: Any, quasi_identifiers: Sequence[str], *, unit: str | None = None) -> int:
    """Size of the smallest class of a data frame; 0 for an empty one.

    >>> import pandas as pd
    >>> smallest_class(pd.DataFrame({"a": [1, 1, None]}), ["a"])
    1
    """
    if len(frame) == 0:
        return 0
    wanted = [*quasi_identifiers, *([unit] if unit else [])]
    counts = open_table(frame[wanted]).count(tuple(quasi_identifiers), unit=unit)
    return int(counts.sizes.min())


def k_anonymous(quasi_identifiers: Sequence[str], k: int, *, unit: str | None = None) -> Any:
    """A pandera Check: every class on the quasi-identifiers has at least ``k`` members.

    An empty frame fails: nothing was checked. The check is on the frame as a whole, so that pandera has no failing rows to print.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise UsageError("k must be a whole number of at least 2.", hint="Use k=5 inside an organisation.")
    if isinstance(quasi_identifiers, str) or not quasi_identifiers:
        raise UsageError("quasi_identifiers must be a list of columns.", hint='Write ["age", "sex"].')
    try:
        from pandera.api.checks import Check
    except ImportError:
        raise need("pipelines", "pandera") from None
    names = tuple(quasi_identifiers)

    def holds(frame: Any) -> bool:
        return smallest_class(frame, names, unit=unit) >= k

    return Check(holds, name=f"k_anonymous_{k}", error=f"a class on {', '.join(names)} has fewer than {k} members")
