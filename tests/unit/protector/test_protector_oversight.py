"""Oversight that one person cannot end: the auditor's tokens, connections between domains, honeytokens, the break-glass key."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from protector_support import House, build
from shoal.errors import AccessError, EngineError, TamperError, UsageError
from shoal.protector import Vault, care, keys
from shoal.protector.log import witness
from shoal.protector.people.changes import SecondPersonNeeded
from shoal.protector.store.state import HONEY


def asked(house: House) -> Any:
    """An approved request that only has to be fetched."""
    house.owner.create_domain("d")
    request = house.request("d", house.operator.pseudonymize("d", ["0012"]))
    house["Aldo"].approve(request.id)
    return request


def test_an_owner_alone_cannot_revoke_the_auditors_tokens(house: House) -> None:
    with pytest.raises(SecondPersonNeeded):
        house.owner.revoke_tokens("Udo")
    assert care.verify_log(house.auditor).ok
    with pytest.raises(AccessError, match="own change"):
        house.owner.confirm(house.owner.changes()[0].id)


def test_an_owner_alone_cannot_disable_one_of_two_auditors(house: House) -> None:
    second = house.vault.login(house.add("Ulla", ["auditor"]))
    with pytest.raises(SecondPersonNeeded) as needed:
        house.owner.grant("Ulla", ["auditor"], enabled=False)
    assert care.verify_log(second).ok
    house.auditor.confirm(needed.value.change.id)
    house.owner.grant("Ulla", ["auditor"], enabled=False)
    with pytest.raises(AccessError):
        care.verify_log(second)


def test_nothing_is_revealed_while_no_auditor_can_log_in(house: House) -> None:
    request = asked(house)
    house.revoke_auditor()
    assert house.vault.status()["auditor_can_log_in"] is False
    with pytest.raises(AccessError, match="no auditor can log in"):
        house["Rita"].reveal(request.id)
    token = house.vault.break_glass(house.owner_share, house.auditor_share)
    assert list(house["Rita"].reveal(request.id).identities.values()) == ["0012"]
    auditor = house.vault.login(token)
    events = care.read_log(auditor)
    assert [(e["outcome"], e.get("reason")) for e in events if e["action"] == "reveal"][:1] == [("refused", "oversight")]
    assert [e["outcome"] for e in events if e["action"] == "break-glass"] == ["done", "alarm"]


def test_an_ended_or_delegated_token_of_the_auditor_is_not_oversight(house: House) -> None:
    auditor = house.vault.login(house.token("Udo", expires=house.clock.now + 86400.0))
    house.revoke_auditor()
    assert not house.vault.status()["auditor_can_log_in"]
    auditor = house.vault.login(house.vault.break_glass(house.owner_share, house.auditor_share))
    assert auditor.delegate("audit", seconds=86400.0)
    house.clock.now += 364.5 * 86400
    assert auditor.delegate("audit", seconds=86400.0)
    assert house.vault.status()["auditor_can_log_in"]
    house.clock.now += 0.6 * 86400
    assert not house.vault.status()["auditor_can_log_in"]


def test_the_break_glass_key_takes_both_shares_and_opens_nothing_while_an_auditor_can_log_in(house: House) -> None:
    with pytest.raises(AccessError, match="can log in: the break-glass"):
        house.vault.break_glass(house.owner_share, house.auditor_share)
    house.revoke_auditor()
    forged = house.auditor_share[:-1] + ("0" if house.auditor_share[-1] != "0" else "1")
    for one, other in ((house.owner_share, forged), (house.auditor_share, house.owner_share)):
        with pytest.raises((AccessError, UsageError)):
            house.vault.break_glass(one, other)
    with pytest.raises(UsageError, match="not an auditor"):
        house.vault.break_glass(house.owner_share, house.auditor_share, name="Rita")


def test_connecting_two_domains_takes_two_people_ending_it_does_not(house: House) -> None:
    house.owner.create_domain("d")
    house.owner.create_domain("e")
    with pytest.raises(SecondPersonNeeded) as needed:
        house.owner.allow_translation("d", "e")
    (made,) = house.operator.pseudonymize("d", ["0012"])
    with pytest.raises(AccessError, match="not allowed"):
        house.operator.translate([made], source="d", target="e", purpose="p")
    house.auditor.confirm(needed.value.change.id)
    house.owner.allow_translation("d", "e")
    assert house.operator.translate([made], source="d", target="e", purpose="p") != [None]
    house.owner.allow_translation("d", "e", allowed=False)
    with pytest.raises(SecondPersonNeeded):
        house.owner.allow_translation("d", "e")


@pytest.mark.parametrize(
    "settings", [{}, {"kind": "keyed"}, {"kind": "reversible"}, {"check": "luhn"}, {"clean": ("case", "zeros")}]
)
def test_a_honeytoken_is_never_a_real_person(house: House, settings: dict[str, Any]) -> None:
    """The vault invents the identity: an owner can neither ask for a person's pseudonym nor hold a person back."""
    house.owner.create_domain("d", **settings)
    with pytest.raises(TypeError):
        house.owner.plant_honeytoken("d", "79927398713")  # type: ignore[call-arg]
    one, other = house.owner.plant_honeytoken("d"), house.owner.plant_honeytoken("d")
    assert one.identity != other.identity
    assert one.pseudonym != other.pseudonym
    assert one.pseudonym
    (made,) = house.operator.pseudonymize("d", ["79927398713"])
    assert made not in (one.pseudonym, other.pseudonym)
    if settings.get("kind") != "keyed":
        assert house.reveal("d", [made]) == {made: "79927398713"}
        assert house.request("d", [one.pseudonym]).flagged


