"""The holder's side: compute locally, show what would leave, refuse what could be differenced, sign.

A private ledger (a file that only its owner may read) remembers what was published before and for how many people exactly.
It never leaves the building.
"""

from __future__ import annotations

import base64
import datetime
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from shoal.disk.atomic import atomic
from shoal.errors import RequirementError, UnreadableError, UsageError
from shoal.kernels.signatures import Signer
from shoal.registry.publish.differencing import MIN_CHANGE, one_name, refuse, related, same_people, same_question
from shoal.registry.records.counts import JointCounts
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record
from shoal.registry.records.summary import Sizes, Summary, summarize
from shoal.registry.records.vocabulary import canonical as canonical_codes

MIN_DAYS = 28
"""Days between two versions: anyone who can add people to the table must not be able to ask again and again."""


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
        self._of_codes: dict[tuple[str, ...], dict[str, Entry]] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Remember a publication; the newest version of a topic is the one that counts."""
        self.entries.append(entry)
        topics = self._of_codes.setdefault(entry.record.codes, {})
        known = topics.get(entry.record.population.key)
        if known is None or known.record.version < entry.record.version:
            topics[entry.record.population.key] = entry

    def latest(self, codes: tuple[str, ...], population: Population) -> Entry | None:
        return self._of_codes.get(codes, {}).get(population.key)

    def others(self, codes: tuple[str, ...], population: Population) -> Iterable[Entry]:
        """Publications of the same quasi-identifier, in any coding of the same answers, other than this topic itself."""
        asked = same_question(codes)
        alike = [topics for c, topics in self._of_codes.items() if c == codes or same_question(c) == asked]
        here = self._of_codes.get(codes, {})
        return [entry for topics in alike for other, entry in topics.items() if topics is not here or other != population.key]

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
            hint = "Restore it from a copy; without it, differencing cannot be refused."
            raise UnreadableError("the ledger cannot be read.", hint=hint) from None

    def save(self, path: Path) -> None:
        """Write it whole or not at all, readable by its owner only."""
        data = {"entries": [{"record": e.record.to_json(), "people": e.people} for e in self.entries]}
        with atomic(path) as part:
            part.write_text(json.dumps(data, indent=1, sort_keys=True), encoding="utf-8")


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
    noise: float | None = None,
    source: str = "",
    shares: Mapping[str, float] | None = None,
    joint: JointCounts | None = None,
) -> Proposal:
    """Compute a record from cell counts, refusing anything that a comparison with earlier records would betray.

    Fewer than 1,000 people: refused. The same topic published before and changed by fewer than :data:`MIN_CHANGE` people, or
    published less than :data:`MIN_DAYS` days ago: the old record stands, unchanged; under another name or coding of the same
    answers: refused. A population that differs by too few people
    from another, or from several others together: refused (:mod:`shoal.registry.publish.differencing`).

    ``published`` is this holder's newest record of the topic in the registry. It is remembered where the ledger is lost or
    older; the number of people behind it is then known only as it was published. ``noise`` is the ε of calibrated noise
    (:mod:`shoal.registry.publish.noise`); without it the numbers are rounded. ``source`` names a table that is public already;
    ``shares`` of its answers may then be part of the record. ``joint`` are the people by every combination of answers that
    anybody could give: they are drawn with the noise, and every coarser coding and every subset follows from the one record.
    """
    sorted_codes, sizes = canonical_codes(codes), Sizes.of(counts)
    people = sizes.people
    book = ledger or Ledger()
    before = _newest(book.latest(sorted_codes, population), published)
    stands = _stands(before, people, date)
    if before is not None and stands:
        return Proposal(before.record, people, True, (stands,))
    others = list(book.others(sorted_codes, population))
    refuse(population, people, [(e.record.population, e.people) for e in others])
    _refuse_too_soon(population, date, others)
    earlier = [before] if before else [e for e in others if same_people(e.record.population, population)]
    drawn = None
    if joint is not None and noise is not None:
        from shoal.registry.publish.noise import noisy_ladder

        summary, drawn = noisy_ladder(joint, noise)
    else:
        summary = _summary(sizes, cells, earlier[-1].record.summary if earlier else None, noise)
    if before is not None and before.record.summary == summary:
        return Proposal(before.record, people, True, ("Nothing visible changed: the old record stands.",))
    version = before.record.version + 1 if before else 1
    record = Record(
        sorted_codes, population, summary, method, holder, "", date, version, before.record.id if before else None,
        source=source, shares=shares, counts=drawn,
    )  # fmt: skip
    notes = () if before and noise is None else (FIRST,) if noise is None else _spent(book, population, noise)
    return Proposal(record, people, False, notes)


FIRST = (
    "A first version: later ones will not show one person; this one is the same or one step off with one person more or less. "
    "Calibrated noise (--noise) promises more."
)


def _summary(sizes: Sizes, cells: int | None, previous: Summary | None, noise: float | None) -> Summary:
    """Rounded numbers, or numbers drawn with noise."""
    if noise is None:
        if previous is not None and previous.noise is not None:
            what = "an earlier record of these people was drawn with noise; a rounded one would undo it."
            raise RequirementError(what, hint="Add --noise again.")
        return summarize(sizes, cells, previous=previous)
    from shoal.registry.publish.noise import noisy_summary

    if cells is None:
        hint = "Give --cells: the number of values of each attribute, multiplied."
        raise UsageError("with noise the number of possible cells must be public knowledge.", hint=hint)
    return noisy_summary(sizes, cells, noise)


def _spent(book: Ledger, population: Population, noise: float) -> tuple[str, ...]:
    """What this publication costs the people in it, and what was spent before."""
    details = [f"Drawn with noise: whatever is seen is at most e^{noise:g} times as likely with any one person as without."]
    before = [e.record.summary.noise for e in book.entries if related(e.record.population, population)]
    if before:
        total = noise + sum(e for e in before if e is not None)
        plain = sum(e is None for e in before)
        details.append(
            f"With {len(before)} earlier records about people of {population.place}, ε adds up to {total:g}"
            + (f"; {plain} of them {'was' if plain == 1 else 'were'} rounded only, which no ε covers." if plain else ".")
        )
    return tuple(details)


def _newest(known: Entry | None, published: Record | None) -> Entry | None:
    if published is None or (known is not None and known.record.version >= published.version):
        return known
    return Entry(published, published.summary.size, published.summary.slack)


def _stands(before: Entry | None, people: int, date: str) -> str:
    """Why the earlier record stands; empty when a new version may be made."""
    if before is None:
        return ""
    if abs(people - before.people) < MIN_CHANGE + before.slack:
        return f"Fewer than {MIN_CHANGE} people joined or left since the last version: the old record stands."
    if _days(before.record.date, date) < MIN_DAYS:
        return f"The last version is of {before.record.date}: a new one may follow after {MIN_DAYS} days; the old record stands."
    return ""


def _refuse_too_soon(population: Population, date: str, others: Iterable[Entry]) -> None:
    """Refuse the same people of the same time under another name or coding before :data:`MIN_DAYS` are over."""
    for entry in others:
        before = entry.record
        if one_name(before.population, population) and _days(before.date, date) < MIN_DAYS:
            what = f"these people were published on {before.date} as '{before.population}' ({', '.join(before.codes)})."
            raise RequirementError(what, hint=f"A new version may follow after {MIN_DAYS} days, under the same name.")


def _days(before: str, date: str) -> int:
    return (datetime.date.fromisoformat(date) - datetime.date.fromisoformat(before)).days


def publish(proposal: Proposal, signer: Signer, ledger: Ledger) -> Record:
    """Sign a proposal and remember it; an unchanged one is returned as it was signed before."""
    if proposal.unchanged:
        return proposal.record
    record = proposal.record.signed(signer).verify()
    ledger.add(Entry(record, proposal.people))
    return record


def make_key(path: Path) -> None:
    """Write a new signing key that only its owner may read; an existing file is left alone."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    raw = Ed25519PrivateKey.generate().private_bytes_raw()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(base64.b64encode(raw) + b"\n")
