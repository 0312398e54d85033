"""Stores keep their version: files of Shoal 0.3.0 open and go on, migrations apply all or nothing, newer files are refused."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from shoal import stores
from shoal.errors import DataError, EngineError, UsageError
from shoal.protector import Vault, care, keys
from shoal.protector.store import head
from shoal.registry.keep import database as registry_database
from shoal.registry.keep.mirror import verify_store
from shoal.registry.keep.store import Store
from shoal.stores import Schema, Versions
from shoal.studio.workspace import database as workspace_database
from shoal.studio.workspace.people import People
from shoal.studio.workspace.workspace import Workspace


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A copy of the files that Shoal 0.3.0 wrote."""
    return Path(shutil.copytree(Path(__file__).parent / "shoal-0.3.0", tmp_path / "older"))


@pytest.fixture
def vault(older: Path) -> Iterator[tuple[Vault, dict[str, str], list[str]]]:
    known = json.loads((older / "vault.json").read_text())
    for file in ("study.vault", "study.anchor"):
        (older / file).chmod(0o600)
    opened = open_vault(older)
    yield opened, known["tokens"], known["pseudonyms"]
    opened.close()


def open_vault(folder: Path) -> Vault:
    file = folder.parent / "master.key"
    file.write_text(json.loads((folder / "vault.json").read_text())["key"] + "\n")
    file.chmod(0o600)
    return Vault.open(folder / "study.vault", key=keys.from_file(file), anchor=folder / "study.anchor", clock=lambda: NEXT_DAY)


NEXT_DAY = datetime(2026, 11, 18, tzinfo=UTC).timestamp()
"""The day after these files were written."""


def test_a_vault_of_shoal_0_3_0_opens_and_goes_on(vault: tuple[Vault, dict[str, str], list[str]]) -> None:
    opened, tokens, pseudonyms = vault
    operator, auditor, owner = (opened.login(tokens[who]) for who in ("operator", "auditor", "owner"))
    assert operator.find_many("study7", ["0012", "0013", "nobody"]) == [*pseudonyms, None]
    before = care.verify_log(auditor)
    assert before.ok
    again = operator.pseudonymize("study7", ["0013", "0014"])
    assert again[0] == pseudonyms[1]
    assert care.verify(owner).ok
    after = care.verify_log(auditor)
    assert after.ok
    assert after.events > before.events


def test_a_registry_of_shoal_0_3_0_opens_and_goes_on(older: Path) -> None:
    from registry_support import AGES, make

    known = json.loads((older / "registry.json").read_text())
    store = Store(f"sqlite:///{older / 'registry.db'}")
    assert list(store.head()) == known["head"]
    found = store.get(known["record"])
    assert found is not None
    assert found[0].verify().id == known["record"]
    store.submit(make(AGES))
    assert store.head()[0] == known["head"][0] + 1
    assert verify_store(store)["records"] == 2
    store.close()


def test_a_workspace_of_shoal_0_3_0_opens_and_goes_on(older: Path) -> None:
    with Workspace(older / "workspace") as space:
        (table,) = space.tables.all()
        assert table.name == "people"
        assert space.tables.path(table).read_text().startswith("age,city")
        assert [step.policy for step in space.history.steps(table.id)] == ["k: 2\n"]
        space.history.add(table.id, "k raised", "k: 3\n")
    with Workspace(older / "workspace") as space:
        assert len(space.history.steps(table.id)) == 2


def test_users_of_shoal_0_3_0_log_in_and_their_database_gets_a_version(older: Path) -> None:
    with People(older / "team") as team:
        assert team.users.check("Ann", "a generated password 1") is not None
    with sqlite3.connect(older / "team" / "people.db") as db:
        assert db.execute("SELECT version FROM studio_users_version").fetchall() == [(1,)]
    db.close()
    with People(older / "team") as team:
        assert [user.name for user in team.users.all()] == ["ann"]


@pytest.mark.parametrize(
    ("file", "table", "open_it"),
    [
        ("registry.db", "registry_version", lambda folder: Store(f"sqlite:///{folder / 'registry.db'}")),
        ("workspace/studio.db", "studio_version", lambda folder: Workspace(folder / "workspace")),
        ("team/people.db", "studio_users_version", lambda folder: People(folder / "team")),
    ],
)
def test_a_store_that_a_newer_shoal_wrote_is_refused_and_left_alone(older, file, table, open_it) -> None:
    open_it(older).close()
    with sqlite3.connect(older / file) as db:
        db.execute(f"UPDATE {table} SET version = 99")
    db.close()
    with pytest.raises(DataError, match=r"newer version of Shoal \(version 99") as refused:
        open_it(older)
    assert "Upgrade Shoal" in refused.value.hint
    with sqlite3.connect(older / file) as db:
        assert db.execute(f"SELECT version FROM {table}").fetchall() == [(99,)]
    db.close()


