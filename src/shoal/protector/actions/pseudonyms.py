"""What operators do: make, find and translate pseudonyms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.errors import AccessError, UsageError
from shoal.protector.actions import honeytokens
from shoal.protector.actions.frame import Frame, log_names, require_typed
from shoal.protector.people import enumeration
from shoal.protector.pseudonyms.domains import Context
from shoal.protector.pseudonyms.identities import text_column

NAMES_LOGGED = 100
"""People whose audit pseudonyms are logged for one translation."""


class PseudonymActions:
    """The operator's part of a session."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def pseudonymize(
        self, domain: str, values: Any, *, purpose: str = "", role: str = "", relation: str = "", source: str = ""
    ) -> Any:
        """Pseudonyms for identities: a list gives a list, an Arrow column an Arrow column; missing stays missing."""
        frame = self._frame
        column, as_list = text_column(values)
        with frame.acting("pseudonymize", domain) as (tx, now):
            opened = frame.open_domain(tx, domain)
            asked = column.unique()
            usage = frame.counted(tx, now, "pseudonymize", purpose, len(asked), domain=domain)
            made = opened.pseudonymize(tx, column, Context(role, relation), now)
            key = opened.domain.key_id
            frame.log(tx, now, "pseudonymize", domain=domain, count=len(column), key=key, purpose=purpose, source=source)
            planted = honeytokens.touched_by(tx, opened, asked)
            seen = asked.slice(0, enumeration.SAMPLE).to_pylist()
            frame.watch(tx, now, "pseudonymize", usage, seen, planted=planted, domain=domain, purpose=purpose)
        return made.to_pylist() if as_list else made

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
            found = opened.find(tx, identities, Context(role, relation), now)
            frame.log(tx, now, "find", domain=domain, count=len(identities), purpose=purpose)
            planted = honeytokens.touched_by(tx, opened, list(identities))
            missed = found.count(None)
            frame.watch(tx, now, "find", usage, identities, missed=missed, planted=planted, domain=domain, purpose=purpose)
        return found

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
                raise AccessError(
                    f"translating from '{source}' to '{target}' is not allowed.",
                    hint="An owner can allow it with `shoal vault domain allow`.",
                    reason="not allowed",
                )
            frame.count(tx, now, "translate", purpose, len(pseudonyms), domain=source)
            plain = known.resolve(tx, pseudonyms, version=version, time=now)
            if honeytokens.touched(tx, known, plain):
                raise AccessError("the translation is held back.", hint="Ask the owner of the vault.", reason="honeytoken")
            column = pa.array([None if p is None else p.decode() for p in plain], pa.string())
            made = wanted.pseudonymize(tx, column, Context(role, relation), now)
            told = {"domain": source, "target": target, "purpose": purpose, "count": len(pseudonyms)}
            frame.log(tx, now, "translate", **told, subjects=log_names(tx, known, plain, most=NAMES_LOGGED))
        out: list[str | None] = made.to_pylist()
        return out
