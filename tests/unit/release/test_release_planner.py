"""One planner behind every door; what is said about a plan is checked by running the other methods."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pytest

import shoal
from shoal.api.improvement import find_plans
from shoal.cli import main
from shoal.errors import InfeasibleError, StoppedError, VerificationError
from shoal.model.certificate.certificate import cost_of, in_words
from shoal.model.certificate.parts import OtherMethod
from shoal.model.display import silent
from shoal.model.hierarchy import Hierarchy
from shoal.release.make.known_columns import finds_few
from shoal.release.plan.decide import MIXED_RUN, NO_BETTER, NO_PLAN, TOO_FINE, TOO_MANY, _cost, decide
from shoal.release.plan.methods import CELLS, PER_STEP, local_recoding, on_the_choice, one_level, tells
from shoal.release.plan.prepare import Prepared, prepare, requirements
from shoal.release.plan.published_classes import Decision
from shoal.release.policy.draft import draft_policy
from shoal.release.policy.policy import Policy
from shoal.search.full_domain.lattice import OnePlan
from shoal.studio.workspace.edits import first_policy


def people(n: int, towns: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 80, n),
            "town": [f"town {i}" for i in rng.integers(0, towns, n) % (1 + rng.integers(0, towns, n))],
            "ill": rng.choice(["flu", "cold", "asthma"], n),
        }
    )


TABLES = {"few": people(60, 4, 1), "plain": people(1500, 3, 4), "some": people(400, 12, 2), "spread": people(250, 60, 3)}
ROLES = {"quasi": ["sex", "age", "town"], "sensitive": ["ill"]}


@functools.cache
def prepared(name: str, k: int, suppress: float = 0.0, **more: object) -> Prepared:
    asked = Policy.of(**ROLES, k=k, allow={"loss": 1, "blank": 1, "suppress": suppress}, **more)
    return prepare(shoal.open(TABLES[name]), asked)


BY_HAND: dict[str, dict[str, object]] = {
    "lattice": {"method": "lattice"},
    "values": {"method": "local"},
    "sets": {"method": "local", "local_cells": "sets"},
    "ranges": {"method": "local", "local_cells": "ranges"},
}
"""Every method that the planner compares, as a person would name it in the policy."""


@functools.cache
def by_hand(found: Prepared) -> dict[str, Decision]:
    """The plan of each method; those that find none are left out. Kept: it takes many recodings."""
    out = {}
    for name, named in BY_HAND.items():
        with contextlib.suppress(InfeasibleError):
            out[name] = decide(replace(found, policy=replace(found.policy, **named)))
    mixed = mixed_by_hand(found)
    return {**out, "mixed": mixed} if mixed is not None else out


def holding(found: Prepared, held: dict[str, int]) -> Decision | None:
    """Local recoding with sets and these levels for these columns, as a policy asks for it."""
    rules = dict(found.policy.quasi)
    rules |= {name: replace(rules[name], min_level=level, max_level=level) for name, level in held.items()}
    asked = replace(found.policy, method="local", local_cells=found.policy.local_cells or "sets", quasi=rules)
    with contextlib.suppress(InfeasibleError):
        return local_recoding(replace(found, policy=asked), silent)
    return None


def mixed_by_hand(found: Prepared) -> Decision | None:
    """What a person who holds one column after the other would end with: the best pair of column and level, then the best of
    those within a tenth of it beside it, and so on; a column that is mostly lost anyway is also held at its highest level."""
    recoded = [decide(replace(found, policy=replace(found.policy, **BY_HAND[name]))) for name in ("values", "sets", "ranges")]
    lost = min(recoded, key=lambda d: d.loss).lost
    by_size = sorted(found.quasi, key=lambda name: found.hierarchies[name].n_leaves)
    pins = [(name, level) for level in range(9) for name in by_size if level < found.hierarchies[name].height]
    pins += [(name, found.hierarchies[name].height) for name in by_size if lost[name] >= 0.7]
    best, held = None, {}
    while len(held) < len(found.quasi) - 1:
        made = {pin: holding(found, {**held, pin[0]: pin[1]}) for pin in pins if pin[0] not in held}
        losses = {pin: d.loss for pin, d in made.items() if d is not None}
        pin = min(losses, key=losses.get, default=None)
        if pin is None or (best is not None and losses[pin] >= best.loss):
            break
        best, held = made[pin], {**held, pin[0]: pin[1]}
        pins = [p for p, loss in losses.items() if loss <= 1.1 * best.loss]
    return best


def check_default(found: Prepared, all_stay: Prepared | None = None) -> str:
    """The default loses no more than any method by hand, and names every other with what it costs; returns its name.

    It also loses no more than the methods by hand where ``all_stay``, the same question without suppression."""
    best, tried = decide(found), by_hand(found)
    assert best.loss == pytest.approx(min(d.loss for d in tried.values()), abs=1e-12)
    (name,) = {*tried} - {o.method for o in best.others}
    assert tried[name].loss == best.loss
    assert tried[name].method == best.method
    assert {o.method: o.loss for o in best.others if o.loss is not None} == {m: d.loss for m, d in tried.items() if m != name}
    assert [o.reason for o in best.others if o.loss is None] == [NO_PLAN] * (len(BY_HAND) + 1 - len(tried))
    assert best.loss <= min(d.loss for d in by_hand(all_stay or found).values()) + 1e-12
    return name


CASES = [
    (name, k, suppress)
    for name, more in zip(TABLES, ((0.0, 0.05), (0.05, 0.0)) * 2, strict=True)
    for k, suppress in zip((2, 10), more, strict=True)
]
"""Each table with both k and both limits; every method but the local recodings with values and ranges wins one of them."""


@pytest.mark.parametrize(("name", "k", "suppress"), CASES)
def test_the_default_loses_no_more_than_any_method_by_hand(name: str, k: int, suppress: float):
    check_default(prepared(name, k, suppress), prepared(name, k, 0.0))


@pytest.mark.parametrize(
    ("name", "require"),
    [
        *((name, {"k": 5, "diversity": {"ill": {"distinct": 2}}}) for name in ("some", "spread")),
        *((name, {"k": 3, "closeness": {"ill": {"t": 0.3, "distance": "equal"}}}) for name in ("few", "spread")),
        *((name, {"risk": {"prosecutor": 0.1}}) for name in ("few", "some")),
    ],
)
def test_the_default_loses_no_more_under_other_requirements(name: str, require: dict[str, object]):
    asked = Policy.of(**ROLES, require=require, allow={"loss": 1, "blank": 1})
    check_default(prepare(shoal.open(TABLES[name]), asked))


def limited(name: str, limit: float) -> Prepared:
    asked = Policy.of(**ROLES, require={"k": 2, "known_columns": limit}, allow={"loss": 1, "blank": 1})
    return prepare(shoal.open(TABLES[name]), asked)


@functools.cache
def with_larger_classes(name: str) -> tuple[list[tuple[str, int, Decision]], Decision]:
    """The local recodings with the smallest class of each factor, and the mixed one; what they are is not up to the limit."""
    found, made = limited(name, 0.01), []
    for cells, smallest in itertools.product(("hierarchy", "sets", "ranges"), (2, 4, 8, 16)):
        at = replace(found, policy=replace(found.policy, local_cells=cells))
        made.append((cells, smallest, local_recoding(at, silent, smallest=smallest)))
    return made, mixed_by_hand(found)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        pytest.param(name, limit, marks=pytest.mark.xdist_group(f"larger classes of {name}"))
        for name, limits in (("few", (0.01, 0.02)), ("plain", (0.02, 0.15)), ("some", (0.01, 0.15)), ("spread", (0.02, 0.03)))
        for limit in limits
    ],
)
def test_where_known_columns_find_too_much_larger_classes_are_tried(name: str, limit: float):
    """The least loss among all methods with the smallest class of each factor, counted by hand on the recoded table.

    Classes of 2, 4, 8 and 16 are each the first to fit somewhere, with one kind of cells or with all; one level per column wins
    two of the cases."""
    found, (larger, mixed) = limited(name, limit), with_larger_classes(name)
    tried = []
    for cells, smallest, made in larger:
        assert min(made.released.sizes) >= smallest
        tried.append((cells, made.loss, finds_few(replace(found, policy=replace(found.policy, local_cells=cells)), made)))
    one = decide(replace(found, policy=replace(found.policy, method="lattice")))
    first = [next((loss for c, loss, few in tried if few and c == cells), None) for cells in ("hierarchy", "sets", "ranges")]
    held = [loss for loss in (*first, *(d.loss for d in (one, mixed) if finds_few(found, d))) if loss is not None]
    best = decide(found)
    assert best.loss == min(held)
    assert finds_few(found, best)
    plain = {"lattice": one.loss, "values": tried[0][1], "sets": tried[4][1], "ranges": tried[8][1], "mixed": mixed.loss}
    for other in best.others:
        if other.loss is None:
            assert other.reason == (TOO_FINE if plain[other.method] < best.loss else NO_BETTER)
        else:
            assert other.loss == plain[other.method]
    by_name = decide(replace(found, policy=replace(found.policy, method="local")))
    assert by_name.loss == first[0]


def test_larger_classes_are_tried_up_to_a_number_of_base_classes(monkeypatch: pytest.MonkeyPatch):
    asked = Policy.of(**ROLES, require={"k": 2, "known_columns": 0.15}, allow={"loss": 1, "blank": 1}, method="local")
    found = prepare(shoal.open(TABLES["some"]), asked)
    for most, repeated in ((found.base.n_classes, True), (found.base.n_classes - 1, False)):
        monkeypatch.setattr("shoal.release.plan.decide.MOST_REPEATED", most)
        assert bool(min(decide(found).released.sizes) >= 4) is repeated


@pytest.mark.parametrize(("loss", "reason"), [(0.1, TOO_FINE), (0.2, NO_BETTER), (0.3, NO_BETTER)])
def test_a_method_is_said_to_lose_less_only_if_it_does(loss: float, reason: str):
    best = decide(prepared("few", 2))
    other = _cost("sets", replace(best, loss=loss), prepared("few", 2), replace(best, loss=0.2), {"sets"})
    assert (other.loss, other.reason) == (None, reason)


@pytest.mark.data
@pytest.mark.parametrize("k", [3, 20])
@pytest.mark.parametrize(
    ("file", "quasi"),
    [
        ("real_tables/histoire_de_vie/data.csv", ["age", "sexe", "nivetud", "occup", "qualif"]),
        ("real_tables/diabetes130/data.csv", ["race", "gender", "age", "admission_type_id", "medical_specialty"]),
        ("real_tables/student_performance/data.csv", None),
        ("sdcmicro/testdata.csv", ["urbrur", "roof", "relat", "sex", "age"]),
        ("pums_ca_1000/pums_california_1000.csv", None),
    ],
)
def test_the_default_loses_no_more_on_real_tables(shared_data: Path, file: str, quasi: list[str] | None, k: int):
    table = shoal.open(shared_data / file)
    chosen = quasi or [c.name for c in shoal.inspect(table).columns if c.role.value == "quasi"][:6]
    check_default(prepare(table, Policy.of(quasi=chosen, k=k, rest="drop", allow={"loss": 1, "blank": 1})))


def test_each_method_is_the_best_for_some_table():
    """Without this the tests above could not fail on one side; equal losses: one level per column."""
    same = pa.table({"sex": ["f", "m"] * 20, "ill": ["flu", "cold"] * 20})
    even = prepare(shoal.open(same), Policy.of(quasi=["sex"], sensitive=["ill"], k=5))
    assert {d.loss for d in by_hand(even).values()} == {0.0}
    assert decide(even).method == "lattice"
    assert [check_default(prepared(name, 5)) for name in ("some", "plain")] == ["sets", "mixed"]


def test_several_columns_are_held_if_that_loses_less(monkeypatch: pytest.MonkeyPatch):
    """Without a second round the plan loses more; without work for any, the reason is stated."""
    rng = np.random.default_rng(6)
    columns = {f"c{i}": rng.choice(["a", "b"], 200, p=[0.7, 0.3]) for i in range(4)}
    table = pa.table({**columns, "age": rng.integers(20, 60, 200), "ill": rng.choice(["flu", "cold"], 200)})
    found = prepare(shoal.open(table), Policy.of(quasi=[*columns, "age"], sensitive=["ill"], k=5))
    size = found.base.n_classes**2 * len(found.quasi) + MIXED_RUN
    pins = sum(h.height for h in found.hierarchies.values())
    losses = []
    for runs in (0, 1, pins, 10 * pins):
        monkeypatch.setattr("shoal.release.plan.decide.MIXED", runs * size)
        best = decide(found)
        losses.append(best.loss)
        assert [o.reason for o in best.others if o.loss is None] == ([f"was not tried: {TOO_MANY}"] if not runs else [])
    assert losses[0] >= losses[1] >= losses[2] > losses[3]
    assert losses[3] == mixed_by_hand(found).loss


def test_a_column_that_is_mostly_lost_is_held_at_its_highest_level_if_that_loses_less(monkeypatch: pytest.MonkeyPatch):
    """Blank for everybody, so that the other columns keep more: weights of 80 people in groups of 15."""
    rng = np.random.default_rng(0)
    columns = {"sex": rng.choice(["f", "m"], 80), "race": rng.choice(["a", "b", "c"], 80, p=[0.7, 0.2, 0.1])}
    columns |= {"age": rng.integers(18, 60, 80), "weight": rng.integers(45, 120, 80)}
    table = pa.table({**columns, "ill": rng.choice(["flu", "cold"], 80)})
    found = prepare(shoal.open(table), Policy.of(quasi=[*columns], sensitive=["ill"], k=15))
    assert check_default(found) == "mixed"
    best, top = decide(found), found.hierarchies["weight"].height
    assert f"weight at level {top} for everybody" in best.plan.notes[0]
    assert best.loss <= min(d.loss for c in columns if (d := holding(found, {c: found.hierarchies[c].height})) is not None)
    monkeypatch.setattr("shoal.release.plan.decide.MOSTLY", 2.0)
    assert decide(found).loss > best.loss + 0.01


def test_a_policy_that_names_cells_gets_no_others():
    found = prepared("spread", 10, cells="hierarchy")
    best = decide(found)
    assert best.loss <= decide(replace(found, policy=replace(found.policy, method="local"))).loss
    assert {o.method for o in best.others} < {"lattice", "local", "mixed"}
    assert not any(label is not None and label.startswith("{") for labels in best.labels for label in labels)


# ---------------------------------------------------------------- one loss for every method


def covers(hierarchy: Hierarchy, label: str | None, values: set[str | None]) -> int:
    """How many leaves a published label covers, given the values published under it: slow, and independent of the search.

    Of the groups with this label it is the smallest that contains all those values.
    """
    if label is None:
        return 1
    if label == "*":
        return hierarchy.n_leaves
    if label.startswith("{"):
        inside = label[1:-1].split(", ")
        assert {v or "missing" for v in values} == {*inside}
        return len(inside)
    leaves = [hierarchy.leaves.index(v) for v in values]
    sizes = []
    for level in hierarchy.levels:
        groups = {int(level.groups[i]) for i in leaves}
        if len(groups) == 1 and level.labels[min(groups)] == label:
            sizes.append(int((np.asarray(level.groups) == min(groups)).sum()))
    return min(sizes)


def loss_of_file(found: Prepared, original: pa.Table, released: pa.Table) -> float:
    """The loss by its definition: the share of the domain that each record's cell covers beyond one value, all of it if the
    record is not there; the geometric mean over the columns. ``row`` says which record a released one is."""
    there = {r["row"]: r for r in released.to_pylist()}
    total = 0.0
    for name in found.quasi:
        tree, under = found.hierarchies[name], defaultdict(list)
        for old in original.to_pylist():
            if old["row"] in there:
                under[there[old["row"]][name]].append(None if old[name] is None else str(old[name]))
        extra = sum(len(values) * (covers(tree, label, set(values)) - 1) for label, values in under.items())
        extra += (original.num_rows - len(there)) * (tree.n_leaves - 1)
        total += math.log1p(extra / original.num_rows / (tree.n_leaves - 1)) / len(found.quasi)
    return math.expm1(total)


@pytest.mark.parametrize(("name", "k"), [("few", 3), ("gaps", 10)])
@pytest.mark.parametrize(
    ("method", "suppress", "cells"),
    [("lattice", 0.0, None), ("lattice", 0.1, None), ("best", 0.1, None)]
    + [("local", suppress, cells) for suppress in (0.0, 0.1) for cells in (None, "hierarchy", "sets")],
)
def test_every_method_states_the_same_loss_of_the_file(name: str, k: int, method: str, suppress: float, cells: str | None):
    table = numbered("some" if name == "gaps" else name)
    if name == "gaps":
        table = table.set_column(2, "town", pc.if_else(pc.equal(table["town"], "town 1"), None, table["town"]))
    allow = {"loss": 1, "blank": 1, "suppress": suppress, "identifying": {"row": "numbers the rows of this test"}}
    more = {} if cells is None else {"cells": cells}
    made = shoal.anonymize(table, **ROLES, insensitive=["row"], k=k, allow=allow, method=method, **more)
    assert made.decision.loss == pytest.approx(loss_of_file(made.prepared, table, made.to_arrow()), abs=1e-12)


def numbered(name: str) -> pa.Table:
    return TABLES[name].append_column("row", pa.array([f"r{i}" for i in range(TABLES[name].num_rows)]))


def smallest_group(released: pa.Table) -> int:
    """By the definition, without the search."""
    tuples = [tuple(row[c] for c in ROLES["quasi"]) for row in released.to_pylist()]
    return min(tuples.count(t) for t in set(tuples))


def levels_of(hierarchy: Hierarchy, label: str, values: set[str]) -> int:
    """The lowest level with a group of this label that contains these values."""
    leaves = [hierarchy.leaves.index(v) for v in values]
    for number, level in enumerate(hierarchy.levels):
        groups = {int(level.groups[i]) for i in leaves}
        if len(groups) == 1 and level.labels[min(groups)] == label:
            return number
    raise AssertionError(label)


@pytest.mark.parametrize("cells", ["hierarchy", "sets"])
@pytest.mark.parametrize("bounds", [(None, 1), (1, None), (1, 1), (0, 0), (1, 2)])
@pytest.mark.parametrize("name", ["few", "some"])
def test_local_recoding_keeps_level_bounds(name: str, bounds: tuple[int | None, int | None], cells: str):
    """Read from the file: no published age is finer or coarser than allowed, every group has k, the loss is the file's."""
    rule = {key: level for key, level in zip(("min_level", "max_level"), bounds, strict=True) if level is not None}
    quasi = {"sex": {}, "age": {"hierarchy": {"intervals": [5, 10, 20]}, **rule}, "town": {}}
    table = numbered(name)
    allow = {"loss": 1, "blank": 1, "suppress": 0.9, "identifying": {"row": "numbers the rows of this test"}}
    roles = {"quasi": quasi, "sensitive": ["ill"], "insensitive": ["row"]}
    made = shoal.anonymize(table, **roles, k=3, allow=allow, method="local", cells=cells)
    released = made.to_arrow()
    assert smallest_group(released) >= 3
    assert released.num_rows >= 0.1 * table.num_rows
    assert made.decision.loss == pytest.approx(loss_of_file(made.prepared, table, released), abs=1e-12)
    tree, age_of = made.prepared.hierarchies["age"], {r["row"]: str(r["age"]) for r in table.to_pylist()}
    low, high = bounds[0] or 0, tree.height if bounds[1] is None else bounds[1]
    groups = defaultdict(set)
    for row in released.to_pylist():
        groups[tuple(row[c] for c in ROLES["quasi"])].add(age_of[row["row"]])
    for cell, ages in groups.items():
        label = cell[1]
        if label.startswith("{"):  # a set: every value below one group of the highest level
            assert low == 0
            assert len({int(tree.levels[high].groups[tree.leaves.index(a)]) for a in ages}) == 1
        else:
            assert low <= levels_of(tree, label, ages) <= high


