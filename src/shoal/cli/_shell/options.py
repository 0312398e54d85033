"""Command options made from the typed signature of a verb, so that each option is written once.

The signature is read from the source of the verb's module: importing it would load the engines before ``--help`` is printed.
A command takes ``verb_options`` (keywords of its verb) and ``reading`` (keywords of ``shoal.open``); :func:`from_verb` puts the
options that fill them in their place. A parameter of the verb is an option if it has a text, here or in the command's own table.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli._shell import texts

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout; messages go to stderr.")]
Seed = Annotated[int, typer.Option("--seed", help="Same input and seed, same output.")]
Preview = Annotated[bool, typer.Option("--preview", help="Databases: print the statements instead of sending them.")]
Table = Annotated[str, typer.Argument(metavar="TABLE", help="A file, or ENGINE-URL::table.")]

Exclude = Annotated[str | None, typer.Option("--exclude", help="Opt-outs: a file with one id per line, or FILE:column.")]


@dataclass(frozen=True)
class Option:
    """One option: its help, what stands for the value in the help, how text becomes the value of the parameter.

    ``flag`` is the name of the option if the parameter has another one, or several; ``kind`` the type if the annotation does not
    say it, ``default`` the value if the verb's own is not meant, ``least`` the smallest number that is accepted.
    """

    help: str
    metavar: str | None = None
    read: Callable[[Any], object] | None = None
    flag: str = ""
    kind: Any = None
    default: Any = None
    hidden: bool = False
    least: int | None = None


@dataclass(frozen=True)
class Parameter:
    """A parameter of a verb as its source has it; ``default`` is None if it has none, or one that is not a literal."""

    annotation: str
    default: Any = None
    required: bool = False


COLUMNS = "COLUMNS"
SHARED: dict[str, Option] = {
    "quasi": Option("Quasi-identifiers: a,b,c.", COLUMNS),
    "qi": Option("The same as --quasi.", COLUMNS, hidden=True),
    "sensitive": Option("Sensitive columns: a,b.", COLUMNS),
    "direct": Option("Columns that identify a person directly: a,b.", COLUMNS),
    "insensitive": Option("Columns that are neither: a,b.", COLUMNS),
    "rest": Option("What to do with other columns: quasi or drop.", "RULE"),
    "unit": Option("Column that identifies a person: k counts people, not rows.", "COLUMN"),
    "weight": Option("Column of sampling weights.", "COLUMN"),
    "counts": Option("Column of counts: a row stands for so many people.", "COLUMN", flag="--count"),
    "k": Option("Make each person indistinguishable from at least k − 1 others.", "K"),
    "by": Option("Also report each value of this column.", "COLUMN"),
    "seed": Option("Same input and seed, same output.", "NUMBER"),
    "exclude": Option("Opt-outs: a file with one id per line, or FILE:column.", "FILE"),
    "exclude_by": Option("Column that contains these ids (default: --unit).", "COLUMN"),
}
"""Options that several verbs have."""

READING: dict[str, Option] = {
    "read": Option("How to read a file: delimiter=; encoding=latin-1 … Repeatable.", "KEY=VALUE", kind=list[str]),
    "rename_duplicates": Option("Number columns with the same name (age, age_2).", kind=bool),
    "memory": Option("Memory limit, such as 2GB. Beyond it Shoal uses the disk.", "SIZE", kind=str),
    "only_aggregates": Option("Databases: refuse statements that return rows.", kind=bool),
    "scale": Option("Scale of a column: ward=nominal, number, ordered … Repeatable.", "COLUMN=SCALE", kind=list[str]),
    "order": Option("Categories from low to high: pain=low,medium,high. Repeatable.", "COLUMN=VALUES", kind=list[str]),
    "missing_values": Option("Values that mean 'no value': weight=?,-9. Repeatable.", "COLUMN=VALUES", kind=list[str]),
}
"""Options that say how ``shoal.open`` reads a table."""


def from_verb(
    verb: str, options: Mapping[str, Option] | None = None, *, shared: Sequence[str] = (), reading: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a verb.

    ``verb`` names its module and function (``measure:measure``) or typed dictionary (``arguments:PolicyOptions``) in
    ``shoal.api``; several are separated by spaces. ``options`` are texts of the command's own, ``shared`` and ``reading``
    name entries of the tables above. Options stand in this order: shared, own, reading.
    """
    known = {name: p for part in verb.split() for name, p in parameters(*part.split(":")).items()}
    alias = "qi" in shared and "qi" not in known  # the verb itself knows only quasi
    if alias:
        known["qi"] = known["quasi"]
    texts_of = {name: SHARED[name] for name in shared} | dict(options or {})
    unknown = [name for name in texts_of if name not in known]
    if unknown:
        raise LookupError(f"{verb} has no parameter '{unknown[0]}'")
    options_of_verb = {name: _parameter(name, known[name], option) for name, option in texts_of.items()}
    read = {name: _parameter(name, Parameter(""), READING[name]) for name in reading}

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True).parameters

        @functools.wraps(function)
        def run(**typed: Any) -> None:
            given = {name: typed.pop(name) for name in options_of_verb}
            how = {name: typed.pop(name) for name in read}
            values = dict(_values(given, texts_of, known))
            if alias and "qi" in values:
                values.setdefault("quasi", values.pop("qi"))
            typed["verb_options"] = values
            if "reading" in own:
                typed["reading"] = read_table(**how)
            function(**typed)

        places = [p for p in own.values() if p.name not in ("verb_options", "reading")]
        at = next((i for i, p in enumerate(places) if p.default is not inspect.Parameter.empty), len(places))
        ordered = [*places[:at], *options_of_verb.values(), *places[at:-1], *read.values(), *places[-1:]]
        hidden = [p for p in ordered if p.name == "qi"]
        ordered = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in ordered if p.name != "qi"] + hidden
        run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in ordered}
        return run

    return decorate


