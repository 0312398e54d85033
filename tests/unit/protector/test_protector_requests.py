"""Four eyes. V7: self-approval, bulk look-ups, expired approvals and replays are refused and logged."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest

from protector_support import PEOPLE, House
from shoal.errors import AccessError, ShoalError, TamperError, UsageError
from shoal.protector import Holder, Limit, care
from shoal.protector.people.accounts import PERMITS, ROLES


def log(house: House, **wanted: Any) -> list[dict[str, Any]]:
    return [e for e in care.read_log(house.auditor) if all(e.get(k) == v for k, v in wanted.items())]


@pytest.fixture
def asked(house: House) -> tuple[House, str, str]:
    """A vault with one pending request; the request's id and the pseudonym."""
    house.owner.create_domain("d")
    pseudonym = house.operator.pseudonymize("d", ["0012-aria"])[0]
    return house, house.request("d", [pseudonym]).id, pseudonym


def test_the_whole_walk(asked: tuple[House, str, str]) -> None:
    house, request, pseudonym = asked
    with pytest.raises(AccessError, match="second person"):
        house["Rita"].reveal(request)
    seen = house["Aldo"].requests()
    assert [r.id for r in seen] == [request]
    assert "0012-aria" not in repr(seen) + str(seen[0].to_json())
    house["Aldo"].approve(request)
    found = house["Rita"].reveal(request)
    assert found.identities == {pseudonym: "0012-aria"}
    assert "0012-aria" not in repr(found) + str(found)
    (event,) = log(house, action="reveal", outcome="done")
    assert (event["purpose"], event["case"], event["count"], event["request"]) == ("adverse event", "12", 1, request)
    assert len(event["subjects"]) == 1


def test_delivered_once(asked: tuple[House, str, str]) -> None:
    house, request, _ = asked
    house["Aldo"].approve(request)
    house["Rita"].reveal(request)
    with pytest.raises(AccessError, match="delivered before"):
        house["Rita"].reveal(request)
    with pytest.raises(AccessError, match="no longer"):
        house["Aldo"].approve(request)
    assert len(log(house, action="reveal", outcome="refused", reason="replay")) == 1


def test_nobody_approves_their_own_request(asked: tuple[House, str, str]) -> None:
    house, _, pseudonym = asked
    both = house.vault.login(house.add("Both", ["requester", "approver", "operator", "owner"]))
    mine = both.request("d", [pseudonym], purpose="p", case="1")
    with pytest.raises(AccessError, match="nobody approves their own"):
        both.approve(mine.id)
    with pytest.raises(AccessError):
        both.reveal(mine.id)
    assert len(log(house, action="approve", outcome="refused", reason="self-approval")) == 1
    assert len(log(house, action="approve", outcome="alarm", reason="self-approval")) == 1


def test_no_setting_switches_four_eyes_off(house: House) -> None:
    """Every public call and setting that could skip the second person is absent."""
    import dataclasses

    from shoal.protector.people.requests import Request
    from shoal.protector.pseudonyms.domains import Domain

    words = [f.name for f in (*dataclasses.fields(Domain), *dataclasses.fields(Limit))]
    assert not [w for w in words if "eye" in w or "approv" in w or "auto" in w]
    assert not any("approve" in p and "request" in p for p in PERMITS.values())
    forged = Request("REQ-1", "Rita", "d", ("P-x",), "p", "1", 0.0, 2e9, status="approved", approver="Rita")
    with house.vault.store.write() as tx:
        from shoal.protector.people import requests

        requests.save(tx, forged)
    with pytest.raises(AccessError, match="second person"):
        house["Rita"].reveal("REQ-1")


def test_expired(asked: tuple[House, str, str]) -> None:
    house, request, pseudonym = asked
    house["Aldo"].approve(request)
    late = house.request("d", [pseudonym], seconds=60.0)
    house.clock.now += 61
    with pytest.raises(AccessError, match="expired"):
        house["Aldo"].approve(late.id)
    house.clock.now += 8 * 86400
    with pytest.raises(AccessError, match="expired"):
        house["Rita"].reveal(request)
    rita = house["Rita"]
    house.clock.now -= 30 * 86400  # turning the clock back does not revive it
    with pytest.raises(TamperError, match="days behind"):
        rita.reveal(request)
    house.clock.now += 30 * 86400 - 60
    with pytest.raises(AccessError, match="expired"):
        rita.reveal(request)
    assert len(log(house, outcome="refused", reason="expired")) == 3


