"""The default plan against each method run by hand, on public tables with the roles that a draft suggests."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "src"), str(HERE.parent)]

from common import record  # noqa: E402

TABLES = (
    "pums_ca_1000",
    "heart_cleveland",
    "real_tables/diabetes130",
    "real_tables/mimic_admissions",
    "real_tables/student_performance",
    "real_tables/patients_uk_synthetic",
)


def main(data: Path) -> None:
    import shoal
    from shoal.errors import ShoalError
    from shoal.release.plan.decide import decide
    from shoal.release.plan.prepare import prepare
    from shoal.release.policy.policy import Policy

    for name in TABLES:
        file = next(iter(sorted((data / name).glob("*.csv"))), None)
        if file is None:
            continue
        table = shoal.open(file)
        found = shoal.inspect(table)
        if len(found.quasi) < 2:
            continue
        policy = Policy.of(quasi=list(found.quasi), rest="drop", k=5, allow={"loss": 1, "blank": 1})
        prepared = prepare(table, policy)
        losses: dict[str, Any] = {}
        for method in ("best", "lattice", "local"):
            start = time.process_time()
            try:
                decision = decide(replace(prepared, policy=replace(prepared.policy, method=method)))  # type: ignore[arg-type]
            except ShoalError as error:
                losses[method] = {"error": type(error).__name__}
                continue
            cpu = round(time.process_time() - start, 2)
            losses[method] = {"method": decision.method, "loss": round(decision.loss, 4), "proven": decision.proven, "cpu": cpu}
        record(HERE, question=f"{name}: k = 5, nobody left out", classes=prepared.base.n_classes, answer=losses)
        print(name, prepared.base.n_records, prepared.base.n_classes, len(prepared.quasi), losses, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT.parent / "shared" / "data"))
