"""Requirements on event tables: what a few known records of a person may reveal."""

from __future__ import annotations

from typing import ClassVar

from shoal.errors import UsageError
from shoal.model.compare import at_least
from shoal.model.display import written
from shoal.model.requirement.base import (
    SHARE,
    Law,
    Requirement,
    Schema,
    Scope,
    Spellings,
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
_RECORDS = whole_number(1, MOST_KNOWN)


class _OfKnown(Requirement):
    """A limit for a number of known records, which its text says in brackets: ``known[2]>=5``."""

    scope: ClassVar[Scope] = "trace"
    law: ClassVar[Law] = "none"
    records: int

    @property
    def place(self) -> tuple[str, ...]:
        return (self.kind, str(self.records))

    @classmethod
    def from_clause(cls, clause: Clause, reading: Reading) -> Requirement:
        inside = clause.inside
        if len(inside) != 1 or not (inside[0].isascii() and inside[0].isdigit() and len(inside[0]) < 6):
            raise UsageError(
                f"'{clause.word}' needs the number of known records in brackets.", hint=f"Write {clause.word}[2]{cls.sign}…."
            )
        return cls(records=int(inside[0]), **{cls.bound: cls.limit_of(clause)})  # type: ignore[call-arg]

    def options(self) -> tuple[str, ...]:
        return (str(self.records),)

    def _check_records(self) -> None:
        check_whole(self.records, 1, "the number of known records", "For example known[2]>=5.")
        if self.records > MOST_KNOWN:
            raise UsageError(
                f"{self.records} known records are asked for; at most {MOST_KNOWN} can be counted.", hint="Ask for fewer."
            )


@register
class KnownRecords(_OfKnown):
    """k^m-anonymity: every set of up to ``records`` records of a person is shared by at least ``k`` people.

    Coarser times and places never lower it: a set of coarse points is shared by everybody who shares a finer set.
    """

    records: int
    k: int
    kind: ClassVar[str] = "known"
    spellings: ClassVar[Spellings] = {"known": {}}
    schema: ClassVar[Schema] = {
        "known": described(
            several(group(records=_RECORDS, k=whole_number(2, 10**9))),
            "Event tables: every set of up to so many records of a person is shared by at least k people.",
        )
    }
    sign: ClassVar[str] = ">="
    bound: ClassVar[str] = "k"

    def __post_init__(self) -> None:
        self._check_records()
        check_whole(self.k, 2, "the number of people", "For example known[2]>=5.")

    def holds(self, found: float) -> bool:
        return at_least(int(found), self.k)

    def sentence(self) -> str:
        what = "every record" if self.records == 1 else f"every set of up to {self.records} records"
        return f"{what} of a person is shared by at least {self.k:,} people"


@register
class Unicity(_OfKnown):
    """At most ``share`` of the people are singled out by ``records`` random records of theirs (by all of a shorter trace)."""

    records: int
    share: float
    kind: ClassVar[str] = "unicity"
    spellings: ClassVar[Spellings] = {"unicity": {}}
    schema: ClassVar[Schema] = {
        "unicity": described(
            several(group(records=_RECORDS, share=SHARE)),
            "Event tables: so many random known records single out at most this share of the people.",
        )
    }
    bound: ClassVar[str] = "share"

    def __post_init__(self) -> None:
        self._check_records()
        check_share(self.share, "the share of people", above_zero=False)

    def sentence(self) -> str:
        what = "one random known record singles" if self.records == 1 else f"{self.records} random known records single"
        return f"{what} out at most {written(self.share)} of the people"
