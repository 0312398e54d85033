"""Master keys in a hardware security module: SoftHSM stands for one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from shoal.cli import main
from shoal.errors import EngineError, TamperError, UsageError
from shoal.protector import Vault
from shoal.protector.crypto import hsm_keys
from shoal.protector.crypto.hsm_keys import HsmKey, key_at, new_key_at

MODULES = [
    *filter(None, [os.environ.get("SOFTHSM2_MODULE")]),
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/local/lib/softhsm/libsofthsm2.so",
]


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a token without keys, up to the name of a key."""
    pytest.importorskip("pkcs11")
    module = next((m for m in MODULES if Path(m).is_file()), None)
    tool = os.environ.get("SOFTHSM2_UTIL") or shutil.which("softhsm2-util")
    if module is None or tool is None:
        pytest.skip("SoftHSM is not installed: python tools/programs.py")
    folder = tmp_path_factory.mktemp("hsm")
    (folder / "tokens").mkdir()
    (folder / "conf").write_text(f"directories.tokendir = {folder / 'tokens'}\nobjectstore.backend = file\nlog.level = ERROR\n")
    (folder / "pin").write_text("987654\n")
    (folder / "pin").chmod(0o600)
    os.environ["SOFTHSM2_CONF"] = str(folder / "conf")  # read once, when the module is loaded
    words = ["--module", module, "--init-token", "--free", "--label", "vault", "--so-pin", "12345678", "--pin", "987654"]
    subprocess.run([tool, *words], check=True, capture_output=True)
    return f"pkcs11:token=vault;object=NAME?module-path={module}&pin-source={folder / 'pin'}"


def test_a_wrong_pin_opens_nothing(token: str, tmp_path: Path) -> None:
    """First of all: a log-in counts for the whole process."""
    (tmp_path / "pin").write_text("000000\n")
    (tmp_path / "pin").chmod(0o600)
    with pytest.raises(UsageError, match="PIN of the module is wrong"):
        key_at(token.replace("NAME", "master").rsplit("=", 1)[0] + f"={tmp_path / 'pin'}")


def test_a_vault_opens_with_the_module_and_with_nothing_else(token: str, tmp_path: Path) -> None:
    place, address = str(tmp_path / "data.vault"), token.replace("NAME", "master")
    key = new_key_at(address)
    assert isinstance(key, HsmKey)
    made = Vault.create(place, key=key, owner="Otto", auditor="Udo", anchor=tmp_path / "anchor")
    made.vault.login(made.owner_token).create_domain("d")
    made.vault.close()
    with Vault.open(place, key=key_at(address), anchor=tmp_path / "anchor") as again:
        assert again.status()["master_key"] == key.key_id
        assert [d.name for d in again.login(made.owner_token).domains()] == ["d"]
    other = new_key_at(token.replace("NAME", "other"))
    assert other.key_id != key.key_id
    with pytest.raises(TamperError, match="does not open"):
        Vault.open(place, key=other, anchor=tmp_path / "anchor")
    wrapped = key.wrap(b"x" * 32, b"here")
    assert key.unwrap(wrapped, b"here") == b"x" * 32
    for altered, context in ((wrapped, b"there"), (wrapped[:-1] + bytes([wrapped[-1] ^ 1]), b"here"), (b"", b"here")):
        with pytest.raises(TamperError):
            key.unwrap(altered, context)
    with pytest.raises(UsageError, match="already"):
        new_key_at(address)
    with pytest.raises(UsageError, match="0 keys"):
        key_at(token.replace("NAME", "none"))


def test_keys_that_can_leave_or_are_short_are_refused(token: str, tmp_path: Path) -> None:
    import pkcs11
    from pkcs11 import Attribute, KeyType

    parts = hsm_keys.parsed(token)
    new_key_at(token.replace("NAME", "first"))  # logs in
    with pkcs11.lib(parts["module-path"]).get_token(token_label="vault").open(rw=True) as session:
        loose = {Attribute.SENSITIVE: False, Attribute.EXTRACTABLE: True}
        session.generate_key(KeyType.AES, 256, label="loose", store=True, template=loose)
        session.generate_key(KeyType.AES, 128, label="short", store=True, template={Attribute.EXTRACTABLE: False})
    with pytest.raises(UsageError, match="taken out"):
        key_at(token.replace("NAME", "loose"))
    with pytest.raises(UsageError, match="256 bits"):
        key_at(token.replace("NAME", "short"))
    with pytest.raises(EngineError, match="module"):
        key_at(token.replace("token=vault", "token=none").replace("NAME", "master"))


def test_by_command(token: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = token.replace("NAME", "commanded")
    for words in (
        ["key", "--out", address],
        ["init", "--vault", str(tmp_path / "v.vault"), "--owner", "Otto", "--auditor", "Udo", "--secrets",
         str(tmp_path / "secrets"), "--key-file", address, "--anchor", str(tmp_path / "anchor"), "--domain", "d"],
        ["status", "--vault", str(tmp_path / "v.vault"), "--key-file", address, "--anchor", str(tmp_path / "anchor")],
    ):  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            main(["vault", *words])
        assert ended.value.code == 0, capsys.readouterr()
    assert "master_key: hsm-" in capsys.readouterr().out


@pytest.mark.parametrize(
    "address",
    ["pkcs11:token=vault;object=x", "pkcs11:token=vault?module-path=/x.so", "token=vault;object=x?module-path=/x.so",
     "pkcs11:token=vault;object=x?module-path=/x.so&pin-value=1234"],
)  # fmt: skip
def test_addresses_that_name_no_key_or_tell_the_pin_are_refused(address: str) -> None:
    with pytest.raises(UsageError) as refused:
        hsm_keys.parsed(address)
    assert "1234" not in str(refused.value)


def test_no_pin_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(hsm_keys.PIN, raising=False)
    with pytest.raises(UsageError, match="no PIN"):
        HsmKey("pkcs11:token=vault;object=x?module-path=/x.so")