def test_bounds_that_leave_too_many_alone_are_refused_in_words():
    quasi = {"sex": {"max_level": 0}, "age": {"max_level": 0}, "town": {}}
    with pytest.raises(InfeasibleError, match=r"of 250 records have too few others to share a class with; 0 may be left out"):
        decide(prepare(shoal.open(TABLES["spread"]), Policy.of(quasi=quasi, sensitive=["ill"], k=5, method="local")))


@pytest.mark.parametrize("cells", ["hierarchy", "sets"])
@pytest.mark.parametrize("suppress", [0.0, 0.1])
def test_a_sample_is_recoded_locally(cells: str, suppress: float, tmp_path: Path):
    table = numbered("some")
    allow = {"loss": 1, "blank": 1, "suppress": suppress, "identifying": {"row": "numbers the rows of this test"}}
    more = {"sample": {"share": 0.5}, "seed": 3**80, "method": "local", "cells": cells}
    made = shoal.anonymize(table, **ROLES, insensitive=["row"], k=3, allow=allow, **more)
    released, base = made.to_arrow(), made.prepared.base
    assert smallest_group(released) >= 3
    assert released.num_rows == base.n_records - made.decision.suppressed(base) < table.num_rows
    rows = {r["row"] for r in released.to_pylist()}
    drawn = table.filter(pc.is_in(table["row"], value_set=pa.array(sorted(rows))))
    if not suppress:
        assert made.decision.loss == pytest.approx(loss_of_file(made.prepared, drawn, released), abs=1e-12)
    made.write(tmp_path / "out")
    assert shoal.verify(tmp_path / "out").ok


