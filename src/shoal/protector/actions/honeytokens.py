"""Honeytokens: invented people. Whoever asks for one, by whatever pseudonym, raises an alarm.

The invented identity is remembered, not its pseudonym: it is recognised under every role and relation, in every transaction and
after every renewal.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shoal.errors import UsageError
from shoal.protector.pseudonyms.domains import Context
from shoal.protector.pseudonyms.identities import text_column
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import HONEY


def plant(tx: Tx, opened: OpenDomain, identity: str, context: Context, time: float) -> str | None:
    """Remember an invented identity; a pseudonym of it, to be laid out, where one can be made without a role or relation."""
    column, _ = text_column([identity])
    domain = opened.domain
    made: str | None = None
    needs_more = domain.scope not in ("person", "transaction") and context == Context()
    if domain.kind != "self-generated" and not needs_more:
        made = opened.pseudonymize(tx, column, context, time)[0].as_py()
    (known,) = opened.cleaned(column).to_pylist()
    if not known:
        raise UsageError("an invented identity has at least one character.")
    body = tx.get(HONEY, domain.name) or {"identities": []}
    body["identities"] = sorted({*body["identities"], known})
    tx.put(HONEY, domain.name, body)
    return made


def touched(tx: Tx, opened: OpenDomain, identities: Iterable[bytes | None]) -> bool:
    """Whether one of these identities was planted."""
    planted = _planted(tx, opened)
    return bool(planted) and any(i is not None and opened.matched(i) in planted for i in identities)


def touched_by(tx: Tx, opened: OpenDomain, identities: Any) -> bool:
    """The same for a list or an Arrow column of identities as they came in."""
    planted = _planted(tx, opened)
    if not planted:
        return False
    column, _ = text_column(identities)
    return any(
        text is not None and opened.matched(text.encode()) in planted for text in opened.cleaned(column).unique().to_pylist()
    )


def _planted(tx: Tx, opened: OpenDomain) -> set[bytes]:
    body = tx.get(HONEY, opened.domain.name)
    return set() if body is None else {opened.matched(text.encode()) for text in body["identities"]}
