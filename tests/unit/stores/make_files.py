"""Write the files of this folder's tests with the Shoal on PYTHONPATH: run it with the code of an older release.

    PYTHONPATH=OLD/src python tests/unit/stores/make_files.py tests/unit/stores/shoal-0.3.0

Everything in them is generated: the vault's key and tokens open nothing else.
"""

from __future__ import annotations

import importlib
import json
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any


def module(*names: str) -> Any:
    """The first of these modules that this version of Shoal has."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise SystemExit(f"none of {names} exists")


def make_vault(folder: Path) -> None:
    from shoal.protector import Vault, keys

    with tempfile.TemporaryDirectory() as elsewhere:
        key = keys.generate()
        file = Path(elsewhere) / "master.key"
        file.write_text(key + "\n")
        file.chmod(0o600)
        made = Vault.create(
            folder / "study.vault", key=keys.from_file(file), owner="Anna", auditor="Ben", anchor=folder / "study.anchor"
        )
        owner, auditor = made.vault.login(made.owner_token), made.vault.login(made.auditor_token)
        owner.create_domain("study7")
        proposed = owner.add_actor("Olga", ["operator"])
        operator_token = made.vault.enrol(proposed.code, auditor.confirm(proposed.id).code)
        pseudonyms = made.vault.login(operator_token).pseudonymize("study7", ["0012", "0013"])
        tokens = {"owner": made.owner_token, "auditor": made.auditor_token, "operator": operator_token}
        made.vault.close()
    (folder / "vault.json").write_text(json.dumps({"key": key, "tokens": tokens, "pseudonyms": pseudonyms}, indent=1) + "\n")


def make_registry(folder: Path) -> None:
    signatures = module("shoal.kernels.signatures")
    holder = module("shoal.registry.publish.proposals", "shoal.registry.publish.holder")
    from shoal.registry.keep.store import Store
    from shoal.registry.records.population import Population

    counts = [900] * 65 + [30 * (95 - i) for i in range(65, 95)]
    book = holder.Ledger()
    place = Population.parse("NL/Utrecht@2021")
    proposal = holder.propose(counts, ("age/years",), place, holder="Example", date="2025-01-15", ledger=book)
    store = Store(f"sqlite:///{folder / 'registry.db'}")
    record = store.submit(holder.publish(proposal, signatures.signer(), book))
    (folder / "registry.json").write_text(json.dumps({"record": record.id, "head": list(store.head())}, indent=1) + "\n")
    store.close()


def make_workspace(folder: Path) -> None:
    workspace = module("shoal.studio.workspace.workspace", "shoal.workspace.workspace")
    people = module("shoal.studio.workspace.people", "shoal.workspace.people")
    with tempfile.TemporaryDirectory() as root:
        csv = Path(root) / "people.csv"
        csv.write_text("age,city\n30,A\n31,B\n30,A\n")
        with workspace.Workspace(folder / "workspace") as space:
            table = space.tables.add(csv, "people.csv")
            space.history.add(table.id, "roles set", "k: 2\n")
    with people.People(folder / "team") as team:
        team.users.add("Ann", "editor", "a generated password 1")


def checkpoint(folder: Path) -> None:
    """Put what SQLite still keeps in its write-ahead logs into the files."""
    for file in [f for f in folder.rglob("*") if f.is_file() and f.read_bytes()[:15] == b"SQLite format 3"]:
        with sqlite3.connect(file) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for make in (make_vault, make_registry, make_workspace):
        make(target)
    checkpoint(target)
