"""Codes whose first characters mean something: masks, and prefix codes such as ICD-10, ISCO and NACE."""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

from shoal.errors import HierarchyError, UsageError
from shoal.hierarchies.rule import Generalize, Rule, register_rule
from shoal.hierarchies.values import check_gap_choice, covered, texts_of
from shoal.kernels.text import Pattern
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
        import pyarrow.compute as pc

        from shoal.kernels.text import canonical_text

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
            raise HierarchyError(
                f"code system '{scheme}' is not known.", hint=f"Known: {', '.join(sorted(SCHEMES))}; or give lengths."
            )
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
_ICD9 = Pattern(r"(V[0-9]{2}|E[0-9]{3}|[0-9]{1,3})(?:\.[0-9]{1,2})?", re.ASCII)

_CHAPTERS10 = (
    "A00-B99 C00-D48 D50-D89 E00-E90 F00-F99 G00-G99 H00-H59 H60-H95 I00-I99 J00-J99 K00-K93 L00-L99 M00-M99 N00-N99 O00-O99 "
    "P00-P96 Q00-Q99 R00-R99 S00-T98 U00-U99 V00-Y98 Z00-Z99"
)
_BLOCKS10 = (
    "A00-A09 A15-A19 A20-A28 A30-A49 A50-A64 A65-A69 A70-A74 A75-A79 A80-A89 A90-A99 "
    "B00-B09 B15-B19 B20-B24 B25-B34 B35-B49 B50-B64 B65-B83 B85-B89 B90-B94 B95-B98 B99-B99 "
    "C00-C14 C15-C26 C30-C39 C40-C41 C43-C44 C45-C49 C50-C50 C51-C58 C60-C63 C64-C68 C69-C72 C73-C75 C76-C80 C81-C96 C97-C97 "
    "D00-D09 D10-D36 D37-D48 D50-D53 D55-D59 D60-D64 D65-D69 D70-D77 D80-D89 "
    "E00-E07 E10-E14 E15-E16 E20-E35 E40-E46 E50-E64 E65-E68 E70-E90 "
    "F00-F09 F10-F19 F20-F29 F30-F39 F40-F48 F50-F59 F60-F69 F70-F79 F80-F89 F90-F98 F99-F99 "
    "G00-G09 G10-G14 G20-G26 G30-G32 G35-G37 G40-G47 G50-G59 G60-G64 G70-G73 G80-G83 G90-G99 "
    "H00-H06 H10-H13 H15-H22 H25-H28 H30-H36 H40-H42 H43-H45 H46-H48 H49-H52 H53-H54 H55-H59 H60-H62 H65-H75 H80-H83 H90-H95 "
    "I00-I02 I05-I09 I10-I15 I20-I25 I26-I28 I30-I52 I60-I69 I70-I79 I80-I89 I95-I99 "
    "J00-J06 J09-J18 J20-J22 J30-J39 J40-J47 J60-J70 J80-J84 J85-J86 J90-J94 J95-J99 "
    "K00-K14 K20-K31 K35-K38 K40-K46 K50-K52 K55-K64 K65-K67 K70-K77 K80-K87 K90-K93 "
    "L00-L08 L10-L14 L20-L30 L40-L45 L50-L54 L55-L59 L60-L75 L80-L99 "
    "M00-M25 M30-M36 M40-M54 M60-M79 M80-M94 M95-M99 "
    "N00-N08 N10-N16 N17-N19 N20-N23 N25-N29 N30-N39 N40-N51 N60-N64 N70-N77 N80-N98 N99-N99 "
    "O00-O08 O10-O16 O20-O29 O30-O48 O60-O75 O80-O84 O85-O92 O94-O99 "
    "P00-P04 P05-P08 P10-P15 P20-P29 P35-P39 P50-P61 P70-P74 P75-P78 P80-P83 P90-P96 "
    "Q00-Q07 Q10-Q18 Q20-Q28 Q30-Q34 Q35-Q37 Q38-Q45 Q50-Q56 Q60-Q64 Q65-Q79 Q80-Q89 Q90-Q99 "
    "R00-R09 R10-R19 R20-R23 R25-R29 R30-R39 R40-R46 R47-R49 R50-R69 R70-R79 R80-R82 R83-R89 R90-R94 R95-R99 "
    "S00-S09 S10-S19 S20-S29 S30-S39 S40-S49 S50-S59 S60-S69 S70-S79 S80-S89 S90-S99 "
    "T00-T07 T08-T14 T15-T19 T20-T32 T33-T35 T36-T50 T51-T65 T66-T78 T79-T79 T80-T88 T90-T98 "
    "U00-U49 U80-U85 V00-V99 W00-W19 W20-W49 W50-W64 W65-W74 W75-W84 W85-W99 "
    "X00-X09 X10-X19 X20-X29 X30-X39 X40-X49 X50-X57 X58-X59 X60-X84 X85-X99 "
    "Y00-Y09 Y10-Y34 Y35-Y36 Y40-Y59 Y60-Y69 Y70-Y82 Y83-Y84 Y85-Y89 Y90-Y98 "
    "Z00-Z13 Z20-Z29 Z30-Z39 Z40-Z54 Z55-Z65 Z70-Z76 Z80-Z99"
)
_CHAPTERS9 = (
    "001-139 140-239 240-279 280-289 290-319 320-389 390-459 460-519 520-579 580-629 630-679 680-709 710-739 740-759 760-779 "
    "780-799 800-999 E800-E999 V01-V91"
)
_BLOCKS9 = (
    "001-009 010-018 020-027 030-041 042-042 045-049 050-059 060-066 070-079 080-088 090-099 100-104 110-118 120-129 130-136 "
    "137-139 140-149 150-159 160-165 170-176 179-189 190-199 200-209 210-229 230-234 235-238 239-239 240-246 249-259 260-269 "
    "270-279 280-289 290-294 295-299 300-316 317-319 320-327 330-337 338-339 340-349 350-359 360-379 380-389 390-392 393-398 "
    "401-405 410-414 415-417 420-429 430-438 440-449 451-459 460-466 470-478 480-488 490-496 500-508 510-519 520-529 530-539 "
    "540-543 550-553 555-558 560-569 570-579 580-589 590-599 600-608 610-612 614-616 617-629 630-639 640-649 650-659 660-669 "
    "670-677 678-679 680-686 690-698 700-709 710-719 720-724 725-729 730-739 740-759 760-763 764-779 780-789 790-796 797-799 "
    "800-804 805-809 810-819 820-829 830-839 840-848 850-854 860-869 870-879 880-887 890-897 900-904 905-909 910-919 920-924 "
    "925-929 930-939 940-949 950-957 958-959 960-979 980-989 990-995 996-999"
)
_RANGES = {"icd10": (_BLOCKS10, _CHAPTERS10), "icd9": (_BLOCKS9, _CHAPTERS9)}


