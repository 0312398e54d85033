"""Run the blocks of a page of the documentation and compare what they print with what the page shows.

``python`` blocks of a page run from top to bottom in one process, each compared with the ``output`` block right below it, if
there is one. Lines of ``console`` blocks that begin with ``$`` are commands, which must end with exit code 0 (or the code named
in a comment ``# exit 1`` at the end of the line); the lines below are what is printed. In what is shown ``…`` stands for any
text, on a line of its own for any lines. A block with a ``title`` is a file that lies beside the page. A comment
``<!-- data: adult/adult.csv -->`` puts a public data set there, ``<!-- picture: a.svg -->`` says that the page makes a picture
which stands in ``docs/images``.

``python tests/docs_pages.py PAGE …`` writes what is printed now in the place of each line ``?``, and draws the pictures anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import nursery

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "images"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = [p for p in PAGES if p.parent.name == "tutorials"]
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"<!-- data: (\S+) -->")
FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)
DRAWN = re.compile(r"<!-- picture: (\S+) -->")
BETWEEN = "\x1e"
SHELL = set("$`*?~!{}\\\n")
"""Characters that a shell may replace: a command with one of them is left to bash, like a command with a pipe."""
COMMANDS = """
import json, os, sys, tempfile
from shoal.__main__ import main
answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    sys.argv = ["shoal", *json.loads(line)]
    with tempfile.TemporaryFile() as out:
        os.dup2(out.fileno(), 1), os.dup2(out.fileno(), 2)
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        sys.stdout.flush(), sys.stderr.flush()
        out.seek(0)
        print(json.dumps([code, out.read().decode()]), file=answers, flush=True)
