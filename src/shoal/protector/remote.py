"""A vault that somebody else serves: the same calls as :class:`~shoal.protector.session.Session`, over HTTP.

The master key stays with the service; here is only the person's token. Places: ``https://…``, ``http://`` on this machine, or
``unix:/path`` to a socket. :data:`REPLIES` are the results of actions as JSON: what the service sends, and what the client reads.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from shoal import errors
from shoal.errors import AccessError, EngineError, ShoalError, UsageError, refuse
from shoal.protector.action_table import ACTIONS, IDENTITIES, Action
from shoal.protector.actions.pseudonyms import Honeytoken
from shoal.protector.actions.requests import Revealed
from shoal.protector.care.checking import Findings
from shoal.protector.intake.actions import Intake
from shoal.protector.intake.waiting import Candidate, Waiting
from shoal.protector.log.audit import Verdict
from shoal.protector.people.changes import Change, SecondPersonNeeded
from shoal.protector.people.requests import Request, ServedRequest
from shoal.protector.pseudonyms.domains import Domain
from shoal.protector.pseudonyms.identities import text_column

if TYPE_CHECKING:
    from shoal.protector.session import Session as _Calls
else:
    _Calls = object  # the methods are made from the table of actions, below


@dataclass(frozen=True)
class Reply:
    """What an action returns: ``shape`` names the model of the answer over HTTP.

    ``write`` turns a result into JSON, given the session; ``read`` turns it back, given the remote session, the JSON and the
    arguments of the call.
    """

    shape: str
    write: Callable[[Any, Any], Any]
    read: Callable[[Any, Any, Mapping[str, Any]], Any]


def _under_key(shape: str, key: str, read: Callable[[Any], Any] = lambda value: value) -> Reply:
    """A plain value under one key."""
    return Reply(shape, lambda _, value: {key: value}, lambda _s, answer, _a: read(answer[key]))


def _list_under_key(shape: str, key: str, write: Callable[[Any], Any], read: Callable[[Any], Any]) -> Reply:
    return Reply(
        shape, lambda _, values: {key: [write(v) for v in values]}, lambda _s, answer, _a: [read(one) for one in answer[key]]
    )


def request_of(answer: Mapping[str, Any]) -> Request:
    parts = ("id", "domain", "purpose", "case", "created", "expires", "status", "recipient")
    values = {part: answer[part] for part in parts}
    return ServedRequest(requester="", pseudonyms=tuple(answer["pseudonyms"]), body=dict(answer), **values)


def _change_of(answer: Mapping[str, Any] | None) -> Any:
    return None if answer is None else Change(**{name: value for name, value in answer.items() if name != "expires"})


def _change_view(change: Change | None) -> dict[str, Any] | None:
    return None if change is None else {**change.to_json(), "code": change.code}


def _domain_view(domain: Domain) -> dict[str, Any]:
    settings = domain.to_json()
    shown = {name: settings[name] for name in ("name", "id", "kind", "scope", "shredded")}
    return {**shown, "key_id": domain.key_id, "settings": settings}


def _domain_of(answer: Mapping[str, Any]) -> Domain:
    return Domain.from_json(answer["settings"])


def _verdict_of(answer: Mapping[str, Any]) -> Verdict:
    return Verdict(**{**answer, "problems": tuple(answer["problems"]), "accepted": tuple(answer["accepted"])})


def _read_revealed(session: Any, answer: Mapping[str, Any], _: Mapping[str, Any]) -> Revealed:
    known = next((r for r in session.requests() if r.id == answer["request"]), None)
    request = known or Request(answer["request"], "", "", tuple(answer["identities"]), "", "", 0.0, 0.0, status="delivered")
    return Revealed(request, answer["identities"], answer["sealed"])


def _write_intake(_: Any, done: Intake) -> dict[str, Any]:
    changes = {name: dict(counts) for name, counts in done.changes.items()}
    return {"pseudonyms": done.pseudonyms, "outcomes": done.outcomes, "waiting": done.waiting, "changes": changes}


def _waiting_of(answer: Mapping[str, Any]) -> Waiting:
    candidates = tuple(Candidate(**one) for one in answer["candidates"])
    return Waiting(answer["id"], answer["domain"], "", answer["created"], answer["record"], candidates)


_same = Reply("Object", lambda _, value: value, lambda _s, answer, _a: dict(answer))
_change = Reply("ChangeView", lambda _, change: _change_view(change), lambda _s, answer, _a: _change_of(answer))

REPLIES: dict[str, Reply] = {
    "Object": _same,
    "IssuerView": Reply("IssuerView", _same.write, _same.read),
    "Retired": Reply("Retired", _same.write, _same.read),
    "Pseudonyms": _under_key("Pseudonyms", "pseudonyms"),
    "Honeytoken": Reply("Honeytoken", lambda _, made: asdict(made), lambda _s, answer, _a: Honeytoken(**answer)),
    "Decided": _under_key("Decided", "pseudonym", str),
    "Done": Reply("Done", lambda _, good: {"done": good is None or good}, lambda _s, answer, _a: bool(answer["done"])),
    "Enrolled": _under_key("Enrolled", "token", str),
    "Signed": _under_key("Signed", "answer", str),
    "Factor": _under_key("Factor", "uri", str),
    "Revoked": _under_key("Revoked", "revoked", int),
    "SigningKey": _under_key("KeyInUse", "key_id", str),
    "Events": _under_key("Events", "events", list),
    "Report": _under_key("Object", "reveals", list),
    "Reveals": _under_key("Reveals", "reveals", list),
    "RequestView": Reply("RequestView", lambda _, made: made.to_json(), lambda _s, answer, _a: request_of(answer)),
    "Requests": _list_under_key("Requests", "requests", lambda made: made.to_json(), request_of),
    "ChangeView": _change,
    "ChangeOrNone": Reply("ChangeView | None", _change.write, _change.read),
    "Changes": _list_under_key("Changes", "changes", _change_view, _change_of),
    "DomainView": Reply("DomainView", lambda _, made: _domain_view(made), lambda _s, answer, _a: _domain_of(answer)),
    "Domains": _list_under_key("Domains", "domains", _domain_view, _domain_of),
    "Issuers": _list_under_key("Issuers", "issuers", dict, dict),
    "WaitingRecords": _list_under_key("WaitingRecords", "waiting", lambda one: one.to_json(), _waiting_of),
    "Recognized": Reply("Recognized", _write_intake, lambda _s, answer, _a: Intake(**answer)),
    "Verdict": Reply("Verdict", lambda _, made: made.to_json(), lambda _s, answer, _a: _verdict_of(answer)),
    "Findings": Reply(
        "Object",
        lambda _, findings: findings.to_json(),
        lambda _s, answer, _a: Findings(**{**answer, "log": _verdict_of(answer["log"]), "problems": tuple(answer["problems"])}),
    ),
    "Revealed": Reply(
        "Revealed",
        lambda _, got: {"request": got.request.id, "identities": dict(got.identities), "sealed": got.sealed},
        _read_revealed,
    ),
    "KeyInUse": Reply(
        "KeyInUse",
        lambda _, made: {"key_id": made.key_id},
        lambda session, _f, given: next(d for d in session.domains() if d.name == given["name"]),
    ),
    "Challenge": Reply(
        "Challenge",
        lambda session, made: {"challenge": made, "vault": session.vault.id},
        lambda _s, answer, _a: str(answer["challenge"]),
    ),
}
"""By the name that the table of actions uses."""


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
        with refuse(EngineError(f"this is not a vault's service: it answered with status {answer.status}."), ValueError):
            content = json.loads(text)
        if answer.status >= 400 or (isinstance(content, dict) and "error" in content):
            raise _error(content if isinstance(content, dict) else {})
        return content

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


def _error(answer: Mapping[str, Any]) -> ShoalError:
    """The error that the service told of, as the same kind."""
    name, message, hint = (str(answer.get(part, "")) for part in ("error", "message", "hint"))
    if name == SecondPersonNeeded.__name__:
        return SecondPersonNeeded(Change(message.split()[0], "", {}, "", 0.0))
    kind = getattr(errors, name, AccessError if name == "Unauthorized" else EngineError)
    return (
        kind(message, hint=hint) if isinstance(kind, type) and issubclass(kind, ShoalError) else EngineError(message, hint=hint)
    )


class RemoteSession(_Calls):
    """What one person can do in a served vault: a method for each action of the table, with the session's parameters."""

    def __init__(self, vault: RemoteVault, token: str) -> None:
        self._vault = vault
        self._token = token
        self.care = RemoteCare()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return self._vault.call(method, path, body, token=self._token)

    @property
    def vault(self) -> Any:  # type: ignore[override]
        """The id of the vault."""
        return SimpleNamespace(id=self.status()["vault"])

    def status(self) -> dict[str, Any]:
        return dict(self.call("GET", "/status"))

    def find(self, domain: str, identity: str, **context: str) -> str | None:
        return self.find_many(domain, [identity], **context)[0]

    def pseudonymize(self, domain: str, values: Any, **context: str) -> Any:
        """As :meth:`Session.pseudonymize`: lists and Arrow columns of any length, sent in parts."""
        import pyarrow as pa

        column, as_list = text_column(values)
        known = {d.name: d for d in self.domains()}.get(domain)
        each = known is not None and (known.scope == "transaction" or bool(known.renewal.uses))
        coded = None if each else column.dictionary_encode()
        sent = (column if coded is None else coded.dictionary).drop_null().to_pylist()
        parts = _call_in_parts(_BY_NAME["pseudonymize"], self, {"domain": domain, "values": sent, **context})
        if coded is not None:
            out = pa.DictionaryArray.from_arrays(coded.indices, pa.array(parts, pa.string())).cast(pa.string())
        else:
            answers = iter(parts)
            out = pa.array([next(answers) if there else None for there in column.is_valid().to_pylist()], pa.string())
        return out.to_pylist() if as_list else out

    def intake(self, domain: str, records: Sequence[Mapping[str, str | None]], **options: Any) -> Intake:
        """As :meth:`Session.intake`; long lists go in parts."""
        whole = Intake([], [], [], {})
        for start in range(0, len(records), MOST):
            part = {"domain": domain, "records": records[start : start + MOST], **options}
            done = _call(_BY_NAME["intake"], self, part)
            changes = {
                name: {what: count + whole.changes.get(name, {}).get(what, 0) for what, count in counts.items()}
                for name, counts in done.changes.items()
            }
            whole = Intake(
                whole.pseudonyms + done.pseudonyms,
                whole.outcomes + done.outcomes,
                whole.waiting + done.waiting,
                {**whole.changes, **changes},
            )
        return whole

    def __repr__(self) -> str:
        return "<RemoteSession>"


