"""``njit``: numba where it is installed, plain Python where it is not.

Kernels are compiled on first use and cached on disk. Where no cache folder can be written, or the cached file is broken,
they are compiled anew in each process. ``HAVE_NUMBA`` lets a caller choose a numpy path instead.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

HAVE_NUMBA = importlib.util.find_spec("numba") is not None and os.environ.get("SHOAL_NO_NUMBA") != "1"


@functools.cache
def _cache_is_writable() -> bool:
    """Whether numba has a folder for its cache: the one named, the package's own, or the user's."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    candidates = [Path(named)] if named else [Path(__file__).parent / "__pycache__", Path.home() / ".cache"]
    for folder in candidates:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return True
        except OSError:
            continue
    return False


def njit(function: F) -> F:
    """Compile without the interpreter lock, cached on disk when possible."""
    return _compile(function)


def lean_njit(function: F) -> F:
    """As :func:`njit` for a loop that makes no array of its own: it then compiles in about half the time."""
    return _compile(function, _nrt=False, no_cfunc_wrapper=True)


def _compile(function: F, **options: bool) -> F:
    if not HAVE_NUMBA:
        return function
    import numba

    compiler: Any = numba.njit
    return cast(F, compiler(nogil=True, cache=_cache_is_writable(), error_model="numpy", **options)(function))
