"""The append-only log: how its lines hang together, and what is true after the last one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from shoal.errors import TamperError
from shoal.kernels.signatures import canonical
from shoal.registry.records.notice import Notice
from shoal.registry.records.record import Record
from shoal.registry.records.trust import Statement

START = "0" * 64
FIELDS = {"line": int, "kind": str, "subject": str, "digest": str, "hash": str}


def link(previous: str, line: int, kind: str, subject: str, digest: str) -> str:
    """Hash of one log line over the hash of the line before."""
    return hashlib.sha256(canonical([previous, line, kind, subject, digest])).hexdigest()


def digest_of(body: bytes) -> str:
    """What the log keeps of a record or statement: the SHA-256 of its canonical form."""
    return hashlib.sha256(body).hexdigest()


class Replay:
    """Take the lines of a log one by one; afterwards ``current`` holds the records that count, ``catalogue`` the notices.

    ``record`` finds a record by its id and checks its signature; ``statements`` and ``noticed`` are the statements and notices,
    already checked.
    """

    def __init__(self, record: Callable[[str], Record], statements: Iterable[Statement], noticed: Iterable[Notice] = ()) -> None:
        self._record = record
        self._noticed = {n.id: n for n in noticed}
        self.catalogue: dict[str, Notice] = {}
        self._said = {digest_of(canonical(s.to_json())): s for s in statements}
        self.head = (0, START)
        self.current: dict[str, Record] = {}
        self.holders: dict[str, set[str]] = {}
        self.statements = 0

    def take(self, entry: Any) -> None:
        """Check one line against the line before and against what it names."""
        line, previous = self.head[0] + 1, self.head[1]
        shaped = isinstance(entry, dict) and all(type(entry.get(k)) is t for k, t in FIELDS.items())
        if not shaped or entry["line"] != line:
            raise TamperError(f"line {line} of the log is missing or not well formed.", hint="Mirror the registry again.")
        if link(previous, line, entry["kind"], entry["subject"], entry["digest"]) != entry["hash"]:
            raise TamperError(f"line {line} of the log does not fit the line before it.", hint="Mirror the registry again.")
        self.head = (line, entry["hash"])
        if entry["kind"] == "record":
            self._take_record(entry)
        elif entry["kind"] == "notice":
            self._take_notice(entry)
        else:
            self._take_statement(entry)

    def _take_record(self, entry: dict[str, Any]) -> None:
        record = self._record(entry["subject"])
        if digest_of(canonical(record.to_json())) != entry["digest"]:
            raise TamperError("a record is not the one that the log names.", hint="Mirror the registry again.")
        if record.supersedes is not None:
            self.current.pop(record.supersedes, None)
        self.current[record.id] = record
        self.holders.setdefault(record.holder, set()).add(record.key)

    def _take_notice(self, entry: dict[str, Any]) -> None:
        notice = self._noticed.pop(entry["subject"], None)
        if notice is None or digest_of(canonical(notice.to_json())) != entry["digest"]:
            raise TamperError("a notice of the log is missing or another.", hint="Mirror the registry again.")
        if notice.supersedes is not None:
            self.catalogue.pop(notice.supersedes, None)
        self.catalogue[notice.id] = notice

    def _take_statement(self, entry: dict[str, Any]) -> None:
        statement = self._said.pop(entry["digest"], None)
        if statement is None or (statement.kind, statement.subject) != (entry["kind"], entry["subject"]):
            raise TamperError("a statement of the log is missing.", hint="Mirror the registry again.")
        self.statements += 1
        if statement.kind == "revoke-record":
            self.current.pop(statement.subject, None)
            self.catalogue.pop(statement.subject, None)
        elif statement.kind == "revoke-key" and statement.key == statement.subject:
            self.current = {i: r for i, r in self.current.items() if r.key != statement.key}
            self.catalogue = {i: n for i, n in self.catalogue.items() if n.key != statement.key}
