"""Results that should survive: the analyses a policy names, before and after.

Where records were left out, the result before is not shown and the change only as a range: a mean before and after would tell the
values of the few left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import DataError
from shoal.model.certificate.parts import Analysis
from shoal.model.display import written
from shoal.release.plan.prepare import Prepared
from shoal.release.proof.read import batches, header
from shoal.release.proof.written import logical

MOST_ROWS = 2_000_000


def run_analyses(prepared: Prepared, data: Path, *, complete: bool) -> tuple[Analysis, ...]:
    """Each named analysis on the original and on the published records; ``complete`` where no record was left out."""
    if not prepared.policy.analyses:
        return ()
    wanted = list(dict.fromkeys(c for a in prepared.policy.analyses for c in _columns(a)))
    for name in wanted:
        prepared.schema.require(name, what="column of an analysis")
    if prepared.base.n_records > MOST_ROWS:
        return tuple(Analysis(_title(a), "not computed: too many records", "", "") for a in prepared.policy.analyses)
    there = [c for c in wanted if c in logical(header(data), prepared.schema.names)]
    before = _texts(prepared.table.scan(wanted), wanted)
    after = _texts(batches(data, there), there)
    return tuple(_compared(a, before, after, complete) for a in prepared.policy.analyses)


def _columns(analysis: Mapping[str, Any]) -> list[str]:
    if "mean" in analysis:
        return [analysis["mean"]]
    if "table" in analysis:
        return list(analysis["table"])
    return [analysis["regression"]["outcome"], *analysis["regression"]["on"]]


def _texts(rows: Any, names: list[str]) -> dict[str, list[str | None]]:
    """Columns as canonical texts, so that files of every format compare alike."""
    from shoal.kernels.text import canonical_text

    out: dict[str, list[str | None]] = {n: [] for n in names}
    for batch in rows:
        for i, name in enumerate(names):
            out[name].extend(canonical_text(batch.column(i)).to_pylist())
    return out


def _title(analysis: Mapping[str, Any]) -> str:
    if "regression" in analysis:
        return f"regression of {analysis['regression']['outcome']} on {', '.join(analysis['regression']['on'])}"
    return f"mean of {analysis['mean']}" if "mean" in analysis else f"table of {', '.join(analysis['table'])}"


def _compared(analysis: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any], complete: bool) -> Analysis:
    from shoal.measures.utility.analyses import compare_mean, compare_regression, compare_table

    title = _title(analysis)
    if any(c not in after for c in _columns(analysis)):
        return Analysis(title, "", "", "a column is not published")
    try:
        if "mean" in analysis:
            found = compare_mean(analysis["mean"], before, after)
        elif "table" in analysis:
            found = compare_table(analysis["table"], before, after)
        else:
            found = compare_regression(analysis["regression"]["outcome"], analysis["regression"]["on"], before, after)
    except DataError:
        return Analysis(title, "", "", "cannot be computed from the published values")
    shown = ["" if x is None else written(x, 3) for x in (found.before, found.after)]
    if not complete:
        return Analysis(title, "not shown: records were left out", shown[1], f"{_range(found.change)} ({found.measure})")
    return Analysis(title, shown[0], shown[1], f"{written(found.change, 2)} ({found.measure})")


def _range(change: float) -> str:
    """A change told so coarsely that no value of a single record follows.

    >>> _range(0.0), _range(0.02), _range(-133.0)
    ('below 0.01', '0.01 to 0.1', 'above 0.1')
    """
    size = abs(change)
    return "below 0.01" if size < 0.01 else "0.01 to 0.1" if size < 0.1 else "above 0.1"
