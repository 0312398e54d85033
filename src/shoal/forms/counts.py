"""Counts from CSV files: people per answer, or a column of a table to be counted. Values of such a file are never shown."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import PolicyError, UnreadableError


def read_counts(folder: Path | None, reference: str) -> list[float]:
    """Counts from ``file.csv:column`` (header row), or ``file.csv`` when it has one column or a column 'count'."""
    name, column = _split(folder, reference)
    with opened(folder, name) as source:
        rows = list(csv.reader(source))
    if not rows:
        raise UnreadableError(f"'{name}' is empty.")
    first = rows[0]
    if column:
        index = _column(first, column, name)
    elif len(first) == 1:
        index = 0
        if _number(first[0]) is not None:
            rows.insert(0, ["count"])
    else:
        index = _column(first, "count", name)
    counts = [_number(row[index]) if index < len(row) else None for row in rows[1:] if row]
    bad = sum(c is None for c in counts)
    if bad:
        raise UnreadableError(f"{bad} of {len(counts)} counts in '{name}' are not numbers.", hint="Leave them out.")
    return [c for c in counts if c is not None]


def count_column(folder: Path | None, reference: str, *, in_order: bool = False) -> list[int]:
    """How often each value of ``file.csv:column`` occurs; by number or text when ``in_order``."""
    name, column = _split(folder, reference)
    with opened(folder, name) as source:
        reader = csv.reader(source)
        index = _column(next(reader, []), column, name)
        seen = Counter(row[index] if index < len(row) else "" for row in reader if row)
    if in_order:
        order = sorted(seen, key=lambda v: (_number(v) is None, _number(v) or 0.0, v))
        return [seen[v] for v in order]
    return sorted(seen.values(), reverse=True)


def are_identifiers(counts: list[float], reference: str) -> bool:
    """Whether a column of ``file.csv:column`` holds identifiers rather than counts.

    Whole numbers under a name like ``grid_id`` (they may repeat: a row per visit); or none twice, and a name like ``nr``, or
    twenty and more large ones of about the same size (counts per place span more).

    >>> are_identifiers([4.0, 7.0, 4.0], "f.csv:grid_id"), are_identifiers([4.0, 7.0, 9.0], "f.csv:visits")
    (True, False)
    """
    if len(counts) < 3 or any(c != int(c) for c in counts):
        return False
    column = _split(None, reference)[1]
    if re.search(r"(?i)(^|[_ .-])(id|ids|key|code|uuid)$", column):
        return True
    if len(set(counts)) < len(counts):
        return False
    numbered = re.search(r"(?i)(^|[_ .-])(nr|no|number)$", column) is not None
    return numbered or (len(counts) >= 20 and min(counts) >= 10_000 and max(counts) <= 10 * min(counts))


def _split(folder: Path | None, reference: str) -> tuple[str, str]:
    """File and column of ``file.csv:column``; a file whose own name holds a colon wins."""
    if ((folder or Path()) / reference).is_file():
        return reference, ""
    name, _, column = reference.rpartition(":")
    return (name, column) if name else (reference, "")


def opened(folder: Path | None, name: str) -> Any:
    """A text file; with a ``folder`` (a questionnaire's) only one beside or below it: who wrote it may be a stranger."""
    file = (folder or Path()) / name
    if folder is not None and not file.resolve().is_relative_to(folder.resolve()):
        hint = "Put the file beside the questionnaire, or below it."
        raise PolicyError("the questionnaire names a file outside its own folder.", hint=hint)
    try:
        return file.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        hint = "Check the path; in a questionnaire it is relative to it."
        raise UnreadableError(f"'{name}' cannot be read.", hint=hint) from error


def _column(heads: list[str], column: str, name: str) -> int:
    """Where a column stands. Its neighbours are not named: a file without a heading begins with a person."""
    clean = [h.strip() for h in heads]
    if column not in clean:
        hint = "The first row must hold the names of the columns."
        raise UnreadableError(f"column '{column}' is not among the {len(clean)} of '{name}'.", hint=hint)
    return clean.index(column)


def _number(text: str) -> float | None:
    try:
        x = float(text)
    except ValueError:
        return None
    return x if np.isfinite(x) else None
