r"""The questionnaire meter: how identifying will these questions be, before anyone is asked.

Each question has a distribution of answers; linked questions a joint one. The share of respondents expected to be one of a
kind is :math:`E(1-p(X))^{n-1}` over the product of all of them, summed exactly when small and by log-grid convolution (with its
error) when the combinations are astronomically many. What independence cannot promise, the range says.

Takes    questions, population, respondents, links
Returns  :class:`.Meter`, and by :meth:`Questionnaire.suggest` the cheapest change that reaches the target
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.errors import UsageError, missing_column
from shoal.find.answers import meant
from shoal.model.display import as_percent
from shoal.model.estimate import Estimate, Grade
from shoal.prediction.attributes.correlation import rho_for_information
from shoal.prediction.distribution import Distribution, Floats, fraction, whole
from shoal.prediction.group.uniqueness import Degradation, degradation
from shoal.prediction.population.class_size_models import SampledClasses
from shoal.prediction.population.pilot import Pilot
from shoal.prediction.population.without_model import SEEN, unique_share_range
from shoal.prediction.questionnaire import meter as _meter
from shoal.prediction.questionnaire import questions as _blocks
from shoal.prediction.questionnaire.branches import Branches
from shoal.prediction.questionnaire.meter import Block, Meter, WaterfallStep
from shoal.prediction.questionnaire.questions import Flag, Piece, Question, QuestionBlock, share_range, whole_question
from shoal.prediction.questionnaire.suggest import Suggestion, single_changes, suggest, suggestions
from shoal.prediction.summaries.published import PublishedSummary, shape_with_kappa

ROLES = ("quasi", "undecided", "sensitive", "insensitive")
"""Roles of questions. The first two count: a question of which nobody knows whether others know the answer counts."""
COUNTED = ROLES[:2]
APART = ("name", "place")
"""Kinds of flagged questions that are kept apart from the answers."""
LARGER = (2, 3, 4, 6, 8, 12, 16, 24, 32)
"""How many times larger the pilots are that are tried to decide what one left open."""
TOGETHER = ("exact", "joint counts")
"""How records fit that are about all of the questions together, of exactly these people."""
PILOTS = (50, 100, 200, 300, 500, 1000, 2000, 5000, 10_000, 20_000)
"""Sizes of pilots that are tried to decide what nothing is known about."""
MARGIN = 0.02
"""A joint table and the questions' own shares may differ by this much: they come from different sources."""


