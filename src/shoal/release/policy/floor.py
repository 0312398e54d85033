"""A preset is a floor: its name may stand on a release only when every part of it is asked for, at least as strictly.

What a preset asks of each sensitive column applies to every one of them, beside what the policy says of the column. The same
functions serve the policy (before), the gate, and ``verify`` (after), so that a name means one thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shoal.errors import PolicyError
from shoal.model.requirement import Requirement, ordered, requirements_of
from shoal.release.policy.presets import Preset


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
