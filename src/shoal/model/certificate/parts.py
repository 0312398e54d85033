"""Parts of a certificate besides its numbers: identity, data, files, plan, columns, utility and key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shoal.model.certificate.form import LEFT_OUT, left_out_with
from shoal.model.exclusion import Excluded


@dataclass(frozen=True)
class PresetRule:
    """A named rule that the policy took, and where it is written."""

    name: str
    rule: str
    source: str
    date: str
    note: str
    read: str


@dataclass(frozen=True)
class Threshold:
    """The smallest class that is asked for, and the rule it comes from."""

    preset: PresetRule | None
    smallest_class: int


@dataclass(frozen=True)
class Controls:
    """What protects the data where they go, as the publisher states it."""

    people: str
    projects: str
    settings: str


@dataclass(frozen=True)
class Purpose:
    """Who gets the release, what for, and who answers for it, as the publisher states it."""

    purpose: str
    recipient: str
    run_by: str
    approved_by: str
    contact: str
    review: str
    kind: str
    controls: Controls


@dataclass(frozen=True)
class Proof:
    """What anyone can count again from the data, and what rests on the signature."""

    unit: str
    recounted: str
    signed: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Data:
    """The published data: a file of the folder, or a table of a database with the digest of its rows."""

    file: str | None
    format: str
    columns: tuple[str, ...]
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    unit: str | None
    table: str | None = field(default=None, metadata=LEFT_OUT)
    engine: str | None = field(default=None, metadata=LEFT_OUT)
    digest: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class FileEntry:
    """A file of the release."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class PlanEntry:
    """The plan: its hash, and a commitment to the seed where it has random steps."""

    sha256: str
    steps: int
    seed: str
    seed_commitment: str | None
    truthful: bool


@dataclass(frozen=True)
class Objections:
    """People who asked not to be in it: the table is counted without them. ``commitment`` binds the publisher to the list."""

    column: str
    listed: int
    found: int
    records: int
    unnamed: int
    commitment: str

    @property
    def sentence(self) -> str:
        return Excluded(self.column, self.listed, self.found, self.records, self.unnamed).sentence


@dataclass(frozen=True)
class Input:
    """The table that came in, without people who objected; ``drawn`` are the records of the sample, where one was drawn.

    ``snapshot`` names the state of a database that everything was read from.
    """

    records: int
    drawn: int | None
    columns: int
    keyed_hash: str | None
    note: str
    objections: Objections | None = field(default=None, metadata=LEFT_OUT)
    snapshot: str | None = field(default=None, metadata=LEFT_OUT)

    @property
    def used(self) -> int:
        """Records that the release is about: those of the sample, where one was drawn, else all."""
        return self.records if self.drawn is None else self.drawn


@dataclass(frozen=True, kw_only=True)
class Column:
    """What happened to a column of the input; the last four are there for quasi-identifiers."""

    name: str
    role: str
    kind: str
    treatment: str
    changed: float | None
    why: str
    level: int | None = field(default=None, metadata=left_out_with("height"))
    height: int | None = field(default=None, metadata=LEFT_OUT)
    values_before: int | None = field(default=None, metadata=LEFT_OUT)
    values_after: int | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Classing:
    """A column of the input held against the list of identifiers of the preset.

    ``found`` and ``evidence`` are about the original column, ``released`` and ``checked`` about its published values, from which
    anybody can work them out again; ``reason`` is a person's, where one states that the column is none of the list.
    """

    column: str
    found: str
    evidence: str
    released: str
    checked: str
    reason: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Unit:
    """The person column, and how it is published."""

    column: str | None
    published: str | None


@dataclass(frozen=True)
class Question:
    """A question of opinion 05/2014 (WP216): how it was tested, what was found."""

    question: str
    tested: str
    found: str


@dataclass(frozen=True)
class LostGroup:
    """Records of a published group that were left out; the line that adds up the unnamed groups has no records and no share."""

    column: str
    group: str
    records: int | str
    suppressed: int
    share: str


@dataclass(frozen=True)
class TradeOff:
    """The loss of the best plan at a k."""

    k: int
    loss: float
    chosen: bool


@dataclass(frozen=True)
class Analysis:
    """A result that should survive, on the original and on the published records."""

    analysis: str
    before: str
    after: str
    change: str


@dataclass(frozen=True, kw_only=True)
class Utility:
    """What the release lost, and by whom."""

    optimize: str
    loss: float
    method: str
    levels: Mapping[str, int]
    proven: bool
    gap: float | None
    suppressed: int
    suppressed_share: float
    suppressed_sentence: str
    scope: str
    who: tuple[LostGroup, ...]
    who_note: str
    frontier: tuple[TradeOff, ...]
    analyses: tuple[Analysis, ...]


@dataclass(frozen=True)
class Key:
    """The public key of the signature."""

    algorithm: str
    public: str
    fingerprint: str
    origin: str