def test_a_format_preserving_domain_has_no_honeytokens(house: House) -> None:
    house.owner.create_domain("f", kind="format-preserving")
    with pytest.raises(UsageError, match="may be a real person's"):
        house.owner.plant_honeytoken("f")


def test_two_people_withdraw_a_honeytoken_also_an_old_one_of_a_real_person(house: House) -> None:
    house.owner.create_domain("d")
    (made,) = house.operator.pseudonymize("d", ["0012"])
    with house.vault.store.write() as tx:  # as 0.3.0 let one owner do it
        tx.put(HONEY, "d", {"identities": ["0012"]})
        house.vault._open.recorder.record(tx, house.clock.now, "Otto", "honeytoken", domain="d")
    planted = house.owner.plant_honeytoken("d")
    assert house.request("d", [made]).flagged
    for name in (made, planted.identity):
        with pytest.raises(SecondPersonNeeded) as needed:
            house.owner.withdraw_honeytoken("d", name)
        assert "0012" not in str(needed.value.change.what)
        house.auditor.confirm(needed.value.change.id)
        house.owner.withdraw_honeytoken("d", name)
    assert house.reveal("d", [made]) == {made: "0012"}
    with pytest.raises(UsageError, match="not a honeytoken"):
        house.owner.withdraw_honeytoken("d", made)
    assert not house.request("d", [planted.pseudonym]).flagged


def test_a_whole_machine_put_back_is_noticed_by_the_witness(sqlite_house: House, tmp_path: Path) -> None:
    """Database and anchor of an earlier day: refused when the vault is opened, and nothing is revealed again."""
    house, file = sqlite_house, tmp_path / "away.jsonl"
    house.auditor.confirm(house.owner.set_witness([str(file)]).id)
    request = asked(house)
    house.vault.close()
    for name in ("data.vault", "anchor"):
        shutil.copy(house.folder / name, house.folder / f"{name}.old")
    house.vault = house.reopen()
    assert house["Rita"].reveal(request.id).identities
    house.vault.close()
    house.reopen().close()
    for name in ("data.vault", "anchor"):
        shutil.copy(house.folder / f"{name}.old", house.folder / name)
    with pytest.raises(TamperError, match="a witness contradicts this vault: the log was rolled back"):
        house.reopen()
    kept = file.read_bytes()
    file.unlink()
    with contextlib.suppress(TamperError):
        house.reopen().close()  # the old state does not know that it wrote there
    file.write_bytes(kept)
    accepted = (house.tokens["Otto"], house.tokens["Udo"])
    options: Any = {"key": house.key, "anchor": house.folder / "anchor", "clock": house.clock}
    with Vault.open(house.place, accept=accepted, **options) as vault:
        assert len(care.verify_log(vault.login(house.tokens["Udo"])).accepted) == 1


def test_a_witness_that_is_gone_or_changed_is_noticed(sqlite_house: House, tmp_path: Path) -> None:
    house, file = sqlite_house, tmp_path / "away.jsonl"
    house.auditor.confirm(house.owner.set_witness([str(file)]).id)
    house.reopen().close()  # nothing was witnessed yet
    request = asked(house)
    house["Rita"].reveal(request.id)
    house.reopen().close()
    kept = file.read_text()
    file.write_text(kept.replace('"seq":', '"seq":9'))
    with pytest.raises(TamperError, match="signature"):
        house.reopen()
    file.unlink()
    with pytest.raises(TamperError, match="is gone"):
        house.reopen()
    file.write_text(kept)
    house.reopen().close()


def _local_house(tmp_path: Path) -> House:
    (tmp_path / "db").mkdir()
    (tmp_path / "safe").mkdir()
    return build(str(tmp_path / "db" / "data.vault"), tmp_path / "safe", witnesses=(witness.LOCAL,))


