"""Seconds of the exact predictions, and how they grow."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from common import best_of, record  # noqa: E402

from shoal import predict  # noqa: E402
from shoal.prediction import Distribution  # noqa: E402


def drawn(n: int) -> Distribution:
    return Distribution.of(np.random.default_rng(n).dirichlet(np.ones(n)), normalize=True)


def claims() -> None:
    d = drawn(20_000)
    seconds, e = best_of(lambda: predict.uniqueness(d, 500))
    record(HERE, question="all unique", cells=20_000, group=500, limit=0.5, seconds=seconds, answer=e.log_value)
    d = drawn(1_000)
    seconds, e = best_of(lambda: predict.no_singleton(d, 2_000))
    record(HERE, question="nobody unique", cells=1_000, group=2_000, limit=1.0, seconds=seconds, answer=e.log_value)
    d = drawn(95)
    seconds, law = best_of(lambda: predict.singletons(d, 300).pmf())
    record(HERE, question="distribution", cells=95, group=300, limit=0.5, seconds=seconds, answer=float(law.max()))
    d = drawn(10_000_000)
    seconds, s = best_of(lambda: predict.singletons(d, 1_000_000)._two)
    record(HERE, question="mean and variance", cells=10_000_000, group=1_000_000, limit=1.0, seconds=seconds, answer=s)
    p = np.random.default_rng(1).dirichlet(np.ones(10_000_000))
    seconds, s = best_of(lambda: predict.singletons(p, 1_000_000, normalize=True)._two)
    record(HERE, question="mean and variance with checking", cells=10_000_000, limit=1.0, seconds=seconds, answer=s)


def growth() -> None:
    for n in (5_000, 10_000, 20_000):
        d = drawn(n)
        seconds, _ = best_of(lambda d=d: predict.uniqueness(d, 500))
        record(HERE, question="growth", of="all unique", law="N k", cells=n, group=500, seconds=seconds)
    for n in (1_000_000, 2_000_000, 4_000_000, 8_000_000):
        d = drawn(n)
        seconds, _ = best_of(lambda d=d: predict.singletons(d, 100_000)._two)
        record(HERE, question="growth", of="mean and variance", law="N", cells=n, group=100_000, seconds=seconds)
    for k in (2_000, 8_000, 32_000):
        d = drawn(1_000)
        seconds, _ = best_of(lambda d=d, k=k: predict.no_singleton(d, k))
        record(HERE, question="growth", of="nobody unique", law="N sqrt(k)", cells=1_000, group=k, seconds=seconds)


if __name__ == "__main__":
    claims()
    growth()
