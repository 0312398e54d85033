"""Groups of values by name, as a person puts them together: what a policy says, changed by one move at a time.

Values that too few records have are never listed; they are hidden from the first level on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import UsageError

LONGEST = 80
MOST = 2000
"""Values that can be put into groups by hand."""
Groups = dict[str, list[str]]


def groups_of(rule: Any, values: Sequence[str]) -> Groups:
    """The groups that a policy's rule names; each value it does not name is by itself.

    >>> groups_of({"groups": {"west": ["NL", "BE"]}}, ["BE", "JP", "NL"])
    {'west': ['BE', 'NL'], 'JP': ['JP']}
    """
    given = rule.get("groups") if isinstance(rule, Mapping) else None
    named = {str(g): {str(v) for v in inside} for g, inside in given.items()} if isinstance(given, Mapping) else {}
    out: Groups = {g: [v for v in values if v in inside] for g, inside in named.items()}
    taken = {v for inside in out.values() for v in inside}
    return {g: inside for g, inside in out.items() if inside} | {v: [v] for v in values if v not in taken}


def together(groups: Groups, values: Sequence[str], name: str) -> Groups:
    """These values in one group; with the name of a group that is there they join it.

    >>> together({"a": ["a"], "b": ["b"], "c": ["c"]}, ["a", "b"], "early")
    {'c': ['c'], 'early': ['a', 'b']}
    """
    label = " ".join(name.split())
    if not label or len(label) > LONGEST:
        hint = "Write one that readers of the release understand."
        raise UsageError(f"a group needs a name of 1 to {LONGEST} letters.", hint=hint)
    if not values:
        raise UsageError("no value was chosen.", hint="Tick the values that belong together.")
    left = {g: [v for v in inside if v not in values] for g, inside in groups.items()}
    joined = [*left.pop(label, []), *values]
    return {g: inside for g, inside in left.items() if inside} | {label: sorted(joined)}


def apart(groups: Groups, name: str) -> Groups:
    """The values of a group by themselves again.

    >>> apart({"early": ["a", "b"], "c": ["c"]}, "early")
    {'c': ['c'], 'a': ['a'], 'b': ['b']}
    """
    if name not in groups:
        raise UsageError("this group does not exist.", hint="Choose one of those shown.")
    left = {g: inside for g, inside in groups.items() if g != name}
    for value in groups[name]:
        if value in left:
            raise UsageError("another group has the name of one of these values.", hint="Take that group apart first.")
        left[value] = [value]
    return left


def is_group(name: str, inside: Sequence[str]) -> bool:
    """Whether it is more than a value by itself."""
    return list(inside) != [name]


def rule_of(groups: Groups) -> dict[str, Any] | None:
    """The groups as a policy writes them; None where every value is by itself."""
    if not any(is_group(g, inside) for g, inside in groups.items()):
        return None
    return {"groups": groups, "on_gap": "top"}


def tree_of(rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Rows of a file (value, group, larger group, …) as a tree that a policy can hold; a common top is left out.

    >>> tree_of([["NL", "west", "Europe", "*"], ["BE", "west", "Europe", "*"], ["JP", "east", "Asia", "*"]])
    {'Europe': {'west': ['NL', 'BE']}, 'Asia': {'east': ['JP']}}
    """
    width = len(rows[0])
    while width > 2 and len({row[width - 1] for row in rows}) == 1:
        width -= 1
    if width < 2:
        raise UsageError("the file has no groups.", hint="Each line is: value; group; larger group; …")
    tree: dict[str, Any] = {}
    for row in rows:
        inside: Any = tree
        for place in range(width - 1, 1, -1):
            inside = inside.setdefault(row[place], {})
        inside.setdefault(row[1], []).append(row[0])
    return tree
