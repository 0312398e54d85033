"""A first policy for a table: suggested roles with their reasons, to be read and corrected by a person."""

from __future__ import annotations

from typing import Any

_HEAD = """\
# A draft made by 'shoal anonymize --draft'. Read every line: a guess about a role is not a decision.
title: My release
# recipient: who will receive the data
# preset: internal            # or ema-public, cms-11, strict-public ...
roles:
"""

_TAIL = """\
require: {k: 5}
allow: {suppress: 0.05}
"""


_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
"""Bare words that some readers of YAML do not take as text."""


def draft_policy(found: Any) -> str:
    """YAML text from an :class:`~shoal.api.inspect.Inspection`.

    >>> from types import SimpleNamespace as S
    >>> column = S(name="age", reason="an age", role=S(value="quasi"), mark="")
    >>> "age" in draft_policy(S(columns=(column,), unit=None, weight=None))
    True
    """
    own = {found.unit, found.weight} - {None}
    parts = [_HEAD]
    for role in ("direct", "quasi", "sensitive", "insensitive"):
        mine = [c for c in found.columns if c.role.value == role and c.name not in own]
        if mine:
            parts.append(f"  {role}:\n" + "".join(_line(c, role) for c in mine))
    if len(parts) == 1:
        parts.append("  quasi: {}\n")
    for word, name in (("unit", found.unit), ("weight", found.weight)):
        if name:
            parts.append(f"{word}: {_key(name)}\n")
    return "".join([*parts, _TAIL])


def _line(column: Any, role: str) -> str:
    key, why = _key(column.name), _why(column.reason)
    return f"    - {key}{why}\n" if role == "insensitive" else f"    {key}: {{}}{why}\n"


def _key(name: str) -> str:
    """A column name as YAML reads it back; what cannot be printed is written as its number.

    >>> print(_key("age"), _key("no"), _key("cost (€)"), _key("a\\u202eb"))
    age "no" "cost (€)" "a\\u202eb"
    """
    plain = name.isidentifier() and name.isascii() and name.lower() not in _WORDS
    return name if plain else '"' + "".join(map(_sign, name)) + '"'


def _sign(c: str) -> str:
    if c.isprintable():
        return f"\\{c}" if c in '"\\' else c
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"


def _why(reason: str) -> str:
    clean = " ".join(reason.split())
    return f"   # {clean}" if clean else ""
