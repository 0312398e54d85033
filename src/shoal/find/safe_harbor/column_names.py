"""Words of column names that point to one of the eighteen classes, beyond the finder's, and words that speak against it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from shoal.find.name_words import folded, raw_words, words_of
from shoal.find.names.lexicon import expanded
from shoal.find.names.topics import found_in

ITEMS: dict[int, str] = {
    1: "=mother =father =mom =dad =spouse =husband =wife =partner =guardian =kin =nok next+of+kin =relative =employer "
    "employer+name company+name =surname =doctor =physician emergency+contact =child =baby =contact =informant",
    4: "pager =ph ph+no phno phn cellno contact+n* whatsapp",
    5: "=fx faxno",
    7: "ssno ssnum ss+no soc+no =sss =sin =ssa =tin itin",
    8: "mrno mr+no mrnum mr+num medrec med+rec medrecno hosp+no hospno hosp+num chart chartno chart+no chart+id emr+n* ehr+n* "
    "empi pat+no patno =fin fin+n* csn acc+no accession*",
    9: "hic hicno hicn hic+n* mbi =mbi medicaid+id medicare+id member+n* memberno subscriber* group+no groupno plan+no planno "
    "policyno payer+id insured+id certificate+no cert+no benef+n* recipient+id",
    10: "acct acctno =acct account accountno =aba routing+n* cc+no ccno card sort+code",
    11: "lic licno lic+no licence license =dl dl+no dea dea+n* npi =npi cert certificate permit+n* passport",
    12: "car+reg carreg reg+no regno registration reg+plate vrn =vrm licence+plate license+plate tag+no =vin vehicle+id veh+id "
    "veh+reg number+plate",
    13: "sn s+n =sn =ser serno ser+no implant+n* udi =udi pacemaker+n* device+n* device =esn =meid",
    14: "link links web site+url profile+url =href",
    15: "=ip ip+addr ipadr host+ip",
    16: "face+id voice+id dna+id finger+print",
    17: "mugshot =img image images avatar headshot scan+file xray+file",
    18: "barcode trial+id study+no specimen+n* sample+no sample+id rand+no randno kit+n* donor+n* qr+code tracking+n*",
}
"""By the number of the class; written as the topics of the finder are."""

_PARTS = {"month": 12, "monat": 12, "mois": 12, "mes": 12, "maand": 12, "mm": 12, "mon": 12, "mth": 12, "quarter": 4, "qtr": 4}
_PARTS |= {"week": 53, "woche": 53, "semaine": 53, "wk": 53, "day": 366, "tag": 366, "jour": 366, "dia": 366, "dd": 31, "dy": 366}
_PARTS |= {"weekday": 7, "dow": 7, "wday": 7, "dayofweek": 7, "wochentag": 7, "doy": 366, "birthmonth": 12, "birthday": 366}
_DATED = frozenset(
    "date dates datum dt dat fecha data dttm datetime timestamp time admit admitted adm admission disch discharge discharged "
    "dsch svc service visit enc encounter dod dos doa doi death died deceased surgery procedure onset dx enrol "
    "enrolled from thru start end begin birthdate dob bday".split()
)
_DURATIONS = frozenset(
    "days months weeks hours minutes count counts cnt n num number los length duration per since between rate total avg mean sum "
    "stay stays times ratio pct share score type kind reason source status flag code category cat class method mode".split()
)
_BIRTH = frozenset(
    "bday birthday geb gebdat gebjahr dob yob doby birth born birthyr birthyear byear byr gbjr nac naiss bdate".split()
)
_YEARS = frozenset("yr year yrs jahr annee ano anno jaar vintage cohort wave".split())
_ZIPS = frozenset("zip zipcode zcta zcta5 zip5 zip9 zip4 zips zc zcode postal postcode plz".split())
_PLACES = frozenset(
    "county cnty cty fips countyfips tract blockgroup block zone parish borough ward precinct neighborhood neighbourhood suburb "
    "village hamlet town city muni municipality cbsa msa puma hrr hsa pcsa geocode".split()
)
_AGES = frozenset("age ages aged yrs years yo ageyr ageyrs agey alter edad leeftijd idade eta".split())
_AGE_ONLY = frozenset("yrs years yo yr old in of at".split())
_COUNTED = frozenset("count counts cnt total sum amount amt cost charge charges price income salary wage value score".split())
_MEASURED = frozenset(
    "size sizes type types kind kinds category cat class classes count counts cnt total number num n pct percent rate ratio "
    "score index rank level status flag density population distance share per income median mean avg year years tier grade "
    "group brand model make maker manufacturer color colour".split()
)


_SPLIT = [(item, tuple(p.split("+"))) for item, patterns in ITEMS.items() for p in patterns.split()]
_BEGINNINGS = [(item, pattern) for item, pattern in _SPLIT if pattern[0].endswith("*")]
_PATTERNS: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
"""Patterns by their first word, so that a name looks at few of them."""
for _item, _pattern in _SPLIT:
    _PATTERNS.setdefault(_pattern[0].lstrip("="), []).append((_item, _pattern))


@lru_cache(maxsize=50_000)
def _all(name: str) -> frozenset[str]:
    return frozenset((*raw_words(name), *words_of(name), *expanded(name), "".join(words_of(name))))


@lru_cache(maxsize=50_000)
def _starting(word: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Patterns whose first part a word fits."""
    begun = (p for p in _BEGINNINGS if word.startswith(p[1][0][:-1]))
    return (*begun, *_PATTERNS.get(word, ()))


