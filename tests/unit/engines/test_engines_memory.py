"""A budget of memory: which way is taken, at the limit and one step beside it, and what is refused before it is begun."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines import table as room
from shoal.engines.core import base
from shoal.engines.core import memory as limits
from shoal.engines.core.step_sql import HELD, CountRequest
from shoal.engines.count import by_codes
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files import writers
from shoal.engines.recode import by_codes as recoding
from shoal.engines.table import Table
from shoal.errors import MemoryBudgetError, UsageError
from shoal.model.plan import Plan
from shoal.release.plan import decide


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("2GB", 2 << 30),
        ("512MB", 512 << 20),
        ("512 MiB", 512 << 20),
        ("1.5g", 3 << 29),
        (1 << 30, 1 << 30),
        ("262144K", 256 << 20),
    ],
)
def test_sizes_as_people_write_them(written, size):
    assert limits.memory_of(written) == size
    assert limits.memory_of(None) is None


@pytest.mark.parametrize("written", ["", "much", "-2GB", "2PB", "255MB", str((256 << 20) - 1), "0", "1e9"])
def test_other_sizes_are_refused(written):
    with pytest.raises(UsageError):
        limits.memory_of(written)


def table(n=1000):
    rng = np.random.default_rng(1)
    return pa.table({"a": rng.integers(0, 50, n), "b": rng.integers(0, 50, n), "t": [f"v{x}" for x in rng.integers(0, 9, n)]})


def test_codes_are_used_up_to_the_limit_and_sql_beyond():
    source = shoal.open(table())
    needed = limits.bytes_to_count(1000, 3) + limits.PROGRAM
    request = CountRequest(("a", "b"), sensitive=("t",), memory=needed)
    assert by_codes.can_count(source._relation, request)
    assert not by_codes.can_count(source._relation, CountRequest(("a", "b"), sensitive=("t",), memory=needed - 1))
    assert by_codes.can_count(source._relation, CountRequest(("a", "b"), sensitive=("t",)))


def test_both_ways_count_and_recode_the_same(monkeypatch, tmp_path):
    plain = shoal.open(table())
    close = shoal.open(table(), memory="1GB")
    monkeypatch.setattr(limits, "bytes_to_count", lambda *_: 10**12)
    monkeypatch.setattr(by_codes, "bytes_to_count", lambda *_: 10**12)
    assert not by_codes.can_count(close._relation, CountRequest(("a",), memory=close.memory))
    mine, theirs = close.count(["a", "b"], sensitive=["t"]), plain.count(["a", "b"], sensitive=["t"])
    assert mine.sizes.tolist() == theirs.sizes.tolist()
    assert [c.tolist() for c in mine.codes] == [c.tolist() for c in theirs.codes]


def test_recoding_by_codes_stops_at_the_limit():
    relation = shoal.open(table())._relation
    needed = 1000 * (32 + 8 + 8 + 24) + limits.PROGRAM
    assert recoding.can_recode(relation, ["a", "b", "t"], Plan(), needed, ())
    assert not recoding.can_recode(relation, ["a", "b", "t"], Plan(), needed - 1, ())
    assert recoding.can_recode(relation, ["a", "b", "t"], Plan(), None, ())


def test_classes_are_refused_one_byte_beyond():
    size = 1000
    CountRequest(("a",), memory=HELD * size + limits.PROGRAM).check_classes(size, ["a"])
    with pytest.raises(MemoryBudgetError, match="counting classes of 1 columns"):
        CountRequest(("a",), memory=HELD * size + limits.PROGRAM - 1).check_classes(size, ["a"])
    CountRequest(("a",), memory_budget=size).check_classes(size, ["a"])
    with pytest.raises(MemoryBudgetError):
        CountRequest(("a",), memory_budget=size - 1).check_classes(size, ["a"])


def test_the_database_keeps_to_it(tmp_path):
    """DuckDB gets half of what is left of the budget beside the program, whether it was opened before or after."""
    close = shoal.open(table(), memory="512MB")
    expected = limits.for_database(512 << 20)
    said = close._engine.run_table("SELECT current_setting('memory_limit') AS m", "t")["m"][0].as_py()
    assert said == f"{expected / 2**20:.1f} MiB"
    close.limit_memory(1 << 30)
    said = close._engine.run_table("SELECT current_setting('memory_limit') AS m", "t")["m"][0].as_py()
    assert said == f"{limits.left_for_data(1 << 30) / 2 / 2**20:.1f} MiB"
    close.close()


@pytest.mark.parametrize("rows", [10, 3_000_000], ids=["little", "more than is allowed"])
def test_between_two_steps_the_database_lets_go_and_keeps_tables_and_limit(rows):
    engine = DuckDB()
    engine.limit_memory(256 << 20)
    engine.run(f"CREATE TEMP TABLE t AS SELECT i, hash(i) AS h, hash(-i) AS j FROM range({rows}) r(i)")
    limit = engine.run_table("SELECT current_setting('memory_limit') AS m", "t")["m"][0].as_py()
    engine.give_back()
    assert engine.run_table("SELECT current_setting('memory_limit') AS m", "t")["m"][0].as_py() == limit
    assert engine.run_table("SELECT count(*) AS n FROM t", "t")["n"][0].as_py() == rows
    engine.close()
    engine.give_back()  # nothing is opened for it


def test_memory_goes_back_only_where_it_is_limited(monkeypatch, tmp_path):
    """Before a count and after it, before a file is written and after it."""
    given = []
    monkeypatch.setattr(base, "give_back", lambda: given.append(1))
    for memory, times in ((None, 0), ("1GB", 4)):
        with shoal.open(table(), memory=memory) as source:
            source.count(["a"])
            source.recode(Plan((), seed=1), tmp_path / "out.csv")
        assert len(given) == times


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_lines_of_text_are_written_in_small_blocks_with_the_same_bytes(ending, monkeypatch, tmp_path):
    sizes, cut = [], writers.blocks

    def watched(schema, batches, rows):
        for block in cut(schema, batches, rows):
            sizes.append(block.num_rows)
            yield block

    monkeypatch.setattr(writers, "blocks", watched)
    with shoal.open(table()) as source:
        source.recode(Plan((), seed=1), tmp_path / f"whole.{ending}")
        monkeypatch.setattr(writers, "TEXT_ROWS", 7)
        source.recode(Plan((), seed=1), tmp_path / f"parts.{ending}")
    assert max(sizes[1:]) == 7
    assert writers.TEXT_ROWS < writers.BLOCK_ROWS
    assert (tmp_path / f"parts.{ending}").read_bytes() == (tmp_path / f"whole.{ending}").read_bytes()


def test_a_search_is_refused_before_it_begins(monkeypatch, tmp_path):
    pq.write_table(table(), tmp_path / "t.parquet")
    source, asked = shoal.open(tmp_path / "t.parquet", memory="1GB"), {"quasi": ["a", "b"], "insensitive": ["t"], "k": 2}
    monkeypatch.setattr(decide, "bytes_to_search", lambda *_: limits.left_for_data(1 << 30) + 1)
    with pytest.raises(MemoryBudgetError, match=r"the search over .* classes needs about 1.0 GB; 1.0 GB are allowed"):
        shoal.anonymize(source, **asked)
    monkeypatch.setattr(decide, "bytes_to_search", lambda *_: limits.left_for_data(1 << 30))
    assert shoal.anonymize(source, **asked).k >= 2


def test_the_command_line_refuses_sizes_in_words(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    command = [sys.executable, "-m", "shoal.cli", "measure", "t.csv", "--quasi", "a", "--memory", "lots", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "--memory 2GB" in json.loads(done.stdout)["error"]["hint"]


def different(tmp_path, rows=200_000):
    """A file in which every row is a class."""
    path = tmp_path / "different.parquet"
    pq.write_table(pa.table({"a": np.arange(rows), "b": np.arange(rows)[::-1], "t": np.arange(rows) % 9}), path)
    return path


def test_a_measurement_is_refused_before_it_counts(monkeypatch, tmp_path):
    """At the estimate it is applied, one byte below refused; the least named is that of the quicker way."""
    with shoal.open(different(tmp_path), memory="256MB") as source:
        monkeypatch.setattr(room, "about_classes", lambda *_: 200_000)
        needed = limits.bytes_to_measure(200_000, 2, by_codes=True)
        assert limits.bytes_to_count(200_000, 3) < needed
        monkeypatch.setattr(room, "left_for_data", lambda _: needed)
        source.check_measure(["a", "b"], ["t"])
        monkeypatch.setattr(room, "left_for_data", lambda _: needed - 1)
        monkeypatch.setattr(type(source), "count", None)
        with pytest.raises(MemoryBudgetError, match="measuring about 200,000 classes of 2 columns") as caught:
            shoal.measure(source, quasi=["a", "b"], sensitive=["t"])
        assert caught.value.estimate == needed
        monkeypatch.setattr(room, "about_classes", lambda *_: 9)
        source.check_measure(["a", "b"], ["t"])  # many rows, few classes


def test_a_table_is_written_up_to_the_limit_and_refused_one_byte_below(monkeypatch, tmp_path):
    with shoal.open(different(tmp_path), memory="1GB") as source:
        needed = 7 + limits.bytes_to_write(200_000, 3)
        for left, most, fits in ((needed, 10**12, True), (needed - 1, 10**12, False), (needed - 1, needed - 1, True)):
            monkeypatch.setattr(room, "left_for_data", lambda _, left=left: left)
            if fits:
                source.check_written("writing this table", 7, most)
            else:
                with pytest.raises(MemoryBudgetError, match="writing this table needs about"):
                    source.check_written("writing this table", 7, most)


def test_releases_and_plans_are_refused_before_work_and_leave_no_file(monkeypatch, tmp_path):
    monkeypatch.setattr(room, "left_for_data", lambda _: 1)
    monkeypatch.setattr(Table, "count", None)
    monkeypatch.setattr(Table, "recode", None)
    with shoal.open(table(), memory="256MB") as source:
        with pytest.raises(MemoryBudgetError, match="a release of this table needs about 290 MB"):
            shoal.anonymize(source, quasi=["a", "b"], insensitive=["t"], k=2)
        with pytest.raises(MemoryBudgetError, match="writing this table needs about 220 MB"):
            shoal.transform(source, {"steps": [{"column": "a", "round": {"base": 10}}]}, tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("limit", "hint"), [(1 << 30, "limit of the container or of the process (ulimit)"), (None, "--memory")])
def test_a_refusal_names_what_sets_the_budget(monkeypatch, limit, hint):
    monkeypatch.setattr(limits, "limit_of_process", lambda: limit)
    error = limits.refused("a search", 1 << 31, limits.budget_of_process() or 1 << 30, "Raise --memory.")
    assert error.hint.endswith(f"{hint}.")


def test_every_size_of_table_can_be_released_and_written_with_1_gb():
    for most in (limits.RELEASED_AT_MOST, limits.WRITTEN_AT_MOST):
        assert limits.left_for_data(1 << 30) >= most
    assert limits.left_for_data(300 << 20) >= limits.RELEASED > limits.WRITTEN


PEAK = """\
import re, sys
from shoal.cli import main
sys.argv = ["shoal", *sys.argv[1:]]
try:
    main()
