"""Releases as JSON lines and SAS transport: counted again by separate code, and not fooled by a changed file."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import ShoalError, TamperError, UsageError
from shoal.release.proof.read import batches, header, rows

ILL = ["flu", "cold", "=x", None]
TABLE = pa.table(
    {"age": [30 + 10 * (i // 20) for i in range(60)], "sex": ["f", "m"] * 30, "ill": [ILL[i % 4] for i in range(60)]}
)
POLICY = {"roles": {"quasi": {"age": {}, "sex": {}}, "sensitive": ["ill"]}, "require": {"k": 5}}


def texts(records):
    """SAS has doubles only, and no missing text but an empty one."""
    return sorted(["" if v is None else str(v).removesuffix(".0") for v in r] for r in records)


@pytest.mark.parametrize(("form", "name"), [("jsonl", "data.jsonl"), ("sas", "data.xpt")])
def test_a_release_is_written_counted_again_and_verified(tmp_path, form, name):
    release = shoal.anonymize(TABLE, POLICY, format=form)
    release.write(tmp_path / "release")
    assert (tmp_path / "release" / name).exists()
    assert shoal.verify(tmp_path / "release").ok
    assert header(tmp_path / "release" / name) == ["age", "sex", "ill"]
    found = rows(tmp_path / "release" / name, ["age", "sex", "ill"])
    shoal.anonymize(TABLE, POLICY, format="parquet").write(tmp_path / "same")
    assert texts(found) == texts(r.values() for r in pq.read_table(tmp_path / "same" / "data.parquet").to_pylist())


def test_a_changed_line_is_found(tmp_path):
    shoal.anonymize(TABLE, POLICY, format="jsonl").write(tmp_path / "release")
    data = tmp_path / "release" / "data.jsonl"
    first, *rest = data.read_text().splitlines()
    data.write_text("\n".join([json.dumps({**json.loads(first), "age": 99}), *rest]) + "\n")
    assert not shoal.verify(tmp_path / "release").ok


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}\n{"b": 1}\n',
        '{"a": 1}\n{"a": 1, "b": 2}\n',
        '{"a": 1}\n{"a": 1, "a": 2}\n',
        '{"a": 1}\n[1]\n',
        '{"a": [1]}\n',
        '{"a": {"b": 1}}\n',
        '{"a": 1}\n{"a": \n',
        "7\n",
    ],
)
def test_lines_that_nobody_wrote_on_purpose_are_refused(tmp_path, text):
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(ShoalError):
        list(batches(tmp_path / "x.jsonl", ["a"]))


def test_cells_are_texts_as_they_are_spelled(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"b": 5.0, "a": "5"}\n\n{"a": null, "b": true}\n{"a": "", "b": -1e400}\n')
    assert list(rows(tmp_path / "x.jsonl", ["a", "b"])) == [("5", "5.0"), (None, "true"), ("", "-1e400")]
    with pytest.raises(TamperError, match="lacks 1 columns"):
        list(batches(tmp_path / "x.jsonl", ["c"]))


def test_packed_releases_are_refused(tmp_path):
    with pytest.raises(UsageError, match="not known"):
        shoal.anonymize(TABLE, POLICY, format="csv.gz").write(tmp_path / "release")
