"""Shared by the registry's tests: a population and its records."""

from __future__ import annotations

from shoal.kernels.signatures import Signer, signer
from shoal.registry.publish.proposals import Ledger, propose, publish
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record

AGES = [900] * 65 + [30 * (95 - i) for i in range(65, 95)]
UTRECHT = Population.parse("NL/Utrecht@2021")

KEYS: dict[str, Signer] = {}
"""The key of each holder that no test gave one."""


def five_years(counts: list[int]) -> list[int]:
    return [sum(counts[i : i + 5]) for i in range(0, len(counts), 5)]


def _name(key: Signer | None) -> str:
    return "Statistics Office" if key is None else f"Office {key.fingerprint}"


def make(
    counts,
    codes=("age/years",),
    population=UTRECHT,
    holder=None,
    key=None,
    ledger=None,
    cells=None,
    date="2025-01-15",
) -> Record:
    """A signed record. A name belongs to one key: without a key that of the name, without a name that of the key."""
    book, name = ledger if ledger is not None else Ledger(), holder if holder is not None else _name(key)
    own = key or KEYS.setdefault(name, signer())
    proposal = propose(counts, codes, population, holder=name, date=date, ledger=book, cells=cells)
    return publish(proposal, own, book)
