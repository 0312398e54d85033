"""A plan from a page of YAML: every technique by its name, with what it must know of the data looked up in the table.

sample: {share: 0.5, unit: person}
steps:
  - {column: age,  generalize: {hierarchy: {intervals: [5, 10], top: 90}, level: 2}}
  - {column: pay,  noise: {share: 0.1}}            # a tenth of the column's own deviation; or {scale: 50}
  - {column: name, drop: {}}
suppress: {k: 5, columns: [age, zip], scope: rows}

A step that needs no data (round, clamp, prefix, rank_swap, permute, microaggregate, date_shift, keyed_hash, fake, …) takes the
settings of its class; the others are built here from the column's values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.recode.codes import without_codes
from shoal.errors import PolicyError, ShoalError, UnreadableError, nearest
from shoal.kernels.codes import is_code
from shoal.model.plan import Plan, Step, Suppression, step_from_json

if TYPE_CHECKING:
    from shoal.engines.table import Table

_TOP = ("seed", "sample", "steps", "suppress", "shuffle")


def read_plan(path: str | Path, table: Table) -> Plan:
    """The plan of a ``.json`` that Shoal wrote, or of a page of YAML (see the module) for this table."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(
            f"plan '{file.name}' cannot be read: {type(error).__name__}.", hint="Name a plan.json or a YAML file."
        ) from None
    if file.suffix.lower() == ".json":
        return Plan.from_json(text)
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        data = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        at = f" at line {line + 1}" if line is not None else ""
        raise PolicyError(f"plan '{file.name}' is not valid YAML{at}.", hint="Mind indentation and quotes.") from None
    return plan_for(table, data, folder=file.parent)


def plan_for(table: Table, spec: Any, *, folder: str | Path = ".") -> Plan:
    """The plan that ``spec`` (the content of a plan file) asks for, on this table.

    >>> import pyarrow as pa, shoal
    >>> people = shoal.open(pa.table({"age": [30, 31, 42], "pay": [10.0, 20.0, 30.0]}))
    >>> plan = plan_for(people, {"steps": [{"column": "pay", "round": {"base": 20}}], "suppress": {"k": 2, "columns": ["age"]}})
    >>> plan.steps[0].kind, plan.suppression.k
    ('round', 2)
    """
    if not isinstance(spec, Mapping):
        raise PolicyError("a plan is a mapping with 'steps'.", hint="steps: [{column: pay, round: {base: 100}}]")
    _only(spec, _TOP, "the plan")
    steps = [_step(table, entry, Path(folder)) for entry in _list(spec.get("steps"), "steps")]
    if spec.get("sample") is not None:
        steps.insert(0, step_from_json({**_words(spec["sample"], "sample"), "kind": "sample"}))
    seed = spec.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise PolicyError("'seed' must be a whole number.")
    return Plan(tuple(steps), _suppression(spec.get("suppress")), seed, bool(spec.get("shuffle", True)))


def _step(table: Table, entry: Any, folder: Path) -> Step:
    if not isinstance(entry, Mapping) or len(entry) != 2 or not isinstance(entry.get("column"), str):
        raise PolicyError("each step names a column and one technique.", hint="For example: {column: pay, round: {base: 100}}")
    column = str(entry["column"])
    table.schema.require(column, what="column of a step")
    kind, words = next((str(k), _words(v, str(k))) for k, v in entry.items() if k != "column")
    try:
        if kind in BUILDERS and (kind not in ("noise", "correlated_noise") or "share" in words):
            return BUILDERS[kind](table, column, words, folder)
        return step_from_json({**words, "kind": kind, "column": column})
    except ShoalError:
        raise
    except (TypeError, KeyError, ValueError):
        raise PolicyError(
            f"step '{kind}' of column '{column}' lacks a setting or has one of the wrong kind.",
            hint="See the page on transformations.",
        ) from None


