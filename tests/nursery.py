"""A process that has loaded the libraries and then forks: a program starts at once, and still has a process of its own.

Starting Python and loading Shoal takes about two seconds, mostly longer than what a short program of a test does. A child is as
fresh as a process of ``python -c``: its environment, folder, streams and warnings are its own, and nothing ran before in it.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

NURSERY = """
import atexit, gc, json, os, socket, sys, traceback, types, warnings

with warnings.catch_warnings():
    warnings.simplefilter("error")
    import duckdb, numpy, pyarrow.compute, pyarrow.csv, pyarrow.parquet
    import shoal
    for name in ("anonymize", "attack", "check", "inspect", "measure", "predict", "verify"):
        getattr(shoal, name)
    try:
        import numba
    except ImportError:
        pass
gc.freeze()


def live(job, handles):
    *streams, ended = handles
    code = 1
    os.set_inheritable(ended, False)
    try:
        for number, handle in enumerate(streams):
            os.dup2(handle, number)
            os.close(handle)
        os.environ.clear()
        os.environ.update(job["env"])
        os.chdir(job["folder"])
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
        os.write(ended, str(code).encode())
        os._exit(code)


door, running = socket.socket(fileno=int(sys.argv[1])), 0
while True:
    said, handles, _, _ = socket.recv_fds(door, 1 << 20, 4)
    while running and os.waitpid(-1, os.WNOHANG)[0]:
        running -= 1
    if not said:
        break
    if os.fork() == 0:
        door.close()
        live(json.loads(said), handles)
    running += 1
    for handle in handles:
        os.close(handle)
for _ in range(running):
    os.wait()
"""


@functools.cache
def _door() -> socket.socket:
    """The way to the one nursery of this process; it ends with it."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = [sys.executable, "-c", NURSERY, str(there.fileno())]
    process = subprocess.Popen(words, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})
    there.close()

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
        self._ended, there = os.pipe()
        job: dict[str, Any] = {"code": code, "folder": str(folder), "env": dict(env), "arguments": [*arguments], "strict": strict}
        socket.send_fds(_door(), [json.dumps(job).encode()], [*streams, there])
        os.close(there)

    def wait(self) -> int:
        """Its exit code; −1 if it was killed."""
        with os.fdopen(self._ended, "rb") as ended:
            return int(ended.read() or b"-1")


def run(
    code: str, folder: Path, env: Mapping[str, str], *, arguments: Sequence[str] = (), strict: bool = False
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a program; ``strict`` makes its warnings errors."""

    def text(file: BinaryIO) -> str:
        file.seek(0)
        return file.read().decode()

    with open(os.devnull, "rb") as none, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        streams = [none.fileno(), out.fileno(), said.fileno()]
        ended = Child(code, folder, env, streams, arguments=arguments, strict=strict).wait()
        return ended, text(out), text(said)
