"""The sources' printed numbers beside Shoal's: what each source prints, computed again with the functions that users call.

``sources.json`` has each number as it is printed, where, and which function gives it from which arguments. A number that the
source prints wrongly, or cuts off instead of rounding, has its correction (METHODS, errata): Shoal must then equal that. Equal
is: rounded to the digits that are printed. Table 2 of source 004 is computed with the law that its rows 1 and 2 imply.
"""

from __future__ import annotations

import csv
import json
import statistics
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from shoal import prediction
from shoal.engines.open import open as open_table
from shoal.errors import UnreadableError, UsageError
from shoal.measures.classes import entropy_risk
from shoal.measures.observer import entropy
from shoal.prediction.attributes import quasi_identifier
from shoal.techniques import equal_groups, error_ratio

Item = dict[str, Any]


def reproduce(source: str = "all", data: Path | None = None) -> list[Item]:
    """The printed numbers of a source, or of all, beside ``ours``, which is None where ``data``, a folder of tables, is needed.

    The ``verdict`` is ``same``, ``corrected`` (ours is the correction), ``differs`` or ``no data``.

    >>> [(x["printed"], x["verdict"]) for x in reproduce("003")][:2]
    [('0.997', 'same'), ('0.465', 'corrected')]
    """
    listed = json.loads((resources.files("shoal.studies") / "sources.json").read_text(encoding="utf-8"))
    items = [item for item in listed if source in ("all", item["source"])]
    if not items:
        hint = "Sources: 000, 001, 003, 004, or all."
        raise UsageError(f"no printed numbers of a source '{source[:60]}' are listed.", hint=hint)
    pairs = [(item, _from_data(item, data) if "file" in item else _compute(item)) for item in items]
    keys = ("source", "where", "what", "printed", "corrected")
    return [{**{k: i.get(k, "") for k in keys}, "ours": ours, "verdict": verdict(i, ours)} for i, ours in pairs]


def verdict(item: Item, ours: float | None) -> str:
    """Whether a number rounds to the printed one, or to its correction: within half a unit of the last digit.

    >>> verdict({"printed": "1.1e3"}, 1095.4), verdict({"printed": "0.0084"}, 0.008451)
    ('same', 'differs')
    """
    if ours is None:
        return "no data"
    number = Decimal(item.get("corrected") or item["printed"])
    half = Decimal(1).scaleb(int(number.as_tuple().exponent)) / 2
    if abs(Decimal(ours) - number) > half * Decimal("1.000001"):
        return "differs"
    return "corrected" if item.get("corrected") else "same"


def _compute(item: Item) -> float:
    """The number that a function gives; of several, the last."""
    if item["call"] == "error_of_groups":
        even = np.arange(10_000)
        return error_ratio(even, equal_groups(even, *item["arguments"]))
    rooms = (prediction, entropy, entropy_risk, quasi_identifier)
    call = next(getattr(room, item["call"]) for room in rooms if hasattr(room, item["call"]))
    given = [prediction.Zipf(*a["zipf"]) if isinstance(a, dict) else a for a in item["arguments"]]
    value = call(*given, **item.get("options", {}))
    value = getattr(value, item.get("take", "value"), value)
    return float(np.ravel(getattr(value, "value", value))[-1])


def _from_data(item: Item, data: Path | None) -> float | None:
    """The number of a public table: rows that are unique, a standard deviation in a unit, the exponent of Zipf's law."""
    if data is None:
        return None
    path, words = data / item["file"], item["arguments"]
    if not path.is_file():
        hint = "docs/sources.md lists the tables needed."
        raise UnreadableError(f"'{item['file']}' is not in the folder of --data.", hint=hint)
    if item["call"] == "uniques":
        return float((open_table(path).count(tuple(words)).sizes == 1).sum())
    with path.open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source, skipinitialspace=True))
    if item["call"] == "spread":
        return float(statistics.stdev(float(row[words[0]]) * float(words[1]) for row in rows))
    return float(
        prediction.fit_zipf([int(r["daily_boardings"]) for r in rows if r["year"] == words[0]], method="least-squares").c
    )
