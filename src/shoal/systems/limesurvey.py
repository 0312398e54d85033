"""A LimeSurvey survey as people export it: its structure (``.lss``) and the responses as CSV with question and answer codes, or
the archive (``.lsa``) that holds structure and responses.

Names and addresses of invited people are in other tables of LimeSurvey, and are not read. Long free text, files, tokens, IP
addresses and referring pages stay behind.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from shoal.disk import atomic as disk_folder
from shoal.errors import UnreadableError
from shoal.forms.limesurvey import Row, Survey, rows
from shoal.kernels.text import xml_tree
from shoal.systems.codebook import FREE_TEXT, IDENTIFIERS, Variable, bring_labelled, only
from shoal.systems.folder import Brought, opened

OWN = ("token", "ipaddr", "refurl", "firstname", "lastname", "email")
"""Columns that LimeSurvey can add to the responses and that lead to a person."""
LONG = "TU|;"
"""Types whose answers are long text, files, or text in every cell of an array."""
FIXED = {
    "Y": {"Y": "Yes", "N": "No"},
    "G": {"F": "Female", "M": "Male"},
    "C": {"Y": "Yes", "N": "No", "U": "Uncertain"},
    "E": {"I": "Increase", "S": "Same", "D": "Decrease"},
}
TICKED = {"Y": "Yes"}
GRID = ":;"
"""Arrays of two axes: a column for every cell."""
UNEXPLAINED = "columns that the structure does not explain"


def from_limesurvey(source: str | Path, out: str | Path, *, k: int = 5) -> Brought:
    """Labelled data and a drafted policy in the new folder ``out``, from an archive (.lsa) or a folder with one, or a folder with
    structure (.lss) and responses (.csv)."""
    folder = Path(source)
    if folder.suffix.lower() == ".lsa" and not folder.is_dir():
        return _from_archive(folder, out, k)
    if folder.is_dir() and any(f.suffix.lower() == ".lsa" for f in folder.iterdir()):
        return _from_archive(only(folder, (".lsa",), "the survey's archive"), out, k)
    book = only(folder, (".lss",), "the survey's structure")
    return bring_labelled(only(folder, (".csv",), "the responses"), variables(book.read_bytes()), out, k)


def variables(raw: bytes) -> list[Variable]:
    """What a structure says of the columns of exported responses: ``Q1``, and ``Q1[SQ001]`` for a part of a question."""
    survey = Survey.read(raw)
    columns = [Variable(name, left=IDENTIFIERS) for name in OWN]
    for row in survey.questions:
        kind, name, text, inner = (
            row.get("type", ""),
            row.get("title", ""),
            survey.text_of(row),
            survey.parts.get(row.get("qid", ""), []),
        )
        listed: dict[str, str] = {}
        for scale in survey.answers.get(row.get("qid", ""), {}).values():
            listed |= {code: label for code, label in scale.items() if code not in listed}
        values = TICKED if kind in "MP" else FIXED.get(kind, listed)
        left, measure = (FREE_TEXT if kind in LONG else ""), "nominal" if values else ""
        if not inner:
            columns.append(Variable(name, text, values, measure=measure, left=left))
        for part in inner if kind not in GRID else ():
            words = survey.text_of(part)
            columns.append(Variable(f"{name}[{part.get('title', '')}]", f"{text}: {words}", values, measure=measure, left=left))
        for code in _cells(inner) if kind in GRID else ():
            columns.append(Variable(f"{name}[{code}]", text, left=left))
        columns += [Variable(f"{name}[{code}]", f"{text}: in words", left=FREE_TEXT) for code in _in_words(row, inner)]
    return columns


def _cells(parts: Sequence[Row]) -> list[str]:
    """Codes of the cells of an array of two axes."""
    axes: dict[str, list[str]] = {"0": [], "1": []}
    for part in parts:
        axes.setdefault(part.get("scale_id", "0") or "0", []).append(part.get("title", ""))
    return [f"{one}_{two}" for one in axes["0"] for two in axes["1"]]


def _in_words(row: Row, parts: Sequence[Row]) -> list[str]:
    """Codes of what is answered beside a question in one's own words, and of what belongs to files."""
    kind, other = row.get("type", ""), ["other"] if row.get("other", "") == "Y" else []
    codes = [part.get("title", "") for part in parts] + other if kind == "P" else []
    beside = {"O": ["comment"], "|": ["filecount"]}.get(kind, [])
    return [*other, *(f"{code}comment" for code in codes), *beside]


def _from_archive(archive: Path, out: str | Path, k: int) -> Brought:
    with opened(archive) as held, disk_folder.scratch() as work:
        raw = held.only(".lss", "the survey's structure")
        answered = list(
            rows(xml_tree(held.only("_responses.lsr", "its responses"), "the responses", "Export it again."), "responses")
        )
        if not answered:
            raise UnreadableError(f"'{archive.name}' has no responses.", hint="Export the archive of an active survey.")
        names = _columns(Survey.read(raw))
        there = list(dict.fromkeys(tag.removeprefix("_") for row in answered for tag in row))
        kept = [name for name in there if name in names or not re.match(r"\d", name)]
        with (work / "responses.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([names.get(name, name) for name in kept])
            writer.writerows([row.get(name, row.get(f"_{name}", "")) for name in kept] for row in answered)
        brought = bring_labelled(work / "responses.csv", variables(raw), out, k)
    unknown = {UNEXPLAINED: len(there) - len(kept)} if len(there) > len(kept) else {}
    return Brought(brought.tables, {**brought.left, **unknown})


def _columns(survey: Survey) -> dict[str, str]:
    """The name that an export gives to each column of the table of responses (survey, group and question, then the part)."""
    number = next((row.get("sid", "") for row in rows(survey.root, "surveys")), "")
    columns = {}
    for row in survey.questions:
        name, inner = row.get("title", ""), survey.parts.get(row.get("qid", ""), [])
        at = f"{number}X{row.get('gid', '')}X{row.get('qid', '')}"
        codes = _cells(inner) if row.get("type", "") in GRID else [part.get("title", "") for part in inner]
        columns[at] = name
        columns |= {f"{at}{code}": f"{name}[{code}]" for code in [*codes, *_in_words(row, inner)]}
        columns[f"{at}_filecount"] = f"{name}[filecount]"
    return columns
