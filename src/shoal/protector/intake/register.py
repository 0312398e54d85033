"""Who is behind new records: a known person, a new one, or nobody knows yet.

Takes    the register of a domain and new records
Returns  for each new record an answer, in their order
Keeps    nobody is merged where two known people fit, nor on less than the probability of a match, nor (twins) where neither the
         given name nor a number agrees exactly
Source   Fellegi–Sunter weights: m as usual (:data:`shoal.linkage.model.USUAL`), u counted among pairs of the register,
         where it is large enough; rare values by the register's own shares

The people a domain knows, as records that can be compared.

An identity is the JSON text of a record (``{"birth":"1980-02-01","family":"Jansen","given":"Anna"}``), as it was first brought.
Other spellings of the same person are merged into it (:mod:`shoal.protector.pseudonyms.merges`), so forgetting, exporting,
splitting and the rotation of keys cover them like any other identity.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal.errors import DataError, UsageError
from shoal.linkage import model as em
from shoal.linkage import spelling
from shoal.linkage.blocking import Known, candidate_pairs
from shoal.linkage.model import Model, weigh
from shoal.linkage.records import CHECK_DIGITS, Field, Records, days_before_months, fields_of, records_of
from shoal.linkage.similarity import LEVELS, levels
from shoal.protector.pseudonyms import merges
from shoal.protector.pseudonyms.domains import Domain, Renewal
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store import pages
from shoal.protector.store.database import Tx
from shoal.protector.store.state import MERGES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.linkage.records import Changes, Records


MATCH, POSSIBLE = 0.99, 0.05
"""Probabilities from which a record is of a known person, or a clerk decides. A wrong merge mixes two people: hence the first."""

ENOUGH, STRANGERS = 1000, 20_000
"""Records from which a register tells how often strangers agree, and pairs that are looked at for it."""

GROWN = 1.1
"""The growth of a register from which its model is fitted again."""

Outcome = Literal["known", "matched", "new", "waiting", "empty"]


@dataclass(frozen=True)
class Answer:
    """``identity`` stands for the person (none while waiting); ``candidates`` are known people who may be it, best first."""

    outcome: Outcome
    identity: bytes | None = None
    candidates: tuple[tuple[bytes, float], ...] = ()


def recognise(
    register: Register, people: Sequence[Person], *, match: float = MATCH, possible: float = POSSIBLE
) -> tuple[list[Answer], dict[str, Changes]]:
    """An answer for each new record, and what was changed in their spelling."""
    todo = [place for place, person in enumerate(people) if person and identity_of(person).encode() not in register.by_text]
    known = len(register.records)
    near = _near(register, [people[i] for i in todo]) if todo else []
    owners: list[bytes | None] = [*register.standing, *[None] * len(todo)]
    at = {place: number for number, place in enumerate(todo)}
    answers: list[Answer] = []
    for place, person in enumerate(people):
        number = at.get(place)
        answer = _answer(person, [] if number is None else near[number], owners, register, match, possible)
        if number is not None:
            owners[known + number] = answer.identity
        answers.append(answer)
    return answers, dict(comparable(people).changes) if any(people) else {}


def _own(records: Records, agreement: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Pairs that agree on something of the person's own: the given name or a number, exactly. All else twins share."""
    out = np.zeros(len(agreement), dtype=bool)
    for place, field in enumerate(records.fields):
        if field.kind in ("given", "number"):
            out |= agreement[:, place] >= len(LEVELS[field.kind]) - (2 if field.kind == "given" else 1)
    return out


def _near(register: Register, people: Sequence[Person]) -> list[list[tuple[int, float]]]:
    """For each new record the earlier ones it may be (the register's, then those before it), with the probability."""
    known, fresh = register.comparing.with_those(people)
    size = len(known.records)
    old, new = known.pairs_with(fresh)
    one, two, _ = candidate_pairs(fresh, None)
    left, right = np.concatenate([old, one + size]), np.concatenate([new, two]) + size
    places, where = np.unique(left, return_inverse=True)
    some = known.records.at(places[places < size]).joined(fresh)
    kept = len(some) - len(fresh)
    a, b = np.where(left < size, where.ravel(), left - size + kept), right - size + kept
    agreement = levels(some, a, b)
    model = _model(register, known.records, prior=0.5 / (register.people + len(people) + 1))
    with known.counting(fresh) as seen:
        chance = em.chance(weigh(model, some, a, b, agreement, seen=seen), model.prior)
    chance[~_own(some, agreement)] *= 0.5
    out: list[list[tuple[int, float]]] = [[] for _ in people]
    for at in np.flatnonzero(chance > 0.001):
        out[int(right[at]) - size].append((int(left[at]), float(chance[at])))
    return out


