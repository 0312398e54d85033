"""What a gate found, in the formats that pipelines read: text, JSON, JUnit, SARIF, Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from shoal.errors import UsageError
from shoal.model.display import written
from shoal.model.requirement import Verdict
from shoal.version import __version__

FORMATS = ("text", "json", "junit", "sarif", "md")


@dataclass(frozen=True, repr=False)
class CheckResult:
    """What a gate found: each requirement judged. ``file`` is the file as it was named, where it is one (of an absolute path the
    last part)."""

    table: str
    findings: tuple[Verdict, ...]
    file: str = ""

    def __repr__(self) -> str:
        met = len(self.findings) - len(self.failed)
        return f"<{type(self).__name__} of {self.table}: {met} of {len(self.findings)} requirements met>"

    @property
    def met(self) -> bool:
        return all(f.met for f in self.findings)

    @property
    def failed(self) -> tuple[Verdict, ...]:
        return tuple(f for f in self.findings if not f.met)

    @property
    def counted(self) -> str:
        """What was counted, in a sentence."""
        raise NotImplementedError

    @property
    def closing(self) -> str:
        """The last line of the text."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        raise NotImplementedError

    def render(self, form: str) -> str:
        """The result as ``json``, ``junit``, ``sarif``, ``md`` or ``text``."""
        makers: dict[str, Callable[[CheckResult], str]]
        makers = {"json": _json, "junit": _junit, "sarif": _sarif, "md": _markdown, "text": _text}
        if form not in makers:
            raise UsageError(f"format '{form}' is not known.", hint=f"Formats: {', '.join(FORMATS)}.")
        return makers[form](self)


def render_all(results: Sequence[CheckResult], form: str) -> str:
    """Several tables in one text of the same format; one table is written as it is."""
    if len(results) == 1:
        return results[0].render(form)
    if form not in FORMATS:
        raise UsageError(f"format '{form}' is not known.", hint=f"Formats: {', '.join(FORMATS)}.")
    texts = [r.render(form) for r in results]
    if form == "json":
        return json.dumps({"ok": all(r.met for r in results), "tables": [r.to_json() for r in results]}, indent=2) + "\n"
    if form == "junit":
        head, *_ = texts[0].split("\n", 1)
        return "\n".join([head, "<testsuites>", *(t.split("\n", 1)[1].rstrip() for t in texts), "</testsuites>"]) + "\n"
    if form == "sarif":
        return _sarif(*results)
    names = [r.file or r.table for r in results]
    heads = [f"## {_cell(n)}\n" if form == "md" else f"{_plain(n)}:" for n in names]
    named = [f"{head}\n{text}" for head, text in zip(heads, texts, strict=True)]
    return "\n".join([*named, _which(results, form)])


def _which(results: Sequence[CheckResult], form: str) -> str:
    """Which of several tables failed."""
    failed = [r.file or r.table for r in results if not r.met]
    if not failed:
        return f"All {len(results)} tables pass.\n"
    names = ", ".join(_cell(n) if form == "md" else _plain(n) for n in failed)
    return f"{len(failed)} of {len(results)} tables fail: {names}.\n"


def file_of(table: Any) -> str:
    """The file of a table with slashes, relative as it was named; empty where the table is not a file."""
    source = Path(str(table.source.get("source", "")))
    try:
        there = source.is_file()
    except (OSError, ValueError):
        there = False
    return ("" if not there else source.name if source.is_absolute() else source.as_posix()).removeprefix("./")


def _in_words(number: float | None) -> str:
    return "none" if number is None else f"{number:,}" if isinstance(number, int) else written(number)


def _line(f: Verdict) -> str:
    return f"{f.sentence}: asked {_in_words(f.requirement.limit)}, found {_in_words(f.found)}"


def _text(result: CheckResult) -> str:
    lines = [f"{'ok  ' if f.met else 'FAIL'} {_line(f)}" for f in result.findings]
    return "\n".join([*lines, result.closing]) + "\n"


def _json(result: CheckResult) -> str:
    return json.dumps(result.to_json(), indent=2, ensure_ascii=False) + "\n"


def _junit(result: CheckResult) -> str:
    cases = []
    for f in result.findings:
        body = "" if f.met else f"<failure message={quoteattr(_line(f))}>{escape(_line(f))}</failure>"
        cases.append(
            f"  <testcase classname={quoteattr('shoal.' + result.table)} name={quoteattr(f.requirement.name)}>{body}</testcase>"
        )
    head = f'<testsuite name="shoal" tests="{len(result.findings)}" failures="{len(result.failed)}" errors="0" skipped="0">'
    text = "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n"
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)  # a hostile column name is one bad sign, not a broken file


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _sarif(*results: CheckResult) -> str:
    """One run over all tables; each rule stands once."""
    rules = {
        f.requirement.name: {"id": f.requirement.name, "shortDescription": {"text": f.sentence}}
        for r in results
        for f in r.findings
    }
    entries = [
        {
            "ruleId": f.requirement.name,
            "ruleIndex": list(rules).index(f.requirement.name),
            "level": "error",
            "message": {"text": _line(f)},
            "locations": [_location(r)],
        }
        for r in results
        for f in r.failed
    ]
    driver = {"name": "shoal", "version": __version__, "rules": list(rules.values())}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": entries}],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _location(result: CheckResult) -> dict[str, Any]:
    """Where a finding belongs: the table, and its file where it is one, so that code scanning shows it there."""
    out: dict[str, Any] = {"logicalLocations": [{"name": result.table, "kind": "resource"}]}
    if result.file:
        out["physicalLocation"] = {"artifactLocation": {"uri": quote(result.file)}, "region": {"startLine": 1}}
    return out


def _markdown(result: CheckResult) -> str:
    head = "### Shoal: requirements met" if result.met else "### Shoal: requirements not met"
    lines: Sequence[str] = [
        f"| {'yes' if f.met else '**no**'} | {_cell(f.sentence)} | {_in_words(f.requirement.limit)} | {_in_words(f.found)} |"
        for f in result.findings
    ]
    return (
        "\n".join([head, "", "| met | requirement | asked | found |", "| --- | --- | ---: | ---: |", *lines, "", result.counted])
        + "\n"
    )


def _plain(text: str) -> str:
    """Text without signs that drive a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def _cell(text: str) -> str:
    """Text that stays inside its Markdown cell."""
    out = escape(_plain(text))
    for sign in "\\`*_[]|!":
        out = out.replace(sign, "\\" + sign)
    return out
