"""Each claim of an event certificate at its limit: what is refused, and what is just taken."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace as Some
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import TamperError, UsageError, VerificationError
from shoal.model.certificate.certificate import EVENT_FORMAT_1, NAME
from shoal.model.certificate.events import EventNumbers, EventUse
from shoal.model.certificate.file import read_event_certificate
from shoal.model.certificate.parts import Objections
from shoal.release.events import verify as claims
from shoal.release.events.verify import EventClaim, _claims, _count, _form, _plan, _uses_of, event_facts
from shoal.release.proof.events import EventFacts, check_flows, judge_events, read_flows

POLICY = {
    "events": {"unit": "card", "time": "at", "place": "station", "time_widths": ["day"]},
    "require": {"known": {"records": 1, "k": 5}},
    "date": "2026-11-15",
}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty people at A on one day and at B on the next."""
    rows = {"card": [f"c{i // 2}" for i in range(80)], "at": ["2024-01-01", "2024-01-02"] * 40, "station": ["A", "B"] * 40}
    return shoal.anonymize(rows, POLICY).write(tmp_path_factory.mktemp("claims") / "r")


@pytest.fixture
def made(released: Path) -> Any:
    return read_event_certificate(released / NAME)


# --- numbers that fit together ---------------------------------------------------------------------------------------------


def numbers(people: int = 4, records: int = 14, **more: Any) -> EventNumbers:
    sound = {"smallest": {"1": min(2, people), "2": 1}, "alone": {"1": 0.0, "2": 0.5}}
    return EventNumbers(**{"records": records, "traces": 5, "people": people, "points": 3, "longest": 2, **sound, **more})


def certificate(*, left: int = 4, people: Any = None, shift: int = 0, renew: str = "as needed", **cost: Any) -> Any:
    """Of 20 records 1 was beyond the most, 3 were left out and 2 were shown once with others; 2 of 6 people are away."""
    people = numbers(left) if people is None else people or None
    after = numbers(5)
    sums = {"records": 20, "truncated": 1, "suppressed": 3, "merged": 2, "incomplete": 0, "left_out_share": 0.2, "people": 6}
    sums |= {"people_left": left, "people_away": 2, "records_away": 3, "loss": 0.5, "tried": 2, "shapes": 3}
    return Some(
        cost=Some(**{**sums, **cost}), after=after, people=people, steps=Some(renew=renew, shift=shift),
        judged_by=people or after, objections=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    "at_its_bound",
    [
        {}, {"left": 1}, {"people_away": None, "records_away": None}, {"people_away": 0, "records_away": 0},
        {"people_away": 2, "records_away": 2}, {"people_away": 1, "records_away": 1}, {"loss": 0.0}, {"loss": 1.0},
        {"loss": 0}, {"loss": 1}, {"tried": 1}, {"tried": 3}, {"tried": 1, "shapes": 1}, {"incomplete": 7},
        {"truncated": 0, "suppressed": 4}, {"merged": 0, "records": 18, "left_out_share": 4 / 18},
        {"truncated": 4, "suppressed": 0, "people_away": 0, "records_away": 0},
    ],
)  # fmt: skip
def test_costs_at_their_bounds_are_taken(at_its_bound: dict[str, Any]) -> None:
    assert _form(certificate(**at_its_bound)) == "the numbers of the certificate fit together"


@pytest.mark.parametrize(
    "beyond",
    [
        {"records": 21}, {"records": 19}, {"left_out_share": 0.21}, {"truncated": 2}, {"suppressed": 4}, {"merged": 1},
        {"truncated": -1, "suppressed": 5}, {"merged": -1, "records": 17, "left_out_share": 4 / 17}, {"incomplete": -1},
        {"left": 0}, {"left": 5}, {"people_away": 3, "left": 4}, {"people_away": -1}, {"people_away": 2, "records_away": 1},
        {"records_away": 4}, {"people_away": 2, "records_away": None}, {"loss": -0.001}, {"loss": 1.001}, {"loss": 2},
        {"tried": 0}, {"tried": 4},
    ],
)  # fmt: skip
def test_costs_beyond_their_bounds_are_refused(beyond: dict[str, Any]) -> None:
    with pytest.raises(TamperError, match="do not add up"):
        _form(certificate(**beyond))


