"""Is anything that `registry decide` says about a place false? Every statement against the full public table of the place.

    SHOAL_DATA=FOLDER python benchmarks/registry_decide/bench.py [MORE] [--every N] [--keep]

Without MORE only the United Kingdom and the Netherlands are checked; with --every only each N-th of their places. MORE is the
folder of further tables that tools/seed_registry.py reads, with wpp2017_popM.txt and wpp2017_popF.txt (World
Population Prospects 2017) beside them: between the two revisions the allowance for estimates is measured.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from common import record

import seed_registry as tables
from shoal.registry.answer import joint
from shoal.registry.answer.decide import decide
from shoal.registry.answer.query import Registry
from shoal.registry.publish.seed import bands
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record
from shoal.registry.records.summary import alone, summarize

GROUPS, TARGETS = (20, 50, 100, 500, 1000), (0.01, 0.05, 0.2)
WIDTHS = {"age/years": 1, "age/5y": 5, "age/10y": 10, "age/20y": 20}
_REASON = re.compile(r"with (\S+) (?:beside (.+?)|alone) (?:at most|at least|between) ([\d.]+)%(?: and ([\d.]+)%)? are unique")


def truth(by_sex: dict[str, np.ndarray], width: int, codes: list[str], k: int) -> float:
    """The expected share of unique people in a group of k in which nobody is asked twice, from the table itself."""
    age = next((c for c in codes if c in WIDTHS), None)
    parts = list(by_sex.values()) if "sex" in codes else [np.sum(list(by_sex.values()), axis=0)]
    cells = np.array([c for part in parts for c in (bands(part, WIDTHS[age] // width) if age else [int(part.sum())])], float)
    n, j = cells.sum(), np.arange(k - 1)
    return float((cells / n * (np.maximum(n - cells[:, None] - j, 0.0) / (n - 1 - j)).prod(axis=1)).sum())


def check(registry: Registry, population: str, by_sex: dict[str, np.ndarray], width: int, counted: Counter[str]) -> None:
    """Count the statements about one place, the false ones and the attributes of which nothing is known."""
    finest = next(c for c, w in WIDTHS.items() if w == width)

    def real(codes: list[str]) -> float:
        return truth(by_sex, width, codes, k)

    for number, k in enumerate(GROUPS):
        target = TARGETS[(number + len(population)) % len(TARGETS)]
        found = decide(registry, [finest, "sex"], population, group_size=k, target=target)
        kept = [x.code for x in found.lines if x.code is not None]
        claims = [found.before.low - 1e-9 <= real([finest, "sex"]) <= found.before.high + 1e-9]
        if found.after is not None:
            claims += [found.after.low - 1e-9 <= real(kept) <= found.after.high + 1e-9, real(kept) <= target]
        for line in found.lines:
            counted["attributes"] += 1
            counted["not known"] += line.advice == "not known"
            reason = _REASON.search(line.reason)
            if reason is not None:
                beside = [reason[1], *(reason[2] or "").split(", ")] if reason[2] else [reason[1]]
                share, first = real(beside), float(reason[3]) / 100
                if "at least" in line.reason:
                    claims += [share >= first - 0.0005, share > target]
                elif "at most" in line.reason:
                    claims.append(share <= first + 0.0005)
                else:
                    claims.append(first - 0.0005 <= share <= float(reason[4]) / 100 + 0.0005)
        counted["statements"] += len(claims)
        counted["grade C"] += (found.after or found.before).grade == "C"
        counted["decisions"] += 1
        counted["false"] += claims.count(False)


def revisions(more: Path) -> dict[str, float]:
    """How often the earlier revision's answer lies in the interval that the later one gives for an estimate of its own."""

    def of(revision: int) -> dict[str, list[float]]:
        found: dict[str, list[float]] = defaultdict(list)
        for sex in "MF":
            with (more / f"wpp{revision}_pop{sex}.txt").open(encoding="utf-8", newline="") as source:
                for row in csv.DictReader(source, delimiter="\t"):
                    if int(row["country_code"]) < 900:
                        found[row["country_code"]].append(float(row["2015"]))
        return found

    before, after, cases, inside, opened = of(2017), of(2019), 0, 0, 0
    for country in before.keys() & after.keys():
        for width in (1, 2, 4):
            halves = [np.array_split(np.array(t[country]), 2) for t in (before, after)]
            p, q = (np.concatenate([np.add.reduceat(h, range(0, len(h), width)) for h in both]) for both in halves)
            for k in (20, 50, 100, 200, 500, 1000, 10_000, 100_000):
                q = q / q.sum()
                less, more = q * (1 - joint.DOUBT), q * (1 + joint.DOUBT)
                low, high = joint.unique_ends(less, more, np.ones(len(q)), k)
                cases += 1
                share = float(alone(p / p.sum(), k).sum())
                inside += low - joint.FLOOR <= share <= high + joint.FLOOR
                found = joint.unique_share(
                    _open_at_85(after[country]), k, [{1: "age/5y", 2: "age/10y", 4: "age/20y"}[width], "sex"]
                )
                opened += found.low <= share <= found.high
    return {"cases": cases, "inside": round(inside / cases, 4), "inside, 85+ as one answer": round(opened / cases, 4)}


def _open_at_85(thousands: list[float]) -> Record:
    """An estimate whose last answer is 85+, as that of the US states is."""
    by_sex = {}
    for sex, part in zip("MF", np.array_split(np.rint(1000 * np.array(thousands)).astype(np.int64), 2), strict=True):
        by_sex[sex] = np.append(part[:17], part[17:].sum())
    counts = tables._joint(5, by_sex)
    summary = summarize(np.array(counts.people), len(counts.people))
    return Record(
        ("age/5y", "sex"),
        Population.parse("US@2015"),
        summary,
        "estimate",
        "bench",
        "",
        "2026-01-01",
        source="WPP",
        counts=counts,
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("more", type=Path, nargs="?")
    options.add_argument("--every", type=int, default=1, help="check only each N-th place")
    options.add_argument("--keep", action="store_true", help="append the result to results.jsonl")
    asked = options.parse_args()
    data, registry, result = Path(os.environ["SHOAL_DATA"]), Registry(), {}
    places = {"UK": (tables._uk(data), 1), "NL": (tables._nl(data), 5)}
    if asked.more is not None:
        further = {"US": (tables._states, 1), "KE": (tables._kenya, 1), "other countries": (tables._world, 5)}
        places |= {country: (read(asked.more), width) for country, (read, width) in further.items()}
    result["every"] = asked.every
    for country, (rows, width) in places.items():
        counted: Counter[str] = Counter()
        for population, by_sex in list(rows)[:: asked.every]:
            if registry.source.codings(population):
                counted["places"] += 1
                check(registry, population, by_sex, width, counted)
        result[country] = {
            **counted,
            "false": counted["false"],
            "share not known": round(counted["not known"] / counted["attributes"], 4),
        }
        sys.stdout.write(f"{country}: {result[country]}\n")
    if asked.more is not None:
        result["revisions"] = revisions(asked.more)
        sys.stdout.write(f"revisions: {result['revisions']}\n")
    if asked.keep:
        record(Path(__file__).parent, answer=result)


if __name__ == "__main__":
    main()
