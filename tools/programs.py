"""Chromium, LibreOffice Calc and SoftHSM for the tests: the system's own, else installed as root from its packages."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys

NAMES = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "libreoffice-calc": ("soffice", "libreoffice"),
    "softhsm2": ("softhsm2-util",),
}
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
)  # fmt: skip


def find(package: str) -> str | None:
    """Path of the program that the package brings, or None."""
    return next((path for name in NAMES[package] if (path := shutil.which(name))), None)


def ensure() -> dict[str, str | None]:
    """Path of each program, installing those that are missing where that is possible; None where it is not."""
    missing = [package for package in NAMES if find(package) is None]
    if missing and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update"], *(["install", "-y", "--no-install-recommends", package] for package in missing)):
            with contextlib.suppress(subprocess.TimeoutExpired):  # where nothing answers, what needs it is skipped
                subprocess.run(["apt-get", "-q", *words], env=env, capture_output=True, check=False, timeout=300)
    return {package: find(package) for package in NAMES}


if __name__ == "__main__":
    for package, path in ensure().items():
        sys.stderr.write(f"{package}: {path or 'not to be had; what needs it is skipped, or fails where it must be there'}\n")
