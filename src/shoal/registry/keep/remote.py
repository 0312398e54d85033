"""A registry that is served over HTTP: to submit to it, to mirror it, and to ask it about one attribute.

Larger questions use the mirror.

Nothing is sent but what was shown; the token comes from the environment (``SHOAL_REGISTRY_TOKEN``) and goes over TLS, or to
this machine only.
"""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, get_args

from shoal.errors import DataError, EngineError, RequirementError, UsageError
from shoal.model import strict_json
from shoal.registry.answer.answer import Answer, Fit
from shoal.registry.keep.heads import Head, meet_service
from shoal.registry.records.notice import Notice
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record
from shoal.registry.records.trust import Statement, dispute

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
        try:
            parts = urllib.parse.urlsplit(url)
            wrong = parts.port == 0 or not url.isascii() or not url.isprintable() or " " in url
        except ValueError:  # brackets or a port that cannot be
            parts, wrong = urllib.parse.urlsplit(""), True
        if wrong or parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
            raise UsageError("this is not the address of a registry.", hint="Write https://registry.example.org")
        here = parts.hostname in _LOOPBACK
        self._safe = parts.scheme == "https" or here
        base = url.rstrip("/")
        self._base = base if base.endswith("/registry/v1") else f"{base}/registry/v1"
        around = [urllib.request.ProxyHandler({})] if here else []  # what is meant for this machine does not leave it
        self._open = urllib.request.build_opener(_Stay, *around).open
        self.notices = RemoteNotices(self)

    def call(self, path: str, body: dict[str, Any] | None = None, **asked: Any) -> dict[str, Any]:
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
        except (OSError, http.client.HTTPException) as error:
            hint = "Check the address and whether it is served."
            raise EngineError(f"the registry does not answer: {type(error).__name__}.", hint=hint) from None
        try:
            reply = strict_json.loads(content if len(content) <= LARGEST_ANSWER else b"")
        except (ValueError, RecursionError):
            raise _unreadable() from None
        if not isinstance(reply, dict):
            raise _unreadable()
        return reply

    def page(self, path: str, name: str, **asked: Any) -> list[dict[str, Any]]:
        """One page of a listing: a list of objects."""
        page = self.call(path, **asked).get(name)
        if not isinstance(page, list) or not all(isinstance(entry, dict) for entry in page):
            raise _unreadable()
        return page

    def signed_head(self) -> Head | None:
        """The head that the service signs, if it does: a log that does not continue the one seen here before is refused."""
        return meet_service(self._base, lambda size: self.call("/", since=size))

    def _token(self) -> str:
        if not self._safe:
            raise UsageError("a token would go over the net in the clear.", hint="Use the https address of the registry.")
        token = os.environ.get(TOKEN_ENV, "")
        if not token or not token.isascii() or not token.isprintable():
            raise UsageError(f"publishing over HTTP needs a token in {TOKEN_ENV}.", hint="Ask the operator of the registry.")
        return token

    def submit_many(self, records: Sequence[Record]) -> None:
        """Publish signed records one after the other; a service takes each for itself."""
        for record in records:
            self.call("/records", record.to_json())

    def check_name(self, holder: str, key: str) -> None:
        """The service asks this itself when a record comes."""

    def state(self, statement: Statement) -> Statement:
        """Publish an endorsement or revocation."""
        self.call("/statements", statement.to_json())
        return statement

    def query(self, codes: Sequence[str], population: str) -> Answer:
        """What the service knows, each record checked here."""
        self.signed_head()
        answer = self.call("/query", attributes=",".join(codes), population=population)
        listed, notes = answer.get("records"), answer.get("notes")
        if not isinstance(listed, list) or not isinstance(notes, list) or answer.get("fit") not in get_args(Fit):
            raise _unreadable()
        records = tuple(Record.from_json(r).verify() for r in listed)
        people = Population.parse(population if "@" in population else str(answer.get("population")))
        quarrel = dispute(records) if answer["fit"] != "margins only" else None
        return Answer(tuple(codes), people, answer["fit"], records, quarrel, tuple(_plain(str(n)) for n in notes))

    def latest(self, codes: tuple[str, ...], population: str, key: str) -> Record | None:
        """The current record of one holder's key about a topic."""
        answer = self.query(codes, population)
        return next((r for r in answer.records if r.key == key and answer.fit == "exact"), None)

    def next_number(self, key: str) -> int:
        """The number that the next statement of a key must carry."""
        return 1 + sum(s.key == key for s in self.statements())

    def log(self, *, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """Lines that follow one on the other; a service that repeats itself is not listened to for ever."""
        page = self.page("/log", "lines", after=after, limit=limit)
        if [line.get("line") for line in page] != list(range(after + 1, after + 1 + len(page))):
            raise _unreadable()
        return page

    def history(self, *, after: str = "", limit: int = 500) -> list[tuple[Record, str]]:
        page = self.page("/history", "records", after=after, limit=limit)
        records = [(Record.from_json(entry.get("record", {})), str(entry.get("status"))) for entry in page]
        marks = [after, *(record.id for record, _ in records)]
        if any(a >= b for a, b in pairwise(marks)):  # a listing that stands still or turns back would never end
            raise _unreadable()
        return records

    def statements(self) -> list[Statement]:
        out: list[Statement] = []
        after: dict[str, Any] = {}
        while page := self.page("/statements", "statements", limit=500, **after):
            out += [Statement.from_json(s) for s in page]
            if len({(s.key, s.number) for s in out}) != len(out):
                raise _unreadable()
            after = {"after_key": out[-1].key, "after_number": out[-1].number}
        return out


class RemoteNotices:
    """The catalogue of a service."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def submit(self, notice: Notice) -> Notice:
        """Publish a signed notice."""
        self._remote.call("/catalogue", notice.to_json())
        return notice

    def latest(self, notice: Notice) -> Notice | None:
        """The newest notice of the same key, kind, title and population, withdrawn or not."""
        same, after = list[Notice](), ""
        while page := self.history(after=after, limit=500):
            same += [n for n, _ in page if n.key == notice.key and n.topic == notice.topic]
            after = page[-1][0].id
        return max(same, key=lambda n: n.version, default=None)

    def history(self, *, after: str = "", limit: int = 100) -> list[tuple[Notice, str]]:
        page = self._remote.page("/catalogue/history", "notices", after=after, limit=limit)
        notices = [(Notice.from_json(entry.get("notice", {})), str(entry.get("status"))) for entry in page]
        if any(a >= b for a, b in pairwise([after, *(n.id for n, _ in notices)])):
            raise _unreadable()
        return notices


def _unreadable() -> DataError:
    return DataError("the registry's answer cannot be read.", hint="Is this the address of a registry?")


def _plain(text: str) -> str:
    """Text without anything that could drive a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def _refusal(error: urllib.error.HTTPError) -> Exception:
    """What the service said, without anything that could drive a terminal."""
    try:
        answer = json.loads(error.read(100_000))
        message, hint = (str(answer.get(k, ""))[:500] for k in ("message", "hint"))
    except (ValueError, AttributeError, RecursionError, OSError, http.client.HTTPException):
        message, hint = f"it answered {error.code}", ""
    kind = RequirementError if error.code in (401, 403, 409, 429) else DataError
    return kind(f"the registry refused: {_plain(message)}", hint=_plain(hint))
