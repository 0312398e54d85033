"""Homogeneity and background knowledge: what does a class tell about the sensitive value?

Takes    released classes with the counts of a sensitive column
Returns  accuracy of the best guess, beside the best guess without the release
Keeps    accuracy at least the prior's; the worst class decides the verdict where l is claimed
Source   Machanavajjhala et al. 2007
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.errors import missing_column
from shoal.kernels.group import sum_by
from shoal.model.attack import AttackResult, Verdict
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.model.display import one_in, written


def homogeneity(released: ClassCounts, column: str, *, distinct: int | None = None) -> AttackResult:
    """The attacker finds the class of a person and guesses its most frequent sensitive value.

    ``distinct`` is the diversity that the release claims for the column: with l ≥ 2 no class may hold a single value.
    """
    sensitive = _sensitive(released, column)
    top, total = _largest(sensitive, released.n_classes)
    members = float(total.sum())
    rate = float(top.sum()) / members
    prior = float(np.bincount(sensitive.values + 1, weights=sensitive.counts).max()) / members
    alone = total[top == total]
    verdict: Verdict = "holds" if len(alone) == 0 else ("broken" if distinct is not None and distinct >= 2 else "warning")
    sentence = (
        f"The best guess of '{column}' is right for {rate:.1%} of the {_members(released)}; without the release {prior:.1%}. "
        f"{int(alone.sum()):,} {_members(released)} lie in classes where everybody has the same value."
    )
    worst = f"{len(alone)} of {released.n_classes} classes hold one value only"
    question = f"Somebody knows in which class a person is: is '{column}' learnt?"
    return AttackResult.exact(f"homogeneity: {column}", question, rate, None, worst, verdict, sentence)


def background(released: ClassCounts, column: str, *, excluded: int = 1, distinct: int | None = None) -> AttackResult:
    """The same attacker can rule out the ``excluded`` most frequent other values.

    With counts r_1 ≥ r_2 ≥ … the best case for the attacker leaves the value r_i among r_i + (the rest without the j largest
    others). A class with more than ``excluded`` + 1 distinct values is never certain. Where the whole table has no more values
    than that, ruling out tells the rest with or without the release: no warning.
    """
    sensitive = _sensitive(released, column)
    chance = _chances(sensitive, released.n_classes, excluded)
    certain = int(released.sizes[chance >= 1].sum())
    members = int(released.sizes.sum())
    rate = certain / members
    claims = distinct is not None and distinct > excluded + 1
    values = len(np.unique(sensitive.values))
    anyway = values <= excluded + 1
    verdict: Verdict = "holds" if certain == 0 or anyway else ("broken" if claims else "warning")
    some = "1 value" if excluded == 1 else f"{excluded} values"
    of_all = f"{certain:,} of {members:,} {_members(released)}"
    sentence = f"An attacker who can rule out {some} is certain about '{column}' for {of_all}."
    if anyway:
        sentence = f"'{column}' has {values} value{'s' if values > 1 else ''}: ruling out {some} tells the rest anyway."
    worst = f"at worst a guess is right with chance {chance.max():.0%} ({one_in(float(chance.max()))})"
    question = f"Somebody knows the class of a person and can rule out {some}: is '{column}' certain?"
    return AttackResult.exact(f"background knowledge: {column}", question, rate, None, worst, verdict, sentence)


def skewness(released: ClassCounts, column: str, *, t: float | None = None, lift: float = 3.0) -> AttackResult:
    """The attacker compares the values of a class with those of the whole table.

    Reports the largest lift P(value | class) / P(value) and the largest equal-distance earth mover's distance; where t-closeness
    is claimed the distance decides, else a lift above ``lift`` is a warning.
    """
    sensitive = _sensitive(released, column)
    share = np.bincount(sensitive.values + 1, weights=sensitive.counts)
    share = share / share.sum()
    _, total = _largest(sensitive, released.n_classes)
    inside = sensitive.counts / total[sensitive.classes]
    expected = share[sensitive.values + 1]
    lifts = inside / expected
    above = np.bincount(sensitive.classes, weights=np.maximum(0.0, inside - expected), minlength=released.n_classes)
    over = np.unique(sensitive.classes[lifts > lift])
    members = int(released.sizes.sum())
    exposed = int(released.sizes[over].sum())
    distance = float(above.max())
    rate = exposed / members
    verdict: Verdict = ("holds" if distance <= t + 1e-9 else "broken") if t is not None else ("warning" if len(over) else "holds")
    sentence = (
        f"In its most telling class a value of '{column}' is {_times(float(lifts.max()))} as frequent as in the whole table; "
        f"{exposed:,} {_members(released)} lie in classes with a lift above {written(lift)}. "
        f"Largest distance to the whole: {written(distance, 3)}."
    )
    question = f"How far do the values of '{column}' inside a class differ from those of the whole table?"
    worst = f"{len(over)} of {released.n_classes} classes above a lift of {written(lift)}"
    return AttackResult.exact(f"skewness: {column}", question, rate, None, worst, verdict, sentence)


def _members(counts: ClassCounts) -> str:
    """What the sizes of classes count.

    >>> _members(ClassCounts([3, 2])), _members(ClassCounts([3, 2], unit="id", n_people=5))
    ('records', 'people')
    >>> _members(ClassCounts([3, 2], unit="id", n_people=4))
    'people (once per class)'
    """
    if counts.unit is None:
        return "records"
    return "people" if counts.adds_up else "people (once per class)"


def _times(ratio: float) -> str:
    """How many times, without powers of ten.

    >>> _times(3.19), _times(96_123.4)
    ('3.19 times', '96,123 times')
    """
    return f"{ratio:,.0f} times" if ratio >= 1000 else f"{written(ratio, 3)} times"


def _sensitive(counts: ClassCounts, column: str) -> SensitiveCounts:
    if column not in counts.sensitive:
        raise missing_column(column, tuple(counts.sensitive), table="counts", what="sensitive column")
    return counts.sensitive[column]


def _largest(sensitive: SensitiveCounts, n_classes: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Largest and total count of each class."""
    top = np.zeros(n_classes, dtype=np.int64)
    np.maximum.at(top, sensitive.classes, sensitive.counts)
    return top, sum_by(sensitive.classes, sensitive.counts, n_classes)


def _chances(sensitive: SensitiveCounts, n_classes: int, excluded: int) -> npt.NDArray[np.float64]:
    """For each class the chance of the attacker's best guess, after the ``excluded`` largest other counts are ruled out.

    >>> counts = SensitiveCounts.from_dense("s", [[5, 3, 1], [4, 0, 0]])
    >>> _chances(counts, 2, 1).tolist()
    [0.8333333333333334, 1.0]
    """
    order = np.lexsort((-sensitive.counts, sensitive.classes))
    classes, counts = sensitive.classes[order], sensitive.counts[order]
    rank = np.arange(len(order)) - np.searchsorted(classes, classes)
    total = sum_by(classes, counts, n_classes)
    largest = sum_by(classes, np.where(rank < excluded, counts, 0), n_classes)
    and_next = sum_by(classes, np.where(rank <= excluded, counts, 0), n_classes)
    gone = np.where(rank <= excluded, and_next[classes] - counts, largest[classes])
    chance = np.zeros(n_classes)
    np.maximum.at(chance, classes, counts / np.maximum(total[classes] - gone, 1))
    return chance
