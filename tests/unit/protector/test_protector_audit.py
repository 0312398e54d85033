"""V6: deletion, edit, reordering, a cut tail and rollback of the log are found; names need owner and auditor together."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from protector_support import House, parameter_mark, raw_database
from shoal.errors import AccessError, TamperError, UsageError
from shoal.protector import care
from shoal.protector.care.reports import timeline
from shoal.protector.log import audit, checkpoints


@pytest.fixture
def busy(house: House) -> House:
    """A vault with a longer log, two checkpoints at least, and one kept outside."""
    house.owner.create_domain("d")
    made = house.operator.pseudonymize("d", ["0012-aria", "0013-bram"])
    house.reveal("d", made[:1])
    house.outside = care.checkpoint(house.owner)  # type: ignore[attr-defined]
    for i in range(5):
        house.operator.find("d", str(i))
    return house


def verdict(house: House) -> audit.Verdict:
    with house.vault.store.read() as tx:
        return audit.verify(tx, anchors=[house.outside])  # type: ignore[attr-defined]


def test_untouched_log_holds(busy: House) -> None:
    found = verdict(busy)
    assert found.ok, found.problems
    assert found.checkpoints >= 3
    assert care.verify_log(busy.auditor).ok
    assert care.read_log(busy.auditor)[-1]["action"] == "audit"


def test_every_deletion_is_found(busy: House) -> None:
    database, mark = raw_database(busy), parameter_mark(busy)
    last = verdict(busy).events
    for seq in range(1, last + 1):
        row = database.execute(f"SELECT * FROM vault_audit WHERE seq = {mark}", (seq,)).fetchone()
        database.execute(f"DELETE FROM vault_audit WHERE seq = {mark}", (seq,))
        missing = f"event {seq} is missing: the log jumps to {seq + 1}." if seq < last else "the tail is cut off"
        problems = verdict(busy).problems
        assert missing in problems[0]
        assert [sum(word in problem for problem in problems) for word in ("is missing: the log", "was altered")] == [
            seq < last
        ] * 2
        database.execute(f"INSERT INTO vault_audit VALUES ({mark}, {mark}, {mark})", tuple(row))
    database.close()
    assert verdict(busy).ok


def _rechain(database: Any, mark: str, start: int) -> None:
    """What a clever intruder does: compute all hashes anew after a change."""
    rows = database.execute("SELECT seq, sealed, hash FROM vault_audit ORDER BY seq").fetchall()
    head = audit.ZERO
    for seq, sealed, stored in rows:
        head = audit.chained(head, seq, bytes(sealed)) if seq >= start else bytes(stored)
        database.execute(f"UPDATE vault_audit SET hash = {mark} WHERE seq = {mark}", (head, seq))


@pytest.mark.parametrize("rechain", [False, True])
def test_edit_reorder_and_closing_of_gaps_are_found(busy: House, rechain: bool) -> None:
    database, mark = raw_database(busy), parameter_mark(busy)
    backup = database.execute("SELECT seq, sealed, hash FROM vault_audit ORDER BY seq").fetchall()
    update = f"UPDATE vault_audit SET sealed = {mark} WHERE seq = {mark}"
    middle = len(backup) // 2

    def edit() -> None:
        database.execute(update, (os.urandom(len(backup[middle][1])), middle + 1))

    def reorder() -> None:
        database.execute(update, (backup[middle][1], middle))
        database.execute(update, (backup[middle - 1][1], middle + 1))

    def close_gap() -> None:
        database.execute(f"DELETE FROM vault_audit WHERE seq = {mark}", (middle,))
        for seq, _, _ in backup[middle:]:
            database.execute(f"UPDATE vault_audit SET seq = {mark} WHERE seq = {mark}", (seq - 1, seq))

    def cut_tail() -> None:
        database.execute(f"DELETE FROM vault_audit WHERE seq > {mark}", (len(backup) - 2,))

    def add() -> None:
        database.execute(
            f"INSERT INTO vault_audit VALUES ({mark}, {mark}, {mark})", (len(backup) + 1, os.urandom(156), os.urandom(32))
        )

    for change in (edit, reorder, close_gap, cut_tail, add):
        change()
        if rechain:
            _rechain(database, mark, 1)
        assert not verdict(busy).ok, change.__name__
        database.execute("DELETE FROM vault_audit")
        for row in backup:
            database.execute(f"INSERT INTO vault_audit VALUES ({mark}, {mark}, {mark})", tuple(row))
        assert verdict(busy).ok
    database.close()


def test_cut_tail_is_found_by_the_outside_checkpoint_alone(busy: House) -> None:
    """Even an intruder with the key, who can write the state, is held by a checkpoint kept outside."""
    from shoal.protector.store.database import Tx

    with busy.vault.store.read() as tx:
        hashes = audit._check_chain(tx, [])
        problems: list[str] = []
        cut = {n: h for n, h in hashes.items() if n < busy.outside["seq"]}  # type: ignore[attr-defined]
        keys = {k["id"]: bytes.fromhex(k["public"]) for k in checkpoints.signing_keys(tx)}
        audit._check_outside(tx, keys, busy.outside, cut, problems)  # type: ignore[attr-defined]
        assert isinstance(tx, Tx)
        assert "rolled back" in problems[0]
        for forged in (
            {**busy.outside, "seq": 3},  # type: ignore[attr-defined]
            {**busy.outside, "head": "00" * 32},  # type: ignore[attr-defined]
            {**busy.outside, "signature": "zz"},  # type: ignore[attr-defined]
            {**busy.outside, "vault": "00" * 16},  # type: ignore[attr-defined]
            {},
        ):
            assert not audit.verify(tx, anchors=[forged]).ok


def test_lost_checkpoint_is_found(busy: House) -> None:
    database = raw_database(busy)
    database.execute("DELETE FROM vault_checkpoints WHERE seq = (SELECT max(seq) FROM vault_checkpoints)")
    database.close()
    newest, number = verdict(busy).problems[:2]
    assert newest.startswith("the newest checkpoint, at event")
    assert "checkpoints were signed" in number


@pytest.mark.parametrize(
    ("there", "head", "problems"),
    [
        (5, "05", []),
        (4, "05", ["the tail is cut off: 5 events were written, 4 are there."]),
        (6, "05", ["1 events were added from outside."]),
        (5, "06", ["the newest event is not the one the vault wrote."]),
    ],
)
def test_the_end_of_the_log_is_the_one_that_was_written(there: int, head: str, problems: list[str]) -> None:
    state: Any = SimpleNamespace(audit_seq=5, audit_head=head)
    found: list[str] = []
    audit._check_end(state, {n: bytes([n]) for n in range(there + 1)}, found)
    assert found == problems


def test_checkpoints_come_by_themselves(sqlite_house: House) -> None:
    sqlite_house.owner.create_domain("d")
    for i in range(audit.EVERY + 5):
        sqlite_house.operator.find("d", str(i))
    with sqlite_house.vault.store.read() as tx:
        assert tx.state.audit_seq - tx.state.checkpoint_seq < audit.EVERY


def test_a_checkpoint_is_due_after_so_many_events_and_not_before(sqlite_house: House) -> None:
    signed = care.checkpoint(sqlite_house.owner)["seq"]
    with sqlite_house.vault.store.write() as tx:
        assert tx.state.audit_seq == signed
        for number in range(1, audit.EVERY + 1):
            audit.append(tx, 1e9, [{"action": "find", "outcome": "done"}])
            assert tx.state.checkpoint_seq == (signed if number < audit.EVERY else signed + audit.EVERY)


def test_the_log_is_pseudonymous(busy: House) -> None:
    text = json.dumps(care.read_log(busy.auditor))
    for name in ("Otto", "Udo", "Olga", "Rita", "Aldo", "0012-aria", "0013-bram"):
        assert name not in text
    actors = {e["actor"] for e in care.read_log(busy.auditor)}
    assert all(a.startswith("A-") for a in actors)
    assert len(actors) == 6  # Otto, Olga, Rita and Aldo have acted; Ana enrolled, and Udo confirmed


def test_names_are_told_to_owner_and_auditor_together(busy: House) -> None:
    (event,) = [e for e in care.read_log(busy.auditor) if e["action"] == "reveal"]
    shares = {"owner_share": busy.owner_share, "auditor_share": busy.auditor_share}
    told = care.resolve(busy.owner, busy.auditor, event["actor"], reason="complaint", **shares)
    assert told == "Rita"
    assert care.resolve(busy.owner, busy.auditor, event["subjects"][0], reason="complaint", **shares) == "0012-aria"
    resolved = [e for e in care.read_log(busy.auditor) if e["action"] == "resolve"]
    assert [e["of"] for e in resolved] == [event["actor"], event["subjects"][0]]
    assert resolved[0]["together_with"] != resolved[0]["actor"]
    with pytest.raises(UsageError, match="two people"):
        care.resolve(busy.owner, busy.owner, event["actor"], reason="x", **shares)
    with pytest.raises(AccessError):
        care.resolve(busy["Rita"], busy.auditor, event["actor"], reason="x", **shares)
    wrong = busy.auditor_share[:-6] + ("000000" if not busy.auditor_share.endswith("000000") else "111110")
    with pytest.raises(AccessError, match="do not belong together"):
        care.resolve(busy.owner, busy.auditor, event["actor"], reason="x", owner_share=busy.owner_share, auditor_share=wrong)
    with pytest.raises(UsageError, match="auditor's share"):
        care.resolve(
            busy.owner, busy.auditor, event["actor"], reason="x", owner_share=busy.owner_share, auditor_share=busy.owner_share
        )


def test_not_even_the_vault_can_open_a_name(busy: House) -> None:
    """One share, or the master key alone, opens nothing: the stored form needs the private half."""
    from shoal.protector.store.state import SETTING

    with busy.vault.store.read() as tx:
        name = audit.actor_pseudonym(busy.vault.store, "Rita")
        stored = tx.get(SETTING, f"name {name}")
        assert stored is not None
        assert "Rita" not in str(stored)
        assert "private" not in str(tx.get(SETTING, "resolution"))


def test_report_and_timeline(busy: House, tmp_path: Path) -> None:
    busy.clock.now += 40 * 86400
    made = busy.operator.pseudonymize("d", ["0012-aria", "0013-bram"])
    busy.reveal("d", made)
    rows = care.report(busy.auditor)
    assert [(r["period"], r["reveals"], r["records"], r["people"]) for r in rows] == [("2025-10", 1, 1, 1), ("2025-11", 1, 2, 2)]
    assert {r["purpose"] for r in rows} == {"adverse event"}
    timeline(busy.auditor, tmp_path / "one.svg")
    timeline(busy.auditor, tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    text = (tmp_path / "one.svg").read_text()
    assert "Rita" not in text
    with pytest.raises(UsageError, match="period"):
        care.report(busy.auditor, period="week")
    with pytest.raises(AccessError):
        care.report(busy.owner)


def test_every_reveal_per_person_purpose_and_period(busy: House) -> None:
    """Each identity revealed stands in the list once per reveal; a second domain gives the same person another subject."""
    busy.clock.now += 40 * 86400
    busy.owner.create_domain("e", matching="nfc")
    made = busy.operator.pseudonymize("d", ["0012-aria", "0013-bram"])
    other = busy.operator.pseudonymize("e", ["0012-aria", "e\u0301"])
    never = "P-" + "0" * 26
    busy.reveal("d", [*made, never])
    asked = busy["Rita"].request("e", other, purpose="Complaint", case="77")
    busy["Aldo"].approve(asked.id)
    busy["Rita"].reveal(asked.id)
    with pytest.raises(AccessError):
        busy["Rita"].reveal(asked.id)
    rows = care.reveals(busy.auditor)
    assert [(r["time"][:7], r["domain"], r["purpose"]) for r in rows] == [
        ("2025-10", "d", "adverse event"),
        ("2025-11", "d", "adverse event"),
        ("2025-11", "d", "adverse event"),
        ("2025-11", "e", "Complaint"),
        ("2025-11", "e", "Complaint"),
    ]
    shares = {"owner_share": busy.owner_share, "auditor_share": busy.auditor_share}
    subject = care.subject_of(busy.owner, busy.auditor, "d", "0012-aria", reason="asked for it", **shares)
    assert [r["subject"] == subject for r in rows] == [True, True, False, False, False]
    assert care.reveals(busy.auditor, of=subject) == rows[:2]
    assert care.resolve(busy.owner, busy.auditor, subject, reason="check", **shares) == "0012-aria"
    composed = care.subject_of(busy.owner, busy.auditor, "e", "\u00e9", reason="asked for it", **shares)
    assert [r["subject"] for r in rows][4] == composed
    assert care.reveals(busy.auditor, purpose=" complaint ") == rows[3:]
    assert care.reveals(busy.auditor, until="2025-10-31") == rows[:1]
    assert care.reveals(busy.auditor, since=rows[1]["time"][:10], of=rows[0]["actor"]) == rows[1:]
    assert care.reveals(busy.auditor, of="A-0000000000000000") == []
    counts = care.report(busy.auditor, by="subject", period="year")
    assert {(r["subject"], r["purpose"], r["period"], r["reveals"], r["actors"]) for r in counts if r["domain"] == "d"} == {
        (subject, "adverse event", "2025", 2, 1),
        (rows[2]["subject"], "adverse event", "2025", 1, 1),
    }


def test_reports_say_what_they_do_not_know(busy: House) -> None:
    shares = {"owner_share": busy.owner_share, "auditor_share": busy.auditor_share}
    with pytest.raises(UsageError, match="audit pseudonym"):
        care.reveals(busy.auditor, of="Rita")
    with pytest.raises(UsageError, match="2025-01-31"):
        care.reveals(busy.auditor, since="yesterday")
    with pytest.raises(UsageError, match="actor, subject"):
        care.report(busy.auditor, by="name")
    with pytest.raises(AccessError):
        care.reveals(busy["Rita"])
    with pytest.raises(AccessError, match="belong together"):
        care.subject_of(
            busy.owner, busy.auditor, "d", "0012-aria", reason="x", **{**shares, "owner_share": "share-owner-" + "0" * 52}
        )
    with pytest.raises(UsageError, match="two people"):
        care.subject_of(busy.owner, busy.owner, "d", "0012-aria", reason="x", **shares)
    assert [e["outcome"] for e in care.read_log(busy.auditor, actions=["resolve"])] == ["refused", "alarm"]


def test_broken_log_event_is_named(busy: House) -> None:
    database, mark = raw_database(busy), parameter_mark(busy)
    database.execute(f"UPDATE vault_audit SET sealed = {mark} WHERE seq = 2", (os.urandom(200),))
    database.close()
    with pytest.raises(TamperError, match="log event"):
        care.read_log(busy.auditor)


# --- parts of the check, one by one -------------------------------------------------------------------------------------------


def made_tx(**state: Any) -> Any:
    """A transaction of the vault "v" whose log has five events."""
    of_log = {"retired_seq": 2, "audit_seq": 5, "audit_head": "aa", "checkpoint_seq": 0, "checkpoints": 0}
    return SimpleNamespace(store=SimpleNamespace(vault_id="v", bound=b"bound"), state=SimpleNamespace(**of_log | state))


@pytest.fixture
def bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is signed is read as it is written."""
    monkeypatch.setattr(audit, "opened_body", lambda store, seq, body: body)
    monkeypatch.setattr(audit, "read_signed", lambda body, signature, keys: body)
    monkeypatch.setattr(audit, "read_kept", lambda given, keys: given)
    monkeypatch.setattr(audit, "blob", lambda value: value)


