"""The vault over HTTP: the walk with four eyes, refusals without values, and schemathesis over the OpenAPI."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from protector_support import House
from shoal.errors import UsageError
from shoal.protector import Limit

fastapi = pytest.importorskip("fastapi")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the test client's own change of HTTP library
    from fastapi.testclient import TestClient

from shoal.server.protector.api import create_app, serve  # noqa: E402

BASE = "/vault/v1"


class Client:
    """One person's side."""

    def __init__(self, inner: Any, token: str) -> None:
        self.inner = inner
        self.headers = {"Authorization": f"Bearer {token}"}

    def post(self, path: str, body: Any = None) -> Any:
        return self.inner.post(BASE + path, json=body, headers=self.headers)

    def get(self, path: str) -> Any:
        return self.inner.get(BASE + path, headers=self.headers)


@pytest.fixture
def served(house: House) -> Iterator[tuple[House, dict[str, Client]]]:
    house.owner.create_domain("d")
    house.owner.create_domain("e")
    house.connect("d", "e")
    house.owner.create_domain("k", kind="keyed")
    tokens = {**house.tokens, "Otto": house.token("Otto"), "Udo": house.token("Udo")}
    with TestClient(create_app(house.vault), base_url="http://127.0.0.1", raise_server_exceptions=False) as inner:
        yield house, {name: Client(inner, token) for name, token in tokens.items()}


def test_the_walk(served: tuple[House, dict[str, Client]]) -> None:
    _, people = served
    made = (
        people["Olga"].post("/domains/d/pseudonyms", {"identities": ["0012-aria", "0013-bram", "0012-aria"]}).json()["pseudonyms"]
    )
    assert made[0] == made[2] != made[1]
    found = people["Olga"].post("/domains/d/find", {"identity": "0012-aria"}).json()
    assert found == {"pseudonym": made[0]}
    assert people["Olga"].post("/domains/d/find", {"identity": "nobody"}).json() == {"pseudonym": None}
    answers = [people["Olga"].post("/domains/d/find", {"identity": x}).content for x in ("0012-aria", "nobody")]
    assert {len(a) for a in answers} == {64}  # the length of an answer does not tell
    moved = people["Olga"].post("/domains/d/translate", {"pseudonyms": made[:1], "target": "e", "purpose": "merge"})
    assert moved.json()["pseudonyms"][0] != made[0]
    ask = {"domain": "d", "pseudonyms": made[:2], "purpose": "adverse event", "case": "12"}
    asked = people["Rita"].post("/requests", ask)
    assert asked.status_code == 201
    number = asked.json()["id"]
    assert people["Rita"].post(f"/requests/{number}/approve").status_code == 403
    assert people["Rita"].post(f"/requests/{number}/reveal").status_code == 403
    assert people["Aldo"].get("/requests").json()["requests"][0]["id"] == number
    assert people["Aldo"].post(f"/requests/{number}/approve").json()["status"] == "approved"
    revealed = people["Rita"].post(f"/requests/{number}/reveal")
    assert revealed.json()["identities"] == {made[0]: "0012-aria", made[1]: "0013-bram"}
    assert revealed.headers["cache-control"] == "no-store"
    assert people["Rita"].post(f"/requests/{number}/reveal").status_code == 403
    verdict = people["Udo"].get("/audit/verify").json()
    assert verdict["ok"]
    assert sum(r["records"] for r in people["Udo"].get("/audit/report").json()["reveals"]) == 2
    assert len(people["Udo"].get("/audit/report?by=subject").json()["reveals"]) == 2
    told = people["Udo"].get("/audit/reveals").json()["reveals"]
    assert len({r["subject"] for r in told}) == len(told) == 2
    assert people["Udo"].get(f"/audit/reveals?of={told[0]['subject']}&since=2025-01-01").json()["reveals"] == told[:1]
    assert people["Udo"].get("/audit/reveals?until=2025-01-01").json()["reveals"] == []
    assert people["Udo"].get("/audit/reveals?of=Rita").status_code == 422
    assert people["Rita"].get("/audit/reveals").status_code == 403
    log = people["Udo"].get("/audit/events?last=500").text
    assert "0012-aria" not in log
    assert "Rita" not in log


