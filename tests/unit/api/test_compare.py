"""``shoal.compare``: tables of every kind against their original, with the numbers of slow definitions."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, EmptyTableError, MissingColumnError, UsageError
from shoal.hierarchies import FromTree
from shoal.model.hierarchy import Hierarchy
from shoal.release.plan.decide import decide
from shoal.release.plan.prepare import prepare
from shoal.release.policy.policy import Policy

AGE = [31, 38, 45, 47, 52, 58, 31, 45]
SEX = ["f", "m", "f", "m", "f", "m", "f", None]
ILL = ["flu", "flu", "hiv", "flu", "flu", "hiv", "flu", "flu"]
BANDS = [f"{a // 10 * 10}-{a // 10 * 10 + 9}" for a in AGE]


def original() -> dict[str, list[object]]:
    return {"age": list(AGE), "sex": list(SEX), "ill": list(ILL)}


def compared(release: object, **words: object) -> shoal.Comparison:
    words = {"models": False, "frontier": False} | words
    return shoal.compare(original(), release, **words)  # type: ignore[arg-type]


def test_a_release_alone_is_compared_with_the_table_that_it_was_made_from() -> None:
    release = shoal.anonymize(original(), quasi=["age", "sex"], sensitive="ill", k=2, method="lattice")
    alone = shoal.compare(release, models=False, frontier=False)
    assert alone.to_json() == compared(release).to_json()
    assert alone.classes["k"]["before"] == 1
    assert alone.classes["k"]["after"] == release.k
    with pytest.raises(UsageError, match="the original is a release"):
        shoal.compare(release, original())
    with pytest.raises(UsageError, match="nothing to compare with"):
        shoal.compare(original())


def test_the_table_itself_loses_nothing_in_any_order() -> None:
    turned = {name: values[::-1] for name, values in original().items()}
    c = compared(turned, quasi=["age", "sex"], sensitive="ill", frontier=True)
    assert [x.kind for x in c.columns] == ["unchanged"] * 3
    for x in c.columns:
        assert (x.losses["granularity"], x.losses["mutual_information_loss"], x.distance) == (0.0, 0.0, 0.0)
    assert all(p.distance == 0.0 and (p.before == p.after or p.before != p.before) for p in c.pairs)
    assert c.propensity is not None
    assert c.propensity.pmse == pytest.approx(0.0, abs=1e-12)
    assert c.queries is not None
    assert c.queries.mean == 0.0
    assert c.classes["k"] == {"before": 1, "after": 1}
    assert c.classes["loss"] == 0.0
    assert c.classes["kl_divergence"] == pytest.approx(0.0)
    assert [p.k for p in c.frontier] == [2, 3, 5]
    assert c.frontier_why == ""


def test_the_release_itself_is_one_of_the_plans_at_its_k() -> None:
    """The least loss at a k is never above that of the release that has this k."""
    rng = np.random.default_rng(5)
    table = {"age": rng.integers(20, 60, 120).tolist(), "town": [f"t{i}" for i in rng.integers(0, 15, 120)]}
    made = shoal.protect(table, quasi=["age", "town"], k=5)
    c = shoal.compare(table, made.to_arrow(), quasi=["age", "town"], models=False)
    here = c.classes["loss"]
    assert here < 1
    points = {p.k: p for p in c.frontier}
    assert all(p.loss <= here + 1e-12 for k, p in points.items() if k <= c.classes["k"]["after"])
    assert [p.loss for p in c.frontier] == sorted(p.loss for p in c.frontier)
    assert {p.method for p in c.frontier} <= {"lattice", "local", "release"}


def towns(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({"age": rng.integers(20, 60, n), "town": [f"t{i}" for i in rng.integers(0, 15, n) // 2]})


def jobs(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    some = {"sex": rng.choice(["f", "m"], n), "job": rng.choice(["cook", "nurse", "judge", "smith"], n, p=[0.6, 0.2, 0.15, 0.05])}
    return pa.table({**some, "weight": rng.integers(45, 110, n)})


@pytest.mark.parametrize(("table", "gone"), [(towns(120, 5), 0), (towns(120, 5), 9), (jobs(90, 2), 0)])
def test_the_least_at_each_k_is_what_a_release_loses_by_default(table: pa.Table, gone: int) -> None:
    """Releases at each k; a plan for a larger group is one for a smaller group too. No method by hand loses less."""
    quasi = table.column_names
    c = shoal.compare(table, table.slice(gone), quasi=quasi, models=False)
    assert c.to_json()["frontier"]["scope"] == c.frontier_scope
    assert c.frontier_why == ""
    assert [p.k for p in c.frontier] == [2, 3, 5, 10, 20, 50]
    allow = {"suppress": gone / table.num_rows, "loss": 1, "blank": 1}
    made = {p.k: shoal.anonymize(table, quasi=quasi, k=p.k, allow=allow).decision for p in c.frontier}
    assert len({d.loss for d in made.values()}) >= 4
    for point in c.frontier:
        least = min((k for k in made if k >= point.k), key=lambda k: made[k].loss)
        assert (point.loss, point.method) == (made[least].loss, made[least].method)
        levels = prepare(shoal.open(table), Policy.of(quasi=quasi, k=point.k, allow=allow))
        for way in ({"method": "lattice"}, {"method": "local"}, {"method": "local", "local_cells": "sets"}):
            assert decide(replace(levels, policy=replace(levels.policy, **way))).loss >= point.loss - 1e-9


def test_levels_that_are_given_are_those_of_the_curve() -> None:
    """A hierarchy in two steps instead of the guessed one, as a policy states it."""
    table = towns(120, 5)
    rows = [[f"t{i}", f"part {i // 3}", "*"] for i in range(8)]
    c = shoal.compare(table, table, quasi=["age", "town"], hierarchies={"town": Hierarchy.from_rows("town", rows)}, models=False)
    found = prepare(shoal.open(table), Policy.of(quasi={"age": {}, "town": {}}, k=5, allow={"loss": 1, "blank": 1}))
    levels = {**found.hierarchies, "town": Hierarchy.from_rows("town", rows)}
    rules = {**found.rules, "town": FromTree(tuple(map(tuple, rows)))}
    made = decide(replace(found, hierarchies=levels, rules=rules))
    assert next(p.loss for p in c.frontier if p.k == 5) == pytest.approx(made.loss, abs=1e-12)


@pytest.mark.parametrize(("less", "planned"), [(0, 3), (1, 2), (10**9, 1)])
def test_the_planner_is_asked_about_as_many_k_as_its_work_allows(
    less: int, planned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The k nearest to the release come first; the others get one level per column, and the card says so. No clock decides."""
    table, quasi = towns(120, 5), ["age", "town"]
    whole = {p.k: p.loss for p in shoal.compare(table, table, quasi=quasi, models=False).frontier}
    n = shoal.open(table).count(quasi).n_classes
    monkeypatch.setattr("shoal.comparison.tables.PLANNED", max(0, 3 * 2 * (n * n + 10_000_000) - less))
    c = shoal.compare(table, table, quasi=quasi, models=False)
    late = [2, 3, 5, 10, 20, 50][planned:]
    shown = ", ".join(map(str, late))
    assert c.frontier_why == f"only one level per column was searched for k = {shown}: the original has {n} classes of 2 columns."
    assert all(p.loss <= whole[p.k] for p in c.frontier[:planned])
    assert [p.method for p in c.frontier][planned:] == ["lattice"] * len(late)


