"""A release is tried with the original beside it: whom does one known number, date or place find?"""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from release_forging import plain_certificate, sign_anew
from shoal.attacks.by_value import rank_found
from shoal.cli import main
from shoal.errors import PolicyError, UsageError, VerificationError
from shoal.release.verification import verify


def people(n=500, seed=3):
    rng = np.random.default_rng(seed)
    income = np.round(np.exp(rng.normal(10.3, 0.6, n))).astype(np.int64)
    income[0] = 9_000_000
    return pa.table({"age": rng.integers(20, 70, n), "sex": rng.choice(["f", "m"], n), "income": income})


def asked(role="insensitive", **change):
    return {"roles": {"quasi": ["age", "sex"], role: ["income"]}, "require": {"k": 5}, **change}


def attack_of(release):
    return {a.name: a for a in release.certificate.attacks}["linkage: values"]


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_noise_that_hides_few_stops_the_release_without_a_value(role, tmp_path):
    release = shoal.anonymize(people(), asked(role, transform={"income": {"noise": {"scale": 100}}}))
    with pytest.raises(VerificationError, match=r"linkage: values\): By 'income' alone") as stopped:
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert stopped.value.attacks[0].rate > 0.3
    assert "900" not in str(stopped.value), "the outlier is a risk that is named without its value"
    assert "stand so far from all others in 'income'" in stopped.value.attacks[0].sentence


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
    assert "Fewer than 5 records stand so far from all others in 'income'" in found.sentence


@pytest.mark.parametrize(
    "step", [{"microaggregate": {"k": 5}}, {"round": {"base": 20_000}}, {"permute": {}}, {"rank_swap": {"percent": 15}}]
)
def test_other_ways_of_hiding_are_let_through(step):
    assert attack_of(shoal.anonymize(people(), asked(transform={"income": step}))).rate <= 0.2


def test_the_number_is_that_of_the_published_file(tmp_path):
    """The private copy gets the very changes of the release: anyone who pairs release and original gets the same share."""
    table = people().select(["income"]).append_column("who", pa.array(range(500), pa.int64()))
    policy = {
        "roles": {"quasi": {"who": {"max_level": 0}}, "insensitive": ["income"]},
        "transform": {"income": {"noise": {"scale": 900}}},
        "require": {"risk": {"average": 1.0}, "linkage": 0.9},
    }
    release = shoal.anonymize(table, policy, format="parquet")
    shown = pq.read_table(release.write(tmp_path / "out") / "data.parquet")
    true = table["income"].to_pylist()
    y, owner = shown["income"].to_pylist(), [int(w) for w in shown["who"].to_pylist()]
    found = 0.0
    for i, who in enumerate(owner):
        far = [abs(v - true[who]) for v in y]
        found += (far[i] == min(far)) / far.count(min(far))
    assert len(y) == 500
    ranked = float(rank_found(np.array([true[who] for who in owner]), np.array(y)).sum())
    assert attack_of(release).rate == pytest.approx(max(found, ranked) / 500, rel=1e-12)


def test_a_stated_limit_is_about_every_column_and_judged_with_the_others(tmp_path):
    table = people()
    alone = len(set(table["income"].to_pylist())) / table.num_rows
    for limit, met in ((alone, True), (alone - 1e-6, False)):
        policy = asked("sensitive", require={"k": 5, "linkage": limit})
        release = shoal.anonymize(table, policy)
        assert shoal.check(table, policy).findings[-1].met is met, "published as it is, the gate finds the same"
        if not met:
            with pytest.raises(VerificationError, match="knowing one published value finds at most"):
                release.write(tmp_path / "no")
            continue
        out = release.write(tmp_path / "out")
        made = json.loads((out / "certificate.json").read_text())
        assert {r["requirement"]: r["found"] for r in made["requirements"]}["linkage"] == pytest.approx(alone)
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
    found["found"] = stated
    sign_anew(out, made)
    assert next(c for c in verify(out).checks if c.name == "re-count").ok is ok


def test_untouched_columns_are_told_and_not_stopped_without_a_stated_limit():
    found = attack_of(shoal.anonymize(people(), asked()))
    assert found.verdict == "warning"
    assert found.rate > 0.9


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
    told = attack_of(shoal.anonymize(table, policy))
    assert told.verdict == "warning", "a person has looked at the positions"
    shares = dict(re.findall(r"'([^']+)': ([\d.]+)%", told.sentence))
    assert "By 'day' alone 100.0% of 400" in told.sentence
    assert float(shares["lat and lon"]) > 2 * max(float(shares["lat"]), float(shares["lon"])), "two parts tell more than one"
    with pytest.raises(VerificationError, match="knowing one published value"):
        shoal.anonymize(table, {**policy, "require": {"k": 5, "linkage": 0.5}}).write(tmp_path / "out")


def test_measuring_says_where_linkage_is_asked_for():
    with pytest.raises(UsageError, match="tried on a release"):
        shoal.measure(people(), quasi=["age"]).check("linkage<=0.1")
    with pytest.raises(PolicyError, match="linkage"):
        shoal.Policy.of(asked(require={"k": 5, "linkage": 0}))
