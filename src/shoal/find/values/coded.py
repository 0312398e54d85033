"""Codes with a known form: diseases, medicines, postcodes, regions, states, tests; each is a vocabulary of whole texts."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.kernels.text import Pattern


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


CODES: tuple[Vocabulary, ...] = (
    Vocabulary("drug", "codes of medicines (ATC)", Pattern(r"[a-z]\d{2}[a-z]{1,2}(\d{2})?"), 0.85, least=3),
    Vocabulary("diagnosis", "codes of diseases (ICD-10)", Pattern(r"[a-tv-z]\d{2}(\.?[0-9a-z]{1,4})?"), 0.8, least=5, letters=2),
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
)
