"""k + l + t + α, β, δ together: Shoal against pycanon, and Shoal on a million rows."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import common  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import shoal  # noqa: E402

DATA = Path(os.environ.get("SHOAL_DATA", HERE.parent.parent.parent / "shared" / "data"))
QI = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
SECRET = "income"


def ours(table: Any, qi: list[str], secret: str) -> dict[str, float]:
    m = shoal.measure(table, qi=qi, sensitive=[secret])
    d, c = m.diversity[secret], m.closeness[secret]
    return {
        "k": m.k,
        "classes": m.classes,
        "distinct": d.distinct,
        "entropy": d.entropy,
        "recursive": d.recursive,
        "alpha": d.alpha,
        "t": c.t,
        "beta": c.beta,
        "delta_present": c.delta_disclosure_present,
    }


def theirs(frame: pd.DataFrame, qi: list[str], secret: str) -> dict[str, float]:
    from pycanon import anonymity as a

    return {
        "k": a.k_anonymity(frame, qi),
        "distinct": a.l_diversity(frame, qi, [secret]),
        "entropy": a.entropy_l_diversity(frame, qi, [secret]),
        "recursive": str(a.recursive_c_l_diversity(frame, qi, [secret])),
        "alpha": a.alpha_k_anonymity(frame, qi, [secret])[0],
        "t": a.t_closeness(frame, qi, [secret]),
        "beta": a.basic_beta_likeness(frame, qi, [secret]),
        "enhanced_beta": a.enhanced_beta_likeness(frame, qi, [secret]),
        "delta_present": a.delta_disclosure(frame, qi, [secret]),
    }


def timed(work: Any, repeats: int) -> tuple[list[float], float, Any]:
    work()
    wall, cpu, answer = [], [], None
    for _ in range(repeats):
        start, spent = time.perf_counter(), time.process_time()
        answer = work()
        wall.append(round(time.perf_counter() - start, 4))
        cpu.append(time.process_time() - spent)
    return wall, round(min(cpu), 4), answer


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--without-pycanon", action="store_true")
    asked = options.parse_args()
    adult = pd.read_csv(DATA / "adult" / "adult.csv")
    wall, cpu, answer = timed(lambda: ours(adult, QI, SECRET), 5)
    line: dict[str, Any] = {"question": "full set on Adult", "n": len(adult), "seconds": wall, "cpu": cpu, "answer": answer}
    if not asked.without_pycanon:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start, spent = time.perf_counter(), time.process_time()
            peer = theirs(adult, QI, SECRET)
            took, used = time.perf_counter() - start, time.process_time() - spent
        same = {
            x: bool(np.isclose(float(peer[x]), float(answer[x])))
            for x in ("k", "distinct", "alpha", "t", "beta", "delta_present")
        }
        line |= {
            "peer": f"pycanon {version('pycanon')}, pandas {pd.__version__}",
            "peer_seconds": round(took, 1),
            "peer_cpu": round(used, 1),
            "ratio": round(took / min(wall)),
            "ratio_cpu": round(used / cpu),
            "agree": same,
        }
    common.record(HERE, **line)
    rng = np.random.default_rng(1)
    million = adult.iloc[rng.integers(0, len(adult), 1_000_000)].reset_index(drop=True)
    wall, cpu, answer = timed(lambda: ours(million, QI, SECRET), 3)
    common.record(HERE, question="full set, Adult drawn 1,000,000 times", n=1_000_000, seconds=wall, cpu=cpu, answer=answer)
    cards = (80, 9, 16, 7, 15, 5, 2, 42)
    hard = pd.DataFrame(
        {f"q{j}": rng.integers(0, c, 1_000_000) for j, c in enumerate(cards)} | {"s": rng.integers(0, 20, 1_000_000)}
    )
    wall, cpu, answer = timed(lambda: ours(hard, [f"q{j}" for j in range(8)], "s"), 3)
    common.record(HERE, question="full set, 1,000,000 rows nearly all unique", n=1_000_000, seconds=wall, cpu=cpu, answer=answer)


if __name__ == "__main__":
    main()
