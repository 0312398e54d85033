"""A workspace on each database that it can be kept in."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from servers import postgres_server
from shoal.studio.workspace import Workspace

__all__ = ["either", "postgres_server"]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.engine)])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A function that opens the same workspace again and again."""
    if request.param == "sqlite":
        yield lambda: Workspace(tmp_path / "studio")
        return
    import psycopg

    server, name = request.getfixturevalue("postgres_server"), f"studio_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}"')
    yield lambda: Workspace(tmp_path / "studio", store=f"{server.url.rpartition('/')[0]}/{name}")
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
