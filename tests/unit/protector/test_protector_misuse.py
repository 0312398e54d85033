"""V5, V7: what an insider or a thief of the file tries with one row, one spelling, one purpose or one name."""

from __future__ import annotations

import contextlib

import pytest

from protector_support import House, new_key, parameter_mark, raw_database
from shoal.errors import AccessError, TamperError, UsageError
from shoal.protector import Limit, Vault, care
from shoal.protector.store.state import DOMAIN


def objects(house: House) -> dict[bytes, tuple[int, bytes]]:
    with contextlib.closing(raw_database(house)) as database:
        rows = database.execute("SELECT tag, kind, sealed FROM vault_objects").fetchall()
    return {bytes(tag): (kind, bytes(sealed)) for tag, kind, sealed in rows}


def put_back(house: House, old: dict[bytes, tuple[int, bytes]]) -> None:
    """Every object as it was, in a database that is otherwise new."""
    mark = parameter_mark(house)
    with contextlib.closing(raw_database(house)) as database:
        database.execute("DELETE FROM vault_objects")
        for tag, (kind, sealed) in old.items():
            database.execute(
                f"INSERT INTO vault_objects (tag, kind, sealed) VALUES ({mark}, {mark}, {mark})", (tag, kind, sealed)
            )


def require_useless(house: House) -> None:
    """A process that starts after the change refuses the database."""
    with pytest.raises(TamperError, match="older"), house.reopen() as vault:
        vault.login(house.tokens["Olga"])


def test_a_request_put_back_is_not_delivered_again(house: House) -> None:
    house.owner.create_domain("d")
    asked = house.request("d", house.operator.pseudonymize("d", ["person"]))
    house["Aldo"].approve(asked.id)
    approved = objects(house)
    rita = house["Rita"]
    assert list(rita.reveal(asked.id).identities.values()) == ["person"]
    put_back(house, approved)
    with pytest.raises(AccessError, match="delivered before"):
        rita.reveal(asked.id)
    put_back(house, approved)
    require_useless(house)


def test_a_revoked_token_put_back_stays_revoked(house: House) -> None:
    house.owner.create_domain("d")
    olga, before = house.operator, objects(house)
    house.owner.revoke_tokens("Olga")
    put_back(house, before)
    with pytest.raises(AccessError, match="not valid"):
        olga.find("d", "x")
    put_back(house, before)
    require_useless(house)


def test_counters_and_honeytokens_taken_out_still_count(house: House) -> None:
    house.owner.create_domain("d")
    house.set_limit("find", Limit(3600.0, 2, None))
    house.owner.plant_honeytoken("d")
    olga = house.operator
    olga.find("d", "a")
    with contextlib.closing(raw_database(house)) as database:
        rows = database.execute("SELECT tag, kind FROM vault_objects").fetchall()
        for tag, kind in rows:
            if house.vault.store.unmasked(bytes(tag), kind) in (7, 8):
                database.execute(f"DELETE FROM vault_objects WHERE tag = {parameter_mark(house)}", (tag,))
    with pytest.raises((AccessError, TamperError)):
        olga.find_many("d", ["b", "c"])
    require_useless(house)


@pytest.mark.parametrize("alias", ["letters", "case"])
def test_honeytokens_in_another_spelling(house: House, alias: str) -> None:
    """A pseudonym read tolerantly (O as 0, I and L as 1, any case) is watched tolerantly."""
    house.owner.create_domain("d")
    house.owner.create_domain("e")
    house.connect("d", "e")
    planted = next(p for p in (house.owner.plant_honeytoken("d").pseudonym for _ in range(99)) if "0" in p and "1" in p)
    spelled = planted.lower() if alias == "case" else "P-" + planted[2:].replace("0", "O").replace("1", "L")
    assert spelled != planted
    asked = house.request("d", [spelled, planted])
    assert asked.flagged
    assert asked.records == 1
    with pytest.raises(AccessError, match="held back"):
        house["Aldo"].approve(asked.id)
    with pytest.raises(AccessError, match="held back"):
        house.operator.translate([spelled], source="d", target="e", purpose="p")


