"""Presets: thresholds of rule books, each with its rule, its source and its date.

A preset fills what a policy does not say. It is a number from a document, not a legal opinion: whether the document fits
a release is for people to decide, and the certificate says so. ``k`` and the largest risk of a record are two names of one
number (risk = 1/k), so a largest risk of 0.09 needs classes of twelve: 1/11 is 0.0909.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import PolicyError, nearest
from shoal.model.requirement import Requirement, ordered, requirements_of


@dataclass(frozen=True)
class SmallCells:
    """A rule for tables of counts: the smallest count that may be shown, and rounding of the rest.

    >>> PRESETS["opensafely"].cells.shown(7), PRESETS["opensafely"].cells.shown(8)
    (False, True)
    """

    minimum: int
    round_to: int = 1
    zero_shown: bool = True

    def shown(self, count: int) -> bool:
        """Whether a count may be printed."""
        return self.zero_shown if count == 0 else count >= self.minimum


@dataclass(frozen=True)
class Preset:
    """A named rule: what it asks, where it is written, and the date of that text.

    ``read`` is the month in which the number was last compared with the source; empty where only secondary texts were at hand,
    which the certificate then says.
    """

    name: str
    rule: str
    source: str
    date: str
    require: Mapping[str, Any] = field(default_factory=dict)
    each_sensitive: Mapping[str, Any] = field(default_factory=dict)
    cells: SmallCells = field(default_factory=lambda: SmallCells(5))
    recipient: str = ""
    note: str = ""
    checklist: str = ""
    read: str = ""

    def to_json(self) -> dict[str, Any]:
        read = f"compared with the source in {self.read}" if self.read else "taken from secondary texts: compare with the source"
        return {
            "name": self.name,
            "rule": self.rule,
            "source": self.source,
            "date": self.date,
            "note": self.note,
            "read": read,
        }


_CELLS_NOTE = "Written for tables of counts; used for records as the smallest class."

_ALL = (
    Preset(
        "internal",
        "every class holds at least 5 people",
        "common practice for data that stay inside the organisation (largest risk 0.2)",
        "2026-01",
        {"k": 5},
        recipient="internal",
    ),
    Preset(
        "named-recipient",
        "every class holds at least 5 people and the average risk is at most 0.1",
        "Shoal's default for named recipients under contract",
        "2026-01",
        {"k": 5, "risk": {"average": 0.1}},
        recipient="named",
    ),
    Preset(
        "strict-public",
        "k at least 20, largest risk 0.05, at least 2 well-mixed sensitive values per class, closeness at most 0.3",
        "Shoal's strict default for release to everyone",
        "2026-01",
        {"k": 20, "risk": {"prosecutor": 0.05}},
        {"diversity": {"distinct": 2}, "closeness": {"t": 0.3, "distance": "equal"}},
        SmallCells(20),
        "public",
    ),
    Preset(
        "ema-public",
        "largest risk of a record at most 0.09",
        "European Medicines Agency, external guidance on the implementation of Policy 0070, EMA/90915/2016, chapter 3",
        "2018-10",
        {"risk": {"prosecutor": 0.09}},
        {},
        SmallCells(12),
        "public",
        "The guidance recommends 0.09 in most cases; read here as the largest, not the average, risk: classes of twelve.",
    ),
    Preset(
        "hc-prci",
        "largest risk of a record at most 0.09",
        "Health Canada, Public Release of Clinical Information: guidance document",
        "2019-03",
        {"risk": {"prosecutor": 0.09}},
        {},
        SmallCells(12),
        "public",
        "Read as the largest, not the average, risk: classes of twelve.",
    ),
    Preset(
        "hipaa-safe-harbor",
        "each column is held against 18 classes of identifiers, by name and values, and listed; what is found is removed, or cut "
        "to the first three ZIP digits (where more than 20,000 people live), to years, to ages up to 89 with one group above",
        "45 CFR 164.514(b)(2), United States, as amended in August 2002",
        "2002-08",
        {"k": 5},
        {},
        SmallCells(11),
        "",
        "A list of identifiers, without a k; k = 5 is added here. Whether a column that nothing points to holds an identifier, "
        "and whether somebody has actual knowledge that the rest identifies, no program can check.",
        "safe-harbor",
        read="2026-11",
    ),
    Preset(
        "hipaa-expert",
        "an expert finds the risk very small and documents methods and results; the law names no number",
        "45 CFR 164.514(b)(1), United States, as amended in August 2002",
        "2002-08",
        {},
        {},
        SmallCells(11),
        "",
        "The policy must state the number the expert chose.",
        read="2026-11",
    ),
    Preset(
        "cms-11",
        "no cell below 11",
        "Centers for Medicare & Medicaid Services, cell size suppression policy (values 1 to 10), version of 26 January 2024",
        "2024-01",
        {"k": 11},
        {},
        SmallCells(11),
        "",
        _CELLS_NOTE,
        read="2026-11",
    ),
    Preset(
        "ons-srs",
        "threshold of 10, part of a principles-based check",
        "Office for National Statistics, Secure Research Service output checking guidance 1.1, and advice to LS users",
        "2022-09",
        {"k": 10},
        {},
        SmallCells(10),
        "",
        _CELLS_NOTE + " The checker may allow exceptions or ask for more.",
        read="2026-11",
    ),
    Preset(
        "pdpc",
        "k of 3 or 5 as in industry, higher where possible; 5 is used here",
        "Personal Data Protection Commission Singapore, Guide to Basic Anonymisation, 31 March 2022, step 4",
        "2022-03",
        {"k": 5},
        {},
        SmallCells(5),
    ),
    Preset(
        "hdx",
        "average risk below 3 %",
        "Humanitarian Data Exchange, review of microdata (global risk below three percent); guidance note 1",
        "2019-08",
        {"k": 2, "risk": {"average": 0.03}},
        {},
        SmallCells(5),
        "public",
        "An average: a record may still be at more risk than 3 %; k = 2 is added here so that no record stands alone.",
        read="2026-11",
    ),
    Preset(
        "abs-datalab",
        "rule of 10",
        "Australian Bureau of Statistics, DataLab input and output clearance, released 19 November 2021",
        "2021-11",
        {"k": 10},
        {},
        SmallCells(10),
        "",
        _CELLS_NOTE,
        read="2026-11",
    ),
    Preset(
        "ukllc",
        "counts below 10, zero included, are refused",
        "UK Longitudinal Linkage Collaboration, guidebook, statistical disclosure control, 7 July 2025",
        "2025-07",
        {"k": 10},
        {},
        SmallCells(10, zero_shown=False),
        "",
        _CELLS_NOTE,
        read="2026-11",
    ),
    Preset(
        "opensafely",
        "counts up to 7 redacted, then rounded to 5",
        "OpenSAFELY, disclosure control in ehrQL measures (opensafely-core/ehrql pull request 1746)",
        "2023-11",
        {"k": 8},
        {},
        SmallCells(8, 5),
        "",
        _CELLS_NOTE,
        read="2026-11",
    ),
    Preset(
        "nhs-hes",
        "sub-national counts of 1 to 7 hidden, others rounded to 5",
        "NHS Digital, disclosure control methodology for HES and ECDS from September 2018",
        "2018-09",
        {"k": 8},
        {},
        SmallCells(8, 5),
        "",
        _CELLS_NOTE,
        read="2026-11",
    ),
    Preset(
        "manitoba",
        "counts of 1 to 5 suppressed",
        "Manitoba Centre for Health Policy, publication rules",
        "2023-01",
        {"k": 6},
        {},
        SmallCells(6),
        "",
        _CELLS_NOTE,
    ),
    Preset(
        "ferpa-de",
        "counts up to 15 suppressed",
        "Delaware Department of Education, data privacy rules",
        "2022-01",
        {"k": 16},
        {},
        SmallCells(16),
        "",
        _CELLS_NOTE,
    ),
    Preset(
        "survey-team",
        "no result for fewer than 5 answers",
        "practice of employee survey providers",
        "2023-01",
        {"k": 5},
        {},
        SmallCells(5),
        "",
        _CELLS_NOTE + " Some providers use 3; hide the next-smallest group too.",
    ),
)

PRESETS: Mapping[str, Preset] = {p.name: p for p in _ALL}
ALIASES: Mapping[str, str] = {"pdpc-sg": "pdpc", "named": "named-recipient", "safe-harbor": "hipaa-safe-harbor"}


def preset(name: str) -> Preset:
    """A preset by name; an unknown name is refused with the nearest one.

    >>> preset("ema-public").require
    {'risk': {'prosecutor': 0.09}}
    >>> preset("ema-pubic")
    Traceback (most recent call last):
    shoal.errors.PolicyError: preset 'ema-pubic' is not known.
      Did you mean 'ema-public'? Presets: abs-datalab, ...
    """
    found = PRESETS.get(ALIASES.get(name, name))
    if found is None:
        close = nearest(name, [*PRESETS, *ALIASES])
        hint = (f"Did you mean '{close}'? " if close else "") + f"Presets: {', '.join(sorted(PRESETS))}."
        raise PolicyError(f"preset '{name}' is not known.", hint=hint, preset=name)
    return found


def floor_of(rule: Preset, sensitive: Iterable[str]) -> tuple[Requirement, ...]:
    """What a preset asks of a release with these sensitive columns.

    >>> from shoal.release.policy.presets import PRESETS
    >>> [r.name for r in floor_of(PRESETS["strict-public"], ["ill"])]
    ['k', 'risk.prosecutor', 'diversity.ill.distinct', 'closeness.ill.t']
    """
    each = {part: {column: dict(words) for column in sensitive} for part, words in rule.each_sensitive.items()}
    return ordered((*requirements_of(rule.require), *requirements_of({part: named for part, named in each.items() if named})))


def as_strict(said: Requirement, asked: Requirement) -> bool:
    """Whether meeting ``said`` is meeting ``asked``: the same of the same column, by the same distance, at that limit or beyond.

    >>> one, other = requirements_of(["t[ill]<=0.3"]) + requirements_of(["t[ill, ordered]<=0.1"])
    >>> as_strict(one, one), as_strict(other, one)
    (True, False)
    """
    if said.place != asked.place or said.options() != asked.options():
        return False
    return said.limit >= asked.limit if asked.sign == ">=" else said.limit <= asked.limit


def filled(said: Sequence[Requirement], rule: Preset | None, sensitive: Iterable[str]) -> tuple[Requirement, ...]:
    """The requirements, with those of the preset; a part that is weaker than the preset's is refused."""
    out = {r.place: r for r in said}
    for asked in floor_of(rule, sensitive) if rule is not None else ():
        if not as_strict(out.setdefault(asked.place, asked), asked):
            _refuse(out[asked.place], asked, rule.name if rule else "")
    return ordered(out.values())