def test_refusals(served: tuple[House, dict[str, Client]]) -> None:
    house, people = served
    inner = people["Olga"].inner
    assert inner.get(BASE + "/domains").status_code == 401
    assert Client(inner, "wrong").get("/domains").status_code == 401
    assert inner.get(BASE + "/domains", headers={"Authorization": "Basic x"}).status_code == 401
    assert people["Rita"].post("/domains/d/pseudonyms", {"identities": ["x"]}).status_code == 403
    assert people["Olga"].post("/domains/none/pseudonyms", {"identities": ["x"]}).status_code == 404
    assert people["Olga"].post("/domains/k/find", {"identity": "x"}).status_code == 400
    bad = people["Olga"].post("/domains/d/pseudonyms", {"identities": ["Zq7secret", 5], "more": "Zq7secret"})
    assert bad.status_code == 422
    assert "Zq7secret" not in bad.text
    for host in ("evil.example", "127.0.0.1.evil.example", ""):
        assert inner.get(BASE + "/domains", headers={"Host": host, **people["Olga"].headers}).status_code == 400
    house.owner.revoke_tokens("Olga")
    assert people["Olga"].get("/domains").status_code == 401
    assert people["Olga"].post("/domains/d/find", {"identity": "x"}).status_code == 401


def test_tls_is_needed_beyond_loopback(sqlite_house: House) -> None:
    with pytest.raises(UsageError, match="without TLS"):
        serve(sqlite_house.vault, host="0.0.0.0")
    from pathlib import Path

    with pytest.raises(UsageError, match="both"):
        serve(sqlite_house.vault, tls_cert=Path("cert.pem"))


def test_gathered_lookups_agree_with_single_ones(sqlite_house: House) -> None:
    """Many callers at once get the answers each would get alone, also the refusals."""
    import httpx

    house = sqlite_house
    house.owner.create_domain("d")
    ids = [f"{i:04d}" for i in range(120)]
    made = dict(zip(ids[::2], house.operator.pseudonymize("d", ids[::2]), strict=True))
    tokens = [house.tokens["Olga"], house.tokens["Rita"]]

    async def run() -> list[Any]:
        transport = httpx.ASGITransport(app=create_app(house.vault))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            calls = [
                client.post(
                    f"{BASE}/domains/d/find", json={"identity": x}, headers={"Authorization": f"Bearer {tokens[i % 10 == 9]}"}
                )
                for i, x in enumerate(ids)
            ]
            return list(await asyncio.gather(*calls))

    for i, (identity, answer) in enumerate(zip(ids, asyncio.run(run()), strict=True)):
        if i % 10 == 9:
            assert answer.status_code == 403
        else:
            assert answer.json() == {"pseudonym": made.get(identity)}


