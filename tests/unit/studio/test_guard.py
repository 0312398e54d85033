"""The guard before the studio's pages: each thing that it refuses, and that what differs from it in nothing else comes in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from shoal.studio import accounts
from shoal.studio.accounts import PeopleGuard, Spaces, create_house
from shoal.studio.guard import COOKIE, FIELD, HEADER, Door, Guard, check_form, form_token
from shoal.studio.workspace import Workspace
from shoal.studio.workspace.people import FREE, People

HOST = "127.0.0.1:8000"
SECRET = "four words in a row"


class Page:
    """The pages behind the guard: notes the scope that it lets through."""

    def __init__(self, error: Exception | None = None, *, begin: bool = False) -> None:
        self.scope: dict[str, Any] | None = None
        self._error, self._begin = error, begin

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope = scope
        if self._error is None or self._begin:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"max-age=1")]})
        if self._error is not None:
            raise self._error
        await send({"type": "http.response.body", "body": b"the page"})


def visit(guard: Any, path: str = "/", *, method: str = "GET", scheme: str = "http", query: str = "", **headers: str) -> Any:
    """Status, headers and text of the answer; names of headers with ``_`` for ``-``."""
    given = {"host": HOST, **headers}
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items() if value != "(none)"]
    scope = {
        "type": "http", "method": method, "scheme": scheme, "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": query.encode(), "headers": raw, "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1),
    }  # fmt: skip
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    asyncio.run(guard(scope, receive, send))
    text = b"".join(m.get("body", b"") for m in sent[1:]).decode()
    return sent[0]["status"], {k.decode(): v.decode() for k, v in sent[0]["headers"]}, text


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path / "kept") as opened:
        yield opened


@pytest.fixture
def inside(workspace: Workspace) -> tuple[Guard, Page, str]:
    """The guard, the pages and the cookie of a session."""
    page = Page()
    guard = Guard(page, door=Door(workspace.sessions), sessions=workspace.sessions)
    return guard, page, f"{COOKIE}={workspace.sessions.begin()}"


def test_a_code_opens_once_and_the_next_one_is_told(workspace: Workspace) -> None:
    told: list[str] = []
    door = Door(workspace.sessions, told.append)
    first = door.code
    assert door.enter(first + "x") is None
    assert door.code == first, "a wrong try costs nobody the code"
    token = door.enter(first)
    assert token is not None
    assert workspace.sessions.holds(token)
    assert door.enter(first) is None
    assert told == [door.code] != [first]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (HOST, 200),
        ("LOCALHOST", 200),
        ("[::1]:8000", 200),
        ("[::1]", 200),
        ("evil.example", 400),
        ("127.0.0.1.evil.example:8000", 400),
        ("(none)", 400),
    ],
)
def test_only_the_host_that_was_meant(inside: tuple[Guard, Page, str], host: str, status: int) -> None:
    guard, page, cookie = inside
    assert visit(guard, host=host, cookie=cookie)[0] == status
    assert (page.scope is not None) == (status == 200)


@pytest.mark.parametrize("cookie", ["(none)", "", f"{COOKIE}=", f"{COOKIE}=other", "other=x", "\x01=;;", "a/b=x"])
def test_without_a_session_nothing_is_shown(inside: tuple[Guard, Page, str], cookie: str) -> None:
    guard, page, _ = inside
    assert visit(guard, cookie=cookie)[0] == 401
    assert page.scope is None


def test_what_is_let_through_has_its_session_and_an_ended_one_is_not(
    inside: tuple[Guard, Page, str], workspace: Workspace
) -> None:
    guard, page, cookie = inside
    assert visit(guard, cookie=cookie)[::2] == (200, "the page")
    assert page.scope is not None
    token = cookie.partition("=")[2]
    assert page.scope["session"] == token
    workspace.sessions.end(token)
    assert visit(guard, cookie=cookie)[0] == 401


def test_static_files_need_no_session_and_take_nothing(inside: tuple[Guard, Page, str]) -> None:
    guard, _, _ = inside
    assert visit(guard, "/static/fish.svg")[0] == 200
    assert visit(guard, "/static/fish.svg", method="HEAD")[0] == 200
    assert visit(guard, "/static/fish.svg", method="POST")[0] == 401
    assert visit(guard, "/staticx")[0] == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"origin": f"http://{HOST}"}, 200),
        ({"origin": f"HTTP://{HOST}"}, 200),
        ({"origin": f"https://{HOST}"}, 403),
        ({"origin": "http://127.0.0.1:8001"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://evil.example", "sec_fetch_site": "same-origin"}, 403),
        ({"sec_fetch_site": "same-origin"}, 200),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"sec_fetch_site": "none"}, 403),
        ({}, 200),  # no browser: a script must carry the token of the form all the same
    ],
)
def test_what_changes_something_comes_from_our_own_page(
    inside: tuple[Guard, Page, str], method: str, more: dict[str, str], status: int
) -> None:
    guard, _, cookie = inside
    assert visit(guard, method=method, cookie=cookie, **more)[0] == status
    assert visit(guard, method="GET", cookie=cookie, **more)[0] == 200


def test_the_token_of_another_session_is_refused_and_the_own_one_is_noted(inside: tuple[Guard, Page, str]) -> None:
    guard, page, cookie = inside
    own = form_token(cookie.partition("=")[2])
    header = HEADER.replace("-", "_")
    assert visit(guard, method="POST", cookie=cookie, **{header: form_token("other")})[0] == 403
    for given in ({header: own}, {}):
        assert visit(guard, method="POST", cookie=cookie, **given)[0] == 200
        assert page.scope is not None
        assert page.scope["form_token_seen"] == bool(given)


def test_a_form_carries_the_token_of_its_session() -> None:
    from starlette.requests import Request

    def fits(fields: dict[str, str], **scope: Any) -> bool:
        return check_form(Request({"type": "http", "session": "mine", **scope}), fields)

    assert fits({FIELD: form_token("mine")})
    assert fits({}, form_token_seen=True)
    assert not fits({}, form_token_seen=False)
    assert not fits({FIELD: form_token("other")})
    assert not fits({FIELD: "é"})


def test_the_entrance_takes_its_code_once(inside: tuple[Guard, Page, str], workspace: Workspace) -> None:
    guard, page, _ = inside
    code = guard._door.code
    assert visit(guard, "/enter", query="code=x")[0] == 401
    assert visit(guard, "/enter/x", query=f"code={code}")[0] == visit(guard, "/enters", query=f"code={code}")[0] == 401
    assert visit(guard, "/enter", method="POST", query=f"code={code}")[0] == 401
    status, headers, _ = visit(guard, "/enter", query=f"code={code}", scheme="https")
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    assert {part.strip().partition("=")[0].lower() for part in cookie.split(";")[1:]} == {
        "httponly",
        "max-age",
        "path",
        "samesite",
        "secure",
    }
    assert "samesite=strict" in cookie.lower()
    assert workspace.sessions.holds(cookie.partition("=")[2].partition(";")[0])
    assert visit(guard, "/enter", query=f"code={code}")[0] == 401
    assert page.scope is None
    assert "secure" not in visit(guard, "/enter", query=f"code={guard._door.code}")[1]["set-cookie"].lower()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_every_answer_has_the_headers_and_keeps_its_own(inside: tuple[Guard, Page, str], scheme: str) -> None:
    guard, _, cookie = inside
    shown, refused = visit(guard, scheme=scheme, cookie=cookie)[1], visit(guard, scheme=scheme)[1]
    for headers in (shown, refused):
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert ("strict-transport-security" in headers) == (scheme == "https")
    assert (shown["cache-control"], refused["cache-control"]) == ("max-age=1", "no-store")


@pytest.mark.parametrize("begin", [False, True])
def test_an_error_is_logged_without_its_words(workspace: Workspace, capsys: pytest.CaptureFixture[str], begin: bool) -> None:
    page = Page(ValueError("Zebedeus Kanarie"), begin=begin)
    guard = Guard(page, door=Door(workspace.sessions), sessions=workspace.sessions)
    status, _, text = visit(guard, cookie=f"{COOKIE}={workspace.sessions.begin()}")
    assert (status, "Your tables are intact" in text) == ((200, False) if begin else (500, True))
    assert re.fullmatch(r"studio: ValueError at guard\.py:\d+\n", capsys.readouterr().err)
    assert "Zebedeus" not in text


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PeopleGuard, Page, dict[str, str]]]:
    """The guard of a studio of several people, its pages, and the cookie of a user of each role."""
    people = People(tmp_path_factory.mktemp("house"))
    cookies = {}
    for role in ("admin", "editor", "viewer"):
        people.users.add(role, role, SECRET, beside="admin" if role == "viewer" else None)
        cookies[role] = f"{COOKIE}={people.visits.begin(name=role)}"
    page = Page()
    yield PeopleGuard(page, people=people), page, cookies
    people.close()


@pytest.mark.parametrize(
    ("path", "method", "roles"),
    [
        ("/", "GET", {"admin", "editor", "viewer"}),
        ("/t/x/measure", "HEAD", {"admin", "editor", "viewer"}),
        ("/t/x/measure", "POST", {"admin", "editor"}),
        ("/look", "POST", {"admin", "editor", "viewer"}),
        ("/leave", "POST", {"admin", "editor", "viewer"}),
        ("/account/password", "POST", {"admin", "editor", "viewer"}),
        ("/account", "POST", {"admin", "editor"}),
        ("/users", "GET", {"admin"}),
        ("/users", "POST", {"admin"}),
        ("/users/anna/role", "POST", {"admin"}),
        ("/users/anna/role", "GET", {"admin"}),
        ("/usersx", "GET", {"admin", "editor", "viewer"}),
    ],
)
def test_each_role_does_what_it_may(house: Any, path: str, method: str, roles: set[str]) -> None:
    guard, page, cookies = house
    for role, cookie in cookies.items():
        page.scope = None
        status = visit(guard, path, method=method, cookie=cookie, origin=f"http://{HOST}")[0]
        assert (status == 200) == (role in roles), role
        assert status in (200, 403)
        assert (page.scope is not None and page.scope["person"].name == role) == (role in roles)
    assert visit(guard, path, method=method, cookie=cookies["admin"], origin="http://evil.example")[0] == (
        403 if method == "POST" else 200
    )


def test_strangers_are_shown_the_log_in_or_told(house: Any) -> None:
    guard, page, cookies = house
    page.scope = None
    status, headers, _ = visit(guard, accept="text/html")
    assert (status, headers["location"]) == (303, "/login")
    assert visit(guard, accept="application/json")[0] == 401
    assert visit(guard, method="POST", accept="text/html", origin=f"http://{HOST}")[0] == 401
    assert visit(guard, cookie=f"{COOKIE}=other")[0] == 401
    assert page.scope is None
    assert visit(guard, "/login")[0] == 200
    assert visit(guard, "/login", sec_fetch_site="cross-site")[0] == 200, "a link may lead here"
    assert visit(guard, "/login", method="POST", origin="http://evil.example")[0] == 403
    assert visit(guard, "/login", method="POST", origin=f"http://{HOST}")[0] == 200
    status, headers, _ = visit(guard, "/login", cookie=cookies["viewer"])
    assert (status, headers["location"]) == (303, "/"), "who is logged in needs no log-in"
    assert visit(guard, "/login", cookie=f"{COOKIE}=other")[0] == 200
    sent = visit(guard, "/login", method="POST", origin=f"http://{HOST}", cookie=cookies["viewer"])
    assert sent[0] == 200, "somebody else may log in at the same browser"


class Caller:
    """Sends requests to the pages, each without what the answers before left behind."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def send(self, method: str, path: str, address: str = "127.0.0.1", **sent: Any) -> httpx.Response:
        async def one() -> httpx.Response:
            transport = httpx.ASGITransport(self._app, client=(address, 1))
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
                return await client.request(method, path, **sent)

        return asyncio.run(one())

    def get(self, path: str, **sent: Any) -> httpx.Response:
        return self.send("GET", path, **sent)

    def post(self, path: str, **sent: Any) -> httpx.Response:
        return self.send("POST", path, **sent)


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Caller, People]]:
    """A studio of Anna (an admin), Vera beside her, and Ben by himself; passwords cost little."""
    monkeypatch.setattr("shoal.studio.workspace.people.COST", 10)
    people = People(tmp_path / "house")
    for name, role, beside in (("anna", "admin", None), ("vera", "viewer", "anna"), ("ben", "editor", None)):
        people.users.add(name, role, SECRET, beside=beside)
    yield Caller(create_house(people)), people
    people.close()


