"""A first policy for a table: suggested roles with a reason beside each line, questions as comments, for a person to correct."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from shoal.find.roles.decision import CHANGE
from shoal.model.roles import Role

_HEAD = """\
# A draft made by 'shoal anonymize --draft'. Read every line: a guess about a role is not a decision.
title: My release
# recipient: who will receive the data
# preset: internal            # or ema-public, cms-11, strict-public ...
roles:
"""
_MEANING = {
    "direct": "name a person by themselves: removed",
    "quasi": "others may know them: generalized until everybody has company",
    "sensitive": "what must not be learnt about a person",
    "insensitive": "neither: published as they are",
}
_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
"""Bare words that some readers of YAML do not take as text."""

MANY = 40
"""Undecided columns that are listed one by one."""
DOUBT = 0.45
"""Confidence up to which a role is asked."""
ASKED = 12
"""Questions about roles that are written out."""


AMOUNT_KNOWN = "an amount that few share: anyone who pays or receives it knows it, and nothing else was found that others know"
"""Why a draft takes an amount for known."""


def amounts_as_known(inspection: Any, *, k: int = 5) -> Any:
    """An inspection in which nothing is known to others, with the amounts that fewer than ``k`` rows share as quasi-identifiers.

    A table of amounts only is not safe for having no other column: an employer knows a wage, and a wage that one row holds
    names that row. Columns whose role a person has said keep it.
    """
    if inspection.quasi:
        return inspection
    columns = tuple(
        replace(c, role=Role.QUASI, reason=AMOUNT_KNOWN, confidence=DOUBT, change=CHANGE[Role.QUASI])
        if c.scale.value == "number" and not c.mark and c.confidence < 1 and k * c.distinct > inspection.records - c.missing
        else c
        for c in inspection.columns
    )
    return replace(inspection, columns=columns)


KNOWN = 0.05
"""Share of the records that any three published columns may find in the release of an unchanged draft."""
BEST = "the run takes what loses least: one level per column, or local recoding with hierarchy values or with sets"


def draft_policy(
    inspection: Any,
    plan: Any = None,
    read: Collection[str] = (),
    *,
    k: int = 5,
    rest: str = "quasi",
    out: Mapping[str, str] = MappingProxyType({}),
    known: bool = False,
) -> str:
    """YAML text from an :class:`~shoal.api.inspect.Inspection` and, where one was tried, the plan to propose.

    Spellings of "missing" are a question, unless a person has said that those of the columns in ``read`` are read so. Undecided
    columns have no line: ``rest`` says what happens to them until a person names them, ``quasi`` or ``drop``. ``out`` are
    columns that stay out, each with the reason: they follow from others, or find people together with them. ``known`` says that
    this was counted, and limits it.

    >>> from types import SimpleNamespace as S
    >>> column = S(name="age", reason="an age", role=S(value="quasi"), mark="", confidence=0.9, missing_values=(), change="")
    >>> column.kind, column.scale = "integer", S(value="number")
    >>> print(draft_policy(S(columns=(column,), unit=None, weight=None)))  # doctest: +ELLIPSIS
    # A draft...
      quasi:   # others may know them: generalized until everybody has company
        age: {}   # an age
    ...
    """
    left_out = {} if plan is None else {n: f"{100 * x:.0f} % of its cells would be blank" for n, x in plan.left_out.items()}
    left_out |= out
    own = {inspection.unit, inspection.weight} - {None, *left_out}
    named = [c for c in inspection.columns if c.name not in own]
    gone = [c for c in named if c.name in left_out]
    open_ = [c for c in named if c.role.value == "undecided" and c.name not in left_out]
    kept = {role: [c for c in named if c.role.value == role and c.name not in left_out] for role in _MEANING}
    by_name = gone if open_ and rest == "quasi" else []
    parts = [_HEAD]
    for role, mine in kept.items():
        lines = [_line(c, role) for c in mine]
        if role == "direct" and by_name:
            lines.append(
                "    # Left out: they find people, follow from others or blank them. Move one to quasi to keep it in groups.\n"
            )
            lines += [_line(c, role, left_out[c.name]) for c in by_name]
        if lines:
            parts.append(f"  {role}:   # {_MEANING[role]}\n" + "".join(lines))
    if not kept["quasi"] and not (open_ and rest == "quasi"):
        parts.append("  # quasi: {}   # name here what others may know of a person: nothing was found that they would\n")
    parts += _rest([] if by_name else gone, left_out, open_, rest)
    suggested = {role: [*mine, *(by_name if role == "direct" else [])] for role, mine in kept.items()}
    lists = [f"  {role}: [{', '.join(_key(c.name) for c in mine)}]\n" for role, mine in suggested.items() if mine]
    parts += ["found:   # as suggested; a role that you change counts as decided by hand\n", *lists] if lists else []
    parts += _own(inspection, own)
    parts += _scales(kept["quasi"])
    parts += _reading(getattr(inspection, "read", {}))
    if spelled := _missing_lines([c for c in inspection.columns if c.name in read]):
        parts += ["missing_values:   # read as 'no value'\n", *(f"  {line}\n" for line in spelled)]
    parts += _ending(plan, k, known=known)
    return "".join([*parts, *_questions(inspection, left_out, read)])


def _scales(columns: list[Any]) -> list[str]:
    """Whole numbers that are answers in order, as the table together shows: their neighbours are joined."""
    ordered = [c for c in columns if c.kind == "integer" and c.scale.value == "ordered"]
    lines = [f"  {_key(c.name)}: ordered\n" for c in ordered]
    return ["scale:   # numbers that are answers in order: neighbours are joined\n", *lines] if lines else []


def _reading(read: Mapping[str, Any]) -> list[str]:
    """How the file was read, where that is not the usual way: the options of ``--read``, and a comment for each repair."""
    plan = read.get("plan", {})
    if not plan and not read.get("repairs"):
        return []
    lines = [f"  {_key(name)}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in plan.items()]
    head = "read:   # how the file was read; --read takes the same options\n" if lines else ""
    return [head, *lines, *(f"  # {line}\n" if lines else f"# {line}\n" for line in read.get("repairs", ()))]


def _missing_lines(columns: list[Any]) -> list[str]:
    """A line per column with spellings of "missing"."""
    return [f"{_key(c.name)}: [{', '.join(map(_quote, c.missing_values))}]" for c in columns if c.missing_values]


def _rest(gone: list[Any], left_out: Mapping[str, str], open_: list[Any], rest: str) -> list[str]:
    """What happens to the columns that have no line: those that cost too much, and those that nobody has judged."""
    lines = []
    if gone:
        lines.append("  # Left out: they find people, follow from others or blank them (name one under a role to keep it):\n")
        lines += [f"  #   {_key(c.name)}: {_clean(left_out[c.name])}; {c.role.value}: {_clean(c.reason)}\n" for c in gone]
    if open_:
        fate = "treated as quasi-identifiers" if rest == "quasi" else "left out"
        lines.append(f"  # ! Undecided, and therefore {fate}: nothing shows what they are. Name each under one of the roles.\n")
        lines += [f"  #   {_key(c.name)}: {_clean(c.reason)}\n" for c in open_[:MANY]]
        if len(open_) > MANY:
            lines.append(f"  #   … and {len(open_) - MANY:,} more ('shoal inspect' lists all)\n")
    if not lines:
        return []
    meant = "columns that no line names: known to others" if open_ and rest == "quasi" else "columns that no line names"
    return [*lines, f"  rest: {rest if open_ else 'drop'}   # {meant}\n"]


def _own(inspection: Any, own: Collection[str]) -> list[str]:
    why = {c.name: c.reason for c in inspection.columns}
    proposals = (("unit", inspection.unit, "k counts people, not rows"), ("weight", inspection.weight, ""))
    return [
        f"{word}: {_key(name)}   # {'; '.join(p for p in (_clean(why.get(name, '')), more) if p)}\n"
        for word, name, more in proposals
        if name in own
    ]


def _ending(plan: Any, k: int, *, known: bool) -> list[str]:
    """Requirements, limits and method, each with what it means."""
    alike = f"everybody is like at least {k - 1} others; 11 or more for a table that anyone may have"
    condition = f"any three published columns find at most {100 * KNOWN:.0f} % of the records"
    lines = [
        f"require:   # what the release must meet\n  k: {k}   # {alike}\n  known_columns: {KNOWN}   # {condition}\n"
        if known
        else f"require: {{k: {k}}}   # {alike}\n# What three published columns find is not limited: it was not counted\n",
        "allow: {suppress: 0}   # nobody is left out; 0.05 would let up to 5 % of the records go\n",
    ]
    if plan is not None and plan.problem:
        lines.append(f"# ! As it stands, the run will stop: {_clean(plan.problem)}\n")
    if plan is None or not plan.method:
        return lines
    return [*lines, f"method: best   # {BEST}\n"]


def _questions(inspection: Any, left_out: Mapping[str, str], read: Collection[str]) -> list[str]:
    """What only a person can answer, as comments."""
    questions = []
    if inspection.unit is None:
        questions.append("Does a person have several rows? Then write 'unit: COLUMN', the column that names people.")
    doubtful = [
        c
        for c in inspection.columns
        if c.confidence <= DOUBT and c.name not in left_out and not c.mark and c.role.value != "undecided"
    ]
    questions += [f"{c.name} is called {c.role.value}: {_clean(c.reason)}. {_clean(c.change)}" for c in doubtful[:ASKED]]
    if len(doubtful) > ASKED:
        questions.append(f"{len(doubtful) - ASKED:,} more roles are as doubtful ('shoal inspect' shows how sure each is).")
    lines = [f"# ? {_clean(q)}\n" for q in questions]
    if spelled := _missing_lines([c for c in inspection.columns if c.name not in read]):
        lines += ["# ? Do these mean 'no value'? Then take the signs away:\n", "# missing_values:\n"]
        lines += [f"#   {line}\n" for line in spelled]
    return ["# Questions\n", *lines] if lines else []


def _line(column: Any, role: str, more: str = "") -> str:
    key, why = _key(column.name), "; ".join(p for p in (more, _clean(column.reason)) if p)
    beside = f"   # {why}" if why else ""
    return f"    - {key}{beside}\n" if role == "insensitive" else f"    {key}: {{}}{beside}\n"


def _key(name: str) -> str:
    """A column name as YAML reads it back; what cannot be printed is written as its number.

    >>> print(_key("age"), _key("no"), _key("cost (€)"), _key("a\\u202eb"))
    age "no" "cost (€)" "a\\u202eb"
    """
    plain = name.isidentifier() and name.isascii() and name.lower() not in _WORDS
    return name if plain else _quote(name)


def _quote(text: str) -> str:
    return '"' + "".join(map(_sign, text)) + '"'


def _sign(c: str) -> str:
    if c.isprintable():
        return f"\\{c}" if c in '"\\' else c
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"


def _clean(text: str) -> str:
    """One line that a comment can hold, with any names in it."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
