"""Shared by the vault's tests: places for vaults on SQLite and on a real PostgreSQL, and a small cast of people."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shoal.protector import Limit, Session, Vault, keys
from shoal.protector.crypto.master_keys import LocalKey
from shoal.protector.crypto.primitives import Secret
from shoal.protector.people.changes import Change, SecondPersonNeeded
from shoal.protector.people.limits import DEFAULTS

PEOPLE = {"Olga": "operator", "Rita": "requester", "Aldo": "approver", "Ana": "approver"}


class Clock:
    """A clock that tests move."""

    def __init__(self, now: float = 1_760_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass
class House:
    """A vault with people in every role."""

    vault: Vault
    place: str
    key: LocalKey
    folder: Path
    clock: Clock
    owner: Session
    auditor: Session
    owner_share: str
    auditor_share: str
    tokens: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Session:
        return self.vault.login(self.tokens[name])

    def add(self, name: str, roles: list[str], **token: Any) -> str:
        """A new person, by owner and auditor, who claims her token."""
        return self._enrol(self.owner.add_actor(name, roles, **token))

    def token(self, name: str, **token: Any) -> str:
        """Another token of a person, likewise."""
        return self._enrol(self.owner.issue_token(name, **token))

    def _enrol(self, proposed: Change) -> str:
        return self.vault.enrol(proposed.code, self.auditor.confirm(proposed.id).code)

    def grant(self, name: str, roles: list[str], **more: Any) -> None:
        """Other roles for a person, with the auditor where that is needed."""
        proposed = self.owner.grant(name, roles, **more)
        if proposed is not None:
            self.auditor.confirm(proposed.id)

    def set_limit(self, action: str, limit: Limit, **more: Any) -> None:
        """Another limit, by owner and auditor."""
        self.auditor.confirm(self.owner.set_limit(action, limit, **more).id)

    def without_limits(self, *actions: str) -> None:
        """Room for bulk work."""
        for action in actions:
            for limit in DEFAULTS[action]:
                self.set_limit(action, Limit(limit.seconds, None, None))

    def agree(self, call: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """What the owner calls, with the auditor's confirmation between."""
        try:
            return call(self.owner, *args, **more)
        except SecondPersonNeeded as needed:
            self.auditor.confirm(needed.change.id)
        return call(self.owner, *args, **more)

    @property
    def operator(self) -> Session:
        return self["Olga"]

    def reopen(self) -> Vault:
        """The same vault opened again."""
        return Vault.open(self.place, key=self.key, anchor=self.folder / "anchor", clock=self.clock)

    def catch_up(self) -> None:
        """The present time, for processes with a clock of their own; everybody gets a new token."""
        self.clock.now = time.time()
        self.vault.correct_time(self.tokens["Otto"], self.tokens["Udo"])
        for name in PEOPLE:
            self.tokens[name] = self.token(name)

    def connect(self, source: str, target: str) -> None:
        """Translation between two domains, by owner and auditor."""
        self.agree(lambda owner: owner.allow_translation(source, target))

    def revoke_auditor(self) -> None:
        """No token for the auditor, by owner and auditor."""
        self.agree(lambda owner: owner.revoke_tokens("Udo"))

    def request(self, domain: str, pseudonyms: list[str], **more: Any) -> Any:
        return self["Rita"].request(domain, pseudonyms, purpose="adverse event", case="12", **more)

    def reveal(self, domain: str, pseudonyms: list[str], **more: Any) -> dict[str, str | None]:
        """The whole walk with four eyes."""
        asked = self.request(domain, pseudonyms, **more)
        self["Aldo"].approve(asked.id)
        return dict(self["Rita"].reveal(asked.id).identities)


def new_key() -> LocalKey:
    return LocalKey(Secret(os.urandom(32)), location="environment")


