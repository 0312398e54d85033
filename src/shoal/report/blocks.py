"""What stands on a page, without saying how it looks: the templates turn these blocks into HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class Tag:
    """Words in a cell with a meaning that has a colour: ``met``, ``warning``, ``quasi``, or ``code``."""

    words: str
    kind: str


Cell = str | Tag


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows; the columns in ``right`` hold numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    right: Sequence[int] = ()
    block: str = "table"


@dataclass(frozen=True)
class Words:
    """A paragraph, small where it is a note, with a command at its end if one is given."""

    text: str
    small: bool = False
    code: str = ""
    block: str = "words"


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    texts: Sequence[str]
    block: str = "items"


@dataclass(frozen=True)
class Figure:
    """A drawing with its caption."""

    drawing: Markup
    caption: str
    block: str = "figure"


@dataclass(frozen=True)
class Lines:
    """Lines to sign on."""

    names: Sequence[str]
    block: str = "lines"


@dataclass(frozen=True)
class Text:
    """Text whose line breaks stay."""

    text: str
    block: str = "text"


Block = Table | Words | Items | Figure | Lines | Text


@dataclass(frozen=True)
class Section:
    """A part of a page with an address; ``wide`` blocks stand below each other."""

    place: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Number:
    """A figure with the line that says what it counts; ``missed`` marks one that should be better, ``words`` is not a figure."""

    value: str
    says: str
    missed: bool = False
    words: bool = False


@dataclass(frozen=True)
class Point:
    """Something to look at, leading to a part of the page."""

    place: str
    title: str
    names: Sequence[str] = ()