@register_rule
@dataclass(frozen=True)
class Diagnosis(Rule):
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
        if self.edition not in _RANGES:
            raise HierarchyError(f"edition '{self.edition}' is not known.", hint="Use icd10 or icd9.")

    @property
    def inner(self) -> int:
        return 3

    def label(self, text: str, level: int) -> str | None:
        """The group of one code; None if it is not a code of this edition."""
        three = _three(text, self.edition)
        if three is None or level == 1:
            return three
        return _inside(three, self.edition, level - 2)

    def labels(self, column: str, texts: Sequence[str], level: int) -> list[str | None]:
        return [self.label(t, level) for t in texts]

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Step:
        return Generalize.of(column, self, level, on_gap=self.on_gap, missing_label=missing_label)

    def _check_gaps(self, column: str, texts: Any, counts: Any) -> None:
        covered(column, texts, counts, lambda t: self.label(t, 1) is not None, self.on_gap)


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
        found = _ICD10.fullmatch(plain)
        return "".join(found.groups()) if found else None
    found = _ICD9.fullmatch(plain)
    if found is None:
        return None
    head = found.group(1)
    return head if head[0] in "VE" else head.zfill(3)


@cache
def _ranges(edition: str, which: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    first, last = zip(*(r.split("-") for r in _RANGES[edition][which].split()), strict=True)
    return first, last


def _inside(three: str, edition: str, which: int) -> str:
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
