"""The matrix of types, steps and formats, cell by cell: what a step makes of every type, and what every format keeps of it.

A step is checked on what it writes as Arrow, against what it promises, worked out here with plain Python. Every other format must
then hold the same cells, read by pyarrow, openpyxl, pyreadstat, csv and json. What differs must have been told, before and after.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
import math
import re
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import shoal
from shoal.engines.files.losses import written_losses
from shoal.engines.files.writers import output_format, write_file
from shoal.engines.recode import job as recode_job
from shoal.engines.recode import write as recode_write
from shoal.model.plan import Plan

N, GAP = 24, 5  # rows, and the one without values
SEED = 10**15 + 7
KEY = "a long secret with many letters 0123456789"
DAY, NOON = dt.date(2024, 1, 31), dt.datetime(2024, 1, 31, 12, 34, 56, 789012)


def column(values: Any, kind: Any) -> Any:
    return pa.array([None if i == GAP else values(i // 2) for i in range(N)], kind)


WHOLE = {
    "int8": column(lambda i: 9 * i - 60, pa.int8()),
    "int16": column(lambda i: 300 * i - 6000, pa.int16()),
    "int32": column(lambda i: 50_000_000 * i - 10**9, pa.int32()),
    "int64": column(lambda i: 2**53 + 1001 * i, pa.int64()),
    "uint8": column(lambda i: 20 * i, pa.uint8()),
    "uint16": column(lambda i: 1500 * i, pa.uint16()),
    "uint32": column(lambda i: 10**8 * i, pa.uint32()),
    "uint64": column(lambda i: 2**63 + 4096 * i, pa.uint64()),
}
NUMBERS = WHOLE | {
    "float16": column(lambda i: np.float16(i / 4), pa.float16()),
    "float32": column(lambda i: i / 10, pa.float32()),
    "float64": column(lambda i: math.nan if i == 9 else i / 7, pa.float64()),
    "decimal": column(lambda i: Decimal(25 * i - 300) / 100, pa.decimal128(9, 2)),
    "long_decimal": column(lambda i: Decimal(10) ** 20 + Decimal(i) / 8, pa.decimal128(30, 3)),
}
MOMENTS = {
    "date32": column(lambda i: DAY + dt.timedelta(days=31 * i), pa.date32()),
    "date64": column(lambda i: DAY + dt.timedelta(days=31 * i), pa.date64()),
    "second": column(lambda i: NOON.replace(microsecond=0) + dt.timedelta(days=i), pa.timestamp("s")),
    "milli": column(lambda i: NOON.replace(microsecond=5000) + dt.timedelta(days=i), pa.timestamp("ms")),
    "micro": column(lambda i: NOON + dt.timedelta(days=i), pa.timestamp("us")),
    "nano": column(lambda i: 10**18 + 86_400 * 10**9 * i + i, pa.timestamp("ns")),
    "zoned": column(lambda i: NOON.replace(tzinfo=dt.UTC) + dt.timedelta(days=20 * i), pa.timestamp("us", tz="Europe/Amsterdam")),
    "zoned_nano": column(lambda i: 10**18 + 86_400 * 10**9 * i + i, pa.timestamp("ns", tz="UTC")),
}
OTHERS = {
    "clock_s": column(lambda i: dt.time(i, i), pa.time32("s")),
    "clock_us": column(lambda i: dt.time(i, i, 1, i), pa.time64("us")),
    "clock_ns": column(lambda i: 10**9 * i + i, pa.time64("ns")),
    "span": column(lambda i: 1_500_000 * i, pa.duration("us")),
    "span_ns": column(lambda i: 1_500_001 * i, pa.duration("ns")),
    "truth": column(lambda i: i % 3 == 0, pa.bool_()),
    "list": column(lambda i: [i % 4, None], pa.list_(pa.field("element", pa.int64()))),
    "struct": column(lambda i: {"a": i % 3, "b": "é"}, pa.struct([("a", pa.int8()), ("b", pa.string())])),
    "text": column(lambda i: ["plain", "=1+1", 'q"uo,te', "é\nß", "a;b", "-5", " blank "][i % 7], pa.string()),
    "digits": column(lambda i: str(i), pa.string()),
    "bytes": column(lambda i: bytes([i, 255]), pa.binary()),
    "nothing": pa.nulls(N, pa.int16()),
}
TYPES = NUMBERS | MOMENTS | OTHERS
TABLE = pa.table({"row": pa.array(range(N), pa.int32()), "person": [f"AB-{i // 3:05d}" for i in range(N)], **TYPES})

NESTED = ["span", "span_ns", "list", "struct"]
STEPS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "round": (list(NUMBERS), {"base": 4}),
    "clamp": (list(NUMBERS), {"low": 10, "high": 120}),
    "top_bottom": ([n for n in NUMBERS if n != "long_decimal"], {"people": 3}),
    "noise": (list(NUMBERS), {"scale": 3}),
    "permute": (list(TYPES), {}),
    "rank_swap": ([*NUMBERS, "digits"], {"percent": 20}),
    "pram": ([n for n in TYPES if n != "nothing"], {"keep": 0.5}),
    "date_shift": (list(MOMENTS), {"unit": "person", "key": "env:MATRIX_KEY", "days": 30}),
    "keyed_hash": (list(TYPES), {"key": "env:MATRIX_KEY", "domain": "d"}),
    "groups": (list(NUMBERS), {"k": 4}),
    "quantiles": (list(NUMBERS), {"k": 4}),
    "microaggregate": ([*NUMBERS, "digits"], {"k": 4}),
    "rare": (list(TYPES), {"min_count": 2}),
    "constant": (list(TYPES), {}),
    "prefix": (["text", "digits", "int16", "date32", "micro"], {"length": 2}),
    "cut": (list(NUMBERS), {"points": [1.0], "labels": ["low", "high"]}),
    "generalize": ([*WHOLE, "date32", "micro", "text"], {"at_most": 3}),
    "drop": (list(TYPES), {}),
}
WHOLE_PLANS: dict[str, dict[str, Any]] = {
    "copy": {"steps": []},
    "sample": {"sample": {"share": 0.5}, "steps": []},
    "suppress rows": {"steps": [], "suppress": {"k": 3, "columns": ["truth"]}},
    "suppress cells": {"steps": [], "suppress": {"k": 9, "columns": ["truth"], "scope": "cells"}},
    "fake": {"steps": [{"column": "person", "fake": {"key": "env:MATRIX_KEY"}}]},
    "correlated_noise": {"steps": [{"column": "int16", "correlated_noise": {"others": ["uint16", "float32"], "share": 0.5}}]},
}
PLANS = [*WHOLE_PLANS, *STEPS]
FORMATS = ("csv", "jsonl", "parquet", "xlsx", "sav", "dta", "xpt")
PACKED = ("tsv", "csv.gz", "tsv.zst", "jsonl.gz", "jsonl.zst", "feather", "zsav")  # the same writers: two plans are enough


def spec(name: str) -> dict[str, Any]:
    if name in WHOLE_PLANS:
        return WHOLE_PLANS[name]
    columns, words = STEPS[name]
    return {"steps": [{"column": c, name: dict(words)} for c in columns]}


@cache
def plan_of(name: str) -> Plan:
    return shoal.transform(TABLE, spec(name)).plan


class Written:
    """One run of a plan whose rows go to files of every format: what the writers get does not depend on the format."""

    def __init__(self, folder: Any, name: str) -> None:
        self.folder, self.told = folder / name.replace(" ", "-"), dict[str, tuple[str, ...]]()
        self.folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            for module in (recode_job, recode_write):
                patch.setattr(module, "write_file", self._write)
            patch.setattr(recode_write, "written_losses", self._written_losses)
            with shoal.open(TABLE) as table:
                self.before = {e: table.not_kept(plan_of(name), f"o.{e}") for e in ("arrow", *FORMATS)}
                shoal.transform(table, plan_of(name), self.folder / "out.arrow", seed=SEED)
        with pa.memory_map(str(self.folder / "out.arrow")) as source:
            self.table = pa.ipc.open_file(source).read_all().sort_by("row").combine_chunks()

    def _write(self, path: Any, format: str, schema: Any, batches: Any, columns: Any, **words: Any) -> None:
        rows = list(batches)
        for ending in ("arrow", *FORMATS):
            write_file(
                path.with_name(f"out.{ending}"),
                output_format(path.with_name(f"out.{ending}"), None),
                schema,
                iter(rows),
                columns,
                **words,
            )

    def _written_losses(self, relation: Any, columns: Any, plan: Plan, format: str) -> tuple[str, ...]:
        self.told = {e: written_losses(relation, columns, plan, output_format(self.folder / f"o.{e}", None)) for e in self.before}
        return self.told["arrow"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Each plan applied toce."""
    folder = tmp_path_factory.mktemp("matrix")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MATRIX_KEY", KEY)
        yield cache(lambda name: Written(folder, name))


