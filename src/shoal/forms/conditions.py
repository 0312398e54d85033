"""Skip logic: after which answers of which earlier question a question is asked.

Takes    the condition that a tool's file writes: ``${smokes} = 'yes'``, ``[sex] = '1'``, ``edu.NAOK == "A1"``
Returns  comparisons that all must hold (or one of which must); None where the condition says more than that
Keeps    nothing understated: a condition that is not understood lets the question divide everybody
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_NAME = r"[A-Za-z_][\w.-]*?"
_VALUE = r"""(?:'(?P<a>[^']*)'|"(?P<b>[^"]*)"|(?P<c>-?\d+(?:\.\d+)?))"""
_ATOMS = {
    "XLSForm": (
        rf"selected\(\s*\$\{{(?P<name>{_NAME})\}}\s*,\s*{_VALUE}\s*\)(?P<sign>)",
        rf"\$\{{(?P<name>{_NAME})\}}\s*(?P<sign><=|>=|!=|=|<|>)\s*{_VALUE}",
    ),
    "REDCap": (
        rf"\[(?P<name>\w+)\((?P<part>-?\w+)\)\]\s*(?P<sign>=)\s*{_VALUE}",
        rf"\[(?P<name>\w+)\]\s*(?P<sign><=|>=|<>|!=|=|<|>)\s*{_VALUE}",
    ),
    "LimeSurvey": (
        rf"(?P<name>[A-Za-z]\w*?)_(?P<part>\w+)\.NAOK\s*(?P<sign>==)\s*{_VALUE}",
        rf"(?P<name>[A-Za-z]\w*)(?:\.NAOK|\.value|\.code)?\s*(?P<sign><=|>=|!=|==|<|>)\s*{_VALUE}",
    ),
}
_PATTERNS = {tool: [re.compile(atom, re.IGNORECASE) for atom in atoms] for tool, atoms in _ATOMS.items()}
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
    "=": lambda x, y: x == y, "!=": lambda x, y: x != y,
}  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """One comparison of an earlier answer with a value; ``sign`` is "has" for one of several choices."""

    question: str
    sign: str
    value: str

    def holds(self, codes: Sequence[str]) -> frozenset[int] | None:
        """The places of the answers for which it holds; None where the value is not an answer."""
        if self.sign in ("=", "!=", "has"):
            place = next((i for i, code in enumerate(codes) if code == self.value or _same(code, self.value)), None)
            if place is None:
                return None
            return frozenset({place}) if self.sign != "!=" else frozenset(range(len(codes))) - {place}
        numbers = [_number(code) for code in codes]
        limit = _number(self.value)
        if limit is None or any(x is None for x in numbers):
            return None
        return frozenset(i for i, x in enumerate(numbers) if x is not None and _SIGNS[self.sign](x, limit))


@dataclass(frozen=True)
class Condition:
    """Comparisons of which ``every`` one, or else any one, must hold."""

    comparisons: tuple[Comparison, ...]
    every: bool = True


def read_condition(text: str, tool: str) -> Condition | None:
    """The condition in a tool's own writing.

    >>> read_condition("${smokes} = 'yes' and ${age} >= 18", "XLSForm").comparisons[1]
    Comparison(question='age', sign='>=', value='18')
    >>> read_condition("[sex] = '1' or [sex] = '3'", "REDCap").every, read_condition("not(${a} = 1)", "XLSForm")
    (False, None)
    """
    found: list[Comparison] = []

    def take(match: re.Match[str]) -> str:
        parts = match.groupdict()
        value = next((parts[key] for key in "abc" if parts.get(key) is not None), "")
        sign = {"==": "=", "<>": "!=", "": "has"}.get(parts["sign"], parts["sign"])
        if parts.get("part") is not None:
            if value not in ("1", "Y"):
                return "?"
            sign, value = "has", parts["part"]
        found.append(Comparison(parts["name"], sign, value))
        return f"\x00{len(found)}"

    rest = text
    for pattern in _PATTERNS[tool]:
        rest = pattern.sub(take, rest)
    order = [int(number) - 1 for number in re.findall(r"\x00(\d+)", rest)]
    joined = re.sub(r"\x00\d+", "A", rest)
    joined = re.sub(r"[\s()]+", " ", joined).strip().lower().replace("&&", "and").replace("||", "or")
    comparisons = tuple(found[i] for i in order)
    if re.fullmatch(r"a(?: and a)*", joined):
        return Condition(comparisons)
    return Condition(comparisons, every=False) if re.fullmatch(r"a(?: or a)*", joined) else None


def _same(code: str, value: str) -> bool:
    """Whether two codes are the same number: 1 and 1.0, 01 and 1."""
    x, y = _number(code), _number(value)
    return x is not None and x == y


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
