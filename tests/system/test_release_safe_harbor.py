"""hipaa-safe-harbor from the table to the certificate: classes printed, reasons signed, re-signed lies refused."""

from __future__ import annotations

import csv
import json
import random
import shutil

import pyarrow as pa
import pytest

import shoal
from release_forging import forge, plain_certificate
from shoal.cli import main
from shoal.errors import PolicyError, VerificationError
from tricky_columns import ACCEPTED, ILL, Tricky, code, column, day, number, of, person

N = 200
ISSUE = (
    Tricky("zip5", number(10001, 99950), "B"),
    Tricky("zc", code("99999-9999"), "B"),
    Tricky("home_zcta5", number(501, 99950, "{:05d}"), "B"),
    Tricky("admit_dt", day("%m/%d/%Y"), "C"),
    Tricky("svc_from", day("%Y-%m-%d"), "C"),
    Tricky("dod", day("%Y%m%d"), "C"),
    Tricky("agegrp", number(100, 103), "C"),
    Tricky("yrs", number(100, 103), "C"),
    Tricky("bday", number(1915, 1990), "C"),
    Tricky("geb", number(1915, 1917), "C"),
    Tricky("mrno", number(1_000_000, 9_999_999), "H"),
    Tricky("hic", code("999999999A"), "I"),
    Tricky("mother", person, "A"),
    Tricky("cnty", of("Cook", "Orange", "Kings"), "B"),
    Tricky("car_reg", code("AA99 AAA"), "L"),
    Tricky("sn", code("SN999999999"), "M"),
)


def clinic(**more):
    rng = random.Random(5)
    plain = {"sex": [rng.choice("FM") for _ in range(N)], "ill": [rng.choice(ILL) for _ in range(N)]}
    return pa.table({**plain, **more})


def asked(*insensitive, **more):
    roles = {"quasi": ["sex"], "sensitive": ["ill"], "insensitive": list(insensitive)}
    return {"preset": "hipaa-safe-harbor", "roles": roles, "date": "2026-11-15", **more}


def tried(table, policy, place):
    """The folder of the release, or what the refusal says."""
    try:
        return shoal.anonymize(table, policy).write(place), ""
    except (PolicyError, VerificationError) as error:
        return None, str(error)


def shown_in(folder, name):
    with (folder / "data.csv").open() as data:
        return {row[name] for row in csv.DictReader(data)}


