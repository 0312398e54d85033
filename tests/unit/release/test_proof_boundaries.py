"""Facts, comparisons and trees of the proof at their limits: each written as plain values, without a release."""

from __future__ import annotations

import importlib
import json
import math
import random
from collections import Counter
from itertools import combinations
from types import SimpleNamespace as Some

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.errors import TamperError, UsageError, VerificationError
from shoal.model import requirement as req
from shoal.release.proof import trees
from shoal.release.proof.facts import Facts, Inside, alike, as_number, judge, recursive_levels, value_order
from shoal.release.proof.recount_linked import File, everybody
from shoal.release.proof.trees import Tree

recounting = importlib.import_module("shoal.release.proof.recount")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}),
        ({"a": 1, "b": 2}, {"a": 3, "b": 2}),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ([1, 2], [1, 3]),
        ([1, 2], [3, 2]),
        ([1, 2], [1]),
        ([1], [1, 2]),
        ({"a": 1}, ["a"]),
        (["a"], {"a": 1}),
        ({"a": 1}, None),
        (None, {"a": 1}),
        ([], None),
        (None, []),
        (0.5, 0.25),
        (1.0, 1),
        (1, 1.0),
        (1, True),
        (0, None),
        ("a", "b"),
        (5, 6),
    ],
)
def test_results_that_differ(one, other):
    assert alike(one, other) is False


@pytest.mark.parametrize("same", [{}, [], {"a": [1, {"b": 0.5}]}, [1, "a", None, True], 0.1, 7, "a", None])
def test_results_that_are_the_same(same):
    assert alike(same, json.loads(json.dumps(same))) is True


def test_real_numbers_are_compared_by_the_rule():
    assert alike(0.1 + 0.2, 0.3) is True


@pytest.mark.parametrize(
    ("values", "order", "expected"),
    [
        (["10", "9", None], (), [None, "9", "10"]),
        (["b", "10", None, "9"], (), [None, "10", "9", "b"]),
        (["high", None, "low"], ("low", "high"), [None, "low", "high"]),
        (["c", "a", "b"], ("c", "b", "a"), ["c", "b", "a"]),
        (["high", "low", "new"], ("low", "high"), ["high", "low", "new"]),  # one is not in the order
        (["'-", "low"], ("-", "low"), ["'-", "low"]),  # a guard against formulas
        (["'-", "-"], ("-", "low"), ["'-", "-"]),  # two at the same place: by their text
        (["low", "high"], (), ["high", "low"]),
        ([1, 0.5, True, "0.75"], (), [0.5, "0.75", 1, True]),  # 1 and True are equal, by their text
        (["1.0", "1"], (), ["1", "1.0"]),
        (["1.0", 1.0], (), ["1.0", 1.0]),  # of one text, in their order
    ],
)
def test_the_order_of_values(values, order, expected):
    assert value_order(values, order) == expected
    assert [type(v) for v in value_order(values, order)] == [type(v) for v in expected]


@pytest.mark.parametrize(
    ("cell", "number"),
    [(True, 1.0), (False, 0.0), (3, 3.0), (0.5, 0.5), ("7", 7.0), ("1e3", 1000.0), ("x", None), ("1_0", None), ("inf", None),
     ("nan", None), ("", None)],
)  # fmt: skip
def test_the_number_that_a_cell_spells(cell, number):
    assert as_number(cell) == number


def inside(**more):
    return Inside(distinct=2, entropy=1.5, equal=0.3, ordered=0.2, **more)


