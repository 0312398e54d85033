"""Codes whose first characters mean something: masks, and prefix codes such as ICD-10, ISCO and NACE."""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow.compute as pc

from shoal.errors import HierarchyError, UsageError
from shoal.hierarchies.rule import CodeRule, Rule, register_rule
from shoal.hierarchies.values import check_gap_choice, texts_of
from shoal.kernels.text import Pattern, canonical_text, word_lists
from shoal.model.plan import OnGap, Step
from shoal.steps import Prefix

SCHEMES: dict[str, tuple[int, ...]] = {
    "icd10": (3, 1),  # E11.65 → E11 → E
    "icd9": (3, 2),
    "isco": (3, 2, 1),  # 2211 → 221 → 22 → 2
    "nace": (5, 3, 1),  # A01.11 → A01.1 → A01 → A
    "nace digits": (4, 2),  # 01.11 → 01.1 → 01
    "sbi": (3, 2),
    "soc": (6, 4, 2),  # 29-1141 → 29-114 → 29-1 → 29
    "nuts": (4, 3, 2),  # NL32A → NL32 → NL3 → NL
    "atc": (5, 4, 3, 1),  # C09AA05 → C09AA → C09A → C09 → C
}
"""Lengths kept per level by well-known code systems."""


_EUROPE = "AT|BE|BG|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IT|LT|LU|LV|MT|NL|PL|PT|RO|SE|SI|SK|UK|NO|CH|IS|LI|TR|RS|ME|MK|AL"
_FORMS: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("atc", r"[A-Z]\d{2}[A-Z]{2}\d{2}", ("drug", ""), "medicines (ATC)"),
    ("nuts", rf"(?:{_EUROPE})[0-9A-Z]{{1,3}}", ("place", "birth_place", "country", ""), "regions (NUTS)"),
    ("nace", r"[A-U]\d{2}(\.\d{1,2})?", ("industry",), "industries (NACE)"),
    ("nace digits", r"\d{2}\.\d{1,2}", ("industry",), "industries (NACE)"),
    ("isco", r"\d{3,4}", ("occupation",), "occupations, by their first digits"),
)
"""Code systems by the form of their codes, the topics of columns that hold them, and their name."""
FEWEST_CODES = 3
"""Different codes from which a form says something."""


def scheme_of(texts: Sequence[str], topic: str = "") -> tuple[str, str]:
    """The code system that all texts are written in, by their form and what the column is about, and its name; else empty.

    >>> scheme_of(["A01.1", "C10.7", "G47.1"], "industry"), scheme_of(["A01.1", "C10.7", "G47.1"], "diagnosis")
    (('nace', 'industries (NACE)'), ('', ''))
    >>> scheme_of(["DE111", "FR101", "NL329"])[0], scheme_of(["2141", "2221", "5223"], "occupation")[0]
    ('nuts', 'isco')
    """
    if len(texts) < FEWEST_CODES:
        return "", ""
    for scheme, form, topics, name in _FORMS:
        if topic in topics and all(re.fullmatch(form, t) for t in texts):
            return scheme, name
    return "", ""


@dataclass(frozen=True)
class _Kept(Rule):
    """What masks and prefix codes share: level i keeps ``keep[i−1]`` characters and treats the others by ``fill``."""

    keep: tuple[int, ...] = ()
    fill: str = "*"
    side: Literal["right", "left"] = "right"

    def __post_init__(self) -> None:
        if any(a <= b for a, b in zip(self.keep, self.keep[1:], strict=False)) or any(n < 0 for n in self.keep):
            raise HierarchyError("the numbers of characters kept must fall from level to level.", hint="Such as 4, 2.")
        if len(self.fill) > 1 or self.side not in ("right", "left"):
            raise HierarchyError("a mask needs at most one fill character and the side right or left.")

    @property
    def inner(self) -> int:
        return len(self.keep)

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Step:
        if missing_label is not None:
            raise UsageError(f"a mask of '{column}' keeps missing values missing; no label can be given to them.")
        return Prefix(column, self.keep[level - 1], self.fill, self.side == "left")

    def enough(self, column: str, values: Any) -> Any:
        """One of the longest texts."""
        longest = pc.index(lengths := pc.utf8_length(canonical_text(values)), pc.max(lengths)).as_py()
        return values.slice(max(longest, 0), 1)


@register_rule
@dataclass(frozen=True)
class Mask(_Kept):
    """Hide characters from the right (or left): ``1234`` → ``123*`` → ``12**`` → …

    Without ``keep``, :meth:`fit` takes every length from the longest value down to 1. The number of characters stays
    visible; with ``fill=""`` it does not.

    >>> Mask().over("zip", ["1234", "1299"]).levels[2].labels
    ('12**',)
    >>> Mask((2,), side="left").over("phone", ["0612", "0712"]).levels[1].labels
    ('**12',)
    """

    kind: ClassVar[str] = "mask"

    def fit(self, column: str, values: Any, counts: Any = None) -> Mask:
        if self.keep:
            return self
        longest = max((len(t) for t in texts_of(column, values)), default=1)
        return dataclasses.replace(self, keep=tuple(range(longest - 1, 0, -1)))


