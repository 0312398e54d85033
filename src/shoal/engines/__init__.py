"""Tables wherever they live: open, COUNT, RECODE, and the quirks of each engine; nothing else.

``open`` gives a :class:`~shoal.engines.table.Table`; everything above this room speaks to that. Heavy parts load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.engines.open import open
    from shoal.engines.table import Recoded, Table

__all__ = ["Recoded", "Table", "open"]

_WHERE = {"open": "shoal.engines.open", "Table": "shoal.engines.table", "Recoded": "shoal.engines.table"}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        import importlib

        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'shoal.engines' has no attribute '{name}'")