@pytest.mark.parametrize(
    ("renew", "shift", "people", "fits"),
    [
        ("never", 0, False, True), ("never", 0, None, False), ("never", 9, None, True), ("never", 9, False, False),
        ("as needed", 0, None, True), ("as needed", 0, False, False), ("as needed", 9, None, True),
        ("as needed", 9, False, False),
    ],
)  # fmt: skip
def test_people_are_counted_exactly_where_pseudonyms_are_not_people(renew: str, shift: int, people: Any, fits: bool) -> None:
    c = certificate(renew=renew, shift=shift, people=people)
    c.cost.people_away, c.cost.people_left = 1, c.judged_by.people
    if fits:
        _form(c)
    else:
        with pytest.raises(TamperError, match="pseudonyms are people, or the reverse"):
            _form(c)


def test_the_numbers_of_people_are_looked_at_like_those_of_the_file() -> None:
    with pytest.raises(TamperError, match="no table has"):
        _form(certificate(people=numbers(smallest={"1": 5, "2": 1})))
    c = certificate()
    c.after = numbers(5, smallest={"1": 6, "2": 1})
    with pytest.raises(TamperError, match="no table has"):
        _form(c)


@pytest.mark.parametrize(("people", "records"), [(3, 14), (4, 13)])
def test_other_people_or_records_than_are_left_are_refused(people: int, records: int) -> None:
    c = certificate(people=numbers(people, records))
    with pytest.raises(TamperError, match="counts other people or records"):
        _form(c)


@pytest.mark.parametrize(
    ("smallest", "shift", "fits"), [((2, 1), 0, True), ((3, 1), 0, False), ((2, 2), 0, False), ((3, 2), 9, True)]
)
def test_there_are_no_more_people_than_pseudonyms_unless_dates_were_shifted(
    smallest: tuple[int, int], shift: int, fits: bool
) -> None:
    one, two = smallest
    c = certificate(people=numbers(smallest={"1": one, "2": two}, alone={"1": 0.0, "2": 0.0}), shift=shift)
    if fits:
        _form(c)
    else:
        with pytest.raises(TamperError, match="more people than there are pseudonyms"):
            _form(c)


def test_opt_outs_that_do_not_fit_are_refused() -> None:
    c = certificate()
    c.objections = Objections(listed=3, found=1, records=2, unnamed=0, commitment="0" * 64, column="card")
    _form(c)
    c.objections = replace(c.objections, found=4)
    with pytest.raises(TamperError, match="not to be in it"):
        _form(c)


# --- plan, data and counts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "change", "reason"),
    [
        ("steps", {"time": "week"}, "not the one"), ("steps", {"time": None}, "not the one"),
        ("steps", {"place": "other"}, "not the one"),
        ("steps", {"most_records": 1}, "not the one"), ("steps", {"renew": "as needed"}, "not the one"),
        ("steps", {"shift": 1}, "not the one"), ("steps", {"vault": "people"}, "not the one"),
        ("data", {"unit": "who"}, "not the one"),
        ("data", {"time": None}, "published columns differ"), ("plan", {"sha256": "0" * 64}, "another hash"),
        ("plan", {"seed": "7"}, "another hash"),
    ],
)  # fmt: skip
def test_another_plan_than_the_certificate_names_is_refused(
    released: Path, made: Any, part: str, change: dict[str, Any], reason: str
) -> None:
    assert _plan(released, made)
    assert _plan(released, replace(made, data=replace(made.data, unit=None))), "a pseudonym need not be published"
    with pytest.raises(TamperError, match=reason):
        _plan(released, replace(made, **{part: replace(getattr(made, part), **change)}))


