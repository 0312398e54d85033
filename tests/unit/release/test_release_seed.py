"""What a release publishes cannot undo its random changes: no seed, no key, nothing that stands for them."""

from __future__ import annotations

import json
import os
import re
import signal
import stat

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nursery
import shoal
from release_forging import plain_certificate, sign_anew
from shoal.cli import main
from shoal.errors import OutputError, PolicyError
from shoal.model.certificate.form import plain
from shoal.model.plan import Plan
from shoal.release.certificate.signing import file_entry
from shoal.release.make import private_file
from shoal.release.verification import verify
from shoal.techniques import apply

KEY = "a key of at least sixteen characters 1234567890"
STRONG = 31_415_926_535_897_932


def people(n=400):
    rng = np.random.default_rng(4)
    return pa.table(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "pay": np.round(rng.normal(3000, 400, n)).astype(np.int64),
            "score": rng.normal(0, 1, n),
            "visit": pa.array(rng.integers(18_000, 19_000, n), pa.int32()).cast(pa.date32()),
            "who": [f"p{i // 2}" for i in range(n)],
        }
    )


def asked(**change):
    """One method, unless a test asks for all: seeds and keys have no part in how a plan is found."""
    base = {
        "roles": {"quasi": ["age", "sex"], "sensitive": ["pay"], "insensitive": ["score", "visit"], "direct": ["who"]},
        "transform": {"pay": {"noise": {"scale": 400.0}}, "score": {"rank_swap": {"percent": 30}}},
        "require": {"k": 4},
        "allow": {"suppress": 0.1},
        "method": "lattice",
    }
    return {**base, **change}


def everything_in(folder):
    return "\n".join(p.read_bytes().decode("utf-8", "replace") for p in folder.rglob("*") if p.is_file())


def test_the_folder_does_not_hold_the_seed(tmp_path):
    release = shoal.anonymize(people(), asked(method="best"), format="csv")
    folder = release.write(tmp_path / "out")
    seed = release.plan.seed
    assert seed >= 10**15, "one that cannot be guessed was drawn"
    assert str(seed) not in everything_in(folder)
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["seed"] == 0
    assert plain_certificate(folder)["plan"]["seed"] == "not published"
    assert verify(folder).ok


def test_noise_cannot_be_reproduced_from_the_folder_but_from_the_private_file(tmp_path):
    """An attacker who has the original column and tries every number in the folder does not get the published noise."""
    table = people()
    digits = pa.array(np.array(table["pay"]) + np.random.default_rng(5).random(len(table)).round(6))
    table = table.set_column(2, "pay", digits)
    noise = {"pay": {"noise": {"scale": 50.0, "decimals": 6}}}
    release = shoal.anonymize(table, asked(transform=noise), format="parquet")
    folder = release.write(tmp_path / "out")
    noisy = np.sort(np.array(pq.read_table(folder / "data.parquet")["pay"], dtype=float))
    assert not np.isin(noisy, np.array(table["pay"], dtype=float)).any(), "the noise is there"
    plan = Plan.from_json((folder / "plan.json").read_text())
    step = plan.for_column("pay")[0]

    def hits(seed):
        """Share of the published values that the step gives on the original under a seed, in the rows' canonical order."""
        shoal.open(table).recode(
            Plan(plan.steps, plan.suppression, seed), tmp_path / f"{seed}.parquet", kept=release.decision.kept
        )
        again = np.array(pq.read_table(tmp_path / f"{seed}.parquet")["pay"], dtype=float)
        os.unlink(tmp_path / f"{seed}.parquet")
        return float(np.isin(again, noisy).mean())

    numbers = {int(w) for w in re.findall(r"\d{1,19}", everything_in_texts(folder))}
    tried = sorted({n if n >= 10**15 else n + 10**15 for n in numbers})[::40][:12] + [10**15]  # a shorter one is never used
    assert step.kind == "noise"
    assert max(hits(seed) for seed in tried) < 0.01
    secret = private_file.read(release.private_file)
    assert hits(secret.seed) == 1.0, "with the seed everything comes back: this is what must not be published"


def everything_in_texts(folder):
    return "\n".join((folder / n).read_text() for n in ("plan.json", "certificate.json", "report.html"))


