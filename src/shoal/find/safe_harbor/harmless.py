"""Columns recognized as none of the Safe Harbor identifiers: known words, code lists, small vocabularies, measured numbers.

Takes    the facts of a column of which no value and no name points to an identifier
Returns  the evidence that it is harmless; empty if nothing shows that, and a person must decide
Keeps    a name never vouches for values: codes must have the form of their list, numbers the range of what the name says, and a
         text that few rows share must consist of known words
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from shoal.find.dates import CACHED
from shoal.find.finding import ColumnFacts
from shoal.find.identifiers import FEWEST_PLACES, rounded
from shoal.find.name_words import LITTLE, raw_words, words_of
from shoal.find.people import holds_name
from shoal.find.safe_harbor import column_names as words
from shoal.find.safe_harbor.coarse import OLDEST
from shoal.find.topics import TOPICS, Topic, topic_of
from shoal.find.vocabulary import folded, sections, texts, word_set
from shoal.kernels.text import Pattern
from shoal.model.roles import Role

MOST_WORDS, SHARED_BY = 60, 3
"""Different texts of a small vocabulary, and the rows that must share a text of unknown words."""
KNOWN_SHARE = 1 / 3
"""Share of the texts of a small vocabulary in which a word is known: names and places have none."""
MOST_KINDS, MOST_CODES = 30, 99_999
"""Different numbers of a column of categories, and the largest code."""
LONG, MOSTLY = 7, 0.8
"""Digits from which whole numbers may be numbers of people or things, unless many are round."""
ZIP_DIGITS, FIRST_DAY, FIRST_YEAR, LAST_YEAR, FEW_NUMBERS = 5, 10_000, 1880, 2040, 12
"""What numbers of days, ZIP codes and years have, from so many different numbers on."""
MOST_YEARS = 89
_NOT_HARMLESS = frozenset("birth_place facility industry moved technical group suffix".split())
"""Topics without an identifier of the list whose values may still be places, names, dates or running numbers."""
_TITLES = word_set("names", "title before a name")
_YEARS = (word_set("column_names", "years") | word_set("column_names", "year")) - {"num"} | set(
    "old aged an ans jahren y yo".split()
)
"""Words beside a number that may be an age."""
_INITIALS = Pattern(r"(?:[A-Z]\.[ -]?){2,}")
"""Initials of a name."""
_LISTS = ("values", "orders", "missing", "quantities", "places")


@cache
def _known() -> tuple[frozenset[str], frozenset[str]]:
    """Words of values that stand alone in the word lists, and beginnings of such words."""
    words = {text for name in _LISTS for section in sections(name) for text in texts(name, section)}
    patterns = (pattern for topic in TOPICS if _tells_nobody(topic) for pattern in topic.patterns)
    words |= {part for pattern in patterns for part in pattern if part[0] != "*" and len(part) > 2}
    parts = {part for text in words for part in re.split(r"[^\w*]+", text.lstrip("=")) if part}
    return frozenset(p for p in parts if p[-1] != "*"), frozenset(p[:-1] for p in parts if p[-1] == "*" and len(p) > 3)


@lru_cache(maxsize=CACHED)
def known_text(text: str) -> bool:
    """Whether a text consists of words that the lists of values contain, single letters and numbers up to 999.

    >>> [known_text(t) for t in ("never married", "Yes", "18 to 64", "A+", "Springfield", "born 4 May 1965", "J. S.")]
    [True, True, True, True, False, False, False]
    """
    whole, begun = _known()
    parts = _parts(text)
    if _INITIALS.fullmatch(text.strip()):
        return False
    if sum(w.isdigit() for w in parts) > 2 or len(parts) > 10 or (len(parts) > 1 and not _TITLES.isdisjoint(parts)):
        return False
    if old_age(parts):
        return False
    return all(
        (len(w) == 1 and w.isalpha())
        or (w.isdigit() and len(w) <= 3)
        or w in whole
        or w in LITTLE
        or any(w[:n] in begun for n in range(3, len(w) + 1))
        for w in parts
    )


def _parts(text: str) -> list[str]:
    return [w for w in re.split(r"[^\w]+|_+", folded(text)) if w]


def old_age(parts: Sequence[str]) -> bool:
    """Whether a number above 89 stands beside a word for years.

    >>> old_age(["93", "years", "old"]), old_age(["89", "years", "old"]), old_age(["93", "mg"])
    (True, False, False)
    """
    return not _YEARS.isdisjoint(parts) and any(w.isdigit() and int(w) > OLDEST for w in parts)


class CodeList(NamedTuple):
    """A published list of codes: words of column names that announce it, its form, and its check digit if it has one."""

    what: str
    words: frozenset[str]
    form: Pattern
    check: Callable[[str], bool] = bool


def _mod10(code: str) -> bool:
    """The check digit of LOINC: Luhn over the digits before it.

    >>> _mod10("718-7"), _mod10("718-6")
    (True, False)
    """
    doubled = (int(d) * (1 + i % 2) for i, d in enumerate(reversed(code.replace("-", ""))))
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


_TURN = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def _verhoeff(code: str) -> bool:
    """The check digit of SNOMED CT.

    >>> _verhoeff("22298006"), _verhoeff("22298007")
    (True, False)
    """
    check = 0
    for i, digit in enumerate(map(int, reversed(code))):
        for _ in range(i % 8):
            digit = _TURN[digit]
        check = _times(check, digit)
    return check == 0


def _times(a: int, b: int) -> int:
    """The product of two elements of the dihedral group of order ten."""
    turned = (a + b) % 5 if a < 5 else (a - b) % 5
    return turned + (5 if (a >= 5) != (b >= 5) else 0)


def _codes(what: str, text: str, form: str, check: Callable[[str], bool] = bool) -> CodeList:
    return CodeList(what, frozenset(text.split()), Pattern(form, re.IGNORECASE), check)


CODE_LISTS: tuple[CodeList, ...] = (
    _codes(
        "diseases (ICD)",
        "icd icd9 icd10 icd11 dx diag cim cie",
        r"[a-z]\d[0-9a-z](\.?[0-9a-z]{1,4})?|\d{3}(\.?\d{1,2})?|\d{2}\.\d{1,2}|E\d{3}(\.\d)?",
    ),
    _codes("medicines (ATC)", "atc", r"[a-z](\d{2}([a-z]([a-z](\d{2})?)?)?)?"),
    _codes("tests (LOINC)", "loinc", r"\d{1,5}-\d", _mod10),
    _codes("clinical terms (SNOMED CT)", "snomed sctid sct", r"[1-9]\d{5,17}", _verhoeff),
    _codes("occupations", "soc isco kldb occ", r"\d{2}-\d{4}(\.\d{2})?|\d{1,4}"),
    _codes("procedures", "cpt hcpcs ops ccam", r"\d{5}|\d{4}[a-z]|[a-z]\d{4}|[a-z]{4}\d{3}"),
    _codes("groups of cases (DRG)", "drg msdrg aprdrg mdc", r"\d{1,3}|[a-z]\d{2}[a-z]"),
    _codes("industries", "naics nace sic isic", r"\d{2,6}|[a-z](\d{2}(\.\d{1,2})?)?"),
    _codes("medicines (NDC)", "ndc", r"\d{4}-\d{4}-\d{2}|\d{5}-(\d{3}-\d{2}|\d{4}-\d{1,2})"),
    _codes("countries or languages", "iso iso2 iso3 countrycode", r"[a-z]{2,3}"),
)


def test_codes(values: Sequence[str]) -> bool:
    """Whether at least three texts are all codes of tests (LOINC) with a correct check digit; some look like months of a year."""
    loinc = CODE_LISTS[2]
    return len(values) >= 3 and all(loinc.form.fullmatch(v) and loinc.check(v) for v in values)


def harmless(facts: ColumnFacts, values: Sequence[str]) -> str:
    """Why a column is recognized as harmless; empty if it is not.

    >>> def column(name, *texts):
    ...     return ColumnFacts(name, "text", sorted(texts), np.full(len(texts), 50), 50 * len(texts))
    >>> columns = column("x", "yes", "no"), column("kind", "Oslo", "Bergen"), column("icd10", "I10", "E11.9")
    >>> [bool(harmless(c, c.values)) for c in columns]
    [True, False, True]
    """
    if facts.kind == "boolean":
        return "its values are yes and no"
    if facts.numbers is not None and facts.kind != "text":
        return coded(facts, values) or _number(facts)
    if test_codes(values):
        return "its values are codes of tests (LOINC) with their check digits"
    return _explain_words(facts, values) or coded(facts, values) or _number(facts) or _bands(facts, values) or _vocabulary(facts)


def _explain_words(facts: ColumnFacts, values: Sequence[str]) -> str:
    known = facts.numbers is None and len(values) <= MOST_WORDS and all(map(known_text, values))
    return "its values are words that Shoal knows, and name nobody" if known else ""


def coded(facts: ColumnFacts, values: Sequence[str]) -> str:
    """Codes of a list that the name announces; every value must be one, or a known word such as "unknown"."""
    name_words = {*raw_words(facts.name), *words_of(facts.name)}
    for codes in CODE_LISTS:
        if codes.words & name_words:
            bare = [v.strip() for v in values if not v.strip().isalpha() or not known_text(v)]
            fit = bool(bare) and all(codes.form.fullmatch(v) and codes.check(v) for v in bare) and not _like_ages(facts)
            return f"its name says codes of {codes.what}, and its values have their form" if fit else ""
    return ""


def _like_ages(facts: ColumnFacts) -> bool:
    """Whether whole numbers fill a range that ends where ages do."""
    numbers = facts.numbers
    return (
        numbers is not None
        and len(numbers) > MOST_KINDS
        and MOST_YEARS <= numbers.max() <= 115
        and len(numbers) > numbers.max() / 2
    )


def _topic(facts: ColumnFacts) -> Topic | None:
    """What the name says, if that cannot be an identifier."""
    topic = topic_of(facts.name)
    return topic if topic is not None and _tells_nobody(topic) else None


def _tells_nobody(topic: Topic) -> bool:
    return topic.role is not Role.DIRECT and topic.hipaa is None and topic.key not in _NOT_HARMLESS


def _number(facts: ColumnFacts) -> str:
    """A measured or counted number in the range of what its name says, or a few codes of categories."""
    numbers = facts.numbers
    if numbers is None or not np.all(np.isfinite(numbers)):
        return ""
    if facts.whole and facts.distinct == 2 and 0 <= numbers.min() <= numbers.max() <= 2:
        return "it has two values, as yes and no have"
    topic, size = _topic(facts), float(np.max(np.abs(numbers)))
    counted, quantity = words.says(facts.name, "amount"), words.quantified(facts.name)
    money = topic is not None and topic.about == "money"
    if _may_identify(facts, money or counted):
        return ""
    if topic is not None and topic.scale != "number" and not quantity and not counted:
        coded = facts.whole and numbers.min() >= -9 and size <= MOST_CODES and facts.distinct <= MOST_KINDS
        return f"its name says {topic.says}, and its values are few codes" if coded else ""
    if topic is not None or counted:
        return f"its name says {topic.says if topic else 'an amount or count'}, and its values are measured numbers"
    if quantity:
        limit = MOST_YEARS if words.says(facts.name, "year") else 10_000
        return "its name says how much or how many, and its values are small numbers" if size <= limit else ""
    return ""


def _may_identify(facts: ColumnFacts, amounts: bool) -> bool:
    """Whether numbers may be days, years, ZIP codes, positions or numbers of people, under a name that does not say amounts."""
    numbers = facts.numbers
    assert numbers is not None
    if facts.distinct <= FEW_NUMBERS:
        return float(np.max(np.abs(numbers))) >= float(10**LONG)
    if not facts.whole:
        serial = facts.low >= FIRST_DAY and not amounts
        near = float(np.max(np.abs(numbers))) <= 180 and facts.distinct > 0.5 * facts.filled
        decimals = np.array([len(v.partition(".")[2]) for v in facts.values])
        return serial or (near and float(np.mean(decimals >= FEWEST_PLACES)) > MOSTLY)
    if FIRST_YEAR <= numbers.min() <= numbers.max() <= LAST_YEAR:
        return True
    lengths = np.array([len(v.removesuffix(".0").lstrip("-")) for v in facts.values])
    five = float(np.mean(lengths == ZIP_DIGITS)) > MOSTLY and not amounts
    whole_decade = float(lengths.min()) == lengths.max() == LONG - 1 and bool(numbers.max() > 5 * numbers.min()) and not amounts
    return (five or whole_decade or float(np.mean(lengths >= LONG)) > 1 - MOSTLY) and not rounded(facts)


_BAND = Pattern(r"[\s\d.,()\[\]<>=≤≥+*–-]+")


def _bands(facts: ColumnFacts, values: Sequence[str]) -> str:
    """Bands of a number whose name says a measure."""
    quantity = words.quantified(facts.name) or words.says(facts.name, "amount") or _topic(facts) is not None
    short = all(len(n) < LONG for v in values for n in re.findall(r"\d+", v))
    if quantity and short and len(values) <= MOST_WORDS and all(_BAND.fullmatch(v) or known_text(v) for v in values):
        return "its name says a measure, and its values are bands of numbers"
    return ""


_ODD = Pattern(r"\d{4}|@|//|www\.|\d\D+\d+\D+\d|\b(?=\w*\d)(?=\w*[^\W\d])\w{7,}")
"""What no category of a small vocabulary contains: long or many numbers, addresses, long codes."""


def _vocabulary(facts: ColumnFacts) -> str:
    """A small closed vocabulary under a name that says what it is: every text of unknown words is shared by several rows."""
    topic = _topic(facts)
    reason = f"its name says {topic.says}" if topic else "its name says a kind" if words.says(facts.name, "kind") else ""
    if not reason or facts.distinct > MOST_WORDS or facts.distinct != len(facts.counts):
        return ""
    some_known = sum(any(len(w) > 2 and known_text(w) for w in re.split(r"[\W_]+", v)) for v in facts.values)
    if some_known < KNOWN_SHARE * facts.distinct:
        return ""
    for value, rows in zip(facts.values, facts.counts, strict=True):
        if known_text(value):
            continue
        capital = topic is None and value[:1].isupper() and not value.isupper()
        odd = _ODD.search(value) or holds_name(value) or old_age(_parts(value))
        if rows < SHARED_BY or odd or capital or len(value.split()) > 6:
            return ""
    return f"{reason}, and its values are a small vocabulary that rows share"
