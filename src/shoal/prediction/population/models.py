r"""Models of how the columns of a population depend on each other: which share of the people has each combination.

``independent``: main effects. ``tree``: the strongest pairs that form a tree. ``two-way``: main and all two-way effects, as in
sdcMicro's modRisk. ``latent-class``: :mod:`.latent_class`. Rare pairs are drawn towards independence: a pair seen once says
little about how common it is. :func:`average` mixes fitted models.

Source   METHODS §33; Skinner & Shlomo 2008 (log-linear models)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.prediction.attributes.correlation import fit_margins, mutual_information
from shoal.prediction.distribution import Floats
from shoal.prediction.population.sample import Ints, Sample, strength

MOST_CELLS = 1_000_000
"""All pairs are fitted on tables of at most this many combinations."""
LISTED = 100_000
"""Sums over all combinations are exact up to this many; beyond, they are estimated by draws from the model."""
SWEEPS = 40
CLOSE = 1e-6
"""Fitting stops when no pair is off by more than this share of the people."""
DRAWS = 20_000


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted population: ``share`` of each of the given combinations, and ``draw`` of so many people from it."""

    name: str
    share: Callable[[Ints], Floats]
    draw: Callable[[int, np.random.Generator], Ints]


@dataclass(frozen=True, eq=False)
class Shares:
    """What a model says: the share of each class of the sample, and all combinations as ``at`` with their ``numbers``.

    A sum over all combinations of h(share) is ``(numbers * h(at)).sum()``: exact where the table was listed, else by draws from
    the model, each standing for one over its share.
    """

    observed: Floats
    at: Floats
    numbers: Floats
    drawn: bool = True

    @classmethod
    def of(cls, model: Model, s: Sample, rng: np.random.Generator) -> Shares:
        observed = model.share(s.codes)
        if s.cells <= LISTED:
            return cls.listed(observed, model.share(combinations(s.levels)))
        at = model.share(model.draw(DRAWS, rng))
        return cls(observed, at, 1.0 / (at * DRAWS))

    @classmethod
    def listed(cls, observed: Floats, every: Floats) -> Shares:
        """From the share of every combination: shares within half a percent of each other are joined at their mean."""
        share = every[every > 0]
        place = np.floor(np.log(share) * 200).astype(np.int64)
        place -= int(place.min())
        count, total = np.bincount(place), np.bincount(place, weights=share)
        full = count > 0
        return cls(observed, total[full] / count[full], count[full].astype(np.float64), drawn=False)


def combinations(levels: Sequence[int]) -> Ints:
    """Every combination of values, one row each."""
    return np.indices(tuple(levels), dtype=np.int64).reshape(len(levels), -1).T


def average(fitted: Sequence[Model], weights: Floats) -> Model:
    """The mixture of fitted models; those without weight are left out."""
    used = [(m, float(w)) for m, w in zip(fitted, weights, strict=True) if w > 0]
    if len(used) == 1:
        return used[0][0]

    def share(codes: Ints) -> Floats:
        out: Floats = sum((w * m.share(codes) for m, w in used), np.zeros(len(codes)))
        return out

    def draw(people: int, rng: np.random.Generator) -> Ints:
        numbers = rng.multinomial(people, [w for _, w in used])
        return np.concatenate([m.draw(int(n), rng) for (m, _), n in zip(used, numbers, strict=True)])

    return Model("average", share, draw)


def independent(s: Sample) -> Model:
    """Main effects only."""

    def share(codes: Ints) -> Floats:
        out: Floats = np.prod([m[codes[:, j]] for j, m in enumerate(s.margins)], axis=0)
        return out

    def draw(people: int, rng: np.random.Generator) -> Ints:
        return np.stack([rng.choice(m.size, people, p=m) for m in s.margins], axis=1)

    return Model("independent", share, draw)


