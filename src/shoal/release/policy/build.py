"""From the plain values of a policy to its fields: schema, roles, preset and requirements; what makes no sense is refused."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shoal.errors import PolicyError, RoleError, UsageError, refuse
from shoal.model.plan import Step
from shoal.model.requirement import MaxRisk, Requirement, requirements_of
from shoal.release.plan.plan_json import parse_step
from shoal.release.policy import file as policy_file
from shoal.release.policy.events import SUPPRESS, events_of
from shoal.release.policy.presets import Preset, filled, preset


@dataclass(frozen=True)
class QuasiRule:
    """How one quasi-identifier may be generalized: its hierarchy (None: built from the data), weight and bounds."""

    hierarchy: Any = None
    weight: float = 1.0
    min_level: int | None = None
    max_level: int | None = None

    @property
    def fixed(self) -> bool:
        """Whether the column has one level for everybody."""
        return self.min_level is not None and self.min_level == self.max_level


def fields_of(plain: dict[str, Any]) -> dict[str, Any]:
    """The fields of a policy from its plain values, checked against the schema."""
    policy_file.refuse_secrets(plain)
    rules = policy_file.schema()
    roles = plain.get("roles", {})
    if isinstance(roles, Mapping) and roles.get("rest") == "insensitive":
        hint = "Write rest: quasi (treated as known to others) or rest: drop (left out), and name what is harmless under "
        hint += "roles.insensitive."
        raise PolicyError("'roles.rest: insensitive' would publish columns that nobody has judged.", hint=hint, path="roles.rest")
    policy_file.check(plain, rules, rules)
    _one_role_each(roles)
    chosen = preset(plain["preset"]) if "preset" in plain else None
    sensitive = _name_columns(roles.get("sensitive", {}))
    require, counted_in = _people_of(plain.get("require", {}))
    required = _something(filled(_read_require(require), chosen, tuple(sensitive)), chosen)
    _only_sensitive(required, tuple(sensitive))
    quasi = _kept(plain.get("keep", {}), {c: _quasi(c, r or {}) for c, r in _name_columns(roles.get("quasi", {})).items()})
    unit = plain.get("unit")
    unit = {"column": unit} if isinstance(unit, str) else (unit or {})
    people = plain.get("population")
    return {
        "quasi": quasi,
        "direct": {c: _mask(r or {}) for c, r in _name_columns(roles.get("direct", {})).items()},
        "sensitive": {c: (r or {}).get("hierarchy") for c, r in sensitive.items()},
        "insensitive": tuple(roles.get("insensitive", ())),
        "rest": roles.get("rest", ""),
        "found": {c: role for role, columns in plain.get("found", {}).items() for c in columns},
        "transform": transforms_of(plain.get("transform", {})),
        "unit": unit.get("column"),
        "publish_unit": unit.get("publish", "drop"),
        "weight": plain.get("weight"),
        "scale": dict(plain.get("scale", {})),
        "order": {c: tuple(values) for c, values in plain.get("order", {}).items()},
        "read": dict(plain.get("read", {})),
        "missing_values": {c: tuple(values) for c, values in plain.get("missing_values", {}).items()},
        "requirements": required,
        **_read_allow(plain, chosen),
        "optimize": plain.get("optimize", "loss"),
        "objective": _objective(plain, quasi, sensitive),
        "method": plain.get("method", "best"),
        "local_cells": _local_cells(plain, quasi),
        "hardened": plain.get("hardened", False),
        "population": people if isinstance(people, int) else None,
        "counted_in": counted_in,
        "population_table": people["table"] if isinstance(people, Mapping) else None,
        "sample": float(plain["sample"]["share"]) if plain.get("sample") else None,
        "seed": plain.get("seed", 0),
        "time_limit": plain.get("time_limit"),
        "analyses": tuple(plain.get("analyses", ())),
        "events": events_of(plain, required),
        "preset": chosen,
        "about": _about(plain),
    }


def _read_allow(plain: Mapping[str, Any], chosen: Preset | None) -> dict[str, Any]:
    """The fields that ``allow`` states: what may be suppressed and lost, and the columns that a person has judged."""
    allow = plain.get("allow", {})
    if "people" in allow and "events" not in plain:
        raise PolicyError("'allow.people' is about event tables.", hint="Use allow: {suppress: SHARE}.", path="allow.people")
    return {
        "suppress": float(allow.get("suppress", SUPPRESS if "events" in plain else 0.0)),
        "suppress_people": float(allow.get("people", 0.0)),
        "loss_limit": float(allow["loss"]) if "loss" in allow else None,
        "blank_limit": float(allow["blank"]) if "blank" in allow else None,
        "scope": allow.get("scope", "rows"),
        "identifying": _reasons(allow.get("identifying", {}), "identifying"),
        "none_of_the_eighteen": _list_statements(_reasons(allow.get("none_of_the_eighteen", {}), "none_of_the_eighteen"), chosen),
    }


def _about(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Who releases what, why, to whom and until when."""
    for name in ("date", "review"):
        _day(plain.get(name), name)
    about = ("title", "purpose", "recipient", "release", "run_by", "approved_by", "contact", "date", "review", "controls")
    return {name: plain[name] for name in about if name in plain}


