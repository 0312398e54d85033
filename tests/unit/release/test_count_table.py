"""Tables of counts from records: recounted by hand, labels of rare categories, people once, nothing hidden in any output."""

from __future__ import annotations

import csv
import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli import build
from shoal.errors import DataError, InfeasibleError, UnreadableError, UsageError
from shoal.release.counts.protect import protect_table, with_margins
from shoal.release.counts.table import JOINED, MISSING, Crossed, alone


def some_people(seed: int, n: int = 600) -> dict[str, list[str]]:
    rng = np.random.default_rng(seed)
    return {
        "ward": rng.choice(["north", "south", "east", "tiny"], n, p=[0.5, 0.3, 0.195, 0.005]).tolist(),
        "ill": rng.choice(["flu", "cold", "burn"], n, p=[0.6, 0.37, 0.03]).tolist(),
        "sex": rng.choice(["f", "m"], n).tolist(),
    }


@pytest.mark.parametrize("seed", range(8))
def test_open_cells_are_the_counts_and_hidden_ones_keep_their_room(seed: int) -> None:
    people = some_people(seed)
    table = shoal.count_table(people, rows="ward", columns="ill", threshold=10)
    labels = [set(names) for names in table.crossed.labels]
    joined = [
        (w if w in labels[0] else JOINED, i if i in labels[1] else JOINED)
        for w, i in zip(people["ward"], people["ill"], strict=True)
    ]
    truth = Counter(key for w, i in joined for key in ((w, i), (w, "(all)"), ("(all)", i), ("(all)", "(all)")))
    for *key, count in table.rows():
        if count is not None:
            assert count == truth[tuple(key)]
            assert not 0 < count < 10
    assert table.attack.verdict == "holds"
    assert {truth[(name, "(all)")] >= 10 for name in table.crossed.labels[0]} == {True}


def test_a_category_at_the_threshold_is_named_and_one_below_is_joined_with_the_next() -> None:
    column = ["a"] * 40 + ["b"] * 30 + ["c"] * 10
    assert shoal.count_table({"x": column}, rows="x", threshold=10).crossed.labels[0] == ("a", "b", "c")
    fewer = shoal.count_table({"x": column[:-1]}, rows="x", threshold=10)
    assert fewer.crossed.labels[0] == ("a", JOINED)
    assert fewer.crossed.joined == (2,)
    assert shoal.count_table({"x": column[:-1]}, rows="x", threshold=10, public=True).crossed.labels[0] == ("a", "b", "c")


def test_rare_categories_that_are_enough_together_take_no_other() -> None:
    column = ["a"] * 40 + ["b"] * 6 + ["c"] * 6
    assert shoal.count_table({"x": column}, rows="x", threshold=10).crossed.labels[0] == ("a", JOINED)


def test_rare_categories_take_others_until_they_are_exactly_enough() -> None:
    enough = ["a"] * 40 + ["b"] * 5 + ["c"] * 5
    assert shoal.count_table({"x": enough}, rows="x", threshold=10).crossed.joined == (2,)
    fewer = ["a"] * 40 + ["b"] * 30 + ["c"] * 4 + ["d"] * 5
    found = shoal.count_table({"x": fewer}, rows="x", threshold=10).crossed
    assert (found.labels[0], found.joined) == (("a", JOINED), (3,))


def test_lines_without_anybody_tell_nothing() -> None:
    assert alone(Crossed(("a", "b"), (("x", "y"), ("u", "v")), np.array([[12, 3], [0, 0]]), (0, 0))) == 2
    assert alone(Crossed(("a", "b"), (("x",), ("u", "v")), np.array([[12, 15]]), (0, 0))) == 0, "a line of one cell is no news"


def test_nothing_but_rare_categories_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="too few people"):
        shoal.count_table({"x": ["a", "b", "c"]}, rows="x", threshold=10)


def test_missing_values_are_a_category() -> None:
    table = shoal.count_table({"x": ["a"] * 20 + [None] * 15}, rows="x")
    assert table.rows() == [("a", 20), (MISSING, 15), ("(all)", 35)]


