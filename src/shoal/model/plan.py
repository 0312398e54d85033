"""Plan: what will be done to a table, one step per column, then suppression.

A plan is data, not code: it goes to JSON and back, holds no data value beyond public labels (hierarchy leaves, cut points),
and the same plan with the same input and seed gives the same bytes. Four families of steps:

* *expression steps* (:mod:`shoal.steps`): a function of one value; the engine carries them out in SQL (keep, constant, value
  map, cut points, prefix, round, clamp);
* *stream steps* (:class:`StreamStep`): a function of one row's values and its number; applied to Arrow batches;
* *whole-column steps* (:class:`ColumnStep`): need all rows of a few columns at once (rank swapping, MDAV); only those
  columns are read into memory, in a canonical order;
* *row steps* (:class:`RowStep`): choose which rows there are at all (a sample); applied before every other step.

Rooms register their steps with :func:`register_step` when they are imported; :mod:`shoal.release.plan.plan_json` imports them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from shoal.errors import PolicyError, UsageError, suggest
from shoal.model.seed import safe_seed

FORMAT = "shoal-plan/1"
SUPPRESSED = "*"
"""The published text of a suppressed cell."""

OnGap = Literal["error", "suppress", "top"]
Publishes = Literal["own", "numbers", "groups", "else"]
"""What the values of a step are: see :class:`Step`."""

_REGISTRY: dict[str, type[Step]] = {}


def register_step(cls: type[Step]) -> type[Step]:
    """Class decorator: make a step known by its ``kind``, so that plans can be read back."""
    if cls.kind in _REGISTRY and _REGISTRY[cls.kind] is not cls:
        raise PolicyError(f"two kinds of step are called '{cls.kind}'.")
    _REGISTRY[cls.kind] = cls
    return cls


@dataclass(frozen=True)
class Step:
    """One thing done to one column.

    ``truthful`` says whether every published value is still true of the person (generalization and suppression are,
    noise and swapping are not); ``draws`` whether it depends on the plan's seed, which is then a secret;
    ``publishes`` says what the new values are: the column's ``own`` ones (moved or exchanged), ``numbers`` calculated from
    them, ``groups``, or something ``else``. Values that the file declares missing (99999 "refused") are a class of their own:
    with ``codes_apart`` the step never sees them and they stay as they are.
    """

    column: str
    kind: ClassVar[str] = ""
    truthful: ClassVar[bool] = True
    draws: ClassVar[bool] = False
    publishes: ClassVar[Publishes] = "else"
    codes_apart: ClassVar[bool] = True

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the step reads and replaces."""
        return (self.column,)

    def messages(self, records: int) -> tuple[str, ...]:
        """The message about a step that so many records turned into another one."""
        return ()

    def to_json(self) -> dict[str, Any]:
        fields = {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}
        return {"kind": self.kind, **fields}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        known = {f.name for f in dataclasses.fields(cls)}
        unknown = sorted(set(data) - known - {"kind"})
        if unknown:
            takes = [f.name for f in dataclasses.fields(cls) if f.name != "column"]
            hint = f"It takes: {', '.join(takes) or 'nothing more'}. {suggest(unknown[0], takes)}".strip()
            raise PolicyError(f"step '{cls.kind}' has unknown fields: {', '.join(unknown)}.", hint=hint)
        return cls(**{k: to_tuples(v) for k, v in data.items() if k != "kind"})


