"""The log of a Delta table that is published: it must name every part of the data, and do nothing to what a reader sees of them.

Takes    the log of version 0, the parts with their sizes, and the names of the columns
Returns  nothing; :class:`~shoal.errors.TamperError` where a reader of the table would see other rows or columns
Source   Delta transaction log protocol (actions ``protocol``, ``metaData``, ``add``, ``commitInfo``)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import TamperError
from shoal.release.proof.bounds import check_text

LOG = "_delta_log/00000000000000000000.json"
_ACTIONS = ("commitInfo", "protocol", "metaData", "add")


def check_log(file: Path, parts: Mapping[str, int], columns: Sequence[str]) -> None:
    """``parts`` are the names and sizes of the files beside the folder of the log."""
    check_text(file)
    try:
        found: dict[str, list[Any]] = {name: [] for name in _ACTIONS}
        for line in file.read_text(encoding="utf-8").splitlines():
            ((name, said),) = json.loads(line).items()
            found[name].append(said)
        added = [(a["path"], a["size"]) for a in found["add"]]
        plain = not any(a["partitionValues"] or a.get("deletionVector") or a.get("stats") for a in found["add"])
        (table,) = found["metaData"]
        names = [field["name"] for field in json.loads(table["schemaString"])["fields"]]
        as_they_are = (table["partitionColumns"], table["configuration"], table["format"]["provider"]) == ([], {}, "parquet")
        once = len(found["protocol"]) == 1
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise TamperError("the log of the Delta table is not one that Shoal writes.") from None
    if sorted(added) != sorted(parts.items()) or names != list(columns):
        raise TamperError("the log of the Delta table names other files or columns than the certificate.")
    if not (plain and as_they_are and once):
        raise TamperError("the log of the Delta table changes what a reader sees of its files.")
