"""Zipf's law fitted to a table: stretched or refused, independence tested, chain and measurement beside it."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cli import main
from shoal.errors import DataError, RoleError, UsageError
from shoal.measures.events.sets import Sequences
from shoal.prediction import Distribution, Zipf, expected_share
from shoal.prediction.zipf.chain import Chain, chain_share, dependence

RNG = np.random.default_rng


def test_the_chain_shares_a_sum_over_all_sequences():
    rng = RNG(3)
    chain = Chain(rng.integers(0, 3, 200), rng.integers(0, 3, 200))
    for s, k in ((1, 2), (2, 2), (3, 2), (2, 4)):
        chances = [chain.chance(z) for z in product(range(3), repeat=s)]
        assert sum(chances) == pytest.approx(1)
        n = 12
        exact = sum(p * sum(_binomial(n - 1, j) * p**j * (1 - p) ** (n - 1 - j) for j in range(k - 1)) for p in chances)
        found = chain_share(chain, n, s, k=k, rng=RNG(s), draws=40_000)
        assert found.low - 0.002 <= exact <= found.high + 0.002
        assert found.high - found.low < 0.02
        assert found.grade == "B"


def test_the_interval_holds_where_only_a_rare_sequence_is_alone():
    chain = Chain([0] * 10_000, [1] + [0] * 9_999)
    exact = sum(p * (1 - p) ** 1999 for z in product(range(2), repeat=2) if (p := chain.chance(z)))
    intervals = [chain_share(chain, 2000, 2, rng=RNG(seed)) for seed in range(100)]
    assert sum(e.low <= exact <= e.high for e in intervals) >= 95  # 84 where chance was judged by what was drawn alone


def _binomial(n, j):
    from math import comb

    return comb(n, j)


def test_a_chain_without_memory_is_the_law_itself():
    places, following = zip(*product([0] * 3 + [1] * 2 + [2], repeat=2), strict=True)
    chain = Chain(places, following)
    law = Distribution.counts([3, 2, 1])
    for s in (1, 2, 3):
        assert chain_share(chain, 20, s, rng=RNG(0), draws=60_000).value == pytest.approx(
            expected_share(law, 20, s).value, abs=0.01
        )


def test_a_place_that_nobody_left_is_followed_as_if_anew():
    chain = Chain([0], [1])
    assert chain.chance([0, 1]) == 0.5
    assert chain.chance([1, 0]) == 0.25
    assert chain.chance([0, 0]) == 0.0
    assert np.isfinite(chain.log_chances(4, 100, RNG(0))).all()
    with pytest.raises(UsageError, match="at least two records"):
        Chain([], [])


def test_dependence_is_found_where_it_is_and_not_where_it_is_not():
    rng = RNG(1)
    x, y = rng.integers(0, 20, 2000), rng.integers(0, 20, 2000)
    free = dependence(x, y, RNG(0))
    assert not free.found
    assert free.information == pytest.approx(free.null, abs=0.02)  # all of it is the bias of few pairs
    assert free.null > 0.05
    bound = dependence(x, np.where(rng.random(2000) < 0.3, x, y), RNG(0))
    assert bound.found
    assert bound.information > bound.null_high
    assert bound.p_value == pytest.approx(1 / 201)
    with pytest.raises(UsageError):
        dependence([1], [1], RNG(0))


rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=30)


@given(rows, st.integers(1, 3), st.integers(2, 3))
def test_sequences_by_the_definition(given_rows, s, k):
    people = sorted({u for u, _, _ in given_rows})
    distinct = Counter(given_rows)
    keys = sorted(distinct)
    found = Sequences.of(
        np.array([people.index(u) for u, _, _ in keys]),
        np.array([t for _, t, _ in keys]),
        np.array([q for _, _, q in keys]),
        np.array([distinct[key] for key in keys]),
    )
    places = {u: [q for v, _, q in sorted(given_rows) if v == u] for u in people}
    first = [tuple(p[:s]) for p in places.values() if len(p) >= s]
    share, those = found.alone(s, k)
    assert those == len(first)
    assert share == pytest.approx(sum(first.count(f) < k for f in first) / len(first) if first else 0.0)
    here, there = found.following()
    assert list(zip(here, there, strict=True)) == [(a, b) for p in places.values() for a, b in pairwise(p)]
    one, other = found.random_pairs(RNG(0))
    assert len(one) == sum(len(p) > 1 for p in places.values())
    for p, a, b in zip((p for p in places.values() if len(p) > 1), one, other, strict=True):
        assert not Counter([a, b]) - Counter(p)


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    rng = RNG(6)
    weight = np.arange(1, 31) ** -0.8
    place = rng.choice(30, 2000, p=weight / weight.sum())
    lines = [f"{rng.integers(0, 100)},{i},canary{q}\n" for i, q in enumerate(place)]
    file = tmp_path / "trips.csv"
    file.write_text("card,at,station\n" + "".join(lines), encoding="utf-8")
    return file


def test_the_fit_is_that_of_the_rows_per_place(trips: Path):
    found = shoal.predict("zipf", table=f"{trips}:station", people=5000, records=2, limit=0.05, records_per_row=1)
    stations = [line.split(",")[2] for line in trips.read_text(encoding="utf-8").splitlines()[1:]]
    fitted = shoal.predict.fit_zipf(list(Counter(stations).values()))
    assert found.more["fit"]["exponent"] == fitted.c
    assert found.more["fit"]["r2"] == fitted.r2
    assert found.value == expected_share(fitted.law, 5000, 2).value
    assert found.grade == "B"
    assert [r["records"] for r in found.more["shares"]] == [1, 2, 3, 4, 5, 6]
    assert found.more["shares"][1]["law"] == found.value
    assert found.more["records_allowed"] == shoal.predict.pseudonym_life(fitted.law, 5000, 0.05)
    by_pair = shoal.predict("zipf", table=(shoal.open(trips), "station"), people=5000, records=2)
    assert by_pair.value == found.value


def test_more_places_stretch_the_law_and_fewer_are_refused(trips: Path):
    table = f"{trips}:station"
    exact = shoal.predict("zipf", table=table, people=500)
    assert shoal.predict("zipf", table=table, people=500, places=30).value == exact.value
    more = shoal.predict("zipf", table=table, people=500, places=31)
    assert more.grade == "C"
    assert more.value == expected_share(Zipf(exact.more["fit"]["exponent"], 31), 500, 1).value
    assert "counts" not in more.more["shares"][0]
    with pytest.raises(UsageError, match="29 are fewer"):
        shoal.predict("zipf", table=table, people=500, places=29)


def test_rows_with_two_places_count_twice(trips: Path):
    table = f"{trips}:station"
    one = shoal.predict("zipf", table=table, people=500, records=4, limit=0.9, records_per_row=1)
    two = shoal.predict("zipf", table=table, people=500, records=2, limit=0.9, records_per_row=2)
    assert one.value == two.value
    assert two.more["records_allowed"] == one.more["records_allowed"] // 2
    assert any("--records-per-row 2" in n for n in shoal.predict("zipf", table=table, people=500).answer.notes)
    assert not any("--records-per-row" in n for n in one.answer.notes)
    with pytest.raises(UsageError, match="at least one record"):
        shoal.predict("zipf", table=table, people=5, records_per_row=-1)


def test_measured_beside_the_law(trips: Path):
    found = shoal.predict("zipf", table=f"{trips}:station", unit="card", time="at")
    shares = found.more["shares"]
    n = len({line.split(",")[0] for line in trips.read_text(encoding="utf-8").splitlines()[1:]})
    assert found.value == expected_share(Zipf(found.more["fit"]["exponent"], found.more["fit"]["places"]), n, 1).value
    assert found.grade == "B"  # the places were drawn independently, and that is not refuted
    assert found.more["independence"]["p_value"] > 0.05
    for row in shares[:3]:  # the law holds here, so what is measured is near
        assert row["measured"] == pytest.approx(row["law"], abs=0.2)
    measured = shoal.measure(trips, unit="card", place="station", known_records=[2])
    assert shares[1]["known_places"] == pytest.approx(measured.curve[0].unique.value, abs=0.01)
    without = shoal.predict("zipf", table=f"{trips}:station", unit="card").more["shares"][0]
    assert set(without) == {"records", "law", "counts", "known_places"}


def test_people_with_habits_refute_independence(tmp_path: Path):
    who = np.repeat(np.arange(60), 20)
    where = np.where(RNG(0).random(1200) < 0.7, who % 12, RNG(1).integers(0, 12, 1200))
    table = {"who": who.tolist(), "where": where.tolist()}
    found = shoal.predict("zipf", table=(table, "where"), unit="who")
    assert found.grade == "C"
    assert found.more["independence"]["p_value"] <= 0.05
    assert any("depend on each other" in n for n in found.answer.notes)


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        ({"table": "trips.csv"}, UsageError, "not named"),
        ({"table": "FILE:nowhere", "people": 5}, UsageError, "nowhere"),
        ({"table": "FILE:station"}, UsageError, "needs people"),
        ({"table": "FILE:station", "people": 5, "counts": [1, 2]}, UsageError, "cannot be used"),
        ({"table": "FILE:station", "people": 5, "time": "at"}, UsageError, "without the person"),
        ({"table": "FILE:station", "unit": "station"}, RoleError, "named twice"),
        ({"exponent": 1.0, "places": 5, "people": 5, "unit": "card"}, UsageError, "table only"),
        ({"exponent": 1.0, "places": 5}, UsageError, "people is needed"),
    ],
)
def test_refusals(trips: Path, words, error, said):
    if "FILE" in words.get("table", ""):
        words = words | {"table": words["table"].replace("FILE", str(trips))}
    with pytest.raises(error, match=said) as found:
        shoal.predict("zipf", **words)
    assert "canary" not in str(found.value)


def test_rows_without_a_place_are_left_out_and_counted():
    found = shoal.predict("zipf", table=({"q": ["a", "a", "b", None]}, "q"), people=10)
    assert found.more["fit"]["places"] == 2
    assert any("1 rows without" in n for n in found.answer.notes)
    with pytest.raises(DataError, match="no record"):
        shoal.predict("zipf", table=({"q": [None, None]}, "q"), people=10)


def test_the_command_writes_both_charts_and_no_value(trips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    curve, ranks = tmp_path / "curve.svg", tmp_path / "ranks.svg"
    words = ["--unit", "card", "--time", "at", "--curve", curve, "--plot", ranks, "--limit", "0.05", "--json"]
    with pytest.raises(SystemExit) as stop:
        main([str(w) for w in ("predict", "zipf", "--table", f"{trips}:station", *words)])
    out = capsys.readouterr()
    assert not stop.value.code
    assert json.loads(out.out)["shares"][0]["records"] == 1
    assert "limit 5 %" in curve.read_text(encoding="utf-8")
    assert "Zipf" in ranks.read_text(encoding="utf-8")
    assert "canary" not in out.out + out.err + curve.read_text(encoding="utf-8") + ranks.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="no curve"):
        shoal.predict("singletons", uniform=9, group_size=9).curve(curve)


def test_several_numbers_of_records_in_one_call(trips: Path, tmp_path: Path):
    asked = {"exponent": 1.0, "places": 100, "people": 1000}
    several = shoal.predict("zipf", records=[4, 1, 2, 8, 2], **asked)
    each = {s: shoal.predict("zipf", records=s, **asked).value for s in (1, 2, 4, 8)}
    assert several.value == each[4]
    assert [(row["records"], row["law"]) for row in several.more["shares"]] == list(each.items())
    assert "shares" not in shoal.predict("zipf", records=[4], **asked).more
    page = shoal.predict("zipf", records=4, **asked).curve(tmp_path / "law.svg").read_text(encoding="utf-8")
    assert "Zipf" in page
    assert "measured" not in page
    of_table = shoal.predict("zipf", table=f"{trips}:station", unit="card", records=[2, 3])
    assert [row["records"] for row in of_table.more["shares"]] == [2, 3]
    assert of_table.value == shoal.predict("zipf", table=f"{trips}:station", unit="card", records=2).value
    for wrong in ([], [0], [1, -2], [True], 0):
        with pytest.raises(UsageError, match="whole numbers of at least 1"):
            shoal.predict("zipf", records=wrong, **asked)
