"""Questions in plain words: ``Amsterdam`` instead of ``NL/Amsterdam@2021``, ``age`` instead of the coding that is known there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from shoal.errors import UsageError, nearest
from shoal.registry.records.counts import AGES
from shoal.registry.records.population import Population, place_names, places_called
from shoal.registry.records.vocabulary import CHAINS, attribute, check_code

MOST = 100_000
SHOWN = 5


class Places(Protocol):
    """A source of records, as far as places are looked up."""

    def topics(self, text: str = "", *, limit: int = 1000) -> Iterable[tuple[str, tuple[str, ...]]]: ...

    def codings(self, population: str) -> list[tuple[str, ...]]: ...


def population_of(source: Places, text: str) -> Population:
    """A population by its full name, or by the last part of its place: of several periods the latest.

    >>> from shoal.registry.keep.builtin import BuiltIn
    >>> str(population_of(BuiltIn(), "amsterdam"))
    'NL/Amsterdam@2021'
    """
    if "@" in text or not text.strip():
        return Population.parse(text)
    wanted, called = text.strip().casefold(), places_called(text, whole=True)
    known = [Population.parse(p) for p in {p for p, _ in topics_of(source, text.strip(), limit=MOST)}]
    fitting = [
        p for p in known
        if not p.filters and (wanted in (p.place.casefold(), p.place.rpartition("/")[2].casefold()) or p.place in called)
    ]  # fmt: skip
    places = sorted({p.place for p in fitting})
    if len(places) == 1:
        return max(fitting, key=lambda p: p.period)
    if places:
        listed = ", ".join(places[:SHOWN]) + (" …" if len(places) > SHOWN else "")
        raise UsageError(f"'{text[:60]}' is the name of {len(places)} places.", hint=f"Name one of them: {listed}.")
    raise UsageError(f"nothing is known about a place called '{text[:60]}'.", hint=" ".join(nearby(source, text)))


def topics_of(source: Places, text: str, *, limit: int) -> list[tuple[str, tuple[str, ...]]]:
    """Population and codes of records whose population contains the text, or whose country or state is called so."""
    topics = list(source.topics(text.casefold(), limit=limit))
    for place in places_called(text) if text else ():
        inside = (t for sign in "@/" for t in source.topics(f"{place}{sign}".casefold(), limit=limit))
        topics += [t for t in inside if t not in topics and f"{t[0].partition('@')[0]}/".startswith(f"{place}/")]
    return topics


def grouped(source: Places, most: int) -> Iterator[str]:
    """Lines about what there is: each country with the number of its places and one of them, those with most places first."""
    counted = countries(source)
    example = {p.partition("@")[0].partition("/")[0]: f"{p} ({', '.join(codes)})" for p, codes in source.topics("", limit=MOST)}
    yield f"{len(counted):,} countries, {sum(counted.values()):,} places. More about one: shoal registry search NAME"
    ranked = sorted(counted, key=lambda c: (-counted[c], c))
    for country in ranked[:most]:
        name = next(iter(place_names().get(country, ())), country)
        yield f"{name} ({country}): {counted[country]:,} {'place' if counted[country] == 1 else 'places'}, as {example[country]}"
    if len(ranked) > most:
        yield f"… and {len(ranked) - most:,} countries more: add --most."


def nearby(source: Places, text: str) -> Iterator[str]:
    """What is there instead of a place that nothing is known about: places of a like name, and countries."""
    names = {p.partition("@")[0].rpartition("/")[2]: p for p, _ in source.topics("", limit=MOST)}
    close = nearest(text.strip(), names, alike=0.7)
    if close:
        yield f"Did you mean {names[close]}?"
    counted, country = countries(source), text.strip().partition("/")[0].upper()
    if "/" in text and country in counted:
        yield f"Name a period, as {text.strip()}@2021, to ask what its neighbours tell, or see: shoal registry search {country}."
    elif len(counted) > SHOWN:
        yield f"There are records of {len(counted)} countries: name the country, for instance Kenya."
    else:
        listed = ", ".join(f"{c} ({n:,} {'place' if n == 1 else 'places'})" for c, n in counted.items())
        yield f"There are records of {listed}." if counted else "It is empty."


def countries(source: Places) -> dict[str, int]:
    """The countries that records are about, each with the number of its places."""
    out: dict[str, set[str]] = {}
    for population, _ in source.topics("", limit=MOST):
        place = population.partition("@")[0]
        out.setdefault(place.partition("/")[0], set()).add(place)
    return {country: len(out[country]) for country in sorted(out)}


def codes_of(source: Places, asked: Iterable[str], people: Population) -> list[str]:
    """Codes of the vocabulary for a question: a code, an attribute in any language, or an answer (``age=34``).

    An attribute stands for the finest coding that is known there; where nothing is known there, for that of the wider population,
    else the finest of the vocabulary. An age that is given shows the coding: ``34`` in years, ``30-34`` in fives.

    >>> from shoal.registry.keep.builtin import BuiltIn
    >>> codes_of(BuiltIn(), ["age=30-39", "Geschlecht=weiblich", "postcode"], Population.parse("NL/Amsterdam@2021"))
    ['age/10y', 'sex', 'postcode/NL/pc4']
    """
    order = {code: i for i, code in enumerate(c for chain in CHAINS for c in chain)}
    codes = [_without_answer(text) for text in asked]
    if all(code in order for code in codes):
        return codes
    places = (source.codings(str(place)) for place in (people, *people.parents()))
    known = {code for coding in next(filter(None, places), []) for code in coding}

    def finest(code: str) -> str:
        finer = [k for k in known if attribute(k).split("/")[0] == code] if code not in order else []
        if finer:
            return min(finer, key=lambda k: (order.get(k, len(order)), k))
        chains = [chain for chain in CHAINS if chain[0].startswith(f"{code}/") and chain[0].count("/") == 1]
        if len(chains) == 1:
            return chains[0][0]
        there = [c for c in order if c.startswith(f"{code}/{people.place.partition('/')[0]}/")]
        return there[0] if len(there) == 1 else check_code(code, there)

    return [finest(code) for code in codes]


def _without_answer(text: str) -> str:
    """The attribute of an answer, or the text as it is; of an age in the coding that the answer shows."""
    code, _, answer = text.partition("=")
    called = _attribute_for(code.strip())
    first, _, last = answer.strip().partition("-")
    if called != "age" or not (first.isdecimal() and (last or first).isdecimal()):
        return called
    years = int(last or first) - int(first) + 1
    return next((code for code, width in AGES.items() if width == years), "age")


def _attribute_for(word: str) -> str:
    """The attribute that a word is for, in any language; the word itself if it is none or a code already."""
    attributes = {chain[0].partition("/")[0] for chain in CHAINS}
    if word in attributes or "/" in word:
        return word
    from shoal.find.topics import topics_beside  # loads the words of all languages

    topic = topics_beside([(word, "")])[0]
    key = "" if topic is None else {"birth_date": "birth"}.get(topic.key, topic.key)
    return key if key in attributes - {"place"} else word
