"""Hostile submissions, questions and mirrors: refused with a reason, never a crash, never a file elsewhere."""

from __future__ import annotations

import json
import shutil
import warnings
from dataclasses import replace

import pytest

from registry_support import AGES, make
from shoal.errors import DataError, ShoalError, TamperError
from shoal.kernels.signatures import canonical, signer
from shoal.registry.answer.query import Registry
from shoal.registry.keep.mirror import Mirror, write_mirror
from shoal.registry.records.chain import link
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record
from shoal.registry.records.trust import Statement

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

from shoal.server.app import create_app

BASE = "http://127.0.0.1/registry/v1"
GOOD = make(AGES).to_json()
STATISTICS = GOOD["statistics"]


def changed(**fields):
    return {**GOOD, **fields}


WRONG = {
    "huge number": changed(statistics={**STATISTICS, "kappa": [10**400, 0.01]}),
    "large float": changed(statistics={**STATISTICS, "kappa": [1e308, 0.01]}),
    "not a number": changed(statistics={**STATISTICS, "kappa": [float("nan"), 0.01]}),
    "infinite": changed(statistics={**STATISTICS, "h2": [float("inf"), 0.01]}),
    "truth value": changed(statistics={**STATISTICS, "h2": [True, 0.01]}),
    "nested statistics": changed(statistics={**STATISTICS, "h2": [[1.0], 0.01]}),
    "lone surrogate in the holder": changed(holder="\ud800"),
    "lone surrogate in the key": changed(key="\ud800" * 44),
    "lone surrogate superseded": changed(supersedes="\ud800" * 64, version=2),
    "nul in the holder": changed(holder="a\x00b"),
    "terminal control": changed(holder="\x1b[2J"),
    "attribute that is a list": changed(attributes=[["age/years"]]),
    "attribute that is a number": changed(attributes=[1]),
    "no attributes": changed(attributes=[]),
    "a thousand attributes": changed(attributes=[f"x/a{i:04}" for i in range(1000)]),
    "path as population": changed(population="../../etc/passwd@2021"),
    "path as an id": changed(id="../../../etc/passwd"),
    "sql": changed(population="NL'; DROP TABLE registry_records; --@2021"),
    "week date": changed(date="2025-W01-1"),
    "date without dashes": changed(date="20250101"),
    "version as text": changed(version="1"),
    "huge version": changed(version=10**30),
    "huge size": changed(size=10**30),
    "negative cells": changed(cells=-1),
    "older format": changed(format="shoal-record/0"),
    "newer format": changed(format="shoal-record/2"),
    "one field too many": changed(more=1),
    "one field missing": {k: v for k, v in GOOD.items() if k != "method"},
    "text": "record",
    "nothing": None,
}


@pytest.fixture
def client(store):
    store.submit(make(AGES, cells=95))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield TestClient(create_app(store), base_url="http://127.0.0.1", raise_server_exceptions=True)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_record_is_refused_with_a_reason(name):
    with pytest.raises(ShoalError):
        Record.from_json(WRONG[name])


def test_wrong_records_over_http_are_answers_not_errors(client, store):
    token = {"Authorization": f"Bearer {store.tokens.add('x')}", "Content-Type": "application/json"}
    before = store.head()
    for name, data in WRONG.items():
        answer = client.post(f"{BASE}/records", content=json.dumps(data).encode(), headers=token)
        assert answer.status_code in (400, 409), name
        assert set(answer.json()) == {"error", "message", "hint"}
    for raw in (b"[" * 19_000, b"{" * 19_000, b"\xff\xfe", b"", b'{"a":' * 3000 + b"1" + b"}" * 3000, b"9" * 15_000):
        assert client.post(f"{BASE}/records", content=raw, headers=token).status_code == 400
    assert client.post(f"{BASE}/records", content=b" " * 30_000, headers=token).status_code == 413
    assert store.head() == before


@pytest.mark.parametrize(
    "fields",
    [
        {"subject": "x" * 500}, {"subject": "\ud800"}, {"number": 10**30}, {"number": -1}, {"number": True}, {"kind": "drop"},
        {"date": "9999-12-31"}, {"date": "x"}, {"key": "\ud800"}, {"key": ""}, {"signature": ""}, {"format": "shoal-statement/0"},
    ],
)  # fmt: skip
def test_wrong_statements_are_refused(client, store, fields):
    key = signer()
    good = Statement("endorse", signer().public, "", "2025-01-01", 1).signed(key).to_json()
    token = {"Authorization": f"Bearer {store.tokens.add('x')}", "Content-Type": "application/json"}
    answer = client.post(f"{BASE}/statements", content=json.dumps({**good, **fields}).encode(), headers=token)
    assert answer.status_code in (400, 409)
    assert client.post(f"{BASE}/statements", json=good, headers=token).status_code == 201
    assert client.post(f"{BASE}/statements", json=good, headers=token).status_code == 400  # replayed


