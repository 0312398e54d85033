"""Records that wait for a clerk: kept sealed under their domain's key, and gone once they are decided."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import AccessError
from shoal.protector.crypto import base32
from shoal.protector.intake.register import Person, identity_of
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store.database import Tx
from shoal.protector.store.state import WAITING

_BOUND = b"waiting record"


@dataclass(frozen=True)
class Candidate:
    """A known person whom a record may be of: the pseudonym, the probability, the record as it is known."""

    pseudonym: str
    probability: float
    record: Person = field(repr=False)


@dataclass(frozen=True)
class Waiting:
    """A record that a clerk decides."""

    id: str
    domain: str
    operator: str
    created: float
    record: Person = field(repr=False)
    candidates: tuple[Candidate, ...] = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        people = [{"pseudonym": c.pseudonym, "probability": round(c.probability, 4), "record": c.record} for c in self.candidates]
        return {"id": self.id, "domain": self.domain, "created": self.created, "record": self.record, "candidates": people}


def put(
    tx: Tx, opened: OpenDomain, person: Person, candidates: Sequence[tuple[bytes, float]], *, operator: str, time: float
) -> str:
    """Let a record wait; its number."""
    name = "WAIT-" + base32.encode(os.urandom(5))
    inner = {"record": person, "candidates": [[identity.decode(), chance] for identity, chance in candidates]}
    sealed = opened.merge_box.seal(json.dumps(inner).encode(), _BOUND).hex()
    tx.put(WAITING, name, {"id": name, "domain": opened.domain.name, "operator": operator, "created": time, "sealed": sealed})
    return name


def everything(tx: Tx, domain: str) -> list[dict[str, Any]]:
    """What waits in a domain, oldest first, the contents still sealed."""
    return sorted((body for body in tx.all(WAITING) if body["domain"] == domain), key=lambda b: (b["created"], b["id"]))


def load(tx: Tx, name: str) -> dict[str, Any]:
    """What is kept of a waiting record, its content still sealed."""
    body = tx.get(WAITING, name.strip().upper())
    if body is None:
        raise AccessError("nothing waits under that number.", hint="`shoal vault waiting` lists what does.", reason="unknown")
    return body


def content(opened: OpenDomain, body: Mapping[str, Any]) -> tuple[Person, list[tuple[bytes, float]]]:
    inner = json.loads(opened.merge_box.open(bytes.fromhex(body["sealed"]), _BOUND, what="waiting record"))
    return inner["record"], [(identity.encode(), float(chance)) for identity, chance in inner["candidates"]]


def remove(tx: Tx, name: str) -> None:
    tx.remove(WAITING, name)


def forget(tx: Tx, opened: OpenDomain, person: AbstractSet[bytes]) -> list[bytes]:
    """Take a person out of what waits: her own records go, others lose her as a candidate. What was sealed, as it stood."""
    gone = []
    for body in everything(tx, opened.domain.name):
        record, candidates = content(opened, body)
        others = [[one.decode(), chance] for one, chance in candidates if opened.matched(one) not in person]
        own = opened.matched(identity_of(record).encode()) in person
        if not own and len(others) == len(candidates):
            continue
        gone.append(tx.remove(WAITING, body["id"]) or b"")
        if not own:
            inner = json.dumps({"record": record, "candidates": others}).encode()
            tx.put(WAITING, body["id"], {**body, "sealed": opened.merge_box.seal(inner, _BOUND).hex()})
    return gone
