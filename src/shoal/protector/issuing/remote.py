"""Blind issuing by a served vault, over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote


class RemoteIssuing:
    """The same calls as :class:`~.actions.IssuingActions`; ``call`` sends one to the service."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def create_issuer(self, name: str, domain: str) -> dict[str, str]:
        return dict(self._call("POST", "/issuers", {"name": name, "domain": domain}))

    def issuers(self) -> list[dict[str, str]]:
        return [dict(one) for one in self._call("GET", "/issuers")["issuers"]]

    def issue(self, name: str, identity: str, blinded: str, *, purpose: str = "") -> str:
        body = {"identity": identity, "blinded": blinded, "purpose": purpose}
        return str(self._call("POST", f"/issuers/{quote(name, safe='')}/issue", body)["answer"])

    def redeem(self, name: str, message: str, signature: str, *, purpose: str = "") -> str:
        body = {"message": message, "signature": signature, "purpose": purpose}
        return str(self._call("POST", f"/issuers/{quote(name, safe='')}/redeem", body)["pseudonym"])