def as_user(people: People, name: str) -> tuple[str, dict[str, str]]:
    """A session, and the headers of a script of our own page."""
    session = people.visits.begin(name=name)
    return session, {"cookie": f"{COOKIE}={session}", HEADER: form_token(session)}


def test_who_logs_in_may_write_the_name_in_capitals_and_guessing_is_slowed(rooms: tuple[Caller, People]) -> None:
    client, people = rooms
    answer = client.post("/login", data={"name": " ANNA ", "password": SECRET})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert people.visits.who(answer.cookies[COOKIE]).name == "anna"  # type: ignore[union-attr]
    tries = [client.post("/login", data={"name": "ben", "password": "a wrong one"}).status_code for _ in range(FREE + 1)]
    assert tries == [401] * FREE + [429]
    assert client.post("/login", data={"name": "ben", "password": SECRET}).status_code == 429, "not even the right one"
    spelled = [("vera", "VERA", " Vera", "VEra", "VERa", "verA")[i % 6] for i in range(FREE + 1)]
    tries = [
        client.post("/login", address=f"10.0.0.{i}", data={"name": name, "password": "a wrong one"}).status_code
        for i, name in enumerate(spelled)
    ]
    assert tries == [401] * FREE + [429], "from several places, in several spellings"


def test_who_leaves_has_no_session_any_more(rooms: tuple[Caller, People]) -> None:
    client, people = rooms
    session, headers = as_user(people, "vera")
    assert client.post("/leave", headers=headers).headers["location"] == "/login"
    assert people.visits.who(session) is None


