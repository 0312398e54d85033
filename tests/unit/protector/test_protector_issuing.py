"""Blind issuing: the vectors of RFC 9474, one credential for each person, each used once, and nothing that connects the two."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from protector_support import House
from shoal.errors import AccessError, DataError, UsageError
from shoal.protector import Limit, care, issuing
from shoal.protector.crypto import blind_rsa
from shoal.protector.crypto.primitives import Secret
from shoal.protector.people import limits

_READ = json.loads((Path(__file__).parent / "rfc9474.json").read_text())
RFC = {name: "".join(text) for name, text in _READ.items()}
KEY = blind_rsa.generate(2048)
"""Made once: a smaller key than the vault's own."""


def number(name: str) -> int:
    return int(RFC[name], 16)


def test_the_vector_of_the_rfc() -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    p, q, e = number("p"), number("q"), number("e")
    n, d = p * q, pow(e, -1, (p - 1) * (q - 1))
    prepared = blind_rsa.prepare(bytes.fromhex(RFC["msg"]), bytes.fromhex(RFC["prefix"]))
    r = pow(number("inv"), -1, n)
    blinded, inverse = blind_rsa.blind(n, e, prepared, salt=bytes.fromhex(RFC["salt"]), r=r)
    assert blinded.hex() == RFC["blinded"]
    assert inverse == number("inv")
    held = rsa.RSAPrivateNumbers(
        p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), rsa.RSAPublicNumbers(e, n)
    ).private_key(unsafe_skip_rsa_key_validation=True)  # fmt: skip
    form = serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    signed = blind_rsa.blind_sign(Secret(held.private_bytes(*form)), blinded)
    assert signed.hex() == RFC["blind_sig"]
    assert blind_rsa.finalize(n, e, prepared, signed, inverse).hex() == RFC["sig"]
    assert blind_rsa.verify(n, e, prepared, bytes.fromhex(RFC["sig"]))
    assert not blind_rsa.verify(n, e, prepared + b"\0", bytes.fromhex(RFC["sig"]))


def test_numbers_outside_the_modulus_are_refused() -> None:
    n = int(blind_rsa.public_of(KEY)["n"], 16)
    length = blind_rsa.size(n)
    for bad in (0, n, n + 1):
        with pytest.raises(DataError, match="not a blinded message"):
            blind_rsa.blind_sign(KEY, bad.to_bytes(length, "big"))
    for bad in ((1).to_bytes(length - 1, "big"), (1).to_bytes(length + 1, "big"), b""):
        with pytest.raises(DataError, match="not a blinded message"):
            blind_rsa.blind_sign(KEY, bad)
    assert blind_rsa.blind_sign(KEY, (n - 1).to_bytes(length, "big")) == (n - 1).to_bytes(length, "big")


def test_the_same_message_is_blinded_otherwise_each_time() -> None:
    public = blind_rsa.public_of(KEY)
    n, e = int(public["n"], 16), int(public["e"], 16)
    prepared = blind_rsa.prepare(b"x")
    seen = {blind_rsa.blind(n, e, prepared)[0] for _ in range(3)}
    assert len(seen) == 3


