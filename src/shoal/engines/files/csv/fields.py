"""Columns of a CSV file as SQL: every field is read as text, and a value that is more is checked against its text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shoal.engines.duckdb.sql import literal


@dataclass(frozen=True)
class Field:
    """One column of a CSV file: its place, name, SQL type and, for dates, the form of its text."""

    position: int
    name: str
    sql_type: str = "VARCHAR"
    exact: bool = False
    comma: bool = False
    form: str | None = None
    shortest: bool = False
    padded: bool = False
    """Blanks around a number are no part of it."""

    @property
    def raw(self) -> str:
        return f"f{self.position}"

    @property
    def typed(self) -> str:
        return f"t{self.position}"

    @property
    def _text(self) -> str:
        bare = f"trim({self.raw}, ' ')" if self.padded else self.raw
        return f"replace({bare}, ',', '.')" if self.comma else bare

    def conversion(self) -> str:
        """The value in its type, missing where it does not fit; taken once per value, as :attr:`typed`."""
        if self.form is not None:
            return f"CAST(try_strptime({self._text}, {literal(self.form)}) AS {self.sql_type})"
        return f"TRY_CAST({self._text} AS {self.sql_type})"

    def expression(self) -> str:
        """The typed value; a value that does not fit stops the query, naming the column's position only."""
        if self.sql_type == "VARCHAR":
            return self.raw
        text, typed = self._text, self.typed
        fits = f"CAST({typed} AS VARCHAR) = {text}" if self.exact else f"{typed} IS NOT NULL"
        if self.sql_type == "DOUBLE":  # 1e400 is no infinity, 1e-400 no zero
            fits += f" AND (NOT isinf({typed}) OR {text} ILIKE '%inf%')"
            fits += f" AND CASE WHEN {typed} = 0 THEN NOT regexp_matches({text}, '[1-9].*[eE]') ELSE true END"
        if self.shortest:  # two texts must not become one number; digits are looked at last, as that takes longest
            again = f"CAST({typed} AS VARCHAR)"
            own, found = _digits(text), _digits(again)
            few = f"length({own}) <= 15 OR rtrim({own}, '0') = rtrim({found}, '0')"
            fits += f" AND CASE WHEN strlen({text}) <= 15 THEN true WHEN {again} = {text} THEN true ELSE {few} END"
        return f"CASE WHEN {self.raw} IS NULL OR ({fits}) THEN {typed} ELSE error('shoal:type:{self.position}') END"


def _digits(text: str) -> str:
    return f"ltrim(regexp_replace({text}, '[eE].*|[^0-9]', '', 'g'), '0')"


def converted(reading: str, fields: Iterable[Field]) -> str:
    """The source with each text that is more than text beside its value."""
    more = [f", {f.conversion()} AS {f.typed}" for f in fields if f.sql_type != "VARCHAR"]
    return f"(SELECT *{''.join(more)} FROM {reading})" if more else reading  # noqa: S608
