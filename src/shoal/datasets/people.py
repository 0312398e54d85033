"""People of the made-up country, any number of them, the same for the same seed.

Takes    how many, and a seed
Returns  Arrow batches, a table, or a Parquet file written batch by batch
Keeps    person i of seed s is the same for any number of people (up to the last incomplete batch)
Cost     about two seconds per million people; memory of one batch
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal.datasets import country
from shoal.disk.atomic import atomic
from shoal.errors import UsageError

BATCH = 1 << 17
MOST = 100_000_000
_PRIME = 999_999_937  # person numbers are (a·i + b) mod this prime: distinct, nine digits, in no visible order

COLUMNS = (
    "person_id", "name", "date_of_birth", "sex", "municipality", "postcode",
    "education", "occupation", "income", "diagnosis", "visits",
)  # fmt: skip


def people(n: int = 10_000, seed: int = 0) -> pa.Table:
    """``n`` generated people as one Arrow table.

    Columns: person_id and name (direct identifiers); date_of_birth, sex, municipality, postcode, education, occupation
    (quasi-identifiers); income (2 % missing), diagnosis (sensitive); visits (number of visits to a doctor in a year).

    >>> t = people(1000, seed=7)
    >>> t.num_rows, t.column_names[:4]
    (1000, ['person_id', 'name', 'date_of_birth', 'sex'])
    >>> t.equals(people(1000, seed=7)), t.equals(people(1000, seed=8))
    (True, False)
    """
    return pa.Table.from_batches(list(batches(n, seed)))


def batches(n: int, seed: int = 0) -> Iterator[pa.RecordBatch]:
    """``n`` people in batches of at most :data:`BATCH` rows."""
    if not 1 <= n <= MOST:
        raise UsageError(f"between 1 and {MOST:,} people can be generated; {n:,} were asked for.")
    for number, start in enumerate(range(0, n, BATCH)):
        whole = _batch(number, seed)
        yield whole.slice(0, min(BATCH, n - start))


def write_people(path: str | Path, n: int, seed: int = 0, progress: Callable[[float, str], None] | None = None) -> Path:
    """Write ``n`` people to a Parquet file, batch by batch; whole or not at all."""
    return _write(Path(path), batches(n, seed), n, progress)


def visits(n: int = 10_000, seed: int = 0) -> pa.Table:
    """Visits of ``n`` people: one row per visit, so one person has several rows (or none).

    >>> v = visits(500, seed=7)
    >>> v.column_names
    ['person_id', 'sex', 'birth_year', 'postcode', 'visit_date', 'diagnosis', 'cost']
    """
    return pa.Table.from_batches(list(_visit_batches(n, seed)))


def write_visits(path: str | Path, n: int, seed: int = 0, progress: Callable[[float, str], None] | None = None) -> Path:
    """Write the visits of ``n`` people to a Parquet file."""
    return _write(Path(path), _visit_batches(n, seed), n, progress)


def _write(path: Path, source: Iterator[pa.RecordBatch], n: int, progress: Callable[[float, str], None] | None) -> Path:
    with atomic(path) as temporary:
        writer, done = None, 0
        for batch in source:
            writer = writer or pq.ParquetWriter(temporary, batch.schema, compression="zstd")
            writer.write_batch(batch)
            done += BATCH
            if progress:
                progress(min(1.0, done / n), "generating people")
        if writer is not None:
            writer.close()
    return path


def _batch(number: int, seed: int) -> pa.RecordBatch:
    """People ``number · BATCH`` to ``(number + 1) · BATCH − 1`` of a seed."""
    rng = np.random.default_rng([abs(int(seed)), int(seed < 0), number])
    place = country.places()
    age = _draw(rng, np.cumsum(country.age_pyramid()))
    band = age // 10
    female = rng.random(BATCH) < 0.487 + 0.0022 * np.maximum(0, age - 55)
    education = _draw_given(rng, country.education_given_band(), band)
    occupation = _occupations(rng, age, education)
    diagnosis = _draw_given(rng, country.diagnosis_given_band(), band)
    postcode = _draw(rng, place.cumulative)
    income, has_income = _incomes(rng, age, education, occupation)
    columns = {
        "person_id": _numbers(number),
        "name": _names(rng, female),
        "date_of_birth": _births(rng, age),
        "sex": _encode(female.astype(np.int32), ("M", "F")),
        "municipality": _encode(place.municipality_of[postcode], place.municipalities),
        "postcode": _encode(postcode, place.postcodes),
        "education": _encode(education, country.EDUCATION),
        "occupation": _encode(occupation, country.OCCUPATIONS),
        "income": pa.array(income, mask=~has_income),
        "diagnosis": _encode(diagnosis, country.DIAGNOSES),
        "visits": pa.array(_visit_numbers(rng, age, diagnosis)),
    }
    return pa.RecordBatch.from_pydict({name: columns[name] for name in COLUMNS})


def _draw(rng: np.random.Generator, cumulative: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    index = np.searchsorted(cumulative, rng.random(BATCH) * cumulative[-1], side="right")
    codes: npt.NDArray[np.int32] = np.minimum(index, len(cumulative) - 1).astype(np.int32)
    return codes


def _draw_given(rng: np.random.Generator, table: npt.NDArray[np.float64], row: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """One draw per person from the row of ``table`` that belongs to them: one search in the stacked cumulative rows."""
    cumulative = np.cumsum(table, axis=1)
    cumulative /= cumulative[:, -1:]
    stacked = (cumulative + np.arange(len(table))[:, None]).ravel()
    index = np.searchsorted(stacked, row + rng.random(BATCH), side="right") - row * table.shape[1]
    codes: npt.NDArray[np.int32] = np.clip(index, 0, table.shape[1] - 1).astype(np.int32)
    return codes


def _occupations(rng: np.random.Generator, age: npt.NDArray[Any], education: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    job = _draw_given(rng, country.occupation_given_education(), education)
    job = np.where(education == 0, 0, job)
    job = np.where((age >= 16) & (age < 24) & (education > 0) & (rng.random(BATCH) < 0.55), 1, job)
    return np.where(age + rng.integers(-4, 3, BATCH) >= 67, 2, job).astype(np.int32)


def _incomes(
    rng: np.random.Generator, age: npt.NDArray[Any], education: npt.NDArray[Any], occupation: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    career = np.clip(0.55 + 0.017 * (age - 18), 0.4, 1.15)
    working = np.where(occupation == 1, 0.35, np.where(occupation == 3, 0.45, np.where(occupation == 2, 0.7, 1.0)))
    spread = np.exp(0.38 * rng.standard_normal(BATCH))
    income = country.INCOME_BY_EDUCATION[education] * career * working * spread
    income = np.where(age < 16, 0, np.round(income, -2)).astype(np.int64)
    return income, rng.random(BATCH) >= 0.02


def _visit_numbers(rng: np.random.Generator, age: npt.NDArray[Any], diagnosis: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    mean = 1.2 + 0.03 * age + 2.5 * (diagnosis > 0)
    return rng.poisson(mean * rng.gamma(1.5, 1 / 1.5, BATCH)).astype(np.int32)


def _births(rng: np.random.Generator, age: npt.NDArray[Any]) -> pa.Array:
    first = np.datetime64(f"{country.REFERENCE_YEAR}-01-01", "D").astype(np.int64)
    days = first - np.floor(age * 365.2425).astype(np.int64) - rng.integers(1, 366, BATCH)
    return pa.array(days.astype(np.int32), type=pa.int32()).cast(pa.date32())


def _names(rng: np.random.Generator, female: npt.NDArray[np.bool_]) -> pa.Array:
    first = np.where(female, _zipf(rng, len(country.FEMALE)), len(country.FEMALE) + _zipf(rng, len(country.MALE))).astype(
        np.int32
    )
    given = _encode(first, (*country.FEMALE, *country.MALE)).cast("string")
    family = _encode(_zipf(rng, len(country.SURNAMES)), tuple(country.SURNAMES)).cast("string")
    return pc.binary_join_element_wise(given, family, " ")


def _zipf(rng: np.random.Generator, size: int) -> npt.NDArray[np.int32]:
    return _draw(rng, np.cumsum(1.0 / (3.0 + np.arange(size))))


def _numbers(number: int) -> pa.Array:
    index = np.arange(number * BATCH, (number + 1) * BATCH, dtype=np.int64)
    mixed = (index * 618_033_989 + 271_828_183) % _PRIME
    return pc.utf8_lpad(pa.array(mixed).cast(pa.string()), 9, "0")


def _encode(codes: npt.NDArray[Any], words: tuple[str, ...]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(words))


def _visit_batches(n: int, seed: int) -> Iterator[pa.RecordBatch]:
    for number, batch in enumerate(batches(n, seed)):
        rng = np.random.default_rng([abs(int(seed)), 2, number])
        times = batch["visits"].to_numpy()
        person = np.repeat(np.arange(batch.num_rows), times)
        first = np.datetime64(f"{country.REFERENCE_YEAR - 1}-01-01", "D").astype(np.int64)
        date = (first + rng.integers(0, 365, len(person))).astype(np.int32)
        cost = np.round(np.exp(4.2 + 0.7 * rng.standard_normal(len(person))), 2)
        yield pa.RecordBatch.from_pydict(
            {
                "person_id": batch["person_id"].take(pa.array(person)),
                "sex": batch["sex"].take(pa.array(person)),
                "birth_year": pc.year(batch["date_of_birth"]).cast(pa.int32()).take(pa.array(person)),
                "postcode": batch["postcode"].take(pa.array(person)),
                "visit_date": pa.array(date).cast(pa.date32()),
                "diagnosis": batch["diagnosis"].take(pa.array(person)),
                "cost": pa.array(cost),
            }
        )
