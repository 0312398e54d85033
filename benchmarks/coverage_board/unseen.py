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
SECOND_TABLES = {
    "time use: age, industry, race": ("atus", ["age", "ind_code", "race"]),
    "time use: region, age, home, work, child": ("atus", ["region", "age", "home_type", "work_class", "hh_child"]),
    "time use: birthplace, citizen, education, income": ("atus", ["country_born", "citizen", "edu", "famincome"]),
    "adult: occupation, hours, relationship": ("adult", ["occupation", "hours-per-week", "relationship"]),
    "adult: age, occupation, relationship, income": ("adult", ["age", "occupation", "relationship", "income"]),
    "adult: age, hours, sex, education": ("adult", ["age", "hours-per-week", "sex", "education"]),
    "tests: age, payor, group, day": ("tests", ["age", "payor_group", "demo_group", "pan_day"]),
    "tests: gender, age, class, result": ("tests", ["gender", "age", "patient_class", "result"]),
    "diabetes: age, stay, procedures, medications": (
        "diabetes",
        ["age", "time_in_hospital", "num_procedures", "num_medications"],
    ),
    "labour force: region, ethnicity, age, benefits": ("free", ["REGION", "ETNI", "AGE", "RECBEN", "KINDPERS"]),
}
SECOND: dict[str, Callable[[Rng], Codes]] = {
    "hidden groups, ordered": lambda rng: _grouped_scales(rng, 6_000, groups=12, columns=4, values=14),
    "hidden groups of pairs": lambda rng: _grouped_scales(rng, 6_000, groups=60, columns=3, values=25),
    "two hidden traits": lambda rng: _traits(rng, 6_000),
    "chain of six": lambda rng: _chain(rng, 6_000, columns=6, values=7, stay=0.7),
    "chain of four, loose": lambda rng: _chain(rng, 6_000, columns=4, values=15, stay=0.3),
    "a rare crowd": lambda rng: np.where(rng.random(6_000)[:, None] < 0.3, 3, known.zipf(rng, 6_000, 4, 25, 0.9)),
    "birth dates": lambda rng: np.stack(
        [rng.integers(0, 12, 6_000), rng.integers(0, 28, 6_000), rng.integers(0, 9, 6_000)], axis=1
    ),
    "towns and jobs": lambda rng: _towns(rng, 6_000),
    "parity of four": lambda rng: _parity(rng, 6_000),
    "geometric columns": lambda rng: np.minimum(rng.geometric([0.1, 0.2, 0.4, 0.6], (6_000, 4)), 40),
    "codes of crowds of five": lambda rng: known._digits(np.repeat(rng.choice(15**4, 1_200, replace=False), 5), 15, 4),
    "sizes by a power law": lambda rng: known._digits(np.minimum(rng.zipf(1.5, 6_000), 13**4 - 1) * 7_919 % 13**4, 13, 4),
}


def _grouped_scales(rng: Rng, people: int, groups: int, columns: int, values: int) -> Codes:
    centre = rng.uniform(0, values, (groups, columns))
    kind = rng.choice(groups, people, p=rng.dirichlet(np.full(groups, 2.0)))
    return np.clip(np.round(centre[kind] + 1.5 * rng.standard_normal((people, columns))), 0, values - 1).astype(np.int64)


def _traits(rng: Rng, people: int) -> Codes:
    one, two = rng.standard_normal((2, people))
    noise = 0.6 * rng.standard_normal((5, people))
    parts = [one + noise[0], one + noise[1], two + noise[2], two + noise[3], one * two + noise[4]]
    return np.stack([np.clip(np.round(2 * p + 6), 0, 12) for p in parts], axis=1).astype(np.int64)


def _chain(rng: Rng, people: int, columns: int, values: int, stay: float) -> Codes:
    out = [rng.choice(values, people, p=rng.dirichlet(np.full(values, 3.0)))]
    for _ in range(columns - 1):
        step = np.where(rng.random(people) < stay, out[-1], rng.integers(0, values, people))
        out.append((step + (rng.random(people) < 0.2)) % values)
    return np.stack(out, axis=1)


def _towns(rng: Rng, people: int) -> Codes:
    town = rng.choice(80, people, p=rng.dirichlet(np.full(80, 0.8)))
    shares = np.cumsum(rng.dirichlet(np.full(20, 0.6), 80), axis=1)
    job = (rng.random(people)[:, None] > shares[town]).sum(axis=1).clip(max=19)
    return np.stack([town, job, rng.integers(0, 14, people), rng.integers(0, 2, people)], axis=1)


def _parity(rng: Rng, people: int) -> Codes:
    out = rng.integers(0, 8, (people, 4))
    odd = out.sum(axis=1) % 2 == 1
    out[odd & (rng.random(people) < 0.9), 3] ^= 1
    return out


FILES = {
    "adult": ("adult/adult.csv", ","),
    "atus": ("atus_cran/atus_2003_2016_respondents.csv.gz", ","),
    "free": ("sdcmicro/free1.csv", ","),
    "households": ("sdcmicro/testdata.csv", ","),
    "diabetes": ("real_tables/diabetes130/data.csv", ","),
    "tests": ("real_tables/covid_testing/data.csv", ","),
    "life": ("real_tables/histoire_de_vie/data.csv", ";"),
    "argentina": ("real_tables/eph_argentina/data.csv", ";"),
}


def tables(folder: Path, wanted: dict[str, tuple[str, list[str]]] = TABLES, most: int = 15_000) -> dict[str, Codes]:
    """Real tables as populations: at most so many of their rows, by some of their columns."""
    import pandas as pd

    out, read = {}, {}
    for name, (file, columns) in wanted.items():
        path, separator = FILES[file]
        if not (folder / path).exists():
            continue
        if file not in read:
            rows = pd.read_csv(folder / path, sep=separator, keep_default_na=False, dtype=str)
            read[file] = rows.sample(min(most, len(rows)), random_state=7)
        out[name] = np.stack([pd.factorize(read[file][c], sort=True)[0] for c in columns], axis=1)
    return out
