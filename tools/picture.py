"""Draw the picture of the README from a fresh demonstration: who hides among how many, before and after.

python tools/picture.py shoal-demo docs/images/before-after.svg
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np

import shoal

QUASI = ("date_of_birth", "sex", "municipality", "postcode", "education", "occupation")
EDGES = (1, 2, 5, 10, 20, 50, 100, 10**9)
NAMES = ("nobody", "1–3", "4–8", "9–18", "19–48", "49–98", "more")


def shares(file: Path) -> np.ndarray:
    sizes = shoal.open(file).count(QUASI).sizes
    people = [sizes[(sizes >= a) & (sizes < b)].sum() for a, b in pairwise(EDGES)]
    return 100 * np.array(people) / sizes.sum()


def main(demo: Path, out: Path) -> None:
    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "shoal", "font.family": "sans-serif", "font.size": 11})
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.1), sharey=True)
    pictures = (
        (demo / "people.parquet", "Before", "#c0392b"),
        (demo / "release" / "data.csv", "After: shoal anonymize, k = 5", "#2c6fad"),
    )
    for axis, (file, title, colour) in zip(axes, pictures, strict=True):
        values = shares(file)
        axis.bar(range(len(values)), values, color=colour, width=0.8)
        axis.set_title(title, loc="left", fontweight="bold", fontsize=12)
        axis.set_xticks(range(len(NAMES)), NAMES, fontsize=9)
        axis.set_xlabel("other people who look exactly alike")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("people, %")
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
