"""Read every file of a folder and write down what came out: ``bench.py FOLDER``. Run it with two versions of Shoal to compare."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import shoal


def read(path: Path) -> dict[str, Any]:
    """Rows, columns and processor time of a file, or why it was refused; no value of the file."""
    begun = time.process_time()
    try:
        with shoal.open(path) as source:
            columns = len(source.schema.columns)
            rows = sum(batch.num_rows for batch in source.scan())
    except (ValueError, OSError) as error:
        return {"refused": type(error).__name__, "seconds": round(time.process_time() - begun, 2)}
    return {"rows": rows, "columns": columns, "seconds": round(time.process_time() - begun, 2)}


if __name__ == "__main__":
    for file in sorted(Path(sys.argv[1]).iterdir()):
        print(json.dumps({"file": file.name, **read(file)}))
