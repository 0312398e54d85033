"""RECODE: steps, suppression, order, output formats; every file appears whole or not at all."""

from __future__ import annotations

import csv
import errno
import os
import signal
import struct
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import nursery
from shoal.engines.files import writers
from shoal.engines.files.csv.write import inert
from shoal.engines.open import open as open_table
from shoal.engines.recode import by_codes
from shoal.errors import DataError, HierarchyGapError, MissingColumnError, OutputError, UsageError
from shoal.kernels.order import row_hashes
from shoal.model.plan import ColumnStep, Plan, StreamStep, Suppression
from shoal.steps import Constant, Cut, Drop, MapValues, Prefix, Round

PEOPLE = pa.table(
    {
        "id": list(range(8)),
        "age": [30, 31, 30, 55, 56, 55, 90, None],
        "sex": ["f", "f", "f", "m", "m", "m", "f", None],
        "zip": ["1011", "1012", "1019", "2000", "2001", "2002", "9999", "9999"],
        "who": ["a", "a", "b", "c", "d", "e", "f", "g"],
    }
)
BANDS = Cut("age", points=(50.0, 80.0), labels=("<50", "50-79", "80+"))
COARSE = (BANDS, Prefix("zip", length=1), Drop("id"), Drop("who"))
KEYS = ("age", "sex", "zip")


def read(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]


def recode(plan: Plan, path: Path, table: pa.Table = PEOPLE, **more: Any) -> Any:
    with open_table(table) as opened:
        return opened.recode(plan, path, **more)


def test_rows_of_small_classes_are_left_out(tmp_path: Path) -> None:
    done = recode(Plan(COARSE, Suppression(3, KEYS)), tmp_path / "o.parquet")
    assert (done.records_in, done.records_out, done.suppressed) == (8, 6, 2)
    assert Counter(tuple(r.values()) for r in read(tmp_path / "o.parquet")) == {
        ("<50", "f", "1***"): 3,
        ("50-79", "m", "2***"): 3,
    }
    assert done.changed == {"id": 1.0, "age": 1.0, "sex": 0.0, "zip": 1.0, "who": 1.0}
    assert done.files == (str(tmp_path / "o.parquet"),)


def test_suppression_counts_people_where_a_unit_is_named(tmp_path: Path) -> None:
    done = recode(Plan(COARSE, Suppression(3, KEYS, unit="who")), tmp_path / "o.parquet")
    assert Counter(r["sex"] for r in read(tmp_path / "o.parquet")) == {"m": 3}  # a is one person with two rows
    assert done.suppressed == 5


def test_cells_of_small_classes_are_blanked(tmp_path: Path) -> None:
    done = recode(Plan((*COARSE[:2], Drop("who")), Suppression(3, ("sex", "zip"), "cells")), tmp_path / "o.parquet")
    rows = {r["id"]: r for r in read(tmp_path / "o.parquet")}
    assert len(rows) == 8
    assert rows[6] == {"id": 6, "age": "80+", "sex": "*", "zip": "*"}
    assert rows[7] == {"id": 7, "age": None, "sex": "*", "zip": "*"}
    assert rows[0]["zip"] == "1***"
    assert done.suppressed == 2
    assert done.changed["sex"] == 0.25
    assert done.changed["age"] == 7 / 8  # the missing age stays missing


def test_missing_values_are_a_class_of_their_own(tmp_path: Path) -> None:
    table = pa.table({"a": ["x", None, None, "", float("nan").hex()], "n": [1.0, float("nan"), None, -0.0, 0.0]})
    recode(Plan((Drop("a"),), Suppression(2, ("n",))), tmp_path / "o.parquet", table)
    assert sorted((r["n"] is None, r["n"] or 0.0) for r in read(tmp_path / "o.parquet")) == [(False, 0.0)] * 2 + [(True, 0.0)] * 2


def test_given_classes_decide_instead_of_k(tmp_path: Path) -> None:
    kept = pa.table({"age": ["80+", None], "sex": ["f", None], "zip": ["9***", "9***"]})
    done = recode(Plan(COARSE, Suppression(5, KEYS)), tmp_path / "o.parquet", kept=kept)
    assert done.records_out == 2
    assert {r["age"] for r in read(tmp_path / "o.parquet")} == {"80+", None}


