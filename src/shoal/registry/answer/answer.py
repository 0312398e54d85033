"""An answer of a registry: the records found, how well they fit the question, and the prediction that rests on them."""

from __future__ import annotations

import math
import statistics as stats
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.registry.answer import analyse, estimate, joint
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record
from shoal.registry.records.trust import Dispute, dispute
from shoal.registry.records.vocabulary import MOST_VALUES, compare, most_merged

Fit = Literal["exact", "joint counts", "finer coding", "coarser coding", "parent population", "margins only", "nothing"]


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
    doubted: tuple[Record, ...] = ()
    """Records of the population, in other codings, that cannot be true beside these."""
    strangers: bool = False
    """Whether the asker named whom to trust, and nobody of them publishes anything about it."""
    unknown: bool = False
    """Whether the asker named nobody to trust, and a record is signed by a key other than that of Shoal's own records."""
    own: Callable[[tuple[str, ...], Population], Answer | None] | None = field(default=None, repr=False, compare=False)
    """Finds what Shoal's own records say of the question, where those used are of an unknown key."""
    rivals: tuple[Answer, ...] = ()
    """What holders say about the same people who do not vouch for these records, where the asker named nobody to trust."""
    siblings: Callable[[], list[list[Record]]] = field(default=list, repr=False, compare=False)
    """Records of the same quasi-identifier in neighbouring populations, by holder: read when a wider one stands in."""
    size: int | None = None
    """How many people the population has, where that is known though its record is missing."""

    @property
    def best(self) -> Record:
        """The record to plan by: the cautious one in a dispute, else the most exact, else the newest."""
        if not self.records:
            hint = "Ask a coarser coding or a wider population."
            raise UsageError("the registry knows nothing about this question.", hint=hint)
        if self.dispute is not None:
            return self.dispute.cautious
        return max(self.records, key=_exact_and_new)

    @property
    def judged(self) -> tuple[Record, ...]:
        """The records that a prediction rests on: all sides of a dispute, else the best."""
        return self.dispute.records if self.dispute is not None else (self.best,)

    @property
    def elsewhere(self) -> bool:
        """Whether the records are about a wider population than was asked for."""
        return any(r.population != self.population for r in self.records)

    @property
    def near(self) -> list[list[Record]]:
        """Records of the question in neighbouring populations, as far as there are enough."""
        return [group for group in self.siblings() if len(group) >= ENOUGH]

    @property
    def settled(self) -> bool:
        """Whether it is about exactly the question, and nobody says otherwise."""
        doubt = self.dispute or self.doubted or self.rivals or self.strangers or self.elsewhere
        return not doubt and self.fit in ("exact", "joint counts")

    @property
    def people(self) -> int | None:
        """How many people the population has at least, where a record is about it."""
        own = [r for r in self.records if r.population == self.population]
        return min((r.summary.fewest if r.counts is None else sum(r.counts.people) for r in own), default=None)

    def unique_share(self, group_size: int, target: float | None = None) -> Estimate:
        """Expected share of unique people, with its direction of error where the record is not the one asked for.

        Where another record of the population contradicts it, the cautious one of both, and likewise where holders who do not
        vouch for each other answer: nobody's word is taken over another's. A stranger's record bounds nothing, and the word of an
        unknown key alone puts nothing within a ``target``. What is assumed of the oldest may, at grade C
        (:func:`.joint.held_against`).
        """
        share = self._of_records(group_size, target)
        for other in self.doubted:
            share = self._beside(share, other, group_size)
        if self.rivals:
            every = [share, *(rival.unique_share(group_size, target) for rival in self.rivals)]
            options = "Holders who do not vouch for each other publish about these people: the cautious value of all."
            low, high = min(e.low for e in every), max(e.high for e in every)
            value = max(e.value for e in every)
            share = replace(
                share, value=value, low=low, high=high, grade="C", level=min(e.level for e in every), log_value=None,
                notes=(*share.notes, options), details={},
            )  # fmt: skip
        if self.strangers:
            return _again(share, 0.0, 1.0, "Nobody you trust vouches for it: anything is possible.")
        own = self.own(self.codes, self.population) if self.own is not None else None
        if own is not None:
            share = self._bounded(share, own, own.unique_share(group_size, target))
        if self.unknown and target is not None and share.high <= target and (own is None or _least(own)):
            sentence = f"{BY_WORD} at most {share.high:.1%}, which puts nothing within a target."
            share = replace(share, high=1.0, notes=(*share.notes, sentence), details={})
        return self.graded(share)

    def _bounded(self, share: Estimate, own: Answer, alone: Estimate) -> Estimate:
        """What an unknown key says beside what Shoal's own records say: it takes no proof away, and the cautious value stands.

        Of fewer attributes they give a lower end only; of another period, or of neighbours, they prove nothing.
        """
        here, least = own.population == self.population and not own.elsewhere, own.fit == "coarser coding"
        about = "" if own.population == self.population else f" in {own.population.period}"
        about += (
            "" if own.codes == self.codes and not least else f" by {', '.join(own.codes if own.elsewhere else own.best.codes)}"
        )
        sentence = f"{OWN} {alone.value:.1%}, between {alone.low:.1%} and {alone.high:.1%}{about}."
        high, value = alone.high, alone.value
        if _least(own):
            sentence, high, value = f"{LEAST} {alone.low:.1%}{about}.", alone.low, alone.low
        low = max(share.low * least, alone.low) if here and (least or alone.grade == "B") else min(share.low, alone.low)
        high, value = max(share.high, high), max(share.value, value)
        kept = {key: what for key, what in share.details.items() if key == "neighbours"}
        return replace(share, value=value, low=low, high=high, log_value=None, notes=(*share.notes, sentence), details=kept)

    def most_beside(self, group_size: int, room: float) -> float:
        """The largest share if further questions are asked that have so many answers together."""
        if not self.settled or any(r.counts is None for r in self.judged):
            return 1.0
        return max(joint.unique_share(r, group_size, self.codes, room=room).high for r in self.judged)

    def graded(self, estimate: Estimate) -> Estimate:
        """The same with grade C where the word of an unknown key is all there is."""
        return replace(estimate, grade="C", notes=(*estimate.notes, UNKNOWN)) if self.unknown else estimate

    def _beside(self, share: Estimate, other: Record, group_size: int) -> Estimate:
        """The share when it is open which of two records is true: a finer one bounds it from above, a coarser one from below."""
        beside = joint.unique_share(other, group_size)
        finer = compare(other.codes, self.codes) == "finer"
        high = max(share.high, beside.high) if finer else 1.0
        wider = replace(share, value=max(share.value, beside.value), low=0.0, high=high, log_value=None)
        options = "Records contradict each other: the cautious value."
        return _again(wider, 0.0, high, *(() if options in share.notes else (options,)))

    def _of_records(self, group_size: int, target: float | None) -> Estimate:
        if self.fit == "margins only":
            share = analyse.combine([r.summary for r in self.records], group_size)
        else:
            own = [joint.unique_share(r, group_size, joint.shared(self.codes, r.codes)) for r in self.judged]
            share = self.cautious([joint.held_against(one, target) for one in own])
        if self.elsewhere:
            return self._from_neighbours(share, group_size)
        if self.fit == "finer coding":
            return self._merged(share, group_size)
        if self.fit == "coarser coding":
            return _again(share, share.low, 1.0, "The record is coarser than asked: a lower bound.")
        return share

    def _merged(self, share: Estimate, group_size: int) -> Estimate:
        """The share in a coarser coding than the record's: the value if every cell merges evenly, and proven bounds.

        From above: the share of the finer coding, and what the number of cells of the coding allows. From below: of a group of k,
        m cells merged give a chance of being alone of at least 1 − (k − 1) m S_2 on average, as (Σp)² ≤ m Σp².
        """
        cells = math.prod(MOST_VALUES.get(c, math.inf) for c in self.codes)
        lows, values, highs = [], [], []
        for record in self.judged:
            merged, summary = most_merged(self.codes, record.codes), record.summary
            larger = merged * (group_size - 1) + 1
            alike = min(1.0, math.exp(-summary.statistics["h2"].low))
            lows.append(0.0 if record.sampled or merged == math.inf else max(0.0, 1 - (group_size - 1) * merged * alike))
            inside = larger <= summary.fewest
            values.append(analyse.unique_share(summary, int(larger), sampled=record.sampled).value if inside else 0.0)
            highs.append(1.0 if record.sampled else analyse.most_unique(min(cells, summary.cells), summary.fewest, group_size))
        low, high = min(lows), min(share.high, max(highs))
        value = min(max(low, *values), high)
        note = "The record is finer than asked: bounds, and the value if its cells merge evenly."
        return replace(share, value=value, low=low, high=high, grade="C", log_value=None, notes=(*share.notes, note))

    def cautious(self, every: Sequence[Estimate], pick: Callable[[Iterable[float]], float] = max) -> Estimate:
        """One estimate for all sides of a dispute: the cautious value, and the ends of all of them; grade C."""
        if len(every) == 1:
            return every[0]
        return replace(
            max(every, key=lambda e: e.grade),
            grade="C",
            value=pick(e.value for e in every),
            low=min(e.low for e in every),
            high=max(e.high for e in every),
            log_value=None,
            notes=(*every[0].notes, "Holders disagree: the cautious value."),
            details={},
        )

    def _from_neighbours(self, share: Estimate, group_size: int) -> Estimate:
        """A wider population proves of a part only how many can be alone; neighbours give a calibrated interval."""
        ceiling = estimate.most_alone(self._cells(), group_size)
        groups = self.near
        if not groups:
            note = f"The record is of a wider population: of this one anything between 0% and {ceiling:.0%} is possible."
            wide = replace(share, value=min(share.value, ceiling), low=0.0, high=ceiling, log_value=None)
            return replace(wide, grade="C", notes=(*share.notes, note), details={})
        near = [[joint.unique_share(r, group_size) for r in group] for group in groups]
        neighbours = [
            estimate.estimate(shares, [r.summary.size for r in group], self.size)
            for shares, group in zip(near, groups, strict=True)
        ]
        values = [e.value for shares in near for e in shares]
        middle = min(max(f.value for f in neighbours), ceiling)
        low, high = min(f.low for f in neighbours), max(f.high for f in neighbours)
        by_size = any(f.by_size for f in neighbours)
        lowest, half, highest = min(values), min(stats.median(values), ceiling), max(values)
        notes = [
            "The record is of a wider population, which proves nothing of this one.",
            f"Of {len(values)} neighbouring populations the lowest has {lowest:.1%}, the middle {half:.1%}, "
            f"the highest {highest:.1%}.",
            f"An estimate from them{' and from its size' if by_size else ''}: the interval holds for {estimate.LEVEL:.0%} of "
            "places that are like their neighbours.",
        ]
        if not {r.key for g in groups for r in g} & {r.key for r in self.records}:
            notes.append("The neighbours' records are of other holders than the wider one.")
        details = {"neighbours": {"populations": len(values), "low": lowest, "middle": half, "high": highest}}
        return replace(
            share, value=middle, low=min(low, middle), high=max(middle, min(high, ceiling)), level=estimate.LEVEL, grade="C",
            log_value=None, method=f"neighbouring populations{' by size' if by_size else ': their median'}",
            notes=(*share.notes, *notes), details=details,
        )  # fmt: skip

    def _cells(self) -> float:
        """Cells of the question, as far as complete records of a wider population tell: nobody is in another one."""
        if self.fit == "coarser coding" or any(r.sampled for r in self.records):
            return math.inf
        if self.fit == "margins only":
            return math.prod(r.summary.cells for r in self.records)
        if self.fit == "joint counts":
            return math.prod(MOST_VALUES.get(c, math.inf) for c in self.codes)
        return max(r.summary.cells for r in self.judged)


