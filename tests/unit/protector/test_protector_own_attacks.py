"""Attacks on oversight, time, shares, honeytokens and names by somebody who knows how they work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from protector_support import House
from shoal.errors import AccessError, ShoalError, TamperError, UsageError
from shoal.protector import Vault, care, keys
from shoal.protector.crypto import master_keys
from shoal.protector.crypto.master_keys import KeyRefusedError
from shoal.protector.people.changes import SecondPersonNeeded


def test_one_confirmation_does_not_serve_twice_nor_for_another_auditor(sqlite_house: House) -> None:
    house = sqlite_house
    ulla = house.vault.login(house.add("Ulla", ["auditor"]))
    with pytest.raises(SecondPersonNeeded) as needed:
        house.owner.revoke_tokens("Ulla")
    house.auditor.confirm(needed.value.change.id)
    for call in (lambda: house.owner.revoke_tokens("Udo"), lambda: house.owner.grant("Ulla", ["auditor"], enabled=False)):
        with pytest.raises(SecondPersonNeeded):
            call()
    assert care.verify_log(ulla).ok
    assert house.owner.revoke_tokens("Ulla") == 1
    house.token("Ulla")
    with pytest.raises(SecondPersonNeeded):
        house.owner.revoke_tokens("Ulla")


def test_an_owner_cannot_take_a_codes_half_from_an_auditor_who_has_not_claimed_it(sqlite_house: House) -> None:
    house = sqlite_house
    proposed = house.owner.add_actor("Ulla", ["auditor"])
    code = house.auditor.confirm(proposed.id).code
    with pytest.raises(SecondPersonNeeded):
        house.owner.revoke_tokens("Ulla")
    assert house.vault.login(house.vault.enrol(proposed.code, code)).name == "Ulla"


def test_a_confirmed_revocation_dies_with_the_owners_rights(sqlite_house: House) -> None:
    house = sqlite_house
    oda = house.vault.login(house.add("Oda", ["owner"]))
    with pytest.raises(SecondPersonNeeded) as needed:
        oda.revoke_tokens("Udo")
    house.auditor.confirm(needed.value.change.id)
    house.owner.revoke_tokens("Oda")
    with pytest.raises(AccessError):
        oda.revoke_tokens("Udo")
    assert care.verify_log(house.auditor).ok


def test_a_narrowed_or_delegated_token_does_not_grow_by_renewal(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    house.owner.create_domain("e")
    narrow = house.vault.login(house.token("Olga", domains=["d"], expires=house.clock.now + 3600))
    lent = house.vault.login(narrow.delegate("find", seconds=600))
    with pytest.raises(AccessError, match="one action only"):
        lent.renew()
    house.clock.now += 1800
    renewed = house.vault.login(narrow.renew())
    with pytest.raises(AccessError, match="does not reach"):
        renewed.find("e", "x")
    house.clock.now += 3599
    renewed.find("d", "x")
    house.clock.now += 2
    with pytest.raises(AccessError, match="not valid"):
        renewed.find("d", "x")


def test_an_approval_ends_with_a_renewed_token(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    request = house.request("d", house.operator.pseudonymize("d", ["0012"]))
    aldo = house["Aldo"]
    aldo.approve(request.id)
    aldo.renew()
    with pytest.raises(AccessError, match="approval died"):
        house["Rita"].reveal(request.id)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1.0, 0.0])
def test_clocks_that_are_not_clocks(sqlite_house: House, wrong: float) -> None:
    now, sqlite_house.clock.now = sqlite_house.clock.now, wrong
    with pytest.raises(TamperError):
        sqlite_house.owner.create_domain("d")
    sqlite_house.clock.now = now
    sqlite_house.owner.create_domain("d")


def test_ended_tokens_correct_no_time_and_accept_no_state(sqlite_house: House) -> None:
    house = sqlite_house
    short = [house.token(name, expires=house.clock.now + 60) for name in ("Otto", "Udo")]
    house.clock.now += 100
    house.owner.create_domain("d")
    with pytest.raises(AccessError, match="not valid"):
        house.vault.correct_time(*short)
    house.clock.now += 3 * 365 * 86400
    with pytest.raises(AccessError, match="not valid"):
        house.vault.correct_time(*short)
    options: Any = {"key": house.key, "anchor": house.folder / "anchor", "clock": house.clock}
    with pytest.raises(AccessError, match="not valid"):
        Vault.open(house.place, accept=(short[0], short[1]), **options)


def test_steps_of_a_year_are_bounded_by_the_time_that_is_right_again(sqlite_house: House) -> None:
    """Moving the clock on in allowed steps ends what should end; back at the right time, nothing works without two people."""
    house = sqlite_house
    house.owner.create_domain("d")
    request = house.request("d", house.operator.pseudonymize("d", ["0012"]), seconds=60.0)
    house["Aldo"].approve(request.id)
    olga, rita = house.operator, house["Rita"]
    for _ in range(3):
        house.clock.now += 100 * 86400
        olga.find("d", "0012")
    house.clock.now -= 300 * 86400
    for call in (lambda: rita.reveal(request.id), lambda: olga.find("d", "0012"), lambda: house.owner.domains()):
        with pytest.raises(TamperError, match="behind"):
            call()


def test_shares_of_two_sets_do_not_mix() -> None:
    text = keys.generate()
    one, other = keys.split(text, shares=3, needed=2), keys.split(text, shares=3, needed=2)
    with pytest.raises(KeyRefusedError, match="at least one of the shares 1, 2"):
        keys.from_shares([one[0], other[1]])
    for forged in ({"point": 4}, {"point": 0}, {"count": 1}, {"needed": -2}, {"count": 300}):
        with pytest.raises(KeyRefusedError):
            keys.from_shares([replace(master_keys._read_share(share), **forged).text() for share in one])  # type: ignore[arg-type]
    raised = keys.from_shares([replace(master_keys._read_share(share), needed=3).text() for share in one])
    assert raised.share_set != keys.from_shares(one).share_set  # so the vault refuses it
    with pytest.raises(KeyRefusedError, match="2 different shares"):
        keys.from_shares([one[0], one[0]])


def test_a_honeytoken_is_not_led_to_a_real_person(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    (real,) = house.operator.pseudonymize("d", ["0012"])
    planted = house.owner.plant_honeytoken("d")
    for one, into in ((planted.identity, "0012"), ("0012", planted.identity)):
        with pytest.raises(UsageError, match="planted"):
            house.agree(care.merge, "d", one, into)
    assert house.reveal("d", [real]) == {real: "0012"}
    with pytest.raises(UsageError, match="not a honeytoken"):
        house.owner.withdraw_honeytoken("d", real)
    with pytest.raises(AccessError):
        house["Olga"].withdraw_honeytoken("d", planted.identity)


def test_a_withdrawal_is_for_one_honeytoken_only(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    one, other = house.owner.plant_honeytoken("d"), house.owner.plant_honeytoken("d")
    with pytest.raises(SecondPersonNeeded) as needed:
        house.owner.withdraw_honeytoken("d", one.identity)
    house.auditor.confirm(needed.value.change.id)
    with pytest.raises(SecondPersonNeeded):
        house.owner.withdraw_honeytoken("d", other.identity)
    house.owner.withdraw_honeytoken("d", one.pseudonym)
    assert house.request("d", [other.pseudonym]).flagged


def test_a_lookalike_of_the_requester_from_an_old_vault_approves_nothing(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    with house.vault.store.write() as tx:  # as an older Shoal allowed it
        from shoal.protector.people import accounts
        from shoal.protector.store.state import ACTOR

        body = {"name": "R\u0131ta", "roles": ["approver"], "enabled": True, "created": house.clock.now}
        tx.put(ACTOR, body["name"], body)
        token = accounts.issue_token(tx, body["name"], house.clock.now)
        house.vault._open.recorder.record(tx, house.clock.now, "Otto", "grant")
    request = house.request("d", house.operator.pseudonymize("d", ["0012"]))
    with pytest.raises(AccessError, match="own request"):
        house.vault.login(token).approve(request.id)


def test_break_glass_is_tried_in_vain_and_told(sqlite_house: House) -> None:
    house = sqlite_house
    house.revoke_auditor()
    other = master_keys.base32.encode(bytes(32))
    with pytest.raises(ShoalError):
        house.vault.break_glass(house.owner_share, f"share-auditor-{other}")
    token = house.vault.break_glass(house.owner_share, house.auditor_share)
    events = [e for e in care.read_log(house.vault.login(token)) if e["action"] == "break-glass"]
    assert [(e["outcome"], e.get("reason", "")) for e in events] == [
        ("refused", "shares"),
        ("alarm", "shares"),
        ("done", ""),
        ("alarm", "oversight"),
    ]
    with pytest.raises(AccessError, match="can log in"):
        house.vault.break_glass(house.owner_share, house.auditor_share, name="Otto")
