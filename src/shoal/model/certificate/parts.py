"""Parts of a certificate besides its numbers: identity, data, files, plan, columns, utility and key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.model.certificate.form import LEFT_OUT, left_out_with
from shoal.model.display import written
from shoal.model.exclusion import Excluded

NOT_STATED = "not stated"
"""What a certificate says where its publisher says nothing."""


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
class Objections(Excluded):
    """People who asked not to be in it: the table is counted without them. ``commitment`` binds the publisher to the list."""

    commitment: str = field(kw_only=True)


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
    """What happened to a column of the input; levels and numbers of values are there for quasi-identifiers."""

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
    decided: str | None = field(default=None, metadata=LEFT_OUT)
    """Who decided the role: ``found`` by Shoal, ``by hand``, or the ``rest`` of the policy; not stated before 0.4.0."""


@dataclass(frozen=True)
class Known:
    """Records that are the only ones with their values in a few published columns: anyone who knows these finds them; people,
    where the file has a column for them.

    ``columns`` is the worst set of at most three, with ``found`` of ``records``; ``all_columns`` are found by all ``counted``
    columns together. ``alone`` are columns that were counted by themselves only, because there were too many sets.
    """

    columns: tuple[str, ...]
    found: int
    records: int
    all_columns: int
    counted: tuple[str, ...]
    alone: tuple[str, ...]

    @property
    def share(self) -> float:
        return self.found / self.records if self.records else 0.0

    @property
    def share_at_most(self) -> float:
        """The share that any three columns find at most: where sets were not counted, what all columns find together."""
        return (self.all_columns if self.alone else self.found) / self.records if self.records else 0.0

    def sentence_of(self, published: int, *, people: bool = False) -> str:
        """The count in words, for the headline of a file with so many ``published`` columns; of ``people`` or of records.

        >>> Known(("pay", "team"), 30, 120, 90, ("pay", "team", "sex", "age"), ()).sentence_of(4)
        "But whoever knows 'pay' and 'team' finds 30 of 120 records (25 %); whoever knows all columns finds 90."
        """
        n, of = len(self.counted) - len(self.alone), len(self.counted)
        some = f" (sets of {n} of {of} columns were counted)" if self.alone else ""
        if not self.found:
            one = "a person" if people else "a record"
            if self.alone and self.all_columns:
                sets = f"No three of the {n} columns whose sets were counted, and none of {of} columns alone, single out {one}"
                return f"{sets}; all of them together find {self.all_columns:,} of {self.records:,}."
            return f"No three published columns single out {one}."
        named = [f"'{c}'" for c in self.columns]
        known = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else f"{named[0]} alone"
        share = f"{written(100 * self.share, 2)} %"
        return (
            f"But whoever knows {known} finds {self.found:,} of {self.records:,} {'people' if people else 'records'} ({share}); "
            f"whoever knows all {'columns' if of == published else f'{of} unchanged columns'} finds {self.all_columns:,}{some}."
        )


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
    """A result that should survive, on the original and on the published records; ``asked`` as the policy states it."""

    analysis: str
    before: str
    after: str
    change: str
    asked: Mapping[str, Any] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class OtherMethod:
    """What another method would have lost and left out; ``loss`` is None if it gave no plan, and ``reason`` says why,
    as the end of a sentence about the method."""

    method: str
    loss: float | None
    suppressed: int
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Utility:
    """What the release lost, and by whom.

    ``allowed`` is the share of records that the policy lets be suppressed. Where people are counted and rows are suppressed,
    ``people_before`` are those of the original, and ``people_with_less`` those who lost some of their records, not all. ``plans``
    counts the plans with one level per column that ``proven`` is about; ``others`` are the methods that were compared, None if
    the policy names one method.
    """

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
    plans: int | None = field(default=None, metadata=LEFT_OUT)
    others: tuple[OtherMethod, ...] | None = field(default=None, metadata=LEFT_OUT)
    allowed: float | None = field(default=None, metadata=LEFT_OUT)
    people_before: int | None = field(default=None, metadata=LEFT_OUT)
    people_with_less: int | None = field(default=None, metadata=left_out_with("people_before"))


@dataclass(frozen=True)
class Key:
    """The public key of the signature."""

    algorithm: str
    public: str
    fingerprint: str
    origin: str
