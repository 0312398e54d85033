"""CSV for the second opinion, RFC 4180 with commas: a bare empty cell is missing, one in quotes is an empty text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import TamperError
from shoal.release.proof.bounds import MOST_HEADER
from shoal.release.proof.written import places, unreadable

Cell = str | None

_CELL = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r\n|\n|\r|\Z)')


def parse_csv(text: str) -> Iterator[list[Cell]]:
    """Records of a CSV: RFC 4180 with commas; a bare empty cell is None, a quoted one is empty text.

    >>> list(parse_csv('a,"b ""x"" c",\\n,"",1\\n'))
    [['a', 'b "x" c', None], [None, '', '1']]
    """
    at, record = 0, list[Cell]()
    while at < len(text) or record:
        found = _CELL.match(text, at)
        if found is None:
            raise TamperError("the written CSV is not well formed: a quotation mark stands where none may stand.")
        quoted, bare, end = found.groups()
        record.append(quoted.replace('""', '"') if quoted is not None else bare or None)
        at = found.end()
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


def csv_batches(path: Path, columns: list[str]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv

    names = csv_names(path)
    wanted = places(names, columns, path.name)
    labels = [f"c{i}" for i in range(len(names))]
    reader = csv.open_csv(
        path,
        read_options=csv.ReadOptions(column_names=labels, skip_rows_after_names=1, block_size=32 << 20),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types={label: pa.string() for label in labels},
            include_columns=[labels[i] for i in dict.fromkeys(wanted)],
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    for batch in reader:
        yield pa.RecordBatch.from_arrays([batch.column(labels[i]) for i in wanted], names=columns)
