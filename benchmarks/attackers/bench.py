"""What Shoal says of a release beside what a short script of its own wins from it; no code of Shoal is used to attack.

The illness has 40 values that nothing else tells, so that whoever tells it correctly has found the record or its group.
"""

from __future__ import annotations

import csv
import datetime
import os
import secrets
import sys
import tempfile
from collections import Counter
from functools import partial
from itertools import pairwise
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
    low, dash, high = cell.replace("..", "-").partition("-")
    if dash and low.isdigit() and high.isdigit():
        return int(low) <= int(value) <= int(high)
    if cell[:1] == "<":
        return int(value) < int(cell[1:])
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


def says(results: Any, kinds: tuple[str, ...] = ()) -> dict[str, Any]:
    """The worst line of Shoal's list, and whether anything but success is on it."""
    names = kinds or KINDS
    told = [a for a in results if a.verdict in ("broken", "warning") and a.rate is not None and a.name.split(":")[0] in names]
    worst = max(told, key=lambda a: a.rate, default=None)
    return (
        {"verdict": "holds"} if worst is None else {"verdict": worst.verdict, "attack": worst.name, "rate": round(worst.rate, 3)}
    )


KINDS = ("linkage", "further knowledge", "intersection", "exposed people", "hunt")


def changed(name: str, step: Any, columns: int, folder: Path, seed: int, table: dict[str, Any] | None = None) -> dict[str, Any]:
    """A release with changed columns; where Shoal stops it, it is made again past the gate, so that the script has a file."""
    table = people(columns, seed) if table is None else table
    names = [c for c in table if c not in ("age", "sex", "illness", "person")]
    steps = {c: step(c) if callable(step) else step for c in names} if step else {}
    policy: dict[str, Any] = {
        "roles": {"quasi": ["age", "sex"], "sensitive": ["illness"], "insensitive": names, "rest": "drop"},
        "require": {"k": K},
        "transform": {c: s for c, s in steps.items() if s},
        "seed": 7**40 + seed,
    }
    try:
        shoal_says = says(shoal.anonymize(pa.table(table), policy).certificate.attacks)
    except VerificationError as stopped:
        shoal_says = {**says(stopped.attacks), "verdict": "stopped"}
    policy["allow"] = {"identifying": dict.fromkeys(names, "made for a benchmark of attacks")}
    shown = rows(shoal.anonymize(pa.table(table), policy).write(folder / name))
    numbers = [c for c in names if c[0] == "x"]
    won = script(table, shown, ["age", "sex"], numbers) if numbers else by_group(table, shown, names)
    alone = script(table, shown, ["age", "sex"], [])
    return {"release": name, "shoal": shoal_says, "won": round(won, 3), "by_quasi": round(alone, 3)}


def by_group(true: dict[str, Any], shown: list[dict[str, str]], names: list[str]) -> float:
    """Columns whose values are hidden: dates by the days between them, others by how many people share the value."""
    if names[0][0] == "d":
        day = datetime.date.fromisoformat
        sides = [
            [tuple((day(b) - day(a)).days for a, b in pairwise(str(r[c])[:10] for c in names)) for r in side]
            for side in ([dict(zip(true, row, strict=True)) for row in zip(*true.values(), strict=True)], shown)
        ]
    else:
        sides = []
        for side in (true, {c: [r[c] for r in shown] for c in names}):
            sizes = {c: Counter(map(str, side[c])) for c in names}
            sides.append(
                [
                    tuple(sizes[c][str(v)] for c, v in zip(names, row, strict=True))
                    for row in zip(*(side[c] for c in names), strict=True)
                ]
            )
    chances = []
    for i, mark in enumerate(sides[0]):
        fit = [r["illness"] for r, m in zip(shown, sides[1], strict=True) if m == mark and fits(r["age"], str(true["age"][i]))]
        chances.append(fit.count(true["illness"][i]) / len(fit) if fit else 0.0)
    return float(np.mean(chances))


def dated(seed: int) -> dict[str, Any]:
    rng, start = np.random.default_rng(seed + 5), datetime.date(2020, 1, 1)
    table, day = people(0, seed) | {"person": [f"p{i}" for i in range(N)]}, rng.integers(0, 700, N)
    for c in ("d0", "d1", "d2", "d3"):
        table[c] = [start + datetime.timedelta(days=int(d)) for d in day]
        day = day + rng.integers(1, 200, N)
    return table


