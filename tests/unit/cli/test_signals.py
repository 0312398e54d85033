"""Signals end the command with one sentence and their own exit code, however long Python takes to shut down."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW_END = """
import atexit, os, signal, sys, time
import shoal.__main__ as command
import shoal.cli

def stop():
    os.kill(os.getpid(), signal.Signals[sys.argv[1]])
    time.sleep(5)

def run():
    try:
        stop()
    except KeyboardInterrupt:
        from shoal.cli._shell.process import fail_interrupted
        sys.exit(fail_interrupted(as_json=False))

command.AGAIN = 0.3
shoal.cli.main = run
atexit.register(time.sleep, 0.5)
command.main()
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_the_command_with_one_sentence(name: str, code: int) -> None:
    """The timer that repeats a lost signal is cancelled: it would end Python with exit code 142, or raise during shutdown."""
    done = subprocess.run([sys.executable, "-c", SLOW_END, name], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (code, "Stopped. Nothing was left half-written.\n")


TWICE = """
import os, signal, sys
import shoal.__main__ as command
import shoal.cli

def run():
    try:
        os.kill(os.getpid(), signal.Signals[sys.argv[1]])
        signal.pause()
    finally:  # it is removing files when the second signal comes
        os.kill(os.getpid(), signal.Signals[sys.argv[2]])
        signal.pause()

shoal.cli.main = run
command.main()
"""


@pytest.mark.parametrize(
    ("first", "second", "code"), [("SIGINT", "SIGINT", 130), ("SIGINT", "SIGTERM", 143), ("SIGTERM", "SIGTERM", 143)]
)
def test_a_second_signal_ends_at_once_and_says_what_is_left(first: str, second: str, code: int) -> None:
    done = subprocess.run([sys.executable, "-c", TWICE, first, second], capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert done.stderr == "Stopped at once. Files named .shoal-* may be left; the next run removes them.\n"


def test_a_command_that_loaded_duckdb_ends_without_a_word() -> None:
    script = "import sys, duckdb; from shoal.__main__ import main; sys.argv = ['shoal', '--version']; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
