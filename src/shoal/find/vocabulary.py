"""The words that the finder knows, read from ``data/<language>/<list>.txt``; ``data/README.md`` describes the format.

The lists of all languages are merged: a table may mix languages, and nobody has to say which one it uses. A list is read once,
when a module first needs it.
"""

from __future__ import annotations

import os
import re
import unicodedata
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data"


class _Folding(dict[int, str | None]):
    """What stands for a letter after folding: nothing for an accent, 0 to 9 for a digit; letters that have no accent to lose."""

    def __missing__(self, code: int) -> str | None:
        letter = chr(code)
        out = None if unicodedata.combining(letter) else str(unicodedata.decimal(letter)) if letter.isdecimal() else letter
        self[code] = out
        return out


_FOLDING = _Folding(zip(map(ord, "łøđıðþæœə"), ("l", "o", "d", "i", "d", "th", "ae", "oe", "e"), strict=True))


def folded(text: str) -> str:
    """Without accents and case, digits of every script as 0 to 9.

    >>> folded("Prénom"), folded("STRASSE"), folded("Größe"), folded("Płeć"), folded("성별"), folded("٣٤")
    ('prenom', 'strasse', 'grosse', 'plec', '성별', '34')
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", text).casefold().translate(_FOLDING))


@cache
def _files() -> dict[str, list[Path]]:
    """The files of each list, by name, in the order of the languages."""
    out: dict[str, list[Path]] = {}
    for folder in sorted(entry.path for entry in os.scandir(DATA) if entry.is_dir()):
        for name in os.listdir(folder):
            out.setdefault(name, []).append(Path(folder, name))
    return out


@cache
def sections(name: str) -> dict[str, list[str]]:
    """The lines of a list by section, all languages together: a text, or a text and its tag with a tab between them.

    >>> "avril\\t4" in sections("calendar")["month"]
    True
    """
    out: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in "\n".join(file.read_text(encoding="utf-8") for file in _files().get(f"{name}.txt", ())).split("\n"):
        line = line if line.isascii() and line.islower() else folded(line)
        if line[:1] == "[" and line[-1] == "]":
            lines = out.setdefault(line[1:-1], [])
        elif line and line[:2] != "# ":
            lines.append(line)
    return out


def texts(name: str, section: str) -> list[str]:
    """The texts of a section, without their tags."""
    return [line.partition("\t")[0] for line in sections(name)[section]]


@cache
def word_set(name: str, section: str) -> frozenset[str]:
    """The texts of a section, each once.

    >>> "samedi" in word_set("calendar", "weekday")
    True
    """
    return frozenset(texts(name, section))


def tagged(name: str, section: str) -> dict[str, str]:
    """The texts of a section with their tags."""
    return {text: tag for text, _, tag in (line.partition("\t") for line in sections(name)[section])}


def ranked(name: str, section: str) -> tuple[tuple[str, ...], ...]:
    """The texts of a section whose tags count from 1, grouped by tag.

    >>> [("mon" in day, "sonntag" in day) for day in ranked("calendar", "weekday")][::6]
    [(True, False), (False, True)]
    """
    out: dict[int, list[str]] = {}
    for line in sections(name)[section]:
        text, _, tag = line.partition("\t")
        out.setdefault(int(tag), []).append(text)
    return tuple(tuple(out[rank]) for rank in sorted(out))


def phrases(name: str, section: str) -> tuple[tuple[str, ...], ...]:
    """The texts of a section, each as its words: ``("date", "birth")``, ``("educ*",)``, ``("=class",)``."""
    return tuple(tuple(text.split()) for text in texts(name, section))


def alternatives(name: str, *names_of_sections: str) -> str:
    """The texts of sections as a regular expression, long ones first.

    >>> bool(re.fullmatch(alternatives("quantities", "below"), "less than"))
    True
    """
    choices = {text for section in names_of_sections for text in texts(name, section)}
    return "|".join(map(re.escape, sorted(choices, key=lambda text: (-len(text), text))))


def word_pattern(name: str, section: str) -> str:
    """A regular expression for texts that contain an entry: ``wid*`` any word that begins so, ``=m`` the whole text.

    A blank inside an entry stands for a blank, a hyphen, an apostrophe, another sign of separation, or nothing.

    >>> pattern = re.compile(word_pattern("values", "marital"))
    >>> [bool(pattern.match(text)) for text in ("never-married", "unmarried couple", "verwitwet")]
    [True, False, True]
    """
    entries = sorted(texts(name, section))
    whole = [re.escape(text[1:]) for text in entries if text[0] == "="]
    inside = [_inside(text) for text in entries if text[0] != "="]
    ways = ([rf"(?:{'|'.join(whole)})\Z"] if whole else []) + ([rf".*\b(?:{'|'.join(inside)})"] if inside else [])
    return "|".join(ways)


def beginnings(name: str, section: str) -> tuple[frozenset[str], frozenset[str]]:
    """The whole texts of a section, and the first words of its other entries: a text without any cannot fit ``word_pattern``.

    >>> whole, first = beginnings("values", "marital")
    >>> "ankling" in whole, "divorced" in first
    (True, True)
    """
    entries = texts(name, section)
    first = {text.split()[0].removesuffix("*") for text in entries if text[0] != "="}
    return frozenset(text[1:] for text in entries if text[0] == "="), frozenset(first)


def _inside(text: str) -> str:
    plain = r"[ ._/'’-]?".join(map(re.escape, text.removesuffix("*").split()))
    return plain if text.endswith("*") else plain + r"\b"