def _generalize(table: Table, column: str, words: dict[str, Any], folder: Path) -> Step:
    from shoal.hierarchies import from_policy, infer
    from shoal.hierarchies.builders.apart import Apart
    from shoal.transform import best_cut, level_for

    values, counts = table.few_values(column)
    asked = words.pop("hierarchy", None)
    if asked is None:
        rule = infer(table.schema[column], values, counts)
    else:
        rule = Apart.fitted(from_policy(asked, folder), column, values, counts, table.schema[column].user_missing)
    label = words.pop("missing_label", None)
    wanted = [w for w in ("level", "at_most", "cut") if w in words]
    if len(wanted) != 1:
        raise PolicyError(
            f"'generalize' of '{column}' needs one of level, at_most, cut.", hint="level: 2, or at_most: 10 values."
        )
    number = words.pop(wanted[0])
    _only(words, (), f"'generalize' of '{column}'")
    if wanted[0] == "level":
        return rule.step(column, int(number), missing_label=label)
    levels = rule.over(column, values, counts)
    if wanted[0] == "at_most":
        return rule.step(column, level_for(levels, int(number)), missing_label=label)
    return best_cut(levels, int(number), counts).step(missing_label=label)


def _built(name: str) -> Callable[[Any, str, dict[str, Any], Path], Step]:
    def build(table: Table, column: str, words: dict[str, Any], folder: Path) -> Step:
        import shoal.transform as tf

        rare = name == "suppress_rare"
        found = table.few_values(column, least=_least(words)) if rare else _substantive(table, column)
        step: Step = getattr(tf, name)(column, *found, **words)
        return step

    return build


def _noise(table: Table, column: str, words: dict[str, Any], folder: Path) -> Step:
    from shoal.transform.perturb.noise import noise_of
    from shoal.transform.perturb.spread import Spread

    return noise_of(column, Spread.of(_numbers(table, (column,)), (column,)), **words)


def _correlated(table: Table, column: str, words: dict[str, Any], folder: Path) -> Step:
    from shoal.transform import CorrelatedNoise

    columns = (column, *words.pop("others"))
    return CorrelatedNoise.fit(_numbers(table, columns), columns, **words)


def _numbers(table: Table, columns: tuple[str, ...]) -> Iterator[Any]:
    """Tables of some rows each, without the codes that are declared missing."""
    declared = {n: table.schema[n].user_missing for n in columns}
    return (without_codes(pa.Table.from_batches([b]), declared) for b in table.scan(columns))


BUILDERS: dict[str, Callable[[Any, str, dict[str, Any], Path], Step]] = {
    "generalize": _generalize,
    "quantiles": _built("quantile_transform"),
    "groups": _built("microaggregate_1d"),
    "top_bottom": _built("top_bottom"),
    "rare": _built("suppress_rare"),
    "pram": _built("pram"),
    "noise": _noise,
    "correlated_noise": _correlated,
}
"""Techniques that look at the data: their settings are those of the functions of :mod:`shoal.transform`."""


def _least(words: Mapping[str, Any]) -> int:
    """Records that a value needs to be named in the plan; what is wrong with the setting is said by the technique."""
    least = words.get("min_count")
    return least if isinstance(least, int) and least > 1 else 1


def _substantive(table: Table, column: str) -> tuple[Any, Any]:
    """Those of the values that are not declared missing: what is calculated or exchanged."""
    values, counts = table.few_values(column)
    stays = pc.invert(is_code(values, table.schema[column].user_missing))
    return values.filter(stays), counts[stays.to_numpy(zero_copy_only=False)]


def _suppression(spec: Any) -> Suppression:
    if spec is None:
        return Suppression(scope="none")
    words = _words(spec, "suppress")
    _only(words, ("k", "columns", "scope", "unit"), "'suppress'")
    k, columns = words.get("k"), _list(words.get("columns"), "suppress.columns")
    if (
        isinstance(k, bool)
        or not isinstance(k, int)
        or k < 1
        or not columns
        or words.get("scope", "rows") not in ("rows", "cells")
    ):
        raise PolicyError(
            "'suppress' needs k, columns and, if any, a scope.", hint="suppress: {k: 5, columns: [age], scope: rows}"
        )
    return Suppression(k, tuple(map(str, columns)), words.get("scope", "rows"), words.get("unit"))


def _words(value: Any, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise PolicyError(f"'{what}' takes settings by name.", hint=f"{what}: {{name: value}}")
    return {str(k): v for k, v in value.items()}


def _list(value: Any, what: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise PolicyError(f"'{what}' is a list.")
    return value


def _only(words: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in words:
        if key not in known:
            close = nearest(str(key), known)
            raise PolicyError(f"'{key}' is not known in {where}.", hint=f"Did you mean '{close}'?" if close else "Leave it out.")
