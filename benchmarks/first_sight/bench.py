"""Score the suggested roles of tables against what a reader wrote down before looking: ``bench.py FOLDER ROLES``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import shoal

LETTERS = {"direct": "D", "quasi": "Q", "sensitive": "S", "insensitive": "N", "undecided": "?"}
ANSWERS = ("right", "asked", "other", "published", "empty_or_constant")


def answer(accepted: str, given: str, distinct: int) -> str:
    """What the suggestion is worth; ``accepted`` begins with the safest of the roles that the reader accepts."""
    if distinct <= 1:
        return "empty_or_constant"
    if given in accepted:
        return "right"
    return "asked" if given == "?" else "published" if given in "SN" and accepted[0] in "DQ" else "other"


def main(folder: Path, roles: Path) -> None:
    shares = []
    for line in roles.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        name, *accepted = line.split()
        columns = shoal.inspect(folder / name).columns
        found = [answer(wanted, LETTERS[c.role.value], c.distinct) for wanted, c in zip(accepted, columns, strict=True)]
        counts = {kind: found.count(kind) for kind in ANSWERS}
        print(json.dumps({"table": name, "columns": len(found), "answer": counts}, ensure_ascii=False))
        filled = len(found) - counts["empty_or_constant"]
        shares += [(counts["right"] / filled, counts["asked"] / filled, counts["published"])] if filled else []
    right, asked, published = (sum(values) for values in zip(*shares, strict=True))
    n = len(shares)
    print(
        f"{n} tables, means: {right / n:.3f} right, {(right + asked) / n:.3f} right or asked; {published} published though known"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
