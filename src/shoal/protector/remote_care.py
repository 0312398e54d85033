"""The functions of :mod:`shoal.protector.care` in a served vault, over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from shoal.errors import UsageError
from shoal.protector.care.checking import Findings
from shoal.protector.log.audit import Verdict
from shoal.protector.pseudonyms.domains import Domain


class Calling(Protocol):
    """What is needed of a session: its calls of the service."""

    def call(self, method: str, path: str, body: Any = None) -> Any: ...

    def domains(self) -> list[Domain]: ...


class RemoteCare:
    """The functions of :mod:`shoal.protector.care` that go over HTTP; the others need the machine of the vault."""

    def verify_log(self, session: Calling, *, anchors: Sequence[Mapping[str, Any]] = (), acknowledged: int = 0) -> Verdict:
        body = {"anchors": [dict(a) for a in anchors], "acknowledged": acknowledged}
        return _verdict(session.call("POST", "/audit/verify", body))

    def verify(self, session: Calling, *, acknowledged: int = 0) -> Findings:
        found = session.call("GET", f"/verify?acknowledged={acknowledged}")
        return Findings(found["ok"], found["rows"], found["objects"], _verdict(found["log"]), tuple(found["problems"]))

    def read_log(self, session: Calling, *, last: int = 100) -> list[dict[str, Any]]:
        return list(session.call("GET", f"/audit/events?last={last}")["events"])

    def log_segment(self, session: Calling, after: int = 0) -> dict[str, Any]:
        return dict(session.call("POST", "/audit/segment", {"after": after}))

    def retire_log(self, session: Calling, upto: int, head: str) -> dict[str, Any]:
        return dict(session.call("POST", "/audit/retire", {"upto": upto, "head": head}))

    def report(self, session: Calling, *, period: str = "month", by: str = "actor") -> list[dict[str, Any]]:
        return list(session.call("GET", "/audit/report?" + urlencode({"period": period, "by": by}))["reveals"])

    def reveals(self, session: Calling, **asked: str) -> list[dict[str, Any]]:
        given = {name: value for name, value in asked.items() if value}
        return list(session.call("GET", "/audit/reveals?" + urlencode(given))["reveals"])

    def checkpoint(self, session: Calling) -> dict[str, Any]:
        return dict(session.call("POST", "/checkpoint"))

    def rotate_domain(self, session: Calling, name: str) -> Domain:
        session.call("POST", f"/domains/{quoted(name)}/rotate")
        return next(d for d in session.domains() if d.name == name)

    def destroy_key(self, session: Calling, name: str, version: int) -> Domain:
        session.call("POST", f"/domains/{quoted(name)}/destroy", {"version": version})
        return next(d for d in session.domains() if d.name == name)

    def rotate_signer(self, session: Calling) -> str:
        return str(session.call("POST", "/rotate-signing")["key_id"])

    def shred(self, session: Calling, name: str, *, confirm: str) -> dict[str, Any]:
        return dict(session.call("POST", f"/domains/{quoted(name)}/shred", {"confirm": confirm}))

    def merge(self, session: Calling, domain: str, identity: str, into: str) -> dict[str, Any]:
        return dict(session.call("POST", f"/domains/{quoted(domain)}/merge", {"identity": identity, "into": into}))

    def split(self, session: Calling, domain: str, identity: str) -> dict[str, Any]:
        return dict(session.call("POST", f"/domains/{quoted(domain)}/split", {"identity": identity}))

    def export(self, session: Calling, domain: str, identity: str) -> dict[str, Any]:
        return dict(session.call("POST", f"/domains/{quoted(domain)}/export", {"identity": identity}))

    def forget(self, session: Calling, domain: str, identity: str) -> dict[str, Any]:
        return dict(session.call("POST", f"/domains/{quoted(domain)}/forget", {"identity": identity}))

    def __getattr__(self, name: str) -> Any:
        raise UsageError("this is done on the machine of the vault itself.", hint="Name its database and key there.")


def quoted(text: str) -> str:
    """A name as a part of an address."""
    return quote(text, safe="")


def _verdict(found: Mapping[str, Any]) -> Verdict:
    return Verdict(**{**found, "problems": tuple(found["problems"]), "accepted": tuple(found["accepted"])})
