"""Tables of counts: hidden cells stay hidden, and the published margins of a naive table give them away."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.attacks.differencing import Bounds, bounds, differencing
from shoal.errors import DataError, UsageError
from shoal.release.counts import protect
from shoal.release.counts.protect import protect_table, with_margins


def test_margins_reveal_a_single_hidden_cell():
    full = with_margins(np.array([[3, 20], [25, 40]]))
    known = full.copy()
    known[0, 0] = np.nan
    lines = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8]]
    matrix = np.zeros((6, 9))
    for row, line in zip(matrix, lines, strict=True):
        row[line] = [1, 1, -1]
    found = bounds(known.ravel(), matrix, np.zeros(6))
    assert (found.low[0], found.high[0]) == (3, 3)
    assert differencing(found, np.isnan(known.ravel()), threshold=10).verdict == "broken"


@given(
    st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=2, max_size=3),
    st.lists(st.booleans(), min_size=9, max_size=9),
)
@settings(max_examples=60, deadline=None)
def test_bounds_equal_enumeration_of_all_tables(rows, mask):
    table = np.array(rows)
    hidden = np.array(mask[: table.size]).reshape(table.shape)
    known = np.where(hidden, np.nan, table.astype(float)).ravel()
    n = table.size
    equations = [
        np.isin(np.arange(n), line).astype(float)
        for line in (*np.arange(n).reshape(table.shape), *np.arange(n).reshape(table.shape).T)
    ]
    sums = np.array([e @ table.ravel() for e in equations])
    found = bounds(known, np.array(equations), sums)
    free = np.flatnonzero(hidden.ravel())
    if len(free) > 3:
        return
    most = int(sums.max())
    possible = []
    for guess in itertools.product(range(most + 1), repeat=len(free)):
        cells = known.copy()
        cells[free] = guess
        if all(abs(e @ cells - s) < 1e-9 for e, s in zip(equations, sums, strict=True)):
            possible.append(cells)
    stack = np.array(possible)
    assert found.low.tolist() == stack.min(axis=0).tolist()
    assert found.high.tolist() == stack.max(axis=0).tolist()


@given(
    st.lists(st.lists(st.integers(0, 60), min_size=3, max_size=4), min_size=3, max_size=4).filter(
        lambda r: len({len(x) for x in r}) == 1
    )
)
@settings(max_examples=40, deadline=None)
def test_every_small_cell_of_a_protected_table_stays_hidden(rows):
    table = np.array(rows)
    protected = protect_table(table, threshold=10)
    full = with_margins(table)
    assert protected.attack.verdict == ("holds" if protected.primary.any() else "not run")
    assert np.isnan(protected.cells[(full > 0) & (full < 10)]).all()
    shown = ~np.isnan(protected.cells)
    assert (protected.cells[shown] == full[shown]).all()
    assert (protected.found.low <= full.ravel() + 1e-6).all()
    assert (full.ravel() <= protected.found.high + 1e-6).all()


def test_three_dimensions():
    table = np.array([[[12, 3], [40, 22]], [[30, 18], [15, 60]]])
    protected = protect_table(table, threshold=10)
    assert protected.cells.shape == (3, 3, 3)
    assert protected.attack.verdict == "holds"
    assert protected.primary.sum() >= 1


def test_rounding_happens_after_suppression():
    protected = protect_table(np.array([[3, 21, 33], [26, 41, 12], [31, 22, 18]]), threshold=8, method="round", base=5)
    assert np.isnan(protected.cells[0, 0])
    shown = protected.cells[~np.isnan(protected.cells)]
    assert (shown % 5 == 0).all()
    assert protected.attack.verdict == "holds"


@pytest.mark.parametrize("zeros", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_an_attacker_who_knows_the_rounding_rule_does_not_confine_a_small_cell(seed, zeros):
    """The published number, the rule "below the threshold is hidden" and all sums, by a linear program of the test's own."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    table = rng.choice([0, 0, 1, 3, 5, 9, 10, 11, 12, 14, 35], size=(3, 3))
    if seed == 0:
        table = np.array([[3, 0], [11, 0], [0, 5]])
    threshold, base = 10, 5
    protected = protect_table(table, threshold=threshold, method="round", base=base, zeros=zeros)
    inner = table.size
    box = [(0, None)] * inner
    rows, low, high = [], [], []
    places = np.arange(inner).reshape(table.shape)
    for index in np.ndindex(*protected.cells.shape):
        shown = protected.cells[index]
        if np.isnan(shown):
            continue
        part = places[tuple(slice(None) if i == n else slice(i, i + 1) for i, n in zip(index, table.shape, strict=True))]
        counts = [c for c in range(200) if np.round(c / base) * base == shown and (c >= threshold or (zeros and c == 0))]
        rows.append(np.isin(np.arange(inner), part).astype(float))
        low.append(min(counts))
        high.append(max(counts))
    matrix, sides = np.vstack([rows, -np.array(rows)]), np.concatenate([high, -np.array(low)])
    for cell in np.flatnonzero(protected.primary[tuple(slice(0, -1) for _ in table.shape)].ravel()):
        goal = np.eye(inner)[cell]
        ends = [linprog(sign * goal, A_ub=matrix, b_ub=sides, bounds=box) for sign in (1, -1)]
        least = np.ceil(ends[0].fun - 1e-6)
        most = np.inf if ends[1].status == 3 else np.floor(-ends[1].fun + 1e-6)
        assert least <= table.ravel()[cell] <= most
        assert most - least >= threshold - 1
    assert protected.attack.verdict == "holds"