def test_a_hardened_local_recoding_resists_or_is_refused_with_what_may():
    """Sets name what is inside, so nothing is narrower than it looks; hierarchy values are as fine as they may be."""
    asked = {"hardened": True, "method": "local", "allow": {"loss": 1, "blank": 1}}
    sets = decide(prepare(shoal.open(TABLES["some"]), Policy.of(**ROLES, k=5, cells="sets", **asked)))
    assert tells(on_the_choice(prepare(shoal.open(TABLES["some"]), Policy.of(**ROLES, k=5)), sets)) is None
    with pytest.raises(InfeasibleError, match=r"succeeds at 0\.\d+\. Cells with sets of values, or method: lattice"):
        decide(prepare(shoal.open(TABLES["some"]), Policy.of(**ROLES, k=2, **asked)))


@pytest.mark.parametrize("name", TABLES)
def test_best_of_all_plans_is_a_count_and_true(name: str):
    """Every plan with one level per column is tried; none of those that leave nobody out loses less."""
    made = shoal.anonymize(TABLES[name], **ROLES, k=5, method="lattice", allow={"loss": 1, "blank": 1})
    sentence = cost_of(made.certificate).sentence
    said = re.search(r"the best of all ([\d,]+) plans with one level per column; other methods were not tried", sentence)
    assert said is not None, sentence
    found = made.prepared
    one = OnePlan(found.base, found.hierarchies, requirements(found))
    heights = {c: found.hierarchies[c].height for c in found.quasi}
    every = [dict(zip(heights, at, strict=True)) for at in itertools.product(*(range(h + 1) for h in heights.values()))]
    assert len(every) == int(said[1].replace(",", ""))
    tried = [t for levels in every if (t := one(levels)) is not None and not t.suppressed]
    assert made.decision.loss == pytest.approx(min(t.loss for t in tried))


