"""The second factor: one-time codes without which the second person's word does not count, where two people asked for it.

Each person sets hers up once, herself. It ends with her tokens (`revoke_tokens`), so a new one takes a new enrolment.
"""

from __future__ import annotations

import base64
import hmac
import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.twofactor.hotp import HOTP

from shoal.errors import AccessError, UsageError
from shoal.protector.people.accounts import Caller, check_roles
from shoal.protector.store.database import Tx
from shoal.protector.store.state import LIMIT, USAGE

DECIDING = {"approve": ("approver",), "deny": ("approver",), "confirm": ("auditor", "owner")}
"""The actions of a second person, and the roles that permit them."""

MOST_WRONG = 5
REST = 900.0
"""After so many wrong codes in a row nothing is taken for so many seconds."""


def check_required(roles: Iterable[str]) -> list[str]:
    """Roles for which a second factor can be asked."""
    wanted = list(dict.fromkeys(roles))
    strange = set(wanted) - {role for able in DECIDING.values() for role in able}
    if strange:
        check_roles(wanted)
        raise UsageError("a second factor is for approvers, auditors and owners: those who decide.")
    return wanted


def require(tx: Tx, roles: Iterable[str]) -> None:
    """From now on people with these roles decide with a code; none ends it."""
    tx.put(LIMIT, "factor", {"roles": check_required(roles)})


def needed(tx: Tx, caller: Caller, action: str) -> bool:
    roles = set((tx.get(LIMIT, "factor") or {"roles": []})["roles"])
    return bool(roles & caller.roles & set(DECIDING.get(action, ())))


def set_up(tx: Tx, name: str, label: str) -> str:
    """The secret of a person as an address for her app, told once."""
    if tx.get(USAGE, _entry(name)) is not None:
        raise AccessError("this person has a second factor already.", hint="Two people enrol her again.", reason="factor")
    secret = os.urandom(SECRET_BYTES)
    tx.put(USAGE, _entry(name), {"secret": secret.hex(), "after": -1, "wrong": 0, "since": 0.0})
    return uri(secret, label=label)


def check(tx: Tx, name: str, given: str, time: float) -> bool:
    """Whether the code is the person's, and was not used before; what is wrong is counted."""
    kept = tx.get(USAGE, _entry(name))
    if kept is None:
        raise AccessError("a second factor is needed here.", hint="Set yours up with `shoal vault factor`.", reason="factor")
    kept |= {"after": min(kept["after"], counter(time) + 1), "since": min(kept["since"], time)}  # if the time was set back
    resting = kept["wrong"] >= MOST_WRONG and time < kept["since"] + REST
    step = None if resting else matching(bytes.fromhex(kept["secret"]), given, time, after=kept["after"])
    if step is not None:
        kept |= {"after": step, "wrong": 0}
    elif not resting:
        kept |= {"wrong": kept["wrong"] + 1 if time < kept["since"] + REST or kept["wrong"] < MOST_WRONG else 1, "since": time}
    tx.put(USAGE, _entry(name), kept)
    return step is not None


def withdraw(tx: Tx, name: str) -> None:
    tx.remove(USAGE, _entry(name))


def _entry(name: str) -> str:
    return f"factor {name}"


STEP = 30
DIGITS = 6
SECRET_BYTES = 20


def counter(time: float) -> int:
    """The number of the step that a time falls into."""
    return int(time // STEP)


def code(secret: bytes, step: int, *, digits: int = DIGITS, algorithm: str = "sha1") -> str:
    """The code of a step (HOTP, RFC 4226, over the step's number).

    >>> code(b"12345678901234567890", 59 // 30, digits=8)  # RFC 6238, appendix B
    '94287082'
    """
    known: dict[str, Any] = {"sha1": hashes.SHA1(), "sha256": hashes.SHA256(), "sha512": hashes.SHA512()}  # noqa: S303
    return HOTP(secret, digits, known[algorithm]).generate(step).decode()


def matching(secret: bytes, given: str, time: float, *, after: int) -> int | None:
    """The step whose code was given: this one, the one before or the next, and later than ``after``; None for a wrong code."""
    plain = given.strip().replace(" ", "")
    if not plain.isascii():
        return None
    now = counter(time)
    steps = [step for step in (now - 1, now, now + 1) if step >= 0 and hmac.compare_digest(code(secret, step), plain)]
    later = [step for step in steps if step > after]
    return later[0] if later else None


def uri(secret: bytes, *, label: str) -> str:
    """The secret as an authenticator app reads it.

    >>> uri(b"12345678901234567890", label="Shoal vault 0011")
    'otpauth://totp/Shoal%20vault%200011?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Shoal'
    """
    return f"otpauth://totp/{quote(label)}?secret={base64.b32encode(secret).decode()}&issuer=Shoal"