def test_denied_withdrawn_and_strangers(asked: tuple[House, str, str]) -> None:
    house, request, pseudonym = asked
    house["Aldo"].deny(request)
    with pytest.raises(AccessError, match="denied"):
        house["Rita"].reveal(request)
    second = house.request("d", [pseudonym])
    other = house.vault.login(house.add("Rolf", ["requester"]))
    house["Aldo"].approve(second.id)
    with pytest.raises(AccessError, match="somebody else"):
        other.reveal(second.id)
    with pytest.raises(AccessError, match="somebody else"):
        other.withdraw(second.id)
    assert other.requests() == []
    house["Rita"].withdraw(second.id)
    with pytest.raises(AccessError, match="withdrawn"):
        house["Rita"].reveal(second.id)
    with pytest.raises(AccessError, match="request does not exist"):
        house["Aldo"].approve("REQ-NONE")


ACTIONS: dict[str, Any] = {
    "pseudonymize": lambda s: s.pseudonymize("d", ["x"]),
    "find": lambda s: s.find("d", "x"),
    "translate": lambda s: s.translate(["P-x"], source="d", target="d", purpose="p"),
    "register": lambda s: s.register("own", {}),
    "prove": lambda s: s.challenge("own", "H-x"),
    "request": lambda s: s.request("d", ["P-x"], purpose="p", case="1"),
    "reveal": lambda s: s.reveal("REQ-X"),
    "withdraw": lambda s: s.withdraw("REQ-X"),
    "requests": lambda s: s.requests(),
    "approve": lambda s: s.approve("REQ-X"),
    "deny": lambda s: s.deny("REQ-X"),
    "domain": lambda s: s.create_domain("new"),
    "actor": lambda s: s.add_actor("new", ["operator"]),
    "limit": lambda s: s.set_limit("find", Limit(1.0, 1, 1)),
    "honeytoken": lambda s: s.plant_honeytoken("d"),
    "revoke": lambda s: s.revoke_tokens("Rita"),
    "rotate": lambda s: care.rotate_signer(s),
    "shred": lambda s: care.shred(s, "k", confirm="k"),
    "checkpoint": lambda s: care.checkpoint(s),
    "verify": lambda s: care.verify(s),
    "audit": lambda s: care.verify_log(s),
    "backup": lambda s: care.backup(s, Path(tempfile.mkdtemp()) / "one.backup"),
    "forget": lambda s: care.forget(s, "d", "x"),
    "export": lambda s: care.export(s, "d", "x"),
    "witness": lambda s: s.set_witness(["/tmp/witness"]),
    "confirm": lambda s: s.confirm("CHG-X"),
    "correct": lambda s: care.merge(s, "d", "x", "y"),
    "intake": lambda s: s.intake("d", [{"given": "x"}]),
    "decide": lambda s: s.decide("WAIT-X", "new"),
    "issuer": lambda s: s.create_issuer("k", "k"),
    "issue": lambda s: s.issue("none", "x", "00"),
    "redeem": lambda s: s.redeem("none", "00", "00"),
    "retire": lambda s: care.retire_log(s, 0, ""),
}


def test_every_action_is_covered() -> None:
    assert set(itertools.chain(*PERMITS.values())) - set(ACTIONS) == {"anchor", "resolve", "time"}


@pytest.mark.parametrize("role", ROLES)
def test_roles_do_only_what_they_may(sqlite_house: House, role: str) -> None:
    """Each role against each action: permitted ones never fail for lack of a role, others always do."""
    house = sqlite_house
    house.owner.create_domain("d")
    house.owner.create_domain("k", kind="keyed")
    house.owner.create_domain("own", kind="self-generated")
    acting = house.vault.login(house.add("Somebody", [role]))
    for action, call in ACTIONS.items():
        try:
            call(acting)
            refused = False
        except AccessError as error:
            refused = getattr(error, "reason", "") == "role"
        except UsageError:
            refused = False
        assert refused == (action not in PERMITS[role]), action
    expected = len(ACTIONS) - len(PERMITS[role] & set(ACTIONS))
    assert len(log(house, outcome="refused", reason="role")) == expected


