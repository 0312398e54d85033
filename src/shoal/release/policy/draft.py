"""A first policy for a table: suggested roles with a reason beside each line, questions as comments, for a person to correct."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from shoal.find.roles.decision import CHANGE
from shoal.model.display import written
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
"""Insensitive columns up to which each has a line; more are named by ``rest: insensitive``."""
DOUBT = 0.45
"""Confidence up to which a role is asked."""
ASKED = 12
"""Questions about roles that are written out."""


AMOUNT_KNOWN = "an amount that few share: anyone who pays or receives it knows it, and nothing else was found that others know"
"""Why a draft takes an amount for known."""


def amounts_as_known(found: Any, *, k: int = 5) -> Any:
    """An inspection in which nothing is known to others, with the amounts that fewer than ``k`` rows share as quasi-identifiers.

    A table of amounts only is not safe for having no other column: an employer knows a wage, and a wage that one row holds
    names that row. Columns whose role a person has said keep it.
    """
    if found.quasi:
        return found
    columns = tuple(
        replace(c, role=Role.QUASI, reason=AMOUNT_KNOWN, confidence=DOUBT, change=CHANGE[Role.QUASI])
        if c.scale.value == "number" and not c.mark and c.confidence < 1 and k * c.distinct > found.records - c.missing
        else c
        for c in found.columns
    )
    return replace(found, columns=columns)


def draft_policy(found: Any, plan: Any = None, read: Collection[str] = (), *, k: int = 5) -> str:
    """YAML text from an :class:`~shoal.api.inspect.Inspection` and, where one was tried, the plan to propose.

    Spellings of "missing" are a question, unless a person has said that those of the columns in ``read`` are read so.

    >>> from types import SimpleNamespace as S
    >>> column = S(name="age", reason="an age", role=S(value="quasi"), mark="", confidence=0.9, missing_values=(), change="")
    >>> column.kind, column.scale = "integer", S(value="number")
    >>> print(draft_policy(S(columns=(column,), unit=None, weight=None)))  # doctest: +ELLIPSIS
    # A draft...
      quasi:   # others may know them: generalized until everybody has company
        age: {}   # an age
    ...
    """
    own = {found.unit, found.weight} - {None}
    left_out = {} if plan is None else dict(plan.left_out)
    named = [c for c in found.columns if c.name not in own]
    plain = [c for c in named if c.role.value == "insensitive"]
    many = len(plain) > MANY
    parts = [_HEAD]
    for role in _MEANING:
        mine = [c for c in named if c.role.value == role and c.name not in left_out]
        lines = [_line(c, role) for c in (() if role == "insensitive" and many else mine)]
        if role == "direct" and many:
            lines += [_line(c, role, _blank(left_out[c.name])) for c in named if c.name in left_out]
        if lines:
            parts.append(f"  {role}:   # {_MEANING[role]}\n" + "".join(lines))
    if len(parts) == 1:
        parts.append("  quasi: {}\n")
    if not any(c.role.value == "quasi" for c in named):
        parts.append("  # quasi: {}   # name here what others may know of a person: nothing was found that they would\n")
    parts += _rest([c for c in named if c.name in left_out], left_out, len(plain) if many else 0)
    parts += _own(found)
    parts += _scales([c for c in named if c.role.value == "quasi" and c.name not in left_out])
    if spelled := _spelled([c for c in found.columns if c.name in read]):
        parts += ["missing_values:   # read as 'no value'\n", *(f"  {line}\n" for line in spelled)]
    parts += _ending(plan, k)
    return "".join([*parts, *_questions(found, left_out, read)])


def _scales(columns: list[Any]) -> list[str]:
    """Whole numbers that are answers in order, as the table together shows: their neighbours are joined."""
    ordered = [c for c in columns if c.kind == "integer" and c.scale.value == "ordered"]
    lines = [f"  {_key(c.name)}: ordered\n" for c in ordered]
    return ["scale:   # numbers that are answers in order: neighbours are joined\n", *lines] if lines else []


def _spelled(columns: list[Any]) -> list[str]:
    """A line per column with spellings of "missing"."""
    return [f"{_key(c.name)}: [{', '.join(map(_quoted, c.missing_values))}]" for c in columns if c.missing_values]


def _rest(columns: list[Any], left_out: dict[str, float], plain: int) -> list[str]:
    """What becomes of the columns that have no line."""
    if plain:
        return [f"  rest: insensitive   # {plain:,} columns about which nothing speaks; 'rest: drop' leaves them out\n"]
    if not columns:
        return []
    head = "  # Left out, so that the other quasi-identifiers can stay finer (name one under quasi to keep it):\n"
    lines = [f"  #   {_key(c.name)}: {_blank(left_out[c.name])}; {_clean(c.reason)}\n" for c in columns]
    return [head, *lines, "  rest: drop   # columns that no line names\n"]


def _blank(share: float) -> str:
    return f"{100 * share:.0f} % of its cells would be blank"


def _own(found: Any) -> list[str]:
    why = {c.name: c.reason for c in found.columns}
    words = (("unit", found.unit, "k counts people, not rows"), ("weight", found.weight, ""))
    return [
        f"{word}: {_key(name)}   # {'; '.join(p for p in (_clean(why.get(name, '')), more) if p)}\n"
        for word, name, more in words
        if name
    ]


def _ending(plan: Any, k: int) -> list[str]:
    """Requirements, limits and method, each with what it means."""
    lines = [
        f"require: {{k: {k}}}   # everybody is like at least {k - 1} others; 11 or more for a table that anyone may have\n",
        "allow: {suppress: 0.05}   # up to 5 % of the records may be left out\n",
    ]
    if plan is not None and plan.problem:
        lines.append(f"# ! As it stands, the run will stop: {_clean(plan.problem)}\n")
    if plan is None or not plan.method:
        return lines
    cost = f"loss {written(plan.loss, 2)}" if plan.loss is not None else "not tried, the table is large"
    if plan.method == "lattice":
        return [*lines, f"method: lattice   # one level per column: {cost}\n"]
    other = ""
    if plan.one_level_loss is not None:
        n = len(plan.one_level_blank)
        gone = f", {n} column{'s' * (n > 1)} wholly blank" if n else ""
        other = f"; lattice (one level per column) would have loss {written(plan.one_level_loss, 2)}{gone}"
    return [*lines, f"method: local   # values as fine as each group allows: {cost}{other}\n"]


def _questions(found: Any, left_out: dict[str, float], read: Collection[str]) -> list[str]:
    """What only a person can answer, as comments."""
    asked = []
    if found.unit is None:
        asked.append("Does a person have several rows? Then write 'unit: COLUMN', the column that names people.")
    doubtful = [c for c in found.columns if c.confidence <= DOUBT and c.name not in left_out and not c.mark]
    asked += [f"{c.name} is called {c.role.value}: {_clean(c.reason)}. {_clean(c.change)}" for c in doubtful[:ASKED]]
    if len(doubtful) > ASKED:
        asked.append(f"{len(doubtful) - ASKED:,} more roles are as doubtful ('shoal inspect' shows how sure each is).")
    lines = [f"# ? {_clean(q)}\n" for q in asked]
    if spelled := _spelled([c for c in found.columns if c.name not in read]):
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
    return name if plain else _quoted(name)


def _quoted(text: str) -> str:
    return '"' + "".join(map(_sign, text)) + '"'


def _sign(c: str) -> str:
    if c.isprintable():
        return f"\\{c}" if c in '"\\' else c
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"


def _clean(text: str) -> str:
    """One line that a comment can hold, whatever names it repeats."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
