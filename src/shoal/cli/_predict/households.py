"""Households, as ``measure`` and ``predict population`` show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.cli import _shared
from shoal.model.display import as_percent

if TYPE_CHECKING:
    from shoal.measures.classes.household import HouseholdRisk


def show(homes: HouseholdRisk) -> None:
    """How many households there are, and how likely somebody of one is named."""
    _shared.console().print(
        f"Households: {homes.risk.size:,}; somebody of one is named with a chance of {as_percent(homes.mean)} on average, "
        f"{as_percent(homes.max)} at worst.",
        markup=False,
    )