def _put_back(tmp_path: Path, *names: str, keep: bool = False) -> None:
    for name in names:
        file, old = tmp_path / name, tmp_path / (name.replace("/", "-") + ".old")
        shutil.copy(*((file, old) if keep else (old, file)))


DATABASE, ANCHOR, WITNESS = "db/data.vault", "safe/anchor", "safe/anchor.witness"


def _revealed_once(tmp_path: Path) -> tuple[House, str]:
    """A vault with its own witness, everything copied before an identity left."""
    house = _local_house(tmp_path)
    request = asked(house)
    house.vault.close()
    _put_back(tmp_path, DATABASE, ANCHOR, WITNESS, keep=True)
    house.vault = house.reopen()
    assert house["Rita"].reveal(request.id).identities
    house.vault.close()
    return house, request.id


def test_every_vault_has_a_witness_and_database_alone_or_with_anchor_is_noticed(tmp_path: Path) -> None:
    house, _ = _revealed_once(tmp_path)
    assert len(witness.read(tmp_path / WITNESS)) == 1
    house.reopen().close()
    new = {name: (tmp_path / name).read_bytes() for name in (DATABASE, ANCHOR)}
    _put_back(tmp_path, DATABASE)
    with pytest.raises(TamperError, match="older than it was"):
        house.reopen()
    _put_back(tmp_path, DATABASE, ANCHOR)
    with pytest.raises(TamperError, match="a witness contradicts this vault: the log was rolled back"):
        house.reopen()
    for name, content in new.items():
        (tmp_path / name).write_bytes(content)
    house.reopen().close()
    (tmp_path / WITNESS).unlink()
    with pytest.raises(TamperError, match="is gone"):
        house.reopen()


def test_all_of_the_machine_put_back_is_not_noticed_by_its_own_witness(tmp_path: Path) -> None:
    """What docs/vault.md states: only a witness elsewhere sees this."""
    house, request = _revealed_once(tmp_path)
    _put_back(tmp_path, DATABASE, ANCHOR, WITNESS)
    with house.reopen() as vault:
        assert vault.login(house.tokens["Rita"]).reveal(request).identities


def test_an_accepted_state_opens_from_then_on(tmp_path: Path) -> None:
    """Two people accept an older state once: heads of the abandoned one, or a missing file, do not refuse it again."""
    house, request = _revealed_once(tmp_path)
    away = witness.read(tmp_path / WITNESS)
    _put_back(tmp_path, DATABASE, ANCHOR)
    accept = (house.tokens["Otto"], house.tokens["Udo"])
    options: Any = {"key": house.key, "anchor": house.folder / "anchor", "clock": house.clock}
    Vault.open(house.place, accept=accept, **options).close()
    with house.reopen() as vault:
        vault.login(house.tokens["Rita"]).reveal(request)
    assert len(witness.read(tmp_path / WITNESS)) == len(away) + 1
    house.reopen().close()
    (tmp_path / WITNESS).unlink()
    with pytest.raises(TamperError, match="is gone"):
        house.reopen()
    Vault.open(house.place, accept=accept, **options).close()
    house.reopen().close()
    assert (tmp_path / WITNESS).read_bytes() == b""


def test_a_witness_that_cannot_be_written_stops_reveals_and_creation(tmp_path: Path) -> None:
    house = _local_house(tmp_path)
    request = asked(house)
    (tmp_path / WITNESS).unlink()
    (tmp_path / WITNESS).mkdir()
    with pytest.raises(EngineError, match="witness"):
        house["Rita"].reveal(request.id)
    house.vault.close()
    with pytest.raises(UsageError, match="belongs to another vault"):
        build(str(tmp_path / "db" / "other.vault"), tmp_path / "safe", witnesses=(witness.LOCAL,))


def test_machines_that_share_a_database_have_witnesses_of_their_own(tmp_path: Path) -> None:
    house = _local_house(tmp_path)
    request = asked(house)
    assert house["Rita"].reveal(request.id).identities
    (tmp_path / "second").mkdir()
    options: Any = {"key": house.key, "anchor": tmp_path / "second" / "anchor", "clock": house.clock}
    accept = (house.tokens["Otto"], house.tokens["Udo"])
    Vault.open(house.place, accept=accept, **options).close()
    assert (tmp_path / "second" / "anchor.witness").read_bytes() == b""
    Vault.open(house.place, **options).close()
    house.reopen().close()


def test_a_user_without_a_home_has_the_witness_beside_the_anchor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    (tmp_path / "db").mkdir()
    key = keys.from_file(keys.write_file(tmp_path / "safe" / "vault.key"))
    with Vault.create(tmp_path / "db" / "a.vault", key=key, owner="a", auditor="b").vault as vault:
        assert vault.store.witness.parent == tmp_path / "safe"
        assert vault.store.witness.exists()
