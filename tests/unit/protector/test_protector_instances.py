"""Several services on one PostgreSQL vault: they share people, limits and the log; one that is killed takes nothing with it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from protector_support import _drop_database, _new_database
from shoal.errors import AccessError, EngineError
from shoal.protector import Limit, Vault, care, keys
from shoal.protector.remote import RemoteSession, RemoteVault

pytest.importorskip("fastapi")
pytestmark = pytest.mark.engine
ROOT = Path(__file__).resolve().parents[3]
BATCH = 100


class Service:
    """One ``shoal vault serve`` on a socket, with an anchor of its own as on another machine."""

    def __init__(self, folder: Path, name: str, place: str, key: str) -> None:
        self.socket = folder / f"{name}.sock"
        shutil.copy(folder / "anchor", folder / f"{name}.anchor")
        env = {k: v for k, v in os.environ.items() if not k.startswith("SHOAL_VAULT")}
        env |= {"PYTHONPATH": str(ROOT / "src"), "SHOAL_VAULT_KEY": key}
        words = ["vault", "serve", "--vault", place, "--socket", str(self.socket), "--anchor", str(folder / f"{name}.anchor")]
        self.process = subprocess.Popen([sys.executable, "-m", "shoal.cli", *words], env=env, stderr=subprocess.PIPE)

    def login(self, token: str) -> RemoteSession:
        """A session, as soon as the service answers."""
        vault = RemoteVault(f"unix:{self.socket}")
        while True:
            try:
                assert vault.status()["alive"]
                return vault.login(token)
            except EngineError:
                assert self.process.poll() is None, self.process.stderr.read() if self.process.stderr else ""
                time.sleep(0.1)

    def end(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()


def minting(session: RemoteSession, people: list[str], told: dict[str, str], first: threading.Event) -> None:
    """Pseudonyms for people, batch by batch, until done or until the service is gone."""
    try:
        for start in range(0, len(people), BATCH):
            part = people[start : start + BATCH]
            told.update(zip(part, session.pseudonymize("d", part), strict=True))
            first.set()
    except EngineError:
        first.set()


def test_two_services_one_killed_while_it_mints(postgres_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, text = _new_database(postgres_server), keys.generate()
    monkeypatch.setenv("INSTANCES_KEY", text)
    made = Vault.create(place, key=keys.from_env("INSTANCES_KEY"), owner="Otto", auditor="Udo", anchor=tmp_path / "anchor")
    owner, auditor = made.vault.login(made.owner_token), made.vault.login(made.auditor_token)
    owner.create_domain("d")
    proposed = owner.add_actor("Olga", ["operator"])
    token = made.vault.enrol(proposed.code, auditor.confirm(proposed.id).code)
    services = [Service(tmp_path, name, place, text) for name in ("a", "b")]
    try:
        a, b = (service.login(token) for service in services)
        people = [f"person {i:05d}" for i in range(40 * BATCH)]
        told: tuple[dict[str, str], dict[str, str]] = ({}, {})
        begun = threading.Event()
        threads = [
            threading.Thread(target=minting, args=(a, people, told[0], begun)),
            threading.Thread(target=minting, args=(b, people[::-1], told[1], threading.Event())),
        ]
        for thread in threads:
            thread.start()
        begun.wait()
        services[0].end(signal.SIGKILL)
        for thread in threads:
            thread.join()
        assert set(told[1]) == set(people)  # the other one went on
        assert all(told[1][person] == pseudonym for person, pseudonym in told[0].items())  # nobody doubled
        assert len(set(told[1].values())) == len(people)
        auditor.confirm(owner.set_limit("pseudonymize", Limit(3600.0, 0, None)).id)  # through a third door: holds at once
        with pytest.raises(AccessError, match="over the limit"):
            b.pseudonymize("d", ["one more"])
        assert care.verify(owner).ok
        assert care.verify_log(auditor).ok
    finally:
        for service in services:
            if service.process.poll() is None:
                service.end(signal.SIGTERM)
        made.vault.close()
        _drop_database(postgres_server, place)
