"""Second factors (RFC 6238) for those who decide, and tokens lent for one action."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from protector_support import House
from shoal.errors import AccessError, UsageError
from shoal.protector import care
from shoal.protector.people import accounts, factors

SEEDS = {
    "sha1": b"12345678901234567890",
    "sha256": b"12345678901234567890123456789012",
    "sha512": b"1234567890123456789012345678901234567890123456789012345678901234",
}
VECTORS = """
59 94287082 46119246 90693936
1111111109 07081804 68084774 25091201
1111111111 14050471 67062674 99943326
1234567890 89005924 91819424 93441116
2000000000 69279037 90698825 38618901
20000000000 65353130 77737706 47863826
"""


@pytest.mark.parametrize("line", VECTORS.strip().splitlines())
def test_vectors_of_rfc_6238(line: str) -> None:
    time, *codes = line.split()
    found = [factors.code(seed, factors.counter(float(time)), digits=8, algorithm=name) for name, seed in SEEDS.items()]
    assert found == codes


@pytest.mark.parametrize(("step", "good"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_code_holds_one_step_early_and_late(step: int, good: bool) -> None:
    secret, time = bytes(range(factors.SECRET_BYTES)), 1_760_000_010.0
    given = factors.code(secret, factors.counter(time) + step)
    assert (factors.matching(secret, f" {given[:3]} {given[3:]}", time, after=-1) is not None) == good
    assert factors.matching(secret, given, time, after=factors.counter(time) + step) is None  # not twice
    assert factors.matching(secret, "٠" * 6, time, after=-1) is None


def app(uri: str) -> bytes:
    """What an authenticator app reads."""
    return base64.b32decode(parse_qs(urlsplit(uri).query)["secret"][0])


def shown(house: House, secret: bytes) -> str:
    return factors.code(secret, factors.counter(house.clock.now))


def asked(house: House) -> Any:
    return house.request("d", house.operator.pseudonymize("d", ["person"]))


def test_an_approver_decides_with_a_code(house: House) -> None:
    house.owner.create_domain("d")
    change = house.owner.require_factor(["approver"])
    house["Aldo"].approve(asked(house).id)  # not yet: nobody confirmed it
    house.auditor.confirm(change.id)
    request = asked(house)
    with pytest.raises(AccessError, match="second factor is needed"):
        house["Aldo"].approve(request.id)
    secret = app(house["Aldo"].set_up_factor())
    with pytest.raises(AccessError, match="already"):
        house["Aldo"].set_up_factor()
    for wrong in ("", "000000x", shown(house, app(house["Ana"].set_up_factor()))):
        with pytest.raises(AccessError, match="one-time code"):
            house["Aldo"].approve(request.id, factor=wrong)
    code = shown(house, secret)
    assert house["Aldo"].approve(request.id, factor=code).status == "approved"
    with pytest.raises(AccessError, match="one-time code"):
        house["Aldo"].approve(asked(house).id, factor=code)  # used up
    house.auditor.confirm(house.owner.set_witness([]).id)  # auditors were not asked for one
    reasons = [e["reason"] for e in care.read_log(house.auditor, last=200) if e["outcome"] == "alarm"]
    assert reasons == ["factor"] * 6
    house.owner.revoke_tokens("Aldo")
    house.tokens["Aldo"] = house.token("Aldo")
    assert app(house["Aldo"].set_up_factor()) != secret  # a new enrolment, a new factor


def test_the_auditor_confirms_with_a_code(sqlite_house: House) -> None:
    house = sqlite_house
    house.auditor.confirm(house.owner.require_factor(["auditor"]).id)
    change = house.owner.require_factor([])
    with pytest.raises(AccessError, match="second factor is needed"):
        house.auditor.confirm(change.id)
    secret = app(house.auditor.set_up_factor())
    house.auditor.confirm(change.id, factor=shown(house, secret))
    house.auditor.confirm(house.owner.require_factor([]).id)  # ended
    for roles in (["operator"], ["requester", "approver"], ["nobody"]):
        with pytest.raises(UsageError):
            house.owner.require_factor(roles)


def test_codes_cannot_be_tried_out(sqlite_house: House) -> None:
    """After five wrong ones in a row even the right one is refused for a quarter of an hour."""
    house = sqlite_house
    house.owner.create_domain("d")
    house.auditor.confirm(house.owner.require_factor(["approver"]).id)
    secret, request = app(house["Aldo"].set_up_factor()), asked(house)

    def attempt(code: str) -> bool:
        try:
            house["Aldo"].approve(request.id, factor=code)
        except AccessError:
            return False
        return True

    assert [attempt("wrong") for _ in range(factors.MOST_WRONG)] == [False] * 5
    assert not attempt(shown(house, secret))
    house.clock.now += factors.REST - 1
    assert not attempt(shown(house, secret))
    house.clock.now += 1
    assert attempt(shown(house, secret))


def test_four_wrong_codes_do_not_lock(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    house.auditor.confirm(house.owner.require_factor(["approver"]).id)
    secret, request = app(house["Aldo"].set_up_factor()), asked(house)
    for _ in range(factors.MOST_WRONG - 1):
        with pytest.raises(AccessError):
            house["Aldo"].approve(request.id, factor="wrong")
    assert house["Aldo"].approve(request.id, factor=shown(house, secret)).status == "approved"


def test_a_right_code_forgets_the_wrong_ones_before_it(sqlite_house: House) -> None:
    """Only wrong codes in a row lock."""
    secret = app(sqlite_house["Aldo"].set_up_factor())
    with sqlite_house.vault.store.write() as tx:
        for step in (100, 200):
            time = float(step * factors.STEP)
            assert not any(factors.check(tx, "Aldo", "wrong", time) for _ in range(factors.MOST_WRONG - 1))
            assert factors.check(tx, "Aldo", factors.code(secret, step), time)


def test_no_step_comes_before_the_first() -> None:
    secret = bytes(range(factors.SECRET_BYTES))
    assert factors.matching(secret, factors.code(secret, 0), 1.0, after=-1) == 0


# -- lent tokens ----------------------------------------------------------------------------------------------------------


def test_a_lent_token_does_one_thing(house: House) -> None:
    house.owner.create_domain("d")
    house.owner.create_domain("e")
    lent = house.vault.login(house.operator.delegate("pseudonymize", domains=["d"], seconds=60))
    assert lent.pseudonymize("d", ["person"]) == house.operator.pseudonymize("d", ["person"])
    assert [d.name for d in lent.domains()] == ["d"]
    for other in (
        lambda: lent.pseudonymize("e", ["person"]),
        lambda: lent.find("d", "person"),
        lambda: lent.translate(["x"], source="d", target="e", purpose="p"),
        lambda: lent.delegate("pseudonymize"),
        lent.set_up_factor,
    ):
        with pytest.raises(AccessError):
            other()
    events = care.read_log(house.auditor, actions=["delegate", "pseudonymize"])
    assert {e["actor"] for e in events if e["outcome"] == "done"} == {events[0]["actor"]}  # under the lender's own name


@pytest.mark.parametrize(("later", "good"), [(59.0, True), (60.0, False)])
def test_a_lent_token_ends(sqlite_house: House, later: float, good: bool) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    lent = house.vault.login(house.operator.delegate("find", seconds=60))
    house.clock.now += later
    if good:
        assert lent.find("d", "x") is None
    else:
        with pytest.raises(AccessError, match="not valid"):
            lent.find("d", "x")


def test_a_lent_token_ends_with_the_lenders(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    own = house.vault.login(house.token("Olga", expires=house.clock.now + 100, domains=["d"]))
    lent = house.vault.login(own.delegate("find", seconds=1000))
    assert [d.name for d in lent.domains()] == ["d"]  # no wider than the lender's
    house.clock.now += 100
    with pytest.raises(AccessError, match="not valid"):
        lent.find("d", "x")
    again = house.vault.login(house.operator.delegate("find"))
    house.owner.revoke_tokens("Olga")
    with pytest.raises(AccessError, match="not valid"):
        again.find("d", "x")


@pytest.mark.parametrize(
    "action", ["approve", "deny", "request", "reveal", "confirm", "actor", "limit", "anchor", "resolve", "x"]
)
def test_four_eyes_are_not_lent(sqlite_house: House, action: str) -> None:
    assert action not in accounts.LENDABLE
    for who in (sqlite_house["Rita"], sqlite_house["Aldo"], sqlite_house.owner, sqlite_house.auditor):
        with pytest.raises(UsageError, match="cannot be lent"):
            who.delegate(action)


def test_what_else_cannot_be_lent(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    with pytest.raises(AccessError, match="needs the role"):
        house["Rita"].delegate("pseudonymize")
    for seconds in (0.0, -1.0, accounts.LONGEST + 1):
        with pytest.raises(UsageError, match="at most a day"):
            house.operator.delegate("find", seconds=seconds)
    assert house.operator.delegate("find", seconds=accounts.LONGEST)
    with pytest.raises(UsageError, match="is not in"):
        house.operator.delegate("find", domains=["none"])
    narrow = house.vault.login(house.token("Olga", domains=["d"]))
    house.owner.create_domain("e")
    with pytest.raises(AccessError, match="does not reach"):
        narrow.delegate("find", domains=["e"])
