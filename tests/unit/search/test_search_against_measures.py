"""The kernels of the search agree with the definitions on the plans they find."""

from __future__ import annotations

import numpy as np
import pytest

from recoding_oracle import ColumnRecoding, Recoding, arx_loss, certainty_penalty, mutual_information_loss, precision
from search_oracle import random_table
from shoal.errors import InfeasibleError
from shoal.measures.classes import closeness, diversity
from shoal.measures.utility.class_losses import discernibility
from shoal.model import requirement as req
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.search import lattice
from shoal.search.problem.problem import leaf_positions


def recoding(counts: ClassCounts, trees, found) -> Recoding:
    columns = []
    for j, c in enumerate(counts.columns):
        leaf = leaf_positions(c, counts.categories[j], counts.codes[j], counts.sizes, trees[c])
        columns.append(ColumnRecoding.from_level(trees[c], leaf, found.levels[c]))
    return Recoding(counts.sizes, columns, ~found.kept)


def released(counts: ClassCounts, found) -> ClassCounts:
    """Class counts of what is published."""
    kept = np.unique(found.groups[found.kept])
    place = {g: i for i, g in enumerate(kept)}
    sizes = np.zeros(len(kept), dtype=np.int64)
    s = counts.sensitive["s"]
    dense = np.zeros((len(kept), int(s.values.max()) + 1), dtype=np.int64)
    for c in range(counts.n_classes):
        if found.kept[c]:
            sizes[place[found.groups[c]]] += counts.sizes[c]
    for c, v, n in zip(s.classes, s.values, s.counts, strict=True):
        if found.kept[c]:
            dense[place[found.groups[c]], v] += n
    return ClassCounts(sizes, sensitive={"s": SensitiveCounts.from_dense("s", dense, s.categories)})


LOSSES = {
    "loss": arx_loss,
    "ncp": certainty_penalty,
    "entropy": mutual_information_loss,
    "precision": lambda r: 1.0 - precision(r),
}


@pytest.mark.parametrize("loss", [*LOSSES, "discernibility"])
def test_losses_are_those_of_measures(loss: str) -> None:
    done = 0
    for seed in range(10):
        table = random_table(50_000 + seed, missing=False)
        counts, trees = table.counts(), table.hierarchies()
        try:
            found = lattice(counts, trees, [req.K(3)], suppress=0.2, loss=loss)
        except InfeasibleError:
            continue
        if loss == "discernibility":
            want = float(discernibility(released(counts, found), suppressed=found.suppressed))
        else:
            want = LOSSES[loss](recoding(counts, trees, found))
        assert found.loss == pytest.approx(want, rel=1e-9, abs=1e-9)
        done += 1
    assert done >= 5


def test_diversity_is_met_as_measures_see_it() -> None:
    done = 0
    for seed in range(10):
        table = random_table(51_000 + seed)
        asked = [req.K(2), req.EntropyDiversity("s", 1.5), req.RecursiveDiversity("s", 3.0, 2)]
        try:
            found = lattice(table.counts(), table.hierarchies(), asked, suppress=0.4)
        except InfeasibleError:
            continue
        out = released(table.counts(), found)
        assert int(out.sizes.min()) >= 2
        assert diversity.entropy_diversity(out, "s") >= 1.5 - 1e-9
        assert diversity.recursive_diversity(out, "s", c=3.0) >= 2
        done += 1
    assert done >= 4


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_closeness_is_met_as_measures_see_it(distance) -> None:
    """Without suppression the published table has the distribution of the whole table."""
    done = 0
    for seed in range(14):
        table = random_table(52_000 + seed)
        try:
            found = lattice(table.counts(), table.hierarchies(), [req.TCloseness("s", 0.3, distance)], suppress=0.0)
        except InfeasibleError:
            continue
        assert closeness.t_closeness(released(table.counts(), found), "s", distance=distance) <= 0.3 + 1e-9
        done += 1
    assert done >= 6
