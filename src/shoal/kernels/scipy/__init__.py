"""scipy's rooms where scipy is installed; where it is not, the error that says how to get it.

Predictions that fit, optimise or integrate import from here: ``from shoal.kernels.scipy import optimize`` and
``from shoal.kernels.scipy.special import ndtr`` mean what they mean without ``shoal.kernels``.
"""

from __future__ import annotations

import importlib
from typing import Any

from shoal.errors import need

ROOMS = ("integrate", "optimize", "special", "stats")


def room(name: str) -> Any:
    """One of scipy's rooms by its name."""
    try:
        return importlib.import_module(f"scipy.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "scipy":
            raise  # scipy is there, and broken
        raise need("predict", "scipy") from None


def __getattr__(name: str) -> Any:
    if name not in ROOMS:
        raise AttributeError(name)
    return room(name)
