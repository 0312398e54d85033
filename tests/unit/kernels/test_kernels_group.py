"""Grouping and counting of codes: equal to a dictionary built by hand, on every path."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InternalError
from shoal.kernels import count as counting
from shoal.kernels import group
from shoal.kernels.count import add_digit, count_keys
from shoal.kernels.group import count_by, group_codes, project, sum_by
from shoal.model.counts.classes import ClassCounts, PackedCodes, SensitiveCounts


def by_hand(columns: list[list[int]]) -> tuple[list[int], list[int]]:
    seen: dict[tuple[int, ...], int] = {}
    ids, first = [], []
    for i, row in enumerate(zip(*columns, strict=True)):
        if row not in seen:
            seen[row] = len(seen)
            first.append(i)
        ids.append(seen[row])
    return ids, first


@given(st.integers(1, 4).flatmap(lambda w: st.lists(st.tuples(*[st.integers(-1, 5)] * w), min_size=1, max_size=40)))
def test_grouping_equals_a_dictionary(rows: list[tuple[int, ...]]) -> None:
    columns = [list(c) for c in zip(*rows, strict=True)]
    found = group_codes(columns)
    assert (found.ids.tolist(), found.first.tolist()) == by_hand(columns)
    assert found.n == len(found.first)


@pytest.mark.parametrize(
    ("cards", "rows"),
    [([3, 4], 5000), ([2**20, 2**20], 5000), ([2**20, 2**20], 400_000), ([2**31 - 2] * 3, 3000), ([5, 2**30, 2**30, 7], 300_000)],
    ids=["direct", "hash", "radix", "more than 2⁶³", "radix, more than 2⁶³"],
)
def test_every_path_equals_numpy(cards: list[int], rows: int) -> None:
    rng = np.random.default_rng(3)
    columns = [rng.integers(-1, card, rows).astype(np.int32) for card in cards]
    for c in columns:
        c[rows // 2 :] = c[: rows - rows // 2]  # every combination at least twice
    found = group_codes(columns, cards)
    _, first, inverse = np.unique(np.column_stack(columns), axis=0, return_index=True, return_inverse=True)
    assert found.n == len(first)
    assert np.array_equal(found.first, np.sort(first))
    assert np.array_equal(found.first[found.ids], first[inverse.ravel()])


@pytest.mark.parametrize("rows", [1, 2, 2047, 30_000])
def test_groups_made_without_compiled_code_begin_at_their_first_rows(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal keys are sorted in no order of their own."""
    monkeypatch.setattr(group, "compiled_pays", lambda n: False)
    keys = np.random.default_rng(rows).integers(0, rows // 20 + 1, rows).astype(np.uint64)
    found = group.group_keys(keys, rows)
    ids, first = by_hand([keys.tolist()])
    assert (found.ids.tolist(), found.first.tolist(), found.n) == (ids, first, len(first))
    assert group.group_keys(keys[:0], rows).n == 0


def test_no_column_and_no_row() -> None:
    assert group_codes([], n_rows=3).ids.tolist() == [0, 0, 0]
    assert group_codes([], n_rows=0).n == 0
    assert group_codes([[], []]).n == 0
    with pytest.raises(InternalError):
        group_codes([[1], [1, 2]])


@settings(max_examples=30)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=50))
def test_keys_are_counted_in_order(keys: list[int]) -> None:
    distinct, counts = count_keys(np.array(keys, np.uint64), 51)
    assert dict(zip(distinct.tolist(), counts.tolist(), strict=True)) == Counter(keys)
    assert distinct.tolist() == sorted(set(keys))


@pytest.mark.parametrize(("space", "distinct"), [(1000, 1000), (2**50, 2000), (2**50, 10**7)], ids=["direct", "hash", "radix"])
def test_compiled_counting_equals_numpy(space: int, distinct: int) -> None:
    rng = np.random.default_rng(4)
    keys = rng.integers(0, space, distinct).astype(np.uint64)[rng.integers(0, distinct, 200_000)]
    expected = np.unique(keys, return_counts=True)
    found = count_keys(keys.copy(), space)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


