"""What is added up in tables over labels and values, because there may be ten million classes: against slow definitions."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shoal.attacks import downcoding
from shoal.errors import InfeasibleError
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.release.certificate import contents
from shoal.release.gate.count_facts import _tallied, facts_of_counts
from shoal.release.plan.loss_limits import shown_records
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import regrouped


def _base(seed: int = 3, n: int = 400, values: int = 3) -> ClassCounts:
    rng = np.random.default_rng(seed)
    codes = [rng.permutation(n).astype(np.int32) - 1, rng.integers(-1, 4, n).astype(np.int32)]
    dense = rng.integers(0, 3, (n, values))
    dense[:, 0] += 1
    return ClassCounts(
        dense.sum(axis=1), ["a", "b"], codes, ([*range(n)], [*range(4)]), {"s": SensitiveCounts.from_dense("s", dense)}
    )


@pytest.mark.parametrize("values", [3, 2000])  # a short table of all pairs of class and value; a table too long
def test_classes_joined_by_known_numbers_are_those_joined_by_codes(values: int) -> None:
    base = _base(values=values)
    published = (base.codes[0] % 5, np.where(base.codes[1] < 0, -1, base.codes[1] // 2))
    stays = published[0] != 3
    by_codes = regrouped(base, published, stays)
    numbers = {pair: 97 - i for i, pair in enumerate(dict.fromkeys(zip(*(c.tolist() for c in published), strict=True)))}
    known = np.array([numbers[pair] for pair in zip(*(c.tolist() for c in published), strict=True)], np.int32)
    by_number = regrouped(base, published, stays, known)
    slow: Counter[tuple[int, ...]] = Counter()
    inside: Counter[tuple[int, ...]] = Counter()
    for i in np.flatnonzero(stays):
        slow[published[0][i], published[1][i]] += int(base.sizes[i])
    s = base.sensitive["s"]
    for i, value, n in zip(s.classes, s.values, s.counts, strict=True):
        if stays[i]:
            inside[published[0][i], published[1][i], value] += int(n)
    for found in (by_codes, by_number):
        pairs = list(zip(*(c.tolist() for c in found.codes), strict=True))
        assert pairs == list(slow)  # in order of first appearance
        assert found.sizes.tolist() == list(slow.values())
        made = found.sensitive["s"]
        assert {(*pairs[c], v): n for c, v, n in zip(made.classes, made.values, made.counts, strict=True)} == inside
    with pytest.raises(InfeasibleError):
        regrouped(base, published, np.zeros(base.n_classes, np.bool_), known)


@pytest.mark.parametrize("sizes", [[1], [1023], [1024], [1025], [1, 5, 1, 1], [5, 3, 2**40, 5]])
def test_sizes_are_tallied_alike_by_table_and_by_sorting(sizes: list[int]) -> None:
    found, how_many = _tallied(np.array(sizes))
    assert dict(zip(found.tolist(), how_many.tolist(), strict=True)) == dict(sorted(Counter(sizes).items()))
    assert found.tolist() == sorted(set(sizes))


@pytest.mark.parametrize("most", [0, 1 << 16])
def test_a_finer_value_is_news_where_fewer_than_half_have_it(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downcoding, "MOST_PAIRS", most)
    rng = np.random.default_rng(5)
    fine = rng.integers(-1, 90, 60).astype(np.int32)
    coarse = np.where(fine < 0, -1, fine // 4).astype(np.int32)
    sizes = rng.integers(0, 4, 60)
    whole, part = Counter[int](), Counter[tuple[int, int]]()
    for c, f, n in zip(coarse, fine, sizes, strict=True):
        whole[c] += n
        part[c, f] += n
    expected = [2 * part[c, f] < whole[c] for c, f in zip(coarse, fine, strict=True)]
    assert downcoding._is_news(coarse, fine, sizes).tolist() == expected
    halves = downcoding._is_news(np.array([0, 0, 1], np.int32), np.array([0, 1, 2], np.int32), np.array([2, 2, 1]))
    assert halves.tolist() == [False, False, False]  # exactly half is none


def test_records_by_label_and_members_by_value_are_added_up() -> None:
    base = _base()
    stays = np.arange(base.n_classes) % 3 > 0
    shown: Any = SimpleNamespace(stays=stays, codes=base.codes, labels=(tuple("x" * 400), tuple("abcd")))
    prepared = Prepared(*[None] * 3, base, {}, {})  # type: ignore[arg-type]
    for j, name in enumerate(base.columns):
        there, members = Counter[int](), Counter[int]()
        for code, n, stay in zip(base.codes[j].tolist(), base.sizes.tolist(), stays, strict=True):
            members[code] += n
            there[code] += n * stay
        width = len(shown.labels[j]) + 1
        assert shown_records(prepared, shown, j).tolist() == [there[i - 1] for i in range(width)]
        assert prepared.members(name).tolist() == [members[i - 1] for i in range(width)]
        assert prepared.n_values(name) == len(set(base.codes[j].tolist()))


def test_the_numbers_before_are_those_of_the_classes_alone() -> None:
    base = _base()
    assert contents.class_numbers(contents._of_base(base)) == contents.class_numbers(facts_of_counts(base))
