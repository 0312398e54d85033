"""The log as a Merkle tree: signed heads, and proofs that are checked without vault and key."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from protector_support import House
from shoal.cli import main
from shoal.errors import UsageError
from shoal.protector import care
from shoal.protector.log import checkpoints, segments
from shoal.protector.store.connection import blob
from shoal.protector.store.database import Tx
from shoal.protector.store.state import SIGNER


def busy(house: House, domain: str) -> None:
    house.owner.create_domain(domain)
    house.operator.pseudonymize(domain, ["Anna", "Ben"])


def test_proofs_hold_without_the_vault(sqlite_house: House) -> None:
    house = sqlite_house
    old = care.checkpoint(house.owner)
    busy(house, "d")
    for event in (1, old["seq"], old["seq"] + 1):
        new = care.checkpoint(house.owner, since=old["seq"], event=event)
        assert new["size"] == new["seq"]
        assert new["inclusion"]["event"] == event
        assert checkpoints.check_proofs(new, old) == []
    assert care.verify_log(house.auditor, anchors=[old, new]).ok
    assert checkpoints.check_proofs(care.checkpoint(house.owner, since=old["seq"]), old) == []


def _wrong(new: dict[str, Any], old: dict[str, Any]) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Lies, by name: a checkpoint and the earlier one."""

    def altered(path: tuple[str, ...], value: Any) -> dict[str, Any]:
        lie = copy.deepcopy(new)
        place: Any = lie
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value
        return lie

    return {
        "another root": (altered(("root",), "00" * 32), old),
        "another size": (altered(("size",), new["size"] + 1), old),
        "an event of another number": (altered(("inclusion", "event"), 2), old),
        "another event": (altered(("inclusion", "sealed"), "00"), old),
        "an event before it that is another": (altered(("inclusion", "previous"), "11" * 32), old),
        "a hash less": (altered(("consistency", "proof"), new["consistency"]["proof"][:-1]), old),
        "no proof": (altered(("consistency",), {}), old),
        "a proof of nothing": (altered(("consistency", "proof"), None), old),
        "another earlier root": (new, {**old, "root": "00" * 32}),
        "the newer as the earlier": (old, new),
        "another vault": (new, {**old, "vault": "00" * 16}),
        "no number": (altered(("inclusion", "event"), "3"), old),
    }


@pytest.mark.parametrize("name", _wrong({"size": 0, "inclusion": {}, "consistency": {"proof": []}}, {}))
def test_lies_about_proofs(sqlite_house: House, name: str) -> None:
    house = sqlite_house
    old = care.checkpoint(house.owner)
    busy(house, "d")
    new = care.checkpoint(house.owner, since=old["seq"], event=3)
    assert checkpoints.check_proofs(new, old) == []
    assert checkpoints.check_proofs(*_wrong(new, old)[name])


def test_a_log_rewritten_with_the_key_contradicts_the_proof(sqlite_house: House) -> None:
    """Somebody with the master key cuts the log and writes another: he cannot prove that it continues the old one."""
    house = sqlite_house
    old = care.checkpoint(house.owner)
    with house.vault.store.write() as tx:
        hashes = [bytes(row[0]) for row in tx.all_of("SELECT hash FROM vault_audit ORDER BY seq")]
        other = [b"\1" * 32, *hashes[1:]]
        tx.state.tree = checkpoints.Frontier().add(*map(checkpoints.leaf, other)).to_json()
    new = care.checkpoint(house.owner, since=old["seq"])
    assert checkpoints.check_proofs(new, old) == [
        "the log does not continue the earlier checkpoint: events were changed or cut off."
    ]
    assert "the tree of the log is not the one that the vault wrote." in care.verify_log(house.auditor).problems


def test_proofs_go_on_after_events_left(sqlite_house: House, tmp_path: Path) -> None:
    house = sqlite_house
    busy(house, "d")
    before = care.checkpoint(house.owner)
    segments.export(tmp_path / "log", lambda after: care.log_segment(house.auditor, after))
    end = segments.check(tmp_path / "log")
    house.agree(care.retire_log, end.events, end.head)
    at_end = json.loads(sorted((tmp_path / "log").glob("*.json"))[-1].read_text())["checkpoint"]
    busy(house, "e")
    new = care.checkpoint(house.owner, since=end.events, event=end.events + 1)
    assert checkpoints.check_proofs(new, at_end) == [], "the last event that left, and the first that stayed"
    for wrong in ({"since": end.events - 1}, {"event": end.events}, {"since": new["seq"] + 9}, {"event": new["seq"] + 9}):
        with pytest.raises(UsageError, match=f"the database has the events {end.events + 1} to"):
            care.checkpoint(house.owner, **wrong)
    assert care.verify_log(house.auditor, anchors=[before, at_end, new]).ok


def _resigned(file: Path, **changes: Any) -> None:
    """A segment whose checkpoint says something else, signed with a key of one's own; None takes an entry away."""
    segment, private = json.loads(file.read_text()), Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    changes |= {"key": hashlib.sha256(public).hexdigest()[:16]}
    kept = {k: v for k, v in segment["checkpoint"].items() if k not in ("signature", "public_key")} | changes
    body = {name: value for name, value in kept.items() if value is not None}
    text = json.dumps(body, separators=(",", ":"), sort_keys=True).encode()
    segment["checkpoint"] = {**body, "signature": private.sign(text).hex(), "public_key": public.hex()}
    file.write_text(json.dumps(segment))


