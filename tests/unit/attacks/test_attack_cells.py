"""Attacks by what cells cover: local recoding, two releases, and a table with more columns than the quasi-identifiers."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.api.attack_external import Family
from shoal.attacks import cells
from shoal.attacks.cells import MISSING, LinkedRows, Shown, both_releases, covered, fitting, linked_by_cells
from shoal.cli import main
from shoal.errors import UsageError
from shoal.release.linked.certificate import read_linked


def people(n=360, seed=1):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 48, n),
            "sex": rng.choice(["f", "m"], n),
            "zip": [f"{z:04d}" for z in rng.integers(1000, 1020, n)],
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
    assert "Anyone who knows 'x0' and 'x1' finds" in found["hunt"].sentence, "the fewest columns that win"
    assert found["hunt"].sentence in printed
    with pytest.raises(UsageError, match="needs the table"):
        shoal.attack(grouped / "out", hunt=True)


def test_every_release_is_searched_by_all_its_own_columns():
    """'r' is published by one release only; it leaves one value of two that both have in common."""
    new = Shown({"q": ["a", "a"]}, {"s": ["x", "y"]})
    old = Shown({"q": ["a", "a", "a"], "r": ["1", "1", "2"]}, {"s": ["x", "z", "y"]})
    both = both_releases(new, old, "s", {"q": ["a"], "r": ["1"]}, distinct=1)
    assert (both.verdict, both.worst) == ("broken", "1 with one value left")
    assert both_releases(new, old, "s", {"q": ["a"]}, distinct=1).verdict == "holds"


def test_classes_that_overlap_harmlessly_are_said_to_be():
    new, old = (Shown({"q": ["a", "a"]}, {"s": ["x", "y"]}) for _ in range(2))
    found = both_releases(new, old, "s", None, distinct=1)
    assert (found.verdict, found.rate) == ("holds", 0.0)
    assert found.sentence == "No two classes of the releases that overlap have fewer than 2 values of 's' in common."


@pytest.fixture(scope="module")
def hidden(tmp_path_factory):
    """A label exchanged at random, two dates moved by a secret key, and numbers with the same noise."""
    rng = np.random.default_rng(6)
    n = 240
    job = rng.choice([f"job{i}" for i in range(12)], n)
    day = [pa.array(rng.integers(18_000, 20_000, n).astype(np.int32)).cast(pa.date32()) for _ in range(2)]
    x = rng.normal(1000, 200, (n, 3)).round(2)
    table = pa.table({"who": [f"p{i}" for i in range(n)], "age": rng.integers(20, 60, n), "job": job, "d0": day[0], "d1": day[1]})
    for i in range(3):
        table = table.append_column(f"x{i}", pa.array(x[:, i]))
    kinds = sorted(set(job))
    stay = [[0.8 + 0.2 / len(kinds) if a == b else 0.2 / len(kinds) for b in kinds] for a in kinds]
    factor = np.zeros((3, 3)) + np.eye(3)
    factor[:, 0] += 900
    moved = {"date_shift": {"unit": "who", "days": 700, "domain": "one"}}
    others = ["x1", "x2"]
    policy = {
        "roles": {"direct": ["who"], "quasi": ["age"], "insensitive": ["job", "d0", "d1", "x0", *others]},
        "require": {"k": 5},
        "transform": {
            "job": {"pram": {"categories": kinds, "matrix": stay}},
            "d0": moved,
            "d1": moved,
            "x0": {"correlated_noise": {"others": others, "share": 1.0, "factor": factor.tolist()}},
        },
        "allow": {"identifying": dict.fromkeys(("job", "d0", "d1", "x0", *others), "generated for a test")},
    }
    folder = tmp_path_factory.mktemp("hidden")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOAL_KEY", "0123456789abcdefghijklmnopqrstuv")
        shoal.anonymize(table, policy).write(folder / "out")
    return folder / "out", table


@pytest.mark.parametrize(
    ("known", "named"),
    [
        ("job", "'age' and 'job'"),
        ("d0 d1", "'d0' and 'd1'"),
        ("x0 x2", "'x0' and 'x2'"),
    ],
)
def test_a_hunt_uses_labels_dates_and_numbers_that_are_changed_at_random(hidden, known, named):
    folder, table = hidden
    own = table.select(["age", *known.split()])
    found = {r.name: r for r in shoal.attack(folder, with_=own, hunt=True).results}
    assert found["hunt"].verdict == "broken"
    assert f"Anyone who knows {named} finds" in found["hunt"].sentence


def test_a_hunt_says_what_it_did_not_try(grouped):
    """Sets of four columns and more are tried if they extend the best smaller ones."""
    rng = np.random.default_rng(8)
    n = 240
    table = pa.table({"age": rng.integers(20, 60, n), **{f"y{i}": rng.normal(100, 20, n).round(2) for i in range(8)}})
    policy = {
        "roles": {"quasi": ["age"], "insensitive": [f"y{i}" for i in range(8)]},
        "require": {"k": 5},
        "transform": {f"y{i}": {"noise": {"scale": 28}} for i in range(8)},
        "method": "lattice",  # local recoding keeps so much of the age that two columns would do
        "seed": 3**80,
    }
    shoal.anonymize(table, policy).write(grouped / "noisy")
    found = {r.name: r for r in shoal.attack(grouped / "noisy", with_=table, hunt=True).results}["hunt"]
    assert found.verdict == "broken"
    named = found.sentence.split(" finds ")[0].count("'") // 2
    assert 4 < named < 9, "more than three columns, and not all of them"
    assert "None of the attackers tried does with fewer columns." in found.sentence


def shown_cells(*classes: tuple[str, str]) -> Shown:
    """One column of labels, and the values of each class, one letter each."""
    rows = [(label, value) for label, values in classes for value in values]
    return Shown({"age": [label for label, _ in rows]}, {"ill": [value for _, value in rows]})


def test_every_combination_that_two_classes_share_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five of six common ages fit a third class too; the last one alone leaves one value. Four tries per pair said "holds"."""
    new = shown_cells(("{1, 2, 3, 4, 5, 6}", "ab"), ("{1, 2, 3, 4, 5}", "cd"))
    old = shown_cells(("{1, 2, 3, 4, 5, 6}", "ad"))
    found = both_releases(new, old, "ill", None, distinct=2)
    assert (found.verdict, found.worst) == ("warning", "1 with one value left")
    monkeypatch.setattr(cells, "MOST_FITS", 7 * 4 - 1)  # six ages and the missing one, four records
    some = both_releases(new, old, "ill", None, distinct=2)
    assert some.verdict == "not run", "what was not tried is not said to hold"
    monkeypatch.setattr(cells, "MOST_FITS", 7 * 4)
    assert both_releases(new, old, "ill", None, distinct=2).verdict == "warning"


