"""The fixture assert_k_anonymous, tried in a pytest of its own."""

pytest_plugins = ["pytester"]

TRIED = """
import pandas as pd
import pytest

hidden = ["x", "x", "x", "SECRETVALUE", "x"]
frame = pd.DataFrame({"age": [30, 30, 30, 41, 41], "id": [1, 2, 2, 3, 4], "job": hidden})


def test_passes_at_k(assert_k_anonymous):
    assert_k_anonymous(frame, quasi=["age"], k=2)
    assert_k_anonymous(frame, quasi="age", k=2)
    assert_k_anonymous(frame, quasi=["age"], k=2, unit="id")


def test_fails_one_above(assert_k_anonymous):
    assert_k_anonymous(frame, quasi=["age"], k=3)


def test_fails_for_people(assert_k_anonymous):
    assert_k_anonymous(frame.iloc[:3], quasi=["age"], k=3, unit="id")


def test_fails_without_a_value(assert_k_anonymous):
    assert_k_anonymous(frame, quasi=["age", "job"], k=2)


def test_fails_without_rows(assert_k_anonymous):
    assert_k_anonymous(frame.iloc[:0], quasi=["age"], k=2)
"""


def test_a_class_below_k_fails_with_counts_only(pytester):
    pytester.makeconftest("from shoal.compat.pytest_plugin import assert_k_anonymous")
    pytester.makepyfile(TRIED)
    done = pytester.runpytest_subprocess("-p", "no:randomly")
    done.assert_outcomes(passed=1, failed=4)
    told = done.stdout.str()
    assert "SECRETVALUE" not in told
    assert "1 of 2 classes have fewer than 3 records, the smallest 2" in told
    assert "1 of 1 classes have fewer than 3 people, the smallest 2" in told
    assert "nothing was tested" in told