def test_every_column_of_the_issue_is_refused_or_made_coarser(tmp_path):
    for i, tricky in enumerate(ISSUE):
        values = column(tricky, rows=N)
        folder, said = tried(clinic(**{tricky.name: values}), asked(tricky.name), tmp_path / str(i))
        if folder is None:
            assert "the safe-harbor list" in said, tricky.name
            assert not any(str(v) in said for v in values), tricky.name
            continue
        assert tricky.letter in "BC", tricky.name
        shown = shown_in(folder, tricky.name)
        assert not shown & set(map(str, values)) or tricky.name == "bday", tricky.name
        assert not any(y.isdigit() and int(y) <= 1936 for y in shown if tricky.name in ("bday", "geb"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("harbor")
    named = {t.name: column(t, rows=N) for t in reversed(ACCEPTED) if t.name != "sex"}
    more = {**named, "sn": column(Tricky("sn", number(1, 20), ""), rows=N), "pid": [f"P{i}" for i in range(N)]}
    more["seen"] = column(Tricky("seen", day("%Y-%m-%d"), ""), rows=N)
    policy = asked(*named, "sn", "seen", allow={"none_of_the_eighteen": {"sn": "number of the season of the survey"}})
    policy["roles"]["direct"] = ["pid"]
    return shoal.anonymize(clinic(**more), policy).write(place / "out")


def test_classes_evidence_and_reasons_are_in_certificate_and_report(made):
    certificate = plain_certificate(made)
    lines = {line["column"]: line for line in certificate["identifiers"]}
    assert list(lines) == [c["name"] for c in certificate["columns"]]
    assert lines["sn"]["reason"] == "number of the season of the survey"
    assert lines["sn"]["found"].startswith("M: ")
    assert lines["pid"]["released"] == "removed"
    assert lines["seen"]["released"].startswith("C: ")
    assert lines["visit_count"]["found"] == lines["visit_count"]["released"] == "none of the eighteen"
    assert all(line["evidence"] for line in lines.values())
    page = (made / "report.html").read_text()
    assert "number of the season of the survey" in page
    assert "classes of identifiers removed" not in page
    check = next(c for c in shoal.verify(made).checks if c.name == "columns")
    assert check.ok, check.sentence
    assert "1 stated" in check.sentence


def lies():
    def line(certificate, name):
        return next(one for one in certificate["identifiers"] if one["column"] == name)

    def other_class(c):
        line(c, "seen")["released"] = "none of the eighteen"

    def other_evidence(c):
        line(c, "visit_count")["checked"] = "a person looked"

    def no_reason(c):
        del line(c, "sn")["reason"]

    def empty_reason(c):
        line(c, "sn")["reason"] = "  "

    def one_less(c):
        c["identifiers"] = c["identifiers"][1:]

    def none(c):
        del c["identifiers"]

    def without_preset(c):
        c["threshold"]["preset"] = None

    return {f.__name__: f for f in (other_class, other_evidence, no_reason, empty_reason, one_less, none, without_preset)}


@pytest.mark.parametrize("name", lies())
def test_a_re_signed_lie_is_refused(made, tmp_path, name):
    folder = tmp_path / "forged"
    shutil.copytree(made, folder)
    forge(folder, lies()[name])
    result = shoal.verify(folder)
    assert "columns" in [c.name for c in result.failed]


def test_a_preset_that_the_file_does_not_meet_is_refused(tmp_path):
    """A release without the preset, whose columns are then listed and signed as if it had been held against the list."""
    policy = asked("dod")
    del policy["preset"]
    table = clinic(dod=column(Tricky("dod", day("%Y%m%d"), "C"), rows=N))
    folder = shoal.anonymize(table, {**policy, "require": {"k": 11}}).write(tmp_path / "out")
    good = shoal.anonymize(clinic(), {**asked(), "require": {"k": 11}}).write(tmp_path / "good")
    other = plain_certificate(good)

    def lie(certificate):
        certificate["threshold"] = other["threshold"]
        certificate["identifiers"] = [*other["identifiers"], {**other["identifiers"][0], "column": "dod"}]
        certificate["utility"]["who_note"] = other["utility"]["who_note"]

    forge(folder, lie)
    failed = {c.name: c.sentence for c in shoal.verify(folder).failed}
    assert "does not let column 'dod' stay" in failed["columns"]


def test_columns_that_tell_an_age_only_together(tmp_path):
    rng = random.Random(1)
    more = {"age_at_admission": [rng.randint(60, 79) for _ in range(N)], "adm_year": [2010] * N}
    late = {**more, "death_year": [2020] * N}
    early = {**more, "death_year": [2012] * N}
    assert shoal.anonymize(clinic(**early), asked(*early)).write(tmp_path / "early")
    late["age_at_admission"][0] = 80
    with pytest.raises(PolicyError, match="age above 89 at death"):
        shoal.anonymize(clinic(**late), asked(*late)).write(tmp_path / "late")


def test_quasi_identifiers_get_the_groups_of_the_list(tmp_path):
    rng = random.Random(2)
    more = {"age": [rng.randint(30, 103) for _ in range(N)], "zip": [rng.choice(["02139", "10001", "03601"]) for _ in range(N)]}
    policy = asked(allow={"suppress": 0.2})
    for name in more:
        roles = {**policy["roles"], "quasi": ["sex", name], "direct": [c for c in more if c != name]}
        folder = shoal.anonymize(clinic(**more), {**policy, "roles": roles}).write(tmp_path / name)
        shown = shown_in(folder, name)
        assert shown - {"*"}, "something is left"
        assert not shown & set(map(str, more[name]))


def test_pseudonyms_are_derived_codes(monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", "k" * 40)
    policy = asked()
    policy["roles"]["direct"] = {"pid": {"mask": "pseudonym"}}
    with pytest.raises(PolicyError, match=r"164\.514\(c\)"):
        shoal.anonymize(clinic(pid=[f"P{i}" for i in range(N)]), policy)


def test_a_statement_needs_the_preset_a_column_and_a_reason():
    stated = {"none_of_the_eighteen": {"sn": "number of the season of the survey"}}
    with pytest.raises(PolicyError, match="hipaa-safe-harbor"):
        shoal.Policy.of({"roles": {"quasi": ["sex"]}, "require": {"k": 5}, "allow": stated})
    with pytest.raises(PolicyError, match="gives no reason"):
        shoal.Policy.of(asked("sn", allow={"none_of_the_eighteen": {"sn": "because"}}))
    with pytest.raises(shoal.errors.MissingColumnError):
        shoal.anonymize(clinic(), asked(allow=stated))
    policy = shoal.Policy.of(asked("sn", allow=stated))
    assert shoal.Policy.of(policy.to_json()).none_of_the_eighteen == policy.none_of_the_eighteen


def test_the_gate_and_the_command_say_it_too(tmp_path, capfd):
    table = clinic(zip5=column(ISSUE[0], rows=N), visit_count=[i % 7 for i in range(N)])
    import pyarrow.csv as pc

    pc.write_csv(table, tmp_path / "t.csv")
    (tmp_path / "p.yml").write_text(json.dumps(asked("zip5", "visit_count")))

    def run(*words):
        with pytest.raises(SystemExit) as end:
            main([str(w) for w in words])
        return int(end.value.code or 0), capfd.readouterr().out

    code, said = run("check", tmp_path / "t.csv", "--policy", tmp_path / "p.yml")
    assert code == 1
    assert "zip5" in said
    assert "visit_count" not in said
    code, said = run("anonymize", tmp_path / "t.csv", "--policy", tmp_path / "p.yml", "--out", tmp_path / "out")
    assert code == 0
    assert "zip5: B: places smaller than a state" in said
    assert "as coarse as the list allows" in said
    assert "visit_count: none of the eighteen" in said
    code, _ = run("check", tmp_path / "out" / "data.csv", "--policy", tmp_path / "p.yml")
    assert code == 0, "what was released stays"


def test_strict_public_is_worked_out_again(tmp_path):
    """A column that looks sensitive and is re-signed as insensitive takes the name of strict-public with it."""
    rng = random.Random(4)
    table = pa.table(
        {
            "sex": [rng.choice("FM") for _ in range(400)],
            "diagnosis": [rng.choice(["asthma", "diabetes"]) for _ in range(400)],
            "colour": [rng.choice(["red", "blue"]) for _ in range(400)],
        }
    )
    roles = {"quasi": ["sex"], "sensitive": ["diagnosis"], "insensitive": ["colour"]}
    folder = shoal.anonymize(table, {"preset": "strict-public", "roles": roles}).write(tmp_path / "out")
    assert shoal.verify(folder).ok

    def lie(certificate):
        for one in certificate["columns"]:
            one["role"] = "insensitive" if one["name"] == "diagnosis" else one["role"]

    forge(folder, lie)
    assert "columns" in [c.name for c in shoal.verify(folder).failed]


@pytest.mark.parametrize("form", ["spss", "stata", "excel", "parquet", "arrow"])
def test_every_format_is_read_as_people_read_it(tmp_path, form):
    """In SPSS and Stata groups are codes with labels: the labels are what is told."""
    values = column(Tricky("zc", number(501, 99950, "{:05d}"), ""), rows=N)
    table = clinic(zc=values, age=[30 + 10 * (i % 8) for i in range(N)])
    folder = shoal.anonymize(table, asked("zc", "age"), format=form).write(tmp_path / form)
    lines = {line["column"]: line for line in plain_certificate(folder)["identifiers"]}
    assert lines["zc"]["released"].startswith("B: ")
    assert lines["age"]["released"].startswith("C: ")
    assert shoal.verify(folder).ok


def unknown_columns():
    rng = random.Random(9)
    notes = [rng.choice(["stable", "improved"]) if i % 10 else f"born on {i % 28 + 1} May 1965" for i in range(N)]
    names = [rng.choice("王李张刘陈杨赵黄周吴") + rng.choice("伟芳娜敏静丽强磊军洋") for _ in range(N)]
    return {"姓名": names, "status": notes, "icd10": [f"{rng.randrange(10**8, 6 * 10**8)}" for _ in range(N)]}


@pytest.mark.parametrize("name", ["姓名", "status", "icd10"])
def test_a_column_that_nothing_shows_to_be_harmless_is_not_released(tmp_path, name):
    values = unknown_columns()[name]
    folder, said = tried(clinic(**{name: values}), asked(name), tmp_path / "out")
    assert folder is None
    assert f"'{name}'" in said
    assert not any(v in said for v in values)


def test_a_person_may_state_a_reason_and_an_earlier_release_still_verifies(tmp_path):
    reason = "random letters that the laboratory gave to batches"
    table = clinic(xq=[f"q{'abcdefg'[i % 7]}{'hijklmn'[i % 5]}" for i in range(N)])
    assert "'xq'" in tried(table, asked("xq"), tmp_path / "no")[1]
    folder = shoal.anonymize(table, asked("xq", allow={"none_of_the_eighteen": {"xq": reason}})).write(tmp_path / "yes")
    assert shoal.verify(folder).ok

    def signed_before(certificate):
        line = next(one for one in certificate["identifiers"] if one["column"] == "xq")
        del line["reason"]
        line["checked"] = "neither its name nor its 35 different values point to one"

    forge(folder, signed_before)
    check = next(c for c in shoal.verify(folder).checks if c.name == "columns")
    assert check.ok, check.sentence
    assert "by the earlier rule" in check.sentence


def test_a_safer_column_never_stops_a_release_that_would_pass_without_the_preset(tmp_path):
    rng = random.Random(3)
    table = clinic(age=[rng.randint(20, 99) for _ in range(N)])
    policy = {**asked("age"), "require": {"k": 11}}
    assert shoal.anonymize(table, {key: part for key, part in policy.items() if key != "preset"}).write(tmp_path / "without")
    folder = shoal.anonymize(table, policy).write(tmp_path / "with")
    assert "90" in "".join(shown_in(folder, "age") - {str(n) for n in range(20, 90)})
    assert not shown_in(folder, "age") & {str(n) for n in range(91, 100)}
    assert shoal.verify(folder).ok


def test_a_quasi_identifier_that_nothing_shows_to_be_harmless_is_asked_about(tmp_path):
    table = clinic(xq=[f"q{'ab'[i % 2]}zw" for i in range(N)])
    policy = asked()
    policy["roles"]["quasi"] = ["sex", "xq"]
    with pytest.raises(PolicyError, match=r"nothing shows that these columns are harmless.*'xq'"):
        shoal.anonymize(table, {**policy, "require": {"k": 5}}).write(tmp_path / "out")
