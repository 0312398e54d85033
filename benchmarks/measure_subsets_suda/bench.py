"""Subsets up to size 3 and SUDA2 on Adult."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import common  # noqa: E402

import shoal  # noqa: E402
from shoal.measures.subsets.column_sets import all_subsets, worst_subsets  # noqa: E402
from shoal.measures.subsets.suda import suda  # noqa: E402

DATA = Path(os.environ.get("SHOAL_DATA", HERE.parent.parent.parent / "shared" / "data"))
EIGHT = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
TEN = [*EIGHT, "relationship", "hours-per-week"]


def timed(work: Callable[[], Any]) -> tuple[dict[str, Any], Any]:
    """Wall-clock seconds of five runs after a warm-up, and the least processor time."""
    work()
    cpu = []

    def run() -> Any:
        start = time.process_time()
        answer = work()
        cpu.append(time.process_time() - start)
        return answer

    seconds, answer = common.best_of(run, repeats=5)
    return {"seconds": seconds, "cpu": round(min(cpu), 4)}, answer


def main() -> None:
    table = shoal.open(DATA / "adult" / "adult.csv")
    ten, eight = table.count(TEN), table.count(EIGHT)
    spent, found = timed(lambda: all_subsets(ten, up_to=3))
    worst = worst_subsets(found)[0]
    answer = {"subsets": len(found), "worst": list(worst.columns), "unique": worst.unique}
    common.record(HERE, question="subsets up to 3 of 10", n=ten.n_records, classes=ten.n_classes, **spent, answer=answer)
    for name, counts in (("SUDA2, 8 columns", eight), ("SUDA2, 10 columns", ten)):
        spent, scores = timed(lambda counts=counts: suda(counts))
        answer = {"msus_by_size": scores.by_size, "total_score": float(scores.score.sum())}
        common.record(HERE, question=name, n=counts.n_records, classes=counts.n_classes, **spent, answer=answer)


if __name__ == "__main__":
    main()
