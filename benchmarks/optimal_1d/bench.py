"""Optimal SSE groups of n numbers: ours against microagg1d, alternately in one process."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import record

from shoal.techniques import optimal_groups
from shoal.techniques.kernels.least_cuts import total_cost


def theirs(x: np.ndarray, k: int, method: str) -> float:
    import microagg1d

    labels = microagg1d.univariate_microaggregation(x.copy(), k, method=method)
    order = np.argsort(x, kind="stable")
    ranked = labels[order]
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(ranked)) + 1, [len(x)]])
    return total_cost(x[order], np.arange(len(x) + 1), cuts, "sse")


def timed(work) -> tuple[float, float]:
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer


def wilber_seconds(x: np.ndarray, k: int, method: str) -> float:
    import microagg1d

    copy = x.copy()
    return timed(lambda: microagg1d.univariate_microaggregation(copy, k, method=method))[0]


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    x = np.random.default_rng(1).normal(size=n)
    small = x[:5000]
    optimal_groups(small, 5, ties="split")
    theirs(small, 5, "wilber")
    theirs(small, 5, "auto")
    for k in (3, 10, 100, 1_000, 10_000):
        if k > n:
            continue
        ours, wilber = [], []
        for _ in range(3):
            seconds, groups = timed(lambda k=k: optimal_groups(x, k, ties="split"))
            ours.append(round(seconds, 4))
            wilber.append(round(wilber_seconds(x, k, "wilber"), 4))
        cost = groups.cost
        reference = theirs(x, k, "wilber")
        default = theirs(x, k, "auto")
        record(
            Path(__file__).parent, data=f"normal({n}), seed 1", n=n, k=k, seconds=ours, wilber_seconds=wilber,
            ratio=round(min(ours) / min(wilber), 4),
            answer={"cost": cost, "wilber_cost": reference, "default_cost": default, "excess_of_wilber": cost / reference - 1},
        )  # fmt: skip


if __name__ == "__main__":
    main()
