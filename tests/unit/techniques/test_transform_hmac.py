"""Keyed digests of many texts at once, beside the standard library's."""

from __future__ import annotations

import hmac

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import shoal.techniques as tf
from shoal.errors import InternalError
from shoal.kernels.jit import HAVE_NUMBA
from shoal.techniques.identity import keys
from shoal.techniques.identity.keys import digests_of, keyed_digest
from shoal.techniques.kernels.hmac_texts import hmac_texts

KEY = "correct horse battery staple 42!"
TEXTS = [*("x" * n for n in range(131)), *("é😀" * n for n in (1, 9, 10, 11)), "x" * 4000]


@pytest.mark.skipif(not HAVE_NUMBA, reason="without numba, digests are made one by one")
@pytest.mark.parametrize("key", [16, 63, 64, 65, 200])
@pytest.mark.parametrize("prefix", [0, 1, 54, 55, 56, 63, 64, 65, 130])
def test_digests_of_many_texts_are_those_of_the_standard_library(key, prefix):
    """All lengths around the ends of one, two and three blocks; keys of up to one block and longer."""
    secret, first = bytes(range(50, 50 + key % 150)) * 2, bytes(range(prefix))
    secret = secret[:key]
    found = hmac_texts(secret, first, pa.array(["left out", *TEXTS])[1:])
    assert [d.tobytes() for d in found] == [hmac.digest(secret, first + t.encode(), "sha256") for t in TEXTS]
    assert hmac_texts(secret, first, pa.array([], pa.string())).shape == (0, 32)


@pytest.mark.parametrize("few", [3, 4, 5])
def test_many_texts_have_the_digests_of_few(monkeypatch, few):
    asked = []
    monkeypatch.setattr(keys, "FEW", few if HAVE_NUMBA else 2**62)
    monkeypatch.setattr(keys, "hmac_texts", lambda *given: asked.append(given) or hmac_texts(*given))
    texts = ["a", "ü", "", "a b"]
    found = digests_of(KEY.encode(), "ü", pa.array(texts))
    assert [d.tobytes() for d in found] == [keyed_digest(KEY.encode(), "ü", t) for t in texts]
    assert len(asked) == (few <= 4 and HAVE_NUMBA)


def test_steps_publish_the_same_of_many_people_as_of_few(monkeypatch):
    monkeypatch.setenv("TEST_KEY", KEY)
    table = pa.table({"p": ["a", None, "b", "a"], "d": pa.array([0, 1, 2, 3], pa.int32()).cast(pa.date32())})
    steps = [tf.KeyedHash("p", "env:TEST_KEY", length=17), tf.DateShift("d", "p", key="env:TEST_KEY")]
    one_by_one = [tf.apply(s, table).table for s in steps]
    monkeypatch.setattr(keys, "FEW", 0 if HAVE_NUMBA else 2**62)
    assert [tf.apply(s, table).table for s in steps] == one_by_one


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


@pytest.mark.parametrize("at", [0, 2])
def test_compiled_digests_that_differ_from_the_librarys_are_never_published(monkeypatch, at):
    def broken(key, prefix, texts):
        out = np.stack([np.frombuffer(keyed_digest(key, "d", t), np.uint8) for t in texts.to_pylist()])
        out[at, 31] ^= 1
        return out

    monkeypatch.setattr(keys, "FEW", 3)
    monkeypatch.setattr(keys, "hmac_texts", broken)
    with pytest.raises(InternalError, match="differs"):
        digests_of(KEY.encode(), "d", pa.array(["a", "b", "c"]))
