"""The second person: sees what an owner proposed, and confirms or refuses it.

People, tokens, roles and limits change with the confirmation itself. Keys, shredding and what else takes longer are carried out
by the owner afterwards, by the same call as before, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.protector.actions.frame import Frame
from shoal.protector.log import witness
from shoal.protector.log.audit import actor_pseudonym
from shoal.protector.people import accounts, changes, enrolment, factors, limits
from shoal.protector.people.changes import Change
from shoal.protector.people.limits import Limit
from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import ACTOR


class ConfirmingActions:
    """The second person's part of a session: another owner, or the auditor."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def changes(self, *, everything: bool = False) -> list[Change]:
        """The changes that wait, or all of them; the codes in them are not shown."""
        with self._frame.reading("confirm") as (tx, now):
            found = changes.everything(tx)
        living = [c for c in found if everything or (c.status in ("pending", "confirmed") and now < c.expires)]
        return [replace(c, code="", tokens=()) for c in living]

    def confirm(self, change_id: str, *, factor: str = "") -> Change:
        """Agree to somebody else's change. Where it adds a person, ``code`` is your half of the enrolment code.

        ``factor`` is your one-time code, where your role decides with one.
        """
        frame = self._frame
        frame.decide_with("confirm", factor)
        with frame.acting("confirm", change=_for_log(change_id)) as (tx, now):
            made = changes.decide(tx, change_id, second=frame.name, token=frame.token, agree=True, time=now)
            frame.log(tx, now, "confirm", change=made.id, detail=made.action)
            mine = ""
            if made.action in ("actor", "token"):
                mine = enrolment.new_code()
                what = {**made.what, "codes": [made.code, mine]}
            else:
                what = dict(made.what)
            if made.action in _AT_ONCE:
                frame.use(tx, now, made)
                _AT_ONCE[made.action](frame, tx, now, what)
        return replace(made, code=mine, tokens=())

    def refuse(self, change_id: str) -> Change:
        """Refuse somebody else's change."""
        frame = self._frame
        with frame.acting("confirm", change=_for_log(change_id)) as (tx, now):
            made = changes.decide(tx, change_id, second=frame.name, token=frame.token, agree=False, time=now)
            frame.log(tx, now, "confirm", change=made.id, detail=made.action, outcome="refused")
        return replace(made, code="", tokens=())


def _apply_actor(frame: Frame, tx: Tx, now: float, what: Mapping[str, Any]) -> None:
    accounts.add(tx, what["name"], what["roles"], now)
    frame.vault.recorder.remember_actor(tx, what["name"])
    enrolment.invite(tx, what["name"], what["codes"], now, **what["token"])
    log_grant(frame, tx, now, what["name"], what["roles"])


def _apply_token(frame: Frame, tx: Tx, now: float, what: Mapping[str, Any]) -> None:
    enrolment.invite(tx, what["name"], what["codes"], now, **what["token"])
    log_grant(frame, tx, now, what["name"], what["token"].get("scopes", ()), detail="token")


def _apply_limit(frame: Frame, tx: Tx, now: float, what: Mapping[str, Any]) -> None:
    limit = Limit(**what["limit"])
    limits.set_limit(tx, what["on"], what["purpose"], limit)
    detail = f"{what['on']} {what['purpose']}: {limit.max} in {limit.seconds:g} s, alarm {limit.alarm}"
    frame.log(tx, now, "limit", detail=detail)


def _apply_factor(frame: Frame, tx: Tx, now: float, what: Mapping[str, Any]) -> None:
    factors.require(tx, what["roles"])
    frame.log(tx, now, "factor", roles=what["roles"], detail="required")


def _apply_witness(frame: Frame, tx: Tx, now: float, what: Mapping[str, Any]) -> None:
    witness.put(tx, what["places"])
    frame.log(tx, now, "witness", count=len(what["places"]))


def apply_grant(frame: Frame, tx: Tx, now: float, what: Mapping[str, Any], *, enabled: bool = True) -> None:
    """Set the roles of an actor."""
    actor = tx.get(ACTOR, what["name"])
    assert actor is not None
    roles = list(accounts.check_roles(what["roles"]))
    if not enabled or not set(actor["roles"]) <= set(roles):
        actor["losses"] = actor.get("losses", 0) + 1
    actor["roles"], actor["enabled"] = roles, enabled
    tx.put(ACTOR, what["name"], actor)
    log_grant(frame, tx, now, what["name"], what["roles"] if enabled else ())


def log_grant(frame: Frame, tx: Tx, now: float, name: str, roles: Sequence[str], *, detail: str = "") -> None:
    """Write into the log what rights somebody has now."""
    subject = actor_pseudonym(frame.vault.store, name)
    frame.log(tx, now, "grant", subject=subject, roles=list(roles), detail=detail)


_AT_ONCE: dict[str, Callable[[Frame, Tx, float, Mapping[str, Any]], None]] = {
    "actor": _apply_actor,
    "token": _apply_token,
    "grant": apply_grant,
    "limit": _apply_limit,
    "witness": _apply_witness,
    "factor": _apply_factor,
}


def _for_log(change_id: str) -> str:
    """The id of a change for the log; anything else that was typed in is not written there."""
    text = change_id.strip().upper()
    return text if text.startswith("CHG-") and len(text) <= 16 and text.isascii() else "malformed"
