"""Study and compare a million generated rows."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import common  # noqa: E402

import shoal  # noqa: E402

ROWS = 1_000_000
VALUES = (2, 5, 10, 100, 20, 7, 3, 50, 12, 30, 4, 9)


def timed(question: str, work: Callable[[], Any], answer: Callable[[Any], dict[str, Any]]) -> None:
    start, cpu = time.perf_counter(), time.process_time()
    found = work()
    seconds, used = round(time.perf_counter() - start, 1), round(time.process_time() - cpu, 1)
    common.record(HERE, question=question, n=ROWS, seconds=[seconds], cpu=used, answer=answer(found))


def main() -> None:
    rng = np.random.default_rng(1)
    columns = {f"c{i}": rng.integers(0, v, ROWS) for i, v in enumerate(VALUES)} | {"town": rng.integers(0, 20, ROWS)}
    sets = [[f"c{j}" for j in rng.choice(12, size=int(rng.integers(2, 5)), replace=False)] for _ in range(20)]
    order = pa.array(rng.permutation(ROWS))
    with tempfile.TemporaryDirectory() as folder:
        original, release = Path(folder, "original.parquet"), Path(folder, "release.parquet")
        pq.write_table(pa.table(columns), original)
        bands = {c: _bands(v) if v.max() > 10 and c != "town" else pa.array(v) for c, v in columns.items()}
        pq.write_table(pa.table(bands).take(order), release)
        timed("20 sets, 20 subpopulations", lambda: shoal.study(original, sets=sets, by="town"), lambda s: {"sets": len(s.sets)})
        twelve = [f"c{i}" for i in range(12)]
        timed(
            "sets of up to five of twelve columns",
            lambda: shoal.study(original, quasi=twelve, up_to=5),
            lambda s: {"counted": len(s.lattice.counted), "identifying": len(s.lattice.identifying)},
        )
        timed(
            "compare without models",
            lambda: shoal.compare(original, release, quasi=["c0", "c1", "c3", "c4"], models=False),
            lambda c: {"granularity": c.overall["granularity"], "k": c.classes["k"]},
        )


def _bands(values: Any) -> Any:
    low = values // 5 * 5
    distinct, place = np.unique(low, return_inverse=True)
    return pa.array([f"{x}-{x + 4}" for x in distinct]).take(pa.array(place))


if __name__ == "__main__":
    main()
