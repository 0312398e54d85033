"""What a certificate says of lost groups and of changed columns, at its limits and without a release."""

from __future__ import annotations

import math
from types import SimpleNamespace as Some

import numpy as np
import pyarrow as pa
import pytest

from shoal.model.requirement import requirements_of
from shoal.release.certificate import contents
from shoal.release.certificate.contents import MOST_LINES, NOT_NAMED, lost_groups, magnitude, people_with_less, spread
from shoal.steps import Keep, Round
from shoal.techniques.group.microaggregate import Microaggregate
from shoal.techniques.perturb.noise import CorrelatedNoise, Noise
from shoal.techniques.perturb.permute import Permute, RankSwap


@pytest.fixture
def lost(monkeypatch):
    """Groups (missing, a, b, c …) of which some records are shown and some are gone, in one class each."""

    def run(shown, gone, minimum=3, columns=("city",), codes=None):
        n = len(shown)
        monkeypatch.setattr(contents, "shown_records", lambda prepared, decision, j: np.array(shown))
        base = Some(records_by_class=np.array([1] * n + list(gone)), columns=columns)
        decision = Some(
            stays=np.array([True] * n + [False] * n),
            codes=[np.array([i - 1 for i in range(n)] * 2)] * len(columns) if codes is None else codes,
            labels=[[chr(ord("a") + i) for i in range(n - 1)]] * len(columns),
        )
        return lost_groups(Some(base=base, policy=Some(cells=Some(minimum=minimum))), decision)

    return run


@pytest.mark.parametrize(
    ("shown", "gone", "expected"),
    [
        ([0, 10, 10, 10], [0, 5, 4, 3], [("a", 10, 5), ("b", 10, 4), ("c", 10, 3)]),  # 3 records are enough to be named
        ([0, 10, 10, 10], [0, 5, 4, 2], [("a", 10, 5), (NOT_NAMED, "", 6)]),  # 2 would follow by subtraction: b goes with c
        ([0, 10, 10, 10], [0, 5, 4, 1], [("a", 10, 5), (NOT_NAMED, "", 5)]),
        ([0, 9, 10, 10], [0, 4, 4, 1], [("b", 10, 4), (NOT_NAMED, "", 5)]),
        ([0, 10, 10, 3], [0, 5, 4, 3], [("c", 3, 3), ("a", 10, 5), ("b", 10, 4)]),
        ([0, 10, 10, 2], [0, 5, 4, 3], [("a", 10, 5), ("b", 10, 4), (NOT_NAMED, "", 3)]),  # 3 together are no small count
        ([0, 10, 10, 2], [0, 5, 4, 4], [("a", 10, 5), ("b", 10, 4), (NOT_NAMED, "", 4)]),
        ([5, 10, 10, 10], [3, 5, 0, 0], [("missing", 5, 3), ("a", 10, 5)]),
        ([0, 2, 0, 0], [0, 2, 0, 0], []),
        ([0, 2, 0, 0], [0, 0, 0, 3], [(NOT_NAMED, "", 3)]),
        ([0, 10, 10, 10], [0, 0, 5, 2], [(NOT_NAMED, "", 7)]),
    ],
)
def test_a_group_is_named_if_no_small_count_follows(lost, shown, gone, expected):
    assert [(g.group, g.records, g.suppressed) for g in lost(shown, gone)] == expected


def test_the_last_groups_may_have_lost_nothing(lost):
    codes = [np.array([-1, 0, 1, 2, 0, 0, 0, 0])]
    assert [(g.group, g.suppressed) for g in lost([0, 10, 10, 10], [0, 5, 1, 0], codes=codes)] == [("a", 6)]


def test_nothing_is_lost_if_all_stays_or_nothing_is_generalized(lost):
    assert lost([0, 10], [0, 5], codes=[]) == ()
    stays = Some(stays=np.array([True, True]), codes=[np.array([0, 1])])
    assert lost_groups(Some(), stays) == ()


def test_so_many_lines_those_with_the_largest_share_first(lost):
    shown, gone = [0] + [10] * 9, [0, *range(3, 12)]
    groups = lost(shown, gone)
    assert len(groups) == MOST_LINES
    assert [g.suppressed for g in groups] == list(range(11, 3, -1))
    two = lost([0, 10], [0, 5], columns=("y", "x"))
    assert [(g.column, g.share) for g in two] == [("x", "33.3 %"), ("y", "33.3 %")]


