"""What surrounds every command: help that fits a screen, examples that parse, volume, settings, manual pages, other systems."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import nursery
from shoal.cli import build
from shoal.cli._shell import commands, process
from shoal.cli._shell import process as volume
from shoal.cli._shell.commands import indented
from shoal.errors import DataError, UsageError

SCREEN = 45


def leaves(command: Any = None, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that does something, with its words."""
    command = command or typer.main.get_command(build())
    for word, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            yield from (
                leaves(child, f"{name} {word}".strip()) if hasattr(child, "commands") else [(f"{name} {word}".strip(), child)]
            )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("age,sex\n" + "30,f\n40,m\n" * 6, "utf-8")
    return path


def shoal(*words: str, code: int = 0, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    done = nursery.shoal(*words, folder=cwd)
    assert done.returncode == code, done.stderr
    return done


def test_every_command_has_examples_that_its_parser_takes() -> None:
    found = commands.examples()
    known = dict(leaves())
    assert set(found) == set(known)
    for name, lines in found.items():
        assert lines, name
        for line in lines:
            words = shlex.split(line.partition(" < ")[0])
            assert words[: len(name.split()) + 1] == ["shoal", *name.split()], line
            known[name].make_context(f"shoal {name}", words[len(name.split()) + 1 :])


def test_help_fits_a_screen_and_names_every_option() -> None:
    for name, command in leaves():
        context = command.make_context(f"shoal {name}", [], resilient_parsing=True, terminal_width=80)
        said = command.get_help(context)
        assert len(said.splitlines()) <= SCREEN, name
        whole = said.replace("-\n", "-").replace(" ", "")
        for option in command.params:
            if option.param_type_name == "option" and not option.hidden:
                assert max(option.opts, key=len) in whole or option.opts[0] in said, (name, option.opts)


def test_the_first_help_lists_every_command_once_by_purpose_in_lines_that_fit() -> None:
    root = typer.main.get_command(build())
    purposes = {purpose: dict(line.split(": ", 1) for line in lines) for purpose, lines in indented("purposes.txt").items()}
    listed = [name for commands in purposes.values() for name in commands]
    assert sorted(listed) == sorted(root.commands)
    said = root.get_help(root.make_context("shoal", [], resilient_parsing=True, terminal_width=80))
    assert all(f"\n{purpose}:\n" in said for purpose in purposes)
    assert all(f"  {words}\n" in said for commands in purposes.values() for words in commands.values()), (
        "nothing is cut or folded"
    )


def test_no_help_shows_a_type_of_python_or_a_cut_sentence() -> None:
    groups = [(name, child) for name, child in typer.main.get_command(build()).commands.items() if hasattr(child, "commands")]
    assert {"studio", "vault", "registry", "predict"} <= dict(groups).keys()
    for name, command in [*leaves(), *groups]:
        said = command.get_help(command.make_context(f"shoal {name}", [], resilient_parsing=True, terminal_width=80))
        usage, _, rest = said.partition("\n")
        assert not re.search(r"[{}]|\[\[|[a-z]+\]?\.\.\.|\.{4}", usage.replace("COMMAND [ARGS]...", "")), usage
        assert not re.search(r"<[a-z]+( range|\[[a-z]+\])?>|\.\.\.$", rest, re.MULTILINE), name


def test_help_all_explains_what_the_short_help_only_names() -> None:
    short, long = (shoal("measure", word).stdout for word in ("--help", "--help-all"))
    assert "--rename-duplicates" in short
    assert "Number columns with the same name" not in short
    assert "Number columns with the same name" in long
    assert "--help-all" not in long
    assert "Objections  --exclude, --exclude-by" in shoal("anonymize", "--help").stdout
    assert "Event tables" not in shoal("predict", "zipf", "--help").stdout, "one alone makes no group"


def test_quiet_leaves_the_exit_code_errors_and_json(table: Path) -> None:
    asked = ("measure", str(table), "--quasi", "age,sex")
    done = shoal(*asked, "-q")
    assert (done.stdout, done.stderr) == ("", "")
    assert shoal(*asked, "--require", "k>=7", "--quiet", code=1).stdout == ""
    assert json.loads(shoal(*asked, "-q", "--json").stdout)["k"] == 6
    assert "MissingColumnError" in shoal("measure", str(table), "--quasi", "none", "-q", code=2).stderr


def test_verbose_says_what_the_run_took(table: Path) -> None:
    done = shoal("-v", "measure", str(table), "--quasi", "age,sex")
    assert "s of processor time" in done.stderr
    assert "processor" not in shoal("measure", str(table), "--quasi", "age,sex").stderr


def test_what_follows_two_dashes_is_not_volume() -> None:
    assert volume.take_volume(["check", "--", "-q"]) == (volume.Volume(), ["check", "--", "-q"])
    assert volume.take_volume(["-q", "check", "-v"])[0] == volume.Volume(verbose=True)


def test_settings_of_a_file_hold_and_are_said(table: Path, tmp_path: Path) -> None:
    (tmp_path / "shoal.toml").write_text('memory = "1KB"\n', "utf-8")
    asked = ("measure", str(table), "--quasi", "age,sex")
    refused = shoal(*asked, cwd=tmp_path, code=2)
    assert "Settings from shoal.toml (memory)." in refused.stderr
    shoal(*asked, "--memory", "2GB", cwd=tmp_path)


def test_the_environment_beats_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('memory = "1GB"\n[anonymize]\nformat = "parquet"\n', "utf-8")
    environ = {"SHOAL_CONFIG": str(file)}
    assert process.read("measure", environ)[0] == {"memory": "1GB"}
    assert process.read("anonymize", environ)[0] == {"memory": "1GB", "format": "parquet"}
    assert process.read("anonymize", environ | {"SHOAL_FORMAT": "csv"})[0]["format"] == "csv"


@pytest.mark.parametrize(
    ("page", "error"),
    [("k = 2", UsageError), ("[anonymize]\nout = 'x'", UsageError), ("memory = [1]", UsageError), ("memory", DataError)],
)
def test_a_file_cannot_set_what_is_claimed_or_where_it_goes(tmp_path: Path, page: str, error: type[Exception]) -> None:
    file = tmp_path / "shoal.toml"
    file.write_text(page, "utf-8")
    with pytest.raises(error):
        process.read("anonymize", {"SHOAL_CONFIG": str(file)})


def test_a_configuration_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="SHOAL_CONFIG names no file"):
        process.place({"SHOAL_CONFIG": str(tmp_path / "none.toml")})


