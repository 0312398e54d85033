"""What makes an answer doubtful is said: other people, another coding, a quarrel, an odd number, a stranger's key."""

from __future__ import annotations

import pytest

from registry_support import AGES, five_years, make
from shoal.kernels.signatures import signer
from shoal.registry.answer.query import Registry
from shoal.registry.keep.mirror import Mirror, write_mirror
from shoal.registry.records.population import Population
from shoal.registry.records.trust import Statement, contradictions, trusted_keys

ODD = [100_000] + [10] * 94
STEEP = [9 * i + 1 for i in range(95)]


def place(name: str) -> Population:
    return Population.parse(f"NL/{name}@2021")


class TestFit:
    @pytest.mark.parametrize(
        ("codes", "cells"),
        [(("age/10y",), 19), (("age/years", "sex"), 190), (("age/5y",), 19), (("age/years",), 95), (("age/years", "x/a"), 1e9)],
    )
    def test_a_wider_population_bounds_nothing_but_how_many_can_be_alone(self, store, codes, cells):
        """A finer, coarser or marginal record of a parent is no bound for the child; in 19 cells 19 people can be alone."""
        store.submit(make(five_years(AGES), codes=("age/5y",), population=Population.parse("Shoalland@2021"), cells=19))
        store.submit(make(AGES, population=Population.parse("Shoalland@2021"), cells=95))
        store.submit(make([40_000, 41_000], codes=("sex",), population=Population.parse("Shoalland@2021"), cells=2))
        answer = Registry(store).query(codes, "Shoalland/Nowhere@2021")  # of a place in the Netherlands more is known
        found = answer.unique_share(100)
        assert (found.low, found.high, found.grade) == (0.0, min(1.0, cells / 100), "C")
        assert "wider population" in " ".join(found.notes)

    def test_a_quarrel_about_another_coding_is_still_grade_c(self, store):
        store.submit(make(AGES, cells=95))
        store.submit(make(STEEP, holder="B", cells=95))
        answer = Registry(store).query(["age/5y"], "NL/Utrecht@2021")
        assert (answer.fit, answer.dispute is not None) == ("finer coding", True)
        assert answer.unique_share(100).grade == "C"
        proven = Registry().query(["age/5y"], "NL/Utrecht@2021").unique_share(100)
        assert answer.unique_share(100).low == proven.low, "what Shoal's own records prove stands"

    def test_the_least_finer_and_the_least_coarser_record_are_taken(self, store):
        for codes, counts, cells in (
            (("age/years",), AGES, 95),
            (("age/5y",), five_years(AGES), 19),
            (("age/20y",), [sum(AGES[i : i + 20]) for i in range(0, 95, 20)], 5),
        ):
            store.submit(make(counts, codes=codes, cells=cells))
        registry = Registry(store)
        assert registry.query(["age/10y"], "NL/Utrecht@2021").best.codes == ("age/5y",)
        other = registry.query(["age/years", "sex"], "NL/Utrecht@2021")
        assert (other.fit, other.best.codes) == ("coarser coding", ("age/years",))
        proven = Registry().query(["age/years", "sex"], "NL/Utrecht@2021").unique_share(100)
        assert (other.unique_share(100).low, other.unique_share(100).high) == (proven.low, 1.0)


class TestOdd:
    def test_one_that_stands_out_from_its_neighbours(self, store, tmp_path):
        key = signer()
        for i in range(4):
            store.submit(make([c + i for c in AGES], population=place(f"P{i}"), cells=95, key=key))
        store.submit(make(ODD, population=place("Odd"), cells=95, key=key))
        for shelf in (store, Mirror(write_mirror(store, tmp_path / "m"))):
            registry = Registry(shelf)
            assert any("median of 4 similar" in n for n in registry.query(["age/years"], "NL/Odd@2021").notes)
            assert registry.query(["age/years"], "NL/P1@2021").notes == ()

    def test_one_that_stands_out_from_the_wider_population(self, store):
        store.submit(make([20 * c for c in AGES], population=Population.parse("NL@2021"), cells=95))
        store.submit(make(ODD, population=place("Odd"), cells=95))
        assert any("wider population" in n for n in Registry(store).query(["age/years"], "NL/Odd@2021").notes)

    def test_contradictions_within_one_population(self, store):
        store.submit(make(AGES, cells=95))
        store.submit(make([40_000, 41_000], codes=("sex",), cells=2))
        lie = store.submit(make([800] * 100, codes=("age/5y",), cells=100))  # tells people better apart than single years
        notes = " ".join(Registry(store).query(["age/5y"], "NL/Utrecht@2021").notes)
        assert "cannot tell people better apart" in notes
        assert contradictions(lie, []) == []
        honest = make(five_years(AGES), codes=("age/5y",), cells=19)
        assert contradictions(honest, store.topic(("age/years",), "NL/Utrecht@2021")) == []

    def test_together_nearer_to_uniform_than_alone(self):
        ages, sexes = make(STEEP, cells=95), make([20_000, 20_000], codes=("sex",), cells=2)
        flat = make([200] * 190, codes=("age/years", "sex"), cells=190)
        assert "below the sum" in contradictions(flat, [ages, sexes])[0][1]
        joint = make([c for c in STEEP for _ in "FM"], codes=("age/years", "sex"), cells=190)
        assert contradictions(joint, [ages, sexes]) == []


