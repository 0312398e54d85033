"""The store's tables: made from the code, their version kept, another version refused."""

from __future__ import annotations

import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from registry_support import AGES, make
from shoal.errors import DataError
from shoal.registry.keep.database import METADATA, VERSION, writing
from shoal.registry.keep.store import Store


def url_of(store: Store) -> str:
    return store.engine.url.render_as_string(hide_password=False)


def test_a_new_store_has_the_tables_of_the_code_and_says_its_version(store):
    assert {t for t in sa.inspect(store.engine).get_table_names() if t.startswith("registry_")} == set(METADATA.tables)
    with store.engine.connect() as db:
        assert db.execute(sa.text("SELECT version FROM registry_version")).all() == [(VERSION,)]


def test_opening_again_changes_nothing(store):
    record = store.submit(make(AGES))
    again = Store(url_of(store))
    assert again.get(record.id) == (record, "current")
    assert again.head() == store.head()
    again.close()


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_another_version_is_refused_in_words_and_left_alone(store, version):
    with writing(store.engine) as db:
        db.execute(sa.text(f"UPDATE registry_version SET version = {version}"))
    with pytest.raises(DataError, match=f"version {version}") as refused:
        Store(url_of(store))
    assert ("Upgrade Shoal" if version > VERSION else "version of Shoal that made it") in refused.value.hint
    with store.engine.connect() as db:
        assert db.execute(sa.text("SELECT version FROM registry_version")).all() == [(version,)]


def test_tables_that_say_nothing_of_their_version_are_refused(store):
    with writing(store.engine) as db:
        db.execute(sa.text("DROP TABLE registry_version"))
    with pytest.raises(DataError, match="version 0"):
        Store(url_of(store))


def test_names_are_kept_as_they_look(store):
    store.submit(make(AGES, holder="St. Mary's"))
    with writing(store.engine) as db:
        assert db.execute(sa.text("SELECT holder FROM registry_records")).scalar() == "stmarys"


def test_a_place_is_opened_while_another_connection_begins_to_write(tmp_path):
    file = tmp_path / "new.db"
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")  # SQLite refuses to change to a write-ahead log at once
    with ThreadPoolExecutor(1) as pool:
        store = pool.submit(Store, f"sqlite:///{file}")
        with contextlib.suppress(TimeoutError):
            store.result(0.3)
        other.execute("ROLLBACK")
        other.close()
        store.result().close()


def test_two_processes_may_open_an_empty_place_at_once(tmp_path):
    url = f"sqlite:///{tmp_path / 'new.db'}"
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(Store, [url] * 4))
    assert {s.head() for s in stores} == {(0, "0" * 64)}
    for s in stores:
        s.close()
