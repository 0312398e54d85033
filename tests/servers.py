"""Session fixtures: real PostgreSQL, MariaDB and Spark servers on loopback, one of each per test process.

Import them by name in a ``conftest.py``. A server that cannot be had skips its tests with the reason, and fails them where
``SHOAL_CI=1`` says that they must run.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_FILE = Path(__file__).resolve().parent.parent / "tools" / "servers.py"


def _load() -> Any:
    if "shoal_tools_servers" not in sys.modules:
        spec = importlib.util.spec_from_file_location("shoal_tools_servers", _FILE)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["shoal_tools_servers"] = module
        spec.loader.exec_module(module)
    return sys.modules["shoal_tools_servers"]


tools = _load()


def need_server(start: Callable[[], Any]) -> Any:
    """Start a server; skip where it cannot be had, fail in CI. A second try, since its port may be taken just before it binds."""
    try:
        try:
            return start()
        except tools.Unavailable:
            raise
        except RuntimeError:
            return start()
    except tools.Unavailable as reason:
        if os.environ.get("SHOAL_CI") == "1":
            pytest.fail(f"in CI this server must run: {reason}")
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    server = need_server(tools.start_postgres)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[Any]:
    server = need_server(tools.start_mariadb)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def spark_cluster() -> Iterator[Any]:
    """A standalone master with two workers. A process holds one Spark driver, so use it from a process of its own."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    from shoal.engines.spark.session import packaged_java, shim

    packaged = packaged_java()
    server = need_server(lambda: tools.start_spark_cluster(java=shim(packaged) if packaged else None))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def spark_connect() -> Iterator[Any]:
    """A Spark Connect server; the same rule."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    server = need_server(tools.start_spark_connect)
    yield server
    server.stop()


def spark_arguments(folder: Path) -> str:
    """``PYSPARK_SUBMIT_ARGS`` for a small, quick driver whose warehouse and scratch files lie in ``folder``."""
    conf = {
        "spark.driver.extraJavaOptions": f"{tools.JAVA_OPTIONS} -Dderby.system.home={folder}",
        "spark.executor.extraJavaOptions": tools.JAVA_OPTIONS,
        "spark.driver.memory": "1g",
        "spark.executor.memory": "512m",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.driver.host": tools.HOST,
        "spark.driver.bindAddress": tools.HOST,
    }
    return shlex.join([x for k, v in conf.items() for x in ("--conf", f"{k}={v}")] + ["pyspark-shell"])


@pytest.fixture(scope="session")
def spark_session() -> Iterator[Any]:
    """A local Spark of two threads in this process, with a temporary warehouse."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    from shoal.engines.spark.session import session

    folder = tools.work_folder("shoal-sl-")
    os.environ["PYSPARK_SUBMIT_ARGS"] = spark_arguments(folder)
    os.environ["SPARK_LOCAL_IP"] = tools.HOST
    spark = session("local[2]")
    yield spark
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sockets of py4j that close on their own
        stop_spark(spark)
    shutil.rmtree(folder, ignore_errors=True)
    del os.environ["PYSPARK_SUBMIT_ARGS"]


def stop_spark(spark: Any) -> None:
    """Stop the session and the Java process behind it."""
    from pyspark import SparkContext

    spark.stop()
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(20)
        SparkContext._gateway = None
        SparkContext._jvm = None
