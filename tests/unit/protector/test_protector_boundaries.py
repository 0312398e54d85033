"""Each limit of the vault exactly at its line and one step beside it."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from protector_support import House
from shoal.errors import AccessError, DataError, UsageError
from shoal.protector import Holder, Limit, Renewal, care
from shoal.protector.crypto import base32
from shoal.protector.crypto.ciphers import FormatPreserving, Reversible, require_version
from shoal.protector.crypto.master_keys import KeyRefusedError, check_strength
from shoal.protector.crypto.primitives import Secret
from shoal.protector.log import audit, checkpoints
from shoal.protector.people import accounts, changes, limits, requests
from shoal.protector.people.accounts import Caller
from shoal.protector.pseudonyms.domains import Context, Domain
from shoal.protector.pseudonyms.identities import LONGEST_IDENTITY, encoded, text_column
from shoal.protector.store.database import Tx
from shoal.protector.store.state import ACTOR

WEEK = 7 * 86400.0
THOUSAND = "".join(map(chr, range(0x4E00, 0x4E00 + 1000)))


@pytest.fixture
def asked(sqlite_house: House) -> tuple[House, str]:
    """A house with one request, made now."""
    sqlite_house.owner.create_domain("d")
    (made,) = sqlite_house.operator.pseudonymize("d", ["0012"])
    return sqlite_house, sqlite_house.request("d", [made], seconds=WEEK).id


@pytest.mark.parametrize(("late", "good"), [(-1.0, True), (0.0, False), (1.0, False), (3600.0, False)])
def test_an_approval_ends_at_expiry(asked: tuple[House, str], late: float, good: bool) -> None:
    house, request = asked
    house.clock.now += WEEK + late
    if good:
        assert house["Aldo"].approve(request).status == "approved"
    else:
        with pytest.raises(AccessError, match="expired"):
            house["Aldo"].approve(request)


@pytest.mark.parametrize(("late", "good"), [(-1.0, True), (0.0, False), (1.0, False), (3600.0, False)])
def test_a_reveal_ends_at_expiry(asked: tuple[House, str], late: float, good: bool) -> None:
    house, request = asked
    house["Aldo"].approve(request)
    house.clock.now += WEEK + late
    if good:
        assert list(house["Rita"].reveal(request).identities.values()) == ["0012"]
    else:
        with pytest.raises(AccessError, match="expired"):
            house["Rita"].reveal(request)
        assert house["Rita"].requests()[0].status == "approved"


def test_who_may_decide_deliver_and_withdraw_and_when(asked: tuple[House, str]) -> None:
    house, request = asked
    aldo = house["Aldo"].frame.token
    with house.vault.store.write() as tx:
        with pytest.raises(AccessError, match="their own"):
            requests.decide(tx, request, approver="Rita", token="", approve=True, time=0.0)
        with pytest.raises(AccessError, match="second person"):
            requests.deliver(tx, request, requester="Rita", time=0.0)
        with pytest.raises(AccessError, match="somebody else"):
            requests.deliver(tx, request, requester="Aldo", time=0.0)
        with pytest.raises(AccessError, match="somebody else"):
            requests.withdraw(tx, request, requester="Aldo")
        assert requests.decide(tx, request, approver="Aldo", token=aldo, approve=True, time=0.0).approver == "Aldo"
        with pytest.raises(AccessError, match="no longer"):
            requests.decide(tx, request, approver="Ana", token="", approve=False, time=0.0)
        assert requests.withdraw(tx, request, requester="Rita").status == "withdrawn"
        with pytest.raises(AccessError, match="already"):
            requests.withdraw(tx, request, requester="Rita")


def test_an_approval_without_a_second_person_delivers_nothing(asked: tuple[House, str]) -> None:
    """Whatever is written in the store: no approver, or the requester as approver, is no approval."""
    from dataclasses import replace

    house, request = asked
    with house.vault.store.write() as tx:
        made = requests.load(tx, request)
        for approver in ("", "Rita"):
            requests.save(tx, replace(made, status="approved", approver=approver))
            with pytest.raises(AccessError, match="second person"):
                requests.deliver(tx, request, requester="Rita", time=0.0)
        requests.save(tx, replace(made, approver="Aldo"))
        with pytest.raises(AccessError, match="second person"):
            requests.deliver(tx, request, requester="Rita", time=0.0)


def _create(house: House, seconds: float = 1.0, **given: Any) -> requests.Request:
    usual = {"pseudonyms": ("P-1",), "purpose": "p", "case": "c"}
    with house.vault.store.write() as tx:
        asked = requests.Request(id="", requester="Rita", domain="d", created=0.0, expires=0.0, **{**usual, **given})
        return requests.create(tx, asked, seconds)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({"pseudonyms": [str(i) for i in range(10_000)]}, {"pseudonyms": [str(i) for i in range(10_001)]}),
        ({"pseudonyms": ["x" * 20_000]}, {"pseudonyms": ["x" * 20_001]}),
        ({"pseudonyms": ["x", "x"]}, {"pseudonyms": []}),
        ({"pseudonyms": ["x"]}, {"pseudonyms": ["x", ""]}),
        ({"purpose": "p" * 200}, {"purpose": "p" * 201}),
        ({"case": "c" * 200}, {"case": "c" * 201}),
        ({"purpose": " p "}, {"purpose": "  "}),
        ({"case": "c"}, {"case": ""}),
        ({"seconds": 30 * 86400.0}, {"seconds": 30 * 86400.0 + 1}),
        ({"seconds": 0.001}, {"seconds": 0.0}),
    ],
)
def test_the_size_of_a_request(sqlite_house: House, good: dict[str, object], bad: dict[str, object]) -> None:
    made = _create(sqlite_house, **good)
    assert made.status == "pending"
    assert made.expires == made.created + float(str(good.get("seconds", 1.0)))
    with pytest.raises(UsageError):
        _create(sqlite_house, **bad)


def test_a_request_of_ten_thousand_and_one_names_of_ten_thousand_people(sqlite_house: House) -> None:
    assert _create(sqlite_house, pseudonyms=[*(str(i) for i in range(10_000)), "0"]).records == 10_000


def counted(tx: Tx, records: int, time: float) -> bool:
    """Count and store, as an action does; whether an alarm line was crossed."""
    usage, crossed = limits.count(tx, "Olga", "find", "", records, time)
    limits.keep(tx, "Olga", "find", usage)
    return crossed


def test_a_limit_counts_up_to_its_line(sqlite_house: House) -> None:
    day = Limit(100.0, 5, 3)
    with sqlite_house.vault.store.write() as tx:
        limits.set_limit(tx, "find", "*", day)

        def count(records: int, time: float = 0.0) -> bool:
            return counted(tx, records, time)

        assert [count(3), count(1), count(1)] == [False, True, False]  # at the alarm line, above it, once only
        with pytest.raises(AccessError, match=r"6 records .*; 5 are allowed"):
            count(1)
        assert count(0) is False
        with pytest.raises(AccessError):
            count(1, 99.9)
        assert count(5, 100.0) is True  # the next window
        limits.set_limit(tx, "find", "*", Limit(100.0, None, None))
        limits.set_limit(tx, "find", "*", Limit(50.0, 5, None))
        assert count(5, 100.0) is False  # another window counts for itself


def test_a_limit_of_zero_allows_nothing_and_an_alarm_of_zero_tells_everything(sqlite_house: House) -> None:
    with sqlite_house.vault.store.write() as tx:
        limits.set_limit(tx, "find", "*", Limit(100.0, 0, None))
        assert counted(tx, 0, 0.0) is False
        with pytest.raises(AccessError, match="over the limit"):
            counted(tx, 1, 0.0)
        limits.set_limit(tx, "find", "*", Limit(100.0, None, 0))
        assert counted(tx, 1, 0.0) is True


def test_an_alarm_line_alone_is_counted_and_no_line_is_not(sqlite_house: House) -> None:
    with sqlite_house.vault.store.write() as tx:
        limits.set_limit(tx, "find", "*", Limit(100.0, None, 2))
        assert counted(tx, 3, 0.0) is True
        for limit in (Limit(100.0, None, None), *(Limit(d.seconds, None, None) for d in limits.DEFAULTS["find"])):
            limits.set_limit(tx, "find", "*", limit)
        assert counted(tx, 10**9, 0.0) is False


@pytest.mark.parametrize("given", [(0.0, 1, 1), (-1.0, 1, 1), (1.0, -1, 1), (1.0, 1, -1)])
def test_a_limit_needs_a_window_and_counts(given: tuple[float, int, int]) -> None:
    with pytest.raises(UsageError):
        Limit(*given)
    assert Limit(0.5, 0, 0).max == 0


@pytest.mark.parametrize("action", ["request", "reveal"])
def test_reveals_stay_bounded(sqlite_house: House, action: str) -> None:
    with sqlite_house.vault.store.write() as tx:
        limits.set_limit(tx, action, "*", Limit(86400.0, 100_000, None))
        limits.set_limit(tx, action, "*", Limit(43200.0, 50_000, None))
        for limit in (Limit(86400.0, 100_001, None), Limit(43200.0, 50_001, None), Limit(86400.0, None, 1)):
            with pytest.raises(UsageError, match="100,000 records a day"):
                limits.set_limit(tx, action, "*", limit)
        limits.set_limit(tx, "find", "*", Limit(1.0, None, None))
        with pytest.raises(UsageError, match="has no limit"):
            limits.set_limit(tx, "verify", "*", Limit(1.0, 1, None))


def test_a_token_ends_at_its_expiry(sqlite_house: House) -> None:
    end = sqlite_house.clock.now + 100
    sqlite_house.owner.create_domain("d")
    token = sqlite_house.token("Olga", expires=end, domains=["d"])
    digest = accounts.token_digest(sqlite_house.vault.store, token)
    with sqlite_house.vault.store.read() as tx:
        assert accounts.caller(tx, digest, end - 0.001).domains == {"d"}
        for time in (end, end + 1):
            with pytest.raises(AccessError, match="not valid"):
                accounts.caller(tx, digest, time)


def test_what_a_token_reaches() -> None:
    narrow, wide = Caller("a", frozenset({"operator"}), frozenset({"d"})), Caller("a", frozenset({"operator"}))
    assert narrow.reaches("d")
    assert not narrow.reaches("e")
    assert wide.reaches("e")
    narrow.require("find", "d")
    wide.require("find", "e")
    with pytest.raises(AccessError, match="reach"):
        narrow.require("find", "e")
    with pytest.raises(AccessError, match="role"):
        wide.require("approve")


def test_names_of_actors() -> None:
    assert accounts.check_name("x" * 100) == "x" * 100
    for name in ("", "x" * 101, " x", "x ", "a\nb"):
        with pytest.raises(UsageError):
            accounts.check_name(name)


def test_only_the_last_owner_stays(sqlite_house: House) -> None:
    with sqlite_house.vault.store.write() as tx:
        with pytest.raises(UsageError, match="only owner"):
            accounts.require_another(tx, "Otto", "owner")
        accounts.require_another(tx, "Olga", "owner")
        accounts.add(tx, "Second", ["owner"], 0.0)
        accounts.require_another(tx, "Otto", "owner")


@pytest.mark.parametrize("days", [1, 10**9])
def test_renewal_takes_whole_numbers_from_one_on(days: int) -> None:
    assert (Renewal(days=days).days, Renewal(uses=days).uses) == (days, days)


@pytest.mark.parametrize("days", [0, -1, 10**9 + 1])
def test_renewal_refuses_others(days: int) -> None:
    for given in ({"days": days}, {"uses": days}):
        with pytest.raises(UsageError, match="makes no sense"):
            Renewal(**given)


def test_a_period_begins_on_its_day() -> None:
    assert [Renewal(days=10).epoch(date(1970, 1, d)) for d in (1, 10, 11)] == ["d0", "d0", "d1"]
    assert [Renewal(on=("2025-01-31",)).epoch(date(2025, m, d)) for m, d in ((1, 30), (1, 31), (2, 1))] == ["o0", "o1", "o1"]


def test_lengths_of_names_prefixes_and_contexts() -> None:
    assert Domain("d" * 63, prefix="P" * 8).prefix == "P" * 8
    assert Domain("d", prefix="").prefix == ""
    for bad in ({"name": "d" * 64}, {"name": ""}, {"name": "_d"}, {"name": "d", "prefix": "P" * 9}, {"name": "d", "prefix": "1"}):
        with pytest.raises(UsageError):
            Domain(**bad)  # type: ignore[arg-type]
    role = Domain("d", scope="role")
    assert len(Context("r" * 255).frame(role, "")) == 255 + 6
    with pytest.raises(UsageError, match="255 bytes"):
        Context("r" * 256).frame(role, "")


def test_an_alphabet_has_two_characters_each_once() -> None:
    assert Domain("d", kind="format-preserving", alphabet="ab", keep="-").keep == "-"
    for bad in ({"alphabet": "a"}, {"alphabet": "aa"}, {"alphabet": "ab", "keep": "b"}, {"scope": "transaction"}):
        with pytest.raises(UsageError):
            Domain("d", kind="format-preserving", **bad)  # type: ignore[arg-type]


def test_identities_have_at_most_4096_bytes() -> None:
    assert encoded(["x" * LONGEST_IDENTITY, "ä" * (LONGEST_IDENTITY // 2)])
    for long in ("x" * (LONGEST_IDENTITY + 1), "ä" * (LONGEST_IDENTITY // 2) + "x"):
        with pytest.raises(DataError, match="4096"):
            encoded(["0012", long])
    assert encoded([]) == []
    assert text_column(["0012", None])[0].to_pylist() == ["0012", None]
    with pytest.raises(UsageError, match="text"):
        text_column(["0012", 12])


@pytest.mark.parametrize(("alphabet", "shortest"), [("0123456789", 6), ("ab", 20), (THOUSAND, 2)])
def test_formats_have_a_million_values(alphabet: str, shortest: int) -> None:
    cipher = FormatPreserving(Secret(bytes(range(32))), alphabet, "-", b"d")
    assert cipher.shortest == shortest
    fits = alphabet[0] * shortest
    assert cipher.decode(b"", cipher.encode(b"", [fits])[0]) == fits
    assert cipher.decode(b"", fits[1:]) is None
    with pytest.raises(DataError, match="too short"):
        cipher.encode(b"", [fits, fits[1:] + "-"])


def test_which_key_version_is_meant() -> None:
    assert (require_version(None, [3]), require_version(2, [1, 2])) == (3, 2)
    for version, living in ((None, [1, 2]), (3, [1, 2]), (1, [2])):
        with pytest.raises(UsageError):
            require_version(version, living)


@pytest.mark.parametrize(("late", "good"), [(-1.0, True), (0.0, False), (1.0, False)])
def test_a_challenge_ends_after_five_minutes(sqlite_house: House, late: float, good: bool) -> None:
    domain = sqlite_house.owner.create_domain("own", kind="self-generated")
    me, operator = Holder.generate(), sqlite_house.operator
    mine = me.registration(sqlite_house.vault.id, domain.id)
    operator.register("own", mine)
    challenge = operator.challenge("own", mine["pseudonym"])
    proof = me.prove(sqlite_house.vault.id, domain.id, challenge)
    sqlite_house.clock.now += 300 + late
    assert operator.check_ownership("own", mine["pseudonym"], challenge, proof) is good
    assert not operator.check_ownership("own", mine["pseudonym"], challenge, proof)  # used up


def test_ten_wrong_tokens_a_minute_are_logged(sqlite_house: House) -> None:
    def logged() -> int:
        return len(care.read_log(sqlite_house.auditor, actions=["login"]))

    def wrong(times: int) -> None:
        for _ in range(times):
            with pytest.raises(AccessError):
                sqlite_house.vault.login("wrong")

    wrong(11)
    assert logged() == 10
    sqlite_house.clock.now += 59.9
    wrong(1)
    assert logged() == 10
    sqlite_house.clock.now += 0.1
    wrong(1)  # the eleven are a minute old: only the twelfth counts still
    assert logged() == 11


def test_a_checkpoint_after_128_events(sqlite_house: House) -> None:
    with sqlite_house.vault.store.write() as tx:
        checkpoints.sign_checkpoint(tx, 0.0)
        before = tx.state.checkpoint_seq
        audit.append(tx, 0.0, [{"actor": "A-x", "action": "find", "outcome": "done"}] * 127)
        assert tx.state.checkpoint_seq == before
        audit.append(tx, 0.0, [{"actor": "A-x", "action": "find", "outcome": "done"}])
        assert tx.state.checkpoint_seq == before + 128


def test_the_last_events_of_the_log(sqlite_house: House) -> None:
    whole = care.read_log(sqlite_house.auditor)
    assert [e["n"] for e in whole] == list(range(1, len(whole) + 1))
    assert care.read_log(sqlite_house.auditor, last=1) == whole[-1:]
    assert care.read_log(sqlite_house.auditor, last=len(whole)) == whole == care.read_log(sqlite_house.auditor, last=10**6)


def test_reveals_of_a_day_and_until_a_day(asked: tuple[House, str]) -> None:
    house, request = asked
    house["Aldo"].approve(request)
    house["Rita"].reveal(request)
    (row,) = care.reveals(house.auditor)
    day = row["time"][:10]
    assert care.reveals(house.auditor, since=day, until=day) == [row]
    assert care.reveals(house.auditor, of=row["subject"]) == care.reveals(house.auditor, of=row["actor"]) == [row]
    assert care.reveals(house.auditor, since="2100-01-01") == care.reveals(house.auditor, until="1999-01-01") == []
    assert care.reveals(house.auditor, purpose=" Adverse Event") == [row]
    assert care.reveals(house.auditor, purpose="x") == []


def test_a_domain_has_at_most_250_keys(sqlite_house: House) -> None:
    from dataclasses import replace

    from shoal.protector.store.state import DOMAIN

    made = sqlite_house.owner.create_domain("k", kind="keyed")

    def at(version: int) -> None:
        with sqlite_house.vault.store.write() as tx:
            states = tuple((v, "destroyed", "") for v in range(1, version))
            moved = replace(made, active=version, versions=(*states, (version, "active", "")))
            tx.put(DOMAIN, "k", moved.to_json())

    at(250)
    with pytest.raises(UsageError, match="250 key versions"):
        sqlite_house.agree(care.rotate_domain, "k")
    at(249)
    assert sqlite_house.agree(care.rotate_domain, "k").active == 250


def test_how_random_a_master_key_must_look() -> None:
    def key(distinct: int) -> Secret:
        # squares step irregularly: only the number of different bytes matters
        return Secret(bytes((i * i + 128) % 256 for i in range(distinct)) + bytes([128]) * (32 - distinct))

    values = [len(set(key(n).expose())) for n in range(18, 33)]
    n20 = 18 + next(i for i, found in enumerate(values) if found >= 20)
    n19 = 18 + max(i for i, found in enumerate(values) if found == 19)
    check_strength(key(n20))
    with pytest.raises(KeyRefusedError, match="repeats"):
        check_strength(key(n19))
    for size in (31, 33):
        with pytest.raises(KeyRefusedError, match="exactly 32"):
            check_strength(Secret(bytes(range(size))))


def test_events_name_their_actor_and_wrong_tokens_nobody(sqlite_house: House) -> None:
    with pytest.raises(AccessError):
        sqlite_house.vault.login("wrong")
    events = care.read_log(sqlite_house.auditor)
    assert [e["action"] for e in events if e["actor"] == "A-unknown"] == ["login"]
    owner = audit.actor_pseudonym(sqlite_house.vault.store, "Udo")  # anyone who confirms carries it out
    assert {e["actor"] for e in events if e["action"] == "grant"} == {owner}


def test_a_request_lives_seven_days_unless_said(asked: tuple[House, str]) -> None:
    house, _ = asked
    made = house["Rita"].request("d", ["P-" + "0" * 26], purpose="p", case="c")
    assert made.expires - made.created == 7 * 86400


def test_the_log_says_whether_a_translation_was_allowed_or_ended(sqlite_house: House) -> None:
    for name in ("a", "b"):
        sqlite_house.owner.create_domain(name)
    sqlite_house.connect("a", "b")
    sqlite_house.owner.allow_translation("a", "b", allowed=False)
    told = [e.get("detail") for e in care.read_log(sqlite_house.auditor, actions=["domain"])][-2:]
    assert told == ["translation allowed", "translation ended"]


# --- each condition of the second person by itself, on the store --------------------------------------------------------------


def propose(tx: Tx, house: House, action: str = "shred", time: float = 0.0, **what: Any) -> changes.Change:
    return changes.propose(tx, action, what, proposer="Otto", token=house.owner.frame.token, time=time, code="half")


def confirm(tx: Tx, house: House, change: changes.Change, time: float = 0.0, *, agree: bool = True) -> changes.Change:
    return changes.decide(tx, change.id, second="Udo", token=house.auditor.frame.token, agree=agree, time=time)


def test_the_same_change_is_of_one_person_action_and_content_and_lives_a_week(sqlite_house: House) -> None:
    with sqlite_house.vault.store.write() as tx:
        made = propose(tx, sqlite_house, domain="d")
        assert made.expires == WEEK

        def same(time: float = 0.0, proposer: str = "Otto", action: str = "shred", **what: Any) -> changes.Change | None:
            return changes.same(tx, action, what or {"domain": "d"}, proposer=proposer, time=time)

        assert same(WEEK - 1) == made
        assert [same(WEEK), same(proposer="Oda"), same(action="rotate"), same(domain="e")] == [None] * 4
        later = propose(tx, sqlite_house, time=1.0, domain="d")
        assert same(2.0) == made, "the first of two that wait"
        confirmed = confirm(tx, sqlite_house, later, 2.0)
        assert same(3.0) == confirmed, "a confirmed one comes first"
        used = changes.use(tx, confirmed, time=3.0)
        assert (used.status, used.code) == ("used", "")
        assert same(4.0) == made, "one that was used does not count"
        other = confirm(tx, sqlite_house, propose(tx, sqlite_house, domain="f"))
        changes.use(tx, other, time=1.0)
        assert same(2.0, domain="f") is None


def test_who_may_decide_about_a_change_and_when(sqlite_house: House) -> None:
    with sqlite_house.vault.store.write() as tx:
        made = propose(tx, sqlite_house, domain="d")
        for own in ("Otto", "OTTO"):
            with pytest.raises(AccessError, match="nobody confirms their own"):
                changes.decide(tx, made.id, second=own, token=sqlite_house.auditor.frame.token, agree=True, time=0.0)
        with pytest.raises(AccessError, match="expired"):
            confirm(tx, sqlite_house, made, WEEK)
        assert confirm(tx, sqlite_house, made, WEEK - 1, agree=False).status == "denied"
        for agree in (True, False):
            with pytest.raises(AccessError, match="can no longer be decided"):
                confirm(tx, sqlite_house, made, 0.0, agree=agree)
        confirmed = confirm(tx, sqlite_house, propose(tx, sqlite_house, domain="d"))
        with pytest.raises(AccessError, match="can no longer be decided"):
            confirm(tx, sqlite_house, confirmed, agree=False)


def test_a_change_of_a_person_without_the_right_can_only_be_denied(sqlite_house: House) -> None:
    with sqlite_house.vault.store.write() as tx:
        made = propose(tx, sqlite_house, domain="d")
        actor = tx.get(ACTOR, "Otto")
        assert actor is not None
        tx.put(ACTOR, "Otto", {**actor, "losses": 1})
        with pytest.raises(AccessError, match="died with the rights"):
            confirm(tx, sqlite_house, made)
        assert confirm(tx, sqlite_house, made, agree=False).status == "denied"


def test_a_change_is_applied_once_as_it_is_stored(sqlite_house: House) -> None:
    from dataclasses import replace

    with sqlite_house.vault.store.write() as tx:
        made = propose(tx, sqlite_house, domain="d")
        claimed = replace(made, status="confirmed", second="Udo", tokens=(*made.tokens, sqlite_house.auditor.frame.token))
        with pytest.raises(AccessError, match="second person"):
            changes.use(tx, claimed, time=0.0)
        for second in ("", "otto"):
            changes._save(tx, replace(claimed, second=second))
            with pytest.raises(AccessError, match="second person"):
                changes.use(tx, made, time=0.0)
        changes._save(tx, made)
        confirm(tx, sqlite_house, made)
        with pytest.raises(AccessError, match="expired"):
            changes.use(tx, made, time=WEEK)
        changes.use(tx, made, time=WEEK - 1)
        with pytest.raises(AccessError, match="second person"):
            changes.use(tx, made, time=0.0)


@pytest.mark.parametrize("which", [0, 1])
def test_a_change_dies_with_each_loss_of_rights(sqlite_house: House, which: int) -> None:
    """Also if the person has the right again: ``losses`` counts."""
    with sqlite_house.vault.store.write() as tx:
        made = confirm(tx, sqlite_house, propose(tx, sqlite_house, domain="d"))
        name = ("Otto", "Udo")[which]
        actor = tx.get(ACTOR, name)
        assert actor is not None
        for changed in ({"losses": actor.get("losses", 0) + 1}, {"roles": ["operator"]}, {"enabled": False}):
            tx.put(ACTOR, name, {**actor, **changed})
            with pytest.raises(AccessError, match="died with the rights"):
                changes.use(tx, made, time=0.0)
        tx.put(ACTOR, name, actor)
        assert changes.use(tx, made, time=0.0).status == "used"


def test_an_approval_is_of_every_part_of_a_request() -> None:
    from dataclasses import replace

    made = requests.Request("REQ-1", "Rita", "d", ("P-1",), "p", "c", 1.0, 2.0)
    others: dict[str, Any] = {
        "id": "REQ-2", "requester": "Rolf", "domain": "e", "pseudonyms": ("P-2",), "purpose": "q", "case": "d", "expires": 3.0,
        "key_version": 1, "role": "r", "relation": "of", "recipient": "key",
    }  # fmt: skip
    assert len({made.digest, *(replace(made, **{name: value}).digest for name, value in others.items())}) == 12


def test_each_condition_of_a_decision_about_a_request(asked: tuple[House, str]) -> None:
    from dataclasses import replace

    house, request = asked
    token, now = house["Aldo"].frame.token, house.clock.now
    with house.vault.store.write() as tx:
        made = requests.load(tx, request)

        def decide(approver: str = "Aldo", *, approve: bool = True, digest: str | None = None) -> requests.Request:
            return requests.decide(tx, request, approver=approver, token=token, approve=approve, time=now, digest=digest)

        for own in ("Rita", "RITA"):
            with pytest.raises(AccessError, match="nobody approves their own"):
                decide(own)
        with pytest.raises(AccessError, match="not the request that was read"):
            decide(digest="0" * 64)
        requests.save(tx, replace(made, flagged=True))
        with pytest.raises(AccessError, match="held back"):
            decide()
        assert decide(approve=False).status == "denied"
        requests.save(tx, made)
        assert decide(digest=made.digest).status == "approved"


def test_each_condition_of_a_delivery(asked: tuple[House, str]) -> None:
    """The approval is of this request, by the approver's own token, who has had the right and reached the domain ever since."""
    from dataclasses import replace

    house, request = asked
    house.owner.create_domain("other")
    house["Aldo"].approve(request)
    now = house.clock.now
    strange = {
        "requester": house["Rita"].frame.token,
        "elsewhere": accounts.token_digest(house.vault.store, house.token("Aldo", domains=["other"])),
        "Ana": house["Ana"].frame.token,
    }
    with house.vault.store.write() as tx:
        made = requests.load(tx, request)
        digest, at, token, losses = made.approved
        for other in strange.values():
            requests.save(tx, replace(made, approved=(digest, at, other, losses)))
            with pytest.raises(AccessError, match="died with the approver's rights"):
                requests.deliverable(tx, request, requester="Rita", time=now)
        requests.save(tx, replace(made, approved=(digest, at, token, losses + 1)))
        with pytest.raises(AccessError, match="died with the approver's rights"):
            requests.deliverable(tx, request, requester="Rita", time=now)
        requests.save(tx, replace(made, case="another"))
        with pytest.raises(AccessError, match="not what was approved"):
            requests.deliverable(tx, request, requester="Rita", time=now)
        requests.save(tx, made)
        actor = tx.get(ACTOR, "Aldo")
        assert actor is not None
        tx.put(ACTOR, "Aldo", {**actor, "roles": ["operator"]})
        with pytest.raises(AccessError, match="died with the approver's rights"):
            requests.deliverable(tx, request, requester="Rita", time=now)
        tx.put(ACTOR, "Aldo", actor)
        assert requests.deliverable(tx, request, requester="Rita", time=now) == made


