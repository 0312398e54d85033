"""The catalogue: signed notices without data, taken like records; what they mean together."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from itertools import permutations

import pytest

from registry_support import AGES, make
from shoal.errors import AccessError, DataError, ShoalError, TamperError, UsageError
from shoal.kernels.signatures import signer
from shoal.registry.answer.matching import MOST_MATCHES, MOST_NOTICES, match
from shoal.registry.answer.query import Registry
from shoal.registry.keep.mirror import Mirror, verify_store, write_mirror
from shoal.registry.keep.store import Store
from shoal.registry.records.notice import MOST_TITLE, Notice
from shoal.registry.records.population import Population
from shoal.registry.records.trust import Statement
from shoal.registry.records.vocabulary import canonical
from shoal.server.app import create_app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the test client's own change of HTTP library
    from fastapi.testclient import TestClient

HOSPITAL, TAX, POLL = signer(), signer(), signer()


def notice(kind="holds", codes=("age/years", "sex"), people="NL/Utrecht@2021", key=HOSPITAL, title="Admissions", **more):
    holder = more.pop("holder", f"Holder {key.fingerprint}")
    return Notice(kind, title, canonical(codes), Population.parse(people), holder, "2026-01-15", **more).signed(key)


@pytest.fixture
def three():
    return [
        notice(codes=("age/years", "diagnosis/icd10-3", "postcode/NL/pc4", "sex")),
        notice(codes=("birth/date", "income/10k", "sex"), people="NL@2021", key=TAX, title="Tax"),
        notice("asks", ("age/5y", "sex", "x/mood"), key=POLL, title="How are you"),
    ]


def test_a_notice_is_signed_and_any_change_is_found():
    given = notice()
    body = given.to_json()
    assert Notice.from_json(body).verify() == given
    for field, other in (
        ("title", "Other"), ("kind", "asks"), ("attributes", ["sex"]), ("population", "NL@2021"), ("holder", "B"),
        ("date", "2026-01-16"), ("version", 1.5), ("id", "0" * 64), ("key", TAX.public), ("extra", 1),
    ):  # fmt: skip
        with pytest.raises(ShoalError):
            Notice.from_json({**body, field: other}).verify()
    with pytest.raises(TamperError):
        replace(given, title="Other").verify()
    with pytest.raises(TamperError, match="signature of the notice does not fit"):
        replace(given, signature=notice(title="Other").signature).verify()


@pytest.mark.parametrize("title", ["", " a", "a  b", "a\nb", "…", "x" * (MOST_TITLE + 1)])
def test_titles_that_show_nothing_or_something_else_are_refused(title):
    with pytest.raises(UsageError, match="title"):
        notice(title=title)
    assert notice(title="x" * MOST_TITLE).title


def test_nothing_but_codes_and_names_is_in_a_notice(store):
    assert set(notice().to_json()) == {
        "format", "kind", "title", "attributes", "population", "holder", "key", "date", "version", "supersedes", "id", "signature"
    }  # fmt: skip
    with pytest.raises(UsageError, match="vocabulary"):
        notice(codes=("age=87",))


def test_versions_names_replays_and_revoked_keys_as_with_records(store):
    first = store.notices.submit(notice())
    with pytest.raises(DataError, match="submitted before"):
        store.notices.submit(first)
    with pytest.raises(DataError, match="version 1 was submitted where version 2"):
        store.notices.submit(notice(codes=("sex",)))
    second = store.notices.submit(notice(codes=("sex",), version=2, supersedes=first.id))
    assert [n.id for n in store.notices.current()] == [second.id]
    assert {n.id: s for n, s in store.notices.history()} == {first.id: "superseded", second.id: "current"}
    with pytest.raises(AccessError, match="another key"):
        store.notices.submit(notice(key=TAX, title="Tax", holder=first.holder))
    with pytest.raises(AccessError, match="another key"):
        store.submit(make(AGES, holder=first.holder, key=TAX))
    store.state(Statement("revoke-key", HOSPITAL.public, "", "2026-01-16", 1).signed(HOSPITAL))
    assert store.notices.current() == []
    with pytest.raises(TamperError, match="revoked"):
        store.notices.submit(notice(title="Another"))


def test_only_its_signer_withdraws_a_notice(store):
    given = store.notices.submit(notice())
    with pytest.raises(TamperError, match="only the holder"):
        store.state(Statement("revoke-record", given.id, "", "2026-01-16", 1).signed(TAX))
    store.state(Statement("revoke-record", given.id, "", "2026-01-16", 1).signed(HOSPITAL))
    assert store.notices.current() == []
    assert verify_store(store)["notices"] == 0


def test_a_mirror_carries_the_catalogue_and_finds_what_was_changed(store, three, tmp_path):
    for each in three:
        store.notices.submit(each)
    store.submit(make(AGES))
    mirror = Mirror(write_mirror(store, tmp_path / "m"))
    assert mirror.verify() == {"lines": 4, "records": 1, "statements": 0, "notices": 3}
    assert mirror.notices.current() == store.notices.current()
    assert mirror.notices.current("UTRECHT") == store.notices.current("utrecht")
    file = tmp_path / "m" / "catalogue.json"
    body = json.loads(file.read_text())
    lies = [
        {**body, "current": body["current"][1:]},
        {"notices": body["notices"][1:], "current": body["current"][1:]},
        {"notices": [*body["notices"], body["notices"][0]], "current": body["current"]},
        {"notices": [*body["notices"], notice(title="More").to_json()], "current": [*body["current"], notice(title="More").id]},
        {"notices": [{**body["notices"][0], "title": "Other"}, *body["notices"][1:]], "current": body["current"]},
        {"notices": {}, "current": []},
        [],
    ]
    for lie in lies:
        file.write_text(json.dumps(lie))
        with pytest.raises(ShoalError):
            Mirror(tmp_path / "m").verify()


def test_who_could_join_what_and_who_asks_for_what_is_held(three):
    found = match(three, Registry())
    (join,), requests = found.joins, found.requests
    assert join.shared == ("age/years", "sex")
    sides = {join.one.title: join.one_adds, join.other.title: join.other_adds}
    assert sides == {"Admissions": ("diagnosis/icd10-3", "postcode/NL/pc4"), "Tax": ("birth/date", "income/10k")}
    assert {(r.holds.title, r.held, r.recognise) for r in requests} == {
        ("Admissions", ("age/5y", "sex"), ("age/5y", "sex")),
        ("Tax", ("age/5y", "sex"), ("age/5y", "sex")),
    }
    assert all(r.unique is not None and r.unique.high < 0.01 for r in requests)  # nineteen bands hide everybody of Utrecht
    assert "could be joined by age/years, sex" in join.sentence


def test_the_order_of_notices_makes_no_difference(three):
    told = {json.dumps(match(order, Registry()).to_json(), sort_keys=True) for order in permutations(three)}
    assert len(told) == 1


@pytest.mark.parametrize(
    ("other", "matched"),
    [
        ({"people": "BE/Utrecht@2021"}, False),
        ({"people": "NL/Amersfoort@2021"}, False),
        ({"people": "NL/Utrecht/Centrum@2019"}, True),
        ({"codes": ("x/mood",)}, False),
        ({"codes": ("sex",)}, True),
        ({"codes": ("age/years", "sex")}, False),  # neither would learn anything
        ({"codes": ("postcode/US/zip5",)}, False),
    ],
)
def test_only_people_and_attributes_that_may_be_the_same_are_matched(other, matched):
    one = notice(codes=("age/years", "sex"))
    two = notice(**{"codes": ("income/1k", "sex"), "key": TAX, "title": "Tax", **other})
    assert bool(match([one, two], Registry()).joins) is matched
    assert not match([one, replace(two, key=HOSPITAL.public)], Registry()).joins  # nobody is matched with itself


def test_a_place_is_named_by_one_of_two(three):
    assert len(match(three, Registry(), about="UTRECHT").joins) == 1
    assert match(three, Registry(), about="Leeds") == match([], Registry())


def test_so_many_matches_are_shown_and_the_rest_is_said():
    one = notice(codes=("income/1k", "sex"))
    keys = [signer() for _ in range(MOST_MATCHES + 1)]
    others = [notice(codes=("sex", "x/mood"), key=k, title="T", people="ZZ@2021") for k in keys]
    wide = replace(one, population=Population.parse("ZZ@2021"))
    asks = [replace(n, kind="asks") for n in others]
    assert not match([wide, *asks[:MOST_MATCHES]], Registry()).more
    found = match([wide, *asks], Registry())
    assert found.more
    assert len(found.requests) == MOST_MATCHES
    lonely = [replace(n, population=Population.parse(f"Z{i}@2021")) for i, n in enumerate((others * 3)[:MOST_NOTICES])]
    assert not match(lonely, Registry()).more
    assert match([*lonely, one], Registry()).more


def test_over_http_as_in_the_library(three, tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'r.db'}")
    token = store.tokens.add("Hospital", holder=three[0].holder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        service = TestClient(create_app(store), base_url="http://127.0.0.1")
    with service as client:
        at = "/registry/v1/catalogue"
        assert client.post(at, json=three[0].to_json()).status_code == 401
        head = {"Authorization": f"Bearer {token}"}
        assert client.post(at, json=three[0].to_json(), headers=head).status_code == 201
        assert client.post(at, json=three[1].to_json(), headers=head).status_code == 403  # not this token's holder
        for each in three[1:]:
            store.notices.submit(each)
        assert client.get(at, params={"limit": 2}).json()["more"] is True
        assert client.get(at).json() == {"notices": [n.to_json() for n in store.notices.current()], "more": False}
        page = client.get(f"{at}/history").json()
        assert [(n["notice"]["id"], n["status"]) for n in page["notices"]] == [(n.id, s) for n, s in store.notices.history()]
        expected = json.loads(json.dumps(match(three, Registry(store)).to_json()))
        assert client.get(f"{at}/matches").json() == expected
        trusted = client.get(f"{at}/matches", params={"trust": TAX.public}).json()
        assert trusted == {"joins": [], "requests": [], "more": False}
