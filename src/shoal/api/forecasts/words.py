"""The keywords of each question: type checkers see them at the verb, the command line uses the same words."""

# no "from __future__ import annotations": a TypedDict knows its required keys at run time only without it

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Required, TypedDict

Counted = str | Path | Sequence[float]
"""Numbers, or the file that holds them: ``FILE.csv`` or ``FILE.csv:column``."""
Approximation = Literal["auto", "exact", "saddlepoint", "poisson", "kappa", "kappa-limit", "chi", "collisions"]


class Cells(TypedDict, total=False):
    """What is known of the cells that people fall into: their number, their counts, their probabilities, or only kappa."""

    uniform: int | None
    counts: Counted | None
    p: Sequence[float] | None
    normalize: bool
    cells: int | None
    kappa: float | None
    p_max: float | None


class UniquenessWords(Cells, total=False):
    group_size: Required[int]
    power_sums: str | Sequence[float] | None
    sums_error: float | None
    method: Approximation


class SingletonsWords(Cells, total=False):
    group_size: Required[int]
    sizes: int
    law: bool
    best: bool


class IntervalWords(TypedDict, total=False):
    group_size: Required[int]
    width: float | None
    target: float | None
    normal: float | None
    exponential: float | None
    length: float | None
    sample: Counted | None
    origin: float
    second: tuple[float, float, float] | None
    method: Literal["exact", "first", "second", "integral"]


class QuasiWords(TypedDict, total=False):
    values: Mapping[str, int] | None
    table: Any
    columns: Sequence[str]
    people: int | None
    alpha: float
    subsets: int
    k: int | None
    beta: float
    weights: Sequence[float] | None


class PopulationWords(TypedDict, total=False):
    population: Required[int | str]
    classes: Counted | None
    frequencies: Mapping[int, int] | None
    cells: int | None
    table: Any
    columns: Sequence[str]
    unit: str | None
    model: str
    seed: int


class ZipfWords(TypedDict, total=False):
    people: int | None
    table: str | tuple[Any, str] | None
    unit: str | None
    time: str | None
    records_per_row: int | None
    seed: int
    records: int
    exponent: float | None
    places: int | None
    counts: Counted | None
    fit: Literal["mle", "least-squares"]
    k: int
    limit: float | None