def tree(s: Sample) -> Model:
    """The spanning tree of pairs with the most information; each pair drawn towards independence."""
    edges = spanning_tree(s)
    steps = [(a, b, smoothed(s, a, b)) for a, b in edges]
    start = edges[0][0] if edges else 0

    def share(codes: Ints) -> Floats:
        out = s.margins[start][codes[:, start]].copy()
        for a, b, pair in steps:
            out *= pair[codes[:, a], codes[:, b]] / s.margins[a][codes[:, a]]
        return out

    def draw(people: int, rng: np.random.Generator) -> Ints:
        drawn = np.zeros((people, s.columns), dtype=np.int64)
        drawn[:, start] = rng.choice(s.levels[start], people, p=s.margins[start])
        for a, b, pair in steps:
            drawn[:, b] = _draw_rows(pair / s.margins[a][:, None], drawn[:, a], rng)
        return drawn

    return Model("tree", share, draw)


def two_way(s: Sample) -> Model:
    """Main and all two-way effects; only for tables of at most :data:`MOST_CELLS` combinations."""
    table = two_way_table(s)

    def draw(people: int, rng: np.random.Generator) -> Ints:
        cells = rng.choice(table.size, people, p=table.ravel())
        return np.stack(np.unravel_index(cells, table.shape), axis=1).astype(np.int64)

    return Model("two-way", lambda codes: table[tuple(codes.T)], draw)


def two_way_table(s: Sample) -> Floats:
    """The whole table with main and two-way effects, one axis per column."""
    pairs = {(i, j): smoothed(s, i, j) for i, j in itertools.combinations(range(s.columns), 2)}
    table = outer(s.margins)
    for _ in range(SWEEPS):
        worst = 0.0
        for (i, j), goal in pairs.items():
            now = table.sum(axis=tuple(a for a in range(s.columns) if a not in (i, j)))
            ratio = np.divide(goal, now, out=np.zeros_like(goal), where=now > 0)
            worst = max(worst, float(np.abs(now - goal).max()))
            table = table * ratio.reshape([s.levels[a] if a in (i, j) else 1 for a in range(s.columns)])
        if worst < CLOSE:
            break
    out: Floats = table / table.sum()
    return out


def spanning_tree(s: Sample) -> list[tuple[int, int]]:
    """Edges (parent, child) of the tree of greatest mutual information, each child after its parent."""
    gain = np.full((s.columns, s.columns), -1.0)
    for i, j in itertools.combinations(range(s.columns), 2):
        gain[i, j] = gain[j, i] = mutual_information(smoothed(s, i, j))
    done, edges = [0], []
    while len(done) < s.columns:
        left = [j for j in range(s.columns) if j not in done]
        a, b = max(((a, b) for a in done for b in left), key=lambda e: (gain[e], -e[0], -e[1]))
        edges.append((a, b))
        done.append(b)
    return edges


def smoothed(s: Sample, i: int, j: int) -> Floats:
    """Shares of two columns together, drawn towards independence by the strength of greatest likelihood."""
    counts = s.pair(i, j)
    centre = np.outer(s.margins[i], s.margins[j])
    alpha = strength(counts, centre)
    return fit_margins((counts + alpha * centre) / (s.people + alpha), [s.margins[i], s.margins[j]])


def outer(margins: tuple[Floats, ...]) -> Floats:
    """The table of the product of margins."""
    out = margins[0]
    for m in margins[1:]:
        out = np.multiply.outer(out, m)
    return out


def _draw_rows(rows: Floats, of: Ints, rng: np.random.Generator) -> Ints:
    """For each entry of ``of`` a draw from that row of a table of conditional shares."""
    cumulated = np.cumsum(rows, axis=1)
    u = rng.random(of.size) * cumulated[of, -1]
    out = np.zeros(of.size, dtype=np.int64)
    for value in np.unique(of):
        here = of == value
        out[here] = np.searchsorted(cumulated[value], u[here], side="right")
    inside: Ints = np.minimum(out, rows.shape[1] - 1).astype(np.int64)
    return inside
