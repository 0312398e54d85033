"""What was brought in: tables with their rows, what stayed behind, and the policy that releases them together."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import UnreadableError

HEAD = """# A draft made by 'shoal import'. Read every line: a role is your decision, not the system's.
# Then: shoal anonymize --policy policy.yml --out release
"""


@dataclass(frozen=True)
class Brought:
    """Rows of each table, and what was left behind: kinds of resources, or columns, with their number."""

    tables: Mapping[str, int]
    left: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"tables": dict(self.tables), "left": dict(self.left)}


@dataclass(frozen=True)
class Roles:
    """Of one table: the column that names the person, and what others may know and must not learn. The rest is left out."""

    key: str
    quasi: Sequence[str]
    sensitive: Sequence[str]

    def among(self, columns: Sequence[str]) -> Roles:
        """The same for a table that has only these columns. Where none that others may know is left, they may know the rest."""
        quasi, sensitive = ([c for c in named if c in columns] for named in (self.quasi, self.sensitive))
        return Roles(self.key, quasi, sensitive) if quasi else Roles(self.key, sensitive, [])


def draft(person: str, tables: Mapping[str, tuple[str, Roles]], k: int) -> str:
    """YAML of a policy for several tables: name → (file, roles); ``person`` is the one with a row for each person."""
    lines = [HEAD + "tables:"]
    for name, (file, roles) in tables.items():
        parts = [f"quasi: [{', '.join(roles.quasi)}]"] if roles.quasi else []
        parts += [f"sensitive: [{', '.join(roles.sensitive)}]"] if roles.sensitive else []
        lines.append(f"  {name}: {{table: {file}, roles: {{{', '.join([*parts, 'rest: drop'])}}}}}")
    lines.append("links:   # which column of which table holds the key of which person")
    lines += [f"  {name}.{roles.key}: {person}.{tables[person][1].key}" for name, (_, roles) in tables.items() if name != person]
    lines.append(f"require: {{k: {k}, known: 2}}   # anyone who knows the person and two of the rows still finds {k} people")
    lines.append("allow: {suppress: 0.05, orphans: drop}")
    return "\n".join(lines) + "\n"


MOST = 1 << 30
"""Bytes of one unpacked file; more is refused, since a small archive can unfold without end."""


class Archive:
    """The files of an archive by their names."""

    def __init__(self, zipped: zipfile.ZipFile) -> None:
        self._zipped = zipped
        self.names = zipped.namelist()

    def read(self, name: str) -> bytes:
        try:
            with self._zipped.open(name) as file:
                raw = file.read(MOST + 1)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, zlib.error):  # broken, or with a password
            raise UnreadableError("a file of the archive cannot be read.", hint="Export it again, without a password.") from None
        if len(raw) > MOST:
            raise UnreadableError("a file of the archive is larger than 1 GiB.", hint="Export the data as CSV.")
        return raw

    def only(self, ending: str, what: str) -> bytes:
        names = [n for n in self.names if n.lower().endswith(ending)]
        if len(names) != 1:
            raise UnreadableError(f"the archive holds {len(names)} files that could be {what}.", hint="Export it again.")
        return self.read(names[0])


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """A zip archive; anything else is refused with a reason."""
    try:
        zipped = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError):
        raise UnreadableError(f"'{path.name}' is not there, or no archive.", hint="Check the path, or export it again.") from None
    with zipped:
        yield Archive(zipped)