HASHES = {2: b"\x02", 3: b"\x03", 4: b"\x04", 5: b"\x05"}
SIGNED = {"seq": 4, "vault": "v", "head": "04", "root": "r4"}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, ""),
        ({"seq": 3}, "has no valid signature"),
        ({"vault": "another"}, "has no valid signature"),
        ({"head": "05"}, "is not the one that was signed"),
        ({"root": "other"}, "is not the one that was signed"),
    ],
)
def test_a_stored_checkpoint_is_of_its_place_and_vault_and_signs_head_and_tree(
    bodies: None, change: dict[str, Any], problem: str
) -> None:
    row = SimpleNamespace(seq=4, body={**SIGNED, **change}, signature=b"")
    tx, problems = made_tx(checkpoint_seq=4, checkpoints=1), list[str]()
    tx.connection = SimpleNamespace(execute=lambda _: SimpleNamespace(all=lambda: [row]))
    assert audit._check_checkpoints(tx, {}, dict(HASHES), {4: "r4"}, problems) == 1
    assert (len(problems), problem in "".join(problems)) == (bool(problem), True)


def test_a_checkpoint_where_the_log_begins_is_compared_and_one_before_it_is_taken(bodies: None) -> None:
    rows = [SimpleNamespace(seq=n, body={**SIGNED, "seq": n, "head": "99", "root": "r"}, signature=b"") for n in (1, 2)]
    tx, problems, hashes = made_tx(checkpoint_seq=2, checkpoints=2), list[str](), dict(HASHES)
    tx.connection = SimpleNamespace(execute=lambda _: SimpleNamespace(all=lambda: rows))
    audit._check_checkpoints(tx, {}, hashes, {}, problems)
    assert problems == ["the log at event 2 is not the one that was signed."]
    assert hashes[1] == b"\x99"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, ""),
        ({"vault": "another"}, "does not carry this vault's signature"),
        ({"seq": 6}, "it ends at event 5, but 6 was signed before"),
        ({"seq": 5}, "differs from the checkpoint kept outside"),
        ({"head": "05"}, "differs from the checkpoint kept outside"),
        ({"root": "other"}, "differs from the checkpoint kept outside"),
    ],
)
def test_a_checkpoint_kept_outside_is_compared_part_by_part(bodies: None, change: dict[str, Any], problem: str) -> None:
    problems: list[str] = []
    audit._check_outside(made_tx(), {}, {**SIGNED, **change}, HASHES, problems, {4: "r4", 5: "r4"})
    assert (len(problems), problem in "".join(problems)) == (bool(problem), True)


