"""What ``shoal anonymize`` tells of a release: its cost first, what holds, what an attacker still learns, where it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

import shoal
from shoal.cli import _shared
from shoal.cli._shared import shell_word
from shoal.disk.atomic import free
from shoal.model.display import written

if TYPE_CHECKING:
    from shoal.model.attack import AttackResult
    from shoal.model.certificate.events import EventCertificate, EventSteps
    from shoal.model.certificate.parts import Classing
    from shoal.release.events.release import EventRelease
    from shoal.release.make.release import Release


ATTACKS_SHOWN = 5
"""Warnings of attacks that are printed, the gravest first; the report has all."""


def show_release(release: Release, out: Path, place: str = "") -> None:
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
        more = _shared.plural(len(told) - ATTACKS_SHOWN, "more warning")
        _shared.line(f"  … {more}: {_shared.printable(str(out / 'report.html'))}")
    if release.private_file is not None:
        if release.plan.draws:
            _shared.line(
                f"The seed of the random changes is in {release.private_file}: keep it separate; anyone who has it can undo them."
            )
        elif made.input.objections is not None:
            _shared.line(f"What the list of objections can be checked with is in {release.private_file}: keep it apart.")
        else:
            _shared.line(f"The whole plan, with rare values that are not published, is in {release.private_file}: keep it apart.")
    _shared.tell_losses(release.not_kept, after=True)
    if made.key is not None:
        _shared.line(f"Signed with key {made.key.fingerprint} ({made.key.origin}).")
    where = f" --table {shell_word(place)}" if place else ""
    again = f"shoal verify {shell_word(out)}{where}"
    _shared.line(f"Written and counted again: {_shared.printable(str(out))}/")
    _shared.next_step(f"{again} proves it again, any time.", within=True)


def show_ledger(earlier: AttackResult, kept: Path | None) -> None:
    """What this release and the owner's earlier ones tell together; for the owner alone."""
    from shoal.release.earlier.ledger import folder

    if earlier.verdict != "not run" or "cannot be read" in earlier.sentence:
        _shared.line(f"  {earlier.verdict}  {earlier.name}: {_shared.printable(earlier.sentence)}")
    if earlier.verdict == "warning":
        _shared.line(f"If nobody ever received one of these folders, remove the file that names it from {folder()}.")
        _shared.next_step("Run again with --previous FOLDER: Shoal then refuses a release that singles people out.", within=True)
    if kept is None:
        _shared.line("This release cannot be kept in your ledger: name its folder with --previous next time.")


def _class_line(one: Classing) -> str:
    """A column under the list of identifiers of the preset: its class, the evidence, and what became of it."""
    line = f"{one.column}: {one.found} ({one.evidence})"
    if one.reason:
        return f"{line}; none of them, as the policy says: {one.reason}"
    coarse = one.released != one.found
    return f"{line} -> {one.released.removeprefix(one.found).lstrip(', ')}" if coarse else line


def show_event_release(release: EventRelease, out: Path) -> None:
    """The cost first, then what was done, what holds, and where it is."""
    made = release.certificate
    typer.secho(made.cost.sentence, fg="red" if made.cost.loss > 0.8 else None)
    _shared.line(f"Published: {_done(made.steps)}.")
    if made.objections is not None:
        _shared.line(made.objections.sentence)
    _shared.line(made.verdict)
    for finding in made.requirements:
        told = "none" if finding.found is None else written(finding.found)
        _shared.line(f"  ok  {_shared.printable(finding.sentence)} (found {told})")
    out_ = _shared.console()
    out_.print(
        _shared.table_of("What known records reveal", ("known", "alone before", "alone now"), _known(made), right=(0, 1, 2))
    )
    rows = [
        (u.name, _shared.shown(u.before, 6), _shared.shown(u.after, 6), "" if u.kept is None else f"{written(100 * u.kept, 3)} %")
        for u in made.uses
    ]
    out_.print(_shared.table_of("What it still tells", ("", "before", "after", "kept"), rows, right=(1, 2, 3)))
    for attack in made.attacks:
        if attack.verdict in ("broken", "warning"):
            _shared.line(f"  {attack.verdict}  {attack.name}: {attack.sentence}")
    beside = _shared.printable(str(release.private_file))
    drawn = "of what was drawn" if made.steps.vault else "of the pseudonyms"
    _shared.line(f"The seed {drawn} is in {beside}: keep it apart, with the table it undoes them.")
    if made.key is not None:
        _shared.line(f"Signed with key {made.key.fingerprint} ({made.key.origin}).")
    place = _shared.printable(str(out))
    _shared.line(f"Written and counted again: {place}/")
    _shared.next_step(f"shoal verify {shell_word(place)} proves it again, any time.", within=True)


def _done(steps: EventSteps) -> str:
    parts = [f"time {steps.time}"] if steps.time else []
    parts += [f"place {steps.place}"] if steps.place else []
    parts += [f"at most {steps.most_records:,} records per person"] if steps.most_records else []
    parts += [f"a new pseudonym: {steps.renew}"] if steps.renew != "never" else []
    parts += [f"pseudonyms of the vault's domain {steps.vault}"] if steps.vault else []
    parts += [f"dates shifted by up to {steps.shift} days"] if steps.shift else []
    return _shared.printable(", ".join(parts))


def _known(made: EventCertificate) -> list[tuple[str, str, str]]:
    from shoal.report.numbers import percent

    before = {b.records: percent(b.alone) for b in made.before}
    after = {int(s): percent(a) for s, a in made.judged_by.alone.items()}
    return [(f"{s}", before.get(s, ""), after.get(s, "")) for s in sorted({*before, *after})]


def release_linked(policy: Path, out: Path, form: str, key: Path | None, exclude: str | None, *, as_json: bool) -> None:
    """Several tables about the same people, released together."""
    free(out)
    with _shared.progress("anonymizing") as told:
        release = shoal.anonymize_tables(policy, key_file=key, format=form, exclude=exclude, progress=told)
        release.write(out, progress=told)
        release.close()
    made = release.certificate
    if as_json or made is None:
        _shared.put_json(release.to_json())
        return
    _shared.line(made.verdict)
    for name, levels in release.levels.items():
        told_levels = ", ".join(f"{_shared.printable(c)} {n}" for c, n in levels.items())
        _shared.line(f"  {_shared.printable(name)}: level of {told_levels}")
    _shared.line(f"Loss {written(made.loss, 3)} of 1; not proven to be the least.")
    for attack in made.attacks:
        if attack.verdict != "holds":
            _shared.line(f"  {attack.verdict}  {_shared.printable(attack.name)}: {_shared.printable(attack.sentence)}")
    if release.private_file is not None:
        _shared.line(f"What the list of objections can be checked with is in {release.private_file}: keep it apart.")
    if made.key is not None:
        _shared.line(f"Signed with key {made.key.fingerprint} ({made.key.origin}).")
    _shared.line(f"Written and counted again: {_shared.printable(str(out))}/")
    _shared.next_step(f"shoal verify {shell_word(out)} proves it again, any time.", within=True)
