"""What a plan falls short of: counted by people and by records; limits made stricter by exactly what they were missed by."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from shoal.model import requirement as req
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.release.plan import methods


def counts(matrix: list[list[int]]) -> ClassCounts:
    return ClassCounts([sum(row) for row in matrix], sensitive={"ill": SensitiveCounts.from_dense("ill", matrix)})


def prepared(by_record: ClassCounts | None) -> Any:
    asked = (req.K(2), req.AlphaK("ill", 0.6), req.Linkage(0.05))
    return SimpleNamespace(policy=SimpleNamespace(requirements=asked), by_record=by_record, trees={})


@pytest.mark.parametrize(
    ("people", "records", "missed"),
    [
        ([[1, 1], [2, 2]], None, []),
        ([[1, 1], [2, 2]], [[1, 1], [2, 2]], []),
        ([[1, 1], [2, 2]], [[3, 1], [2, 2]], [("diversity.ill.alpha", 0.75)]),
        ([[4, 1], [2, 2]], [[1, 1], [2, 2]], [("diversity.ill.alpha", 0.8)]),
        ([[1, 0], [2, 2]], None, [("k", 1), ("diversity.ill.alpha", 1.0)]),
    ],
)
def test_people_and_records_must_both_meet_the_requirements(
    people: list[list[int]], records: list[list[int]] | None, missed: list[tuple[str, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_record = None if records is None else counts(records)
    seen = []

    def published(_: Any, base: ClassCounts, codes: Any, stays: Any) -> ClassCounts:
        seen.append((base, codes, stays))
        return base

    monkeypatch.setattr(methods, "published", published)
    decision: Any = SimpleNamespace(released=counts(people), codes="codes", stays="stays", given={})
    found = methods.shortfalls(prepared(by_record), decision)
    assert [(v.requirement.name, v.found) for v in found] == missed
    assert seen == ([] if by_record is None else [(by_record, "codes", "stays")])


def test_a_limit_becomes_stricter_by_what_it_was_missed_by() -> None:
    diverse, close = req.EntropyDiversity("ill", 3.0), req.TCloseness("ill", 0.2)
    tight: dict[str, float] = {}
    assert methods._tighten([diverse.judged(2.5), close.judged(0.25)], tight)
    assert tight == pytest.approx({diverse.name: 3.5 + 1e-6, close.name: 0.15 - 1e-6}, abs=1e-12)
    assert methods._tighten([diverse.judged(2.9)], tight)
    assert tight[diverse.name] == pytest.approx(3.6 + 2e-6, abs=1e-12)


@pytest.mark.parametrize(
    "verdict",
    [
        pytest.param(req.DistinctDiversity("ill", 3).judged(2), id="its law is not 'union'"),
        pytest.param(req.DeltaDisclosure("ill", 1.0).judged(None), id="no finite number"),
        pytest.param(req.TCloseness("ill", 0.1).judged(0.3), id="the limit would be negative"),
        pytest.param(req.TCloseness("ill", 0.1).judged(0.2), id="the limit would be just below 0"),
    ],
)
def test_a_limit_that_cannot_become_stricter_ends_the_attempts(verdict: req.Verdict) -> None:
    assert not methods._tighten([verdict], {})
