"""Changes of a policy: what is changed is in the text, what is not stays, and the text is always a policy."""

from __future__ import annotations

import pytest

import shoal
from shoal.errors import PolicyError, UsageError
from shoal.model.roles import Role
from shoal.release.linked.policy import LinkedPolicy
from shoal.release.policy import file as policy_file
from shoal.release.policy.policy import Policy
from shoal.studio.workspace import edits

PEOPLE = {
    "name": [f"Ann Bakker {i}" for i in range(30)],
    "age": [20 + i % 7 for i in range(30)],
    "sex": ["f", "m"] * 15,
    "diagnosis": ["flu", "cold", "hiv"] * 10,
}


@pytest.fixture(scope="module")
def first() -> str:
    return edits.first_policy(shoal.inspect(PEOPLE))


def roles(text: str) -> dict[str, set[str]]:
    made = Policy.parse(text)
    named = {"direct": made.direct, "quasi": made.quasi, "sensitive": made.sensitive, "insensitive": made.insensitive}
    return {role: set(columns) for role, columns in named.items()}


def test_the_first_policy_has_a_role_for_every_column(first: str) -> None:
    made = Policy.parse(first)
    assert set().union(*roles(first).values()) == set(PEOPLE)
    assert (made.smallest_class, made.suppress, made.method) == (5, 0.0, "best")


def test_a_role_moves_a_column_and_nothing_else(first: str) -> None:
    moved = edits.with_role(first, ["age"], Role.SENSITIVE)
    before, after = roles(first), roles(moved)
    assert after["sensitive"] == before["sensitive"] | {"age"}
    assert after["quasi"] == before["quasi"] - {"age"}
    assert roles(edits.with_role(moved, ["age"], Role.QUASI)) == before
    fixed = edits.with_levels(first, {"age": 1}, {})
    assert edits.with_role(fixed, ["age"], Role.QUASI) == fixed, "the role it has already leaves its levels"


def test_levels_are_both_bounds(first: str) -> None:
    made = Policy.parse(edits.with_levels(edits.with_keep(first, "age", "high"), {"age": 1}, {}))
    assert (made.quasi["age"].min_level, made.quasi["age"].max_level, made.quasi["age"].weight) == (1, 1, 4)
    assert (made.quasi["sex"].min_level, made.quasi["sex"].max_level) == (None, None)
    with pytest.raises(UsageError):
        edits.with_levels(first, {"diagnosis": 1}, {})


def test_what_has_to_stay_detailed(first: str) -> None:
    for word, weight in (("high", 4), ("low", 0.25), ("normal", 1)):
        assert Policy.parse(edits.with_keep(first, "age", word)).quasi["age"].weight == weight
    by_number = first.replace("age: {", "age: {weight: 2, ")
    assert Policy.parse(by_number).quasi["age"].weight == 2
    assert Policy.parse(edits.with_keep(by_number, "age", "high")).quasi["age"].weight == 4, "a number gives way"
    kept = edits.with_keep(edits.with_keep(first, "age", "high"), "sex", "low")
    moved = Policy.parse(edits.with_role(kept, ["age"], Role.SENSITIVE))
    assert moved.quasi["sex"].weight == 0.25
    for column, word in (("diagnosis", "high"), ("age", "heavy")):
        with pytest.raises(PolicyError):
            edits.with_keep(first, column, word)


def test_what_it_is_used_for_goes_with_the_role_of_its_columns(first: str) -> None:
    counted = edits.with_objective(first, {"counts": ["age", "sex"]})
    assert Policy.parse(counted).objective == {"counts": ["age", "sex"]}
    fewer = edits.with_role(counted, ["age"], Role.SENSITIVE)
    assert Policy.parse(fewer).objective == {"counts": ["sex"]}
    assert Policy.parse(edits.with_unit(fewer, "sex")).objective == {}
    predicted = edits.with_objective(first, {"predict": "diagnosis"})
    assert Policy.parse(predicted).objective == {"predict": "diagnosis"}
    assert Policy.parse(edits.with_role(predicted, ["diagnosis"], Role.DIRECT)).objective == {}
    assert Policy.parse(edits.with_objective(predicted, {})).objective == {}
    with pytest.raises(PolicyError):
        edits.with_objective(first, {"predict": "age"})