def test_pseudonymising_a_planted_identity_raises_an_alarm(house: House) -> None:
    house.owner.create_domain("d")
    planted = house.owner.plant_honeytoken("d")
    house.operator.pseudonymize("d", ["somebody"])
    house.operator.pseudonymize("d", ["somebody", planted.identity])
    events = care.read_log(house.auditor, actions=["pseudonymize"])
    assert [e["outcome"] for e in events] == ["done", "done", "alarm"]


def test_limits_count_all_purposes_together(house: House) -> None:
    house.owner.create_domain("d")
    made = house.operator.pseudonymize("d", ["a", "b", "c"])
    house.set_limit("request", Limit(86400.0, 2, None))
    for purpose, pseudonym in zip(("audit", "Audit"), made, strict=False):
        house["Rita"].request("d", [pseudonym], purpose=purpose, case="1")
    with pytest.raises(AccessError, match="over the limit"):
        house["Rita"].request("d", made[2:], purpose="another", case="1")
    house.set_limit("request", Limit(86400.0, 9, None))
    house.set_limit("request", Limit(86400.0, 0, None), purpose="Curiosity ")
    with pytest.raises(AccessError, match="over the limit"):
        house["Rita"].request("d", made[2:], purpose="curiosity", case="1")
    house["Rita"].request("d", made[2:], purpose="another", case="1")


def test_a_token_for_one_domain_reaches_no_other(house: House) -> None:
    """Also where the domain is named by the request: approving, denying, withdrawing, revealing and listing."""
    house.owner.create_domain("a")
    house.owner.create_domain("b")
    asked = house.request("b", house.operator.pseudonymize("b", ["person"]))
    narrow = {n: house.vault.login(house.token(n, domains=["a"])) for n in ("Aldo", "Rita")}
    assert [session.requests() for session in narrow.values()] == [[], []]
    for call in (narrow["Aldo"].approve, narrow["Aldo"].deny, narrow["Rita"].withdraw):
        with pytest.raises(AccessError, match="does not reach"):
            call(asked.id)
    house["Aldo"].approve(asked.id)
    with pytest.raises(AccessError, match="does not reach"):
        narrow["Rita"].reveal(asked.id)
    assert dict(house["Rita"].reveal(asked.id).identities)


def test_names_that_look_the_same_are_one(house: House, tmp_path: object) -> None:
    for (
        name
    ) in "rita RITA OLGA Rit\u0430 \u041elga RI\u0422\u0410 R\u0131ta Rit\u0251 A1do AIdo Ald0 0lga O1ga \u0391ldo".split():
        with pytest.raises(UsageError, match="looks the same"):
            house.add(name, ["approver"])
    for name in ("Rit\u034fa", "Rita\u200b", "Ri\u2060ta", "Ana\u3164", "Ana\ufe0f", "A\u00adna", "Rita\u202e", "\u2800Rita"):
        with pytest.raises(UsageError, match=r"invisible|printable"):
            house.add(name, ["approver"])
    for name in ("\uff32ita", "Ri\ufb01", "Zoe\u0308", "R\u00b9", "\U0001d411ita"):
        with pytest.raises(UsageError, match="stand for others"):
            house.add(name, ["approver"])
    for name in ("Rieta", "Zo\u00eb de Vries", "\u0418\u0432\u0430\u043d", "\u674e\u96f7", "Olgu\u0163a"):
        house.add(name, ["operator"])
    with pytest.raises(UsageError, match="two people"):
        Vault.create(f"{tmp_path}/b.vault", key=new_key(), owner="Anna", auditor="anna", anchor=f"{tmp_path}/b.anchor")
    with pytest.raises(UsageError, match="two people"):
        Vault.create(f"{tmp_path}/b.vault", key=new_key(), owner="Anna", auditor="\u0410nna", anchor=f"{tmp_path}/b.anchor")


