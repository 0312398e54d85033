"""The certificate of a written release: gathered, put on a page, signed, and verified before anybody sees it."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError
from shoal.kernels import signatures as sign
from shoal.kernels.group import group_codes
from shoal.kernels.text import canonical_text
from shoal.model.certificate.parts import Analysis
from shoal.model.display import written
from shoal.model.plan import Plan, Step
from shoal.release.certificate.derive import MOST_ANALYSED, analysed_columns, analysis_title, compared, texts_of
from shoal.release.plan.coarser_start import rare_in_groups
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision, at_level
from shoal.release.proof.read import batches, header, logical
from shoal.steps import MapValues

if TYPE_CHECKING:
    from shoal.engines.table import Table


def input_hash(table: Table, signer: sign.Signer) -> str | None:
    """A keyed hash of the input: of the bytes of its files, or of the rows of a table in a database; None for frames.

    The hash of rows does not depend on their order: every row, its cells spelled as canonical texts (``v``, their length, a colon
    and the text; ``n`` for a missing one) and joined by the character 31, has its HMAC; they are added up modulo 2²⁵⁶, and the
    number of rows and the sum (64 hexadecimal digits), with a colon between them, are hashed.
    """
    source = str(table.source["source"])
    if "::" in source or "://" in source or source == "-":
        return _rows_hash(table, signer)
    try:
        files = table.files()
        return signer.keyed_hash((c for f in files for c in _chunks(f)), purpose="input") if files else None
    except OSError:
        return None


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as content:
        yield from iter(lambda: content.read(1 << 20), b"")


def _rows_hash(table: Table, signer: sign.Signer) -> str:
    secret = signer.secret("input")
    rows, total = table.sum_of_macs(secret) or _read_and_added_up(table, secret)
    return signer.keyed_hash([f"{rows}:{total % 2**256:064x}".encode()], purpose="input")


def _read_and_added_up(table: Table, secret: bytes) -> tuple[int, int]:
    total = rows = 0
    for batch in table.scan():
        texts = [canonical_text(batch.column(i)) for i in range(batch.num_columns)]
        for line in pc.binary_join_element_wise(*[_spell(t) for t in texts], "\x1f").to_pylist():
            total += int.from_bytes(hmac.digest(secret, line.encode("utf-8"), "sha256"), "big")
        rows += batch.num_rows
    return rows, total


def _spell(texts: Any) -> Any:
    """Each text with its length before it, so that neighbours cannot be mistaken; ``n`` for a missing one."""
    plain = texts.cast(pa.string())
    given = pc.binary_join_element_wise("v", pc.utf8_length(plain).cast(pa.string()), ":", plain, "")
    return pc.fill_null(given, "n")


def published_plan(prepared: Prepared, decision: Decision) -> Plan:
    """The plan of a decision without its seed and without rare values; the same steps where nothing is left out."""
    steps = tuple(_prune(s, prepared, decision) if isinstance(s, MapValues) else s for s in decision.plan.steps)
    return replace(decision.plan, steps=steps).without_seed()


def leaves_out(prepared: Prepared, decision: Decision) -> bool:
    """Whether the published plan lacks values that the whole plan has."""
    return published_plan(prepared, decision).steps != decision.plan.steps


def _prune(step: MapValues, prepared: Prepared, decision: Decision) -> Step:
    if step.column not in prepared.base.columns:
        return step
    common = _common(prepared, decision, step.column)
    kept = [i for i, key in enumerate(step.keys) if key in common or _number(key) in common]
    if len(kept) == len(step.keys):
        return step
    used = sorted({step.targets[i] for i in kept})
    place = {old: new for new, old in enumerate(used)}
    return replace(
        step,
        keys=tuple(step.keys[i] for i in kept),
        targets=tuple(place[step.targets[i]] for i in kept),
        labels=tuple(step.labels[t] for t in used),
        on_gap="suppress" if step.on_gap == "error" else step.on_gap,
    )


def _common(prepared: Prepared, decision: Decision, column: str) -> set[str | float]:
    """Values that enough published people have: as text, and as a number where the column holds floats."""
    j = prepared.base.column(column)
    counts = _people_with(prepared, decision, j)
    if prepared.coarser is not None and prepared.coarser.levels[column]:
        counts = rare_in_groups(prepared.coarser, prepared.hierarchies[column], column, _count_gone(prepared, decision, j))
    texts = canonical_text(prepared.values(column)).to_pylist()
    common = [t for t, n in zip(texts, counts, strict=True) if n >= prepared.policy.cells.minimum]
    return {*common, *(_number(t) for t in common)} if prepared.schema[column].kind == "float" else set(common)


def _people_with(prepared: Prepared, decision: Decision, j: int) -> npt.NDArray[np.int64]:
    """Published people (records, without a person column) with each value of the j-th quasi-identifier."""
    base = prepared.base
    if prepared.people is not None:  # some people are in several classes: each counts once
        codes, (classes, person) = base.codes[j], prepared.people
        there = decision.stays[classes] & (codes[classes] >= 0)
        codes = codes[classes][there]
        once = group_codes([codes, person[there]]).first
        return np.bincount(codes[once], minlength=len(base.categories[j])).astype(np.int64)
    out = np.flatnonzero(~decision.stays)
    gone = np.bincount(base.codes[j][out] + 1, weights=base.sizes[out], minlength=len(base.categories[j]) + 1)
    return (prepared.members(base.columns[j]) - gone.astype(np.int64))[1:]


def _count_gone(prepared: Prepared, decision: Decision, j: int) -> npt.NDArray[np.int64]:
    """Records left out, by group of the level at which the j-th quasi-identifier was counted."""
    name, gone = prepared.base.columns[j], ~decision.stays
    codes = at_level(prepared, prepared.base, name, prepared.lowest(name))[0]
    there = gone & (codes >= 0)
    n = len(prepared.hierarchies[name].levels[prepared.lowest(name)].labels)
    return np.bincount(codes[there], weights=prepared.base.sizes[there], minlength=n).astype(np.int64)


def _number(text: str) -> str | float:
    """The number that a text spells; the text itself where it spells none."""
    try:
        return float(text) + 0.0
    except ValueError:
        return text


def run_analyses(prepared: Prepared, data: Path, *, complete: bool) -> tuple[Analysis, ...]:
    """Each named analysis on the original, and how it changed; ``complete`` where no record was left out."""
    analyses = prepared.policy.analyses
    wanted = list(dict.fromkeys(c for a in analyses for c in analysed_columns(a)))
    for name in wanted:
        prepared.schema.require(name, what="column of an analysis")
    if prepared.base.n_records > MOST_ANALYSED or not analyses:
        return tuple(Analysis(analysis_title(a), "not computed: too many records", "", "", a) for a in analyses)
    there = [c for c in wanted if c in logical(header(data), prepared.schema.names)]
    before, after = texts_of(prepared.table.scan(wanted), wanted), texts_of(batches(data, there), there)
    return tuple(_compare(a, before, after, complete) for a in analyses)


def _compare(asked: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any], complete: bool) -> Analysis:
    title = analysis_title(asked)
    if any(c not in after for c in analysed_columns(asked)):
        return Analysis(title, "", "", "a column is not published", asked)
    try:
        compare = compared(asked, before, after)
    except DataError:
        return Analysis(title, "", "", "cannot be computed from the published values", asked)
    if not complete:
        return Analysis(title, "not shown: records were left out", "", f"{_range(compare.change)} ({compare.measure})", asked)
    shown = "" if compare.before is None else written(compare.before, 3)
    return Analysis(title, shown, "", f"{written(compare.change, 2)} ({compare.measure})", asked)


def _range(change: float) -> str:
    """A change told so coarsely that no value of a single record follows.

    >>> _range(0.0), _range(0.02), _range(-133.0)
    ('below 0.01', '0.01 to 0.1', 'above 0.1')
    """
    size = abs(change)
    return "below 0.01" if size < 0.01 else "0.01 to 0.1" if size < 0.1 else "above 0.1"