def test_facts_in_json_form():
    facts = Facts(records=5, classes=2, k=2, unique=0, sizes={3: 1, 2: 1}, sensitive={"ill": inside()})
    told = facts.to_json()
    assert (told["sizes"], told["risk"]) == ({"2": 1, "3": 1}, {"largest": 0.5, "average": 0.4})
    assert told.keys() == {"records", "classes", "k", "unique", "sizes", "risk", "sensitive", "blanked"}
    people = Facts(records=5, classes=2, k=1, unique=1, sizes={1: 1, 3: 1}, people=3, linked_k=1, smallest={3: 2, 1: 1})
    assert people.everybody == {3: 2, 1: 1}
    assert (people.average_risk, people.unique_share) == (
        pytest.approx((1 + 2 / 3) / 3, abs=1e-12),
        pytest.approx(1 / 3, abs=1e-12),
    )
    more = people.to_json()
    assert (more["people"], more["linked_k"], more["smallest"]) == (3, 1, {"1": 1, "3": 2})


def test_values_inside_a_class_in_json_form():
    told = inside(recursive={3: None, 2: 1.25}, delta=-0.0, beta=math.inf).to_json()
    assert (told["recursive"], told["beta"], told["enhanced_beta"]) == ({"2": 1.25, "3": None}, None, None)
    assert "t_hierarchical" not in told
    assert math.copysign(1, told["delta"]) == 1.0, "no minus zero"
    assert inside(hierarchical=0.0).to_json()["t_hierarchical"] == 0.0


def test_each_requirement_gets_its_number():
    values = inside(hierarchical=0.25, recursive={2: 1.25}, alpha=0.75)
    facts = Facts(records=10, classes=2, k=4, unique=1, sizes={4: 1, 6: 1}, sensitive={"ill": values})
    asked = {
        req.K(4): 4,
        req.MaxRisk(0.25): 0.25,
        req.AverageRisk(0.2): 0.2,
        req.SampleUniqueness(0.1): 0.1,
        req.DistinctDiversity("ill", 2): 2,
        req.RecursiveDiversity("ill", 2, 2): 1.25,
        req.TCloseness("ill", 0.3, "equal"): 0.3,
        req.TCloseness("ill", 0.25, "hierarchical"): 0.25,
    }
    assert [v.found for v in judge(asked, facts)] == list(asked.values())
    assert [v.found for v in judge([req.K(4)], facts, {req.K(4).place: 2})] == [2]
    with pytest.raises(UsageError, match="sensitive"):
        judge([req.DistinctDiversity("pay", 2)], facts)
    assert recursive_levels(asked) == {"ill": [2]}


# --- trees -----------------------------------------------------------------------------------------------------------------

TREE = Tree(3, {"flu": (0, 1), "true": (1, 1), "-x": (2, 0)})


def test_the_groups_of_a_cell():
    assert [TREE.path(v) for v in ("flu", True, "'-x", None)] == [(0, 1), (1, 1), (2, 0), (-1, -1)]
    assert Tree(1, {}).path(None) == ()
    with pytest.raises(TamperError, match="does not cover"):
        TREE.path("True")


def test_only_published_values_are_covered():
    assert TREE.covering([None, True, "'-x", "other"]) == Tree(3, {"-x": (2, 0), "true": (1, 1)})
    assert TREE.covering([None]).groups == {}
    assert trees.order_covering(("low", "-", "high"), ["'-", None, "high"]) == ("-", "high")


@pytest.mark.parametrize(
    ("labels", "height", "path"),
    [
        ((2,), 1, ()),
        ((1,), 1, ()),  # values alone are no root
        ((4, 1), 1, ()),
        ((4, 2), 2, (1,)),  # a root is added
        ((4, 2, 1), 2, (1,)),
        ((4, 2, 2), 3, (1, 1)),
    ],
)
def test_a_tree_has_one_root(labels, height, path):
    levels = [Some(labels=list(range(n)), groups=[min(i, n - 1) for i in range(labels[0])]) for n in labels]
    hierarchy = Some(levels=levels, position={f"v{i}": i for i in range(labels[0])})
    made = trees.tree_of(hierarchy)
    assert (made.height, made.groups[f"v{labels[0] - 1}"]) == (height, path)


