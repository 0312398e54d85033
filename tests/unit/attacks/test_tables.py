"""Attacks on any table: copies are found, independent draws are not, and each part equals a slow definition."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.attacks.tables import continuous
from shoal.attacks.tables.exposed import _Near, _Shadows, _surplus, exposed_people
from shoal.attacks.tables.rows import (
    Excess,
    Rows,
    area_under,
    closest_records,
    copied,
    distances,
    nearest,
    overlaps,
    result_of,
    verdict_of,
)
from shoal.errors import DataError, MissingColumnError, UsageError


def people(n: int, seed: int) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 30, n)
    return {
        "age": rng.integers(18, 90, n).tolist(),
        "town": [f"canary{t}" for t in town],
        "income": (20_000 + 500 * town + rng.normal(0, 9_000, n)).round().tolist(),
        "job": rng.integers(0, 40, n).astype(str).tolist(),
        "ill": rng.choice(["flu", "hiv", "ok"], n, p=[0.3, 0.1, 0.6]).tolist(),
    }


def test_a_copy_is_found_by_every_attack_and_an_independent_draw_by_none() -> None:
    original, control, fresh = people(400, 1), people(400, 2), people(400, 3)
    found = {r.name: r for r in shoal.attack(original, original=original, control=control).results}
    assert set(found) == {"singling out", "linkability", "inference", "closest records", "copies", "membership", "exposed people"}
    assert {r.verdict for r in found.values()} == {"broken"}
    assert found["copies"].rate == 1.0
    report = shoal.attack(fresh, original=original, control=control, seed=4)
    assert {r.verdict for r in report.results} == {"holds"}
    assert report.holds
    assert "canary" not in json.dumps(report.to_json())


def test_half_copies_lie_between() -> None:
    original, control, fresh = people(400, 1), people(400, 2), people(400, 3)
    half = {c: [*v[:200], *fresh[c][:200]] for c, v in original.items()}
    found = {r.name: r for r in shoal.attack(half, original=original, control=control).results}
    assert 0.4 < found["copies"].rate < 0.6
    assert 0.65 < found["membership"].rate < 0.85
    assert not shoal.attack(half, original=original, control=control).holds


def test_every_copy_is_counted_however_few_people_the_control_group_has() -> None:
    original, control, fresh = people(400, 1), people(100, 2), people(300, 3)
    published = {c: [*v[:61], *fresh[c]] for c, v in original.items()}
    held = list(zip(*original.values(), strict=True))
    slow = sum(row in held for row in zip(*published.values(), strict=True))
    found = next(r for r in shoal.attack(published, original=original, control=control).results if r.name == "copies")
    assert slow == 61
    assert found.sentence.endswith("Of all 361 published records 61 equal one of the original.")


def test_copies_by_hand() -> None:
    """Missing values are equal to each other; a record that is published twice is two copies; order and others do not matter."""
    table = Rows((np.array([0.5, 0.5, np.nan, 0.1, 0.5]), np.array([1, 1, -1, 2, 2])))
    original = Rows((np.array([np.nan, 0.5, 0.7]), np.array([-1, 1, 2])))
    assert copied(table, original) == 3
    assert copied(original, table) == 2


def test_noise_on_numbers_is_still_closer() -> None:
    original, control = people(400, 1), people(400, 2)
    rng = np.random.default_rng(5)
    noisy = original | {"income": (np.array(original["income"]) + rng.normal(0, 300, 400)).tolist()}
    found = {r.name: r for r in shoal.attack(noisy, original=original, control=control).results}
    assert found["copies"].rate == 0.0
    assert found["closest records"].verdict == "broken"


def test_gower_distance_and_neighbours_by_a_slow_definition() -> None:
    rng = np.random.default_rng(7)
    x = Rows((np.array([0.0, 0.5, np.nan]), np.array([0, 1, -1])))
    y = Rows((np.array([1.0, np.nan, 0.25, 0.5]), np.array([0, -1, 1, 1])))
    slow = [[0.0] * 4 for _ in range(3)]
    for i in range(3):
        for j in range(4):
            a, b = float(x.columns[0][i]), float(y.columns[0][j])
            gap = 0.0 if math.isnan(a) and math.isnan(b) else 1.0 if math.isnan(a) or math.isnan(b) else abs(a - b)
            slow[i][j] = gap + (x.columns[1][i] != y.columns[1][j])
    assert distances(x, y, [0, 1]).tolist() == slow
    a, b = Rows((rng.random(50),)), Rows((rng.random(60),))
    places, far = nearest(a, b, [0], 3)
    for i in range(50):
        order = np.argsort(np.abs(a.columns[0][i] - b.columns[0]), kind="stable")[:3]
        assert sorted(places[i].tolist()) == sorted(order.tolist())
        assert np.all(np.diff(far[i]) >= 0)


def test_risk_beyond_the_control_group_by_hand() -> None:
    found = Excess(60, 100, 20, 100)
    assert found.risk == pytest.approx((0.6 - 0.2) / 0.8)
    low, high = found.interval
    assert low < found.risk < high
    assert Excess(5, 10, 10, 10).risk == 0.0
    assert (verdict_of(0.0), verdict_of(1e-9), verdict_of(0.1), verdict_of(0.1000001)) == (
        "holds",
        "warning",
        "warning",
        "broken",
    )
    worse = result_of("x", "?", Excess(10, 100, 60, 100), "", "Said")
    assert (worse.rate, worse.low, worse.verdict) == (0.0, 0.0, "holds")


def test_the_interval_of_the_risk_holds_the_truth_at_its_level() -> None:
    rng = np.random.default_rng(8)
    true, control, n = 0.3, 0.2, 200
    risk = (true - control) / (1 - control)
    inside = 0
    for _ in range(400):
        low, high = Excess(int(rng.binomial(n, true)), n, int(rng.binomial(n, control)), n).interval
        inside += low <= risk <= high
    assert inside / 400 >= 0.95


def test_many_records_near_few_people_are_no_more_tries_than_people() -> None:
    rng = np.random.default_rng(4)

    def some(n: int) -> Rows:
        return Rows(tuple(np.clip(rng.lognormal(0, 1.5, size=(3, n)) / 10, 0, 1)))

    alarms = 0
    for _ in range(40):
        original, control, fresh = some(50), some(50), some(1000)
        alarms += closest_records(fresh, original, control, (fresh, original))[0].verdict != "holds"
    assert alarms <= 3  # 12 where each record was a try of its own


def test_area_under_the_curve_by_pairs() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.integers(0, 5, 30).astype(float), rng.integers(0, 5, 40).astype(float)
    slow = np.mean([1.0 if x > y else 0.5 if x == y else 0.0 for x in a for y in b])
    area, (low, high) = area_under(a, b)
    assert area == pytest.approx(slow)
    assert low < area < high
    assert area_under(np.ones(3), np.zeros(3))[0] == 1.0


def test_what_is_missing_is_asked_for(tmp_path) -> None:
    t = people(30, 1)
    for words in ({"original": t}, {"control": t}, {"original": t, "control": t, "with_": t}):
        with pytest.raises(UsageError):
            shoal.attack(t, **words)
    with pytest.raises(UsageError):
        shoal.attack(t)
    with pytest.raises(MissingColumnError):
        shoal.attack(t, original=t, control=t, secrets="wage")
    with pytest.raises(DataError, match="at least 20"):
        shoal.attack(t, original={c: v[:19] for c, v in t.items()}, control=t)
    shoal.attack({c: v[:20] for c, v in t.items()}, original=t, control=people(30, 2))
    with pytest.raises(DataError, match="in common"):
        shoal.attack({"a": list(range(30))}, original=t, control=t)


def test_the_command(tmp_path, capsys) -> None:
    from shoal.cli import main

    files = {}
    for name, seed in (("original", 1), ("control", 2), ("fresh", 3)):
        t = people(120, seed)
        files[name] = tmp_path / f"{name}.csv"
        lines = [",".join(map(str, row)) for row in zip(*t.values(), strict=True)]
        files[name].write_text(",".join(t) + "\n" + "\n".join(lines) + "\n")
    words = ["--original", str(files["original"]), "--control", str(files["control"]), "--secret", "ill"]
    with pytest.raises(SystemExit) as stop:
        main(["attack", str(files["original"]), *words, "--json"])
    assert stop.value.code == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["holds"]
    assert next(a for a in found["attacks"] if a["name"] == "inference")["worst"] == "column 'ill'"
    with pytest.raises(SystemExit) as stop:
        main(["attack", str(files["fresh"]), *words])
    assert not stop.value.code
    assert "No attack did better than on people who were not in its making." in capsys.readouterr().out
    head, *fresh = files["fresh"].read_text().splitlines()
    leaking = [head, *fresh[10:], *files["original"].read_text().splitlines()[1:11]]
    (tmp_path / "leaking.csv").write_text("\n".join(leaking) + "\n")
    with pytest.raises(SystemExit) as stop:
        main(["attack", str(tmp_path / "leaking.csv"), *words])
    told = capsys.readouterr()
    assert stop.value.code == 1, "ten people are copied"
    assert "warning copies" in told.out
    assert "broken  exposed people" in told.out
    assert "No attack" not in told.out


def test_a_control_group_with_people_of_the_original_is_refused() -> None:
    original, control = people(400, 1), people(400, 2)
    mixed = {c: [*v[:200], *control[c][:200]] for c, v in original.items()}
    part = {c: v[-60:] for c, v in original.items()}
    for wrong in (original, mixed, part):
        with pytest.raises(DataError, match="the control group holds people of the original"):
            shoal.attack(original, original=original, control=wrong)


def test_people_who_are_alike_by_chance_are_no_overlap() -> None:
    rng = np.random.default_rng(1)
    one, two = (Rows((rng.integers(0, 2, 300), rng.integers(0, 40, 300) / 40.0)) for _ in range(2))
    assert not overlaps(one, two)
    assert not overlaps(one, two.take(np.arange(40)))
    assert not overlaps(one.take(np.arange(40)), two)
    for shared, found in ((55, False), (56, True)):  # the low end of the interval is on either side of a tenth
        a = Rows((np.arange(400),))
        b = Rows((np.concatenate((np.arange(shared), 1_000 + np.arange(400 - shared))),))
        assert overlaps(a, b) is found


def test_the_order_of_rows_changes_nothing() -> None:
    tables = [people(400, s) for s in (1, 2, 3)]
    turned = [{c: v[::-1] for c, v in t.items()} for t in tables]
    results = [shoal.attack(t, original=o, control=c).results for t, o, c in (tables, turned)]
    assert results[0] == results[1]


def earners(n, seed):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(18, 90, n).astype(float),
        "pay": np.round(np.exp(rng.normal(10, 0.8, n)), 2),
        "rent": np.round(np.exp(rng.normal(7, 0.4, n)), 2),
        "sex": rng.choice(["f", "m"], n),
    }


@pytest.mark.parametrize(
    ("copies", "extreme", "moved", "holds"), [(0, False, 0.0, True), (10, True, 0.1, False), (15, False, 0.0, False)]
)
def test_copies_of_a_few_unusual_people_break_a_synthetic_table(copies, extreme, moved, holds):
    """1.7 % of the people, one number moved by 0.1: no mean notices, those people do."""
    original, control, made = (earners(600, seed) for seed in (1, 2, 3))
    who = np.argsort(-original["pay"])[:copies] if extreme else np.arange(copies)
    for name, values in made.items():
        values[:copies] = original[name][who]
    made["pay"][:copies] += moved
    found = shoal.attack(pa.table(made), original=pa.table(original), control=pa.table(control))
    assert found.holds is holds
    exposed = {r.name: r for r in found.results}["exposed people"]
    assert exposed.verdict == ("holds" if holds else "broken")
    if not holds:
        assert f"{copies} of 600 people" in exposed.sentence


@pytest.mark.parametrize(("copies", "verdict"), [(0, "holds"), (1, "warning")])
def test_a_single_copy_is_a_warning_if_nobody_of_the_control_group_is_copied(copies, verdict):
    original, control, table = (earners(300, seed) for seed in (1, 2, 3))
    table = {c: [*original[c][:copies], *table[c][copies:]] for c in table}
    found = {r.name: r for r in shoal.attack(table, original=original, control=control).results}
    assert found["copies"].verdict == verdict


def test_unusual_people_are_found_by_their_numbers_alone():
    """Five people's numbers stand in records whose other columns are of others."""
    rng = np.random.default_rng(5)
    three = []
    for _ in range(3):
        made = {c: np.round(rng.normal(1000, 200, 400), 2).tolist() for c in ("pay", "rent")}
        three.append(made | {c: rng.choice(list("abcdefgh"), 400).tolist() for c in ("job", "town", "pet", "club")})
    original, control, table = three
    for c in ("pay", "rent"):
        table[c] = [*original[c][:8], *table[c][8:]]
    found = {r.name: r for r in shoal.attack(table, original=original, control=control).results}
    assert found["exposed people"].verdict == "broken"
    assert "by 'pay', 'rent'" in found["exposed people"].sentence


