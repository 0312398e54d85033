"""Few identities are cleaned as many are: one by one or in a column, the same person."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.protector.pseudonyms.identities import FEW, cleaned

LETTERS = "ab09~! \t\n\x0b\x1c\x7f\x85\xa0\xad\u200b\u3000é"


@given(st.lists(st.text(LETTERS, max_size=6), min_size=1, max_size=FEW))
@example(["a"]).via("plain")
@example(["a b"]).via("one blank")
@example(["a  b"]).via("two blanks")
@example([" a"]).via("a blank before")
@example(["a "]).via("a blank behind")
@example(["a\n"]).via("a line's end")
@example([""]).via("nothing")
@example(["a\x7f"]).via("beyond the plain ones")
def test_few_are_cleaned_as_many_are(texts):
    alone = cleaned(pa.array(texts, pa.string()), ("blanks",)).to_pylist()
    among = cleaned(pa.array([*texts, *["x  y"] * (FEW + 1)], pa.string()), ("blanks",)).to_pylist()
    assert alone == among[: len(texts)]
