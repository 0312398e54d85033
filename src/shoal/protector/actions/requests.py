"""What requesters and approvers do: ask for identities, decide, and fetch them once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shoal.errors import AccessError, EngineError, UsageError
from shoal.protector.actions.frame import SessionPart, for_log, log_names, require_typed
from shoal.protector.actions.pseudonyms import any_planted, sealed_identity
from shoal.protector.crypto import recipients
from shoal.protector.log import checkpoints, witness
from shoal.protector.people import accounts, requests
from shoal.protector.people.requests import Request
from shoal.protector.pseudonyms.domains import Context
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store.database import Tx


@dataclass(frozen=True)
class Revealed:
    """The identities of one request, delivered once. Its text form shows none of them.

    Where the request names a recipient's key, they are only in ``sealed``, which that key opens.
    """

    request: Request
    identities: Mapping[str, str | None] = field(repr=False)
    sealed: str = field(default="", repr=False)

    def __repr__(self) -> str:
        return f"<Revealed {self.request.id}: {self.request.records} identities>"


class RequestActions(SessionPart):
    """The requester's and the approver's part of a session."""

    def request(
        self,
        domain: str,
        pseudonyms: Sequence[str],
        *,
        purpose: str,
        case: str,
        seconds: float = 7 * 86400.0,
        version: int | None = None,
        role: str = "",
        relation: str = "",
        recipient: str = "",
    ) -> Request:
        """Ask for the identities behind pseudonyms; another person has to approve.

        ``recipient`` is a public key (:mod:`shoal.protector.crypto.recipients`): the answer is sealed to it.
        """
        if recipient:
            recipients.check(recipient)
        frame = self._frame
        with frame.acting("request", domain, purpose=purpose, case=case) as (tx, now):
            opened = frame.open_domain(tx, domain)
            require_typed(opened, pseudonyms)
            pseudonyms = list(dict.fromkeys(opened.canonical(p) for p in pseudonyms))
            if strange := sum(not opened.has_form(p) for p in pseudonyms):
                hint = "Copy each one whole, with its prefix and without quotation marks."
                raise UsageError(f"{strange} of {len(pseudonyms)} texts cannot be pseudonyms of domain '{domain}'.", hint=hint)
            frame.count(tx, now, "request", purpose, len(pseudonyms), domain=domain, case=case)
            context = Context(role, relation) if role or relation else None
            plain = _resolve(tx, opened, pseudonyms, version=version, context=context, time=now)
            filed = Request(
                "", frame.name, domain, tuple(pseudonyms), purpose, case, created=now, expires=now, key_version=version,
                role=role, relation=relation, recipient=recipient, flagged=any_planted(tx, opened, plain),
            )  # fmt: skip
            stored = requests.create(tx, filed, seconds)
            details = {**_log_words(stored), "purpose": purpose, "case": case}
            frame.log(tx, now, "request", **details)
            if stored.flagged:
                frame.log(tx, now, "request", outcome="alarm", reason="honeytoken", **details)
        return stored

    def requests(self) -> list[Request]:
        """One's own requests; for approvers, auditors and owners all of them."""
        with self._frame.reading("requests") as (tx, now):
            caller = self._frame.caller(tx, now)
            everything = requests.all_requests(tx)
        sees_all = bool(caller.roles & {"approver", "auditor", "owner"})
        return [r for r in everything if (sees_all or r.requester == self._frame.name) and caller.reaches(r.domain)]

    def approve(self, request_id: str, *, digest: str | None = None, factor: str = "") -> Request:
        """Approve somebody else's request; with ``digest``, only the one that was read (:attr:`Request.digest`).

        ``factor`` is your one-time code, where approvers decide with one.
        """
        self._frame.decide_with("approve", factor)
        return self._decide(request_id, approve=True, digest=digest)

    def deny(self, request_id: str) -> Request:
        return self._decide(request_id, approve=False)

    def _decide(self, request_id: str, *, approve: bool, digest: str | None = None) -> Request:
        frame = self._frame
        action = "approve" if approve else "deny"
        with frame.acting(action, request=for_log(request_id, "REQ-")) as (tx, now):
            decided = requests.decide(
                tx, request_id, approver=frame.name, token=frame.token, approve=approve, time=now, digest=digest
            )
            frame.require(tx, now, action, decided.domain)
            frame.log(tx, now, action, **_log_words(decided))
        return decided

    def withdraw(self, request_id: str) -> Request:
        frame = self._frame
        with frame.acting("withdraw", request=for_log(request_id, "REQ-")) as (tx, now):
            withdrawn = requests.withdraw(tx, request_id, requester=frame.name)
            frame.require(tx, now, "withdraw", withdrawn.domain)
            frame.log(tx, now, "withdraw", request=withdrawn.id, domain=withdrawn.domain)
        return withdrawn

    def reveal(self, request_id: str) -> Revealed:
        """The identities of one's own approved request: once.

        If the log has witnesses, the reveal is first announced in the log, and each witness takes the signed head with the
        announcement. Only then is the request delivered, and logged as done.
        """
        frame = self._frame
        self._announce(request_id)
        with frame.acting("reveal", request=for_log(request_id, "REQ-")) as (tx, now):
            self._require_oversight(tx, now)
            delivered = requests.deliver(tx, request_id, requester=frame.name, time=now)
            frame.require(tx, now, "reveal", delivered.domain)
            opened = frame.open_domain(tx, delivered.domain)
            frame.count(tx, now, "reveal", delivered.purpose, delivered.records, domain=delivered.domain, case=delivered.case)
            context = Context(delivered.role, delivered.relation) if delivered.role or delivered.relation else None
            plain = _resolve(
                tx, opened, delivered.pseudonyms, version=delivered.key_version, context=context, time=delivered.created
            )
            if any_planted(tx, opened, plain):
                raise AccessError(f"{delivered.id} is held back.", hint="Ask the owner of the vault.", reason="honeytoken")
            subjects = log_names(tx, opened, plain, most=requests.MOST_RECORDS)
            frame.log(tx, now, "reveal", **_log_words(delivered), subjects=subjects)
        texts = (None if p is None else p.decode() for p in plain)
        identities = dict(zip(delivered.pseudonyms, texts, strict=True))
        if delivered.recipient:
            return Revealed(delivered, {}, recipients.seal(delivered.recipient, identities, delivered.id))
        return Revealed(delivered, identities)

    def _announce(self, request_id: str) -> None:
        """Log that a request is about to be delivered and give the signed head to every witness; nothing without witnesses."""
        frame = self._frame
        with frame.vault.store.read() as tx:
            places = witness.places(tx)
        if not places:
            return
        with frame.acting("reveal", request=for_log(request_id, "REQ-")) as (tx, now):
            self._require_oversight(tx, now)
            deliverable = requests.deliverable(tx, request_id, requester=frame.name, time=now)
            frame.require(tx, now, "reveal", deliverable.domain)
            frame.log(tx, now, "reveal", outcome="announced", **_log_words(deliverable))
            checkpoint = checkpoints.sign_checkpoint(tx, now)
        try:
            witness.send(places, checkpoint)
        except EngineError:
            with frame.vault.store.write() as tx:
                now = tx.now(frame.vault.clock)
                frame.log(
                    tx, now, "reveal", outcome="refused", reason="witness", request=deliverable.id, domain=deliverable.domain
                )
            raise
        with frame.vault.store.write() as tx:
            witness.note_sent(tx, checkpoint["seq"])
            frame.log(tx, tx.now(frame.vault.clock), "witness", count=len(places), request=deliverable.id)

    def _require_oversight(self, tx: Tx, now: float) -> None:
        if not accounts.can_log_in(tx, "auditor", now):
            what = "nothing is revealed while no auditor can log in: nobody could check it."
            hint = "Two people give the auditor a token (`shoal vault actor token`), or use `shoal vault break-glass`."
            raise AccessError(what, hint=hint, reason="oversight")


def _resolve(
    tx: Tx, opened: OpenDomain, pseudonyms: Sequence[str], *, version: int | None, context: Context | None, time: float
) -> list[bytes | None]:
    """The identity behind each pseudonym, for every kind."""
    if opened.domain.kind == "self-generated":
        return [sealed_identity(tx, opened, p) for p in pseudonyms]
    return opened.resolve(tx, pseudonyms, version=version, context=context, time=time)


def _log_words(made: Request) -> dict[str, str | int]:
    """What the log says of a request."""
    return {"request": made.id, "domain": made.domain, "purpose": made.purpose, "case": made.case, "count": made.records}
