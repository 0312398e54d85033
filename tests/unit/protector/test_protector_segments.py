"""The log in closed segments, and witnesses by letter."""

from __future__ import annotations

import base64
import hashlib
import json
import socketserver
import threading
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from protector_support import House
from shoal.cli import main
from shoal.errors import EngineError, TamperError, UsageError
from shoal.protector import care
from shoal.protector.log import checkpoints, segments, witness
from shoal.protector.store.guard import chained


def fetch(house: House, most: int) -> Any:
    """The auditor's calls, with small segments."""

    def one(after: int) -> dict[str, Any]:
        with house.auditor.frame.acting("audit") as (tx, now):
            end = tx.state.audit_seq
            house.auditor.frame.log(tx, now, "audit", detail="log exported")
            return {**segments.cut(tx, after, now, most=most), "end": end}

    return one


def busy(house: House, events: int) -> None:
    for number in range(events):
        house.operator.pseudonymize("d", ["x"])
        if number % 4 == 3:
            care.checkpoint(house.owner)


@pytest.fixture
def archive(sqlite_house: House, tmp_path: Path) -> Path:
    """Three segments or more of a log."""
    sqlite_house.owner.create_domain("d")
    busy(sqlite_house, 12)
    folder = tmp_path / "archive"
    segments.export(folder, fetch(sqlite_house, 15))
    return folder


def test_segments_continue_each_other_and_hold_the_log(sqlite_house: House, archive: Path) -> None:
    first = segments.check(archive)
    assert first.ok
    assert first.segments >= 3
    busy(sqlite_house, 3)
    written = segments.export(archive, lambda after: care.log_segment(sqlite_house.auditor, after))
    found = segments.check(archive)
    assert len(written) == 1
    assert found.ok
    assert found.segments == first.segments + 1
    with sqlite_house.vault.store.read() as tx:
        assert (found.events, found.head) == (tx.state.audit_seq, tx.state.audit_head)
        (key,) = checkpoints.signing_keys(tx)
    assert segments.check(archive, keys=(key["id"],)).ok
    assert not segments.check(archive, keys=("00" * 8,)).ok
    kept = [json.loads(file.read_text())["checkpoint"] for file in sorted(archive.glob("*.json"))]
    assert care.verify_log(sqlite_house.auditor, anchors=kept).ok
    assert len(segments.export(archive, lambda after: care.log_segment(sqlite_house.auditor, after))) == 1, "nothing new is fine"
    text = "".join(file.read_text() for file in archive.glob("*.json"))
    assert "pseudonymize" not in text
    assert "Olga" not in text


@pytest.mark.parametrize("harm", ["event", "order", "signature", "cut", "first", "last", "vault", "form", "empty"])
def test_every_harm_is_found(archive: Path, harm: str) -> None:
    files = sorted(archive.glob("*.json"))
    body = json.loads(files[1].read_text())
    if harm == "event":
        raw = bytearray(base64.b64decode(body["events"][0]))
        raw[-1] ^= 1
        body["events"][0] = base64.b64encode(raw).decode()
    elif harm == "order":
        body["events"][:2] = body["events"][1::-1]
    elif harm == "signature":
        body["checkpoint"]["time"] = "2020-01-01T00:00:00.000+00:00"
    elif harm == "cut":
        body["events"].pop()
    elif harm == "vault":
        body["vault"] = "00" * 16
    elif harm == "form":
        body["events"][0] = "?"
    files[1].write_text(json.dumps(body))
    if harm in ("first", "last"):
        files[0 if harm == "first" else 1].unlink()
    if harm == "empty":
        for file in files:
            file.unlink()
    found = segments.check(archive)
    assert not found.ok
    assert len(found.problems) == 1


def test_a_forged_segment_is_signed_by_a_strange_key(sqlite_house: House, archive: Path) -> None:
    """A whole archive can be made up; its key is not the vault's, and its id cannot be borrowed."""
    file = sorted(archive.glob("*.json"))[0]
    body = json.loads(file.read_text())
    forger = Ed25519PrivateKey.generate()
    signed = {k: v for k, v in body["checkpoint"].items() if k not in ("signature", "public_key")}
    text = json.dumps(signed, separators=(",", ":"), sort_keys=True).encode()
    body["checkpoint"] |= {"signature": forger.sign(text).hex(), "public_key": forger.public_key().public_bytes_raw().hex()}
    file.write_text(json.dumps(body))
    assert not segments.check(archive).ok, "the id of the key is that of its public half"


