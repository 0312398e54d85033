"""The field's words in plain language: one sentence or two each, and where to look further.

Words of Pfitzmann and Hansen (anonymity set, unlinkability, pseudonym) keep the meaning of their terminology. Numbers of
:mod:`shoal.measures.metrics` explain themselves; the entries here are for everything that is no number.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from shoal.errors import UsageError, nearest
from shoal.measures.metrics import lookup, metrics
from shoal.measures.shown import SHOWN, shown


@dataclass(frozen=True)
class Entry:
    """A word, other spellings of it, its meaning, and a page of the docs or a command."""

    term: str
    meaning: str
    see: str
    also: tuple[str, ...] = ()


def _read() -> tuple[Entry, ...]:
    text = files("shoal.measures").joinpath("glossary.txt").read_text(encoding="utf-8")
    blocks = [block.splitlines() for block in text.split("\n\n") if not block.startswith("#")]
    spelled = [([w.strip() for w in names.split("|")], see, meaning) for names, see, meaning in blocks]
    return tuple(Entry(names[0], meaning, see, tuple(names[1:])) for names, see, meaning in spelled)


GLOSSARY: tuple[Entry, ...] = _read()


def _plain(word: str) -> str:
    return " ".join(word.lower().replace("-", " ").replace("_", " ").split())


def explain_term(word: str) -> str:
    """What a word or a number of the field means.

    >>> explain_term("QI").startswith("quasi-identifier: A column that others could know about a person")
    True
    >>> "Formula:" in explain_term("k")
    True
    """
    wanted = _plain(word)
    for entry in GLOSSARY:
        if wanted in map(_plain, (entry.term, *entry.also)):
            return f"{entry.term}: {entry.meaning}\n  More: {entry.see}"
    if (number := shown(word) or shown(wanted.replace(" ", "_"))) is not None:
        return f"{number.name}: {number.explain()}"
    numbers = {_plain(m.name): m.name for m in metrics()}
    if wanted in numbers:
        return f"{numbers[wanted]}: {lookup(numbers[wanted]).explain()}"
    close = nearest(
        wanted, [*numbers, *(_plain(s.name) for s in SHOWN), *(_plain(w) for e in GLOSSARY for w in (e.term, *e.also))]
    )
    hint = f"Did you mean '{close}'?" if close else "Words and numbers are listed by: shoal explain"
    raise UsageError("this word is not in the glossary.", hint=hint)


def words() -> list[str]:
    """Every word that can be explained, in alphabetical order; numbers as they are spelled in the code."""
    return sorted({*(e.term for e in GLOSSARY), *(m.name for m in metrics()), *(s.name for s in SHOWN)}, key=str.lower)
