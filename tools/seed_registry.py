"""Make the registry's built-in records about real places from public population tables.

    python tools/seed_registry.py FOLDER MORE

FOLDER holds pop_uk_la, pop_nl_postcode and us_zip. MORE holds further public tables: wpp2019_popM.txt and wpp2019_popF.txt (World
Population Prospects 2019, five years of age and sex, as in the R package wpp2019), sc-est2021-agesex-civ.csv (US Census Bureau),
kenya_2019_county_age_sex.csv (County, Age, Male, Female: census 2019, volume III, table 2.3), countries.csv (numeric, code).
What is written are summaries, shares of the answers of one attribute, and joint counts of age and sex, signed with a key that is
made for the run and thrown away; its public half goes into the package.
"""

from __future__ import annotations

import csv
import json
import lzma
import re
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from public_tables import first_age, place_name, public_topics
from shoal.errors import DataError, RequirementError
from shoal.kernels.signatures import signer
from shoal.registry.keep import builtin
from shoal.registry.publish import seed
from shoal.registry.publish.proposals import Ledger, propose
from shoal.registry.records.counts import JointCounts
from shoal.registry.records.population import Population, official_codes
from shoal.registry.records.record import MOST_SHARES, Record
from shoal.registry.records.summary import summarize

HOLDER = "Shoal seed"
DATE = "2026-11-15"
SOURCES = {
    "uk": "ONS mid-2019 population estimates (Open Government Licence v3)",
    "nl": "CBS StatLine 83502NED, 1 January 2021, counts rounded to 5 (CC BY 4.0)",
    "us": "US Census 2010 by ZIP code tabulation area",
    "world": "United Nations, World Population Prospects 2019: estimates for mid-2020, five years of age and sex (CC BY 3.0 IGO)",
    "states": "US Census Bureau, civilian population of states by year of age and sex, estimates of July 2021 (public domain)",
    "ke": "Kenya National Bureau of Statistics, census of August 2019, volume III, table 2.3 (as compiled by rKenyaCensus, MIT)",
}
KEPT = {
    ("sex",), *((age, *more) for age in ("age/years", "age/5y", "age/10y", "age/20y") for more in ((), ("sex",))),
    ("postcode/NL/pc4",), ("postcode/NL/pc2",),
    ("age/5y", "postcode/NL/pc4", "sex"), ("postcode/US/zip5",), ("postcode/US/zip3",),
}  # fmt: skip
REGIONS = ("North East", "North West", "Yorkshire and The Humber", "East Midlands", "West Midlands", "East", "London",
           "South East", "South West", "Wales", "Scotland", "Northern Ireland", "England")  # fmt: skip


def main(data: Path, more: Path) -> None:
    key, shares = signer(), _shares(data)
    joint = {(population, "age/years"): _joint(1, by_sex) for population, by_sex in _uk(data)}
    rounded = _rounded(data)
    joint |= {(place, "age/5y"): replace(_joint(5, by_sex), off=rounded[place]) for place, by_sex in _nl(data)}
    rows: dict[str, list[builtin.Row]] = defaultdict(list)
    for topics in (public_topics(data), _regions(data)):  # regions overlap the places in them: a book of their own
        book, left_out = Ledger(), 0
        for codes, population, counts, cells in topics:
            if codes not in KEPT:
                continue
            country = population[:2].lower()
            given = shares.get((codes, population)) if len(counts) <= MOST_SHARES else None
            try:
                proposal = propose(
                    counts, codes, Population.parse(population), holder=HOLDER, date=DATE, cells=cells, ledger=book,
                    source=SOURCES[country], shares=given,
                )  # fmt: skip
            except (DataError, RequirementError):
                left_out += 1
                continue
            if codes[1:] == ("sex",) and (population, codes[0]) in joint:  # the finest coding of each country's tables
                proposal = replace(proposal, record=replace(proposal.record, counts=joint[population, codes[0]]))
            record = seed.publish(proposal, key, book)
            rows[country].append(builtin.pack(record))
        sys.stdout.write(f"left out: {left_out}\n")
    for file, method, width, places in (
        ("world", "estimate", 5, _world),
        ("states", "estimate", 1, _states),
        ("ke", "complete count", 1, _kenya),
    ):
        for population, by_sex in places(more):
            counts, codes = _joint(width, by_sex), ("age/years" if width == 1 else "age/5y", "sex")
            summary = summarize(np.array(counts.people), len(counts.people))
            record = Record(
                codes, Population.parse(population), summary, method, HOLDER, "", DATE, source=SOURCES[file], counts=counts
            )
            rows[file].append(builtin.pack(record.signed(key).verify()))
    folder = Path(builtin.__file__).parent
    for country, listed in rows.items():
        header = {"holder": HOLDER, "key": key.public, "date": DATE, "source": SOURCES[country], "method": "complete count"}
        content = json.dumps({"header": header, "rows": listed}, ensure_ascii=False, separators=(",", ":"))
        (folder / f"{country}.json.xz").write_bytes(lzma.compress(content.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME))
        sys.stdout.write(f"{country}: {len(listed)} records\n")
    code = Path(builtin.__file__)
    code.write_text(re.sub(r'(?m)^KEY = ".*"$', f'KEY = "{key.public}"', code.read_text(encoding="utf-8")), encoding="utf-8")


