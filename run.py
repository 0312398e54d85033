#!/usr/bin/env python3
"""Set up everything and run the demonstration or the tests, on a machine that has only Python.

    python3 run.py demo     the whole walk on generated people
    python3 run.py studio   the library in a browser
    python3 run.py test     lint, types, import contracts, documentation and the whole test suite

Needs nothing but Python 3.11 or later and the package registries that pip and, for the tests' database server, browser and
spreadsheet, apt are set up for. Everything goes into .venv and .shoal-tools beside this file. Further words are passed on:
``python3 run.py demo --json``, ``python3 run.py test -k measures``; ``python3 run.py shoal …`` runs any command.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
TOOLS = HERE / ".shoal-tools"
LOCKS = {"demo": HERE / "locks" / "core.txt", "test": HERE / "locks" / "dev.txt"}


def main(words: list[str]) -> int:
    if sys.version_info < (3, 11):  # noqa: UP036  (this file runs before anything checks the version)
        print(f"Shoal needs Python 3.11 or later; this is {sys.version.split()[0]}.", file=sys.stderr)
        return 2
    verb, rest = (words[0], words[1:]) if words else ("", [])
    if verb == "demo":
        set_up("demo")
        return call([python("shoal"), "demo", *rest])
    if verb == "shoal":
        set_up("demo")
        return call([python("shoal"), *rest])
    if verb == "studio":
        set_up("demo")
        return call([python("shoal"), "studio", *rest])
    if verb == "test":
        set_up("test")
        return test(rest)
    print(__doc__, file=sys.stderr)
    return 2


def set_up(kind: str) -> None:
    """A virtual environment with exactly what the lock file names, and Shoal itself; does nothing when it is there already."""
    lock = LOCKS[kind]
    stamp = VENV / f".shoal-{kind}"
    facts = lock.read_bytes() + (HERE / "pyproject.toml").read_bytes() + sys.version.encode() + str(HERE).encode()
    wanted = hashlib.sha256(facts).hexdigest()
    fuller = VENV / ".shoal-test"
    if any(s.is_file() and s.read_text() == (wanted if s == stamp else _digest("test")) for s in {stamp, fuller}):
        return
    say(f"setting up .venv from {lock.relative_to(HERE)} (once; a minute or two)")
    uv = find_uv()
    if not (VENV / "pyvenv.cfg").is_file():
        if uv:
            check([uv, "venv", "--quiet", "--python", sys.executable, str(VENV)])
        else:
            check([sys.executable, "-m", "venv", str(VENV)])
    install(uv, ["--require-hashes", "-r", str(lock)])
    install(uv, ["--no-deps", "--no-build-isolation", "-e", str(HERE)])
    check([python("python"), "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", str(HERE / "src")])
    stamp.write_text(wanted)


def _digest(kind: str) -> str:
    facts = LOCKS[kind].read_bytes() + (HERE / "pyproject.toml").read_bytes() + sys.version.encode() + str(HERE).encode()
    return hashlib.sha256(facts).hexdigest()


def install(uv: str | None, arguments: list[str]) -> None:
    """Install with uv; where uv cannot reach the registry that pip is set up for, with pip."""
    if uv:
        command = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python("python"), *arguments]
        if subprocess.run(command, cwd=HERE).returncode == 0:
            return
    if subprocess.run([python("python"), "-m", "pip", "--version"], capture_output=True).returncode != 0:
        check([python("python"), "-m", "ensurepip"])
    check([python("python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments])


def find_uv() -> str | None:
    """uv from the path, or installed with pip into .shoal-tools; None where neither works (pip then does the work)."""
    found = shutil.which("uv")
    if found:
        return found
    own = TOOLS / "bin" / "uv"
    if not own.is_file() and importlib.util.find_spec("pip"):
        words = ["--quiet", "--disable-pip-version-check", "--target", str(TOOLS), "uv"]
        subprocess.run([sys.executable, "-m", "pip", "install", *words], stderr=subprocess.DEVNULL)
    return str(own) if own.is_file() else None


def test(rest: list[str]) -> int:
    """Every check there is; with further words only pytest with them."""
    environment = {**os.environ, "PATH": f"{bin_folder()}{os.pathsep}{os.environ['PATH']}"}
    environment["NO_MKDOCS_2_WARNING"] = "1"
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of short commands are run: let Python keep what it compiled
    call([python("python"), str(HERE / "tools" / "servers.py"), "ensure"], env=environment)
    call([python("python"), str(HERE / "tools" / "programs.py")], env=environment)
    pytest = [python("python"), "-m", "pytest", "-q", *(rest or ["-n", "2", "--dist", "loadgroup", "--durations", "15"])]
    checks = [
        ("lint", [python("ruff"), "check", "--quiet", "."]),
        ("format", [python("ruff"), "format", "--check", "--quiet", "."]),
        ("types", [python("mypy")]),
        ("import contracts", [python("lint-imports"), "--no-cache"]),
        ("documentation", [python("mkdocs"), "build", "--strict", "--quiet", "--site-dir", str(TOOLS / "site")]),
    ]
    failed = []
    for name, command in [*([] if rest else checks), ("tests", pytest)]:
        start = time.monotonic()
        say(f"{name} …")
        if call(command, env=environment):
            failed.append(name)
        say(f"{name}: {'FAILED' if name in failed else 'fine'} ({time.monotonic() - start:.0f} s)")
    if failed:
        say(f"not fine: {', '.join(failed)}")
    return 1 if failed else 0


def bin_folder() -> Path:
    return VENV / ("Scripts" if os.name == "nt" else "bin")


def python(name: str) -> str:
    return str(bin_folder() / f"{name}{sysconfig.get_config_var('EXE') or ''}")


def call(command: list[str], env: dict[str, str] | None = None) -> int:
    """Checks run in the checkout; ``shoal`` where the user stands, so that relative paths mean what they say."""
    return subprocess.run(command, env=env, cwd=None if command[0] == python("shoal") else HERE).returncode


def check(command: list[str]) -> None:
    if subprocess.run(command, cwd=HERE).returncode:
        sys.exit(f"could not run: {' '.join(command)}")


def say(message: str) -> None:
    print(f"run.py: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
