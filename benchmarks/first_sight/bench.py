"""Score the suggested roles of tables against what a reader wrote down before looking: ``bench.py FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

import shoal

LETTERS = {"direct": "D", "quasi": "Q", "sensitive": "S", "insensitive": "N", "undecided": "?"}


def main(folder: Path) -> None:
    total = [0, 0, 0, 0]
    for line in (folder / "roles.txt").read_text(encoding="utf-8").splitlines():
        name, *accepted = line.split()
        given = [LETTERS[column.role.value] for column in shoal.inspect(folder / name).columns]
        pairs = list(zip(accepted, given, strict=True))
        right = sum(one in wanted for wanted, one in pairs)
        asked = sum(one == "?" and one not in wanted for wanted, one in pairs)
        published = sum(one in "SN" and one not in wanted and wanted[0] in "DQ" for wanted, one in pairs)
        counts = [len(pairs), right, asked, published]
        total = [a + b for a, b in zip(total, counts, strict=True)]
        print(f"{name}: {right} of {len(pairs)} right, {asked} asked, {published} published though known")
    print("all: {} columns, {} right, {} asked, {} published though known".format(*total))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
