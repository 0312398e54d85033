"""The registry: data holders publish how skewed their populations are, policy makers decide what not to collect."""

from __future__ import annotations

from typing import Any

__all__ = ["Population", "Record", "Registry", "Store", "summarize"]

_WHERE = {
    "Population": "records.population",
    "Record": "records.record",
    "Registry": "answer.query",
    "Store": "keep.store",
    "summarize": "records.summary",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _WHERE:
        return getattr(importlib.import_module(f"shoal.registry.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'shoal.registry' has no attribute {name!r}")
