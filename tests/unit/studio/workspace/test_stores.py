"""The same workspace in SQLite and in PostgreSQL: what is kept, claimed, taken back and deleted."""

from __future__ import annotations

from collections.abc import Callable

from shoal.studio.workspace import Workspace


def test_a_workspace_is_the_same_in_either_store(either: Callable[[], Workspace]) -> None:
    with either() as first:
        with first.files.incoming("0" * 16) as arrived:
            arrived.write_bytes(b"age,sex\n30,f\n")
            kept = first.tables.add(arrived, "people.csv")
        first.tables.tell(kept.id, {"rows": 1})
        for n in range(3):
            first.history.add(kept.id, f"step {n}", f"p: {n}", locked=["age"])
        first.history.go(kept.id, 1)
        jobs = [first.jobs.add(kept.id, "plans", {"n": n}) for n in range(2)]
        assert first.jobs.add(kept.id, "plans", {"n": 1}).id == jobs[1].id
        token = first.sessions.begin()
        key, folder = first.releases.place()
        folder.mkdir()
        first.releases.add(key, kept.id, "people-release-1", {"k": 5})
    with either() as again, either() as other:
        now = again.history.now(kept.id)
        assert now is not None
        assert (now.words, now.locked, again.tables.get(kept.id).told) == ("step 1", ("age",), {"rows": 1})
        assert again.sessions.holds(token)
        claimed = [one.jobs.claim() for one in (again, other, again)]
        assert [job.id for job in claimed if job is not None] == [job.id for job in jobs], "each once, in order"
        assert claimed[2] is None
        assert again.jobs.show(jobs[0].id, 0.5, "half", {"best": [1]})
        assert other.jobs.get(jobs[0].id).found == {"best": [1]}
        assert other.jobs.end(jobs[0].id, "done", result={"x": 1})
        assert not again.jobs.cancel(jobs[0].id)
        assert [m.name for m in other.releases.of_table(kept.id)] == ["people-release-1"]
        again.delete_everything()
        assert (other.tables.all(), other.jobs.all(), other.releases.all(), other.history.steps(kept.id)) == ([], [], [], [])
