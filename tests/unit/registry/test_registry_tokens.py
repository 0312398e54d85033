"""A token publishes for one holder and one key, and a holder's name belongs to the key that had it first."""

from __future__ import annotations

import warnings

import pytest

from registry_support import AGES, make
from shoal.errors import AccessError
from shoal.kernels.signatures import signer
from shoal.registry.keep.store import Store
from shoal.registry.records.population import Population
from shoal.registry.records.trust import Statement

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the test client's own change of HTTP library
    from fastapi.testclient import TestClient

from shoal.server.app import create_app

BASE = "http://127.0.0.1/registry/v1"
BE = Population.parse("BE@2021")


@pytest.fixture
def service(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'tokens.db'}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = TestClient(create_app(store), base_url="http://127.0.0.1")

    def post(token, thing):
        path = "statements" if isinstance(thing, Statement) else "records"
        return client.post(f"{BASE}/{path}", json=thing.to_json(), headers={"Authorization": f"Bearer {token}"})

    yield store, post
    store.close()


@pytest.mark.parametrize("bound", [True, False])
def test_a_token_is_for_one_key_named_or_first_used(service, bound):
    store, post = service
    mine, other = signer(), signer()
    token = store.tokens.add("A hospital", holder="A hospital", key=mine.public if bound else "")
    if not bound:
        assert post(token, make(AGES, holder="A Hospital", key=mine)).status_code == 201
    stolen = post(token, make(AGES, holder="A hospital", key=other, population=BE))
    assert stolen.status_code == 403
    assert post(token, Statement("endorse", mine.public, "", "2025-01-01", 1).signed(other)).status_code == 403
    assert post(token, Statement("endorse", other.public, "", "2025-01-01", 1).signed(mine)).status_code == 201
    assert post(token, make(AGES, holder="A hospital", key=mine, population=BE)).status_code == 201


def test_a_token_is_for_one_name(service):
    store, post = service
    key = signer()
    token = store.tokens.add("A hospital", holder="A hospital")
    refused = post(token, make(AGES, holder="Statistics Office", key=key))
    assert refused.status_code == 403
    assert "another holder" in refused.json()["message"]
    assert post(token, make(AGES, holder="A HOSPITAL", key=key)).status_code == 201  # it looks the same


def test_a_forged_or_refused_record_settles_nothing(service):
    store, post = service
    mine, other = signer(), signer()
    token = store.tokens.add("A hospital", holder="A hospital")
    forged = {**make(AGES, holder="A hospital", key=other).to_json(), "signature": "A" * 86 + "=="}
    thing = make(AGES, holder="A hospital", key=other)
    object.__setattr__(thing, "signature", forged["signature"])
    assert post(token, thing).status_code in (400, 409)
    assert post(token, make(AGES, holder="A hospital", key=mine)).status_code == 201


def test_a_name_belongs_to_the_first_key(service):
    store, post = service
    first, second = signer(), signer()
    store.submit(make(AGES, holder="Statistics Office", key=first))
    token = store.tokens.add("anybody")
    taken = post(token, make(AGES, holder="Statistics Оffice", key=second, population=BE))  # with a Cyrillic O
    assert taken.status_code == 403
    assert "belongs to another key" in taken.json()["message"]
    store.state(Statement("endorse", second.public, "", "2025-01-01", 1).signed(first))
    assert post(token, make(AGES, holder="Statistics Office", key=second, population=BE)).status_code == 201


def test_a_stranger_two_steps_away_does_not_get_the_name_and_a_revoked_key_leaves_it_free(service):
    store, _ = service
    first, friend, far = signer(), signer(), signer()
    store.submit(make(AGES, holder="Statistics Office", key=first))
    store.state(Statement("endorse", friend.public, "", "2025-01-01", 1).signed(first))
    store.state(Statement("endorse", far.public, "", "2025-01-01", 1).signed(friend))
    store.check_name("Statistics Office", friend.public)
    with pytest.raises(AccessError, match="another key"):
        store.check_name("Statistics Office", far.public)
    store.state(Statement("revoke-key", first.public, "", "2025-01-02", 2).signed(first))
    store.check_name("Statistics Office", far.public)
