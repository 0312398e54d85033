"""Precision and recall of ``shoal.link`` on tables with known truth, beside deterministic matching."""

from __future__ import annotations

import csv
import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

import shoal

DATA = Path(os.environ["SHOAL_DATA"])
FEBRL = {
    "given_name": "given",
    "surname": "family",
    "street_number": "text",
    "address_1": "text",
    "suburb": "text",
    "postcode": "postcode",
    "state": "text",
    "date_of_birth": "birth",
    "soc_sec_id": "number",
}
SPLINK = {"first_name": "given", "surname": "family", "dob": "birth", "city": "text", "email": "email"}


def read(*path: str) -> dict[str, list[str]]:
    with DATA.joinpath(*path).open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    return {name: [row[name] for row in rows] for name in rows[0]}


def deterministic(found: shoal.Link, truth: list[str]) -> dict[str, float]:
    """Equal given name, family name and birth date: precision and recall of that rule."""
    linked = found.linked
    keys = [f.name for f in linked.records.fields if f.kind in ("given", "family", "birth")]
    groups = defaultdict(list)
    for place in range(len(linked.records)):
        key = tuple(linked.records.values[name][place] for name in keys)
        if None not in key:
            groups[key].append(place)
    border = linked.split or 0
    pairs = [(a, b) for g in groups.values() for a in g for b in g if a < b and (linked.split is None or (a < border <= b))]
    right = sum(truth[a] == truth[b] for a, b in pairs)
    assert found.quality is not None
    return {"precision": round(right / max(1, len(pairs)), 4), "recall": round(right / found.quality.true, 4)}


def run(name: str, left: dict[str, list[str]], right: dict[str, list[str]] | None, fields: dict[str, str]) -> None:
    for side in (left, right):
        if side is not None and "rec_id" in side:
            side["cluster"] = [x.split("-")[1] for x in side["rec_id"]]
    started = time.perf_counter()
    found = shoal.link(left, right, fields=fields, truth="cluster", one_to_one=right is not None)
    seconds = round(time.perf_counter() - started, 2)
    assert found.quality is not None
    assert found.quality_with_possible is not None
    answer: dict[str, Any] = {
        "deterministic": deterministic(found, left["cluster"] + (right["cluster"] if right else [])),
        "matches": found.quality.to_json(),
        "with_possible": found.quality_with_possible.to_json(),
        "possible": found.possible,
        "compared": found.linked.compared,
    }
    common.record(Path(__file__).parent, data=name, seconds=seconds, answer=answer)


for number in ("1", "2", "3"):
    run(f"febrl {number}", read("febrl", f"dataset{number}.csv"), None, FEBRL)
run("febrl 4", read("febrl", "dataset4a.csv"), read("febrl", "dataset4b.csv"), FEBRL)
run("splink_fake_1000", read("splink_fake_1000", "fake_1000.csv"), None, SPLINK)