def _joint(width: int, by_sex: dict[str, np.ndarray]) -> JointCounts:
    """Joint counts of age and sex."""
    many = len(by_sex["F"])
    ages = tuple(_age(i, width, many) for i in range(many))
    people = tuple(int(by_sex[sex][i]) for i in range(many) for sex in "FM")
    return JointCounts({"age/years" if width == 1 else "age/5y": ages, "sex": ("F", "M")}, people)


def _world(more: Path):
    """Countries that have no table of their own here."""
    codes = {row["numeric"]: row["code"] for row in _rows(more / "countries.csv")}
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: {"M": [], "F": []})
    for sex in "MF":
        with (more / f"wpp2019_pop{sex}.txt").open(encoding="utf-8", newline="") as source:
            for row in csv.DictReader(source, delimiter="\t"):
                found[codes.get(row["country_code"].zfill(3), "")][sex].append(round(1000 * float(row["2020"])))
    for code in sorted(found.keys() - {"", "UK", "NL", "US", "KE"}):
        yield f"{code}@2020", {sex: np.array(people) for sex, people in found[code].items()}


def _states(more: Path):
    postal = {fips: place for (scheme, fips), place in official_codes().items() if scheme == "FIPS"}
    found: dict[str, dict[str, list[int]]] = defaultdict(lambda: {"M": [], "F": []})
    with (more / "sc-est2021-agesex-civ.csv").open(encoding="latin-1", newline="") as source:
        for row in csv.DictReader(source):
            if row["SEX"] != "0" and row["AGE"] != "999":
                place = "US" if row["STATE"] == "0" else postal[row["STATE"].zfill(2)]
                found[place]["MF"[int(row["SEX"]) - 1]].append(int(row["POPEST2021_CIV"]))
    for place, by_sex in sorted(found.items()):
        yield f"{place}@2021", {sex: np.array(people) for sex, people in by_sex.items()}


def _kenya(more: Path):
    found: dict[str, dict[str, list[int]]] = defaultdict(lambda: {"M": [], "F": []})
    for row in _rows(more / "kenya_2019_county_age_sex.csv"):
        if row["Age"].rstrip("+").isdigit():
            for sex, column in (("M", "Male"), ("F", "Female")):
                found[row["County"]][sex].append(int(float(row[column] or 0)))
    counties = {name: {s: np.array(c) for s, c in by_sex.items()} for name, by_sex in found.items()}
    yield "KE@2019", {s: np.sum([by_sex[s] for by_sex in counties.values()], axis=0) for s in "MF"}
    for name, by_sex in sorted(counties.items()):
        words = re.sub(r"[A-Z]+(?:'[A-Z]+)?", lambda m: m[0].capitalize(), name.replace("/ ", "-"))
        yield f"KE/{words}@2019", by_sex


def _share(counts: dict[str, int]) -> dict[str, float]:
    """Shares of one in ten thousand, which add up but for rounding."""
    total = sum(counts.values())
    return {answer: round(c / total, 4) for answer, c in counts.items()}


def _shares(data: Path) -> dict[tuple[tuple[str, ...], str], dict[str, float]]:
    """Shares of the answers of one attribute, by codes and population."""
    out = {}
    for population, by_sex in (*_uk(data), *_nl(data)):
        step = 1 if population.startswith("UK") else 5
        out[("sex",), population] = _share({s: int(by_sex[s].sum()) for s in ("F", "M")})
        both = np.sum(list(by_sex.values()), axis=0)
        if step == 1:
            out[("age/years",), population] = _share({_age(i, 1, len(both)): int(c) for i, c in enumerate(both)})
        width = 5 // step
        bands = seed.bands(both, width)
        out[("age/5y",), population] = _share({_age(i, 5, len(bands)): c for i, c in enumerate(bands)})
    for codes, population, named in (*_postcodes(data), *_zips(data)):
        out[codes, population] = _share(named)
    return out


def _age(i: int, width: int, many: int) -> str:
    low = i * width
    return f"{low}+" if i == many - 1 else str(low) if width == 1 else f"{low}-{low + width - 1}"


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def _uk_areas(data: Path) -> dict[str, dict[str, np.ndarray]]:
    out: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    for row in _rows(data / "pop_uk_la" / "uk_mid2019_area_sex_age.csv"):
        out[f"{row['code']} {row['name']}"][row["sex"]] = np.array([int(v) for k, v in row.items() if k.rstrip("+").isdigit()])
    return out


