"""A column that names people by itself is not published as it is, unless a person says so (NEEDS A17)."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shoal
from shoal.errors import MissingColumnError, RoleError

N = 60
SENTENCE = "the patient came in with a cough and left after three days of rest, case "
BLOCKED = {
    "code": ([f"P{i:05d}x" for i in range(N)], "nearly every row has its own"),
    "mail": ([f"someone{i % 9}@example.org" for i in range(N)], "e-mail"),
    "remark": ([f"{SENTENCE}{i % 30}" for i in range(N)], "its name says free text"),
    "entry": ([f"{SENTENCE}{i % 30}" for i in range(N)], "long texts"),
    "story": ([f"{SENTENCE}{i}" for i in range(N)], "long texts"),
    "row": (list(range(7, N + 7)), "numbers the rows"),
    "patient_id": ([31 * i % 997 for i in range(N)], "its name says"),
}
FINE = {
    "amount": [17 * i * i - 40 for i in range(N)],  # whole numbers that happen to differ
    "share": [i / 7 for i in range(N)],
    "colour": ["red", "green"] * (N // 2),
    "when": pa.array(range(N), pa.date32()),
    "empty": pa.nulls(N, pa.string()),
}


def asked(column, role="insensitive", **allow):
    roles = {"quasi": ["age"], "insensitive": [], "sensitive": []}
    roles[role] = [column]
    return {"roles": roles, "require": {"k": 5}, "allow": {"suppress": 0.5, **allow}}


def table(name, values):
    return pa.table({"age": [i % 5 for i in range(N)], name: values})


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
@pytest.mark.parametrize("name", BLOCKED)
def test_it_is_blocked_with_the_reason_and_the_way_out(name, role, tmp_path):
    values, why = BLOCKED[name]
    with pytest.raises(RoleError, match=why) as error:
        shoal.anonymize(table(name, values), asked(name, role))
    assert "allow: {identifying:" in str(error.value)
    assert not any(str(v) in str(error.value) for v in values if len(str(v)) > 2)
    release = shoal.anonymize(table(name, values), asked(name, role, identifying=[name]))
    release.write(tmp_path / "out")
    assert any(name in limit and "look like identifiers" in limit for limit in release.certificate.limits)


@pytest.mark.parametrize("name", FINE)
def test_what_merely_differs_is_let_through(name):
    assert shoal.anonymize(table(name, FINE[name]), asked(name)).k >= 5


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(MissingColumnError, match=r"allow\.identifying"):
        shoal.anonymize(table("colour", FINE["colour"]), asked("colour", identifying=["color"]))


def test_the_policy_keeps_it():
    policy = shoal.Policy.of(asked("code", identifying=["code"]))
    assert policy.to_json()["allow"]["identifying"] == ["code"]
    assert shoal.Policy.of(policy.to_json()).identifying == ("code",)
