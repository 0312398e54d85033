"""Questions to a registry: the exact record, else a near one with the direction of its error, else the margins combined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from shoal.errors import UnreadableError, UsageError
from shoal.registry.answer.answer import Answer, Fit, one_of
from shoal.registry.answer.listing import next_steps
from shoal.registry.answer.source import KeptReadings, RecordSource
from shoal.registry.keep.builtin import BuiltIn
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record, check_key
from shoal.registry.records.trust import FLOOR, contradictions, dispute, outlier, trusted_keys
from shoal.registry.records.vocabulary import canonical, compare

_MOST_NEIGHBOURS = 60
STRANGERS = "A holder is not endorsed by anybody you trust: the numbers are shown, and prove nothing."


class Registry:
    """A registry to ask: a mirrored folder, a database URL, or a store; without any, the records that come with Shoal.

    ``anchors`` are public keys that the asker trusts; holders are then shown with their distance from them, and where one of
    them is reached, the records of the others are set aside.
    """

    def __init__(self, source: str | Path | RecordSource = "", *, anchors: Iterable[str] = ()) -> None:
        self.source: RecordSource = _open(source)
        self.anchors = tuple(check_key(key) for key in anchors)
        self._kept = KeptReadings(self.source)

    def query(self, codes: Iterable[str], population: str | Population, *, anchors: Iterable[str] | None = None) -> Answer:
        """The best that is known: exact, else another coding, else a parent population, else margins.

        Whose word counts is settled before how well it fits: with anchors, records of keys that they reach are looked through
        first, and a stranger's is used only where those know nothing; it then proves nothing (grade C, any share possible).
        """
        wanted = canonical(codes)
        people = population if isinstance(population, Population) else Population.parse(population)
        roots = self.anchors if anchors is None else tuple(check_key(key) for key in anchors)
        self._kept.fresh()
        trust = trusted_keys(roots, self._kept.statements()) if roots else None
        if trust is not None:
            found = self._best(wanted, people, _View(self.source, trust))
            if found is not None:
                return found
        view = _View(self.source, None)
        found = self._best(wanted, people, view)
        if found is None:
            return Answer(wanted, people, "nothing", (), notes=tuple(next_steps(self.source, wanted, people)))
        return found if trust is None else replace(found, trust=trust, strangers=True, notes=(*found.notes, STRANGERS))

    def _best(self, wanted: tuple[str, ...], people: Population, view: _View) -> Answer | None:
        """The nearest answer that one view of the records gives, here or in a wider population."""
        for place in [people, *people.parents()]:
            found = self._in_population(wanted, place, view)
            if found is None:
                continue
            fit, records, notes = found
            if place != people:
                fit = "parent population" if fit == "exact" else fit
                notes.append(f"Nothing is known about {people}; this is about {place}.")
            notes += view.notes()
            return self._answer(Answer(wanted, people, fit, records, trust=view.trust or {}), notes, view)
        return None

    def _in_population(
        self, wanted: tuple[str, ...], people: Population, view: _View
    ) -> tuple[Fit, tuple[Record, ...], list[str]] | None:
        exact = view.topic(wanted, str(people))
        if exact:
            return "exact", exact, []
        known = self.source.codings(str(people))
        finer = self._nearest([c for c in known if compare(c, wanted) == "finer"], people, view, finer=True)
        if finer:
            return "finer coding", finer, [f"Known only in the finer coding {', '.join(finer[0].codes)}."]
        if len(wanted) > 1 and all((code,) in known for code in wanted):
            topics = [view.topic((c,), str(people)) for c in wanted]
            if all(topics):
                notes = ["The attributes are known one by one, not together."]
                notes += [f"Holders disagree about {t[0].codes[0]}: the cautious record is used." for t in topics if dispute(t)]
                return "margins only", tuple(one_of(t) for t in topics), notes
        coarser = self._nearest([c for c in known if compare(c, wanted) == "coarser"], people, view, finer=False)
        if coarser:
            return "coarser coding", coarser, [f"Known only as {', '.join(coarser[0].codes)}."]
        return None

    def _nearest(self, codings: list[tuple[str, ...]], people: Population, view: _View, *, finer: bool) -> tuple[Record, ...]:
        """Records of the coding that is least finer (fewest attributes, fewest cells), or least coarser (most of both)."""
        for length in sorted({len(c) for c in codings}, reverse=not finer):
            topics = [view.topic(c, str(people)) for c in codings if len(c) == length]
            sized = sorted((t for t in topics if t), key=lambda t: (t[0].summary.cells, t[0].codes))
            if sized:
                return sized[0 if finer else -1]
        return ()

    def _answer(self, answer: Answer, notes: list[str], view: _View) -> Answer:
        records = answer.records
        quarrel = dispute(records) if answer.fit != "margins only" else None
        if quarrel is not None:
            notes.append(f"{len(quarrel.records)} holders publish different numbers; plan by the cautious one.")
        against = self._against(records, view)
        notes += self._doubts(records, against)
        shared = {r.holder for r in records[:5] if self._kept.namesakes(r.holder, r.key)}
        notes += [
            f"More than one key publishes under the name {name}, or one that looks like it: compare the fingerprints."
            for name in sorted(shared)
        ]
        doubted = tuple({other.id: other for _, other, _ in against}.values())
        siblings = cache(lambda: self._siblings(answer))
        return replace(answer, dispute=quarrel, notes=tuple(notes), siblings=siblings, doubted=doubted)

    def _siblings(self, answer: Answer) -> list[Record]:
        """Records of what was asked for, in populations of the same area and period; spread evenly where there are many."""
        near = self._kept.neighbours(answer.codes, answer.population.area).all
        alike = sorted({p for p, _ in near if Population.parse(p).period == answer.population.period})
        every = -(-len(alike) // _MOST_NEIGHBOURS) or 1
        return [one_of(found) for p in alike[::every] if (found := self.source.topic(answer.codes, p))]

    def _against(self, records: tuple[Record, ...], view: _View) -> list[tuple[Record, Record, str]]:
        """Records of the answer that cannot be true beside another of their population, with that one and a sentence."""
        found = []
        for record in records[:5]:
            people = str(record.population)
            others = [view.topic(c, people) for c in self.source.codings(people)[:50] if c != record.codes]
            found += [(record, other, words) for other, words in contradictions(record, [r for t in others for r in t])]
        return found

    def _doubts(self, records: tuple[Record, ...], against: list[tuple[Record, Record, str]]) -> Iterator[str]:
        """Records that stand out from similar ones, or contradict others of their population."""
        for record in records[:5]:
            contradicted = next((words for mine, _, words in against if mine.id == record.id), None)
            for sentence in (self._odd(record, records), contradicted):
                if sentence:
                    yield f"The record of {record.holder} stands out. {sentence}"

    def _odd(self, record: Record, records: tuple[Record, ...]) -> str | None:
        """A sentence when κ stands out; none where all neighbours lie closer together than what would be odd."""
        near = self._kept.neighbours(record.codes, record.population.area)
        kappa, people = record.summary.statistics["kappa"].value, record.population.key
        if len(near.all) > 4 and len(records) == 1 and near.high - FLOOR <= kappa <= near.low + FLOOR:
            return None
        values = [k for p, k in near.all if p != people]
        values += [r.summary.statistics["kappa"].value for r in records if r.id != record.id and r.topic == record.topic]
        return outlier(record, values, self._parent(record) if len(values) < 3 else None)

    def _parent(self, record: Record) -> float | None:
        """κ of the same quasi-identifier in the nearest wider population."""
        for wider in record.population.parents():
            found = self.source.topic(record.codes, str(wider))
            if found:
                return found[0].summary.statistics["kappa"].value
        return None


class _View:
    """The records that count for one asker: those of trusted keys, or all where nobody was named. The others are named."""

    def __init__(self, source: RecordSource, trust: dict[str, int] | None) -> None:
        self._source = source
        self.trust = trust
        self._aside: set[str] = set()

    def topic(self, codes: tuple[str, ...], population: str) -> tuple[Record, ...]:
        found = self._source.topic(codes, population)
        if self.trust is None:
            return tuple(found)
        self._aside |= {r.holder for r in found if r.key not in self.trust}
        return tuple(r for r in found if r.key in self.trust)

    def notes(self) -> list[str]:
        """Who was set aside on the way to the answer."""
        names = ", ".join(sorted(self._aside))
        return [f"Set aside, because nobody you trust endorses them: records of {names}."] if names else []


def _open(source: str | Path | RecordSource) -> RecordSource:
    """A database URL, an existing SQLite file, or a mirrored folder. Asking never makes a registry."""
    if not isinstance(source, str | Path):
        return source
    text = str(source)
    if not text:
        return BuiltIn()
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
