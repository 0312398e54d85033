"""The intake of a served vault, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from shoal.protector.intake.actions import Intake
from shoal.protector.intake.waiting import Candidate, Waiting

MOST = 10_000
"""Records in one call."""


class RemoteIntake:
    """The same calls as :class:`~.actions.IntakeActions`; ``call`` sends one to the service."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def intake(self, domain: str, records: Sequence[Mapping[str, str | None]], **told: Any) -> Intake:
        """As in the vault itself; long lists go in parts."""
        pseudonyms: list[str | None] = []
        outcomes: list[str] = []
        waiting: list[str] = []
        changes: dict[str, dict[str, int]] = {}
        for start in range(0, len(records), MOST):
            body = {"records": [dict(record) for record in records[start : start + MOST]], **told}
            found = self._call("POST", f"/domains/{quote(domain, safe='')}/intake", body)
            pseudonyms += found["pseudonyms"]
            outcomes += found["outcomes"]
            waiting += found["waiting"]
            for name, seen in found["changes"].items():
                whole = changes.setdefault(name, dict.fromkeys(seen, 0))
                changes[name] = {what: whole[what] + count for what, count in seen.items()}
        return Intake(pseudonyms, outcomes, waiting, changes)

    def waiting(self, domain: str) -> list[Waiting]:
        found = self._call("POST", f"/domains/{quote(domain, safe='')}/waiting")["waiting"]
        return [
            Waiting(w["id"], w["domain"], "", w["created"], w["record"], tuple(Candidate(**c) for c in w["candidates"]))
            for w in found
        ]

    def decide(self, number: str, same_as: str) -> str:
        return str(self._call("POST", f"/waiting/{quote(number, safe='')}/decide", {"same_as": same_as})["pseudonym"])
