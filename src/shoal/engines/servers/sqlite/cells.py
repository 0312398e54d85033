"""SQLite keeps a type for every cell, not for a column: how a column is read follows from what its cells hold.

* whole numbers stay whole numbers; with fractions among them all are doubles, as SQLite keeps them;
* columns declared as truth values, dates or moments are read as such where every cell is one; otherwise as what they hold;
* texts, and texts beside numbers, are text (a number as SQLite spells it); bytes are bytes, among others their hex digits.

Inside statements a date is its ten signs, a moment the 26 signs of ``2024-02-29 10:00:00.500000``: as text they sort as in time.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlglot import exp, parse_one

from shoal.engines.servers.tables import Reading
from shoal.errors import DataError, UsageError, missing_column
from shoal.model.roles import Column
from shoal.steps.sql import column

EXACT = 2**53
"""Whole numbers beyond it are not all different as doubles."""
KINDS = ("text", "integer", "float", "boolean", "date", "timestamp", "binary")
_AT_ONCE = 100
"""Columns that one statement looks at: an answer has at most 2,000 columns."""
_TEXT = "CASE TYPEOF({x}) WHEN 'blob' THEN LOWER(HEX({x})) ELSE CAST({x} AS TEXT) END"
_SECONDS = "SUBSTR(x, 17, 3) || '.' || SUBSTR(SUBSTR(x, 21) || '000000', 1, 6)"
_MOMENT = f"SUBSTR(x, 1, 10) || ' ' || SUBSTR(x, 12, 5) || CASE LENGTH(x) WHEN 16 THEN ':00.000000' ELSE {_SECONDS} END"
_VALUES = {  # of a cell ``x`` of that sort
    "text": "CAST(x AS TEXT)", "mixed": _TEXT.format(x="x"),
    "integer": "CAST(x AS INTEGER)", "float": "CAST(x AS REAL)", "boolean": "CAST(x AS INTEGER)",
    "date": "CAST(x AS TEXT)", "timestamp": _MOMENT, "binary": "CAST(x AS BLOB)",
}  # fmt: skip
_ASKED = _VALUES | {"float": "SHOAL_DOUBLE(x)", "boolean": "CASE WHEN LOWER(x) IN ('1', 'true') THEN 1 WHEN x <> '' THEN 0 END"}
_FORMS = {  # of a text that stands for one of that sort
    "integer": re.compile(r"[+-]?[0-9]{1,19}"),
    "float": re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"),
    "boolean": re.compile(r"[01]|true|false", re.IGNORECASE),
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "timestamp": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"),
}

Ask = Callable[[str], Sequence[Any]]
"""Sends a statement and gives its one row."""


def stands_for(kind: str, text: Any) -> int:
    """Whether a text stands for a number, a truth value, or a day or moment that exists, without a zone.

    >>> [stands_for("date", t) for t in ("2024-02-29", "2023-02-29", "2024-02-29 ")], stands_for("integer", "01")
    ([1, 0, 0], 1)
    """
    if not isinstance(text, str) or _FORMS[kind].fullmatch(text) is None:
        return 0
    if kind == "integer":
        return int(-(2**63) <= int(text) < 2**63)
    try:
        return int(kind not in ("date", "timestamp") or dt.datetime.fromisoformat(text) is not None)
    except ValueError:
        return 0


def readings(ask: Ask, source: str, declared: Mapping[str, str], types: Mapping[str, str], table: str) -> list[Reading]:
    """How each column is read: the types that are declared, asked for (``types``), and found in the cells of ``source``."""
    for name, kind in types.items():
        if name not in declared:
            raise missing_column(name, list(declared), table=table)
        if kind not in KINDS:
            raise UsageError(f"column '{name}' cannot be read as '{kind}'.", hint=f"Kinds: {', '.join(KINDS)}.")
    found: list[Reading] = []
    names = list(declared)
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        looks = {n: _looks(n, declared[n], types.get(n)) for n in some}
        terms = ", ".join(term for terms in looks.values() for term in terms)
        answers = iter(ask(f"SELECT {terms} FROM {source}"))  # noqa: S608  quoted names
        for name, asked in looks.items():
            facts = [next(answers) for _ in asked]
            native = declared[name]
            found.append(_asked(name, native, types[name], facts) if name in types else _found(name, native, facts))
    return found


def _looks(name: str, declared: str, wanted: str | None) -> list[str]:
    """Questions about the cells of one column; flags and types come back, never a value."""
    x = '"' + name.replace('"', '""') + '"'
    if wanted is not None:
        wrong = _some(f"NOT SHOAL_IS('{wanted}', {_TEXT.format(x=x)})", x) if wanted in _FORMS else "0"
        return [wrong, _zero(x)]
    kind = _declared_moment(declared)
    wrong = "0" if kind is None else _some(f"TYPEOF({x}) <> 'text' OR NOT SHOAL_IS('{kind}', {x})", x)
    return [
        f"TYPEOF(MIN({x}))", f"TYPEOF(MAX({x}))", f"MAX(TYPEOF({x}) = 'real')", f"MAX(TYPEOF({x}) = 'integer')",
        f"MIN({x}) < 0 OR MAX({x}) > 1", _some(f"TYPEOF({x}) = 'integer' AND NOT {x} BETWEEN -{EXACT} AND {EXACT}", x), wrong,
        _zero(x),
    ]  # fmt: skip


def _some(condition: str, x: str) -> str:
    return f"MAX({x} IS NOT NULL AND ({condition}))"


def _zero(x: str) -> str:
    return f"MAX(TYPEOF({x}) = 'text' AND INSTR({x}, CHAR(0)) > 0)"


def _found(name: str, declared: str, facts: Sequence[Any]) -> Reading:
    least, most, reals, wholes, beyond_one, beyond_exact, wrong, zero = facts
    _refuse_zero(name, zero)
    if least == "null":
        return _reading(name, _without_values(declared), declared)
    if {least, most} <= {"integer", "real"}:
        if not reals:
            return _reading(name, "boolean" if "BOOL" in declared and not beyond_one else "integer", declared)
        if wholes and beyond_exact:
            raise DataError(
                f"column '{name}' holds whole numbers beyond {EXACT:,} beside fractions; as doubles some would become equal.",
                hint=f"Read it as text: types={{'{name}': 'text'}}.",
                column=name,
            )
        return _reading(name, "float", declared)
    if least == most == "text":
        return _reading(name, (not wrong and _declared_moment(declared)) or "text", declared)
    return _reading(name, "binary" if least == "blob" else "mixed", declared)  # bytes sort last


def _asked(name: str, declared: str, kind: str, facts: Sequence[Any]) -> Reading:
    wrong, zero = facts
    if kind != "binary":
        _refuse_zero(name, zero)
    if wrong:
        raise DataError(
            f"column '{name}' holds values that are no {kind}.",
            hint=f"Mend them in the file, or read it otherwise (types={{'{name}': 'text'}}).",
            column=name,
        )
    spelled = column(name, "r") if kind == "binary" else _of(_VALUES["mixed"], column(name, "r"))
    return Reading(Column(name, kind), _of(_ASKED[kind], spelled), declared)


def _refuse_zero(name: str, found: Any) -> None:
    if found:
        raise DataError(
            f"column '{name}' holds texts with a zero character, of which SQLite's functions see the start only.",
            hint=f"Mend them in the file, or read it as bytes: types={{'{name}': 'binary'}}.",
            column=name,
        )


def _reading(name: str, kind: str, declared: str) -> Reading:
    return Reading(Column(name, "text" if kind == "mixed" else kind), _of(_VALUES[kind], column(name, "r")), declared)


def _of(template: str, value: exp.Expr) -> exp.Expr:
    """A template with ``value`` for ``x``."""
    made = _parsed(template).copy()
    for place in list(made.find_all(exp.Column)):
        place.replace(value.copy())
    return made


@cache
def _parsed(template: str) -> exp.Expr:
    return parse_one(template, dialect="sqlite")


def _declared_moment(declared: str) -> str | None:
    if "DATETIME" in declared or "TIMESTAMP" in declared:
        return "timestamp"
    return "date" if "DATE" in declared and "TIME" not in declared else None


def _without_values(declared: str) -> str:
    """The kind of a column without a single value."""
    words = {"INT": "integer", "REAL": "float", "FLOA": "float", "DOUB": "float", "BOOL": "boolean"}
    return next((kind for word, kind in words.items() if word in declared), _declared_moment(declared) or "text")


def same(left: Iterable[Reading], right: Iterable[Reading]) -> bool:
    """Whether columns are read alike."""
    return [(r.column, r.value) for r in left] == [(r.column, r.value) for r in right]
