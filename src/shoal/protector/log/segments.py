"""The log in closed segments: files that continue each other, to be kept outside and checked without the vault or any secret.

A segment holds the sealed events from ``first`` to ``last``, the hash before and after them, and a checkpoint that signs the
last. Each begins with the hash at which the one before ended, so none can be altered, left out or exchanged. Events stay sealed:
who keeps them learns how many there are and how long, nothing else.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from shoal.disk.atomic import atomic
from shoal.errors import DataError, TamperError, UsageError, refuse
from shoal.kernels.merkle import Frontier, leaf
from shoal.protector.log import audit, checkpoints
from shoal.protector.store.connection import blob
from shoal.protector.store.database import Tx, step
from shoal.protector.store.guard import chained

FORMAT = "shoal-log-segment/1"
MOST = 10_000
"""Events of one segment."""

Segment = dict[str, Any]


@dataclass(frozen=True)
class Archive:
    """What a folder of segments shows: whether it holds, how far it goes, and the keys that signed it."""

    ok: bool
    segments: int
    events: int
    head: str
    vault: str
    keys: tuple[str, ...]
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "keys": list(self.keys), "problems": list(self.problems)}


def cut(tx: Tx, after: int, now: float, *, most: int = MOST) -> Segment:
    """The segment behind event ``after``: it ends at a checkpoint, which is signed now where the log ends within it."""
    end = tx.state.audit_seq
    retired = tx.state.retired_seq
    if not 0 <= after < end:
        raise UsageError(f"the log ends at event {end}.", hint="Name the last event of the segment before.")
    if after < retired:
        raise UsageError(f"the events up to {retired} have left the database.", hint="Go on in the folder that holds them.")
    checkpoint = checkpoints.sign_checkpoint(tx, now) if end - after <= most else checkpoints.newest_checkpoint(tx, after + most)
    if checkpoint is None or checkpoint["seq"] <= after:
        raise TamperError("a checkpoint of the log is missing.", hint="Run `shoal vault audit --verify`.")
    begins = (bytes.fromhex(tx.state.retired_head),)
    before = tx.first("SELECT hash FROM vault_audit WHERE seq = ?", after) if after > retired else begins
    rows = tx.all_of("SELECT sealed FROM vault_audit WHERE seq > ? AND seq <= ? ORDER BY seq", after, checkpoint["seq"])
    if before is None or len(rows) != checkpoint["seq"] - after:
        raise TamperError("events of the log are missing.", hint="Run `shoal vault audit --verify`.")
    return {
        "format": FORMAT,
        "vault": tx.store.vault_id,
        "first": after + 1,
        "last": checkpoint["seq"],
        "before": blob(before[0]).hex(),
        "events": [base64.b64encode(blob(sealed)).decode() for (sealed,) in rows],
        "checkpoint": checkpoint,
    }


def export(folder: Path, fetch: Callable[[int], Segment]) -> list[Path]:
    """Write the segments that a folder lacks; ``fetch`` gives the one behind an event. What is there is checked first."""
    folder.mkdir(parents=True, exist_ok=True)
    known = check(folder) if any(_files(folder)) else Archive(True, 0, 0, audit.ZERO.hex(), "", ())
    if not known.ok:
        raise TamperError("the folder of segments does not hold: " + " ".join(known.problems), hint="Keep it; use a new folder.")
    after, head, vault, written, goal = known.events, known.head, known.vault, [], None
    while goal is None or after < goal:
        segment = fetch(after)
        if segment["before"] != head or (vault and segment["vault"] != vault):
            raise TamperError("the vault's log does not continue these segments.", hint="It is another vault, or was changed.")
        goal = segment["end"] if goal is None else goal
        file = folder / f"log-{segment['first']:012}-{segment['last']:012}.json"
        with atomic(file) as temporary:
            temporary.write_text(json.dumps({k: v for k, v in segment.items() if k != "end"}) + "\n", encoding="utf-8")
        written.append(file)
        after, head, vault = segment["last"], segment["checkpoint"]["head"], segment["vault"]
    return written


def check(folder: Path, *, keys: tuple[str, ...] = ()) -> Archive:
    """Check every segment of a folder: its chain, its signature, and that they continue each other.

    ``keys`` are the ids of the signing keys that are trusted (``shoal vault status``); without any, the keys in use are returned.
    """
    problems: list[str] = []
    head, events, vault, count = audit.ZERO, 0, "", 0
    signers: dict[str, None] = {}
    trees = _Trees()
    for file in _files(folder):
        count += 1
        try:
            segment = _read(file)
        except DataError as error:
            problems.append(error.message)
            break
        head, fine = _walk(segment, head, events, vault, problems, file.name, trees)
        if not fine:
            break
        events, vault = segment["last"], segment["vault"]
        signers[segment["checkpoint"]["key"]] = None
    if not count:
        problems.append("no segments exist.")
    if keys and (strange := [key for key in signers if key not in keys]):
        problems.append(f"{len(strange)} signing keys are not among those that are trusted.")
    return Archive(not problems, count, events, head.hex(), vault, tuple(signers), tuple(problems))


class _Trees:
    """The Merkle tree over the events of the segments so far, to compare with the signed roots."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []  # until a checkpoint says at which event the tree begins
        self._tree: Frontier | None = None

    def add(self, hashed: bytes) -> None:
        if self._tree is None:
            self._waiting.append(leaf(hashed))
        else:
            self._tree.add(leaf(hashed))

    def fits(self, signed: Mapping[str, Any]) -> bool:
        """Whether a checkpoint has the root of these events; those of Shoal 0.3.0 have none."""
        if "root" not in signed:
            return self._tree is None
        if self._tree is None:
            size = signed.get("size")
            if not isinstance(size, int) or not 0 <= size <= len(self._waiting):
                return False
            self._tree = Frontier().add(*self._waiting[len(self._waiting) - size :])
            self._waiting = []
        return (self._tree.size, self._tree.root.hex()) == (signed.get("size"), signed["root"])