@pytest.mark.parametrize(("time", "width", "shown", "fits"), [
    (None, "none", None, True), ("at", "none", None, True), ("at", "none", "at", False), (None, "day", None, True),
])  # fmt: skip
def test_a_time_is_published_exactly_if_the_plan_has_one(
    tmp_path: Path, released: Path, made: Any, time: str | None, width: str, shown: str | None, fits: bool
) -> None:
    plan = replace(claims.EventPlan.from_json((released / "plan.json").read_text()), time=time, time_width=width)
    (tmp_path / "plan.json").write_text(plan.to_json())
    c = replace(
        made, steps=replace(made.steps, time=width), data=replace(made.data, time=shown),
        plan=replace(made.plan, sha256=hashlib.sha256(plan.to_json().encode()).hexdigest()),
    )  # fmt: skip
    if fits:
        _plan(tmp_path, c)
    else:
        with pytest.raises(TamperError, match="published columns differ"):
            _plan(tmp_path, c)


def test_a_plan_without_a_place_has_no_level_of_it(tmp_path: Path, released: Path, made: Any) -> None:
    plan = replace(claims.EventPlan.from_json((released / "plan.json").read_text()), place=())
    (tmp_path / "plan.json").write_text(plan.to_json())
    sha = replace(made.plan, sha256=hashlib.sha256(plan.to_json().encode()).hexdigest())
    assert _plan(tmp_path, replace(made, plan=sha, steps=replace(made.steps, place=None)))
    with pytest.raises(TamperError, match="not the one"):
        _plan(tmp_path, replace(made, plan=sha))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"place": ("elsewhere",)}, "points that the data do not have"),
        ({"place": (), "time": None}, "points that the data do not have"),
        ({"columns": ("card", "at", "station", "more")}, "other columns"),
        ({"columns": ("at", "card", "station")}, "other columns"),
        ({"file": "../r/data.csv"}, "outside the folder"), ({"file": "link.csv"}, "outside the folder"),
    ],
)  # fmt: skip
def test_other_data_than_the_certificate_names_are_refused(
    released: Path, tmp_path: Path, made: Any, change: dict[str, Any], reason: str
) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "data.csv").write_bytes((released / "data.csv").read_bytes())
    (folder / "link.csv").symlink_to(folder / "data.csv")
    assert event_facts(folder, made).records == 80
    with pytest.raises(TamperError, match=reason):
        event_facts(folder, replace(made, data=replace(made.data, **change)))


def test_records_are_as_many_as_stated_and_known_records_up_to_the_most_stated(released: Path, made: Any) -> None:
    assert dict(event_facts(released, made).smallest) == {1: 40, 2: 40, 3: 40}
    fewer = replace(made.after, smallest={"1": 40}, alone={"1": 0.0})
    assert dict(event_facts(released, replace(made, after=fewer)).smallest) == {1: 40}


def test_a_packed_file_of_more_records_than_stated_is_not_read(tmp_path: Path, made: Any) -> None:
    pq.write_table(pa.table({"card": ["1", "2"], "at": ["x", "x"], "station": ["A", "A"]}), tmp_path / "data.parquet")
    data = replace(made.data, file="data.parquet", format="parquet")
    assert event_facts(tmp_path, replace(made, data=data, after=replace(made.after, records=2))).records == 2
    with pytest.raises(VerificationError, match="has 2 records, the certificate states 3"):
        event_facts(tmp_path, replace(made, data=data, after=replace(made.after, records=3)))


