"""Shared by the vault's tests: places for vaults on SQLite and on a real PostgreSQL, and a small cast of people."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shoal.protector import Session, Vault, keys
from shoal.protector.keys import LocalKey, Secret

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

    @property
    def operator(self) -> Session:
        return self["Olga"]

    def reopen(self) -> Vault:
        """The same vault opened again."""
        return Vault.open(self.place, key=self.key, anchor=self.folder / "anchor", clock=self.clock)

    def request(self, domain: str, pseudonyms: list[str], **more: Any) -> Any:
        return self["Rita"].request(domain, pseudonyms, purpose="adverse event", case="12", **more)

    def reveal(self, domain: str, pseudonyms: list[str], **more: Any) -> dict[str, str | None]:
        """The whole walk with four eyes."""
        asked = self.request(domain, pseudonyms, **more)
        self["Aldo"].approve(asked.id)
        return dict(self["Rita"].reveal(asked.id).identities)


def new_key() -> LocalKey:
    return LocalKey(Secret(os.urandom(32)), location="environment")


def build(place: str, folder: Path) -> House:
    """A vault at ``place`` with its people."""
    clock = Clock()
    key = new_key()
    made = Vault.create(place, key=key, owner="Otto", auditor="Udo", anchor=folder / "anchor", clock=clock)
    owner, auditor = made.vault.login(made.owner_token), made.vault.login(made.auditor_token)
    house = House(made.vault, place, key, folder, clock, owner, auditor, made.owner_share, made.auditor_share)
    for name, role in PEOPLE.items():
        house.tokens[name] = owner.add_actor(name, [role])
    return house


def _patient_connect(url: str) -> Any:
    """A connection to a server that may still be starting up."""
    import psycopg

    for attempt in range(100):
        try:
            return psycopg.connect(url, autocommit=True)
        except psycopg.OperationalError:
            if attempt == 99:
                raise
            time.sleep(0.1)
    raise AssertionError


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.engine)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty place for a vault, on each kind of storage."""
    if request.param == "sqlite":
        yield str(tmp_path / "data.vault")
        return
    import psycopg

    server = request.getfixturevalue("postgres_server")
    name = f"vault_{os.urandom(4).hex()}"
    with _patient_connect(server.url) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    yield server.url.rsplit("/", 1)[0] + "/" + name
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def house(place: str, tmp_path: Path) -> Iterator[House]:
    """A vault with people, on SQLite and on PostgreSQL."""
    made = build(place, tmp_path)
    yield made
    made.vault.close()


@pytest.fixture
def sqlite_house(tmp_path: Path) -> Iterator[House]:
    """A vault with people on SQLite only."""
    made = build(str(tmp_path / "data.vault"), tmp_path)
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
