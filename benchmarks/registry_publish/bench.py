"""Shares of a publication from 10,000,000 rows: the engine's count, and everything else; see README.md."""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from common import record  # noqa: E402
from make_people import people_file  # noqa: E402

TOPICS = (
    ("few cells", {"sex": "sex", "education": "education/level"}),
    ("thousands of cells", {"date_of_birth": "birth/date", "sex": "sex"}),
    ("most people alone", {"date_of_birth": "birth/date", "sex": "sex", "postcode": "postcode/NL/pc6"}),
)


def plain_kappa(path: Path, columns: list[str], cells: int) -> float:
    """ln N − H by DuckDB alone."""
    import duckdb

    names = ", ".join(f'"{c}"' for c in columns)
    query = f"SELECT sum(c * ln(c)), sum(c) FROM (SELECT count(*) AS c FROM read_parquet(?) GROUP BY {names})"
    clogc, n = duckdb.execute(query, [str(path)]).fetchone()
    return math.log(cells) - (math.log(n) - clogc / n)


def main(n: int = 10_000_000) -> None:
    import shoal
    from shoal.kernels.signatures import signer
    from shoal.registry.publish.proposals import Ledger, propose, publish
    from shoal.registry.records.population import Population

    path = people_file(n)
    key = signer()
    for name, columns in TOPICS:
        start = time.perf_counter()
        counts = shoal.open(str(path)).count(tuple(columns))
        counted = time.perf_counter() - start
        start = time.perf_counter()
        book = Ledger()
        proposal = propose(
            counts.sizes, columns.values(), Population.parse("Shoalland@2026"), holder="Bench", date="2025-01-01", ledger=book
        )
        made = publish(proposal, key, book)
        shown = len(json.dumps(made.to_json()))
        rest = time.perf_counter() - start
        kappa = made.summary.statistics["kappa"]
        exact = plain_kappa(path, list(columns), made.summary.cells)
        assert abs(kappa.value - exact) <= kappa.step / 2 + 1e-9, (kappa, exact)
        figures = {"count_seconds": round(counted, 3), "rest_seconds": round(rest, 3), "overhead": round(rest / counted, 3)}
        record(HERE, question=name, rows=n, classes=int(counts.n_classes), bytes=shown, **figures, answer=kappa.value)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
