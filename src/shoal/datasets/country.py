"""The made-up country in which the generated people live: places, ages, schooling, work and illness.

Everything here is a fixed table: the country is the same for every seed; only its people differ. Shapes are realistic
(municipality sizes fall off like a lognormal, the age pyramid has a baby boom and Gompertz mortality, income rises with
schooling, illness with age); no number is taken from a real register.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

REFERENCE_YEAR = 2026
OLDEST = 104
MUNICIPALITIES = 340
POSTCODES = 3900

_WORDS = tomllib.loads(files(__package__).joinpath("country.toml").read_text(encoding="utf-8"))
FEMALE, MALE, SURNAMES = (tuple(_WORDS[name]) for name in ("female", "male", "surnames"))
EDUCATION, OCCUPATIONS, DIAGNOSES = (tuple(_WORDS[name]) for name in ("education", "occupations", "diagnoses"))

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Places:
    """Postcodes with their municipality; ``cumulative[i]`` is the chance of living in postcode 0 … i."""

    municipalities: tuple[str, ...]
    postcodes: tuple[str, ...]
    municipality_of: npt.NDArray[np.int32]
    cumulative: Matrix


@cache
def places() -> Places:
    """Municipalities of realistic sizes (from a few thousand to the better part of a million) and their postcodes."""
    rng = np.random.default_rng(1729)
    size = np.sort(rng.lognormal(mean=10.3, sigma=0.85, size=MUNICIPALITIES))[::-1]
    share = size / size.sum()
    each = np.maximum(1, np.round(share * POSTCODES).astype(int))
    each[0] += POSTCODES - each.sum()
    inside = [rng.gamma(2.0, 1.0, size=int(m)) + 0.05 for m in each]
    weight = np.concatenate([s * w / w.sum() for s, w in zip(share, inside, strict=True)])
    codes = np.sort(rng.choice(np.arange(1000, 10000), size=POSTCODES, replace=False))
    owner = np.repeat(np.arange(MUNICIPALITIES, dtype=np.int32), each)
    return Places(_names(rng), tuple(str(c) for c in codes), owner, np.cumsum(weight / weight.sum()))


def _names(rng: np.random.Generator) -> tuple[str, ...]:
    starts, middles, ends = _WORDS["municipalities"].values()
    names: dict[str, None] = {}
    while len(names) < MUNICIPALITIES:
        parts = [str(rng.choice(starts)), str(rng.choice(middles)) if rng.random() < 0.4 else "", str(rng.choice(ends))]
        names.setdefault("".join(parts))
    return tuple(names)


@cache
def age_pyramid() -> Matrix:
    """Share of each age 0 … 104: cohorts with a baby boom (ages 52–80), thinned by Gompertz mortality."""
    age = np.arange(OLDEST + 1, dtype=np.float64)
    cohort = 1.0 + 0.32 * np.exp(-(((age - 62) / 9.5) ** 2)) + 0.12 * np.exp(-(((age - 31) / 7.0) ** 2)) - 0.08 * (age < 18)
    survival = np.exp(-(2.2e-5 / 0.098) * (np.exp(0.098 * age) - 1.0))
    weight = cohort * survival
    out: Matrix = weight / weight.sum()
    return out


@cache
def education_given_band() -> Matrix:
    """P(education | age band of ten years); one row per band 0–9, …, 100–109."""
    rows = []
    for band in range(11):
        if band < 1:
            weights = [1, 0, 0, 0, 0, 0, 0, 0]
        elif band == 1:
            weights = [78, 0, 6, 9, 6, 1, 0, 0]
        else:
            age = 10 * band + 5
            old = np.clip((age - 30) / 50, 0, 1)
            weights = [0, 3 + 22 * old, 11 + 14 * old, 14 + 4 * old, 30 - 6 * old, 25 - 18 * old, 15 - 12 * old, 1.4 - 0.9 * old]
        rows.append(np.asarray(weights, dtype=np.float64) / np.sum(weights))
    return np.stack(rows)


@cache
def occupation_given_education() -> Matrix:
    """P(occupation | education) for people of working age; jobs are spread around the schooling they ask for."""
    asked = np.array([0, 0, 0, 0] + [1.2] * 4 + [2.2] * 5 + [3.8] * 5 + [4.6] * 4 + [5.4] * 8 + [6.3] * 6 + [5.8] * 4)
    crowd = np.array([0, 0, 0, 14.0] + [6, 2, 6, 6, 9, 4, 6, 9, 2, 3, 2, 4, 2, 6, 3, 7, 4, 6, 8, 4, 6, 6, 3, 0.6, 0.7, 6])
    rare = np.array([1.6, 1.5, 0.5, 0.5, 1.8, 0.1, 0.06, 0.15, 0.3, 0.02])
    crowd = np.concatenate([crowd, rare])
    rows = []
    for level in range(len(EDUCATION)):
        fit = np.exp(-0.5 * ((asked - level) / 0.9) ** 2)
        fit[:4] = (0, 0, 0, 0.9 - 0.1 * level)
        weights = crowd * fit
        rows.append(weights / weights.sum())
    return np.stack(rows)


@cache
def diagnosis_given_band() -> Matrix:
    """P(diagnosis | age band of ten years): most have none when young, chronic ones come with age, some stay rare."""
    peak = np.array([0, 5, 12, 20, 8, 35, 35, 50, 50, 65, 65, 70, 75, 65, 70, 78, 86, 40, 20, 15], dtype=np.float64)
    width = np.array([1, 15, 15, 40, 12, 20, 18, 25, 20, 18, 18, 15, 14, 15, 14, 10, 9, 14, 22, 12], dtype=np.float64)
    height = np.array([0, 9, 5, 2, 4, 4, 4, 4, 6, 16, 9, 8, 6, 2.4, 4, 1.2, 5, 0.12, 0.10, 0.03])
    rows = []
    for band in range(11):
        age = 10 * band + 5
        weights = height * np.exp(-0.5 * ((age - peak) / width) ** 2)
        weights[0] = max(28.0, 78.0 - 0.6 * age)
        rows.append(weights / weights.sum())
    return np.stack(rows)


INCOME_BY_EDUCATION = np.array([0.0, 20_500, 23_000, 27_500, 31_500, 43_000, 56_000, 64_000])
"""Median yearly income by education, in the country's money."""
