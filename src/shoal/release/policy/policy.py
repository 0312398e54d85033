"""Policy: what is asked of a release.

Roles of the columns, requirements, limits, what to optimise, who receives it. A policy is a page of YAML with a published
JSON schema; comments are kept; names that are not known, numbers that make no sense and secrets are refused, so that a
slip of the pen never asks for less than was meant.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from shoal.errors import PolicyError, RoleError, UnreadableError
from shoal.model.plan import Step
from shoal.model.roles import Schema
from shoal.release.policy import file as policy_file
from shoal.release.policy.presets import Preset, SmallCells, class_for, preset
from shoal.release.policy.transforms import check_transforms, transforms_of

Publish = Literal["drop", "pseudonym", "keep"]
DEFAULT_CELLS = SmallCells(5)
TIME_LIMIT = 60.0
"""Seconds that a search may take where the policy says nothing."""


@dataclass(frozen=True)
class QuasiRule:
    """How one quasi-identifier may be generalized: its hierarchy (None: built from the data), weight and bounds."""

    hierarchy: Any = None
    weight: float = 1.0
    min_level: int | None = None
    max_level: int | None = None


@dataclass(frozen=True)
class Diversity:
    """What is asked of the sensitive values inside each class."""

    distinct: int | None = None
    entropy: float | None = None
    recursive: tuple[float, int] | None = None


@dataclass(frozen=True)
class Closeness:
    """How far a class may be from the whole table."""

    t: float
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"


@dataclass(frozen=True)
class Policy:
    """What is asked of a release.

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
    transform: Mapping[str, Step] = field(default_factory=dict)
    unit: str | None = None
    publish_unit: Publish = "drop"
    weight: str | None = None
    k: int = 1
    diversity: Mapping[str, Diversity] = field(default_factory=dict)
    closeness: Mapping[str, Closeness] = field(default_factory=dict)
    risk: Mapping[str, float] = field(default_factory=dict)
    suppress: float = 0.0
    scope: Literal["rows", "cells"] = "rows"
    identifying: tuple[str, ...] = ()
    optimize: str = "loss"
    method: Literal["lattice", "local", "probabilistic"] = "lattice"
    hardened: bool = False
    population: int | None = None
    sample: float | None = None
    seed: int = 0
    time_limit: float | None = None
    analyses: tuple[Mapping[str, Any], ...] = ()
    preset: Preset | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    document: Any = field(default=None, repr=False, compare=False)

    @property
    def cells(self) -> SmallCells:
        """The small-cell rule for our own report: at least the preset's and never below k (5 without either)."""
        minimum = max(self.preset.cells.minimum if self.preset else 0, DEFAULT_CELLS.minimum, self.smallest_class)
        return SmallCells(minimum)

    @property
    def smallest_class(self) -> int:
        """The class size that k and the largest risk together ask for."""
        largest = [self.risk[name] for name in ("prosecutor", "journalist") if name in self.risk]
        return max([self.k, *(class_for(r) for r in largest)])

    @property
    def search_time(self) -> float:
        """Seconds that the search may take; the best plan found by then is used and said to be not proven."""
        return TIME_LIMIT if self.time_limit is None else self.time_limit

    @property
    def average_risk(self) -> float | None:
        """The smallest average risk asked for, or None."""
        asked = [self.risk[name] for name in ("marketer", "average") if name in self.risk]
        return min(asked) if asked else None

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """A policy from a YAML file; hierarchy files are looked for beside it."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise UnreadableError(f"policy file '{file.name}' is not there.", hint="Check the path after --policy.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableError(
                f"policy file '{file.name}' cannot be read: {type(error).__name__}.", hint="It must be a UTF-8 text file."
            ) from None
        return cls.parse(text, folder=file.resolve().parent)

    @classmethod
    def parse(cls, text: str, *, folder: str | Path | None = None) -> Policy:
        """A policy from YAML text."""
        document = policy_file.read_yaml(text)
        return _build(policy_file.plain(document), folder=Path(folder) if folder else None, document=document)

    @classmethod
    def of(cls, asked: Policy | Mapping[str, Any] | str | Path | None = None, **words: Any) -> Policy:
        """A policy from whatever the caller has: a policy, a path, a dictionary, or keywords.

        Keywords ``direct, quasi, sensitive, insensitive`` go under ``roles``, a keyword ``k`` under ``require``.
        """
        if isinstance(asked, Policy):
            if words:
                raise PolicyError("a Policy and keywords were given together.", hint="Pass one of them.")
            return asked
        if isinstance(asked, str | Path):
            return cls.load(asked)
        plain = policy_file.plain(dict(asked or {}))
        for name, value in words.items():
            if name in ("direct", "quasi", "sensitive", "insensitive"):
                plain.setdefault("roles", {})[name] = policy_file.plain(value)
            elif name == "k":
                plain.setdefault("require", {})["k"] = policy_file.plain(value)
            else:
                plain[name] = policy_file.plain(value)
        return _build(plain, folder=None, document=None)

    def to_yaml(self) -> str:
        """The policy as YAML: as it was written, comments included; a policy made in Python is written out."""
        return policy_file.write_yaml(self.document if self.document is not None else self.to_json())

    def edited(self, place: str, value: Any) -> Policy:
        """The same policy with one entry changed (``edited("require.k", 10)``); comments stay where they are."""
        copy = policy_file.read_yaml(self.to_yaml())
        *groups, last = place.split(".")
        node = copy
        for group in groups:
            node = node.setdefault(group, {})
        node[last] = value
        return Policy.parse(policy_file.write_yaml(copy), folder=self.folder)

    def to_json(self) -> dict[str, Any]:
        """The policy as asked, in plain values."""
        out: dict[str, Any] = dict(self.about)
        if self.preset:
            out["preset"] = self.preset.name
        out["roles"] = {
            "direct": {c: _direct_json(m) for c, m in self.direct.items()},
            "quasi": {c: _quasi_json(r) for c, r in self.quasi.items()},
            "sensitive": {c: {"hierarchy": h} if h is not None else {} for c, h in self.sensitive.items()},
            "insensitive": list(self.insensitive),
        }
        if self.transform:
            out["transform"] = {c: _transform_json(s) for c, s in self.transform.items()}
        out["require"] = self.require_json()
        out["allow"] = {"suppress": self.suppress, "scope": self.scope}
        if self.identifying:
            out["allow"]["identifying"] = list(self.identifying)
        if self.sample is not None:
            out["sample"] = {"share": self.sample}
        out.update(optimize=self.optimize, method=self.method, seed=self.seed, missing="own")
        if self.unit:
            out["unit"] = {"column": self.unit, "publish": self.publish_unit}
        for name in ("weight", "population", "time_limit"):
            if getattr(self, name) is not None:
                out[name] = getattr(self, name)
        if self.hardened:
            out["hardened"] = True
        if self.analyses:
            out["analyses"] = [dict(a) for a in self.analyses]
        return out

    def require_json(self) -> dict[str, Any]:
        """The requirements in force, preset included."""
        out: dict[str, Any] = {"k": self.k} if self.k > 1 else {}
        if self.diversity:
            out["diversity"] = {c: _diversity_json(d) for c, d in self.diversity.items()}
        if self.closeness:
            out["closeness"] = {c: {"t": x.t, "distance": x.distance} for c, x in self.closeness.items()}
        if self.risk:
            out["risk"] = dict(self.risk)
        return out

    def apply(self, schema: Schema) -> Schema:
        """The table's schema with the roles of the policy; a column without a role stops the run."""
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
        if left:
            shown = ", ".join(left[:20]) + (f", … ({len(left)} in all)" if len(left) > 20 else "")
            raise RoleError(
                f"{len(left)} of {len(out.names)} columns of '{schema.table}' have no role: {shown}.",
                hint="Name each under roles: direct, quasi, sensitive or insensitive. 'shoal inspect' suggests roles.",
                columns=tuple(left),
            )
        if not out.quasi:
            raise RoleError(
                f"no quasi-identifier is named for '{schema.table}'.",
                hint="Name the columns an attacker may know under roles.quasi.",
            )
        return out


