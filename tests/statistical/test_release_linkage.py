"""Linkage on real and on noisy people: how many records of a release does somebody name who holds a table of identified people?

The attacker has the published folder (data and plan) and people with names and original quasi-identifiers. The release carries a
tracer that only the test reads, to know whose record was pointed at. Claimed: nobody is found with a chance above 1/k.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import shoal
from linkage_trial import linkage_trial
from shoal.api.attack_external import as_published
from shoal.attacks.linkage import closest_classes
from shoal.kernels.text import canonical_text
from shoal.release.plan.plan_json import read_plan
from shoal.release.verification import verify

TRACER = "tracer"


def texts(table, columns):
    return list(zip(*(canonical_text(table[c].combine_chunks()).to_pylist() for c in columns), strict=True))


def class_numbers(counts):
    """Quasi-identifier texts of each counted class, with its number."""
    columns = [
        [None if code < 0 else words[code] for code in codes]
        for codes, words in (
            (codes, canonical_text(categories).to_pylist())
            for codes, categories in zip(counts.codes, counts.categories, strict=True)
        )
    ]
    return {key: i for i, key in enumerate(zip(*columns, strict=True))}


def attack(published, known, quasi, rng, *, errors):
    """The records' classes and owners, and for each person looked for who it is and the class the attacker settles on."""
    released, outside = shoal.open(published).count(quasi), shoal.open(known).count(quasi)
    numbers, theirs = class_numbers(released), class_numbers(outside)
    records = np.array([numbers[key] for key in texts(published, quasi)])
    if errors:
        best = closest_classes(released, outside, rng=rng)
        targets = best[[theirs[key] for key in texts(known, quasi)]]
    else:
        targets = np.array([numbers.get(key, -1) for key in texts(known, quasi)])
    return records, np.array(published[TRACER]), targets, np.array(known[TRACER])


def success(records, owners, targets, wanted, rng):
    """Share found among the people whose record is published."""
    there = np.isin(wanted, owners)
    return linkage_trial(records, owners, targets[there], wanted[there], rng=rng)[0]


def expected(records, owners, targets, wanted):
    """The exact expectation of the trial, from its definition: 1/f where the chosen class holds the person's record."""
    sizes = np.bincount(records)
    own = dict(zip(owners.tolist(), records.tolist(), strict=True))
    hits = [1 / sizes[t] if own[w] == t else 0.0 for t, w in zip(targets.tolist(), wanted.tolist(), strict=True)]
    return float(np.mean(hits)), math.sqrt(sum(h * (1 - h) for h in hits)) / len(hits)


def released(table, asked, folder):
    """The published table of a release, and its plan."""
    made = shoal.anonymize(table, asked, format="parquet")
    place = made.write(folder)
    assert verify(place).ok
    return pq.read_table(place / "data.parquet"), place, made.certificate.to_json()


def seen_by_attacker(known, place, quasi, folder):
    out = folder / "known.parquet"
    as_published(known, read_plan(place / "plan.json"), quasi, out, keep=[TRACER])
    return pq.read_table(out)


def check_claim(records, owners, targets, wanted, k, rng):
    """At most 1/k are found: of all, of those who are there, and, over 200 runs, of those who hide worst."""
    there = np.isin(wanted, owners)
    for pick in (np.ones(len(wanted), dtype=bool), there):
        rate, _, _ = linkage_trial(records, owners, targets[pick], wanted[pick], rng=rng)
        assert rate <= 1 / k + 3 * math.sqrt((1 / k) * (1 - 1 / k) / pick.sum())
    mean, spread = expected(records, owners, targets[there], wanted[there])
    assert abs(rate - mean) <= 4 * spread + 1e-12, "the trial does what its definition says, neither more nor less"
    sizes = np.bincount(records)
    least = int(sizes[targets[there & (targets >= 0)]].min())
    exposed = there & (targets >= 0) & (sizes[targets] == least)
    exposed = np.flatnonzero(exposed)[:50]
    runs = np.tile(exposed, 200)
    rate, _, _ = linkage_trial(records, owners, targets[runs], wanted[runs], rng=rng)
    assert rate <= 1 / k + 3 * math.sqrt((1 / k) * (1 - 1 / k) / len(runs))
    hits, spread = expected(records, owners, targets[runs], wanted[runs])
    assert abs(rate - hits) <= 4 * spread + 1e-12
    assert hits > 0.2 / least, "the attack does find people: the claim is nearly used up by those who hide worst"


# ---------------------------------------------------------------- FEBRL: originals, and the same people with typing errors

FEBRL_QUASI = ("postcode", "state", "date_of_birth")
FEBRL_DIRECT = ("rec_id", "given_name", "surname", "street_number", "address_1", "address_2", "suburb", "soc_sec_id")
FEBRL_LEVELS = {
    "postcode": {"hierarchy": {"mask": "right"}},
    "state": {},
    "date_of_birth": {"hierarchy": {"mask": "right"}},
}


def febrl(path: Path):
    """A FEBRL file as text, with the number of the person as tracer."""
    names = path.read_text(encoding="utf-8").split("\n", 1)[0].split(",")
    options = pacsv.ConvertOptions(column_types={n.strip(): pa.string() for n in names}, strings_can_be_null=True)
    table = pacsv.read_csv(path, convert_options=options)
    who = [int(r.split("-")[1]) for r in table["rec_id"].to_pylist()]
    return table.append_column(TRACER, pa.array(who))