def named(sentences: tuple[str, ...], column: str) -> bool:
    """Whether a sentence names the column; lists are cut after five."""
    return any(
        column in s.replace(",", " ").replace(".", " ").replace(":", " ").split() or " more columns" in s for s in sentences
    )


# -- what a step makes of every type ---------------------------------------------------------------------------------


def number(value: Any) -> Fraction | None:
    return None if value is None or value != value else Fraction(value)


def close(a: Fraction, b: Fraction, kind: Any) -> bool:
    """Equal up to what the type of the column can hold."""
    share = Fraction(1, 500) if kind == pa.float16() else Fraction(1, 10**6) if kind == pa.float32() else Fraction(1, 10**14)
    return abs(a - b) <= max(abs(b), 1) * share


def check_round(before: list[Any], after: list[Any], kind: Any) -> None:
    for b, a in zip(map(number, before), map(number, after), strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            assert close(a / 4, Fraction(math.floor(abs(b) / 4 + Fraction(1, 2)) * (1 if b >= 0 else -1)), kind)


def check_clamp(before: list[Any], after: list[Any], kind: Any) -> None:
    for b, a in zip(map(number, before), map(number, after), strict=True):
        assert (a is None and b is None) or close(a, min(max(b, Fraction(10)), Fraction(120)), kind)  # type: ignore[arg-type,type-var]


def check_top_bottom(before: list[Any], after: list[Any], kind: Any) -> None:
    there = sorted(x for x in map(number, before) if x is not None)
    made = sorted(x for x in map(number, after) if x is not None)
    assert len(there) == len(made)
    assert min(made.count(made[0]), made.count(made[-1])) >= 3
    assert all(close(a, b, kind) for a, b in zip(made, there, strict=True) if made[0] < a < made[-1])


def check_noise(before: list[Any], after: list[Any], kind: Any) -> None:
    moved = 0
    for b, a in zip(map(number, before), map(number, after), strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            assert abs(a - b) < 25 + abs(b) / 10**12
            assert a.denominator == 1 or not pa.types.is_integer(kind)
            moved += a != b
    assert moved > N // 2 or kind.bit_width == 128 or kind == pa.uint64()  # whose doubles have no room for it


def check_permute(before: list[Any], after: list[Any], kind: Any) -> None:
    assert Counter(map(repr, after)) == Counter(repr(None if b != b else b) for b in before)  # steps take NaN as missing


def check_rank_swap(before: list[Any], after: list[Any], kind: Any) -> None:
    check_permute(before, after, kind)
    there = sorted(x for x in map(number, before) if x is not None)
    for b, a in zip(map(number, before), map(number, after), strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            lows, highs = [there.index(x) for x in (a, b)], [N - there[::-1].index(x) for x in (a, b)]
            assert max(lows) - min(highs) <= 5 or pa.types.is_decimal(kind)  # beyond 15 digits doubles are ranked


def check_pram(before: list[Any], after: list[Any], kind: Any) -> None:
    assert {repr(a) for a in after} <= {repr(b) for b in (*before, None)}
    assert [a is None for a in after] == [b is None or b != b for b in before]


def check_date_shift(before: list[Any], after: list[Any], kind: Any) -> None:
    people = TABLE["person"].to_pylist()
    shifts: dict[str, set[Any]] = {}
    for person, b, a in zip(people, before, after, strict=True):
        assert (a is None) == (b is None)
        if b is not None:  # moments of a zone: not by the clock there
            zoned = getattr(b, "tzinfo", None)
            shifts.setdefault(person, set()).add(a.astimezone(dt.UTC) - b.astimezone(dt.UTC) if zoned else a - b)
    assert all(len(s) == 1 for s in shifts.values())
    days = {s.pop() / dt.timedelta(days=1) for s in shifts.values()}
    assert all(d == int(d) and 1 <= abs(d) <= 30 for d in days)


def check_means(before: list[Any], after: list[Any], kind: Any) -> None:
    """Means of at least four; with microaggregation a group of four may join a record without a value."""
    groups: dict[Any, list[Fraction]] = {}
    for b, a in zip(map(number, before), map(number, after), strict=True):
        assert b is not None or a is None
        if a is not None and b is not None:
            groups.setdefault(a, []).append(b)
    assert all(len(g) >= 4 for g in groups.values())
    assert after.count(None) >= 4 or sum(map(len, groups.values())) == len([b for b in before if number(b) is not None])
    assert all(close(a, sum(g, Fraction(0)) / len(g), kind) for a, g in groups.items())


def check_medians(before: list[Any], after: list[Any], kind: Any) -> None:
    there = Counter(number(a) for a in after)
    del there[None]
    assert min(there.values()) >= 4
    assert all(any(close(a, b, kind) for b in map(number, before) if b is not None) for a in there if a is not None)


def check_rare(before: list[Any], after: list[Any], kind: Any) -> None:
    there = Counter(map(repr, before))
    for b, a in zip(before, after, strict=True):
        missing = b is None or b != b
        assert (a == "*") == (not missing and there[repr(b)] < 2)
        assert (a is None) == missing


def check_constant(before: list[Any], after: list[Any], kind: Any) -> None:
    assert set(after) == {"*"}


def check_groups_of_values(before: list[Any], after: list[Any], kind: Any) -> None:
    """Every group is a function of the value, and numbers in one group are neighbours."""
    found: dict[str, set[str]] = {}
    for b, a in zip(before, after, strict=True):
        assert (a is None) == (b is None or b != b)
        found.setdefault(repr(b), set()).add(repr(a))
    assert all(len(groups) == 1 for groups in found.values())


CHECKS = {
    "round": check_round, "clamp": check_clamp, "top_bottom": check_top_bottom, "noise": check_noise, "permute": check_permute,
    "rank_swap": check_rank_swap, "pram": check_pram, "date_shift": check_date_shift, "groups": check_means,
    "microaggregate": check_means, "quantiles": check_medians, "rare": check_rare, "constant": check_constant,
    "prefix": check_groups_of_values, "cut": check_groups_of_values, "generalize": check_groups_of_values,
}  # fmt: skip
KEEPS_TYPE = {"round", "clamp", "top_bottom", "noise", "permute", "rank_swap", "pram", "date_shift", "groups", "quantiles",
              "microaggregate", "rare"}  # fmt: skip


def cells(values: Any, *, cut: bool = False) -> list[Any]:
    """Python values; moments and spans of nanoseconds as microseconds where a step cut them, else as whole numbers."""
    kind = values.type
    if getattr(kind, "unit", "") == "ns":
        coarse = pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.duration("us")
        coarse = pa.time64("us") if pa.types.is_time(kind) else coarse
        return list((values.cast(coarse, safe=False) if cut else values.cast(pa.int64())).to_pylist())
    return list(values.to_pylist())


def from_text(text: Any, kind: Any) -> Any:
    """A duration or a nested value from the text that a step made of it."""
    if text is None or text == "*":
        return text
    if not pa.types.is_duration(kind):
        return json.loads(text)
    hours, minutes, seconds = text.split(":")
    return dt.timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))


@pytest.mark.parametrize("name", PLANS)
def test_what_a_step_makes_of_every_type(written: Any, name: str) -> None:
    run = written(name)
    out, before, after = run.table, run.before["arrow"], run.told["arrow"]
    touched = {c for s in plan_of(name).steps for c in s.columns}
    source = TABLE.take(out["row"])
    for column in out.column_names:
        kind, made = TABLE.schema.field(column).type, out.schema.field(column).type
        if column not in touched and made == kind:
            cut = column == "span_ns" and named(after, column)
            assert repr(cells(out[column], cut=cut)) == repr(cells(source[column], cut=cut)), column
        elif column not in touched or name in KEEPS_TYPE:
            assert made == kind or (named(before, column) and named(after, column)), (column, made)
        if column in touched and name in CHECKS:
            was, now = cells(source[column], cut=True), cells(out[column], cut=True)
            if pa.types.is_string(made) and column in NESTED and name in ("permute", "pram"):
                now = [from_text(t, kind) for t in now]
            CHECKS[name](was, now, made)


def test_a_keyed_hash_of_every_type_is_equal_where_the_values_are(written: Any) -> None:
    out = written("keyed_hash").table
    for column in TYPES:
        values = [None if v != v else v for v in cells(TABLE[column], cut=True)]
        pairs = set(zip(map(repr, values), out[column].to_pylist(), strict=True))
        assert len({v for v, _ in pairs}) == len(pairs) == len({h for _, h in pairs}), column
        assert all(h is None or len(h) == 32 for _, h in pairs)


def test_whole_plans(written: Any) -> None:
    truth, people = TABLE["truth"].to_pylist(), TABLE["person"].to_pylist()
    counts = Counter(truth)
    assert 0 < written("sample").table.num_rows < N
    assert written("suppress rows").table["row"].to_pylist() == [i for i, v in enumerate(truth) if counts[v] >= 3]
    assert written("suppress cells").table["truth"].to_pylist() == ["*" if counts[v] < 9 else str(v).lower() for v in truth]
    assert written("drop").table.column_names == ["row", "person"]
    fakes = written("fake").table["person"].to_pylist()
    assert len(set(fakes)) == len(set(zip(fakes, people, strict=True))) == len(set(people))


# -- what every format keeps of it -----------------------------------------------------------------------------------


def clock(value: Any, kind: Any) -> str:
    """A moment or a time of day as text: 6 or 9 digits of a second where there are any."""
    if getattr(kind, "unit", "") != "ns":
        return str(value) if not isinstance(value, dt.datetime) else value.isoformat(sep=" ")
    whole, rest = divmod(value, 10**9)
    if pa.types.is_time(kind):
        rest = rest // 1000 * 1000
    moment = dt.datetime.fromtimestamp(whole, dt.UTC)
    text = moment.strftime("%H:%M:%S" if pa.types.is_time(kind) else "%Y-%m-%d %H:%M:%S")
    if rest:
        text += f".{rest:09d}" if rest % 1000 else f".{rest // 1000:06d}"
    return text + ("+00:00" if getattr(kind, "tz", None) else "")


def seconds(value: Any, kind: Any) -> float:
    return value / 10**9 if kind.unit == "ns" else value / dt.timedelta(seconds=1)


def in_text(value: Any, kind: Any, *, inert: bool) -> Any:
    """A cell of CSV (``inert``: texts that a spreadsheet would run have an apostrophe) or JSON."""
    if value is None or value != value:
        return "" if inert else None
    if pa.types.is_duration(kind):
        return seconds(value, kind)
    if pa.types.is_temporal(kind):
        return clock(value, kind)
    if pa.types.is_nested(kind):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if inert else value
    if pa.types.is_binary(kind):
        return value.hex()
    if pa.types.is_boolean(kind):
        return str(value).lower() if inert else value
    runs = inert and pa.types.is_string(kind) and (value[:1] == "=" or re.match(r"-(?![0-9.]+$)", value) is not None)
    return f"'{value}" if runs else value


def in_package(value: Any, kind: Any, ending: str) -> Any:
    """A cell of Excel, SPSS, Stata or SAS."""
    if pa.types.is_boolean(kind) and ending != "xlsx":
        return value if value is None else float(value)
    if pa.types.is_timestamp(kind) and value is not None:
        text = clock(value, kind)
        return dt.datetime.fromisoformat(text.partition("+")[0][:26])
    if pa.types.is_time(kind) and value is not None:
        return clock(value, kind) if ending == "xlsx" else dt.time.fromisoformat(clock(value, kind))
    if pa.types.is_date(kind) and value is not None:
        return dt.datetime(value.year, value.month, value.day) if ending == "xlsx" else value
    if pa.types.is_decimal(kind) and value is not None:
        return str(value) if ending == "xlsx" else float(value)
    if pa.types.is_nested(kind) and value is not None:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return in_text(value, kind, inert=False)


def as_text_beyond_doubles(values: list[Any], kind: Any, ending: str) -> list[Any]:
    """Whole numbers that no double has: Excel writes those cells as text, the others the column."""
    if not pa.types.is_integer(kind):
        return values
    if ending == "xlsx":
        return [str(v) if v is not None and abs(v) >= 10**15 else v for v in values]
    wide = any(v is not None and abs(v) > 2**53 for v in values)
    return [None if v is None else str(v) for v in values] if wide else values


def same(found: Any, wanted: Any, ending: str) -> bool:
    if wanted is None or wanted == "" or wanted != wanted:
        return found is None or found == "" or found != found
    if isinstance(wanted, dt.datetime):
        return abs(found - wanted) <= dt.timedelta(microseconds={"xlsx": 999, "xpt": 0}.get(ending, 2))
    if isinstance(wanted, dt.time):
        apart = dt.datetime.combine(DAY, found) - dt.datetime.combine(DAY, wanted)
        return abs(apart) <= dt.timedelta(microseconds=1 if ending == "dta" else 0)
    if isinstance(wanted, float) and ending == "xpt":  # doubles of IBM's: 14 digits at least
        return math.isclose(found, wanted, rel_tol=1e-14)
    if isinstance(wanted, bool) or isinstance(found, bool):
        return found is wanted
    return bool(found == wanted)


def read_csv(data: bytes, delimiter: str) -> dict[str, list[Any]]:
    lines = list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter))
    return {n: [line[i] for line in lines[1:]] for i, n in enumerate(lines[0])}


