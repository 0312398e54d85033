"""The recount by definition, row by row in one Python dictionary: what the recount of a release is tested against."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import EmptyTableError
from shoal.model.compare import at_most
from shoal.release.proof import recount as module
from shoal.release.proof.facts import Facts, Inside, value_order
from shoal.release.proof.read import rows as read_rows
from shoal.release.proof.trees import Tree


def recount(path, quasi, sensitive=(), *, unit=None, recursive=None, trees=None, orders=None, way="sorted") -> Facts:
    """Count a file: ``sorted`` as Shoal does, ``dictionary`` by definition."""
    if way == "sorted":
        return module.recount(path, quasi, sensitive, unit=unit, recursive=recursive, trees=trees, orders=orders)
    wanted = [*quasi, *sensitive, *([unit] if unit else [])]
    levels = {c: tuple(sorted(set((recursive or {}).get(c, ())))) for c in sensitive}
    return by_dictionary(
        read_rows(Path(path), wanted), len(quasi), sensitive, unit is not None, levels, trees or {}, orders or {}
    )


def by_dictionary(
    rows: Iterable[tuple[Any, ...]],
    n_quasi: int,
    sensitive: Sequence[str],
    has_unit: bool,
    levels: Mapping[str, Sequence[int]],
    trees: Mapping[str, Tree],
    orders: Mapping[str, Sequence[str]],
) -> Facts:
    """The definition, row by row: a dictionary from the quasi-identifier values to what was seen with them."""
    sizes: Counter[tuple[Any, ...]] = Counter()
    people: dict[tuple[Any, ...], set[Any]] = {}
    places: dict[Any, Counter[tuple[Any, ...]]] = {}
    inside: list[dict[tuple[Any, ...], Counter[Any]]] = [{} for _ in sensitive]
    told: set[tuple[Any, ...]] = set()
    records = blanked = 0
    for row in rows:
        key = row[:n_quasi]
        records += 1
        blanked += all(value == "*" for value in key)
        sizes[key] += 1
        for i in range(len(sensitive)):
            value = row[n_quasi + i]
            new = not has_unit or (i, key, value, row[-1]) not in told
            inside[i].setdefault(key, Counter())[value] += new
            if has_unit:
                told.add((i, key, value, row[-1]))
        if has_unit:
            people.setdefault(key, set()).add(row[-1])
            places.setdefault(row[-1], Counter())[key] += 1
    if not records:
        raise EmptyTableError("the written file has no records, so no anonymity number is defined.")
    members = [len(p) for p in people.values()] if has_unit else list(sizes.values())
    smallest = Counter(min(len(people[key]) for key in p) for p in places.values()) if has_unit else None
    together = Counter(frozenset(p.items()) for p in places.values())
    return Facts(
        records=records,
        classes=len(sizes),
        k=min(members),
        unique=sum(m == 1 for m in members) if smallest is None else smallest[1],
        sizes=dict(Counter(members)),
        sensitive={
            c: _inside(list(counts.values()), levels.get(c, ()), trees.get(c), orders.get(c, ()))
            for c, counts in zip(sensitive, inside, strict=True)
        },
        blanked=blanked,
        people=len(places) if has_unit else None,
        linked_k=min(together.values()) if has_unit else None,
        smallest=None if smallest is None else {size: n for size, n in smallest.items() if n},
    )


def _inside(classes: list[Counter[Any]], levels: Sequence[int], tree: Tree | None, said: Sequence[str]) -> Inside:
    whole: Counter[Any] = Counter()
    for counts in classes:
        whole.update(counts)
    total = sum(whole.values())
    order = value_order(list(whole), said)
    q = [whole[v] / total for v in order]
    entropies, equals, ordereds = [], [], []
    shares, changes, gains, bounded = [], [], [0.0], True
    for counts in classes:
        n = sum(counts.values())
        p = [counts[v] / n for v in order]
        shares.append(max(p))
        changes.append(max(abs(math.log(a / b)) if a > 0 else math.inf for a, b in zip(p, q, strict=True)))
        gained = [(a - b) / b for a, b in zip(p, q, strict=True)]
        gains.append(max(gained))
        bounded = bounded and all(at_most(g, -math.log(b)) for g, b in zip(gained, q, strict=True))
        entropies.append(-sum(x * math.log(x) for x in p if x > 0))
        equals.append(0.5 * sum(abs(a - b) for a, b in zip(p, q, strict=True)))
        run, moved = 0.0, 0.0
        for a, b in zip(p, q, strict=True):
            run += a - b
            moved += abs(run)
        ordereds.append(moved / (len(order) - 1) if len(order) > 1 else 0.0)
    return Inside(
        distinct=min(len(c) for c in classes),
        entropy=math.exp(min(entropies)),
        equal=max(equals),
        ordered=max(ordereds),
        recursive={level: _largest_ratio([sorted(c.values(), reverse=True) for c in classes], level) for level in levels},
        hierarchical=None if tree is None else max(_by_tree(counts, whole, tree) for counts in classes),
        alpha=max(shares),
        delta=max(changes),
        beta=max(gains),
        enhanced_beta=max(gains) if bounded else math.inf,
    )


def _by_tree(counts: Counter[Any], whole: Counter[Any], tree: Tree) -> float:
    """Earth mover's distance where two values are as far apart as their lowest common ancestor is high, over the tree's height.

    On a tree that is the sum over all nodes below the root of |P − Q| / (2 × height).
    """
    n, total, moved = sum(counts.values()), sum(whole.values()), 0.0
    for level in range(tree.height):
        nodes: dict[Any, float] = {}
        for value in whole:
            node = value if level == 0 else tree.path(value)[level - 1]
            nodes[node] = nodes.get(node, 0.0) + counts[value] / n - whole[value] / total
        moved += sum(abs(x) for x in nodes.values())
    return moved / (2 * tree.height)


def _largest_ratio(classes: list[list[int]], level: int) -> float | None:
    ratios = []
    for counts in classes:
        tail = sum(counts[level - 1 :])
        if tail == 0:
            return None
        ratios.append(counts[0] / tail)
    return max(ratios)
