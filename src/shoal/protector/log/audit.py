"""The audit log: append-only, hash-chained, signed at checkpoints, and itself pseudonymous.

Event i is sealed, and ``hash_i = SHA-256(hash_(i-1) || i || sealed_i)``; a checkpoint is an Ed25519 signature over
(vault, i, hash_i, time), stored sealed, so that a stolen file tells no times. The chain, and checkpoints kept outside, can be
checked without any secret. Deletion, edit and reordering break
the chain; a cut-off tail contradicts the sealed state, the checkpoints and the anchor; a put-back older log contradicts the
anchor or any checkpoint kept outside. Actors and data subjects appear only under audit pseudonyms (``A-…``, ``S-…``).
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from types import MappingProxyType
from typing import Any

from shoal.errors import AccessError, TamperError
from shoal.kernels.merkle import leaf
from shoal.protector.crypto import base32
from shoal.protector.log import checkpoints, shares
from shoal.protector.log.checkpoints import (
    log_tree,
    opened_body,
    read_kept,
    read_signed,
    retired_tree,
    sign_checkpoint,
    signing_keys,
)
from shoal.protector.log.shares import is_trial
from shoal.protector.store.connection import blob
from shoal.protector.store.database import Store, Tx, step
from shoal.protector.store.guard import chained
from shoal.protector.store.state import State, padded

EVERY = 128
"""Events between two checkpoints at most; reveals, approvals and key events are signed at once."""

SIGNED_AT_ONCE = frozenset(
    "reveal approve shred rotate resolve create checkpoint grant agreed anchor enrol maintenance retire time break-glass".split()
)
_BLOCK = 128
_CHUNK = 2000
_WITNESSED = 100
"""Newest checkpoints of the witnesses that are compared when a vault is opened."""
ZERO = b"\0" * 32


@dataclass(frozen=True)
class Verdict:
    """The result of checking the log: ``ok``, how many events and checkpoints, and every problem in words.

    ``accepted`` lists every state that two people accepted in place of the one this machine knew; ``trial`` says that one
    person alone began the vault.
    """

    ok: bool
    events: int
    checkpoints: int
    head: str
    problems: tuple[str, ...] = ()
    accepted: tuple[dict[str, Any], ...] = ()
    trial: bool = False

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "problems": list(self.problems), "accepted": list(self.accepted)}


def actor_pseudonym(store: Store, actor: str) -> str:
    return "A-" + base32.encode(store.audit_names.digest(b"actor\0" + actor.encode())[:10])


def append(tx: Tx, time: float, events: Sequence[Mapping[str, Any]]) -> None:
    """Add events to the log within the transaction; sign where it is due."""
    state = tx.state
    head, tree = bytes.fromhex(state.audit_head), log_tree(tx)
    stamp = datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")
    rows = []
    for event in events:
        state.audit_seq += 1
        body = json.dumps({"time": stamp, **event}, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode(
            "utf-8", "backslashreplace"
        )
        sealed = tx.store.audit_box.seal(padded(body, _BLOCK), _place(tx.store, state.audit_seq))
        head = chained(head, state.audit_seq, sealed)
        rows.append((state.audit_seq, sealed, head))
    state.audit_head = head.hex()
    state.tree = tree.add(*(leaf(head) for _, _, head in rows)).to_json()
    for row in rows:
        tx.run("INSERT INTO vault_audit (seq, sealed, hash) VALUES (?, ?, ?)", *row)
    step("audit")
    due = state.audit_seq - state.checkpoint_seq >= EVERY
    if due or any(e["action"] in SIGNED_AT_ONCE for e in events):
        sign_checkpoint(tx, time)


def events(tx: Tx, *, first: int = 1, actions: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
    """The events of the log, opened, in order, each with its number ``n``."""
    wanted = None if actions is None else set(actions)
    kept = checkpoints.read(tx) if first <= tx.state.retired_seq else ()  # of those that left the database
    stored = (
        {"n": seq, **json.loads(tx.store.audit_box.open(sealed, _place(tx.store, seq), what="log event"))}
        for seq, sealed, _ in _stored_events(tx, first)
    )
    for event in chain(kept, stored):
        if event["n"] >= first and (wanted is None or event["action"] in wanted):
            yield event


def verify(tx: Tx, *, anchors: Sequence[Mapping[str, Any]] = (), acknowledged: int = 0) -> Verdict:
    """Check the whole log: chain, sealed state, signatures, and checkpoints kept outside.

    ``anchors`` are checkpoints as :func:`sign_checkpoint` returned them, kept where an intruder cannot reach them.
    ``acknowledged`` is the number of accepted older states that the auditor knows of: one more is a problem.
    """
    problems: list[str] = []
    hashes = _check_chain(tx, problems)
    state = tx.state
    _check_end(state, hashes, problems)
    before = tx.first("SELECT count(*) FROM vault_audit WHERE seq <= ?", state.retired_seq)[0]
    if before:
        problems.append(f"{before} events were added from outside, before the first one.")
    _check_kept(tx, problems)
    keys = {k["id"]: bytes.fromhex(k["public"]) for k in signing_keys(tx)}
    wanted = {state.audit_seq, *(int(seq) for (seq,) in tx.all_of("SELECT seq FROM vault_checkpoints"))}
    roots = {} if problems else _roots(tx, hashes, wanted)
    if not problems and roots[state.audit_seq] != log_tree(tx).root.hex():
        problems.append("the tree of the log is not the one that the vault wrote.")
    signed = _check_checkpoints(tx, keys, hashes, roots, problems)
    for given in anchors:
        _check_outside(tx, keys, given, hashes, problems, roots)
    times = [] if problems else [e for e in events(tx, actions=["anchor"]) if e["outcome"] == "done"]
    accepted = tuple({k: v for k, v in e.items() if k not in ("action", "outcome", "detail")} for e in times)
    if len(accepted) > acknowledged:
        known = accepted[-1].get("events_before")
        lost = "an unknown number of" if known is None else str(max(0, known - accepted[-1]["events"]))
        problems.append(
            f"{len(accepted)} times a state was accepted in place of the one this machine knew, {acknowledged} are acknowledged; "
            f"the last on {accepted[-1]['time'][:10]} at event {accepted[-1]['events']}, with {lost} events lost."
        )
    return Verdict(not problems, max(hashes), signed, hashes[max(hashes)].hex(), tuple(problems), accepted, is_trial(tx))


def _check_chain(tx: Tx, problems: list[str]) -> dict[int, bytes]:
    """Walk the chain from where it begins; the hash after each event that is needed later (all of them: 32 bytes each)."""
    begin, head = tx.state.retired_seq, bytes.fromhex(tx.state.retired_head)
    hashes = {begin: head}
    expected = begin + 1
    for seq, sealed, stored in _stored_events(tx, expected):
        if seq != expected:
            problems.append(f"event {expected} is missing: the log jumps to {seq}.")
        head = chained(head, seq, sealed)
        if head != stored:
            problems.append(f"event {seq} was altered, moved, or an event before it was taken out.")
            head = stored
        hashes[seq] = stored
        expected = seq + 1
        if len(problems) > 20:
            break
    return hashes


def _roots(tx: Tx, hashes: Mapping[int, bytes], wanted: set[int]) -> dict[int, str]:
    """The root of the tree after each wanted event, of those that the database has."""
    tree, roots = retired_tree(tx), {}
    for seq in sorted(wanted & hashes.keys()):
        tree.add(*(leaf(hashes[n]) for n in range(tree.size + tx.state.tree_from + 1, seq + 1)))
        roots[seq] = tree.root.hex()
    return roots


def _check_kept(tx: Tx, problems: list[str]) -> None:
    """Whether the events that were kept are all there and unaltered."""
    try:
        for _ in checkpoints.read(tx):
            pass
    except TamperError as error:
        problems.append(error.message)


def _check_end(state: State, hashes: Mapping[int, bytes], problems: list[str]) -> None:
    last = max(hashes)
    if last < state.audit_seq:
        problems.append(f"the tail is cut off: {state.audit_seq} events were written, {last} are there.")
    elif last > state.audit_seq:
        problems.append(f"{last - state.audit_seq} events were added from outside.")
    elif hashes[last].hex() != state.audit_head:
        problems.append("the newest event is not the one the vault wrote.")


def _check_checkpoints(
    tx: Tx, keys: Mapping[str, bytes], hashes: dict[int, bytes], roots: dict[int, str], problems: list[str]
) -> int:
    """Check every stored checkpoint; those of events that left the database join ``hashes``, on the word of their signature."""
    from shoal.protector.store.schema import checkpoints as signed

    checkpoints = tx.connection.execute(signed.select().order_by(signed.c.seq)).all()
    for row in checkpoints:
        body = read_signed(opened_body(tx.store, row.seq, blob(row.body)), blob(row.signature), keys)
        if body is None or body["seq"] != row.seq or body["vault"] != tx.store.vault_id:
            problems.append(f"the checkpoint at event {row.seq} has no valid signature.")
        elif row.seq < tx.state.retired_seq:
            hashes[row.seq] = bytes.fromhex(body["head"])
            roots[row.seq] = body.get("root", "")
        elif hashes.get(row.seq, b"").hex() != body["head"] or not _same_root(body, roots):
            problems.append(f"the log at event {row.seq} is not the one that was signed.")
    if (checkpoints[-1].seq if checkpoints else 0) != tx.state.checkpoint_seq:
        problems.append(f"the newest checkpoint, at event {tx.state.checkpoint_seq}, is missing.")
    if len(checkpoints) != tx.state.checkpoints:
        problems.append(f"{tx.state.checkpoints} checkpoints were signed, {len(checkpoints)} are there.")
    return len(checkpoints)


def _check_outside(
    tx: Tx,
    keys: Mapping[str, bytes],
    given: Mapping[str, Any],
    hashes: Mapping[int, bytes],
    problems: list[str],
    roots: Mapping[int, str] = MappingProxyType({}),
) -> None:
    body = read_kept(given, keys)
    if body is None or body.get("vault") != tx.store.vault_id:
        problems.append("a checkpoint kept outside does not carry this vault's signature.")
    elif body["seq"] > max(hashes):
        problems.append(f"the log was rolled back: it ends at event {max(hashes)}, but {body['seq']} was signed before.")
    elif hashes.get(body["seq"], b"").hex() != body["head"] or not _same_root(body, roots):
        problems.append(f"the log at event {body['seq']} differs from the checkpoint kept outside.")


def _same_root(body: Mapping[str, Any], roots: Mapping[int, str]) -> bool:
    """Whether a checkpoint signs the tree that the events make; true if it has no tree, or the tree was not computed."""
    return "root" not in body or body["root"] == roots.get(body["seq"], body["root"])


def check_witnesses(tx: Tx, given: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a log that the newest checkpoints kept outside contradict: it was rolled back or changed.

    The whole log is walked only by :func:`verify`; here the stored hash of each event that a witness saw is compared.
    """
    newest = sorted((b for b in given if isinstance(b.get("seq"), int)), key=lambda b: b["seq"])[-_WITNESSED:]
    for _, problem in contradictions(tx, newest):
        hint = "Restore the newest copy. If the state is right, two people accept it with `shoal vault anchor --accept`."
        raise TamperError(f"a witness contradicts this vault: {problem}", hint=hint)