def placed(seed: int) -> dict[str, Any]:
    rng, share = np.random.default_rng(seed + 6), 1 / np.arange(1, 31)
    return people(0, seed) | {
        "town": rng.choice([f"t{i}" for i in range(30)], N, p=share / share.sum()),
        "school": rng.choice([f"s{i}" for i in range(25)], N),
    }


def plain(name: str, more: dict[str, Any], folder: Path, seed: int) -> dict[str, Any]:
    """Quasi-identifiers only: the illness that most of the records have whose cells fit."""
    table = people(0, seed)
    policy = {"roles": {"quasi": ["age", "sex"], "sensitive": ["illness"]}, "require": {"k": K}, **more}
    made = shoal.anonymize(pa.table(table), policy)
    shown, right = rows(made.write(folder / name)), []
    for age, sex, ill in zip(*(map(str, table[c]) for c in ("age", "sex", "illness")), strict=True):
        fit = Counter(r["illness"] for r in shown if fits(r["age"], age) and fits(r["sex"], sex))
        right.append(bool(fit) and fit.most_common(1)[0][0] == ill)
    told = says(made.certificate.attacks, ("homogeneity", "linkage", "downcoding", "minimality", "skewness"))
    return {"release": name, "shoal": told, "won": round(float(np.mean(right)), 3)}


def linked(folder: Path, seed: int) -> dict[str, Any]:
    """Somebody knows the age of a person and all wards."""
    rng, n = np.random.default_rng(seed), 200
    age, who = rng.integers(20, 70, n).tolist(), rng.integers(0, n, 2 * n).tolist()
    ward = rng.choice(["a", "b", "c", "d"], 2 * n).tolist()
    person = {"table": {"id": [*range(n)], "age": age}, "roles": {"quasi": {"age": {"hierarchy": {"intervals": [10, 20]}}}}}
    visits = {"table": {"who": who, "ward": ward}, "roles": {"quasi": {"ward": {}}}}
    policy = {"tables": {"person": person, "visits": visits}, "links": {"visits.who": "person.id"}}
    made = shoal.anonymize_tables({**policy, "require": {"k": K}, "allow": {"loss": 1, "suppress": 0.5}})
    out = made.write(folder / "linked")
    files = []
    for name in ("person", "visits"):
        with (out / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            files.append(list(csv.DictReader(file)))
    wards = {p["id"]: Counter(v["ward"] for v in files[1] if v["who"] == p["id"]) for p in files[0]}
    seen = Counter((p["age"], tuple(sorted(wards[p["id"]].items()))) for p in files[0])
    told = says(shoal.attack(out).results, ("known records",))
    return {"release": "linked tables", "shoal": told, "won": round(len(seen) / sum(seen.values()), 3)}


def shifted_events(folder: Path, seed: int) -> dict[str, Any]:
    """Somebody knows the day and station of two records: by the stations and the days between them."""
    rng, n = np.random.default_rng(seed), 150
    who = np.repeat(np.arange(n), 4)
    day = [datetime.date(2026, 3, 2) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 21, 4 * n)]
    place = rng.choice(["A", "B", "C", "D"], 4 * n)
    table = {"card": [f"p{i}" for i in who], "at": [d.isoformat() for d in day], "station": place.tolist()}
    rules = {"unit": "card", "time": "at", "place": "station", "time_widths": ["1d"], "place_levels": ["exact"], "shift": 7}
    policy = {"events": rules, "roles": {"rest": "drop"}, "require": [f"known[1]>={K}"], "seed": 7**40 + seed}
    out = shoal.anonymize(table, policy).write(folder / "events")
    shown: dict[str, list[tuple[Any, str]]] = {}
    for r in rows(out):
        shown.setdefault(r["card"], []).append((datetime.date.fromisoformat(r["at"][:10]), r["station"]))
    pairs = [{(a[1], b[1], (b[0] - a[0]).days) for a in trail for b in trail if a != b} for trail in shown.values()]
    known = [((place[4 * i], place[4 * i + 1], (day[4 * i + 1] - day[4 * i]).days)) for i in range(n)]
    fit = [sum(mark in trail for trail in pairs) for mark in known]
    told = says(shoal.attack(out).results, ("known records", "sparse matching", "shift", "trail matching", "whole trail"))
    return {
        "release": "events with shift, two known records",
        "shoal": told,
        "won": round(float(np.mean([1 / f if f else 0 for f in fit])), 3),
    }


