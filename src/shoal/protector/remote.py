"""A vault that somebody else serves: the same calls as :class:`~shoal.protector.session.Session`, over HTTP.

The master key stays with the service; here is only the person's token. Places: ``https://…``, ``http://`` on this machine, or
``unix:/path`` to a socket.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from shoal import errors
from shoal.errors import AccessError, EngineError, ShoalError, UsageError
from shoal.protector.actions.requests import Revealed
from shoal.protector.intake.remote import RemoteIntake
from shoal.protector.issuing.remote import RemoteIssuing
from shoal.protector.people.changes import Change, SecondPersonNeeded
from shoal.protector.people.limits import Limit
from shoal.protector.people.requests import Request
from shoal.protector.pseudonyms.domains import Domain, Renewal
from shoal.protector.pseudonyms.identities import text_column
from shoal.protector.remote_care import RemoteCare, quoted

LOOPBACK = ("127.0.0.1", "localhost", "::1")
BASE = "/vault/v1"
MOST = 10_000
"""Identities in one call."""


def is_remote(place: object) -> bool:
    """Whether a place names a service and not a database."""
    return str(place).startswith(("http://", "https://", "unix:"))


class RemoteVault:
    """A served vault. ``ca`` is a file with the certificate authority of the service, where it is not a public one."""

    def __init__(self, place: str, *, ca: str | None = None, timeout: float = 600.0) -> None:
        self._place = place
        self._timeout = timeout
        self._ca = ca or os.environ.get("SHOAL_VAULT_CA")
        parts = urlsplit(place)
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise UsageError("a token would go over the network in the clear.", hint="Use https://, or http:// on this machine.")
        if parts.scheme != "unix" and (parts.username or parts.query or parts.path.strip("/")):
            raise UsageError("the address of a vault is https://HOST:PORT.", hint="Tokens come from a file, never from the URL.")

    def login(self, token: str) -> RemoteSession:
        """What the holder of this token can do; the service checks it with every call."""
        return RemoteSession(self, token.strip())

    def enrol(self, *codes: str) -> str:
        """Claim a token with its codes, once."""
        return str(self.call("POST", "/enrol", {"codes": list(codes)})["token"])

    def status(self) -> dict[str, Any]:
        """Whether the service answers and its vault is not older than its anchor."""
        return {"place": self._place, "alive": self.call("GET", "/health")["done"]}

    def call(self, method: str, path: str, body: Any = None, *, token: str = "") -> Any:
        """One call; a refusal is raised as the service's own error."""
        headers = {"Content-Type": "application/json", "Host": "localhost"} if self._place.startswith("unix:") else {}
        headers |= {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        connection = self._connection()
        try:
            connection.request(method, BASE + path, None if body is None else json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            text = answer.read()
        except ssl.SSLCertVerificationError:
            raise EngineError("the certificate of the vault's service is not valid.", hint="Set SHOAL_VAULT_CA.") from None
        except (OSError, http.client.HTTPException) as error:
            raise EngineError(f"the vault's service cannot be reached ({type(error).__name__}).", hint="Is it running?") from None
        finally:
            connection.close()
        try:
            found = json.loads(text)
        except ValueError:
            raise EngineError(f"this is not a vault's service: it answered with status {answer.status}.") from None
        if answer.status >= 400 or (isinstance(found, dict) and "error" in found):
            raise _error(found if isinstance(found, dict) else {})
        return found

    def _connection(self) -> http.client.HTTPConnection:
        if self._place.startswith("unix:"):
            return _UnixConnection(self._place.removeprefix("unix:"), self._timeout)
        parts = urlsplit(self._place)
        host = parts.hostname or ""
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=self._ca)
            return http.client.HTTPSConnection(host, parts.port, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(host, parts.port, timeout=self._timeout)

    def __repr__(self) -> str:
        return f"<RemoteVault {self._place}>"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _error(found: Mapping[str, Any]) -> ShoalError:
    """The error that the service told of, as the same kind."""
    name, message, hint = (str(found.get(part, "")) for part in ("error", "message", "hint"))
    if name == SecondPersonNeeded.__name__:
        return SecondPersonNeeded(Change(message.split()[0], "", {}, "", 0.0))
    kind = getattr(errors, name, AccessError if name == "Unauthorized" else EngineError)
    return (
        kind(message, hint=hint) if isinstance(kind, type) and issubclass(kind, ShoalError) else EngineError(message, hint=hint)
    )


@dataclass(frozen=True)
class ServedRequest(Request):
    """A request as the service told of it."""

    told: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def digest(self) -> str:
        return str(self.told["digest"])

    def to_json(self, *, pseudonyms: bool = True) -> dict[str, Any]:
        return {name: value for name, value in self.told.items() if pseudonyms or name != "pseudonyms"}


class RemoteSession:
    """What one person can do in a served vault."""

    def __init__(self, vault: RemoteVault, token: str) -> None:
        self._vault = vault
        self._token = token
        people = RemoteIntake(self.call)
        self.intake = people.intake
        self.waiting = people.waiting
        self.decide = people.decide
        issuing = RemoteIssuing(self.call)
        self.create_issuer = issuing.create_issuer
        self.issuers = issuing.issuers
        self.issue = issuing.issue
        self.redeem = issuing.redeem
        self.care = RemoteCare()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return self._vault.call(method, path, body, token=self._token)

    @property
    def vault(self) -> SimpleNamespace:
        """The id of the vault."""
        return SimpleNamespace(id=self.status()["vault"])

    # -- operators ---------------------------------------------------------------------------------------------------

    def domains(self) -> list[Domain]:
        return [Domain.from_json(d["settings"]) for d in self.call("GET", "/domains")["domains"]]

    def pseudonymize(self, domain: str, values: Any, **told: str) -> Any:
        """As :meth:`Session.pseudonymize`: lists and Arrow columns of any length, sent in parts."""
        import pyarrow as pa

        column, as_list = text_column(values)
        known = {d.name: d for d in self.domains()}.get(domain)
        each = known is not None and (known.scope == "transaction" or bool(known.renewal.uses))
        coded = None if each else column.dictionary_encode()
        sent = (column if coded is None else coded.dictionary).drop_null().to_pylist()
        made = self._in_parts(f"/domains/{quoted(domain)}/pseudonyms", "identities", sent, told)
        if coded is not None:
            out = pa.DictionaryArray.from_arrays(coded.indices, pa.array(made, pa.string())).cast(pa.string())
        else:
            answers = iter(made)
            out = pa.array([next(answers) if there else None for there in column.is_valid().to_pylist()], pa.string())
        return out.to_pylist() if as_list else out

    def _in_parts(self, path: str, name: str, values: Sequence[str], told: Mapping[str, Any]) -> list[str | None]:
        parts = [values[start : start + MOST] for start in range(0, len(values), MOST)]
        return [p for part in parts for p in self.call("POST", path, {name: part, **told})["pseudonyms"]]

    def find(self, domain: str, identity: str, **told: str) -> str | None:
        return self.find_many(domain, [identity], **told)[0]

    def find_many(self, domain: str, identities: Sequence[str], **told: str) -> list[str | None]:
        return self._in_parts(f"/domains/{quoted(domain)}/finds", "identities", list(identities), told)

    def translate(
        self, pseudonyms: Sequence[str], *, source: str, target: str, version: int | None = None, **told: str
    ) -> list[str | None]:
        body = {"target": target, "key_version": version, **told}
        return self._in_parts(f"/domains/{quoted(source)}/translate", "pseudonyms", list(pseudonyms), body)

    def register(self, domain: str, registration: Mapping[str, str], *, identity: str | None = None) -> None:
        self.call("POST", f"/domains/{quoted(domain)}/holders", {**registration, "identity": identity})

    def challenge(self, domain: str, pseudonym: str) -> str:
        return str(self.call("POST", f"/domains/{quoted(domain)}/challenge", {"pseudonym": pseudonym})["challenge"])

    def check_ownership(self, domain: str, pseudonym: str, challenge: str, proof: str) -> bool:
        body = {"pseudonym": pseudonym, "challenge": challenge, "proof": proof}
        return bool(self.call("POST", f"/domains/{quoted(domain)}/prove", body)["done"])

    # -- requesters and approvers ------------------------------------------------------------------------------------

    def request(
        self, domain: str, pseudonyms: Sequence[str], *, seconds: float = 7 * 86400.0, version: int | None = None, **told: str
    ) -> Request:
        body = {"domain": domain, "pseudonyms": list(pseudonyms), "days": seconds / 86400, "key_version": version, **told}
        return _request(self.call("POST", "/requests", body))

    def requests(self) -> list[Request]:
        return [_request(r) for r in self.call("GET", "/requests")["requests"]]

    def approve(self, request_id: str, *, digest: str | None = None, factor: str = "") -> Request:
        return _request(self.call("POST", f"/requests/{quoted(request_id)}/approve", {"digest": digest, "factor": factor}))

    def deny(self, request_id: str) -> Request:
        return _request(self.call("POST", f"/requests/{quoted(request_id)}/deny"))

    def withdraw(self, request_id: str) -> Request:
        return _request(self.call("POST", f"/requests/{quoted(request_id)}/withdraw"))

    def reveal(self, request_id: str) -> Revealed:
        found = self.call("POST", f"/requests/{quoted(request_id)}/reveal")
        asked = next((r for r in self.requests() if r.id == found["request"]), None)
        made = asked or Request(found["request"], "", "", tuple(found["identities"]), "", "", 0.0, 0.0, status="delivered")
        return Revealed(made, found["identities"], found["sealed"])

    # -- owners and the second person --------------------------------------------------------------------------------

    def create_domain(self, name: str, *, renewal: Renewal | None = None, **settings: Any) -> Domain:
        body = {"name": name, **{k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}}
        if renewal is not None:
            body["renewal"] = {"uses": renewal.uses, "days": renewal.days, "on": list(renewal.on), "reason": renewal.reason}
        return Domain.from_json(self.call("POST", "/domains", body)["settings"])

    def allow_translation(self, source: str, target: str, *, allowed: bool = True) -> Domain:
        return Domain.from_json(
            self.call("POST", f"/domains/{quoted(source)}/allow", {"target": target, "allowed": allowed})["settings"]
        )

    def plant_honeytoken(self, domain: str, identity: str, *, role: str = "", relation: str = "") -> str | None:
        body = {"identity": identity, "role": role, "relation": relation}
        made: str | None = self.call("POST", f"/domains/{quoted(domain)}/honeytokens", body)["pseudonym"]
        return made

    def add_actor(self, name: str, roles: Sequence[str]) -> Change:
        return _change(self.call("POST", "/actors", {"name": name, "roles": list(roles)}))

    def issue_token(
        self, name: str, *, scopes: Iterable[str] = (), domains: Iterable[str] = (), expires: float | None = None
    ) -> Change:
        body = {"scopes": list(scopes), "domains": list(domains), "expires": expires}
        return _change(self.call("POST", f"/actors/{quoted(name)}/tokens", body))

    def grant(self, name: str, roles: Sequence[str], *, enabled: bool = True) -> Change | None:
        found = self.call("POST", f"/actors/{quoted(name)}/grant", {"roles": list(roles), "enabled": enabled})
        return None if found is None else _change(found)

    def revoke_tokens(self, name: str) -> int:
        return int(self.call("POST", f"/actors/{quoted(name)}/revoke")["revoked"])

    def set_limit(self, action: str, limit: Limit, *, purpose: str = "*") -> Change:
        body = {"action": action, "seconds": limit.seconds, "max": limit.max, "alarm": limit.alarm, "purpose": purpose}
        return _change(self.call("POST", "/limits", body))

    def changes(self, *, everything: bool = False) -> list[Change]:
        found = self.call("GET", f"/changes?everything={str(everything).lower()}")["changes"]
        return [_change(c) for c in found]

    def confirm(self, change_id: str, *, factor: str = "") -> Change:
        return _change(self.call("POST", f"/changes/{quoted(change_id)}/confirm", {"factor": factor}))

    def require_factor(self, roles: Sequence[str]) -> Change:
        return _change(self.call("POST", "/factor/required", {"roles": list(roles)}))

    def set_up_factor(self) -> str:
        return str(self.call("POST", "/factor")["uri"])

    def delegate(self, action: str, *, domains: Iterable[str] = (), seconds: float = 900.0) -> str:
        body = {"action": action, "domains": list(domains), "seconds": seconds}
        return str(self.call("POST", "/tokens", body)["token"])

    def refuse(self, change_id: str) -> Change:
        return _change(self.call("POST", f"/changes/{quoted(change_id)}/refuse"))

    def status(self) -> dict[str, Any]:
        return dict(self.call("GET", "/status"))

    def __repr__(self) -> str:
        return "<RemoteSession>"


def _request(found: Mapping[str, Any]) -> Request:
    parts = ("id", "domain", "purpose", "case", "created", "expires", "status", "recipient")
    return ServedRequest(
        requester="", pseudonyms=tuple(found["pseudonyms"]), told=dict(found), **{part: found[part] for part in parts}
    )


def _change(found: Mapping[str, Any]) -> Change:
    return Change(**{name: value for name, value in found.items() if name != "expires"})
