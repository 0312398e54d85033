"""A vault whose process is killed (SIGKILL) a hundred times in the middle of its work: what is lost, what is doubled?"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from common import record  # noqa: E402

from shoal.protector import Limit, Vault, care, keys  # noqa: E402
from shoal.protector.people.limits import DEFAULTS  # noqa: E402

BATCH = 40
KINDS = ("random", "keyed")


def work(folder: Path, token: str, first: int) -> None:
    """Give pseudonyms to new and known people for ever; each answer is noted in a file once the vault has given it."""
    vault = Vault.open(folder / "a.vault", key=keys.from_env("BENCH_KEY"), anchor=folder / "anchor")
    operator, noted = vault.login(token), os.open(folder / "noted", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        ids = [f"{i:08d}" for i in range(max(0, first - BATCH // 2), first + BATCH)]
        for kind in KINDS:
            given = operator.pseudonymize(kind, ids)
            os.write(noted, "".join(f"{kind} {i} {p}\n" for i, p in zip(ids, given, strict=True)).encode())
        first += BATCH


def check(folder: Path, token: str, auditor: str) -> dict[str, int]:
    """Open the vault again: every pseudonym that was given is still the person's, nobody has two, and the log holds."""
    lines = [line.split() for line in (folder / "noted").read_text().splitlines()]
    noted: dict[tuple[str, str], set[str]] = {}
    for kind, person, pseudonym in (line for line in lines if len(line) == 3):
        noted.setdefault((kind, person), set()).add(pseudonym)
    with Vault.open(folder / "a.vault", key=keys.from_env("BENCH_KEY"), anchor=folder / "anchor") as vault:
        operator, lost, doubled = vault.login(token), 0, sum(len(given) > 1 for given in noted.values())
        for kind in KINDS:
            people = sorted(person for k, person in noted if k == kind)
            again = operator.pseudonymize(kind, people)
            lost += sum({p} != noted[kind, i] for i, p in zip(people, again, strict=True))
            doubled += len(again) - len(set(again))
        verdict = care.verify_log(vault.login(auditor))
        return {"assigned": len(noted), "lost": lost, "doubled": doubled, "log_problems": len(verdict.problems)}


def main(kills: int) -> None:
    folder, chance = Path(tempfile.mkdtemp(prefix="vault-crash-")), random.Random(42)
    os.environ["BENCH_KEY"] = keys.generate()
    made = Vault.create(folder / "a.vault", key=keys.from_env("BENCH_KEY"), owner="a", auditor="b", anchor=folder / "anchor")
    owner, auditor = made.vault.login(made.owner_token), made.vault.login(made.auditor_token)
    change = owner.add_actor("o", ["operator"])
    token = made.vault.enrol(change.code, auditor.confirm(change.id).code)
    for limit in DEFAULTS["pseudonymize"]:
        auditor.confirm(owner.set_limit("pseudonymize", Limit(limit.seconds, None, None)).id)
    for kind in KINDS:
        owner.create_domain(kind, kind=kind)
    made.vault.close()
    (folder / "noted").touch()
    worst, killed, start = {"lost": 0, "doubled": 0, "log_problems": 0}, 0, time.perf_counter()
    found: dict[str, int] = {}
    while killed < kills:
        child = os.fork()
        if child == 0:
            work(folder, token, found.get("assigned", 0) // len(KINDS))
        time.sleep(chance.uniform(0.05, 1.2))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        killed += 1
        found = check(folder, token, made.auditor_token)
        worst = {name: max(number, found[name]) for name, number in worst.items()}
    with Vault.open(folder / "a.vault", key=keys.from_env("BENCH_KEY"), anchor=folder / "anchor") as vault:
        whole = care.verify(vault.login(made.owner_token)).ok
    seconds = round(time.perf_counter() - start)
    record(HERE, question="kill -9", kills=killed, assigned=found["assigned"], seconds=seconds, answer={**worst, "whole": whole})
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
