"""A session: what one logged-in person can do in a vault."""

from __future__ import annotations

from shoal.protector.actions.frame import Frame, OpenVault
from shoal.protector.actions.owner import ConfirmingActions, OwnActions, OwnerActions
from shoal.protector.actions.pseudonyms import HolderActions, PseudonymActions
from shoal.protector.actions.requests import RequestActions, Revealed
from shoal.protector.intake.actions import IntakeActions
from shoal.protector.issuing.actions import IssuingActions

__all__ = ["Revealed", "Session"]


class Session:
    """A logged-in person. Which calls succeed depends on the roles of the token; see :data:`people.accounts.PERMITS`.

    Every call is checked against the roles, counted, logged and committed as one (:class:`~.actions.frame.Frame`). Rotation,
    shredding, full checks and the log take a session: see :mod:`shoal.protector.care`.
    """

    def __init__(self, vault: OpenVault, digest: str, name: str) -> None:
        self.vault = vault
        self.name = name
        self.frame = Frame(vault, digest, name)

        operator = PseudonymActions(self.frame)
        self.pseudonymize = operator.pseudonymize
        self.find = operator.find
        self.find_many = operator.find_many
        self.translate = operator.translate

        people = IntakeActions(self.frame)
        self.intake = people.intake
        self.waiting = people.waiting
        self.decide = people.decide

        holders = HolderActions(self.frame)
        self.register = holders.register
        self.challenge = holders.challenge
        self.check_ownership = holders.check_ownership

        issuing = IssuingActions(self.frame)
        self.create_issuer = issuing.create_issuer
        self.issuers = issuing.issuers
        self.issue = issuing.issue
        self.redeem = issuing.redeem

        asking = RequestActions(self.frame)
        self.request = asking.request
        self.requests = asking.requests
        self.approve = asking.approve
        self.deny = asking.deny
        self.withdraw = asking.withdraw
        self.reveal = asking.reveal

        owner = OwnerActions(self.frame)
        self.create_domain = owner.create_domain
        self.domains = owner.domains
        self.allow_translation = owner.allow_translation
        self.add_actor = owner.add_actor
        self.grant = owner.grant
        self.issue_token = owner.issue_token
        self.revoke_tokens = owner.revoke_tokens
        self.set_limit = owner.set_limit
        self.plant_honeytoken = owner.plant_honeytoken
        self.set_witness = owner.set_witness
        self.require_factor = owner.require_factor

        second = ConfirmingActions(self.frame)
        self.changes = second.changes
        self.confirm = second.confirm
        self.refuse = second.refuse

        own = OwnActions(self.frame)
        self.set_up_factor = own.set_up_factor
        self.delegate = own.delegate

    def __repr__(self) -> str:
        return "<Session>"