def test_nobody_changes_a_password_without_the_old_one(rooms: tuple[Caller, People]) -> None:
    client, people = rooms
    _, headers = as_user(people, "vera")
    sent = {"old": "another one", "new": "five words in a row"}
    assert client.post("/account/password", data=sent, headers=headers).status_code == 400
    assert people.users.check("vera", SECRET) is not None
    assert client.post("/account/password", data={**sent, "old": SECRET}, headers=headers).status_code == 303
    assert people.users.check("vera", "five words in a row") is not None


@pytest.mark.parametrize("path", ["/users/anna/role", "/users/anna/remove"])
def test_an_admin_cannot_lock_herself_out(rooms: tuple[Caller, People], path: str) -> None:
    client, people = rooms
    people.users.add("cleo", "admin", SECRET)
    _, headers = as_user(people, "anna")
    assert client.post(path, data={"role": "viewer"}, headers=headers).status_code == 400
    assert {u.name: u.role for u in people.users.all()}["anna"] == "admin"
    assert client.post(path.replace("anna", "ben"), data={"role": "viewer"}, headers=headers).status_code == 303


def test_the_account_page_names_those_of_the_same_workspace(rooms: tuple[Caller, People]) -> None:
    client, people = rooms
    shown = {name: client.get("/account", headers=as_user(people, name)[1]).text for name in ("anna", "ben")}
    assert "You share a workspace with <bdi>vera</bdi>" in shown["anna"]
    assert "Nobody but you sees your workspace" in shown["ben"]


