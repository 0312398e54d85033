"""Long questions: a cost for each, a bound for each asker, and processes that stop when their time is used up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from registry_support import AGES, five_years, make
from shoal.errors import AccessError, UsageError
from shoal.registry.answer.query import Registry
from shoal.registry.keep.store import Store
from shoal.server.common import Limiter
from shoal.server.registry import api
from shoal.server.registry.workers import Workers, answer, cost

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the test client's own change of HTTP library
    from fastapi.testclient import TestClient

from shoal.server.app import create_app

BASE = "http://127.0.0.1/registry/v1"
FIFTY = [f"x/a{i:02d}" for i in range(50)]
DECIDE = ("decide", ["age/years"], "NL/Utrecht@2021", 100, 0.05, [])


@pytest.fixture
def shelf(tmp_path):
    """Everybody's age, and fifty attributes one by one: the longest advice there is."""
    url = f"sqlite:///{tmp_path / 'r.db'}"
    store = Store(url)
    store.submit(make(AGES, cells=95))
    store.submit(make(five_years(AGES), codes=("age/5y",), cells=19))
    for code in FIFTY:
        store.submit(make([20_000, 21_000, 40_000], codes=(code,), cells=3))
    yield url, store
    store.close()


def test_workers_answer_as_the_library_does_and_stop_when_time_is_up(shelf):
    url, store = shelf
    workers = Workers(url, processes=1, seconds=1.0)
    workers._started().submit(int).result()  # a busy machine may take long to start a process; the waits below begin after it
    try:
        assert workers.ask(DECIDE) == answer(Registry(store), DECIDE)
        analysis = ("analyse", ["age/5y"], "NL/Utrecht@2021", 50, 0.0, [])
        assert workers.ask(analysis) == answer(Registry(store), analysis)
        with pytest.raises(UsageError, match="vocabulary"):
            workers.ask(("decide", ["nonsense"], "NL/Utrecht@2021", 100, 0.05, []))
        with pytest.raises(AccessError, match="too long"):
            workers.ask(("decide", FIFTY, "NL/Utrecht@2021", 100, 0.01, []))
        assert workers.ask(analysis)["group_size"] == 50  # the process lives on
    finally:
        workers.close()


def test_a_cost_is_taken_to_its_edge():
    limiter = Limiter(1e-9, 10)
    assert limiter.allow("a", 4.0)
    assert not limiter.allow("a", 6.5)
    assert limiter.allow("a", 5.99)
    assert not limiter.allow("a")
    assert limiter.allow("b", 10.0)
    assert not limiter.allow("c", 10.5)
    assert (cost(DECIDE), cost(("decide", FIFTY, "", 1, 0.1, [])), cost(("analyse", FIFTY, "", 1, 0.1, []))) == (
        1.0,
        2500.0,
        50.0,
    )
    assert api.LONG_BURST == 2500  # the dearest question of all can be asked


def test_one_asker_cannot_ask_long_questions_without_end_and_known_answers_are_free(shelf, monkeypatch):
    _, store = shelf
    monkeypatch.setattr(api, "LONG_RATE", 1e-9)
    monkeypatch.setattr(api, "LONG_BURST", 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = TestClient(create_app(store), base_url="http://127.0.0.1")

    def ask(k):
        asked = {"attributes": ",".join(FIFTY[:k]), "population": "NL/Utrecht@2021", "group_size": 9}
        return client.get(f"{BASE}/decide", params=asked)

    assert [ask(k).status_code for k in (3, 4)] == [200, 200]  # 9 and 16 of 30
    assert ask(5).status_code == 429
    assert [ask(4).status_code for _ in range(5)] == [200] * 5
    assert client.get(f"{BASE}/query", params={"attributes": "age/years", "population": "NL/Utrecht@2021"}).status_code == 200


def test_fifty_attributes_known_one_by_one_are_no_error(shelf):
    """3 to the power of 50 cells are no bound, and no reason to refuse."""
    share = Registry(shelf[1]).query(FIFTY, "NL/Utrecht@2021").unique_share(100)
    assert (share.grade, share.high) == ("C", 1.0)


def test_many_at_once_get_the_same_answer(shelf):
    url, store = shelf
    workers = Workers(url, processes=1)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(workers.ask, [DECIDE] * 8))
        assert found == [answer(Registry(store), DECIDE)] * 8
    finally:
        workers.close()


KILLED = """
import os, signal, sys
from shoal.server.registry.workers import Workers
if __name__ == "__main__":
    workers = Workers(sys.argv[1], processes=2)
    workers.ask(("analyse", ["age/5y"], "NL/Utrecht@2021", 50, 0.0, []))
    print(*workers._pool._processes, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_with_a_service_that_is_killed(shelf, tmp_path):
    (tmp_path / "service.py").write_text(KILLED, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, str(tmp_path / "service.py"), shelf[0]]
    with (tmp_path / "said").open("w") as said:
        assert subprocess.run(words, env=env, stdout=said, stderr=subprocess.DEVNULL).returncode == -signal.SIGKILL
    processes = [int(word) for word in (tmp_path / "said").read_text().split()]
    assert processes
    for _ in range(600):
        if not any(Path(f"/proc/{process}").exists() for process in processes):
            return
        time.sleep(0.1)
    pytest.fail("workers outlive their service")