def test_many_keys_behind_a_frequent_one_are_counted() -> None:
    """Half of the rows are alike, so a hash table is tried; too many others differ, so it gives up."""
    rng = np.random.default_rng(5)
    keys = np.concatenate([np.zeros(150_000, np.uint64), rng.integers(1, 2**50, 150_000).astype(np.uint64)])
    rng.shuffle(keys)
    expected = np.unique(keys, return_counts=True)
    found = count_keys(keys.copy(), 2**50)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


@pytest.mark.parametrize("n", [100, counting.FEW + 5], ids=["numpy", "compiled"])
@pytest.mark.parametrize("widths", [(7, 1000, 3), (8, 1024, 4)], ids=["division", "shift"])
def test_digits_come_off_as_they_went_on(n: int, widths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    digits = [rng.integers(0, w, n).astype(np.uint16) for w in widths]
    key = np.zeros(n, np.uint64)
    for d, w in zip(digits, widths, strict=True):
        used = np.zeros(w, np.bool_)
        add_digit(key, d, w, np.arange(w, dtype=np.uint32)[::-1].copy(), used)
        assert np.array_equal(np.flatnonzero(used), np.unique(w - 1 - d.astype(np.int64)))
    packed = PackedCodes([key], widths)
    assert all(np.array_equal(out, w - 1 - d.astype(np.int64)) for out, d, w in zip(packed, digits, widths, strict=True))
    tables = [np.arange(w)[::-1] for w in widths]
    assert all(np.array_equal(out, d) for out, d in zip(PackedCodes([key], widths, tables), digits, strict=True))
    assert np.array_equal(packed[-1], packed[2])
    assert [len(c) for c in packed[1:]] == [n, n]


def test_sums_are_exact_beyond_double_precision() -> None:
    big = 2**53 + 1
    assert sum_by([0, 0, 1], [big, 0, 5], 2).tolist() == [big, 5]
    assert sum_by([0, 1], [0.25, 0.5], 3).tolist() == [0.25, 0.5, 0.0]
    assert count_by([2, 2], 3).tolist() == [0, 0, 2]


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2), st.integers(-1, 3)), min_size=1, max_size=30))
def test_projection_equals_counting_the_rows(rows: list[tuple[int, int, int]]) -> None:
    pairs = Counter((a, b) for a, b, _ in rows)
    order = sorted(pairs)
    inside = Counter((order.index((a, b)), s) for a, b, s in rows)
    entries = sorted(inside)
    sensitive = SensitiveCounts("s", [e[0] for e in entries], [e[1] for e in entries], [inside[e] for e in entries])  # type: ignore[arg-type]
    counts = ClassCounts(
        [pairs[o] for o in order], ("a", "b"), [[o[0] for o in order], [o[1] for o in order]], sensitive={"s": sensitive}
    )
    found = project(counts, ["b"])
    assert dict(zip(found.codes[0].tolist(), found.sizes.tolist(), strict=True)) == Counter(b for _, b, _ in rows)
    got = found.sensitive["s"]
    mine = {
        (int(found.codes[0][c]), v): n
        for c, v, n in zip(got.classes.tolist(), got.values.tolist(), got.counts.tolist(), strict=True)
    }
    assert mine == Counter((b, s) for _, b, s in rows)


def test_people_cannot_be_added_up_over_classes() -> None:
    counts = ClassCounts([1, 1], ("a", "b"), [[0, 0], [0, 1]], records=[1, 1], n_people=1, unit="who")
    with pytest.raises(InternalError, match="cannot be added up"):
        project(counts, ["a"])
    assert project(counts, ["b"]).sizes.tolist() == [1, 1]


