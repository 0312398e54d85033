"""Users, passwords and the slowing of guesses, at their limits."""

from __future__ import annotations

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
