"""An event release whose policy names person, time and place only: it keeps the places, and links have a price."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InfeasibleError

SEED = 10**18 + 11
K = 5


@pytest.fixture(scope="module")
def commuters() -> pa.Table:
    """400 people between a home and a work station by Zipf's law, five days; ``row`` numbers the records."""
    rng = np.random.default_rng(2)
    people, stations = 400, 16
    weight = np.arange(1, stations + 1) ** -1.0
    weight /= weight.sum()
    home, work = rng.choice(stations, people, p=weight), rng.choice(stations, people, p=weight)
    rows = []
    for i in range(people):
        leaves = rng.normal(480, 40)
        for day in range(5):
            for minute, station in ((leaves, home[i]), (leaves + 540, work[i])):
                at = np.datetime64("2026-03-02T00:00") + np.timedelta64(int(1440 * day + minute + rng.normal(0, 15)), "m")
                rows.append((f"canary{i}", at, f"Station {station}"))
    who, at, where = zip(*rows, strict=True)
    return pa.table({"card": who, "at": pa.array(np.array(at, "datetime64[us]")), "station": where, "row": np.arange(len(rows))})


def policy(**more: Any) -> dict[str, Any]:
    rules = {"unit": "card", "time": "at", "place": "station", **more.pop("events", {})}
    allow = {"identifying": {"row": "a number of the record, to find it again in this test"}}
    given = {"events": rules, "roles": {"insensitive": ["row"]}, "require": [f"known[2]>={K}"], "seed": SEED, "allow": allow}
    return given | more


@pytest.fixture(scope="module")
def release(commuters: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, list[dict[str, str]]]:
    made = shoal.anonymize(commuters, policy())
    folder = made.write(tmp_path_factory.mktemp("default") / "out")
    assert shoal.verify(folder).ok
    with (folder / "data.csv").open(newline="", encoding="utf-8") as file:
        return made, list(csv.DictReader(file))


def test_the_default_keeps_the_places(release: tuple[Any, list[dict[str, str]]], commuters: pa.Table) -> None:
    made, rows = release
    c = made.certificate
    true = commuters["station"].to_pylist()
    clear = [r for r in rows if r["station"] != "*"]
    assert len(clear) >= 0.8 * commuters.num_rows
    assert len(rows) - len(clear) == (c.cost.blank or 0)
    assert all(r["station"] == true[int(r["row"])] for r in clear)
    assert c.cost.left_out_share <= 0.2
    assert "none loses less" not in c.cost.sentence
    assert f"Best of the {c.cost.shapes} plans considered" in c.cost.sentence


def test_no_two_known_records_name_anybody_better_than_claimed(
    release: tuple[Any, list[dict[str, str]]], commuters: pa.Table
) -> None:
    """All pseudonyms that have the known records, one of them picked: the chance that it is the person's."""
    _, rows = release
    cards = commuters["card"].to_pylist()
    trace, owner = defaultdict(set), {}
    for i, r in enumerate(rows):
        name = r.get("card", i)
        trace[name].add((r["at"], r["station"]))
        assert owner.setdefault(name, cards[int(r["row"])]) == cards[int(r["row"])]  # one person behind a pseudonym
    by = defaultdict(Counter)
    for name, points in trace.items():
        for size in (1, 2):
            for known in combinations(sorted(points), size):
                by[known][owner[name]] += 1
    assert max(max(found.values()) / found.total() for found in by.values()) <= 1 / K


def test_cutting_every_link_is_never_free(commuters: pa.Table) -> None:
    allow = {**policy()["allow"], "suppress": 0.0}
    with pytest.raises(InfeasibleError) as caught:
        shoal.anonymize(commuters, policy(events={"place_levels": ["exact"], "renew": "never"}, allow=allow))
    assert caught.value.offers
    for offer in caught.value.offers:
        assert offer.loss > 0.1, offer.sentence
    assert "loss 0)" not in str(caught.value.hint)
    linked = policy(events={"renew": ["never", "every record"], "time_widths": ["week"], "place_levels": ["exact"]})
    made = shoal.anonymize(commuters, linked).certificate
    assert made.cost.links == (0.0 if made.steps.renew == "never" else 1.0)
    if made.steps.renew != "never":
        assert made.cost.loss >= 1 / 6


def test_the_same_table_and_seed_give_the_same_plan(commuters: pa.Table, release: tuple[Any, list[dict[str, str]]]) -> None:
    again = shoal.anonymize(commuters, policy())
    assert again.certificate.steps == release[0].certificate.steps
    assert again.to_arrow().num_rows == len(release[1])


