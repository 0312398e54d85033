"""Draw the picture of the README from a fresh demonstration: who hides among how many, before and after.

python tools/picture.py shoal-demo docs/images/before-after.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import shoal
from shoal.report.charts import class_sizes, save

QUASI = ("date_of_birth", "sex", "municipality", "postcode", "education", "occupation")
TITLE = "How many people look exactly alike: before (outlined), after (filled)"


def people(file: Path) -> dict[int, int]:
    """Size of a group → people in groups of that size."""
    found: dict[int, int] = {}
    for size in shoal.open(file).count(QUASI).sizes.tolist():
        found[size] = found.get(size, 0) + size
    return found


def main(demo: Path, out: Path) -> None:
    before, after = people(demo / "people.parquet"), people(demo / "release" / "data.csv")
    save(class_sizes(after, 5, before=before, title=TITLE), out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
