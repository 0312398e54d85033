"""A form as every reader gives it: its questions, how many answers each has, who is asked, and what in it names people.

Takes    what a tool's file says of each question
Returns  a questionnaire whose answers are equally likely (nothing better is known), and flags for further questions
Keeps    nothing understated: a question whose condition is not understood has one answer more; several choices at once are 2^n
         answers; a question whose role the finder does not know counts

Skip logic: after which answers of which earlier question a question is asked.

Takes    the condition that a tool's file writes: ``${smokes} = 'yes'``, ``[sex] = '1'``, ``edu.NAOK == "A1"``
Returns  comparisons that all must hold (or one of which must); None where the condition says more than that
Keeps    nothing understated: a condition that is not understood lets the question divide everybody
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shoal.errors import PolicyError
from shoal.find import ColumnFacts, find_columns
from shoal.find.answers import meant
from shoal.find.name_words import telling, words_of
from shoal.find.topics import Topic, found_in, topics_beside
from shoal.find.vocabulary import phrases
from shoal.forms.questions import ANYWHERE, Asked, add_question
from shoal.forms.usual import AGES, RARE, by_number, usual_shares
from shoal.model.display import as_percent
from shoal.model.roles import Role
from shoal.prediction.questionnaire.questionnaire import Questionnaire
from shoal.prediction.questionnaire.questions import Flag, whole_question

_NAME = r"[A-Za-z_][\w.-]*?"
_VALUE = r"""(?:'(?P<a>[^']*)'|"(?P<b>[^"]*)"|(?P<c>-?\d+(?:\.\d+)?))"""
_ATOMS = {
    "XLSForm": (
        rf"selected\(\s*\$\{{(?P<name>{_NAME})\}}\s*,\s*{_VALUE}\s*\)(?P<sign>)",
        rf"\$\{{(?P<name>{_NAME})\}}\s*(?P<sign><=|>=|!=|=|<|>)\s*{_VALUE}",
    ),
    "REDCap": (
        rf"\[(?P<name>\w+)\((?P<part>-?\w+)\)\]\s*(?P<sign>=)\s*{_VALUE}",
        rf"\[(?P<name>\w+)\]\s*(?P<sign><=|>=|<>|!=|=|<|>)\s*{_VALUE}",
    ),
    "LimeSurvey": (
        rf"(?P<name>[A-Za-z]\w*?)_(?P<part>\w+)\.NAOK\s*(?P<sign>==)\s*{_VALUE}",
        rf"(?P<name>[A-Za-z]\w*)(?:\.NAOK|\.value|\.code)?\s*(?P<sign><=|>=|!=|==|<|>)\s*{_VALUE}",
    ),
}
_PATTERNS = {tool: [re.compile(atom, re.IGNORECASE) for atom in atoms] for tool, atoms in _ATOMS.items()}
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
    "=": lambda x, y: x == y, "!=": lambda x, y: x != y,
}  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """One comparison of an earlier answer with a value; ``sign`` is "has" for one of several choices."""

    question: str
    sign: str
    value: str

    def holds(self, codes: Sequence[str]) -> frozenset[int] | None:
        """The places of the answers for which it holds; None where the value is not an answer."""
        if self.sign in ("=", "!=", "has"):
            place = next((i for i, code in enumerate(codes) if code == self.value or _same(code, self.value)), None)
            if place is None:
                return None
            return frozenset({place}) if self.sign != "!=" else frozenset(range(len(codes))) - {place}
        numbers = [_number(code) for code in codes]
        limit = _number(self.value)
        if limit is None or any(x is None for x in numbers):
            return None
        return frozenset(i for i, x in enumerate(numbers) if x is not None and _SIGNS[self.sign](x, limit))


@dataclass(frozen=True)
class Condition:
    """Comparisons of which ``every`` one, or else any one, must hold."""

    comparisons: tuple[Comparison, ...]
    every: bool = True


_CHOICE = re.compile(r"""\s*if\s*\((?P<when>.+),\s*(?P<yes>'[^']*'|"[^"]*"|-?[\d.]+)\s*,[^,]*\)\s*""", re.IGNORECASE | re.DOTALL)
"""A calculation that has a value of its own if a condition holds."""


