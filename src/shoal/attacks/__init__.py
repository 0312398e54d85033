"""Attacks on a release: each asks one question, counts how often the answer is yes, and says so in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.model.attack import AttackResult, worst_first
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import Progress, silent
from shoal.model.requirement import DistinctDiversity, Requirement, TCloseness

if TYPE_CHECKING:
    import numpy as np

__all__ = ["AttackResult", "Scene", "choice_rng", "run_all", "worst_first"]

ATTACKING = "attacking"
"""What progress says while attacks run; a colon and the kind of the attack follow, and when it is done its name and verdict."""


def tell(progress: Progress, share: float, results: Sequence[AttackResult]) -> None:
    """Say what attacks found, one by one; one that was not run has nothing to say yet."""
    for r in results:
        if r.verdict != "not run":
            progress(share, f"{ATTACKING}: {r.name}: {r.verdict}")


@dataclass(frozen=True, eq=False)
class Scene:
    """What there is to attack, and what the attacker has.

    ``released`` holds the published classes with their sensitive counts; ``k``, ``distinct`` (l per sensitive column) and ``t``
    (per column) are what the release claims. Optional: the published ``table`` and its ``files``; ``external``, an attacker's
    table counted through the published plan; ``recoded``, the base classes with published and finer codes (only the holder of the
    original has it); ``previous``, an earlier published table, with ``shared``, the columns that both publish unchanged;
    ``downcoded``, what downcoding found if it was run already.
    """

    released: ClassCounts
    k: int
    distinct: Mapping[str, int] = field(default_factory=dict)
    t: Mapping[str, float] = field(default_factory=dict)
    table: Any = None
    files: tuple[Path, ...] = ()
    external: ClassCounts | None = None
    recoded: Any = None
    previous: Any = None
    shared: tuple[str, ...] = ()
    seed: int = 0
    downcoded: AttackResult | None = None


def claimed(asked: Iterable[Requirement]) -> tuple[dict[str, int], dict[str, float]]:
    """The number of distinct values and the equal distance that requirements claim, by sensitive column."""
    asked = list(asked)
    distinct = {r.column: r.l for r in asked if isinstance(r, DistinctDiversity)}
    return distinct, {r.column: r.t for r in asked if isinstance(r, TCloseness) and r.distance == "equal"}


def choice_rng(seed: int, column: int) -> np.random.Generator:
    """The random numbers of the minimality attack on the i-th sensitive column: the same wherever it is run."""
    import numpy as np

    return np.random.default_rng([seed, 7, column])


def run_all(scene: Scene, progress: Progress = silent) -> list[AttackResult]:
    """Every attack for which the scene has what it needs, worst first; the others are listed as not run.

    ``progress`` hears the kind of each attack before it is tried, and its verdict after it.
    """
    from shoal.attacks.composition import joined_records
    from shoal.attacks.downcoding import downcoding
    from shoal.attacks.homogeneity import background, homogeneity, skewness
    from shoal.attacks.leftovers import leftovers
    from shoal.attacks.linkage import linkage
    from shoal.attacks.minimality import minimality

    results: list[AttackResult] = []
    most = 4 * len(scene.released.sensitive) + 5

    def trying(name: str) -> None:
        progress(len(results) / most, f"{ATTACKING}: {name}")

    def add(*new: AttackResult) -> None:
        results.extend(new)
        tell(progress, len(results) / most, new)

    for i, column in enumerate(scene.released.sensitive):
        distinct = scene.distinct.get(column)
        trying("homogeneity")
        add(homogeneity(scene.released, column, distinct=distinct))
        trying("background")
        add(background(scene.released, column, distinct=distinct))
        trying("skewness")
        add(skewness(scene.released, column, t=scene.t.get(column)))
        if scene.recoded is not None and column in scene.recoded.base.sensitive:
            trying("minimality")
            rng = choice_rng(scene.seed, i)
            add(minimality(scene.recoded, column, scene.released.columns, distinct=distinct, rng=rng))
    if scene.external is not None:
        trying("linkage")
        add(*linkage(scene.released, scene.external, k=scene.k))
    else:
        add(AttackResult.not_run("linkage", "no external table was given"))
    if scene.recoded is not None and scene.recoded.finer:
        trying("downcoding")
        add(scene.downcoded or downcoding(scene.recoded, scene.released.columns))
    else:
        add(AttackResult.not_run("downcoding", "needs the original table"))
    if scene.previous is not None and scene.table is not None:
        trying("intersection")
        add(joined_records(scene.table, scene.previous, scene.shared))
    if scene.previous is None:
        add(AttackResult.not_run("intersection", "no earlier release was given"))
    if scene.table is not None:
        trying("leftovers")
        add(leftovers(scene.table, scene.files))
    return worst_first(results)
