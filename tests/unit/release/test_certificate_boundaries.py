"""Checks of a certificate at their limits and one step beside, without a release: what fits passes, each misfit is refused."""

from __future__ import annotations

import base64
import importlib
import os
from dataclasses import replace
from types import SimpleNamespace as Some

import pytest

from shoal.errors import TamperError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import FORMAT, FORMAT_1, NAME, PLAN, REPORT, SignedCertificate
from shoal.model.certificate.form import plain
from shoal.model.certificate.numbers import Judged
from shoal.model.certificate.parts import FileEntry, Objections
from shoal.model.plan import Plan, Suppression
from shoal.release.certificate import codebook, consistency, signing
from shoal.release.certificate.consistency import _people_fit, check_claims, check_columns, check_counts, objections_fit
from shoal.release.certificate.sentences import LIMITS
from shoal.release.certificate.signing import (
    check_files,
    check_ordinary,
    check_signature,
    digest_of_data,
    file_entry,
    listed_parts,
    signed,
    signed_digest,
)
from shoal.release.certificate.verify import _records
from shoal.release.claim import Check, Verification
from shoal.release.proof import bounds, trees
from shoal.release.proof.read import LOG
from shoal.steps import Drop, Keep
from shoal.techniques.perturb.noise import Noise

verifying = importlib.import_module("shoal.release.certificate.verify")
BODY = SignedCertificate(format="test", title="t", date="2026-01-01", tool="shoal", verdict="v", files=())


# --- the signature ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def signer(monkeypatch):
    monkeypatch.setenv(sign.KEY_ENV, base64.b64encode(bytes(range(32))).decode())
    return sign.signer()


def test_a_signature_is_accepted_with_the_whole_fingerprint_and_with_that_of_earlier_versions(signer):
    whole = signed(BODY, signer)
    assert check_signature(whole) == whole.key
    assert (whole.key.algorithm, whole.key.origin, whole.key.fingerprint) == ("Ed25519", "environment", signer.fingerprint)
    for origin in sign.ORIGINS:
        short = replace(whole.key, origin=origin, fingerprint=sign.fingerprint(signer.public, sign.SHORT_DIGITS))
        again = replace(BODY, key=short)
        again = replace(again, signature=signer.sign(again.to_json()))
        assert check_signature(again) == replace(short, fingerprint=signer.fingerprint)


@pytest.mark.parametrize("wrong", [{"fingerprint": "0" * 32}, {"algorithm": "RSA"}, {"origin": "an authority"}])
def test_each_statement_about_the_key_is_checked_although_it_is_signed(signer, wrong):
    forged = replace(BODY, key=replace(signed(BODY, signer).key, **wrong))
    with pytest.raises(TamperError, match="key"):
        check_signature(replace(forged, signature=signer.sign(forged.to_json())))


def test_without_a_key_or_a_signature_there_is_none(signer):
    whole = signed(BODY, signer)
    for missing in (replace(whole, key=None), replace(whole, signature=None)):
        with pytest.raises(TamperError, match="no signature"):
            check_signature(missing)
    with pytest.raises(TamperError):
        check_signature(replace(whole, title="another"))


# --- the files -------------------------------------------------------------------------------------------------------------


def folder(place, *names):
    for name in names:
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(f"text of {name}")
    return tuple(file_entry(place / name, place) for name in names)


def test_a_folder_has_the_listed_files_and_may_have_the_optional_ones(tmp_path):
    entries = folder(tmp_path, PLAN, REPORT, "data.csv", trees.NAME, codebook.NAME, "more.csv")
    (tmp_path / NAME).write_text("the certificate itself is not listed")
    assert check_files(tmp_path, entries, "data.csv", also="more.csv") == "all 6 files have the bytes that were signed"
    for entry in entries[2:]:
        (tmp_path / entry.name).unlink()
    assert check_files(tmp_path, entries[:2], None) == "all 2 files have the bytes that were signed"


