"""What a question reads: through one connection, with neighbours kept between questions while the log stands."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from registry_support import AGES, make
from shoal.errors import EngineError
from shoal.kernels.signatures import signer
from shoal.registry.answer.query import Registry
from shoal.registry.answer.source import Neighbours
from shoal.registry.keep.store import Store
from shoal.registry.records.population import Population


class TestOneConnection:
    def test_a_question_takes_one_connection_and_gives_it_back(self, tmp_path):
        store = Store(f"sqlite:///{tmp_path / 'r.db'}")
        key = signer()
        for i in range(6):
            place = Population.parse(f"NL/Utrecht/P{i}@2021")
            store.submit(make([c + 9 * i for c in AGES], population=place, cells=95, key=key))
        taken, returned = [], []
        sa.event.listen(store.engine, "checkout", lambda *_: taken.append(1))
        sa.event.listen(store.engine, "checkin", lambda *_: returned.append(1))
        Registry(store).query(["age/years"], "NL/Utrecht/P3@2021")
        assert (len(taken), len(returned)) == (1, 1)
        store.head()
        assert (len(taken), len(returned)) == (2, 2)  # outside a question each reading has its own
        store.close()

    def test_it_is_given_back_when_a_question_fails(self, tmp_path):
        store = Store(f"sqlite:///{tmp_path / 'r.db'}")
        with pytest.raises(EngineError, match="did not answer: OperationalError"), store.reading():
            store.rows("SELECT nothing FROM nowhere")
        assert store.engine.pool.checkedout() == 0
        assert store.head()[0] == 0
        store.close()

    def test_a_database_that_cannot_be_reached_any_more_is_said(self, tmp_path):
        store = Store(f"sqlite:///{tmp_path / 'r.db'}")
        store.engine.dispose()
        (tmp_path / "r.db").unlink()
        (tmp_path / "r.db").mkdir()
        with pytest.raises(EngineError, match="did not answer: OperationalError"):
            store.head()
        store.close()


class TestKeptNeighbours:
    @pytest.mark.parametrize("found", [[], [("nl/a@2021", 0.5)], [("nl/a@2021", 0.25), ("nl/b@2021", 0.75), ("nl/c@2021", 0.5)]])
    def test_pairs_come_back_as_they_were(self, found):
        kept = Neighbours(found)
        assert (kept.all, len(kept)) == (found, len(found))
        assert (kept.low, kept.high) == (min((k for _, k in found), default=0.0), max((k for _, k in found), default=0.0))

    def test_a_new_record_is_seen_by_the_next_question(self, store):
        key, registry = signer(), Registry(store)
        for i in range(6):
            store.submit(make([c + 9 * i for c in AGES], population=Population.parse(f"NL/U/P{i}@2021"), cells=95, key=key))
        assert not [n for n in registry.query(["age/years"], "NL/U/P3@2021").notes if "stands out" in n]
        store.submit(make([90_000] + [50] * 94, population=Population.parse("NL/U/Odd@2021"), cells=95, key=key))
        assert [n for n in registry.query(["age/years"], "NL/U/Odd@2021").notes if "stands out" in n]