def test_manual_pages_hold_every_option_and_are_shown_by_man(tmp_path: Path) -> None:
    shoal("manual", "-o", str(tmp_path / "man"))
    for name, command in leaves():
        page = (tmp_path / "man" / f"shoal-{name.replace(' ', '-')}.1").read_text("utf-8")
        for option in command.params:
            if option.param_type_name == "option" and not option.hidden:
                assert option.opts[0].replace("-", r"\-") in page
    if shutil.which("groff"):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", str(tmp_path / "man" / "shoal-measure.1")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stderr == ""
        assert "--quasi" in done.stdout
    shoal("manual", "-o", str(tmp_path / "man"), code=3)


WITHOUT_UNIX = """
import sys
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "uvloop"):
    sys.modules[name] = None
from shoal.cli import main
main(sys.argv[1:])
"""


def test_commands_run_where_modules_of_unix_are_missing(table: Path, tmp_path: Path) -> None:
    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_UNIX, *words], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("--help")
    assert json.loads(run("measure", str(table), "--quasi", "age,sex", "--json"))["k"] == 6
    run("anonymize", str(table), "--quasi", "age,sex", "--k", "3", "-o", "release")
    assert run("verify", "release").endswith("Verified.\n")
    run("vault", "key", "-o", "vault.key")
    run("-v", "doctor")
