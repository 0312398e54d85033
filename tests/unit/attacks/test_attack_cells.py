"""Attacks by what cells cover: local recoding, two releases, and a table with more columns than the quasi-identifiers."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.attacks.cells import MISSING, Shown, both_releases, covered, fitting, linked_by_cells
from shoal.cli import main
from shoal.errors import UsageError


def people(n=360, seed=1):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "zip": [f"{z:04d}" for z in rng.integers(1000, 1100, n)],
            "illness": rng.choice(list("abcdefgh"), n),
        }
    )


QUASI = ("age", "sex", "zip")


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """Two overlapping releases by local recoding, published as sets."""
    folder, table = tmp_path_factory.mktemp("local"), people()
    policy = {"roles": {"quasi": list(QUASI), "sensitive": ["illness"]}, "require": {"k": 5}, "method": "local", "cells": "sets"}
    for name, rows in (("new", table.slice(60)), ("old", table.slice(0, 300))):
        shoal.anonymize(rows, policy).write(folder / name)
    return folder


@pytest.mark.parametrize(
    ("label", "inside"),
    [
        ("{18, 31}", [0, 2]),
        ("20-29", [1]),
        ("18..31", [0, 1, 2]),
        ("85+", [3]),
        ("<25", [0]),
        ("[20, 31)", [1]),
        ("*", [0, 1, 2, 3, 4]),
        ("3", [2]),
        (MISSING, [4]),
        ("no label that can be read", [0, 1, 2, 3, 4]),
    ],
)
def test_what_a_label_covers(label, inside):
    found = covered([label], ["18", "25", "31", "90", MISSING])
    assert np.flatnonzero(found[:, 0]).tolist() == inside


def test_people_are_linked_by_the_cells_of_a_local_recoding(local):
    found = {r.name: r for r in shoal.attack(local / "new", with_=people().slice(60).select(list(QUASI))).results}
    assert found["linkage: known person"].verdict == "holds"
    assert found["linkage: known person"].rate == pytest.approx(0.2, abs=0.03)
    assert "300 people" in found["linkage: known person"].sentence
    strangers = pa.table({"age": [5] * 30, "sex": ["x"] * 30, "zip": ["9999"] * 30})
    nobody = {r.name: r.verdict for r in shoal.attack(local / "new", with_=strangers).results}
    assert nobody["linkage: known person"] == nobody["linkage: shared columns"] == "not run", "nothing compared is not success"


def test_two_releases_by_sets_are_intersected_and_every_certain_guess_is_right(local, capsys):
    both = people().slice(60, 240)
    found = {r.name: r for r in shoal.attack(local / "new", with_=both, previous=[local / "old"]).results}
    told = found["intersection: values of 'illness', by cells"]
    assert (told.verdict, told.rate > 0) == ("broken", True)
    without = {r.name: r for r in shoal.attack(local / "new", previous=[local / "old"]).results}
    assert without["intersection: values of 'illness', by cells"].verdict == "warning", "who has such values is not known"
    right, wrong = guesses(local, both)
    assert (right, wrong) == (int(told.worst.split()[0]), 0)
    pq.write_table(both, local / "both.parquet")
    with pytest.raises(SystemExit) as ended:
        main(["attack", str(local / "new"), "--with", str(local / "both.parquet"), "--previous", str(local / "old")])
    assert ended.value.code == 1
    assert "No attack did better" not in capsys.readouterr().out


def guesses(folder, table):
    """A script of its own: sets are split, and what all fitting records of both files share is guessed."""
    files = [(folder / n / "data.csv").read_text().splitlines()[1:] for n in ("new", "old")]
    rows = [[[c.strip("{}").split(", ") for c in line[1:-1].split('","')] for line in lines] for lines in files]
    right = wrong = 0
    for person in table.to_pylist():
        left = []
        for records in rows:
            fits = [r for r in records if all(r[i] == ["*"] or str(person[c]) in r[i] for i, c in enumerate(QUASI))]
            left.append({r[3][0] for r in fits})
        sure = left[0] & left[1]
        if len(sure) == 1 < min(map(len, left)):
            right, wrong = right + (person["illness"] in sure), wrong + (person["illness"] not in sure)
    return right, wrong


@pytest.mark.parametrize("seed", range(4))
def test_values_left_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    sets = ["{" + ", ".join(map(str, s)) + "}" for s in itertools.combinations(range(5), 2)]
    new, old = (
        Shown(
            {"q": rng.choice(sets, 12).tolist(), "r": rng.choice(["a", "b", "*"], 12).tolist()},
            {"s": rng.choice(list("xyz"), 12).tolist()},
        )
        for _ in range(2)
    )
    who = {"q": [str(i) for i in range(5) for _ in "ab"], "r": ["a", "b"] * 5}
    certain = 0
    for q, r in zip(who["q"], who["r"], strict=True):
        left = [
            {s for a, b, s in zip(x.quasi["q"], x.quasi["r"], x.sensitive["s"], strict=True) if q in a and b in (r, "*")}
            for x in (new, old)
        ]
        certain += len(left[0] & left[1]) == 1 < min(map(len, left))
    found = both_releases(new, old, "s", who, distinct=1)
    assert int(found.worst.split()[0]) == certain
    assert fitting(new, who).shape == (10, 12)
    assert linked_by_cells(new, who, k=1)[0].verdict == "holds"


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    """Two columns microaggregated one by one, let through by a person."""
    rng = np.random.default_rng(3)
    n = 240
    table = pa.table(
        {
            "age": rng.integers(20, 70, n),
            "illness": rng.choice(["a", "b", "c"], n),
            "x0": np.round(rng.normal(100, 20, n), 2),
            "x1": np.round(rng.normal(100, 20, n), 2),
        }
    )
    policy = {
        "roles": {"quasi": ["age"], "sensitive": ["illness"], "insensitive": ["x0", "x1"]},
        "require": {"k": 5},
        "transform": {c: {"microaggregate": {"k": 5}} for c in ("x0", "x1")},
        "allow": {"identifying": dict.fromkeys(("x0", "x1"), "generated for a test")},
    }
    folder = tmp_path_factory.mktemp("grouped")
    shoal.anonymize(table, policy).write(folder / "out")
    pq.write_table(table.drop_columns(["illness"]), folder / "known.parquet")
    return folder


def test_a_table_with_the_changed_columns_finds_what_the_joint_attacker_finds(grouped, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["attack", str(grouped / "out"), "--with", str(grouped / "known.parquet"), "--hunt"])
    printed = capsys.readouterr().out
    assert ended.value.code == 1
    found = {r.name: r for r in shoal.attack(grouped / "out", with_=grouped / "known.parquet", hunt=True).results}
    assert found["linkage: shared columns"].rate == pytest.approx(found["further knowledge"].rate, abs=0.1)
    assert found["linkage: shared columns"].rate > 0.9
    assert "Whoever knows 'x0' and 'x1' finds" in found["hunt"].sentence, "the fewest columns that win"
    assert found["hunt"].sentence in printed
    with pytest.raises(UsageError, match="needs the table"):
        shoal.attack(grouped / "out", hunt=True)
