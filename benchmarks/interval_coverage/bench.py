"""How often do the stated intervals hold? Samples of real and of adversarial populations whose truth is known."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from common import record  # noqa: E402

from shoal.prediction.population.class_size_models import SampledClasses  # noqa: E402
from shoal.prediction.population.uniques import match_probability  # noqa: E402
from shoal.prediction.population.without_model import uniques_range  # noqa: E402

RATES = (0.002, 0.01, 0.05, 0.2, 0.5, 0.9)


def real(folder: Path) -> dict[str, np.ndarray]:
    """Class sizes of populations: tables taken whole, by some of their columns."""
    out = {}
    with (folder / "adult" / "adult.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for columns in (("age", "sex", "race"), ("age", "education", "occupation", "sex"), ("age", "fnlwgt"), ("workclass", "sex")):
        out["adult: " + ", ".join(columns)] = sizes([tuple(r[c] for c in columns) for r in rows])
    with (folder / "pop_nl_postcode" / "nl_2021_gemeente_age5_sex.csv").open(encoding="utf-8", newline="") as file:
        counts = [int(float(v)) for row in csv.reader(file) for v in row[-1:] if v.replace(".", "").isdigit()]
    out["Dutch municipalities by age and sex, a hundredth"] = np.array([c // 100 for c in counts if c >= 100])
    return out


def sizes(keys: list[tuple[str, ...]]) -> np.ndarray:
    return np.array(list(Counter(keys).values()))


def adversarial() -> dict[str, np.ndarray]:
    """Populations that estimates by models get wrong."""
    rng = np.random.default_rng(1)
    return {
        "everybody alone": np.ones(20_000, dtype=int),
        "all in pairs": np.full(10_000, 2),
        "all in threes": np.full(7_000, 3),
        "half alone, half in one crowd": np.append(np.ones(10_000, dtype=int), 10_000),
        "alone and in fifties": np.append(np.ones(500, dtype=int), np.full(400, 50)),
        "heavy tail": np.minimum((rng.pareto(0.8, 4_000) + 1).astype(int), 3_000),
        "nobody alone, many in twos and crowds": np.append(np.full(2_000, 2), np.full(300, 60)),
    }


def walk(name: str, population: np.ndarray, rate: float, draws: int) -> dict[str, list[float]] | None:
    """Coverage of both intervals over samples of one population; by grade for the match."""
    people = np.repeat(np.arange(len(population)), population)
    n = round(rate * len(people))
    if n < 10:
        return None
    rng = np.random.default_rng([len(people), n])
    true_uniques = int((population == 1).sum())
    held: dict[str, list[float]] = defaultdict(list)
    for _ in range(draws):
        sample = rng.choice(people, n, replace=False)
        which, counts = np.unique(sample, return_counts=True)
        n1, n2, n3 = (int((counts == j).sum()) for j in (1, 2, 3))
        seen, numbers = np.unique(counts, return_counts=True)
        low, high = uniques_range(SampledClasses(seen, numbers, n, len(counts), n1, n2, len(people)))
        held["uniques"].append(low - 1e-9 <= true_uniques <= high + 1e-9)
        if n1:
            e = match_probability(n1, n2, n / len(people), n3=n3)
            true = n1 / population[which[counts == 1]].sum()
            held[f"match {e.grade}"].append(e.low - 1e-9 <= true <= e.high + 1e-9)
    return held


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--draws", type=int, default=200)
    asked.add_argument("--keep", action="store_true", help="append to results.jsonl")
    words = asked.parse_args()
    folder = Path(os.environ.get("SHOAL_DATA", "data"))
    everything = {**(real(folder) if (folder / "adult").exists() else {}), **adversarial()}
    whole: dict[str, list[float]] = defaultdict(list)
    for name, population in everything.items():
        for rate in RATES:
            held = walk(name, population, rate, words.draws)
            if held is None:
                continue
            shares = {k: f"{100 * np.mean(v):.1f} % of {len(v)}" for k, v in sorted(held.items())}
            print(f"{name} | {rate:g} | " + " | ".join(f"{k}: {v}" for k, v in shares.items()))
            for k, v in held.items():
                whole[k] += v
            if words.keep:
                answer = {k: [round(float(np.mean(v)), 4), len(v)] for k, v in sorted(held.items())}
                record(HERE, question="coverage at 95 %", population=name, people=int(population.sum()), rate=rate, answer=answer)
    for k, v in sorted(whole.items()):
        print(f"ALL | {k}: {100 * np.mean(v):.2f} % of {len(v)}")


if __name__ == "__main__":
    main()
