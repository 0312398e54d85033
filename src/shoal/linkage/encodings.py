"""A file of encodings that one holder gives to the party that compares. It has settings, ids and filters, no values.

The first line is JSON; each further line is an id and one filter per salt (base64), parted by tabs. Lines stand in the order of
the filters, which is random to everybody without the key: the order of a table may be that of names.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.disk.atomic import atomic
from shoal.errors import DataError, UsageError
from shoal.linkage.filters import LENGTH, Settings
from shoal.linkage.pairs import Pairs, one_to_one

if TYPE_CHECKING:
    from numpy.typing import NDArray


FORMAT = 2
_START = b'{"shoal_encodings"'


@dataclass(frozen=True, eq=False)
class Encodings:
    """Encoded records of one holder: ``filters`` (record, salt, bit) and the id of each; ``left_out`` lacked the salt."""

    settings: Settings
    ids: list[str] = field(repr=False)
    filters: NDArray[np.bool_] = field(repr=False)
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, settings: Settings, ids: Sequence[str], filters: NDArray[np.bool_], there: NDArray[np.bool_]) -> Encodings:
        """Those records that have a filter, in the order of their filters."""
        if len(set(ids)) < len(ids):
            raise DataError("two records have the same id.", hint="Name a column with one value for each record.")
        if any(not one or "\t" in one or not one.isprintable() for one in ids):
            raise DataError("an id is empty or has characters that cannot be printed.", hint="Name another column.")
        packed = np.packbits(filters, axis=2)
        order = sorted(np.flatnonzero(there).tolist(), key=lambda i: (packed[i].tobytes(), ids[i]))
        return cls(settings, [ids[i] for i in order], filters[order], int((~there).sum()))

    def write(self, path: str | Path) -> Path:
        """Write the file."""
        head = {"shoal_encodings": FORMAT, **self.settings.to_json(), "records": len(self), "left_out": self.left_out}
        packed = np.packbits(self.filters, axis=2)
        with atomic(Path(path)) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as out:
            out.write(json.dumps(head, separators=(",", ":")) + "\n")
            for one, rows in zip(self.ids, packed, strict=True):
                out.write("\t".join([one, *(base64.b64encode(row.tobytes()).decode() for row in rows)]) + "\n")
        return Path(path)

    @classmethod
    def read(cls, path: str | Path) -> Encodings:
        """A file of encodings."""
        try:
            head, *lines = Path(path).read_text(encoding="utf-8").split("\n")
            body = json.loads(head)
            if body["shoal_encodings"] != FORMAT or lines.pop() or len(lines) != body["records"]:
                raise ValueError
            settings = Settings.from_json(body)
            rows = [line.split("\t") for line in lines]
            if any(len(row) != 1 + len(settings.salts) for row in rows):
                raise ValueError
            raw = b"".join(base64.b64decode(cell, validate=True) for row in rows for cell in row[1:])
            bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8).reshape(len(rows), len(settings.salts), LENGTH // 8), axis=2)
            ids = [row[0] for row in rows]
            if len(set(ids)) < len(ids):
                raise ValueError
            return cls(settings, ids, bits.astype(bool), int(body["left_out"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            hint = "Encode the table with `shoal encode`."
            raise DataError(f"'{Path(path).name}' is not a file of encodings of this version.", hint=hint) from None

    def require_like(self, other: Encodings) -> None:
        """Refuse to compare what was encoded otherwise."""
        if self.settings.key_check != other.settings.key_check:
            raise UsageError("the two files were encoded with different keys.", hint="Both holders use the same key file.")
        if self.settings != other.settings:
            hint = f"One has {', '.join(self.settings.tags)}, the other {', '.join(other.settings.tags)}."
            raise UsageError("the two files were encoded from different fields or salts.", hint=hint)

    def to_json(self) -> dict[str, Any]:
        return {"records": len(self), "left_out": self.left_out, **self.settings.to_json()}


def is_encodings(path: object) -> bool:
    """Whether a path names a file of encodings, by its first bytes."""
    try:
        with Path(str(path)).open("rb") as source:
            return source.read(len(_START)) == _START
    except OSError:
        return False


MATCH, POSSIBLE = 0.7, 0.55
"""Dice similarities from which two filters are of one person, or may be."""

_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class Encountered(Pairs):
    """The pairs of encoded records that match or may match; ``dice`` is their similarity."""

    size_: int
    split: int | None
    left: NDArray[np.int64] = field(repr=False)
    right: NDArray[np.int64] = field(repr=False)
    dice: NDArray[np.float64] = field(repr=False)
    decision: NDArray[np.str_] = field(repr=False)

    @property
    def size(self) -> int:
        return self.size_

    def to_json(self) -> dict[str, Any]:
        return {"records": self.size, "matches": self.matches, "possible": self.possible}


def compare(
    left: NDArray[np.bool_],
    right: NDArray[np.bool_] | None = None,
    *,
    match: float = MATCH,
    possible: float = POSSIBLE,
    only_once: bool = False,
) -> Encountered:
    """The pairs of two files of filters, or within one; ``only_once`` where nobody is twice in the same file."""
    if not 0 < possible <= match <= 1:
        hint = f"Say {POSSIBLE} and {MATCH}."
        raise UsageError("the limits are similarities up to 1, the possible one not above the other.", hint=hint)
    if only_once and right is None:
        raise UsageError("one to one is for two files.", hint="Name a second one.")
    other = left if right is None else right
    if not len(left) or not len(other) or (right is None and len(left) < 2):
        raise DataError("at least two records are needed.")
    places, likeness = _similar(left, other, possible, within=right is None)
    order = np.lexsort((places[1], places[0]))
    one, two, dice = places[0][order], places[1][order], likeness[order]
    split = None if right is None else len(left)
    two = two if split is None else two + split
    decision = np.where(dice >= float(np.float32(match)), "match", "possible")
    if only_once:
        decision = one_to_one(one, two, dice, decision)
    return Encountered(len(left) + (0 if split is None else len(other)), split, one, two, dice, decision)


def _similar(left: Any, right: Any, least: float, *, within: bool) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Places and similarity of the pairs that reach ``least`` under some salt."""
    ways = left.shape[1]
    sums = [[side[:, way].sum(axis=1, dtype=np.float32) for side in (left, right)] for way in range(ways)]
    theirs = [np.ascontiguousarray(right[:, way].T, dtype=np.float32) for way in range(ways)]
    step = max(1, _CELLS // len(right))
    places, values = [np.empty((2, 0), dtype=np.int64)], [np.empty(0)]
    for start in range(0, len(left), step):
        best = np.zeros((min(step, len(left) - start), len(right)), dtype=np.float32)
        for way in range(ways):
            common = left[start : start + step, way].astype(np.float32) @ theirs[way]
            both = sums[way][0][start : start + step, None] + sums[way][1][None, :]
            np.maximum(best, 2 * common / np.maximum(both, 1), out=best)
        near = best >= np.float32(least)
        if within:
            near &= np.arange(len(right))[None, :] > np.arange(start, start + len(best))[:, None]
        one, two = np.nonzero(near)
        places.append(np.stack([one + start, two]))
        values.append(best[near].astype(np.float64))
    return np.concatenate(places, axis=1), np.concatenate(values)
