"""Populations on which the methods are judged once, after they were fixed. Do not tune a method on them: write new ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import populations as known
from populations import Codes, Rng

GENERATED: dict[str, Callable[[Rng], Codes]] = {
    "few hidden groups": lambda rng: known.hidden_groups(rng, 9_000, types=6, columns=5, values=9, focus=0.4),
    "many hidden groups": lambda rng: known.hidden_groups(rng, 9_000, types=120, columns=4, values=12, focus=0.15),
    "singles and 40 crowds": lambda rng: known.singles_and_crowds(rng, 8_000, crowds=40, columns=3),
    "singles and 600 crowds": lambda rng: known.singles_and_crowds(rng, 12_000, crowds=600, columns=5),
    "flat Zipf": lambda rng: known.zipf(rng, 9_000, columns=3, values=50, exponent=0.7),
    "steep Zipf": lambda rng: known.zipf(rng, 9_000, columns=5, values=40, exponent=1.6),
    "three-way, few values": lambda rng: known.three_way(rng, 9_000, values=9),
    "triplets": lambda rng: known._digits(np.repeat(rng.choice(18**4, 3_000, replace=False), 3), 18, 4),
    "nested places": lambda rng: _nested(rng, 10_000),
    "incomes": lambda rng: np.stack(
        [np.round(np.exp(rng.normal(3, 0.7, 9_000))), rng.integers(0, 9, 9_000), rng.integers(0, 2, 9_000)], axis=1
    ).astype(np.int64),
    "Likert items": lambda rng: _likert(rng, 9_000),
    "twins beside crowds": lambda rng: known._digits(
        np.append(np.repeat(cells := rng.choice(16**4, 2_100, replace=False), 2)[:4_000], rng.choice(cells[2_000:], 5_000)), 16, 4
    ),
}


def _nested(rng: Rng, people: int) -> Codes:
    town = rng.choice(240, people, p=rng.dirichlet(np.full(240, 0.5)))
    age = np.clip(rng.gamma(5, 8, people), 0, 95).astype(np.int64)
    work = np.where(age < 18, 0, np.where(age > 66, 1, 2 + rng.integers(0, 5, people)))
    return np.stack([town // 20, town, age // 5, work], axis=1)


def _likert(rng: Rng, people: int) -> Codes:
    hidden = rng.standard_normal((people, 2))
    loads = rng.normal(0, 0.8, (2, 7))
    return np.clip(np.round(2 + hidden @ loads + 0.7 * rng.standard_normal((people, 7))), 0, 4).astype(np.int64)


TABLES = {
    "time use: state, age, education": ("atus", ["state", "age", "edu"]),
    "time use: state, sex, age, marital status": ("atus", ["state", "sex", "age", "marital"]),
    "time use: age, education, race, household": ("atus", ["age", "edu", "race", "hh_size"]),
    "time use: occupation, state, income": ("atus", ["occup_code", "state", "famincome"]),
    "labour force: region, sex, age, education": ("free", ["REGION", "SEX", "AGE", "EDUC1"]),
    "labour force: age, marital status, job": ("free", ["AGE", "MARSTAT", "POSLABM", "OCCUCODE"]),
    "households: roof, walls, water, age, sex": ("households", ["urbrur", "roof", "walls", "water", "sex", "age"]),
    "diabetes: race, gender, age, specialty": ("diabetes", ["race", "gender", "age", "medical_specialty"]),
    "tests: gender, age, clinic": ("tests", ["gender", "age", "clinic_name"]),
    "life history: age, sex, level, qualification": ("life", ["age", "sexe", "nivetud", "qualif"]),
    "Argentina: sex, age, education, place": ("argentina", ["CH04", "CH06", "NIVEL_ED", "AGLOMERADO"]),
}
FILES = {
    "atus": ("atus_cran/atus_2003_2016_respondents.csv.gz", ","),
    "free": ("sdcmicro/free1.csv", ","),
    "households": ("sdcmicro/testdata.csv", ","),
    "diabetes": ("real_tables/diabetes130/data.csv", ","),
    "tests": ("real_tables/covid_testing/data.csv", ","),
    "life": ("real_tables/histoire_de_vie/data.csv", ";"),
    "argentina": ("real_tables/eph_argentina/data.csv", ";"),
}


def tables(folder: Path, most: int = 15_000) -> dict[str, Codes]:
    """Real tables as populations: at most so many of their rows, by some of their columns."""
    import pandas as pd

    out, read = {}, {}
    for name, (file, columns) in TABLES.items():
        path, separator = FILES[file]
        if not (folder / path).exists():
            continue
        if file not in read:
            rows = pd.read_csv(folder / path, sep=separator, keep_default_na=False, dtype=str)
            read[file] = rows.sample(min(most, len(rows)), random_state=7)
        out[name] = np.stack([pd.factorize(read[file][c], sort=True)[0] for c in columns], axis=1)
    return out