class RemoteCare:
    """The functions of :mod:`shoal.protector.care` that go over HTTP; the others need the machine of the vault."""

    def __getattr__(self, name: str) -> Any:
        raise UsageError("this is done on the machine of the vault itself.", hint="Name its database and key there.")


def _call(action: Action, session: RemoteSession, arguments: Mapping[str, Any]) -> Any:
    """One action over HTTP: its path, query and body follow from the table."""
    path, query, body = action.path, {}, {}
    for parameter, value in action.values(arguments):
        if action.in_path(parameter):
            path = path.replace(f"{{{parameter.wire}}}", quote(value, safe=""))
        elif action.method != "GET":
            body[parameter.wire] = value
        elif value not in (None, ""):
            query[parameter.wire] = str(value).lower() if isinstance(value, bool) else value
    path += "?" + urlencode(query) if query else ""
    return REPLIES[action.reply].read(session, session.call(action.method, path, body or None), arguments)


def _call_in_parts(action: Action, session: RemoteSession, arguments: Mapping[str, Any]) -> list[str | None]:
    """An action that takes many texts and returns one for each, in calls of at most :data:`MOST`."""
    many = next(p.name for p in action.parameters if p.kind is IDENTITIES)
    texts = list(arguments[many])
    parts = ({**arguments, many: texts[start : start + MOST]} for start in range(0, len(texts), MOST))
    return [answer for part in parts for answer in _call(action, session, part)]


def _method(action: Action) -> Callable[..., Any]:
    signature = action.signature()
    send = _call_in_parts if action.reply == "Pseudonyms" else _call

    def method(self: Any, *given: Any, **named: Any) -> Any:
        session, rest = (given[0], given[1:]) if action.care else (self, given)
        return send(action, session, signature.bind(*rest, **named).arguments)

    method.__name__, method.__doc__ = action.name, f"{action.help}."
    return method


_BY_NAME = {action.name: action for action in ACTIONS}
for _action in ACTIONS:
    _owner = RemoteCare if _action.care else RemoteSession
    if _action.name not in vars(_owner):
        setattr(_owner, _action.name, _method(_action))