def _uk(data: Path):
    known = {r.casefold(): r for r in REGIONS} | {"united kingdom": ""}
    for named, by_sex in _uk_areas(data).items():
        code, _, name = named.partition(" ")
        wide = code.startswith(("K02", "E92", "W92", "S92", "N92", "E12"))
        if wide and name.casefold() not in known:
            continue
        place = known[name.casefold()] if wide else name
        first = {s[0].upper(): c for s, c in by_sex.items()}
        yield (f"UK/{place_name(place)}@2019" if place else "UK@2019"), first


def _nl_areas(data: Path) -> dict[str, dict[str, np.ndarray]]:
    """Men and women by five years of age in every province and NUTS 3 region, from the postcodes."""
    folder = data / "pop_nl_postcode"
    of = {r["postcode"]: (r["provincie"], r["nuts3"]) for r in _rows(folder / "nl_pc4_gemeente.csv")}
    bands = sorted({r["leeftijd"] for r in _rows(folder / "nl_2021_pc4_age5_sex.csv")}, key=first_age)
    out: dict[str, dict[str, np.ndarray]] = defaultdict(lambda: {s: np.zeros(len(bands), dtype=np.int64) for s in "MF"})
    provinces = {p for p, _ in of.values()}
    for row in _rows(folder / "nl_2021_pc4_age5_sex.csv"):
        province, nuts3 = of.get(row["postcode"], ("", ""))
        for name in {f"{province} (province)" if province else "", nuts3 if nuts3 not in provinces else ""} - {""}:
            at = bands.index(row["leeftijd"])
            out[name]["M"][at] += int(row["inwoners_man"] or 0)
            out[name]["F"][at] += int(row["inwoners_vrouw"] or 0)
    return out


def _nl(data: Path):
    rows = sorted(_rows(data / "pop_nl_postcode" / "nl_2021_gemeente_age5_sex.csv"), key=lambda r: first_age(r["leeftijd"]))
    places: dict[str, dict[str, list[int]]] = defaultdict(lambda: {"M": [], "F": []})
    for row in rows:
        places[row["gemeente"]]["M"].append(int(row["inwoners_man"] or 0))
        places[row["gemeente"]]["F"].append(int(row["inwoners_vrouw"] or 0))
    made = {name: {s: np.array(c) for s, c in sexes.items()} for name, sexes in places.items()}
    yield "NL@2021", {s: np.sum([sexes[s] for sexes in made.values()], axis=0) for s in "MF"}
    for name, sexes in (*made.items(), *_nl_areas(data).items()):
        yield f"NL/{place_name(name)}@2021", sexes


def _rounded(data: Path) -> dict[str, int]:
    """By how many people a count of each Dutch place may be off: every postcode in it is rounded to 5, hence by 2 at most."""
    rows, codes = _rows(data / "pop_nl_postcode" / "nl_pc4_gemeente.csv"), defaultdict(set)
    provinces = {r["provincie"] for r in rows}
    for r in rows:
        names = {r["gemeente"], f"{r['provincie']} (province)", r["nuts3"] if r["nuts3"] not in provinces else ""}
        for place in {"NL@2021", *(f"NL/{place_name(name)}@2021" for name in names if name)}:
            codes[place].add(r["postcode"])
    return {place: 2 * len(found) for place, found in codes.items()}


def _postcodes(data: Path):
    folder = data / "pop_nl_postcode"
    of = {r["postcode"]: r["gemeente"] for r in _rows(folder / "nl_pc4_gemeente.csv") if r["gemeente"]}
    cells: dict[str, int] = defaultdict(int)
    for row in _rows(folder / "nl_2021_pc4_age5_sex.csv"):
        if row["postcode"] in of:
            cells[row["postcode"]] += int(row["inwoners_man"] or 0) + int(row["inwoners_vrouw"] or 0)
    here: dict[str, dict[str, int]] = defaultdict(dict)
    two: dict[str, int] = defaultdict(int)
    for code, people in sorted(cells.items()):
        here[of[code]][code] = people
        two[code[:2]] += people
    for name, named in here.items():
        yield ("postcode/NL/pc4",), f"NL/{place_name(name)}@2021", named
    yield ("postcode/NL/pc2",), "NL@2021", dict(two)


def _zips(data: Path):
    three: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in _rows(data / "us_zip" / "us_zip_2010_population.csv"):
        three[row["State"]][row["Zipcode"].zfill(5)[:3]] += int(float(row["Population"] or 0))
    for state, named in three.items():
        yield ("postcode/US/zip3",), f"US/{state}@2010", dict(sorted((c, n) for c, n in named.items() if n))


def _regions(data: Path):
    """Countries and regions of the United Kingdom, provinces and NUTS 3 regions of the Netherlands."""
    regions = {f"UK/{r}@2019" for r in REGIONS}
    for population, by_sex in _uk(data):
        if population in regions:
            yield from seed.age_topics(population, by_sex)
    for name, by_sex in sorted(_nl_areas(data).items()):
        yield from seed.age_topics(f"NL/{place_name(name)}@2021", by_sex, width=5)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
