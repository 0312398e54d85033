"""Calibrated noise: what each number costs, how wide it becomes and what is published, with the draws replaced by known ones."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from types import SimpleNamespace as Some

import numpy as np
import pytest

from shoal.errors import DataError, RequirementError
from shoal.registry.answer.joint import share_ends, unique_ends
from shoal.registry.publish import noise
from shoal.registry.records.counts import JointCounts
from shoal.registry.records.summary import GROUP_SIZES, LEVEL, Rounded, alone, size_reach

COUNTS = [6000] * 40 + [100] * 5 + [1]
N, CELLS = sum(COUNTS), 60
REACH = size_reach(1.0)


@pytest.fixture
def draws(monkeypatch):
    """Numbers are drawn without noise and noted: raw value, sensitivity and ε; further values of the test may be set."""
    seen = Some(calls=[], cuts=[], consistent=[], ends=lambda number, raw: (raw - 0.001, raw + 0.001), people=None)

    class Draw:
        def __init__(self, people, below):
            seen.people = people

        def __call__(self, raw, sensitivity, epsilon):
            seen.calls.append((raw, sensitivity, epsilon))
            return seen.ends(len(seen.calls) - 1, raw)

    def cut(epsilon, reach, below):
        seen.cuts.append((epsilon, reach))
        return 7

    def consistent(*arguments):
        seen.consistent.append(arguments)
        return {"kappa": Rounded(1.0, 0.5)}

    monkeypatch.setattr(noise, "_Draw", Draw)
    monkeypatch.setattr(noise, "_cut", cut)
    monkeypatch.setattr(noise, "_consistent", consistent)
    return seen


def table(people):
    return JointCounts({"x/a": tuple("abcdefgh"[: len(people)])}, tuple(people))


def test_each_number_costs_its_part_of_epsilon_and_moves_by_its_sensitivity(draws):
    """The formulas of the module's first page, term by term."""
    summary = noise.noisy_summary(COUNTS, CELLS, 2.0)
    reach = size_reach(2.0)
    n = N + 7 - reach
    p = np.array(COUNTS) / N
    largest = 6000 / N
    bound = largest + 0.001
    clipped = np.minimum(p, bound)
    expected = [
        (math.log(CELLS) + float((p * np.log(p)).sum()), (1 + math.log(n)) / n, Fraction(1, 5)),
        (largest, 1 / (n + 1), Fraction(1, 5)),
        *[(float((clipped**r).sum()), r * bound ** (r - 1) / (n + 1), Fraction(2, 25)) for r in range(2, 7)],
        *[(float(alone(p, k).sum()), (1 + (1 - 2 / k) ** (k - 2)) / (n + 1), Fraction(1, 16)) for k in GROUP_SIZES],
    ]
    assert draws.cuts == [(Fraction(1, 5), reach)]
    assert draws.people == n
    assert sum(epsilon for _, _, epsilon in draws.calls) + draws.cuts[0][0] == 2, "nothing is spent twice or left"
    assert len(draws.calls) == len(expected) == noise._DRAWN
    for got, wanted in zip(draws.calls, expected, strict=True):
        assert got == (pytest.approx(wanted[0], rel=1e-12), pytest.approx(wanted[1], rel=1e-12), wanted[2])
    assert (summary.noise, summary.cells, summary.size) == (2.0, CELLS, noise._two_digits(N + 7))
    kappa, top, sums, unique, cells, most = draws.consistent[0]
    assert (cells, most, len(sums), len(unique)) == (CELLS, N + 7 + reach, 5, len(GROUP_SIZES))
    assert kappa[0] + 0.001 == pytest.approx(expected[0][0])
    assert top == (largest - 0.001, largest + 0.001)


@pytest.mark.parametrize(("upper", "bound"), [(0.9, 0.9), (1.5, 1.0), (0.001, 1 / CELLS)])
def test_shares_are_cut_at_a_bound_that_some_distribution_has(draws, upper, bound):
    draws.ends = lambda number, raw: (0.0, upper) if number == 1 else (raw, raw)
    noise.noisy_summary(COUNTS, CELLS, 1.0)
    p = np.minimum(np.array(COUNTS) / N, bound)
    assert [c[0] for c in draws.calls[2:7]] == [pytest.approx(float((p**r).sum()), rel=1e-12) for r in range(2, 7)]
    assert draws.calls[3][1] == pytest.approx(3 * bound**2 / (draws.people + 1), rel=1e-12)


@pytest.mark.parametrize(("width", "refused"), [(1.0, False), (1.001, True)])
@pytest.mark.parametrize("place", [7, 22])
def test_a_share_that_is_left_open_by_more_than_half_is_refused(draws, width, refused, place):
    draws.ends = lambda number, raw: (0.0, width) if number == place else (0.25, 0.5)
    if refused:
        with pytest.raises(RequirementError, match="either way"):
            noise.noisy_summary(COUNTS, CELLS, 1.0)
    else:
        assert noise.noisy_summary(COUNTS, CELLS, 1.0).noise == 1.0


