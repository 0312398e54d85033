"""What numpy does where nothing is compiled decides and orders exactly as the loops do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shoal
from shoal.kernels.jit import plain
from shoal.search.kernels import clusters, entries, sensitive_values
from shoal.search.kernels.sensitive_values import BAND, CAP, DISTINCT, ENTROPY, LEVELS, ORDERED, RECURSIVE

N_VALUES = 4
LEAST = {DISTINCT: (3.0, 0.0), ENTROPY: (3.6, 0.5), RECURSIVE: (0.6, 2.0), CAP: (0.0, 0.0), BAND: (0.6, 0.0)}


def drawn(seed: int) -> tuple[Any, ...]:
    """Cells in groups, and the counts of a sensitive column in each cell."""
    rng = np.random.default_rng(seed)
    n_cells, n_groups = 60, 12
    gid = rng.integers(0, n_groups, n_cells).astype(np.int32)
    gid[:n_groups] = np.arange(n_groups)
    cells = np.repeat(np.arange(n_cells, dtype=np.int32), 3)
    values = np.concatenate([rng.choice(N_VALUES, 3, replace=False) for _ in range(n_cells)]).astype(np.int32)
    counts = rng.integers(1, 5, len(cells)).astype(np.int64)
    return gid, n_groups, cells, values, counts


@pytest.mark.parametrize("seed", range(4))
def test_entries_are_ordered_and_added_up_alike(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gid, n, cells, values, counts = drawn(seed)
    found = []
    for compiled in (True, False):
        monkeypatch.setattr(entries, "is_compiled", lambda _, compiled=compiled: compiled)
        monkeypatch.setattr(entries, "_order_entries", plain(entries._order_entries))
        monkeypatch.setattr(entries, "_merge_entries", plain(entries._merge_entries))
        pointer, order = np.zeros(n + 2, dtype=np.int64), np.empty(len(cells), dtype=np.int32)
        entries.order_entries(gid, n, cells, pointer, order)
        merged = entries.merge_entries(pointer, order, n, values, counts, N_VALUES)
        found.append([pointer[: n + 1].tolist(), order.tolist(), *(m.tolist() for m in merged)])
        assert [m.dtype for m in merged] == [np.int32, np.int32, np.int64]
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", [DISTINCT, ENTROPY, RECURSIVE, CAP, BAND, LEVELS, ORDERED])
def test_requirements_are_decided_alike(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With limits that some groups pass and others do not."""
    verdicts = set()
    for seed in range(3):
        for first in tried(kind, seed):
            plainly = decided(kind, first, seed, monkeypatch, compiled=True)
            assert decided(kind, first, seed, monkeypatch, compiled=False) == plainly
            passed = [[not f and not w for f, w in zip(*plainly[:2], strict=True)]]
            for compiled in (True, False):
                failed, weak, _ = decided(kind, first, seed, monkeypatch, compiled=compiled, bound=False)
                passed.append([not f and not w for f, w in zip(failed, weak, strict=True)])
            assert passed[0] == passed[1] == passed[2]
            verdicts |= set(plainly[0]) if kind == DISTINCT else set(plainly[1])
    assert verdicts == {True, False}


def tried(kind: int, seed: int) -> list[float]:
    if kind in (LEVELS, ORDERED):
        return sorted({round(x, 3) for x in np.random.default_rng(seed).uniform(0.02, 0.4, 6).tolist()} | {0.25})
    return [LEAST[kind][0], LEAST[kind][0] * 0.9, LEAST[kind][0] * 1.2] if kind != DISTINCT else [2.0, 3.0, 4.0]


def decided(
    kind: int, first: float, seed: int, monkeypatch: pytest.MonkeyPatch, *, compiled: bool, bound: bool = True
) -> tuple[Any, ...]:
    gid, n, cells, values, counts = drawn(seed)
    if kind == DISTINCT:
        values = np.where(cells % 3 > 0, 0, values).astype(np.int32)
    pointer, order = np.zeros(n + 2, dtype=np.int64), np.empty(len(cells), dtype=np.int32)
    plain(entries._order_entries)(gid, n, cells, pointer, order)
    share = np.bincount(values, weights=counts, minlength=N_VALUES) / counts.sum()
    groups = np.array([[0, 0, 1, 1], [0, 1, 2, 3]], dtype=np.int32)
    n_groups = np.array([2, 4], dtype=np.int64)
    mass = np.array([[share[0] + share[1], share[2] + share[3], 0, 0], share])
    if kind == ORDERED:
        groups, n_groups, mass = groups[1:], n_groups[1:], mass[1:]
    failed, weak, removal = np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.int64)
    failed[n - 1] = True
    for module in (entries, sensitive_values):
        monkeypatch.setattr(module, "is_compiled", lambda _: compiled)
    second = LEAST.get(kind, (0.0, 0.0))[1]
    limits = np.full(N_VALUES, 0.3 + first / 20 if kind == CAP else 0.4)
    given = (share, kind, first, second, limits, groups, n_groups, mass)
    sensitive_values.check_values(pointer, order, values, counts, *given, 0, failed, weak, removal if bound else None)
    return failed.tolist(), weak.tolist(), removal.tolist()


