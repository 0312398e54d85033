"""A first set of records: from public population tables where they are at hand, from generated people otherwise.

The records are real computations under a key that is made for the occasion; their method says what they are.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import DataError, RequirementError
from shoal.kernels.signatures import signer
from shoal.model.display import Progress
from shoal.registry.keep.builtin import BuiltIn
from shoal.registry.keep.store import Store
from shoal.registry.publish.proposals import Ledger, propose, publish
from shoal.registry.records.population import Population

DATE = "2025-01-01"
Topic = tuple[tuple[str, ...], str, list[int], int]
"""Codes, population, cell counts, number of possible cells."""


def fill(store: Store, data: Path | None = None, *, progress: Progress = lambda done, what: None) -> dict[str, Any]:
    """Publish every topic of the public tables in ``data`` (or of generated people) into a store."""
    public = list(_public(data)) if data is not None else []
    topics = public or list(_generated())
    holder = "Seed from public population tables" if public else "Seed from generated people"
    method = "complete count" if public else "generated"
    key, ledger, records = signer(), Ledger(), []
    left_out = 0
    for number, (codes, population, counts, cells) in enumerate(topics):
        try:
            people = Population.parse(population)
            proposal = propose(counts, codes, people, holder=holder, date=DATE, cells=cells, method=method, ledger=ledger)
            records.append(publish(proposal, key, ledger))
        except (DataError, RequirementError):  # too few people, alone or as what is left of the whole
            left_out += 1
        progress(number / len(topics), "summarising populations")
    store.submit_many(records)
    return {
        "records": len(records),
        "populations": len({r.population for r in records}),
        "left_out": left_out,
        "source": "public tables" if public else "generated people",
    }


def fill_built_in(store: Store, so_far: dict[str, Any]) -> dict[str, Any]:
    """Copy the records of real places that come with Shoal into a store, beside what was published so far."""
    records = list(BuiltIn().every())
    store.submit_many(records)
    return {
        "records": so_far["records"] + len(records),
        "populations": so_far["populations"] + len({r.population for r in records}),
        "left_out": so_far["left_out"],
        "source": f"public population tables and {so_far['source']}",
    }


def bands(counts: np.ndarray[Any, Any], width: int) -> list[int]:
    """Counts of single years joined into bands."""
    return [int(counts[i : i + width].sum()) for i in range(0, len(counts), width)]


def _age_topics(population: str, by_sex: dict[str, np.ndarray[Any, Any]], width: int = 1) -> Iterator[Topic]:
    """Age, sex and both together, in every coding that the table allows."""
    both = np.sum(list(by_sex.values()), axis=0)
    names = {1: "age/years", 5: "age/5y", 10: "age/10y", 20: "age/20y"}
    for step, code in names.items():
        if step % width:
            continue
        one = bands(both, step // width)
        yield (code,), population, one, len(one)
        joint = [c for counts in by_sex.values() for c in bands(counts, step // width)]
        yield (code, "sex"), population, joint, len(joint)
    yield ("sex",), population, [int(c.sum()) for c in by_sex.values()], len(by_sex)


def _public(data: Path) -> Iterator[Topic]:
    uk = data / "pop_uk_la" / "uk_mid2019_area_sex_age.csv"
    if uk.is_file():
        yield from _uk(uk)
    nl = data / "pop_nl_postcode" / "nl_2021_gemeente_age5_sex.csv"
    if nl.is_file():
        yield from _nl(nl)
    pc4 = [nl.with_name(name) for name in ("nl_2021_pc4_age5_sex.csv", "nl_pc4_gemeente.csv")]
    if all(p.is_file() for p in pc4):
        yield from _nl_postcodes(*pc4)
    us = data / "us_zip" / "us_zip_2010_population.csv"
    if us.is_file():
        yield from _us(us)


def _uk(path: Path) -> Iterator[Topic]:
    """Local authorities by single year of age and sex; the whole country is their sum."""
    aggregates = ("K02", "K03", "K04", "E92", "W92", "S92", "N92", "E12", "E13", "E10", "E11")
    areas: dict[str, dict[str, np.ndarray[Any, Any]]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as source:
        for row in csv.DictReader(source):
            if not row["code"].startswith(aggregates):
                ages = [int(v) for k, v in row.items() if k.rstrip("+").isdigit()]
                areas[_name(row["name"])][row["sex"]] = np.array(ages)
    whole: dict[str, np.ndarray[Any, Any]] = {}
    for sexes in areas.values():
        for sex, counts in sexes.items():
            whole[sex] = whole.get(sex, 0) + counts
    yield from _age_topics("UK@2019", whole)
    for name, sexes in sorted(areas.items()):
        yield from _age_topics(f"UK/{name}@2019", sexes)


def _nl(path: Path) -> Iterator[Topic]:
    """Municipalities by five-year age band and sex; the country is their sum."""
    cells: dict[str, dict[str, list[int]]] = defaultdict(lambda: {"M": [], "F": []})
    with path.open(encoding="utf-8", newline="") as source:
        rows = sorted(csv.DictReader(source), key=lambda r: (r["gemeente"], _first_age(r["leeftijd"])))
    for row in rows:
        place = cells[_name(row["gemeente"])]
        place["M"].append(int(row["inwoners_man"] or 0))
        place["F"].append(int(row["inwoners_vrouw"] or 0))
    whole = {s: np.sum([sexes[s] for sexes in cells.values()], axis=0) for s in ("M", "F")}
    yield from _age_topics("NL@2021", whole, width=5)
    for name, sexes in sorted(cells.items()):
        yield from _age_topics(f"NL/{name}@2021", {s: np.array(c) for s, c in sexes.items()}, width=5)


def _nl_postcodes(counts: Path, places: Path) -> Iterator[Topic]:
    """Postcodes of municipalities and of the country, alone and with age and sex."""
    with places.open(encoding="utf-8", newline="") as source:
        of = {row["postcode"]: _name(row["gemeente"]) for row in csv.DictReader(source) if row["gemeente"]}
    cells: dict[str, list[int]] = defaultdict(list)
    with counts.open(encoding="utf-8", newline="") as source:
        for row in csv.DictReader(source):
            if row["postcode"] in of:
                cells[row["postcode"]] += [int(row["inwoners_man"] or 0), int(row["inwoners_vrouw"] or 0)]
    here: dict[str, list[str]] = defaultdict(list)
    for code in sorted(cells):
        here["NL@2021"].append(code)
        here[f"NL/{of[code]}@2021"].append(code)
    for population, codes in sorted(here.items()):
        if len(codes) < 2:
            continue
        joint = [c for code in codes for c in cells[code]]
        yield ("postcode/NL/pc4",), population, [sum(cells[code]) for code in codes], len(codes)
        yield ("age/5y", "postcode/NL/pc4", "sex"), population, joint, len(joint)
    yield ("postcode/NL/pc2",), "NL@2021", *_grouped({code: sum(c) for code, c in cells.items()}, 2)


def _grouped(counts: dict[str, int], digits: int) -> tuple[list[int], int]:
    """Counts by the first digits of a code, and how many such beginnings there are."""
    out: dict[str, int] = defaultdict(int)
    for code, people in counts.items():
        out[code[:digits]] += people
    return [c for c in out.values() if c], len(out)


def _first_age(band: str) -> int:
    digits = "".join(c if c.isdigit() else " " for c in band).split()
    return int(digits[0]) if digits else 0


def _us(path: Path) -> Iterator[Topic]:
    """ZIP codes of the whole country, five digits and three, and of each state."""
    areas: dict[str, dict[str, int]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as source:
        for row in csv.DictReader(source):
            for area in ("US@2010", f"US/{_name(row['State'])}@2010"):
                areas[area][row["Zipcode"].zfill(5)] = int(float(row["Population"] or 0))
    for area, five in sorted(areas.items(), key=lambda a: (len(a[0]), a[0])):
        yield ("postcode/US/zip5",), area, [c for c in five.values() if c], len(five)
        yield ("postcode/US/zip3",), area, *_grouped(five, 3)


def _generated(people: int = 200_000, largest: int = 25) -> Iterator[Topic]:
    """Age and sex in the largest municipalities of the generated country, and in the whole."""
    import pyarrow.compute as pc

    from shoal import datasets
    from shoal.datasets.country import OLDEST, REFERENCE_YEAR

    table = datasets.people(people, seed=2026)
    age = np.minimum(REFERENCE_YEAR - pc.year(table["date_of_birth"]).to_numpy(), OLDEST)
    sex = np.array(table["sex"].cast("string").to_pylist())
    place = np.array(table["municipality"].cast("string").to_pylist())
    names, sizes = np.unique(place, return_counts=True)
    for name in ("", *names[np.argsort(-sizes, kind="stable")][:largest].tolist()):
        here = (place == name) if name else np.ones(len(place), dtype=bool)
        by_sex = {s: np.bincount(age[here & (sex == s)], minlength=OLDEST + 1) for s in ("F", "M")}
        yield from _age_topics(f"Shoalland/{name}@2026" if name else "Shoalland@2026", by_sex)


def _name(text: str) -> str:
    """A place name as populations spell it: a slash would be a place inside."""
    return text.replace("/", "-").strip() or "unnamed"
