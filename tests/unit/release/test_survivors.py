"""Lines whose mutants once survived every test: each is decided here at its boundary."""

from __future__ import annotations

import pytest

from shoal.engines.recode.write import hidden_columns
from shoal.measures.classes.risk import marketer
from shoal.model.certificate.numbers import ClassNumbers, Risk
from shoal.model.plan import Plan, Suppression
from shoal.release.certificate.sentences import attackers, chances
from shoal.steps import Keep


@pytest.mark.parametrize(("k", "hidden"), [(0, set()), (1, set()), (2, {"a", "b"}), (3, {"a", "b"})])
def test_from_two_on_suppression_may_hide_a_value_of_every_column(k, hidden):
    """k = 2 leaves out records that are alone: a label of theirs must not stay in a statistics file."""
    plan = Plan((Keep("a"), Keep("b")), Suppression(k, ("a",)))
    assert hidden_columns(plan, ["a", "b"], None) == hidden


@pytest.mark.parametrize(
    ("release", "population", "share"), [((1, 4), None, 2 / 5), ((2, 3), (4, 3), (2 / 4 + 3 / 3) / 5), ((0, 5), (9, 10), 0.1)]
)
def test_the_marketer_matches_one_record_per_class_on_average(release, population, share):
    assert marketer(release, population) == pytest.approx(share)


def numbers(sizes, smallest=None):
    members = {int(s): int(s) * n for s, n in sizes.items()} if smallest is None else {int(s): n for s, n in smallest.items()}
    k, unique = min(map(int, sizes)), members.get(1, 0)
    return ClassNumbers(
        records=sum(int(s) * n for s, n in sizes.items()),
        classes=sum(sizes.values()),
        k=k,
        unique=unique,
        sizes=sizes,
        risk=Risk(1 / k, 0.0),
        smallest=smallest,
    )


def test_the_chances_of_the_four_attackers():
    """Three classes of 1, 2 and 5 records: one chance in one at most, three classes in eight records on average, one alone."""
    assert chances(numbers({"1": 1, "2": 1, "5": 1})) == [1.0, 1.0, pytest.approx(3 / 8), 1]
    people = numbers({"2": 2, "4": 1}, {"2": 3, "4": 2})  # five people, each once, by their smallest class
    assert chances(people) == [0.5, 0.5, pytest.approx((3 / 2 + 2 / 4) / 5), 0]
    found = attackers(("age",), numbers({"1": 2}), people)
    assert [(a.before, a.after) for a in found] == [(1.0, 0.5), (1.0, 0.5), (1.0, pytest.approx(0.4)), (2, 0)]
