"""The default plan beside ARX itself: the same columns, levels and k, one loss counted here from the published cells of both.

``ARX_CLASSPATH`` names ARX's classes and libraries and the folder that Arx.java was compiled into.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "src"), str(HERE.parent)]

from bench import TABLES  # type: ignore[import-not-found]  # noqa: E402
from common import record  # noqa: E402

MORE = (
    "adult",
    "sdcmicro",
    "real_tables/credit_german",
    "real_tables/credit_taiwan",
    "real_tables/covid_testing",
    "real_tables/eph_argentina",
    "real_tables/histoire_de_vie",
    "real_tables/western_electric",
    "splink_fake_1000",
    "febrl",
)
K = 5


def export(prepared: Any, folder: Path) -> list[dict[str, float]]:
    """The table and hierarchies for ARX, values replaced by numbers; for each column the share of leaves under each label."""
    from shoal.search.problem.column import leaves_of_categories

    base = prepared.base
    sizes = np.asarray(base.sizes)
    columns, shares = [], []
    for j, name in enumerate(base.columns):
        tree = prepared.hierarchies[name]
        codes = np.asarray(base.codes[j])
        leaf = leaves_of_categories(name, base.categories[j], codes, sizes, tree)[codes]
        assert (leaf >= 0).all(), "a value is missing"
        used = np.unique(leaf)
        share = {f"0_{i}": 1 / tree.n_leaves for i in range(tree.n_leaves)} | {"*": 1.0}
        for number, level in enumerate(tree.levels):
            share |= {f"{number}_{g}": int(n) / tree.n_leaves for g, n in enumerate(level.leaf_counts)}
        rows = [";".join(f"{number}_{level.groups[i]}" for number, level in enumerate(tree.levels)) for i in used]
        first = {i: f"0_{tree.levels[0].groups[i]}" for i in used}
        (folder / f"hierarchy_c{j}.csv").write_text("\n".join(rows) + "\n")
        columns.append(np.repeat(np.array([first[i] for i in leaf]), sizes))
        shares.append(share)
    lines = [";".join(f"c{j}" for j in range(len(columns))), *(";".join(row) for row in zip(*columns, strict=True))]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    return shares


def loss_of(file: Path, shares: list[dict[str, float]]) -> tuple[float, int]:
    """ARX's loss (geometric mean over columns), and the rows left out, of a published table; every class has at least K rows."""
    rows = [line.split(";") for line in file.read_text().splitlines()[1:]]
    classes: dict[tuple[str, ...], int] = {}
    for row in rows:
        classes[tuple(row)] = classes.get(tuple(row), 0) + 1
    gone = classes.pop(("*",) * len(shares), 0)
    assert min(classes.values(), default=K) >= K, "ARX's table is not k-anonymous"
    total = 1.0
    for j, share in enumerate(shares):
        least = min(share.values())
        mean = sum(share[row[j]] for row in rows) / len(rows)
        total *= 1 + ((mean - least) / (1 - least) if least < 1 else 0.0)
    return total ** (1 / len(shares)) - 1, gone


def arx(folder: Path, shares: list[dict[str, float]]) -> dict[str, Any]:
    """What each way of ARX loses."""
    command = ["java", "-Xmx4g", "-cp", os.environ["ARX_CLASSPATH"], "Arx", str(folder), str(K)]
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1_200)
    ways: dict[str, Any] = {}
    for line in said.stdout.splitlines():
        name, _, rest = line.partition(" ")
        if (folder / f"{name}.csv").exists():
            loss, gone = loss_of(folder / f"{name}.csv", shares)
            ways[name] = {"loss": round(loss, 4), "left_out": gone, "cpu": round(float(rest), 2)}
        else:
            ways[name] = rest
    return ways or {"error": said.stderr.splitlines()[:1]}


BY_HAND: dict[str, dict[str, Any]] = {
    "best": {},
    "lattice": {"method": "lattice"},
    "cells": {"method": "lattice", "scope": "cells"},
    "values": {"method": "local"},
    "sets": {"method": "local", "local_cells": "sets"},
    "ranges": {"method": "local", "local_cells": "ranges"},
}