def build(place: str, folder: Path, **more: Any) -> House:
    """A vault at ``place`` with its people."""
    clock = Clock()
    key = new_key()
    more.setdefault("witnesses", ())
    made = Vault.create(place, key=key, owner="Otto", auditor="Udo", anchor=folder / "anchor", clock=clock, **more)
    owner, auditor = made.vault.login(made.owner_token), made.vault.login(made.auditor_token)
    house = House(made.vault, place, key, folder, clock, owner, auditor, made.owner_share, made.auditor_share)
    for name, role in PEOPLE.items():
        house.tokens[name] = house.add(name, [role])
    house.tokens |= {"Otto": made.owner_token, "Udo": made.auditor_token}
    return house


def _patient_connect(url: str) -> Any:
    """A connection to a server that may still be starting up."""
    import psycopg

    for attempt in range(600):
        try:
            return psycopg.connect(url, autocommit=True)
        except psycopg.OperationalError:
            if attempt == 599:
                raise
            time.sleep(0.1)
    raise AssertionError


KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.engine)]


def _new_database(server: Any, template: str = "template1") -> str:
    """The URL of a new database, a copy of ``template``."""
    name = f"vault_{os.urandom(4).hex()}"
    with _patient_connect(server.url) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    return str(server.url.rsplit("/", 1)[0] + "/" + name)


def _drop_database(server: Any, url: str) -> None:
    with _patient_connect(server.url) as admin:
        admin.execute(f"DROP DATABASE {url.rsplit('/', 1)[1]} WITH (FORCE)")


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty place for a vault, on each kind of storage."""
    if request.param == "sqlite":
        yield str(tmp_path / "data.vault")
        return
    server = request.getfixturevalue("postgres_server")
    url = _new_database(server)
    yield url
    _drop_database(server, url)


_MODELS: dict[str, House] = {}


def _copy_of_model(kind: str, folder: Path, server: Any, factory: pytest.TempPathFactory) -> House:
    """A vault like :func:`build` makes it, copied from one made earlier: quicker than making each anew."""
    model = _MODELS.get(f"{kind} {id(server)}")
    if model is None:
        home = factory.mktemp("model")
        model = build(str(home / "data.vault") if kind == "sqlite" else _new_database(server), home)
        model.vault.close()
        _MODELS[f"{kind} {id(server)}"] = model
    shutil.copy(model.folder / "anchor", folder / "anchor")
    if kind == "sqlite":
        place = str(folder / "data.vault")
        shutil.copy(model.place, place)
    else:
        place = _new_database(server, model.place.rsplit("/", 1)[1])
    clock = Clock()
    vault = Vault.open(place, key=model.key, anchor=folder / "anchor", clock=clock)
    owner, auditor = vault.login(model.tokens["Otto"]), vault.login(model.tokens["Udo"])
    tokens = dict(model.tokens)
    return House(vault, place, model.key, folder, clock, owner, auditor, model.owner_share, model.auditor_share, tokens)


@pytest.fixture(params=KINDS)
def house(request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A vault with people, on SQLite and on PostgreSQL."""
    server = None if request.param == "sqlite" else request.getfixturevalue("postgres_server")
    made = _copy_of_model(request.param, tmp_path, server, tmp_path_factory)
    yield made
    made.vault.close()
    if server is not None:
        _drop_database(server, made.place)


@pytest.fixture
def sqlite_house(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A vault with people on SQLite only."""
    made = _copy_of_model("sqlite", tmp_path, None, tmp_path_factory)
    yield made
    made.vault.close()


def raw_database(house: House) -> Any:
    if house.vault.store.dialect == "sqlite":
        return sqlite3.connect(house.place, isolation_level=None)
    import psycopg

    return psycopg.connect(house.place, autocommit=True)


def parameter_mark(house: House) -> str:
    return "?" if house.vault.store.dialect == "sqlite" else "%s"


__all__ = ["Clock", "House", "build", "house", "keys", "new_key", "parameter_mark", "place", "raw_database", "sqlite_house"]
