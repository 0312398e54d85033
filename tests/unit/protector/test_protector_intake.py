"""The intake: people recognised in spite of typing errors, what is not sure decided by a clerk, all of it logged."""

from __future__ import annotations

import csv
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protector_support import House
from shoal.errors import AccessError, DataError, UsageError
from shoal.linkage import blocking
from shoal.linkage.blocking import Known, candidate_pairs
from shoal.protector import care
from shoal.protector.intake import waiting
from shoal.protector.intake.register import Comparing, Register, comparable, identity_of, keys_of, person_of, recognise
from typing_errors import FIELDS, people_twice

ANNA = {"given": "Anna", "family": "van der Berg", "birth": "1980-02-01", "postcode": "1234 AB", "number:bsn": "111222333"}
MISTYPED = {"given": "Ana", "family": "Berg", "birth": "01.02.1980", "postcode": "1234ab", "number:bsn": "111.222.333"}
MARRIED = {"given": "Anna", "family": "Smit", "birth": "1980-02-01", "postcode": "9999 ZZ", "number:bsn": "111222333"}
SISTER = {"given": "Hanna", "family": "van der Berg", "birth": "1980-02-01", "postcode": "1234 AB"}
BERT = {"given": "Bert", "family": "Bos", "birth": "1970-07-30", "postcode": "5555 XX", "number:bsn": "123456782"}


@pytest.fixture
def clinic(sqlite_house: House) -> House:
    sqlite_house.owner.create_domain("clinic")
    for name in ("Carla", "Cleo"):
        sqlite_house.tokens[name] = sqlite_house.add(name, ["clerk"])
    return sqlite_house


def test_a_person_keeps_one_pseudonym_through_errors_and_a_changed_name(clinic: House) -> None:
    first = clinic.operator.intake("clinic", [ANNA, BERT])
    assert first.outcomes == ["new", "new"]
    assert len(set(first.pseudonyms)) == 2
    later = clinic.operator.intake("clinic", [MISTYPED, MARRIED, ANNA, {"given": " "}])
    assert later.outcomes == ["matched", "matched", "known", "empty"]
    assert later.pseudonyms == [first.pseudonyms[0]] * 3 + [None]
    assert later.counts == {"known": 1, "matched": 2, "new": 0, "waiting": 0, "empty": 1}
    assert later.changes["birth"]["respelled"] == 3
    again = clinic.operator.intake("clinic", [MARRIED])
    assert (again.outcomes, again.pseudonyms) == (["known"], [first.pseudonyms[0]])
    shown = clinic.reveal("clinic", [str(first.pseudonyms[0])])
    assert json.loads(str(next(iter(shown.values())))) == person_of(ANNA)


def test_invisible_characters_do_not_make_a_second_person(clinic: House) -> None:
    first = clinic.operator.intake("clinic", [ANNA]).pseudonyms
    hidden = {**MARRIED, "given": "An\u200bna", "family": " Smit\u00ad "}
    assert clinic.operator.intake("clinic", [hidden, MARRIED]).pseudonyms == first * 2
    assert clinic.operator.intake("clinic", [hidden]).outcomes == ["known"]


def test_two_records_of_one_person_in_one_table_are_one(clinic: House) -> None:
    found = clinic.operator.intake("clinic", [ANNA, MISTYPED, ANNA])
    assert found.outcomes[:2] == ["new", "matched"]
    assert len(set(found.pseudonyms)) == 1


