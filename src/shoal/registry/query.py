"""Questions to a registry: the exact record, else a near one with the direction of its error, else the margins combined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.registry import analyse
from shoal.registry.population import Population
from shoal.registry.record import Record
from shoal.registry.trust import Dispute, Statement, dispute, outlier, trusted_keys
from shoal.registry.vocabulary import canonical, compare

Fit = Literal["exact", "finer coding", "coarser coding", "parent population", "margins only", "nothing"]


class Shelf(Protocol):
    """What a query reads from: a store or a mirror."""

    def topic(self, codes: Sequence[str], population: str) -> list[Record]: ...
    def population(self, population: str) -> list[Record]: ...
    def kappas(self, codes: Sequence[str], *, limit: int = 500) -> Mapping[str, float]: ...
    def statements(self) -> list[Statement]: ...
    def head(self) -> tuple[int, str]: ...


@dataclass(frozen=True)
class Answer:
    """What a registry knows about one quasi-identifier in one population."""

    codes: tuple[str, ...]
    population: Population
    fit: Fit
    records: tuple[Record, ...]
    dispute: Dispute | None = None
    notes: tuple[str, ...] = ()
    trust: dict[str, int] = field(default_factory=dict)

    @property
    def best(self) -> Record:
        """The record to plan by: the cautious one in a dispute, else the newest."""
        if not self.records:
            raise UsageError(
                "the registry knows nothing about this question.", hint="Ask a coarser coding or a wider population."
            )
        if self.dispute is not None:
            return self.dispute.cautious
        return max(self.records, key=lambda r: (r.date, r.version, r.id))

    def unique_share(self, group_size: int) -> Estimate:
        """Expected share of unique people, with its direction of error where the record is not the one asked for."""
        if self.fit == "margins only":
            return analyse.combine([r.summary for r in self.records], group_size)
        base = analyse.unique_share(self.best.summary, group_size)
        if self.dispute is not None:
            all_of = [analyse.unique_share(r.summary, group_size) for r in self.dispute.records]
            low, high = min(e.low for e in all_of), max(e.high for e in all_of)
            return _again(base, max(e.value for e in all_of), low, high, base.grade, "holders disagree: the cautious value")
        if self.fit == "finer coding":
            return _again(base, base.value, 0.0, base.high, "C", "the record is finer than asked: an upper bound")
        if self.fit == "coarser coding":
            return _again(base, base.value, base.low, 1.0, "C", "the record is coarser than asked: a lower bound")
        if self.fit == "parent population":
            return _again(base, base.value, 0.0, 1.0, "C", "the record is of a wider population, which may differ")
        return base


def _again(base: Estimate, value: float, low: float, high: float, grade: Any, note: str) -> Estimate:
    return Estimate(
        value, min(low, value), max(high, value), level=1.0, method=base.method, grade=grade, notes=(*base.notes, note)
    )


class Registry:
    """A registry to ask: a mirrored folder, a database URL, or a store.

    ``anchors`` are public keys that the asker trusts; holders are then shown with their distance from them.
    """

    def __init__(self, source: str | Path | Shelf, *, anchors: Iterable[str] = ()) -> None:
        self.shelf: Shelf = _open(source)
        self.anchors = tuple(anchors)
        self._kappas: dict[tuple[str, ...], tuple[str, Mapping[str, float]]] = {}

    def query(self, codes: Iterable[str], population: str | Population) -> Answer:
        """The best that is known: exact, else another coding, else a parent population, else margins."""
        wanted = canonical(codes)
        people = population if isinstance(population, Population) else Population.parse(population)
        for place in [people, *people.parents()]:
            found = self._in_population(wanted, place)
            if found is None:
                continue
            fit, records, notes = found
            if place != people:
                fit = "parent population" if fit == "exact" else fit
                notes = (*notes, f"Nothing is known about {people}; this is about {place}.")
            return self._answer(wanted, people, fit, records, notes)
        return Answer(wanted, people, "nothing", ())

    def _in_population(
        self, wanted: tuple[str, ...], people: Population
    ) -> tuple[Fit, tuple[Record, ...], tuple[str, ...]] | None:
        exact = self.shelf.topic(wanted, str(people))
        if exact:
            return "exact", tuple(exact), ()
        everything = self.shelf.population(str(people))
        finer = [r for r in everything if compare(r.codes, wanted) == "finer"]
        if finer:
            best = min(finer, key=lambda r: (len(r.codes), r.summary.cells, r.id))
            return (
                "finer coding",
                tuple(r for r in finer if r.codes == best.codes),
                (f"Known only in the finer coding {', '.join(best.codes)}.",),
            )
        margins = self._margins(wanted, everything)
        if margins and len(wanted) > 1:
            return "margins only", margins, ("The attributes are known one by one, not together.",)
        coarser = [r for r in everything if compare(r.codes, wanted) == "coarser"]
        if coarser:
            best = max(coarser, key=lambda r: (len(r.codes), r.summary.cells, r.id))
            return (
                "coarser coding",
                tuple(r for r in coarser if r.codes == best.codes),
                (f"Known only as {', '.join(best.codes)}.",),
            )
        return None

    def _comparable(self, codes: tuple[str, ...]) -> Mapping[str, float]:
        """κ of records of the same quasi-identifier, looked up once per state of the log."""
        _, head = self.shelf.head()
        known = self._kappas.get(codes)
        if known is None or known[0] != head:
            if len(self._kappas) > 1000:
                self._kappas.clear()
            known = self._kappas[codes] = (head, self.shelf.kappas(codes))
        return known[1]

    @staticmethod
    def _margins(wanted: tuple[str, ...], everything: list[Record]) -> tuple[Record, ...]:
        """One record for each attribute asked for, if every attribute has one."""
        out = []
        for code in wanted:
            of_code = [r for r in everything if r.codes == (code,)]
            if not of_code:
                return ()
            out.append(max(of_code, key=lambda r: (r.date, r.version, r.id)))
        return tuple(out)

    def _answer(
        self, codes: tuple[str, ...], people: Population, fit: Fit, records: tuple[Record, ...], notes: tuple[str, ...]
    ) -> Answer:
        quarrel = dispute(records) if fit != "margins only" and len({r.topic for r in records}) == 1 else None
        more = list(notes)
        if quarrel is not None:
            more.append(f"{len(quarrel.records)} holders publish different numbers; plan by the cautious one.")
        kappas = self._comparable(records[0].codes) if len(records) <= 5 and fit != "margins only" else {}
        for record in records[:5]:
            strange = outlier(record, kappas)
            if strange:
                more.append(f"The record of {record.holder} stands out. {strange}")
        trust = trusted_keys(self.anchors, self.shelf.statements()) if self.anchors else {}
        if self.anchors and any(r.key not in trust for r in records):
            more.append("A holder is not endorsed by anybody you trust.")
        return Answer(codes, people, fit, records, quarrel, tuple(more), trust)


def _open(source: str | Path | Shelf) -> Shelf:
    if not isinstance(source, str | Path):
        return source
    text = str(source)
    if "://" in text:
        from shoal.registry.store import Store

        return Store(text)
    if Path(text).suffix in {".db", ".sqlite"}:
        from shoal.registry.store import Store

        return Store(f"sqlite:///{text}")
    from shoal.registry.static import Mirror

    return Mirror(text)
