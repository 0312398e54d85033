"""``shoal anonymize``: from a table and a policy to a verified, signed release folder."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell.preview import show_preview
from shoal.errors import UsageError
from shoal.model.written import written

if TYPE_CHECKING:
    from shoal.api.inspect import Inspection
    from shoal.model.certificate.parts import Classing
    from shoal.release.make.release import Release


def register(app: typer.Typer) -> None:
    app.command("anonymize")(anonymize)


def anonymize(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="A file, or ENGINE-URL::table; none where the policy names tables.")
    ] = None,
    policy: Annotated[Path | None, typer.Option("--policy", help="The policy (YAML); or say it in words: --quasi, --k …")] = None,
    quasi: _shared.Quasi = None,
    sensitive: _shared.Sensitive = None,
    direct: _shared.Direct = None,
    insensitive: _shared.Insensitive = None,
    rest: _shared.Rest = None,
    unit: _shared.Unit = None,
    weight: _shared.Weight = None,
    scale: _shared.Scale = None,
    order: _shared.Order = None,
    missing_values: _shared.MissingValues = None,
    k: Annotated[int | None, typer.Option("--k", help="Everybody is to be alike with at least k - 1 others.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The release folder; must not exist yet.")] = None,
    draft: Annotated[
        Path | None, typer.Option("--draft", help="Write a policy with suggested roles to this file and stop.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="csv, parquet, delta, arrow, jsonl, excel, spss, stata or sas.")] = "csv",
    to_table: Annotated[str, typer.Option("--to-table", help="Publish as a new table of this name in the same database.")] = "",
    plan: Annotated[
        Path | None, typer.Option("--plan", help="Use this plan.json instead of searching; it is checked again.")
    ] = None,
    previous: Annotated[
        list[Path] | None, typer.Option("--previous", help="Earlier release of the same people; may repeat.")
    ] = None,
    exclude: _shared.Exclude = None,
    exclude_by: _shared.ExcludeBy = None,
    key: Annotated[Path | None, typer.Option("--key", help="Ed25519 key file to sign with (mode 600).")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same input and seed, same data bytes.")] = None,
    read: _shared.Read = None,
    rename_duplicates: _shared.RenameDuplicates = False,
    statement_timeout: _shared.StatementTimeout = None,
    only_aggregates: _shared.OnlyAggregates = False,
    preview: _shared.Preview = False,
    memory: _shared.Memory = None,
    as_json: _shared.Json = False,
    qi: _shared.Qi = None,
) -> None:
    """Make a table safe to share and prove it: data, plan, signed certificate and report in one folder."""
    if policy is not None and _is_linked(policy):
        roles = (quasi, qi, sensitive, direct, insensitive, unit, weight, k)
        if (
            table is not None
            or out is None
            or any((*roles, to_table, plan, previous, seed, exclude_by, draft, only_aggregates, preview))
        ):
            raise UsageError(
                "a policy with 'tables:' says all by itself.",
                hint="Run: shoal anonymize --policy FILE --out DIR [--exclude FILE]",
            )
        _linked(policy, out, form, key, exclude, as_json=as_json)
        return
    if table is None:
        raise UsageError("there is no table.", hint="Run: shoal anonymize TABLE --policy FILE --out DIR")
    given = {"quasi": quasi, "qi": qi, "sensitive": sensitive, "direct": direct, "insensitive": insensitive}
    given |= {"unit": unit, "weight": weight}
    reading = _shared.read_options(
        read, rename=rename_duplicates, memory=memory, timeout=statement_timeout, only_aggregates=only_aggregates
    )
    reading |= _shared.properties(scale, missing_values, order)
    if draft is not None:
        _draft(table, draft, reading, _shared.roles(**given), as_json=as_json)
        return
    words = _shared.asked(policy, k=k, hint="Begin with: shoal anonymize TABLE --draft policy.yml", **given)
    words |= {"rest": rest} if rest is not None else {}
    words |= {"seed": seed} if seed is not None else {}
    if preview:
        more = {"plan": plan, "to_table": to_table or None, "exclude": exclude, "exclude_by": exclude_by, "format": form}
        show_preview("anonymize", table, reading, as_json=as_json, policy=policy, **more, **words)
        return
    if out is None:
        raise UsageError("--out is needed: the folder of the release.", hint="For example --out release")
    import shoal
    from shoal.disk.folder import free
    from shoal.release.make.release import Release

    free(out)
    with _shared.progress("anonymizing") as told, shoal.open(table, **reading) as opened:
        release: Any = shoal.anonymize(
            opened,
            policy,
            format=form,
            key_file=key,
            plan=plan,
            to_table=to_table or None,
            previous=previous or (),
            exclude=exclude,
            exclude_by=exclude_by,
            progress=told,
            **words,
        )
        of_people = type(release) is Release  # that of events is a release too
        if of_people:
            _shared.tell_losses(release.not_kept)
        release.write(out, progress=told)
    if as_json:
        _shared.put_json(release.to_json())
    elif of_people:
        _tell(release, out, _beside(table, to_table) if to_table else "")
    else:
        from shoal.cli._event_release import tell as tell_events

        tell_events(release, out)


ATTACKS_SHOWN = 5
"""Warnings of attacks that are printed, the gravest first; the report has all."""


def _tell(release: "Release", out: Path, place: str = "") -> None:
    from shoal.model.certificate.cost import cost_of

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
    where = f" --table {_word(place)}" if place else ""
    again = f"shoal verify {_word(out)}{where}"
    _shared.line(f"Written and counted again: {_shared.printable(str(out))}/")
    _shared.next_step(f"{again} proves it again, any time.", within=True)


def _beside(table: str, name: str) -> str:
    """The URL of a new table beside ``table``, without a password.

    >>> _beside("postgresql://ann:secret@host/db::visits", "visits_public")
    'postgresql://ann@host/db::visits_public'
    """
    return re.sub(r"^(\w+://[^:@/]*):[^@]*@", r"\1@", table.rpartition("::")[0]) + f"::{name}"


def _is_linked(policy: Path) -> bool:
    from shoal.release.linked.policy import is_linked

    return is_linked(policy)


def _linked(policy: Path, out: Path, form: str, key: Path | None, exclude: str | None, *, as_json: bool) -> None:
    """Several tables about the same people, released together."""
    import shoal
    from shoal.disk.folder import free

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
    _shared.next_step(f"shoal verify {_word(out)} proves it again, any time.", within=True)


def _class_line(one: "Classing") -> str:
    """A column under the list of identifiers of the preset: its class, the evidence, and what became of it."""
    line = f"{one.column}: {one.found} ({one.evidence})"
    if one.reason:
        return f"{line}; none of them, as the policy says: {one.reason}"
    coarse = one.released != one.found
    return f"{line} -> {one.released.removeprefix(one.found).lstrip(', ')}" if coarse else line


def _word(path: str | Path) -> str:
    """A path as it can be typed after a command."""
    import shlex

    return shlex.quote(_shared.printable(str(path)))


def _asked(found: "Inspection", said: set[str]) -> bool:
    """Whether the spellings found are to be read as missing; asked where somebody can answer."""
    spelled = [(c.name, c.missing_values) for c in found.columns if c.missing_values and c.name not in said]
    if not spelled or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    for name, values in spelled[:SHOWN]:
        _shared.say(f"  {name}: {', '.join(values)}")
    if len(spelled) > SHOWN:
        _shared.say(f"  and {len(spelled) - SHOWN:,} more columns")
    return typer.confirm("Do these values mean 'no value'?", default=True, err=True)


SHOWN = 12
"""Columns with spellings of "missing" that are shown before the question."""


def _draft(table: str, target: Path, reading: dict[str, Any], known: dict[str, Any], *, as_json: bool) -> None:
    """A policy to edit: suggested roles with their reasons as comments."""
    import shoal
    from shoal.disk.atomic import write_text
    from shoal.release.plan.first import PRECIOUS, first_plan
    from shoal.release.policy.draft import amounts_as_known, draft_policy
    from shoal.release.policy.policy import Policy

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
        _shared.next_step(f"shoal anonymize {_word(_shared.named(table))} --policy {_word(target)} --out release", within=True)
