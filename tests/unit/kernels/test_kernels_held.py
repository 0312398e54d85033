"""A signal that comes while compiled code runs is handled right after it, by its own handler, and is never lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.kernels import held
from shoal.kernels.jit import HAVE_NUMBA

seen: list[str] = []


@pytest.fixture(autouse=True)
def own_handlers() -> Iterator[None]:
    """SIGINT raises, SIGTERM and SIGALRM write down that they came; afterwards all is as before."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: seen.append("ended"))
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    seen.clear()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def work(*numbers: int) -> str:
    for number in numbers:
        os.kill(os.getpid(), number)
    seen.append("whole")
    return "done"


def test_nothing_changes_without_a_signal() -> None:
    handlers = [signal.getsignal(number) for number in held._NUMBERS]
    assert held.call(work, ()) == "done"
    assert [signal.getsignal(number) for number in held._NUMBERS] == handlers


def test_ctrl_c_is_raised_when_the_work_is_done() -> None:
    with pytest.raises(KeyboardInterrupt):
        held.call(work, (signal.SIGINT,))
    assert seen == ["whole"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_that_raises_does_not_swallow_another() -> None:
    with pytest.raises(KeyboardInterrupt):
        held.call(work, (signal.SIGTERM, signal.SIGINT))
    assert seen == ["whole", "ended"]


def test_the_result_stays_where_a_handler_only_takes_note() -> None:
    assert held.call(work, (signal.SIGTERM, signal.SIGTERM)) == "done"
    assert seen == ["whole", "ended"]


def test_an_ignored_signal_stays_ignored() -> None:
    assert held.call(work, (signal.SIGALRM,)) == "done"
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_IGN


def test_the_error_of_the_work_comes_through_and_handlers_are_back() -> None:
    def fail() -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        held.call(fail, ())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_set_meanwhile_stays() -> None:
    def other(*_: Any) -> None:
        seen.append("other")

    held.call(signal.signal, (signal.SIGTERM, other))
    assert signal.getsignal(signal.SIGTERM) is other


def test_calls_inside_calls_wait_for_the_outermost() -> None:
    def outer() -> None:
        held.call(work, (signal.SIGINT,))
        seen.append("outer")

    with pytest.raises(KeyboardInterrupt):
        held.call(outer, ())
    assert seen == ["whole", "outer"]


def test_other_threads_call_straight_away() -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(held.call(lambda: signal.getsignal(signal.SIGINT), ())))
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


LOOP = """
import numpy as np
from shoal.kernels.jit import njit


@njit
def loop(rounds):
    out = np.zeros(4, np.uint64)
    for i in range(rounds):
        out[i & 3] = out[(i + 1) & 3] * np.uint64(6364136223846793005) + np.uint64(i)
    return out, out.copy()
"""
STOPPED = """
import signal
import loop

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
loop.loop.compiler()
try:
    signal.setitimer(signal.ITIMER_REAL, 0.02)  # while it is compiled, which takes longer
    while True:
        loop.loop(3)
except KeyboardInterrupt:
    print("compiled", len(loop.loop.signatures))
try:
    while True:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        loop.loop(100_000_000)
except KeyboardInterrupt:
    print("stopped", signal.getsignal(signal.SIGALRM) is stop)
"""


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
def test_a_kernel_is_stopped_without_harm(tmp_path: Path) -> None:
    """numba runs Python while it hands arrays over: an exception raised there ended the process with a segmentation fault.

    One that was raised while it compiled could be lost, and the kernel with it.
    """
    (tmp_path / "loop.py").write_text(LOOP)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", STOPPED], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["compiled", "1", "stopped", "True"])