def item_of(name: str) -> int | None:
    """The class that a name points to; None where none does.

    >>> item_of("mrno"), item_of("car_reg"), item_of("sn"), item_of("mother"), item_of("mother_age"), item_of("systolic")
    (8, 12, 13, 1, None, None)
    """
    found = set()
    for said in {words_of(name), raw_words(name)}:
        near = [p for word in said for p in _starting(word)]
        found |= {item for item, pattern in near if found_in(said, pattern)}
    return min(found, default=None)


def measured(name: str) -> bool:
    """Whether a name says a number, size or kind of something rather than the thing: ``city_size``, ``device_type``."""
    return bool(_all(name) & _MEASURED)


def counted(name: str) -> bool:
    """Whether a name says an amount or a count, of which every row may have its own."""
    return bool(_all(name) & _COUNTED)


def birth(name: str) -> bool:
    """Whether a name says birth: a day or year of it, not a weight, order or place."""
    said = _all(name)
    return bool(said & _BIRTH) and not said & {"weight", "order", "place", "country", "state", "rate", "type", "control", "plan"}


def dated(name: str) -> bool:
    """Whether a name says a date or an event that has one, and no length of time, count or kind."""
    said = _all(name)
    return bool(said & _DATED) and not said & _DURATIONS


def part_of_date(name: str) -> int:
    """The largest number of a month, week or day, where a name says one; 0 where it says none or a length of time."""
    said = _all(name)
    return 0 if said & _DURATIONS else max((_PARTS[w] for w in said if w in _PARTS), default=0)


def yearly(name: str) -> bool:
    """Whether a name says a year."""
    return bool(_all(name) & _YEARS)


def zipped(name: str) -> bool:
    """Whether a name says a ZIP code."""
    return bool(_all(name) & _ZIPS) and not measured(name)


def placed(name: str) -> bool:
    """Whether a name says a place smaller than a state."""
    return bool(_all(name) & _PLACES)


def region(name: str) -> bool:
    """Whether a name says a region, which may hold several states."""
    return bool(_all(name) & {"region", "regions", "division", "province", "area", "zone"}) and not placed(name)


def aged(name: str) -> bool:
    """Whether a name says years of age; ``years_of_service`` does not."""
    said = set(words_of(name))
    return bool(said & _AGES) and (bool(said & (_AGES - {"yrs", "years", "yo"})) or said <= _AGE_ONLY)


def per_year(name: str) -> float:
    """How many units of an age make a year.

    >>> per_year("age_months"), per_year("age")
    (12.0, 1.0)
    """
    said = _all(name)
    for words, units in (({"months", "month", "mos", "mo"}, 12.0), ({"days", "day"}, 365.25), ({"weeks", "week"}, 52.18)):
        if said & words:
            return units
    return 1.0


_STATES = (
    "alabama al alaska ak arizona az arkansas ar california ca colorado co connecticut ct delaware de florida fl georgia ga "
    "hawaii hi idaho id illinois il indiana in iowa ia kansas ks kentucky ky louisiana la maine me maryland md massachusetts ma "
    "michigan mi minnesota mn mississippi ms missouri mo montana mt nebraska ne nevada nv ohio oh oklahoma ok oregon or "
    "pennsylvania pa tennessee tn texas tx utah ut vermont vt virginia va washington wa wisconsin wi wyoming wy "
    "nh nj nm ny nc nd ri sc sd wv dc pr gu vi as mp"
).split()
_TWO_WORDS = (
    "new hampshire",
    "new jersey",
    "new mexico",
    "new york",
    "north carolina",
    "north dakota",
    "rhode island",
    "south carolina",
    "south dakota",
    "west virginia",
    "district of columbia",
    "puerto rico",
)
STATES = frozenset((*_STATES, *_TWO_WORDS))
"""States and territories of the United States, by name and by two letters."""
LARGE = frozenset(
    (
        *("northeast", "midwest", "south", "west", "us", "usa", "united states"),
        *("new england", "middle atlantic", "mid atlantic", "east north central", "west north central", "south atlantic"),
        *("east south central", "west south central", "mountain", "pacific"),
    )
)
"""Regions and divisions of the census, which hold several states."""
KINDS = frozenset(
    "urban rural suburban metro nonmetro metropolitan micropolitan nonmetropolitan city town village inner outer small large "
    "medium yes no remote frontier mixed big open country".split()
)
"""Words for kinds of places, which name none."""
LARGE_WORDS = frozenset(
    "state states statecode statefips stfips fipst stcode st country countries countrycode nation continent land bundesland "
    "staat pais pays paese cntry ctry".split()
)
"""Words of names that say a place as large as a state."""


def as_large_as_a_state(words: Iterable[str], values: Iterable[str]) -> bool:
    """Whether a column of places stays: it is named a state or country and holds none smaller, or all values are states.

    >>> as_large_as_a_state(["home"], ["CA", "NY"]), as_large_as_a_state(["region"], ["Midwest"]), as_large_as_a_state([], ["x"])
    (True, True, False)
    """
    plain = {folded(v.strip()) for v in values}
    if plain and all(v in STATES or v in LARGE for v in plain):
        return True
    named = any(w in LARGE_WORDS for w in words)
    return named and len(plain) <= 300 and not any(re.fullmatch(r"\d{5,}(-\d+)?", v) for v in plain)


def kinds_of_places(values: Iterable[str]) -> bool:
    """Whether the values are kinds of places (urban, rural), not names of places.

    >>> kinds_of_places(["urban", "Small town"]), kinds_of_places(["Cook"])
    (True, False)
    """
    allowed = KINDS | {"or", "and", "area", "of"}
    said = [set(re.split(r"[^a-z]+", folded(v))) - {""} for v in values]
    return all(words and words <= allowed for words in said)
