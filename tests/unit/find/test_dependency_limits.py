"""Which columns are compared with which, at the limits: findings and rows are given directly, so that each condition decides."""

from __future__ import annotations

from datetime import date, time, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal.find import dependencies
from shoal.find.dependencies import (
    NOT_COMPARED,
    SomeRows,
    _days,
    _depends,
    _ends,
    _may_hold,
    _ranked,
    _Screen,
    _some,
    coded,
    follows,
    key_inside,
    with_dependencies,
)
from shoal.find.finding import ColumnFinding, Evidence, Scale
from shoal.model.roles import Role

ROWS = 240
DRAW = np.random.default_rng(4)
SIX = DRAW.integers(0, 6, ROWS)
NOISE = DRAW.integers(0, 4, ROWS)
SEEN = (Evidence("its name says so", 1.0, 0.9, "name"),)


def _finding(name: str, role: Role, values: Any, **more: Any) -> ColumnFinding:
    filled = [v for v in values if v is not None]
    kind = "text" if isinstance(filled[0], str) else "date" if isinstance(filled[0], date) else "integer"
    given = {"confidence": 0.5, "distinct": len(set(filled)), "missing": len(values) - len(filled), "kind": kind} | more
    evidence = SEEN if role in (Role.QUASI, Role.SENSITIVE) else ()
    return ColumnFinding(name=name, role=role, reason="", **({"evidence": evidence} | given))


def _found(*columns: tuple[str, Role, Any, dict[str, Any]]) -> dict[str, ColumnFinding]:
    values = {name: np.asarray(v).tolist() for name, _, v, _ in columns}
    findings = [_finding(name, role, values[name], **more) for name, role, _, more in columns]
    return {f.name: f for f in with_dependencies(findings, SomeRows(pa.table(values)))[0]}


Q, S, N, U, D = Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE, Role.UNDECIDED, Role.DIRECT


