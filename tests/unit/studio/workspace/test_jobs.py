"""Jobs: claimed once, ended once, honest after a crash; done by real worker processes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pytest

import shoal
from shoal.studio.workspace import Workspace, edits, jobs
from shoal.studio.workspace.jobs import Runner, Worker
from shoal.studio.workspace.work import Telling, line_of, release, verdict_of


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path / "studio") as opened:
        yield opened


def people(workspace: Workspace, rows: int = 600) -> Any:
    table = shoal.datasets.people(rows, seed=3).select(["sex", "education", "occupation", "diagnosis"])
    with workspace.files.incoming("0" * 16) as arrived:
        pa_csv.write_csv(table, arrived)
        return workspace.tables.add(arrived, "people.csv")


def policy(workspace: Workspace, kept: Any) -> str:
    with shoal.open(workspace.tables.path(kept)) as table:
        return edits.first_policy(shoal.inspect(table))


def until(met: Callable[[], Any], seconds: float = 600) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := met():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come")


def test_a_job_tells_the_verdict_of_each_attack_once_it_is_known(workspace: Workspace) -> None:
    kept = people(workspace, 50)
    job = workspace.jobs.add(kept.id, "release", {})
    assert workspace.jobs.claim() is not None
    tell = Telling(workspace, job, line_of=line_of, verdict_of=verdict_of)
    told = []
    for doing in (
        "attacking",
        "attacking: homogeneity",
        "attacking: homogeneity: blood: type: holds",
        "attacking: leftovers",
        "attacking: leftovers: broken",
        "certifying",
    ):
        tell(0.5, doing)
        told.append(workspace.jobs.get(job.id).found["verdicts"])
    first = {"homogeneity: blood: type": "holds"}
    assert told == [{}, {}, first, first, both := {**first, "leftovers": "broken"}, both]
    assert list(tell.past) == ["Attacks", "homogeneity", "leftovers"]


def test_a_job_is_claimed_once_and_ends_once(workspace: Workspace) -> None:
    kept = people(workspace, 50)
    made = [workspace.jobs.add(kept.id, "plans", {"n": n}) for n in range(4)]
    assert workspace.jobs.add(kept.id, "plans", {"n": 0}).id == made[0].id, "the same is not asked twice"
    got: list[str] = []

    def claim() -> None:
        while (job := workspace.jobs.claim()) is not None:
            got.append(job.id)

    threads = [threading.Thread(target=claim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(job.id for job in made)
    one = made[0].id
    assert workspace.jobs.show(one, 0.5, "half", {"best": 1})
    assert (workspace.jobs.get(one).share, workspace.jobs.get(one).found) == (0.5, {"best": 1})
    assert workspace.jobs.cancel(one)
    assert not workspace.jobs.end(one, "done", result={"late": 1}), "the first end counts"
    assert not workspace.jobs.show(one, 0.9, "still")
    assert (workspace.jobs.get(one).state, workspace.jobs.get(one).found) == ("cancelled", {"best": 1})
    assert workspace.jobs.add(kept.id, "plans", {"n": 0}).id != one, "what has ended can be asked again"


def test_lost_is_what_nobody_works_on(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = people(workspace, 50)
    held, young, old, waiting = (workspace.jobs.add(kept.id, "plans", {"n": n}) for n in range(4))
    for _ in range(3):
        workspace.jobs.claim()
    with workspace.jobs.hold(held.id):
        assert workspace.jobs.sweep() == [], "all were just begun"
        monkeypatch.setattr(jobs, "YOUNG", -1.0)
        assert [job.id for job in workspace.jobs.sweep([young.id])] == [old.id], "a worker that still loads is not lost"
        assert [job.id for job in workspace.jobs.sweep()] == [young.id]
        assert workspace.jobs.get(held.id).state == "running"
    assert workspace.jobs.get(old.id).message == jobs.LOST
    assert workspace.jobs.get(waiting.id).state == "queued", "what waits goes on waiting"


def test_plans_and_a_release_by_workers(workspace: Workspace) -> None:
    kept = people(workspace)
    text = policy(workspace, kept)
    runner = Runner(workspace, workers=1)
    plans = workspace.jobs.add(kept.id, "plans", {"policy": text, "locked": []})
    runner.start()
    try:
        done = until(lambda: None if (job := workspace.jobs.get(plans.id)).open else job)
        assert done.state == "done", done.message
        names = [p["name"] for p in done.found["plans"]]
        assert "most detail" in names
        best = next(p for p in done.found["plans"] if p["name"] == "most detail")
        fixed = edits.with_levels(text, best["levels"], done.found["hierarchies"])
        asked = workspace.jobs.add(kept.id, "release", {"policy": fixed, "format": "csv"})
        runner.wake()
        job = until(lambda: None if (job := workspace.jobs.get(asked.id)).open else job)
        assert job.state == "done", job.message
        made = workspace.releases.get(job.found["release"])
        assert shoal.verify(workspace.releases.folder(made)).ok
        assert made.told["k"] >= 5
        assert made.told["suppressed"] == best["suppressed"], "what the plan said is what was written"
        mine = workspace.files.root.parent / "mine"
        file = mine.with_name("policy.yml")
        file.write_text(fixed, encoding="utf-8")
        shoal.anonymize(workspace.tables.path(kept), file).write(mine)
        for name in ("data.csv", "plan.json"):
            assert (mine / name).read_bytes() == (workspace.releases.folder(made) / name).read_bytes()
        broken = workspace.jobs.add(kept.id, "release", {"policy": edits.with_k(text, 100_000), "format": "csv"})
        runner.wake()
        job = until(lambda: None if (job := workspace.jobs.get(broken.id)).open else job)
        assert job.state == "failed"
        assert job.message
        assert len(workspace.releases.all()) == 1, "a release that failed leaves nothing"
        assert sum(p.is_dir() for p in (workspace.files.root / "releases").iterdir()) == 1
    finally:
        runner.close()


def test_a_release_is_compared_with_the_earlier_ones_of_the_ledger(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is remembered, unless the user says no; the second names it as the studio does."""
    monkeypatch.setenv("XDG_STATE_HOME", str(workspace.files.root / "state"))
    kept = people(workspace, 200)
    text = policy(workspace, kept)
    made = []
    for ledger in ({"ledger": False}, {"ledger": True}, {}):
        job = workspace.jobs.add(kept.id, "release", {"policy": text, "format": "csv", **ledger})
        made.append(workspace.releases.get(release(workspace, job)["release"]))
    assert "ledger" not in made[0].told
    assert made[1].told["ledger"]["verdict"] == "not run", "the one before was not remembered"
    assert made[2].told["ledger"]["verdict"] == "holds"
    assert made[2].told["ledger"]["sentence"].startswith(f"Together with {made[1].name} (")
    for file in workspace.releases.folder(made[2]).iterdir():
        assert b"ledger" not in file.read_bytes()