def test_the_newest_checkpoints_of_the_witnesses_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    monkeypatch.setattr(audit, "_WITNESSED", 2)
    monkeypatch.setattr(audit, "contradictions", lambda tx, given: compared.extend(b["seq"] for b in given) or ())
    audit.check_witnesses(made_tx(), [{"seq": n} for n in (7, 3, 9)] + [{"seq": "x"}, {}])
    assert compared == [7, 9]


def test_a_checkpoint_of_an_event_that_left_the_database_contradicts_nothing(
    bodies: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "signing_keys", lambda tx: [])
    tx = made_tx()
    tx.first = lambda query, seq: None
    assert [body["seq"] for body, _ in audit.contradictions(tx, [{**SIGNED, "seq": n} for n in (1, 2, 3)])] == [3]


@pytest.mark.parametrize(("acknowledged", "problems"), [(0, 1), (1, 1), (2, 0), (3, 0)])
def test_states_that_were_accepted_beyond_those_acknowledged_are_a_problem(
    monkeypatch: pytest.MonkeyPatch, acknowledged: int, problems: int
) -> None:
    done = {"action": "anchor", "outcome": "done", "time": "2026-01-02T03:04:05", "events": 7}
    log = [done, {**done, "outcome": "refused"}, {**done, "events_before": 10}]
    assert len(whole_check(monkeypatch, log, acknowledged).problems) == problems
    if problems:
        (said,) = whole_check(monkeypatch, log, acknowledged).problems
        assert said.startswith(f"2 times a state was accepted in place of the one this machine knew, {acknowledged} are")
        assert said.endswith("the last on 2026-01-02 at event 7, with 3 events lost.")


