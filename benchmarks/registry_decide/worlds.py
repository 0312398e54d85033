"""Does anything that `registry decide` says contradict a population that the published table allows?

    SHOAL_DATA=FOLDER python benchmarks/registry_decide/worlds.py [--draws N] [--seed N] [--keep]

A world is a population by single years of age, sex and one more attribute that agrees with the counts of a place: bands are
split, the oldest spread, rounding and the error of estimates drawn. Every statement about the place has to be true in the
world. Every decision is asked again beside records full of lies, signed with a key that nobody named. It shares no code with
bench.py.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.kernels.signatures import signer
from shoal.registry.answer.decide import Decision, decide
from shoal.registry.answer.query import Registry
from shoal.registry.keep.builtin import BuiltIn
from shoal.registry.publish.proposals import Ledger, propose, publish
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record

SETS = (
    ("age/years", "sex"), ("age/years",), ("age/5y", "sex"), ("age/10y", "sex"), ("age/20y", "sex"), ("sex",),
    ("age/years", "sex", "x/job"), ("age/5y", "x/job"), ("age/10y", "sex", "x/job"),
)  # fmt: skip
GROUPS, TARGETS = (20, 100, 1000, 10_000), (0.01, 0.05, 0.2)
WIDTHS = {"age/years": 1, "age/5y": 5, "age/10y": 10, "age/20y": 20}
OLDEST_AGE = 121
ROUNDED = 0.0005 + 1e-9
"""Half of the last digit of a share in a sentence."""


def world(record: Record, rng: np.random.Generator, *, wild: bool) -> np.ndarray:
    """People by single years of age, sex and x/job who agree with a record; ``wild``: the oldest are spread over all ages."""
    ages, sexes = record.counts.answers.values()
    grid = np.array(record.counts.people, dtype=float).reshape(len(ages), len(sexes))
    if record.counts.off:  # a sum of rounded counts, each off by 2 at most
        parts = record.counts.off // 2
        grid += np.clip(rng.normal(0, math.sqrt(2 * parts), grid.shape).round(), -record.counts.off, record.counts.off)
    if record.estimated:
        grid *= rng.uniform(0.85, 1.15, grid.shape)
    grid = np.maximum(grid.round(), 0).astype(int)
    firsts = [int(a.partition("-")[0].rstrip("+")) for a in ages]
    out = np.zeros((OLDEST_AGE, len(sexes)), dtype=int)
    for i, first in enumerate(firsts):
        end = firsts[i + 1] if i + 1 < len(firsts) else OLDEST_AGE
        for sex in range(len(sexes)):
            if i + 1 < len(firsts):
                weights = rng.dirichlet(np.full(end - first, rng.choice([0.3, 20.0])))
            elif wild:
                weights = np.full(end - first, 1 / (end - first))
            else:
                weights = 0.7 ** np.arange(end - first) * (np.arange(first, end) < max(100, first + 1))
                weights /= weights.sum()
            out[first:end, sex] = rng.multinomial(grid[i, sex], weights)
    jobs = rng.dirichlet(np.full(int(rng.choice([2, 8, 60])), 0.7), size=out.shape if rng.random() < 0.5 else 1)
    jobs = np.broadcast_to(jobs, (*out.shape, jobs.shape[-1]))
    return np.stack([[rng.multinomial(out[a, s], jobs[a, s]) for s in range(out.shape[1])] for a in range(OLDEST_AGE)])


def truth(people: np.ndarray, codes: Iterable[str], k: int) -> float:
    """The expected share of unique people in a group of k of a world, nobody asked twice; of everybody where there are fewer."""
    table, asked = people, set(codes)
    age = next((c for c in asked if c in WIDTHS), None)
    width = WIDTHS[age] if age else OLDEST_AGE
    table = np.add.reduceat(table, range(0, OLDEST_AGE, width), axis=0)
    if "sex" not in asked:
        table = table.sum(axis=1, keepdims=True)
    if "x/job" not in asked:
        table = table.sum(axis=2, keepdims=True)
    cells = table.ravel().astype(float)
    n = int(cells.sum())
    k, cells = min(k, n), cells[cells > 0]
    if k > n - cells.min():
        chance = np.where(n - cells >= k - 1, 1.0, 0.0)
        chance[chance > 0] = [_chance(int(c), n, k) for c in cells[chance > 0]]
    else:
        chance = np.array([_chance(int(c), n, k) for c in cells])
    return float((cells / n * chance).sum())


def _chance(c: int, n: int, k: int) -> float:
    """That none of k - 1 others, of n - 1, is one of c - 1."""
    if n - c < k - 1:
        return 0.0
    return math.exp(math.lgamma(n - c + 1) - math.lgamma(n - c - k + 2) - math.lgamma(n) + math.lgamma(n - k + 1))


def false_claims(found: Decision, people: np.ndarray, *, assumed: bool = False) -> list[str]:
    """What a decision says that is not so in a world; ``assumed``: beyond what it assumes of the oldest, which grade C states."""
    k, target, asked = found.group_size, found.target, [x.asked for x in found.lines]
    real = truth(people, asked, k)
    taken = assumed and found.before.grade == "C"
    claims = {"interval": taken or found.before.low - 1e-9 <= real <= found.before.high + 1e-9}
    claims["within"] = taken or found.verdict != "within" or real <= target
    claims["beyond"] = found.verdict != "beyond" or real > target
    for codes, share in found.sets:
        if assumed and share.grade == "C":
            continue
        there = truth(people, codes, k)
        claims[f"set {codes}"] = share.low - 1e-9 <= there <= share.high + 1e-9 and there <= target
    for line in found.lines:
        if line.advice == "do not collect" and line.reason.startswith("even "):
            claims[f"{line.asked}: {line.reason}"] = _least(line.reason, people, k, target)
    if found.enough is not None and found.enough <= people.sum() and not (assumed and found.enough_grade == "C"):
        claims["enough"] = truth(people, asked, found.enough) <= target
    return [name for name, holds in claims.items() if not holds]


def _least(reason: str, people: np.ndarray, k: int, target: float) -> bool:
    """ "even with A beside B, C at least 12.3% are unique": is it so, and too many?"""
    words = reason.split()
    codes = [w.rstrip(",") for w in words if "/" in w or w.rstrip(",") == "sex"]
    share = truth(people, codes, k)
    return share >= float(words[words.index("least") + 1].rstrip("%")) / 100 - ROUNDED and share > target


class WithLies:
    """The built-in records and some more."""

    def __init__(self, lies: Sequence[Record]) -> None:
        self._all, self._lies = BuiltIn(), lies
        self.notices = self._all.notices

    def topic(self, codes: Sequence[str], population: str) -> list[Record]:
        asked = (tuple(codes), Population.parse(population))
        return [*self._all.topic(codes, population), *(r for r in self._lies if (r.codes, r.population) == asked)]

    def codings(self, population: str) -> list[tuple[str, ...]]:
        here = [r.codes for r in self._lies if r.population == Population.parse(population)]
        return list(dict.fromkeys([*self._all.codings(population), *here]))

    def holders(self, population: str, *, limit: int = 100) -> list[str]:
        here = [r.key for r in self._lies if r.population == Population.parse(population)]
        return list(dict.fromkeys([*self._all.holders(population, limit=limit), *here]))

    def head(self) -> tuple[int, str]:
        return len(self._lies), "".join(r.id for r in self._lies)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._all, name)


def lies_about(population: str, codes: Sequence[str]) -> list[Record]:
    """Records that say that nearly everybody gives the same answers: of these attributes, of fewer, and of more."""
    made = []
    more = {tuple(codes), tuple(codes[:1]), tuple(sorted({*codes, "x/blood"}))}
    for i, some in enumerate(sorted(more)):
        key = signer()
        given: dict[str, Any] = {"holder": f"Liar {key.fingerprint}", "date": "2026-01-01", "ledger": Ledger(), "cells": 1000}
        counts = [20_000 + 100 * i, *[1] * (1 if some == ("sex",) else 94)]
        given["cells"] = len(counts) if some == ("sex",) else 1000
        made.append(publish(propose(counts, some, Population.parse(population), **given), key, Ledger()))
    return made


def places() -> dict[str, list[str]]:
    """Every place with joint counts of age and sex, by country: UK, NL, KE, US, and all others together."""
    found: dict[str, list[str]] = {}
    for population, codes in BuiltIn().topics("", limit=100_000):
        if len(codes) == 2 and "sex" in codes:
            country = population[:2] if population[:2] in ("UK", "NL", "KE", "US") else "other countries"
            found.setdefault(country, []).append(population)
    return {country: sorted(set(known)) for country, known in sorted(found.items())}


def counted_record(population: str) -> Record | None:
    """The record with joint counts of a place."""
    source = BuiltIn()
    records = (r for codes in source.codings(population) for r in source.topic(codes, population))
    found = [r for r in records if r.counts is not None and len(r.counts.answers) == 2]
    return max(found, key=lambda r: len(r.counts.people), default=None)


def check(populations: Sequence[str], draws: int, rng: np.random.Generator) -> Counter[str]:
    """Decisions about places in turn, with sets, groups and targets drawn; what is false, not known, or turned by a lie."""
    counted: Counter[str] = Counter()
    for i in range(draws):
        population = populations[i % len(populations)]
        codes, k = SETS[rng.integers(len(SETS))], int(rng.choice(GROUPS))
        target, record, wild = float(rng.choice(TARGETS)), counted_record(population), bool(rng.random() < 0.3)
        lies = lies_about(population, codes)
        found = decide(Registry(), codes, population, group_size=k, target=target)
        beside = decide(Registry(WithLies(lies)), codes, population, group_size=k, target=target)
        assert record is not None
        people = world(record, rng, wild=wild)
        for name, one in (("", found), (" beside lies", beside)):
            wrong = false_claims(one, people, assumed=wild)
            counted[f"false{name}"] += bool(wrong)
            if wrong:
                sys.stderr.write(f"{population} {codes} k={k} target={target}{name}: {'; '.join(wrong)}\n")
        counted["decisions"] += 1
        counted["statements"] += 3 + 2 * len(found.sets) + sum(x.advice == "do not collect" for x in found.lines)
        if "x/job" not in codes:
            counted["with counts of all"] += 1
            counted["not known"] += found.verdict == "not known"
            counted["attributes not known"] += sum(x.advice == "not known" for x in found.lines)
            counted["attributes"] += len(found.lines)
        counted["turned to within by a lie"] += beside.verdict == "within" != found.verdict
        counted["a set only by a lie"] += any(c not in {c for c, _ in found.sets} and _is_new(c, found) for c, _ in beside.sets)
    return counted


def _is_new(codes: Sequence[str], found: Decision) -> bool:
    """Whether a set is offered beside lies that without them is not within the target."""
    answer = Registry().query(codes, found.population)
    return not answer.records or answer.unique_share(found.group_size, found.target).high > found.target


def differing(data: Path) -> int:
    """How many places of the United Kingdom and the Netherlands have other counts built in than their public table."""
    wrong = 0
    of_uk: dict[str, dict[str, list[int]]] = {}
    with (data / "pop_uk_la" / "uk_mid2019_area_sex_age.csv").open(encoding="utf-8", newline="") as source:
        for row in csv.DictReader(source):
            of_uk.setdefault(row["name"], {})[row["sex"][0].upper()] = [int(v) for k, v in row.items() if k.rstrip("+").isdigit()]
    of_nl: dict[str, dict[str, dict[int, int]]] = {}
    with (data / "pop_nl_postcode" / "nl_2021_gemeente_age5_sex.csv").open(encoding="utf-8", newline="") as source:
        for row in csv.DictReader(source):
            first = int(row["leeftijd"].partition("-")[0].partition(" ")[0].rstrip("+"))
            for sex, column in (("M", "inwoners_man"), ("F", "inwoners_vrouw")):
                of_nl.setdefault(row["gemeente"], {}).setdefault(sex, {})[first] = int(row[column] or 0)
    for country, period, tables in (("UK", 2019, of_uk), ("NL", 2021, of_nl)):
        for name, by_sex in tables.items():
            record = counted_record(f"{country}/{name}@{period}") if name.replace("'", "").isascii() else None
            if record is not None:
                lists = {s: list(c.values()) if isinstance(c, dict) else c for s, c in by_sex.items()}
                if isinstance(by_sex["F"], dict):
                    lists = {s: [c[a] for a in sorted(c)] for s, c in by_sex.items()}
                wrong += record.counts.people != tuple(n for pair in zip(lists["F"], lists["M"], strict=True) for n in pair)
    return wrong


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--draws", type=int, default=400, help="decisions in each country")
    options.add_argument("--seed", type=int, default=38)
    options.add_argument("--keep", action="store_true", help="append the result to results.jsonl")
    asked = options.parse_args()
    result: dict[str, Any] = {"seed": asked.seed, "other counts than the table": differing(Path(os.environ["SHOAL_DATA"]))}
    sys.stdout.write(f"{result}\n")
    for country, known in places().items():
        rng = np.random.default_rng(asked.seed)
        result[country] = dict(check(list(rng.permutation(known)), asked.draws, rng))
        sys.stdout.write(f"{country}: {result[country]}\n")
        sys.stdout.flush()
    if asked.keep:
        sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
        from common import record

        record(Path(__file__).parent, answer=result)


if __name__ == "__main__":
    main()
