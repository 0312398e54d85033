"""The root of all requirements, and the list of their kinds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeVar

from shoal.errors import PolicyError, RequirementError, UsageError, nearest
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement.clause import Clause, Reading, written, written_column

Scope = Literal["class", "table", "trace"]
Law = Literal["merge", "union", "none"]
Words = Mapping[str, Mapping[str, Any]]

_R = TypeVar("_R", bound="Requirement")
_KINDS: dict[str, type[Requirement]] = {}


def register(cls: type[_R]) -> type[_R]:
    """Make a kind known by its name."""
    _KINDS[cls.kind] = cls
    return cls


@dataclass(frozen=True)
class Requirement:
    """A limit that must be met: a value with a kind, a scope, a law, a place in a policy and a sentence.

    >>> asked = Requirement.parse("t[diagnosis]<=0.2")
    >>> asked.name, asked.limit, str(asked)
    ('closeness.diagnosis.t', 0.2, 't[diagnosis, equal]<=0.2')
    """

    kind: ClassVar[str] = ""
    scope: ClassVar[Scope] = "class"
    law: ClassVar[Law] = "none"
    bound: ClassVar[str] = ""  # the field that holds the limit
    words: ClassVar[Words] = {}  # how text names it, and what each name says of other fields
    sign: ClassVar[str] = "<="
    needs_population: ClassVar[bool] = False
    needs_original: ClassVar[bool] = False  # decided by whoever holds the table before the release; nobody can count it again

    @property
    def sensitive(self) -> str | None:
        """The sensitive column it speaks about, or None."""
        return getattr(self, "column", None)

    @property
    def place(self) -> tuple[str, ...]:
        """Where a policy says it, under ``require``; no two requirements of a policy have the same place."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Its place in words: ``risk.prosecutor``, ``closeness.diagnosis.t``."""
        return ".".join(self.place)

    @property
    def limit(self) -> float:
        """The number that is asked for."""
        value: float = getattr(self, self.bound)
        return value

    def holds(self, found: float) -> bool:
        """Whether a number that was found meets the limit, by the rule of :mod:`shoal.model.compare`."""
        raise NotImplementedError

    def judged(self, found: float | None) -> Verdict:
        """The verdict on a number that was found; None stands for a number without a bound, which meets nothing."""
        bare = found is None or not math.isfinite(found)
        return Verdict(self, None if bare else found, not bare and self.holds(found or 0))

    def sentence(self) -> str:
        """The requirement in words."""
        raise NotImplementedError

    @staticmethod
    def parse(text: str, reading: Reading | None = None) -> Requirement:
        """A requirement from its text; what it leaves unsaid is taken from ``reading``.

        >>> Requirement.parse("k>=5"), Requirement.parse("entropy[ill]>=2.5")
        (K(k=5), EntropyDiversity(column='ill', l=2.5))
        """
        clause = Clause.read(text)
        kind = kind_named(clause.word)
        if kind is None:
            close = nearest(clause.word, spellings())
            hint = f"Did you mean '{close}'?" if close else "For example k>=5, risk.prosecutor<=0.09, t[diagnosis]<=0.2."
            raise UsageError(f"'{clause.word}' is not a requirement.", hint=hint)
        return kind.from_clause(clause, reading or Reading())

    @classmethod
    def from_clause(cls, clause: Clause, reading: Reading) -> Requirement:
        """The requirement that a clause with one of :attr:`words` says."""
        column = {"column": clause.column(reading)} if _has(cls, "column") else {}
        if clause.inside and not column:
            raise UsageError(f"'{clause.word}' takes nothing in brackets.", hint=f"Write {clause.word}{cls.sign}….")
        return cls(**column, **cls.words[clause.word], **{cls.bound: cls.asked(clause)})

    @classmethod
    def asked(cls, clause: Clause) -> float:
        """The limit of a clause; a sign that the kind does not have is refused. Of a count, ``>4`` is ``>=5``."""
        value = clause.number(whole=cls._whole())
        if clause.sign == cls.sign:
            return value
        if clause.sign in cls.signs_known() and isinstance(value, int):
            return value + 1
        raise UsageError(
            f"'{clause.word}' is asked for with '{cls.sign}', not '{clause.sign}'.", hint=f"Write {clause.word}{cls.sign}…."
        )

    @classmethod
    def _whole(cls) -> bool:
        """Whether the limit is a count."""
        return cls.__annotations__.get(cls.bound) == "int"

    @classmethod
    def signs_known(cls) -> tuple[str, ...]:
        """Signs that its text may have."""
        return (cls.sign, ">") if cls._whole() and cls.sign == ">=" else (cls.sign,)

    def options(self) -> tuple[str, ...]:
        """What its text says in brackets after the column."""
        return ()

    def __str__(self) -> str:
        word = next((w for w, fixed in self.words.items() if all(getattr(self, n) == v for n, v in fixed.items())), self.kind)
        column = (written_column(self.sensitive),) if self.sensitive is not None else ()
        return written(word, self.sign, self.limit, (*column, *self.options()))

    def to_json(self) -> dict[str, Any]:
        """All fields, with the kind."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        plain = {k: v.to_json() if isinstance(v, Hierarchy) else v for k, v in fields.items() if v is not None}
        return {"kind": self.kind, **plain}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        known = {f.name for f in dataclasses.fields(cls)}
        unknown = sorted(set(data) - known - {"kind"})
        if unknown:
            hint = f"It takes: {', '.join(sorted(known))}."
            raise PolicyError(f"requirement '{cls.kind}' has unknown fields: {', '.join(unknown)}.", hint=hint)
        values = {k: Hierarchy.from_json(v) if k == "hierarchy" else v for k, v in data.items() if k != "kind"}
        try:
            return cls(**values)
        except TypeError:
            needed = ", ".join(f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING)
            raise PolicyError(f"requirement '{cls.kind}' lacks a field.", hint=f"It needs: {needed}.") from None


@dataclass(frozen=True)
class Verdict:
    """One requirement, the number that was found (None: no finite one), and whether that meets it.

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