def _objective(plain: Mapping[str, Any], quasi: Collection[str], sensitive: Collection[str]) -> dict[str, Any]:
    """What the plan is chosen by, if that is not the loss; only columns that can lose detail or be predicted from others."""
    objective = dict(plain.get("objective", {}))
    counts, target = objective.get("counts", []), objective.get("predict")
    unknown = [c for c in counts if c not in quasi] or [c for c in (target,) if c is not None and c not in sensitive]
    if "counts" in objective and not counts:
        raise PolicyError("'objective.counts' names no column.", hint="Name quasi-identifiers, or leave it out.")
    if objective and plain.get("method", "best") != "best":
        raise PolicyError(f"'objective' has no effect with method: {plain['method']}.", hint="Leave one of them out.")
    if unknown:
        role = "a quasi-identifier" if counts else "sensitive"
        known = ", ".join(quasi if counts else sensitive) or "(none named)"
        raise PolicyError(f"'objective' names '{unknown[0]}', which is not {role}.", hint=f"Choose from: {known}.")
    return objective


def _local_cells(plain: Mapping[str, Any], quasi: Mapping[str, Any]) -> str | dict[str, str] | None:
    """What a local recoding publishes in a cell, for all quasi-identifiers or by column; None if the policy does not say."""
    cells, method = plain.get("cells"), plain.get("method", "best")
    if cells is not None and method not in ("best", "local"):
        raise PolicyError(f"'cells' has no effect with method: {method}.", hint="Use method: local or best, or leave cells out.")
    if cells is None or isinstance(cells, str):
        return None if method == "local" and cells == "hierarchy" else cells
    unknown = sorted(set(cells) - set(quasi))
    if unknown:
        hint = f"Quasi-identifiers: {', '.join(quasi)}."
        raise PolicyError(f"'cells' names '{unknown[0]}', which is not a quasi-identifier.", hint=hint)
    return dict(cells)


def _name_columns(columns: Any) -> dict[str, Any]:
    return dict(columns) if isinstance(columns, Mapping) else {c: {} for c in columns or ()}


LEAST_REASON = 10
"""Letters that a reason has at least."""


def _reasons(columns: Any, what: str) -> dict[str, str]:
    """Columns with the reason that a person gives for each; a bare list gives none."""
    if not isinstance(columns, Mapping):
        return dict.fromkeys(columns, "")
    for column, reason in columns.items():
        if len(reason.strip()) < LEAST_REASON:
            hint = "Say in a few words why nobody can be named by it: the certificate repeats them."
            raise PolicyError(f"'allow.{what}.{column}' gives no reason.", hint=hint, path=f"allow.{what}.{column}")
    return dict(columns)


def _list_statements(stated: dict[str, str], rule: Preset | None) -> dict[str, str]:
    """Statements about the 18 Safe Harbor classes, where a preset holds columns against them."""
    if stated and (rule is None or rule.checklist != "safe-harbor"):
        what = "'allow.none_of_the_eighteen' is for preset 'hipaa-safe-harbor', which the policy does not name."
        hint = "Leave it out, or name the preset. For a column that only looks like an identifier: allow.identifying."
        raise PolicyError(what, hint=hint, path="allow.none_of_the_eighteen")
    return stated


def _one_role_each(roles: Mapping[str, Any]) -> None:
    seen: dict[str, str] = {}
    for role, columns in roles.items():
        for column in columns or () if role != "rest" else ():
            if column in seen:
                hint = "Name it in one of them only."
                raise RoleError(f"column '{column}' is given two roles: {seen[column]} and {role}.", hint=hint, column=column)
            seen[column] = role


def _quasi(column: str, rule: Mapping[str, Any]) -> QuasiRule:
    low, high = rule.get("min_level"), rule.get("max_level")
    if low is not None and high is not None and low > high:
        raise PolicyError(f"'roles.quasi.{column}' has min_level {low} above max_level {high}.", hint="Exchange the two.")
    return QuasiRule(rule.get("hierarchy"), float(rule.get("weight", 1.0)), low, high)


DETAIL = {"high": 4.0, "normal": 1.0, "low": 0.25}
"""How much a loss in a column counts, by how detailed it has to stay."""


def _kept(asked: Mapping[str, str], quasi: dict[str, QuasiRule]) -> dict[str, QuasiRule]:
    """The quasi-identifiers with the weights that ``keep`` asks for in words."""
    for column in asked:
        if column not in quasi or quasi[column].weight != 1.0:
            named = column in quasi
            why = "has a weight already" if named else "is not named as a quasi-identifier"
            hint = "Leave out the weight, or keep." if named else "Only quasi-identifiers lose detail: name it under roles.quasi."
            raise PolicyError(f"'keep' names '{column}', which {why}.", hint=hint, path=f"keep.{column}")
    return quasi | {column: replace(quasi[column], weight=DETAIL[word]) for column, word in asked.items()}


