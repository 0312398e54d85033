"""Packed text files: gzip and zstd, by their first bytes when read, by the ending of their name when written."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from shoal.errors import UsageError, suggest

Packing = Literal["none", "gzip", "zstd"]
PACKED: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd"}
"""Endings of packed files, behind the ending of the format."""


def packing_of(path: Path) -> Packing:
    """How a file is packed, by its first bytes: its name may say otherwise."""
    with path.open("rb") as file:
        head = file.read(4)
    return "gzip" if head[:2] == b"\x1f\x8b" else "zstd" if head == b"\x28\xb5\x2f\xfd" else "none"


def opened(path: Path) -> Any:
    """The file's bytes, unpacked."""
    packing = packing_of(path)
    if packing == "none":
        return path.open("rb")
    return gzip.GzipFile(path) if packing == "gzip" else pa.input_stream(str(path), compression=packing)


def asked(path: Path) -> Packing:
    """The packing that a name asks for.

    >>> asked(Path("people.csv.gz")), asked(Path("people.csv"))
    ('gzip', 'none')
    """
    return PACKED.get(path.suffix.lower(), "none")


def ending(path: Path) -> str:
    """The ending of the format, in lower case, without that of the packing.

    >>> ending(Path("people.TSV.gz")), ending(Path("people.csv")), ending(Path("people.gz"))
    ('.tsv', '.csv', '')
    """
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


@contextmanager
def packed(path: Path, packing: Packing) -> Iterator[Any]:
    """A sink whose bytes arrive in ``path`` packed; same bytes in, same bytes out."""
    with pa.OSFile(str(path), "wb") as sink:
        if packing == "none":
            yield sink
        else:
            with pa.CompressedOutputStream(sink, packing) as stream:
                yield stream


def require_option(options: dict[str, Any], known: Sequence[str], what: str) -> None:
    """Refuse options that a format does not have."""
    for name in options:
        if name not in known:
            hint = f"Options: {', '.join(known)}. {suggest(name, known)}".strip()
            raise UsageError(f"{what} has no option '{name}'.", hint=hint)