@pytest.mark.parametrize(
    ("listed", "file"),
    [
        ((PLAN, REPORT, "data.csv", "more.csv"), "data.csv"),  # one more
        ((PLAN, "data.csv"), "data.csv"),  # one fewer
        ((PLAN, REPORT), "data.csv"),
        ((PLAN, REPORT, "data.csv", NAME), "data.csv"),
        ((PLAN, REPORT, "other.csv"), "other.csv"),
        ((PLAN, REPORT, "data"), "data"),
        ((PLAN, REPORT, "in/data.csv"), "in/data.csv"),
    ],
)
def test_another_list_than_a_release_has_is_refused(tmp_path, listed, file):
    with pytest.raises(TamperError, match=r"lists|names data"):
        check_files(tmp_path, folder(tmp_path, *listed), file)


def test_names_outside_the_folder_and_names_twice_are_refused(tmp_path):
    entries = folder(tmp_path, PLAN, REPORT, "data.csv")
    with pytest.raises(TamperError, match="twice"):
        check_files(tmp_path, (*entries, entries[0]), "data.csv")
    for name in ("/etc/hosts", "../data.csv"):
        with pytest.raises(TamperError, match="outside"):
            check_files(tmp_path, (*entries[:2], replace(entries[2], name=name)), None)


def test_each_byte_counts_and_so_do_files_that_are_missing_or_not_listed(tmp_path):
    entries = folder(tmp_path, PLAN, REPORT, "data.csv")
    (tmp_path / "stray").write_text("x")
    with pytest.raises(TamperError, match="1 files that the certificate does not list and lacks 0"):
        check_files(tmp_path, entries, "data.csv")
    (tmp_path / "stray").unlink()
    (tmp_path / "data.csv").write_text("TEXT of data.csv")  # as long as before
    with pytest.raises(TamperError, match="changed after"):
        check_files(tmp_path, entries, "data.csv")
    (tmp_path / "data.csv").unlink()
    with pytest.raises(TamperError, match="0 files that the certificate does not list and lacks 1"):
        check_files(tmp_path, entries, "data.csv")
    (tmp_path / "data.csv").symlink_to(tmp_path.parent / "data.csv")
    (tmp_path.parent / "data.csv").write_text("text of data.csv")
    with pytest.raises(TamperError, match="link"):
        check_files(tmp_path, entries, "data.csv")


def test_the_size_is_checked_beside_the_hash(tmp_path):
    entries = folder(tmp_path, PLAN, REPORT, "data.csv")
    wrong = FileEntry("data.csv", entries[2].bytes + 1, entries[2].sha256)
    with pytest.raises(TamperError, match="changed after"):
        check_files(tmp_path, (*entries[:2], wrong), "data.csv")


def test_so_many_entries_of_a_folder_are_looked_at_beyond_those_that_are_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(signing, "MOST_FILES", 2)
    entries = folder(tmp_path, PLAN, REPORT, "data.csv")
    (tmp_path / NAME).write_text("{}")
    assert check_ordinary(tmp_path, 3) == "3 files are listed"
    assert check_files(tmp_path, entries, "data.csv") == "all 3 files have the bytes that were signed"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TamperError, match="pipe"):
        check_ordinary(tmp_path, 3)
    (tmp_path / "pipe").unlink()
    monkeypatch.setattr(bounds, "MOST_TEXT", (tmp_path / REPORT).stat().st_size - 1)
    for name in (REPORT, PLAN):
        with pytest.raises(TamperError, match="too long"):
            check_ordinary(tmp_path, 3)
        (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / PLAN).write_text(10 * "long text ")
    (tmp_path / PLAN).unlink()
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / trees.NAME).symlink_to("nowhere")
    assert check_ordinary(tmp_path, 3) == "3 files are listed", "folders and links are judged by the list"


def test_only_data_in_parts_have_a_log(tmp_path):
    entries = folder(tmp_path, PLAN, REPORT, "data.csv")
    with pytest.raises(TamperError, match="other files than a release has"):
        check_files(tmp_path, (*entries, replace(entries[0], name=f"data.csv/{LOG}")), "data.csv")


PARTS = [f"data.parquet/part-0000{i}.parquet" for i in range(3)]


