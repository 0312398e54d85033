#!/usr/bin/env python3
"""Set up everything and run the demonstration, the checks or the tests, on a machine that has only Python.

    python3 run.py demo      the whole walk on generated people
    python3 run.py studio    the library in a browser
    python3 run.py check     lint, types, import contracts, English, quick unit and law tests; about a minute on two cores
    python3 run.py test      all of these, the documentation and the whole test suite
    python3 run.py mutants   change the code of safety-critical modules token by token; the tests must notice

Needs only Python 3.11 or later and the package index that pip is configured for; the whole test suite also installs a database
server, a browser and a spreadsheet with apt. Everything goes into .venv and .shoal-tools beside this file. Further arguments are
passed on: ``run.py demo --json``, ``run.py test tests/unit/measures -x``, ``run.py mutants --all``; ``run.py shoal …`` runs any
command. ``run.py check --python 3.12`` checks with another installed Python, ``--base COMMIT`` says what counts as changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"  # with --python: .venv-3.12
INTERPRETER = sys.executable
TOOLS = HERE / ".shoal-tools"
MEMORY = Path("/dev/shm")
ROOM = 6 << 30
"""Bytes in memory that the temporary files of the whole test suite may need."""
LOCKS = {"demo": HERE / "locks" / "core.txt", "test": HERE / "locks" / "dev.txt"}


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 11):  # noqa: UP036  (this file runs before anything checks the version)
        print(f"Shoal needs Python 3.11 or later; this is {sys.version.split()[0]}.", file=sys.stderr)
        return 2
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if verb in ("demo", "studio", "shoal"):
        set_up("demo")
        return call([python("shoal"), *([] if verb == "shoal" else [verb]), *rest])
    if verb == "check":
        if "--python" in rest:
            version = rest.pop(rest.index("--python") + 1)
            rest.remove("--python")
            if not choose_python(version):
                say(f"Python {version} is not installed: not checked")
                return 0
        set_up("test")
        with files_in_memory():
            return check_quickly(rest)
    if verb == "test":
        set_up("test")
        with files_in_memory():
            return test(rest)
    if verb == "mutants":
        set_up("test")
        return call([python("python"), str(HERE / "tools" / "mutants.py"), *rest], env=environment())
    print(__doc__, file=sys.stderr)
    return 2


def choose_python(version: str) -> bool:
    """Use another interpreter and an environment of its own; False if it is not installed."""
    global VENV, INTERPRETER
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for candidate in [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}*/bin/python")))]:
        question = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.executable)"]
        try:
            answer = subprocess.run(question, capture_output=True, text=True).stdout.split("\n")
        except OSError:
            continue
        if answer[0] == version:
            VENV, INTERPRETER = HERE / f".venv-{version}", answer[1]
            return True
    return False


def set_up(kind: str) -> None:
    """A virtual environment with exactly the packages of the lock file, and Shoal itself; returns at once if it is up to date."""
    lock = LOCKS[kind]
    if any((stamp := VENV / f".shoal-{k}").is_file() and stamp.read_text() == _digest(k) for k in {kind, "test"}):
        return
    say(f"setting up {VENV.name} from {lock.relative_to(HERE)} (once; a minute or two)")
    uv = find_uv()
    if not (VENV / "pyvenv.cfg").is_file():
        if uv:
            run_or_exit([uv, "venv", "--quiet", "--python", INTERPRETER, str(VENV)])
        else:
            run_or_exit([INTERPRETER, "-m", "venv", str(VENV)])
    install(uv, ["--require-hashes", "-r", str(lock)])
    install(uv, ["--no-deps", "--no-build-isolation", "-e", str(HERE)])
    run_or_exit([python("python"), "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", str(HERE / "src")])
    (VENV / f".shoal-{kind}").write_text(_digest(kind))


def _digest(kind: str) -> str:
    facts = (
        LOCKS[kind].read_bytes()
        + (HERE / "pyproject.toml").read_bytes()
        + sys.version.encode()
        + f"{INTERPRETER} {HERE}".encode()
    )
    return hashlib.sha256(facts).hexdigest()


def install(uv: str | None, arguments: list[str]) -> None:
    """Install with uv, or with pip if uv cannot reach the package index that pip is configured for."""
    if uv:
        command = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python("python"), *arguments]
        if subprocess.run(command, cwd=HERE).returncode == 0:
            return
    if subprocess.run([python("python"), "-m", "pip", "--version"], capture_output=True).returncode != 0:
        run_or_exit([python("python"), "-m", "ensurepip"])
    run_or_exit([python("python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments])


def find_uv() -> str | None:
    """uv from the path, or installed with pip into .shoal-tools; None if neither works (then pip is used)."""
    if installed := shutil.which("uv"):
        return installed
    own = TOOLS / "bin" / "uv"
    if not own.is_file() and importlib.util.find_spec("pip"):
        options = ["--quiet", "--disable-pip-version-check", "--target", str(TOOLS), "uv"]
        subprocess.run([sys.executable, "-m", "pip", "install", *options], stderr=subprocess.DEVNULL)
    return str(own) if own.is_file() else None


def environment() -> dict[str, str]:
    out = {**os.environ, "PATH": f"{bin_folder()}{os.pathsep}{os.environ['PATH']}", "NO_MKDOCS_2_WARNING": "1"}
    out.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of short commands are run: let Python keep what it compiled
    return out


def static_checks() -> list[tuple[str, list[str]]]:
    """Checks that take a second or two each."""
    return [
        ("lint", [python("ruff"), "check", "--quiet", "."]),
        ("format", [python("ruff"), "format", "--check", "--quiet", "."]),
        ("import contracts", [python("lint-imports"), "--no-cache"]),
        ("English", [python("python"), str(HERE / "tools" / "phrases.py")]),
    ]


def check_quickly(rest: list[str]) -> int:
    """The checks of ``check``: types and two shards of the quick tests run side by side."""
    start = time.monotonic()
    failed = run_jobs(static_checks())
    base = rest[rest.index("--base") + 1] if "--base" in rest else _base()
    pytest = [python("python"), "-m", "pytest", "-q", "-m", "not (slow or engine or browser or data)"]
    shards = [(f"tests {i}", [*pytest, *files]) for i, files in enumerate(shard_files(2), 1)]
    # Without a cache mypy needs 110 s of CPU time: two workers share them.
    types = [python("mypy"), *([] if (HERE / ".mypy_cache").is_dir() else ["--num-workers", "2"])]
    failed += run_jobs([("types", types), *shards])
    if base and not failed:
        mutants = [python("python"), str(HERE / "tools" / "mutants.py"), "--changed", base, "--sample", "10", "--seconds", "25"]
        failed += run_jobs([("mutants of changed lines", mutants)])
    say(f"{'failed: ' + ', '.join(failed) if failed else 'fine'} ({time.monotonic() - start:.0f} s)")
    return 1 if failed else 0


def _base() -> str | None:
    """The commit that the work began at: where this branch left main, or the last commit on main itself."""
    for name in ("origin/main", "main"):
        done = subprocess.run(["git", "merge-base", "HEAD", name], cwd=HERE, capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip()
    return None


def shard_files(count: int) -> list[list[str]]:
    """Files of quick tests, dealt into lists that take about the same time, by the seconds in tests/times.txt."""
    times = {}
    for line in (HERE / "tests" / "times.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            seconds, name = line.split(maxsplit=1)
            times[name] = float(seconds)
    quick = {}
    for file in sorted([*HERE.glob("tests/unit/**/test_*.py"), *HERE.glob("tests/laws/**/test_*.py")]):
        name = file.relative_to(HERE).as_posix()
        if times.get(name, 1.0) >= 0:  # -1: every test of the file is slow
            quick[name] = times.get(name, 1.0)
    shards: list[list[str]] = [[] for _ in range(count)]
    sums = [0.0] * count
    for name in sorted(quick, key=lambda n: -quick[n]):
        least = sums.index(min(sums))
        shards[least].append(name)
        sums[least] += quick[name]
    return [sorted(shard) for shard in shards]


def run_jobs(jobs: Sequence[tuple[str, list[str]]]) -> list[str]:
    """Run commands side by side; print the output of those that fail, and return their names."""
    began, failed = time.monotonic(), []
    running = []
    for name, command in jobs:
        out = tempfile.TemporaryFile()  # noqa: SIM115  (closed when its process has ended)
        running.append((name, subprocess.Popen(command, cwd=HERE, env=environment(), stdout=out, stderr=out), out))
    for name, process, out in running:
        if process.wait():
            failed.append(name)
            out.seek(0)
            sys.stderr.write(out.read().decode(errors="replace"))
        out.close()
        say(f"{name}: {'FAILED' if name in failed else 'fine'} ({time.monotonic() - began:.0f} s)")
    return failed


def test(rest: list[str]) -> int:
    """Every check; with arguments only pytest with them, which starts what its tests need and nothing else."""
    if rest:
        return call([python("python"), "-m", "pytest", "-q", *rest], env=environment())
    call([python("python"), str(HERE / "tools" / "servers.py"), "ensure"], env=environment())
    call([python("python"), str(HERE / "tools" / "programs.py")], env=environment())
    failed = run_jobs(static_checks())
    site = ["build", "--strict", "--quiet", "--site-dir", str(TOOLS / "site")]
    failed += run_jobs([("types", [python("mypy")]), ("documentation", [python("mkdocs"), *site])])  # each uses one core
    start = time.monotonic()
    say("tests …")
    if call([python("python"), "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "--durations", "15"], env=environment()):
        failed.append("tests")
    say(f"tests: {'FAILED' if 'tests' in failed else 'fine'} ({time.monotonic() - start:.0f} s)")
    if failed:
        say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


@contextlib.contextmanager
def files_in_memory() -> Iterator[None]:
    """``TMPDIR`` on a file system in memory, if it has room and the user named no other place; removed afterwards.

    Releases, vaults and registries wait until the disk has what they write (fsync), tens of thousands of times in the suite.
    """
    if "TMPDIR" in os.environ or not has_room(MEMORY):
        yield
        return
    folder = Path(tempfile.mkdtemp(prefix="s-", dir=MEMORY))  # short: the names of sockets are at most 107 characters
    try:
        folder.chmod(0o755)  # a database server that runs as another user enters it
        os.environ["TMPDIR"] = str(folder)
        yield
    finally:
        os.environ.pop("TMPDIR", None)
        shutil.rmtree(folder, ignore_errors=True)


def has_room(place: Path) -> bool:
    """Whether the file system in memory is there, programs may run on it, and it and the memory have ``ROOM``."""
    known = Path("/proc/meminfo")
    if not place.is_dir() or not os.access(place, os.W_OK) or not known.is_file():
        return False
    facts = os.statvfs(place)
    available = next((int(line.split()[1]) << 10 for line in known.open() if line.startswith("MemAvailable:")), 0)
    return min(facts.f_bavail * facts.f_frsize, available) >= ROOM and not facts.f_flag & os.ST_NOEXEC


def bin_folder() -> Path:
    return VENV / ("Scripts" if os.name == "nt" else "bin")


def python(name: str) -> str:
    return str(bin_folder() / f"{name}{sysconfig.get_config_var('EXE') or ''}")


def call(command: list[str], env: dict[str, str] | None = None) -> int:
    """Checks run in the checkout; ``shoal`` runs in the current folder, so that relative paths mean what the user expects."""
    return subprocess.run(command, env=env, cwd=None if command[0] == python("shoal") else HERE).returncode


def run_or_exit(command: list[str]) -> None:
    if subprocess.run(command, cwd=HERE).returncode:
        sys.exit(f"could not run: {' '.join(command)}")


def say(message: str) -> None:
    print(f"run.py: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
