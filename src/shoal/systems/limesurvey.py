"""A LimeSurvey survey as people export it: its structure (``.lss``) and the responses as CSV with question and answer codes.

Names and addresses of invited people are in other tables of LimeSurvey, and are not read. Long free text, files, tokens, IP
addresses and referring pages stay behind.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from xml.etree.ElementTree import Element

from shoal.api.forms.limesurvey import once, plain, rows, structure
from shoal.systems.codebook import FREE_TEXT, IDENTIFIERS, Variable, bring_labelled, only
from shoal.systems.folder import Brought

OWN = {"token": IDENTIFIERS, "ipaddr": IDENTIFIERS, "refurl": IDENTIFIERS, "seed": ""}
"""Columns that LimeSurvey adds to the responses."""
LONG = "TU|"
"""Types whose answers are long text or files."""
FIXED = {
    "Y": {"Y": "Yes", "N": "No"},
    "G": {"F": "Female", "M": "Male"},
    "C": {"Y": "Yes", "N": "No", "U": "Uncertain"},
    "E": {"I": "Increase", "S": "Same", "D": "Decrease"},
}
TICKED = {"Y": "Yes"}


def from_limesurvey(source: str | Path, out: str | Path, *, k: int = 5) -> Brought:
    """Labelled data and a drafted policy in the new folder ``out``, from a folder with structure (.lss) and responses (.csv)."""
    folder = Path(source)
    book = only(folder, (".lss",), "the survey's structure")
    return bring_labelled(only(folder, (".csv",), "the responses"), variables(book.read_bytes()), out, k)


def variables(raw: bytes) -> list[Variable]:
    """What a structure says of the columns of exported responses: ``Q1``, and ``Q1[SQ001]`` for a part of a question."""
    root = structure(raw)
    texts = {r.get("qid", ""): plain(r.get("question", "")) for r in rows(root, "question_l10ns")}
    answers = _answers(root)
    parts = defaultdict(list)
    for row in rows(root, "subquestions"):
        parts[row.get("parent_qid", "")].append(row)
    found, seen = [Variable(name, left=why) for name, why in OWN.items() if why], set()
    for row in rows(root, "questions"):
        key, kind = row.get("qid", ""), row.get("type", "")
        if row.get("parent_qid", "0") not in ("", "0") or key in seen:
            continue
        seen.add(key)
        name, text = row.get("title", ""), texts.get(key) or plain(row.get("question", ""))
        values = TICKED if kind in "MP" else FIXED.get(kind, answers[key])
        left, measure = (FREE_TEXT if kind in LONG else ""), "nominal" if values else ""
        inner = once(parts[key])
        if not inner:
            found.append(Variable(name, text, values, measure=measure, left=left))
        for part in inner:
            words = texts.get(part.get("qid", "")) or plain(part.get("question", ""))
            found.append(Variable(f"{name}[{part.get('title', '')}]", f"{text}: {words}", values, measure=measure, left=left))
        if row.get("other", "") == "Y":
            found.append(Variable(f"{name}[other]", f"{text}: other", left=FREE_TEXT))
    return found


def _answers(root: Element) -> dict[str, dict[str, str]]:
    """Codes and labels of the answers of each question."""
    texts = {r.get("aid", ""): plain(r.get("answer", "")) for r in rows(root, "answer_l10ns")}
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in rows(root, "answers"):
        label = texts.get(row.get("aid", "")) or plain(row.get("answer", ""))
        found[row.get("qid", "")].setdefault(row.get("code", ""), label)
    return found
