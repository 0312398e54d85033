"""``shoal anonymize TABLE --draft FILE``: a policy to edit, with suggested roles and the reasons as comments."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import shoal
from shoal.cli import _shared
from shoal.cli._shared import shell_word
from shoal.disk.atomic import write_text
from shoal.errors import ShoalError, UsageError
from shoal.model.certificate.parts import OtherMethod
from shoal.model.roles import Role
from shoal.release.make.known_columns import finding_columns
from shoal.release.plan.decide import TOO_FINE, decide
from shoal.release.plan.starting_plans import PRECIOUS, FirstPlan, first_plan
from shoal.release.policy.draft import KNOWN, amounts_as_known, draft_policy
from shoal.release.policy.policy import Policy

if TYPE_CHECKING:
    from shoal.api.inspect import Inspection
    from shoal.release.plan.prepare import Prepared
    from shoal.release.plan.published_classes import Decision

FEW_UNDECIDED = 8
"""Undecided columns up to which a draft tries to keep them as quasi-identifiers."""
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
    plan, rest, finding = None, "quasi", None
    out = {c.name: f"it follows from '{c.follows}'" for c in found.columns if c.follows and c.role is Role.QUASI}
    with _shared.progress("trying plans") as told:
        precious = [c.name for c in found.columns if c.topic in PRECIOUS]
        for rest in _rests(found):
            asked = Policy.parse(draft_policy(found, read=read, rest=rest, out=out))
            plan = first_plan(opened, asked, precious=precious, progress=told)
            if not plan.left_out and not plan.problem:
                break
        if plan is not None and plan.tried is not None:
            told(0.9, "counting what a few known columns find")
            plan, finding = _finding(plan, plan.tried)
    out |= finding or {}
    write_text(target, draft_policy(found, plan, read, rest=rest, out=out, known=finding is not None))
    if as_json:
        _shared.put_json({"draft": str(target), "columns": len(found.columns)})
    else:
        step = "Read it, correct the roles."
        if plan is not None and plan.problem:
            step = f"As it stands, the run will stop: {plan.problem}"
        if found.undecided:
            fate = "treated as quasi-identifiers" if rest == "quasi" else "left out"
            step += f" {_shared.plural(len(found.undecided), 'undecided column')}: {fate} unless you decide."
        if not found.quasi and not found.undecided:
            step = "No column was found that others could know: name at least one under quasi in it."
        _shared.line(f"Wrote {target}. {step}")
        _shared.next_step(f"shoal anonymize {_shared.named(table)} --policy {shell_word(target)} --out release", within=True)


def _finding(plan: FirstPlan, tried: tuple[Prepared, Decision]) -> tuple[FirstPlan, dict[str, str] | None]:
    """The columns that find people beside others, and the plan: one level per column if fewer have to stay out with that."""
    prepared, decision = tried
    out = finding_columns(prepared, decision, KNOWN / 2)  # the plan of the release may be finer
    if not out or decision.method != "local":
        return plan, out
    try:
        one = decide(replace(prepared, policy=replace(prepared.policy, method="lattice")))
    except ShoalError:  # it would leave too little
        return plan, out
    fewer = finding_columns(prepared, one, KNOWN / 2)
    if fewer is None or len(fewer) >= len(out):
        return plan, out
    return replace(plan, method=one.method, loss=one.loss, others=(OtherMethod("local", None, 0, TOO_FINE),)), fewer


def _rests(found: Inspection) -> tuple[str, ...]:
    """What a draft may do with undecided columns: quasi-identifiers if they are few and it costs no column, else left out."""
    if not found.undecided:
        return ("drop",) if found.quasi else ()
    if not found.quasi:
        return ("quasi",)
    return ("quasi", "drop") if len(found.undecided) <= FEW_UNDECIDED else ("drop",)


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
