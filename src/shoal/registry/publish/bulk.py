"""Many places at once: one record each, from one table and in one go, each seen by the refusals of the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, RequirementError, UsageError
from shoal.kernels.signatures import Signer
from shoal.registry.publish.proposals import Entry, Ledger, Proposal, propose, publish
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record

IntArray = npt.NDArray[np.int64]
SMALL, DIFFERENCED, UNNAMED = "too few people", "could be differenced", "no name of a place"


@dataclass(frozen=True)
class Bulk:
    """What would leave the building for every place, and how many places were left out for which reason."""

    proposals: tuple[Proposal, ...]
    left_out: Mapping[str, int]

    @property
    def new(self) -> tuple[Proposal, ...]:
        """The proposals that say something new."""
        return tuple(p for p in self.proposals if not p.unchanged)


def propose_each(
    places: Mapping[str, IntArray],
    codes: Iterable[str],
    around: Population,
    *,
    ledger: Ledger,
    published: Callable[[Population], Record | None] = lambda population: None,
    **options: Any,
) -> Bulk:
    """A proposal for each place within a population; places that cannot be published are counted, not named.

    Refusals look at the ledger and at the places before, so that the order decides who is left out: the largest come first.
    Nobody lives in two of the places: noise of ε costs each person ε once.
    """
    book, wanted = Ledger(ledger.entries), tuple(codes)
    proposals, left_out = [], Counter[str]()
    for name in sorted(places, key=lambda n: (-int(places[n].sum()), n)):
        try:
            people = Population(f"{around.place}/{name.replace('/', '-')}", around.period, around.filters)
        except UsageError:
            left_out[UNNAMED] += 1
            continue
        try:
            proposal = propose(places[name], wanted, people, ledger=book, published=published(people), **options)
        except (DataError, RequirementError) as refused:
            left_out[SMALL if isinstance(refused, DataError) else DIFFERENCED] += 1
            continue
        if not proposal.unchanged:
            book.add(Entry(proposal.record, proposal.people))
        proposals.append(proposal)
    if not proposals:
        raise DataError("no place has enough people to be published.", hint="Publish wider places, or all of them together.")
    return Bulk(tuple(proposals), dict(left_out))


def publish_each(bulk: Bulk, signer: Signer, ledger: Ledger) -> list[Record]:
    """Sign every proposal and remember it."""
    return [publish(proposal, signer, ledger) for proposal in bulk.proposals]


def by_place(sizes: IntArray, place: npt.NDArray[Any], names: Sequence[Any]) -> dict[str, IntArray]:
    """Cell sizes of each place: ``place`` is the position of each cell's place among the names, -1 where it is missing.

    >>> by_place(np.array([3, 4, 5]), np.array([1, 0, 1]), ["A", "B"])
    {'A': array([4]), 'B': array([3, 5])}
    """
    return {str(name): sizes[place == i] for i, name in enumerate(names) if (place == i).any()}


def whole_numbers(counts: npt.NDArray[np.float64], column: str) -> IntArray:
    """Counts of people as whole numbers; anything else is refused.

    >>> whole_numbers(np.array([3.0, 0.0]), "n")
    array([3, 0])
    """
    if not np.isfinite(counts).all() or (counts < 0).any() or (counts != np.floor(counts)).any() or counts.sum() > 2**52:
        raise DataError(
            f"column '{column}' does not hold numbers of people.", hint="Each row needs a whole number of at least 0."
        )
    return counts.astype(np.int64)
