"""Measure: the sentence, four numbers with their why, the histogram."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from markupsafe import Markup

from shoal.api.events import measure_events
from shoal.api.improvement import Improvement
from shoal.api.measurement import Measurement
from shoal.engines.table import Table
from shoal.errors import DataError, EmptyTableError
from shoal.model.display import one_in
from shoal.release.linked.gather import gather
from shoal.release.linked.policy import LinkedPolicy
from shoal.release.linked.search import alike
from shoal.report.charts import Chart, Line, class_sizes, curve, fish, svg
from shoal.report.charts.sizes import caption
from shoal.report.events_report import curves, sets
from shoal.report.numbers import percent
from shoal.studio import words
from shoal.studio.value_groups import MOST

FISHES = 50
PHONE = 320
"""Width of a chart on a telephone."""


def shown(m: Measurement, k: int) -> dict[str, Any]:
    """The sentence, four numbers and the histogram; ``k`` is the smallest group that is asked for."""
    total = m.crowds.n_members
    different, which = np.unique(m.crowds.sizes, return_inverse=True)
    members = np.bincount(which, weights=m.crowds.members, minlength=len(different))
    sizes = {int(size): int(people) for size, people in zip(different, members, strict=True)}
    worst = next(iter(m.worst_subsets(1, up_to=2)), None) if m.knows_subsets else None
    numbers = [
        {"value": f"{m.unique:,}", "words": "people are one of a kind", "why": "unique"},
        {
            "value": f"{m.k:,}",
            "words": "person in the smallest group" if m.k == 1 else "people in the smallest group",
            "why": "k",
            "bad": f"you ask for {k:,}" if m.k < k else "",
        },
        {"value": one_in(m.risk.prosecutor.mean), "words": "average chance to name a row's owner", "why": "chance"},
    ]
    if worst is not None:
        by = f"singled out by {words.several(worst.columns)}"
        numbers.append({"value": f"{worst.unique:,}", "words": by, "why": "worst"})
    return {
        "unique": m.unique,
        "people": total,
        "k": m.k,
        "said": words.headline(m),
        "shoal_sign": fish(total, m.unique, fishes=FISHES) if total else None,
        "sign_words": caption(total, FISHES, alone=m.unique > 0),
        "numbers": numbers,
        "sizes": [class_sizes(sizes, k, title="How many people share a group", width=width) for width in (832, PHONE)],
        "notes": [note for note in m.notes if "δ" not in note and "journalist" not in note][:3],
    }


def together(_: Table, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What several tables say of the same people together, and each alone, as they are; ``asked`` is their policy."""
    family = gather(LinkedPolicy.of(asked))
    try:
        raw = [(part, [dict.fromkeys(part.prepared.quasi, 0)]) for part in family.parts]
        shared = alike(family, [levels for _, (levels,) in raw])
        alone = {p.linked.name: int((alike(replace(family, parts=(p,)), at) == 1).sum()) for p, at in raw}
    finally:
        family.close()
    unique, k = int((shared == 1).sum()), family.policy.k
    sizes = {int(size): int(people) for size, people in zip(*np.unique(shared, return_counts=True), strict=True)}
    first = f"{unique:,} of {words.people(family.n)} {'is' if unique == 1 else 'are'} one of a kind"
    return {
        "unique": unique,
        "alone": alone,
        "said": (
            first if unique else f"Nobody of {words.people(family.n)} is one of a kind",
            f"when {len(raw)} tables are known.",
        ),
        "sizes": [class_sizes(sizes, k, title="How many people are alike", width=width) for width in (832, PHONE)],
    }


def why(m: Measurement, asked: str) -> list[str]:
    """The explanation of a number, as the command line gives it."""
    return [line for line in str(m.explain(asked)).splitlines() if line.strip()]


