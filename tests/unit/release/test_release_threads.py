"""A release has the same bytes, and a measurement the same figures, however many threads made it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.kernels import threads
from shoal.model.certificate.file import read_certificate
from shoal.release.make import carry_out
from shoal.search.full_domain import lattice
from shoal.search.kernels import group_cells

ROWS = 3000


def people() -> pa.Table:
    draw = np.random.default_rng(8)
    towns = [f"{n:04d}" for n in draw.integers(1000, 1100, ROWS)]
    ages, ill = draw.integers(18, 90, ROWS), draw.choice(["flu", "cold", "asthma"], ROWS)
    return pa.table({"age": ages.tolist(), "town": towns, "sex": draw.choice(["f", "m"], ROWS).tolist(), "ill": ill.tolist()})


def written(place: Path) -> list[object]:
    policy = {"roles": {"quasi": ["age", "town", "sex"], "sensitive": ["ill"]}, "require": {"k": 4}, "seed": 11}
    release = shoal.anonymize(people(), policy | {"allow": {"suppress": 0.1}}, format="parquet")
    release.write(place)
    release.remember()
    certificate = read_certificate(place / "certificate.json")
    measured = shoal.measure(people(), quasi=["age", "town", "sex"], sensitive=["ill"]).to_json()
    return [
        measured,
        (place / "data.parquet").read_bytes(),
        (place / "plan.json").read_bytes(),
        certificate.after,
        certificate.attacks,
    ]


def test_one_thread_and_two_write_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattice, "default_threads", lambda: 1)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "one"))
    alone = written(tmp_path / "alone")
    for module, name in ((threads, "MANY"), (group_cells, "SHARED"), (carry_out, "BOTH_CORES")):
        monkeypatch.setattr(module, name, 1)
    monkeypatch.setattr(lattice, "default_threads", lambda: 2)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "two"))
    assert written(tmp_path / "shared") == alone