def test_a_recoded_table_by_hand() -> None:
    c = compared({"age": BANDS, "sex": SEX, "ill": ILL}, quasi=["age"], sensitive="ill")
    age = c.columns[0]
    assert age.kind == "recoded"
    values = sorted(set(AGE))
    cover = [sum(v // 10 == a // 10 for v in values) for a in AGE]
    assert age.losses["certainty_penalty"] == pytest.approx(np.mean([(x - 1) / (len(values) - 1) for x in cover]))
    width = [max(v for v in values if v // 10 == a // 10) - min(v for v in values if v // 10 == a // 10) for a in AGE]
    assert age.losses["granularity"] == pytest.approx(np.mean(width) / (58 - 31))
    assert age.distance == 0.0
    assert c.classes["k"] == {"before": 1, "after": 2}
    assert c.classes["discernibility"]["after"] == sum(n * n for n in Counter(BANDS).values())
    groups: dict[str, Counter[str]] = {}
    for band, ill in zip(BANDS, ILL, strict=True):
        groups.setdefault(band, Counter())[ill] += 1
    wrong = sum(sum(g.values()) - max(g.values()) for g in groups.values())
    assert c.classes["classification_metric"]["ill"]["after"] == pytest.approx(wrong / len(AGE))
    assert c.classes["ambiguity"] == pytest.approx(np.mean(cover))
    spread = {
        v: Counter(BANDS)[f"{v // 10 * 10}-{v // 10 * 10 + 9}"] / 8 / sum(w // 10 == v // 10 for w in values) for v in values
    }
    slow = sum(n / 8 * np.log2(n / 8 / spread[v]) for v, n in Counter(AGE).items())
    assert c.classes["kl_divergence"] == pytest.approx(slow)
    assert "age" in c.private["ill"]


def test_left_out_records_cost_everything() -> None:
    c = compared({"age": AGE[2:], "sex": SEX[2:], "ill": ILL[2:]}, quasi=["age"])
    assert c.records == (8, 6)
    assert c.columns[0].losses["granularity"] == pytest.approx(2 / 8)
    assert c.classes["discernibility"]["after"] == sum(n * n for n in Counter(AGE[2:]).values()) + 2 * 8
    assert c.sentence.startswith("6 records stand for 8")


def test_blank_cells_and_blank_columns() -> None:
    c = compared({"age": ["*"] * 8, "sex": ["f", "m", "*", "*", "f", "m", None, None], "ill": ILL})
    age, sex, _ = c.columns
    assert (age.kind, age.losses["granularity"], age.numbers, age.distance) == ("blank", 1.0, None, None)
    assert sex.losses["certainty_penalty"] == pytest.approx(3 / 8), "two stars, and one empty cell more than the original has"


def test_blank_columns_do_not_break_the_numbers_over_classes() -> None:
    c = compared({"age": ["*"] * 8, "sex": SEX, "ill": ILL}, quasi=["age", "sex"], analyses=["mean:age"])
    assert c.classes["kl_divergence"] is not None
    assert any("mean:age cannot be computed any more" in note for note in c.notes)


def test_local_recoding_is_compared_at_the_original_detail() -> None:
    c = compared({"age": ["31", "30-39", "40-49", "45-47", "50-59", "58", "31", "45"], "sex": SEX, "ill": ILL}, quasi=["age"])
    age = c.columns[0]
    assert age.kind == "recoded locally"
    assert age.losses["certainty_penalty"] == pytest.approx((0 + 1 + 1 + 1 + 1 + 0 + 0 + 0) / 5 / 8)
    assert "kl_divergence" not in c.classes
    assert c.pairs


def test_changed_numbers_have_distances_and_no_losses() -> None:
    c = compared({"age": [a + 0.5 for a in AGE], "sex": SEX, "ill": ILL})
    age = c.columns[0]
    assert age.kind == "changed numbers"
    assert set(age.losses.values()) == {None}
    assert age.numbers is not None
    assert age.numbers["mean"] == (pytest.approx(np.mean(AGE)), pytest.approx(np.mean(AGE) + 0.5))
    assert age.numbers["wasserstein"] == pytest.approx(0.5 / np.std(AGE))


def test_a_key_compares_record_by_record() -> None:
    ids = list("abcdefgh")
    before = {"id": ids, "x": [1.0, 2, 3, 4, 5, 6, 7, 8]}
    after = {"id": ids[::-1][:-1], "x": [8.0, 7, 6, 5, 4, 3, 2.5]}
    c = shoal.compare(before, after, key="id", models=False, frontier=False)
    x = np.array([2.0, 3, 4, 5, 6, 7, 8])
    assert c.columns[0].matched["il1s"] == pytest.approx(0.5 / np.sqrt(2) / x.std(ddof=1) / 7)
    assert c.columns[0].matched["squared_error"] == pytest.approx(0.25 / ((x - x.mean()) ** 2).sum())
    with pytest.raises(DataError, match="several rows"):
        shoal.compare({"id": ["a", "a"], "x": [1, 2]}, {"id": ["a", "b"], "x": [1, 2]}, key="id")
    with pytest.raises(DataError, match="in both tables"):
        shoal.compare({"id": ["a", "b"], "x": [1, 2]}, {"id": ["c", "d"], "x": [1, 2]}, key="id")


def test_cells_changed_are_counted_by_key() -> None:
    ids = list("abcd")
    c = shoal.compare(
        {"id": ids, "s": ["f", "m", "f", "m"]}, {"id": ids, "s": ["f", "m", "m", "f"]}, key="id", models=False, frontier=False
    )
    assert c.columns[0].matched["cells_changed"] == 0.5
    assert c.columns[0].distance == 0.0


def test_labels_that_nobody_can_read_are_told_and_a_hierarchy_helps(tmp_path: object) -> None:
    release = {"age": ["young" if a < 45 else "old" for a in AGE], "sex": SEX, "ill": ILL}
    c = compared(release)
    assert c.columns[0].kind == "not readable"
    assert any("2 labels (8 records)" in note and "--hierarchy age=FILE" in note for note in c.notes)
    tree = shoal.model.hierarchy.Hierarchy.from_rows("age", [[str(a), "young" if a < 45 else "old"] for a in sorted(set(AGE))])
    assert compared(release, hierarchies={"age": tree}).columns[0].kind == "recoded"
    with pytest.raises(MissingColumnError):
        compared(release, hierarchies={"town": tree})


def test_analyses_at_the_middle_of_groups_and_at_published_detail() -> None:
    c = compared({"age": BANDS, "sex": SEX, "ill": ILL}, analyses=["mean:age", "table:age,sex"])
    mean, table = c.analyses
    middle = {b: np.mean([v for v in set(AGE) if f"{v // 10 * 10}-{v // 10 * 10 + 9}" == b]) for b in BANDS}
    assert (mean.before, mean.after) == (pytest.approx(np.mean(AGE)), pytest.approx(np.mean([middle[b] for b in BANDS])))
    assert table.change == 0.0
    for wrong in ("mean:sex", "mean:town", "median:age"):
        with pytest.raises(UsageError):
            compared(original(), analyses=[wrong])


def test_models_are_trained_per_target_and_a_copy_does_not_win_by_memory() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    table = {"x": x, "noise": rng.integers(0, 50, 400), "y": np.where(x + rng.normal(size=400) > 0, "yes", "no")}
    c = shoal.compare(table, table, target="y", frontier=False)
    assert {m.score for m in c.models} == {"accuracy", "AUC"}
    assert len({m.model for m in c.models}) == 3
    for m in c.models:
        assert abs(m.before - m.after) < 0.08, m
        assert m.before > m.baseline
    numbers = shoal.compare(table, table, target="x", frontier=False)
    assert {m.score for m in numbers.models} == {"R²"}


def test_no_data_value_in_any_output(tmp_path: object) -> None:
    canary = ["canaryflu", *["canaryhiv"] * 7]
    c = shoal.compare({"age": AGE, "ill": canary}, {"age": BANDS, "ill": canary}, quasi=["age"], sensitive="ill")
    from shoal.report.comparison_report import comparison_html

    for text in (json.dumps(c.to_json()), repr(c), c._repr_html_(), comparison_html(c)):
        assert "canary" not in text
        assert "30-39" not in text
        assert "<script" not in text


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(DataError, match="no column in common"):
        shoal.compare({"a": [1]}, {"b": [1]})
    with pytest.raises(EmptyTableError):
        shoal.compare({"a": [1]}, pa.table({"a": pa.array([], pa.int64())}))
    with pytest.raises(MissingColumnError):
        shoal.compare({"a": [1], "b": [2]}, {"a": [1]}, quasi=["b"])


def test_columns_that_cannot_be_read_are_not_counted_as_kept_and_infinite_numbers_are_values() -> None:
    c = compared({"age": ["young"] * 8, "sex": SEX, "ill": ILL})
    assert "the cells of the 2 that can be read keep 100 % of the detail" in c.sentence
    infinite = {"x": [1.0, float("inf"), 3.0]}
    assert shoal.compare(infinite, infinite, models=False, frontier=False).columns[0].kind == "unchanged"


def test_a_release_is_compared_as_its_folder_is(tmp_path):
    """In a notebook the release is at hand and was never written: the same columns, losses and classes."""
    people = {"age": [31, 32, 33, 45, 46, 47] * 10, "sex": ["f", "m"] * 30, "ill": ["flu", "cold", "none"] * 20}
    release = shoal.protect(people, quasi=["age", "sex"], sensitive=["ill"], k=12)
    found = shoal.compare(people, release, models=False, frontier=False)
    folder = shoal.compare(people, release.write(tmp_path / "r"), models=False, frontier=False)
    assert found.columns == folder.columns
    assert (found.overall, found.classes, found.private) == (folder.overall, folder.classes, folder.private)
    assert found.classes["k"]["after"] >= 12
