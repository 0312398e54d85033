"""Meters and suggestions of questionnaires: worked out once for each text, suggestions in a thread of their own."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from typing import Any

import shoal
from shoal.api.arguments import population_of
from shoal.api.design import resolver
from shoal.api.table_predictions import with_pilot
from shoal.errors import ShoalError, UsageError
from shoal.forms import FormQuestion
from shoal.model.display import as_percent, one_in
from shoal.prediction.questionnaire.meter import Meter
from shoal.prediction.questionnaire.questionnaire import Questionnaire
from shoal.prediction.questionnaire.suggest import Suggestion
from shoal.report.charts import dial, staircase
from shoal.report.charts.bars import share_words as percent
from shoal.studio.here import problem_of
from shoal.studio.views.measured import PHONE
from shoal.studio.workspace import Workspace, question_edits
from shoal.studio.workspace.question_edits import document_of

KEPT = 64
PATIENCE = 1.0
"""Seconds that a page waits for suggestions; the next look finds them."""


@dataclass(frozen=True)
class Metered:
    asked: Questionnaire
    meter: Meter


class Meters:
    """What is known of the questionnaires that are looked at."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="questions")
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Future[Any]] = OrderedDict()

    def metered(self, text: str) -> Metered:
        """The numbers; errors of the library are the caller's to show."""

        def work() -> Metered:
            asked = self._with_pilot(question_edits.questionnaire_of(text, resolver("")), question_edits.pilot_of(text))
            return Metered(asked, asked.meter())

        answer: Metered = self._once("meter", text, work, here=True).result()
        return answer

    def suggested(self, text: str) -> list[Suggestion] | None:
        """The cheapest change first, then single ones; None while they are looked for."""
        asked = self.metered(text).asked
        answer = self._once("suggest", text, lambda: [asked.suggest(), *asked.single_changes()])
        try:
            out: list[Suggestion] = answer.result(PATIENCE)
        except NotYet:
            return None
        return out

    def _with_pilot(self, asked: Questionnaire, table_id: str) -> Questionnaire:
        if not table_id or not asked.questions:
            return asked
        tables = self._workspace.tables
        kept = tables.get(table_id)
        with shoal.open(tables.path(kept), **kept.read) as table:
            return with_pilot(asked, table)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _once(self, kind: str, text: str, work: Callable[[], Any], *, here: bool = False) -> Future[Any]:
        key = (kind, hashlib.sha256(text.encode("utf-8")).hexdigest())
        with self._lock:
            future = self._known.get(key)
            if future is None:
                future = Future() if here else self._pool.submit(work)
                self._known[key] = future
                while len(self._known) > KEPT:
                    self._known.popitem(last=False)[1].cancel()
            else:
                here = False
        if here:
            try:
                future.set_result(work())
            except BaseException as error:
                with self._lock:
                    self._known.pop(key, None)
                future.set_exception(error)
        return future


EXAMPLE = """\
title: Staff survey
population: 3400
respondents: 1200
target: 0.05
questions:
  sex: {answers: {woman: 0.52, man: 0.46, another: 0.02}, text: Are you a woman or a man?}
  age: {range: [18, 67], band: 5, unit: year, text: How old are you?}
  department: {values: 14, text: In which department do you work?}
  service:
    answers: {under 2: 0.28, 2 to 4: 0.24, 5 to 9: 0.22, 10 to 19: 0.16, 20 and more: 0.1}
    ordered: true
    source: guess
    text: How many years have you worked here?
  contract: {answers: {permanent: 0.7, temporary: 0.22, on call: 0.08}, source: guess, text: What contract do you have?}
"""


MOST_TEXT = 500
MOST_NAME = 60


