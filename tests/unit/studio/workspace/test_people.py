"""Users, passwords and the slowing of guesses, at their limits."""

from __future__ import annotations

import base64

import pytest

from shoal.errors import UsageError
from shoal.studio.workspace.people import (
    FORGOTTEN,
    FREE,
    LEAST,
    MOST,
    MOST_WAIT,
    People,
    Throttle,
    checked,
    fits,
    invented,
    kept,
    known_name,
)


def test_passwords_at_their_limits():
    word = "correct horse battery staple " * 40
    assert checked(word[:LEAST]) == word[:LEAST]
    assert checked(word[:MOST]) == word[:MOST]
    for wrong in (word[: LEAST - 1], word[: MOST + 1], "abc" * 4):
        with pytest.raises(UsageError):
            checked(wrong)
    assert checked("abcd" * 3) == "abcd" * 3
    with pytest.raises(UsageError):
        checked("Anna.Kowalski", "anna.kowalski")
    told = kept("caf\u00e9 au lait, s'il")
    assert fits("cafe\u0301 au lait, s'il", told), "the same letters from another keyboard"
    assert not fits("cafe au lait, s'il", told)
    assert told != kept("caf\u00e9 au lait, s'il"), "a salt of its own"
    assert checked(invented()) != invented()


def test_failures_cost_nothing_first_then_twice_as_much_each():
    now = [0.0]
    door = Throttle(lambda: now[0])
    waits = []
    for _ in range(FREE + 8):
        waits.append(door.wait("ann", "1.2.3.4"))
        door.failed("ann", "1.2.3.4")
    assert waits == [0.0] * FREE + [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]
    assert door.wait("ann", "9.9.9.9") == MOST_WAIT["name"], "a stranger locks nobody out for long"
    assert door.wait("bob", "1.2.3.4") == 256.0
    assert door.wait("bob", "9.9.9.9") == 0.0
    now[0] += 255.5
    assert door.wait("bob", "1.2.3.4") == 0.5
    door.succeeded("ann", "1.2.3.4")
    assert door.wait("ann", "1.2.3.4") == 0.0
    for _ in range(FREE):
        door.failed("ann", "x")
    now[0] += FORGOTTEN
    door.failed("ann", "x")
    assert door.wait("ann", "x") == 0.0, "an hour without a failure begins anew"


def test_users_share_a_workspace_or_have_their_own(tmp_path):
    secret = "four words in a row"
    with People(tmp_path) as people:
        anna = people.users.add("Anna", "editor", secret)
        ben = people.users.add("ben", "viewer", secret, beside="ANNA")
        carl = people.users.add("carl", "admin", secret)
        assert ben.space == anna.space != carl.space
        assert (anna.changes, ben.changes, carl.changes) == (True, False, True)
        with pytest.raises(UsageError, match="already"):
            people.users.add("ANNA", "editor", secret)
        with pytest.raises(UsageError, match="looks at somebody"):
            people.users.add("dora", "viewer", secret)
        assert people.users.check(" Anna ", secret) == anna
        assert people.users.check("anna", secret + " ") is None
        assert people.users.check("nobody", secret) is None
        token = people.visits.begin(name=ben.name)
        assert people.visits.who(token) == ben
        people.users.give_password("ben", secret + "!")
        assert people.visits.who(token) is None
        token = people.visits.begin(name=ben.name)
        people.users.remove("ben")
        assert people.visits.who(token) is None
    for name in ("", "-a", "a b", "a/b", "..", "a" * 65, "\u0430nna"):
        with pytest.raises(UsageError):
            known_name(name)
    assert known_name("a" * 64) == "a" * 64


def test_what_is_done_to_one_user_changes_no_other(tmp_path):
    secret, other = "four words in a row", "other words in a row"
    with People(tmp_path) as people:
        for name in ("anna", "ben", "carl"):
            people.users.add(name, "editor", secret)
        visits = {name: people.visits.begin(name=name) for name in ("anna", "ben", "carl")}
        people.users.give_role("ben", "admin")
        people.users.give_password("ben", other)
        assert [u.role for u in people.users.all()] == ["editor", "admin", "editor"]
        assert [people.users.check(name, secret) is not None for name in visits] == [True, False, True]
        assert people.users.check("ben", other) is not None
        assert [people.visits.holds(token) for token in visits.values()] == [True, False, True], "a new password ends sessions"
        assert people.visits.who(visits["carl"]).name == "carl"
        people.users.remove("anna")
        assert [u.name for u in people.users.all()] == ["ben", "carl"]
        assert [people.visits.holds(token) for token in visits.values()] == [False, False, True], "and so does leaving"
        people.users.add("anna", "editor", secret)
        assert not people.visits.holds(visits["anna"]), "nor does a later user of that name get them"
        assert people.visits.who(visits["anna"]) is None


@pytest.mark.parametrize("role", ["", "Admin", "owner"])
def test_roles_are_the_known_ones(tmp_path, role):
    with People(tmp_path) as people, pytest.raises(UsageError, match="not a role"):
        people.users.add("anna", role, "four words in a row")


def test_a_session_ends_at_its_hour(tmp_path, monkeypatch):
    now = [1_000_000.0]
    monkeypatch.setattr("shoal.studio.workspace.workspace.time.time", lambda: now[0])
    with People(tmp_path) as people:
        people.users.add("anna", "editor", "four words in a row")
        token, later = people.visits.begin(name="anna", hours=1), people.visits.begin(name="anna", hours=2)
        now[0] += 3600 - 1
        assert people.visits.who(token) is not None
        now[0] += 1
        assert people.visits.who(token) is None
        assert not people.visits.holds(token)
        assert people.visits.holds(people.visits.begin(name="anna"))
        assert people.visits.holds(later), "a new session removes ended ones only"
        people.visits.end(later)
        assert not people.visits.holds(later)


def test_a_password_fits_as_a_whole():
    stored = kept("four words in a row")
    *front, digest = stored.split("$")
    changed = base64.b64encode(base64.b64decode(digest)[:-1] + b"\0").decode()
    assert fits("four words in a row", stored)
    assert not fits("four words in a row", "$".join([*front, changed]))
    assert not fits("x" * (MOST + 1), kept("x" * (MOST + 1))), "longer ones are not tried"
    assert not fits("four words in a row", stored.replace("scrypt", "plain"))


def test_ten_thousand_names_are_remembered(monkeypatch):
    monkeypatch.setattr("shoal.studio.workspace.people.MOST_KNOWN", 4)
    door = Throttle(lambda: 0.0)
    for name in ("a", "b"):
        door.failed(name, name)
    assert len(door._failed) == 4
    door.failed("c", "c")
    assert [key for _, key in door._failed] == ["b", "b", "c", "c"], "the oldest are forgotten"