def read_back(path: Any, ending: str) -> dict[str, list[Any]]:
    """The columns of a file, by the package that knows its format."""
    data = path.read_bytes()
    if ending.endswith(".gz"):
        data = gzip.decompress(data)
    elif ending.endswith(".zst"):
        data = pa.input_stream(str(path), compression="zstd").read()
    if ending[:3] in ("csv", "tsv"):
        return read_csv(data, "\t" if ending.startswith("tsv") else ",")
    if ending.startswith("jsonl"):
        rows = [json.loads(line) for line in data.decode().splitlines()]
        return {n: [r[n] for r in rows] for n in rows[0]}
    if ending in ("parquet", "feather"):
        table = pq.read_table(path) if ending == "parquet" else pa.ipc.open_file(io.BytesIO(data)).read_all()
        return {n: cells(table[n]) for n in table.column_names}
    if ending == "xlsx":
        book = openpyxl.load_workbook(path, read_only=True)
        lines = list(book.active.iter_rows(values_only=True))
        book.close()
        return {n: [line[i] for line in lines[1:]] for i, n in enumerate(lines[0])}
    if ending == "xpt":
        frame, labels = pyreadstat.read_xport(str(path))[0], {}
    else:
        frame, meta = (pyreadstat.read_dta if ending == "dta" else pyreadstat.read_sav)(str(path), user_missing=True)
        labels = meta.variable_value_labels
    return {n: [labels.get(n, {}).get(v, v) for v in frame[n].tolist()] for n in frame}


