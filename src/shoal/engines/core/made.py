"""New tables in a database: the one that was made last is known, so that it can be dropped when what it was made for fails."""

from __future__ import annotations

from contextlib import suppress

from shoal.errors import ShoalError


class MakesTables:
    """What an engine remembers of the table that it made."""

    made: str | None = None
    """The table that was made last, as its dialect spells it; None where there is none, or where it shall stay."""

    def unmake(self) -> None:
        """Drop the table that was made last."""
        made, self.made = self.made, None
        if made is not None:
            with suppress(ShoalError):  # gone already, with its transaction or its connection
                self.send(f"DROP TABLE {made}")

    def send(self, sql: str) -> None:
        """A statement without answer."""
        raise NotImplementedError
