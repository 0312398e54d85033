"""Run by the tests in a process of its own: count and recode one Parquet file on a Spark named by its URL, print JSON."""

from __future__ import annotations

import faulthandler
import hmac
import json
import os
import shutil
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import shoal
from shoal.engines.spark import engine
from shoal.engines.spark import files as parts
from shoal.errors import EngineError
from shoal.kernels.text import canonical_text
from shoal.model.plan import Plan, Suppression
from shoal.steps import Cut, MapValues

KEY = b"k" * 32


def main(source: str, out: str, shared: str) -> None:
    """``shared`` is a folder that the executors see; ``out`` is a file, beside which they write the same rows in parts."""
    name = f"placed_{os.getpid()}"
    age = Cut("age", (30.0, 60.0), ("young", "middle", "old"))
    town = MapValues("town", ("A", "a", "Ä"), (0, 1, 2), ("x", "y", "z"), "top", "other", "?")
    with shoal.open(source, quasi=["town", "age"], sensitive=["ill"]) as table:
        nothing = table.count(["town"], through={"town": MapValues("town", on_gap="top", missing_label="*")})
        counts = table.count(sensitive=["ill"], through={"age": age, "town": town})
        plan = Plan((age, town), Suppression(5, ("age", "town")))
        done = table.recode(plan, out)
        table.recode(Plan((age, town)), f"::{name}")
        os.environ["SHOAL_SPARK_STAGING"], parts.PART_ROWS = shared, 100
        cut = table.recode(plan, Path(out).with_name("parts.parquet"), parts=True)
        sizes = shoal.open(f"{source.partition('::')[0]}::{cut.parts_at}").class_sizes(["age", "town"])
        macs = table.sum_of_macs(KEY)
        held = table.hold()
        table.require(held)
        executors = _executors(table._engine)
        stopped = _stopped(source.partition("::")[0], table) if source.startswith("sc://") else ""
        lost = _lost_executors(table, plan, Path(out).with_name("again.parquet")) if source.startswith("spark://") else []
        with shoal.open(f"{source.partition('::')[0]}::{name}") as placed:
            rows = placed.n_rows()
    labels = [["" if c < 0 else k[c].as_py() for c in codes] for codes, k in zip(counts.codes, counts.categories, strict=True)]
    answer = {
        "engine": table.engine,
        "executors": executors,
        "classes": sorted([*key, int(n)] for *key, n in zip(*labels, counts.sizes, strict=True)),
        "ill": int(counts.sensitive["ill"].counts.sum()),
        "records_out": done.records_out,
        "rows": rows,
        "nothing": nothing.sizes.tolist(),
        "parts": [cut.parts_at.startswith(shared), cut.records_out, sum(size * n for size, n in sizes.items())],
        "held": [held.sure, len(held.marks)],
        "lost": lost,
        "stopped": stopped,
        "macs": macs == _macs(source.partition("::")[2]),
    }
    print("ANSWER " + json.dumps(answer), flush=True)


def _stopped(place: str, table: shoal.Table) -> str:
    """What is said of a statement that takes longer than it may."""
    spark: Any = table._engine._spark  # type: ignore[attr-defined]
    spark.sql("SELECT id * 7 % 1000003 AS age FROM range(1000000000000000)").createOrReplaceTempView("endless")
    with shoal.open(f"{place}::endless", statement_timeout="1s", quasi=["age"]) as endless:
        try:
            endless.count()
        except EngineError as error:
            return str(error)
    return ""


def _lost_executors(table: shoal.Table, plan: Plan, out: Path) -> list[int]:
    """Kill every executor as soon as the rows begin to be written; how many there were, and the records that are written.

    Where they were written before anybody could be killed, once more.
    """
    application = table._engine._spark.sparkContext.applicationId  # type: ignore[attr-defined]
    killed: list[int] = []

    def kill(passing: Path) -> None:
        while not passing.exists():
            if ended.wait(0.001):
                return
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (process / "cmdline").read_bytes().decode().split("\0")
                if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words and application in words:
                    os.kill(int(process.name), signal.SIGKILL)
                    killed.append(int(process.name))

    def write_parts(frame: Any, names: Any, folder: Path, number: int) -> None:
        killer = threading.Thread(target=kill, args=(folder / "rows" / "_temporary",))
        killer.start()
        try:
            parts.write_parts(frame, names, folder, number)
        finally:
            ended.set()
            killer.join()

    ended = threading.Event()
    engine.write_parts = write_parts
    try:
        for _ in range(20):
            ended.clear()
            done = table.recode(plan, out, parts=True)
            if killed:
                break
            shutil.rmtree(out)
    finally:
        engine.write_parts = parts.write_parts
    return [len(killed), done.records_out]


def _macs(path: str) -> tuple[int, int]:
    """The digest of the rows by its definition, read without Spark."""
    texts = [canonical_text(c).to_pylist() for c in pq.read_table(path).columns]
    lines = ["\x1f".join("n" if t is None else f"v{len(t)}:{t}" for t in row) for row in zip(*texts, strict=True)]
    return len(lines), sum(int.from_bytes(hmac.digest(KEY, line.encode(), "sha256"), "big") for line in lines) % 2**256


def _executors(engine: object) -> int:
    """Processes that hold blocks of data, the driver among them; 0 where it cannot be asked (Spark Connect)."""
    spark = engine._spark  # type: ignore[attr-defined]
    if "connect" in type(spark).__module__:
        return 0
    return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size())


if __name__ == "__main__":
    faulthandler.dump_traceback_later(300 if sys.argv[1].startswith("sc:") else 600, exit=True)  # where it hangs, should it hang
    main(*sys.argv[1:])