def below(asked: Sequence[Requirement], rule: Preset, sensitive: Iterable[str]) -> tuple[Requirement, ...]:
    """Parts of a preset that are not asked for, or less strictly; none where its name may stand."""
    places = {r.place: r for r in asked}
    return tuple(r for r in floor_of(rule, sensitive) if r.place not in places or not as_strict(places[r.place], r))


def check_sensitive_named(rule: Preset | None, sensitive: Sequence[str]) -> None:
    """A preset that asks something of each sensitive column says nothing where none is named: its name is refused."""
    if rule is not None and rule.each_sensitive and not sensitive:
        raise PolicyError(
            f"preset '{rule.name}' asks for {' and '.join(rule.each_sensitive)} of each sensitive column, and none is named.",
            hint="Name what a class must not reveal under roles.sensitive, or leave the preset out and write its k.",
        )


def _refuse(said: Requirement, asked: Requirement, name: str) -> None:
    place, how = f"require.{said.name}", "".join(f" ({word})" for word in said.options())
    wanted = "".join(f" ({word})" for word in asked.options())
    raise PolicyError(
        f"'{place}' is {said.limit}{how}, weaker than the {asked.limit}{wanted} of preset '{name}'.",
        hint="Ask for at least as much as the preset, or leave the preset out.",
        path=place,
    )
