"""The holder's side: compute locally, show what would leave, refuse what could be differenced, sign.

A private ledger (a file that only its owner may read) remembers what was published before and for how many people exactly.
It never leaves the building.
"""

from __future__ import annotations

import datetime
import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from shoal.errors import UnreadableError, UsageError
from shoal.registry.differencing import MIN_CHANGE, refuse, same_people
from shoal.registry.population import Population
from shoal.registry.record import Record
from shoal.registry.summary import size_slack, summarize
from shoal.registry.vocabulary import canonical as canonical_codes
from shoal.release.sign import Signer

MIN_DAYS = 28
"""Days between two versions: whoever can add people to the table must not be able to ask again and again."""


@dataclass(frozen=True)
class Entry:
    """One publication: the record and the number of people behind it, known up to ``slack``."""

    record: Record
    people: int
    slack: int = 0


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

    def others(self, codes: tuple[str, ...], population: Population) -> Iterable[Entry]:
        """Publications of the same quasi-identifier for other populations."""
        return (entry for other, entry in self._of_codes.get(codes, {}).items() if other != population)

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
    published: Record | None = None,
) -> Proposal:
    """Compute a record from cell counts, refusing whatever a comparison with earlier records would betray.

    Fewer than 1,000 people: refused. The same topic published before and changed by fewer than :data:`MIN_CHANGE` people, or
    published less than :data:`MIN_DAYS` days ago: the old record stands, unchanged. A population that differs by too few people
    from another, or from several others together: refused (:mod:`shoal.registry.differencing`).

    ``published`` is this holder's newest record of the topic in the registry. It is remembered where the ledger is lost or
    older; the number of people behind it is then known only as it was published.
    """
    import numpy as np

    sorted_codes = canonical_codes(codes)
    people = int(np.asarray(counts).sum())
    book = ledger or Ledger()
    before = _newest(book.latest(sorted_codes, population), published)
    stands = _stands(before, people, date)
    if before is not None and stands:
        return Proposal(before.record, people, True, (stands,))
    others = list(book.others(sorted_codes, population))
    refuse(population, people, [(e.record.population, e.people) for e in others])
    earlier = [before] if before else [e for e in others if same_people(e.record.population, population)]
    summary = summarize(counts, cells, previous=earlier[-1].record.summary if earlier else None)
    if before is not None and before.record.summary == summary:
        return Proposal(before.record, people, True, ("Nothing visible changed: the old record stands.",))
    version = before.record.version + 1 if before else 1
    record = Record(sorted_codes, population, summary, method, holder, "", date, version, before.record.id if before else None)
    return Proposal(record, people, False, () if before else (FIRST,))


FIRST = "A first version: later ones will not show one person; this one cannot be compared with anything."


def _newest(known: Entry | None, published: Record | None) -> Entry | None:
    if published is None or (known is not None and known.record.version >= published.version):
        return known
    return Entry(published, published.summary.size, size_slack(published.summary.size))


def _stands(before: Entry | None, people: int, date: str) -> str:
    """Why the earlier record stands; empty when a new version may be made."""
    if before is None:
        return ""
    if abs(people - before.people) < MIN_CHANGE + before.slack:
        return f"Fewer than {MIN_CHANGE} people joined or left since the last version: the old record stands."
    days = (datetime.date.fromisoformat(date) - datetime.date.fromisoformat(before.record.date)).days
    if days < MIN_DAYS:
        return f"The last version is of {before.record.date}: a new one may follow after {MIN_DAYS} days; the old record stands."
    return ""


def publish(proposal: Proposal, signer: Signer, ledger: Ledger) -> Record:
    """Sign a proposal and remember it; an unchanged one is returned as it was signed before."""
    if proposal.unchanged:
        return proposal.record
    record = proposal.record.signed(signer).verify()
    ledger.add(Entry(record, proposal.people))
    return record


def make_key(path: Path) -> None:
    """Write a new signing key that only its owner may read; an existing file is left alone."""
    import base64

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    raw = Ed25519PrivateKey.generate().private_bytes_raw()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(base64.b64encode(raw) + b"\n")
