"""What a small table costs, counted and not timed: modules loaded, kernels compiled. And the answers of both ways."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.engines.files.csv import read as csv_read
from shoal.errors import ShoalError

HEAVY = ("duckdb", "numba", "pandas", "polars", "scipy", "sqlglot", "sqlalchemy", "matplotlib", "fastapi", "pyspark", "sklearn")
HEAVY += ("pydantic", "rich")
REMOTE = ("ssl", "pyarrow.fs")
"""What pyarrow loads to read Parquet, and no CSV needs."""
OTHER = ("shoal.prediction", "shoal.release.events.release", "shoal.search.events.problem", "shoal.search.probabilistic")
OTHER += ("shoal.model.certificate.events", "shoal.release.gate.check", "shoal.engines.servers.postgres")
"""Rooms of ours that a table of people does not need."""
WRITING = ("jinja2", "ruamel", "shoal.engines.recode.write", "shoal.engines.files.writers")
"""What counting does not need either."""
NAMED = ("numpy.ma", "shoal.model.requirement", "shoal.find.columns")
"""Nor what is counted by columns that are all named, where nothing is required."""

VERSION, MEASURE, FIND, INSPECT, ANONYMIZE, VERIFY = 26, 190, 225, 260, 445, 330
"""Files of ours that each loads at most: anyone who needs more says here why it is worth the wait."""

GUARD = """
import sys
sys.argv = ["shoal", *sys.argv[1:]]
import shoal.kernels.jit as jit
made = []
compile = jit.Kernel.compile
jit.Kernel.compile = lambda self: (made.append(self.__name__), compile(self))[1]
from shoal.cli import main
try:
    main()
except SystemExit as end:
    code = end.code
print("OURS", sum(m.split(".")[0] == "shoal" for m in sys.modules), file=sys.stderr)
print("LOADED", [m for m in {heavy!r} if m in sys.modules], "COMPILED", made, "EXIT", code or 0, file=sys.stderr)
"""

POLICY = """
roles:
  direct: [name]
  quasi: {born: {}, sex: {}, zip: {}, age: {}, height: {}}
  sensitive: [ill, pay]
  insensitive: [visits, weight]
