"""Enrolment: a person claims her own token, once, with codes that nobody else holds together.

Who is added by an owner gets one half of the code from the owner and the other from the second person who confirmed: neither of
them can act in her name. The code dies with its use and after a week; a code that was claimed before is refused, and that is
how a person learns that somebody else claimed it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Any

from shoal.errors import AccessError
from shoal.protector.crypto import base32
from shoal.protector.people import accounts
from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import ENROLMENT

LIFE = 7 * 86400.0
PREFIX = "enrol-"


def new_code() -> str:
    """A code, or one half of one: 120 random bits."""
    return PREFIX + base32.encode(os.urandom(15))


def invite(tx: Tx, name: str, codes: Sequence[str], time: float, **token: Any) -> None:
    """Let the person who holds these codes claim a token of the actor; ``token`` as in :func:`.accounts.issue_token`."""
    tx.put(ENROLMENT, _digest(tx, codes), {"actor": name, "until": time + LIFE, "token": accounts.check_token(tx, name, **token)})


def claim(tx: Tx, codes: Sequence[str], time: float) -> tuple[str, str]:
    """The actor's name and a new token, for the codes of an invitation; they are used up."""
    name = _digest(tx, codes)
    found = tx.get(ENROLMENT, name)
    if found is None or time >= found["until"]:
        raise AccessError(
            "this enrolment code is not valid: wrong, half of a code only, expired, or claimed before.",
            hint="Give both halves. If you have not claimed it yourself, tell the auditor: somebody else may have.",
            reason="token",
        )
    tx.remove(ENROLMENT, name)
    return found["actor"], accounts.issue_token(tx, found["actor"], **found["token"])


def withdraw(tx: Tx, name: str) -> int:
    """Take back every invitation of an actor; how many there were."""
    mine = [tag for tag, body in tx.items(ENROLMENT) if body["actor"] == name]
    for tag in mine:
        tx.remove_tag(tag)
    return len(mine)


def _digest(tx: Tx, codes: Sequence[str]) -> str:
    """The keyed digest of the codes together, in any order and however they are written."""
    parts = sorted(base32.decode(code.strip().lower().removeprefix(PREFIX)) or b"" for code in codes)
    plain = hashlib.sha256(b"".join(len(p).to_bytes(2, "big") + p for p in parts)).hexdigest()
    return accounts.token_digest(tx.store, PREFIX + plain)
