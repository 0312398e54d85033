"""Sentences are tested like numbers: each explanation has a falsifier, a generator of tables that tries to break what it says.

A falsifier plays the sentence record by record: it counts who looks alike, guesses, deals out, and compares. It quotes the
sentence that it tries to break, so that a changed sentence needs a look at the falsifier too. A sentence without one fails.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np
import pytest

import recoding_oracle
import shoal
from measures_oracle import counts_of, minimal_uniques
from recoding_oracle import ColumnRecoding, Recoding
from shoal.measures.metrics import derived_number, derived_numbers, lookup, metrics
from shoal.model.counts.classes import SensitiveCounts
from shoal.prediction.distribution import Distribution

TABLES, SLOW_TABLES = 25, 5  # of the latter each is opened and measured as a command does it
FALSIFIERS: dict[str, tuple[str, Callable[[np.random.Generator], None]]] = {}


def breaks(name: str, sentence: str):
    def kept(function: Callable[[np.random.Generator], None]):
        assert name not in FALSIFIERS
        FALSIFIERS[name] = (sentence, function)
        return function

    return kept


def said(name: str) -> str:
    entry = derived_number(name)
    return entry.sentence if entry is not None else lookup(name).explained.sentence


# --- tables -----------------------------------------------------------------------------------------------------------


def rows_of(rng: np.random.Generator) -> list[dict[str, str]]:
    """A small table: two quasi-identifiers, a sensitive column, some values rare."""
    n, a, b, s = int(rng.integers(1, 40)), int(rng.integers(1, 6)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    skew = rng.dirichlet(np.full(s, 0.7))
    return [{"a": f"a{rng.integers(a)}", "b": f"b{rng.integers(b)}", "s": f"s{rng.choice(s, p=skew)}"} for _ in range(n)]


def crowd(rows: list[dict[str, str]]) -> list[int]:
    """For each record, how many look like it."""
    return [sum((r["a"], r["b"]) == (x["a"], x["b"]) for x in rows) for r in rows]


def found(name: str, rows: list[dict[str, str]]) -> float:
    metric = lookup(name)
    counts = counts_of(rows, ["a", "b"], ["s"])
    return float(metric.function(counts, "s") if metric.reads == "sensitive" else metric.function(counts))


def inside(rows: list[dict[str, str]]) -> list[Counter[str]]:
    """The sensitive values of each class."""
    out: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for r in rows:
        out[r["a"], r["b"]][r["s"]] += 1
    return list(out.values())


def of_rows(name: str, sentence: str):
    """A falsifier that works the number out from the rows."""

    def kept(slow: Callable[[list[dict[str, str]]], float]):
        def tried(rng: np.random.Generator) -> None:
            rows = rows_of(rng)
            assert found(name, rows) == pytest.approx(slow(rows), rel=1e-9, abs=1e-12)

        breaks(name, sentence)(tried)
        return slow

    return kept


# --- how many look alike ----------------------------------------------------------------------------------------------


@of_rows("k", "The smallest group of people who look alike in the quasi-identifiers.")
def _(rows):
    return min(crowd(rows))


@of_rows("unique", "Members who are the only one with their combination of values.")
def _(rows):
    return sum(c == 1 for c in crowd(rows))


@of_rows("unique_share", "Share of members who are the only one with their combination of values.")
def _(rows):
    return sum(c == 1 for c in crowd(rows)) / len(rows)


@of_rows("classes", "Number of different combinations of quasi-identifier values.")
def _(rows):
    return len({(r["a"], r["b"]) for r in rows})


@of_rows("prosecutor_max", "The chance of naming the record of the most exposed person.")
def _(rows):
    return max(1 / c for c in crowd(rows))


@of_rows("prosecutor_mean", "The chance of naming a record's owner, averaged over all members.")
def _(rows):
    return float(np.mean([1 / c for c in crowd(rows)]))


@of_rows("distinction", "Share of records that could be distinguished: combinations per member.")
def _(rows):
    return sum(1 / c for c in crowd(rows)) / len(rows)


@of_rows("separation", "Share of pairs of records that differ in at least one of the columns.")
def _(rows):
    pairs = list(itertools.combinations(rows, 2))
    return sum((x["a"], x["b"]) != (y["a"], y["b"]) for x, y in pairs) / len(pairs) if pairs else 1.0


@of_rows("joint_entropy", "Bits that the quasi-identifiers together tell about a person of the table.")
def _(rows):
    return float(np.mean([math.log2(len(rows) / c) for c in crowd(rows)]))


@of_rows("anvc", "Average number of value combinations: as many equally common combinations as the table is worth.")
def _(rows):
    return math.exp(float(np.mean([math.log(len(rows) / c) for c in crowd(rows)])))


@breaks(
    "entropy_risk",
    "Re-identification risk by entropy. A heuristic: with shares taken from the table it never exceeds classes/records, the "
    "exact marketer risk, and is often much lower. Decide on the exact figure.",
)
def _(rng):
    rows = rows_of(rng)
    exact = float(np.mean([1 / c for c in crowd(rows)]))
    assert found("entropy_risk", rows) <= exact + 1e-12


@of_rows("discernibility", "Each record is charged the size of its class: how hard records are to tell apart.")
def _(rows):
    return sum(crowd(rows))


@of_rows(
    "average_class_size", "How much larger than needed the classes are on average; 1 is the best a method for this k can do."
)
def _(rows):
    return len(rows) / len({(r["a"], r["b"]) for r in rows})


# --- what a class tells of its people ---------------------------------------------------------------------------------


@of_rows(
    "distinct_diversity", "The smallest number of different sensitive values in a class; 1 means a whole class shares one value."
)
def _(rows):
    return min(len(c) for c in inside(rows))


@of_rows("entropy_diversity", "As many equally likely values as the least mixed class is worth; 1 means no doubt is left.")
def _(rows):
    return min(math.exp(-sum(n / c.total() * math.log(n / c.total()) for n in c.values())) for c in inside(rows))


@of_rows(
    "recursive_diversity", "The largest l for which no value of any class outweighs c times its l-th and rarer values together."
)
def _(rows):
    def holds(c: Counter[str], level: int) -> bool:
        r = sorted(c.values(), reverse=True)
        return r[0] < 3.0 * sum(r[level - 1 :])

    levels = range(2, max(len(c) for c in inside(rows)) + 1)
    return max([1, *(v for v in levels if all(holds(c, v) for c in inside(rows)))])


@breaks("least_c", "Recursive (c,2)-diversity holds for every c above this number, and for none at or below it.")
def _(rng):
    rows = rows_of(rng)
    least = found("least_c", rows)

    def holds(c: float) -> bool:
        ordered = [sorted(x.values(), reverse=True) for x in inside(rows)]
        return all(r[0] < c * sum(r[1:]) for r in ordered)

    if math.isinf(least):
        assert not holds(1e12)
    else:
        assert holds(least * (1 + 1e-9)), "every c above"
        assert not holds(least * (1 - 1e-9)), "none below"


@of_rows("alpha", "The surest guess of a sensitive value inside any class; 1 means certainty.")
def _(rows):
    return max(max(c.values()) / c.total() for c in inside(rows))


@of_rows("t", "How far the sensitive values of the most unusual class lie from those of the whole table.")
def _(rows):
    whole = Counter(r["s"] for r in rows)
    return max(0.5 * sum(abs(c[v] / c.total() - whole[v] / len(rows)) for v in whole) for c in inside(rows))


def changes(rows: list[dict[str, str]]) -> list[tuple[float, float]]:
    """Shares of every value in every class, and in the table."""
    whole = Counter(r["s"] for r in rows)
    return [(c[v] / c.total(), whole[v] / len(rows)) for c in inside(rows) for v in whole]


@of_rows(
    "delta_disclosure",
    "The largest change, in logarithm, of any value's share from table to class; infinite where a class lacks one.",
)
def _(rows):
    return max(math.inf if p == 0 else abs(math.log(p / q)) for p, q in changes(rows))


@of_rows(
    "delta_disclosure_present",
    "The largest change, in logarithm, of the share of a value that a class does hold; absent values are left out.",
)
def _(rows):
    return max(abs(math.log(p / q)) for p, q in changes(rows) if p)


@of_rows("basic_beta", "The largest relative gain of any value's share from table to class.")
def _(rows):
    return max(0.0, max((p - q) / q for p, q in changes(rows)))


@breaks("enhanced_beta", "As basic_beta, but common values may gain less; infinite where no β is enough.")
def _(rng):
    rows = rows_of(rng)
    least = found("enhanced_beta", rows)

    def enough(beta: float) -> bool:
        return all((p - q) / q <= min(beta, -math.log(q)) + 1e-9 for p, q in changes(rows) if p > q)

    assert enough(least) if math.isfinite(least) else not enough(1e9)
    assert least == 0 or math.isinf(least) or not enough(least * 0.999 - 1e-6)


@of_rows(
    "classification_metric",
    "Share of records whose value is not the most frequent one of their class: errors of the best guess per class.",
)
def _(rows):
    return sum(c.total() - max(c.values()) for c in inside(rows)) / len(rows)


# --- against a population ---------------------------------------------------------------------------------------------


def both(rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """A population, and a release of some of its people."""
    people = [f"c{rng.integers(6)}" for _ in range(int(rng.integers(2, 40)))]
    return list(rng.choice(people, int(rng.integers(1, len(people) + 1)), replace=False)), people


def of_both(name: str, sentence: str):
    def kept(slow: Callable[[list[str], list[str]], float]):
        def tried(rng: np.random.Generator) -> None:
            release, people = both(rng)
            classes = sorted(set(people))
            f, big = [release.count(c) for c in classes], [people.count(c) for c in classes]
            assert float(lookup(name).function(f, big)) == pytest.approx(slow(release, people))

        breaks(name, sentence)(tried)
        return slow

    return kept


@of_both("journalist_max", "The chance of naming the owner of the most exposed record from a population register.")
def _(release, people):
    return max(1 / people.count(c) for c in release)


@of_both(
    "journalist_mean",
    "The chance of naming a record's owner from a population register, averaged over the released records.",
)
def _(release, people):
    return float(np.mean([1 / people.count(c) for c in release]))


@of_both(
    "marketer", "The share of records that are matched correctly when the whole table is matched with a population register."
)
def _(release, people):
    return float(np.mean([1 / people.count(c) for c in release]))


@of_both("k_map", "The smallest number of people in the population who look like somebody in the release.")
def _(release, people):
    return min(people.count(c) for c in release)


@of_both("presence_max", "The highest chance that a person of the population is in the release at all.")
def _(release, people):
    return max(release.count(c) / people.count(c) for c in people)


@of_both(
    "presence_min",
    "The lowest chance that a person of the population is in the release; 0 says of some that they are surely not.",
)
def _(release, people):
    return min(release.count(c) / people.count(c) for c in people)


# --- what an observer believes ----------------------------------------------------------------------------------------


def of_belief(name: str, sentence: str):
    def kept(slow: Callable[[list[float]], float]):
        def tried(rng: np.random.Generator) -> None:
            p = rng.dirichlet(np.full(int(rng.integers(2, 9)), 0.5))
            p[rng.random(len(p)) < 0.2] = 0.0
            if p.sum() == 0:
                p[0] = 1.0
            p = (p / p.sum()).tolist()
            assert float(lookup(name).function(p)) == pytest.approx(slow(p), abs=1e-9)

        breaks(name, sentence)(tried)
        return slow

    return kept


def bits(p: list[float]) -> float:
    return -sum(x * math.log2(x) for x in p if x)


@of_belief("anonymity_set_size", "Number of subjects who could be meant.")
def _(p):
    return sum(x > 0 for x in p)


@of_belief(
    "shannon_entropy",
    "Bits the attacker still lacks on average; 2 to this power is the effective number of candidates.",
)
def _(p):
    return bits(p)


@of_belief("min_entropy", "Bits in the surest guess: the worst case.")
def _(p):
    return -math.log2(max(p))


@of_belief("max_entropy", "Logarithm of the number of possible candidates (Hartley).")
def _(p):
    return math.log2(sum(x > 0 for x in p))


@of_belief("collision_entropy", "Bits in the chance that two draws meet (Rényi entropy of order 2).")
def _(p):
    return -math.log2(sum(x * y for x, y in zip(p, p, strict=True)))


@of_belief("degree_of_anonymity", "How close the attacker is to knowing nothing: 1 all candidates alike, 0 one is certain.")
def _(p):
    return bits(p) / math.log2(len(p))


@of_belief("effective_size", "As many equally likely candidates as the attacker's doubt is worth.")
def _(p):
    return 2 ** bits(p)


# --- what recoding costs ----------------------------------------------------------------------------------------------


def recoded(rng: np.random.Generator):
    """Cells with their true leaf, the published set, and a sensitive value; as lists of records and as a Recoding."""
    n, leaves = int(rng.integers(2, 9)), int(rng.integers(3, 7))
    leaf, groups = rng.integers(0, leaves, n).tolist(), rng.integers(0, leaves, leaves).tolist()
    sizes, gone = rng.integers(1, 6, n).tolist(), (rng.random(n) < 0.2).tolist()
    yes = [int(rng.integers(0, s + 1)) for s in sizes]
    column = ColumnRecoding.from_groups("x", leaf, groups, height=0.5)
    secret = SensitiveCounts.from_dense("y", [[a, s - a] for a, s in zip(yes, sizes, strict=True)])
    cells = []
    for i in range(n):
        all_of_it = set(range(leaves))
        covered = all_of_it if gone[i] else {v for v in all_of_it if groups[v] == groups[leaf[i]]}
        cells += [(leaf[i], frozenset(covered), gone[i], int(j < yes[i])) for j in range(sizes[i])]
    return cells, leaves, Recoding(sizes, [column], gone, secret)


def of_cells(name: str, sentence: str):
    def kept(slow: Callable[[list, int], float]):
        def tried(rng: np.random.Generator) -> None:
            cells, leaves, made = recoded(rng)
            assert getattr(recoding_oracle, name)(made) == pytest.approx(slow(cells, leaves), abs=1e-9)

        breaks(name, sentence)(tried)
        return slow

    return kept


def chance(cells: list, values: frozenset[int]) -> float:
    """Share of the records whose true value is one of these."""
    return sum(leaf in values for leaf, *_ in cells) / len(cells)


@of_cells("granularity", "How coarse the published values are on average (multiple-use loss).")
def _(cells, leaves):
    return float(np.mean([(len(covered) - 1) / (leaves - 1) for _, covered, *_ in cells]))


@of_cells("certainty_penalty", "Normalised certainty penalty: values covered beyond the true one, over the domain.")
def _(cells, leaves):
    return float(np.mean([len(covered - {leaf}) / (leaves - 1) for leaf, covered, *_ in cells]))


@of_cells("arx_loss", "The loss that ARX minimises by default: geometric mean over columns of the leaves covered.")
def _(cells, leaves):
    n = len(cells)
    share = sum(len(covered) / leaves for _, covered, *_ in cells)
    return (share - n / leaves) / (n - n / leaves)


@of_cells("precision", "How far up their hierarchies the published values lie: 1 the values themselves, 0 everything suppressed.")
def _(cells, leaves):
    return 1 - float(np.mean([1.0 if gone else 0.5 for _, _, gone, _ in cells]))


@of_cells("monotone_entropy", "Doubt that is left inside the published sets, weighted by how common they are.")
def _(cells, leaves):
    def doubt(covered):
        whole = chance(cells, covered)
        parts = [chance(cells, frozenset({v})) / whole for v in covered]
        return whole * -sum(p * math.log2(p) for p in parts if p)

    return float(np.mean([doubt(covered) for _, covered, *_ in cells]))


def surprise(cells: list, leaf: int, covered: frozenset[int]) -> float:
    return -math.log2(chance(cells, frozenset({leaf})) / chance(cells, covered))


@of_cells("nonuniform_entropy", "Bits needed to recover the original cell from the published set, summed over the table.")
def _(cells, leaves):
    return sum(surprise(cells, leaf, covered) for leaf, covered, *_ in cells)


@of_cells("mutual_information_utility", "Bits that the published values tell about the original ones, per cell.")
def _(cells, leaves):
    return float(np.mean([-math.log2(chance(cells, covered)) for _, covered, *_ in cells]))


@of_cells("mutual_information_loss", "Bits about the original values that the published ones do not tell, per cell.")
def _(cells, leaves):
    return float(np.mean([surprise(cells, leaf, covered) for leaf, covered, *_ in cells]))


def belief(cells: list, covered: frozenset[int], secret: int) -> float:
    """Share of the value among the records whose true value the set covers."""
    there = [y for leaf, _, _, y in cells if leaf in covered]
    return there.count(secret) / len(there)


@of_cells("private_information_utility", "Bits that the published values, column by column, tell about the sensitive value.")
def _(cells, leaves):
    everything = frozenset(range(leaves))
    return float(np.mean([math.log2(belief(cells, covered, y) / belief(cells, everything, y)) for _, covered, _, y in cells]))


@of_cells("private_information_loss", "Bits about the sensitive value that the published values, column by column, leave open.")
def _(cells, leaves):
    return float(np.mean([-math.log2(belief(cells, covered, y)) for _, covered, _, y in cells]))


# --- what a command shows beside the metrics --------------------------------------------------------------------------


def measured(rows: list[dict[str, str]], **words):
    return shoal.measure({c: [r[c] for r in rows] for c in rows[0]}, quasi=["a", "b"], **words)


@breaks(
    "people_at",
    "Members whose smallest group has at most 1, 5, 10, 50 or 100 members; each number includes those before it.",
)
def _(rng):
    rows = rows_of(rng)
    assert measured(rows).people_at == {t: sum(c <= t for c in crowd(rows)) for t in (1, 5, 10, 50, 100)}


@breaks(
    "class_sizes",
    "Smallest, quartiles, mean and largest size of the groups; a group counts once, however many are in it.",
)
def _(rng):
    rows = rows_of(rng)
    sizes, s = list(Counter((r["a"], r["b"]) for r in rows).values()), measured(rows).class_sizes
    assert (s.min, s.max, s.sets) == (min(sizes), max(sizes), len(sizes))
    assert s.mean == pytest.approx(np.mean(sizes))
    assert [s.q1, s.median, s.q3] == pytest.approx(np.quantile(sizes, [0.25, 0.5, 0.75]).tolist())


@breaks(
    "match",
    "If one person of the population matches one record that is alone in the table, the chance that it is that record's.",
)
def _(rng):
    """Populations of known classes, sampled: over many samples the estimate is right on average."""
    sizes = rng.integers(1, 4, 3000)
    people = np.repeat(np.arange(len(sizes)), sizes)
    rate, true, guess = 0.2, [], []
    for _ in range(4):
        sample = people[rng.random(len(people)) < rate]
        values, counts = np.unique(sample, return_counts=True)
        alone = values[counts == 1]
        true.append(len(alone) / sizes[alone].sum())  # each person who looks like somebody alone is matched to that record
        table = {"a": sample.tolist()}
        guess.append(shoal.measure(table, quasi=["a"], population=len(people)).sample["value"])
    assert np.mean(guess) == pytest.approx(np.mean(true), rel=0.12)


@breaks(
    "journalist_estimate",
    "The chance of naming the owner of the most exposed record from a population register of the stated size, estimated.",
)
def _(rng):
    """Whatever the population, its true number lies in the range, also at both ends."""
    people = [f"c{rng.integers(30)}" for _ in range(int(rng.integers(20, 300)))]
    release = [str(c) for c in rng.choice(people, int(rng.integers(2, len(people))), replace=False)]
    m = shoal.measure({"a": release}, quasi=["a"], population=len(people))
    worst = [c for c in set(release) if release.count(c) == m.k]
    e = m.journalist_estimate
    for c in worst:
        assert e.low - 1e-12 <= 1 / people.count(c) <= e.high + 1e-12
    assert (e.grade, e.level) == ("C", 1.0)
    assert e.low == pytest.approx(1 / (len(people) - len(release) + m.k))
    assert e.high == pytest.approx(1 / m.k)


@breaks(
    "individual",
    "The chance of naming a record's owner in the population that the sampling weights stand for, averaged over people.",
)
def _(rng):
    rows = rows_of(rng)
    weight = rng.integers(1, 30, len(rows)).astype(float)
    m = measured([{**r, "w": w} for r, w in zip(rows, weight, strict=True)], weight="w")
    stands = Counter()
    for r, w in zip(rows, weight, strict=True):
        stands[r["a"], r["b"]] += w
    draws = rng.negative_binomial  # F − f people beyond the sample, f / (sum of the weights) the chance of being in it
    mean = 0.0
    for r, f in zip(rows, crowd(rows), strict=True):
        p = f / stands[r["a"], r["b"]]
        beyond = draws(f, p, 4000) if p < 1 else np.zeros(1)
        mean += float((1 / (f + beyond)).mean()) / len(rows)
    assert m.individual.mean == pytest.approx(mean, rel=0.08)


@breaks(
    "suda",
    "How special records are: the fewer columns make one of a kind of one, and the more such sets, the higher its score.",
)
def _(rng):
    rows = [tuple(int(x) for x in rng.integers(0, 3, 4)) for _ in range(int(rng.integers(2, 15)))]
    m = shoal.measure({f"c{j}": [r[j] for r in rows] for j in range(4)}, quasi=[f"c{j}" for j in range(4)])
    score = m.per_record(m.suda().score)
    sets = minimal_uniques(rows)
    for i, j in itertools.combinations(range(len(rows)), 2):
        assert (score[i] > 0) == bool(sets[i]), "no set, no score"
        if sets[i] > sets[j]:
            assert score[i] > score[j], "more such sets"
        if len(sets[i]) == len(sets[j]) == 1 and len(next(iter(sets[i]))) < len(next(iter(sets[j]))):
            assert score[i] > score[j], "fewer columns"


@breaks("worst_subsets", "Sets of columns by the members who are one of a kind on them alone, most first.")
def _(rng):
    rows = rows_of(rng)
    listed = measured(rows).worst_subsets(9)
    for s in listed:
        seen = Counter(tuple(r[c] for c in s.columns) for r in rows)
        assert s.unique == sum(n == 1 for n in seen.values())
    assert [s.unique for s in listed] == sorted((s.unique for s in listed), reverse=True)


@breaks("contribution", "How many fewer members would be one of a kind without a column; never below 0.")
def _(rng):
    rows = rows_of(rng)
    for c in measured(rows).contributions():
        other = "b" if c.column == "a" else "a"
        without = sum(n == 1 for n in Counter(r[other] for r in rows).values())
        assert (c.unique_without, c.adds) == (without, sum(x == 1 for x in crowd(rows)) - without)
        assert c.adds >= 0


@breaks("by", "Group sizes inside each value of one column: groups over the quasi-identifiers and that column.")
def _(rng):
    rows = [{**r, "a": None if rng.random() < 0.2 else r["a"], "s": None if rng.random() < 0.2 else r["s"]} for r in rows_of(rng)]
    for rule in ("own", "drop"):
        kept = [r for r in rows if rule == "own" or r["a"] is not None]
        if not kept:
            continue
        m = measured(rows, by="s", missing=rule)
        expected = sorted(
            (len(part), min(Counter((r["a"], r["b"]) for r in part).values()))
            for value in {r["s"] for r in kept}
            if (part := [r for r in kept if r["s"] == value])
        )
        assert sorted((g.members, g.sizes.min) for g in m.by.groups) == expected
        assert sum(g.members for g in m.by.groups) == len(kept) == m.crowds.n_members, "one basis for all numbers"


@breaks("whole_set", "People who share all their records' groups with nobody: the whole set of their records tells them apart.")
def _(rng):
    rows = [{**r, "who": f"p{rng.integers(8)}"} for r in rows_of(rng)]
    sets = defaultdict(set)
    for r in rows:
        sets[r["who"]].add((r["a"], r["b"]))
    alike = Counter(frozenset(s) for s in sets.values())
    m = measured(rows, unit="who")
    assert (m.whole_set.unique, m.whole_set.k) == (sum(n == 1 for n in alike.values()), min(alike.values()))


@breaks(
    "kappa",
    "How uneven shares are: κ = 0 where all values are equally common, and ln(number of values) where one has everybody.",
)
def _(rng):
    n = int(rng.integers(2, 30))
    p = rng.dirichlet(np.full(n, 0.5))
    kappa = Distribution.of(p).kappa
    assert kappa == pytest.approx(math.log(n) + sum(x * math.log(x) for x in p if x))
    assert Distribution.of(np.full(n, 1 / n)).kappa == pytest.approx(0.0, abs=1e-12)
    assert kappa >= -1e-12
    assert Distribution.of([1.0] + [0.0] * (n - 1)).kappa == pytest.approx(math.log(n))


@breaks("records", "Rows that are counted; under the rule 'drop' those without a missing quasi-identifier.")
def _(rng):
    rows = [{**r, "a": None if rng.random() < 0.3 else r["a"]} for r in rows_of(rng)]
    assert measured(rows).crowds.n_members == len(rows)
    kept = sum(r["a"] is not None for r in rows)
    if kept:
        assert measured(rows, missing="drop").crowds.n_members == kept


# --- the walk ---------------------------------------------------------------------------------------------------------


def test_every_sentence_has_a_falsifier_that_quotes_it() -> None:
    assert set(FALSIFIERS) == {m.name for m in metrics()} | {s.name for s in derived_numbers()}
    assert {n: quoted for n, (quoted, _) in FALSIFIERS.items()} == {n: said(n) for n in FALSIFIERS}


@pytest.mark.parametrize("name", sorted(FALSIFIERS))
def test_it_does_not_break(name: str) -> None:
    for seed in range(TABLES if derived_number(name) is None else SLOW_TABLES):
        FALSIFIERS[name][1](np.random.default_rng([seed, 16]))