def without_calculated(text: str, tool: str, calculated: Mapping[str, str]) -> str:
    """A condition with what calculated fields stand for: other fields, or ``if(condition, value, …)`` that has the value.

    >>> without_calculated("${adult} = 'yes'", "XLSForm", {"adult": "if(${age} >= 18, 'yes', 'no')"})
    '(${age} >= 18)'
    """
    sign = {"XLSForm": ("${", "}"), "REDCap": ("[", "]")}[tool]
    for name, formula in list(calculated.items())[::-1]:
        field_, whole = re.escape(f"{sign[0]}{name}{sign[1]}"), formula.strip().replace("\\", "")
        if re.fullmatch(rf"{re.escape(sign[0])}\w+{re.escape(sign[1])}", whole):
            text = re.sub(field_, whole, text)
        elif (choice := _CHOICE.fullmatch(whole)) is not None:
            value = re.escape(choice["yes"].strip("'\""))
            text = re.sub(rf"""{field_}\s*=\s*['"]?{value}['"]?(?![\w.])""", f"({choice['when']})", text)
    return text


def read_condition(text: str, tool: str) -> Condition | None:
    """The condition in a tool's own writing.

    >>> read_condition("${smokes} = 'yes' and ${age} >= 18", "XLSForm").comparisons[1]
    Comparison(question='age', sign='>=', value='18')
    >>> read_condition("[sex] = '1' or [sex] = '3'", "REDCap").every, read_condition("not(${a} = 1)", "XLSForm")
    (False, None)
    """
    made: list[Comparison] = []

    def take(match: re.Match[str]) -> str:
        parts = match.groupdict()
        value = next((parts[key] for key in "abc" if parts.get(key) is not None), "")
        sign = {"==": "=", "<>": "!=", "": "has"}.get(parts["sign"], parts["sign"])
        if parts.get("part") is not None:
            if value not in ("1", "Y"):
                return "?"
            sign, value = "has", parts["part"]
        made.append(Comparison(parts["name"], sign, value))
        return f"\x00{len(made)}"

    rest = text
    for pattern in _PATTERNS[tool]:
        rest = pattern.sub(take, rest)
    order = [int(number) - 1 for number in re.findall(r"\x00(\d+)", rest)]
    joined = re.sub(r"\x00\d+", "A", rest)
    joined = re.sub(r"[\s()]+", " ", joined).strip().lower().replace("&&", "and").replace("||", "or")
    comparisons = tuple(made[i] for i in order)
    if re.fullmatch(r"a(?: and a)*", joined):
        return Condition(comparisons)
    return Condition(comparisons, every=False) if re.fullmatch(r"a(?: or a)*", joined) else None


def _same(code: str, value: str) -> bool:
    """Whether two codes are the same number: 1 and 1.0, 01 and 1."""
    x, y = _number(code), _number(value)
    return x is not None and x == y


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


MOST_CHOICES = 16
"""Choices of a question with several answers that are kept as one question of 2^n answers; more are split."""
MOST_RANKED = 9
"""Things put in order that are kept as one question of n! answers."""
MOST_LISTED = 200
"""Answers of an earlier question that a document lists."""
LONGEST_LABEL = 10
"""Words of a text that still name a thing: a longer one speaks of several."""
PLACES = ("position", "street")
NUMBERS, MOST_INSIDE = ("person_number", "record_number"), 1000
"""Topics of numbers of somebody or something, and answers up to which such a number counts things: floors of a house."""
OPEN = ("text", "date", "place", "file", "name", "amount")
SHORTEST_TEXT = 5
"""Words up to which a text says no more than a name would."""
WORLD = "the world's people"
OLD = 100
"""An age up to which a question must go to leave hardly anybody out."""
SOMEBODY_ELSE = frozenset(
    "baby child children daughter father head household infant kid member mother partner son spouse".split()
)
"""Words of a question that asks for the sex or the age of somebody else."""
CONSENT_ANSWERS = 4
"""A question with more answers is not about taking part."""


