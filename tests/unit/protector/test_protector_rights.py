"""People's rights (export, forget), and witnesses of the log before identities leave."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from protector_support import House, raw_database
from shoal.errors import AccessError, EngineError, UsageError
from shoal.protector import Holder, care
from shoal.protector.care.forgetting import _signature_holds
from shoal.protector.log import audit, checkpoints, witness
from shoal.protector.people.changes import SecondPersonNeeded

LONG = "a name that is much longer than a slot of a page can hold " * 20


@pytest.mark.parametrize(
    "settings", [{}, {"scope": "role"}, {"renewal": {"uses": 1}}, {"scope": "transaction"}, {"matching": "nfc"}]
)
@pytest.mark.parametrize("person", ["0012-aria", LONG])
def test_a_forgotten_person_is_gone_and_nobody_else(house: House, settings: dict[str, Any], person: str) -> None:
    house.owner.create_domain("d", **settings)
    context = {"role": "patient"} if settings.get("scope") == "role" else {}
    others = [f"other {i}" for i in range(40)]
    before = house.operator.pseudonymize("d", [*others, f" {person} ", person], **context)
    if context:
        before.append(house.operator.pseudonymize("d", [person], role="donor")[0])
    mine = sorted(set(before[40:]))
    assert list(house.reveal("d", mine[:1], **({"role": "patient"} if context else {})).values()) == [person.strip()]
    with pytest.raises(SecondPersonNeeded) as needed:
        care.forget(house.owner, "d", person)
    assert person.strip()[:12] not in str(needed.value.change.what)
    house.auditor.confirm(needed.value.change.id)
    certificate = care.forget(house.owner, "d", person)
    assert (
        (certificate["records"], certificate["name"]) == (len(mine), "d")
        if not settings.get("renewal")
        else certificate["records"] >= len(mine)
    )
    assert person.strip()[:20] not in json.dumps(certificate)
    with house.vault.store.read() as tx:
        keys = {k["id"]: bytes.fromhex(k["public"]) for k in checkpoints.signing_keys(tx)}
        opened = house.vault.keyring.opened(tx, house.vault.keyring.domain(tx, "d"))
        assert opened.resolve(tx, mine) == [None] * len(mine)
        assert [p.decode() for p in opened.resolve(tx, before[:40]) if p] == others
    body = {k: v for k, v in certificate.items() if k not in ("signature", "key")}
    assert _signature_holds(keys, certificate, body)
    assert not _signature_holds(keys, certificate, {**body, "records": 99})
    assert care.verify(house.owner).ok
    again = house.operator.pseudonymize("d", [*others, person], **context)
    if settings in ({}, {"matching": "nfc"}, {"scope": "role"}):
        assert again[:40] == before[:40]
    assert again[40] not in mine
    assert house.agree(care.rotate_domain, "d").active == 2
    assert care.verify(house.owner).ok
    assert person.strip()[:20] not in json.dumps(care.read_log(house.auditor))


def test_forgetting_leaves_no_trace_in_the_file(sqlite_house: House) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    (made,) = house.operator.pseudonymize("d", ["person"])
    house.reveal("d", [made])
    with contextlib.closing(raw_database(house)) as database:
        sealed = [bytes(row[0]) for row in database.execute("SELECT sealed FROM vault_entries WHERE id & 1099511627775 = 0")]
    house.agree(care.forget, "d", "person")
    content = b"".join(f.read_bytes() for f in Path(house.place).parent.glob("data.vault*"))
    assert not any(s in content for s in sealed)
    (event,) = [e for e in care.read_log(house.auditor, actions=["forget"]) if e["outcome"] == "done"]
    assert event["count"] == 1
    shares = {"owner_share": house.owner_share, "auditor_share": house.auditor_share, "reason": "r"}
    (reveal,) = [e for e in care.read_log(house.auditor, actions=["reveal"]) if e["outcome"] == "done"]
    with pytest.raises(UsageError, match="no such audit pseudonym"):
        care.resolve(house.owner, house.auditor, reveal["subjects"][0], **shares)


def test_forgetting_in_a_large_domain(sqlite_house: House) -> None:
    """Beyond the young tier of the index: entries are taken out of the old one too."""
    house = sqlite_house
    house.owner.create_domain("d")
    people = [f"person {i}" for i in range(20_000)]
    made = house.operator.pseudonymize("d", people)
    for i in (0, 9_999, 19_999):
        house.agree(care.forget, "d", people[i])
    assert house.operator.find_many("d", [people[i] for i in (0, 1, 9_999, 19_998, 19_999)]) == [
        None,
        made[1],
        None,
        made[19_998],
        None,
    ]
    assert care.verify(house.owner).ok


def test_forgetting_self_made_pseudonyms_and_kinds_without_a_table(house: House) -> None:
    domain = house.owner.create_domain("own", kind="self-generated")
    given = Holder.generate().registration(house.vault.id, domain.id)
    house.operator.register("own", given, identity="0012-aria")
    assert house.agree(care.forget, "own", given["pseudonym"])["records"] == 1
    assert list(house.reveal("own", [given["pseudonym"]]).values()) == [None]
    assert care.verify(house.owner).ok
    for kind in ("keyed", "reversible", "format-preserving"):
        house.owner.create_domain(kind, kind=kind)
        for call in (care.forget, care.export):
            with pytest.raises(UsageError, match="keeps no table"):
                call(house.owner, kind, "0012-aria")
    house.owner.create_domain("d")
    assert house.agree(care.forget, "d", "nobody")["records"] == 0


def test_what_is_held_about_a_person(house: House) -> None:
    house.owner.create_domain("d", scope="role")
    house.owner.create_domain("e")
    house.connect("d", "e")
    made = [house.operator.pseudonymize("d", ["0012-aria", "0013-bram"], role=role)[0] for role in ("patient", "donor")]
    house.reveal("d", made[:1], role="patient")
    house.operator.translate(made[:1], source="d", target="e", purpose="study")
    found = house.agree(care.export, "d", " 0012-aria")
    assert sorted(found["pseudonyms"]) == sorted(made)
    assert [(t["action"], t["purpose"]) for t in found["told"]] == [("reveal", "adverse event"), ("translate", "study")]
    assert "0012-aria" not in json.dumps(found)
    assert house.agree(care.export, "d", "nobody")["pseudonyms"] == []


class _Place(BaseHTTPRequestHandler):
    kept: ClassVar[list[bytes]] = []
    status = 201

    def do_POST(self) -> None:
        self.kept.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def place() -> Iterator[str]:
    _Place.kept, _Place.status = [], 201
    server = HTTPServer(("127.0.0.1", 0), _Place)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/log"
    server.shutdown()
    thread.join()
    server.server_close()


def test_nobody_is_told_what_no_witness_has_seen(house: House, tmp_path: Path, place: str) -> None:
    house.owner.create_domain("d")
    (made,) = house.operator.pseudonymize("d", ["person"])
    file = tmp_path / "away" / "witness.jsonl"
    house.auditor.confirm(house.owner.set_witness([str(file), place]).id)
    asked = house.request("d", [made])
    house["Aldo"].approve(asked.id)
    with pytest.raises(EngineError, match="witness"):  # the folder is not there
        house["Rita"].reveal(asked.id)
    file.parent.mkdir()
    _Place.status = 500
    with pytest.raises(EngineError, match="witness"):
        house["Rita"].reveal(asked.id)
    _Place.status = 201
    assert house["Rita"].reveal(asked.id).identities == {made: "person"}  # the refusals did not use the approval up
    with pytest.raises(AccessError, match="delivered before"):
        house["Rita"].reveal(asked.id)
    kept = witness.read(file)
    assert [json.loads(body) for body in _Place.kept][-1] == kept[-1]
    assert care.verify_log(house.auditor, anchors=kept).ok
    with house.vault.store.read() as tx:
        announced = [e["n"] for e in audit.events(tx, actions=["reveal"]) if e["outcome"] == "announced"]
    assert {k["seq"] for k in kept} <= set(announced)
    rows = care.report(house.auditor)
    assert [sum(row[part] for row in rows) for part in ("reveals", "records", "refused")] == [1, 1, 3]
    assert len(care.reveals(house.auditor)) == 1
    house.auditor.confirm(house.owner.set_witness([]).id)
    house.reveal("d", [made])
    assert witness.read(file) == kept


@pytest.mark.parametrize("wrong", ["relative.jsonl", "http://example.org/log", "ftp://x/y"])
def test_places_that_are_no_witness(house: House, wrong: str) -> None:
    with pytest.raises(UsageError):
        house.owner.set_witness([wrong])
