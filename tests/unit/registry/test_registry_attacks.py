"""Attacks on trust and privacy: rewritten histories, doctored stores, hostile services, look-alike names, parts that betray."""

from __future__ import annotations

import json
import sqlite3
import threading
import warnings
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from registry_support import AGES, UTRECHT, make
from shoal.errors import DataError, EngineError, RequirementError, ShoalError, TamperError, UsageError
from shoal.kernels.signatures import signer
from shoal.registry.answer.query import Registry
from shoal.registry.keep.mirror import Mirror, verify_store, write_mirror
from shoal.registry.keep.remote import Remote
from shoal.registry.keep.store import Store
from shoal.registry.publish.differencing import refuse
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record
from shoal.registry.records.trust import Statement

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

from shoal.server.app import create_app

STEEP = [9 * i + 1 for i in range(95)]


class TestHistory:
    @pytest.fixture
    def first(self, store, tmp_path):
        store.submit(make(AGES))
        store.submit(make(STEEP, holder="B"))
        return write_mirror(store, tmp_path / "first")

    def test_a_registry_that_goes_on_is_taken(self, store, first, tmp_path):
        store.submit(make(AGES, population=Population.parse("BE@2021")))
        second = write_mirror(store, tmp_path / "second", earlier=first)
        assert Mirror(second).verify(earlier=first)["lines"] == 3

    def test_another_history_is_found(self, first, tmp_path):
        """The registry starts again without a record that somebody dislikes; every signature fits, the chain too."""
        other = Store(f"sqlite:///{tmp_path / 'other.db'}")
        kept = Record.from_json(json.loads(next((first / "records").iterdir()).read_text()))
        other.submit(kept)
        other.submit(make(AGES, population=Population.parse("BE@2021")))
        other.submit(make(AGES, population=Population.parse("DE@2021")))
        with pytest.raises(TamperError, match="rewritten or cut"):
            write_mirror(other, tmp_path / "second", earlier=first)
        assert not (tmp_path / "second").exists()
        other.close()

    def test_a_log_that_was_cut_is_found(self, first, tmp_path):
        short = Store(f"sqlite:///{tmp_path / 'short.db'}")
        line = json.loads((first / "log.jsonl").read_text().splitlines()[0])
        short.submit(Record.from_json(json.loads((first / "records" / f"{line['subject']}.json").read_text())))
        with pytest.raises(TamperError, match="rewritten or cut"):
            write_mirror(short, tmp_path / "second", earlier=first)
        short.close()


class TestStores:
    """A database file from elsewhere: what nobody signed is found."""

    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "r.db"
        store, key = Store(f"sqlite:///{path}"), signer()
        self.record = store.submit(make(AGES, key=key))
        gone = store.submit(make(AGES, key=key, population=Population.parse("BE@2021")))
        store.state(Statement("revoke-record", gone.id, "", "2025-02-01", 1).signed(key))
        store.close()
        return path

    def change(self, path, sql, *values):
        with sqlite3.connect(path) as db:
            db.execute(sql, values)
        db.close()

    def verified(self, path):
        store = Store(f"sqlite:///{path}")
        try:
            return verify_store(store)
        finally:
            store.close()

    def test_an_honest_one_passes(self, file):
        assert self.verified(file) == {"lines": 3, "records": 1, "statements": 1, "notices": 0}

    def test_changed_numbers_are_found(self, file):
        body = json.dumps({**self.record.to_json(), "size": 99_000})
        self.change(file, "UPDATE registry_records SET body = ? WHERE id = ?", body, self.record.id)
        with pytest.raises(TamperError):
            self.verified(file)

    def test_a_revoked_record_put_back_is_found(self, file):
        self.change(file, "UPDATE registry_records SET status = 'current'")
        with pytest.raises(TamperError, match="other records than its log"):
            self.verified(file)

    def test_a_record_taken_out_is_found(self, file):
        self.change(file, "DELETE FROM registry_records WHERE id = ?", self.record.id)
        with pytest.raises(TamperError, match="missing"):
            self.verified(file)

    def test_a_log_line_taken_out_is_found(self, file):
        self.change(file, "DELETE FROM registry_log WHERE line = 2")
        with pytest.raises(TamperError, match="line 2"):
            self.verified(file)


