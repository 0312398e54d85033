"""Releases say people: the second opinion, the judge, the gate and the certificate count everybody once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from people_oracle import Everybody, Row
from shoal.model import requirement as req
from shoal.release.gate.check import facts_of_counts
from shoal.release.proof.judge import judge
from shoal.release.proof.recount import recount

QUASI = ("a", "b")


def visits(seed: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    people = int(rng.integers(2, 12))
    return [
        {"id": f"p{p}", "a": int(rng.integers(0, 3)), "b": int(rng.integers(0, 2))}
        for p in range(people)
        for _ in range(int(rng.integers(1, 5)))
    ]


@pytest.mark.parametrize("seed", range(40))
def test_every_count_of_people_equals_the_definition(seed: int, tmp_path: Path) -> None:
    rows = visits(seed)
    slow = Everybody(rows, QUASI, "id")
    file = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pylist(rows), file)
    one, two = (recount(file, QUASI, unit="id", way=way) for way in ("dictionary", "sorted"))
    assert one == two
    with shoal.open(file) as table:
        counted = facts_of_counts(table.count(QUASI, unit="id"))
    for facts in (one, counted):
        assert (facts.people, facts.k, facts.unique) == (slow.people, slow.k, slow.at(1))
        assert facts.average_risk == pytest.approx(slow.mean_risk)
        assert facts.unique_share == pytest.approx(slow.at(1) / slow.people)
    asked = [req.AverageRisk(0.5), req.SampleUniqueness(0.5)]
    met = [v.met for v in judge(asked, one)]
    assert met == [slow.mean_risk <= 0.5 + 1e-9, slow.at(1) / slow.people <= 0.5 + 1e-9]


def test_the_gate_judges_people() -> None:
    """Three people, each alone in one of six memberships: by memberships one half, by people all."""
    rows = {"id": [1, 1, 2, 2, 3, 3], "q": list("abacad")}
    policy = {"roles": {"quasi": {"q": {}}}, "unit": {"column": "id"}, "require": {"uniqueness": {"sample": 0.5}}}
    found = shoal.check(rows, policy)
    assert not found.met
    assert found.findings[0].found == 1.0


def released(tmp_path: Path, **more: Any) -> Any:
    rng = np.random.default_rng(3)
    rows = [{"id": f"p{p}", "age": int(rng.integers(20, 70)), "sex": "fm"[p % 2]} for p in range(60) for _ in range(2)]
    policy = {
        "roles": {"quasi": {"age": {"hierarchy": {"intervals": [5, 10, 20]}}, "sex": {}}},
        "unit": {"column": "id", "publish": "drop"},
        "require": {"k": 3},
        "allow": {"suppress": 0.2},
    }
    return shoal.anonymize(pa.Table.from_pylist(rows), policy | more)


def test_a_certificate_says_people_and_can_be_verified(tmp_path: Path) -> None:
    made = released(tmp_path)
    certificate = made.certificate
    people = certificate.after_people
    assert people.people == sum(people.smallest.values()) <= 60
    assert people.unique == people.smallest.get("1", 0) == 0
    assert certificate.before.unique <= sum(certificate.before.smallest.values()) == 60
    average = next(a for a in certificate.attackers if a.attacker.startswith("marketer"))
    assert average.after == pytest.approx(sum(n / int(s) for s, n in people.smallest.items()) / people.people)
    assert "people" in average.sentence
    assert f"{60 - people.people} of 60 people have no record in it" in certificate.utility.suppressed_sentence
    made.write(tmp_path / "release")
    shoal.verify(tmp_path / "release")


@pytest.mark.parametrize("publish", ["keep", "pseudonym"])
def test_linked_people_are_refused_before_anything_is_written(publish: str, tmp_path: Path, monkeypatch: Any) -> None:
    from shoal.errors import InfeasibleError
    from shoal.release.make import carry_out

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("data were written")

    monkeypatch.setattr(carry_out, "recode", never)
    with pytest.raises(InfeasibleError, match="stay linked") as caught:
        released(tmp_path, unit={"column": "id", "publish": publish}).write(tmp_path / "release")
    assert "'drop'" in str(caught.value)
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize("seed", range(12))
def test_the_check_of_links_equals_the_recount_of_the_written_file(seed: int, tmp_path: Path) -> None:
    """Exactly where the second opinion would refuse the file, the plan is refused before."""
    from shoal.errors import InfeasibleError

    rng = np.random.default_rng(seed)
    rows = [{"id": f"p{p}", "a": int(rng.integers(0, 2)), "b": 0} for p in range(12) for _ in range(int(rng.integers(1, 3)))]
    slow: dict[str, list[Any]] = {}
    for row in rows:
        slow.setdefault(row["id"], []).append((row["a"], row["b"]))
    alike = [sum(sorted(o) == sorted(m) for o in slow.values()) for m in slow.values()]
    policy = {
        "roles": {"quasi": {"a": {"hierarchy": {"intervals": [1]}}, "b": {"hierarchy": {"intervals": [1]}}}},
        "unit": {"column": "id", "publish": "keep"},
        "require": {"k": 2},
    }
    try:
        certificate = shoal.anonymize(pa.Table.from_pylist(rows), policy).certificate
    except InfeasibleError:
        assert min(alike) < 2
        return
    assert certificate.after_people.linked_k >= 2
