"""docs/images/scaling.svg: CPU seconds by size, one panel per question, both axes logarithmic."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
OUT = HERE.parent.parent / "docs" / "images" / "scaling.svg"
PANELS = {
    "measure": "`shoal measure`, five columns: rows",
    "count": "count of five columns, file open: rows",
    "classes": "count of a million rows: classes",
    "columns": "search, at most 5 s: columns",
    "nodes": "search of 30,000 people: nodes of the lattice",
}


def points() -> dict[str, dict[int, float]]:
    """The best CPU seconds of the last line of each question and size; questions that were not asked yet are left out."""
    out: dict[str, dict[int, float]] = {name: {} for name in PANELS}
    for line in (HERE / "results.jsonl").read_text().splitlines():
        found = json.loads(line)
        if found["question"] in out:  # growth.py writes its exponents to the same file
            out[found["question"]][found["size"]] = min(found["cpu"])
    return {name: by_size for name, by_size in out.items() if by_size}


def main() -> None:
    plt.rcParams.update({"svg.hashsalt": "shoal", "font.size": 9, "svg.fonttype": "none"})
    known = points()
    rows = -(-len(known) // 2)
    figure, axes = plt.subplots(rows, 2, figsize=(9, 3 * rows), layout="constrained")
    for axis in axes.flat[len(known) :]:
        axis.set_axis_off()
    for axis, (name, by_size) in zip(axes.flat, known.items(), strict=False):
        sizes = sorted(by_size)
        axis.plot(sizes, [by_size[s] for s in sizes], marker="o", color="#00796b")
        axis.set_xscale("log" if name != "columns" else "linear")
        axis.set_yscale("log")
        axis.set_title(PANELS[name].replace("`", ""), loc="left")
        axis.set_ylabel("CPU seconds")
        axis.grid(visible=True, which="major", alpha=0.3)
    figure.savefig(OUT, metadata={"Date": None})


if __name__ == "__main__":
    main()