def whole_check(
    monkeypatch: pytest.MonkeyPatch, log: list[dict[str, Any]], acknowledged: int = 0, kept: Any = ()
) -> audit.Verdict:
    """The check of a log that is in order but for the events that were ``kept``."""
    monkeypatch.setattr(audit, "_check_chain", lambda tx, problems: {5: b"\xaa"})
    monkeypatch.setattr(audit, "_roots", lambda *_: {5: "ee"})
    monkeypatch.setattr(audit, "log_tree", lambda _: SimpleNamespace(root=b"\xee"))
    monkeypatch.setattr(audit, "_check_checkpoints", lambda *_: 3)
    monkeypatch.setattr(audit, "signing_keys", lambda _: [])
    monkeypatch.setattr(audit, "is_trial", lambda _: False)
    monkeypatch.setattr(audit, "events", lambda tx, actions: iter(log))
    monkeypatch.setattr(audit.checkpoints, "read", kept if callable(kept) else lambda _: iter(kept))
    tx = made_tx()
    tx.first, tx.all_of = (lambda *_: (0,)), (lambda *_: [])
    return audit.verify(tx, acknowledged=acknowledged)


def test_kept_events_that_were_altered_are_a_problem_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    def altered(_: Any) -> Any:
        raise TamperError("the kept events were altered.")

    assert whole_check(monkeypatch, [], kept=altered).problems == ("the kept events were altered.",)
    assert whole_check(monkeypatch, []).ok


