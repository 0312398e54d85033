"""Cells: which published records fit a person, by what their labels cover: sets, ranges, bands, masked codes, levels and ``*``.

Takes    labels of each published class, values of people or labels of another release
Returns  chances and values left for people of a table, or for the classes of two releases
Keeps    a label that cannot be read fits everybody, so that nothing is concluded from it
Source   Ganta, Kasiviswanathan & Smith 2008 (intersection); Dankar & El Emam 2010 (prosecutor)
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.attacks._common import expected_rate
from shoal.hierarchies.published_labels import Values, read_labels
from shoal.model.attack import AttackResult, Verdict
from shoal.model.counts.classes import BoolArray as Bools
from shoal.model.counts.classes import IntArray
from shoal.model.display import one_in
from shoal.model.plan import SUPPRESSED

NOBODY_FITS = "no record of the release fits anybody in the external table"
MISSING = "\x00missing"
"""How a missing cell is written here."""
_PART = re.compile(r"[^{},\s][^{},]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_BAND = re.compile(r"^[<>\[(]|\d-\d|\+$")
_GROUP = re.compile(rf"^\{{|\.\.|\*$|{_BAND.pattern}")
MOST_FITS = 20_000_000
"""Combinations of values times records that are compared at most, if the people are not known."""
MOST_PAIRS = 1_000_000
"""Groups of two releases of linked tables that are compared at most."""


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """Rows of a linked table: the number of the person that each belongs to, and its cells (or known values) as texts."""

    table: str
    person: IntArray
    cells: Mapping[str, Sequence[str]]
    exact: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Shown:
    """A published file: the label of each record in each quasi-identifier, and its sensitive values, all as texts.

    Of linked tables it is the table of people, with the ``rows`` of the others; a person has a set of their sensitive values.
    Labels of ``exact`` columns are values.
    """

    quasi: Mapping[str, Sequence[str]]
    sensitive: Mapping[str, Sequence[str] | Sequence[frozenset[str]]]
    rows: tuple[LinkedRows, ...] = ()
    exact: frozenset[str] = frozenset()

    @property
    def records(self) -> int:
        return len(next(iter((*self.quasi.values(), *self.sensitive.values())), ()))


def covered(labels: Sequence[str], values: Sequence[str]) -> Bools:
    """For each value and each label, whether the label covers the value; one that cannot be read covers every value. A number
    with as many digits as a value is a value, perhaps of somebody who is not looked for; beside sets every other text is.

    >>> covered(["20-29", "{31, 45}", "3", "*", "blue", "52"], ["25", "31"]).astype(int).tolist()
    [[1, 0, 0, 1, 1, 0], [0, 1, 1, 1, 1, 0]]
    >>> covered(["20-29", "40-49", "<10", "80+"], ["49"]).astype(int).tolist()
    [[0, 1, 0, 0]]
    >>> covered(["{a, b}", "c"], ["a"]).astype(int).tolist()
    [[1, 0]]
    """
    parts = {p.strip() for label in labels for p in _PART.findall(label) if label[:1] == "{"}
    parts |= {end for label in labels for end in label.split("..") if ".." in label}
    digits = {len(text) for text in (*values, *parts) if _NUMBER.fullmatch(text)}
    alone = {label for label in labels if _NUMBER.fullmatch(label) and len(label) in digits}
    numeric = all(v == MISSING or _NUMBER.fullmatch(v) for v in values)
    if not numeric and any(label[:1] == "{" for label in labels):  # groups are sets, so that other texts are values
        alone |= {text for text in labels if text not in (SUPPRESSED, MISSING) and not _GROUP.search(text)}
    beside = _ends(labels) if numeric else set[str]()
    every = sorted({*values, *parts, *alone, *beside} - {MISSING}, key=_in_order)
    numbers = [_number(text) for text in every]
    known = Values(every, np.array(numbers, dtype=np.float64) if None not in numbers else None, missing=True)
    out = np.zeros((len(values), len(labels)), dtype=np.bool_)
    place = {text: i for i, text in enumerate(every)} | {MISSING: len(every)}
    at = np.array([place[v] for v in values], dtype=np.int64)
    for j, (label, sets) in enumerate(zip(labels, read_labels(known, list(labels)), strict=True)):
        if label == MISSING:
            sets = np.array([len(every)])
        elif sets is None:
            sets = np.array([i for i, text in enumerate(every) if text.startswith(label)], dtype=np.int64)
        out[:, j] = np.isin(at, sets) if len(sets) else True
    return out


def _ends(labels: Sequence[str]) -> set[str]:
    """The ends of bands and the numbers beside them, so that a band without a known value is not taken for one that cannot be
    read."""
    ends = {int(end) for label in labels if _BAND.search(label) for end in re.findall(r"\d+", label)}
    return {str(end + step) for end in ends for step in (-1, 0, 1) if end + step >= 0}


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _in_order(text: str) -> tuple[bool, float, str]:
    number = _number(text)
    return number is None, number or 0.0, text


def fitting(shown: Shown, people: Mapping[str, Sequence[str]], rows: Sequence[LinkedRows] = ()) -> Bools:
    """For each person and each record, whether all labels cover what is known of the person; columns that are not published do
    not count. Each known row needs a row of its own among those that cover equal ones."""
    n = len(next(iter(people.values())))
    out = np.ones((n, shown.records), dtype=np.bool_)
    for column, texts in ((c, texts) for c, texts in people.items() if c in shown.quasi):
        values, own = np.unique(np.array(texts, dtype=object).astype(str), return_inverse=True)
        labels, mine = np.unique(np.array(shown.quasi[column], dtype=object).astype(str), return_inverse=True)
        fits = values[:, None] == labels if column in shown.exact else covered(labels.tolist(), values.tolist())
        out &= fits[own][:, mine]
    for known, there in ((k, r) for k in rows for r in shown.rows if k.table == r.table and len(k.person)):
        fits = fitting(Shown(there.cells, {}, exact=there.exact), known.cells)
        order = np.argsort(there.person, kind="stable")
        persons, starts = np.unique(there.person[order], return_index=True)
        many = np.zeros((len(known.person), shown.records), dtype=np.int64)
        many[:, persons] = np.add.reduceat(fits[:, order].astype(np.int64), starts, axis=1)
        same = list(zip(known.person.tolist(), *known.cells.values(), strict=True))
        times = Counter(same)
        np.logical_and.at(out, known.person, many >= np.array([times[row] for row in same])[:, None])
    return out


def linked_by_cells(
    shown: Shown, people: Mapping[str, Sequence[str]], rows: Sequence[LinkedRows] = (), *, k: int, above: Verdict = "broken"
) -> list[AttackResult]:
    """Somebody knows these values of people who are in the release: how many records fit each, and what do they share?"""
    fits = fitting(shown, people, rows)
    many = fits.sum(axis=1)
    hit = many > 0
    question = "Somebody with the external table knows that a person is in the release: is the record found?"
    if not hit.any():
        return [AttackResult.not_run("linkage: known person", NOBODY_FITS, question)]
    chances = 1.0 / many[hit]
    rate, low, high = expected_rate(chances, np.ones(int(hit.sum())))
    worst = float(chances.max())
    verdict: Verdict = "holds" if worst <= 1 / k + 1e-12 else above
    claim = 1 / k if above == "broken" else None
    sentence = f"On average {one_in(rate)}, at worst {one_in(worst)}; by their cells, records fit {int(hit.sum()):,} people."
    place = f"fewest records that fit a person: {int(many[hit].min())}"
    out = [AttackResult("linkage: known person", question, rate, low, high, claim, place, verdict, sentence)]
    for column, texts in shown.sensitive.items():
        without = fits[hit].astype(np.float32) @ (1 - _member(texts, _every(texts)))
        sure = float((without == 0).any(axis=1).mean())
        name = f"homogeneity: {column}, by cells"
        statement = f"All records that fit a person have one value of '{column}' for {sure:.1%} of {int(hit.sum()):,} people."
        asks = "Somebody knows the quasi-identifiers of a person: is the sensitive value certain?"
        out.append(AttackResult.exact(name, asks, sure, None, "", "warning" if sure else "holds", statement))
    return out


def _every(*columns: Sequence[str] | Sequence[frozenset[str]]) -> list[str]:
    return sorted({text for column in columns for cell in column for text in ((cell,) if isinstance(cell, str) else cell)})


def _member(texts: Sequence[str] | Sequence[frozenset[str]], every: Sequence[str]) -> npt.NDArray[np.float32]:
    """Which of ``every`` value each record has."""
    place = {text: i for i, text in enumerate(every)}
    table = np.zeros((len(texts), len(every)), dtype=np.float32)
    for i, cell in enumerate(texts):
        table[i, [place[text] for text in ((cell,) if isinstance(cell, str) else cell)]] = 1
    return table


def _values(fits: Bools, texts: Sequence[str] | Sequence[frozenset[str]], every: Sequence[str]) -> Bools:
    """Which of ``every`` value the records have that fit each person."""
    return np.asarray(fits.astype(np.float32) @ _member(texts, every) > 0)


def both_releases(
    new: Shown,
    old: Shown,
    column: str,
    people: Mapping[str, Sequence[str]] | None,
    rows: Sequence[LinkedRows] = (),
    *,
    distinct: int,
) -> AttackResult:
    """What two releases leave possible of a sensitive column for people who are in both, by all records that fit them.

    Without ``people``, combinations of values are tried that the cells of two overlapping classes have in common; of linked
    tables, groups of people whose rows overlap. Whether somebody is in both is not known then, so that it is a warning.
    """
    question = "Somebody has both releases and knows that a person is in both: which sensitive values stay possible?"
    name = f"intersection: values of '{column}', by cells"
    least, every = max(distinct, 2), _every(new.sensitive[column], old.sensitive[column])
    real, every_one, empty = people is not None, True, False
    if people is None and new.rows and old.rows:
        who, (left, every_one) = "pairs of groups that overlap", _looks(new, old, column, every)
        empty = not len(left[0])
    else:
        who = "people" if real else "combinations of values that fit both releases"
        shared = Shown({c: new.quasi[c] for c in new.quasi if c in old.quasi}, new.sensitive)
        tried, every_one = (people, True) if people is not None else _in_both(shared, old, column, least)
        empty = tried is None
        left = [_values(fitting(s, tried or {column: ()}, rows), s.sensitive[column], every) for s in (new, old)]
    if empty:
        return AttackResult.not_run(name, "no class of one release overlaps a class of the other", question)
    both = (left[0] & left[1]).sum(axis=1)
    compared = both > 0
    total = int(compared.sum())
    if not total and (real or len(both)):
        return AttackResult.not_run(name, f"none of the {who} fits both releases", question)
    if not total:
        statement = f"No two classes of the releases that overlap have fewer than {least} values of '{column}' in common."
        return AttackResult.exact(name, question, 0.0, None, "", "holds", statement)
    telling = compared & (both < np.minimum(np.minimum(*(x.sum(axis=1) for x in left)), least))
    if not telling.any() and not every_one:
        return AttackResult.not_run(name, f"more {who} exist than can be tried, and none of {total:,} tells anything", question)
    sure = int((telling & (both == 1)).sum())
    rate = int(telling.sum()) / total
    sentence = (
        f"For {int(telling.sum()):,} of {total:,} {who} the two releases together leave fewer than {least} values of '{column}' "
        f"possible, by what their cells cover; for {sure:,} of them only one."
    )
    verdict: Verdict = "holds" if not telling.any() else "broken" if real else "warning"
    return AttackResult.exact(name, question, rate, 0.0 if real else None, f"{sure} with one value left", verdict, sentence)


def _looks(new: Shown, old: Shown, column: str, every: Sequence[str]) -> tuple[list[Bools], bool]:
    """The values of each two groups of people who look alike, by attributes and rows, if one person can be in both: attributes
    overlap, and each row of the group with fewer overlaps one of the other's. And whether these are all."""
    tables = [r.table for r in new.rows if any(o.table == r.table for o in old.rows)]
    sides = [[next(r for r in s.rows if r.table == t) for t in tables] for s in (new, old)]
    overlaps = [_overlap(new, old), *(_overlap(Shown(a.cells, {}), Shown(b.cells, {})) for a, b in zip(*sides, strict=True))]
    groups: list[dict[tuple[tuple[int, ...], ...], list[int]]] = [{}, {}]
    for s, shown in enumerate((new, old)):
        own: list[list[list[int]]] = [[[i] for i in overlaps[0].ids[s].tolist()]]
        for side, classes in zip(sides[s], overlaps[1:], strict=True):
            own.append([[] for _ in range(shown.records)])
            for person, i in zip(side.person.tolist(), classes.ids[s].tolist(), strict=True):
                own[-1][person].append(i)
        for person in range(shown.records):
            groups[s].setdefault(tuple(tuple(sorted(part[person])) for part in own), []).append(person)
    members = [_member(s.sensitive[column], every) for s in (new, old)]
    inside = [np.array([m[g].any(axis=0) for g in side.values()]) for m, side in zip(members, groups, strict=True)]
    pairs = list(itertools.islice(itertools.product(*(list(side) for side in groups)), MOST_PAIRS + 1))
    fit = [all(_placed(p, q, o.overlap) for p, q, o in zip(a, b, overlaps, strict=True)) for a, b in pairs[:MOST_PAIRS]]
    at = np.array([divmod(i, len(groups[1])) for i in np.flatnonzero(fit)], dtype=np.int64).reshape(-1, 2)
    return [np.asarray(inside[s][at[:, s]] > 0) for s in (0, 1)], len(pairs) <= MOST_PAIRS


