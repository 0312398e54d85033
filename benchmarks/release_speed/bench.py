"""Generated people → verified Parquet release, then verify; beside it DuckDB: read, count, copy, count again."""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import record
from make_people import people_file

HERE = Path(__file__).parent
SHOAL = [sys.executable, "-m", "shoal"]
POLICY = """\
title: A million people
roles:
  direct: [name]
  quasi:
    date_of_birth: {hierarchy: {dates: [month, year, decade]}}
    sex: {}
    municipality: {}
    postcode: {hierarchy: {mask: right}}
    education: {}
    occupation: {}
    income: {}
    visits: {}
  sensitive: [diagnosis]
require: {k: 5}
allow: {suppress: 0.05}
"""
ANCHOR = """\
import sys, duckdb
file, out, memory = sys.argv[1:]
con = duckdb.connect(config={"temp_directory": out + ".tmp"})
con.execute("SET enable_progress_bar = false")
if memory:
    con.execute(f"SET memory_limit = '{memory}'")
by = "date_of_birth, sex, municipality, postcode, education, occupation, income, visits"
con.execute(f"CREATE TABLE t AS SELECT * FROM '{file}'")
count = lambda t: con.execute(f"SELECT count(*) FROM (SELECT {by}, count(*) FROM {t} GROUP BY ALL)").fetchone()[0]
first = count("t")
con.execute(f"COPY t TO '{out}' (FORMAT parquet, COMPRESSION zstd)")
print(first == count(f"'{out}'") and first)
"""
QUASI = "date_of_birth,sex,municipality,postcode,education,occupation,income,visits"
MEASURED = ["--quasi", QUASI, "--sensitive", "diagnosis", "--json"]
SMALL = """\
roles: {direct: [name], quasi: {born: {}, sex: {}, zip: {}}, sensitive: [ill]}
require: {k: 3}
allow: {suppress: 0.9}
"""


def run(words: list[str], cores: int = 0, **environment: str) -> tuple[float, float, float, str]:
    """Seconds, seconds of processor, peak memory in MB and stdout of one command; on so many cores, if a number is given."""
    start = time.perf_counter()
    some = sorted(os.sched_getaffinity(0))[: cores or None]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        preexec_fn=lambda: os.sched_setaffinity(0, some),
    )
    out = process.stdout.read() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{words[3:5]} failed with status {status}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out


def large(rows: int, form: str, memory: str) -> None:
    """A release of so many people, its proof, and the anchor, in one run; both within the same memory, where one is given."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("SHOAL_BENCH")) as folder:
        place = Path(folder)
        table, policy = _people(rows, form, place), POLICY
        if form == "parquet":
            policy = POLICY.replace("direct: [name]", "direct: [name, person_id]")
        (place / "policy.yml").write_text(policy)
        anchor, anchor_cpu, anchor_peak, classes = run(
            [sys.executable, "-c", ANCHOR, str(table), str(place / "copy.parquet"), memory]
        )
        out = place / "release"
        words = [*SHOAL, "anonymize", str(table), "--policy", str(place / "policy.yml"), "--out", str(out)]
        words += ["--memory", memory] if memory else []
        state = str(place / "state")  # a ledger of its own: earlier runs are not compared with
        seconds, cpu, peak, told = run([*words, "--format", "parquet", "--json"], XDG_STATE_HOME=state)
        measured, measure_cpu, measure_peak, _ = run(
            [*SHOAL, "measure", str(table), *MEASURED, *(["--memory", memory] if memory else [])]
        )
        checked, verify_cpu, verify_peak, said = run([*SHOAL, "verify", str(out), "--json"])
        answer = json.loads(told)
        keep = {k: answer[k] for k in ("k", "records", "suppressed", "classes", "loss", "levels", "proven", "verified")}
        record(
            HERE,
            data=f"people({rows}, seed=1), {table.stat().st_size / 1e6:.0f} MB {form}",
            **_rounded(seconds=seconds, cpu_seconds=cpu, anchor_seconds=anchor, anchor_cpu_seconds=anchor_cpu),
            times_the_anchor=round(seconds / anchor, 2),
            times_its_cpu=round(cpu / anchor_cpu, 2),
            peak_mb=round(peak),
            anchor_peak_mb=round(anchor_peak),
            **_rounded(verify_seconds=checked, verify_cpu_seconds=verify_cpu),
            verify_peak_mb=round(verify_peak),
            **_rounded(measure_seconds=measured, measure_cpu_seconds=measure_cpu),
            measure_peak_mb=round(measure_peak),
            **({"memory": memory} if memory else {}),
            load=round(os.getloadavg()[0], 1),
            answer={**keep, "verify": json.loads(said)["verified"], "anchor_classes": int(classes)},
        )


def cores(rows: int, form: str) -> None:
    """The same release, and the same measurement, on one core and on two, alternating; the best of three of each."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("SHOAL_BENCH")) as folder:
        place = Path(folder)
        table = _people(rows, form, place)
        policy = POLICY if form == "csv" else POLICY.replace("direct: [name]", "direct: [name, person_id]")
        (place / "policy.yml").write_text(policy + "seed: 7\n")
        commands = {
            "anonymize": ["anonymize", str(table), "--policy", str(place / "policy.yml"), "--format", "parquet"],
            "measure": ["measure", str(table), *MEASURED],
        }
        found: dict[str, Any] = {}
        written = set()
        for name, words in commands.items():
            times: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
            for i in range(6):
                out = place / f"{name}-{i}"
                more = ["--out", str(out)] if name == "anonymize" else []
                times[i % 2 + 1].append(
                    run([*SHOAL, *words, *more], cores=i % 2 + 1, XDG_STATE_HOME=str(place / f"state-{i}"))[:2]
                )
                if more:
                    written.add(hashlib.sha256((out / "data.parquet").read_bytes()).hexdigest())
                    shutil.rmtree(out)
            best = {n: (min(s for s, _ in some), min(c for _, c in some)) for n, some in times.items()}
            found[name] = _rounded(
                one_seconds=best[1][0],
                one_cpu_seconds=best[1][1],
                two_seconds=best[2][0],
                two_cpu_seconds=best[2][1],
                ratio=best[2][0] / best[1][0],
            )
        load = round(os.getloadavg()[0], 1)
        record(HERE, data=f"people({rows}, seed=1), {form}, one core and two", load=load, answer={**found, "files": len(written)})


