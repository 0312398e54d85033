"""A session: what one logged-in person can do in a vault."""

from __future__ import annotations

from shoal.protector.actions.frame import Frame, OpenVault
from shoal.protector.actions.owner import ConfirmingActions, OwnActions, OwnerActions
from shoal.protector.actions.pseudonyms import HolderActions, PseudonymActions
from shoal.protector.actions.requests import RequestActions, Revealed
from shoal.protector.intake.actions import IntakeActions
from shoal.protector.issuing import IssuingActions

__all__ = ["Revealed", "Session"]


class Session(
    PseudonymActions, HolderActions, IntakeActions, IssuingActions, RequestActions, OwnerActions, ConfirmingActions, OwnActions
):
    """A logged-in person. Which calls succeed depends on the roles of the token; see :data:`people.accounts.PERMITS`.

    Every call is checked against the roles, counted, logged and committed as one (:class:`~.actions.frame.Frame`). Rotation,
    shredding, full checks and the log take a session: see :mod:`shoal.protector.care`.
    """

    def __init__(self, vault: OpenVault, digest: str, name: str) -> None:
        self.vault = vault
        self.name = name
        self.frame = self._frame = Frame(vault, digest, name)

    def __repr__(self) -> str:
        return "<Session>"
