"""A package that is also a verb: ``shoal.predict`` holds functions and can be called, and so do ``attack`` and ``transform``."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class Room(ModuleType):
    """The module of a room; calling it calls the verb of the same name in :mod:`shoal.api`."""

    def __call__(self, *given: Any, **words: Any) -> Any:
        return _verb(self)(*given, **words)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(_verb(self))


def callable_room(name: str) -> None:
    """Make the package ``name`` callable; called once, by its own ``__init__``."""
    sys.modules[name].__class__ = Room


def _verb(room: ModuleType) -> Callable[..., Any]:
    word = room.__name__.rpartition(".")[2]
    verb: Callable[..., Any] = getattr(importlib.import_module(f"shoal.api.{word}"), word)
    return verb
