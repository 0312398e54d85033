"""Local recoding: arx_adult and a million generated people."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(HERE.parent), str(HERE.parent / "search_lattice")]

from bench import folder, timed  # type: ignore[import-not-found]  # noqa: E402
from common import record  # noqa: E402


def smallest(found: Any, counts: Any) -> int:
    classes: Counter[tuple[Any, ...]] = Counter()
    for label, size in zip(zip(*found.labels, strict=True), counts.sizes.tolist(), strict=True):
        classes[label] += size
    return min(classes.values())


def answer(found: Any, counts: Any) -> dict[str, Any]:
    return {
        "ncp": found.ncp,
        "domain_ncp": found.domain_ncp,
        "loss": found.loss,
        "classes": found.classes,
        "smallest": smallest(found, counts),
    }


def adult() -> None:
    import search_adult
    from shoal.model.requirement import K
    from shoal.search import local

    trees = {c: search_adult.hierarchy(folder(), c) for c in search_adult.COLUMNS}
    eight = tuple(c for c in search_adult.COLUMNS if c != "salary-class")
    sets, nine = search_adult.counts(folder(), eight), search_adult.counts(folder())
    local(sets, trees, [K(500)], cells="sets")
    local(nine, trees, [K(500)])
    for k in (5, 10):
        wall, cpu, found = timed(lambda k=k: local(sets, trees, [K(k)], cells="sets"), 3)
        record(HERE, question="sets", k=k, columns=8, seconds=wall, cpu=cpu, answer=answer(found, sets))
        wall, cpu, found = timed(lambda k=k: local(nine, trees, [K(k)]), 3)
        record(HERE, question="hierarchy", k=k, columns=9, seconds=wall, cpu=cpu, answer=answer(found, nine))


def people() -> None:
    import people as generated

    from shoal.model.requirement import K
    from shoal.search import local

    eight = tuple(c for c in generated.COLUMNS if c != "diagnosis")
    counts, trees = generated.counts_and_trees(1_000_000, eight)
    small, few = generated.counts_and_trees(2_000, eight)
    for cells in ("sets", "hierarchy"):
        local(small, few, [K(5)], cells=cells)
        wall, cpu, found = timed(lambda cells=cells: local(counts, trees, [K(5)], cells=cells), 1)
        record(
            HERE,
            question=f"people, {cells}",
            rows=1_000_000,
            classes=counts.n_classes,
            seconds=wall,
            cpu=cpu,
            answer=answer(found, counts),
        )


if __name__ == "__main__":
    for name in sys.argv[1:] or ["adult", "people"]:
        {"adult": adult, "people": people}[name]()
