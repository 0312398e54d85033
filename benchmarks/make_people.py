"""Generated people as Parquet for the benchmarks: made once per size, kept in SHOAL_BENCH (or the temporary folder)."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from shoal.datasets.people import write_people

QUASI = ("date_of_birth", "sex", "municipality", "postcode", "education", "occupation", "diagnosis", "visits")


def people_file(n: int, seed: int = 1) -> Path:
    """The path of the file with ``n`` people, made if it is not there."""
    folder = Path(os.environ.get("SHOAL_BENCH", Path(tempfile.gettempdir()) / "shoal-bench"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"people-{n}-{seed}.parquet"
    if not path.exists():
        write_people(path, n, seed)
    return path


if __name__ == "__main__":
    print(people_file(int(sys.argv[1])))
