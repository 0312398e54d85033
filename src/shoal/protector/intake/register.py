"""The people a domain knows, as records that can be compared.

An identity is the JSON text of a record (``{"birth":"1980-02-01","family":"Jansen","given":"Anna"}``), as it was first brought.
Other spellings of the same person are merged into it (:mod:`shoal.protector.pseudonyms.merges`), so forgetting, exporting,
splitting and the rotation of keys cover them like any other identity.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from shoal.errors import DataError, UsageError
from shoal.linkage import spelling
from shoal.linkage.blocking import Known
from shoal.linkage.model import Model
from shoal.linkage.records import CHECK_DIGITS, Field, Records, days_before_months, fields_of, records_of
from shoal.protector.pseudonyms import merges
from shoal.protector.pseudonyms.domains import Domain, Renewal
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store import pages
from shoal.protector.store.database import Tx
from shoal.protector.store.state import MERGES

Person = dict[str, str]
"""The description of a person: kind of field to text."""

ALONE = frozenset({"given", "family", "birth", "sex", "postcode", "phone", "email"})
"""Kinds of which a record has one; ``number:RULE`` and ``text:NAME`` may be several."""

LONGEST = 4096
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_LONE = re.compile("[\ud800-\udfff]")


def require_fitting(domain: Domain) -> None:
    """Refuse a domain whose identities could not be records of people."""
    plain = domain.kind == "random" and domain.scope == "person" and domain.renewal == Renewal() and not domain.check
    if not plain or domain.matching != "exact" or set(domain.clean) - {"blanks"}:
        raise UsageError(
            f"people can be recognised only in a domain of kind 'random' for persons, without renewal, check or other cleaning; "
            f"domain '{domain.name}' differs.",
            hint="Make one with `shoal vault domain add NAME`.",
        )


def keys_of(fields: Mapping[str, str]) -> dict[str, str]:
    """The key of each column in a record: its kind, with the name of the column for texts; each key once."""
    known = fields_of(fields)
    keys = {}
    for column, field in known.items():
        keys[column] = f"text:{column}" if field.kind == "text" else f"number:{field.check}" if field.check else field.kind
    if len(set(keys.values())) < len(keys):
        raise UsageError("two columns have the same meaning.", hint="A record has one given name, one birth date …")
    return keys


def person_of(details: Mapping[str, str | None]) -> Person:
    """A record with one blank between words, empty fields left out, a whole name split."""
    cleaned = {key: " ".join(_INVISIBLE.sub("", text).split()) for key, text in details.items() if text is not None}
    out = {key: text for key, text in cleaned.items() if text}
    if "name" in out:
        given, family = spelling.whole_name(out.pop("name"))
        out |= {k: v for k, v in (("given", given), ("family", family)) if v and k not in out}
    for key in out:
        kind, _, rest = key.partition(":")
        number = kind == "number" and (key == kind or rest in CHECK_DIGITS)
        if not (key in ALONE or number or (kind == "text" and rest)):
            raise UsageError(
                "a record has a field of an unknown kind.", hint=f"Known: {', '.join(sorted(ALONE))}, number, text:…"
            )
    if any(_LONE.search(text) for pair in out.items() for text in pair):
        raise DataError("a record is not valid Unicode text.")
    return out


def identity_of(person: Person) -> str:
    """The record as an identity: the same fields give the same text."""
    return json.dumps(person, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def parsed(identity: bytes) -> Person | None:
    """The record behind an identity; None for one that is not a record."""
    try:
        found = json.loads(identity)
    except ValueError:
        return None
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        return None
    return found


class Register:
    """All records of a domain: of each spelling the record, and the identity that stands for its person."""

    def __init__(self, tx: Tx, opened: OpenDomain) -> None:
        self.merged = merges.read(tx, opened)
        kept = [*_identities(tx, opened), *self.merged]
        people = [(identity, record) for identity in dict.fromkeys(kept) if (record := parsed(identity)) is not None]
        self.records = [record for _, record in people]
        self.standing = [merges.standing(opened, self.merged, identity) for identity, _ in people]
        self.by_text = {identity: stands for (identity, _), stands in zip(people, self.standing, strict=True)}
        self.comparing = Comparing(self.records)

    @classmethod
    def of(cls, tx: Tx, opened: OpenDomain) -> Register:
        """The register as the sealed store has it: the one in memory where it is of this very state, else read again."""
        mark, found = tx.store.kept_registers.get(opened.domain.id, (None, None))
        return found if mark == _mark(tx, opened) and isinstance(found, Register) else cls(tx, opened)

    def keep(self, tx: Tx, opened: OpenDomain, added: Sequence[tuple[Person, bytes]]) -> None:
        """Remember the register with what this transaction adds to it (records, and the identities that stand for them).

        It counts only for the state that the transaction leaves: whatever else is written, or if it fails, it is read again.
        """
        fresh = []
        for person, stands in added:
            text = identity_of(person).encode()
            if text not in self.by_text:
                self.by_text[text] = stands
                self.standing.append(stands)
                fresh.append(person)
        self.records += fresh
        self.comparing.add(fresh)
        tx.store.kept_registers.clear()  # one is enough: it holds people's names
        tx.store.kept_registers[opened.domain.id] = (_mark(tx, opened), self)

    @property
    def people(self) -> int:
        return len(set(self.standing))


def _mark(tx: Tx, opened: OpenDomain) -> tuple[Any, ...]:
    """What the sealed state says of a domain's records: it changes with every page and every merge that is written."""
    rows = tx.rows(opened.keys.number)
    return rows.used, rows.sum, opened.domain.key_id, tx.objects.get(tx.store.tag(MERGES, opened.domain.id))