def test_rows_that_stand_for_several_records_are_as_many_as_their_numbers(tmp_path: Path, made: Any) -> None:
    (tmp_path / "data.csv").write_text("from,to,trips\nA,B,7\nB,A,5\n")
    data = replace(made.data, columns=("from", "to", "trips"), unit=None, time=None, place=("from", "to"), counts="trips")
    facts = event_facts(tmp_path, replace(made, data=data, after=replace(made.after, records=12)))
    assert (facts.records, dict(facts.smallest)) == (12, {1: 5, 2: 5, 3: 5})


def test_without_pseudonyms_every_column_may_be_a_point(tmp_path: Path, made: Any) -> None:
    (tmp_path / "data.csv").write_text("at,station\n" + "2024-01-01,A\n" * 80)
    data = replace(made.data, columns=("at", "station"), unit=None)
    assert event_facts(tmp_path, replace(made, data=data)).traces == 80


def database_table(made: Any) -> tuple[Any, Any]:
    """The released rows as a table, and the certificate of it."""
    from shoal.api.arguments import opened

    rows = {
        "card": [str(i // 2 % 40 + 1) for i in range(80)],
        "at": ["2024-01-01", "2024-01-02"] * 40,
        "station": ["A", "B"] * 40,
    }
    table = opened(pa.table(rows))
    names = ("card", "at", "station")
    return table, replace(
        made, data=replace(made.data, file=None, table="trips", format="parquet", digest=claims.digest(table, names))
    )


def test_a_table_of_a_database_must_have_the_signed_columns_and_rows(released: Path, made: Any) -> None:
    table, c = database_table(made)
    assert event_facts(released, c, table).smallest[2] == 40
    with pytest.raises(VerificationError, match="--table"):
        event_facts(released, c)
    for wrong in ({"digest": "0" * 64}, {"columns": ("at", "card", "station")}):
        with pytest.raises(TamperError, match="changed after"):
            event_facts(released, replace(c, data=replace(c.data, **wrong)), table)
    assert claims._uses(released, c, table).startswith("counted again")
    with pytest.raises(VerificationError, match="--table"):
        claims._uses(released, c, None)


def test_the_count_and_every_requirement_must_come_out_as_stated(released: Path, made: Any) -> None:
    facts = event_facts(released, made)
    assert _count(made, facts).endswith("every requirement is met, counted over pseudonyms of the published file")
    with pytest.raises(VerificationError, match="gives other numbers"):
        _count(made, replace(facts, points=3))
    (judged,) = made.requirements
    with pytest.raises(VerificationError, match="come out differently"):
        _count(replace(made, requirements=(replace(judged, found=39),)), facts)
    with pytest.raises(VerificationError, match="come out differently"):
        _count(replace(made, require={"known": {"records": 1, "k": 6}}), facts)
    with pytest.raises(VerificationError, match="nothing is required"):
        _count(replace(made, require={}, requirements=()), facts)


def test_a_requirement_that_is_not_met_fails_however_it_is_signed(released: Path, made: Any) -> None:
    facts = event_facts(released, made)
    for k, met in ((40, True), (41, False)):
        c = replace(made, require={"known": {"records": 1, "k": k}})
        (verdict,) = judge_events(c.asked, facts)
        c = replace(c, requirements=(replace(made.requirements[0], **verdict.to_json()),))
        if met:
            _count(c, facts)
        else:
            with pytest.raises(VerificationError, match="a requirement is not met"):
                _count(c, facts)


def test_people_behind_pseudonyms_are_judged_by_the_signed_numbers(released: Path, made: Any) -> None:
    facts = event_facts(released, made)
    for k, met in ((7, True), (8, False)):
        people = replace(made.after, smallest={"1": 7, "2": 7, "3": 7})
        c = replace(made, people=people, require={"known": {"records": 1, "k": k}})
        (verdict,) = judge_events(c.asked, claims.facts_of(people))
        c = replace(c, requirements=(replace(made.requirements[0], **verdict.to_json()),))
        if met:
            sentence = _count(c, facts)
            assert "shared by as few as 40 of them" in sentence
            assert "does not tell who is behind a pseudonym" in sentence
        else:
            with pytest.raises(VerificationError, match="not met"):
                _count(c, facts)


# --- uses and sentences ----------------------------------------------------------------------------------------------------


def changed_use(made: Any, name: str, after: float) -> Any:
    return replace(made, uses=tuple(replace(u, after=after) if u.name == name else u for u in made.uses))


@pytest.mark.parametrize("name", ["records", "records per person", "trips"])
def test_a_use_that_the_file_does_not_have_is_refused(released: Path, made: Any, name: str) -> None:
    assert _uses_of(released, made, released / "data.csv") == (
        "counted again in the published file: records, records per person, trips; 1 flows have at least 5 trips, and add none "
        "or at least 5 to those that the records show"
    )
    with pytest.raises(VerificationError, match=f"another number of {name}"):
        _uses_of(released, changed_use(made, name, 41.5), released / "data.csv")


def test_trips_are_counted_only_in_times_that_have_an_order(released: Path, made: Any) -> None:
    """Published times of a custom width need not sort as they are written, so that trips are signed only."""
    wrong = changed_use(made, "trips", 41.5)
    for width, counted in (("month", True), ("weekday", False), ("6h", True), ("none", False), (None, False)):
        c = replace(wrong, steps=replace(made.steps, time=width))
        if counted:
            with pytest.raises(VerificationError, match="trips"):
                _uses_of(released, c, released / "data.csv")
        else:
            assert "; 1 flows" in _uses_of(released, c, released / "data.csv")


def test_flows_that_the_records_contradict_are_refused(released: Path, tmp_path: Path, made: Any) -> None:
    data = tmp_path / "data.csv"
    data.write_bytes((released / "data.csv").read_bytes())
    flows = tmp_path / "flows.csv"

    def look(trips: int, c: Any = made) -> str:
        flows.write_text(f"station_from,station_to,trips\nA,B,{trips}\n")
        return _uses_of(tmp_path, changed_use(c, "flows", trips), data)

    for trips in (40, 45, 50):
        assert "1 flows" in look(trips)
    for trips in (39, 41, 44):
        with pytest.raises(VerificationError, match="fewer than 5 people"):
            look(trips)
    no_trips = replace(made, uses=tuple(u for u in made.uses if u.name != "trips"))
    assert "1 flows" in look(41, no_trips), "without trips in the records, what flows add is not known"
    with pytest.raises(VerificationError, match="number of trips"):
        look(40, replace(made, uses=tuple(u for u in made.uses if u.name != "flows")))
    flows.write_text("station_from,station_to,trips\nA,B,40\n")
    with pytest.raises(VerificationError, match="number of trips"):
        _uses_of(tmp_path, changed_use(made, "flows", 41), data)
    unlisted = replace(made, files=tuple(f for f in made.files if f.name != "flows.csv"))
    assert _uses_of(tmp_path, unlisted, data).endswith("records, records per person, trips")


def test_flows_of_records_with_two_places_are_those_records(tmp_path: Path, made: Any) -> None:
    """Each record is a trip: a flow must add nothing, or five, although no use of the name trips is stated."""
    (tmp_path / "data.csv").write_text("card,from,to\n" + "".join(f"{i},A,B\n" for i in range(7)))
    (tmp_path / "flows.csv").write_text("from,to,trips\nA,B,9\n")
    data = replace(made.data, columns=("card", "from", "to"), time=None, place=("from", "to"))
    c = replace(made, data=data, uses=(EventUse("flows", "", 9.0, 9.0, None),))
    with pytest.raises(VerificationError, match="fewer than 5 people"):
        _uses_of(tmp_path, c, tmp_path / "data.csv")
    (tmp_path / "flows.csv").write_text("from,to,trips\nA,B,12\n")
    assert _uses_of(tmp_path, replace(c, uses=(EventUse("flows", "", 12.0, 12.0, None),)), tmp_path / "data.csv")


@pytest.mark.parametrize(
    ("flows", "fits"),
    [("A,B,5\n", True), ("A,B,4\n", False), ("A,B,9\nB,A,4\n", False), ("A,B,9\nB,A,5\n", True)],
)  # fmt: skip
def test_a_flow_is_of_at_least_k_people(tmp_path: Path, flows: str, fits: bool) -> None:
    (tmp_path / "flows.csv").write_text("from,to,trips\n" + flows)
    if fits:
        assert check_flows(tmp_path / "flows.csv", None, 5)
    else:
        with pytest.raises(VerificationError, match="fewer than 5"):
            check_flows(tmp_path / "flows.csv", None, 5)


@pytest.mark.parametrize(("shown", "fits"), [(9, True), (10, False), (8, False), (5, False), (4, True), (3, True)])
def test_a_flow_adds_none_or_at_least_k_to_the_trips_that_records_show(tmp_path: Path, shown: int, fits: bool) -> None:
    (tmp_path / "flows.csv").write_text("from,to,trips\nA,B,9\n")
    if fits:
        assert check_flows(tmp_path / "flows.csv", {("A", "B"): shown}, 5)
    else:
        with pytest.raises(VerificationError, match="fewer than 5"):
            check_flows(tmp_path / "flows.csv", {("A", "B"): shown}, 5)


@pytest.mark.parametrize("rows", ["A,B,9\nA,B,9\n", "A,B,\n", "A,B,-9\n", "A,B,9.0\n"])
def test_flows_named_twice_or_without_a_number_are_refused(tmp_path: Path, rows: str) -> None:
    (tmp_path / "flows.csv").write_text("from,to,trips\nB,A,6\n" + rows)
    with pytest.raises(VerificationError, match="twice, or without"):
        read_flows(tmp_path / "flows.csv")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda c: {"verdict": c.verdict + " "}, "does not follow"), (lambda c: {"limits": c.limits[1:]}, "does not follow"),
        (lambda c: {"proof": replace(c.proof, unit="people")}, "does not follow"), (lambda c: {"verify": "true"}, "never writes"),
        (lambda c: {"attacks": (replace(c.attacks[0], verdict="broken"), *c.attacks[1:])}, "never writes"),
    ],
)  # fmt: skip
def test_a_sentence_that_does_not_follow_is_refused(made: Any, change: Any, reason: str) -> None:
    assert _claims(made)
    with pytest.raises(TamperError, match=reason):
        _claims(replace(made, **change(made)))