def ours(prepared: Any) -> dict[str, Any]:
    """What the default, and each method by hand, loses; ``held`` is the best of the local recodings that hold one column at one
    level, of any column and level, in tables of up to 2,000 classes."""
    from shoal.errors import ShoalError
    from shoal.release.plan.decide import decide

    policy = prepared.policy
    asked = {name: replace(policy, **named) for name, named in BY_HAND.items()}
    if prepared.base.n_classes <= 2_000 and len(prepared.quasi) > 1:
        for name, level in ((c, i) for c in prepared.quasi for i in range(prepared.hierarchies[c].height)):
            rules = {**policy.quasi, name: replace(policy.quasi[name], min_level=level, max_level=level)}
            asked[f"held {name} {level}"] = replace(policy, method="local", local_cells="sets", quasi=rules)
    ways: dict[str, Any] = {}
    for name, one in asked.items():
        start = time.process_time()
        try:
            made = decide(replace(prepared, policy=one))
        except ShoalError as error:
            ways.setdefault(name.split()[0], type(error).__name__)
            continue
        gone, loss = int(made.suppressed(prepared.base)), round(made.loss, 4)
        way = {"method": made.method, "loss": loss, "left_out": gone, "cpu": round(time.process_time() - start, 2)}
        before = ways.get(name.split()[0])
        if not isinstance(before, dict) or loss < before["loss"]:
            ways[name.split()[0]] = way
    return ways


def blanked(prepared: Any) -> dict[str, Any]:
    """Cell suppression, written here: nothing is generalized, cells are blanked until everybody has company.

    In each round the column whose blanking gives most records company is blanked in the records that lack it; those that still
    lack it with all columns blank are left out, within the limit.
    """
    base, trees = prepared.base, prepared.hierarchies
    sizes = np.asarray(base.records_by_class)
    cells = np.stack([np.asarray(codes) for codes in base.codes])

    def lacking(shown: Any) -> Any:
        group = np.unique(shown, axis=1, return_inverse=True)[1].reshape(-1)
        return np.bincount(group, weights=sizes)[group] < K

    while (alone := lacking(cells)).any():
        tries = []
        for j in (j for j in range(len(cells)) if (cells[j][alone] != -9).any()):
            shown = cells.copy()
            shown[j][alone] = -9
            tries.append((int(sizes[lacking(shown)].sum()), -trees[base.columns[j]].n_leaves, j))
        if not tries:
            break
        cells[min(tries)[2]][alone] = -9
    alone = lacking(cells)
    gone = int(sizes[alone].sum())
    if gone > 0.05 * sizes.sum():
        return {"blanked": "no plan"}
    total = 1.0
    for row in cells:
        total *= 1 + float(sizes[(row == -9) | alone].sum() / sizes.sum())
    return {"blanked": {"loss": round(total ** (1 / len(cells)) - 1, 4), "left_out": gone}}


def least(ways: Mapping[str, Any], limit: float) -> float:
    """The least loss of the ways that leave out no more than is allowed."""
    return min((w["loss"] for w in ways.values() if isinstance(w, dict) and w["left_out"] <= limit), default=float("inf"))


def main(data: Path, *more: str) -> None:
    import shoal
    from shoal.errors import ShoalError
    from shoal.release.plan.prepare import prepare
    from shoal.release.policy.policy import Policy

    kinds = ("csv", "txt", "xlsx", "sav")
    known = {n: next((f for kind in kinds for f in sorted((data / n).glob(f"*.{kind}"))), None) for n in (*TABLES, *MORE)}
    for name, file in {**({} if more else known), **{Path(m).stem: Path(m) for m in more}}.items():
        if file is None:
            continue
        try:
            quasi = list(shoal.inspect(file).quasi)[:9]
            whole = pa.Table.from_batches(shoal.open(file).scan(quasi))
            rows = whole.drop_null()  # the two do not agree about missing values
            policy = Policy.of(quasi=quasi, rest="drop", k=K, allow={"suppress": 0.05, "loss": 1, "blank": 1})
            prepared = prepare(shoal.open(rows), policy)
        except ShoalError as error:
            print(name, type(error).__name__, flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            shares = export(prepared, Path(folder))
            theirs, mine = arx(Path(folder), shares), {**ours(prepared), **blanked(prepared)}
        limit = 0.05 * rows.num_rows
        best, hand = mine["best"]["loss"], least({m: w for m, w in mine.items() if m != "best"}, limit)
        answer = {"shoal": mine, "arx": theirs, "default": best, "by_hand": hand, "arx_best": least(theirs, limit)}
        answer["holds"] = best <= min(hand, answer["arx_best"])
        record(
            HERE, question=f"{name}: k = {K}, 5 % may be left out, beside ARX",
            rows=rows.num_rows, classes=prepared.base.n_classes, columns=len(quasi), answer=answer,
        )  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT.parent / "shared" / "data"), *sys.argv[2:])
