"""Attackers of this script's own against releases that claim to withstand them: does any do better than the stated number?

    SHOAL_DATA=FOLDER python benchmarks/event_uses/attackers.py [NAME …]

Each table is released once for each kind of knowledge (``known``, ``near``, ``absent``, ``length``) with k = 5 and two known
records. The attacker has the published file and true records of a person, and picks one of the pseudonyms that fit: everybody
and every choice of records is tried, so that the best chance found is that of an attacker who chooses them. The script knows
who is behind a published record by a number that is published for it. It imports nothing of Shoal but the release.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections import Counter, defaultdict
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench import JR, TABLES, popularity, week, zipf
from common import record

K, KNOWN, HOUR = 5, 2, np.timedelta64(1, "h")
SMALL = {
    "commuters": lambda: week(*zipf(12), 300, trips=False),
    "jr-stations": lambda: week(*popularity(*JR, 12), 300, trips=False),
    "tweets": lambda: islice(TABLES["tweets"](), 4000),
}
CLAIMS = {"known": "known[2]>=5", "near": "near[2, 1h]>=5", "absent": "absent[2]>=5", "length": "length[2]>=5"}
Point = tuple[str | None, ...]


def main(names: list[str]) -> None:
    for name in names or SMALL:
        source = list(SMALL[name]())
        for kind, claim in CLAIMS.items():
            for renew in ("never", "as needed"):
                published, stated = released(source, claim, renew)
                chance, tries = (0.0, 0) if published is None else best_chance(published, source, kind)
                record(
                    Path(__file__).parent,
                    data=f"attackers of {name}",
                    records=len(source),
                    answer={
                        "claim": claim, "renew": renew, "released": published is not None and len(published),
                        "stated": stated, "allowed": 1 / K, "best_chance": round(chance, 4), "knowledge_tried": tries,
                        "beaten": chance > 1 / max(K, stated or K) + 1e-9,
                    },
                )  # fmt: skip


def released(source: list[Any], claim: str, renew: str) -> tuple[list[dict[str, str]] | None, float | None]:
    """The published records and the number that the certificate states; None if Shoal refuses."""
    import shoal

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "source.csv"
        with file.open("w", newline="", encoding="utf-8") as out:
            lines = ((who, at, *where, i) for i, (who, at, where) in enumerate(source))
            csv.writer(out).writerows([("card", "at", "from", "row"), *lines])
        widths = ["hour", "day", "week"] if "near" in claim else ["hour", "6h", "day", "week", "none"]
        policy = {
            "events": {"unit": "card", "time": "at", "place": "from", "renew": renew, "time_widths": widths},
            "roles": {"insensitive": ["row"]},
            "require": [claim],
            "allow": {"identifying": {"row": "tells this script which record is which"}, "suppress": 0.6},
            "seed": 10**18 + 1,
        }
        try:
            made = shoal.anonymize(file, policy)
            place = made.write(Path(folder) / "out")
        except shoal.errors.InfeasibleError:
            return None, None
        with (place / "data.csv").open(newline="", encoding="utf-8") as found:
            return list(csv.DictReader(found)), made.certificate.requirements[0].found


def best_chance(published: list[dict[str, str]], source: list[Any], kind: str) -> tuple[float, int]:
    """The best chance over all pseudonyms, and one or two of their records; and how many of these were tried."""
    traces: dict[str, set[Point]] = defaultdict(set)
    owner = {}
    for r in published:
        name = r.get("card", r["row"])
        traces[name].add((r.get("at"), r["from"]))
        owner[name] = source[int(r["row"])][0]
    at: dict[Point, set[str]] = defaultdict(set)
    for name, points in traces.items():
        for p in points:
            at[p].add(name)
    fits = {p: set().union(*(at[q] for q in at if close(p, q))) for p in at} if kind == "near" else at
    best, tried, seen = 0.0, 0, set()
    for name, points in traces.items():
        for size in range(1, KNOWN + 1):
            for known in combinations(sorted(points, key=str), size):
                key = (known, len(points)) if kind == "length" else known if kind != "absent" else (known, frozenset(points))
                if key in seen:
                    continue
                seen.add(key)
                left = set.intersection(*(fits[p] for p in known))
                if kind == "length":
                    left = {t for t in left if len(traces[t]) == len(points)}
                for some in without_one(left, traces, points) if kind == "absent" else [left]:
                    tried += 1
                    people = Counter(owner[t] for t in some)
                    best = max(best, people[owner[name]] / people.total(), max(people.values()) / people.total())
    return best, tried


def without_one(left: set[str], traces: dict[str, set[Point]], own: set[Point]) -> list[set[str]]:
    """Those who fit, without those at one point where the person was not; for each such point."""
    others = set().union(*(traces[t] for t in left)) - own
    return [left, *({t for t in left if p not in traces[t]} for p in others)]


def close(p: Point, q: Point) -> bool:
    """The same place, and published times at most an hour apart."""
    return p[1] == q[1] and (p[0] == q[0] or abs(np.datetime64(str(p[0])) - np.datetime64(str(q[0]))) <= HOUR)


if __name__ == "__main__":
    main(sys.argv[1:])
