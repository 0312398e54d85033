"""Trust between holders: endorsements of keys, revocations, disputes, and records that stand out.

Nothing here decides who is right. Every statement stays visible with its author, and the answer that is given first
is the cautious one.
"""

from __future__ import annotations

import math
import statistics as stats
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from shoal.errors import DataError, TamperError, UsageError
from shoal.registry.records.record import Record, Signed, check_date, check_id, check_key
from shoal.registry.records.summary import GROUP_SIZES
from shoal.registry.records.vocabulary import compare, most_merged

STATEMENT = "shoal-statement/1"
KINDS = ("endorse", "revoke-key", "revoke-record")
FACTOR, FLOOR, FROM_PARENT = 6.0, 0.25, 0.75
"""When a κ stands out: deviations and nats from similar records, nats from the wider population."""
ROOM = 1.25
"""How much more likely two people of a coarser coding may share a cell than its widths allow: the last band is often open."""


@dataclass(frozen=True)
class Statement(Signed):
    """One key says something of another key or of a record: signed, dated, numbered per signer so that it cannot be replayed."""

    kind: str
    subject: str
    key: str
    date: str
    number: int
    signature: str = ""
    OF: ClassVar[str] = "statement"

    def content(self) -> dict[str, Any]:
        return {"format": STATEMENT, **{n: getattr(self, n) for n in ("kind", "subject", "key", "date", "number")}}

    def verify(self) -> Self:
        """The statement itself when it is well formed and its signature fits."""
        if self.kind not in KINDS:
            raise UsageError(f"a statement is one of: {', '.join(KINDS)}.")
        (check_id if self.kind == "revoke-record" else check_key)(self.subject)
        check_key(self.key)
        check_date(self.date)
        return super().verify()

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

    A key is revoked by itself or by an anchor; anybody else's ``revoke-key`` takes back that signer's own endorsement. Of
    several statements of one signer about one key the last counts, except that a key that revoked itself stays revoked.

    >>> a = Statement("endorse", "B", "A", "2026-01-01", 1)
    >>> trusted_keys(["A"], [a]), trusted_keys(["A"], [a, Statement("revoke-key", "B", "B", "2026-01-02", 1)])
    ({'A': 0, 'B': 1}, {'A': 0})
    """
    ordered = sorted((s for s in statements if s.kind != "revoke-record"), key=lambda s: (s.key, s.number))
    last = {(s.key, s.subject): s.kind for s in ordered}
    # any of its statements, not the last: a thief of the key could otherwise endorse it again
    revoked = {s.subject for s in ordered if s.kind == "revoke-key" and s.subject == s.key}
    roots = [key for key in dict.fromkeys(anchors) if key not in revoked]
    revoked |= {subject for (key, subject), kind in last.items() if kind == "revoke-key" and key in roots}
    distance = {key: 0 for key in roots if key not in revoked}
    endorsed: dict[str, list[str]] = {}
    for (key, subject), kind in last.items():
        if kind == "endorse" and subject not in revoked:
            endorsed.setdefault(key, []).append(subject)
    edge = list(distance)
    while edge:
        reached = [(key, subject) for key in edge for subject in endorsed.get(key, ())]
        edge = []
        for key, subject in reached:
            if subject not in distance:
                distance[subject] = distance[key] + 1
                edge.append(subject)
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


def outlier(record: Record, similar: Sequence[float], parent: float | None = None) -> str | None:
    """A sentence when κ lies far from that of similar records, or of the wider population where there are too few of them.

    Far: more than :data:`FACTOR` median absolute deviations and more than :data:`FLOOR` nats from the median of at least three
    others (same quasi-identifier, neighbouring population or another holder); or more than :data:`FROM_PARENT` nats from
    the wider population's.
    """
    kappa = record.summary.statistics["kappa"].value
    if len(similar) >= 3:
        middle = stats.median(similar)
        spread = stats.median([abs(v - middle) for v in similar])
        away = abs(kappa - middle)
        if away > max(FLOOR, FACTOR * spread):
            return f"Its κ lies {away:.2f} nats from the median of {len(similar)} similar records (usual distance {spread:.2f})."
        return None
    if parent is not None and abs(kappa - parent) > FROM_PARENT:
        return f"Its κ lies {abs(kappa - parent):.2f} nats from that of the wider population."
    return None


def contradictions(record: Record, others: Sequence[Record]) -> list[tuple[Record, str]]:
    """Other records of the population that cannot be true beside this one, each with a sentence.

    With S₂ the chance that two people share a cell, and at most m cells of a finer coding in one of a coarser:
    S₂(fine) ≤ S₂(coarse) ≤ m S₂(fine) (Cauchy–Schwarz). A coarser coding makes nobody more unique. And on a product of
    cells κ(X,Y) ≥ κ(X) + κ(Y).
    """
    pairs = [(other, words) for other in others if (words := _cannot_both(record, other))]
    margins = {r.codes[0]: r for r in others if len(r.codes) == 1 and r.codes[0] in record.codes}
    if len(record.codes) > 1 and len(margins) == len(record.codes):
        apart = sum(r.summary.statistics["kappa"].low for r in margins.values())
        product = math.prod(r.summary.cells for r in margins.values()) == record.summary.cells
        if product and record.summary.statistics["kappa"].high < apart:
            words = "Its κ is below the sum of what its attributes have alone."
            pairs += [(r, words) for r in margins.values()]
    return pairs


def _cannot_both(record: Record, other: Record) -> str | None:
    order = compare(record.codes, other.codes)
    if order not in ("coarser", "finer"):
        return None
    coarse, fine = (record, other) if order == "coarser" else (other, record)
    start = f"It contradicts the record for {', '.join(other.codes)}:"
    for name in ("h2", *(f"unique_{k}" for k in GROUP_SIZES)):
        if coarse.summary.statistics[name].low > fine.summary.statistics[name].high:
            return f"{start} a coarser coding cannot tell people better apart."
    most = min(fine.summary.cells - coarse.summary.cells + 1, most_merged(coarse.codes, fine.codes))
    if most >= 1 and coarse.summary.statistics["h2"].high + math.log(ROOM * most) < fine.summary.statistics["h2"].low:
        return f"{start} merging at most {most:,.0f} cells into one cannot make people so alike."
    return None
