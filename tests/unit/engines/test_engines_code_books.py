"""Labelled codes and codes declared missing through every step, from SPSS to SPSS and Stata, read by pyreadstat.

Both kinds of SPSS numbers: whole ones (F8.0) and those with decimals (F8.2, what SPSS gives unless told otherwise).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import shoal

N, REFUSED = 60, 99999.0
AREAS = {1.0: "North", 2.0: "South", 5.0: "West"}
RNG = np.random.default_rng(2)
FRAME = pd.DataFrame(
    {
        "row": np.arange(N, dtype=float),
        "area": RNG.choice(list(AREAS), N, p=[0.5, 0.35, 0.15]),
        "pay": np.where(np.arange(N) % 10 == 3, REFUSED, RNG.integers(1000, 5000, N).astype(float)),
    }
)
STAYS = 6
"""People who refused."""

NUMBERS: dict[str, dict[str, Any]] = {
    "round": {"base": 100},
    "clamp": {"low": 1500, "high": 4000},
    "top_bottom": {"people": 3},
    "noise": {"scale": 30},
    "groups": {"k": 4},
    "quantiles": {"k": 4},
    "microaggregate": {"k": 4},
    "rank_swap": {"percent": 20},
    "pram": {"keep": 0.5},
}
BANDS: dict[str, dict[str, Any]] = {
    "cut": {"points": [2500.0], "labels": ["low", "high"]},
    "groups": {"k": 10, "publish": "interval"},
    "generalize": {"hierarchy": {"intervals": [1000]}, "level": 1},
}
SEED = 10**15 + 9


@pytest.fixture(scope="module", params=["F8.0", "F8.2"])
def source(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("books") / "t.sav"
    pyreadstat.write_sav(
        FRAME,
        str(path),
        column_labels={"area": "Area of living", "pay": "Monthly pay"},
        variable_value_labels={"area": AREAS, "pay": {REFUSED: "refused"}},
        missing_ranges={"pay": [REFUSED]},
        variable_measure={"area": "nominal", "pay": "scale"},
        variable_format=dict.fromkeys(["row", "area", "pay"], request.param),
    )
    return path


def carried(source: Path, out: Path, column: str, step: str, words: dict[str, Any]) -> tuple[Any, Any]:
    draws = {"seed": SEED} if step in ("noise", "rank_swap", "pram", "permute") else {}
    shoal.transform(source, {"steps": [{"column": column, step: dict(words)}]}, out, **draws)
    read = pyreadstat.read_sav if out.suffix == ".sav" else pyreadstat.read_dta
    frame, meta = read(str(out), user_missing=True)
    return frame.sort_values("row").reset_index(drop=True), meta


def refusals(frame: Any, meta: Any, ending: str) -> Any:
    """Where a refusal stands, after its declaration and its label were looked at."""
    code: Any = REFUSED if ending == "sav" else "a"
    assert meta.variable_value_labels["pay"][code] == "refused"
    if ending == "sav":
        assert meta.missing_ranges["pay"] == [{"lo": REFUSED, "hi": REFUSED}]
    else:
        assert meta.missing_user_values["pay"] == ["a"]
    assert meta.column_names_to_labels["pay"] == "Monthly pay"
    return frame["pay"] == code


@pytest.mark.parametrize("ending", ["sav", "dta"])
@pytest.mark.parametrize("step", [*NUMBERS, "permute"])
def test_refusals_stay_refusals(source: Path, tmp_path: Path, step: str, ending: str) -> None:
    frame, meta = carried(source, tmp_path / f"o.{ending}", "pay", step, NUMBERS.get(step, {}))
    there = refusals(frame, meta, ending)
    assert there.sum() == STAYS
    if step == "permute":
        assert Counter(frame["pay"][~there]) == Counter(FRAME["pay"][FRAME["pay"] != REFUSED])
    else:
        assert (there == (FRAME["pay"] == REFUSED)).all()
    known = frame["pay"][~there].astype(float)
    assert known.between(800, 5300).all(), "no refusal was calculated with"


@pytest.mark.parametrize("ending", ["sav", "dta"])
@pytest.mark.parametrize("step", list(BANDS))
def test_bands_beside_refusals(source: Path, tmp_path: Path, step: str, ending: str) -> None:
    frame, meta = carried(source, tmp_path / f"o.{ending}", "pay", step, BANDS[step])
    there = refusals(frame, meta, ending)
    assert (there == (FRAME["pay"] == REFUSED)).all()
    bands = sorted({float(v) for v in frame["pay"][~there]})
    assert bands == [float(i + 1) for i in range(len(bands))]
    assert len(meta.variable_value_labels["pay"]) == len(bands) + 1
    order = FRAME["pay"][~there].groupby(frame["pay"][~there].astype(float)).agg(["min", "max"])
    assert (order["max"].to_numpy()[:-1] <= order["min"].to_numpy()[1:]).all(), "codes are in the order of the bands"


@pytest.mark.parametrize("ending", ["sav", "dta"])
@pytest.mark.parametrize(("step", "words"), [("permute", {}), ("rank_swap", {"percent": 20}), ("pram", {"keep": 0.5})])
def test_exchanged_codes_mean_what_they_meant(source: Path, tmp_path: Path, step: str, words: Any, ending: str) -> None:
    frame, meta = carried(source, tmp_path / f"o.{ending}", "area", step, words)
    assert set(frame["area"]) <= set(AREAS)
    assert meta.variable_value_labels["area"] == {v: AREAS[v] for v in sorted(set(frame["area"]))}
    assert meta.column_names_to_labels["area"] == "Area of living"
    if step != "pram":
        assert Counter(frame["area"]) == Counter(FRAME["area"])


@pytest.mark.parametrize("ending", ["sav", "dta"])
@pytest.mark.parametrize("least", [10, 1000])
def test_rare_codes_are_hidden_under_a_code_declared_missing(source: Path, tmp_path: Path, ending: str, least: int) -> None:
    frame, meta = carried(source, tmp_path / f"o.{ending}", "area", "rare", {"min_count": least})
    counts = Counter(FRAME["area"])
    stays = {v for v in AREAS if counts[v] >= least}
    assert counts[5.0] < 10 <= min(counts[1.0], counts[2.0])
    hidden = ~FRAME["area"].isin(stays)
    assert (frame["area"][~hidden].astype(float) == FRAME["area"][~hidden]).all()
    (code,) = set(frame["area"][hidden])
    assert code not in AREAS
    assert meta.variable_value_labels["area"] == {**{v: AREAS[v] for v in sorted(stays)}, code: "*"}
    assert (meta.missing_ranges["area"] == [{"lo": code, "hi": code}]) if ending == "sav" else (code == "z")