def spec_of(fields: dict[str, str]) -> dict[str, Any]:
    how = fields.get("how", "")
    if how == "values":
        spec: dict[str, Any] = {"values": whole(fields.get("values", ""), "the number of answers")}
        if fields.get("ordered") == "1":
            spec["ordered"] = True
    elif how == "range":
        low, high = whole(fields.get("low", ""), "the lowest number"), whole(fields.get("high", ""), "the highest number")
        spec = {"range": [low, high], "band": whole(fields.get("band", "") or "1", "the width of a band")}
        if fields.get("unit", "").strip():
            spec["unit"] = fields["unit"].strip()[:20]
    elif how == "answers":
        spec = {"answers": answers_of(fields.get("answers", ""))}
        if fields.get("known") != "1":
            spec["source"] = "guess"
        if fields.get("ordered") == "1":
            spec["ordered"] = True
    elif how == "registry":
        code, place = fields.get("code", "").strip(), fields.get("place", "").strip()
        if not code or not place:
            raise UsageError("a registry is asked by a code and a place.", hint="For instance age/years and UK/Leeds@2019.")
        spec = {"registry": {"code": code, "population": place}}
    else:
        raise UsageError("this way to describe answers is not known.", hint="Choose one of those shown.")
    wording = " ".join(fields.get("text", "").split())[:MOST_TEXT]
    return spec | ({"text": wording} if wording else {}) | ({"keep": True} if fields.get("keep") == "1" else {})


def answers_of(text: str) -> dict[str, float]:
    """Shares from lines such as ``woman 51``; they are parts of their sum.

    >>> answers_of("woman 51\\nman: 49 %")
    {'woman': 0.51, 'man': 0.49}
    """
    shares: dict[str, float] = {}
    for line in filter(str.strip, text.splitlines()):
        parts = re.fullmatch(r"\s*(.*?)[\s:=;,]+([0-9]+(?:[.,][0-9]+)?)\s*%?\s*", line)
        if parts is None or not parts[1]:
            raise UsageError("an answer is a word and its share.", hint="Write one on each line, for instance: woman 51")
        if parts[1] in shares:
            raise UsageError("an answer is there twice.", hint="Give each answer its own line.")
        shares[parts[1][:80]] = float(parts[2].replace(",", "."))
    total = sum(shares.values())
    if len(shares) < 2 or total <= 0:
        raise UsageError("a question has at least two answers, and some share.", hint="Write one on each line: woman 51")
    return {name: float(f"{share / total:.9g}") for name, share in shares.items()}


def about_of(fields: dict[str, str]) -> dict[str, Any]:
    """Who could be asked, who answers, what is aimed for; only what was sent."""
    out: dict[str, Any] = {}
    if "population" in fields:
        out["population"] = population_of(fields["population"].replace(",", "").strip() or "0")
    if "respondents" in fields:
        out["respondents"] = whole(fields["respondents"].replace(",", ""), "the number of respondents")
    if "target" in fields:
        share = fields["target"].replace("%", "").replace(",", ".").strip()
        if not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", share) or not 0 < float(share) <= 100:
            raise UsageError("the aim is a share of those who answer.", hint="Write 5 for 1 in 20.")
        out["target"] = float(f"{float(share) / 100:.9g}")
    return out


def name_of(fields: dict[str, str]) -> str:
    name = " ".join(fields.get("name", "").split())
    if not name or len(name) > MOST_NAME or not name.isprintable():
        raise UsageError("a question needs a short name.", hint=f"Take at most {MOST_NAME} letters, for instance: age")
    return name


def whole(text: str, what: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,12}", text.strip()):
        raise UsageError(f"{what} is not a whole number.", hint="Write figures only.")
    return int(text)


SOURCES = {
    "given": "shares: known",
    "table": "shares: counted",
    "registry": "shares: registry",
    "uniform": "shares: all alike",
    "kappa": "shares: a shape from the registry",
    "guess": "shares: own guess",
}
GRADES = {
    "A": "everything about the answers is known",
    "B": "the shares come from a registry or a table",
    "C": "something is guessed: shares, or that answers do not depend on each other",
}
HALF = (0.45, 0.55)


def shown(meters: Meters, text: str) -> dict[str, Any]:
    """Cards, dial, staircase, suggestions, warnings; with a problem instead of numbers where the library has one."""
    document = document_of(text)
    out: dict[str, Any] = {
        "document": document,
        "cards": [_card(name, spec) for name, spec in document["questions"].items()],
        "flags": [f for n, kind in (document.get("open") or {}).items() if (f := FormQuestion(n, str(kind)).flag) is not None],
        "m": None,
        "problem": None,
        "changes": [],
        "waiting": False,
    }
    if not document["questions"]:
        return out
    try:
        metered = meters.metered(text)
        suggested = meters.suggested(text)
    except ShoalError as error:
        return out | {"problem": problem_of(error)}
    steps = {step.question: step for step in metered.meter.waterfall}
    for card in out["cards"]:
        factor = f"{steps[card['name']].factor:.1f}" if card["name"] in steps else ""
        card |= {"factor": factor, "source": SOURCES.get(metered.asked.questions[card["name"]].source, "")}
    return out | _numbers(metered) | {"changes": _changes(suggested or [], metered), "waiting": suggested is None}


