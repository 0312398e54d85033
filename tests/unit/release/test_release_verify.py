"""Verify: the lines that decide whether a folder is believed, each at its boundary."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import shoal
from release_forging import forge, plain_certificate
from shoal.errors import TamperError, UsageError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import NAME
from shoal.model.certificate.file import read_certificate
from shoal.model.certificate.parts import Key
from shoal.release.certificate.signing import check_signature, signed
from shoal.release.certificate.verify import TableClaim, signed_only
from shoal.release.claim import Check, Verification, tried
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
    (folder / NAME).write_bytes(replace(body, signature=signer.sign(body.to_json())).to_bytes())


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
    judged = replace(whole.requirements[0], requirement="k_map", found=stated)
    claimed = replace(whole, require={"k_map": 5}, requirements=(judged,))
    assert whole.k == 20
    if ok:
        assert signed_only(claimed) == {("k_map",): stated}
        return
    with pytest.raises(VerificationError, match="is not possible"):
        signed_only(claimed)


@pytest.mark.parametrize(("stated", "ok"), [(0.0, True), (1.0, True), (-0.01, False), (1.01, False), (None, False)])
def test_a_linkage_must_be_a_share(released, stated, ok):
    whole = read_certificate(released / NAME)
    judged = replace(whole.requirements[0], requirement="linkage", found=stated)
    claimed = replace(whole, require={"k": 5, "linkage": 0.3}, requirements=(judged,))
    if ok:
        assert signed_only(claimed) == {("linkage",): stated}
        return
    with pytest.raises(VerificationError, match="it is a share"):
        signed_only(claimed)


def test_a_page_of_another_version_must_contain_the_verdict(folder):
    """The page of this version is derived again; of another version the verdict is looked for in it."""
    forge(folder, lambda c: c.update(tool="shoal 0.3.0"))
    assert verify(folder).ok
    page = folder / "report.html"
    verdict = plain_certificate(folder)["verdict"]
    page.write_text(page.read_text().replace("40 records", "41 records"))
    forge(folder, lambda c: None, page=False)
    assert verdict not in page.read_text()
    assert "report" in [c.name for c in verify(folder).failed]


def test_nothing_checked_is_not_verified():
    empty = Verification("r", ())
    assert not empty.ok
    with pytest.raises(TamperError, match="nothing could be checked"):
        empty.require()
    assert not Verification("r", (Check("a", True, ""), Check("b", False, ""))).ok


def test_a_check_that_fails_unexpectedly_is_a_failed_check():
    for error in (OSError(), KeyError("x"), ZeroDivisionError(), RecursionError()):

        def look(error: Exception = error) -> str:
            raise error

        assert not tried("x", look).ok


def test_a_table_is_refused_for_a_release_that_is_proven_from_its_folder(tmp_path):
    (tmp_path / NAME).write_text(json.dumps({"format": "shoal-event-certificate/1"}))
    with pytest.raises(UsageError, match="proven from its folder alone"):
        verify(tmp_path, table=object())
