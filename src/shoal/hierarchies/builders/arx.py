"""ARX's hierarchy files: ``value;level 1;level 2;…``, no heading, the last level ``*``. Read and written unchanged."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from shoal.disk.atomic import atomic
from shoal.errors import HierarchyError, UnreadableError
from shoal.hierarchies.builders.explicit import Listed, Rows, header_line, looks_like_header, parse_rows, several_roots, sniff
from shoal.hierarchies.rule import TOP, register_rule
from shoal.hierarchies.values import CodedRows
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import OnGap


@register_rule
@dataclass(frozen=True)
class FromFile(Listed):
    """A hierarchy as it stands in a file, with the layout of the file, so that it can be written back byte for byte."""

    name: str = ""
    delimiter: str = ";"
    newline: str = "\n"
    last_newline: bool = True
    bom: bool = False
    verbatim: str | None = None  # the text itself, where the layout alone does not give it back
    kind: ClassVar[str] = "file"

    def check_one_root(self, column: str) -> None:
        several_roots(column, self._coded.columns[-1].n_labels if len(self._coded.columns) > 1 else 1)

    def text(self) -> str:
        """The file's text."""
        return self.verbatim if self.verbatim is not None else _render(self.rows, self.delimiter, self.newline, self.last_newline)


def read_arx(path: str | Path, column: str = "", *, on_gap: OnGap = "error") -> FromFile:
    """The rule in an ARX hierarchy file (``;``; also ``,`` and tab).

    Parameters
    ----------
    path : path
        File in UTF-8, one line per value, level 0 first, no heading.
    column : str
        Name for messages; the file's name where empty.
    on_gap : str
        What becomes of values that the file does not list. A line of stars alone (``*;*;*``) in the file says "suppress".

    Raises
    ------
    HierarchyError
        Lines of different length, a value with two lines, groups that are not nested, or a first line that looks like a header.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "zip.csv")
    >>> _ = file.write_text("1234;12**;*\\n1299;12**;*\\n")
    >>> read_arx(file, "zip").over("zip", ["1234"]).levels[1].labels
    ('12**',)
    """
    file = Path(path)
    try:
        raw = file.read_bytes()
    except OSError:
        raise UnreadableError(f"the hierarchy file '{file.name}' cannot be read.", hint="Check the path.") from None
    bom = raw.startswith(b"\xef\xbb\xbf")
    try:
        text = raw[3 if bom else 0 :].decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableError(f"the hierarchy file '{file.name}' is not UTF-8 text.", hint="Save it as CSV in UTF-8.") from None
    delimiter = sniff(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    last = text.endswith("\n")
    rows, verbatim = _plain_rows(text, delimiter, newline), None
    if rows is None:
        rows = tuple(tuple(row) for row in parse_rows(text, delimiter, file.name))
        verbatim = None if _render(rows, delimiter, newline, last) == text else text
    stars = delimiter.join([TOP] * (text.partition("\n")[0].count(delimiter) + 1))
    if on_gap == "error" and stars in text and re.search(rf"^{re.escape(stars)}\r?$", text, re.MULTILINE):
        on_gap = "suppress"  # a line of stars stands for the values that are not listed
    try:
        made = FromFile(rows, on_gap, column or file.name, delimiter, newline, last, bom, verbatim)
    except HierarchyError as found:
        raise HierarchyError(f"hierarchy '{column or file.name}': {found.message}", hint=found.hint, column=column) from None
    if looks_like_header(made._coded, column):
        raise header_line(file.name)
    return made


def write_arx(hierarchy: FromFile | Listed | Hierarchy, path: str | Path) -> None:
    """Write a hierarchy in ARX's layout, whole or not at all. What :func:`read_arx` read comes out byte for byte."""
    file = Path(path)
    if isinstance(hierarchy, FromFile):
        data = (b"\xef\xbb\xbf" if hierarchy.bom else b"") + hierarchy.text().encode("utf-8")
    else:
        rows: Rows = hierarchy.rows if isinstance(hierarchy, Listed) else [tuple(r) for r in hierarchy.to_rows()]
        data = _render(rows, ";", "\n", True).encode("utf-8")
    with atomic(file) as temporary:
        temporary.write_bytes(data)


def _plain_rows(text: str, delimiter: str, newline: str) -> Rows | None:
    """The rows of a text without quotes, empty or ragged lines and other line ends; None where a text is not as plain as that.

    As parsing gives them, in a tenth of the time; written again in the same layout they give the same text.
    """
    lines = text.removesuffix(newline)
    ends = lines.count(newline)
    if '"' in lines or lines.count("\n") != ends or lines.count("\r") != (ends if newline == "\r\n" else 0):
        return None
    if delimiter not in lines or "\x00" in lines:
        return None
    try:
        rows = CodedRows.from_text(lines.encode("utf-8"), delimiter)
    except ValueError:  # lines of different length: the message needs the number of the line
        return None
    return rows if len(rows) == ends + 1 else None


def _render(rows: Rows, delimiter: str, newline: str, last_newline: bool) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=newline, quoting=csv.QUOTE_MINIMAL).writerows(rows)
    text = out.getvalue()
    return text if last_newline else text[: -len(newline)]
