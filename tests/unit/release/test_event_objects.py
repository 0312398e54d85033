"""An event release with shifted dates: certificate, verify, check and report count the same things, and say which."""

from __future__ import annotations

import importlib.resources
import json
import shutil
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from random import Random

import jsonschema
import pytest

import shoal
from release_forging import another, edited, leaves, plain_certificate, sign_anew
from shoal.errors import TamperError
from shoal.model.certificate.certificate import NAME
from shoal.model.certificate.events import EventCertificate, EventNumbers
from shoal.model.certificate.file import read_event_certificate
from shoal.model.certificate.form import plain, typed
from shoal.model.certificate.halves import DERIVED, document, flat_form, halves
from shoal.model.display import as_percent
from shoal.release.certificate.signing import file_entry
from shoal.release.events.contents import derive
from shoal.release.events.verify import EventClaim, _form, _numbers
from shoal.release.verification import verify
from shoal.report.event_release_report import render

ASKED = {"known": {"records": 1, "k": 5}}


def policy(**rules: object) -> dict[str, object]:
    events = {"unit": "card", "time": "at", "place": "station", "time_widths": ["day"], **rules}
    return {"events": events, "require": ASKED, "allow": {"suppress": 0.3}, "date": "2026-11-15"}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = Random(3)
    rows = [
        (f"c{i}", (date(2024, 1, 1) + timedelta(draw.randrange(21))).isoformat(), draw.choice("AB"))
        for i in range(90)
        for _ in range(3)
    ]
    table = dict(zip(("card", "at", "station"), map(list, zip(*rows, strict=True)), strict=True))
    return shoal.anonymize(table, policy(shift=10)).write(tmp_path_factory.mktemp("events") / "r")


def test_every_requirement_names_its_object(released):
    made = read_event_certificate(released / NAME)
    assert made.people is not None
    assert made.after.smallest["1"] == 1, "some pseudonym is alone with a shifted date"
    assert made.people.smallest["1"] >= 5
    (judged,) = made.requirements
    assert judged.counted == "people, at their dates before the shift; the published file has the shifted dates"
    assert f"This counts {judged.counted}." in made.verdict
    assert "As published, a record is shared by as few as 1 pseudonym;" in made.verdict
    page = (released / "report.html").read_text()
    assert "dates before the shift" in page
    finders = [a for a in made.attacks if a.verdict == "warning" and a.name.startswith(("known", "sparse", "whole"))]
    top = max(finders, key=lambda a: a.rate or 0)
    assert f"succeeds for {as_percent(top.rate)}" in made.verdict
    assert f"</em>; whoever knows more finds up to {as_percent(top.high)}</h1>" in page
    assert '<em class="met">' not in page.partition("</h1>")[0]


def test_verify_and_check_agree_on_the_published_file(released):
    """Both find a record of one pseudonym in the published file; verify says that the requirement is about people before."""
    found = shoal.verify(released)
    (count,) = [c for c in found.checks if c.name == "re-count"]
    assert found.ok
    assert "in the published file, where a record as published is shared by as few as 1 of them" in count.sentence
    assert "counted over people, at their dates before the shift" in count.sentence
    gate = shoal.check(released / "data.csv", policy(shift=10))
    assert not gate.met
    assert [f.found for f in gate.findings] == [1]
    assert "Counted in this table as it is, over its values of 'card'." in gate.closing
    assert gate.to_json()["counted"] == "values of 'card' of this table as it is"


def test_pseudonyms_are_named_where_they_are_counted(tmp_path):
    rows = {"card": [f"c{i // 2}" for i in range(80)], "at": ["2024-01-01", "2024-01-02"] * 40, "station": ["A"] * 80}
    folder = shoal.anonymize(rows, policy()).write(tmp_path / "r")
    made = read_event_certificate(folder / NAME)
    assert [r.counted for r in made.requirements] == ["pseudonyms of the published file"]
    (count,) = [c for c in shoal.verify(folder).checks if c.name == "re-count"]
    assert count.sentence.endswith("every requirement is met, counted over pseudonyms of the published file")


def test_the_derived_half_of_an_event_certificate_follows_from_the_files(released):
    claim = EventClaim(released)
    whole = document(claim.certificate)
    lies = whole
    for path in leaves({n: v for n, v in whole["derived"].items() if n not in ("files", "data", "attacks")}):
        lies = edited(lies, ("derived", *path), lambda v: "a vault" if v is None else another(v))
    again = derive(typed(EventCertificate, flat_form(lies)), claim.facts, released).as_read
    assert halves(plain(again)) == halves(plain(claim.certificate))


@pytest.mark.parametrize("name", sorted({p.split(".")[0] for p in DERIVED["shoal-event-certificate/2"]} - {"files"}))
def test_verify_refuses_a_changed_leaf_of_every_derived_part(released, tmp_path, name):
    folder = tmp_path / "r"
    shutil.copytree(released, folder)
    flat = plain_certificate(folder)
    path = next(p for p in leaves(halves(flat)[0]) if p[0] == name)
    forged = edited(flat, path, another)
    body = {n: v for n, v in forged.items() if n not in ("key", "signature")}
    body["files"] = [f for f in body["files"] if f["name"] != "report.html"]
    (folder / "report.html").write_text(render(typed(EventCertificate, body)))
    body["files"].append(plain(file_entry(folder / "report.html")))
    sign_anew(folder, body)
    assert not verify(folder).ok


def test_the_file_of_an_event_certificate_fits_its_schema(released):
    whole = json.loads((released / NAME).read_text())
    schema = importlib.resources.files("shoal.model.certificate").joinpath("event_certificate.schema.json")
    jsonschema.validate(whole, json.loads(schema.read_text("utf-8")))
    assert set(whole) == {"format", "derived", "signed", "key", "signature"}


