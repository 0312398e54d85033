"""The file formats that the second opinion reads, without the engines: names of columns, and Arrow batches of the wanted ones."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from shoal.errors import TamperError, UnreadableError
from shoal.release.proof.bounds import MOST_HEADER, check_arrow, check_cells, check_flat, check_long_texts, check_workbook

Cell = str | None
STRICT = 3_000_000
"""Bytes of a CSV up to which it is parsed strictly, cell by cell."""
BATCH = 500_000
BROKEN = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, SystemError,
    SyntaxError, NotImplementedError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What readers of packed files raise on bytes that nobody wrote on purpose, besides Arrow's own errors."""

_CELL = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r\n|\n|\r|\Z)')


def parse_csv(text: str) -> Iterator[list[Cell]]:
    """Records of a CSV: RFC 4180 with commas; a bare empty cell is None, a quoted one is empty text.

    >>> list(parse_csv('a,"b ""x"" c",\\n,"",1\\n'))
    [['a', 'b "x" c', None], [None, '', '1']]
    """
    at, record = 0, list[Cell]()
    while at < len(text) or record:
        cell = _CELL.match(text, at)
        if cell is None:
            raise TamperError("the written CSV is not well formed: a quotation mark stands where none may stand.")
        quoted, bare, end = cell.groups()
        record.append(quoted.replace('""', '"') if quoted is not None else bare or None)
        at = cell.end()
        if end != ",":
            yield record
            record = []
            if not end:
                return


def csv_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as source:
            text = source.read()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None
    records = parse_csv(text)
    header = next(records, [])
    wanted = places([h or "" for h in header], columns, path.name)
    for record in records:
        if len(record) != len(header):
            raise TamperError(f"a record of '{path.name}' has {len(record)} cells, the header has {len(header)}.")
        yield tuple(record[i] for i in wanted)


def csv_names(path: Path) -> list[str]:
    """Names of the columns, in order."""
    return [name or "" for name in next(parse_csv(_first_record(path)), [])]


def _first_record(path: Path) -> str:
    """The text of a CSV up to the first line end that is not inside quotation marks."""
    head, seen, quotes = "", 0, 0
    with path.open(encoding="utf-8-sig", newline="") as source:
        while chunk := source.read(65_536):
            head += chunk
            while (end := head.find("\n", seen)) >= 0:
                quotes += head.count('"', seen, end)
                seen = end + 1
                if quotes % 2 == 0:
                    return head[:seen]
            if len(head) > MOST_HEADER:
                raise TamperError(f"'{path.name}' has a header that does not end.")
    return head


