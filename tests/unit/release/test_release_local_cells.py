"""Local recoding that publishes sets and ranges: released, counted again, attacked, and refused where it has no meaning."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import PolicyError
from shoal.release.plan.methods import _coded
from shoal.release.plan.published_classes import _covers, _in_label
from shoal.release.policy.policy import Policy
from shoal.search.local_recoding.published import Published

QUASI = ("age", "job")


def people(n: int = 300) -> pa.Table:
    rng = np.random.default_rng(11)
    return pa.table(
        {
            "age": pa.array(rng.integers(20, 60, n), mask=rng.random(n) < 0.03),
            "job": pa.array(rng.choice(["baker", "judge", "nurse", "smith"], n)),
            "illness": pa.array(rng.choice(["a", "b", "c"], n)),
        }
    )


def policy(cells: object, k: int = 4) -> dict[str, object]:
    roles = {"quasi": {"age": {}, "job": {}}, "sensitive": ["illness"]}
    return {"roles": roles, "require": {"k": k}, "method": "local", "cells": cells, "allow": {"loss": 1, "blank": 1}}


def holds(label: str | None, value: object) -> bool:
    """Whether a published cell covers an original value, read from its text alone."""
    if label is None or value is None:
        return label == "*" or (label is None and value is None) or (label is not None and label.endswith("missing}"))
    if label == "*":
        return True
    inner = label.strip("{}")
    band = re.fullmatch(r"(\d+)(?:\.\.|-)(\d+)", inner.removesuffix(", missing"))
    if band:
        low, high = band.groups()
        return int(low) <= int(str(value)) <= int(high)
    return str(value) in inner.split(", ")


@pytest.mark.parametrize("cells", ["sets", "ranges", {"age": "ranges"}, {"job": "sets"}])
def test_a_release_of_sets_or_ranges_is_proven(cells: object, tmp_path: Path) -> None:
    table = people()
    release = shoal.anonymize(table, policy(cells))
    out = release.write(tmp_path / "release")
    assert shoal.verify(out).ok
    rows = release.to_arrow().to_pylist()
    assert len(rows) == table.num_rows
    sizes = Counter((r["age"], r["job"]) for r in rows)
    assert min(sizes.values()) >= 4
    originals = table.to_pylist()
    room = defaultdict(int)
    for age, job in {(r["age"], r["job"]) for r in originals}:
        here = sum(n for labels, n in sizes.items() if holds(labels[0], age) and holds(labels[1], job))
        room[age, job] = here
    asked = Counter((r["age"], r["job"]) for r in originals)
    if cells in ("sets", "ranges"):
        assert all(room[value] >= n for value, n in asked.items())
    plan = json.loads((Path(out) / "plan.json").read_text())
    said = json.dumps(plan)
    assert ("age as " in said) == (cells in ("sets", "ranges") or cells == {"age": "ranges"})
    assert "recoded locally" in said


@pytest.mark.parametrize("method", ["local", "best"])
@pytest.mark.parametrize("cells", ["sets", "ranges"])
@pytest.mark.parametrize(("holders", "named"), [(1, False), (4, False), (5, True)])
def test_a_value_that_fewer_than_k_people_have_is_never_named(cells: str, method: str, holders: int, named: bool) -> None:
    """That the one person of 99 is in the table would be published. The class of such a value gets a hierarchy value instead."""
    ages = [a for a in range(30, 50) for _ in range(12)] + [99] * holders
    table = pa.table({"age": ages, "job": [("baker", "judge", "nurse")[i % 3] for i in range(len(ages))]})
    asked = {"roles": {"quasi": ["age", "job"]}, "require": {"k": 5}, "method": method, "cells": cells, "allow": {"loss": 1}}
    made = shoal.anonymize(table, asked)
    assert made.decision.method == "local"
    labels = {str(label) for label in made.to_arrow()["age"].to_pylist()}
    assert any(re.search(r"(?<!-)\b99\b", label) for label in labels) is named
    assert made.certificate.after.k >= 5


def test_a_value_of_one_person_with_many_records_is_rare() -> None:
    """People are counted, not records."""
    ages = [30 + i % 10 for i in range(200)] + [99] * 8
    table = pa.table({"who": [*range(200), *[200] * 8], "age": ages, "job": [("a", "b", "c", "d")[i % 4] for i in range(208)]})
    roles = {"quasi": ["age", "job"]}
    asked = {"roles": roles, "unit": "who", "require": {"k": 5}, "method": "local", "cells": "sets", "allow": {"loss": 1}}
    labels = {str(label) for label in shoal.anonymize(table, asked).to_arrow()["age"].to_pylist()}
    assert not any(re.search(r"\{.*99|^99", label) for label in labels)


def test_sets_lose_least_and_a_hierarchy_most() -> None:
    loss = [shoal.anonymize(people(), policy(cells)).certificate.utility.loss for cells in ("sets", "ranges", "hierarchy")]
    assert loss[0] < loss[1] < loss[2]


def test_cells_need_a_local_recoding_and_quasi_identifiers() -> None:
    with pytest.raises(PolicyError, match="no effect with method: lattice"):
        Policy.of({**policy("sets"), "method": "lattice"})
    with pytest.raises(PolicyError, match="not a quasi-identifier"):
        Policy.of(policy({"illness": "sets"}))
    with pytest.raises(PolicyError):
        Policy.of(policy("intervals"))
    for cells in ("sets", {"age": "ranges"}):
        said = Policy.of(policy(cells)).to_json()
        assert said["cells"] == cells
        assert Policy.of(said).local_cells == cells
    assert "cells" not in Policy.of(policy("hierarchy")).to_json()


@pytest.mark.parametrize("ranged", [True, False])
def test_values_that_a_label_holds_against_their_definition(ranged: bool) -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        n, values = int(rng.integers(1, 12)), int(rng.integers(1, 6))
        codes = rng.integers(0, values + 1, n).astype(np.int32)  # the last is the missing value
        clusters = rng.integers(0, 3, n)
        found = _in_label(codes, values, clusters, ranged=ranged).tolist()
        for c, got in zip(clusters, found, strict=True):
            held = {int(x) for x in codes[clusters == c]}
            real = held - {values}
            if ranged and real:
                held |= set(range(min(real), max(real) + 1))
            assert got == len(held)


def test_values_under_a_node_against_their_definition() -> None:
    """Values of which some are missing (−1) or occur nowhere; one node of each."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        values = rng.integers(-1, 6, int(rng.integers(1, 12))).astype(np.int32)
        codes = (10 * rng.integers(0, 3, 7)).astype(np.int32)[values + 1]
        for code, got in zip(codes, _covers(codes, values).tolist(), strict=True):
            assert got == len({int(v) for v in values[codes == code]})


def test_labels_get_codes_in_the_order_in_which_classes_come() -> None:
    cells = Published(np.ones(5), lambda: (["b", None, "a", "never"], np.array([0, 1, 2, 0, 3])))
    ((codes, names),) = _coded(SimpleNamespace(groups=np.array([2, 1, 3, 0, 2]), published=[cells]))
    assert (codes.tolist(), names) == ([0, -1, 1, 1, 0], ("a", "b"))
