"""Measure the CPU time of unit and law tests, and choose the quick ones that ``run.py check`` runs.

    python tools/test_times.py              run the tests that need no server, browser or public data, then write tests/times.txt
    python tools/test_times.py --new        run only the files without a line there, and add their lines
    python tools/test_times.py RECORD       write the file from a record of an earlier run (JSON lines)

The cheapest tests are taken until ``BUDGET`` seconds are spent. All others are listed with their seconds, and tests/conftest.py
marks them ``slow``. A file without a line counts as one quick second, so a new test runs in ``check`` until the next measurement.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TIMES = ROOT / "tests" / "times.txt"
BUDGET = 48.0
"""CPU seconds of all quick tests together; two cores, beside the types and the imports of the tests."""
HEAD = """# CPU seconds, measured by tools/test_times.py. Files: the quick tests together (-1: every test of the file is slow).
# Tests: too slow for "run.py check"; tests/conftest.py marks them "slow".
"""


def cpu_seconds() -> float:
    return sum(r.ru_utime + r.ru_stime for r in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


class Recorder:
    """A pytest plugin that appends one line per test: its id and its CPU seconds, those of its child processes included."""

    def __init__(self, file: Path) -> None:
        self.file = file

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        start = cpu_seconds()
        result = yield
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps([item.nodeid, round(cpu_seconds() - start, 3)]) + "\n")
        return result


def known_times() -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of files, and of slow tests, in tests/times.txt; those that are gone are left out."""
    lines = [line.split(maxsplit=1) for line in TIMES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    known = {name: float(seconds) for seconds, name in lines if is_there(name)}
    return {n: s for n, s in known.items() if "::" not in n}, {n: s for n, s in known.items() if "::" in n}


def is_there(name: str) -> bool:
    file, _, test = name.partition("::")
    if not (ROOT / file).is_file():
        return False
    return not test or f"def {test.rpartition('::')[2]}(" in (ROOT / file).read_text(encoding="utf-8")


def read_record(record: Path) -> dict[str, float]:
    """Seconds of each test function."""
    functions: dict[str, float] = defaultdict(float)
    for line in record.read_text(encoding="utf-8").splitlines():
        name, seconds, *children = json.loads(line)
        functions[name.partition("[")[0]] += seconds + sum(children[:1])
    return functions


def add_times(record: Path) -> None:
    """Add the files of a record; a test is slow if it takes longer than the quickest slow one so far."""
    files, slow = known_times()
    limit = min(slow.values())
    for name, seconds in read_record(record).items():
        file = name.partition("::")[0]
        if seconds > limit:
            slow[name] = seconds
            files.setdefault(file, -1.0)
        else:
            files[file] = max(0.0, files.get(file, 0.0)) + seconds
    write_lines(files, slow)


def write_times(record: Path) -> None:
    functions = read_record(record)
    spent, slow, files = 0.0, [], {}
    for name in sorted(functions, key=lambda n: (functions[n], n)):
        file = name.partition("::")[0]
        if spent + functions[name] > BUDGET:
            slow.append(name)
            files.setdefault(file, -1.0)
        else:
            spent += functions[name]
            files[file] = max(0.0, files.get(file, 0.0)) + functions[name]
    write_lines(files, {name: functions[name] for name in slow})
    rest = sum(functions[name] for name in slow)
    print(f"{len(functions) - len(slow)} quick tests of {spent:.0f} s, {len(slow)} slow ones of {rest:.0f} s")


def write_lines(files: Mapping[str, float], slow: Mapping[str, float]) -> None:
    lines = [f"{times[name]:8.1f} {name}" for times in (files, slow) for name in sorted(times)]
    TIMES.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    only_new = "--new" in arguments
    if arguments and not only_new:
        write_times(Path(arguments[0]))
        return 0
    tests = [file for name in ("unit", "laws") for file in sorted((ROOT / "tests" / name).rglob("test_*.py"))]
    if only_new:
        known, _ = known_times()
        tests = [file for file in tests if file.relative_to(ROOT).as_posix() not in known]
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "times.jsonl"
        code = pytest.main(["-q", "-m", "not (engine or browser or data)", *map(str, tests)], plugins=[Recorder(record)])
        if code == 0:
            add_times(record) if only_new else write_times(record)
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
