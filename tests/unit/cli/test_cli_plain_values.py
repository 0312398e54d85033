"""Values that a command reads by itself are what typer makes of them, and the rest is left to typer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from shoal.cli._shell import process as failing
from shoal.cli._shell.commands import Command, plain

VALUES: dict[str, list[str]] = {
    "name": ["", "a", "é", "-", "5", "null"],
    "count": ["0", "12", "007", "-3", "+3", " 4", "1_0", "1.0", "x", "", "٣", "9" * 15, "9" * 16, "9" * 40],
    "share": ["0", "0.5", "1e-3", "nan", "x", ""],
    "place": [".", "a/b", "", "~", "a\0b"],
    "several": ["a", "", "5"],
    "few": ["1", "3", "4", "x"],
}


def answer(command: type, words: list[str]) -> Any:
    """What the command got, or the words of the refusal."""
    got: list[Any] = []
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command(cls=command)
    def take(
        name: Annotated[str | None, typer.Option()] = None,
        count: Annotated[int, typer.Option()] = 7,
        share: Annotated[float | None, typer.Option()] = None,
        place: Annotated[Path | None, typer.Option()] = None,
        several: Annotated[list[str] | None, typer.Option()] = None,
        few: Annotated[int, typer.Option(min=1, max=3)] = 2,
        flag: Annotated[bool, typer.Option()] = False,
    ) -> None:
        got.extend([name, count, None if share is None else repr(share), place, several, few, flag])

    try:
        app(words, standalone_mode=False)
    except failing.usage_errors() as error:
        return str(error)
    return got, [type(g) for g in got]


@pytest.mark.parametrize("option", VALUES)
def test_a_value_is_read_as_typer_reads_it(option: str) -> None:
    for value in VALUES[option]:
        words = [f"--{option}={value}", *([f"--{option}=b"] if option == "several" else [])]
        assert answer(Command, words) == answer(typer.core.TyperCommand, words), value


def test_what_is_not_given_is_as_typer_leaves_it() -> None:
    for words in ([], ["--flag"], ["--no-flag"], ["--unknown"]):
        assert answer(Command, words) == answer(typer.core.TyperCommand, words)


def test_a_missing_argument_is_asked_for() -> None:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=Command)(lambda table: None)
    with pytest.raises(failing.usage_errors(), match=r"(?i)missing"):
        app([], standalone_mode=False)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_path_that_may_not_be_read_is_left_to_typer(tmp_path: Path) -> None:
    shut = tmp_path / "shut"
    shut.touch(mode=0o000)
    assert plain(str(shut), Path) is None


def test_fifteen_digits_are_plain_and_sixteen_are_not() -> None:
    assert plain("9" * 15, int) == 10**15 - 1
    assert plain("9" * 16, int) is None