def test_class_map_recodes_locally(tmp_path: Path) -> None:
    classes = pa.table({n: PEOPLE[n] for n in KEYS})
    for n in KEYS:
        values = pa.array([f"{n}!" if i < 6 else None for i in range(8)])
        classes = classes.append_column(f"{n}\x00published", values)
    done = recode(Plan((Drop("id"), Drop("who")), Suppression(3, KEYS)), tmp_path / "o.parquet", class_map=classes)
    assert done.suppressed == 2
    assert {tuple(r.values()) for r in read(tmp_path / "o.parquet")} == {("age!", "sex!", "zip!")}
    with pytest.raises(DataError, match="does not cover 2 record"):
        recode(Plan(), tmp_path / "p.parquet", class_map=classes.slice(0, 6))


def test_gap_in_a_value_map_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(HierarchyGapError) as caught:
        recode(Plan((MapValues("sex", keys=("f",), targets=(0,), labels=("F",)),)), tmp_path / "o.csv")
    assert "1 distinct value(s) in 3 record(s)" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "xlsx"])
def test_same_input_and_seed_give_the_same_bytes(tmp_path: Path, ending: str) -> None:
    shuffled = PEOPLE.take([3, 1, 7, 0, 5, 6, 2, 4])
    outputs = []
    for i, (table, seed) in enumerate([(PEOPLE, 1), (PEOPLE, 1), (shuffled, 1), (PEOPLE, 2)]):
        recode(Plan(COARSE[:2], seed=seed), tmp_path / f"{i}.{ending}", table)
        outputs.append((tmp_path / f"{i}.{ending}").read_bytes())
    assert outputs[0] == outputs[1]
    assert outputs[0] == outputs[2], "the order of the output may not depend on the order of the input"
    assert outputs[0] != outputs[3]


def test_without_shuffle_the_order_of_a_file_stays(tmp_path: Path) -> None:
    recode(Plan(shuffle=False), tmp_path / "o.parquet")
    assert [r["id"] for r in read(tmp_path / "o.parquet")] == list(range(8))


def test_no_metadata_is_carried_over(tmp_path: Path) -> None:
    table = PEOPLE.replace_schema_metadata({"author": "canary-author"})
    pq.write_table(table, tmp_path / "in.parquet")
    with open_table(tmp_path / "in.parquet") as opened:
        opened.recode(Plan(), tmp_path / "o.parquet")
    assert b"canary-author" not in (tmp_path / "o.parquet").read_bytes()
    assert pq.read_metadata(tmp_path / "o.parquet").metadata is None


@pytest.mark.parametrize("coded", [True, False], ids=["dictionary", "plain"])
def test_nothing_of_rows_left_out_is_in_the_file(tmp_path: Path, coded: bool) -> None:
    """A Parquet dictionary page may not hold values of suppressed rows, nor list values in the order of the input."""
    texts = pa.array(["zulu", "canary", "alpha", "zulu", "alpha", "mike"])
    table = pa.table({"q": ["a", "b", "a", "a", "a", "a"], "s": texts.dictionary_encode() if coded else texts})
    pq.write_table(table, tmp_path / "in.parquet")
    with open_table(tmp_path / "in.parquet") as opened:
        opened.recode(Plan((Prefix("q", length=1),), Suppression(2, ("q",))), tmp_path / "o.parquet")
    back = pq.read_table(tmp_path / "o.parquet", read_dictionary=["q", "s"])
    assert back["q"].chunk(0).dictionary.to_pylist() == ["a"]
    found = back["s"].chunk(0).dictionary.to_pylist()
    assert "canary" not in found
    rows = [r["s"] for r in back.to_pylist()]
    assert found in (["alpha", "mike", "zulu"], list(dict.fromkeys(rows)))


