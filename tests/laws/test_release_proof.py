"""300 random tables and policies: what the certificate says is what a slow, separate checker finds in the written file."""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import InfeasibleError, RequirementError

WORDS = ["ash", "birch", "cedar", "elm", "fir", "oak", "=1+1", "'quoted", 'a"b', "x,y", "naïve", " blank ", "0012", ""]


def random_case(rng):
    """A small table and a policy, drawn over everything that a policy may ask for."""
    n = int(rng.integers(6, 70))
    columns = {}
    for i in range(int(rng.integers(1, 4))):
        kind = rng.integers(0, 4)
        if kind == 0:
            values = [int(v) for v in rng.integers(0, 40, n)]
        elif kind == 1:
            values = [WORDS[v] for v in rng.integers(0, len(WORDS), n)]
        elif kind == 2:
            values = [f"{v:04d}" for v in rng.integers(1000, 1030, n)]
        else:
            values = [bool(v) for v in rng.integers(0, 2, n)]
        holes = rng.random(n) < rng.choice([0.0, 0.15])
        columns[f"q{i}"] = [None if h else v for v, h in zip(values, holes, strict=True)]
    quasi = list(columns)
    columns["s"] = [None if v == 5 else f"ill{v}" for v in rng.integers(0, 6, n)]
    columns["money"] = [int(v) for v in rng.integers(0, 12, n)]
    columns["name"] = [f"person {i}" for i in range(n)]
    require = {"k": int(rng.integers(2, 6))}
    if rng.random() < 0.4:
        require["diversity"] = {"s": [{"distinct": 2}, {"entropy": 1.5}, {"recursive": {"c": 3, "l": 2}}][int(rng.integers(3))]}
    if rng.random() < 0.4:
        column, distance = [("s", "equal"), ("money", "ordered")][int(rng.integers(2))]
        require["closeness"] = {column: {"t": float(rng.choice([0.3, 0.5, 0.8])), "distance": distance}}
    if rng.random() < 0.2:
        require["risk"] = {"average": 0.4}
    bounded = {q: {"max_level": 1} for q in quasi} if rng.random() < 0.5 else {q: {} for q in quasi}
    policy = {
        "roles": {"quasi": bounded, "sensitive": ["s", "money"], "direct": ["name"]},
        "require": require,
        "allow": {"suppress": float(rng.choice([0.0, 0.1, 0.5, 1.0])), "loss": 1, "blank": 1},
        "optimize": str(rng.choice(["loss", "ncp", "discernibility"])),
        "seed": int(rng.integers(0, 100)),
    }
    return pa.table(columns), policy, str(rng.choice(["csv", "parquet"]))


def rows_of(folder):
    """The written records by plain means; in CSV a missing cell and an empty one are read alike."""
    if (folder / "data.csv").exists():
        with (folder / "data.csv").open(newline="", encoding="utf-8") as source:
            return list(csv.DictReader(source))
    return pq.read_table(folder / "data.parquet").to_pylist()


def slow_numbers(rows, quasi, column):
    """k, classes, distinct l, entropy l, t (equal), t (ordered) straight from their definitions."""
    classes = defaultdict(list)
    for row in rows:
        classes[tuple(row[q] for q in quasi)].append(row[column])
    whole = Counter(row[column] for row in rows)
    missing = ("", None)
    order = sorted(whole, key=lambda v: (v not in missing, float(v) if column == "money" and v not in missing else str(v)))
    n = len(rows)
    entropy, equal, ordered = [], [], []
    for values in classes.values():
        p = {v: c / len(values) for v, c in Counter(values).items()}
        entropy.append(math.exp(-sum(x * math.log(x) for x in p.values())))
        equal.append(sum(abs(p.get(v, 0) - whole[v] / n) for v in whole) / 2)
        running, total = 0.0, 0.0
        for v in order:
            running += p.get(v, 0) - whole[v] / n
            total += abs(running)
        ordered.append(total / (len(order) - 1) if len(order) > 1 else 0.0)
    sizes = [len(v) for v in classes.values()]
    return min(sizes), len(classes), min(len(set(v)) for v in classes.values()), min(entropy), max(equal), max(ordered)