def rename_vault_format(folder: Path, version: int) -> None:
    with sqlite3.connect(folder / "study.vault") as db:
        db.execute("UPDATE vault_meta SET value = ? WHERE name = 'format'", (f"shoal-vault/{version}".encode(),))
    db.close()


def test_a_vault_that_a_newer_shoal_wrote_is_refused(older: Path) -> None:
    rename_vault_format(older, head.VERSION + 1)
    with pytest.raises(DataError, match=r"the vault .*newer version of Shoal"):
        open_vault(older)


def test_an_older_vault_is_brought_up_to_date_once(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename_vault_format(older, head.VERSION - 1)
    with pytest.raises(DataError, match=r"older than Shoal 0\.3\.0"):
        open_vault(older)
    applied: list[int] = []
    monkeypatch.setitem(head.MIGRATIONS, head.VERSION, lambda db: applied.append(head.VERSION))
    open_vault(older).close()
    open_vault(older).close()
    assert applied == [head.VERSION]


# -- migrations ------------------------------------------------------------------------------------------------------------


def schema_of(newest: int, migrations: dict[int, stores.Migration], *, unversioned: int = 0) -> Schema:
    metadata = sa.MetaData()
    versions = sa.Table("toy_version", metadata, sa.Column("version", sa.Integer, nullable=False))
    columns = [sa.Column("extra", sa.Integer)] if newest > 1 else []
    sa.Table("toy", metadata, sa.Column("name", sa.Text), *columns)
    return Schema(Versions("toy", newest, migrations), metadata, versions, 1, unversioned)


def add_column(db: sa.Connection) -> None:
    db.execute(sa.text("ALTER TABLE toy ADD COLUMN extra INTEGER"))


def fail(db: sa.Connection) -> None:
    db.execute(sa.text("INSERT INTO toy (name) VALUES ('halfway')"))
    raise DataError("the migration cannot go on.")


@pytest.fixture
def toy(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'toy.db'}"
    engine = stores.open_store(url, schema_of(1, {}), hint="")
    with stores.writing(engine, 1) as db:
        db.execute(sa.text("INSERT INTO toy (name) VALUES ('kept')"))
    engine.dispose()
    return url


def test_migrations_apply_in_order_and_keep_the_rows(toy: str) -> None:
    order: list[int] = []
    steps: dict[int, stores.Migration] = {2: lambda db: (order.append(2), add_column(db))[1], 3: lambda db: order.append(3)}
    engine = stores.open_store(toy, schema_of(3, steps), hint="")
    with engine.connect() as db:
        assert db.execute(sa.text("SELECT name, extra FROM toy")).all() == [("kept", None)]
        assert db.execute(sa.text("SELECT version FROM toy_version")).all() == [(3,)]
    engine.dispose()
    stores.open_store(toy, schema_of(3, steps), hint="").dispose()
    assert order == [2, 3]


def test_a_migration_that_fails_leaves_the_store_as_it_was(toy: str) -> None:
    with pytest.raises(DataError, match="cannot go on"):
        stores.open_store(toy, schema_of(3, {2: add_column, 3: fail}), hint="")
    engine = stores.open_store(toy, schema_of(1, {}), hint="")
    with engine.connect() as db:
        assert [c["name"] for c in sa.inspect(db).get_columns("toy")] == ["name"]
        assert db.execute(sa.text("SELECT name FROM toy")).all() == [("kept",)]
    engine.dispose()


def test_a_version_without_a_path_to_the_newest_is_refused(toy: str) -> None:
    with pytest.raises(DataError, match="version 1 of its tables, which is older"):
        stores.open_store(toy, schema_of(3, {3: add_column}), hint="")


def test_only_sqlite_and_postgresql(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a database URL"):
        stores.connect("no url at all")
    with pytest.raises(UsageError):
        stores.connect("mysql://server/db")
    with pytest.raises(EngineError, match="toy's database cannot be opened"):
        stores.open_store(f"sqlite:///{tmp_path / 'nowhere' / 'toy.db'}", schema_of(1, {}), hint="")


def test_every_store_declares_its_schema() -> None:
    schemas = (registry_database.SCHEMA, workspace_database.SCHEMA, workspace_database.PEOPLE_SCHEMA)
    assert [s.versions.newest for s in schemas] == [3, 1, 1]
    assert len({s.lock for s in schemas}) == 2  # users and workspaces share a database and its queue
