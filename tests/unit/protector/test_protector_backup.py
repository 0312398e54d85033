"""Backups, restores and copies, on SQLite and PostgreSQL: the drills of the runbook."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from protector_support import House
from shoal.errors import AccessError, DataError, ShoalError, TamperError, UsageError
from shoal.protector import Vault, care, keys
from shoal.protector.care import copies
from shoal.protector.crypto import master_keys
from shoal.protector.crypto.master_keys import KeyRefusedError


@pytest.fixture
def filled(house: House) -> House:
    house.owner.create_domain("d")
    house.owner.create_domain("r", kind="reversible")
    house.tokens["Otto"], house.tokens["Udo"] = house.token("Otto"), house.token("Udo")
    house.operator.pseudonymize("d", [f"person {i}" for i in range(1500)])
    return house


def restored(house: House, file: Path, place: str | Path, **more: Any) -> Any:
    accept = (house.tokens["Otto"], house.tokens["Udo"])
    given = {"key": house.key, "anchor": house.folder / "anchor", "accept": accept, "clock": house.clock}
    return care.restore(file, place, **{**given, **more})


def test_a_lost_database_comes_back(filled: House, tmp_path: Path) -> None:
    """Backup in use, loss, restore: everybody of the backup is there; what came later is counted, and said for ever."""
    known = filled.operator.pseudonymize("d", ["person 7"])
    made = care.backup(filled.owner, tmp_path / "one.backup")
    assert made.vault == filled.vault.id
    assert made.rows > 100
    later = filled.operator.pseudonymize("d", ["later"])
    with filled.vault.store.read() as tx:
        events = tx.state.audit_seq
    content = (tmp_path / "one.backup").read_bytes()
    assert b"person 7" not in content
    assert (tmp_path / "one.backup").stat().st_mode & 0o077 == 0
    filled.vault.close()
    back = restored(filled, tmp_path / "one.backup", tmp_path / "new.vault")
    assert back.events_lost == events - made.events == 1
    olga = back.vault.login(filled.tokens["Olga"])
    assert olga.find_many("d", ["person 7", "later"]) == [known[0], None]
    assert olga.pseudonymize("d", ["later"]) != later  # what was minted since is gone: the number of events names it
    udo = back.vault.login(filled.tokens["Udo"])
    assert "1 events lost" in care.verify_log(udo).problems[0]
    assert care.verify_log(udo, acknowledged=1).ok
    back.vault.close()
    with pytest.raises(TamperError, match="older"):
        filled.reopen()  # two vaults cannot go on side by side


def test_a_restore_takes_two_people_and_leaves_nothing_when_refused(filled: House, tmp_path: Path) -> None:
    care.backup(filled.operator, tmp_path / "one.backup")
    for pair in (("Otto", "Otto"), ("Otto", "Olga"), ("Olga", "Udo")):
        with pytest.raises(AccessError):
            restored(filled, tmp_path / "one.backup", tmp_path / "new.vault", accept=tuple(filled.tokens[n] for n in pair))
        assert not list(tmp_path.glob("new.vault*"))
    assert care.verify_log(filled.auditor).ok
    for name in ("Rita", "Aldo", "Udo"):
        with pytest.raises(AccessError, match="role"):
            care.backup(filled[name], tmp_path / "two.backup")
    with pytest.raises(UsageError, match="exists"):
        care.backup(filled.owner, tmp_path / "one.backup")
    (tmp_path / "taken").write_text("")
    with pytest.raises(UsageError, match="exists"):
        restored(filled, tmp_path / "one.backup", tmp_path / "taken")


def test_a_damaged_backup_is_refused(filled: House, tmp_path: Path) -> None:
    care.backup(filled.owner, tmp_path / "one.backup")
    content = (tmp_path / "one.backup").read_bytes()
    wrong = tmp_path / "wrong.backup"
    start = content.index(b"\n", 30) + 1
    size = int.from_bytes(content[start : start + 4], "big") + 5
    cases = {
        "cut": content[:-1],
        "cut at a part": content[: start + size],
        "longer": content + b"x",
        "flipped": content[: len(content) // 2] + bytes([content[len(content) // 2] ^ 1]) + content[len(content) // 2 + 1 :],
        "a part missing": content[:start] + content[start + size :],
        "front": content.replace(b'"vault": "', b'"vault": "0', 1),
        "empty": b"",
        "text": b"hello",
    }
    for case, text in cases.items():
        wrong.write_bytes(text)
        with pytest.raises((TamperError, DataError)):
            copies.check(wrong, filled.key)
        with pytest.raises((TamperError, DataError)):
            restored(filled, wrong, tmp_path / "new.vault")
        assert not list(tmp_path.glob("new.vault*")), case
    from protector_support import new_key

    with pytest.raises(ShoalError):
        copies.check(tmp_path / "one.backup", new_key())


def test_a_backup_of_a_damaged_vault_is_refused(filled: House, tmp_path: Path) -> None:
    import contextlib

    from protector_support import raw_database

    with contextlib.closing(raw_database(filled)) as database:
        database.execute("DELETE FROM vault_entries WHERE id = (SELECT max(id) FROM vault_entries)")
    with pytest.raises(TamperError, match="missing, added, altered"):
        care.backup(filled.owner, tmp_path / "one.backup")
    assert not (tmp_path / "one.backup").exists()


def test_a_copy_goes_on_in_the_other_database(filled: House, place: str, tmp_path: Path) -> None:
    """From each kind of storage to each: same pseudonyms, no event lost; the source is refused once the copy was written to."""
    target = place if "://" in place else str(tmp_path / "copy.vault")
    known = filled.operator.pseudonymize("d", ["person 7"])
    care.copy(filled.owner, target)
    with pytest.raises(UsageError, match="already"):
        care.copy(filled.owner, target)
    filled.vault.close()
    with Vault.open(target, key=filled.key, anchor=filled.folder / "anchor", clock=filled.clock) as vault:
        assert vault.login(filled.tokens["Olga"]).pseudonymize("d", ["person 7"]) == known
        assert care.verify(vault.login(filled.tokens["Otto"])).ok
        assert care.verify_log(vault.login(filled.tokens["Udo"])).ok
    with pytest.raises(TamperError, match="older"):
        filled.reopen()


@pytest.mark.parametrize(("shares", "needed"), [(2, 2), (3, 2), (5, 3), (6, 6)])
def test_any_enough_shares_give_the_key_and_fewer_do_not(shares: int, needed: int) -> None:
    text = keys.generate()
    parts = keys.split(text, shares=shares, needed=needed)
    assert len(set(parts)) == shares
    whole = keys.from_shares(parts).key_id
    for chosen in itertools.combinations(parts, needed):
        assert keys.from_shares(chosen).key_id == whole
    with pytest.raises(KeyRefusedError, match=f"{needed} different shares"):
        keys.from_shares([*parts[: needed - 1], parts[0]])
    other = keys.split(keys.generate(), shares=shares, needed=needed)
    with pytest.raises(KeyRefusedError, match="do not belong"):
        keys.from_shares([*parts[: needed - 1], other[-1]])
    last = parts[needed - 1]
    altered = last[:-2] + ("0" if last[-2] != "0" else "1") + last[-1]
    with pytest.raises(ShoalError):
        keys.from_shares([*parts[: needed - 1], altered])
    for wrong in ("", "key-share-x", parts[0].replace("key-share-", "share-")):
        with pytest.raises(KeyRefusedError):
            keys.from_shares([wrong, wrong])


@pytest.mark.parametrize(("shares", "needed"), [(1, 1), (2, 1), (2, 3), (256, 2)])
def test_shares_that_make_no_sense(shares: int, needed: int) -> None:
    with pytest.raises(UsageError, match="make no sense"):
        master_keys.split_secret(b"x" * 32, shares, needed)


def test_fewer_shares_tell_nothing() -> None:
    """With one share missing, every secret is equally possible: each of 256 bytes fits exactly one value of the last share."""
    parts = master_keys.split_secret(b"\x42", 3, 2)
    seen = {master_keys.join_secret({1: parts[1], 2: bytes([guess])}) for guess in range(256)}
    assert len(seen) == 256
    with pytest.raises(UsageError, match="belong together"):
        master_keys.join_secret({1: b"a", 2: b"ab"})
    with pytest.raises(UsageError, match="belong together"):
        master_keys.join_secret({0: b"a", 2: b"b"})