def test_any_role_of_a_person_permits() -> None:
    both = Caller("a", frozenset({"operator", "requester"}))
    both.require("find")
    both.require("reveal")
    with pytest.raises(AccessError, match="needs the role"):
        both.require("approve")


def test_the_token_of_a_person_has_the_roles_that_both_have(sqlite_house: House) -> None:
    with sqlite_house.vault.store.write() as tx:
        accounts.add(tx, "Nina", ["operator", "requester"], 0.0)
        digest = accounts.token_digest(tx.store, accounts.issue_token(tx, "Nina", 0.0, scopes=["operator"]))
        assert accounts.caller(tx, digest, 1.0).roles == {"operator"}
        actor = tx.get(ACTOR, "Nina")
        assert actor is not None
        tx.put(ACTOR, "Nina", {**actor, "roles": ["requester"], "losses": 3})
        caller = accounts.caller(tx, digest, 1.0)
        assert (caller.roles, caller.losses) == (frozenset(), 3)


@pytest.mark.parametrize("name", [" a", "a ", "", "a" * 101, "a\tb"])
def test_names_with_blanks_around_them_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        accounts.check_name(name)


@pytest.mark.parametrize("action", ["approve", "reveal", "actor", "confirm", "shred"])
def test_four_eyes_and_rights_cannot_be_lent(sqlite_house: House, action: str) -> None:
    with sqlite_house.vault.store.write() as tx, pytest.raises(UsageError, match="cannot be lent"):
        accounts.lend(tx, sqlite_house.owner.frame.token, action, domains=[], seconds=1.0, time=0.0)