def test_values_between_the_ends_of_two_ranges_are_tried() -> None:
    """30 and 39 stand in a set beside; 34 stands in the two ranges only."""
    new, old = shown_cells(("30-39", "ab"), ("{30, 39}", "cd")), shown_cells(("30-39", "ad"))
    assert both_releases(new, old, "ill", None, distinct=2).worst == "1 with one value left"


@pytest.mark.parametrize("value", ["5", "9", "10", "34", "80", "99", MISSING])
def test_bands_without_a_known_value_do_not_fit_everybody(value: str) -> None:
    """A table of one person: whoever holds it reads 20-29 as well as somebody with a large table."""
    labels = ["<10", "10-19", "20-29", "30-39", "80+", "*"]
    number = None if value == MISSING else int(value)
    wanted = [number is not None and low <= number <= high for low, high in ((0, 9), (10, 19), (20, 29), (30, 39), (80, 999))]
    assert covered(labels, [value])[0].tolist() == [*wanted, number is not None or covered(["*"], [value])[0, 0]]


def test_a_suppressed_cell_does_not_make_the_ranges_of_its_column_unreadable() -> None:
    """'*' is not a value: with it among the numbers, 30-39 would fit everybody, and nothing be found."""
    new = shown_cells(("30-39", "ab"), ("50-59", "cd"), ("*", "ee"))
    old = shown_cells(("{34, 36}", "ad"), ("{52, 53}", "cd"))
    assert both_releases(new, old, "ill", None, distinct=2).worst == "2 with one value left"


