"""Chromium for the tests: the system's own, else installed as root from the distribution's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
)  # fmt: skip


def find() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def ensure() -> str | None:
    """Path of a browser, installing one where that is possible; None where it is not."""
    if find() is None and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", "chromium"]):
            if subprocess.run(["apt-get", *words], env=env, capture_output=True, check=False).returncode != 0:
                break
    return find()


if __name__ == "__main__":
    sys.stderr.write(f"browser: {ensure() or 'none to be had; its tests are skipped (in CI they fail)'}\n")
