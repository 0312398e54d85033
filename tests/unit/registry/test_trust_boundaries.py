"""Statements, disputes and contradictions of records at their limits."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from registry_support import AGES, make
from shoal.errors import DataError, ShoalError, TamperError, UsageError
from shoal.kernels.signatures import signer
from shoal.registry.records.record import Record
from shoal.registry.records.summary import Rounded
from shoal.registry.records.trust import KINDS, ROOM, Statement, contradictions, dispute, outlier
from shoal.registry.records.vocabulary import most_merged

KEY, OTHER = signer(), signer()


@pytest.fixture(scope="module")
def record() -> Record:
    return make(AGES, cells=95)


def at(record: Record, cells: int | None = None, **statistics: Rounded) -> Record:
    """The record with other cells and other values of some statistics."""
    summary = replace(record.summary, statistics={**record.summary.statistics, **statistics})
    return replace(record, summary=replace(summary, cells=cells or summary.cells), signature="")


# --- statements ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_statement_is_of_a_key_or_of_a_record(kind, record):
    subjects = {True: record.id, False: OTHER.public}
    right = Statement(kind, subjects[kind == "revoke-record"], "", "2026-01-01", 1).signed(KEY)
    assert right.verify() is right
    assert Statement.from_json(right.to_json()) == right
    for wrong in (
        replace(right, subject=subjects[kind != "revoke-record"]).signed(KEY),
        replace(right, date="2026-02-30").signed(KEY),
        replace(right, number=2),
        replace(right, key=OTHER.public),
        replace(right, key="me"),
    ):
        with pytest.raises(ShoalError):
            wrong.verify()


def test_there_are_no_other_statements():
    with pytest.raises(UsageError, match="one of"):
        Statement("like", OTHER.public, "", "2026-01-01", 1).signed(KEY).verify()


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"format": "shoal-statement/2"},
        {"kind": 3},
        {"date": None},
        {"number": "1"},
        {"number": True},
        {"number": 1.0},
        {"signature": 5},
    ],
)
def test_a_statement_has_its_fields_and_no_others(change):
    right = Statement("endorse", OTHER.public, "", "2026-01-01", 1).signed(KEY).to_json()
    with pytest.raises(DataError):
        Statement.from_json({**right, **change})


def test_a_statement_that_is_no_object_or_lacks_a_field_is_refused():
    right = Statement("endorse", OTHER.public, "", "2026-01-01", 1).signed(KEY).to_json()
    for name in right:
        with pytest.raises(DataError, match="format"):
            Statement.from_json({n: v for n, v in right.items() if n != name})
    for wrong in ([], list(right), "text", None):
        with pytest.raises(DataError, match="format"):
            Statement.from_json(wrong)


# --- disputes --------------------------------------------------------------------------------------------------------------


def test_a_dispute_is_between_holders_about_one_topic(record):
    far = at(make(AGES, holder="B", cells=95), kappa=Rounded(3.0, 0.25), h2=Rounded(9.0, 0.5))
    mid = at(make(AGES, holder="C", cells=95), kappa=Rounded(2.0, 0.125), h2=Rounded(1.0, 0.5))
    near = at(record, kappa=Rounded(1.0, 0.25), h2=Rounded(9.0, 0.5))
    for records in ([near, mid, far], [far, mid, near]):
        found = dispute(records)
        assert dict(found.spread) == {"kappa": (0.75, 3.25), "h2": (0.5, 9.5)}
        assert found.records == tuple(records)
    assert dispute([near, replace(far, key=near.key)]) is None, "one holder corrects himself"
    assert dispute([near]) is None
    with pytest.raises(TamperError, match="different topics"):
        dispute([near, make([900, 800], codes=("sex",), cells=2)])


def test_a_sentence_states_the_distance(record):
    odd = at(record, kappa=Rounded(1.8, 0.01))
    assert outlier(odd, [], 1.0) == "Its κ lies 0.80 nats from that of the wider population."
    assert outlier(odd, [0.5, 1.0, 1.05]) == ("Its κ lies 0.80 nats from the median of 3 similar records (usual distance 0.05).")


# --- contradictions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cells", "most"), [(5, 20), (75, 20), (76, 20), (77, 19), (80, 16), (94, 2), (95, 1)])
@pytest.mark.parametrize("apart", [-0.01, 0.01])
def test_a_coarser_coding_merges_no_more_cells_than_it_can(record, cells, most, apart):
    """Of 95 ages, no more than 20 are in one band of 20 years, and no more than are merged at all."""
    bands = make([sum(AGES[i : i + 20]) for i in range(0, 95, 20)], codes=("age/20y",), cells=5)
    assert most_merged(bands.codes, record.codes) == 20
    alike = Rounded(record.summary.statistics["h2"].low - math.log(ROOM * most) + apart, 0.0)
    coarse = at(bands, cells=cells, h2=alike)
    for one, other in ((record, coarse), (coarse, record)):
        sentences = [sentence for _, sentence in contradictions(one, [other])]
        assert len(sentences) == (apart < 0)
        assert all(f"merging at most {most} cells" in sentence for sentence in sentences)


def test_a_coarser_coding_of_more_cells_is_no_bound(record):
    bands = make([sum(AGES[i : i + 20]) for i in range(0, 95, 20)], codes=("age/20y",), cells=5)
    for cells in (96, 97):
        assert contradictions(record, [at(bands, cells=cells, h2=Rounded(-50.0, 0.0))]) == []


@pytest.mark.parametrize(("high", "contradicts"), [(0.75, False), (0.7499, True)])
def test_together_a_kappa_is_at_least_the_sum_of_its_parts(record, high, contradicts):
    ages, sexes = at(record, kappa=Rounded(0.5, 0.0)), make([20_000, 20_000], codes=("sex",), cells=2)
    joint = make([n // 2 for n in AGES for _ in range(2)], codes=("age/years", "sex"), cells=190)
    margins = [ages, at(sexes, kappa=Rounded(0.25, 0.0))]
    found = [sentence for _, sentence in contradictions(at(joint, kappa=Rounded(high, 0.0)), margins)]
    assert any("below the sum" in sentence for sentence in found) is contradicts
