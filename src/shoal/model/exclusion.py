"""Opt-outs: what may be published about their list without naming anybody."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Excluded:
    """What a list of objections did to a table, in numbers.

    ``listed`` different ids were on the list, ``found`` of them are in ``column`` of the table, with ``records`` rows.
    ``unnamed`` rows of the table have no id: nobody can tell whose they are, and they stay.
    """

    column: str
    listed: int
    found: int
    records: int
    unnamed: int = 0

    @property
    def absent(self) -> int:
        """Ids of the list that the table does not have."""
        return self.listed - self.found

    @property
    def sentence(self) -> str:
        """What was done, in words.

        >>> Excluded("id", listed=3, found=2, records=5, unnamed=1).sentence
        '2 people who asked not to be in it were left out first, with 5 records. 1 id of the list is not in the table. \
1 record has no id and could not be compared.'
        """
        people, rows = _n(self.found, "person", "people"), _n(self.records, "record", "records")
        verb = "was" if self.found == 1 else "were"
        out = f"{people} who asked not to be in it {verb} left out first, with {rows}."
        if self.absent:
            out += f" {_n(self.absent, 'id', 'ids')} of the list {'is' if self.absent == 1 else 'are'} not in the table."
        if self.unnamed:
            rest = "has no id" if self.unnamed == 1 else "have no id"
            out += f" {_n(self.unnamed, 'record', 'records')} {rest} and could not be compared."
        return out

    def to_json(self) -> dict[str, int | str]:
        """The numbers, with the ids that are not in the table."""
        numbers = {"listed": self.listed, "people": self.found, "records": self.records}
        return {"column": self.column, **numbers, "not_in_table": self.absent, "records_without_id": self.unnamed}


def commitment(ids: Iterable[str], salt: str) -> str:
    """HMAC-SHA256 of a list of ids under a secret salt: binds to the list, and no guess can be tried without the salt.

    The order of the ids and repetitions do not count.

    >>> commitment(["b", "a", "a"], "s") == commitment(["a", "b"], "s") != commitment(["ab"], "s")
    True
    """
    text = b"".join(len(b).to_bytes(8, "big") + b for b in sorted({i.encode() for i in ids}))
    return hmac.new(salt.encode(), b"shoal objections|" + text, hashlib.sha256).hexdigest()


def _n(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
