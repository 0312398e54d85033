"""What everybody does for herself: set up a second factor, and lend a narrow, short-lived token to a program."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.protector.actions.frame import Frame
from shoal.protector.people import delegation, factors


class OwnActions:
    """The part of a session that every role has."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def set_up_factor(self) -> str:
        """Your second factor, as an ``otpauth://`` address for an authenticator app: told once."""
        frame = self._frame
        with frame.vault.recorder.refusals(frame.name, "factor"), frame.vault.store.write() as tx:
            now = tx.now(frame.vault.clock)
            frame.caller(tx, now).require_whole()
            made = factors.set_up(tx, frame.name, f"Shoal vault {frame.vault.id[:8]}")
            frame.log(tx, now, "factor", detail="set up")
        return made

    def delegate(self, action: str, *, domains: Iterable[str] = (), seconds: float = 900.0) -> str:
        """A token of yours for one action (and domains) and a short time, to be given to a program.

        It ends with your own token. What takes a second person cannot be lent, nor can a lent token lend.
        """
        frame = self._frame
        with frame.vault.recorder.refusals(frame.name, "delegate"), frame.vault.store.write() as tx:
            now = tx.now(frame.vault.clock)
            made = delegation.lend(tx, frame.token, action, domains=list(domains), seconds=seconds, time=now)
            frame.log(tx, now, "delegate", detail=action)
        return made
