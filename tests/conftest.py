"""Fixtures that every test may use."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".pytest_cache" / "numba"))

# A slow machine is no failure. The same examples every time, so that no run fails by chance; SHOAL_EXPLORE=1 draws new ones.
settings.register_profile(
    "shoal", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=os.environ.get("SHOAL_EXPLORE") != "1"
)
settings.load_profile("shoal")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share what is made once for their file stay on one worker: two workers would each make it."""
    for item in items:
        known = getattr(item, "_fixtureinfo", None)
        shared = known is not None and any(d.scope == "module" for ds in known.name2fixturedefs.values() for d in ds[-1:])
        if shared and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets (``SHOAL_DATA``, default ``../shared/data``)."""
    folder = Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the public data sets are not here: set SHOAL_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def reference(shared_data: Path) -> dict[str, Any]:
    """Verified reference values: ``reference["000"]["ch2.H_example"]["value"]``."""
    file = shared_data.parent / "design" / "reference-values.json"
    if not file.is_file():
        pytest.skip("the file of verified reference values is not beside the data sets")
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded
