"""The engines under test: each test that asks for ``target`` runs once on each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engines.targets import CLASSES, Target
from servers import mariadb_server, postgres_server, spark_cluster, spark_connect, spark_session

__all__ = ["mariadb_server", "postgres_server", "spark_cluster", "spark_connect", "spark_session"]

SERVERS = {"postgres": "postgres_server", "mariadb": "mariadb_server", "spark": "spark_session"}

ENGINES = [
    pytest.param("duckdb", marks=pytest.mark.engine),
    pytest.param("postgres", marks=pytest.mark.engine),
    pytest.param("mariadb", marks=pytest.mark.engine),
    pytest.param("sqlite", marks=pytest.mark.engine),
    pytest.param("spark", marks=[pytest.mark.engine, pytest.mark.xdist_group("spark")]),
]


@pytest.fixture(scope="session", params=ENGINES)
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Target:
    """One engine, its server running."""
    name: str = request.param
    handle: Any = request.getfixturevalue(SERVERS[name]) if name in SERVERS else None
    folder: Path = tmp_path_factory.mktemp(name)
    made: Target = CLASSES[name](name, handle, folder)
    return made