def test_the_steps_of_a_claim_by_its_version_and_trips(released: Path, made: Any) -> None:
    claim = EventClaim(released)

    def names(**change: Any) -> list[str]:
        claim.certificate = replace(made, **change)
        return [name for name, _ in claim.further_steps()]

    assert names() == ["derived", "uses"]
    assert names(cost=replace(made.cost, trips=None)) == ["derived"]
    assert names(format=EVENT_FORMAT_1) == []
    assert claim.summary()["key"] == {"fingerprint": made.key.fingerprint, "origin": "made for this release"}
    claim.certificate = replace(made, key=None)
    assert "key" not in claim.summary()


def test_only_requirements_on_known_records_are_judged() -> None:
    facts = EventFacts(9, 5, 5, 3, 2, {1: 4, 2: 2}, {1: 0.0, 2: 0.25}, {"near.1": 3.0})
    asked = shoal.model.requirement.requirements_of(["known[2]>=2", "unicity[2]<=0.25", "near[1, 1h]>=3"])
    verdicts = {v.requirement.name: (v.found, v.met) for v in judge_events(asked, facts)}
    assert verdicts == {"known.2": (2, True), "unicity.2": (0.25, True), "near.1": (3.0, True)}
    with pytest.raises(UsageError, match="says nothing of an event table"):
        judge_events(shoal.model.requirement.requirements_of(["k>=2"]), facts)