def prove(seed, place):
    rng = np.random.default_rng([20260101, seed])
    table, policy, form = random_case(rng)
    policy["method"] = "lattice" if seed % 6 else "best"  # the best of all methods takes four times as long
    try:
        release = shoal.anonymize(table, policy, format=form)
        folder = release.write(place / str(seed))
    except InfeasibleError:
        assert not (place / str(seed)).exists()
        return "infeasible"
    made = release.certificate.to_json()
    rows = rows_of(folder)
    quasi = list(policy["roles"]["quasi"])
    assert "name" not in rows[0]
    assert len(rows) == made["after"]["records"] == table.num_rows - made["utility"]["suppressed"]
    assert made["utility"]["suppressed"] <= policy["allow"]["suppress"] * table.num_rows + 1e-9
    empty_and_missing = form == "csv" and any("" in table[q].to_pylist() and None in table[q].to_pylist() for q in quasi)
    for column in ("s", "money"):
        k, classes, distinct, entropy, equal, ordered = slow_numbers(rows, quasi, column)
        assert k >= policy["require"]["k"]
        if empty_and_missing:
            continue
        inside = made["after"]["sensitive"][column]
        assert (made["k"], made["after"]["classes"], inside["distinct"]) == (k, classes, distinct)
        assert inside["entropy"] == pytest.approx(entropy, abs=1e-9)
        assert inside["t_equal"] == pytest.approx(equal, abs=1e-9)
        assert inside["t_ordered"] == pytest.approx(ordered, abs=1e-9)
        asked = policy["require"].get("closeness", {}).get(column)
        if asked:
            assert (ordered if asked["distance"] == "ordered" else equal) <= asked["t"] + 1e-9
        if column == "s":
            wanted = policy["require"].get("diversity", {}).get("s", {})
            assert distinct >= wanted.get("distinct", 1)
            assert entropy >= wanted.get("entropy", 1) - 1e-9
    return "released"


def test_sixty_random_tables(tmp_path):
    outcomes = Counter(prove(seed, tmp_path) for seed in range(60))
    assert outcomes["released"] >= 25
    assert outcomes["infeasible"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_three_hundred_random_tables(tmp_path, monkeypatch, block):
    """In blocks, so that several processes can share them; what is written need not outlive a power cut here."""
    monkeypatch.setattr("os.fsync", lambda handle: None)
    outcomes = Counter(prove(seed, tmp_path) for seed in range(60 + 48 * block, 108 + 48 * block))
    assert outcomes.total() == 48
    assert outcomes["released"] >= 20


def test_a_subset_of_the_columns_is_never_less_safe(tmp_path):
    """A2: k of any subset of the quasi-identifiers is at least k of the whole."""
    rng = np.random.default_rng(5)
    n = 400
    table = pa.table({"a": rng.integers(0, 60, n), "b": rng.integers(0, 5, n), "c": rng.choice(["x", "y", "z"], n)})
    release = shoal.anonymize(table, quasi=["a", "b", "c"], k=4, allow={"suppress": 0.05})
    rows = rows_of(release.write(tmp_path / "out"))
    for subset in (["a"], ["b"], ["c"], ["a", "b"], ["a", "c"], ["b", "c"]):
        assert min(Counter(tuple(r[c] for c in subset) for r in rows).values()) >= release.k


def test_the_same_input_and_seed_give_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    rng = np.random.default_rng(9)
    table = pa.table({"a": rng.integers(0, 30, 200), "s": rng.choice(["x", "y"], 200)})
    asked = {"roles": {"quasi": ["a"], "sensitive": ["s"]}, "require": {"k": 5}, "seed": 7}
    first, second = (shoal.anonymize(table, asked).write(tmp_path / name) for name in ("one", "two"))
    for name in ("data.csv", "plan.json", "report.html"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    other = shoal.anonymize(table, {**asked, "seed": 8}).write(tmp_path / "three")
    assert (other / "data.csv").read_bytes() != (first / "data.csv").read_bytes()


def test_failure_leaves_nothing(tmp_path):
    table = pa.table({"a": list(range(10))})
    with pytest.raises(RequirementError):
        shoal.anonymize(table, quasi={"a": {"max_level": 0}}, k=5).write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
