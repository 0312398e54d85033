"""Record: one signed statement of a holder about one quasi-identifier in one population."""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from shoal.errors import DataError, TamperError, UsageError
from shoal.registry.population import Population
from shoal.registry.summary import MIN_POPULATION, STATISTICS, STEPS, Rounded, Summary
from shoal.registry.vocabulary import canonical as canonical_codes
from shoal.release.sign import Signer, canonical, check_signature

FORMAT = "shoal-record/1"
LARGEST_BYTES = 20_000
METHODS = ("complete count", "sample", "generated")


@dataclass(frozen=True)
class Record:
    """What a holder publishes: quasi-identifier, population, rounded summary, who, when, and a signature.

    ``version`` counts the holder's statements about the same quasi-identifier and population; ``supersedes`` is the id of the one
    before. :attr:`id` is the SHA-256 of the canonical content without the signature.
    """

    codes: tuple[str, ...]
    population: Population
    summary: Summary
    method: str
    holder: str
    key: str
    date: str
    version: int = 1
    supersedes: str | None = None
    signature: str = ""

    def __post_init__(self) -> None:
        if canonical_codes(self.codes) != self.codes:
            raise UsageError("the attributes of a record must be sorted.", hint="Use vocabulary.canonical().")
        if self.method not in METHODS:
            raise UsageError(f"the method of a record is one of: {', '.join(METHODS)}.")
        if not 1 <= len(self.holder) <= 120 or not self.holder.isprintable():
            raise UsageError("a holder's name has 1 to 120 printable characters.")
        if self.version < 1 or (self.version > 1) != (self.supersedes is not None):
            raise UsageError("a later version names the record it supersedes, a first one does not.")
        _date(self.date)

    def content(self) -> dict[str, Any]:
        """What is hashed and signed."""
        numbers = {k: [r.value, r.step] for k, r in self.summary.statistics.items()}
        return {
            "format": FORMAT,
            "attributes": list(self.codes),
            "population": str(self.population),
            "size": self.summary.size,
            "cells": self.summary.cells,
            "statistics": numbers,
            "method": self.method,
            "holder": self.holder,
            "key": self.key,
            "date": self.date,
            "version": self.version,
            "supersedes": self.supersedes,
        }

    @cached_property
    def id(self) -> str:
        return hashlib.sha256(canonical(self.content())).hexdigest()

    @property
    def topic(self) -> tuple[tuple[str, ...], str]:
        """Quasi-identifier and population: what several holders may disagree about."""
        return self.codes, str(self.population)

    def signed(self, signer: Signer) -> Record:
        """The same record under a holder's key."""
        own = replace(self, key=signer.public, signature="")
        return replace(own, signature=signer.sign(own.content()))

    def verify(self) -> Record:
        """The record itself when its signature fits and its numbers are possible."""
        check_signature(self.content(), self.signature, self.key)
        plausible(self.summary)
        return self

    def to_json(self) -> dict[str, Any]:
        return {**self.content(), "id": self.id, "signature": self.signature}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        """From its JSON form; every field checked, unknown ones refused, an older or newer format refused."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise DataError(f"the record is not of format '{FORMAT}'.", hint="Publish it again with this version of Shoal.")
        wanted = {"id", "signature", *_FIELDS}
        if set(data) != wanted:
            raise DataError("the record lacks a field or has one too many.", hint=f"Fields: {', '.join(sorted(wanted))}.")
        wrong = [name for name, kind in _FIELDS.items() if not isinstance(data[name], kind) or isinstance(data[name], bool)]
        if wrong:
            raise DataError(f"fields of the record have the wrong type: {', '.join(wrong)}.")
        summary = Summary(data["size"], data["cells"], _statistics(data["statistics"]))
        codes = canonical_codes(data["attributes"])
        record = cls(
            codes, Population.parse(data["population"]), summary, data["method"], data["holder"], data["key"], data["date"],
            data["version"], data["supersedes"], str(data["signature"]),
        )  # fmt: skip
        if record.content() != {k: data[k] for k in _FIELDS} or record.id != data["id"]:
            raise TamperError("the record's id does not fit its content.", hint="Ask the holder for the record again.")
        return record


_FIELDS: dict[str, Any] = {
    "format": str, "attributes": list, "population": str, "size": int, "cells": int, "statistics": dict, "method": str,
    "holder": str, "key": str, "date": str, "version": int, "supersedes": (str, type(None)),
}  # fmt: skip


def _statistics(data: Mapping[str, Any]) -> dict[str, Rounded]:
    if set(data) != set(STATISTICS):
        raise DataError("the record's statistics are not the ones of this format.")
    out = {}
    for name in STATISTICS:
        pair = data[name]
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(x, int | float) and math.isfinite(x) for x in pair)):
            raise DataError(f"statistic '{name}' of the record is not a value with its step.")
        out[name] = Rounded(float(pair[0]), float(pair[1]))
    return out


def plausible(summary: Summary) -> None:
    """Refuse numbers that no population has: signs, bounds, order of entropies, shares that rise with the group."""
    s = summary.statistics
    slack = {name: s[name].step for name in STATISTICS}
    entropies = ["h2", "h3", "h4", "h5", "h6", "hmin"]
    shares = [name for name in STATISTICS if name.startswith("unique_")]
    shannon = math.log(max(summary.cells, 1)) - s["kappa"].value
    checks = (
        summary.size >= MIN_POPULATION,
        1 <= summary.cells <= 10**15,
        all(r.step in STEPS for r in s.values()),
        -slack["kappa"] <= s["kappa"].value <= math.log(max(summary.cells, 1)) + slack["kappa"],
        s["h2"].value <= shannon + slack["h2"] + slack["kappa"],
        all(s[b].value <= s[a].value + slack[a] + slack[b] for a, b in pairwise(entropies)),
        s["hmin"].value >= -slack["hmin"],
        all(-slack[n] <= s[n].value <= 1 + slack[n] for n in shares),
        all(s[b].value <= s[a].value + slack[a] + slack[b] for a, b in pairwise(shares)),
    )
    if not all(checks):
        raise DataError("the record's numbers contradict each other.", hint="Publish it again from the counts.")


def _date(text: str) -> None:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError("the date of a record is written YYYY-MM-DD.") from None
