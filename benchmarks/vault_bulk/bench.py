"""Rates of bulk pseudonymisation, and their growth with the number of stored identities."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from common import record  # noqa: E402

from shoal.protector import Limit, Vault, keys  # noqa: E402
from shoal.protector.people.limits import DEFAULTS  # noqa: E402
from shoal.protector.pseudonyms.domains import Context  # noqa: E402

BATCH = 250_000
MARKS = (10_000, 100_000, 1_000_000, 3_000_000, 10_000_000)


def identities(first: int, count: int) -> pa.Array:
    return pa.array([f"{i:010d}" for i in range(first, first + count)])


def main(largest: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="vault-bench-"))
    os.environ["BENCH_KEY"] = keys.generate()
    made = Vault.create(folder / "a.vault", key=keys.from_env("BENCH_KEY"), owner="a", auditor="b", anchor=folder / "anchor")
    owner = made.vault.login(made.owner_token)
    auditor = made.vault.login(made.auditor_token)
    change = owner.add_actor("o", ["operator"])
    operator = made.vault.login(made.vault.enrol(change.code, auditor.confirm(change.id).code))
    for limit in DEFAULTS["pseudonymize"]:
        auditor.confirm(owner.set_limit("pseudonymize", Limit(limit.seconds, None, None)).id)
    for kind in ("keyed", "reversible", "random", "format-preserving"):
        owner.create_domain(kind, kind=kind)
    for kind, n in (("keyed", 1_000_000), ("reversible", 1_000_000), ("format-preserving", 50_000)):
        column = identities(0, n)
        start, cpu = time.perf_counter(), time.process_time()
        answer = operator.pseudonymize(kind, column)
        told = {
            "ids_per_second": round(n / (time.perf_counter() - start)),
            "ids_per_cpu_second": round(n / (time.process_time() - cpu)),
        }
        record(HERE, question=kind, n=n, **told, answer={"different": len(answer.unique())})
    stored = 0
    known = None
    for mark in (m for m in MARKS if m <= largest):
        new = cpu_new = rows = 0.0
        while stored < mark:
            count = min(BATCH, mark - stored)
            column = identities(stored, count)
            start, cpu = time.perf_counter(), time.process_time()
            first = operator.pseudonymize("random", column)
            new, cpu_new, rows = new + time.perf_counter() - start, cpu_new + time.process_time() - cpu, rows + count
            known = known or first[0].as_py()
            stored += count
        again = identities(0, min(mark, BATCH))
        start = time.perf_counter()
        back = operator.pseudonymize("random", again)
        old = time.perf_counter() - start
        record(
            HERE,
            question="random",
            stored=stored,
            new_per_second=round(rows / new),
            new_per_cpu_second=round(rows / cpu_new),
            known_per_second=round(len(again) / old),
            lookup_microseconds=lookup(made.vault, stored),
            bytes_per_identity=round(sum(f.stat().st_size for f in folder.glob("a.vault*")) / stored),
            answer={"kept": back[0].as_py() == known},
        )
    made.vault.close()
    shutil.rmtree(folder)


def lookup(vault: Vault, stored: int) -> float:
    """Median time of one look-up inside a transaction (no log, no commit)."""
    with vault.store.read() as tx:
        opened = vault.keyring.opened(tx, vault.keyring.domain(tx, "random"))
        seconds = []
        for i in range(2000):
            text = f"{(i * 7919) % stored:010d}"
            start = time.perf_counter()
            opened.find(tx, [text], Context(), 0.0)
            seconds.append(time.perf_counter() - start)
    return round(sorted(seconds)[1000] * 1e6, 1)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else MARKS[-1])
