r"""The questionnaire meter: how identifying will these questions be, before anyone is asked.

Each question has a distribution of answers; linked questions a joint one. The share of respondents expected to be one of a
kind is :math:`E(1-p(X))^{n-1}` over the product of all of them, summed exactly when small and by log-grid convolution (with its
error) when the combinations are astronomically many. What independence cannot promise, the range says.

Takes    questions, population, respondents, links
Returns  :class:`.Meter`, and by :meth:`Questionnaire.suggest` the cheapest change that reaches the target
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.model.display import as_percent
from shoal.model.estimate import Estimate, Grade
from shoal.prediction.distribution import Distribution, Floats, fraction, whole
from shoal.prediction.group.uniqueness import Degradation, degradation
from shoal.prediction.population.pilot import Pilot
from shoal.prediction.questionnaire import meter as _meter
from shoal.prediction.questionnaire import questions as _blocks
from shoal.prediction.questionnaire.meter import Meter, WaterfallStep
from shoal.prediction.questionnaire.questions import Piece, Question, share_range
from shoal.prediction.questionnaire.suggest import Suggestion, single_changes, suggest

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
            raise UsageError(
                f"{self.respondents} respondents are more than the population of {self.population}.",
                hint="The population is everybody who could be asked.",
            )
        self.target = fraction(target, what="target")
        self.small_group = whole(small_group, what="small_group", least=1)
        self.independence_known = independence_known
        self.questions: dict[str, Question] = {}
        self.links: list[dict[str, Any]] = []
        self.subgroups: tuple[str, ...] = ()
        self.skipped: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.pilot: Pilot | None = None

    def __repr__(self) -> str:
        asked = f"{len(self.questions)} questions to {self.respondents:,} of {self.population:,} people"
        return f"<Questionnaire: {asked}>"

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
            from shoal.prediction.summaries.published import shape_with_kappa

            p, source = shape_with_kappa(*kappa), "kappa"
            options.setdefault("kappa_range", (kappa[0], kappa[0]))
        else:
            raw = np.asarray(shares if counts is None else counts, dtype=np.float64).ravel()
            Distribution.of(raw, normalize=counts is not None)  # validates
            p = raw / raw.sum()
        self.questions[name] = Question(name, p, source, **options)
        return self

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
        if sum(x is not None for x in (correlation, joint, information)) != 1:
            raise UsageError("a link needs exactly one of correlation, joint, information.")
        if information is not None:
            from shoal.prediction.attributes.correlation import rho_for_information

            if len(names) != 2:
                raise UsageError("mutual information ties two questions.")
            correlation = rho_for_information(self.questions[names[0]].p, self.questions[names[1]].p, information)
        if joint is not None:
            self._take_margins(names, joint)
        elif correlation is not None and not -1 <= float(correlation) <= 1:
            raise UsageError(f"a correlation lies between -1 and 1; found {correlation!r}.")
        self.links.append({"names": names, "correlation": correlation, "joint": joint})
        return self

    def _take_margins(self, names: Sequence[str], joint: Any) -> None:
        """A joint table must agree with what is known of each question; if only sizes are known, it gives the shares."""
        table = _blocks.tabulated(names, joint, [self.questions[n].p for n in names]).joint
        for i, name in enumerate(names):
            margin = table.sum(axis=tuple(j for j in range(table.ndim) if j != i))
            question = self.questions[name]
            apart = float(np.abs(margin - question.p).max())
            if question.source in _meter.SIZES_ONLY:
                self.questions[name] = replace(question, p=margin, source="given", kappa_range=None)
            elif apart > MARGIN:
                raise UsageError(
                    f"the joint table gives answers of '{name}' shares that are up to {100 * apart:.3g} points off its own.",
                    hint="Correct one of the two, or describe the question by the number of its answers only.",
                )

    def blocks(self) -> list[_blocks.QuestionBlock]:
        """Linked questions with their joint distribution, the others alone, in the order asked."""
        if not self.questions:
            raise UsageError("the questionnaire has no questions.", hint="Add one with add().")
        out, done = [], set()
        for name, q in self.questions.items():
            if name in done:
                continue
            link = next((x for x in self.links if name in x["names"]), None)
            if link is None:
                out.append(_blocks.single(name, q.p))
                continue
            done.update(link["names"])
            margins = [self.questions[n].p for n in link["names"]]
            if link["joint"] is not None:
                out.append(_blocks.tabulated(link["names"], link["joint"], margins))
            else:
                out.append(_blocks.linked(link["names"], margins, float(link["correlation"])))
        return out

    def meter(self, *, worst: int = 5) -> Meter:
        """All numbers at once; ``worst`` is how many pairs and triples are listed."""
        blocks, names, n = self.blocks(), list(self.questions), self.respondents
        pieces = _meter.parts(blocks, names)
        assumed = any(link["joint"] is None for link in self.links)
        free = len(blocks) > 1 and not self.independence_known
        sources = [q.source for q in self.questions.values()]
        grade = _meter.grade_of(sources, len(blocks), independence_known=self.independence_known, assumed=assumed)
        ranked = sorted(names, key=lambda x: -self.questions[x].law.entropy)[:14]
        combos = float(np.prod([q.answers for q in self.questions.values()], dtype=np.float64))
        asked, everybody = _meter.unique_shares(pieces, [n, self.population])
        return Meter(
            unique=self._share(blocks, n, asked, grade),
            population_unique=self._share(blocks, self.population, everybody, grade),
            smallest_group=(_meter.smallest_group_of_any if assumed or free else _meter.smallest_group)(pieces, n),
            crowd=max(1.0, self.population * float(np.exp(-_meter.entropy(pieces)))),
            waterfall=tuple(self._waterfall(blocks)),
            pairs=tuple(_meter.rank(blocks, ranked, n, 2)[:worst]),
            triples=tuple(_meter.rank(blocks, ranked, n, 3)[:worst]),
            warnings=tuple(self._warnings(blocks)),
            target=self.target,
            combinations=combos,
            sizes_only=any(s in _meter.SIZES_ONLY for s in sources),
            pilot=None if self.pilot is None else self.pilot.to_json(),
        )

    def suggest(self, target: float | None = None) -> Suggestion:
        """The cheapest change of bands or questions that reaches the target (:mod:`shoal.prediction.questionnaire.suggest`)."""
        aim = self.target if target is None else fraction(target, what="target")
        return suggest(self.questions, self.blocks(), self.respondents, aim)

    def single_changes(self, most: int = 4) -> list[Suggestion]:
        """Changes of one question each that help most, where the target is missed."""
        return single_changes(self.questions, self.blocks(), self.respondents, self.target, most)

    def answer(self, answers: Mapping[str, int | str]) -> Degradation:
        """The crowd of one person with these answers (by index or label), question after question."""
        shares = []
        for name, value in answers.items():
            q = self._require(name)
            i = q.labels.index(value) if isinstance(value, str) and value in q.labels else value
            if not isinstance(i, (int, np.integer)) or not 0 <= int(i) < q.answers:
                raise UsageError(f"question '{name}' has no such answer.", hint=f"Give a number from 0 to {q.answers - 1}.")
            shares.append(float(q.p[int(i)]))
        return degradation(self.population, shares)

    def paragraph(self) -> str:
        """A paragraph for the information letter."""
        m = self.meter()
        however = "however the answers depend on each other"
        if self.pilot is not None:
            however = f"judged from a pilot of {self.pilot.people} people"
        return (
            f"We ask {len(self.questions)} questions of {self.respondents} people out of about {self.population}. "
            f"By our estimate (grade {m.unique.grade}) {as_percent(m.unique.value)} of the respondents would be "
            f"the only one among the respondents with their answers (between {as_percent(m.unique.low)} and "
            f"{as_percent(m.unique.high)}, {however}), and a typical set of answers is "
            f"shared by about {m.crowd:.0f} {'person' if round(m.crowd) == 1 else 'people'} in the population."
        )

    def _require(self, name: str) -> Question:
        if name not in self.questions:
            from shoal.errors import missing_column

            raise missing_column(name, list(self.questions), table="questionnaire", what="question")
        return self.questions[name]

    def _pieces(self, blocks: Sequence[_blocks.QuestionBlock]) -> list[Piece]:
        """What is really known: shares, joint tables, published kappas, numbers of answers; no assumed shape, no copula."""
        tables = [link["names"] for link in self.links if link["joint"] is not None]
        joint = [b for b in blocks if b.names in tables]
        out = [Piece(b.joint.size, law=b.part(b.names)[0]) for b in joint]
        tied = {n for b in joint for n in b.names}
        return out + [q.known for name, q in self.questions.items() if name not in tied]

    def _share(self, blocks: Sequence[_blocks.QuestionBlock], people: int, found: tuple[float, float], grade: Grade) -> Estimate:
        if self.pilot is not None:
            return self.pilot.unique(people)
        value, error = found
        notes = []
        low, high = max(0.0, value - error), min(1.0, value + error)
        shapes = any(q.source not in ("given", "table") for q in self.questions.values())
        assumed = any(link["joint"] is None for link in self.links)
        if shapes or assumed or (len(blocks) > 1 and not self.independence_known):
            low_all, high_all = share_range(self._pieces(blocks), people)
            low, high = min(low, low_all), max(high, high_all)
        if len(blocks) > 1 and not self.independence_known:
            notes.append("unlinked questions are taken as independent; the range holds for every dependence")
        if assumed:
            notes.append("a correlation does not say all about dependence: a Gaussian copula is taken; the range holds for all")
        if shapes:
            notes.append("the shares of some answers are not known: a shape is taken; the range holds for every shape")
        exact = error < 1e-13  # the plain sum; the grid's bound is never below 1e-12
        return Estimate(
            value,
            low,
            high,
            level=1.0,
            method="sum over all combinations" if exact else f"log-grid convolution (error at most {error:.0e})",
            grade=grade,
            notes=tuple(notes),
        )

    def _waterfall(self, blocks: Sequence[_blocks.QuestionBlock]) -> list[WaterfallStep]:
        steps, before, names = [], 0.0, list(self.questions)
        for i, name in enumerate(names, start=1):
            pieces = _meter.parts(blocks, names[:i])
            h = _meter.entropy(pieces)
            steps.append(
                WaterfallStep(
                    name,
                    max(1.0, self.population * float(np.exp(-h))),
                    1 + (self.population - 1) * _meter.collision(pieces),
                    _meter.unique_share(pieces, self.respondents, points=_meter.COARSE, listed=2000)[0],
                    float(np.exp(h - before)),
                )
            )
            before = h
        return steps

    def _warnings(self, blocks: Sequence[_blocks.QuestionBlock]) -> list[str]:
        out = []
        for name, q in self.questions.items():
            expected = self.respondents * q.p
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
        out = Questionnaire(
            population=self.population,
            respondents=self.respondents,
            target=self.target,
            small_group=self.small_group,
            independence_known=self.independence_known,
        )
        out.questions = {k: replace(v) for k, v in self.questions.items()}
        out.links = [dict(x) for x in self.links]
        out.subgroups, out.skipped, out.notes, out.pilot = self.subgroups, self.skipped, self.notes, self.pilot
        return out


def _outer(laws: Sequence[Distribution]) -> Floats:
    cells = laws[0].expanded()
    for d in laws[1:]:
        if cells.size * d.occupied > _blocks.MOST_CELLS:
            raise UsageError("the subgroups to report by have too many combinations.", hint="Report by fewer questions.")
        cells = np.multiply.outer(cells, d.expanded()).ravel()
    return cells