def test_what_is_not_sure_waits_for_a_clerk_who_did_not_bring_it(clinic: House) -> None:
    (anna,) = clinic.operator.intake("clinic", [ANNA]).pseudonyms
    brought = clinic.operator.intake("clinic", [SISTER, SISTER])
    assert (brought.outcomes, brought.pseudonyms) == (["waiting"] * 2, [None] * 2)
    (number,) = set(brought.waiting)
    (seen,) = clinic["Carla"].waiting("clinic")
    assert (seen.id, seen.record, [c.pseudonym for c in seen.candidates]) == (number, person_of(SISTER), [anna])
    assert seen.candidates[0].record == person_of(ANNA)
    assert "Hanna" not in repr(seen) + repr(brought)
    for session in (clinic.operator, clinic["Rita"], clinic.owner):
        with pytest.raises(AccessError, match="role"):
            session.waiting("clinic")
        with pytest.raises(AccessError, match="role"):
            session.decide(number, "new")
    with pytest.raises(UsageError, match="not one of the people"):
        clinic["Carla"].decide(number, "P-00000000000000000000000000")
    made = clinic["Carla"].decide(number, "new")
    assert made != anna
    assert clinic.operator.intake("clinic", [SISTER]).pseudonyms == [made]
    with pytest.raises(AccessError, match="nothing waits"):
        clinic["Carla"].decide(number, "new")
    assert clinic["Carla"].waiting("clinic") == []


def test_a_clerk_may_say_that_it_is_the_same_person_and_a_split_takes_it_back(clinic: House) -> None:
    (anna,) = clinic.operator.intake("clinic", [ANNA]).pseudonyms
    (number,) = clinic.operator.intake("clinic", [SISTER]).waiting
    assert clinic["Cleo"].decide(number, str(anna)) == anna
    assert clinic.operator.intake("clinic", [SISTER]).pseudonyms == [anna]
    clinic.agree(care.split, "clinic", identity_of(person_of(SISTER)))
    assert clinic.operator.intake("clinic", [ANNA]).pseudonyms == [anna]


def test_nobody_decides_what_she_brought(clinic: House) -> None:
    clinic.tokens["Both"] = clinic.add("Both", ["operator", "clerk"])
    clinic["Both"].intake("clinic", [ANNA])
    (number,) = clinic["Both"].intake("clinic", [SISTER]).waiting
    with pytest.raises(AccessError, match="nobody decides"):
        clinic["Both"].decide(number, "new")
    assert clinic["Carla"].decide(number, "new")


def test_the_log_tells_who_decided_and_never_whom(clinic: House) -> None:
    clinic.operator.intake("clinic", [ANNA], purpose="admission")
    (number,) = clinic.operator.intake("clinic", [SISTER]).waiting
    clinic["Carla"].waiting("clinic")
    clinic["Carla"].decide(number, "new")
    with pytest.raises(AccessError):
        clinic["Carla"].decide("Hanna van der Berg", "new")
    events = care.read_log(clinic.auditor, last=10)
    actions = [e["action"] for e in events]
    assert {"intake", "waiting", "decide"} <= set(actions)
    text = json.dumps(events)
    assert not any(part in text for part in ("van der Berg", "1980-02-01", "1234 AB"))
    # as whole words: four digits in a row stand in many a pseudonym by chance
    assert not {"Anna", "Hanna", "Berg", "1980", "111222333", "1234"} & set(re.split(r"[^0-9A-Za-z]+", text))
    assert care.verify_log(clinic.auditor).ok


def test_a_forgotten_person_is_no_longer_recognised(clinic: House) -> None:
    (anna,) = clinic.operator.intake("clinic", [ANNA]).pseudonyms
    clinic.operator.intake("clinic", [MISTYPED])
    clinic.agree(care.forget, "clinic", identity_of(person_of(ANNA)))
    again = clinic.operator.intake("clinic", [MISTYPED])
    assert again.outcomes == ["new"]
    assert again.pseudonyms != [anna]


def test_forgetting_reaches_what_waits(clinic: House) -> None:
    """The record of the person goes; another record that may have been hers stays, without her."""
    clinic.operator.intake("clinic", [ANNA])
    clinic.operator.intake("clinic", [SISTER])
    clinic.agree(care.forget, "clinic", identity_of(person_of(ANNA)))
    (seen,) = clinic["Carla"].waiting("clinic")
    assert (seen.record, seen.candidates) == (person_of(SISTER), ())
    with clinic.vault.store.read() as tx:
        opened = clinic.operator.frame.open_domain(tx, "clinic")
        assert waiting.content(opened, waiting.load(tx, seen.id)) == (person_of(SISTER), [])
    clinic.agree(care.forget, "clinic", identity_of(person_of(SISTER)))
    assert clinic["Carla"].waiting("clinic") == []


