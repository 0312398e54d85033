"""Levels of schooling in words, in order: the height that a label speaks of, by its words in seven languages."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.find.names.words import folded
from shoal.kernels.text import Pattern

_HEIGHTS: tuple[tuple[float, str], ...] = (
    (9.0, r"doctor|docto|ph\.?d|doktor|promotion|doutor|dottorato|dr\b|postgrad|post-grad|post grad|third cycle"),
    (8.5, r"prof.?school|prof.? degree|professional degree|professional school|habilitation"),
    (
        8.0,
        r"master|magister|maestria|mestrado|laurea magistrale|diplom\b|graduate degree|graduate school|advanced degree|"
        r"^grad(uate)?$|bac ?\+ ?5|graduate or prof|postgraduate|more than college|isced ?7",
    ),
    (5.8, r"some college|some.college|some univ|attended college"),
    (
        6.0,
        r"associate|assoc|junior college|two.?year|2.?year|technical college|bac ?\+ ?2|bts|dut|hnd|"
        r"post.?secondary|isced ?[45]|aa degree|below degree|tecnic[oa] superior",
    ),
    (
        7.0,
        r"bachelor|licence\b|college grad|college degree|college or|four.?year|4.?year|\buniv|\blaurea|licenciatura|"
        r"graduacao|graduate|hochschul|fachhochschul|wo\b|hbo\b|superieur|superior|tertiary|higher|bac ?\+ ?[34]|degree|"
        r"isced ?6|academic",
    ),
    (3.4, r"scuola media|licenza media|^media$|brevet|college \("),
    (4.1, r"\bcap\b|\bbep\b|cap,|qualifica prof"),
    (5.9, r"college\b"),
    (
        5.0,
        r"vocational|voc\b|technique|technical|trade|apprentice|lehre|berufs|mbo\b|formation prof|fp\b|profession|"
        r"professional|vmbo|tecnic[oa]",
    ),
    (3.6, r"lt high|some high|less than high|9 ?- ?1[12]|^< ?h"),
    (
        4.6,
        r"high school (grad|dipl)|hs.?dipl|hs.?grad|ged\b|baccalaur|bac\b|abitur|fachabitur|matura|vwo\b|a.?level|"
        r"upper second|secundaria completa|medio completo|bachillerato|scuola superiore|diploma superiore|"
        r"secondary complete|completed high|maturita|diploma$|2eme cycle|second cycle|lycee|havo|grade 12|isced ?3",
    ),
    (4.5, r"high school|\bhs\b"),
    (
        4.3,
        r"12th|upper|11th|secondary|secundari|media superior|ensino medio|polimodal|haupt|hauptschule|"
        r"preparatoria|middelbaar",
    ),
    (4.0, r"10th|realschul|mittlere reife|mavo|o.?level|gcse"),
    (
        3.5,
        r"9th|some high|less than high|9 ?- ?1[12]|1er cycle|first cycle|lower second|junior high|middle school|lower|"
        r"college \(|scuola media|brevet|bepc|fundamental completo|isced ?2",
    ),
    (3.0, r"7th|8th|5th-8th"),
    (
        2.5,
        r"5th|6th|elementary|primary|primaire|primaria|primario|grundschul|basisonderwijs|fundamental|basic|isced ?1|"
        r"elementare|volksschule|\bcep\b|certificat d.etudes",
    ),
    (2.0, r"1st|2nd|3rd|4th"),
    (1.0, r"preschool|pre-school|kindergarten|nursery|preescolar|inicial|isced ?0"),
    (
        0.0,
        r"no schooling|no education|none|never|without|ill?iter|analfab|jamais|aucun|sin (instruccion|estudios|"
        r"educacion)|sem (instrucao|estudos)|keine?|geen|nessun|no formal|no school|uneducated|not literate|"
        r"less than primary|in school",
    ),
)
_HEIGHTS_COMPILED = tuple((height, Pattern(pattern)) for height, pattern in _HEIGHTS)
_UNFINISHED = Pattern(
    r"^<|incomplet|unfinished|some\b|avant|arrete|interrupted|abgebrochen|not complet|attended|dropout|less than|no dipl|"
    r"ohne abschluss|zonder diploma|ongoing|in progress|short|court|elem"
)
_FINISHED = Pattern(r"complet(?!o? ?in)|derniere annee|graduated|long\b|mit abschluss|dipl")
_NUMBERED = Pattern(r"(?:grade|class|year|jahr|annee|ano|anno)?\s*(\d{1,2})(?:st|nd|rd|th)?\b.*")


def schooling_order(values: Sequence[str]) -> tuple[str, ...]:
    """Labels of schooling from low to high; empty where a label does not speak of schooling or two speak of the same height.

    >>> schooling_order(["Masters", "HS-grad", "10th", "Bachelors", "Some-college"])
    ('10th', 'HS-grad', 'Some-college', 'Bachelors', 'Masters')
    """
    heights = {v: _height(folded(v)) for v in values}
    if len(values) < 3 or any(h is None for h in heights.values()) or len(set(heights.values())) < 0.7 * len(values):
        return ()
    return tuple(sorted(values, key=lambda v: heights[v] or (0.0, 0.0)))


def schooling_share(values: Sequence[str]) -> float:
    """The share of labels that speak of schooling."""
    return sum(_height(folded(v)) is not None for v in values) / len(values) if values else 0.0


def _height(text: str) -> tuple[float, float] | None:
    plain = text.replace("_", " ")
    never = _HEIGHTS_COMPILED[-1][1].search(plain)
    if never and not re.search(r"less than", plain):
        return 0.0, 0.0
    for height, pattern in _HEIGHTS_COMPILED:
        if pattern.search(plain):
            half = (
                -0.2
                if _UNFINISHED.search(plain) and "some college" not in plain.replace("-", " ")
                else 0.2
                if _FINISHED.search(plain)
                else 0.0
            )
            number = _NUMBERED.match(plain)
            return height + half, float(number.group(1)) if number else 0.0
    return None
