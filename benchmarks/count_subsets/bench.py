"""Thirty column subsets of one table against one count of all its columns. See README.md."""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from common import record  # noqa: E402
from make_people import QUASI, people_file  # noqa: E402


def main(n: int) -> None:
    from shoal.engines.open import open as open_table

    subsets = [s for size in (1, 2, 3) for s in itertools.combinations(QUASI, size)]
    subsets = subsets[:8] + subsets[8:36:2] + subsets[36::7]
    assert len(subsets) == 30, len(subsets)
    with open_table(people_file(300_000)) as small:  # compile
        small.count(QUASI)
        small.count_many(subsets)
    with open_table(people_file(n)) as table:
        times: dict[str, list[float]] = {"one": [], "thirty": [], "cpu_one": [], "cpu_thirty": []}
        for _ in range(3):
            start, cpu = time.perf_counter(), time.process_time()
            one = table.count(QUASI).n_classes
            times["one"].append(round(time.perf_counter() - start, 3))
            times["cpu_one"].append(round(time.process_time() - cpu, 3))
            start, cpu = time.perf_counter(), time.process_time()
            thirty = table.count_many(subsets)
            times["thirty"].append(round(time.perf_counter() - start, 3))
            times["cpu_thirty"].append(round(time.process_time() - cpu, 3))
    record(
        HERE,
        n=n,
        subsets=len(subsets),
        seconds=times,
        ratio=round(min(times["thirty"]) / min(times["one"]), 3),
        cpu_ratio=round(min(times["cpu_thirty"]) / min(times["cpu_one"]), 3),
        answer={"classes": one, "classes_of_subsets": sum(c.n_classes for c in thirty)},
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
