"""People with several rows: every number over people equals its slow definition, and the laws of uniqueness hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from people_oracle import Everybody, Row, people_lacking, without_missing

QUASI = ("a", "b", "c")


def visits(seed: int, *, missing: bool = False) -> list[Row]:
    """A small table with one to four rows per person; now and then a row without an id."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for person in range(int(rng.integers(1, 12))):
        for _ in range(int(rng.integers(1, 5))):
            row: Row = {"id": None if rng.random() < 0.03 else f"p{person}"}
            row |= {c: None if missing and rng.random() < 0.15 else int(rng.integers(0, 3)) for c in QUASI}
            rows.append(row)
    return rows


def table(rows: list[Row]) -> pa.Table:
    types = {"id": pa.string()} | dict.fromkeys((*QUASI, "w"), pa.int64())
    return pa.table({c: pa.array([r[c] for r in rows], types[c]) for c in rows[0]})


def agrees(found: Any, slow: Everybody) -> None:
    assert (found.people, found.records, found.memberships) == (slow.people, len(slow.rows), slow.memberships)
    assert found.k == slow.k
    assert found.unique == slow.at(1)
    assert found.unique_share == pytest.approx(slow.at(1) / slow.people)
    assert found.people_at == {t: slow.at(t) for t in (1, 5, 10, 50, 100)}
    assert found.risk.prosecutor.mean == pytest.approx(slow.mean_risk)
    assert found.risk.marketer == pytest.approx(slow.mean_risk)
    assert found.risk.prosecutor.above == {str(t): slow.above(t) for t in (0.05, 0.09, 0.2, 0.33)}
    assert (found.whole_set.unique, found.whole_set.k) == (slow.unique_by_set, slow.k_of_sets)
    assert found.to_json()["whole_set"]["unique_share"] == pytest.approx(slow.unique_by_set / slow.people)


@pytest.mark.parametrize("seed", range(120))
def test_numbers_over_people_equal_their_definition(seed: int) -> None:
    rows = visits(seed)
    agrees(shoal.measure(table(rows), quasi=QUASI[: 1 + seed % 3], unit="id"), Everybody(rows, QUASI[: 1 + seed % 3], "id"))


@pytest.mark.parametrize("seed", range(60))
def test_rules_for_missing_values_count_people(seed: int) -> None:
    rows = visits(1000 + seed, missing=True)
    left = without_missing(rows, QUASI)
    found = shoal.measure(table(rows), quasi=QUASI, unit="id")
    agrees(found, Everybody(rows, QUASI, "id"))
    assert found.missing["members_with_missing"] == people_lacking(rows, QUASI, "id")
    if not left:
        assert found.missing["drop"]["people"] == 0
        return
    slow = Everybody(left, QUASI, "id")
    expected = {"k": slow.k, "unique": slow.at(1), "people": slow.people, "records": len(left), "classes": len(slow.members)}
    assert found.missing["drop"] == expected
    dropped = shoal.measure(table(rows), quasi=QUASI, unit="id", missing="drop")
    agrees(dropped, slow)
    for subset in dropped.subsets(2):
        inside = Everybody(left, subset.columns, "id")
        assert (subset.k, subset.unique) == (inside.k, inside.at(1)), subset.columns
    wild = shoal.measure(table(rows), quasi=QUASI, unit="id", missing="wildcard")
    assert wild.people == found.people
    assert wild.unique <= found.unique


@pytest.mark.parametrize("seed", range(40))
def test_columns_and_subpopulations_count_people(seed: int) -> None:
    rows = visits(2000 + seed)
    found = shoal.measure(table(rows), quasi=QUASI, unit="id", by="a")
    for subset in found.subsets(3):
        slow = Everybody(rows, subset.columns, "id")
        assert (subset.k, subset.unique) == (slow.k, slow.at(1)), subset.columns
    whole = Everybody(rows, QUASI, "id").at(1)
    for c in found.contributions():
        rest = Everybody(rows, [q for q in QUASI if q != c.column], "id").at(1)
        assert (c.unique_alone, c.unique_without, c.adds) == (Everybody(rows, [c.column], "id").at(1), rest, whole - rest)
    inside = [Everybody([r for r in rows if r["a"] == v], QUASI, "id") for v in {r["a"] for r in rows}]
    assert sorted((g.members, g.unique, g.sizes.min) for g in found.by.groups) == sorted((s.people, s.at(1), s.k) for s in inside)