@dataclass(frozen=True)
class FormQuestion:
    """One question of a form.

    ``kind`` is ``closed`` or ``number`` (``answers`` of them), ``several`` or ``ranked`` (of ``answers`` choices), ``trigger``
    (a box to tick), or one of the open ones: ``text``, ``date``, ``place``, ``file``, ``name``, ``amount`` (a number without
    bounds). ``codes`` are the answers as conditions name them, ``labels`` as people read them. ``conditions`` say who is asked,
    None among them is one that is not understood. ``alone``: one of several choices excludes the others. ``depends``: the
    question whose answer decides about the choices, and the places of the choices for each of its codes. ``recorded``: the tool
    fills it in; ``repeated``: it may be answered several times.
    """

    name: str
    kind: str
    answers: int = 0
    text: str = ""
    identifier: bool = False
    codes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    conditions: tuple[Condition | None, ...] = ()
    alone: bool = False
    depends: tuple[str, Mapping[str, tuple[int, ...]]] | None = None
    recorded: bool = False
    repeated: bool = False

    @property
    def cells(self) -> list[int]:
        """How many answers the question has, in parts where it has very many; empty for an open question."""
        if self.kind in ("closed", "number", "trigger") and self.answers >= 1:
            return [self.answers]
        if self.kind == "ranked" and 1 <= self.answers <= MOST_RANKED:
            return [math.factorial(self.answers)]
        if self.kind != "several" or self.answers < 1:
            return []
        sizes = [min(MOST_CHOICES, self.answers - i) for i in range(0, self.answers, MOST_CHOICES)]
        return [2 ** (size - self.alone) + self.alone if len(sizes) == 1 else 2**size for size in sizes]

    @cached_property
    def topic(self) -> Topic | None:
        """What the finder takes the question for, by its name and, where that says nothing, by its text if it is short."""
        return topics_beside([(self.name, self.text if len(self.text.split()) <= LONGEST_LABEL else "")])[0]

    @property
    def about_taking_part(self) -> bool:
        """Whether it asks for consent, or whether to go on: everybody in the data said the same."""
        if self.kind == "trigger":
            return True
        most = {"closed": CONSENT_ANSWERS, "several": 1}.get(self.kind, 0)  # several of one choice: a box to tick
        if self.answers > most:
            return False
        name, text = (tuple(filter(None, (words, telling(words)))) for words in (words_of(self.name), words_of(self.text)))
        short = text if len(words_of(self.text)) <= LONGEST_LABEL else ()  # a long one may exclude something else
        return any(found_in(words, pattern) for words in (*name, *text) for pattern in phrases("questions", "consent")) or any(
            found_in(words, pattern) for words in (*name, *short) for pattern in phrases("questions", "eligible")
        )

    @property
    def about_interview(self) -> bool:
        """Whether it is about the interview and not the person: who asks, and when."""
        texts = (self.name, self.text if len(self.text.split()) <= SHORTEST_TEXT else "")
        ways = {telling(words_of(text)) or words_of(text) for text in texts if text} | {words_of(self.name)}
        return self.recorded or any(found_in(words, pattern) for words in ways for pattern in phrases("questions", "interview"))

    @property
    def usual_code(self) -> str:
        """``sex`` or ``age/years``, where everybody is asked for their own, with answers that counts of a place have."""
        words = (*words_of(self.name), *words_of(self.text))
        if self.topic is None or self.repeated or self.conditions or any(word in SOMEBODY_ELSE for word in words):
            return ""
        named = [meant(("F", "M"), text) for text in (self.labels or self.codes)]
        if self.topic.key == "sex" and self.kind == "closed" and sorted(map(str, named)) == ["F", "M"]:
            return "sex"
        return "age/years" if self.topic.key == "age" and self.kind == "number" and len(self.codes) == self.answers else ""

    @property
    def of_everybody(self) -> bool:
        """Whether a question for sex or age leaves hardly anybody out."""
        return self.usual_code == "sex" or (int(self.codes[0]) <= 0 and int(self.codes[-1]) >= OLD)

    def usual_shares(self, listed: Mapping[str, float], country: str = "") -> tuple[list[float], str] | None:
        """The shares of its answers and whose they are; None for a question that is not usual, or with answers nobody counted.

        ``listed`` are the shares of the sexes and of single ages. A choice that is not listed (other, not known) has
        :data:`RARE`, and so have together all ways to choose several.
        """
        words, key = (*words_of(self.name), *words_of(self.text)), "" if self.topic is None else self.topic.key
        texts = self.codes if self.kind == "number" else self.labels or self.codes
        if self.kind not in ("closed", "number", "several") or len(texts) != self.answers or len(self.cells) > 1 or self.alone:
            return None
        own, whose = not any(w in SOMEBODY_ELSE for w in words), ""
        each = [listed.get(str(meant(("F", "M"), re.sub(r"(?i)^cis\W*", "", x))), 0.0) for x in texts] if key == "sex" else []
        if key == "age":
            each = by_number(listed, texts)
        if key in ("sex", "age") and not own:
            return None
        if not each and (usual := usual_shares(key, f"{self.name} {self.text}", texts, country, own=own)):
            each, whose = usual
        whole = np.array([share or RARE * (self.kind != "number") for share in each])
        if sum(share > 0 for share in each) < 2:
            return None
        shares = whole / whole.sum()
        if self.kind == "several":
            one, shares = shares, np.full(self.cells[0], RARE / (self.cells[0] - self.answers))
            shares[1 << np.arange(self.answers)] = (1 - RARE) * one
        return shares.tolist(), whose

    @property
    def flag(self) -> Flag | None:
        """Why it harms, where it does: by its kind, by the words of its name and text, or because the form itself says so."""
        if self.about_interview:
            return None
        direct = self.topic if self.topic is not None and self.topic.role is Role.DIRECT else None
        if self.kind == "place" or (direct is not None and direct.key in PLACES and self.kind in OPEN):
            return Flag(self.name, "place", "an exact place finds a person's home.", "Ask for a region, or round it.")
        few = self.kind == "number" and direct is not None and direct.key in NUMBERS and self.answers <= MOST_INSIDE
        asks = direct is not None and direct.key != "text" and self.kind in (*OPEN, "number") and not few
        if self.kind == "name" or asks or (self.identifier and self.kind in OPEN):
            marked = "it names people, or their devices." if self.kind == "name" else "the form marks it as an identifier."
            says = f"it asks for {direct.says}." if direct is not None and asks else marked
            return Flag(self.name, "name", says, "Leave it out, or keep it apart from the answers.")
        if self.kind == "text":
            return Flag(self.name, "text", "people name themselves and others in free text.", "Offer answers to choose from.")
        if self.kind == "date":
            return Flag(self.name, "date", "an exact date narrows the crowd by hundreds.", "Ask for a year, or a band of years.")
        if self.kind == "file":
            return Flag(self.name, "file", "pictures, sounds and files show people.", "Leave it out.")
        if self.kind == "amount":
            return Flag(self.name, "amount", "how many answers it has is not known.", "Set limits, or offer bands.")
        return None


