"""Patterns are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from shoal.kernels.text import Pattern


def test_a_pattern_is_compiled_at_the_first_question() -> None:
    late = Pattern("(")
    with pytest.raises(re.error):
        late.fullmatch("x")
    year = Pattern(r"(19|20)\d\d")
    assert [bool(year.fullmatch(t)) for t in ("1999", "19990", "2099")] == [True, False, True]
    assert year.match("20990") is not None