def contradictions(tx: Tx, given: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Each checkpoint kept outside that the stored hashes contradict, and how."""
    keys = {k["id"]: bytes.fromhex(k["public"]) for k in signing_keys(tx)}
    for body in given:
        if isinstance(body.get("seq"), int) and body["seq"] > tx.state.retired_seq:
            row = tx.first("SELECT hash FROM vault_audit WHERE seq = ?", body["seq"])
            hashes = {tx.state.audit_seq: b"", **({} if row is None else {int(body["seq"]): blob(row[0])})}
            problems: list[str] = []
            _check_outside(tx, keys, body, hashes, problems)
            yield from ((body, problem) for problem in problems)


def _stored_events(tx: Tx, first: int) -> Iterator[tuple[int, bytes, bytes]]:
    from shoal.protector.store.schema import audit

    at = first
    while True:
        query = audit.select().where(audit.c.seq >= at).order_by(audit.c.seq).limit(_CHUNK)
        rows = tx.connection.execute(query).all()
        for row in rows:
            yield int(row.seq), blob(row.sealed), blob(row.hash)
        if len(rows) < _CHUNK:
            return
        at = int(rows[-1].seq) + 1


def _place(store: Store, seq: int) -> bytes:
    return b"audit" + seq.to_bytes(8, "big") + store.bound


def recent(store: Store, last: int = 1000) -> dict[str, int]:
    """Alarms, refusals and reveals among the newest events."""
    with store.read() as tx:
        latest = list(events(tx, first=max(1, tx.state.audit_seq - last + 1)))
    return {
        "recent_alarms": sum(event["outcome"] == "alarm" for event in latest),
        "recent_refusals": sum(event["outcome"] == "refused" for event in latest),
        "recent_reveals": sum(event["action"] == "reveal" and event["outcome"] == "done" for event in latest),
    }


_program_log = logging.getLogger("shoal.protector")
_ALARMING = ("honeytoken", "limit", "self-approval", "digest", "factor", "oversight", "shares")


class Recorder:
    """Writes the events of one open vault."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._failed_logins: list[float] = []

    def record(self, tx: Tx, time: float, actor: str, action: str, *, outcome: str = "done", **details: Any) -> None:
        """Write one event, the actor under an audit pseudonym; alarms also go to the program's own log."""
        if outcome == "alarm":
            _program_log.warning("vault alarm: %s (%s)", action, details.get("reason", ""))
        name = actor_pseudonym(self._store, actor) if actor else "A-unknown"
        given = {k: v for k, v in details.items() if v not in (None, "")}
        append(tx, time, [{"actor": name, "action": action, "outcome": outcome, **given}])

    def remember_actor(self, tx: Tx, name: str) -> None:
        """Seal the name of an actor behind its audit pseudonym."""
        shares.remember(tx, actor_pseudonym(self._store, name), name.encode())

    @contextlib.contextmanager
    def refusals(self, actor: str, action: str, **details: Any) -> Iterator[None]:
        """Log a refusal in a transaction of its own, then raise it again."""
        try:
            yield
        except AccessError as refusal:
            reason = getattr(refusal, "reason", "refused")
            with self._store.write() as tx:
                now = tx.now(self._clock)
                self.record(tx, now, actor, action, outcome="refused", reason=reason, **details)
                if reason in _ALARMING:
                    self.record(tx, now, actor, action, outcome="alarm", reason=reason, **details)
            raise

    def failed_login(self) -> None:
        """Log a wrong token, at most ten a minute: a flood must not fill the log."""
        now = self._clock()
        with self._lock:
            self._failed_logins = [t for t in self._failed_logins if now - 60 < t <= now]
            full = len(self._failed_logins) >= 10
            self._failed_logins.append(now)
        if not full:
            with self._store.write() as tx:
                self.record(tx, tx.now(self._clock), "", "login", outcome="refused", reason="token")