def _placed(new: Sequence[int], old: Sequence[int], overlap: Bools) -> bool:
    """Whether each of the fewer rows can have one of its own among the others that overlap it (augmenting paths)."""
    if len(new) > len(old):
        new, old, overlap = old, new, overlap.T
    taken: dict[int, int] = {}

    def place(i: int, seen: set[int]) -> bool:
        for j in (j for j in range(len(old)) if overlap[new[i], old[j]] and j not in seen):
            seen.add(j)
            if j not in taken or place(taken[j], seen):
                taken[j] = i
                return True
        return False

    return all(place(i, set()) for i in range(len(new)))


@dataclass(frozen=True, eq=False)
class _Overlap:
    """Classes of two releases over the columns of the first: values that tell cells apart (``leaves``), which of them each
    class covers (``cells``), the class of each record (``ids``), one record of each (``first``), and which classes overlap."""

    leaves: Mapping[str, list[str]]
    cells: Mapping[str, list[Bools]]
    ids: tuple[IntArray, IntArray]
    first: tuple[IntArray, IntArray]
    overlap: Bools


def _overlap(new: Shown, old: Shown) -> _Overlap:
    shared = [c for c in new.quasi if c in old.quasi]
    sides = [_classes(Shown({c: shown.quasi[c] for c in shared}, {}), shown.records) for shown in (new, old)]
    leaves, cells, overlap = {}, {}, np.ones((len(sides[0][1]), len(sides[1][1])), dtype=np.bool_)
    for c in shared:
        texts = [np.array(s.quasi[c], dtype=object).astype(str)[side[1]] for s, side in zip((new, old), sides, strict=True)]
        leaves[c] = _leaves([*texts[0], *texts[1]])
        cells[c] = [_loosely(t.tolist(), leaves[c]) for t in texts]
        overlap &= cells[c][0].T.astype(np.float32) @ cells[c][1].astype(np.float32) > 0
    return _Overlap(leaves, cells, (sides[0][0], sides[1][0]), (sides[0][1], sides[1][1]), overlap)


