"""Self-generated pseudonyms from the operator's side: register them, and check who owns them."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.errors import AccessError, UsageError
from shoal.protector.actions.frame import Frame
from shoal.protector.pseudonyms import self_generated
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import SETTING


class HolderActions:
    """The operator's part of a session for pseudonyms that people made themselves."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

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
            made = self_generated.new_challenge(tx, self._open(tx, domain).domain.id, pseudonym, now)
            self._frame.log(tx, now, "prove", domain=domain, detail="challenge")
        return made

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
