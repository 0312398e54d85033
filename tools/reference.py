"""Write the page of the Python names from their signatures and docstrings: python tools/reference.py docs/reference.md."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import shoal

HEAD = """# Python reference

Every public name of `shoal`, from its own docstring (`tools/reference.py` writes this page). `help(shoal.measure)` says the same.
"""
ROOMS = "They hold the parts that the functions above are made of: see [the house](architecture.md)."


def text() -> str:
    """The whole page."""
    named = {name: getattr(shoal, name) for name in shoal.__all__ if not name.startswith("_")}
    functions = [_function(f"shoal.{n}", f) for n, f in named.items() if inspect.isfunction(f)]
    classes = [_class(n, c) for n, c in named.items() if inspect.isclass(c)]
    rooms = [f"| `shoal.{n}` | {_first(m)} |" for n, m in named.items() if inspect.ismodule(m)]
    parts = [HEAD, "## Functions\n", *functions, "## What they return\n", *classes, "## Rooms\n", ROOMS]
    return "\n".join([*parts, "\n| room | holds |\n| --- | --- |", *rooms]) + "\n"


def _function(name: str, function: Any) -> str:
    return f"### {name}\n\n```text\n{name}{_signature(function)}\n```\n\n{_prose(inspect.getdoc(function) or '')}\n"


def _class(name: str, kind: type) -> str:
    named = {n: m for base in reversed(kind.__mro__) if base.__module__.startswith("shoal") for n, m in vars(base).items()}
    own = [row for n, m in sorted(named.items()) if not n.startswith("_") and (row := _member(n, m))]
    table = "\n\n| name | what |\n| --- | --- |\n" + "\n".join(own) if own else ""
    return f"### shoal.{name}\n\n{_prose(inspect.getdoc(kind) or '')}{table}\n"


def _member(name: str, member: Any) -> str:
    """A row of the table of a class; empty for what is neither a property nor a method with a docstring."""
    inner = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", None) or member
    if not callable(inner) or not inspect.getdoc(inner):
        return ""
    called = "()" if inspect.isfunction(member) or isinstance(member, classmethod | staticmethod) else ""
    return f"| `{name}{called}` | {_first(inner)} |"


def _signature(function: Any) -> str:
    """One parameter a line, as in the source; objects that are defaults by their name only."""
    found = inspect.signature(function)
    made = re.sub(r"<function (\w+) at 0x[0-9a-f]+>", r"\1", str(found)).replace("'", "")
    return made if len(made) <= 110 else re.sub(r", (?=\*|\w+: )", ",\n    ", made.replace("(", "(\n    ", 1))


def _first(thing: Any) -> str:
    return _prose(inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def _prose(doc: str) -> str:
    """Markdown of a docstring: roles and double backticks become code, sections a list, examples a block."""
    doc = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", doc).replace("``", "`")
    parts = re.split(r"^(\w+)\n-{3,}\n", doc, flags=re.MULTILINE)
    out = [_examples(parts[0].strip())]
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        written = _examples(body.strip()) if heading == "Examples" else _entries(body.strip())
        out.append(f"**{heading}**\n\n{written}")
    return "\n\n".join(out)


def _entries(body: str) -> str:
    """``name : kind`` and the lines below it, set in, as an item of a list."""
    out: list[str] = []
    for line in body.splitlines():
        if line.startswith("    ") and out:
            out[-1] += f" {line.strip()}"
        elif line.strip():
            name, _, kind = line.partition(" : ")
            out.append(f"* `{name}` ({kind}):" if kind else f"* {line}:")
    return "\n".join(out)


def _examples(body: str) -> str:
    return re.sub(r"(?m)^>>> (?:.*\n?)+?(?=\n|\Z)", lambda m: f"```pycon\n{m[0].rstrip()}\n```\n", body).strip()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")
