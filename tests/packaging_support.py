"""The wheel, and empty environments that it is installed into."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class NoRegistry(Exception):
    """Why nothing can be installed here."""


def build(source: Path, out: Path, *targets: str) -> None:
    """Make a wheel, an archive or both."""
    words = [word for target in targets for word in ("-t", target)]
    done = subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(out), *words], cwd=source, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]


def empty_environment(wheel: Path, place: Path, extras: str = "") -> Path:
    """The Python of a new environment into which ``pip install`` brought the wheel and what it names, in locked versions."""
    uv = shutil.which("uv") or str(ROOT / ".shoal-tools" / "bin" / "uv")
    if not Path(uv).is_file():
        raise NoRegistry("uv is not installed, and pip alone would take minutes")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(place)], check=True, capture_output=True)
    lock = (ROOT / "locks" / "dev.txt").read_text(encoding="utf-8")
    pinned = "\n".join(re.findall(r"^[\w.-]+==[^\s\\]+(?: ; [^\\\n]+)?", lock, re.MULTILINE))
    (place / "pinned.txt").write_text(pinned, encoding="utf-8")
    words = [uv, "pip", "install", "--quiet", "--link-mode", "hardlink", "--python", str(place), "-c", str(place / "pinned.txt")]
    named = f"{wheel}[{extras}]" if extras else str(wheel)
    try:
        done = subprocess.run([*words, named], capture_output=True, text=True, timeout=60)
        answers = not done.returncode or not subprocess.run([*words, "jinja2"], capture_output=True, timeout=30).returncode
    except subprocess.TimeoutExpired:
        raise NoRegistry("the package registry does not answer in time") from None
    if not answers:
        raise NoRegistry("no package registry answers here")
    assert done.returncode == 0, done.stderr[-2000:]
    return place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