def test_a_long_log_is_read_in_parts_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.protector.store.schema import audit as stored

    monkeypatch.setattr(audit, "_CHUNK", 2)
    with sa.create_engine("sqlite://").connect() as connection:
        stored.create(connection)
        for seq in range(1, 6):
            connection.execute(stored.insert().values(seq=seq, sealed=b"s", hash=b"h"))
        for first, expected in ((1, [1, 2, 3, 4, 5]), (2, [2, 3, 4, 5]), (6, [])):
            found = [seq for seq, _, _ in audit._stored_events(SimpleNamespace(connection=connection), first)]  # type: ignore[arg-type]
            assert found == expected


def test_an_event_is_sealed_for_its_place_and_its_vault() -> None:
    here, there = SimpleNamespace(bound=b"a"), SimpleNamespace(bound=b"b")
    assert len({audit._place(store, seq) for store in (here, there) for seq in (1, 2)}) == 4  # type: ignore[arg-type]


def test_the_newest_events_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    begins: list[int] = []
    monkeypatch.setattr(audit, "events", lambda tx, first: begins.append(first) or [])
    store = SimpleNamespace(read=lambda: contextlib.nullcontext(made_tx()))
    for last, first in ((5, 1), (4, 2), (1, 5), (1000, 1)):
        audit.recent(store, last)  # type: ignore[arg-type]
        assert begins.pop() == first


