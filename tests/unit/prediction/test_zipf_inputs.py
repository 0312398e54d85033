"""What ``predict zipf`` is given: counts, identifiers taken for counts, more places than were counted."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from shoal.errors import InfeasibleError, UsageError
from shoal.forms.counts import are_identifiers
from shoal.protector.pseudonyms.domains import by_trajectory

COUNTS = [round(900_000 * x**-0.632) for x in range(1, 31)]


def test_more_places_than_were_counted_are_extrapolated_and_said() -> None:
    few = shoal.predict("zipf", people=42_598_300, records=3, counts=COUNTS, limit=0.05)
    many = shoal.predict("zipf", people=42_598_300, records=3, counts=COUNTS, places=2497, limit=0.05)
    known = shoal.predict("zipf", people=42_598_300, records=3, exponent=0.632, places=2497, limit=0.05)
    assert many.value == pytest.approx(known.value, abs=0.01)
    assert many.more["records_allowed"] == known.more["records_allowed"] == 2
    assert few.more["records_allowed"] > 2
    assert many.grade == "C"
    assert any("carried on to 2,497" in n for n in many.answer.notes)


def test_exactly_the_counted_places_are_no_extrapolation() -> None:
    plain = shoal.predict("zipf", people=1000, records=2, counts=COUNTS)
    same = shoal.predict("zipf", people=1000, records=2, counts=COUNTS, places=30)
    assert (same.value, same.grade) == (plain.value, plain.grade)
    assert shoal.predict("zipf", people=1000, records=2, counts=COUNTS, places=31).grade == "C"
    with pytest.raises(UsageError, match="30 places were counted"):
        shoal.predict("zipf", people=1000, records=2, counts=COUNTS, places=29)
    with pytest.raises(UsageError, match="fitted to the counts"):
        shoal.predict("zipf", people=1000, records=2, counts=COUNTS, exponent=0.6)


def test_identifiers_are_not_counts(tmp_path: Path) -> None:
    file = tmp_path / "trips.csv"
    ids = [17, 23, 5, 17, 23, 17]
    file.write_text("grid_id,n\n" + "\n".join(f"{100 + i},{g}" for i, g in enumerate(ids)) + "\n")
    with pytest.raises(UsageError, match="identifiers, not counts") as caught:
        shoal.predict("zipf", people=100, counts=f"{file}:grid_id")
    assert "--table" in str(caught.value)


def test_identifiers_of_a_row_per_visit_repeat() -> None:
    """A file of visits names the same place again and again: its column of ids still holds no counts."""
    visits = [1500.0, 1500.0, 1508.0, 12.0, 1500.0]
    for name in ("grid_id", "id", "station-code", "place key"):
        assert are_identifiers(visits, f"f.csv:{name}")
    for name in ("visits", "number", "grid_idx", "paid"):
        assert not are_identifiers(visits, f"f.csv:{name}")
    assert not are_identifiers([*visits, 0.5], "f.csv:grid_id"), "no whole numbers"
    assert not are_identifiers(visits[:2], "f.csv:grid_id")
    assert are_identifiers([1.0, 2.0, 5.0], "f.csv:number")


def test_what_looks_like_an_identifier() -> None:
    close = [float(10_000 + i) for i in range(20)]
    assert are_identifiers(close, "f.csv:x")
    assert not are_identifiers(close[:19], "f.csv:x")
    assert not are_identifiers([*close[:-1], 100_001.0], "f.csv:x"), "more than ten times the smallest"
    assert are_identifiers([*close[:-1], 100_000.0], "f.csv:x")
    assert not are_identifiers([9_999.0, *close[1:]], "f.csv:x")
    assert not are_identifiers([1.0, 2.0], "f.csv:id")
    assert not are_identifiers([1.0, 2.0, 2.0], "f.csv:nr")
    assert not are_identifiers([1.0, 2.0, 2.5], "f.csv:id")
    assert not are_identifiers([1.0, 2.0, 3.0], "f.csv:paid")


@pytest.mark.parametrize(("per_row", "uses"), [(1, 2), (2, 1)])
def test_renewal_counts_places_not_rows(per_row: int, uses: int) -> None:
    made = by_trajectory(exponent=0.632, places=2497, people=42_598_300, limit=0.05, records_per_row=per_row)
    assert made.uses == uses


def test_a_row_of_more_places_than_allowed_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="one row of 3 places"):
        by_trajectory(exponent=0.632, places=2497, people=42_598_300, limit=0.05, records_per_row=3)
    with pytest.raises(UsageError, match="at least one place"):
        by_trajectory(exponent=0.632, places=2497, people=42_598_300, limit=0.05, records_per_row=0)


def test_several_exponents_are_several_curves() -> None:
    """One call answers for each exponent what a call of its own answers."""
    both = shoal.predict("zipf", people=10_000, records=[1, 2, 4], exponent=[0.9, 1.1], places=500, limit=0.05)
    for c in (0.9, 1.1):
        one = shoal.predict("zipf", people=10_000, records=[1, 2, 4], exponent=c, places=500, limit=0.05)
        assert [r[f"exponent {c}"] for r in both.more["shares"]] == [r["law"] for r in one.more["shares"]]
        assert both.more["records_allowed"][f"exponent {c}"] == one.more["records_allowed"]
    assert both.value == both.more["shares"][0]["exponent 0.9"]
    with pytest.raises(UsageError, match="no exponent"):
        shoal.predict("zipf", people=10_000, exponent=[], places=500)


def test_the_curve_of_several_exponents_has_a_line_for_each(tmp_path: Path) -> None:
    both = shoal.predict("zipf", people=1000, records=[1, 2], exponent=[0.9, 1.1], places=50)
    drawn = both.curve(tmp_path / "c.svg").read_text(encoding="utf-8")
    assert "exponent 0.9" in drawn
    assert "exponent 1.1" in drawn
