"""Tables released together, part by part and by hand: who is alike, which levels are taken, what the claim must say."""

from __future__ import annotations

import importlib
from dataclasses import replace
from types import SimpleNamespace as Some
from typing import Any

import numpy as np
import pytest

from shoal.errors import DataError, InfeasibleError, TamperError, UsageError, VerificationError
from shoal.model.compare import most_of
from shoal.model.exclusion import Excluded
from shoal.release.linked.certificate import FORMAT, LIMITS, LinkedColumn, LinkedNumbers
from shoal.release.linked.policy import LinkedPolicy

gather, search, verify = (importlib.import_module(f"shoal.release.linked.{name}") for name in ("gather", "search", "verify"))


def part(person: Any, classes: Any, rows: Any = None, *, name: str = "t", **rule: Any) -> Any:
    """A table of one column "c": whose row each pair is, its class at each level, and how many rows are behind it."""
    rules = Some(**{"weight": 1.0, "max_level": None, "min_level": None} | rule)
    own = Some(quasi=("c",), policy=Some(quasi={"c": rules}), hierarchies={"c": Some(height=len(classes) - 1)})
    rows = np.array([1] * len(person) if rows is None else rows)
    return Some(
        person=np.array(person), rows=rows, prepared=own, linked=Some(name=name), classes=lambda at: np.array(classes[at["c"]])
    )


def family(*parts: Any, n: int = 4, **policy: Any) -> Any:
    return Some(n=n, parts=parts, policy=Some(**{"k": 2, "known": None, "suppress": 0.0, "loss": 1.0} | policy))


EVERYBODY = part(range(4), [[0, 0, 0, 0]])
VISITS = part([0, 1, 1, 2], [[0, 0, 1, 0]], [2, 1, 1, 2], name="visits")
LEVEL0 = [{"c": 0}, {"c": 0}]
"""Persons 0 and 2 were twice in ward a, person 1 once in a and once in b, person 3 nowhere; their attributes are the same."""


# --- who is alike -------------------------------------------------------------------------------------------------------------


def test_people_are_alike_by_attributes_and_all_their_rows() -> None:
    made = family(EVERYBODY, VISITS)
    assert search.alike(made, LEVEL0).tolist() == [2, 1, 2, 1]
    assert [search.stays(made, LEVEL0, k, None).tolist() for k in (1, 2, 3)] == [
        [True] * 4,
        [True, False, True, False],
        [False] * 4,
    ]
    staying = np.array([True, True, False, True])
    assert search.fewest(made, LEVEL0, staying, None)[staying].tolist() == [1, 1, 1]


def test_rows_that_may_be_known_are_counted_with_their_copies() -> None:
    made, everybody = family(EVERYBODY, VISITS), np.ones(4, dtype=bool)
    assert search.fewest(made, LEVEL0, everybody, 1).tolist() == [3, 1, 3, 4], "ward a fits three people, ward b one"
    assert search.fewest(made, LEVEL0, everybody, 2).tolist() == [2, 1, 2, 4], "twice in ward a fits two"
    two = family(part(range(2), [[0, 0]]), part([0], [[0]]), part([1], [[0]]), n=2)
    assert search.fewest(two, [{"c": 0}] * 3, np.ones(2, dtype=bool), 1).tolist() == [1, 1], "rows of different tables differ"
    by_attributes = family(part(range(4), [[0, 0, 1, 1]]), VISITS)
    assert search.fewest(by_attributes, LEVEL0, everybody, 1).tolist() == [2, 1, 1, 2]


def test_a_second_row_of_a_ward_is_known_only_with_the_first() -> None:
    """Two were twice in a, one of these in b too, and a third person was once in each: of any two known rows two have them."""
    made = family(part(range(3), [[0] * 3]), part([0, 0, 1, 2, 2], [[0, 1, 0, 0, 1]], [2, 1, 2, 1, 1]), n=3)
    assert search.fewest(made, LEVEL0, np.ones(3, dtype=bool), 2).tolist() == [2, 2, 2]
    assert search.fewest(made, LEVEL0, np.ones(3, dtype=bool), 3).tolist() == [1, 2, 2], "all three rows of the first"
    alone = family(part(range(3), [[0] * 3]), part([0, 0, 1, 2], [[0, 1, 0, 1]], [2, 1, 2, 1]), n=3)
    assert search.fewest(alone, LEVEL0, np.ones(3, dtype=bool), 2).tolist() == [1, 2, 2], "nobody else was once in each"


