"""What the page of a questionnaire shows; every number is the library's."""

from __future__ import annotations

from typing import Any

from shoal.errors import ShoalError
from shoal.forms import FormQuestion
from shoal.prediction.questionnaire.suggest import Suggestion
from shoal.report.charts import dial, staircase
from shoal.report.charts.bars import share_words as percent
from shoal.studio.questionnaire.meters import Metered, Meters
from shoal.studio.words import in_n
from shoal.studio.workspace.question_edits import document_of

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
        found = meters.metered(text)
        suggested = meters.suggested(text)
    except ShoalError as error:
        return out | {"problem": {"found": error.message[:1].upper() + error.message[1:], "do": error.hint}}
    for card, step in zip(out["cards"], found.meter.waterfall, strict=True):
        card |= {"factor": f"{step.factor:.1f}", "source": SOURCES.get(found.asked.questions[card["name"]].source, "")}
    return out | _numbers(found) | {"changes": _changes(suggested or [], found), "waiting": suggested is None}


def _numbers(found: Metered) -> dict[str, Any]:
    m, asked = found.meter, found.asked
    chart = dial(m.unique.value, (m.unique.low, m.unique.high), m.target, title="Share of respondents who would be one of a kind")
    steps = m.waterfall
    crowd = [asked.population * 1.0, *(s.crowd for s in steps)]
    stairs = staircase(
        ["asked", *(s.question for s in steps)],
        crowd,
        title="How the crowd shrinks",
        y="people you hide among",
        few=asked.small_group,
    )
    return {
        "m": m,
        "asked": asked,
        "said": sentence(m.unique.value),
        "aim": in_n(m.target),
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
    return {
        "name": name,
        "text": spec.get("text", ""),
        "how": how,
        "described": described,
        "values": spec.get("values", 5),
        "low": low,
        "high": high,
        "band": band,
        "unit": unit,
        "answers": "\n".join(f"{a} {100 * s:.6g}" for a, s in (listed or {}).items()),
        "known": spec.get("source") != "guess" and how == "answers",
        "ordered": bool(spec.get("ordered")),
        "keep": bool(spec.get("keep")),
        "code": registry.get("code", "") if registry else "",
        "place": registry.get("population", "") if registry else "",
        "factor": "",
        "source": "",
    }


def _changes(suggested: list[Suggestion], found: Metered) -> list[dict[str, Any]]:
    """Suggestions as buttons; what they would do stands on them."""
    out = []
    for number, one in enumerate(suggested):
        if one.changes:
            words = "; ".join(c.text for c in one.changes)
            out.append(
                {
                    "number": number,
                    "words": words[:1].upper() + words[1:],
                    "before": percent(one.before),
                    "after": percent(one.after),
                    "share": one.after,
                    "reached": one.after <= found.meter.target,
                }
            )
    return out
