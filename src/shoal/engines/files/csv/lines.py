"""Finished lines of CSV as bytes, by compiled loops: the bytes that pyarrow's writer gives, in a fraction of its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.kernels.arrow import is_missing, to_numpy, without_nan

ROWS = 1 << 13
"""Lines that are made at a time: they stay close to the processor until the last of their columns is there."""
BYTES = 1 << 22
"""Bytes of such lines without their texts: of wide tables fewer are made at a time."""
_DAYS = -719468, 2932896  # the days that are spelled here, 0000-03-01 to 9999-12-31
_QUOTE = 34
_SPILL = 9  # bytes that may be written behind the last cell of a line before the next is
_NONE = np.zeros(0, np.bool_)

Put = Callable[[slice, Any, Any, int], None]
"""Writes some rows of a column into lines: rows, bytes of the lines, where each goes on, and the byte behind the cell."""


@dataclass(frozen=True)
class Lines:
    """Lines in one array of bytes, each with its line break; what stands between them means nothing."""

    data: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    def joined(self) -> Any:
        """All bytes, one line behind the other."""
        from shoal.kernels._line_loops import joined

        out = np.empty(len(self.data), np.uint8)
        return out[: joined(self.starts, self.ends, self.data, out)].data


@dataclass(frozen=True)
class _Cells:
    """One column: how it is written, and the most bytes of each of its cells, of all cells or with those of each text."""

    put: Put
    width: int
    offsets: npt.NDArray[np.int32] | None = None
    times: int = 1

    def widen(self, widths: npt.NDArray[np.int64], rows: slice) -> None:
        widths += self.width
        if self.offsets is not None:
            widths += self.times * np.diff(self.offsets[rows.start : rows.stop + 1])


def lines(columns: Sequence[Any], delimiter: str) -> Iterator[Lines]:
    """The rows of pyarrow arrays of printed values, some at a time; texts in quotes, numbers as Arrow spells them."""
    cells = [_cells(values) for values in columns]
    ends = [ord(delimiter)] * (len(cells) - 1) + [ord("\n")]
    n = len(columns[0])
    some = max(1, min(ROWS, BYTES // (_SPILL + sum(cell.width for cell in cells))))
    for start in range(0, n, some):
        rows = slice(start, min(n, start + some))
        widths = np.full(rows.stop - start, _SPILL, np.int64)
        for cell in cells:
            cell.widen(widths, rows)
        stops = np.cumsum(widths)
        starts = stops - widths
        data, at = np.empty(int(stops[-1]), np.uint8), starts.copy()
        for cell, end in zip(cells, ends, strict=True):
            cell.put(rows, data, at, end)
        yield Lines(data, starts, at)


def _cells(values: Any) -> _Cells:
    kind = values.type
    if pa.types.is_string(kind):
        return _texts(values, quoted=True)
    if pa.types.is_float64(kind):
        return _doubles(values)
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return _integers(values.cast(pa.int64()))
    if pa.types.is_date32(kind) and _has_four_digits(values):
        return _dates(values)
    return _texts((without_nan(values) if pa.types.is_floating(kind) else values).cast(pa.string()), quoted=False)


def _texts(values: Any, *, quoted: bool) -> _Cells:
    from shoal.kernels._line_loops import put_texts

    _, ends, buffer = values.buffers()
    offsets = _fixed(np.frombuffer(ends, np.int32)[values.offset : values.offset + len(values) + 1])
    data = np.frombuffer(buffer, np.uint8) if buffer is not None and buffer.size else _fixed(np.zeros(1, np.uint8))
    doubling = quoted and bool((data[offsets[0] : offsets[-1]] == _QUOTE).any())
    missing = _missing(values)

    def put(rows: slice, out: Any, at: Any, end: int) -> None:
        put_texts(offsets[rows.start : rows.stop + 1], data, missing[rows], quoted, doubling, out, at, end)

    return _Cells(put, 3 if quoted else 1, offsets, 2 if doubling else 1)


def _integers(values: Any) -> _Cells:
    from shoal.kernels._line_loops import put_integers

    numbers, missing = _fixed(to_numpy(values)), _missing(values)
    return _Cells(lambda rows, out, at, end: put_integers(numbers[rows], missing[rows], out, at, end), 21)


def _doubles(values: Any) -> _Cells:
    from shoal.kernels._line_loops import put_doubles
    from shoal.kernels._spell_loops import WIDEST, powers_of_ten

    numbers, missing, powers = _fixed(to_numpy(values)), _missing(values), powers_of_ten()
    return _Cells(lambda rows, out, at, end: put_doubles(numbers[rows], missing[rows], powers, out, at, end), WIDEST + 1)


def _dates(values: Any) -> _Cells:
    from shoal.kernels._line_loops import put_dates

    days, missing = _fixed(to_numpy(values)), _missing(values)
    return _Cells(lambda rows, out, at, end: put_dates(days[rows], missing[rows], out, at, end), 11)


def _has_four_digits(days: Any) -> bool:
    """Whether the years of all dates have four digits, those of missing ones too, whatever stands there."""
    numbers = to_numpy(days)
    return bool(len(numbers)) and bool(numbers.min() >= _DAYS[0] and numbers.max() <= _DAYS[1])


def _missing(values: Any) -> npt.NDArray[np.bool_]:
    return is_missing(values) if values.null_count else _NONE


def _fixed(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """As what comes from Arrow, which nobody may change: loops are then compiled once."""
    numbers = numbers.view()
    numbers.flags.writeable = False
    return numbers
