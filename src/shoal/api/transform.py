"""``transform``: apply a plan on a table and tell what changed. No proof: for that, see ``anonymize``.

A plan from a page of YAML: every technique by its name, with what it must know of the data looked up in the table.

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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

import shoal.techniques as tf
from shoal.api.arguments import Source, opened
from shoal.engines.core.memory import WRITTEN, WRITTEN_AT_MOST
from shoal.engines.count.sql import TooManyValues, few_of
from shoal.engines.exclusion import leave_out
from shoal.engines.recode.batch_steps import without_codes
from shoal.engines.recode.write import Recoded, read_seed
from shoal.engines.table import Table
from shoal.errors import PolicyError, ShoalError, UnreadableError, UsageError, suggest
from shoal.hierarchies import from_policy, infer
from shoal.hierarchies.builders.infer import Apart
from shoal.kernels.codes import is_code
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import IntArray
from shoal.model.display import Progress
from shoal.model.exclusion import Excluded
from shoal.model.plan import Plan, Step, Suppression
from shoal.release.plan.plan_json import parse_plan, parse_step
from shoal.techniques import CorrelatedNoise, Guarantee, best_cut, level_for
from shoal.techniques.guarantees import guarantees
from shoal.techniques.perturb.noise import Spread, noise_of

if TYPE_CHECKING:
    from shoal.hierarchies.rule import Rule


Counted = tuple[pa.Array, IntArray]
"""Values of a column, and how many records have each."""
Settings = dict[str, Any]
"""What a step of the page states, by name; the technique checks each."""
Builder = Callable[[Table, str, Settings, Path], Step]

_TOP = ("seed", "sample", "steps", "suppress", "shuffle")


def read_plan(path: str | Path, table: Table) -> Plan:
    """The plan of a ``.json`` that Shoal wrote, or of a page of YAML (see the module) for this table."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        hint = "Name a plan.json or a YAML file."
        raise UnreadableError(f"plan '{file.name}' cannot be read: {type(error).__name__}.", hint=hint) from None
    if file.suffix.lower() == ".json":
        return parse_plan(text)
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        data = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        at = f" at line {line + 1}" if line is not None else ""
        raise PolicyError(f"plan '{file.name}' is not valid YAML{at}.", hint="Mind indentation and quotes.") from None
    return plan_for(table, data, folder=file.parent)


def plan_for(table: Table, spec: object, *, folder: str | Path = ".") -> Plan:
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
    sampled = spec.get("sample") is not None
    steps: list[Step] = []
    for entry in _list(spec.get("steps"), "steps"):
        steps.append(_step(table, entry, Path(folder), steps, sampled=sampled))
    if sampled:
        steps.insert(0, parse_step({**_words(spec["sample"], "sample"), "kind": "sample"}))
    seed = spec.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise PolicyError("'seed' must be a whole number.")
    return Plan(tuple(steps), _suppression(spec.get("suppress")), seed, bool(spec.get("shuffle", True)))


def _step(table: Table, entry: object, folder: Path, before: Sequence[Step], *, sampled: bool) -> Step:
    if not isinstance(entry, Mapping) or len(entry) != 2 or not isinstance(entry.get("column"), str):
        raise PolicyError("each step names a column and one technique.", hint="For example: {column: pay, round: {base: 100}}")
    column = str(entry["column"])
    table.schema.require(column, what="column of a step")
    kind, options = next((str(k), _words(v, str(k))) for k, v in entry.items() if k != "column")
    earlier = [s.kind for s in before if column in s.columns and s.kind not in _EXCHANGES]
    if earlier and kind in _BY_PEOPLE:
        raise PolicyError(
            f"'{kind}' of '{column}' is fitted to the original values; after '{earlier[0]}' other records would be in a group.",
            hint=f"Put '{kind}' first; or take microaggregate, cut or clamp, which see what earlier steps made.",
        )
    try:
        counts_later = (sampled or bool(earlier)) and kind == "rare" and "min_count" in options  # records as they are then
        if kind in BUILDERS and not counts_later and (kind not in ("noise", "correlated_noise") or "share" in options):
            return BUILDERS[kind](table, column, options, folder)
        return parse_step({**options, "kind": kind, "column": column})
    except ShoalError:
        raise
    except (TypeError, KeyError, ValueError):
        what = f"step '{kind}' of column '{column}' lacks a setting or has one of the wrong kind."
        raise PolicyError(what, hint="See the page on transformations.") from None


