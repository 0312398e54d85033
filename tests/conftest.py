"""Fixtures that every test may use."""

from __future__ import annotations

import atexit
import gc
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from shoal.model import seed

ROOT = Path(__file__).resolve().parent.parent
STATE = Path(tempfile.mkdtemp(prefix="shoal-state-"))  # what Shoal remembers between runs
os.environ["XDG_STATE_HOME"] = str(STATE)
atexit.register(shutil.rmtree, STATE, ignore_errors=True)
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".pytest_cache" / "numba"))

gc.disable()  # until the tests are collected: looking through them again and again takes an eighth of that time

# pytest rewrites the assertions of every package with a plugin. Those of Shoal's own source are no tests, and rewriting them took
# each worker of a fresh checkout ten seconds.
for finder in sys.meta_path:
    getattr(finder, "_must_rewrite", set()).discard("shoal")
    getattr(finder, "_marked_for_rewrite_cache", {}).clear()

# No deadline: a slow machine must not fail a test. The same examples every time; SHOAL_EXPLORE=1 generates new ones.
settings.register_profile(
    "shoal", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=os.environ.get("SHOAL_EXPLORE") != "1"
)
settings.load_profile("shoal")


class Draws:
    """The draws of secret seeds in tests: the same in every run, so that no test depends on chance."""

    def __init__(self) -> None:
        self.random = Random(0)

    def randbelow(self, limit: int) -> int:
        return self.random.randrange(limit)


DRAWS = Draws()
if os.environ.get("SHOAL_EXPLORE") != "1":
    seed.secrets = DRAWS  # type: ignore[assignment]


def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> None:
    DRAWS.random.seed(f"{fixturedef.argname} of {request.node.name}")


def pytest_runtest_setup() -> None:
    """No test sees the releases of another one in the ledger."""
    shutil.rmtree(STATE / "shoal" / "releases", ignore_errors=True)


def pytest_runtest_call(item: pytest.Item) -> None:
    DRAWS.random.seed(f"{item.path.name} {item.name}")


MARKS = {
    "postgres_server": "engine", "mariadb_server": "engine", "spark_cluster": "engine", "spark_connect": "engine",
    "spark_session": "engine", "browser": "browser", "shared_data": "data", "reference": "data",
}  # fmt: skip
"""A test that uses one of these fixtures gets the mark: ``run.py check`` leaves it out."""


def slow_tests() -> set[str]:
    """Tests that tests/times.txt names: too slow for ``run.py check``."""
    lines = (ROOT / "tests" / "times.txt").read_text(encoding="utf-8").splitlines()
    return {line.split(maxsplit=1)[1] for line in lines if "::" in line and not line.startswith("#")}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "xdist_group: tests that one worker runs")  # unknown with -p no:xdist


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by what they need, and keep those of a group on one worker."""
    slow = slow_tests()
    for item in items:
        if item.nodeid.partition("[")[0] in slow:
            item.add_marker(pytest.mark.slow)
        for name in MARKS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARKS[name])
        if item.get_closest_marker("xdist_group") is None and is_grouped(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
        if getattr(config.option, "loadgroup", False):
            write_group(item)


def pytest_collection_finish() -> None:
    """A million objects of collected tests and loaded modules stay to the end: looking through them for cycles is no use."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, *gc.get_threshold()[1:])


def write_group(item: pytest.Item) -> None:
    """pytest-xdist 3.8 writes the group into an attribute that pytest 9.2 no longer reads."""
    names = sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group") if mark.args})
    if names and "@" not in item.nodeid.rpartition("]")[2]:
        from _pytest.nodeid import coerce_node_id

        item._id = coerce_node_id(f"{item.nodeid}@{'_'.join(names)}")  # type: ignore[attr-defined]


def is_grouped(item: pytest.Item) -> bool:
    """Whether a test goes with its file: the file has a fixture that two workers would each build, or the test is quick.

    Handing out quick tests one by one costs pytest-xdist more the more tests there were before.
    """
    known = getattr(item, "_fixtureinfo", None)
    if known is not None and any(d.scope == "module" for ds in known.name2fixturedefs.values() for d in ds[-1:]):
        return True
    return item.nodeid.startswith(("tests/unit/", "tests/laws/", "src/")) and item.get_closest_marker("slow") is None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets (``SHOAL_DATA``, default ``../shared/data``)."""
    folder = Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no public data sets: set SHOAL_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def reference(shared_data: Path) -> dict[str, Any]:
    """Verified reference values: ``reference["000"]["ch2.H_example"]["value"]``."""
    file = shared_data.parent / "design" / "reference-values.json"
    if not file.is_file():
        pytest.skip("the file of verified reference values is not beside the data sets")
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded
