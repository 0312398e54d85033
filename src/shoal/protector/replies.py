"""Results of vault actions as JSON, and back: what the service sends, and what the remote client returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from shoal.protector.actions.pseudonyms import Honeytoken
from shoal.protector.actions.requests import Revealed
from shoal.protector.care.checking import Findings
from shoal.protector.intake.actions import Intake
from shoal.protector.intake.waiting import Candidate, Waiting
from shoal.protector.log.audit import Verdict
from shoal.protector.people.changes import Change
from shoal.protector.people.requests import Request, ServedRequest
from shoal.protector.pseudonyms.domains import Domain


@dataclass(frozen=True)
class Reply:
    """What an action returns: ``shape`` names the model of the answer over HTTP.

    ``write`` turns a result into JSON, given the session; ``read`` turns it back, given the remote session, the JSON and the
    arguments of the call.
    """

    shape: str
    write: Callable[[Any, Any], Any]
    read: Callable[[Any, Any, Mapping[str, Any]], Any]


def _keyed(shape: str, key: str, read: Callable[[Any], Any] = lambda value: value) -> Reply:
    """A plain value under one key."""
    return Reply(shape, lambda _, value: {key: value}, lambda _s, found, _a: read(found[key]))


def _listed(shape: str, key: str, write: Callable[[Any], Any], read: Callable[[Any], Any]) -> Reply:
    return Reply(
        shape, lambda _, values: {key: [write(v) for v in values]}, lambda _s, found, _a: [read(one) for one in found[key]]
    )


def request_of(found: Mapping[str, Any]) -> Request:
    """A request from its JSON."""
    parts = ("id", "domain", "purpose", "case", "created", "expires", "status", "recipient")
    values = {part: found[part] for part in parts}
    return ServedRequest(requester="", pseudonyms=tuple(found["pseudonyms"]), body=dict(found), **values)


def _change_of(found: Mapping[str, Any] | None) -> Any:
    return None if found is None else Change(**{name: value for name, value in found.items() if name != "expires"})


def _change_view(change: Change | None) -> dict[str, Any] | None:
    return None if change is None else {**change.to_json(), "code": change.code}


def _domain_view(domain: Domain) -> dict[str, Any]:
    settings = domain.to_json()
    shown = {name: settings[name] for name in ("name", "id", "kind", "scope", "shredded")}
    return {**shown, "key_id": domain.key_id, "settings": settings}


def _domain_of(found: Mapping[str, Any]) -> Domain:
    return Domain.from_json(found["settings"])


def _verdict_of(found: Mapping[str, Any]) -> Verdict:
    return Verdict(**{**found, "problems": tuple(found["problems"]), "accepted": tuple(found["accepted"])})


def _findings_of(found: Mapping[str, Any]) -> Findings:
    return Findings(found["ok"], found["rows"], found["objects"], _verdict_of(found["log"]), tuple(found["problems"]))


def _read_revealed(session: Any, found: Mapping[str, Any], _: Mapping[str, Any]) -> Revealed:
    known = next((r for r in session.requests() if r.id == found["request"]), None)
    request = known or Request(found["request"], "", "", tuple(found["identities"]), "", "", 0.0, 0.0, status="delivered")
    return Revealed(request, found["identities"], found["sealed"])


def _write_intake(_: Any, done: Intake) -> dict[str, Any]:
    changes = {name: dict(counts) for name, counts in done.changes.items()}
    return {"pseudonyms": done.pseudonyms, "outcomes": done.outcomes, "waiting": done.waiting, "changes": changes}


def _waiting_of(found: Mapping[str, Any]) -> Waiting:
    candidates = tuple(Candidate(**one) for one in found["candidates"])
    return Waiting(found["id"], found["domain"], "", found["created"], found["record"], candidates)


_same = Reply("Object", lambda _, value: value, lambda _s, found, _a: dict(found))
_change = Reply("ChangeView", lambda _, change: _change_view(change), lambda _s, found, _a: _change_of(found))

REPLIES: dict[str, Reply] = {
    "Object": _same,
    "IssuerView": Reply("IssuerView", _same.write, _same.read),
    "Retired": Reply("Retired", _same.write, _same.read),
    "Pseudonyms": _keyed("Pseudonyms", "pseudonyms"),
    "Honeytoken": Reply("Honeytoken", lambda _, made: asdict(made), lambda _s, found, _a: Honeytoken(**found)),
    "Decided": _keyed("Decided", "pseudonym", str),
    "Done": Reply("Done", lambda _, good: {"done": good is None or good}, lambda _s, found, _a: bool(found["done"])),
    "Enrolled": _keyed("Enrolled", "token", str),
    "Signed": _keyed("Signed", "answer", str),
    "Factor": _keyed("Factor", "uri", str),
    "Revoked": _keyed("Revoked", "revoked", int),
    "SigningKey": _keyed("KeyInUse", "key_id", str),
    "Events": _keyed("Events", "events", list),
    "Report": _keyed("Object", "reveals", list),
    "Reveals": _keyed("Reveals", "reveals", list),
    "RequestView": Reply("RequestView", lambda _, made: made.to_json(), lambda _s, found, _a: request_of(found)),
    "Requests": _listed("Requests", "requests", lambda made: made.to_json(), request_of),
    "ChangeView": _change,
    "ChangeOrNone": Reply("ChangeView | None", _change.write, _change.read),
    "Changes": _listed("Changes", "changes", _change_view, _change_of),
    "DomainView": Reply("DomainView", lambda _, made: _domain_view(made), lambda _s, found, _a: _domain_of(found)),
    "Domains": _listed("Domains", "domains", _domain_view, _domain_of),
    "Issuers": _listed("Issuers", "issuers", dict, dict),
    "WaitingRecords": _listed("WaitingRecords", "waiting", lambda one: one.to_json(), _waiting_of),
    "Recognized": Reply("Recognized", _write_intake, lambda _s, found, _a: Intake(**found)),
    "Verdict": Reply("Verdict", lambda _, made: made.to_json(), lambda _s, found, _a: _verdict_of(found)),
    "Findings": Reply("Object", lambda _, made: made.to_json(), lambda _s, found, _a: _findings_of(found)),
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
        lambda _s, found, _a: str(found["challenge"]),
    ),
}
"""By the name that the table of actions uses."""
