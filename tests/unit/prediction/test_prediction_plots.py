"""Every prediction has a plot, and its curves say what the slow definitions say: the words of a chart hold both ends of each."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.report import plots


def ends(told: str, name: str) -> tuple[float, float, float, float]:
    """y and x at the beginning of a named line, then at its end."""
    found = re.search(rf"{re.escape(name)}: ([\d.,e-]+) at ([\d.,e-]+), ([\d.,e-]+) at ([\d.e-]+)", told)
    assert found is not None, told
    a, b, c, d = (float(x.replace(",", "").rstrip(".")) for x in found.groups())
    return a, b, c, d


def told_by(found: shoal.Prediction, tmp_path: Path) -> str:
    return found.plot(tmp_path / "plot.svg").read_text(encoding="utf-8")


def all_unique(cells: int, people: int) -> float:
    return 100 * math.prod(1 - i / cells for i in range(people))


def test_power_sums_are_drawn_with_their_proven_range_beside_equal_cells(tmp_path: Path) -> None:
    sums = [95.0 ** (1 - r) for r in range(2, 7)]
    alone = told_by(shoal.predict("uniqueness", group_size=5, power_sums=sums), tmp_path)
    assert "equally likely" not in alone
    assert "proven range" in alone
    drawn = told_by(shoal.predict("uniqueness", group_size=5, power_sums=sums, cells=95), tmp_path)
    for name in ("these power sums", "95 equally likely cells"):
        assert ends(drawn, name) == pytest.approx((100, 1, all_unique(95, 10), 10), rel=5e-3)


def normal_cells(width: float) -> list[float]:
    edges = np.arange(-40, 41) * width
    return np.diff([0.5 * (1 + math.erf(x / math.sqrt(2))) for x in edges]).tolist()


def expected_share(p: list[float], people: int) -> float:
    return 100 * sum(q * (1 - q) ** (people - 1) for q in p)


def test_two_rounded_values_are_drawn_with_both_widths_growing_and_each_singly(tmp_path: Path) -> None:
    found = shoal.predict("interval", group_size=10, normal=1.0, width=1.0, second=(1.0, 1.0, 0.0))
    drawn = told_by(found, tmp_path)
    one, two = normal_cells(1.0), normal_cells(2.0)
    y, x, last, end = ends(drawn, "both widths")
    assert (x, end) == (0.25, 2.0)
    assert last == pytest.approx(expected_share([a * b for a in two for b in two], 10), rel=5e-3)
    single = [ends(drawn, name) for name in ("only the first", "only the second")]
    assert single[0][2] == pytest.approx(expected_share([a * b for a in two for b in one], 10), rel=5e-3)
    assert single[0][2] == single[1][2]  # the two values have the same spread here
    assert last < single[0][2] < single[0][0] < y
    assert "as asked" not in drawn


def test_only_the_width_that_is_named_grows(tmp_path: Path) -> None:
    drawn = told_by(shoal.predict("interval", group_size=10, normal=1.0, width=1.0, second=(1.0, 4.0, 0.0)), tmp_path)
    one, two, four = (normal_cells(w) for w in (1.0, 2.0, 4.0))
    assert ends(drawn, "only the first")[2] == pytest.approx(expected_share([a * b for a in two for b in four], 10), rel=5e-3)
    wide = normal_cells(8.0)
    assert ends(drawn, "only the second")[2] == pytest.approx(expected_share([a * b for a in one for b in wide], 10), rel=5e-3)


def test_a_grid_too_fine_to_draw_often_is_a_dot_beside_the_curve() -> None:
    chart = plots.two_values_curve((1.0, 1.0), 0.0, (0.5, 0.5), 10, 9.0, [2.0, 4.0])
    assert ends(chart.told, "as asked") == (90, 1, 90, 1)
    chart = plots.two_values_curve((1.0, 1.0), 0.0, (0.5, 0.5), 10, 9.0, [1.0, 4.0])
    assert "as asked" not in chart.told


def test_a_sample_is_drawn_beside_a_normal_of_its_spread(tmp_path: Path) -> None:
    values = [60.0, 70.0, 70.5, 80.0, 91.0]
    drawn = told_by(shoal.predict("interval", group_size=4, sample=values, width=10.0), tmp_path)
    assert "asked: 10" in drawn
    assert ends(drawn, "this sample")[1::2] == ends(drawn, "normal of its spread")[1::2] == (0.4, 20)
    assert ends(drawn, "this sample")[2] == pytest.approx(expected_share([0.6, 0.4], 4), rel=5e-3)  # 60 to 80, 80 and more
    law = told_by(shoal.predict("interval", group_size=4, normal=5.0, width=10.0), tmp_path)
    assert "this sample" not in law
    equal = told_by(shoal.predict("interval", group_size=4, sample=[3.0, 3.0], width=1.0), tmp_path)
    assert "normal of its spread" not in equal, "no spread, no normal"


def test_unique_people_are_drawn_beside_equal_cells(tmp_path: Path) -> None:
    drawn = told_by(shoal.predict("singletons", group_size=3, p=[0.5, 0.3, 0.2]), tmp_path)
    assert ends(drawn, "3 equally likely cells")[2] == pytest.approx(6 * (2 / 3) ** 5, rel=5e-3)
    assert "equally likely" not in told_by(shoal.predict("singletons", group_size=3, uniform=3), tmp_path)


def test_the_bound_is_drawn_beside_equal_combinations_and_what_the_table_shows(tmp_path: Path) -> None:
    table = {"a": [1, 1, 2, 2, 3], "b": ["x", "x", "x", "y", "y"]}
    drawn = told_by(shoal.predict("quasi", table=table, columns=["a", "b"]), tmp_path)
    assert ends(drawn, "in the table") == pytest.approx((60, 1.2, 60, 1.2)), "3 of 5 records, 6 combinations"
    y, x, _, _ = ends(drawn, "equally likely combinations")
    assert y == pytest.approx(100 * (1 - 1 / (5 * x)) ** 4, rel=5e-3)
    other = told_by(shoal.predict("quasi", table=table, columns=["a", "b"], people=600), tmp_path)
    assert ends(other, "in the table")[1] == 1.2, "the dot is that of the table"
    none = told_by(shoal.predict("quasi", table={"a": [1, 1]}, columns=["a"]), tmp_path)
    assert "in the table" not in none, "nobody is unique: no place on a logarithmic axis"
    assert "in the table" not in told_by(shoal.predict("quasi", values={"a": 6}, people=5), tmp_path)


def test_models_of_a_population_stand_beside_each_other() -> None:
    rng = np.random.default_rng(2)
    table = {"a": rng.integers(0, 8, 400).tolist(), "b": rng.integers(0, 6, 400).tolist(), "c": rng.integers(0, 5, 400).tolist()}
    found = shoal.predict("population", table=table, columns=["a", "b", "c"], population=4_000)
    fitted = found.fitted
    others = fitted.by_other_models()
    left = sorted((name for name in fitted.scores if name != fitted.model), key=lambda name: -fitted.scores[name])
    assert [o.model for o in others] == left[:2]
    told = plots.population_chart(found, others).told
    for one in (fitted, *others):
        y, _, last, end = ends(told, f"model: {one.model}")
        assert (y, last, end) == pytest.approx((100 * one.risk.max(), 100 * one.risk.min(), 100), rel=5e-3)
    named = shoal.predict("population", table=table, columns=["a", "b", "c"], population=4_000, model="tree")
    assert named.fitted.by_other_models() == []
