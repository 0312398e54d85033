"""Identities that turned out to be one person: while they are merged, one stands for the other in everything a domain does.

Records stay as they are, so a merge can be taken back: pseudonyms made from a merged identity lead to the identity that stands
for it, and to their own again after the split. What is merged lies sealed under the domain's key and ends with it.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from shoal.errors import UsageError
from shoal.protector.crypto.primitives import Box
from shoal.protector.pseudonyms.domains import Domain
from shoal.protector.store.database import Tx
from shoal.protector.store.state import MERGES


class Keeping(Protocol):
    """What is needed of an open domain: its settings, the box for its merges, and how it compares identities."""

    domain: Domain
    merge_box: Box

    def matched(self, identity: bytes) -> bytes: ...


Merges = dict[bytes, bytes]
"""Identity (as it is compared) to the one that stands for it (as it is kept), one step each."""


def read(tx: Tx, opened: Keeping) -> Merges:
    """The merges of a domain."""
    body = tx.get(MERGES, opened.domain.id)
    if body is None:
        return {}
    pairs = json.loads(opened.merge_box.open(bytes.fromhex(body["sealed"]), _BOUND, what="list of merged identities"))
    return {one.encode(): other.encode() for one, other in pairs}


def write(tx: Tx, opened: Keeping, merges: Merges) -> bytes | None:
    """Keep the merges of a domain; what was stored before, to be scrubbed where somebody is forgotten."""
    before = tx.remove(MERGES, opened.domain.id)
    if merges:
        pairs = [[one.decode(), other.decode()] for one, other in sorted(merges.items())]
        sealed = opened.merge_box.seal(json.dumps(pairs, separators=(",", ":")).encode(), _BOUND)
        tx.put(MERGES, opened.domain.id, {"sealed": sealed.hex()})
    return before


_BOUND = b"merged identities"


def merge(tx: Tx, opened: Keeping, identity: bytes, into: bytes) -> None:
    """From now on ``into`` stands for ``identity``."""
    known = read(tx, opened)
    one = opened.matched(identity)
    if one in known:
        raise UsageError("this identity is merged already.", hint="Split it first.")
    if opened.matched(standing(opened, known, into)) == one:
        raise UsageError("the two identities are one already.")
    write(tx, opened, {**known, one: into})


def split(tx: Tx, opened: Keeping, identity: bytes) -> bytes:
    """Take a merge back; the identity that stood for this one."""
    known = read(tx, opened)
    into = known.pop(opened.matched(identity), None)
    if into is None:
        raise UsageError("this identity is not merged into another one.", hint="Only a merge can be split.")
    write(tx, opened, known)
    return into


def standing(opened: Keeping, merges: Merges, identity: bytes) -> bytes:
    """The identity that stands for this one: itself, unless it is merged (the steps cannot run in a circle)."""
    while (into := merges.get(opened.matched(identity))) is not None:
        identity = into
    return identity


def person(opened: Keeping, merges: Merges, identity: bytes) -> set[bytes]:
    """Every identity (as it is compared) of the person: the one that stands, and all that were merged into it."""
    whole = opened.matched(standing(opened, merges, identity))
    return {whole, *(one for one in merges if opened.matched(standing(opened, merges, one)) == whole)}


def replaced(tx: Tx, opened: Keeping, column: Any) -> Any:
    """An Arrow column of cleaned identities, each by the one that stands for it."""
    import pyarrow as pa

    known = read(tx, opened)
    if not known:
        return column
    coded = column.dictionary_encode()
    texts = [standing(opened, known, text.encode()).decode() for text in coded.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(coded.indices, pa.array(texts, pa.string())).cast(pa.string())