def test_a_register_in_memory_is_the_one_that_is_stored(clinic: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept from call to call, and read again after anything that somebody else wrote; what it holds is what reading gives."""
    reads: list[int] = []
    whole = Register.__init__
    monkeypatch.setattr(Register, "__init__", lambda self, tx, opened: reads.append(1) or whole(self, tx, opened))
    (anna, _) = clinic.operator.intake("clinic", [ANNA, BERT]).pseudonyms
    assert clinic.operator.intake("clinic", [MISTYPED, {"given": ""}]).pseudonyms == [anna, None]
    assert clinic.operator.intake("clinic", [MISTYPED, ANNA]).outcomes == ["known", "known"]
    assert len(reads) == 1
    with clinic.vault.store.read() as tx:
        opened = clinic.operator.frame.open_domain(tx, "clinic")
        kept = Register.of(tx, opened)
        fresh = Register(tx, opened)
    assert len(reads) == 2
    assert kept.by_text == fresh.by_text
    assert sorted(map(identity_of, kept.records)) == sorted(map(identity_of, fresh.records))
    with clinic.reopen() as other:  # another service
        (number,) = other.login(clinic.tokens["Olga"]).intake("clinic", [SISTER]).waiting
        made = other.login(clinic.tokens["Carla"]).decide(number, "new")
    assert clinic.operator.intake("clinic", [SISTER]).pseudonyms == [made]
    clinic.agree(care.forget, "clinic", identity_of(person_of(ANNA)))
    assert clinic.vault.store.kept_registers == {}
    assert clinic.operator.intake("clinic", [MISTYPED]).outcomes == ["waiting"], "her sister is still there"


def test_a_call_that_fails_leaves_nothing_in_the_register(clinic: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.protector.intake.actions import IntakeActions

    def broken(*_: Any) -> list[str]:
        raise DataError("broken")

    clinic.operator.intake("clinic", [BERT])
    with monkeypatch.context() as patch:
        patch.setattr(IntakeActions, "_wait", broken)
        with pytest.raises(DataError, match="broken"):
            clinic.operator.intake("clinic", [ANNA])
    assert clinic.operator.intake("clinic", [ANNA]).outcomes == ["new"]


def test_a_large_register_tells_how_often_strangers_agree() -> None:
    """From a thousand records on u is counted; one fewer takes the usual one. Nobody is mixed up."""
    from shoal.linkage.model import Model
    from shoal.protector.intake import register as recognising

    table = people_twice(1000, seed=4)
    keys = keys_of(FIELDS)
    people = [person_of({keys[c]: table[c][i] for c in FIELDS}) for i in range(len(table["first"]))]
    records = comparable(people)
    usual = Model.usual(records.fields, prior=0.001)
    below, at = (recognising.fitted(records.at(np.arange(known)), prior=0.001) for known in (999, 1000))
    assert all((a == b).all() for a, b in zip(below.u, usual.u, strict=True))
    sex = [f.kind for f in records.fields].index("sex")
    postcode = [f.kind for f in records.fields].index("postcode")
    assert all((a == b).all() for a, b in zip(at.m, usual.m, strict=True))
    assert abs(at.u[sex][1] - 0.5) < 0.02
    assert abs(at.u[postcode][-1] - 0.01) < 0.004, "one of a hundred postcodes"


def test_a_model_is_fitted_again_when_the_register_has_grown_by_a_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.protector.intake import register as recognising

    sizes: list[int] = []
    real = recognising.fitted
    monkeypatch.setattr(recognising, "fitted", lambda records, **more: sizes.append(len(records)) or real(records, **more))
    monkeypatch.setattr(recognising, "ENOUGH", 100)
    register, records = _Empty(), comparable([{"given": f"g{i % 7}", "family": f"f{i}"} for i in range(300)])
    for size in (99, 99, 100, 110, 111, 122, 123):
        model = recognising._model(register, records.at(np.arange(size)), prior=1 / size)
        assert model.prior == 1 / size
    assert sizes == [99, 99, 100, 111, 123]


def test_what_is_kept_for_comparing_is_what_comparing_everything_gives() -> None:
    """People who come one after the other, with new fields and with dates that change how others are read, against one who
    spells and pairs everything anew each time."""
    table = people_twice(60, seed=3)
    keys = keys_of(FIELDS)
    people = [person_of({keys[c]: table[c][i] for c in FIELDS}) for i in range(len(table["first"]))]
    for place, birth in {5: "3/4/1980", 9: "4/13/1980", 20: "13/4/1980", 21: "13/5/1980"}.items():
        people[place]["birth"] = birth
    people[30]["text:city"] = "Rome"
    comparing, before = Comparing([]), 0
    for step in (1, 1, 4, 10, 3, 1, 1, 30, 20):
        fresh = people[before : before + step]
        known, spelled = comparing.with_those(fresh)
        whole = comparable(people[: before + step])
        joined = known.records.joined(spelled)
        assert set(joined.values) == set(whole.values)
        assert all((joined.values[name] == whole.values[name]).all() for name in whole.values)
        slow = candidate_pairs(whole, before)[:2]
        known_places, new_places = known.pairs_with(spelled)
        assert _pairs(known_places, new_places + before) == _pairs(*slow)
        counts = {name: Counter(v for v in values if v is not None) for name, values in whole.values.items()}
        with known.counting(spelled) as seen:
            assert seen == counts
        before += step
        comparing.add(fresh)


def _pairs(left: Any, right: Any) -> set[tuple[int, int]]:
    return set(zip(left.tolist(), right.tolist(), strict=True))


@pytest.mark.parametrize(("known", "fresh", "pairs"), [(50, 2, 100), (51, 2, 0), (100, 1, 100), (101, 1, 0)])
def test_blocks_that_are_too_large_are_left_out(monkeypatch: pytest.MonkeyPatch, known: int, fresh: int, pairs: int) -> None:
    monkeypatch.setattr(blocking, "MOST", 100)
    made = Known(comparable([{"number": "7"}] * known))
    assert len(made.pairs_with(comparable([{"number": "7"}] * fresh))[0]) == pairs


def test_people_of_a_real_table_are_recognised_and_nobody_mixed_up(shared_data: Path) -> None:
    """splink_fake_1000 brought in parts, with a clerk who knows: every match is right, most people are found."""
    with (shared_data / "splink_fake_1000" / "fake_1000.csv").open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    random.Random(1).shuffle(rows)
    keys = keys_of({"first_name": "given", "surname": "family", "dob": "birth", "city": "text", "email": "email"})
    register = _Empty()
    who: dict[bytes, str] = {}
    matched = possible = waited = 0
    for start in range(0, len(rows), 250):
        part = [
            (row["cluster"], person_of({key: row[column] for column, key in keys.items()})) for row in rows[start : start + 250]
        ]
        answers, _ = recognise(register, [person for _, person in part])
        added = []
        for (truth, person), answer in zip(part, answers, strict=True):
            possible += truth in who.values()
            right = [identity for identity, _ in answer.candidates if who.get(identity) == truth]
            waited += bool(right)
            identity = answer.identity or (right[0] if right else identity_of(person).encode())
            if answer.outcome in ("matched", "known"):
                matched += 1
                assert who[identity] == truth
            who.setdefault(identity, truth)
            added.append((person, identity))
        register.standing += [identity for _, identity in added]
        register.by_text |= {identity_of(person).encode(): identity for person, identity in added}
        register.records += [person for person, _ in added]
        register.comparing.add([person for person, _ in added])
    assert possible > 700
    assert matched > 0.5 * possible
    assert matched + waited > 0.9 * possible


def test_limits_of_pseudonymising_hold_for_the_intake(clinic: House) -> None:
    from shoal.protector import Limit

    clinic.set_limit("pseudonymize", Limit(3600.0, 2, None))
    clinic.operator.intake("clinic", [ANNA, BERT])
    with pytest.raises(AccessError, match="limit"):
        clinic.operator.intake("clinic", [SISTER])


@pytest.mark.parametrize("settings", [{"kind": "keyed"}, {"scope": "transaction"}, {"matching": "nfc"}, {"clean": ("case",)}])
def test_domains_that_cannot_recognise_people_are_refused(clinic: House, settings: dict[str, Any]) -> None:
    clinic.owner.create_domain("other", **settings)
    with pytest.raises(UsageError, match="recognised only"):
        clinic.operator.intake("other", [ANNA])


@pytest.mark.parametrize(("match", "possible"), [(0.49, 0.05), (1.0, 0.05), (0.9, 0.91), (0.9, 0.0)])
def test_limits_of_probability(clinic: House, match: float, possible: float) -> None:
    with pytest.raises(UsageError, match="probability"):
        clinic.operator.intake("clinic", [ANNA], match=match, possible=possible)


def test_records_of_unknown_kinds_and_doubled_meanings_are_refused() -> None:
    for key in ("nickname", "number:none", "number:", "text:", "text", "given:bsn"):
        with pytest.raises(UsageError, match="unknown kind"):
            person_of({key: "x"})
    with pytest.raises(DataError, match="Unicode"):
        person_of({"given": "\ud800"})
    with pytest.raises(UsageError, match="same meaning"):
        keys_of({"a": "given", "b": "given"})
    assert keys_of({"a": "text", "b": "text", "n": "number:bsn"}) == {"a": "text:a", "b": "text:b", "n": "number:bsn"}


class _Empty(Register):
    def __init__(self) -> None:
        self.records, self.standing, self.by_text = [], [], {}
        self.comparing = Comparing([])


def test_generated_people_with_errors_are_rarely_mixed_up_and_mostly_found() -> None:
    table = people_twice(300, seed=11)
    keys = keys_of(FIELDS)
    people = [person_of({keys[c]: table[c][i] for c in FIELDS}) for i in range(len(table["first"]))]
    answers, _ = recognise(_Empty(), people)
    truth: dict[bytes, set[str]] = {}
    settled = [(a.identity, p) for a, p in zip(answers, table["person"], strict=True) if a.identity is not None]
    for identity, person in settled:
        truth.setdefault(identity, set()).add(person)
    assert all(len(people) == 1 for people in truth.values())
    twice = sum(table["person"].count(p) == 2 for p in set(table["person"]))
    matched = sum(a.outcome == "matched" for a in answers)
    assert matched >= 0.5 * twice
    assert matched + sum(a.outcome == "waiting" for a in answers) >= 0.9 * twice


def test_tables_by_command(clinic: House, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from shoal.cli import main

    (tmp_path / "t.csv").write_text("vn,an,dob,ward\nAnna,Bos,1980-02-01,7\nBert,Smit,30.7.1970,8\nAnna,Bos,1.2.1980,9\n")
    token = tmp_path / "olga.token"
    token.write_text(clinic.tokens["Olga"] + "\n")
    token.chmod(0o600)
    from shoal.protector.pseudonyms.tables import intake_table

    done = intake_table(
        clinic.operator, tmp_path / "t.csv", tmp_path / "o.csv", domain="clinic",
        fields={"vn": "given", "an": "family", "dob": "birth"}, match=0.9, possible=0.05,
    )  # fmt: skip
    lines = (tmp_path / "o.csv").read_text().replace('"', "").splitlines()
    assert lines[0] == "pseudonym,outcome,ward"
    assert [line.split(",")[2] for line in lines[1:]] == ["7", "8", "9"]
    assert lines[1].split(",")[0] == lines[3].split(",")[0] != lines[2].split(",")[0]
    assert done["rows"] == 3
    assert "Anna" not in (tmp_path / "o.csv").read_text() + json.dumps(done)
    with pytest.raises(SystemExit) as ended:
        main(["vault", "intake", str(tmp_path / "t.csv"), "--domain", "clinic", "--fields", "vn", "-o", "x.csv", "--vault", "no"])
    assert ended.value.code == 2