@pytest.mark.parametrize("name", TABLES)
def test_no_sentence_about_the_best_plan_is_without_its_scope(name: str):
    for method in ("best", "lattice", "local"):
        made = shoal.anonymize(TABLES[name], **ROLES, k=5, method=method, allow={"loss": 1, "blank": 1})
        told = json.dumps(made.certificate.to_json()) + made.report() + cost_of(made.certificate).sentence
        assert "no plan loses less" not in told.lower()
        assert "no plan that meets" not in told.lower()
        assert "save at most" not in told


def test_the_runner_up_is_named_with_what_it_would_cost():
    made = shoal.anonymize(TABLES["spread"], **ROLES, k=10)
    assert made.decision.method == "local"
    named = {"one level per column": {"method": "lattice"}, "local recoding with hierarchy values": {"method": "local"}}
    said = cost_of(made.certificate).sentence
    assert "local recoding with sets of values would lose " in said
    for method, more in [*named.items()][:1]:
        alone = shoal.anonymize(TABLES["spread"], **ROLES, k=10, allow={"loss": 1, "blank": 1}, **more)
        assert f"{method} would lose {alone.decision.loss:.2g}" in said
    assert "whether a better one exists is not known" in said


def test_where_nothing_bounds_the_loss_nothing_is_claimed():
    """A lower bound of 0 says nothing: 'could save at most' all of it is no knowledge."""
    cost = cost_of(shoal.anonymize(TABLES["some"], **ROLES, k=5, method="lattice").certificate)
    unknown = replace(cost, proven=False, gap=cost.loss)
    assert "how far it is from the best is not known" in unknown.sentence
    half = replace(cost, proven=False, gap=cost.loss / 2)
    assert f"none of them loses less than {cost.loss / 2:.2g}" in half.sentence


