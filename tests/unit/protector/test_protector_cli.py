"""``shoal vault`` end to end: the walk with four eyes, exit codes, and no secret on argv, stdout or in errors."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.cli import main


@pytest.fixture(scope="module")
def with_people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a vault whose people were added by commands; each test gets a copy of it."""
    return tmp_path_factory.mktemp("vault")


@pytest.fixture
def shoal(
    with_people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """Run the command as a person; its JSON answer."""
    for name in ("SHOAL_VAULT", "SHOAL_VAULT_TOKEN", "SHOAL_VAULT_KEY", "SHOAL_VAULT_ANCHOR", "SHOAL_VAULT_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SHOAL_VAULT_KEY_FILE", "safe/vault.key")
    monkeypatch.setenv("XDG_STATE_HOME", "state")  # the witnesses of a copy know nothing of another

    def run(*words: str, who: str = "", code: int = 0) -> Any:
        line = ["vault", *words, "--json"]
        if words[0] not in ("key", "init"):
            line += ["--vault", "data/study.vault"]
        if who:
            line += ["--token-file", f"hands/{who}.token"]
        with pytest.raises(SystemExit) as stop:
            main(line)
        out = capsys.readouterr()
        assert stop.value.code == code, out.err
        return json.loads(out.out)

    if not any(with_people.iterdir()):
        monkeypatch.chdir(with_people)
        add_people(run)
    shutil.copytree(with_people, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return run


def add_people(run: Callable[..., Any]) -> None:
    """A vault with its owner, its auditor and three more people in the current folder."""
    Path("safe").mkdir()
    Path("data").mkdir()
    assert run("key", "--out", "safe/vault.key")["key_id"]
    people = ["--owner", "Otto", "--auditor", "Udo", "--secrets", "hands"]
    assert run("init", "--vault", "data/study.vault", *people, "--domain", "study7")["domain"] == "study7"
    run("enrol", "--code-file", "hands/auditor.code", "--token-out", "hands/auditor.token")
    for name, role in (("Olga", "operator"), ("Rita", "requester"), ("Aldo", "approver")):
        asked = run("actor", "add", name, "--role", role, "--code-out", f"hands/{name}.one", who="owner")
        run("confirm", asked["change"], "--code-out", f"hands/{name}.two", who="auditor")
        halves = [f"--code-file=hands/{name}.{half}" for half in ("one", "two")]
        run("enrol", *halves, "--token-out", f"hands/{name}.token")


def agree(shoal: Callable[..., Any], *words: str) -> Any:
    """A command of the owner that takes a second person: proposed, confirmed, done."""
    needed = shoal(*words, who="owner", code=1)["error"]
    assert needed["type"] == "SecondPersonNeeded"
    shoal("confirm", needed["message"].split()[0], who="auditor")
    return shoal(*words, who="owner")


def test_the_walk(shoal: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("patient,age\n0012-aria,30\n0013-bram,40\n")
    words = ["pseudonymize", "in.csv", "--domain", "study7", "--id", "patient", "-o", "out.csv"]
    done = shoal(*words, who="Olga")
    assert (done["rows"], done["columns"]) == (2, ["patient"])
    lines = (tmp_path / "out.csv").read_text().split()
    first = lines[1].split(",")[0].strip('"')
    asked = shoal("request", first, "--domain", "study7", "--reason", "adverse event", "--case", "12", who="Rita")
    assert shoal("reveal", asked["id"], "-o", "who.json", who="Rita", code=1)["error"]["type"] == "AccessError"
    assert shoal("approve", asked["id"], who="Rita", code=1)["error"]["type"] == "AccessError"
    assert shoal("requests", who="Aldo")["requests"][0]["status"] == "pending"
    assert shoal("approve", asked["id"], who="Aldo")["status"] == "approved"
    told = shoal("reveal", asked["id"], "-o", "who.json", who="Rita")
    assert (told["known"], told["records"]) == (1, 1)
    assert json.loads((tmp_path / "who.json").read_text())["identities"] == {first: "0012-aria"}
    assert stat.S_IMODE((tmp_path / "who.json").stat().st_mode) == 0o600
    assert shoal("audit", "--verify", who="auditor")["ok"]
    report = shoal("audit", "--report", "day", "--plot", "timeline.svg", who="auditor")
    assert sum(r["records"] for r in report["reveals"]) == 1
    assert (tmp_path / "timeline.svg").read_text().startswith("<?xml")
    events = shoal("audit", "--last", "100", who="auditor")["events"]
    actor = next(e["actor"] for e in events if e["action"] == "reveal" and e["outcome"] == "done")
    words = [f"--{who}-{what}=hands/{who}.{what}" for who in ("owner", "auditor") for what in ("token", "share")]
    assert shoal("resolve", actor, "--reason", "complaint", *words)["name"] == "Rita"
    asking = tmp_path / "asking.txt"
    asking.write_text("0012-aria\n")
    asking.chmod(0o600)
    words += ["--reason", "asked who was told"]
    subject = shoal("resolve", "--identity-file", "asking.txt", "--domain", "study7", *words)["pseudonym"]
    listed = shoal("reveals", "--of", subject, "--purpose", "adverse event", who="auditor")["reveals"]
    assert [(r["subject"], r["actor"], r["case"]) for r in listed] == [(subject, actor, "12")]
    assert shoal("reveals", "--until", "2020-01-01", who="auditor") == {"reveals": []}
    by = shoal("audit", "--report", "year", "--by", "subject", who="auditor")["reveals"]
    assert [(r["subject"], r["reveals"]) for r in by] == [(subject, 1)]
    shoal("resolve", "--identity-file", "asking.txt", *words, code=2)
    shoal("resolve", *words, code=2)


def test_owner_commands(shoal: Callable[..., Any], tmp_path: Path) -> None:
    shoal("domain", "add", "second", "--kind", "reversible", who="owner")
    zipf = shoal("domain", "add", "travel", "--renew-zipf", "0.632,2497,42598300,0.05", who="owner")
    assert zipf["renew_uses"] == "2"
    shoal("domain", "add", "bad", "--renew-zipf", "one,two", who="owner", code=2)
    agree(shoal, "domain", "allow", "study7", "second")
    assert {d["name"] for d in shoal("domain", "list", who="owner")["domains"]} == {"study7", "second", "travel"}
    (tmp_path / "in.csv").write_text("patient\n0012-aria\n")
    shoal("pseudonymize", "in.csv", "--domain", "study7", "--id", "patient", "-o", "out.csv", who="Olga")
    first = (tmp_path / "out.csv").read_text().split()[1].strip('"')
    moved = shoal("translate", first, "--from", "study7", "--to", "second", "--purpose", "merge", who="Olga")
    assert moved["pseudonyms"][0].startswith("P-")
    secret = tmp_path / "ids.txt"
    secret.write_text("0012-aria\n")
    secret.chmod(0o600)
    assert shoal("find", "--domain", "study7", "--identity-file", "ids.txt", who="Olga")["pseudonyms"] == [first]
    assert agree(shoal, "rotate", "--domain", "study7")["key_id"].split(".")[1] == "2"
    assert agree(shoal, "rotate", "--signing")["key_id"]
    shoal("rotate", who="owner", code=2)
    asked = shoal("limit", "reveal", "--max", "10", "--alarm", "5", who="owner")["change"]
    assert [c["what"]["limit"]["max"] for c in shoal("changes", who="auditor")["changes"]] == [10]
    shoal("confirm", asked, who="owner", code=1)
    assert shoal("refuse", asked, who="auditor")["status"] == "denied"
    shoal("limit", "reveal", who="owner", code=2)
    planted = shoal("honeytoken", "plant", "study7", who="owner")
    (tmp_path / "planted.txt").write_text(planted["pseudonym"])
    (tmp_path / "planted.txt").chmod(0o600)
    agree(shoal, "honeytoken", "withdraw", "study7", "--planted-file", "planted.txt")
    shoal("checkpoint", "--out", "outside.json", who="owner")
    assert shoal("audit", "--verify", "--against", "outside.json", who="auditor")["ok"]
    assert shoal("verify", who="owner")["ok"]
    assert shoal("status")["storage"] == "sqlite"
    certificate = agree(shoal, "shred", "second", "--confirm", "second", "--out", "shred.json")
    assert certificate["name"] == "second"
    shoal("anchor", "--accept", who="owner", code=2)
    assert shoal("anchor", "--accept", "--second-token-file", "hands/auditor.token", who="owner")["accepted"]
    assert "accepted" in shoal("audit", "--verify", who="auditor", code=1)["error"]["message"]
    assert shoal("audit", "--verify", "--acknowledge", "1", who="auditor")["ok"]
    more = ["actor", "token", "Olga", "--days", "1", "--domain"]
    shoal(*more, "nothing", "--code-out", "hands/extra.one", who="owner", code=2)
    change = shoal(*more, "study7", "--code-out", "hands/extra.one", who="owner")["change"]
    shoal("confirm", change, who="auditor", code=2)  # where shall the second half go?
    shoal("confirm", change, "--code-out", "hands/extra.two", who="auditor")
    halves = [f"--code-file=hands/extra.{half}" for half in ("one", "two")]
    shoal("enrol", *halves, "--token-out", "hands/extra.token")
    shoal("enrol", *halves, "--token-out", "hands/again.token", code=1)
    assert [d["name"] for d in shoal("domain", "list", who="extra")["domains"]] == ["study7"]
    change = shoal("actor", "grant", "Olga", "--role", "requester", who="owner")["change"]
    shoal("confirm", change, who="auditor")
    assert shoal("actor", "revoke", "Olga", who="owner")["revoked"] == 2
    shoal("deny", "REQ-NONE", who="Aldo", code=1)
    shoal("withdraw", "REQ-NONE", who="Rita", code=1)


def test_master_key_by_command(shoal: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "safe2").mkdir()
    shoal("key", "--out", "safe2/new.key")
    agree(shoal, "rotate", "--new-key-file", "safe2/new.key")
    assert shoal("status", code=1)["error"]["type"] == "TamperError"
    monkeypatch.setenv("SHOAL_VAULT_KEY_FILE", "safe2/new.key")
    assert shoal("status")["storage"] == "sqlite"


def test_tampering_is_exit_code_1(shoal: Callable[..., Any], tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "data" / "study.vault") as raw:
        raw.execute("UPDATE vault_audit SET hash = zeroblob(32) WHERE seq = 2")
    answer = shoal("audit", "--verify", who="auditor", code=1)
    assert answer["error"]["type"] == "TamperError"


def test_nobody_and_unsafe_files(shoal: Callable[..., Any], tmp_path: Path) -> None:
    assert "no token was given" in shoal("requests", code=2)["error"]["message"]
    (tmp_path / "hands" / "Rita.token").chmod(0o644)
    assert "other users" in shoal("requests", who="Rita", code=2)["error"]["message"]
    (tmp_path / "safe" / "vault.key").chmod(0o644)
    assert shoal("status", code=2)["error"]["type"] == "KeyRefusedError"


def test_no_option_takes_a_secret() -> None:
    """V12: nothing secret can be put on the command line: keys, tokens, shares and identities come from files."""
    import typer

    from shoal.cli import build

    group = typer.main.get_command(build())
    vault = group.commands["vault"]  # type: ignore[attr-defined]
    names = set()
    pending = [vault]
    while pending:
        command = pending.pop()
        pending += list(getattr(command, "commands", {}).values())
        names |= {o for p in command.params for o in getattr(p, "opts", ())}
    assert not names & {"--key", "--token", "--secret", "--password", "--identity", "--share", "--master"}
    assert {"--key-file", "--token-file", "--identity-file"} <= names


def test_a_reveal_without_a_place_is_not_used_up(shoal: Callable[..., Any], tmp_path: Path) -> None:
    """The output is made before the identities are: a folder that is not there costs nothing."""
    (tmp_path / "in.csv").write_text("patient\n0012-aria\n")
    shoal("pseudonymize", "in.csv", "--domain", "study7", "--id", "patient", "-o", "out.csv", who="Olga")
    pseudonym = (tmp_path / "out.csv").read_text().split()[1].strip('"')
    asked = shoal("request", pseudonym, "--domain", "study7", "--reason", "r", "--case", "1", who="Rita")["id"]
    shoal("reveal", asked, "-o", "early.json", who="Rita", code=1)
    assert not (tmp_path / "early.json").exists()
    shoal("approve", asked, who="Aldo")
    shoal("reveal", asked, "-o", "nowhere/found.json", who="Rita", code=2)
    assert shoal("reveal", asked, "-o", "found.json", who="Rita")["known"] == 1
    assert json.loads((tmp_path / "found.json").read_text())["identities"] == {pseudonym: "0012-aria"}


def test_backup_restore_copy_and_a_key_in_shares(
    shoal: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.csv").write_text("patient\n0012-aria\n")
    shoal("pseudonymize", "in.csv", "--domain", "study7", "--id", "patient", "-o", "out.csv", who="Olga")
    made = shoal("backup", "-o", "one.backup", who="owner")
    assert shoal_alone("check-backup", "one.backup")["sha256"] == made["sha256"]
    shoal("copy", "--to", "data/copy.vault", who="owner")
    for file in (tmp_path / "data").glob("study.vault*"):
        file.unlink()  # lost
    back = shoal("restore", "one.backup", "--second-token-file", "hands/auditor.token", who="owner")
    assert back["events_lost"] == 1  # the copy's event
    assert "accepted" in shoal("audit", "--verify", who="auditor", code=1)["error"]["message"]
    (tmp_path / "ids.txt").write_text("0012-aria\n")
    (tmp_path / "ids.txt").chmod(0o600)
    first = (tmp_path / "out.csv").read_text().split()[1].strip('"')
    assert shoal("find", "--domain", "study7", "--identity-file", "ids.txt", who="Olga")["pseudonyms"] == [first]
    parts = shoal_alone("key", "--shares", "3", "--needed", "2", "--out", "parts")
    assert (parts["shares"], len(list((tmp_path / "parts").iterdir()))) == (3, 3)
    monkeypatch.delenv("SHOAL_VAULT_KEY_FILE")
    one, two = "--key-share=parts/1.share", "--key-share=parts/3.share"
    asked = ["init", "--owner", "A", "--auditor", "B", "--secrets", "hands2", "--vault", "data/b.vault", "--anchor", "b.anchor"]
    shoal_alone(*asked, one, two)
    with pytest.raises(SystemExit) as stop:
        main(["vault", "status", "--vault", "data/b.vault", "--anchor", "b.anchor", one])
    assert stop.value.code == 2
    assert shoal_alone("status", "--vault", "data/b.vault", "--anchor", "b.anchor", one, two)["master_key"] == parts["key_id"]


def test_pseudonyms_from_files_and_answers_sealed_to_a_key(shoal: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("patient\n0012-aria\n0013-bram\n")
    shoal("pseudonymize", "in.csv", "--domain", "study7", "--id", "patient", "-o", "out.csv", who="Olga")
    made = [line.strip('"') for line in (tmp_path / "out.csv").read_text().split()[1:]]
    (tmp_path / "list.txt").write_text("\n".join(made) + "\n")
    shoal("domain", "add", "second", who="owner")
    agree(shoal, "domain", "allow", "study7", "second")
    words = ["translate", "--from", "study7", "--to", "second", "--purpose", "p"]
    assert len(shoal(*words, "--file", "list.txt", who="Olga")["pseudonyms"]) == 2
    shoal(*words, made[0], "--file", "list.txt", who="Olga", code=2)
    shoal(*words, who="Olga", code=2)
    key = shoal_alone("recipient", "--out", "me.secret")["public"]
    asked = shoal(
        *("request", "--file", "list.txt", "--domain", "study7", "--reason", "r", "--case", "1", "--recipient", key), who="Rita"
    )
    assert (asked["records"], asked["recipient"]) == (2, key)
    shoal("approve", asked["id"], who="Aldo")
    shoal("reveal", asked["id"], "-o", "sealed.json", who="Rita")
    assert "0012-aria" not in (tmp_path / "sealed.json").read_text()
    shoal_alone("unseal", "sealed.json", "--secret-file", "me.secret", "-o", "open.json")
    assert json.loads((tmp_path / "open.json").read_text())["identities"] == {made[0]: "0012-aria", made[1]: "0013-bram"}


def shoal_alone(*words: str) -> Any:
    """A command that needs no vault."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as stop:
        main(["vault", *words, "--json"])
    assert stop.value.code == 0
    return json.loads(out.getvalue())


@pytest.mark.parametrize("out", ["in.csv", "link.csv"])
def test_the_table_itself_is_never_the_output(shoal: Callable[..., Any], tmp_path: Path, out: str) -> None:
    (tmp_path / "in.csv").write_text("patient\n0012-aria\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "in.csv")
    told = shoal("pseudonymize", "in.csv", "--domain", "study7", "--id", "patient", "-o", out, who="Olga", code=2)
    assert "table itself" in str(told)
    assert (tmp_path / "in.csv").read_text() == "patient\n0012-aria\n"


def test_people_who_make_their_own_pseudonym(
    shoal: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Registered with a commitment, proved with a fresh challenge, once; a stranger's secret proves nothing."""
    domain = shoal("domain", "add", "own", "--kind", "self-generated", who="owner")["id"]
    vault = shoal("status")["vault"]

    def alone(*words: str) -> Any:
        with pytest.raises(SystemExit) as stop:
            main(["vault", "holder", *words, "--json"])
        assert stop.value.code == 0
        return json.loads(capsys.readouterr().out)

    for name in ("me", "stranger"):
        alone("new", "--out", f"{name}.secret")
    ids = ["--vault-id", vault, "--domain-id", domain]
    made = alone("register", "--secret-file", "me.secret", *ids, "--out", "me.json")
    assert (tmp_path / "me.secret").read_text().strip() not in (tmp_path / "me.json").read_text()
    (tmp_path / "forged.json").write_text(json.dumps({**made, "pseudonym": "H-" + "0" * 26}))
    shoal("register", "--domain", "own", "--registration", "forged.json", who="Olga", code=1)
    shoal("register", "--domain", "own", "--registration", "out.csv", who="Olga", code=2)
    shoal("register", "--domain", "own", "--registration", "me.json", who="Olga")
    shoal("register", "--domain", "own", "--registration", "me.json", who="Olga", code=1)
    for name, code in (("stranger", 1), ("me", 0)):
        asked = shoal("challenge", made["pseudonym"], "--domain", "own", who="Olga")["challenge"]
        proof = alone("prove", "--secret-file", f"{name}.secret", *ids, "--challenge", asked)["proof"]
        words = ["prove", made["pseudonym"], "--domain", "own", "--challenge", asked, "--proof", proof]
        shoal(*words, who="Olga", code=code)
        shoal(*words, who="Olga", code=1)  # a challenge is answered once


def test_a_release_takes_its_pseudonyms_from_the_vault(
    shoal: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The policy names a domain for a direct identifier: the published file holds its pseudonyms, the plan no secret."""
    rows = "".join(f"{i:04d},{20 + 10 * (i % 2)},{'ab'[i % 3 == 0]}\n" for i in range(40))
    (tmp_path / "in.csv").write_text("patient,age,dx\n" + rows)
    roles = "roles:\n  direct: {patient: {vault: study7}}\n  quasi: [age]\n  insensitive: [dx]\nrequire: {k: 3}\n"
    (tmp_path / "policy.yml").write_text(roles)
    monkeypatch.setenv("SHOAL_VAULT", "data/study.vault")
    monkeypatch.setenv("SHOAL_VAULT_TOKEN_FILE", "hands/Olga.token")
    with pytest.raises(SystemExit) as stop:
        main(["anonymize", "in.csv", "--policy", "policy.yml", "--out", "rel", "--json"])
    told = capsys.readouterr()
    assert stop.value.code == 0, told.err
    published = {line.split(",")[0].strip('"') for line in (tmp_path / "rel" / "data.csv").read_text().split()[1:]}
    assert len(published) == 40
    shoal("pseudonymize", "in.csv", "--domain", "study7", "--id", "patient", "-o", "out.csv", who="Olga")
    assert published == {line.split(",")[0].strip('"') for line in (tmp_path / "out.csv").read_text().split()[1:]}
    plan = json.loads((tmp_path / "rel" / "plan.json").read_text())
    assert (tmp_path / "hands" / "Olga.token").read_text().strip() not in json.dumps(plan)


def test_a_vault_in_earnest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Key in shares, auditor with a key of her own: one share, or the whole key, opens nothing here."""
    monkeypatch.chdir(tmp_path)
    for name in ("SHOAL_VAULT", "SHOAL_VAULT_TOKEN", "SHOAL_VAULT_KEY", "SHOAL_VAULT_KEY_FILE", "SHOAL_VAULT_ANCHOR"):
        monkeypatch.delenv(name, raising=False)
    for folder in ("data", "ben"):
        (tmp_path / folder).mkdir()

    def run(*words: str, code: int = 0, at: bool = True, shares: tuple[int, ...] = (1, 3)) -> Any:
        where = ["--vault", "data/a.vault", "--anchor", "anchor", *(f"--key-share=parts/{n}.share" for n in shares)]
        with pytest.raises(SystemExit) as stop:
            main(["vault", *words, "--json", *(where if at else [])])
        out = capsys.readouterr()
        assert stop.value.code == code, out.err
        return json.loads(out.out)

    run("key", "--shares", "3", "--needed", "2", "--out", "parts", at=False)
    public = run("recipient", "--out", "ben/secret", at=False)["public"]
    made = run("init", "--owner", "Anna", "--auditor", "Ben", "--auditor-key", public, "--secrets", "hands")
    assert (made["trial"], made["secrets"]) == (False, ["auditor.sealed", "owner.share", "owner.token"])
    run("enrol", "--code-file", "hands/auditor.sealed", "--token-out", "anna.token", code=1)
    claim = ["enrol", "--code-file", "hands/auditor.sealed", "--secret-file", "ben/secret", "--token-out", "ben/token"]
    run(*claim, code=2)  # the share needs its file
    run(*claim, "--share-out", "ben/share")
    assert stat.S_IMODE((tmp_path / "ben" / "share").stat().st_mode) == 0o600
    status = run("status")
    assert (status["trial"], status["auditor_key"]) == (False, public)
    run("status", shares=(2,), code=2)
    verdict = run("audit", "--verify", "--token-file", "ben/token", shares=(2, 3))
    assert (verdict["ok"], verdict["trial"]) == (True, False)
    events = run("audit", "--token-file", "ben/token")["events"]
    told = [e["detail"] for e in events if e["action"] == "maintenance"]
    assert told[-2:] == ["shares 2, 3", "shares 1, 3"]


def test_tables_for_every_verb(shoal: Callable[..., Any], tmp_path: Path) -> None:
    """CSV with semicolons and Parquet; columns of names that are left are told; semicolons stay semicolons."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def first_column(name: str) -> list[str]:
        with (tmp_path / name).open(newline="") as file:
            rows = list(csv.reader(file, delimiter=";"))
        assert rows[0] == ["patient", "name", "cost"]
        return [row[0] for row in rows]

    people = "patient;name;cost\n0012-aria;Anna Meier;1,5\n0013-bram;Bert Vos;2\n0012-aria;Anna Meier;3\n"
    (tmp_path / "in.csv").write_text(people)
    shoal("domain", "add", "second", who="owner")
    agree(shoal, "domain", "allow", "study7", "second")
    coded = ["pseudonymize", "in.csv", "--domain", "study7", "--id", "patient", "-o", "coded.csv"]
    assert shoal(*coded, who="Olga")["left"]["direct"] == ["name"]
    made = first_column("coded.csv")[1:]
    pq.write_table(pa.table({"patient": ["0013-bram", "9999", None], "n": [1, 2, 3]}), tmp_path / "more.parquet")
    found = shoal("find", "--table", "more.parquet", "--id", "patient", "-o", "known.parquet", "--domain", "study7", who="Olga")
    assert (found["rows"], found["missing"]) == (3, 2)
    assert pq.read_table(tmp_path / "known.parquet")["patient"].to_pylist() == [made[1], None, None]
    moved = ["translate", "--from", "study7", "--to", "second", "--purpose", "p", "--table", "coded.csv", "--id", "patient"]
    told = shoal(*moved, "-o", "moved.csv", who="Olga")
    assert (told["rows"], told["missing"], told["left"]["direct"]) == (3, 0, ["name"])
    assert first_column("moved.csv")[0] == "patient"
    ask = ["request", "--table", "coded.csv", "--domain", "study7", "--reason", "recall", "--case", "1"]
    shoal(*ask, who="Rita", code=2)  # which column?
    shoal(*ask, "--id", "patient", made[0], who="Rita", code=2)
    asked = shoal(*ask, "--id", "patient", who="Rita")
    assert sorted(asked["pseudonyms"]) == sorted(set(made))
    shoal("approve", asked["id"], who="Aldo")
    named = ["reveal", asked["id"], "-o", "who.json", "--table", "coded.csv"]
    shoal(*named, who="Rita", code=2)
    shoal(*named, "--id", "patiënt", "--table-out", "named.csv", who="Rita", code=2)
    assert shoal(*named, "--id", "patient", "--table-out", "named.csv", who="Rita")["rows"] == 3
    assert first_column("named.csv") == ["patient", "0012-aria", "0013-bram", "0012-aria"]
    assert stat.S_IMODE((tmp_path / "named.csv").stat().st_mode) == 0o600
    shoal("find", "--domain", "study7", who="Olga", code=2)
    shoal("find", "--domain", "study7", "--table", "in.csv", "--id", "patient", who="Olga", code=2)
