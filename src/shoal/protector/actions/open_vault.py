"""An open vault as the actions see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from shoal.protector.crypto.secret import Opaque, Secret
from shoal.protector.log.recorder import Recorder
from shoal.protector.pseudonyms.keyring import Keyring
from shoal.protector.store.database import Store


@dataclass(repr=False, eq=False)
class OpenVault(Opaque):
    """The database, the log and the domains of a vault; the root key, and which master key (kept where) wraps it."""

    store: Store
    root: Secret
    place: str
    key_id: str
    key_location: str
    clock: Callable[[], float]
    recorder: Recorder = field(init=False)
    keyring: Keyring = field(init=False, default_factory=Keyring)

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.store, self.clock)

    @property
    def id(self) -> str:
        return self.store.vault_id
