"""What a column is about, by the words of its values: sex, marital status, race, belief, work, places, codes with a known form.

Each vocabulary is a pattern over folded text; a column speaks of it where at least 60 % of its distinct values do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from string import ascii_lowercase

from shoal.find.dates import CACHED
from shoal.find.finding import Evidence, remembered
from shoal.find.identifiers import spread
from shoal.find.vocabulary import beginnings, folded, word_pattern, word_set
from shoal.kernels.text import Pattern

SHARE, FEW_CODES = 0.6, 20
"""Share of the values that must fit, and codes below which the same numbers behind several letters count something."""
ROWS_OF_SEATS = 9
"""Letters from A on, without a gap, up to which codes such as B12 may be those of rooms or seats."""


@dataclass(frozen=True)
class Vocabulary:
    """Words of one topic: the key of the topic, what to say, the pattern, how sure, and the most values such a column has."""

    topic: str
    what: str
    pattern: Pattern
    confidence: float
    most: int = 10**9
    least: int = 2
    mark: Pattern | None = None
    """What a tenth of the values must hold, where plain numbers have the form too."""
    letters: int = 1
    """Different first signs that the values must have, where a running number behind one letter has the form too."""
    section: str = ""
    """The section of words; empty for codes."""


_DISEASES, _ICD_10 = "codes of diseases (ICD-10)", r"[a-tv-z]\d{2}(\.?[0-9a-z]{1,4})?"
CODES: tuple[Vocabulary, ...] = (
    Vocabulary("drug", "codes of medicines (ATC)", Pattern(r"[a-z]\d{2}[a-z]{1,2}(\d{2})?"), 0.85, least=3),
    Vocabulary("diagnosis", _DISEASES, Pattern(_ICD_10), 0.8, least=5, letters=2, mark=Pattern(r"...\.?[0-9a-z]")),
    Vocabulary("diagnosis", _DISEASES, Pattern(_ICD_10), 0.8, least=5, letters=2),
    Vocabulary(
        "diagnosis",
        "codes of diseases (ICD-9)",
        Pattern(r"(\d{3}(\.\d{1,2})?|v\d{2}(\.\d{1,2})?|e\d{3}(\.\d)?)"),
        0.6,
        least=30,
        mark=Pattern(r".*[.ve]"),
    ),
    Vocabulary("postcode", "British postcodes", Pattern(r"[a-z]{1,2}\d[a-z\d]? ?\d[a-z]{2}"), 0.9, least=3),
    Vocabulary("postcode", "Dutch postcodes", Pattern(r"[1-9]\d{3} ?[a-z]{2}"), 0.9, least=3),
    Vocabulary("postcode", "Canadian postcodes", Pattern(r"[a-z]\d[a-z] ?\d[a-z]\d"), 0.9, least=3),
    Vocabulary("postcode", "postcodes", Pattern(r"\d{5}-\d{3,4}|\d{4}-\d{3}|[a-z]{1,2}-\d{4,5}"), 0.85, least=3),
    Vocabulary(
        "place",
        "codes of regions (NUTS)",
        Pattern(r"(at|be|bg|cy|cz|de|dk|ee|el|es|fi|fr|hr|hu|ie|it|lt|lu|lv|mt|nl|pl|pt|ro|se|si|sk|uk|no|ch)[0-9a-z]{1,3}"),
        0.8,
        least=5,
    ),
    Vocabulary(
        "place",
        "states of the USA",
        Pattern(
            "a[klrsz]|c[aot]|d[ce]|f[lm]|g[au]|hi|i[adln]|k[sy]|la|m[adehinopst]|n[cdehjmvy]|o[hkr]|p[arw]|ri|s[cd]|t[nx]|ut|v[ait]|w[aivy]"
        ),
        0.8,
        least=8,
    ),
    Vocabulary(
        "place",
        "states of Brazil",
        Pattern("ac|a[lmp]|ba|ce|df|es|go|m[agst]|p[abeir]|r[jnors]|s[cep]|to"),
        0.8,
        least=8,
    ),
    Vocabulary("lab", "codes of tests (LOINC)", Pattern(r"\d{3,5}-\d"), 0.7, least=5),
    Vocabulary("lab", "blood groups", Pattern(r"(ab?|[b0o]) ?(rh ?)?\(?([+-]|(pos|neg|poz)\w*)\)?(rh)?"), 0.85, most=12, least=4),
)


def _words(topic: str, what: str, confidence: float, *, most: int = 10**9, least: int = 2, section: str = "") -> Vocabulary:
    pattern = Pattern(word_pattern("values", section or topic))
    return Vocabulary(topic, what, pattern, confidence, most, least, section=section or topic)


VOCABULARIES: tuple[Vocabulary, ...] = (
    _words("sex", "the sexes", 0.9, most=8),
    _words("marital", "marital status", 0.9, most=15),
    _words("race", "race or ethnic groups", 0.85, most=40, least=3),
    _words("religion", "beliefs", 0.88, most=60),
    _words("employment", "kinds of employment", 0.8, most=25, least=3),
    _words("industry", "departments of a firm", 0.85, most=60, least=3, section="department"),
    _words("occupation", "occupations", 0.75, least=5),
    _words("crime", "crimes or charges", 0.8, least=3),
    _words("language", "languages", 0.6, most=60, least=3),
    _words("outcome", "outcomes of care", 0.8, most=40),
    _words("lab", "results of tests", 0.8, most=12),
    _words("diagnosis", "illnesses", 0.85, least=4),
    _words("crime", "offences", 0.8, least=4, section="offence"),
    _words("education", "levels of schooling", 0.75, most=40, least=3),
    _words("place", "kinds of place", 0.7, most=30),
    _words("country", "countries", 0.85, least=4),
    _words("insurance", "kinds of insurance", 0.75, most=20, least=3),
    _words("title", "forms of address", 0.85, most=12),
    _words("housing", "kinds of housing", 0.7, most=10, least=3),
)


_SEATS = [set(ascii_lowercase[:n]) for n in range(1, ROWS_OF_SEATS + 1)]


@remembered
def spoken_of(values: Sequence[str], kind: str) -> tuple[str, Evidence] | None:
    """The topic that the words or codes of the values speak of, with the evidence; None where they speak of none."""
    if kind not in ("text", "other") or not values:
        return None
    looked = [folded(v) for v in spread(values, 300) if folded(v) not in _EMPTY_WORDS]
    if not looked:
        return None
    best: tuple[str, Evidence] | None = None
    spoken = Counter(i for v in looked for i in _fitting(v))
    for i, n in sorted(spoken.items()):
        vocabulary, share = _ALL[i], n / len(looked)
        if len(values) > vocabulary.most or len(looked) < vocabulary.least or len({v[:1] for v in looked}) < vocabulary.letters:
            continue
        if vocabulary.letters > 1 and len(looked) < FEW_CODES and 4 * len({v[1:] for v in looked}) < 3 * len(looked):
            continue  # A14, H14, A15, H15: terms of years
        if vocabulary.letters > 1 and {v[:1] for v in looked} in _SEATS and not any("." in v for v in looked):
            continue  # A10 to C29
        if vocabulary.mark is not None and 10 * sum(vocabulary.mark.match(v) is not None for v in looked) < len(looked):
            continue
        needed = SHARE if i < len(VOCABULARIES) else 0.9
        if share >= needed and (best is None or share * vocabulary.confidence > best[1].share * best[1].confidence):
            best = vocabulary.topic, Evidence(vocabulary.what, round(share, 3), vocabulary.confidence)
    return best


_ALL = (*VOCABULARIES, *CODES)


@lru_cache(maxsize=CACHED)
def _fitting(text: str) -> tuple[int, ...]:
    """The places of the vocabularies that a folded text speaks in; codes are whole texts."""
    words = (i for i in _possible(text) if VOCABULARIES[i].pattern.match(text))
    codes = (i for i, v in enumerate(CODES, len(VOCABULARIES)) if v.pattern.fullmatch(text))
    return (*words, *codes)


_WORD_START = re.compile(r"\b\w")


@cache
def _first_words() -> tuple[dict[str, set[int]], dict[str, set[int]]]:
    """Whole texts, and words with which entries begin, with the places of their vocabularies."""
    whole: dict[str, set[int]] = {}
    first: dict[str, set[int]] = {}
    for i, vocabulary in enumerate(VOCABULARIES):
        for index, entries in zip((whole, first), beginnings("values", vocabulary.section), strict=True):
            for entry in entries:
                index.setdefault(entry, set()).add(i)
    return whole, first


def _possible(text: str) -> list[int]:
    """Vocabularies of which a text has the beginning of an entry: the patterns of the others need not be compiled.

    >>> [VOCABULARIES[i].topic for i in _possible("never-married")]
    ['marital']
    """
    whole, first = _first_words()
    longest = max(map(len, first))
    parts = (text[at.start() : at.start() + n] for at in _WORD_START.finditer(text) for n in range(1, longest + 1))
    return sorted(whole.get(text, set()).union(*(first[part] for part in parts if part in first)))


_EMPTY_WORDS = word_set("values", "other")