def requirement_from_json(data: Mapping[str, Any]) -> Requirement:
    """A requirement from its JSON form.

    >>> requirement_from_json({"kind": "k", "k": 5})
    K(k=5)
    """
    kind = data.get("kind", "")
    if kind not in _KINDS:
        raise PolicyError(f"requirement '{kind}' is not known.", hint=f"Known: {', '.join(sorted(_KINDS))}.")
    return _KINDS[kind].from_json(data)


def requirement_kinds() -> dict[str, type[Requirement]]:
    """All kinds, by name."""
    return dict(_KINDS)


def spellings() -> list[str]:
    """All words by which text names a requirement."""
    return [word for kind in _KINDS.values() for word in kind.words]


def kind_named(word: str) -> type[Requirement] | None:
    """The kind that text calls by this word, or None."""
    return next((kind for kind in _KINDS.values() if word in kind.words), None)


def _has(cls: type[Requirement], name: str) -> bool:
    return any(f.name == name for f in dataclasses.fields(cls))


def sentences(requirements: Iterable[Requirement]) -> tuple[str, ...]:
    """All requirements in words."""
    return tuple(r.sentence() for r in requirements)


def check_whole(value: object, least: int, what: str, hint: str) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{what} must be a whole number of at least {least}; found {value!r}.", hint=hint)


def check_real(value: object, above: float, what: str, hint: str) -> None:
    """Refuse what is not a finite number above ``above``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= above:
        raise UsageError(f"{what} must be a number above {above:g}; found {value!r}.", hint=hint)


def check_share(value: object, what: str, *, above_zero: bool) -> None:
    """Refuse what is not a number between 0 and 1."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0
    if not good or (above_zero and value == 0.0):
        raise UsageError(f"{what} must lie between 0 and 1; found {value!r}.", hint="Write 0.2 for 20 %.")


def check_one_of(value: object, allowed: tuple[str, ...], what: str) -> None:
    """Refuse a word that is not on the list."""
    if value not in allowed:
        raise UsageError(f"{what} {value!r} is not known.", hint=f"Choose one of: {', '.join(allowed)}.")