def _identities(tx: Tx, opened: OpenDomain) -> list[bytes]:
    """Every identity the domain keeps."""
    used = tx.rows(opened.keys.number).used
    if not used:
        return []
    found = pages.at(tx, opened.keys, np.arange(1, used + 1))
    return [identity for _, identity in pages.texts(tx, opened.keys, found[pages.is_head(found)])]


def comparable(people: Sequence[Person], keys: Iterable[str] = (), *, month_first: bool | None = None) -> Records:
    """Records of people in one spelling, with these fields, or with every one that any of them has."""
    named = sorted(keys or {key for person in people for key in person})
    columns: dict[str, Any] = {key: [person.get(key) for person in people] for key in named}
    return records_of(columns, {key: _field(key) for key in named}, month_first=month_first)


class Comparing:
    """The records of a register in one spelling, indexed; made when they are first needed, and again if the spelling changes.

    That happens with the first record that has another field, and where dates like 3/4/1980 come to be read otherwise.
    """

    def __init__(self, people: Sequence[Person]) -> None:
        self._people = list(people)
        self._known: Known | None = None
        self._keys: frozenset[str] = frozenset()
        self._days_first = 0
        self._month_first = False
        self.model: tuple[int, Model | None] = (0, None)

    def with_those(self, fresh: Sequence[Person]) -> tuple[Known, Records]:
        """The register, and these people spelled as it is."""
        keys = self._keys | {key for person in fresh for key in person}
        if self._known is None:
            keys |= {key for person in self._people for key in person}
            self._days_first = _days_first(self._people)
        month_first = self._days_first + _days_first(fresh) < 0
        if self._known is None or keys != self._keys or month_first != self._month_first:
            self._keys, self._month_first = frozenset(keys), month_first
            self._known = Known(comparable(self._people, keys, month_first=month_first))
            self.model = (0, None)
        return self._known, comparable(fresh, keys, month_first=month_first)

    def add(self, fresh: Sequence[Person]) -> None:
        """People who are known from now on."""
        self._people += fresh
        if self._known is not None and fresh:
            self._known.add(comparable(fresh, self._keys, month_first=self._month_first))
            self._days_first += _days_first(fresh)


def _days_first(people: Sequence[Person]) -> int:
    return days_before_months([person.get("birth") for person in people])


def _field(key: str) -> Field:
    kind, _, rest = key.partition(":")
    return Field(key, kind, rest if kind == "number" else "")