def both_ways(plan: Plan, table: pa.Table, folder: Path, **more: Any) -> tuple[Any, Any, list[Any], list[Any]]:
    """The quick way by codes and the way by SQL."""
    quick = recode(plan, folder / "quick.parquet", table, **more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.engines.recode.write.can_recode", lambda *_: False)
        slow = recode(plan, folder / "slow.parquet", table, **more)
    return quick, slow, read(folder / "quick.parquet"), read(folder / "slow.parquet")


@pytest.mark.parametrize("kept", [None, pa.table({"age": ["<50", None], "sex": ["f", None]})], ids=["by k", "classes given"])
@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize(
    "steps",
    [
        (BANDS,),
        (BANDS, MapValues("sex", keys=("f",), targets=(0,), labels=("f",), on_gap="suppress", missing_label="none"), Drop("id")),
        (BANDS, Round("id", base=5.0), Constant("zip", value="NL")),
    ],
    ids=["cut", "map", "round"],
)
def test_codes_and_sql_publish_the_same_rows(tmp_path: Path, steps: Any, unit: str | None, kept: Any) -> None:
    table = PEOPLE.append_column("x", pa.array([1.5, -0.0, float("nan"), None, 2.0, 2.0, 0.1, 1e300]))
    plan = Plan(steps, Suppression(2, ("age", "sex"), unit=unit), seed=9)
    quick, slow, quick_rows, slow_rows = both_ways(plan, table, tmp_path, kept=kept)
    assert Counter(map(repr, quick_rows)) == Counter(map(repr, slow_rows))  # a NaN is a NaN here
    assert quick_rows
    assert (quick.records_in, quick.records_out, quick.suppressed) == (slow.records_in, slow.records_out, slow.suppressed)
    assert quick.changed == slow.changed
    assert pq.read_schema(tmp_path / "quick.parquet") == pq.read_schema(tmp_path / "slow.parquet")


@pytest.mark.parametrize("kept", [None, pa.table({"age": ["<50", None], "sex": ["f", None]})], ids=["by k", "classes given"])
@pytest.mark.parametrize("scope", ["rows", "none"])
def test_codes_and_sql_give_a_class_map_the_same_rows(tmp_path: Path, scope: Any, kept: Any) -> None:
    classes = pa.table({n: PEOPLE[n] for n in ("age", "sex", "id")})  # of a column that is not published, too
    classes = classes.append_column(
        "age\x00published", pa.array(["<50" if (a or 0) < 50 else None for a in PEOPLE["age"].to_pylist()])
    )
    classes = classes.append_column("sex\x00published", PEOPLE["sex"])
    plan = Plan((Drop("id"), Constant("zip", value="NL")), Suppression(2, ("age", "sex"), scope=scope), seed=9)
    quick, slow, quick_rows, slow_rows = both_ways(plan, PEOPLE, tmp_path, class_map=classes, kept=kept)
    assert quick_rows == slow_rows
    assert 0 < len(quick_rows) <= 8
    assert (quick.changed, quick.suppressed, quick.records_in) == (slow.changed, slow.suppressed, slow.records_in)
    assert quick.changed["sex"] == 0 < quick.changed["age"]


def test_private_file_mode(tmp_path: Path) -> None:
    recode(Plan(), tmp_path / "o.csv")
    assert (tmp_path / "o.csv").stat().st_mode & 0o777 == 0o600


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[float] = []
    recode(Plan(), tmp_path / "o.csv", progress=lambda share, _: told.append(share))
    assert told[0] == 0.0
    assert told[-1] == 1.0
    assert told == sorted(told)


# -- steps that SQL cannot express -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Stamp(StreamStep):
    kind: ClassVar[str] = "test-stamp"

    @property
    def needs(self) -> tuple[str, ...]:
        return ("who",)

    def start(self, seed: int) -> Callable[[Any, Any], Any]:
        def work(table: Any, rows: Any) -> Any:
            assert set(table.column_names) == {self.column, "who"}
            pairs = zip(table[self.column].to_pylist(), table["who"].to_pylist(), strict=True)
            stamped = [f"{v}/{w}/{rows[i, 0]}" for i, (v, w) in enumerate(pairs)]
            return table.set_column(table.column_names.index(self.column), self.column, pa.array(stamped))

        return work


@dataclass(frozen=True)
class _Reverse(ColumnStep):
    kind: ClassVar[str] = "test-reverse"

    def run(self, table: Any, seed: int) -> Any:
        return pa.table({self.column: pa.array(table[self.column].to_pylist()[::-1])})


def test_staged_steps_follow_the_order_given(tmp_path: Path) -> None:
    plan = Plan((_Stamp("zip"), _Reverse("zip"), Drop("who"), Prefix("sex", length=1), Drop("age")), seed=10**16)
    done = recode(plan, tmp_path / "o.parquet")
    rows = sorted(read(tmp_path / "o.parquet"), key=lambda r: r["id"])
    hashes = row_hashes(PEOPLE.columns, 8, 0)  # of the original content
    order = np.argsort(hashes, kind="stable").tolist()
    zips, who = PEOPLE["zip"].to_pylist(), PEOPLE["who"].to_pylist()
    stamped = [f"{zips[row]}/{who[row]}/{hashes[row]}" for row in order]
    assert [r["zip"] for r in rows] == [stamped[7 - order.index(row)] for row in range(8)]
    assert list(rows[0]) == ["id", "sex", "zip"]
    assert done.changed == {"id": 0.0, "age": 1.0, "sex": 0.0, "zip": 1.0, "who": 1.0}


def test_suppression_follows_staged_steps(tmp_path: Path) -> None:
    plan = Plan((_Reverse("zip"), *COARSE[:1], Drop("id")), Suppression(3, ("age", "sex"), unit="who"))
    done = recode(plan, tmp_path / "o.parquet")
    assert done.records_out == 3
    assert {r["age"] for r in read(tmp_path / "o.parquet")} == {"50-79"}


def test_unchanged_cells_of_a_staged_step_do_not_count(tmp_path: Path) -> None:
    table = pa.table({"i": [1, 1, 1], "x": ["a", "a", "a"]})
    assert recode(Plan((_Reverse("x"),)), tmp_path / "o.parquet", table).changed == {"i": 0.0, "x": 0.0}
    mixed = pa.table({"i": [1, 2, 3, 4], "x": ["a", "b", "b", "b"]})  # the one "a" and its mirror change, the others do not
    assert recode(Plan((_Reverse("x"),)), tmp_path / "m.parquet", mixed).changed == {"i": 0.0, "x": 0.5}


# -- spreadsheets ----------------------------------------------------------------------------------------------------

HOSTILE = [
    "=1+1",
    "+x",
    "-x",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "\nx",
    "＝1",
    "＋1x",
    "－x",
    "＠x",
    "  =x",
    "\u00a0=x",
    "'=x",
    '"=x',
    "\ufeff=x",
    " '@x",
]


def test_text_that_a_spreadsheet_would_run_is_made_inert(tmp_path: Path) -> None:
    table = pa.table({"=name": HOSTILE, "n": list(range(-8, len(HOSTILE) - 8))})
    recode(Plan(shuffle=False), tmp_path / "o.csv", table)
    with (tmp_path / "o.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    assert header == ["'=name", "n"]
    assert [r[0] for r in rows] == ["'" + text for text in HOSTILE]
    assert [int(r[1]) for r in rows] == table["n"].to_pylist()
    recode(Plan(shuffle=False), tmp_path / "raw.csv", table, raw=True)
    with open_table(tmp_path / "raw.csv", types={"=name": "text"}) as back:
        assert [row["=name"] for batch in back.scan() for row in batch.to_pylist()] == HOSTILE


def test_harmless_text_stays(tmp_path: Path) -> None:
    texts = ["a=b", "-5", "+31", "3-4", "", None, "x@y", "-1.5"]
    assert inert(pa.array(texts)).to_pylist() == texts
    assert len(pc.unique(inert(pa.array(["=x", "'=x", "''=x"])))) == 3


def test_cells_stay_inert_where_spreadsheets_split_at_semicolons(tmp_path: Path) -> None:
    """With a number in the first column such a spreadsheet sees no quote at the start of a line, and splits inside the text."""
    texts = ["a;=1+1;b", "a\n=1+1\nb", "a; '@x", "a\r\n-2+3;b", "a;＝1", "a;;+x"]
    recode(Plan(shuffle=False), tmp_path / "o.csv", pa.table({"n": range(len(texts)), "t": texts}))
    seen = (tmp_path / "o.csv").read_bytes().decode().replace("\r", "\n")
    cells = [cell for line in seen.split("\n") for cell in line.split(";")]
    assert not [c for c in cells if c.lstrip(" ").startswith(("=", "+", "-", "@", "＝"))]
    kept = ["1;-5", "a; b", "2020;2021", "x;-", "a;+31"]
    assert inert(pa.array(kept)).to_pylist() == kept
    assert len(pc.unique(inert(pa.array(["a;=x", "a;'=x", "a;''=x", "a;=x;=y", "a;'=x;=y"])))) == 5


def test_excel_has_text_cells_and_no_formulas(tmp_path: Path) -> None:
    import openpyxl

    table = pa.table({"t": HOSTILE[:4], "long": [10**17, 1, 2, 3], "n": [1.5, None, -2.0, 0.0]})
    recode(Plan(shuffle=False), tmp_path / "o.xlsx", table)
    sheet = openpyxl.load_workbook(tmp_path / "o.xlsx").active
    cells = list(sheet.iter_rows(min_row=2))
    assert [c[0].data_type for c in cells] == ["s"] * 4
    assert [c[0].value for c in cells] == HOSTILE[:4]
    assert cells[0][1].value == str(10**17)
    assert [c[2].value for c in cells] == [1.5, None, -2, 0]


def test_an_excel_file_that_stops_early_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "tmp"
    elsewhere.mkdir()
    (tmp_path / "out").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    with pytest.raises(OutputError):
        recode(Plan(shuffle=False), tmp_path / "out" / "o.xlsx", pa.table({"t": ["a", "b" * 33_000]}))
    assert list((tmp_path / "out").iterdir()) == []
    assert [p for p in elsewhere.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_labels_stay_and_new_bands_get_new_ones(tmp_path: Path, ending: str) -> None:
    import pandas as pd
    import pyreadstat

    frame = pd.DataFrame({"age": [20.0, 30.0, 80.0], "job": [1.0, 2.0, -9.0]})
    write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
    write(frame, str(tmp_path / f"in.{ending}"), variable_value_labels={"job": {1: "baker", 2: "smith", -9: "refused"}})
    with open_table(tmp_path / f"in.{ending}") as table:
        assert dict(table.schema["job"].labels)[1] == "baker"
        assert table.distinct("job") == 3
        table.recode(Plan((Cut("age", points=(50.0,), labels=("<50", "50+")),), shuffle=False), tmp_path / f"o.{ending}")
    back, meta = pyreadstat.read_sav(str(tmp_path / "o.sav")) if ending == "sav" else pyreadstat.read_dta(str(tmp_path / "o.dta"))
    assert meta.variable_value_labels["age"] == {1: "<50", 2: "50+"}
    assert meta.variable_value_labels["job"] == {1: "baker", 2: "smith", -9: "refused"}
    assert back["age"].tolist() == [1, 1, 2]
    assert back["job"].tolist() == [1, 2, -9]


ENDINGS = ["sav", "dta", "xlsx", "parquet", "arrow", "csv"]


@pytest.fixture(scope="module")
def written_twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one table in each format, once more a second later."""
    folder, table = tmp_path_factory.mktemp("twice"), pa.table({"x": [1, 2], "t": ["a", "b"]})
    for name in ("a", "b"):
        for ending in ENDINGS:
            recode(Plan(), folder / f"{name}.{ending}", table)
        time.sleep(1.1 if name == "a" else 0)
    return folder


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_time_of_writing_is_not_in_the_file(written_twice: Path, ending: str) -> None:
    whole = (written_twice / f"a.{ending}").read_bytes()
    assert whole == (written_twice / f"b.{ending}").read_bytes()
    if ending == "dta":  # its clock shows minutes only
        assert b"<timestamp>\x1101 Jan 2000 00:00</timestamp>" in whole
    if ending == "sav":
        assert struct.unpack("<d", whole[84:92]) == (100.0,)  # the field before the date
        assert whole[92:109] == b"01 Jan 0000:00:00"
    with open_table(written_twice / f"b.{ending}") as back:
        assert back.count(["x"]).n_classes == 2


# -- whole or not at all ---------------------------------------------------------------------------------------------


def big(n: int = 400_000) -> pa.Table:
    return pa.table({"x": pa.array(range(n)), "t": pa.array([f"value {i}" for i in range(n)])})


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "xlsx", "sav", "dta"])
def test_full_disk_leaves_nothing(tmp_path: Path, ending: str) -> None:
    program = f"""
        import resource, signal, sys
        from pathlib import Path
        import pyarrow as pa
        from shoal.engines.open import open as open_table
        from shoal.errors import OutputError
        from shoal.model.plan import Plan
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        n = 30_000
        t = open_table(pa.table({{"x": list(range(n)), "t": [f"value {{i * 7919}}" for i in range(n)]}}))
        t.n_rows()
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        try:
            t.recode(Plan(), Path({str(tmp_path / f"o.{ending}")!r}))
        except OutputError as error:
            assert "could not be written" in str(error), error
            sys.exit(33)
    """
    code, _, said = nursery.run(textwrap.dedent(program), tmp_path, os.environ)
    assert code == 33, said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_file_whose_end_is_lost_is_not_published(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyreadstat does not notice when the last bytes do not reach the disk."""
    import pyreadstat

    name = {"sav": "write_sav", "dta": "write_dta"}[ending]
    write = getattr(pyreadstat, name)

    def cut_off(frame: Any, path: str, **more: Any) -> None:
        write(frame, path, **more)
        os.truncate(path, Path(path).stat().st_size - 40)

    monkeypatch.setattr(pyreadstat, name, cut_off)
    with pytest.raises(OutputError, match="could not be written"):
        recode(Plan(), tmp_path / f"o.{ending}", pa.table({"x": [1.5, 2.5, 3.5] * 100, "t": ["abc", "b", "c"] * 100}))
    assert list(tmp_path.iterdir()) == []


def test_error_while_writing_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "o.parquet"
    target.write_bytes(b"old")

    def no_space(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OutputError, match="disk is full"):
        recode(Plan(), target)
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["o.parquet"]


def test_interrupt_leaves_nothing(tmp_path: Path) -> None:
    def stop(share: float, _: str) -> None:
        if share > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recode(Plan(), tmp_path / "o.csv", big(), progress=stop)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("way", ["codes", "sql"])
def test_real_interrupt_leaves_nothing(tmp_path: Path, way: str) -> None:
    code = f"""
        import signal, sys
        import numpy as np, pyarrow as pa
        import shoal.engines.recode.write as r
        from shoal.engines.open import open as open_table
        from shoal.model.plan import Plan
        from shoal.steps import Prefix
        if {way == "sql"}:
            r.can_recode = lambda *_: False
        n = 4_000_000
        t = open_table(pa.table({{"x": np.arange(n), "y": pa.array(np.arange(n) % 97).cast(pa.string())}}))
        t.n_rows()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored
        try:
            print("go", flush=True)
            while True:
                t.recode(Plan((Prefix("y", length=1),)), {str(tmp_path / "o.csv")!r})
        except KeyboardInterrupt:
            sys.exit(77)
    """
    env = {**os.environ, "PYTHONPATH": "src"}
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True, env=env)
    assert child.stdout is not None
    assert child.stdout.readline() == "go\n"
    time.sleep(1.0)
    try:
        child.send_signal(signal.SIGINT)
        code_of_end = child.wait(timeout=300)
    finally:
        child.kill()
        child.stdout.close()
    assert code_of_end == 77
    assert [p.name for p in tmp_path.iterdir() if p.name != "o.csv"] == []
    if (tmp_path / "o.csv").exists():  # an earlier round was finished: then it is whole
        assert (tmp_path / "o.csv").read_bytes().count(b"\n") == 4_000_001


def test_the_source_is_never_written_over(tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "in.parquet")
    before = (tmp_path / "in.parquet").read_bytes()
    with open_table(tmp_path / "in.parquet") as opened, pytest.raises(UsageError, match="being read"):
        opened.recode(Plan(), tmp_path / "in.parquet")
    with open_table(tmp_path) as opened:
        (tmp_path / "o.parquet").write_bytes(b"")
        with pytest.raises(UsageError, match="being read"):
            opened.recode(Plan(), tmp_path / "o.parquet")
    assert (tmp_path / "in.parquet").read_bytes() == before


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nothing can be written in folder"):
        recode(Plan(), tmp_path / "nowhere" / "o.csv")


def test_atomic_file_is_not_visible_under_its_name(tmp_path: Path) -> None:
    target = tmp_path / "x.csv"
    with writers.atomic(target) as temporary:
        temporary.write_text("half")
        assert not target.exists()
        assert temporary.stat().st_mode & 0o777 == 0o600
    assert target.read_text() == "half"


# -- wrong plans -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "error", "words"),
    [
        (Plan((Drop("nam"),)), MissingColumnError, "nam"),
        (Plan((Constant("age"), BANDS)), UsageError, "two expression steps"),
        (Plan(tuple(Drop(n) for n in PEOPLE.column_names)), UsageError, "leaves no column"),
        (Plan((Round("sex", base=5.0),)), UsageError, "needs a column of kind integer or decimal or float; found text"),
        (Plan((Drop("zip"),), Suppression(3, ("zip",))), MissingColumnError, "zip"),
        (Plan((), Suppression(3)), UsageError, "suppression names no columns"),
        (Plan((), Suppression(3, ("zip",), unit="whom")), MissingColumnError, "Did you mean 'who'"),
    ],
)
def test_wrong_plans_say_what_is_wrong(tmp_path: Path, plan: Plan, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        recode(plan, tmp_path / "o.csv")
    assert list(tmp_path.iterdir()) == []


def test_unknown_output_format(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="format is not known"):
        recode(Plan(), tmp_path / "o.doc")


def test_classes_find_their_published_values_however_they_are_spelled() -> None:
    """The class map of local recoding against its definition: by value, missing ones included, types apart."""
    rng = np.random.default_rng(5)
    values = {"age": [None, 7, 30, 41], "pay": [None, 1.5, 2.0, -3.0], "town": [None, "7", "b", "1.5"]}
    ranks = {n: rng.integers(0, 4, 200) for n in values}
    whole = {n: by_codes._Ranks(ranks[n].astype(np.uint8), pa.array(v[1:])) for n, v in values.items()}
    rows = sorted(set(zip(*ranks.values(), strict=True)), reverse=True)
    own = {n: [values[n][row[j]] for row in rows] for j, n in enumerate(values)}
    labels = {n: [None if v is None else "*" if i % 3 else str(v) for i, v in enumerate(column)] for n, column in own.items()}
    table = pa.table({**own, **{n + by_codes.PUBLISHED: pa.array(column, pa.string()) for n, column in labels.items()}})
    classes = by_codes._ClassMap.of(table, list(values), whole, 200)
    at = {row: i for i, row in enumerate(rows)}
    found = [at[row] for row in zip(*ranks.values(), strict=True)]
    for name, column in labels.items():
        shown = classes.published(name)
        assert [None if r == 0 else shown.categories[int(r) - 1].as_py() for r in shown.ranks] == [column[i] for i in found]
        texts = [None if v is None else str(v) for v in own[name]]
        assert classes.changed(name, None) == sum(texts[i] != column[i] for i in found) > 0
    with pytest.raises(DataError, match="not cover"):
        by_codes._ClassMap.of(table.slice(1), list(values), whole, 200)


def test_a_new_table_needs_one_in_a_database(tmp_path: Path) -> None:
    import duckdb

    with pytest.raises(UsageError, match="a new table needs a table in a database"):
        recode(Plan(), "::new")  # type: ignore[arg-type]
    with duckdb.connect(tmp_path / "file.db") as place:
        place.execute("CREATE TABLE old AS SELECT * FROM range(5) t(n)")
    with open_table(f"duckdb://{tmp_path / 'file.db'}::old") as opened:
        assert opened.recode(Plan(), "::new").records_out == 5


def test_the_person_column_is_not_read_if_the_classes_are_given(tmp_path: Path) -> None:
    kept = pa.table({"age": ["80+", None], "sex": ["f", None], "zip": ["9***", "9***"]})
    done = recode(Plan(COARSE, Suppression(5, KEYS, unit="absent")), tmp_path / "o.parquet", kept=kept)
    assert done.records_out == 2
    with pytest.raises(MissingColumnError, match="absent"):
        recode(Plan(COARSE, Suppression(5, KEYS, unit="absent")), tmp_path / "p.parquet")


def test_a_seed_that_was_drawn_is_kept_and_one_that_was_stated_is_not(tmp_path: Path) -> None:
    from shoal.engines.recode.write import read_seed
    from shoal.techniques.perturb.noise import Noise

    drawn = recode(Plan((Noise("id", 5.0),)), tmp_path / "o.parquet")
    assert drawn.private_file == str(tmp_path / "o.parquet.private.json")
    assert read_seed(drawn.private_file) == drawn.drawn
    stated = recode(Plan((Noise("id", 5.0),), seed=10**18 + 7), tmp_path / "p.parquet")
    assert (stated.drawn, stated.private_file) == (None, None)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o.parquet", "o.parquet.private.json", "p.parquet"]
