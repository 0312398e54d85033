"""Domains: the settings of one study, service or recipient.

A domain fixes the *kind* of pseudonym (how it is made), its *scope* (what it stands for: a person, a role, a relationship, a
role in a relationship, or one transaction; unlinkability grows in that order), and its *renewal* (when a person gets a new
one).
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any, Literal, get_args

from shoal.errors import DataError, InfeasibleError, UsageError, check_choice, refuse
from shoal.protector.pseudonyms.identities import CHECKS, CLEANING

Kind = Literal["random", "keyed", "reversible", "format-preserving", "self-generated"]
Scope = Literal["person", "role", "relationship", "role-relationship", "transaction"]
Matching = Literal["exact", "nfc"]

KINDS: tuple[str, ...] = get_args(Kind)
SCOPES: tuple[str, ...] = get_args(Scope)

REVERSIBLE = frozenset({"random", "reversible", "format-preserving", "self-generated"})
"""Kinds whose pseudonyms can be revealed and translated; a keyed pseudonym is one-way."""

ALPHABETS = {
    "digits": "0123456789",
    "letters": "abcdefghijklmnopqrstuvwxyz",
    "LETTERS": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "alphanumeric": "0123456789abcdefghijklmnopqrstuvwxyz",
    "ALPHANUMERIC": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
}
_NAME = re.compile(r"[^\W_][\w .-]{0,62}", re.UNICODE)
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,7}|")


@dataclass(frozen=True)
class Renewal:
    """When a person gets a new pseudonym: after so many uses (records), every so many days, or at a date.

    ``uses`` is the largest number of records one pseudonym may cover; ``days`` the length of a period counted from
    1970-01-01; ``on`` a list of dates at which everybody changes. All may be given.

    >>> Renewal(days=365).epoch(date(2024, 3, 1)), Renewal(on=("2024-07-01",)).epoch(date(2024, 8, 1))
    ('d54', 'o1')
    >>> Renewal().epoch(date(2024, 3, 1))
    ''
    """

    uses: int | None = None
    days: int | None = None
    on: tuple[str, ...] = ()
    reason: str = ""

    def __post_init__(self) -> None:
        for name, value in (("uses", self.uses), ("days", self.days)):
            if value is not None and (value < 1 or value > 10**9):
                raise UsageError(f"renewal after {value} {name} makes no sense.", hint="Give a whole number of at least 1.")
        for text in self.on:
            _date(text)

    def epoch(self, today: date) -> str:
        """The name of the period that ``today`` falls into."""
        parts = [f"d{(today - date(1970, 1, 1)).days // self.days}"] if self.days else []
        parts += [f"o{sum(_date(text) <= today for text in self.on)}"] if self.on else []
        return ".".join(parts)


@dataclass(frozen=True)
class Domain:
    """Settings of a domain, without secrets.

    ``number`` and ``id`` are given by the vault. ``clean`` says how identities are cleaned before anything else, ``check`` which
    check digit they carry (:mod:`.cleaning`); ``matching`` when two cleaned ones are the same (``exact``: byte for byte;
    ``nfc``: after Unicode composition). ``alphabet`` and ``keep`` belong to format-preserving pseudonyms: the
    characters that are encrypted, and those that stay in place (separators). ``check_characters`` puts two digits behind every
    pseudonym that tell a mistyped one from an unknown one. ``versions`` maps key versions to their state.
    """

    name: str
    kind: Kind = "random"
    scope: Scope = "person"
    prefix: str = "P-"
    matching: Matching = "exact"
    clean: tuple[str, ...] = ("blanks",)
    check: str = ""
    alphabet: str = "0123456789"
    keep: str = ""
    check_characters: bool = False
    renewal: Renewal = field(default_factory=Renewal)
    translate_to: tuple[str, ...] = ()
    number: int = 0
    id: str = ""
    active: int = 1
    versions: tuple[tuple[int, str, str], ...] = ()
    reseal: int = 0
    shredded: str = ""

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        check_choice("scope", self.scope, SCOPES)
        check_choice("matching", self.matching, get_args(Matching))
        for rule in self.clean:
            check_choice("cleaning", rule, CLEANING)
        if self.check:
            check_choice("check digit", self.check, tuple(CHECKS))
        if not _NAME.fullmatch(self.name):
            what = "the name of a domain has 1 to 63 letters, digits, blanks, dots, dashes or underscores and starts with a "
            what += "letter or digit."
            raise UsageError(what)
        if not _PREFIX.fullmatch(self.prefix):
            raise UsageError("a prefix has up to 8 letters, digits, '-' or '_' and starts with a letter.")
        self._check_combination()

    def _check_combination(self) -> None:
        if self.kind == "format-preserving":
            if len(self.alphabet) < 2 or len(set(self.alphabet)) != len(self.alphabet):
                raise UsageError("the alphabet needs at least two characters, each once.")
            if set(self.alphabet) & set(self.keep):
                raise UsageError("a character cannot be both encrypted and kept in place.")
            if self.scope == "transaction":
                what = "format-preserving pseudonyms always repeat, so they cannot be transaction pseudonyms."
                raise UsageError(what, hint="Use kind 'random' or 'reversible'.")
        if self.check_characters and self.kind in ("format-preserving", "self-generated"):
            what = f"check characters go with pseudonyms that the vault spells itself, not with {self.kind} ones."
            raise UsageError(what, hint="Use kind 'random', 'keyed' or 'reversible'.")
        if self.kind == "self-generated" and (self.scope != "person" or self.renewal != Renewal()):
            hint = "Leave scope and renewal at their defaults."
            raise UsageError("a self-generated pseudonym is renewed and scoped by its holder, not by the domain.", hint=hint)
        if self.renewal.uses and (self.kind != "random" or self.scope == "transaction"):
            hint = "Use kind 'random' with a scope other than 'transaction', or renew by days or dates."
            raise UsageError(f"renewal after a number of uses needs a table; kind '{self.kind}' keeps none.", hint=hint)

    @property
    def key_id(self) -> str:
        """The id of the key in use, as written beside every pseudonymised file."""
        fingerprint = next((f for v, _, f in self.versions if v == self.active), "")
        return f"{self.id}.{self.active}.{fingerprint}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Domain:
        body = dict(data)
        renewal = dict(body.pop("renewal"))
        renewal["on"] = tuple(renewal["on"])
        body["translate_to"] = tuple(body["translate_to"])
        body["clean"] = tuple(body["clean"])
        body["versions"] = tuple((int(v), str(s), str(f)) for v, s, f in body["versions"])
        return cls(renewal=Renewal(**renewal), **body)

    def with_version(self, version: int, state: str, fingerprint: str = "") -> Domain:
        """The domain with one key version added or its state changed."""
        known = {v: (v, s, f) for v, s, f in self.versions}
        kept = known.get(version, (version, "", fingerprint))[2]
        known[version] = (version, state, kept)
        return replace(self, versions=tuple(known[v] for v in sorted(known)))


@dataclass(frozen=True)
class Context:
    """What a pseudonym stands for beyond the person: a role, a relation (counterpart), and the day it is used."""

    role: str = ""
    relation: str = ""

    def frame(self, domain: Domain, epoch: str) -> bytes:
        """An unambiguous byte form of role, relation and epoch, as the domain's scope asks for them."""
        wants_role = domain.scope in ("role", "role-relationship")
        wants_relation = domain.scope in ("relationship", "role-relationship")
        for wanted, given, word in ((wants_role, self.role, "role"), (wants_relation, self.relation, "relation")):
            if wanted and not given:
                hint = f"Pass {word}=…, or --{word} on the command line."
                raise UsageError(f"domain '{domain.name}' has {domain.scope} pseudonyms: name the {word}.", hint=hint)
            if given and not wanted:
                what = f"domain '{domain.name}' has {domain.scope} pseudonyms: a {word} has no place in them."
                raise UsageError(what, hint=f"Leave {word} out, or make a domain with scope '{word}'.")
        with refuse(DataError("a role or relation is not valid Unicode text."), UnicodeEncodeError):
            parts = [p.encode() for p in (self.role, self.relation, epoch)]
        if max(map(len, parts)) > 255:
            raise UsageError("a role or relation has at most 255 bytes.")
        return b"".join(len(p).to_bytes(2, "big") + p for p in parts)


