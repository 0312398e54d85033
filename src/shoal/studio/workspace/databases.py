"""Databases that an admin has named: their addresses stand in a private file of the studio's folder, never in a page.

::

    # databases.toml, readable by its owner only
    clinic = "postgresql://reader@db.example.org/clinic"     # password: PGPASSWORD, .pgpass, or in the address
    survey = "duckdb:///srv/survey.duckdb"
"""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

from shoal.errors import DataError, UsageError

FILE = "databases.toml"
KINDS = ("postgresql://", "mysql://", "mariadb://", "duckdb://", "sqlite://")
LONGEST = 200


class Databases:
    """The named databases of a studio's folder; read at every look, so that a change needs no restart."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE

    def names(self) -> list[str]:
        """What people choose from."""
        return sorted(self._read())

    def source(self, name: str, table: str) -> str:
        """Where a table of a named database is opened; holds the password where the address does: never to be shown."""
        address = self._read().get(name)
        if address is None:
            raise UsageError("no database has this name.", hint="Choose one of those shown.")
        named = table.strip()
        odd = "::" in named or "?" in named or len(named) > LONGEST or not named.isprintable()
        if not named or odd:
            raise UsageError("this is not the name of a table.", hint="Write it as TABLE or SCHEMA.TABLE.")
        return f"{address}::{named}"

    def _read(self) -> dict[str, str]:
        if not self._file.is_file():
            return {}
        if stat.S_IMODE(self._file.stat().st_mode) & 0o077:
            raise DataError(f"others on this computer can read {FILE}.", hint=f"Make it private: chmod 600 {FILE}")
        try:
            found = tomllib.loads(self._file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            raise DataError(f"{FILE} cannot be read.", hint='Write lines of the form NAME = "ADDRESS".') from None
        wrong = [name for name, said in found.items() if not isinstance(said, str) or not said.startswith(KINDS) or "::" in said]
        if wrong:
            raise DataError(
                f"{len(wrong)} of the databases in {FILE} have no address that is known.",
                hint=f"Addresses begin with {', '.join(KINDS)} and name no table.",
            )
        return found