def _generalize(table: Table, column: str, words: Settings, folder: Path) -> Step:
    tree_rule = words.pop("hierarchy", None)
    if tree_rule is None:
        values, counts = table.few_values(column)
        rule = infer(table.schema[column], values, counts)
    else:
        rule = from_policy(tree_rule, folder)
        values, counts = _needed_by(rule, table, column, at_level="level" in words)
        rule = Apart.fitted(rule, column, values, counts, table.schema[column].user_missing)
    label = words.pop("missing_label", None)
    wanted = [w for w in ("level", "at_most", "cut") if w in words]
    if len(wanted) != 1:
        hint = "level: 2, or at_most: 10 values."
        raise PolicyError(f"'generalize' of '{column}' needs one of level, at_most, cut.", hint=hint)
    number = words.pop(wanted[0])
    _only(words, (), f"'generalize' of '{column}'")
    if wanted[0] == "level":
        return rule.step(column, int(number), missing_label=label)
    levels = rule.over(column, values, counts)
    if wanted[0] == "at_most":
        return rule.step(column, level_for(levels, int(number)), missing_label=label)
    return best_cut(levels, int(number), counts).step(missing_label=label)


def _needed_by(rule: Rule, table: Table, column: str, *, at_level: bool) -> tuple[pa.Array, IntArray | None]:
    """The values of a column with their records; of a rule that is fitted to a few of them, those few where they are many."""
    few = rule.enough(column, pa.array([], pa.string())) if at_level and not table.schema[column].user_missing else None
    try:
        return table.few_values(column)
    except TooManyValues:
        if few is None:
            raise
    for values, _ in table.value_batches(column):
        few = rule.enough(column, values if few is None or not len(few) else pa.concat_arrays([few, values]))
    return few, None


def _by_ranks(name: str) -> Builder:
    """A technique that takes the numbers of a column by their ranks."""

    def build(table: Table, column: str, words: Settings, folder: Path) -> Step:
        step: Step = getattr(tf, name)(column, *_substantive(table, column), **words)
        return step

    return build


def _rare(table: Table, column: str, words: Settings, folder: Path) -> Step:
    try:
        return tf.suppress_rare(column, *table.few_values(column, least=_least(words)), **words)
    except TooManyValues:
        return tf.Rare(column, **words)


def _pram(table: Table, column: str, words: Settings, folder: Path) -> Step:
    """Of a column of many values those that can be categories are held; the others are suppressed."""
    try:
        return tf.pram(column, *_substantive(table, column), **words)
    except TooManyValues:
        names = words.get("categories")
        if names is None and _least(words) == 1:
            raise
        least = 1 if names is not None else _least(words)
        batches = (_without_declared(table, column, *some) for some in table.value_batches(column, least=least))
        few = few_of(column, table.schema[column].kind, (_among(values, counts, names) for values, counts in batches))
        return replace(tf.pram(column, *few, **words), on_gap="suppress")


def _among(values: pa.Array, counts: IntArray, names: Sequence[str] | None) -> Counted:
    """The values that are named; all where no names are given."""
    if names is None:
        return values, counts
    named = pc.is_in(canonical_text(values), pa.array(names, pa.string()))
    return values.filter(named), counts[named.to_numpy(zero_copy_only=False)]


