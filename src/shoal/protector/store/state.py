"""What a vault knows about itself: sealed as a whole in one row, which every writer locks first."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from shoal.protector.crypto.primitives import Sum
from shoal.protector.store.anchor import Mark

_BLOCK = 512


@dataclass
class Shelf:
    """Shape of one index (:mod:`shoal.protector.store.index`): entries, buckets and keyed sum of its old and its young tier.

    ``epochs`` are random marks that the buckets of a tier are sealed to, drawn again whenever the whole tier is written.
    """

    counts: list[int] = field(default_factory=lambda: [0, 0])
    buckets: list[int] = field(default_factory=lambda: [0, 0])
    sums: list[Sum] = field(default_factory=lambda: [(0, 0), (0, 0)])
    epochs: list[str] = field(default_factory=lambda: ["", ""])

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Shelf:
        return cls(body["counts"], body["buckets"], [(a, b) for a, b in body["sums"]], body["epochs"])


@dataclass
class DomainRows:
    """Row counts and keyed row sum of one domain: ``used`` identities in ``slots`` slots, the rest decoys.

    ``index`` holds the shape of the index of each key version.
    """

    used: int = 0
    slots: int = 0
    sum: Sum = (0, 0)
    index: dict[str, Shelf] = field(default_factory=dict)

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> DomainRows:
        index = {version: Shelf.from_json(shelf) for version, shelf in body["index"].items()}
        return cls(body["used"], body["slots"], (body["sum"][0], body["sum"][1]), index)


@dataclass
class State:
    """What the vault knows about itself; sealed as a whole.

    ``tree`` is the frontier of the Merkle tree over the hashes of the events after ``tree_from`` (0, unless Shoal 0.3.0 made
    the vault and events had left it); ``retired_tree`` that of the events that left the database.
    """

    generation: int = 0
    audit_seq: int = 0
    audit_head: str = "00" * 32
    checkpoint_seq: int = 0
    checkpoints: int = 0
    retired_seq: int = 0
    retired_head: str = "00" * 32
    kept_parts: int = 0
    tree: list[str] = field(default_factory=list)
    tree_from: int = 0
    retired_tree: list[str] = field(default_factory=list)
    clock: float = 0.0
    next_domain: int = 1
    objects: int = 0
    objects_sum: Sum = (0, 0)
    guarded: int = 0
    guarded_sum: Sum = (0, 0)
    domains: dict[str, DomainRows] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        domains = {
            number: {**vars(rows), "index": {version: vars(shelf) for version, shelf in rows.index.items()}}
            for number, rows in self.domains.items()
        }
        return padded(json.dumps({**vars(self), "domains": domains}, separators=(",", ":")).encode(), _BLOCK)

    @classmethod
    def from_bytes(cls, data: bytes) -> State:
        body = json.loads(data)
        body["objects_sum"] = tuple(body["objects_sum"])
        body["guarded_sum"] = tuple(body["guarded_sum"])
        body["domains"] = {number: DomainRows.from_json(rows) for number, rows in body["domains"].items()}
        return cls(**body)

    @property
    def mark(self) -> Mark:
        return Mark(self.generation, self.audit_seq, bytes.fromhex(self.audit_head))


def padded(plain: bytes, block: int) -> bytes:
    """Blanks up to the next whole block: the length tells only a size class."""
    return plain + b" " * (-len(plain) % block)


DOMAIN, KEY, ACTOR, TOKEN, REQUEST, LIMIT, USAGE, HONEY, SIGNER, SETTING, CHALLENGE, CHANGE, ENROLMENT = range(1, 14)
MERGES, WAITING, ISSUER = 14, 15, 16
"""What an object is; the number is part of its keyed tag, so it never changes."""

ONCE = SETTING
"""The kind of objects that are written once (names, holders) and removed when a person is forgotten: there may be many."""
