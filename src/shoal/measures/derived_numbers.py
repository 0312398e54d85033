"""Numbers that a command shows and that are not metrics of one table: what each claims, how it is made, what it supposes.

Metrics (:mod:`shoal.measures.metrics`) explain themselves; these are derived from several, estimated, or lists. Every sentence
here and there has a falsifier in ``tests/laws/test_sentences.py``: a generator of tables that tries to break it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """One number, or list of numbers, that a command shows."""

    name: str
    sentence: str
    formula: str
    assumption: str
    change: str
    also: tuple[str, ...] = ()

    def explain(self, value: str = "") -> str:
        head = f"{self.name} = {value}. {self.sentence}" if value else self.sentence
        return f"{head}\n  Formula: {self.formula}\n  Assumes: {self.assumption}\n  What would change it: {self.change}"


SHOWN: tuple[Shown, ...] = (
    Shown(
        "people_at",
        "Members whose smallest group has at most 1, 5, 10, 50 or 100 members; each number includes those before it.",
        "number of members with a group of at most that size",
        "without a unit each row is taken for a person",
        "coarser values or fewer columns move people to larger groups",
    ),
    Shown(
        "class_sizes",
        "Smallest, quartiles, mean and largest size of the groups; a group counts once, however many are in it.",
        "order statistics over the groups",
        "none",
        "coarser values make groups larger",
        ("group sizes",),
    ),
    Shown(
        "match",
        "If one person of the population matches one record that is alone in the table, the chance that it is that record's.",
        "π n1 / (π n1 + 2 (1 − π) n2), π the sampling fraction, n1 and n2 the groups of one and of two in the table",
        "the table is a simple random sample of a population of the stated size; right on average over samples, not in each",
        "a smaller sampling fraction, or fewer people alone",
        ("sample", "unique match", "a unique match is right"),
    ),
    Shown(
        "journalist_estimate",
        "The chance of naming the owner of the most exposed record from a population register of the stated size, estimated.",
        "E[1/F | f] with f the smallest group of the table and F its unknown size in the population, negative binomial "
        "(Benedetti and Franconi); never below 1/(N − n + f), never above 1/f",
        "every person was equally likely to be in the table; the range supposes nothing but that the population holds the table",
        "a larger population, or a larger smallest group",
        ("journalist.estimate",),
    ),
    Shown(
        "individual",
        "The chance of naming a record's owner in the population that the sampling weights stand for, averaged over people.",
        "r = E[1/F | f], F negative binomial with mean the sum of the weights of the group (Benedetti and Franconi)",
        "weights say how many people a record stands for; between 1/(sum of the weights) and 1/f in every group",
        "larger weights, or larger groups",
        ("individual risk",),
    ),
    Shown(
        "suda",
        "How special records are: the fewer columns make one of a kind of one, and the more such sets, the higher its score.",
        "sum over the minimal sets of columns on which a record is one of a kind, smaller sets weighing more",
        "a set is minimal if no part of it makes the record one of a kind; shares of columns overlap, so they can pass 100 %",
        "coarser values in the columns with the largest shares",
        ("suda score", "msu"),
    ),
    Shown(
        "worst_subsets",
        "Sets of columns by the members who are one of a kind on them alone, most first.",
        "members alone in their group over those columns",
        "none; one more column never makes fewer members one of a kind",
        "coarser values in the columns of the first sets",
        ("subsets",),
    ),
    Shown(
        "contribution",
        "How many fewer members would be one of a kind without a column; never below 0.",
        "unique on all columns − unique on all but this one",
        "the other columns stay as they are, so the numbers of several columns do not add up",
        "a coarser column contributes less",
        ("contributions",),
    ),
    Shown(
        "by",
        "Group sizes inside each value of one column: groups over the quasi-identifiers and that column.",
        "the same numbers over the members with that value, under the same rule for missing quasi-identifiers",
        "a group of the whole table may be split over several values",
        "a coarser column",
    ),
    Shown(
        "whole_set",
        "People who share all their records' groups with nobody: the whole set of their records tells them apart.",
        "people alone with their set of groups",
        "a unit names people",
        "fewer records per person, or coarser values",
    ),
    Shown(
        "kappa",
        "How uneven shares are: κ = 0 where all values are equally common, and ln(number of values) where one has everybody.",
        "κ = ln(number of values) − H, H the entropy of the shares in nats",
        "the number of values counts those that nobody has, too",
        "shares that are more alike lower it",
        ("κ",),
    ),
    Shown(
        "records",
        "Rows that are counted; under the rule 'drop' those without a missing quasi-identifier.",
        "number of rows",
        "none",
        "another rule for missing values",
        ("people", "memberships"),
    ),
)


def shown(name: str) -> Shown | None:
    """The entry of that name or spelling.

    >>> shown("κ").name, shown("k")
    ('kappa', None)
    """
    wanted = name.lower().strip()
    return next((s for s in SHOWN if wanted in (s.name, *s.also)), None)
