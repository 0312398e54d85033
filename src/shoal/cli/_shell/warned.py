"""Shoal's own warnings as lines of the command; Python would print them with a place in the source."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from shoal.errors import ShoalWarning


@contextmanager
def warnings_told(say: Callable[[str], None]) -> Iterator[None]:
    """Inside, each of Shoal's warnings is said once where it arises; those of others are left alone."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=ShoalWarning)
        others = warnings.showwarning

        def told(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, ShoalWarning):
                say(f"Note: {message}")
            else:
                others(message, category, *place, **more)

        warnings.showwarning = told
        yield
