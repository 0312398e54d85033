"""One error in place of another: its kinds, what passes, and that the text of the first one is gone."""

import pytest

from shoal.errors import DataError, UsageError, refuse


def test_the_new_error_hides_the_text_of_the_first():
    with pytest.raises(UsageError) as caught, refuse(UsageError("not a number."), ValueError, KeyError):
        float("a value of the data")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("passing", [TypeError("other"), KeyboardInterrupt()])
def test_other_exceptions_pass(passing):
    with pytest.raises(type(passing)) as caught, refuse(UsageError("not a number."), ValueError):
        raise passing
    assert caught.value is passing


def test_nothing_happens_without_an_exception():
    with refuse(DataError("never raised."), Exception):
        number = float("1")
    assert number == 1
