"""Hierarchies that a person wrote down: rows of a file, groups, or a tree."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.compute as pc

from shoal.disk.atomic import atomic
from shoal.errors import HierarchyError, UnreadableError, refuse
from shoal.hierarchies.rule import TOP, Rule, compact, register_rule
from shoal.hierarchies.values import CodedRows, Row, check_gap_choice, covered, first_line, texts_of
from shoal.kernels.arrow import from_texts, positions
from shoal.kernels.text import canonical_text
from shoal.model.hierarchy import Hierarchy, Level
from shoal.model.plan import SUPPRESSED, OnGap
from shoal.steps import Labelled, MapValues

Rows = Sequence[Row]


@dataclass(frozen=True)
class Listed(Rule):
    """One row per value: ``(value, group at level 1, group at level 2, …)``.

    The listed values are the public domain of the column: they stand in plans. Values of the data that are not listed
    follow ``on_gap``: stop with a :class:`~shoal.errors.HierarchyGapError`, be suppressed (``*``), or join the top.
    """

    rows: Rows = ()
    on_gap: OnGap = "error"

    def __post_init__(self) -> None:
        check_gap_choice(self.on_gap)
        if not self.rows:
            raise HierarchyError("the hierarchy has no rows.", hint="Give one row per value.")
        if not isinstance(self.rows, CodedRows):
            _check_lengths(self.rows)
        self._coded.check()

    @cached_property
    def _coded(self) -> CodedRows:
        return self.rows if isinstance(self.rows, CodedRows) else CodedRows.of(self.rows)

    @property
    def _leaves(self) -> tuple[str, ...]:
        return self._coded.columns[0].labels

    @property
    def _own_top(self) -> bool:
        return len(self._coded.columns) > 1 and self._coded.columns[-1].n_labels == 1

    @property
    def inner(self) -> int:
        return len(self._coded.columns) - 1 - int(self._own_top)

    @property
    def top_label(self) -> str:
        return self._coded.columns[-1].labels[0] if self._own_top else TOP

    def over(self, column: str, values: Any, counts: Any = None) -> Hierarchy:
        """As :meth:`Rule.over`, from the codes of the rows: each value is looked up once, not once per level."""
        texts = texts_of(column, values)
        typed = canonical_text(values) if hasattr(values, "null_count") else from_texts(texts)
        at = positions(pc.index_in(typed, value_set=self._coded.columns[0].array)).astype(np.int64)
        if len(texts) and at.min() < 0:
            covered(column, texts, counts, set(self._leaves).__contains__, self.on_gap)
        seen = np.zeros(len(self._leaves), np.bool_)
        seen[at[at >= 0]] = True
        rest = np.flatnonzero(~seen)
        leaves = (*texts, *(self._leaves[i] for i in rest.tolist()))
        at, gap = np.concatenate([at, rest]), self.top_label if self.on_gap == "top" else SUPPRESSED
        levels = [Level(np.arange(len(leaves), dtype=np.int32), leaves)]
        for number in range(1, self.inner + 1):
            codes, labels = self._coded.level(number)
            levels.append(compact(Labelled(np.where(at < 0, len(labels), codes[at]), (*labels, gap))))
        levels.append(Level(np.zeros(len(leaves), np.int32), (self.top_label,)))
        return Hierarchy(column, leaves, tuple(levels))

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> MapValues:
        targets, labels = self._coded.level(level)
        return MapValues(column, self._leaves, tuple(targets.tolist()), labels, self.on_gap, self.top_label, missing_label)


@register_rule
@dataclass(frozen=True)
class FromTree(Listed):
    """A hierarchy from groups or a tree.

    >>> tree = FromTree.of({"Europe": {"West": ["NL", "BE"], "North": ["SE"]}, "Asia": ["JP"]})
    >>> tree.over("country", ["NL", "JP"]).levels[1].labels, tree.height
    (('West', 'North', 'Asia'), 3)
    """

    roots: int = field(default=1, kw_only=True, compare=False)  # of a file; a tree in a policy has the root it hangs from
    kind: ClassVar[str] = "tree"

    def check_one_root(self, column: str) -> None:
        several_roots(column, self.roots)

    @classmethod
    def of(cls, tree: Mapping[str, Any] | Sequence[Any], *, on_gap: OnGap = "error", why: str = "") -> FromTree:
        """From nested mappings whose last parts are lists of values."""
        paths = list(_paths(tree, ()))
        return cls(_bottom_aligned(paths), on_gap, why=why)

    @classmethod
    def from_edges(cls, parents: Mapping[str, str], *, on_gap: OnGap = "error") -> FromTree:
        """From each node's parent; values are the nodes that are nobody's parent."""
        try:
            tuple(TopologicalSorter({child: [parent] for child, parent in parents.items()}).static_order())
        except CycleError:
            hint = "Remove the line that closes the circle."
            raise HierarchyError("the tree is cyclic: some groups lie, over others, in themselves.", hint=hint) from None
        inner = set(parents.values())
        paths = []
        for leaf in (node for node in parents if node not in inner):
            path = [leaf]
            while path[-1] in parents:
                path.append(parents[path[-1]])
            paths.append(tuple(reversed(path)))
        roots = {path[0] for path in paths}
        if len(roots) == 1 and len(paths) > 1:  # a single root is the top
            paths = [path[1:] if len(path) > 1 else path for path in paths]
        return cls(_bottom_aligned(paths), on_gap, roots=len(roots))

    @classmethod
    def from_file(cls, file: str | Path, *, on_gap: OnGap = "error") -> FromTree:
        """From a CSV of ``child,parent`` lines (a first line ``child,parent`` or ``value,group`` is a heading)."""
        parents: dict[str, str] = {}
        repeated = 0
        rows = read_rows(Path(file))
        for number, row in enumerate(rows):
            if len(row) != 2:
                what = f"line {number + 1} of '{Path(file).name}' has {len(row)} fields instead of child and parent."
                raise UnreadableError(what)
            if number == 0 and (row[0].lower(), row[1].lower()) in (("child", "parent"), ("value", "group")):
                continue
            repeated += row[0] in parents
            parents[row[0]] = row[1]
        if repeated:
            lines, list_ = ("line", "lists") if repeated == 1 else ("lines", "list")
            what = f"{repeated:,} {lines} of '{Path(file).name}' {list_} a value that another line lists already."
            raise HierarchyError(what, hint="Keep one line, and so one parent, per value.")
        first, others = rows[0], {name for row in rows[1:] for name in row}
        if first[0] in parents and len(rows) > 2 and not others & set(first):
            raise header_line(Path(file).name)
        return cls.from_edges(parents, on_gap=on_gap)


def several_roots(column: str, roots: int) -> None:
    """Refuse a tree with more than one root where distances in it are measured."""
    if roots > 1:
        what = f"the hierarchy of '{column}' has {roots} groups in its last level, so that distances in it have no common root."
        hint = "Add a last level with one group ('*') to every line. Delete the first line if it is a header."
        raise HierarchyError(what, hint=hint)


def header_line(name: str) -> HierarchyError:
    hint = "Delete it: a hierarchy file has no header. If it is a value, move it below the first line."
    return HierarchyError(f"the first line of '{name}' looks like a header: its groups stand on no other line.", hint=hint)


HEADINGS = ("value", "values", "leaf", "level 0", "level0", "level_0", "level-0", "original")


def looks_like_header(rows: CodedRows, column: str) -> bool:
    """Whether the groups of the first line stand on no other line, and it alone has another root, or is named like a heading.

    >>> flu = [("flu", "lung", "*"), ("cold", "lung", "*"), ("hiv", "blood", "*")]
    >>> looks_like_header(CodedRows.of([("disease", "group", "all"), *flu]), ""), looks_like_header(CodedRows.of(flu), "flu")
    (True, False)
    """
    above = rows.columns[1:]
    if len(rows) < 3 or not above or any((c.codes[1:] == c.codes[0]).any() for c in above):
        return False
    word = rows[0][0].strip().casefold()
    return above[-1].n_labels == 2 or word in HEADINGS or word == column.strip().casefold()


def read_rows(file: Path) -> list[list[str]]:
    """Rows of a small CSV with ``;``, ``,`` or tab, in UTF-8."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableError(f"'{file.name}' is not UTF-8 text.", hint="Save it as CSV in UTF-8.") from None
    except OSError:
        hint = "Check the path; it is taken from the policy's folder."
        raise UnreadableError(f"the file '{file.name}' cannot be read.", hint=hint) from None
    return parse_rows(text, sniff(text), file.name)


