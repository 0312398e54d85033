"""Spark's errors in our words: its own may hold data values."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from typing import Any

from shoal.errors import EngineError, MemoryBudgetError


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
    return MemoryBudgetError(
        f"{what}: the data were not lost, and nothing was written.",
        hint="Give driver and executors more (spark.driver.memory, spark.executor.memory), use more and smaller partitions "
        "(spark.sql.shuffle.partitions), or count fewer or coarser columns.",
    )


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
