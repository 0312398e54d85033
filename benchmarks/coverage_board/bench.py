"""The coverage board: how often every interval about a population holds, by grade, population and sampling rate."""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import unseen  # noqa: E402
from common import record  # noqa: E402
from populations import HOUSEHOLD_COLUMNS, POPULATIONS, Codes, Population, Survey  # noqa: E402

from shoal.prediction import match_probability, population_risk  # noqa: E402
from shoal.prediction.population.design import Design  # noqa: E402
from shoal.prediction.population.pilot import Pilot  # noqa: E402
from shoal.prediction.population.risk import assembled_risk  # noqa: E402
from shoal.prediction.population.uniques import match_by_design  # noqa: E402

ROWS = (
    "a unique match is right",
    "records identified correctly",
    "records unique in both",
    "unique people",
    "unique share of a later survey",
    "unique share if everybody is asked",
    "crowd of a sample unique",
)


def judge(everybody: Population, rate: float, seed: int) -> list[tuple[str, str, float, float]]:
    """Interval, grade, whether it held (for crowds: the share of sample uniques whose range held), and its width as a share of
    all that is possible."""
    codes, f, here = everybody.sample(round(rate * everybody.people), np.random.default_rng([seed, round(1e4 * rate)]))
    fitted = Pilot.of(codes, f, everybody.people)
    risk, truths = assembled_risk(fitted.sample, fitted.fit), everybody.truths(f, here)
    stated = [
        (ROWS[1], risk.right_matches, truths["matches"], f.size),
        (ROWS[2], risk.sample_uniques_alone, truths["alone"], max(int((f == 1).sum()), 1)),
        (ROWS[3], risk.population_uniques, truths["uniques"], everybody.people),
    ]
    ones, twos, threes = (int((f == j).sum()) for j in (1, 2, 3))
    if ones:
        match = match_probability(ones, twos, risk.people / risk.population, n3=threes)
        stated.append((ROWS[0], match, ones / float(here[f == 1].sum()), 1))
    for what, later in ((ROWS[4], min(2 * risk.people, everybody.people)), (ROWS[5], everybody.people)):
        counts = everybody.sample(later, np.random.default_rng([seed, 99]))[1]
        stated.append((what, fitted.unique(later), float((counts == 1).sum()) / later, 1))
    out = [
        (what, e.grade, float(e.low - 1e-9 <= true <= e.high + 1e-9), (e.high - e.low) / most) for what, e, true, most in stated
    ]
    if ones:
        inside = (risk.crowd_low <= here) & (here <= risk.crowd_high)
        out.append((ROWS[6], risk.right_matches.grade, float(inside[f == 1].mean()), np.nan))
    return out


def judge_survey(everybody: Survey, rate: float, seed: int) -> list[tuple[str, str, float, float]]:
    """Interval, grade, whether it held, and its width as a share of all that is possible, with the design of the sample."""
    codes, f, here, columns = everybody.surveyed(rate, np.random.default_rng([seed // 100, seed % 100, int(rate * 1e4)]))
    design = Design.of(columns.pop("of_class"), everybody.people, **columns)
    risk, truths = population_risk(codes, f, everybody.people, design=design), everybody.truths(f, here)
    ones = int((f == 1).sum())
    stated = [
        (ROWS[1], risk.right_matches, truths["matches"], f.size),
        (ROWS[2], risk.sample_uniques_alone, truths["alone"], max(ones, 1)),
        (ROWS[3], risk.population_uniques, truths["uniques"], everybody.people),
    ]
    if ones:
        stated.append((ROWS[0], match_by_design(ones, design), ones / float(here[f == 1].sum()), 1))
    out = [
        (what, e.grade, float(e.low - 1e-9 <= true <= e.high + 1e-9), (e.high - e.low) / most) for what, e, true, most in stated
    ]
    inside = (risk.crowd_low <= here) & (here <= risk.crowd_high)
    return [*out, (ROWS[6], risk.right_matches.grade, float(inside[f == 1].mean()), np.nan)] if ones else out


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--draws", type=int, default=4)
    asked.add_argument("--rates", type=float, nargs="+", default=[0.05, 0.2])
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--only", default="")
    asked.add_argument(
        "--unseen", type=int, default=0, choices=(1, 2, 3, 4, 5), help="one of the sets that no method was tuned on"
    )
    asked.add_argument("--together", type=int, default=1, help="neighbours sampled as one, which no interval covers")
    asked.add_argument("--design", default="", help="households, strata, unequal, or two of them: sampled and judged by design")
    asked.add_argument("--keep", action="store_true", help="append to results.jsonl")
    words = asked.parse_args()
    makers = {name: (lambda make=make: make(np.random.default_rng(words.seed))) for name, make in POPULATIONS.items()}
    if words.unseen:
        generated, columns, most = unseen.SETS[words.unseen - 1]
        real = unseen.tables(Path(os.environ.get("SHOAL_DATA", "data")), columns, most)
        makers = {name: (lambda make=make: make(np.random.default_rng(words.seed))) for name, make in generated.items()}
        makers |= {name: (lambda codes=codes: codes) for name, codes in real.items()}
    board: dict[tuple[str, str], list[float]] = defaultdict(list)
    for name, make in makers.items():
        if words.only in name:
            walk(name, make(), words, board)
    print("\n| interval | grade B | mean width | grade C | mean width |\n| --- | ---: | ---: | ---: | ---: |")
    for row in ROWS:
        cells = [(share(board[row, grade]), board[row, grade + " width"]) for grade in "BC"]
        shown = [f"{held} | {np.mean(wide):.3f}" if wide else f"{held} | –" for held, wide in cells]
        print(f"| {row} | " + " | ".join(shown) + " |")


def walk(name: str, codes: Codes, words: argparse.Namespace, board: dict[tuple[str, str], list[float]]) -> None:
    everybody = Population(codes, words.together)
    if words.design:
        everybody = Survey(codes, words.design, np.random.default_rng(7), HOUSEHOLD_COLUMNS.get(name, ()))
    for rate in words.rates:
        if round(rate * everybody.people) < 100:
            continue
        here: dict[tuple[str, str], list[float]] = defaultdict(list)
        for draw in range(words.draws):
            ask = judge_survey if words.design else judge
            for what, grade, held, wide in ask(everybody, rate, 100 * words.seed + draw):
                here[what, grade].append(held)
                board[what, grade].append(held)
                board[what, grade + " width"].append(wide)
        answer = {f"{what} ({grade})": [round(float(np.mean(v)), 3), len(v)] for (what, grade), v in sorted(here.items())}
        low = ", ".join(f"{k} {v[0]:.0%} of {v[1]}" for k, v in answer.items() if v[0] < 0.93)
        print(f"{name}, {rate:g}: {low or 'all held'}", flush=True)
        if words.keep:
            kind = words.design or ("board" if words.together == 1 else f"{words.together} together")
            kind = f"unseen {words.unseen}" if words.unseen else kind
            record(HERE, board=kind, population=name, people=everybody.people, rate=rate, seed=words.seed, answer=answer)


def share(held: list[float]) -> str:
    return f"{100 * np.mean(held):.1f} % of {len(held)}" if held else "–"


if __name__ == "__main__":
    main()
