"""Which role might a column have? A suggestion with a reason and a confidence, from its name, its kind and its values.

Values are looked at, never shown. A suggestion is not a decision: the person confirms it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.measures.columns.lexicon import HIPAA, Hint, hint_for
from shoal.model.roles import Role

LOOKED_AT = 5_000
"""Distinct values looked at for a pattern, evenly spread over all."""
FEW_VALUES = 60


@dataclass(frozen=True)
class RoleSuggestion:
    """One column: what it looks like, the suggested role and why."""

    name: str
    kind: str
    distinct: int
    missing: int
    role: Role
    reason: str
    confidence: float
    hipaa: int | None = None
    mark: str = ""  # "unit": may name people; "weight": may be a sampling weight

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "distinct": self.distinct,
            "missing": self.missing,
            "role": self.role.value,
            "reason": self.reason,
            "confidence": self.confidence,
        }
        if self.hipaa is not None:
            out["hipaa"] = {"item": self.hipaa, "what": HIPAA[self.hipaa]}
        return out | ({"mark": self.mark} if self.mark else {})


def suggest(
    name: str, kind: str, values: Sequence[str], counts: npt.ArrayLike, *, missing: int = 0, distinct: int | None = None
) -> RoleSuggestion:
    """Suggest a role.

    Parameters
    ----------
    name, kind
        Of the column; ``kind`` in the words of :class:`~shoal.model.roles.Column`.
    values, counts
        Distinct values as text, and how many rows hold each.
    missing : int
        Rows without a value.
    distinct : int, optional
        How many distinct values there are, where ``values`` are only some of them.

    Examples
    --------
    >>> s = suggest("contact", "text", ["ann@x.org", "bob@y.com", "cy@z.net"], [1, 1, 1])
    >>> s.role, s.hipaa, s.reason
    (<Role.DIRECT: 'direct'>, 6, 'its values look like e-mail addresses')
    >>> suggest("age", "integer", ["30", "31"], [5, 5]).role
    <Role.QUASI: 'quasi'>
    """
    rows = int(np.sum(counts))
    distinct = len(values) if distinct is None else distinct

    def made(role: Role, reason: str, confidence: float, hipaa: int | None = None, mark: str = "") -> RoleSuggestion:
        return RoleSuggestion(name, kind, distinct, missing, role, reason, round(confidence, 2), hipaa, mark)

    if distinct == 0:
        return made(Role.INSENSITIVE, "it is never filled", 0.95)
    pattern = _pattern(values) if kind in ("text", "other") else _number_pattern(kind, values)
    if pattern is not None:
        return made(Role.DIRECT, f"its values look like {pattern.what}", pattern.confidence, pattern.hipaa)
    hint = hint_for(name)
    if hint is not None:
        return _from_name(made, hint, distinct, rows, kind)
    return _from_shape(made, kind, values, distinct, rows)


def _from_name(made: Callable[..., RoleSuggestion], hint: Hint, distinct: int, rows: int, kind: str) -> RoleSuggestion:
    """What the name says, corrected by how many values there are."""
    if distinct == 1:
        return made(Role.INSENSITIVE, "it has one value only", 0.8)
    if hint.mark == "unit" and distinct < 0.1 * rows and distinct <= FEW_VALUES:
        return made(Role.QUASI, "its name says a number or code, but it has few values", 0.5)
    mark = hint.mark if hint.mark != "unit" or distinct < rows else ""
    reason = hint.reason + (" and people have several rows: name it as unit" if mark == "unit" else "")
    if hint.role is Role.DIRECT and hint.reason == "its name says a name" and distinct <= min(FEW_VALUES, 0.2 * rows):
        return made(Role.QUASI, "its name says a name, but it has few values", 0.5)
    return made(hint.role, reason, hint.confidence, hint.hipaa, mark)


def _from_shape(
    made: Callable[..., RoleSuggestion], kind: str, values: Sequence[str], distinct: int, rows: int
) -> RoleSuggestion:
    """What the number and form of the values say."""
    if distinct == 1:
        return made(Role.INSENSITIVE, "it has one value only", 0.9)
    whole = kind in ("text", "integer", "binary", "other")
    if whole and distinct == rows and rows >= 20:
        if kind == "text" and _long(values):
            return made(Role.DIRECT, "it holds free text, different in every row, which may name people", 0.7, 18)
        return made(Role.DIRECT, "every row has its own value, like a number or code of a person", 0.7, 18)
    if kind == "text" and _long(values):
        return made(Role.DIRECT, "it holds long texts, which may name people", 0.55, 18)
    if kind in ("date", "timestamp", "time"):
        return made(Role.QUASI, "it holds dates or times, which others may know", 0.6, 3)
    if kind in ("float", "decimal") and distinct > FEW_VALUES:
        return made(Role.SENSITIVE, "it is a measurement with many values: decide whether others can know it", 0.3)
    if distinct <= FEW_VALUES:
        return made(Role.QUASI, "it has few values, which others may know", 0.4)
    return made(Role.QUASI, "it has many values, which single people out if others know them", 0.4)


@dataclass(frozen=True)
class _Pattern:
    what: str
    hipaa: int
    confidence: float
    test: Callable[[str], bool]


def _match(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: compiled.fullmatch(text) is not None


def _card(text: str) -> bool:
    digits = re.sub(r"[ -]", "", text)
    if not re.fullmatch(r"\d{13,19}", digits):
        return False
    doubled = (int(d) * (2 if i % 2 else 1) for i, d in enumerate(reversed(digits)))
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _phone(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    written = re.fullmatch(r"(\+|00)?[\d ().\-/]{7,24}(x\d+)?", text) is not None
    return written and 8 <= len(digits) <= 15 and bool(re.search(r"[+() ./-]", text)) and not _looks_like_date(text)


def _looks_like_date(text: str) -> bool:
    return re.fullmatch(r"\d{1,4}[-/. ]\d{1,2}[-/. ]\d{1,4}([T ].*)?", text) is not None


_PATTERNS = (
    _Pattern("e-mail addresses", 6, 0.99, _match(r"[^@\s]{1,64}@[^@\s]{1,255}\.[a-z]{2,24}")),
    _Pattern("web addresses", 14, 0.95, _match(r"(https?://|www\.)\S{3,}")),
    _Pattern(
        "internet (IP) addresses",
        15,
        0.95,
        _match(r"(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}"),
    ),
    _Pattern("social security numbers", 7, 0.95, _match(r"\d{3}-\d{2}-\d{4}")),
    _Pattern("bank account numbers", 10, 0.95, _match(r"[a-z]{2}\d{2}( ?[a-z0-9]{4}){2,7}( ?[a-z0-9]{1,3})?")),
    _Pattern("payment card numbers", 10, 0.9, _card),
    _Pattern("device addresses", 13, 0.95, _match(r"([0-9a-f]{2}[:-]){5}[0-9a-f]{2}")),
    _Pattern("unique codes (UUID)", 18, 0.95, _match(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")),
    _Pattern("hashes", 18, 0.85, _match(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}")),
    _Pattern("exact positions", 2, 0.9, _match(r"-?\d{1,2}\.\d{3,}\s*[,; ]\s*-?\d{1,3}\.\d{3,}")),
    _Pattern("telephone numbers", 4, 0.85, _phone),
)


def _pattern(values: Sequence[str]) -> _Pattern | None:
    """The pattern that at least 80 % of the values follow."""
    looked = _spread(values)
    for pattern in _PATTERNS:
        if sum(pattern.test(v.strip()) for v in looked) >= 0.8 * len(looked):
            return pattern
    return None


def _number_pattern(kind: str, values: Sequence[str]) -> _Pattern | None:
    """Numbers that are payment cards: long, with a right check digit."""
    if kind != "integer":
        return None
    looked = _spread(values)
    card = next(p for p in _PATTERNS if p.what == "payment card numbers")
    return card if len(looked) >= 5 and sum(_card(v) for v in looked) >= 0.95 * len(looked) else None


def _spread(values: Sequence[str]) -> list[str]:
    step = max(1, len(values) // LOOKED_AT)
    return [v[:400] for v in values[::step]]


def _long(values: Sequence[str]) -> bool:
    """Whether the texts read like sentences: long, and of several words."""
    looked = _spread(values)
    mean = sum(len(v) for v in looked) / len(looked)
    spaces = sum(v.count(" ") for v in looked) / len(looked)
    return mean > 40 and spaces > 4
