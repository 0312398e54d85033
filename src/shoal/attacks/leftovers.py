"""Leftovers: what a file tells besides its cells.

Row order (are neighbours alike more often than in a shuffled file, is a column sorted?), columns that number the rows, and
metadata that the original or its author left behind.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.kernels.arrow import to_numpy
from shoal.model.attack import AttackResult

QUESTION = "Do row order, row numbers or file metadata tell anything that the cells do not?"
SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
PLAIN_PARTS = re.compile(
    r"\[Content_Types\]\.xml|_rels/\.rels|docProps/(app|core)\.xml|"
    r"xl/((_rels/)?workbook\.xml(\.rels)?|styles\.xml|sharedStrings\.xml|theme/theme1\.xml|worksheets/sheet1\.xml)"
)
"""The parts of a workbook of cells and nothing else."""
AUTHOR = re.compile(rb"<(dc:creator|cp:lastModifiedBy|Manager|Company)(\s[^>]*[^>/])?>\s*[^<\s]")
LIMIT = 6.0  # standard deviations: about one false alarm in a thousand million columns


def leftovers(table: Any, files: tuple[Path, ...] = ()) -> AttackResult:
    """Look at a published table (pyarrow) and the files that hold it; a folder of them is one of ``files``."""
    results, tries = [], 0
    ranks = {name: _ranks(table[name]) for name in table.column_names}
    fresh = _new_rows(list(ranks.values()))
    repeated = not fresh.all()
    for name in table.column_names:
        tries += 2
        # Equal rows side by side, as some engines write them, tell nothing. Leaving them out of rows that stand at random would
        # itself look like an order, so both must show one.
        if _is_ordered(ranks[name]) and not (repeated and not _is_ordered(ranks[name][fresh])):
            results.append(f"rows are ordered by column '{name}'")
        if _numbers_the_rows(table[name]):
            results.append(f"column '{name}' numbers the rows")
    for file in files:
        tries += 1
        inside = sorted(p for p in file.iterdir() if p.is_file()) if file.is_dir() else [file]
        results.extend(dict.fromkeys(line for part in inside for line in metadata_of(part)))
    rate, worst = len(results) / max(tries, 1), f"{len(results)} findings"
    sentence = "; ".join(results) + "." if results else "Row order and file metadata tell nothing."
    sentence = sentence[:1].upper() + sentence[1:]
    return AttackResult.exact("leftovers", QUESTION, rate, 0.0, worst, "warning" if results else "holds", sentence)


def _is_ordered(codes: npt.NDArray[np.int64]) -> bool:
    return abs(neighbour_score(codes)) > LIMIT or abs(trend_score(codes)) > LIMIT


def _new_rows(columns: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.bool_]:
    """Rows that differ from the row before: equal rows side by side tell nothing in any order."""
    n = len(columns[0]) if columns else 0
    new = np.zeros(n, dtype=np.bool_)
    new[:1] = True
    for codes in columns:
        new[1:] |= codes[1:] != codes[:-1]
    return new


def neighbour_score(codes: npt.NDArray[np.int64]) -> float:
    """How many standard deviations more neighbours are alike than in a shuffled column.

    Of n − 1 neighbouring pairs each is alike with chance m = Σ c(c−1)/(n(n−1)); the pairs are nearly independent, so the
    count has standard deviation about √((n−1) m (1−m)).

    >>> abs(neighbour_score(np.random.default_rng(1).integers(0, 5, 1000))) < 5
    True
    >>> neighbour_score(np.repeat(np.arange(5), 200)) > 20
    True
    """
    n = len(codes)
    if n < 50:
        return 0.0
    counts = np.bincount(codes).astype(np.float64)
    alike = float((counts * (counts - 1)).sum()) / (n * (n - 1))
    spread = math.sqrt((n - 1) * alike * (1 - alike)) if 0 < alike < 1 else 0.0
    if spread < 1.0:
        return 0.0
    return float(((codes[1:] == codes[:-1]).sum() - (n - 1) * alike) / spread)


def trend_score(codes: npt.NDArray[np.int64]) -> float:
    """Rank correlation of value and row number, in standard deviations (ρ √(n−1))."""
    n = len(codes)
    if n < 50 or codes.max() == codes.min():
        return 0.0
    value, place = codes - codes.mean(), np.arange(n) - (n - 1) / 2
    return float(value @ place / math.sqrt(value @ value * (place @ place)) * math.sqrt(n - 1))


def _ranks(column: Any) -> npt.NDArray[np.int64]:
    encoded = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    coded = pa.types.is_dictionary(encoded.type)
    if coded and encoded.indices.null_count:
        encoded, coded = encoded.cast(encoded.type.value_type), False
    encoding = encoded if coded else encoded.dictionary_encode(null_encoding="encode")  # each value is ranked once
    ranks = to_numpy(pc.rank(encoding.dictionary, sort_keys="ascending", tiebreaker="dense")).astype(np.int64) - 1
    return np.asarray(ranks[to_numpy(encoding.indices)])


def _numbers_the_rows(column: Any) -> bool:
    if not pa.types.is_integer(column.type) or len(column) < 50 or column.null_count:
        return False
    low, high = pc.min(column).as_py(), pc.max(column).as_py()
    return bool(high - low == len(column) - 1 and pc.count_distinct(column).as_py() == len(column))


def metadata_of(file: Path) -> list[str]:
    """Metadata that a released file should not carry; names of entries only, never their contents."""
    suffix = file.suffix.lower()
    if suffix == ".parquet":
        return _parquet_metadata(file)
    if suffix in {".xlsx", ".xlsm"}:
        return _office_metadata(file)
    if suffix in {".arrow", ".feather"}:
        return _arrow_metadata(file)
    if suffix in {".sav", ".dta"}:
        return _statistical_metadata(file)
    return []


def _parquet_metadata(file: Path) -> list[str]:
    import pyarrow.parquet as pq  # loads network libraries, which no CSV needs

    entries = pq.read_metadata(file).metadata or {}
    plain = {b"ARROW:schema", b"org.apache.spark.version"}
    if _is_plain_schema(entries.get(SPARK_SCHEMA, b"")):
        plain.add(SPARK_SCHEMA)
    names = sorted(k.decode(errors="replace") for k in entries if k not in plain)
    found = [f"the Parquet file carries metadata '{name}'" for name in names]
    schema = pq.read_schema(file)  # notes about columns, and those inside ARROW:schema
    if any(set(f.metadata or {}) - {b"PARQUET:field_id"} for f in schema) or set(schema.metadata or {}) - set(entries):
        found.append("the Parquet file carries metadata of columns")
    return found


def _arrow_metadata(file: Path) -> list[str]:
    with pa.memory_map(str(file)) as source:
        reader = pa.ipc.open_file(source)
        notes = reader.schema.metadata or any(f.metadata for f in reader.schema) or getattr(reader, "metadata", None)
        table = reader.read_all()
        listed = any(_lists_others(column) for column in table.columns)
    out = ["the Arrow file carries metadata"] if notes else []
    return [*out, "the Arrow file lists values that no record has"] if listed else out


def _lists_others(column: Any) -> bool:
    """Whether the dictionary of a column lists values that no record has."""
    if not pa.types.is_dictionary(column.type):
        return False
    chunk = column.unify_dictionaries().combine_chunks()
    return bool(pc.count_distinct(chunk.indices, mode="only_valid").as_py() < len(chunk.dictionary))


def _statistical_metadata(file: Path) -> list[str]:
    import pyreadstat

    read: Any = pyreadstat.read_sav if file.suffix == ".sav" else pyreadstat.read_dta
    frame, about = read(str(file), user_missing=True)
    out = ["the file carries notes or a title"] if about.notes or about.file_label else []
    others = any(set(codes) - set(frame[name].tolist()) for name, codes in about.variable_value_labels.items())
    return [*out, "the file has labels of values that no record has"] if others else out


def _is_plain_schema(text: bytes) -> bool:
    """Whether Spark's form of the schema says names and types only: comments and other notes about columns stand in it too.

    >>> _is_plain_schema(b'{"fields": [{"name": "a", "type": "long", "nullable": true, "metadata": {}}]}')
    True
    >>> _is_plain_schema(b'{"fields": [{"name": "a", "type": "long", "nullable": true, "metadata": {"comment": "of B."}}]}')
    False
    """
    try:
        fields = json.loads(text)["fields"]
        return all(isinstance(f["type"], str) and f["metadata"] == {} for f in fields)
    except (ValueError, LookupError, TypeError):
        return False


def _office_metadata(file: Path) -> list[str]:
    fields = []
    with zipfile.ZipFile(file) as book:
        for part in ("docProps/core.xml", "docProps/app.xml", "docProps/custom.xml"):
            if part in book.namelist() and AUTHOR.search(book.read(part)):
                fields.append("the workbook names its author")
        for part in book.namelist():
            if not PLAIN_PARTS.fullmatch(part):
                fields.append("the workbook holds comments, pictures or other parts besides its cells")
            elif part.startswith("xl/work") and re.search(rb'\shidden="(?!0|false)|veryHidden|<definedName\b', book.read(part)):
                fields.append("the workbook hides rows, columns or names")
    return list(dict.fromkeys(fields))
