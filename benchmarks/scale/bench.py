"""What grows with what: a vault on PostgreSQL by identities, a mirror of a registry by records."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path[:0] = [str(HERE.parents[1] / "tools"), str(HERE.parents[1] / "tests")]
from common import record  # noqa: E402

BATCH = 100_000
PEOPLE = """
CREATE TABLE people AS SELECT (hash(i) % 100)::INT AS age, CASE WHEN hash(i, 1) % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
    (10000 + hash(i, 2) % 20000)::INT AS zip, 'job ' || hash(i, 3) % 300 AS job, 'ill ' || hash(i, 4) % 50 AS ill,
    (hash(i, 5) % 100000)::INT AS pay FROM range(?) AS r(i)
"""


def vault(sizes: tuple[int, ...], parts: int = 1) -> None:
    """New identities and known ones in a random domain on PostgreSQL: rates, bytes of each table, memory."""
    from servers import start_postgres
    from shoal.protector import Limit, Vault, keys
    from shoal.protector.people.limits import DEFAULTS

    server = start_postgres()
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["BENCH_KEY"] = keys.generate()
            key, anchor = keys.from_env("BENCH_KEY"), Path(folder) / "anchor"
            made = Vault.create(server.url, key=key, owner="a", auditor="b", anchor=anchor, parts=parts)
            owner, auditor = made.vault.login(made.owner_token), made.vault.login(made.auditor_token)
            change = owner.add_actor("o", ["operator"])
            operator = made.vault.login(made.vault.enrol(change.code, auditor.confirm(change.id).code))
            for limit in DEFAULTS["pseudonymize"]:
                auditor.confirm(owner.set_limit("pseudonymize", Limit(limit.seconds, None, None)).id)
            owner.create_domain("people", kind="random")
            stored = 0
            for size in sizes:
                begun, cpu, first = time.perf_counter(), time.process_time(), stored
                while stored < size:
                    operator.pseudonymize("people", _ids(stored, BATCH))
                    stored += BATCH
                seconds, used = time.perf_counter() - begun, time.process_time() - cpu
                alone = time.perf_counter()
                for i in range(200):
                    operator.pseudonymize("people", [f"{i * (stored // 200):010d}"])
                told = {
                    "new_per_second": round((stored - first) / seconds),
                    "new_per_cpu_second": round((stored - first) / used),
                    "one_ms": round((time.perf_counter() - alone) * 5, 2),
                    "tables": _tables(server.url),
                }
                record(HERE, question="vault on PostgreSQL", parts=parts, stored=stored, load=_load(), **told)
    finally:
        server.stop()


def _ids(first: int, count: int) -> Any:
    return pa.array([f"{i:010d}" for i in range(first, first + count)])


def _tables(url: str) -> dict[str, int]:
    """Bytes of each table with its indexes, the large ones."""
    import psycopg

    query = (
        "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    )
    with psycopg.connect(url) as connection:
        return {name: size for name, size in connection.execute(query).fetchall() if size > 1 << 20}


def mirror(sizes: tuple[int, ...]) -> None:
    """A registry as static files: seconds of processor, bytes of records, index and log."""
    from registry_support import AGES, make
    from shoal.registry.keep.mirror import write_mirror
    from shoal.registry.keep.store import Store
    from shoal.registry.records.population import Population

    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            file, out = Path(folder) / "registry.db", Path(folder) / "mirror"
            store = Store(f"sqlite:///{file}")
            for first in range(0, size, 500):
                places = [Population.parse(f"XX/R{i // 1000}/P{i}@2021") for i in range(first, first + 500)]
                store.submit_many([make(AGES, population=place, cells=95) for place in places])
            cpu = time.process_time()
            write_mirror(store, out)
            used = time.process_time() - cpu
            store.close()
            files = {p.name: p.stat().st_size for p in out.iterdir() if p.is_file() and p.stat().st_size > 1 << 12}
            records = [p.stat().st_size for p in (out / "records").rglob("*.json")]
            told = {
                "cpu_seconds": round(used, 2),
                "files_bytes": files,
                "records_bytes": sum(records),
                "records_files": len(records),
            }
            peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            record(HERE, question="mirror", records=size, load=_load(), **told, peak_of_process_mb=peak)


def rows(sizes: tuple[int, ...]) -> None:
    """What one row of a table in a database costs Shoal's own process: written to a file in the order of a hash, and hashed."""
    import duckdb

    import shoal
    from shoal.kernels import signatures
    from shoal.model.plan import Plan, Suppression
    from shoal.release.make.certify import input_hash
    from shoal.steps import Cut

    plan = Plan((Cut("age", (30.0, 60.0), ("young", "middle", "old")),), Suppression(2, ("age", "sex")))
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            with duckdb.connect(f"{folder}/rows.db") as database:
                database.execute(PEOPLE, [size])
            with shoal.open(f"duckdb://{folder}/rows.db::people") as table:
                begun = time.process_time()
                table.recode(plan, f"{folder}/out.parquet")
                written = time.process_time() - begun
                input_hash(table, signatures.signer(None))
                hashed = time.process_time() - begun - written
        told = {"written_us": round(1e6 * written / size, 2), "hashed_us": round(1e6 * hashed / size, 2)}
        record(HERE, question="rows", rows=size, columns=6, load=_load(), **told)


def _load() -> float:
    return round(os.getloadavg()[0], 1)


if __name__ == "__main__":
    wanted = tuple(int(x) for x in sys.argv[2:])
    {"vault": vault, "parted": partial(vault, parts=16), "mirror": mirror, "rows": rows}[sys.argv[1]](wanted)