def _build(plain: dict[str, Any], *, folder: Path | None, document: Any) -> Policy:
    policy_file.refuse_secrets(plain)
    rules = policy_file.schema()
    policy_file.check(plain, rules, rules)
    roles = plain.get("roles", {})
    _one_role_each(roles)
    chosen = preset(plain["preset"]) if "preset" in plain else None
    sensitive = _named(roles.get("sensitive", {}))
    asked = _filled(plain.get("require", {}), chosen, tuple(sensitive))
    for part in ("diversity", "closeness"):
        _only_sensitive(asked.get(part, {}), tuple(sensitive), part)
    quasi = {c: _quasi(c, r or {}) for c, r in _named(roles.get("quasi", {})).items()}
    unit = plain.get("unit")
    unit = {"column": unit} if isinstance(unit, str) else (unit or {})
    allow = plain.get("allow", {})
    about: dict[str, Any] = {
        n: plain[n]
        for n in ("title", "purpose", "recipient", "release", "run_by", "approved_by", "contact", "date", "review", "controls")
        if n in plain
    }
    for name in ("date", "review"):
        _day(about.get(name), name)
    policy = Policy(
        quasi=quasi,
        direct={c: _mask(r or {}) for c, r in _named(roles.get("direct", {})).items()},
        sensitive={c: (r or {}).get("hierarchy") for c, r in sensitive.items()},
        insensitive=tuple(roles.get("insensitive", ())),
        transform=transforms_of(plain.get("transform", {})),
        unit=unit.get("column"),
        publish_unit=unit.get("publish", "drop"),
        weight=plain.get("weight"),
        k=asked.get("k", 1),
        diversity={c: _diversity(d) for c, d in asked.get("diversity", {}).items()},
        closeness={c: Closeness(float(d["t"]), d.get("distance", "equal")) for c, d in asked.get("closeness", {}).items()},
        risk={name: float(r) for name, r in asked.get("risk", {}).items()},
        suppress=float(allow.get("suppress", 0.0)),
        scope=allow.get("scope", "rows"),
        identifying=tuple(allow.get("identifying", ())),
        optimize=plain.get("optimize", "loss"),
        method=plain.get("method", "lattice"),
        hardened=plain.get("hardened", False),
        population=plain.get("population"),
        sample=float(plain["sample"]["share"]) if plain.get("sample") else None,
        seed=plain.get("seed", 0),
        time_limit=plain.get("time_limit"),
        analyses=tuple(plain.get("analyses", ())),
        preset=chosen,
        about=about,
        folder=folder,
        document=document,
    )
    if policy.transform:
        check_transforms(policy, all_roles=False)
    return policy


