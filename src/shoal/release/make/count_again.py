"""The written file is counted again by separate code and judged; any difference or shortfall and nothing is released."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shoal.engines.core.state import Held, changed
from shoal.errors import VerificationError
from shoal.model.compare import most_of
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import written
from shoal.model.requirement import Verdict
from shoal.release.certificate.signing import digest_of_data
from shoal.release.gate.count_facts import SPELLINGS, estimates
from shoal.release.make.recode import ByEngine, published_unit, recode, remove_passing
from shoal.release.plan.coarser_start import count_at
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision
from shoal.release.proof.facts import Facts, judge, recursive_levels
from shoal.release.proof.recount import recount
from shoal.release.proof.trees import Tree, tree_of

if TYPE_CHECKING:
    from shoal.engines.recode.write import Recoded


@dataclass(frozen=True)
class Counted:
    """Numbers of a file, and each requirement judged by them."""

    facts: Facts
    findings: tuple[Verdict, ...]
    sha256: str = ""  # of the bytes that were counted


def count_again(prepared: Prepared, decision: Decision, data: Path, done: Recoded, seen: ByEngine | None) -> Counted:
    """The records of the written file; all of them there, every requirement met, no more suppressed than is allowed."""
    unit = published_unit(prepared, decision.plan)
    if prepared.sampled is None and done.records_in != prepared.base.n_records:
        raise changed(prepared.base.n_records, done.records_in)
    facts = _count(prepared, decision, data, unit)
    if facts.facts.records != done.records_out:
        raise VerificationError(
            "the written file has another number of records than the engine said; nothing was released.",
            hint="A workbook cannot hold records of which every cell is missing: choose another format."
            if data.suffix == ".xlsx"
            else "",
        )
    if seen is not None:
        seen.require_same(facts.facts)
    check_suppressed(done.suppressed, done.records_in - done.unsampled, prepared.policy.suppress)
    return facts


def require_same(prepared: Prepared, held: Held) -> None:
    """Refuse a release of data that changed on the way; without a snapshot the classes are counted once more and compared."""
    prepared.table.require(held)
    if held.sure or prepared.sampled is not None:
        return
    policy, was = prepared.policy, prepared.base
    if prepared.coarser is None:
        now = prepared.table.count(prepared.quasi, sensitive=tuple(policy.sensitive), unit=policy.unit, weight=policy.weight)
    else:
        now = count_at(prepared.table, policy, prepared.hierarchies, prepared.coarser.values, prepared.coarser.levels)
    if now.n_records != was.n_records or not _same_classes(now, was):
        raise changed(was.n_records, now.n_records)


def _same_classes(now: ClassCounts, was: ClassCounts) -> bool:
    numbers: list[tuple[Any, Any]] = [(now.sizes, was.sizes), *zip(now.codes, was.codes, strict=True)]
    for name, inside in was.sensitive.items():
        again = now.sensitive[name]
        numbers += [(again.classes, inside.classes), (again.values, inside.values), (again.counts, inside.counts)]
    values = all(a.equals(b) for a, b in zip(now.categories, was.categories, strict=True))
    return values and all(np.array_equal(a, b) for a, b in numbers)


def count_people(prepared: Prepared, decision: Decision, stage: Path, counted: Counted) -> Counted | None:
    """With a person column: its people. Where it is not published, the plan is written with it in private, and removed."""
    policy = prepared.policy
    if policy.unit is None:
        return None
    if counted.facts.people is not None:
        check_linked(counted.facts.linked_k, policy.smallest_class)
        return counted
    hidden = stage / ".people"
    hidden.mkdir(mode=0o700)
    try:
        data = hidden / "data.parquet"
        remove_passing(recode(prepared, decision, data, keep_unit=True), data)
        return _count(prepared, decision, data, policy.unit)
    finally:
        shutil.rmtree(hidden)


def _count(prepared: Prepared, decision: Decision, data: Path, unit: str | None) -> Counted:
    requirements = prepared.policy.requirements
    before = digest_of_data(data)
    facts = recount(
        data,
        prepared.quasi,
        tuple(prepared.policy.sensitive),
        unit=unit,
        recursive=recursive_levels(requirements),
        trees=trees_of(prepared),
        orders=prepared.orders,
        labels={c: prepared.schema[c].labels for c in prepared.policy.sensitive},
    )
    findings = tuple(judge(requirements, facts, {**decision.given, **estimates(requirements, facts, prepared.drawn)}))
    if not all(f.met for f in findings) and facts.classes != decision.released.n_classes:
        raise changed()  # the plan does not fall short; it was made for other records
    _all_met(findings)
    return Counted(facts, findings, before)


def trees_of(prepared: Prepared) -> dict[str, Tree]:
    """Hierarchies of sensitive columns by which closeness is judged."""
    return {c: tree_of(h) for c, h in prepared.trees.items()}


def _all_met(findings: Sequence[Verdict]) -> None:
    unmet = [f for f in findings if not f.met]
    if unmet:
        raise VerificationError(
            f"the written file does not meet a requirement: {unmet[0].sentence}; found {unmet[0].found}. Nothing was released.",
            hint=_offer(unmet)
            + (SPELLINGS if unmet[0].requirement.section == "diversity" else "")
            + "Or allow more suppression, coarser levels, or drop a quasi-identifier.",
            findings=tuple(unmet),
            alternatives=tuple(Meets(v.requirement.name, _beyond(v)) for v in unmet if v.found is not None),
        )


@dataclass(frozen=True)
class Meets:
    """A requirement that was missed, and the limit that this plan meets."""

    requirement: str
    limit: float


def _offer(unmet: Sequence[Verdict]) -> str:
    """What the written file does meet, limit by limit."""
    met = [f"{v.requirement.name}: {written(_beyond(v), 4)}" for v in unmet if v.found is not None]
    return f"This plan meets {', '.join(met)}. " if met else ""


def _beyond(verdict: Verdict) -> float:
    """The number found, rounded to the side on which it is met."""
    value = float(verdict.found or 0)
    if value == round(value):
        return value
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 3) if value else 1.0
    return (math.floor(value / step) if verdict.requirement.sign == ">=" else math.ceil(value / step)) * step


def check_suppressed(suppressed: int, records: int, share: float) -> None:
    """Refuse more suppressed records than the policy's share of all records allows.

    >>> check_suppressed(3, 30, 0.1)
    >>> check_suppressed(4, 30, 0.1)
    Traceback (most recent call last):
    shoal.errors.VerificationError: 4 records would be suppressed, 3 are allowed; nothing was released....
    """
    limit = most_of(share, records)
    if suppressed > limit:
        what = f"{suppressed:,} records would be suppressed, {limit:,} are allowed; nothing was released."
        raise VerificationError(what, hint="Allow more suppression, or coarser levels.")


def check_linked(linked_k: int | None, k: int) -> None:
    """Where people stay linkable across their records, the whole set of their classes must be shared by k of them.

    >>> check_linked(5, 5)
    >>> check_linked(4, 5)
    Traceback (most recent call last):
    shoal.errors.VerificationError: people with several records stay linked: as few as 4 have ...
    """
    if linked_k is not None and linked_k < k:
        what = f"people with several records stay linked: as few as {linked_k} have the same number of records in the same "
        what += f"classes, {k} are asked."
        raise VerificationError(what, hint="Publish the unit as 'drop', or make the quasi-identifiers constant per person.")


T = TypeVar("T")


@contextmanager
def alongside(work: Callable[[], T], *, at_once: bool) -> Iterator[Callable[[], T]]:
    """Gives what returns the result of ``work``: begun in a thread ``at_once``, or only when it is asked for.

    An error of it is raised where the result is asked for. What was begun is always waited for at the end.

    >>> with alongside(lambda: 6 * 7, at_once=True) as answer:
    ...     answer()
    42
    """
    if not at_once:
        yield work
        return
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(work).result
