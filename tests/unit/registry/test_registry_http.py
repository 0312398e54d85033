"""The registry over HTTP, and the seed: open to read, tokens to publish, nothing that breaks the server."""

from __future__ import annotations

import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings

from registry_support import AGES, five_years, make
from shoal.kernels.signatures import signer
from shoal.registry.answer.query import Registry
from shoal.registry.publish.seed import fill
from shoal.registry.records.chain import START, link
from shoal.registry.records.population import Population

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the test client's own change of HTTP library
    from fastapi.testclient import TestClient

from shoal.server.app import create_app

BASE = "http://127.0.0.1/registry/v1"


@pytest.fixture
def client(store):
    store.submit(make(AGES, cells=95))
    store.submit(make(five_years(AGES), codes=("age/5y",), cells=19))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield TestClient(create_app(store), base_url="http://127.0.0.1")


def test_a_question_is_answered_and_answered_again_from_its_etag(client, store):
    ask = {"attributes": "age/years", "population": "NL/Utrecht@2021"}
    first = client.get(f"{BASE}/query", params=ask)
    assert first.status_code == 200
    assert first.json()["fit"] == "exact"
    again = client.get(f"{BASE}/query", params=ask, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    marks = {"If-None-Match": f'"other", W/{first.headers["etag"]}'}
    store.submit(make([c * 2 for c in AGES], population=Population.parse("BE@2021"), cells=95))
    assert client.get(f"{BASE}/query", params=ask, headers=marks).status_code == 304  # the answer is the same
    store.submit(make([c * 2 for c in AGES], holder="Another office", cells=95))
    changed = client.get(f"{BASE}/query", params=ask, headers=marks)
    assert changed.status_code == 200
    assert len(changed.json()["records"]) == 2
    assert changed.headers["etag"] != first.headers["etag"]


def test_analyse_and_decide_equal_the_library(client, store):
    ask = {"attributes": "age/years", "population": "NL/Utrecht@2021", "group_size": 100}
    found = client.get(f"{BASE}/analyse", params=ask).json()
    exact = Registry(store).query(["age/years"], "NL/Utrecht@2021").unique_share(100)
    assert found["unique_share"] == exact.to_json()
    advice = client.get(f"{BASE}/decide", params={**ask, "target": 0.05}).json()
    assert advice["advice"][0]["advice"] == "band"


def test_publishing_needs_a_token_and_a_sound_record(client, store):
    record = make(AGES, population=Population.parse("NL/Drenthe@2021"), holder="Drenthe")
    assert client.post(f"{BASE}/records", json=record.to_json()).status_code == 401
    assert client.post(f"{BASE}/records", json=record.to_json(), headers={"Authorization": "Bearer wrong"}).status_code == 401
    token = {"Authorization": f"Bearer {store.tokens.add('Drenthe')}"}
    taken = client.post(f"{BASE}/records", json=record.to_json(), headers=token)
    assert taken.status_code == 201
    assert store.get(taken.json()["id"]) is not None
    assert client.post(f"{BASE}/records", json=record.to_json(), headers=token).status_code == 400  # replayed
    forged = {**record.to_json(), "holder": "Another"}
    assert client.post(f"{BASE}/records", json=forged, headers=token).status_code == 409
    assert client.post(f"{BASE}/records", content=b"x" * 50_000, headers=token).status_code == 413
    assert client.post(f"{BASE}/records", content=b"[" * 15_000, headers=token).status_code == 400
    assert client.post(f"{BASE}/records", json=[1], headers=token).status_code == 400


def test_another_host_name_is_refused(client):
    assert client.get(f"{BASE}/", headers={"Host": "evil.example"}).status_code == 400


def test_pages_cover_every_record_once(client, store):
    for i in range(7):
        store.submit(make(AGES, population=Population.parse(f"NL/Place{i}@2021")))
    seen, after = [], ""
    while after is not None:
        page = client.get(f"{BASE}/records", params={"limit": 3, "after": after}).json()
        seen += [r["id"] for r in page["records"]]
        after = page["next"]
    assert len(seen) == len(set(seen)) == 9


def test_many_writers_leave_one_chain(store):
    key = signer()
    records = [make(AGES, population=Population.parse(f"NL/Place{i}@2021"), key=key) for i in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(store.submit, records))
    previous = START
    for number, line in enumerate(store.log(), start=1):
        assert line["line"] == number
        assert line["hash"] == link(previous, number, line["kind"], line["subject"], line["digest"])
        previous = line["hash"]
    assert store.head() == (16, previous)


def test_too_many_questions_are_slowed():
    from shoal.server.common import Limiter

    limiter = Limiter(rate=0.001, burst=3)
    assert [limiter.allow("a") for _ in range(5)] == [True, True, True, False, False]
    assert limiter.allow("b")


def test_an_address_that_asks_too_much_is_told_to_wait(store):
    from shoal.server.common import new_app
    from shoal.server.registry.api import create_router

    app = new_app("test")
    app.include_router(create_router(store, rate=0.001, burst=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = TestClient(app, base_url="http://127.0.0.1")
    codes = [client.get(f"{BASE}/").status_code for _ in range(5)]
    assert codes == [200, 200, 200, 429, 429]
    assert "mirror" in client.get(f"{BASE}/").json()["hint"]


def test_answers_are_kept_up_to_a_number_of_bytes():
    from shoal.server.registry.workers import AnswerCache

    answers, made = AnswerCache(most=100), []

    def make_it(name):
        return lambda: made.append(name) or "x" * 30

    for name in ("a", "b", "a", "c", "d", "a"):
        answers.get("head", name, make_it(name))
    assert made == ["a", "b", "c", "d", "a"]  # the second a was kept; the third was pushed out
    answers.get("new head", "d", make_it("d"))
    assert made[-1] == "d"


def test_schemathesis_finds_no_server_error(store):
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_headers_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    store.submit(make(AGES, cells=95))
    token = store.tokens.add("fuzz")
    schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(store, hosts=("127.0.0.1", "localhost", "testserver")))
    seen: dict[str, set[int]] = {}
    checks = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
    for result in schema.get_all_operations():
        _fuzz(result.ok(), token, (*checks, response_headers_conformance), seen)
    assert len(seen) >= 11
    assert all(code < 500 for codes in seen.values() for code in codes)
    assert {200, 400, 404} <= set().union(*seen.values())


def _fuzz(operation: Any, token: str, checks: Any, seen: dict[str, set[int]]) -> None:
    calm = {"max_examples": 15, "deadline": None, "suppress_health_check": list(HealthCheck), "database": None}

    @hypothesis_settings(**calm, derandomize=True)
    @given(case=operation.as_strategy())
    def test(case: Any) -> None:
        if case.query and len(str(case.query)) % 3 == 0:
            known = {"attributes": "age/years", "population": "NL/Utrecht@2021"}
            case.query.update({k: v for k, v in known.items() if k in case.query})
        answer = case.call(headers={"Authorization": f"Bearer {token}", "Host": "127.0.0.1"})
        seen.setdefault(operation.label, set()).add(answer.status_code)
        case.validate_response(answer, checks=list(checks))

    test()


def test_the_generated_seed_equals_direct_computation(tmp_path):
    from shoal.registry.keep.store import Store
    from shoal.registry.publish.seed import _generated

    store = Store(f"sqlite:///{tmp_path / 'seed.db'}")
    found = fill(store)
    assert found["source"] == "generated people"
    for codes, population, counts, _ in list(_generated())[::40]:
        _same_as_direct(store, codes, population, counts)
    store.close()


def test_the_public_seed_equals_direct_computation(tmp_path, shared_data):
    from public_tables import public_topics
    from shoal.registry.keep.store import Store

    folder = tmp_path / "data"
    (folder / "pop_uk_la").mkdir(parents=True)
    source = (shared_data / "pop_uk_la" / "uk_mid2019_area_sex_age.csv").read_text().splitlines()
    (folder / "pop_uk_la" / "uk_mid2019_area_sex_age.csv").write_text("\n".join(source[:1] + source[600:640]) + "\n")
    (folder / "us_zip").symlink_to(shared_data / "us_zip")
    store = Store(f"sqlite:///{tmp_path / 'seed.db'}")
    assert fill(store, public_topics(folder))["records"] > 50
    topics = list(public_topics(folder))
    assert {t[0] for t in topics} >= {
        ("age/years",),
        ("age/years", "sex"),
        ("sex",),
        ("postcode/US/zip5",),
        ("postcode/US/zip3",),
    }
    for codes, population, counts, _ in topics[::17]:
        _same_as_direct(store, codes, population, counts)
    store.close()


def _same_as_direct(store, codes, population, counts) -> None:
    """κ and the expected shares of a record lie within half a step of a direct computation on the raw counts."""
    if sum(counts) < 1000:
        return
    record = store.topic(codes, population)[0]
    p = np.array([c for c in counts if c]) / sum(counts)
    numbers = record.summary.statistics
    kappa = np.log(record.summary.cells) + float((p * np.log(p)).sum())
    assert abs(numbers["kappa"].value - kappa) <= numbers["kappa"].step / 2 + 1e-9
    for k in (10, 500, 20_000):
        exact = float((p * (1 - p) ** (k - 1)).sum())
        assert abs(numbers[f"unique_{k}"].value - exact) <= numbers[f"unique_{k}"].step / 2 + 1e-9
    assert json.dumps(record.to_json())
