"""``shoal anonymize``: from a table and a policy to a verified, signed release folder."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import Annotated, Any

import typer

import shoal
from shoal.cli import _shared
from shoal.cli._shared import preview_instead
from shoal.cli._shell import options, texts
from shoal.cli._shell.options import Option, from_verb
from shoal.disk.atomic import free
from shoal.errors import UsageError

OPTIONS = {
    "format": Option("csv, parquet, delta, arrow, jsonl, excel, spss, stata or sas.", "FORMAT"),
    "to_table": Option("Publish as a new table of this name in the same database.", "NAME"),
    "replace": Option("Take the place of the table of that name, in one step.", kind=bool),
    "plan": Option("Use this plan.json instead of searching; Shoal checks it again.", "FILE"),
    "previous": Option("Earlier release about the same people. Repeatable.", "DIR", kind=list[Path]),
    "keep": Option(
        "How detailed a column has to stay: age=high, normal or low. Repeatable.",
        "COLUMN=WORD",
        kind=list[str],
        read=lambda given: texts.word_by_column(given, "--keep", "age=high"),
    ),
    "objective": Option(
        "Choose the plan by this use: counts=sex,region or predict=COLUMN.",
        "USE=COLUMNS",
        kind=str,
        read=lambda given: {
            use: columns if use == "predict" else list(texts.listed(columns))
            for use, columns in texts.word_by_column([given], "--objective", "counts=sex,region").items()
        },
    ),
    "key_file": Option("Ed25519 key file to sign with (mode 600).", "FILE", flag="--key"),
}


def register(app: typer.Typer) -> None:
    app.command("anonymize")(anonymize)


@from_verb(
    "arguments:PolicyOptions anonymize:anonymize",
    OPTIONS,
    shared=(
        *("quasi", "qi", "sensitive", "direct", "insensitive", "rest", "unit", "weight", "k"),
        *("exclude", "exclude_by", "seed"),
    ),
    reading=("read", "rename_duplicates", "only_aggregates", "memory", "scale", "order", "missing_values"),
)
def anonymize(
    verb_options: dict[str, Any],
    reading: dict[str, Any],
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="A file or ENGINE-URL::table; none if the policy names tables.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", metavar="FILE", help="Policy (YAML); or use --quasi, --k and other options.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="New folder for the release.")] = None,
    draft: Annotated[
        Path | None, typer.Option("--draft", metavar="FILE", help="Write a policy with suggested roles, and stop.")
    ] = None,
    ledger: Annotated[
        bool, typer.Option("--ledger/--no-ledger", help="Compare with your earlier releases, and remember this one.")
    ] = True,
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Make a table safe to share and prove it: data, plan, signed certificate and report in one folder."""
    from shoal.release.linked.policy import is_linked

    if policy is not None and is_linked(policy):
        others = {"table": table, "draft": draft} | {n: v for n, v in verb_options.items() if n not in LINKED}
        _release_linked(policy, out, others, reading, verb_options, preview=preview, ledger=ledger, as_json=as_json)
        return
    if table is None:
        raise UsageError("No table given.", hint="Run: shoal anonymize TABLE --policy FILE --out DIR")
    if draft is not None:
        from shoal.cli._releases import write_draft

        roles = {name: value for name, value in verb_options.items() if name in ROLES}
        write_draft(table, draft, reading, roles, as_json=as_json)
        return
    texts.require_policy(policy, verb_options, hint="Begin with: shoal anonymize TABLE --draft policy.yml")
    if preview:
        options = {name: value for name, value in verb_options.items() if name not in ("key_file", "previous")}
        preview_instead(preview, "anonymize", table, reading, as_json=as_json, policy=policy, **options)
    if out is None:
        raise UsageError("--out is required: the folder for the release.", hint="For example --out release")
    _release(table, reading, policy, out, verb_options, ledger=ledger, as_json=as_json)


ROLES = ("quasi", "qi", "sensitive", "direct", "insensitive", "unit", "weight")
LINKED = ("format", "key_file", "exclude")
"""Options that a policy with several tables allows beside it."""


def _release(
    table: str, reading: dict[str, Any], policy: Path | None, out: Path, options: dict[str, Any], *, ledger: bool, as_json: bool
) -> None:
    """Make the release, write it and print what it is."""
    from shoal.release.make.release import Release

    free(out)
    chosen, how = texts.read_as_policy(policy, reading)
    with _shared.progress("anonymizing") as progress, shoal.open(table, **how) as opened:
        _shared.tell_repairs(opened.source, how if chosen and chosen.read else None)
        try:
            release: Any = shoal.anonymize(opened, chosen, progress=progress, **options)
        except KeyboardInterrupt as stopped:  # the parser of the command line drops its words
            _shared.say(str(stopped) or "No plan was found yet.")
            raise
        of_people = type(release) is Release  # an event release is a subclass
        if of_people:
            _shared.tell_losses(release.not_kept)
        release.write(out, progress=progress)
        earlier = release.remember() if ledger else None
    if as_json:
        _shared.put_json(release.to_json() | {"ledger": earlier.to_json() if earlier else None})
        return
    from shoal.cli._releases import show_event_release, show_release

    to_table = options.get("to_table")
    place = _shared.table_beside(table, to_table) if to_table else ""
    (show_release if of_people else show_event_release)(release, out, place, earlier)


def _release_linked(
    policy: Path,
    out: Path | None,
    others: dict[str, Any],
    reading: dict[str, Any],
    options: dict[str, Any],
    *,
    preview: bool,
    ledger: bool,
    as_json: bool,
) -> None:
    """Several tables about the same people; ``others`` are options that such a policy states itself."""
    if preview:
        hint = "Preview each one: shoal anonymize TABLE … --preview"
        raise UsageError("Tables that are released together cannot be previewed.", hint=hint)
    if reading.get("only_aggregates"):
        raise UsageError("--only-aggregates: a release consists of rows of its tables.", hint="Leave out --only-aggregates.")
    if out is None or any(value not in (None, False) for value in others.values()):
        hint = "Run: shoal anonymize --policy FILE --out DIR [--exclude FILE]"
        raise UsageError("A policy with 'tables:' states everything itself.", hint=hint)
    from shoal.cli._releases import release_linked

    key, exclude = options.get("key_file"), options.get("exclude")
    release_linked(policy, out, options.get("format", "csv"), key, exclude, ledger=ledger, as_json=as_json)