def expected(values: Any, ending: str) -> list[Any]:
    found = cells(values)
    if ending in ("parquet", "feather"):
        return found
    if ending in ("xlsx", "sav", "zsav", "dta", "xpt"):
        found = [in_package(v, values.type, ending) for v in found]
        return as_text_beyond_doubles(found, values.type, ending)
    return [in_text(v, values.type, inert=ending[:3] in ("csv", "tsv")) for v in found]


def lost(kind: Any, ending: str) -> bool:
    """Whether a format has something else for values of a type: then it must be told."""
    test = pa.types
    if ending in ("arrow", "feather"):
        return False
    if ending == "parquet":
        return getattr(kind, "unit", "") == "s" and not test.is_duration(kind)
    text = test.is_duration(kind) or test.is_binary(kind) or getattr(kind, "tz", None) is not None or kind == pa.time64("ns")
    if ending == "jsonl":
        return text
    text = text or test.is_nested(kind)
    if ending == "csv":
        return text
    wide = kind in (pa.int64(), pa.uint64()) or test.is_decimal(kind)
    if ending == "xlsx":
        return text or wide or test.is_date(kind) or test.is_timestamp(kind) or test.is_time(kind)
    fine = test.is_timestamp(kind) and kind.unit in (("ns",) if ending == "xpt" else ("us", "ns"))
    found = text or wide or fine or test.is_boolean(kind)
    if ending == "dta":
        width = test.is_integer(kind) and kind != pa.int32()
        return found or width or kind in (pa.float32(), pa.float16()) or test.is_time(kind)
    return found


