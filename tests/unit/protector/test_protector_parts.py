"""A vault on PostgreSQL whose growing tables lie in parts: the same vault, and as closely watched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from protector_support import House, _drop_database, _new_database, build
from shoal.errors import TamperError, UsageError
from shoal.protector import Vault, care

pytestmark = pytest.mark.engine

PEOPLE = [f"person {i}" for i in range(200)]
SWALLOW = "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
NESTED = "CREATE TABLE vault_entries_0 PARTITION OF vault_entries FOR VALUES WITH (MODULUS 3, REMAINDER 0) PARTITION BY HASH (id)"
AWAY = "ALTER TABLE vault_entries DETACH PARTITION vault_entries_"
ATTACKS = {
    "a part of 'vault_entries' is missing": f"{AWAY}1",
    "a part of 'vault_index' is missing": "; ".join(
        f"ALTER TABLE vault_index DETACH PARTITION vault_index_{i}" for i in range(3)
    ),
    "a trigger or rule was added to 'vault_index_0'": f"{SWALLOW} CREATE TRIGGER t BEFORE INSERT ON vault_index_0 "
    "FOR EACH ROW EXECUTE FUNCTION f()",
    "a trigger or rule was added to 'vault_entries_2'": "CREATE RULE r AS ON INSERT TO vault_entries_2 DO INSTEAD NOTHING",
    "the table 'vault_entries_0' was altered": "ALTER TABLE vault_entries_0 ADD CHECK (id > 0)",
    "the table 'vault_index_2' was altered": "ALTER TABLE vault_index_2 ENABLE ROW LEVEL SECURITY",
    "'vault_index_1' is not a plain table": "ALTER TABLE vault_index_1 SET UNLOGGED",
    "'vault_entries_0' is not a plain table": f"{AWAY}0; DROP TABLE vault_entries_0; {NESTED}",
}


def sizes(url: str, table: str) -> list[int]:
    """Rows in each part of a table."""
    query = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass ORDER BY 1"
    with psycopg.connect(url) as con:
        parts = [row[0] for row in con.execute(query, [table])]
        return [con.execute(f"SELECT count(*) FROM {part}").fetchone()[0] for part in parts]  # type: ignore[index]


def test_a_vault_in_parts_is_used_copied_and_watched(postgres_server: Any, sqlite_house: House, tmp_path: Path) -> None:
    operator = sqlite_house["Olga"]
    sqlite_house.owner.create_domain("people", kind="random")
    before = operator.pseudonymize("people", PEOPLE)
    url = _new_database(postgres_server)
    try:
        care.copy(sqlite_house.owner, url, parts=3)
        for table, at_least in (("vault_entries", 1), ("vault_index", 0)):
            found = sizes(url, table)
            assert (len(found), sum(found) >= at_least) == (3, True), table
        vault = Vault.open(url, key=sqlite_house.key, anchor=sqlite_house.folder / "anchor", clock=sqlite_house.clock)
        session = vault.login(sqlite_house.tokens["Olga"])
        assert session.pseudonymize("people", PEOPLE) == before
        more = session.pseudonymize("people", [f"another {i}" for i in range(3000)])
        assert len(set(more)) == 3000
        assert all(n > 0 for n in sizes(url, "vault_entries")), "pages lie in every part"
        for told, attack in ATTACKS.items():
            copied = _new_database(postgres_server, _closed(vault, url))
            try:
                with psycopg.connect(copied, autocommit=True) as con:
                    con.execute(attack)
                with pytest.raises(TamperError, match=told):
                    Vault.open(copied, key=sqlite_house.key, anchor=sqlite_house.folder / "anchor", clock=sqlite_house.clock)
            finally:
                _drop_database(postgres_server, copied)
        vault.close()
    finally:
        _drop_database(postgres_server, url)


def _closed(vault: Vault, url: str) -> str:
    """The name of the database, to which nobody is connected now."""
    vault.store.engine.dispose()
    return url.rsplit("/", 1)[1]


def test_a_new_vault_in_parts(postgres_server: Any, tmp_path: Path) -> None:
    url = _new_database(postgres_server)
    try:
        for wrong in (0, 257):
            with pytest.raises(UsageError, match="1 to 256 parts"):
                build(url, tmp_path, parts=wrong)
        house = build(url, tmp_path, parts=2)
        assert [len(sizes(url, t)) for t in ("vault_entries", "vault_index")] == [2, 2]
        house.owner.create_domain("people", kind="random")
        (pseudonym,) = house["Olga"].pseudonymize("people", ["Ada"])
        assert house.reveal("people", [pseudonym]) == {pseudonym: "Ada"}
        house.vault.close()
    finally:
        _drop_database(postgres_server, url)


def test_a_file_has_no_parts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only a vault on PostgreSQL has parts"):
        build(str(tmp_path / "data.vault"), tmp_path, parts=2)
