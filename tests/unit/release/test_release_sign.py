"""Keys and signatures: where they come from, what is refused, and that nothing secret is shown."""

from __future__ import annotations

import base64
import os
import pickle

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InternalError, ShoalError, TamperError, UnreadableError, UsageError
from shoal.kernels import signatures as sign

RAW = bytes(range(32))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    monkeypatch.delenv(sign.KEY_ENV, raising=False)
    monkeypatch.delenv(sign.FILE_ENV, raising=False)


def test_reference_vector_of_rfc_8032():
    """Test 1 of section 7.1: the empty message, by the library underneath; the fingerprint is ours."""
    secret = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    signer = sign.Signer("file", ed25519.Ed25519PrivateKey.from_private_bytes(secret))
    assert base64.b64decode(signer.public).hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


@given(JSON)
def test_what_is_signed_verifies_and_nothing_else(value):
    signer = sign.signer()
    mark = signer.sign(value)
    sign.check_signature(value, mark, signer.public)
    with pytest.raises(TamperError):
        sign.check_signature([value], mark, signer.public)
    with pytest.raises(TamperError):
        sign.check_signature(value, mark, sign.signer().public)


def test_what_cannot_be_signed_is_refused():
    for value in (float("nan"), float("inf"), {1: 2}, {"a": {3}}, object()):
        with pytest.raises(InternalError):
            sign.canonical(value)


def test_keys_from_the_environment_and_files(monkeypatch, tmp_path):
    monkeypatch.setenv(sign.KEY_ENV, base64.b64encode(RAW).decode())
    one = sign.signer()
    assert one.origin == "environment"
    pem = ed25519.Ed25519PrivateKey.from_private_bytes(RAW).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = tmp_path / "k.pem"
    file.write_bytes(pem)
    file.chmod(0o600)
    assert sign.signer(file).public == one.public
    monkeypatch.setenv(sign.FILE_ENV, str(file))
    assert sign.signer().origin == "file"
    assert sign.signer().keyed_hash([b"a", b"b"], purpose="input") == one.keyed_hash([b"ab"], purpose="input")
    assert one.keyed_hash([b"ab"], purpose="input") != one.keyed_hash([b"ab"], purpose="other")
    assert one.keyed_hash([b"ab"], purpose="input") != sign.Signer("x", ed25519.Ed25519PrivateKey.generate()).keyed_hash(
        [b"ab"], purpose="input"
    )


@pytest.mark.parametrize(
    "content",
    [b"", b"1234", base64.b64encode(b"\0" * 32), base64.b64encode(b"ab" * 16), b"-----BEGIN PRIVATE KEY-----\nx\n", b"\xff" * 32],
)
def test_weak_or_broken_keys_are_refused_and_not_repeated(tmp_path, monkeypatch, content):
    file = tmp_path / "k"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(UsageError) as caught:
        sign.signer(file)
    assert content.decode("latin-1") not in str(caught.value) or not content


def test_other_kinds_of_keys_and_missing_files(tmp_path):
    file = tmp_path / "k"
    file.write_bytes(rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    file.chmod(0o600)
    with pytest.raises(UsageError, match="Ed25519"):
        sign.signer(file)
    with pytest.raises(UnreadableError):
        sign.signer(tmp_path / "nothing")


def test_a_signer_shows_nothing_secret(monkeypatch):
    monkeypatch.setenv(sign.KEY_ENV, base64.b64encode(RAW).decode())
    signer = sign.signer()
    assert base64.b64encode(RAW).decode() not in repr(signer) + str(signer)
    with pytest.raises(ShoalError):
        pickle.dumps(signer)


def test_malformed_signatures_and_keys():
    signer = sign.signer()
    mark = signer.sign({"a": 1})
    for bad in ("", "x", mark[:-1], mark + "=", mark.replace("=", ""), "é" * 88):
        with pytest.raises(TamperError):
            sign.check_signature({"a": 1}, bad, signer.public)
        with pytest.raises(TamperError):
            sign.check_signature({"a": 1}, mark, bad)


def test_the_canonical_form_has_one_order():
    assert sign.canonical({"b": 1, "a": [2, None]}) == sign.canonical({"a": [2, None], "b": 1}) == b'{"a":[2,null],"b":1}'


def test_a_fingerprint_has_32_digits_and_once_had_16():
    whole = sign.fingerprint(sign.signer().public)
    assert len(whole.replace("-", "")) == 32
    assert (sign.FINGERPRINT_DIGITS, sign.SHORT_DIGITS) == (32, 16)


@pytest.mark.parametrize(
    ("mode", "good"), [(0o600, True), (0o400, True), (0o640, False), (0o604, False), (0o610, False), (0o601, False)]
)
def test_a_key_file_that_others_may_read_is_refused(tmp_path, mode, good):
    file = tmp_path / "k"
    file.write_bytes(base64.b64encode(RAW))
    file.chmod(mode)
    if good:
        assert sign.signer(file).origin == "file"
    else:
        with pytest.raises(UsageError, match="read by others"):
            sign.signer(file)


def key_of(tmp_path, content):
    file = tmp_path / "key"
    file.write_bytes(content)
    file.chmod(0o600)
    return sign.signer(file)


def test_a_key_has_32_bytes_of_which_12_differ(tmp_path):
    for raw in (bytes(range(33)), bytes(range(31)), bytes(min(i, 10) for i in range(32))):
        with pytest.raises(UsageError, match="Ed25519"):
            key_of(tmp_path, base64.b64encode(raw))
    assert key_of(tmp_path, base64.b64encode(bytes(min(i, 11) for i in range(32)))).public


def test_a_key_file_has_at_most_ten_thousand_bytes(tmp_path):
    assert key_of(tmp_path, base64.b64encode(RAW).ljust(10_000)).public
    with pytest.raises(UsageError, match="Ed25519"):
        key_of(tmp_path, base64.b64encode(RAW).ljust(10_001))


def test_a_key_or_signature_has_one_text():
    """Base64 whose last bits are set says the same bytes by another text."""
    signer = sign.signer()
    mark = signer.sign({"a": 1})
    assert sign.check_signature({"a": 1}, mark, signer.public) is None
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = signer.public[:-2] + letters[letters.index(signer.public[-2]) + 1] + "="
    assert base64.b64decode(other) == base64.b64decode(signer.public)
    for public, signature in ((other, mark), (signer.public, base64.b64encode(bytes(63)).decode()), (mark, mark)):
        with pytest.raises(TamperError, match="not well formed"):
            sign.check_signature({"a": 1}, signature, public)
    with pytest.raises(TamperError, match="does not fit its content"):
        sign.check_signature({"a": 2}, mark, signer.public)


def test_a_pipe_is_no_key_file(tmp_path):
    """Reading it would wait for ever."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(UsageError, match="Ed25519"):
        sign.signer(tmp_path / "pipe")
