"""Pseudonymous logs of other systems: lines in, the same lines with pseudonyms in place of identities out.

Lines are JSON objects whose named fields hold identities (also inside other objects, ``user.id``), or text in which a pattern
finds them. They are handled in parts; nothing of a part is passed on before all its identities are replaced, and a line that
does not fit ends the run: what cannot be made safe does not leave.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, UsageError

if TYPE_CHECKING:
    from shoal.protector.session import Session

PART = 10_000
"""Lines handled at once."""

MOST_KNOWN = 1_000_000


class LogFilter:
    """Replaces identities in lines by pseudonyms of a domain; one pseudonym per identity is asked for once."""

    def __init__(self, session: Session, domain: str, *, fields: Sequence[str] = (), pattern: str = "") -> None:
        if bool(fields) == bool(pattern):
            raise UsageError("say where identities are: fields of JSON lines, or a pattern in text.")
        try:
            self._pattern = re.compile(pattern) if pattern else None
        except re.error:
            raise UsageError("the pattern is not a regular expression.") from None
        if self._pattern is not None and self._pattern.groups > 1:
            raise UsageError("the pattern has more than one group.", hint="Put one group around the identity, or none.")
        self._session = session
        self._domain = domain
        self._fields = [tuple(name.split(".")) for name in fields]
        self._known: dict[str, str | None] = {}

    def run(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines with pseudonyms, in parts of :data:`PART`."""
        waiting = iter(lines)
        while part := [line.rstrip("\r\n") for line in islice(waiting, PART)]:
            yield from self.part(part)

    def part(self, lines: list[str]) -> list[str]:
        """Some lines, all of them replaced before any is given back."""
        return self._texts(lines) if self._pattern is not None else self._objects(lines)

    def _objects(self, part: list[str]) -> list[str]:
        bodies = [_parsed(line) for line in part]
        places = [(holder, name) for body in bodies for path in self._fields for holder, name in _places(body, path)]
        self._learn({str(holder[name]) for holder, name in places})
        for holder, name in places:
            holder[name] = self._known[str(holder[name])]
        return [json.dumps(body, ensure_ascii=False, separators=(",", ":")) for body in bodies]

    def _texts(self, part: list[str]) -> list[str]:
        pattern = self._pattern
        assert pattern is not None
        group = pattern.groups
        self._learn({match[group] for line in part for match in pattern.finditer(line) if match[group]})

        def replaced(match: re.Match[str]) -> str:
            if not match[group]:
                return match[0]
            start, end = match.span(group)
            first = match.start()
            return match[0][: start - first] + (self._known[match[group]] or "") + match[0][end - first :]

        return [pattern.sub(replaced, line) for line in part]

    def _learn(self, identities: set[str]) -> None:
        """Ask the vault for the pseudonyms that are not known yet."""
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        fresh = sorted(identities - self._known.keys())
        if fresh:
            made = self._session.pseudonymize(self._domain, fresh, purpose="log")
            self._known.update(zip(fresh, made, strict=True))


def arriving(read: Callable[[int], bytes], size: int = 1 << 20) -> Iterator[list[str]]:
    """Whole lines as they arrive: what is there at once makes a part, so that a live log is not held back."""
    rest = b""
    while block := read(size):
        whole, found, rest = (rest + block).rpartition(b"\n")
        if found:
            yield _decoded(whole)
    if rest:
        yield _decoded(rest)


def _decoded(text: bytes) -> list[str]:
    try:
        return [line.removesuffix("\r") for line in text.decode().split("\n")]
    except UnicodeDecodeError:
        raise DataError("a line is not UTF-8 text: nothing more is passed on.") from None


def _parsed(line: str) -> dict[str, Any]:
    try:
        body = json.loads(line)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise DataError("a line is not a JSON object: nothing more is passed on.", hint="For text use --pattern.")
    return body


def _places(body: Any, path: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], str]]:
    """Where a field stands in an object, also inside lists; one that is missing or null has no place."""
    if isinstance(body, list):
        for item in body:
            yield from _places(item, path)
    elif isinstance(body, dict) and path[0] in body:
        value = body[path[0]]
        if len(path) > 1:
            yield from _places(value, path[1:])
        elif isinstance(value, dict | list | bool):
            raise DataError("a field that should hold an identity holds something else: nothing more is passed on.")
        elif value is not None:
            yield body, path[0]
