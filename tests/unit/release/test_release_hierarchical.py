"""Closeness by a hierarchy of the sensitive column: asked for, searched for, and counted again from the folder alone."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import shoal
from recount_oracle import recount
from shoal.errors import PolicyError, TamperError
from shoal.release.proof.trees import NAME, Tree
from shoal.release.verification import verify

TREE = {"lungs": {"flu": None, "cold": None}, "blood": {"hiv": None, "anaemia": None}}
ROWS = [["flu", "lungs", "*"], ["cold", "lungs", "*"], ["hiv", "blood", "*"], ["anaemia", "blood", "*"]]
PATHS = Tree(2, {"flu": (0,), "cold": (0,), "hiv": (1,), "anaemia": (1,)})


def slow(p, q, values):
    """The earth mover's distance as a transport problem, straight from its definition."""

    def apart(a, b):
        if a == b:
            return 0.0
        return 0.5 if a is not None and b is not None and PATHS.path(a) == PATHS.path(b) else 1.0

    n = len(values)
    cost = [apart(a, b) for a in values for b in values]
    out = np.kron(np.eye(n), np.ones(n))
    into = np.kron(np.ones(n), np.eye(n))
    return linprog(cost, A_eq=np.vstack([out, into]), b_eq=np.concatenate([p, q])).fun


@given(
    st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from(["flu", "cold", "hiv", "anaemia", None])), min_size=2, max_size=30)
)
@settings(max_examples=40, deadline=None)
def test_both_ways_equal_the_transport_problem(tmp_path_factory, rows):
    file = tmp_path_factory.mktemp("t") / "t.csv"
    file.write_text("a,ill\n" + "".join(f"{a},{v or ''}\n" for a, v in rows))
    found = {
        w: recount(file, ["a"], ["ill"], trees={"ill": PATHS}, way=w).sensitive["ill"].hierarchical
        for w in ("dictionary", "sorted")
    }
    values = sorted({v for _, v in rows}, key=str)
    q = np.array([sum(v == x for _, v in rows) for x in values]) / len(rows)
    worst = 0.0
    for a in {a for a, _ in rows}:
        inside = [v for b, v in rows if b == a]
        worst = max(worst, slow(np.array([inside.count(x) for x in values]) / len(inside), q, values))
    assert found["dictionary"] == pytest.approx(worst, abs=1e-7)
    assert found["sorted"] == pytest.approx(worst, abs=1e-7)


def people(seed=1, n=300):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 16, n)
    ill = [["flu", "cold", "hiv", "anaemia", None][v] for v in (age // 4 + rng.integers(0, 3, n)) % 5]
    return pa.table({"age": age, "ill": ill})


def asked(t, folder=None):
    (folder / "ill.csv").write_text("".join(";".join(r) + "\n" for r in ROWS))
    return shoal.Policy.parse(
        f"""
roles: {{quasi: {{age: {{hierarchy: {{intervals: [2, 4, 8]}}}}}}, sensitive: {{ill: {{hierarchy: ill.csv}}}}}}
require: {{k: 3, closeness: {{ill: {{t: {t}, distance: hierarchical}}}}}}
allow: {{suppress: 0.1, loss: 1}}
""",
        folder=folder,
    )


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("t", [0.2, 0.45])
def test_it_is_met_and_proven_from_the_folder(tmp_path, t, form):
    folder = shoal.anonymize(people(), asked(t, tmp_path), format=form).write(tmp_path / "out")
    made = verify(folder).require().certificate.to_json()
    inside = made["after"]["sensitive"]["ill"]
    assert inside["t_hierarchical"] <= t + 1e-9
    assert inside["t_hierarchical"] <= inside["t_equal"] + 1e-9
    finding = next(f for f in made["requirements"] if f["requirement"] == "closeness.ill.t")
    assert finding["found"] == inside["t_hierarchical"]
    shown = json.loads((folder / NAME).read_text())["columns"]["ill"]["groups"]
    assert set(shown) == {"flu", "cold", "hiv", "anaemia"}


def test_only_published_values_are_listed(tmp_path):
    table = people().filter(pa.compute.not_equal(people()["ill"], "hiv"))
    folder = shoal.anonymize(table, asked(0.5, tmp_path)).write(tmp_path / "out")
    text = (folder / NAME).read_text()
    assert "hiv" not in text
    assert "lungs" not in text, "labels of groups are not told"


def test_a_changed_tree_is_found(tmp_path):
    folder = shoal.anonymize(people(), asked(0.45, tmp_path)).write(tmp_path / "out")
    text = (folder / NAME).read_text()
    (folder / NAME).write_text(text.replace("0\n", "1\n", 1))
    assert not verify(folder).ok
    (folder / NAME).unlink()
    assert not verify(folder).ok


def test_a_value_outside_the_tree_stops_the_count():
    with pytest.raises(TamperError, match="does not cover"):
        PATHS.path("mumps")


def test_a_hierarchy_is_needed():
    policy = {
        "roles": {"quasi": ["age"], "sensitive": ["ill"]},
        "require": {"k": 3, "closeness": {"ill": {"t": 0.4, "distance": "hierarchical"}}},
    }
    with pytest.raises(PolicyError, match="needs a hierarchy"):
        shoal.anonymize(people(), policy)
