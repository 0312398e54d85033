"""V2: weak, literal and badly kept keys are refused. V12: secrets do not show themselves."""

from __future__ import annotations

import base64
import copy
import logging
import os
import pickle
import re
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from protector_support import House, new_key
from shoal.errors import AccessError, ShoalError, TamperError
from shoal.protector import Holder, Vault, keys
from shoal.protector.crypto import base32, master_keys, recipients
from shoal.protector.crypto.master_keys import KeyRefusedError, LocalKey
from shoal.protector.crypto.primitives import Secret
from shoal.protector.log import audit
from shoal.protector.store.state import SIGNER


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("1234", id="short"),
        pytest.param("correct horse battery staple", id="passphrase"),
        pytest.param(base64.b64encode(b"correct horse battery staple 123").decode(), id="text of 32 bytes"),
        pytest.param(base64.b64encode(b"\0" * 32).decode(), id="zeros"),
        pytest.param(base64.b64encode(b"ab" * 16).decode(), id="repeating"),
        pytest.param(bytes(range(32)).hex(), id="counting"),
        pytest.param(bytes(range(0, 96, 3)).hex(), id="counting by three"),
        pytest.param(base64.b64encode(os.urandom(16)).decode(), id="16 bytes"),
        pytest.param("deadbeef" * 8, id="repeating hex"),
    ],
)
def test_weak_keys_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEAK", text)
    with pytest.raises(KeyRefusedError) as error:
        keys.from_env("WEAK")
    assert not text or text not in str(error.value)


def test_random_keys_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(200):
        monkeypatch.setenv("GOOD", keys.generate())
        first = keys.from_env("GOOD")
        assert re.fullmatch("[0-9a-f]{16}", first.key_id)
    monkeypatch.setenv("HEX", base64.b64decode(os.environ["GOOD"]).hex())
    assert keys.from_env("HEX").key_id == first.key_id


def test_env_key_can_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCE", keys.generate())
    keys.from_env("ONCE", forget=True)
    assert "ONCE" not in os.environ


def test_key_files(tmp_path: Path) -> None:
    file = keys.write_file(tmp_path / "vault.key")
    assert file.stat().st_mode & 0o777 == 0o600
    assert keys.from_file(file).location == str(file)
    with pytest.raises(KeyRefusedError, match="exists already"):
        keys.write_file(file)
    file.chmod(0o640)
    with pytest.raises(KeyRefusedError, match="other users"):
        keys.from_file(file)
    file.chmod(0o600)
    config = tmp_path / "settings.yml"
    config.write_text(file.read_text())
    config.chmod(0o600)
    with pytest.raises(KeyRefusedError, match="configuration"):
        keys.from_file(config)
    with pytest.raises(KeyRefusedError, match="cannot be read"):
        keys.from_file(tmp_path / "none.key")
    with pytest.raises(KeyRefusedError, match="not a key file"):
        keys.from_file(tmp_path)


@pytest.mark.parametrize(
    "literal", [keys.generate(), os.urandom(32), bytearray(32), None, 7], ids=["text", "bytes", "array", "none", "int"]
)
def test_keys_in_code_are_refused(place: str, tmp_path: Path, literal: object) -> None:
    with pytest.raises(KeyRefusedError):
        Vault.create(place, key=literal, owner="a", auditor="b")  # type: ignore[arg-type]
    with pytest.raises(ShoalError, match="no vault"):
        Vault.open(place, key=new_key(), anchor=tmp_path / "anchor")


def test_key_in_url_is_refused() -> None:
    with pytest.raises(ShoalError, match="contains a key"):
        Vault.create("postgresql://u@h/d?key=abc", key=new_key(), owner="a", auditor="b")
    with pytest.raises(ShoalError, match="cannot live in"):
        Vault.create("mysql://u@h/d", key=new_key(), owner="a", auditor="b")


def test_key_beside_the_vault_is_refused(tmp_path: Path) -> None:
    key = keys.from_file(keys.write_file(tmp_path / "vault.key"))
    with pytest.raises(KeyRefusedError, match="same folder"):
        Vault.create(tmp_path / "a.vault", key=key, owner="a", auditor="b")


def test_another_key_does_not_open(house: House) -> None:
    with pytest.raises(TamperError, match="does not open"):
        Vault.open(house.place, key=new_key(), anchor=house.folder / "anchor")