@pytest.mark.parametrize("name", PLANS)
def test_every_format_holds_the_same_cells(written: Any, name: str) -> None:
    run = written(name)
    for ending in FORMATS:
        compare(run.folder / f"out.{ending}", ending, run.table)
        for sentence in run.told[ending]:  # wider types are known when the last number is made
            assert sentence.startswith("The type of") or any(covers(b, sentence) for b in run.before[ending]), (ending, sentence)


def covers(before: str, after: str) -> bool:
    """Whether a sentence told before says the same of these columns, and perhaps of more."""
    mine, other = (re.sub(r"[,.:]", "", s).split() for s in (after, before))
    return set(mine) <= {*other, "more", "columns", "and"} or ("more columns" in before and mine[:2] == other[:2])


@pytest.mark.parametrize("ending", ["csv", "xlsx", "sav", *PACKED])
def test_a_file_of_each_ending(written: Any, tmp_path: Any, ending: str) -> None:
    with shoal.open(TABLE) as table:
        table.recode(Plan(), tmp_path / f"o.{ending}")
    compare(tmp_path / f"o.{ending}", ending, written("copy").table)


def compare(path: Any, ending: str, wanted: Any) -> None:
    found = read_back(path, ending)
    assert list(found) == wanted.column_names
    order = np.argsort([int(r) for r in found["row"]])
    for column in wanted.column_names:
        mine = [found[column][i] for i in order]
        differ = [
            (f, w)
            for f, w in zip(mine, expected(wanted[column], ending), strict=True)
            if not agrees(f, w, ending, wanted[column].type)
        ]
        assert not differ, (ending, column, differ[:2])


