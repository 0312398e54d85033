"""A release that known columns refuse names the worst of them and says what to do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shoal.errors import VerificationError
from shoal.measures.subsets.column_sets import KnownColumns
from shoal.model.certificate.parts import Known
from shoal.release.make import known_columns
from shoal.steps import Keep, Round


def refused(name: str) -> VerificationError:
    verdict = SimpleNamespace(requirement=SimpleNamespace(name=name))
    return VerificationError("the written file does not meet a requirement", hint="Or allow more.", findings=(verdict,))


def test_the_refusal_names_the_columns_that_find_most() -> None:
    worst = Known(("lead", "iron", "sex"), 80, 100, 100, (), ())
    error = known_columns.name_worst(refused("known_columns"), worst, ("sex",))
    assert error.hint == "'lead', 'iron', 'sex' find 80 %: move 'lead' or 'iron' to direct and run again. Or allow more."


def test_other_refusals_stay_as_they_are() -> None:
    worst = Known(("lead",), 80, 100, 100, (), ())
    for error in (
        known_columns.name_worst(refused("k"), worst, ()),
        known_columns.name_worst(refused("known_columns"), None, ()),
        known_columns.name_worst(refused("known_columns"), worst, ("lead",)),
        known_columns.name_worst(VerificationError("x", hint="Or allow more."), worst, ()),
    ):
        assert error.hint == "Or allow more."


def test_columns_that_were_counted_alone_only_are_counted_again_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many columns only some are put together; when these are left out, the next ones may find people."""
    rounds = [
        KnownColumns(100, {("a",): 90, ("b",): 1, ("c",): 2}, 100, left_out=("b", "c")),
        KnownColumns(100, {("b",): 1, ("c",): 2, ("b", "c"): 40}, 100, left_out=("d",)),
        KnownColumns(100, {("b",): 1, ("d",): 0}, 5),
    ]
    asked: list[tuple[str, ...]] = []

    def count(without: Any, *, together: bool = True) -> KnownColumns:
        assert not together, "all columns of a wide table take longer than a round"
        asked.append(tuple(without))
        return rounds[len(asked) - 1]

    monkeypatch.setattr(known_columns, "_sets_before", lambda *_: {"records": SimpleNamespace(count=count)})
    prepared: Any = SimpleNamespace(quasi=("age",))
    out = known_columns.finding_columns(prepared, prepared, 0.05)
    assert out == ({"a": "it finds 90 % of the records", "c": "with 'b' it finds 40 % of the records"}, True)
    assert asked == [(), ("a",), ("a", "c")]
    monkeypatch.setattr(known_columns, "_sets_before", lambda *_: {})
    assert known_columns.finding_columns(prepared, prepared, 0.05) == ({}, False)