def test_who_leaves_takes_others_along() -> None:
    """Without person 1 ward a fits two people only: with k of 3 they leave too, and then the last one."""
    made = family(EVERYBODY, VISITS)
    assert search.stays(made, LEVEL0, 2, 1).tolist() == [True, False, True, True]
    assert search.stays(made, LEVEL0, 3, 1).tolist() == [False] * 4
    assert search.stays(made, LEVEL0, 3, 1, most=0).tolist() == [True, False, True, True], "one left already"
    assert search.stays(made, LEVEL0, 3, 1, most=1).tolist() == [False, False, False, True], "now three"


def test_nobody_who_stays_is_no_plan() -> None:
    made = family(EVERYBODY, VISITS, k=9)
    assert search._allow(made, LEVEL0, 4) is None
    made.policy.k = 2
    assert [search._allow(made, LEVEL0, limit) is None for limit in (1, 2)] == [True, False]
    known = family(EVERYBODY, VISITS, known=1)
    assert [search._fits(known, LEVEL0, 1, limit) for limit in (0, 1)] == [False, True]
    known.policy.k = 9
    assert not search._fits(known, LEVEL0, 1, 4)


# --- levels -------------------------------------------------------------------------------------------------------------------


def test_the_levels_that_a_policy_allows() -> None:
    for rule, lowest, highest in (
        ({}, 0, 2), ({"max_level": 1}, 0, 1), ({"max_level": 5}, 0, 2), ({"min_level": 1}, 1, 2),
        ({"min_level": 2, "max_level": 1}, 1, 1),
    ):  # fmt: skip
        one = part([0], [[0]] * 3, **rule)
        assert (search._lowest(one, "c"), search._highest(one, "c")) == (lowest, highest)


