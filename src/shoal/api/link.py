"""``link``: records of one person found in one table or two, in spite of typing errors and changed names."""

from __future__ import annotations

import csv
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.api.arguments import Source, opened
from shoal.disk.atomic import atomic
from shoal.errors import DataError, UsageError
from shoal.linkage.encodings import MATCH as SIMILAR
from shoal.linkage.encodings import POSSIBLE as PERHAPS
from shoal.linkage.encodings import Encodings, Encountered, compare
from shoal.linkage.filters import encode_records
from shoal.linkage.linking import MATCH, POSSIBLE, link_records
from shoal.linkage.model import Model
from shoal.linkage.pairs import Linked, Quality
from shoal.linkage.records import fields_of, records_of, text_columns


@dataclass(frozen=True)
class Link:
    """A linkage with the ids of its rows: :attr:`linked` holds the pairs, :meth:`pairs` shows them."""

    linked: Linked
    left_ids: list[Any] | None = field(default=None, repr=False)
    right_ids: list[Any] | None = field(default=None, repr=False)
    quality: Quality | None = None
    quality_with_possible: Quality | None = None

    @property
    def matches(self) -> int:
        return self.linked.matches

    @property
    def possible(self) -> int:
        return self.linked.possible

    @property
    def model(self) -> Model:
        return self.linked.model

    def pairs(self) -> list[dict[str, Any]]:
        """The pairs, best first, by row number or id, with the level of agreement of each field; no values."""
        return self.linked.rows(self.left_ids, self.right_ids)

    def groups(self) -> list[int]:
        """For each record (of the second table behind those of the first) the first record of its person, counted from 1."""
        return [int(g) + 1 for g in self.linked.groups()]

    def write(self, path: str | Path) -> Path:
        """The pairs as a CSV file."""
        self.linked.write(path, self.left_ids, self.right_ids)
        return Path(path)

    def to_json(self) -> dict[str, object]:
        content = self.linked.to_json()
        if self.quality is not None and self.quality_with_possible is not None:
            content["quality"] = self.quality.to_json()
            content["quality_with_possible"] = self.quality_with_possible.to_json()
        return content


def link(
    left: Source,
    right: Source | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    rename: Mapping[str, str] | None = None,
    id: str | None = None,
    truth: str | None = None,
    model: Model | str | Path | None = None,
    match: float = MATCH,
    possible: float = POSSIBLE,
    one_to_one: bool = False,
    seed: int = 0,
) -> Link:
    """Find the records of one person, within a table or between two.

    Parameters
    ----------
    left, right : Table, path, URL or frame
        One table, whose own records are compared, or two.
    fields : mapping, optional
        Columns and what they mean: ``given``, ``family``, ``name`` (whole), ``birth``, ``sex``, ``postcode``, ``phone``,
        ``email``, ``number`` (``number:bsn`` with its check digit), ``text``. Without it, well-known names of columns are used.
    rename : mapping, optional
        Columns of the second table and what the first calls them.
    id : str, optional
        The column that names a record in the answer; row numbers without it.
    truth : str, optional
        A column that has the same value for records of one person: precision and recall are reported.
    model : Model or path, optional
        Weights fitted before. Without it they are fitted to these tables.
    match, possible : float
        Probabilities from which a pair is a match, or one for a person to decide.
    one_to_one : bool
        Nobody is twice in the same table.

    Examples
    --------
    >>> people = {"first_name": ["Anna", "Bert", "Ana"], "surname": ["Jansen", "Bos", "Janssen"],
    ...           "dob": ["1980-02-01", "1970-07-30", "1.2.1980"]}
    >>> link(people, possible=0.01).pairs()[0]["dob"]
    'exact'
    """
    first = opened(left)
    wanted = fields_of(fields or {}, first.schema.names)
    extra = [c for c in (id, truth) if c is not None]
    ours = text_columns(first.scan([*wanted, *extra]), [*wanted, *extra])
    records = records_of(ours, wanted)
    split, theirs = None, None
    if right is not None:
        back = {new: old for old, new in (rename or {}).items()}
        columns = [*wanted, *extra]
        second = text_columns(opened(right).scan([back.get(c, c) for c in columns]), columns)
        split, theirs = len(records), second
        records = records.joined(records_of(second, wanted))
    elif rename:
        raise UsageError("columns are renamed in the second table, and there is none.", hint="Name it, or leave rename out.")
    weights = model if model is None or isinstance(model, Model) else Model.read(model)
    linked = link_records(records, split=split, model=weights, match=match, possible=possible, one_to_one=one_to_one, seed=seed)
    ids = None if id is None else ours[id], None if id is None or theirs is None else theirs[id]
    if truth is None:
        return Link(linked, *ids)
    known = [*ours[truth], *(theirs[truth] if theirs is not None else [])]
    return Link(linked, *ids, linked.quality(known), linked.quality(known, with_possible=True))


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
        linked = self.found
        rows = zip(linked.left, linked.right, linked.dice, linked.decision, strict=True)
        listed = [{"left": ids[a], "right": ids[b], "decision": str(d), "similarity": round(float(s), 4)} for a, b, s, d in rows]
        return sorted(listed, key=lambda pair: (-pair["similarity"], pair["left"], pair["right"]))

    def people(self, earlier: str | Path | None = None) -> list[dict[str, str]]:
        """For every record a new random pseudonym, the same for records that match; ordered by it, so that nothing shows.

        Pseudonyms of two runs have nothing to do with each other, unless ``earlier`` names the file of the run before: a person
        in it keeps hers. Two people who are found to be one get the pseudonym of the first; of one who is found to be two,
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

    def to_json(self) -> dict[str, object]:
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
    match: float = SIMILAR,
    possible: float = PERHAPS,
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
