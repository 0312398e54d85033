"""Patterns are compiled when they are first used, and dates are looked for only in texts that begin like one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.find import dates
from shoal.kernels.text import Pattern


def test_a_pattern_is_compiled_at_the_first_question() -> None:
    late = Pattern("(")
    with pytest.raises(re.error):
        late.fullmatch("x")
    year = Pattern(r"(19|20)\d\d")
    assert [bool(year.fullmatch(t)) for t in ("1999", "19990", "2099")] == [True, False, True]
    assert year.match("20990") is not None


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from(dates._FORMS).flatmap(lambda form: st.from_regex(form.text, fullmatch=True)))
def test_every_date_begins_as_one(text: str) -> None:
    assert dates._may_begin(text)


@pytest.mark.parametrize(("text", "may"), [("p12", False), ("q3 2020", True), ("qx", False), ("mai 5, 2020", True), ("", False)])
def test_other_texts_are_not_looked_at(text: str, may: bool) -> None:
    assert dates._may_begin(text) is may
