"""V9: rotation keeps old data resolvable by policy; retired signing keys verify old logs; after shredding nothing resolves."""

from __future__ import annotations

from pathlib import Path

import pytest

from protector_support import House, build, new_key
from shoal.errors import AccessError, TamperError, UsageError
from shoal.protector import Vault, care, keys
from shoal.protector.care import rotation
from shoal.protector.people.changes import SecondPersonNeeded
from shoal.protector.store import pages
from shoal.protector.store.state import KEY


def test_random_pseudonyms_survive_rotation(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are sealed anew part by part; in between everything works, with old and new keys side by side."""
    house.owner.create_domain("d")
    ids = [f"{i:04d}" for i in range(1500)]
    made = house.operator.pseudonymize("d", ids)
    monkeypatch.setattr(rotation, "_CHUNK", 300)
    parts = 0
    real = rotation._reseal_part

    def between(session: object, name: str) -> object:
        nonlocal parts
        parts += 1
        assert house.operator.pseudonymize("d", ids[::50]) == made[::50]
        assert house.operator.find("d", ids[3]) == made[3]
        assert house.operator.pseudonymize("d", [f"new {parts}"]) == house.operator.pseudonymize("d", [f"new {parts}"])
        return real(session, name)  # type: ignore[arg-type]

    monkeypatch.setattr(rotation, "_reseal_part", between)
    after = house.agree(care.rotate_domain, "d")
    assert parts >= 5
    assert [(v, s) for v, s, _ in after.versions] == [(1, "destroyed"), (2, "active")]
    assert house.operator.pseudonymize("d", ids) == made
    assert house.reveal("d", made[:5]) == dict(zip(made[:5], ids[:5], strict=True))
    with house.vault.store.read() as tx:
        assert {sealed[0] for _, sealed in pages.stored(tx, after.number, 0, 5000)} == {2}
        assert tx.get_secret(KEY, f"{after.id} 1") is None
    assert care.verify(house.owner).ok


def test_broken_off_rotation_goes_on(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    made = house.operator.pseudonymize("d", [str(i) for i in range(700)])
    monkeypatch.setattr(rotation, "_CHUNK", 300)
    real = rotation._reseal_part
    calls = []

    def stops(session: object, name: str) -> object:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(session, name)  # type: ignore[arg-type]

    monkeypatch.setattr(rotation, "_reseal_part", stops)
    with pytest.raises(KeyboardInterrupt):
        house.agree(care.rotate_domain, "d")
    assert care.verify(house.owner).ok
    assert house.operator.pseudonymize("d", [str(i) for i in range(700)]) == made
    done = house.agree(care.rotate_domain, "d")
    assert (done.active, done.reseal) == (2, 0)
    assert house.operator.pseudonymize("d", [str(i) for i in range(700)]) == made
    assert care.verify(house.owner).ok


@pytest.mark.parametrize("kind", ["reversible", "keyed"])
def test_cipher_kinds_after_rotation(house: House, kind: str) -> None:
    house.owner.create_domain("d", kind=kind)
    old = house.operator.pseudonymize("d", ["person"])[0]
    after = house.agree(care.rotate_domain, "d")
    new = house.operator.pseudonymize("d", ["person"])[0]
    assert old != new
    assert after.key_id.split(".")[1] == "2"
    if kind == "reversible":
        assert house.reveal("d", [old, new]) == {old: "person", new: "person"}
        house.agree(care.destroy_key, "d", 1)
        assert house.reveal("d", [old, new]) == {old: None, new: "person"}
        with pytest.raises(UsageError, match="not a retired one"):
            house.agree(care.destroy_key, "d", 2)


def test_format_preserving_asks_for_the_key_version(house: House) -> None:
    house.owner.create_domain("f", kind="format-preserving")
    old = house.operator.pseudonymize("f", ["0012345"])[0]
    house.agree(care.rotate_domain, "f")
    with pytest.raises(UsageError, match="Name the key version"):
        house.request("f", [old])
    assert house.reveal("f", [old], version=1) == {old: "0012345"}


def test_master_key_rotation(place: str, tmp_path: Path) -> None:
    """Open vaults go on; the old key no longer opens, the new one does."""
    house = build(place, tmp_path)
    house.owner.create_domain("d")
    made = house.operator.pseudonymize("d", ["person"])
    running = house.reopen()
    fresh = new_key()
    assert house.agree(care.rotate_master, fresh) == fresh.key_id
    assert running.login(house.tokens["Olga"]).pseudonymize("d", ["person"]) == made
    running.close()
    with pytest.raises(TamperError, match="does not open"):
        house.reopen()
    house.key = fresh
    again = house.reopen()
    assert again.login(house.tokens["Olga"]).pseudonymize("d", ["person"]) == made
    again.close()
    house.vault.close()


def test_anchor_follows_the_key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_VAULT_ANCHOR", raising=False)
    for folder in ("data", "k1", "k2"):
        (tmp_path / folder).mkdir()
    first = keys.from_file(keys.write_file(tmp_path / "k1" / "v.key"))
    second = keys.from_file(keys.write_file(tmp_path / "k2" / "v.key"))
    made = Vault.create(tmp_path / "data" / "a.vault", key=first, owner="a", auditor="b")
    assert list((tmp_path / "k1").glob("*.anchor"))
    owner, auditor = made.vault.login(made.owner_token), made.vault.login(made.auditor_token)
    with pytest.raises(SecondPersonNeeded) as needed:
        care.rotate_master(owner, second)
    auditor.confirm(needed.value.change.id)
    care.rotate_master(owner, second)
    made.vault.close()
    Vault.open(tmp_path / "data" / "a.vault", key=second).close()


def test_retired_signing_keys_verify_old_logs(house: House) -> None:
    outside = care.checkpoint(house.owner)
    first = house.agree(care.rotate_signer)
    second = house.agree(care.rotate_signer)
    assert first != second
    verdict = care.verify_log(house.auditor, anchors=[outside])
    assert verdict.ok, verdict.problems
    assert outside["key"] != care.checkpoint(house.owner)["key"] == second


@pytest.mark.parametrize("kind", ["random", "reversible", "keyed", "format-preserving", "self-generated"])
def test_after_shredding_nothing_resolves(house: House, kind: str) -> None:
    from shoal.protector import Holder

    domain = house.owner.create_domain("d", kind=kind)
    house.owner.create_domain("other")
    house.connect("d", "other")
    if kind == "self-generated":
        registration = Holder.generate().registration(house.vault.id, domain.id)
        house.operator.register("d", registration, identity="1234567")
        made = [registration["pseudonym"]]
    else:
        made = house.operator.pseudonymize("d", ["1234567"])
    subject = request = ""
    if kind != "keyed":
        house.reveal("d", made)
        (event,) = [e for e in care.read_log(house.auditor) if e["action"] == "reveal"]
        subject = event["subjects"][0]
        request = house.request("d", made).id
        house["Aldo"].approve(request)
    with pytest.raises(UsageError, match="confirm"):
        house.agree(care.shred, "d", confirm="")
    certificate = house.agree(care.shred, "d", confirm="d")
    care.check_shred(house.vault, certificate)
    fresh = house.reopen()  # also a new process with the master key
    for vault in (house.vault, fresh):
        with pytest.raises(AccessError, match="shredded" if request else "request does not exist"):
            vault.login(house.tokens["Rita"]).reveal(request)
        with pytest.raises(AccessError, match="shredded"):
            vault.login(house.tokens["Olga"]).pseudonymize("d", ["1234567"])
        with pytest.raises(AccessError, match="shredded"):
            vault.login(house.tokens["Olga"]).translate(made, source="d", target="other", purpose="p")
        with vault.store.read() as tx:
            assert tx.get_secret(KEY, f"{domain.id} base") is None
            assert tx.get_secret(KEY, f"{domain.id} 1") is None
    if subject:
        with pytest.raises(AccessError, match="shredded"):
            care.resolve(
                house.owner, house.auditor, subject, reason="x", owner_share=house.owner_share, auditor_share=house.auditor_share
            )
    assert care.verify(house.owner).ok
    assert care.verify_log(house.auditor).ok
    fresh.close()


def test_shredded_keys_leave_the_file(sqlite_house: House) -> None:
    """The sealed keys are gone from the file itself, so not even the master key brings them back."""
    house = sqlite_house
    domain = house.owner.create_domain("d")
    house.operator.pseudonymize("d", ["person"])
    with house.vault.store.read() as tx:
        sealed = [tx._sealed(KEY, house.vault.store.tag(KEY, f"{domain.id} {part}")) for part in ("base", "1")]
    house.agree(care.shred, "d", confirm="d")
    content = b"".join(f.read_bytes() for f in Path(house.place).parent.glob("data.vault*"))
    assert all(s is not None and s not in content for s in sealed)


def test_forged_shred_certificates(house: House) -> None:
    house.owner.create_domain("d")
    house.owner.create_domain("e")
    good = house.agree(care.shred, "d", confirm="d")
    for forged in ({**good, "name": "e"}, {**good, "time": "2020"}, {**good, "signature": "00" * 64}, {**good, "key": "x"}):
        with pytest.raises(TamperError):
            care.check_shred(house.vault, forged)


def test_keys_put_back_after_shredding(sqlite_house: House) -> None:
    import sqlite3

    house = sqlite_house
    domain = house.owner.create_domain("d")
    tag = house.vault.store.tag(KEY, f"{domain.id} base")
    with sqlite3.connect(house.place) as raw:
        row = raw.execute("SELECT * FROM vault_objects WHERE tag = ?", (tag,)).fetchone()
    certificate = house.agree(care.shred, "d", confirm="d")
    with sqlite3.connect(house.place) as raw:
        raw.execute(f"INSERT INTO vault_objects VALUES ({', '.join('?' * len(row))})", row)
    with pytest.raises(TamperError, match="missing, added or older"):
        care.check_shred(house.vault, certificate)
