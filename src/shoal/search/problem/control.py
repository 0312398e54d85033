"""Stopping a search: a time budget, a number of steps, a cancel signal, progress for the caller."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Protocol

from shoal.errors import UsageError
from shoal.model.display import Progress

COMPILING = "preparing the search (compiled once per installation; the time limit does not count it)"

SIDE_STEPS, LONGEST = 32, 60.0
"""Steps, and seconds of which a share, for work on the side."""


class CancelSignal(Protocol):
    """Anything with ``is_set()``, such as ``threading.Event``."""

    def is_set(self) -> bool: ...


class Control:
    """Asks, between two nodes, whether to go on.

    The time budget counts from :meth:`begin`: reading the problem, compiling the kernels and finding a first plan are not
    charged to it. ``steps`` says how often the answer is to go on: the same on every machine, however busy. A cancel signal
    stops the work at any time.

    >>> c = Control(time_budget=1e-9)
    >>> c.stop(), c.reason
    (False, '')
    >>> c.begin()
    >>> c.stop(), c.reason
    (True, 'time budget used up')
    """

    def __init__(
        self,
        *,
        time_budget: float | None = None,
        steps: int | None = None,
        cancel: CancelSignal | None = None,
        progress: Progress | None = None,
    ) -> None:
        if time_budget is not None and not time_budget > 0:
            hint = "Leave it out for no limit."
            raise UsageError(f"the time budget must be above 0 seconds; found {time_budget!r}.", hint=hint)
        self._start = time.perf_counter()
        self._end = float("inf")
        self._budget = time_budget
        self._steps = steps
        self._cancel = cancel
        self._progress = progress
        self._shown = 0.0
        self.reason = ""

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start

    @property
    def seconds_left(self) -> float:
        """Seconds of the time budget that are left; ∞ where there is none, or its clock does not run yet."""
        return self._end - self.seconds

    @property
    def has_clock(self) -> bool:
        """Whether a time budget ends the work, so that kernels must be compiled before its clock starts."""
        return self._budget is not None

    @property
    def counts_steps(self) -> bool:
        """Whether a number of steps ends the work, so that a step must mean the same each time."""
        return self._steps is not None

    def begin(self) -> None:
        """Start the clock of the time budget, if it does not run yet."""
        if self._budget is not None and self._end == float("inf"):
            self._end = self.seconds + self._budget

    def stop(self) -> bool:
        """Whether to stop now; :attr:`reason` then says why."""
        if not self.cancelled() and self.seconds >= self._end:
            self.reason = "time budget used up"
        elif not self.reason and self._steps is not None:
            self._steps -= 1
            self.reason = "" if self._steps >= 0 else "number of steps used up"
        return bool(self.reason)

    def part(self, share: float) -> Control:
        """For work on the side: a share of the time that is left, of a minute at most; of counted steps so many of its own."""
        if self._steps is not None:
            return Control(steps=SIDE_STEPS, cancel=self._cancel)
        return Control(time_budget=max(1e-9, share * min(self.seconds_left, LONGEST)), cancel=self._cancel)

    @contextlib.contextmanager
    def uncounted(self) -> Iterator[None]:
        """Work that the time budget does not count, such as compiling."""
        start = self.seconds
        yield
        self._end += self.seconds - start

    def cancelled(self) -> bool:
        """Whether the caller asked to stop, for any time."""
        if self._cancel is not None and self._cancel.is_set():
            self.reason = "cancelled"
        return self.reason == "cancelled"

    def compiling(self) -> None:
        """Say what the first search of an installation waits for; the clock of the time budget does not run yet."""
        if self._progress is not None:
            self._progress(0.0, COMPILING)

    def show(self, done: float, text: str) -> None:
        """Tell the caller, at most ten times a second."""
        now = self.seconds
        if self._progress is not None and (now - self._shown >= 0.1 or done >= 1.0):
            self._shown = now
            self._progress(min(1.0, max(0.0, done)), text)