def test_auditor_stands_alone(house: House) -> None:
    with pytest.raises(UsageError, match="only audits"):
        house.add("X", ["auditor", "operator"])
    with pytest.raises(UsageError, match="Did you mean 'approver'"):
        house.add("X", ["aprover"])
    with pytest.raises(UsageError):
        house.add("X", [])
    with pytest.raises(UsageError, match="exists already"):
        house.add("Olga", ["operator"])


def test_tokens(house: House) -> None:
    house.owner.create_domain("d")
    house.owner.create_domain("e")
    for wrong in ("", "shoal-0000", "é", "x" * 10_000, house.tokens["Olga"][:-1]):
        with pytest.raises(AccessError, match="not valid"):
            house.vault.login(wrong)
    assert len(log(house, action="login", outcome="refused")) == 5
    narrow = house.vault.login(house.token("Olga", domains=["d"], expires=house.clock.now + 100))
    narrow.pseudonymize("d", ["x"])
    with pytest.raises(AccessError, match="does not reach"):
        narrow.pseudonymize("e", ["x"])
    house.clock.now += 101
    with pytest.raises(AccessError, match="not valid"):
        narrow.pseudonymize("d", ["x"])
    olga = house["Olga"]
    assert house.owner.revoke_tokens("Olga") == 2
    with pytest.raises(AccessError, match="not valid"):
        olga.pseudonymize("d", ["x"])
    with pytest.raises(UsageError, match="more roles"):
        house.token("Olga", scopes=["owner"])
    aldo = house["Aldo"]
    house.grant("Aldo", ["operator"])
    with pytest.raises(AccessError, match="role approver"):
        aldo.approve("REQ-X")
    house.grant("Aldo", ["operator"], enabled=False)
    with pytest.raises(AccessError, match="not valid"):
        aldo.pseudonymize("d", ["x"])


def test_failed_logins_do_not_flood_the_log(sqlite_house: House) -> None:
    for _ in range(50):
        with pytest.raises(AccessError):
            sqlite_house.vault.login("wrong")
    assert len(log(sqlite_house, action="login")) == 10


def test_limits_and_alarms(house: House) -> None:
    """V7: bulk look-ups raise an alarm, then are refused, per purpose; the next window is fresh."""
    house.owner.create_domain("d")
    house.set_limit("find", Limit(3600.0, 10, 5))
    house.set_limit("find", Limit(3600.0, 2, None), purpose="research")
    operator = house.operator
    operator.find_many("d", ["x", "y"], purpose="research")
    with pytest.raises(AccessError, match="over the limit"):
        operator.find("d", "x", purpose="research")
    for i in range(8):
        operator.find("d", str(i))
    with pytest.raises(AccessError, match="over the limit"):
        operator.find("d", "x")
    alarms = log(house, action="find", outcome="alarm")
    assert [a["reason"] for a in alarms] == ["limit", "bulk", "limit"]
    house.clock.now += 3600
    operator.find("d", "x")


def test_reveals_are_limited(house: House) -> None:
    house.owner.create_domain("d")
    house.set_limit("reveal", Limit(86400.0, 3, 2))
    made = house.operator.pseudonymize("d", list("abcdef"))
    assert len(house.reveal("d", made[:3])) == 3
    asked = house.request("d", made[3:4])
    house["Aldo"].approve(asked.id)
    with pytest.raises(AccessError, match="over the limit"):
        house["Rita"].reveal(asked.id)
    for limit in (Limit(86400.0, None, None), Limit(1.0, 1000, None)):
        with pytest.raises(UsageError, match="unlimited"):
            house.set_limit("reveal", limit)
    house.clock.now += 86400
    assert house["Rita"].reveal(asked.id).identities == {made[3]: "d"}


def test_honeytokens(house: House) -> None:
    house.owner.create_domain("d")
    house.owner.create_domain("e")
    house.connect("d", "e")
    planted = house.owner.plant_honeytoken("d")
    trap = planted.pseudonym
    real = house.operator.pseudonymize("d", ["person"])[0]
    asked = house.request("d", [real, trap.lower()])  # the asker learns nothing
    assert "flagged" not in asked.to_json()
    with pytest.raises(AccessError, match="held back"):
        house["Aldo"].approve(asked.id)
    with pytest.raises(AccessError, match="held back"):
        house.operator.translate([trap], source="d", target="e", purpose="p")
    assert house.operator.find("d", planted.identity) == trap
    assert len(log(house, outcome="alarm", reason="honeytoken")) == 4


