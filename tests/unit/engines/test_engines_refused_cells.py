"""What a statistical package or Excel cannot hold is refused with the column's name; such cells were cut or infinite."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.core.kinds import normalize
from shoal.engines.files.statistical.read import LARGEST
from shoal.errors import OutputError, UnreadableError
from shoal.model.plan import Plan

NOTHING: dict[str, Any] = {"steps": []}


def back(table: Any, file: Path) -> Any:
    """The table written to a file and read again."""
    shoal.transform(table, NOTHING, file)
    shoal.transform(file, NOTHING, file.with_name("back.parquet"))
    return pq.read_table(file.with_name("back.parquet"))


@pytest.mark.parametrize(("ending", "format"), [("dta", "stata"), ("xpt", "sas"), ("xlsx", "excel"), ("jsonl", "jsonl")])
def test_numbers_up_to_the_largest_are_kept_and_no_others(tmp_path: Path, ending: str, format: str) -> None:
    largest, file = LARGEST[format], tmp_path / f"o.{ending}"
    assert sorted(back(pa.table({"x": [largest, -largest, 1.5]}), file)["x"].to_pylist()) == [-largest, 1.5, largest]
    for wrong in (largest * (1 + 1e-15), float("-inf")):
        with pytest.raises(OutputError, match="1 number of 'x' is infinite or too large"):
            shoal.transform({"x": [1.0, wrong]}, NOTHING, file)


def test_spss_holds_every_double(tmp_path: Path) -> None:
    assert float("inf") in back(pa.table({"x": [float("inf"), 1.7e308, 0.5]}), tmp_path / "o.sav")["x"].to_pylist()


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_two_texts_do_not_become_one_at_a_zero_byte(tmp_path: Path, ending: str) -> None:
    with pytest.raises(OutputError, match="2 texts of 's' hold a zero byte"):
        shoal.transform({"s": ["a\x00b", "a\x00c", "a", None]}, NOTHING, tmp_path / f"o.{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("ending", "wrong"), [("sav", "'x y', 'ALL'"), ("dta", "'x y', 'größer als zweiunddreißig Zeichen'")])
def test_names_that_are_not_allowed_are_told_before_rows_are_read(tmp_path: Path, ending: str, wrong: str) -> None:
    names = ["id", *(n.strip("'") for n in wrong.split(", "))]
    table, seen = pa.table({n: [1.0, 2.0] for n in names}), list[object]()
    with pytest.raises(OutputError, match=f"names of {wrong}\\."):
        shoal.open(table).recode(
            shoal.transform(table, NOTHING).plan, tmp_path / f"o.{ending}", progress=lambda *told: seen.append(told)
        )
    assert not seen


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt", "xlsx"])
def test_the_last_moment_of_the_calendar_is_not_one_of_the_year_10000(tmp_path: Path, ending: str) -> None:
    """Databases mark rows that are still valid by it."""
    last = datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999)
    got = back(pa.table({"id": [1, 2], "t": pa.array([last, None], pa.timestamp("us"))}), tmp_path / f"o.{ending}")[
        "t"
    ].to_pylist()
    assert {None if t is None else last - t < datetime.timedelta(milliseconds=2) for t in got} == {None, True}


def test_a_moment_of_the_year_10000_in_a_file_is_told(tmp_path: Path) -> None:
    import pandas as pd
    import pyreadstat

    late = pd.DataFrame({"t": [2.9e14]})  # milliseconds since 1960
    pyreadstat.write_dta(late, str(tmp_path / "o.dta"), variable_format={"t": "%tc"})
    with pytest.raises(UnreadableError, match=r"cannot be read as \.dta"):
        shoal.open(tmp_path / "o.dta")


def test_an_spss_file_without_rows_is_read(tmp_path: Path) -> None:
    empty = pa.table({"id": pa.array([], pa.int64()), "x": pa.array([], pa.float64()), "s": pa.array([], pa.string())})
    assert back(empty, tmp_path / "o.sav").schema.names == ["id", "x", "s"]
    assert normalize(pa.nulls(0), "timestamp").type == pa.timestamp("us")


RARELY = {
    "date": (pa.date32(), datetime.date(2020, 2, 29)),
    "moment": (pa.timestamp("us"), datetime.datetime(2020, 2, 29, 12)),
    "clock": (pa.time64("us"), datetime.time(3, 4, 5)),
}


@pytest.mark.parametrize("before", [99, 100, 101])
@pytest.mark.parametrize("kind", RARELY)
def test_a_date_that_few_have_is_written(tmp_path: Path, kind: str, before: int) -> None:
    """pyreadstat guesses the type from a hundred cells: where all were missing, it took dates for texts, and failed."""
    import pyreadstat

    type_, value = RARELY[kind]
    table = pa.table({"id": range(before + 2), "d": pa.array([None] * before + [value, None], type_)})
    for ending, read in (("sav", pyreadstat.read_sav), ("dta", pyreadstat.read_dta), ("xpt", pyreadstat.read_xport)):
        shoal.open(table).recode(Plan(shuffle=False), tmp_path / f"o.{ending}")
        assert read(str(tmp_path / f"o.{ending}"))[0]["d"].dropna().tolist() == [value]


@pytest.mark.parametrize("before", [99, 100, 101])
def test_numbers_behind_a_hundred_hidden_ones_are_written(tmp_path: Path, before: int) -> None:
    import pandas as pd
    import pyreadstat

    pay = [float(i) for i in range(before)] + [7000.0, 7000.0, float("nan")]
    pyreadstat.write_sav(pd.DataFrame({"pay": pay}), str(tmp_path / "in.sav"), missing_ranges={"pay": [8888]})
    step = {"column": "pay", "rare": {"min_count": 2}}
    shoal.transform(tmp_path / "in.sav", {"steps": [step], "shuffle": False}, tmp_path / "o.dta")
    assert pyreadstat.read_dta(str(tmp_path / "o.dta"))[0]["pay"].dropna().tolist() == [7000.0, 7000.0]
    shown = pyreadstat.read_dta(str(tmp_path / "o.dta"), user_missing=True)[0]["pay"].tolist()
    assert shown[:before] == ["z"] * before
