"""Record: one signed statement of a holder about one quasi-identifier in one population."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Self

from shoal.errors import DataError, TamperError, UsageError, refuse
from shoal.kernels.signatures import Signer, canonical, check_signature
from shoal.model.roles import look
from shoal.registry.records.counts import JointCounts
from shoal.registry.records.population import Population
from shoal.registry.records.summary import DELTA, GROUP_SIZES, LEVEL, MIN_POPULATION, STATISTICS, STEPS, Rounded, Summary
from shoal.registry.records.vocabulary import canonical as canonical_codes

FORMAT = "shoal-record/1"
LARGEST_BYTES = 20_000
LARGEST_SIZE = 10**11
METHODS = ("complete count", "sample", "generated", "estimate")
_KEY = re.compile(r"[A-Za-z0-9+/]{43}=\Z")
_ID = re.compile(r"[0-9a-f]{64}\Z")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")


class Signed:
    """What a key signs: :meth:`content` without the signature. ``OF`` is what messages call it."""

    OF: ClassVar[str]
    key: str
    signature: str

    def content(self) -> dict[str, Any]:
        """What is hashed and signed."""
        raise NotImplementedError

    @cached_property
    def id(self) -> str:
        return hashlib.sha256(canonical(self.content())).hexdigest()

    def signed(self, signer: Signer) -> Self:
        """The same under a key."""
        own = replace(self, key=signer.public, signature="")  # type: ignore[type-var]
        return replace(own, signature=signer.sign(own.content()))  # type: ignore[type-var]

    def verify(self) -> Self:
        """The same, if its signature fits."""
        check_signature(self.content(), self.signature, self.key, of=self.OF)
        return self

    def to_json(self) -> dict[str, Any]:
        return {**self.content(), "id": self.id, "signature": self.signature}


class Published(Signed):
    """What a holder publishes about a population, in versions."""

    codes: tuple[str, ...]
    holder: str
    date: str
    version: int
    supersedes: str | None

    def check_holder_and_version(self) -> None:
        """Refuse a holder, attributes, a version, a key or a date that are not well formed."""
        if canonical_codes(self.codes) != self.codes:
            raise UsageError(f"the attributes of a {self.OF} must be sorted.", hint="Use vocabulary.canonical().")
        check_holder(self.holder)
        if self.version < 1 or (self.version > 1) != (self.supersedes is not None):
            raise UsageError(f"a later version names the {self.OF} it supersedes, a first one does not.")
        if self.supersedes is not None:
            check_id(self.supersedes)
        if self.key:
            check_key(self.key)
        check_date(self.date)


@dataclass(frozen=True)
class Record(Published):
    """What a holder publishes: quasi-identifier, population, rounded summary, who, when, and a signature.

    ``version`` counts the holder's statements about the same quasi-identifier and population; ``supersedes`` is the id of the one
    before. :attr:`id` is the SHA-256 of the canonical content without the signature.

    A record of a table that is public already names its ``source``; only then it may hold the ``shares`` of people with each
    answer (one attribute), or the ``counts`` of people with every combination of answers; others are drawn with noise. Somebody's
    model of a population has the method ``estimate``, and counts: every answer then allows for the model's error.
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
    source: str = ""
    shares: Mapping[str, float] | None = None
    counts: JointCounts | None = None
    OF: ClassVar[str] = "record"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(f"the method of a record is one of: {', '.join(METHODS)}.")
        self.check_holder_and_version()
        if self.source and not (len(self.source) <= 200 and self.source.isprintable() and self.source == self.source.strip()):
            raise UsageError("the source of a record has 1 to 200 printable characters.", hint="Name the public table.")
        if self.shares is not None:
            check_shares(self.shares, self.codes, self.source)
        open_to_all = self.source or self.summary.noise is not None
        if self.counts is not None and (not open_to_all or tuple(self.counts.answers) != self.codes):
            what = "joint counts are those of a public table by the record's attributes, or drawn with noise."
            raise UsageError(what, hint="Name the source.")
        if self.estimated and self.counts is None:
            raise UsageError("an estimate is published with its joint counts.", hint="Name the source, and give the counts.")

    def content(self) -> dict[str, Any]:
        numbers = {k: [r.value, r.step] for k, r in self.summary.statistics.items()}
        drawn: dict[str, Any] = {} if self.summary.noise is None else {"noise": noise_of(self.summary.noise)}
        drawn |= ({"source": self.source} if self.source else {}) | ({} if self.shares is None else {"shares": dict(self.shares)})
        drawn |= {} if self.counts is None else {"counts": self.counts.to_json()}
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
            **drawn,
        }

    @property
    def topic(self) -> tuple[tuple[str, ...], str]:
        """Quasi-identifier and population: what several holders may disagree about."""
        return self.codes, self.population.key

    @property
    def sampled(self) -> bool:
        """Whether the numbers are those of a sample, not of everybody."""
        return self.method == "sample"

    @property
    def estimated(self) -> bool:
        """Whether the numbers are those of a model, not of people who were counted."""
        return self.method == "estimate"

    def verify(self) -> Self:
        """The record itself when its signature fits and its numbers are possible."""
        super().verify()
        plausible(self.summary)
        if self.counts is not None:
            self._check_sizes(self.counts)
        return self

    def _check_sizes(self, counts: JointCounts) -> None:
        """Refuse joint counts that are not those of the summary."""
        people, apart = sum(counts.people), len(counts.people) * counts.off
        alike = math.fsum((c / people) ** 2 for c in counts.people) if people else 1.0
        h2 = self.summary.statistics["h2"]
        if (
            abs(people - self.summary.size) > self.summary.slack + apart
            or not h2.low - 1e-9 <= -math.log(alike) <= h2.high + 1e-9
        ):
            raise DataError("the record's counts contradict its summary.", hint="Publish it again from the counts.")

    @classmethod
    def stored(cls, body: str | bytes) -> Record:
        """From the body that a store keeps: it was checked when it was taken, so its id is not computed again."""
        data = json.loads(body)
        numbers = data["statistics"]
        record = cls._of(data, {name: Rounded(*numbers[name]) for name in STATISTICS})
        record.__dict__["id"] = data["id"]
        return record

    @classmethod
    def rebuilt(cls, data: Mapping[str, Any]) -> Record:
        """From content whose id was left out; it is computed again when asked for."""
        return cls._of(data, _statistics(data["statistics"]))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        """From its JSON form; every field checked, unknown ones refused, an older or newer format refused."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise DataError(f"the record is not of format '{FORMAT}'.", hint="Publish it again with this version of Shoal.")
        wanted = {"id", "signature", *_FIELDS}
        if set(data) - {"noise", "source", "shares", "counts"} != wanted:
            raise DataError("the record lacks a field or has one too many.", hint=f"Fields: {', '.join(sorted(wanted))}.")
        wrong = [name for name, kind in _FIELDS.items() if not isinstance(data[name], kind) or isinstance(data[name], bool)]
        if type(data.get("source", "")) is not str or type(data.get("shares", {})) is not dict:
            wrong.append("source or shares")
        if not isinstance(data["signature"], str) or not all(isinstance(a, str) for a in _list_of(data["attributes"])):
            wrong.append("signature or attributes")
        if wrong:
            raise DataError(f"fields of the record have the wrong type: {', '.join(wrong)}.")
        record = cls._of(data, _statistics(data["statistics"]))
        if record.content() != {k: v for k, v in data.items() if k not in ("id", "signature")} or record.id != data["id"]:
            raise TamperError("the record's id does not fit its content.", hint="Ask the holder for the record again.")
        return record

    @classmethod
    def _of(cls, data: Mapping[str, Any], numbers: Mapping[str, Rounded]) -> Record:
        summary = Summary(data["size"], data["cells"], numbers, _epsilon(data["noise"]) if "noise" in data else None)
        codes, people = _topic(tuple(data["attributes"]), data["population"])
        return cls(
            codes, people, summary, data["method"], data["holder"], data["key"], data["date"],
            data["version"], data["supersedes"], data["signature"], data.get("source", ""), data.get("shares"),
            JointCounts.from_json(data["counts"]) if "counts" in data else None,
        )  # fmt: skip


_FIELDS: dict[str, Any] = {
    "format": str, "attributes": list, "population": str, "size": int, "cells": int, "statistics": dict, "method": str,
    "holder": str, "key": str, "date": str, "version": int, "supersedes": (str, type(None)),
}  # fmt: skip


def _list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


@lru_cache(maxsize=4096)
def _topic(codes: tuple[str, ...], population: str) -> tuple[tuple[str, ...], Population]:
    return canonical_codes(codes), Population.parse(population)


def _statistics(data: Mapping[str, Any]) -> dict[str, Rounded]:
    if set(data) != set(STATISTICS):
        raise DataError("the record's statistics are not the ones of this format.")
    out = {}
    for name in STATISTICS:
        pair = data[name]
        if not (isinstance(pair, list) and len(pair) == 2 and all(type(x) in (int, float) and abs(x) < 1e6 for x in pair)):
            raise DataError(f"statistic '{name}' of the record is not a value with its step.")
        out[name] = Rounded(float(pair[0]), float(pair[1]))
    return out


def noise_of(epsilon: float) -> dict[str, float]:
    """What a record says of its noise: the guarantee, and with what chance its steps hold together."""
    return {"epsilon": epsilon, "delta": DELTA, "level": LEVEL}


def _epsilon(data: Any) -> float:
    """The ε of a record; one that this version of Shoal does not draw is refused."""
    given = data.get("epsilon") if isinstance(data, Mapping) else None
    if type(given) is not float or not 0 < given <= 100 or dict(data) != noise_of(given):
        raise DataError("the record's noise is not one of this format.", hint="Publish it again with this version of Shoal.")
    return given


def plausible(summary: Summary) -> None:
    r"""Refuse numbers that no population has, as far as their steps leave no doubt.

    Signs and bounds; entropies and shares that rise; more entropy than people; more in the largest cell than the other entropies
    allow (:math:`H_r\le\frac{r}{r-1}H_\infty`); fewer unique people than the mean cell (:math:`\varphi(k)\ge(1-S_2)^{k-1}`).
    """
    s = summary.statistics
    slack = {name: s[name].step for name in STATISTICS}
    entropies = ["h2", "h3", "h4", "h5", "h6", "hmin"]
    shares = [name for name in STATISTICS if name.startswith("unique_")]
    shannon = math.log(max(summary.cells, 1)) - s["kappa"].value
    checks = (
        MIN_POPULATION <= summary.size <= LARGEST_SIZE,
        1 <= summary.cells <= 10**15,
        all(r.step in STEPS if summary.noise is None else 0 < r.step <= 40 for r in s.values()),
        -slack["kappa"] <= s["kappa"].value <= math.log(max(summary.cells, 1)) + slack["kappa"],
        s["h2"].value <= shannon + slack["h2"] + slack["kappa"],
        all(s[b].value <= s[a].value + slack[a] + slack[b] for a, b in pairwise(entropies)),
        s["hmin"].value >= -slack["hmin"],
        all(-slack[n] <= s[n].value <= 1 + slack[n] for n in shares),
        all(s[b].value <= s[a].value + slack[a] + slack[b] for a, b in pairwise(shares)),
        s["kappa"].high >= math.log(max(summary.cells, 1)) - math.log(summary.size + summary.slack),
        all(s[f"h{r}"].low <= r / (r - 1) * s["hmin"].high for r in range(2, 7)),
        all(s[f"unique_{k}"].high >= (1 - min(1.0, math.exp(-s["h2"].low))) ** (k - 1) for k in GROUP_SIZES),
    )
    if not all(checks):
        raise DataError("the record's numbers contradict each other.", hint="Publish it again from the counts.")


MOST_SHARES = 200
"""Answers whose shares one record may hold."""
SHARE_STEP = 0.0001
"""Shares are rounded to one person in ten thousand."""


def check_shares(shares: Mapping[str, float], codes: tuple[str, ...], source: str) -> None:
    """Refuse shares that no public table of one attribute can have."""
    if not source or len(codes) != 1:
        hint = "Name the source, and one attribute."
        raise UsageError("shares of answers are published for one attribute of a public table only.", hint=hint)
    texts = all(type(v) is str and 0 < len(v) <= 40 and v.isprintable() and v == v.strip() for v in shares)
    numbers = all(type(s) is float and 0 <= s <= 1 for s in shares.values())
    if not 1 <= len(shares) <= MOST_SHARES or not texts or not numbers:
        raise DataError(f"the shares of a record are 1 to {MOST_SHARES} numbers between 0 and 1, each under an answer.")
    if abs(sum(shares.values()) - 1) > SHARE_STEP * (len(shares) + 1) / 2:
        raise DataError("the shares of a record do not add up to everybody.", hint="Publish it again from the counts.")


def check_holder(name: str) -> str:
    """A holder's name as it is written."""
    plain = name.isprintable() and name == " ".join(name.split())
    if not 1 <= len(name) <= 120 or not plain or not look(name):
        raise UsageError("a holder's name has 1 to 120 printable characters, single blanks.", hint="Add --holder NAME.")
    return name


def check_key(text: str) -> str:
    """A public key as it is written: 32 bytes in base64."""
    if not _KEY.match(text):
        raise DataError("a public key is not well formed.", hint="It has 44 characters and ends in '='.")
    return text


def check_id(text: str) -> str:
    """A record's id as it is written: 64 hexadecimal digits."""
    if not _ID.match(text):
        raise DataError("a record's id is not well formed.", hint="It has 64 hexadecimal digits.")
    return text


def check_date(text: str) -> str:
    """A day that exists, written in the one way."""
    with refuse(UsageError("a date is written YYYY-MM-DD.", hint="For instance 2026-11-15."), ValueError):
        datetime.date.fromisoformat(text if _DATE.match(text) else "")
    return text
