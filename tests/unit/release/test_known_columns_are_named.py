"""A release that known columns refuse names the worst of them and says what to do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from shoal.errors import VerificationError
from shoal.measures.subsets.column_sets import KnownColumns
from shoal.model.certificate.parts import Known
from shoal.release.make import known_columns


def refused(name: str) -> VerificationError:
    verdict = SimpleNamespace(requirement=SimpleNamespace(name=name))
    return VerificationError("the written file does not meet a requirement", hint="Or allow more.", findings=(verdict,))


def test_the_refusal_names_the_columns_that_find_most() -> None:
    worst = Known(("lead", "iron", "sex"), 80, 100, 100, (), ())
    error = known_columns.name_worst(refused("known_columns"), worst, ("sex",))
    assert error.hint == "'lead', 'iron', 'sex' find 80 %: move 'lead' or 'iron' to direct and run again. Or allow more."


def test_other_refusals_stay_as_they_are() -> None:
    worst = Known(("lead",), 80, 100, 100, (), ())
    for error in (
        known_columns.name_worst(refused("k"), worst, ()),
        known_columns.name_worst(refused("known_columns"), None, ()),
        known_columns.name_worst(refused("known_columns"), worst, ("lead",)),
        known_columns.name_worst(VerificationError("x", hint="Or allow more."), worst, ()),
    ):
        assert error.hint == "Or allow more."


def test_columns_that_were_counted_alone_only_are_counted_again_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many columns only some are put together; when these are left out, the next ones may find people."""
    rounds = [
        KnownColumns(100, {("a",): 90, ("b",): 1, ("c",): 2}, 100, left_out=("b", "c")),
        KnownColumns(100, {("b",): 1, ("c",): 2, ("b", "c"): 40}, 100, left_out=("d",)),
        KnownColumns(100, {("b",): 1, ("d",): 0}, 5),
    ]
    asked: list[tuple[str, ...]] = []

    def count(prepared: Any, decision: Any, without: Any = ()) -> dict[str, KnownColumns]:
        asked.append(tuple(without))
        return {"records": rounds[len(asked) - 1]}

    monkeypatch.setattr(known_columns, "_counted_before", count)
    prepared: Any = SimpleNamespace(quasi=("age",))
    out = known_columns.finding_columns(prepared, prepared, 0.05)
    assert out == {"a": "it finds 90 % of the records", "c": "with 'b' it finds 40 % of the records"}
    assert asked == [(), ("a",), ("a", "c")]
    monkeypatch.setattr(known_columns, "_counted_before", lambda *a: {})
    assert known_columns.finding_columns(prepared, prepared, 0.05) is None
