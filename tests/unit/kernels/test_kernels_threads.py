"""Work in a second thread: in order, with every error told, and over as soon as either side leaves."""

from __future__ import annotations

import threading
from contextlib import closing

import pyarrow as pa
import pytest

from shoal.engines.open import open as open_table
from shoal.engines.recode import by_codes
from shoal.kernels import threads
from shoal.kernels.threads import WAITING, ahead, behind
from shoal.model.plan import Plan, Suppression
from shoal.steps import Cut, Prefix


def numbers(n, closed, fails_at=None):
    try:
        for i in range(n):
            if i == fails_at:
                raise OSError("full")
            yield i
    finally:
        closed.append(n)


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


@pytest.mark.parametrize("n", [0, 1, WAITING, WAITING + 1, 50])
def test_all_items_come_in_their_order(n):
    done = []
    behind(iter(range(n)), done.append)
    assert list(ahead(iter(range(n)))) == done == list(range(n))


def test_items_are_made_in_another_thread_and_work_is_done_in_another():
    here, makers, workers = threading.get_ident(), set(), set()
    list(ahead(makers.add(threading.get_ident()) for _ in range(3)))
    behind(iter(range(3)), lambda _: workers.add(threading.get_ident()))
    assert len(makers) == len(workers) == 1
    assert here not in makers | workers


@pytest.mark.parametrize("at", [0, 1, 9])
def test_an_error_of_the_items_ends_it(at):
    closed, seen = [], []
    with pytest.raises(OSError, match="full"):
        seen.extend(ahead(numbers(10, closed, at)))
    assert seen == list(range(at))
    done = []
    with pytest.raises(OSError, match="full"):
        behind(numbers(10, closed, at), done.append)
    assert done == list(range(len(done)))
    assert closed == [10, 10]


@pytest.mark.parametrize("at", [0, 1, 19])
def test_an_error_of_the_work_ends_it(at):
    def work(i):
        if i == at:
            raise ValueError("broken")

    closed = []
    with pytest.raises(ValueError, match="broken"):
        behind(iter(range(20)), work)
    with pytest.raises(ValueError, match="broken"), closing(ahead(numbers(20, closed))) as given:
        list(map(work, given))
    assert closed == [20]


def test_who_leaves_early_ends_the_items():
    closed = []
    given = ahead(numbers(1000, closed))
    assert next(given) == 0
    given.close()
    assert closed == [1000]


@pytest.mark.parametrize(("n", "parts"), [(0, 1), (3, 1), (4, 2), (5, 2)])
def test_many_rows_are_shared_by_two_threads_and_none_is_left_out(n, parts, monkeypatch):
    monkeypatch.setattr(threads, "MANY", 4)
    done = []
    threads.in_halves(n, lambda start, stop: done.append((start, stop, threading.get_ident())))
    done.sort()
    assert [i for start, stop, _ in done for i in range(start, stop)] == list(range(n))
    assert len(done) == len({thread for _, _, thread in done}) == parts


@pytest.mark.parametrize("fails", [0, 2])
def test_an_error_in_either_half_is_raised(fails, monkeypatch):
    monkeypatch.setattr(threads, "MANY", 4)

    def work(start, stop):
        if start == fails:
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        threads.in_halves(4, work)


@pytest.mark.parametrize("n", [3, 4])
def test_items_of_many_rows_are_shared_and_come_back_in_their_order(n, monkeypatch):
    monkeypatch.setattr(threads, "MANY", 4)
    met = threading.Barrier(2)

    def work(item):
        if n == 4:
            met.wait(30)  # one thread alone would wait for ever
        return item * 10

    assert threads.each([1, 2, 3, 4], n, work) == [10, 20, 30, 40]
    with pytest.raises(ZeroDivisionError):
        threads.each([1, 0, 2], n, lambda item: 1 // item)


@pytest.mark.parametrize("rows", [7, 8, 9])
def test_a_file_written_while_the_next_rows_are_gathered_has_the_same_bytes(rows, tmp_path, monkeypatch):
    table = pa.table({"name": [f"n{i % 5}" for i in range(rows)], "age": [i % 3 for i in range(rows)]})
    heard = []
    with open_table(table) as source:
        source.recode(Plan((), seed=1), tmp_path / "whole.parquet")
        monkeypatch.setattr(by_codes, "BLOCK", 4)
        monkeypatch.setattr(threads, "MANY", 4)
        source.recode(Plan((), seed=1), tmp_path / "parts.parquet", progress=lambda done, what: heard.append(done))
    assert (tmp_path / "parts.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


def test_columns_shared_by_two_threads_are_recoded_as_by_one(tmp_path, monkeypatch):
    table = pa.table({"name": [f"n{i % 5}" for i in range(9)], "age": [i % 3 for i in range(9)]})
    cut = Cut("age", points=(1.0,), labels=("none", "some"))
    plan = Plan((cut, Prefix("name", length=1)), Suppression(4, ("age",)), seed=1)
    with open_table(table) as source:
        alone = source.recode(plan, tmp_path / "alone.parquet")
        monkeypatch.setattr(threads, "MANY", 4)
        shared = source.recode(plan, tmp_path / "shared.parquet")
    assert (shared.suppressed, shared.changed) == (alone.suppressed, alone.changed) == (3, {"name": 1.0, "age": 1.0})
    assert (tmp_path / "shared.parquet").read_bytes() == (tmp_path / "alone.parquet").read_bytes()