def _in_both(new: Shown, old: Shown, column: str, least: int) -> tuple[dict[str, list[str]] | None, bool]:
    """Combinations of values that the cells of a class of each release have in common, if the two classes share fewer than
    ``least`` sensitive values, and whether these are all; None if no two classes overlap."""
    if not new.quasi:
        return None, True
    found_classes = _overlap(new, old)
    leaves, cells, overlap = found_classes.leaves, found_classes.cells, found_classes.overlap
    every = _every(new.sensitive[column], old.sensitive[column])
    inside = []
    for shown, ids, first in zip((new, old), found_classes.ids, found_classes.first, strict=True):
        inside.append(_values(np.arange(len(first))[:, None] == ids[None, :], shown.sensitive[column], every))
    if not overlap.any():
        return None, True
    shared = inside[0].astype(np.float32) @ inside[1].T.astype(np.float32)
    wanted = overlap & (shared < least) & (shared > 0)
    most = MOST_FITS // max(new.records, old.records, 1)
    shape = [len(leaves[c]) for c in new.quasi]
    grid = np.indices(shape).reshape(len(leaves), -1) if math.prod(shape) <= most else None
    if grid is not None:
        fits = [np.logical_and.reduce([cells[c][s][i] for c, i in zip(new.quasi, grid, strict=True)]) for s in (0, 1)]
        good = ((fits[0].astype(np.float32) @ wanted.astype(np.float32) > 0) & fits[1]).any(axis=1)
        return {c: [leaves[c][i] for i in at] for c, at in zip(new.quasi, grid[:, good].tolist(), strict=True)}, True
    both: set[tuple[str, ...]] = set()
    pairs = np.argwhere(wanted).tolist()
    for a, b in pairs[:most]:
        common = [[leaves[c][i] for i in np.flatnonzero(cells[c][0][:, a] & cells[c][1][:, b])] for c in new.quasi]
        both.update(itertools.islice(itertools.product(*common), max(most // len(pairs), 1)))
    columns = zip(*sorted(both), strict=True) if both else [()] * len(new.quasi)
    return {c: list(values) for c, values in zip(new.quasi, columns, strict=True)}, not both


def _classes(shown: Shown, n: int) -> tuple[IntArray, IntArray]:
    """The class of each of n records, and one record of each class."""
    rows = np.array(list(zip(*shown.quasi.values(), strict=True)), dtype=object).astype(str).reshape(n, len(shown.quasi))
    _, first, ids = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return ids.ravel(), first


def _loosely(labels: Sequence[str], values: Sequence[str]) -> Bools:
    """:func:`covered`; a code that is cut off covers every longer one."""
    short = [label.rstrip("*") for label in labels]
    longer = np.array([[bool(s) and v.startswith(s) for s in short] for v in values], dtype=np.bool_)
    return covered(labels, values) | longer.reshape(len(values), len(labels))


def _leaves(labels: Sequence[str]) -> list[str]:
    """Values that tell labels apart: members of sets, ends of ranges and bands, and labels that are neither."""
    out = {MISSING}
    for label in {*labels}:
        if label[:1] == "{":
            out.update(p.strip() for p in _PART.findall(label))
        elif ".." in label:
            out.update(label.split(".."))
        else:
            out.update(re.findall(r"\d+(?:\.\d+)?", label) if _BAND.search(label) else {label} - {SUPPRESSED})
    whole = sorted(int(v) for v in out if v.isdigit())
    out.update(str((a + b) // 2) for a, b in itertools.pairwise(whole) if b > a + 1)  # inside two ranges, at the end of neither
    return sorted(out, key=_in_order)