def test_parts_are_numbered_from_0_without_a_gap_and_the_log_is_none_of_them(tmp_path):
    assert listed_parts([PARTS[1], PLAN, f"data.parquet/{LOG}", PARTS[0]], "data.parquet") == PARTS[:2]
    assert listed_parts([PLAN, "data.parquet"], "data.parquet") == listed_parts([PLAN, "data.csv"], "data.csv") == []
    for wrong in (PARTS[1:], PARTS[::2], [*PARTS, "data.parquet/more.parquet"], ["data.parquet/more.parquet"]):
        with pytest.raises(TamperError, match="not those that Shoal writes"):
            listed_parts(wrong, "data.parquet")
    with pytest.raises(TamperError, match="one file"):
        listed_parts([PLAN, "data.csv/part-00000.parquet"], "data.csv")
    entries = folder(tmp_path, PLAN, REPORT, *PARTS)
    assert check_files(tmp_path, entries, "data.parquet") == "all 5 files have the bytes that were signed"
    (tmp_path / "data.parquet").rename(tmp_path.parent / "moved.parquet")
    (tmp_path / "data.parquet").symlink_to(tmp_path.parent / "moved.parquet")
    with pytest.raises(TamperError, match="lacks 3"):
        check_files(tmp_path, entries, "data.parquet")


def test_the_digest_of_data_is_that_of_the_file_or_of_all_parts(tmp_path):
    one, several = folder(tmp_path, "data.csv"), folder(tmp_path, *PARTS)
    assert digest_of_data(tmp_path / "data.csv") == signed_digest(one, "data.csv") == one[0].sha256
    whole = signed_digest(several, "data.parquet")
    assert digest_of_data(tmp_path / "data.parquet") == whole != signed_digest(several[:2], "data.parquet")
    assert signed_digest(one, "data.parquet") is None


# --- counts ----------------------------------------------------------------------------------------------------------------


def counts(k=2, records=10, used=8, suppressed=3, after=5, objections=None, attacks=("a",), limits=LIMITS):
    """A certificate with nothing but its counts."""
    return Some(
        k=k,
        input=Some(records=records, used=used, objections=objections),
        utility=Some(suppressed=suppressed),
        after=Some(records=after),
        attacks=attacks,
        limits=limits,
    )


@pytest.mark.parametrize(
    "fitting",
    [
        {},
        {"k": 0},
        {"suppressed": 0},
        {"after": 0},
        {"used": 10},
        {"used": 1, "suppressed": 1},
        {"suppressed": 8},
        {"limits": (*LIMITS, "another")},
    ],
)
def test_counts_that_fit(fitting):
    assert check_counts(counts(**fitting)) == "the certificate has every part, and counts that make sense"


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": -1},
        {"suppressed": -1},
        {"after": -1},
        {"records": -1, "used": -2},
        {"used": 0, "suppressed": 0},
        {"used": 11},
        {"suppressed": 9},
        {"attacks": ()},
        {"limits": LIMITS[1:]},
        {"objections": Objections("id", 1, 2, 2, commitment="0" * 64)},
    ],
)
def test_counts_that_do_not_fit(wrong):
    with pytest.raises(TamperError):
        check_counts(counts(**wrong))


def objections(listed=3, found=2, records=4, unnamed=1, commitment="0" * 64):
    return Objections("id", listed, found, records, unnamed, commitment=commitment)


@pytest.mark.parametrize(
    "fitting",
    [{}, {"found": 3}, {"found": 0, "records": 0}, {"listed": 1, "found": 1, "records": 1}, {"records": 2}, {"unnamed": 0}],
)
def test_numbers_of_people_who_objected_that_fit(fitting):
    assert objections_fit(objections(**fitting)) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"found": -1},
        {"found": 4},
        {"listed": 0, "found": 0, "records": 0},
        {"records": 1},
        {"unnamed": -1},
        {"found": 0},
        {"commitment": "0" * 63},
        {"commitment": "g" * 64},
    ],
)
def test_numbers_of_people_who_objected_that_do_not_fit(wrong):
    with pytest.raises(TamperError, match="asked not to be in it"):
        objections_fit(objections(**wrong))


