"""``shoal anonymize TABLE --draft FILE``: a policy to edit, with suggested roles and the reasons as comments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import shoal
from shoal.cli import _shared
from shoal.cli._shared import shell_word
from shoal.disk.atomic import write_text
from shoal.errors import UsageError
from shoal.release.plan.starting_plans import PRECIOUS, first_plan
from shoal.release.policy.draft import amounts_as_known, draft_policy
from shoal.release.policy.policy import Policy

if TYPE_CHECKING:
    from shoal.api.inspect import Inspection

SHOWN = 12
"""Columns with spellings of "missing" that are shown before the question."""


def write_draft(table: str, target: Path, reading: dict[str, Any], known: dict[str, Any], *, as_json: bool) -> None:
    """A policy to edit: suggested roles with their reasons as comments."""
    if target.exists():
        raise UsageError(f"'{target.name}' exists already.", hint="Name a new file after --draft.")
    with _shared.progress("looking at the columns") as told:
        opened = shoal.open(table, **reading)
        found = amounts_as_known(shoal.inspect(opened, progress=told, **known))
    said = {c.name for c in found.columns if opened.schema[c.name].missing_values}
    read = said | ({c.name for c in found.columns if c.missing_values and c.name not in said} if _asked(found, said) else set())
    plan = None
    with _shared.progress("trying plans") as told:
        if found.quasi:
            asked = Policy.parse(draft_policy(found, read=read))
            precious = [c.name for c in found.columns if c.topic in PRECIOUS]
            plan = first_plan(opened, asked, precious=precious, progress=told)
    write_text(target, draft_policy(found, plan, read))
    if as_json:
        _shared.put_json({"draft": str(target), "columns": len(found.columns)})
    else:
        step = "Read it, correct the roles."
        if plan is not None and plan.problem:
            step = f"As it stands, the run will stop: {plan.problem}"
        if not found.quasi:
            step = "No column was found that others could know: name at least one under quasi in it."
        _shared.line(f"Wrote {target}. {step}")
        _shared.next_step(f"shoal anonymize {_shared.named(table)} --policy {shell_word(target)} --out release", within=True)


def _asked(found: Inspection, said: set[str]) -> bool:
    """Whether the spellings found are to be read as missing; asked where somebody can answer."""
    spelled = [(c.name, c.missing_values) for c in found.columns if c.missing_values and c.name not in said]
    if not spelled or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    for name, values in spelled[:SHOWN]:
        _shared.say(f"  {name}: {', '.join(values)}")
    if len(spelled) > SHOWN:
        _shared.say(f"  and {len(spelled) - SHOWN:,} more columns")
    return typer.confirm("Do these values mean 'no value'?", default=True, err=True)
