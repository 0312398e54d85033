"""V8: kill -9 at each write step loses and doubles nothing; sixteen writers with the same ids make one pseudonym each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from protector_support import House
from shoal.errors import AccessError
from shoal.protector import care
from shoal.protector.people.changes import SecondPersonNeeded

ROOT = Path(__file__).resolve().parents[3]
NURSERY = """
import json, os, signal, sys
from shoal.protector import Vault, care, keys
from shoal.protector.care import rotation
from shoal.protector.log import audit, checkpoints
from shoal.protector.pseudonyms import references
from shoal.protector.store import database, entries, index
import pandas, psycopg, pyarrow.compute, sqlalchemy  # loaded once, so that children start at once

def work(at, nth, todo, rest):
    left = [nth]

    def step(name):
        if name == at:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    for module in (database, audit, checkpoints, entries, index, references, rotation):
        module.step = step
    vault = Vault.open(os.environ["P"], key=keys.from_env("K"), anchor=os.environ["A"])
    acting = vault.login(os.environ["T"])
    if todo == "pseudonymize":
        starts = list(range(rest[0], rest[1], 300))
        for start in starts if rest[2] == "up" else reversed(starts):
            ids = [f"{i:05d}" for i in range(start, start + 300)]
            for i, p in zip(ids, acting.pseudonymize("d", ids)):
                print(i, p)
            sys.stdout.flush()
    elif todo == "reveal":
        print(list(acting.reveal(rest[0]).identities.values()), flush=True)
    elif todo == "rotate":
        rotation._CHUNK = 500
        care.rotate_domain(acting, "d")
    vault.close()
    print("end", flush=True)