@pytest.mark.parametrize(("pointer", "order"), [(4, 3), (5, 2)])
def test_entries_are_never_written_behind_the_end(pointer: int, order: int) -> None:
    gid, cells = np.array([0, 1, 2], dtype=np.int32), np.array([0, 1, 2], dtype=np.int32)
    entries.order_entries(gid, 3, cells, np.empty(5, dtype=np.int64), np.empty(3, dtype=np.int32))
    with pytest.raises(ValueError):
        entries.order_entries(gid, 3, cells, np.empty(pointer, dtype=np.int64), np.empty(order, dtype=np.int32))


def test_local_recoding_of_classes_that_all_stand_alone() -> None:
    """Each class is a cluster of its own, and one more group is tried for those that are left out."""
    people = {"age": [a for a in range(6) for _ in range(8)], "sex": ["f", "m"] * 24, "ill": ["a", "b", "c", "d"] * 12}
    quasi = {"age": {"hierarchy": {"intervals": [2]}}, "sex": {}}
    require = {"k": 2, "diversity": {"ill": {"distinct": 2}}}
    asked = {"roles": {"quasi": quasi, "sensitive": ["ill"]}, "require": require, "allow": {"suppress": 0.3}, "method": "local"}
    assert shoal.anonymize(people, asked).decision.loss == 0


def grouped_points(seed: int) -> dict[str, Any]:
    """Points with codes of three columns, the nodes of their trees, and what each costs."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 8, (60, 3)).astype(np.int32)
    groups = np.concatenate([np.arange(8) >> level for _ in range(3) for level in range(4)]).astype(np.int32)
    offsets = 8 * np.arange(12, dtype=np.int64).reshape(3, 4)
    price = np.concatenate([np.full(8, level / 9 + column / 30) for column in range(3) for level in range(4)])
    return {"points": points, "groups": groups, "offsets": offsets, "price": price, "records": rng.integers(1, 4, 60)}


@pytest.mark.parametrize("seed", range(6))
def test_clusters_gather_and_move_alike(seed: int) -> None:
    calls = {name: plain(getattr(clusters, name)) for name in ("_drop", "_widen", "_admit", "_nearest", "_host")}
    gather, improve = plain(clusters.gather_members, **calls), plain(clusters.improve, **calls)
    found = []
    for gathered_by, settled_by, improved_by in (
        (gather, plain(clusters.settle), improve),
        (clusters.gather_few, clusters.settle_by_columns, clusters.improve_few),
    ):
        of = grouped_points(seed)
        points, records, ranges = of["points"], of["records"], np.array([True, False, seed % 2 == 0])
        label = np.full(60, -1, dtype=np.int64)
        starts, prices = np.array([0, 8, 16, 24]), np.array([0.1, 1 / 3, 0.25])
        made = gathered_by(points, starts, ranges, prices, records, records, 5, np.arange(60), label, 0)
        gathered = label.tolist()
        first, levels = np.empty(made, dtype=np.int64), np.zeros((made, 3), dtype=np.int64)
        mass, members, cost = np.empty(made), np.empty(made, dtype=np.int64), np.empty(made)
        tree = (points, of["groups"], of["offsets"], of["price"], records, records)
        settled_by(label, *tree, first, levels, mass, members, cost)
        inside = np.argsort(label, kind="stable")
        begin = np.searchsorted(label[inside], np.arange(made + 1))
        order = np.argsort(-cost * mass, kind="stable")
        changed = improved_by(label, *tree, 5, first, levels, mass, members, cost, order, begin, inside)
        found.append([gathered, label.tolist(), changed, cost.tolist(), levels.tolist()])
    assert found[0] == found[1]
    assert found[0][2] > 0