@pytest.mark.parametrize(("everything", "known"), [(5, True), (6, False)])
def test_sets_that_cannot_be_counted_are_known_only_by_all_columns(
    everything: int, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, counted = (KnownColumns(100, {("a",): 1, ("b",): 1}, n, left_out=("b",)) for n in (0, everything))
    sets = SimpleNamespace(count=lambda _, together=True: counted if together else part)
    monkeypatch.setattr(known_columns, "_sets_before", lambda *_: {"records": sets})
    prepared: Any = SimpleNamespace(quasi=())
    assert known_columns.finding_columns(prepared, prepared, 0.05) == ({}, known)


def test_a_refusal_for_want_of_counting_says_so() -> None:
    part = Known(("a",), 4, 100, 90, ("a", "b", "c"), ("c",))
    error = refused("known_columns")
    error.findings[0].requirement.limit = 0.04
    assert known_columns.name_worst(error, part, ()).hint.startswith("Sets of 2 of 3 columns could be counted")
    error.findings[0].requirement.limit = 0.039
    assert known_columns.name_worst(error, part, ()).hint.startswith("'a' find 4 %: move 'a' to direct")


def test_what_was_not_counted_is_not_said_to_single_out_nobody() -> None:
    of = ("a", "b", "c")
    assert Known((), 0, 9, 0, of, ()).sentence_of(3) == "No three published columns single out a record."
    assert Known((), 0, 9, 0, of, ("c",)).sentence_of(3) == "No three published columns single out a record."
    assert Known((), 0, 9, 7, of, ("c",)).sentence_of(3) == (
        "No three of the 2 columns whose sets were counted, and none of 3 columns alone, single out a record; "
        "all of them together find 7 of 9."
    )


# --- what is counted, and what a limit is held against -------------------------------------------------------------------------


def counts(people: int = 100, left_out: tuple[str, ...] = (), **found: int) -> KnownColumns:
    """Of so many people, how many each set of columns finds: "a_b" is that of a and b."""
    return KnownColumns(people, {tuple(names.split("_")): n for names, n in found.items()}, people, left_out=left_out)


def test_a_count_as_a_certificate_states_it() -> None:
    part = known_columns.known_part(counts(a=3, b=5, a_b=9, left_out=("c",)))
    assert part == Known(("a", "b"), 9, 100, 100, ("a", "b"), ("c",))
    assert known_columns.known_part(counts(a=0, b=0)).columns == ()


@pytest.mark.parametrize(
    ("unit", "published", "share"),
    [(None, None, 0.2), (None, "id", 0.2), ("person", "id", 0.2), ("person", None, 0.3)],
)  # fmt: skip
def test_the_limit_is_held_against_the_people_behind_a_file_that_does_not_tell_them(
    unit: str | None, published: str | None, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind = {"people": counts(a=10), "records": counts(a=30)}
    monkeypatch.setattr(known_columns, "_counted_before", lambda *_: behind)
    monkeypatch.setattr(known_columns, "published_unit", lambda *_: published)
    prepared: Any = SimpleNamespace(policy=SimpleNamespace(unit=unit), plan=None)
    known = Known(("a",), 20, 100, 100, (), ())
    assert known_columns.known_share(prepared, prepared, known) == share
    assert known_columns.known_share(prepared, prepared, None) == 1.0
    behind["records"] = counts(a=15)
    assert known_columns.known_share(prepared, prepared, known) == 0.2
    behind.clear()
    assert known_columns.known_share(prepared, prepared, known) == (1.0 if share == 0.3 else 0.2)


def test_what_was_not_counted_is_not_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: Any = SimpleNamespace(plan=None)
    monkeypatch.setattr(known_columns, "published_unit", lambda *_: "id")
    for counted in (None, counts(a=1)):
        sets = None if counted is None else SimpleNamespace(count=lambda counted=counted: counted)
        monkeypatch.setattr(known_columns, "_published_sets", lambda *_, sets=sets: sets)
        stated = known_columns.count_known(prepared, prepared, prepared, None)
        assert (stated is None) is (counted is None)


def test_people_are_found_by_all_their_records_and_records_of_nobody_are_people() -> None:
    """Codes of a file begin at 0 for a missing value: the last two records are about nobody, each for itself."""
    codes = {"a": np.array([1, 1, 2, 3, 3]), "id": np.array([1, 1, 2, 0, 0], dtype=np.int32)}
    asked: list[list[str]] = []
    file: Any = SimpleNamespace(of=lambda names: asked.append(names) or codes)
    by_people, by_records = known_columns.count_sets(file, ["a"], "id"), known_columns.count_sets(file, ["a"], None)
    assert asked == [["a", "id"], ["a"]]
    assert (by_people.people, by_people.found["a",]) == (4, 2)
    assert (by_records.people, by_records.found["a",]) == (5, 1)


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A plan that keeps "ill" and "row", rounds "pay", and drops "age" as a quasi-identifier; and what is counted of it."""
    monkeypatch.setattr(known_columns, "too_much", lambda *_: "")
    monkeypatch.setattr(known_columns, "_sets_of", lambda file, names, unit, fixed: (names, unit))
    steps = {"pay": [Keep("pay"), Round("pay", 10)], "row": [Keep("row")], "name": [Keep("name")]}
    policy = SimpleNamespace(sensitive=("ill", "pay"), insensitive=("row",), weight="w", unit="id", requirements=())
    prepared = SimpleNamespace(
        policy=policy, quasi=("age",), schema=SimpleNamespace(names=["id", "name", "row", "age", "pay", "ill", "w"])
    )
    plan = SimpleNamespace(for_column=lambda c: steps.get(c, []))
    return SimpleNamespace(
        prepared=prepared, decision=SimpleNamespace(plan=plan, released=SimpleNamespace(n_records=9)), file=None
    )


def test_published_columns_are_counted_if_no_step_changes_them(decided: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(seen: Any = None) -> Any:
        return known_columns._published_sets(decided.prepared, decided.decision, decided.file, seen, "id")

    assert counted() == (["age", "row", "ill", "w"], "id")
    assert counted(seen=object()) is None
    for records, there in ((0, False), (1, True), (known_columns.MOST_KNOWN, True), (known_columns.MOST_KNOWN + 1, False)):
        decided.decision.released.n_records = records
        assert (counted() is not None) is there
    decided.decision.released.n_records = 9
    monkeypatch.setattr(known_columns, "too_much", lambda prepared, records, columns: f"{records} records, {columns} columns")
    assert counted() is None


@pytest.mark.parametrize(
    ("limits", "shares", "few"),
    [
        ((), (99,), True), ((0.3,), (30,), True), ((0.3,), (31,), False), ((0.3, 0.1), (20,), False), ((0.3, 0.1), (10,), True),
        ((0.3,), (10, 31), False), ((0.3,), (), True),
    ],
)  # fmt: skip
def test_a_decision_finds_few_up_to_the_limit(
    limits: Any, shares: Any, few: bool, decided: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [*(SimpleNamespace(name="known_columns", limit=limit) for limit in limits), SimpleNamespace(name="k", limit=0.0)]
    decided.prepared.policy.requirements = asked
    monkeypatch.setattr(known_columns, "_counted_before", lambda *_: {i: counts(a=n) for i, n in enumerate(shares)})
    assert known_columns.finds_few(decided.prepared, decided.decision) is few


@pytest.mark.parametrize(
    ("unit", "published", "who"), [(None, None, ["records"]), ("id", None, ["people", "records"]), ("id", "id", ["people"])]
)
def test_people_and_records_are_counted_before_a_release(
    unit: str | None, published: str | None, who: list[str], decided: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(known_columns, "published_unit", lambda *_: published)
    monkeypatch.setattr(known_columns, "recode", lambda *_, keep_unit: seen.append(keep_unit))
    monkeypatch.setattr(known_columns, "by_engine", lambda *_: None)
    monkeypatch.setattr(known_columns, "FileColumns", lambda path: path.name)
    monkeypatch.setattr(known_columns, "remove_passing", lambda *_: seen.append("removed"))
    decided.prepared.policy.unit, decided.prepared.table = unit, None
    found = known_columns._sets_before(decided.prepared, decided.decision)
    assert list(found) == who
    assert [counted[1] for counted in found.values()] == [unit if name == "people" else None for name in who]
    assert seen == [unit is not None, "removed"]
    decided.decision.released.n_records = 0
    assert known_columns._sets_before(decided.prepared, decided.decision) == {}


def left_out(counted: KnownColumns, limit: float = 0.1, quasi: tuple[str, ...] = ("age",), **out: str) -> dict[str, str]:
    prepared: Any = SimpleNamespace(quasi=quasi)
    known_columns._leave_out(out, prepared, counted, limit, "people")
    return out


def test_one_column_of_every_set_beyond_the_limit_is_left_out() -> None:
    assert left_out(counts(a=10)) == {}
    assert left_out(counts(a=11)) == {"a": "it finds 11 % of the people"}
    assert left_out(counts(a=5, b=7, a_b=50)) == {"b": "with 'a' it finds 50 % of the people"}
    assert left_out(counts(a=7, b=5, a_b=50, c=2, a_b_c=60)) == {"a": "with 'b' and 'c' it finds 60 % of the people"}
    assert left_out(counts(age=90, a=9, age_a=95)) == {"a": "with 'age' it finds 95 % of the people"}
    assert left_out(counts(age=90)) == {}, "quasi-identifiers stay"
    assert left_out(counts(a=9, b=8, a_b=50), a="known") == {"a": "known"}
    both = left_out(counts(a=90, b=80, a_b=95))
    assert list(both) == ["a", "b"], "without a, b still finds too many"


def test_rounds_go_on_while_columns_are_left_out_and_others_were_not_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: Any = SimpleNamespace(quasi=())
    for rounds, asked in (
        ([counts(a=50)], 1),
        ([counts(a=5, left_out=("b",))], 1),
        ([counts(a=50, left_out=("b",)), counts(b=5)], 2),
    ):
        turns = iter(rounds)
        seen: list[int] = []

        def count(_: Any, *, together: bool = True, turns: Any = turns, seen: list[int] = seen, rounds: Any = rounds) -> Any:
            return rounds[-1] if together else seen.append(1) or next(turns)

        sets = SimpleNamespace(count=count)
        monkeypatch.setattr(known_columns, "_sets_before", lambda *_, sets=sets: {"people": sets})
        known_columns.finding_columns(prepared, prepared, 0.1)
        assert len(seen) == asked