AGES, WARDS, BLOOD = [30, 31, 32, 40, 41, 42] * 2, [*"aabbab"] * 2, "AB0AB00BA0BA"


def hospital(out, *, known=None, age=1, ward=0):
    """Twelve people with a blood group each, and two visits: one in ward a or b, one in c."""
    person = {"id": [*range(12)], "age": AGES, "blood": [*BLOOD]}
    visits = {"who": [*range(12)] * 2, "ward": WARDS + ["c"] * 12, "ill": [f"i{i % 5}" for i in range(24)]}
    banded = {"hierarchy": {"intervals": [10]}, "min_level": age}
    policy = {
        "tables": {
            "person": {"table": person, "roles": {"quasi": {"age": banded}, "sensitive": ["blood"]}},
            "visits": {"table": visits, "roles": {"quasi": {"ward": {"min_level": ward}}, "sensitive": ["ill"]}},
        },
        "links": {"visits.who": "person.id"},
        "require": {"k": 2} | ({} if known is None else {"known": known}),
        "allow": {"loss": 1},
    }
    return shoal.anonymize_tables(policy).write(out)


def visitors(wards=WARDS):
    return pa.table({"id": [*range(12)], "age": AGES, "ward": wards})


def result(found, name):
    return next((r.verdict, r.rate) for r in found.results if r.name == name)


PERSON = "linkage: known person"
BLOOD_LEFT = "intersection: values of 'blood', by cells"


@pytest.fixture(scope="module")
def linked(tmp_path_factory):
    """Linked releases: decades and wards; exact ages; decades without wards; wards without ages."""
    folder = tmp_path_factory.mktemp("linked")
    hospital(folder / "both")
    hospital(folder / "exact", known=1, age=0)
    hospital(folder / "ages", ward=2)
    hospital(folder / "wards", age=2)
    return folder


@pytest.mark.parametrize(
    ("external", "expected"),
    [
        pytest.param(visitors(), ("holds", 1 / 3), id="a decade and a ward: two or four people"),
        pytest.param(visitors().select(["age"]), ("holds", 1 / 6), id="ages only: every row is a person"),
        pytest.param(visitors().select(["id", "ward"]), ("holds", 1 / 6), id="wards only"),
        pytest.param(visitors().rename_columns(["id", "age", "visits.ward"]), ("holds", 1 / 3), id="named by its table"),
        pytest.param(visitors([None] * 12), ("holds", 1 / 6), id="a missing ward is not a known row"),
        pytest.param(pa.concat_tables([visitors(), visitors(["c"] * 12)]), ("holds", 1 / 3), id="two rows of each person"),
        pytest.param(pa.concat_tables([visitors(), visitors()]), ("not run", None), id="two visits in one ward: nobody has them"),
    ],
)
def test_people_and_their_rows_are_held_against_all_linked_tables(linked, external, expected):
    verdict, rate = result(shoal.attack(linked / "both", with_=external), PERSON)
    assert (verdict, rate) == (expected[0], None if expected[1] is None else pytest.approx(expected[1]))


def test_more_rows_than_the_release_claims_are_a_warning(tmp_path):
    """One known row leaves two people; a person in two wards is one of a kind by both, which nothing claims."""
    visits = {"who": [0, 0, 1, 2, 3, 4, 5], "ward": [*"ababaab"]}
    policy = {
        "tables": {
            "person": {"table": {"id": [*range(6)], "age": [30] * 6}, "roles": {"quasi": ["age"]}},
            "visits": {"table": visits, "roles": {"quasi": ["ward"]}},
        },
        "links": {"visits.who": "person.id"},
        "require": {"k": 2, "known": 1},
        "allow": {"loss": 1},
    }
    out = shoal.anonymize_tables(policy).write(tmp_path / "out")
    seen = pa.table({"id": [0, 0], "ward": ["a", "b"]})
    assert result(shoal.attack(out, with_=seen), PERSON) == ("warning", 1.0)
    assert result(shoal.attack(out, with_=seen.slice(0, 1)), PERSON) == ("holds", 0.25)