@register_rule
@dataclass(frozen=True)
class PrefixCode(_Kept):
    """Cut codes off after their meaningful parts: ``E11.9`` → ``E11`` → ``E``.

    >>> PrefixCode.of("icd10").over("diagnosis", ["E11.9", "E11.65", "I10"]).levels[1].labels
    ('E11', 'I10')
    """

    fill: str = ""
    kind: ClassVar[str] = "prefix"

    @classmethod
    def of(cls, scheme: str) -> PrefixCode:
        """The levels of a well-known code system, by name."""
        if scheme.lower() not in SCHEMES:
            hint = f"Known: {', '.join(sorted(SCHEMES))}; or give lengths."
            raise HierarchyError(f"code system '{scheme}' is not known.", hint=hint)
        return cls(SCHEMES[scheme.lower()])


@register_rule
@dataclass(frozen=True)
class Flat(Rule):
    """Two levels: the value itself, and everything together.

    >>> Flat().over("sex", ["F", "M"]).levels[1].labels
    ('*',)
    """

    kind: ClassVar[str] = "flat"

    @property
    def inner(self) -> int:
        return 0


_ICD10 = Pattern(r"([A-Z])([0-9])([0-9A-Z])(?:\.?[0-9A-Z]{1,4})?", re.ASCII)
_DISEASES = Path(__file__).parents[1] / "data" / "diagnoses.txt"
_ICD9 = Pattern(r"(V[0-9]{2}|E[0-9]{3}|[0-9]{1,3})(?:\.[0-9]{1,2})?", re.ASCII)


@register_rule
@dataclass(frozen=True)
class Diagnosis(CodeRule):
    """Three characters, block and chapter of a diagnosis.

    >>> Diagnosis("icd10").over("d", ["E11.9", "E13", "I10"]).levels[2].labels
    ('E10-E14', 'I10-I15')
    >>> [Diagnosis("icd9").label("250.13", level) for level in (1, 2, 3)], Diagnosis("icd9").label("V58.1", 3)
    (['250', '249-259', '240-279'], 'V01-V91')
    """

    edition: Literal["icd10", "icd9"] = "icd10"
    on_gap: OnGap = "error"
    kind: ClassVar[str] = "diagnosis"

    def __post_init__(self) -> None:
        check_gap_choice(self.on_gap)
        if self.edition not in ("icd10", "icd9"):
            raise HierarchyError(f"edition '{self.edition}' is not known.", hint="Use icd10 or icd9.")

    @property
    def inner(self) -> int:
        return 3

    def label(self, text: str, level: int) -> str | None:
        three = _three(text, self.edition)
        if three is None or level == 1:
            return three
        return _inside(three, self.edition, "blocks" if level == 2 else "chapters")


def edition_of(texts: Sequence[str]) -> Literal["icd10", "icd9"] | None:
    """The edition that all codes belong to; None where some do not, or where they may be plain numbers.

    >>> edition_of(["E11.9", "I10", "Z00.0"]), edition_of(["250.13", "V58", "428"]), edition_of(["250", "428"])
    ('icd10', 'icd9', None)
    """
    if all(_three(t, "icd10") for t in texts) and len({t[0] for t in texts}) > 1:
        return "icd10"
    nine = all(_three(t, "icd9") for t in texts)
    pure = all(re.fullmatch(r"[0-9]+(\.[0-9]+)?", t) for t in texts)
    return "icd9" if nine and not pure else None


def _three(text: str, edition: str) -> str | None:
    plain = text.strip().upper()
    if edition == "icd10":
        match = _ICD10.fullmatch(plain)
        return "".join(match.groups()) if match else None
    match = _ICD9.fullmatch(plain)
    if match is None:
        return None
    head = match.group(1)
    return head if head[0] in "VE" else head.zfill(3)


@cache
def _ranges(edition: str, which: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    ranges = word_lists(_DISEASES)[f"{edition} {which}"]
    first, last = zip(*(r.split("-") for r in ranges), strict=True)
    return first, last


def _inside(three: str, edition: str, which: str) -> str:
    """The range that holds a code of three characters, or the gap between two."""
    first, last = _ranges(edition, which)
    at = bisect.bisect_right(first, three) - 1
    if at >= 0 and three <= last[at]:
        return first[at] if first[at] == last[at] else f"{first[at]}-{last[at]}"
    if edition == "icd9" and three[0] in "VE":  # no blocks of its own: the first two characters
        return three[:2]
    if at >= 0 and (edition == "icd9" or last[at][0] == three[0]):
        return f"after {last[at]}"
    return f"before {first[at + 1]}" if at + 1 < len(first) and first[at + 1][0] == three[0] else three[0]
