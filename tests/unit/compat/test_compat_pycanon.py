"""pycanon's names: equal to pycanon where its definition is right, right where it is not."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from pycanon import anonymity as theirs

from shoal.compat import pycanon as ours
from shoal.errors import UsageError

QUASI, SECRET = ["q", "r"], ["s", "n"]
ALIKE = ["alpha_k_anonymity", "basic_beta_likeness", "l_diversity", "t_closeness"]


def table(seed: int, rows: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "q": rng.choice(["a", "b"], rows),
            "r": rng.integers(0, 2, rows),
            "s": rng.choice(["x", "y", "z"], rows, p=[0.6, 0.3, 0.1]),
            "n": rng.integers(0, 4, rows),
        }
    )


def test_every_function_of_pycanon_is_there():
    assert set(theirs.__all__) == set(ours.__all__)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("gen", [True, False])
@pytest.mark.parametrize("name", ALIKE)
def test_where_pycanon_is_right_the_answers_are_equal(name, gen, seed):
    frame = table(seed)
    assert np.allclose(getattr(ours, name)(frame, QUASI, SECRET, gen=gen), getattr(theirs, name)(frame, QUASI, SECRET, gen=gen))


def test_k_is_equal_and_counts_missing_values():
    frame = table(1)
    assert ours.k_anonymity(frame, QUASI) == theirs.k_anonymity(frame, QUASI)
    frame.loc[0, "q"] = None
    assert ours.k_anonymity(frame, QUASI) == 1


def test_the_index_of_the_frame_does_not_matter():
    frame = table(2)
    mixed = frame.sample(frac=1, random_state=3)
    assert ours.l_diversity(mixed, QUASI, SECRET) == ours.l_diversity(frame, QUASI, SECRET)


@pytest.mark.parametrize("values", range(1, 13))
def test_entropy_l_of_equal_shares_is_their_number(values):
    frame = pd.DataFrame({"q": ["a"] * values, "s": [f"v{i}" for i in range(values)]})
    assert ours.entropy_l_diversity(frame, ["q"], ["s"]) == values


def test_recursive_takes_the_counts_in_falling_order():
    frame = pd.DataFrame({"q": ["a"] * 10, "s": ["x"] * 8 + ["y", "z"]})
    assert ours.recursive_c_l_diversity(frame, ["q"], ["s"]) == (9, 3)  # 8 < 9 · 1, and not 8 < 8 · 1
    alone = pd.DataFrame({"q": ["a"] * 2, "s": ["x"] * 2})
    c, l_div = ours.recursive_c_l_diversity(alone, ["q"], ["s"])
    assert math.isnan(c)
    assert l_div == 1


def test_delta_is_infinite_where_a_class_lacks_a_value():
    frame = pd.DataFrame({"q": ["a", "a", "b", "b"], "s": ["x", "y", "x", "x"]})
    assert math.isinf(ours.delta_disclosure(frame, ["q"], ["s"]))
    full = pd.DataFrame({"q": ["a", "a", "b", "b", "b"], "s": ["x", "y", "x", "x", "y"]})
    assert np.isclose(ours.delta_disclosure(full, ["q"], ["s"]), math.log(0.5 / 0.4))


def test_t_of_a_constant_number_is_nothing():
    frame = pd.DataFrame({"q": ["a", "b"] * 2, "s": [1] * 4})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ours.t_closeness(frame, ["q"], ["s"]) == 0


@pytest.mark.parametrize("columns", ["q", []])
def test_columns_come_as_a_list(columns):
    with pytest.raises(UsageError):
        ours.k_anonymity(table(0), columns)
