"""CPU seconds by rows, classes, columns and nodes: the command, a count, a search."""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(HERE.parent), str(HERE.parent / "search_lattice")]

from common import record  # noqa: E402
from make_people import QUASI, people_file  # noqa: E402

ROWS = tuple(10**e for e in range(2, 8))
LARGE = 10**8
BY_CLASSES = ("sex", "education", "occupation", "municipality", "visits", "diagnosis", "date_of_birth", "postcode")


def cpu(work: Callable[[], Any], repeats: int) -> tuple[list[float], Any]:
    used, answer = [], None
    for _ in range(repeats):
        start = time.process_time()
        answer = work()
        used.append(round(time.process_time() - start, 4))
    return used, answer


def measure() -> None:
    """`shoal measure FILE --quasi … --json` in a process of its own."""
    for rows in ROWS:
        command = [sys.executable, "-m", "shoal", "measure", str(people_file(rows)), "--quasi", ",".join(QUASI[:5]), "--json"]
        used, answer = [], {}
        for _ in range(2):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used.append(round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3))
            answer = json.loads(done.stdout)
        kept = {name: answer[name] for name in ("records", "classes", "k")}
        record(HERE, question="measure", size=rows, cpu=used, answer=kept)


def count() -> None:
    """Classes over five columns, the file open already."""
    import shoal

    for rows in ROWS:
        with shoal.open(people_file(rows), quasi=QUASI[:5]) as table:
            used, found = cpu(table.count, 3 if rows < 10**7 else 1)
        record(HERE, question="count", size=rows, cpu=used, answer={"classes": found.n_classes, "records": found.n_records})


def large() -> None:
    """The same count of a hundred million rows, once; the file is made first and takes some GiB."""
    import shoal

    with shoal.open(people_file(LARGE), quasi=QUASI[:5]) as table:
        used, found = cpu(table.count, 1)
    record(HERE, question="count", size=LARGE, cpu=used, answer={"classes": found.n_classes, "records": found.n_records})


def classes() -> None:
    """A million rows over one column, two columns and so on: as many rows, more and more classes."""
    import shoal

    for n in range(1, len(BY_CLASSES) + 1):
        with shoal.open(people_file(10**6), quasi=BY_CLASSES[:n]) as table:
            used, found = cpu(table.count, 3)
        record(HERE, question="classes", size=found.n_classes, cpu=used, answer={"columns": n, "records": found.n_records})


def columns() -> None:
    """Search with a budget of five seconds over 2 to 20 columns of 30,000 generated rows."""
    import wide

    from shoal.model.requirement import K
    from shoal.search import lattice

    for n in (2, 4, 6, 8, 12, 16, 20):
        counts, trees = wide.generated(30_000, n)
        lattice(counts, trees, [K(5)], suppress=0.02, time_budget=0.5)
        used, found = cpu(lambda c=counts, t=trees: lattice(c, t, [K(5)], suppress=0.02, time_budget=5.0), 1)
        told = {"loss": found.loss, "gap": found.gap, "proven": found.proven, "nodes": found.nodes_checked}
        record(HERE, question="columns", size=n, lattice=f"{found.n_nodes:.3g}", cpu=used, answer=told)


def nodes() -> None:
    """Search over 30,000 generated people, whose highest levels are bounded so that the lattice has more and more nodes."""
    import people as generated

    from shoal.model.requirement import K
    from shoal.search import lattice

    counts, trees = generated.counts_and_trees(30_000)
    for low in (3, 2, 1, 0):
        bounds = {c: (min(low, trees[c].height), None) for c in counts.columns}
        lattice(counts, trees, [K(5)], suppress=0.02, bounds=bounds)
        used, found = cpu(lambda b=bounds: lattice(counts, trees, [K(5)], suppress=0.02, bounds=b), 3)
        size = math.prod(trees[c].height + 1 - bounds[c][0] for c in counts.columns)
        record(HERE, question="nodes", size=size, cpu=used, answer={"loss": found.loss, "nodes": found.nodes_checked})


if __name__ == "__main__":
    questions = {"measure": measure, "count": count, "classes": classes, "columns": columns, "nodes": nodes, "large": large}
    for name in sys.argv[1:] or [q for q in questions if q != "large"]:
        questions[name]()
