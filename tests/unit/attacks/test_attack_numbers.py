"""Changed numbers beside the person's own: slow definitions, a peer for the robust covariance, boundaries, the faces."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import shoal
from shoal.attacks._common import wilson
from shoal.attacks.tables.continuous import (
    WIDTH,
    distance_linkage,
    interval_disclosure,
    minimum_covariance,
    nearest_is_own,
    others_within,
    robust_distances,
    robust_intervals,
    unusual_linkage,
    within,
)
from shoal.cli import build
from shoal.errors import DataError, UsageError


def numbers(n: int, seed: int = 0, columns: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, columns)) @ np.triu(np.ones((columns, columns)))
    x[: n // 20] *= 8
    return x


def as_table(x: np.ndarray, ids: list[str] | None = None) -> dict[str, list]:
    return {"id": ids or [f"p{i}" for i in range(len(x))], **{f"c{j}": x[:, j].tolist() for j in range(x.shape[1])}}


def test_interval_disclosure_is_the_count_record_by_record() -> None:
    x = numbers(300)
    y = x + np.random.default_rng(1).normal(0, 0.06, x.shape) * x.std(axis=0)
    found = interval_disclosure(x, y, "abc", np.random.default_rng(0))
    slow = 0
    for a, b in zip(x, y, strict=True):
        slow += all(abs(a[j] - b[j]) <= WIDTH * np.std(x[:, j], ddof=1) for j in range(3))
    assert 30 < slow < 270
    assert found.sentence.startswith(f"{slow} of 300 records")


def test_the_ends_of_an_interval_count_and_beyond_them_nothing_does() -> None:
    x, reach = np.zeros((3, 1)), np.array([0.25])
    assert within(x, np.array([[0.25], [np.nextafter(0.25, 0)], [0.2501]]), reach).tolist() == [True, True, False]


def test_distance_linkage_is_the_nearest_record_with_ties_shared() -> None:
    rng = np.random.default_rng(2)
    x = numbers(120, 3, 2)
    y = np.round(x + rng.normal(0, 0.3, x.shape), 0)  # many equal released records
    slow = []
    for i in range(len(x)):
        far = [float(((x[i] - row) ** 2).sum()) for row in y]
        nearest = [j for j, d in enumerate(far) if d <= min(far) * (1 + 1e-9)]
        slow.append(1 / len(nearest) if i in nearest else 0.0)
    assert nearest_is_own(x, y) == pytest.approx(slow)
    assert 0 < sum(slow) < 100


def test_columns_are_compared_by_their_spread_not_their_unit() -> None:
    x = numbers(200)
    y = x + np.random.default_rng(5).normal(0, 0.5, x.shape)
    unit = np.array([1.0, 1000.0, 1e-6])
    one, two = distance_linkage(x, y), distance_linkage(x * unit, y * unit)
    assert one.rate == pytest.approx(two.rate)
    seeds = [np.random.default_rng(4) for _ in range(4)]
    assert interval_disclosure(x, y, "abc", seeds[0]).rate == interval_disclosure(x * unit, y * unit, "abc", seeds[1]).rate
    assert robust_intervals(x, y, seeds[2]).rate == pytest.approx(robust_intervals(x * unit, y * unit, seeds[3]).rate, abs=0.02)


def test_the_robust_covariance_is_that_of_a_peer_and_outliers_do_not_move_it() -> None:
    covariance = pytest.importorskip("sklearn.covariance")
    clean = np.random.default_rng(7).multivariate_normal([1, 2, 3], [[2, 0.5, 0], [0.5, 1, 0.3], [0, 0.3, 1]], 400)
    spoiled = clean.copy()
    spoiled[:120] += 40
    mine = minimum_covariance(spoiled, np.random.default_rng(0))
    peer = covariance.MinCovDet(random_state=0).fit(spoiled)
    assert mine[0] == pytest.approx(peer.location_, abs=0.1)
    assert mine[1] == pytest.approx(peer.covariance_, abs=0.25)
    assert mine[1] == pytest.approx(np.cov(clean[120:].T), abs=0.25)
    far = robust_distances(spoiled, *mine)
    assert far[:120].min() > far[120:].max()


def test_a_column_that_is_mostly_one_number_has_plain_distances() -> None:
    x = numbers(200, 1, 2)
    x[:150, 1] = 0.0
    centre, covariance = minimum_covariance(x, np.random.default_rng(0))
    assert centre == pytest.approx(x.mean(axis=0))
    assert covariance == pytest.approx(np.cov(x.T))
    with pytest.raises(DataError, match="4 records are too few for 2 columns"):
        minimum_covariance(x[:4], np.random.default_rng(0))
    assert minimum_covariance(numbers(5, 0, 2), np.random.default_rng(0))[1].shape == (2, 2)


def test_unusual_people_have_wider_intervals_and_company_hides() -> None:
    x = np.random.default_rng(0).normal(size=(200, 2))
    x[0] = 40.0
    y = x.copy()
    y[0] += 0.4  # 28 standard deviations out: an interval of more than a standard deviation
    y[1:] += 3.0
    assert robust_intervals(x, y, np.random.default_rng(0)).sentence.startswith("1 of 200")
    y[1] = y[0]  # somebody else's released record is the same
    assert robust_intervals(x, y, np.random.default_rng(0)).sentence.startswith("0 of 200")


def test_others_are_counted_up_to_the_reach() -> None:
    y = np.array([[0.0, 0.0], [0.3, 0.4], [9.0, 9.0]])
    slow = [sum(1 for j in range(3) if j != i and np.hypot(*(y[i] - y[j])) <= 0.5) for i in range(3)]
    assert others_within(y, 0.5).tolist() == slow == [1, 1, 0]
    assert others_within(y, 0.4999).tolist() == [0, 0, 0]


def test_unchanged_numbers_are_broken_and_fresh_ones_hold() -> None:
    x = numbers(400)
    same = shoal.attack(as_table(x), original=as_table(x), key="id")
    assert {r.name: r.verdict for r in same.results} == dict.fromkeys(
        ("interval disclosure", "distance linkage", "robust intervals", "distance linkage: most unusual people"), "broken"
    )
    others = numbers(400, 9)[::-1]  # else the people who are far out would be so in both tables
    fresh = shoal.attack(as_table(others), original=as_table(x), key="id")
    assert fresh.holds
    assert all(r.low == 0.0 for r in fresh.results)


def test_rows_are_matched_by_the_key_in_any_order_and_never_by_their_place() -> None:
    x = numbers(250)
    y = x + np.random.default_rng(3).normal(0, 0.1, x.shape)
    ids = [f"p{i}" for i in range(250)]
    turned = np.random.default_rng(8).permutation(250)
    straight = shoal.attack(as_table(y, ids), original=as_table(x, ids), key="id")
    mixed = shoal.attack(as_table(y[turned], [ids[i] for i in turned]), original=as_table(x, ids), key="id")
    assert straight.to_json()["attacks"] == mixed.to_json()["attacks"]


def test_records_without_a_number_and_columns_of_one_number_are_left_out() -> None:
    x = numbers(60)
    first, second = as_table(x), as_table(x)
    first["c0"][0] = None
    second["c1"][1] = None
    first["flat"] = second["flat"] = [1.0] * 60
    found = shoal.attack(second, original=first, key="id", numbers="c0,c1,flat".split(","))
    assert "58 of 58" in " ".join(r.sentence for r in found.results)
    assert {r.worst for r in found.results} == {"columns c0, c1"}


def test_columns_of_few_numbers_are_no_continuous_ones_unless_named() -> None:
    x = numbers(60)
    table = as_table(x)
    table["nineteen"], table["twenty"] = [i % 19 for i in range(60)], [i % 20 for i in range(60)]
    found = shoal.attack(table, original=table, key="id")
    assert found.results[0].worst == "columns c0, c1, c2, twenty"
    named = shoal.attack(table, original=table, key="id", numbers="nineteen")
    assert named.results[0].worst == "columns nineteen"


def test_what_is_asked_wrongly_is_said() -> None:
    x = as_table(numbers(60))
    words = {**x, "word": ["a", "b"] * 30}
    with pytest.raises(DataError, match="'word' does not hold numbers"):
        shoal.attack(words, original=words, key="id", numbers="word")
    with pytest.raises(UsageError, match="person's own"):
        shoal.attack(x, original=x, control=x, numbers="c0")
    with pytest.raises(UsageError, match="control group"):
        shoal.attack(x, original=x)
    with pytest.raises(UsageError, match="inference needs a control group"):
        shoal.attack(x, original=x, key="id", secrets="c0")
    with pytest.raises(DataError, match="share no column of numbers"):
        shoal.attack({"id": ["a"] * 1, "w": ["x"]}, original={"id": ["a"], "w": ["x"]}, key="id")
    few = as_table(numbers(19))
    with pytest.raises(DataError, match="19 records"):
        shoal.attack(few, original=few, key="id", numbers="c0")
    assert shoal.attack(as_table(numbers(20)), original=as_table(numbers(20)), key="id", numbers="c0").results


def test_with_a_control_group_all_attacks_run_and_the_key_is_no_column() -> None:
    x, other = numbers(80), numbers(80, 5)
    found = shoal.attack(as_table(x), original=as_table(x), control=as_table(other), key="id")
    assert {"interval disclosure", "copies", "membership"} <= {r.name for r in found.results}
    copies = next(r for r in found.results if r.name == "copies")
    assert copies.rate == 1.0


def test_the_command_says_it_in_words_and_json(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import csv

    x = numbers(100)
    csv.write_csv(pa.table(as_table(x)), tmp_path / "one.csv")
    csv.write_csv(pa.table(as_table(x + 0.001)), tmp_path / "two.csv")
    line = ["attack", str(tmp_path / "two.csv"), "--original", str(tmp_path / "one.csv"), "--key", "id", "--numbers", "c0,c2"]
    told = CliRunner().invoke(build("attack"), [*line, "--json"])
    assert told.exit_code == 1
    found = json.loads(told.stdout)
    assert found["holds"] is False
    assert {a["worst"] for a in found["attacks"]} == {"columns c0, c2"}
    said = CliRunner().invoke(build("attack"), line).stdout
    assert "By column: c0 100 %, c2 100 %" in said
    assert "An attack did better than chance would." in said


def test_the_ends_have_room_for_rounding_only() -> None:
    x, reach = np.zeros((2, 1)), np.array([1.0])
    assert within(x, np.array([[1 + 5e-13], [1 + 1e-9]]), reach).tolist() == [True, False]


def test_distance_linkage_is_what_chance_alone_would_not_find() -> None:
    """Ten people, five of them found for certain: chance finds one of ten, so four of the other nine are the attack's."""
    x = np.arange(10.0)[:, None] * 100
    y = x.copy()
    y[5:] = 1e6 + np.arange(5.0)[:, None]  # far away: the nearest to these five is the record of the fifth person
    found = distance_linkage(x, y)
    assert found.sentence.startswith("5 of 10 people")
    assert found.rate == pytest.approx((0.5 - 0.1) / 0.9)
    z, n, p = 1.959963984540054, 10, 0.5
    middle, half = (p + z * z / (2 * n)) / (1 + z * z / n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    assert found.low == pytest.approx((middle - half - 0.1) / 0.9, abs=1e-6)
    assert found.high == pytest.approx((middle + half - 0.1) / 0.9, abs=1e-6)


def test_the_verdict_of_distance_linkage_is_by_what_is_beyond_chance() -> None:
    """Of twenty people one is found by chance: the low end of the rate is held against that, and against a tenth beyond it."""
    x = np.arange(20.0)[:, None]
    for own, verdict in ((2, "holds"), (3, "warning"), (5, "warning"), (6, "broken")):
        y = np.concatenate((x[:own], np.roll(x[own:], 1, axis=0)))  # so many stand at their own place
        low = wilson(own, 20)[0]
        found = distance_linkage(x, y)
        assert found.rate == pytest.approx((own / 20 - 0.05) / 0.95)
        assert found.low == pytest.approx(max(0.0, (low - 0.05) / 0.95))
        assert found.verdict == verdict, own


def test_equally_near_is_up_to_rounding_only() -> None:
    x = np.array([[0.0], [100.0]])
    assert nearest_is_own(x, np.array([[1.0], [1.0 + 1e-13]])).tolist() == [0.5, 0.5]
    assert nearest_is_own(x, np.array([[1.0], [1.0 + 1e-5]])).tolist() == [1.0, 1.0]


def test_the_most_unusual_people_are_judged_apart() -> None:
    """Noise that hides nearly everybody does not hide ten people who are far away; equally near records share a find."""
    x = np.concatenate([np.random.default_rng(1).normal(size=(490, 2)), 1000.0 * np.arange(1, 11)[:, None] + np.zeros((10, 2))])
    y = x + np.random.default_rng(2).normal(size=x.shape) * 2
    few, rows, ratios = unusual_linkage(x, y, np.random.default_rng(3))
    assert (few.rate, few.verdict, rows) == (1.0, "broken", list(range(490, 500)))
    assert few.low == wilson(10, 10)[0]
    assert max(ratios) < 0.02
    far = np.abs(x[490] - y).sum(axis=1)
    assert ratios[0] == pytest.approx(np.sqrt((((x[490] - y[490]) / x.std(0, ddof=1)) ** 2).sum()) / np.sqrt(
        (((x[490] - y[np.argsort(far)[1]]) / x.std(0, ddof=1)) ** 2).sum()), rel=1e-6)  # fmt: skip
    y[490:] = y[490]
    few, rows, _ = unusual_linkage(x, y, np.random.default_rng(3))
    assert few.rate == pytest.approx(1 / 10), "ten equal records: each is one of ten"
    assert few.verdict == "warning", "ten of 500 would still be more than chance"


def test_the_private_list_by_key_names_rows_of_the_original(tmp_path: Path) -> None:
    x = numbers(200)
    x[123] = 500.0
    y = x + np.random.default_rng(2).normal(size=x.shape)
    order = np.random.default_rng(3).permutation(200)
    ids = [f"p{i}" for i in range(200)]
    table = as_table(y[order], [ids[i] for i in order])
    report = shoal.attack(table, original=as_table(x), key="id", exposed=tmp_path / "list.json")
    assert any(r.name == "distance linkage: most unusual people" for r in report.results)
    assert json.loads((tmp_path / "list.json").read_text())["people"][0]["row"] == 124
