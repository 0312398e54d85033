"""A name that ends in .tsv or .tab gets tabs, also where a cell holds one; .csv gets commas."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shoal
from shoal.model.plan import Plan

TABLE = pa.table({"a": ["x,y", "p\tq"], "b": [1, 2]})


@pytest.mark.parametrize(("name", "tabs"), [("o.tsv", True), ("o.TSV", True), ("o.tab", True), ("o.csv", False)])
def test_the_ending_decides(tmp_path, name, tabs):
    shoal.open(TABLE).recode(Plan(), tmp_path / name, format="csv")
    head = (tmp_path / name).read_text().splitlines()[0]
    assert ("\t" in head, "," in head) == (tabs, not tabs)
    back = pa.Table.from_batches(list(shoal.open(tmp_path / name, format="csv").scan())).sort_by("b")
    assert back["a"].to_pylist() == TABLE["a"].to_pylist()
