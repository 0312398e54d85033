"""From numbers to a decision: collect, collect in bands, do not collect, or not known.

Every set of codes is tried, those that keep most attributes first, then those that are coarsened least; the best three within the
target are offered. Of very many sets those are left out that coarsen the attributes with most codings least, but not at all.

What is dropped is called "do not collect" only where it is proven that even its coarsest coding exceeds the target; otherwise the
answer is "not known", and which record would tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from math import prod
from typing import Any, Literal

from shoal.errors import UsageError
from shoal.model.display import as_percent, at_most
from shoal.model.estimate import Estimate
from shoal.prediction.questionnaire.meter import about_percent, confidence, fewest, verdict
from shoal.registry.answer.answer import BY_WORD
from shoal.registry.answer.plain import codes_of, population_of
from shoal.registry.answer.query import Registry
from shoal.registry.records.population import Population, place_names
from shoal.registry.records.vocabulary import attribute, canonical, coarser, compare, label

OFFERED = 3
"""Sets of codes that are offered."""
MOST_SETS = 300
"""Sets of codes that are tried at most, as long as each attribute has more than two codings left."""
ABOUT = 0.2
"""A share is given as one number if its ends lie within this part of it."""
Advice = Literal["collect", "band", "do not collect", "not known"]


@dataclass(frozen=True)
class Line:
    """The advice for one attribute and the codes it went through."""

    asked: str
    advice: Advice
    code: str | None
    reason: str


@dataclass(frozen=True)
class Decision:
    """Advice per attribute, the prediction that results, and a paragraph for the information letter."""

    population: Population
    group_size: int
    target: float
    before: Estimate
    after: Estimate | None
    lines: tuple[Line, ...]
    reached: bool
    log: tuple[str, ...]
    sets: tuple[tuple[tuple[str, ...], Estimate], ...] = ()
    """The best sets of codes within the target, the one advised first."""
    enough: int | None = None
    """The fewest people with whom the codes asked for are within the target; None if no number is known to do."""
    enough_grade: str = ""
    """The grade of that number."""
    evidence: str = ""
    """What the share of the codes asked for rests on: how the records fit the question."""

    @property
    def verdict(self) -> str:
        """Whether the planned questions are ``within`` the target or ``beyond`` it; else ``not known``."""
        return verdict(self.before, self.target)

    @property
    def place(self) -> str:
        """The place in words."""
        place = self.population.place
        return next(iter(place_names().get(place, ())), place.rpartition("/")[2])

    @property
    def sentence(self) -> str:
        """What the codes asked for would do, and what to ask instead."""
        asked, people = words(x.asked for x in self.lines), f"{self.group_size:,} people of {self.place}"
        between = f"between {as_percent(self.before.low)} and {as_percent(self.before.high)}"
        target, sure = as_percent(self.target), confidence(self.before)
        if self.verdict == "within":
            return f"Within the target of {target}: by {asked}, {at_most(self.before.high)} of {people} are unique{sure}."
        if self.verdict == "beyond":
            text = f"Beyond the target of {target}: {asked} make {share_words(self.before)} of {people} unique{sure}."
        else:
            text = f"Not known whether the target of {target} is met: by {asked}, {between} of {people} are unique."
        for codes, share in self.sets[:1]:
            most = f"{at_most(share.high)}{confidence(share)}"
            text += f" Ask for {words(codes)}: {', '.join(dict.fromkeys((about_percent(share.value), most)))}."
        return text

    @property
    def how_many(self) -> str:
        """How many people to ask: more people are more people alike, so there is no largest number, but a smallest."""
        asked, target = words(x.asked for x in self.lines), as_percent(self.target)
        if self.enough is None:
            return f"No number of respondents is known with which {asked} stay within {target}."
        grade = " (grade C)" if self.enough_grade == "C" else ""
        return f"By {asked}, {target} holds from {self.enough:,} respondents on{grade}; more respondents make the share smaller."

    @property
    def letter(self) -> str:
        """A paragraph for the people who will be asked."""
        kept = [label(x.code) for x in self.lines if x.code is not None]
        narrower = [label(x.asked) for x in self.lines if x.advice == "band"]
        left = [label(x.asked) for x in self.lines if x.code is None]
        text = f"We ask {self.group_size:,} people of {self.place} for: {', '.join(kept) or 'none of what was planned'}."
        if narrower:
            text += f" We decided not to ask for more detail ({', '.join(narrower)})."
        if left:
            text += f" We decided not to ask for: {', '.join(left)}."
        if self.after is not None:
            about, most = (_people(share, self.group_size) for share in (self.after.value, self.after.high))
            text += f" With these answers {about} of the {self.group_size:,} are expected to be the only one of their kind,"
            text += f" and, as far as is known, not more than {most} (grade {self.after.grade})."
        return text

    def to_json(self) -> dict[str, Any]:
        return {
            "population": str(self.population),
            "group_size": self.group_size,
            "target": self.target,
            **{name: getattr(self, name) for name in ("reached", "verdict", "evidence", "sentence", "how_many", "enough")},
            "sets": [{"codes": list(codes), "unique": share.to_json()} for codes, share in self.sets],
            "before": self.before.to_json(),
            "after": self.after.to_json() if self.after else None,
            "advice": [asdict(line) for line in self.lines],
            "log": list(self.log),
            "letter": self.letter,
        }


def decide(
    registry: Registry, codes: Iterable[str], population: str | Population, *, group_size: int, target: float = 0.05
) -> Decision:
    """Advice on what to collect so that at most ``target`` of the group is expected to be unique.

    The upper end of each prediction is held against the target: what is not known well enough does not pass. Plain words do:
    ``Amsterdam``, ``age``, ``sex=female`` (:func:`.plain.codes_of`).
    """
    if not 0 < target < 1:
        raise UsageError("the target is a share between 0 and 1.", hint="Pass 0.05 for five in a hundred.")
    people = population if isinstance(population, Population) else population_of(registry.source, population)
    wanted = canonical(codes_of(registry.source, codes, people))
    codings = (coding for p in (people, *people.parents()) for coding in registry.source.codings(str(p)))
    own = frozenset(code for coding in codings for code in coding if code.startswith("x/"))  # the only levels of own codes
    search = _Search(registry, people, group_size, target, own)
    asked = registry.query(wanted, people)
    if not asked.records:
        hint = " ".join(asked.notes) or "Query them one by one to see what it knows."
        raise UsageError("the registry knows nothing about these attributes.", hint=hint)
    first = asked.unique_share(group_size, target)
    log = [f"{', '.join(wanted)}: {_say_bound(first)}"]
    ladders = [(code, *coarser(code, search.levels)) for code in wanted]
    while prod(len(ladder) + 1 for ladder in ladders) > MOST_SETS and (longest := max(ladders, key=len))[2:]:
        ladders[ladders.index(longest)] = (longest[0], *longest[2:])
    sets = search.every(ladders)
    now, share = sets[0] if sets else ((), None)
    log += [f"{', '.join(codes)}: {_say_bound(one)}" for codes, one in sets if codes != wanted]
    if not sets:
        log.append("No set of them is known to be within the target.")
    lines = tuple(search.line(code, now) for code in wanted)
    most = asked.people
    enough = fewest(lambda groups: [asked.unique_share(k, target).high for k in groups], most, target) if most else None
    grade = asked.unique_share(enough, target).grade if enough else ""
    return Decision(
        people, group_size, target, first, share, lines, share is not None, tuple(log), tuple(sets), enough, grade, asked.fit
    )


@dataclass(frozen=True)
class _Search:
    """Sets of codes about one population, judged for one group and target; ``levels`` are own codes that are known."""

    registry: Registry
    people: Population
    group_size: int
    target: float
    levels: frozenset[str]

    def share(self, codes: Iterable[str]) -> Estimate | None:
        """The expected share of unique people; None where nothing is known."""
        answer = self.registry.query(codes, self.people)
        return answer.unique_share(self.group_size, self.target) if answer.records else None

    def every(self, ladders: Sequence[tuple[str, ...]]) -> list[tuple[tuple[str, ...], Estimate]]:
        """The best sets within the target: most attributes first, then fewest steps; none that is coarser than one before it."""
        sets: list[tuple[tuple[str, ...], Estimate]] = []
        for kept in range(len(ladders), 0, -1):
            for some in combinations(ladders, kept):
                for steps in sorted(product(*(range(len(ladder)) for ladder in some)), key=lambda s: (sum(s), s)):
                    codes = tuple(ladder[step] for ladder, step in zip(some, steps, strict=True))
                    if any(compare(tuple(sorted(codes)), tuple(sorted(other))) == "coarser" for other, _ in sets):
                        continue
                    share = self.share(codes)
                    if share is not None and share.high <= self.target:
                        sets.append((codes, share))
                    if len(sets) == OFFERED:
                        return sets
        return sets

    def line(self, code: str, kept: Sequence[str]) -> Line:
        """The advice for one attribute, given the codes that are kept."""
        got = next((c for c in kept if attribute(c) == attribute(code)), None)
        if got is not None:
            asked = Line(code, "collect", code, "fine as asked")
            return asked if got == code else Line(code, "band", got, f"coarsened from {code}")
        coarsest = (code, *coarser(code, self.levels))[-1]
        unknown, least = "", 0.0
        for others in _ladder(kept, self.levels):
            both = sorted([*others, coarsest])
            share = self.share(both)
            if share is not None and share.high <= self.target:
                most = f"{_beside(others, coarsest)} at most {share.high:.1%} are unique"
                return Line(code, "do not collect", None, f"{most}; with more detail that is not shown")
            if share is not None and share.low > self.target:
                least = share.low
            elif not unknown:
                unknown = f"{_beside(others, coarsest)} {self._open(share, both)}"
        if unknown:
            return Line(code, "not known", None, unknown)
        return Line(code, "do not collect", None, f"even {_beside(others, coarsest)} at least {least:.1%} are unique")

    def _open(self, share: Estimate | None, codes: Sequence[str]) -> str:
        """What is not known of a set of codes, and what would tell."""
        would = f"a record of {', '.join(codes)} in {self.people} would tell"
        if share is None:
            return f"nothing is published; {would}"
        if any(note.startswith(BY_WORD) for note in share.notes):
            return "there is only the word of a key that you did not name; naming it with --trust would tell"
        return f"between {share.low:.1%} and {share.high:.1%} are unique; {would}"


def words(codes: Iterable[str]) -> str:
    """Codes in words, as a list.

    >>> words(["age/10y", "sex"]), words(["age/10y", "postcode/NL/pc4", "sex"])
    ('age in bands of ten years and sex', 'age in bands of ten years, the digits of the postcode and sex')
    """
    *most, last = [label(code) for code in codes] or ["nothing"]
    return f"{', '.join(most)} and {last}" if most else last


def share_words(share: Estimate) -> str:
    """A share as exactly as it is known.

    >>> [share_words(Estimate(v, low, high, method="")) for v, low, high in ((0.5, 0.49, 0.52), (0.5, 0.5, 1.0), (0.5, 0.1, 0.6))]
    ['about 50 %', 'at least 50 %', 'between 10 % and 60 %']
    """
    if share.high - share.low <= ABOUT * share.value:
        return about_percent(share.value)
    if share.high >= 1:
        return f"at least {as_percent(share.low)}"
    return f"between {as_percent(share.low)} and {as_percent(share.high)}"


def _people(share: float, group_size: int) -> str:
    """A share of a group, in people and in a hundred.

    >>> _people(0.123, 200), _people(0.001, 200)
    ('about 25 (12.3%)', 'hardly anybody (0.1%)')
    """
    number = share * group_size
    return f"about {number:,.0f} ({share:.1%})" if number >= 1 else f"hardly anybody ({share:.1%})"


def _say_bound(e: Estimate) -> str:
    if e.grade == "C" and e.low == 0:
        return f"at most {e.high:.1%} unique (grade C)"
    return f"{e.value:.1%} unique (between {e.low:.1%} and {e.high:.1%}, grade {e.grade})"


def _ladder(codes: Sequence[str], levels: frozenset[str]) -> Iterator[list[str]]:
    """The codes, then all of them one step coarser, as far as any of them goes."""
    now = list(codes)
    yield now
    while any(coarser(c, levels) for c in now):
        now = [(*coarser(c, levels), c)[0] for c in now]
        yield now


def _beside(others: Sequence[str], code: str) -> str:
    return f"with {code} beside {', '.join(others)}" if others else f"with {code} alone"
