"""What a stolen vault tells without its key, and whether the time of an answer tells who is in it."""

from __future__ import annotations

import gc
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from common import record  # noqa: E402

from shoal.protector import Holder, Vault, keys  # noqa: E402
from shoal.protector.crypto import base32  # noqa: E402
from shoal.protector.pseudonyms.domains import Context  # noqa: E402
from shoal.protector.store.pages import PER_PAGE  # noqa: E402

CALLS = 4000
MOMENTS = 40


def made(folder: Path) -> tuple[Vault, Any, Any]:
    """A vault with an owner and an operator."""
    os.environ["BENCH_KEY"] = keys.generate()
    new = Vault.create(folder / "a.vault", key=keys.from_env("BENCH_KEY"), owner="a", auditor="b", anchor=folder / "anchor")
    owner, auditor = new.vault.login(new.owner_token), new.vault.login(new.auditor_token)
    change = owner.add_actor("o", ["operator"])
    return new.vault, owner, new.vault.login(new.vault.enrol(change.code, auditor.confirm(change.id).code))


def timed(people: int) -> None:
    """The issue's attack: 4,000 pairs of calls for somebody who is there and somebody who is not, in random order."""
    folder = Path(tempfile.mkdtemp(prefix="leak-"))
    vault, owner, operator = made(folder)
    owner.create_domain("d")
    there = [f"{i:06d}" for i in range(people)]
    pseudonyms = operator.pseudonymize("d", there)
    with vault.store.read() as tx:
        opened = vault.keyring.opened(tx, vault.keyring.domain(tx, "d"))
        strangers = [f"{i:06d}" for i in range(500_000, 500_000 + people)]
        invented = ["P-" + base32.encode(os.urandom(16)) for _ in there]
        answer = {
            "find": compared(lambda text: opened.find(tx, [text], Context(), 0.0), there, strangers),
            "resolve": compared(lambda text: opened.resolve(tx, [text]), pseudonyms, invented),
        }
    vault.close()
    shutil.rmtree(folder)
    record(HERE, what="timing", people=people, calls=CALLS, answer=answer)


def compared(call: Callable[[str], Any], hits: list[str], misses: list[str]) -> dict[str, float]:
    """Median microseconds of both, the rank-sum p, and the chance with which one call tells the two apart."""
    rng = np.random.default_rng(8)
    spent: tuple[list[int], list[int]] = ([], [])
    gc.disable()
    for i in range(CALLS):
        for which in rng.permutation(2):
            text = (hits, misses)[which][i % len(hits)]
            start = time.perf_counter_ns()
            call(text)
            spent[which].append(time.perf_counter_ns() - start)
    gc.enable()
    found = mannwhitneyu(*spent)
    one = float(found.statistic) / CALLS**2
    medians = [round(float(np.median(part)) / 1000, 1) for part in spent]
    return {
        "hit_us": medians[0],
        "miss_us": medians[1],
        "p": float(f"{found.pvalue:.2g}"),
        "told_apart": round(max(one, 1 - one), 4),
    }


def stolen(people: int, *, one_by_one: bool) -> None:
    """What a thief with the files of a running vault, and without the key, makes of the number of people."""
    folder = Path(tempfile.mkdtemp(prefix="leak-"))
    vault, owner, operator = made(folder)
    owner.create_domain("d")
    owner.create_domain("own", kind="self-generated")
    own = next(d for d in owner.domains() if d.name == "own")
    for i in range(people) if one_by_one else ():
        operator.pseudonymize("d", [f"{i:06d}"])
    if not one_by_one:
        operator.pseudonymize("d", [f"{i:06d}" for i in range(people)])
    for _ in range(20):
        operator.register("own", Holder.generate().registration(vault.id, own.id))
    loot = folder / "loot"
    loot.mkdir()
    for name in ("a.vault", "a.vault-wal"):
        shutil.copy(folder / name, loot / name)
    vault.close()
    answer = guessed(loot)
    shutil.rmtree(folder)
    record(HERE, what="stolen", people=people, one_by_one=one_by_one, answer=answer)


def guessed(loot: Path) -> dict[str, Any]:
    """Slots of the file; and, from the file at several moments of the write-ahead log, the pages that people came to."""
    wal = (loot / "a.vault-wal").read_bytes()
    frame = int.from_bytes(wal[8:12], "big") + 24
    ends = [at + frame for at in range(32, len(wal), frame) if int.from_bytes(wal[at + 4 : at + 8], "big")]  # commits
    before: dict[int, bytes] = {}
    written: set[int] = set()
    once = 0
    for end in [0, *ends[:: max(1, len(ends) // MOMENTS)], *ends[-1:]]:
        with tempfile.TemporaryDirectory() as place:
            shutil.copy(loot / "a.vault", Path(place) / "b")
            (Path(place) / "b-wal").write_bytes(wal[:end])
            connection = sqlite3.connect(Path(place) / "b")
            try:
                rows = dict(connection.execute("SELECT id, sealed FROM vault_entries"))
                once = connection.execute("SELECT count(*) FROM vault_objects WHERE kind >= 16384").fetchone()[0]
            except sqlite3.OperationalError:  # before the tables were made
                continue
            finally:
                connection.close()
        written |= {row for row, sealed in rows.items() if before.get(row, sealed) != sealed}
        before = rows
    reached = max((row & ((1 << 40) - 1) for row in written), default=-1) + 1
    people = [(reached - 1) * PER_PAGE + 1, reached * PER_PAGE] if reached else None
    return {"slots": len(before) * PER_PAGE, "people_by_the_log": people, "objects_written_once": once}


if __name__ == "__main__":
    for number in (300, 1024):
        timed(number)
    for each in (False, True):
        stolen(403, one_by_one=each)
