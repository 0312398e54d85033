"""Populations whose truth is known: one row of codes per person. Each is generated from its seed alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Codes = np.ndarray
Rng = np.random.Generator


def singles_and_crowds(rng: Rng, people: int = 10_000, crowds: int = 150, columns: int = 4) -> Codes:
    """Half of the people have a combination of their own; the others share a few crowded ones."""
    values = max(12, round((4 * people) ** (1 / columns)))
    alone = people // 2
    cells = rng.choice(values**columns, alone + crowds, replace=False)
    of = np.concatenate([np.arange(alone), alone + rng.integers(0, crowds, people - alone)])
    return _digits(cells[of], values, columns)


def addresses(rng: Rng, people: int = 10_000, crowds: int = 150, row: int = 75) -> Codes:
    """Half of the people fill the table of two columns, one each, as people have one address; the others share a few cells."""
    alone = people // 2
    cells = np.concatenate([np.arange(alone) + crowds, rng.integers(0, crowds, people - alone)])
    return np.stack(np.divmod(cells, row), axis=1)


def hidden_groups(
    rng: Rng, people: int = 12_000, types: int = 30, columns: int = 5, values: int = 8, focus: float = 0.25
) -> Codes:
    """Each person belongs to one of a number of types, which no column shows; a type has its own shares in every column."""
    kind = rng.choice(types, people, p=rng.dirichlet(np.full(types, 1.0)))
    out = np.zeros((people, columns), dtype=np.int64)
    for j in range(columns):
        shares = rng.dirichlet(np.full(values, focus), types)
        out[:, j] = (rng.random(people)[:, None] > np.cumsum(shares, axis=1)[kind]).sum(axis=1).clip(max=values - 1)
    return out


def income_survey(rng: Rng, people: int = 14_800) -> Codes:
    """As in EU-SILC: households with a region; age, sex, activity (follows from age and sex) and household size."""
    rows: list[tuple[int, int, int, int, int]] = []
    region_shares = rng.dirichlet(np.full(9, 6.0))
    while len(rows) < people:
        size = int(rng.choice(np.arange(1, 8), p=[0.30, 0.28, 0.17, 0.15, 0.06, 0.03, 0.01]))
        region = int(rng.choice(9, p=region_shares))
        head = int(np.clip(rng.normal(62 if size == 1 else 52, 18 if size <= 2 else 9), 18, 97))
        ages = [head] + ([int(np.clip(head + rng.normal(-2, 4), 18, 97))] if size > 1 else [])
        ages += [int(np.clip(head - 28 + rng.normal(0, 5), 0, 60)) for _ in range(size - 2)]
        for place, age in enumerate(ages):
            sex = int(rng.random() < 0.5) if place != 1 else 1 - rows[-1][1]
            rows.append((age, sex, region, _activity(rng, age, sex), size))
    return np.array(rows[:people], dtype=np.int64)


def _activity(rng: Rng, age: int, sex: int) -> int:
    if age < 16:
        return 0
    if age < 24:
        return int(rng.choice([1, 2, 3], p=[0.4, 0.08, 0.52]))
    if age < 60:
        shares = [0.78, 0.07, 0.02, 0.03, 0.02, 0.08] if sex else [0.55, 0.06, 0.02, 0.02, 0.03, 0.32]
        return int(rng.choice([1, 2, 3, 4, 5, 6], p=shares))
    return int(rng.choice([1, 4, 6], p=[0.12, 0.8, 0.08])) if age < 66 else int(rng.choice([4, 6], p=[0.93, 0.07]))


def mixture(rng: Rng, people: int = 12_000) -> Codes:
    """Two thirds follow a chain of columns closely; one third answer at random."""
    a = rng.integers(0, 40, people)
    b = (a // 2 + rng.integers(0, 2, people)) % 20
    c = (b // 2 + rng.integers(0, 2, people)) % 10
    out = np.stack([a, b, c, rng.integers(0, 3, people)], axis=1)
    noise = rng.random(people) < 1 / 3
    out[noise] = np.stack([rng.integers(0, k, int(noise.sum())) for k in (40, 20, 10, 3)], axis=1)
    return out


def latent_scale(rng: Rng, people: int = 12_000, columns: int = 5) -> Codes:
    """One hidden number per person; each column is that number with noise, rounded."""
    hidden = rng.standard_normal(people)
    parts = [hidden * w + np.sqrt(1 - w * w) * rng.standard_normal(people) for w in np.linspace(0.5, 0.9, columns)]
    return np.stack([np.floor(4 * (p + 4)).clip(0, 31) for p in parts], axis=1).astype(np.int64)


def three_way(rng: Rng, people: int = 12_000, values: int = 16) -> Codes:
    """Any two of three columns are independent; the third follows from both, for nine people of ten."""
    a, b = rng.integers(0, values, people), rng.integers(0, values, people)
    c = np.where(rng.random(people) < 0.9, (a + b) % values, rng.integers(0, values, people))
    return np.stack([a, b, c, rng.integers(0, 6, people)], axis=1)


def twins(rng: Rng, people: int = 10_000) -> Codes:
    """Every combination belongs to exactly two people."""
    cells = rng.choice(20**4, people // 2, replace=False)
    return _digits(np.repeat(cells, 2), 20, 4)


def clusters(rng: Rng, people: int = 12_000) -> Codes:
    """Families share district, origin and income band; age and sex are their own."""
    sizes = rng.choice([1, 2, 3, 4, 5], people, p=[0.35, 0.3, 0.15, 0.13, 0.07])
    family = np.repeat(np.arange(people), sizes)[:people]
    shared = np.stack(
        [rng.integers(0, 60, people), np.minimum(rng.geometric(0.4, people) - 1, 12), rng.integers(0, 8, people)], axis=1
    )
    own = np.stack([rng.integers(0, 18, people), rng.integers(0, 2, people)], axis=1)
    return np.concatenate([shared[family], own], axis=1)


def zipf(rng: Rng, people: int = 12_000, columns: int = 4, values: int = 60, exponent: float = 1.1) -> Codes:
    """Independent columns, each with shares by Zipf's law."""
    shares = np.arange(1, values + 1) ** -exponent
    return np.stack([rng.choice(values, people, p=shares / shares.sum()) for _ in range(columns)], axis=1)


