"""Many records at once: one for each place of a table, or for each set of columns and subpopulation of a study.

Each proposal is checked against those before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, RequirementError, UnreadableError, UsageError
from shoal.kernels.signatures import Signer
from shoal.registry.publish.proposals import Entry, Ledger, Proposal, propose, publish
from shoal.registry.records.counts import AGES, JointCounts, first_age, public_answers
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record
from shoal.registry.records.vocabulary import canonical, check_count

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
        hint = "Each row needs a whole number of at least 0."
        raise DataError(f"column '{column}' does not hold numbers of people.", hint=hint)
    return counts.astype(np.int64)


def joint_table(
    codes: Sequence[str], answers: Mapping[str, Sequence[str]], values: Sequence[Sequence[Any]], places: Any, sizes: IntArray
) -> JointCounts:
    """The people by every combination of public answers: ages by themselves, other codes with the answers that are listed.

    ``values`` are the values of each column, and ``places`` those of each cell among them.

    >>> joint_table(["sex"], {"sex": ["F", "M", "X"]}, [["M", "F"]], [np.array([0, 1])], np.array([5, 7])).people
    (7, 5, 0)
    """
    order = sorted(range(len(codes)), key=lambda i: codes[i])
    public = {codes[i]: public_answers(codes[i], answers.get(codes[i], ())) for i in order}
    at = []
    for i in order:
        listed, width = public[codes[i]], AGES.get(codes[i])
        firsts = [min(first_age(str(v)) // width, len(listed) - 1) if width else _place(listed, v) for v in values[i]]
        places_found = np.array([*firsts, -1])[places[i]]
        if (places_found < 0).any():
            hint = "List every answer: --answers 'sex=F,M,X'."
            raise UsageError(f"a value of '{codes[i]}' is not among its public answers.", hint=hint)
        at.append(places_found)
    grid = np.zeros([len(listed) for listed in public.values()], np.int64)
    np.add.at(grid, tuple(at), sizes)
    return JointCounts(public, tuple(grid.ravel().tolist()))


def _place(listed: Sequence[str], value: Any) -> int:
    return listed.index(str(value)) if str(value) in listed else -1


UNCODED, TWICE = "a column has no code", "the same attributes as another set"


def propose_study(
    study: Mapping[str, Any],
    codes: Mapping[str, str],
    around: Population,
    *,
    ledger: Ledger,
    published: Callable[[tuple[str, ...], Population], Record | None] = lambda codes, population: None,
    **options: Any,
) -> Bulk:
    """Proposals for every set of columns that has codes, largest populations first; what cannot be published is counted.

    ``codes`` are the codes of the columns; ``published`` finds this holder's newest record of a topic in the registry.
    """
    sets, by = _check_study(study)
    for column in study.get("columns", ()):
        if isinstance(column, Mapping) and column.get("name") in codes:
            check_count(codes[column["name"]], str(column["name"]), int(column.get("values", 0)))
    book, proposals, left_out = Ledger(ledger.entries), list[Proposal](), Counter[str]()
    seen: set[tuple[tuple[str, ...], bool]] = set()
    for one in sets:
        for columns, places in _parts(one, by):
            if not columns:
                continue
            if any(c not in codes for c in columns):
                left_out[UNCODED] += 1
                continue
            wanted = canonical(codes[c] for c in columns)
            if (wanted, places is None) in seen:
                left_out[TWICE] += 1
                continue
            seen.add((wanted, places is None))
            made = _propose(one, wanted, places, around, book, published, options)
            for proposal in made.proposals:
                if not proposal.unchanged:
                    book.add(Entry(proposal.record, proposal.people))
            proposals += made.proposals
            left_out.update(made.left_out)
    if not proposals:
        hint = "Give every column its code (--quasi age=age/years,…), and study larger populations."
        raise DataError("nothing of the study can be published: " + ", ".join(sorted(left_out)) + ".", hint=hint)
    return Bulk(tuple(proposals), dict(left_out))


def _propose(
    one: Mapping[str, Any],
    wanted: tuple[str, ...],
    places: Mapping[str, IntArray] | None,
    around: Population,
    book: Ledger,
    published: Callable[[tuple[str, ...], Population], Record | None],
    options: Mapping[str, Any],
) -> Bulk:
    """Of everybody (``places`` is None), or of each subpopulation."""
    everybody = _sizes(one)
    try:
        if places is not None:
            return propose_each(places, wanted, around, ledger=book, published=lambda p: published(wanted, p), **options)
        made = propose(everybody, wanted, around, ledger=book, published=published(wanted, around), **options)
        return Bulk((made,), {})
    except (DataError, RequirementError) as refused:
        reason = SMALL if isinstance(refused, DataError) else DIFFERENCED
        return Bulk((), {reason: 1 if places is None else len(places)})


def _check_study(study: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], str | None]:
    """The sets of a study, and the column of its subpopulations."""
    sets, by = study.get("sets"), study.get("by")
    if not isinstance(sets, list) or not all(isinstance(s, Mapping) and "histogram" in s for s in sets):
        raise UnreadableError("this is not the result of a study.", hint="Write it with: shoal study TABLE … --json > study.json")
    if not sets:
        raise UsageError("the study counted no set of columns.", hint="Name sets of columns: shoal study TABLE --sets FILE")
    return sets, by if isinstance(by, str) else None


def _parts(one: Mapping[str, Any], by: str | None) -> list[tuple[tuple[str, ...], dict[str, IntArray] | None]]:
    """The columns of a set for everybody, and without the column of the subpopulations for each of them."""
    columns = tuple(str(c) for c in one["columns"])
    parts: list[tuple[tuple[str, ...], dict[str, IntArray] | None]] = [(columns, None)]
    if by is not None:
        named = {str(g["name"]): _sizes(g) for g in one.get("groups", ()) if g.get("name") and g.get("name") != "(missing)"}
        parts.append((tuple(c for c in columns if c != by), named))
    return parts


def _sizes(counted: Mapping[str, Any]) -> IntArray:
    """Sizes of classes from how many there are of each; they must add up to the members."""
    try:
        classes_of = {int(size): int(classes) for size, classes in counted["histogram"].items()}
        total = int(counted["members"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UnreadableError("the result of the study cannot be read.", hint="Write it again: shoal study … --json") from None
    if any(n < 1 or c < 1 for n, c in classes_of.items()) or sum(n * c for n, c in classes_of.items()) != total:
        raise UnreadableError("the groups of the study do not add up.", hint="Write it again: shoal study … --json")
    sizes: IntArray = np.repeat(np.array(list(classes_of), np.int64), np.array(list(classes_of.values()), np.int64))
    return sizes
