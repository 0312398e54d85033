"""Attacks on the control around the vault, each tried as an attacker would: what one person alone gets, and what stays dead."""

from __future__ import annotations

import base64
import contextlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protector_support import House, new_key, raw_database
from shoal.errors import AccessError, ShoalError, TamperError, UsageError
from shoal.protector import Limit, Vault, care, keys
from shoal.protector.crypto import recipients
from shoal.protector.crypto.master_keys import LocalKey
from shoal.protector.crypto.primitives import Secret
from shoal.protector.log.shares import opened_by
from shoal.protector.people.limits import DEFAULTS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the test client's own change of HTTP library
    from fastapi.testclient import TestClient

from shoal.server.protector.api import create_app

SURROGATE = "\ud800"


def alarms(house: House) -> list[tuple[str, str]]:
    return [(e["action"], e["reason"]) for e in care.read_log(house.auditor, last=1000) if e["outcome"] == "alarm"]


def asked(house: House) -> Any:
    """A request that waits."""
    house.owner.create_domain("d")
    return house.request("d", house.operator.pseudonymize("d", ["person"]))


# -- approvals and confirmations stay dead --------------------------------------------------------------------------------


@pytest.mark.parametrize("back", [["approver"], ["approver", "operator"]])
def test_an_approval_is_not_raised_from_the_dead(sqlite_house: House, back: list[str]) -> None:
    house, request = sqlite_house, asked(sqlite_house)
    house["Aldo"].approve(request.id)
    house.owner.grant("Aldo", ["approver"], enabled=False)
    house.grant("Aldo", back)
    with pytest.raises(AccessError, match="died with the approver's rights"):
        house["Rita"].reveal(request.id)


def test_more_rights_leave_an_approval_alive(sqlite_house: House) -> None:
    house, request = sqlite_house, asked(sqlite_house)
    house["Aldo"].approve(request.id)
    house.grant("Aldo", ["approver", "operator"])
    assert list(house["Rita"].reveal(request.id).identities.values()) == ["person"]


@pytest.mark.parametrize(("later", "good"), [(99.0, True), (100.0, False)])
def test_an_approval_ends_with_the_approvers_token(sqlite_house: House, later: float, good: bool) -> None:
    house, request = sqlite_house, asked(sqlite_house)
    house.vault.login(house.token("Ana", expires=house.clock.now + 100)).approve(request.id)
    house.clock.now += later
    if good:
        assert house["Rita"].reveal(request.id).identities
    else:
        with pytest.raises(AccessError, match="died with the approver's rights"):
            house["Rita"].reveal(request.id)


def test_a_change_is_not_raised_from_the_dead(sqlite_house: House) -> None:
    house = sqlite_house
    oda = house.vault.login(house.add("Oda", ["owner"]))
    proposed = oda.set_limit("find", Limit(3600.0, 1, None))
    house.owner.grant("Oda", ["owner"], enabled=False)
    house.grant("Oda", ["owner"])
    with pytest.raises(AccessError, match="died with the rights"):
        house.auditor.confirm(proposed.id)


# -- what a person alone can try out --------------------------------------------------------------------------------------


def test_planting_honeytokens_is_no_way_to_try_identities_out(sqlite_house: House) -> None:
    """The vault invents the person, and plantings are counted."""
    house = sqlite_house
    house.owner.create_domain("k", kind="keyed")
    (limit,) = DEFAULTS["honeytoken"]
    assert (limit.max, limit.alarm) == (100, 20)
    for _ in range(100):
        house.owner.plant_honeytoken("k")
    with pytest.raises(AccessError, match="over the limit"):
        house.owner.plant_honeytoken("k")
    assert alarms(house) == [("honeytoken", "bulk"), ("honeytoken", "limit")]


@pytest.mark.parametrize("spelled", ["{}", " {}", "{}\u200b", "\u00a0{} "])
def test_a_honeytoken_is_recognised_however_it_is_spelled(sqlite_house: House, spelled: str) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    planted = house.owner.plant_honeytoken("d")
    assert house.operator.find("d", spelled.format(planted.identity)) == planted.pseudonym
    assert alarms(house) == [("find", "honeytoken")]


def test_subjects_and_holders_are_cleaned_as_identities_are(sqlite_house: House) -> None:
    from shoal.protector import Holder

    house = sqlite_house
    house.owner.create_domain("d")
    told = {"owner_share": house.owner_share, "auditor_share": house.auditor_share, "reason": "asked"}
    one, other = (care.subject_of(house.owner, house.auditor, "d", text, **told) for text in ("0012", " 0012"))
    assert one == other
    made = house.owner.create_domain("self", kind="self-generated")
    given = Holder.generate().registration(house.vault.id, made.id)
    house.operator.register("self", given, identity=" 0012\u00a0")
    assert house.reveal("self", [given["pseudonym"]]) == {given["pseudonym"]: "0012"}


