"""Trust between holders: endorsements of keys, revocations, disputes, and records that stand out.

Nothing here decides who is right. Everything that is said stays visible with who said it, and the answer that is given first
is the cautious one.
"""

from __future__ import annotations

import statistics as stats
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.errors import DataError, TamperError, UsageError
from shoal.registry.record import Record
from shoal.registry.summary import GROUP_SIZES
from shoal.release.sign import Signer, check_signature

STATEMENT = "shoal-statement/1"
KINDS = ("endorse", "revoke-key", "revoke-record")


@dataclass(frozen=True)
class Statement:
    """One key says something of another key or of a record: signed, dated, numbered per signer so that it cannot be replayed."""

    kind: str
    subject: str
    key: str
    date: str
    number: int
    signature: str = ""

    def content(self) -> dict[str, Any]:
        return {
            "format": STATEMENT,
            "kind": self.kind,
            "subject": self.subject,
            "key": self.key,
            "date": self.date,
            "number": self.number,
        }

    def signed(self, signer: Signer) -> Statement:
        own = replace(self, key=signer.public, signature="")
        return replace(own, signature=signer.sign(own.content()))

    def verify(self) -> Statement:
        if self.kind not in KINDS:
            raise UsageError(f"a statement is one of: {', '.join(KINDS)}.")
        check_signature(self.content(), self.signature, self.key)
        return self

    def to_json(self) -> dict[str, Any]:
        return {**self.content(), "signature": self.signature}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Statement:
        wanted = {"format": str, "kind": str, "subject": str, "key": str, "date": str, "number": int, "signature": str}
        if not isinstance(data, Mapping) or set(data) != set(wanted) or data["format"] != STATEMENT:
            raise DataError(f"the statement is not of format '{STATEMENT}'.", hint="Make it again with this version of Shoal.")
        if any(not isinstance(data[k], t) or isinstance(data[k], bool) for k, t in wanted.items()):
            raise DataError("a field of the statement has the wrong type.")
        return cls(data["kind"], data["subject"], data["key"], data["date"], data["number"], data["signature"])


def trusted_keys(anchors: Iterable[str], statements: Iterable[Statement]) -> dict[str, int]:
    """Keys reached from the anchors through endorsements, with their distance; revoked keys and what hangs on them are left out.

    >>> a = Statement("endorse", "B", "A", "2026-01-01", 1)
    >>> trusted_keys(["A"], [a]), trusted_keys(["A"], [a, Statement("revoke-key", "B", "B", "2026-01-02", 1)])
    ({'A': 0, 'B': 1}, {'A': 0})
    """
    said = list(statements)
    revoked = {s.subject for s in said if s.kind == "revoke-key" and s.subject == s.key}
    distance = {key: 0 for key in anchors if key not in revoked}
    revoked |= {s.subject for s in said if s.kind == "revoke-key" and s.key in distance}
    distance = {key: 0 for key in distance if key not in revoked}
    grew = True
    while grew:
        grew = False
        for s in said:
            if s.kind == "endorse" and s.key in distance and s.subject not in distance and s.subject not in revoked:
                distance[s.subject] = distance[s.key] + 1
                grew = True
    return distance


@dataclass(frozen=True)
class Dispute:
    """Several current records about one topic that differ by more than their rounding."""

    records: tuple[Record, ...]
    spread: Mapping[str, tuple[float, float]]

    @property
    def cautious(self) -> Record:
        """The record with most unique people at the middle group sizes: the one to plan by."""
        return max(self.records, key=lambda r: (sum(r.summary.statistics[f"unique_{k}"].value for k in GROUP_SIZES), r.id))


def dispute(records: Sequence[Record]) -> Dispute | None:
    """The dispute among records of one topic by different holders, if there is one."""
    if len({r.topic for r in records}) > 1:
        raise TamperError("records of different topics cannot be in dispute.")
    if len({r.key for r in records}) < 2:
        return None
    spread = {}
    for name in records[0].summary.statistics:
        low = min(r.summary.statistics[name].low for r in records)
        high = max(r.summary.statistics[name].high for r in records)
        apart = max(r.summary.statistics[name].low for r in records) > min(r.summary.statistics[name].high for r in records)
        if apart:
            spread[name] = (low, high)
    return Dispute(tuple(records), spread) if spread else None


def outlier(record: Record, kappas: Mapping[str, float], *, factor: float = 6.0, floor: float = 0.25) -> str | None:
    """A sentence when κ lies far from that of comparable records (same quasi-identifier; any population, any holder).

    Far: more than ``factor`` median absolute deviations and more than ``floor`` nats from the median of at least three others.
    ``kappas`` gives κ by record id.
    """
    values = [kappa for identity, kappa in kappas.items() if identity != record.id]
    if len(values) < 3:
        return None
    middle = stats.median(values)
    spread = stats.median([abs(v - middle) for v in values])
    away = abs(record.summary.statistics["kappa"].value - middle)
    if away > max(floor, factor * spread):
        return f"Its κ lies {away:.2f} nats from the median of {len(values)} comparable records (usual distance {spread:.2f})."
    return None
