"""Records, trust, store, mirror, queries and decisions: the life of a statement from holder to policy maker."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from registry_support import AGES, UTRECHT, five_years, make
from shoal.errors import DataError, OutputError, RequirementError, ShoalError, TamperError, UnreadableError, UsageError
from shoal.kernels.signatures import signer
from shoal.registry.answer.decide import decide
from shoal.registry.answer.query import Registry
from shoal.registry.keep.mirror import Mirror, write_mirror
from shoal.registry.publish.proposals import Ledger, propose, publish
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record
from shoal.registry.records.trust import Statement, dispute, outlier, trusted_keys


class TestRecord:
    def test_round_trip_and_signature(self):
        record = make(AGES)
        again = Record.from_json(json.loads(json.dumps(record.to_json())))
        assert again == record
        assert again.verify().id == record.id

    @pytest.mark.parametrize("field", ["size", "cells", "holder", "date", "method", "population", "statistics"])
    def test_one_changed_field_is_found(self, field):
        data = make(AGES).to_json()
        changed = {
            "size": 99_000,
            "cells": 98,
            "holder": "Someone",
            "date": "2025-01-16",
            "method": "sample",
            "population": "NL@2021",
        }
        if field == "statistics":
            data["statistics"]["kappa"][0] += 0.01
        else:
            data[field] = changed[field]
        with pytest.raises(TamperError, match="id does not fit"):
            Record.from_json(data)
        data["id"] = Record.from_json({**data, "id": _honest_id(data)}).id
        with pytest.raises(TamperError, match="signature"):
            Record.from_json(data).verify()

    def test_another_format_is_refused(self):
        with pytest.raises(DataError, match="format"):
            Record.from_json({**make(AGES).to_json(), "format": "shoal-record/0"})

    def test_contradictory_numbers_are_refused_even_when_signed(self):
        key = signer()
        record = make(AGES, key=key)
        numbers = dict(record.summary.statistics)
        numbers["kappa"] = replace(numbers["kappa"], value=-1.0)
        lie = replace(record, summary=replace(record.summary, statistics=numbers)).signed(key)
        with pytest.raises(DataError, match="contradict"):
            lie.verify()


def _honest_id(data) -> str:
    import hashlib

    from shoal.kernels.signatures import canonical

    return hashlib.sha256(canonical({k: v for k, v in data.items() if k not in ("id", "signature")})).hexdigest()


class TestHolder:
    def test_small_populations_are_refused(self):
        with pytest.raises(DataError, match="1,000"):
            make([100] * 9)

    def test_few_people_change_nothing(self):
        ledger, key = Ledger(), signer()
        first = make(AGES, key=key, ledger=ledger)
        proposal = propose(
            [AGES[0] + 99, *AGES[1:]], ["age/years"], UTRECHT, holder="Statistics Office", date="2025-03-01", ledger=ledger
        )
        assert proposal.unchanged
        assert publish(proposal, key, ledger) == first
        later = propose(
            [c * 2 for c in AGES], ["age/years"], UTRECHT, holder="Statistics Office", date="2025-03-01", ledger=ledger
        )
        assert (later.record.version, later.record.supersedes) == (2, first.id)

    def test_nested_populations_that_differ_by_few_are_refused(self):
        ledger = Ledger()
        make(AGES, ledger=ledger)
        with pytest.raises(RequirementError, match="differs by fewer"):
            make([AGES[0] - 500, *AGES[1:]], population=Population.parse("NL/Utrecht@2021;adults"), ledger=ledger)

    def test_the_ledger_is_private_and_survives(self, tmp_path):
        ledger = Ledger()
        make(AGES, ledger=ledger)
        path = tmp_path / "ledger.json"
        ledger.save(path)
        assert path.stat().st_mode & 0o077 == 0
        assert Ledger.load(path).entries == ledger.entries
        path.chmod(0o644)
        with pytest.raises(UsageError, match="read by others"):
            Ledger.load(path)


class TestTrust:
    def test_a_web_of_endorsements(self):
        a, b, c = signer(), signer(), signer()
        said = [
            Statement("endorse", b.public, "", "2026-01-01", 1).signed(a),
            Statement("endorse", c.public, "", "2026-01-01", 1).signed(b),
        ]
        assert trusted_keys([a.public], said) == {a.public: 0, b.public: 1, c.public: 2}
        said.append(Statement("revoke-key", b.public, "", "2026-01-02", 2).signed(b))
        assert trusted_keys([a.public], said) == {a.public: 0}

    def test_two_holders_disagree_and_the_cautious_record_leads(self):
        one, two = make(AGES, holder="A"), make([x * 3 + 1 for x in range(95)] + [3000], holder="B")
        found = dispute([one, two])
        assert found is not None
        assert "kappa" in found.spread
        shares = {r.id: sum(s.value for n, s in r.summary.statistics.items() if n.startswith("unique")) for r in (one, two)}
        assert shares[found.cautious.id] == max(shares.values())
        assert dispute([one, make(AGES, holder="C")]) is None

    def test_an_outlier_is_named(self):
        usual = [make([c + i for c in AGES], population=Population.parse(f"NL/Place{i}@2021")) for i in range(5)]
        strange = make([100_000] + [10] * 94, population=Population.parse("NL/Odd@2021"))
        kappas = [r.summary.statistics["kappa"].value for r in usual]
        assert "nats from the median" in outlier(strange, kappas)
        assert outlier(usual[0], [*kappas[1:], strange.summary.statistics["kappa"].value]) is None
        assert "wider population" in outlier(strange, [], kappas[0])
        assert outlier(usual[0], [], kappas[1]) is None
        assert outlier(strange, []) is None


class TestStore:
    def test_submit_query_and_log(self, store):
        record = store.submit(make(AGES))
        assert store.topic(("age/years",), "NL/Utrecht@2021") == [record]
        assert store.get(record.id) == (record, "current")
        assert store.head()[0] == 1

    def test_replayed_duplicate_and_forged_records_are_refused(self, store):
        ledger, key = Ledger(), signer()
        first = store.submit(make(AGES, ledger=ledger, key=key))
        with pytest.raises(DataError, match="before"):
            store.submit(first)
        second = store.submit(make([c * 2 for c in AGES], ledger=ledger, key=key, date="2025-03-15"))
        assert second.version == 2
        assert store.get(first.id)[1] == "superseded"
        with pytest.raises(ShoalError):
            store.submit(replace(first, date="2025-01-16").signed(key))
        forged = replace(second, holder="Somebody else")
        with pytest.raises(TamperError):
            store.submit(forged)
        assert store.head()[0] == 2

    def test_revocation_of_keys_and_records(self, store):
        key, other = signer(), signer()
        record = store.submit(make(AGES, key=key))
        with pytest.raises(TamperError, match="only the holder"):
            store.state(Statement("revoke-record", record.id, "", "2025-01-15", 1).signed(other))
        store.state(Statement("revoke-record", record.id, "", "2025-01-15", 1).signed(key))
        assert store.topic(("age/years",), "NL/Utrecht@2021") == []
        replayed = Statement("revoke-record", record.id, "", "2025-01-15", 1).signed(key)
        with pytest.raises(DataError, match="next"):
            store.state(replayed)
        store.state(Statement("revoke-key", key.public, "", "2025-01-15", 2).signed(key))
        with pytest.raises(TamperError, match="revoked"):
            store.submit(make(AGES, key=key, population=Population.parse("NL@2021")))


class TestMirror:
    @pytest.fixture
    def folder(self, store, tmp_path):
        store.submit(make(AGES))
        store.submit(make(five_years(AGES), codes=("age/5y",), cells=19))
        return write_mirror(store, tmp_path / "mirror")

    def test_it_answers_like_the_store_and_verifies(self, store, folder):
        mirror = Mirror(folder)
        assert mirror.topic(("age/years",), "NL/Utrecht@2021") == store.topic(("age/years",), "NL/Utrecht@2021")
        assert mirror.verify() == {"lines": 2, "records": 2, "statements": 0, "notices": 0}
        assert mirror.head() == store.head()

    def test_an_existing_folder_is_not_touched(self, store, folder):
        with pytest.raises(OutputError, match="exists"):
            write_mirror(store, folder)

    def test_every_changed_byte_of_a_record_and_every_cut_of_the_log_is_found(self, folder):
        record = next((folder / "records").iterdir())
        whole = record.read_bytes()
        for position in range(0, len(whole) - 1, 97):
            record.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
            with pytest.raises(ShoalError):
                Mirror(folder).verify()
        record.write_bytes(whole)
        log = (folder / "log.jsonl").read_text().splitlines(keepends=True)
        for changed in (log[:-1], log[1:], log[::-1], [*log, log[-1]]):
            (folder / "log.jsonl").write_text("".join(changed))
            with pytest.raises(TamperError):
                Mirror(folder).verify()

    def test_a_mirror_whose_log_was_cut_answers_no_question(self, folder):
        place, asked = folder / "log.jsonl", (("age/years",), "NL/Utrecht@2021")
        whole = place.read_bytes()
        lines = whole.splitlines(keepends=True)
        assert Registry(folder).query(*asked).records
        more = b'{"line": 3, "kind": "record", "subject": "x", "digest": "x", "hash": "x"}\n'
        for changed in (lines[0], b"", whole + more, whole.replace(b'"line":2', b'"line":3'), b"[]\n", b"1\n"):
            assert changed != whole
            place.write_bytes(changed)
            with pytest.raises(TamperError, match="ends elsewhere"):
                Registry(folder)
        place.write_bytes(whole[:-9])
        with pytest.raises(UnreadableError):
            Registry(folder)
        place.unlink()
        with pytest.raises(UnreadableError):
            Registry(folder)
        place.write_bytes(whole)
        assert Registry(folder).query(*asked).records

    def test_of_an_empty_registry_nothing_is_missing(self, store, tmp_path):
        write_mirror(store, tmp_path / "nothing")
        assert Registry(tmp_path / "nothing").query(("age/years",), "NL/Utrecht@2021").fit == "nothing"


class TestQuery:
    @pytest.fixture
    def registry(self, store):
        store.submit(make(AGES, cells=95))
        store.submit(make(five_years(AGES), codes=("age/5y",), cells=19))
        store.submit(make([40_000, 41_000], codes=("sex",), cells=2))
        store.submit(make([9 * c for c in AGES], population=Population.parse("NL@2021"), cells=95))
        return Registry(store)

    def test_exact(self, registry):
        answer = registry.query(["age/years"], "NL/Utrecht@2021")
        p = np.array(AGES) / sum(AGES)
        for k in (30, 137, 900):
            found = answer.unique_share(k)
            assert answer.fit == "exact"
            assert found.low <= float((p * (1 - p) ** (k - 1)).sum()) <= found.high

    def test_a_finer_record_bounds_from_above(self, registry):
        answer = registry.query(["age/10y"], "NL/Utrecht@2021")
        assert answer.fit == "finer coding"
        assert answer.best.codes == ("age/5y",)
        assert answer.unique_share(100).grade == "C"

    def test_the_parent_population_is_a_fallback(self, registry):
        answer = registry.query(["age/years"], "NL/Drenthe@2021")
        assert answer.fit == "parent population"
        assert "NL@2021" in " ".join(answer.notes)

    def test_margins_are_combined_with_bounds(self, registry):
        answer = registry.query(["sex", "age/years"], "NL/Utrecht@2021")
        assert answer.fit == "margins only"
        joint = np.outer(np.array(AGES) / sum(AGES), [0.4, 0.6]).ravel()
        found = answer.unique_share(200)
        assert found.low <= float((joint * (1 - joint) ** 199).sum()) <= found.high

    def test_nothing(self, registry):
        answer = registry.query(["x/shoe-size"], "DE@2021")
        assert answer.fit == "nothing"
        with pytest.raises(UsageError, match="knows nothing"):
            answer.unique_share(10)

    def test_a_dispute_is_shown_with_both_values(self, registry, store):
        store.submit(make([x * 9 + 1 for x in range(95)], holder="Another office", cells=95))
        answer = registry.query(["age/years"], "NL/Utrecht@2021")
        assert answer.dispute is not None
        assert len(answer.dispute.records) == 2
        shares = [
            Registry(_Only(store, r)).query(["age/years"], "NL/Utrecht@2021").unique_share(300) for r in answer.dispute.records
        ]
        found = answer.unique_share(300)
        assert found.value == max(s.value for s in shares)
        assert found.grade == "C"
        assert (found.low, found.high) == (min(s.low for s in shares), max(s.high for s in shares))

    def test_decide_coarsens_until_the_target_is_met(self, registry):
        decision = decide(registry, ["age/years"], "NL/Utrecht@2021", group_size=100, target=0.05)
        assert decision.reached
        assert [x.advice for x in decision.lines] == ["band"]
        assert decision.after.high <= 0.05
        assert "age in bands of five years" in decision.letter
        hopeless = decide(registry, ["age/years"], "NL/Utrecht@2021", group_size=3, target=0.05)
        assert [x.advice for x in hopeless.lines] == ["do not collect"]
        fine = decide(registry, ["sex"], "NL/Utrecht@2021", group_size=10_000, target=0.05)
        assert [x.advice for x in fine.lines] == ["collect"]


class _Only:
    """A shelf with one record, for comparison."""

    def __init__(self, store, record):
        self.store, self.record = store, record

    def topic(self, codes, population):
        return [self.record]

    def codings(self, population):
        return [self.record.codes]

    def neighbours(self, codes, area, *, limit=500, keys=None):
        return []

    def holders(self, population, *, limit=100):
        return [self.record.key]

    def reading(self):
        return self.store.reading()

    def namesakes(self, holder, key):
        return False

    def statements(self):
        return []

    def head(self):
        return self.store.head()
