"""Notice: one signed line of the catalogue. A holder states which attributes of which people it holds or asks for; no data.

``holds``: these attributes of these people stand in a data set. ``asks``: a questionnaire asks these people for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shoal.errors import DataError, TamperError, UsageError
from shoal.model.roles import look
from shoal.registry.records.population import Population
from shoal.registry.records.record import Published
from shoal.registry.records.vocabulary import canonical as canonical_codes

FORMAT = "shoal-notice/1"
KINDS = ("holds", "asks")
MOST_TITLE = 120


@dataclass(frozen=True)
class Notice(Published):
    """``title`` names the data set or questionnaire; a later version of it supersedes the one before, as with records."""

    kind: str
    title: str
    codes: tuple[str, ...]
    population: Population
    holder: str
    date: str
    key: str = ""
    version: int = 1
    supersedes: str | None = None
    signature: str = ""
    OF: ClassVar[str] = "notice"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"a notice is one of: {', '.join(KINDS)}.")
        plain = self.title.isprintable() and self.title == " ".join(self.title.split())
        if not 1 <= len(self.title) <= MOST_TITLE or not plain or not look(self.title):
            raise UsageError(f"a title has 1 to {MOST_TITLE} printable characters, single blanks.", hint="Add --title NAME.")
        self.check_holder_and_version()

    @property
    def topic(self) -> tuple[str, str, str]:
        """What a later version of the same holder supersedes: kind, title as it looks, population."""
        return self.kind, look(self.title), self.population.key

    def content(self) -> dict[str, Any]:
        return {
            "format": FORMAT, "kind": self.kind, "title": self.title, "attributes": list(self.codes),
            "population": str(self.population), "holder": self.holder, "key": self.key, "date": self.date,
            "version": self.version, "supersedes": self.supersedes,
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Notice:
        """From its JSON form; every field checked, unknown ones refused."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise DataError(f"the notice is not of format '{FORMAT}'.", hint="Make it again with this version of Shoal.")
        if set(data) != set(_FIELDS):
            raise DataError("the notice lacks a field or has one too many.", hint=f"Fields: {', '.join(sorted(_FIELDS))}.")
        wrong = [n for n, kind in _FIELDS.items() if not isinstance(data[n], kind) or isinstance(data[n], bool)]
        if wrong or not all(isinstance(a, str) for a in data["attributes"]):
            raise DataError(f"fields of the notice have the wrong type: {', '.join(wrong) or 'attributes'}.")
        notice = cls(
            data["kind"], data["title"], canonical_codes(data["attributes"]), Population.parse(data["population"]),
            data["holder"], data["date"], data["key"], data["version"], data["supersedes"], data["signature"],
        )  # fmt: skip
        if notice.to_json() != dict(data):
            raise TamperError("the notice's id does not fit its content.", hint="Ask the holder for the notice again.")
        return notice


_FIELDS: dict[str, Any] = {
    "format": str, "kind": str, "title": str, "attributes": list, "population": str, "holder": str, "key": str, "date": str,
    "version": int, "supersedes": (str, type(None)), "id": str, "signature": str,
}  # fmt: skip
