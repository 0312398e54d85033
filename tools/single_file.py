"""Shoal in one file: ``python tools/single_file.py dist/shoal.pyz``, then ``python3 dist/shoal.pyz demo``, also without pip.

Installs this checkout and what it needs into a temporary folder, leaves out what no command uses (tests and headers of other
packages, Arrow's remote calls) and packs the rest with shiv. The file runs with the same version of Python on the same system;
at its first start it unpacks itself below ``~/.shiv`` (another place: ``SHIV_ROOT``).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("tests", "include", "__pycache__", "bin")
FILES = ("pyarrow/*flight*", "pyarrow/*.pyx", "pyarrow/*.pxd")


def trim(site: Path) -> None:
    """Delete what only developers of the packages need; never a folder of Shoal."""
    for folder in sorted(site.rglob("*"), reverse=True):
        if folder.is_dir() and folder.name in FOLDERS and folder.relative_to(site).parts[0] != "shoal":
            shutil.rmtree(folder)
    for pattern in FILES:
        for file in site.glob(pattern):
            file.unlink()


def pack(target: Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        site, tool = Path(made) / "site", Path(made) / "shiv"
        for place, what in ((site, str(ROOT)), (tool, "shiv")):
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", str(place), what], check=True)
        trim(site)
        target.parent.mkdir(parents=True, exist_ok=True)
        code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from shiv.cli import main; main()"
        options = ["--site-packages", str(site), "-c", "shoal", "-p", "/usr/bin/env python3", "--compressed", "-o", str(target)]
        subprocess.run([sys.executable, "-c", code, str(tool), *options], check=True)


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "dist/shoal.pyz")
    pack(place)
    print(f"{place}: {place.stat().st_size / 1e6:.0f} MB")
