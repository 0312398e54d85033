"""A stolen database without the key: what it tells, and what it does not."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from protector_support import House, parameter_mark, raw_database
from shoal.errors import TamperError
from shoal.protector import Vault, care
from shoal.protector.crypto.ciphers import Reversible
from shoal.protector.crypto.primitives import Secret


def rows(house: House, query: str) -> list[tuple[object, ...]]:
    with contextlib.closing(raw_database(house)) as database:
        return [tuple(row) for row in database.execute(query).fetchall()]


def test_the_kinds_of_objects_are_hidden(house: House) -> None:
    """Domains, keys, actors, tokens, requests: the same number never stands for the same kind."""
    for i in range(30):
        house.owner.create_domain(f"d{i}", kind="keyed")
    kinds = [kind for (kind,) in rows(house, "SELECT kind FROM vault_objects")]
    assert len(kinds) > 100
    assert Counter(kinds).most_common(1)[0][1] <= 6  # of 16,384; seven of them by chance: below 1e-12
    with house.reopen() as vault:
        assert len(vault.login(house.tokens["Olga"]).domains()) == 30


def test_a_changed_kind_is_noticed(house: House) -> None:
    mark = parameter_mark(house)
    (tag, kind) = rows(house, "SELECT tag, kind FROM vault_objects ORDER BY tag")[0]
    with contextlib.closing(raw_database(house)) as database:
        database.execute(f"UPDATE vault_objects SET kind = {mark} WHERE tag = {mark}", (int(str(kind)) ^ 3, tag))
    found = care.verify(house.owner)
    assert "altered or moved" in found.problems[0]


def test_checkpoints_tell_no_times(house: House) -> None:
    care.checkpoint(house.owner)
    bodies = [bytes(body) for (body,) in rows(house, "SELECT body FROM vault_checkpoints")]  # type: ignore[call-overload]
    assert bodies
    assert not any(word in body for body in bodies for word in (b'"time"', b"shoal-audit", house.vault.id.encode()))
    assert len({len(body) for body in bodies}) == 1
    outside = care.checkpoint(house.owner)
    assert json.dumps(outside)
    assert care.verify_log(house.auditor, anchors=[outside]).ok


def test_reversible_pseudonyms_of_usual_identities_have_one_length(house: House) -> None:
    house.owner.create_domain("r", kind="reversible")
    made = house.operator.pseudonymize("r", ["1", "0012", "a name of usual length", "x" * 30])
    assert len({len(p) for p in made}) == 1
    assert list(house.reveal("r", made).values()) == ["1", "0012", "a name of usual length", "x" * 30]
    box = Reversible(Secret(bytes(range(32))), b"domain")
    assert [len(box.encode(b"", [b"x" * n])[0]) for n in (1, 30, 31, 62, 63, 4096)] == [48, 48, 80, 80, 144, 8208]
    for n in (0, 1, 30, 31, 62, 63, 4096):
        assert box.decode(box.encode(b"", [b"\x80" * n])[0]) == (b"", b"\x80" * n)


def test_a_vault_opens_only_with_its_key(house: House) -> None:
    from protector_support import new_key

    with pytest.raises(TamperError):
        Vault.open(house.place, key=new_key(), anchor=house.folder / "anchor")


def test_the_files_of_a_running_vault_tell_only_the_size_class(sqlite_house: House, tmp_path: Path) -> None:
    """Pages and buckets as the write-ahead log has them are those of the file: nothing tells which were written last."""
    house = sqlite_house
    house.owner.create_domain("d")
    log = Path(f"{house.place}-wal")
    for number in range(3):
        house.operator.pseudonymize("d", [f"{number:06d}", f"x{number}"])
        assert log.stat().st_size == 0
    house.operator.find("d", "000001")
    assert log.stat().st_size > 0
    shutil.copy(house.place, tmp_path / "alone")
    for table in ("vault_entries", "vault_index"):
        with raw_database(house) as running, contextlib.closing(sqlite3.connect(tmp_path / "alone")) as alone:
            rows = [set(side.execute(f"SELECT id, sealed FROM {table}")) for side in (running, alone)]
        running.close()
        assert rows[0] == rows[1] != set()


def test_a_reader_does_not_hold_up_new_people(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    with house.vault.store.read() as tx:
        tx.first("SELECT count(*) FROM vault_entries")
        made = house.operator.pseudonymize("d", ["a"])
    assert house.operator.find("d", "a") == made[0]
    house.operator.pseudonymize("d", ["b"])
    assert Path(f"{house.place}-wal").stat().st_size == 0
    with raw_database(house) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    with house.vault.store.read() as tx:
        assert tx.first("PRAGMA busy_timeout") == (60_000,)
