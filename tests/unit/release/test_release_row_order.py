"""Published rows stand in a random order of their own: equal rows apart, the same bytes for the same seed and any input order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.attacks.leftovers import neighbour_score
from shoal.kernels.order import text_hashes
from shoal.model.plan import Plan

ROLES = {"quasi": {"sex": {"max_level": 0}, "team": {"max_level": 0}}, "sensitive": ["ill"]}
POLICY = {"roles": ROLES, "require": {"k": 2}, "seed": 271_828_182_845_904_523, "date": "2026-11-15"}


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng = np.random.default_rng(8)
    return pa.table({"sex": rng.choice(["f", "m"], 300), "team": rng.choice(["a", "b"], 300), "ill": rng.choice(["x", "y"], 300)})


def rows_of(folder) -> list[str]:
    return (folder / "data.csv").read_text().splitlines()[1:]


def test_equal_rows_do_not_stand_in_one_block(people, tmp_path):
    """Issue 36.9: eight kinds of rows, 300 records; a block of each kind was published."""
    rows = rows_of(shoal.anonymize(people, POLICY).write(tmp_path / "r"))
    codes = np.unique(rows, return_inverse=True)[1]
    blocks = 1 + int((np.diff(codes) != 0).sum())
    assert len(np.unique(codes)) == 8
    assert blocks > 200
    assert abs(neighbour_score(codes.astype(np.int64))) < 4


def test_the_order_follows_from_the_rows_and_the_seed(people, tmp_path):
    other = people.take(np.random.default_rng(1).permutation(people.num_rows))
    first = rows_of(shoal.anonymize(people, POLICY).write(tmp_path / "a"))
    assert rows_of(shoal.anonymize(other, POLICY).write(tmp_path / "b")) == first
    again = rows_of(shoal.anonymize(people, {**POLICY, "seed": 314_159_265_358_979_323}).write(tmp_path / "c"))
    assert again != first
    assert sorted(again) == sorted(first)


def test_a_frame_and_a_file_of_the_same_rows_give_the_same_order(people, tmp_path):
    file = tmp_path / "people.csv"
    file.write_text("\n".join([",".join(people.column_names), *(",".join(r.values()) for r in people.to_pylist())]) + "\n")
    for source, out in ((people, "frame.csv"), (file, "file.csv")):
        shoal.open(source).recode(Plan(seed=9), tmp_path / out)
    assert (tmp_path / "file.csv").read_bytes() == (tmp_path / "frame.csv").read_bytes()


@pytest.mark.parametrize("rows", [256, 257, 1000])
def test_texts_that_repeat_have_the_hash_that_each_has_alone(rows):
    """Above 256 texts each different one is hashed once: neither that boundary nor a missing text changes an order."""
    texts = [None if i % 11 == 0 else f"value {i % 7}" for i in range(rows)]
    alone = np.concatenate([text_hashes(pa.array([t], pa.string())) for t in texts])
    assert (text_hashes(pa.array(texts, pa.string())) == alone).all()
