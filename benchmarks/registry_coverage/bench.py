"""Do a registry's intervals hold on populations that are held back? By grade, by what stood in, and by size known or not.

    SHOAL_DATA=FOLDER python benchmarks/registry_coverage/bench.py [--seed N] [--every N] [--keep]

The public tables give the truth; the built-in records are asked. Of every place its record is held back: of one coding (another
stands in), or all of them (neighbours stand in; its size known or not).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from common import record

from public_tables import public_topics
from shoal.registry.answer.query import Registry
from shoal.registry.keep.builtin import BuiltIn
from shoal.registry.records.population import key_of
from shoal.registry.records.record import Record

GROUPS = (20, 50, 100, 200, 500, 1000)


class HeldBack:
    """The built-in records without those of some topics."""

    def __init__(self) -> None:
        self._all = BuiltIn()
        self._kept: dict[tuple[tuple[str, ...], str], list[Record]] = {}
        self.notices = self._all.notices
        self.hidden: set[tuple[tuple[str, ...], str]] = set()

    def topic(self, codes: Sequence[str], population: str) -> list[Record]:
        at = (tuple(codes), key_of(population))
        if at not in self._kept:
            self._kept[at] = self._all.topic(codes, population)
        return [] if at in self.hidden else self._kept[at]

    def codings(self, population: str) -> list[tuple[str, ...]]:
        return [c for c in self._all.codings(population) if (c, key_of(population)) not in self.hidden]

    def neighbours(self, codes: Sequence[str], area: str, **options: object) -> list[tuple[str, float]]:
        return [(p, k) for p, k in self._all.neighbours(codes, area) if (tuple(codes), p) not in self.hidden]

    def __getattr__(self, name: str) -> object:
        return getattr(self._all, name)


def truth(counts: Sequence[int], k: int) -> float:
    """The share of a group of k, drawn from these people without return, that is expected to be one of a kind."""
    c = np.asarray(counts, float)
    n = c.sum()
    j = np.arange(k - 1)
    rest = np.maximum(n - c[:, None] - j[None, :], 0.0) / (n - 1 - j)[None, :]
    return float((c / n * rest.prod(axis=1)).sum())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--keep", action="store_true", help="append the result to results.jsonl")
    options.add_argument("--seed", type=int, help="draw the groups, 20 to 1,000 people, instead of taking them in turn")
    options.add_argument("--every", type=int, default=1, help="check only each N-th record")
    asked = options.parse_args()
    drawn = None if asked.seed is None else np.random.default_rng(asked.seed)
    source, found = HeldBack(), defaultdict(list)
    registry = Registry(source)
    counted = [t for t in public_topics(Path(os.environ["SHOAL_DATA"])) if source.topic(t[0], t[1])][:: asked.every]
    for i, (codes, population, counts, _) in enumerate(counted):
        k = GROUPS[i % len(GROUPS)] if drawn is None else int(np.exp(drawn.uniform(np.log(20), np.log(1001))))
        real, key = truth(counts, k), key_of(population)
        size = source.topic(codes, population)[0].summary.size
        everything = {(c, key) for c in source.codings(population)}
        cases = [("its own record", set(), None), ("another coding", {(codes, key)}, None)]
        if "/" in population:
            cases += [("neighbours", everything, None), ("neighbours and size", everything, size)]
        for name, hidden, known in cases:
            source.hidden = hidden
            answer = registry.query(codes, population, size=known)
            registry._kept._near.clear()
            if not answer.records or (name == "another coding" and answer.elsewhere):
                continue
            share = answer.unique_share(k)
            kind = "postcodes" if any(c.startswith("postcode") for c in codes) else "age and sex"
            row = (share.low - 1e-12 <= real <= share.high + 1e-12, share.high - share.low, abs(share.value - real))
            found[name, kind, share.grade].append(row)
        source.hidden = set()
    result = {"seed": asked.seed, "every": asked.every}
    for (name, kind, grade), rows in sorted(found.items()):
        inside, width, off = (list(c) for c in zip(*rows, strict=True))
        line = {
            "cases": len(rows), "inside": round(sum(inside) / len(rows), 4), "mean_width": round(statistics.fmean(width), 4),
            "mean_error": round(statistics.fmean(off), 4),
        }  # fmt: skip
        result[f"{name}; {kind}; grade {grade}"] = line
        sys.stdout.write(f"{name}; {kind}; grade {grade}: {line}\n")
    if asked.keep:
        record(Path(__file__).parent, answer=result)


if __name__ == "__main__":
    main()
