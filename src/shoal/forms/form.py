"""A form as every reader gives it: its questions, how many answers each has, and what in it names people.

Takes    what a tool's file says of each question
Returns  a questionnaire whose answers are equally likely (nothing better is known), and flags for further questions
Keeps    nothing understated: a question asked of some has one answer more; several choices at once are 2^n answers
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import PolicyError
from shoal.find.topics import topic_of
from shoal.model.roles import Role
from shoal.prediction.questionnaire.questionnaire import Questionnaire

MOST_CHOICES = 16
"""Choices of a question with several answers that are kept as one question of 2^n answers; more are split."""
MOST_RANKED = 9
"""Things put in order that are kept as one question of n! answers."""
PLACES = ("position", "street")


@dataclass(frozen=True)
class Flag:
    """A question that harms whatever the others are: what it is, and what to do about it."""

    question: str
    kind: str
    says: str
    do: str


@dataclass(frozen=True)
class FormQuestion:
    """One question of a form.

    ``kind`` is ``closed`` or ``number`` (``answers`` of them), ``several`` or ``ranked`` (of ``answers`` choices), or one of the
    open ones: ``text``, ``date``, ``place``, ``file``, ``name``. ``some`` says that not everybody is asked.
    """

    name: str
    kind: str
    answers: int = 0
    text: str = ""
    some: bool = False
    identifier: bool = False

    @property
    def entries(self) -> list[tuple[str, dict[str, Any]]]:
        """What a questionnaire says of it: names with the number of answers; nothing for what is open or flagged."""
        if self.flag is not None:
            return []
        more = {"text": self.text} if self.text else {}
        if self.kind == "number" and self.answers >= 1:
            order: dict[str, Any] = {} if self.some else {"ordered": True, "band": 1}
            return [(self.name, {"values": self.answers + self.some, **order, **more})]
        if self.kind == "closed" and self.answers >= 1:
            return [(self.name, {"values": self.answers + self.some, **more})]
        if self.kind == "ranked" and 1 <= self.answers <= MOST_RANKED:
            return [(self.name, {"values": math.factorial(self.answers) + self.some, **more})]
        if self.kind != "several":
            return []
        sizes = [min(MOST_CHOICES, self.answers - i) for i in range(0, self.answers, MOST_CHOICES)]
        names = [self.name if len(sizes) == 1 else f"{self.name} ({i + 1} of {len(sizes)})" for i in range(len(sizes))]
        return [(name, {"values": 2**size + self.some, **more}) for name, size in zip(names, sizes, strict=True)]

    @property
    def flag(self) -> Flag | None:
        """Why it harms, where it does: by its kind, by the words of its name, or because the form itself says so."""
        topic = topic_of(self.name)
        direct = topic if topic is not None and topic.role is Role.DIRECT else None
        if self.kind == "place" or (direct is not None and direct.key in PLACES):
            return Flag(self.name, "place", "an exact place finds a person's home.", "Ask for a region, or round it.")
        closed = self.kind in ("closed", "several", "ranked")
        if self.kind == "name" or self.identifier or (direct is not None and direct.key != "text" and not closed):
            says = "it names people, or their devices." if direct is None else f"it asks for {direct.says}."
            return Flag(self.name, "name", says, "Leave it out, or keep it apart from the answers.")
        if self.kind == "text":
            return Flag(self.name, "text", "people name themselves and others in free text.", "Offer answers to choose from.")
        if self.kind == "date":
            return Flag(self.name, "date", "an exact date narrows the crowd by hundreds.", "Ask for a year, or a band of years.")
        if self.kind == "file":
            return Flag(self.name, "file", "pictures, sounds and files show people.", "Leave it out.")
        return None


@dataclass(frozen=True)
class Form:
    """The questions of a form, in its order, and what was taken as it is not."""

    questions: tuple[FormQuestion, ...]
    tool: str
    title: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def flags(self) -> tuple[Flag, ...]:
        return tuple(flag for q in self.questions if (flag := q.flag) is not None)

    def entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Closed questions with names of their own: a second one of a name is numbered."""
        seen: dict[str, int] = {}
        for q in self.questions:
            for name, spec in q.entries:
                seen[name] = seen.get(name, 0) + 1
                yield (name if seen[name] == 1 else f"{name} #{seen[name]}"), spec

    def document(self, **about: Any) -> dict[str, Any]:
        """The content of a ``questions.yml``; ``about`` are population, respondents, target."""
        beside = {flag.question: flag.kind for flag in self.flags}
        return {**about, "questions": dict(self.entries()), **({"open": beside} if beside else {})}

    def questionnaire(self, **about: Any) -> Questionnaire:
        """The questionnaire; ``skipped`` names the open questions."""
        q = Questionnaire(**about)
        for name, spec in self.entries():
            q.add(name, **{key: value for key, value in spec.items() if key != "text"})
        if not q.questions:
            raise PolicyError(f"the form of {self.tool} has no closed question.", hint="Only choices and bounded numbers count.")
        q.skipped = tuple(x.name for x in self.questions if not x.entries)
        q.notes = self.notes
        return q
