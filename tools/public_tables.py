"""Counts of real places from public population tables, as the registry's records are made of them.

The folder holds pop_uk_la, pop_nl_postcode and us_zip; tables that are not there are passed over.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shoal.registry.publish.seed import Topic, age_topics


def public_topics(data: Path) -> Iterator[Topic]:
    """Codes, population, cell counts and possible cells of every topic of the tables."""
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
                areas[place_name(row["name"])][row["sex"]] = np.array(ages)
    whole: dict[str, np.ndarray[Any, Any]] = {}
    for sexes in areas.values():
        for sex, counts in sexes.items():
            whole[sex] = whole.get(sex, 0) + counts
    yield from age_topics("UK@2019", whole)
    for name, sexes in sorted(areas.items()):
        yield from age_topics(f"UK/{name}@2019", sexes)


def _nl(path: Path) -> Iterator[Topic]:
    """Municipalities by five-year age band and sex; the country is their sum."""
    cells: dict[str, dict[str, list[int]]] = defaultdict(lambda: {"M": [], "F": []})
    with path.open(encoding="utf-8", newline="") as source:
        rows = sorted(csv.DictReader(source), key=lambda r: (r["gemeente"], first_age(r["leeftijd"])))
    for row in rows:
        place = cells[place_name(row["gemeente"])]
        place["M"].append(int(row["inwoners_man"] or 0))
        place["F"].append(int(row["inwoners_vrouw"] or 0))
    whole = {s: np.sum([sexes[s] for sexes in cells.values()], axis=0) for s in ("M", "F")}
    yield from age_topics("NL@2021", whole, width=5)
    for name, sexes in sorted(cells.items()):
        yield from age_topics(f"NL/{name}@2021", {s: np.array(c) for s, c in sexes.items()}, width=5)


def _nl_postcodes(counts: Path, places: Path) -> Iterator[Topic]:
    """Postcodes of municipalities and of the country, alone and with age and sex."""
    with places.open(encoding="utf-8", newline="") as source:
        of = {row["postcode"]: place_name(row["gemeente"]) for row in csv.DictReader(source) if row["gemeente"]}
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


def first_age(band: str) -> int:
    digits = "".join(c if c.isdigit() else " " for c in band).split()
    return int(digits[0]) if digits else 0


def _us(path: Path) -> Iterator[Topic]:
    """ZIP codes of the whole country, five digits and three, and of each state."""
    areas: dict[str, dict[str, int]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as source:
        for row in csv.DictReader(source):
            for area in ("US@2010", f"US/{place_name(row['State'])}@2010"):
                areas[area][row["Zipcode"].zfill(5)] = int(float(row["Population"] or 0))
    for area, five in sorted(areas.items(), key=lambda a: (len(a[0]), a[0])):
        yield ("postcode/US/zip5",), area, [c for c in five.values() if c], len(five)
        yield ("postcode/US/zip3",), area, *_grouped(five, 3)


def place_name(text: str) -> str:
    """A place name as populations spell it: a slash would be a place inside."""
    return text.replace("/", "-").strip() or "unnamed"
