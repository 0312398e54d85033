"""The holder's side: compute locally, show what would leave, refuse what could be differenced, sign.

A private ledger (a file that only its owner may read) remembers what was published before and for how many people exactly.
It never leaves the building.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from shoal.errors import RequirementError, UnreadableError, UsageError
from shoal.registry.population import Population
from shoal.registry.record import Record
from shoal.registry.summary import MIN_POPULATION, summarize
from shoal.registry.vocabulary import canonical as canonical_codes
from shoal.release.sign import Signer

MIN_CHANGE = 100
"""People by which a population must have changed before its record may be published anew."""


@dataclass(frozen=True)
class Entry:
    """One publication: the record and the exact number of people behind it."""

    record: Record
    people: int


class Ledger:
    """What this holder has published, with exact sizes; private."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries: list[Entry] = []
        self._of_codes: dict[tuple[str, ...], dict[Population, Entry]] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Remember a publication; the newest version of a topic is the one that counts."""
        self.entries.append(entry)
        topics = self._of_codes.setdefault(entry.record.codes, {})
        known = topics.get(entry.record.population)
        if known is None or known.record.version < entry.record.version:
            topics[entry.record.population] = entry

    def latest(self, codes: tuple[str, ...], population: Population) -> Entry | None:
        return self._of_codes.get(codes, {}).get(population)

    def related(self, codes: tuple[str, ...], population: Population) -> Iterable[Entry]:
        """Publications of the same quasi-identifier for populations inside or around this one."""
        for other, entry in self._of_codes.get(codes, {}).items():
            if other != population and (other.contains(population) or population.contains(other)):
                yield entry

    @classmethod
    def load(cls, path: Path) -> Ledger:
        if not path.exists():
            return cls()
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise UsageError("the ledger can be read by others.", hint="Run: chmod 600 LEDGER")
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls([Entry(Record.from_json(e["record"]), int(e["people"])) for e in data["entries"]])
        except (OSError, ValueError, KeyError, TypeError):
            raise UnreadableError(
                "the ledger cannot be read.", hint="Restore it from a copy; without it, differencing cannot be refused."
            ) from None

    def save(self, path: Path) -> None:
        """Write it whole or not at all, readable by its owner only."""
        data = {"entries": [{"record": e.record.to_json(), "people": e.people} for e in self.entries]}
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".ledger-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                json.dump(data, out, indent=1, sort_keys=True)
                out.flush()
                os.fsync(out.fileno())
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)


@dataclass(frozen=True)
class Proposal:
    """What would leave the building, and why it may; nothing is signed or sent yet."""

    record: Record
    people: int
    unchanged: bool
    notes: tuple[str, ...] = ()

    def shown(self) -> dict[str, Any]:
        """Exactly the content that would be published."""
        return self.record.content()


def propose(
    counts: npt.ArrayLike,
    codes: Iterable[str],
    population: Population,
    *,
    holder: str,
    date: str,
    cells: int | None = None,
    method: str = "complete count",
    ledger: Ledger | None = None,
) -> Proposal:
    """Compute a record from cell counts, refusing whatever a comparison with earlier records would betray.

    Fewer than 1,000 people: refused. The same topic published before and changed by fewer than :data:`MIN_CHANGE` people: the
    old record stands, unchanged. A population inside or around this one that differs by fewer than 1,000 people: refused,
    because the two records together would describe that small difference.
    """
    import numpy as np

    sorted_codes = canonical_codes(codes)
    people = int(np.asarray(counts).sum())
    book = ledger or Ledger()
    before = book.latest(sorted_codes, population)
    if before is not None and abs(people - before.people) < MIN_CHANGE:
        note = f"Fewer than {MIN_CHANGE} people joined or left since the last version: the old record stands."
        return Proposal(before.record, people, True, (note,))
    for entry in book.related(sorted_codes, population):
        if abs(entry.people - people) < MIN_POPULATION:
            raise RequirementError(
                f"population '{entry.record.population}' was published and differs by fewer than {MIN_POPULATION:,} people.",
                hint="Publish one of the two only: together they would describe the small difference.",
            )
    summary = summarize(counts, cells, previous=before.record.summary if before else None)
    if before is not None and before.record.summary == summary:
        return Proposal(before.record, people, True, ("Nothing visible changed: the old record stands.",))
    version = before.record.version + 1 if before else 1
    record = Record(sorted_codes, population, summary, method, holder, "", date, version, before.record.id if before else None)
    return Proposal(record, people, False)


def publish(proposal: Proposal, signer: Signer, ledger: Ledger) -> Record:
    """Sign a proposal and remember it; an unchanged one is returned as it was signed before."""
    if proposal.unchanged:
        return proposal.record
    record = proposal.record.signed(signer).verify()
    ledger.add(Entry(record, proposal.people))
    return record
