"""One person more or less: nothing visible with memory, at most one step without; and no two records that betray a few people."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_support import AGES, UTRECHT, make
from shoal.errors import DataError, RequirementError
from shoal.kernels.signatures import signer
from shoal.registry.publish.differencing import refuse
from shoal.registry.publish.proposals import FIRST, Ledger, propose
from shoal.registry.records.population import Population
from shoal.registry.records.summary import MIN_POPULATION, STATISTICS, summarize

many = st.builds(
    lambda exponent, cells, people: np.maximum(1, people * np.arange(1, cells + 1) ** -exponent).astype(int).tolist() + [1000],
    st.floats(0, 2),
    st.integers(3, 400),
    st.integers(10, 5000),
)


def neighbour(counts: list[int], data: st.DataObject) -> list[int]:
    """The same people and one more (perhaps in a new cell), or one fewer."""
    i = data.draw(st.integers(0, len(counts)))
    if i == len(counts):
        return [*counts, 1]
    return [*counts[:i], counts[i] + data.draw(st.sampled_from([1, -1])), *counts[i + 1 :]]


def ask(counts, population=UTRECHT, ledger=None, date="2025-06-01", **options):
    return propose(counts, ["x/thing"], population, holder="H", date=date, ledger=ledger, **options)


class TestOnePerson:
    @given(many, st.data())
    @settings(max_examples=120, deadline=None)
    def test_changes_nothing_where_something_is_remembered(self, counts, data):
        """With the ledger; with the ledger lost and the registry's own record remembered; and by the numbers alone."""
        ledger, key = Ledger(), signer()
        first = make(counts, codes=("x/thing",), key=key, ledger=ledger)
        after = neighbour(counts, data)
        if sum(after) < MIN_POPULATION:
            return
        assert ask(after, ledger=ledger).record == first
        assert ask(after, published=first).record == first
        assert summarize(after, previous=first.summary) == first.summary

    @given(many, st.data())
    @settings(max_examples=120, deadline=None)
    def test_moves_a_first_version_by_one_step_at_most(self, counts, data):
        after = neighbour(counts, data)
        if sum(after) < MIN_POPULATION:
            return
        one, two = (summarize(c, cells=len(counts) + 1) for c in (counts, after))
        for name in STATISTICS:
            a, b = one.statistics[name], two.statistics[name]
            assert abs(a.value - b.value) <= max(a.step, b.step) + 1e-9

    def test_is_told_that_a_first_version_has_no_memory(self):
        assert FIRST in ask(AGES).notes
        ledger = Ledger()
        make(AGES, codes=("x/thing",), ledger=ledger)
        assert FIRST not in ask([2 * c for c in AGES], ledger=ledger).notes

    def test_nobody_left_of_a_thousand_is_not_published_anew(self):
        ledger = Ledger()
        make([500, 500], codes=("x/thing",), ledger=ledger)
        assert ask([500, 499], ledger=ledger).unchanged
        with pytest.raises(DataError, match="1,000"):
            ask([500, 499])


class TestVersions:
    def test_follow_after_a_month_and_a_hundred_people(self):
        ledger, key = Ledger(), signer()
        first = make(AGES, codes=("x/thing",), key=key, ledger=ledger, date="2025-06-01")
        doubled = [2 * c for c in AGES]
        early = ask(doubled, ledger=ledger, date="2025-06-28")
        assert early.unchanged
        assert "28 days" in early.notes[0]
        assert early.record == first
        assert ask(doubled, ledger=ledger, date="2025-06-29").record.version == 2
        assert ask([AGES[0] + 99, *AGES[1:]], ledger=ledger, date="2026-06-01").unchanged

    def test_are_numbered_on_from_the_registry_when_the_ledger_is_lost(self):
        first = make(AGES, codes=("x/thing",), date="2025-01-01")
        again = ask([2 * c for c in AGES], published=first)
        assert (again.record.version, again.record.supersedes) == (2, first.id)
        unsure = ask([AGES[0] + 140, *AGES[1:]], published=first)  # the size is known to two digits only
        assert unsure.unchanged

    def test_an_attacker_who_adds_people_and_asks_every_day_sees_one_answer_a_month(self):
        ledger, key = Ledger(), signer()
        seen, counts = set(), list(AGES)
        for day in range(1, 29):
            counts[day] += 150
            proposal = ask(counts, ledger=ledger, date=f"2025-06-{day:02d}")
            if not proposal.unchanged:
                from shoal.registry.publish.proposals import publish

                publish(proposal, key, ledger)
            seen.add(str(proposal.record.summary))
        assert len(seen) == 1


