"""Signals that wait: what Python would run at a signal (Ctrl-C raises) is run when a call into foreign code has come back.

numba runs lines of Python while it hands a new array over, and takes no exception there: a Ctrl-C that came during a long loop
was raised at just that place, and Python ended with a segmentation fault. While it compiles, an exception can be lost.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what signal wraps; its enumerations take 30 µs per call
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_MAIN = threading.main_thread().ident
_NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGVTALRM") if hasattr(signal, name)]


class _Held:
    """Stands in for one signal's handler; passes on at once whatever comes when nothing waits any more."""

    def __init__(self, number: int, handler: Callable[[int, FrameType | None], Any]) -> None:
        self.number, self.handler = number, handler
        self.waiting, self.came = True, False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.waiting:
            self.came = True
        else:
            self.handler(number, frame)


def call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """``function(*arguments)``; a signal with a handler of Python's that comes meanwhile is handled right after it.

    Only the main thread handles signals, so other threads call straight away.
    """
    if threading.get_ident() != _MAIN:
        return function(*arguments)
    handlers = [(number, _signal.getsignal(number)) for number in _NUMBERS]
    held = [_Held(number, handler) for number, handler in handlers if callable(handler)]
    try:
        for one in held:
            _signal.signal(one.number, one)
        return function(*arguments)
    finally:
        _release(held)


def _release(held: list[_Held]) -> None:
    for one in held:
        one.waiting = False  # first for all: a handler that raises below leaves none of them holding
    for one in held:
        if _signal.getsignal(one.number) is one:
            _signal.signal(one.number, one.handler)
    _hand_on([one for one in held if one.came])


def _hand_on(came: list[_Held]) -> None:
    if came:
        try:
            came[0].handler(came[0].number, None)
        finally:
            _hand_on(came[1:])