BY_WORD = "By the word of a key that you did not name"
OWN, LEAST = "By Shoal's own records alone:", "By Shoal's own records at least"
UNKNOWN = "You named no key that you trust, so this rests on the holder's word alone: grade C. Name the key with --trust."
ENOUGH = 5
"""Neighbouring populations from which a likelier value is given."""


def _least(own: Answer) -> bool:
    """Whether Shoal's own records of these people give a lower end only, being of fewer attributes."""
    return own.fit == "coarser coding" and not own.elsewhere


def _again(base: Estimate, low: float, high: float, *notes: str) -> Estimate:
    """The same value within wider bounds: grade C."""
    return replace(base, low=min(low, base.value), high=max(high, base.value), grade="C", notes=(*base.notes, *notes))


def _exact_and_new(record: Record) -> tuple[float, str, int, str]:
    """Which of several records that agree is taken: the one with the smallest steps, so that a vague one settles nothing."""
    return -sum(r.step for r in record.summary.statistics.values()), record.date, record.version, record.id


def one_of(records: Sequence[Record]) -> Record:
    """One record of a topic: the cautious one in a dispute, else the most exact, else the newest."""
    quarrel = dispute(records)
    return quarrel.cautious if quarrel else max(records, key=_exact_and_new)


def shown(answer: Answer) -> dict[str, Any]:
    """An answer as JSON: the question, how well it fits, the records, a dispute with both values, and notes."""
    quarrel = answer.dispute
    return {
        "attributes": list(answer.codes),
        "population": str(answer.population),
        "fit": answer.fit,
        "best": answer.best.id if answer.records else None,
        "records": [r.to_json() for r in answer.records],
        "others": sorted({r.id for rival in answer.rivals for r in rival.records} - {r.id for r in answer.records}),
        "dispute": None
        if quarrel is None
        else {"holders": [r.holder for r in quarrel.records], "spread": dict(quarrel.spread), "cautious": quarrel.cautious.id},
        "trust": dict(answer.trust),
        "notes": list(answer.notes),
    }


