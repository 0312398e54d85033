"""Shoal: how well do people hide in a table? Measure it, predict it, improve it, prove it.

The names below are the public face; each room loads when its name is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_LAZY = {
    "open": ("shoal.engines.open", "open"),
    "measure": ("shoal.api.measure", "measure"),
    "inspect": ("shoal.api.inspect", "inspect"),
    "anonymize": ("shoal.api.anonymize", "anonymize"),
    "Policy": ("shoal.release.policy", "Policy"),
    "Vault": ("shoal.protector", "Vault"),
    "Registry": ("shoal.registry", "Registry"),
    "Questionnaire": ("shoal.predict.questionnaire", "Questionnaire"),
}
_ROOMS = ("datasets", "engines", "errors", "hierarchies", "measures", "model", "predict", "protector", "registry", "search", "transform")

__all__ = ["__version__", *sorted(_LAZY), *_ROOMS]

if TYPE_CHECKING:
    from shoal import datasets, errors, hierarchies, measures, model, predict, search, transform
    from shoal.engines.open import open


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
    return sorted(__all__)
