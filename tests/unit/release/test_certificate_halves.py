"""The two halves of a certificate: nothing of the derived one can be forged, whoever signs; the signed one is listed."""

from __future__ import annotations

import importlib.resources
import json
import shutil
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

import shoal
from release_forging import another, edited, forge, leaves, plain_certificate
from shoal.errors import ShoalError, TamperError
from shoal.model.certificate.certificate import NAME, Certificate
from shoal.model.certificate.file import read_certificate
from shoal.model.certificate.form import plain
from shoal.model.certificate.halves import DERIVED, document, flat_form, halves
from shoal.release.certificate.derive import derive
from shoal.release.certificate.verify import TableClaim
from shoal.release.verification import verify

SIGNED = {
    "attacks", "before", "columns.*.changed", "columns.*.decided", "columns.*.height", "columns.*.kind", "columns.*.level",
    "columns.*.name", "columns.*.role", "columns.*.values_before", "columns.*.why", "data.quasi", "data.sensitive", "data.unit",
    "date", "given",
    "identifying", "input.drawn", "input.keyed_hash", "input.records", "notes", "plan.seed_commitment", "population.size",
    "release", "require", "threshold.preset", "title", "tool", "unit", "utility.allowed", "utility.analyses.*.asked",
    "utility.analyses.*.before", "utility.analyses.*.change", "utility.frontier", "utility.gap", "utility.levels", "utility.loss",
    "utility.method", "utility.optimize", "utility.others", "utility.plans", "utility.proven", "utility.suppressed",
    "utility.who", "weight",
}  # fmt: skip
"""All that rests on the signature alone. A part that is added here needs a reason why the files cannot give it."""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with every part: suppression, missing values, analyses, a column that looks like an identifier."""
    rng = np.random.default_rng(12)
    n = 90
    people = pa.table(
        {
            "age": pa.array([None if i % 9 == 0 else int(a) for i, a in enumerate(rng.integers(20, 60, n))]),
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(["flu", "cold", "hiv"], n),
            "pay": rng.integers(10, 99, n) * 100,
            "phone": [f"06 {i:08d}" for i in rng.permutation(n) + 12_345_678],
        }
    )
    asked = {
        "roles": {"quasi": ["age", "sex"], "sensitive": ["ill"], "insensitive": ["pay", "phone"]},
        "optimize": "discernibility",
        "require": {"k": 3, "diversity": {"ill": {"distinct": 2}}, "linkage": 0.99},
        "allow": {"suppress": 0.2, "identifying": {"phone": "invented numbers"}},
        "analyses": [{"mean": "pay"}, {"table": ["sex", "ill"]}],
        "date": "2026-11-15",
    }
    return shoal.anonymize(people, asked).write(tmp_path_factory.mktemp("halves") / "r")


def refused(claim, document):
    """Whether the checks that look at the derived half refuse it; the signature and the page are the forger's own and fit."""
    honest = claim.certificate
    try:
        claim.certificate = Certificate.from_json(flat_form(document))
        claim._derived()
        claim.files()
    except (ShoalError, ValueError):
        return True
    finally:
        claim.certificate = honest
    return False


CHECKED_APART = ("files", "identifiers")
"""Derived parts that are compared with the folder by steps of their own."""


def test_the_derived_half_follows_from_the_files_and_the_signed_half_alone(released):
    """Every leaf of the stated derived half says something else: what is worked out does not look at it."""
    claim = TableClaim(released)
    whole = document(claim.certificate)
    lies = whole
    for path in leaves({n: v for n, v in whole["derived"].items() if n not in CHECKED_APART}):
        lies = edited(lies, ("derived", *path), another)
    lies["derived"]["attacks"] = []
    again = derive(Certificate.from_json(flat_form(lies)), claim.facts, released).as_read
    assert halves(plain(again)) == halves(plain(claim.certificate))


def test_every_leaf_of_the_derived_half_is_compared_with_the_files(released, monkeypatch):
    """What follows from the files is worked out once here: the test above shows that it does not depend on what is stated."""
    claim = TableClaim(released)
    whole = document(claim.certificate)
    assert not refused(claim, whole)
    again = derive(claim.certificate, claim.facts, released)
    monkeypatch.setattr("shoal.release.certificate.derive.derive", lambda *_: again)
    paths = list(leaves(whole["derived"]))
    accepted = [p for p in paths if not refused(claim, edited(whole, ("derived", *p), another))]
    assert accepted == []
    assert len(paths) > 150


@pytest.mark.parametrize(
    "name", sorted({p.split(".")[0] for p in DERIVED["shoal-certificate/2"]} - {"identifiers", "requirements_people"})
)
def test_verify_refuses_a_changed_leaf_of_every_part_under_any_key(released, tmp_path, name):
    folder = tmp_path / "r"
    shutil.copytree(released, folder)
    derived, _ = halves(plain_certificate(folder))
    path = next(p for p in leaves(derived) if p[0] == name)

    def change(flat):
        node = flat
        for part in path[:-1]:
            node = node[part]
        node[path[-1]] = another(node[path[-1]])

    forge(folder, change)
    if name != "files":  # which the forger puts right again
        assert not verify(folder).ok
        assert not verify(folder, key=read_certificate(folder / NAME).key.fingerprint).ok


