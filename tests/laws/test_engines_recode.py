"""Laws of RECODE: what is published equals the plan applied by hand, and no published class is too small."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.engines.open import open as open_table
from shoal.model.plan import Plan, Suppression
from shoal.steps import Clamp, Constant, Cut, Drop, Prefix

ROW = st.tuples(
    st.none() | st.integers(0, 99),
    st.none() | st.text(alphabet="abA é'", max_size=3),
    st.integers(0, 5),
)
STEPS = {
    "cut": (
        Cut("age", points=(30.0, 60.0), labels=("<30", "30-59", "60+")),
        lambda v: "<30" if v < 30 else "30-59" if v < 60 else "60+",
    ),
    "clamp": (Clamp("age", low=18.0, high=65.0), lambda v: min(max(v, 18), 65)),
    "constant": (Constant("age"), None),
    "keep": (None, lambda v: v),
}


def by_hand(rows: list[tuple[Any, ...]], how: str, length: int, k: int, cells: bool) -> Counter[tuple[Any, ...]]:
    change = STEPS[how][1]
    new = []
    for age, text, who in rows:
        a = "*" if change is None else None if age is None else change(age)
        new.append((a, None if text is None else text[:length] + "*" * max(0, len(text) - length), who))
    sizes = Counter(r[:2] for r in new)
    if cells:
        spell = {True: lambda v: None if v is None else str(v), False: lambda _: "*"}
        return Counter((*[spell[sizes[r[:2]] >= k](v) for v in r[:2]], r[2]) for r in new)
    return Counter(r for r in new if sizes[r[:2]] >= k)


@pytest.mark.parametrize("way", ["codes", "sql"])
@settings(max_examples=25, deadline=None)
@given(
    st.lists(ROW, min_size=1, max_size=20),
    st.sampled_from(sorted(STEPS)),
    st.integers(0, 2),
    st.integers(2, 4),
    st.booleans(),
    st.integers(0, 9),
)
def test_published_rows_are_the_plan_by_hand(
    tmp_path_factory: pytest.TempPathFactory, way: str, rows: list[Any], how: str, length: int, k: int, cells: bool, seed: int
) -> None:
    folder: Path = tmp_path_factory.mktemp("law")
    kinds = {"age": pa.int64(), "text": pa.string(), "who": pa.int64()}
    table = pa.table({n: pa.array([r[i] for r in rows], t) for i, (n, t) in enumerate(kinds.items())})
    table = table.append_column("id", pa.array(range(len(rows))))
    first = STEPS[how][0]
    steps = (*([first] if first is not None else []), Prefix("text", length=length), Drop("id"))
    plan = Plan(steps, Suppression(k, ("age", "text"), "cells" if cells else "rows"), seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        if way == "sql":
            patch.setattr("shoal.engines.recode.write.can_recode", lambda *_: False)
        with open_table(table) as opened:
            done = opened.recode(plan, folder / "o.parquet")
    published = Counter(tuple(r.values()) for r in pq.read_table(folder / "o.parquet").to_pylist())
    assert published == by_hand(rows, how, length, k, cells)
    assert done.records_out == published.total()
    if not cells:
        classes = Counter(r[:2] for r in published.elements())
        assert all(n >= k for n in classes.values())
        assert done.suppressed == len(rows) - published.total()
