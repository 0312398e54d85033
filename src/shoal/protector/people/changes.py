"""Changes that take two people: proposed by an owner, confirmed by another owner or by the auditor, applied once.

Rights, limits, keys and older states are changed only so. A change holds exactly what will be done; the second person confirms
that and nothing else. It dies with the rights of either of the two, and after a week.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from shoal.errors import AccessError
from shoal.model.names import alike
from shoal.protector.crypto import base32
from shoal.protector.people import accounts
from shoal.protector.store.database import Tx
from shoal.protector.store.state import CHANGE

Status = Literal["pending", "confirmed", "denied", "used"]

LIFE = 7 * 86400.0
"""Seconds a change waits for the second person, and for being applied."""


@dataclass(frozen=True)
class Change:
    """A change: ``what`` will be done; ``code`` is the half of an enrolment code that this person hands over."""

    id: str
    action: str
    what: Mapping[str, Any]
    proposer: str
    created: float
    status: Status = "pending"
    second: str = ""
    tokens: tuple[str, ...] = field(default=(), repr=False)
    losses: tuple[int, ...] = field(default=(), repr=False)
    code: str = field(default="", repr=False)

    @property
    def expires(self) -> float:
        return self.created + LIFE

    def to_json(self) -> dict[str, Any]:
        """What the two people may see."""
        details = ("id", "action", "what", "proposer", "created", "expires", "status", "second")
        return {name: getattr(self, name) for name in details}


class SecondPersonNeeded(AccessError):
    """The change was proposed and waits for a second person; afterwards the same call carries it out."""

    status = 202

    def __init__(self, change: Change) -> None:
        super().__init__(
            f"{change.id} waits for a second person: another owner or the auditor.",
            hint=f"They agree with `shoal vault confirm {change.id}`; then do the same again.",
            reason="second person",
        )
        self.change = change


def propose(tx: Tx, action: str, what: Mapping[str, Any], *, proposer: str, token: str, time: float, code: str = "") -> Change:
    """A new change that waits for its second person."""
    name = "CHG-" + base32.encode(os.urandom(5))
    losses = (accounts.caller(tx, token, time).losses,)
    change = Change(name, action, dict(what), proposer, time, tokens=(token,), losses=losses, code=code)
    _save(tx, change)
    return change


def same(tx: Tx, action: str, what: Mapping[str, Any], *, proposer: str, time: float) -> Change | None:
    """The proposer's living change with exactly this content, a confirmed one first."""
    mine = [c for c in everything(tx) if (c.proposer, c.action, c.what) == (proposer, action, dict(what)) and time < c.expires]
    waiting = [c for status in ("confirmed", "pending") for c in mine if c.status == status]
    return waiting[0] if waiting else None


def decide(tx: Tx, change_id: str, *, second: str, token: str, agree: bool, time: float) -> Change:
    """Agree or refuse, as another person than the proposer, while the change and the proposer's rights live."""
    change = load(tx, change_id)
    if alike(change.proposer, second):
        raise AccessError(f"{change.id}: nobody confirms their own change.", hint="Ask another person.", reason="self-approval")
    if change.status != "pending":
        raise AccessError(f"{change.id} is {change.status}: it can no longer be decided.", reason="replay")
    if time >= change.expires:
        raise AccessError(f"{change.id} has expired.", hint="It can be proposed again.", reason="expired")
    if agree:
        _require_rights(tx, 0, "owner", change, time)
    status: Status = "confirmed" if agree else "denied"
    losses = (*change.losses, accounts.caller(tx, token, time).losses)
    decided = replace(change, status=status, second=second, tokens=(*change.tokens, token), losses=losses)
    _save(tx, decided)
    return decided


def use(tx: Tx, change: Change, *, time: float) -> Change:
    """Mark a confirmed change as applied: the one moment at which it may be."""
    stored = load(tx, change.id)
    if stored.status != "confirmed" or not stored.second or alike(stored.second, stored.proposer):
        raise AccessError(f"{stored.id} is {stored.status}: a second person has to confirm it first.", reason="unapproved")
    if time >= stored.expires:
        raise AccessError(f"{stored.id} has expired.", hint="It can be proposed again.", reason="expired")
    _require_rights(tx, 0, "owner", stored, time)
    _require_rights(tx, 1, "confirm", stored, time)
    used = replace(stored, status="used", code="")
    _save(tx, used)
    return used


def _require_rights(tx: Tx, which: int, wanted: str, change: Change, time: float) -> None:
    """The first (0) or second (1) person has had the right by which the change was proposed or confirmed ever since."""
    try:
        caller = accounts.caller(tx, change.tokens[which], time)
        able = wanted in caller.roles or any(wanted in accounts.PERMITS[role] for role in caller.roles)
        able &= caller.losses == change.losses[which]
    except AccessError:
        able = False
    if not able:
        raise AccessError(f"{change.id} died with the rights of a person who stood for it.", reason="rights")


def load(tx: Tx, change_id: str) -> Change:
    body = tx.get(CHANGE, change_id.strip().upper())
    if body is None:
        raise AccessError("this change does not exist.", hint="`shoal vault changes` lists them.", reason="unknown")
    return _parse(body)


def everything(tx: Tx) -> list[Change]:
    return sorted((_parse(body) for body in tx.all(CHANGE)), key=lambda c: (c.created, c.id))


def _save(tx: Tx, change: Change) -> None:
    tx.put(CHANGE, change.id, asdict(change))


def _parse(body: dict[str, Any]) -> Change:
    return Change(**{**body, "tokens": tuple(body["tokens"]), "losses": tuple(body["losses"])})
