"""Knowledge beyond exact records: each requirement against its definition written out here, in measuring, in a release and in the
second opinion; and attackers of this file, who look for people in releases."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections import Counter
from datetime import datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from event_oracle import Trace, inferred, number
from shoal.errors import PolicyError, RoleError, UsageError
from shoal.model.requirement import requirements_of
from shoal.release.proof.events import facts_of_rows

START = datetime(2026, 3, 2)
ASKED = ["absent[2]>=2", "length[2]>=2", "near[2, 1h]>=2", "alpha[v]<=0.5", "distinct[v]>=2", "t[v, equal]<=0.3"]


def traces(seed: int, people: int, hours: int, each: int) -> dict[int, Trace]:
    rng = np.random.default_rng(seed)
    out: dict[int, Trace] = {}
    for p in range(people):
        for _ in range(each):
            point = int(rng.integers(hours)), "AB"[int(rng.integers(2))]
            out.setdefault(p, {})[point] = (None, "x", "y", "z")[int(rng.integers(4))]
    return out


def rows_of(people: dict[int, Trace]) -> list[tuple[str, Any, datetime, str]]:
    return [(f"p{p}", v, START + timedelta(hours=h), w) for p, own in people.items() for (h, w), v in own.items()]


PLACES = ["home[1]<=0.5", "home[2]<=0.5", "work[2]<=0.5", "next[1]<=0.5", "next[2]<=0.5"]


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize(("seed", "people", "hours", "each"), [(1, 12, 4, 5), (2, 40, 3, 3), (3, 25, 4, 4)])
def test_places_that_known_records_tell_are_those_of_the_definition(
    seed: int, people: int, hours: int, each: int, timed: bool
) -> None:
    rng = np.random.default_rng(seed)
    rows = [(p, int(rng.integers(hours)) * timed, "ABCD"[int(rng.integers(4))]) for p in range(people) for _ in range(each)]
    made: dict[Any, set[tuple[Any, str]]] = {}
    for p, h, w in rows:
        made.setdefault(p, set()).add((h, w))
    wanted = [inferred(made, r.partition("[")[0], int(r[5])) for r in PLACES]
    who, at, where = zip(*rows, strict=True)
    table = {"who": who, "where": where} | ({"at": [START + timedelta(hours=h) for h in at]} if timed else {})
    measured = shoal.measure(table, unit="who", time="at" if timed else None, place="where", require=", ".join(PLACES))
    assert [part.found for part in measured.check(", ".join(PLACES)).parts] == pytest.approx(wanted)
    records = [(p, START + timedelta(hours=h), w) if timed else (p, w) for p, h, w in rows]
    facts = facts_of_rows(records, unit=True, person=False, known=2, asked=requirements_of(PLACES), timed=timed)
    assert [facts.further[r.name] for r in requirements_of(PLACES)] == pytest.approx(wanted)


def points_of(data: list[dict[str, str]]) -> dict[Any, set[tuple[Any, str]]]:
    out: dict[Any, set[tuple[Any, str]]] = {}
    for r in data:
        out.setdefault(r["who"], set()).add((r["at"], r["where"]))
    return out


@pytest.mark.parametrize("renew", ["never", "as needed"])
@pytest.mark.parametrize("kind", ["home", "work", "next"])
def test_no_place_is_surer_than_required(tmp_path: Path, kind: str, renew: str) -> None:
    table = commuters(60, 7)
    limit = {"home": 0.34, "work": 0.25, "next": 0.34}[kind]
    rules = {"time_widths": ["6h"], "place_levels": ["local"], "renew": renew}
    loose = released(table, tmp_path / "loose", ["known[2]>=3"], **rules)
    made = released(table, tmp_path / "out", ["known[2]>=3", f"{kind}[2]<={limit}"], **rules)
    assert inferred(points_of(loose[1]), kind, 2) > limit
    assert inferred(points_of(made[1]), kind, 2) <= limit + 1e-9
    certificate = made[0].certificate
    found = next(f for f in certificate.requirements if f.requirement.startswith(kind))
    assert found.found <= limit + 1e-9
    assert ("flows.csv" in {f.name for f in certificate.files}) == (kind != "next")  # flows tell where people go next
    tried = next(a for a in certificate.attacks if a.name.startswith(f"inference: {kind}"))
    assert (tried.verdict, tried.claimed) == ("holds", limit)


@pytest.mark.parametrize(("seed", "people", "hours", "each"), [(1, 12, 4, 5), (2, 40, 2, 3), (3, 60, 2, 2), (4, 30, 3, 2)])
def test_every_number_is_that_of_its_definition(seed: int, people: int, hours: int, each: int) -> None:
    made = traces(seed, people, hours, each)
    kinds = ["absent", "length", "near", "alpha", "distinct", "t"]
    wanted = [number(made, kind, 2) for kind in kinds]
    who, v, at, where = zip(*rows_of(made), strict=True)
    table = {"who": who, "v": v, "at": at, "where": where}
    measured = shoal.measure(table, unit="who", time="at", place="where", require=", ".join(ASKED))
    assert [part.found for part in measured.check(", ".join(ASKED)).parts] == pytest.approx(wanted)
    asked = requirements_of(ASKED)
    facts = facts_of_rows(rows_of(made), unit=True, person=False, known=2, asked=asked, timed=True, sensitive=["v"])
    names = ["absent.2", "length.2", "near.2", "diversity.v.alpha", "diversity.v.distinct", "closeness.v.t"]
    assert [facts.further[n] for n in names] == pytest.approx(wanted)


def test_the_limit_itself_is_met_and_one_more_is_not() -> None:
    """Three people at A, one of them also at B: without whoever was at B, two fit."""
    table = {"who": [1, 2, 3, 3], "where": ["A", "A", "A", "B"]}
    measured = shoal.measure(table, unit="who", place="where", require="absent[1]>=2, length[1]>=2")
    assert [p.found for p in measured.check("absent[1]>=2, length[1]>=2").parts] == [1, 1]  # B is of one person
    table = {"who": [1, 2, 3, 4, 3, 4], "where": ["A", "A", "A", "A", "B", "B"]}
    measured = shoal.measure(table, unit="who", place="where", require="absent[1]>=2, absent[1]>=3, length[1]>=2")
    assert measured.check("absent[1]>=2").met
    assert "with one point where that person was not, fits at least 2 people; found 2." in measured.explain()
    assert measured.check("length[1]>=2").met
    assert not measured.check("absent[1]>=3").met


def test_a_requirement_that_was_not_measured_is_refused_and_so_are_columns_with_two_meanings() -> None:
    table = {"who": [1, 2], "where": ["A", "A"]}
    with pytest.raises(UsageError, match=r"'absent\[1\]>=2' was not measured"):
        shoal.measure(table, unit="who", place="where").check("absent[1]>=2")
    with pytest.raises(RoleError, match="sensitive and known"):
        shoal.measure(table, unit="who", place="where", require="alpha[where]<=0.5")
    with pytest.raises(UsageError, match="says nothing of an event table"):
        shoal.measure(table, unit="who", place="where", require="entropy[where]>=2")
    with pytest.raises(UsageError, match="does not fit the times"):
        shoal.measure({**table, "at": [1, 2]}, unit="who", time="at", place="where", require="near[1, 1h]>=2")


def commuters(people: int, seed: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    out: dict[str, list[Any]] = {"who": [], "at": [], "where": [], "v": [], "row": []}
    for p in range(people):
        home, work = rng.choice(5, 2, p=[0.4, 0.3, 0.15, 0.1, 0.05])
        for day in range(3):
            for hour, place in ((8, home), (17, work if rng.random() < 0.8 else rng.choice(5))):
                out["who"].append(f"p{p}")
                out["at"].append(START + timedelta(days=day, hours=hour + int(rng.integers(2))))
                out["where"].append(f"S{place}")
                out["v"].append((None, None, "work", "clinic", "church")[int(rng.integers(5))])
                out["row"].append(len(out["row"]))
    return out


def released(table: dict[str, list[Any]], folder: Path, require: list[str], **events: Any) -> tuple[Any, list[dict[str, str]]]:
    rules = {"unit": "who", "time": "at", "place": "where", **events}
    roles = {"insensitive": ["row"], "sensitive": ["v"]} if "alpha" in str(require) else {"insensitive": ["row"], "direct": ["v"]}
    allow = {"identifying": {"row": "a number of the record, to find it again in this test"}, "suppress": 0.6, "loss": 1}
    made = shoal.anonymize(table, {"events": rules, "roles": roles, "require": require, "allow": allow, "seed": 3**80})
    made.write(folder)
    assert shoal.verify(folder).ok
    assert (
        shoal.check(folder / "data.csv", {"events": rules, "roles": roles, "require": require}).met or events["renew"] != "never"
    )
    with (folder / "data.csv").open(newline="", encoding="utf-8") as file:
        return made, list(csv.DictReader(file))


@pytest.mark.parametrize("renew", ["never", "as needed"])
@pytest.mark.parametrize("kind", ["absent", "length", "near", "alpha"])
def test_no_attacker_of_this_file_beats_the_stated_number(tmp_path: Path, kind: str, renew: str) -> None:
    """Of every person any one or two true records that are published, with what else the requirement says is known."""
    k, alpha = 3, 0.6
    table = commuters(60, 7)
    require = {"alpha": [f"known[2]>={k}", f"alpha[v]<={alpha}"], "near": [f"near[2, 1h]>={k}"]}.get(kind, [f"{kind}[2]>={k}"])
    made, data = released(table, tmp_path / "out", require, time_widths=["hour", "6h", "part of day"], renew=renew)
    owner, points, values = {}, {}, {}
    for r in data:
        owner[r["who"]] = table["who"][int(r["row"])]
        time = datetime.fromisoformat(r["at"]).timestamp() / 3600 if r["at"][:1] == "2" else r["at"]
        points.setdefault(r["who"], set()).add((time, r["where"]))
        values.setdefault(r["who"], set()).update([r["v"]] if r.get("v") else [])
    every, worst = {p for own in points.values() for p in own}, 0.0

    def near(a: Any, b: Any) -> bool:
        return a[1] == b[1] and (a[0] == b[0] or (not isinstance(a[0], str) and abs(a[0] - b[0]) <= 1))

    for name, mine in points.items():
        for known in (c for m in (1, 2) for c in combinations(sorted(mine, key=str), m)):
            fits = [n for n, own in points.items() if all(p in own for p in known)]
            if kind == "near":
                fits = [n for n, own in points.items() if all(any(near(p, q) for q in own) for p in known)]
            if kind == "length":
                fits = [n for n in fits if len(points[n]) == len(mine)]
            ways = [[n for n in fits if p not in points[n]] for p in every - mine] if kind == "absent" else [fits]
            for left in ways:
                people = Counter(owner[n] for n in left)
                worst = max(worst, people[owner[name]] / people.total())
            if kind == "alpha":
                sure = Counter(v for n in fits for v in values[n])
                assert max(sure.values(), default=0) / len(fits) <= alpha + 1e-9
    assert worst <= 1 / k + 1e-9
    assert len(data) > 20
    stated = {f.requirement: f.found for f in made.certificate.requirements}
    assert all(n >= k for name, n in stated.items() if "alpha" not in name)
    tried = {a.name: a for a in made.certificate.attacks if a.claimed is not None}
    name = {"absent": "where somebody was not: 2", "length": "length of the trace: 2", "near": "records known about: 2"}
    assert tried[name.get(kind, "sensitive value: v")].verdict == "holds"


def test_blank_records_at_one_point_are_lost_once(tmp_path: Path) -> None:
    """Six people at places of their own, four times in one morning: one record each is published, without its place."""
    table = commuters(40, 7)
    for p in range(6):
        for hour in range(7, 11):
            row = {"who": f"odd{p}", "at": START + timedelta(hours=hour), "where": f"X{p}", "v": None, "row": len(table["row"])}
            for name, value in row.items():
                table[name].append(value)
    rules = {"time_widths": ["6h"], "place_levels": ["local"], "renew": "as needed"}
    made, data = released(table, tmp_path / "out", ["known[2]>=3"], **rules)
    blank = sum(r["where"] == "*" for r in data)
    assert made.certificate.cost.merged > 0
    assert made.certificate.cost.place == pytest.approx(blank / len(data))


BASE: dict[str, Any] = {"events": {"unit": "who", "place": "where"}}


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"require": ["alpha[v]<=0.5"], "roles": {"sensitive": ["v"]}}, "does not say how many records"),
        ({"require": ["known[2]>=3", "entropy[v]>=2"], "roles": {"sensitive": ["v"]}}, "applies to classes"),
        ({"require": ["known[2]>=3", "t[v, ordered]<=0.2"], "roles": {"sensitive": ["v"]}}, "applies to classes"),
        ({"require": ["known[2]>=3"], "roles": {"sensitive": ["v"]}}, "no requirement is about it"),
        ({"require": ["known[2]>=3"], "roles": {"quasi": ["v"]}}, "'roles.quasi' is not judged"),
        ({"require": ["home[2]<=0.5"], "events": {"unit": "who", "time": "v"}}, "requires 'events.place'"),
        (
            {"require": ["next[2]<=0.5"], "events": {"unit": "who", "time": "v", "place": "where", "flows": True}},
            "publishes where people go next",
        ),
    ],
)
def test_policies_that_leave_something_open_are_refused(policy: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        shoal.anonymize({"who": [1], "where": ["A"], "v": ["x"]}, {**BASE, **policy})


def test_places_that_are_numbers_are_alike_by_their_first_digits(tmp_path: Path) -> None:
    """Postcodes, as numbers and as texts: three people in 12.., three in 34.., in the measure, the release and its proof."""
    table: dict[str, Any] = {
        "who": [1, 2, 3, 4, 5, 6],
        "at": [START] * 6,
        "where": [1201.5, 1201.5, 1299.5, 3401.5, 3499.5, 3401.5],
    }
    near = "near[1, 1h, prefix:2]>=3"
    assert shoal.measure(table, unit="who", time="at", place="where", require=near).check(near).met
    table["where"] = ["1201", "1201", "1299", "3401", "3401", "3499"]
    rules = {"unit": "who", "time": "at", "place": "where", "time_widths": ["day"]}
    shoal.anonymize(table, {"events": rules, "require": [near], "seed": 3**80}).write(tmp_path / "out")
    assert shoal.verify(tmp_path / "out").ok


LOOPS = """
import numpy as np
from shoal.measures.events.knowledge import Linked
rng = np.random.default_rng(1)
both = np.unique(rng.integers(0, 60, 900) * 400 + rng.integers(0, 300, 900))
fits = Linked.of(both // 400, both % 400, np.arange(60), np.ones(len(both), bool))
print(fits.lowest(2), int(fits.weak(2, 2.0).sum()), round(float(fits.alone(2).mean()), 6))
"""


def test_the_loops_say_the_same_without_a_compiler() -> None:
    """Numbers of pairs of points are beyond what the 32 bits of a code hold."""
    python = [sys.executable, "-W", "error", "-c", LOOPS]
    plain = subprocess.run(python, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True)
    assert plain.stdout.split() == ["1.0", "716", "0.850889"]
