"""``pseudonymize`` as a step of a plan: the plan names the domain and the key, and holds no secret.

The release carries the step out in the session that :func:`using` provides, or in the vault that the environment names
(``SHOAL_VAULT``, ``SHOAL_VAULT_KEY`` or ``SHOAL_VAULT_KEY_FILE``, ``SHOAL_VAULT_TOKEN`` or ``SHOAL_VAULT_TOKEN_FILE``).
"""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.errors import PolicyError, UsageError
from shoal.model.plan import StreamStep, register_step

if TYPE_CHECKING:
    from shoal.protector.session import Session

_session: contextvars.ContextVar[Session | None] = contextvars.ContextVar("shoal_vault_session", default=None)


@register_step
@dataclass(frozen=True)
class Pseudonymize(StreamStep):
    """Replace identities by pseudonyms of a vault's domain; missing stays missing.

    ``key_id`` (from ``Domain.key_id``) pins the key: a domain that was rotated since then stops the run, so the same plan
    never quietly gives other pseudonyms.
    """

    domain: str = ""
    key_id: str = ""
    role: str = ""
    relation: str = ""
    kind: ClassVar[str] = "pseudonymize"
    truthful: ClassVar[bool] = True
    by_row: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.domain:
            raise PolicyError(f"the pseudonymisation of '{self.column}' names no domain.")

    def start(self, seed: int) -> Callable[[Any, Any], Any]:
        session = _session.get() or from_environment()
        domain = next((d for d in session.domains() if d.name == self.domain), None)
        if domain is None:
            raise UsageError(f"domain '{self.domain}' is not in the vault.", hint="Is it the right vault?")
        if self.key_id and domain.key_id != self.key_id:
            what = f"the plan was made for key {self.key_id} of domain '{self.domain}'; the domain now uses {domain.key_id}."
            raise PolicyError(what, hint="Make the plan again, or use the vault as it was.")

        def replace(table: Any, rows: Any) -> Any:
            from shoal.kernels.text import canonical_text

            pseudonyms = session.pseudonymize(
                self.domain, canonical_text(table[self.column]), role=self.role, relation=self.relation, purpose="release"
            )
            return table.set_column(table.column_names.index(self.column), self.column, pseudonyms)

        return replace


@contextlib.contextmanager
def using(session: Session) -> Iterator[None]:
    """Apply pseudonymize steps in this session."""
    mark = _session.set(session)
    try:
        yield
    finally:
        _session.reset(mark)


@contextlib.contextmanager
def in_session() -> Iterator[None]:
    """Apply pseudonymize steps in the session that there is; else in the vault of the environment, closed at the end."""
    if _session.get() is not None:
        yield
        return
    session = from_environment()
    try:
        with using(session):
            yield
    finally:
        close = getattr(session.vault, "close", None)
        if close is not None:
            close()


def from_environment() -> Any:
    """An operator's session in the vault that the environment names: a served one needs no key."""
    from shoal.protector.crypto import master_keys as keys
    from shoal.protector.vault import Vault

    place, token = os.environ.get("SHOAL_VAULT"), os.environ.get("SHOAL_VAULT_TOKEN")
    named = os.environ.get("SHOAL_VAULT_TOKEN_FILE")
    if not token and named:
        token = keys.read_private(named)
    if not place or not token:
        hint = "Set SHOAL_VAULT, SHOAL_VAULT_TOKEN and SHOAL_VAULT_KEY (or SHOAL_VAULT_KEY_FILE), or use step.using(session)."
        raise UsageError("a pseudonymize step needs a vault.", hint=hint)
    if place.startswith(("http://", "https://", "unix:")):
        from shoal.protector.remote import RemoteVault

        return RemoteVault(place).login(token)
    file = os.environ.get("SHOAL_VAULT_KEY_FILE")
    key = keys.from_file(file) if file else keys.from_env()
    return Vault.open(place, key=key, maintenance=True).login(token)
