"""Rows of a CSV file ordered on disk: the same bytes however little is held in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz"])
def test_a_file_has_the_same_bytes_however_little_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    rng = np.random.default_rng(4)
    rows = pa.table(
        {
            "id": [None if i % 7 == 3 else f'=P"{i % 90}\n' for i in range(900)],
            "x": np.round(rng.normal(size=900) * 1e6, 3),
            "day": pa.array(rng.integers(-9000, 9000, 900).astype(np.int32)).cast(pa.date32()),
            "yes": pa.array((rng.random(900) < 0.5).tolist()),
        }
    )
    shoal.transform(rows, {"seed": 1, "steps": []}, tmp_path / "rows.csv")
    plan = {"seed": 10**18 + 7, "steps": [{"column": "x", "noise": {"scale": 3}}]}
    written = []
    for held in (1 << 26, 2_000, 1):
        monkeypatch.setattr("shoal.engines.recode.write.HELD", held)
        shares: list[float] = []
        made = shoal.transform(
            tmp_path / "rows.csv", plan, tmp_path / name, progress=lambda share, _, to=shares: to.append(share)
        )
        assert made.done.records_out == 900
        assert shares[-1] == 1.0
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1] == written[2]
