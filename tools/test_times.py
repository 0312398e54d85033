"""Measure the CPU time of unit and law tests, and choose the quick ones that ``run.py check`` runs.

    python tools/test_times.py              run the tests that need no server, browser or public data, then write tests/times.txt
    python tools/test_times.py --quick      run only the tests of check, new ones too; keep the times of slow ones
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


def known_slow() -> dict[str, float]:
    """The slow tests of tests/times.txt that are still there, with their seconds."""
    lines = [line.split(maxsplit=1) for line in TIMES.read_text(encoding="utf-8").splitlines() if "::" in line]
    return {name: float(seconds) for seconds, name in lines if is_there(name)}


def is_there(name: str) -> bool:
    file, *_, function = name.split("::")
    return (ROOT / file).is_file() and f"def {function}(" in (ROOT / file).read_text(encoding="utf-8")


def write_times(record: Path, slow_ones: Mapping[str, float]) -> None:
    functions: dict[str, float] = defaultdict(float, slow_ones)
    for line in record.read_text(encoding="utf-8").splitlines():
        name, seconds, *children = json.loads(line)
        functions[name.partition("[")[0]] += seconds + sum(children[:1])
    spent, slow, files = 0.0, [], {}
    for name in sorted(functions, key=lambda n: (functions[n], n)):
        file = name.partition("::")[0]
        if spent + functions[name] > BUDGET:
            slow.append(name)
            files.setdefault(file, -1.0)
        else:
            spent += functions[name]
            files[file] = max(0.0, files.get(file, 0.0)) + functions[name]
    lines = [f"{files[f]:8.1f} {f}" for f in sorted(files)] + [f"{functions[n]:8.1f} {n}" for n in sorted(slow)]
    TIMES.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    rest = sum(functions[name] for name in slow)
    print(f"{len(functions) - len(slow)} quick tests of {spent:.0f} s, {len(slow)} slow ones of {rest:.0f} s")


def main(arguments: Sequence[str]) -> int:
    quick = "--quick" in arguments
    if arguments and not quick:
        write_times(Path(arguments[0]), {})
        return 0
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "times.jsonl"
        tests = [str(ROOT / "tests" / name) for name in ("unit", "laws")]
        marks = "not (engine or browser or data or slow)" if quick else "not (engine or browser or data)"
        code = pytest.main(["-q", "-m", marks, *tests], plugins=[Recorder(record)])
        if code == 0:
            write_times(record, known_slow() if quick else {})
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
