"""The second opinion: a deliberately simple count of a written file, from its bytes alone.

Takes    a file, its quasi-identifiers and sensitive columns, perhaps a person column
Returns  Facts: records, classes, k, uniques, class-size table, diversity and closeness of each sensitive column
Keeps    shares no code with engines, kernels, measures or search, so that a mistake there cannot vouch for itself
Cost     small files: one Python dictionary; large ones: sorted numpy codes, piece by piece (both give the same Facts)
Source   METHODS §19 (definitions); a missing value is a value of its own
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import EmptyTableError
from shoal.release.proof import read as recount_read
from shoal.release.proof.trees import Tree

SMALL_FILE = 3_000_000
"""Bytes of text, or cells of a Parquet file, up to which the dictionary is used."""


@dataclass(frozen=True)
class Inside:
    """What the classes tell about one sensitive column: the least diverse, and the farthest from the published table.

    ``recursive[l]`` is the largest r_1 / (r_l + … + r_m) over classes (None where a class has fewer than l values):
    recursive (c,l)-diversity holds when it is below c.
    """

    distinct: int
    entropy: float
    equal: float
    ordered: float
    recursive: Mapping[int, float | None] = field(default_factory=dict)
    hierarchical: float | None = None

    def to_json(self) -> dict[str, Any]:
        out = {
            "distinct": self.distinct,
            "entropy": _round(self.entropy),
            "t_equal": _round(self.equal),
            "t_ordered": _round(self.ordered),
            "recursive": {str(level): None if r is None else _round(r) for level, r in sorted(self.recursive.items())},
        }
        return out if self.hierarchical is None else {**out, "t_hierarchical": _round(self.hierarchical)}


@dataclass(frozen=True)
class Facts:
    """Numbers of a written file. ``sizes`` maps a class size to how many classes have it.

    With a person column, sizes and the values inside a class count people (a person with the same value twice counts once), and
    ``linked_k`` is the smallest number of people who have the same number of records in the same classes.
    """

    records: int
    classes: int
    k: int
    unique: int
    sizes: Mapping[int, int]
    sensitive: Mapping[str, Inside] = field(default_factory=dict)
    blanked: int = 0
    people: int | None = None
    linked_k: int | None = None

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "records": self.records,
            "classes": self.classes,
            "k": self.k,
            "unique": self.unique,
            "sizes": {str(size): n for size, n in sorted(self.sizes.items())},
            "risk": {"largest": 1.0 / self.k, "average": _round(self.classes / sum(s * n for s, n in self.sizes.items()))},
            "sensitive": {c: inside.to_json() for c, inside in sorted(self.sensitive.items())},
            "blanked": self.blanked,
        }
        if self.people is not None:
            out["people"] = self.people
            out["linked_k"] = self.linked_k
        return out


def _round(value: float) -> float:
    """Twelve decimals: more than two orders of summation agree on."""
    return round(value, 12) + 0.0


def alike(one: Any, other: Any) -> bool:
    """Whether two results in JSON form say the same: counts and words exactly, real numbers to 1e-9.

    >>> alike({"k": 5, "t": 0.25}, {"k": 5, "t": 0.25000000000000006}), alike({"k": 5}, {"k": 6}), alike(1, True)
    (True, False, False)
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(alike(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-9 * max(1.0, abs(one))
    return type(one) is type(other) and bool(one == other)


def recount(
    path: str | Path,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    unit: str | None = None,
    recursive: Mapping[str, Sequence[int]] | None = None,
    trees: Mapping[str, Tree] | None = None,
    way: str = "auto",
) -> Facts:
    """Count a written file again.

    Parameters
    ----------
    path : str or Path
        A CSV, Parquet, Arrow, Excel, SPSS or Stata file.
    quasi, sensitive : sequence of str
    unit : str, optional
        The person column, where the file still has one: classes then count people.
    recursive : mapping of sensitive column to levels l, optional
    trees : mapping of sensitive column to Tree, optional
        Closeness by the hierarchical distance is then counted too.
    way : str
        ``dictionary``, ``sorted`` or ``auto`` (by file size).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> f = pathlib.Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = f.write_text("age,ill\\n30,flu\\n30,flu\\n40,flu\\n40,hiv\\n40,hiv\\n")
    >>> facts = recount(f, ["age"], ["ill"])
    >>> facts.k, facts.classes, facts.sensitive["ill"].distinct, facts.sensitive["ill"].equal
    (2, 2, 1, 0.4)
    """
    wanted = [*quasi, *sensitive, *([unit] if unit else [])]
    source = Path(path)
    if way == "auto":
        way = "dictionary" if recount_read.size(source) <= SMALL_FILE else "sorted"
    levels = {c: tuple(sorted(set((recursive or {}).get(c, ())))) for c in sensitive}
    if way == "dictionary":
        return by_dictionary(recount_read.rows(source, wanted), len(quasi), sensitive, unit is not None, levels, trees or {})
    from shoal.release.proof.recount_sorted import by_sorting

    return by_sorting(recount_read.batches(source, wanted), len(quasi), sensitive, unit is not None, levels, trees or {})


def by_dictionary(
    rows: Iterable[tuple[Any, ...]],
    n_quasi: int,
    sensitive: Sequence[str],
    has_unit: bool,
    levels: Mapping[str, Sequence[int]],
    trees: Mapping[str, Tree],
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
    together = Counter(frozenset(p.items()) for p in places.values())
    return Facts(
        records=records,
        classes=len(sizes),
        k=min(members),
        unique=sum(m == 1 for m in members),
        sizes=dict(Counter(members)),
        sensitive={
            c: _inside(list(counts.values()), levels.get(c, ()), trees.get(c))
            for c, counts in zip(sensitive, inside, strict=True)
        },
        blanked=blanked,
        people=len(places) if has_unit else None,
        linked_k=min(together.values()) if has_unit else None,
    )


def _inside(classes: list[Counter[Any]], levels: Sequence[int], tree: Tree | None) -> Inside:
    whole: Counter[Any] = Counter()
    for counts in classes:
        whole.update(counts)
    total = sum(whole.values())
    order = value_order(list(whole))
    q = [whole[v] / total for v in order]
    entropies, equals, ordereds = [], [], []
    for counts in classes:
        n = sum(counts.values())
        p = [counts[v] / n for v in order]
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


def value_order(values: Sequence[Any]) -> list[Any]:
    """Sensitive values in their order: a missing value first, numbers by size, everything else by its text.

    >>> value_order(["10", "9", None]), value_order(["b", "10", "9"])
    ([None, '9', '10'], ['10', '9', 'b'])
    """
    present = [v for v in values if v is not None]
    missing = [v for v in values if v is None]
    numbers = [as_number(v) for v in present]
    if all(n is not None for n in numbers):
        return missing + [v for _, _, v in sorted(zip(numbers, map(str, present), present, strict=True), key=lambda x: x[:2])]
    return missing + sorted(present, key=str)


def as_number(value: Any) -> float | None:
    """The number that a cell spells, or None."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return float(value)
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in str(value) else None
