"""Intersection: two releases about the same people, laid over each other.

Takes    the original base classes with the published codes of each release; or only the two published tables
Returns  the smallest group that is alike in both, or the share of records that can be joined across the files
Keeps    the joint group is never larger than the group in either release
Source   Ganta, Kasiviswanathan & Smith 2008 (composition)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.attacks.structure import Recoded, in_both, joint_sizes
from shoal.errors import UsageError
from shoal.kernels.numbers import one_in
from shoal.model.attack import AttackResult

QUESTION = "Somebody has this release and an earlier one: how small do the groups become together?"


def intersection(releases: Sequence[Recoded], *, k: int) -> AttackResult:
    """With the original at hand: exact sizes of the groups that are alike in this release (the first) and the earlier ones."""
    if len(releases) < 2:
        raise UsageError("an intersection needs at least two releases.")
    sizes = joint_sizes(releases)
    if len(sizes) == 0:
        return AttackResult("intersection", QUESTION, 0.0, 0.0, 0.0, 0.0, "", "holds", "No person is in both releases.")
    weights = releases[0].base.sizes[in_both(releases)]
    people, below = int(weights.sum()), int(weights[sizes < k].sum())
    smallest, rate = int(sizes.min()), below / int(weights.sum())
    return AttackResult(
        "intersection",
        QUESTION,
        rate,
        rate,
        rate,
        0.0,
        f"smallest joint group: {smallest}",
        "broken" if smallest < k else "holds",
        f"{below} of {people} people who may be in both are in joint groups smaller than {k}; the smallest has {smallest} "
        f"({one_in(1 / smallest)}).",
    )


def joined_records(released: Any, previous: Any, columns: Sequence[str]) -> AttackResult:
    """Without the original: records that can be joined because their values in shared columns are unique in both files.

    ``released`` and ``previous`` are pyarrow tables, ``columns`` the columns that both publish unchanged. A joined record has the
    quasi-identifiers of both releases, so neither file's k protects it any more.
    """
    question = "Can records of two releases be joined through the columns that both publish?"
    if not columns:
        sentence = "The releases share no column that could join them."
        return AttackResult("intersection: joined records", question, 0.0, 0.0, 0.0, None, "", "holds", sentence)
    ours, theirs = _unique(released, columns), _unique(previous, columns)
    joined = ours.join(theirs, keys=list(columns), join_type="inner").num_rows if ours.num_rows and theirs.num_rows else 0
    rate = joined / max(released.num_rows, 1)
    return AttackResult(
        "intersection: joined records",
        question,
        rate,
        rate,
        rate,
        None,
        f"through {len(columns)} shared columns",
        "warning" if joined else "holds",
        f"{joined} of {released.num_rows} records are one of a kind in both files on the shared columns and can be joined.",
    )


def _unique(table: Any, columns: Sequence[str]) -> Any:
    """Combinations that occur once; missing values are given a text of their own so that they compare equal."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from shoal.kernels.text import canonical_text

    texts = {c: pc.fill_null(canonical_text(table[c].combine_chunks()), "\x00missing") for c in columns}
    grouped = pa.table(texts).group_by(list(columns)).aggregate([([], "count_all")])
    return grouped.filter(pc.equal(grouped["count_all"], 1)).select(list(columns))
