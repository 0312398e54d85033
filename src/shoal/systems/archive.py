"""Files of other systems that are zip archives of XML and CSV: read with limits, without entities, nothing unpacked."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from shoal.errors import UnreadableError

MOST = 1 << 30
"""Bytes of one unpacked file; more is refused, since a small archive can unfold without end."""


class Archive:
    """The files of an archive by their names."""

    def __init__(self, zipped: zipfile.ZipFile) -> None:
        self._zipped = zipped
        self.names = zipped.namelist()

    def read(self, name: str) -> bytes:
        """The content of one file."""
        try:
            with self._zipped.open(name) as file:
                raw = file.read(MOST + 1)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, zlib.error):  # broken, or with a password
            raise UnreadableError("a file of the archive cannot be read.", hint="Export it again, without a password.") from None
        if len(raw) > MOST:
            raise UnreadableError("a file of the archive is larger than 1 GiB.", hint="Export the data as CSV.")
        return raw

    def only(self, ending: str, what: str) -> bytes:
        """The content of the one file whose name ends so."""
        found = [n for n in self.names if n.lower().endswith(ending)]
        if len(found) != 1:
            raise UnreadableError(f"the archive holds {len(found)} files that could be {what}.", hint="Export it again.")
        return self.read(found[0])


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """A zip archive; anything else is refused with a reason."""
    try:
        zipped = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError):
        raise UnreadableError(f"'{path.name}' is not there, or no archive.", hint="Check the path, or export it again.") from None
    with zipped:
        yield Archive(zipped)


def tree(raw: bytes, what: str) -> ElementTree.Element:
    """XML without a document type: one can be made to unfold without end."""
    if b"<!DOCTYPE" in raw or b"<!ENTITY" in raw or b"\x00" in raw[:200]:
        raise UnreadableError(f"the XML of {what} declares types of its own.", hint="Export it again.")
    try:
        return ElementTree.fromstring(raw)  # noqa: S314  declared types and entities are refused above
    except ElementTree.ParseError:
        raise UnreadableError(f"{what} is not readable XML.", hint="Export it again.") from None
