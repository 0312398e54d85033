"""A release is tried with the original beside it: whom do the columns find that somebody may know?"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from release_forging import plain_certificate, sign_anew
from shoal.cli import main
from shoal.errors import PolicyError, UsageError, VerificationError
from shoal.model.display import as_percent
from shoal.release.make.value_links import links_of, same_profile
from shoal.release.verification import verify


def people(n=500, seed=3):
    rng = np.random.default_rng(seed)
    income = np.round(np.exp(rng.normal(10.3, 0.6, n))).astype(np.int64)
    income[0] = 9_000_000
    return pa.table({"age": rng.integers(20, 70, n), "sex": rng.choice(["f", "m"], n), "income": income})


def asked(role="insensitive", **change):
    return {"roles": {"quasi": ["age", "sex"], role: ["income"]}, "require": {"k": 5}, "seed": 3**80, **change}


def attack_of(release, name="linkage: changed columns"):
    return {a.name: a for a in release.certificate.attacks}[name]


def measured(columns, n=500, seed=3):
    """People with quasi-identifiers, an illness that nothing tells, and numbers."""
    rng = np.random.default_rng(seed)
    own = {"age": rng.integers(20, 70, n), "sex": rng.choice(["f", "m"], n), "illness": rng.choice(["a", "b", "c"], n)}
    return pa.table(own | {f"x{i}": np.round(rng.normal(100, 20, n), 2) for i in range(columns)})


def changing(columns, step, **more):
    names = [f"x{i}" for i in range(columns)]
    roles = {"quasi": ["age", "sex"], "sensitive": ["illness"], "insensitive": names}
    return {"roles": roles, "require": {"k": 5, **more}, "transform": dict.fromkeys(names, step), "seed": 3**80}


@pytest.mark.parametrize(
    ("columns", "step", "least"),
    [
        (4, {"rank_swap": {"percent": 10}}, 0.8),
        (2, {"microaggregate": {"k": 5}}, 0.9),
        (4, {"round": {"base": 20}}, 0.4),
        (8, {"noise": {"scale": 20}}, 0.1),
    ],
)
def test_columns_that_hide_one_by_one_do_not_hold_together(columns, step, least):
    """Each alone finds about 1 % (18 % microaggregated): together, known with nothing else, they find most people."""
    release = shoal.anonymize(measured(columns), changing(columns, step))
    try:
        found = attack_of(release)
    except VerificationError as stopped:
        found = stopped.attacks[0]
    assert found.rate > least
    assert found.verdict == ("broken" if found.rate > 0.2 else "warning")


def test_with_the_quasi_identifiers_two_swapped_columns_tell_the_illness(tmp_path, capsys):
    table, policy = measured(2), changing(2, {"rank_swap": {"percent": 10}})
    release = shoal.anonymize(table, policy)
    found = attack_of(release, "further knowledge")
    assert (found.verdict, found.rate > 0.8) == ("warning", True)
    assert "'illness' is guessed correctly for" in found.sentence
    out = release.write(tmp_path / "out")
    headline, page = release.certificate.verdict, (out / "report.html").read_text(encoding="utf-8")
    assert f"The strongest attack tried, 'further knowledge', succeeds for {as_percent(found.rate)} (1 column: " in headline
    assert "; the 10 most exposed: " in headline
    assert "all 3 unchanged columns finds" in headline, "swapped columns are not among those that were counted"
    assert '<h1><em class="">Every record hides among at least 5</em>' in page
    assert f"</em>; whoever knows more finds up to {as_percent(found.high)}</h1>" in page
    listed = {a.name: a for a in shoal.attack(out).results}
    assert {a.name: a for a in release.certificate.attacks if a.verdict != "not run"}.items() <= listed.items(), "one list"
    with pytest.raises(SystemExit):
        main(["attack", str(out)])
    printed = capsys.readouterr().out
    assert "No attack did better" not in printed
    assert "can be handed over" not in printed
    with pytest.raises(VerificationError, match="finds at most"):
        shoal.anonymize(table, changing(2, {"rank_swap": {"percent": 10}}, linkage=0.3)).write(tmp_path / "no")


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_noise_that_hides_few_stops_the_release_without_a_value(role, tmp_path):
    release = shoal.anonymize(people(), asked(role, transform={"income": {"noise": {"scale": 100}}}))
    with pytest.raises(VerificationError, match=r"linkage: changed columns\): .* are found by 'income'") as stopped:
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert stopped.value.attacks[0].rate > 0.3
    assert "900" not in str(stopped.value), "the outlier is a risk that is named without its value"
    assert "Of the 10 most exposed people 100% are found" in stopped.value.attacks[0].sentence


def test_the_command_line_stops_with_exit_code_1(tmp_path, capsys):
    pq.write_table(people(), tmp_path / "t.parquet")
    (tmp_path / "p.yml").write_text(json.dumps(asked(transform={"income": {"noise": {"scale": 100}}})))
    with pytest.raises(SystemExit) as ended:
        main(["anonymize", str(tmp_path / "t.parquet"), "--policy", str(tmp_path / "p.yml"), "--out", str(tmp_path / "out")])
    assert ended.value.code == 1
    assert "microaggregate" in capsys.readouterr().err


def test_enough_noise_passes_and_the_outlier_is_named_as_a_risk():
    found = attack_of(shoal.anonymize(people(), asked(transform={"income": {"noise": {"scale": 20_000}}})))
    assert found.verdict == "warning"
    assert found.rate < 0.2
    assert "Fewer than 10 records stand so far from all others in 'income'" in found.sentence


@pytest.mark.parametrize(
    "step", [{"microaggregate": {"k": 5}}, {"round": {"base": 20_000}}, {"permute": {}}, {"rank_swap": {"percent": 15}}]
)
def test_other_ways_of_hiding_are_let_through(step):
    assert attack_of(shoal.anonymize(people(), asked(transform={"income": step}))).rate <= 0.2


def test_the_private_copy_has_the_very_changes_of_the_published_file(tmp_path):
    table = people().select(["income"]).append_column("who", pa.array(range(500), pa.int64()))
    policy = {
        "roles": {"quasi": {"who": {"max_level": 0}}, "insensitive": ["income"]},
        "transform": {"income": {"noise": {"scale": 20_000}}},
        "require": {"risk": {"average": 1.0}},
    }
    release = shoal.anonymize(table, policy, format="parquet")
    out = release.write(tmp_path / "out")
    shown = pq.read_table(out / "data.parquet")
    (column,) = links_of(release.prepared, release.decision, out / "data.parquet", tmp_path).columns
    owners = [int(w) for w in shown["who"].to_pylist()]
    beside = zip(np.asarray(table["income"])[owners].tolist(), shown["income"].to_pylist(), strict=True)
    assert sorted(zip(column.true.tolist(), column.published.tolist(), strict=True)) == sorted(beside)


def test_a_stated_limit_is_about_every_column_and_judged_with_the_others(tmp_path):
    table = people()
    alone = len(set(zip(*(table[c].to_pylist() for c in ("age", "sex", "income")), strict=True))) / table.num_rows
    for limit, met in ((alone, True), (0.9, False)):
        policy = asked("sensitive", require={"k": 5, "linkage": limit})
        release = shoal.anonymize(table, policy)
        assert shoal.check(table, policy).findings[-1].met is met, "published as it is, the gate judges alike"
        if not met:
            with pytest.raises(VerificationError, match="knowing any published columns finds at most"):
                release.write(tmp_path / "no")
            continue
        out = release.write(tmp_path / "out")
        made = plain_certificate(out)
        assert {r["requirement"]: r["found"] for r in made["requirements"]}["linkage"] == pytest.approx(alone, abs=0.01)
        assert any("Linkage by value was tried against the original" in line for line in made["limits"])
        assert verify(out).ok
    allowed = {
        **asked("sensitive", require={"k": 5, "linkage": 0.01}),
        "allow": {"identifying": {"income": "made up for a test"}},
    }
    assert shoal.anonymize(table, allowed).certificate.k >= 5, "a person has looked"


@pytest.mark.parametrize(("stated", "ok"), [(0.3, True), (1.0, False), (-0.1, False), (None, False)])
def test_a_stated_number_that_is_not_possible_is_refused(stated, ok, tmp_path):
    policy = asked(transform={"income": {"permute": {}}}, require={"k": 5, "linkage": 0.4})
    out = shoal.anonymize(people(), policy).write(tmp_path / "out")
    made = plain_certificate(out)
    found = next(r for r in made["requirements"] if r["requirement"] == "linkage")
    found["found"] = made["given"]["linkage"] = stated
    sign_anew(out, made)
    assert next(c for c in verify(out).checks if c.name == "re-count").ok is ok


def test_untouched_columns_are_told_and_not_stopped_without_a_stated_limit():
    found = attack_of(shoal.anonymize(people(), asked()), "further knowledge")
    assert found.verdict == "warning"
    assert found.rate > 0.9
    assert found.claimed is None


def test_dates_and_positions_are_tried(tmp_path):
    rng = np.random.default_rng(2)
    n = 400
    table = pa.table(
        {
            "sex": rng.choice(["f", "m"], n),
            "day": pa.array(rng.choice(20_000, n, replace=False), pa.int32()).cast(pa.date32()),
            "lat": np.round(52 + rng.normal(0, 0.2, n), 4),
            "lon": np.round(4 + rng.normal(0, 0.2, n), 4),
        }
    )
    noise = {c: {"noise": {"scale": 0.01, "decimals": 4}} for c in ("lat", "lon")}
    roles = {"quasi": ["sex"], "insensitive": ["day", "lat", "lon"]}
    allow = {"identifying": {"lat": "where a bus stops", "lon": "where a bus stops"}}
    policy = {"roles": roles, "require": {"k": 5}, "transform": noise, "allow": allow}
    told = attack_of(shoal.anonymize(table, policy), "further knowledge")
    assert told.verdict == "warning", "a person has looked at the positions"
    assert told.rate == 1.0
    assert "linkage: changed columns" not in {a.name for a in shoal.anonymize(table, policy).certificate.attacks}
    named = table.select(["sex", "lat", "lon"]).rename_columns(["sex", "north", "east"])
    shift = {c: {"noise": {"scale": 0.01, "decimals": 4}} for c in ("north", "east")}
    other = {"roles": {"quasi": ["sex"], "insensitive": ["north", "east"]}, "require": {"k": 5}, "transform": shift}
    with pytest.raises(VerificationError, match="linkage: changed columns") as stopped:
        shoal.anonymize(named, other).write(tmp_path / "out")
    shares = re.findall(r"(\d) columns?: ([\d.]+)%", stopped.value.attacks[0].worst)
    assert float(shares[1][1]) > 2 * float(shares[0][1]), "two parts of a position tell more than one"


def dated(n=400, seed=5):
    rng = np.random.default_rng(seed)
    first = rng.integers(15_000, 18_000, n)
    days = {f"d{i}": pa.array((first + rng.integers(0, 400, n)).astype(np.int32)).cast(pa.date32()) for i in range(4)}
    return pa.table({"who": [f"p{i}" for i in range(n)], "sex": rng.choice(["f", "m"], n), **days})


@pytest.mark.parametrize(("domain", "stops"), [({}, False), ({"domain": "dates"}, True)])
def test_dates_that_move_together_are_found_by_their_intervals(domain, stops, monkeypatch):
    """Four dates per person: with one domain all distances are exact; by default every column moves by itself."""
    monkeypatch.setenv("SHOAL_KEY", "0123456789abcdefghijklmnopqrstuv")
    names = [f"d{i}" for i in range(4)]
    policy = {
        "roles": {"direct": ["who"], "quasi": ["sex"], "insensitive": names},
        "require": {"k": 5},
        "transform": {c: {"date_shift": {"unit": "who", "days": 182, **domain}} for c in names},
        "allow": {"identifying": {"d0": "generated dates for a test"}} if not stops else {},
    }
    release = shoal.anonymize(dated(), policy)
    if not stops:
        assert attack_of(release).rate < 0.2
        return
    with pytest.raises(VerificationError, match="linkage: changed columns") as stopped:
        assert release.certificate
    assert stopped.value.attacks[0].rate > 0.9


def test_shifted_visits_of_a_linked_person_are_found_by_their_intervals(monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", "0123456789abcdefghijklmnopqrstuv")
    rng = np.random.default_rng(1)
    visit = pa.array(rng.integers(15_000, 18_000, 300).astype(np.int32)).cast(pa.date32())
    table = pa.table({"who": [f"p{i // 3}" for i in range(300)], "sex": ["f", "m"] * 150, "visit": visit})
    policy = {
        "roles": {"direct": {"who": {"mask": "pseudonym"}}, "quasi": ["sex"], "insensitive": ["visit"]},
        "require": {"k": 5},
        "transform": {"visit": {"date_shift": {"unit": "who", "days": 30}}},
    }
    with pytest.raises(VerificationError, match=r"intervals between dates.*100\.0% of 100 people"):
        assert shoal.anonymize(table, policy).certificate
    allowed = shoal.anonymize(table, {**policy, "allow": {"identifying": {"visit": "generated dates for a test"}}})
    assert attack_of(allowed, "linkage: intervals between dates").verdict == "warning", "a person has looked"


def test_measuring_says_where_linkage_is_asked_for():
    with pytest.raises(UsageError, match="tried on a release"):
        shoal.measure(people(), quasi=["age"]).check("linkage<=0.1")
    with pytest.raises(PolicyError, match="linkage"):
        shoal.Policy.of(asked(require={"k": 5, "linkage": 0}))


def hashed(n=300, seed=3):
    """People with two columns that a key hides: towns of different sizes, and schools of about the same size."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 21)
    own = {"age": rng.integers(20, 70, n), "sex": rng.choice(["f", "m"], n), "illness": rng.choice(["a", "b", "c"], n)}
    own["town"] = rng.choice([f"t{i}" for i in range(20)], n, p=share / share.sum())
    return pa.table(own | {"school": rng.choice([f"s{i}" for i in range(20)], n)})


