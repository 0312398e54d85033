"""Tables that were released together, counted again from their files: plain dictionaries, shared with nothing that made them.

Takes    the published files, with key, quasi-identifiers and sensitive columns of each; the first has one row per person
Returns  Everybody: the attributes and rows of each person; how many people share what, for any knowledge of an attacker
Keeps    a key without its person, or a person with two rows in the first file, is an error
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from shoal.errors import VerificationError
from shoal.release.proof.read import rows

Row = tuple[int, tuple[Any, ...]]
"""Number of the table, and the published quasi-identifiers."""


@dataclass(frozen=True)
class File:
    """One published file."""

    path: Path
    key: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()


@dataclass(frozen=True)
class Everybody:
    """What the files say of each person: the class of her attributes, her rows in the other files, sensitive values by column.

    Classes and rows are numbers that stand for published values.
    """

    own: dict[Any, int] = field(repr=False)
    rows: dict[Any, list[int]] = field(repr=False)
    sensitive: dict[tuple[int, str], dict[Any, set[Any]]] = field(repr=False)
    records: tuple[int, ...] = ()
    _sharing: dict[int | None, dict[Any, int]] = field(default_factory=dict, repr=False)

    @property
    def people(self) -> int:
        return len(self.own)

    def whole(self) -> dict[Any, tuple[int, tuple[int, ...]]]:
        """All that is known of each person: her attributes, and her rows as often as they come."""
        return {p: (own, tuple(sorted(self.rows.get(p, ())))) for p, own in self.own.items()}

    def sharing(self, known: int | None) -> dict[Any, int]:
        """For each person: with how few people, herself included, she shares what is known.

        ``known`` rows at most are known besides her attributes; None: all rows, and how many there are.
        """
        if known not in self._sharing:
            self._sharing[known] = self._alike() if known is None else self._with_choices(known)
        return self._sharing[known]

    def _alike(self) -> dict[Any, int]:
        whole = self.whole()
        sizes = Counter(whole.values())
        return {p: sizes[w] for p, w in whole.items()}

    def _with_choices(self, known: int) -> dict[Any, int]:
        out: dict[Any, int] = {}
        classes: dict[int, list[Any]] = defaultdict(list)
        for person, own in self.own.items():
            classes[own].append(person)
        for members in classes.values():  # one class after the other: choices of rows take much memory
            fits = Counter(choice for p in members for choice in self._choices(p, known))
            for person in members:
                out[person] = min(fits[choice] for choice in self._choices(person, known))
        return out

    def _choices(self, person: Any, most: int) -> Iterator[tuple[int, ...]]:
        """Every choice of at most ``most`` rows of a person, each once; the empty one first."""
        own = sorted(self.rows.get(person, ()))
        for number in range(min(most, len(own)) + 1):
            yield from set(combinations(own, number))


def everybody(files: Sequence[File]) -> Everybody:
    """Read the files."""
    numbers: dict[Row, int] = {}
    own: dict[Any, int] = {}
    people: dict[Any, list[int]] = defaultdict(list)
    sensitive: dict[tuple[int, str], dict[Any, set[Any]]] = {}
    records = []
    for i, file in enumerate(files):
        values = {c: sensitive.setdefault((i, c), defaultdict(set)) for c in file.sensitive}
        n = 0
        for row in rows(file.path, [file.key, *file.quasi, *file.sensitive]):
            person, n = row[0], n + 1
            number = numbers.setdefault((i, row[1 : 1 + len(file.quasi)]), len(numbers))
            _place(i, person, number, own, people)
            for column, value in zip(file.sensitive, row[1 + len(file.quasi) :], strict=True):
                values[column][person].add(value)
        records.append(n)
    return Everybody(own, dict(people), {c: dict(v) for c, v in sensitive.items()}, tuple(records))


def _place(table: int, person: Any, number: int, own: dict[Any, int], rows_of: dict[Any, list[int]]) -> None:
    if person is None:
        raise VerificationError("a published row has no key.")
    if table == 0:
        if person in own:
            raise VerificationError("a person has several rows in the person table.")
        own[person] = number
    elif person not in own:
        raise VerificationError("a published row belongs to nobody of the person table.")
    else:
        rows_of[person].append(number)