require: {k: 3}
method: lattice   # local recoding needs compiled loops and an engine
allow: {suppress: 0.9}
"""


def rows(n: int = 200) -> dict[str, list[object]]:
    rng = random.Random(4)
    return {
        "name": [f"p{i}" for i in range(n)],
        "born": [f"19{rng.randrange(40, 99)}-0{rng.randrange(1, 9)}-1{rng.randrange(9)}" for _ in range(n)],
        "sex": [rng.choice("fm") for _ in range(n)],
        "zip": [rng.randrange(1000, 1009) for _ in range(n)],
        "ill": [rng.choice(["flu", "hiv", "cold, bad", 'the "virus"', ""]) for _ in range(n)],
        "visits": [rng.randrange(9) for _ in range(n)],
        "age": [rng.randrange(18, 90) for _ in range(n)],
        "height": [1.5 + rng.randrange(50) / 100 for _ in range(n)],
        "weight": [None if rng.random() < 0.1 else 40 + rng.randrange(500) / 10 for _ in range(n)],
        "pay": [rng.randrange(9) * 1000 for _ in range(n)],
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    columns = rows()
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    pq.write_table(pa.table(columns), folder / "t.parquet")
    (folder / "policy.yml").write_text(POLICY)
    return folder


def run(place: Path, *words: str, besides: tuple[str, ...] = (), most: int = 0) -> tuple[str, str]:
    """What the command says, and what the guard says of it; it may load ``most`` files of ours."""
    done = subprocess.run(
        [sys.executable, "-c", GUARD.format(heavy=HEAVY + OTHER + besides), *words],
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    ours, told = done.stderr.splitlines()[-2:]
    assert int(ours.removeprefix("OURS ")) <= most
    return done.stdout, told


def no_more_than(file: str) -> tuple[str, ...]:
    return REMOTE if file == "t.csv" else ()


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
def test_measuring_a_small_table_loads_and_compiles_nothing_heavy(place: Path, file: str) -> None:
    out, told = run(
        place,
        "measure",
        file,
        "--quasi",
        "born,sex,zip,age,height",
        "--sensitive",
        "ill",
        "--json",
        besides=WRITING + no_more_than(file),
        most=FIND,
    )
    assert told == "LOADED [] COMPILED [] EXIT 0"
    assert json.loads(out)["records"] == 200


def test_where_every_column_has_its_role_no_words_for_columns_are_loaded(place: Path) -> None:
    """Of the columns without a role only the name is left, which repeats nothing."""
    quasi = ",".join(c for c in rows() if c not in ("name", "ill"))
    words = ("measure", "t.csv", "--quasi", quasi, "--sensitive", "ill", "--json")
    out, told = run(place, *words, besides=WRITING + NAMED, most=MEASURE)
    assert told == "LOADED [] COMPILED [] EXIT 0"
    assert json.loads(out)["records"] == 200


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
def test_anonymizing_a_small_table_loads_and_compiles_nothing_heavy(place: Path, file: str) -> None:
    folder = f"release-{file}"
    out, told = run(
        place, "anonymize", file, "--policy", "policy.yml", "--out", folder, "--json", besides=no_more_than(file), most=ANONYMIZE
    )
    assert told == "LOADED [] COMPILED [] EXIT 0"
    assert json.loads(out)["verified"] is True
    out, told = run(place, "verify", folder, "--json", besides=("shoal.release.events.verify", *REMOTE), most=VERIFY)
    assert told == "LOADED [] COMPILED [] EXIT 0"
    assert json.loads(out)["verified"] is True


def test_looking_at_a_small_table_loads_and_compiles_nothing_heavy(place: Path) -> None:
    out, told = run(place, "inspect", "t.csv", "--json", most=INSPECT)
    assert told == "LOADED [] COMPILED [] EXIT 0"
    assert len(json.loads(out)["columns"]) == len(rows())


def test_the_command_computes_without_the_help_pages_of_arrow() -> None:
    """The command reads none of them; anyone who imports the library finds them where they were."""
    say = "import pyarrow.compute as pc; print('Parameters' in pc.sum.__doc__, 'skip_nulls' in pc.sum.__doc__, pc.sum([1, 2]))"
    ways = ["from shoal.__main__ import _skip_arrow_help as f; f(); ", "import shoal; shoal.open; "]
    told = [subprocess.run([sys.executable, "-c", way + say], capture_output=True, text=True, check=True).stdout for way in ways]
    assert told == ["True False 3\n", "True True 3\n"]


def test_the_version_is_told_before_any_command_is_loaded(place: Path) -> None:
    out, told = run(place, "--version", besides=("numpy", "pyarrow"), most=VERSION)
    assert (out, told) == (f"shoal {shoal.__version__}\n", "LOADED [] COMPILED [] EXIT 0")


CELL = st.sampled_from(
    ["", "a", "b c", "7", "-3", "007", "1.50", "2.5", "0.1", "2024-02-29", "2023-02-30", "é", 'x"y', "p,q", " 1", "NA"]
)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=8),
    st.sampled_from(["minimal", "all", "none"]),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([{}, {"null": "NA"}, {"null": ["NA", "a"]}]),
)
def test_a_small_file_is_read_as_a_large_one(tmp_path_factory, lines, quoting, delimiter, end, options) -> None:
    """With the short way shut, the same file must have the same kinds and cells, or be refused in the same words."""
    file = tmp_path_factory.mktemp("csv") / "t.csv"
    style = {"minimal": csv.QUOTE_MINIMAL, "all": csv.QUOTE_ALL, "none": csv.QUOTE_NONE}[quoting]
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(
            out,
            delimiter=delimiter,
            lineterminator=end,
            quoting=style,
            quotechar=None if quoting == "none" else '"',
            escapechar="\\",
        )
        writer.writerow(["one", "two", "three"])
        writer.writerows(lines)
    assert read(file, options) == with_the_long_way(file, options)


def with_the_long_way(file: Path, options: dict[str, object]) -> object:
    kept, csv_read._File.in_memory = csv_read._File.in_memory, lambda _: None
    try:
        return read(file, options)
    finally:
        csv_read._File.in_memory = kept


def read(file: Path, options: dict[str, object]) -> object:
    try:
        with shoal.open(file, **options) as table:
            batches = list(table.scan())
            cells = pa.Table.from_batches(batches)
            source = {k: v for k, v in table.source.items() if k != "source"}
            return [(c.name, c.kind, c.nullable) for c in table.schema.columns], table.n_rows(), cells.to_pydict(), source
    except ShoalError as error:
        return str(error)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'a,b\n1,"x\ny"\n', id="a line break in a field"),
        pytest.param(b"a,b\n1,2\n\n3,4\n", id="an empty line"),
        pytest.param(b"a,b\n1\n", id="a short line"),
        pytest.param(b"a,b\r1,2\r", id="old line ends"),
        pytest.param(b"\xef\xbb\xbfa,b\n1,2\n", id="a byte order mark"),
        pytest.param(b'a,b\n1,"x"y\n', id="text after a quote"),
        pytest.param(b"a\n1\n\n2\n", id="one column"),
        pytest.param(b"a,b\n1,\xff\n", id="not UTF-8"),
    ],
)
def test_what_is_not_plain_goes_the_long_way(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(raw)
    assert read(tmp_path / "t.csv", {}) == with_the_long_way(tmp_path / "t.csv", {})


def test_a_small_release_is_that_of_the_long_way(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.search.kernels import entries as charges
    from shoal.search.kernels import group_cells

    small = shoal.anonymize(place / "t.csv", place / "policy.yml")
    for module in (group_cells, charges):
        monkeypatch.setattr(module, "FEW", 0)
    monkeypatch.setattr(csv_read._File, "in_memory", lambda _: None)
    large = shoal.anonymize(place / "t.csv", place / "policy.yml")
    assert (small.certificate.utility.levels, small.certificate.utility.loss) == (
        large.certificate.utility.levels,
        large.certificate.utility.loss,
    )
    assert small.certificate.after == large.certificate.after


def test_a_closed_table_stays_closed(place: Path) -> None:
    table = shoal.open(place / "t.csv", delimiter=",")
    table.close()
    with pytest.raises(ShoalError, match="closed"):
        table._engine.count_rows(table._relation)


def test_a_diverse_release_by_local_recoding_compiles_nothing(place: Path) -> None:
    diverse = POLICY.replace("k: 3", "k: 3, diversity: {ill: {entropy: 2}}").replace("method: lattice", "method: best")
    (place / "diverse.yml").write_text(diverse.replace(", age: {}, height: {}", "").replace("[visits,", "[age, height, visits,"))
    words = ("anonymize", "t.csv", "--policy", "diverse.yml", "--out", "diverse", "--no-ledger", "--json")
    said, told = run(place, *words, most=ANONYMIZE)
    assert json.loads(said)["verified"]
    assert told == "LOADED [] COMPILED [] EXIT 0"
