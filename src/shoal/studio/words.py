"""Sentences of the studio, from numbers of the library; names as people say them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from shoal.registry.records.population import place_names

LONG = 48
"""Letters after which a name is shortened inside a sentence."""
MOST_NAMED = 6


def plain(name: str) -> str:
    """A column's name inside a sentence.

    >>> plain("date_of_birth"), plain("x" * 60)[-3:]
    ('date of birth', 'xx…')
    """
    text = " ".join(name.replace("_", " ").split()) or name
    return text if len(text) <= LONG else text[: LONG - 1] + "…"


def place(population: str) -> str:
    """A population of the registry as people name it.

    >>> place("NL/Utrecht/Amersfoort@2021;women"), place("NL@2021")
    ('Amersfoort, Utrecht (Netherlands), 2021, women', 'Netherlands, 2021')
    """
    where, _, rest = population.partition("@")
    code, *inside = where.split("/")
    country = place_names().get(code, (code,))[0]
    named = f"{', '.join(reversed(inside))} ({country})" if inside else country
    return ", ".join([named, *rest.split(";")] if rest else [named])


def several(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> several(["a"]), several(["a", "b", "c_d"]), several(list("abcdefgh"))
    ('a', 'a, b and c d', 'these 8 columns')
    """
    if len(names) > MOST_NAMED:
        return f"these {len(names)} columns"
    plain_names = [plain(n) for n in names]
    return plain_names[0] if len(plain_names) == 1 else f"{', '.join(plain_names[:-1])} and {plain_names[-1]}"


def people(n: int) -> str:
    """
    >>> people(1), people(1200)
    ('1 person', '1,200 people')
    """
    return "1 person" if n == 1 else f"{n:,} people"


def headline(m: Any) -> tuple[str, str]:
    """How many are one of a kind, and when: the first part is what is coloured."""
    total, known = m.crowds.n_members, several(m.quasi)
    verb = "is" if len(m.quasi) == 1 else "are"
    when = f"when {known} {verb} known."
    if m.unique == 0:
        return f"Nobody of {people(total)} is one of a kind", f"{when} The smallest group has {m.k:,}."
    return f"{m.unique:,} of {people(total)} {'is' if m.unique == 1 else 'are'} one of a kind", when


def ago(then: float) -> str:
    """How long ago, in words.

    >>> ago(time.time()), ago(time.time() - 7200)
    ('just now', '2 hours ago')
    """
    gone = max(0.0, time.time() - then)
    for length, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if gone >= length:
            n = int(gone // length)
            return f"{n} {unit}{'s' if n > 1 else ''} ago"
    return "just now"


def seconds(length: float) -> str:
    """A length of time to wait, in words.

    >>> seconds(0.2), seconds(19.6), seconds(89.9), seconds(90)
    ('1 second', '20 seconds', '90 seconds', '2 minutes')
    """
    n, unit = (round(length), "second") if length < 90 else (round(length / 60), "minute")
    n = max(n, 1)
    return f"{n} {unit}{'s' if n > 1 else ''}"


def size(n: int) -> str:
    """
    >>> size(900), size(2_500_000)
    ('900 bytes', '2.5 MB')
    """
    for unit, length in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= length:
            return f"{n / length:.3g} {unit}"
    return f"{n} bytes"
