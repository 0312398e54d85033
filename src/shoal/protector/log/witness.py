"""Witnesses: places outside the vault that keep every signed head of the log before identities leave.

A place is a file (best on another machine's disk), to which a line is appended, or an ``https://`` address that takes a POST.
What a witness holds cannot be cut from the log unseen, not even by somebody with the master key: ``audit --verify --against``.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shoal.errors import EngineError, UsageError
from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import SIGNER

_SECONDS = 20.0


def check(places: Sequence[str]) -> None:
    """Refuse places that cannot be witnesses."""
    for place in places:
        if not place.isprintable():
            raise UsageError("a witness is a file or an https:// address.")
        parts = urlsplit(place)
        local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
        if parts.scheme not in ("", "https") and not local:
            raise UsageError("a witness is a file or an https:// address.")
        if not parts.scheme and not os.path.isabs(place):
            raise UsageError("a witness file is named with its whole path.", hint="Best on another machine's disk.")


def put(tx: Tx, places: Sequence[str]) -> None:
    """Remember where checkpoints go; none ends it."""
    tx.put(SIGNER, "witness", {"places": list(places)})


def places(tx: Tx) -> list[str]:
    return list((tx.get(SIGNER, "witness") or {"places": []})["places"])


def send(to: Sequence[str], checkpoint: Mapping[str, Any]) -> None:
    """Give a checkpoint to every witness; one that does not take it is an error."""
    line = json.dumps(dict(checkpoint), separators=(",", ":"), sort_keys=True) + "\n"
    for place in to:
        try:
            _append(Path(place), line) if not urlsplit(place).scheme else _post(place, line)
        except (OSError, http.client.HTTPException):
            raise EngineError("a witness of the log cannot be reached: nothing is revealed without it.") from None


def _append(file: Path, line: str) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, line.encode())
        os.fsync(handle)
    finally:
        os.close(handle)


def _post(place: str, line: str) -> None:
    parts = urlsplit(place)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        connection.request("POST", parts.path or "/", line.encode(), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        if not 200 <= answer.status < 300:
            raise http.client.HTTPException
    finally:
        connection.close()


def read(file: Path) -> list[dict[str, Any]]:
    """The checkpoints that a witness file holds, or the single one that ``shoal vault checkpoint`` wrote."""
    try:
        text = file.read_text(encoding="utf-8")
        try:
            found = [json.loads(text)]
        except ValueError:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError):
        found = []
    if not found or not all(isinstance(body, dict) for body in found):
        raise UsageError(f"'{file.name}' holds no checkpoints.", hint="Give the file as Shoal wrote it.")
    return found