@pytest.mark.parametrize("seed", range(40))
def test_against_a_population_people_are_as_exposed_as_their_rarest_class(seed: int) -> None:
    rows = visits(3000 + seed)
    everybody = rows + [r | {"id": f"q{i}"} for i, r in enumerate(visits(4000 + seed) * 2)]
    inside = Everybody(rows, QUASI, "id")
    outside = Everybody(everybody, QUASI, "id")
    found = shoal.measure(table(rows), quasi=QUASI, unit="id", population=table(everybody))
    mean = sum(1 / min(len(outside.members[key]) for key in keys) for keys in inside.classes.values()) / inside.people
    assert found.risk.journalist.mean == pytest.approx(mean)
    assert found.risk.marketer == pytest.approx(mean)
    assert found.population == outside.people


@pytest.mark.parametrize("seed", range(30))
def test_individual_risk_is_the_highest_of_a_persons_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [r | {"w": int(rng.integers(1, 9))} for r in visits(5000 + seed)]
    found = shoal.measure(table(rows), quasi=QUASI, unit="id", weight="w")
    of_class = dict(zip(zip(*(c.tolist() for c in found.counts.codes), strict=True), found.individual.risk.tolist(), strict=True))
    values = [c.to_pylist() for c in found.counts.categories]
    named = {tuple(v[i] for v, i in zip(values, key, strict=True)): risk for key, risk in of_class.items()}
    highest = [max(named[key] for key in keys) for keys in Everybody(rows, QUASI, "id").classes.values()]
    assert found.individual.expected == pytest.approx(sum(highest))
    assert found.individual.mean == pytest.approx(sum(highest) / len(highest))


@pytest.mark.parametrize("seed", range(60))
def test_laws(seed: int) -> None:
    """More known columns never lower uniqueness; coarser values never lower k or raise uniqueness; a lone class is a lone set."""
    rows = visits(6000 + seed)
    steps = [shoal.measure(table(rows), quasi=QUASI[:n], unit="id") for n in (1, 2, 3)]
    assert [m.unique for m in steps] == sorted(m.unique for m in steps)
    assert [m.whole_set.unique for m in steps] == sorted(m.whole_set.unique for m in steps)
    assert [m.k for m in steps] == sorted((m.k for m in steps), reverse=True)
    coarse = shoal.measure(table([r | {"a": r["a"] // 2} for r in rows]), quasi=QUASI, unit="id")
    assert coarse.k >= steps[-1].k
    assert coarse.unique <= steps[-1].unique
    assert coarse.whole_set.unique <= steps[-1].whole_set.unique
    assert all(m.whole_set.unique >= m.unique and m.whole_set.k <= m.k for m in (*steps, coarse))


def test_three_people_of_three() -> None:
    """The case that said "3 of 6 people"."""
    found = shoal.measure({"id": [1, 1, 2, 2, 3, 3], "q": list("abacad")}, quasi=["q"], unit="id")
    assert (found.records, found.people, found.memberships, found.unique, found.unique_share) == (6, 3, 6, 3, 1.0)
    assert found.sentence == (
        "3 of 3 people are one of a kind in at least one record on q; the smallest group has 1. "
        "By all records of a person together, 3 of 3 are one of a kind."
    )
    assert not found.check("unique_share<=0.99")
    assert found.check("unique_share<=1, whole_set.unique==3, whole_set.k<=1")


def test_nobody_alone_yet_all_told_apart_by_their_sets() -> None:
    """Everybody shares each place with somebody, nobody shares both."""
    found = shoal.measure({"id": [1, 1, 2, 2, 3, 3], "place": list("abbcca")}, quasi=["place"], unit="id")
    assert (found.unique, found.k, found.whole_set.unique, found.whole_set.k) == (0, 2, 3, 1)
    assert found.sentence.startswith("None of 3 people is one of a kind in at least one record on place;")
    assert found.entropy_risk["rr"] is None
    pairs = shoal.measure({"id": [1, 1, 2, 2], "place": list("abab")}, quasi=["place"], unit="id")
    assert pairs.sentence.endswith("nobody is one of a kind; each set of records is that of at least 2.")


def test_one_row_each_reads_as_before() -> None:
    found = shoal.measure({"id": [1, 2, 3, 3], "q": list("abbb")}, quasi=["q"], unit="id")
    assert found.sentence == "1 of 3 people is one of a kind on q; the smallest group has 1."
    assert (found.memberships, found.whole_set.unique, found.whole_set.k) == (3, 1, 1)
