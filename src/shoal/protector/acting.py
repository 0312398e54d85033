"""The frame of everything a person does: checked against the roles, counted, logged and committed as one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, UsageError
from shoal.protector.people import actors, limits
from shoal.protector.people.actors import Who
from shoal.protector.store.storage import Tx

if TYPE_CHECKING:
    from shoal.protector.pseudonyms.minting import OpenDomain
    from shoal.protector.vault import Vault


class Acting:
    """The frame of every action: who, when, in which transaction; refusals are logged and go on."""

    def __init__(self, vault: Vault, digest: str, who: Who) -> None:
        self.vault = vault
        self.name = who.name
        self._digest = digest

    @contextlib.contextmanager
    def _acting(self, action: str, domain: str | None = None, **details: Any) -> Iterator[tuple[Tx, float]]:
        with self.vault.refusals_logged(self.name, action, domain=domain, **details), self.vault.store.write() as tx:
            now = tx.now(self.vault.clock)
            self._require(tx, now, action, domain)
            yield tx, now

    @contextlib.contextmanager
    def _reading(self, action: str) -> Iterator[tuple[Tx, float]]:
        with self.vault.refusals_logged(self.name, action), self.vault.store.read() as tx:
            now = tx.now(self.vault.clock)
            self._require(tx, now, action)
            yield tx, now

    def _require(self, tx: Tx, now: float, action: str, domain: str | None = None) -> Who:
        who = actors.who(tx, self._digest, now)
        who.require(action, domain)
        return who

    def _log(self, tx: Tx, now: float, action: str, **details: Any) -> None:
        self.vault.record(tx, now, self.name, action, **details)

    def _count(self, tx: Tx, now: float, action: str, purpose: str, records: int, **details: Any) -> None:
        if limits.count(tx, self.name, action, purpose, records, now):
            self._log(tx, now, action, outcome="alarm", reason="bulk", purpose=purpose, count=records, **details)

    def _domain(self, tx: Tx, name: str) -> OpenDomain:
        return self.vault.opened(tx, self.vault.domain(tx, name))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def text_column(values: Any) -> tuple[Any, bool]:
    """An Arrow text column, and whether a list came in. Numbers become their text."""
    import pyarrow as pa

    as_list = isinstance(values, list | tuple)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if as_list and any(v is not None and not isinstance(v, str) for v in values):
        raise UsageError("identities are text; found another type.", hint="Turn numbers into text yourself: 12 and 012 differ.")
    try:
        wanted = pa.string() if as_list else None
        column = values if isinstance(values, pa.Array) else pa.array(values, wanted, from_pandas=True)
    except (pa.ArrowException, UnicodeEncodeError):
        raise DataError("identities cannot be read as text.", hint="Give valid Unicode texts.") from None
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    if not pa.types.is_string(column.type):
        raise UsageError(f"identities are text or whole numbers; found a column of type {column.type}.")
    return column, as_list
