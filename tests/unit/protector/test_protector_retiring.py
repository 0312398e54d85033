"""Rotation of the log: archived events leave the database, and nothing can be cut, put back or hidden by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from protector_support import House, raw_database
from shoal.errors import AccessError, DataError, EngineError, TamperError, UsageError
from shoal.protector import Vault, care
from shoal.protector.log import audit, checkpoints, segments


def archived(house: House, folder: Path) -> segments.Archive:
    segments.export(folder, lambda after: care.log_segment(house.auditor, after))
    return segments.check(folder)


def busy(house: House) -> str:
    """A day's work: pseudonyms, one reveal, one refusal, one honeytoken."""
    (made,) = house.operator.pseudonymize("d", ["Anna"])
    house.operator.find_many("d", ["Anna", "Bert"])
    request = house["Rita"].request("d", [made], purpose="care", case="1")
    house["Aldo"].approve(request.id)
    house["Rita"].reveal(request.id)
    with pytest.raises(AccessError):
        house["Rita"].reveal(request.id)
    house.operator.pseudonymize("d", [house.owner.plant_honeytoken("d").identity])
    return made


@pytest.fixture
def worked(house: House) -> House:
    house.owner.create_domain("d")
    busy(house)
    return house


def everything(house: House) -> list[dict[str, Any]]:
    return care.read_log(house.auditor)


def rows(house: House) -> list[int]:
    with house.vault.store.read() as tx:
        return [int(seq) for (seq,) in tx.all_of("SELECT seq FROM vault_audit ORDER BY seq")]


def test_what_is_archived_leaves_and_everything_else_stays(worked: House, tmp_path: Path) -> None:
    """The log before, less the daily work; reports, rights, witnesses, backups and the next export go on as before."""
    house = worked
    outside = care.checkpoint(house.owner)
    end = archived(house, tmp_path / "log")
    before = everything(house)
    shown, told = care.reveals(house.auditor), house.agree(care.export, "d", "Anna")["told"]
    done = house.agree(care.retire_log, end.events, end.head)
    assert done["events"] == end.events
    assert rows(house)[0] == end.events + 1
    expected = [e for e in before if e["n"] > end.events or e["action"] not in segments.DAILY or e["outcome"] != "done"]
    assert done["kept"] == sum(e["n"] <= end.events for e in expected)
    assert 0 < done["kept"] < end.events
    assert everything(house)[: len(expected)] == expected
    assert {"find", "pseudonymize"} <= {e["action"] for e in before if e["n"] <= end.events and e not in expected}
    assert care.reveals(house.auditor) == shown != []
    assert house.agree(care.export, "d", "Anna")["told"] == told != []
    verdict = care.verify_log(house.auditor, anchors=[outside, json.loads(last(tmp_path / "log"))["checkpoint"]])
    assert verdict.ok, verdict.problems
    assert care.verify(house.owner).ok
    busy(house)
    assert archived(house, tmp_path / "log").ok
    made = care.backup(house.operator, tmp_path / "one.backup")
    assert made.events > end.events
    with house.reopen() as again:
        assert again.status()["audit_events"] > end.events
    second = segments.check(tmp_path / "log")
    house.agree(care.retire_log, second.events, second.head)
    assert care.verify_log(house.auditor, anchors=[outside]).ok
    assert care.verify(house.owner).ok
    assert len(care.reveals(house.auditor)) == 2
    with pytest.raises(UsageError, match=f"up to {second.events} have left"):
        archived(house, tmp_path / "new")


def last(folder: Path) -> str:
    return sorted(folder.glob("*.json"))[-1].read_text()


def test_the_limits_of_what_may_leave(sqlite_house: House, tmp_path: Path) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    end = archived(house, tmp_path / "log")
    with house.vault.store.read() as tx:
        assert (tx.state.audit_seq, tx.state.audit_head) == (end.events, end.head), "an archive may end with the newest event"
    for wrong in (0, -1, end.events + 1):
        with pytest.raises(UsageError, match="the database holds the events 1 to"):
            care.retire_log(house.owner, wrong, end.head)
    with pytest.raises(UsageError, match="not signed at event"):
        care.retire_log(house.owner, end.events - 1, end.head)
    with pytest.raises(DataError, match="does not hold this vault's log"):
        care.retire_log(house.owner, end.events, "00" * 32)
    with pytest.raises(AccessError, match="role"):
        care.retire_log(house.operator, end.events, end.head)
    with pytest.raises(AccessError, match="second person"):
        care.retire_log(house.owner, end.events, end.head)
    assert rows(house)[0] == 1
    house.agree(care.retire_log, end.events, end.head)
    with pytest.raises(UsageError, match=f"holds the events {end.events + 1} to"):
        care.retire_log(house.owner, end.events, end.head)
    assert care.log_segment(house.auditor, end.events)["before"] == end.head
    with pytest.raises(UsageError, match="have left"):
        care.log_segment(house.auditor, end.events - 1)


