"""Where an SQLite file is."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import UnreadableError, UsageError

SCHEME = "sqlite://"


def file_of(source: str) -> Path:
    """The file of a path or of ``sqlite:///FILE``: absolute, or as other tools have it beside the working folder."""
    if not source.lower().startswith(SCHEME):
        return Path(source)
    place = source[len(SCHEME) :]
    if not place.strip("/"):
        raise UsageError("the source names no SQLite file.", hint="Write sqlite:///FILE::table.")
    found = [p for p in dict.fromkeys([Path(place.replace("//", "/", 1)), Path(place.lstrip("/"))]) if p.is_file()]
    if place.startswith("//"):
        found = found[:1]
    if len(found) > 1 and not found[0].samefile(found[1]):
        raise UsageError(
            f"'{place}' is there twice: from the root, and in this folder.", hint="Write sqlite:////FILE (from the root)."
        )
    if not found:
        raise UnreadableError(f"file '{place}' does not exist.", hint="Check the path.")
    return found[0]
