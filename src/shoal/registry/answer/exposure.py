r"""How exposed is one person? The crowd that shrinks with every answer, from the records about one population.

A record of a public table holds the share of people with each answer; of another record only the typical share is known, the
chance S_2 that two people answer alike. With N people and shares s_1 … s_m the crowd is :math:`N\prod s_i` if the answers have
nothing to do with each other; under any dependence it lies between :math:`N\max(0,\sum s_i-(m-1))` and :math:`N\min s_i`
(Fréchet), each share taken at its end. The page in the browser does the same arithmetic in the same order
(``report/templates/exposed.js``). If a record has joint counts, the people with all of the answers are counted besides.

Where keys that nobody was asked to choose between say different things, the smallest share and the smallest population count,
and the grade is C; with anchors only the records of keys that they reach.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.find.answers import meant
from shoal.registry.answer.answer import UNKNOWN, Answer, one_of
from shoal.registry.answer.joint import ESTIMATED, fixed
from shoal.registry.answer.plain import codes_of, population_of
from shoal.registry.answer.query import Registry
from shoal.registry.answer.source import RecordSource
from shoal.registry.keep.builtin import KEY as BUILT_IN
from shoal.registry.records.counts import AGES, JointCounts
from shoal.registry.records.population import key_of
from shoal.registry.records.record import SHARE_STEP, Record, check_key
from shoal.registry.records.summary import summarize
from shoal.registry.records.trust import dispute, trusted_keys
from shoal.registry.records.vocabulary import attribute, label

_BANDS = (5, 10, 20)
_OLD = 80
"""Ages from which estimates of a population are hardly reliable."""
_NUMBER = re.compile(r"(\d+)")
Ends = tuple[float, float, float]
"""A number and its lower and upper end."""


@dataclass(frozen=True)
class Step:
    """One answer: its share, the crowd after it, and coarser answers with the crowd that they would leave."""

    code: str
    answer: str
    share: Ends
    crowd: Ends
    coarser: tuple[tuple[str, Ends], ...]


@dataclass(frozen=True)
class Exposure:
    """The crowd before any answer, after each, and what gave the person away most."""

    population: str
    people: Ends
    steps: tuple[Step, ...]
    most_telling: str | None
    grade: str
    unknown: bool = False
    """Whether the person named nobody to trust, and a record is signed by a key other than that of Shoal's own records."""
    counted: Ends | None = None
    """People with all of the answers, where joint counts have them: no answer is taken as independent of another."""
    estimated: bool = False
    """Whether those people were estimated, not counted."""

    @property
    def notes(self) -> tuple[str, ...]:
        return ((UNKNOWN,) if self.unknown else ()) + ((ESTIMATED,) if self.estimated else ())

    @property
    def best(self) -> tuple[Ends, str]:
        """The best that is known, and its grade: what was counted, else the crowd."""
        grade = self.grade if self.counted is None else "C" if self.unknown or self.estimated else "B"
        return self.counted or self.crowd, grade

    @property
    def crowd(self) -> Ends:
        return self.steps[-1].crowd if self.steps else self.people

    def to_json(self) -> dict[str, Any]:
        """As plain numbers, for comparison with the page."""
        steps = [
            {"code": s.code, "answer": s.answer, "share": list(s.share), "crowd": list(s.crowd),
             "coarser": [[text, list(crowd)] for text, crowd in s.coarser]}
            for s in self.steps
        ]  # fmt: skip
        return {"population": self.population, "people": list(self.people), "steps": steps, "crowd": list(self.crowd),
                "most_telling": self.most_telling, "grade": self.grade}  # fmt: skip


def exposure(
    source: RecordSource, population: str, answers: Sequence[tuple[str, str]], *, anchors: Iterable[str] = ()
) -> Exposure:
    """The crowd of somebody of a population who gives these answers, one after the other.

    An answer is the text that the record lists, or what it means in plain words (``34``, ``female``); where a record lists none,
    the empty text stands for a typical answer.
    ``anchors`` are public keys that the person trusts.

    >>> from shoal.registry.keep.builtin import BuiltIn
    >>> e = exposure(BuiltIn(), "UK/Leeds@2019", [("sex", "F"), ("age/years", "87")])
    >>> e.most_telling, round(e.crowd[0])
    ('age/years', 1126)
    """
    people, anchors = population_of(source, population), tuple(anchors)
    counts = _counting(source, anchors)
    codes = codes_of(source, [code for code, _ in answers], people)
    joint = _joint(source, str(people), counts)
    topics = [table for c in source.codings(str(people)) if len(c) == 1 and (table := counts(c, str(people)))]
    listed = {topic[0].codes[0] for topic in topics if any(r.shares for r in topic)}
    given = [c for c, (_, answer) in zip(codes, answers, strict=True) if answer and c not in listed]
    added = [] if joint is None else [c for c in given if fixed(joint, [c], estimates=True) is not None]
    topics = [t for t in topics if t[0].codes[0] not in added] + [[_margin(joint, c)] for c in added if joint is not None]
    place = place_data(topics, trusting=bool(anchors), joint=joint)
    answers = [(code, answer) for code, (_, answer) in zip(codes, answers, strict=True)]
    if place is None:
        raise UsageError("no single attribute is known about this population.", hint="See: shoal registry search NAME")
    if len({attribute(code) for code, _ in answers}) != len(answers):
        raise UsageError("an attribute is answered twice.", hint="Answer each once.")
    best = Registry(source, anchors=anchors).query(codes, people) if answers else None
    return _beside_counts(_exposure(str(people), place, answers), best)