# -- the database changed from outside ------------------------------------------------------------------------------------

FOREIGN = {
    "sqlite": {
        "trigger named as statistics": [
            "PRAGMA writable_schema=ON",
            "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES ('trigger', 'sqlite_stat1', 'vault_audit', 0,"
            " 'CREATE TRIGGER sqlite_stat1 AFTER INSERT ON vault_audit BEGIN DELETE FROM vault_checkpoints; END')",
        ],
    },
    "postgresql": {
        "unlogged": ["ALTER TABLE vault_audit SET UNLOGGED"],
        "referenced": ["CREATE TABLE beside (x bigint REFERENCES vault_audit (seq) ON DELETE CASCADE)"],
        "index": ["CREATE INDEX narrow ON vault_audit (hash)"],
        "function in an index": [
            "CREATE FUNCTION quiet(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END'",
            "CREATE INDEX narrow ON vault_audit (quiet(seq))",
        ],
    },
}


@pytest.mark.parametrize("which", [name for cases in FOREIGN.values() for name in cases])
def test_what_was_put_into_the_database_is_refused(house: House, which: str) -> None:
    statements = FOREIGN[house.vault.store.dialect].get(which)
    if statements is None:
        pytest.skip(f"{house.vault.store.dialect} has no such case")
    house.owner.create_domain("d")
    olga = house.operator
    with contextlib.closing(raw_database(house)) as database:
        for statement in statements:
            database.execute(statement)
    for attempt in (lambda: olga.pseudonymize("d", ["person"]), house.reopen):
        with pytest.raises(TamperError, match="changed from outside"):
            attempt()


def test_analyze_is_no_tampering(sqlite_house: House) -> None:
    with contextlib.closing(raw_database(sqlite_house)) as database:
        database.execute("ANALYZE")
    sqlite_house.owner.create_domain("d")


def test_functions_before_those_of_the_server_are_refused(house: House) -> None:
    if house.vault.store.dialect == "sqlite":
        pytest.skip("SQLite has no search_path")
    name = house.place.rsplit("/", 1)[1]
    with contextlib.closing(raw_database(house)) as database:
        database.execute("CREATE SCHEMA evil")
        database.execute(f"ALTER DATABASE {name} SET search_path = evil, pg_catalog, public")
    with pytest.raises(TamperError, match="search_path"):
        house.reopen()


# -- texts that are no texts ----------------------------------------------------------------------------------------------

TRIED: dict[str, Callable[[House], Any]] = {
    "pseudonymize": lambda h: h.operator.pseudonymize("d", [SURROGATE]),
    "domain": lambda h: h.operator.pseudonymize(SURROGATE, ["x"]),
    "role": lambda h: h.operator.pseudonymize("r", ["x"], role=SURROGATE),
    "find": lambda h: h.operator.find("d", SURROGATE),
    "request": lambda h: h.request("f", [SURROGATE * 8]),
    "translate": lambda h: h.operator.translate([SURROGATE], source="d", target=SURROGATE, purpose="x"),
    "honeytoken": lambda h: h.owner.withdraw_honeytoken("d", SURROGATE),
    "person": lambda h: h.owner.add_actor(SURROGATE, ["operator"]),
    "roles": lambda h: h.owner.add_actor("New", [SURROGATE]),
    "token": lambda h: h.owner.issue_token("Rita", domains=[SURROGATE]),
    "witness": lambda h: h.owner.set_witness([SURROGATE]),
    "login": lambda h: h.vault.login(SURROGATE),
    "enrol": lambda h: h.vault.enrol(SURROGATE),
    "confirm": lambda h: h.auditor.confirm(SURROGATE),
    "export": lambda h: care.export(h.owner, "d", SURROGATE),
    "forget": lambda h: care.forget(h.owner, SURROGATE, "x"),
    "new domain": lambda h: h.owner.create_domain(SURROGATE),
}


