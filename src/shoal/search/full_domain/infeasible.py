"""When no plan exists: which columns and requirements block, and the nearest plans that do exist.

The highest node is the easiest to satisfy for every *merge* requirement, so what fails there fails everywhere; alternatives
are measured there and are therefore always possible, if not always the best of their kind.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from shoal.errors import InfeasibleError, UsageError
from shoal.model import requirement as req
from shoal.model.compare import at_most
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.objective import Evaluation
from shoal.search.problem.checks import Checks, build_checks
from shoal.search.problem.column import up_to
from shoal.search.problem.column_blocks import without_column
from shoal.search.problem.problem import Problem
from shoal.search.problem.search_result import Alternative


def refuse_contradictions(problem: Problem, checks: Checks) -> None:
    """Refuse at once what no table with these counts can meet."""
    members = int(problem.measures[problem.members_at].sum())
    if checks.least > members:
        raise InfeasibleError(
            f"classes of at least {checks.least} are asked for, but the table has {members} members in all.",
            hint=f"Ask for k of at most {members}, or collect more records." if members > 1 else "Collect more records.",
        )
    for u in checks.population_uniqueness:
        if u.population < members:
            what = f"the population of {u.population} is smaller than the table, which has {members} members."
            raise UsageError(what, hint="Pass the number of people that the table is a sample of.")
    for sensitive in checks.sensitive:
        for r in checks.requirements:
            wanted = r.fewest_values if r.sensitive == sensitive.column else 0.0
            if not at_most(wanted, len(sensitive.share)):
                what = f"'{sensitive.column}' has {len(sensitive.share)} values, but {wanted:g} are asked for in every class."
                raise InfeasibleError(what, hint=f"Ask for at most {len(sensitive.share)}.", blocking=(sensitive.column,))


def infeasible(evaluator: Evaluator, suppress: float) -> InfeasibleError:
    """The error to raise, with ``.alternatives`` and ``.blocking`` columns."""
    problem = evaluator.problem
    top = Evaluator(problem, evaluator.checks, problem.n_records)(problem.heights)
    columns = _without_columns(evaluator)
    options = [
        *([_suppress_more(problem, top)] if top.feasible else []),
        *_smaller_k(evaluator),
        *columns,
        *_raised_levels(evaluator),
        *_without_requirements(evaluator),
    ]
    share = top.suppressed / problem.n_records
    apart = tuple(c.name for j, c in enumerate(problem.columns) if _tells_apart(problem, j))
    return InfeasibleError(
        f"no plan meets the requirements with at most {suppress:.4g} of the records suppressed: "
        f"the most general levels allowed still need {share:.4g}.",
        hint=" Or: ".join(a.sentence for a in options[:3]) or "Ask for less, or allow higher levels.",
        alternatives=tuple(options),
        blocking=tuple(a.column for a in columns if a.column is not None) or apart,
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
    others = [r for r in checks.requirements if not isinstance(r, req.K)]
    low = max(2, _checks(evaluator, others).least if others else 0)
    high = checks.least - 1
    if low > high or not _holds(evaluator, dataclasses.replace(checks, least=low)):
        return []
    while low < high:
        middle = (low + high + 1) // 2
        if _holds(evaluator, dataclasses.replace(checks, least=middle)):
            low = middle
        else:
            high = middle - 1
    e = Evaluator(problem, dataclasses.replace(checks, least=low), evaluator.limit)(problem.heights)
    share = evaluator.limit / problem.n_records
    return [Alternative("k", f"Accept k={low}.", share, k=low, levels=problem.levels(e.node), suppressed=e.suppressed)]


def _tells_apart(problem: Problem, j: int) -> bool:
    """Whether the highest level of a column still has several values, among the records or in the population."""
    block = next(b for b in problem.blocks if j in b.columns)
    group = problem.columns[j].groups[-1][block.combinations[block.columns.index(j)]]
    return bool((group != group[0]).any())


def _without_columns(evaluator: Evaluator) -> list[Alternative]:
    """Columns without which a plan exists."""
    problem = evaluator.problem
    out = []
    for j, column in enumerate(problem.columns):
        if len(problem.columns) == 1 or not _tells_apart(problem, j):
            continue
        rest = tuple(c for i, c in enumerate(problem.columns) if i != j)
        smaller = dataclasses.replace(problem, columns=rest, blocks=without_column(problem.blocks, j))
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
    """Columns with an upper bound for which a higher level makes a plan possible, and the lowest such level.

    Where no single column helps, all of them at once, if that does.
    """
    problem = evaluator.problem
    share = evaluator.limit / problem.n_records
    low = [j for j, c in enumerate(problem.columns) if c.heights[-1] < c.hierarchy.height]
    out = []
    for j in low:
        name, hierarchy = problem.columns[j].name, problem.columns[j].hierarchy
        for level in range(problem.columns[j].heights[-1] + 1, hierarchy.height + 1):
            e, levels = _with_levels(evaluator, {j: level})
            if e.feasible:
                sentence = f"Allow '{name}' up to level {level}."
                out.append(Alternative("raise level", sentence, share, column=name, levels=levels, suppressed=e.suppressed))
                break
    if not out and len(low) > 1:
        e, levels = _with_levels(evaluator, {j: problem.columns[j].hierarchy.height for j in low})
        if e.feasible:
            out.append(Alternative("raise level", "Allow all levels.", share, levels=levels, suppressed=e.suppressed))
    return out


def _with_levels(evaluator: Evaluator, tops: Mapping[int, int]) -> tuple[Evaluation, dict[str, int]]:
    """The most general node, and its levels, when some columns may go up to higher levels."""
    problem = evaluator.problem
    columns = tuple(up_to(c, tops[j]) if j in tops else c for j, c in enumerate(problem.columns))
    higher = dataclasses.replace(problem, columns=columns)
    e = Evaluator(higher, evaluator.checks, evaluator.limit)(higher.heights)
    return e, higher.levels(e.node)


def _without_requirements(evaluator: Evaluator) -> list[Alternative]:
    """Requirements without which a plan exists."""
    requirements = evaluator.checks.requirements
    share = evaluator.limit / evaluator.problem.n_records
    out = []
    for r in requirements:
        rest = tuple(x for x in requirements if x is not r)
        if rest and _holds(evaluator, _checks(evaluator, rest)):
            out.append(Alternative("drop requirement", f"Do without: {r.sentence()}.", share, column=r.sensitive))
    return out


def _checks(evaluator: Evaluator, requirements: Sequence[req.Requirement]) -> Checks:
    problem = evaluator.problem
    return build_checks(problem.counts, requirements, has_population=problem.population_at >= 0)


def _holds(evaluator: Evaluator, checks: Checks) -> bool:
    return Evaluator(evaluator.problem, checks, evaluator.limit)(evaluator.problem.heights).feasible
