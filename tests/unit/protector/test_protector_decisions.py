"""Limits, second factors and accounts at their limits, on a vault that is a dictionary."""

from __future__ import annotations

import copy
import hashlib
from types import SimpleNamespace as Some
from typing import Any

import pytest

from shoal.errors import AccessError, UsageError
from shoal.protector.people import accounts, factors, limits
from shoal.protector.people.accounts import Caller
from shoal.protector.people.limits import DAY, HOUR, Limit
from shoal.protector.pseudonyms.self_generated import CHALLENGE_SECONDS
from shoal.protector.store.state import ACTOR, CHALLENGE, CHANGE, DOMAIN, ENROLMENT, REQUEST, TOKEN, USAGE


class Vault:
    """What a transaction keeps: bodies by kind and name."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, str], Any] = {}
        self.store = Some(token_prf=Some(digest=lambda data: hashlib.sha256(data).digest()))

    def get(self, kind: int, name: str) -> Any:
        return copy.deepcopy(self.kept.get((kind, name)))

    def put(self, kind: int, name: str, body: Any) -> None:
        self.kept[kind, name] = body

    def remove(self, kind: int, name: str) -> None:
        self.kept.pop((kind, name), None)

    def items(self, kind: int) -> list[tuple[Any, Any]]:
        return [((k, name), body) for (k, name), body in list(self.kept.items()) if k == kind]

    def all(self, kind: int) -> list[Any]:
        return [body for _, body in self.items(kind)]

    def remove_tag(self, tag: Any) -> None:
        del self.kept[tag]

    def replace(self, kind: int, tag: Any, body: Any) -> None:
        self.kept[tag] = body


@pytest.fixture
def tx() -> Any:
    return Vault()


# --- limits ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "most", "alarm"), [(0, 1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1), (1, None, -1)])
def test_a_limit_is_not_negative_and_has_a_window(seconds: float, most: int | None, alarm: int | None) -> None:
    assert Limit(1e-9, 0, 0)
    assert Limit(1.0, None, None)
    with pytest.raises(UsageError, match="a limit"):
        Limit(seconds, most, alarm)


@pytest.mark.parametrize(
    ("action", "most", "seconds", "fits"),
    [
        ("reveal", 100_000, DAY, True), ("reveal", 100_001, DAY, False), ("reveal", None, DAY, False),
        ("request", None, DAY, False),
        ("request", 4_166, HOUR, True), ("request", 4_167, HOUR, False), ("find", None, DAY, True), ("find", 10**9, HOUR, True),
        ("approve", 1, DAY, False),
    ],
)  # fmt: skip
def test_reveals_keep_a_bound(action: str, most: int | None, seconds: float, fits: bool) -> None:
    if fits:
        limits.check_limit(action, Limit(seconds, most, None))
    else:
        with pytest.raises(UsageError):
            limits.check_limit(action, Limit(seconds, most, None))


def counted(tx: Any, records: int, time: float, *, action: str = "reveal", purpose: str = "study") -> bool:
    usage, crossed = limits.count(tx, "ann", action, purpose, records, time)
    limits.keep(tx, "ann", action, usage)
    return crossed


def test_a_window_takes_its_most_and_alarms_once(tx: Any) -> None:
    assert [counted(tx, n, 0.0) for n in (100, 1, 1)] == [False, True, False]
    assert counted(tx, 898, DAY - 1) is False
    with pytest.raises(AccessError, match=r"1,001 records to reveal within 86400 seconds; 1,000 are allowed"):
        counted(tx, 1, DAY - 1)
    assert counted(tx, 1000, DAY) is True
    with pytest.raises(AccessError):
        counted(tx, 1, DAY - 1)  # the time was set back: what was counted goes on counting


def test_one_call_may_take_the_most_and_not_one_more(tx: Any) -> None:
    with pytest.raises(AccessError):
        counted(tx, 1001, 0.0)
    assert counted(tx, 1000, 0.0)


def test_limits_of_a_purpose_stand_beside_those_of_all(tx: Any) -> None:
    """However a purpose is written; and another purpose, or another action, has none of them."""
    limits.set_limit(tx, "reveal", " Study | A ", Limit(HOUR, 5, 3))
    limits.set_limit(tx, "reveal", "*", Limit(DAY, 7, None))
    assert limits.read(tx, "reveal", "study / a") == [("*", Limit(DAY, 7, None)), ("study / a", Limit(HOUR, 5, 3))]
    assert limits.read(tx, "reveal", "other") == [("*", Limit(DAY, 7, None))]
    assert limits.read(tx, "request", "study / a") == [("*", Limit(DAY, 1_000, 100))]
    assert limits.read(tx, "approve", "x") == []
    assert counted(tx, 4, 0.0, purpose="STUDY | a") is True
    with pytest.raises(AccessError, match="5 are allowed"):
        counted(tx, 2, 0.0, purpose="study / a")
    assert counted(tx, 3, 0.0, purpose="other") is False
    with pytest.raises(AccessError, match="7 are allowed"):
        counted(tx, 1, HOUR, purpose="other")


def test_without_a_most_there_is_an_alarm_only_and_without_both_nothing(tx: Any) -> None:
    limits.set_limit(tx, "find", "", Limit(HOUR, None, 3))
    limits.set_limit(tx, "find", "", Limit(DAY, None, None))
    usage, crossed = limits.count(tx, "ann", "find", "x", 10**9, 0.0)
    assert crossed
    assert list(usage) == ["*|3600"]


def seen(tx: Any, texts: list[str | None], *, missed: int = 0, time: float = 0.0) -> list[str]:
    usage = tx.get(USAGE, "ann|find") or {}
    signs = limits.enumeration_signs(tx, usage, texts, missed, time)
    tx.put(USAGE, "ann|find", usage)
    return signs


def test_nine_of_ten_look_ups_without_an_answer_are_a_sign(tx: Any) -> None:
    names = ["x"] * 1111
    assert seen(tx, names, missed=999) == []
    assert seen(tx, [], missed=1) == ["misses"]
    assert seen(tx, [], missed=1) == [], "told once"
    assert seen(tx, names, missed=1000, time=limits.WINDOW) == ["misses"]
    other: Any = Vault()
    assert seen(other, ["x"] * 1112, missed=1000) == [], "less than nine tenths"
    assert seen(other, [None] * 500, missed=1) == ["misses"], "no identity is not asked for"


@pytest.mark.parametrize("step", [1, -1])
def test_a_thousand_numbers_in_a_row_are_a_sign_in_calls_of_one(tx: Any, step: int) -> None:
    numbers = [f"P{5_000 + step * i:05d}x" for i in range(1001)]
    signs = [sign for text in numbers for sign in seen(tx, [text])]
    assert signs == ["sequence"]
    assert tx.get(USAGE, "ann|find")["enumeration"]["steps"] == 1000
    assert seen(tx, ["no number"]) == []
    assert tx.get(USAGE, "ann|find")["enumeration"]["steps"] == 1000


def test_numbers_in_one_call_and_other_forms(tx: Any) -> None:
    assert limits._steps(tx, ["7", "8", "9", "11", "8"], [])[0] == 2
    assert limits._steps(tx, ["07", "8", "a9", "9b", "x", "10"], [])[0] == 0, "one digit more or other letters are another form"
    _, ends = limits._steps(tx, ["a7", "a8"], [])
    for text, goes_on in (("a9", 1), ("a6", 1), ("a10", 0), ("b9", 0), ("a5", 0), ("a09", 0)):
        assert limits._steps(tx, [text], ends)[0] == goes_on
    _, nines = limits._steps(tx, ["a9"], [])
    assert limits._steps(tx, ["a10"], nines)[0] == 1, "after 9 comes 10"
    assert limits._steps(tx, ["x"], ends) == (0, ends)


# --- second factors ----------------------------------------------------------------------------------------------------------


def code(tx: Any, time: float, late: int = 0) -> str:
    secret = bytes.fromhex(tx.get(USAGE, "factor ann")["secret"])
    return factors.code(secret, factors.counter(time) + late)


def wrong(tx: Any, time: float) -> str:
    """No code of the steps around this time."""
    near = {code(tx, time, late) for late in range(-3, 4)}
    return next(c for c in (f"{n:06d}" for n in range(100)) if c not in near)


def test_a_code_is_taken_once_and_not_before_a_later_one(tx: Any) -> None:
    factors.set_up(tx, "ann", "v")
    early, now, late = (code(tx, 3000.0, i) for i in (-1, 0, 1))
    assert [factors.check(tx, "ann", c, 3000.0) for c in (early, early, late, now, late)] == [True, False, True, False, False]
    with pytest.raises(AccessError, match="already"):
        factors.set_up(tx, "ann", "v")
    with pytest.raises(AccessError, match="needed"):
        factors.check(tx, "bob", now, 0.0)
    factors.withdraw(tx, "ann")
    assert factors.set_up(tx, "ann", "v")


def test_after_five_wrong_codes_nothing_is_taken_for_a_quarter_of_an_hour(tx: Any) -> None:
    factors.set_up(tx, "ann", "v")
    start = 3000.0
    assert not any(factors.check(tx, "ann", wrong(tx, start), start) for _ in range(4))
    assert factors.check(tx, "ann", code(tx, start), start), "four are not five"
    assert not any(factors.check(tx, "ann", wrong(tx, start), start) for _ in range(5))
    for time, taken in ((start + 60, False), (start + factors.REST - 1, False), (start + factors.REST, True)):
        assert factors.check(tx, "ann", code(tx, time), time) is taken
    assert not any(factors.check(tx, "ann", wrong(tx, start), start + 2_000) for _ in range(5))
    after = start + 2_000 + factors.REST
    assert not factors.check(tx, "ann", wrong(tx, after), after)
    assert factors.check(tx, "ann", code(tx, after + 30), after + 30), "the count began again"


def test_wrong_codes_are_counted_for_as_long_as_they_are_in_a_row(tx: Any) -> None:
    factors.set_up(tx, "ann", "v")
    for i in range(5):
        assert not factors.check(tx, "ann", wrong(tx, 3000.0 + 1000 * i), 3000.0 + 1000 * i)
    assert not factors.check(tx, "ann", code(tx, 7100.0), 7100.0), "four that rest apart, and a fifth, are five"


def test_codes_go_on_after_the_time_was_set_back(tx: Any) -> None:
    factors.set_up(tx, "ann", "v")
    assert factors.check(tx, "ann", code(tx, 900_000.0), 900_000.0)
    assert factors.check(tx, "ann", code(tx, 3000.0, 1), 3000.0) is False, "it may be one that was used"
    assert factors.check(tx, "ann", code(tx, 3060.0), 3060.0)


def test_a_factor_is_needed_of_roles_that_decide(tx: Any) -> None:
    approver, both = Caller("a", frozenset({"approver"})), Caller("b", frozenset({"approver", "owner"}))
    assert not factors.needed(tx, approver, "approve")
    factors.require(tx, ["owner", "owner"])
    assert [factors.needed(tx, c, "approve") for c in (approver, both)] == [False, False]
    assert [factors.needed(tx, c, "confirm") for c in (approver, both)] == [False, True]
    assert not factors.needed(tx, both, "audit")
    assert factors.check_required(["owner", "approver", "owner"]) == ["owner", "approver"]
    with pytest.raises(UsageError, match="those who decide"):
        factors.check_required(["clerk"])


# --- accounts ----------------------------------------------------------------------------------------------------------------


def person(tx: Any, name: str, *roles: str) -> str:
    """A new actor with a token; its digest."""
    accounts.add(tx, name, roles, 0.0)
    return accounts.token_digest(tx.store, accounts.issue_token(tx, name, 0.0))


def test_a_token_reaches_its_roles_domains_and_action() -> None:
    whole = Caller("a", frozenset({"operator"}), frozenset({"d"}))
    whole.require("find", "d")
    whole.require("find")
    Caller("a", frozenset({"operator"})).require("find", "any")
    for action, domain in (("reveal", None), ("find", "e")):
        with pytest.raises(AccessError):
            whole.require(action, domain)
    lent = Caller("a", frozenset({"operator"}), action="find")
    lent.require("find")
    for refused in (lent.require_whole, lambda: lent.require("translate")):
        with pytest.raises(AccessError):
            refused()
    whole.require_whole()


def test_an_auditor_only_audits_and_somebody_has_a_role() -> None:
    assert accounts.check_roles(["auditor"]) == ("auditor",)
    for roles in (["auditor", "owner"], [], ["boss"]):
        with pytest.raises(UsageError):
            accounts.check_roles(roles)


@pytest.mark.parametrize(
    ("name", "fits"), [("a" * 100, True), ("a" * 101, False), ("", False), (" a", False), ("a\n", False), ("a", True)]
)
def test_the_name_of_an_actor(name: str, fits: bool) -> None:
    if fits:
        assert accounts.check_name(name) == name
    else:
        with pytest.raises(UsageError):
            accounts.check_name(name)


def test_the_last_owner_stays(tx: Any) -> None:
    person(tx, "ann", "owner")
    person(tx, "bob", "clerk")
    with pytest.raises(UsageError, match="only owner"):
        accounts.require_another(tx, "ann", "owner")
    accounts.require_another(tx, "bob", "owner")
    person(tx, "cyd", "owner")
    accounts.require_another(tx, "ann", "owner")
    tx.kept[ACTOR, "cyd"]["enabled"] = False
    with pytest.raises(UsageError, match="only owner"):
        accounts.require_another(tx, "ann", "owner")
    with pytest.raises(UsageError, match="exists already"):
        accounts.check_new(tx, "Ann")


def test_a_token_ends_at_its_end_and_with_its_person(tx: Any) -> None:
    digest = person(tx, "ann", "operator", "clerk")
    assert accounts.caller(tx, digest, accounts.TOKEN_LIFE - 1).roles == {"operator", "clerk"}
    tx.kept[ACTOR, "ann"]["roles"] = ["clerk"]
    assert accounts.caller(tx, digest, 0.0).roles == {"clerk"}, "what was taken from a person is taken from the token"
    for time in (accounts.TOKEN_LIFE, accounts.TOKEN_LIFE + 1):
        with pytest.raises(AccessError, match="not valid"):
            accounts.caller(tx, digest, time)
    tx.kept[TOKEN, digest]["expires"] = None
    assert accounts.caller(tx, digest, 1e12)
    tx.kept[ACTOR, "ann"]["enabled"] = False
    for unknown in (digest, "0" * 64):
        with pytest.raises(AccessError, match="not valid"):
            accounts.caller(tx, unknown, 0.0)


def test_a_renewed_token_lives_as_long_as_the_old_one(tx: Any) -> None:
    accounts.add(tx, "ann", ["operator", "clerk"], 0.0)
    old = accounts.token_digest(tx.store, accounts.issue_token(tx, "ann", 100.0, scopes=["clerk"], expires=150.0, label="l"))
    new = accounts.token_digest(tx.store, accounts.renew_token(tx, old, 120.0))
    assert tx.get(TOKEN, old) is None
    assert tx.get(TOKEN, new) == {
        "actor": "ann", "scopes": ["clerk"], "domains": [], "expires": 170.0, "label": "l", "issued": 120.0,
    }  # fmt: skip
    accounts.extend_token(tx, new, 169.0)
    assert tx.get(TOKEN, new)["expires"] == 170.0
    accounts.extend_token(tx, new, 170.0)
    assert (tx.get(TOKEN, new)["issued"], tx.get(TOKEN, new)["expires"]) == (170.0, 220.0)
    assert accounts._life({"expires": None, "issued": 1.0}) == accounts._life({"expires": 7.0}) == accounts.TOKEN_LIFE


def test_somebody_can_log_in_with_a_token_of_their_own_that_has_the_role(tx: Any) -> None:
    digest = person(tx, "ann", "owner")
    body = tx.get(TOKEN, digest)
    assert accounts.can_log_in(tx, "owner", accounts.TOKEN_LIFE - 1)
    assert not accounts.can_log_in(tx, "owner", accounts.TOKEN_LIFE)
    assert not accounts.can_log_in(tx, "auditor", 0.0)
    for change in ({"own": "x"}, {"scopes": ["clerk"]}, {"actor": "bob"}):
        tx.put(TOKEN, digest, {**body, **change})
        assert not accounts.can_log_in(tx, "owner", 0.0)
    tx.put(TOKEN, digest, {**body, "expires": None})
    assert accounts.can_log_in(tx, "owner", 1e12)
    tx.kept[ACTOR, "ann"]["enabled"] = False
    assert not accounts.can_log_in(tx, "owner", 0.0)


def test_a_token_has_no_more_than_its_actor(tx: Any) -> None:
    accounts.add(tx, "ann", ["operator", "clerk"], 0.0)
    tx.put(DOMAIN, "d", {})
    assert accounts.check_token(tx, "ann", domains=["d"])["scopes"] == ["clerk", "operator"]
    assert accounts.check_token(tx, "ann", scopes=["clerk"])["scopes"] == ["clerk"]
    for settings in ({"scopes": ["owner"]}, {"scopes": ["clerk", "owner"]}, {"domains": ["e"]}, {"domains": ["d", "e"]}):
        with pytest.raises(UsageError):
            accounts.check_token(tx, "ann", **settings)
    with pytest.raises(UsageError, match="no actor"):
        accounts.check_token(tx, "bob")


def test_an_invitation_takes_all_its_codes_once_and_in_time(tx: Any) -> None:
    accounts.add(tx, "ann", ["clerk"], 0.0)
    one, two = accounts.new_code(), accounts.new_code()
    accounts.invite(tx, "ann", [one, two], 0.0)
    for codes, time in (([one], 0.0), ([one, two], accounts.LIFE), ([one, one], 0.0), ([one, accounts.new_code()], 0.0)):
        with pytest.raises(AccessError, match="not valid"):
            accounts.claim(tx, codes, time)
    name, token = accounts.claim(tx, [f" {two.upper()} ", one], accounts.LIFE - 1)
    assert name == "ann"
    assert accounts.caller(tx, accounts.token_digest(tx.store, token), accounts.LIFE).roles == {"clerk"}
    with pytest.raises(AccessError, match="not valid"):
        accounts.claim(tx, [one, two], 0.0)


def test_what_is_lent_does_one_thing_for_at_most_a_day_and_ends_with_its_token(tx: Any) -> None:
    own = person(tx, "ann", "operator")
    tx.put(DOMAIN, "d", {})

    def lend(action: str = "find", domains: Any = (), seconds: float = 60.0, time: float = 0.0, under: str = own) -> str:
        return accounts.token_digest(tx.store, accounts.lend(tx, under, action, domains=domains, seconds=seconds, time=time))

    lent = lend(domains=["d"])
    caller = accounts.caller(tx, lent, 59.0)
    assert (caller.action, caller.domains, caller.roles) == ("find", {"d"}, {"operator"})
    for settings in (
        {"action": "reveal"},
        {"action": "audit"},
        {"seconds": 0.0},
        {"seconds": accounts.LONGEST + 1},
        {"domains": ["e"]},
    ):
        with pytest.raises((UsageError, AccessError)):
            lend(**settings)
    assert lend(seconds=accounts.LONGEST)
    with pytest.raises(AccessError, match="one action only"):
        lend(under=lent)
    lend(time=60.0)
    assert tx.get(TOKEN, lent) is None, "what has ended does not pile up"
    narrow = accounts.token_digest(tx.store, accounts.issue_token(tx, "ann", 0.0, domains=["d"]))
    assert accounts.caller(tx, lend(under=narrow), 1.0).domains == {"d"}
    last = lend()
    tx.remove(TOKEN, own)
    with pytest.raises(AccessError, match="not valid"):
        accounts.caller(tx, last, 1.0)


def test_every_token_of_an_actor_is_taken_back(tx: Any) -> None:
    mine, other = person(tx, "ann", "clerk"), person(tx, "bob", "clerk")
    accounts.invite(tx, "ann", [accounts.new_code()], 0.0)
    assert accounts.revoke_tokens(tx, "ann") == 1
    assert (tx.get(TOKEN, mine), tx.get(TOKEN, other) is None) == (None, False)
    assert accounts.revoke_tokens(tx, "ann", kind=ENROLMENT) == 1


def test_under_a_time_that_was_wrong_every_life_keeps_its_length(tx: Any) -> None:
    tokens = {
        "before": ({"issued": 10.0, "expires": 500.0}, {"issued": 10.0, "expires": 500.0}),
        "now": ({"issued": 100.0, "expires": 500.0}, {"issued": 100.0, "expires": 500.0}),
        "after": ({"issued": 101.0, "expires": 500.0}, {"issued": 100.0, "expires": 499.0}),
        "for ever": ({"issued": 101.0, "expires": None}, {"issued": 101.0, "expires": None}),
        "old lent": (
            {"own": "x", "expires": 200.0 + accounts.LONGEST},
            {"own": "x", "issued": 100.0, "expires": 100.0 + accounts.LONGEST},
        ),
        "old": ({"expires": 1e9}, {"expires": 1e9}),
    }
    for name, (body, _) in tokens.items():
        tx.put(TOKEN, name, body)
    for kind, end, life in ((ENROLMENT, "until", accounts.LIFE), (CHALLENGE, "expires", CHALLENGE_SECONDS)):
        tx.put(kind, "at its end", {end: 100.0 + life})
        tx.put(kind, "beyond", {end: 101.0 + life})
    states = {REQUEST: ("pending", "approved", "done"), CHANGE: ("pending", "confirmed", "done")}
    for kind, names in states.items():
        for status in names:
            tx.put(kind, f"{status} then", {"created": 100.0, "status": status})
            tx.put(kind, f"{status} later", {"created": 101.0, "status": status})
    accounts.set_back(tx, 100.0)
    assert {name: tx.get(TOKEN, name) for name in tokens} == {name: after for name, (_, after) in tokens.items()}
    for kind, end, life in ((ENROLMENT, "until", accounts.LIFE), (CHALLENGE, "expires", CHALLENGE_SECONDS)):
        assert [tx.get(kind, name)[end] for name in ("at its end", "beyond")] == [100.0 + life] * 2
    for kind, ended in ((REQUEST, "withdrawn"), (CHANGE, "denied")):
        *living, done = states[kind]
        assert [tx.get(kind, f"{s} then")["status"] for s in (*living, done)] == [*living, done]
        assert [tx.get(kind, f"{s} later")["status"] for s in (*living, done)] == [ended, ended, done]