def test_the_private_file_is_beside_the_folder_and_only_its_owner_reads_it(tmp_path):
    release = shoal.anonymize(people(), asked())
    folder = release.write(tmp_path / "out")
    assert release.private_file == tmp_path / "out.private.json"
    assert stat.S_IMODE(release.private_file.stat().st_mode) == 0o600
    assert private_file.read(release.private_file).seed == release.plan.seed
    assert verify(folder, private=release.private_file).ok
    other = shoal.anonymize(people(), asked()).write(tmp_path / "other")
    assert not verify(other, private=release.private_file).ok, "another release's seed"
    with pytest.raises(SystemExit) as end:
        main(["verify", str(folder), "--private", str(release.private_file)])
    assert not end.value.code
    assert str(release.plan.seed) not in repr(private_file.read(release.private_file))


def test_nothing_is_kept_where_nothing_is_random(tmp_path):
    plain = asked(transform={"pay": {"round": {"base": 100}}})
    release = shoal.anonymize(people(), {**plain, "seed": 7})
    folder = release.write(tmp_path / "out")
    assert release.private_file is None
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert plain_certificate(folder)["plan"]["seed_commitment"] is None
    assert verify(folder).ok


def test_a_seed_that_can_be_guessed_is_refused():
    with pytest.raises(PolicyError, match="be guessed"):
        shoal.anonymize(people(), asked(seed=12345))


def test_a_stated_seed_repeats_the_run(tmp_path):
    first, second = (shoal.anonymize(people(), asked(seed=STRONG)).write(tmp_path / name) / "data.csv" for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()
    third = shoal.anonymize(people(), asked()).write(tmp_path / "three") / "data.csv"
    assert third.read_bytes() != first.read_bytes()


def test_a_private_file_is_never_written_over(tmp_path):
    (tmp_path / "out.private.json").write_text("mine")
    with pytest.raises(OutputError, match="whose folder is gone"):
        shoal.anonymize(people(), asked()).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "out.private.json").read_text() == "mine"


KILLED = """
import os, signal, sys
import pyarrow as pa
import shoal
from shoal.disk import atomic as folder
from shoal.release.make import private_file

def killed(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

setattr({"publish": folder, "settle": private_file}[sys.argv[2]], sys.argv[2], killed)
table = pa.table({"sex": ["f", "m"] * 20, "pay": [7, 8, 9, 7] * 10})
noise = {"pay": {"noise": {"scale": 5.0}}}
shoal.anonymize(table, quasi=["sex"], insensitive=["pay"], k=4, transform=noise).write(sys.argv[1])
"""


@pytest.mark.parametrize("moment", ["publish", "settle"])
def test_kill_just_before_and_just_after_the_folder_gets_its_name(tmp_path, moment):
    """Before: neither folder nor seed is left after the next run. After: the next run gives the seed its name."""
    ended, _, said = nursery.run(KILLED, tmp_path, os.environ, arguments=[str(tmp_path / "out"), moment])
    assert ended == -signal.SIGKILL, said
    assert not (tmp_path / "out.private.json").exists()
    assert (tmp_path / "out").exists() == (moment == "settle")
    assert [p.name[:12] for p in tmp_path.glob(".shoal-seed*")] == [".shoal-seed-"]
    shoal.anonymize(people(), asked()).write(tmp_path / "next")
    assert not list(tmp_path.glob(".shoal*"))
    assert (tmp_path / "out.private.json").exists() == (moment == "settle")
    if moment == "settle":
        assert stat.S_IMODE((tmp_path / "out.private.json").stat().st_mode) == 0o600
        assert verify(tmp_path / "out", private=tmp_path / "out.private.json").ok


def test_a_seed_whose_release_was_moved_is_not_removed(tmp_path):
    left = tmp_path / f".shoal-seed-{2**22 + 1}-0123456789abcdef"
    private_file.write(private_file.Kept(STRONG, "salt"), left)
    shoal.anonymize(people(), asked()).write(tmp_path / "out")
    assert private_file.read(left).seed == STRONG
    (tmp_path / "out.private.json").unlink()
    private_file.rescue(tmp_path)
    assert private_file.read(left).seed == STRONG, "nor is it given to another release"
    assert not (tmp_path / "out.private.json").exists()


