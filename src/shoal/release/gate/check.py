"""The gate: does a table, as it is, meet a policy? Counts only, in the formats that pipelines read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from shoal.errors import UsageError
from shoal.model.counts.classes import ClassCounts
from shoal.model.progress import Progress
from shoal.model.requirement import Verdict
from shoal.model.roles import Role, Schema
from shoal.model.written import written
from shoal.release.gate.asked_here import NoDirect, NoneDropped, PresetHolds, StaysOffTheList
from shoal.release.gate.column_facts import ColumnReader
from shoal.release.gate.count_facts import facts_of_counts
from shoal.release.gate.estimates import estimates
from shoal.release.gate.identifying import check_insensitive
from shoal.release.gate.on_list import class_columns
from shoal.release.gate.population import population_counts
from shoal.release.gate.sensitive_trees import sensitive_trees
from shoal.release.gate.values import linkage_as_it_is
from shoal.release.policy.floor import floor_of
from shoal.release.policy.policy import Policy
from shoal.release.proof.facts import Facts
from shoal.release.proof.judge import Given, judge, recursive_levels
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


@dataclass(frozen=True, repr=False, kw_only=True)
class ClassCheckResult(CheckResult):
    """What the gate found; ``below`` is how many classes, and how many members of them, are smaller than asked."""

    facts: Facts
    below: tuple[int, int]

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.met,
            "table": self.table,
            "k": self.facts.k,
            "records": self.facts.records,
            "classes": self.facts.classes,
            "classes_below": self.below[0],
            "members_below": self.below[1],
            "requirements": [f.to_json() for f in self.findings],
        }

    @property
    def counted(self) -> str:
        below = f"{self.below[0]:,} classes with {self.below[1]:,} members are smaller than asked."
        return f"{self.facts.records:,} records in {self.facts.classes:,} classes; {below}"

    @property
    def closing(self) -> str:
        return "The gate is open." if self.met else f"{self.below[0]:,} classes with {self.below[1]:,} members are too small."


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
    named = [f"{_head(r, form)}\n{text}" for r, text in zip(results, texts, strict=True)]
    return "\n".join([*named, _which(results, form)])


def _head(result: CheckResult, form: str) -> str:
    """The table that the lines below are about."""
    name = result.file or result.table
    return f"## {_cell(name)}\n" if form == "md" else f"{_plain(name)}:"


def _which(results: Sequence[CheckResult], form: str) -> str:
    """Which of several tables failed."""
    failed = [r.file or r.table for r in results if not r.met]
    if not failed:
        return f"All {len(results)} tables pass.\n"
    names = ", ".join(_cell(n) if form == "md" else _plain(n) for n in failed)
    return f"{len(failed)} of {len(results)} tables fail: {names}.\n"


def check(table: Any, policy: Policy, *, progress: Progress | None = None) -> ClassCheckResult:
    """Count a table where it is and judge it; nothing is written.

    Direct identifiers that the policy names must be gone: each one still there is a failed requirement; so is each column that
    no line names where the policy says ``rest: drop``. Else only the columns of which something is asked need a role, unless the
    policy names a preset, which is about the whole table.
    """
    table = table.described(scale=policy.scale, order=policy.order, missing_values=policy.missing_values)
    named = {c for c in (*policy.direct, *table.schema.direct) if c in table.schema}
    policy = policy.completed(table.schema)
    schema = _apply(policy, table.schema)
    if table.only_aggregates:  # values may be read of the columns that the policy names
        table = table.with_roles(**{r.value: [n for n, said in schema.roles.items() if said is r] for r in Role})
    check_insensitive(ColumnReader(table), policy)
    counts = table.count(
        schema.quasi, sensitive=tuple(policy.sensitive), unit=policy.unit, weight=policy.weight, progress=progress
    )
    facts = facts_of_counts(counts, recursive_levels(policy.requirements), sensitive_trees(policy, counts))
    extra: list[Verdict] = [NoDirect().judged(len(named))] if set(policy.direct) - (set(schema.direct) - named) else []
    if policy.rest == "drop":
        extra.append(NoneDropped().judged(len(schema.direct) - len(named)))
    small = counts.sizes[counts.sizes < policy.smallest_class]
    given = {**estimates(policy.requirements, facts), **_against_population(policy, counts), **linkage_as_it_is(table, policy)}
    judged = judge(policy.requirements, facts, given)
    columns = _columns(table, policy)
    findings = (*judged, *extra, *columns, *_preset(policy, (*judged, *columns)))
    below = (len(small), int(small.sum()))
    return ClassCheckResult(table=table.name, facts=facts, findings=findings, below=below, file=file_of(table))


def _against_population(policy: Policy, counts: ClassCounts) -> Given:
    from shoal.measures.classes.presence import matched_sizes

    everybody = population_counts(policy, counts.columns)
    if everybody is None:
        return {}
    own, people, _ = matched_sizes(replace(counts, unit=None), everybody)
    return {("k_map",): int(people[own > 0].min())}


def _preset(policy: Policy, judged: Sequence[Verdict]) -> list[Verdict]:
    """Whether the table may be called by the name of the preset: every part of it asked for and met."""
    rule = policy.preset
    if rule is None:
        return []
    floor = {r.place for r in floor_of(rule, policy.sensitive)}
    parts = [v for v in judged if v.requirement.place in floor or isinstance(v.requirement, StaysOffTheList)]
    return [PresetHolds(rule.name).judged(sum(1 for v in parts if not v.met))]


def _columns(table: Any, policy: Policy) -> list[Verdict]:
    """Columns of the table that the list of the preset does not let stay as they are; direct ones are named already."""
    found = class_columns(table, policy)
    return [
        StaysOffTheList(name, f"{one.classed.title}; {one.classed.evidence}; {one.why}").judged(1)
        for name, one in found.items()
        if one.why and name not in policy.direct
    ]


def file_of(table: Any) -> str:
    """The file of a table with slashes, relative as it was named; empty where the table is not a file."""
    source = Path(str(table.source.get("source", "")))
    try:
        there = source.is_file()
    except (OSError, ValueError):
        there = False
    return ("" if not there else source.name if source.is_absolute() else source.as_posix()).removeprefix("./")


def _apply(policy: Policy, schema: Schema) -> Schema:
    there = {c: m for c, m in policy.direct.items() if c in schema.names}
    return replace(policy, direct=there).apply(schema, all_roles=policy.preset is not None)


def _shown(number: float | None) -> str:
    return "none" if number is None else f"{number:,}" if isinstance(number, int) else written(number)


def _line(f: Verdict) -> str:
    return f"{f.sentence}: asked {_shown(f.requirement.limit)}, found {_shown(f.found)}"


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
    return _xml("\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n")


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _xml(text: str) -> str:
    """Text without the characters that XML 1.0 cannot hold: a hostile column name stays one bad sign, not a broken file."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _sarif(*results: CheckResult) -> str:
    """One run over all tables; each rule stands once."""
    rules = {
        f.requirement.name: {"id": f.requirement.name, "shortDescription": {"text": f.sentence}}
        for r in results
        for f in r.findings
    }
    found = [
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
        "runs": [{"tool": {"driver": driver}, "results": found}],
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
        f"| {'yes' if f.met else '**no**'} | {_cell(f.sentence)} | {_shown(f.requirement.limit)} | {_shown(f.found)} |"
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