def test_lone_surrogates_are_refused_in_words(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    house.owner.create_domain("r", scope="role")
    house.owner.create_domain("f", kind="format-preserving")
    for name, attempt in TRIED.items():
        with pytest.raises(ShoalError) as refused:
            attempt(house)
        assert (str(refused.value) + repr(refused.value)).encode(), name
    house.operator.pseudonymize("d", ["x"], purpose=SURROGATE)
    assert care.verify_log(house.auditor).ok
    assert care.read_log(house.auditor, last=1000)


def test_lone_surrogates_over_http(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    bad = "\\ud800"
    calls = [
        ("/domains/d/pseudonyms", f'{{"identities":["{bad}"]}}', "Olga"),
        ("/domains/d/find", f'{{"identity":"{bad}"}}', "Olga"),
        ("/domains/d/finds", f'{{"identities":["{bad}"]}}', "Olga"),
        ("/domains/d/translate", f'{{"pseudonyms":["x"],"target":"{bad}","purpose":"p"}}', "Olga"),
        ("/requests", f'{{"domain":"{bad}","pseudonyms":["x"],"purpose":"p","case":"c"}}', "Rita"),
        ("/requests", f'{{"domain":"d","pseudonyms":["{bad}"],"purpose":"p","case":"c"}}', "Rita"),
        ("/enrol", f'{{"codes":["{bad}"]}}', ""),
        ("/domains/%ED%A0%80/find", '{"identity":"x"}', "Olga"),
        ("/requests/%ED%A0%80/reveal", "{}", "Rita"),
    ]
    with TestClient(create_app(house.vault), base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        for path, body, who in calls:
            headers = {"Content-Type": "application/json"}
            headers |= {"Authorization": f"Bearer {house.tokens[who]}"} if who else {}
            answer = client.post("/vault/v1" + path, content=body, headers=headers)
            assert 400 <= answer.status_code < 500, (path, answer.status_code)


# -- the beginning: nobody holds the means of two people unseen -----------------------------------------------------------


def begun(tmp_path: Path) -> tuple[Any, str, LocalKey, LocalKey]:
    """A vault in earnest: what is made, the auditor's secret, the key from two of three shares, and the whole of it."""
    text = keys.generate()
    key = keys.from_shares(keys.split(text, shares=3, needed=2)[1:])
    whole = LocalKey(Secret(base64.b64decode(text)), location="environment")
    secret, public = recipients.generate()
    made = Vault.create(
        tmp_path / "a.vault", key=key, owner="Otto", auditor="Udo", auditor_key=public, anchor=tmp_path / "anchor"
    )
    return made, secret, key, whole


def test_who_makes_the_vault_does_not_hold_the_auditors_means(tmp_path: Path) -> None:
    made, secret, _, _ = begun(tmp_path)
    assert (made.auditor_code, made.auditor_share) == ("", "")
    with pytest.raises(AccessError):
        _ = made.auditor_token
    for other in (recipients.generate()[0], secret.swapcase()[:-1] + "0"):
        with pytest.raises((AccessError, UsageError)):
            opened_by(other, made.auditor_sealed, made.vault.id)
    with pytest.raises(AccessError):
        opened_by(secret, made.auditor_sealed, "00" * 16)  # bound to this vault
    code, share = opened_by(secret, made.auditor_sealed, made.vault.id)
    auditor, owner = made.vault.login(made.vault.enrol(code)), made.vault.login(made.owner_token)
    verdict = care.verify_log(auditor)
    assert (verdict.ok, verdict.trial, verdict.to_json()["trial"]) == (True, False, False)
    told = {"owner_share": made.owner_share, "auditor_share": share, "reason": "complaint"}
    actor = care.read_log(auditor)[0]["actor"]
    assert care.resolve(owner, auditor, actor, **told) == "Otto"
    with pytest.raises(UsageError, match="64 hexadecimal"):
        Vault.create(tmp_path / "b", key=new_key(), owner="O", auditor="U", auditor_key="00", anchor=tmp_path / "b.anchor")
    assert not (tmp_path / "b").exists()
    made.vault.close()


def test_a_vault_that_one_person_began_says_so_for_ever(sqlite_house: House) -> None:
    assert sqlite_house.vault.status()["trial"]
    assert care.verify_log(sqlite_house.auditor).trial
    assert care.verify_log(sqlite_house.auditor).to_json()["trial"] is True


def test_a_whole_key_in_one_hand_is_no_maintenance(tmp_path: Path) -> None:
    """File and key without two people: refused by whatever the command line opens; the service may hold the key."""
    made, secret, key, whole = begun(tmp_path)
    auditor = made.vault.enrol(opened_by(secret, made.auditor_sealed, made.vault.id)[0])
    made.vault.close()
    with pytest.raises(AccessError, match="stays with its service"):
        Vault.open(tmp_path / "a.vault", key=whole, anchor=tmp_path / "anchor", maintenance=True)
    Vault.open(tmp_path / "a.vault", key=whole, anchor=tmp_path / "anchor").close()  # the service
    with Vault.open(tmp_path / "a.vault", key=key, anchor=tmp_path / "anchor", maintenance=True) as vault:
        events = care.read_log(vault.login(auditor))
        assert [e["detail"] for e in events if e["action"] == "maintenance"] == ["shares 2, 3"]