def _joint(source: RecordSource, people: str, counts: Callable[[tuple[str, ...], str], list[Record]]) -> Record | None:
    """The record with joint counts of a population, if there is one that nobody disputes."""
    for codes in source.codings(people):
        tables = counts(codes, people) if len(codes) > 1 else []
        if len(tables) == 1 and tables[0].counts is not None and not tables[0].sampled:
            return tables[0]
    return None


def _beside_counts(exposure: Exposure, answer: Answer | None) -> Exposure:
    """The same with the people who give all of the answers, where joint counts that nobody disputes have them.

    An estimate of a cell may be off by half or twice; of people of 80 and older hardly anything is known.
    """
    given = {step.code: step.answer for step in exposure.steps}
    joint = answer.best if answer is not None and answer.settled and not answer.best.sampled else None
    people = joint.counts.people_with(given) if joint is not None and joint.counts is not None else None
    if answer is None or joint is None or people is None:
        return exposure
    value, old = max(1.0, people), any(code in AGES and _first(answer) >= _OLD for code, answer in given.items())
    cells = math.prod(len(listed) for code, listed in joint.counts.answers.items() if code not in given) if joint.counts else 1
    off = cells * joint.counts.off if joint.counts else 0  # of a rounded table
    ends = (value, max(1.0, value - off), value + off)
    if joint.estimated:
        ends = (value, 1.0 if old else max(1.0, value / 2), 2 * value)
    return replace(exposure, counted=ends, estimated=joint.estimated, unknown=exposure.unknown or answer.unknown)


def _counting(source: RecordSource, anchors: Iterable[str]) -> Callable[[tuple[str, ...], str], list[Record]]:
    """How the records of a topic are read that count for somebody who trusts these keys, or nobody in particular."""
    roots = [check_key(key) for key in anchors]
    trust = trusted_keys(roots, source.statements()) if roots else None
    return lambda codes, people: [r for r in source.topic(codes, people) if trust is None or r.key in trust]


def place_data(topics: Iterable[Sequence[Record]], *, trusting: bool, joint: Record | None = None) -> dict[str, Any] | None:
    """What the page needs of one population: its size, and for each attribute the shares or the typical share, and the source.

    ``topics`` are the records that count, attribute by attribute; ``trusting``: they are of keys that the person trusts. Where
    there are none, those that ``joint`` counts add up to.
    """
    known = sorted((topic for topic in topics if topic), key=lambda topic: topic[0].codes)
    if not known and joint is not None:
        known = [[_margin(joint, code)] for code in joint.codes]
    if not known:
        return None
    sizes = [r.summary for topic in known for r in topic]
    people = [min(s.size for s in sizes), min(s.size - s.slack for s in sizes), max(s.size + s.slack for s in sizes)]
    return {"people": [float(n) for n in people], "attributes": {topic[0].codes[0]: _about(topic, trusting) for topic in known}}


def _margin(joint: Record, code: str) -> Record:
    """What joint counts say of one attribute, as an unsigned record."""
    counts: Any = joint.counts
    counted, (listed,) = counts.table([code])
    people = counted.astype(np.int64)
    shares = {answer: round(float(n / people.sum()), 4) for answer, n in zip(listed, people, strict=True)}
    margin = JointCounts({code: listed}, tuple(people.tolist()))
    return replace(joint, codes=(code,), summary=summarize(people, len(people)), shares=shares, counts=margin, signature="")


def _about(topic: Sequence[Record], trusting: bool) -> dict[str, Any]:
    """One attribute: the cautious of the statements about it, whether it is in doubt, and whether nobody vouches for it."""
    record = one_of(topic)
    listed = [r.shares for r in topic if r.shares is not None]
    doubt = dispute(topic) is not None or any(shares != listed[0] for shares in listed) or any(r.estimated for r in topic)
    ends = [[min(1.0, math.exp(-h)) for h in (s.value, s.high, s.low)] for s in (r.summary.statistics["h2"] for r in topic)]
    typical = [min(e[0] for e in ends), min(e[1] for e in ends), max(e[2] for e in ends)] if doubt else ends[topic.index(record)]
    shares = {a: min(s[a] for s in listed if a in s) for s in listed for a in s} if listed else None
    holders = ", ".join(sorted({r.holder for r in topic})) if doubt else record.holder
    about = {"label": label(record.codes[0]), "holder": holders, "date": record.date, "source": record.source}
    unknown = not trusting and any(r.key != BUILT_IN for r in topic)
    return {**about, "typical": typical, "shares": shares, "doubt": doubt, "unknown": unknown}


