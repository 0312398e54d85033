"""Vaults of older versions: refused with the way out, then brought up to date with every pseudonym kept."""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np
import pytest

from protector_support import House
from shoal.errors import DataError, TamperError
from shoal.protector import Vault, migrate
from shoal.protector.care import rotation, upkeep
from shoal.protector.crypto import operations as crypto
from shoal.protector.pseudonyms.domains import Domain, Renewal
from shoal.protector.store import pages
from shoal.protector.store.storage import DOMAIN, Tx


def old_row(keys: Any, slot: int, record: Any, text: tuple[bytes, bytes]) -> tuple[int, bytes, bytes]:
    """A row as version 0002 wrote it: AES-GCM of head, context and identity, bound to id and lookup tag."""
    context, identity = text
    real = bool(record["version"])
    nonce = int(record["nonce"]).to_bytes(8, "big")
    plain = (
        struct.pack(">B8sIH", real, nonce, record["uses"], len(context)) + context + struct.pack(">I", len(identity)) + identity
    )
    size = 48
    while size < len(plain):
        size *= 2
    row_id = (keys.number << 40) + slot
    lookup = record["lookup"].tobytes() if real else os.urandom(16)
    version = int(record["version"]) if real else keys.active
    sealed = keys.versions[version].box.seal(plain.ljust(size, b"\0"), row_id.to_bytes(8, "big") + lookup)
    return row_id, lookup, bytes([version]) + sealed


def old_rows(house: House, tx: Tx, domain: Domain) -> list[tuple[int, bytes, bytes]]:
    """All rows of a domain in the old form; decoys where the pages have the rest of long texts."""
    rows = tx.rows(domain.number)
    keys = house.vault.opened(tx, domain).keys
    records = pages.read(tx, keys, np.arange(rows.slots // pages.PER_PAGE)).reshape(-1).copy()
    heads = pages.is_head(records)
    rows.used = int(heads.sum())
    assert heads[: rows.used].all()
    texts = pages.texts(tx, keys, records[: rows.used])
    records[rows.used :] = np.zeros((), dtype=pages.RECORD)
    texts += [(bytes(6), b"")] * (rows.slots - rows.used)
    made = [old_row(keys, i + 1, record, text) for i, (record, text) in enumerate(zip(records, texts, strict=True))]
    rows.sum = crypto.row_sum(tx.store.sums, b"".join([sealed[-16:] for _, _, sealed in made]))
    return made


def make_old(house: House, version: str) -> None:
    """Turn the vault into one of an older version."""
    with house.vault.store.write() as tx:
        random = [d for d in map(Domain.from_json, tx.all(DOMAIN)) if d.kind == "random"]
        rows = [row for d in random if not d.shredded for row in old_rows(house, tx, d)]
        for d in random:
            if d.shredded:  # unreadable rows, as many as slots
                rows += [((d.number << 40) + s, os.urandom(16), os.urandom(80)) for s in range(1, 1025)]
        migrate.VERSIONS.downgrade(tx.connection, version)
        for row in rows:
            tx.run("INSERT INTO vault_entries (id, lookup, sealed) VALUES (?, ?, ?)", *row)
        if version == "0001":
            for known in tx.state.domains.values():
                known.index.clear()
    house.vault.close()


def migrated(house: House) -> None:
    Vault.migrate(house.place, key=house.key, anchor=house.folder / "anchor", clock=house.clock)


@pytest.mark.parametrize("version", ["0001", "0002"])
def test_an_older_vault_is_migrated(house: House, version: str) -> None:
    for name, settings in {"d": {}, "empty": {}, "dead": {}, "use": {"renewal": Renewal(uses=2)}, "k": {"kind": "keyed"}}.items():
        house.owner.create_domain(name, **settings)
    ids = [f"{i}" + "x" * (i % 300 if i % 5 == 0 else 0) for i in range(1500)]
    made = house.operator.pseudonymize("d", ids)
    used = house.operator.pseudonymize("use", ["a", "b", "a", "a"])
    house.operator.pseudonymize("dead", ids[:9])
    upkeep.shred(house.owner, "dead", confirm="dead")
    token = house.owner.issue_token("Otto")
    make_old(house, version)
    with pytest.raises(DataError, match="vault migrate"):
        house.reopen()
    for _ in range(2):
        migrated(house)
    house.vault = house.reopen()
    assert upkeep.verify(house.vault.login(token)).ok
    assert house.operator.pseudonymize("d", ids) == made
    assert house.operator.pseudonymize("use", ["a", "b"]) == [used[3], used[1]]
    with house.vault.store.read() as tx:
        opened = house.vault.opened(tx, house.vault.domain(tx, "d"))
        assert opened.resolve(tx, made) == [i.encode() for i in ids]
    house.operator.pseudonymize("d", [f"new {i}" for i in range(2000)])
    assert upkeep.verify(house.vault.login(token)).ok


def test_migration_in_the_middle_of_a_rotation(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows under two keys, the rotation broken off: it goes on after the migration."""
    house = sqlite_house
    house.owner.create_domain("d")
    ids = [f"{i}" for i in range(700)]
    made = house.operator.pseudonymize("d", ids)
    token = house.owner.issue_token("Otto")
    monkeypatch.setattr(rotation, "_CHUNK", 320)
    real, parts = rotation._reseal_part, []

    def once(*given: Any) -> Any:
        if parts:
            raise KeyboardInterrupt
        parts.append(1)
        return real(*given)

    monkeypatch.setattr(rotation, "_reseal_part", once)
    with pytest.raises(KeyboardInterrupt):
        upkeep.rotate_domain(house.owner, "d")
    monkeypatch.setattr(rotation, "_reseal_part", real)
    make_old(house, "0002")
    migrated(house)
    house.vault = house.reopen()
    owner = house.vault.login(token)
    assert upkeep.verify(owner).ok
    assert house.operator.pseudonymize("d", ids) == made
    assert [state for _, state, _ in upkeep.rotate_domain(owner, "d").versions] == ["destroyed", "active"]
    assert house.operator.pseudonymize("d", ids) == made
    assert upkeep.verify(owner).ok


@pytest.mark.parametrize("change", ["sealed = lookup", "lookup = sealed", "id = id + 99999"])
def test_damaged_rows_are_not_migrated(sqlite_house: House, change: str) -> None:
    """An altered or missing row stops the migration, and the vault stays as it was."""
    import sqlite3

    house = sqlite_house
    house.owner.create_domain("d")
    house.operator.pseudonymize("d", ["a", "b"])
    make_old(house, "0002")
    with sqlite3.connect(house.place) as raw:
        raw.execute(f"UPDATE vault_entries SET {change} WHERE id = (SELECT min(id) FROM vault_entries)")
        before = list(raw.iterdump())
    with pytest.raises(TamperError):
        migrated(house)
    with sqlite3.connect(house.place) as raw:
        assert list(raw.iterdump()) == before
