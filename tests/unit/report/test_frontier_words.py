"""A release report says why the loss at other k is not drawn."""

from __future__ import annotations

import shoal
from shoal.report.release_report import NOT_SEARCHED


def test_a_release_by_local_recoding_says_why_there_is_no_curve(tmp_path) -> None:
    table = {"age": [20 + i % 40 for i in range(200)], "sex": ["fm"[i % 2] for i in range(200)]}
    policy = {"roles": {"quasi": {"age": {}, "sex": {}}}, "require": {"k": 5}}
    drawn = shoal.anonymize(table, policy | {"method": "lattice", "allow": {"loss": 1, "blank": 1}})
    drawn.write(tmp_path / "a")
    assert NOT_SEARCHED not in (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    shoal.anonymize(table, policy | {"method": "local"}).write(tmp_path / "b")
    assert NOT_SEARCHED in (tmp_path / "b" / "report.html").read_text(encoding="utf-8")
