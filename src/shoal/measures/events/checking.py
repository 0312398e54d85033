"""Requirements held against a measured event table: ``known[2]>=5``, ``unicity[4]<=0.05``, ``absent[2]>=5``.

Never in favour of the table: of a share that was drawn at random the upper end counts, and a number that was not counted meets
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from shoal.errors import UsageError
from shoal.measures.events.knowledge import Asked, of_events
from shoal.measures.events.result import EventsMeasured
from shoal.measures.result.checking import Verdicts
from shoal.model.requirement import KnownRecords, Requirement, Unicity, pieces


def event_requirements(text: str) -> tuple[Asked, ...]:
    """The requirements of a list in text; one that is not about event tables is refused.

    >>> event_requirements("known[2]>=5, unicity[4]<=5%")
    (KnownRecords(records=2, k=5), Unicity(records=4, share=0.05))
    """
    return tuple(of_events(Requirement.parse(piece)) for piece in pieces(text))


def check_events(measured: EventsMeasured, asked: Iterable[Asked]) -> Verdicts:
    """Each requirement against the headline granularity; the curve must reach from 1 to the most records asked about, and what
    it does not tell must have been counted."""
    return Verdicts(tuple(r.judged(_find_figure(measured, r)) for r in asked))


def _find_figure(measured: EventsMeasured, asked: Asked) -> float | None:
    longest = measured.curve[-1].records
    if type(asked) is KnownRecords:
        sets = [s for s in measured.shared if s.m <= asked.records]
        last = sets[-1]
        return last.k if last.exact or last.k < asked.k else None
    if not isinstance(asked, Unicity):
        if str(asked) not in measured.further:
            raise UsageError(f"'{asked}' was not measured.", hint="Measure with require=… (--require).")
        return measured.further[str(asked)]
    known = next(k for k in measured.curve if k.records == min(asked.records, longest))
    return known.everybody.high