def sniff(text: str) -> str:
    """The delimiter of the first line: ``;`` (ARX), tab or ``,``."""
    first = first_line(text)
    return next((d for d in (";", "\t", ",") if d in first), ";")


def parse_rows(text: str, delimiter: str, name: str) -> list[list[str]]:
    with refuse(UnreadableError(f"'{name}' is not a well-formed CSV.", hint="Quote fields that hold the delimiter."), csv.Error):
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
    if not rows:
        raise HierarchyError(f"'{name}' has no rows.", hint="Give one line per value: value;level 1;level 2;…")
    return rows


def _paths(tree: Any, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if len(above) > 50:
        raise HierarchyError("the tree is deeper than 50 levels.", hint="Is it cyclic?")
    if isinstance(tree, Mapping):
        for label, below in tree.items():
            yield from _paths(below, (*above, str(label)))
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for item in tree:
            yield from _paths(item, above)
    elif tree is None:
        yield above
    else:
        yield (*above, _text(tree))


def _text(value: Any) -> str:
    """Canonical text of a value as YAML or Python give it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _bottom_aligned(paths: Sequence[tuple[str, ...]]) -> Rows:
    """Rows of equal length: a value with fewer groups above it repeats its highest one."""
    depth = max((len(p) for p in paths), default=0)
    rows = []
    for path in paths:
        up = list(reversed(path))
        rows.append(tuple(up + [up[-1]] * (depth - len(up))))
    return tuple(rows)


def _check_lengths(rows: Rows) -> None:
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            hint = "Give every value the same number of levels."
            raise HierarchyError(f"line {number} of the hierarchy has {len(row)} fields, the first has {width}.", hint=hint)


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
        return self.verbatim if self.verbatim is not None else _render(self.rows, self.delimiter, self.newline, self.last_newline)


def read_arx(path: str | Path, column: str = "", *, on_gap: OnGap = "error") -> FromFile:
    """The rule in an ARX hierarchy file (``;``; also ``,`` and tab): UTF-8, one line per value, level 0 first, no heading.

    ``column`` is a name for messages, that of the file where empty. ``on_gap`` says what becomes of values that the file does not
    list; a line of stars alone (``*;*;*``) in the file says "suppress". A :class:`~shoal.errors.HierarchyError` refuses lines of
    different length, a value with two lines, groups that are not nested, and a first line that looks like a header.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "zip.csv")
    >>> _ = file.write_text("1234;12**;*\\n1299;12**;*\\n")
    >>> read_arx(file, "zip").over("zip", ["1234"]).levels[1].labels
    ('12**',)
    """
    file = Path(path)
    with refuse(UnreadableError(f"the hierarchy file '{file.name}' cannot be read.", hint="Check the path."), OSError):
        raw = file.read_bytes()
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
    stars = delimiter.join([TOP] * (first_line(text).count(delimiter) + 1))
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
        rows = CodedRows.from_text(lines, delimiter)
    except ValueError:  # lines of different length: the message needs the number of the line
        return None
    return rows if len(rows) == ends + 1 else None


def _render(rows: Rows, delimiter: str, newline: str, last_newline: bool) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=newline, quoting=csv.QUOTE_MINIMAL).writerows(rows)
    text = out.getvalue()
    return text if last_newline else text[: -len(newline)]
