"""Calibrated noise: the sensitivities hold, the draws are exact, the loss stays within ε, the half-widths hold the truth."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from registry_support import AGES, UTRECHT
from shoal.errors import DataError, RequirementError, UsageError
from shoal.kernels.signatures import signer
from shoal.registry.answer.analyse import everybody_unique, expected_crowd, unique_share
from shoal.registry.answer.joint import unique_share as joint_share
from shoal.registry.publish import noise as module
from shoal.registry.publish.bulk import joint_table
from shoal.registry.publish.noise import discrete_laplace, grid, half_width, noisy_summary, on_grid
from shoal.registry.publish.proposals import Ledger, propose, publish
from shoal.registry.records.counts import JointCounts, public_answers
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record, plausible
from shoal.registry.records.summary import DELTA, GROUP_SIZES, LEVEL, size_reach

many = st.builds(
    lambda exponent, cells, people: (
        np.maximum(1, people * np.arange(1, cells + 1) ** -exponent).astype(int).tolist() + [2000] * (cells % 2)
    ),
    st.floats(0, 3),
    st.integers(1, 400),
    st.integers(3000, 9000),
)


def neighbour(counts: list[int], data: st.DataObject) -> list[int]:
    """The same people and one more, perhaps in a new cell."""
    i = data.draw(st.integers(0, len(counts)))
    return [*counts, 1] if i == len(counts) else [*counts[:i], counts[i] + 1, *counts[i + 1 :]]


class Recorder:
    """Stands in for the drawing: keeps what would be drawn, with its scale, and draws nothing."""

    seen: ClassVar[list[tuple[int, Fraction, Fraction]]] = []

    def __init__(self, people: int, _below: object) -> None:
        self.people = people
        self.seen.clear()

    def __call__(self, raw: float, sensitivity: float, epsilon: Fraction) -> tuple[float, float]:
        unit, steps = grid(sensitivity, epsilon)
        self.seen.append((on_grid(raw, unit), epsilon / steps, unit))
        at = float(on_grid(raw, unit) * unit)
        return at, at


@given(many, st.data(), st.sampled_from([0.3, 1.0, 4.0]))
@settings(max_examples=150, deadline=None)
def test_one_person_costs_at_most_epsilon(counts, data, epsilon):
    """The exact privacy loss: steps of the grid that one person moves each number, times the ε of one step, summed.

    What is drawn first (size, largest share) is held equal, as for one and the same outcome; their own share of ε is added.
    """
    after = neighbour(counts, data)
    reach = size_reach(epsilon)
    if sum(counts) < 1000 + reach:
        return
    people, steps = sum(counts) - reach, []
    for c in (counts, after):
        p = np.array(c) / sum(c)
        bound = max(counts) / sum(counts) * 1.01
        row = [(math.log(1000) + float((p * np.log(p)).sum()), (1 + math.log(people)) / people, Fraction(str(epsilon)) / 10)]
        row.append((float(p.max()), 1 / (people + 1), Fraction(str(epsilon)) / 10))
        for r in range(2, 7):
            s = float((np.minimum(p, bound) ** r).sum())
            row.append((s, r * bound ** (r - 1) / (people + 1), Fraction(str(epsilon)) / 25))
        for k in GROUP_SIZES:
            f = float((p * (1 - p) ** (k - 1)).sum())
            row.append((f, (1 + (1 - 2 / k) ** (k - 2)) / (people + 1), Fraction(str(epsilon)) / 32))
        steps.append([(on_grid(raw, grid(s, e)[0]), e / grid(s, e)[1]) for raw, s, e in row])
    each = [abs(a[0] - b[0]) * a[1] for a, b in zip(*steps, strict=True)]
    assert sum(each) + Fraction(str(epsilon)) / 10 <= Fraction(str(epsilon))


def test_the_numbers_and_scales_of_the_summary_are_those_whose_loss_was_summed(monkeypatch):
    """What the test above computes by hand is what is drawn."""
    monkeypatch.setattr(module, "_Draw", Recorder)
    monkeypatch.setattr(module, "_cut", lambda *_: 0)
    noisy_summary(AGES, 1000, 1.0)
    seen = Recorder.seen
    people, p = sum(AGES) - size_reach(1.0), np.array(AGES) / sum(AGES)
    assert len(seen) == 23
    assert seen[0] == _step(math.log(1000) + float((p * np.log(p)).sum()), (1 + math.log(people)) / people, Fraction(1, 10))
    assert seen[1] == _step(float(p.max()), 1 / (people + 1), Fraction(1, 10))
    bound = float(seen[1][0] * seen[1][2])
    for r, got in zip(range(2, 7), seen[2:7], strict=True):
        assert got == _step(float((np.minimum(p, bound) ** r).sum()), r * bound ** (r - 1) / (people + 1), Fraction(1, 25))
    for k, got in zip(GROUP_SIZES, seen[7:], strict=True):
        assert got == _step(float((p * (1 - p) ** (k - 1)).sum()), (1 + (1 - 2 / k) ** (k - 2)) / (people + 1), Fraction(1, 32))


def _step(raw: float, sensitivity: float, epsilon: Fraction) -> tuple[int, Fraction, Fraction]:
    unit, steps = grid(sensitivity, epsilon)
    return on_grid(raw, unit), epsilon / steps, unit


@given(st.floats(-5, 5), st.floats(0, 0.1), st.fractions(Fraction(1, 10**6), Fraction(1, 10)))
def test_the_grid_moves_no_further_than_the_sensitivity_allows(x, d, unit):
    assert abs(on_grid(x + d, unit) - on_grid(x, unit)) <= math.ceil((Fraction(x + d) - Fraction(x)) / unit)


@pytest.mark.parametrize("epsilon", [Fraction(1, 7), Fraction(2, 3), Fraction(5, 2)])
def test_draws_follow_the_discrete_laplace_law(epsilon):
    below, n = random.Random(11).randrange, 40_000
    x = np.array([discrete_laplace(epsilon, below) for _ in range(n)])
    q = math.exp(-float(epsilon))
    reach = max(1, int(3 / float(epsilon)))
    law = np.array([(1 - q) / (1 + q) * q ** abs(i) for i in range(-reach, reach + 1)])
    seen = np.array([(x == i).sum() for i in range(-reach, reach + 1)])
    chances, counts = [*law, 1 - law.sum()], [*seen, n - seen.sum()]
    assert 1e-4 < stats.chisquare(counts, np.array(chances) * n).pvalue < 1 - 1e-4
    t = half_width(epsilon, 0.01)
    tail = 2 * q ** (t + 1) / (1 + q)
    assert tail <= 0.01 < 2 * q**t / (1 + q)


def test_a_negative_zero_is_drawn_again():
    """Zero would otherwise be twice as likely as the law has it."""
    zero = [0, 0, 0, 1]  # u; e^0; e^−1 begins; and ends at once: the size is 0
    script = iter([*zero, 1, *zero, 0])
    assert discrete_laplace(Fraction(1, 5), lambda _: next(script)) == 0
    assert list(script) == []
    script = iter([*zero, 0, *zero])
    assert discrete_laplace(Fraction(1, 5), lambda _: next(script)) == 0
    assert len(list(script)) == len(zero)


def test_kappa_is_at_most_what_the_chance_of_meeting_leaves():
    """κ = ln N − H, and H is at least the entropy of order 2."""
    sums, shares = [(0.1 ** (r - 1), 0.1 ** (r - 1)) for r in range(2, 7)], [(0.0, 1.0)] * len(GROUP_SIZES)
    found = module._consistent((0.0, 9.0), (0.1, 0.1), sums, shares, 1000, 10**6)
    assert found["kappa"].high == pytest.approx(math.log(1000) - math.log(10), abs=1e-5)
    assert found["kappa"].low == pytest.approx(0.0, abs=1e-5)


def test_a_drawn_size_has_two_digits():
    assert [module._two_digits(n) for n in (7, 99, 104, 1049, 1051, 54_321)] == [7, 99, 100, 1000, 1100, 54_000]


def test_the_size_is_cut_where_its_last_value_is_a_rarity():
    for epsilon in (0.1, 1.0, 7.0):
        q, reach = math.exp(-epsilon / 10), size_reach(epsilon)
        assert (1 - q) / (1 + q) * q**reach / (1 - 2 * q ** (reach + 1) / (1 + q)) <= DELTA
    below = random.Random(5).randrange
    for _ in range(200):
        assert abs(module._cut(Fraction(1, 3), 4, below)) <= 4


SHAPES = {
    "ages": (AGES, 95),
    "many": ([5] * 4000 + [1] * 3000 + [400], 100_000),
    "two": ([30_000, 8000], 2),
    "one": ([50_000], 3),
    "village": ([150] * 20, 40),
}


@pytest.mark.parametrize("name", SHAPES)
def test_half_widths_hold_the_truth_together_and_are_not_idle(name):
    counts, cells = SHAPES[name]
    c = np.array(counts)
    n, p = int(c.sum()), c / c.sum()
    truth = {"kappa": math.log(cells) + float((p * np.log(p)).sum()), "hmin": -math.log(p.max())}
    truth |= {f"h{r}": -math.log((p**r).sum()) / (r - 1) for r in range(2, 7)}
    truth |= {f"unique_{k}": float((p * (1 - p) ** (k - 1)).sum()) for k in GROUP_SIZES}
    below, missed, runs = random.Random(7).randrange, 0, 300
    for _ in range(runs):
        found = noisy_summary(counts, cells, 2.0, below=below)
        plausible(found)
        assert abs(found.size - n) <= found.slack
        assert found.fewest <= n
        missed += any(abs(found.statistics[k].value - v) > found.statistics[k].step + 1e-9 for k, v in truth.items())
    assert missed <= stats.binom.ppf(0.9999, runs, 1 - LEVEL)


def test_the_noise_has_the_size_that_is_said():
    """Neither less noise than promised nor more: the spread of κ over many draws."""
    below = random.Random(3).randrange
    people = sum(AGES) - 208
    scale = 10 * (1 + math.log(people)) / people
    values = np.array([noisy_summary(AGES, 95, 1.0, below=below).statistics["kappa"].value for _ in range(600)])
    assert 0.8 * scale < np.abs(values - np.median(values)).mean() < 1.25 * scale


@pytest.mark.parametrize("name", ["ages", "many", "two"])
def test_answers_widen_and_hold_the_truth(name):
    counts, cells = SHAPES[name]
    p = np.array(counts) / sum(counts)
    below, missed, total = random.Random(2).randrange, 0, 0
    for _ in range(20):
        summary = noisy_summary(counts, cells, 1.0, below=below)
        for k in (2, 9, 40, 300, 7000):
            share = unique_share(summary, k)
            assert share.level == LEVEL
            assert "noise" in " ".join(share.notes)
            total += 1
            missed += not share.low - 1e-9 <= float((p * (1 - p) ** (k - 1)).sum()) <= share.high + 1e-9
            crowd = expected_crowd(summary, k)
            assert crowd.low - 1e-9 <= 1 + (k - 1) * float((p**2).sum()) <= crowd.high + 1e-9 or missed
    assert missed <= 3 + 0.02 * total
    assert everybody_unique(noisy_summary(AGES, 95, 1.0), 10).level == LEVEL


def ask(counts, epsilon=1.0, ledger=None, date="2025-06-01", cells=95, **options):
    people = options.pop("population", UTRECHT)
    return propose(counts, ["x/thing"], people, holder="H", date=date, cells=cells, ledger=ledger, noise=epsilon, **options)


class TestPublishing:
    def test_the_record_says_how_it_was_drawn_and_comes_back_whole(self):
        record = publish(ask(AGES), signer(), Ledger())
        data = record.to_json()
        assert data["noise"] == {"epsilon": 1.0, "delta": 1e-9, "level": 0.99}
        assert Record.from_json(data).verify() == record
        assert "noise" not in publish(ask(AGES, None), signer(), Ledger()).to_json()

    def test_asking_again_gives_the_same_record_so_that_nothing_averages_out(self):
        ledger, key = Ledger(), signer()
        first = publish(ask(AGES, ledger=ledger), key, ledger)
        seen = {publish(ask(AGES, ledger=ledger, date=f"2026-0{m}-01"), key, ledger).id for m in range(1, 10)}
        assert seen == {first.id}
        assert ask([AGES[0] + 1, *AGES[1:]], published=first).record == first  # the ledger was lost

    def test_two_first_versions_differ_by_chance(self):
        assert ask(AGES).record.summary != ask(AGES).record.summary

    def test_what_was_spent_adds_up(self):
        ledger, key = Ledger(), signer()
        publish(ask(AGES, 0.5, ledger), key, ledger)
        later = ask([2 * c for c in AGES], 0.5, ledger, date="2025-09-01")
        assert later.record.version == 2
        assert "ε adds up to 1." in later.notes[1]
        part = ask([3 * c for c in AGES], 0.5, ledger, population=Population.parse("NL@2021"))
        assert "adds up to 1" in part.notes[1]

    def test_a_rounded_version_after_a_noisy_one_is_refused(self):
        ledger, key = Ledger(), signer()
        publish(ask(AGES, 1.0, ledger), key, ledger)
        with pytest.raises(RequirementError, match="undo"):
            ask([2 * c for c in AGES], None, ledger, date="2025-09-01")

    def test_refusals(self):
        with pytest.raises(UsageError, match="possible cells"):
            ask(AGES, cells=None)
        for epsilon in (0, -1, 11, float("nan"), True):
            with pytest.raises(UsageError, match="ε between"):
                ask(AGES, epsilon)
        with pytest.raises(DataError, match="2,000"):
            ask([500, 499])
        with pytest.raises(RequirementError, match="open by"):
            ask([3000, 3500], 0.1)
        with pytest.raises(UsageError, match="occupied"):
            ask(AGES, cells=12)

    def test_below_two_thousand_people_nothing_is_drawn_whatever_the_noise(self):
        """Refused for certain at 1,999, as the guide says; 2,000 and the reach of the noise twice over is taken for certain."""
        for epsilon in (1.0, 2.0, 10.0):
            reach = size_reach(epsilon)
            for seed in range(40):
                below = random.Random(seed).randrange
                with pytest.raises(DataError, match="2,000"):
                    noisy_summary([1000, 999], 2, epsilon, below=below)
                assert noisy_summary([1000 + 2 * reach, 1000], 2, epsilon, below=below).noise == epsilon

    @pytest.mark.parametrize(
        "noise",
        [
            None, 1.0, {}, {"epsilon": 1.0}, {"epsilon": 1, "delta": 1e-9, "level": 0.99},
            {"epsilon": 1.0, "delta": 1e-9, "level": 0.5}, {"epsilon": 1e9, "delta": 1e-9, "level": 0.99},
            {"epsilon": float("nan"), "delta": 1e-9, "level": 0.99},
        ],
    )  # fmt: skip
    def test_other_noise_in_a_record_is_refused(self, noise):
        data = publish(ask(AGES), signer(), Ledger()).to_json()
        with pytest.raises(DataError, match="noise"):
            Record.from_json({**data, "noise": noise})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([5000], [5000, 1], id="everybody alike, and one who is not: the most that κ can change"),
        pytest.param([5000, 1], [5001, 1], id="one more in the largest cell"),
        pytest.param([1] * 5000, [1] * 5001, id="everybody unique"),
        pytest.param([50] * 100, [50] * 99 + [51], id="equal cells"),
    ],
)
def test_one_person_changes_no_number_by_more_than_its_sensitivity(before, after, monkeypatch) -> None:
    """The sensitivity each draw is calibrated to is at least what one person changes, at the smallest size it allows."""

    def drawn(counts: list[int]) -> list[tuple[float, float]]:
        seen: list[tuple[float, float]] = []
        people = sum(before)
        # the noise on the size can reach exactly this far: then the bound on the number of people is the number itself
        monkeypatch.setattr(module, "_cut", lambda eps, reach, below: people + reach - sum(counts))

        def draw(self, raw, sensitivity, epsilon):
            seen.append((raw, sensitivity))
            return 0.0, 1.0

        monkeypatch.setattr(module._Draw, "__call__", draw)
        noisy_summary(counts, 6000, 10.0)
        return seen

    one, other = drawn(before), drawn(after)
    assert len(one) == len(other) == 2 + 5 + len(GROUP_SIZES)
    for (raw, sensitivity), (changed, _) in zip(one, other, strict=True):
        assert abs(raw - changed) <= sensitivity * (1 + 1e-9)


LADDER = {"age/10y": public_answers("age/10y"), "sex": ("F", "M"), "x/work": ("yes", "no", "retired")}


def ladder(seed: int, people: int = 30_000) -> JointCounts:
    """A town: ages that fall off, work that depends on age."""
    rng = np.random.default_rng(seed)
    ages = np.append(rng.dirichlet(np.full(10, 5.0)) * 0.999, 0.001)
    work = rng.dirichlet([3, 1, 0.2 + rng.random()], size=len(ages))
    chances = ages[:, None, None] * np.array([0.51, 0.49])[None, :, None] * work[:, None, :]
    return JointCounts(LADDER, tuple(rng.multinomial(people, chances.ravel() / chances.sum()).tolist()))


class TestLadder:
    """Every subset and band from one record, under one budget."""

    def test_the_budget_is_spent_once(self, monkeypatch):
        """One person is in one cell and in the size: nine tenths and one tenth, and nothing else is drawn."""
        spent = []
        monkeypatch.setattr(module, "discrete_laplace", lambda epsilon, below: spent.append(epsilon) or 0)
        joint = ladder(1)
        _, drawn = module.noisy_ladder(joint, 0.5)
        assert sorted(spent) == [Fraction(1, 20), *[Fraction(9, 20)] * len(joint.people)]
        assert drawn.people == joint.people, "without noise the counts are those of the table"

    def test_nothing_seen_is_much_likelier_with_one_person_more(self, monkeypatch):
        """Counts of what comes out of two tables that differ by one person: the ratio stays below e^ε."""
        monkeypatch.setattr(module, "_consistent", lambda *drawn: {})  # follows from what was drawn
        monkeypatch.setattr(module, "GROUP_SIZES", ())
        below, seen = random.Random(4).randrange, [Counter(), Counter()]
        for _ in range(1500):
            for more in (0, 1):
                counts = JointCounts({"sex": ("F", "M")}, (4000, 5 + more))
                summary, drawn = module.noisy_ladder(counts, 1.0, below=below)
                seen[more][drawn.people[1], summary.size > 4000] += 1
        common = [what for what in seen[0] if min(seen[0][what], seen[1][what]) >= 40]
        assert len(common) >= 5
        assert all(abs(math.log(seen[0][x] / seen[1][x])) <= 1.0 + 0.45 for x in common)

    @pytest.mark.parametrize("seed", range(4))
    def test_every_subset_and_band_holds_the_truth(self, seed):
        """Counted once more from the table itself, cell by cell."""
        joint = ladder(seed)
        grid = np.array(joint.people).reshape(11, 2, 3)
        twenties = np.add.reduceat(grid, range(0, 11, 2), axis=0)
        truth = {
            ("age/10y", "sex", "x/work"): grid, ("age/10y", "sex"): grid.sum(2), ("age/10y", "x/work"): grid.sum(1),
            ("sex", "x/work"): grid.sum(0), ("age/10y",): grid.sum((1, 2)), ("sex",): grid.sum((0, 2)),
            ("x/work",): grid.sum((0, 1)), ("age/20y", "sex"): twenties.sum(2), ("age/20y",): twenties.sum((1, 2)),
        }  # fmt: skip
        proposal = propose(joint.people, LADDER, UTRECHT, holder="H", date="2026-01-01", noise=1.0, joint=joint)
        record = publish(proposal, signer(), Ledger())
        assert Record.from_json(record.to_json()).verify() == record
        for codes, cells in truth.items():
            p = cells.ravel() / cells.sum()
            for k in (2, 20, 100, 1000):
                share = joint_share(record, k, codes)
                assert share.low <= float((p * (1 - p) ** (k - 1)).sum()) <= share.high, codes
                assert share.level == LEVEL

    def test_a_very_old_person_makes_no_answer_of_its_own(self):
        ages, sexes = np.array([0, 1, 2]), np.array([0, 1, -1])
        for oldest in (100, 104):
            found = joint_table(["age/years"], {}, [[3, 50, oldest]], [ages], np.array([5, 6, 1]))
            assert (len(found.people), found.people[3], found.people[50], found.people[100]) == (101, 5, 6, 1)
        for places, answers in ((sexes, ["F", "M"]), (sexes[:2], ["F"])):
            with pytest.raises(UsageError, match="not among its public answers"):
                joint_table(["sex"], {"sex": answers}, [["F", "M"]], [places], np.ones(len(places), dtype=int))

    def test_counts_without_noise_or_a_public_source_are_refused(self):
        joint = ladder(1)
        record = propose(joint.people, LADDER, UTRECHT, holder="H", date="2026-01-01", noise=1.0, joint=joint).record
        with pytest.raises(UsageError, match="drawn with noise"):
            replace(record, summary=replace(record.summary, noise=None))
        forged = replace(record, counts=replace(record.counts, people=(30_000, *[0] * 65)))
        with pytest.raises(DataError, match="contradict"):
            forged.signed(signer()).verify()
        with pytest.raises(DataError, match="2,000"):
            module.noisy_ladder(JointCounts({"sex": ("F", "M")}, (900, 900)), 1.0)


def test_the_size_costs_a_tenth_of_epsilon_and_the_counts_of_the_ladder_nine(monkeypatch):
    """Together ε: drawn with more of it, the summary would tell more of one person than it states."""
    sizes, drawn = [], []
    monkeypatch.setattr(module, "_cut", lambda epsilon, reach, _below: sizes.append((epsilon, reach)) or 0)
    noisy_summary(AGES, 1000, 1.0)
    monkeypatch.setattr(module, "discrete_laplace", lambda epsilon, _below: drawn.append(epsilon) or 0)
    joint = JointCounts({"sex": ("F", "M")}, (50_000, 40_000))
    _, made = module.noisy_ladder(joint, 1.0)
    assert sizes == [(Fraction(1, 10), size_reach(1.0))] * 2
    assert drawn == [Fraction(9, 10)] * 2
    assert (made.people, made.off) == (joint.people, half_width(Fraction(9, 10), (1 - LEVEL) / 2))


@pytest.mark.parametrize("short", [0, 1])
def test_too_few_people_are_refused_by_what_they_are_at_least(short, monkeypatch):
    monkeypatch.setattr(module, "_cut", lambda *_: 0)
    people = module.FEWEST_WITH_NOISE + size_reach(10.0) - short
    joint = JointCounts({"sex": ("F", "M")}, (people // 2, people - people // 2))
    for publish_noisy in (lambda: noisy_summary(joint.people, 2, 10.0), lambda: module.noisy_ladder(joint, 10.0)):
        if short:
            with pytest.raises(DataError, match="fewer than"):
                publish_noisy()
        else:
            publish_noisy()