def test_one_bad_lookup_does_not_spoil_the_others(sqlite_house: House) -> None:
    """Gathered with a text that is too long, or beyond the limit, the others still get their answers."""
    import httpx

    house = sqlite_house
    house.owner.create_domain("d")
    house.set_limit("find", Limit(3600.0, 5, None))
    ids = ["a", "b", "\u00e9" * 4000, "c", "d", "e", "f"]
    made = dict(zip(ids[:2], house.operator.pseudonymize("d", ids[:2]), strict=True))

    async def run() -> list[Any]:
        transport = httpx.ASGITransport(app=create_app(house.vault))
        head = {"Authorization": f"Bearer {house.tokens['Olga']}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=head) as client:
            return list(await asyncio.gather(*(client.post(f"{BASE}/domains/d/find", json={"identity": x}) for x in ids)))

    answers = dict(zip(ids, asyncio.run(run()), strict=True))
    assert answers.pop("\u00e9" * 4000).status_code in (400, 403), "too long, or behind the five that were let through"
    assert sorted(a.status_code for a in answers.values()) == [200, 200, 200, 200, 200, 403], "five are let through, in any order"
    for identity, answer in answers.items():
        if answer.status_code == 200:
            assert answer.json()["pseudonym"] == made.get(identity)


def test_schemathesis_finds_no_server_error(sqlite_house: House) -> None:
    """Generated requests over the whole OpenAPI, as a person of every role: no 5xx, and every answer is as described."""
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

    house = sqlite_house
    house.catch_up()
    for name, kind in (("d", "random"), ("k", "keyed"), ("own", "self-generated"), ("f", "format-preserving")):
        house.owner.create_domain(name, kind=kind)
    app = create_app(house.vault, hosts=("127.0.0.1", "testserver"))
    tokens = [house.add("All", ["operator", "requester", "approver", "owner"]), house.token("Udo")]
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    checks = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
    seen: dict[str, set[int]] = {}

    for result in schema.get_all_operations():
        operation = result.ok()
        test = hypothesis_settings(
            max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True
        )(_property(operation, tokens, checks, seen))
        test()
    assert len(seen) >= 16
    assert all(code < 500 for codes in seen.values() for code in codes)
    assert {200, 201, 403, 422} <= set().union(*seen.values())


def _property(operation: Any, tokens: list[str], checks: Any, seen: dict[str, set[int]]) -> Any:
    """A property test of one operation; most cases are aimed at a domain that exists."""
    from hypothesis import given

    @given(case=operation.as_strategy())
    def test(case: Any) -> None:
        codes = seen.setdefault(operation.label, set())
        if "domain" in (case.path_parameters or {}) and len(case.path_parameters["domain"]) % 2:
            case.path_parameters["domain"] = "dkf"[len(case.path_parameters["domain"]) % 3]
        if isinstance(case.body, dict) and isinstance(case.body.get("domain"), str):
            case.body["domain"] = "df"[len(case.body["domain"]) % 2]
        for token in tokens:
            answer = case.call(headers={"Authorization": f"Bearer {token}"})
            codes.add(answer.status_code)
            case.validate_response(answer, checks=list(checks))

    return test


def test_without_a_token_nothing_is_read(sqlite_house: House) -> None:
    """A large body from nobody is refused by its head alone."""
    app = create_app(sqlite_house.vault)
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        raise AssertionError("the body was read")

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    for token in (b"", b"Bearer shoal-WRONG"):
        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), (b"authorization", token)]
        path = "/vault/v1/domains/d/pseudonyms"
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
        asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    assert [m["status"] for m in sent if m["type"] == "http.response.start"] == [401, 401]


def test_large_bodies_and_unknown_addresses_are_refused_alike(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.server.protector import api

    monkeypatch.setattr(api, "MOST_BYTES", 1000)
    sqlite_house.owner.create_domain("d")
    client = TestClient(create_app(sqlite_house.vault), base_url="http://127.0.0.1")
    head = {"Authorization": f"Bearer {sqlite_house.tokens['Olga']}"}
    text = head | {"Content-Type": "application/json"}
    answers = [
        client.post("/vault/v1/domains/d/pseudonyms", headers=head, json={"identities": ["x" * 990]}),
        client.get("/vault/v1/nothing", headers=head),
        client.put("/vault/v1/domains", headers=head),
        client.post("/vault/v1/domains/d/pseudonyms", headers=text, content=b'{"identities": ["\xff"]}'),
        client.post("/vault/v1/domains/d/find", headers=text, content=b"{"),
    ]
    assert [a.status_code for a in answers] == [413, 404, 405, 400, 422]
    assert all(set(a.json()) == {"error", "message", "hint"} for a in answers)
    small = client.post("/vault/v1/domains/d/pseudonyms", headers=head, json={"identities": ["x"]})
    assert small.status_code == 200