"""
"""One process that runs the ``shoal`` commands of a page one after the other: libraries and kernels are loaded once."""


@dataclass
class Step:
    """A command or a block of Python, and what the page shows of its output (``None``: nothing)."""

    kind: str
    text: str
    shown: str | None


def steps(page: Path) -> list[Step]:
    out: list[Step] = []
    for kind, text in ((m.group(1), m.group(2)) for m in BLOCK.finditer(page.read_text(encoding="utf-8"))):
        if kind == "python":
            out.append(Step(kind, text, None))
        elif kind == "output" and out and out[-1].kind == "python":
            out[-1].shown = text
        elif kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                out.append(Step(kind, command, shown if shown.strip() else None))
    if page.name == "README.md":
        out = [s for s in out if "run.py" not in s.text]  # the two set-up commands are what runs this test
    return out


def run(page: Path, folder: Path, data: Path | None, python: Path | None = None) -> list[tuple[Step, str]]:
    """Run every step in ``folder``; each with what it printed. A step that fails raises AssertionError.

    The Python blocks of a page are one program, which runs where the first of them stands, and the ``shoal`` commands share one
    process. With ``python``, an interpreter of another environment, everything runs there, with nothing of the checkout, and the
    first command is the installed program in a process of its own.
    """
    env = {k: v for k, v in os.environ.items() if python is None or k != "PYTHONPATH"}
    env["XDG_STATE_HOME"] = str(folder / ".state")  # what Shoal remembers between runs
    whole = page.read_text(encoding="utf-8")
    for name in NEEDS.findall(whole):
        assert data is not None
        shutil.copy(data / name, folder / Path(name).name)
    for name, text in FILE.findall(whole):
        (folder / name).write_text(text, encoding="utf-8")
    found, out, printed = steps(page), [], None
    with contextlib.ExitStack() as ends:
        commands = ends.enter_context(_started(folder, env)) if python is None else None
        for step in found:
            if step.kind == "console":
                out.append((step, _command(step.text, folder, python or Path(sys.executable), env, commands)))
                commands = commands or ends.enter_context(_started(folder, env, python))
            else:
                printed = printed or iter(_python([s.text for s in found if s.kind == "python"], folder, python, env))
                out.append((step, next(printed)))
    return out


def check(page: Path, folder: Path, data: Path | None, python: Path | None = None) -> None:
    """Assert that every step prints what the page shows, and that its pictures are drawn as they stand in ``docs/images``."""
    for step, printed in run(page, folder, data, python):
        assert step.shown is None or same(step.shown, printed), f"{step.text}\n{printed}"
    for name in DRAWN.findall(page.read_text(encoding="utf-8")):
        shown, drawn = (drawing(place / name) for place in (PICTURES, folder))
        assert "<style" not in drawn
        assert shown == drawn, f"{name} is drawn otherwise now"


def _python(blocks: list[str], folder: Path, python: Path | None, env: dict[str, str]) -> list[str]:
    if not blocks:
        return []
    program = f"print({BETWEEN!r}, end='')\n".join(f"# block {i}\n{text}\n" for i, text in enumerate(blocks))
    if python is None:
        code, printed, said = nursery.run(program, folder, env, strict=True)
    else:
        done = subprocess.run([python, "-W", "error", "-c", program], cwd=folder, capture_output=True, text=True, env=env)
        code, printed, said = done.returncode, done.stdout, done.stderr
    assert code == 0, said[-3000:]
    return printed.split(BETWEEN)


@contextlib.contextmanager
def _started(folder: Path, env: Mapping[str, str], python: Path | None = None) -> Iterator[tuple[TextIO, TextIO]]:
    """The way to and from the process of the commands: a warm one, or one of another environment."""
    shown = {**env, "NO_COLOR": "1", "COLUMNS": "80"}
    if python is not None:
        pipe = subprocess.PIPE
        with subprocess.Popen([python, "-c", COMMANDS], cwd=folder, env=shown, stdin=pipe, stdout=pipe, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            yield process.stdin, process.stdout
            process.stdin.close()
            assert process.wait() == 0
        return
    (read, questions), (answers, write) = os.pipe(), os.pipe()
    child = nursery.Child(COMMANDS, folder, shown, [read, write, 2])
    os.close(read)
    os.close(write)
    with open(answers) as told:
        with open(questions, "w") as asked:
            yield asked, told
        assert child.wait() == 0


def _words(command: str) -> list[str] | None:
    """The arguments of a plain ``shoal`` command; None if it needs a shell.

    >>> _words("shoal check 'a b.csv' --require 'known[1]>=5'"), _words("shoal measure a.csv | head"), _words("cat a.csv")
    (['check', 'a b.csv', '--require', 'known[1]>=5'], None, None)
    """
    words = list(shlex.shlex(command, posix=True, punctuation_chars=True)) if SHELL.isdisjoint(command) else []
    if words[:1] != ["shoal"] or any(set(word) <= set("();<>|&") for word in words):
        return None
    return shlex.split(command)[1:]


def _command(text: str, folder: Path, python: Path, env: Mapping[str, str], commands: tuple[TextIO, TextIO] | None) -> str:
    command, _, comment = text.partition("  # ")
    expected = int(re.search(r"exit (\d)", comment).group(1)) if "exit" in comment else 0
    if commands is not None and (words := _words(command)) is not None:
        asked, told = commands
        asked.write(json.dumps(words) + "\n")
        asked.flush()
        code, printed = json.loads(told.readline())
    else:
        shoal = shutil.which("shoal", path=f"{python.parent}{os.pathsep}{env['PATH']}")
        assert shoal, "the command 'shoal' is not installed"
        more = {"PATH": f"{Path(shoal).parent}{os.pathsep}{env['PATH']}", "NO_COLOR": "1", "COLUMNS": "80"}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}  # one after the other, as a terminal shows them
        done = subprocess.run(["bash", "-c", command], cwd=folder, text=True, env={**env, **more}, **streams)
        code, printed = done.returncode, done.stdout
    assert code == expected, f"{shlex.quote(command)}: exit {code}\n{printed[-2000:]}"
    return printed


def same(shown: str, printed: str) -> bool:
    """Whether the page shows what was printed: spaces at the ends of lines and empty lines at the ends of it do not count."""
    lines = [line.rstrip() for line in shown.strip("\n").splitlines()]
    parts = [r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in lines]
    text = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch("".join(parts), text) is not None


def drawing(file: Path) -> str:
    """What a picture draws: its marks and words, without the style sheet that all pictures share."""
    return re.sub(r"<style>.*?</style>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)


def write(page: Path, folder: Path, data: Path) -> None:
    """Put what is printed now in the place of each line ``?``, and what is drawn now into the pictures."""
    text = page.read_text(encoding="utf-8")
    for step, printed in run(page, folder, data):
        if step.shown is not None and step.shown.strip() == "?":
            clean = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
            text = text.replace(f"{step.text}\n?", f"{step.text}\n{clean}", 1)
            text = text.replace(f"{step.text}```\n\n```output\n?", f"{step.text}```\n\n```output\n{clean}", 1)
        elif step.shown is not None and not same(step.shown, printed):
            sys.stderr.write(f"differs: {step.text}\n{printed}\n")
    page.write_text(text, encoding="utf-8")
    for name in DRAWN.findall(text):
        shutil.copy(folder / name, PICTURES / name)


if __name__ == "__main__":
    for named in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as made:
            write(Path(named).resolve(), Path(made), Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data")))
