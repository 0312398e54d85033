"""What ``shoal anonymize`` tells of a release: its cost first, what holds, what an attacker still learns, where it is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import shoal
from shoal.api.inspect import first_look
from shoal.cli import _shared
from shoal.cli._shared import shell_word
from shoal.disk.atomic import free, write_text
from shoal.errors import UsageError
from shoal.model.certificate.certificate import cost_of
from shoal.model.display import written
from shoal.model.roles import Role
from shoal.release.make.known_columns import finding_columns
from shoal.release.plan.loss_limits import too_little
from shoal.release.plan.starting_plans import PRECIOUS, StoppedDraftError, first_plan
from shoal.release.policy.draft import KNOWN, amounts_as_known, draft_policy
from shoal.release.policy.policy import Policy

if TYPE_CHECKING:
    from shoal.api.inspect import Inspection
    from shoal.model.attack import AttackResult
    from shoal.model.certificate.events import EventCertificate, EventSteps
    from shoal.model.certificate.parts import Classing, Key
    from shoal.release.events.release import EventRelease
    from shoal.release.make.release import Release
    from shoal.release.plan.prepare import Prepared
    from shoal.release.plan.published_classes import Decision


ATTACKS_SHOWN = 5
"""Warnings of attacks that are printed, the gravest first; the report has all."""


def show_release(release: Release, out: Path, place: str = "", earlier: AttackResult | None = None) -> None:
    """The release, with what it and the owner's ``earlier`` ones tell together: that is for the owner alone."""
    certificate = release.certificate
    cost = cost_of(certificate)
    _shared.line(cost.sentence, style="bold red" if cost.blank else "bold")
    for line in (note for note in certificate.notes or () if note.startswith("Objective: ")):
        _shared.line(line)
    for column, why in release.inferred.items():
        _shared.line(f"guessed  {column}: {why}")
    _shared.line(certificate.verdict)
    counted = "" if certificate.requirements_people is None else ", counting people"
    for finding in certificate.requirements_people or certificate.requirements:
        value = "none" if finding.found is None else _shared.shown(finding.found, 6)
        _shared.line(f"  ok  {finding.sentence} (found {value}{counted})")
    for one in certificate.identifiers or ():
        _shared.line(f"  class  {_class_line(one)}")
    marked = [a for a in certificate.attacks if a.verdict in ("broken", "warning")]
    for attack in marked[:ATTACKS_SHOWN]:
        _shared.line(f"  {attack.verdict}  {attack.name}: {attack.sentence}")
    if len(marked) > ATTACKS_SHOWN:
        more = _shared.plural(len(marked) - ATTACKS_SHOWN, "more warning")
        _shared.line(f"  … {more}: {out / 'report.html'}")
    together = earlier is not None and _show_ledger(earlier, release.ledger_file)
    if release.private_file is not None:
        if release.plan.draws:
            _shared.line(
                f"The seed of the random changes is in {release.private_file}: keep it separate; anyone who has it can undo them."
            )
        elif certificate.input.objections is not None:
            _shared.line(f"What the list of objections can be checked with is in {release.private_file}: keep it apart.")
        else:
            _shared.line(f"The whole plan, with rare values that are not published, is in {release.private_file}: keep it apart.")
    _shared.tell_losses(release.not_kept, after=True)
    step = "Run again with --previous FOLDER: a release that singles people out is refused."
    _show_end(certificate.key, out, f" --table {shell_word(place)}" if place else "", step if together else "")


def _show_end(key: Key | None, out: Path, where: str = "", step: str = "") -> None:
    """Who signed, where the folder is, and the next step: verify, unless another ``step`` comes first."""
    if key is not None:
        _shared.line(f"Signed with key {key.fingerprint} ({key.origin}).")
    _shared.line(f"Written and counted again: {out}/")
    _shared.next_step(step or f"shoal verify {shell_word(out)}{where} proves it again, any time.", within=True)


def _show_ledger(earlier: AttackResult, kept: Path | None) -> bool:
    """What this release and earlier ones tell together; whether it is more than this one was asked to."""
    from shoal.release.earlier.ledger import folder

    if earlier.verdict != "not run" or "cannot be read" in earlier.sentence:
        _shared.line(f"  {earlier.verdict}  {earlier.name}: {_shared.printable(earlier.sentence)}")
    if earlier.verdict == "warning":
        _shared.line(f"If nobody ever received one of these folders, remove the file that names it from {folder()}.")
    if kept is None:
        _shared.line("This release cannot be kept in your ledger: name its folder with --previous next time.")
    return earlier.verdict == "warning"