def test_values_behind_names_are_told_by_their_classes(tmp_path, monkeypatch):
    """A key hides the value and not who shares it: by the sizes alone, a script of five lines finds most people."""
    monkeypatch.setenv("SHOAL_KEY", "9f3a7c51e8b2d604175ac3f98e20bd46")
    table, names = hashed(), ["town", "school"]
    roles = {"quasi": {"age": {"hierarchy": {"intervals": [10, 50]}}, "sex": {}}, "sensitive": ["illness"], "insensitive": names}
    policy = {"roles": roles, "require": {"k": 5}, "transform": {c: {"keyed_hash": {}} for c in names}, "method": "lattice"}
    made = shoal.anonymize(table, policy | {"seed": 3**80})
    found = attack_of(made, "further knowledge")
    assert (found.verdict, found.rate > 0.6) == ("warning", True)
    assert "the quasi-identifiers, 'town' and 'school'" in found.sentence
    with (made.write(tmp_path / "out") / "data.csv").open(encoding="utf-8", newline="") as file:
        shown = list(csv.DictReader(file))
    sizes = {c: Counter(r[c] for r in shown) for c in names}
    assert sorted(sizes["town"].values()) == sorted(Counter(table["town"].to_pylist()).values())
    alike = Counter((r["age"], r["sex"], *(sizes[c][r[c]] for c in names)) for r in shown)
    assert 0.5 < len(alike) / len(shown) <= found.rate, "the script: who shares the town and the school with how many"


def test_names_are_told_apart_by_classes_and_nothing_else():
    """Two names with records in the same classes are alike, however often each occurs; a name per person tells nothing."""
    classes = np.array([0, 1, 0, 1, 0, 0, 1, 2])
    alike = same_profile(np.array([1, 1, 2, 2, 3, 3, 4, 0]), classes)
    assert (alike[0], alike[1]) == (alike[2], alike[3]) == (alike[0],) * 2
    assert len({alike[0], alike[4], alike[6], alike[7]}) == 4
    assert alike[7] == 0, "missing stays missing"
    one_each = same_profile(np.arange(1, 9), classes)
    assert all(len(set(one_each[classes == c].tolist())) == 1 for c in (0, 1, 2))
