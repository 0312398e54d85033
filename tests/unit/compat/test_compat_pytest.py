"""The fixture assert_k_anonymous, tried in a pytest of its own."""

import pytest

pytest_plugins = ["pytester"]
HEAD = """
import pandas as pd
hidden = ["x", "x", "x", "SECRETVALUE", "x"]
frame = pd.DataFrame({"age": [30, 30, 30, 41, 41], "id": [1, 2, 2, 3, 4], "job": hidden})
"""


@pytest.mark.parametrize(
    ("call", "passes"),
    [
        ("frame, quasi=['age'], k=2", True),
        ("frame, quasi='age', k=2", True),
        ("frame, quasi=['age'], k=3", False),
        ("frame, quasi=['age'], k=2, unit='id'", True),
        ("frame.iloc[:3], quasi=['age'], k=3, unit='id'", False),
        ("frame, quasi=['age', 'job'], k=2", False),
        ("frame.iloc[:0], quasi=['age'], k=2", False),
    ],
)
def test_a_class_below_k_fails(pytester, call, passes):
    pytester.makeconftest("from shoal.compat.pytest_plugin import assert_k_anonymous")
    pytester.makepyfile(f"{HEAD}def test_it(assert_k_anonymous):\n    assert_k_anonymous({call})\n")
    done = pytester.runpytest_inprocess()
    done.assert_outcomes(passed=int(passes), failed=int(not passes))
    assert "SECRETVALUE" not in done.stdout.str().split("short test summary")[-1]
