"""Presets: thresholds of rule books, each with its rule, its source and its date, from ``presets.toml``.

A preset fills what a policy does not say. It is a number from a document, not a legal opinion: whether the document fits
a release is for people to decide, and the certificate says so. ``k`` and the largest risk of a record are two names of one
number (risk = 1/k), so a largest risk of 0.09 needs classes of twelve: 1/11 is 0.0909.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from shoal.errors import PolicyError, suggest
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
        return {**{n: getattr(self, n) for n in ("name", "rule", "source", "date", "note")}, "read": read}


def _presets() -> Iterator[Preset]:
    page = tomllib.loads(files(__package__).joinpath("presets.toml").read_text(encoding="utf-8"))
    for name, content in page.items():
        yield Preset(name, **{**content, "cells": SmallCells(**content.get("cells", {"minimum": 5}))})


PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in _presets()}
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
    chosen = PRESETS.get(ALIASES.get(name, name))
    if chosen is None:
        hint = f"{suggest(name, [*PRESETS, *ALIASES])} Presets: {', '.join(sorted(PRESETS))}.".strip()
        raise PolicyError(f"preset '{name}' is not known.", hint=hint, preset=name)
    return chosen


def floor_of(rule: Preset, sensitive: Iterable[str]) -> tuple[Requirement, ...]:
    """What a preset asks of a release with these sensitive columns.

    >>> from shoal.release.policy.presets import PRESETS
    >>> [r.name for r in floor_of(PRESETS["strict-public"], ["ill"])]
    ['k', 'risk.prosecutor', 'diversity.ill.distinct', 'closeness.ill.t']
    """
    each = {part: {column: dict(words) for column in sensitive} for part, words in rule.each_sensitive.items()}
    return ordered((*requirements_of(rule.require), *requirements_of({part: named for part, named in each.items() if named})))


def as_strict(requirement: Requirement, asked: Requirement) -> bool:
    """Whether meeting ``requirement`` implies meeting ``asked``: same column, same distance, at that limit or beyond.

    >>> one, other = requirements_of(["t[ill]<=0.3"]) + requirements_of(["t[ill, ordered]<=0.1"])
    >>> as_strict(one, one), as_strict(other, one)
    (True, False)
    """
    if requirement.place != asked.place or requirement.options() != asked.options():
        return False
    return requirement.limit >= asked.limit if asked.sign == ">=" else requirement.limit <= asked.limit


def filled(requirements: Sequence[Requirement], rule: Preset | None, sensitive: Iterable[str]) -> tuple[Requirement, ...]:
    """The requirements, with those of the preset; a part that is weaker than the preset's is refused."""
    out = {r.place: r for r in requirements}
    for floor in floor_of(rule, sensitive) if rule is not None else ():
        if not as_strict(out.setdefault(floor.place, floor), floor):
            _refuse(out[floor.place], floor, rule.name if rule else "")
    return ordered(out.values())


def below(asked: Sequence[Requirement], rule: Preset, sensitive: Iterable[str]) -> tuple[Requirement, ...]:
    """Parts of a preset that are not asked for, or less strictly; none where its name may stand."""
    places = {r.place: r for r in asked}
    return tuple(r for r in floor_of(rule, sensitive) if r.place not in places or not as_strict(places[r.place], r))


def check_sensitive_named(rule: Preset | None, sensitive: Sequence[str]) -> None:
    """A preset that asks something of each sensitive column says nothing where none is named: its name is refused."""
    if rule is not None and rule.each_sensitive and not sensitive:
        what = f"preset '{rule.name}' asks for {' and '.join(rule.each_sensitive)} of each sensitive column, and none is named."
        hint = "Name what a class must not reveal under roles.sensitive, or leave the preset out and write its k."
        raise PolicyError(what, hint=hint)


def _refuse(requirement: Requirement, asked: Requirement, name: str) -> None:
    place, how = f"require.{requirement.name}", "".join(f" ({word})" for word in requirement.options())
    wanted = "".join(f" ({word})" for word in asked.options())
    what = f"'{place}' is {requirement.limit}{how}, weaker than the {asked.limit}{wanted} of preset '{name}'."
    raise PolicyError(what, hint="Ask for at least as much as the preset, or leave the preset out.", path=place)