def test_an_export_refuses_what_it_does_not_continue(sqlite_house: House, archive: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ends at event"):
        care.log_segment(sqlite_house.auditor, 10**6)
    other = tmp_path / "other"
    other.mkdir()
    last = sorted(archive.glob("*.json"))[-1]
    (other / last.name).write_text(last.read_text())
    with pytest.raises(TamperError, match="does not hold"):
        segments.export(other, lambda after: care.log_segment(sqlite_house.auditor, after))
    with pytest.raises(TamperError, match="does not continue"):
        segments.export(archive, lambda after: {**care.log_segment(sqlite_house.auditor, after), "before": "00" * 32})


CONTINUES, ALTERED, NO_SEGMENT = "does not continue", "was altered", "is not a segment"
LIES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "none": ({}, {}, ""),
    "numbered one too high": ({"first": 5}, {}, CONTINUES),
    "another hash before": ({"before": "11" * 32}, {}, CONTINUES),
    "another vault": ({"vault": "cd" * 16}, {"vault": "cd" * 16}, CONTINUES),
    "signed for another vault": ({}, {"vault": "cd" * 16}, ALTERED),
    "another last event": ({"last": 7}, {}, ALTERED),
    "signed for one event more": ({"last": 7}, {"seq": 7}, ALTERED),
    "signed with another hash": ({}, {"head": "11" * 32}, ALTERED),
    "no events": ({"events": [], "last": 3}, {"seq": 3}, NO_SEGMENT),
    "no number": ({}, {"seq": "6"}, NO_SEGMENT),
}
"""What is wrong in the second segment, in its signed checkpoint, and how it is refused."""


def _made_up(file: Path, body: dict[str, Any], lie: dict[str, Any], signed: dict[str, Any], key: Ed25519PrivateKey) -> str:
    """A segment as Shoal 0.3.0 wrote it, whose hashes fit what it says, signed with a key of one's own; the hash after it."""
    body = body | lie
    head = bytes.fromhex(body["checkpoint"]["before"])
    for place, event in enumerate(body["events"]):
        head = chained(head, body["first"] + place, base64.b64decode(event))
    public = key.public_key().public_bytes_raw()
    own = {"format": "shoal-audit-checkpoint/1", "vault": "ab" * 16, "seq": body["checkpoint"]["seq"], "head": head.hex()}
    own |= {"key": hashlib.sha256(public).hexdigest()[:16], "time": "2026-01-01T00:00:00.000+00:00", **signed}
    text = json.dumps(own, separators=(",", ":"), sort_keys=True).encode()
    own |= {"signature": key.sign(text).hex(), "public_key": public.hex()}
    file.write_text(json.dumps(body | {"checkpoint": own}))
    return head.hex()


@pytest.mark.parametrize("name", LIES)
def test_each_lie_of_a_forger_with_a_key_is_found_by_itself(tmp_path: Path, name: str) -> None:
    key, head = Ed25519PrivateKey.generate(), "00" * 32
    lie, signed, refused = LIES[name]
    for i in (0, 1):
        events = [base64.b64encode(bytes([i, n])).decode() for n in range(3)]
        body = {"format": segments.FORMAT, "vault": "ab" * 16, "first": 3 * i + 1, "last": 3 * i + 3, "before": head}
        body |= {"events": events, "checkpoint": {"before": head, "seq": 3 * i + 3}}
        head = _made_up(tmp_path / f"log-{i}.json", body, lie if i else {}, signed if i else {}, key)
    found = segments.check(tmp_path)
    assert found.ok == (not refused)
    assert [refused in problem for problem in found.problems] == [True] * bool(refused)


