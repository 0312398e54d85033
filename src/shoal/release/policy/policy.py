"""Policy: the requirements of a release.

Roles of the columns, requirements, limits, what to optimise, who receives it. A policy is a page of YAML with a published
JSON schema; comments are kept; names that are not known, numbers that make no sense and secrets are refused, so that a
slip of the pen never asks for less than was meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from shoal.errors import PolicyError, RoleError, UnreadableError
from shoal.model.plan import Step
from shoal.model.requirement import K, Requirement, require_of, smallest_class
from shoal.model.roles import Schema
from shoal.model.seed import safe_seed
from shoal.release.policy import file as policy_file
from shoal.release.policy.build import QuasiRule, check_transforms, fields_of
from shoal.release.policy.events import EventRules
from shoal.release.policy.presets import Preset, SmallCells, check_sensitive_named, filled

R = TypeVar("R", bound=Requirement)
Publish = Literal["drop", "pseudonym", "keep"]
DEFAULT_CELLS = SmallCells(5)


@dataclass(frozen=True)
class Policy:
    """The requirements of a release.

    Make one with :meth:`load` (a file), :meth:`parse` (YAML text) or :meth:`of` (a dictionary, or keywords).

    >>> p = Policy.of(quasi=["age", "sex"], sensitive=["diagnosis"], require={"k": 5}, allow={"suppress": 0.02})
    >>> p.k, p.suppress, list(p.quasi)
    (5, 0.02, ['age', 'sex'])
    >>> Policy.parse("roles: {quasi: [age]}\\nrequire: {k: 0}")
    Traceback (most recent call last):
    shoal.errors.PolicyError: 'require.k' must be at least 2 and at most 1000000000; found 0.
      Correct 'require.k'.
    """

    quasi: Mapping[str, QuasiRule] = field(default_factory=dict)
    direct: Mapping[str, str] = field(default_factory=dict)
    sensitive: Mapping[str, Any] = field(default_factory=dict)
    insensitive: tuple[str, ...] = ()
    rest: Literal["", "drop", "quasi"] = ""
    found: Mapping[str, str] = field(default_factory=dict)
    transform: Mapping[str, Step] = field(default_factory=dict)
    unit: str | None = None
    publish_unit: Publish = "drop"
    weight: str | None = None
    scale: Mapping[str, str] = field(default_factory=dict)
    order: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    missing_values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    read: Mapping[str, Any] = field(default_factory=dict)
    """How the file is read: options of :func:`shoal.open`."""
    requirements: tuple[Requirement, ...] = ()
    suppress: float = 0.0
    suppress_people: float = 0.0
    """Share of the people of an event table who may be left out whole."""
    loss_limit: float | None = None
    blank_limit: float | None = None
    scope: Literal["rows", "cells"] = "rows"
    identifying: Mapping[str, str] = field(default_factory=dict)
    none_of_the_eighteen: Mapping[str, str] = field(default_factory=dict)
    optimize: str = "loss"
    objective: Mapping[str, Any] = field(default_factory=dict)
    """What ``method: best`` chooses by instead of the loss: ``counts`` of columns, or ``predict`` and a column."""
    method: Literal["best", "lattice", "local", "probabilistic"] = "best"
    local_cells: str | Mapping[str, str] | None = None
    """None if the policy does not say: hierarchy values with ``method: local``; ``best`` tries sets too."""
    hardened: bool = False
    population: int | None = None
    population_table: str | None = None
    counted_in: str = ""
    """The file that states the people of ``population_k``, until it is read."""
    sample: float | None = None
    seed: int = 0
    time_limit: float | None = None
    analyses: tuple[Mapping[str, Any], ...] = ()
    preset: Preset | None = None
    events: EventRules | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    document: Any = field(default=None, repr=False, compare=False)
    by_rest: tuple[str, ...] = ()
    """Columns that no line names and ``rest`` decides about (:meth:`completed`)."""

    @property
    def cells(self) -> SmallCells:
        """The small-cell rule for our own report: at least the preset's and never below k (5 without either)."""
        minimum = max(self.preset.cells.minimum if self.preset else 0, DEFAULT_CELLS.minimum, self.smallest_class)
        return SmallCells(minimum)

    @property
    def k(self) -> int:
        """The k that is asked for; 1 where none is."""
        return max((r.k for r in self.requirements if isinstance(r, K)), default=1)

    @property
    def smallest_class(self) -> int:
        """The class size that k and the largest risk together ask for."""
        return smallest_class(self.requirements)

    @property
    def importance(self) -> dict[str, float]:
        """How much a loss counts in each quasi-identifier."""
        return {c: r.weight for c, r in self.quasi.items()}

    @property
    def level_bounds(self) -> dict[str, tuple[int | None, int | None]]:
        """The lowest and the highest level that each quasi-identifier may have."""
        return {c: (r.min_level, r.max_level) for c, r in self.quasi.items()}

    def asked_of(self, column: str, kind: type[R]) -> R | None:
        """The requirement of one kind on a sensitive column, or None."""
        return next((r for r in self.requirements if isinstance(r, kind) and r.sensitive == column), None)

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """A policy from a YAML file; hierarchy files are looked for beside it."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise UnreadableError(f"policy file '{file.name}' is not there.", hint="Check the path after --policy.") from None
        except (OSError, UnicodeDecodeError) as error:
            hint = "It must be a UTF-8 text file."
            raise UnreadableError(f"policy file '{file.name}' cannot be read: {type(error).__name__}.", hint=hint) from None
        return cls.parse(text, folder=file.resolve().parent)

    @classmethod
    def parse(cls, text: str, *, folder: str | Path | None = None) -> Policy:
        """A policy from YAML text."""
        document = policy_file.read_yaml(text)
        return cls._of_plain(policy_file.plain(document), folder=Path(folder) if folder else None, document=document)

    @classmethod
    def _of_plain(cls, plain: dict[str, Any], *, folder: Path | None = None, document: Any = None) -> Policy:
        policy = cls(**fields_of(plain), folder=folder, document=document)
        policy.check_transforms(all_roles=False)
        return policy

    @classmethod
    def of(cls, asked: Policy | Mapping[str, Any] | str | Path | None = None, **words: Any) -> Policy:
        """A policy from any form: a policy, a path, a dictionary, or keywords.

        Keywords ``direct, quasi, sensitive, insensitive, rest`` go under ``roles``, a keyword ``k`` under ``require``.
        """
        if isinstance(asked, Policy):
            if words:
                raise PolicyError("a Policy and keywords were given together.", hint="Pass one of them.")
            return asked
        if isinstance(asked, str | Path):
            return cls.load(asked)
        plain = policy_file.plain(dict(asked or {}))
        for name, value in words.items():
            if name in ("direct", "quasi", "sensitive", "insensitive", "rest"):
                plain.setdefault("roles", {})[name] = policy_file.plain(value)
            elif name == "k":
                plain.setdefault("require", {})["k"] = policy_file.plain(value)
            else:
                plain[name] = policy_file.plain(value)
        return cls._of_plain(plain)

    def to_yaml(self) -> str:
        """The policy as YAML: as it was written, comments included; a policy made in Python is written out."""
        return policy_file.write_yaml(self.document if self.document is not None else self.to_json())

    def edited(self, place: str, value: Any) -> Policy:
        """The same policy with one entry changed (``edited("require.k", 10)``); comments stay where they are."""
        copy = policy_file.read_yaml(self.to_yaml())
        if not isinstance(copy.get("require", {}), Mapping):
            copy["require"] = self.require_json()
        *groups, last = place.split(".")
        node = copy
        for group in groups:
            node = node.setdefault(group, {})
        node[last] = value
        return Policy.parse(policy_file.write_yaml(copy), folder=self.folder)

    def to_json(self) -> dict[str, Any]:
        """The policy as asked, in plain values."""
        population = self.population if self.population_table is None else {"table": self.population_table}
        return dict(self.about) | _stated(
            preset=self.preset.name if self.preset else None,
            roles=self._roles_json(),
            found={role: [c for c, r in self.found.items() if r == role] for role in self.found.values()} or None,
            transform={c: _transform_json(s) for c, s in self.transform.items()} or None,
            require=self.require_json(),
            allow=self._allow_json(),
            sample=None if self.sample is None else {"share": self.sample},
            optimize=self.optimize,
            method=self.method,
            seed=self.seed,
            missing="own",
            unit={"column": self.unit, "publish": self.publish_unit} if self.unit else None,
            scale=dict(self.scale) or None,
            order={c: list(values) for c, values in self.order.items()} or None,
            missing_values={c: list(values) for c, values in self.missing_values.items()} or None,
            weight=self.weight,
            population=population,
            time_limit=self.time_limit,
            hardened=self.hardened or None,
            objective=dict(self.objective) or None,
            cells=dict(self.local_cells) if isinstance(self.local_cells, Mapping) else self.local_cells,
            events=None if self.events is None else self.events.to_json(),
            analyses=[dict(a) for a in self.analyses] or None,
        )

    def _roles_json(self) -> dict[str, Any]:
        return _stated(
            direct={c: _direct_json(m) for c, m in self.direct.items()},
            quasi={c: _quasi_json(r) for c, r in self.quasi.items()},
            sensitive={c: _stated(hierarchy=h) for c, h in self.sensitive.items()},
            insensitive=list(self.insensitive),
            rest=self.rest or None,
        )

    def _allow_json(self) -> dict[str, Any]:
        reasons = all(self.identifying.values())
        return _stated(
            suppress=self.suppress,
            scope=self.scope,
            people=self.suppress_people or None,
            loss=self.loss_limit,
            blank=self.blank_limit,
            identifying=(dict(self.identifying) if reasons else list(self.identifying)) or None,
            none_of_the_eighteen=dict(self.none_of_the_eighteen) or None,
        )

    def require_json(self) -> dict[str, Any]:
        """The requirements in force, preset included."""
        out = require_of(self.requirements)
        return {**out, "population_k": {**out["population_k"], "of": self.counted_in}} if self.counted_in else out

    def check_transforms(self, *, all_roles: bool = True) -> None:
        """Only columns whose values no requirement is about may be changed.

        Without ``all_roles`` a column without a role in the policy is let through: the table may have been opened with one.
        """
        named = {c for c in (*self.quasi, *self.direct, self.unit, self.weight) if c is not None}
        check_transforms(
            self.transform,
            free={*self.insensitive, *self.sensitive},
            fixed=None if all_roles else named,
            asked={r.sensitive for r in self.requirements if r.sensitive is not None},
        )

    def seeded(self) -> Policy:
        """The policy with a seed that cannot be guessed, where a random step depends on it; drawn unless it is stated."""
        if self.events is None and self.sample is None and not any(s.draws for s in self.transform.values()):
            return self
        return replace(self, seed=safe_seed(self.seed))

    def completed(self, schema: Schema) -> Policy:
        """The policy with the roles that the table was opened with, where it says nothing about a column.

        What its preset asks of each sensitive column applies to those too. Columns that neither names become what ``rest`` says.
        """
        decided = {*self.quasi, *self.direct, *self.sensitive, *self.insensitive}
        new = {c for c in schema.roles if c not in decided}
        own = {self.unit or schema.unit, self.weight or schema.weight}
        rest = tuple(c for c in schema.names if self.rest and c not in decided and c not in schema.roles and c not in own)
        sensitive = {**self.sensitive, **{c: None for c in schema.sensitive if c in new}}
        check_sensitive_named(self.preset, tuple(sensitive))
        return replace(
            self,
            quasi={
                **self.quasi,
                **{c: QuasiRule() for c in schema.quasi if c in new},
                **{c: QuasiRule() for c in rest if self.rest == "quasi"},
            },
            direct={
                **self.direct,
                **{c: "drop" for c in schema.direct if c in new},
                **{c: "drop" for c in rest if self.rest == "drop"},
            },
            sensitive=sensitive,
            insensitive=(*self.insensitive, *(c for c in schema.insensitive if c in new)),
            by_rest=rest,
            unit=self.unit or schema.unit,
            weight=self.weight or schema.weight,
            requirements=filled(self.requirements, self.preset, sensitive),
        )

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns that are published besides the quasi-identifiers: sensitive and insensitive ones, and sampling weights."""
        named = (*self.sensitive, *self.insensitive)
        elsewhere = {*named, *self.quasi, *self.direct, self.unit}
        return named if self.weight is None or self.weight in elsewhere else (*named, self.weight)

    def who_decided(self, column: str) -> str:
        """Who decided the role of a column: ``found`` by a draft and kept, ``by hand``, or the ``rest`` of the policy."""
        role = self._roles.get(column, "")
        if role == "rest":
            return f"rest: {self.rest}"
        return "found" if role and self.found.get(column) == role else "by hand"

    @cached_property
    def _roles(self) -> dict[str, str]:
        """The role of each column that is named, ``rest`` of the others."""
        named = {"insensitive": self.insensitive, "sensitive": self.sensitive, "quasi": self.quasi, "direct": self.direct}
        return {c: role for role, columns in {**named, "rest": self.by_rest}.items() for c in columns}

    def apply(
        self, schema: Schema, *, all_roles: bool = True, evidence: Callable[[list[str]], Mapping[str, str]] | None = None
    ) -> Schema:
        """The table's schema with the roles of the policy; with ``all_roles`` a column without one stops the run.

        ``evidence`` gives what is known of such columns, for the error.
        """
        own = {r for r in (self.unit, self.weight) if r}
        out = schema.with_roles(
            direct=self.direct,
            quasi=self.quasi,
            sensitive=self.sensitive,
            insensitive=self.insensitive,
            unit=self.unit,
            weight=self.weight,
        )
        left = [c for c in out.unclassified if c not in own]
        if left and all_roles:
            raise undecided(schema, left, {} if evidence is None else evidence(left[:NAMED_AT_MOST]))
        if not out.quasi:
            hint = "Name the columns an attacker may know under roles.quasi."
            raise RoleError(f"no quasi-identifier is named for '{schema.table}'.", hint=hint)
        return out


