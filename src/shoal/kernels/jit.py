"""``njit``: numba's compiler if numba is installed, plain Python if it is not.

numba is loaded, and a kernel compiled, when the kernel is first called: a small table is counted by numpy and needs neither.
Compiled kernels are kept on disk if a folder for them can be written. ``HAVE_NUMBA`` lets a caller choose a numpy path instead.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import tempfile
import threading
from collections.abc import Callable
from numbers import Number
from pathlib import Path
from queue import SimpleQueue
from types import FunctionType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

HAVE_NUMBA = importlib.util.find_spec("numba") is not None and os.environ.get("SHOAL_NO_NUMBA") != "1"


def up_to(rows: int) -> int:
    """The size below which numpy does the work: ``rows``, or any size if numba is not installed."""
    return rows if HAVE_NUMBA else 2**62


def njit(function: F) -> F:
    """Compile a loop without the interpreter lock. It may make arrays, so the main thread runs it in a thread of its own.

    numba runs Python code while it returns a new array, and an exception that a signal raises there (Ctrl-C) breaks the call.
    Python raises such exceptions in the main thread only, which waits here and can be interrupted.
    """
    return cast(F, Kernel(function, in_thread=True)) if HAVE_NUMBA else function


def lean_njit(function: F) -> F:
    """As :func:`njit` for a loop that makes no array of its own: it compiles in half the time, and needs no thread."""
    return cast(F, Kernel(function, _nrt=False, no_cfunc_wrapper=True)) if HAVE_NUMBA else function


def plain(kernel: F, **instead: Callable[..., Any]) -> F:
    """The kernel as Python runs it, for a few steps that are not worth loading numba; with these functions ``instead`` of those
    that it calls by their names."""
    function = getattr(kernel, "py_func", kernel)
    return cast(F, FunctionType(function.__code__, {**function.__globals__, **instead}) if instead else function)


@functools.cache
def plain_throughout(kernel: F) -> F:
    """The kernel as Python runs it, with all kernels that it calls by their names, and those that these call."""
    function = getattr(kernel, "py_func", kernel)
    names = function.__globals__
    called = {n: plain_throughout(names[n]) for n in function.__code__.co_names if hasattr(names.get(n), "py_func")}
    return plain(kernel, **called)


_COMPILING = threading.RLock()  # kernels call one another, so they share one lock


class Kernel:
    """A function that numba compiles when it is first called."""

    def __init__(self, function: Callable[..., Any], *, in_thread: bool = False, **options: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self._in_thread, self._options = function, in_thread, options
        self._compiled: Any = None
        self._callees: dict[str, Kernel] = {}

    def __call__(self, *arguments: Any) -> Any:
        compiled = self._compiled or run_in_thread(self.compile)
        return run_in_thread(compiled, *arguments) if self._in_thread else compiled(*arguments)

    @property
    def signatures(self) -> list[Any]:
        """The types of arguments that it was compiled for so far."""
        return [] if self._compiled is None else list(self._compiled.signatures)

    def compile(self) -> Any:
        """numba's dispatcher of the function. numba looks for the kernels that it calls among the names of its module, so their
        dispatchers take the place of the kernels there."""
        with _COMPILING:
            if self._compiled is None:
                import numba

                names = self.py_func.__globals__
                called = {n: _KERNELS.get(id(names.get(n)), names.get(n)) for n in self.py_func.__code__.co_names}
                self._callees = {name: callee for name, callee in called.items() if isinstance(callee, Kernel)}
                names.update({name: callee.compile() for name, callee in self._callees.items()})
                base = _cache_base()
                before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, f"{base}/kernels-{self._version()}"  # type: ignore[attr-defined]
                try:
                    options: Any = {"nogil": True, "error_model": "numpy", "cache": base is not None, **self._options}
                    compiled = numba.njit(**options)(self.py_func)
                finally:
                    numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
                _KERNELS[id(compiled)] = self
                self._compiled = compiled  # last: another thread may call it from here on
            return self._compiled

    def _sources(self) -> set[str]:
        """What the compiled code depends on: its file, constants of modules, and those of the kernels that it calls."""
        names, file = self.py_func.__globals__, self.py_func.__code__.co_filename
        own = {f"{n}={names[n]!r}" for n in self.py_func.__code__.co_names if isinstance(names.get(n), Number)}
        if os.path.exists(file):
            own.add(f"{file} {os.stat(file).st_mtime_ns}")
        return own.union(*(callee._sources() for callee in self._callees.values()))

    def _version(self) -> str:
        """Changes with each of the sources: numba itself only looks at the kernel's own file."""
        return hashlib.sha256("\n".join(sorted(self._sources())).encode()).hexdigest()[:16]


_KERNELS: dict[int, Kernel] = {}  # the kernel of each dispatcher, by the dispatcher's id: dispatchers live as long as the process


@functools.cache
def _cache_base() -> Path | None:
    """A folder in which compiled kernels can be kept: the one named, the package's own, or the user's; None if there is none."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    for folder in [Path(named)] if named else [Path(__file__).parent / "__pycache__", Path.home() / ".cache" / "shoal"]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(1 << 20))  # a full disk is not a place either
            return folder
        except OSError:
            continue
    return None


class _Worker(threading.Thread):
    """A thread that runs one call after the other: a kernel may take less time than a thread needs to start."""

    def __init__(self) -> None:
        super().__init__(daemon=True)  # after an interrupt the process need not wait for it
        self.calls: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]] | None] = SimpleQueue()
        self.results: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self.start()

    def run(self) -> None:
        while (call := self.calls.get()) is not None:
            try:
                self.results.put((call[0](*call[1]), None))
            except BaseException as error:
                self.results.put((None, error))
            del call  # the arrays of the call need not wait for the next one


_idle: list[_Worker] = []


def run_in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(*arguments)`` in another thread, so that the main thread can be interrupted; other threads just call it."""
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    worker = _idle.pop() if _idle else _Worker()
    if not worker.is_alive():  # this process was forked
        worker = _Worker()
    try:
        worker.calls.put((function, arguments))
        result, error = worker.results.get()
    except BaseException:  # a signal: the thread ends when the call that nobody waits for has ended
        worker.calls.put(None)
        raise
    _idle.append(worker)
    if error is not None:
        raise error
    return result