finally:
    print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells it; ru_maxrss would be that of the process of the tests")
@pytest.mark.parametrize("quasi", ["a,b", "a"])
def test_a_measurement_of_a_long_file_stays_below_what_was_allowed(quasi, tmp_path):
    """Of columns that are not counted only the first rows are looked at, for any size of a piece of the file."""
    rows = 1_500_000
    texts = pa.array(np.arange(rows)).cast(pa.string())
    pq.write_table(
        pa.table({"a": np.arange(rows) % 50, "b": np.arange(rows) % 7, "name": texts, "more": texts}), tmp_path / "t.parquet"
    )
    words = ["measure", "t.parquet", "--quasi", quasi, "--memory", "256MB", "--json"]
    done = subprocess.run([sys.executable, "-c", PEAK, *words], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert json.loads(done.stdout)["k"] > 1
    assert int(done.stderr.split()[-1]) <= 256 << 10


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/job/run\n", {"job/run/memory.max": "max", "job/memory.max": f"{3 << 30}"}, 3 << 30),
        ("0::/job\n", {"job/memory.max": f"{600 << 20}", "memory.max": f"{1 << 30}"}, 600 << 20),
        ("4:memory:/a\n0::/\n", {"memory/a/memory.limit_in_bytes": f"{1 << 30}"}, 1 << 30),
        ("4:memory:/a\n", {"memory/memory.limit_in_bytes": f"{1 << 30}"}, 1 << 30),
        ("4:memory:/a\n", {"memory/a/memory.limit_in_bytes": "9223372036854771712"}, None),
        ("0::/\n", {}, None),
        ("nonsense", {}, None),
    ],
)
def test_the_limit_of_a_container(groups, files, limit, tmp_path, monkeypatch):
    for name, content in {"own": groups, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content + "\n")
    monkeypatch.setattr(limits, "GROUPS", tmp_path)
    monkeypatch.setattr(limits, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr("resource.getrlimit", lambda kind: (-1, -1))
    assert limits.limit_of_process() == limit


@pytest.mark.parametrize(
    ("limit", "budget"),
    [(limits.SMALL, limits.SMALL // 10 * 9), (limits.SMALL + 1, None), (None, None), (1 << 20, limits.LEAST)],
)
def test_a_small_limit_is_the_budget_of_a_run_that_was_given_none(limit, budget, monkeypatch):
    monkeypatch.setattr(limits, "limit_of_process", lambda: limit)
    assert limits.budget_of_process() == budget
    with shoal.open(table()) as opened, shoal.open(table(), memory="1GB") as asked:
        assert opened.memory == budget
        assert asked.memory == 1 << 30


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of address space")
def test_too_little_address_space_is_refused_in_words():
    limit = "import resource, runpy; resource.setrlimit(resource.RLIMIT_AS, (1500 << 20,) * 2); "
    code = limit + "runpy.run_module('shoal', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("MemoryBudgetError: the process may use 1,500 MB of address space")
