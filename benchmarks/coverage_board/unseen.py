"""Populations on which the methods are judged once, after they were fixed. Do not tune a method on them: write new ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import populations as known
from populations import Codes, Rng

if TYPE_CHECKING:
    import pandas as pd

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


THIRD_TABLES = {
    "adult: age, country, work class": ("adult", ["age", "native-country", "workclass"]),
    "adult: education, occupation, race, country, sex": ("adult", ["education", "occupation", "race", "native-country", "sex"]),
    "adult: age, marital status, hours, income": ("adult", ["age", "marital-status", "hours-per-week", "income"]),
    "time use: state, birthplace, race": ("atus", ["state", "country_born", "race", "hispanic"]),
    "time use: state, age, household size": ("atus", ["state", "age", "hh_size"]),
    "time use: industry, occupation, year, sex": ("atus", ["ind_code", "occup_code", "tuyear", "sex"]),
    "labour force: age, sex, tenure, hours, company": ("free", ["AGE", "SEX", "TENURE", "FTPTIME", "COMPCODE"]),
    "households: age, relation, civil status, sex": ("households", ["age", "relat", "hhcivil", "sex", "electcon"]),
    "tests: clinic, day, result": ("tests", ["clinic_name", "pan_day", "result"]),
    "diabetes: procedures, medications, race": ("diabetes", ["num_lab_procedures", "num_medications", "race"]),
    "credit in Taiwan: limit, sex, education, marriage, age": (
        "taiwan",
        ["LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"],
    ),
    "heights and weights": ("heights", ["Height(Inches)", "Weight(Pounds)"]),
    "Cook County: postcode, sex, age": ("cook", ["geoid_zcta", "sex", "age"]),
}
THIRD: dict[str, Callable[[Rng], Codes]] = {
    "three trades": lambda rng: _trades(rng, 7_000),
    "nested households": lambda rng: _nested_households(rng, 7_000),
    "amounts with a Pareto tail": lambda rng: np.stack(
        [_two_digits(10 * (1 + rng.pareto(1.2, 7_000))), rng.integers(0, 6, 7_000), rng.integers(0, 2, 7_000)], axis=1
    ),
    "near duplicates": lambda rng: _near_duplicates(rng, 7_000),
    "grid with towns": lambda rng: _grid(rng, 7_000),
    "Clayton copula": lambda rng: _clayton(rng, 7_000, columns=4, values=18),
    "t copula": lambda rng: _t_copula(rng, 7_000, columns=4, values=16),
    "sparse beside dense": lambda rng: np.where(
        rng.random(7_000)[:, None] < 0.2, rng.integers(0, 40, (7_000, 4)), rng.integers(0, 4, (7_000, 4))
    ),
    "quotas": lambda rng: np.append(
        np.stack(np.divmod(np.arange(7_000) % 1_400, 70), axis=1), rng.integers(0, 3, (7_000, 1)), axis=1
    ),
    "one or two per address": lambda rng: np.stack(
        np.divmod(np.append(np.repeat(np.arange(2_800), 2), rng.choice(2_800, 1_400, replace=False) + 2_800), 60), axis=1
    ),
    "school classes": lambda rng: np.stack(
        [np.arange(7_000) // 25 // 12, np.arange(7_000) // 25 % 12, rng.integers(0, 12, 7_000), rng.integers(0, 2, 7_000)], axis=1
    ),
    "appointments": lambda rng: np.stack(
        [np.arange(7_000) // 24, np.arange(7_000) % 24 // 2, rng.choice(5, 7_000, p=[0.5, 0.2, 0.15, 0.1, 0.05])], axis=1
    )[rng.permutation(7_000)],
    "restaurant of tables": lambda rng: _restaurant(rng, 7_000, strength=800.0),
}


def _trades(rng: Rng, people: int) -> Codes:
    kind = rng.choice(3, people, p=[0.6, 0.3, 0.1])
    width = np.array([[6, 4, 9], [25, 10, 3], [40, 30, 30]])[kind]
    return np.append((rng.random((people, 3)) * width).astype(np.int64), rng.integers(0, 2, (people, 1)), axis=1)


def _nested_households(rng: Rng, people: int) -> Codes:
    sizes = rng.choice([1, 2, 3, 4, 5, 6], people, p=[0.3, 0.3, 0.15, 0.15, 0.06, 0.04])
    home = np.repeat(np.arange(people), sizes)[:people]
    place = np.arange(people) - np.searchsorted(home, home)
    town = rng.choice(30, people, p=rng.dirichlet(np.full(30, 1.0)))[home]
    head = rng.integers(22, 85, people)[home]
    age = np.clip(np.where(place == 0, head, np.where(place == 1, head - 2, head - 28)) + rng.integers(-4, 5, people), 0, 95)
    return np.stack([town, age, sizes[home], rng.integers(0, 2, people)], axis=1)


def _two_digits(amount: np.ndarray) -> Codes:
    step = 10.0 ** np.maximum(np.floor(np.log10(amount)) - 1, 0)
    return (np.floor(amount / step) * step).astype(np.int64)


def _near_duplicates(rng: Rng, people: int) -> Codes:
    out = np.repeat(rng.integers(0, 14, (people, 4)), rng.choice([1, 2, 4], people, p=[0.4, 0.4, 0.2]), axis=0)[:people]
    changed = rng.random(people) < 0.3
    out[changed, rng.integers(0, 4, people)[changed]] += 1
    return out


def _grid(rng: Rng, people: int) -> Codes:
    centre = rng.uniform(0, 50, (12, 2))
    town = rng.choice(12, people, p=rng.dirichlet(np.full(12, 1.0)))
    place = centre[town] + rng.standard_normal((people, 2)) * 2.5
    stray = rng.random(people) < 0.25
    place[stray] = rng.uniform(0, 50, (int(stray.sum()), 2))
    return np.append(np.clip(place, 0, 49).astype(np.int64), rng.integers(0, 5, (people, 1)), axis=1)


def _clayton(rng: Rng, people: int, columns: int, values: int) -> Codes:
    shared = rng.gamma(0.5, 1.0, people)[:, None]
    share = (1 + rng.exponential(1.0, (people, columns)) / shared) ** -0.5
    return np.minimum((share * values).astype(np.int64), values - 1)


def _t_copula(rng: Rng, people: int, columns: int, values: int) -> Codes:
    link = 0.6 * np.ones((columns, columns)) + 0.4 * np.eye(columns)
    drawn = rng.multivariate_normal(np.zeros(columns), link, people) / np.sqrt(rng.chisquare(3, people) / 3)[:, None]
    return np.clip(np.round(drawn * 2 + values / 2), 0, values - 1).astype(np.int64)


def _restaurant(rng: Rng, people: int, strength: float) -> Codes:
    table = np.zeros(people, dtype=np.int64)
    for i in range(1, people):
        table[i] = table[rng.integers(0, i)] if rng.random() < i / (i + strength) else i
    return known._digits(rng.permutation(14**4)[table], 14, 4)


FOURTH_TABLES = {
    "adult: education, hours, marital status, sex": ("adult", ["education", "hours-per-week", "marital-status", "sex"]),
    "time use: income, home, age, child": ("atus", ["famincome", "home_type", "age", "hh_child"]),
    "labour force: region, age, kind": ("free", ["REGION", "AGE", "KINDPERS"]),
    "tests: age, day, gender": ("tests", ["age", "pan_day", "gender"]),
    "Cook County: postcode, age": ("cook", ["geoid_zcta", "age"]),
}
FOURTH: dict[str, Callable[[Rng], Codes]] = {
    "core and fringe": lambda rng: np.where(
        rng.random(7_000)[:, None] < 0.4,
        rng.integers(0, 12, (7_000, 4)),
        rng.integers(0, 12, (200, 4))[rng.integers(0, 200, 7_000)],
    ),
    "ring": lambda rng: np.round(
        np.stack([np.cos(turn := rng.uniform(0, 6.28, 7_000)), np.sin(turn), turn / 6], axis=1) * 14
        + rng.standard_normal((7_000, 3))
    ).astype(np.int64),
    "first names": lambda rng: np.append(
        known.zipf(rng, 7_000, 1, 300, 0.9), np.stack([rng.integers(0, 30, 7_000), rng.integers(0, 2, 7_000)], axis=1), axis=1
    ),
    "firms and jobs": lambda rng: np.stack(
        [
            firm := rng.choice(150, 7_000, p=rng.dirichlet(np.full(150, 0.3))),
            (firm + rng.geometric(0.3, 7_000)) % 25,
            rng.integers(0, 8, 7_000),
        ],
        axis=1,
    ),
    "answers left out": lambda rng: np.where(
        (rng.random(7_000) < 0.3)[:, None] & (np.arange(5) > 1), 0, rng.binomial(12, 0.4, (7_000, 5))
    ),
}


FIFTH_TABLES = {
    "adult: age, relationship, race, hours": ("adult", ["age", "relationship", "race", "hours-per-week"]),
    "adult: work class, occupation, education, age": ("adult", ["workclass", "occupation", "education", "age"]),
    "adult: country, marital status, education": ("adult", ["native-country", "marital-status", "education"]),
    "time use: state, occupation, sex": ("atus", ["state", "occup_code", "sex"]),
    "time use: age, sex, marital status, citizen, labour": ("atus", ["age", "sex", "marital", "citizen", "labor_status"]),
    "time use: state, industry, household size": ("atus", ["state", "ind_code", "hh_size"]),
    "labour force: company, occupation, age": ("free", ["COMPCODE", "OCCUCODE", "AGE"]),
    "labour force: education, marital status, age of youngest": ("free", ["EDUC1", "MARSTAT", "AGEYOUNG", "AGE"]),
    "diabetes: age, race, admission, discharge": (
        "diabetes",
        ["age", "race", "admission_source_id", "discharge_disposition_id", "time_in_hospital"],
    ),
    "diabetes: diagnosis, age, gender": ("diabetes", ["diag_1", "age", "gender"]),
    "tests: clinic, age, payor": ("tests", ["clinic_name", "age", "payor_group"]),
    "credit in Taiwan: age, limit, education": ("taiwan", ["AGE", "LIMIT_BAL", "EDUCATION"]),
}
FIFTH: dict[str, Callable[[Rng], Codes]] = {
    "villages and a city": lambda rng: np.stack(
        [
            place := np.where(rng.random(7_000) < 0.5, 0, rng.integers(1, 60, 7_000)),
            np.where(place == 0, rng.integers(18, 90, 7_000), rng.binomial(80, 0.6, 7_000)),
            rng.integers(0, 2, 7_000),
        ],
        axis=1,
    ),
    "heaped ages": lambda rng: np.stack(
        [
            np.where(rng.random(7_000) < 0.5, 5 * rng.integers(3, 18, 7_000), rng.integers(15, 90, 7_000)),
            rng.choice(40, 7_000, p=rng.dirichlet(np.full(40, 0.4))),
            rng.integers(0, 3, 7_000),
        ],
        axis=1,
    ),
    "three kinds of people": lambda rng: _kinds(rng, 7_000),
    "order numbers cut short": lambda rng: np.stack(
        [np.arange(7_000) // 3 % 500, rng.integers(0, 4, 7_000), rng.integers(0, 2, 7_000)], axis=1
    )[rng.permutation(7_000)],
    "log-normal cells": lambda rng: known._digits(
        rng.choice(15**4, 7_000, p=(w := np.exp(rng.normal(0, 2.5, 15**4))) / w.sum()), 15, 4
    ),
    "gamma cells": lambda rng: known._digits(rng.choice(13**4, 7_000, p=(w := rng.gamma(0.05, 1, 13**4)) / w.sum()), 13, 4),
    "symptoms": lambda rng: (
        rng.random((7_000, 14)) < 1 / (1 + np.exp(2.0 - rng.standard_normal((7_000, 1)) - rng.normal(0, 1, 14)))
    ).astype(np.int64),
    "families in streets": lambda rng: np.repeat(
        np.stack([rng.integers(0, 90, 2_400), rng.integers(0, 30, 2_400), rng.integers(0, 4, 2_400)], axis=1),
        rng.choice([1, 2, 3, 5], 2_400, p=[0.2, 0.2, 0.3, 0.3]),
        axis=0,
    )[:7_000],
    "ages by job": lambda rng: np.stack(
        [job := rng.choice(45, 7_000, p=rng.dirichlet(np.full(45, 0.7))), rng.binomial(60, 0.2 + 0.013 * job), job % 7],
        axis=1,
    ),
    "answers copied from neighbours": lambda rng: _copied(rng, 7_000),
}


def _kinds(rng: Rng, people: int) -> Codes:
    """A third fills in everything alike, a third by chance, a third by two scales."""
    kind = rng.integers(0, 3, people)
    alike, chance = rng.integers(0, 9, (40, 4))[rng.integers(0, 40, people)], rng.integers(0, 9, (people, 4))
    scale = np.clip(np.round(4 + 1.5 * rng.standard_normal((people, 1)) + 0.8 * rng.standard_normal((people, 4))), 0, 8)
    return np.choose(kind[:, None], [alike, chance, scale.astype(np.int64)])


def _copied(rng: Rng, people: int) -> Codes:
    out = rng.integers(0, 11, (people, 4))
    for i in np.flatnonzero(rng.random(people) < 0.35):
        n = rng.integers(2, 5)
        out[i, :n] = out[i - 1, :n]
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
    "taiwan": ("real_tables/credit_taiwan/data.xlsx", ","),
    "heights": ("socr/hw_25000.csv", ","),
    "cook": ("us_cook_zcta/cook_2020_zcta_single_age_sex.csv", ","),
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
            rows = _read(folder / path, separator)
            read[file] = rows.sample(min(most, len(rows)), random_state=7)
        out[name] = np.stack([pd.factorize(read[file][c], sort=True)[0] for c in columns], axis=1)
    return out


def _read(path: Path, separator: str) -> pd.DataFrame:
    """One row per person: counts are repeated, measured lengths and weights rounded."""
    import pandas as pd

    if path.suffix == ".xlsx":
        rows = pd.read_excel(path, dtype=str, header=None)
        first = int(np.argmax((rows == "AGE").any(axis=1)))
        return rows.iloc[first + 1 :].set_axis(list(rows.iloc[first]), axis=1)
    rows = pd.read_csv(path, sep=separator, keep_default_na=False, dtype=str)
    if "pop_in_cook" in rows:
        return rows.loc[rows.index.repeat(rows["pop_in_cook"].astype(float).astype(int) // 20)]
    if "Height(Inches)" in rows:
        return rows.astype(float).round().astype(int).astype(str)
    return rows


SETS = (
    (GENERATED, TABLES, 15_000),
    (SECOND, SECOND_TABLES, 6_000),
    (THIRD, THIRD_TABLES, 7_000),
    (FOURTH, FOURTH_TABLES, 7_000),
    (FIFTH, FIFTH_TABLES, 7_000),
)
"""Generators, columns of real tables and most rows of each set."""
