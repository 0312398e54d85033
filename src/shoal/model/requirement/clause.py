"""One requirement as text, taken apart: ``word[inside] sign number``. What the word means is each kind's own business.

Text such as ``k>=5, t[diagnosis, ordered]<=0.2`` lists several, with commas. Inside the brackets stand a sensitive column and,
after commas, options. A column whose name could be misread goes in quotation marks, as in JSON: ``t["a, b]"]<=0.2``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import UsageError, refuse

SIGNS = {">=": ">=", "<=": "<=", "==": "==", ">": ">", "<": "<", "≥": ">=", "≤": "<="}
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PART = re.compile(rf"\s*([A-Za-z_][\w.]*?)\s*(?:\[({_QUOTED}[^\]]*|.+?)\])?\s*(>=|<=|==|≥|≤|>|<)\s*([0-9.eE+-]+)\s*(%?)\s*")
_COMMA = re.compile(rf"({_QUOTED})|(\[)|(\])|(,)")
_FORBIDDEN = re.compile(r'[\[\],"=<>]|^\s|\s$|^$')


@dataclass(frozen=True)
class Reading:
    """What a text may leave unsaid: the sensitive columns (one alone need not be named), their distances, and c."""

    sensitive: tuple[str, ...] = ()
    distances: Mapping[str, Any] = field(default_factory=dict)
    c: float = 3.0


@dataclass(frozen=True)
class Clause:
    """A requirement as it was written.

    >>> Clause.read("t[diagnosis, ordered] <= 20 %")
    Clause(word='t', inside=('diagnosis', 'ordered'), sign='<=', bound=0.2, shown='t[diagnosis, ordered] <= 20 %')
    """

    word: str
    inside: tuple[str, ...]
    sign: str
    bound: float
    shown: str

    @classmethod
    def read(cls, text: str) -> Clause:
        match = _PART.fullmatch(text)
        if match is None:
            raise UsageError("the requirement is not understood.", hint="Write for example k>=5 or t[diagnosis]<=0.2.")
        word, inside, sign, number, percent = match.groups()
        try:
            bound = float(number) / (100.0 if percent else 1.0)
        except ValueError:
            bound = math.nan
        if not math.isfinite(bound):
            raise UsageError("the bound of the requirement is not a number.", hint="Write for example k>=5.")
        return cls(word, _inside(inside), SIGNS[sign], bound, text.strip())

    def number(self, *, whole: bool) -> float:
        """The bound; as a whole number where one was written and is wanted."""
        return int(self.bound) if whole and self.bound == int(self.bound) else self.bound

    def column(self, reading: Reading, options: int = 0) -> str:
        """The column: what stands in the brackets but for the last ``options`` parts."""
        named = ", ".join(self.inside[: len(self.inside) - options])
        if named:
            return named
        if len(reading.sensitive) == 1:
            return reading.sensitive[0]
        known = f" Sensitive columns: {', '.join(reading.sensitive)}." if reading.sensitive else ""
        raise UsageError(f"'{self.word}' needs a sensitive column.", hint=f"Write {self.word}[column].{known}")


def pieces(text: str) -> list[str]:
    """The requirements of a list, apart.

    >>> pieces('k>=5, t[a, ordered]<=0.2, t["b]c,"]<=1')
    ['k>=5', ' t[a, ordered]<=0.2', ' t["b]c,"]<=1']
    """
    out, start, depth = [], 0, 0
    for mark in _COMMA.finditer(text):
        _, opened, closed, comma = mark.groups()
        depth += bool(opened) - bool(closed)
        if comma and depth <= 0:
            out.append(text[start : mark.start()])
            start, depth = mark.end(), 0
    return [*out, text[start:]]


def written_column(name: str) -> str:
    """A column as text says it: in quotation marks where its name could be misread.

    >>> print(written_column("diagnosis"), written_column("a, ordered"))
    diagnosis "a, ordered"
    """
    return json.dumps(name, ensure_ascii=False) if _FORBIDDEN.search(name) else name


def written_number(value: float) -> str:
    """The shortest text that reads as the same number.

    >>> written_number(3.0), written_number(0.2), written_number(5)
    ('3', '0.2', '5')
    """
    return str(value) if isinstance(value, int) else repr(float(value)).removesuffix(".0")


def written(word: str, sign: str, bound: float, inside: Iterable[str] = ()) -> str:
    """The text of a requirement."""
    named = ", ".join(inside)
    return f"{word}{f'[{named}]' if named else ''}{sign}{written_number(bound)}"


def _inside(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    quoted = re.match(_QUOTED, text)
    if quoted is None:
        return tuple(part.strip() for part in text.split(","))
    with refuse(UsageError("the column in quotation marks is not well formed.", hint="Write it as in JSON."), ValueError):
        name = json.loads(quoted[0])
    rest = text[quoted.end() :].strip()
    if rest and not rest.startswith(","):
        raise UsageError("the requirement is not understood.", hint='Write for example t["my column", ordered]<=0.2.')
    return (name, *(part.strip() for part in rest.split(",")[1:]))
