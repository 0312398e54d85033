"""What Shoal says of a release beside what a short script of its own wins from it; no code of Shoal is used to attack.

The illness has 40 values that nothing else tells, so that whoever tells it correctly has found the record or its group.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import record

import shoal
from shoal.errors import VerificationError

N, K = 500, 5


def people(columns: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    own = {
        "age": rng.integers(20, 70, N),
        "sex": rng.choice(["f", "m"], N),
        "illness": rng.choice([f"i{i}" for i in range(40)], N),
    }
    return own | {f"x{i}": np.round(rng.normal(100, 20, N), 2) for i in range(columns)}


def fits(cell: str, value: str) -> bool:
    """A published cell as a reader takes it."""
    if cell == "*" or cell == value:
        return True
    if cell.startswith("{"):
        return value in cell[1:-1].split(", ")
    low, dash, high = cell.partition("-")
    if dash and low.isdigit() and high.isdigit():
        return int(low) <= int(value) <= int(high)
    return cell.endswith("+") and value.isdigit() and int(value) >= int(cell[:-1])


def ranks(x: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(x, kind="stable"), kind="stable") / len(x)


def script(true: dict[str, Any], shown: list[dict[str, str]], quasi: list[str], numbers: list[str]) -> float:
    """Of the records whose cells fit, the one whose numbers are nearest in rank or value: is its illness the person's?"""
    y = {c: np.array([float(r[c]) for r in shown]) for c in numbers}
    best = 0.0
    for way in (ranks, lambda v: (v - v.mean()) / (v.std() or 1.0)):
        far = np.zeros((N, len(shown)))
        for c in numbers:
            a, b = way(np.asarray(true[c], dtype=float)), way(y[c])
            far += (a[:, None] - b[None, :]) ** 2
        for i in range(N):
            for j, r in enumerate(shown):
                if not all(fits(r[q], str(true[q][i])) for q in quasi):
                    far[i, j] = np.inf
        right = [shown[int(j)]["illness"] == true["illness"][i] for i, j in enumerate(far.argmin(axis=1))]
        best = max(best, float(np.mean(right)))
    return best


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "data.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def says(results: Any) -> dict[str, Any]:
    """The worst line of Shoal's list, and whether anything but success is on it."""
    told = [a for a in results if a.verdict in ("broken", "warning") and a.rate is not None and a.name.split(":")[0] in KINDS]
    worst = max(told, key=lambda a: a.rate, default=None)
    return (
        {"verdict": "holds"} if worst is None else {"verdict": worst.verdict, "attack": worst.name, "rate": round(worst.rate, 3)}
    )


KINDS = ("linkage", "further knowledge", "intersection", "exposed people", "hunt")


def changed(name: str, step: dict[str, Any] | None, columns: int, folder: Path, seed: int) -> dict[str, Any]:
    """A release with changed numbers; where Shoal stops it, it is made again past the gate, so that the script has a file."""
    table = people(columns, seed)
    names = [f"x{i}" for i in range(columns)]
    policy: dict[str, Any] = {
        "roles": {"quasi": ["age", "sex"], "sensitive": ["illness"], "insensitive": names},
        "require": {"k": K},
        "transform": dict.fromkeys(names, step) if step else {},
        "seed": 7**40 + seed,
    }
    try:
        shoal_says = says(shoal.anonymize(pa.table(table), policy).certificate.attacks)
    except VerificationError as stopped:
        shoal_says = {**says(stopped.attacks), "verdict": "stopped"}
    policy["allow"] = {"identifying": dict.fromkeys(names, "made for a benchmark of attacks")}
    out = shoal.anonymize(pa.table(table), policy).write(folder / name)
    shown = rows(out)
    won, alone = script(table, shown, ["age", "sex"], names), script(table, shown, ["age", "sex"], [])
    return {"release": name, "shoal": shoal_says, "won": round(won, 3), "by_quasi": round(alone, 3)}


def two_local(folder: Path, seed: int) -> dict[str, Any]:
    table = people(0, seed) | {"zip": [f"{z}" for z in np.random.default_rng(seed).integers(1000, 1100, N)]}
    policy = {
        "roles": {"quasi": ["age", "sex", "zip"], "sensitive": ["illness"]},
        "require": {"k": K},
        "method": "local",
        "cells": "sets",
    }
    whole = pa.table(table)
    for name, part in (("new", whole.slice(100)), ("old", whole.slice(0, 400))):
        shoal.anonymize(part, policy).write(folder / name)
    both = whole.slice(100, 300)
    files = [rows(folder / n) for n in ("new", "old")]
    right = wrong = 0
    for p in both.to_pylist():
        left = [{r["illness"] for r in f if all(fits(r[q], str(p[q])) for q in ("age", "sex", "zip"))} for f in files]
        if len(left[0] & left[1]) == 1:
            right, wrong = right + (p["illness"] in left[0] & left[1]), wrong + (p["illness"] not in left[0] & left[1])
    found = shoal.attack(folder / "new", previous=[folder / "old"])
    return {"release": "two by local recoding, sets", "shoal": says(found.results), "won": round(right / 300, 3), "wrong": wrong}


def copies(folder: Path, seed: int) -> dict[str, Any]:
    original, control, made = (people(4, seed + s) for s in range(3))
    top = np.argsort(-original["x0"])[:10]
    for c in made:
        made[c][:10] = original[c][top]
    made["x0"] = made["x0"] + np.where(np.arange(N) < 10, 0.1, 0.0)
    found = shoal.attack(pa.table(made), original=pa.table(original), control=pa.table(control))
    return {"release": "synthetic with ten near copies", "shoal": says(found.results), "won": 10 / N}


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    cases = [
        ("rank_swap 10 %, 2 columns", {"rank_swap": {"percent": 10}}, 2),
        ("rank_swap 10 %, 4 columns", {"rank_swap": {"percent": 10}}, 4),
        ("rank_swap 10 %, 8 columns", {"rank_swap": {"percent": 10}}, 8),
        ("microaggregate 5, 2 columns", {"microaggregate": {"k": 5}}, 2),
        ("round 20, 4 columns", {"round": {"base": 20}}, 4),
        ("noise 20, 8 columns", {"noise": {"scale": 20}}, 8),
        ("noise 20, 1 column", {"noise": {"scale": 20}}, 1),
        ("permute, 4 columns", {"permute": {}}, 4),
        ("kept, 2 columns", None, 2),
    ]
    with tempfile.TemporaryDirectory() as work:
        lines = [changed(name, step, columns, Path(work), seed) for name, step, columns in cases]
        lines += [two_local(Path(work), seed), copies(Path(work), seed)]
    for line in lines:
        wins = line["won"] > 1 / K + 3 * (0.2 * 0.8 / N) ** 0.5 or line["release"].startswith(("two", "synthetic"))
        record(Path(__file__).parent, **line, seed=seed, claim=1 / K, missed=bool(wins and line["shoal"]["verdict"] == "holds"))


if __name__ == "__main__":
    main()
