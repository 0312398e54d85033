"""Limits of requirements as a judge and a search use them: at the number and one step beside it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shoal.errors import UsageError
from shoal.model import requirement as req
from shoal.model.compare import TOLERANCE, slack
from shoal.model.requirement import Requirement
from shoal.model.requirement.base import check_real, check_share, check_whole

SHARE = np.array([0.5, 0.25, 0.01])


def test_whole_numbers_are_compared_exactly():
    """A tolerance of one in a billion would let a k of ten billion be missed by ten."""
    k = req.K(10**10)
    assert (k.holds(10**10), k.holds(10**10 - 1)) == (True, False)
    assert [kind._whole() for kind in (req.K, req.DistinctDiversity, req.MaxRisk, req.EntropyDiversity)] == [
        True,
        True,
        False,
        False,
    ]
    assert [kind.signs_known() for kind in (req.K, req.EntropyDiversity, req.TCloseness)] == [(">=", ">"), (">=",), ("<=",)]


def test_a_verdict_is_as_true_as_it_is_met():
    assert [bool(req.K(5).judged(n)) for n in (5, 4, None, math.inf, math.nan)] == [True, False, False, False, False]
    assert [req.K(5).judged(n).found for n in (5, None, math.inf)] == [5, None, None]


def test_an_unknown_requirement_is_refused_with_the_nearest_or_an_example():
    for text, hint in (("k_mapp>=5", "Did you mean 'k_map'?"), ("zzzzzzzz>=5", "For example k>=5")):
        with pytest.raises(UsageError) as caught:
            Requirement.parse(text)
        assert str(caught.value.hint).startswith(hint)


def test_the_number_of_a_measurement_that_a_requirement_limits():
    asked = (req.K(5), req.MaxRisk(0.2), req.MaxRisk(0.2, "journalist"), req.AverageRisk(0.2))
    assert [r.figure_name for r in asked] == ["k", "risk.prosecutor.max", "risk.journalist.max", "risk.average"]


def test_the_class_that_a_risk_requires():
    journalist, prosecutor = req.MaxRisk(0.2, "journalist"), req.MaxRisk(0.2)
    assert [r.class_sizes(has_population=True) for r in (journalist, prosecutor)] == [(0, 5), (5, 0)]
    assert [r.class_sizes(has_population=False) for r in (journalist, prosecutor)] == [(5, 0), (5, 0)]
    assert req.smallest_class([req.K(3), prosecutor, req.K(4)]) == 5
    assert req.smallest_class([req.TCloseness("ill", 0.2)]) == 1


def test_only_a_distance_along_an_order_needs_one():
    assert [req.TCloseness("ill", 0.2, d).needs_order for d in ("equal", "ordered", "hierarchical")] == [False, True, False]
    assert req.K(5).needs_order is False


def test_with_one_value_any_ratio_will_do():
    one, two = req.RecursiveDiversity("ill", 3.0, 1), req.RecursiveDiversity("ill", 3.0, 2)
    assert [r.holds(99.0) for r in (one, two)] == [True, False]
    assert [r.judged(None).met for r in (one, two)] == [True, False]
    assert one.value_limit(SHARE) is None


@pytest.mark.parametrize(
    ("requirement", "test", "first", "limits"),
    [
        (req.EntropyDiversity("ill", 2.5), "entropy", 2.5 - slack(2.5), None),
        (req.RecursiveDiversity("ill", 3.0, 2), "recursive", 3.0 - slack(3.0), None),
        (req.TCloseness("ill", 0.2), "distance", 0.2 + slack(0.2), None),
        (req.AlphaK("ill", 0.5), "cap", 0.0, np.full(3, 0.5 + TOLERANCE)),
        (req.DeltaDisclosure("ill", 2.0), "band", 2.0 - slack(2.0), math.exp(2.0) * SHARE),
        (req.BasicBeta("ill", 3.0), "cap", 0.0, (4.0 + 3 * TOLERANCE) * SHARE),
        (
            req.EnhancedBeta("ill", 2.0),  # of a half −ln ½ = 0.693, of a quarter 1.386, of a hundredth 2
            "cap",
            0.0,
            [
                (1 + math.log(2) + TOLERANCE) * 0.5,
                (1 + math.log(4) * (1 + TOLERANCE)) * 0.25,
                (3 + 2 * TOLERANCE) * 0.01,
            ],
        ),
    ],
)
def test_a_search_gets_the_limit_with_its_tolerance_on_the_right_side(requirement, test, first, limits):
    found = requirement.value_limit(SHARE)
    assert (found.test, found.first) == (test, pytest.approx(first, rel=1e-14))
    if limits is not None:
        assert found.limits == pytest.approx(limits, rel=1e-13)


@pytest.mark.parametrize("wrong", [True, "3", None, math.nan, math.inf, 1.0, 0.5])
def test_a_number_must_be_real_and_above_its_bound(wrong):
    with pytest.raises(UsageError, match="above 1"):
        check_real(wrong, 1.0, "l", "")
    assert check_real(1.0001, 1.0, "l", "") is None


@pytest.mark.parametrize("wrong", [True, "3", None, 3.0, 1])
def test_a_number_must_be_whole_and_at_least_its_bound(wrong):
    with pytest.raises(UsageError, match="at least 2"):
        check_whole(wrong, 2, "k", "")
    assert check_whole(2, 2, "k", "") is None


@pytest.mark.parametrize("wrong", [True, False, "0", None, -0.001, 1.001, math.nan])
def test_a_share_lies_between_nothing_and_all(wrong):
    with pytest.raises(UsageError, match="between 0 and 1"):
        check_share(wrong, "t", above_zero=False)
    assert [check_share(v, "t", above_zero=False) for v in (0.0, 0, 0.001, 1.0, 1)] == [None] * 5
    with pytest.raises(UsageError, match="between 0 and 1"):
        check_share(0.0, "t", above_zero=True)
    assert check_share(0.001, "t", above_zero=True) is None


def test_the_figure_that_a_requirement_limits():
    figures = [r.figure_name for r in (req.K(5), req.MaxRisk(0.2, "journalist"), req.AverageRisk(0.1))]
    assert figures == ["k", "risk.journalist.max", "risk.average"]
