"""Trying identities out: bounded by default, and an alarm by its pattern; honeytokens under every pseudonym."""

from __future__ import annotations

from typing import Any

import pytest

from protector_support import House
from shoal.errors import AccessError, DataError, UsageError
from shoal.protector import Holder, Limit, care
from shoal.protector.people import limits
from shoal.protector.pseudonyms.identities import CHECKS
from shoal.protector.store.state import HONEY


def alarms(house: House, *actions: str) -> list[str]:
    found = care.read_log(house.auditor, actions=actions or None)
    return [e["reason"] for e in found if e["outcome"] == "alarm"]


@pytest.mark.parametrize("action", ["pseudonymize", "find", "translate"])
def test_trying_out_is_bounded_by_default(action: str) -> None:
    """A million candidates do not go through in an hour, nor ten million in a day, for any purpose."""
    hour, day = limits.DEFAULTS[action]
    assert (hour.seconds, day.seconds) == (3600.0, 86400.0)
    assert hour.max is not None
    assert hour.max < 1_000_000
    assert day.max is not None
    assert day.max <= 1_000_000
    assert hour.alarm is not None
    assert hour.alarm < hour.max


@pytest.mark.parametrize("seconds", [3600.0, 86400.0])
def test_pseudonymising_in_a_keyed_domain_ends_at_the_limit(house: House, seconds: float) -> None:
    house.owner.create_domain("k", kind="keyed")
    house.set_limit("pseudonymize", Limit(seconds, 10, 5))
    for part in (range(5), range(5, 10)):
        house.operator.pseudonymize("k", [f"a{i}b" for i in part], purpose=str(part))
    with pytest.raises(AccessError, match="over the limit"):
        house.operator.pseudonymize("k", ["one more"])
    with pytest.raises(AccessError, match="over the limit"):
        house.vault.login(house.token("Olga")).pseudonymize("k", ["another token"])
    assert alarms(house, "pseudonymize") == ["bulk", "limit", "limit"]
    house.clock.now += seconds
    house.operator.pseudonymize("k", ["the next window"])


def test_people_are_counted_not_rows(house: House) -> None:
    house.owner.create_domain("d")
    house.set_limit("pseudonymize", Limit(3600.0, 2, None))
    house.operator.pseudonymize("d", ["one", "two"] * 500)
    with pytest.raises(AccessError, match="over the limit"):
        house.operator.pseudonymize("d", ["three"])


@pytest.mark.parametrize("size", [1, 7, 1200])
@pytest.mark.parametrize("form", ["{:010d}", "{}", "AB-{:06d}/x"])
def test_numbers_one_after_the_other_raise_an_alarm(
    sqlite_house: House, monkeypatch: pytest.MonkeyPatch, size: int, form: str
) -> None:
    """By calls of one, of a few, or of many; once per window."""
    monkeypatch.setattr(limits, "MANY", 100)
    house = sqlite_house
    house.owner.create_domain("k", kind="keyed")
    olga = house.operator
    for start in range(0, 300 if size < 100 else size, size):
        olga.pseudonymize("k", [form.format(996 + i) for i in range(start, start + size)])
    assert alarms(house, "pseudonymize") == ["sequence"]


def test_a_step_below_the_line_is_no_sign(sqlite_house: House) -> None:
    usage: limits.Usage = {}
    with sqlite_house.vault.store.read() as tx:

        def watch(texts: list[str], missed: int = 0, time: float = 0.0) -> list[str]:
            return limits.enumeration_signs(tx, usage, texts, missed, time)

        many = limits.MANY
        assert watch([str(10_000 + i) for i in range(many)]) == []  # one step fewer than numbers
        assert watch([str(10_000 + many)]) == ["sequence"]
        assert watch([str(10_001 + many)]) == []  # once per window
        assert watch([str(i) for i in range(10_000, 10_000 + 2 * many)], time=3600.0) == ["sequence"]
        assert watch([f"{i * 7}x{i}" for i in range(2 * many)], time=7200.0) == []  # not numbers in a row