class TestTrust:
    def test_strangers_are_set_aside_where_an_endorsed_holder_is_known(self, store):
        anchor, known, stranger = signer(), signer(), signer()
        store.submit(make(AGES, key=known, holder="Known", cells=95))
        store.submit(make(STEEP, key=stranger, holder="Stranger", cells=95))
        store.state(Statement("endorse", known.public, "", "2025-01-01", 1).signed(anchor))
        everybody = Registry(store).query(["age/years"], "NL/Utrecht@2021")
        assert everybody.dispute is not None
        trusting = Registry(store, anchors=[anchor.public]).query(["age/years"], "NL/Utrecht@2021")
        assert [r.holder for r in trusting.records] == ["Known"]
        assert trusting.dispute is None
        assert any("Stranger" in n for n in trusting.notes)

    def test_a_key_that_revokes_itself_takes_its_records_along(self, store):
        key = signer()
        record = store.submit(make(AGES, key=key))
        other = store.submit(make(STEEP, holder="B"))
        store.state(Statement("revoke-key", key.public, "", "2025-01-01", 1).signed(key))
        assert store.get(record.id)[1] == "revoked"
        assert [r.id for r in Registry(store).query(["age/years"], "NL/Utrecht@2021").records] == [other.id]

    def test_only_the_signer_takes_back_an_endorsement_and_only_an_anchor_revokes_others(self):
        endorsed = [Statement("endorse", "B", "A", "2025-01-01", 1), Statement("endorse", "C", "B", "2025-01-01", 1)]
        assert set(trusted_keys(["A"], [*endorsed, Statement("revoke-key", "C", "X", "2025-01-01", 1)])) == {"A", "B", "C"}
        assert set(trusted_keys(["A"], [*endorsed, Statement("revoke-key", "C", "B", "2025-01-01", 2)])) == {"A", "B"}
        assert set(trusted_keys(["A"], [*endorsed, Statement("revoke-key", "C", "A", "2025-01-01", 2)])) == {"A", "B"}
        back = [Statement("revoke-key", "C", "B", "2025-01-01", 2), Statement("endorse", "C", "B", "2025-01-01", 3)]
        assert set(trusted_keys(["A"], [*endorsed, *back])) == {"A", "B", "C"}
        ring = [Statement("endorse", "A", "C", "2025-01-01", 1)]
        assert trusted_keys(["A"], [*endorsed, *ring]) == {"A": 0, "B": 1, "C": 2}


def test_a_key_that_revoked_itself_stays_revoked() -> None:
    """Whoever stole the key can sign with it: an endorsement of itself, or of an anchor, must not bring it back."""
    endorsed = [Statement("endorse", "B", "A", "2025-01-01", 1), Statement("endorse", "C", "B", "2025-01-01", 2)]
    gone = Statement("revoke-key", "B", "B", "2025-01-02", 3)
    assert set(trusted_keys(["A"], [*endorsed, gone])) == {"A"}
    assert set(trusted_keys(["A"], [*endorsed, gone, Statement("endorse", "B", "B", "2025-01-03", 4)])) == {"A"}
    assert set(trusted_keys(["A"], [*endorsed, gone, Statement("endorse", "B", "A", "2025-01-03", 2)])) == {"A"}
    assert trusted_keys(["B"], [*endorsed, gone, Statement("endorse", "B", "B", "2025-01-03", 4)]) == {}
