"""From a column of identities to a column of pseudonyms, and from pseudonyms back to identities, for every kind."""

from __future__ import annotations

import contextlib
import gc
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import AccessError, DataError, UsageError
from shoal.protector.crypto import base32, ciphers
from shoal.protector.crypto import primitives as crypto
from shoal.protector.crypto.ciphers import FormatPreserving, Keyed, Reversible
from shoal.protector.crypto.primitives import Opaque, Secret
from shoal.protector.pseudonyms import identities, merges, references
from shoal.protector.pseudonyms.domains import REVERSIBLE, Context, Domain, day
from shoal.protector.pseudonyms.identities import encoded, text_column
from shoal.protector.store.database import Tx
from shoal.protector.store.entries import pairs
from shoal.protector.store.pages import DomainKeys, RowKeys

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


class OpenDomain(Opaque):
    """A domain with its living keys, ready to make and read pseudonyms."""

    def __init__(self, domain: Domain, base: Secret, versions: dict[int, Secret]) -> None:
        self.domain = domain
        self.living = sorted(versions)
        self._bound = bytes.fromhex(domain.id)
        tokens = crypto.Blocks(crypto.derive(base, "slots"))
        self.keys = DomainKeys(domain.number, {v: RowKeys(v, s) for v, s in versions.items()}, domain.active, tokens)
        self.subjects = crypto.Prf(crypto.derive(base, "audit subjects"))
        self.subject_box = crypto.Box(crypto.derive(base, "audit subject names"))
        self.holder_box = crypto.Box(crypto.derive(base, "self-generated"))
        self.merge_box = crypto.Box(crypto.derive(base, "merges"))
        self._ciphers: dict[int, Any] = {v: self._cipher(s, v) for v, s in versions.items()}

    def _cipher(self, secret: Secret, version: int) -> Any:
        if self.domain.kind == "keyed":
            return Keyed(secret)
        bound = self._bound + bytes([version])
        if self.domain.kind == "reversible":
            return Reversible(secret, bound)
        if self.domain.kind == "format-preserving":
            return FormatPreserving(secret, self.domain.alphabet, self.domain.keep, self._bound)
        return None

    def subject(self, identity: bytes) -> str:
        """The audit pseudonym of a data subject: one, however the identity is composed where the domain does not care."""
        return "S-" + base32.encode(self.subjects.digest(self.matched(identity))[:10])

    def matched(self, identity: bytes) -> bytes:
        """The identity as it is compared."""
        return identity if self.domain.matching == "exact" else unicodedata.normalize("NFC", identity.decode()).encode()

    def cleaned(self, column: pa.Array) -> pa.Array:
        """An Arrow column of identities by the domain's rules of cleaning."""
        return identities.cleaned(column, self.domain.clean)

    def plain(self, identity: str) -> bytes:
        """One identity as it is kept: cleaned by the domain's rules, as UTF-8."""
        (text,) = self.cleaned(text_column([identity])[0]).to_pylist()
        return encoded([text or ""])[0]

    def frame(self, context: Context, time: float) -> bytes:
        return context.frame(self.domain, self.domain.renewal.epoch(day(time)))

    def pseudonymize(self, tx: Tx, column: pa.Array, context: Context, time: float, *, check: bool = True) -> pa.Array:
        """An Arrow text column of pseudonyms for one of identities; missing stays missing.

        Without ``check``, identities need no check digit: only those that the vault invents.
        """
        if self.domain.kind == "self-generated":
            hint = "Register them with `shoal vault register`; nothing can be pseudonymised into it."
            raise UsageError(f"domain '{self.domain.name}' takes the pseudonyms that people made themselves.", hint=hint)
        column = merges.replaced(tx, self, self.cleaned(column))
        if self.domain.check and check:
            identities.check(column.unique().drop_null().to_pylist(), self.domain.check)
        with _without_collector(len(column)):
            return self._pseudonymize(tx, column, self.frame(context, time))

    def _pseudonymize(self, tx: Tx, column: pa.Array, frame: bytes) -> pa.Array:
        import pyarrow as pa

        if self.domain.scope == "transaction":
            return self._each(tx, column, frame)
        if self.domain.renewal.uses:
            return self._renewing(tx, column, frame, self.domain.renewal.uses)
        coded = column.dictionary_encode()
        distinct = self._distinct(tx, coded.dictionary, frame)
        return pa.DictionaryArray.from_arrays(coded.indices, distinct).cast(pa.string())

    def find(self, tx: Tx, identities: Sequence[str], context: Context, time: float) -> list[str | None]:
        """The pseudonym each identity has now, or None; nothing is made, and both answers take the same work."""
        if self.domain.kind != "random" or self.domain.scope == "transaction" or self.domain.renewal.uses:
            what = f"looking up without making needs kind 'random' with lasting pseudonyms; domain '{self.domain.name}' differs."
            raise UsageError(what, hint="Pseudonymise the identity instead.")
        frame = self.frame(context, time)
        column = merges.replaced(tx, self, self.cleaned(text_column(list(identities))[0]))
        identities = [text or "" for text in column.to_pylist()]
        references_found = references.find(tx, self.keys, frame, [self.matched(plain) for plain in encoded(identities)])
        tokens = references.tokens(self.keys, pairs(b"".join([block for block, _ in references_found]))).tobytes()
        texts = [self.spelled(tokens[16 * i : 16 * i + 16]) for i in range(len(references_found))]
        return [text if there else None for text, (_, there) in zip(texts, references_found, strict=True)]

    def resolve(
        self, tx: Tx, pseudonyms: Sequence[str], *, version: int | None = None, context: Context | None = None, time: float = 0.0
    ) -> list[bytes | None]:
        """The identity behind each pseudonym (the one that stands for it, where it was merged); None for one never made."""
        identities = self._resolved(tx, pseudonyms, version=version, context=context, time=time)
        known = merges.read(tx, self)
        stood = [merges.standing(self, known, STAND_IN if identity is None else identity) for identity in identities]
        return [None if identity is None else one for identity, one in zip(identities, stood, strict=True)]

    def _resolved(
        self, tx: Tx, pseudonyms: Sequence[str], *, version: int | None, context: Context | None, time: float
    ) -> list[bytes | None]:
        kind = self.domain.kind
        if kind not in REVERSIBLE:
            what = f"pseudonyms of domain '{self.domain.name}' are one-way: nobody can reveal or translate them."
            hint = "Where a way back is needed, make a domain of kind 'random' or 'reversible' before pseudonymising."
            raise AccessError(what, hint=hint)
        if kind == "format-preserving":
            chosen = ciphers.require_version(version, self.living)
            frame = self.frame(context or Context(), time)
            texts = (self._ciphers[chosen].decode(frame, p) for p in pseudonyms)
            return [None if t is None else t.encode() for t in texts]
        raw = [self._raw(p) for p in pseudonyms]
        if kind == "reversible":
            return [self._reversed(r) for r in raw]
        return references.resolve(tx, self.keys, raw)

    def canonical(self, pseudonym: str) -> str:
        """The one spelling of a pseudonym (letters that are easily confused are read alike: O as 0, I and L as 1)."""
        raw = None if self.domain.kind in ("format-preserving", "self-generated") else self._raw(pseudonym)
        return pseudonym if raw is None or len(raw) < 16 else self.spelled(raw)

    def has_form(self, pseudonym: str) -> bool:
        """Whether a text looks like a pseudonym of this domain (whether it is one takes a request)."""
        if self.domain.kind in ("format-preserving", "self-generated"):
            return True
        raw = self._raw(pseudonym)
        return raw is not None and (len(raw) == 16 or (self.domain.kind == "reversible" and len(raw) > 16))

    def _raw(self, pseudonym: str) -> bytes | None:
        prefix = self.domain.prefix
        if pseudonym[: len(prefix)].upper() != prefix.upper():
            return None
        letters: str | None = pseudonym[len(prefix) :]
        if self.domain.check_characters:
            letters = base32.without_check(pseudonym[len(prefix) :])
        return None if letters is None else base32.decode(letters)

    def spelled(self, token: bytes) -> str:
        """The text of a pseudonym."""
        letters = base32.encode(token)
        return self.domain.prefix + (base32.with_check(letters) if self.domain.check_characters else letters)

    def mistyped(self, pseudonym: str) -> bool:
        """Whether a text has the prefix of this domain and check characters that do not fit."""
        prefix = self.domain.prefix
        ours = pseudonym[: len(prefix)].upper() == prefix.upper()
        return self.domain.check_characters and ours and base32.without_check(pseudonym[len(prefix) :]) is None

    def _reversed(self, raw: bytes | None) -> bytes | None:
        identity = None
        for version in self.living:
            part = self._ciphers[version].decode(raw or b"")
            identity = identity or part
        return None if identity is None else identity[1]

    def _distinct(self, tx: Tx, values: pa.Array, frame: bytes) -> pa.Array:
        """Pseudonyms of different identities, as an Arrow column."""
        import pyarrow as pa

        texts = values.to_pylist()
        if self.domain.kind == "format-preserving":
            encoded(texts)
            return pa.array(self._ciphers[self.domain.active].encode(frame, texts), pa.string())
        plain = encoded(texts)
        matched = plain if self.domain.matching == "exact" else [self.matched(p) for p in plain]
        if self.domain.kind == "keyed":
            return self._texts(self._ciphers[self.domain.active].encode(frame, matched))
        if self.domain.kind == "reversible":
            return self._varied(self._ciphers[self.domain.active].encode(frame, matched))
        if self.domain.matching != "exact":
            return self._merged(tx, frame, plain, matched)
        return self._texts(references.tokens(self.keys, references.mint(tx, self.keys, frame, plain, matched)))

    def _merged(self, tx: Tx, frame: bytes, plain: list[bytes], matched: list[bytes]) -> Any:
        """Identities that are compared composed: several texts may be one person."""
        first: dict[bytes, int] = {}
        for i, m in enumerate(matched):
            first.setdefault(m, i)
        chosen = list(first.values())
        blocks = references.mint(tx, self.keys, frame, [plain[i] for i in chosen], [matched[i] for i in chosen])
        place = {m: j for j, m in enumerate(first)}
        return self._texts(references.tokens(self.keys, blocks[[place[m] for m in matched]]))

    def _each(self, tx: Tx, column: pa.Array, frame: bytes) -> pa.Array:
        """A new pseudonym for every record (transaction pseudonyms)."""
        present = column.drop_null()
        plain = encoded(present.to_pylist())
        if self.domain.kind == "reversible":
            pseudonyms = self._varied(self._ciphers[self.domain.active].encode_once(frame, plain))
        elif self.domain.kind == "keyed":
            frames = references.transaction_frames(frame, len(plain))
            cipher = self._ciphers[self.domain.active]
            pseudonyms = self._texts(
                np.concatenate([cipher.encode(f, [p]) for f, p in zip(frames, plain, strict=True)]) if plain else _NONE
            )
        else:
            frames = references.transaction_frames(frame, len(plain))
            pseudonyms = self._texts(references.tokens(self.keys, references.mint(tx, self.keys, frames, plain, plain)))
        return _spread(column, pseudonyms)

    def _renewing(self, tx: Tx, column: pa.Array, frame: bytes, uses: int) -> pa.Array:
        """A pseudonym covers at most ``uses`` records of a person; then the person gets the next one."""
        texts = column.drop_null().to_pylist()
        people = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        plain = encoded(list(people))
        matched = [self.matched(p) for p in plain]
        if len(set(matched)) != len(matched):
            raise DataError("identities that compose to the same text cannot be renewed by use in one call.")
        blocks = references.mint(tx, self.keys, frame, plain, matched)
        used = references.uses(tx, self.keys, blocks).tolist()
        wanted: dict[tuple[int, int], int] = {}
        order = []
        for text in texts:
            i = people[text]
            pair = (i, used[i] // uses)
            used[i] += 1
            order.append(wanted.setdefault(pair, len(wanted)))
        if used:
            references.set_uses(tx, self.keys, blocks, used)
        frames = [references.renewed_frame(frame, g) for _, g in wanted]
        minted = references.mint(tx, self.keys, frames, [plain[i] for i, _ in wanted], [matched[i] for i, _ in wanted])
        own_texts = self._texts(references.tokens(self.keys, minted))
        return _spread(column, own_texts.take(order) if order else own_texts)

    def _texts(self, tokens: NDArray[np.uint8]) -> pa.Array:
        """Fixed-width tokens as an Arrow text column, without a Python loop."""
        import pyarrow as pa

        if len(tokens) == 0:
            return pa.array([], pa.string())
        letters = base32.encode_rows(tokens)
        if self.domain.check_characters:
            letters = base32.append_check(letters)
        head = np.frombuffer(self.domain.prefix.encode(), dtype=np.uint8)
        chars = np.concatenate([np.broadcast_to(head, (len(letters), len(head))), letters], axis=1)
        offsets = (np.arange(len(chars) + 1, dtype=np.int64) * chars.shape[1]).astype(np.int64)
        data = pa.py_buffer(np.ascontiguousarray(chars))
        wide = pa.Array.from_buffers(pa.large_string(), len(chars), [None, pa.py_buffer(offsets), data])
        return wide.cast(pa.string())

    def _varied(self, tokens: list[bytes]) -> pa.Array:
        """Tokens of different lengths: encoded length by length."""
        import pyarrow as pa

        lengths = np.fromiter((len(t) for t in tokens), dtype=np.int64, count=len(tokens))
        if len(tokens) and (lengths == lengths[0]).all():
            return self._texts(np.frombuffer(b"".join(tokens), dtype=np.uint8).reshape(len(tokens), -1))
        return pa.array([self.spelled(t) for t in tokens], pa.string())


STAND_IN = b"nobody"
"""Looked up for a pseudonym that leads nowhere, so that it takes as long as one that does."""

_NONE = np.zeros((0, 16), dtype=np.uint8)


@contextlib.contextmanager
def _without_collector(count: int) -> Iterator[None]:
    """Let the cycle collector rest during bulk work: millions of small objects without cycles would keep it busy."""
    rests = count >= 10_000 and gc.isenabled()
    if rests:
        gc.disable()
    try:
        yield
    finally:
        if rests:
            gc.enable()


def _spread(column: pa.Array, made: pa.Array) -> pa.Array:
    """Values for the present cells, put back between the missing ones."""
    import pyarrow as pa

    if column.null_count == 0:
        return made
    place = np.cumsum(~np.asarray(column.is_null())) - 1
    return made.take(pa.array(place, mask=np.asarray(column.is_null())))