class TestDifferencing:
    @pytest.mark.parametrize(
        "name",
        [
            "NL/Utrecht@2021-11", "NL/Utrecht@2021..2021", "NL/Utrecht@2021-01..2021-12", "NL/utrecht@2021", "NL/Utrecht.@2021",
            "NL/Utrecht-@2022",
        ],
    )  # fmt: skip
    def test_another_spelling_or_period_is_the_same_population(self, name):
        ledger = Ledger()
        first = make(AGES, codes=("x/thing",), ledger=ledger)
        if Population.parse(name) == UTRECHT:  # then the old record stands
            assert ask([*AGES, 1], Population.parse(name), ledger).record.id == first.id
            return
        with pytest.raises(RequirementError, match="differs by fewer than 100"):
            ask([*AGES, 1], Population.parse(name), ledger)

    def test_another_period_with_more_changes_keeps_what_one_person_could_explain(self):
        ledger = Ledger()
        first = make(AGES, codes=("x/thing",), ledger=ledger)
        moved = [c + 2 for c in AGES]
        later = ask(moved, Population.parse("NL/Utrecht@2022"), ledger)
        assert (later.record.version, later.record.summary.statistics) == (1, first.summary.statistics)

    @pytest.mark.parametrize("parts", [(2450, 2450), (1500, 1500, 1100), (4001,), (3000, 1999)])
    def test_parts_that_leave_a_few_people_are_refused(self, parts):
        with pytest.raises(RequirementError):
            _publish_parts(5000, parts)

    @pytest.mark.parametrize("parts", [(2000, 2000), (2500, 2500), (1000, 1000, 1000, 1000), (4000,)])
    def test_parts_that_leave_nobody_or_enough_are_taken(self, parts):
        _publish_parts(5000, parts)

    def test_the_whole_after_its_parts_is_refused_too(self):
        parts = [(Population.parse(f"X/a/part{i}@2026"), 2450) for i in range(2)]
        with pytest.raises(RequirementError, match="2 published parts"):
            refuse(Population.parse("X@2026"), 5000, parts)

    def test_values_of_a_filter_are_parts(self):
        published = [(Population.parse("X@2026"), 9000), (Population.parse("X@2026;job=a"), 4000)]
        with pytest.raises(RequirementError, match="2 published parts"):
            refuse(Population.parse("X@2026;job=b"), 4500, published)
        refuse(Population.parse("X@2026;school=b"), 4500, published)

    def test_unrelated_populations_of_one_size_are_fine(self):
        refuse(Population.parse("X/b@2026"), 5000, [(Population.parse("X/a@2026"), 5000), (Population.parse("Xb@2026"), 5000)])


def _publish_parts(people: int, parts: tuple[int, ...]) -> None:
    published = [(Population.parse("X@2026"), people)]
    for i, size in enumerate(parts):
        place = Population.parse(f"X/part{i}@2026")
        refuse(place, size, published)
        published.append((place, size))


@pytest.mark.parametrize(
    ("spelling", "codes"),
    [
        ("DE/MÜNCHEN@2021", "birth/year"), ("DE/Muenchen@2021", "age/years"), ("DE/Bayern/München@2021", "age/years"),
        ("DE/München@2021-06", "age/years"), ("DE/München@2021", "birth/year"),
    ],
)  # fmt: skip
def test_another_spelling_or_coding_of_the_same_people_waits_as_long_as_a_new_version(spelling, codes):
    """However many joined: anyone who can add people to the table must not ask again at once under another name."""
    more = [AGES[0] + 500, *AGES[1:]]

    def again(date):
        book = Ledger()
        make(AGES, population=Population.parse("DE/München@2021"), ledger=book, date="2025-01-01")
        return make(more, codes=(codes,), population=Population.parse(spelling), ledger=book, date=date)

    with pytest.raises(RequirementError, match="these people were published on 2025-01-01"):
        again("2025-01-28")
    assert again("2025-01-29").version == 1


def test_capitals_are_the_same_topic_in_the_ledger():
    book = Ledger()
    first = make(AGES, population=Population.parse("NL/Utrecht@2021"), ledger=book, date="2025-01-01")
    shouted = Population.parse("NL/UTRECHT@2021")
    assert propose([c * 2 for c in AGES], ["age/years"], shouted, holder="H", date="2025-01-28", ledger=book).unchanged
    later = propose([c * 2 for c in AGES], ["age/years"], shouted, holder="H", date="2025-01-29", ledger=book)
    assert (later.record.version, later.record.supersedes) == (2, first.id)


def test_places_of_one_name_in_different_states_are_published_together():
    book = Ledger()
    for state in ("CA", "FL"):
        make(
            AGES if state == "CA" else [c * 2 for c in AGES], population=Population.parse(f"US/{state}/Orange@2010"), ledger=book
        )
    assert len(book.entries) == 2
