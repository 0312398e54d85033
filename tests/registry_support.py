"""Shared by the registry's tests: a population and its records."""

from __future__ import annotations

from shoal.kernels.signatures import signer
from shoal.registry.publish.holder import Ledger, propose, publish
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record

AGES = [900] * 65 + [30 * (95 - i) for i in range(65, 95)]
UTRECHT = Population.parse("NL/Utrecht@2021")


def five_years(counts: list[int]) -> list[int]:
    return [sum(counts[i : i + 5]) for i in range(0, len(counts), 5)]


def make(
    counts,
    codes=("age/years",),
    population=UTRECHT,
    holder="Statistics Office",
    key=None,
    ledger=None,
    cells=None,
    date="2025-01-15",
) -> Record:
    book = ledger if ledger is not None else Ledger()
    proposal = propose(counts, codes, population, holder=holder, date=date, ledger=book, cells=cells)
    return publish(proposal, key or signer(), book)
