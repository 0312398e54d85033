"""A pytest plugin: the fixture ``assert_k_anonymous``. Loaded at every start of pytest, so it imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import pytest


class AssertKAnonymous(Protocol):
    """What the fixture gives."""

    def __call__(self, table: Any, *, quasi: Iterable[str], k: int, unit: str | None = None) -> None: ...


@pytest.fixture(scope="session")
def assert_k_anonymous() -> AssertKAnonymous:
    """``assert_k_anonymous(table, quasi=[…], k=5, unit=None)`` fails, with counts only, where a class has fewer than k members.

    ``table`` is anything that :func:`shoal.open` accepts. A table without rows fails: nothing was tested.
    """
    return _check


def _check(table: Any, *, quasi: Iterable[str], k: int, unit: str | None = None) -> None:
    from shoal.api.measure import measure
    from shoal.errors import EmptyTableError

    __tracebackhide__ = True
    columns = [quasi] if isinstance(quasi, str) else list(quasi)
    try:
        measured = measure(table, quasi=columns, sensitive=(), unit=unit)
    except EmptyTableError:
        pytest.fail("the table has no rows: nothing was tested", pytrace=False)
    if measured.k < k:
        who = "people" if unit else "records"
        small = int((measured.counts.sizes < k).sum())
        pytest.fail(
            f"not {k}-anonymous on {', '.join(columns)}: {small:,} of {measured.classes:,} classes have fewer than {k} {who}, "
            f"the smallest {measured.k}",
            pytrace=False,
        )
