"""Canonical text: one spelling per value, the same on every engine.

Value maps, hierarchies and published labels compare values by this text, so that ``7`` counted in a file and ``7`` counted
in a database are the same key. It is text as it is; whole numbers and booleans as ``7`` and ``true``; decimals with
the digits of their type; floats as Python prints them (``1.0``, ``0.1``); dates as ``2024-02-29``; timestamps as
``2024-02-29 13:05:00`` with six more digits only where there is a fraction of a second, zoned ones in UTC; bytes in
lower-case hexadecimal; durations as their seconds; lists and structures as JSON.
−0.0 is 0.0. NaN is missing.
"""

from __future__ import annotations

import json
import re
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from shoal.errors import UnreadableError, refuse
from shoal.kernels.arrow import ArrowValues, as_doubles, from_texts, seconds, to_numpy, without_nan

if TYPE_CHECKING:
    import pyarrow as pa


def canonical_text(values: ArrowValues) -> ArrowValues:
    """The canonical text of each value of a pyarrow array; missing stays missing.

    Parameters
    ----------
    values : pyarrow.Array or pyarrow.ChunkedArray
        Of any kind that a column may have.

    Returns
    -------
    pyarrow.Array of string
        As long as ``values``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> canonical_text(pa.array([1.0, -0.0, 0.1, float("nan"), None])).to_pylist()
    ['1.0', '0.0', '0.1', None, None]
    >>> import datetime as dt
    >>> canonical_text(pa.array([dt.datetime(2024, 2, 29, 13, 5), dt.datetime(2024, 2, 29, 13, 5, 0, 5)])).to_pylist()
    ['2024-02-29 13:05:00', '2024-02-29 13:05:00.000005']
    """
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    kind = values.type
    if pa.types.is_dictionary(kind):
        return canonical_text(values.dictionary).take(values.indices)
    if pa.types.is_string(kind):
        return values
    if pa.types.is_floating(kind):
        return _float_text(values)
    if pa.types.is_decimal(kind) and kind.scale > 6:
        return _decimal_text(values)
    if pa.types.is_timestamp(kind):
        return _timestamp_text(values)
    if pa.types.is_time(kind):
        return _trim_fraction(values.cast(pa.time64("us"), safe=False).cast(pa.string()))
    if pa.types.is_date64(kind):
        return values.cast(pa.date32()).cast(pa.string())
    if _is_binary(kind):
        return from_texts([None if v is None else v.hex() for v in values.to_pylist()])
    if pa.types.is_nested(kind):
        return _nested_text(values)
    if pa.types.is_duration(kind):
        return _float_text(seconds(values))
    return values.cast(pa.string())


def same_cells(before: ArrowValues, after: ArrowValues) -> ArrowValues:
    """For each cell whether it is unchanged: as numbers where both columns hold numbers, else as canonical text.

    >>> import pyarrow as pa
    >>> same_cells(pa.array([5, 7, None]), pa.array([5.0, 7.5, None])).to_pylist()
    [True, False, True]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(before.type) and before.type == after.type:
        old, new = before, after
    elif _is_number(before.type) and _is_number(after.type):
        old, new = (without_nan(as_doubles(x)) for x in (before, after))
    else:
        old, new = canonical_text(before), canonical_text(after)
    return pc.or_(pc.fill_null(pc.equal(old, new), False), pc.and_(old.is_null(), new.is_null()))


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _nested_text(values: ArrowValues) -> ArrowValues:
    """Lists, structures and maps as JSON without blanks."""
    import pyarrow as pa

    spelled = [
        None if v is None else json.dumps(v, ensure_ascii=False, separators=(",", ":"), default=str) for v in values.to_pylist()
    ]
    return pa.array(spelled, pa.string())


def _is_binary(kind: pa.DataType) -> bool:
    import pyarrow as pa

    test = pa.types
    return bool(
        test.is_binary(kind) or test.is_large_binary(kind) or test.is_fixed_size_binary(kind) or test.is_binary_view(kind)
    )


def _float_text(values: ArrowValues) -> ArrowValues:
    """Python's shortest spelling that reads back as the same number; each distinct number is spelled once."""
    import pyarrow as pa

    encoded = values.cast(pa.float64()).dictionary_encode()
    return from_texts(_spell(encoded.dictionary)).take(encoded.indices)


