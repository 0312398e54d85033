"""``shoal presets``, ``shoal explain`` and ``shoal doctor``: what Shoal knows, says and has."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import shoal
from shoal.cli import _shared, build
from shoal.cli._shell import options
from shoal.cli._shell.commands import ALL, examples
from shoal.disk.atomic import free, publish, scratch, staged
from shoal.errors import ShoalError, install_line
from shoal.version import __version__


def register(app: typer.Typer) -> None:
    app.command("presets")(presets)
    app.command("explain")(explain)
    app.command("doctor")(doctor)
    app.command("manual")(manual)
    app.command("demo")(demo)


EXTRAS = {
    "fast": ("numba", "compiled loops: long searches and event tables, several times as fast"),
    "predict": ("scipy", "predictions that are fitted, questionnaires, tables of counts"),
    "postgres": ("psycopg", "PostgreSQL tables, vault and registry on PostgreSQL"),
    "mysql": ("pymysql", "MySQL and MariaDB tables"),
    "lake": ("deltalake", "Delta and Iceberg tables"),
    "spark": ("pyspark", "Spark tables"),
    "frames": ("polars", "polars frames back from a release"),
    "sklearn": ("sklearn", "the scikit-learn transformer"),
    "plot": ("matplotlib", "plots as PNG and PDF"),
    "hsm": ("pkcs11", "master keys in a hardware security module"),
    "fakes": ("faker", "made-up names in the place of real ones"),
}
"""Optional parts: the package that shows it is there, and what it is for."""


def doctor(
    tables: Annotated[list[str] | None, typer.Argument(metavar="TABLE", help="Files or ENGINE-URL::table to try.")] = None,
    as_json: options.Json = False,
) -> None:
    """Report what is installed, what works, and how to install the rest; test tables and servers.

    Examples: shoal doctor; shoal doctor people.csv postgresql://host/db::people
    """
    findings = [*_core(), *_extras(), *(_table(t) for t in tables or ())]
    if as_json:
        _shared.put_json({"findings": findings})
    else:
        for f in findings:
            _shared.line(f"{_SIGN[f['state']]} {f['name']}: {f['sentence']}")
    if any(f["state"] == "broken" for f in findings):
        raise typer.Exit(1)


_SIGN = {"ok": "ok     ", "missing": "missing", "broken": "BROKEN "}


def _finding(name: str, state: str, sentence: str) -> dict[str, str]:
    return {"name": name, "state": state, "sentence": sentence}


def _core() -> Iterator[dict[str, Any]]:
    yield _finding("shoal", "ok", f"version {__version__} on Python {platform.python_version()}, {sys.platform}")
    yield _finding("machine", "ok", f"{os.cpu_count()} cores")
    for package in ("numpy", "pyarrow", "duckdb", "cryptography"):
        try:
            importlib.import_module(package)
            yield _finding(package, "ok", f"version {importlib.metadata.version(package)}")
        except Exception as error:  # a broken installation can raise anything; its words may hold paths
            yield _finding(
                package, "broken", f"does not load ({type(error).__name__}). Reinstall: pip install --force-reinstall {package}"
            )
    yield _private_folder()


def _private_folder() -> dict[str, str]:
    try:
        with scratch() as place:
            (place / "try").write_bytes(b"")
        return _finding("private folder", "ok", "temporary files can be written, readable by you only")
    except (OSError, ShoalError):
        return _finding("private folder", "broken", "no temporary file can be written. Set TMPDIR to a folder of your own.")


def _extras() -> Iterator[dict[str, str]]:
    for extra, (package, purpose) in EXTRAS.items():
        if importlib.util.find_spec(package) is not None:
            yield _finding(extra, "ok", purpose)
        else:
            yield _finding(extra, "missing", f"{purpose}. Get it: {install_line(extra, package)}")


def _table(source: str) -> dict[str, str]:
    """Open a table and count its rows; the error tells what to do."""
    try:
        with shoal.open(source) as table:
            return _finding(
                "table", "ok", f"{table.name} ({table.engine}): {table.n_rows():,} rows, {len(table.schema.columns)} columns"
            )
    except ShoalError as error:
        return _finding("table", "broken", " ".join(str(error).split()))


def explain(
    term: Annotated[list[str] | None, typer.Argument(help="A term or a number (default: list all).")] = None,
    as_json: options.Json = False,
) -> None:
    """Explain a term or a number in plain language.

    Examples: shoal explain quasi-identifier; shoal explain t_closeness; shoal explain
    """
    from shoal.measures.metrics import explain_term, words

    if term:
        text = explain_term(" ".join(term))
        _shared.put_json({"text": text}) if as_json else typer.echo(text)
    elif as_json:
        _shared.put_json({"words": words()})
    else:
        typer.echo("\n".join(words()))


def presets(
    name: Annotated[str, typer.Argument(help="One preset, with everything about it.")] = "", as_json: options.Json = False
) -> None:
    """List the presets that a policy can start from: what each requires, and its source.

    Examples: shoal presets; shoal presets ema-public
    """
    from shoal.release.policy.presets import PRESETS, preset

    chosen = [preset(name)] if name else list(PRESETS.values())
    if as_json:
        _shared.put_json({"presets": [{**p.to_json(), "require": dict(p.require)} for p in chosen]})
        return
    for p in chosen:
        typer.secho(p.name, bold=True)
        _shared.line(f"  {p.rule}")
        if name:
            _shared.line(f"  {p.source} ({p.date}); {p.to_json()['read']}")
            if p.note:
                _shared.line(f"  {p.note}")
    _shared.line(f"Use it: 'preset: {chosen[0].name}' in a policy." + ("" if name else " More about one: shoal presets NAME"))


def manual(
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for the pages: shoal.1, shoal-measure.1 …")],
) -> None:
    """Write manual pages (man), one per command."""
    pages = list(_pages(typer.main.get_command(build()), "shoal"))
    target = free(out)
    with staged(target.parent) as stage:
        for name, text in pages:
            (stage / f"{name.replace(' ', '-')}.1").write_text(text, "utf-8")
        publish(stage, target)
    typer.echo(f"{len(pages)} pages. To read one: man {out / 'shoal-measure.1'}")


def _pages(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """The page of a command, and those of its subcommands."""
    below = {n: c for n, c in getattr(command, "commands", {}).items() if not c.hidden}
    yield name, _page(command, name, list(below))
    for sub, child in below.items():
        yield from _pages(child, f"{name} {sub}")


def _page(command: Any, name: str, below: list[str]) -> str:
    """One page in the language of man (roff)."""
    title = name.replace(" ", "-")
    context = command.make_context(name, [], resilient_parsing=True, obj={ALL: True})
    text = " ".join((command.help or "").split())
    records = [(p.param_type_name, p.get_help_record(context)) for p in command.get_params(context)]
    lines = [f'.TH {_inert(title).upper()} 1 "" "shoal {__version__}"', ".SH NAME", rf"{_inert(title)} \- {_inert(text)}"]
    lines += [".SH SYNOPSIS", f".B {_inert(name)}", _inert(" ".join(command.collect_usage_pieces(context)))]
    for kind, heading in (("argument", "ARGUMENTS"), ("option", "OPTIONS")):
        shown = [record for of, record in records if of == kind and record is not None]
        lines += [f".SH {heading}"] * bool(shown)
        lines += [line for left, right in shown for line in (".TP", f".B {_inert(left)}", _inert(right))]
    if below:
        lines += [".SH COMMANDS", _inert(", ".join(f"{title}-{sub}" for sub in below))]
    shell = examples().get(name.removeprefix("shoal "), [])
    if shell:
        lines += [".SH EXAMPLES", ".nf", *(_inert(line) for line in shell), ".fi"]
    return "\n".join(lines) + "\n"


def _inert(text: str) -> str:
    r"""Text that man shows as it is: hyphens to be copied, no line that is taken for a command.

    >>> print(_inert("--out"))
    \-\-out
    """
    escaped = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-")
    plain = "".join(c if c.isascii() else rf"\[u{ord(c):04X}]" for c in escaped)
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


def demo(
    people: Annotated[int, typer.Option("--people", min=1000, help="How many people to generate.")] = 20_000,
    seed: options.Seed = 1,
    as_json: options.Json = False,
) -> None:
    """Run every step on generated people: inspect, measure, predict, anonymize, prove. Writes shoal-demo/."""
    from shoal.api.demo import demo as walk

    with _shared.progress("demonstration") as report:
        walked = walk("shoal-demo", people=people, seed=seed, progress=report)
    if as_json:
        _shared.put_json(walked)
        return
    for sentence in walked.story():
        typer.echo(sentence)
    typer.echo("")
    typer.echo("Now open shoal-demo/release/report.html in a browser, or try (shoal-demo/README.txt says more):")
    typer.echo("  shoal verify shoal-demo/release")
    typer.echo("  shoal attack shoal-demo/release --with shoal-demo/people.parquet")
    typer.echo("  shoal inspect YOUR-TABLE.csv")
