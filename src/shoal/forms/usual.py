"""Shares of the answers of usual questions (marital status, education, work …), as people of a few countries gave them.

Takes    what a question is about, its words, the texts of its answers, and the country whose people are asked
Returns  a share for each answer, and whose they are: of the country, or of all listed countries alike; None for other questions
Source   ``usual.toml``, which names the public table of each country
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from shoal.find.vocabulary import folded

AGES = 121
"""Answers of a question for an age without bounds: 0 to 120."""
RARE = 0.01
"""Share of a choice of which nothing is known, beside others that are guessed; and of people who choose several."""


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(files("shoal.forms").joinpath("usual.toml").read_text(encoding="utf-8"))


def usual_shares(
    topic: str, words: str, texts: Sequence[str], country: str, *, own: bool = True
) -> tuple[list[float], str] | None:
    """Shares of the answers and whose they are; ``own`` says that people are asked about themselves.

    >>> usual_shares("marital", "", ["Never married", "Married", "Divorced or widowed"], "UK")
    ([0.3482, 0.4753, 0.1529], 'people of England and Wales (census of 2011)')
    """
    for table in (t for t in _tables().values() if topic in t.get("topics", ())):
        numbers, listed = table.get("numbers", False), table["shares"]
        if not (own or numbers) or not re.search(table.get("asks", ""), folded(words)):
            continue
        places = [country] if country in listed else list(listed)
        kinds = {kind: sum(listed[p].get(kind, 0.0) for p in places) / len(places) for p in places for kind in listed[p]}
        each = by_number(kinds, texts) if numbers else _by_words(table["answers"], kinds, texts)
        if sum(share > 0 for share in each) >= (2 if numbers else max(2, len(texts) / 2)):
            return each, " and ".join(_tables()["people"][p] for p in places)
    return None


def _by_words(answers: Mapping[str, str], shares: Mapping[str, float], texts: Sequence[str]) -> list[float]:
    """The share of each text: of all kinds of answers that it names, divided among the texts that name the same kind."""
    kinds = []
    for text in texts:
        rest, named = folded(text).strip(), []
        for kind, pattern in answers.items():
            rest, times = re.subn(pattern, " ", rest)
            named += [kind] * bool(times)
        kinds.append(named)
    return [round(sum(shares.get(kind, 0.0) / sum(kind in k for k in kinds) for kind in named), 6) for named in kinds]


def by_number(listed: Mapping[str, float], texts: Sequence[str]) -> list[float]:
    """The share of each text that names a number or a band, from those of numbers or bands; an open band is spread evenly."""
    numbers = np.zeros(AGES)
    for text, share in listed.items():
        meant = numbers_in(text)
        numbers[meant.start : meant.stop] += share / max(1, len(meant))
    return [float(numbers[meant.start : meant.stop].sum()) for meant in map(numbers_in, texts)]


def numbers_in(text: str) -> range:
    """The numbers that an answer means; none where it names none.

    >>> numbers_in("18-29"), numbers_in("Younger than 18"), numbers_in("90 or older"), numbers_in("34"), numbers_in("Unknown")
    (range(18, 30), range(0, 18), range(90, 121), range(34, 35), range(0, 0))
    """
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if len(numbers) != 1:
        return range(numbers[0], numbers[1] + 1) if len(numbers) == 2 else range(0)
    if re.search(r"<|under|young|less|below", text, re.IGNORECASE):
        return range(numbers[0])
    return range(numbers[0], AGES if re.search(r"[+>≥]|over|old|more|above", text, re.IGNORECASE) else numbers[0] + 1)