def _mask(words: Mapping[str, str]) -> str:
    """``drop``, ``pseudonym``, or ``vault:`` and the domain whose pseudonyms take the place of the identities."""
    return f"vault:{words['vault']}" if "vault" in words else words.get("mask", "drop")


def _people_of(require: Any) -> tuple[Any, str]:
    """The requirements with a number of people, and the file that states it; until it is read, the number is the smallest
    there is, which no table can be a sample of."""
    population_k = require.get("population_k") if isinstance(require, Mapping) else None
    if not isinstance(population_k, Mapping) or not isinstance(population_k.get("of"), str):
        return require, ""
    return {**require, "population_k": {**population_k, "of": population_k.get("k", 2)}}, population_k["of"]


def _read_require(require: Any) -> tuple[Requirement, ...]:
    """The requirements of the policy itself; what makes no sense is named by its place."""
    try:
        return requirements_of(require)
    except PolicyError:
        raise
    except UsageError as error:
        raise PolicyError(f"'require' asks for what makes no sense: {error.message}", hint=error.hint, path="require") from None


def _something(asked: tuple[Requirement, ...], rule: Preset | None) -> tuple[Requirement, ...]:
    """The requirements, if there are any."""
    if not asked:
        name = f" and preset '{rule.name}' names no number" if rule else ""
        raise PolicyError(f"the policy requires nothing{name}.", hint="Write 'require: {k: 5}', or name a preset.")
    if all(isinstance(r, MaxRisk) and r.k == 1 for r in asked):
        hint = "Write a risk of at most 0.5, or 'require: {k: 5}'."
        raise PolicyError("the policy requires nothing: a largest risk of 1 holds for every table.", hint=hint)
    return asked


def _only_sensitive(asked: Iterable[Requirement], sensitive: tuple[str, ...]) -> None:
    for r in asked:
        if r.sensitive is not None and r.sensitive not in sensitive:
            what = f"'require.{r.place[0]}' names column '{r.sensitive}', which is not sensitive."
            hint = f"Name it under roles.sensitive, or ask for one of: {', '.join(sensitive) or '(none named)'}."
            raise PolicyError(what, hint=hint, column=r.sensitive)


def _day(text: str | None, name: str) -> None:
    if text is not None:
        with refuse(PolicyError(f"'{name}' is not a date of the calendar.", hint="Write it as YYYY-MM-DD."), ValueError):
            datetime.date.fromisoformat(text)


KINDS = (
    "clamp", "correlated_noise", "cut", "date_shift", "fake", "keyed_hash", "microaggregate", "noise", "permute", "pram",
    "prefix", "rank_swap", "round",
)  # fmt: skip
"""Steps that a policy may name; removal, generalization and sampling are specified elsewhere."""


def transforms_of(asked: Mapping[str, Mapping[str, Any]]) -> dict[str, Step]:
    """The steps that the ``transform`` part of a policy names, by column.

    >>> transforms_of({"pay": {"round": {"base": 100}}})["pay"].base
    100
    >>> transforms_of({"pay": {"rounded": {}}})
    Traceback (most recent call last):
    shoal.errors.PolicyError: 'transform.pay.rounded' is not a transformation.
      Known: clamp, correlated_noise, ...
    """
    return {column: _step(column, *next(iter(asked[column].items()))) for column in asked}


def _step(column: str, kind: str, words: Any) -> Step:
    place = f"transform.{column}.{kind}"
    if kind not in KINDS:
        close = f"Did you mean '{policy_file.ELSEWHERE[kind]}'? " if kind in policy_file.ELSEWHERE else ""
        raise PolicyError(f"'{place}' is not a transformation.", hint=f"{close}Known: {', '.join(KINDS)}.", path=place)
    try:
        return parse_step({**(words or {}), "kind": kind, "column": column})
    except (TypeError, ValueError, KeyError) as error:
        if isinstance(error, PolicyError):
            raise
        hint = "See the page on transformations."
        raise PolicyError(f"'{place}' holds a value of the wrong type.", hint=hint, path=place) from None


def check_transforms(
    transform: Mapping[str, Step], *, free: Collection[str], fixed: Collection[str] | None, asked: Collection[str]
) -> None:
    """Refuse steps on columns that are not ``free`` (only on those in ``fixed``, where given), on columns that something is
    ``asked`` of, and two steps on one column."""
    for place, step in transform.items():
        for column in step.columns:
            if column not in free and (fixed is None or column in fixed):
                raise PolicyError(
                    f"'transform.{place}' changes column '{column}', which is not sensitive or insensitive.",
                    hint="Quasi-identifiers are generalized by their hierarchy; direct identifiers have a mask.",
                )
            if column in asked:
                raise PolicyError(
                    f"'transform.{place}' changes column '{column}', for which diversity or closeness is required.",
                    hint="Counted on changed values it would say nothing about the people. Drop one of the two.",
                )
        own = [p for p, s in transform.items() if p != place and set(s.columns) & set(step.columns)]
        if own:
            hint = "Name it in one of them."
            raise PolicyError(f"'transform.{place}' and 'transform.{own[0]}' change the same column.", hint=hint)
