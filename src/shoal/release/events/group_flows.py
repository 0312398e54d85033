"""The flows of all groups of people, protected once over the whole.

Takes    each group with its plan, one after the other
Returns  how many trips of each flow are published, and the file of them
Keeps    what :mod:`.uses` keeps of a table whose records are searched together: people are counted over all groups, and so
         are the pseudonyms that end and begin at a point. Trips by flow and person wait on disk until all groups are there
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.measures.events.traces import NONE
from shoal.model.certificate.events import EventUse
from shoal.model.counts.classes import IntArray
from shoal.release.events.publish import place_labels, time_labels
from shoal.release.events.records import EventTable, several_places
from shoal.release.events.uses import Entries, Links, Read, entries_of, flow_uses, linking, protected, trips_level, wants_flows
from shoal.release.policy.events import EventRules
from shoal.search.events.event_search import Solution


class GroupFlows:
    """Flows of groups of people, kept in a private folder until they are protected."""

    def __init__(self, folder: Path, rules: EventRules, k: int) -> None:
        self._folder, self._rules, self._k = folder, rules, k
        self._labels: list[list[Any]] = []
        self.before = self.trips = self._flows = np.empty(0, dtype=np.int64)
        self._of_group: list[IntArray] = []

    def add(self, events: EventTable, solution: Solution, read: Read | None, people: int) -> None:
        """A group with its plan; so many ``people`` are in the groups before it."""
        if not wants_flows(events.rules, solution.shape):
            return
        read = read or Read.of(events, solution)
        entries, which, first, last = entries_of(events, solution, read, seen_only=True)
        links = linking(events, solution, read)
        there = np.empty(len(links.total[0]), dtype=np.int64)
        there[links.point] = np.arange(len(links.point))
        time = None if events.time is None or solution.shape.time == NONE else events.time
        kept = {
            "flow": entries.flow, "who": people + entries.who, "before": entries.before, "shown": entries.shown,
            "barred": entries.barred, "trip": which[links.trips], "total": links.total, "most": links.most, "ends": links.ends,
            "from": [p.codes[first] for p in events.places], "to": [p.codes[last] for p in events.places],
            "at": [p.codes[there] for p in events.places],
            "time": np.zeros(len(there)) if time is None else time.codes[there],
        }  # fmt: skip
        np.savez(self._file(len(self._labels)), **{n: np.asarray(v, dtype=np.int32) for n, v in kept.items()})  # type: ignore[arg-type]
        level = trips_level(solution.shape.place)
        times = [] if time is None else [time_labels(time, solution.shape.time)]
        self._labels.append([*(place_labels(p, level, events.trees) for p in events.places), *times])
        self._two = several_places(events.places)

    def _file(self, group: int) -> Path:
        return self._folder / f"flows-{group}.npz"

    def _groups(self) -> Iterator[tuple[int, Any]]:
        for g in range(len(self._labels)):
            with np.load(self._file(g)) as kept:
                yield g, kept

    def protect(self) -> None:
        """What is published of each flow, once all groups are there."""
        if not self._labels:
            return
        self._number()
        before = np.zeros(len(self._flows), dtype=np.int64)
        for g, kept in self._groups():
            np.add.at(before, self._of_group[g][kept["flow"]], kept["before"])
        number = np.where(before > 0, np.cumsum(before > 0) - 1, -1)
        barred = self._barred()
        parts: dict[str, list[IntArray]] = {name: [] for name in ("flow", "who", "before", "shown", "barred")}
        for g, kept in self._groups():
            flow = number[self._of_group[g]][kept["flow"]]
            there = flow >= 0
            for name, column in (("flow", flow.astype(np.int32)), ("barred", barred.pop(0))):
                parts[name].append(column[there])
            for name in ("who", "before", "shown"):
                parts[name].append(kept[name][there])
        order = np.argsort(np.concatenate(parts["flow"]), kind="stable").astype(np.int32)
        columns = {name: np.concatenate(parts.pop(name))[order] for name in list(parts)}
        del order
        self._flows = self._flows[before > 0]
        origin, destination = np.divmod(self._flows, self._width)
        lines = [origin, destination, np.zeros(len(origin), dtype=np.int64)]
        self.before, self.trips, _, _ = protected(Entries(**columns, lines=lines), self._k)
        for g in range(len(self._labels)):
            self._file(g).unlink()

    def _number(self) -> None:
        """The number of each flow of each group among all flows, and of each of its points among all points."""
        self._distinct, here = [], []
        for column in zip(*self._labels, strict=True):
            every = pa.chunked_array(column).unique()
            every = every.take(pc.sort_indices(every))
            self._distinct.append(every)
            here.append([pc.index_in(c, every).to_numpy(zero_copy_only=False).astype(np.int64) for c in column])
        n_places = len(self._rules.place)

        def combined(codes: Any, g: int) -> IntArray:
            out = np.zeros(len(codes[0]), dtype=np.int64)
            for i, code in enumerate(codes):
                out = out * len(self._distinct[i]) + here[i][g][code]
            return out

        ends, points = [], []
        for g, kept in self._groups():
            if self._two:
                ends.append((here[0][g][kept["from"][0]], here[1][g][kept["to"][1]]))
            else:
                ends.append((combined(kept["from"], g), combined(kept["to"], g)))
            points.append((combined(kept["at"], g), here[n_places][g][kept["time"]] if len(here) > n_places else kept["time"]))
        self._places = np.unique(np.concatenate([x for both in ends for x in both]))
        self._width = len(self._places)
        keys = [np.searchsorted(self._places, a) * self._width + np.searchsorted(self._places, b) for a, b in ends]
        self._flows = np.unique(np.concatenate(keys))
        self._of_group = [np.searchsorted(self._flows, k) for k in keys]
        width = 1 + max((int(t.max(initial=0)) for _, t in points), default=0)
        keys = [place * width + time for place, time in points]
        self._points = np.unique(np.concatenate(keys))
        self._points_of = [np.searchsorted(self._points, k) for k in keys]

    def _barred(self) -> list[IntArray]:
        """The trips of each entry of each group that must not be counted: people who are left out, and links."""
        total, most = (np.zeros((2, len(self._points)), dtype=np.int64) for _ in range(2))
        for g, kept in self._groups():
            for side in (0, 1):
                np.add.at(total[side], self._points_of[g], kept["total"][side])
                np.maximum.at(most[side], self._points_of[g], kept["most"][side])
        out = []
        for g, kept in self._groups():
            trip, at = kept["trip"], self._points_of[g]
            links = Links(trip, [at[e] for e in kept["ends"]], trip, list(total), list(most))
            read_keys = trip[links.revealing(links.total, links.most, self._k)]
            out.append(kept["barred"] + np.bincount(read_keys, minlength=len(kept["barred"])).astype(np.int32))
        return out

    @property
    def published(self) -> bool:
        """Whether there is a file of flows."""
        return bool(self._labels) and (bool(self.trips.any()) or self._rules.flows is True)

    @property
    def lost(self) -> float:
        """The share of the trips that is not published."""
        total = int(self.before.sum())
        return 1 - int(np.minimum(self.trips, self.before).sum()) / total if total else 0.0

    def table(self) -> Any:
        """The published flows (pyarrow); None if there is no file of them."""
        if not self.published:
            return None
        index = np.flatnonzero(self.trips)
        ends = [self._places[x] for x in np.divmod(self._flows[index], self._width)]
        names, columns = self._rules.place, dict[str, Any]()
        if self._two:
            columns = {n: self._distinct[i].take(pa.array(ends[i])) for i, n in enumerate(names)}
        else:
            for end, code in zip(("from", "to"), ends, strict=True):
                for i in reversed(range(len(names))):
                    code, own = np.divmod(code, len(self._distinct[i]))
                    columns[f"{names[i]}_{end}"] = self._distinct[i].take(pa.array(own))
            columns = {f"{n}_{end}": columns[f"{n}_{end}"] for end in ("from", "to") for n in names}
        named = pa.table({**columns, "trips": self.trips[index]})
        return named.sort_by([(n, "ascending") for n in named.column_names])

    def uses(self) -> list[EventUse]:
        """The flows before and after."""
        return flow_uses(self.before, self.trips) if self.published else []