@pytest.mark.parametrize(("people", "refused"), [(noise.FEWEST_WITH_NOISE - 1, True), (noise.FEWEST_WITH_NOISE, False)])
def test_so_many_people_are_certain(draws, people, refused):
    """7 more are drawn, and the reach of the noise less is certain."""
    counts = [people + REACH - 7 - 100, 100]
    joint = table(counts)
    for work in (lambda: noise.noisy_summary(counts, 2, 1.0), lambda: noise.noisy_ladder(joint, 1.0)):
        if refused:
            with pytest.raises(DataError, match="fewer than"):
                work()
        else:
            assert work()


def test_the_ladder_follows_from_the_drawn_counts(draws, monkeypatch):
    """Each x ln x takes its least and largest value between the ends of a share; 1/e lies between those of the first cell."""
    drawn, widths = [], []
    monkeypatch.setattr(noise, "discrete_laplace", lambda epsilon, below: drawn.append(epsilon) or 3)
    width = noise.half_width
    monkeypatch.setattr(noise, "half_width", lambda epsilon, chance: widths.append((epsilon, chance)) or width(epsilon, chance))
    people = [3680, 5320, 1000, 0]
    summary, joint = noise.noisy_ladder(table(people), 1.0)
    assert drawn == [Fraction(9, 10)] * 4
    assert draws.cuts == [(Fraction(1, 10), REACH)]
    assert widths == [(Fraction(9, 10), (1 - LEVEL) / 4)]
    assert tuple(joint.people) == (3683, 5323, 1003, 3)
    less, more = share_ends(np.array(joint.people), np.full(4, width(*widths[0])), 0.0)
    assert less[0] < 1 / math.e < more[0]

    def curve(x):
        return x * math.log(x) if x else 0.0

    lowest = [-1 / math.e if a < 1 / math.e < b else min(curve(a), curve(b)) for a, b in zip(less, more, strict=True)]
    highest = [max(curve(a), curve(b)) for a, b in zip(less, more, strict=True)]
    kappa, largest, sums, unique, cells, most = draws.consistent[0]
    assert kappa == (pytest.approx(math.log(4) + sum(lowest)), pytest.approx(math.log(4) + sum(highest)))
    assert largest == (max(less), max(more))
    assert sums == [(pytest.approx(sum(less**r)), pytest.approx(sum(more**r))) for r in range(2, 7)]
    assert unique == [unique_ends(less, more, np.ones(4), k) for k in GROUP_SIZES]
    assert (cells, most, summary.size, summary.noise) == (4, 10_007 + REACH, 10_000, 1.0)


def test_a_count_below_nobody_is_nobody(draws, monkeypatch):
    monkeypatch.setattr(noise, "discrete_laplace", lambda epsilon, below: -3)
    _, joint = noise.noisy_ladder(table([5000, 2, 3, 4]), 1.0)
    assert tuple(joint.people) == (4997, 0, 0, 1)


# --- drawing ---------------------------------------------------------------------------------------------------------------


def test_a_drawn_number_has_ends_as_wide_as_its_noise(monkeypatch):
    monkeypatch.setattr(noise, "discrete_laplace", lambda epsilon, below: seen.append(epsilon) or 3)
    seen: list[Fraction] = []
    low, high = noise._Draw(5000, random.Random(1).randrange)(0.126, 0.001, Fraction(1, 10))
    unit, steps = noise.grid(0.001, Fraction(1, 10))
    assert (unit, steps, seen) == (Fraction(1, 1000), 2, [Fraction(1, 20)])
    reach = noise.half_width(Fraction(1, 20), (1 - LEVEL) / 23) + 0.5
    assert (low, high) == (pytest.approx(0.129 - reach / 1000, abs=1e-12), pytest.approx(0.129 + reach / 1000, abs=1e-12))


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "unit", "steps"),
    [
        (0.95, Fraction(1, 10), Fraction(1, 10), 10),
        (1.05, Fraction(1, 10), Fraction(1), 2),
        (9.5, Fraction(1), Fraction(1, 10), 96),
        (10.5, Fraction(1), Fraction(1), 11),
        (10.5, Fraction(2), Fraction(1, 10), 106),
    ],
)
def test_the_grid_is_at_most_a_tenth_of_the_noise(sensitivity, epsilon, unit, steps):
    assert noise.grid(sensitivity, epsilon) == (unit, steps)


