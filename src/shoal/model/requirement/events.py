"""Requirements on event tables: what a few known records of a person may reveal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shoal.errors import UsageError
from shoal.model.compare import at_least
from shoal.model.display import written
from shoal.model.requirement.base import (
    SHARE,
    Requirement,
    Schema,
    check_share,
    check_whole,
    described,
    group,
    register,
    several,
    whole_number,
)
from shoal.model.requirement.clause import Clause, Reading

MOST_SETS = 50_000_000
"""Sets of known records that are counted one by one; of a table with more, nothing is claimed."""
MOST_KNOWN = 8
"""The largest number of known records in a requirement."""
_RECORDS, _PEOPLE = whole_number(1, MOST_KNOWN), whole_number(2, 10**9)
_TEXT: Schema = {"type": "string", "maxLength": 20}


def _schema(kind: str, text: str, **more: Any) -> dict[str, Any]:
    """JSON schema of known records and people, with further texts that may be left out."""
    return {kind: described(several(group(records=_RECORDS, k=_PEOPLE, **more, optional=tuple(more))), f"Event tables: {text}")}


@dataclass(frozen=True)
class _OfKnown(Requirement):
    """A limit for a number of known records, which its text says in brackets: ``known[2]>=5``."""

    scope = "trace"
    law = "none"
    tolerances: ClassVar[tuple[str, ...]] = ()  # fields that the text says after the number of known records
    records: int

    @property
    def place(self) -> tuple[str, ...]:
        return (self.kind, str(self.records))

    @classmethod
    def from_clause(cls, clause: Clause, reading: Reading) -> Requirement:
        first, *more = clause.inside or ("",)
        if len(more) > len(cls.tolerances) or not (first.isascii() and first.isdigit() and len(first) < 6):
            hint = f"Write {clause.word}[2]{cls.sign}…."
            raise UsageError(f"'{clause.word}' needs the number of known records in brackets.", hint=hint)
        named = dict(zip(cls.tolerances, more, strict=False))
        return cls(records=int(first), **{cls.bound: cls.limit_of(clause)}, **named)

    def options(self) -> tuple[str, ...]:
        return (str(self.records),)

    def _check_records(self) -> None:
        check_whole(self.records, 1, "the number of known records", "For example known[2]>=5.")
        if self.records > MOST_KNOWN:
            hint = "Ask for fewer."
            raise UsageError(f"{self.records} known records are asked for; at most {MOST_KNOWN} can be counted.", hint=hint)


@dataclass(frozen=True)
class _People(_OfKnown):
    """So many people, at least, fit what is known: one over the largest share of one person in the pseudonyms that fit."""

    k: int
    extra: ClassVar[str] = ""  # what is known besides
    sign = ">="
    bound = "k"

    def __post_init__(self) -> None:
        self._check_records()
        check_whole(self.k, 2, "the number of people", "For example known[2]>=5.")

    def holds(self, value: float) -> bool:
        return at_least(int(value), self.k)

    def sentence(self) -> str:
        what = "every record" if self.records == 1 else f"every set of up to {self.records} records"
        if not self.extra:
            return f"{what} of a person is shared by at least {self.k:,} people"
        return f"{what} of a person, with {self.extra}, fits at least {self.k:,} people"


@register
class KnownRecords(_People):
    """k^m-anonymity: every set of up to ``records`` records of a person is shared by at least ``k`` people.

    Coarser times and places never lower it: a set of coarse points is shared by everybody who shares a finer set.
    """

    kind = "known"
    schema: ClassVar[Schema] = _schema("known", "every set of up to so many records of a person is shared by at least k people.")


@register
class KnownAbsence(KnownRecords):
    """As :class:`KnownRecords`, for somebody who knows besides one published point where the person was not. It implies that."""

    kind = "absent"
    extra = "one point where that person was not"
    schema: ClassVar[Schema] = _schema("absent", "the same, if a point where the person was not is known besides.")


@register
class KnownLength(KnownRecords):
    """As :class:`KnownRecords`, for somebody who knows besides how many points the pseudonym has. It implies that."""

    kind = "length"
    extra = "the number of records under the pseudonym"
    schema: ClassVar[Schema] = _schema("length", "the same, if the number of records under the pseudonym is known besides.")


@register
class NearRecords(_People):
    """As :class:`KnownRecords`, for somebody who knows records only about: everybody fits who has, for each of them, one whose
    published time differs by at most ``time`` (a length such as 1h; a number for times that are numbers) and whose published
    place is alike: coordinates that differ by at most ``place``, or equal first characters (``prefix:3``); the same if empty.
    """

    time: str = ""
    place_within: str = ""
    kind = "near"
    tolerances = ("time", "place_within")
    renamed: ClassVar[Mapping[str, str]] = {"place": "place_within"}
    schema: ClassVar[Schema] = _schema(
        "near",
        "the same for records known within a length of time (1h), or near a place (0.1, prefix:3).",
        time=_TEXT,
        place=_TEXT,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.reach:
            object.__setattr__(self, "time", "")
        if not (self.time or self.distance or self.characters) or self.reach < 0 or (self.distance < 0 and not self.characters):
            hint = "For example near[2, 1h]>=5 or near[2, 1h, prefix:3]>=5."
            raise UsageError("'near' needs how far a time or a place may be off.", hint=hint)

    @property
    def reach(self) -> float:
        """How far times may be off, in microseconds (or as a number); −1: not a length."""
        match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,9})?)(s|min|h|d|w)?", self.time or "0")
        return float(match[1]) * _LENGTHS[match[2]] if match else -1.0

    @property
    def in_time(self) -> bool:
        """Whether times may be off by a length of time, not by a number."""
        return self.time[-1:].isalpha()

    @property
    def distance(self) -> float:
        """How far coordinates may be off; 0 without such a number, −1: not a number."""
        return float(self.place_within or 0) if re.fullmatch(r"(\d{1,9}(\.\d{1,9})?)?", self.place_within) else -1.0

    @property
    def characters(self) -> int:
        """The first characters that alike places have in common; 0: all."""
        match = re.fullmatch(r"prefix:([1-9]\d?)", self.place_within)
        return int(match[1]) if match else 0

    def options(self) -> tuple[str, ...]:
        return (str(self.records), *((self.time or "0", self.place_within) if self.place_within else (self.time,)))

    def sentence(self) -> str:
        what = "every record" if self.records == 1 else f"every set of up to {self.records} records"
        about = [f"times within {self.time}"] if self.reach else []
        about += [f"places within {self.place_within}"] if self.place_within else []
        return f"{what} of a person, known only about ({', '.join(about)}), fits at least {self.k:,} people"


_LENGTHS = {None: 1, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86_400 * 10**6, "w": 7 * 86_400 * 10**6}


@register
class Unicity(_OfKnown):
    """At most ``share`` of the people are singled out by ``records`` random records of theirs (by all of a shorter trace)."""

    share: float
    kind = "unicity"
    schema: ClassVar[Schema] = {
        "unicity": described(
            several(group(records=_RECORDS, share=SHARE)),
            "Event tables: so many random known records single out at most this share of the people.",
        )
    }
    bound = "share"

    def __post_init__(self) -> None:
        self._check_records()
        check_share(self.share, "the share of people", above_zero=False)

    def sentence(self) -> str:
        what = "one random known record singles" if self.records == 1 else f"{self.records} random known records single"
        return f"{what} out at most {written(self.share)} of the people"


@dataclass(frozen=True)
class InferredPlace(_OfKnown):
    """Of the pseudonyms that have up to ``records`` known records of a person, at most ``share`` show one place in common as
    the one asked about. A place of the known records does not count: it is known already."""

    share: float
    role: ClassVar[str] = ""
    bound = "share"

    def __post_init__(self) -> None:
        self._check_records()
        check_share(self.share, "the share of pseudonyms", above_zero=True)

    def sentence(self) -> str:
        what = "one known record tells" if self.records == 1 else f"up to {self.records} known records tell"
        return f"{what} {self.role}, if it is not known already, with a chance of at most {written(self.share)}"


def _inferred_share(kind: str) -> Schema:
    text = f"Event tables: up to so many known records tell the {kind} place with at most this chance."
    return {kind: described(several(group(records=_RECORDS, share=SHARE)), text)}


@register
class InferredHome(InferredPlace):
    """The place with most records under the pseudonym; each of them if several have as many."""

    kind = "home"
    role = "the place with most records"
    schema: ClassVar[Schema] = _inferred_share("home")


@register
class InferredWork(InferredPlace):
    """The place with most records but one under the pseudonym; each of them if several have as many."""

    kind = "work"
    role = "the place with second most records"
    schema: ClassVar[Schema] = _inferred_share("work")


@register
class InferredNext(InferredPlace):
    """The place after a known record: of the records at the next later published time, and of those at the same one. If the
    published times have no order (no dates, no numbers), every other record may be the next."""

    kind = "next"
    role = "the place after one of them"
    schema: ClassVar[Schema] = _inferred_share("next")
