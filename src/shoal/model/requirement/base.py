"""Requirement: the base class of all kinds, the verdict on one, and the list of kinds.

A kind states everything about itself as class attributes, so that measuring, searching, judging, certifying and reporting ask
the class. How to add one is described in docs/requirements.md.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

import numpy as np

from shoal.errors import RequirementError, UsageError, suggest
from shoal.model.compare import at_least, at_most, below
from shoal.model.counts.classes import FloatArray
from shoal.model.requirement.clause import Clause, Reading, written, written_column

Scope = Literal["class", "table", "trace"]
Law = Literal["merge", "union", "none"]
Spellings = Mapping[str, Mapping[str, Any]]
Schema = Mapping[str, Any]

_R = TypeVar("_R", bound="Requirement")
_KINDS: dict[str, type[Requirement]] = {}


@dataclass_transform(frozen_default=True)
def register(cls: type[_R]) -> type[_R]:
    """Make a class a kind of requirement: a frozen dataclass, known by its name."""
    if "spellings" not in vars(cls):
        cls.spellings = {cls.kind.replace("-", "_"): {}}
    _KINDS[cls.kind] = dataclass(frozen=True)(cls)
    return _KINDS[cls.kind]  # type: ignore[return-value]


@dataclass(frozen=True)
class ValueLimit:
    """A limit on the values of a sensitive column in one class, as a search checks it.

    ``test`` names the check; ``first`` and ``second`` are its numbers, ``limits`` one number per value of the column. The
    tolerance of :mod:`shoal.model.compare` is included: a search compares exactly.
    """

    test: Literal["distinct", "entropy", "recursive", "cap", "band", "distance"]
    first: float = 0.0
    second: float = 0.0
    limits: FloatArray = dataclasses.field(default_factory=lambda: np.zeros(1))


@dataclass(frozen=True)
class Requirement:
    """A limit that must be met: a value with a kind, a scope, a law, a place in a policy and a sentence.

    >>> asked = Requirement.parse("t[diagnosis]<=0.2")
    >>> asked.name, asked.limit, str(asked)
    ('closeness.diagnosis.t', 0.2, 't[diagnosis, equal]<=0.2')
    """

    kind: ClassVar[str] = ""
    scope: ClassVar[Scope] = "class"
    law: ClassVar[Law] = "none"  # what a search may prune by
    bound: ClassVar[str] = ""  # the field that contains the limit
    sign: ClassVar[str] = "<="
    spellings: ClassVar[Spellings] = {}  # names in text, and the fields that each name fixes; the kind if it states none
    section: ClassVar[str] = ""  # the part of ``require`` in a policy; empty: at the top
    schema: ClassVar[Schema] = {}  # JSON schema by key of the section
    key_field: ClassVar[str] = ""  # the field that the key fills, if a kind has several keys
    option_fields: ClassVar[tuple[str, ...]] = ()  # fields that have a key of their own beside the limit
    renamed: ClassVar[Mapping[str, str]] = {}  # fields whose name in a policy differs
    figure: ClassVar[str] = ""  # the number of a measurement that it limits
    trivial_bound: ClassVar[float | None] = None  # a bound that every table meets; it is not a requirement
    table_limit: ClassVar[str] = ""  # how a search checks a limit on the whole table
    needs_population: ClassVar[bool] = False
    needs_sample: ClassVar[bool] = False  # a class size once the members of the table, a random sample, are counted
    on_file: ClassVar[bool] = False  # decided on the written file, not by a search
    needs_original: ClassVar[bool] = False  # decided by anyone who has the table before the release; nobody can count it again

    @property
    def sensitive(self) -> str | None:
        """The sensitive column it limits, or None."""
        return getattr(self, "column", None)

    @property
    def place(self) -> tuple[str, ...]:
        """Its keys in a policy, under ``require``; no two requirements of a policy have the same place."""
        key = getattr(self, self.key_field) if self.key_field else self.policy_keys()[0]
        return tuple(part for part in (self.section, self.sensitive, key) if part)

    @classmethod
    def policy_keys(cls) -> tuple[str, ...]:
        """The keys of the section in a policy that state it."""
        return tuple(key for key in cls.schema if key not in cls.option_fields)

    @property
    def name(self) -> str:
        """Its place as text: ``risk.prosecutor``, ``closeness.diagnosis.t``."""
        return ".".join(self.place)

    @property
    def limit(self) -> float:
        """The required number."""
        value: float = getattr(self, self.bound)
        return value

    @property
    def figure_name(self) -> str:
        """The number of a measurement that it limits."""
        return self.figure.format(**{self.key_field: getattr(self, self.key_field)} if self.key_field else {})

    def class_sizes(self, *, has_population: bool) -> tuple[int, int]:
        """The fewest members of a class, and the fewest people of the population, that it requires; 0 if it does not."""
        return 0, 0

    @property
    def fewest_values(self) -> float:
        """Different sensitive values without which no class can meet it."""
        return 0.0

    @property
    def needs_order(self) -> bool:
        """Whether the values of the sensitive column must have an order."""
        return False

    def value_limit(self, share: FloatArray) -> ValueLimit | None:
        """What a search checks in each class, for values with this ``share`` in the table; None: every class passes."""
        raise UsageError(f"the requirement '{self.kind}' cannot be searched for.", hint="See the list of requirements.")

    def holds(self, value: float) -> bool:
        """Whether a number meets the limit, by the rule of :mod:`shoal.model.compare`."""
        compare = {">=": at_least, "<=": at_most, "<": below}[self.sign]
        return compare(value if self._whole() else float(value), self.limit)

    def judged(self, value: float | None) -> Verdict:
        """The verdict on a number; None stands for a number without a bound, which meets nothing."""
        bare = value is None or not math.isfinite(value)
        return Verdict(self, None if bare else value, not bare and self.holds(value or 0))

    def sentence(self) -> str:
        """The requirement as a sentence."""
        raise NotImplementedError

    @staticmethod
    def parse(text: str, reading: Reading | None = None) -> Requirement:
        """A requirement from its text; ``reading`` supplies what the text omits.

        >>> Requirement.parse("k>=5"), Requirement.parse("entropy[ill]>=2.5")
        (K(k=5), EntropyDiversity(column='ill', l=2.5))
        """
        clause = Clause.read(text)
        kind = kind_named(clause.word)
        if kind is None:
            hint = suggest(clause.word, spellings()) or "For example k>=5, risk.prosecutor<=0.09, t[diagnosis]<=0.2."
            raise UsageError(f"'{clause.word}' is not a requirement.", hint=hint)
        return kind.from_clause(clause, reading or Reading())

    @classmethod
    def from_clause(cls, clause: Clause, reading: Reading) -> Requirement:
        """The requirement of a clause with one of :attr:`spellings`."""
        column = {"column": clause.column(reading)} if any(f.name == "column" for f in dataclasses.fields(cls)) else {}
        if clause.inside and not column:
            raise UsageError(f"'{clause.word}' takes nothing in brackets.", hint=f"Write {clause.word}{cls.sign}….")
        return cls(**column, **cls.spellings[clause.word], **{cls.bound: cls.limit_of(clause)})

    @classmethod
    def limit_of(cls, clause: Clause) -> float:
        """The limit of a clause; a sign that the kind does not have is refused. Of a count, ``>4`` is ``>=5``."""
        value = clause.number(whole=cls._whole())
        if clause.sign == cls.sign:
            return value
        if clause.sign in cls.signs_known() and isinstance(value, int):
            return value + 1
        hint = f"Write {clause.word}{cls.sign}…."
        raise UsageError(f"'{clause.word}' is asked for with '{cls.sign}', not '{clause.sign}'.", hint=hint)

    @classmethod
    def _whole(cls) -> bool:
        limit = cls.__dataclass_fields__.get(cls.bound)
        return limit is not None and limit.type == "int"

    @classmethod
    def signs_known(cls) -> tuple[str, ...]:
        """Signs that its text may have."""
        return (cls.sign, ">") if cls._whole() and cls.sign == ">=" else (cls.sign,)

    def options(self) -> tuple[str, ...]:
        """What its text says in brackets after the column."""
        return ()

    def __str__(self) -> str:
        word = next((w for w, fixed in self.spellings.items() if all(getattr(self, n) == v for n, v in fixed.items())), self.kind)
        column = (written_column(self.sensitive),) if self.sensitive is not None else ()
        return written(word, self.sign, self.limit, (*column, *self.options()))


@dataclass(frozen=True)
class Verdict:
    """One requirement, the number it was compared with (None: not finite), and whether it is met.

    True or false as a condition.

    >>> print(Requirement.parse("k>=5").judged(3))
    not met: k>=5 (found 3)
    """

    requirement: Requirement
    found: float | None
    met: bool

    @property
    def sentence(self) -> str:
        return self.requirement.sentence()

    def __bool__(self) -> bool:
        return self.met

    def __str__(self) -> str:
        shown = "no finite number" if self.found is None else f"{self.found:.6g}"
        return f"{'met' if self.met else 'not met'}: {self.requirement} (found {shown})"

    def require(self) -> Verdict:
        """Itself if it is met; otherwise a :class:`~shoal.errors.RequirementError`."""
        if not self.met:
            raise RequirementError(f"{self}.", hint="Generalize or suppress, then measure again.")
        return self

    def to_json(self) -> dict[str, Any]:
        return {
            "requirement": self.requirement.name,
            "sentence": self.sentence,
            "asked": self.requirement.limit,
            "found": self.found,
            "met": self.met,
        }


def requirement_kinds() -> dict[str, type[Requirement]]:
    """All kinds, by name."""
    return dict(_KINDS)


def spellings() -> list[str]:
    """All names of requirements in text."""
    return [word for kind in _KINDS.values() for word in kind.spellings]


def kind_named(word: str) -> type[Requirement] | None:
    """The kind with this name in text, or None."""
    return next((kind for kind in _KINDS.values() if word in kind.spellings), None)


def sentences(requirements: Iterable[Requirement]) -> tuple[str, ...]:
    """All requirements as sentences."""
    return tuple(r.sentence() for r in requirements)


def check_whole(value: object, least: int, what: str, hint: str) -> None:
    """Raise if it is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{what} must be a whole number of at least {least}; found {value!r}.", hint=hint)


