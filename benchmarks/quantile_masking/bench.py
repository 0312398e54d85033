"""Exact quantile masking of columns in memory: rows, columns and groups varied one at a time."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import best_of, record

from shoal.techniques import quantile_groups


def mask(columns: list[np.ndarray], groups: int) -> list[np.ndarray]:
    out = []
    for x in columns:
        found = quantile_groups(x, len(x) // groups)
        out.append(found.centres("median")[found.assign(x)])
    return out


def main() -> None:
    rng = np.random.default_rng(2)
    mask([rng.normal(size=1000)], 10)
    runs = [(n, 10, 100) for n in (125_000, 250_000, 500_000)] + [(250_000, c, 100) for c in (5, 20)]
    runs += [(250_000, 10, g) for g in (10, 1_000, 10_000)]
    for n, width, groups in runs:
        data = [rng.lognormal(size=n) for _ in range(width)]
        seconds, out = best_of(lambda d=data, g=groups: mask(d, g))
        sizes = np.unique(out[0], return_counts=True)[1]
        record(
            Path(__file__).parent, data="lognormal, seed 2", rows=n, columns=width, groups=groups, seconds=seconds,
            answer={"smallest_group": int(sizes.min()), "groups": len(sizes)},
        )  # fmt: skip


if __name__ == "__main__":
    main()
