"""What operators do: make, find and translate pseudonyms."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import AccessError, UsageError
from shoal.protector.actions.frame import SessionPart, log_names, require_typed
from shoal.protector.crypto import base32
from shoal.protector.people import limits
from shoal.protector.pseudonyms import self_generated
from shoal.protector.pseudonyms.domains import Context
from shoal.protector.pseudonyms.identities import text_column
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store.database import Tx
from shoal.protector.store.state import HONEY, SETTING

NAMES_LOGGED = 100
"""People whose audit pseudonyms are logged for one translation."""


class PseudonymActions(SessionPart):
    """The operator's part of a session."""

    def pseudonymize(
        self, domain: str, values: Any, *, purpose: str = "", role: str = "", relation: str = "", source: str = ""
    ) -> Any:
        """Pseudonyms for identities: a list gives a list, an Arrow column an Arrow column; missing stays missing."""
        frame = self._frame
        column, as_list = text_column(values)
        with frame.acting("pseudonymize", domain) as (tx, now):
            opened = frame.open_domain(tx, domain)
            distinct = column.unique()
            usage = frame.counted(tx, now, "pseudonymize", purpose, len(distinct), domain=domain)
            pseudonyms = opened.pseudonymize(tx, column, Context(role, relation), now)
            key = opened.domain.key_id
            frame.log(tx, now, "pseudonymize", domain=domain, count=len(column), key=key, purpose=purpose, source=source)
            planted = column_has_planted(tx, opened, distinct)
            seen = distinct.slice(0, limits.SAMPLE).to_pylist()
            frame.watch(tx, now, "pseudonymize", usage, seen, planted=planted, domain=domain, purpose=purpose)
        return pseudonyms.to_pylist() if as_list else pseudonyms

    def find(self, domain: str, identity: str, *, purpose: str = "", role: str = "", relation: str = "") -> str | None:
        """The pseudonym of an identity if it has one; found and not found take the same time."""
        return self.find_many(domain, [identity], purpose=purpose, role=role, relation=relation)[0]

    def find_many(
        self, domain: str, identities: Sequence[str], *, purpose: str = "", role: str = "", relation: str = ""
    ) -> list[str | None]:
        """:meth:`find` for several identities in one transaction, logged as one event with their number."""
        frame = self._frame
        with frame.acting("find", domain) as (tx, now):
            opened = frame.open_domain(tx, domain)
            usage = frame.counted(tx, now, "find", purpose, len(identities), domain=domain)
            pseudonyms = opened.find(tx, identities, Context(role, relation), now)
            frame.log(tx, now, "find", domain=domain, count=len(identities), purpose=purpose)
            planted = column_has_planted(tx, opened, list(identities))
            missed = pseudonyms.count(None)
            frame.watch(tx, now, "find", usage, identities, missed=missed, planted=planted, domain=domain, purpose=purpose)
        return pseudonyms

    def translate(
        self,
        pseudonyms: Sequence[str],
        *,
        source: str,
        target: str,
        purpose: str,
        role: str = "",
        relation: str = "",
        version: int | None = None,
    ) -> list[str | None]:
        """Pseudonyms of another domain for the same people; no identity is shown. None for an unknown pseudonym."""
        import pyarrow as pa

        frame = self._frame
        if not purpose.strip():
            raise UsageError("a translation needs a purpose.")
        with frame.acting("translate", source, target=target, purpose=purpose) as (tx, now):
            frame.require(tx, now, "translate", target)
            known = frame.open_domain(tx, source)
            wanted = frame.open_domain(tx, target)
            require_typed(known, pseudonyms)
            pseudonyms = [known.canonical(p) for p in pseudonyms]
            if wanted.domain.id not in known.domain.translate_to:
                hint = "An owner can allow it with `shoal vault domain allow`."
                raise AccessError(f"translating from '{source}' to '{target}' is not allowed.", hint=hint, reason="not allowed")
            frame.count(tx, now, "translate", purpose, len(pseudonyms), domain=source)
            plain = known.resolve(tx, pseudonyms, version=version, time=now)
            if any_planted(tx, known, plain):
                raise AccessError("the translation is held back.", hint="Ask the owner of the vault.", reason="honeytoken")
            column = pa.array([None if p is None else p.decode() for p in plain], pa.string())
            translated = wanted.pseudonymize(tx, column, Context(role, relation), now)
            details = {"domain": source, "target": target, "purpose": purpose, "count": len(pseudonyms)}
            frame.log(tx, now, "translate", **details, subjects=log_names(tx, known, plain, most=NAMES_LOGGED))
        out: list[str | None] = translated.to_pylist()
        return out


@dataclass(frozen=True)
class Honeytoken:
    """A person invented by the vault: the identity, and a pseudonym of it (empty if none can be made)."""

    identity: str
    pseudonym: str


