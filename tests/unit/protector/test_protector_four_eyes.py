"""Four eyes that cannot be walked around: nobody alone gives rights, changes limits, accepts a state or reveals."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protector_support import House
from shoal.errors import AccessError, TamperError, UsageError
from shoal.protector import Limit, Vault, care
from shoal.protector.crypto import recipients
from shoal.protector.people import changes
from shoal.protector.people.changes import LIFE, SecondPersonNeeded


def revealing(house: House) -> tuple[Any, str]:
    """An approved request, and its pseudonym."""
    house.owner.create_domain("d")
    (made,) = house.operator.pseudonymize("d", ["person"])
    asked = house.request("d", [made])
    house["Aldo"].approve(asked.id)
    return asked, made


def test_an_owner_alone_cannot_reveal(house: House) -> None:
    """She can propose a requester and an approver, but holds half of each code, and confirms nothing herself."""
    house.owner.create_domain("d")
    house.operator.pseudonymize("d", ["person"])
    for name, role in (("Ghost one", "requester"), ("Ghost two", "approver")):
        proposed = house.owner.add_actor(name, [role])
        with pytest.raises(AccessError, match="nobody confirms their own"):
            house.owner.confirm(proposed.id)
        for codes in ([proposed.code], [proposed.code, proposed.code], [proposed.code, ""]):
            with pytest.raises(AccessError, match="not valid"):
                house.vault.enrol(*codes)
    assert house.owner.issue_token("Aldo").code
    assert not [c for c in house.owner.changes() if c.code or c.tokens]  # the other half is not to be had
    alarms = [e for e in care.read_log(house.auditor) if e["outcome"] == "alarm"]
    assert [e["reason"] for e in alarms] == ["self-approval", "self-approval"]


def test_neither_half_of_a_code_nor_a_used_one_enrols(house: House) -> None:
    proposed = house.owner.add_actor("Rolf", ["requester"])
    with pytest.raises(AccessError):
        house.vault.enrol(proposed.code)
    second = house.auditor.confirm(proposed.id)
    for half in (proposed.code, second.code):
        with pytest.raises(AccessError, match="not valid"):
            house.vault.enrol(half)
    token = house.vault.enrol(second.code.lower(), f" {proposed.code}\n")
    assert house.vault.login(token).name == "Rolf"
    with pytest.raises(AccessError, match="claimed before"):
        house.vault.enrol(proposed.code, second.code)


@pytest.mark.parametrize(("late", "good"), [(-1.0, True), (0.0, False)])
def test_a_code_ends_after_a_week(house: House, late: float, good: bool) -> None:
    proposed = house.owner.add_actor("Rolf", ["requester"])
    second = house.auditor.confirm(proposed.id)
    house.clock.now += LIFE + late
    if good:
        assert house.vault.enrol(proposed.code, second.code)
    else:
        with pytest.raises(AccessError, match="not valid"):
            house.vault.enrol(proposed.code, second.code)


def test_revoking_takes_codes_back_too(house: House) -> None:
    proposed = house.owner.issue_token("Rita")
    second = house.auditor.confirm(proposed.id)
    house.owner.revoke_tokens("Rita")
    with pytest.raises(AccessError, match="not valid"):
        house.vault.enrol(proposed.code, second.code)


def test_the_auditor_claims_her_own_token(tmp_path: Path) -> None:
    from protector_support import new_key

    made = Vault.create(tmp_path / "a.vault", key=new_key(), owner="Otto", auditor="Udo", anchor=tmp_path / "a")
    with pytest.raises(AccessError):
        made.vault.login(made.auditor_code)
    token = made.vault.enrol(made.auditor_code)
    assert care.verify_log(made.vault.login(token)).ok
    with pytest.raises(AccessError, match="claimed before"):
        made.vault.enrol(made.auditor_code)
    made.vault.close()


ALONE: dict[str, Callable[[House], Any]] = {
    "rotate a domain": lambda h: care.rotate_domain(h.owner, "k"),
    "rotate the signer": lambda h: care.rotate_signer(h.owner),
    "rotate the master key": lambda h: care.rotate_master(h.owner, h.key),
    "destroy a key": lambda h: care.destroy_key(h.owner, "k", 1),
    "shred": lambda h: care.shred(h.owner, "k", confirm="k"),
}


@pytest.mark.parametrize("which", ALONE)
def test_keys_take_two_people_and_a_confirmation_holds_once(sqlite_house: House, which: str) -> None:
    house = sqlite_house
    house.owner.create_domain("k", kind="keyed")
    house.agree(care.rotate_domain, "k")  # so that there is a retired key
    before = house.owner.domains()
    call = ALONE[which]
    for _ in range(2):
        with pytest.raises(SecondPersonNeeded) as needed:
            call(house)
    assert house.owner.domains() == before
    with pytest.raises(AccessError, match="nobody confirms their own"):
        house.owner.confirm(needed.value.change.id)
    assert [c.id for c in house.auditor.changes()] == [needed.value.change.id]  # asked twice, proposed once
    house.auditor.confirm(needed.value.change.id)
    with pytest.raises(AccessError, match="no longer"):
        house.auditor.confirm(needed.value.change.id)
    call(house)
    with pytest.raises((SecondPersonNeeded, AccessError)):
        call(house)
    agreed = [e for e in care.read_log(house.auditor) if e["action"] == "agreed"][-1]
    assert agreed["together_with"].startswith("A-")
    assert agreed["together_with"] != agreed["actor"]


def test_a_confirmation_is_for_exactly_what_was_proposed(house: House) -> None:
    house.owner.create_domain("a")
    house.owner.create_domain("b")
    with pytest.raises(SecondPersonNeeded) as needed:
        care.shred(house.owner, "a", confirm="a")
    house.auditor.confirm(needed.value.change.id)
    with pytest.raises(SecondPersonNeeded):
        care.shred(house.owner, "b", confirm="b")
    other = house.vault.login(house.add("Oda", ["owner"]))
    with pytest.raises(SecondPersonNeeded):  # confirmed for Otto, not for her
        care.shred(other, "a", confirm="a")
    assert care.shred(house.owner, "a", confirm="a")["name"] == "a"


def test_another_owner_can_be_the_second_person(house: House) -> None:
    oda = house.vault.login(house.add("Oda", ["owner"]))
    proposed = house.owner.set_limit("find", Limit(3600.0, 1, None))
    for name in ("Olga", "Rita", "Aldo"):
        with pytest.raises(AccessError, match="needs the role"):
            house[name].confirm(proposed.id)
    oda.confirm(proposed.id)
    house.owner.create_domain("d")
    house.operator.find("d", "a")
    with pytest.raises(AccessError, match="over the limit"):
        house.operator.find("d", "b")


def test_a_limit_holds_only_after_the_second_person(house: House) -> None:
    house.owner.create_domain("d")
    proposed = house.owner.set_limit("find", Limit(3600.0, 0, None))
    house.operator.find("d", "a")
    refused = house.owner.set_limit("find", Limit(3600.0, 1, None))
    assert house.auditor.refuse(refused.id).status == "denied"
    with pytest.raises(AccessError, match="no longer"):
        house.auditor.confirm(refused.id)
    house.auditor.confirm(proposed.id)
    with pytest.raises(AccessError, match="over the limit"):
        house.operator.find("d", "a")


@pytest.mark.parametrize(("late", "good"), [(-1.0, True), (0.0, False)])
def test_a_change_ends_after_a_week(house: House, late: float, good: bool) -> None:
    proposed = house.owner.set_limit("find", Limit(3600.0, 1, None))
    house.clock.now += LIFE + late
    assert bool(house.auditor.changes()) == good
    if good:
        house.auditor.confirm(proposed.id)
    else:
        with pytest.raises(AccessError, match="expired"):
            house.auditor.confirm(proposed.id)


def test_a_change_dies_with_the_rights_of_either_person(house: House) -> None:
    oda = house.vault.login(house.add("Oda", ["owner"]))
    house.owner.create_domain("d")
    proposed = oda.set_limit("find", Limit(3600.0, 1, None))
    house.owner.revoke_tokens("Oda")
    with pytest.raises(AccessError, match="died with the rights"):
        house.auditor.confirm(proposed.id)
    again = house.vault.login(house.token("Oda"))
    with pytest.raises(SecondPersonNeeded) as needed:
        care.shred(house.owner, "d", confirm="d")
    again.confirm(needed.value.change.id)
    house.grant("Oda", ["operator"])
    with pytest.raises(AccessError, match="died with the rights"):
        care.shred(house.owner, "d", confirm="d")


def test_taking_rights_away_takes_effect_at_once_giving_them_does_not(house: House) -> None:
    assert house.owner.grant("Rita", ["requester"], enabled=False) is None
    with pytest.raises(AccessError, match="not valid"):
        house.vault.login(house.tokens["Rita"])
    back = house.owner.grant("Rita", ["requester"])
    assert back is not None
    with pytest.raises(AccessError, match="not valid"):
        house.vault.login(house.tokens["Rita"])
    house.auditor.confirm(back.id)
    house["Rita"].requests()
    more = house.owner.grant("Rita", ["requester", "approver"])
    assert more is not None
    assert house.owner.grant("Aldo", ["approver"]) is None  # nothing is added


@pytest.mark.parametrize("how", ["disabled", "other role", "revoked", "narrowed away"])
def test_an_approval_dies_with_the_approvers_rights(house: House, how: str) -> None:
    house.owner.create_domain("other")
    if how == "narrowed away":
        house.owner.create_domain("d")
        (made,) = house.operator.pseudonymize("d", ["person"])
        asked = house.request("d", [made])
        narrow = house.vault.login(house.token("Ana", scopes=["approver"], domains=["d"]))
        narrow.approve(asked.id)
        house.owner.revoke_tokens("Ana")
    else:
        asked, _ = revealing(house)
        if how == "disabled":
            house.owner.grant("Aldo", ["approver"], enabled=False)
        elif how == "other role":
            house.grant("Aldo", ["operator"])
        else:
            house.owner.revoke_tokens("Aldo")
    with pytest.raises(AccessError, match="died with the approver's rights"):
        house["Rita"].reveal(asked.id)
    refused = [e for e in care.read_log(house.auditor, actions=["reveal"]) if e["outcome"] == "refused"]
    assert [e["reason"] for e in refused] == ["approval died"]


def test_an_approval_is_bound_to_what_was_read(house: House) -> None:
    from dataclasses import replace

    from shoal.protector.people import requests

    house.owner.create_domain("d")
    made = house.operator.pseudonymize("d", ["one", "two"])
    asked = house.request("d", made[:1])
    with pytest.raises(AccessError, match="not the request that was read"):
        house["Aldo"].approve(asked.id, digest="0" * 64)
    house["Aldo"].approve(asked.id, digest=asked.digest)
    for other in ({"pseudonyms": tuple(made)}, {"purpose": "another"}, {"recipient": "00" * 32}, {"case": "13"}):
        with house.vault.store.write() as tx:  # whatever could change the stored request
            requests.save(tx, replace(requests.load(tx, asked.id), **other))  # type: ignore[arg-type]
        with pytest.raises(AccessError, match="not what was approved"):
            house["Rita"].reveal(asked.id)
        with house.vault.store.write() as tx:
            requests.save(tx, replace(requests.load(tx, asked.id), **{k: getattr(asked, k) for k in other}))
    assert house["Rita"].reveal(asked.id).identities == {made[0]: "one"}


def test_an_answer_sealed_to_the_recipient(house: House) -> None:
    house.owner.create_domain("d")
    (made,) = house.operator.pseudonymize("d", ["somebody of ward seven"])
    secret, public = recipients.generate()
    with pytest.raises(UsageError, match="64 hexadecimal"):
        house.request("d", [made], recipient=public[:-1])
    asked = house.request("d", [made], recipient=public)
    assert asked.to_json()["recipient"] == public
    house["Aldo"].approve(asked.id)
    found = house["Rita"].reveal(asked.id)
    assert found.identities == {}
    assert "somebody of ward seven" not in repr(found) + found.sealed
    assert recipients.unseal(secret, found.sealed, asked.id) == {made: "somebody of ward seven"}
    for key, request in ((recipients.generate()[0], asked.id), (secret, "REQ-OTHER")):
        with pytest.raises(AccessError, match="another key"):
            recipients.unseal(key, found.sealed, request)


def test_an_older_state_takes_two_people_and_stays_visible(sqlite_house: House) -> None:
    """The owner reveals, puts the earlier file back and accepts it: not alone, and the auditor sees it for ever."""
    house = sqlite_house
    owner, auditor, second = house.token("Otto"), house.token("Udo"), house.token("Otto")
    house.owner.create_domain("d")
    house.operator.pseudonymize("d", ["person"])
    house.vault.close()
    kept = house.folder / "kept"
    shutil.copy(house.place, kept)
    asked = house.request("d", house.operator.pseudonymize("d", ["person"]))
    house["Aldo"].approve(asked.id)
    house["Rita"].reveal(asked.id)
    with house.vault.store.read() as tx:
        events = tx.state.audit_seq
    house.vault.close()
    for rest in ("-wal", "-shm"):
        Path(house.place + rest).unlink(missing_ok=True)
    shutil.copy(kept, house.place)
    with pytest.raises(TamperError, match="older than it was"):
        house.reopen()
    options: dict[str, Any] = {"key": house.key, "anchor": house.folder / "anchor", "clock": house.clock}
    with pytest.raises(AccessError, match="one person alone"):
        Vault.open(house.place, accept=(owner, second), **options)
    vault = Vault.open(house.place, accept=(owner, auditor), **options)
    udo = vault.login(auditor)
    for _ in range(2):
        verdict = care.verify_log(udo)
        assert not verdict.ok
        assert f"{events - verdict.accepted[0]['events']} events lost" in verdict.problems[0]
    assert verdict.accepted[0]["events_before"] == events
    assert verdict.accepted[0]["generation"] < verdict.accepted[0]["generation_before"]
    assert care.verify_log(udo, acknowledged=1).ok  # the auditor knows of this one
    vault.close()
    twice = Vault.open(house.place, accept=(owner, auditor), **options)
    assert not care.verify_log(twice.login(auditor), acknowledged=1).ok
    twice.close()


def test_changes_are_used_once_whatever_the_store_says(house: House) -> None:
    with house.vault.store.write() as tx:
        now = tx.now(house.clock)
        made = changes.propose(tx, "shred", {"domain": "d"}, proposer="Otto", token=house.owner.frame.token, time=now)
        with pytest.raises(AccessError, match="second person"):
            changes.use(tx, made, time=now)
    with pytest.raises(AccessError, match="change does not exist"):
        house.auditor.confirm("CHG-NONE")
