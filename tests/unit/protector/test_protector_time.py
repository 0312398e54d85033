"""The vault's time: bounded jumps, windows that do not open again, and a correction by two people."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from protector_support import House
from shoal.errors import AccessError, TamperError
from shoal.protector import Limit, care
from shoal.protector.people import factors
from shoal.protector.store.anchor import AHEAD, BEHIND

YEAR = 365 * 86400.0


@pytest.fixture
def wrong(sqlite_house: House) -> House:
    """A vault with one write at a time 200 days ahead, after which the clock was set right again."""
    house = sqlite_house
    house.owner.create_domain("d")
    house.clock.now += 200 * 86400
    house.lent = house.operator.delegate("find", seconds=60)  # type: ignore[attr-defined]
    house.early = house.request("d", house.operator.pseudonymize("d", ["0012"]), seconds=1)  # type: ignore[attr-defined]
    house.clock.now -= 200 * 86400
    return house


def correct(house: House) -> None:
    house.vault.correct_time(house.tokens["Otto"], house.tokens["Udo"])


@pytest.mark.parametrize("seconds", [10 * YEAR, AHEAD + 60, -BEHIND - 60, -10 * YEAR])
def test_a_clock_that_cannot_be_trusted_changes_nothing(house: House, seconds: float) -> None:
    house.owner.create_domain("d")
    olga = house.operator
    house.clock.now += seconds
    with pytest.raises(TamperError, match=r"days (ahead of|behind) the newest time"):
        olga.pseudonymize("d", ["0012"])
    with pytest.raises(TamperError):
        house.vault.login("shoal-nonsense")
    house.clock.now -= seconds
    request = house.request("d", olga.pseudonymize("d", ["0012"]), seconds=1)
    house["Aldo"].approve(request.id)
    house.clock.now += 2
    with pytest.raises(AccessError, match="has expired"):
        house["Rita"].reveal(request.id)


def test_small_steps_back_and_long_rests_are_believed(house: House) -> None:
    house.owner.create_domain("d")
    house.clock.now -= BEHIND - 1
    house.operator.pseudonymize("d", ["0012"])
    house.clock.now += 300 * 86400
    house.operator.pseudonymize("d", ["0012"])


def test_a_time_that_was_wrong_is_corrected_by_two_people_and_told(wrong: House) -> None:
    house = wrong
    with pytest.raises(TamperError, match="behind"):
        house.owner.domains()
    owner, auditor = house.tokens["Otto"], house.tokens["Udo"]
    for pair in ((owner, owner), (auditor, owner), (owner, house.tokens["Rita"]), (house.tokens["Rita"], auditor)):
        with pytest.raises(AccessError):
            house.vault.correct_time(*pair)
    correct(house)
    (event,) = [e for e in care.read_log(house.auditor) if e["action"] == "time"]
    now = datetime.fromtimestamp(house.clock.now, UTC).isoformat()
    assert (event["time_now"], event["time_before"] > now, bool(event["together_with"])) == (now, True, True)
    assert care.verify_log(house.auditor).ok


def test_nothing_outlives_the_correction(wrong: House) -> None:
    """The delegated token, the request and the enrolment code of the wrong time end as they were meant to."""
    house = wrong
    correct(house)
    assert {r.id: r.status for r in house["Rita"].requests()}[house.early.id] == "withdrawn"  # type: ignore[attr-defined]
    assert house.vault.login(house.lent).find("d", "0012")  # type: ignore[attr-defined]
    house.clock.now += 61
    with pytest.raises(AccessError):
        house.vault.login(house.lent)  # type: ignore[attr-defined]


def test_a_vault_that_rested_for_years_opens_again_by_two_people(sqlite_house: House) -> None:
    house = sqlite_house
    house.clock.now += 3 * YEAR
    with pytest.raises(TamperError, match="ahead"):
        house.owner.domains()
    correct(house)
    assert house.owner.domains() == []
    with pytest.raises(AccessError):
        house["Rita"].requests()  # her token has ended in the meantime


def test_a_code_and_a_token_made_in_a_wrong_time(sqlite_house: House) -> None:
    house = sqlite_house
    house.clock.now += 200 * 86400
    proposed = house.owner.add_actor("Olaf", ["operator"])
    confirmed = house.auditor.confirm(proposed.id)
    claimed = house.add("Oskar", ["operator"])
    waiting = house.owner.add_actor("Olof", ["operator"])
    house.clock.now -= 200 * 86400
    correct(house)
    assert {c.id: c.status for c in house.auditor.changes(everything=True)}[waiting.id] == "denied"
    house.clock.now += 8 * 86400
    with pytest.raises(AccessError, match="not valid"):
        house.vault.enrol(proposed.code, confirmed.code)
    assert house.vault.login(claimed).name == "Oskar"
    house.clock.now += 364 * 86400
    with pytest.raises(AccessError):
        house.vault.login(claimed)


def test_limits_do_not_open_again_when_time_is_set_back(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    house.set_limit("find", Limit(3600.0, 3, None))
    house.clock.now += 200 * 86400
    house.operator.find_many("d", ["a", "b"])
    house.clock.now -= 200 * 86400
    correct(house)
    house.operator.find("d", "c")
    with pytest.raises(AccessError, match="over the limit"):
        house.operator.find("d", "e")
    house.clock.now += 3600  # and they do not freeze
    house.operator.find("d", "e")


def test_one_time_codes_work_again_and_none_works_twice(sqlite_house: House) -> None:
    house = sqlite_house
    secret = bytes.fromhex("11" * 20)
    with house.vault.store.write() as tx:
        tx.put(
            7,
            "factor Aldo",
            {
                "secret": secret.hex(),
                "after": factors.counter(house.clock.now + 10 * YEAR),
                "wrong": 5,
                "since": house.clock.now + 10 * YEAR,
            },
        )
        step = factors.counter(house.clock.now)
        assert not factors.check(tx, "Aldo", factors.code(secret, step), house.clock.now)
        later = house.clock.now + factors.REST + 90
        good = factors.code(secret, factors.counter(later))
        assert factors.check(tx, "Aldo", good, later)
        assert not factors.check(tx, "Aldo", good, later)
