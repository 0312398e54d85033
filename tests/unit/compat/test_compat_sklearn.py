"""The scikit-learn transformer: scikit-learn's own checks, and what it promises of the training rows."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from shoal.compat.sklearn import KAnonymizer, smallest_class, unique_share


@parametrize_with_checks([KAnonymizer(k=2)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def rows(seed: int, n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"age": rng.integers(18, 90, n), "town": rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.15, 0.05])})


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("k", "suppress"), [(2, 0.0), (3, 0.05), (5, 0.1), (80, 0.0)])
def test_every_training_row_has_company(seed, k, suppress):
    frame = rows(seed)
    made = KAnonymizer(k=k, suppress=suppress).fit(frame)
    sizes = Counter(map(tuple, made.transform(frame)))
    assert min(sizes.values()) == made.k_ >= k
    assert smallest_class(made, frame) == made.k_
    assert unique_share(made, frame) == 0


def test_fewer_rows_than_k_are_refused():
    frame = rows(1, 4)
    assert KAnonymizer(k=4).fit(frame).k_ == 4
    with pytest.raises(ValueError, match="n_samples = 4"):
        KAnonymizer(k=5).fit(frame)


def test_a_row_without_company_in_training_is_blanked():
    frame = pd.DataFrame({"age": [30.0] * 6 + [60.0] * 6, "town": ["a"] * 6 + ["b"] * 6})
    made = KAnonymizer(k=5, suppress=0).fit(frame)
    assert made.loss_ == 0
    out = made.transform(pd.DataFrame({"age": [30.0, 60.0, 60.0], "town": ["a", "a", "zzz"]}))
    assert out.tolist() == [[30.0, "a"], [45.0, "*"], [45.0, "*"]]


def test_it_stands_in_a_pipeline():
    frame = rows(3)
    target = (frame["age"] > 50).astype(int)
    model = make_pipeline(KAnonymizer(k=5), OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(frame, target)
    assert model.score(frame, target) > 0.8
    named = KAnonymizer(k=5).set_output(transform="pandas").fit_transform(frame)
    assert list(named.columns) == ["age", "town"]


def test_a_score_counts_rows_that_are_alone():
    class Same:
        def transform(self, values):
            return values

    values = np.array([[1], [1], [2], [3]])
    assert smallest_class(Same(), values) == 1
    assert unique_share(Same(), values) == -0.5