def plant_identity(tx: Tx, opened: OpenDomain, context: Context, time: float) -> Honeytoken:
    """Invent a person that nobody is, remember it, and make a pseudonym of it if that needs no role or relation."""
    domain = opened.domain
    if domain.kind == "format-preserving":
        hint = "Plant honeytokens in a domain of another kind."
        raise UsageError(f"domain '{domain.name}' is format-preserving: every value may be a real person's.", hint=hint)
    identity = "HONEY" + base32.encode(os.urandom(15))
    column, _ = text_column([identity])
    text = ""
    needs_more = domain.scope not in ("person", "transaction") and context == Context()
    if domain.kind != "self-generated" and not needs_more:
        text = opened.pseudonymize(tx, column, context, time, check=False)[0].as_py()
    (known,) = opened.cleaned(column).to_pylist()
    body = tx.get(HONEY, domain.name) or {"identities": []}
    tx.put(HONEY, domain.name, {"identities": sorted({*body["identities"], known})})
    return Honeytoken(identity, text)


def withdraw_identity(tx: Tx, opened: OpenDomain, subject: str) -> bool:
    """Forget that the identity behind an audit pseudonym was planted; whether it was."""
    planted = (tx.get(HONEY, opened.domain.name) or {"identities": []})["identities"]
    kept = [text for text in planted if opened.subject(opened.matched(text.encode())) != subject]
    tx.put(HONEY, opened.domain.name, {"identities": kept})
    return len(kept) < len(planted)


def any_planted(tx: Tx, opened: OpenDomain, identities: Iterable[bytes | None]) -> bool:
    """Whether one of these identities was planted."""
    planted = _planted_tokens(tx, opened)
    return bool(planted) and any(i is not None and opened.matched(i) in planted for i in identities)


def column_has_planted(tx: Tx, opened: OpenDomain, identities: Any) -> bool:
    """The same for a list or an Arrow column of identities as they came in."""
    planted = _planted_tokens(tx, opened)
    if not planted:
        return False
    column, _ = text_column(identities)
    return any(
        text is not None and opened.matched(text.encode()) in planted for text in opened.cleaned(column).unique().to_pylist()
    )


def _planted_tokens(tx: Tx, opened: OpenDomain) -> set[bytes]:
    body = tx.get(HONEY, opened.domain.name)
    return set() if body is None else {opened.matched(text.encode()) for text in body["identities"]}


class HolderActions(SessionPart):
    """The operator's part of a session for pseudonyms that people made themselves."""

    def register(self, domain: str, registration: Mapping[str, str], *, identity: str | None = None) -> None:
        """Accept a pseudonym that a person made; ``identity`` is kept sealed when a way back is wanted."""
        frame = self._frame
        with frame.acting("register", domain) as (tx, now):
            opened = self._open(tx, domain)
            given = dict(registration)
            self_generated.check_registration(frame.vault.id, opened.domain.id, given)
            name = entry_of(opened, given["pseudonym"])
            if tx.get(SETTING, name) is not None:
                raise AccessError("this pseudonym is registered already.", reason="replay")
            sealed = "" if identity is None else _sealed(opened, identity, given["pseudonym"])
            tx.put(SETTING, name, {"public": given["public_key"], "identity": sealed})
            frame.log(tx, now, "register", domain=domain, linked=identity is not None)

    def challenge(self, domain: str, pseudonym: str) -> str:
        """A fresh challenge for the holder of a self-generated pseudonym."""
        with self._frame.acting("prove", domain) as (tx, now):
            issued = self_generated.new_challenge(tx, self._open(tx, domain).domain.id, pseudonym, now)
            self._frame.log(tx, now, "prove", domain=domain, detail="challenge")
        return issued

    def check_ownership(self, domain: str, pseudonym: str, challenge: str, proof: str) -> bool:
        """Whether the challenge was answered by the one who made the pseudonym."""
        with self._frame.acting("prove", domain) as (tx, now):
            opened = self._open(tx, domain)
            held = tx.get(SETTING, entry_of(opened, pseudonym))
            public = "00" * 32 if held is None else held["public"]
            proved = self_generated.check_proof(tx, opened.domain.id, pseudonym, public, challenge, proof, now)
            good = proved and held is not None
            self._frame.log(tx, now, "prove", domain=domain, outcome="done" if good else "refused")
        return good

    def _open(self, tx: Tx, name: str) -> OpenDomain:
        opened = self._frame.open_domain(tx, name)
        if opened.domain.kind != "self-generated":
            raise UsageError(f"the vault makes the pseudonyms of domain '{name}'.", hint="Use a domain of kind 'self-generated'.")
        return opened


def _sealed(opened: OpenDomain, identity: str, pseudonym: str) -> str:
    """The identity, cleaned by the domain's rules, sealed beside its pseudonym."""
    plain = opened.plain(identity)
    if not plain:
        raise UsageError("an identity has at least one character.", hint="Leave it out where no way back is agreed.")
    return opened.holder_box.seal(plain, pseudonym.encode()).hex()


def sealed_identity(tx: Tx, opened: OpenDomain, pseudonym: str) -> bytes | None:
    """The identity that was registered with a self-generated pseudonym; None where there is none."""
    held = tx.get(SETTING, entry_of(opened, pseudonym))
    if held is None or not held["identity"]:
        return None
    return opened.holder_box.open(bytes.fromhex(held["identity"]), pseudonym.encode())


def entry_of(opened: OpenDomain, pseudonym: str) -> str:
    """The name under which a holder is kept."""
    return f"holder {opened.domain.id} {pseudonym}"
