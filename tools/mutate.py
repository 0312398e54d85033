"""Mutation testing: change one token of the code, run the tests, and see whether they notice.

    python tools/mutate.py src/shoal/search/full_domain/lazy_search.py --tests tests/unit/search tests/laws/test_search_laws.py

Takes    modules, folders or `module.py:120` (one line), the tests that should notice, how many mutants to draw and a seed
Prints   one line per mutant (killed, timeout or SURVIVED; file:line; the change), then the share that was killed
Keeps    the tree as it is: everything runs in a scratch copy that is removed at the end

The copy runs without numba unless `--numba` is given: compiled kernels are cached by file, so a caller in another file would
go on using the old one. With `--numba` each mutant compiles into an empty cache, which is slow. A timeout counts as killed.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mutants import Mutant, mutants_of

ROOT = Path(__file__).resolve().parent.parent


def targets(names: Sequence[str]) -> Iterator[tuple[Path, int | None]]:
    """The files asked for, relative to the root, each with a line where one is named."""
    for name in names:
        path, _, line = name.partition(":")
        full = (ROOT / path).resolve()
        files = sorted(full.rglob("*.py")) if full.is_dir() else [full]
        for file in files:
            yield file.relative_to(ROOT), int(line) if line else None


def scratch_copy(to: Path) -> None:
    """The files of the tree that git knows or would take, without its history."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, to / name)


def run_tests(tree: Path, tests: Sequence[str], timeout: float | None, *, numba: bool, unchanged: bool = False) -> str:
    """``passed``, ``failed`` or ``timeout``. The test process and its children are ended together; a crash is a failure."""
    shutil.rmtree(tree / ".hypothesis", ignore_errors=True)
    env = {**os.environ, "PYTHONPATH": str(tree / "src"), "SHOAL_NO_NUMBA": "0" if numba else "1"}
    if not unchanged:
        env["PYTHONDONTWRITEBYTECODE"] = "1"
    with tempfile.TemporaryDirectory() as cache:
        env["NUMBA_CACHE_DIR"] = cache
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "--hypothesis-seed=0", *tests]
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(command, cwd=tree, env=env, stdout=out, stderr=out, start_new_session=True)
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                return "timeout"
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            if code and unchanged:  # wrong options, no tests, or tests that fail by themselves
                out.seek(0)
                raise SystemExit(out.read().decode()[-3000:] + "\nThe tests do not pass without any change.")
    return (
        "passed" if code in (0, 5) else "failed"
    )  # 4: the mutant cannot be imported by a conftest; 5: no test was left to notice


def run(mutants: Sequence[Mutant], tests: Sequence[str], timeout: float | None, *, numba: bool) -> list[Mutant]:
    """Try each mutant in a scratch copy; the survivors."""
    survived = []
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        tree = Path(folder)
        scratch_copy(tree)
        began = time.monotonic()
        run_tests(tree, tests, None, numba=numba, unchanged=True)
        took = time.monotonic() - began
        limit = timeout if timeout is not None else 3 * took + 10
        print(f"unchanged: passed in {took:.1f} s; {len(mutants)} mutants, at most {limit:.0f} s each", flush=True)
        for mutant in mutants:
            file = tree / mutant.path
            text = file.read_text()
            for stale in file.parent.glob(f"__pycache__/{file.stem}.*"):
                stale.unlink()
            file.write_text(mutant.source(text))
            verdict = {"passed": "SURVIVED", "failed": "killed  ", "timeout": "timeout "}[
                run_tests(tree, tests, limit, numba=numba)
            ]
            file.write_text(text)
            print(f"{verdict}  {mutant}", flush=True)
            if verdict == "SURVIVED":
                survived.append(mutant)
    return survived


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("targets", nargs="+", help="modules, folders, or module.py:LINE")
    parser.add_argument("--tests", nargs="+", default=[], help="test files or folders; further options go to pytest")
    parser.add_argument("--sample", type=int, default=50, help="how many mutants to draw; 0 for all (default 50)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, help="seconds per mutant; default: 10 + 3 × the unchanged run")
    parser.add_argument("--numba", action="store_true", help="compile the kernels anew for each mutant")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    asked, more = parser.parse_known_args()
    found = [
        m for path, line in targets(asked.targets) for m in mutants_of(path, (ROOT / path).read_text()) if line in (None, m.line)
    ]
    drawn = found
    if 0 < asked.sample < len(found):
        drawn = sorted(random.Random(asked.seed).sample(found, asked.sample))
    if asked.list:
        print("\n".join(map(str, drawn)))
        return
    if not asked.tests:
        parser.error("name the tests that should notice: --tests tests/unit/…")
    survived = run(drawn, [*asked.tests, *more], asked.timeout, numba=asked.numba)
    killed = len(drawn) - len(survived)
    print(
        f"\n{killed} of {len(drawn)} killed ({killed / max(1, len(drawn)):.1%}); drawn from {len(found)} with seed {asked.seed}"
    )
    for mutant in survived:
        print(f"  {mutant}")


if __name__ == "__main__":
    main()