def test_what_a_level_loses_counts_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four values; at level 1 three of them are one. Three rows have one of these, one row the fourth, and one row none."""
    monkeypatch.setattr(search, "joins_missing", lambda hierarchy, level: level == 2)
    levels = [Some(leaf_counts=np.array(counts)) for counts in ([1, 1, 1, 1], [3, 1], [4])]
    codes = ([0, 3, -1], [0, 1, -1], [0, 0, -1])
    one = part([0, 1, 2], [[0, 1, 2]] * 3, [3, 1, 1])
    one.prepared.hierarchies = {"c": Some(n_leaves=4, levels=levels)}
    one.codes = lambda column, level: np.array(codes[level])
    assert search.charges(one, "c").tolist() == pytest.approx([0, 3 * (2 / 3) / 5, 1])
    one.prepared.hierarchies["c"].n_leaves = 1
    assert search.charges(one, "c").tolist() == [0, 0, 0]


def test_loss_is_weighted_by_column_and_what_is_left_out_is_lost() -> None:
    made = family(part([0, 1], [[0, 0]], weight=2.0), part([0, 1], [[0, 0]], [3, 1]), n=2)
    charge = {(0, "c"): np.array([0.0, 0.5]), (1, "c"): np.array([0.0, 0.5])}
    found = search._loss(made, [{"c": 1}, {"c": 0}], np.array([True, False]), charge)
    assert found == pytest.approx((2 * (1 - 0.5 * 0.5) + 1 * (1 - 0.75)) / 3)


AGES = [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]]


@pytest.fixture
def losses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "charges", lambda part, column: np.array([0.0, 0.4, 1.0]))


def test_the_finest_levels_that_leave_everybody_among_k(losses: None) -> None:
    for rule, policy, level in (({}, {}, 1), ({"min_level": 2}, {}, 2), ({}, {"k": 3}, 2), ({}, {"k": 1}, 0)):
        chosen = search.choose(family(part(range(4), AGES, **rule), **policy))
        assert (chosen.levels[0], chosen.staying.all(), chosen.loss) == ({"c": level}, True, [0.0, 0.4, 1.0][level])


def test_the_column_that_gives_back_more_is_refined(losses: None) -> None:
    """Either column can be one level finer, not both; the second weighs more."""
    crossed = [[0, 1, 2, 3], [0, 1, 0, 1], [0, 0, 0, 0]]
    for weights, levels in (((1.0, 2.0), [2, 1]), ((2.0, 1.0), [1, 2])):
        parts = [part(range(4), table, weight=w) for table, w in zip((AGES, crossed), weights, strict=True)]
        assert [at["c"] for at in search.choose(family(*parts)).levels] == levels


def test_the_gain_is_weighted_in_the_first_order_already(losses: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SEARCH_SECONDS", -1.0)
    crossed = [[0, 1, 2, 3], [0, 1, 0, 1], [0, 0, 0, 0]]
    for weights, levels in (((1.0, 2.0), [2, 1]), ((2.0, 1.0), [1, 2])):
        parts = [part(range(4), table, weight=w) for table, w in zip((AGES, crossed), weights, strict=True)]
        assert [at["c"] for at in search.choose(family(*parts)).levels] == levels


def test_another_order_is_taken_if_it_loses_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first column gives back most, but stands in the way of both others together."""
    one, other = [[0, 0, 1, 1], [0, 0, 0, 0]], [[0, 1, 0, 1], [0, 0, 0, 0]]
    parts = [part(range(4), table, name=name) for name, table in (("a", one), ("b", other), ("c", other))]
    monkeypatch.setattr(search, "charges", lambda part, column: np.array([0.4 if part.linked.name == "a" else 0.5, 1.0]))
    chosen = search.choose(family(*parts))
    assert [at["c"] for at in chosen.levels] == [1, 0, 0]
    monkeypatch.setattr(search, "SEARCH_SECONDS", -1.0)
    assert [at["c"] for at in search.choose(family(*parts)).levels] == [0, 1, 1], "without the time to look further"


def test_no_level_is_finer_than_the_policy_allows(losses: None) -> None:
    chosen = search.choose(family(part(range(4), AGES, min_level=1), k=1))
    assert chosen.levels == ({"c": 1},)


def test_who_is_apart_at_the_only_level_is_left_out(losses: None) -> None:
    chosen = search.choose(family(part(range(4), [[0, 0, 0, 1]]), suppress=0.25))
    assert chosen.staying.tolist() == [True, True, True, False]


def test_what_is_lost_at_most(losses: None) -> None:
    made = part(range(4), AGES)
    assert search.choose(family(made, loss=0.4)).loss == 0.4
    with pytest.raises(InfeasibleError, match=r"would lose 0.40 of what .* the limit is 0.39"):
        search.choose(family(made, loss=0.39))


def test_people_who_may_be_left_out(losses: None) -> None:
    one_apart = [[0, 1, 2, 3], [0, 0, 0, 1], [0, 0, 0, 0]]
    for suppress, level, staying in ((0.25, 1, 3), (0.24, 2, 4)):
        chosen = search.choose(family(part(range(4), one_apart), suppress=suppress))
        assert (chosen.levels[0]["c"], int(chosen.staying.sum())) == (level, staying)


@pytest.mark.parametrize(
    ("policy", "hint"),
    [
        ({"k": 4}, "allow: {suppress: 0.334}; or require: {k: 2}; or require: {k: 4, known: 1}."),
        ({"k": 5}, "require: {k: 2}; or require: {k: 5, known: 1}."),
        ({"k": 3, "known": 2}, "allow: {suppress: 0.334}; or require: {k: 2}; or require: {k: 3, known: 1}."),
    ],
)
def test_what_could_be_had_instead(losses: None, policy: dict[str, Any], hint: str) -> None:
    """Two people have two rows, four have one: by one known row all six are alike, by all rows two and four."""
    visits = part(range(6), [[0] * 6], [2, 2, 1, 1, 1, 1], name="visits")
    made = family(part(range(6), [[0] * 6]), visits, n=6, **policy)
    with pytest.raises(InfeasibleError) as caught:
        search.choose(made)
    assert caught.value.hint == f"Nearest that would do: {hint}"