@pytest.fixture
def members(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> House:
    """A vault with two enrolled people and an issuer (its key is the small one)."""
    monkeypatch.setattr(blind_rsa, "generate", lambda: KEY)
    sqlite_house.owner.create_domain("members")
    sqlite_house.operator.pseudonymize("members", ["Anna", "Bert"])
    sqlite_house.owner.create_issuer("survey", "members")
    return sqlite_house


def credential(house: House, who: str) -> tuple[dict[str, str], dict[str, str]]:
    """A credential for somebody, and the request she sent."""
    (issuer,) = house.operator.issuers()
    request, secret = issuing.begin(issuer)
    return issuing.finish(secret, house.operator.issue("survey", who, request["blinded"])), request


def redeem(house: House, held: dict[str, str]) -> str:
    return house.operator.redeem("survey", held["message"], held["signature"])


def test_a_person_gets_one_credential_and_uses_it_once(members: House) -> None:
    anna, _ = credential(members, "Anna")
    bert, _ = credential(members, " Bert ")
    made = {redeem(members, anna), redeem(members, bert)}
    assert len(made) == 2
    assert all(re.fullmatch(r"C-[0-9A-Z]{26}", name) for name in made)
    for held in (anna, bert):
        with pytest.raises(AccessError, match="used before"):
            redeem(members, held)
    with pytest.raises(AccessError, match="already"):
        credential(members, "Anna")
    with pytest.raises(AccessError, match="enrolled"):
        credential(members, "Carla")
    with members.reopen() as again, pytest.raises(AccessError, match="used before"):
        again.login(members.tokens["Olga"]).redeem("survey", anna["message"], anna["signature"])
    refused = [e["reason"] for e in care.read_log(members.auditor, actions=["issue", "redeem"]) if e["outcome"] == "refused"]
    assert refused == ["replay", "replay", "replay", "unknown", "replay"]


def test_nothing_in_the_vault_connects_a_credential_with_a_person(members: House) -> None:
    """What the issuer saw (request, answer, log, its own store) holds nothing of the credential, and fits any credential."""
    held, request = credential(members, "Anna")
    other, _ = credential(members, "Bert")
    name = redeem(members, held)
    with members.vault.store.read() as tx:
        objects = json.dumps([body for kind in range(1, 17) if kind not in (2, 9, 10) for body in tx.all(kind)])
    events = care.read_log(members.auditor, actions=["issue", "redeem"])
    text = objects + json.dumps(events)
    for secret in (held["message"], held["signature"], name, request["blinded"]):
        assert secret not in text
    assert all("subjects" not in e for e in events if e["action"] == "redeem")
    (issuer,) = members.operator.issuers()
    n, e = issuing.numbers(issuer)
    for one in (held, other):  # for each credential some blinding leads from it to this very request
        m = pow(int(one["signature"], 16), e, n)
        r_to_e = int(request["blinded"], 16) * pow(m, -1, n) % n
        r = int(blind_rsa.blind_sign(KEY, r_to_e.to_bytes(blind_rsa.size(n), "big")).hex(), 16)
        assert m * pow(r, e, n) % n == int(request["blinded"], 16)


def test_forged_credentials_and_answers_to_other_requests_are_refused(members: House) -> None:
    held, _ = credential(members, "Anna")
    turned = f"{int(held['signature'][0], 16) ^ 1:x}" + held["signature"][1:]
    for message, signature in ((held["message"], turned), (held["message"] + "00", held["signature"]), ("", ""), ("zz", "zz")):
        with pytest.raises(AccessError, match="not of this issuer"):
            members.operator.redeem("survey", message, signature)
    longer = blind_rsa.prepare(b"x" * 33)
    public = blind_rsa.public_of(KEY)
    n, e = int(public["n"], 16), int(public["e"], 16)
    blinded, inverse = blind_rsa.blind(n, e, longer)
    signature = blind_rsa.finalize(n, e, longer, blind_rsa.blind_sign(KEY, blinded), inverse).hex()
    with pytest.raises(AccessError, match="not of this issuer"):
        members.operator.redeem("survey", longer.hex(), signature)
    (issuer,) = members.operator.issuers()
    one, two = issuing.begin(issuer), issuing.begin(issuer)
    answer = members.operator.issue("survey", "Bert", one[0]["blinded"])
    with pytest.raises(DataError, match="not a signature of this request"):
        issuing.finish(two[1], answer)
    other = issuer["n"][:-1] + f"{int(issuer['n'][-1], 16) ^ 2:x}"  # odd as well, and never the same
    for spoilt in ({**issuer, "n": other}, {**issuer, "e": "3"}, {}):
        with pytest.raises(DataError, match="public key"):
            issuing.begin(spoilt)
    for bad in ("", "zz", "00"):
        with pytest.raises(DataError):
            issuing.finish(two[1], bad)
    new = "Carla"
    members.operator.pseudonymize("members", [new])
    with pytest.raises(DataError, match="blinded"):
        members.operator.issue("survey", new, "zz")


def test_asking_for_credentials_is_no_way_to_try_identities_out(members: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusals are kept: counted against the limit of look-ups, watched and logged; a spoilt request tells nothing."""
    monkeypatch.setattr(limits, "MANY", 2)
    members.set_limit("find", Limit(3600.0, 4, None))
    (issuer,) = members.operator.issuers()
    blinded = issuing.begin(issuer)[0]["blinded"]
    for identity in ("Anna", "Nobody"):
        with pytest.raises(DataError, match="blinded"):
            members.operator.issue("survey", identity, "zz")
    members.operator.issue("survey", "Anna", blinded)
    for number in (12, 11, 10):
        with pytest.raises(AccessError, match="enrolled"):
            members.operator.issue("survey", f"00{number}", blinded)
    for call in (lambda: members.operator.issue("survey", "Bert", blinded), lambda: members.operator.find("members", "Bert")):
        with pytest.raises(AccessError, match="over the limit"):
            call()
    found = [(e["outcome"], e.get("reason")) for e in care.read_log(members.auditor, actions=["issue"])]
    assert found == [("done", None), *[("refused", "unknown")] * 2, ("alarm", "sequence"), ("refused", "unknown"), *LIMITED]


LIMITED = [("refused", "limit"), ("alarm", "limit")]


def test_a_narrowed_token_sees_and_uses_only_its_own_issuers(members: House) -> None:
    held, _ = credential(members, "Anna")
    members.owner.create_domain("far")
    far = members.vault.login(members.token("Olga", domains=["far"]))
    assert far.issuers() == []
    with pytest.raises(AccessError, match="reach"):
        far.redeem("survey", held["message"], held["signature"])
    near = members.vault.login(members.token("Olga", domains=["members"]))
    assert [one["name"] for one in near.issuers()] == ["survey"]
    assert near.redeem("survey", held["message"], held["signature"]).startswith("C-")


def test_a_refused_request_does_not_use_up_the_persons_turn(members: House) -> None:
    with pytest.raises(DataError, match="blinded"):
        members.operator.issue("survey", "Anna", "00")
    credential(members, "Anna")


def test_rights_merges_forgetting_and_honeytokens(members: House) -> None:
    with pytest.raises(AccessError, match="role"):
        members.operator.create_issuer("other", "members")
    with pytest.raises(UsageError, match="already"):
        members.owner.create_issuer("survey", "members")
    members.owner.create_domain("keyed", kind="keyed")
    with pytest.raises(UsageError, match="random"):
        members.owner.create_issuer("other", "keyed")
    with pytest.raises(AccessError, match="no issuer"):
        members.operator.redeem("none", "00", "00")
    far = members.vault.login(members.token("Olga", domains=["keyed"]))
    with pytest.raises(AccessError, match="reach"):
        far.issue("survey", "Anna", "00")
    members.agree(care.merge, "members", "Bert", "Anna")
    credential(members, "Bert")
    with pytest.raises(AccessError, match="already"):
        credential(members, "Anna")
    members.agree(care.forget, "members", "Anna")
    members.operator.pseudonymize("members", ["Anna"])
    credential(members, "Anna")
    credential(members, members.owner.plant_honeytoken("members").identity)
    alarms = [e for e in care.read_log(members.auditor, actions=["issue"]) if e["outcome"] == "alarm"]
    assert [e["reason"] for e in alarms] == ["honeytoken"]
    assert care.verify(members.owner).ok


def test_who_has_a_credential_gets_no_second_one_by_a_merge_or_split(members: House) -> None:
    members.operator.pseudonymize("members", ["Anna", "Bert"])
    credential(members, "Bert")
    members.agree(care.merge, "members", "Bert", "Anna")
    for name in ("Anna", "Bert"):
        with pytest.raises(AccessError, match="already"):
            credential(members, name)
    members.operator.pseudonymize("members", ["Cora", "Dora"])
    members.agree(care.merge, "members", "Cora", "Dora")
    credential(members, "Cora")
    members.agree(care.split, "members", "Cora")
    with pytest.raises(AccessError, match="already"):
        credential(members, "Cora")


def test_by_command_over_a_service(members: House, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from shoal.cli import main
    from shoal.server.protector.api import create_app

    def run(*words: str) -> tuple[Any, str]:
        with pytest.raises(SystemExit) as ended:
            main(words)
        return ended.value.code, capsys.readouterr().out

    uvicorn = pytest.importorskip("uvicorn")
    for name, text in {"olga": members.tokens["Olga"], "otto": members.token("Otto"), "anna": "Anna"}.items():
        (tmp_path / name).write_text(text + "\n")
        (tmp_path / name).chmod(0o600)
    socket = tmp_path / "v.sock"
    server = uvicorn.Server(uvicorn.Config(create_app(members.vault), log_level="warning", lifespan="off", uds=str(socket)))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.02)
        url = f"unix:{socket}"
        made = run(
            "vault", "issuer", "add", "poll", "--domain", "members", "--vault", url, "--token-file", str(tmp_path / "otto")
        )
        assert made[0] == 0
        mine = ["--vault", url, "--token-file", str(tmp_path / "olga"), "--json"]
        code, out = run("vault", "issuer", "list", *mine)
        assert code == 0
        assert [one["name"] for one in json.loads(out)["issuers"]] == ["poll", "survey"]
        (tmp_path / "issuer.json").write_text(json.dumps(json.loads(out)["issuers"][1]))
        request, secret = str(tmp_path / "request.json"), str(tmp_path / "secret")
        assert (
            run("vault", "holder", "blind", "--issuer", str(tmp_path / "issuer.json"), "-o", request, "--secret-out", secret)[0]
            == 0
        )
        answer, held = str(tmp_path / "answer.json"), str(tmp_path / "credential")
        asked = ["--identity-file", str(tmp_path / "anna"), "--request", request, "-o", answer]
        assert run("vault", "issue", "survey", *asked, *mine)[0] == 0
        assert run("vault", "holder", "unblind", "--secret-file", secret, "--answer", answer, "-o", held)[0] == 0
        code, out = run("vault", "redeem", "survey", "--credential", held, *mine)
        assert code == 0
        assert json.loads(out)["pseudonym"].startswith("C-")
        assert run("vault", "redeem", "survey", "--credential", held, *mine)[0] != 0
        assert run("vault", "issue", "survey", *asked, *mine)[0] != 0
    finally:
        server.should_exit = True
        thread.join()
