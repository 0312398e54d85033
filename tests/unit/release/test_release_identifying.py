"""A column that names people by itself is not published as it is, unless a person says so (NEEDS A17)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import shoal
from shoal.errors import DataError, MissingColumnError, PolicyError, RoleError
from shoal.find import ColumnFacts
from shoal.release.gate import identifying as gate
from shoal.release.gate.column_facts import ColumnReader
from shoal.release.gate.identifying import check_identifying, check_ids, identifying
from shoal.release.policy.policy import Policy

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
    assert shoal.Policy.of(policy.to_json()).identifying == {"code": ""}
    reasoned = shoal.Policy.of(asked("code", identifying={"code": "drawn at random for this table"}))
    assert shoal.Policy.of(reasoned.to_json()).identifying == {"code": "drawn at random for this table"}


def numbers(low, high, seed=3, n=N):
    rng = np.random.default_rng(seed)
    return [low + int(v) for v in rng.choice(high - low, n, replace=False)]


def degrees(middle, places=5, n=N):
    rng = np.random.default_rng(7)
    return [round(float(v), places) for v in rng.uniform(middle - 1, middle + 1, n)]


SHAPES = {
    "nine digits": {"nr": numbers(10**8, 10**9)},
    "nine digits, unnamed": {"x7": numbers(10**8, 10**9)},
    "nine digits as decimals": {"x7": [float(v) for v in numbers(10**8, 10**9)]},
    "eight digits, three rows each": {"x7": [v for v in numbers(10**7, 10**8, n=N // 3) for _ in range(3)]},
    "latitude": {"lat": degrees(52, 3)},
    "unnamed degrees": {"q1": degrees(52)},
    "a pair of degrees": {"north": degrees(52), "east": degrees(5.5)},
    "one e-mail address": {"product": ["bread", "milk", "salt"] * (N // 3 - 1) + ["bread", "milk", "ask ann@example.org"]},
    "accounts": {"product": ["GB82WEST12345698765432", "DE89370400440532013000", "bread"] * (N // 3)},
}
NO_SHAPES = {
    "seven digits": {"x7": [v for v in numbers(10**6, 10**7, n=N // 3) for _ in range(3)]},
    "round amounts": {"budget": [10 * v for v in numbers(10**8, 10**9)]},
    "days": {"x7": [20200000 + 100 * (i % 12 + 1) + i % 28 + 1 for i in range(N)]},
    "long amounts by name": {"total_cost": numbers(10**8, 10**9)},
    "coarse degrees": {"lat": degrees(52, 2)},
    "one column of exact measurements": {"density": degrees(52)},
    "scores": {"first": degrees(0, 6), "second": degrees(0, 6)},
    "computed": {"first": [v / 7 for v in degrees(52)], "second": [v / 7 for v in degrees(90)]},
}


def several(columns):
    roles = {"quasi": ["age"], "insensitive": list(columns)}
    return pa.table({"age": [i % 5 for i in range(N)], **columns}), {"roles": roles, "require": {"k": 5}}


@pytest.mark.parametrize("name", SHAPES)
def test_the_shape_alone_is_enough(name):
    made, policy = several(SHAPES[name])
    with pytest.raises(RoleError, match="would be published as it is") as error:
        check_identifying(shoal.open(made), shoal.Policy.of(policy))
    assert "the reason" in str(error.value)


@pytest.mark.parametrize("name", NO_SHAPES)
def test_measurements_and_amounts_are_let_through(name):
    made, policy = several(NO_SHAPES[name])
    check_identifying(shoal.open(made), shoal.Policy.of(policy))


def test_the_reason_is_signed(tmp_path):
    made, policy = several(SHAPES["nine digits"])
    why = "numbers of lottery tickets, sold without a name"
    folder = shoal.anonymize(made, {**policy, "allow": {"identifying": {"nr": why}}}).write(tmp_path / "out")
    assert any(f"nr ({why})" in limit for limit in shoal.verify(folder).certificate.limits)


@pytest.mark.parametrize("reason", ["", "  ", "no reason"])
def test_a_reason_says_something(reason):
    with pytest.raises(PolicyError, match="identifying"):
        shoal.Policy.of(asked("code", identifying={"code": reason}))


@pytest.mark.parametrize(
    ("name", "label", "values", "refused"),
    [
        ("pid3", "3 point party identification", [float(1 + i * 7 % 5) for i in range(300)], False),
        ("pid3", "", [float(1 + i * 7 % 5) for i in range(300)], True),
        ("v12", "Household identification number", [float(7 * (1 + i // 4) % 97) for i in range(300)], True),
        ("v12", "", [float(1 + i * i % 11) for i in range(300)], False),
        ("v3", "Party identification", [f"p{i * 37 % 300}@mail.example" for i in range(300)], True),
    ],
    ids=["a label explains a name", "no label", "a label says a number of people", "codes", "a label shields no values"],
)
def test_labels_of_a_statistics_file_count(tmp_path: Path, name: str, label: str, values: list[object], refused: bool) -> None:
    frame = pd.DataFrame({name: values, "sex": [1.0, 2.0] * 150})
    pyreadstat.write_sav(frame, str(tmp_path / "in.sav"), column_labels=[label, "Sex"])
    policy = {"roles": {"quasi": ["sex"], "sensitive": [name]}, "require": {"k": 5}}
    if refused:
        with pytest.raises(RoleError, match=f"column '{name}'"):
            shoal.anonymize(tmp_path / "in.sav", policy)
    else:
        assert shoal.anonymize(tmp_path / "in.sav", policy).k >= 5


def test_each_way_to_state_that_a_column_names_nobody():
    """A reason under either line of ``allow``, or the list of the preset."""
    made, policy = table("row", BLOCKED["row"][0]), shoal.Policy.of(asked("row"))
    with pytest.raises(RoleError, match="numbers the rows"):
        check_identifying(shoal.open(made), policy)
    check_identifying(shoal.open(made), replace(policy, identifying={"row": "why"}))
    check_identifying(shoal.open(made), replace(policy, none_of_the_eighteen={"row": "why"}))
    check_identifying(shoal.open(made), policy, judged=["row"])


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([3 * i for i in range(N)], False),
        (list(range(7, N + 7)), True),
        ([*range(7, N + 6), N + 7], False),  # one number is left out
        ([17 * i * i - 40 for i in range(N)], False),
    ],
)
def test_numbers_that_all_differ_are_let_through_unless_they_number_the_rows(values, named):
    made, policy = table("z", values), shoal.Policy.of(asked("z"))
    if named:
        with pytest.raises(RoleError, match="numbers the rows"):
            check_identifying(shoal.open(made), policy)
    else:
        check_identifying(shoal.open(made), policy)


@pytest.mark.parametrize("cell", ["mail to ann.smith@example.org", "078-05-1120", "NL91ABNA0417164300"])
def test_a_single_cell_that_names_somebody_by_its_form_is_enough(cell):
    made = table("z", [*(["fine", "better", "worse"] * (N // 3))[:-1], cell])
    with pytest.raises(RoleError, match="some of its values are or hold"):
        check_identifying(shoal.open(made), shoal.Policy.of(asked("z")))


ONE_CELL = {
    "an account in a sentence": "please pay GB82 WEST 1234 5698 7654 32 by Monday",
    "an account": "de89370400440532013000",
    "an account with words behind it": "NL91ABNA0417164300 of the mother",
    "a card": "4111111111111111",
    "a card in groups": "card 4111 1111 1111 1111 was used",
    "an American Express card": "3782-822463-10005",
    "an American Express card of the other kind": "340000000000009",
    "a Mastercard": "5555 5555 5555 4444",
    "a Mastercard of the new kind": "2221000000000009",
    "a Discover card": "6011 1111 1111 1117",
    "a Discover card of the other kind": "6500-0000-0000-0002",
    "a card in full width": "４１１１１１１１１１１１１１１１",
    "an account with points": "GB82.WEST.1234.5698.7654.32",
    "an account with long hyphens": "GB82\u2014WEST\u20121234\u22125698\u20137654\u201032",
    "a card with a sign at its end that nobody sees": "4111\ufeff11111111\u206011\u200c1\u200d1\u00ad",
    "a number in full width": "２１９-０９-１２３４",
    "a number with hyphens that do not break": "219\u201109\u20111234",
    "a number with signs that nobody sees": "219-\u200b09-\u200b1234",
    "an address": "write to jo@example.org",
}
NO_CELL = {
    "an account with a wrong check digit": "please pay GB83 WEST 1234 5698 7654 32 by Monday",
    "an account that is too short": "DE8937040044053201300",
    "an account that is too long": "DE893704004405320130001",
    "an account within a longer code": "XGB82WEST12345698765432",
    "a card with a wrong check digit": "4111111111111112",
    "a card that is too long": "41111111111111110",
    "a decimal number": "0.4111111111111111",
    "another number that ends like a card": "1001 0000 0000 0008",
}


@pytest.mark.parametrize("name", [*ONE_CELL, *NO_CELL])
def test_one_cell_names_somebody_or_does_not(name):
    values = [*(f"answer {a}{b}" for a in "abcdef" for b in "vwxyz"), {**ONE_CELL, **NO_CELL}[name]]
    facts = ColumnFacts("status", "text", values, np.array([*[10] * 30, 1]), 301, 0)
    assert bool(identifying(facts)) == (name in ONE_CELL)


@pytest.mark.parametrize("name", [*ONE_CELL, *NO_CELL])
def test_one_cell_of_many_is_enough(name):
    cell = {**ONE_CELL, **NO_CELL}[name]
    values = np.array([f"answer {'abcdefgh'[i % 8]}" for i in range(400)], dtype=object)
    values[[7, 11]] = cell, "see https://example.org/a"  # a web address before or behind hides nothing
    rows = pa.table({"age": [i % 5 for i in range(400)], "status": values})
    if name in NO_CELL:
        assert shoal.anonymize(rows, asked("status")).k >= 5
        return
    with pytest.raises(RoleError, match="some of its values are or hold"):
        shoal.anonymize(rows, asked("status"))


def test_one_card_among_small_whole_numbers_is_enough():
    values = [i % 5 for i in range(400)]
    rows = {"age": [i % 5 for i in range(400)], "score": [4111111111111111, *values[1:]]}
    with pytest.raises(RoleError, match="payment card numbers"):
        shoal.anonymize(pa.table(rows), asked("score"))


def test_bytes_that_differ_in_every_row_are_looked_at_too():
    made = table("z", pa.array([f"P{i:05d}x".encode() for i in range(N)]))
    with pytest.raises(RoleError, match="would be published as it is"):
        check_identifying(shoal.open(made), shoal.Policy.of(asked("z")))


def test_only_numbers_are_taken_for_amounts_by_their_name():
    made = table("total_cost", BLOCKED["story"][0])
    with pytest.raises(RoleError, match="would be published as it is"):
        check_identifying(shoal.open(made), shoal.Policy.of(asked("total_cost")))


@pytest.mark.parametrize(("exact", "refused"), [(48, True), (47, False)])
def test_a_latitude_is_exact_if_four_of_five_values_have_three_places(exact, refused):
    values = [51 + (17 * i % 97) / 100 + 0.001 if i < exact else 52 + i / 10 for i in range(N)]
    made, policy = several({"lat": [round(v, 3) for v in values]})
    if refused:
        with pytest.raises(RoleError, match="written like exact positions"):
            check_identifying(shoal.open(made), shoal.Policy.of(policy))
    else:
        check_identifying(shoal.open(made), shoal.Policy.of(policy))


@pytest.mark.parametrize(("gap", "refused"), [(0, True), (1, False)])
def test_numbers_of_rows_are_seen_although_some_are_missing(gap, refused):
    made = table("z", [*range(7, N + 3), N + 3 + gap, None, None, None])
    if refused:
        with pytest.raises(RoleError, match="numbers the rows"):
            check_identifying(shoal.open(made), shoal.Policy.of(asked("z")))
    else:
        check_identifying(shoal.open(made), shoal.Policy.of(asked("z")))


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_a_column_of_either_role_is_looked_at_and_the_error_names_the_role(role):
    with pytest.raises(RoleError, match=f"column 'z' is called {role} and would be published"):
        check_identifying(shoal.open(table("z", BLOCKED["mail"][0])), shoal.Policy.of(asked("z", role)))


def test_positions_in_decimal_numbers_are_looked_at_too():
    north, east = ([f"{base + (17 * i % 997) / 10_000 + 0.00001:.5f}" for i in range(N)] for base in (52, 7))
    for cast in (float, Decimal):
        made, policy = several({"reading_one": [cast(v) for v in north], "reading_two": [cast(v) for v in east]})
        with pytest.raises(RoleError, match="written like exact positions"):
            check_identifying(shoal.open(made), shoal.Policy.of(policy))


@pytest.mark.parametrize(("other", "twins"), [("p 1", 1), ("p1 ", 1), ("\uff50\uff11", 1), ("P1", 0), ("p-1", 0)])
def test_ids_that_differ_in_spaces_or_form_only_are_one_person(other, twins, monkeypatch):
    monkeypatch.setattr(gate, "MOST_IDS", 3)
    columns = ColumnReader(shoal.open(pa.table({"id": ["p1", other, "p2"]})))
    if twins:
        with pytest.raises(DataError, match="1 ids of the person column 'id' differ"):
            check_ids(columns, "id", "text", 3)
    check_ids(columns, "id", "text", 3 if not twins else 4)  # longer tables are not compared


@pytest.mark.parametrize(
    ("name", "first", "step", "stops"), [("ssn", 10, 1, True), ("weight", 300_000_007, 7, True), ("weight", 1007, 7, False)]
)
def test_weights_are_published_so_they_must_not_name_people(name: str, first: int, step: int, stops: bool) -> None:
    data = {"age": [20, 30] * 20, "ill": ["flu", "cold"] * 20, name: [first + step * i for i in range(40)]}
    policy = Policy.of(roles={"quasi": ["age"], "sensitive": ["ill"]}, weight=name, require={"k": 5})
    table = shoal.open(pa.table(data), quasi=["age"], weight=name)
    if not stops:
        check_identifying(table, policy)
        return
    with pytest.raises(RoleError, match=f"column '{name}' is called the weight and would be published as it is"):
        check_identifying(table, policy)
