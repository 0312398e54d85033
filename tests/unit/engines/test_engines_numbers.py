"""Numbers of rows: made of the content, different for every row, the same in any order and whatever is held in memory."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.recode import spill as numbers
from shoal.engines.recode import write
from shoal.engines.recode.spill import Held
from shoal.kernels.order import Repeats, row_numbers, times_before
from shoal.techniques.kernels import draws

SEED = 10**15 + 3


def slow(values):
    """Each row's content, and how often it was seen before: by counting."""
    seen, out = Counter(), []
    for v in values:
        out.append(seen[v])
        seen[v] += 1
    return out


def tables(values, size):
    parts = [values[i : i + size] for i in range(0, max(len(values), 1), size)]
    return [pa.table({"p0": pa.array(p, pa.int64()), "o0": pa.array(p, pa.int64())}) for p in parts]


@pytest.mark.parametrize("held", [1, 400, 1 << 20])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_equal_rows_are_counted_as_they_come(tmp_path, held, size):
    values = np.random.default_rng(4).integers(0, 60, 150).tolist() if size > 1 else [5, 5, 6, 5, 6]
    hashed = numbers.hashed(iter(tables(values, size)), ["p0"], 1)
    made = list(numbers.as_they_come(hashed, tmp_path, held))
    assert [v for t in made for v in t["p0"].to_pylist()] == values
    assert [n for t in made for n in t[numbers.BEFORE].to_pylist()] == slow(values)
    assert "o0" not in made[0].column_names
    assert not list(tmp_path.iterdir()), "nothing is left on disk"


@pytest.mark.parametrize("slots", [4, 1 << 16])
def test_only_hashes_that_may_come_again_are_sorted(tmp_path, monkeypatch, slots):
    """Many rows: those alone in their slot come once. With four slots all are sorted, with the same answer."""
    monkeypatch.setattr(numbers, "FEW_HASHES", 150)
    monkeypatch.setattr(numbers, "Repeats", lambda: Repeats(slots))
    values = [*range(130), *[5, 7, 5] * 6, 200, 201]
    hashed = numbers.hashed(iter(tables(values, 40)), ["p0"], 0)
    rows = Held(tmp_path, "x", hashed)
    sorted_ = [int(h) for t in numbers._keys(rows) for h in t[numbers.HASH].to_pylist()]
    assert len(sorted_) == (150 if slots == 4 else 20)
    rows.remove()
    made = numbers.as_they_come(numbers.hashed(iter(tables(values, 40)), ["p0"], 0), tmp_path, 400)
    assert [n for t in made for n in t[numbers.BEFORE].to_pylist()] == slow(values)


@pytest.mark.parametrize("few", [9, 10, 11])
def test_of_few_rows_all_hashes_are_sorted(tmp_path, monkeypatch, few):
    monkeypatch.setattr(numbers, "FEW_HASHES", few)
    rows = Held(tmp_path, "x", numbers.hashed(iter(tables(list(range(10)), 4)), ["p0"], 0))
    assert sum(t.num_rows for t in numbers._keys(rows)) == (10 if few > 10 else 0)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 40])
def test_equal_hashes_are_counted_over_the_ends_of_tables(size):
    """Tables of one, two, three … rows out of one row of ordered hashes: runs begin, go on and end in every place."""
    hashes = sorted(np.random.default_rng(7).integers(0, 8, 40).tolist())
    seen = numbers._Seen()
    made = [n for i in range(0, 40, size) for n in seen.before(np.array(hashes[i : i + size], np.uint64)).tolist()]
    assert made == slow(hashes)
    assert seen.before(np.empty(0, np.uint64)).tolist() == []
    assert seen.before(np.array([hashes[-1], 9], np.uint64)).tolist() == [hashes.count(hashes[-1]), 0]


