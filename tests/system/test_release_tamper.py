"""One changed byte, number, cell or file anywhere in a release folder is found."""

from __future__ import annotations

import shutil

import numpy as np
import pyarrow as pa
import pytest

import shoal
from release_forging import forge, plain_certificate, sign_anew
from shoal.errors import TamperError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import NAME, REPORT
from shoal.release.verification import verify

FORMATS = ("csv", "parquet", "arrow", "excel", "spss", "stata")


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """A release of the same small table in every format."""
    rng = np.random.default_rng(3)
    n = 120
    table = pa.table(
        {"age": rng.integers(20, 60, n), "sex": rng.choice(["f", "m"], n), "ill": rng.choice(["flu", "cold", "hiv"], n)}
    )
    place = tmp_path_factory.mktemp("releases")
    asked = {
        "roles": {"quasi": ["age", "sex"], "sensitive": ["ill"]},
        "require": {"k": 4, "diversity": {"ill": {"distinct": 2}}, "closeness": {"ill": {"t": 0.6}}},
        "allow": {"suppress": 0.2},
    }
    return {f: shoal.anonymize(table, asked, format=f).write(place / f) for f in FORMATS}


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 0x01]) + content[at + 1 :]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_one_changed_byte_in_any_file(releases, tmp_path, form):
    rng = np.random.default_rng(11)
    folder = tmp_path / "r"
    shutil.copytree(releases[form], folder)
    assert verify(folder).ok
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        places = {0, 1, len(content) // 2, len(content) - 2, len(content) - 1, *rng.integers(0, len(content), 12).tolist()}
        for at in sorted(places):
            path.write_bytes(flipped(content, at))
            result = verify(folder)
            assert not result.ok, f"{path.name} at {at}"
            with pytest.raises((TamperError, shoal.errors.VerificationError)):
                result.require()
        for changed in (content + b"\n", content[:-1], b"", content + content):
            path.write_bytes(changed)
            assert not verify(folder).ok, path.name
        path.write_bytes(content)
    assert verify(folder).ok


def test_added_missing_renamed_and_linked_files(releases, tmp_path):
    folder = tmp_path / "r"
    shutil.copytree(releases["csv"], folder)
    for name in ("data.csv", "plan.json", "report.html", "certificate.json"):
        (folder / name).rename(tmp_path / "aside")
        assert not verify(folder).ok
        (folder / name).symlink_to(tmp_path / "aside")
        assert not verify(folder).ok
        (folder / name).unlink()
        (tmp_path / "aside").rename(folder / name)
    for extra in ("more.csv", ".hidden"):
        (folder / extra).write_text("x")
        assert not verify(folder).ok
        (folder / extra).unlink()
    assert verify(folder).ok


@pytest.mark.parametrize("form", [f for f in FORMATS if f != "csv"])
def test_broken_bytes_that_a_forger_signed_are_a_failed_check_not_a_crash(releases, tmp_path, form):
    """The hashes fit, so the file is opened: whatever a reader of that format raises becomes a finding."""
    rng = np.random.default_rng(5)
    folder = tmp_path / "r"
    shutil.copytree(releases[form], folder)
    data = next(folder.glob("data.*"))
    content = data.read_bytes()
    for at in rng.integers(0, len(content), 40).tolist():
        changed = bytearray(content)
        changed[at : at + 6] = rng.bytes(6)
        data.write_bytes(bytes(changed[: rng.integers(at, len(content)) + 1]) if at % 4 == 0 else bytes(changed))
        forge(folder, lambda c: None)
        result = verify(folder)
        assert all("changed after" not in c.sentence for c in result.checks)
    data.write_bytes(b"")
    forge(folder, lambda c: None)
    failed = ["re-count", "codebook"] if form in ("spss", "stata") else ["re-count"]  # their codebook lists codes of the data
    assert [c.name for c in verify(folder).failed] == failed


def test_files_that_were_changed_are_not_opened(releases, tmp_path):
    folder = tmp_path / "r"
    shutil.copytree(releases["excel"], folder)
    (folder / "data.xlsx").write_bytes(b"anything")
    failed = {c.name: c.sentence for c in verify(folder).failed}
    assert "were not counted" in failed["re-count"]
    assert "was changed" in failed["files"]


def test_files_of_two_releases_cannot_be_exchanged(releases, tmp_path):
    """Another release's certificate, data, plan or report in place of the own, though all are signed with one key."""
    rng = np.random.default_rng(4)
    table = pa.table({"age": rng.integers(20, 60, 90), "sex": rng.choice(["f", "m"], 90), "ill": rng.choice(["flu", "cold"], 90)})
    other = shoal.anonymize(table, quasi=["age", "sex"], sensitive=["ill"], k=3).write(tmp_path / "other")
    for name in ("certificate.json", "data.csv", "plan.json", "report.html"):
        folder = tmp_path / name
        shutil.copytree(releases["csv"], folder)
        (folder / name).write_bytes((other / name).read_bytes())
        assert not verify(folder).ok, name


NUMBERS = [
    ("k", lambda c: c.update(k=c["k"] + 1)),
    ("after.k", lambda c: c["after"].update(k=c["after"]["k"] + 1)),
    ("classes", lambda c: c["after"].update(classes=c["after"]["classes"] - 1)),
    ("records", lambda c: c["after"].update(records=c["after"]["records"] + 1)),
    ("unique", lambda c: c["after"].update(unique=1)),
    ("l", lambda c: c["after"]["sensitive"]["ill"].update(distinct=9)),
    ("entropy", lambda c: c["after"]["sensitive"]["ill"].update(entropy=2.9)),
    ("t", lambda c: c["after"]["sensitive"]["ill"].update(t_equal=0.0001)),
    ("sizes", lambda c: c["after"].update(sizes={"99": 1})),
    ("suppressed", lambda c: c["utility"].update(suppressed=c["utility"]["suppressed"] + 1)),
    ("suppressed share", lambda c: c["utility"].update(suppressed_share=0.5)),
    ("suppressed share by a hair", lambda c: c["utility"].update(suppressed_share=c["utility"]["suppressed_share"] + 1e-6)),
    ("another seed word", lambda c: c["plan"].update(seed="99")),
    ("records in", lambda c: c["input"].update(records=c["input"]["records"] + 1)),
    ("requirement", lambda c: c["requirements"][0].update(asked=2)),
    ("require", lambda c: c["require"].update(k=2)),
    ("verdict", lambda c: c.update(verdict="All is well.")),
    ("quasi", lambda c: c["data"].update(quasi=["sex"])),
    ("columns", lambda c: c["data"].update(columns=["age", "sex"])),
    ("fewer than nothing left out", lambda c: (c["input"].update(records=119), c["utility"].update(suppressed=-1))),
    ("no records at all", lambda c: (c["input"].update(records=0), c["utility"].update(suppressed=-120))),
    ("chances", lambda c: c["attackers"][0].update(after=0.001)),
    ("threshold", lambda c: c["threshold"].update(smallest_class=500)),
    ("roles", lambda c: c["columns"][0].update(role="insensitive")),
    ("a column said to be removed", lambda c: c["columns"][2].update(treatment="removed")),
    ("scope", lambda c: c["utility"].update(scope="cells")),
    ("no attacks", lambda c: c.update(attacks=[])),
    ("no limits", lambda c: c.update(limits=[])),
    ("a sample", lambda c: c["input"].update(drawn=3)),
    ("data beside the folder", lambda c: c["data"].update(file="..")),
    ("other data", lambda c: c["data"].update(file="plan.json")),
]


@pytest.mark.parametrize(("name", "change"), NUMBERS, ids=[n for n, _ in NUMBERS])
def test_a_forger_with_his_own_key_is_found_by_counting(releases, tmp_path, name, change):
    folder = tmp_path / "r"
    shutil.copytree(releases["csv"], folder)
    forge(folder, change)
    result = verify(folder)
    assert not result.ok, name
    assert next(c for c in result.checks if c.name == "signature").ok, "the forger's signature itself fits"


MALFORMED = [
    ("plan seed", lambda c: c["plan"].update(seed=99)),
    ("a k that is not whole", lambda c: c.update(k=float(c["k"]))),
    ("an unknown part", lambda c: c.update(approved="by everybody")),
    ("nothing at all", lambda c: c.pop("after")),
    ("wrong type", lambda c: c.update(after=[1])),
    ("a part of a part more", lambda c: c["after"]["risk"].update(median=0.1)),
    ("no signature of a requirement", lambda c: c["requirements"][0].pop("met")),
    ("a truth value for a count", lambda c: c["after"].update(unique=False)),
    ("an unknown verdict of an attack", lambda c: c["attacks"][0].update(verdict="splendid")),
    ("a requirement that does not exist", lambda c: c["require"].update(luck=7)),
    ("people without a person column", lambda c: c.update(after_people=c["after"], requirements_people=c["requirements"])),
]


@pytest.mark.parametrize(("name", "change"), MALFORMED, ids=[n for n, _ in MALFORMED])
def test_a_certificate_that_shoal_never_writes_is_not_read(releases, tmp_path, name, change):
    folder = tmp_path / "r"
    shutil.copytree(releases["csv"], folder)
    forge(folder, change)
    result = verify(folder)
    assert [(c.name, c.ok) for c in result.checks] == [("certificate", False)]
    assert result.certificate is None
    assert "everybody" not in result.checks[0].sentence


def test_a_forger_who_adds_a_decoy_file_or_folder_is_found(releases, tmp_path):
    """The counted file is the one that people read, and there is no other."""
    folder = tmp_path / "r"
    shutil.copytree(releases["csv"], folder)
    shutil.copy(folder / "data.csv", folder / "shadow.csv")
    forge(folder, lambda c: (c["files"].append({"name": "shadow.csv"}), c["data"].update(file="shadow.csv")))
    assert "files" in [c.name for c in verify(folder).failed]
    shutil.rmtree(folder)
    shutil.copytree(releases["csv"], folder)
    (folder / "somebody").mkdir()
    assert not verify(folder).ok, "an empty folder tells by its name"


def test_a_forger_who_adds_a_column_that_was_removed_is_found(releases, tmp_path):
    folder = tmp_path / "r"
    shutil.copytree(releases["csv"], folder)
    lines = (folder / "data.csv").read_text().splitlines()
    named = [f"{lines[0]},name", *(f"{line},Person {i}" for i, line in enumerate(lines[1:]))]
    (folder / "data.csv").write_text("\n".join(named) + "\n")
    gone = {"name": "name", "role": "direct", "kind": "text", "treatment": "removed", "changed": 1.0, "why": ""}
    forge(folder, lambda c: (c["data"]["columns"].append("name"), c["columns"].append(gone)))
    assert [c.name for c in verify(folder).failed] == ["plan", "derived", "labels", "claims"]


def test_a_second_sheet_is_found(releases, tmp_path):
    import openpyxl

    folder = tmp_path / "r"
    shutil.copytree(releases["excel"], folder)
    book = openpyxl.load_workbook(folder / "data.xlsx")
    book.create_sheet("names").append(["Person 1"])
    book.save(folder / "data.xlsx")
    forge(folder, lambda c: None)
    assert "more than one sheet" in verify(folder).failed[0].sentence


def test_a_report_that_says_something_else_is_found(releases, tmp_path):
    folder = tmp_path / "r"
    shutil.copytree(releases["csv"], folder)
    page = (folder / REPORT).read_text()
    assert "Every record hides" in page
    (folder / REPORT).write_text(page.replace("Every record hides", "✓ Anonymous, certified: every record hides"))
    forge(folder, lambda c: None, page=False)
    assert [c.name for c in verify(folder).failed] == ["report"]


@pytest.mark.parametrize("origin", ["file; Data Protection Authority", "", None])
def test_a_forger_cannot_put_words_into_the_mouth_of_verify(releases, tmp_path, origin, monkeypatch):
    folder = tmp_path / "r"
    shutil.copytree(releases["csv"], folder)
    key = sign.signer()
    monkeypatch.setattr(sign, "signer", lambda: sign.Signer(origin, key._private))
    forge(folder, lambda c: None)
    failed = verify(folder).failed
    assert [c.name for c in failed] == ["certificate" if origin is None else "signature"]
    assert "Authority" not in failed[0].sentence


def test_a_forger_who_changes_one_cell_is_found(releases, tmp_path):
    folder = tmp_path / "r"
    shutil.copytree(releases["csv"], folder)
    lines = (folder / "data.csv").read_text().splitlines()
    first = lines[1].split(",")
    first[0] = '"999"'
    (folder / "data.csv").write_text("\n".join([lines[0], ",".join(first), *lines[2:]]) + "\n")
    forge(folder, lambda c: None)
    assert [c.name for c in verify(folder).failed] == ["re-count"]


def test_the_expected_key_unmasks_any_forger(releases, tmp_path):
    folder = tmp_path / "r"
    shutil.copytree(releases["csv"], folder)
    honest = plain_certificate(folder)["key"]["fingerprint"]
    forge(folder, lambda c: c.update(title="Another title"))
    assert verify(folder).ok, "no number was changed, so counting finds nothing"
    assert not verify(folder, key=honest).ok


def test_a_hostile_certificate_cannot_read_elsewhere(releases, tmp_path):
    folder = tmp_path / "r"
    shutil.copytree(releases["csv"], folder)
    (tmp_path / "secret.csv").write_text("age,sex,ill\n1,f,flu\n")
    made = plain_certificate(folder)
    for bad in ("../secret.csv", str(tmp_path / "secret.csv")):
        made["files"][0]["name"] = bad
        sign_anew(folder, made)
        assert not verify(folder).ok


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"format":"shoal-certificate/1"}',
        b"[" * 100_000,
        b'{"a":1,"a":2}',
        b'{"format":"shoal-certificate/1","k":NaN}',
        b'{"format":"shoal-certificate/1","k":1e999}',
        b'{"format":"shoal-certificate/1","title":"\\ud800"}',
    ],
)
def test_broken_certificates_are_refused_not_crashed_on(releases, tmp_path, content):
    folder = tmp_path / "r"
    shutil.copytree(releases["csv"], folder)
    (folder / NAME).write_bytes(content)
    assert not verify(folder).ok
