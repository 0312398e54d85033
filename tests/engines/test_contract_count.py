"""COUNT gives the same classes on every engine as the definition gives in plain Python."""

from __future__ import annotations

from typing import Any

import pytest

import shoal
from engines import awkward, oracle
from engines.comparing import as_dict
from engines.targets import Target


@pytest.fixture(scope="session")
def loaded(target: Target) -> str:
    """The awkward rows, once per engine."""
    return target.load(awkward.rows(), awkward.TYPES)


def checked(source: str, rows: list[dict[str, Any]], columns: list[str], **options: Any) -> None:
    with shoal.open(source) as table:
        found = as_dict(table.count(columns, **options), numeric=set())
    expected = oracle.count(rows, columns, **options)
    assert found["sizes"] == expected["sizes"]
    assert found["records"] == expected["records"]
    assert found["weights"] == expected["weights"]
    assert found["sensitive"] == expected["sensitive"]
    assert found["people"] == expected["people"]


@pytest.mark.parametrize("column", list(awkward.COLUMNS))
def test_one_column_of_awkward_values(loaded: str, column: str) -> None:
    checked(loaded, awkward.rows(), [column])


def test_kinds_are_the_same_everywhere(loaded: str) -> None:
    with shoal.open(loaded) as table:
        kinds = {c.name: c.kind for c in table.schema.columns}
    expected = {n: {"fine": "decimal", "wide": "decimal"}.get(n, k) for n, k in awkward.TYPES.items()}
    assert kinds == expected
