"""``shoal serve`` with registry and vault: two processes, so that no question to one delays the other."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import nursery
from registry_support import AGES, make
from servers import tools
from shoal.registry.keep.store import Store

pytestmark = [
    pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc"),
    pytest.mark.xdist_group("serve both"),
]
SHOAL = [sys.executable, "-m", "shoal.cli"]
FIFTY = ",".join(f"x/a{i:02d}" for i in range(50))
ASKED = 20


def status(url: str) -> int:
    """The status of an answer; 0 where nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=120) as answer:
            answer.read()
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Base addresses of registry and vault, the process of the registry, and the first process."""
    pytest.importorskip("uvicorn")
    folder = tmp_path_factory.mktemp("both")
    assert nursery.shoal("vault", "key", "--out", "vault.key", folder=folder).returncode == 0
    environment = {**os.environ, "SHOAL_VAULT_KEY": (folder / "vault.key").read_text().strip()}
    people = ["--owner", "Otto", "--auditor", "Udo", "--secrets", "hands", "--domain", "study"]
    assert nursery.shoal("vault", "init", "--vault", "study.vault", *people, folder=folder, env=environment).returncode == 0
    store = Store(f"sqlite:///{folder / 'r.db'}")
    store.submit_many([make([600, 500, 400], codes=(f"x/a{i:02d}",), cells=3) for i in range(50)])
    store.submit(make(AGES, cells=95))
    store.close()
    one, other = tools.free_port(), tools.free_port()
    ports = ["--port", str(one), "--vault-port", str(other)]
    command = [*SHOAL, "serve", "--registry", "r.db", "--vault", "study.vault", *ports]
    first = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        said = first.stderr.readline()
        second = int(re.search(r"process (\d+)", said)[1])
        at = (f"http://127.0.0.1:{one}/registry/v1", f"http://127.0.0.1:{other}/vault/v1")
        for _ in range(1200):
            if status(f"{at[0]}/") == 200 and status(f"{at[1]}/openapi-is-elsewhere"):
                break
            time.sleep(0.1)
        yield at, second, first
    finally:
        first.kill()
        first.wait(timeout=120)
        first.stderr.close()
    for _ in range(1200):  # however the first process ends, the registry ends with it
        if not status(f"{at[0]}/"):
            break
        time.sleep(0.1)
    assert status(f"{at[0]}/") == 0


def test_each_answers_at_its_own_address_and_not_for_the_other(both):
    (registry, vault), _, _ = both
    assert status(f"{registry}/query?attributes=age/years&population=NL/Utrecht@2021") == 200
    assert status(vault.replace("/vault/v1", "/registry/v1/")) == 404
    assert status(registry.replace("/registry/v1", "/vault/v1/")) == 404


def test_the_vault_answers_while_the_registry_is_busy_with_fifty_attributes(both):
    """The registry's process is stopped in the middle of a question: whatever the vault answers then, it answers without it."""
    (registry, vault), second, _ = both
    order: list[str] = []

    def ask() -> None:
        found = status(f"{registry}/decide?attributes={FIFTY}&population=NL/Utrecht@2021&group_size=100&target=0.01")
        order.append(f"registry {found}")

    os.kill(second, signal.SIGSTOP)
    asking = threading.Thread(target=ask)
    try:
        asking.start()
        for _ in range(ASKED):
            order.append(f"vault {status(f'{vault}/nothing')}")
    finally:
        os.kill(second, signal.SIGCONT)
        asking.join()
    assert order[:ASKED] == ["vault 404"] * ASKED
    assert order[ASKED:] in (["registry 200"], ["registry 503"])  # advised, or stopped when its time was used up


def test_the_key_of_the_vault_is_not_in_the_process_of_the_registry(both):
    _, second, first = both
    assert second != first.pid
    assert b"SHOAL_VAULT_KEY=" not in Path(f"/proc/{second}/environ").read_bytes()


def test_one_port_for_both_is_refused(tmp_path):
    done = nursery.shoal("serve", "--vault", "v", "--port", "9000", "--vault-port", "9000", folder=tmp_path)
    assert done.returncode == 2
    assert "a port each" in done.stderr