NAMED_AT_MOST = 60
"""Columns that an error names one by one."""


def undecided(schema: Schema, columns: Sequence[str], evidence: Mapping[str, str]) -> RoleError:
    """The error for columns that nobody has judged: each with what is known of it, and the ways on."""
    listed = [f"{c} ({evidence[c]})" if evidence.get(c) else c for c in columns[:NAMED_AT_MOST]]
    more = f" and {len(columns) - len(listed):,} more ('shoal inspect TABLE' lists all)" if len(columns) > len(listed) else ""
    what = f"{len(columns)} of {len(schema.names)} columns of '{schema.table}' are undecided: {'; '.join(listed)}{more}."
    hint = "Answer each: name it under roles as direct, quasi, sensitive or insensitive. Or say what happens to all of them: "
    hint += "rest: quasi (treated as known to others, the cautious way) or rest: drop (left out)."
    return RoleError(what, hint=hint, columns=tuple(columns))


def _stated(**parts: Any) -> dict[str, Any]:
    """The parts that are not None."""
    return {name: part for name, part in parts.items() if part is not None}


def _transform_json(step: Step) -> dict[str, Any]:
    """A step as a policy writes it: without the column, and without the name of a key, which a policy never holds."""
    document = {n: v for n, v in step.to_json().items() if n not in ("kind", "column", "key") and v is not None}
    return {step.kind: document}


def _direct_json(mask: str) -> dict[str, str]:
    return {"vault": mask.removeprefix("vault:")} if mask.startswith("vault:") else {"mask": mask}


def _quasi_json(rule: QuasiRule) -> dict[str, Any]:
    weight = None if rule.weight == 1.0 else rule.weight
    return _stated(hierarchy=rule.hierarchy, weight=weight, min_level=rule.min_level, max_level=rule.max_level)