def _named(columns: Any) -> dict[str, Any]:
    return dict(columns) if isinstance(columns, Mapping) else {c: {} for c in columns or ()}


def _one_role_each(roles: Mapping[str, Any]) -> None:
    seen: dict[str, str] = {}
    for role, columns in roles.items():
        for column in columns or ():
            if column in seen:
                raise RoleError(
                    f"column '{column}' is given two roles: {seen[column]} and {role}.",
                    hint="Name it in one of them only.",
                    column=column,
                )
            seen[column] = role


def _quasi(column: str, rule: Mapping[str, Any]) -> QuasiRule:
    low, high = rule.get("min_level"), rule.get("max_level")
    if low is not None and high is not None and low > high:
        raise PolicyError(f"'roles.quasi.{column}' has min_level {low} above max_level {high}.", hint="Exchange the two.")
    return QuasiRule(rule.get("hierarchy"), float(rule.get("weight", 1.0)), low, high)


def _transform_json(step: Step) -> dict[str, Any]:
    """A step as a policy writes it: without the column, and without the name of a key, which a policy never holds."""
    words = {n: v for n, v in step.to_json().items() if n not in ("kind", "column", "key") and v is not None}
    return {step.kind: words}


def _mask(words: Mapping[str, str]) -> str:
    """``drop``, ``pseudonym``, or ``vault:`` and the domain whose pseudonyms take the place of the identities."""
    return f"vault:{words['vault']}" if "vault" in words else words.get("mask", "drop")


