"""Pseudonymous logs of other systems: lines in, the same lines with pseudonyms in place of identities out.

Lines are JSON objects whose named fields hold identities (also inside other objects, ``user.id``), or text in which a pattern
finds them. They are handled in parts; nothing of a part is passed on before all its identities are replaced, and a line that
does not fit ends the run: what cannot be made safe does not leave.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, UsageError, refuse

if TYPE_CHECKING:
    from shoal.protector.session import Session

PART = 10_000
"""Lines handled at once."""

MOST_KNOWN = 1_000_000
KEPT_SECONDS = 60.0
"""How long a pseudonym is used without asking again."""


_DECODER = json.JSONDecoder()


class LogFilter:
    """Replaces identities in lines by pseudonyms of a domain; one pseudonym per identity is asked for once a minute.

    Where every record has a pseudonym of its own (transactions, renewal by use), each is asked for.
    """

    def __init__(self, session: Session, domain: str, *, fields: Sequence[str] = (), pattern: str = "") -> None:
        if bool(fields) == bool(pattern):
            raise UsageError("say where identities are: fields of JSON lines, or a pattern in text.")
        with refuse(UsageError("the pattern is not a regular expression."), re.error):
            self._pattern = re.compile(pattern) if pattern else None
        if self._pattern is not None and self._pattern.groups > 1:
            raise UsageError("the pattern has more than one group.", hint="Put one group around the identity, or none.")
        self._session = session
        self._domain = domain
        self._fields = [tuple(name.split(".")) for name in fields]
        last = "|".join(re.escape(path[-1]) for path in self._fields)  # fields with a text or a whole number
        self._tokens = re.compile(rf'("(?:{last})"\s*:\s*)(?:"([^"]*)"|(0|[1-9][0-9]*)(?=\s*[,}}]))')
        known = next((d for d in session.domains() if d.name == domain), None)
        self._each = known is not None and (known.scope == "transaction" or bool(known.renewal.uses))
        self._known: dict[str, str | None] = {}
        self._written: dict[str, str] = {}
        self._until = 0.0

    def run(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines with pseudonyms, in parts of :data:`PART`."""
        waiting = iter(lines)
        while part := [line.rstrip("\r\n") for line in islice(waiting, PART)]:
            yield from self.part(part)

    def part(self, lines: list[str]) -> list[str]:
        """Some lines, all of them replaced before any is given back."""
        return self._texts(lines) if self._pattern is not None else self._objects(lines)

    def _objects(self, part: list[str]) -> list[str]:
        objects = [self._identities(_parse_line(line)) for line in part]
        pseudonyms = self._made([identity for identities in objects for identity in identities])
        if self._each:
            return [self._encoded(line, pseudonyms) for line in part]
        lines = [self._spliced(line, len(identities)) for line, identities in zip(part, objects, strict=True)]
        return [self._encoded(line) if text is None else text for line, text in zip(part, lines, strict=True)]

    def _identities(self, body: dict[str, Any]) -> list[str]:
        out: list[str] = []
        for path in self._fields:
            value = body.get(path[0]) if len(path) == 1 else None
            if type(value) is str:
                out.append(value)
            else:
                out.extend(str(holder[name]) for holder, name in _places(body, path))
        return out

    def _spliced(self, line: str, count: int) -> str | None:
        """The line with nothing changed but its identities; None where the text alone does not show them without doubt.

        Without a backslash every quotation mark begins or ends a string, so a quoted name before a colon is a field: as many of
        them as identities were found in the object are those.
        """
        if "\\" in line:
            return None
        text, times = self._tokens.subn(self._swapped, line)
        return text if times == count else None

    def _swapped(self, match: re.Match[str]) -> str:
        start, text, number = match.groups()
        return str(start) + self._written.get(number if text is None else text, "null")

    def _encoded(self, line: str, made: Iterator[str | None] | None = None) -> str:
        """The line with pseudonyms in place of identities."""
        body = _parse_line(line)
        for holder, name in [place for path in self._fields for place in _places(body, path)]:
            holder[name] = self._known[str(holder[name])] if made is None else next(made)
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"))

    def _texts(self, part: list[str]) -> list[str]:
        pattern = self._pattern
        assert pattern is not None
        group = pattern.groups
        pseudonyms = self._made([match[group] for line in part for match in pattern.finditer(line) if match[group]])

        def replaced(match: re.Match[str]) -> str:
            if not match[group]:
                return match[0]
            start, end = match.span(group)
            first = match.start()
            new = next(pseudonyms) if self._each else self._known[match[group]]
            return match[0][: start - first] + (new or "") + match[0][end - first :]

        return [pattern.sub(replaced, line) for line in part]

    def _made(self, identities: list[str]) -> Iterator[str | None]:
        """Ask the vault for pseudonyms: one for each where they do not last, else for those that are not known yet."""
        if self._each:
            return iter(self._session.pseudonymize(self._domain, identities, purpose="log") if identities else [])
        now = time.monotonic()
        if now >= self._until or len(self._known) > MOST_KNOWN:  # periods end, and people are merged or forgotten
            self._known.clear()
            self._written.clear()
            self._until = now + KEPT_SECONDS
        fresh = sorted(set(identities) - self._known.keys())
        if fresh:
            pseudonyms = self._session.pseudonymize(self._domain, fresh, purpose="log")
            self._known.update(zip(fresh, pseudonyms, strict=True))
            self._written.update((one, json.dumps(new, ensure_ascii=False)) for one, new in zip(fresh, pseudonyms, strict=True))
        return iter(())


def arriving(read: Callable[[int], bytes], size: int = 1 << 20) -> Iterator[list[str]]:
    """Whole lines as they arrive: what is there at once makes a part, so that a live log is not held back."""
    rest = b""
    while block := read(size):
        whole, end, rest = (rest + block).rpartition(b"\n")
        if end:
            yield _decode_lines(whole)
    if rest:
        yield _decode_lines(rest)


def encoded(lines: Iterable[str]) -> bytes:
    """Lines as they are passed on; texts that are none (lone surrogates) end the run."""
    with refuse(DataError("a line is not valid Unicode text: nothing more is passed on."), UnicodeEncodeError):
        return "".join([line + "\n" for line in lines]).encode()


def _decode_lines(text: bytes) -> list[str]:
    with refuse(DataError("a line is not UTF-8 text: nothing more is passed on."), UnicodeDecodeError):
        return [line.removesuffix("\r") for line in text.decode().split("\n")]


def _parse_line(line: str) -> dict[str, Any]:
    try:
        body, end = _DECODER.raw_decode(line)
        if end != len(line):
            body = json.loads(line)
    except (ValueError, RecursionError):
        try:
            body = json.loads(line)  # blanks before it
        except (ValueError, RecursionError):
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