def _spell(doubles: ArrowValues) -> list[str | None]:
    if doubles.null_count == 0 and not np.isnan(held := to_numpy(doubles) + 0.0).any():
        return list(map(repr, held.tolist()))
    return [None if x is None or x != x else repr(x + 0.0) for x in doubles.to_pylist()]


def distinct_texts(values: ArrowValues) -> list[str]:
    """The canonical texts of a pyarrow array of distinct values, none of them missing, as a list.

    >>> import pyarrow as pa
    >>> distinct_texts(pa.array([1.0, 0.1])), distinct_texts(pa.array([7, 8]))
    (['1.0', '0.1'], ['7', '8'])
    """
    import pyarrow as pa

    if pa.types.is_integer(values.type):
        return list(map(str, to_numpy(values).tolist()))
    texts: list[Any] = _spell(values) if pa.types.is_float64(values.type) else canonical_text(values).to_pylist()
    return texts


def _decimal_text(values: ArrowValues) -> ArrowValues:
    """Plain digits: Arrow writes small numbers of many decimal places as 1E-7, databases do not.

    >>> import decimal, pyarrow as pa
    >>> _decimal_text(pa.array([decimal.Decimal("0.0000001"), None], pa.decimal128(9, 7))).to_pylist()
    ['0.0000001', None]
    """

    encoded = values.dictionary_encode()
    spelled = [None if x is None else format(x, "f") for x in encoded.dictionary.to_pylist()]
    return from_texts(spelled).take(encoded.indices)


def _timestamp_text(values: ArrowValues) -> ArrowValues:
    import pyarrow as pa

    if values.type.tz is not None:
        values = values.cast(pa.timestamp(values.type.unit, tz="UTC"))
        values = values.view(pa.int64()).view(pa.timestamp(values.type.unit))
    micro = values.cast(pa.timestamp("us"), safe=False)
    return _trim_fraction(micro.cast(pa.string()))


def _trim_fraction(text: ArrowValues) -> ArrowValues:
    """Drop a fraction of a second that is zero."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(text, pattern=r"\.000000$", replacement="")


@cache
def word_lists(file: Path) -> dict[str, tuple[str, ...]]:
    """The words of a data file by section: ``[section]`` above lines of words; lines that begin with ``# `` are comments."""
    out: dict[str, tuple[str, ...]] = {}
    section = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif not line.startswith("# "):
            out[section] = (*out.get(section, ()), *line.split())
    return out


def xml_tree(raw: bytes, what: str, hint: str) -> ElementTree.Element:
    """XML without a document type: one can be made to unfold without end. ``what`` and ``hint`` are for the error."""
    if b"<!DOCTYPE" in raw or b"<!ENTITY" in raw or b"\x00" in raw[:200]:
        raise UnreadableError(f"the XML of {what} declares types of its own.", hint=hint)
    with refuse(UnreadableError(f"{what} is not readable XML.", hint=hint), ElementTree.ParseError):
        return ElementTree.fromstring(raw)  # noqa: S314  declared types and entities are refused above


class Pattern:
    """A regular expression, compiled at the first question.

    >>> year = Pattern(r"(19|20)\\d\\d")
    >>> year.fullmatch("1984") is None, year.fullmatch("84") is None, year.match("19840131") is None
    (False, True, False)
    """

    def __init__(self, text: str, flags: int = 0) -> None:
        self.text, self.flags = text, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.text, self.flags)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """The whole text, or None."""
        return self._compiled.fullmatch(text)

    def match(self, text: str) -> re.Match[str] | None:
        """The beginning of the text, or None."""
        return self._compiled.match(text)

    def search(self, text: str) -> re.Match[str] | None:
        """The first place inside the text, or None."""
        return self._compiled.search(text)

    def findall(self, text: str) -> list[Any]:
        """All places inside the text."""
        return self._compiled.findall(text)

    def sub(self, by: str, text: str) -> str:
        """The text with ``by`` in every such place."""
        return self._compiled.sub(by, text)