def test_people_who_keep_some_of_their_records():
    classes, person = np.array([0, 0, 1, 1, 2]), np.array([7, 8, 7, 9, 9])
    decision = Some(stays=np.array([True, False, False]))
    assert people_with_less(Some(people=(classes, person)), decision) == 1
    assert people_with_less(Some(people=(classes, person)), Some(stays=np.array([True, False, True]))) == 2
    assert people_with_less(Some(people=None), decision) == 0


# --- words about a step ----------------------------------------------------------------------------------------------------


def prepared(*batches):
    made = [pa.record_batch({"pay": pa.array(values, pa.float64())}) for values in batches]
    return Some(table=Some(scan=lambda columns: iter(made)))


@pytest.mark.parametrize(
    "batches", [[[1, 2, 4]], [[1, 2], [4, None]], [[1], [], [2, math.nan], [4, 9, 16]], [[5.0]], [[-1e6, 1e6], [0.5] * 3, [7]]]
)
def test_the_deviation_of_a_column_that_is_read_in_pieces(batches):
    values = [v for batch in batches for v in batch if v is not None and v == v]
    assert spread(prepared(*batches), "pay") == pytest.approx(float(np.std(values)))
    assert spread(prepared([], [None]), "pay") == 0.0


def test_noise_below_a_tenth_of_the_columns_deviation_hides_little():
    column = prepared([80.0, 120.0])  # deviation 20
    assert magnitude(column, Noise("pay", scale=2.0)) == "noise with standard deviation 2, 10 % of the column's own"
    assert magnitude(column, Noise("pay", scale=1.9)).endswith("9.5 % of the column's own, which hides little")
    assert magnitude(prepared([5.0, 5.0]), Noise("pay", scale=2.0)) == "noise with standard deviation 2"
    told = magnitude(column, Noise("pay", scale=0.9, mode="multiplicative"))
    assert told == "noise: each value changed by 90 % of itself (standard deviation)"


@pytest.mark.parametrize(
    ("step", "clause"),
    [
        (CorrelatedNoise("pay", factor=((1.0,),), share=0.81), "noise with 90 % of each column's own deviation"),
        (RankSwap("pay", percent=5.0), "values exchanged within 5 % of the ranks"),
        (Permute("pay"), "values exchanged at random"),
        (Permute("pay", within=("sex", "age")), "values exchanged among records with the same sex, age"),
        (Microaggregate("pay", k=4, publish="median"), "median of groups of at least 4"),
        (Round("pay", base=10.0), "rounded to multiples of 10"),
        (Keep("pay"), ""),
    ],
)
def test_one_clause_about_a_step(step, clause):
    assert magnitude(prepared([1.0, 2.0]), step) == clause


# --- columns and numbers ---------------------------------------------------------------------------------------------------


def test_records_of_a_sample_and_of_the_whole():
    made = Some(records_in=8, unsampled=2, input_hash=None, objections=None, snapshot=None)
    whole, sample = contents._input(Some(sampled=None), made), contents._input(Some(sampled=Some()), made)
    assert [(i.records, i.drawn) for i in (whole, sample)] == [(10, None), (10, 8)]


def test_notes_state_what_was_not_read():
    def notes(missing=(), aside=0):
        columns = [Some(name="age", missing_values=missing), Some(name="sex", missing_values=())]
        return contents._notes(Some(schema=Some(columns=columns), table=Some(set_aside=aside)), Some(notes=("last.",)))

    assert notes() == ("last.",)
    assert notes(("?", "-")) == ("Read as missing, as specified: age (?, -).", "last.")
    assert notes(aside="3 rows") == ("Not read as records: 3 rows.", "last.")


