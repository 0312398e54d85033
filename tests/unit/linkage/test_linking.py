"""Linkage of generated people with typing errors: better than equal fields, the same in any order, silent about values."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.errors import DataError, UsageError
from shoal.linkage import model as em
from shoal.linkage.blocking import candidate_pairs
from shoal.linkage.model import Model
from shoal.linkage.records import fields_of, records_of
from shoal.linkage.similarity import LEVELS, levels
from typing_errors import FIELDS, people_twice


@pytest.fixture(scope="module")
def table() -> dict[str, list[str]]:
    return people_twice(400, seed=7)


@pytest.fixture(scope="module")
def found(table: dict[str, list[str]]) -> shoal.Link:
    return shoal.link(table, fields=FIELDS, truth="person")


def equal_fields(table: dict[str, list[str]]) -> float:
    """The recall of equal spelling of given name, family name and birth date."""
    keys: dict[Any, list[str]] = {}
    for person, *key in zip(table["person"], *(table[c] for c in ("first", "last", "dob")), strict=True):
        keys.setdefault(tuple(key), []).append(person)
    right = sum(c * (c - 1) // 2 for group in keys.values() for c in Counter(group).values())
    return right / sum(c * (c - 1) // 2 for c in Counter(table["person"]).values())


def test_finds_far_more_than_equal_fields_and_hardly_errs(table: dict[str, list[str]], found: shoal.Link) -> None:
    assert found.quality is not None and found.quality_with_possible is not None  # noqa: PT018
    assert found.quality.precision >= 0.98
    assert found.quality.recall >= 0.85
    assert equal_fields(table) < 0.5
    assert found.quality_with_possible.recall >= found.quality.recall
    assert found.quality.right == round(found.quality.recall * found.quality.true)


def test_the_order_of_rows_does_not_matter(table: dict[str, list[str]], found: shoal.Link) -> None:
    order = list(range(len(table["first"])))
    random.Random(3).shuffle(order)
    other = shoal.link({c: [v[i] for i in order] for c, v in table.items()}, fields=FIELDS)
    mine = {frozenset((p["left"], p["right"])): (p["decision"], p["probability"]) for p in found.pairs()}
    theirs = {
        frozenset((order[p["left"] - 1] + 1, order[p["right"] - 1] + 1)): (p["decision"], p["probability"]) for p in other.pairs()
    }
    assert mine == theirs


def test_nothing_that_is_told_or_written_holds_a_value(table: dict[str, list[str]], found: shoal.Link, tmp_path: Path) -> None:
    written = found.write(tmp_path / "pairs.csv").read_text(encoding="utf-8")
    told = written + json.dumps(found.to_json()) + repr(found) + repr(found.linked) + repr(found.linked.records)
    for column in ("first", "last", "dob"):
        assert not any(value in told for value in table[column] if len(value) > 5)
    with (tmp_path / "pairs.csv").open(encoding="utf-8", newline="") as source:
        assert len(list(csv.DictReader(source))) == found.matches + found.possible


def test_swapped_names_dates_and_changed_surnames_have_their_levels() -> None:
    columns = {
        "first": ["anna", "bos", "anna", "anna", "a"],
        "last": ["bos", "anna", "bos-de vries", "smit", "bos"],
        "dob": ["1980-02-01", "1980-01-02", "1980-02-11", "1981-02-01", "1999-09-09"],
    }
    records = records_of(columns, fields_of({"first": "given", "last": "family", "dob": "birth"}))
    right = np.arange(1, 5)
    got = levels(records, np.zeros(4, dtype=np.int64), right)
    names = [
        [("missing" if x < 0 else LEVELS[f.kind][x]) for x, f in zip(row, records.fields, strict=True)] for row in got.tolist()
    ]
    assert names == [
        ["swapped", "missing", "near"],
        ["exact", "close", "near"],
        ["exact", "different", "near"],
        ["similar", "exact", "different"],
    ]


def test_pairs_of_two_tables_are_those_across(table: dict[str, list[str]]) -> None:
    half = len(table["first"]) // 2
    left, right = ({c: v[part] for c, v in table.items()} for part in (slice(half), slice(half, None)))
    both = shoal.link(left, right, fields=FIELDS, truth="person", one_to_one=True)
    assert both.linked.pairs == half * (len(table["first"]) - half)
    matched = [p for p in both.pairs() if p["decision"] == "match"]
    assert len({p["left"] for p in matched}) == len({p["right"] for p in matched}) == len(matched)
    truth = Counter(right["person"])
    assert both.quality is not None
    assert both.quality.true == sum(truth[p] for p in left["person"])
    right["surname"] = right.pop("last")
    again = shoal.link(left, right, fields=FIELDS, rename={"surname": "last"}, one_to_one=True)
    assert again.pairs() == both.pairs()


def test_equally_good_rivals_are_left_to_a_person() -> None:
    left = {"first": ["anna", "bert"], "last": ["bos", "smit"], "dob": ["1980-02-01", "1970-03-03"]}
    right = {"first": ["anna", "anna"], "last": ["bos", "bos"], "dob": ["1980-02-01", "1980-02-01"]}
    fields = fields_of({"first": "given", "last": "family", "dob": "birth"})
    model = Model.usual(tuple(fields.values()), prior=0.2)
    found = shoal.link(left, right, fields={"first": "given", "last": "family", "dob": "birth"}, model=model, one_to_one=True)
    assert (found.matches, found.possible) == (0, 2)


def test_rare_names_count_for_more_than_common_ones() -> None:
    columns = {"last": ["jansen"] * 50 + ["quispe"] * 2 + [f"name{i}" for i in range(48)]}
    records = records_of(columns, fields_of({"last": "family"}))
    from shoal.linkage.model import weigh

    model = Model.usual(records.fields, prior=0.01)
    left, right = np.array([0, 50]), np.array([1, 51])
    common, rare = weigh(model, records, left, right, levels(records, left, right))
    assert rare > common
    usual = model.u[0][-1]
    assert common == pytest.approx(np.log2(0.8 / ((48 + 100 * usual) / 200)))


def test_every_pair_with_a_shared_birth_date_is_a_candidate_and_large_blocks_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"dob": ["1980-01-01"] * 3 + ["1990-01-01"] * 2 + [""]}
    records = records_of(columns, fields_of({"dob": "birth"}))
    left, right, large = candidate_pairs(records, None)
    assert (set(zip(left.tolist(), right.tolist(), strict=True)), large) == ({(0, 1), (0, 2), (1, 2), (3, 4)}, 0)
    monkeypatch.setattr("shoal.linkage.blocking.MOST", 2)
    left, right, large = candidate_pairs(records, None)
    assert (set(zip(left.tolist(), right.tolist(), strict=True)), large) == ({(3, 4)}, 1)
    monkeypatch.setattr("shoal.linkage.blocking.MOST", 3)
    assert candidate_pairs(records, None)[2] == 0


def test_em_finds_the_shares_it_was_given() -> None:
    rng = np.random.default_rng(1)
    fields = tuple(fields_of(dict.fromkeys("abcd", "family")).values())
    m, u = np.array([0.1, 0.1, 0.1, 0.7]), np.array([0.9, 0.06, 0.03, 0.01])
    same = rng.random(60_000) < 0.05
    drawn = np.where(same[:, None], rng.choice(4, (60_000, 4), p=m), rng.choice(4, (60_000, 4), p=u)).astype(np.int8)
    patterns, place = np.unique(drawn, axis=0, return_inverse=True)
    model = em.fit(patterns, np.bincount(place.ravel()).astype(float), fields, seen=60_000)
    assert model.prior == pytest.approx(0.05, abs=0.005)
    for got_m, got_u in zip(model.m, model.u, strict=True):
        assert got_m == pytest.approx(m, abs=0.04)
        assert got_u == pytest.approx(u, abs=0.01)


def test_a_model_is_kept_and_read_back(found: shoal.Link, table: dict[str, list[str]], tmp_path: Path) -> None:
    found.model.write(tmp_path / "model.json")
    again = shoal.link(table, fields=FIELDS, model=tmp_path / "model.json")
    assert [p["decision"] for p in again.pairs()] == [p["decision"] for p in found.pairs()]
    body = json.loads((tmp_path / "model.json").read_text())
    for broken in ({**body, "prior": 1.0}, {**body, "fields": []}, {**body, "shoal_linkage_model": 2}, []):
        (tmp_path / "broken.json").write_text(json.dumps(broken))
        with pytest.raises(DataError, match="not a linkage model"):
            Model.read(tmp_path / "broken.json")
    with pytest.raises(UsageError, match="other fields"):
        shoal.link(table, fields={"first": "family"}, model=tmp_path / "model.json")


@pytest.mark.parametrize(("match", "possible"), [(1.0, 0.05), (0.5, 0.6), (0.9, 0.0)])
def test_limits_that_make_no_sense_are_refused(match: float, possible: float) -> None:
    with pytest.raises(UsageError, match="limits"):
        shoal.link({"dob": ["1980-01-01", "1980-01-01"]}, fields={"dob": "birth"}, match=match, possible=possible)


def test_one_record_has_nobody_to_be_compared_with() -> None:
    with pytest.raises(DataError, match="at least two records"):
        shoal.link({"dob": ["1980-01-01"]}, fields={"dob": "birth"})
