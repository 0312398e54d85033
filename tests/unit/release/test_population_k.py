"""(1 − β, k) against a population: the class size it needs, held against every sample, and against populations that are drawn."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InfeasibleError, PolicyError, UsageError
from shoal.kernels.matches import chance_of, matched, smallest_for, width
from shoal.model import requirement as req
from shoal.model.counts.classes import ClassCounts
from shoal.release.gate import count_facts
from shoal.release.gate.count_facts import Drawn
from shoal.release.plan.decide import decide
from shoal.release.plan.prepare import prepare
from shoal.release.policy.policy import Policy
from shoal.release.proof.facts import Facts
from shoal.search.problem.checks import build_checks
from shoal.steps import Keep, evaluate


def slow_chance(smallest: int, k: int, members: int, population: int) -> Fraction:
    """By the definition: at least ``smallest`` − 1 of the k − 2 others are among the other members."""
    others, drawn, total = k - 2, members - 1, population - 1
    ways = sum(math.comb(drawn, x) * math.comb(total - drawn, others - x) for x in range(smallest - 1, min(others, drawn) + 1))
    return Fraction(ways, math.comb(total, others))


def test_the_chance_is_that_of_the_definition() -> None:
    rng = np.random.default_rng(1)
    for _ in range(400):
        population = int(rng.integers(3, 900))
        members, k = int(rng.integers(1, population)), int(rng.integers(2, min(population, 120) + 1))
        smallest = int(rng.integers(1, k + 1))
        found, slow = chance_of(smallest, k, members, population), float(slow_chance(smallest, k, members, population))
        assert found == pytest.approx(slow, rel=1e-9) or (found == 1.0 and slow >= 0.5)


def test_large_numbers_keep_their_digits() -> None:
    assert chance_of(3, 100, 32_561, 300_000_000) == pytest.approx(float(slow_chance(3, 100, 32_561, 300_000_000)), rel=1e-9)
    assert chance_of(2, 3, 32_561, 10**11) == pytest.approx(32_560 / (10**11 - 1), rel=1e-9)


def test_beta_exactly_met_is_met() -> None:
    """Two people of a class among 100, ten of whom are in the table: the other one is there with probability 9/99."""
    assert smallest_for(3, 10, 100, 9 / 99) == 2
    assert smallest_for(3, 10, 100, 9 / 99 - 1e-6) == 3
    assert matched(2, 10, 100, 9 / 99) == 3
    assert matched(2, 10, 100, 9 / 99 - 1e-6) == 2


def test_size_and_matches_are_each_other_s_inverse() -> None:
    for k, members, population in itertools.product((2, 3, 20, 100), (5, 50, 499), (500, 10_000)):
        for chance in (0.5, 0.05, 1e-6):
            size = smallest_for(k, members, population, chance)
            assert 2 <= size <= k
            assert matched(size, members, population, chance) >= k
            assert matched(size - 1, members, population, chance) < k


def test_a_table_that_is_the_population_needs_k_itself() -> None:
    assert smallest_for(7, 500, 500, 0.05) == 7
    assert matched(6, 500, 500, 0.05) == 6
    assert smallest_for(7, 499, 500, 1e-12) == 7


def test_width_is_the_largest_set_of_plans_none_of_which_is_coarser_than_another() -> None:
    nodes = list(itertools.product(range(3), range(2), range(2)))

    def apart(chosen: tuple[tuple[int, ...], ...]) -> bool:
        return not any(all(a <= b for a, b in zip(x, y, strict=True)) for x, y in itertools.permutations(chosen, 2))

    largest = max(n for n in range(1, 6) if any(apart(chosen) for chosen in itertools.combinations(nodes, n)))
    assert width([2, 1, 1]) == largest == 4


@pytest.mark.parametrize(("k", "size"), [(3, 2), (3, 3), (4, 2), (4, 3), (5, 3)])
def test_no_choice_among_plans_publishes_a_record_more_often_than_stated(k: int, size: int) -> None:
    """Every sample of 5 of 10 people; whoever chooses the plan sees the sample and wants to publish a class that is too small."""
    people = [(a, b) for a in range(3) for b in range(3)] + [(0, 0)]
    plans = [
        [(x, y) for x, y in people],
        [(x // 2, y) for x, y in people],
        [(x, y // 2) for x, y in people],
        [(0, y) for _, y in people],
        [(x, 0) for x, _ in people],
    ]
    wrong = total = 0
    for sample in itertools.combinations(range(10), 5):
        for person in sample:
            total += 1
            wrong += any(sum(plan[i] == plan[person] for i in sample) >= size and plan.count(plan[person]) < k for plan in plans)
    assert wrong / total <= width([2, 2]) * slow_chance(size, k, 5, 10)


POPULATIONS = {
    "classes one too small": lambda rng: np.repeat(np.arange(20_000 // 9), 9),
    "classes that are just large enough": lambda rng: np.repeat(np.arange(2_000), 10),
    "half crowded, half alone": lambda rng: np.concatenate([np.arange(10_000), 10_000 + rng.integers(0, 100, 10_000)]),
    "Zipf": lambda rng: np.minimum(rng.zipf(1.3, 20_000), 5_000),
    "uniform": lambda rng: rng.integers(0, 1_500, 20_000),
}


def published(people: np.ndarray, chosen: np.ndarray, policy: dict) -> tuple[np.ndarray, np.ndarray]:
    """The classes of the population under the plan that is found for the sample, and which records are published."""
    table = {"a": people[0][chosen], "b": people[1][chosen]}
    prepared = prepare(shoal.open(table), Policy.of(policy))
    decision = decide(prepared)
    coarse = []
    for name, values in zip("ab", people, strict=True):
        step = decision.plan.for_column(name)[0]
        coarse.append(values if isinstance(step, Keep) else evaluate(step, [str(v) for v in values.tolist()]).index)
    _, group = np.unique(np.stack(coarse), axis=1, return_inverse=True)
    mine = np.bincount(group[chosen], minlength=int(group.max()) + 1)
    stays = mine[group[chosen]] >= prepared.policy.smallest_class
    assert int((~stays).sum()) == decision.suppressed(prepared.base)
    return group, stays


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("levels", ["given", "guessed", "quantiles"])
def test_published_records_match_k_people_of_populations_that_are_drawn(name: str, levels: str) -> None:
    """Tables drawn from a known universal table, a plan found for each: the share with fewer than k matches is at most β."""
    rng = np.random.default_rng(5)
    k, beta = 10, 0.05
    rule = {"hierarchy": {"intervals": [4, 16, 64]}} if levels == "given" else {}
    policy = {
        "roles": {"quasi": {"a": rule, "b": rule}},
        "require": {"population_k": {"k": k, "of": 20_000, "beta": beta}},
        "allow": {"suppress": 0.3, "loss": 1.0, "blank": 1.0},
        "method": "probabilistic" if levels == "quantiles" else "best",
    }
    short = shown = 0
    for _ in range(4):
        cells = POPULATIONS[name](rng)
        cells = np.concatenate([cells, np.full(20_000 - len(cells), cells.max() + 1)])
        chosen = rng.choice(20_000, 1_500, replace=False)
        group, stays = published(np.stack([cells % 64, cells // 64]), chosen, policy)
        people = np.bincount(group)[group][chosen]
        short += int((people[stays] < k).sum())
        shown += int(stays.sum())
    assert shown > 0
    assert short <= beta * shown


PEOPLE = [f"{age},{sex},{'flu' if age % 3 else 'cold'}" for age in range(20, 60) for sex in "fm" for _ in range(1 + age % 4)]
POLICY = {
    "roles": {"quasi": {"age": {"hierarchy": {"intervals": [5, 10, 20]}}, "sex": {}}, "sensitive": ["ill"]},
    "require": {"population_k": {"k": 12, "of": 2_000, "beta": 0.05}},
    "allow": {"suppress": 0.1},
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "people.csv"
    file.write_text("age,sex,ill\n" + "".join(f"{line}\n" for line in PEOPLE))
    return file


def test_a_release_states_it_and_verify_repeats_it(table: Path, tmp_path: Path) -> None:
    release = shoal.anonymize(table, POLICY)
    release.write(tmp_path / "out")
    found = {f.requirement: f for f in release.certificate.requirements}
    size = smallest_for(12, 200, 2_000, 0.05 * 0.9 / width([4, 1]))
    assert found["k"].asked == size
    assert found["k"].found == release.certificate.after.k >= size > 2
    one = found["population_k"]
    shown = release.certificate.after.records / 200
    assert one.found == matched(found["k"].found, 200, 2_000, 0.05 * shown / width([4, 1])) >= 12
    assert one.counted == "records of the published file, taken for a random sample of the population stated"
    assert any("random sample" in limit and "signed, not counted again" in limit for limit in release.certificate.limits)
    checked = shoal.verify(tmp_path / "out")
    assert checked.ok
    assert "the size of the population, and that the table is a random sample of it" in json.dumps(checked.to_json())


def test_a_larger_population_number_in_the_file_is_seen(table: Path, tmp_path: Path) -> None:
    shoal.anonymize(table, POLICY).write(tmp_path / "out")
    file = tmp_path / "out" / "certificate.json"
    body = json.loads(file.read_text())
    body["signed"]["require"]["population_k"]["of"] = 2_000_000
    file.write_text(json.dumps(body))
    assert not shoal.verify(tmp_path / "out").ok


def test_only_one_level_per_column_is_searched(table: Path) -> None:
    with pytest.raises(PolicyError, match="fitted to the records"):
        shoal.anonymize(table, {**POLICY, "method": "local"})
    release = shoal.anonymize(table, POLICY)
    assert any("fitted to the records" in str(other) for other in release.certificate.utility.others)


def test_what_is_not_a_random_sample_is_refused(table: Path) -> None:
    small = {**POLICY, "require": {"population_k": {"k": 12, "of": 199}}}
    with pytest.raises(PolicyError, match="the table has 200 members"):
        shoal.anonymize(table, small)
    with pytest.raises(PolicyError, match="the table has 200 members"):
        shoal.check(table, small)
    assert shoal.anonymize(table, {**POLICY, "require": {"population_k": {"k": 12, "of": 200}}}).certificate.k >= 12
    weighted = {**POLICY, "weight": "age", "roles": {"quasi": ["sex"], "sensitive": ["ill"]}}
    with pytest.raises(PolicyError, match="weights"):
        shoal.anonymize(table, weighted)
    with pytest.raises(UsageError, match="as a class size"):
        build_checks(shoal.open(table).count(("age", "sex")), [req.PopulationK(12, 2_000)], has_population=False)


def test_the_gate_and_measure_judge_a_table_as_it_is(table: Path) -> None:
    measured = shoal.measure(table, quasi=["sex"])
    assert measured.check("population_k[2000]>=100")
    assert str(measured.check("population_k[2000]>=101")).endswith("(found 100)")
    checked = shoal.check(table, {**POLICY, "roles": {"quasi": ["age", "sex"], "sensitive": ["ill"]}})
    assert [(f.requirement.name, f.found, f.met) for f in checked.findings if f.requirement.kind == "population-k"] == [
        ("population_k", 1, False)
    ]


def test_a_published_file_is_not_taken_for_the_whole_sample(tmp_path: Path) -> None:
    """Of 2,000 people in classes of 5 (k is 6), 1,400 are in the table, and a class that is not complete is suppressed: every
    published record matches 5 people. Taken for the whole sample the file seemed to match 6 or more."""
    rng = np.random.default_rng(4)
    chosen = rng.choice(2_000, 1_400, replace=False) // 5
    complete = chosen[np.bincount(chosen, minlength=400)[chosen] == 5]
    file = tmp_path / "published.csv"
    file.write_text("a\n" + "".join(f"v{v}\n" for v in complete))
    assert matched(5, len(complete), 2_000, 0.05) >= 6
    assert not shoal.measure(file, quasi=["a"]).check("population_k[2000]>=6")
    assert shoal.measure(file, quasi=["a"]).check("population_k[2000]>=5")
    checked = shoal.check(file, {"roles": {"quasi": ["a"]}, "require": {"population_k": {"k": 6, "of": 2_000}}})
    assert [(f.found, f.met) for f in checked.findings if f.requirement.kind == "population-k"] == [(5, False)]


def test_values_are_allotted_until_the_classes_are_large_enough(table: Path) -> None:
    quasi = {**POLICY["roles"], "quasi": ["age", "sex"]}
    asked = {**POLICY, "method": "probabilistic", "roles": quasi}
    found = shoal.anonymize(table, asked).certificate
    assert found.utility.method == "probabilistic"
    assert all(f.met for f in found.requirements)
    of_rows = shoal.anonymize(table, {**asked, "population": 2_000, "require": {"k": 40}}).certificate
    assert of_rows.k >= 40
    with pytest.raises(InfeasibleError, match=r"classes of 201, counted in the written file") as refused:
        shoal.anonymize(table, {**asked, "population": 2_000, "require": {"k": 201}})
    assert "require: {population_k: {k: 201, of: 2000}}" in str(refused.value.hint)


SIXTY = {"a": [1, 2] * 30, "b": [1, 2, 3] * 20}


def stated_in(folder: Path, text: str) -> Policy:
    require = f"{{population_k: {{k: 20, of: {text}}}}}"
    return Policy.parse(f"roles: {{quasi: [a, b]}}\nrequire: {require}\nallow: {{loss: 1, blank: 1}}\n", folder=folder)


def test_the_people_are_counted_in_a_table_or_read_from_a_model_or_a_registry(tmp_path: Path) -> None:
    """Each gives the plan of the number itself; the certificate names the source, and verify takes it."""
    (tmp_path / "people.csv").write_text("a,b\n" + "1,1\n" * 5000)
    fitted = shoal.predict.population({1: 12, 2: 24}, 5000).to_json()
    (tmp_path / "fitted.json").write_text(json.dumps(fitted))
    known = {"best": "y", "population": "XX@2020", "records": [{"id": "x", "size": 7}, {"id": "y", "size": 5000}]}
    (tmp_path / "registry.json").write_text(json.dumps(known))
    plain = shoal.anonymize(SIXTY, stated_in(tmp_path, "5000"))
    sources = {
        "people.csv": "the lines of a table",
        "fitted.json": "a fitted population",
        "registry.json": "a record of a registry",
    }
    for name, words in sources.items():
        policy = stated_in(tmp_path, name)
        assert policy.require_json()["population_k"]["of"] == name
        made = shoal.anonymize(SIXTY, policy)
        made.write(tmp_path / f"of {name}")
        said = json.loads((tmp_path / f"of {name}" / "certificate.json").read_text())
        assert f"The population of 5,000 people is from '{name}' ({words}): signed, not counted again." in json.dumps(said)
        assert made.decision.plan == plain.decision.plan
        assert made.certificate.require == plain.certificate.require
        assert shoal.verify(tmp_path / f"of {name}").ok
        assert shoal.check(SIXTY, policy).met == shoal.check(SIXTY, stated_in(tmp_path, "5000")).met


@pytest.mark.parametrize(("name", "text"), [("gone.json", None), ("bad.json", "{"), ("none.json", '{"population": "XX"}')])
def test_a_file_without_a_number_of_people_is_refused(tmp_path: Path, name: str, text: str | None) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(PolicyError, match=f"'{name}' states no number of people"):
        prepare(shoal.open(SIXTY), stated_in(tmp_path, name))


def test_a_population_smaller_than_the_table_or_than_k_is_refused(tmp_path: Path) -> None:
    for people, words in ((59, "is 59; the table has 60 members"), (19, "counts 19 people in 'people.csv'")):
        (tmp_path / "people.csv").write_text("a,b\n" + "1,1\n" * people)
        with pytest.raises(PolicyError, match=words):
            prepare(shoal.open(SIXTY), stated_in(tmp_path, "people.csv"))
    (tmp_path / "people.csv").write_text("a,b\n" + "1,1\n" * 60)
    assert prepare(shoal.open(SIXTY), stated_in(tmp_path, "people.csv")).policy.k == 20


def test_a_table_of_the_whole_population_is_not_a_sample() -> None:
    """Everybody is in it, even in a population of one: then a class has the people that it shows."""
    assert [smallest_for(k, 1, 1, 0.05) for k in (1, 2, 5)] == [1, 2, 5]
    assert [matched(f, 1, 1, 0.05) for f in (1, 2)] == [1, 2]
    assert smallest_for(5, 100, 100, 0.05) == 5
    assert smallest_for(5, 101, 100, 0.05) == 5


# --- what is counted for a requirement, each number by itself ------------------------------------------------------------------


def facts(k: int = 3, records: int = 80, people: int | None = None, **more: object) -> Facts:
    return Facts(records, 10, k, 0, {k: 10}, people=people, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("people", "drawn", "members", "beta"),
    [
        (None, Drawn(100, None, 4.0), 100, 0.05 * 80 / 100 / 4),
        (None, Drawn(80), 80, 0.05),
        (40, Drawn(100, 50, 2.0), 50, 0.05 * 40 / 50 / 2),
        (40, Drawn(100, None, 1.0), 40, 0.05),  # of a file that tells people they are all counted
    ],
)
def test_beta_is_divided_among_plans_and_suppressed_members(
    monkeypatch: pytest.MonkeyPatch, people: int | None, drawn: Drawn, members: int, beta: float
) -> None:
    seen = []
    monkeypatch.setattr(count_facts, "matched", lambda *given: seen.append(given) or 7)
    asked = req.PopulationK(100, 10**6)
    assert count_facts.estimates([asked], facts(people=people), drawn) == {asked.place: 7}
    assert seen == [(3, members, 10**6, pytest.approx(beta))]
    assert count_facts.estimates([asked], facts(people=people)) == {asked.place: 3}, "without the table: the class in the file"


@pytest.mark.parametrize(
    ("matches", "stated"),
    [(99, 99), (100, 100), (999, 999), (1000, 1000), (1234, 1230), (1005, 1000), (123_456, 123_000)],
)
def test_matches_above_the_limit_have_three_digits(monkeypatch: pytest.MonkeyPatch, matches: int, stated: int) -> None:
    monkeypatch.setattr(count_facts, "matched", lambda *_: matches)
    for k in (100, matches):
        asked = req.PopulationK(k, 10**6)
        (found,) = count_facts.estimates([asked], facts(), Drawn(80)).values()
        assert found == (max(k, stated) if matches >= k else matches)


def test_a_sample_has_no_weights_and_no_more_members_than_the_population() -> None:
    policy = Policy.of({"roles": {"quasi": ["a"], "insensitive": ["w"]}, "require": {"k": 2}})
    asked = req.PopulationK(2, 100)
    count_facts.check_sample(policy, asked, 100)
    with pytest.raises(PolicyError, match="the table has 101 members"):
        count_facts.check_sample(policy, asked, 101)
    with pytest.raises(PolicyError, match="its weights"):
        count_facts.check_sample(replace(policy, weight="w"), asked, 100)


def test_people_in_several_classes_are_counted_in_the_smallest() -> None:
    assert count_facts.classes_of({1: 3, 2: 4, 5: 7, 3: 1}) == {1: 3, 2: 2, 5: 2, 3: 1}
    rows = pa.table({"who": ["a", "a", "b", "c"], "zip": ["47", "48", "47", "47"]})
    counted = shoal.open(rows, quasi=["zip"], unit="who").count(("zip",), unit="who")
    found = count_facts.facts_of_counts(counted)
    assert (found.k, found.classes, found.records, found.people, found.unique) == (1, 2, 4, 3, 1)
    assert (found.sizes, found.smallest) == ({1: 1, 3: 1}, {1: 1, 3: 2})


@pytest.mark.parametrize("sizes", [[5, 2, 2], [2000, 2, 2], [1023, 1, 1], [1024, 1, 1]])
def test_sizes_are_tallied_alike_in_a_table_and_sorted(sizes: list[int]) -> None:
    found = count_facts.facts_of_counts(ClassCounts(sizes))
    assert found.sizes == {size: sizes.count(size) for size in sizes}
    assert (found.k, found.unique) == (min(sizes), sizes.count(1))


def test_the_best_record_of_a_registry_states_the_people(tmp_path: Path) -> None:
    records = [{"id": "R-1", "size": 500}, {"id": "R-2", "size": 900}]
    good: dict[str, object] = {"population": "NL@2021", "best": "R-2", "records": records}
    file = tmp_path / "found.json"
    file.write_text(json.dumps(good))
    assert count_facts._people_stated(file, "found.json") == (900, "a record of a registry")
    for wrong in ({"best": "R-3"}, {"best": "R-1", "records": [*records, records[0]]}, {"records": []}, {"records": 7}):
        file.write_text(json.dumps({**good, **wrong}))
        with pytest.raises(PolicyError, match="states no number of people"):
            count_facts._people_stated(file, "found.json")


def test_unique_people_are_of_the_stated_population(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.prediction.population import uniques

    seen = []
    monkeypatch.setattr(uniques, "unique_share", lambda *given: seen.append(given) or 0.25)
    asked = req.PopulationUniqueness(0.1, 10**6)
    assert count_facts.estimates([asked], facts()) == {asked.place: 0.25}
    assert seen == [({3: 10}, 10**6, asked.method)]
