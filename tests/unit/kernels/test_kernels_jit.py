"""Compiled code that is kept on disk is never older than the code it was made from."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import nursery
from shoal.kernels.jit import HAVE_NUMBA, run_in_thread


def run(code: str, folder: Path) -> list[str]:
    """The words that a program prints which finds its modules in the folder, and keeps what it compiles there."""
    ended, printed, said = nursery.run(code, folder, {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")})
    assert ended == 0, said
    return printed.split()


INNER = "from shoal.kernels.jit import lean_njit\n\n\n@lean_njit\ndef inner(x):\n    return x + {}\n"
OUTER = (
    "from inner import inner\nfrom shoal.kernels.jit import lean_njit\n\n\n@lean_njit\ndef outer(x):\n    return 10 * inner(x)\n"
)
NUMBER = OUTER.replace("import inner", "import ADD").replace("inner(x)", "(x + ADD)")


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
@pytest.mark.parametrize(("outer", "inner"), [(OUTER, INNER), (NUMBER, "ADD = {}\n")], ids=["kernel", "number"])
def test_a_kernel_is_compiled_again_when_what_it_takes_from_elsewhere_has_changed(tmp_path: Path, outer: str, inner: str) -> None:
    (tmp_path / "outer.py").write_text(outer)
    found = []
    for add in (1, 22):
        (tmp_path / "inner.py").write_text(inner.format(add))
        code = "import outer; print(outer.outer(3), sum(outer.outer.compile().stats.cache_hits.values()))"
        found += [run(code, tmp_path) for _ in range(2)]
    assert found == [["40", "0"], ["40", "1"], ["250", "0"], ["250", "1"]]


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
def test_a_second_caller_of_the_same_kernel_knows_what_it_calls(tmp_path: Path) -> None:
    """The first caller puts numba's form of the called kernel in the place of the kernel: the second finds it there."""
    (tmp_path / "outer.py").write_text(OUTER + OUTER[OUTER.index("@") :].replace("outer", "further").replace("10", "100"))
    (tmp_path / "inner.py").write_text(INNER.format(1))
    code = "import outer; print(outer.outer(3), outer.further(3), outer.outer._sources() == outer.further._sources())"
    assert run(code, tmp_path) == ["40", "400", "True"]


WAITING = """
import sys
import numpy as np
from shoal.kernels import group
group.WORTH = 60_000
keys = np.arange(group.WORTH + 1, dtype=np.uint64)[::-1] % np.uint64(1000)
def loaded(n):
    found = group.group_keys(keys[:n], 1000)
    assert found.n == min(n, 1000) and (keys[:n][found.first[found.ids]] == keys[:n]).all()
    assert found.ids[0] == 0 and (np.diff(found.first) > 0).all()
    return "numba" in sys.modules
rows = {rows}
assert not loaded(group.FEW - 1)
while group._passed[0] + rows <= group.WORTH:
    assert not loaded(rows)
print(loaded(rows), group._passed[0])
"""


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is loaded without numba")
@pytest.mark.parametrize(("rows", "waited"), [("group.WORTH // 3", 60_000), ("group.WORTH", 60_000), ("group.WORTH + 1", 0)])
def test_numba_is_loaded_when_it_pays(rows: str, waited: int) -> None:
    """Numpy passes over as many rows as loading numba is worth; one more loads it. Groups are the same."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", WAITING.replace("{rows}", rows)], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", str(waited)]


TOGETHER = """
import threading
from shoal.kernels import jit
import outer
made = jit.Kernel.compile
def slow(self):  # the first thread is held between the outer kernel and the one it calls
    if self is outer.inner and threading.current_thread() is first:
        entered.set()
        gone.wait(2)
    return made(self)
jit.Kernel.compile = slow
entered, gone, found = threading.Event(), threading.Event(), []
def call():
    try:
        found.append(str(outer.outer(3)))
    except Exception as error:
        found.append(type(error).__name__)
    gone.set()
first, second = threading.Thread(target=call), threading.Thread(target=call)
first.start(); entered.wait(); second.start(); first.join(); second.join()
print(*found)
"""


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
def test_two_threads_may_be_the_first_to_call_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "inner.py").write_text(INNER.format(1))
    assert run(TOGETHER, tmp_path) == ["40", "40"]


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
loop.loop(3)
for _ in range(3):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        loop.loop(300_000_000)
        print("not interrupted")
    except KeyboardInterrupt:
        pass
print(len(loop.loop(3)))
"""


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
def test_a_kernel_that_makes_arrays_can_be_interrupted_and_called_again(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    assert run(STOPPED, tmp_path) == ["2"]


def test_only_the_main_thread_starts_another() -> None:
    assert run_in_thread(threading.current_thread) is not threading.current_thread()
    seen: list[bool] = []
    other = threading.Thread(target=lambda: seen.append(run_in_thread(threading.current_thread) is threading.current_thread()))
    other.start()
    other.join()
    assert seen == [True]
    with pytest.raises(OSError, match="full"):
        run_in_thread(_fail)


def _fail() -> None:
    raise OSError("full")


def test_one_thread_runs_one_call_after_the_other() -> None:
    with pytest.raises(OSError, match="full"):
        run_in_thread(_fail)
    assert len({run_in_thread(threading.get_ident) for _ in range(20)}) == 1


INTERRUPTED = """
import os, signal, threading
from shoal.kernels.jit import run_in_thread

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
first, done = run_in_thread(threading.current_thread), threading.Event()

def wait():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
    done.wait()
    return "of the first call"

try:
    run_in_thread(wait)
except KeyboardInterrupt:
    print("interrupted")
print(run_in_thread(threading.current_thread) is first, run_in_thread(str, "of the next call"))
done.set()
first.join()
if not (child := os.fork()):
    os._exit(run_in_thread(int, "7"))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked")
def test_an_interrupted_thread_ends_with_its_call_and_a_forked_process_has_its_own() -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], env=env, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.splitlines() == ["interrupted", "False of the next call", "7"]