# ---------------------------------------------------------------- one question, one answer


def run(*words: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(list(words))
    assert left.value.code == 0


@pytest.fixture(params=[5, 7, 15])
def k(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """With 7 one level for some columns loses least; with 5 sets do and with 15 values, so that search can be left out there."""
    if request.param != 7:
        monkeypatch.setattr("shoal.release.plan.decide.MIXED", 0)
    return request.param


@pytest.mark.parametrize("name", ["few"])
def test_every_door_gives_the_same_plan_and_the_same_bytes(name: str, k: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The command with options, the command with a policy, Python and ``protect``; sets, one level for some, and values win."""
    source, policy = tmp_path / "people.csv", tmp_path / "policy.yml"
    pacsv.write_csv(TABLES[name], source)
    policy.write_text(f"roles: {{quasi: [sex, age, town], sensitive: [ill]}}\nrequire: {{k: {k}}}\n")
    run("anonymize", str(source), "--quasi", "sex,age,town", "--sensitive", "ill", "--k", str(k), "--out", str(tmp_path / "a"))
    run("anonymize", str(source), "--policy", str(policy), "--out", str(tmp_path / "b"))
    made = shoal.anonymize(source, **ROLES, k=k)
    made.write(tmp_path / "c")
    safe = shoal.protect(source, **ROLES, k=k)
    capsys.readouterr()
    for file in ("data.csv", "plan.json"):
        assert len({(tmp_path / folder / file).read_bytes() for folder in "abc"}) == 1, file
    assert (safe.decision.method, safe.decision.loss, safe.plan) == (made.decision.method, made.decision.loss, made.plan)
    assert safe.to_arrow().to_pylist() == made.to_arrow().to_pylist()


@pytest.mark.parametrize("name", ["few"])
def test_draft_and_studio_release_what_the_other_doors_release(name: str, k: int, tmp_path: Path):
    """The policy that each writes for the roles it guessed, with this k, against the same roles named in Python.

    Sets, one level for some columns, and hierarchy values lose least with the three k."""
    source = tmp_path / "people.csv"
    pacsv.write_csv(TABLES[name], source)
    guessed = shoal.inspect(source)
    made = {}
    for door, text in (("studio", first_policy(guessed)), ("draft", draft_policy(guessed))):
        policy = Policy.parse(text).edited("require.k", k)
        roles = {"quasi": [*policy.quasi], "sensitive": [*policy.sensitive], "insensitive": [*policy.insensitive]}
        assert len(policy.quasi) > 1
        more = {"rest": policy.rest} if policy.rest else {}
        named = shoal.anonymize(source, **roles, direct=[*policy.direct], k=k, **more)
        made[door] = shoal.anonymize(source, policy)
        made[door].write(tmp_path / door)
        named.write(tmp_path / f"{door} by hand")
        for file in ("data.csv", "plan.json"):
            assert (tmp_path / door / file).read_bytes() == (tmp_path / f"{door} by hand" / file).read_bytes()
        assert made[door].decision.others == named.decision.others
    assert made["studio"].decision.loss == made["draft"].decision.loss


def test_a_plan_of_the_studio_is_the_plan_of_its_release():
    """The card of the least loss is what the policy releases: by any method, or by the one that it names."""
    found = prepare(shoal.open(TABLES["spread"]), Policy.of(**ROLES, k=5))
    cards = find_plans(found)
    made = decide(found)
    assert cards.least is not None
    assert (cards.least.loss, cards.least.k, made.method) == (made.loss, 5, "local")
    levels = prepare(shoal.open(TABLES["spread"]), Policy.of(**ROLES, k=5, method="lattice"))
    card = find_plans(levels).least
    assert card is not None
    assert (card.levels, card.name) == (decide(levels).levels, "as the policy says")
    assert find_plans(found, locked=["sex"]).least == cards.least, "the policy fixes no level of it"


def test_the_draft_asks_for_what_the_other_doors_do_by_default():
    table = shoal.open(TABLES["plain"])
    drafted = Policy.parse(draft_policy(shoal.inspect(table)))
    said = Policy.of(**ROLES, k=5)
    assert (drafted.k, drafted.suppress, drafted.method, drafted.scope) == (said.k, said.suppress, said.method, said.scope)
    assert (said.suppress, said.method) == (0.0, "best")


def test_a_later_release_gets_one_level_per_column(tmp_path: Path):
    """Local recoding would lose less, but cut across the groups of the earlier release: refused, where this is not."""
    shoal.anonymize(TABLES["some"], **ROLES, k=5, method="lattice").write(tmp_path / "one")
    assert shoal.anonymize(TABLES["some"], **ROLES, k=5).decision.method == "local"
    later = shoal.anonymize(TABLES["some"], **ROLES, k=5, previous=[tmp_path / "one"])
    assert later.decision.method == "lattice"
    assert later.decision.others[0].reason == "was not tried: it is compared with an earlier release"
    later.write(tmp_path / "two")
    with pytest.raises(VerificationError, match="an attack does better than the release would claim"):
        shoal.anonymize(TABLES["some"], **ROLES, k=5, method="local", previous=[tmp_path / "one"]).write(tmp_path / "three")


@pytest.mark.parametrize("first", [1, 10**9])
def test_a_short_first_search_never_decides_alone(first: int, monkeypatch: pytest.MonkeyPatch):
    """If local recoding does not fit, the search for one level per column goes to its end, and is not begun twice."""
    monkeypatch.setattr("shoal.release.plan.decide.FIRST_CELLS", first)
    found = prepared("spread", 10)
    searches: list[int] = []
    monkeypatch.setattr("shoal.release.plan.decide.one_level", lambda *a, **k: searches.append(k["cells"]) or one_level(*a, **k))
    best = decide(replace(found, policy=replace(found.policy, scope="cells")))
    assert best.proven
    assert len(searches) == 1
    assert "'allow: {scope: cells}' has no meaning" in best.others[0].reason
    assert decide(found).method == "local"


def test_a_method_without_a_plan_is_named_as_such():
    assert in_words(OtherMethod("lattice", None, 0, NO_PLAN)) == "one level per column found no plan that meets the requirements"


def test_a_plan_does_not_depend_on_the_speed_of_the_machine(monkeypatch: pytest.MonkeyPatch):
    """A clock that jumps by an hour at every look changes nothing."""
    before = decide(prepared("spread", 10))
    hours = iter(range(0, 10**12, 3600))
    monkeypatch.setattr("shoal.search.problem.control.time.perf_counter", lambda: float(next(hours)))
    after = decide(prepared("spread", 10))
    assert (after.method, after.loss, after.others) == (before.method, before.loss, before.others)
    assert [list(labels) for labels in after.labels] == [list(labels) for labels in before.labels]


@pytest.mark.parametrize(("columns", "charged"), [(2, 1), (12, 1), (13, 1), (14, 2), (64, 52)])
def test_the_budget_of_a_search_counts_the_work_of_many_columns(columns: int, charged: int, monkeypatch: pytest.MonkeyPatch):
    """Choosing the next plan grows with the columns: 64 of them took minutes although the cells looked at were few."""
    seen: list[int] = []

    def lattice(*_: Any, steps: int, **__: Any) -> None:
        seen.append(steps)
        raise StoppedError("enough.")

    monkeypatch.setattr("shoal.search.lattice", lattice)
    table = pa.table({f"c{i}": ["x", "y"] * 5 for i in range(columns)})
    with pytest.raises(StoppedError):
        one_level(prepare(shoal.open(table), Policy.of(quasi=table.column_names, k=2)), silent, {})
    assert seen == [CELLS // (2 * columns + PER_STEP * charged)]