def test_trees_and_orders_are_read_as_they_were_written(tmp_path):
    file = tmp_path / trees.NAME
    assert (trees.read(file), trees.read_orders(file)) == ({}, {})
    trees.write({"ill": TREE}, file)
    assert (trees.read(file), trees.read_orders(file)) == ({"ill": TREE}, {})
    assert "orders" not in json.loads(file.read_text())
    trees.write({}, file, {"size": ("low", "high")})
    assert (trees.read(file), trees.read_orders(file)) == ({}, {"size": ("low", "high")})


@pytest.mark.parametrize(
    "wrong",
    ['{"format": "other", "columns": {}}', "[]", "{", '{"format": "shoal-hierarchies/1", "columns": {"a": {"height": 1}}}'],
)
def test_other_trees_are_refused(tmp_path, wrong):
    (tmp_path / trees.NAME).write_text(wrong)
    with pytest.raises(TamperError, match="not as Shoal wrote it"):
        trees.read(tmp_path / trees.NAME)


@pytest.mark.parametrize("orders", [{"size": ["low", 1]}, {"size": [1, "low"]}, ["size"], {"size": 3}])
def test_other_orders_are_refused(tmp_path, orders):
    (tmp_path / trees.NAME).write_text(json.dumps({"orders": orders}))
    with pytest.raises(TamperError, match="not as Shoal wrote it"):
        trees.read_orders(tmp_path / trees.NAME)


# --- counting again --------------------------------------------------------------------------------------------------------


def batch(*values):
    return pa.record_batch({"x": pa.array(values)})


@pytest.mark.parametrize(
    ("sizes", "expected"), [((2, 1, 1, 3, 1, 1, 1), [4, 4, 2]), ((5, 1), [5, 1]), ((4, 4), [4, 4]), ((1, 1, 1, 1), [4]), ((), [])]
)
@pytest.mark.parametrize("limit", ["LONG", "LARGE"])
def test_short_batches_are_put_together_and_no_row_is_lost(monkeypatch, sizes, expected, limit):
    monkeypatch.setattr(recounting, "LONG", 4 if limit == "LONG" else 10**6)
    monkeypatch.setattr(recounting, "LARGE", 32 if limit == "LARGE" else 10**9)  # four numbers of eight bytes
    rows = iter(range(100))
    batches = [batch(*[next(rows) for _ in range(n)]) for n in sizes]
    longer = list(recounting._longer(batches))
    assert [b.num_rows for b in longer] == expected
    assert [v for b in longer for v in b.column(0).to_pylist()] == list(range(sum(sizes)))


@pytest.mark.parametrize("values", [[1.5, None, 1.5, math.nan, 2.5], ["a", None, "a", None, "b"], [7, None, 7, None, 8]])
@pytest.mark.parametrize(("start", "length"), [(0, 5), (0, 2), (1, 1), (1, 3), (2, 3), (4, 1), (0, 0)])
def test_codes_of_a_part_of_an_array(values, start, length):
    part = recounting._Column().encode(pa.array(values).slice(start, length)).tolist()
    missing = [v is None or v != v for v in values][start : start + length]
    assert [code == 0 for code in part] == missing
    there = {str(v) for v, gone in zip(values[start : start + length], missing, strict=True) if not gone}
    assert len(set(part)) == len(there) + any(missing)


def test_cells_of_an_array_without_bits():
    assert [recounting._missing(pa.nulls(n)).tolist() for n in (0, 1, 2)] == [[], [True], [True, True]]
    assert recounting._missing(pa.array([1, 2])).tolist() == [False, False]
    assert recounting._missing(pa.array([None, 2, None, 3]).slice(1, 2)).tolist() == [False, True]


