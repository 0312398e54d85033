"""``link``: records of one person found in one table or two, in spite of typing errors and changed names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.api.arguments import Source, opened
from shoal.errors import UsageError
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

    def to_json(self) -> dict[str, Any]:
        told = self.linked.to_json()
        if self.quality is not None and self.quality_with_possible is not None:
            told["quality"] = self.quality.to_json()
            told["quality_with_possible"] = self.quality_with_possible.to_json()
        return told


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
    found = link_records(records, split=split, model=weights, match=match, possible=possible, one_to_one=one_to_one, seed=seed)
    ids = None if id is None else ours[id], None if id is None or theirs is None else theirs[id]
    if truth is None:
        return Link(found, *ids)
    known = [*ours[truth], *(theirs[truth] if theirs is not None else [])]
    return Link(found, *ids, found.quality(known), found.quality(known, with_possible=True))
