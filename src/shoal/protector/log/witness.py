"""Witnesses: places outside the vault that keep every signed head of the log before identities leave.

A place is a file (best on another machine's disk), to which a line is appended; ``local``, a file of this machine apart from
database and key, which every new vault has; an ``https://`` address that takes a POST; a mailbox
(``smtp://SERVER:PORT/name@example.org``), which gets a letter through that server; a folder of letters (``eml:/path``).
What a witness holds cannot be cut from the log unseen, not even by somebody with the master key: ``audit --verify --against``.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import smtplib
import ssl
from collections.abc import Mapping, Sequence
from datetime import datetime
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from shoal.disk.atomic import atomic
from shoal.errors import EngineError, TamperError, UsageError
from shoal.protector.store.database import Tx
from shoal.protector.store.state import SIGNER

_SECONDS = 20.0
_READ_SECONDS = 5.0
_MOST_READ = 50_000_000
LOCAL = "local"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_KINDS = "a witness is 'local', a file, an https:// address, a mailbox (smtp://SERVER/name@example.org) or a folder (eml:/path)."


def check(places: Sequence[str]) -> None:
    """Refuse places that cannot be witnesses."""
    for place in places:
        if not place.isprintable():
            raise UsageError(_KINDS)
        if place == LOCAL:
            continue
        parts = urlsplit(place)
        if parts.scheme == "smtp":
            _check_mailbox(place)
            continue
        if parts.scheme == "eml":
            if not os.path.isabs(parts.path):
                raise UsageError("a folder of letters is named with its whole path.", hint="Say eml:/mnt/other/letters.")
            continue
        local = parts.scheme == "http" and parts.hostname in LOOPBACK
        if parts.scheme not in ("", "https") and not local:
            raise UsageError(_KINDS)
        if not parts.scheme and not os.path.isabs(place):
            raise UsageError("a witness file is named with its whole path.", hint="Best on another machine's disk.")


def put(tx: Tx, places: Sequence[str]) -> None:
    """Remember where checkpoints go; none ends it."""
    tx.put(SIGNER, "witness", {**(tx.get(SIGNER, "witness") or {}), "places": list(places), "sent": 0})
    begin(tx)


def places(tx: Tx) -> list[str]:
    """Where checkpoints go, as seen from this machine."""
    named = (tx.get(SIGNER, "witness") or {"places": []})["places"]
    return [str(tx.store.witness) if place == LOCAL else place for place in named]


def note_sent(tx: Tx, seq: int) -> None:
    """Remember the newest event that every witness has seen."""
    tx.put(SIGNER, "witness", {**(tx.get(SIGNER, "witness") or {"places": []}), "sent": seq})


def begin_again(tx: Tx, abandoned: Sequence[Mapping[str, Any]]) -> None:
    """After two people accepted this state: heads of the abandoned one no longer count, and a file may begin again."""
    known = tx.get(SIGNER, "witness") or {"places": []}
    marks = [*known.get("abandoned", []), *(str(body.get("signature", ""))[:32] for body in abandoned)]
    tx.put(SIGNER, "witness", {**known, "sent": 0, "abandoned": marks})
    begin(tx)


def begin(tx: Tx) -> None:
    """Make the file of this machine, unless it exists."""
    file = tx.store.witness
    if str(file) in places(tx):
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.touch(0o600)
        except OSError as error:
            hint = "Name another one with --witness."
            raise EngineError(f"the witness '{file.name}' cannot be made: {error.strerror}.", hint=hint) from None


def checkpoints_of(tx: Tx, *, accepting: bool = False) -> list[dict[str, Any]]:
    """What the witnesses that can be read from here hold about this vault: files, folders of letters, and addresses that answer.

    A file or folder that is gone although it was written is refused: somebody took the evidence away. An address that does not
    answer is passed over; reveals wait for it anyway. Heads of a state that two people gave up are left out; while they do
    (``accepting``), a file may be gone.
    """
    known = tx.get(SIGNER, "witness") or {}
    gone = int(known.get("sent", 0)) and not accepting
    abandoned = set(known.get("abandoned", []))
    checkpoints: list[dict[str, Any]] = []
    for place in places(tx):
        parts = urlsplit(place)
        if parts.scheme in ("", "eml"):
            file = Path(parts.path if parts.scheme else place)
            if file.exists() and (file.is_dir() or file.stat().st_size):
                checkpoints += read(file)
            elif gone and not (file.exists() and file == tx.store.witness):  # this machine's own may still be empty
                hint = "Put it back, or let two people accept the present state with `shoal vault anchor --accept`."
                raise TamperError(f"the witness '{file.name}' is gone, but it took checkpoints of this log.", hint=hint)
        elif parts.scheme in ("https", "http"):
            checkpoints += _get(place)
    return [b for b in checkpoints if b.get("vault") == tx.store.vault_id and str(b.get("signature", ""))[:32] not in abandoned]


def _get(place: str) -> list[dict[str, Any]]:
    """The checkpoints that an address returns, one on each line; none if it does not return any."""
    parts = urlsplit(place)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_READ_SECONDS)
    try:
        connection.request("GET", parts.path or "/", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        lines = answer.read(_MOST_READ).decode("utf-8", "replace").splitlines() if answer.status == 200 else []
        checkpoints = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError, http.client.HTTPException):
        return []
    finally:
        connection.close()
    return [body for body in checkpoints if isinstance(body, dict)]


def send(to: Sequence[str], checkpoint: Mapping[str, Any]) -> None:
    """Give a checkpoint to every witness; one that does not take it is an error."""
    line = json.dumps(dict(checkpoint), separators=(",", ":"), sort_keys=True) + "\n"
    for place in to:
        try:
            _SEND[urlsplit(place).scheme](place, line)
        except (OSError, http.client.HTTPException, smtplib.SMTPException):
            raise EngineError("a witness of the log cannot be reached: nothing is revealed without it.") from None


def _append(place: str, line: str) -> None:
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
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


def _check_mailbox(place: str) -> None:
    parts = urlsplit(place)
    box = parts.path.removeprefix("/")
    try:
        good = bool(parts.hostname) and parts.port != 0 and not parts.username and not parts.query
    except ValueError:
        good = False
    if not good or not re.fullmatch(r"[\w.+-]+@[\w.-]+", box, re.ASCII):
        hint = "The server takes mail without a password."
        raise UsageError("a mailbox is written smtp://SERVER:PORT/name@example.org.", hint=hint)


def _letter(line: str, to: str) -> EmailMessage:
    """A letter with one checkpoint as its text."""
    body = json.loads(line)
    letter = EmailMessage(policy=SMTP)
    letter["From"] = "shoal-vault@localhost"
    letter["To"] = to
    letter["Subject"] = f"Log of vault {body['vault'][:8]}: event {body['seq']}"
    letter["Date"] = format_datetime(datetime.fromisoformat(body["time"]))
    letter.set_content(line, cte="base64")
    return letter


def _mail(place: str, line: str) -> None:
    """Hand a letter to the server; beyond this machine only over TLS with a certificate that holds."""
    parts = urlsplit(place)
    host, box = parts.hostname or "", parts.path.removeprefix("/")
    with smtplib.SMTP(host, parts.port or 25, timeout=_SECONDS) as server:
        if host not in LOOPBACK:
            server.starttls(context=ssl.create_default_context())
        server.send_message(_letter(line, box), "shoal-vault@localhost", [box])


def _put_letter(place: str, line: str) -> None:
    """A letter as a file of its own, for a program that sends letters."""
    body = json.loads(line)
    name = f"{body['vault'][:8]}-{body['seq']:012}-{body['signature'][:16]}.eml"
    with atomic(Path(urlsplit(place).path) / name) as temporary:
        temporary.write_bytes(_letter(line, "auditor@localhost").as_bytes())


_SEND = {"": _append, "https": _post, "http": _post, "smtp": _mail, "eml": _put_letter}


def read(file: Path) -> list[dict[str, Any]]:
    """The checkpoints that a witness holds: a file of lines, one letter, a folder of letters, or a single checkpoint."""
    if file.is_dir():
        return [body for letter in sorted(file.glob("*.eml")) for body in read(letter)] or _nothing(file)
    try:
        text = file.read_text(encoding="utf-8")
        if file.suffix.lower() == ".eml":
            text = str(BytesParser(policy=SMTP).parsebytes(file.read_bytes()).get_content())
        try:
            checkpoints = [json.loads(text)]
        except ValueError:
            checkpoints = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError, KeyError):
        checkpoints = []
    return checkpoints if checkpoints and all(isinstance(body, dict) for body in checkpoints) else _nothing(file)


def _nothing(file: Path) -> NoReturn:
    raise UsageError(f"'{file.name}' holds no checkpoints.", hint="Give the file as Shoal wrote it.")