def test_people_are_counted_once_or_the_table_is_refused() -> None:
    twice = {"id": [i // 2 for i in range(40)], "ward": [["a", "b"][i // 20] for i in range(40)]}
    assert shoal.count_table(twice, rows="ward", unit="id").rows() == [("a", 10), ("b", 10), ("(all)", 20)]
    moved = {**twice, "ward": [["a", "b"][i % 2] for i in range(40)]}
    with pytest.raises(DataError, match="several cells"):
        shoal.count_table(moved, rows="ward", unit="id")


def test_lines_with_all_people_in_one_cell_are_told() -> None:
    people = {"ward": ["a"] * 20 + ["b"] * 40, "ill": ["flu"] * 20 + ["flu", "cold"] * 20}
    found = shoal.count_table(people, rows="ward", columns="ill")
    assert [f for f in found.findings if "all people in one cell" in f]
    even = shoal.count_table({"ward": ["a", "b"] * 40, "ill": ["flu", "flu", "cold", "cold"] * 20}, rows="ward", columns="ill")
    assert not even.findings


def test_a_wide_table_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="2,500 cells"):
        shoal.count_table({"x": [str(i % 2500) for i in range(25_000)]}, rows="x")
    assert shoal.count_table({"x": [str(i % 2499) for i in range(24_990)]}, rows="x").cells == 2500


@pytest.mark.parametrize("method", ["suppress", "round"])
def test_no_output_holds_a_hidden_count(method: Any, tmp_path: Path) -> None:
    people = {"ward": ["a"] * 107 + ["b"] * 131, "ill": ["=x"] * 7 + ["n"] * 100 + ["=x"] * 60 + ["n"] * 71}
    table = shoal.count_table(people, rows="ward", columns="ill", method=method)
    assert table.hidden == 4
    out = table.write(tmp_path / "t.csv")
    rows = list(csv.reader(out.read_text("utf-8").splitlines()))
    assert sum(row[-1] == "" for row in rows) == 4
    assert all(not row[1].startswith("=") for row in rows)
    assert [None if r[-1] == "" else int(r[-1]) for r in rows[1:]] == [r[-1] for r in table.rows()]
    assert "7" not in {row[-1] for row in rows}
    assert "107" not in repr(table)


def test_the_command_prints_writes_and_says_it_in_json(tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    people = some_people(3)
    source.write_text("\n".join(["ward,ill,sex", *(",".join(r) for r in zip(*people.values(), strict=True))]), "utf-8")
    asked = ["table", str(source), "--rows", "ward", "--columns", "ill", "--layers", "sex"]
    done = CliRunner().invoke(build("table"), [*asked, "-o", str(tmp_path / "t.csv")])
    assert done.exit_code == 0, done.output
    assert "cells are hidden" in done.output
    assert "sex: (all)" in done.output
    told = json.loads(CliRunner().invoke(build("table"), [*asked, "--json"]).stdout)
    assert told["rows"] == [list(row) for row in shoal.count_table(source, rows="ward", columns="ill", layers=["sex"]).rows()]
    assert told["hidden"] == sum(row[-1] is None for row in told["rows"])


@pytest.mark.parametrize(("more", "refused"), [(0, False), (1, True), (9, True), (10, False)])
def test_a_table_that_differs_from_a_published_one_by_a_few_people_is_refused(tmp_path: Path, more: int, refused: bool) -> None:
    """The first table has 40 people in each of four cells; somebody who has both subtracts them."""
    wards, ill = ["north"] * 80 + ["=south"] * 80, (["flu"] * 40 + ["cold"] * 40) * 2
    earlier = shoal.count_table({"ward": wards, "ill": ill}, rows="ward", columns="ill").write(tmp_path / "first.csv")
    now = {"ill": ill + ["flu"] * more, "ward": wards + ["=south"] * more}
    for rows, columns in (("ward", "ill"), ("ill", "ward"), ("ward", None), ("ill", None)):
        if not refused:
            shoal.count_table(now, rows=rows, columns=columns, previous=[earlier])
            continue
        with pytest.raises(InfeasibleError, match="differ from the earlier table by fewer than 10 people"):
            shoal.count_table(now, rows=rows, columns=columns, previous=[earlier])


def test_tables_that_are_rounded_to_the_threshold_can_follow_each_other(tmp_path: Path) -> None:
    first, second = (
        shoal.count_table(some_people(3, n), rows="ward", columns="ill", method="round", base=10) for n in (600, 601)
    )
    second.compare_with(first.write(tmp_path / "first.csv"))


def test_nothing_to_compare_is_an_error_and_not_a_pass(tmp_path: Path) -> None:
    made = shoal.count_table(some_people(3), rows="ward")
    (tmp_path / "other.csv").write_text("sex,people\nf,\n", encoding="utf-8")
    with pytest.raises(DataError, match="no cell in common"):
        made.compare_with(tmp_path / "other.csv")
    for path in (tmp_path / "nowhere.csv", tmp_path):
        with pytest.raises(UnreadableError, match="cannot be read"):
            made.compare_with(path)
    for text in ("", "name,age\nann,3\n", "ward,people\nnorth,²\n", "ward,people\nnorth,many\n", "ward,people\nnorth\n"):
        (tmp_path / "table.csv").write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match="not a table of counts"):
            made.compare_with(tmp_path / "table.csv")


def test_the_command_refuses_and_writes_nothing(tmp_path: Path) -> None:
    rows = ["ward", *(["north"] * 30), *(["south"] * 30)]
    for name, lines in (("a.csv", rows), ("b.csv", [*rows, "south"])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = ["table", "--rows", "ward", "--out"]
    assert CliRunner().invoke(build(), [*run, str(tmp_path / "1.csv"), str(tmp_path / "a.csv")]).exit_code == 0
    again = CliRunner().invoke(
        build(), [*run, str(tmp_path / "2.csv"), str(tmp_path / "b.csv"), "--previous", str(tmp_path / "1.csv")]
    )
    assert again.exit_code != 0
    assert not (tmp_path / "2.csv").exists()


@pytest.mark.parametrize("counts", [[[4, 1], [1, 4]], [[2, 3], [3, 2]]])
def test_who_knows_that_zeros_are_published_cannot_confine_a_small_count(counts):
    """Brute force over all tables of whole numbers: a hidden cell has at least one person unless some hidden one has nobody."""
    made = protect_table(counts, threshold=5)
    full = with_margins(np.array(counts)).astype(int)
    hidden, inner = made.hidden, tuple(n - 1 for n in full.shape)
    least = int(not (full[hidden] == 0).any())
    free = [at for at in np.ndindex(inner) if hidden[at]]
    possible = {tuple(at): set() for at in np.argwhere(made.primary)}
    for values in itertools.product(range(least, 13), repeat=len(free)):
        table = full[: inner[0], : inner[1]].copy()
        for at, value in zip(free, values, strict=True):
            table[at] = value
        again = with_margins(table).astype(int)
        if (again[~hidden] == full[~hidden]).all():
            for at, seen in possible.items():
                seen.add(int(again[at]))
    assert made.attack.verdict == "holds"
    assert all(len(seen) >= 5 for seen in possible.values()), possible


def test_one_count_that_differs_by_a_few_people_is_enough(tmp_path: Path) -> None:
    table = shoal.count_table({"x": ["a"] * 20 + ["b"] * 30}, rows="x", threshold=10)
    earlier = table.write(tmp_path / "earlier.CSV")
    table.compare_with(earlier)
    text = earlier.read_text("utf-8")
    for before, refused in ((21, True), (29, True), (30, False)):
        earlier.write_text(text.replace("a,20", f"a,{before}"), "utf-8")
        if refused:
            with pytest.raises(InfeasibleError, match="1 of 3 counts differ"):
                table.compare_with(earlier)
        else:
            table.compare_with(earlier)