def test_the_columns_by_role(monkeypatch):
    monkeypatch.setattr(contents, "treatment_of", lambda steps: steps[0])
    monkeypatch.setattr(contents, "magnitude", lambda prepared, step: f"how {step}")
    names = ("age", "zip", "ill", "name", "id", "w")
    policy = Some(quasi={"age": 1, "zip": 1}, unit="id", who_decided=lambda name: f"person for {name}")
    schema = type("Schema", (), {"__getitem__": lambda self, name: Some(kind="text")})()
    schema.columns = [Some(name=n, kind="text") for n in names]
    schema.roles = {"ill": Some(value="sensitive"), "name": Some(value="identifier")}
    steps = {"ill": "rounded", "name": "removed", "id": "pseudonym", "w": "retained"}
    made = Some(policy=policy, schema=schema, hierarchies={n: Some(height=3) for n in names}, inferred={"zip": "by digits"})
    made.n_values = lambda name: 9
    decision = Some(plan=Some(for_column=lambda name: [steps.get(name)]), levels={"age": 1, "zip": 2})
    columns = {c.name: c for c in contents.columns_of(made, decision, {"ill": 0.5})}
    assert {n: c.role for n, c in columns.items()} == {
        "age": "quasi", "zip": "quasi", "ill": "sensitive", "name": "identifier", "id": "unit", "w": "weight",
    }  # fmt: skip
    assert {n: c.why for n, c in columns.items()} == {
        "age": "hierarchy as given", "zip": f"{contents.GUESSED}by digits", "ill": "how rounded", "name": "",
        "id": "how pseudonym", "w": "",
    }  # fmt: skip
    assert [columns[n].decided for n in ("age", "ill", "id")] == ["person for age", "person for ill", None]
    assert columns["ill"].changed == 0.5


@pytest.mark.parametrize(
    ("scope", "people", "counted"), [("rows", Some(), True), ("rows", None, False), ("values", Some(), False)]
)
def test_people_are_counted_where_records_are_removed(monkeypatch, scope, people, counted):
    monkeypatch.setattr(contents, "lost_groups", lambda prepared, decision: ())
    policy, base = Some(scope=scope, suppress=0.1), Some(n_people=4)
    decision = Some(loss_name="l", loss=1, method="full", levels={}, proven=True, gap=None, plans=1, others=())
    made = Some(people=people, suppressed=2, frontier=(), analyses=())
    utility = contents._utility(Some(policy=policy, base=base, people=None), decision, made)
    assert (utility.people_before, utility.people_with_less) == ((4, 0) if counted else (None, None))
    assert utility.gap is None
    decision.gap = 1
    assert contents._utility(Some(policy=policy, base=base, people=None), decision, made).gap == 1.0


@pytest.mark.parametrize("coarser", [None, Some(before="counted coarser")])
def test_a_certificate_states_numbers_that_nobody_can_count_again(monkeypatch, coarser):
    """Those of the population and of the original; and the classes before as they were counted."""
    for name in ("_input", "columns_of", "_utility", "_notes"):
        monkeypatch.setattr(contents, name, lambda *_: ())
    monkeypatch.setattr(contents, "Certificate", lambda **stated: Some(**stated))
    monkeypatch.setattr(contents, "published_numbers", lambda facts: f"numbers of {facts}")
    monkeypatch.setattr(contents, "class_numbers", lambda facts: facts)
    monkeypatch.setattr(contents, "_of_base", lambda base: f"classes of {base}")
    asked = requirements_of(["k>=5", "k_map>=20", "linkage<=0.2"])
    policy = Some(
        preset=None, requirements=asked, about={}, unit=None, publish_unit="pseudonym", weight=None, population=None,
        identifying={}, require_json=dict,
    )  # fmt: skip
    made = Some(
        people=None, facts="the file", data=None, files=(), commitment=None, place=None, attacks=(), changed={}, identifiers=None,
        accepted=("a note",),
    )  # fmt: skip
    given = {r.place: number for r, number in zip(asked, (5, 21, 0.1), strict=True)}
    stated = contents.certificate_of(Some(policy=policy, base="the base", coarser=coarser), Some(given=given), made)
    assert stated.given == {asked[1].name: 21, asked[2].name: 0.1}
    assert stated.before == ("classes of the base" if coarser is None else "counted coarser")
    assert (stated.after, stated.after_people, stated.notes) == ("numbers of the file", None, ("a note",))
    assert stated.unit.published is None
    made.people, policy.unit = "the people", "person"
    stated = contents.certificate_of(Some(policy=policy, base="the base", coarser=coarser), Some(given=given), made)
    assert (stated.after_people, stated.unit.published) == ("numbers of the people", "pseudonym")