DAY = "2024-01-01"
EVENTS = {"unit": "card", "time": "at", "place": "station"}


def gate(rows: list[tuple[object, ...]], *, direct: list[str] | None = None, known: int = 1, k: int = 2) -> object:
    names = ("card", "at", "station", "name")[: len(rows[0])]
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    rules = {
        "events": EVENTS,
        "require": {"known": {"records": known, "k": k}},
        **({"roles": {"direct": direct}} if direct else {}),
    }
    return shoal.check(table, rules)


def test_the_gate_counts_a_direct_identifier_that_is_still_there():
    rows = [(f"c{i}", DAY, "A", f"n{i}") for i in range(4)]
    there = gate(rows, direct=["name"])
    assert not there.met
    assert [f.found for f in there.findings] == [4, 1]
    gone = gate([row[:3] for row in rows], direct=["name"])
    assert gone.met
    assert [f.found for f in gone.findings] == [4, 0]
    assert len(gate([row[:3] for row in rows]).findings) == 1, "a policy without direct identifiers asks nothing of them"


def test_the_gate_leaves_out_records_that_nobody_can_know():
    rows = [("a", DAY, "A"), ("b", DAY, "A"), ("c", DAY, None), (None, DAY, "A"), ("d", None, "A")]
    found = gate(rows)
    assert found.facts.records == 2
    assert found.to_json()["records"] == 2
    assert found.counted == "2 records of 2 values of 'card' at 1 points."


def test_the_gate_says_whether_it_is_open():
    assert gate([("a", DAY, "A"), ("b", DAY, "A")]).closing.startswith("The gate is open. Counted in this table as it is")
    assert gate([("a", DAY, "A"), ("b", DAY, "B")]).closing.startswith("Known records tell too much. Counted in this table")


def test_the_gate_knows_which_column_is_the_time():
    table = {"card": ["a", "b"], "at": [f"{DAY}T08:00:00", f"{DAY}T09:00:00"], "station": ["A", "A"]}
    for reach, met in (("1h", True), ("59min", False)):
        found = shoal.check(table, {"events": EVENTS, "require": [f"near[1, {reach}]>=2"]})
        assert [f.met for f in found.findings] == [met]


def test_the_gate_counts_as_many_known_records_as_the_most_that_is_asked():
    rows = [(c, f"2024-01-0{d}", "A") for c in "ab" for d in (1, 2, 3)] + [("c", f"2024-01-0{d}", "A") for d in (1, 2)]
    table = dict(zip(("card", "at", "station"), map(list, zip(*rows, strict=True)), strict=True))
    found = shoal.check(table, {"events": EVENTS, "require": ["known[1]>=2", "known[3]>=2"]})
    assert dict(found.facts.smallest) == {1: 2, 2: 2, 3: 2}
    assert found.met


def numbers(**changes: object) -> EventNumbers:
    sound = {
        "records": 9,
        "traces": 5,
        "people": 4,
        "points": 3,
        "longest": 2,
        "smallest": {"1": 4, "2": 1},
        "alone": {"1": 0.0, "2": 1.0},
    }
    return EventNumbers(**{**sound, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"smallest": {"1": 5, "2": 1}}, {"smallest": {"1": 4, "2": 0}}, {"smallest": {"1": 1, "2": 2}},
        {"smallest": {"1": 4, "3": 1}, "alone": {"1": 0.0, "3": 0.5}}, {"smallest": {}, "alone": {}}, {"alone": {"1": 0.0}},
        {"smallest": {"1": 4, "x": 1}, "alone": {"1": 0.0, "x": 1.0}},
        {"alone": {"1": 0.0, "2": 1.01}}, {"alone": {"1": 0.0, "2": -0.01}}, {"alone": {"1": 0.1, "2": 0.5}},
        {"traces": 10}, {"people": 6, "traces": 5}, {"smallest": {"1": 4, "2": 0}, "alone": {"1": 0.0, "2": 0.0}},
        {"smallest": {"1": 4, "2": 1, "3": 2}, "alone": {"1": 0.0, "2": 0.5, "3": 0.0}},
    ],
)  # fmt: skip
def test_numbers_that_no_table_has_are_refused(changes):
    with pytest.raises(TamperError):
        _numbers(numbers(**changes))


@pytest.mark.parametrize("changes", [{}, {"traces": 9}, {"people": 5}, {"alone": {"1": 0.0, "2": 0.0}}])
def test_numbers_at_their_bounds_are_taken(changes):
    _numbers(numbers(**changes))


@pytest.mark.parametrize(
    "change",
    [
        lambda c: {"truncated": -1, "suppressed": c.suppressed + c.truncated + 1},
        lambda c: {"suppressed": -1, "truncated": c.suppressed + c.truncated + 1},
        lambda c: {"incomplete": -1}, lambda c: {"people_left": 0}, lambda c: {"people_left": c.people + 1},
        lambda c: {"loss": -0.01}, lambda c: {"loss": 1.01}, lambda c: {"tried": 0}, lambda c: {"tried": c.shapes + 1},
        lambda c: {"records": c.records + 1}, lambda c: {"left_out_share": c.left_out_share + 0.01},
    ],
)  # fmt: skip
def test_a_cost_that_no_release_has_is_refused(released, change):
    made = read_event_certificate(released / NAME)
    assert _form(made)
    with pytest.raises(TamperError, match="do not add up"):
        _form(replace(made, cost=replace(made.cost, **change(made.cost))))