def people(**more):
    """Three people with records in two classes, of 2 and 3 records: one is alone in a class."""
    numbers = {"records": 5, "classes": 2, "k": 1, "unique": 1, "people": 3, "members": 4}
    return Some(**{**numbers, "smallest": {"1": 1, "2": 2}, "sizes": {"1": 1, "3": 1}, **more})


AFTER = Some(records=5, classes=2, k=2)


@pytest.mark.parametrize("after", [AFTER, Some(records=5, classes=2, k=1)])
@pytest.mark.parametrize("members", [4, 5])
def test_numbers_of_people_that_fit_the_records(after, members):
    assert _people_fit(people(members=members), after, published=False) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"records": 6},
        {"records": 4},
        {"classes": 3, "sizes": {"1": 2, "3": 1}},
        {"k": 3, "smallest": {"3": 3}, "unique": 0},
        {"k": 2},
        {"people": 4},
        {"unique": 2},
        {"unique": 0},
        {"smallest": None},
        {"members": 6},
        {"sizes": {"1": 1, "3": 2}},
        {"sizes": {"4": 1}},
    ],
)
def test_numbers_of_people_that_do_not_fit_the_records(wrong):
    with pytest.raises(TamperError, match="numbers of people"):
        _people_fit(people(**wrong), AFTER, published=False)


def test_where_people_are_what_is_published_their_numbers_are_those_of_the_file():
    one = people(k=1)
    assert _people_fit(one, one, published=True) is None
    with pytest.raises(TamperError, match="twice"):
        _people_fit(one, people(k=1, extra=1), published=True)


# --- the columns and the plan ----------------------------------------------------------------------------------------------


def columned(*, shown=("age", "ill"), gone=("name",), quasi=("age",), sensitive=("ill",), method="full", scope="rows"):
    role = {"age": "quasi", "ill": "sensitive"}
    columns = [Some(name=n, role=role.get(n, "other"), treatment="kept") for n in shown]
    columns += [Some(name=n, role="identifier", treatment="removed") for n in gone]
    return Some(
        columns=columns,
        data=Some(columns=["age", "ill"], quasi=quasi, sensitive=sensitive),
        utility=Some(method=method, scope=scope),
        with_treatment=lambda word: [c.name for c in columns if c.treatment == word],
    )


STEPS = (Keep("age"), Keep("ill"), Drop("name"))


def test_columns_that_the_plan_and_the_data_have():
    assert check_columns(columned(), Plan(STEPS, Suppression(2, ("age",)))) is None
    local = Plan(STEPS[1:], Suppression(2, ("age",)))
    assert check_columns(columned(method="local"), local) is None, "local methods have no step for a quasi-identifier"


@pytest.mark.parametrize(
    ("wrong", "steps"),
    [
        ({"shown": ("age",)}, STEPS),
        ({"gone": ()}, STEPS),
        ({"gone": ("name", "street")}, STEPS),
        ({"quasi": ()}, STEPS),
        ({"sensitive": ()}, STEPS),
        ({"quasi": ("age", "ill")}, STEPS),
        ({}, STEPS[1:]),
        ({}, (STEPS[0], STEPS[2])),
        ({"method": "local"}, (STEPS[0], STEPS[2])),
        ({"scope": "people"}, STEPS),
    ],
)
def test_columns_that_do_not_follow_from_the_plan_and_the_data(wrong, steps):
    with pytest.raises(TamperError):
        check_columns(columned(**wrong), Plan(steps, Suppression(2, ("age",))))


def test_every_quasi_identifier_has_a_step_unless_cells_are_changed_one_by_one():
    certificate = columned(shown=("age", "sex", "ill"), quasi=("age", "sex"))
    certificate.data.columns = ["age", "sex", "ill"]
    certificate.columns[1].role = "quasi"
    assert check_columns(certificate, Plan((*STEPS, Keep("sex")), Suppression(2, ("age",)))) is None
    with pytest.raises(TamperError, match="no step"):
        check_columns(certificate, Plan(STEPS, Suppression(2, ("age",))))


# --- what is claimed -------------------------------------------------------------------------------------------------------


