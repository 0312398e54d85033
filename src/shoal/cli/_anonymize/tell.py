"""What ``shoal anonymize`` tells of a release: its cost first, what holds, what an attacker still learns, where it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal.cli import _shared
from shoal.cli._shell.again import word

if TYPE_CHECKING:
    from shoal.model.certificate.parts import Classing
    from shoal.release.make.release import Release

ATTACKS_SHOWN = 5
"""Warnings of attacks that are printed, the gravest first; the report has all."""


def tell(release: Release, out: Path, place: str = "") -> None:
    from shoal.model.certificate.certificate import cost_of

    made = release.certificate
    cost = cost_of(made)
    _shared.console().print(_shared.printable(cost.sentence), style="bold red" if cost.blank else "bold", markup=False)
    for column, why in release.inferred.items():
        _shared.line(f"guessed  {_shared.printable(column)}: {_shared.printable(why)}")
    _shared.line(made.verdict)
    for finding in made.requirements:
        found = "none" if finding.found is None else _shared.shown(finding.found, 6)
        _shared.line(f"  ok  {_shared.printable(finding.sentence)} (found {found})")
    for one in made.identifiers or ():
        _shared.line(f"  class  {_shared.printable(_class_line(one))}")
    told = [a for a in made.attacks if a.verdict in ("broken", "warning")]
    for attack in told[:ATTACKS_SHOWN]:
        _shared.line(f"  {attack.verdict}  {_shared.printable(attack.name)}: {_shared.printable(attack.sentence)}")
    if len(told) > ATTACKS_SHOWN:
        _shared.line(f"  … {len(told) - ATTACKS_SHOWN} more warnings: {_shared.printable(str(out / 'report.html'))}")
    if release.private_file is not None:
        if release.plan.draws:
            _shared.line(
                f"The seed of the random changes is in {release.private_file}: keep it apart, whoever has it can undo them."
            )
        elif made.input.objections is not None:
            _shared.line(f"What the list of objections can be checked with is in {release.private_file}: keep it apart.")
        else:
            _shared.line(f"The whole plan, with rare values that are not published, is in {release.private_file}: keep it apart.")
    _shared.tell_losses(release.not_kept, after=True)
    if made.key is not None:
        _shared.line(f"Signed with key {made.key.fingerprint} ({made.key.origin}).")
    where = f" --table {word(place)}" if place else ""
    again = f"shoal verify {word(out)}{where}"
    _shared.line(f"Written and counted again: {_shared.printable(str(out))}/")
    _shared.next_step(f"{again} proves it again, any time.", within=True)


def _class_line(one: Classing) -> str:
    """A column under the list of identifiers of the preset: its class, the evidence, and what became of it."""
    line = f"{one.column}: {one.found} ({one.evidence})"
    if one.reason:
        return f"{line}; none of them, as the policy says: {one.reason}"
    coarse = one.released != one.found
    return f"{line} -> {one.released.removeprefix(one.found).lstrip(', ')}" if coarse else line
