"""Every option of the main commands reaches what does the work: none is read and then forgotten."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

import shoal
from shoal.cli import build, main
from shoal.errors import UsageError

OPENED = SimpleNamespace(source={}, one_state=contextlib.nullcontext, __enter__=None)
TYPED: dict[str, str] = {
    "--quasi": "age,sex", "--sensitive": "ill", "--direct": "name", "--insensitive": "x", "--rest": "drop", "--unit": "id",
    "--weight": "w", "--k": "7", "--count": "n", "--by": "site", "--seed": "9", "--exclude": "out.txt", "--exclude-by": "pid",
    "--to-table": "made", "--plan": "plan.json", "--previous": "old", "--keep": "age=high",
    "--objective": "counts=sex,region", "--key": "own.key", "--population": "17.5M", "--missing": "wildcard",
    "--hierarchy": "ill=tree.csv", "--private": "r.private.json", "--table": "duckdb://a.db::t",
    "--read": "delimiter=;", "--memory": "2GB", "--scale": "age=ordered", "--order": "pain=low,high",
    "--missing-values": "age=?,-9", "--rows": "sex", "--columns": "ill", "--layers": "town", "--method": "round",
    "--threshold": "6", "--base": "4", "--with": "ext.csv", "--original": "before.csv", "--control": "other.csv",
    "--secret": "ill", "--numbers": "pay,rent", "--exposed": "worst.csv", "--column": "age", "--target": "ill",
    "--analysis": "mean:pay",
}  # fmt: skip
"""What is typed behind each option; the flags are those below."""
FLAGS = (
    *("--replace", "--rename-duplicates", "--only-aggregates", "--public", "--hide-zeros", "--hunt"),
    *("--no-models", "--no-frontier"),
)
ROLES = {"quasi": ("age", "sex"), "sensitive": ("ill",), "direct": ("name",), "insensitive": ("x",), "unit": "id", "weight": "w"}
READ = {"delimiter": ";", "rename_duplicates": True, "only_aggregates": True, "scale": {"age": "ordered"}}
READ |= {"missing_values": {"age": ("?", "-9")}}
ORDER = {"order": {"pain": ("low", "high")}}
LIMITS = {"rest": "drop", "k": 7}
WORKING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "anonymize": (
        ROLES | LIMITS | {
            "exclude": "out.txt", "exclude_by": "pid", "seed": 9, "to_table": "made", "replace": True, "plan": Path("plan.json"),
            "previous": [Path("old")], "keep": {"age": "high"}, "objective": {"counts": ["sex", "region"]},
            "key_file": Path("own.key"), "format": "parquet",
        },
        READ | ORDER | {"memory": "2GB"},
    ),
    "check": (ROLES | LIMITS, READ | ORDER),
    "measure": (
        ROLES | ORDER | {
            "counts": "n", "by": "site", "seed": 9, "population": "17.5M", "missing": "wildcard",
            "hierarchies": {"ill": Path("tree.csv")},
        },
        READ | {"memory": "2GB"},
    ),
    "verify": (
        {"key": "own.key", "table": "duckdb://a.db::t", "private": "r.private.json", "exclude": "out.txt"}, {},
    ),
    "attack": (
        {
            "with_": "ext.csv", "previous": [Path("old")], "hunt": True, "original": "before.csv", "control": "other.csv",
            "secrets": ("ill",), "key": "own.key", "numbers": ("pay", "rent"), "exposed": Path("worst.csv"), "seed": 9,
        },
        {},
    ),
    "table": (
        {
            "rows": "sex", "columns": "ill", "layers": ("town",), "unit": "id", "method": "round", "public": True,
            "threshold": 6, "base": 4, "previous": [Path("old")], "zeros": False,
        },
        {name: READ[name] for name in ("delimiter", "rename_duplicates", "missing_values")},
    ),
    "hierarchy": (
        {"column": "age", "rule": "tree.csv", "k": 7},
        {name: READ[name] for name in ("delimiter", "rename_duplicates", "only_aggregates")},
    ),
    "compare": (
        {
            "quasi": ("age", "sex"), "sensitive": ("ill",), "counts": "n", "seed": 9, "target": ("ill",), "key": "own.key",
            "analyses": ("mean:pay",), "hierarchies": {"ill": Path("tree.csv")}, "models": False, "frontier": False,
        },
        {"delimiter": ";"},
    ),
}  # fmt: skip
"""The keywords of the verb, and those of ``shoal.open``."""
ELSEWHERE = {
    "anonymize": {"--policy", "--out", "--draft", "--no-ledger", "--preview", "--json"},
    "check": {"--policy", "--out", "--preview", "--json", "--format"},
    "measure": {
        *("--require", "--explain", "--impact", "--household", "--suda", "--report", "--plot", "--preview", "--json"),
        *("--time", "--place", "--time-widths", "--place-levels", "--known"),  # of event tables
    },
    "verify": {"--preview", "--json"},
    "attack": {"--preview", "--json"},
    "table": {"--out", "--preview", "--json"},
    "hierarchy": {"--out", "--public", "--preview", "--json"},
    "compare": {"--report", "--preview", "--json"},
}
"""Options that the command itself reads: other tests type them."""


WITH = ("anonymize", "table", "hierarchy")
"""Commands that close the table that they opened."""


def options_of(command: str) -> set[str]:
    commands: Any = typer.main.get_command(build())
    made = commands.get_command(SimpleNamespace(info_name="shoal"), command)
    switched_off = {p.opts[0]: p.secondary_opts[0] for p in made.params if p.default is True}
    shown = {p.opts[0] for p in made.params if p.param_type_name == "option" and not p.hidden}
    return {switched_off.get(name, name) for name in shown} - {"--help", "--statement-timeout"}


@pytest.mark.parametrize("command", WORKING)
def test_what_is_typed_arrives(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arrived: dict[str, dict[str, Any]] = {"open": {}}

    @contextlib.contextmanager
    def opened(table: str, **how: Any) -> Any:
        arrived["open"] = how
        yield OPENED

    def work(*_: Any, progress: Any = None, **given: Any) -> None:
        arrived[command] = given
        raise UsageError("far enough")

    monkeypatch.setattr(shoal, "open", opened if command in WITH else lambda *a, **how: opened(*a, **how).__enter__())
    monkeypatch.setattr(shoal, "count_table" if command == "table" else command, work)
    names = options_of(command) - ELSEWHERE[command]
    line = [part for name in sorted(names - {*FLAGS, "--format"}) for part in (name, TYPED[name])]
    line += [*sorted(names & {*FLAGS}), *(("--format", "parquet") if "--format" in names else ())]
    line += ["--out", "release"] if command == "anonymize" else []
    if command == "hierarchy":
        line[line.index("--hierarchy") + 1] = "tree.csv"
    with pytest.raises(SystemExit):
        main([command, "table.csv", *(["release"] if command == "compare" else []), *line])
    verb, reading = WORKING[command]
    assert plain(arrived[command]) == plain(verb)
    assert plain(arrived["open"]) == plain(reading)


def plain(given: dict[str, Any]) -> dict[str, Any]:
    """Lists for tuples, texts for paths."""
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    return {n: [str(v) for v in x] if isinstance(x, list) else str(x) if isinstance(x, Path) else x for n, x in listed.items()}
