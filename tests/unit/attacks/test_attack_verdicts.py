"""Verdicts at their limits: exactly what is claimed holds, and one person, value or step beyond it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal.api.attack_external import External
from shoal.attacks.cells import Shown, both_releases, linked_by_cells
from shoal.attacks.differencing import Bounds, differencing
from shoal.attacks.joint import Attacker, Curve, by_known_columns, further_knowledge
from shoal.errors import InternalError
from shoal.model.attack import AttackReport, AttackResult, strongest, strongest_sentence
from shoal.release.linked.verify import attack_people
from shoal.release.proof.recount_linked import Everybody


@pytest.mark.parametrize(
    ("width", "exact", "verdict"), [(0, 1, "broken"), (1, 0, "broken"), (8, 0, "broken"), (9, 0, "holds"), (np.inf, 0, "holds")]
)
def test_ten_possible_values_hide_a_count(width: float, exact: int, verdict: str) -> None:
    found = differencing(Bounds(np.array([3.0, 0.0]), np.array([3.0 + width, 0.0])), [True, False], threshold=10)
    assert (found.verdict, found.rate) == (verdict, float(verdict == "broken"))
    assert found.worst == f"{exact} hidden counts are recovered exactly"


def _linked(sizes: dict[int, int], rows: dict[int, list[int]], k: int, known: int | None) -> dict[str, str]:
    own = {(group, i): group for group, n in sizes.items() for i in range(n)}
    everybody = Everybody(own, {p: rows.get(p[0], []) for p in own}, {}, ())
    return {a.name: a.verdict for a in attack_people(everybody, [], k, known)}


def test_linked_people_are_judged_up_to_the_claimed_rows() -> None:
    assert _linked({0: 3, 1: 3}, {}, 3, None) == {"known records: no row": "holds", "known records: all rows": "holds"}
    assert set(_linked({0: 3, 1: 2}, {}, 3, None).values()) == {"broken"}
    three = Everybody(dict.fromkeys("abc", 0), {"a": [1, 2], "b": [1, 3], "c": [1, 2]}, {}, ())
    for known, expected in (
        (0, {"no row": "holds", "1 row": "warning", "2 rows": "warning", "all rows": "warning"}),
        (1, {"no row": "holds", "1 row": "broken", "2 rows": "warning", "all rows": "warning"}),
        (None, {"no row": "holds", "all rows": "broken"}),
    ):
        found = {a.name.removeprefix("known records: "): a.verdict for a in attack_people(three, [], 3, known)}
        assert found == expected, known


@pytest.mark.parametrize(("rate", "claimed", "further"), [(0.2, "holds", "holds"), (0.2001, "broken", "warning")])
def test_the_limit_itself_is_allowed(rate: float, claimed: str, further: str) -> None:
    curve = Curve((Attacker(("x",), True, 1000, rate, 10, rate),), 1, 1000)
    assert by_known_columns(curve, 0.2).verdict == claimed
    assert further_knowledge(curve, 5).verdict == further


def test_as_many_records_as_claimed_fit_a_person() -> None:
    shown = Shown({"age": ["20-29"] * 4 + ["30-39"] * 3}, {"ill": [*"abcd", *"eee"]})
    assert [linked_by_cells(shown, {"age": ["25"]}, k=k)[0].verdict for k in (4, 5)] == ["holds", "broken"]
    assert [linked_by_cells(shown, {"age": [age]}, k=2)[1].verdict for age in ("25", "35")] == ["holds", "warning"]
    assert linked_by_cells(shown, {"age": ["55"]}, k=2)[0].verdict == "not run"


@pytest.mark.parametrize(
    ("old", "distinct", "verdict"),
    [("abc", 3, "holds"), ("abx", 3, "broken"), ("abx", 2, "holds"), ("axy", 2, "broken"), ("xyz", 2, "not run")],
)
def test_two_releases_leave_as_many_values_as_claimed(old: str, distinct: int, verdict: str) -> None:
    sides = [Shown({"age": ["20-29"] * 3}, {"ill": [*values]}) for values in ("abc", old)]
    found = both_releases(*sides, "ill", {"age": ["25"]}, distinct=distinct)
    assert found.verdict == verdict


def _external(quasi: tuple[str, ...], records: list[int]) -> External:
    labels = {"x": np.array([*range(max(records) + 1), *records], dtype=np.int64)}
    return External(max(records) + 1, len(records), quasi, labels, {}, {}, {}, {}, 0)


@pytest.mark.parametrize(
    ("quasi", "crowd", "shared", "hunted"),
    [(("x",), 5, "holds", "holds"), (("x",), 4, "broken", "broken"), ((), 5, "holds", "holds"), ((), 4, "warning", "broken")],
)
def test_an_external_table_finds_what_is_claimed(quasi: Any, crowd: int, shared: str, hunted: str) -> None:
    found = _external(quasi, [*range(6)] * crowd)
    assert (found.all_columns(5).verdict, found.hunted(5).verdict) == (shared, hunted)
    assert found.all_columns(5).rate == found.hunted(5).rate == pytest.approx(1 / crowd)


def test_one_broken_claim_is_enough() -> None:
    held = AttackResult("a", "", 0.1, 0.1, 0.1, 0.2, "", "holds", "")
    broken = AttackResult("b", "", 0.9, 0.9, 0.9, 0.2, "", "broken", "")
    assert [AttackReport("x", r).holds for r in ((), (held,), (held, broken), (broken,))] == [True, True, False, False]


def result(name: str, rate: float | None, verdict: Any = "warning", low: float = 0.0, high: float = 0.0) -> AttackResult:
    return AttackResult(name, "", rate, low, high, None, "", verdict, "")


def test_the_strongest_attack_finds_people_beyond_what_is_claimed_and_stated() -> None:
    """Only attacks on people, only those that got further than the claim, only above the share that is stated anyway."""
    tried = [
        result("linkage: changed columns", 0.3, "broken"),
        result("further knowledge", 0.5),
        result("linkage", 0.8, "holds"),
        result("homogeneity", 0.9, "broken"),
        result("whole trail", None),
    ]
    names = [None if top is None else top.name for top in (strongest(tried, stated) for stated in (0.0, 0.3, 0.499, 0.5, 0.9))]
    assert names == ["further knowledge"] * 3 + [None, None]
    top = strongest(tried[:1], 0.29)
    assert top is not None
    assert top.rate == 0.3
    assert strongest(tried[:1], 0.3) is None
    assert strongest(tried[2:]) is None


def test_an_interval_stands_in_the_headline_only_if_people_were_sampled() -> None:
    assert strongest_sentence([result("linkage", 0.5, "warning", 0.5, 0.5)]).endswith("'linkage', succeeds for 50 %.")
    assert strongest_sentence([result("linkage", 0.5, "warning", 0.4, 0.6)]).endswith("for 50 %, between 40 % and 60 %.")
    assert strongest_sentence([result("linkage", 0.5, "holds")]) == ""


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_rate_that_is_no_number_is_a_mistake(number: float) -> None:
    with pytest.raises(InternalError, match="not-a-number"):
        result("linkage", number)
    with pytest.raises(InternalError, match="unknown verdict"):
        result("linkage", 0.5, "fine")