def test_the_most_known_rows_that_would_do_are_offered(losses: None) -> None:
    """Everybody has two rows or three, all of one kind: three known rows tell two people apart. Of people who are all different
    nothing can be had."""
    visits = part(range(6), [[0] * 6], [3, 3, 2, 2, 2, 2], name="visits")
    with pytest.raises(InfeasibleError) as caught:
        search.choose(family(part(range(6), [[0] * 6]), visits, n=6, k=3))
    offers = "allow: {suppress: 0.334}; or require: {k: 2}; or require: {k: 3, known: 2}."
    assert caught.value.hint == f"Nearest that would do: {offers}"
    with pytest.raises(InfeasibleError) as nothing:
        search.choose(family(part(range(4), [[0, 1, 2, 3]]), part([0], [[0]], name="visits"), k=2))
    assert nothing.value.hint == "Leave people with very many rows out first."


def test_the_largest_k_that_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "alike", lambda *_: np.array([5, 1, 2, 3]))
    made = family(EVERYBODY, VISITS, k=10)
    assert [search._best_k(made, LEVEL0, limit) for limit in (0, 1, 2, 9)] == [1, 2, 3, 5]
    made.policy.k = 2
    assert search._best_k(made, LEVEL0, 2) == 1, "below the one asked for"
    known = family(EVERYBODY, VISITS, k=9, known=1)
    assert [search._best_k(known, LEVEL0, limit) for limit in (0, 1)] == [1, 2]
    same = family(part(range(6), [[0] * 6]), part([0], [[0]]), n=6, k=10, known=0)
    assert search._best_k(same, LEVEL0, 0) == 6
    assert [search._share(n, 3) for n in (1, 3)] == [0.334, 1.0]


# --- rows without a person ----------------------------------------------------------------------------------------------------


def linked(orphans: str = "refuse") -> tuple[Any, Any]:
    tables = (Some(name="person", key="id"), Some(name="visits", key="who"))
    return Some(orphans=orphans, tables=tables), tables[1]


@pytest.mark.parametrize(
    ("orphans", "unnamed", "problem"),
    [
        ({}, 0, ""),
        ({"x": 3, "y": 1}, 0, "4 rows of table 'visits' belong to 2 people who are not in 'person'."),
        ({}, 5, "5 rows of table 'visits' have no 'who'."),
        ({"x": 1}, 5, "in 'person' and 5 rows of table 'visits' have no 'who'."),
    ],
)
def test_rows_of_nobody_are_refused_unless_they_may_be_dropped(orphans: Any, unnamed: int, problem: str) -> None:
    gather._check_orphans(*linked("drop"), orphans, unnamed)
    if not problem:
        gather._check_orphans(*linked(), orphans, unnamed)
        return
    with pytest.raises(DataError) as caught:
        gather._check_orphans(*linked(), orphans, unnamed)
    assert caught.value.message.endswith(problem)


def test_a_person_has_one_row_in_the_person_table() -> None:
    policy, _ = linked()
    gather._one_row_each(policy, gather._Keys({"a": 1, "b": 1}, 0))
    with pytest.raises(DataError, match="1 of 2 people have several rows in the person table 'person'"):
        gather._one_row_each(policy, gather._Keys({"a": 2, "b": 1}, 0))


def test_people_of_the_list_are_counted_once_and_all_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "spellings", lambda listed, kind: {text: i for i, text in enumerate(listed)})
    policy, _ = linked()
    tables = [Some(schema={key: Some(kind="text")}) for key in ("id", "who")]
    keys = [gather._Keys({"a": 1, "b": 1}, 0), gather._Keys({"a": 3, "z": 9}, 2)]
    found = gather._objections(policy, tables, keys, ("a", "c", "b"))
    assert found == Excluded("id", 3, 2, 1 + 1 + 3, 2)


PEOPLE = {"id": [10, 2, 1, 4, 20, 30, 3], "sex": list("fmfmfmf")}
SEEN = {"who": [1, 1, 2, 9, 9, None, 4, 4, 10], "ward": list("aabbbcabc")}