def test_without_numba_the_answers_are_the_same() -> None:
    code = """
        import numpy as np
        from shoal.kernels.jit import HAVE_NUMBA
        from shoal.kernels.count import count_keys
        from shoal.kernels.group import group_codes
        assert not HAVE_NUMBA
        rng = np.random.default_rng(6)
        c = rng.integers(-1, 1000, 100_000)
        g = group_codes([c, c % 7])
        print(g.n, int(g.ids.sum()), int(g.first.sum()))
        k, n = count_keys((c + 1).astype(np.uint64), 2**40)
        print(len(k), int(k.sum()), n.max())
    """
    runs = []
    for flag in ("1", "0"):
        env = {**os.environ, "SHOAL_NO_NUMBA": flag}
        text = textwrap.dedent(code).replace(
            "assert not HAVE_NUMBA", "assert HAVE_NUMBA" if flag == "0" else "assert not HAVE_NUMBA"
        )
        runs.append(subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True).stdout)
    assert runs[0] == runs[1]


def test_a_cache_that_cannot_be_written_does_not_stop_a_count(tmp_path) -> None:
    """A full disk: numba compiles, fails to keep what it compiled, and the kernel compiles once more without keeping it."""
    script = textwrap.dedent(
        """
        import resource, signal
        import numpy as np
        from shoal.kernels import count
        from shoal.kernels.group import group_codes
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        codes = np.arange(5000, dtype=np.int32) % 2500
        keys = np.arange(70_000).astype(np.uint64) // 2
        print(group_codes([codes, codes[::-1]], [2**30, 2**30]).n, count.count_keys(keys, 2**40)[1].sum())
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert done.stdout.split() == ["2500", "70000"]


@pytest.mark.parametrize("widths", [(3, 4), (3, 400_000), (2**31 - 2, 2**31 - 2, 5)], ids=["direct", "sorted", "beyond a word"])
def test_sizes_of_classes_are_those_of_the_numbered_rows(widths: tuple[int, ...]) -> None:
    draw = np.random.default_rng(len(widths))
    few = [draw.choice(draw.integers(0, width, 3), 200) for width in widths]
    columns = [np.append(c, width - 1).astype(np.int64) for c, width in zip(few, widths, strict=True)]
    expected = Counter(zip(*(c.tolist() for c in columns), strict=True))
    assert sorted(group.group_sizes(columns).tolist()) == sorted(expected.values())


@pytest.mark.parametrize("pays", [True, False])
@pytest.mark.parametrize("widths", [(3, 4), (3, 400), (2**31 - 2, 2**31 - 2, 5)], ids=["few", "many", "beyond a word"])
def test_classes_are_counted_by_size(widths: tuple[int, ...], pays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the compiled loop, and where it would not pay or the keys are too many."""
    monkeypatch.setattr(group, "compiled_pays", lambda n: pays and group.MOST_TALLY * n >= 3 * 400)
    draw = np.random.default_rng(len(widths))
    few = [draw.choice(draw.integers(0, width, 40), group.FEW - 1) for width in widths]
    columns = [np.append(c, width - 1).astype(np.int64) for c, width in zip(few, widths, strict=True)]
    sizes = Counter(Counter(zip(*(c.tolist() for c in columns), strict=True)).values())
    found = group.classes_by_size(columns, widths)
    assert {size: n for size, n in enumerate(found.tolist()) if n} == sizes
    assert len(found) == max(sizes) + 1


@pytest.mark.parametrize("columns", [16, 17, 40])
def test_rows_of_wide_tables_are_counted_whether_the_first_columns_tell_them_apart_or_not(columns):
    draw = np.random.default_rng(columns)
    alike = [draw.integers(0, 2, 50).astype(np.int8) for _ in range(columns)]
    alike[-1][:] = 0
    for first in (np.zeros(50, np.int16), np.arange(50, dtype=np.int16)):
        held = [first, *(c[draw.integers(0, 4, 50)] for c in alike)]
        expected = Counter(zip(*(c.tolist() for c in held), strict=True))
        assert sorted(group.group_sizes(held).tolist()) == sorted(expected.values())


@pytest.mark.parametrize("width", [2**31 - 1, 2**31, 2**31 + 1])
def test_keys_at_the_limit_of_four_bytes(width):
    held = [np.array([0, width - 1, width - 1, 0]), np.array([0, 0, 0, 0])]
    assert sorted(group.group_sizes(held).tolist()) == [2, 2]
