"""What one person does in a vault: every call is checked against the roles, counted, logged and committed as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.errors import AccessError, UsageError
from shoal.protector.acting import text_column
from shoal.protector.log import resolution
from shoal.protector.owning import Owning
from shoal.protector.people import actors, requests
from shoal.protector.people.requests import Request
from shoal.protector.pseudonyms import self_generated as own
from shoal.protector.pseudonyms.domains import Context
from shoal.protector.store.storage import HONEY, SETTING, Tx

if TYPE_CHECKING:
    from shoal.protector.pseudonyms.minting import OpenDomain

SUBJECTS_LISTED = 100


@dataclass(frozen=True)
class Revealed:
    """The identities of one request, delivered once. Its text form shows none of them."""

    request: Request
    identities: Mapping[str, str | None] = field(repr=False)

    def __repr__(self) -> str:
        return f"<Revealed {self.request.id}: {len(self.identities)} identities>"


class Session(Owning):
    """A logged-in person. Which calls succeed depends on the roles of the token."""

    # -- operator ---------------------------------------------------------------------------------------------------

    def pseudonymize(
        self, domain: str, values: Any, *, purpose: str = "", role: str = "", relation: str = "", source: str = ""
    ) -> Any:
        """Pseudonyms for identities: a list gives a list, an Arrow column an Arrow column; missing stays missing."""
        column, as_list = text_column(values)
        with self._acting("pseudonymize", domain) as (tx, now):
            opened = self._domain(tx, domain)
            self._count(tx, now, "pseudonymize", purpose, len(column), domain=domain)
            made = opened.pseudonymize(tx, column, Context(role, relation), now)
            key = opened.domain.key_id
            self._log(tx, now, "pseudonymize", domain=domain, count=len(column), key=key, purpose=purpose, source=source)
            self._watch(tx, now, "pseudonymize", domain, purpose, made)
        return made.to_pylist() if as_list else made

    def find(self, domain: str, identity: str, *, purpose: str = "", role: str = "", relation: str = "") -> str | None:
        """The pseudonym of an identity if it has one; found and not found take the same time."""
        return self.find_many(domain, [identity], purpose=purpose, role=role, relation=relation)[0]

    def find_many(
        self, domain: str, identities: Sequence[str], *, purpose: str = "", role: str = "", relation: str = ""
    ) -> list[str | None]:
        """:meth:`find` for several identities in one transaction, logged as one event with their number."""
        with self._acting("find", domain) as (tx, now):
            opened = self._domain(tx, domain)
            self._count(tx, now, "find", purpose, len(identities), domain=domain)
            found = opened.find(tx, identities, Context(role, relation), now)
            self._log(tx, now, "find", domain=domain, count=len(identities), purpose=purpose)
            self._watch(tx, now, "find", domain, purpose, found)
        return found

    def translate(
        self,
        pseudonyms: Sequence[str],
        *,
        source: str,
        target: str,
        purpose: str,
        role: str = "",
        relation: str = "",
        version: int | None = None,
    ) -> list[str | None]:
        """Pseudonyms of another domain for the same people; no identity is shown. None for an unknown pseudonym."""
        import pyarrow as pa

        if not purpose.strip():
            raise UsageError("a translation needs a purpose.")
        with self._acting("translate", source, target=target, purpose=purpose) as (tx, now):
            self._require(tx, now, "translate", target)
            known = self._domain(tx, source)
            wanted = self._domain(tx, target)
            pseudonyms = [known.canonical(p) for p in pseudonyms]
            if wanted.domain.id not in known.domain.translate_to:
                raise AccessError(
                    f"no owner has allowed to translate from '{source}' to '{target}'.",
                    hint="An owner can allow it with `shoal vault domain allow`.",
                    reason="not allowed",
                )
            self._count(tx, now, "translate", purpose, len(pseudonyms), domain=source)
            if requests.touches_honeytoken(tx, source, pseudonyms):
                raise AccessError("the translation is held back.", hint="Ask the owner of the vault.", reason="honeytoken")
            plain = known.resolve(tx, pseudonyms, version=version, time=now)
            column = pa.array([None if p is None else p.decode() for p in plain], pa.string())
            made = wanted.pseudonymize(tx, column, Context(role, relation), now)
            subjects = self._subjects(tx, known, plain)
            self._log(
                tx, now, "translate", domain=source, target=target, purpose=purpose, count=len(pseudonyms), subjects=subjects
            )
        out: list[str | None] = made.to_pylist()
        return out

    def register(self, domain: str, registration: Mapping[str, str], *, identity: str | None = None) -> None:
        """Accept a pseudonym that a person made; ``identity`` is kept sealed when a way back is wanted."""
        with self._acting("register", domain) as (tx, now):
            opened = self._own(tx, domain)
            given = dict(registration)
            own.check_registration(self.vault.id, opened.domain.id, given)
            name = f"holder {opened.domain.id} {given['pseudonym']}"
            if tx.get(SETTING, name) is not None:
                raise AccessError("this pseudonym is registered already.", reason="replay")
            sealed = "" if identity is None else opened.own_box.seal(identity.encode(), given["pseudonym"].encode()).hex()
            tx.put(SETTING, name, {"public": given["public_key"], "identity": sealed})
            self._log(tx, now, "register", domain=domain, linked=identity is not None)

    def challenge(self, domain: str, pseudonym: str) -> str:
        """A fresh challenge for the holder of a self-generated pseudonym."""
        with self._acting("prove", domain) as (tx, now):
            return own.new_challenge(tx, self._own(tx, domain).domain.id, pseudonym, now)

    def check_ownership(self, domain: str, pseudonym: str, challenge: str, proof: str) -> bool:
        """Whether the challenge was answered by the one who made the pseudonym."""
        with self._acting("prove", domain) as (tx, now):
            opened = self._own(tx, domain)
            held = tx.get(SETTING, f"holder {opened.domain.id} {pseudonym}")
            public = "00" * 32 if held is None else held["public"]
            good = own.check_proof(tx, opened.domain.id, pseudonym, public, challenge, proof, now) and held is not None
            self._log(tx, now, "prove", domain=domain, outcome="done" if good else "refused")
        return good

    # -- requester and approver -------------------------------------------------------------------------------------

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
    ) -> Request:
        """Ask for the identities behind pseudonyms; another person has to approve."""
        with self._acting("request", domain, purpose=purpose, case=case) as (tx, now):
            opened = self._domain(tx, domain)
            pseudonyms = list(dict.fromkeys(opened.canonical(p) for p in pseudonyms))
            if strange := sum(not opened.has_form(p) for p in pseudonyms):
                raise UsageError(
                    f"{strange} of {len(pseudonyms)} texts cannot be pseudonyms of domain '{domain}'.",
                    hint="Copy each one whole, with its prefix and without quotation marks.",
                )
            self._count(tx, now, "request", purpose, len(pseudonyms), domain=domain, case=case)
            made = requests.create(
                tx,
                requester=self.name,
                domain=domain,
                pseudonyms=pseudonyms,
                purpose=purpose,
                case=case,
                time=now,
                seconds=seconds,
                key_version=version,
                role=role,
                relation=relation,
            )
            told = {"request": made.id, "domain": domain, "purpose": purpose, "case": case, "count": made.records}
            self._log(tx, now, "request", **told)
            if made.flagged:
                self._log(tx, now, "request", outcome="alarm", reason="honeytoken", **told)
        return made

    def requests(self) -> list[Request]:
        """One's own requests; for approvers, auditors and owners all of them."""
        with self._reading("requests") as (tx, now):
            who = actors.who(tx, self._digest, now)
            everything = requests.all_requests(tx)
        sees_all = bool(who.roles & {"approver", "auditor", "owner"})
        return [r for r in everything if (sees_all or r.requester == self.name) and who.reaches(r.domain)]

    def approve(self, request_id: str) -> Request:
        """Approve somebody else's request."""
        return self._decide(request_id, approve=True)

    def deny(self, request_id: str) -> Request:
        """Deny somebody else's request."""
        return self._decide(request_id, approve=False)

    def _decide(self, request_id: str, *, approve: bool) -> Request:
        action = "approve" if approve else "deny"
        with self._acting(action, request=_shown(request_id)) as (tx, now):
            made = requests.decide(tx, request_id, approver=self.name, approve=approve, time=now)
            self._require(tx, now, action, made.domain)
            self._log(
                tx, now, action, request=made.id, domain=made.domain, purpose=made.purpose, case=made.case, count=made.records
            )
        return made

    def withdraw(self, request_id: str) -> Request:
        """Take back one's own request."""
        with self._acting("withdraw", request=_shown(request_id)) as (tx, now):
            made = requests.withdraw(tx, request_id, requester=self.name)
            self._require(tx, now, "withdraw", made.domain)
            self._log(tx, now, "withdraw", request=made.id, domain=made.domain)
        return made

    def reveal(self, request_id: str) -> Revealed:
        """The identities of one's own approved request: once."""
        with self._acting("reveal", request=_shown(request_id)) as (tx, now):
            made = requests.deliver(tx, request_id, requester=self.name, time=now)
            self._require(tx, now, "reveal", made.domain)
            opened = self._domain(tx, made.domain)
            self._count(tx, now, "reveal", made.purpose, made.records, domain=made.domain, case=made.case)
            context = Context(made.role, made.relation) if made.role or made.relation else None
            if opened.domain.kind == "self-generated":
                plain = [self._holder_identity(tx, opened, p) for p in made.pseudonyms]
            else:
                plain = opened.resolve(tx, made.pseudonyms, version=made.key_version, context=context, time=made.created)
            self._log(
                tx,
                now,
                "reveal",
                request=made.id,
                domain=made.domain,
                purpose=made.purpose,
                case=made.case,
                count=made.records,
                subjects=self._subjects(tx, opened, plain, listed=requests.MOST_RECORDS),
            )
        texts = (None if p is None else p.decode() for p in plain)
        return Revealed(made, dict(zip(made.pseudonyms, texts, strict=True)))

    # -- helpers ----------------------------------------------------------------------------------------------------

    def _watch(self, tx: Tx, now: float, action: str, domain: str, purpose: str, pseudonyms: Any) -> None:
        """Raise an alarm when a planted identity was asked for."""
        if tx.get(HONEY, domain) is not None and requests.touches_honeytoken(
            tx, domain, pseudonyms if isinstance(pseudonyms, list) else pseudonyms.to_pylist()
        ):
            self._log(tx, now, action, outcome="alarm", reason="honeytoken", domain=domain, purpose=purpose)

    def _own(self, tx: Tx, name: str) -> OpenDomain:
        opened = self._domain(tx, name)
        if opened.domain.kind != "self-generated":
            raise UsageError(f"domain '{name}' makes its pseudonyms itself.", hint="Use a domain of kind 'self-generated'.")
        return opened

    def _holder_identity(self, tx: Tx, opened: OpenDomain, pseudonym: str) -> bytes | None:
        held = tx.get(SETTING, f"holder {opened.domain.id} {pseudonym}")
        if held is None or not held["identity"]:
            return None
        return opened.own_box.open(bytes.fromhex(held["identity"]), pseudonym.encode())

    def _subjects(self, tx: Tx, opened: OpenDomain, plain: Sequence[bytes | None], *, listed: int = SUBJECTS_LISTED) -> list[str]:
        """Audit pseudonyms of the people concerned (the first ``listed``), each resolvable by owner and auditor together."""
        names = []
        for identity in [p for p in plain if p is not None][:listed]:
            name = opened.subject(identity)
            resolution.remember(tx, name, bytes.fromhex(opened.domain.id) + opened.subject_box.seal(identity, name.encode()))
            names.append(name)
        return names


def _shown(request_id: str) -> str:
    """A request id for the log: its form only, in case something else was typed in."""
    text = request_id.strip().upper()
    return text if text.startswith("REQ-") and len(text) <= 16 and text.isascii() else "malformed"