def test_sequences_are_seen_in_both_directions_whatever_lies_between(sqlite_house: House) -> None:
    """Against a slow definition: a call goes on where its lowest number follows the last highest, or its highest precedes."""
    usage: limits.Usage = {}
    with sqlite_house.vault.store.read() as tx:

        def steps(*texts: str) -> int:
            before = usage.get("enumeration", {}).get("steps", 0)
            limits.enumeration_signs(tx, usage, texts, 0, 0.0)
            return int(usage["enumeration"]["steps"] - before)

        assert [steps(str(n)) for n in (500, 501, 502, 501, 500, 499, 497)] == [0, 1, 1, 1, 1, 1, 0]
        assert steps("x") == 0  # not a number: the ends stay
        assert steps("498") == 1
        assert steps("0499") == 0  # another form
        assert [steps("0498", "0496"), steps("0495"), steps("0496"), steps("0498")] == [1, 1, 1, 0]
        assert [steps("0"), steps("1"), steps("0"), steps("-1")] == [0, 1, 1, 0]
        assert [steps("9"), steps("10"), steps("09"), steps("10"), steps("9")] == [0, 1, 1, 1, 0]
        assert [steps("a5b"), steps("a6c"), steps("a6b"), steps("a7c")] == [0, 0, 0, 0]


