"""``codebook.json``: what the columns and values of a release mean, if the format of its data has no labels.

It lists the variable label and the level of measurement of each column, the labels of published values and which of them mean
"no answer". Values that the data do not contain are never listed; ``verify`` checks that. ``shoal export ddi`` reads it.
Beside a file of SPSS or Stata, which has labels of its own, it lists the codes that are new in the file (``1``) and the groups
of the source's codes that they stand for (``0-2``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from shoal.errors import TamperError, refuse
from shoal.kernels.codes import group_label, is_declared, label_texts
from shoal.kernels.text import canonical_text
from shoal.model.roles import Column
from shoal.release.proof.formats import SUPPRESSED
from shoal.release.proof.read import batches, header, logical

NAME = "codebook.json"
FORMAT = "shoal-codebook/1"
LABELLED = (".sav", ".dta")
"""Formats that have labels of their own."""

Entry = dict[str, Any]


def write(data: Path, columns: Sequence[Column], path: Path, codes: Mapping[str, Mapping[str, str]]) -> list[Path]:
    """Write the codebook of ``data``, whose source had these columns; no file if there is nothing to say.

    ``codes`` are those that are new in the file, by column, and the texts that they stand for.
    """
    there = logical(header(data), [c.name for c in columns])
    named = set(there)
    described = [c for c in columns if c.name in named and (c.note or c.labels or c.user_missing or c.measure)]
    if data.suffix in LABELLED:
        entries = {c: {"codes": dict(sorted(labels.items()))} for c, labels in codes.items() if c in named}
    else:
        entries = {c.name: _entry(c, _values(data, there, c.name)) for c in described}
    if not entries:
        return []
    whole = {"format": FORMAT, "columns": entries}
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    return [path]


def _entry(column: Column, values: Sequence[str]) -> Entry:
    """What is known of a column; each published value has one meaning, also one that a step made."""
    meanings = {v: m for v in values if (m := _meaning(column, v))} if column.labels or column.user_missing else {}
    missing = [v for v in values if is_declared(v, column.user_missing)]
    bands = column.measure == "scale" and any(isinstance(_key(v), str) and v != SUPPRESSED for v in values)
    entry = {"label": column.note, "level": "ordinal" if bands else column.measure, "values": meanings, "missing": missing}
    return {key: value for key, value in entry.items() if value}


def _meaning(column: Column, value: str) -> str:
    """The label of a value, of a group by the labels of its codes; without them groups are their own label."""
    labels = {_key(v): label for v, label in column.labels.items()}
    own = "suppressed" if value == SUPPRESSED else "" if isinstance(_key(value), float) else value
    return labels.get(_key(value)) or group_label(value, label_texts(column)) or own


def _key(value: object) -> object:
    """A value as it is compared: numbers by size, in any spelling."""
    try:
        return float(str(value))
    except ValueError:
        return str(value)


def _values(data: Path, there: Sequence[str], name: str) -> list[str]:
    """The different values of a column as texts, without the mark that keeps a spreadsheet from running one."""
    written = header(data)[list(there).index(name)]
    values = {t for b in batches(data, [written]) for t in canonical_text(pc.unique(b.column(0))).to_pylist() if t is not None}
    return sorted(t.removeprefix("'") for t in values)


def read(place: Path) -> Mapping[str, Entry]:
    """The codebook of a release by column; empty if it has none."""
    if not (place / NAME).exists():
        return {}
    with refuse(TamperError(f"'{NAME}' is not as Shoal wrote it."), ValueError, KeyError, TypeError, AttributeError):
        whole = json.loads((place / NAME).read_text(encoding="utf-8"))
        columns: dict[str, Entry] = whole["columns"]
        texts = [t for e in columns.values() for t in (e.get("label", ""), e.get("level", ""), *e.get("missing", []))]
        texts += [t for e in columns.values() for key in ("values", "codes") for pair in e.get(key, {}).items() for t in pair]
        if whole["format"] != FORMAT or not all(isinstance(t, str) for t in texts):
            raise ValueError
    return columns


def new_codes(place: Path) -> dict[str, Mapping[str, str]]:
    """By column, the codes that are new in the file of a release, with the groups that they stand for."""
    return {column: codes for column, entry in read(place).items() if (codes := entry.get("codes"))}


def check(place: Path, file: str, names: Sequence[str]) -> str:
    """The codebook names published columns only, and of them values that the data contain."""
    columns, data = read(place), place / file
    if not set(columns) <= set(names):
        raise TamperError(f"'{NAME}' describes a column that is not published.")
    for name, entry in columns.items():
        codes = [code.removeprefix(".") for code, text in entry.get("codes", {}).items() if text != SUPPRESSED]
        listed = {*map(_key, [*entry.get("values", {}), *entry.get("missing", []), *codes])}
        if listed and not listed <= set(map(_key, _values(data, names, name))):
            raise TamperError(f"'{NAME}' lists values of '{name}' that are not published.")
    return f"{len(columns):,} columns are described by published values only"
