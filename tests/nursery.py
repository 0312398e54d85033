"""A process that has loaded the libraries and then forks: a program starts at once, and still has a process of its own.

Starting Python and loading Shoal takes about two seconds, mostly longer than what a short program of a test does. A child is as
fresh as a process of ``python -c``: its environment, folder, streams and warnings are its own, and nothing ran before in it.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

LOADED = """
import importlib, pkgutil, warnings

with warnings.catch_warnings():
    warnings.simplefilter("error")
    import duckdb, numpy, pyarrow.compute, pyarrow.csv, pyarrow.parquet
    import shoal
    for name in ("anonymize", "attack", "check", "inspect", "measure", "predict", "verify"):
        getattr(shoal, name)
    import shoal.__main__, shoal.cli
    for package in ("attacks", "cli", "engines.files", "engines.recode", "release", "report", "search"):
        for module in pkgutil.walk_packages(importlib.import_module(f"shoal.{package}").__path__, f"shoal.{package}."):
            try:
                module.name.endswith("__main__") or importlib.import_module(module.name)
            except ImportError:
                pass  # of a package that is not installed
    try:
        import cryptography.hazmat.primitives.asymmetric.ed25519, pandas, pyarrow.pandas_compat
        import scipy.optimize, scipy.special, scipy.stats
        import numba
        numba.njit(lambda: None)()  # loads its compiler
    except ImportError:
        pass
"""
"""Loads everything that a command may need; it compiles nothing of Shoal and reads no data."""
NURSERY = f"""
import atexit, gc, json, os, select, signal, socket, sys, traceback, types
{LOADED}
gc.freeze()


def live(job, streams):
    code = 1
    try:
        for number, handle in enumerate(streams):
            os.dup2(handle, number)
            os.close(handle)
        os.environ.clear()
        os.environ.update(job["env"])
        os.chdir(job["folder"])
        sys.path[1:1] = [p for p in job["env"].get("PYTHONPATH", "").split(os.pathsep) if p and p not in sys.path]
        sys.argv = ["-c", *job["arguments"]]
        sys.modules["__main__"] = program = types.ModuleType("__main__")
        if job["strict"]:
            warnings.simplefilter("error")
        exec(compile(job["code"], "<string>", "exec"), program.__dict__)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)


def reap(number, frame, options=os.WNOHANG):
    while ends:
        pid, status = os.waitpid(-1, options)
        if not pid:
            break
        try:
            os.write(ends[pid], str(os.waitstatus_to_exitcode(status)).encode())
        except BrokenPipeError:
            pass  # nobody waits for it
        os.close(ends.pop(pid))


door, others, ends = socket.socket(fileno=int(sys.argv[1])), socket.socket(fileno=int(sys.argv[2])), {{}}
signal.signal(signal.SIGCHLD, reap)
while True:
    if others in select.select([door, others], [], [])[0]:
        with others.accept()[0] as asking:
            said, handles, _, _ = socket.recv_fds(asking, 1 << 20, 4)
    else:
        said, handles, _, _ = socket.recv_fds(door, 1 << 20, 4)
        if not said:
            break
    *streams, ended = handles
    signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGCHLD}})
    pid = os.fork()
    if pid == 0:
        door.close(), others.close()
        for handle in (ended, *ends.values()):
            os.close(handle)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {{signal.SIGCHLD}})
        live(json.loads(said), streams)
    ends[pid] = ended
    os.write(ended, f"{{pid}} ".encode())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {{signal.SIGCHLD}})
    for handle in streams:
        os.close(handle)
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGCHLD}})
reap(0, None, options=0)
"""


COMMAND = "import sys\nfrom shoal.__main__ import main\nsys.argv[0] = 'shoal'\nmain()"
PROGRAM = """#!{python} -SE
import json, os, socket, sys
here, there = os.pipe()
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
    door.connect({door!r})
    job = dict(code={code!r}, folder=os.getcwd(), env=dict(os.environ), arguments=sys.argv[1:], strict=False)
    socket.send_fds(door, [json.dumps(job).encode()], [0, 1, 2, there])
os.close(there)
with open(here, "rb") as ended:
    code = int(ended.read().split()[1])
sys.exit(code if code >= 0 else 128 - code)
"""


@functools.cache
def _bin() -> Path:
    """A folder of this process, removed with it."""
    folder = Path(tempfile.mkdtemp(prefix="s-"))  # short: the names of sockets are at most 107 characters
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def bin_folder() -> Path:
    """A folder for ``PATH`` with a command ``shoal`` for shells, which starts as quickly as :func:`shoal`."""
    _door()
    file = _bin() / "shoal"
    file.write_text(PROGRAM.format(python=sys.executable, door=str(_bin() / "door"), code=COMMAND), encoding="utf-8")
    file.chmod(0o755)
    return file.parent


@functools.cache
def _door() -> socket.socket:
    """The way to the one nursery of this process; it ends with it."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as others:
        others.bind(str(_bin() / "door"))
        others.listen()
        ways = [there.fileno(), others.fileno()]
        words = [sys.executable, "-c", NURSERY, *map(str, ways)]
        process = subprocess.Popen(words, pass_fds=ways, stdin=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})

    def end() -> None:
        here.close()
        process.wait()

    atexit.register(end)
    return here


class Child:
    """A program in a process of its own, with these streams."""

    def __init__(
        self,
        code: str,
        folder: Path,
        env: Mapping[str, str],
        streams: Sequence[int],
        *,
        arguments: Sequence[str] = (),
        strict: bool = False,
    ) -> None:
        ended, there = os.pipe()
        self._ended = os.fdopen(ended, "rb", buffering=0)
        job: dict[str, Any] = {"code": code, "folder": str(folder), "env": dict(env), "arguments": [*arguments], "strict": strict}
        socket.send_fds(_door(), [json.dumps(job).encode()], [*streams, there])
        os.close(there)

    @functools.cached_property
    def _known(self) -> list[bytes]:
        """The number of its process, and how it ended if it has."""
        return self._ended.read(64).split()

    def send(self, number: signal.Signals) -> None:
        os.kill(int(self._known[0]), number)

    def wait(self, kill_after: float | None = None) -> int:
        """Its exit code, or minus the signal that killed it: SIGKILL after so many seconds. Then there is no such process."""
        with self._ended:
            known = self._known
            if kill_after is not None and len(known) < 2 and not select.select([self._ended], [], [], kill_after)[0]:
                self.send(signal.SIGKILL)
            return int([*known, *self._ended.read().split()][1])


def shoal(*words: str, folder: Path | None = None, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The command ``shoal`` with these words in a process of its own."""
    ended, out, said = run(COMMAND, folder or Path.cwd(), os.environ if env is None else env, arguments=words)
    return subprocess.CompletedProcess(["shoal", *words], ended, out, said)


def run(
    code: str,
    folder: Path,
    env: Mapping[str, str],
    *,
    arguments: Sequence[str] = (),
    strict: bool = False,
    kill_after: float | None = None,
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a program; ``strict`` makes its warnings errors."""

    def text(file: BinaryIO) -> str:
        file.seek(0)
        return file.read().decode()

    with open(os.devnull, "rb") as none, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        streams = [none.fileno(), out.fileno(), said.fileno()]
        ended = Child(code, folder, env, streams, arguments=arguments, strict=strict).wait(kill_after)
        return ended, text(out), text(said)