class TestNames:
    @pytest.mark.parametrize("name", ["STATISTICS OFFICE", "Statistics Оffice", "Statistics-Office", "Ｓtatistics Office"])
    def test_a_name_that_looks_like_another_is_pointed_out(self, store, tmp_path, name):
        first, second = signer(), signer()
        store.submit(make(AGES, holder="Statistics Office", key=first))
        store.state(Statement("endorse", second.public, "", "2025-01-01", 1).signed(first))
        store.submit(make(AGES, holder=name, key=second, population=Population.parse("BE@2021")))
        for shelf in (store, Mirror(write_mirror(store, tmp_path / "m"))):
            notes = Registry(shelf).query(["age/years"], str(UTRECHT)).notes
            assert any("looks like it" in n for n in notes)

    @pytest.mark.parametrize("name", ["", " ", "...", " a", "a ", "a  b", "a\u202eb", "a\u200bb", "a\nb", "x" * 121])
    def test_names_that_show_nothing_or_something_else_are_refused(self, name):
        with pytest.raises(UsageError, match="printable"):
            make(AGES, holder=name)

    @pytest.mark.parametrize(
        "code", ["age/уears", "AGE/years", "age/years ", "x/Ünïcode", "x/a/b/c", "x/" + "a" * 60, "age\u200b/5y"]
    )
    def test_attributes_have_one_spelling(self, code):
        with pytest.raises(UsageError, match="vocabulary"):
            make(AGES, codes=(code,))


class TestJson:
    @pytest.fixture
    def client(self, store):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield TestClient(create_app(store), base_url="http://127.0.0.1")

    def test_names_given_twice_and_numbers_that_are_none_are_refused(self, client, store):
        token = {"Authorization": f"Bearer {store.tokens.add('x')}"}
        good = json.dumps(make(AGES).to_json())
        for bad in (good[:-1] + ',"holder":"Other"}', good.replace('"size":', '"size":NaN,"x":'), good + good, "NaN"):
            answer = client.post("/registry/v1/records", content=bad.encode(), headers=token)
            assert (answer.status_code, answer.json()["message"]) == (400, "the submission is not JSON.")
        assert client.post("/registry/v1/records", content=good.encode(), headers=token).status_code == 201

    def test_a_mirror_with_names_given_twice_is_refused(self, store, tmp_path):
        store.submit(make(AGES))
        folder = write_mirror(store, tmp_path / "m")
        file = next((folder / "records").iterdir())
        file.write_text(file.read_text().strip()[:-1] + ',"size":1}')
        with pytest.raises(ShoalError, match="cannot be read"):
            Mirror(folder).topic(("age/years",), str(UTRECHT))

    def test_two_host_names_are_refused(self, client):
        for hosts in (["127.0.0.1", "evil.example"], ["evil.example", "127.0.0.1"], ["127.0.0.1.evil.example"]):
            request = client.build_request("GET", "/registry/v1/", headers=[("Host", h) for h in hosts])
            assert client.send(request).status_code == 400

    def test_records_with_noise_are_shown_and_mirrored_whole(self, client, store):
        from shoal.registry.publish.proposals import Ledger, propose, publish

        plain = store.submit(make(AGES))
        drawn = propose(AGES, ["sex"], UTRECHT, holder="H", date="2025-01-01", cells=95, noise=1.0)
        noisy = store.submit(publish(drawn, signer(), Ledger()))
        shown = {r["id"]: r for r in client.get("/registry/v1/records").json()["records"]}
        assert shown == {r.id: r.to_json() for r in (plain, noisy)}
        ask = {"attributes": "sex", "population": str(UTRECHT), "group_size": 50}
        assert client.get("/registry/v1/analyse", params=ask).json()["unique_share"]["level"] == 0.99


