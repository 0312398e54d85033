"""Shoal: how well do people hide in a table? Measure it, predict it, improve it, prove it.

The names below are the public face; each room loads when its name is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

_LAZY = {
    "Policy": ("shoal.release.policy.policy", "Policy"),
    "Questionnaire": ("shoal.predict.questionnaire.questionnaire", "Questionnaire"),
    "Registry": ("shoal.registry", "Registry"),
    "Vault": ("shoal.protector", "Vault"),
    "anonymize": ("shoal.api.anonymize", "anonymize"),
    "inspect": ("shoal.api.inspect", "inspect"),
    "measure": ("shoal.api.measure", "measure"),
    "open": ("shoal.engines.open", "open"),
}
_ROOMS = frozenset(
    ("attack", "datasets", "engines", "errors", "hierarchies", "measures", "model")
    + ("predict", "protector", "registry", "release", "report", "search", "steps", "transform")
)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        module, attribute = _LAZY[name]
        value = getattr(importlib.import_module(module), attribute)
    elif name in _ROOMS:
        value = importlib.import_module(f"shoal.{name}")
    else:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({"__version__", *_LAZY, *_ROOMS})