def test_many_kept_events_go_in_parts(sqlite_house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "PART", 3)
    house = sqlite_house
    end = archived(house, tmp_path / "log")
    care.checkpoint(house.owner)  # another event behind the archive
    before = [e for e in everything(house) if e["n"] <= end.events and e["action"] not in segments.DAILY]
    house.agree(care.retire_log, end.events, end.head)
    with house.vault.store.read() as tx:
        assert tx.state.kept_parts == -(-len(before) // 3) > 2
        assert list(checkpoints.read(tx)) == before
        assert list(audit.events(tx, first=before[1]["n"]))[: len(before) - 1] == before[1:]
    assert everything(house)[: len(before)] == before
    assert [e["n"] for e in care.read_log(house.auditor, last=3)] == [e["n"] for e in everything(house)][-3:]


HARMS = {
    "an event behind the archive": "DELETE FROM vault_audit WHERE seq = {first}",
    "all events": "DELETE FROM vault_audit WHERE seq < {last}",
    "the tail": "DELETE FROM vault_audit WHERE seq = {last}",
    "a checkpoint": "DELETE FROM vault_checkpoints WHERE seq = (SELECT min(seq) FROM vault_checkpoints)",
    "the kept events": "DELETE FROM vault_objects WHERE tag = ?",
    "an old event put back": "INSERT INTO vault_audit (seq, sealed, hash) VALUES ({end}, ?, ?)",
    "a first event put back": "INSERT INTO vault_audit (seq, sealed, hash) VALUES (1, ?, ?)",
}


@pytest.mark.parametrize("harm", HARMS)
def test_nothing_is_cut_or_put_back_unseen(sqlite_house: House, tmp_path: Path, harm: str) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    house.operator.find("d", "x")
    end = archived(house, tmp_path / "log")
    with house.vault.store.read() as tx:
        values = {1: tx.first("SELECT sealed, hash FROM vault_audit WHERE seq = 1")}
        values[end.events] = tx.first("SELECT sealed, hash FROM vault_audit WHERE seq = ?", end.events)
        tag = house.vault.store.tag(checkpoints.SETTING, "kept events 1")
    house.agree(care.retire_log, end.events, end.head)
    assert care.verify_log(house.auditor).ok
    left = rows(house)
    given = {"the kept events": (tag,), "an old event put back": values[end.events], "a first event put back": values[1]}
    with raw_database(house) as connection:
        statement = HARMS[harm].format(first=left[0], last=left[-1], end=end.events)
        connection.execute(statement, tuple(given.get(harm, ())))
    connection.close()
    try:
        verdict = care.verify_log(house.auditor)
    except TamperError:  # the head itself is gone: nothing is written any more
        return
    assert not verdict.ok
    assert not care.verify(house.owner).ok


def test_an_older_copy_of_the_database_is_refused_after_it(sqlite_house: House, tmp_path: Path) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    end = archived(house, tmp_path / "log")
    house.operator.find("d", "x")
    with raw_database(house) as connection:
        connection.execute("VACUUM INTO ?", (str(tmp_path / "older.vault"),))
    connection.close()
    house.agree(care.retire_log, end.events, end.head)
    with pytest.raises(TamperError, match="older than it was"):
        Vault.open(tmp_path / "older.vault", key=house.key, anchor=house.folder / "anchor")


def test_witnesses_know_before_events_leave(sqlite_house: House, tmp_path: Path) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    place = tmp_path / "other" / "witness.jsonl"
    house.auditor.confirm(house.owner.set_witness([str(place)]).id)
    end = archived(house, tmp_path / "log")
    house.operator.find("d", "x")
    with pytest.raises(EngineError, match="witness"):
        house.agree(care.retire_log, end.events, end.head)
    assert rows(house)[0] == 1
    place.parent.mkdir()
    care.retire_log(house.owner, end.events, end.head)
    seen = [json.loads(line) for line in place.read_text().splitlines()]
    assert [(line["seq"], line["head"]) for line in seen] == [(end.events, end.head)]
    assert care.verify_log(house.auditor, anchors=seen).ok
    forged = {**seen[0], "head": "11" * 32}
    assert not care.verify_log(house.auditor, anchors=[forged]).ok
