"""Starting or finding a Spark session, and Spark's errors in our words."""

from __future__ import annotations

import atexit
import os
import socket
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from shoal.engines.spark.java import java_home
from shoal.errors import EngineError, need

_CONF = {  # of sessions that we start ourselves
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.maxResultSize": "0",
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
            return _connected(master)
        active = SparkSession.getActiveSession()
        if active is not None and (master == "local[*]" or active.sparkContext.master == master):
            return active
        if active is not None:
            raise EngineError(
                "another Spark is already running in this process.",
                hint="A process holds one Spark driver: stop the other session, or start a new process.",
            )
        os.environ["JAVA_HOME"] = str(java_home())
        builder = SparkSession.builder.master(master).appName("shoal")
        for name, value in _CONF.items():
            builder = builder.config(name, value)
        made = _started(builder.getOrCreate, master)
        made.sparkContext.setLogLevel("OFF")
        return made


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
    return EngineError(
        f"no Spark answers at {shown(master)}.",
        hint="Check the address, that the cluster runs, and that Java 17 or later is there.",
    )


def _started(start: Callable[[], Any], master: str) -> Any:
    try:
        return start()
    except spark_errors():
        raise _no_answer(master) from None


def _connected(master: str) -> Any:
    """The caller's active Spark Connect session if it is one to this very address, else one of ours for it."""
    from pyspark.sql.connect.session import SparkSession

    ours = _CONNECTED.get(master)
    if ours is not None and not ours[0].is_stopped:
        ours[1] += 1
        return ours[0]
    active = SparkSession.getActiveSession()
    if active is not None and _same_place(active.client, master):
        return active
    made = _started(SparkSession.builder.remote(master).create, master)
    _CONNECTED[master] = [made, 1]
    atexit.register(_hang_up, made.client)  # after the client's own, so it runs before it
    return made


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


def spark_errors() -> tuple[type[Exception], ...]:
    """What Spark, its Java bridge and its remote connection raise."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    kinds: list[type[Exception]] = [PySparkException, Py4JError, ConnectionError]
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
    "UNRESOLVED_COLUMN": ("a column is not there (any more).", "Open the table again to read its columns anew."),
    "PATH_NOT_FOUND": ("a path is not there (any more).", "Check it as the executors see it."),
    "FAILED_READ_FILE": ("a file is damaged or not there any more.", "Check the files behind the table."),
    MALFORMED: ("a line of the file has more or fewer fields than the first, or is no JSON.", "Repair the file."),
    "CAST_INVALID_INPUT": ("a value cannot be converted as asked.", "Check the types= option and the steps of the plan."),
}


def translate(error: Exception, url: str) -> EngineError:
    """An error in our words: Spark's messages may hold data values."""
    condition = condition_of(error) or (MALFORMED if MALFORMED in str(error) else "")  # it comes as a cause
    if condition in _WORDS:
        what, hint = _WORDS[condition]
        return EngineError(f"Spark ({url}): {what}", hint=hint, condition=condition)
    if isinstance(error, ConnectionError) or type(error).__name__ in (
        "Py4JNetworkError",
        "_InactiveRpcError",
        "SparkConnectGrpcException",
    ):
        return EngineError(f"the connection to Spark ({url}) broke off.", hint="Try again when it is back.")
    shown = f" ({condition})" if condition else ""
    return EngineError(f"Spark ({url}) could not carry out the query{shown}.", hint="See Spark's log.", condition=condition)
