"""Attack a release before it exists for others: what the plan's choice, the classes and earlier releases give away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import HierarchyGapError, PolicyError, VerificationError
from shoal.model.attack import AttackResult, worst_first
from shoal.model.counts import CodeArray
from shoal.model.plan import Drop, Plan
from shoal.release import certificate as cert
from shoal.release.classes import Decision
from shoal.release.harden import structure, tells
from shoal.release.prepare import Prepared
from shoal.release.reuse import read_plan
from shoal.release.verify import verify

if TYPE_CHECKING:
    from shoal.attack.structure import Recoded

STOPPING = ("intersection", "linkage", "differencing", "leftovers")
"""Attacks that stop a release when they do better than claimed; k, l and t are proven by counting the written file."""

MOST_ROWS = 200_000
"""Published records up to which row order and joins are examined on the table itself."""


def run_attacks(prepared: Prepared, decision: Decision, data: Path, earlier: tuple[Path, ...]) -> list[AttackResult]:
    """The attacks that need the release, its making and earlier releases, worst first; a broken claim stops the release."""
    from shoal.attack import Scene, run_all
    from shoal.attack.intersection import joined_records

    if earlier and decision.method == "local":
        raise PolicyError(
            "a local recoding cannot be compared with an earlier release.", hint="Use method: lattice with --previous, or --plan."
        )
    made = structure(prepared, decision) if decision.codes else None
    table = published_table(data, int(decision.released.n_records))
    scene = Scene(
        released=decision.released,
        k=prepared.policy.smallest_class,
        distinct={c: d.distinct for c, d in prepared.policy.diversity.items() if d.distinct},
        t={c: x.t for c, x in prepared.policy.closeness.items() if x.distance == "equal"},
        minimal=decision.proven,
        recoded=made if decision.finer else None,
        table=table,
        files=(data,) if data.is_file() else (),
        earlier=[earlier_structure(prepared, place) for place in earlier] if made else (),
        seed=prepared.policy.seed,
    )
    results = run_all(scene)
    for place in earlier:
        before = cert.read(place / cert.NAME)
        old = published_table(place / before["data"]["file"], before["after"]["records"])
        if table is not None and old is not None:
            results.append(joined_records(table, old, _unchanged(prepared, before)))
    broken = [r for r in results if r.verdict == "broken" and r.name.split(":")[0] in STOPPING]
    if broken:
        raise VerificationError(
            f"an attack does better than the release would claim ({broken[0].name}): {broken[0].sentence} Nothing was released.",
            hint="Publish the same plan as before (--plan), coarser levels, or only people who are new.",
            attacks=tuple(broken),
        )
    told = tells(results) if prepared.policy.hardened else None
    if told is not None:
        raise VerificationError(
            f"the policy asks for a hardened release, but {told.name} succeeds at {told.rate:.3g}. Nothing was released.",
            hint="Let a plan be searched (method: lattice, without --plan), or leave 'hardened' out.",
            attacks=(told,),
        )
    return worst_first(results)


def published_table(data: Path, records: int) -> Any:
    """A published file as a pyarrow table, or None where it is large."""
    import pyarrow as pa

    from shoal.release.recount_read import batches, header

    if records > MOST_ROWS:
        return None
    names = header(data)
    return pa.Table.from_batches(list(batches(data, names)))


def _unchanged(prepared: Prepared, before: dict[str, Any]) -> list[str]:
    """Columns that both releases publish as they were."""
    old = {c["name"] for c in before["columns"] if c["treatment"] == "retained" and c["role"] in ("sensitive", "insensitive")}
    return [c for c in (*prepared.policy.sensitive, *prepared.policy.insensitive) if c in old]


def earlier_structure(prepared: Prepared, place: Path) -> Recoded:
    """How an earlier release would publish the people of this table: its plan on these base classes.

    Everybody is taken as published there: who was suppressed in the earlier table cannot be told from this one, and taking a
    class as suppressed that was not would hide a leak.
    """
    from shoal.attack.structure import Recoded

    before = verify(place).require().certificate
    if before["utility"]["method"] == "local":
        raise PolicyError(
            "the earlier release was recoded locally, so the two cannot be compared.",
            hint="Leave --previous out only if the two releases share no person; otherwise do not release.",
        )
    plan, base = read_plan(place / cert.PLAN), prepared.base
    codes = tuple(_earlier_codes(prepared, plan, j) for j in range(len(base.columns)))
    return Recoded(base, codes)


def _earlier_codes(prepared: Prepared, plan: Plan, j: int) -> CodeArray:
    """Codes of one column under an earlier plan; a column it did not publish tells nothing."""
    from shoal.hierarchies.evaluate import evaluate
    from shoal.kernels.text import canonical_text

    base, name = prepared.base, prepared.base.columns[j]
    steps = plan.for_column(name)
    if not steps or isinstance(steps[0], Drop):
        return np.zeros(base.n_classes, dtype=np.int32)
    texts = canonical_text(base.categories[j]).to_pylist()
    try:
        found = evaluate(steps[0], texts)
    except HierarchyGapError:
        raise PolicyError(
            f"the earlier plan does not cover all values of '{name}', so the two releases cannot be compared.",
            hint="Name an earlier release of the same table after --previous.",
        ) from None
    label = getattr(steps[0], "missing_label", None)
    missing = found.labels.index(label) if label in found.labels else -1
    return np.append(found.index, missing).astype(np.int32)[base.codes[j]]
