"""Further knowledge: what if the attacker knows a published column that is not called a quasi-identifier?

Takes    for each such column, how many records the quasi-identifiers and that column single out: one of a kind where it is
         published as it is, nearest to the true value in their class where it is changed
Returns  the share for the worst column
Keeps    k holds for the quasi-identifiers only; this says how much rests on the choice of them
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from shoal.model.attack import AttackResult, Verdict

if TYPE_CHECKING:
    from shoal.engines.table import Table

QUESTION = "Somebody also knows one published column that is not called a quasi-identifier: is the record singled out?"
SHOWN = 3


def one_of_a_kind(table: Table, quasi: Sequence[str], further: Iterable[str]) -> dict[str, int]:
    """Records of a table that nobody else is like, by the quasi-identifiers and one further column, for each such column."""
    return {name: int((table.count([*quasi, name]).sizes == 1).sum()) for name in further}


def further_knowledge(alone: Mapping[str, int], records: int, k: int) -> AttackResult:
    """How many of ``records`` records each column in ``alone`` would single out.

    A warning where one column singles out more than the 1/k of the records that a release with smallest class k leaves to chance.

    >>> found = further_knowledge({"date_of_birth": 95, "visits": 2}, 100, 5)
    >>> found.rate, found.verdict
    (0.95, 'warning')
    >>> print(found.sentence.split(". ")[0])
    With 'date_of_birth' known as well, 95 of 100 records are singled out ('visits': fewer than 5)
    >>> further_knowledge({"visits": 2}, 100, 5).verdict
    'holds'
    """
    ranked = sorted(alone.items(), key=lambda item: (-item[1], item[0]))
    (worst, most), others = ranked[0], ranked[1:]
    rate = most / records
    verdict: Verdict = "warning" if rate > 1 / k else "holds"
    also = ", ".join(f"'{name}': {_told(n, k)}" for name, n in others[:SHOWN])
    more = f", and {len(others) - SHOWN} more columns" if len(others) > SHOWN else ""
    beside = f" ({also}{more})" if also else ""
    sentence = (
        f"With '{worst}' known as well, {_told(most, k)} of {records:,} records are singled out{beside}. "
        "The policy takes it that nobody knows this."
    )
    exposed = f"{sum(n > records / k for _, n in ranked)} of {len(ranked)} columns single out more than one record in {k}"
    return AttackResult("further knowledge", QUESTION, rate, rate, rate, None, exposed, verdict, sentence)


def _told(count: int, k: int) -> str:
    """A count as it may stand in a report: small ones are not told exactly."""
    return f"fewer than {k}" if 0 < count < k else f"{count:,}"
