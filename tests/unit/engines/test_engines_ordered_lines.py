"""Lines of text ordered on disk: in the order of their keys however little is held, and the bytes of the way for few rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.engines.files.csv.lines import lines
from shoal.engines.recode import job
from shoal.engines.recode import lines as ordering
from shoal.engines.recode.lines import lines_in_order
from shoal.errors import OutputError

ANY = np.random.default_rng(1).integers(0, 2**64, 700, dtype=np.uint64)
KEYS = {
    "any": ANY,
    "low bits": ANY % np.uint64(40),  # all in one part, again and again
    "one key": np.repeat(np.uint64(7), 300),
    "ends": np.array([2**64 - 1, 0, 2**63, 2**63 - 1, 0], np.uint64),
    "none": np.zeros(0, np.uint64),
}


def texts(n: int) -> list[str]:
    return [f'row "{i}"' + "x" * (0 if i % 50 else i) for i in range(n)]


def given(keys: np.ndarray) -> tuple[Iterator[Any], Any]:
    """Tables of 50 rows, and what makes lines of each, with their keys."""
    rows = pa.table({"x": pa.array(texts(len(keys)), pa.string()), "key": pa.array(keys, pa.uint64())})

    def keyed(table: Any) -> Iterator[Any]:
        at = 0
        for made in lines([table["x"].chunk(0)], ","):
            yield table["key"].to_numpy()[at : at + len(made.starts)], made
            at += len(made.starts)

    return iter([rows[i : i + 50] for i in range(0, len(keys), 50)]), keyed


@pytest.mark.parametrize("held", [1, 3_000, 10**9])
@pytest.mark.parametrize("name", list(KEYS))
def test_lines_come_in_the_order_of_their_keys_and_equal_keys_keep_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, held: int
) -> None:
    keys = KEYS[name]
    monkeypatch.setattr(ordering, "PIECE", 500)
    found = list(lines_in_order(*given(keys), tmp_path, held))
    written = texts(len(keys))
    expected = ["x", *(written[i] for i in np.argsort(keys, kind="stable"))][1:]
    assert b"".join(bytes(data) for data, _ in found).decode() == "".join('"' + t.replace('"', '""') + '"\n' for t in expected)
    assert sum(n for _, n in found) == len(keys)
    assert list(tmp_path.iterdir()) == []


def test_a_part_is_split_where_it_is_one_byte_more_than_may_be_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    made = ordering._Scattered
    monkeypatch.setattr(ordering, "_Scattered", lambda folder, shift, held: sizes.append(shift) or made(folder, shift, held))
    keys = np.arange(100, dtype=np.uint64) << np.uint64(40)  # one part
    whole = sum(len(data) for data, _ in lines_in_order(*given(keys), tmp_path, 10**9)) + 16 * len(keys)
    assert sizes == [58]
    list(lines_in_order(*given(keys), tmp_path, whole))
    assert sizes == [58, 58]
    list(lines_in_order(*given(keys), tmp_path, whole - 1))
    assert sizes[:4] == [58, 58, 58, 52]


def test_a_full_disk_is_told_in_words_and_an_early_end_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "PIECE", 500)
    some = lines_in_order(*given(ANY), tmp_path, 3_000)
    next(some)
    some.close()  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []

    def full(file: Any, array: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ordering, "_write_all", full)
    with pytest.raises(OutputError, match="no room"):
        list(lines_in_order(*given(ANY), tmp_path, 1))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz"])
def test_a_file_has_the_bytes_of_rows_that_are_ordered_as_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rng = np.random.default_rng(4)
    rows = pa.table(
        {
            "id": [None if i % 7 == 3 else f'=P"{i % 90}\n' for i in range(900)],
            "x": np.round(rng.normal(size=900) * 1e6, 3),
            "day": pa.array(rng.integers(-9000, 9000, 900).astype(np.int32)).cast(pa.date32()),
            "yes": pa.array((rng.random(900) < 0.5).tolist()),
        }
    )
    shoal.transform(rows, {"seed": 1, "steps": []}, tmp_path / "rows.csv")
    told: list[float] = []
    called: list[int] = []
    real = job.lines_in_order
    monkeypatch.setattr(job, "lines_in_order", lambda *a: called.append(1) or real(*a))
    plan = {"seed": 10**18 + 7, "steps": [{"column": "x", "noise": {"scale": 3}}]}
    monkeypatch.setattr("shoal.engines.recode.write.HELD", 2_000)
    for place, few in (("tables", 2**62), ("lines", 1)):
        monkeypatch.setattr(job, "FEW", few)
        (tmp_path / place).mkdir()
        made = shoal.transform(tmp_path / "rows.csv", plan, tmp_path / place / name, progress=lambda share, _: told.append(share))
        assert made.done.records_out == 900
        assert told[-1] == 1.0
    assert called == [1]
    assert (tmp_path / "tables" / name).read_bytes() == (tmp_path / "lines" / name).read_bytes()


def test_few_rows_or_bytes_stay_tables() -> None:
    tables = [pa.table({"x": list(range(10))})] * 3
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(job, "FEW", 20)
        assert job._some(iter(tables), 240) == (tables, False)
        assert job._some(iter(tables), 239) == (tables, True)
        assert job._some(iter(tables), 159) == (tables[:2], True)
        assert job._some(iter(tables), 79) == (tables[:1], False)