def test_bad_input():
    for counts in ([[1.5, 2.0]], [[-1, 2]], np.zeros((0, 2), dtype=int)):
        with pytest.raises(UsageError, match="whole numbers of at least 0"):
            protect_table(counts)
    for limits in ({"threshold": 1}, {"base": 0}, {"threshold": 1, "base": 0}):
        with pytest.raises(UsageError, match="at least 2"):
            protect_table([[1, 2]], **limits)
    assert protect_table([[7]], threshold=2, base=1).cells.tolist() == [[7.0, 7.0], [7.0, 7.0]]
    with pytest.raises(DataError, match="contradict"):
        bounds([np.nan], [[1.0], [1.0]], [1.0, 2.0])


def test_bounds_by_hand():
    nan = float("nan")
    equal = bounds([nan, nan, 5], [[1, -1, 0], [0, 1, -1]], [0, 0])  # x − y = 0 and y − 5 = 0
    assert (equal.low.tolist(), equal.high.tolist()) == ([5, 5, 5], [5, 5, 5])
    some = bounds([nan, nan], [[1, 1]], [10], limits=(1, 7), only=[True, False])
    assert (some.low.tolist(), some.high.tolist()) == ([3, 1], [7, 7]), "a cell that is not wanted keeps its limits"
    assert bounds([nan, 3], [[0, 1]], [3]).high.tolist() == [np.inf, 3]
    assert bounds([nan], [[1]], [2.0000001]).low.tolist() == [2], "a hundredth of a millionth is rounding"
    assert bounds([nan], [[1]], [1.9999999]).high.tolist() == [2]
    assert bounds([nan], [[1]], [4], limits=(4, 4)).low.tolist() == [4]
    with pytest.raises(UsageError, match="above its upper limit"):
        bounds([nan, nan], [[1, 1]], [4], limits=([0, 5], [4, 4]))


@pytest.mark.parametrize(("method", "others", "high"), [("suppress", 3, 22), ("round", 0, 11)])
def test_a_rounded_table_needs_fewer_hidden_cells(method, others, high):
    """Of the sums that are rounded the attacker learns less; the bounds are those of what is published in the end."""
    protected = protect_table([[3, 20, 30], [25, 40, 12], [30, 22, 18]], threshold=10, method=method)
    assert (protected.primary.sum(), protected.complementary.sum(), protected.hidden.sum()) == (1, others, 1 + others)
    small = protected.primary.ravel()
    assert (protected.found.low[small].tolist(), protected.found.high[small].tolist()) == ([1], [high])


def test_steps_of_hiding_by_hand():
    """What counts as confined, which lines a hidden cell leads to, and which open cell is hidden next."""
    found = protect._narrow(Bounds(np.zeros(3), np.array([8.0, 9.0, 0.0])), np.array([True, True, False]), 10)
    assert found.tolist() == [True, False, False], "nine values are fewer than ten"
    lines = [np.array(line) for line in ([0, 1, 2], [2, 3, 4], [1, 5], [4, 6])]
    reached = protect._connect(lines, np.array([True, False, True, False, False, False, False]), {0})
    assert [line.tolist() for line in reached] == [[0, 1, 2], [2, 3, 4]]
    full = with_margins(np.array([[3, 0, 12], [20, 30, 40]]))
    shut = np.zeros(full.shape, dtype=bool)
    shut[0, 0] = True
    assert protect._next_to_hide(full, shut, protect._lines(full.shape), np.array([0])) == 2, (
        "people before zeros, small before large"
    )