def test_as_many_copies_of_the_control_group_are_chance():
    original, control, table = (earners(300, seed) for seed in (1, 2, 3))
    table = {c: [original[c][0], control[c][0], *table[c][2:]] for c in table}
    found = {r.name: r for r in shoal.attack(table, original=original, control=control).results}
    assert found["copies"].verdict == "holds"


@pytest.mark.parametrize(
    ("twin_in", "outsider", "counts"), [(None, 0.05, True), (0, 0.05, False), (1, 0.05, False), (None, 0.0, False)]
)
def test_equal_records_count_only_if_nobody_has_a_twin_and_no_outsider_is_equalled(twin_in, outsider, counts):
    """Six people of the original are copied, and all outsiders nearly; a twin in either group shows that equal records happen."""
    groups = original, control = 1000.0 + np.arange(60), np.arange(60.0)
    if twin_in is not None:
        groups[twin_in][-1] = groups[twin_in][-2]
    table = np.concatenate([original[30:36], control + 0.05])  # the first ten are the most unusual
    table[6] = control[0] + outsider
    sides = [Rows((side,)) for side in (table, original, control)]
    found, _ = exposed_people(*sides, ["a"], np.random.default_rng(1))
    assert ("equals theirs" in found.sentence) == counts


def test_people_who_all_have_a_twin_are_told_apart_by_nobody():
    twice = Rows((np.repeat(np.arange(20.0), 2),))
    found, _ = exposed_people(twice, twice, twice, ["a"], np.random.default_rng(1))
    assert found.verdict == "holds"


