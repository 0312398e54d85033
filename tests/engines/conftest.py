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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep groups on one worker: pytest-xdist 3.8 writes the group into an attribute that pytest 9.2 no longer reads."""
    if not getattr(config.option, "loadgroup", False):
        return
    for item in items:
        names = sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group") if mark.args})
        if names and "@" not in item.nodeid.rpartition("]")[2]:
            from _pytest.nodeid import coerce_node_id

            item._id = coerce_node_id(f"{item.nodeid}@{'_'.join(names)}")  # type: ignore[attr-defined]
