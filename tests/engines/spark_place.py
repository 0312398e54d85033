"""Run by the tests in a process of its own: count and recode one Parquet file on a Spark named by its URL, print JSON."""

from __future__ import annotations

import faulthandler
import json
import sys

import shoal
from shoal.model.plan import Plan, Suppression
from shoal.steps import Cut, MapValues


def main(source: str, out: str) -> None:
    age = Cut("age", (30.0, 60.0), ("young", "middle", "old"))
    town = MapValues("town", ("A", "a", "Ä"), (0, 1, 2), ("x", "y", "z"), "top", "other", "?")
    with shoal.open(source, quasi=["town", "age"], sensitive=["ill"]) as table:
        nothing = table.count(["town"], through={"town": MapValues("town", on_gap="top", missing_label="*")})
        counts = table.count(sensitive=["ill"], through={"age": age, "town": town})
        done = table.recode(Plan((age, town), Suppression(5, ("age", "town"))), out)
        table.recode(Plan((age, town)), "::placed")
        with shoal.open(source.partition("::")[0] + "::placed") as placed:
            rows = placed.n_rows()
    labels = [["" if c < 0 else k[c].as_py() for c in codes] for codes, k in zip(counts.codes, counts.categories, strict=True)]
    answer = {
        "engine": table.engine,
        "executors": _executors(table._engine),
        "classes": sorted([*key, int(n)] for *key, n in zip(*labels, counts.sizes, strict=True)),
        "ill": int(counts.sensitive["ill"].counts.sum()),
        "records_out": done.records_out,
        "rows": rows,
        "nothing": nothing.sizes.tolist(),
    }
    print("ANSWER " + json.dumps(answer), flush=True)


def _executors(engine: object) -> int:
    """Processes that hold blocks of data, the driver among them; 0 where it cannot be asked (Spark Connect)."""
    spark = engine._spark  # type: ignore[attr-defined]
    if "connect" in type(spark).__module__:
        return 0
    return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size())


if __name__ == "__main__":
    faulthandler.dump_traceback_later(100 if sys.argv[1].startswith("sc:") else 240, exit=True)  # where it hangs, should it hang
    main(*sys.argv[1:])