def _noise(table: Table, column: str, words: Settings, folder: Path) -> Step:
    return noise_of(column, Spread.of(_numbers(table, (column,)), (column,)), **words)


def _correlated_noise(table: Table, column: str, words: Settings, folder: Path) -> Step:
    columns = (column, *words.pop("others"))
    return CorrelatedNoise.fit(_numbers(table, columns), columns, **words)


def _numbers(table: Table, columns: tuple[str, ...]) -> Iterator[pa.Table]:
    """Tables of some rows each, without the codes that are declared missing."""
    declared = {n: table.schema[n].user_missing for n in columns}
    return (without_codes(pa.Table.from_batches([b]), declared) for b in table.scan(columns))


BUILDERS: dict[str, Builder] = {
    "generalize": _generalize,
    "quantiles": _by_ranks("quantile_transform"),
    "groups": _by_ranks("microaggregate_1d"),
    "top_bottom": _by_ranks("top_bottom"),
    "rare": _rare,
    "pram": _pram,
    "noise": _noise,
    "correlated_noise": _correlated_noise,
}
"""Techniques that look at the data: their settings are those of the functions of :mod:`shoal.transform`."""


_EXCHANGES = ("permute", "rank_swap")
"""Steps after which a column has the same values, as often."""

_BY_PEOPLE = ("groups", "quantiles", "top_bottom")
"""Techniques that promise how many records share a value or lie at a limit."""


def _least(words: Mapping[str, object]) -> int:
    """Records that a value needs to be named in the plan; the technique reports a wrong setting."""
    least = words.get("min_count")
    return least if isinstance(least, int) and least > 1 else 1


def _substantive(table: Table, column: str) -> Counted:
    """Those of the values that are not declared missing: what is calculated or exchanged."""
    return _without_declared(table, column, *table.few_values(column))


def _without_declared(table: Table, column: str, values: pa.Array, counts: IntArray) -> Counted:
    stays = pc.invert(is_code(values, table.schema[column].user_missing))
    return values.filter(stays), counts[stays.to_numpy(zero_copy_only=False)]


def _suppression(spec: object) -> Suppression:
    if spec is None:
        return Suppression(scope="none")
    options = _words(spec, "suppress")
    _only(options, ("k", "columns", "scope", "unit"), "'suppress'")
    k, columns, scope = options.get("k"), _list(options.get("columns"), "suppress.columns"), options.get("scope", "rows")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1 or not columns or scope not in ("rows", "cells"):
        hint = "suppress: {k: 5, columns: [age], scope: rows}"
        raise PolicyError("'suppress' needs k, columns and, if any, a scope.", hint=hint)
    return Suppression(k, tuple(map(str, columns)), scope, options.get("unit"))


def _words(value: object, what: str) -> Settings:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise PolicyError(f"'{what}' takes settings by name.", hint=f"{what}: {{name: value}}")
    return {str(k): v for k, v in value.items()}