def test_a_segment_ends_where_the_log_does_or_at_a_checkpoint(sqlite_house: House) -> None:
    house = sqlite_house
    signed = care.checkpoint(house.owner)["seq"]
    for name in ("d", "e"):
        house.owner.create_domain(name)
    with house.auditor.frame.acting("audit") as (tx, now):
        end = tx.state.audit_seq
        assert end > signed + 1
        assert segments.cut(tx, 0, now, most=end - 1)["last"] == signed
        with pytest.raises(TamperError, match="a checkpoint of the log is missing"):
            segments.cut(tx, signed, now, most=1)
        with pytest.raises(UsageError, match=f"the log ends at event {end}"):
            segments.cut(tx, end, now)
        assert segments.cut(tx, 0, now, most=end)["last"] == end


@pytest.mark.parametrize("name", ["cut", "retire"])
def test_a_log_that_lacks_an_event_is_neither_cut_nor_retired(sqlite_house: House, name: str) -> None:
    signed = care.checkpoint(sqlite_house.owner)

    def without_an_event() -> None:
        with sqlite_house.auditor.frame.acting("audit") as (tx, now):
            tx.run("DELETE FROM vault_audit WHERE seq = 2")
            segments.cut(tx, 0, now) if name == "cut" else segments.retire(tx, signed["seq"], signed["head"])

    with pytest.raises(TamperError, match="events of the log are missing"):
        without_an_event()


def test_an_export_goes_on_with_the_same_vault(sqlite_house: House, archive: Path) -> None:
    with pytest.raises(TamperError, match="does not continue"):
        segments.export(archive, lambda after: {**care.log_segment(sqlite_house.auditor, after), "vault": "00" * 16})


def test_by_command(sqlite_house: House, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*words: str) -> tuple[Any, str]:
        with pytest.raises(SystemExit) as ended:
            main(words)
        return ended.value.code, capsys.readouterr().out

    code, out = run("vault", "segments", str(archive), "--json")
    assert code == 0
    assert json.loads(out)["events"] > 12
    assert "segments hold" in run("vault", "segments", str(archive))[1]
    sorted(archive.glob("*.json"))[1].unlink()
    assert run("vault", "segments", str(archive))[0] == 1


class _Mail(socketserver.StreamRequestHandler):
    """As much of SMTP as a letter needs."""

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        letter = b""
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                while (part := self.rfile.readline()) != b".\r\n":
                    letter += part
                self.server.letters.append(letter)  # type: ignore[attr-defined]
            self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 fine\r\n")
            if word == b"QUIT":
                return


def test_no_identity_leaves_before_the_letters_are_taken(sqlite_house: House, tmp_path: Path) -> None:
    house = sqlite_house
    house.owner.create_domain("d")
    (pseudonym,) = house.operator.pseudonymize("d", ["Anna"])
    (tmp_path / "letters").mkdir()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Mail) as server:
        server.letters = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            port = server.server_address[1]
            places = [f"smtp://127.0.0.1:{port}/auditor@example.org", f"eml:{tmp_path / 'letters'}"]
            house.auditor.confirm(house.owner.set_witness(places).id)
            assert list(house.reveal("d", [pseudonym]).values()) == ["Anna"]
        finally:
            server.shutdown()
            thread.join()
        (sent,) = server.letters  # type: ignore[attr-defined]
    assert b"To: auditor@example.org" in sent
    assert b"Anna" not in sent
    (tmp_path / "one.eml").write_bytes(sent)
    for kept in (tmp_path / "one.eml", tmp_path / "letters"):
        found = witness.read(kept)
        assert len(found) == 1
        assert care.verify_log(house.auditor, anchors=found).ok
    asked = house.request("d", [pseudonym])
    house["Aldo"].approve(asked.id)
    with pytest.raises(EngineError, match="witness"):
        house["Rita"].reveal(asked.id)


@pytest.mark.parametrize(
    "place",
    ["smtp://mail.example.org", "smtp:///a@b.c", "smtp://u:p@mail.example.org/a@b.c", "smtp://mail.example.org/a@b.c?x=1",
     "smtp://mail.example.org/a@b.c\nb", "smtp://mail.example.org:x/a@b.c", "smtp://m/a b@c", "eml:letters", "ftp://x/y"],
)  # fmt: skip
def test_places_that_are_no_witness(place: str) -> None:
    with pytest.raises(UsageError):
        witness.check([place])