@dataclass(frozen=True)
class StreamStep(Step):
    """A step that sees batches: :meth:`start` returns a function from Arrow columns to the new column(s).

    The function receives a pyarrow Table with :attr:`columns` (and :attr:`needs`) of one batch of rows and a number per row (two
    words, see :func:`shoal.kernels.order.row_numbers`); it returns a table with :attr:`columns` replaced, of the same length.
    ``by_row`` says that the result depends on that number (noise) and not on the row's values alone (a keyed hash).
    """

    by_row: ClassVar[bool] = True
    draws: ClassVar[bool] = True

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that are read but not replaced (a person id for consistent date shifts)."""
        return ()

    def look(self) -> Any:
        """None, or what sees every row before the step starts: ``add(table)`` takes some, ``step()`` gives the step to start."""
        return None

    def start(self, seed: int) -> Callable[[Any, Any], Any]:
        raise UsageError(f"step '{self.kind}' cannot be applied to batches.")


@dataclass(frozen=True)
class ColumnStep(Step):
    """A step that sees its columns whole: :meth:`run` takes a pyarrow Table and returns one of the same shape.

    ``splits_by_codes`` says that :meth:`run` takes a third argument: per column, an array of whole numbers that tells codes
    declared missing apart (0: none). Records with different codes are then never one group; a code that must go is set to 0.
    ``by_place`` says that the order of the rows matters, if only among equal values: they then come in one that depends on
    their content alone.
    """

    splits_by_codes: ClassVar[bool] = False
    by_place: ClassVar[bool] = True
    draws: ClassVar[bool] = True

    @property
    def needs(self) -> tuple[str, ...]:
        return ()

    def run(self, table: Any, seed: int) -> Any:
        raise UsageError(f"step '{self.kind}' cannot be applied to whole columns.")


@dataclass(frozen=True)
class RowStep(Step):
    """A step that chooses rows: :meth:`start` returns a function that says of each row of a batch whether it stays.

    It names no column of its own. The function receives the columns :attr:`needs` of a batch and a number per row.
    """

    column: str = ""
    by_row: ClassVar[bool] = True
    draws: ClassVar[bool] = True

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    @property
    def needs(self) -> tuple[str, ...]:
        return ()

    def start(self, seed: int) -> Callable[[Any, Any], Any]:
        raise UsageError(f"step '{self.kind}' cannot be applied to batches.")


@dataclass(frozen=True)
class Suppression:
    """What happens, after the column steps, to classes with fewer than ``k`` members.

    ``scope`` is ``rows`` (the record is left out), ``cells`` (its quasi-identifiers become :data:`SUPPRESSED`; the record
    stays) or ``none``. Classes are formed over ``columns`` as published; ``unit`` counts people. Where other requirements
    than size decide which classes stay, the caller hands RECODE the kept classes; the plan stores only the rule.
    """

    k: int = 0
    columns: tuple[str, ...] = ()
    scope: Literal["rows", "cells", "none"] = "rows"
    unit: str | None = None

    def __post_init__(self) -> None:
        if self.scope not in ("rows", "cells", "none"):
            raise PolicyError("the scope of suppression is not known.", hint="Scopes: rows, cells, none.")

    def to_json(self) -> dict[str, Any]:
        return {"k": self.k, "columns": list(self.columns), "scope": self.scope, "unit": self.unit}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Suppression:
        return cls(int(data["k"]), tuple(data["columns"]), data["scope"], data.get("unit"))


@dataclass(frozen=True)
class Plan:
    """Rows chosen, then steps in order, then suppression, then a shuffle of the rows by a keyed hash.

    A column without a step is kept. At most one expression step may name a column; the steps of a column are applied in
    the order given. Row steps come first wherever they stand, so that every group and class is formed of published rows.

    >>> from shoal.steps import Cut, Drop
    >>> p = Plan((Cut("age", points=(30.0, 60.0), labels=("<30", "30-59", "60+")), Drop("name")), Suppression(5, ("age",)))
    >>> Plan.from_json(p.to_json()) == p
    True
    """

    steps: tuple[Step, ...] = ()
    suppression: Suppression = field(default_factory=Suppression)
    seed: int = field(default=0, repr=False)  # a secret where a step draws from it
    shuffle: bool = True
    notes: tuple[str, ...] = ()

    def for_column(self, name: str) -> tuple[Step, ...]:
        return self._by_column.get(name, ())

    @cached_property
    def _by_column(self) -> dict[str, tuple[Step, ...]]:
        steps: dict[str, list[Step]] = {}
        for step in self.steps:
            for name in dict.fromkeys(step.columns):
                steps.setdefault(name, []).append(step)
        return {name: tuple(several) for name, several in steps.items()}

    @property
    def truthful(self) -> bool:
        return all(s.truthful for s in self.steps)

    @property
    def draws(self) -> bool:
        """Whether a step depends on the seed."""
        return any(s.draws for s in self.steps)

    def seeded(self) -> Plan:
        """The plan with a seed that cannot be guessed, where a step draws from it: see :func:`shoal.model.seed.safe_seed`."""
        return dataclasses.replace(self, seed=safe_seed(self.seed)) if self.draws else self

    def without_seed(self) -> Plan:
        """The plan as it may be shown."""
        return dataclasses.replace(self, seed=0)

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no blanks that depend on anything."""
        data = {
            "format": FORMAT,
            "steps": [s.to_json() for s in self.steps],
            "suppression": self.suppression.to_json(),
            "seed": self.seed,
            "shuffle": self.shuffle,
            "notes": list(self.notes),
        }
        return json.dumps(data, ensure_ascii=False, sort_keys=True, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, read_step: Callable[[Mapping[str, Any]], Step] | None = None) -> Plan:
        """The plan of a JSON text; ``read_step`` reads a step (default: :func:`step_from_json`)."""
        try:
            data = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            raise PolicyError("the plan is not valid JSON.", hint="Use a plan.json that Shoal wrote.") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise PolicyError(f"the plan is not of format '{FORMAT}'.", hint="Use a plan.json that this version of Shoal wrote.")
        try:
            steps = tuple((read_step or step_from_json)(s) for s in data["steps"])
            return cls(
                steps,
                Suppression.from_json(data["suppression"]),
                int(data["seed"]),
                bool(data["shuffle"]),
                tuple(data.get("notes", ())),
            )
        except PolicyError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError):
            hint = "Use a plan.json that Shoal wrote."
            raise PolicyError("the plan lacks a part or has one of the wrong type.", hint=hint) from None


def step_from_json(data: Mapping[str, Any]) -> Step:
    """A step of a registered kind from its JSON form."""
    kind = data.get("kind", "")
    if kind not in _REGISTRY:
        raise PolicyError(f"step kind '{kind}' is not known.", hint=f"Known kinds: {', '.join(sorted(_REGISTRY))}.")
    return _REGISTRY[kind].from_json(data)


def is_step_kind(kind: str) -> bool:
    """Whether steps of this kind are registered."""
    return kind in _REGISTRY


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value


def to_tuples(value: Any) -> Any:
    """Lists of JSON as tuples, at any depth."""
    if isinstance(value, list):
        return tuple(to_tuples(v) for v in value)
    return value
