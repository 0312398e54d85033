"""A studio of several people: who may come in, what each role may do, and that nobody reaches another workspace."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from authorities import Authority
from shoal.cli import main
from shoal.studio.accounts import create_house
from shoal.studio.workspace.people import People
from studio_support import Visitor, hostile_table, running

SECRET = "four words in a row"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any, People]]:
    people = People(tmp_path_factory.mktemp("house") / "kept")
    people.users.add("anna", "admin", SECRET)
    people.users.add("ben", "editor", SECRET)
    people.users.add("vera", "viewer", SECRET, beside="anna")
    app = create_house(people)
    with running(app) as address:
        yield address, app, people


def entered(address: str, name: str, password: str = SECRET) -> Visitor:
    made = Visitor(address)
    page = made.http.post("/login", data={"name": name, "password": password})
    assert page.status_code == 200, page.text
    assert name in page.text
    return made


@pytest.fixture
def three(house: tuple[str, Any, People]) -> Iterator[tuple[Visitor, Visitor, Visitor]]:
    made = tuple(entered(house[0], name) for name in ("anna", "ben", "vera"))
    yield made  # type: ignore[misc]
    for one in made:
        one.close()


def posts(app: Any) -> list[str]:
    """Every address that takes something, with made-up ids."""
    routes = [r for part in app.routes for r in getattr(getattr(part, "original_router", None), "routes", (part,))]
    found = [r.path for r in routes if "POST" in (getattr(r, "methods", None) or ())]
    return [re.sub(r"\{[^}]+\}", "0123456789abcdef", path) for path in found]


def test_a_viewer_changes_nothing_whatever_is_sent(
    house: tuple[str, Any, People], three: tuple[Visitor, Visitor, Visitor], tmp_path: Path
) -> None:
    from shoal.studio.app import pages_of

    _, app, people = house
    anna, _, vera = three
    table = anna.bring(hostile_table(tmp_path / "t.csv"))
    anna.get(f"/t/{table}/measure")
    with people.workspace(people.users.get("anna").space) as kept:
        every = {*posts(app), *posts(pages_of(kept))}
        assert len(every) > 20
        before = _state(kept, table)
        for path in sorted(every - {"/look", "/leave", "/account/password", "/login"}):
            for real in {path, path.replace("0123456789abcdef", table)}:
                assert vera.post(real, number="0", role="quasi", column="0", sure="1").status_code == 403, real
                assert vera.http.request("PUT", real).status_code == 403
        assert vera.get("/").text.count("table-card") == 1, "she looks at what anna has"
        for tab in ("measure", "understand", "improve", "prove"):
            assert vera.get(f"/t/{table}/{tab}").status_code == 200, tab
        assert _state(kept, table) == before, "looking starts no job and writes no step"
    people.users.give_role("vera", "editor")
    assert vera.post(f"/t/{table}/role", column="0", role="insensitive").status_code == 200, "the role holds from now on"
    people.users.give_role("vera", "viewer")
    assert vera.post(f"/t/{table}/role", column="0", role="quasi").status_code == 403


def _state(kept: Any, table: str) -> Any:
    return [s.policy for s in kept.history.steps(table)], [j.id for j in kept.jobs.all()], [t.id for t in kept.tables.all()]


def test_nobody_reaches_another_workspace_by_its_addresses(
    three: tuple[Visitor, Visitor, Visitor], house: tuple[str, Any, People], tmp_path: Path
) -> None:
    anna, ben, _ = three
    table = anna.bring(hostile_table(tmp_path / "secret.csv"))
    anna.get(f"/t/{table}/measure")
    page = anna.get(f"/t/{table}/improve")
    job = re.search(r'data-job="([0-9a-f]{16})"', page.text)
    assert job is not None
    assert "table-card" not in ben.get("/").text
    reads = [f"/t/{table}/{tab}" for tab in ("measure", "understand", "improve", "prove", "policy.yml")]
    for path in (*reads, f"/jobs/{job[1]}", f"/t/{table}/live", f"/t/{table}/now", "/r/0123456789abcdef/x.zip"):
        assert ben.http.get(path).status_code == 404, path
    for path in (f"/t/{table}/delete", f"/jobs/{job[1]}/cancel", f"/t/{table}/role"):
        assert ben.post(path, column="0", role="direct").status_code == 404, path
    assert anna.get(f"/t/{table}/measure").status_code == 200
    for path in ("/users", "/users/anna/remove"):
        assert ben.http.get("/users").status_code == 403
        assert ben.post(path, name="x", role="admin").status_code == 403
    people = house[2]
    spaces = {u.space for u in people.users.all()}
    assert len(spaces) == 2
    assert {p.name for p in (people.files.root / "people").iterdir()} == spaces


def test_an_admin_lets_people_in_and_takes_them_out(
    three: tuple[Visitor, Visitor, Visitor], house: tuple[str, Any, People]
) -> None:
    address, _, people = house
    anna = three[0]
    page = anna.post("/users", name="Carl", role="editor", beside="")
    first = re.search(r'id="first-password">([^<]+)<', page.text)
    assert first is not None
    assert first[1] not in anna.get("/users").text, "shown once"
    carl = entered(address, "carl", first[1])
    for new in ("short", "aaaaaaaaaaaaaa", "x" * 1025):
        assert carl.post("/account/password", old=first[1], new=new).status_code == 400
    assert carl.post("/account/password", old="wrong", new=SECRET).status_code == 400
    other = entered(address, "carl", first[1])
    assert carl.post("/account/password", old=first[1], new=SECRET).status_code == 200
    assert other.http.get("/account").url.path == "/login" or other.http.get("/account").status_code == 401
    assert carl.http.get("/account").status_code == 200, "anyone who changed it stays"
    for wrong in ({"name": "../x", "role": "editor"}, {"name": "dora", "role": "king"}, {"name": "carl", "role": "editor"}):
        assert anna.post("/users", beside="", **wrong).status_code == 400
    assert anna.post("/users/anna/remove").status_code == 400, "nobody locks the door from inside"
    assert anna.post("/users/anna/role", role="viewer").status_code == 400
    assert anna.post("/users/carl/remove").status_code == 200
    assert carl.http.get("/account", follow_redirects=False).status_code in (303, 401)
    assert [u.name for u in people.users.all()] == ["anna", "ben", "vera"]
    left = entered(address, "ben")
    assert left.post("/leave").url.path == "/login"
    assert left.http.get("/account", headers={"accept": "text/html"}, follow_redirects=False).headers["location"] == "/login"
    for one in (carl, other, left):
        one.close()


def test_strangers_other_origins_and_ended_sessions_stay_outside(house: tuple[str, Any, People]) -> None:
    address, _, people = house
    with httpx.Client(base_url=address, timeout=120) as stranger:
        assert stranger.get("/").status_code == 401
        assert stranger.get("/", headers={"accept": "text/html"}).headers["location"] == "/login"
        assert stranger.get("/enter?code=x").status_code == 401
        assert stranger.get("/login", headers={"host": "evil.example"}).status_code == 400
        sent = {"name": "anna", "password": SECRET}
        assert stranger.post("/login", data=sent, headers={"origin": "http://evil.example"}).status_code == 403
        assert stranger.post("/demo").status_code == 401
        cookie = stranger.post("/login", data=sent, headers={"origin": address}).headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
    anna = people.users.get("anna")
    ends = people.visits.begin(name=anna.name, hours=0)
    holds = people.visits.begin(name=anna.name, hours=0.1)
    for token, status in ((ends, 401), (holds, 200)):
        with httpx.Client(base_url=address, cookies={"shoal_studio": token}, timeout=120) as late:
            assert late.get("/account").status_code == status
    assert SECRET.encode() not in (people.files.root / "people.db").read_bytes()
    assert holds.encode() not in (people.files.root / "people.db").read_bytes()


def test_guessing_is_slowed(house: tuple[str, Any, People]) -> None:
    with httpx.Client(base_url=house[0], headers={"origin": house[0]}, timeout=120) as guesser:
        tries = [guesser.post("/login", data={"name": "nobody", "password": "x"}) for _ in range(6)]
        assert [t.status_code for t in tries] == [401, 401, 401, 401, 401, 429]
        assert int(tries[-1].headers["retry-after"]) >= 1
        right = {"name": "ben", "password": SECRET}
        assert guesser.post("/login", data=right).status_code == 429, "the address waits, for any name"


def test_beyond_this_computer_only_with_tls_and_users(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def studio(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(["studio", *words, "--workspace", str(tmp_path / "kept")])
        told = capsys.readouterr()
        return int(stop.value.code or 0), told.out, told.err

    certificate, key = Authority(tmp_path, "ca").certificate("localhost")
    code, _, said = studio("--host", "0.0.0.0")
    assert (code, "without TLS" in said) == (2, True)
    code, _, said = studio("--host", "0.0.0.0", "--tls-cert", str(certificate))
    assert (code, "both" in said) == (2, True)
    code, _, said = studio("--host", "0.0.0.0", "--tls-cert", str(certificate), "--tls-key", str(key))
    assert (code, "named users" in said) == (2, True)
    assert not (tmp_path / "kept").exists(), "a refusal leaves nothing behind"
    assert studio("user", "add", "ben", "--role", "viewer")[0] == 2
    made = json.loads(studio("user", "add", "anna", "--role", "admin", "--json")[1])
    house = create_house(People(tmp_path / "kept"))
    options = {"ssl_certfile": str(certificate), "ssl_keyfile": str(key)}
    with running(house, **options) as address:
        port = address.rsplit(":", 1)[1]
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        with httpx.Client(base_url=f"https://localhost:{port}", verify=context, timeout=120) as visitor:
            sent = {"name": "anna", "password": made["password"]}
            page = visitor.post("/login", data=sent, headers={"origin": f"https://localhost:{port}"})
            assert page.headers["location"] == "/"
            assert "secure" in page.headers["set-cookie"].lower()
            assert page.headers["strict-transport-security"]
            assert visitor.get("/account").status_code == 200
    assert studio("user", "role", "anna", "king")[0] == 2
    assert json.loads(studio("user", "role", "anna", "editor", "--json")[1]) == {"name": "anna", "role": "editor"}
    assert json.loads(studio("user", "remove", "anna", "--delete-tables", "--json")[1])["tables_deleted"] is True
    assert json.loads(studio("user", "list", "--json")[1]) == {"users": []}
