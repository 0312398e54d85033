"""Pseudonymise whole tables as a stream: any source the engines open, out to a file that appears whole or not at all.

Every named column is read as text (leading zeros stay) and replaced in one domain, so the same person has the same pseudonym
in all columns and files: foreign keys keep leading to their rows. Beside the output stands a small JSON file with the domain
and the id of the key, and no data.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.engines import open as opening
from shoal.engines.exclusion import leave_out
from shoal.engines.files.writers import atomic, output_format, write_file
from shoal.errors import UsageError
from shoal.find import ColumnFacts, find_columns
from shoal.kernels.text import canonical_text
from shoal.linkage.records import fields_of, text_columns
from shoal.model.exclusion import Excluded
from shoal.model.roles import Column, Role
from shoal.protector.intake.register import keys_of

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.engines.table import Table
    from shoal.protector.session import Session


FORMAT = "shoal-pseudonyms/1"
BATCH_ROWS = 1 << 18


@dataclass(frozen=True)
class Pseudonymized:
    """What was done to one table; ``left`` names columns that still tell who people are (:mod:`.left_over`)."""

    out: Path
    domain: str
    key_id: str
    columns: tuple[str, ...]
    rows: int
    missing: int
    excluded: Excluded | None = None
    left: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        content = {} if self.excluded is None else {"excluded": self.excluded.to_json()}
        return {
            **content,
            "left": {role: list(names) for role, names in self.left.items()},
            "format": FORMAT,
            "file": self.out.name,
            "domain": self.domain,
            "key_id": self.key_id,
            "columns": list(self.columns),
            "rows": self.rows,
            "missing": self.missing,
        }


def pseudonymize_table(
    session: Session,
    source: Any,
    out: str | Path,
    *,
    domain: str,
    columns: Sequence[str],
    drop: Sequence[str] = (),
    purpose: str = "",
    role: str = "",
    relation: str = "",
    raw: bool = False,
    exclude: str | Path | Iterable[Any] | None = None,
    exclude_by: str | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Pseudonymized:
    """Replace identity columns of a table by pseudonyms of a domain.

    Parameters
    ----------
    session : Session
        Of an operator.
    source : path, URL, frame or Table
        Anything ``shoal.open`` takes.
    out : path
        CSV, Parquet, Arrow, Excel, SPSS or Stata by its ending.
    columns, drop : names
        Columns to pseudonymise, and columns to leave out (names, addresses).
    raw : bool
        Write CSV cells as they are, also those a spreadsheet would run.
    exclude, exclude_by : optional
        People who asked not to be in it (a file with one id per line, ``FILE:column``, or the ids), and the column that holds
        their ids; the first of ``columns`` by default. Their rows are left out first: they get no pseudonym.

    Returns
    -------
    Pseudonymized
        Also written beside ``out`` as ``<out>.pseudonyms.json``.
    """
    path = Path(out)
    output_format(path, None)
    _require_new(path, source)
    if not columns:
        raise UsageError("name at least one column of identities.", hint="Pass columns=['patient_id'], or --id patient_id.")
    with _open_source(source, columns) as opened:
        table, excluded = opened, None
        for name in (*columns, *drop):
            table.schema.require(name, what="identity column" if name in columns else "column to drop")
        if exclude is not None:
            left = leave_out(table, exclude, exclude_by or columns[0])
            table, excluded = left.table, left.told
        kept = [c for c in table.schema.columns if c.name not in drop]
        given = {"purpose": purpose, "role": role, "relation": relation, "source": path.name}
        work = _Work(tuple(columns), lambda text: session.pseudonymize(domain, text, **given))
        work.total, work.progress = table.n_rows() if progress else 0, progress
        still = work.write(table, kept, path, raw=raw)
    key_id = next(d.key_id for d in session.domains() if d.name == domain)
    done = Pseudonymized(path, domain, key_id, tuple(columns), work.rows, work.missing, excluded, still)
    beside = path.with_name(path.name + ".pseudonyms.json")
    with atomic(beside) as temporary:
        temporary.write_text(json.dumps(done.to_json(), ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return done


@dataclass(frozen=True)
class Replaced:
    """What was done to a table: rows, cells without a value afterwards, and columns that still tell who people are."""

    rows: int
    missing: int
    left: Mapping[str, Sequence[str]]


def replace_in_table(
    table: Any, out: str | Path, *, columns: Sequence[str], replace: Callable[[list[str]], Sequence[str | None]]
) -> Replaced:
    """A table with the texts of some columns replaced; ``replace`` gets the different ones of a part and answers in order."""
    path = Path(out)
    output_format(path, None)
    _require_new(path, table)
    missing = 0

    def replaced(text: Any) -> Any:
        nonlocal missing
        coded = text.dictionary_encode()
        new_values = pa.array(replace(coded.dictionary.to_pylist()), pa.string())
        column = pa.DictionaryArray.from_arrays(coded.indices, new_values).cast(pa.string())
        missing += column.null_count
        return column

    with _open_source(table, columns) as opened:
        for name in columns:
            opened.schema.require(name, what="column to be replaced")
        work = _Work(tuple(columns), replaced)
        left = work.write(opened, list(opened.schema.columns), path)
    return Replaced(work.rows, missing, left)


def translate_table(
    session: Session, table: Any, out: str | Path, *, columns: Sequence[str], source: str, target: str, purpose: str
) -> Replaced:
    """Replace pseudonyms of one domain by those of another in a table. Unknown ones become missing."""

    translated = partial(session.translate, source=source, target=target, purpose=purpose)
    return replace_in_table(table, out, columns=columns, replace=translated)


def find_in_table(session: Session, table: Any, out: str | Path, *, columns: Sequence[str], domain: str, **told: str) -> Replaced:
    """Replace identities by the pseudonyms they have, without making any; people without one become missing."""
    return replace_in_table(table, out, columns=columns, replace=lambda texts: session.find_many(domain, texts, **told))


def values_of(table: Any, column: str) -> list[str]:
    """The different texts of a column, in the order in which they come."""
    values: dict[str, None] = {}
    with _open_source(table, [column]) as opened:
        opened.schema.require(column, what="column of pseudonyms")
        for batch in opened.scan([column], batch_size=BATCH_ROWS):
            texts = canonical_text(batch.column(column)).unique().drop_null().to_pylist()
            values.update(dict.fromkeys(texts))
    return list(values)


PSEUDONYM, OUTCOME = "pseudonym", "outcome"
"""The columns an output has beside those that stay."""


def intake_table(
    session: Session,
    source: Any,
    out: str | Path,
    *,
    domain: str,
    fields: Mapping[str, str],
    purpose: str = "",
    match: float,
    possible: float,
) -> dict[str, Any]:
    """Pseudonyms for the people of a table, written with the columns that are not fields; what was done, in numbers.

    Rows whose person is not decided have no pseudonym: after the clerk's decisions the same call completes them.
    """
    path = Path(out)
    form = output_format(path, None)
    columns = list(fields_of(fields))
    keys = keys_of(fields)
    _require_new(path, source)
    with _open_source(source, columns) as table:
        for name in columns:
            table.schema.require(name, what="column of a person's data")
        kept = [c for c in table.schema.columns if c.name not in columns]
        if {PSEUDONYM, OUTCOME} & {c.name for c in kept}:
            raise UsageError(f"the table has a column '{PSEUDONYM}' or '{OUTCOME}' already.", hint="Rename it first.")
        batches = [pa.Table.from_batches([b]) for b in table.scan([*columns, *(c.name for c in kept)])]
        whole = pa.concat_tables(batches).combine_chunks() if batches else None
    texts = text_columns(whole.select(columns).to_batches(), columns) if whole is not None else {c: [] for c in columns}
    rows = len(texts[columns[0]])
    records = [{keys[c]: texts[c][i] for c in columns} for i in range(rows)]
    done = session.intake(domain, records, purpose=purpose, source=path.name, match=match, possible=possible)
    new = pa.table({PSEUDONYM: pa.array(done.pseudonyms, pa.string()), OUTCOME: pa.array(done.outcomes, pa.string())})
    rest = whole.select([c.name for c in kept]) if whole is not None else None
    joined = new if rest is None else pa.table([*new.columns, *rest.columns], names=[*new.column_names, *rest.column_names])
    write_file(path, form, joined.schema, iter(joined.to_batches()), [Column(PSEUDONYM), Column(OUTCOME), *kept])
    return {
        "rows": rows,
        "out": path.name,
        "domain": domain,
        "counts": done.counts,
        "waiting": sorted(set(done.waiting)),
        "changes": {name: dict(seen) for name, seen in done.changes.items()},
    }


class _Work:
    """Batches in, batches with the named columns replaced out; counts as it goes."""

    def __init__(self, columns: tuple[str, ...], replace: Callable[[Any], Any]) -> None:
        self.columns = columns
        self.replace = replace
        self.rows = 0
        self.missing = 0
        self.total = 0
        self.progress: Callable[[float, str], None] | None = None

    def write(self, table: Table, kept: Sequence[Column], path: Path, *, raw: bool = False) -> dict[str, list[str]]:
        """Write these columns of a table, replaced, to a file like it; which of them still tell who people are."""
        names = [c.name for c in kept]
        batches = self.stream(table.scan(names, batch_size=BATCH_ROWS))
        first = list(itertools.islice(batches, 1))
        schema = first[0].schema if first else pa.schema([pa.field(n, pa.string()) for n in names])
        form, delimiter = output_format(path, None), _delimiter(table, path)
        write_file(path, form, schema, itertools.chain(first, batches), list(kept), raw=raw, delimiter=delimiter)
        return left_over(pa.Table.from_batches(first), self.columns, {c.name: c.kind for c in kept}) if first else {}

    def stream(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
            for name in self.columns:
                text = canonical_text(table[name])
                self.missing += text.null_count
                table = table.set_column(table.column_names.index(name), name, self.replace(text))
            self.rows += table.num_rows
            if self.progress is not None and self.total:
                self.progress(min(1.0, self.rows / self.total), "pseudonymising")
            yield from table.combine_chunks().to_batches()


def _require_new(path: Path, source: Any) -> None:
    """Refuse to write over the source: from a one-way domain nothing would lead back."""
    if isinstance(source, str | Path) and path.exists() and Path(str(source)).exists() and path.samefile(str(source)):
        raise UsageError(f"'{path.name}' is the table itself: its identities would be lost.", hint="Name another output file.")


def _open_source(source: Any, columns: Sequence[str]) -> Table:
    """The source with its identity columns as text."""
    if isinstance(source, str | Path) and Path(str(source)).suffix.lower() in (".csv", ".tsv", ".txt"):
        return opening.open(source, types=dict.fromkeys(columns, "text"))
    return opening.open(source)


def _delimiter(table: Table, path: Path) -> str:
    """The delimiter of the source, for a CSV file like it: what came with semicolons leaves with semicolons."""
    source = table.source
    return str(source.get("delimiter", "")) if source.get("format") == "csv" and path.suffix.lower() == ".csv" else ""


ROWS = 10_000
MOST_VALUES = 2_000


def left_over(table: pa.Table, replaced: Sequence[str], kinds: dict[str, str]) -> dict[str, list[str]]:
    """Names of columns that name people by themselves (``direct``) or together with others (``quasi``).

    ``table`` holds the first rows as an Arrow table, ``kinds`` the kind of each column.
    """
    first = table.slice(0, ROWS)
    facts = [_facts(first.column(name), name, kinds.get(name, "text")) for name in first.column_names if name not in replaced]
    findings = find_columns([f for f in facts if f.distinct])
    direct = [f.name for f in findings if f.role is Role.DIRECT]
    quasi = [f.name for f in findings if f.role is Role.QUASI]
    return {"direct": direct, "quasi": quasi}


def _facts(column: pa.ChunkedArray, name: str, kind: str) -> ColumnFacts:
    text = canonical_text(column)
    counted = text.drop_null().value_counts()
    values, counts = counted.field("values").to_pylist(), np.asarray(counted.field("counts"))
    order = sorted(range(len(values)), key=values.__getitem__)
    picked = [order[i] for i in np.linspace(0, len(order) - 1, min(len(order), MOST_VALUES)).astype(int)] if order else []
    return ColumnFacts(
        name, kind, [values[i] for i in picked], counts[picked].astype(np.int64), len(text), text.null_count, len(values)
    )


def sentence(columns: dict[str, list[str]]) -> str:
    """A warning in words, or nothing.

    >>> sentence({"direct": ["name"], "quasi": ["born", "zip"]})
    'Columns that still name people: name (leave them out with --drop). Columns that may point to them together: born, zip.'
    >>> sentence({"direct": [], "quasi": []})
    ''
    """
    parts = []
    if columns["direct"]:
        parts.append(f"Columns that still name people: {', '.join(columns['direct'])} (leave them out with --drop).")
    if columns["quasi"]:
        parts.append(f"Columns that may point to them together: {', '.join(columns['quasi'])}.")
    return " ".join(parts)
