"""Nothing unlogged: anyone who can write to the database without a key cannot make the vault act without a trace."""

from __future__ import annotations

import contextlib

import pytest

from protector_support import House, raw_database
from shoal.errors import TamperError
from shoal.protector import care

SWALLOW = {
    "sqlite": ["CREATE TRIGGER quiet BEFORE INSERT ON vault_audit BEGIN SELECT RAISE(IGNORE); END"],
    "postgresql": [
        "CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER quiet BEFORE INSERT ON vault_audit FOR EACH ROW EXECUTE FUNCTION quiet()",
    ],
}
FOREIGN = {
    "sqlite": {
        "view": ["CREATE VIEW looking AS SELECT seq FROM vault_audit"],
        "table": ["CREATE TABLE beside (x)"],
        "column": ["ALTER TABLE vault_audit ADD COLUMN note TEXT"],
        "index": ["CREATE INDEX narrow ON vault_objects (kind)"],
        "lost": ["DROP INDEX ix_vault_objects_kind"],
        "view in place": ["ALTER TABLE vault_audit RENAME TO kept", "CREATE VIEW vault_audit AS SELECT * FROM kept"],
    },
    "postgresql": {
        "rule": ["CREATE RULE quiet AS ON INSERT TO vault_audit DO INSTEAD NOTHING"],
        "column": ["ALTER TABLE vault_audit ADD COLUMN note TEXT"],
        "check": ["ALTER TABLE vault_audit ADD CHECK (seq < 1000000)"],
        "policy": ["ALTER TABLE vault_audit ENABLE ROW LEVEL SECURITY"],
        "child": ["CREATE TABLE child () INHERITS (vault_audit)"],
        "view in place": ["ALTER TABLE vault_audit RENAME TO kept", "CREATE VIEW vault_audit AS SELECT * FROM kept"],
    },
}


def run(house: House, statements: list[str]) -> None:
    with contextlib.closing(raw_database(house)) as database:
        for statement in statements:
            database.execute(statement)


def events(house: House) -> int:
    with contextlib.closing(raw_database(house)) as database:
        return int(database.execute("SELECT count(*) FROM vault_audit").fetchone()[0])


def test_a_trigger_that_swallows_the_log_stops_a_reveal(house: House) -> None:
    house.owner.create_domain("d")
    asked = house.request("d", house.operator.pseudonymize("d", ["person"]))
    house["Aldo"].approve(asked.id)
    rita, before = house["Rita"], events(house)
    run(house, SWALLOW[house.vault.store.dialect])
    with pytest.raises(TamperError, match="changed from outside"):
        rita.reveal(asked.id)
    with pytest.raises(TamperError, match="changed from outside"):
        house.reopen()
    run(house, ["DROP TRIGGER quiet" + (" ON vault_audit" if house.vault.store.dialect != "sqlite" else "")])
    assert events(house) == before
    assert list(rita.reveal(asked.id).identities.values()) == ["person"]  # the refused reveal left the request as it was
    assert events(house) == before + 1
    assert care.verify_log(house.auditor).ok


@pytest.mark.parametrize("which", sorted({*FOREIGN["sqlite"], *FOREIGN["postgresql"]}))
def test_foreign_things_in_the_database_are_refused(house: House, which: str) -> None:
    statements = FOREIGN[house.vault.store.dialect].get(which)
    if statements is None:
        pytest.skip(f"{house.vault.store.dialect} has no such case")
    house.owner.create_domain("d")
    olga = house.operator
    house.reopen().close()
    run(house, statements)
    with pytest.raises(TamperError, match="changed from outside"):
        olga.pseudonymize("d", ["person"])
    with pytest.raises(TamperError, match="changed from outside"):
        house.reopen()


@pytest.mark.parametrize("change", ["UPDATE vault_audit SET hash = sealed", "DELETE FROM vault_audit"])
def test_a_changed_head_of_the_log_stops_every_write(house: House, change: str) -> None:
    house.owner.create_domain("d")
    olga = house.operator
    olga.pseudonymize("d", ["one"])
    run(house, [f"{change} WHERE seq = {events(house)}"])
    with pytest.raises(TamperError, match="the log does not hold"):
        olga.pseudonymize("d", ["two"])


def test_an_event_put_in_behind_the_head_stops_every_write(house: House) -> None:
    house.owner.create_domain("d")
    olga, n = house.operator, events(house)
    run(house, [f"INSERT INTO vault_audit (seq, sealed, hash) SELECT {n + 2}, sealed, hash FROM vault_audit WHERE seq = {n}"])
    with pytest.raises(TamperError, match="the log does not hold"):
        olga.pseudonymize("d", ["two"])
