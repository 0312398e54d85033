"""Work in a second thread: in order, with every error told, and over as soon as either side leaves."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from shoal.engines.recode.threads import WAITING, ahead, behind


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