def test_a_hunt_in_linked_tables_names_the_fewest_columns(linked, tmp_path, capsys):
    """Of two by exact age, with k = 2: nobody wins. In a release that claims 1 in 5, whoever knows the age does."""
    found = shoal.attack(linked / "exact", with_=visitors(), hunt=True)
    assert result(found, "hunt") == ("holds", 0.5)
    assert next(r.worst for r in found.results if r.name == "hunt") == "3 attackers tried"
    family = Family.of(visitors(), read_linked(linked / "exact" / "certificate.json").tables, 0)
    won = family.hunted(Shown({"age": [str(a) for a in AGES]}, {}), 5)
    assert (won.verdict, won.rate) == ("broken", 0.5)
    assert "Anyone who knows 'age' finds 50.0% of 12 people; the release claims at most 20.0%" in won.sentence


def test_two_linked_releases_leave_one_value(linked):
    """Somebody knows the decade and the ward of everybody: the blood groups of both are intersected."""
    decade = {d: {b for a, b in zip(AGES, BLOOD, strict=True) if a // 10 == d} for d in (3, 4)}
    ward = {w: {b for x, b in zip(WARDS, BLOOD, strict=True) if x == w} for w in "ab"}
    left = [len(decade[a // 10] & ward[w]) for a, w in zip(AGES, WARDS, strict=True)]
    assert min(left) > 1, "nobody is certain by ages and wards alone"
    assert result(shoal.attack(linked / "wards", previous=linked / "ages", with_=visitors()), BLOOD_LEFT) == ("holds", 0.0)
    assert result(shoal.attack(linked / "wards", previous=linked / "ages"), BLOOD_LEFT) == ("holds", 0.0)
    both = shoal.attack(linked / "both", previous=[linked / "exact"], with_=visitors())
    alike = [
        {b for a2, w2, b in zip(AGES, WARDS, BLOOD, strict=True) if (a2 // width, w2) == (a // width, w)}
        for width in (10, 1)
        for a, w in zip(AGES, WARDS, strict=True)
    ]
    certain = [len(one & two) == 1 < min(len(one), len(two)) for one, two in zip(alike[:12], alike[12:], strict=True)]
    assert result(both, BLOOD_LEFT) == ("broken" if any(certain) else "holds", pytest.approx(np.mean(certain)))


def test_a_table_beside_an_earlier_linked_release_and_the_reverse(linked, tmp_path):
    table = pa.table({"age": AGES, "blood": [*BLOOD]})
    policy = {"roles": {"quasi": {"age": {"hierarchy": {"intervals": [10]}}}, "sensitive": ["blood"]}, "require": {"k": 2}}
    plain = shoal.anonymize(table, policy).write(tmp_path / "plain")
    for new, old in ((plain, linked / "both"), (linked / "both", plain)):
        assert result(shoal.attack(new, previous=[old]), BLOOD_LEFT)[0] == "holds"
    both = shoal.attack(plain, previous=[linked / "both", linked / "wards"])
    assert {f"{BLOOD_LEFT}, with both", f"{BLOOD_LEFT}, with wards"} <= {r.name for r in both.results}, "each under its name"


def test_a_requested_comparison_that_was_not_run_is_not_a_success(linked, tmp_path, capsys):
    """Two releases without a common quasi-identifier: the last line does not say that no attack did better."""
    table = pa.table({"size": [1, 1, 2, 2], "blood": [*"AABB"[::-1]]})
    policy = {"roles": {"quasi": ["size"], "sensitive": ["blood"]}, "require": {"k": 2}}
    other = shoal.anonymize(table, policy).write(tmp_path / "other")
    with pytest.raises(SystemExit) as ended:
        main(["attack", str(linked / "ages"), "--previous", str(other)])
    told = capsys.readouterr().out
    assert ended.value.code == 0
    assert "not run intersection: by cells: Not run: the releases share no quasi-identifier." in told
    assert "Of the attacks that you asked for, 1 could not be run" in told
    assert "No attack did better" not in told
    assert "can be handed over" not in told


def test_labels_beside_sets_are_values_of_others():
    assert covered(["{a, b}", "c", "*"], ["a", "b"]).astype(int).tolist() == [[1, 0, 1], [1, 0, 1]]
    assert covered(["c", "a"], ["a"]).tolist() == [[True, True]], "without sets it may be the name of a group"


def rows_of(table, person, wards):
    return LinkedRows(table, np.array(person, dtype=np.int64), {"ward": list(wards)})


def in_wards(ages, values, wards):
    return Shown({"age": ages}, {"s": list(values)}, (rows_of("visits", range(len(wards)), wards),))


def test_groups_of_linked_tables_overlap_by_attributes_and_rows(monkeypatch):
    """Both decades are in ward x, where the earlier release has two people: with the thirties they share one value."""
    new = in_wards(["30-39"] * 2 + ["40-49"] * 2, "abcd", "xxxx")
    found = both_releases(new, in_wards(["*"] * 4, "aecd", "xxyy"), "s", None, distinct=1)
    assert (found.verdict, found.rate, found.worst) == ("warning", 1.0, "1 with one value left")
    assert "For 1 of 1 pairs of groups that overlap" in found.sentence
    alike = in_wards(["*"] * 4, "abcd", "xxyy")
    for most, verdict in ((4, "holds"), (3, "not run")):  # two groups of each release
        monkeypatch.setattr(cells, "MOST_PAIRS", most)
        assert both_releases(new, alike, "s", None, distinct=1).verdict == verdict
    apart = both_releases(in_wards(["30-39"], "a", "x"), in_wards(["40-49"], "a", "x"), "s", None, distinct=1)
    assert apart.verdict == "not run", "nobody can be in both"


@pytest.mark.parametrize(
    ("new", "old", "together"),
    [
        pytest.param([0, 1], [0, 1], True, id="each its own"),
        pytest.param([0, 0], [0, 1], False, id="two rows need the same one"),
        pytest.param([1, 0], [2, 0], True, id="the second row pushes the first aside"),
        pytest.param([0], [0, 0, 1], True, id="rows may be added"),
        pytest.param([0, 0, 1], [0], True, id="or be fewer now"),
        pytest.param([], [1], True, id="no row"),
    ],
)
def test_rows_are_placed_one_by_one(new, old, together):
    overlap = np.array([[1, 0, 0], [1, 1, 1]], dtype=bool)
    overlap = np.vstack([overlap, [0, 0, 1]])
    assert cells._placed(new, old, overlap) is together


def test_known_rows_are_looked_for_in_their_own_table():
    """Only the first person has rows of another table; a table without known rows excludes nobody."""
    shown = Shown({"age": ["*", "*"]}, {}, (rows_of("visits", [0, 1], "xy"), rows_of("tests", [0], "x")))
    people = {"id": ["p"]}
    assert fitting(shown, people, [rows_of("visits", [0], "x")]).tolist() == [[True, True]], "'y' may be a group"
    assert fitting(shown, people, [rows_of("visits", [0], "x"), rows_of("tests", [], "")]).tolist() == [[True, True]]
    assert fitting(shown, people, [rows_of("tests", [0], "x")]).tolist() == [[True, False]]


def hashed(table, out, quasi):
    roles = {"direct": {"name": {"mask": "pseudonym"}}, "quasi": quasi, "sensitive": ["illness"], "insensitive": ["town"]}
    policy = {"roles": {**roles, "rest": "drop"}, "require": {"k": 4}, "transform": {"town": {"keyed_hash": {}}}}
    policy["allow"] = {"identifying": {"town": "made for a test"}}
    return shoal.anonymize(table, policy).write(out)


def test_columns_behind_a_key_are_attacked(tmp_path, monkeypatch):
    """The key is secret: names that both releases hash with it join records, towns are told apart by their people."""
    monkeypatch.setenv("SHOAL_KEY", "".join(f"{i:x}" for i in range(40)))
    rng, n = np.random.default_rng(1), 200
    table = {"name": [f"n{i}" for i in range(n)], "age": rng.integers(20, 70, n), "sex": rng.choice(["f", "m"], n)}
    table |= {"town": rng.choice(list("abcdefgh"), n, p=1 / np.arange(1, 9) / (1 / np.arange(1, 9)).sum())}
    table = pa.table(table | {"illness": rng.choice(["u", "v", "w"], n)})
    one, two = hashed(table.slice(0, 150), tmp_path / "one", ["age"]), hashed(table.slice(50), tmp_path / "two", ["sex"])
    joined = shoal.attack(two, previous=one)
    assert result(joined, "intersection: joined records") == ("warning", 100 / 150)
    assert any("equal pseudonyms of the same key" in r.sentence for r in joined.results)
    known = table.select(["age", "town"])
    rates = {
        (columns, len(people)): result(shoal.attack(one, with_=people.select(columns), hunt=True), "hunt")[1]
        for columns in (("age",), ("age", "town"))
        for people in (known.slice(0, 150), known)
    }
    exact, superset = (rates[("age", "town"), n] / rates[("age",), n] for n in (150, 200))
    assert exact > superset > 1.5, "more people than in the release blur the groups"


# --- by hand ------------------------------------------------------------------------------------------------------------------


def test_what_a_label_that_cannot_be_read_covers() -> None:
    """Beside sets other texts are values, but not where all values are numbers; a band without a known value covers none."""
    assert covered(["{31, 45}", "abc"], ["31"]).tolist() == [[True, True]]
    assert covered(["{a, b}", "abc"], ["a"]).tolist() == [[True, False]]
    assert covered([">30"], ["25", "30"]).tolist() == [[False], [False]]
    assert covered(["<30"], ["30", "35"]).tolist() == [[False], [False]]


def test_the_worst_chance_decides_and_all_records_that_fit_make_a_value_sure() -> None:
    """One of four people fits one record; the others fit the same four, of two values: on average a chance below one half."""
    towns, ills = ["a", "b", "b", "b", "b", "z"], ["flu", "flu", "flu", "cold", "flu", "rash"]
    shown = Shown({"town": towns}, {"ill": ills}, exact=frozenset({"town"}))
    linkage, ill = linked_by_cells(shown, {"town": ["a", "b", "b", "b"]}, k=2)
    assert (linkage.rate, linkage.verdict, linkage.claimed) == (0.4375, "broken", 0.5)
    assert (ill.rate, ill.verdict) == (0.25, "warning")
    assert "records fit 4 people" in linkage.sentence
    doubt, _ = linked_by_cells(shown, {"town": ["a", "c"]}, k=2, above="warning")
    assert (doubt.verdict, doubt.claimed, doubt.rate) == ("warning", None, 1.0)
    even, sure = linked_by_cells(shown, {"town": ["b"]}, k=4)
    assert (even.verdict, sure.rate, sure.verdict) == ("holds", 0.0, "holds")


def test_a_row_that_is_known_twice_must_be_there_twice() -> None:
    """Person 0 was twice in ward a, person 1 once."""
    rows = LinkedRows("visits", np.array([0, 0, 1]), {"ward": ["a", "a", "a"]})
    shown = Shown({"sex": ["f", "f"]}, {}, (rows,))
    for times, expected in ((1, [True, True]), (2, [True, False]), (3, [False, False])):
        known = LinkedRows("visits", np.zeros(times, dtype=np.int64), {"ward": ["a"] * times})
        assert fitting(shown, {"sex": ["f"]}, [known]).tolist() == [expected]


def test_each_of_the_fewer_rows_has_one_of_its_own() -> None:
    """Classes of the new release in rows, of the old one in columns."""
    overlap = np.array([[False], [True]])
    assert cells._placed([0, 1], [0], overlap)
    assert not cells._placed([0, 0], [0], overlap)
    assert not cells._placed([0, 1], [0, 0], overlap), "one row of the two overlaps none"
    crossed = np.array([[True, True], [True, False]])
    assert cells._placed([0, 1], [0, 1], crossed), "the first makes room"
    assert not cells._placed([1, 1], [0, 1], crossed)
