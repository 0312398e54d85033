"""``shoal anonymize``: from a table and a policy to a verified, signed release folder."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import Any

import typer

from shoal.cli import _anonymize_options as options
from shoal.cli import _shared
from shoal.cli._shell import common, texts
from shoal.cli._shell.preview import show_preview
from shoal.errors import UsageError


def register(app: typer.Typer) -> None:
    app.command("anonymize")(anonymize)


def anonymize(
    table: options.Table = None,
    policy: options.Policy = None,
    quasi: common.Quasi = None,
    sensitive: common.Sensitive = None,
    direct: common.Direct = None,
    insensitive: common.Insensitive = None,
    rest: common.Rest = None,
    unit: common.Unit = None,
    weight: common.Weight = None,
    scale: common.Scale = None,
    order: common.Order = None,
    missing_values: common.MissingValues = None,
    k: options.K = None,
    out: options.Out = None,
    draft: options.Draft = None,
    form: options.Format = "csv",
    to_table: options.ToTable = "",
    plan: options.Plan = None,
    previous: options.Previous = None,
    exclude: common.Exclude = None,
    exclude_by: common.ExcludeBy = None,
    key: options.Key = None,
    seed: options.Seed = None,
    read: common.Read = None,
    rename_duplicates: common.RenameDuplicates = False,
    statement_timeout: common.StatementTimeout = None,
    only_aggregates: common.OnlyAggregates = False,
    preview: common.Preview = False,
    memory: common.Memory = None,
    as_json: common.Json = False,
    qi: common.Qi = None,
) -> None:
    """Make a table safe to share and prove it: data, plan, signed certificate and report in one folder."""
    if policy is not None and _is_linked(policy):
        _require_no_demands(preview, only_aggregates)
        roles = (quasi, qi, sensitive, direct, insensitive, unit, weight, k)
        others = (table is not None, *roles, to_table, plan, previous, seed, exclude_by, draft)
        _linked(policy, out, others, form=form, key=key, exclude=exclude, as_json=as_json)
        return
    if table is None:
        raise UsageError("no table is given.", hint="Run: shoal anonymize TABLE --policy FILE --out DIR")
    given = {"quasi": quasi, "qi": qi, "sensitive": sensitive, "direct": direct, "insensitive": insensitive}
    given |= {"unit": unit, "weight": weight}
    reading = texts.read_options(
        read, rename=rename_duplicates, memory=memory, timeout=statement_timeout, only_aggregates=only_aggregates
    )
    reading |= texts.properties(scale, missing_values, order)
    if draft is not None:
        from shoal.cli._drafts import write_draft

        write_draft(table, draft, reading, texts.roles(**given), as_json=as_json)
        return
    words = texts.asked(policy, k=k, hint="Begin with: shoal anonymize TABLE --draft policy.yml", **given)
    words |= {"rest": rest} if rest is not None else {}
    words |= {"seed": seed} if seed is not None else {}
    words |= {"plan": plan, "to_table": to_table or None, "exclude": exclude, "exclude_by": exclude_by, "format": form}
    if preview:
        show_preview("anonymize", table, reading, as_json=as_json, policy=policy, **words)
        return
    if out is None:
        raise UsageError("--out is needed: the folder of the release.", hint="For example --out release")
    _release(table, reading, policy, out, words | {"key_file": key, "previous": previous or ()}, as_json=as_json)


def _release(
    table: str, reading: dict[str, Any], policy: Path | None, out: Path, words: dict[str, Any], *, as_json: bool
) -> None:
    """Make the release, write it and print what it is."""
    import shoal
    from shoal.disk.atomic import free
    from shoal.release.make.release import Release

    free(out)
    with _shared.progress("anonymizing") as told, shoal.open(table, **reading) as opened:
        release: Any = shoal.anonymize(opened, policy, progress=told, **words)
        of_people = type(release) is Release  # that of events is a release too
        if of_people:
            _shared.tell_losses(release.not_kept)
        release.write(out, progress=told)
    if as_json:
        _shared.put_json(release.to_json())
    elif of_people:
        from shoal.cli._releases import show_release
        from shoal.cli._shared import table_beside

        show_release(release, out, table_beside(table, words["to_table"]) if words["to_table"] else "")
    else:
        from shoal.cli._releases import show_release as tell_events

        tell_events(release, out)


def _is_linked(policy: Path) -> bool:
    from shoal.release.linked.policy import is_linked

    return is_linked(policy)


def _require_no_demands(preview: bool, only_aggregates: bool) -> None:
    """Tables that are released together cannot be walked through, and their release is rows."""
    if preview:
        raise UsageError(
            "tables that are released together cannot be previewed.", hint="Preview each alone: shoal anonymize TABLE … --preview"
        )
    if only_aggregates:
        raise UsageError("only aggregates are allowed: a release is rows of its tables.", hint="Leave --only-aggregates out.")


def _linked(
    policy: Path, out: Path | None, others: tuple[object, ...], *, form: str, key: Path | None, exclude: str | None, as_json: bool
) -> None:
    """Several tables about the same people; ``others`` are options that the policy has no room for."""
    if out is None or any(others):
        raise UsageError(
            "a policy with 'tables:' says all by itself.",
            hint="Run: shoal anonymize --policy FILE --out DIR [--exclude FILE]",
        )
    from shoal.cli._releases import release_linked

    release_linked(policy, out, form, key, exclude, as_json=as_json)
