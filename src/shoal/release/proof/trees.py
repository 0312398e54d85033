"""The hierarchy or order of a sensitive column, so that closeness by it can be counted again from the folder.

``hierarchies.json`` lists, for each published value of the column and for nothing else, the number of its group at each inner
level, and the published values of an ordered column from low to high. It reveals nothing about values that the data do not hold,
names no group, and is bound to the certificate by its hash like every other file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import TamperError, refuse

if TYPE_CHECKING:
    from shoal.model.hierarchy import Hierarchy

NAME = "hierarchies.json"
FORMAT = "shoal-hierarchies/1"


@dataclass(frozen=True)
class Tree:
    """Height of a tree and, by value, the groups at its inner levels, from the leaves upwards; the root is one group.

    >>> t = Tree(2, {"flu": (0,), "cold": (0,), "hiv": (1,)})
    >>> t.path("flu"), t.path(None)
    ((0,), (-1,))
    """

    height: int
    groups: Mapping[str, tuple[int, ...]]

    def path(self, value: Any) -> tuple[int, ...]:
        """Groups of a cell as it was read; a missing value hangs directly under the root."""
        if value is None:
            return (-1,) * (self.height - 1)
        text = _text(value)
        for key in (text, text.removeprefix("'")):  # a guard against formulas may stand before it
            if key in self.groups:
                return self.groups[key]
        raise TamperError("the hierarchy of a sensitive column does not cover a published value.")

    def covering(self, values: Iterable[Any]) -> Tree:
        """The part of the tree that the published values need."""
        there = {_text(v) for v in values if v is not None}
        keys = {t if t in self.groups else t.removeprefix("'") for t in there}
        return Tree(self.height, {k: self.groups[k] for k in sorted(keys) if k in self.groups})


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def tree_of(hierarchy: Hierarchy) -> Tree:
    """The tree of a fitted hierarchy; one without a single root gets one."""
    rooted = len(hierarchy.levels) > 1 and len(hierarchy.levels[-1].labels) == 1
    levels = hierarchy.levels[:-1] if rooted else hierarchy.levels
    groups = {leaf: tuple(int(level.groups[i]) for level in levels[1:]) for leaf, i in hierarchy.position.items()}
    return Tree(len(levels), groups)


def write(trees: Mapping[str, Tree], path: Path, orders: Mapping[str, Sequence[str]] | None = None) -> None:
    """The file of a release."""
    columns = {c: {"height": t.height, "groups": {v: list(g) for v, g in t.groups.items()}} for c, t in sorted(trees.items())}
    whole: dict[str, Any] = {"format": FORMAT, "columns": columns}
    if orders:
        whole["orders"] = {c: list(values) for c, values in sorted(orders.items())}
    text = json.dumps(whole, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")


def order_covering(order: Sequence[str], values: Iterable[Any]) -> tuple[str, ...]:
    """The part of an order that the published values need.

    >>> order_covering(("low", "medium", "high"), ["high", None, "low", "'low"])
    ('low', 'high')
    """
    there = {_text(v) for v in values if v is not None}
    there |= {t.removeprefix("'") for t in there}
    return tuple(v for v in order if v in there)


def read_orders(path: Path) -> dict[str, tuple[str, ...]]:
    """The orders of a release; none where it states none."""
    if not path.exists():
        return {}
    with refuse(TamperError(f"'{NAME}' is not as Shoal wrote it."), ValueError, TypeError, AttributeError):
        orders = json.loads(path.read_text(encoding="utf-8")).get("orders", {})
        if not all(isinstance(v, str) for values in orders.values() for v in values):
            raise ValueError
        return {c: tuple(values) for c, values in orders.items()}


def read(path: Path) -> dict[str, Tree]:
    """The trees of a release; none where it has no such file."""
    if not path.exists():
        return {}
    with refuse(TamperError(f"'{NAME}' is not as Shoal wrote it."), ValueError, KeyError, TypeError, AttributeError):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise ValueError
        return {
            c: Tree(int(t["height"]), {v: tuple(int(x) for x in g) for v, g in t["groups"].items()})
            for c, t in data["columns"].items()
        }