def test_a_folder_that_cannot_get_its_name_leaves_no_seed(tmp_path, monkeypatch):
    def full(*args):
        raise OSError

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(OutputError, match="put in place"):
        shoal.anonymize(people(), asked()).write(tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_columns_may_have_their_role_from_the_table():
    table = shoal.open(people(), quasi=["age", "sex"], insensitive=["pay", "score", "visit"], direct=["who"])
    step = {"transform": {"pay": {"round": {"base": 100}}}, "require": {"k": 4}, "allow": {"suppress": 0.1}}
    assert shoal.anonymize(table, step).k >= 4
    with pytest.raises(PolicyError, match="not sensitive or insensitive"):
        shoal.anonymize(table, {**step, "transform": {"age": {"round": {"base": 5}}}})


def test_keys_of_pseudonyms_and_shifted_dates_are_not_in_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", KEY)
    roles = {"quasi": ["age", "sex"], "insensitive": ["pay", "score", "visit"], "direct": {"who": {"mask": "pseudonym"}}}
    policy = asked(roles=roles, transform={"visit": {"date_shift": {"unit": "who", "days": 30}}})
    policy["allow"] = {**policy.get("allow", {}), "identifying": {"visit": "generated dates for a test"}}
    release = shoal.anonymize(people(), policy)
    folder = release.write(tmp_path / "out")
    text = everything_in(folder)
    assert KEY not in text
    assert KEY.encode().hex() not in text
    assert verify(folder).ok
    monkeypatch.setenv("SHOAL_KEY", KEY[::-1])
    again = shoal.anonymize(people(), policy).write(tmp_path / "again")
    one, two = ({line.rsplit(",", 1)[1] for line in (f / "data.csv").read_text().splitlines()[1:]} for f in (folder, again))
    assert not one & two, "without the key the pseudonyms do not come back"
    del release


def test_a_forger_who_puts_a_seed_into_the_plan_is_found(tmp_path):
    folder = shoal.anonymize(people(), asked()).write(tmp_path / "out")

    plan = Plan.from_json((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(Plan(plan.steps, plan.suppression, 99, plan.shuffle, plan.notes).to_json())
    made = plain_certificate(folder)
    made.pop("signature"), made.pop("key")
    made["files"] = [plain(file_entry(folder / f["name"])) for f in made["files"]]
    made["plan"]["sha256"] = next(f["sha256"] for f in made["files"] if f["name"] == "plan.json")
    sign_anew(folder, made)
    assert [c.name for c in verify(folder).failed] == ["plan", "report"]


WRONG = {
    "no such step": ({"pay": {"noisy": {}}}, "not a transformation"),
    "no such field": ({"pay": {"noise": {"scales": 1}}}, "unknown field"),
    "wrong type": ({"pay": {"noise": {"scale": "much"}}}, "wrong type|must be"),
    "a quasi-identifier": ({"age": {"round": {"base": 5}}}, "not sensitive or insensitive"),
    "a direct identifier": ({"who": {"fake": {}}}, "not sensitive or insensitive"),
    "two steps on one column": (
        {"pay": {"permute": {"others": ["score"]}}, "score": {"round": {"base": 1}}},
        "change the same column",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_transformation_that_makes_no_sense_is_refused(name):
    transform, why = WRONG[name]
    with pytest.raises(PolicyError, match=why):
        shoal.Policy.of(asked(transform=transform))


def test_diversity_of_changed_values_is_not_claimed():
    with pytest.raises(PolicyError, match="diversity or closeness is required"):
        shoal.Policy.of(asked(require={"k": 4, "diversity": {"pay": {"distinct": 2}}}))


def test_the_policy_goes_to_yaml_and_back():
    policy = shoal.Policy.of(asked())
    again = shoal.Policy.parse(policy.to_yaml())
    assert again.transform == policy.transform


def test_what_was_done_is_in_the_certificate(tmp_path):
    release = shoal.anonymize(people(), asked())
    made = release.certificate.to_json()
    treatment = {c["name"]: c["treatment"] for c in made["columns"]}
    assert (treatment["pay"], treatment["score"], treatment["visit"]) == ("noise", "rank_swap", "retained")
    assert made["plan"]["truthful"] is False
    step = release.plan.for_column("pay")[0]
    assert apply(step, people(), seed=STRONG).changed["pay"] > 0.97
