"""Readers: columns of a source as Arrow chunks, for counting by codes without SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.kinds import no_rows, normalize
from shoal.errors import UnreadableError
from shoal.model.display import Progress
from shoal.model.roles import Column

CHUNK_ROWS = 1 << 20


@contextmanager
def _whole_files() -> Iterator[None]:
    """Errors of the file system and of broken files in our own words."""
    try:
        yield
    except FileNotFoundError:
        raise UnreadableError("a Parquet file is not there any more.", hint="Was it moved or replaced?") from None
    except (OSError, pa.ArrowException):
        raise UnreadableError("a Parquet file is broken or may not be read.", hint="Write it again.") from None


TEXTS = pa.dictionary(pa.int32(), pa.string())
"""The type of a text column that comes as the dictionary of its file."""


class Reader(Protocol):
    """Something that gives chosen columns chunk by chunk; text columns preferably as dictionary arrays."""

    def rows(self) -> int:
        """How many rows there are, or at most are."""
        ...

    def chunks(self, names: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Lists of pyarrow arrays, one per name, of equal length."""
        ...


class ArrowReader:
    """An Arrow table in memory, loaded on first use."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load: Callable[[], Any] | None = load
        self._table: Any = None

    @property
    def table(self) -> Any:
        if self._load is not None:
            self._table, self._load = self._load(), None
        return self._table

    def rows(self) -> int:
        return int(self.table.num_rows)

    def chunks(self, names: Sequence[str]) -> Iterator[list[pa.Array]]:
        picked = self.table.select(list(names))
        for batch in picked.to_batches(max_chunksize=CHUNK_ROWS):
            yield list(batch.columns)

    def scan(self, columns: Sequence[Column], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Rows of some columns as RecordBatches in the one type of each kind, at least one."""
        picked = self.table.select([c.name for c in columns])
        for batch in picked.to_batches(max_chunksize=batch_rows) or [no_rows(picked.schema)]:
            yield in_one_type(batch.columns, columns)


def in_one_type(arrays: Sequence[Any], columns: Sequence[Column], *, dictionaries: bool = False) -> pa.RecordBatch:
    """Arrow arrays as a RecordBatch in the one type of each kind; with ``dictionaries``, those of text may stay."""
    stays = [dictionaries and a.type == TEXTS and c.kind == "text" for a, c in zip(arrays, columns, strict=True)]
    made = [a if as_is else normalize(a, c.kind) for a, c, as_is in zip(arrays, columns, stays, strict=True)]
    return pa.RecordBatch.from_arrays(made, names=[c.name for c in columns])


class EngineReader:
    """A relation read through its engine, for text files that only the engine parses."""

    def __init__(self, engine: Engine, relation: Relation, most_rows: int, likely: int) -> None:
        self._engine, self._relation, self._most_rows, self.likely = engine, relation, most_rows, likely

    def rows(self) -> int:
        return self._most_rows

    def chunks(self, names: Sequence[str]) -> Iterator[list[pa.Array]]:
        for batch in self._engine.scan(self._relation, names, CHUNK_ROWS):
            yield list(batch.columns)


class Footers:
    """The footers of Parquet files, each read once for each state of its file: those of thousands of columns take long."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[tuple[int, ...], Any]] = {}

    def of(self, path: str) -> Any:
        """The footer of a file."""
        import pyarrow.parquet as pq  # brings file systems and TLS: text files need neither

        seen = Path(path).stat()
        state = (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
        if path not in self._read or self._read[path][0] != state:
            self._read[path] = state, pq.read_metadata(path)
        return self._read[path][1]


class ParquetReader:
    """Parquet files, one row group after the other; text columns come as the dictionaries of the file.

    ``folders`` are columns that have one value per file.
    """

    def __init__(
        self,
        files: Sequence[str],
        text: Sequence[str],
        folders: Mapping[str, Sequence[str | None]] | None = None,
        footers: Footers | None = None,
    ) -> None:
        self._files = list(files)
        self._text = set(text)
        self._folders = dict(folders or {})
        self._footers = footers or Footers()

    def rows(self) -> int:
        with _whole_files():
            return sum(self._footers.of(f).num_rows for f in self._files)

    def chunks(self, names: Sequence[str], size: int = CHUNK_ROWS) -> Iterator[list[pa.Array]]:
        import pyarrow.parquet as pq

        inside = [n for n in names if n not in self._folders]
        dictionaries = [n for n in inside if n in self._text]
        for i, path in enumerate(self._files):
            above = {n: values[i] for n, values in self._folders.items()}
            with (
                _whole_files(),
                pq.ParquetFile(path, metadata=self._footers.of(path), read_dictionary=dictionaries, pre_buffer=True) as file,
            ):
                if not inside:
                    rows = file.metadata.num_rows
                    for start in range(0, rows, size):
                        yield [_repeat(above[n], min(size, rows - start)) for n in names]
                    continue
                for batch in file.iter_batches(batch_size=size, columns=inside, use_threads=True):
                    by_name = dict(zip(batch.schema.names, batch.columns, strict=True))
                    yield [_repeat(above[n], batch.num_rows) if n in above else by_name[n] for n in names]


def expected_rows(engine: Engine, relation: Relation, progress: Progress | None) -> int:
    """About how many rows there are, for anyone who watches; 0 where nobody does."""
    if progress is None:
        return 0
    reader = relation.reader
    if reader is None:
        return engine.count_rows(relation)
    return reader.likely if isinstance(reader, EngineReader) else int(reader.rows())


def _repeat(value: str | None, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.string()), rows)