@pytest.fixture
def plain_sentences(monkeypatch):
    """Sentences and thresholds that are what the certificate is given."""
    monkeypatch.setattr(consistency, "verdict", lambda certificate: "k is enough")
    monkeypatch.setattr(consistency, "smallest_class", lambda asked: asked)
    monkeypatch.setattr(consistency, "proof", lambda unit, published: Some(sentence=f"{unit} of {published}."))


def claimed(k=3, asked=3, counted=3, after=3, threshold=None, met=None, verdict="k is enough", proof="id of None.", people=None):
    return Some(
        k=k,
        asked=asked,
        counted=Some(k=counted),
        after=Some(records=5, classes=2, k=after),
        after_people=people,
        verdict=verdict,
        threshold=Some(smallest_class=asked if threshold is None else threshold),
        requirements_people=met and [Some(met=m) for m in met],
        proof=Some(sentence=proof),
        unit=Some(column="id"),
        data=Some(unit=None),
    )


@pytest.mark.parametrize("fitting", [{}, {"asked": 2}, {"after": 4}, {"met": [True, True]}, {"people": people()}])
def test_claims_that_follow_from_the_numbers(plain_sentences, fitting):
    assert check_claims(claimed(**fitting)) == "the claims follow from the numbers. id of None."


@pytest.mark.parametrize(
    "wrong",
    [
        {"verdict": "k is much"},
        {"asked": 4},
        {"counted": 2},
        {"counted": 4},
        {"after": 2},
        {"threshold": 2},
        {"threshold": 4},
        {"met": [False]},
        {"met": [True, False]},
        {"proof": "another."},
        {"people": people(people=4)},
    ],
)
def test_claims_that_do_not_follow_from_the_numbers(plain_sentences, wrong):
    with pytest.raises(TamperError):
        check_claims(claimed(**wrong))


# --- records in, out and suppressed ----------------------------------------------------------------------------------------


def flow(scope, used=10, suppressed=2, share=0.2):
    return Some(input=Some(used=used), utility=Some(suppressed=suppressed, scope=scope, suppressed_share=share))


@pytest.mark.parametrize(
    ("certificate", "facts"),
    [
        (flow("rows"), Some(records=8, blanked=0)),
        (flow("values"), Some(records=10, blanked=2)),
        (flow("values"), Some(records=10, blanked=3)),
    ],
)
def test_records_that_add_up(certificate, facts):
    assert _records(certificate, facts) is None


@pytest.mark.parametrize(
    ("certificate", "facts"),
    [
        (flow("rows"), Some(records=7, blanked=0)),
        (flow("rows"), Some(records=9, blanked=5)),
        (flow("rows"), Some(records=12, blanked=5)),
        (flow("rows"), Some(records=10, blanked=5)),
        (flow("values"), Some(records=9, blanked=2)),
        (flow("values"), Some(records=8, blanked=2)),
        (flow("values"), Some(records=10, blanked=1)),
        (flow("rows", share=0.21), Some(records=8, blanked=0)),
    ],
)
def test_records_that_do_not_add_up(certificate, facts):
    with pytest.raises(VerificationError):
        _records(certificate, facts)


# --- the outcome -----------------------------------------------------------------------------------------------------------


def test_a_verification_holds_if_there_are_checks_and_all_of_them_do():
    good, bad, recount = Check("files", True, "."), Check("files", False, "wrong"), Check("re-count", False, "more")
    assert Verification("f", (good,)).ok is True
    assert [Verification("f", checks).ok for checks in ((), (bad,), (good, bad), (bad, good))] == [False] * 4
    assert Verification("f", (good, bad)).failed == (bad,)
    assert Verification("f", (good,)).require().ok
    for checks, kind in (((bad, recount), TamperError), ((recount, bad), VerificationError), ((), TamperError)):
        with pytest.raises(kind) as caught:
            Verification("f", checks).require()
        assert type(caught.value) is kind


# --- the plan and the data of a table --------------------------------------------------------------------------------------