def gathered(people: Any = PEOPLE, visits: Any = SEEN, *, orphans: str = "drop", exclude: Any = None) -> Any:
    tables = {
        "person": {"table": people, "roles": {"quasi": ["sex"]}}, "visits": {"table": visits, "roles": {"quasi": ["ward"]}},
    }  # fmt: skip
    policy = {"tables": tables, "links": {"visits.who": "person.id"}, "require": {"k": 2}, "allow": {"orphans": orphans}}
    return gather.gather(LinkedPolicy.of(policy), exclude)


def test_tables_are_gathered_without_rows_of_nobody_and_people_who_objected() -> None:
    """Person 4 objected, and so did somebody who is in no table; person 9 is not in the person table, one row names nobody."""
    found = gathered(exclude=["4", "77"])
    assert found.ids == ("1", "10", "2", "20", "3", "30")
    person, visits = found.parts
    assert [(p.came, p.orphans, p.unnamed, int(p.rows.sum())) for p in found.parts] == [(7, 0, 0, 6), (9, 2, 1, 4)]
    assert found.objections == Excluded("id", 2, 1, 1 + 2, 1)
    wards = visits.pairs.categories[1].to_pylist()
    rows = {(found.ids[p], wards[c], int(n)) for p, c, n in zip(visits.person, visits.pairs.codes[1], visits.rows, strict=True)}
    assert rows == {("1", "a", 2), ("2", "b", 1), ("10", "c", 1)}
    assert len(set(person.classes({"sex": 0}).tolist())) == 2
    told = replace(person, further=(np.arange(6, dtype=np.int32),))
    assert len(set(told.classes({"sex": 0}).tolist())) == 6, "what else is known tells people apart"
    unnamed = gathered(visits={"who": [1, None, 2], "ward": list("aab")})
    assert [(p.came, p.orphans, p.unnamed, int(p.rows.sum())) for p in unnamed.parts] == [(7, 0, 0, 7), (3, 0, 1, 2)]


def test_tables_that_cannot_be_gathered_are_refused() -> None:
    with pytest.raises(DataError, match="2 rows of table 'visits' belong to 1 people who are not in 'person' and 1 rows"):
        gathered(orphans="refuse")
    with pytest.raises(DataError, match="1 of 3 people have several rows"):
        gathered({"id": [1, 2, 4, 4], "sex": ["f", "m", "f", "m"]})
    with pytest.raises(UsageError, match="the list of people to leave out is empty"):
        gathered(exclude=[])
    with pytest.raises(DataError, match="nobody is left in the person table"):
        gathered(exclude=[str(i) for i in PEOPLE["id"]])


# --- the claim ----------------------------------------------------------------------------------------------------------------


def column(role: str, treatment: str, level: int | None = None, height: int | None = None) -> LinkedColumn:
    return LinkedColumn("a", role, treatment, level, height)


@pytest.mark.parametrize(
    ("made", "fits"),
    [
        (column("quasi", "generalized", 1, 2), True), (column("quasi", "generalized", 2, 2), True),
        (column("quasi", "retained", 0, 2), True), (column("quasi", "generalized", 3, 2), False),
        (column("quasi", "generalized", -1, 2), False), (column("quasi", "generalized", 0, 2), False),
        (column("quasi", "retained", 1, 2), False), (column("quasi", "retained"), False),
        (column("quasi", "generalized", 1), False), (column("key", "fresh pseudonym"), True), (column("key", "retained"), False),
        (column("key", "fresh pseudonym", 0), False), (column("sensitive", "retained"), True),
        (column("direct", "removed"), True), (column("direct", "kept as it is"), False),
        (column("insensitive", "retained", None, 2), False), (column("insensitive", "retained", 0), False),
    ],
)  # fmt: skip
def test_what_a_column_may_be_said_to_have_become(made: LinkedColumn, fits: bool) -> None:
    assert verify._treated(made) is fits


