"""The second opinion at its edges, and what it may import."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from recount_oracle import recount
from shoal.model.requirement import EnhancedBeta, MaxRisk, PSensitive, RecursiveDiversity
from shoal.release.gate.count_facts import facts_of_counts
from shoal.release.proof.facts import Facts, Inside, alike, judge

ROOT = Path(__file__).parents[3]


def _written(place: Path, cells: list[tuple[str, str, int]]) -> Path:
    """A file with n lines of each (class, value)."""
    out = place / "data.csv"
    out.write_text("zip,ill\n" + "".join(f"{z},{i}\n" * n for z, i, n in cells))
    return out


@pytest.mark.parametrize("way", ["dictionary", "sorted"])
@pytest.mark.parametrize(("share", "bounded"), [(84, True), (85, False)])
def test_enhanced_beta_has_no_bound_where_a_value_gains_more_than_its_logarithm(tmp_path, way, share, bounded):
    """A value of half the table may gain −ln ½ = 0.693: a share of 84 % gains 0.68, one of 85 % gains 0.70."""
    cells = [("a", "x", share), ("a", "y", 100 - share), ("b", "x", 100 - share), ("b", "y", share)]
    path = _written(tmp_path, cells)
    facts = recount(path, ["zip"], ["ill"], way=way)
    found = facts.sensitive["ill"].to_json()["enhanced_beta"]
    assert found == (pytest.approx(share / 50 - 1) if bounded else None)
    assert judge([EnhancedBeta("ill", 1000)], facts)[0].met is bounded
    by_measures = facts_of_counts(shoal.open(path).count(("zip",), sensitive=("ill",)))
    assert by_measures.sensitive["ill"].to_json()["enhanced_beta"] == found


@pytest.mark.parametrize("way", ["dictionary", "sorted"])
def test_alpha_delta_and_beta_of_a_file_are_those_of_the_measures(tmp_path, way):
    cells = [("a", "x", 7), ("a", "y", 2), ("a", "", 3), ("b", "x", 1), ("b", "y", 5), ("b", "", 1), ("c", "x", 4), ("c", "y", 4)]
    path = _written(tmp_path, cells)
    again = recount(path, ["zip"], ["ill"], recursive={"ill": [2, 3]}, way=way).to_json()["sensitive"]
    first = facts_of_counts(shoal.open(path).count(("zip",), sensitive=("ill",)), {"ill": [2, 3]}).to_json()["sensitive"]
    assert again == first
    assert again["ill"]["delta"] is None  # class c lacks the missing value
    assert again["ill"]["alpha"] == pytest.approx(5 / 7)


@pytest.mark.parametrize(("c", "met"), [(3.0031, True), (3.003, False), (3.0029, False)])
def test_c_is_taken_as_it_is_written(c, met):
    """3003 of one value against 1000 of the rest: a ratio of 3.003, which c must exceed."""
    table = pa.table({"zip": ["a"] * 4003, "ill": ["x"] * 3003 + ["y"] * 1000})
    assert shoal.measure(table, qi=["zip"], sensitive=["ill"]).check(f"recursive[ill, l=2]<{c}").met is met
    facts = facts_of_counts(shoal.open(table).count(("zip",), sensitive=("ill",)), {"ill": [2]})
    assert judge([RecursiveDiversity("ill", c, 2)], facts)[0].met is met


def test_a_class_of_three_has_one_answer_for_every_attacker():
    facts = Facts(records=6, classes=2, k=3, unique=0, sizes={3: 2}, sensitive={"ill": Inside(2, 2.0, 0.0, 0.0)})
    table = shoal.measure(pa.table({"zip": ["a"] * 3 + ["b"] * 3}), qi=["zip"])
    for risk, met in ((0.33333333333, True), (1 / 3, True), (0.3333, False)):
        for attacker in ("prosecutor", "journalist"):
            asked = MaxRisk(risk, attacker)
            assert judge([asked], facts)[0].met is met
            assert table.check(str(asked)).met is met
    assert judge([PSensitive("ill", 2), PSensitive("ill", 3)], facts)[1].met is False


def test_the_second_opinion_may_use_errors_model_and_disk_only():
    """The import contract names every other room, and every other floor of the release."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    forbidden = set(next(c for c in contracts if c["name"] == "The second opinion shares no code")["forbidden_modules"])
    rooms = {f"shoal.{p.name}" for p in (ROOT / "src/shoal").iterdir() if (p / "__init__.py").exists()}
    floors = {f"shoal.release.{p.stem}" for p in (ROOT / "src/shoal/release").iterdir() if p.stem[0] != "_"}
    assert forbidden == (rooms | floors) - {f"shoal.{n}" for n in ("model", "disk", "release", "release.proof")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"k": 5}, {"k": 6}),
        ({"k": 5}, {"k": 5, "t": 0.25}),
        ({"k": 5}, {"l": 5}),
        ([1, 2], [1, 3]),
        ([1, 2], [1, 2, 3]),
        ([1, 2, 3], [1, 2]),
        ([{"met": True}], [{"met": False}]),
        ({"a": [1, {"b": [2.0]}]}, {"a": [1, {"b": [2.1]}]}),
        ([], {}),
        (1, True),
        (1, 1.0),
        (0.25, 0.2501),
        ("5", 5),
        (None, 0),
    ],
)
def test_what_differs_anywhere_is_not_alike(one: object, other: object) -> None:
    """Verify compares stated and counted numbers with it: lists and objects count with all that is in them."""
    assert alike(one, one)
    assert alike(other, other)
    assert not alike(one, other)
    assert not alike(other, one)