def _class_line(one: Classing) -> str:
    """A column under the list of identifiers of the preset: its class, the evidence, and what became of it."""
    line = f"{one.column}: {one.found} ({one.evidence})"
    if one.reason:
        return f"{line}; none of them, as the policy says: {one.reason}"
    coarse = one.released != one.found
    return f"{line} -> {one.released.removeprefix(one.found).lstrip(', ')}" if coarse else line


def show_event_release(release: EventRelease, out: Path, place: str = "", earlier: AttackResult | None = None) -> None:
    """The cost first, then what was done, what holds, and where it is."""
    certificate = release.certificate
    typer.secho(certificate.cost.sentence, fg="red" if certificate.cost.loss > 0.8 else None)
    _shared.line(f"Published: {_describe_steps(certificate.steps)}.")
    if certificate.objections is not None:
        _shared.line(certificate.objections.sentence)
    _shared.line(certificate.verdict)
    for finding in certificate.requirements:
        value = "none" if finding.found is None else written(finding.found)
        _shared.line(f"  ok  {finding.sentence} (found {value})")
    _shared.show_table("What known records reveal", ("known", "alone before", "alone now"), _known(certificate), right=(0, 1, 2))
    rows = [
        (u.name, _shared.shown(u.before, 6), _shared.shown(u.after, 6), "" if u.kept is None else f"{written(100 * u.kept, 3)} %")
        for u in certificate.uses
    ]
    _shared.show_table("What it still tells", ("", "before", "after", "kept"), rows, right=(1, 2, 3))
    for attack in certificate.attacks:
        if attack.verdict in ("broken", "warning"):
            _shared.line(f"  {attack.verdict}  {attack.name}: {attack.sentence}")
    together = earlier is not None and _show_ledger(earlier, release.ledger_file)
    beside = _shared.printable(str(release.private_file))
    drawn = "of what was drawn" if certificate.steps.vault else "of the pseudonyms"
    _shared.line(f"The seed {drawn} is in {beside}: keep it apart, with the table it undoes them.")
    step = "Run again with --previous FOLDER: the attacks then join the pseudonyms of both releases."
    _show_end(certificate.key, out, f" --table {shell_word(place)}" if place else "", step if together else "")


def _describe_steps(steps: EventSteps) -> str:
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


def release_linked(
    policy: Path, out: Path, form: str, key: Path | None, exclude: str | None, *, ledger: bool, as_json: bool
) -> None:
    """Several tables about the same people, released together."""
    free(out)
    with _shared.progress("anonymizing") as report:
        release = shoal.anonymize_tables(policy, key_file=key, format=form, exclude=exclude, progress=report)
        release.write(out, progress=report)
        earlier = release.remember() if ledger else None
        release.close()
    certificate = release.certificate
    if as_json or certificate is None:
        _shared.put_json(release.to_json() | {"ledger": earlier.to_json() if earlier else None})
        return
    _shared.line(certificate.verdict)
    for name, levels in release.levels.items():
        told_levels = ", ".join(f"{_shared.printable(c)} {n}" for c, n in levels.items())
        _shared.line(f"  {name}: level of {told_levels}")
    _shared.line(f"Loss {written(certificate.loss, 3)} of 1; not proven to be the least.")
    for attack in certificate.attacks:
        if attack.verdict != "holds":
            _shared.line(f"  {attack.verdict}  {attack.name}: {attack.sentence}")
    if earlier is not None:
        _show_ledger(earlier, release.ledger_file)
    if release.private_file is not None:
        _shared.line(f"What the list of objections can be checked with is in {release.private_file}: keep it apart.")
    _show_end(certificate.key, out)


FEW_UNDECIDED = 8
"""Undecided columns up to which a draft tries to keep them as quasi-identifiers."""
MOST_TRIED = 20
"""Quasi-identifiers up to which a draft keeps all that were found; of more it keeps the surest, and leaves the others out."""
SHOWN = 12
"""Columns with spellings of "missing" that are shown before the question."""