def test_what_was_answered_is_counted_also_after_a_restart(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anyone who makes the service start anew does not begin at nought: neither the limit nor the signs."""
    monkeypatch.setattr(limits, "MANY", 6)
    house = sqlite_house
    house.owner.create_domain("d")
    house.set_limit("find", Limit(3600.0, 7, None))
    for number in range(7):
        with house.reopen() as again:
            again.login(house.tokens["Olga"]).find("d", f"x{number * 2}")
    with house.reopen() as again, pytest.raises(AccessError, match="over the limit"):
        again.login(house.tokens["Olga"]).find("d", "x100")
    assert alarms(house, "find") == ["misses", "limit"]


def test_numbers_tried_out_at_the_intake_raise_an_alarm(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MANY", 3)
    house = sqlite_house
    house.owner.create_domain("d")
    people = [{"given": f"G{i}", "family": "F", "number": f"70{i}"} for i in range(4)]
    house.operator.intake("d", people[:3])
    assert alarms(house, "intake") == []
    house.operator.intake("d", people[3:])
    assert alarms(house, "intake") == ["sequence"]


def test_many_misses_raise_an_alarm(sqlite_house: House) -> None:
    usage: limits.Usage = {}
    with sqlite_house.vault.store.read() as tx:

        def watch(asked: int, missed: int, time: float) -> list[str]:
            return limits.enumeration_signs(tx, usage, ["x"] * asked, missed, time)

        many = limits.MANY
        assert watch(many - 1, many - 1, 0.0) == []
        assert watch(1, 1, 0.0) == ["misses"]
        assert watch(10, 10, 3599.0) == []
        assert watch(10 * many, 9 * many, 3600.0) == ["misses"]
        assert watch(10 * many, 9 * many - 1, 7200.0) == []


def test_looking_for_people_who_are_not_there_raises_an_alarm(house: House) -> None:
    house.owner.create_domain("d")
    house.operator.pseudonymize("d", ["somebody"])
    house.operator.find_many("d", [f"{'abcdefghij'[i % 10]}{i * 31}y" for i in range(1000)])
    assert alarms(house, "find") == ["misses"]


@pytest.mark.parametrize(
    ("settings", "context"),
    [
        ({"scope": "transaction"}, {}),
        ({"renewal": {"uses": 1}}, {}),
        ({"renewal": {"days": 1}}, {}),
        ({"scope": "role"}, {"role": "patient"}),
        ({"scope": "relationship"}, {"relation": "clinic"}),
        ({"kind": "reversible", "scope": "transaction"}, {}),
        ({"matching": "nfc"}, {}),
        ({}, {}),
    ],
)
def test_a_honeytoken_is_one_under_every_pseudonym(house: House, settings: dict[str, Any], context: dict[str, str]) -> None:
    house.owner.create_domain("d", **settings)
    house.owner.create_domain("e")
    house.connect("d", "e")
    planted = house.owner.plant_honeytoken("d")
    assert (planted.pseudonym == "") == bool(context)
    first = house.operator.pseudonymize("d", ["somebody", planted.identity], **context)
    house.clock.now += 5 * 86400
    later = house.operator.pseudonymize("d", [planted.identity + " "], **context)
    assert alarms(house, "pseudonymize") == ["honeytoken", "honeytoken"]
    for pseudonym in (*first[1:], *later, *([planted.pseudonym] if planted.pseudonym else [])):
        asked = house.request("d", [pseudonym], **context)
        assert asked.flagged
        with pytest.raises(AccessError, match="held back"):
            house["Aldo"].approve(asked.id)
        if not context:
            with pytest.raises(AccessError, match="held back"):
                house.operator.translate([pseudonym], source="d", target="e", purpose="p")
    assert not house.request("d", first[:1], **context).flagged


def test_a_honeytoken_planted_after_the_approval_still_holds(house: House) -> None:
    domain = house.owner.create_domain("own", kind="self-generated")
    given = Holder.generate().registration(house.vault.id, domain.id)
    planted = house.owner.plant_honeytoken("own")
    assert planted.pseudonym == ""
    house.operator.register("own", given, identity=planted.identity)
    with house.vault.store.write() as tx:
        known = tx.get(HONEY, "own")
        tx.remove(HONEY, "own")
    asked = house.request("own", [given["pseudonym"]])
    house["Aldo"].approve(asked.id)
    with house.vault.store.write() as tx:
        tx.put(HONEY, "own", known or {})
    with pytest.raises(AccessError, match="held back"):
        house["Rita"].reveal(asked.id)


@pytest.mark.parametrize("kind", ["random", "keyed", "reversible"])
def test_blanks_make_no_second_person(house: House, kind: str) -> None:
    house.owner.create_domain("d", kind=kind)
    spelled = ["0012", " 0012", "0012\t", "\u00a00012", "0012\u200b", "\ufeff0012"]
    assert len(set(house.operator.pseudonymize("d", spelled))) == 1
    assert house.operator.pseudonymize("d", ["  ", "\u200b", None]) == [None, None, None]
    assert len(set(house.operator.pseudonymize("d", ["Ann  Lee", "Ann Lee", "Ann\u2003Lee"]))) == 1
    assert len(set(house.operator.pseudonymize("d", ["AnnLee", "Ann Lee", "ann lee"]))) == 3
    if kind == "random":
        assert house.operator.find("d", " 0012 ") == house.operator.find("d", "0012")
        assert list(house.reveal("d", house.operator.pseudonymize("d", [" 0012"])).values()) == ["0012"]


def test_rules_of_cleaning_and_check_digits(house: House) -> None:
    house.owner.create_domain("n", clean=("separators", "case", "zeros"), check="nhs")
    same = ["943 476 5919", "943-476-5919", "09434765919"]
    assert len(set(house.operator.pseudonymize("n", same))) == 1
    with pytest.raises(DataError, match="1 of 2 different identities have a wrong check digit"):
        house.operator.pseudonymize("n", [*same, "9434765918"])
    for wrong in ({"clean": ("blank",)}, {"check": "nsh"}):
        with pytest.raises(UsageError, match="Did you mean"):
            house.owner.create_domain("x", **wrong)


@pytest.mark.parametrize("rule", CHECKS)
def test_a_check_digit_finds_every_single_typing_error(rule: str) -> None:
    good = {"luhn": "79927398713", "nhs": "9434765919", "bsn": "111222333", "mod97": "79444"}[rule]
    assert CHECKS[rule](good)
    for place in range(len(good)):
        for digit in "0123456789":
            assert CHECKS[rule](good[:place] + digit + good[place + 1 :]) == (digit == good[place])
    for wrong in ("", "x", good + "0", good[1:], good[:-1] + "\u0661"):
        assert not CHECKS[rule](wrong)


SURROGATE = "a\ud800b"


def test_lone_surrogates_are_refused_or_harmless(house: House) -> None:
    house.owner.create_domain("d")
    house.owner.create_domain("roles", scope="role")
    domain = house.owner.create_domain("own", kind="self-generated")
    given = Holder.generate().registration(house.vault.id, domain.id)
    (made,) = house.operator.pseudonymize("d", ["person"], purpose=SURROGATE)
    for call in (
        lambda: house.operator.pseudonymize("d", [SURROGATE]),
        lambda: house.operator.find("d", SURROGATE),
        lambda: house.operator.pseudonymize("roles", ["x"], role=SURROGATE),
        lambda: house.operator.register("own", given, identity=SURROGATE),
        lambda: house.owner.withdraw_honeytoken("d", SURROGATE),
        lambda: house.owner.create_domain(SURROGATE),
        lambda: house.owner.add_actor(SURROGATE, ["operator"]),
        lambda: house.operator.pseudonymize(SURROGATE, ["x"]),
        lambda: house.request("d", [made, SURROGATE]),
    ):
        with pytest.raises((DataError, UsageError)):
            call()
    assert house["Rita"].request("d", [made], purpose=SURROGATE, case="1").records == 1
    assert care.verify_log(house.auditor).ok
