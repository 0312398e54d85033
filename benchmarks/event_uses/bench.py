"""What event releases keep by default, and whether two known records name anybody better than claimed; counted independently.

    SHOAL_DATA=FOLDER python benchmarks/event_uses/bench.py [NAME or FILE.csv …]

A file has the columns card, at and station (or from and to). Every record has a number that is published, so that this script
knows who is behind each published record.
"""

from __future__ import annotations

import csv
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import record

K, LARGE = 5, 50
MONDAY = np.datetime64("2026-03-02T00:00")
Row = tuple[str, str, tuple[str, ...]]


def popularity(file: str, name: str, count: str, most: int) -> tuple[list[str], Any]:
    """The busiest stations of the last year of a table, and their shares."""
    with (Path(os.environ["SHOAL_DATA"]) / file).open(encoding="utf-8") as source:
        rows = list(csv.DictReader(source))
    last = max(r["year"] for r in rows)
    found = sorted(((float(r[count] or 0), r[name]) for r in rows if r["year"] == last), reverse=True)[:most]
    weight = np.array([n for n, _ in found])
    return [s for _, s in found], weight / weight.sum()


def week(stations: list[str], share: Any, people: int, *, trips: bool, days: int = 5) -> Iterator[Row]:
    """Passes between two stations of their own, drawn by popularity; one trip in ten goes elsewhere. A record is a trip, or (not
    ``trips``) the station at its beginning."""
    rng = np.random.default_rng(1)
    ends = rng.choice(len(share), (people, 2), p=share)
    working = [d for d in range(2 * days) if d % 7 < 5][:days]
    for i, (home, work) in enumerate(ends.tolist()):
        leaves = rng.normal(480, 45)
        for d in working:
            if rng.random() < 0.15:
                continue
            for minute, a, b in ((leaves, home, work), (leaves + 560, work, home)):
                to = int(rng.choice(len(share), p=share)) if rng.random() < 0.1 else b
                at = str(MONDAY + np.timedelta64(int(1440 * d + minute + rng.normal(0, 15)), "m")).replace("T", " ")
                if trips and to != a:
                    yield f"c{i}", at, (stations[a], stations[to])
                elif not trips:
                    yield f"c{i}", at, (stations[a],)


def tweets() -> Iterator[Row]:
    with (Path(os.environ["SHOAL_DATA"]) / "traj_homelocator/tweets_100users.csv").open(encoding="utf-8") as source:
        for r in csv.DictReader(source):
            yield r["u_id"], r["created_at"], (f"g{r['grid_id']}",)


def other(file: Path) -> Iterator[Row]:
    with file.open(newline="", encoding="utf-8") as source:
        _, *rows = csv.reader(source)
        yield from ((who, at, tuple(where)) for who, at, *where in rows)


def zipf(n: int) -> tuple[list[str], Any]:
    weight = np.arange(1, n + 1) ** -0.9
    return [f"Station {i}" for i in range(n)], weight / weight.sum()


JR = ("rail_jr_east/jr_east_top100_1999_2012.csv", "station", "daily_boardings")
UK = ("rail_uk_orr/uk_station_entries_exits.csv", "name", "entries_exits")
TABLES = {
    "commuters": lambda: week(*zipf(60), 2000, trips=False, days=10),
    "jr-trips": lambda: week(*popularity(*JR, 40), 6000, trips=True),
    "uk-trips": lambda: week(*popularity(*UK, 40), 6000, trips=True),
    "jr-stations": lambda: week(*popularity(*JR, 40), 6000, trips=False),
    "tweets": tweets,
}


def main(names: list[str]) -> None:
    import shoal

    for name in names or TABLES:
        source = list(TABLES[name]() if name in TABLES else other(Path(name)))
        places = ["from", "to"][: len(source[0][2])]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "source.csv"
            with file.open("w", newline="", encoding="utf-8") as out:
                lines = ((who, at, *where, i) for i, (who, at, where) in enumerate(source))
                csv.writer(out).writerows([("card", "at", *places, "row"), *lines])
            policy = {
                "events": {"unit": "card", "time": "at", "place": places} | ({"flows": True} if len(places) > 1 else {}),
                "roles": {"insensitive": ["row"]},
                "require": [f"known[2]>={K}"],
                "allow": {"identifying": {"row": "tells this script which record is which"}},
                "seed": 10**18 + 1,
            }
            begin = time.perf_counter(), time.process_time()
            release = shoal.anonymize(file, policy)
            made = release.write(Path(folder) / "out")
            seconds, cpu = time.perf_counter() - begin[0], time.process_time() - begin[1]
            with (made / "data.csv").open(newline="", encoding="utf-8") as found:
                published = list(csv.DictReader(found))
            with (made / "flows.csv").open(newline="", encoding="utf-8") as found:
                counted = {(a, b): int(n) for a, b, n in list(csv.reader(found))[1:]}
            verified = shoal.verify(made).ok
        steps = release.certificate.steps
        uses = {u.name: u.error for u in release.certificate.uses if u.error is not None}
        record(
            Path(__file__).parent,
            data=Path(name).stem,
            records=len(source),
            people=len({who for who, _, _ in source}),
            seconds=round(seconds, 1),
            cpu_seconds=round(cpu, 1),
            answer={
                "time": steps.time, "place": steps.place, "renew": steps.renew, "loss": round(release.certificate.cost.loss, 4),
                "verified": verified, "stated_errors": {n: round(e, 4) for n, e in uses.items()},
            } | recount(source, published, places) | recount_flows(source, published, places, counted),
        )  # fmt: skip