@pytest.mark.parametrize("size", [1, 3, 10])
def test_repeated_rows_are_found_from_place_to_place(size):
    """Repetitions in the first and the last place of a part, none in a part, and several in one."""
    times = {0: 4, 2: 1, 3: 2, 9: 7, 11: 1}
    rows = sorted(times)
    given = [pa.table({numbers.ROW: numbers.places(r, 1), numbers.BEFORE: np.array([times[r]], np.uint64)}) for r in rows]
    found = numbers._Repeated(iter(given))
    made = [n for i in range(0, 12, size) for n in found.among(i, min(size, 12 - i)).tolist()]
    assert made == [times.get(i, 0) for i in range(12)]


def test_numbers_of_a_table_in_memory():
    values = ["a", "b", "a", None, "a", None]
    found = row_numbers([pa.array(values)], len(values))
    assert found[:, 1].tolist() == slow(values)
    assert len({tuple(r) for r in found.tolist()}) == len(values)
    assert times_before(np.array([1, 1, 2, 3, 3, 3], np.uint64)).tolist() == [0, 1, 0, 0, 1, 2]
    assert row_numbers([pa.array([], pa.int64())], 0).shape == (0, 2)


STEPS = {
    "noise": {"steps": [{"column": "pay", "noise": {"scale": 40}}]},
    "correlated": {"steps": [{"column": "pay", "correlated_noise": {"others": ["debt"], "share": 0.3}}]},
    "pram": {"steps": [{"column": "town", "pram": {"keep": 0.5}}]},
    "sample": {"sample": {"share": 0.5}, "steps": []},
    "sampled noise": {"sample": {"share": 0.5}, "steps": [{"column": "pay", "noise": {"scale": 40}}]},
    "permuted noise": {"steps": [{"column": "pay", "noise": {"scale": 40}}, {"column": "debt", "permute": {}}]},
}


@pytest.mark.parametrize("kind", STEPS)
def test_the_order_of_the_rows_and_the_memory_change_nothing(kind, tmp_path, monkeypatch):
    """Few different rows, most of them several times: equal rows have draws of their own, and no order matters."""
    rng = np.random.default_rng(6)
    table = pa.table({"pay": rng.integers(0, 9, 400), "debt": rng.integers(0, 4, 400), "town": rng.choice(["A", "B"], 400)})
    plan = shoal.transform(table, STEPS[kind]).plan
    shoal.transform(table, plan, tmp_path / "a.parquet", seed=SEED)
    shoal.transform(table.take(rng.permutation(400)), plan, tmp_path / "b.parquet", seed=SEED)
    monkeypatch.setattr(write, "HELD", 2000)
    shoal.transform(table.take(rng.permutation(400)), plan, tmp_path / "c.parquet", seed=SEED)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes() == (tmp_path / "c.parquet").read_bytes()
    assert len(set(pq.read_table(tmp_path / "a.parquet")["pay"].to_pylist())) > (9 if "noise" in kind else 1)


def test_equal_rows_have_noise_of_their_own(tmp_path):
    table = pa.table({"pay": [1000] * 200})
    shoal.transform(table, {"steps": [{"column": "pay", "noise": {"scale": 40}}]}, tmp_path / "o.parquet")
    made = pq.read_table(tmp_path / "o.parquet")["pay"].to_pylist()
    assert len(set(made)) > 50, "one draw for all of them would be taken off at once"


def test_draws_are_those_of_aes_and_belong_to_the_number_alone():
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = draws.derive(SEED, "noise")
    rows = np.array([[7, 0], [7, 1], [2**64 - 1, 3]], np.uint64)
    block = (7).to_bytes(8, "little") + (1).to_bytes(8, "little")
    made = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)
    assert int(draws.bits(key, rows)[1]) == int.from_bytes(made[:8], "little")
    assert draws.bits(key, rows[::-1]).tolist() == draws.bits(key, rows)[::-1].tolist()
    assert len(set(draws.bits(key, rows).tolist())) == 3
    assert draws.bits(key, rows[:0]).tolist() == []