def test_a_worker_that_is_killed_or_cancelled(workspace: Workspace) -> None:
    kept = people(workspace)
    text = policy(workspace, kept)
    runner = Runner(workspace, workers=1)
    runner.start()
    try:
        for stop, state in ((runner.cancel, "cancelled"), (None, "lost")):
            for n in range(50):  # another one where it ended before it could be stopped
                job = workspace.jobs.add(kept.id, "plans", {"policy": text, "locked": [], "n": n})
                runner.wake()
                until(lambda job=job: workspace.jobs.get(job.id).state != "queued")
                if stop is not None:
                    stop(job.id)
                else:
                    process = until(lambda: p if (p := runner._workers[0]._process) is not None and p.poll() is None else None)
                    process.kill()
                ended = until(lambda job=job: None if (now := workspace.jobs.get(job.id)).open else now)
                if ended.state != "done":
                    break
            assert ended.state == state
        again = workspace.jobs.add(kept.id, "plans", {"policy": text, "locked": []})
        runner.wake()
        assert until(lambda: None if (job := workspace.jobs.get(again.id)).open else job).state == "done", "others go on"
    finally:
        runner.close()


def test_a_worker_whose_output_closes_before_it_is_gone(workspace: Workspace) -> None:
    """Between the two its job belonged to nobody: it was said to run until somebody swept."""
    job = workspace.jobs.add(people(workspace, 50).id, "plans", {"n": 0})
    workspace.jobs.claim()
    worker = Worker(workspace)
    code = "import os, sys, time; sys.stdin.readline(); os.close(1); time.sleep(600)"
    pipe = subprocess.PIPE
    worker._process = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True)
    worker.do(job.id)
    assert workspace.jobs.get(job.id).state == "lost"
    worker.stop()
