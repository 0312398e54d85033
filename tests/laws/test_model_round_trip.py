"""Plans and counts come back from JSON and Parquet as they were."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import PolicyError, UnreadableError
from shoal.model.counts.classes import ClassCounts, PackedCodes, SensitiveCounts
from shoal.model.counts.files import read_counts, write_counts
from shoal.model.plan import Plan, Suppression, step_from_json
from shoal.model.roles import MissingPolicy
from shoal.steps import Clamp, Constant, Cut, Drop, Keep, MapValues, Prefix, Round

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    kinds = st.lists(NUMBER, max_size=4, unique=True) | st.lists(st.dates().map(str), max_size=4, unique=True)
    points: Any = sorted(draw(kinds))
    labels = draw(st.lists(TEXT, min_size=len(points) + 1, max_size=len(points) + 1))
    return Cut(draw(TEXT), tuple(points), tuple(labels), draw(st.sampled_from(["left", "right"])), draw(st.none() | TEXT))


@st.composite
def maps(draw: st.DrawFn) -> MapValues:
    keys = draw(st.lists(TEXT, max_size=5, unique=True))
    labels = draw(st.lists(TEXT, min_size=1, max_size=3))
    targets = draw(st.lists(st.integers(0, len(labels) - 1), min_size=len(keys), max_size=len(keys)))
    gap = draw(st.sampled_from(["error", "suppress", "top"]))
    return MapValues(draw(TEXT), tuple(keys), tuple(targets), tuple(labels), gap, draw(TEXT), draw(st.none() | TEXT))


STEPS = st.one_of(
    st.builds(Keep, TEXT),
    st.builds(Drop, TEXT),
    st.builds(Constant, TEXT, TEXT),
    st.builds(Prefix, TEXT, st.integers(0, 99), st.sampled_from(["", "*", "é", '"']), st.booleans()),
    st.builds(Round, TEXT, st.floats(1e-300, 1e300)),
    st.builds(lambda c, a, b: Clamp(c, min(a, b), max(a, b)), TEXT, NUMBER, NUMBER),
    st.builds(Clamp, TEXT, high=st.none() | NUMBER),
    cuts(),
    maps(),
)
SUPPRESSION = st.builds(
    Suppression,
    st.integers(0, 2**40),
    st.lists(TEXT, max_size=3).map(tuple),
    st.sampled_from(["rows", "cells", "none"]),
    st.none() | TEXT,
)
PLANS = st.builds(
    Plan,
    st.lists(STEPS, max_size=4).map(tuple),
    SUPPRESSION,
    st.integers(0, 2**63),
    st.booleans(),
    st.lists(TEXT, max_size=2).map(tuple),
)


@settings(max_examples=200)
@given(PLANS)
def test_plans_come_back_from_json(plan: Plan) -> None:
    text = plan.to_json()
    assert Plan.from_json(text) == plan
    assert Plan.from_json(text).to_json() == text
    assert all(step_from_json(json.loads(json.dumps(s.to_json()))) == s for s in plan.steps)


@given(PLANS, st.data())
def test_a_broken_plan_is_refused_in_our_words(plan: Plan, data: st.DataObject) -> None:
    whole = json.loads(plan.to_json())
    del whole[data.draw(st.sampled_from(["format", "steps", "suppression", "seed"]))]
    for text in (json.dumps(whole), plan.to_json()[:-3], "[]", "3", '{"format": "shoal-plan/1", "steps": 3}'):
        with pytest.raises(PolicyError):
            Plan.from_json(text)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("steps", [3]),
        ("steps", [{"kind": "no such"}]),
        ("steps", [{"kind": ["map"]}]),
        ("steps", [{"kind": "round", "base": "x"}]),
    ]
    + [("suppression", s) for s in ({"k": "x", "columns": [], "scope": "rows"}, {"k": 2, "columns": [], "scope": "some"}, [])]
    + [("seed", "x"), ("seed", None), ("notes", 3)],
)
def test_a_part_of_the_wrong_type_is_refused_in_our_words(part: str, value: Any) -> None:
    whole = json.loads(Plan((Keep("a"),), Suppression(2, ("a",))).to_json()) | {part: value}
    with pytest.raises(PolicyError):
        Plan.from_json(json.dumps(whole))


VALUES: dict[str, Any] = {
    "text": pa.array(["", "a", "é\x00'"]),
    "date": pa.array([1, 2, 30000], pa.int32()).view(pa.date32()),
    "float": pa.array([-math.inf, 0.1, 1e300]),
    "decimal": pa.array([1, 2, 3]).cast(pa.decimal128(25, 2)),
    "moment": pa.array([0, 1, 2], pa.timestamp("us")),
    "flag": pa.array([False, True]),
}


@st.composite
def counts(draw: st.DrawFn) -> ClassCounts:
    n = draw(st.integers(1, 6))
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=3))
    sizes = draw(st.lists(st.integers(1, 2**62), min_size=n, max_size=n))
    codes = [draw(st.lists(st.integers(-1, len(VALUES[k]) - 1), min_size=n, max_size=n)) for k in kinds]
    unit = draw(st.none() | TEXT)
    secret = np.array(draw(st.lists(st.lists(st.integers(0, 2**40), min_size=3, max_size=3), min_size=n, max_size=n)))
    return ClassCounts(
        sizes,
        columns=[f"{k}\n{i}" for i, k in enumerate(kinds)],
        codes=codes,
        categories=[VALUES[k] for k in kinds] if draw(st.booleans()) else (),
        sensitive={"s'": SensitiveCounts.from_dense("s'", secret, VALUES["text"])} if draw(st.booleans()) else {},
        records=sizes if unit is not None else None,
        weights=draw(st.none() | st.lists(NUMBER, min_size=n, max_size=n)),
        n_people=draw(st.none() | st.integers(1, 2**62)) if unit is not None else None,
        unit=unit,
        missing=draw(st.sampled_from(list(MissingPolicy))),
    )


def same(a: ClassCounts, b: ClassCounts) -> None:
    for name in ("columns", "n_people", "unit", "missing"):
        assert getattr(a, name) == getattr(b, name)
    for name in ("sizes", "records", "weights"):
        one, two = getattr(a, name), getattr(b, name)
        assert (one is None) == (two is None)
        assert one is None or (one.dtype == two.dtype and one.tolist() == two.tolist())
    assert [c.tolist() for c in a.codes] == [c.tolist() for c in b.codes]
    assert [c.dtype for c in a.codes] == [c.dtype for c in b.codes]
    assert len(a.categories) == len(b.categories)
    assert all(x.equals(y) for x, y in zip(a.categories, b.categories, strict=True))
    assert a.sensitive.keys() == b.sensitive.keys()
    for name, one in a.sensitive.items():
        two = b.sensitive[name]
        assert all(np.array_equal(getattr(one, f), getattr(two, f)) for f in ("classes", "values", "counts"))
        assert one.categories.equals(two.categories)


@settings(max_examples=100, deadline=None)
@given(counts())
def test_counts_come_back_from_parquet(found: ClassCounts) -> None:
    with tempfile.TemporaryDirectory() as folder:
        same(read_counts(write_counts(found, Path(folder) / "c.parquet")), found)


def test_packed_counts_come_back(tmp_path: Path) -> None:
    keys = np.array([1, 5, 7], np.uint64)
    found = ClassCounts([1, 2, 3], ["a", "b"], PackedCodes([keys], (2, 4), ([-1, 0], [-1, 0, 1, 2])))
    assert [c.tolist() for c in found.codes] == [[-1, 0, 0], [0, 0, 2]]
    same(read_counts(write_counts(found, tmp_path / "c.parquet")), found)


@pytest.mark.parametrize("text", ["", "3", "[]", "{}", '{"format": "shoal-counts/1"}', "[" * 200_000])
def test_other_files_are_not_counts(tmp_path: Path, text: str) -> None:
    pq.write_table(pa.table({"size": [1]}).replace_schema_metadata({"shoal": text}), tmp_path / "c.parquet")
    with pytest.raises(UnreadableError, match="does not hold counts"):
        read_counts(tmp_path / "c.parquet")


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000, "{", "[]", "null", '{"format": "x"}'])
def test_texts_that_are_no_plan(text: str) -> None:
    """Also those nested so deeply that the reader gives up."""
    with pytest.raises(PolicyError, match="the plan"):
        Plan.from_json(text)
