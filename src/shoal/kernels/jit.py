"""``njit``: numba where it is installed, plain Python where it is not.

numba is loaded, and a kernel compiled, when it is first called: a small table goes by numpy and needs neither. Compiled kernels
are cached on disk. Where no cache folder can be written, or the cached file is broken, they are compiled again in each process.
``HAVE_NUMBA`` lets a caller choose a numpy path instead.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from numbers import Number
from pathlib import Path
from typing import Any, TypeVar, cast

from shoal.kernels import held

F = TypeVar("F", bound=Callable[..., Any])

HAVE_NUMBA = importlib.util.find_spec("numba") is not None and os.environ.get("SHOAL_NO_NUMBA") != "1"


def up_to(rows: int) -> int:
    """The size below which numpy does the work: ``rows``, or any size where numba is not installed."""
    return rows if HAVE_NUMBA else 2**62


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
    return cast(F, Kernel(function, options)) if HAVE_NUMBA else function


def plain(kernel: F) -> F:
    """The kernel as Python runs it, for a few steps that are not worth loading numba."""
    return cast(F, getattr(kernel, "py_func", kernel))


def loaded_numba() -> Any:
    """numba, spared SciPy's linear algebra: it loads that only to see whether it is there, a third of its own loading.

    If any kernel uses matrix multiplication, numba checks for BLAS again.
    """
    import numba

    linalg: Any = importlib.import_module("numba.np.linalg")
    if "numba.np.arraymath" not in sys.modules and hasattr(linalg, "ensure_blas"):
        look, linalg.ensure_blas = linalg.ensure_blas, _has_scipy
        try:
            importlib.import_module("numba.np.arraymath").ensure_blas = look  # type: ignore[attr-defined]
        finally:
            linalg.ensure_blas = look
    return numba


def _has_scipy() -> None:
    if importlib.util.find_spec("scipy") is None:
        raise ImportError


_JOINING = threading.RLock()  # kernels call one another, so all of them share it
_BEHIND: dict[int, Kernel] = {}  # the kernel behind each of numba's forms, by the form's id: forms live as long as the process


class Kernel:
    """A function that numba takes over when it is first called."""

    def __init__(self, function: Callable[..., Any], options: dict[str, bool]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self._options = function, options
        self._compiler: Any = None
        self._called: dict[str, Kernel] = {}

    def __call__(self, *arguments: Any) -> Any:
        try:
            return held.call(self._compiler or self.compiler(), arguments)
        except OSError:  # the cache cannot be written after all, as on a full disk; the loops themselves touch no file
            return held.call(self.compiler(cache=False), arguments)

    @property
    def signatures(self) -> list[Any]:
        """The types of arguments that it was compiled for so far."""
        return [] if self._compiler is None else list(self._compiler.signatures)

    @property
    def is_ready(self) -> bool:
        """Whether a call would compile nothing: it was called before, or what was compiled once is kept on disk and fresh."""
        if self.signatures:
            return True
        file: Any = getattr(getattr(self.compiler(), "_cache", None), "_cache_file", None)
        try:
            return hasattr(file, "_load_index") and bool(file._load_index())
        except Exception:  # a broken file fails in many ways, and cannot be used as a cache
            return False

    def compiler(self, *, cache: bool = True) -> Any:
        """numba's form of the function. Kernels that it calls are found among the names of its module, so they are put there."""
        with _JOINING:
            if self._compiler is None or not cache:
                self._compiler = self._joined(cache)  # only whole: another thread may call it from here on
            return self._compiler

    def _joined(self, cache: bool) -> Any:
        njit_with: Any = loaded_numba().njit
        options = {"nogil": True, "cache": cache and _cache_is_writable(), "error_model": "numpy", **self._options}
        names = self.py_func.__globals__
        for name in self.py_func.__code__.co_names:
            called = names.get(name)
            if kernel := called if isinstance(called, Kernel) else _BEHIND.get(id(called)):
                self._called[name] = kernel
        names.update({name: called.compiler(cache=cache) for name, called in self._called.items()})
        compiler = njit_with(**options)(self.py_func)
        _BEHIND[id(compiler)] = self
        self._watch_callees(compiler)
        return compiler

    def files(self) -> set[str]:
        """The files that the compiled code comes from: its own, and those of all kernels that it calls."""
        return {self.py_func.__code__.co_filename}.union(*(called.files() for called in self._called.values()))

    def constants(self) -> tuple[tuple[str, str], ...]:
        """The numbers of modules that are compiled in, those of the kernels that it calls among them."""
        names = self.py_func.__globals__
        own = {(n, repr(names[n])) for n in self.py_func.__code__.co_names if isinstance(names.get(n), Number)}
        return tuple(sorted(own.union(*(called.constants() for called in self._called.values()))))

    def _watch_callees(self, compiler: Any) -> None:
        """Have cached code thrown away where a kernel it calls or a number of another module has changed: numba looks at the
        file of the caller only."""
        file: Any = getattr(getattr(compiler, "_cache", None), "_cache_file", None)
        if hasattr(file, "_source_stamp"):
            stats = [os.stat(name) for name in sorted(self.files()) if os.path.exists(name)]
            file._source_stamp = (*((s.st_mtime_ns, s.st_size) for s in stats), *self.constants())