def check_real(value: object, above: float, what: str, hint: str) -> None:
    """Raise if it is not a finite number above ``above``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= above:
        raise UsageError(f"{what} must be a number above {above:g}; found {value!r}.", hint=hint)


def check_share(value: object, what: str, *, above_zero: bool) -> None:
    """Raise if it is not a number between 0 and 1."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0
    if not good or (above_zero and value == 0.0):
        raise UsageError(f"{what} must lie between 0 and 1; found {value!r}.", hint="Write 0.2 for 20 %.")


def check_one_of(value: object, allowed: tuple[str, ...], what: str) -> None:
    """Refuse a value that is not on the list."""
    if value not in allowed:
        raise UsageError(f"{what} {value!r} is not known.", hint=f"Choose one of: {', '.join(allowed)}.")


SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
RISK: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
"""JSON schema of a share, and of one above 0."""


def described(schema: Schema, description: str) -> dict[str, Any]:
    """A JSON schema with a description."""
    return {**schema, "description": description}


def whole_number(least: int, most: int, description: str = "") -> dict[str, Any]:
    """JSON schema of a whole number."""
    out = {"type": "integer", "minimum": least, "maximum": most}
    return described(out, description) if description else out


def positive_number(most: float, description: str) -> dict[str, Any]:
    """JSON schema of a number above 0."""
    return {"type": "number", "exclusiveMinimum": 0, "maximum": most, "description": description}


def group(description: str = "", *, optional: tuple[str, ...] = (), **properties: Schema) -> dict[str, Any]:
    """JSON schema of 'name: value' lines; all are required but the ``optional`` ones."""
    required = [name for name in properties if name not in optional]
    out = {"type": "object", "additionalProperties": False, "required": required, "properties": properties}
    return described(out, description) if description else out


def several(schema: Schema) -> dict[str, Any]:
    """JSON schema of one value, or of a list of such values."""
    return {"anyOf": [schema, {"type": "array", "items": schema, "maxItems": 8}]}