def test_only_records_that_need_it_lose_their_place(tmp_path: Path) -> None:
    """Twelve people at A and B every day; three of them once at a place of their own: these three records share a blank place."""
    rows = [(f"p{i}", f"2026-03-0{d} {h}:10", s) for i in range(12) for d in (2, 3, 4) for h, s in (("08", "A"), ("17", "B"))]
    for i, place in enumerate("XYZ"):
        rows[6 * i + 3] = (f"p{i}", "2026-03-03 17:10", place)
    table = {name: [r[i] for r in rows] for i, name in enumerate(("card", "at", "station"))}
    made = shoal.anonymize(table, {"events": rules(), "require": ["known[1]>=3"], "allow": {"suppress": 0}, "seed": SEED})
    folder = made.write(tmp_path / "out")
    c = made.certificate
    assert (c.steps.place, c.cost.blank, c.cost.suppressed) == ("local", 3, 0)
    with (folder / "data.csv").open(newline="", encoding="utf-8") as file:
        assert Counter(r["station"] for r in csv.DictReader(file)) == {"A": 36, "B": 33, "*": 3}
    trips = {u.name: u for u in c.uses}["trips"]
    assert (trips.before, trips.after) == (60, 54)  # each blank record ends one trip and begins another
    assert trips.error == pytest.approx(0.1)
    assert [step.ok for step in shoal.verify(folder).checks if step.name == "uses"] == [True]
    assert {"length of the trace: 1", "approximate times: 1"} <= {a.name for a in c.attacks}


def rules() -> dict[str, str]:
    return {"unit": "card", "time": "at", "place": "station"}


def test_origin_and_destination_of_a_record_are_a_trip(commuters: pa.Table) -> None:
    """With two places a record is a trip: cutting links does not lose it, and trips have no loss of their own."""
    rng = np.random.default_rng(4)
    places = [f"S{i}" for i in range(4)]
    n = 600
    at = np.datetime64("2026-03-02T05:00") + rng.integers(0, 5 * 1440, n).astype("timedelta64[m]")
    table = pa.table(
        {
            "card": rng.integers(0, 60, n),
            "at": at.astype("datetime64[us]"),
            "from": rng.choice(places, n),
            "to": rng.choice(places, n),
        }
    )
    rules = {"unit": "card", "time": "at", "place": ["from", "to"]}
    made = shoal.anonymize(table, {"events": rules, "require": ["known[2]>=3"], "seed": SEED}).certificate
    assert made.steps.place in ("exact", "local")
    assert made.cost.trips == 0
    flows = {u.name: u for u in made.uses}["trips"]
    assert flows.before == 600
    assert flows.after == made.after.records - (made.cost.blank or 0)


def test_records_that_are_shown_once_with_others_are_not_links_that_stay() -> None:
    """Thirty people, mostly at a place of their own. A plan that shows hours without a place merges nearly all records;
    it is not better than one that publishes every record and the place that all share."""
    rng = np.random.default_rng(5)
    rows = []
    for i in range(30):
        for j in range(50):
            at = np.datetime64("2026-03-02T00:00") + np.timedelta64(int(rng.integers(0, 28 * 1440)), "m")
            rows.append((f"p{i}", str(at).replace("T", " "), "X" if j < 10 else f"home {i}"))
    table = {name: [r[i] for r in rows] for i, name in enumerate(("card", "at", "station"))}
    made = shoal.anonymize(table, {"events": rules(), "require": [f"known[2]>={K}"], "seed": SEED}).certificate
    assert made.after.records >= 0.8 * len(rows)
    places = {u.name: u for u in made.uses}["exact places"]
    assert places.before == 1500
    assert 270 <= places.after <= 300  # of the 300 records at X; no others can be shown
    assert "no plan that meets known[1]>=5 shows more than 20.0 % of them" in places.sentence


@pytest.mark.parametrize(("own", "most"), [(1, 5), (2, 5), (3, 5)])
def test_no_plan_shows_more_exact_places_than_stated(own: int, most: int) -> None:
    """Four people once at A, the fifth more often: of the fifth's records there one can be shown, because k is 5."""
    rows = [("p0", f"2026-03-{d:02d} 08:00", "A") for d in range(2, 2 + own)]
    rows += [(f"p{i}", "2026-03-02 08:00", "A") for i in range(1, 5)]
    rows += [(f"q{i}", "2026-03-02 08:00", "B") for i in range(30)]
    table = {name: [r[i] for r in rows] for i, name in enumerate(("card", "at", "station"))}
    events = {**rules(), "time_widths": ["none"], "place_levels": ["local"], "renew": "every record"}
    made = shoal.anonymize(table, {"events": events, "require": [f"known[1]>={K}"], "seed": SEED}).certificate
    places = {u.name: u for u in made.uses}["exact places"]
    assert places.after == 30 + most
    assert f"more than {100 * (30 + most) / len(rows):.1f} % of them" in places.sentence