def test_signs_of_trying_out_count_over_calls_and_are_told_once(sqlite_house: House) -> None:
    """Numbers of one length and form that follow each other; look-ups without an answer."""
    with sqlite_house.vault.store.write() as tx:
        usage: limits.Usage = {}

        def signs(identities: list[str | None], missed: int = 0, time: float = 0.0) -> list[str]:
            return limits.enumeration_signs(tx, usage, identities, missed, time)

        def steps() -> int:
            return int(usage["enumeration"]["steps"])

        signs(["07", "8"])
        signs(["a9", "b10"])
        signs(["8", "09"])
        assert steps() == 0, "numbers of other lengths or forms do not follow each other"
        signs(["0011", "0012"])
        signs(["x"])
        signs(["0013"])
        signs(["0010"])
        assert steps() == 1 + 1 + 0, "a call without numbers forgets nothing; only the ends of the last call go on"
        assert signs([None] * 10, missed=900) == []
        assert signs([f"{2 * n:05}" for n in range(1000)], missed=100) == ["misses"]
        assert signs([f"{n:05}" for n in range(50_000, 50_998)]) == [], "999 steps"
        assert signs([f"{n:05}" for n in range(50_998, 51_000)], missed=1000) == ["sequence"], "each sign is told once"
        assert signs([f"{n:05}" for n in range(51_000, 51_001)], time=limits.WINDOW) == []
        assert steps() == 1, "the sequence goes on in the next window"


