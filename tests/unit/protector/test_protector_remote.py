"""A served vault: the key stays with the service, and every command works through it with nothing but a token."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from protector_support import House
from servers import tools
from shoal.cli import main
from shoal.errors import AccessError, DataError, EngineError, UsageError
from shoal.protector import Holder, Limit, Renewal
from shoal.protector.crypto import recipients
from shoal.protector.people.changes import SecondPersonNeeded
from shoal.protector.remote import RemoteSession, RemoteVault

pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")


@pytest.fixture(params=["unix", "http"])
def served(sqlite_house: House, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[House, str]]:
    """A vault behind a real server, and its address."""
    from shoal.server.protector.api import create_app

    house = sqlite_house
    house.tokens["Otto"], house.tokens["Udo"] = house.token("Otto"), house.token("Udo")
    if request.param == "unix":
        where: dict[str, Any] = {"uds": str(tmp_path / "v.sock")}
        place = f"unix:{tmp_path / 'v.sock'}"
    else:
        port = tools.free_port()
        where, place = {"host": "127.0.0.1", "port": port}, f"http://127.0.0.1:{port}"
    server = uvicorn.Server(uvicorn.Config(create_app(house.vault), log_level="warning", lifespan="off", **where))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield house, place
    server.should_exit = True
    thread.join()


def people(served: tuple[House, str]) -> dict[str, RemoteSession]:
    house, place = served
    return {name: RemoteVault(place).login(token) for name, token in house.tokens.items()}


def agree(owner: RemoteSession, second: RemoteSession, call: Callable[[], Any]) -> Any:
    with pytest.raises(SecondPersonNeeded) as needed:
        call()
    second.confirm(needed.value.change.id)
    return call()


def test_the_walk_through_the_service(served: tuple[House, str]) -> None:
    who = people(served)
    otto, udo, olga, rita, aldo = (who[name] for name in ("Otto", "Udo", "Olga", "Rita", "Aldo"))
    made = otto.create_domain("d", prefix="Q-", clean=("case", "blanks"), renewal=Renewal())
    assert (made.prefix, made.clean) == ("Q-", ("case", "blanks"))
    otto.create_domain("e e")
    agree(otto, udo, lambda: otto.allow_translation("d", "e e"))
    pseudonyms = olga.pseudonymize("d", ["0012", " 0012", None, "0013"])
    assert pseudonyms[0] == pseudonyms[1] != pseudonyms[3]
    assert pseudonyms[2] is None
    assert olga.find("d", "0012") == pseudonyms[0]
    assert olga.find_many("d", ["nobody", "0013"], purpose="p") == [None, pseudonyms[3]]
    assert olga.translate([pseudonyms[0]], source="d", target="e e", purpose="p")[0].startswith("P-")  # type: ignore[union-attr]
    secret, public = recipients.generate()
    asked = rita.request("d", pseudonyms[:1], purpose="p", case="1", recipient=public)
    assert [r.id for r in aldo.requests()] == [asked.id]
    with pytest.raises(AccessError, match="not the request that was read"):
        aldo.approve(asked.id, digest="0" * 64)
    aldo.approve(asked.id, digest=asked.digest)
    found = rita.reveal(asked.id)
    assert recipients.unseal(secret, found.sealed, asked.id) == {pseudonyms[0]: "0012"}
    with pytest.raises(AccessError, match="delivered before"):
        rita.reveal(asked.id)
    second = rita.request("d", pseudonyms[:1], purpose="p", case="1")
    aldo.approve(second.id)
    assert rita.reveal(second.id).identities == {pseudonyms[0]: "0012"}
    assert rita.withdraw(rita.request("d", pseudonyms[:1], purpose="p", case="1").id).status == "withdrawn"
    assert udo.care.verify_log(udo, acknowledged=0).ok
    assert sum(row["records"] for row in udo.care.report(udo, period="day")) == 2
    assert len(udo.care.reveals(udo, purpose="p")) == 2
    assert udo.care.read_log(udo, last=3)[-1]["n"] > 3


def test_owners_and_the_second_person_through_the_service(served: tuple[House, str]) -> None:
    house, place = served
    who = people(served)
    otto, udo = who["Otto"], who["Udo"]
    change = otto.add_actor("Nina", ["operator"])
    with pytest.raises(AccessError, match="nobody confirms"):
        otto.confirm(change.id)
    assert [c.code for c in udo.changes()] == [""]
    token = RemoteVault(place).enrol(change.code, udo.confirm(change.id).code)
    with pytest.raises(AccessError, match="not valid"):
        RemoteVault(place).enrol(change.code)
    nina = RemoteVault(place).login(token)
    otto.create_domain("d")
    otto.create_domain("other")
    nina.pseudonymize("d", ["x"])
    udo.confirm(otto.set_limit("find", Limit(3600.0, 0, None)).id)
    with pytest.raises(AccessError, match="over the limit"):
        nina.find("d", "x")
    assert agree(otto, udo, lambda: otto.care.rotate_domain(otto, "d")).active == 2
    assert agree(otto, udo, lambda: otto.care.rotate_signer(otto))
    assert agree(otto, udo, lambda: otto.care.shred(otto, "d", confirm="d"))["name"] == "d"
    assert otto.care.verify(otto).ok
    anchors = [otto.care.checkpoint(otto)]
    assert udo.care.verify_log(udo, anchors=anchors).ok
    planted = otto.plant_honeytoken("other")
    assert planted.pseudonym.startswith("P-")
    agree(otto, udo, lambda: otto.withdraw_honeytoken("other", planted.pseudonym))
    assert otto.grant("Nina", ["requester"]) is not None
    assert otto.grant("Nina", ["operator"], enabled=False) is None
    narrow = otto.issue_token("Olga", domains=["other"])
    assert RemoteVault(place).enrol(narrow.code, udo.confirm(narrow.id).code)
    assert otto.revoke_tokens("Olga") == 2
    assert udo.refuse(otto.set_limit("find", Limit(3600.0, 5, None)).id).status == "denied"
    assert otto.status()["vault"] == house.vault.id
    assert RemoteVault(place).status()["alive"]
    with pytest.raises(UsageError, match="machine of the vault"):
        otto.care.rotate_master(otto, house.key)


def test_large_columns_and_repeating_scopes_go_in_parts(served: tuple[House, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.protector.remote.MOST", 3)
    who = people(served)
    otto, olga = who["Otto"], who["Olga"]
    otto.create_domain("d")
    otto.create_domain("t", scope="transaction")
    otto.create_domain("u", renewal=Renewal(uses=2))
    column = pa.array(["a", None, "b", "a", "c", "d", "a"])
    made = olga.pseudonymize("d", column).to_pylist()
    assert made[0] == made[3] == made[6]
    assert made[1] is None
    assert len(set(made)) == 5
    each = olga.pseudonymize("t", column).to_pylist()
    assert (len(set(each)), each[1]) == (7, None)
    renewed = olga.pseudonymize("u", column).to_pylist()
    assert renewed[0] == renewed[3] != renewed[6]


def test_self_generated_pseudonyms_through_the_service(served: tuple[House, str]) -> None:
    house, _ = served
    who = people(served)
    domain = who["Otto"].create_domain("own", kind="self-generated")
    me = Holder.generate()
    given = me.registration(house.vault.id, domain.id)
    who["Olga"].register("own", given, identity="0012")
    challenge = who["Olga"].challenge("own", given["pseudonym"])
    assert who["Olga"].check_ownership("own", given["pseudonym"], challenge, me.prove(house.vault.id, domain.id, challenge))
    assert who["Olga"].vault.id == house.vault.id


def test_errors_keep_their_kind_and_tell_no_value(served: tuple[House, str]) -> None:
    _, place = served
    who = people(served)
    who["Otto"].create_domain("n", check="nhs")
    for call, kind in (
        (lambda: RemoteVault(place).login("shoal-wrong").domains(), AccessError),
        (lambda: who["Olga"].pseudonymize("nowhere", ["secret name"]), UsageError),
        (lambda: who["Olga"].pseudonymize("n", ["secret name"]), DataError),
        (lambda: who["Rita"].create_domain("x"), AccessError),
        (lambda: who["Otto"].create_domain("x", kind="rundom"), UsageError),
        (lambda: who["Otto"].set_limit("nothing", Limit(1.0, 1, 1)), UsageError),
        (lambda: RemoteVault("unix:/nowhere/at-all.sock").login("x").domains(), EngineError),
    ):
        with pytest.raises(kind) as told:
            call()
        assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    "place", ["http://example.org", "http://example.org:80", "https://u:p@example.org", "https://h/x?token=1"]
)
def test_addresses_that_would_leak_a_token(place: str) -> None:
    with pytest.raises(UsageError):
        RemoteVault(place)


def test_the_commands_need_no_key(
    served: tuple[House, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    house, place = served
    for name in ("SHOAL_VAULT_KEY", "SHOAL_VAULT_KEY_FILE", "SHOAL_VAULT_TOKEN", "SHOAL_VAULT_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SHOAL_VAULT", place)
    monkeypatch.chdir(tmp_path)
    for name, token in house.tokens.items():
        (tmp_path / f"{name}.token").write_text(token)
        (tmp_path / f"{name}.token").chmod(0o600)

    def shoal(*words: str, who: str = "", code: int = 0) -> Any:
        with pytest.raises(SystemExit) as stop:
            main(["vault", *words, "--json", *(["--token-file", f"{who}.token"] if who else [])])
        out = capsys.readouterr()
        assert stop.value.code == code, out.err
        return json.loads(out.out)

    assert shoal("status")["alive"]
    shoal("domain", "add", "study", who="Otto")
    (tmp_path / "in.csv").write_text("patient,age\n0012,30\n0013,40\n0012,31\n")
    done = shoal("pseudonymize", "in.csv", "--domain", "study", "--id", "patient", "-o", "out.csv", who="Olga")
    assert done["rows"] == 3
    first = (tmp_path / "out.csv").read_text().split()[1].split(",")[0].strip('"')
    asked = shoal("request", first, "--domain", "study", "--reason", "r", "--case", "1", who="Rita")["id"]
    shoal("approve", asked, who="Aldo")
    shoal("reveal", asked, "-o", "who.json", who="Rita")
    assert json.loads((tmp_path / "who.json").read_text())["identities"] == {first: "0012"}
    change = shoal("rotate", "--domain", "study", who="Otto", code=1)["error"]["message"].split()[0]
    shoal("confirm", change, who="Udo")
    archive = shoal("audit", "--segments", "log", who="Udo")
    change = shoal("retire", "log", who="Otto", code=1)["error"]["message"].split()[0]
    (waiting,) = [c for c in shoal("changes", who="Udo")["changes"] if c["id"] == change]
    assert waiting["what"] == {"upto": archive["events"], "head": archive["head"]}
    shoal("confirm", change, who="Udo")
    left = shoal("retire", "log", who="Otto")
    assert (left["events"], left["upto"]) == (archive["events"], archive["events"])
    assert shoal("audit", "--segments", "log", who="Udo")["ok"]
    signed = json.loads((tmp_path / "log" / archive["written"][-1]).read_text())["checkpoint"]
    (tmp_path / "many.jsonl").write_text((json.dumps(signed) + "\n") * 101)
    assert shoal("audit", "--against", "many.jsonl", who="Udo")["ok"]
    assert shoal("rotate", "--domain", "study", who="Otto")["key_id"]
    change = shoal("actor", "add", "Nina", "--role", "operator", "--code-out", "n.one", who="Otto")["change"]
    shoal("confirm", change, "--code-out", "n.two", who="Udo")
    shoal("enrol", "--code-file", "n.one", "--code-file", "n.two", "--token-out", "Nina.token")
    assert [d["name"] for d in shoal("domain", "list", who="Nina")["domains"]] == ["study"]
    assert shoal("audit", "--verify", who="Udo")["ok"]
    assert shoal("audit", "--report", "day", who="Udo")["reveals"]
    assert shoal("verify", who="Otto")["ok"]
    assert shoal("checkpoint", "--out", "c.json", who="Otto")["seq"]
    shoal("backup", "-o", "b.backup", who="Otto", code=2)  # on the vault's own machine
    assert shoal("anchor", "--accept", "--second-token-file", "Udo.token", who="Otto", code=2)["error"]["type"] == "UsageError"


def test_serving_alone_and_the_whole_service(sqlite_house: House) -> None:
    """Health without a token, metrics with one; a service without a vault has none of it."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from fastapi.testclient import TestClient

    from shoal.server.protector.api import create_app

    house = sqlite_house
    with TestClient(create_app(house.vault), base_url="http://127.0.0.1") as client:
        assert client.get("/vault/v1/health").json() == {"done": True}
        assert client.get("/vault/v1/metrics").status_code == 401
        told = client.get("/vault/v1/metrics", headers={"Authorization": f"Bearer {house.tokens['Olga']}"})
        with house.vault.store.read() as tx:
            assert f"shoal_vault_audit_events {tx.state.audit_seq}\n" in told.text
        counted = {line.split()[0]: int(line.split()[1]) for line in told.text.splitlines() if not line.startswith("#")}
        assert counted["shoal_vault_recent_refusals"] == counted["shoal_vault_recent_alarms"] == 0
        house.owner.require_factor(["approver"])
        with pytest.raises(AccessError):
            house.owner.confirm(house.owner.changes()[0].id)
        told = client.get("/vault/v1/metrics", headers={"Authorization": f"Bearer {house.tokens['Olga']}"})
        for name in ("recent_refusals", "recent_alarms", "waiting_changes"):
            assert f"shoal_vault_{name} 1\n" in told.text
        assert client.post("/vault/v1/enrol", json={"codes": ["x" * 5000]}).status_code == 413
        assert client.post("/vault/v1/enrol", json={"codes": ["enrol-x"]}).status_code == 401


