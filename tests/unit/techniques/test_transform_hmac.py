"""Keyed digests of many texts: HMAC-SHA-256, by a library."""

from __future__ import annotations

import hmac

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import shoal.techniques as tf
from shoal.techniques.identity import keys
from shoal.techniques.identity.keys import digests_of, keyed_digest

KEY = "correct horse battery staple 42!"
TEXTS = [*("x" * n for n in range(131)), *("é😀" * n for n in (1, 9, 10, 11)), "x" * 4000]


@pytest.mark.parametrize("key", [16, 63, 64, 65, 200])
@pytest.mark.parametrize("domain", ["", "p", "ü" * 40])
def test_digests_are_those_of_the_standard_library(key, domain):
    """All lengths around the ends of one, two and three blocks; keys of up to one block and longer."""
    secret = (bytes(range(50, 50 + key % 150)) * 2)[:key]
    made = digests_of(secret, domain, pa.array(["left out", *TEXTS])[1:])
    assert [d.tobytes() for d in made] == [hmac.digest(secret, f"{domain}\0{t}".encode(), "sha256") for t in TEXTS]
    assert digests_of(secret, domain, pa.array([], pa.string())).shape == (0, 32)


@pytest.mark.parametrize(("people", "whole"), [(6, False), (7, True), (8, True)])
def test_texts_that_hardly_come_twice_are_taken_as_they_are(people, whole):
    """More than three of four are different: then every eighth batch tells whether they still are."""
    asked = []
    each = keys.EachText(lambda texts: asked.append(len(texts)) or pc.utf8_upper(texts))
    batch = pa.array([f"p{i % people}" for i in range(8)])
    for _ in range(9):
        assert each(batch).to_pylist() == [t.upper() for t in batch.to_pylist()]
    assert asked == [people, *[8 if whole else people] * 7, people]
    assert each(pa.array(["a", None, "a"])).to_pylist() == ["A", None, "A"]
    assert asked[-1] == 1
    assert each(pa.array(["a", "b"])[:0]).to_pylist() == []


def test_batches_of_different_people_are_published_as_single_ones(monkeypatch):
    monkeypatch.setenv("TEST_KEY", KEY)
    n = 60
    table = pa.table({"p": [f"p{i}" for i in range(n - 2)] + [None, "p3"], "d": pa.array(range(n), pa.int32()).cast(pa.date32())})
    for step in (tf.KeyedHash("p", "env:TEST_KEY", length=17), tf.DateShift("d", "p", key="env:TEST_KEY")):
        single = [tf.apply(step, table.slice(i, 1)).table[step.column][0].as_py() for i in range(n)]
        assert tf.apply(step, table, batch_size=9).table[step.column].to_pylist() == single
    digests = [keyed_digest(KEY.encode(), "p", t).hex()[:17] for t in table["p"].to_pylist()[:9]]
    assert tf.apply(tf.KeyedHash("p", "env:TEST_KEY", length=17), table).table["p"].to_pylist()[:9] == digests