def _model(register: Register, records: Records, *, prior: float) -> Model:
    """The register's model, fitted again when it has grown by a tenth."""
    size, model = register.comparing.model
    if model is None or size < ENOUGH or len(records) > GROWN * size:
        model = fitted(records, prior=prior)
        register.comparing.model = (len(records), model)
    return replace(model, prior=prior)


def fitted(records: Records, *, prior: float) -> Model:
    """The usual weights; in a register of :data:`ENOUGH` records, how often strangers agree is counted there."""
    known = len(records)
    if known < ENOUGH:
        return Model.usual(records.fields, prior=prior)
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, known, (2, STRANGERS))
    apart = one != two
    return em.of_strangers(levels(records, one[apart], two[apart]), records.fields, prior)


def _answer(
    person: Person, near: list[tuple[int, float]], owners: list[bytes | None], register: Register, match: float, possible: float
) -> Answer:
    text = identity_of(person).encode()
    if not person:
        return Answer("empty")
    if text in register.by_text:
        return Answer("known", register.by_text[text])
    best: dict[bytes, float] = {}
    unsure = False
    for place, chance in near:
        owner = owners[place]
        if owner is None:
            unsure |= chance >= possible  # resembles a record that itself waits
        else:
            best[owner] = max(best.get(owner, 0.0), chance)
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    sure = [owner for owner, chance in ranked if chance >= match]
    if len(sure) == 1 and not unsure:
        return Answer("matched", sure[0])
    maybe = tuple((owner, chance) for owner, chance in ranked if chance >= possible)
    return Answer("waiting", None, maybe) if maybe or unsure else Answer("new", text)


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
            hint = f"Known: {', '.join(sorted(ALONE))}, number, text:…"
            raise UsageError("a record has a field of an unknown kind.", hint=hint)
    if any(_LONE.search(text) for pair in out.items() for text in pair):
        raise DataError("a record is not valid Unicode text.")
    return out


def identity_of(person: Person) -> str:
    """The record as an identity: the same fields give the same text."""
    return json.dumps(person, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def parsed(identity: bytes) -> Person | None:
    """The record behind an identity; None for one that is not a record."""
    try:
        record = json.loads(identity)
    except ValueError:
        return None
    if not isinstance(record, dict) or not all(isinstance(v, str) for v in record.values()):
        return None
    return record


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
        mark, register = tx.store.kept_registers.get(opened.domain.id, (None, None))
        return register if mark == _mark(tx, opened) and isinstance(register, Register) else cls(tx, opened)

    def keep(self, tx: Tx, opened: OpenDomain, added: Sequence[tuple[Person, bytes]]) -> None:
        """Remember the register with what this transaction adds to it (records, and the identities that stand for them).

        It counts only for the state that the transaction leaves: after any other change, or if it fails, it is read again.
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
    identities = pages.at(tx, opened.keys, np.arange(1, used + 1))
    return [identity for _, identity in pages.texts(tx, opened.keys, identities[pages.is_head(identities)])]


def comparable(people: Sequence[Person], keys: Iterable[str] = (), *, month_first: bool | None = None) -> Records:
    """Records of people in one spelling, with these fields, or with every one that any of them has."""
    named = sorted(keys or {key for person in people for key in person})
    columns: dict[str, Any] = {key: [person.get(key) for person in people] for key in named}
    parts = {key: key.partition(":") for key in named}
    fields = {key: Field(key, kind, rest if kind == "number" else "") for key, (kind, _, rest) in parts.items()}
    return records_of(columns, fields, month_first=month_first)


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