def _numbers(meter: Metered) -> dict[str, Any]:
    m, asked = meter.meter, meter.asked
    chart = dial(m.unique.value, (m.unique.low, m.unique.high), m.target, title="Share of respondents who would be one of a kind")
    steps = m.waterfall
    crowd = [asked.population * 1.0, *(s.crowd for s in steps)]
    names, texts = ["asked", *(s.question for s in steps)], {"title": "How the crowd shrinks", "y": "people you hide among"}
    stairs = [staircase(names, crowd, few=asked.small_group, width=width, **texts) for width in (640, PHONE - 88)]
    return {
        "m": m,
        "asked": asked,
        "said": sentence(m.unique.value),
        "range": (as_percent(m.unique.low), as_percent(m.unique.high)),
        "aim": one_in(m.target),
        "dial": chart,
        "stairs": stairs,
        "grade": GRADES[m.unique.grade],
        "three": [(", ".join(names), percent(share)) for names, share in (m.triples or m.pairs)[:3]],
        "notes": [*m.unique.notes, *asked.notes],
        "letter": asked.paragraph(),
    }


def sentence(share: float) -> str:
    """How many could be recognised, as people say it.

    >>> sentence(0.52), sentence(0.031), sentence(0.0), sentence(0.985)
    ('half of your respondents', '3.1 % of your respondents', 'hardly anybody', 'nearly all of your respondents')
    """
    if HALF[0] <= share <= HALF[1]:
        return "half of your respondents"
    if share < 0.0005:
        return "hardly anybody"
    return "nearly all of your respondents" if share >= 0.98 else f"{percent(share)} of your respondents"


def _card(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A question as its card shows it, and as its form is filled."""
    how = next((h for h in ("values", "range", "answers", "registry") if h in spec), "")
    low, high = spec["range"] if how == "range" else (18, 97)
    band, unit = spec.get("band", 1), spec.get("unit", "")
    listed = spec.get("answers") if how == "answers" else {}
    described = {
        "values": f"{spec.get('values')} answers",
        "range": f"{low} to {high}" + (f", {band:g}-{unit or 'number'} bands" if band != 1 else ""),
        "answers": f"{len(listed or {})} answers",
        "registry": str((spec.get("registry") or {}).get("code", "")) if isinstance(spec.get("registry"), dict) else "",
    }.get(
        how,
        next((f"{len(spec[k])} answers" for k in ("shares", "counts") if isinstance(spec.get(k), list)), "described in the file"),
    )
    registry = spec.get("registry") if isinstance(spec.get("registry"), dict) else {}
    form = {"low": low, "high": high, "band": band, "unit": unit, "values": spec.get("values", 5)}
    return {
        **form,
        "name": name,
        "text": spec.get("text", ""),
        "how": how,
        "described": described,
        "answers": "\n".join(f"{a} {100 * s:.6g}" for a, s in (listed or {}).items()),
        "known": spec.get("source") != "guess" and how == "answers",
        "ordered": bool(spec.get("ordered")),
        "keep": bool(spec.get("keep")),
        "code": registry.get("code", "") if registry else "",
        "place": registry.get("population", "") if registry else "",
        "factor": "",
        "source": "",
    }


def _changes(suggested: list[Suggestion], meter: Metered) -> list[dict[str, Any]]:
    """Suggestions as buttons; what they would do stands on them."""
    out = []
    for number, one in enumerate(suggested):
        if one.changes:
            words = "; ".join(c.text for c in one.changes)
            shares = {"before": percent(one.before), "after": percent(one.after), "share": one.after}
            out.append(
                {"number": number, "words": words[:1].upper() + words[1:], "reached": one.after <= meter.meter.target, **shares}
            )
    return out