class Kms:
    """A provider like a KMS: the key stays inside."""

    def __init__(self) -> None:
        self._inner = new_key()
        self.calls: list[str] = []

    key_id = "kms-1"
    location = "kms"

    def wrap(self, data: bytes, context: bytes) -> bytes:
        self.calls.append("wrap")
        return self._inner.wrap(data, context)

    def unwrap(self, data: bytes, context: bytes) -> bytes:
        self.calls.append("unwrap")
        return self._inner.unwrap(data, context)


def test_kms_hook(place: str, tmp_path: Path) -> None:
    kms = Kms()
    made = Vault.create(place, key=kms, owner="a", auditor="b", anchor=tmp_path / "anchor")
    made.vault.close()
    Vault.open(place, key=kms, anchor=tmp_path / "anchor").close()
    assert kms.calls == ["wrap", "unwrap"]


def _forms(secret: bytes) -> list[str]:
    return [secret.hex(), base64.b64encode(secret).decode(), repr(secret)[2:-1], str(list(secret))[1:-1]]


def test_secrets_do_not_show(
    place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """V12: representations, tracebacks with all local variables, logs, output, pickles and the environment of children."""
    raw = os.urandom(32)
    key = LocalKey(Secret(raw), location="environment")
    caplog.set_level(logging.DEBUG)
    made = Vault.create(place, key=key, owner="a", auditor="b", anchor=tmp_path / "anchor")
    owner = made.vault.login(made.owner_token)
    owner.create_domain("d", kind="reversible")
    change = owner.add_actor("o", ["operator"])
    operator = made.vault.login(made.vault.enrol(change.code, made.vault.login(made.auditor_token).confirm(change.id).code))
    operator.pseudonymize("d", ["person"])
    holder = Holder.generate()
    inside = owner.vault
    root = inside.root.expose()
    domain = next(iter(inside.keyring._open.values()))[1]
    shown = []
    for thing in (
        *(key, made, made.vault, inside, inside.store, inside.root, inside.keyring, owner, owner.frame),
        *(domain, domain.keys, holder, domain._ciphers),
    ):
        shown += [repr(thing), str(thing), repr(getattr(thing, "__dict__", ""))]
    for call in (
        lambda: operator.create_domain("x"),
        lambda: operator.pseudonymize("none", ["person"]),
        lambda: operator.pseudonymize("d", ["person" * 10_000]),
        lambda: made.vault.login("wrong"),
        lambda: Vault.open(place, key=new_key(), anchor=tmp_path / "anchor"),
    ):
        try:
            call()
        except ShoalError as error:
            trace = traceback.TracebackException.from_exception(error, capture_locals=True)
            frames = [f for f in trace.stack if "shoal/protector" in f.filename]
            assert frames
            shown.append(str(error) + "".join(f"{f.name}: {f.locals}" for f in frames))
    out = capfd.readouterr()
    everything = "\n".join([*shown, caplog.text, out.out, out.err, repr(dict(os.environ))])
    for secret in (raw, root):
        for form in _forms(secret):
            assert form not in everything
    assert made.owner_token not in everything.replace(repr(made.__dict__), "")
    assert holder.to_text() not in everything
    for thing in (key, made.vault, inside, inside.root, inside.keyring, domain, holder, inside.store.box):
        with pytest.raises(TypeError):
            pickle.dumps(thing)
        with pytest.raises(TypeError):
            copy.copy(thing)
    made.vault.close()


def test_secret_compares_in_constant_time() -> None:
    assert Secret(b"a" * 32) == Secret(b"a" * 32)
    assert Secret(b"a" * 32) != Secret(b"b" * 32)
    with pytest.raises(TypeError):
        hash(Secret(b"a"))


# -- shares ---------------------------------------------------------------------------------------------------------------


def altered(share: str) -> str:
    """A share with another secret part, spelled as its holder could spell it: the check characters fit."""
    found = master_keys._read_share(share)
    return replace(found, part=bytes(b ^ 1 for b in found.part)).text()


def test_the_altered_share_is_named() -> None:
    parts = keys.split(keys.generate(), shares=5, needed=3)
    with pytest.raises(KeyRefusedError, match="share 4 is altered"):
        keys.from_shares([*parts[:3], altered(parts[3]), parts[4]])
    typed = parts[1][:40] + ("0" if parts[1][40] != "0" else "1") + parts[1][41:]
    with pytest.raises(KeyRefusedError, match="share 2 is altered or mistyped"):
        keys.from_shares([parts[0], typed, parts[2]])
    with pytest.raises(KeyRefusedError, match="at least one of the shares 1, 2, 3 is altered"):
        keys.from_shares([parts[0], parts[1], altered(parts[2])])
    with pytest.raises(KeyRefusedError, match="share 1 is altered"):
        keys.from_shares([*parts[:3], altered(parts[0])])


def test_shares_of_an_older_shoal_still_join() -> None:
    found = [master_keys._read_share(p) for p in keys.split(keys.generate(), shares=3, needed=2)]
    old = [f"key-share-{s.key_id}-2-{s.point}-{base32.encode(s.part)}" for s in found]
    assert keys.from_shares(old[:2]).key_id == found[0].key_id
    assert keys.from_shares(old[1:]).share_set == keys.from_shares(old[:2]).share_set


@pytest.fixture
def shared(tmp_path: Path) -> tuple[Path, str, list[str]]:
    """A vault in earnest whose key is in three shares, and the whole key, as text."""
    text = keys.generate()
    parts = keys.split(text, shares=3, needed=2)
    public = recipients.generate()[1]
    options: Any = {"owner": "Otto", "auditor": "Udo", "auditor_key": public, "anchor": tmp_path / "anchor"}
    Vault.create(tmp_path / "a.vault", key=keys.from_shares(parts[:2]), **options).vault.close()
    return tmp_path / "a.vault", text, parts


def test_a_whole_key_written_as_shares_opens_nothing(shared: tuple[Path, str, list[str]]) -> None:
    """The text's own threshold is never believed, and a key that was split again is not the set the vault keeps."""
    place, text, parts = shared
    options: Any = {"anchor": place.parent / "anchor", "maintenance": True}
    whole = base64.b64decode(text)
    key_id = keys.from_shares(parts[:2]).key_id
    for forged in (
        [f"key-share-{key_id}-1-1-{base32.encode(whole)}"],
        [master_keys._Share(key_id, 1, 1, 1, whole).text()],
        [f"key-share-{key_id}-2-0-{base32.encode(whole)}", f"key-share-{key_id}-2-1-{base32.encode(whole)}"],
        [f"key-share-{key_id}-0-1-{base32.encode(whole)}", f"key-share-{key_id}-0-2-{base32.encode(whole)}"],
    ):
        with pytest.raises(KeyRefusedError):
            keys.from_shares(forged)
    for again in (keys.split(text, shares=3, needed=2), keys.split(text, shares=2, needed=2)):
        with pytest.raises(AccessError, match="not the shares of this vault"):
            Vault.open(place, key=keys.from_shares(again[:2]), **options)
    raised = [replace(master_keys._read_share(p), count=9).text() for p in parts]
    with pytest.raises(AccessError, match="not the shares of this vault"):
        Vault.open(place, key=keys.from_shares(raised[:2]), **options)
    for pair in (parts[:2], parts[1:], parts[::2]):
        Vault.open(place, key=keys.from_shares(pair), **options).close()


def test_shares_of_a_key_that_was_whole_show_nothing(tmp_path: Path) -> None:
    text = keys.generate()
    whole = LocalKey(Secret(base64.b64decode(text)), location="environment")
    options: Any = {"owner": "Otto", "auditor": "Udo", "auditor_key": recipients.generate()[1], "anchor": tmp_path / "anchor"}
    Vault.create(tmp_path / "a.vault", key=whole, **options).vault.close()
    parts = keys.split(text, shares=2, needed=2)
    with pytest.raises(AccessError, match="never in shares"):
        Vault.open(tmp_path / "a.vault", key=keys.from_shares(parts), anchor=tmp_path / "anchor", maintenance=True)


def test_a_vault_without_a_kept_set_keeps_the_first_one_it_sees(shared: tuple[Path, str, list[str]]) -> None:
    """A vault of Shoal 0.3.0: opened as before, once, and the log says so."""
    place, text, parts = shared
    options: Any = {"anchor": place.parent / "anchor", "maintenance": True}
    with Vault.open(place, key=keys.from_shares(parts[:2]), anchor=place.parent / "anchor") as vault, vault.store.write() as tx:
        tx.remove(SIGNER, "key shares")
    with Vault.open(place, key=keys.from_shares(parts[:2]), **options) as vault, vault.store.read() as tx:
        (event,) = audit.events(tx, actions=["maintenance"])
        assert event["detail"] == "shares 1, 2; their set is kept from now on"
    with pytest.raises(AccessError, match="not the shares"):
        Vault.open(place, key=keys.from_shares(keys.split(text, shares=3, needed=2)[:2]), **options)