def _values(
    given: Mapping[str, Any], options: Mapping[str, Option], known: Mapping[str, Parameter]
) -> Iterator[tuple[str, object]]:
    """The keywords of the verb: only what was typed, or has a default of its own."""
    for name, value in given.items():
        if value is None or value == []:
            continue
        option = options[name]
        if option.read is not None:
            yield name, option.read(value)
        elif "Names" in known[name].annotation:
            yield name, texts.names(value)
        else:
            yield name, value


def read_table(
    read: Sequence[str] | None = None,
    rename_duplicates: bool = False,
    memory: str | None = None,
    only_aggregates: bool = False,
    scale: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    missing_values: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Keywords of ``shoal.open`` from the options in :data:`READING`."""
    how: dict[str, Any] = {
        "rename_duplicates": rename_duplicates,
        "memory": memory,
        "only_aggregates": only_aggregates,
        "scale": texts.word_by_column(scale, "--scale", "ward=nominal"),
        "order": texts.orders(order),
        "missing_values": texts.listed_by_column(missing_values, 1, "--missing-values", "--missing-values weight=?,-9"),
    }
    given = {name: value for name, value in how.items() if value}
    return given | (texts.read_options(read, parameters("arguments", "Reading")) if read else {})


def _parameter(name: str, known: Parameter, option: Option) -> inspect.Parameter:
    """The parameter of the command function that typer reads."""
    kind = option.kind or _kind(known.annotation)
    default = option.default if option.default is not None else known.default
    if known.required:
        default = inspect.Parameter.empty
    elif kind is bool:
        default = bool(default)
    elif default is None or default == ():
        kind, default = kind | None, None
    flag = option.flag or "--" + name.strip("_").replace("_", "-")
    names = (f"{flag}/--no-{flag[2:]}",) if default is True else (flag, "-o") if flag == "--out" else tuple(flag.split())
    shown = typer.Option(*names, help=option.help, metavar=option.metavar, hidden=option.hidden, min=option.least)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, shown])


def _kind(annotation: str) -> Any:
    """The type of an option by the annotation of its parameter: text, unless it can only be something else.

    >>> _kind("int | None"), _kind("str | Path | None"), _kind("Names | None"), _kind("bool")
    (<class 'int'>, <class 'pathlib.Path'>, <class 'str'>, <class 'bool'>)
    """
    words = set(re.findall(r"\w+", annotation)) - {"None", "Required"}
    for kind in (bool, int, float):
        if words == {kind.__name__}:
            return kind
    return Path if "Path" in words and not words & {"Source", "Iterable", "Sequence"} else str


@functools.cache
def _module(name: str) -> str:
    return resources.files("shoal.api").joinpath(f"{name}.py").read_text("utf-8")


def _definition(module: str, name: str) -> ast.stmt:
    """The last definition of a name in a module, behind its overloads; only its own lines are parsed, which is quicker."""
    text = _module(module)
    start = [m.start() for m in re.finditer(rf"^(?:def|class) {name}\b", text, re.MULTILINE)][-1]
    head, rest = text[start:].split("\n", 1)
    end = re.search(r"^[^\s)]", rest, re.MULTILINE)
    return ast.parse(f"{head}\n{rest[: end.start()] if end else rest}").body[0]


def parameters(module: str, name: str) -> dict[str, Parameter]:
    """The keyword parameters of a function, or the keys of a typed dictionary with those it inherits.

    >>> parameters("study", "study")["alpha"], "progress" in parameters("measure", "measure")
    (Parameter(annotation='float', default=0.05, required=False), True)
    """
    node = _definition(module, name)
    if isinstance(node, ast.ClassDef):
        inherited = [parameters(module, b.id) for b in node.bases if isinstance(b, ast.Name) and b.id != "TypedDict"]
        fields = {str(n.target.id): n for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        kinds = {key: ast.unparse(n.annotation) for key, n in fields.items()}
        own = {key: Parameter(kind, required="Required" in kind) for key, kind in kinds.items()}
        return {key: p for part in (*inherited, own) for key, p in part.items()}
    assert isinstance(node, ast.FunctionDef)
    both = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return {a.arg: Parameter(ast.unparse(a.annotation) if a.annotation else "", _literal(d), d is None) for a, d in both}


def _literal(node: ast.expr | None) -> Any:
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None
