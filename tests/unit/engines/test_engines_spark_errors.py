"""What Spark's errors are called: memory that ran out is never a connection that broke off."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from shoal.engines.spark import answers
from shoal.engines.spark.session import translate
from shoal.errors import EngineError, MemoryBudgetError


class Py4JNetworkError(Exception):
    """What the Java bridge raises when the process behind it is gone."""


@pytest.mark.parametrize(
    "words",
    [
        "An error occurred while calling o1.collect: java.lang.OutOfMemoryError: Java heap space",
        "java.lang.OutOfMemoryError: GC overhead limit exceeded at row 'Köln'",
        "[UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire 65536 bytes of memory",
        "Total size of serialized results of 8 tasks is bigger than spark.driver.maxResultSize 512.0 MiB",
        "ExecutorLostFailure (executor 1 exited): Command exited with exit code 52",
        "Job aborted: ExecutorLostFailure (executor 0 exited): Command exited with code 52",
    ],
)
def test_memory_that_ran_out_is_called_so(words: str) -> None:
    found = translate(Exception(words), "spark")
    assert isinstance(found, MemoryBudgetError)
    assert "ran out of memory" in str(found)
    assert "Köln" not in f"{found} {found.hint}"


@pytest.mark.parametrize("words", ["Container killed, exit code: 137", "ExecutorLostFailure: Command exited with code 137"])
def test_an_executor_that_was_killed_may_have_been_so_for_its_memory(words: str) -> None:
    found = translate(Exception(words), "spark")
    assert isinstance(found, MemoryBudgetError)
    assert "an executor of Spark (spark) was killed, as a machine does when its memory is full" in str(found)


@pytest.mark.parametrize(
    "code", ["Command exited with code 1377", "Command exited with code 143", "Remote RPC client disassociated"]
)
def test_executors_that_are_lost_are_called_so(code: str) -> None:
    found = translate(
        Exception(f"Task 0 failed 4 times: ExecutorLostFailure (executor 3 exited) Reason: {code} at 'Bo'"), "spark"
    )
    assert type(found) is EngineError
    assert "lost executors, also when it tried again: nothing was written" in str(found)
    assert "Bo" not in f"{found} {found.hint}"


@pytest.mark.parametrize("words", ["exit code 521 of 9", "exit code 1", "the heap of papers", "job aborted"])
def test_other_words_are_not_taken_for_it(words: str) -> None:
    found = translate(Exception(words), "spark")
    assert type(found) is EngineError
    assert "could not run the query" in str(found)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (52, "ran out of memory"),
        (3, "ran out of memory"),
        (137, "was killed"),
        (1, "broke off"),
        (0, "broke off"),
        (None, "broke off"),
    ],
)
def test_a_driver_that_is_gone_is_asked_how_it_ended(code: int | None, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import SparkContext

    monkeypatch.setattr("shoal.engines.spark.session.SECONDS_TO_END", 5.0 if code is not None else 0.05)
    with subprocess.Popen(["sh", "-c", f"exit {code}" if code is not None else "exec sleep 60"]) as process:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
        assert said in str(translate(Py4JNetworkError("Answer from Java side is empty"), "spark"))
        assert said in str(translate(ConnectionRefusedError(111, "refused"), "spark"))
        process.kill()


def test_a_shut_down_context_is_asked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import SparkContext

    with subprocess.Popen(["sh", "-c", "exit 52"]) as process:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
        assert "ran out of memory" in str(translate(Exception("Job 2 cancelled because SparkContext was shut down"), "spark"))


def _frame(rows: int, columns: int) -> Any:
    return SimpleNamespace(count=lambda: rows, columns=["c"] * columns)


def test_what_the_driver_would_have_to_hold_is_refused_at_the_limit() -> None:
    """Small by the size of what is read: not counted. Else its rows are counted, and the limit itself is allowed."""
    most, width = answers.MOST_COLLECTED, answers.WIDTH
    rows = most // (2 * width)
    answers.require_collectable(SimpleNamespace(), most, "spark")  # has nothing to count
    answers.require_collectable(_frame(rows, 2), most + 1, "spark")
    with pytest.raises(MemoryBudgetError, match="its driver would have to hold all of it") as caught:
        answers.require_collectable(_frame(rows + 1, 2), most + 1, "spark")
    assert "SHOAL_SPARK_STAGING" in str(caught.value.hint)
    answers.require_collectable(_frame(3, 2), 2**63 - 1, "spark")  # a source whose size nobody knows