def analysed(answer: Answer, group_size: int) -> dict[str, Any]:
    """Predictions for a group: the share unique and how many; from a record of these very people also the rest.

    That is: everybody unique, the crowd, the smallest group. In a dispute each is the cautious one
    of all sides: most unique, likeliest that nobody is alike, smallest crowd.
    """
    out = {"attributes": list(answer.codes), "population": str(answer.population), "fit": answer.fit, "group_size": group_size}
    if not answer.records:
        return {**out, "notes": ["Nothing is known.", *answer.notes], "unique_share": None}
    share = answer.unique_share(group_size)
    out |= {"unique_share": share.to_json(), "unique_people": share.value * group_size, "notes": [*answer.notes, analyse.AVERAGE]}
    judged = [(joint.fixed(r, answer.codes) if r.counts else r.summary, r.sampled) for r in answer.judged]
    known = [(summary, sampled) for summary, sampled in judged if summary is not None]
    own = answer.fit in ("exact", "joint counts") and not answer.elsewhere and len(known) == len(judged)
    bounded = any(note.startswith((OWN, LEAST)) for note in share.notes)
    if own and not bounded and not answer.doubted and not answer.strangers and not answer.rivals:
        crowds = [analyse.expected_crowd(summary, group_size, sampled=sampled) for summary, sampled in known]
        alike = [analyse.everybody_unique(summary, group_size, sampled=sampled) for summary, sampled in known]
        smallest, sentence = analyse.smallest_group(share, group_size)
        out |= {
            "everybody_unique": answer.graded(answer.cautious(alike)).to_json(),
            "expected_crowd": answer.graded(answer.cautious(crowds, min)).to_json(),
            "smallest_group": {"size": smallest, "sentence": sentence},
        }
    return out