def all_unique(rng: Rng, people: int = 10_000) -> Codes:
    """Everybody has a combination of their own."""
    return _digits(rng.choice(20**4, people, replace=False), 20, 4)


POPULATIONS: dict[str, Callable[[Rng], Codes]] = {
    "singles and crowds": singles_and_crowds,
    "addresses": addresses,
    "hidden groups": hidden_groups,
    "income survey": income_survey,
    "mixture": mixture,
    "latent scale": latent_scale,
    "three-way": three_way,
    "twins": twins,
    "clusters": clusters,
    "zipf": zipf,
    "all unique": all_unique,
}


def _digits(cells: Codes, values: int, columns: int) -> Codes:
    return np.stack([cells // values**j % values for j in range(columns)], axis=1).astype(np.int64)


class Population:
    """People by combination; ``sample`` returns the classes of a random sample with their true sizes in the population."""

    def __init__(self, codes: Codes, together: int = 1) -> None:
        """``together`` neighbours of the population are sampled as one, as a survey of households does."""
        self.together = together
        self.cells, of, self.sizes = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
        self.of, self.people = of.ravel(), len(codes)

    def sample(self, people: int, rng: Rng) -> tuple[list[Codes], Codes, Codes]:
        """Codes per column, people in the sample, people in the population: one entry per class of the sample."""
        first = rng.choice(self.people // self.together, people // self.together, replace=False) * self.together
        chosen = (first[:, None] + np.arange(self.together)).ravel()
        classes, f = np.unique(self.of[chosen], return_counts=True)
        return list(self.cells[classes].T), f, self.sizes[classes]

    def truths(self, f: Codes, here: Codes) -> dict[str, float]:
        """What the intervals of a sample must contain."""
        return {
            "alone": float(((f == 1) & (here == 1)).sum()),
            "matches": float((f / here).sum()),
            "uniques": float((self.sizes == 1).sum()),
        }


HOUSEHOLD_COLUMNS = {"clusters": (0, 1, 2), "income survey": (2, 4)}
"""Columns that all of a household share."""


class Survey(Population):
    """A population sampled by a design: whole households, rates by stratum, unequal chances, or both."""

    def __init__(self, codes: Codes, kind: str, rng: Rng, shared: tuple[int, ...] = ()) -> None:
        """``shared`` columns are those of a household: a new one begins where they change; else neighbours live together."""
        super().__init__(codes)
        self.kind = kind
        sizes = rng.choice([1, 2, 3, 4, 5], self.people, p=[0.3, 0.3, 0.18, 0.15, 0.07])
        home = np.repeat(np.arange(self.people), sizes)[: self.people]
        if shared:
            home = np.cumsum(np.append(0, np.any(np.diff(codes[:, list(shared)], axis=0) != 0, axis=1)))
        self.home = home if "households" in kind else np.arange(self.people)
        self.factor = np.ones(self.home.max() + 1)
        first = np.unique(self.home, return_index=True)[1]
        if "strata" in kind:  # by the first column: a third of its values each at a rate of 1, 3 and 6
            self.factor = np.array([1.0, 3.0, 6.0])[codes[first, 0] % 3]
        if "unequal" in kind:  # partly by a column, partly by what no column shows
            self.factor = np.exp(0.5 * rng.standard_normal(first.size) + 0.4 * (codes[first, -1] % 3))

    def surveyed(self, rate: float, rng: Rng) -> tuple[list[Codes], Codes, Codes, dict]:
        """As :meth:`sample`, and the design: class, weight and household of each person of the sample."""
        people = np.bincount(self.home)
        chance = np.minimum(self.factor * rate * self.people / (self.factor * people).sum(), 1.0)
        if "unequal" in self.kind:
            taken = rng.random(chance.size) < chance
        else:  # so many of each stratum
            taken = np.zeros(chance.size, dtype=bool)
            for one in np.unique(chance):
                here = np.flatnonzero(chance == one)
                taken[rng.choice(here, round(one * here.size), replace=False)] = True
        rows = np.flatnonzero(taken[self.home])
        classes, place, f = np.unique(self.of[rows], return_inverse=True, return_counts=True)
        design = {"of_class": place.ravel()}
        if "strata" in self.kind or "unequal" in self.kind:
            design["weight"] = 1 / chance[self.home[rows]]
        if "households" in self.kind:
            design["cluster"] = self.home[rows]
        return list(self.cells[classes].T), f, self.sizes[classes], design