class Questionnaire:
    """Questions, who could be asked, and how many answer.

    >>> q = Questionnaire(population=100_000, respondents=500, target=0.05)
    >>> _ = q.add("age", values=80, ordered=True, band=1, unit="year").add("sex", shares=[0.51, 0.49])
    >>> m = q.meter()
    >>> round(m.unique.value, 4), m.unique.grade, m.light
    (0.0438, 'C', 'amber')
    >>> [s.question for s in m.waterfall]
    ['age', 'sex']
    """

    def __init__(
        self,
        *,
        population: int,
        respondents: int | None = None,
        target: float = 0.05,
        small_group: int = 5,
        independence_known: bool = False,
    ) -> None:
        self.population = whole(population, what="population", least=1)
        self.respondents = self.population if respondents is None else whole(respondents, what="respondents", least=1)
        if self.respondents > self.population:
            hint = "The population is everybody who could be asked."
            raise UsageError(f"{self.respondents} respondents are more than the population of {self.population}.", hint=hint)
        self.target = fraction(target, what="target")
        self.small_group = whole(small_group, what="small_group", least=1)
        self.independence_known = independence_known
        self.questions: dict[str, Question] = {}
        self.links: list[dict[str, Any]] = []
        self.subgroups: tuple[str, ...] = ()
        self.flags: tuple[Flag, ...] = ()
        self.ignored: dict[str, str] = {}
        self.texts: dict[str, str] = {}  # what a question asks, if its name is not the text
        self.notes: tuple[str, ...] = ()
        self.pilot: Pilot | None = None
        self.published: dict[frozenset[str], PublishedSummary] = {}
        self.by_place: tuple[str, ...] = ()  # questions that the counts of a place would give the shares of

    def __repr__(self) -> str:
        asked = f"{len(self.questions)} questions to {self.respondents:,} of {self.population:,} people"
        return f"<Questionnaire: {asked}>"

    @property
    def opened(self) -> tuple[str, ...]:
        """Questions with open answers, which others may know; names and exact places are kept apart from the answers."""
        return tuple(flag.question for flag in self.flags if flag.kind not in APART)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Questions that are flagged instead of counted."""
        return tuple(flag.question for flag in self.flags)

    def add(
        self,
        name: str,
        *,
        shares: Any = None,
        counts: Any = None,
        values: int | None = None,
        kappa: tuple[float, int] | None = None,
        **options: Any,
    ) -> Questionnaire:
        """Add a question by the shares or counts of its answers, by their number (uniform), or by kappa and number."""
        if name in self.questions:
            raise UsageError(f"question '{name}' is there twice.", hint="Give each question its own name.")
        self._check_when(name, options)
        given = [x is not None for x in (shares, counts, values, kappa)]
        if sum(given) != 1:
            raise UsageError(f"question '{name}' needs exactly one of shares, counts, values, kappa.")
        source = options.pop("source", "given")
        if values is not None:
            n = whole(values, what=f"the number of answers of '{name}'", least=1)
            if n > _blocks.MOST_CELLS:
                raise UsageError(f"question '{name}' has {n} answers: too many.", hint="Ask in wider bands.")
            p, source = np.full(n, 1.0 / n), "uniform"
        elif kappa is not None:
            p, source = shape_with_kappa(*kappa), "kappa"
            options.setdefault("kappa_range", (kappa[0], kappa[0]))
        else:
            raw = np.asarray(shares if counts is None else counts, dtype=np.float64).ravel()
            Distribution.of(raw, normalize=counts is not None)  # validates
            p = raw / raw.sum()
        self.questions[name] = Question(name, p, source, **options)
        if options.get("published") is not None and options.get("when") is None:
            self.published[frozenset([name])] = options["published"]
        return self

    def mark(self, name: str, role: str) -> Questionnaire:
        """Say whether others may know the answer to a question: ``quasi``, ``undecided``, ``sensitive`` or ``insensitive``."""
        self.questions[name] = replace(self._require(name), role=role)
        return self

    def _check_when(self, name: str, options: Mapping[str, Any]) -> None:
        """``when`` names an earlier question and some of its answers; of the roles only quasi counts."""
        if options.get("role", "quasi") not in ROLES:
            raise UsageError(f"the role of question '{name}' is {' or '.join(ROLES)}.", hint="Only quasi-identifiers count.")
        if options.get("when") is None:
            return
        gate, answers = options["when"]
        most = self._require(gate).answers
        if not answers or not all(0 <= a < most for a in answers):
            hint = f"Give numbers from 0 to {most - 1}."
            raise UsageError(f"question '{name}' is asked after answers that '{gate}' does not have.", hint=hint)

    def link(
        self, *names: str, correlation: float | None = None, joint: Any = None, information: float | None = None
    ) -> Questionnaire:
        """Tie questions: by a correlation, a joint table, or (two questions) their mutual information in nats."""
        if len(names) < 2 or not all(isinstance(n, str) for n in names) or len(set(names)) != len(names):
            raise UsageError("a link ties at least two different questions.", hint='Name them one by one: link("age", "income").')
        for n in names:
            self._require(n)
            if any(n in link["names"] for link in self.links):
                raise UsageError(f"question '{n}' is in two links.", hint="Tie all of them in one link.")
            if self.questions[n].when is not None or self._following(n):
                raise UsageError(f"question '{n}' is not asked of everybody, or decides who is asked: it cannot be linked.")
        if sum(x is not None for x in (correlation, joint, information)) != 1:
            raise UsageError("a link needs exactly one of correlation, joint, information.")
        if information is not None:
            if len(names) != 2:
                raise UsageError("mutual information ties two questions.")
            correlation = rho_for_information(self.questions[names[0]].p, self.questions[names[1]].p, information)
        if joint is not None:
            self._take_margins(names, joint)
        elif correlation is not None and not -1 <= float(correlation) <= 1:
            raise UsageError(f"a correlation lies between -1 and 1; found {correlation!r}.")
        self.links.append({"names": names, "correlation": correlation, "joint": joint})
        return self

    def publish(self, summaries: Mapping[tuple[str, ...], PublishedSummary]) -> None:
        """Use what a registry says of questions together; the most of them that were counted together are tied by their table."""
        self.published |= {frozenset(part): about for part, about in summaries.items()}
        counted = [
            (names, x.table) for names, x in summaries.items() if x.table is not None and not any(map(self._following, names))
        ]
        if counted:
            names, table = max(counted, key=lambda c: len(c[0]))
            self.links.append({"names": names, "correlation": None, "joint": table})

    def _take_margins(self, names: Sequence[str], joint: Any) -> None:
        """A joint table must agree with what is known of each question; if only sizes are known, it gives the shares."""
        table = _blocks.tabulated(names, joint, [self.questions[n].p for n in names]).joint
        for i, name in enumerate(names):
            margin = table.sum(axis=tuple(j for j in range(table.ndim) if j != i))
            question = self.questions[name]
            apart = float(np.abs(margin - question.p).max())
            if question.source in _meter.SIZES_ONLY:
                self.questions[name] = replace(question, p=margin, source="given", kappa_range=None)
            elif apart > MARGIN and self.pilot is None:  # the table of a small pilot is smoothed
                what = f"the joint table gives answers of '{name}' shares that are up to {100 * apart:.3g} points off its own."
                raise UsageError(what, hint="Correct one of the two, or describe the question by the number of its answers only.")

    @property
    def counted(self) -> dict[str, Question]:
        """The questions whose answers others may know; all of them where none is marked so."""
        known = {name: q for name, q in self.questions.items() if q.role in COUNTED}
        return known or dict(self.questions)

    def _following(self, name: str) -> list[Question]:
        """The questions that some answers of this one lead to."""
        return [q for q in self.questions.values() if q.when is not None and q.when[0] == name]

    def blocks(self, only: Collection[str] | None = None) -> list[Block]:
        """Linked questions with their joint distribution, a gate with what it leads to, the others alone, in the order asked.

        ``only`` names the questions that matter; the others are left out, but for what they decide about these.
        """
        if not self.questions:
            raise UsageError("the questionnaire has no questions.", hint="Add one with add().")
        wanted = set(self.questions if only is None else only)
        out: list[Block] = []
        done = set()
        for name, q in self.questions.items():
            if name in done or q.when is not None:
                continue
            link = next((x for x in self.links if name in x["names"]), None)
            if link is None:
                out += self._block(q, q.p, wanted)
                continue
            done.update(link["names"])
            margins = [self.questions[n].p for n in link["names"]]
            if link["joint"] is not None:
                block: Block | None = _blocks.tabulated(link["names"], link["joint"], margins)
            else:
                block = _blocks.linked(link["names"], margins, float(link["correlation"]))
            for n in link["names"]:
                block = block.changed(n, None) if block is not None and n not in wanted else block
            out += [] if block is None else [block]
        return out

    def _block(self, q: Question, p: Floats, wanted: set[str]) -> list[QuestionBlock | Branches]:
        """A question with shares ``p``, and everything that its answers lead to; nothing where none of it matters."""
        own = _blocks.single(q.name, p)
        options = []
        for child in self._following(q.name):
            answers = () if child.when is None else child.when[1]
            rows = [child.p] if child.given is None else list(child.given)
            made = [block for row in rows for block in self._block(child, row, wanted)]
            if made:
                led = dict(zip(answers, made * len(answers) if child.given is None else made, strict=False))
                options.append(tuple(led.get(a) for a in range(q.answers)))
        if options:
            return [Branches(own, tuple(options), hidden=q.name not in wanted)]
        return [own] if q.name in wanted else []

    def meter(self, *, worst: int = 5) -> Meter:
        """All numbers at once; ``worst`` is how many pairs and triples are listed."""
        blocks, names, n = self.blocks(self.counted), list(self.counted), self.respondents
        pieces = _meter.parts(blocks, names)
        assumed = any(link["correlation"] is not None for link in self.links)
        free = self._free(blocks)
        sources = [q.source for q in self.counted.values()]
        grade = _meter.grade_of(sources, 1 + free, independence_known=self.independence_known, assumed=assumed)
        telling: dict[str, str] = {}  # of a question in parts the one that divides most
        for name in sorted(names, key=lambda x: -self.questions[x].law.entropy):
            telling.setdefault(whole_question(name), name)
        ranked, matters = list(telling.values())[:14], list(telling)[:3]
        asked, everybody = _meter.unique_shares(pieces, [n, self.population])
        return Meter(
            unique=self._share(blocks, names, n, asked, grade),
            population_unique=self._share(blocks, names, self.population, everybody, grade),
            smallest_group=(_meter.smallest_group_of_any if assumed or free else _meter.smallest_group)(pieces, n),
            respondents=n,
            surely_known=self._by([name for name, q in self.counted.items() if q.role == "quasi"], grade),
            every_answer=self._by(list(self.questions), grade),
            would_tell=self._would_tell(),
            open_questions=self.opened,
            crowd=max(1.0, self.population * float(np.exp(-_meter.entropy(pieces)))),
            waterfall=tuple(self._waterfall(blocks)),
            pairs=tuple(_meter.rank(blocks, ranked, n, 2)[:worst]),
            triples=tuple(_meter.rank(blocks, ranked, n, 3)[:worst]),
            warnings=tuple(self._warnings(blocks)),
            target=self.target,
            combinations=math.prod(float(d.cells) for d, _ in pieces),
            sizes_only=self._known(names, n) is None and any(s in _meter.SIZES_ONLY for s in sources),
            seen=_meter.seen_in_tables([(q.answers, self._asked_share(q)) for q in self.counted.values()], n),
            evidence=self._evidence(names),
            as_guessed=self._as_guessed(blocks, names),
            matters=tuple(matters) if len(telling) > 3 else (),
            by_these=_meter.unique_share(_meter.parts(blocks, [x for x in names if whole_question(x) in matters]), n)[0],
            pilot=None if self.pilot is None else self.pilot.to_json(),
        )

    def suggest(self, target: float | None = None) -> Suggestion:
        """The cheapest change of bands or questions that reaches the target (:mod:`shoal.prediction.questionnaire.suggest`)."""
        aim, blocks = self.target if target is None else fraction(target, what="target"), self.blocks(self.counted)
        return self._reaching(lambda share: [suggest(self._changeable(), blocks, self.respondents, share)], aim)[0]

    def suggestions(self, most: int = 3) -> list[Suggestion]:
        """At most ``most`` ways to reach the target, the cheapest first; each further one spares a question of the one before."""
        blocks = self.blocks(self.counted)
        return self._reaching(lambda aim: suggestions(self._changeable(), blocks, self.respondents, aim, most), self.target)

    def single_changes(self, most: int = 4) -> list[Suggestion]:
        """Changes of one question each that help most, where the target is missed."""
        changes = single_changes(self._changeable(), self.blocks(self.counted), self.respondents, self.target, most)
        return [self._judged(one, self.target) for one in changes]

    def _reaching(self, search: Callable[[float], list[Suggestion]], target: float) -> list[Suggestion]:
        """What a search finds; with a pilot, each judged by the pilot, and searched again below the target while all miss it."""
        if self.pilot is not None and (now := self.pilot.unique(self.respondents).value) <= target:
            return [Suggestion((), now, now, True)]
        for share in (target, 0.8 * target, 0.6 * target, 0.4 * target):
            plans = [self._judged(one, target) for one in search(share)]
            if self.pilot is None or any(one.reached for one in plans):
                break
        return [one for one in plans if one.reached] or plans

    def _judged(self, one: Suggestion, target: float) -> Suggestion:
        """The shares before and after the changes as the pilot gives them: the population is fitted again to the new answers."""
        if self.pilot is None:
            return one
        before, groups = self.pilot.unique(self.respondents).value, {c.question: c.groups for c in one.changes}
        sample, columns = self.pilot.sample, []
        for j, name in enumerate(self.questions):
            codes = sample.codes[:, j]
            if name not in groups or groups[name] is not None:
                columns.append(np.asarray(groups[name])[codes] if name in groups else codes)
        if not groups:
            after = self.pilot.unique(self.respondents)
        elif not columns:
            after = Estimate.exact(float(self.respondents == 1), method="nothing is asked")
        else:
            cells, place = np.unique(np.stack(columns), axis=1, return_inverse=True)
            sizes = np.bincount(place.ravel(), weights=sample.sizes).astype(np.int64)
            fitted = Pilot.of(list(cells), sizes, self.population, design=self.pilot.design)
            after = fitted.unique(self.respondents)
        single = None if one.single is None else self._judged(one.single, target)
        single = single if single is not None and single.reached else None
        return replace(one, before=before, after=after.value, most=after.high, reached=after.value <= target, single=single)

    def _changeable(self) -> dict[str, Question]:
        """The questions that count, each gate with what goes with it."""
        leads = {name: tuple(q.name for q in self._following(name)) for name in self.questions}
        return {name: replace(q, leads_to=leads[name]) for name, q in self.counted.items()}

    def enough(self) -> tuple[int | None, int | None]:
        """The fewest respondents with which the target is met: expected, and for certain; None where all people are not enough.

        More people who answer are more people alike: the share of unique ones falls. Open answers leave nothing certain.
        """
        blocks, names = self.blocks(self.counted), list(self.counted)
        pieces, known = _meter.parts(blocks, names), self._pieces(blocks, names)

        def expected(sizes: Sequence[int]) -> list[float]:
            published = [self._known(names, n) for n in sizes]
            shares = [value for value, _ in _meter.unique_shares(pieces, sizes)] if None in published else []
            return shares or [best.value for best in published if best is not None]

        def at_most(sizes: Sequence[int]) -> list[float]:
            published = [self._known(names, n) for n in sizes]
            return [
                self._bounds(known, names, n)[1] if best is None else best.high for n, best in zip(sizes, published, strict=True)
            ]

        sure = expected if self._exact(blocks, names) and self._known(names, 1) is None else at_most
        certain = None if self.opened else _meter.fewest(sure, self.population, self.target)
        return _meter.fewest(expected, self.population, self.target), certain

    def answer(self, answers: Mapping[str, int | str]) -> Degradation:
        """The crowd of one person with these answers, question after question.

        An answer is a label or what it means in plain words (``34``, ``female``); without labels it is a number from 0.
        """
        shares, places, tied = list[float](), dict[str, int](), dict[tuple[str, ...], float]()
        for name, value in answers.items():
            q = self._require(name)
            label = meant(q.labels, str(value)) if q.labels else None
            i = q.labels.index(label) if label is not None else None if q.labels and isinstance(value, str) else value
            if not isinstance(i, (int, np.integer)) or not 0 <= int(i) < q.answers:
                raise UsageError(f"question '{name}' has no such answer.", hint=f"Give a number from 0 to {q.answers - 1}.")
            asked = 1.0 if q.when is None or q.when[0] in answers else self._asked_share(q)
            block = next((b for b in self.blocks() if isinstance(b, QuestionBlock) and name in b.names), None)
            if block is None or len(block.names) == 1:
                shares.append(asked * float(q.p[int(i)]))
                tied[name,] = shares[-1]
                continue
            before = _share_in(block, places)
            places[name] = int(i)
            tied[block.names] = _share_in(block, places)
            shares.append(tied[block.names] / before if before else 0.0)
        return replace(degradation(self.population, shares), crowd=degradation(self.population, list(tied.values())).crowd)

    def paragraph(self) -> str:
        """A paragraph for the information letter."""
        m = self.meter()
        however = f"between {as_percent(m.unique.low)} and {as_percent(m.unique.high)}, however the answers depend on each other"
        if self.pilot is not None:
            between = f"between {as_percent(m.unique.low)} and {as_percent(m.unique.high)}"
            however = f"{between}, judged from a pilot of {self.pilot.people} people"
        elif m.unique.high - m.unique.low > _meter.ANYTHING:
            however = "a guess: what is known about the answers rules nothing out"
        return (
            f"We ask {len(self.questions)} questions of {self.respondents} people out of about {self.population}. "
            f"By our estimate (grade {m.unique.grade}) {as_percent(m.unique.value)} of the respondents would be "
            f"the only one among the respondents with their answers ({however}), and a typical set of answers is "
            f"shared by about {m.crowd:.0f} {'person' if round(m.crowd) == 1 else 'people'} in the population."
        )

    def _require(self, name: str) -> Question:
        if name not in self.questions:
            raise missing_column(name, list(self.questions), table="questionnaire", what="question")
        return self.questions[name]

    def _pieces(self, blocks: Sequence[Block], names: Sequence[str]) -> list[Piece]:
        """What is really known: shares, joint tables, published kappas, numbers of answers; no assumed shape, no copula."""
        tables = [link["names"] for link in self.links if link["joint"] is not None]
        out, tied = [], set[str]()
        for b in blocks:
            if len(b.names) > 1 and (known := self.published.get(frozenset(b.names))) is not None:
                out.append(known.piece)
                tied.update(b.names)
                continue
            if not isinstance(b, Branches) and not any(set(b.names) <= set(table) for table in tables):
                continue
            law = b.part(names)[0]
            out.append(Piece(law.cells, law=None if isinstance(b, Branches) else law))
            tied.update(b.names)
        return out + [self.questions[name].known for name in names if name not in tied]

    def _bounds(self, pieces: Sequence[Piece], names: Collection[str], people: int) -> tuple[float, float]:
        """The least and the greatest share that is possible: also by what a registry says of some of the questions together."""
        low, high = share_range(pieces, people)
        for part, published in self.published.items():
            if part < set(names) and published.share is not None and published.most is not None:
                room = math.exp(min(700.0, sum(math.log(self.questions[n].answers) for n in names if n not in part)))
                low, high = max(low, published.share(people, None).low), min(high, published.most(people, room))
        return low, max(low, high)

    def _known(self, names: Collection[str], people: int) -> Estimate | None:
        """The share by the best evidence there is: counts or a summary of the questions together, else a pilot within what the
        registry proves, else what else a registry answers; None where only shares of single questions are left."""
        published = self.published.get(frozenset(names))
        share = None if published is None or published.share is None else published.share(people, self.target)
        if self.pilot is None or (share is not None and published is not None and published.fit in TOGETHER):
            return share
        seen = self.pilot.unique(people)
        if share is None or share.grade == "C" or max(seen.low, share.low) > min(seen.high, share.high):
            return seen
        low, high = max(seen.low, share.low), min(seen.high, share.high)
        return replace(seen, value=min(max(seen.value, low), high), low=low, high=high)

    def _as_guessed(self, blocks: Sequence[Block], names: Sequence[str]) -> tuple[float, float] | None:
        """The range for any dependence if guessed shares are taken as known; None where none is guessed, or one is missing."""
        sources = {self.questions[n].source for n in names}
        if self._known(names, self.respondents) is not None or "guess" not in sources or sources & {"uniform", "kappa"}:
            return None
        sure = self.copy()
        sure.questions = {n: replace(q, source="given") if q.source == "guess" else q for n, q in self.questions.items()}
        return sure._bounds(sure._pieces(blocks, names), names, self.respondents)

    def _evidence(self, names: Collection[str]) -> str:
        """What the share of some questions rests on, in words."""
        published = self.published.get(frozenset(names))
        if self.pilot is not None and (published is None or published.fit not in TOGETHER):
            return "pilot"
        if published is not None:
            return published.fit
        return "shares" if self._exact(self.blocks(names), list(names)) else "independence"

    def _free(self, blocks: Sequence[Block]) -> bool:
        """Whether the answers may depend on each other in ways that nobody said."""
        several = any(len(b.names) > 1 and isinstance(b, Branches) for b in blocks)
        return not self.independence_known and (several or len(blocks) > 1)

    def _exact(self, blocks: Sequence[Block], names: Sequence[str]) -> bool:
        """Whether shares and dependence are all known."""
        shapes = any(self.questions[n].source not in ("given", "table") for n in names)
        return not shapes and not self._free(blocks) and all(link["correlation"] is None for link in self.links)

    def _by(self, names: Sequence[str], grade: Grade) -> Estimate | None:
        """The unique share by some questions; None where they are those that count, or none."""
        if len(names) in (0, len(self.counted)) or self.pilot is not None:
            return None
        blocks = self.blocks(names)
        share = _meter.unique_share(_meter.parts(blocks, names), self.respondents)
        return self._share(blocks, names, self.respondents, share, grade)

    def _would_tell(self) -> str:
        """What would narrow the range; empty where nothing is missing."""
        now = self._known(self.counted, self.respondents)
        if now is not None and _meter.verdict(now, self.target) != "not known":
            return ""
        if self.pilot is not None:
            fit, sizes = self.pilot.fit, [factor * self.pilot.people for factor in LARGER]
            fitting = [people for people in sizes if people <= self.population]
            larger = self._pilot_that_tells(fit.every.at, fit.every.numbers, fit.shape, fitting)
            none = "more respondents" if len(fitting) < len(sizes) else f"a pilot of more than {sizes[-1]:,} people"
            return f"{larger or f'{none}, or a target further from the share'}."
        if now is not None:
            return f"a published table of {', '.join(self.counted)} together, as finely as asked, or a pilot (--pilot TABLE)."
        if self._exact(self.blocks(self.counted), list(self.counted)):
            return ""
        unknown = [q for q in self.counted.values() if q.source in _meter.SIZES_ONLY]
        p, mass = _meter.likelihoods(_meter.parts(self.blocks(self.counted), list(self.counted)))
        large = self._pilot_that_tells(p, mass / p, _meter.POISSON, [n for n in PILOTS if n <= self.population])
        text = f"{large} like those who will be asked (--pilot TABLE)" if large else ""
        if self.by_place:
            text += f"; or the place, whose counts may give {' and '.join(self.by_place)} (--population Utrecht)"
        if unknown:
            ranked = sorted(unknown, key=lambda q: (-q.law.entropy, q.name))
            vague = list(dict.fromkeys(whole_question(q.name) for q in ranked))
            rest = f" and {len(vague) - 3} more" if len(vague) > 3 else ""
            text += f"; or the shares of the answers of {', '.join(vague[:3])}{rest} (shares: or registry:)"
        if len(self.counted) > 1:
            text += f"{', and' if unknown else '; or'} how the answers depend on each other (linked: with a joint table)"
        return text.removeprefix("; or ") + "."

    def _pilot_that_tells(self, at: Floats, numbers: Floats, shape: float, sizes: Sequence[int]) -> str:
        """How many people a pilot needs that decides about the target, if so many combinations have these shares; else empty."""
        for people in sizes:
            means = people * at
            chances = [np.exp(-shape * np.log1p(means / shape))]  # how often a combination is seen: 0, 1, 2 … times
            for j in range(SEEN):
                chances.append(chances[-1] * (shape + j) / (j + 1) * means / (shape + means))
            seen = [*chances[1:], np.maximum(0.0, 1 - sum(chances))]
            expected = np.rint([(numbers * chance).sum() for chance in seen]).astype(np.int64)
            ones, twos = int(expected[0]), int(expected[1])
            classes = SampledClasses(np.arange(1, SEEN + 2), expected, people, int(expected.sum()), ones, twos, self.population)
            least, most = unique_share_range(classes, self.respondents)
            if least > self.target or most <= self.target:
                return f"a pilot of about {people:,} people"
        return ""

    def _share(
        self, blocks: Sequence[Block], names: Sequence[str], people: int, bounds: tuple[float, float], grade: Grade
    ) -> Estimate:
        best = self._known(names, people)
        if best is not None:
            return best
        value, error = bounds
        notes = []
        low, high = max(0.0, value - error), min(1.0, value + error)
        shapes = any(self.questions[n].source not in ("given", "table") for n in names)
        assumed = any(link["correlation"] is not None for link in self.links)
        free = self._free(blocks)
        if shapes or assumed or free:
            low_all, high_all = self._bounds(self._pieces(blocks, names), names, people)
            value, low, high = min(max(value, low_all), high_all), low_all, high_all
        if free:
            notes.append("unlinked questions are taken as independent; the range holds for every dependence")
        if assumed:
            notes.append("a correlation does not say all about dependence: a Gaussian copula is taken; the range holds for all")
        if shapes:
            notes.append("the shares of some answers are not known: a shape is taken; the range holds for every shape")
        exact = error < 1e-13  # the plain sum; the grid's bound is never below 1e-12
        method = "sum over all combinations" if exact else f"log-grid convolution (error at most {error:.0e})"
        return Estimate(value, low, high, level=1.0, method=method, grade=grade, notes=tuple(notes))

    def _waterfall(self, blocks: Sequence[Block]) -> list[WaterfallStep]:
        steps, before, names = [], 0.0, list(self.counted)
        for i, name in enumerate(names, start=1):
            pieces = _meter.parts(blocks, names[:i])
            h = _meter.entropy(pieces)
            typical, mean = self.population * float(np.exp(-h)), 1 + (self.population - 1) * _meter.collision(pieces)
            unique = _meter.unique_share(pieces, self.respondents, points=_meter.COARSE, listed=2000)[0]
            steps.append(WaterfallStep(name, max(1.0, typical), mean, unique, float(np.exp(h - before))))
            before = h
        return steps

    def _asked_share(self, q: Question) -> float:
        """The share of people who are asked a question."""
        if q.when is None:
            return 1.0
        gate = self.questions[q.when[0]]
        return self._asked_share(gate) * float(gate.p[list(q.when[1])].sum())

    def _warnings(self, blocks: Sequence[Block]) -> list[str]:
        out = []
        for name, q in self.counted.items():
            expected = self.respondents * self._asked_share(q) * q.p
            small = int(np.count_nonzero((expected > 0) & (expected < self.small_group)))
            if small:
                out.append(f"{name}: {small} of {q.answers} answers expect fewer than {self.small_group} respondents")
        if self.subgroups:
            d = Distribution.of(_outer([piece[0] for piece in _meter.parts(blocks, self.subgroups)]), normalize=True)
            small = int(np.count_nonzero(d.p * self.respondents < self.small_group))
            if small:
                out.append(
                    f"reporting by {' × '.join(self.subgroups)}: {small} of {d.cells} subgroups expect fewer than "
                    f"{self.small_group} respondents"
                )
        return out

    def copy(self) -> Questionnaire:
        """An independent copy."""
        out = copy(self)
        out.questions, out.links, out.published = dict(self.questions), [dict(x) for x in self.links], dict(self.published)
        return out


def _share_in(block: QuestionBlock, places: Mapping[str, int]) -> float:
    """The share of people with some answers to the questions of a block."""
    at = tuple(places.get(name, slice(None)) for name in block.names)
    return float(block.joint[at].sum())


def _outer(laws: Sequence[Distribution]) -> Floats:
    cells = laws[0].expanded()
    for d in laws[1:]:
        if cells.size * d.occupied > _blocks.MOST_CELLS:
            raise UsageError("the subgroups to report by have too many combinations.", hint="Report by fewer questions.")
        cells = np.multiply.outer(cells, d.expanded()).ravel()
    return cells