def stated(**change: Any) -> Any:
    table = Some(
        records=90, orphans=5, unnamed=5, records_in=100, key="id", quasi=("age",), sensitive=("ill",), name="t",
        published=["id", "age", "ill"],
        columns=[
            LinkedColumn("id", "key", "fresh pseudonym", None, None), LinkedColumn("age", "quasi", "retained", 0, 2),
            LinkedColumn("ill", "sensitive", "retained", None, None),
        ],
    )  # fmt: skip
    vars(table).update({n.removeprefix("table_"): v for n, v in change.items() if n.startswith("table_")})
    whole = {
        "verdict": "fine", "limits": LIMITS, "asked": 5, "k": 6, "after": Some(k=6, people=95), "left_out": 5, "people_in": 100,
        "allowed": 0.05, "before": Some(people=100), "loss": 0.5, "tables": (table,), "format": FORMAT, "objections": None,
    }  # fmt: skip
    return Some(certificate=Some(**whole | {n: v for n, v in change.items() if not n.startswith("table_")}))


AGED = LinkedColumn("age", "quasi", "retained", 0, 2)
REST = [LinkedColumn("id", "key", "fresh pseudonym", None, None), LinkedColumn("ill", "sensitive", "retained", None, None)]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, ""), ({"verdict": "better"}, "the verdict or the limits"), ({"limits": LIMITS[1:]}, "the verdict or the limits"),
        ({"asked": 6}, ""), ({"asked": 7}, "another k"), ({"asked": 1}, "another k"), ({"asked": 2}, ""), ({"k": 7}, "another k"),
        ({"k": 5}, "another k"), ({"left_out": 4}, "numbers of people"), ({"people_in": 101}, "numbers of people"),
        ({"allowed": 0.04}, "numbers of people"),
        ({"left_out": -1, "after": Some(k=6, people=101)}, "numbers of people"),
        ({"before": Some(people=99)}, "original tables"), ({"loss": 1.01}, "original tables"),
        ({"loss": -0.01}, "original tables"), ({"loss": 1.0}, ""), ({"loss": 0.0}, ""),
        ({"table_records": 91}, "more rows than came in"), ({"table_orphans": 6}, "more rows than came in"),
        ({"table_unnamed": 6}, "more rows than came in"), ({"table_records": -1}, "more rows than came in"),
        ({"table_orphans": -1}, "more rows than came in"), ({"table_unnamed": -1}, "more rows than came in"),
        ({"table_records": 89}, ""), ({"left_out": 0, "after": Some(k=6, people=100)}, ""),
        ({"table_records": 0, "table_orphans": 0, "table_unnamed": 0}, ""),
        ({"table_key": "age"}, "other roles"), ({"table_quasi": ("age", "sex")}, "other roles"),
        ({"table_quasi": ()}, "other roles"), ({"table_sensitive": ()}, "other roles"),
        ({"table_columns": [*REST, LinkedColumn("age", "quasi", "generalized", 0, 2)]}, "role and level"),
        ({"table_columns": [*REST, LinkedColumn("age", "quasi", "x", 0, 2)], "format": "shoal-linked-certificate/1"}, ""),
        ({"table_columns": [*REST, AGED, LinkedColumn("id2", "key", "fresh pseudonym", None, None)]}, "other roles"),
    ],
)  # fmt: skip
def test_numbers_that_do_not_fit_each_other_are_seen(change: Any, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "verdict", lambda _: "fine")
    assert most_of(0.05, 100) == 5
    if not problem:
        assert "the claims follow" in verify.LinkedClaim.sentences(stated(**change))
        return
    with pytest.raises(TamperError, match=problem):
        verify.LinkedClaim.sentences(stated(**change))


def test_the_numbers_of_objections_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(verify, "verdict", lambda _: "fine")
    monkeypatch.setattr(verify, "objections_fit", seen.append)
    verify.LinkedClaim.sentences(stated(objections="the list"))
    verify.LinkedClaim.sentences(stated())
    assert seen == ["the list"]


