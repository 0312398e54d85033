"""anjana's names: what was asked holds in the frame that comes back."""

import inspect

import numpy as np
import pandas as pd
import pytest

from shoal.compat import anjana, pycanon
from shoal.errors import InfeasibleError, UsageError

QUASI = ["age", "q"]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng, n = np.random.default_rng(7), 200
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": rng.integers(20, 60, n),
            "q": rng.choice(["a", "b"], n),
            "ill": rng.choice(["x", "y", "z"], n),
            "pay": rng.integers(1, 6, n),
        }
    )


@pytest.fixture(scope="module")
def levels() -> dict:
    ages = list(range(20, 60))
    bands = {width: [f"{a // width * width}-{a // width * width + width - 1}" for a in ages] for width in (5, 10, 20)}
    return {"age": {0: ages, 1: bands[5], 2: bands[10], 3: bands[20], 4: ["*"] * 40}, "q": {0: ["a", "b"], 1: ["*", "*"]}}


ASKED = {
    "alpha_k_anonymity": ("ill", (5, 0.6), lambda f: pycanon.alpha_k_anonymity(f, QUASI, ["ill"])[0] <= 0.6),
    "l_diversity": ("ill", (5, 3), lambda f: pycanon.l_diversity(f, QUASI, ["ill"]) >= 3),
    "entropy_l_diversity": ("ill", (5, 2), lambda f: pycanon.entropy_l_diversity(f, QUASI, ["ill"]) >= 2),
    "recursive_c_l_diversity": ("ill", (5, 3, 2), lambda f: pycanon.recursive_c_l_diversity(f, QUASI, ["ill"])[1] >= 2),
    "t_closeness": ("pay", (5, 0.3), lambda f: pycanon.t_closeness(f, QUASI, ["pay"]) <= 0.3),
    "basic_beta_likeness": ("ill", (5, 1.0), lambda f: pycanon.basic_beta_likeness(f, QUASI, ["ill"]) <= 1.0),
    "enhanced_beta_likeness": ("ill", (5, 1.0), lambda f: pycanon.enhanced_beta_likeness(f, QUASI, ["ill"]) <= 1.0),
    "delta_disclosure": ("ill", (5, 1.5), lambda f: pycanon.delta_disclosure(f, QUASI, ["ill"]) < 1.5),
}


def test_every_function_has_its_case():
    assert {*ASKED, "k_anonymity"} == set(anjana.__all__)
    first = ["data", "ident", "quasi_ident"]
    assert all(list(inspect.signature(getattr(anjana, n)).parameters)[:3] == first for n in anjana.__all__)


def test_k_holds_and_names_are_gone(people, levels):
    out = anjana.k_anonymity(people, ["name"], QUASI, 5, 5, levels)
    assert pycanon.k_anonymity(out, QUASI) >= 5
    assert "name" not in out.columns
    assert len(out) >= 190
    assert list(out.index) == list(range(len(out)))
    assert set(out["age"]) <= {v for level in levels["age"].values() for v in map(str, level)}


@pytest.mark.parametrize("name", ASKED)
def test_what_was_asked_holds(name, people, levels):
    secret, limits, holds = ASKED[name]
    out = getattr(anjana, name)(people, ["name"], QUASI, secret, *limits, 10, levels)
    assert holds(out)
    assert pycanon.k_anonymity(out, QUASI) >= 5


def test_a_column_without_levels_stays_as_it_is(people, levels):
    out = anjana.k_anonymity(people, ["name"], QUASI, 5, 0, {"age": levels["age"]})
    assert set(out["q"]) == {"a", "b"}


def test_what_cannot_be_met_says_so(people):
    with pytest.raises(InfeasibleError):
        anjana.k_anonymity(people, ["name"], QUASI, 150, 0, {})
    with pytest.raises(UsageError, match="percent"):
        anjana.k_anonymity(people, ["name"], QUASI, 5, 101, {})
    with pytest.raises(UsageError, match="lists"):
        anjana.k_anonymity(people, "name", QUASI, 5, 0, {})