def test_domains_whose_names_look_the_same(house: House) -> None:
    house.owner.create_domain("study7")
    for name in ("\u0455tudy7", "Study7", "STUDY7", "\u0405TUDY7", "stud\u04437"):
        with pytest.raises(UsageError, match="looks the same"):
            house.owner.create_domain(name)
    for name in ("study\uff17", "study7 ", "study\u200b7", "stu\u034fdy7", "a  b"):
        with pytest.raises(UsageError):
            house.owner.create_domain(name)
    house.owner.create_domain("study8")
    with house.vault.store.write() as tx:  # a name that an older Shoal allowed
        body = tx.get(DOMAIN, "study8") or {}
        tx.put(DOMAIN, "study7 ", {**body, "name": "study7 "})
    assert [d.name for d in house.owner.domains()] == ["study7", "study8", "study7 "]


def test_an_auditor_stays_one(house: House) -> None:
    """Anyone who checks the log has no other part in it, before or after; the last one cannot be lost."""
    with pytest.raises(UsageError, match="only auditor"):
        house.grant("Udo", ["approver"])
    with pytest.raises(UsageError, match="only auditor"):
        house.agree(lambda owner: owner.grant("Udo", ["auditor"], enabled=False))
    house.add("Vera", ["auditor"])
    for name, roles in (("Udo", ["approver"]), ("Rita", ["auditor"])):
        with pytest.raises(UsageError, match="an auditor stays one"):
            house.grant(name, roles)
    house.agree(lambda owner: owner.grant("Udo", ["auditor"], enabled=False))
    with pytest.raises(AccessError, match="not valid"):
        care.read_log(house.auditor)


def test_a_text_that_cannot_be_a_pseudonym_is_not_asked_for(house: House) -> None:
    house.owner.create_domain("d")
    house.owner.create_domain("r", kind="reversible")
    (good,) = house.operator.pseudonymize("d", ["person"])
    (other,) = house.operator.pseudonymize("r", ["a longer name than sixteen bytes"])
    for text in ("x", f'"{good}"', good[:-1], good + "00", "", other):
        with pytest.raises(UsageError, match="1 of 2 texts cannot be"):
            house.request("d", [good, text])
    assert house.reveal("d", [good.lower()]) == {good: "person"}
    assert list(house.reveal("r", [other]).values()) == ["a longer name than sixteen bytes"]


def test_the_last_owner_stays(house: House) -> None:
    for call in (
        lambda: house.grant("Otto", ["operator"]),
        lambda: house.grant("Otto", ["owner"], enabled=False),
        lambda: house.owner.revoke_tokens("Otto"),
    ):
        with pytest.raises(UsageError, match="only owner"):
            call()
    house.add("Oda", ["owner"])
    house.grant("Otto", ["operator"])


@pytest.mark.parametrize(
    ("table", "column"),
    [("audit", "hash"), ("audit", "sealed"), ("checkpoints", "body"), ("checkpoints", "signature"), ("objects", "sealed")],
)
def test_text_in_place_of_bytes_is_noticed(sqlite_house: House, table: str, column: str) -> None:
    """V5, V6: SQLite takes any value in any cell; such a cell is a finding, not a crash."""
    with contextlib.closing(raw_database(sqlite_house)) as database:
        database.execute(f"UPDATE vault_{table} SET {column} = 'abc' WHERE rowid = (SELECT max(rowid) FROM vault_{table})")
    if table == "objects":
        with pytest.raises(TamperError), sqlite_house.reopen() as vault:
            vault.login(sqlite_house.tokens["Olga"])
    else:
        sqlite_house.reopen().close()
        assert not care.verify_log(sqlite_house.auditor).ok


def test_text_in_place_of_the_state_is_noticed(sqlite_house: House) -> None:
    with contextlib.closing(raw_database(sqlite_house)) as database:
        database.execute("UPDATE vault_state SET sealed = 'abc'")
    with pytest.raises(TamperError):
        sqlite_house.reopen()


def test_events_before_the_first_are_noticed(house: House) -> None:
    with contextlib.closing(raw_database(house)) as database:
        database.execute("INSERT INTO vault_audit (seq, sealed, hash) SELECT -5, sealed, hash FROM vault_audit WHERE seq = 3")
    found = care.verify_log(house.auditor)
    assert not found.ok
    assert "before the first" in found.problems[0]
