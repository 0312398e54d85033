"""Measure: the sentence, four numbers with their why, the histogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.api.measurement import Measurement
from shoal.report.charts import class_sizes, fish
from shoal.report.charts.sizes import caption
from shoal.studio import words

FISHES = 50


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
        {"value": words.in_n(m.risk.prosecutor.mean), "words": "average chance to name a row's owner", "why": "chance"},
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
        "sizes": class_sizes(sizes, k, title="How many people share a group"),
        "notes": [note for note in m.notes if "δ" not in note and "journalist" not in note][:3],
    }


def why(m: Measurement, asked: str) -> list[str]:
    """The explanation of a number, as the command line gives it."""
    return [line for line in str(m.explain(asked)).splitlines() if line.strip()]
