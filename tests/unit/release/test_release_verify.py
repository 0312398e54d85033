"""Verify: the lines that decide whether a folder is believed, each at its boundary."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jinja2 import UndefinedError

import shoal
from release_forging import forge, plain_certificate, sign_anew
from shoal.errors import TamperError, UsageError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import NAME
from shoal.model.certificate.file import read_certificate
from shoal.model.certificate.halves import document
from shoal.model.certificate.parts import Key
from shoal.release.certificate.derive import signed_only
from shoal.release.certificate.signing import check_files, check_signature, signed
from shoal.release.certificate.verify import TableClaim, facts_of
from shoal.release.claim import Check, Verification, try_check
from shoal.release.verification import verify

ROWS = {"sex": ["f", "m"] * 20, "ill": ["flu", "cold", "hiv", "flu"] * 10}
POLICY = {"roles": {"quasi": ["sex"], "sensitive": ["ill"]}, "require": {"k": 5}, "date": "2026-11-15"}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shoal.anonymize(ROWS, POLICY).write(tmp_path_factory.mktemp("release") / "r")


@pytest.fixture
def folder(released: Path, tmp_path: Path) -> Path:
    shutil.copytree(released, tmp_path / "r")
    return tmp_path / "r"


def resigned(folder: Path, **of_key: str) -> None:
    """The certificate signed by a key whose entry says something else of itself; the signature covers the entry."""
    signer = sign.signer()
    key = replace(Key("Ed25519", signer.public, signer.fingerprint, signer.origin), **of_key)
    body = replace(read_certificate(folder / NAME), key=key, signature=None)
    (folder / NAME).write_bytes(replace(body, signature=signer.sign(document(body))).to_bytes())


@pytest.mark.parametrize(
    ("of_key", "match"),
    [
        ({"fingerprint": "honest"}, "fingerprint of the key in the certificate is not its own"),
        ({"origin": "the ministry"}, "says of its key what Shoal never writes"),
        ({"algorithm": "none"}, "says of its key what Shoal never writes"),
    ],
)
def test_a_key_that_says_something_else_of_itself_is_refused(folder, of_key, match):
    """A forger who names the fingerprint that the publisher announced signs with his own key: the announced one is not his."""
    announced = read_certificate(folder / NAME).key.fingerprint
    resigned(folder, **{n: announced if v == "honest" else v for n, v in of_key.items()})
    with pytest.raises(TamperError, match=match):
        check_signature(read_certificate(folder / NAME))
    found = verify(folder, key=announced if "fingerprint" in of_key else None)
    assert "signature" in [c.name for c in found.failed]


def test_a_certificate_without_key_or_signature_is_refused(released):
    whole = read_certificate(released / NAME)
    for lacking in (replace(whole, signature=None), replace(whole, key=None)):
        with pytest.raises(TamperError, match="carries no signature"):
            check_signature(lacking)
    assert check_signature(signed(whole, signer := sign.signer())).public == signer.public


@pytest.mark.parametrize("empty", ["", " ", "\t"])
def test_an_empty_key_is_refused_and_not_taken_for_none(released, empty):
    with pytest.raises(UsageError, match="expected key is empty"):
        verify(released, key=empty)
    with pytest.raises(UsageError, match="expected key is empty"):
        shoal.verify(released, key=empty)


def test_the_command_refuses_an_empty_key(released):
    """An unset variable in a script (``--key "$KEY"``) must not pass as "no key was expected"."""
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "shoal", "verify", str(released), "--key", ""], capture_output=True, text=True)
    assert done.returncode == 2
    assert "expected key is empty" in done.stderr


def test_the_expected_key_is_the_public_key_or_its_fingerprint_whole(released):
    key = read_certificate(released / NAME).key
    assert verify(released, key=key.public).ok
    assert verify(released, key=key.fingerprint).ok
    assert [c.name for c in verify(released, key=key.fingerprint[:-1]).failed] == ["signature"]


@pytest.mark.parametrize("name", ["records", "classes", "k", "unique"])
def test_each_stated_number_is_compared_with_the_count(folder, name):
    """One number of the data changed in the certificate, everything else made to fit: the count finds it."""
    forge(folder, lambda c: c["after"].update({name: c["after"][name] + 1}))
    assert "re-count" in [c.name for c in verify(folder).failed]


def test_facts_at_hand_are_compared_with_the_certificate(released):
    """Whoever makes a release passes the count of its file; a count that differs from the certificate stops it."""
    certificate = read_certificate(released / NAME)
    claim = TableClaim(released)
    claim.count()
    entry = next(f for f in certificate.files if f.name == certificate.data.file)
    from shoal.release.proof.recount import recount

    facts = recount(released / certificate.data.file, ["sex"], ["ill"])
    assert verify(released, counted=(entry.sha256, facts)).ok
    wrong = replace(facts, k=facts.k + 1)
    assert [c.name for c in verify(released, counted=(entry.sha256, wrong)).failed] == ["re-count"]
    missing = TableClaim(released, counted=(entry.sha256, replace(facts, people=4, linked_k=4, smallest={4: 4})))
    with pytest.raises(VerificationError, match="gives other numbers"):
        missing.count()


@pytest.mark.parametrize(
    ("stated", "ok"), [(20.0, True), (21.0, True), (19.0, False), (0.0, False), (20.5, False), (None, False)]
)
def test_a_k_map_must_be_a_whole_number_of_at_least_k(released, stated, ok):
    """The population holds the release: no class of it is smaller there. k of the release is 20."""
    whole = read_certificate(released / NAME)
    claimed = replace(whole, require={"k_map": 5}, given={"k_map": stated})
    assert whole.k == 20
    if ok:
        assert signed_only(claimed) == {("k_map",): stated}
        return
    with pytest.raises(VerificationError, match="is not possible"):
        signed_only(claimed)


@pytest.mark.parametrize(("stated", "ok"), [(0.0, True), (1.0, True), (-0.01, False), (1.01, False), (None, False)])
def test_a_linkage_must_be_a_share(released, stated, ok):
    whole = read_certificate(released / NAME)
    claimed = replace(whole, require={"k": 5, "linkage": 0.3}, given={"linkage": stated})
    if ok:
        assert signed_only(claimed) == {("linkage",): stated}
        return
    with pytest.raises(VerificationError, match="it is a share"):
        signed_only(claimed)


WRITTEN = Path(__file__).parent / "shoal-0.3.0"
LIES = "<script>alert(1)</script><p>k = 1000, differentially private</p>"


@pytest.mark.parametrize("tool", ["shoal 0.3.0", "shoal 0.2.0", "shoal 9.0.0", "another tool", ""])
def test_no_version_lets_a_page_pass_that_does_not_follow_from_the_certificate(folder, tool):
    page = folder / "report.html"
    verdict = plain_certificate(folder)["verdict"]
    page.write_text(f"<!doctype html>{LIES}<p>{verdict}</p>")
    forge(folder, lambda c: c.update(tool=tool), page=False)
    assert "report" in [c.name for c in verify(folder).failed]


def test_a_page_that_cannot_be_made_again_is_not_a_pass(folder):
    """The page of an unknown version, even the very one that this version makes: not checked, and said so."""
    forge(folder, lambda c: c.update(tool="shoal 0.5.0"))
    (found,) = [c for c in verify(folder).failed if c.name == "report"]
    assert "not checked" in found.sentence


@pytest.mark.parametrize("kind", ["table", "no-sensitive", "linked", "events"])
def test_one_changed_character_in_a_page_of_0_3_0_is_found(kind, tmp_path):
    target = tmp_path / kind
    shutil.copytree(WRITTEN / kind, target)
    page = target / "report.html"
    page.write_text(page.read_text().replace("</main>", f"{LIES}</main>"))
    made = plain_certificate(target)
    entry = next(f for f in made["files"] if f["name"] == "report.html")
    entry |= {"bytes": page.stat().st_size, "sha256": sign.sha256_file(page)}
    sign_anew(target, made)
    assert [c.name for c in verify(target).failed] == ["report"]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_the_number_of_records_is_compared_before_the_data_are_read(tmp_path, monkeypatch, form):
    """A small packed file can hold very many records: a certificate of 40 answers at once."""
    from shoal.release.proof import read as proof_read

    target = shoal.anonymize(ROWS, POLICY, format=form).write(tmp_path / "r")
    data = target / f"data.{form}"
    table = pq.read_table(data) if form == "parquet" else pa.ipc.open_file(data.read_bytes()).read_all()
    more = pa.concat_tables([table] * 50).combine_chunks()
    if form == "parquet":
        pq.write_table(more, data)
    else:
        with pa.OSFile(str(data), "wb") as out, pa.ipc.new_file(out, more.schema) as writer:
            writer.write_table(more)
    forge(target, lambda c: None)
    monkeypatch.setattr(proof_read, "batches", lambda *_: pytest.fail("the data were read"))
    (found,) = [c for c in verify(target).failed if c.name == "re-count"]
    assert found.sentence == f"'data.{form}' has 2,000 records, the certificate states 40."


def test_a_parquet_file_that_states_two_numbers_of_records_is_refused(tmp_path, monkeypatch):
    from shoal.release.proof.formats import parquet_records

    file = tmp_path / "data.parquet"
    pq.write_table(pa.table({"a": range(10)}), file, row_group_size=4)
    assert parquet_records(file) == 10
    real = pq.read_metadata(file)

    class Footer:
        num_rows, num_row_groups, row_group = 9, real.num_row_groups, staticmethod(real.row_group)

    monkeypatch.setattr(pq, "read_metadata", lambda _: Footer)
    with pytest.raises(TamperError, match="two different numbers"):
        parquet_records(file)


def test_fingerprints_have_128_bits_and_a_short_one_pins_nothing():
    """Another key with the same 64 bits can be searched for; beside the key itself, in an old certificate, they do no harm."""
    old = WRITTEN / "table"
    key = read_certificate(old / NAME).key
    assert len(key.fingerprint.replace("-", "")) == 16
    whole = sign.fingerprint(key.public)
    assert len(whole.replace("-", "")) == 32
    assert whole.startswith(key.fingerprint)
    assert verify(old, key=whole).ok
    assert verify(old, key=key.public).ok
    assert verify(old).to_json()["key"]["fingerprint"] == whole
    (found,) = verify(old, key=key.fingerprint).failed
    assert found.name == "signature"
    assert "short" in found.sentence


def test_nothing_checked_is_not_verified():
    empty = Verification("r", ())
    assert not empty.ok
    assert empty.to_json() == {"verified": False, "checks": []}, "no certificate was read: nothing is said of one"
    with pytest.raises(TamperError, match="nothing could be checked"):
        empty.require()
    assert not Verification("r", (Check("a", True, ""), Check("b", False, ""))).ok


def test_a_check_that_fails_unexpectedly_is_a_failed_check():
    """A template, too, stops at what a forger left out: that was an internal error of the command."""
    for error in (OSError(), KeyError("x"), ZeroDivisionError(), RecursionError(), UndefinedError()):

        def look(error: Exception = error) -> str:
            raise error

        assert not try_check("x", look).ok


def test_a_table_is_refused_for_a_release_that_is_proven_from_its_folder(released, tmp_path):
    """It would not be looked at, and "verified" would seem to be about it."""
    trips = {"card": [f"c{i // 2}" for i in range(40)], "at": ["2026-03-02", "2026-03-03"] * 20, "station": ["A", "B"] * 20}
    events = {"unit": "card", "time": "at", "place": "station"}
    made = shoal.anonymize(trips, {"events": events, "roles": {"rest": "drop"}, "require": ["known[1]>=5"], "seed": 3**80})
    for folder in (released, made.write(tmp_path / "events")):
        with pytest.raises(UsageError, match="proven from its folder alone"):
            verify(folder, table=object())


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE published SET sex = 'f' WHERE rowid = (SELECT min(rowid) FROM published WHERE sex = 'm')",
        "DELETE FROM published WHERE rowid = (SELECT min(rowid) FROM published)",
        "ALTER TABLE published ADD COLUMN name TEXT",
    ],
    ids=["a cell", "a row", "a column"],
)
def test_a_published_table_is_verified_as_signed_and_in_no_other_state(change: str, tmp_path: Path) -> None:
    file = tmp_path / "people.duckdb"
    with duckdb.connect(file) as db:
        db.execute("CREATE TABLE people (sex TEXT, ill TEXT)")
        db.executemany("INSERT INTO people VALUES (?, ?)", [*zip(*ROWS.values(), strict=True)])
    with shoal.open(f"duckdb:///{file}::people") as source:
        made = shoal.anonymize(source, POLICY, to_table="published").write(tmp_path / "r")
        assert shoal.verify(made, table=source.neighbour("published")).ok
        (missing,) = [c for c in shoal.verify(made).checks if "name it with --table" in c.sentence]
        assert not missing.ok
    with duckdb.connect(file) as db:
        db.execute(change)
    with shoal.open(f"duckdb:///{file}::published") as published:
        (wrong,) = [c for c in shoal.verify(made, table=published).checks if "was changed after" in c.sentence]
        assert not wrong.ok


@pytest.mark.parametrize("file", ["other.csv", "below/data.csv", "../data.csv", "data"])
def test_data_have_one_name_and_lie_in_the_folder(file: str, tmp_path: Path) -> None:
    with pytest.raises(TamperError, match="names data outside the folder"):
        check_files(tmp_path, (), file)
    with pytest.raises(TamperError, match="lists other files than a release has"):
        check_files(tmp_path, (), "data.csv")


def test_as_many_files_are_looked_at_as_a_release_lists_and_one_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.release.certificate.signing.MOST_FILES", 1)
    made = read_certificate(folder / NAME)
    assert "all" in check_files(folder, made.files, made.data.file)
    (folder / "more.txt").write_text("x")
    with pytest.raises(TamperError, match="files that the certificate does not list"):
        check_files(folder, made.files, made.data.file)


def test_data_are_counted_only_where_they_are_a_file_of_the_folder(folder: Path, tmp_path: Path) -> None:
    made = read_certificate(folder / NAME)
    assert facts_of(folder, made).records == made.after.records
    (folder / "below").mkdir()
    shutil.copy(folder / "data.csv", folder / "below" / "data.csv")
    shutil.move(folder / "data.csv", tmp_path / "elsewhere.csv")
    (folder / "data.csv").symlink_to(tmp_path / "elsewhere.csv")
    for file in (None, "below/data.csv", "data.csv"):
        with pytest.raises(TamperError, match="names data outside the folder"):
            facts_of(folder, replace(made, data=replace(made.data, file=file)))


def test_what_a_signature_alone_proves_is_said(released: Path, folder: Path) -> None:
    claim = TableClaim(released)
    assert "made for this release; nobody's name is proven" in claim.signature(None)
    assert "is the one expected" in claim.signature(claim.certificate.key.fingerprint)
    resigned(folder, origin="environment")
    assert "compare the fingerprint with the publisher's" in TableClaim(folder).signature(None)


def test_without_a_list_of_opt_outs_none_is_confirmed(released: Path, tmp_path: Path) -> None:
    (tmp_path / "no.txt").write_text("a\n")
    with pytest.raises(TamperError, match="made without a list of people to leave out"):
        TableClaim(released).opt_outs(tmp_path / "no.txt", tmp_path / "r.private.json")


def test_progress_rises_evenly_and_names_each_check(released: Path) -> None:
    shown: list[tuple[float, str]] = []
    found = verify(released, progress=lambda share, text: shown.append((share, text)))
    names = [check.name for check in found.checks[1:]]
    each = [(i / (len(names) + 1), f"checking {name}") for i, name in enumerate(names, start=1)]
    assert shown == [(0.0, "reading the certificate"), *each]
