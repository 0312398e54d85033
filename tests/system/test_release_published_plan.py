"""The published plan holds no value that only few published people have; its owner can use the whole plan again."""

from __future__ import annotations

import json
import pickle
import stat

import pyarrow as pa
import pytest

import shoal
from shoal.cli import main
from shoal.errors import VerificationError
from shoal.release.make import private_file
from shoal.release.verification import verify

JOBS = ["nurse"] * 40 + ["cook"] * 40 + ["clerk"] * 5 + ["miner"] * 4 + ["beekeeper"]
LEVELS = "nurse;care;*\ncook;food;*\nclerk;food;*\nminer;food;*\nbeekeeper;bees;*\n"


def release(tmp_path, jobs=JOBS, name="out", **more):
    (tmp_path / "job.csv").write_text(LEVELS)
    table = pa.table({"job": jobs, "sex": ["f"] * len(jobs)})
    policy = tmp_path / "p.yml"
    rule = "{hierarchy: job.csv, min_level: 1, max_level: 1}"
    policy.write_text(f"roles: {{quasi: {{job: {rule}, sex: {{max_level: 0}}}}}}\nrequire: {{k: 5}}\nallow: {{suppress: 0.1}}\n")
    made = shoal.anonymize(table, policy, **more)
    return made, made.write(tmp_path / name)


def step_of(folder):
    return next(s for s in json.loads((folder / "plan.json").read_text())["steps"] if s["column"] == "job")


def test_values_of_few_people_are_not_in_the_plan(tmp_path):
    """One suppressed beekeeper; four miners and five clerks published among others, under a small-cell rule of five."""
    _, folder = release(tmp_path)
    step = step_of(folder)
    assert sorted(step["keys"]) == ["clerk", "cook", "nurse"]
    assert sorted(step["labels"]) == ["care", "food"]
    everything = "".join(p.read_text() for p in folder.iterdir())
    for rare in ("beekeeper", "bees", "miner"):
        assert rare not in everything, rare
    assert verify(folder).ok


def test_the_owner_keeps_the_whole_plan_and_uses_it_again(tmp_path):
    made, folder = release(tmp_path)
    beside = tmp_path / "out.private.json"
    assert made.private_file == beside
    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert verify(folder, private=beside).ok
    assert private_file.read(beside).seed is None
    assert "beekeeper" not in repr(private_file.read(beside))
    _, again = release(tmp_path, jobs=[*JOBS, *["beekeeper"] * 9], name="again", plan=beside)
    assert "bees" in (again / "data.csv").read_text(), "the whole plan knows the group that is large enough now"
    _, coarse = release(tmp_path, jobs=[*JOBS, *["beekeeper"] * 9], name="coarse", plan=folder / "plan.json")
    assert "bees" not in (coarse / "data.csv").read_text()
    miners, _ = release(tmp_path, jobs=["nurse"] * 9 + ["cook"] * 9 + ["miner"], name="miners")
    assert not verify(folder, private=miners.private_file).ok, "the plan of another release"


def test_the_command_says_what_the_private_file_holds(tmp_path, capsys):
    release(tmp_path)
    table = tmp_path / "t.csv"
    table.write_text("job,sex\n" + "".join(f"{job},f\n" for job in JOBS))
    with pytest.raises(SystemExit) as end:
        main(["anonymize", str(table), "--policy", str(tmp_path / "p.yml"), "--out", str(tmp_path / "cli")])
    said = capsys.readouterr().out
    assert not end.value.code
    assert "The whole plan, with rare values" in said
    assert "seed of the random changes" not in said


def test_a_pickled_release_holds_the_published_plan_only(tmp_path):
    made, _ = release(tmp_path)
    assert b"beekeeper" not in pickle.dumps(made)


def test_nothing_is_kept_apart_where_nothing_is_left_out(tmp_path):
    made, folder = release(tmp_path, jobs=["nurse"] * 20 + ["cook"] * 20 + ["clerk"] * 5 + ["miner"] * 5 + ["beekeeper"] * 5)
    assert made.private_file is None
    assert len(step_of(folder)["keys"]) == 5


def test_an_earlier_release_is_compared_by_its_whole_plan_or_not_at_all(tmp_path):
    _, folder = release(tmp_path)
    release(tmp_path, name="next", previous=[folder])
    (tmp_path / "out.private.json").unlink()
    with pytest.raises(VerificationError, match="leaves rare values of 'job' out"):
        release(tmp_path, name="third", previous=[folder])