def copied(table: Table, target: str, limit: int) -> int:
    """Write the table's rows as Parquet; how many there are. More than ``limit`` bytes in memory's form are refused."""
    rows = size = 0
    writer: pq.ParquetWriter | None = None
    try:
        for batch in table.scan():
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if size > limit:
                hint = "Start the studio with a larger --limit, or name a view with fewer rows."
                raise DataError(f"Found: a table of more than {limit / 1e9:.3g} GB, the most that this studio takes.", hint=hint)
            writer = writer or pq.ParquetWriter(target, batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()
    if not rows:
        Path(target).write_bytes(b"")
        raise EmptyTableError(f"table '{table.name}' has no rows.", hint="Choose one with at least one row of data.")
    return rows


def drawn(view: Any) -> Any:
    """What a view tells, with every chart in it drawn."""
    if isinstance(view, Chart):
        return svg(view)
    if isinstance(view, dict):
        return {name: drawn(part) for name, part in view.items()}
    if type(view) in (list, tuple):
        return type(view)(drawn(part) for part in view)
    return view


def draw(chart: Any) -> Any:
    """A chart as the pages show it; one that was drawn already as it is."""
    return chart if isinstance(chart, Markup) else svg(chart)


SHOWN = 12


def levels(improvement: Improvement, column: str) -> dict[str, Any]:
    """Every level with its groups, and the values that enough records have, in order of their text."""
    previews = improvement.shown(column)
    top = improvement.heights[column]
    named = values(improvement, column)
    return {
        "levels": [
            {
                "level": p.level,
                "hidden": p.level == top,
                "groups": p.groups,
                "smallest": p.smallest if p.smallest >= improvement.policy.cells.minimum else None,
                "small": p.below_k,
                "shown": [{"label": label, "n": n} for label, n in p.shown[:SHOWN]],
                "more": max(0, p.groups - p.below_k - SHOWN),
            }
            for p in previews
        ],
        "values": named if len(named) <= MOST else [],
        "not_named": previews[0].below_k,
        "least": improvement.policy.cells.minimum,
    }


def values(improvement: Improvement, column: str) -> list[tuple[str, int]]:
    """The values that may be named, with their records, in order of their text."""
    return sorted(improvement.named_values(column))


def rows(improvement: Improvement, column: str) -> list[list[str]]:
    """A file of the levels (value; level 1; …): values that too few have are one line of stars."""
    named = {label for label, _ in values(improvement, column)}
    hierarchy = improvement.prepared.hierarchies[column]
    places = [i for i, leaf in enumerate(hierarchy.leaves) if leaf in named]
    out = [[str(level.labels[level.groups[i]]) for level in hierarchy.levels] for i in places]
    if len(out) < len(hierarchy.leaves):
        out.append(["*"] * len(hierarchy.levels))
    return out


def revealed(table: Table, unit: str, time: str, place: str) -> dict[str, Any]:
    """The curve of people alone against known records, and the sets they hide in; an empty name means no column."""
    m = measure_events(table, unit=unit, time=time or None, place=place or None)
    lines = [Line(g.name, [(float(k.records), 100 * k.unique.value) for k in g.curve]) for g in m.grid if g.curve][:3]
    return {
        "sentence": m.sentence,
        "alone": m.curve[-1].unique.value,
        "curve": [curves(m), curve(lines, x="known records", y="people alone, %", title="Known records", width=PHONE)],
        "sets": [sets(m), sets(m, right=PHONE - 16, width=PHONE)],
        "lines": [_in_percent(line) for line in m.explain().splitlines() if line.strip() and line != m.sentence],
        "notes": list(m.notes),
    }


def _in_percent(line: str) -> str:
    """
    >>> _in_percent("2 known: 0.976068 (exact, sets of 2 records)")
    '2 known: 97.6 % of people are alone (exact, sets of 2 records)'
    """
    return re.sub(r"(?<= known: )[\d.]+(?= )", lambda share: f"{percent(float(share[0]))} of people are alone", line)