def _list(value: object, what: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise PolicyError(f"'{what}' is a list.")
    return value


def _only(words: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    for key in words:
        if key not in known:
            raise PolicyError(f"'{key}' is not known in {where}.", hint=suggest(str(key), known) or "Leave it out.")


@dataclass(frozen=True, repr=False)
class Transformed:
    """The finished plan, and what it did; ``done`` is None where nothing was written.

    ``plan`` holds the seed of random steps: anyone who has it can undo them. ``plan.without_seed()`` may be shown. Where the seed
    was drawn, it is also in :attr:`private_file`, beside the file that was written.
    """

    plan: Plan
    done: Recoded | None = None
    excluded: Excluded | None = None

    def __repr__(self) -> str:
        steps = f"steps {len(self.plan.steps)}, {'' if self.plan.truthful else 'not '}truthful"
        if self.done is None:
            return f"<Transformed: {steps}, nothing written>"
        return f"<Transformed: {steps}, {self.done.records_out:,} of {self.done.records_in:,} records written>"

    @property
    def truthful(self) -> bool:
        """Whether every published value is still true of its person."""
        return self.plan.truthful

    @property
    def private_file(self) -> Path | None:
        """The file that keeps a drawn seed; None where none was drawn, or a table was written."""
        return Path(self.done.private_file) if self.done is not None and self.done.private_file else None

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What each step of the plan keeps and loses."""
        return guarantees(self.plan)

    def to_json(self) -> dict[str, object]:
        done, steps = self.done, []
        for step, sentences in zip(self.plan.steps, self.guarantees, strict=True):
            changed = None if done is None else {c: done.changed[c] for c in step.columns}
            about = {"kind": step.kind, "columns": list(step.columns), "changed": changed, "truthful": sentences.truthful}
            steps.append({**about, "keeps": sentences.keeps, "loses": sentences.loses})
        out: dict[str, object] = {"truthful": self.truthful, "steps": steps}
        if done is not None:
            out |= {
                "records_in": done.records_in,
                "records_out": done.records_out,
                "unsampled": done.unsampled,
                "suppressed": done.suppressed,
                "changed": dict(done.changed),
                "private_file": done.private_file,
                "not_kept": list(done.not_kept),
            }
        if self.excluded is not None:
            out["excluded"] = self.excluded.to_json()
        return out


def transform(
    table: Source,
    plan: Plan | Mapping[str, object] | str | Path,
    out: str | Path | None = None,
    *,
    seed: int | None = None,
    private: str | Path | None = None,
    format: str | None = None,
    exclude: str | Path | Iterable[object] | None = None,
    exclude_by: str | None = None,
    progress: Progress | None = None,
) -> Transformed:
    """Apply a plan: generalize, suppress, add noise, swap, mask, sample …

    Parameters
    ----------
    table : Table, path, URL or frame
        Anything that :func:`shoal.open` accepts, or a table that it returned.
    plan : Plan, mapping or path
        A page of YAML, its content as a mapping, or a plan.json that Shoal wrote.
    out : path or ``::name``, optional
        A file, or a new table beside this one. Without it the plan is made and nothing is written.
    seed : int, optional
        Instead of the plan's: same input and seed, same bytes. At least 16 digits where a step is random; without one a
        secret seed is drawn and kept beside the output.
    private : path, optional
        The private file of an earlier run, instead of ``seed``: repeats it.
    format : str, optional
        Of the file, where its ending does not tell it.
    exclude, exclude_by : optional
        Opt-outs (a file with one id per line, ``FILE:column``, or the ids), and the column that holds
        their ids; the person column (``unit``) by default. Their rows are left out first.

    Examples
    --------
    >>> found = transform({"pay": [12.0, 17.0]}, {"steps": [{"column": "pay", "round": {"base": 10}}]})
    >>> found.plan.steps[0].kind, found.truthful, found.done
    ('round', True, None)
    """
    source, left_out = opened(table), None
    if exclude is not None:
        left = leave_out(source, exclude, exclude_by)
        source, left_out = left.table, left.told
    if out is not None:
        source.check_written("writing this table", WRITTEN, WRITTEN_AT_MOST)
    built = _plan(source, plan)
    if private is not None:
        if seed is not None:
            raise UsageError("the seed is given twice.", hint="Give seed or private, not both.")
        seed = read_seed(private)
    if seed is not None:
        built = replace(built, seed=seed)
    if out is None:
        if built.seed:
            built.seeded()  # a seed that could be guessed is refused here already
        return Transformed(built, excluded=left_out)
    done = source.recode(built, out, format=format, progress=progress)
    return Transformed(built if done.drawn is None else replace(built, seed=done.drawn), done, left_out)


def _plan(table: Table, plan: Plan | Mapping[str, object] | str | Path) -> Plan:
    if isinstance(plan, Plan):
        return plan
    return read_plan(plan, table) if isinstance(plan, str | Path) else plan_for(table, plan)
