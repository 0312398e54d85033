"""Records about real places that come with Shoal, made by ``tools/seed_registry.py`` from public population tables.

Each file is a header (holder, key, date, source) and rows (codes, population, size, cells, statistics, shares, signature, and the
method and joint counts of age and sex, where a record has them): all that a signed record says. Signatures are checked when a
record is read.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from functools import lru_cache
from importlib import resources
from typing import Any

from shoal.errors import TamperError
from shoal.registry.records.notice import Notice
from shoal.registry.records.population import key_of
from shoal.registry.records.record import Record
from shoal.registry.records.summary import STATISTICS
from shoal.registry.records.trust import Statement

KEY = "SXJ1D1ytOFE/vHCNzb1bJOW/16ahqF732ykV+wJFULU="
"""The public key of the built-in records; its private half was thrown away when they were made."""
FILES = ("uk", "nl", "us", "states", "ke", "world")
Row = list[Any]
COUNTED = 7
"""Entries of a row without joint counts."""


class BuiltIn:
    """The built-in records, to be asked like a mirror."""

    reading = nullcontext  # nothing is held for a question

    def topic(self, codes: Sequence[str], population: str) -> list[Record]:
        key = tuple(codes), key_of(population)
        return [_record(*key)] if key in _rows() else []

    def codings(self, population: str) -> list[tuple[str, ...]]:
        return _by_population().get(key_of(population), [])

    def neighbours(
        self, codes: Sequence[str], area: str, *, limit: int = 500, keys: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        if keys is not None and KEY not in keys:
            return []
        inside = _by_area().get((tuple(codes), area.casefold()), [])
        return [(people, _rows()[tuple(codes), people][1][4][0]) for people in inside[:limit]]

    def topics(self, text: str = "", *, limit: int = 1000) -> list[tuple[str, tuple[str, ...]]]:
        """Population and codes of records whose population contains the text."""
        listed = sorted((people, codes) for codes, people in _rows() if text.casefold() in people)
        return [(_rows()[codes, people][1][1], codes) for people, codes in listed[:limit]]

    def holders(self, population: str, *, limit: int = 100) -> list[str]:
        """Keys that publish about a population."""
        return [KEY] if self.codings(population) else []

    def every(self) -> Iterator[Record]:
        """Every record; anyone who takes them checks the signatures."""
        return (_rebuilt(*row) for row in _rows().values())

    def namesakes(self, holder: str, key: str) -> bool:
        return False

    def statements(self) -> list[Statement]:
        return []

    @property
    def notices(self) -> NoNotices:
        """The catalogue: nobody said anything."""
        return NoNotices()

    def head(self) -> tuple[int, str]:
        return len(_rows()), KEY


class NoNotices:
    """A catalogue without notices."""

    def current(self, text: str = "", *, limit: int = 1000) -> list[Notice]:
        return []


@lru_cache(maxsize=1)
def _rows() -> dict[tuple[tuple[str, ...], str], tuple[dict[str, str], Row]]:
    """Header and row of every record, by codes and key of its population."""
    out = {}
    for name in FILES:
        packed = (resources.files("shoal.registry.keep.builtin") / f"{name}.json.xz").read_bytes()
        content = json.loads(lzma.decompress(packed))
        for row in content["rows"]:
            out[tuple(row[0]), key_of(row[1])] = (content["header"], row)
    return out


@lru_cache(maxsize=1)
def _by_population() -> dict[str, list[tuple[str, ...]]]:
    out: dict[str, list[tuple[str, ...]]] = {}
    for codes, people in sorted(_rows()):
        out.setdefault(people, []).append(codes)
    return out


@lru_cache(maxsize=1)
def _by_area() -> dict[tuple[tuple[str, ...], str], list[str]]:
    out: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for codes, people in sorted(_rows()):
        out.setdefault((codes, people.partition("@")[0].rpartition("/")[0]), []).append(people)
    return out


def pack(record: Record) -> Row:
    """A record as a row."""
    numbers = [x for name in STATISTICS for x in (record.summary.statistics[name].value, record.summary.statistics[name].step)]
    shares = [list(record.shares), list(record.shares.values())] if record.shares else None
    return [
        list(record.codes),
        str(record.population),
        record.summary.size,
        record.summary.cells,
        numbers,
        shares,
        record.signature,
        *([record.method, record.counts.to_json()] if record.counts else []),
    ]


def countries() -> list[Record]:
    """The record of every country that has joint counts."""
    return [_record(*key) for key, (_, row) in _rows().items() if "/" not in key[1] and len(row) > COUNTED]


@lru_cache(maxsize=256)
def _record(codes: tuple[str, ...], population: str) -> Record:
    record = _rebuilt(*_rows()[codes, population]).verify()
    if record.key != KEY:
        raise TamperError("a built-in record is not signed by the key of the built-in records.", hint="Install Shoal again.")
    return record


def _rebuilt(header: dict[str, str], row: Row) -> Record:
    codes, population, size, cells, numbers, shares, signature, *counted = row
    data: dict[str, Any] = {
        "attributes": codes, "population": population, "size": size, "cells": cells, "signature": signature,
        "statistics": {n: numbers[2 * i : 2 * i + 2] for i, n in enumerate(STATISTICS)},
        "version": 1, "supersedes": None, **header,
    }  # fmt: skip
    if shares:
        data["shares"] = dict(zip(*shares, strict=True))
    if counted:
        data["method"], data["counts"] = counted
    return Record.rebuilt(data)
