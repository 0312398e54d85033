"""Amounts of money, by how people write and round them."""

from __future__ import annotations

import numpy as np

from shoal.find.finding import ColumnFacts


def amounts(facts: ColumnFacts) -> bool:
    """Large numbers of which many are round, as money that people report is."""
    numbers = facts.numbers
    if numbers is None or facts.distinct < 15 or float(np.max(numbers)) < 1000:
        return False
    large = numbers[np.isfinite(numbers) & (np.abs(numbers) >= 100)]
    return len(large) >= 10 and float(np.mean(np.mod(large, 50) == 0)) >= 0.3
