"""The registry's stores: SQLite, and a real PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from servers import postgres_server
from shoal.registry.keep.store import Store

__all__ = ["postgres_server", "store"]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.engine)])
def store(request: pytest.FixtureRequest, tmp_path) -> Iterator[Store]:
    if request.param == "sqlite":
        opened = Store(f"sqlite:///{tmp_path / 'registry.db'}")
        yield opened
        opened.close()
        return
    import psycopg

    server, name = request.getfixturevalue("postgres_server"), f"registry_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
    opened = Store(server.url.rsplit("/", 1)[0] + "/" + name)
    yield opened
    opened.close()
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