def test_bands_replace_levels_and_are_taken_away_again(first: str) -> None:
    made = edits.with_hierarchy(edits.with_levels(first, {"age": 1}, {}), "age", {"intervals": [5, 10]})
    rule = Policy.parse(made).quasi["age"]
    assert (rule.hierarchy, rule.min_level) == ({"intervals": [5, 10]}, None)
    assert Policy.parse(edits.with_hierarchy(made, "age", None)).quasi["age"].hierarchy is None
    with pytest.raises(UsageError):
        edits.with_hierarchy(first, "diagnosis", {"intervals": [5]})


def test_what_differs_in_k_only_is_the_same_without_it(first: str) -> None:
    assert edits.without_k(edits.with_k(first, 7)) == edits.without_k(first)
    assert edits.without_k(edits.with_suppress(first, 0.2)) != edits.without_k(first)
    assert edits.freed(edits.with_levels(first, {"age": 1, "sex": 0}, {})) == edits.freed(first)
    assert Policy.parse(edits.freed(edits.with_levels(first, {"age": 1, "sex": 0}, {}), ["age"])).quasi["age"].min_level == 1


def test_who_sees_it_and_what_is_asked(first: str) -> None:
    public = edits.with_preset(first, "ema-public")
    assert Policy.parse(public).smallest_class == 12
    by_hand = edits.with_k(public, 7)
    assert Policy.parse(by_hand).smallest_class == 7
    assert Policy.parse(edits.with_preset(by_hand, "internal")).smallest_class == 5
    assert Policy.parse(edits.with_suppress(first, 0.1)).suppress == 0.1
    for wrong in (lambda: edits.with_preset(first, "nonsense"), lambda: edits.with_k(first, 1)):
        with pytest.raises(PolicyError):
            wrong()


def test_the_person_column_has_no_other_role(first: str) -> None:
    named = edits.with_unit(first, "name")
    assert Policy.parse(named).unit == "name"
    assert "name" not in set().union(*roles(named).values())
    assert roles(edits.with_unit(named, None))["direct"] >= {"name"}, "anyone who names people is left out again"
    assert Policy.parse(edits.with_role(named, ["name"], Role.DIRECT)).unit is None


def test_the_sign_off(first: str) -> None:
    signed = edits.with_about(first, {"approved_by": " M.  Okafor ", "purpose": "study 7", "recipient": ""})
    about = Policy.parse(signed).about
    assert (about["approved_by"], about["purpose"], "recipient" in about) == ("M. Okafor", "study 7", False)
    assert edits.with_about(signed, {}) == first


def test_a_policy_that_was_written_otherwise_is_read(first: str) -> None:
    text = "roles:\n  quasi: [age, sex]\n  direct: {name: {}}\n  rest: drop\nrequire: {k: 3}   # three\n"
    assert edits.check_policy(text) == text
    made = Policy.parse(edits.with_levels(text, {"age": 2}, {}))
    assert (made.quasi["age"].min_level, list(made.quasi), made.rest, made.k) == (2, ["age", "sex"], "drop", 3)
    with pytest.raises(PolicyError):
        edits.check_policy("roles: {quasi: [age]}\nrequire: {k: 0}")


def test_hostile_names_come_back_as_they_were() -> None:
    names = ["<img src=x onerror=alert(1)>", "=cmd()", "no", 'a"b', "x" * 200, "\u202eright", "a: {b}", "- c", "#d"]
    table = {name: ["f", "m"] * 15 for name in names}
    text = edits.first_policy(shoal.inspect(table))
    for name in names:
        text = edits.with_role(text, [name], Role.QUASI)
    assert set(Policy.parse(edits.with_levels(text, dict.fromkeys(names, 1), {})).quasi) == set(names)