class TestLimits:
    def test_one_machine_with_many_addresses_is_one(self):
        from shoal.server.common import neighbourhood

        assert len({neighbourhood(f"2001:db8:1:2::{i:x}") for i in range(50)}) == 1
        assert neighbourhood("2001:db8:1:3::1") != neighbourhood("2001:db8:1:2::1")
        assert neighbourhood("::ffff:192.0.2.1") == neighbourhood("192.0.2.1")
        assert neighbourhood("testclient") == "testclient"

    @pytest.mark.parametrize("proxy", ["", "127.0.0.1"])
    def test_nobody_but_a_proxy_that_was_named_speaks_for_others(self, monkeypatch, proxy):
        import uvicorn

        from shoal.server import common, limited_http

        given = {}
        monkeypatch.setattr(uvicorn, "run", lambda app, **options: given.update(options))
        limited_http.run(common.new_app("x"), host="127.0.0.1", port=1, proxy=proxy)
        assert given["proxy_headers"] is bool(proxy)
        assert given.get("forwarded_allow_ips") == (proxy or None)
        assert given["access_log"] is False


class Liar(BaseHTTPRequestHandler):
    """A service that answers whatever the test wants."""

    answers: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        body = next((v for k, v in self.answers.items() if k in self.path), b"{}")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class TestServices:
    @pytest.fixture
    def liar(self):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Liar)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
        server.server_close()

    @pytest.mark.parametrize(
        "answers",
        [
            {}, {"": b"[]"}, {"": b"x"}, {"/log": b'{"lines":[1]}'}, {"/log": b'{"lines":[{}]}'}, {"/log": b'{"lines":{}}'},
            {"/log": b'{"lines":[{"line":2}]}'}, {"/log": b'{"lines":[{"line":1,"hash":"x"}]}'},
            {"/log": b'{"lines":[]}', "/history": b'{"records":[{}]}'},
            {"/log": b'{"lines":[]}', "/history": b'{"records":[[]]}'},
            {"/log": b'{"lines":[]}', "/history": b'{"records":[]}', "/statements": b'{"statements":[{"a":1}]}'},
            {"/log": b'{"lines":[],"lines":[]}'}, {"/log": b"[" * 100_000},
        ],
    )  # fmt: skip
    def test_nonsense_makes_no_mirror(self, liar, tmp_path, monkeypatch, answers):
        monkeypatch.setattr(Liar, "answers", answers)
        with pytest.raises(ShoalError):
            write_mirror(Remote(liar), tmp_path / "m")
        assert list(tmp_path.iterdir()) == []

    def test_pages_that_repeat_themselves_end(self, liar, tmp_path, monkeypatch):
        record, key = make(AGES), signer()
        said = Statement("endorse", signer().public, "", "2025-01-01", 1).signed(key)
        pages = {"/log": b'{"lines":[]}', "/statements": b'{"statements":[]}'}
        history = json.dumps({"records": [{"record": record.to_json(), "status": "current"}]}).encode()
        for more in (
            {"/history": history},
            {"/history": b'{"records":[]}', "/statements": json.dumps({"statements": [said.to_json()]}).encode()},
        ):
            monkeypatch.setattr(Liar, "answers", {**pages, **more})
            with pytest.raises(DataError, match="cannot be read"):
                write_mirror(Remote(liar), tmp_path / "m")

    def test_a_forged_answer_to_a_question_is_refused(self, liar, monkeypatch):
        forged = {**make(AGES).to_json(), "holder": "Other"}
        body = {"fit": "exact", "records": [forged], "best": forged["id"], "notes": []}
        monkeypatch.setattr(Liar, "answers", {"/query": json.dumps(body).encode()})
        with pytest.raises(TamperError):
            Remote(liar).query(["age/years"], str(UTRECHT))

    def test_a_sound_answer_is_read(self, liar, monkeypatch):
        record = make(AGES)
        body = {"fit": "exact", "records": [record.to_json()], "best": record.id, "notes": ["a\x1b[2J"]}
        monkeypatch.setattr(Liar, "answers", {"/query": json.dumps(body).encode()})
        found = Remote(liar).query(["age/years"], str(UTRECHT))
        assert (found.fit, found.best, found.notes) == ("exact", record, ("a [2J",))

    @pytest.mark.parametrize(
        "url", ["http://[::1", "http://host:99999", "http://a b", "http://höst", "http://h\x00", "http://@h", "http://h:0"]
    )
    def test_addresses_that_are_none(self, url):
        with pytest.raises(UsageError, match="address"):
            Remote(url)

    def test_what_is_meant_for_this_machine_goes_to_no_proxy(self, liar, monkeypatch):
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setattr(Liar, "answers", {"/log": b'{"lines":[]}'})
        assert Remote(liar).log() == []
        with pytest.raises(EngineError):
            Remote("http://registry.invalid").log()


