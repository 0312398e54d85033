"""How much work a release is: passes over the written file, and who was left out without a scan per value."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.model.counts.classes import ClassCounts
from shoal.release.certificate import contents as lost
from shoal.release.certificate import verify as checking
from shoal.release.make import carry_out as carrying
from shoal.release.make import count_again as counting
from shoal.release.make import value_links as attacking
from shoal.release.make.count_again import alongside
from shoal.release.proof import recount as second
from shoal.release.verification import verify

POLICY = {
    "roles": {"quasi": {"sex": {"max_level": 0}, "town": {"max_level": 0}}, "sensitive": ["ill"]},
    "require": {"k": 5},
    "date": "2026-11-15",
}


def people(n: int = 400) -> pa.Table:
    return pa.table(
        {"sex": ["f", "m"] * (n // 2), "town": ["Urk", "Ede"] * (n // 2), "ill": ["flu", "cold", "hiv", "flu"] * (n // 4)}
    )


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were counted."""
    seen: list[str] = []

    def noted(path, *words, **more):
        seen.append(path.name)
        return second.recount(path, *words, **more)

    monkeypatch.setattr(counting, "recount", noted)
    monkeypatch.setattr(checking, "recount", noted)
    return seen


def test_a_file_is_counted_once_while_it_is_made(tmp_path, passes):
    shoal.anonymize(people(), POLICY, format="parquet").write(tmp_path / "r")
    assert passes == ["data.parquet"]
    assert shoal.verify(tmp_path / "r").ok
    assert passes == ["data.parquet"] * 2  # a reader counts again


def test_people_are_counted_in_a_file_of_their_own(tmp_path, passes):
    table = people().append_column("id", pa.array([str(i // 2) for i in range(400)]))
    shoal.anonymize(table, {**POLICY, "unit": "id"}, format="parquet").write(tmp_path / "r")
    assert len(passes) == 2


def test_an_attack_that_does_not_fit_into_the_memory_is_told(monkeypatch):
    """400 records of two quasi-identifiers and one further column: 400 × (3 × 4 + 48) bytes, and one byte fewer."""
    for room, told in ((24_000, False), (23_999, True)):
        monkeypatch.setattr(attacking, "left_for_data", lambda budget, room=room: room)
        with shoal.open(people(), memory="1GB") as table:
            names = {a.name: a for a in shoal.anonymize(table, POLICY).certificate.attacks}
        assert (names["further knowledge"].verdict == "not run") is told
    monkeypatch.undo()
    for most, told in ((400, False), (399, True)):
        monkeypatch.setattr(attacking, "MOST_COUNTED", most)
        names = {a.name: a.sentence for a in shoal.anonymize(people(), POLICY).certificate.attacks}
        assert ("more than 399 records" in names["further knowledge"]) is told


def test_facts_of_other_bytes_are_not_believed(tmp_path, passes):
    shoal.anonymize(people(), POLICY, format="parquet").write(tmp_path / "r")
    whole = second.recount(tmp_path / "r" / "data.parquet", ["sex", "town"], ["ill"])
    entry = next(f for f in shoal.verify(tmp_path / "r").certificate.files if f.name == "data.parquet")
    passes.clear()
    wrong = replace(whole, k=whole.k + 1)
    assert verify(tmp_path / "r", counted=("0" * 64, wrong)).ok  # counted again, so the wrong facts do no harm
    assert passes == ["data.parquet"]
    found = verify(tmp_path / "r", counted=(entry.sha256, wrong))
    assert [c.name for c in found.checks if not c.ok] == ["re-count"]


@pytest.mark.parametrize("seed", range(6))
def test_who_was_left_out_as_the_definition_says(seed):
    """Every value of every column scanned on its own."""
    rng = np.random.default_rng(seed)
    n, least = 300, 5
    codes = [rng.integers(-1, 4, n).astype(np.int32), rng.integers(0, 2, n).astype(np.int32)]
    labels = (("a", "b", "c", "d"), ("x", "y"))
    base = ClassCounts(rng.integers(1, 6, n), ("p", "q"), codes)
    decision = SimpleNamespace(stays=rng.random(n) < 0.9, codes=codes, labels=labels)
    prepared = SimpleNamespace(base=base, policy=SimpleNamespace(cells=SimpleNamespace(minimum=least)))
    found = {
        (g.column, g.group): (g.records, g.suppressed) for g in lost.lost_groups(prepared, decision) if g.group != lost.NOT_NAMED
    }
    for j, name in enumerate("pq"):
        for code in range(-1, len(labels[j])):
            mine = codes[j] == code
            shown, gone = int(base.sizes[mine & decision.stays].sum()), int(base.sizes[mine & ~decision.stays].sum())
            key = (name, "missing" if code < 0 else labels[j][code])
            if key in found:
                assert found[key] == (shown, gone)
                assert min(shown, gone) >= least


def test_attacks_beside_the_second_count_find_what_they_find_after_it(tmp_path, monkeypatch):
    begun = []

    def noted(work, *, at_once):
        begun.append(at_once)
        return alongside(work, at_once=at_once)

    monkeypatch.setattr(carrying, "alongside", noted)
    for records in (401, 400):  # one more than there are, and as many
        monkeypatch.setattr(carrying, "BOTH_CORES", records)
        shoal.anonymize(people(), POLICY, format="parquet").write(tmp_path / f"{records}")
    assert begun == [False, True]
    one, two = (shoal.verify(tmp_path / name).certificate for name in ("400", "401"))
    assert one.attacks == two.attacks
    assert any(a.name == "downcoding" for a in one.attacks)
    with shoal.open(people(), memory="2GB") as table:
        shoal.anonymize(table, POLICY, format="parquet").write(tmp_path / "less")
    assert begun == [False, True, False]  # within a budget nothing runs beside


def test_an_error_beside_is_raised_where_the_answer_is_asked_for():
    def fails():
        raise KeyError("beside")

    with alongside(fails, at_once=True) as answer:
        pass
    with alongside(fails, at_once=True) as answer, pytest.raises(KeyError, match="beside"):
        answer()
    with alongside(fails, at_once=False):
        pass


@pytest.mark.parametrize("places", [0, 1 << 16])
@pytest.mark.parametrize("seed", range(4))
def test_records_are_numbered_alike_by_tables_and_by_sorting(seed, places, monkeypatch):
    monkeypatch.setattr(second, "_table", lambda records: places)
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, high, 300) for high in (3, 2**40, 1, 7, 2**50)[: seed + 2]]
    columns[-1] = np.where(rng.random(300) < 0.9, 0, columns[-1])
    before = [c.copy() for c in columns]
    number, first = second.number_groups(columns)
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    order = {row: i for i, row in enumerate(sorted(set(rows)))}
    assert number.tolist() == [order[row] for row in rows]
    assert first.tolist() == [rows.index(row) for row in order]
    assert all((a == b).all() for a, b in zip(columns, before, strict=True))