def recount(source: list[Row], published: list[dict[str, str]], places: list[str]) -> dict[str, Any]:
    """Places kept, errors of the flows and the hours, and the best chance of an attacker; from the two tables alone."""
    clear = [r for r in published if all(r[p] != "*" for p in places)]
    wrong = sum(tuple(r[p] for p in places) != source[int(r["row"])][2] for r in clear)
    before = flows((who, at, where) for who, at, where in source)
    after = flows((r.get("card", r["row"]), r.get("at", ""), tuple(r[p] for p in places)) for r in published)
    large = [f for f, n in before.items() if n > LARGE]
    error = sum(abs(before[f] - after[f]) for f in large) / max(1, sum(before[f] for f in large))
    return {
        "places_kept": round(len(clear) / len(source), 4),
        "places_wrong": wrong,
        "large_flows": len(large),
        "od_error_large": round(error, 4) if large else None,
        "best_chance_2_known": round(best_chance(source, published, places), 4),
        "allowed_chance": 1 / K,
    }


def recount_flows(
    source: list[Row], published: list[dict[str, str]], places: list[str], counted: dict[tuple[str, str], int]
) -> dict[str, Any]:
    """The error of the published flows, and what subtraction tells: the fewest people of a flow, the smallest difference from
    what the records show, and rows and columns in which a flow adds to the records and fewer than K people are missing."""
    true = defaultdict(Counter)
    for who, own in by_person(source).items():
        for flow, n in flows((who, at, where) for at, where in own).items():
            true[flow][who] += n
    true = {flow: people for flow, people in true.items() if people.total()}
    ordered = "at" in published[0] or len(places) == 2
    shown = (
        flows((r.get("card", r["row"]), r.get("at", ""), tuple(r[p] for p in places)) for r in published)
        if ordered
        else Counter()
    )
    large = {f: p.total() for f, p in true.items() if p.total() > LARGE}
    weak = 0
    for side in (0, 1):
        for line in {f[side] for f, n in counted.items() if n > shown[f]}:
            missing = [f for f, p in true.items() if f[side] == line and p.total() != counted.get(f, 0)]
            weak += bool(missing) and (len(missing) < 2 or len({who for f in missing for who in true[f]}) < K)
    return {
        "flows": len(counted),
        "flows_error_large": round(sum(abs(n - counted.get(f, 0)) for f, n in large.items()) / sum(large.values()), 4)
        if large
        else None,
        "flows_fewest_people": min((len(true[f]) for f in counted), default=None),
        "flows_least_difference": min((n - shown[f] for f, n in counted.items() if n != shown[f]), default=None),
        "weak_lines": weak,
        "places_at_most": round(most_places(source), 4),
    }


def by_person(source: list[Row]) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    out = defaultdict(list)
    for who, at, where in source:
        out[who].append((at, where))
    return out


def most_places(source: list[Row]) -> float:
    """The largest share of the records that can show their place if nobody has more than one in K of those at a place."""
    at = defaultdict(Counter)
    for who, _, where in source:
        at[where][who] += 1
    best = 0
    for people in at.values():
        sums = [sum(min(n, c) for n in people.values()) for c in range(1, max(people.values()) + 1)]
        best += max((total for c, total in enumerate(sums, 1) if total >= K * c), default=0)
    return best / len(source)


def flows(rows: Any) -> Counter[Any]:
    """Origin and destination of every record that has both; else of consecutive records of one person or pseudonym."""
    by, out = defaultdict(list), Counter()
    for who, at, where in rows:
        if len(where) == 2:
            out[where] += "*" not in where
        else:
            by[who].append((at, where[0]))
    for own in by.values():
        times = Counter(at for at, _ in own)
        for a, b in pairwise(sorted(own, key=lambda r: PARTS.get(r[0], r[0]))):
            out[a[1], b[1]] += a[1] != b[1] and "*" not in (a[1], b[1]) and times[a[0]] == times[b[0]] == 1
    return out


PARTS = {"night": "0", "morning": "1", "afternoon": "2", "evening": "3"}


def best_chance(source: list[Row], published: list[dict[str, str]], places: list[str]) -> float:
    """Somebody knows one or two published records of a person and picks one of the pseudonyms that have them: the best chance of
    being right, over all people and all such records."""
    points, owner = defaultdict(set), {}
    for r in published:
        name = r.get("card", r["row"])
        points[name].add((r.get("at"), *(r[p] for p in places)))
        who = source[int(r["row"])][0]
        if owner.setdefault(name, who) != who:
            raise SystemExit("a pseudonym stands for two people.")
    have = defaultdict(Counter)
    for name, own in points.items():
        for size in (1, 2):
            for known in combinations(sorted(own, key=str), size):
                have[known][owner[name]] += 1
    return max(max(c.values()) / c.total() for c in have.values())


if __name__ == "__main__":
    main(sys.argv[1:])