def day(time: float) -> date:
    return datetime.fromtimestamp(time, UTC).date()


def _date(text: str) -> date:
    with refuse(UsageError("a renewal date is written like 2025-01-31."), ValueError, TypeError):
        return date.fromisoformat(text)


def by_trajectory(*, exponent: float, places: int, people: int, limit: float, k: int = 2, records_per_row: int = 1) -> Renewal:
    """Renewal after the number of rows that the Zipf model allows.

    Parameters
    ----------
    exponent, places : float, int
        Zipf exponent c and number d of places (or other values a record can have).
    people : int
        Number of people that could be meant.
    limit : float
        Largest tolerated share of people in cells of fewer than ``k``.
    records_per_row : int
        Places that one row of the table tells: the model counts places, a trip with its start and end tells two.

    Examples
    --------
    Public transport of 42.6 million trips, 2,497 stations: with 5 % tolerated, a pseudonym may cover two records.

    >>> by_trajectory(exponent=0.632, places=2497, people=42_598_300, limit=0.05).uses
    2

    Where a row is a trip from one station to another, that is one row.

    >>> by_trajectory(exponent=0.632, places=2497, people=42_598_300, limit=0.05, records_per_row=2).uses
    1
    """
    from shoal.prediction.zipf.records import Zipf, pseudonym_life

    life = pseudonym_life(Zipf(exponent, places), people, limit, k=k)
    if records_per_row < 1:
        raise UsageError("a row tells at least one place.", hint="For trips with start and end: --records-per-row 2.")
    rows = life // records_per_row
    if rows < 1:
        unit = "record" if records_per_row == 1 else f"row of {records_per_row} places"
        what = f"even one {unit} under a pseudonym leaves more than {limit:.3g} of the people in cells of fewer than {k}."
        hint = "Coarsen the places, tolerate more, or use scope 'transaction' and publish fewer details."
        raise InfeasibleError(what, hint=hint)
    reason = f"Zipf c={exponent:g}, d={places}, n={people}, k={k}, share <= {limit:g}"
    if records_per_row > 1:
        reason += f", {records_per_row} places per row"
    return Renewal(uses=rows, reason=reason)
