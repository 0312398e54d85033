"""What the gate asks beside a policy's own requirements: nothing is left that the policy drops, and its preset holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.model.requirement import Requirement


@dataclass(frozen=True)
class PresetHolds(Requirement):
    """No part of the preset that the policy names is missed: asked by the gate, not by a policy in words."""

    preset: str
    kind: ClassVar[str] = "preset"

    @property
    def place(self) -> tuple[str, ...]:
        return ("preset", self.preset)

    @property
    def limit(self) -> int:
        return 0

    def holds(self, found: float) -> bool:
        return found == 0

    def sentence(self) -> str:
        return f"no part of preset '{self.preset}' is missed"


@dataclass(frozen=True)
class NoDirect(Requirement):
    """No direct identifier is left: asked by the gate where a policy names some, not by a policy in words."""

    kind: ClassVar[str] = "direct"

    @property
    def place(self) -> tuple[str, ...]:
        return ("direct",)

    @property
    def limit(self) -> int:
        return 0

    def holds(self, found: float) -> bool:
        return found == 0

    def sentence(self) -> str:
        return "no direct identifier is left in the table"


@dataclass(frozen=True)
class NoneDropped(Requirement):
    """No column is left that the policy drops with ``rest: drop``: asked by the gate, not by a policy in words."""

    kind: ClassVar[str] = "rest"

    @property
    def place(self) -> tuple[str, ...]:
        return ("rest",)

    @property
    def limit(self) -> int:
        return 0

    def holds(self, found: float) -> bool:
        return found == 0

    def sentence(self) -> str:
        return "no column is left that 'rest: drop' leaves out"


@dataclass(frozen=True)
class StaysOffTheList(Requirement):
    """A column that the list of the preset does not let stay as it is: found by the gate, not asked by a policy in words."""

    column: str
    why: str
    kind: ClassVar[str] = "identifiers"

    @property
    def place(self) -> tuple[str, ...]:
        return ("identifiers", self.column)

    @property
    def limit(self) -> int:
        return 0

    def holds(self, found: float) -> bool:
        return found == 0

    def sentence(self) -> str:
        return f"column '{self.column}' keeps to the list of the preset ({self.why})"