class Written:
    """A recorder of which every event is kept, at a time that can be set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[dict[str, Any]] = []
        self.now = 1000.0
        tx = SimpleNamespace(now=lambda clock: clock())
        store = SimpleNamespace(write=lambda: contextlib.nullcontext(tx))
        monkeypatch.setattr(audit, "append", lambda tx, time, events: self.events.extend(events))
        monkeypatch.setattr(audit, "actor_pseudonym", lambda store, actor: f"A-{len(actor)}")
        self.recorder = audit.Recorder(store, lambda: self.now)  # type: ignore[arg-type]


def test_a_name_is_never_written_and_what_is_empty_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Written(monkeypatch)
    written.recorder.record(None, 0.0, "anna", "find", domain="d", reason="", ticket=None, n=0)  # type: ignore[arg-type]
    written.recorder.record(None, 0.0, "", "login")  # type: ignore[arg-type]
    assert written.events == [
        {"actor": "A-4", "action": "find", "outcome": "done", "domain": "d", "n": 0},
        {"actor": "A-unknown", "action": "login", "outcome": "done"},
    ]


@pytest.mark.parametrize(("reason", "outcomes"), [("role", ["refused"]), ("honeytoken", ["refused", "alarm"])])
def test_some_refusals_are_alarms_and_all_are_raised_again(
    monkeypatch: pytest.MonkeyPatch, reason: str, outcomes: list[str]
) -> None:
    written = Written(monkeypatch)
    refusal = AccessError("no")
    refusal.reason = reason  # type: ignore[attr-defined]
    with pytest.raises(AccessError), written.recorder.refusals("anna", "reveal"):
        raise refusal
    assert [(e["outcome"], e["reason"]) for e in written.events] == [(outcome, reason) for outcome in outcomes]


def test_ten_wrong_tokens_a_minute_are_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Written(monkeypatch)
    for _ in range(12):
        written.recorder.failed_login()
    assert len(written.events) == 10
    written.now += 59.5
    written.recorder.failed_login()
    assert len(written.events) == 10, "those of the last minute count"
    written.now = 1060.0
    written.recorder.failed_login()
    assert len(written.events) == 11, "a minute later the first twelve are forgotten, one came since"
    for written.now in (2000.0, 1000.0):
        for _ in range(12):
            written.recorder.failed_login()
    assert len(written.events) == 31, "a clock that was set back forgets what seems to come later"