def test_every_list_of_the_derived_half_is_compared_with_the_files(released):
    """Nothing can be left out: each list without its first item is another one."""
    claim = TableClaim(released)
    whole = document(claim.certificate)

    def lists(value, path=()):
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, part in inner:
            yield from lists(part, (*path, name))
        if isinstance(value, list) and value:
            yield path

    paths = list(lists(whole["derived"]))
    assert [p for p in paths if not refused(claim, edited(whole, ("derived", *p), lambda v: v[1:]))] == []
    assert ("attacks",) in paths


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["columns"][0].update(values_after=40),
        lambda c: c["utility"].update(suppressed_sentence=c["utility"]["suppressed_sentence"] + " Nobody else was."),
        lambda c: c["utility"]["analyses"][0].update(after="1"),
        lambda c: c["data"].update(format="parquet"),
        lambda c: c["missing"]["k"].update(wildcard=50),
        lambda c: c["missing"]["k"].update(drop=50),
        lambda c: c["input"].update(columns=3),
        lambda c: c.update(attacks=[a for a in c["attacks"] if not a["name"].startswith("homogeneity")]),
        lambda c: c.update(limits=[x for x in c["limits"] if "identifiers:" not in x], identifying={}, looks_identifying=[]),
        lambda c: c.update(limits=[x for x in c["limits"] if "identifiers:" not in x], identifying={}),
        lambda c: c["given"].update(k_map=50),
        lambda c: c.update(given={}),
    ],
)  # fmt: skip
def test_what_the_file_disproves_is_refused_whoever_signs(released, tmp_path, change):
    """Issue 36.6: each was accepted when it was signed again, with the page that follows from it."""
    folder = tmp_path / "r"
    shutil.copytree(released, folder)
    forge(folder, lambda c: None)
    assert verify(folder).ok
    forge(folder, change)
    assert not verify(folder).ok


def test_groups_that_lost_records_have_the_stated_records_in_the_file(tmp_path):
    people = {"town": ["A"] * 70 + ["B"] * 50, "job": ["x"] * 62 + [f"y{i}" for i in range(8)] + ["x"] * 50}
    quasi = {"town": {"max_level": 0}, "job": {"max_level": 0}}
    asked = {"roles": {"quasi": quasi}, "require": {"k": 5}, "allow": {"suppress": 0.1}}
    folder = shoal.anonymize(people, asked).write(tmp_path / "r")
    lost = read_certificate(folder / NAME).utility.who[0]
    assert (lost.group, lost.records) == ("A", 62)
    forge(folder, lambda c: None)
    assert verify(folder).ok
    forge(folder, lambda c: c["utility"]["who"][0].update(records=63, share="11.3 %"))
    assert [c.name for c in verify(folder).failed] == ["derived"]


def test_the_signed_half_is_what_is_listed_here(released):
    _, signed = halves(plain_certificate(released))
    found = {".".join("*" if isinstance(p, int) else p for p in path) for path in leaves(signed)}
    unlisted = {p for p in found if not any(p == s or p.startswith(f"{s}.") for s in SIGNED)}
    assert unlisted == set()
    assert all(any(p == s or p.startswith(f"{s}.") for p in found) for s in SIGNED)
    assert not SIGNED & DERIVED["shoal-certificate/2"]


def test_a_column_that_looks_like_an_identifier_is_found_in_the_published_file(released):
    made = read_certificate(released / NAME)
    assert made.looks_identifying == ("phone",)
    assert any("phone (invented numbers)" in limit for limit in made.limits)


def test_halves_are_joined_again_and_fit_the_schema(released):
    text = (released / NAME).read_text()
    whole = json.loads(text)
    assert set(whole) == {"format", "derived", "signed", "key", "signature"}
    schema = importlib.resources.files("shoal.model.certificate").joinpath("certificate.schema.json")
    jsonschema.validate(whole, json.loads(schema.read_text("utf-8")))
    made = read_certificate(released / NAME)
    assert json.loads(made.to_bytes()) == whole
    assert document(Certificate.from_json(flat_form(whole))) == whole


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("derived"),
        lambda d: d.update(derived=[]),
        lambda d: d.update(more=1),
        lambda d: d["signed"].update(k=5),
        lambda d: d["derived"].pop("attacks"),
        lambda d: d["derived"].update(attacks=[{"rate": 1}]),
        lambda d: d["derived"]["columns"].pop(),
    ],
)
def test_halves_that_do_not_fit_are_refused(released, change):
    whole = json.loads((released / NAME).read_text())
    change(whole)
    with pytest.raises(TamperError):
        Certificate.from_json(flat_form(whole))


def test_a_part_in_the_wrong_half_is_refused(released, tmp_path):
    """The place of a part is its meaning: a forger cannot move a number to where it is not worked out again."""
    whole = json.loads((released / NAME).read_text())
    whole["signed"]["missing"] = whole["derived"].pop("missing")
    file = tmp_path / NAME
    file.write_text(json.dumps(whole, sort_keys=True, indent=1, ensure_ascii=False) + "\n")
    with pytest.raises(TamperError, match="rewritten"):
        read_certificate(file)


def test_a_certificate_of_version_1_has_no_parts_of_version_2(released):
    made = read_certificate(released / NAME)
    with pytest.raises(TamperError, match="parts of another version"):
        Certificate.from_json(replace(made, format="shoal-certificate/1").to_json())
