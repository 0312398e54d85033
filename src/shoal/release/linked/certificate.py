"""The certificate of tables that were released together: frozen, typed, strict, signed, as that of one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from shoal.model.attack import AttackResult, strongest_sentence
from shoal.model.certificate.certificate import SignedCertificate
from shoal.model.certificate.file import read_signed, stated_format
from shoal.model.certificate.form import LEFT_OUT
from shoal.model.certificate.halves import LINKED_FORMATS
from shoal.model.certificate.parts import NOT_STATED, Objections

FORMAT: Literal["shoal-linked-certificate/2"] = "shoal-linked-certificate/2"
LIMITS = (
    "The numbers hold for the columns named as quasi-identifiers: an attacker who knows others may do better.",
    "Sensitive columns are published as they are; what people who look alike have in common is under the attacks.",
    "Free text, images and rare events that were in the news are not examined.",
    "Whether the release is lawful and fair is for people to decide; this page is evidence, not a legal opinion.",
    "The plan is not proven to lose least. The key of the pseudonyms and the seed of random changes were drawn and not kept.",
)


@dataclass(frozen=True)
class LinkedColumn:
    """What happened to a column; level and height are there for quasi-identifiers."""

    name: str
    role: str
    treatment: str
    level: int | None
    height: int | None


@dataclass(frozen=True)
class LinkedEntry:
    """One published table; ``orphans`` and ``unnamed`` are rows that were left out for want of a person.

    ``snapshot`` names the state of the source that was read, where it has one; ``keyed_hash`` is a digest of all that came, keyed
    with the signing key, as that of a release of one table (``docs/engines.md``). Frames in memory have none.
    """

    name: str
    file: str
    key: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    columns: tuple[LinkedColumn, ...]
    records_in: int
    records: int
    orphans: int
    unnamed: int
    snapshot: str | None = field(default=None, metadata=LEFT_OUT)
    keyed_hash: str | None = field(default=None, metadata=LEFT_OUT)

    @property
    def published(self) -> list[str]:
        """Columns of the file, in the order of the source."""
        return [c.name for c in self.columns if c.treatment != "removed"]


@dataclass(frozen=True)
class LinkedNumbers:
    """People; the fewest who share what is known; people who share it with nobody; people by the number who share it."""

    people: int
    k: int
    alone: int
    sizes: Mapping[str, int]


@dataclass(frozen=True)
class LinkedPurpose:
    """Who gets it, what for, and who answers for it, as the publisher states it."""

    purpose: str = NOT_STATED
    recipient: str = NOT_STATED
    release: str = NOT_STATED
    run_by: str = NOT_STATED
    approved_by: str = NOT_STATED
    contact: str = NOT_STATED
    review: str = NOT_STATED


@dataclass(frozen=True, kw_only=True, repr=False)
class LinkedCertificate(SignedCertificate):
    """All that is claimed of tables that were released together. ``known`` is None where all rows may be known.

    In its file the part that ``verify`` works out again from the data is apart from what rests on the signature.
    """

    format: Literal["shoal-linked-certificate/1", "shoal-linked-certificate/2"] = FORMAT
    k: int
    asked: int
    known: int | None
    tables: tuple[LinkedEntry, ...]
    people_in: int
    left_out: int
    allowed: float
    loss: float
    before: LinkedNumbers
    after: LinkedNumbers
    attacks: tuple[AttackResult, ...]
    purpose: LinkedPurpose
    limits: tuple[str, ...]
    objections: Objections | None = field(default=None, metadata=LEFT_OUT)
    known_columns: float | None = field(default=None, metadata=LEFT_OUT)
    """The share of people that any three published columns may find, where the policy limits it."""

    def __repr__(self) -> str:
        signed = f"signed with key {self.key.fingerprint}" if self.key else "not signed"
        return f"<LinkedCertificate: k = {self.k:,}, {self.after.people:,} people in {len(self.tables)} tables, {signed}>"


def read_linked(path: Path) -> LinkedCertificate | None:
    """The certificate of linked tables in a file, as strictly as any other; None if it is of another kind."""
    return read_signed(path, LinkedCertificate) if stated_format(path) in LINKED_FORMATS else None


def verdict(certificate: LinkedCertificate) -> str:
    """The one sentence at the top, made from the numbers."""
    quasi = "; ".join(f"{t.name}: {', '.join(t.quasi)}" for t in certificate.tables)
    known = certificate.known
    what = "all their rows" if known is None else "any one of their rows" if known == 1 else f"any {known} of their rows"
    rows = sum(t.records for t in certificate.tables)
    sentence = (
        f"Everyone is alike with at least {certificate.k - 1:,} others by what the person table and {what} in the linked tables "
        f"say together ({quasi}). {certificate.after.people:,} people with {rows:,} rows in {len(certificate.tables)} tables; "
        f"{certificate.left_out:,} people were left out."
    )
    orphans = sum(t.orphans + t.unnamed for t in certificate.tables)
    sentence += f" {orphans:,} rows belonged to nobody of the person table and were left out." if orphans else ""
    sentence += f" {certificate.objections.sentence}" if certificate.objections else ""
    return sentence if certificate.format == LINKED_FORMATS[0] else sentence + strongest_sentence(certificate.attacks)
