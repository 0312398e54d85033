"""Comparison: what ``compare`` found, as numbers, sentences, a page and a card. No data value is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shoal.disk.atomic import write_text
from shoal.measures.utility.analyses import AnalysisChange, ModelScore
from shoal.measures.utility.distances import Propensity, QueryErrors
from shoal.model.display import written
from shoal.model.strict_json import plain


@dataclass(frozen=True)
class ColumnChange:
    """One column before and after. Losses are None where labels cannot be read as groups of original values."""

    name: str
    kind: str
    values: tuple[int, int]
    missing: tuple[int, int]
    losses: Mapping[str, float | None]
    distance: float | None
    distance_at_original: float | None
    hellinger: float | None
    numbers: Mapping[str, tuple[float, float] | float] | None
    unread: int = 0
    matched: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        out = asdict(self)
        for pair in ("values", "missing"):
            out[pair] = {"before": out[pair][0], "after": out[pair][1]}
        if out["numbers"] is not None:
            out["numbers"] = {
                n: {"before": v[0], "after": v[1]} if isinstance(v, tuple) else v for n, v in out["numbers"].items()
            }
        return out


@dataclass(frozen=True)
class PairChange:
    """Two columns together: share of the records in another cell of their table, and how strongly they go together."""

    columns: tuple[str, str]
    distance: float
    measure: str
    before: float
    after: float


SCOPE = (
    "What a release with this k and no other requirement loses by default, with as many records left out; or the plan of a "
    "larger group, or this release, if that loses less."
)


@dataclass(frozen=True)
class FrontierPoint:
    """The least loss found for a k, and how: ``lattice`` (one level per column), ``local`` or ``release``."""

    k: int
    loss: float
    method: str = "lattice"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Original against release; a card in Jupyter.

    ``c.sentence, c.overall["granularity"], c.columns, c.pairs, c.propensity, c.queries, c.models, c.classes, c.frontier,
    c.to_json(), c.report("compare.html")``.
    """

    original: str
    release: str
    records: tuple[int, int]
    columns: tuple[ColumnChange, ...]
    not_published: tuple[str, ...]
    added: tuple[str, ...]
    overall: Mapping[str, float | None]
    pairs: tuple[PairChange, ...]
    correlations: Mapping[str, Any]
    private: Mapping[str, Mapping[str, tuple[float, float]]]
    classes: Mapping[str, Any]
    propensity: Propensity | None
    queries: QueryErrors | None
    analyses: tuple[AnalysisChange, ...]
    models: tuple[ModelScore, ...]
    frontier: tuple[FrontierPoint, ...]
    frontier_why: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Comparison of {self.release} with {self.original}: {self.sentence}>"

    @property
    def lost(self) -> int:
        """Records of the original that are not in the release, as far as numbers tell."""
        return max(0, self.records[0] - self.records[1])

    @property
    def sentence(self) -> str:
        """The whole in a sentence."""
        before, after = self.records
        total = len(self.columns) + len(self.not_published)
        parts = [f"{after:,} records stand for {before:,}", f"{len(self.columns)} of {total} columns are published"]
        detail = self.overall.get("granularity")
        if detail is not None:
            read = sum(c.losses["granularity"] is not None for c in self.columns)
            whose = "their cells" if read == len(self.columns) else f"the cells of the {read} that can be read"
            parts.append(f"{whose} keep {_share(1 - detail)} of the detail")
        if self.queries is not None and self.queries.queries:
            parts.append(f"counts asked of it are typically off by {_share(self.queries.median)}")
        return f"{'; '.join(parts)}."

    @property
    def frontier_scope(self) -> str:
        """What the least loss at each k is the least of."""
        return SCOPE

    def to_json(self) -> dict[str, object]:
        measured = self.propensity
        content: dict[str, Any] = {
            "original": self.original,
            "release": self.release,
            "records": {"before": self.records[0], "after": self.records[1]},
            "sentence": self.sentence,
            "overall": dict(self.overall),
            "columns": [c.to_json() for c in self.columns],
            "not_published": list(self.not_published),
            "added": list(self.added),
            "pairs": [asdict(p) for p in self.pairs],
            "correlations": dict(self.correlations),
            "private_information": {
                target: {name: {"utility": u, "loss": lost} for name, (u, lost) in by.items()}
                for target, by in self.private.items()
            },
            "classes": dict(self.classes),
            "propensity": None
            if measured is None
            else asdict(measured) | {"ratio": measured.ratio, "standardized": measured.standardized},
            "queries": None if self.queries is None else asdict(self.queries),
            "analyses": [a.to_json() for a in self.analyses],
            "models": [asdict(m) for m in self.models],
            "frontier": {
                "points": [asdict(p) for p in self.frontier],
                "why_not": self.frontier_why or None,
                "scope": self.frontier_scope,
            },
            "notes": list(self.notes),
        }
        out: dict[str, Any] = plain(content)
        return out

    def _repr_html_(self) -> str:
        from shoal.report.comparison_report import comparison_card

        return comparison_card(self)

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML page: no data value, nothing loaded from elsewhere."""
        from shoal.report.comparison_report import comparison_html

        return write_text(path, comparison_html(self))


def _share(x: float) -> str:
    return f"{written(100 * x, 3)} %"