def test_segments_have_the_tree_that_was_signed(sqlite_house: House, tmp_path: Path) -> None:
    house, log = sqlite_house, tmp_path / "log"
    for domain in ("d", "e"):
        busy(house, domain)
        segments.export(log, lambda after: care.log_segment(house.auditor, after))
    first, second = sorted(log.glob("*.json"))
    kept, at_end = second.read_text(), json.loads(first.read_text())["checkpoint"]
    size = json.loads(kept)["checkpoint"]["size"]
    _resigned(second)
    assert segments.check(log).ok, "another key of the vault, with the right tree"
    older = {"root": None, "size": None, "format": "shoal-audit-checkpoint/1"}
    for lie in ({"root": "00" * 32}, {"size": size - 1}, {"size": size + 1}, {"root": at_end["root"]}, {"size": None}, older):
        second.write_text(kept)
        _resigned(second, **lie)
        assert segments.check(log).problems == (f"{second.name} is signed with a tree that does not fit its events.",)
    second.write_text(kept)
    for lie in ({"size": at_end["size"] + 1}, {"size": -1}, {"size": "3"}, {"root": "00" * 32}):
        _resigned(first, **lie)
        assert segments.check(log).problems == (f"{first.name} is signed with a tree that does not fit its events.",)
        _resigned(first, root=at_end["root"], size=at_end["size"])
    _resigned(first, **older)
    assert segments.check(log).ok, "a segment of Shoal 0.3.0, and one of today"


def _sign_as_before(tx: Tx) -> None:
    """Every stored checkpoint as Shoal 0.3.0 wrote it."""
    secret = tx.get_secret(SIGNER, "active")
    assert secret is not None
    for seq, body in tx.all_of("SELECT seq, body FROM vault_checkpoints"):
        signed = json.loads(checkpoints.opened_body(tx.store, seq, blob(body)))
        signed = {k: v for k, v in signed.items() if k not in ("size", "root")} | {"format": "shoal-audit-checkpoint/1"}
        text = json.dumps(signed, separators=(",", ":"), sort_keys=True).encode()
        signature = Ed25519PrivateKey.from_private_bytes(secret.expose()).sign(text)
        sealed = tx.store.audit_box.seal(text, checkpoints._checkpoint_place(tx.store, seq))
        tx.run("UPDATE vault_checkpoints SET body = ?, signature = ? WHERE seq = ?", sealed, signature, seq)


def test_a_vault_of_an_older_shoal_gets_its_tree(sqlite_house: House, tmp_path: Path) -> None:
    house = sqlite_house
    busy(house, "d")
    segments.export(tmp_path / "log", lambda after: care.log_segment(house.auditor, after))
    end = segments.check(tmp_path / "log")
    house.agree(care.retire_log, end.events, end.head)
    with house.vault.store.write() as tx:  # as Shoal 0.3.0 left it: no tree, and events are gone
        tx.state.tree, tx.state.retired_tree, tx.state.tree_from = [], [], 0
        _sign_as_before(tx)
    assert care.verify_log(house.auditor).ok
    busy(house, "e")
    old = care.checkpoint(house.owner)
    assert old["size"] == old["seq"] - end.events
    busy(house, "f")
    new = care.checkpoint(house.owner, since=old["seq"], event=old["seq"])
    assert checkpoints.check_proofs(new, old) == []


def test_both_keys_of_a_proof_are_named_and_trusted(
    sqlite_house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house, old, new = sqlite_house, tmp_path / "old.json", tmp_path / "new.json"
    first = care.checkpoint(house.owner)
    house.agree(care.rotate_signer)
    second = care.checkpoint(house.owner, since=first["seq"])
    old.write_text(json.dumps(first))
    new.write_text(json.dumps(second))
    assert first["key"] != second["key"]

    def run(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["vault", "segments", str(new), "--since", str(old), *words])
        return int(ended.value.code or 0), capsys.readouterr().out

    code, said = run()
    assert code == 0
    assert f"Signed by {second['key']}, the earlier one by {first['key']}:" in said.replace("\n", " ")
    assert run("--trust", second["key"])[0] != 0
    assert run("--trust", first["key"])[0] != 0
    assert run("--trust", first["key"], "--trust", second["key"])[0] == 0


def test_by_command(sqlite_house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = sqlite_house
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(care.checkpoint(house.owner)))
    busy(house, "d")
    made = care.checkpoint(house.owner, since=json.loads(old.read_text())["seq"], event=2)
    new.write_text(json.dumps(made))

    def run(*words: str) -> Any:
        with pytest.raises(SystemExit) as ended:
            main(["vault", "segments", *words])
        return ended.value.code

    assert run(str(new), "--since", str(old), "--trust", made["key"]) == 0
    assert f"it continues event {json.loads(old.read_text())['seq']}; it has event 2." in capsys.readouterr().out
    assert run(str(new), "--trust", "another") == 1
    assert run(str(old), "--since", str(new)) == 1
