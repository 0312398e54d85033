"""Regular expressions that are compiled when they are first used: a table without such texts does not wait for them."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any


class Pattern:
    """A regular expression, compiled at the first question.

    >>> year = Pattern(r"(19|20)\\d\\d")
    >>> year.fullmatch("1984") is None, year.fullmatch("84") is None, year.match("19840131") is None
    (False, True, False)
    """

    def __init__(self, text: str, flags: int = 0) -> None:
        self.text, self.flags = text, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.text, self.flags)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """The whole text, or None."""
        return self._compiled.fullmatch(text)

    def match(self, text: str) -> re.Match[str] | None:
        """The beginning of the text, or None."""
        return self._compiled.match(text)

    def search(self, text: str) -> re.Match[str] | None:
        """The first place inside the text, or None."""
        return self._compiled.search(text)

    def findall(self, text: str) -> list[Any]:
        """All places inside the text."""
        return self._compiled.findall(text)

    def sub(self, by: str, text: str) -> str:
        """The text with ``by`` in every such place."""
        return self._compiled.sub(by, text)
