"""Whole tables at the intake: the columns that tell who people are leave, one of pseudonyms comes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import UsageError
from shoal.linkage.records import fields_of, text_columns
from shoal.model.roles import Column
from shoal.protector.intake.register import keys_of

PSEUDONYM, OUTCOME = "pseudonym", "outcome"
"""The columns an output has beside those that stay."""


def intake_table(
    session: Any,
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
    import pyarrow as pa

    from shoal.engines import open as opening
    from shoal.engines.files.writers import output_format, write_file

    path = Path(out)
    form = output_format(path, None)
    columns = list(fields_of(fields))
    keys = keys_of(fields)
    csv = isinstance(source, str | Path) and Path(str(source)).suffix.lower() in (".csv", ".tsv", ".txt")
    with opening.open(source, types=dict.fromkeys(columns, "text")) if csv else opening.open(source) as table:
        for name in columns:
            table.schema.require(name, what="column of a person's data")
        if path.exists() and csv and Path(str(source)).exists() and path.samefile(str(source)):
            raise UsageError(f"'{path.name}' is the table itself.", hint="Name another output file.")
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
    made = new if rest is None else pa.table([*new.columns, *rest.columns], names=[*new.column_names, *rest.column_names])
    write_file(path, form, made.schema, iter(made.to_batches()), [Column(PSEUDONYM), Column(OUTCOME), *kept])
    return {
        "rows": rows,
        "out": path.name,
        "domain": domain,
        "counts": done.counts,
        "waiting": sorted(set(done.waiting)),
        "changes": {name: dict(seen) for name, seen in done.changes.items()},
    }
