"""``shoal link``: records of one person, within a table or between two."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import shoal
from shoal.cli import _shared
from shoal.cli._shared import preview_instead
from shoal.cli._shell import options, texts
from shoal.cli._shell.options import SHARED, Option, from_verb
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.api.link import Link


def register(app: typer.Typer) -> None:
    app.command("link")(link)
    app.command("encode")(encode)


def _pairs(option: str) -> Callable[[str], dict[str, str]]:
    return lambda text: texts.pairs_of(text, option)


FIELDS = Option("What columns mean: surname=family,dob=birth,id=number:bsn …", read=_pairs("--fields"), kind=str)


@from_verb(
    "link:link",
    {
        "fields": FIELDS,
        "rename": Option("Columns of RIGHT by LEFT's names: achternaam=surname,…", read=_pairs("--rename"), kind=str),
        "id": Option("Column that names a record in --out; else its row number."),
        "truth": Option("Column that is equal for one person: precision, recall."),
        "match": Option("Probability from which a pair is a match; for encodings a similarity."),
        "possible": Option("Probability from which a pair is for review."),
        "one_to_one": Option("Nobody is twice in the same table."),
        "model": Option("Weights fitted before (--save-model)."),
        "seed": SHARED["seed"],
    },
)
def link(
    left: Annotated[str, typer.Argument(metavar="LEFT", help="A table: a file, or ENGINE-URL::table.")],
    verb_options: dict[str, Any],
    right: Annotated[str | None, typer.Argument(metavar="RIGHT", help="A second one; else LEFT is compared with itself.")] = None,
    save_model: Annotated[Path | None, typer.Option("--save-model", help="Write the fitted weights (no data in them).")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the pairs as CSV: rows and levels, no values.")] = None,
    people: Annotated[
        Path | None, typer.Option("--people", help="Encodings: write a new pseudonym per person, for both sides.")
    ] = None,
    earlier: Annotated[
        Path | None, typer.Option("--earlier", help="The --people file of an earlier run: keep its pseudonyms.")
    ] = None,
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Find records of one person despite typing errors and changed names; list pairs to review."""
    from shoal.linkage.encodings import is_encodings

    if is_encodings(left) or (right is not None and is_encodings(right)):
        if save_model or verb_options.keys() & {"fields", "rename", "id", "truth", "model"}:
            raise UsageError("encodings have no columns to name.", hint="Fields and ids are chosen by `shoal encode`.")
        if earlier is not None and people is None:
            raise UsageError("--earlier goes with --people.", hint="Name the file to write: --people people.csv.")
        _link_encoded(left, right, verb_options, out, people, earlier, as_json=as_json)
        return
    if people is not None or earlier is not None:
        raise UsageError("--people is for encodings.", hint="Pseudonyms for a table come from `shoal vault intake`.")
    preview_instead(preview, "link", left, {}, as_json=as_json, right=right, **verb_options)
    with _shared.progress("comparing"):
        linked = shoal.link(left, right, **verb_options)
    if save_model is not None:
        linked.model.write(save_model)
    if out is not None:
        linked.write(out)
    if as_json:
        _shared.put_json(linked.to_json())
        return
    _print(linked)
    for file in (out, save_model):
        if file is not None:
            _shared.say(f"Written to {file}.")
    _shared.next_step(
        "the same with --out pairs.csv writes the pairs." if out is None else f"let a person decide the possible pairs of {out}."
    )


def _link_encoded(
    left: str,
    right: str | None,
    options: dict[str, Any],
    out: Path | None,
    people: Path | None,
    earlier: Path | None,
    *,
    as_json: bool,
) -> None:
    """Compare files of encodings: no key, no values, only the holders' ids."""
    limits = {name: options[name] for name in ("match", "possible", "one_to_one") if name in options}
    with _shared.progress("comparing"):
        links = shoal.link_encoded(left, right, **limits)
    if out is not None:
        links.write(out)
    if people is not None:
        links.write_people(people, earlier)
    if as_json:
        _shared.put_json(links.to_json())
        return
    typer.echo(f"{links.matches:,} pairs match, {links.possible:,} are possible matches for the two holders to decide together.")
    for file in (out, people):
        if file is not None:
            _shared.say(f"Written to {file}.")


def _print(link: "Link") -> None:
    linked = link.linked
    lines = []
    for field in linked.model.to_json()["fields"]:
        seen = linked.records.changes.get(field["field"].removesuffix(" (given)").removesuffix(" (family)"))
        levels = ", ".join(f"{name} {level['weight']:+.1f}" for name, level in field["levels"].items())
        doubtful = 0 if seen is None else seen.unreadable + seen.impossible + seen.wrong_check_digits
        blank = 0 if seen is None else seen.missing + seen.placeholders
        lines.append([field["field"], field["kind"], f"{blank:,}", f"{doubtful:,}", levels])
    heads = ("field", "kind", "missing", "doubtful", "weight of each level of agreement")
    _shared.show_table("Fields", heads, lines, right=(2, 3))
    _shared.line(
        f"{linked.matches:,} pairs match, {linked.possible:,} are possible matches for review; "
        f"{linked.compared:,} of {linked.pairs:,} pairs were compared."
    )
    if linked.split is None:
        _shared.line(f"{len(linked.records):,} records, {len(set(link.groups())):,} people.")
    if linked.blocks_left_out:
        _shared.line(f"Careful: {linked.blocks_left_out:,} values that very many records share were not used to find pairs.")
    for name, quality in (("matches", link.quality), ("with all possible ones", link.quality_with_possible)):
        if quality is not None:
            _shared.line(f"Against the truth, {name}: precision {quality.precision:.4f}, recall {quality.recall:.4f}.")


@from_verb(
    "link:encode",
    {
        "id": Option("Column that names a record in the answer: best a pseudonym of yours."),
        "fields": FIELDS,
        "rename": Option("Columns of kind text by the other holder's names: plaats=city,…", read=_pairs("--rename"), kind=str),
        "salt": Option("A field that never changes, in place of the birth date."),
    },
)
def encode(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A table: a file, or ENGINE-URL::table.")],
    verb_options: dict[str, Any],
    key_file: Annotated[Path, typer.Option("--key-file", help="The key that both holders have (`shoal vault key -o link.key`).")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File for the party that compares: settings, ids and filters, no values.")
    ],
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Encode people with a key, so that two holders can find shared people without showing names."""
    from shoal.protector.crypto.master_keys import derived_from_file

    preview_instead(preview, "encode", table, {}, as_json=as_json, **verb_options)
    key = derived_from_file(key_file, "linkage")
    with _shared.progress("encoding"):
        people = shoal.encode(table, key=key, **verb_options)
    people.write(out)
    if as_json:
        _shared.put_json({**people.to_json(), "out": out.name})
        return
    typer.echo(
        f"{len(people):,} records encoded from {', '.join(people.settings.tags)}, salted by {', '.join(people.settings.salts)}."
    )
    if people.left_out:
        typer.echo(f"Careful: {people.left_out:,} records lack the salt, or everything else, and are left out.")
    _shared.say(f"Written to {out}. Give it to the party that compares, never together with the key.")