def _direct_json(mask: str) -> dict[str, str]:
    return {"vault": mask.removeprefix("vault:")} if mask.startswith("vault:") else {"mask": mask}


def _quasi_json(rule: QuasiRule) -> dict[str, Any]:
    out: dict[str, Any] = {} if rule.hierarchy is None else {"hierarchy": rule.hierarchy}
    if rule.weight != 1.0:
        out["weight"] = rule.weight
    for name in ("min_level", "max_level"):
        if getattr(rule, name) is not None:
            out[name] = getattr(rule, name)
    return out


def _diversity(asked: Mapping[str, Any]) -> Diversity:
    pair = asked.get("recursive")
    return Diversity(
        asked.get("distinct"),
        float(asked["entropy"]) if "entropy" in asked else None,
        (float(pair["c"]), int(pair["l"])) if pair else None,
    )


def _diversity_json(asked: Diversity) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if asked.distinct is not None:
        out["distinct"] = asked.distinct
    if asked.entropy is not None:
        out["entropy"] = asked.entropy
    if asked.recursive is not None:
        out["recursive"] = {"c": asked.recursive[0], "l": asked.recursive[1]}
    return out


def _filled(said: Mapping[str, Any], rule: Preset | None, sensitive: Iterable[str]) -> dict[str, Any]:
    """What is asked, with what the preset adds; asking for less than the preset is refused."""
    out: dict[str, Any] = {name: (dict(v) if isinstance(v, Mapping) else v) for name, v in said.items()}
    if rule is not None:
        if "k" in rule.require:
            _not_weaker("require.k", out.get("k"), rule.require["k"], rule.name, more=True)
            out.setdefault("k", rule.require["k"])
        for name, limit in rule.require.get("risk", {}).items():
            _not_weaker(f"require.risk.{name}", out.get("risk", {}).get(name), limit, rule.name, more=False)
            out.setdefault("risk", {}).setdefault(name, limit)
        for column in sensitive:
            for part, asked in rule.each_sensitive.items():
                out.setdefault(part, {}).setdefault(column, dict(asked))
    if not any(out.get(name) for name in ("k", "risk", "diversity", "closeness")):
        name = f" and preset '{rule.name}' names no number" if rule else ""
        raise PolicyError(f"the policy requires nothing{name}.", hint="Write 'require: {k: 5}', or name a preset.")
    return out


def _not_weaker(place: str, said: float | None, asked: float, name: str, *, more: bool) -> None:
    if said is not None and (said < asked if more else said > asked):
        raise PolicyError(
            f"'{place}' is {said}, weaker than the {asked} of preset '{name}'.",
            hint="Ask for at least as much as the preset, or leave the preset out.",
            path=place,
        )


def _only_sensitive(asked: Mapping[str, Any], sensitive: tuple[str, ...], part: str) -> None:
    for column in asked:
        if column not in sensitive:
            raise PolicyError(
                f"'require.{part}' names column '{column}', which is not sensitive.",
                hint=f"Name it under roles.sensitive, or ask for one of: {', '.join(sensitive) or '(none named)'}.",
                column=column,
            )


def _day(text: str | None, name: str) -> None:
    if text is not None:
        try:
            datetime.date.fromisoformat(text)
        except ValueError:
            raise PolicyError(f"'{name}' is not a date of the calendar.", hint="Write it as YYYY-MM-DD.") from None
