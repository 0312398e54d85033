"""The certificate as a typed value: one reader, one writer, one schema; what is read is written again byte by byte."""

from __future__ import annotations

import importlib.resources
import json
import pickle
import runpy
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import TamperError
from shoal.model.attack import AttackResult, strongest, strongest_sentence
from shoal.model.certificate.certificate import FORMAT, Certificate
from shoal.model.certificate.file import is_of_events, read_certificate, stated_format
from shoal.model.certificate.halves import document, flat_form
from shoal.report.release_report import headline

SECRET = "Secretsville"
SCHEMA = json.loads(importlib.resources.files("shoal.model.certificate").joinpath("certificate.schema.json").read_text("utf-8"))


def table(n=240):
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "who": [f"p{i // 2}" for i in range(n)],
            "age": np.repeat(rng.integers(20, 60, n // 2), 2),
            "town": [SECRET] + ["Ashby", "Brook"] * ((n - 1) // 2) + ["Ashby"],
            "ill": rng.choice(["flu", "cold", "hiv"], n),
            "pay": rng.integers(1000, 5000, n),
        }
    )


ROLES = {"quasi": ["age", "town"], "sensitive": ["ill"], "insensitive": ["pay"]}
ASKED = {"require": {"k": 4, "diversity": {"ill": {"recursive": {"c": 9, "l": 2}}}}, "allow": {"suppress": 0.2}}
CASES = {
    "records": {"roles": {**ROLES, "direct": ["who"]}, **ASKED},
    "people": {"roles": ROLES, "unit": {"column": "who", "publish": "drop"}, **ASKED},
    "people published": {"roles": ROLES, "unit": {"column": "who", "publish": "pseudonym"}, **ASKED},
    "local": {"roles": {**ROLES, "direct": ["who"]}, "require": {"k": 6}, "method": "local", "preset": "internal"},
    "sample": {"roles": {**ROLES, "direct": ["who"]}, **ASKED, "sample": {"share": 0.8}, "seed": 31_415_926_535_897_932},
    "noise": {
        "roles": {**ROLES, "direct": ["who"]},
        **ASKED,
        "transform": {"pay": {"noise": {"scale": 1000.0}}},
        "analyses": [{"mean": "pay"}],
        "population": 5000,
    },
}


@pytest.fixture(scope="module")
def releases():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOAL_KEY", "a key of at least sixteen characters 1234567890")
        made = {}
        for name, asked in CASES.items():
            source = table()
            if name == "people published":
                source = source.set_column(2, "town", pa.array(["Ashby"] * source.num_rows))
            made[name] = shoal.anonymize(source, asked)
            assert made[name].certificate.k >= 2
        return made


@pytest.mark.parametrize("name", CASES)
def test_real_certificates_are_read_as_they_were_written_and_fit_the_schema(releases, tmp_path, name):
    made = releases[name].certificate
    (tmp_path / "certificate.json").write_bytes(made.to_bytes())
    again = read_certificate(tmp_path / "certificate.json")
    assert again == made
    assert again.to_bytes() == made.to_bytes()
    jsonschema.validate(document(made), SCHEMA)
    assert SECRET not in made.to_bytes().decode()


@pytest.mark.parametrize("name", ["certificate.schema.json", "event_certificate.schema.json"])
def test_the_published_schemas_are_those_of_the_types(name):
    tool = runpy.run_path(str(Path(__file__).parents[3] / "tools" / "certificate_schema.py"))
    published = json.loads(importlib.resources.files("shoal.model.certificate").joinpath(name).read_text(encoding="utf-8"))
    assert published == tool["certificate_schema"](name), "run: python tools/certificate_schema.py"
    jsonschema.Draft202012Validator.check_schema(published)


def places(value, path=()):
    """Every place in a JSON value, the inner ones after the outer."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield from places(part, (*path, name))


def changed(value, path, new):
    copy = json.loads(json.dumps(value))
    node = copy
    for name in path[:-1]:
        node = node[name]
    if new is KeyError:
        del node[path[-1]]
    else:
        node[path[-1]] = new
    return copy


FREE = ("require", "given", "identifying", "sizes", "smallest", "levels", "sensitive", "recursive")
"""Groups whose names or values are not all fixed by the type."""


@pytest.mark.parametrize("name", ["records", "people"])
def test_a_part_of_another_type_a_missing_one_and_one_more_are_refused_everywhere(releases, name):
    """Schema and reader agree; neither the value nor the unknown name is told."""
    whole = document(releases[name].certificate)
    schema = jsonschema.Draft202012Validator(SCHEMA)
    tried = 0
    for path in list(places(whole))[1:]:
        if {"require", "asked", "identifying"} & set(path):
            continue
        wrong = changed(whole, path, {SECRET: SECRET} if not isinstance(path[-1], int) else [SECRET])
        assert refused(wrong), path
        assert not schema.is_valid(wrong), path
        if isinstance(path[-1], str) and not set(path) & set(FREE):
            absent = changed(whole, path, KeyError)
            optional = schema.is_valid(absent)
            assert refused(absent) or optional, path
            tried += not optional
    for path in [p for p in places(whole) if not set(p) & set(FREE)]:
        node = whole
        for part in path:
            node = node[part]
        if isinstance(node, dict):
            more = changed(whole, (*path, SECRET), 1)
            assert refused(more), path
            assert not schema.is_valid(more), path
    assert tried > 100


def refused(data):
    """Whether the object of a file is refused: for its types, or because it would be written otherwise."""
    try:
        flat = flat_form(data)
    except TamperError as error:
        return SECRET not in str(error) + str(error.hint)
    return refused_flat(flat) or document(Certificate.from_json(flat)) != data


def refused_flat(data):
    try:
        Certificate.from_json(data)
    except TamperError as error:
        told = str(error) + str(error.hint)
    else:
        return False
    return SECRET not in told


def test_numbers_are_not_taken_for_one_another(releases):
    whole = releases["records"].certificate.to_json()
    assert not refused_flat(whole)
    for path, bad in [
        (("k",), float(whole["k"])),
        (("k",), True),
        (("k",), str(whole["k"])),
        (("utility", "loss"), True),
        (("utility", "loss"), float("inf")),
        (("utility", "loss"), float("nan")),
        (("utility", "proven"), 1),
        (("after", "sizes"), {"4": 2.0}),
        (("files",), {}),
        (("title",), None),
    ]:
        assert refused_flat(changed(whole, path, bad)), path
    assert not refused_flat(changed(whole, ("utility", "loss"), 1)), "a whole number is a number"


@pytest.mark.parametrize("version", ["shoal-certificate/3", "shoal-certificate/0", "shoal-certificate/1 "])
def test_unknown_versions_are_refused_in_words(releases, version):
    with pytest.raises(TamperError, match=f"another version than '{FORMAT}'") as error:
        Certificate.from_json({**releases["records"].certificate.to_json(), "format": version})
    assert "named in it under 'tool'" in error.value.hint


@pytest.mark.parametrize("data", [None, [], "x", {}, {"format": 1}, {"format": SECRET}])
def test_what_is_no_certificate_is_refused(data):
    with pytest.raises(TamperError, match="not a certificate") as error:
        Certificate.from_json(data)
    assert SECRET not in str(error.value)


def test_a_certificate_that_is_not_signed_is_refused(releases):
    whole = releases["records"].certificate.to_json()
    for name in ("key", "signature"):
        with pytest.raises(TamperError, match="no signature"):
            Certificate.from_json({n: v for n, v in whole.items() if n != name})


def test_a_certificate_is_pickled_compared_and_shown_in_one_line(releases):
    made = releases["people"].certificate
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert repr(made) == repr(again)
    assert len(repr(made)) < 200
    assert f"k = {made.k}" in repr(made)
    assert "not signed" in repr(made.without_report)
    with pytest.raises(AttributeError):
        made.k = 99


def test_a_release_is_shown_in_one_line_without_values(releases):
    fresh = shoal.anonymize(table(), CASES["records"])
    for shown in (repr(fresh), repr(releases["records"])):
        assert len(shown) < 120
        assert SECRET not in shown
    assert "not written yet" in repr(fresh)
    assert f"k = {releases['records'].k}" in repr(releases["records"])


@pytest.mark.parametrize("name", ["records", "noise"])
def test_a_pickled_release_can_be_read_and_holds_no_record_key_or_seed(releases, tmp_path, name):
    release = shoal.anonymize(table(), CASES[name])
    folder = release.write(tmp_path / "out") if name == "noise" else None
    packed = pickle.dumps(release)
    assert SECRET.encode() not in packed
    if folder is not None:
        assert release.plan.seed != 0
        for other in range(10):
            assert pickle.dumps(release.plan.seed, protocol=other % 5)[2:-1] not in packed
    again = pickle.loads(packed)
    assert again.certificate == release.certificate
    assert again.report() == release.report()
    assert again.k == release.k
    assert again.private_file == release.private_file
    assert {**again.to_json(), "seconds": 0} == {**release.to_json(), "seconds": 0}
    assert again.plan.steps == release.plan.steps
    with pytest.raises(shoal.errors.UsageError, match="pickled can be read, not written"):
        again.write(tmp_path / "again")
    assert pickle.loads(pickle.dumps(again)).k == release.k


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ('{"format": "shoal-certificate/2"}', "shoal-certificate/2"),
        ('{"format": ["shoal-certificate/2"]}', ""),
        ('{"format": {}}', ""),
        ("{}", ""),
        ('["format"]', ""),
        ("{", ""),
        ("[" * 200_000, ""),
    ],
)
def test_the_format_that_a_file_states_is_a_text_or_nothing(tmp_path, text, stated):
    """Whoever forges a certificate may put anything there."""
    (tmp_path / "certificate.json").write_text(text)
    assert stated_format(tmp_path / "certificate.json") == stated
    assert not is_of_events(tmp_path)


@pytest.mark.parametrize("version", [1, 2])
def test_a_folder_of_events_says_so(tmp_path, version):
    (tmp_path / "certificate.json").write_text(json.dumps({"format": f"shoal-event-certificate/{version}"}))
    assert is_of_events(tmp_path)


@pytest.mark.parametrize(
    ("name", "rate", "verdict", "stated", "named"),
    [
        ("further knowledge", 0.5, "warning", 0.5, False),
        ("further knowledge", 0.5, "warning", 0.49, True),
        ("linkage: changed columns", 0.5, "broken", 0.0, True),
        ("known records: all rows", 0.5, "warning", 0.0, True),
        ("whole trail", 0.5, "warning", 0.0, True),
        ("further knowledge", 0.1, "holds", 0.0, False),
        ("further knowledge", None, "warning", 0.0, False),
        ("skewness: ill", 0.5, "warning", 0.0, False),
    ],
)
def test_the_strongest_attack_is_one_that_finds_people_beyond_what_is_stated(name, rate, verdict, stated, named):
    """Skewness says how far classes differ: its rate is not a share of people who are found."""
    one = AttackResult(name, "", rate, rate, rate, None, "", verdict, "")
    other = AttackResult("linkage", "", 0.01, 0.01, 0.01, None, "", "holds", "")
    assert strongest([other, one], stated) == (one if named else None)
    assert (name in strongest_sentence([one], stated)) is named


@pytest.mark.parametrize(("singled_out", "claimed", "green"), [(0.2, 0.2, True), (0.21, 0.2, False)])
def test_a_report_is_green_only_if_nobody_finds_more_than_is_claimed(singled_out, claimed, green):
    assert (headline("x", (), singled_out, claimed)["accent_kind"] == "met") is green
    unknown = headline("x", (), None, claimed)
    assert unknown == {"accent": "x", "accent_kind": "", "rest": "; what whoever knows more finds was not counted"}
    warned = AttackResult("further knowledge", "", 0.1, 0.05, 0.15, None, "", "warning", "the ten most exposed are found")
    said = headline("x", (warned,), 0.0, claimed)
    assert said == {"accent": "x", "accent_kind": "", "rest": "; whoever knows more finds up to 15 %"}
    assert "succeeds for 10 %, between 5.0 % and 15 %." in strongest_sentence([warned])
