"""What a page sends: fields, and at most one file, which is written to its place as it arrives.

A form with a file (``multipart/form-data``, RFC 7578) is read as a stream: only a boundary's length is held in memory beside the
piece at hand. Everything is bounded.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import parse_qsl

from shoal.errors import UsageError, refuse

MOST_TEXT = 1_000_000
"""Bytes of all fields of a form together, and of one form without a file."""
MOST_FIELDS = 10_000
MOST_HEADER = 8_192
_NAME = re.compile(rb'(?:^|;)\s*name="([^"]*)"', re.I)
_FILE = re.compile(rb'(?:^|;)\s*filename="([^"]*)"', re.I)


class TooLarge(UsageError):
    status = 413


@dataclass
class Sent:
    """Fields by name, and the name of the file that was sent (empty where none was); ``size`` are the file's bytes."""

    fields: dict[str, str] = field(default_factory=dict)
    file: str = ""
    size: int = 0


async def read_fields(stream: AsyncIterator[bytes]) -> dict[str, str]:
    body = bytearray()
    async for piece in stream:
        body += piece
        if len(body) > MOST_TEXT:
            raise TooLarge("the form is too large.", hint="Send less text.")
    with refuse(TooLarge("the form has too many fields.", hint="Send less."), ValueError):
        return dict(parse_qsl(body.decode("utf-8", errors="replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS))


def boundary_of(content_type: str) -> bytes | None:
    """The boundary of a form with parts; None for another kind of form.

    >>> boundary_of('multipart/form-data; boundary="a b"'), boundary_of("text/plain")
    (b'a b', None)
    """
    kind, _, rest = content_type.partition(";")
    if kind.strip().lower() != "multipart/form-data":
        return None
    match = re.search(r'boundary=(?:"([^"]{1,70})"|([^;\s]{1,70}))', rest, re.I)
    if match is None:
        raise UsageError("the form has no boundary.", hint="Send it again.")
    return (match[1] or match[2]).encode("latin-1")


async def read_parts(stream: AsyncIterator[bytes], boundary: bytes, target: Path, limit: int) -> Sent:
    """Fields, and the first file with a name, written to ``target``; a file beyond ``limit`` bytes is refused."""
    sent, reader = Sent(), _Pieces(stream, b"\r\n--" + boundary)
    text = 0
    await reader.skip()  # what stands before the first boundary
    while not await reader.ended():
        name, file = _name_of(await reader.header())
        if file is not None and file and not sent.file:
            sent.file = file
            with target.open("wb") as out:
                sent.size = await _copy(reader.part(), out, limit)
            continue
        body = bytearray()
        async for piece in reader.part():
            text += len(piece)
            if text > MOST_TEXT:
                raise TooLarge("the form is too large.", hint="Send less text.")
            body += piece
        if file is None:
            sent.fields[name] = body.decode("utf-8", errors="replace")
    return sent


async def write_body(stream: AsyncIterator[bytes], target: Path, limit: int) -> int:
    """A body that is the file itself; its size."""
    with target.open("wb") as out:
        return await _copy(stream, out, limit)


async def _copy(pieces: AsyncIterator[bytes], out: IO[bytes], limit: int) -> int:
    size = 0
    async for piece in pieces:
        size += len(piece)
        if size > limit:
            raise TooLarge(
                f"Found: a file of more than {limit / 1e9:.3g} GB, the most that this studio takes.",
                hint="Start the studio with a larger --limit, or choose a smaller file.",
            )
        out.write(piece)
    return size


def _name_of(header: bytes) -> tuple[str, str | None]:
    """The name of a part and, where it is a file, the file's name."""
    disposition = next((line for line in header.split(b"\r\n") if line.lower().startswith(b"content-disposition:")), b"")
    name, file = _NAME.search(disposition), _FILE.search(disposition)
    text = "" if name is None else name[1].decode("utf-8", errors="replace")
    return text, None if file is None else file[1].decode("utf-8", errors="replace")


class _Pieces:
    """A stream cut at a boundary."""

    def __init__(self, stream: AsyncIterator[bytes], cut: bytes) -> None:
        self._stream = stream
        self._cut = cut
        self._held = b"\r\n"  # so that a boundary at the very start is one
        self._over = False

    async def _more(self) -> None:
        piece = await anext(self._stream, None)
        if piece is None:
            raise UsageError("the form ends in the middle.", hint="Send it again.")
        self._held += piece

    async def part(self) -> AsyncIterator[bytes]:
        """What stands before the next boundary, in pieces."""
        while (at := self._held.find(self._cut)) < 0:
            keep = len(self._cut) - 1
            if len(self._held) > keep:
                yield self._held[:-keep]
                self._held = self._held[-keep:]
            await self._more()
        if at:
            yield self._held[:at]
        self._held = self._held[at + len(self._cut) :]

    async def skip(self) -> None:
        async for _ in self.part():
            pass

    async def ended(self) -> bool:
        """After a boundary: whether it was the last."""
        while len(self._held) < 2:
            await self._more()
        end, self._held = self._held[:2], self._held[2:]
        if end not in (b"--", b"\r\n"):
            raise UsageError("the form cannot be read.", hint="Send it again.")
        return end == b"--"

    async def header(self) -> bytes:
        while (at := self._held.find(b"\r\n\r\n")) < 0:
            if len(self._held) > MOST_HEADER:
                raise UsageError("the form cannot be read.", hint="Send it again.")
            await self._more()
        head, self._held = self._held[:at], self._held[at + 4 :]
        return head
