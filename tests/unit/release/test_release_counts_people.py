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
from recount_oracle import recount
from shoal.errors import DataError
from shoal.model import requirement as req
from shoal.release.gate.count_facts import facts_of_counts
from shoal.release.proof.facts import judge

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


@pytest.mark.parametrize("seed", range(15))
def test_people_who_lost_some_of_their_records_are_told(seed: int) -> None:
    """Nobody of the published file is counted twice: gone altogether, or with fewer records than they came with."""
    rng = np.random.default_rng(seed)
    rows = [{"id": f"p{p}", "a": str(rng.choice(list("aaaabbbcd")))} for p in range(25) for _ in range(2)]
    words: dict[str, Any] = {"quasi": {"a": {"max_level": 0}}, "unit": "id", "k": 6, "allow": {"suppress": 0.9}}
    made = shoal.anonymize(pa.Table.from_pylist(rows), **words)
    slow = Everybody(rows, ["a"], "id")
    stays = {key for key, members in slow.members.items() if len(members) >= 6}
    gone = [p for p, classes in slow.classes.items() if not classes & stays]
    less = [p for p, classes in slow.classes.items() if classes & stays and classes - stays]
    said = made.certificate.utility.suppressed_sentence
    assert f" {len(gone)} of 25 people have no record in it." in said
    assert (f" {len(less)} more have lost some of their records." in said) == bool(less)
    assert ("lost some" in said) == bool(less)


def test_population_uniques_are_estimated_from_people() -> None:
    """Three of three people are alone somewhere; six memberships in a population of six would count three of six."""
    from shoal.prediction.population.uniques import unique_share
    from shoal.release.gate.count_facts import classes_of, estimates

    counts = shoal.open({"id": [1, 1, 2, 2, 3, 3], "q": list("abacad")}).count(["q"], unit="id")
    facts = facts_of_counts(counts)
    asked = req.PopulationUniqueness(0.5, 3)
    assert estimates([asked], facts) == {asked.place: 1.0}
    alone = Everybody([{"id": i // 3, "q": i // 3 % 2} for i in range(30)], ["q"], "id")
    assert classes_of({5: alone.people}) == {5: 2}, "where everybody is in one class, the classes themselves"
    assert unique_share(classes_of(facts.everybody), 3) == 1.0


def test_rows_without_a_person_count_as_one_person_in_a_release(tmp_path):
    """As COUNT does. Before, the run ended with 'the pairs of class and person do not add up'."""
    rng = np.random.default_rng(1)
    ids = [None if rng.random() < 0.1 else f"p{i}" for i in rng.integers(0, 60, 300)]
    sex = rng.choice(["f", "m"], 300).tolist()
    table = pa.table({"pid": ids, "sex": sex})
    least = min(len({i for i, s in zip(ids, sex, strict=True) if s == one}) for one in "fm")
    with shoal.open(table) as source:
        release = shoal.anonymize(source, quasi=["sex"], unit="pid", k=3)
        release.write(tmp_path / "r")
    assert release.certificate.k == least
    assert shoal.verify(tmp_path / "r").ok


@pytest.mark.parametrize("twin", ["p1 ", " p1", "p\uff11"])
def test_ids_that_differ_in_spaces_or_form_only_are_not_counted_as_different_people(twin):
    table = {"id": ["p1", twin, "p2", "p3", "p4", "p5"], "age": [30] * 6}
    with pytest.raises(DataError, match="1 ids of the person column 'id' differ") as refused:
        shoal.anonymize(table, quasi=["age"], unit="id", k=5)
    assert twin not in str(refused.value)
    assert shoal.anonymize({**table, "id": ["p1", "P1", "p2", "p3", "p4", "p5"]}, quasi=["age"], unit="id", k=5).k == 6