def test_translation(house: House) -> None:
    for name, kind in (("a", "random"), ("b", "random"), ("c", "reversible"), ("k", "keyed")):
        house.owner.create_domain(name, kind=kind)
    ids = ["1", "2", "3"]
    made = house.operator.pseudonymize("a", ids)
    with pytest.raises(AccessError, match="is not allowed"):
        house.operator.translate(made, source="a", target="b", purpose="p")
    for target in ("b", "c", "k"):
        house.connect("a", target)
        moved = house.operator.translate([*made, "P-unknown"], source="a", target=target, purpose="merge")
        assert moved == [*house.operator.pseudonymize(target, ids), None]
    with pytest.raises(AccessError):
        house.operator.translate(["x"], source="b", target="a", purpose="p")
    house.owner.allow_translation("a", "b", allowed=False)
    with pytest.raises(AccessError):
        house.operator.translate(made, source="a", target="b", purpose="p")
    (event, *_) = log(house, action="translate", outcome="done")
    assert (event["count"], event["purpose"], len(event["subjects"])) == (4, "merge", 3)


def test_self_generated(house: House) -> None:
    domain = house.owner.create_domain("own", kind="self-generated")
    other = house.owner.create_domain("own2", kind="self-generated")
    me, thief = Holder.generate(), Holder.generate()
    mine = me.registration(house.vault.id, domain.id)
    operator = house.operator
    operator.register("own", mine, identity="0012-aria")
    assert mine["pseudonym"] == me.pseudonym(domain.id) != me.pseudonym(other.id)
    for forged in (
        {**mine, "signature": "00" * 64},
        {**thief.registration(house.vault.id, domain.id), "pseudonym": mine["pseudonym"]},
        me.registration("00" * 16, domain.id),
        {"pseudonym": mine["pseudonym"]},
    ):
        with pytest.raises(AccessError, match="does not prove"):
            operator.register("own", forged)
    with pytest.raises(AccessError, match="does not prove"):
        operator.register("own2", mine)
    with pytest.raises(AccessError, match="registered already"):
        operator.register("own", mine)
    challenge = operator.challenge("own", mine["pseudonym"])
    proof = me.prove(house.vault.id, domain.id, challenge)
    assert not operator.check_ownership("own", mine["pseudonym"], challenge, thief.prove(house.vault.id, domain.id, challenge))
    assert not operator.check_ownership("own", mine["pseudonym"], challenge, proof)  # used up by the failed try
    challenge = operator.challenge("own", mine["pseudonym"])
    proof = me.prove(house.vault.id, domain.id, challenge)
    assert operator.check_ownership("own", mine["pseudonym"], challenge, proof)
    assert not operator.check_ownership("own", mine["pseudonym"], challenge, proof)
    late = operator.challenge("own", mine["pseudonym"])
    house.clock.now += 301
    assert not operator.check_ownership("own", mine["pseudonym"], late, me.prove(house.vault.id, domain.id, late))
    assert house.reveal("own", [mine["pseudonym"], "H-none"]) == {mine["pseudonym"]: "0012-aria", "H-none": None}
    with pytest.raises(UsageError, match="people made themselves"):
        operator.pseudonymize("own", ["x"])


def test_requests_need_reasons(house: House) -> None:
    house.owner.create_domain("d")
    rita = house["Rita"]
    bad: list[dict[str, Any]] = [
        {"purpose": " ", "case": "1"},
        {"purpose": "p", "case": ""},
        {"purpose": "p" * 201, "case": "1"},
        {"purpose": "p", "case": "1", "seconds": 0.0},
        {"purpose": "p", "case": "1", "seconds": 31 * 86400.0},
    ]
    for words in bad:
        with pytest.raises(UsageError):
            rita.request("d", ["P-x"], **words)
    for pseudonyms in ([], [""], ["x" * 30_000]):
        with pytest.raises(ShoalError):
            rita.request("d", pseudonyms, purpose="p", case="1")


def test_people_are_who_they_should_be() -> None:
    assert set(PEOPLE.values()) | {"owner", "auditor", "clerk"} == set(ROLES)