def test_only_so_many_identities_of_a_call_are_looked_at(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SAMPLE", 3)
    with sqlite_house.vault.store.write() as tx:
        usage: limits.Usage = {}
        limits.enumeration_signs(tx, usage, [str(n) for n in range(1, 9)], 0, 0.0)
        assert (usage["enumeration"]["asked"], usage["enumeration"]["steps"]) == (3, 2)


def test_every_action_has_a_bound_and_an_alarm_below_it() -> None:
    for bounded in limits.DEFAULTS.values():
        assert all(b.max is not None and b.alarm is not None and b.alarm < b.max for b in bounded)


def test_halves_of_a_code_are_told_apart_where_one_ends(sqlite_house: House) -> None:
    with sqlite_house.vault.store.read() as tx:
        split = [[b"abcde", b"fghij" * 2], [b"abcde" + b"fghij", b"fghij"]]
        codes = [[accounts.PREFIX + base32.encode(half) for half in halves] for halves in split]
        digests = {accounts._digest(tx, given) for given in (*codes, codes[0][::-1], [c.upper() + " " for c in codes[0]])}
        assert len(digests) == 2


def test_pseudonyms_of_identities_of_usual_length_have_one_length() -> None:
    box = Reversible(Secret(bytes(range(32))), b"domain")
    lengths = [len(sealed) - 16 for sealed in box.encode(b"", [b"x" * n for n in (1, 29, 30, 31, 61, 62, 63)])]
    assert lengths == [32, 32, 32, 64, 64, 64, 128]
