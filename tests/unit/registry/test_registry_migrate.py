"""Versions of the store's tables: made by migrations, moved up and down, refused when they do not fit."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from registry_support import AGES, make
from shoal.errors import DataError
from shoal.registry import migrate
from shoal.registry.keep.store import Store, upgrade, writing
from shoal.registry.keep.tables import META
from shoal.registry.records.population import Population


def url_of(store: Store) -> str:
    return store.engine.url.render_as_string(hide_password=False)


def test_the_newest_migration_is_the_head():
    from alembic.script import ScriptDirectory

    with sa.create_engine("sqlite://").connect() as db:
        assert ScriptDirectory.from_config(migrate.VERSIONS.config(db)).get_heads() == [migrate.HEAD]


def test_migrations_make_exactly_the_tables_of_the_code(store):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with store.engine.connect() as db:
        context = MigrationContext.configure(db, opts={"version_table": migrate.VERSIONS.table, "compare_type": True})
        assert compare_metadata(context, META) == []


def test_down_and_up_again_keeps_every_record_and_finds_its_area(store):
    record = store.submit(make(AGES, population=Population.parse("NL/Utrecht/Amersfoort@2021;women")))
    head = store.head()
    with writing(store.engine) as db:
        migrate.VERSIONS.downgrade(db, "0001")
    with pytest.raises(DataError, match="version 0001; this program needs") as refused:
        Store(url_of(store))
    assert "shoal registry migrate" in refused.value.hint
    assert upgrade(url_of(store)) == ("0001", migrate.HEAD)
    again = Store(url_of(store))
    assert again.topic(record.codes, str(record.population)) == [record]
    assert again.head() == head
    assert again.neighbours(record.codes, "NL/Utrecht") == [(str(record.population), record.summary.statistics["kappa"].value)]
    again.close()


def test_tables_from_before_versions_were_kept_are_taken_over(store):
    record = store.submit(make(AGES))
    with writing(store.engine) as db:
        migrate.VERSIONS.downgrade(db, "0001")
        db.execute(sa.text("DROP TABLE registry_version"))
    with pytest.raises(DataError, match="version 0001"):
        Store(url_of(store))
    assert upgrade(url_of(store)) == ("0001", migrate.HEAD)
    again = Store(url_of(store))
    assert again.get(record.id) == (record, "current")
    again.close()


def test_a_newer_store_is_refused_and_left_alone(store):
    with writing(store.engine) as db:
        db.execute(sa.text("UPDATE registry_version SET version_num = '9999'"))
    for open_it in (Store, upgrade):
        with pytest.raises(DataError, match="version 9999"):
            open_it(url_of(store))


def test_names_are_kept_as_they_look_and_written_again_on_the_way_down(store):
    store.submit(make(AGES, holder="St. Mary's"))
    names = "SELECT holder FROM registry_records"
    with writing(store.engine) as db:
        assert db.execute(sa.text(names)).scalar() == "stmarys"
        migrate.VERSIONS.downgrade(db, "0002")
        assert db.execute(sa.text(names)).scalar() == "St. Mary's"
        migrate.upgrade(db)
        assert db.execute(sa.text(names)).scalar() == "stmarys"


def test_migrating_twice_changes_nothing(store):
    assert upgrade(url_of(store)) == (migrate.HEAD, migrate.HEAD)


def test_base_drops_every_table(store):
    with writing(store.engine) as db:
        migrate.VERSIONS.downgrade(db, "base")
    left = {name for name in sa.inspect(store.engine).get_table_names() if name.startswith("registry_")}
    assert left <= {migrate.VERSIONS.table}


def test_two_processes_may_open_an_empty_place_at_once(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    url = f"sqlite:///{tmp_path / 'new.db'}"
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(Store, [url] * 4))
    assert {s.head() for s in stores} == {(0, "0" * 64)}
    for s in stores:
        s.close()
