"""Attackers of this script's own against releases that claim to withstand them: does any do better than the stated number?

    SHOAL_DATA=FOLDER python benchmarks/event_uses/attackers.py [--groups] [NAME or FILE.csv …]

Each table is released once for each kind of knowledge (``known``, ``near``, ``absent``, ``length``) with k = 5 and two known
records, once for each place that records may tell (``home``, ``work``, ``next``) with a chance of at most 0.4, and once as trips
by origin and destination instead of records. The attacker has the published file and true records of a person, and picks one of
the pseudonyms that fit: everybody and every choice of records is tried, so that the best chance found is that of an attacker who
chooses them. The script knows who is behind a published record by a number that is published for it. It imports nothing of Shoal
but the release. With ``--groups`` larger tables are released in groups of people of some thousand records, as tables of millions
are, for the kinds of knowledge that groups allow.
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
from bench import JR, TABLES, UK, other, popularity, week, zipf
from common import record

K, KNOWN, HOUR = 5, 2, np.timedelta64(1, "h")
SMALL = {
    "commuters": lambda: week(*zipf(12), 300, trips=False),
    "jr-stations": lambda: week(*popularity(*JR, 12), 300, trips=False),
    "tweets": lambda: islice(TABLES["tweets"](), 4000),
}
GROUPED = {
    "commuters": lambda: week(*zipf(12), 1500, trips=False),
    "jr-stations": lambda: week(*popularity(*JR, 12), 1500, trips=False),
    "uk-stations": lambda: week(*popularity(*UK, 12), 1500, trips=False),
    "tweets": TABLES["tweets"],
}
IN_GROUPS = 3000
"""Records of a group, with ``--groups``."""
CLAIMS = {"known": "known[2]>=5", "near": "near[2, 1h]>=5", "absent": "absent[2]>=5", "length": "length[2]>=5"}
BEGIN = {"commuters": 9, "jr-stations": 1}
"""First characters that the names of neighbouring places share; of the tweets three."""
PLACES = ("home", "work", "next")
SURE = 0.4
CLAIMS |= {kind: f"{kind}[2]<={SURE}" for kind in PLACES}
Point = tuple[str | None, ...]


def main(names: list[str]) -> None:
    grouped = "--groups" in names
    names = [n for n in names if n != "--groups"]
    if grouped:
        divide()
    tables = GROUPED if grouped else SMALL
    for name in names or tables:
        source = list(tables[name]() if name in tables else islice(other(Path(name)), 3000))
        begin = BEGIN.get(name, 3)
        claims = {**CLAIMS, f"neighbour {begin}": f"near[2, 1h, prefix:{begin}]>={K}"}
        for kind, claim in ({k: claims[k] for k in ("known", "length")} if grouped else claims).items():
            for renew in ("never", "as needed"):
                published, stated, groups = released(source, claim, renew)
                attack = surest_place if kind in PLACES else best_chance
                chance, tries = (0.0, 0) if published is None else attack(published, source, kind)
                allowed = 1 / K if kind not in PLACES else SURE
                claimed = allowed if stated is None else stated if kind in PLACES else 1 / max(K, stated)
                record(
                    Path(__file__).parent,
                    data=f"attackers of {Path(name).stem}",
                    records=len(source),
                    answer={
                        "claim": claim, "renew": renew, "released": published is not None and len(published),
                        "stated": stated, "allowed": allowed, "best_chance": round(chance, 4), "knowledge_tried": tries,
                        "groups": groups,
                        "beaten": chance > claimed + 1e-9,
                    },
                )  # fmt: skip
        if not grouped:
            sums(name, source)


def divide() -> None:
    """Tables of more records than :data:`IN_GROUPS` are released in groups of so many."""
    from shoal.release.events import groups

    groups.TOGETHER, groups.FIRST, groups.READ = IN_GROUPS, IN_GROUPS // 2, IN_GROUPS


def sums(name: str, source: list[Any]) -> None:
    """Trips by origin and destination instead of records, against somebody who knows every true sum of a row and a column: the
    narrowest bounds of a hidden flow by linear programming, and the fewest people of a published one."""
    from bench import by_person, flows
    from scipy.optimize import linprog

    import shoal

    true: dict[Any, Counter[str]] = defaultdict(Counter)
    for who, own in by_person(source).items():
        for ends, n in flows((who, at, where) for at, where in own).items():
            true[ends][who] += n
    true = {ends: people for ends, people in true.items() if people.total()}
    with tempfile.TemporaryDirectory() as folder:
        columns = dict(zip(("card", "at", "from"), zip(*((w, a, p[0]) for w, a, p in source), strict=True), strict=True))
        rules = {"unit": "card", "time": "at", "place": "from", "flows": "only"}
        policy = {"events": rules, "require": [f"known[1]>={K}"], "allow": {"suppress": 1}, "seed": 10**18 + 1}
        place = shoal.anonymize(columns, policy).write(Path(folder) / "out")
        verified = shoal.verify(place).ok
        with (place / "data.csv").open(newline="", encoding="utf-8") as found:
            shown = {(a, b): int(n) for a, b, n in list(csv.reader(found))[1:]}
    hidden = [e for e, people in true.items() if people.total() != shown.get(e, 0)]
    lines = [(side, end) for side in (0, 1) for end in sorted({e[side] for e in hidden})]
    matrix = np.array([[float(e[side] == end) for e in hidden] for side, end in lines])
    total = matrix @ np.array([true[e].total() for e in hidden])
    bounds, apart = [(shown.get(e, 0), None) for e in hidden], {}
    for i, ends in enumerate(hidden):
        cost = np.eye(len(hidden))[i]
        low, high = (s * linprog(s * cost, A_eq=matrix, b_eq=total, bounds=bounds).fun for s in (1, -1))
        if any(e not in hidden and (e[0] == ends[0] or e[1] == ends[1]) for e in shown):
            apart[ends] = high - low
    fewest = min(len(true[e]) for e in shown)
    record(
        Path(__file__).parent,
        data=f"sums of {name}",
        records=len(source),
        answer={
            "flows": len(shown), "hidden": len(hidden), "verified": verified, "fewest_people": fewest,
            "least_apart": round(min(apart.values(), default=K), 4),
            "beaten": fewest < K or min(apart.values(), default=K) < K - 1e-6,
        },
    )  # fmt: skip


def surest_place(published: list[dict[str, str]], source: list[Any], kind: str) -> tuple[float, int]:
    """The largest share of the pseudonyms with one or two known records that show one place, other than the known ones, as the
    place with most records, with second most, or after a known record; and how many sets of records were tried."""
    traces: dict[str, set[Point]] = defaultdict(set)
    for r in published:
        traces[r.get("card", r["row"])].add((r.get("at") or "", r.get("from", "*")))
    have: dict[Any, list[str]] = defaultdict(list)
    for name, points in traces.items():
        for size in range(1, KNOWN + 1):
            for known in combinations(sorted(points), size):
                have[known].append(name)
    best = 0.0
    for known, names in have.items():
        for point in known if kind == "next" else known[:1]:
            guesses = Counter(g for n in names for g in guessed(traces[n], kind, point) - {p for _, p in known})
            best = max(best, max(guesses.values(), default=0) / len(names))
    return best, len(have)


def guessed(points: set[Point], kind: str, known: Point) -> set[str]:
    """The places that a pseudonym shows; all of them if several are as likely."""
    if kind == "next":
        later = min((at for at, _ in points if at > known[0]), default=known[0])
        return {p for at, p in points if at in (known[0], later) and (at, p) != known} - {"*"}
    often = Counter(p for _, p in points if p != "*").most_common()
    wanted = [n for _, n in often][kind == "work" :][:1]
    return {p for p, n in often if n in wanted}


def released(source: list[Any], claim: str, renew: str) -> tuple[list[dict[str, str]] | None, float | None, int]:
    """The published records, the number that the certificate states, and the groups of people; None if Shoal refuses."""
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
            return None, None, 1
        with (place / "data.csv").open(newline="", encoding="utf-8") as found:
            return list(csv.DictReader(found)), made.certificate.requirements[0].found, made.certificate.cost.groups or 1


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
    begin = int(kind.partition(" ")[2] or 0)
    fits = {p: set().union(*(at[q] for q in at if close(p, q, begin))) for p in at} if kind == "near" or begin else at
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


def close(p: Point, q: Point, begin: int) -> bool:
    """The same place, or one whose name begins with the same characters, and published times at most an hour apart."""
    return str(p[1])[: begin or None] == str(q[1])[: begin or None] and (
        p[0] == q[0] or abs(np.datetime64(str(p[0])) - np.datetime64(str(q[0]))) <= HOUR
    )


if __name__ == "__main__":
    main(sys.argv[1:])