def agrees(found: Any, wanted: Any, ending: str, kind: Any) -> bool:
    if ending[:3] in ("csv", "tsv") and pa.types.is_floating(kind) and found:
        return bool(np.array(found, kind.to_pandas_dtype()) == np.array(wanted, kind.to_pandas_dtype()))
    if ending[:3] in ("csv", "tsv") and isinstance(wanted, (int, float, Decimal)) and not isinstance(wanted, bool):
        return bool(type(wanted)(found) == wanted)
    if isinstance(wanted, Decimal) and ending.startswith("jsonl"):
        return float(wanted) == found
    if isinstance(wanted, str) and isinstance(found, float) and found == found:  # a code beside hidden ones
        return wanted != "*" and float(wanted) == found
    if isinstance(wanted, str) and isinstance(found, str) and ending in ("sav", "zsav", "xpt", "dta"):
        return found.rstrip(" ") == wanted.rstrip(" ")  # texts and labels are filled up with blanks there
    return same(found, wanted, ending)


@pytest.mark.parametrize("ending", ["arrow", *FORMATS])
def test_what_is_lost_is_told_and_nothing_else(tmp_path: Any, ending: str) -> None:
    for column, values in TYPES.items():
        with shoal.open(pa.table({column: values})) as table:
            said = table.not_kept(Plan(), tmp_path / f"o.{ending}")
        assert bool(said) == lost(values.type, ending), (column, said)
        assert all(column in s for s in said)