def test_one_near_copy_of_the_most_unusual_person_is_found_and_heads_the_private_list(tmp_path):
    """No mean and no surplus notices one person of 500; a table made without her comes nowhere near her."""
    original, control, table = (earners(500, seed) for seed in (1, 2, 3))
    at = int(np.argmax(original["pay"]))
    for c in table:
        table[c][7] = original[c][at]
    table["pay"][7] += 0.5
    for name, side in (("original", original), ("control", control), ("table", table)):
        with (tmp_path / f"{name}.csv").open("w", newline="") as out:
            csv.writer(out).writerows([[*side], *zip(*side.values(), strict=True)])
    private = tmp_path / "exposed.json"
    asked = {"original": tmp_path / "original.csv", "control": tmp_path / "control.csv"}
    report = shoal.attack(tmp_path / "table.csv", **asked, exposed=private)
    found = next(r for r in report.results if r.name == "exposed people")
    assert found.verdict == "broken"
    assert "1 of 10 most unusual people" in found.sentence
    body = json.loads(private.read_text())
    assert private.stat().st_mode & 0o777 == 0o600
    assert body["format"] == "shoal-exposed/1"
    assert len(body["people"]) == 10
    assert "shoal-exposed" not in json.dumps(report.to_json())
    assert body["people"][0]["row"] == at + 1, "rows are counted from 1, as they stand in the file"
    assert (body["people"][0]["times_nearer"], body["people"][0]["columns"]) == ("equal", ["age", "rent", "sex"])
    factors = [math.inf if p["times_nearer"] == "equal" else p["times_nearer"] for p in body["people"]]
    assert factors == sorted(factors, reverse=True)
    assert sorted(body["people"][0]) == ["columns", "row", "times_nearer"]
    assert {c for p in body["people"] for c in p["columns"]} <= set(table)
    with pytest.raises(UsageError, match="exists already"):
        shoal.attack(tmp_path / "table.csv", **asked, exposed=private)
    with pytest.raises(UsageError, match="rows of the original"):
        shoal.attack(tmp_path, exposed=tmp_path / "other")
    fresh = shoal.attack(earners(500, 3), original=original, control=control)
    assert next(r for r in fresh.results if r.name == "exposed people").verdict == "holds"


