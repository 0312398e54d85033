"""An ARX project (``.deid``): its table, hierarchies, types of attributes and privacy models, as a table and a policy.

A project is a zip archive: ``data/input.csv``, ``input/definition.xml`` (type and hierarchy of each attribute),
``input/hierarchies/*.csv`` and ``input/config.xml`` (models and suppression limit). What ARX computed is not read.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.api.arguments import open as open_table
from shoal.disk import atomic as disk_folder
from shoal.disk.atomic import write_text
from shoal.errors import UnreadableError
from shoal.kernels.text import xml_tree
from shoal.systems.folder import Archive, Brought, opened

ROLES = {
    "IDENTIFYING_ATTRIBUTE": "direct",
    "QUASI_IDENTIFYING_ATTRIBUTE": "quasi",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "insensitive",
}
AGAIN = "Save it again in ARX."
NOT_CARRIED = "privacy models that this draft does not carry over: add them by hand"
HEAD = "# A draft from an ARX project. Read every line: a role is your decision.\n"


@dataclass(frozen=True)
class Attribute:
    """One column of a project: its role, the file of its hierarchy in the archive, and which levels are allowed."""

    name: str
    role: str
    hierarchy: str = ""
    low: int | None = None
    high: int | None = None


def from_arx(source: str | Path, out: str | Path, *, k: int = 5) -> Brought:
    """A new folder with ``data.csv``, hierarchies and ``policy.yml``; ``k`` where the project asks for no k-anonymity."""
    target = disk_folder.free(out)
    with opened(Path(source)) as project, disk_folder.staged(target.absolute().parent) as work:
        for needed in ("data/input.csv", "input/definition.xml"):
            if needed not in project.names:
                raise UnreadableError("this archive is not an ARX project with its data.", hint=AGAIN)
        attributes = list(_attributes(project))
        (work / "data.csv").write_bytes(project.read("data/input.csv"))
        (work / "hierarchies").mkdir()
        files = {}
        for number, a in enumerate((a for a in attributes if a.hierarchy), start=1):
            files[a.name] = f"hierarchies/{number}.csv"
            (work / files[a.name]).write_bytes(project.read(a.hierarchy))
        asked, allowed, left = _models(project, k)
        write_text(work / "policy.yml", _policy(attributes, files, asked, allowed))
        with open_table(work / "data.csv") as table:
            rows = table.n_rows()
            missing = [a for a in attributes if a.name not in table.schema]
        if missing:
            raise UnreadableError("the project names columns that its table does not have.", hint=AGAIN)
        disk_folder.publish(work, target)
    return Brought({"data": rows}, dict(left))


def _attributes(project: Archive) -> Iterator[Attribute]:
    root = xml_tree(project.read("input/definition.xml"), "the project's definition", AGAIN)
    for cell in root.iter("assigment"):  # so spelled by ARX
        cell_texts = {child.tag: (child.text or "").strip() for child in cell}
        role = ROLES.get(cell_texts.get("type", ""))
        if role is None:
            raise UnreadableError("an attribute of the project has a type that is not known.", hint=AGAIN)
        file = f"input/{cell_texts['ref']}" if cell_texts.get("ref") else ""
        if role != "quasi" or file not in project.names:
            file = ""
        low, high = (int(cell_texts[end]) if file and cell_texts.get(end, "").isdigit() else None for end in ("min", "max"))
        yield Attribute(cell_texts.get("name", ""), role, file, low, high)


def _models(project: Archive, k: int) -> tuple[dict[str, Any], float, Counter[str]]:
    """What is required, the share of records that may be left out, and what was not carried over."""
    if "input/config.xml" not in project.names:
        return {"k": k}, 0.05, Counter()
    root = xml_tree(project.read("input/config.xml"), "the project's configuration", AGAIN)
    asked: dict[str, Any] = {}
    left: Counter[str] = Counter()
    for cell in root.iter("criterion"):
        if not _carry_over(" ".join((cell.text or "").split()), asked):
            left[NOT_CARRIED] += 1
    asked.setdefault("k", k)
    try:
        allowed = float(root.findtext("relativeMaxOutliers", "0.05"))
    except ValueError:
        allowed = 0.05
    return asked, min(max(allowed, 0.0), 1.0), left


def _carry_over(model: str, asked: dict[str, Any]) -> bool:
    """Add a model to the requirements; False where there is none that means the same."""
    if match := re.fullmatch(r"(\d+)-[aA]nonymity", model):
        if int(match[1]) < 2:
            return False
        asked["k"] = max(int(match[1]), asked.get("k", 0))
        return True
    if match := re.fullmatch(r"(distinct|entropy|shannon-entropy)-([\d.]+)-diversity for attribute '(.+)'", model):
        kind, limit = match[1].removeprefix("shannon-"), float(match[2])
        if limit <= 1 or not (kind == "entropy" or limit.is_integer()):
            return False
        column = asked.setdefault("diversity", {}).setdefault(match[3], {})
        column[kind] = limit if kind == "entropy" else int(limit)
        return True
    return False


def _policy(attributes: Sequence[Attribute], files: dict[str, str], asked: dict[str, Any], allowed: float) -> str:
    lines = [HEAD + "roles:"]
    for role in ("direct", "quasi", "sensitive", "insensitive"):
        some = [a for a in attributes if a.role == role]
        if role == "quasi":
            lines.append("  quasi:")
            given = [{"hierarchy": files.get(a.name), "min_level": a.low, "max_level": a.high} for a in some]
            levels = [{word: value for word, value in rule.items() if value is not None} for rule in given]
            lines += [f"    {_text(a.name)}: {_text(rule)}" for a, rule in zip(some, levels, strict=True)]
        elif some:
            lines.append(f"  {role}: {_text([a.name for a in some])}")
    return "\n".join([*lines, f"require: {_text(asked)}", f"allow: {_text({'suppress': allowed})}"]) + "\n"


_text = functools.partial(json.dumps, ensure_ascii=False)
"""A value as YAML reads it on one line, with any text in a name."""