def planned(place, plan, **more):
    """A certificate that states the plan written in the folder."""
    (place / PLAN).write_text(plan.to_json(), encoding="utf-8")
    stated = {"steps": len(plan.steps), "truthful": plan.truthful, "seed": "not published", "seed_commitment": None}
    return Some(plan=Some(**{**stated, "sha256": sign.sha256_file(place / PLAN), **more}))


@pytest.fixture
def columns_fit(monkeypatch):
    monkeypatch.setattr(verifying, "check_columns", lambda certificate, plan: None)


KEPT = Plan(STEPS, Suppression(2, ("age",)))
RANDOM = Plan((*STEPS, Noise("pay", scale=2.0)), Suppression(2, ("age",)))


def test_a_plan_that_is_the_stated_one(columns_fit, tmp_path):
    assert verifying._plan(tmp_path, planned(tmp_path, KEPT)) == "the plan has 3 steps and the stated hash"
    assert "4 steps" in verifying._plan(tmp_path, planned(tmp_path, RANDOM, seed_commitment="0" * 64))


@pytest.mark.parametrize(
    ("plan", "wrong"),
    [
        (KEPT, {"steps": 4}),
        (KEPT, {"steps": 2}),
        (KEPT, {"truthful": False}),
        (RANDOM, {"truthful": True, "seed_commitment": "0" * 64}),
        (KEPT, {"seed": "0"}),
        (KEPT, {"seed_commitment": "0" * 64}),
        (RANDOM, {"seed_commitment": None}),
        (KEPT, {"sha256": "0" * 64}),
        (replace(RANDOM, seed=1), {"seed_commitment": "0" * 64}),
    ],
)
def test_a_plan_that_is_another_than_stated(columns_fit, tmp_path, plan, wrong):
    with pytest.raises(TamperError, match="plan"):
        verifying._plan(tmp_path, planned(tmp_path, plan, **wrong))


def test_a_plan_is_written_in_one_way_only(columns_fit, tmp_path):
    certificate = planned(tmp_path, KEPT)
    (tmp_path / PLAN).write_text(KEPT.to_json() + "\n", encoding="utf-8")
    certificate.plan.sha256 = sign.sha256_file(tmp_path / PLAN)
    with pytest.raises(TamperError, match="not the one"):
        verifying._plan(tmp_path, certificate)


@pytest.mark.parametrize(
    ("stated", "file", "columns", "looked", "expected"),
    [
        (None, "data.csv", ["id"], 0, ""),
        (objections(), None, ["id"], 0, "; column 'id' is not published"),
        (objections(), "data.csv", ["age"], 0, "; column 'id' is not published"),
        (objections(), "data.csv", ["age", "id"], 1, "; none of them is published"),
    ],
)
def test_opt_outs_are_searched_where_their_column_is_published(monkeypatch, tmp_path, stated, file, columns, looked, expected):
    calls = []
    monkeypatch.setattr(verifying, "none_published", lambda *arguments: calls.append(arguments))
    claim = object.__new__(verifying.TableClaim)
    claim.place = tmp_path
    claim.certificate = Some(input=Some(objections=stated), data=Some(file=file, columns=columns))
    assert claim.not_published(["7", "8"]) == expected
    assert calls == [(tmp_path / "data.csv", "id", ("7", "8"))] * looked


def test_facts_at_hand_are_used_if_they_are_of_the_signed_bytes():
    facts, entry = Some(), FileEntry("data.csv", 3, "a" * 64)
    for file, counted, expected in (
        ("data.csv", ("a" * 64, facts), facts),
        ("data.csv", ("b" * 64, facts), None),
        ("data.csv", None, None),
        (None, ("a" * 64, facts), None),
        (None, None, None),
    ):
        certificate = Some(data=Some(file=file), files=(entry,))
        assert verifying._known(certificate, counted) is expected


