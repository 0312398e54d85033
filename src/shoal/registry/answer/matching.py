r"""Matching the catalogue: who could join what with whom, and which questionnaire asks for something that is held elsewhere.

Takes    notices of what is held and asked, and a registry
Returns  joins (two holders, the attributes that both have, what each would learn) and requests (a questionnaire, a holder, what
         of it the holder has already, and by what it could recognise those who answer)
Keeps    only people who may be the same are matched: one place lies within the other, for any period

What two data sets share is the coarser coding of each attribute that both have; a year of birth implies an age. How
many people of the place are one of a kind by it is the registry's answer for everybody there, or that of the records of real
places that come with Shoal: those would be found for certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.model.estimate import Estimate
from shoal.registry.answer.query import Registry
from shoal.registry.publish.differencing import related
from shoal.registry.records.notice import Notice
from shoal.registry.records.population import Population
from shoal.registry.records.vocabulary import relation

MOST_NOTICES = 300
"""Notices that are matched at once."""
MOST_MATCHES = 100
_VAGUE = 0.9
"""An interval wider than this tells nothing."""
_HARDLY = 0.0005
_AGES = {"birth/date": "age/years", "birth/month": "age/years", "birth/year": "age/years", "birth/decade": "age/10y"}
"""What a birth tells of an age."""


@dataclass(frozen=True)
class Join:
    """Two holders with people in common: what both have, and what each would learn of the other."""

    one: Notice
    other: Notice
    shared: tuple[str, ...]
    one_adds: tuple[str, ...]
    other_adds: tuple[str, ...]
    unique: Estimate | None

    def to_json(self) -> dict[str, Any]:
        return {
            "holders": [_who(self.one), _who(self.other)], "shared": list(self.shared),
            "adds": [list(self.one_adds), list(self.other_adds)], "unique": _plain(self.unique), "sentence": self.sentence,
        }  # fmt: skip

    @property
    def sentence(self) -> str:
        """Who would learn what, and about which people for certain."""
        gains = [
            f"{n.holder} ({n.title}) would add {', '.join(codes)}"
            for n, codes in ((self.one, self.one_adds), (self.other, self.other_adds))
            if codes
        ]
        return (
            f"{self.one.holder} ({self.one.title}) and {self.other.holder} ({self.other.title}) could be joined by "
            f"{', '.join(self.shared)}{_share(self.unique)}: {'; '.join(gains)}."
        )


@dataclass(frozen=True)
class Request:
    """A questionnaire and somebody else who holds a part of it; ``recognise`` is by what those who answer could be known."""

    asks: Notice
    holds: Notice
    held: tuple[str, ...]
    recognise: tuple[str, ...]
    unique: Estimate | None

    def to_json(self) -> dict[str, Any]:
        return {
            "asks": _who(self.asks), "holds": _who(self.holds), "held": list(self.held), "recognise": list(self.recognise),
            "unique": _plain(self.unique), "sentence": self.sentence,
        }  # fmt: skip

    @property
    def sentence(self) -> str:
        """What need not be asked, and by what those who answer could be recognised."""
        text = f"{self.asks.title} ({self.asks.holder}) asks {self.asks.population} for {len(self.asks.codes)} attributes; "
        if self.held:
            text += f"{self.holds.holder} ({self.holds.title}) holds {', '.join(self.held)} already. It could recognise"
        else:
            text += f"{self.holds.holder} ({self.holds.title}) could recognise"
        return f"{text} who answered by {', '.join(self.recognise)}{_share(self.unique)}."


@dataclass(frozen=True)
class Matches:
    """All joins and requests, the most telling first; ``more`` where some were left out."""

    joins: tuple[Join, ...]
    requests: tuple[Request, ...]
    more: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "joins": [j.to_json() for j in self.joins], "requests": [r.to_json() for r in self.requests], "more": self.more
        }  # fmt: skip


def match(notices: Iterable[Notice], registry: Registry, *, about: str = "") -> Matches:
    """What the notices of a catalogue say together, the newest of them; a holder is not matched with itself.

    ``about`` is a part of the name of a population: one of two that match has it.
    """
    given = sorted(notices, key=lambda n: (n.date, n.id), reverse=True)
    named = [n for n in given if about.casefold() in n.population.key]
    known = [*named, *(n for n in given if about.casefold() not in n.population.key)][:MOST_NOTICES]
    pairs = [(a, b) for a, b in _pairs(known, len(named)) if a.key != b.key and related(a.population, b.population)]
    joins = [j for a, b in pairs if a.kind == b.kind == "holds" and (j := _join(a, b)) is not None]
    both = [(a, b) if a.kind == "asks" else (b, a) for a, b in pairs if a.kind != b.kind]
    requests = [r for asks, holds in both if (r := _request(asks, holds)) is not None]
    more = len(given) > len(known) or max(len(joins), len(requests)) > MOST_MATCHES
    joins.sort(key=lambda j: (-len(j.shared), j.one.id, j.other.id))
    requests.sort(key=lambda r: (-len(r.held), -len(r.recognise), r.asks.id, r.holds.id))
    details = _Telling(registry)
    matches = [replace(j, unique=details.of(j.shared, j.one, j.other)) for j in joins[:MOST_MATCHES]]
    asked = [replace(r, unique=details.of(r.recognise, r.asks, r.holds)) for r in requests[:MOST_MATCHES]]
    matches.sort(key=lambda j: 1.0 if j.unique is None else -j.unique.value)
    return Matches(tuple(matches), tuple(asked), more)


def _pairs(known: Sequence[Notice], named: int) -> Iterator[tuple[Notice, Notice]]:
    """Every two of which one at least is among the first ``named``."""
    return ((known[i], known[j]) for i in range(min(named, len(known))) for j in range(i + 1, len(known)))


def _join(one: Notice, other: Notice) -> Join | None:
    shared = tuple(sorted(_shared(one.codes, other.codes)))
    adds = [_beyond(a.codes, b.codes) for a, b in ((one, other), (other, one))]
    return Join(one, other, shared, adds[0], adds[1], None) if shared and any(adds) else None


def _request(asks: Notice, holds: Notice) -> Request | None:
    shared = tuple(sorted(_shared(asks.codes, holds.codes)))
    held = tuple(c for c in asks.codes if any(_tells(h, c) for h in holds.codes))
    return Request(asks, holds, held, shared, None) if shared else None


def _shared(one: Sequence[str], other: Sequence[str]) -> Iterator[str]:
    """The coarser coding of every attribute that both have in codings that can be compared.

    >>> sorted(_shared(("age/5y", "sex"), ("birth/date", "postcode/NL/pc4", "sex")))
    ['age/5y', 'sex']
    """
    for a in one:
        for b in other:
            if _tells(a, b):
                yield b
                break
            if _tells(b, a):
                yield a
                break


def _tells(code: str, other: str) -> bool:
    """Whether somebody who knows the answer in one coding knows it in the other.

    >>> _tells("birth/date", "age/10y"), _tells("age/10y", "birth/date"), _tells("sex", "sex")
    (True, False, True)
    """
    if relation(code, other) in ("same", "finer"):
        return True
    return code in _AGES and relation(_AGES[code], other) in ("same", "finer")


def _beyond(mine: Sequence[str], its: Sequence[str]) -> tuple[str, ...]:
    """What one has that the other cannot tell: other attributes, or more detail."""
    return tuple(c for c in mine if not any(_tells(i, c) for i in its))


class _Telling:
    """How many people are one of a kind by some attributes, asked once for each set of them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._kept: dict[tuple[tuple[str, ...], str], Estimate | None] = {}

    def of(self, codes: tuple[str, ...], one: Notice, other: Notice) -> Estimate | None:
        people = max(one.population, other.population, key=lambda p: (p.place.count("/"), len(p.filters), p.key))
        asked = (codes, people.key)
        if asked not in self._kept:
            self._kept[asked] = self._ask(codes, people)
        return self._kept[asked]

    def _ask(self, codes: tuple[str, ...], people: Population) -> Estimate | None:
        """Of everybody in the population; nothing where no record is about them."""
        for registry in (self._registry, Registry()):
            answer = registry.query(codes, people)
            if answer.records and not answer.elsewhere:
                return answer.unique_share(answer.best.summary.fewest)
        return None


def _who(notice: Notice) -> dict[str, str]:
    return {"holder": notice.holder, "title": notice.title, "population": str(notice.population), "id": notice.id}


def _plain(unique: Estimate | None) -> dict[str, Any] | None:
    return None if unique is None else unique.to_json()


def _share(unique: Estimate | None) -> str:
    if unique is None or unique.high - unique.low > _VAGUE:
        return " (how many are one of a kind by these is not known)"
    if unique.high < _HARDLY:
        return f" (hardly anybody there is one of a kind by these, grade {unique.grade})"
    return f" (of everybody there {unique.low:.1%} to {unique.high:.1%} are one of a kind by these, grade {unique.grade})"