def counts(folder: Path, seed: int) -> dict[str, Any]:
    """Small counts that one published sum and its other parts give away."""
    rng = np.random.default_rng(seed)
    table = {"ward": rng.choice([*"abcd"], 300, p=[0.4, 0.3, 0.2, 0.1]), "ill": rng.choice([*"uvwxy"], 300)}
    made = shoal.count_table(table, rows="ward", columns="ill", threshold=12, public=True)
    cells = made.protected.cells.copy()
    start = int(np.isnan(cells).sum())
    for _ in range(20):
        for line in (*cells, *cells.T):  # views: parts, then their sum
            gap = np.flatnonzero(np.isnan(line))
            if len(gap) == 1:
                line[gap[0]] = line[:-1].sum() if gap[0] == len(line) - 1 else line[-1] - np.nansum(line[:-1])
    won = (start - int(np.isnan(cells).sum())) / max(start, 1)
    return {"release": "table of counts", "shoal": {"verdict": made.attack.verdict}, "won": round(won, 3), "hidden": start}


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
    return {
        "release": "two by local recoding, sets",
        "shoal": says(found.results, ("intersection",)),
        "won": round(right / 300, 3),
        "wrong": wrong,
    }


def copied(name: str, many: int, seed: int) -> dict[str, Any]:
    """A synthetic table with so many people copied, one number moved or two columns replaced."""
    original, control, made = (people(3, seed + s) for s in range(3))
    top = np.argsort(-original["x0"])[:many]
    for c in made:
        made[c][:many] = original[c][top]
    if name == "two columns replaced":
        made["age"][:many], made["illness"][:many] = people(0, seed + 9)["age"][:many], "i0"
    made["x0"] = made["x0"] + np.where(np.arange(N) < many, 0.1, 0.0)
    found = shoal.attack(pa.table(made), original=pa.table(original), control=pa.table(control))
    kind = f"synthetic, {many} near copies, {name}" if many else "synthetic, no copy"
    return {"release": kind, "shoal": says(found.results), "won": many / N}


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    os.environ.setdefault("SHOAL_KEY", secrets.token_hex(32))
    swap, mean = {"rank_swap": {"percent": 10}}, {"microaggregate": {"k": 5}}
    shift = {"date_shift": {"unit": "person"}}
    cases = [
        ("rank_swap 10 %, 2 columns", swap, 2),
        ("rank_swap 10 %, 4 columns", swap, 4),
        ("rank_swap 10 %, 8 columns", swap, 8),
        ("microaggregate 5, 2 columns", mean, 2),
        ("microaggregate and rank_swap, 4 columns", lambda c: mean if c in ("x0", "x1") else swap, 4),
        ("round 20, 4 columns", {"round": {"base": 20}}, 4),
        ("noise 20, 8 columns", {"noise": {"scale": 20}}, 8),
        ("noise 20, 1 column", {"noise": {"scale": 20}}, 1),
        ("permute, 4 columns", {"permute": {}}, 4),
        ("kept, 2 columns", None, 2),
        ("keyed_hash, 2 columns", {"keyed_hash": {}}, 0, placed(seed)),
        ("date_shift, 4 dates", shift, 0, dated(seed)),
        ("date_shift together, 4 dates", {"date_shift": {**shift["date_shift"], "domain": "one"}}, 0, dated(seed)),
    ]
    sizes = {"population_k": {"k": K, "of": 50_000, "beta": 0.05}}
    only = [
        ("cell suppression", {"method": "lattice", "allow": {"suppress": 0.2, "scope": "cells"}}),
        ("sample of half", {"method": "lattice", "sample": {"share": 0.5}}),
        ("local recoding, ranges", {"method": "local", "cells": "ranges"}),
        ("probabilistic", {"method": "probabilistic", "require": {"k": K, **sizes}}),
    ]
    with tempfile.TemporaryDirectory() as work:
        place = Path(work)
        made = [partial(plain, name, more, place, seed) for name, more in only]
        made += [partial(one, place, seed) for one in (linked, shifted_events, counts, two_local)]
        made += [
            partial(copied, name, many, seed) for name, many in (("one number moved", 10), ("two columns replaced", 10), ("", 0))
        ]
        made += [partial(changed, name, step, columns, place, seed, *more) for name, step, columns, *more in cases]
        for make in made:
            line = make()
            wins = line["won"] > 1 / K + 3 * (0.2 * 0.8 / N) ** 0.5
            wins |= line["release"].startswith(("synthetic", "table of counts", "two")) and line["won"] > 0
            missed = bool(wins and line["shoal"]["verdict"] == "holds")
            record(Path(__file__).parent, **line, seed=seed, claim=1 / K, missed=missed)


if __name__ == "__main__":
    main()