def small(times: int = 5) -> None:
    """Two hundred rows: the first run, with nothing of Shoal compiled, then the best of some more."""
    rng = random.Random(4)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows = [f"p{i},19{rng.randrange(40, 99)}-0{rng.randrange(1, 9)}-11,{rng.choice('fm')}" for i in range(200)]
        more = [f"{rng.randrange(1000, 1009)},{rng.choice(['flu', 'cold', 'asthma'])}" for _ in rows]
        lines = ["name,born,sex,zip,ill", *(f"{a},{b}" for a, b in zip(rows, more, strict=True))]
        (place / "t.csv").write_text("\n".join(lines) + "\n")
        (place / "policy.yml").write_text(SMALL)
        found: dict[str, Any] = {}
        commands = {
            "version": ["--version"],
            "measure": ["measure", str(place / "t.csv"), "--quasi", "born,sex,zip", "--sensitive", "ill", "--json"],
            "anonymize": ["anonymize", str(place / "t.csv"), "--policy", str(place / "policy.yml"), "--json"],
        }
        for name, words in commands.items():
            fresh = place / name  # Shoal's own files as an editable install has them: nothing compiled yet
            shutil.copytree(HERE.parents[1] / "src", fresh, ignore=shutil.ignore_patterns("__pycache__"))
            empty = {"PYTHONPATH": str(fresh), "PYTHONDONTWRITEBYTECODE": "", "XDG_STATE_HOME": str(place / "state")}
            made = [_one(name, i, words, place, empty) for i in range(times + 1)]
            found[name] = {
                **_rounded(first_seconds=made[0][0], first_cpu_seconds=made[0][1]),
                **_rounded(seconds=min(m[0] for m in made[1:]), cpu_seconds=min(m[1] for m in made[1:])),
            }
        record(HERE, data="200 rows of CSV", load=round(os.getloadavg()[0], 1), answer=found)


def _one(name: str, i: int, words: list[str], place: Path, environment: dict[str, str]) -> tuple[float, float]:
    out = ["--out", str(place / f"release-{i}")] if name == "anonymize" else []
    return run([*SHOAL, *words, *out], **environment)[:2]


def _people(rows: int, form: str, place: Path) -> Path:
    """The table: Parquet is made once and kept, CSV made from it."""
    if form == "parquet":
        return people_file(rows)
    import pyarrow.csv

    from shoal.datasets import people

    pyarrow.csv.write_csv(people(rows, seed=1).drop_columns(["person_id"]), place / "people.csv")
    return place / "people.csv"


def _rounded(**numbers: float) -> dict[str, float]:
    return {name: round(x, 2) for name, x in numbers.items()}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.argv[1:2] == ["small"]:
        small()
    elif sys.argv[1:2] == ["cores"]:
        cores(*(int(sys.argv[2]), sys.argv[3]) if len(sys.argv) > 3 else (1_000_000, "csv"))
    else:
        asked = [*sys.argv[1:4], *("1000000", "csv", "")[len(sys.argv) - 1 :]]
        large(int(asked[0]), asked[1], asked[2])
