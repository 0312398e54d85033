"""Requirements held against a measured event table: ``known[2]>=5``, ``unicity[4]<=0.05``.

Never in favour of the table: of a share that was drawn at random the upper end counts, and a smallest set that was not counted
meets nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from shoal.errors import UsageError
from shoal.measures.events.result import EventsMeasured
from shoal.measures.result.checking import Verdicts
from shoal.model.requirement import KnownRecords, Requirement, Unicity, pieces


def event_requirements(text: str) -> tuple[KnownRecords | Unicity, ...]:
    """The requirements of a list in text; one that is not about event tables is refused.

    >>> event_requirements("known[2]>=5, unicity[4]<=5%")
    (KnownRecords(records=2, k=5), Unicity(records=4, share=0.05))
    """
    return tuple(of_events(Requirement.parse(piece)) for piece in pieces(text))


def of_events(asked: Requirement) -> KnownRecords | Unicity:
    """The requirement itself, where it is about event tables."""
    if not isinstance(asked, KnownRecords | Unicity):
        raise UsageError(
            f"'{asked.name}' says nothing of an event table.", hint="Ask for known[2]>=5 or unicity[4]<=0.05 (docs/events.md)."
        )
    return asked


def most_known(asked: Iterable[KnownRecords | Unicity]) -> int:
    """The most known records that are asked about; 0 without any."""
    return max((r.records for r in asked), default=0)


def check_events(measured: EventsMeasured, asked: Iterable[KnownRecords | Unicity]) -> Verdicts:
    """Each requirement against the headline granularity; the curve must reach from 1 to the most records asked about."""
    return Verdicts(tuple(r.judged(_found(measured, r)) for r in asked))


def _found(measured: EventsMeasured, asked: KnownRecords | Unicity) -> float | None:
    longest = measured.curve[-1].records
    if isinstance(asked, KnownRecords):
        sets = [s for s in measured.shared if s.m <= asked.records]
        last = sets[-1]
        return last.k if last.exact or last.k < asked.k else None
    known = next(k for k in measured.curve if k.records == min(asked.records, longest))
    return known.everybody.high