@pytest.mark.parametrize(
    "asked",
    [
        {"attributes": "age/years", "population": "NL/Utrecht@2021' OR 1=1 --"},
        {"attributes": "age/years'; DROP TABLE registry_records; --", "population": "NL@2021"},
        {"attributes": "../../etc/passwd", "population": "NL@2021"},
        {"attributes": "age/years", "population": "../..@2021"},
        {"attributes": "age/years,age/5y", "population": "NL@2021"},
        {"attributes": "age/years", "population": "ＮＬ@２０２１"},
        {"attributes": "age/years", "population": "NL@2021", "trust": "not a key"},
    ],
)
def test_hostile_questions_are_refused(client, asked):
    for path in ("query", "analyse", "decide"):
        answer = client.get(f"{BASE}/{path}", params={**asked, "group_size": 10})
        assert answer.status_code == 400, path
    for size in ("0", "-1", "nan", "1e9", str(10**30)):
        known = {"attributes": "age/years", "population": "NL/Utrecht@2021", "group_size": size}
        assert client.get(f"{BASE}/analyse", params=known).status_code == 422


def test_times_that_cannot_be_are_refused(store):
    key = signer()
    first = make(AGES, key=key)
    with pytest.raises(DataError, match="still to come"):
        store.submit(replace(first, date="9999-12-31").signed(key))
    store.submit(first)
    back = replace(first, date="1999-01-01", version=2, supersedes=first.id).signed(key)
    with pytest.raises(DataError, match="before that of the version"):
        store.submit(back)


def test_one_name_under_two_keys_is_pointed_out(store, tmp_path):
    first, second = signer(), signer()
    store.submit(make(AGES, holder="Statistics Office", key=first))
    ask = (["age/years"], "NL/Utrecht@2021")
    assert not any("More than one key" in n for n in Registry(store).query(*ask).notes)
    store.state(Statement("endorse", second.public, "", "2025-01-01", 1).signed(first))
    store.submit(make(AGES, holder="Statistics Office", key=second, population=Population.parse("BE@2021")))
    for source in (store, Mirror(write_mirror(store, tmp_path / "mirror"))):
        assert any("More than one key" in n for n in Registry(source).query(*ask).notes)


class TestMirrors:
    @pytest.fixture
    def folder(self, store, tmp_path):
        key = signer()
        record = store.submit(make(AGES, key=key))
        store.submit(make([3 * c for c in AGES], population=Population.parse("NL@2021")))
        store.state(Statement("revoke-record", record.id, "", "2025-02-01", 1).signed(key))
        self.revoked = record.id
        return write_mirror(store, tmp_path / "mirror")

    def edit(self, folder, change):
        index = json.loads((folder / "index.json").read_text())
        change(index)
        (folder / "index.json").write_bytes(canonical(index))

    def test_a_revoked_record_put_back_is_found(self, folder):
        self.edit(folder, lambda i: i["topics"].update({"age/years|NL/Utrecht@2021": [self.revoked]}))
        with pytest.raises(TamperError, match="other records than the log"):
            Mirror(folder).verify()

    def test_a_record_left_out_is_found(self, folder):
        self.edit(folder, lambda i: i["topics"].clear())
        with pytest.raises(TamperError, match="other records than the log"):
            Mirror(folder).verify()

    def test_a_record_under_another_topic_is_found(self, folder):
        self.edit(folder, lambda i: i["topics"].update({"sex|NL@2021": i["topics"].pop("age/years|NL@2021")}))
        with pytest.raises(TamperError):
            Mirror(folder).verify()

    @pytest.mark.parametrize("identity", ["../../etc/passwd", "..", "", "A" * 64, "a" * 63 + "/", "a" * 64])
    def test_names_that_lead_elsewhere_are_refused(self, folder, identity):
        self.edit(folder, lambda i: i["topics"].update({"age/years|NL@2021": [identity]}))
        with pytest.raises(ShoalError):
            Mirror(folder).topic(("age/years",), "NL@2021")

    def test_missing_statements_and_a_rewritten_log_are_found(self, folder, tmp_path):
        other = shutil.copytree(folder, tmp_path / "other")
        (folder / "statements.json").write_text("[]")
        with pytest.raises(TamperError, match="statement of the log is missing"):
            Mirror(folder).verify()
        lines = [json.loads(line) for line in (other / "log.jsonl").read_text().splitlines()][:2]
        assert link(lines[0]["hash"], 2, "record", lines[1]["subject"], lines[1]["digest"]) == lines[1]["hash"]
        (other / "log.jsonl").write_bytes(b"".join(canonical(line) + b"\n" for line in lines))
        self.edit(other, lambda i: i.update(line=2, head=lines[-1]["hash"]))
        with pytest.raises(TamperError):
            Mirror(other).verify()

    @pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"format":"shoal-registry/1","topics":{"a":[1]}}', "\x00"])
    def test_an_index_that_is_none(self, folder, text):
        (folder / "index.json").write_text(text)
        with pytest.raises(ShoalError):
            Mirror(folder)

    def test_log_lines_that_are_none(self, folder):
        for text in ("x\n", "[]\n", '{"line":1}\n', "9" * 10_000 + "\n", '{"line":true}\n'):
            (folder / "log.jsonl").write_text(text)
            with pytest.raises(ShoalError):
                Mirror(folder).verify()