def test_a_shadow_table_of_a_person_is_made_without_the_person():
    """One person far from all others: her own offspring lies near her, that of the others does not."""
    original, control = Rows((np.append(np.linspace(0, 0.1, 49), 1.0),)), Rows((np.linspace(0, 0.1, 50),))
    shadows = _Shadows(200, original, control, np.random.default_rng(1))
    assert 49 in shadows.people[0].tolist()
    assert (np.abs(shadows.made.columns[0] - 1.0) < 0.4).any(), "she has offspring"
    table = Rows((np.array([0.1, 0.55]),))
    near = shadows.closeness(table, [0])[0]
    ratio = near.ratio[near.rows.tolist().index(49)]
    assert ratio == pytest.approx(0.45 / 0.9, rel=0.02), "the others end at 0.1"


@pytest.mark.parametrize(("outsider", "counts"), [(2e-6, True), (1e-6, False), (5e-7, False)])
def test_one_near_record_counts_only_if_no_outsider_has_one_as_near(outsider, counts):
    rows = np.arange(3)
    own, other = _Near(rows, np.array([1.0, 1e-6, 0.0])), _Near(rows, np.array([1.0, outsider, 0.0]))
    chances = [chance for chance, *_ in _surplus(own, other, "is nearer to them, than")]
    assert (pytest.approx(3e-6) in chances) == counts


