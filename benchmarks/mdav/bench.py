"""MDAV and V-MDAV on normal data."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import best_of, record

from shoal.techniques import lost_share, near_groups


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    columns = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    data = np.random.default_rng(3).normal(size=(columns, n))
    for method in ("mdav", "v-mdav"):
        near_groups(data[:, :500], 3, method=method)
    for method, k, size in (("mdav", 3, n), ("mdav", 5, n), ("mdav", 10, n), ("v-mdav", 5, n // 4)):
        used = np.ascontiguousarray(data[:, :size])
        seconds, groups = best_of(lambda m=method, k=k, d=used: near_groups(d, k, method=m), repeats=1)
        sizes = np.bincount(groups)
        record(
            Path(__file__).parent, data=f"normal({size} × {columns}), seed 3", method=method, n=size, k=k, seconds=seconds,
            answer={"smallest": int(sizes.min()), "largest": int(sizes.max()), "loss": round(lost_share(used, groups), 6)},
        )  # fmt: skip


if __name__ == "__main__":
    main()
