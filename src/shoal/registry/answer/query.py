"""Questions to a registry: the exact record, else a near one with the direction of its error, else the margins combined."""

from __future__ import annotations

import statistics as stats
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal, Protocol

from shoal.errors import UnreadableError, UsageError
from shoal.model.estimate import Estimate
from shoal.registry.answer import analyse
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record, check_key
from shoal.registry.records.trust import FLOOR, Dispute, Statement, contradiction, dispute, outlier, trusted_keys
from shoal.registry.records.vocabulary import canonical, compare

Fit = Literal["exact", "finer coding", "coarser coding", "parent population", "margins only", "nothing"]


class Shelf(Protocol):
    """What a query reads from: a store or a mirror."""

    def topic(self, codes: Sequence[str], population: str) -> list[Record]: ...
    def codings(self, population: str) -> list[tuple[str, ...]]: ...
    def neighbours(self, codes: Sequence[str], area: str, *, limit: int = 500) -> list[tuple[str, float]]: ...
    def namesakes(self, holder: str, key: str) -> bool: ...
    def statements(self) -> list[Statement]: ...
    def head(self) -> tuple[int, str]: ...


@dataclass(frozen=True)
class Answer:
    """What a registry knows about one quasi-identifier in one population."""

    codes: tuple[str, ...]
    population: Population
    fit: Fit
    records: tuple[Record, ...]
    dispute: Dispute | None = None
    notes: tuple[str, ...] = ()
    trust: dict[str, int] = field(default_factory=dict)
    siblings: Callable[[], list[Record]] = field(default=list, repr=False, compare=False)
    """Records of the same quasi-identifier in neighbouring populations: read when a wider population stands in."""

    @property
    def best(self) -> Record:
        """The record to plan by: the cautious one in a dispute, else the newest."""
        if not self.records:
            raise UsageError(
                "the registry knows nothing about this question.", hint="Ask a coarser coding or a wider population."
            )
        if self.dispute is not None:
            return self.dispute.cautious
        return max(self.records, key=_newest)

    @property
    def judged(self) -> tuple[Record, ...]:
        """The records that a prediction rests on: all sides of a dispute, else the best."""
        return self.dispute.records if self.dispute is not None else (self.best,)

    @property
    def elsewhere(self) -> bool:
        """Whether the records are about a wider population than was asked for."""
        return any(r.population != self.population for r in self.records)

    def unique_share(self, group_size: int) -> Estimate:
        """Expected share of unique people, with its direction of error where the record is not the one asked for."""
        if self.fit == "margins only":
            share = analyse.combine([r.summary for r in self.records], group_size)
        else:
            share = self.cautious([analyse.unique_share(r.summary, group_size, sampled=r.sampled) for r in self.judged])
        if self.elsewhere:
            return self._from_neighbours(share, group_size)
        if self.fit == "finer coding":
            return _again(share, 0.0, share.high, "The record is finer than asked: an upper bound.")
        if self.fit == "coarser coding":
            return _again(share, share.low, 1.0, "The record is coarser than asked: a lower bound.")
        return share

    def cautious(self, every: Sequence[Estimate], pick: Callable[[Iterable[float]], float] = max) -> Estimate:
        """One estimate for all sides of a dispute: the cautious value, and the ends of all of them."""
        if len(every) == 1:
            return every[0]
        return replace(
            max(every, key=lambda e: e.grade),
            value=pick(e.value for e in every),
            low=min(e.low for e in every),
            high=max(e.high for e in every),
            log_value=None,
            notes=(*every[0].notes, "Holders disagree: the cautious value."),
        )

    def _from_neighbours(self, share: Estimate, group_size: int) -> Estimate:
        """A wider population proves nothing about a part of it; what neighbours have is told, and is the likelier value."""
        notes = ["The record is of a wider population: of this one anything between 0% and 100% is possible."]
        near = [analyse.unique_share(r.summary, group_size, sampled=r.sampled).value for r in self.siblings()]
        details = {}
        if len(near) >= ENOUGH:
            low, middle, high = min(near), stats.median(near), max(near)
            share = replace(share, value=middle, low=0.0, high=1.0, log_value=None, method="median of neighbouring populations")
            told = f"the lowest has {low:.1%}, the middle {middle:.1%}, the highest {high:.1%}"
            notes.append(f"Of {len(near)} neighbouring populations {told}.")
            details = {"neighbours": {"populations": len(near), "low": low, "middle": middle, "high": high}}
        return replace(_again(share, 0.0, 1.0, *notes), details=details)


ENOUGH = 5
"""Neighbouring populations from which a likelier value is told."""
_MOST_NEIGHBOURS = 60


