"""When no plan exists: which columns and requirements block, and the nearest plans that do exist.

The highest node is the easiest to satisfy for every *merge* requirement, so what fails there fails everywhere; alternatives
are measured there and are therefore always possible, if not always the best of their kind.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from shoal.errors import InfeasibleError
from shoal.model import requirement as req
from shoal.search.blocks import make_blocks
from shoal.search.checks import Checks, build_checks
from shoal.search.evaluate import Evaluation, Evaluator
from shoal.search.problem import Problem
from shoal.search.result import Alternative


def refuse_contradictions(problem: Problem, checks: Checks) -> None:
    """Refuse at once what no table with these counts can meet."""
    members = int(problem.measures[problem.members_at].sum())
    if checks.least > members:
        raise InfeasibleError(
            f"classes of at least {checks.least} are asked for, but the table has {members} members in all.",
            hint=f"Ask for k of at most {members}, or collect more records.",
            alternatives=(),
            blocking=(),
        )
    for sensitive in checks.sensitive:
        for r in checks.requirements:
            wanted = _values_needed(r) if r.sensitive == sensitive.column else 0.0
            if wanted > len(sensitive.share) + req.TOLERANCE:
                raise InfeasibleError(
                    f"'{sensitive.column}' has {len(sensitive.share)} values, but {wanted:g} are asked for in every class.",
                    hint=f"Ask for at most {len(sensitive.share)}.",
                    alternatives=(),
                    blocking=(sensitive.column,),
                )


def _values_needed(r: req.Requirement) -> float:
    if isinstance(r, req.DistinctDiversity | req.EntropyDiversity | req.RecursiveDiversity):
        return float(r.l)
    return float(r.p) if isinstance(r, req.PSensitive) else 0.0


def infeasible(evaluator: Evaluator, suppress: float) -> InfeasibleError:
    """The error to raise, with ``.alternatives`` and ``.blocking`` columns."""
    problem = evaluator.problem
    top = evaluator(problem.heights)
    options: list[Alternative] = []
    if top.kept_groups > 0:
        options.append(_suppress_more(problem, top))
    options += _smaller_k(evaluator)
    columns = _without_columns(evaluator)
    options += columns
    options += _raised_levels(evaluator)
    options += _without_requirements(evaluator)
    share = top.suppressed / problem.n_records
    return InfeasibleError(
        f"no plan meets the requirements with at most {suppress:.4g} of the records suppressed: "
        f"the most general levels allowed still need {share:.4g}.",
        hint=" Or: ".join(a.sentence for a in options[:3]) or "Ask for less, or allow higher levels.",
        alternatives=tuple(options),
        blocking=tuple(a.column for a in columns if a.column is not None),
    )


def _suppress_more(problem: Problem, top: Evaluation) -> Alternative:
    share = top.suppressed / problem.n_records
    up = float(np.ceil(share * 1e4) / 1e4)
    return Alternative(
        "suppress",
        f"Allow {up:.2%} of the records to be suppressed.",
        up,
        levels=problem.levels(top.node),
        suppressed=top.suppressed,
    )


def _smaller_k(evaluator: Evaluator) -> list[Alternative]:
    """The largest k that the highest node reaches within the limit, other requirements unchanged."""
    checks, problem = evaluator.checks, evaluator.problem
    if not any(isinstance(r, req.K) for r in checks.requirements):
        return []
    low, high = 1, checks.least - 1
    while low < high:
        middle = (low + high + 1) // 2
        if _holds(evaluator, dataclasses.replace(checks, least=middle)):
            low = middle
        else:
            high = middle - 1
    if low < 2 or not _holds(evaluator, dataclasses.replace(checks, least=low)):
        return []
    e = Evaluator(problem, dataclasses.replace(checks, least=low), evaluator.limit)(problem.heights)
    share = evaluator.limit / problem.n_records
    return [Alternative("k", f"Accept k={low}.", share, k=low, levels=problem.levels(e.node), suppressed=e.suppressed)]


def _without_columns(evaluator: Evaluator) -> list[Alternative]:
    """Columns without which a plan exists."""
    problem = evaluator.problem
    out = []
    for j, column in enumerate(problem.columns):
        if len(problem.columns) == 1 or max(column.cards[-1:]) == 1:
            continue
        rest = tuple(c for i, c in enumerate(problem.columns) if i != j)
        codes = np.ascontiguousarray(np.delete(problem.codes, j, axis=0))
        smaller = dataclasses.replace(problem, columns=rest, codes=codes, blocks=make_blocks(rest, codes))
        e = Evaluator(smaller, evaluator.checks, evaluator.limit)(smaller.heights)
        if e.feasible:
            share = evaluator.limit / problem.n_records
            levels = smaller.levels(e.node)
            out.append(
                Alternative(
                    "drop column", f"Drop '{column.name}'.", share, column=column.name, levels=levels, suppressed=e.suppressed
                )
            )
    return out


def _raised_levels(evaluator: Evaluator) -> list[Alternative]:
    """Columns whose highest level was bounded below the top of the hierarchy."""
    share = evaluator.limit / evaluator.problem.n_records
    return [
        Alternative("raise level", f"Allow '{c.name}' above level {c.heights[-1]}.", share, column=c.name)
        for c in evaluator.problem.columns
        if c.heights[-1] < c.hierarchy.height
    ]


def _without_requirements(evaluator: Evaluator) -> list[Alternative]:
    """Requirements without which a plan exists."""
    asked = evaluator.checks.requirements
    share = evaluator.limit / evaluator.problem.n_records
    out = []
    for r in asked:
        rest = tuple(x for x in asked if x is not r)
        if rest and _holds(evaluator, _checks(evaluator, rest)):
            out.append(Alternative("drop requirement", f"Do without: {r.sentence()}.", share, column=r.sensitive))
    return out


def _checks(evaluator: Evaluator, requirements: Sequence[req.Requirement]) -> Checks:
    problem = evaluator.problem
    return build_checks(problem.counts, requirements, has_population=problem.population_at >= 0)


def _holds(evaluator: Evaluator, checks: Checks) -> bool:
    return Evaluator(evaluator.problem, checks, evaluator.limit)(evaluator.problem.heights).feasible