def text_array(values: Sequence[str | None]) -> Any:
    """An array of texts, made from buffers: ``pyarrow.array`` would load pandas."""
    import numpy as np

    encoded = [b"" if text is None else text.encode() for text in values]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    present = np.packbits(np.array([text is not None for text in values], np.bool_), bitorder="little")
    buffers = [pa.py_buffer(present), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def csv_batches(path: Path, columns: list[str]) -> Iterator[Any]:
    """Texts of a CSV: a small file by the strict parser above, which refuses what Arrow would guess at; a large one by Arrow."""
    if path.stat().st_size <= STRICT:
        cells = list(zip(*csv_rows(path, columns), strict=True)) or [()] * len(columns)
        yield pa.RecordBatch.from_arrays([text_array(values) for values in cells], names=columns)
        return
    names = csv_names(path)
    wanted = places(names, columns, path.name)
    read = list(dict.fromkeys(wanted))
    labels, at = [f"c{i}" for i in range(len(names))], {place: i for i, place in enumerate(read)}
    reader = csv.open_csv(
        path,
        read_options=csv.ReadOptions(column_names=labels, skip_rows_after_names=1, block_size=32 << 20),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types={label: pa.string() for label in labels},
            include_columns=[labels[i] for i in read],
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    for batch in reader:
        arrays = batch.columns  # by place: a look-up by name goes through all names
        yield pa.RecordBatch.from_arrays([arrays[at[i]] for i in wanted], names=columns)


ROWS = 65_536


def jsonl_names(path: Path) -> list[str]:
    """The names of the first line."""
    with path.open(encoding="utf-8") as source:
        line = source.readline(MOST_HEADER)
    return [] if not line.strip() else [name for name, _ in _pairs(line, path)]


def _jsonl_cells(path: Path, columns: list[str]) -> Iterator[list[list[str | None]]]:
    """Columns of texts, some rows at a time: numbers as they are spelled, true and false as words, null as missing."""
    wanted = jsonl_names(path)
    block: list[list[str | None]] = [[] for _ in columns]
    kinds: list[set[bool]] = [set() for _ in columns]
    with path.open(encoding="utf-8") as source:
        for line in source:
            if not line.strip():
                continue
            pairs = _pairs(line, path)
            record = dict(pairs)
            if len(record) != len(pairs) or set(record) != set(wanted):
                raise TamperError(f"'{path.name}' has lines with other names than its first.")
            for name, values, seen in zip(columns, block, kinds, strict=True):
                value = record[name]
                if isinstance(value, _Number | bool) or (isinstance(value, str) and _spells_number(value)):
                    seen.add(isinstance(value, _Number | bool))
                values.append(_text(value, path))
            if len(block[0]) >= ROWS:
                _one_way(kinds, path)
                yield block
                block = [[] for _ in columns]
    _one_way(kinds, path)
    yield block


def _spells_number(text: str) -> bool:
    """Whether a text differs from a number or truth value by its quotation marks only."""
    if text in ("true", "false"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def _one_way(kinds: Sequence[set[bool]], path: Path) -> None:
    """Refuse a column that spells the same values as numbers here and as texts there: a reader tells them apart."""
    if any(len(seen) > 1 for seen in kinds):
        raise TamperError(f"'{path.name}' writes numbers of one column partly as text.")


def _pairs(line: str, path: Path) -> list[tuple[str, Any]]:
    """Name and value of each field, numbers as their own text."""
    pairs = json.loads(line, object_pairs_hook=_Fields, parse_int=_Number, parse_float=_Number, parse_constant=_Number)
    if not isinstance(pairs, _Fields):
        raise TamperError(f"'{path.name}' has a line that is not an object.")
    return list(pairs)


class _Fields(list[tuple[str, Any]]):
    """The fields of an object in their order, names that are there twice included."""


class _Number(str):
    """A number as it is spelled."""

    __slots__ = ()


def _text(value: Any, path: Path) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    raise TamperError(f"'{path.name}' holds nested values.")


SUPPRESSED = "*"


def statistical_names(path: Path) -> list[str]:
    """Names of the columns, in order."""
    return [str(c) for c in _stats_file(path)[0].columns]


def _stats_file(path: Path) -> tuple[Any, Any]:
    """The frame of codes and what the file says about it (value labels)."""
    import pyreadstat

    readers: dict[str, Any] = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta, ".xpt": pyreadstat.read_xport}
    read = readers[path.suffix]
    declared = {} if path.suffix == ".xpt" else {"user_missing": True}  # declared missing or not, it can be read
    try:
        known = read(str(path), metadataonly=True)[1]
        check_cells(path, max(0, int(known.number_rows or 0)), int(known.number_columns or 0))
        frame, about = read(str(path), **declared)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise unreadable(path, error) from None
    return frame, about


def statistical_records(path: Path) -> int | None:
    """The number of records that the file states; None if it states none (SAS transport)."""
    import pyreadstat

    read: dict[str, Any] = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta}
    if path.suffix not in read:
        return None
    try:
        records = read[path.suffix](str(path), metadataonly=True)[1].number_rows
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise unreadable(path, error) from None
    return None if records is None or records < 0 else int(records)


def parquet_records(path: Path) -> int:
    """The records of all row groups, as the footer lists them."""
    import pyarrow.parquet as pq

    footer = pq.read_metadata(path)
    records = sum(int(footer.row_group(i).num_rows) for i in range(footer.num_row_groups))
    if records != footer.num_rows:
        raise TamperError(f"'{path.name}' states two different numbers of records.")
    return records


def value_labels(path: Path) -> dict[str, dict[Any, str]]:
    """Labels of codes, by column: what a reader of SPSS or Stata sees in their place; empty for other files."""
    if path.suffix not in (".sav", ".dta"):
        return {}
    return {
        str(column): {float(code) if isinstance(code, int) else code: str(label) for code, label in labels.items()}
        for column, labels in _stats_file(path)[1].variable_value_labels.items()
    }


def statistical_batches(path: Path, columns: list[str]) -> Iterator[Any]:
    """Codes and texts as they are; these formats have no missing text but an empty one, which is therefore missing."""
    frame, about = _stats_file(path)
    places([str(c) for c in frame.columns], columns, path.name)
    arrays = []
    for c in columns:
        labels = about.variable_value_labels.get(c, {})
        values = [_stats_cell(v, labels) for v in frame[c].tolist()]
        arrays.append(pa.array(_one_kind(values), pa.string() if all(v is None for v in values) else None))
    yield pa.RecordBatch.from_arrays(arrays, names=columns)


def _stats_cell(value: Any, labels: Any) -> Any:
    if value is None or value != value or value == "":
        return None
    return SUPPRESSED if labels.get(value) == SUPPRESSED else value


def _one_kind(values: list[Any]) -> list[Any]:
    """Values of one kind: as they are, or all as text where a suppressed cell stands among numbers."""
    kinds = {type(v) for v in values if v is not None}
    return [None if v is None else str(v) for v in values] if str in kinds and len(kinds) > 1 else values


def parquet_batches(path: Path, columns: list[str]) -> Iterator[Any]:
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    texts = [f.name for f in schema if pa.types.is_string(f.type)]
    file = pq.ParquetFile(path, read_dictionary=texts)  # a text is looked at once per dictionary, not once per cell
    check_cells(path, int(file.metadata.num_rows), len(columns))
    places(list(file.schema_arrow.names), columns, path.name)
    check_flat(path, file.schema_arrow)
    for batch in file.iter_batches(batch_size=BATCH, columns=list(dict.fromkeys(columns))):
        for array in batch.columns:
            check_long_texts(path, array)  # a page may say a long text once and repeat it for every row
        yield pa.RecordBatch.from_arrays([batch.column(c) for c in columns], names=columns)


def arrow_batches(path: Path, columns: list[str]) -> Iterator[Any]:
    check_arrow(path, len(columns))
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        places(list(reader.schema.names), columns, path.name)
        check_flat(path, reader.schema)
        for i in range(reader.num_record_batches):
            batch = reader.get_batch(i)
            batch.validate(full=True)  # offsets that point nowhere are an error here, not a crash later
            for array in batch.columns:
                check_long_texts(path, array)
            yield pa.RecordBatch.from_arrays([batch.column(c) for c in columns], names=columns)


def excel_rows(path: Path) -> Iterator[tuple[Any, ...]]:
    import openpyxl

    check_workbook(path)
    book = openpyxl.load_workbook(path, read_only=True, data_only=False)
    try:
        if len(book.sheetnames) != 1:
            raise TamperError(f"'{path.name}' has more than one sheet.")
        yield from book.worksheets[0].iter_rows(values_only=True)
    finally:
        book.close()


def excel_batches(path: Path, columns: list[str]) -> Iterator[Any]:
    """Cells as text: a workbook has no column types."""
    lines = excel_rows(path)
    names = [str(c or "") for c in next(lines, ())]
    wanted = places(names, columns, path.name)
    filled = [line for line in lines if any(c is not None for c in line) or len(names) == 1]
    texts = [{line[i] for line in filled if isinstance(line[i], str)} for i in wanted]
    _one_way(
        [{isinstance(line[i], str) for line in filled if str(line[i]) in t} for i, t in zip(wanted, texts, strict=True)], path
    )
    arrays = [pa.array([None if line[i] is None else str(line[i]) for line in filled], pa.string()) for i in wanted]
    yield pa.RecordBatch.from_arrays(arrays, names=columns)


def jsonl_batches(path: Path, columns: list[str]) -> Iterator[Any]:
    places(jsonl_names(path), columns, path.name)
    for block in _jsonl_cells(path, columns):
        yield pa.RecordBatch.from_arrays([pa.array(values, pa.string()) for values in block], names=columns)


def unreadable(path: Path, error: BaseException) -> UnreadableError:
    """The error that tells of a file which cannot be read, and nothing of what is in it."""
    return UnreadableError(
        f"the written file '{path.name}' cannot be read: {type(error).__name__}.", hint="Ask the publisher for the release again."
    )


def places(header: Sequence[str], columns: Sequence[str], name: str) -> list[int]:
    """Where each wanted column stands; a name the formula guard put a quotation mark before is found too."""
    plain = {h: i for i, h in reversed(list(enumerate(header)))}
    for h, i in [(h[1:], i) for h, i in plain.items() if h.startswith("'")]:
        plain.setdefault(h, i)
    lacking = [c for c in columns if c not in plain]
    if lacking:
        raise TamperError(f"'{name}' lacks {len(lacking)} columns that the certificate names: {', '.join(lacking[:5])}.")
    return [plain[c] for c in columns]