def test_workspaces_that_nobody_uses_are_closed_unless_a_job_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = People(tmp_path / "house")
    spaces = {name: people.users.add(name, "editor", SECRET).space for name in ("anna", "ben", "cleo", "dora")}
    now = [0.0]
    monkeypatch.setattr(accounts.time, "monotonic", lambda: now[0])

    async def run() -> None:
        studios = Spaces(people, limit=1000, workers=1, vault="", warm=False, settings=people.files.root)
        first = await studios.of(spaces["anna"])
        assert await studios.of(spaces["anna"]) is first
        await studios.of(spaces["ben"])
        await studios.of(spaces["cleo"])
        workspace = studios._open[spaces["ben"]][2]
        with workspace.files.incoming("0" * 16) as arrived:
            arrived.write_bytes(b"age\n1\n")
            kept = workspace.tables.add(arrived, "a.csv")
        monkeypatch.setattr(workspace.jobs, "all", lambda: [type("Job", (), {"open": True})()])
        now[0] = 1.0
        await studios.of(spaces["cleo"])
        now[0] = accounts.IDLE  # Anna and Ben were here that long ago, Cleo again a second later
        await studios.of(spaces["dora"])
        assert set(studios._open) == {spaces[name] for name in ("ben", "cleo", "dora")}
        assert await studios.of(spaces["anna"]) is not first
        assert kept.name == "a"
        await studios.close()
        assert not studios._open

    asyncio.run(run())
    people.close()
