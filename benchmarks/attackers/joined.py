"""Somebody who joins the published flows with the published records: does that name anybody, or a trip of a few people?

    SHOAL_DATA=FOLDER python benchmarks/attackers/joined.py [commuters jr-stations FILE.csv …]

Each table is released with ``known[2]>=5``; times of a day, pseudonyms renewed as needed, flows beside the records. The script
knows who is behind a published record by a number that is published for it; it imports nothing of Shoal but the release. Three
attackers:

``hidden``    knows the flows, the records and every true sum of a row and a column (from turnstiles): the fewest people of whom
              trips are told that the records do not show;
``joined``    joins a pseudonym that ends at A with one that begins at B, because the flow from A to B says how many trips do so:
              the links that fit all flows (iterative proportional fitting), and how often the surest ones are right; ``apart``
              the same without flows, from the times alone;
``two known`` knows two true records of a person that stand under two pseudonyms, and names the pair of pseudonyms that the
              surest links join, if only one has both.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections import Counter, defaultdict
from itertools import combinations, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "event_uses")]

K, DEVIATIONS, TURNS = 5, 3, 60
Flows = dict[tuple[str, str], int]
Trace = list[tuple[str, str, str]]
"""Published time, place, and the person behind, of each record of a pseudonym, in the order of the published times."""


def traces_of(published: list[dict[str, str]], owner: list[str]) -> list[Trace]:
    out: dict[str, Trace] = defaultdict(list)
    for r in published:
        out[r["card"]].append((r.get("at", ""), r["from"], owner[int(r["row"])]))
    return [sorted(t) for t in out.values()]


def seen_in(traces: list[Trace]) -> Counter[tuple[str, str]]:
    """Trips that anybody reads: consecutive records of a pseudonym at two places; those at one time have no order."""
    out: Counter[tuple[str, str]] = Counter()
    for t in traces:
        times = Counter(at for at, _, _ in t)
        out.update(
            (a[1], b[1]) for a, b in pairwise(t) if a[1] != b[1] and "*" not in (a[1], b[1]) and times[a[0]] == times[b[0]] == 1
        )
    return out


def hidden(true: dict[tuple[str, str], Counter[str]], told: Flows, seen: Counter[tuple[str, str]]) -> int:
    """The fewest people of whom trips are told besides those that the records show; K if nothing is told of fewer."""
    fewest = K
    for ends, n in told.items():
        extra = n - seen[ends]
        if extra:
            fewest = min(fewest, extra, len(true.get(ends, ())))
    for side in (0, 1, None):
        lines: dict[Any, list[tuple[str, str]]] = defaultdict(list)
        for ends in true:
            if told.get(ends, 0) != true[ends].total():
                lines["all" if side is None else ends[side]].append(ends)
        for line, flows in lines.items():
            if any(n > seen[e] for e, n in told.items() if side is None or e[side] == line):  # else the records tell as much
                fewest = min(fewest, len(set().union(*(true[e] for e in flows))), K if len(flows) > 1 else 1)
    return fewest


def links(traces: list[Trace], added: Flows | None) -> list[tuple[float, int, int]]:
    """How sure it is that pseudonym q goes on where p ends, for all that can; ``added`` are the trips that no pseudonym shows."""
    ends, begins = defaultdict(list), defaultdict(list)
    for i, t in enumerate(traces):
        ends[t[-1][1]].append(i)
        begins[t[0][1]].append(i)
    pairs, flow = [], []
    for a, b in sorted({(a, b) for a in ends for b in begins if a != b} if added is None else added):
        for p in ends[a]:
            for q in begins[b]:
                if p != q and traces[p][-1][0] <= traces[q][0][0]:
                    pairs.append((p, q))
                    flow.append((a, b))
    if not pairs:
        return []
    p, q = np.array(pairs).T
    names = {f: i for i, f in enumerate(dict.fromkeys(flow))}
    of = np.array([names[f] for f in flow])
    wanted = None if added is None else np.array([added[f] for f in names], dtype=float)
    x = np.full(len(pairs), 0.1)
    for _ in range(TURNS):
        if wanted is not None:
            x *= (wanted / np.maximum(np.bincount(of, weights=x), 1e-12))[of]
        for side in (p, q):
            x /= np.maximum(np.bincount(side, weights=x), 1.0 if wanted is not None else 1e-12)[side]
    return sorted(zip(x.tolist(), p.tolist(), q.tolist(), strict=True), reverse=True)


def right(traces: list[Trace], found: list[tuple[float, int, int]]) -> tuple[int, int]:
    """Of the links that are surer than 1 in K, one for each end and beginning: how many are of one person, and all."""
    used: set[tuple[str, int]] = set()
    hits = tried = 0
    for sure, p, q in found:
        if sure > 1 / K and ("end", p) not in used and ("begin", q) not in used:
            used |= {("end", p), ("begin", q)}
            tried += 1
            hits += traces[p][0][2] == traces[q][0][2]
    return hits, tried


def two_known(traces: list[Trace], found: list[tuple[float, int, int]]) -> tuple[int, int]:
    """Two records, one of each of two joined pseudonyms: the person of the only pair of surest links that has both."""
    best: dict[int, tuple[float, int]] = {}
    for sure, p, q in found:
        if sure > 1 / K and p not in best:
            best[p] = (sure, q)
    pairs: dict[Any, set[tuple[int, int]]] = defaultdict(set)
    for p, (_, q) in best.items():
        for a in traces[p]:
            for b in traces[q]:
                pairs[a[:2], b[:2]].add((p, q))
    people: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for t in traces:
        people[t[0][2]] |= {r[:2] for r in t}
    hits = tried = 0
    for person, points in people.items():
        for a, b in combinations(sorted(points), 2):
            fit = pairs.get((a, b), set())
            if len(fit) == 1:
                ((p, q),) = fit
                tried += 1
                hits += traces[p][0][2] == person == traces[q][0][2]
    return hits, tried


def won(hits: int, tried: int) -> bool:
    """More often right than 1 in K, beyond chance."""
    return hits > tried / K + DEVIATIONS * (tried * (1 / K) * (1 - 1 / K)) ** 0.5


def attacked(
    published: list[dict[str, str]], told: Flows, owner: list[str], true: dict[tuple[str, str], Counter[str]]
) -> dict[str, Any]:
    """What each attacker finds."""
    traces = traces_of(published, owner)
    seen = seen_in(traces)
    added = {e: n - seen[e] for e, n in told.items() if n > seen[e]}
    by_flows, by_times = links(traces, added), links(traces, None)
    out: dict[str, Any] = {"flows": len(told), "added": sum(added.values()), "hidden": hidden(true, told, seen)}
    for name, found in (
        ("joined", right(traces, by_flows)),
        ("apart", right(traces, by_times)),
        ("two_known", two_known(traces, by_flows)),
    ):
        out[name] = {"right": found[0], "tried": found[1], "won": won(*found)}
    return out


def true_flows(source: list[Any]) -> dict[tuple[str, str], Counter[str]]:
    """The people of each trip of the table, with their numbers."""
    own: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for who, at, where in source:
        own[who].append((at, where[0]))
    out: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for who, records in own.items():
        times = Counter(at for at, _ in records)
        for a, b in pairwise(sorted(records)):
            if a[1] != b[1] and times[a[0]] == times[b[0]] == 1:
                out[a[1], b[1]][who] += 1
    return out


def released(source: list[Any], widths: list[str], renew: list[str]) -> tuple[list[dict[str, str]], Flows, dict[str, str]]:
    import shoal

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "source.csv"
        with file.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([("card", "at", "from", "row"), *((w, a, *p, i) for i, (w, a, p) in enumerate(source))])
        policy = {
            "events": {"unit": "card", "time": "at", "place": "from", "time_widths": widths, "renew": renew, "flows": True},
            "roles": {"insensitive": ["row"]},
            "require": [f"known[2]>={K}"],
            "allow": {"identifying": {"row": "tells this script which record is which"}, "suppress": 0.6},
            "seed": 10**18 + 1,
        }
        made = shoal.anonymize(file, policy)
        place = made.write(Path(folder) / "out")
        with (place / "data.csv").open(newline="", encoding="utf-8") as found:
            published = list(csv.DictReader(found))
        with (place / "flows.csv").open(newline="", encoding="utf-8") as found:
            told = {(a, b): int(n) for a, b, n in list(csv.reader(found))[1:]}
        return published, told, {a.name: a.verdict for a in made.certificate.attacks}


def main(names: list[str]) -> None:
    from bench import JR, other, popularity, week, zipf
    from common import record

    import shoal

    tables = {
        "commuters": lambda: week(*zipf(12), 300, trips=False),
        "jr-stations": lambda: week(*popularity(*JR, 12), 300, trips=False),
    }
    for name in names or tables:
        source = list(tables[name]() if name in tables else islice(other(Path(name)), 3000))
        for widths, renew in ((["day"], ["as needed"]), (["6h", "none"], ["2 records or as needed"])):
            try:
                published, told, verdicts = released(source, widths, renew)
            except shoal.errors.InfeasibleError:
                continue
            found = attacked(published, told, [w for w, _, _ in source], true_flows(source))
            relinked = verdicts.get("relinking", "not run")
            beaten = found["hidden"] < K or (found["joined"]["won"] and relinked == "holds")
            answer = {
                "width": widths[0],
                "renew": renew[0],
                "released": len(published),
                **found,
                "shoal_relinking": relinked,
                "beaten": beaten,
            }
            record(HERE, data=f"joined: {Path(name).stem}", records=len(source), answer=answer)


if __name__ == "__main__":
    main(sys.argv[1:])