def test_rights_and_corrections_through_the_service(
    served: tuple[House, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house, place = served
    who = people(served)
    otto, udo, olga = (who[name] for name in ("Otto", "Udo", "Olga"))
    otto.create_domain("d")
    made = olga.pseudonymize("d", ["0012", "0021"])
    files = {}
    for name, text in {"one": "0021", "into": "0012", "token": house.tokens["Otto"]}.items():
        files[name] = tmp_path / f"{name}.txt"
        files[name].write_text(text)
        files[name].chmod(0o600)

    def correct(*words: str, code: int) -> dict[str, Any]:
        line = ["vault", "correct", "d", "--identity-file", str(files["one"]), *words, "--json", "--vault", place]
        with pytest.raises(SystemExit) as stop:
            main([*line, "--token-file", str(files["token"])])
        assert stop.value.code == code
        return dict(json.loads(capsys.readouterr().out))

    correct(code=2)
    correct("--split", "--into-file", str(files["into"]), code=2)
    merging = ["--into-file", str(files["into"])]
    udo.confirm(correct(*merging, code=1)["error"]["message"].split()[0])
    assert set(correct(*merging, code=0)) == {"domain", "merged", "into"}
    assert olga.pseudonymize("d", ["0021"]) == made[:1]
    held = agree(otto, udo, lambda: otto.care.export(otto, "d", "0021"))
    assert sorted(held["pseudonyms"]) == sorted(made)
    udo.confirm(correct("--split", code=1)["error"]["message"].split()[0])
    assert set(correct("--split", code=0)) == {"domain", "split", "from"}
    assert olga.pseudonymize("d", ["0021"]) == made[1:]
    assert agree(otto, udo, lambda: otto.care.forget(otto, "d", "0021"))["records"] == 1
    assert olga.find_many("d", ["0012", "0021"]) == [made[0], None]


def test_factors_and_lent_tokens_through_the_service(
    served: tuple[House, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import base64

    from shoal.protector.people import factors

    house, place = served
    who = people(served)
    otto, udo, aldo, olga = (who[name] for name in ("Otto", "Udo", "Aldo", "Olga"))
    otto.create_domain("d")

    def run(name: str, *words: str, code: int = 0) -> dict[str, Any]:
        token = tmp_path / f"{name}.token"
        if not token.exists():
            token.write_text(house.tokens[name])
            token.chmod(0o600)
        with pytest.raises(SystemExit) as stop:
            main(["vault", *words, "--json", "--vault", place, "--token-file", str(token)])
        assert stop.value.code == code
        return dict(json.loads(capsys.readouterr().out))

    run("Otto", "factor", code=2)
    udo.confirm(run("Otto", "factor", "--require", "approver")["change"])
    run("Aldo", "factor", "--out", str(tmp_path / "app.txt"))
    text = (tmp_path / "app.txt").read_text().strip()
    secret = base64.b32decode(text.split("secret=")[1].split("&")[0])
    asked = who["Rita"].request("d", olga.pseudonymize("d", ["0012"]), purpose="p", case="1")
    with pytest.raises(AccessError, match="one-time code"):
        aldo.approve(asked.id)
    run(
        "Aldo",
        "approve",
        asked.id,
        "--digest",
        "0" * 64,
        "--factor",
        factors.code(secret, factors.counter(house.clock.now)),
        code=1,
    )
    house.clock.now += 30
    code = factors.code(secret, factors.counter(house.clock.now))
    assert run("Aldo", "approve", asked.id, "--digest", asked.digest, "--factor", code)["status"] == "approved"
    run("Olga", "delegate", "find", "--domain", "d", "--minutes", "5", "--token-out", str(tmp_path / "job.token"))
    lent = RemoteVault(place).login((tmp_path / "job.token").read_text().strip())
    assert lent.find("d", "0012") == asked.pseudonyms[0]
    with pytest.raises(AccessError, match="lent to find"):
        lent.pseudonymize("d", ["0012"])
    with pytest.raises(AccessError, match="one action only"):
        lent.delegate("find", seconds=1)
