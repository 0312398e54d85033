"""A registry that is served over HTTP: to submit to it and to mirror it. Questions are asked of the mirror, not of the service.

Nothing is sent but what was shown; the token comes from the environment (``SHOAL_REGISTRY_TOKEN``) and goes over TLS, or to
this machine only.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from shoal.errors import DataError, EngineError, RequirementError, UsageError
from shoal.registry.record import Record
from shoal.registry.trust import Statement

TOKEN_ENV = "SHOAL_REGISTRY_TOKEN"  # noqa: S105 - the name of a variable
LARGEST_ANSWER = 50_000_000
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class _Stay(urllib.request.HTTPRedirectHandler):
    """A registry that sends us elsewhere is not followed: the token would go along."""

    def redirect_request(self, *arguments: Any, **options: Any) -> None:
        return None


class Remote:
    """The service at ``url``."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise UsageError("the registry's address is not one.", hint="Write https://registry.example.org")
        self._safe = parts.scheme == "https" or parts.hostname in _LOOPBACK
        base = url.rstrip("/")
        self._base = base if base.endswith("/registry/v1") else f"{base}/registry/v1"
        self._open = urllib.request.build_opener(_Stay).open

    def _call(self, path: str, body: dict[str, Any] | None = None, **asked: Any) -> Any:
        headers = {"Accept": "application/json"}
        if body is not None:
            headers |= {"Content-Type": "application/json", "Authorization": f"Bearer {self._token()}"}
        query = f"?{urllib.parse.urlencode(asked)}" if asked else ""
        data = json.dumps(body).encode("utf-8") if body is not None else None
        request = urllib.request.Request(f"{self._base}{path}{query}", data=data, headers=headers)  # noqa: S310 - http(s) only
        try:
            with self._open(request, timeout=60) as answer:
                content = answer.read(LARGEST_ANSWER + 1)
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except OSError as error:
            raise EngineError(
                f"the registry does not answer: {type(error).__name__}.", hint="Check the address and whether it is served."
            ) from None
        try:
            return json.loads(content if len(content) <= LARGEST_ANSWER else b"")
        except (ValueError, RecursionError):
            raise DataError("the registry's answer cannot be read.", hint="Is this the address of a registry?") from None

    def _token(self) -> str:
        if not self._safe:
            raise UsageError("a token would go over the net in the clear.", hint="Use the https address of the registry.")
        token = os.environ.get(TOKEN_ENV, "")
        if not token or not token.isascii() or not token.isprintable():
            raise UsageError(f"publishing over HTTP needs a token in {TOKEN_ENV}.", hint="Ask whoever runs the registry.")
        return token

    def submit(self, record: Record) -> Record:
        """Publish a signed record."""
        self._call("/records", record.to_json())
        return record

    def state(self, statement: Statement) -> Statement:
        """Publish an endorsement or revocation."""
        self._call("/statements", statement.to_json())
        return statement

    def latest(self, codes: tuple[str, ...], population: str, key: str) -> Record | None:
        """The current record of one holder's key about a topic."""
        found = self._call("/query", attributes=",".join(codes), population=population)
        records = [Record.from_json(r) for r in found["records"]] if found.get("fit") == "exact" else []
        return next((r for r in records if r.key == key), None)

    def next_number(self, key: str) -> int:
        """The number that the next statement of a key must carry."""
        return 1 + sum(s.key == key for s in self.statements())

    def log(self, *, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        return list(self._call("/log", after=after, limit=limit)["lines"])

    def history(self, *, after: str = "", limit: int = 500) -> list[tuple[Record, str]]:
        page = self._call("/history", after=after, limit=limit)["records"]
        return [(Record.from_json(r["record"]), str(r["status"])) for r in page]

    def statements(self) -> list[Statement]:
        out: list[Statement] = []
        after: dict[str, Any] = {}
        while page := self._call("/statements", limit=500, **after)["statements"]:
            out += [Statement.from_json(s) for s in page]
            after = {"after_key": out[-1].key, "after_number": out[-1].number}
        return out


def _refusal(error: urllib.error.HTTPError) -> Exception:
    """What the service said, without anything that could drive a terminal."""
    try:
        said = json.loads(error.read(100_000))
        message, hint = (str(said.get(k, ""))[:500] for k in ("message", "hint"))
    except (ValueError, AttributeError, RecursionError):
        message, hint = f"it answered {error.code}", ""
    plain = ["".join(c if c.isprintable() else " " for c in text) for text in (message, hint)]
    kind = RequirementError if error.code in (401, 403, 409, 429) else DataError
    return kind(f"the registry refused: {plain[0]}", hint=plain[1])
