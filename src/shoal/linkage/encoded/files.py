"""A file of encodings: what one holder gives to whoever compares. It holds settings, the holder's ids and filters, no values.

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
from shoal.linkage.encoded.filters import LENGTH, Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = 1
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
            raise DataError(f"'{Path(path).name}' is not a file of encodings.", hint="`shoal encode` writes one.") from None

    def require_like(self, other: Encodings) -> None:
        """Refuse to compare what was encoded otherwise."""
        if self.settings.key_check != other.settings.key_check:
            raise UsageError("the two files were encoded with different keys.", hint="Both holders use the same key file.")
        if self.settings != other.settings:
            raise UsageError(
                "the two files were encoded from different fields or salts.",
                hint=f"One has {', '.join(self.settings.tags)}, the other {', '.join(other.settings.tags)}.",
            )

    def to_json(self) -> dict[str, Any]:
        return {"records": len(self), "left_out": self.left_out, **self.settings.to_json()}


def is_encodings(path: object) -> bool:
    """Whether a path names a file of encodings, by its first bytes."""
    try:
        with Path(str(path)).open("rb") as source:
            return source.read(len(_START)) == _START
    except OSError:
        return False
