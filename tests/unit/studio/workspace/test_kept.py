"""What a workspace keeps: nothing is lost, nothing is half there, everything can be deleted."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError, ShoalError, UsageError
from shoal.studio.workspace import Workspace
from shoal.studio.workspace.files import ending_of, safe_name

CSV = b"age,sex\n30,f\n31,m\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path / "studio") as opened:
        yield opened


def dropped(workspace: Workspace, content: bytes = CSV, name: str = "people.csv") -> Any:
    with workspace.files.incoming("0" * 16) as arrived:
        arrived.write_bytes(content)
        return workspace.tables.add(arrived, name)


def test_a_table_survives_and_its_files_are_private(workspace: Workspace) -> None:
    kept = dropped(workspace)
    workspace.tables.tell(kept.id, {"rows": 2})
    workspace.tables.tell(kept.id, {"k": 1})
    with Workspace(workspace.files.root) as again:
        same = again.tables.get(kept.id)
        assert (same.name, same.file, same.form, same.bytes) == ("people", "people.csv", ".csv", len(CSV))
        assert same.told == {"rows": 2, "k": 1}
        assert again.tables.path(same).read_bytes() == CSV
    assert stat.S_IMODE(workspace.files.root.stat().st_mode) == 0o700
    assert not list((workspace.files.root / "incoming").iterdir())


def test_what_is_no_table_leaves_nothing(workspace: Workspace) -> None:
    for content in (b"", b"  \n\n", b"%PDF-1.7 ...", b"\xd0\xcf\x11\xe0old", b"\x01\x02\x00\x03", b"<!DOCTYPE html><p>"):
        with pytest.raises(DataError):
            dropped(workspace, content)
    assert workspace.tables.all() == []
    assert not list((workspace.files.root / "tables").iterdir())
    assert not list((workspace.files.root / "incoming").iterdir())


@pytest.mark.parametrize(
    ("head", "name", "ending"),
    [
        (b"PAR1", "a.csv", ".parquet"),
        (b"$FL2@(#)", "a.txt", ".sav"),
        (b"$FL3@(#)", "a", ".zsav"),
        (b"<stata_dta>", "a", ".dta"),
        (b"r\x01\x01\x00", "a", ".dta"),
        (b"ARROW1\0\0", "a", ".arrow"),
        (b"PK\x03\x04" + b"\0" * 26 + b"[Content_Types].xml", "a.csv", ".xlsx"),
        (b"PK\x03\x04" + b"\0" * 26 + b"xl/workbook.xml", "a.zip", ".xlsx"),
        (b"PK\x03\x04" + b"\0" * 26 + b"people.csv", "a.xlsx", ".zip"),
        (b"\x1f\x8b\x08", "people.jsonl.gz", ".jsonl.gz"),
        (b"\x28\xb5\x2f\xfd", "people", ".csv.zst"),
        (b"\xff\xfea\0,\0b\0", "a.xlsx", ".csv"),
        (b"a\tb\n", "a.TSV", ".tsv"),
        (b'\xef\xbb\xbf{"a": 1}', "a.csv", ".jsonl"),
    ],
)
def test_the_kind_is_told_by_content(head: bytes, name: str, ending: str) -> None:
    assert ending_of(head, name) == ending


@settings(max_examples=60)
@given(st.text(max_size=300))
def test_no_name_leaves_its_folder(name: str) -> None:
    kept = safe_name(name, ".csv")
    assert Path(kept).name == kept
    assert kept not in (".csv", "..csv")
    assert not set(kept) & set('/\\<>"|?*:\n\r\t\0')
    assert len(kept) <= 104


@pytest.mark.parametrize("key", ["..", "../x", "", "0" * 15, "0" * 17, "G" * 16, "0" * 15 + "/"])
def test_only_ids_become_paths(workspace: Workspace, key: str) -> None:
    for ask in (workspace.files.of_table, workspace.files.of_release, workspace.files.lock_of):
        with pytest.raises(UsageError):
            ask(key)


def test_steps_are_taken_back_and_done_again(workspace: Workspace) -> None:
    kept = dropped(workspace)
    history = workspace.history
    assert history.now(kept.id) is None
    for n in range(3):
        history.add(kept.id, f"step {n}", f"policy: {n}")
    assert history.add(kept.id, "the same", "policy: 2").number == 2, "a step that changes nothing is none"
    assert history.add(kept.id, "a lock", "policy: 2", locked=["age"]).number == 3
    history.go(kept.id, 1)
    assert history.now(kept.id) == history.steps(kept.id)[1]
    assert [s.words for s in history.steps(kept.id)] == ["step 0", "step 1", "step 2", "a lock"], "what was taken back is there"
    history.go(kept.id, 3)
    assert history.now(kept.id).locked == ("age",)  # type: ignore[union-attr]
    history.go(kept.id, 0)
    history.add(kept.id, "another way", "policy: x")
    assert [s.words for s in history.steps(kept.id)] == ["step 0", "another way"]
    for number in (-1, 2):
        with pytest.raises(UsageError):
            history.go(kept.id, number)


def test_everything_can_be_deleted(workspace: Workspace) -> None:
    first, second = dropped(workspace), dropped(workspace, name="others.csv")
    for kept in (first, second):
        workspace.history.add(kept.id, "x", "p")
        workspace.jobs.add(kept.id, "plans", {})
        key, folder = workspace.releases.place()
        folder.mkdir()
        (folder / "data.csv").write_bytes(CSV)
        folder.with_name(f"{key}.private.json").write_text("{}")
        workspace.releases.add(key, kept.id, "r", {})
    workspace.delete_table(first.id)
    assert [t.id for t in workspace.tables.all()] == [second.id]
    assert [r.table_id for r in workspace.releases.all()] == [j.table_id for j in workspace.jobs.all()] == [second.id]
    assert workspace.history.steps(first.id) == []
    workspace.delete_everything()
    assert (workspace.tables.all(), workspace.jobs.all(), workspace.releases.all()) == ([], [], [])
    for part in ("tables", "releases", "incoming"):
        assert not list((workspace.files.root / part).iterdir())
    with pytest.raises(UsageError):
        workspace.tables.get(first.id)
    with pytest.raises(UsageError):
        workspace.history.add(first.id, "x", "p")


def test_what_a_killed_process_left_is_swept(workspace: Workspace) -> None:
    kept = dropped(workspace)
    key, folder = workspace.releases.place()
    folder.mkdir()
    folder.with_name(f"{key}.private.json").write_text("{}")
    (workspace.files.root / "incoming" / ("1" * 16)).write_bytes(b"half")
    (workspace.files.root / "tables" / ("2" * 16)).mkdir()
    (workspace.files.root / "releases" / "notes").mkdir()
    workspace.tables.sweep()
    workspace.releases.sweep()
    assert [p.name for p in (workspace.files.root / "tables").iterdir()] == [kept.id]
    assert [p.name for p in (workspace.files.root / "releases").iterdir()] == ["notes"], "only what has the name of a release"
    assert not list((workspace.files.root / "incoming").iterdir())


def test_a_table_that_cannot_be_recorded_leaves_no_file(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr(workspace.tables, "insert", full)
    with pytest.raises(OSError, match="no space"):
        dropped(workspace)
    assert not list((workspace.files.root / "tables").iterdir())


def test_findings_accepted_later_join_those_accepted_before(workspace: Workspace) -> None:
    kept = dropped(workspace)
    made = workspace.releases.add("a" * 16, kept.id, "r", {"k": 5})
    workspace.releases.accept(made.id, {"one": {"reason": "first"}})
    workspace.releases.accept(made.id, {"two": {"reason": "second"}})
    accepted = {"one": {"reason": "first"}, "two": {"reason": "second"}}
    assert workspace.releases.get(made.id).told == {"k": 5, "accepted": accepted}


def test_jobs_of_a_table_are_stopped_before_it_goes(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = dropped(workspace), dropped(workspace, name="others.csv")
    jobs = [workspace.jobs.add(kept.id, "plans", {}) for kept in (first, second)]
    states: list[str] = []
    delete = workspace.tables.delete
    monkeypatch.setattr(
        workspace.tables, "delete", lambda key: (states.extend(workspace.jobs.get(j.id).state for j in jobs), delete(key))
    )
    workspace.delete_table(first.id)
    assert states == ["cancelled", "queued"]


def test_deleting_everything_forgets_the_own_registry_and_keeps_sessions(workspace: Workspace) -> None:
    token = workspace.sessions.begin()
    own = workspace.files.root / "registry"
    own.mkdir()
    (own / "registry.db").write_bytes(b"x")
    workspace.delete_everything()
    assert not own.exists()
    assert workspace.sessions.holds(token)


def test_sessions_are_digests_that_end(workspace: Workspace) -> None:
    token = workspace.sessions.begin()
    assert workspace.sessions.holds(token)
    with Workspace(workspace.files.root) as again:
        assert again.sessions.holds(token), "a restart loses no session"
    assert not workspace.sessions.holds(token + "x")
    assert token.encode() not in (workspace.files.root / "studio.db").read_bytes()
    assert not workspace.sessions.holds(workspace.sessions.begin(hours=0)), "at its end it is over"
    workspace.sessions.end(token)
    assert not workspace.sessions.holds(token)


def test_a_workspace_of_another_version_is_refused(tmp_path: Path) -> None:
    import sqlite3

    Workspace(tmp_path / "studio").close()
    db = sqlite3.connect(tmp_path / "studio" / "studio.db")
    db.execute("UPDATE studio_version SET version = 2")
    db.commit()
    db.close()
    with pytest.raises(DataError, match="version 2"):
        Workspace(tmp_path / "studio")


def test_only_known_stores_are_opened(tmp_path: Path) -> None:
    for url in ("nonsense", "mysql://x/y"):
        with pytest.raises(ShoalError):
            Workspace(tmp_path / "studio", store=url)
