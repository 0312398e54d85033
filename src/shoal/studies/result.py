"""Study: the tables and figures of many sets of columns over one table. Names of small subpopulations are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shoal.disk.atomic import write_text
from shoal.measures.classes.anonymity import SizeTable, Subpopulation
from shoal.measures.subsets.column_sets import Lattice
from shoal.model.display import written
from shoal.model.strict_json import plain


@dataclass(frozen=True)
class GroupResult(Subpopulation):
    """One subpopulation: sizes of its classes, κ and entropy of its distribution, uniqueness, and predicted against observed.

    ``histogram`` says how many classes there are of each size: what a registry's record is made from. ``by_group_size`` is the
    chance that all people of a group are different, by its size, for the named subpopulations of the lowest and highest κ.
    ``alone`` and ``alone_variance``: mean and variance of how many of the group would be one of a kind in it.
    """

    entropy: float
    kappa: float
    log_uniqueness: float
    alone: float
    alone_variance: float
    observed: tuple[float, ...]
    predicted: tuple[float, ...]
    histogram: Mapping[int, int]
    by_group_size: Mapping[int, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"class_sizes": self.sizes.to_json(), "sizes": None}


@dataclass(frozen=True)
class Regression:
    """log uniqueness = intercept + slope · κ over the subpopulations."""

    slope: float
    intercept: float
    r2: float
    points: int


@dataclass(frozen=True)
class SetResult:
    """One set of columns over the whole table and in each subpopulation.

    ``exactly`` counts members of classes of exactly 1 … 10; ``cells`` is the number of possible combinations (the product of the
    values that occur), ``kappa`` the KL distance of the distribution from the uniform one over them, in nats. ``evenly`` is the
    chance that all people of a group are different, by its size, were the combinations inside a subpopulation equally likely.
    """

    columns: tuple[str, ...]
    members: int
    sizes: SizeTable
    at: Mapping[int, int]
    exactly: Mapping[int, int]
    unique: int
    entropy: float
    cells: int
    kappa: float
    histogram: Mapping[int, int]
    nested: tuple[str, ...] = ()
    """Columns that have values of their own in each subpopulation."""
    groups: tuple[GroupResult, ...] = ()
    pearson: float | None = None
    spearman: float | None = None
    regression: Regression | None = None
    evenly: Mapping[int, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return " + ".join(self.columns)

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "columns": list(self.columns),
            "members": self.members,
            "classes": self.sizes.sets,
            "class_sizes": self.sizes.to_json(),
            "people_at": dict(self.at),
            "people_exactly": dict(self.exactly),
            "unique": self.unique,
            "entropy": self.entropy,
            "cells": self.cells,
            "kappa": self.kappa,
            "histogram": dict(self.histogram),
        }
        if self.groups:
            out["groups"] = [{k: v for k, v in g.to_json().items() if k != "sizes"} for g in self.groups]
            out["correlation"] = {"pearson": self.pearson, "spearman": self.spearman}
            out["regression"] = None if self.regression is None else asdict(self.regression)
            out["evenly"] = dict(self.evenly)
        return out


@dataclass(frozen=True)
class ColumnResult:
    """One column alone; ``bands`` is κ when a whole number is published in bands of that width.

    ``by_group`` is the same within each subpopulation, the lowest κ of the narrowest band first, over the bands of the table.
    """

    name: str
    values: int
    entropy: float
    kappa: float
    bands: Mapping[int, float]
    by_group: Mapping[int, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """``s.sets, s.columns, s.lattice, s.to_json(), s.report("study.html")``."""

    table: str
    by: str | None
    group_size: int
    sets: tuple[SetResult, ...]
    columns: tuple[ColumnResult, ...]
    lattice: Lattice | None
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Study of {self.table}: {len(self.sets)} sets of columns>"

    @property
    def sentence(self) -> str:
        """The set that tells most, in a sentence."""
        if not self.sets and self.lattice is not None:
            return self._found_sets()
        if not self.sets:
            return f"No set of columns of {self.table} was counted."
        worst = max(self.sets, key=lambda s: (s.unique / s.members, -len(s.columns)))
        share = f"{written(100 * worst.unique / worst.members, 3)} %"
        several = f"Of {len(self.sets):,} sets of columns, {worst.name} tells most"
        return f"{several if len(self.sets) > 1 else worst.name}: {share} are one of a kind."

    def _found_sets(self) -> str:
        """The smallest identifying sets and the largest safe ones, in a sentence."""
        identifying, safe = (self.lattice.identifying, self.lattice.safe) if self.lattice is not None else ((), ())
        parts = []
        for what, sets in (("identifying", identifying), ("safe", safe)):
            if sets:
                one = max(sets, key=lambda s: (s.unique, -len(s.columns)) if s in identifying else (len(s.columns), s.k))
                plural = "s" if len(sets) > 1 else ""
                parts.append(f"{len(sets):,} {what} set{plural} of columns, such as {' + '.join(one.columns)}")
        return f"{self.table}: {'; '.join(parts)}." if parts else f"{self.table}: no set of columns is identifying or safe."

    def to_json(self) -> dict[str, Any]:
        content = {
            "table": self.table,
            "by": self.by,
            "group_size": self.group_size,
            "sentence": self.sentence,
            "sets": [s.to_json() for s in self.sets],
            "columns": [asdict(c) for c in self.columns],
            "lattice": None if self.lattice is None else self.lattice.to_json(),
            "notes": list(self.notes),
        }
        out: dict[str, Any] = plain(content)
        return out

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML page with the tables and figures."""
        from shoal.report.study_report import study_html

        return write_text(path, study_html(self))
