"""Questions to a registry: the exact record, else a near one with the direction of its error, else the margins combined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from shoal.errors import UnreadableError, UsageError, nearest
from shoal.registry.answer.answer import ENOUGH, Answer, Fit, one_of
from shoal.registry.answer.joint import has_counts_for, shared
from shoal.registry.answer.plain import Places, codes_of, population_of, topics_of
from shoal.registry.answer.source import KeptReadings, RecordSource, View
from shoal.registry.keep.builtin import KEY as BUILT_IN
from shoal.registry.keep.builtin import BuiltIn
from shoal.registry.records.notice import Notice
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record, check_key
from shoal.registry.records.trust import FLOOR, contradictions, dispute, outlier, trusted_keys
from shoal.registry.records.vocabulary import canonical, coarser, compare

MOST_RIVALS = 50
"""Holders that are heard about one population; where more speak, and nobody was named to trust, anything is possible."""
SET_ASIDE = "Keys that you did not name publish about these people too: their records are not used. Name a key with --trust."
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

    def query(
        self, codes: Iterable[str], population: str | Population, *, anchors: Iterable[str] | None = None, size: int | None = None
    ) -> Answer:
        """The best that is known: exact, else another coding, else a parent population, else margins.

        Whose word counts is settled before how well it fits: with anchors, records of keys that they reach are looked through
        first, and a stranger's is used only where those know nothing; it then proves nothing (grade C, any share possible).
        Without anchors nobody's word is taken over another's: what every holder says who does not vouch for the records used
        is part of the answer, and the cautious numbers of all are given. ``size`` is the number of people of the population,
        where the asker knows it: it sharpens the estimate from neighbours.
        """
        people = population if isinstance(population, Population) else population_of(self.source, population)
        wanted = canonical(codes_of(self.source, codes, people))
        roots = self.anchors if anchors is None else tuple(check_key(key) for key in anchors)
        with self.source.reading():
            return self._query(wanted, people, roots, size)

    def _query(self, wanted: tuple[str, ...], people: Population, roots: tuple[str, ...], size: int | None) -> Answer:
        self._kept.fresh()
        trust = trusted_keys(roots, self._kept.statements()) if roots else None
        if trust is not None:
            best = self._best(wanted, people, View(self.source, self._kept, trust), size)
            if best is not None:
                return best
        holders = self.source.holders(str(people), limit=MOST_RIVALS + 1) if trust is None else []
        if len(holders) > 1 and BUILT_IN in holders:
            own = self._best(wanted, people, View(self.source, self._kept, {BUILT_IN: 0}), size)
            if own is not None and own.settled:
                return replace(own, trust={}, notes=(*own.notes, SET_ASIDE))
        view = View(self.source, self._kept, None)
        best = self._best(wanted, people, view, size)
        if best is None:
            return Answer(wanted, people, "nothing", (), notes=tuple(next_steps(self.source, people)))
        if trust is None:
            answer = self._beside_rivals(best, view)
            return answer if {r.key for r in answer.records} <= {BUILT_IN} else replace(answer, unknown=True, own=own_records)
        return replace(best, trust=trust, strangers=True, notes=(*best.notes, STRANGERS))

    def catalogue(self, text: str = "", *, limit: int = 1000) -> list[Notice]:
        """Current notices about populations whose name contains the text; with anchors those of the keys they reach."""
        notices = self.source.notices.current(text, limit=limit)
        if not self.anchors:
            return notices
        trust = trusted_keys(self.anchors, self.source.statements())
        return [notice for notice in notices if notice.key in trust]

    def _beside_rivals(self, answer: Answer, seen: View) -> Answer:
        """The answer with what other holders say about the same people who do not vouch for the records it rests on."""
        place, used = answer.records[0].population, {r.key for r in answer.records}
        if seen.codings(place) == [answer.records[0].codes]:  # anyone who speaks of these people is in the answer
            return answer
        others = [key for key in self.source.holders(str(place), limit=MOST_RIVALS + 1) if key not in used]
        if len(others) >= MOST_RIVALS:
            note = f"More than {MOST_RIVALS} holders publish about {place}: say whom you trust (--trust)."
            return replace(answer, strangers=True, notes=(*answer.notes, note))
        rivals = []
        for key in others:
            reached = trusted_keys([key], self._kept.statements())
            if used <= reached.keys():
                continue
            view = View(self.source, self._kept, reached)
            estimate = self._in_population(answer.codes, place, view)
            if estimate is not None and not {r.id for r in estimate[1]} <= {r.id for r in answer.records}:
                rivals.append(self._answer(Answer(answer.codes, answer.population, *estimate[:2], size=answer.size), [], view))
        if not rivals:
            return answer
        names = ", ".join(sorted({r.holder for rival in rivals for r in rival.records if r.key not in used}))
        note = f"Others who do not vouch for these records publish about {place} too: {names}. Say whom you trust (--trust)."
        return replace(answer, rivals=tuple(rivals), notes=(*answer.notes, note))

    def _best(self, wanted: tuple[str, ...], people: Population, view: View, size: int | None) -> Answer | None:
        """The nearest answer that one view of the records gives, here or in a wider population."""
        for place in (people, *people.parents()):
            estimates = self._in_population(wanted, place, view)
            if estimates is None:
                continue
            fit, records, notes = estimates
            if place != people:
                fit = "parent population" if fit == "exact" else fit
                notes.append(f"Nothing is known about {people}; this is about {place}.")
            notes += view.notes()
            known = size if size is not None or place == people else view.size_of(people)
            return self._answer(Answer(wanted, people, fit, records, trust=dict(view.trust or {}), size=known), notes, view)
        return None

    def _in_population(
        self, wanted: tuple[str, ...], people: Population, view: View
    ) -> tuple[Fit, tuple[Record, ...], list[str]] | None:
        exact, known = view.topic(wanted, str(people)), view.codings(people)
        if not exact or any(record.counts is None for record in exact):
            counted = self._counted(wanted, [c for c in known if c != wanted], people, view)
            if counted:
                return "joint counts", counted, [f"Computed from the joint counts of {', '.join(counted[0].codes)}."]
        if exact:
            return "exact", exact, []
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
        fewer = sorted({shared(wanted, c) for c in known if len(c) > 1} - {()}, key=lambda p: (-len(p), p))
        parts = ((part, counted) for part in fewer if (counted := self._counted(part, known, people, view)))
        part, counted = next(parts, ((), ()))
        if counted and (not coarser or _cells(counted[0], part) >= coarser[0].summary.cells):
            return "coarser coding", counted, [f"Known only are {', '.join(part)}."]
        return ("coarser coding", coarser, [f"Known only as {', '.join(coarser[0].codes)}."]) if coarser else None

    def _counted(
        self, wanted: tuple[str, ...], codings: list[tuple[str, ...]], people: Population, view: View
    ) -> tuple[Record, ...]:
        """Records of these people whose joint counts fix or bound the answer."""
        for codes in codings:
            records = view.topic(codes, str(people)) if shared(wanted, codes) == wanted else ()
            if records and all(has_counts_for(record, wanted) for record in records):
                return records
        return ()

    def _nearest(self, codings: list[tuple[str, ...]], people: Population, view: View, *, finer: bool) -> tuple[Record, ...]:
        """Records of the coding that is least finer (fewest attributes, fewest cells), or least coarser (most of both)."""
        for length in sorted({len(c) for c in codings}, reverse=not finer):
            topics = [view.topic(c, str(people)) for c in codings if len(c) == length]
            sized = sorted((t for t in topics if t), key=lambda t: (t[0].summary.cells, t[0].codes))
            if sized:
                return sized[0 if finer else -1]
        return ()

    def _answer(self, answer: Answer, notes: list[str], view: View) -> Answer:
        records = answer.records
        quarrel = dispute(records) if answer.fit != "margins only" else None
        if quarrel is not None:
            notes.append(f"{len(quarrel.records)} holders publish different numbers; plan by the cautious one.")
        against = self._against(records, view)
        notes += self._doubts(records, against, view)
        shared = {r.holder for r in records[:5] if self._kept.namesakes(r.holder, r.key)}
        twice = "More than one key publishes under the name {}, or one that looks like it: compare the fingerprints."
        notes += map(twice.format, sorted(shared))
        doubted = tuple({other.id: other for _, other, _ in against}.values())
        siblings = cache(lambda: self._siblings(answer, view))
        return replace(answer, dispute=quarrel, notes=tuple(notes), siblings=siblings, doubted=doubted)

    def _siblings(self, answer: Answer, view: View) -> list[list[Record]]:
        """Records of the question in neighbouring populations, by whose word they are.

        Where nobody was named to trust: those of each holder of the wider record, else those of everybody.
        """
        if view.trust is None:
            keys = sorted({r.key for r in answer.records})
            own = [View(self.source, self._kept, {key: 0}).siblings(answer.codes, answer.population) for key in keys]
            if any(len(group) >= ENOUGH for group in own):
                return own
        return [view.siblings(answer.codes, answer.population)]

    def _against(self, records: tuple[Record, ...], view: View) -> list[tuple[Record, Record, str]]:
        """Records of the answer that cannot be true beside another of their population, with that one and a sentence."""
        against = []
        for record in records[:5]:
            people = str(record.population)
            others = [view.topic(c, people) for c in view.codings(record.population)[:50] if c != record.codes]
            against += [(record, other, words) for other, words in contradictions(record, [r for t in others for r in t])]
        return against

    def _doubts(self, records: tuple[Record, ...], against: list[tuple[Record, Record, str]], view: View) -> Iterator[str]:
        """Records that stand out from similar ones, or contradict others of their population."""
        for record in records[:5]:
            contradicted = next((words for mine, _, words in against if mine.id == record.id), None)
            for sentence in (self._odd(record, records, view), contradicted):
                if sentence:
                    yield f"The record of {record.holder} stands out. {sentence}"

    def _odd(self, record: Record, records: tuple[Record, ...], view: View) -> str | None:
        """A sentence when κ stands out; none where all neighbours lie closer together than what would be odd."""
        near = view.neighbours(record.codes, record.population.area)
        kappa, people = record.summary.statistics["kappa"].value, record.population.key
        if len(near) > 4 and len(records) == 1 and near.high - FLOOR <= kappa <= near.low + FLOOR:
            return None
        values = [k for p, k in near.all if p != people]
        values += [r.summary.statistics["kappa"].value for r in records if r.id != record.id and r.topic == record.topic]
        return outlier(record, values, _parent(record, view) if len(values) < 3 else None)


def _cells(record: Record, codes: tuple[str, ...]) -> int:
    """How many cells the joint counts of a record have in a coding."""
    cells = None if record.counts is None else record.counts.cells(codes)
    return 0 if cells is None else len(cells.people)


def _parent(record: Record, view: View) -> float | None:
    """κ of the same quasi-identifier in the nearest wider population."""
    for wider in record.population.parents():
        records = view.topic(record.codes, str(wider))
        if records:
            return records[0].summary.statistics["kappa"].value
    return None


@lru_cache(maxsize=64)
def own_records(codes: tuple[str, ...], people: Population) -> Answer | None:
    """What the records that come with Shoal say of the question: of these people, in another period if need be, or near them."""
    registry = Registry()
    records = registry.query(codes, people)
    if not records.records:
        places = dict.fromkeys(wider.place for wider in (people, *people.parents()))
        topics = ({p for p, _ in registry.source.topics(f"{place}@".casefold()) if p.startswith(f"{place}@")} for place in places)
        latest = max((Population.parse(p).period for p in next(filter(None, topics), ())), default=None)
        records = records if latest is None else registry.query(codes, replace(people, period=latest))
    while records.elsewhere and not records.near:  # the share by fewer attributes, or a coarser coding, is not larger
        fewer = shared(records.codes, records.best.codes)
        fewer = fewer if fewer != records.codes else tuple((*coarser(code), code)[0] for code in fewer)
        if fewer == records.codes:
            return None
        records = registry.query(fewer, records.population)
    return records if records.records else None


def _open(source: str | Path | RecordSource) -> RecordSource:
    """A database URL, an existing SQLite file, or a mirrored folder. Asking never makes a registry."""
    if not isinstance(source, str | Path):
        return source
    text = str(source)
    if not text:
        return BuiltIn()
    if text.startswith(("http://", "https://")):
        raise UsageError("questions need a copy.", hint="Run: shoal registry mirror FOLDER --registry ADDRESS")
    path = Path(text)
    if "://" in text or path.is_file():
        from shoal.registry.keep.store import Store

        return Store(text if "://" in text else f"sqlite:///{text}")
    if not path.exists():
        hint = "Name a mirrored folder, a SQLite file or a database URL."
        raise UnreadableError(f"registry '{path.name}' does not exist.", hint=hint)
    from shoal.registry.keep.heads import meet
    from shoal.registry.keep.mirror import Mirror

    mirror = Mirror(text).require_end()
    mirror.notes = meet(mirror)
    return mirror


@dataclass(frozen=True)
class Listed:
    """A population and the quasi-identifiers that records are about."""

    population: str
    codings: tuple[tuple[str, ...], ...]


def populations(source: Places, text: str = "", *, limit: int = 50) -> list[Listed]:
    """Populations whose name contains the text, small and capital letters alike, in order of their names.

    Without a text, the first of every country come first, so that a page of them shows what there is.
    """
    by_place: dict[str, list[tuple[str, ...]]] = {}
    for population, codes in topics_of(source, text, limit=limit * 40 if text else 100_000):
        by_place.setdefault(population, []).append(codes)
    if not text:
        seen: Counter[str] = Counter()
        rank = {}
        for p in sorted(by_place):
            country = p.partition("@")[0].partition("/")[0]
            rank[p] = (seen[country], country)
            seen[country] += 1
        first = sorted(by_place, key=lambda p: rank[p])[:limit]
        return [Listed(p, tuple(sorted(set(by_place[p])))) for p in sorted(first)]
    wide = sorted(by_place, key=lambda p: (p.count("/"), p))
    return [Listed(p, tuple(sorted(set(by_place[p])))) for p in wide[:limit]]


def next_steps(source: Places, people: Population) -> Iterator[str]:
    """Sentences about what is known nearby: other periods, other attributes, places of a like name."""
    here = [
        x
        for x in populations(source, f"{people.place}@")
        if Population.parse(x.population).place.casefold() == people.place.casefold()
    ]
    for listed in here[:3]:
        finest = [c for c in listed.codings if not any(compare(c, other) == "coarser" for other in listed.codings)]
        known = "; ".join(",".join(c) for c in finest[:4])
        if Population.parse(listed.population) == people:
            yield f"Of {listed.population} is known: {known}."
        else:
            yield f"Known is {listed.population} ({known})."
    if here:
        return
    last = people.place.rpartition("/")[2]
    alike = [x.population for x in populations(source, last, limit=3)] if len(last) > 2 else []
    if not alike:
        country = people.place.partition("/")[0]
        names = {Population.parse(p).place.rpartition("/")[2]: p for p, _ in source.topics(f"{country}/", limit=5000)}
        close = nearest(last, names)
        alike = [names[close]] if close else []
    if alike:
        yield f"Did you mean {', '.join(alike)}?"
    yield "See what is there: shoal registry list, shoal registry search NAME."
