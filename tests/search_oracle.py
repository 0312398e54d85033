"""A slow second opinion on full-domain recoding: plain Python over rows, written from the definitions, sharing no code."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.model import requirement as req
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.model.hierarchy import Hierarchy
from shoal.prediction.population.class_size_models import ewens_uniques
from shoal.prediction.population.uniques import population

Row = tuple[Any, ...]


@dataclass
class Table:
    """Rows of quasi-identifiers (text or None) with a sensitive value each, and hierarchies as rows of text."""

    columns: tuple[str, ...]
    rows: list[Row]
    sensitive: list[Any]
    trees: dict[str, list[list[str]]]
    population: list[Row] = field(default_factory=list)
    sensitive_tree: list[list[str]] = field(default_factory=list)

    @property
    def heights(self) -> list[int]:
        return [len(self.trees[c][0]) - 1 for c in self.columns]

    def nodes(self) -> Iterator[tuple[int, ...]]:
        return itertools.product(*(range(h + 1) for h in self.heights))

    def publish(self, row: Row, levels: Sequence[int]) -> Row:
        out = []
        for name, value, level in zip(self.columns, row, levels, strict=True):
            tree = self.trees[name]
            if value is None:
                open_ = any(all(line[i] == "*" for line in tree) for i in range(1, level + 1))
                out.append(tree[0][level] if open_ else None)
            else:
                out.append(next(line[level] for line in tree if line[0] == value))
        return tuple(out)

    def covered(self, name: str, value: Any, level: int) -> int:
        tree = self.trees[name]
        if value is None:
            open_ = any(all(line[i] == "*" for line in tree) for i in range(1, level + 1))
            return len(tree) if open_ else 1
        label = next(line[level] for line in tree if line[0] == value)
        return sum(line[level] == label for line in tree)

    def counts(self, rows: list[Row] | None = None) -> ClassCounts:
        """The same table as class counts; rows of the population have no sensitive value."""
        mine = self.rows if rows is None else rows
        classes = sorted(set(mine), key=repr)
        place = {c: i for i, c in enumerate(classes)}
        sizes = [0] * len(classes)
        for r in mine:
            sizes[place[r]] += 1
        codes, categories = [], []
        for j in range(len(self.columns)):
            values = sorted({c[j] for c in classes if c[j] is not None})
            codes.append([values.index(c[j]) if c[j] is not None else -1 for c in classes])
            categories.append(pa.array(values, pa.string()))
        sensitive = {}
        if rows is None:
            texts = sorted({s for s in self.sensitive if s is not None})
            pairs = Counter(
                (place[r], texts.index(s) if s is not None else -1) for r, s in zip(mine, self.sensitive, strict=True)
            )
            keys = sorted(pairs)
            sensitive["s"] = SensitiveCounts(
                "s",
                np.array([k[0] for k in keys]),
                np.array([k[1] for k in keys], dtype=np.int32),
                np.array([pairs[k] for k in keys]),
                pa.array(texts, pa.string()),
            )
        return ClassCounts(sizes, self.columns, codes, categories, sensitive)

    def hierarchies(self) -> dict[str, Hierarchy]:
        return {c: Hierarchy.from_rows(c, t) for c, t in self.trees.items()}


def passes(r: req.Requirement, values: Sequence[Any], table: Sequence[Any], matches: int, tree: list[list[str]]) -> bool:
    """Whether a class with these sensitive values meets a class requirement."""
    n, counts, whole = len(values), Counter(values), Counter(table)
    m = len(whole)
    p = {s: counts[s] / n for s in whole}
    q = {s: whole[s] / len(table) for s in whole}
    match r:
        case req.K():
            return n >= r.k
        case req.KMap():
            return matches >= r.k
        case req.MaxRisk():
            return Fraction(1, matches if r.attacker == "journalist" else n) <= Fraction(str(r.risk))
        case req.DistinctDiversity():
            return len(counts) >= r.l
        case req.PSensitive():
            return len(counts) >= r.p
        case req.EntropyDiversity():
            return math.exp(-sum(x * math.log(x) for x in p.values() if x)) >= r.l - 1e-9
        case req.RecursiveDiversity():
            ranked = sorted(counts.values(), reverse=True)
            return len(ranked) >= r.l and ranked[0] < Fraction(str(r.c)) * sum(ranked[r.l - 1 :])
        case req.AlphaK():
            return max(p.values()) <= r.alpha + 1e-9
        case req.BasicBeta():
            return all((p[s] - q[s]) / q[s] <= r.beta + 1e-9 for s in whole)
        case req.EnhancedBeta():
            return all((p[s] - q[s]) / q[s] <= min(r.beta, -math.log(q[s])) + 1e-9 for s in whole)
        case req.DeltaDisclosure():
            return all(p[s] > 0 and abs(math.log(p[s] / q[s])) < r.delta for s in whole)
        case req.TCloseness():
            return distance(r.distance, p, q, m, tree) <= r.t + 1e-9
    raise AssertionError(r)


def distance(kind: str, p: Mapping[Any, float], q: Mapping[Any, float], m: int, tree: list[list[str]]) -> float:
    if kind == "equal":
        return 0.5 * sum(abs(p[s] - q[s]) for s in q)
    if kind == "ordered":
        order = sorted(q, key=lambda s: (s is not None, s))
        run = np.cumsum([p[s] - q[s] for s in order])
        return float(np.abs(run).sum()) / max(1, m - 1)
    lines = {line[0]: line for line in tree}
    height = len(tree[0]) - 1
    extra: dict[tuple[int, str], float] = {(0, s): p[s] - q[s] for s in q}
    cost = 0.0
    for level in range(1, height + 1):
        kids = defaultdict(list)
        for (_, node), x in extra.items():
            label = next(line[level] for line in lines.values() if line[level - 1] == node)
            kids[label].append(x)
        extra = {(level, label): sum(xs) for label, xs in kids.items()}
        for xs in kids.values():
            cost += level / height * min(sum(x for x in xs if x > 0), -sum(x for x in xs if x < 0))
    return cost


@dataclass
class Verdict:
    levels: tuple[int, ...]
    feasible: bool
    suppressed: int
    kept: set[Row]
    loss: float


def judge(table: Table, levels: tuple[int, ...], requirements: Sequence[req.Requirement], limit: int, loss: str,
          weights: Mapping[str, float] | None = None) -> Verdict:  # fmt: skip
    """Recode the rows, decide class by class, and add up the loss row by row."""
    published = [table.publish(r, levels) for r in table.rows]
    crowd = Counter(table.publish(r, levels) for r in table.population)
    classes = defaultdict(list)
    for label, s in zip(published, table.sensitive, strict=True):
        classes[label].append(s)
    own = [r for r in requirements if r.scope == "class"]
    matched = {c: crowd[c] if table.population else len(v) for c, v in classes.items()}
    kept = {c for c, v in classes.items() if all(passes(r, v, table.sensitive, matched[c], table.sensitive_tree) for r in own)}
    for r in requirements:
        if r.scope == "table":
            first = {table.publish(c, levels): -i for i, c in reversed(list(enumerate(sorted(set(table.rows), key=repr))))}
            kept = fewest_removed(r, {c: len(v) for c, v in classes.items()}, kept, first)
    suppressed = sum(c not in kept for c in published)
    return Verdict(
        levels, bool(kept) and suppressed <= limit, suppressed, kept, loss_of(table, levels, published, kept, loss, weights)
    )


def fewest_removed(r: req.Requirement, sizes: Mapping[Row, int], kept: set[Row], first: Mapping[Row, int]) -> set[Row]:
    """Remove whole classes, the smallest first (of equals the one counted first), until the table's requirement holds.

    For the estimated population uniques, all classes of a size at once.
    """
    if isinstance(r, req.PopulationUniqueness):
        for least in sorted({0, *(sizes[c] + 1 for c in kept)}):
            stay = {c for c in kept if sizes[c] >= least}
            if not stay or estimated_uniques([sizes[c] for c in stay], r) <= r.share + 1e-9:
                return stay
    order = sorted(kept, key=lambda c: (-sizes[c], first[c]))
    for n in range(len(order), -1, -1):
        stay = order[:n]
        total = sum(sizes[c] for c in stay)
        if isinstance(r, req.AverageRisk) and n <= (r.risk + 1e-9) * total:
            return set(stay)
        if isinstance(r, req.SampleUniqueness) and sum(sizes[c] == 1 for c in stay) <= (r.share + 1e-9) * total:
            return set(stay)
    return set()


def estimated_uniques(sizes: Sequence[int], r: req.PopulationUniqueness) -> float:
    """Share of the population that is unique, by the method asked for; counted where the sample is the population."""
    if sum(sizes) == r.population:
        return sizes.count(1) / r.population
    found = estimate(tuple(sorted(sizes)), r.population)
    dankar = found.uniques.value if found.uniques else None
    uniques = dankar if r.method == "dankar" else found.model(r.method).uniques
    if r.method == "pitman" and uniques is None and found.model("pitman").parameters.get("alpha") == 0:
        fitted = found.model("pitman").parameters  # Ewens' law: not a second opinion, but a fit
        uniques = ewens_uniques(fitted["theta"], r.population)
    if uniques is None and 1 not in sizes:
        uniques = dankar
    return 1.0 if uniques is None else min(1.0, uniques / r.population)


estimate = functools.cache(population)


def loss_of(table: Table, levels: Sequence[int], published: Sequence[Row], kept: set[Row], loss: str,
            weights: Mapping[str, float] | None) -> float:  # fmt: skip
    n = len(table.rows)
    sizes = Counter(published)
    if loss == "discernibility":
        return float(sum(sizes[c] ** 2 for c in kept) + n * sum(sizes[c] for c in sizes if c not in kept))
    if loss == "average_class_size":
        return n / len(kept) if kept else math.inf
    weight = [float((weights or {}).get(c, 1.0)) for c in table.columns]
    per_column = []
    for j, name in enumerate(table.columns):
        d = len(table.trees[name])
        values = [r[j] for r in table.rows]
        labels = [c[j] for c in published]
        cell = []
        for i in range(n):
            gone = published[i] not in kept
            if loss in ("loss", "ncp"):
                share = d if gone else table.covered(name, values[i], levels[j])
                cell.append((share - 1) / (d - 1) if d > 1 else 0.0)
            elif loss == "precision":
                cell.append(1.0 if gone else levels[j] / max(1, len(table.trees[name][0]) - 1))
            else:
                inside = n if gone else sum(x == labels[i] for x in labels)
                cell.append(math.log2(inside / sum(x == values[i] for x in values)))
        per_column.append(sum(cell) / n)
    if loss == "loss":
        return math.exp(sum(w * math.log1p(x) for w, x in zip(weight, per_column, strict=True)) / sum(weight)) - 1
    return sum(w * x for w, x in zip(weight, per_column, strict=True)) / sum(weight)


def random_tree(rng: np.random.Generator, leaves: Sequence[str], *, star: bool) -> list[list[str]]:
    """A random hierarchy: leaves are merged at random, level by level; the last level is ``*`` or a few groups."""
    groups = list(range(len(leaves)))
    lines = [[leaf] for leaf in leaves]
    for level in range(int(rng.integers(0, 3))):
        merged = {g: int(rng.integers(0, max(1, len(set(groups)) - 1))) for g in sorted(set(groups))}
        groups = [merged[g] for g in groups]
        for line, g in zip(lines, groups, strict=True):
            line.append(f"L{level + 1}g{g}")
    if star or len(lines[0]) == 1:
        for line in lines:
            line.append("*")
    return lines


def random_table(seed: int, *, missing: bool = True, population: bool = False) -> Table:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 5))
    columns = tuple(f"c{j}" for j in range(m))
    trees = {}
    for name in columns:
        leaves = [f"{name}v{i}" for i in range(int(rng.integers(2, 6)))]
        trees[name] = random_tree(rng, leaves, star=bool(rng.random() < 0.85))
    n = int(rng.integers(8, 45))
    skew = float(rng.uniform(0.5, 2.5))

    def draw() -> Row:
        row: list[Any] = []
        for name in columns:
            tree = trees[name]
            weight = np.arange(1, len(tree) + 1) ** -skew
            row.append(tree[int(rng.choice(len(tree), p=weight / weight.sum()))][0])
            if missing and rng.random() < 0.05:
                row[-1] = None
        return tuple(row)

    rows = [draw() for _ in range(n)]
    values = [f"s{i}" for i in range(int(rng.integers(2, 6)))]
    sensitive: list[Any] = [values[int(i)] for i in rng.integers(0, len(values), n)]
    present = sorted(set(sensitive))
    tree = random_tree(rng, present, star=True)
    extra = [draw() for _ in range(2 * n)] if population else []
    return Table(columns, rows, sensitive, trees, rows + extra if population else [], tree)