def test_data_outside_the_folder_or_with_other_columns_are_not_counted(tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("data.csv", "in/data.csv"):
        (tmp_path / name).write_text("age,ill\n1,a\n2,b\n")
    (tmp_path / "linked.csv").symlink_to(tmp_path / "data.csv")

    def certificate(file, columns=("age", "ill"), records=2):
        data = Some(file=file, columns=columns, quasi=["age"], sensitive=["ill"], unit=None)
        return Some(data=data, asked=(), after=Some(records=records), format=verifying.FORMAT_1)

    assert verifying.facts_of(tmp_path, certificate("data.csv")).records == 2
    for file in (None, "in/data.csv", "linked.csv"):
        with pytest.raises(TamperError, match="outside"):
            verifying.facts_of(tmp_path, certificate(file))
    for columns in (("ill", "age"), ("age",), ("age", "ill", "more")):
        with pytest.raises(TamperError, match="other columns"):
            verifying.facts_of(tmp_path, certificate("data.csv", columns))


def test_a_table_of_a_database_is_counted_if_it_is_the_signed_one(monkeypatch, tmp_path):
    monkeypatch.setattr(verifying, "digest", lambda table, columns: "d" * 64)
    monkeypatch.setattr(verifying, "facts_of_table", lambda table, *rest: rest)
    table = Some(schema=Some(names=["age", "ill"]))

    def certificate(columns=("age", "ill"), digest="d" * 64):
        data = Some(table="t", columns=columns, digest=digest, quasi=["age"], sensitive=["ill"], unit=None)
        return Some(data=data, asked=())

    assert verifying._table_facts(tmp_path, certificate(), table)[:3] == (["age"], ["ill"], None)
    with pytest.raises(VerificationError, match="--table"):
        verifying._table_facts(tmp_path, certificate(), None)
    for wrong in ({"columns": ("ill", "age")}, {"digest": "e" * 64}):
        with pytest.raises(TamperError, match="changed after"):
            verifying._table_facts(tmp_path, certificate(**wrong), table)


def test_the_count_gives_each_stated_number_and_no_other(monkeypatch):
    met = Judged("k", "k is at least 2", 2.0, 3.0, True)
    monkeypatch.setattr(verifying, "judged", lambda certificate, facts, given: tuple(certificate.asked))
    monkeypatch.setattr(verifying, "_given_numbers", lambda certificate: {})

    def count(after=None, asked=(met,), stated=(met,), suppressed=2):
        facts = Some(to_json=lambda: {"records": 8, "k": 3}, records=8, classes=2, k=3, blanked=0)
        findings = [
            Some(to_json=lambda f=f: {n: v for n, v in plain(f).items() if n != "counted"}, sentence=f.sentence, met=f.met)
            for f in asked
        ]
        utility = Some(suppressed=suppressed, scope="rows", suppressed_share=suppressed / 10)
        after = {"records": 8, "k": 3} if after is None else after
        return verifying._count(
            Some(after=after, asked=findings, requirements=stated, input=Some(used=10), utility=utility), facts
        )

    assert count() == "counted again: 8 records in 2 classes, k = 3; every requirement is met"
    assert count(stated=(replace(met, counted="records"),)) == count()
    for wrong in ({"records": 8, "k": 4}, {"records": 8}, {"records": 8, "k": 3, "more": 1}, {}):
        with pytest.raises(VerificationError, match="other numbers"):
            count(after=wrong)
    unmet = replace(met, met=False)
    for asked, stated, match in (
        ((unmet,), (met,), "come out"),
        ((met,), (), "come out"),
        ((met, unmet), (met, unmet), "not met"),
    ):
        with pytest.raises(VerificationError, match=match):
            count(asked=asked, stated=stated)
    with pytest.raises(VerificationError, match="add up"):
        count(suppressed=1)


@pytest.mark.parametrize("with_codebook", [False, True])
@pytest.mark.parametrize(("version", "derived"), [(FORMAT, ["derived"]), (FORMAT_1, [])])
def test_the_steps_of_a_claim_by_its_version_and_files(tmp_path, monkeypatch, version, derived, with_codebook):
    monkeypatch.setattr(verifying, "in_current_wording", lambda c: c)
    if with_codebook:
        (tmp_path / codebook.NAME).write_text("x")
    claim = Some(certificate=Some(format=version), place=tmp_path)
    names = [name for name, _ in verifying.TableClaim.further_steps(claim)]
    assert names == [*derived, *(["codebook"] if with_codebook else []), "labels", "columns"]
