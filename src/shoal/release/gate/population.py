"""The population table that a policy names: how many people are alike on the quasi-identifiers, one line per person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import PolicyError
from shoal.model.counts.classes import ClassCounts
from shoal.model.requirement import Requirement

if TYPE_CHECKING:
    from shoal.release.policy.policy import Policy


def population_counts(policy: Policy, quasi: Sequence[str]) -> ClassCounts | None:
    """Classes of the population; None where no requirement needs them. A requirement that does, without a table, is refused."""
    from shoal.engines.open import open as opened

    needed = _needing(policy.requirements)
    if not needed:
        return None
    if policy.population_table is None:
        raise PolicyError(
            f"'require.{needed[0].name}' needs a population table.", hint="Write population: {table: people.csv} into the policy."
        )
    return opened(str((policy.folder or Path()) / policy.population_table)).count(tuple(quasi))


def _needing(requirements: Iterable[Requirement]) -> list[Requirement]:
    return [r for r in requirements if r.needs_population]