def test_one_answer_for_all_columns_that_nobody_named(first: str) -> None:
    left_out = edits.with_rest(first, "drop")
    assert Policy.parse(left_out).rest == "drop"
    assert roles(left_out) == roles(first)
    assert Policy.parse(edits.with_role(left_out, ["age", "sex"], Role.INSENSITIVE)).rest == "drop", "a role leaves the answer"


ODD = (
    "a: b",
    "#x",
    "- y",
    "1",
    "true",
    "null",
    "2020-01-01",
    "'",
    '"',
    "{z}",
    " lead",
    "tab\there",
    "ünï",
    "x" * 150,
    "? q",
    "*a",
    "&b",
)


def test_a_policy_that_was_written_here_is_the_one_that_is_read_again() -> None:
    """The changed policy is remembered without being read: what a later process reads from its text must be the same."""
    text = Policy.of(quasi=list(ODD), sensitive=["s"], k=3).to_yaml()
    rule = {"groups": {"A": ["1", "yes", "2020-01-01", ""], "B": ["no", "~", "1e3"]}}
    shared = {"values": {"l": list(ODD)}, "why": "because"}
    changes = (
        lambda t: edits.with_levels(t, {c: i % 3 for i, c in enumerate(ODD)}, dict.fromkeys(ODD, shared)),
        lambda t: edits.with_hierarchy(t, ODD[0], rule),
        lambda t: edits.with_suppress(t, 1e-05),
        lambda t: edits.with_about(t, {"approved_by": "yes", "review": "2027-01-31", "purpose": "a: b # c"}),
        lambda t: edits.with_role(t, [ODD[3], "s"], Role.DIRECT),
        lambda t: edits.with_read(t, {"skip": 0, "comment": "none"}),
    )
    for change in changes:
        text = change(text)
        held, read = edits.parsed(text), Policy.parse(text)
        assert held == read
        assert held.document == policy_file.plain(read.document)
    assert "&id" not in text, "no part is an alias of another"


def test_a_moved_slider_writes_its_level_only(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = {"groups": {f"g{i}": [f"value {i} {j}" for j in range(40)] for i in range(5)}, "why": "guessed"}
    text = edits.with_levels("roles: {quasi: {age: {}, job: {}}}\nrequire: {k: 5}\n", {"age": 1, "job": 0}, {"job": rule})
    written: list[str] = []
    write = policy_file.write_yaml
    monkeypatch.setattr(policy_file, "write_yaml", lambda said: written.append(write(said)) or written[-1])
    moved = edits.with_levels(text, {"job": 1}, {"job": rule})
    assert sum(map(len, written)) < 100, "the groups are written already"
    assert Policy.parse(moved).quasi["job"].min_level == 1
    assert Policy.parse(moved).quasi["job"].hierarchy == Policy.parse(text).quasi["job"].hierarchy


def test_linked_tables_are_signed_too_and_an_approval_is_of_one_release() -> None:
    tables = "tables:\n  a: {table: a.csv, roles: {quasi: [x]}}\n  b: {table: b.csv, roles: {quasi: [y]}}\n"
    linked = f"{tables}links: {{b.who: a.id}}\nrequire: {{k: 5}}\napproved_by: X\n"
    signed = edits.with_about(linked, {"approved_by": " M.  Okafor ", "purpose": ""})
    assert LinkedPolicy.of(policy_file.plain(policy_file.read_yaml(signed))).about["approved_by"] == "M. Okafor"
    assert "approved_by" not in edits.with_about(linked, {})
    own = "roles: {quasi: [age]}\nrequire: {k: 5}\npurpose: p\n"
    assert edits.unapproved(own) == own
    assert Policy.parse(edits.unapproved(f"{own}approved_by: X\n")).about == {"purpose": "p"}
