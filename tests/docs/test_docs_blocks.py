"""Every code block of the documentation runs, and every command is documented.

``python`` blocks of a page run from top to bottom in one namespace, in a temporary folder; ``console`` blocks hold
``$ shoal …`` lines that must end with exit code 0 (or the code named in a comment ``# exit 1`` at the end of the line).
Blocks marked ``text``, ``yaml``, ``json`` or ``sql`` are not run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUNNABLE = {"python", "console"}


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(m.group(1), m.group(2)) for m in BLOCK.finditer(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [b for b in blocks(page) if b[0] in RUNNABLE]
    if page.name == "README.md":
        found = [b for b in found if "run.py" not in b[1]]  # the two set-up commands are what runs this test
    monkeypatch.chdir(tmp_path)
    python = "".join(f"# block {i}\n{text}\n" for i, (kind, text) in enumerate(found) if kind == "python")
    for kind, text in found:
        if kind == "console":
            run_console(text, tmp_path)
        elif python:
            done = subprocess.run([sys.executable, "-W", "error", "-c", python], cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-3000:]
            python = ""


def run_console(text: str, folder: Path) -> None:
    shoal = shutil.which("shoal", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert shoal, "the command 'shoal' is not installed"
    for line in text.splitlines():
        if not line.startswith("$ "):
            continue
        command, _, comment = line[2:].partition("  # ")
        expected = int(re.search(r"exit (\d)", comment).group(1)) if "exit" in comment else 0
        environment = {**os.environ, "PATH": f"{Path(shoal).parent}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, env=environment)
        assert done.returncode == expected, f"{shlex.quote(command)}: exit {done.returncode}\n{done.stderr[-2000:]}"


def test_every_command_is_documented() -> None:
    import typer

    from shoal.cli import build

    names = sorted(typer.main.get_command(build()).commands)
    text = "\n".join(p.read_text(encoding="utf-8") for p in PAGES)
    missing = [n for n in names if not re.search(rf"shoal {re.escape(n)}\b", text)]
    assert names
    assert not missing, f"commands that no page mentions: {missing}"