def _walk(
    segment: Segment, head: bytes, events: int, vault: str, problems: list[str], name: str, trees: _Trees
) -> tuple[bytes, bool]:
    """The hash after a segment, and whether it continues the ones before."""
    signed = segment["checkpoint"]
    public = bytes.fromhex(signed["public_key"])
    if segment["first"] != events + 1 or segment["before"] != head.hex() or (vault and segment["vault"] != vault):
        problems.append(f"{name} does not continue the segment before it: one is missing, or was exchanged.")
        return head, False
    for place, text in enumerate(segment["events"]):
        head = chained(head, segment["first"] + place, base64.b64decode(text))
        trees.add(head)
    whole = segment["last"] == signed["seq"] == events + len(segment["events"])
    good = checkpoints.signed_by(signed, public) and signed["vault"] == segment["vault"]
    if not whole or not good or head.hex() != signed["head"]:
        problems.append(f"{name} was altered: its events are not the ones that were signed.")
        return head, False
    if not trees.fits(signed):
        problems.append(f"{name} is signed with a tree that does not fit its events.")
        return head, False
    return head, True


def _files(folder: Path) -> Iterator[Path]:
    return iter(sorted(folder.glob("log-*.json")))


def _read(file: Path) -> Segment:
    """A segment whose parts have the right form."""
    with refuse(DataError(f"{file.name} is not a segment of a log."), OSError, ValueError, KeyError, TypeError):
        body: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        good = body["format"] == FORMAT and isinstance(body["first"], int) and isinstance(body["last"], int)
        for text in body["events"]:
            base64.b64decode(text, validate=True)
        signed = body["checkpoint"]
        bytes.fromhex(signed["public_key"] + signed["signature"] + signed["head"] + body["before"] + signed["key"])
        if not good or not isinstance(signed["seq"], int) or not body["events"]:
            raise ValueError
        return dict(body)


DAILY = frozenset({"find", "pseudonymize", "audit"})
"""Actions whose events leave, where they were simply done."""


def signed_end(tx: Tx, upto: int, head: str) -> dict[str, Any]:
    """The checkpoint that closes the part of the log to leave; refused where the archive does not end at one of this vault."""
    state = tx.state
    if not state.retired_seq < upto <= state.audit_seq:
        what = f"the archive ends at event {upto}; the database holds the events {state.retired_seq + 1} to {state.audit_seq}."
        raise UsageError(what, hint="Bring the archive up to date first: `shoal vault audit --segments`.")
    row = tx.first("SELECT hash FROM vault_audit WHERE seq = ?", upto)
    signed = checkpoints.newest_checkpoint(tx, upto)
    if row is None or signed is None or signed["seq"] != upto or blob(row[0]).hex() != signed["head"]:
        raise UsageError(f"the log was not signed at event {upto}.", hint="Segments end where it was.")
    if head != signed["head"]:
        raise DataError("the archive does not hold this vault's log.", hint="It is another vault's, or was changed.")
    return signed


def retire(tx: Tx, upto: int, head: str) -> dict[str, int]:
    """Take the events up to ``upto`` out of the database; how many left, and how many of them stay readable."""
    signed_end(tx, upto, head)
    first = tx.state.retired_seq + 1
    count, staying = 0, []
    for event in takewhile(lambda event: event["n"] <= upto, audit.events(tx, first=first)):
        count += 1
        if event["action"] not in DAILY or event["outcome"] != "done":
            staying.append(event)
    if count != upto - first + 1:
        raise TamperError("events of the log are missing.", hint="Run `shoal vault audit --verify`.")
    checkpoints.put(tx, staying)
    tree = checkpoints.retired_tree(tx)
    rows = tx.all_of("SELECT hash FROM vault_audit WHERE seq <= ? ORDER BY seq", upto)
    tx.state.retired_tree = tree.add(*(leaf(blob(entry)) for (entry,) in rows)).to_json()
    tx.run("DELETE FROM vault_audit WHERE seq <= ?", upto)
    tx.state.retired_seq, tx.state.retired_head = upto, head
    step("retired")
    return {"events": count, "kept": len(staying)}