def _exposure(population: str, place: dict[str, Any], answers: Sequence[tuple[str, str]]) -> Exposure:
    shares: list[Ends] = []
    steps = []
    for code, answer in answers:
        entry = place["attributes"].get(code)
        if entry is None:
            raise UsageError(f"nothing is known about '{code}' there.", hint=f"Known: {', '.join(place['attributes'])}.")
        answer = answer if entry["shares"] is None else meant(list(entry["shares"]), answer) or answer
        share = _share(entry, answer)
        wider = [(text, _crowd(place["people"], [*shares, s])) for text, s in _coarser(code, entry["shares"], answer)]
        shares.append(share)
        steps.append(Step(code, answer, share, _crowd(place["people"], shares), tuple(wider)))
    telling = min(range(len(shares)), key=lambda i: shares[i][0], default=None)
    unknown = any(place["attributes"][c]["unknown"] for c, _ in answers)
    known = all(place["attributes"][c]["shares"] is not None and not place["attributes"][c]["doubt"] for c, _ in answers)
    return Exposure(
        population, _ends(place["people"]), tuple(steps), None if telling is None else steps[telling].code,
        "B" if known and len(steps) < 2 and not unknown else "C", unknown,
    )  # fmt: skip


def _ends(values: Sequence[float]) -> Ends:
    return values[0], values[1], values[2]


def _share(entry: dict[str, Any], answer: str) -> Ends:
    """The share of people with an answer, within half a rounding step; the typical share where none are listed."""
    if entry["shares"] is None:
        return _ends(entry["typical"])
    if answer not in entry["shares"]:
        raise UsageError("this answer is not listed.", hint=f"Listed are, for instance: {', '.join(list(entry['shares'])[:3])}.")
    return _around(entry["shares"][answer], 1)


def _around(share: float, terms: int) -> Ends:
    half = terms * SHARE_STEP / 2
    return share, max(0.0, share - half), min(1.0, share + half)


def _crowd(people: Sequence[float], shares: Sequence[Ends]) -> Ends:
    """People alike, oneself included: if answers are independent, at least, and at most."""
    value, low, high = people[0], 0.0, 1.0
    for share in shares:
        value *= share[0]
        low += share[1]
        high = min(high, share[2])
    least = people[1] * max(0.0, low - (len(shares) - 1))
    return max(1.0, value), max(1.0, least), max(1.0, people[2] * high)


def _coarser(code: str, shares: dict[str, float] | None, answer: str) -> list[tuple[str, Ends]]:
    """Coarser answers with their shares: wider bands of age, the first digits of a postcode."""
    if shares is None:
        return []
    if code in AGES:
        age = _first(answer)
        bands = [range(age // w * w, age // w * w + w) for w in _BANDS if w > AGES[code]]
        return [_join_answers(f"{b[0]}-{b[-1]}", [a for a in shares if _first(a) in b], shares) for b in bands]
    if code.startswith("postcode/"):
        starts = [answer[: len(answer) - cut] for cut in (1, 2) if len(answer) > cut]
        return [_join_answers(f"{start}…", [a for a in shares if a.startswith(start)], shares) for start in starts]
    return []


def _join_answers(text: str, answers: list[str], shares: dict[str, float]) -> tuple[str, Ends]:
    """Several answers as one, added up in the order that the page adds them."""
    total = 0.0
    for answer in sorted(answers, key=lambda a: (_first(a), a)):
        total += shares[answer]
    return text, _around(min(1.0, total), len(answers))


def _first(answer: str) -> int:
    """The first number in an answer: the low end of a band."""
    match = _NUMBER.match(answer)
    return int(match[1]) if match else -1


def places_of(source: RecordSource, *, most: int = 20_000, anchors: Iterable[str] = ()) -> dict[str, Any]:
    """Everything that the page needs, by population; of at most so many records, of the keys that the anchors reach or of all."""
    anchors = tuple(anchors)
    counts = _counting(source, anchors)
    places: dict[str, list[list[Record]]] = {}
    for population, codes in sorted(set(source.topics("", limit=most))):
        if len(codes) == 1 and (records := counts(codes, population)):
            places.setdefault(key_of(population), []).append(records)
    for population in sorted({p for p, _ in source.topics("", limit=most) if key_of(p) not in places}):
        joint = _joint(source, population, counts)
        if joint is not None and not joint.estimated:  # of estimates the page could say nothing for sure
            places[key_of(population)] = [[_margin(joint, code)] for code in joint.codes]
    named = ((str(topics[0][0].population), place_data(topics, trusting=bool(anchors))) for topics in places.values())
    return {name: data for name, data in sorted(named) if data is not None}