def number_or_amount(name: str, text: str, bounds: tuple[int, int] | None, *, coded: bool = True, **more: Any) -> FormQuestion:
    """A question for a whole number; an age has bounds of its own. ``coded``: conditions may compare the answers."""
    if bounds is None and (topic := topics_beside([(name, text)])[0]) is not None and topic.key == "age":
        bounds = (0, AGES - 1)
    if bounds is None or bounds[1] < bounds[0]:
        return FormQuestion(name, "amount", text=text, **more)
    low, high = bounds
    codes = tuple(map(str, range(low, high + 1))) if coded and high - low <= 10_000 else ()
    return FormQuestion(name, "number", high - low + 1, text=text, codes=codes, **more)


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

    @property
    def ignored(self) -> dict[str, str]:
        """Questions that do not count, each with the reason."""
        unlisted = {q.name: "too many orders to count" for q in self.questions if q.flag is None and not q.cells}
        taking_part = {q.name: "about taking part" for q in self._closed if q.about_taking_part}
        return taking_part | unlisted | {q.name: "about the interview" for q in self.questions if q.about_interview}

    @cached_property
    def _closed(self) -> tuple[FormQuestion, ...]:
        return tuple(q for q in self.questions if q.flag is None and q.cells)

    @cached_property
    def roles(self) -> dict[str, Role]:
        """What the finder takes each closed question for, by its words; others know what the form marks as an identifier."""
        facts = [_facts(q) for q in self._closed]
        out = {}
        for q, finding in zip(self._closed, find_columns(facts), strict=True):
            code = finding.role is Role.INSENSITIVE and q.topic is not None and q.topic.role is Role.DIRECT
            shown = any(e.kind in ("name", "values") for e in finding.evidence)
            sure = shown and not code and finding.role is not Role.DIRECT
            out[q.name] = Role.QUASI if q.identifier else finding.role if sure else Role.UNDECIDED
        return out

    def entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Closed questions as a questionnaire describes them, with names of their own: a second one of a name is numbered."""
        gates: dict[str, tuple[str, FormQuestion, bool]] = {}
        seen: dict[str, int] = {}
        skip = {q.name for q in self._closed if q.about_taking_part or q.about_interview}
        for q in self._closed:
            if q.name in skip:
                continue
            spec: dict[str, Any] = {"text": q.text} if q.text else {}
            role = self.roles[q.name]
            if role is not Role.QUASI:
                spec["role"] = role.value
            when, all_asked = _asked_after(q.conditions, gates, skip)
            given = _shares_given(q, gates) if when is None and all_asked else None
            more = int(not all_asked and when is None)
            if when is not None:
                spec["when"] = when
            if given is not None:
                spec["when"], spec["given"] = given
            if q.kind == "number" and not more:
                spec |= {"ordered": True, "band": 1}
            for i, cells in enumerate(q.cells):
                name = q.name if len(q.cells) == 1 else f"{q.name} ({i + 1} of {len(q.cells)})"
                seen[name] = seen.get(name, 0) + 1
                own = name if seen[name] == 1 else f"{name} #{seen[name]}"
                yield own, {"values": cells + more, **spec}
            if len(q.cells) == 1 and not more:
                gates[q.name] = (own, q, when is not None)

    def document(self, **about: Any) -> dict[str, Any]:
        """The content of a ``questions.yml``; ``about`` are population, respondents, target."""
        questions = {}
        for name, spec in self.entries():
            given, when = spec.pop("given", None), spec.pop("when", None)
            if when is not None and given is None:
                if len(when[1]) <= MOST_LISTED:
                    spec["when"] = {when[0]: list(when[1])}
                else:
                    spec["values"] += 1
            questions[name] = spec
        beside = {flag.question: flag.kind for flag in self.flags}
        return {**about, "questions": questions, **({"open": beside} if beside else {})}

    def questionnaire(self, asked: Asked | None = None, **about: Any) -> Questionnaire:
        """The questionnaire; ``flags`` are the questions that name people or have open answers.

        ``asked`` is the place whose people are asked: its counts give the shares of their sex and age.
        """
        if asked is not None and isinstance(about["population"], str):
            about |= {"population": asked.published("sex", "sex").people}
        q, usual = Questionnaire(**about), {x.usual_code: x for x in reversed(self._closed) if x.usual_code}
        known = {x.name: x for x in usual.values()}
        q.by_place = tuple(known) if asked is None or asked.population == ANYWHERE else ()
        guesses = [] if asked is None else [(x.name, x.usual_shares(asked.of_everybody, asked.country)) for x in self._closed]
        likely = {name: shares for name, shares in guesses if shares is not None}  # and whose they are
        for name, spec in self.entries():
            options = {key: value for key, value in spec.items() if key != "text"}
            q.texts[whole_question(name)] = spec.get("text", "")
            if name in known and asked is not None:
                options |= _of_place(known[name], asked)
            elif name in likely and len(likely[name][0]) == options["values"] and "given" not in options:
                options |= {"values": None, "shares": likely[name][0], "source": "guess"}
            q.add(name, **options)
        if asked is not None and known:
            self._use_place(q, known, asked)
        guessed = {n: whose for n, (_, whose) in likely.items() if n not in known and q.questions[n].source == "guess"}
        q.notes += whose_shares(guessed)
        if not q.questions:
            naming = sum(flag.kind in ("name", "place") for flag in self.flags)
            hint = f"Only choices and bounded numbers count. {len(self.flags)} questions are open, {naming} name people."
            raise PolicyError(f"the form of {self.tool} has no closed question.", hint=hint)
        q.flags, q.ignored, q.notes = self.flags, self.ignored, (*q.notes, *self.notes)
        return q

    def _use_place(self, q: Questionnaire, known: Mapping[str, FormQuestion], asked: Asked) -> None:
        """What the counts of a place say of sex and age together; of people anywhere, how it is in every country."""
        whole = asked.together(list(known)) if len(known) > 1 else None
        note = f"{', '.join(known)}: shares of the people of {asked.population}, if respondents answer for themselves"
        if asked.population == ANYWHERE:
            note = f"{', '.join(known)}: shares of {WORLD}, a guess"
            if whole is not None and whole.share is not None and all(x.of_everybody for x in known.values()):
                share = whole.share(q.respondents, None)
                note += f"; by them alone {as_percent(share.low)} to {as_percent(share.high)} would be unique in any country"
        elif whole is not None and len(q.published) > 1:
            q.published[frozenset(known)] = whole
        q.notes = (note,)


def whose_shares(guessed: Mapping[str, str]) -> tuple[str, ...]:
    """A note for each kind of people whose shares are taken for questions."""
    names_of = {whose: [name for name in guessed if guessed[name] == whose] for whose in guessed.values()}
    return tuple(f"{', '.join(names)}: shares of {whose or WORLD}, a guess" for whose, names in names_of.items())


def add_listed(q: Questionnaire, name: str, spec: Mapping[str, Any], asked: Asked) -> None:
    """Add a question of a ``questions.yml`` whose answers are a list: with the usual shares, or each as likely as the next."""
    labels = tuple(map(str, spec["answers"]))
    question = FormQuestion(name, "closed", len(labels), str(spec.get("text", "")), labels=labels).usual_shares(
        asked.of_everybody, asked.country
    )
    each, source = (question[0], "guess") if question else ([1 / max(1, len(labels))] * len(labels), "uniform")
    add_question(q, name, {"source": source, **spec, "answers": dict(zip(labels, each, strict=True))}, asked)
    q.notes += whose_shares({name: question[1]} if question and "source" not in spec else {})


def _of_place(question: FormQuestion, asked: Asked) -> dict[str, Any]:
    """Options of a question with the shares of a place; only of one that leaves nobody out they are known, not guessed."""
    published = asked.published(question.name, question.usual_code)
    if not published.shares:
        return {}
    shares: dict[str, Any] = {"values": None, "shares": (question.usual_shares(published.shares) or ([],))[0], "source": "guess"}
    if asked.population == ANYWHERE or not question.of_everybody:
        return shares
    return shares | {"published": published, "source": "registry" if published.trusted else "kappa"}


def _facts(q: FormQuestion) -> ColumnFacts:
    """A closed question as the finder sees a column: each answer in as many rows as the next."""
    values = q.codes if q.kind == "number" else q.labels or q.codes
    values = tuple(dict.fromkeys(v for v in values if v)) or ("1", "2")
    counts = np.full(len(values), 1000, dtype=np.int64)
    return ColumnFacts(q.name, "int64" if q.kind == "number" else "text", values, counts, 1000 * len(values), label=q.text)


def _asked_after(
    conditions: Sequence[Condition | None], gates: Mapping[str, tuple[str, FormQuestion, bool]], skip: set[str]
) -> tuple[tuple[str, tuple[int, ...]] | None, bool]:
    """The question and the answers after which another is asked, and whether everybody is; neither where it is not understood.

    Of several conditions the one on the latest question is taken: then too many are asked, never too few.
    """
    everybody, best, best_place = True, None, -1
    order = list(gates)
    for condition in conditions:
        if condition is None:
            everybody = False
            continue
        by_gate: dict[str, frozenset[int]] = {}
        for comparison in condition.comparisons:
            if comparison.question in skip and condition.every:
                continue
            everybody = False
            answers = _answers_of(gates.get(comparison.question), comparison)
            if answers is None:
                if condition.every:
                    continue
                by_gate = {}
                break
            before = by_gate.get(comparison.question)
            if before is not None:
                answers = before & answers if condition.every else before | answers
            by_gate[comparison.question] = answers
        if not condition.every and len(by_gate) > 1:
            continue
        for gate, answers in by_gate.items():
            if answers and order.index(gate) >= best_place:
                best, best_place = (gates[gate][0], tuple(sorted(answers))), order.index(gate)
    return best, everybody


def _answers_of(gate: tuple[str, FormQuestion, bool] | None, comparison: Any) -> frozenset[int] | None:
    """The answers of an earlier question for which a comparison holds; None where that is not understood."""
    if gate is None:
        return None
    _, q, conditional = gate
    if conditional and comparison.sign not in ("=", "has"):  # holds for those who were not asked, too
        return None
    answers = comparison.holds(q.codes) if q.codes and len(q.codes) == q.answers else None
    if answers is None or q.kind in ("closed", "number"):
        return answers
    if q.kind != "several" or q.alone or comparison.sign not in ("=", "has"):
        return None
    (place,) = answers
    return frozenset(i for i in range(q.cells[0]) if i >> place & 1)


def _shares_given(q: FormQuestion, gates: Mapping[str, tuple[str, FormQuestion, bool]]) -> tuple[Any, Any] | None:
    """The shares of the choices after each answer of the question that decides about them."""
    if q.depends is None or q.depends[0] not in gates or q.kind != "closed":
        return None
    own, gate, _ = gates[q.depends[0]]
    rows = [(i, q.depends[1][code]) for i, code in enumerate(gate.codes) if q.depends[1].get(code)]
    if gate.kind != "closed" or not rows:
        return None
    table = np.zeros((len(rows), q.answers))
    for row, (_, choices) in zip(table, rows, strict=True):
        row[list(choices)] = 1 / len(choices)
    return (own, tuple(i for i, _ in rows)), table