class TestDifferencing:
    @pytest.mark.parametrize(
        ("known", "asked", "people"),
        [
            pytest.param([("X@2026", 5000)], "X@2026;all", 4500, id="nested by a word"),
            pytest.param([("X@2026;women", 5000)], "X@2026;Women", 5001, id="a word in capitals"),
            pytest.param([("X@2026;job=A", 5000)], "X@2026;Job=a", 5001, id="a value in another spelling"),
            pytest.param([("X@2026", 5000), ("X@2026;women", 2500)], "X@2026;men", 2499, id="words that leave one"),
            pytest.param([("X@2026;women", 2500), ("X@2026;men", 2499)], "X@2026", 5000, id="the whole after its words"),
            pytest.param([("X@2026;age=0-17", 20_000)], "X@2026;age=0-18", 20_400, id="ranges one within the other"),
            pytest.param([("X@2026;age=65+", 20_000)], "X@2026;age=66+", 19_800, id="open ranges"),
            pytest.param([("X@2026", 5000), ("X/a@2026-06", 2450)], "X/b@2026", 2450, id="parts of overlapping periods"),
            pytest.param(
                [("X@2026", 9000), ("X@2026;a", 3000), ("X@2026;b", 3000), ("X@2026;z", 5000)], "X@2026;c", 2900, id="three words"
            ),
            pytest.param([("X@2026;women", 5000)], "X/a@2026;women", 4500, id="a place within, the same filter"),
        ],
    )
    def test_what_would_leave_a_few_people_is_refused(self, known, asked, people):
        with pytest.raises(RequirementError):
            refuse(Population.parse(asked), people, [(Population.parse(p), n) for p, n in known])

    @pytest.mark.parametrize(
        ("known", "asked", "people"),
        [
            pytest.param([("X@2026;age=0-17", 20_000)], "X@2026;age=18-64", 20_100, id="ranges apart"),
            pytest.param([("X@2026;job=a", 5000)], "X@2026;job=b", 5001, id="two values"),
            pytest.param([("X@2026", 5000), ("X/a@2020", 2450)], "X/b@2026", 2450, id="parts of other periods"),
            pytest.param([("X@2026", 5000), ("X@2026;women", 2500)], "X@2026;men", 2500, id="words that leave nobody"),
            pytest.param([("X@2026", 9000), ("X@2026;women", 4500)], "X@2026;adults", 7000, id="words that overlap"),
        ],
    )  # fmt: skip
    def test_what_leaves_nobody_or_many_is_taken(self, known, asked, people):
        refuse(Population.parse(asked), people, [(Population.parse(p), n) for p, n in known])


class TestMisinformation:
    @pytest.mark.parametrize(
        "lie",
        [
            {"kappa": 0.0, "h2": 6.9, "h3": 6.9, "h4": 6.9, "h5": 6.9, "h6": 6.9, "hmin": 3.0},  # one large cell, yet all equal
            {f"unique_{k}": 0.0 for k in (10, 20, 50, 100, 200, 500)},  # fewer unique than the mean cell allows
        ],
    )  # fmt: skip
    def test_numbers_that_no_population_has_are_refused(self, lie):
        key = signer()
        honest = make([2] * 1000, codes=("x/thing",), key=key, cells=1000)
        numbers = {k: replace(v, value=lie.get(k, v.value)) for k, v in honest.summary.statistics.items()}
        with pytest.raises(DataError, match="contradict"):
            replace(honest, summary=replace(honest.summary, statistics=numbers)).signed(key).verify()

    def test_more_entropy_than_people_is_refused(self):
        key = signer()
        honest = make([1] * 2000, codes=("x/thing",), key=key, cells=2000)
        with pytest.raises(DataError, match="contradict"):
            replace(honest, summary=replace(honest.summary, size=1000)).signed(key).verify()