@pytest.fixture(scope="module")
def febrl_people(shared_data):
    return febrl(shared_data / "febrl" / "dataset4a.csv"), febrl(shared_data / "febrl" / "dataset4b.csv")


@pytest.mark.parametrize(("k", "suppress", "seed"), [(2, 0.05, 1), (5, 0.05, 2), (5, 0.3, 3), (12, 0.1, 4)])
def test_noisy_duplicates_of_febrl(febrl_people, tmp_path, k, suppress, seed):
    originals, duplicates = febrl_people
    asked = {
        "roles": {"direct": list(FEBRL_DIRECT), "quasi": FEBRL_LEVELS, "insensitive": [TRACER]},
        "require": {"k": k},
        "allow": {"suppress": suppress, "identifying": [TRACER]},
        "method": "lattice",  # what is known of people is recoded by the same plan
        "seed": seed,
    }
    published, place, made = released(originals, asked, tmp_path / "out")
    assert made["k"] >= k
    rng = np.random.default_rng([20261115, seed])
    for known in (duplicates, originals):
        here = seen_by_attacker(known, place, FEBRL_QUASI, tmp_path)
        for errors in (False, True):
            check_claim(*attack(published, here, list(FEBRL_QUASI), rng, errors=errors), k, rng)
        (tmp_path / "known.parquet").unlink()


def test_before_the_release_nearly_everybody_of_febrl_is_found(febrl_people):
    rng = np.random.default_rng(20261115)
    assert success(*attack(*febrl_people, list(FEBRL_QUASI), rng, errors=True), rng) > 0.9


def test_a_quasi_identifier_called_harmless_is_found_by_the_attack(febrl_people, tmp_path):
    """The attack has teeth: with the date of birth published as it is, the claim for the other columns protects nobody."""
    originals, duplicates = febrl_people
    quasi = {c: FEBRL_LEVELS[c] for c in ("postcode", "state")}
    asked = {
        "roles": {"direct": list(FEBRL_DIRECT), "quasi": quasi, "insensitive": [TRACER, "date_of_birth"]},
        "require": {"k": 5},
        "allow": {"suppress": 0.05, "identifying": [TRACER, "date_of_birth"]},
    }
    published, place, _ = released(originals, asked, tmp_path / "out")
    plan = read_plan(place / "plan.json")
    out = tmp_path / "known.parquet"
    as_published(duplicates, plan, ("postcode", "state", "date_of_birth"), out, keep=[TRACER])
    rng = np.random.default_rng(6)
    assert success(*attack(published, pq.read_table(out), list(FEBRL_QUASI), rng, errors=True), rng) > 0.8


# ---------------------------------------------------------------- Adult: nine quasi-identifiers of 32,561 people

ADULT_QUASI = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "hours-per-week", "native-country")
ADULT_REST = ("fnlwgt", "education-num", "relationship", "capital-gain", "capital-loss")


@pytest.fixture(scope="module")
def adult(shared_data):
    table = pacsv.read_csv(shared_data / "adult" / "adult.csv")
    return table.append_column(TRACER, pa.array(np.random.default_rng(8).permutation(table.num_rows)))


ADULT = [
    pytest.param({"k": 5}, {"suppress": 0.04}, "lattice", 1, id="k 5"),
    pytest.param({"k": 20}, {"suppress": 0.1}, "lattice", 2, id="k 20"),
    pytest.param({"k": 3, "diversity": {"income": {"distinct": 2}}}, {"suppress": 0.2}, "lattice", 3, id="k 3, l 2"),
    pytest.param({"risk": {"prosecutor": 0.09}}, {"suppress": 0.05, "scope": "cells"}, "lattice", 4, id="risk 0.09, cells"),
    pytest.param({"k": 5}, {}, "local", 5, id="k 5, local", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("require", "allow", "method", "seed"), ADULT)
def test_identified_people_of_adult(adult, tmp_path, require, allow, method, seed):
    asked = {
        "roles": {
            "direct": list(ADULT_REST),
            "quasi": {q: {} for q in ADULT_QUASI},
            "sensitive": ["income"],
            "insensitive": [TRACER],
        },
        "require": require,
        "allow": {**allow, "identifying": [TRACER]},
        "method": method,
        "seed": seed,
    }
    people = adult.slice(0, 8_000) if method == "local" else adult
    published, place, made = released(people, asked, tmp_path / "out")
    k = shoal.Policy.of(asked).smallest_class
    assert made["k"] >= k
    rng = np.random.default_rng([20261115, seed])
    if method == "local":
        records, owners, _, _ = attack(published, published, list(ADULT_QUASI), rng, errors=False)
        check_claim(records, owners, records, owners, k, rng)  # somebody told the attacker the class
    else:
        here = seen_by_attacker(adult, place, ADULT_QUASI, tmp_path)
        check_claim(*attack(published, here, list(ADULT_QUASI), rng, errors=False), k, rng)


def test_before_the_release_most_people_of_adult_are_found(adult):
    rng = np.random.default_rng(20261115)
    assert success(*attack(adult, adult, list(ADULT_QUASI), rng, errors=False), rng) > 0.7
