"""``encode`` and ``link_encoded``: two holders find the people they share without showing a name to each other or a third."""

from __future__ import annotations

import csv
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.api.arguments import Source, opened
from shoal.disk.atomic import atomic
from shoal.errors import DataError
from shoal.linkage.encodings import MATCH, POSSIBLE, Encodings, Encountered, compare
from shoal.linkage.filters import encode_records
from shoal.linkage.records import fields_of, records_of, text_columns


def encode(
    table: Source,
    *,
    key: bytes,
    id: str,
    fields: Mapping[str, str] | None = None,
    rename: Mapping[str, str] | None = None,
    salt: str | None = None,
) -> Encodings:
    """Keyed Bloom filters of a table's records, to be compared with another holder's by somebody without the key.

    Parameters
    ----------
    key : bytes
        At least 32 random bytes that the holders share, and nobody else has.
    id : str
        The column that names a record in the answer. It goes into the file as it is: best a pseudonym of your own.
    fields : mapping, optional
        Columns and what they mean, as for :func:`shoal.link`; without it, well-known names of columns are used.
    rename : mapping, optional
        Columns of kind ``text`` and what the other holder calls them.
    salt : str, optional
        A field that never changes, in place of the birth date.

    Examples
    --------
    >>> people = {"nr": ["a", "b"], "first_name": ["Anna", "Bert"], "surname": ["Jansen", "Bos"], "dob": ["1980-02-01", ""]}
    >>> made = encode(people, key=bytes(range(32)), id="nr")
    >>> len(made), made.left_out
    (1, 1)
    """
    source = opened(table)
    wanted = fields_of(fields or {}, [name for name in source.schema.names if name != id])
    columns = list(dict.fromkeys([*wanted, id]))
    texts = text_columns(source.scan(columns), columns)
    settings, filters, there = encode_records(records_of(texts, wanted), key, salt=salt, rename=rename)
    return Encodings.of(settings, [one or "" for one in texts[id]], filters, there)


@dataclass(frozen=True)
class EncodedLink:
    """What comparing two files of encodings found, by the holders' own ids."""

    found: Encountered
    left: Encodings
    right: Encodings | None

    @property
    def matches(self) -> int:
        return self.found.matches

    @property
    def possible(self) -> int:
        return self.found.possible

    def pairs(self) -> list[dict[str, Any]]:
        """The pairs, most similar first."""
        ids = self._ids
        found = self.found
        rows = zip(found.left, found.right, found.dice, found.decision, strict=True)
        told = [{"left": ids[a], "right": ids[b], "decision": str(d), "similarity": round(float(s), 4)} for a, b, s, d in rows]
        return sorted(told, key=lambda pair: (-pair["similarity"], pair["left"], pair["right"]))

    def people(self, earlier: str | Path | None = None) -> list[dict[str, str]]:
        """For every record a new random pseudonym, the same for records that match; ordered by it, so that nothing shows.

        Pseudonyms of two runs have nothing to do with each other, unless ``earlier`` names the file of the run before: whoever
        is in it keeps hers. Two people who are found to be one get the pseudonym of the first; of one who is found to be two,
        the first keeps it.
        """
        border = len(self.left)
        groups = self.found.groups().tolist()
        records = [("left" if place < border else "right", name) for place, name in enumerate(self._ids)]
        before = {} if earlier is None else _read_people(Path(earlier))
        names: dict[int, str] = {}
        taken: set[str] = set()
        for group, record in zip(groups, records, strict=True):
            known = before.get(record)
            if group not in names and known is not None and known not in taken:
                names[group] = known
                taken.add(known)
        rows = []
        for group, (table, name) in zip(groups, records, strict=True):
            person = names.setdefault(group, "L-" + secrets.token_hex(10).upper())
            rows.append({"table": table, "id": name, "person": person})
        return sorted(rows, key=lambda row: (row["person"], row["table"], row["id"]))

    def write(self, path: str | Path) -> Path:
        """The pairs as a CSV file."""
        return _write(path, ("left", "right", "decision", "similarity"), self.pairs())

    def write_people(self, path: str | Path, earlier: str | Path | None = None) -> Path:
        """The pseudonyms as a CSV file: give each holder its own rows."""
        return _write(path, _PEOPLE, self.people(earlier))

    def to_json(self) -> dict[str, Any]:
        sides = {"left": self.left.to_json(), "right": None if self.right is None else self.right.to_json()}
        return {**self.found.to_json(), **sides}

    @property
    def _ids(self) -> list[str]:
        return [*self.left.ids, *(self.right.ids if self.right is not None else ())]

    def __repr__(self) -> str:
        return f"<EncodedLink: {self.matches} matches, {self.possible} possible>"


def link_encoded(
    left: Encodings | str | Path,
    right: Encodings | str | Path | None = None,
    *,
    match: float = MATCH,
    possible: float = POSSIBLE,
    one_to_one: bool = False,
) -> EncodedLink:
    """Find the people that two files of encodings share (or one has twice). Needs no key and sees no value.

    ``match`` and ``possible`` are Dice similarities; possible pairs go back to the holders, who can look at the people.
    """
    one, two = (side if side is None or isinstance(side, Encodings) else Encodings.read(side) for side in (left, right))
    assert one is not None
    if two is not None:
        one.require_like(two)
    filters = None if two is None else two.filters
    return EncodedLink(compare(one.filters, filters, match=match, possible=possible, only_once=one_to_one), one, two)


_PEOPLE = ("table", "id", "person")


def _read_people(file: Path) -> dict[tuple[str, str], str]:
    """The pseudonym of each record, as an earlier run wrote it."""
    try:
        with file.open(newline="", encoding="utf-8") as source:
            rows = csv.DictReader(source)
            if tuple(rows.fieldnames or ()) != _PEOPLE:
                raise ValueError
            return {(row["table"], row["id"]): row["person"] for row in rows}
    except (OSError, ValueError):
        raise DataError(f"'{file.name}' is not a file of pseudonyms.", hint="Give what `shoal link --people` wrote.") from None


def _write(path: str | Path, heads: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Path:
    with atomic(Path(path)) as temporary, temporary.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, heads, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return Path(path)