def test_copies_that_differ_in_two_columns_are_found():
    """Ten people copied with another town and another age; the other columns are theirs, or nearly."""
    towns = np.array([f"t{i % 30}" for i in range(400)])
    original, control, made = (earners(400, seed) | {"town": towns.copy()} for seed in (1, 2, 3))
    for column, values in original.items():
        made[column][:10] = values[100:110]
    made["town"][:10], made["age"][:10] = "t30", made["age"][:10] + 7
    made["pay"][:10] *= 1.0001
    found = shoal.attack(pa.table(made), original=pa.table(original), control=pa.table(control))
    exposed = {r.name: r for r in found.results}["exposed people"]
    assert (exposed.verdict, exposed.worst) == ("broken", "by 'pay', 'rent', 'sex'")


def test_one_record_is_described_once() -> None:
    """Ten records that a single column tells apart: ten tries, not five hundred of the same ten."""
    table = Rows((np.arange(10), np.zeros(10, dtype=np.int64)))
    result = continuous.singling_out(table, table, table, tries=500, rng=np.random.default_rng(1))
    assert "10 of 10 tries on the original" in result.sentence
    few = continuous.singling_out(table, table, table, tries=4, rng=np.random.default_rng(1))
    assert "4 of 4 tries on the original" in few.sentence