def _again(base: Estimate, low: float, high: float, *notes: str) -> Estimate:
    """The same value within wider bounds: grade C."""
    return replace(base, low=min(low, base.value), high=max(high, base.value), grade="C", notes=(*base.notes, *notes))


class Registry:
    """A registry to ask: a mirrored folder, a database URL, or a store.

    ``anchors`` are public keys that the asker trusts; holders are then shown with their distance from them, and where one of
    them is reached, the records of the others are set aside.
    """

    def __init__(self, source: str | Path | Shelf, *, anchors: Iterable[str] = ()) -> None:
        self.shelf: Shelf = _open(source)
        self.anchors = tuple(check_key(key) for key in anchors)
        self._kept = _Kept(self.shelf)

    def query(self, codes: Iterable[str], population: str | Population, *, anchors: Iterable[str] | None = None) -> Answer:
        """The best that is known: exact, else another coding, else a parent population, else margins."""
        wanted = canonical(codes)
        people = population if isinstance(population, Population) else Population.parse(population)
        roots = self.anchors if anchors is None else tuple(check_key(key) for key in anchors)
        self._kept.fresh()
        view = _View(trusted_keys(roots, self._kept.statements()) if roots else None)
        for place in [people, *people.parents()]:
            found = self._in_population(wanted, place, view)
            if found is None:
                continue
            fit, records, notes = found
            if place != people:
                fit = "parent population" if fit == "exact" else fit
                notes.append(f"Nothing is known about {people}; this is about {place}.")
            return self._answer(Answer(wanted, people, fit, records, trust=view.trust or {}), notes, view)
        return Answer(wanted, people, "nothing", ())

    def _in_population(
        self, wanted: tuple[str, ...], people: Population, view: _View
    ) -> tuple[Fit, tuple[Record, ...], list[str]] | None:
        exact = self.shelf.topic(wanted, str(people))
        if exact:
            return "exact", view.of(exact), []
        known = self.shelf.codings(str(people))
        finer = self._nearest([c for c in known if compare(c, wanted) == "finer"], people, finer=True)
        if finer:
            return "finer coding", view.of(finer), [f"Known only in the finer coding {', '.join(finer[0].codes)}."]
        if len(wanted) > 1 and all((code,) in known for code in wanted):
            topics = [view.of(self.shelf.topic((c,), str(people))) for c in wanted]
            notes = ["The attributes are known one by one, not together."]
            notes += [f"Holders disagree about {t[0].codes[0]}: the cautious record is used." for t in topics if dispute(t)]
            return "margins only", tuple(_one_of(t) for t in topics), notes
        coarser = self._nearest([c for c in known if compare(c, wanted) == "coarser"], people, finer=False)
        if coarser:
            return "coarser coding", view.of(coarser), [f"Known only as {', '.join(coarser[0].codes)}."]
        return None

    def _nearest(self, codings: list[tuple[str, ...]], people: Population, *, finer: bool) -> tuple[Record, ...]:
        """Records of the coding that is least finer (fewest attributes, fewest cells), or least coarser (most of both)."""
        if not codings:
            return ()
        length = (min if finer else max)(len(c) for c in codings)
        topics = [self.shelf.topic(c, str(people)) for c in codings if len(c) == length]
        sized = sorted((t for t in topics if t), key=lambda t: (t[0].summary.cells, t[0].codes))
        return tuple(sized[0 if finer else -1]) if sized else ()

    def _answer(self, answer: Answer, notes: list[str], view: _View) -> Answer:
        records = answer.records
        notes += view.notes()
        quarrel = dispute(records) if answer.fit != "margins only" else None
        if quarrel is not None:
            notes.append(f"{len(quarrel.records)} holders publish different numbers; plan by the cautious one.")
        notes += self._doubts(records)
        shared = {r.holder for r in records[:5] if self._kept.namesakes(r.holder, r.key)}
        notes += [
            f"More than one key publishes under the name {name}, or one that looks like it: compare the fingerprints."
            for name in sorted(shared)
        ]
        return replace(answer, dispute=quarrel, notes=tuple(notes), siblings=cache(lambda: self._siblings(answer)))

    def _siblings(self, answer: Answer) -> list[Record]:
        """Records of what was asked for, in populations of the same area and period; spread evenly where there are many."""
        near = self._kept.neighbours(answer.codes, answer.population.area).all
        alike = sorted({p for p, _ in near if Population.parse(p).period == answer.population.period})
        every = -(-len(alike) // _MOST_NEIGHBOURS) or 1
        return [_one_of(found) for p in alike[::every] if (found := self.shelf.topic(answer.codes, p))]

    def _doubts(self, records: tuple[Record, ...]) -> Iterator[str]:
        """Records that stand out from similar ones, or contradict others of their population."""
        for record in records[:5]:
            people = str(record.population)
            others = [self.shelf.topic(c, people) for c in self.shelf.codings(people)[:50] if c != record.codes]
            for sentence in (self._odd(record, records), contradiction(record, [r for topic in others for r in topic])):
                if sentence:
                    yield f"The record of {record.holder} stands out. {sentence}"

    def _odd(self, record: Record, records: tuple[Record, ...]) -> str | None:
        """A sentence when κ stands out; none where all neighbours lie closer together than what would be odd."""
        near = self._kept.neighbours(record.codes, record.population.area)
        kappa, people = record.summary.statistics["kappa"].value, str(record.population)
        if len(near.all) > 4 and len(records) == 1 and near.high - FLOOR <= kappa <= near.low + FLOOR:
            return None
        values = [k for p, k in near.all if p != people]
        values += [r.summary.statistics["kappa"].value for r in records if r.id != record.id and r.topic == record.topic]
        return outlier(record, values, self._parent(record) if len(values) < 3 else None)

    def _parent(self, record: Record) -> float | None:
        """κ of the same quasi-identifier in the nearest wider population."""
        for wider in record.population.parents():
            found = self.shelf.topic(record.codes, str(wider))
            if found:
                return found[0].summary.statistics["kappa"].value
        return None


class _Near:
    """Population and κ of the records of one area, and between which values they lie."""

    def __init__(self, found: list[tuple[str, float]]) -> None:
        self.all = found
        self.low, self.high = min((k for _, k in found), default=0.0), max((k for _, k in found), default=0.0)


class _Kept:
    """What many answers need, read once per state of the log."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._head = ""
        self._near: dict[tuple[tuple[str, ...], str], _Near] = {}
        self._names: dict[tuple[str, str], bool] = {}
        self._said: list[Statement] | None = None

    def fresh(self) -> None:
        """Forget what was read before the log grew."""
        _, head = self._shelf.head()
        if head != self._head or len(self._near) + len(self._names) > 10_000:
            self._near, self._names, self._said, self._head = {}, {}, None, head

    def neighbours(self, codes: tuple[str, ...], area: str) -> _Near:
        found = self._near.get((codes, area))
        if found is None:
            found = self._near[codes, area] = _Near(self._shelf.neighbours(codes, area))
        return found

    def namesakes(self, holder: str, key: str) -> bool:
        found = self._names.get((holder, key))
        if found is None:
            found = self._names[holder, key] = self._shelf.namesakes(holder, key)
        return found

    def statements(self) -> list[Statement]:
        if self._said is None:
            self._said = self._shelf.statements()
        return self._said


def _newest(record: Record) -> tuple[str, int, str]:
    return record.date, record.version, record.id


def _one_of(records: Sequence[Record]) -> Record:
    """One record of a topic: the cautious one in a dispute, else the newest."""
    quarrel = dispute(records)
    return quarrel.cautious if quarrel else max(records, key=_newest)


class _View:
    """Whose records count for one asker: where somebody endorsed has published, the others are set aside, and named."""

    def __init__(self, trust: dict[str, int] | None) -> None:
        self.trust = trust
        self._aside: set[str] = set()
        self._strangers = False

    def of(self, records: Sequence[Record]) -> tuple[Record, ...]:
        if self.trust is None:
            return tuple(records)
        known = tuple(r for r in records if r.key in self.trust)
        if known:
            self._aside |= {r.holder for r in records if r.key not in self.trust}
        else:
            self._strangers = True
        return known or tuple(records)

    def notes(self) -> list[str]:
        out = ["A holder is not endorsed by anybody you trust."] if self._strangers else []
        if self._aside:
            names = ", ".join(sorted(self._aside))
            out.append(f"Set aside, because nobody you trust endorses them: records of {names}.")
        return out


def _open(source: str | Path | Shelf) -> Shelf:
    """A database URL, an existing SQLite file, or a mirrored folder. Asking never makes a registry."""
    if not isinstance(source, str | Path):
        return source
    text = str(source)
    if text.startswith(("http://", "https://")):
        raise UsageError("questions are asked of a copy.", hint="Run: shoal registry mirror FOLDER --registry ADDRESS")
    path = Path(text)
    if "://" in text or path.is_file():
        from shoal.registry.keep.store import Store

        return Store(text if "://" in text else f"sqlite:///{text}")
    if not path.exists():
        raise UnreadableError(
            f"there is no registry '{path.name}'.", hint="Name a mirrored folder, a SQLite file or a database URL."
        )
    from shoal.registry.keep.mirror import Mirror

    return Mirror(text)