@pytest.mark.parametrize("top", [1, 2**16, 2**31 - 1, 2**40])
def test_groups_of_numbers_of_any_size(top):
    """Three columns of up to 2⁴⁰ would be 2¹²⁰ combinations: they are ranked before they no longer fit."""
    columns = [np.array([0, top, 0, top, 0, top]), np.array([0, top, 0, 0, top, top]), np.array([0, 0, 0, top, top, 0])]
    number, first = recounting.number_groups(columns)
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    assert len(first) == len(set(rows)) == 4
    assert all((number[i] == number[j]) == (rows[i] == rows[j]) for i in range(6) for j in range(6))
    assert [rows[f] for f in first] == [rows[number.tolist().index(n)] for n in range(4)]


def test_texts_of_a_csv_file_with_few_values_are_kept(monkeypatch, tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("a,b\nx,1\nx,2\n,3\ny,4\n")
    monkeypatch.setattr(recounting, "FEW_VALUES", 3)  # two texts and the missing one
    columns = recounting.FileColumns(file)
    columns.of(["a", "b"])
    assert columns.texts("a") == {"x": 2, "y": 1, None: 1}
    assert columns.texts("b") is None
    assert columns.texts("c") is None
    table = pa.table({"a": ["x", "y"]})
    pq.write_table(table, tmp_path / "data.parquet")
    for source in (tmp_path / "data.parquet", Some(scan=lambda names: iter(table.select(names).to_batches()))):
        others = recounting.FileColumns(source)
        others.of(["a"])
        assert others.texts("a") is None
        assert others.table(["a"]).column("a").to_pylist() == ["x", "y"]


def test_each_sensitive_column_is_counted_by_itself_and_by_people(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("q,a,b,id\n1,x,u,1\n1,x,u,1\n1,y,v,2\n2,x,w,3\n2,y,w,4\n2,z,w,5\n")
    by_rows, by_people = recounting.recount(file, ["q"], ["a", "b"]), recounting.recount(file, ["q"], ["a", "b"], unit="id")
    assert (by_rows.sensitive["a"].alpha, by_people.sensitive["a"].alpha) == (pytest.approx(2 / 3), pytest.approx(1 / 2))
    assert (by_rows.sensitive["b"].distinct, by_rows.sensitive["a"].distinct) == (1, 2)
    for facts, unit in ((by_rows, None), (by_people, "id")):
        for name in ("a", "b"):
            assert facts.sensitive[name] == recounting.recount(file, ["q"], [name], unit=unit).sensitive[name]


def by_definition(rows, tree, levels):
    """What is counted inside classes, straight from the definitions; rows are class, value and person."""
    pairs = Counter((c, v) for c, v, _ in set(rows)) if rows[0][2] else Counter((c, v) for c, v, _ in rows)
    classes, values = sorted({c for c, _ in pairs}), sorted({v for _, v in pairs})
    everybody = sum(pairs.values())
    q = {v: sum(pairs[c, v] for c in classes) / everybody for v in values}
    out = {name: [] for name in ("distinct", "entropy", "equal", "ordered", "tree", "alpha", "delta", "gain", "enhanced")}
    ratios = {level: [] for level in levels}
    for c in classes:
        size = sum(pairs[c, v] for v in values)
        p = {v: pairs[c, v] / size for v in values}
        there = [v for v in values if p[v]]
        out["distinct"].append(len(there))
        out["entropy"].append(math.exp(-sum(p[v] * math.log(p[v]) for v in there)))
        out["equal"].append(sum(abs(p[v] - q[v]) for v in values) / 2)
        steps = [abs(sum(p[w] - q[w] for w in values[: i + 1])) for i in range(len(values) - 1)]
        out["ordered"].append(sum(steps) / (len(values) - 1) if len(values) > 1 else 0.0)
        nodes = {}
        for v in values:
            for level, node in enumerate((v, *tree.groups[v])):
                nodes[level, node] = nodes.get((level, node), 0.0) + p[v] - q[v]
        out["tree"].append(sum(map(abs, nodes.values())) / (2 * tree.height))
        out["alpha"].append(max(p.values()))
        out["delta"].append(max(abs(math.log(p[v] / q[v])) for v in values) if len(there) == len(values) else math.inf)
        gains = {v: (p[v] - q[v]) / q[v] for v in there}
        out["gain"].append(max(gains.values()))
        out["enhanced"].append(math.inf if any(g > -math.log(q[v]) + 1e-9 for v, g in gains.items()) else max(gains.values()))
        counts = sorted((pairs[c, v] for v in there), reverse=True)
        for level in levels:
            ratios[level].append(counts[0] / tail if (tail := sum(counts[level - 1 :])) else None)
    least = {name: min(found) if name in ("distinct", "entropy") else max(found) for name, found in out.items()}
    return least, {level: None if None in found else max(found) for level, found in ratios.items()}


@pytest.mark.parametrize("by_people", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_a_file_gives_the_numbers_of_the_definitions(seed, by_people, tmp_path):
    r = random.Random(seed)
    classes, values, n = r.randint(1, 4), "abcde"[: r.choice([1, 2, 3, 5])], r.randint(3, 60)
    rows = [(str(r.randrange(classes)), r.choice(values), str(r.randrange(n // 2 + 1)) if by_people else "") for _ in range(n)]
    if seed % 3 == 0:  # every value in every class
        rows += [(str(c), v, str(n + i) if by_people else "") for c in range(classes) for i, v in enumerate(values * 4)]
    file = tmp_path / "data.csv"
    file.write_text("q,a,id\n" + "".join(f"{c},{v},{i}\n" for c, v, i in rows))
    tree = Tree(3, {v: (i // 2, i // 4) for i, v in enumerate("abcde")})
    unit = "id" if by_people else None
    facts = recounting.recount(file, ["q"], ["a"], unit=unit, recursive={"a": [1, 2, 3]}, trees={"a": tree})
    found, (wanted, ratios) = facts.sensitive["a"], by_definition(rows, tree, [1, 2, 3])
    got = (found.distinct, found.entropy, found.equal, found.ordered, found.hierarchical, found.alpha, found.delta, found.beta)
    names = ("distinct", "entropy", "equal", "ordered", "tree", "alpha", "delta", "gain")
    assert got == tuple(pytest.approx(wanted[name], abs=1e-12) for name in names)
    assert found.enhanced_beta == pytest.approx(wanted["enhanced"], abs=1e-12)
    assert dict(found.recursive) == {level: ratio and pytest.approx(ratio) for level, ratio in ratios.items()}
    members = {c: len({i for d, _, i in rows if d == c}) if by_people else sum(d == c for d, *_ in rows) for c, *_ in rows}
    assert (facts.records, facts.classes, facts.k) == (len(rows), len(members), min(members.values()))
    assert dict(facts.sizes) == Counter(members.values())
    if by_people:
        smallest = {i: min(members[c] for c, _, j in rows if j == i) for *_, i in rows}
        profiles = Counter(tuple(sorted(Counter(c for c, _, j in rows if j == i).items())) for i in smallest)
        assert (facts.people, dict(facts.smallest)) == (len(smallest), Counter(smallest.values()))
        assert (facts.linked_k, facts.unique) == (min(profiles.values()), sum(n == 1 for n in smallest.values()))


@pytest.mark.parametrize(("more", "bounded"), [(425, True), (575, False)])
def test_the_gain_that_enhanced_beta_allows_has_a_tolerance(more, bounded):
    """Two values of half each: either may gain −ln ½ and one part in a billion; here 0.85 and 1.15 of such parts more."""
    n = 10**12
    inside = round(n * (1 + math.log(2)) / 2) + more
    groups, column = recounting._Groups(), recounting._Column()
    groups.keys = [np.array([0, 0, 1, 1]), np.array([1, 2, 1, 2])]
    groups.counts = np.array([inside, n - inside, n - inside, inside])
    column.code = {None: 0, "x": 1, "y": 2}
    assert math.isfinite(recounting._inside(groups, groups, 1, column, (), None, ()).enhanced_beta) is bounded


def test_the_class_that_lacks_the_lowest_values_is_the_farthest(tmp_path):
    """|0 − 0.6| + |0 − 0.8| over two steps, against |0.75 − 0.6| + |1 − 0.8|."""
    file = tmp_path / "data.csv"
    file.write_text("q,a\n1,a\n1,a\n1,a\n1,b\n2,c\n")
    assert recounting.recount(file, ["q"], ["a"]).sensitive["a"].ordered == pytest.approx(0.7)


# --- tables released together ----------------------------------------------------------------------------------------------


def linked(folder, own, rows):
    """A person table (key, attribute, sensitive value) and one of visits (person, two columns, sensitive value), as files."""
    (folder / "people.csv").write_text("id,q,ill\n" + "".join(f"{p},{q},{v}\n" for p, q, v in own))
    (folder / "visits.csv").write_text("who,a,b,drug\n" + "".join(",".join(row) + "\n" for row in rows))
    files = [File(folder / "people.csv", "id", ("q",), ("ill",)), File(folder / "visits.csv", "who", ("a", "b"), ("drug",))]
    return everybody(files)


def sharing_by_definition(own, rows, known):
    """Try every choice of rows of every person, and look at everybody who has those rows and these attributes."""
    at = {p: (q, Counter((a, b) for who, a, b, _ in rows if who == p)) for p, q, _ in own}
    if known is None:
        return {p: sum(other == mine for other in at.values()) for p, mine in at.items()}
    out = {}
    for p, (q, mine) in at.items():
        choices = [Counter(c) for n in range(known + 1) for c in combinations(list(mine.elements()), n)]
        out[p] = min(sum(r == q and not c - theirs for r, theirs in at.values()) for c in choices)
    return out


@pytest.mark.parametrize("seed", range(6))
def test_people_of_linked_files_share_what_the_definition_says(seed, tmp_path):
    r = random.Random(seed)
    own = [(f"p{i}", r.choice("xy"), r.choice("uvw")) for i in range(14)]
    rows = [(f"p{r.randrange(14)}", r.choice("AB"), r.choice("CD"), r.choice("mn")) for _ in range(30)]
    found = linked(tmp_path, own, rows)
    for known in (None, 0, 1, 2, 3, 2):
        assert found.sharing(known) == sharing_by_definition(own, rows, known)
    assert (found.people, found.records) == (14, (14, 30))
    assert found.sensitive[0, "ill"] == {p: {v} for p, _, v in own}
    drugs = {p: {d for who, *_, d in rows if who == p} for p, *_ in rows}
    assert found.sensitive[1, "drug"] == drugs


def test_rows_of_two_tables_with_equal_values_are_two_things(tmp_path):
    for name, rows in (("people", "id,q\n1,x\n2,x\n"), ("a", "who,v\n1,A\n"), ("b", "who,v\n2,A\n")):
        (tmp_path / f"{name}.csv").write_text(rows)
    files = [File(tmp_path / "people.csv", "id", ("q",)), *(File(tmp_path / f"{n}.csv", "who", ("v",)) for n in "ab")]
    assert everybody(files).sharing(None) == {"1": 1, "2": 1}


@pytest.mark.parametrize(
    ("own", "rows", "reason"),
    [
        ([("", "x", "u")], [], "no key"),
        ([("1", "x", "u"), ("1", "x", "u")], [], "several rows"),
        ([("1", "x", "u")], [("2", "A", "C", "m")], "belongs to nobody"),
        ([("1", "x", "u")], [("", "A", "C", "m")], "no key"),
    ],
)
def test_a_key_without_its_person_is_an_error(own, rows, reason, tmp_path):
    with pytest.raises(VerificationError, match=reason):
        linked(tmp_path, own, rows)
