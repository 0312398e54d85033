"""How often do the intervals of the fitted population hold? Samples of real tables taken as the population."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from common import record  # noqa: E402

from shoal.prediction import population_risk  # noqa: E402

SETS = {
    "adult, 3 columns": ("adult", ["age", "sex", "race"]),
    "adult, 4 columns": ("adult", ["age", "sex", "race", "education"]),
    "adult, 6 columns": ("adult", ["age", "sex", "race", "marital-status", "education", "workclass"]),
    "adult, 8 columns": (
        "adult",
        ["age", "sex", "race", "marital-status", "education", "workclass", "occupation", "native-country"],
    ),
    "time use, 3 columns": ("atus", ["state", "age", "edu"]),
    "time use, 5 columns": ("atus", ["state", "sex", "age", "edu", "marital"]),
    "time use, 8 columns": ("atus", ["state", "sex", "age", "edu", "race", "marital", "hh_size", "famincome"]),
    "United Kingdom, a hundredth": ("uk", ["area", "sex", "age"]),
    "Dutch postcodes, a fiftieth": ("nl", ["postcode", "age", "sex"]),
}


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    adult = pd.read_csv(folder / "adult" / "adult.csv")
    atus = pd.read_csv(folder / "atus_cran" / "atus_2003_2016_respondents.csv.gz", keep_default_na=False)
    uk = pd.read_csv(folder / "pop_uk_la" / "uk_mid2019_area_sex_age.csv")
    uk = uk[~uk["geography"].isin(["Country", "Region"])].drop(columns=["name", "geography", "all_ages"])
    uk = uk.melt(id_vars=["code", "sex"], var_name="age", value_name="n").rename(columns={"code": "area"})
    nl = pd.read_csv(folder / "pop_nl_postcode" / "nl_2021_pc4_age5_sex.csv")
    nl = nl.melt(id_vars=["postcode", "leeftijd"], value_vars=["inwoners_man", "inwoners_vrouw"], var_name="sex", value_name="n")
    nl = nl.rename(columns={"leeftijd": "age"})
    return {"adult": adult, "atus": atus, "uk": _drawn(uk, 100), "nl": _drawn(nl, 50)}


def _drawn(counts: pd.DataFrame, part: int) -> pd.DataFrame:
    """One row per person of a random part of a population that is known by counts."""
    n = pd.to_numeric(counts["n"], errors="coerce").fillna(0).clip(lower=0).to_numpy()
    drawn = np.random.default_rng(7).poisson(n / part)
    return counts.loc[counts.index.repeat(drawn)].drop(columns="n").reset_index(drop=True)


def walk(table: pd.DataFrame, columns: list[str], rate: float, draws: int, model: str) -> dict[str, object]:
    """Samples of one population at one rate: how often each interval holds, and how far the values are off."""
    codes = np.stack([pd.factorize(table[c], sort=True)[0] for c in columns], axis=1)
    _, of, sizes = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    of, people = of.ravel(), len(table)
    held, off, models = {"alone": 0, "matches": 0, "population": 0}, [], []
    crowds, records = 0.0, 0
    for draw in range(draws):
        rng = np.random.default_rng([draw, round(1e4 * rate)])
        chosen = rng.choice(people, round(rate * people), replace=False)
        classes, first, f = np.unique(of[chosen], return_index=True, return_counts=True)
        sample = codes[chosen][first]
        r = population_risk([sample[:, j] for j in range(len(columns))], f, people, model=model)
        truth = sizes[classes]
        alone = float(((f == 1) & (truth == 1)).sum())
        found = {"alone": (r.sample_uniques_alone, alone), "matches": (r.right_matches, float((f / truth).sum()))}
        found["population"] = (r.population_uniques, float((sizes == 1).sum()))
        for name, (e, true) in found.items():
            held[name] += e.low - 1e-9 <= true <= e.high + 1e-9
        off.append([e.value / max(t, 1.0) for e, t in found.values()])
        crowds += float((f * ((r.crowd_low <= truth) & (truth <= r.crowd_high))).sum())
        records += int(f.sum())
        models.append(r.model)
    shares = {name: round(n / draws, 3) for name, n in held.items()}
    ratio = [round(float(x), 3) for x in np.mean(off, axis=0)]
    most = max(set(models), key=models.count)
    return {"held": shares, "crowds_held": round(crowds / records, 3), "value_over_truth": ratio, "model": most}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.02, 0.1, 0.3])
    parser.add_argument("--only", default="")
    parser.add_argument("--model", default="auto")
    given = parser.parse_args()
    found = tables(Path(os.environ["SHOAL_DATA"]))
    for name, (table, columns) in SETS.items():
        if given.only in name:
            for rate in given.rates:
                answer = walk(found[table], columns, rate, given.draws, given.model)
                record(HERE, name=name, people=len(found[table]), rate=rate, draws=given.draws, answer=answer)


if __name__ == "__main__":
    main()