@pytest.mark.parametrize(
    ("source", "more", "target", "its", "role"),
    [
        (Q, {}, U, {}, Q),
        (Q, {}, S, {}, Q),
        (Q, {}, N, {}, Q),
        (Q, {"mark": "weight"}, U, {}, U),  # a weight is not a source
        (Q, {"evidence": ()}, U, {}, U),  # nothing shows that others know it
        (Q, {"evidence": (), "confidence": 1.0}, U, {}, Q),  # a person has said it
        (Q, {}, U, {"mark": "unit"}, U),
        (Q, {}, N, {"confidence": 1.0}, N),  # a person's decision stays
        (Q, {}, D, {}, D),
        (Q, {"distinct": 1}, U, {}, U),
        (Q, {}, U, {"distinct": 1}, U),
        (S, {}, U, {}, S),
        (S, {}, N, {}, N),  # only what nobody has judged becomes sensitive with its source
        (N, {}, U, {}, U),
        (D, {}, U, {}, U),
    ],
)
def test_which_columns_get_the_role_of_another(source: Role, more: Any, target: Role, its: Any, role: Role) -> None:
    found = _found(("a", source, SIX, more), ("b", target, SIX // 2, its), ("c", U, NOISE, {}))
    assert found["b"].role is role
    assert found["b"].follows == ("a" if role is not target else "")
    assert found["c"].role is U


def test_the_finer_of_two_known_columns_says_more_whatever_their_places() -> None:
    for first, second in ((SIX, SIX // 2), (SIX // 2, SIX)):
        found = _found(("a", Q, first, {}), ("b", Q, second, {}))
        assert [found[n].follows for n in "ab"] == (["", "a"] if first is SIX else ["b", ""])


def test_of_twins_the_first_stays_and_a_third_follows_from_it() -> None:
    found = _found(("a", Q, SIX, {}), ("b", Q, 5 - SIX, {}), ("c", U, SIX // 2, {}))
    assert [found[n].follows for n in "abc"] == ["", "a", "a"]


def test_a_finer_column_is_known_with_the_one_that_follows_from_it() -> None:
    assert _found(("a", Q, SIX // 2, {}), ("b", U, SIX, {}))["b"].role is Q
    assert _found(("a", S, SIX // 2, {}), ("b", U, SIX, {}))["b"].role is U


@pytest.mark.parametrize(("pairs", "sources", "role"), [(3, 3, N), (2, 3, U), (3, 2, U)])
def test_what_is_not_compared_is_not_called_insensitive(
    monkeypatch: pytest.MonkeyPatch, pairs: int, sources: int, role: Role
) -> None:
    """Two sources, and a column that each of them may explain, but not in all rows: three pairs are looked at."""
    monkeypatch.setattr(dependencies, "MOST_PAIRS", pairs)
    monkeypatch.setattr(dependencies, "MOST_SOURCES", sources)
    half = np.where(np.arange(ROWS) % 5 == 0, NOISE, SIX // 2)
    columns = (("a", Q, SIX, {}), ("b", Q, 10 * SIX + NOISE % 2, {"distinct": 6}), ("c", N, half, {}), ("d", S, NOISE, {}))
    found = _found(*columns)
    assert found["c"].role is role
    assert (found["c"].reason == NOT_COMPARED) is (role is U)
    assert found["d"].role is S


def test_a_decision_of_a_person_stays_where_not_all_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "MOST_SOURCES", 0)
    found = _found(("a", Q, SIX, {}), ("b", N, NOISE, {"confidence": 1.0}), ("c", N, NOISE, {"mark": "weight"}))
    assert [found[n].role for n in "abc"] == [Q, N, N]


def _neighbours(differ: int, of: int) -> np.ndarray:
    """Codes of which so many neighbours of ``of`` differ, up and down in turn."""
    steps = np.zeros(of, dtype=np.int64)
    steps[:differ] = [1 if i % 2 == 0 else -1 for i in range(differ)]
    return np.concatenate([[5], 5 + np.cumsum(steps)])


def _may(by: np.ndarray, other: np.ndarray, chance: float) -> bool:
    """Whether codes, of which -1 is missing, are looked at more closely."""
    return bool(_depends(by[:, None] + 1, other[:, None] + 1, np.array([chance]))[0])


@pytest.mark.parametrize(("differ", "chance", "may"), [(20, 0.4, True), (21, 0.4, False), (21, 0.44, True)])
def test_a_pair_is_looked_at_if_neighbours_of_one_value_differ_at_most_half_as_often_as_by_chance(
    differ: int, chance: float, may: bool
) -> None:
    by = np.concatenate([np.zeros(101), np.arange(1, 101)])
    other = np.concatenate([_neighbours(differ, 100), np.arange(100) % 2])
    assert _may(by, other, chance) is may


@pytest.mark.parametrize(("chance", "may"), [(0.05, False), (0.049, True)])
def test_a_pair_with_a_rare_value_is_looked_at(chance: float, may: bool) -> None:
    by, other = np.arange(101), _neighbours(20, 100)
    assert _may(by, other, chance) is may


def test_a_narrow_band_of_numbers_that_never_repeat_is_found() -> None:
    pay = DRAW.permutation(4_000)
    found = _found(("pay", Q, pay, {}), ("band", U, ((pay >= 2_000) & (pay < 2_030)).astype(int), {}))
    assert found["band"].follows == "pay"


@pytest.mark.parametrize(("ties", "may"), [(30, True), (29, False)])
def test_neighbours_of_one_value_count_if_there_are_enough(ties: int, may: bool) -> None:
    by = np.concatenate([np.zeros(ties + 1), np.arange(1, 70)])
    other = np.concatenate([np.zeros(ties + 1), 1 + np.arange(69) % 2])
    assert _may(by, other, 0.6) is may


@pytest.mark.parametrize(("down", "may"), [(20, True), (21, False)])
def test_a_pair_is_looked_at_if_one_hardly_turns_in_the_order_of_the_other(down: int, may: bool) -> None:
    steps = np.array([-1] * down + [1] * (100 - down))
    other = 50 + np.concatenate([[0], np.cumsum(steps)])
    for turned in (other, 200 - other):
        assert _may(np.arange(101), turned, 0.8) is may


@pytest.mark.parametrize(("known", "may"), [(30, False), (29, True)])
@pytest.mark.parametrize("side", [0, 1])
def test_a_pair_with_few_values_in_both_is_looked_at(known: int, may: bool, side: int) -> None:
    by, other = np.arange(101), np.arange(101) % 2
    (by, other)[side][: 100 - known] = -1
    assert _may(by, other, 0.5) is may


@pytest.mark.parametrize(("rows", "screened"), [(200, 200), (201, 101), (400, 200), (4_000, 200)])
def test_the_screen_takes_rows_from_the_whole_table(rows: int, screened: int) -> None:
    screen = _Screen([np.arange(rows)])
    assert screen.codes.shape == (screened, 1)
    assert _some(np.arange(rows)).max() >= rows - rows // screened - 1
    assert sorted(screen.codes[:, 0].tolist()) == list(range(1, screened + 1)), "0 is missing"
    assert screen.may_follow(np.arange(rows)).tolist() == [True]


def test_the_screen_keeps_both_directions_and_no_noise() -> None:
    unique = DRAW.permutation(ROWS)
    screen = _Screen([SIX, SIX // 2, NOISE, unique, ROWS - unique, np.where(SIX == 5, -1, SIX)])
    assert screen.may_follow(SIX).tolist() == [True, True, False, False, False, True]
    assert screen.may_follow(SIX // 2).tolist() == [True, True, False, False, False, True]
    assert screen.may_follow(unique).tolist() == [False, False, False, True, True, False]


def test_the_screen_ranks_as_many_values_as_it_has_rows_and_the_missing() -> None:
    codes = DRAW.permutation(200) * 1_000
    codes[7] = codes[9] = -1
    ranks, order = _ranked(codes[None])
    there = sorted(set(codes.tolist()) - {-1})
    assert ranks[:, 0].tolist() == [0 if c < 0 else 1 + there.index(c) for c in codes.tolist()]
    assert codes[order[:, 0]].tolist() == sorted(codes.tolist())


def test_values_between_missing_ones_have_no_neighbours() -> None:
    other = np.where(np.arange(101) % 2, -1, np.arange(101) % 4)
    for by in (np.arange(101), np.zeros(101)):
        assert _may(by, other, 0.5) is True
        assert _may(by, -other[::-1] - 1, 0.5) is True


def test_a_date_alone_and_times_of_a_day_have_no_parts() -> None:
    assert _found(("day", Q, DAYS, {"scale": Scale.DATE}))["day"].role is Q
    assert np.isnan(_days(pa.array([time(3, 4), None]), "time")).all()
    assert _days(pa.array(["31/12/1970", None]), "text").tolist()[0] == 364.0


@pytest.mark.parametrize(("before", "after"), [(0.5, 0.8), (0.9, 0.9)])
def test_twins_are_as_sure_as_before_and_no_less_than_a_dependence_is(before: float, after: float) -> None:
    assert _found(("a", Q, SIX, {}), ("b", Q, SIX // 2, {"confidence": before}))["b"].confidence == after
    assert _found(("a", Q, SIX, {}), ("b", S, SIX // 2, {"confidence": before}))["b"].confidence == 0.8


DAYS = [date(1960, 1, 1) + timedelta(int(d)) for d in DRAW.permutation(9_000)[:ROWS]]


@pytest.mark.parametrize(
    ("role", "scale", "target", "known"),
    [(Q, Scale.DATE, U, True), (S, Scale.DATE, U, False), (Q, Scale.NOMINAL, U, False), (Q, Scale.DATE, D, False)],
)
def test_parts_of_dates_that_others_know(role: Role, scale: Scale, target: Role, known: bool) -> None:
    columns = [("day", role, DAYS, {"scale": scale}), ("day_of_month", target, [d.day for d in DAYS], {})]
    found = _found(*columns, ("flag", S, [d.weekday() < 5 for d in DAYS], {"kind": "boolean"}))
    assert (found["day_of_month"].follows == "day") is known
    assert (found["flag"].role is Q) is (role is Q and scale is Scale.DATE)


def test_dates_beyond_the_limit_are_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "MOST_SOURCES", 1)
    found = _found(
        ("other", Q, DAYS[::-1], {"scale": Scale.DATE}),
        ("day", Q, DAYS, {"scale": Scale.DATE}),
        ("weekday", U, [d.weekday() for d in DAYS], {}),
        ("month", U, [d.month for d in DAYS[::-1]], {}),
    )
    assert [found[n].role for n in ("weekday", "month")] == [U, Q]


WARD = [f"W{i % 7}" for i in range(ROWS)]
BED = [f"{w}-{i}" for i, w in enumerate(WARD)]


@pytest.mark.parametrize(
    ("role", "more", "target", "its", "same"),
    [
        (Q, {"scale": Scale.PLACE}, U, {}, True),
        (Q, {"scale": Scale.NOMINAL}, U, {}, True),
        (D, {"scale": Scale.ID}, U, {}, True),
        (S, {"scale": Scale.PLACE}, U, {}, False),
        (Q, {"scale": Scale.ORDERED}, U, {}, False),
        (Q, {"scale": Scale.PLACE, "distinct": 2}, U, {}, False),
        (Q, {"scale": Scale.PLACE, "distinct": 3}, U, {}, True),
        (Q, {"scale": Scale.PLACE, "kind": "float"}, U, {}, False),
        (Q, {"scale": Scale.PLACE}, U, {"kind": "float"}, False),
        (Q, {"scale": Scale.PLACE}, U, {"distinct": 7}, True),
        (Q, {"scale": Scale.PLACE}, U, {"distinct": 6}, False),
        (Q, {"scale": Scale.PLACE}, N, {"confidence": 1.0}, False),
    ],
)
def test_which_keys_are_looked_for_inside_others(role: Role, more: Any, target: Role, its: Any, same: bool) -> None:
    found = _found(("ward", role, WARD, {"evidence": ()} | more), ("bed", target, BED, its))["bed"]
    assert (found.role is role) is same
    if same and role is D:
        assert (found.scale, found.hipaa, found.topic) == (Scale.ID, 18, "key")


@pytest.mark.parametrize(("most", "role"), [(2, N), (1, U)])
def test_more_pairs_of_keys_than_are_compared(monkeypatch: pytest.MonkeyPatch, most: int, role: Role) -> None:
    monkeypatch.setattr(dependencies, "MOST_KEYS", most)
    other = [str(i) for i in DRAW.permutation(ROWS)]
    columns = [(name, Q, WARD, {"scale": Scale.PLACE, "evidence": ()}) for name in ("ward", "unit")]
    assert _found(*columns, ("code", N, other, {}))["code"].role is role


def test_people_come_before_places_where_both_are_inside() -> None:
    both = [f"{w}/{100 + i}" for i, w in enumerate(WARD)]
    person = [str(100 + i) for i in range(ROWS)]
    ward = ("ward", Q, WARD, {"scale": Scale.PLACE, "evidence": ()})
    assert _found(ward, ("person", D, person, {"scale": Scale.ID}), ("code", U, both, {}))["code"].role is D


@pytest.mark.parametrize(
    ("keys", "longer", "inside"),
    [
        (WARD[:50], BED[:50], True),
        (WARD[:49], BED[:49], False),
        ([None, *WARD[1:50]], BED[:50], False),
        (WARD, [f"{i}-{w}" for i, w in enumerate(WARD)], True),
        (WARD, WARD, False),
        (WARD, ["W1-1"] * ROWS, False),
        (WARD[:200], [*BED[:196], *"abcd"], True),
        (WARD[:200], [*BED[:195], *"abcde"], False),
        (["W"] * 100, [f"W{i}" for i in range(100)], False),
    ],
)
def test_a_key_is_inside_if_it_is_in_nearly_all_rows_and_not_by_chance(keys: Any, longer: Any, inside: bool) -> None:
    assert key_inside(keys, longer) is inside


GROWN, SMALL = DRAW.integers(1, 6, ROWS), DRAW.integers(0, 5, ROWS)
KNOWN = {"topic": "family", "scale": Scale.NUMBER}
NUMBER = {"scale": Scale.NUMBER}


@pytest.mark.parametrize(
    ("known", "its", "role"),
    [
        (KNOWN, {}, Q),
        ({**KNOWN, "topic": ""}, {}, U),
        ({**KNOWN, "scale": Scale.ID}, {}, U),
        ({**KNOWN, "mark": "weight"}, {}, U),
        ({**KNOWN, "kind": "text"}, {}, U),
        ({**KNOWN, "distinct": 2}, {}, U),
        ({**KNOWN, "distinct": 3}, {}, Q),
        (KNOWN, {"scale": Scale.ID}, U),
        (KNOWN, {"distinct": 2}, U),
    ],
)
def test_which_columns_are_summed(known: Any, its: Any, role: Role) -> None:
    columns = (("all", Q, GROWN + SMALL, known), ("grown", U, GROWN, NUMBER), ("small", U, SMALL, NUMBER | its))
    assert _found(*columns)["grown"].role is role


@pytest.mark.parametrize(("gaps", "role"), [(12, Q), (13, U)])
def test_a_column_with_gaps_is_summed_up_to_a_share(gaps: int, role: Role) -> None:
    small: list[Any] = SMALL.tolist()
    small[:gaps] = [None] * gaps
    values = {"all": (GROWN + SMALL).tolist(), "grown": GROWN.tolist(), "small": small}
    findings = [_finding(n, Q if n == "all" else U, v, **(KNOWN if n == "all" else NUMBER)) for n, v in values.items()]
    found = {f.name: f.role for f in with_dependencies(findings, SomeRows(pa.table(values)))[0]}
    assert found["grown"] is role


@pytest.mark.parametrize(("rows", "role"), [(50, Q), (49, U)])
def test_sums_need_rows(rows: int, role: Role) -> None:
    columns = (("all", Q, (GROWN + SMALL)[:rows], KNOWN), ("grown", U, GROWN[:rows], NUMBER), ("small", U, SMALL[:rows], NUMBER))
    assert _found(*columns)["grown"].role is role


@pytest.mark.parametrize(("most", "number", "word"), [(4, N, N), (3, U, N)])
def test_numbers_that_are_not_summed_are_not_called_insensitive(
    monkeypatch: pytest.MonkeyPatch, most: int, number: Role, word: Role
) -> None:
    monkeypatch.setattr(dependencies, "MOST_SUMMED", most)
    letters = [("x", "y", "z", "w")[n] for n in NOISE]
    columns = [("all", Q, SIX, KNOWN), ("a", N, NOISE, NUMBER), ("b", U, GROWN, NUMBER), ("c", U, SMALL, NUMBER)]
    found = _found(*columns, ("word", N, letters, {}))
    assert (found["a"].role, found["word"].role) == (number, word)


def test_a_run_of_neighbours_and_a_pair_apart_make_sums() -> None:
    a, b, c, d = (DRAW.integers(0, 9, ROWS) for _ in range(4))
    run = _found(*(("a", U, a, NUMBER), ("b", U, b, NUMBER), ("c", U, c, NUMBER), ("all", Q, a + b + c, KNOWN)))
    assert {run[n].role for n in "abc"} == {Q}
    later = _found(
        *(("a", U, a, NUMBER), ("b", U, b, NUMBER), ("c", U, c, NUMBER), ("d", U, d, NUMBER), ("all", Q, b + c + d, KNOWN))
    )
    assert [later[n].role for n in "abcd"] == [U, Q, Q, Q]
    apart = _found(*(("a", U, a, NUMBER), ("b", U, b, NUMBER), ("all", Q, a + d, KNOWN), ("d", U, d, NUMBER)))
    assert [apart[n].role for n in "abd"] == [Q, U, Q]


@pytest.mark.parametrize(("rows", "answer"), [(50, True), (49, False)])
def test_a_dependence_needs_rows_with_both(rows: int, answer: bool) -> None:
    for a, b in ((SIX.copy(), SIX // 2), (SIX, SIX // 2)):
        (a if a is not SIX else b)[rows:] = -1
        assert follows(a, b, ordered=False) is answer


@pytest.mark.parametrize(("groups", "answer"), [(40, True), (41, False)])
def test_a_dependence_needs_rows_that_could_contradict_it(groups: int, answer: bool) -> None:
    """Of 60 rows in pairs and alone; half of the pairs would differ by chance, and ten contradictions are needed."""
    codes = np.concatenate([np.arange(groups), np.arange(60 - groups)])
    assert follows(codes, codes % 2, ordered=False) is answer


@pytest.mark.parametrize(("size", "wrong", "answer"), [(100, 1, True), (100, 3, False), (99, 2, True), (98, 2, False)])
def test_a_dependence_may_be_contradicted_in_one_pair_of_fifty(size: int, wrong: int, answer: bool) -> None:
    """Of two groups of a hundred, w wrong rows contradict 2 w (100 - w) of 2 · 100 · 99 pairs: 1.98 % with two of them."""
    a = np.repeat([0, 1], size)
    b = a.copy()
    b[:wrong] = 1
    assert follows(a, b, ordered=False) is answer


@pytest.mark.parametrize(("turns", "answer"), [(8, True), (9, False)])
def test_what_runs_with_another_may_turn_in_one_row_of_fifty(turns: int, answer: bool) -> None:
    b = np.arange(400)
    for i in range(turns):
        b[20 * i], b[20 * i + 1] = b[20 * i + 1], b[20 * i]
    assert follows(np.arange(400), b, ordered=True) is answer
    assert follows(np.arange(400), 399 - b, ordered=True) is answer


def test_equal_steps_are_not_turns() -> None:
    for b in (np.arange(400) // 2, 200 - np.arange(400) // 2):
        assert follows(np.arange(400), b, ordered=True)


@pytest.mark.parametrize(("more", "answer"), [(8, True), (9, False)])
def test_bands_may_change_a_little_more_often_than_they_have_values(more: int, answer: bool) -> None:
    """Four bands of a hundred rows change three times; 2 % of 400 rows more are allowed. A row apart changes twice."""
    b = np.repeat([0, 1, 2, 3], 100)
    b[10 : 10 + 20 * (more // 2) : 20] = 3
    if more % 2:
        b[0] = 3
    assert follows(np.arange(400), b, ordered=True) is answer


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64()])
@pytest.mark.parametrize("last", [5, 6])  # a range as long as the column, and one that is longer
@pytest.mark.parametrize("gaps", [(), (1,), (0, 1, 2, 3, 4)])
def test_whole_numbers_are_coded_in_order(kind: Any, last: int, gaps: tuple[int, ...]) -> None:
    base = 0 if pa.types.is_unsigned_integer(kind) else -3
    held = [None if i in gaps else base + v for i, v in enumerate((3, 0, 3, 1, last))]
    distinct, codes = coded(pa.array([99 % 7, *held], kind)[1:])
    there = sorted({v for v in held if v is not None})
    assert distinct.to_pylist() == there
    assert distinct.type == kind
    assert codes.tolist() == [-1 if v is None else there.index(v) for v in held]


@pytest.mark.parametrize(("more", "may"), [(25, True), (24, False)])
@pytest.mark.parametrize("longer", ["{}-b", "b-{}"])
@pytest.mark.parametrize("key", ["k{:02}", "a key of more than eight bytes é{:02}"])
def test_texts_are_compared_if_half_of_them_hold_the_key_at_one_end(more: int, may: bool, longer: str, key: str) -> None:
    keys = [key.format(i) if i < 50 else None for i in range(60)]  # rows without a key do not count
    texts = [longer.format(k) if i < more else f"{k}"[::-1] for i, k in enumerate(keys)]
    assert _may_hold(_ends([keys])[0], _ends([texts])).tolist() == [may]


def test_texts_are_not_compared_with_a_key_that_is_as_long_or_stands_in_the_middle() -> None:
    keys = [f"k{i:02}" for i in range(60)]
    for texts in (keys, [f"-{k}-" for k in keys], [k[:2] for k in keys]):
        assert _may_hold(_ends([keys])[0], _ends([texts])).tolist() == [False]


@pytest.mark.parametrize(("rows", "compared"), [(4_000, 4_000), (4_001, 4_000)])
def test_the_codes_that_are_kept_are_those_of_the_rows_that_are_compared(rows: int, compared: int) -> None:
    table = pa.table({"x": np.arange(rows) % 9, "y": np.arange(rows) % 9})
    some = SomeRows(table)
    some.keep("x", coded(table["x"].combine_chunks())[1])
    assert len(some.codes("x")) == compared
    assert some.codes("x").tolist() == some.codes("y").tolist()
    assert some.values("x", 3).to_pylist() == [0, 1, 2]
