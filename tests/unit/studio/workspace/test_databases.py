"""Named databases: a private file, addresses that never show, names of tables that are names."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import DataError, UsageError
from shoal.studio.workspace.files import FILE, LONGEST_TABLE, Databases

ADDRESS = "postgresql://reader:pass-word@db.example.org/clinic"


def kept(folder: Path, text: str, mode: int = 0o600) -> Databases:
    (folder / FILE).write_text(text, encoding="utf-8")
    (folder / FILE).chmod(mode)
    return Databases(folder)


def test_names_and_sources(tmp_path: Path) -> None:
    assert Databases(tmp_path).names() == []
    named = kept(tmp_path, f'b = "{ADDRESS}"\n"a b" = "duckdb:///x.db"\n')
    assert named.names() == ["a b", "b"]
    assert named.source("b", " public.people ") == f"{ADDRESS}::public.people"
    assert named.source("b", "t" * LONGEST_TABLE).endswith("t" * LONGEST_TABLE)
    for table in ("", "  ", "t" * (LONGEST_TABLE + 1), "a::b", "a?password=x", "a\nb"):
        with pytest.raises(UsageError):
            named.source("b", table)
    with pytest.raises(UsageError):
        named.source("c", "people")


@pytest.mark.parametrize("mode", [0o601, 0o604, 0o610, 0o640, 0o602])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    named = kept(tmp_path, f'b = "{ADDRESS}"\n', mode)
    with pytest.raises(DataError, match="others on this computer") as error:
        named.names()
    assert "pass-word" not in str(error.value)


@pytest.mark.parametrize(
    "text", ['b = "pass-word', "b = 3", 'b = "/etc/passwd"', f'b = "{ADDRESS}::people"', "[b]\nurl = 'pass-word'"]
)
def test_what_is_no_address_is_told_without_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError) as error:
        kept(tmp_path, text).source("b", "people")
    assert "pass-word" not in str(error.value)
    assert "passwd" not in str(error.value)