@pytest.mark.parametrize(
    ("names", "there", "problem"),
    [
        (["t.csv", "report.html"], [], ""), (["report.html"], [], "lists other files"),
        (["t.csv", "report.html", "more.txt"], ["more.txt"], "lists other files"),
        (["t.csv", "report.html"], ["x"], "other files"), (["t.csv", "report.html"], ["sub/x"], "other files"),
    ],
)  # fmt: skip
def test_a_folder_has_the_files_of_a_release_and_no_others(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, names: list[str], there: list[str], problem: str
) -> None:
    monkeypatch.setattr(verify, "check_bytes", lambda place, files: "bytes compared")
    for name in ("t.csv", "report.html", "certificate.json", *there):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    claim = Some(place=tmp_path, certificate=Some(files=[Some(name=n) for n in names], tables=[Some(file="t.csv")]))
    if problem:
        with pytest.raises(TamperError, match=problem):
            verify.LinkedClaim.files(claim)
    else:
        assert verify.LinkedClaim.files(claim) == "bytes compared"


def test_two_tables_in_one_file_or_beside_the_folder_are_refused(tmp_path: Any) -> None:
    for files in (["t.csv", "t.csv"], ["../t.csv"]):
        for name in ("t.csv", "report.html", "certificate.json"):
            (tmp_path / name).write_text("")
        claim = Some(
            place=tmp_path,
            certificate=Some(files=[Some(name=n) for n in (*files, "report.html")], tables=[Some(file=n) for n in files]),
        )
        with pytest.raises(TamperError, match="lists other files"):
            verify.LinkedClaim.files(claim)


BROKEN = [Some(verdict="broken"), Some(verdict="holds")]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, ""), ({"published": ["id"]}, "has other columns"), ({"records": [4]}, "other numbers of rows"),
        ({"sharing": {0: 2, 1: 1}}, "other numbers of people"), ({"attacks": ["other"]}, "come out differently"),
        ({"attacks": BROKEN, "stated": BROKEN}, "does better than the release claims"),
    ],
)  # fmt: skip
def test_rows_people_and_attacks_are_counted_again(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, change: Any, problem: str
) -> None:
    checked: list[int] = []
    fine = [Some(verdict="holds")]
    again = Some(records=change.get("records", [3]), sharing=lambda known: change.get("sharing", {0: 2, 1: 2}))
    monkeypatch.setattr(verify, "header", lambda _: None)
    monkeypatch.setattr(verify, "logical", lambda _, published: change.get("published", published))
    monkeypatch.setattr(verify, "check_records", lambda _, records: checked.append(records))
    monkeypatch.setattr(verify, "files_of", lambda *_: ["file"])
    monkeypatch.setattr(verify, "everybody", lambda _: again)
    monkeypatch.setattr(verify, "plain", str)
    monkeypatch.setattr(verify.sign, "canonical", lambda text: text)
    monkeypatch.setattr(verify, "attacks", lambda *_: change.get("attacks", fine))
    table = Some(file="t.csv", name="t", published=["id", "age"], records=3)
    certificate = Some(
        tables=[table], known=None, asked=2, attacks=change.get("stated", fine), after=LinkedNumbers(2, 2, 0, {"2": 2})
    )
    if not problem:
        assert verify._count(tmp_path, certificate) == "counted again: 2 people in 1 tables, k = 2"
        assert checked == [3]
        return
    with pytest.raises((TamperError, VerificationError), match=problem):
        verify._count(tmp_path, certificate)


def test_people_by_the_number_who_share_what_is_known() -> None:
    assert verify.numbers({0: 3, 1: 1, 2: 3}) == LinkedNumbers(3, 1, 1, {"1": 1, "3": 2})
    assert verify.numbers({}) == LinkedNumbers(0, 0, 0, {})


