"""Every kind of requirement through every place that decides it: measure, gate, search, written file, certificate, verify.

Two small tables whose numbers are worked out by hand. A real number has the comparison rule's tolerance: missed by half of it, a
limit that may be reached is met in every place; missed by three times it, in none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from recount_oracle import recount
from release_forging import plain_certificate, sign_anew
from shoal.cli import main
from shoal.errors import InfeasibleError, PolicyError, UsageError
from shoal.model import requirement as req
from shoal.model.compare import slack
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement import Requirement, require_of
from shoal.release.gate.check import check
from shoal.release.gate.count_facts import estimates
from shoal.release.policy.policy import Policy
from shoal.release.proof.facts import judge, recursive_levels
from shoal.release.proof.trees import tree_of
from shoal.release.verification import verify
from shoal.search import lattice

# Class A: flu 3, cold 2, hiv 1. Class B: flu 2, cold 1, hiv 1. The table: flu 5, cold 3, hiv 2 of 10.
ROWS = [("a", "flu")] * 3 + [("a", "cold")] * 2 + [("a", "hiv")] + [("b", "flu")] * 2 + [("b", "cold"), ("b", "hiv")]
ALONE = [*ROWS, ("c", "flu")]  # one of eleven records is alone
TREE = [["flu", "one", "*"], ["cold", "other", "*"], ["hiv", "other", "*"]]
PEOPLE = [("a",)] * 8 + [("b",)] * 5 + [("d",)] * 3
ENTROPY = math.exp(-(math.log(1 / 2) / 2 + math.log(1 / 3) / 3 + math.log(1 / 6) / 6))


@dataclass(frozen=True)
class Case:
    """A kind, the number that its table has, the limit that asks for just that number, and one that asks for one step more."""

    make: Callable[[float], Requirement]
    found: float
    enough: float
    more: float
    rows: tuple[tuple[str, str], ...] = tuple(ROWS)

    def __str__(self) -> str:
        return str(self.make(self.enough)).split("[")[0].split("<")[0] + f".{self.make(self.enough).kind}"


def _at_most(make: Callable[[float], Requirement], found: float, rows: list[tuple[str, str]] = ROWS) -> Case:
    return Case(make, found, found - slack(found) / 2, found - 3 * slack(found), tuple(rows))


def _at_least(make: Callable[[float], Requirement], found: float) -> Case:
    return Case(make, found, found + slack(found) / 2, found + 3 * slack(found))


def _below(make: Callable[[float], Requirement], found: float) -> Case:
    """A limit that may not be reached: one clear of the number is enough, the number itself (and a hair more) is not."""
    return Case(make, found, found + 3 * slack(found), found + slack(found) / 2)


CASES = [
    Case(req.K, 4, 4, 5),
    Case(req.KMap, 5, 5, 6),
    Case(req.MaxRisk, 1 / 4, 1 / 4, 0.249),
    Case(lambda x: req.MaxRisk(x, "journalist"), 1 / 4, 1 / 4, 0.249),
    Case(lambda x: req.DistinctDiversity("ill", x), 3, 3, 4),
    Case(lambda x: req.PSensitive("ill", x), 3, 3, 4),
    _at_least(lambda x: req.EntropyDiversity("ill", x), ENTROPY),
    _below(lambda x: req.RecursiveDiversity("ill", x, 2), 1.0),
    _below(lambda x: req.RecursiveDiversity("ill", x, 3), 3.0),
    _at_most(lambda x: req.AlphaK("ill", x), 0.5),
    _at_most(lambda x: req.TCloseness("ill", x), 0.05),
    _at_most(lambda x: req.TCloseness("ill", x, "ordered"), 0.05),
    _at_most(lambda x: req.TCloseness("ill", x, "hierarchical"), 0.025),
    _below(lambda x: req.DeltaDisclosure("ill", x), math.log(0.25 / 0.2)),
    _at_most(lambda x: req.BasicBeta("ill", x), 0.25),
    _at_most(lambda x: req.EnhancedBeta("ill", x), 0.25),
    _at_most(req.AverageRisk, 0.2),
    _at_most(lambda x: req.AverageRisk(x, "marketer"), 0.2),
    _at_most(req.SampleUniqueness, 1 / 11, ALONE),
    _at_most(lambda x: req.PopulationUniqueness(x, 11), 1 / 11, ALONE),
]
each = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "tree.csv").write_text("\n".join(",".join(line) for line in TREE) + "\n")
    (tmp_path / "people.csv").write_text("zip\n" + "\n".join(p for (p,) in PEOPLE) + "\n")
    return tmp_path


def _table(case: Case) -> pa.Table:
    return pa.table({"zip": [z for z, _ in case.rows], "ill": [i for _, i in case.rows]})


def _file(case: Case, place: Path) -> Path:
    out = place / "data.csv"
    out.write_text("zip,ill\n" + "".join(f"{z},{i}\n" for z, i in case.rows))
    return out


def _policy(asked: Requirement, place: Path) -> Policy:
    words = {
        "roles": {"quasi": {"zip": {"max_level": 0}}, "sensitive": {"ill": {"hierarchy": "tree.csv"}}},
        "require": require_of([asked]),
        "population": {"table": "people.csv"},
        "order": {c: list(values) for c, values in _order(asked).items()},
    }
    return Policy.parse(json.dumps(words), folder=place)


def _order(asked: Requirement) -> dict[str, list[str]]:
    """The ordered distance of texts needs their order: here that of the alphabet."""
    return {"ill": ["cold", "flu", "hiv"]} if getattr(asked, "distance", "") == "ordered" else {}


def _population(asked: Requirement, place: Path) -> str | None:
    return str(place / "people.csv") if asked.needs_population else None


def test_every_kind_is_walked():
    """Linkage by value needs the original beside the release (test_release_value_links.py), known columns the published file
    (test_release_known_columns.py), traces their own table."""
    every = req.requirement_kinds().values()
    kinds = {kind for kind in every if not kind.needs_original and not kind.on_file and kind.scope != "trace"}
    assert {type(c.make(c.enough)) for c in CASES} == kinds


@each
def test_its_forms_say_the_same(case: Case, place: Path):
    asked = case.make(case.enough)
    assert Requirement.parse(str(asked)) == asked
    assert _policy(asked, place).requirements == (asked,)
    words = {"roles": {"quasi": ["zip"], "sensitive": ["ill"]}, "require": [str(asked)]}
    assert Policy.of(words).requirements == (asked,)
    assert Policy.parse(_policy(asked, place).to_yaml(), folder=place).requirements == (asked,)


@each
def test_measure_and_the_command_line(case: Case, place: Path, capsys):
    tree = Hierarchy.from_rows("ill", TREE)
    for limit, met in ((case.enough, True), (case.more, False)):
        asked = case.make(limit)
        words = {"hierarchies": {"ill": tree}, "population": _population(asked, place), "order": _order(asked)}
        m = shoal.measure(_table(case), qi=["zip"], sensitive=["ill"], **words)
        verdict = m.check(str(asked))
        assert (verdict.requirement, verdict.met) == (asked, met)
        assert verdict.found == pytest.approx(case.found, rel=1e-12)
        typed = ["measure", str(_file(case, place)), "--qi", "zip", "--sensitive", "ill", "--require", str(asked)]
        typed += ["--hierarchy", f"ill={place / 'tree.csv'}"]
        typed += ["--population", str(place / "people.csv")] if asked.needs_population else []
        typed += [word for c, values in _order(asked).items() for word in ("--order", f"{c}={','.join(values)}")]
        with pytest.raises(SystemExit) as ended:
            main(typed)
        assert ended.value.code == (0 if met else 1)
    capsys.readouterr()


@pytest.mark.parametrize("order", [["cold", "flu", "hiv"], ["flu", "cold", "hiv"], None])
def test_an_ordered_distance_of_texts_is_asked_in_a_known_order_everywhere(order: list[str] | None):
    """By the alphabet the table is 0.05 away, by the other order 0.025; without one neither is true."""
    rows = pa.table({"zip": [z for z, _ in ROWS], "ill": [i for _, i in ROWS]})
    asked = {"roles": {"quasi": {"zip": {"max_level": 0}}, "sensitive": ["ill"]}}
    asked |= {"require": {"closeness": {"ill": {"t": 0.04, "distance": "ordered"}}}, "order": {"ill": order} if order else {}}
    said = {"sensitive": ["ill"], "order": asked["order"]}
    if order is None:
        for ways in (
            lambda: shoal.measure(rows, quasi=["zip"], **said).check("t[ill, ordered]<=0.04"),
            lambda: shoal.check(rows, asked),
            lambda: shoal.anonymize(rows, asked),
        ):
            with pytest.raises(UsageError, match="no order is known"):
                ways()
        return
    met = order[0] == "flu"
    assert shoal.measure(rows, quasi=["zip"], **said).check("t[ill, ordered]<=0.04").met is met
    assert shoal.check(rows, asked).met is met


@each
def test_the_gate(case: Case, place: Path):
    for limit, met in ((case.enough, True), (case.more, False)):
        asked = case.make(limit)
        found = check(shoal.open(_table(case)), _policy(asked, place))
        assert (found.findings[0].requirement, found.met) == (asked, met)
        assert found.findings[0].found == pytest.approx(case.found, rel=1e-9)


@each
def test_the_search(case: Case, place: Path):
    table = shoal.open(_table(case))
    counts = table.count(("zip",), sensitive=("ill",))
    values = sorted({z for z, _ in case.rows} | {p for (p,) in PEOPLE})
    zips = {"zip": Hierarchy.from_rows("zip", [[z, "*"] for z in values])}
    tree = Hierarchy.from_rows("ill", TREE)
    for limit, met in ((case.enough, True), (case.more, False)):
        asked = case.make(limit)
        if isinstance(asked, req.TCloseness):
            asked = req.TCloseness(asked.column, asked.t, asked.distance, tree)
        population = shoal.open(place / "people.csv").count(("zip",)) if asked.needs_population else None
        words = {"suppress": 0.0, "bounds": {"zip": (0, 0)}, "population": population}
        if met:
            assert lattice(counts, zips, [asked], **words).suppressed == 0
        else:
            with pytest.raises(InfeasibleError):
                lattice(counts, zips, [asked], **words)


@each
@pytest.mark.parametrize("way", ["dictionary", "sorted"])
def test_a_written_file(case: Case, way: str, place: Path):
    trees = {"ill": tree_of(Hierarchy.from_rows("ill", TREE))}
    for limit, met in ((case.enough, True), (case.more, False)):
        asked = [case.make(limit)]
        levels = recursive_levels(asked)
        facts = recount(_file(case, place), ["zip"], ["ill"], recursive=levels, trees=trees, way=way)
        given = {**estimates(asked, facts), ("k_map",): 5}
        verdict = judge(asked, facts, given)[0]
        assert verdict.met is met
        assert verdict.found == pytest.approx(case.found, rel=1e-9)


@each
def test_certificate_and_verify(case: Case, place: Path):
    asked = case.make(case.enough)
    out = shoal.anonymize(shoal.open(_table(case)), _policy(asked, place)).write(place / "release")
    seen = verify(out)
    assert seen.ok, seen.failed
    written = plain_certificate(out)
    assert written["require"] == require_of([asked])
    assert [(r["requirement"], r["met"]) for r in written["requirements"]] == [(asked.name, True)]
    assert written["requirements"][0]["found"] == pytest.approx(case.found, rel=1e-9)
    assert any("signed, not counted again" in line for line in written["limits"]) is asked.needs_population
    with pytest.raises(InfeasibleError):
        shoal.anonymize(shoal.open(_table(case)), _policy(case.make(case.more), place))


@pytest.mark.parametrize(("stated", "ok"), [(4, True), (3, False), (None, False), (4.5, False)])
def test_a_k_map_below_the_classes_of_the_release_is_refused(stated: float | None, ok: bool, place: Path):
    """The k-map is signed, not counted again; but a population holds the release, so it is never below k (4)."""
    asked = req.KMap(2)
    case = next(c for c in CASES if isinstance(c.make(c.enough), req.KMap))
    out = shoal.anonymize(shoal.open(_table(case)), _policy(asked, place)).write(place / "release")
    made = plain_certificate(out)
    made["requirements"][0]["found"] = stated
    made["given"] = dict.fromkeys(made["given"], stated)
    sign_anew(out, made)
    counted = next((c for c in verify(out).checks if c.name == "re-count"), None)
    assert (counted is not None and counted.ok) is ok


def test_a_k_map_without_a_population_table_is_refused_in_words(place: Path):
    words = {"roles": {"quasi": ["zip"], "sensitive": ["ill"]}, "require": {"k_map": 5}}
    for look in (check, shoal.anonymize):
        with pytest.raises(PolicyError, match=r"'require\.k_map' needs a population table"):
            look(shoal.open(_table(CASES[0])), Policy.of(words))
    with pytest.raises(PolicyError, match="cannot be used with method: local"):
        shoal.anonymize(
            shoal.open(_table(CASES[0])),
            Policy.parse(json.dumps({**words, "population": {"table": "people.csv"}, "method": "local"}), folder=place),
        )