for line in sys.stdin:
    jobs = json.loads(line)
    pids = []
    for job in jobs:
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                os.environ.update(job["env"])
                out = os.open(job["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                os.dup2(out, 1)
                os.dup2(out, 2)
                work(job["at"], job["nth"], job["todo"], job["rest"])
                code = 0
            except BaseException:
                import traceback
                traceback.print_exc(file=sys.stderr)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        pids.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    print(json.dumps(codes), flush=True)
"""


@pytest.fixture(scope="module")
def nursery() -> Iterator[Any]:
    """A process that has loaded everything and forks children on demand; each is a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)


@dataclass
class Shared:
    """A vault whose key children can have, with a real clock."""

    house: House
    key: str
    nursery: Any

    def run(self, *jobs: tuple[str, str, int, str, list[Any]]) -> list[tuple[int, list[str]]]:
        """Run children at the same time; exit code and lines of each."""
        told = []
        for number, (token, at, nth, todo, rest) in enumerate(jobs):
            env = {"K": self.key, "T": token, "P": self.house.place, "A": str(self.house.folder / "anchor")}
            out = str(self.house.folder / f"child{number}")
            told.append({"env": env, "out": out, "at": at, "nth": nth, "todo": todo, "rest": rest})
        self.nursery.stdin.write(json.dumps(told) + "\n")
        self.nursery.stdin.flush()
        codes = json.loads(self.nursery.stdout.readline())
        lines = [Path(job["out"]).read_text().splitlines() for job in told]
        for code, text in zip(codes, lines, strict=True):
            assert code in (0, -signal.SIGKILL), text
        return list(zip(codes, lines, strict=True))


@pytest.fixture
def shared(house: House, nursery: Any, monkeypatch: pytest.MonkeyPatch) -> Shared:
    from shoal.protector import keys

    key = keys.generate()
    monkeypatch.setenv("SHOAL_TEST_CHILD_KEY", key)
    house.key = keys.from_env("SHOAL_TEST_CHILD_KEY")
    house.catch_up()
    house.agree(care.rotate_master, house.key)
    house.owner.create_domain("d")
    return Shared(house, key, nursery)


def told(lines: list[str]) -> dict[str, str]:
    """Identity to pseudonym, as a child told it."""
    pairs = [line.split() for line in lines if line != "end" and not line.startswith("vault alarm")]
    return {p[0]: p[1] for p in pairs}


def require_whole(house: House, told: dict[str, str], n: int) -> None:
    """Everything told is still true, nobody has two pseudonyms, nothing is altered."""
    vault = house.reopen()
    session = vault.login(house.tokens["Olga"])
    ids = [f"{i:05d}" for i in range(n)]
    made = session.pseudonymize("d", ids)
    assert len(set(made)) == n
    assert session.pseudonymize("d", ids) == made
    for identity, pseudonym in told.items():
        assert made[int(identity)] == pseudonym
    with vault.store.read() as tx:
        opened = vault.keyring.opened(tx, vault.keyring.domain(tx, "d"))
        assert [p.decode() for p in opened.resolve(tx, made) if p] == ids
        assert tx.rows(opened.domain.number).used == n
    vault.close()
    assert care.verify(house.owner).ok


@pytest.mark.slow
@pytest.mark.parametrize(
    "at", ["entries", "decoys", "index", "audit", "before-state", "before-commit", "after-commit", "after-anchor"]
)
def test_kill_at_each_step(shared: Shared, at: str) -> None:
    """A writer is killed at a step while another one works on the same ids from the other end."""
    olga = shared.house.tokens["Olga"]
    nth = 1 if at in ("entries", "decoys", "index") else 2
    (code, lines), (other, whole) = shared.run(
        (olga, at, nth, "pseudonymize", [0, 1200, "up"]), (olga, "never", 1, "pseudonymize", [300, 1200, "down"])
    )
    assert code == -signal.SIGKILL
    assert other == 0
    assert whole[-1] == "end"
    assert len(told(whole)) == 900
    both = {**told(lines), **told(whole)}
    assert told(lines).items() <= both.items()
    require_whole(shared.house, both, 1200)


@pytest.mark.slow
@pytest.mark.parametrize("at", ["objects", "audit", "checkpoint", "before-state", "before-commit"])
def test_kill_before_delivery_uses_nothing_up(shared: Shared, at: str) -> None:
    house = shared.house
    pseudonym = house.operator.pseudonymize("d", ["00000"])[0]
    asked = house.request("d", [pseudonym])
    house["Aldo"].approve(asked.id)
    ((code, lines),) = shared.run((house.tokens["Rita"], at, 1, "reveal", [asked.id]))
    assert (code, lines) == (-signal.SIGKILL, [])
    assert dict(house["Rita"].reveal(asked.id).identities) == {pseudonym: "00000"}
    require_whole(house, {"00000": pseudonym}, 1)


@pytest.mark.slow
def test_kill_after_delivery_delivers_at_most_once(shared: Shared) -> None:
    house = shared.house
    pseudonym = house.operator.pseudonymize("d", ["00000"])[0]
    asked = house.request("d", [pseudonym])
    house["Aldo"].approve(asked.id)
    ((code, lines),) = shared.run((house.tokens["Rita"], "after-commit", 1, "reveal", [asked.id]))
    assert (code, lines) == (-signal.SIGKILL, [])
    with pytest.raises(AccessError, match="delivered before"):
        house["Rita"].reveal(asked.id)
    assert [e["outcome"] for e in care.read_log(house.auditor, actions=["reveal"])] == ["done", "refused"]


@pytest.mark.slow
@pytest.mark.parametrize(("at", "nth"), [("entries", 1), ("before-commit", 2), ("after-commit", 2), ("after-commit", 3)])
def test_kill_during_rotation(shared: Shared, at: str, nth: int) -> None:
    house = shared.house
    made = house.operator.pseudonymize("d", [f"{i:05d}" for i in range(1100)])
    with pytest.raises(SecondPersonNeeded) as needed:
        care.rotate_domain(house.owner, "d")
    house.auditor.confirm(needed.value.change.id)
    token = house.token("Otto")
    ((code, _),) = shared.run((token, at, nth, "rotate", []))
    assert code == -signal.SIGKILL
    assert care.verify(house.owner).ok
    house.agree(care.rotate_domain, "d")
    require_whole(house, {f"{i:05d}": p for i, p in enumerate(made)}, 1100)


@pytest.mark.slow
def test_sixteen_writers_make_one_pseudonym_each(shared: Shared) -> None:
    """Sixteen processes, the same 900 ids at the same time, half of them from the other end."""
    olga = shared.house.tokens["Olga"]
    done = shared.run(*[(olga, "never", 1, "pseudonymize", [0, 900, "up" if k % 2 else "down"]) for k in range(16)])
    answers = [told(lines) for _, lines in done]
    assert [code for code, _ in done] == [0] * 16
    assert len(answers[0]) == 900
    assert all(a == answers[0] for a in answers)
    require_whole(shared.house, answers[0], 900)


def test_sixteen_threads_make_one_pseudonym_each(house: House) -> None:
    from concurrent.futures import ThreadPoolExecutor

    house.owner.create_domain("d")
    session = house.operator
    ids = [f"{i:05d}" for i in range(400)]

    def work(k: int) -> list[str]:
        rotated = ids[k * 25 :] + ids[: k * 25]
        made = [p for start in range(0, 400, 100) for p in session.pseudonymize("d", rotated[start : start + 100])]
        return made[400 - k * 25 :] + made[: 400 - k * 25]

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(work, range(16)))
    assert all(a == answers[0] for a in answers)
    assert len(set(answers[0])) == 400
    assert care.verify(house.owner).ok