def test_another_certificate_is_none_of_linked_tables(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for read in (None, "the certificate"):
        monkeypatch.setattr(verify, "read_linked", lambda _, read=read: read)
        if read is None:
            with pytest.raises(TamperError, match="not a certificate of linked tables"):
                verify.LinkedClaim.read(tmp_path)
        else:
            assert verify.LinkedClaim.read(tmp_path) == read


def test_a_summary_names_the_key_of_a_signed_release() -> None:
    made = stated(known=None, key=None, key_shown="fingerprint")
    told = {"k": 6, "known": None, "people": 95, "tables": {"t": 90}}
    assert verify.LinkedClaim.summary(made) == told
    made.certificate.key = object()
    assert verify.LinkedClaim.summary(made) == {**told, "key": "fingerprint"}


# --- attacks ------------------------------------------------------------------------------------------------------------------


def test_known_columns_are_tried_since_the_certificate_has_them(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "attack_people", lambda *_: ["by rows"])
    monkeypatch.setattr(verify, "find_by_columns", lambda place, tables, limit: f"by columns, {limit}")
    monkeypatch.setattr(verify, "worst_first", list)
    made = Some(tables=[Some(name="t")], asked=5, known=None, format=FORMAT, known_columns=0.2)
    assert verify.attacks(None, tmp_path, made) == ("by rows", "by columns, 0.2")
    made.format = "shoal-linked-certificate/1"
    assert verify.attacks(None, tmp_path, made) == ("by rows",)


def test_known_rows_are_tried_up_to_two_and_all() -> None:
    def tried(known: int | None, longest: int) -> list[int | None]:
        return verify._list_tried(Some(rows={0: range(longest), 1: ()}), known)

    assert tried(None, 9) == [0, None]
    assert (tried(1, 9), tried(2, 9), tried(3, 9)) == ([0, 1, 2, None], [0, 1, 2, None], [0, 1, 2, 3, None])
    assert (tried(2, 1), tried(1, 0)) == ([0, 1, None], [0, None])
    assert (tried(1, verify.MANY_ROWS), tried(1, verify.MANY_ROWS + 1)) == ([0, 1, 2, None], [0, 1, None])


@pytest.mark.parametrize(
    ("known", "claimed", "k", "verdict"),
    [
        (None, None, 2, "broken"), (None, None, 1, "holds"), (0, None, 2, "broken"), (1, 1, 2, "broken"), (0, 1, 2, "broken"),
        (2, 1, 2, "warning"), (None, 1, 2, "warning"), (None, 1, 1, "holds"), (1, 1, 3, "broken"),
    ],
)  # fmt: skip
def test_who_is_among_fewer_than_k_breaks_what_is_claimed(known: Any, claimed: Any, k: int, verdict: str) -> None:
    everybody = Some(people=3, sharing=lambda rows: {0: 2, 1: 2, 2: 1})
    found = verify._singling(everybody, known, k, claimed)
    assert (found.verdict, found.rate) == (verdict, {1: 0.0, 2: 1 / 3, 3: 1.0}[k])
    assert found.claimed == (None if (verdict == "warning" or (known, claimed, k) == (None, 1, 1)) else 0.0)
    words = {None: "all rows", 0: "no row", 1: "1 row", 2: "2 rows"}[known]
    assert (found.name, found.worst) == (f"known records: {words}", "smallest group 1")
    assert ("claims nothing" in found.sentence) is (verdict == "warning" or (known, claimed, k) == (None, 1, 1))


def test_people_are_grouped_as_the_claim_says() -> None:
    everybody = Some(whole=lambda: {0: ("A", ("r",)), 1: ("A", ()), 2: ("A", ("r",)), 3: ("B", ())})
    assert list(verify._groups(everybody, None).values()) == [[0, 2], [1], [3]]
    assert list(verify._groups(everybody, 1).values()) == [[0, 1, 2], [3]]


def test_a_value_that_everybody_of_a_group_has_is_known_of_each() -> None:
    values = {0: {"flu", "cold"}, 1: {"flu"}, 2: {None}, 3: {"rash"}, 4: {"gout"}}
    everybody = Some(people=6)
    found = verify._common(everybody, {"x": [0, 1], "missing": [2], "differ": [3, 4]}, values, "t.ill")
    assert (found.rate, found.verdict) == (2 / 6, "warning")
    nobody = verify._common(everybody, {"missing": [2], "none": [0, 5], "differ": [3, 4]}, values, "t.ill")
    assert (nobody.rate, nobody.verdict) == (0.0, "holds")
    assert "2 of 6 people are in groups where everybody has a value" in found.sentence
    assert nobody.sentence == "No group has a value of 't.ill' that everybody in it has."