def write_draft(table: str, target: Path, reading: dict[str, Any], known: dict[str, Any], *, as_json: bool) -> None:
    """A policy to edit: suggested roles with their reasons as comments."""
    if target.exists():
        raise UsageError(f"'{target.name}' exists already.", hint="Name a new file after --draft.")
    with _shared.progress("looking at the columns") as report:
        opened = shoal.open(table, **reading, **known)
        findings = amounts_as_known(first_look(opened, report))
    declared = {c.name for c in findings.columns if opened.schema[c.name].missing_values}
    read = declared | (
        {c.name for c in findings.columns if c.missing_values and c.name not in declared}
        if _ask_missing(findings, declared)
        else set()
    )
    plan, rest, finding, limited = None, next(iter(_rests(findings)), "drop"), dict[str, str](), False
    out = {c.name: f"it follows from '{c.follows}'" for c in findings.columns if c.follows and c.role is Role.QUASI}
    sure = sorted((c for c in findings.columns if c.role is Role.QUASI and c.name not in out), key=lambda c: -c.confidence)
    out |= {c.name: f"{MOST_TRIED} surer ones are tried together" for c in sure[MOST_TRIED:] if c.confidence < 1}
    try:
        with _shared.progress("trying plans") as report:
            precious = [c.name for c in findings.columns if c.topic in PRECIOUS]
            for choice in (choices := _rests(findings)):
                policy = Policy.parse(draft_policy(findings, read=read, rest=choice, out=out))
                whole = choice != choices[-1]  # another choice follows if this one costs a column
                plan, rest = first_plan(opened, policy, precious=precious, progress=report, whole=whole), choice
                if not plan.left_out and not plan.problem:
                    break
            if plan is not None and plan.tried is not None:
                report(0.9, "counting what a few known columns find")
                finding, limited = _finding(plan.tried)
    except KeyboardInterrupt as stopped:  # the roles are known, and the best plan that was found
        plan = stopped.best if isinstance(stopped, StoppedDraftError) else plan
        write_text(target, draft_policy(findings, plan, read, rest=rest, out=out))
        tried = "The best plan that was found is in it." if plan is not None else "No plan was tried."
        _shared.say(f"Wrote {target} with what was found so far. {tried}")
        raise
    out |= finding
    write_text(target, draft_policy(findings, plan, read, rest=rest, out=out, known=limited))
    if as_json:
        _shared.put_json({"draft": str(target), "columns": len(findings.columns)})
    else:
        step = "Read it, correct the roles."
        if plan is not None and plan.problem:
            step = f"As it stands, the run will stop: {plan.problem}"
        if findings.undecided:
            fate = "treated as quasi-identifiers" if rest == "quasi" else "left out"
            step += f" {_shared.plural(len(findings.undecided), 'undecided column')}: {fate} unless you decide."
        if not findings.quasi and not findings.undecided:
            step = "No column was found that others could know: name at least one under quasi in it."
        _shared.line(f"Wrote {target}. {step}")
        _shared.next_step(f"shoal anonymize {_shared.named(table)} --policy {shell_word(target)} --out release", within=True)


def _finding(tried: tuple[Prepared, Decision, Decision | None]) -> tuple[dict[str, str], bool]:
    """The columns that find people beside others, and whether the rest is known to find few: beside one level per column if
    fewer columns find people there."""
    prepared, decision, one = tried
    out, known = finding_columns(prepared, decision, KNOWN / 2)  # the plan of the release may be finer
    if not out or decision.method != "local":
        return out, known
    if one is None or prepared.on_list:
        return out, known
    if too_little(prepared, one):
        return out, known
    fewer, all_known = finding_columns(prepared, one, KNOWN / 2)
    return (fewer, all_known) if all_known and len(fewer) < len(out) else (out, known)


def _rests(inspection: Inspection) -> tuple[str, ...]:
    """What a draft may do with undecided columns: quasi-identifiers if they are few and it costs no column, else left out."""
    if not inspection.undecided:
        return ("drop",) if inspection.quasi else ()
    if not inspection.quasi:
        return ("quasi",)
    return ("quasi", "drop") if len(inspection.undecided) <= FEW_UNDECIDED else ("drop",)


def _ask_missing(inspection: Inspection, answered: set[str]) -> bool:
    """Whether the spellings found are to be read as missing; asked where somebody can answer."""
    spelled = [(c.name, c.missing_values) for c in inspection.columns if c.missing_values and c.name not in answered]
    if not spelled or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    for name, values in spelled[:SHOWN]:
        _shared.say(f"  {name}: {', '.join(values)}")
    if len(spelled) > SHOWN:
        _shared.say(f"  and {len(spelled) - SHOWN:,} more columns")
    return typer.confirm("Do these values mean 'no value'?", default=True, err=True)