@pytest.mark.parametrize(("raw", "step"), [(0.5, 1), (0.4999, 0), (1.49, 1), (-0.5, 0), (-0.51, -1), (0.0, 0)])
def test_the_nearest_step(raw, step):
    assert noise.on_grid(raw, Fraction(1)) == step
    assert noise.on_grid(raw / 4, Fraction(1, 4)) == step


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 5), Fraction(1), Fraction(3), Fraction(10)])
@pytest.mark.parametrize("chance", [0.5, 0.05, 0.01 / 23, 1e-9])
def test_the_half_width_is_the_least_that_holds(epsilon, chance):
    """P(|X| > t) as the sum of its terms (1 − q)/(1 + q) q^|x|."""
    q, t = math.exp(-epsilon), noise.half_width(epsilon, chance)

    def tail(t):
        return 2 * (1 - q) / (1 + q) * math.fsum(q**x for x in range(t + 1, t + 1 + int(60 / float(epsilon)) + 60))

    assert tail(t) <= chance * (1 + 1e-9)
    assert t == 0 or tail(t - 1) > chance


def test_a_size_is_drawn_again_only_beyond_its_reach(monkeypatch):
    drawn = iter([101, -101, 100, -100])
    monkeypatch.setattr(noise, "discrete_laplace", lambda epsilon, below: next(drawn))
    assert [noise._cut(Fraction(1), 100, None) for _ in range(2)] == [100, -100]


@pytest.mark.parametrize(("sign", "drawn"), [(0, 8), (1, -8)])
def test_a_whole_number_is_built_from_its_throws(sign, drawn):
    """ε = 1/5: 3 of 5, kept; once another 5, then no more; a sign. A negative zero is drawn again."""
    kept, once, no_more = [3, 4], [0, 0, 1], [0, 1]
    throws = iter([*kept, *once, *no_more, sign])
    assert noise.discrete_laplace(Fraction(1, 5), lambda limit: next(throws)) == drawn
    throws = iter([0, 0, *no_more, 1, *kept, *once, *no_more, sign])
    assert noise.discrete_laplace(Fraction(1, 5), lambda limit: next(throws)) == drawn


# --- what is published -----------------------------------------------------------------------------------------------------


def by_hand(kappa, largest, sums, unique, cells, most):
    """The same numbers one by one: entropies, then each at most what an earlier one and at least what a later one can be."""
    top = math.log(cells)

    def entropy(s, r):
        return -math.log(min(1.0, max(s, cells ** -(r - 1.0)))) / (r - 1)

    hmin = (entropy(largest[1], 2), entropy(largest[0], 2))
    values = []
    for r, (low, high) in zip(range(2, 7), sums, strict=True):
        ends = (entropy(high, r), min(entropy(low, r), r / (r - 1) * hmin[1]))
        values.append((min(ends), max(ends)))
    values.append(hmin)

    def falling(values):
        out = []
        for i in range(len(values)):
            low, high = max(v[0] for v in values[i:]), min(v[1] for v in values[: i + 1])
            out.append((min(low, high), max(low, high)))
        return out

    values = falling(values)
    least = max(0.0, top - math.log(most))
    ends = (max(kappa[0], least), max(least, min(kappa[1], top - values[0][0])))
    shares = []
    for k, (low, high) in zip(GROUP_SIZES, unique, strict=True):
        fewest = (1 - math.exp(-values[0][0])) ** (k - 1)
        one = (min(1.0, max(0.0, low)), min(1.0, max(fewest, high)))
        shares.append((min(one), max(one)))
    return [(min(ends), max(ends)), *values, *falling(shares)]


@pytest.mark.parametrize("seed", range(40))
def test_published_numbers_are_those_that_a_distribution_can_have(seed):
    r = random.Random(seed)

    def ends(low, high):
        return tuple(sorted((r.uniform(low, high), r.uniform(low, high))))

    cells, most = r.choice([1, 2, 10, 500]), r.choice([3, 20, 400, 5000])
    sums = [ends(-0.1, 1.2) if seed % 2 else ends(0.6 ** (n + 1), 0.5**n) for n in range(1, 6)]
    unique = [ends(-0.2, 1.2) for _ in GROUP_SIZES]
    given = (ends(-1, 8), ends(-0.1, 1.1), sums, unique, cells, most)
    published = noise._consistent(*given)
    assert list(published)[:7] == ["kappa", "h2", "h3", "h4", "h5", "h6", "hmin"]
    for number, (low, high) in zip(published.values(), by_hand(*given), strict=True):
        assert (number.low, number.high) == (pytest.approx(low, abs=3e-6), pytest.approx(high, abs=3e-6))
        assert number.low <= low
        assert number.high >= high


def test_a_half_width_is_rounded_up():
    assert noise._round_range(0.0, 1.0) == Rounded(0.5, 0.500001)
    assert noise._round_range(0.0, 0.000001).step in (0.000001, 0.000002)
    assert noise._round_range(2.0, 2.0) == Rounded(2.0, 0.000001)


@pytest.mark.parametrize(
    ("n", "shown"), [(9, 9), (99, 99), (100, 100), (140, 140), (149, 150), (1449, 1400), (1451, 1500), (99_999, 100_000)]
)
def test_two_digits_of_a_size(n, shown):
    assert noise._two_digits(n) == shown
